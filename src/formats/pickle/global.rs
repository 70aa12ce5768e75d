//! The names that a pickle may ask for. There are no others.

use crate::graph::Dtype;

/// A name that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Global {
    /// `torch._utils._rebuild_tensor_v2`: a tensor of its storage's dtype.
    RebuildTensor,
    /// `torch._utils._rebuild_tensor_v3`: a tensor of a dtype that has no storage type of its own.
    RebuildTypedTensor,
    /// `torch._utils._rebuild_parameter`.
    RebuildParameter,
    /// `torch._utils._rebuild_parameter_with_state`: a parameter to which somebody gave attributes.
    RebuildParameterWithState,
    /// `torch._tensor._rebuild_from_type_v2`: a tensor to which somebody gave attributes.
    RebuildFromType,
    /// `torch.Tensor`, the only type of such a tensor.
    PlainTensor,
    /// `collections.OrderedDict`.
    OrderedDict,
    /// `torch.FloatStorage` and siblings.
    TypedStorage(Dtype),
    /// `torch.storage.UntypedStorage`.
    UntypedStorage,
    /// `torch.float8_e5m2` and siblings.
    Dtype(Dtype),
}

/// The storage types that have a dtype.
const STORAGES: &[(&str, Dtype)] = &[
    ("FloatStorage", Dtype::F32),
    ("HalfStorage", Dtype::F16),
    ("BFloat16Storage", Dtype::Bf16),
    ("DoubleStorage", Dtype::F64),
    ("LongStorage", Dtype::I64),
    ("IntStorage", Dtype::I32),
    ("ShortStorage", Dtype::I16),
    ("CharStorage", Dtype::I8),
    ("ByteStorage", Dtype::U8),
    ("BoolStorage", Dtype::Bool),
    ("ComplexFloatStorage", Dtype::C64),
    ("ComplexDoubleStorage", Dtype::C128),
];

impl Global {
    /// Returns the known thing of that name.
    pub(super) fn find(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("torch._utils", "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_tensor_v3") => Self::RebuildTypedTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch._utils", "_rebuild_parameter_with_state") => Self::RebuildParameterWithState,
            ("torch._tensor", "_rebuild_from_type_v2") => Self::RebuildFromType,
            ("torch", "Tensor") => Self::PlainTensor,
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch.storage" | "torch", "UntypedStorage") => Self::UntypedStorage,
            ("torch", name) => match STORAGES.iter().find(|(storage, _)| *storage == name) {
                Some((_, dtype)) => Self::TypedStorage(*dtype),
                None => Self::Dtype(Dtype::from_long(name)?),
            },
            _ => return None,
        })
    }

    /// Returns the name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::RebuildTensor => "torch._utils._rebuild_tensor_v2",
            Self::RebuildTypedTensor => "torch._utils._rebuild_tensor_v3",
            Self::RebuildParameter => "torch._utils._rebuild_parameter",
            Self::RebuildParameterWithState => "torch._utils._rebuild_parameter_with_state",
            Self::RebuildFromType => "torch._tensor._rebuild_from_type_v2",
            Self::PlainTensor => "torch.Tensor",
            Self::OrderedDict => "collections.OrderedDict",
            Self::UntypedStorage => "torch.storage.UntypedStorage",
            Self::TypedStorage(dtype) => {
                STORAGES.iter().find(|(_, d)| *d == dtype).map_or("a storage type", |(name, _)| name)
            }
            Self::Dtype(dtype) => dtype.long(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tables_names_are_known() {
        assert_eq!(Global::find("torch", "HalfStorage"), Some(Global::TypedStorage(Dtype::F16)));
        assert_eq!(Global::find("torch", "float8_e4m3fn"), Some(Global::Dtype(Dtype::F8E4m3fn)));
        for (module, name) in [
            ("os", "system"),
            ("builtins", "eval"),
            ("torch", "load"),
            ("torch._utils", "_rebuild_wrapper_subclass"),
            ("torch.FloatStorage", ""),
            ("Torch", "FloatStorage"),
            ("collections", "OrderedDict.fromkeys"),
        ] {
            assert_eq!(Global::find(module, name), None, "{module}.{name}");
        }
    }
}
