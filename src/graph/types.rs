//! Types of values: what a node stands for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{BodyId, Device, Dtype, Layout, StrId};
use crate::sym::{Dim, ExprId, Symbols};

/// A tensor's type: dtype, sizes, strides where they are known, device, layout. Sizes and strides count elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TensorType {
    /// Element type.
    pub dtype: Dtype,
    /// One size a dimension; a scalar has none.
    pub sizes: SmallVec<[Dim; 4]>,
    /// One stride a dimension; `None` where nothing states or implies them.
    pub strides: Option<SmallVec<[Dim; 4]>>,
    /// Offset into the storage, where a file states it.
    pub offset: Dim,
    /// Where it lives.
    pub device: Device,
    /// Strided unless stated.
    pub layout: Layout,
    /// As the file states it; kept, not judged.
    pub requires_grad: bool,
}

impl TensorType {
    /// The most dimensions that a tensor may have: PyTorch's operators take no more.
    pub const MAX_RANK: usize = 64;

    /// Returns its sizes, its strides where they are known, and its offset.
    pub fn dims(&self) -> impl Iterator<Item = Dim> + '_ {
        self.sizes.iter().chain(self.strides.iter().flatten()).chain([&self.offset]).copied()
    }

    /// Returns a strided tensor type on `device` with unknown strides.
    pub fn new(dtype: Dtype, sizes: impl IntoIterator<Item = Dim>, device: Device) -> Self {
        Self {
            dtype,
            sizes: sizes.into_iter().collect(),
            strides: None,
            offset: Dim::Fixed(0),
            device,
            layout: Layout::Strided,
            requires_grad: false,
        }
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the type as an annotation prints it: `f32[2, s77]`.
    pub fn print(&self, symbols: &Symbols) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(|d| symbols.print_python(*d)).collect();
        format!("{}[{}]", self.dtype.short(), sizes.join(", "))
    }
}

/// What a node stands for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ValueType {
    /// Nobody said, and no rule has been asked yet.
    #[default]
    Unknown,
    /// No value: assertions, scope operators, the Python `None`.
    None,
    /// One tensor.
    Tensor(Arc<TensorType>),
    /// A symbolic integer.
    SymInt(Dim),
    /// A symbolic float.
    SymFloat(ExprId),
    /// A symbolic truth value.
    SymBool(ExprId),
    /// Several results: taken apart by getitem.
    Many(Arc<[ValueType]>),
    /// A sub-graph, reached through get_attr.
    Body(BodyId),
    /// An input that is a Python constant: its value, where the file holds it.
    Const(Option<Arc<super::Arg>>),
    /// Something else (a script object, a token), by its name.
    Other(StrId),
}

impl ValueType {
    /// Returns a single tensor's type.
    pub fn tensor(t: TensorType) -> Self {
        ValueType::Tensor(Arc::new(t))
    }

    /// Returns about how many bytes of memory the type takes, itself included; types that are shared count as often as they stand.
    pub fn bytes(&self) -> u64 {
        let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let dims = |n: usize| if n > 4 { size(n.saturating_mul(size_of::<Dim>())) } else { 0 };
        let (mut total, mut work) = (0_u64, vec![self]);
        while let Some(ty) = work.pop() {
            total = total.saturating_add(size(size_of::<ValueType>()));
            match ty {
                ValueType::Tensor(t) => {
                    let strides = t.strides.as_ref().map_or(0, |s| dims(s.len()));
                    let own = size(size_of::<TensorType>()).saturating_add(dims(t.rank())).saturating_add(strides);
                    total = total.saturating_add(own);
                }
                ValueType::Many(all) => work.extend(all.iter()),
                _ => {}
            }
        }
        total
    }

    /// Returns the tensor type, if this is one tensor.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            ValueType::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the annotation that PyTorch prints, or `None` where it prints none.
    pub fn annotation(&self, symbols: &Symbols) -> Option<String> {
        match self {
            ValueType::Tensor(t) => Some(t.print(symbols)),
            ValueType::SymInt(d) => Some(format!("Sym({})", symbols.print_python(*d))),
            ValueType::SymFloat(e) | ValueType::SymBool(e) => Some(format!("Sym({})", symbols.print_expr(*e))),
            _ => None,
        }
    }
}
