//! Scalar attributes of tensors: dtype, device, layout, memory format, in PyTorch's words.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! dtypes {
    ($($variant:ident $short:literal $long:literal $number:literal $bytes:literal;)*) => {
        /// An element type. Short names are those of printed annotations, long names those of `torch.NAME`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Dtype { $($variant),* }

        impl Dtype {
            /// Every dtype, in the order of this table.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),*];

            /// Returns the name in annotations: `f32`, `b8`.
            pub fn short(self) -> &'static str {
                match self { $(Dtype::$variant => $short),* }
            }

            /// Returns the name in code, without `torch.`: `float32`, `bool`.
            pub fn long(self) -> &'static str {
                match self { $(Dtype::$variant => $long),* }
            }

            /// Returns the number in `.pt2` files; 0 where there is none.
            pub fn pt2_number(self) -> i64 {
                match self { $(Dtype::$variant => $number),* }
            }

            /// Returns the size of one element in bytes.
            pub fn bytes(self) -> usize {
                match self { $(Dtype::$variant => $bytes),* }
            }
        }
    };
}

dtypes! {
    U8 "u8" "uint8" 1 1;
    I8 "i8" "int8" 2 1;
    I16 "i16" "int16" 3 2;
    I32 "i32" "int32" 4 4;
    I64 "i64" "int64" 5 8;
    F16 "f16" "float16" 6 2;
    F32 "f32" "float32" 7 4;
    F64 "f64" "float64" 8 8;
    C32 "c32" "complex32" 9 4;
    C64 "c64" "complex64" 10 8;
    C128 "c128" "complex128" 11 16;
    Bool "b8" "bool" 12 1;
    Bf16 "bf16" "bfloat16" 13 2;
    U16 "u16" "uint16" 28 2;
    F8E4m3fn "f8e4m3fn" "float8_e4m3fn" 29 1;
    F8E5m2 "f8e5m2" "float8_e5m2" 30 1;
    F8E4m3fnuz "f8e4m3fnuz" "float8_e4m3fnuz" 31 1;
    F8E5m2fnuz "f8e5m2fnuz" "float8_e5m2fnuz" 32 1;
    F8E8m0fnu "f8e8m0fnu" "float8_e8m0fnu" 33 1;
    U32 "u32" "uint32" 34 4;
    U64 "u64" "uint64" 35 8;
    F4E2m1fnX2 "f4e2m1fnx2" "float4_e2m1fn_x2" 0 1;
    Bc32 "bc32" "bcomplex32" 0 4;
    Qint8 "qint8" "qint8" 0 1;
    Quint8 "quint8" "quint8" 0 1;
    Qint32 "qint32" "qint32" 0 4;
    Quint4x2 "quint4x2" "quint4x2" 0 1;
}

impl Dtype {
    /// Returns the dtype of a short name (`f32`).
    pub fn from_short(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|d| d.short() == text)
    }

    /// Returns the dtype of a long name without `torch.` (`float32`).
    pub fn from_long(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|d| d.long() == text)
    }

    /// Returns the dtype of a number in a `.pt2` file.
    pub fn from_pt2(number: i64) -> Option<Self> {
        if number == 0 {
            return None;
        }
        Self::ALL.iter().copied().find(|d| d.pt2_number() == number)
    }

    /// Returns whether values are real floating-point numbers.
    pub fn is_float(self) -> bool {
        use Dtype::*;
        matches!(self, F16 | F32 | F64 | Bf16 | F8E4m3fn | F8E5m2 | F8E4m3fnuz | F8E5m2fnuz | F8E8m0fnu | F4E2m1fnX2)
    }

    /// Returns whether values are complex numbers.
    pub fn is_complex(self) -> bool {
        matches!(self, Dtype::C32 | Dtype::C64 | Dtype::C128 | Dtype::Bc32)
    }

    /// Returns whether values are integers (bool is not one).
    pub fn is_integer(self) -> bool {
        use Dtype::*;
        matches!(self, U8 | I8 | I16 | I32 | I64 | U16 | U32 | U64)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

/// A device: type and, where stated, index. An unstated index is 0 on `cpu`, the current one elsewhere.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Device {
    /// `cpu`, `npu`, `cuda`, `meta` ...
    pub kind: Arc<str>,
    /// As stated; `None` where it is not.
    pub index: Option<i64>,
}

impl Device {
    /// Returns a device of that type, without an index.
    pub fn new(kind: &str) -> Self {
        Self { kind: kind.into(), index: None }
    }

    /// Returns the CPU.
    pub fn cpu() -> Self {
        Self::new("cpu")
    }
}

impl fmt::Display for Device {
    /// `cpu`, `npu:0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(i) => write!(f, "{}:{i}", self.kind),
            None => f.write_str(&self.kind),
        }
    }
}

macro_rules! named_numbers {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal $number:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),* }

        impl $name {
            /// Returns the name in code, without `torch.`.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }

            /// Returns the value of a name without `torch.`.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }

            /// Returns the number in `.pt2` files.
            pub fn pt2_number(self) -> i64 {
                match self { $($name::$variant => $number),* }
            }

            /// Returns the value of a number in a `.pt2` file.
            pub fn from_pt2(number: i64) -> Option<Self> {
                match number { $($number => Some($name::$variant),)* _ => None }
            }
        }
    };
}

named_numbers! {
    /// How elements are laid out: `torch.strided` and its siblings.
    Layout {
        SparseCoo "sparse_coo" 1;
        SparseCsr "sparse_csr" 2;
        SparseCsc "sparse_csc" 3;
        SparseBsr "sparse_bsr" 4;
        SparseBsc "sparse_bsc" 5;
        Mkldnn "_mkldnn" 6;
        Strided "strided" 7;
        Jagged "jagged" 8;
    }
}

named_numbers! {
    /// In which order dimensions are stored: `torch.contiguous_format` and its siblings.
    MemoryFormat {
        Contiguous "contiguous_format" 1;
        ChannelsLast "channels_last" 2;
        ChannelsLast3d "channels_last_3d" 3;
        Preserve "preserve_format" 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_is_found_by_each_of_its_names() {
        for &d in Dtype::ALL {
            assert_eq!(Dtype::from_short(d.short()), Some(d));
            assert_eq!(Dtype::from_long(d.long()), Some(d));
            if d.pt2_number() != 0 {
                assert_eq!(Dtype::from_pt2(d.pt2_number()), Some(d));
            }
        }
        assert_eq!(Dtype::from_pt2(0), None);
    }
}
