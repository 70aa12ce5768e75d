//! What FX values are while a graph is lowered: GE tensors, Python values, records.

use std::rc::Rc;

use super::literal::Literal;
use super::proto::DataType;
use crate::graph::{Arg, Dtype};
use crate::sym::Dim;

/// A GE tensor: one output of one operator, seen through what the lowering knows of it.
///
/// Two ids may name one output: a view that is put off is another tensor of the same output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct TensorId(pub(super) usize);

/// What is known of a tensor beyond its operator.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) op: usize,
    pub(super) output: usize,
    /// Undefined until the value's type was set.
    pub(super) dtype: DataType,
    pub(super) meta: Option<Meta>,
    pub(super) view: Option<PendingView>,
}

/// Views that were put off: the tensor is `source` seen with other sizes and strides.
#[derive(Clone, Debug)]
pub(super) struct PendingView {
    /// Sizes of the operator's output.
    pub(super) source: Rc<[Dim]>,
    /// How it is seen.
    pub(super) sizes: Rc<[Dim]>,
    pub(super) strides: Rc<[Dim]>,
    /// Which table of symbols' operators this chain of views shares.
    pub(super) symbols: usize,
}

/// The FX type of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meta {
    Tensor(TensorMeta),
    /// A symbolic scalar and its Python type.
    Symbol(Dim, SymbolKind),
    /// A list of sizes that became one tensor.
    Sizes(Rc<[Dim]>),
}

/// Which scalar a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SymbolKind {
    Int,
    Float,
    Bool,
}

/// The FX type of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TensorMeta {
    pub(super) dtype: Dtype,
    pub(super) sizes: Rc<[Dim]>,
    pub(super) strides: Rc<[Dim]>,
    /// The FX input whose storage this is.
    pub(super) input: Option<usize>,
}

impl Meta {
    pub(super) fn as_tensor(&self) -> Option<&TensorMeta> {
        match self {
            Meta::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the sizes of the GE tensor.
    pub(super) fn sizes(&self) -> Rc<[Dim]> {
        match self {
            Meta::Tensor(t) => t.sizes.clone(),
            Meta::Symbol(..) => Rc::from([]),
            Meta::Sizes(s) => Rc::from([Dim::Fixed(i64::try_from(s.len()).unwrap_or(i64::MAX))]),
        }
    }
}

/// The FX types of a node's results.
#[derive(Clone, Debug)]
pub(super) enum Results {
    /// No value.
    None,
    One(Meta),
    Many(Vec<Option<Meta>>),
}

/// A value of an FX node or argument.
#[derive(Clone, Debug)]
pub(super) enum Value {
    None,
    Tensor(TensorId),
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Rc<str>),
    Dtype(Dtype),
    List(Rc<[Value]>),
    /// What `air.record` stands for: the last operator on its stream, if there was one.
    Record(Option<usize>),
    /// A Python value that no operator computes with: a device, a layout, a memory format.
    Other(Rc<Arg>),
    /// The result of a node that could not be lowered.
    Failed,
}

impl Value {
    /// Returns the tensor, if this is one.
    pub(super) fn tensor(&self) -> Option<TensorId> {
        match self {
            Value::Tensor(t) => Some(*t),
            _ => None,
        }
    }

    /// Returns whether this is `None`, or an argument that was not given.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    /// Returns the Python number or list of numbers that this is.
    pub(super) fn literal(&self) -> Option<Literal> {
        Some(match self {
            Value::Bool(b) => Literal::Bool(*b),
            Value::Int(i) => Literal::Int(*i),
            Value::Float(f) => Literal::Float(*f),
            Value::List(items) => list(items)?,
            Value::Other(arg) => match **arg {
                Arg::Complex(real, imag) => Literal::Complex(real, imag),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Returns the integers of a list of integers, or of a single one.
    pub(super) fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Value::Int(i) => Some(vec![*i]),
            Value::List(items) => items
                .iter()
                .map(|v| match v {
                    Value::Int(i) => Some(*i),
                    Value::Bool(b) => Some(i64::from(*b)),
                    _ => None,
                })
                .collect(),
            _ => None,
        }
    }

    /// Returns whether a part of this could not be lowered.
    pub(super) fn has_failed(&self) -> bool {
        match self {
            Value::Failed => true,
            // Lists of lists of tensors do not occur deeper than schemas nest them.
            Value::List(items) => items.iter().any(Value::has_failed),
            _ => false,
        }
    }
}

#[allow(clippy::cast_precision_loss)] // numpy does the same to a list of integers and floats.
fn list(items: &[Value]) -> Option<Literal> {
    if items.iter().any(|v| matches!(v, Value::Float(_))) {
        let floats = items.iter().map(|v| match v {
            Value::Float(f) => Some(*f),
            Value::Int(i) => Some(*i as f64),
            Value::Bool(b) => Some(f64::from(u8::from(*b))),
            _ => None,
        });
        return floats.collect::<Option<_>>().map(Literal::Floats);
    }
    if !items.is_empty() && items.iter().all(|v| matches!(v, Value::Bool(_))) {
        return Some(Literal::Bools(items.iter().map(|v| matches!(v, Value::Bool(true))).collect()));
    }
    Value::List(items.into()).ints().map(Literal::Ints)
}

impl From<TensorId> for Value {
    fn from(t: TensorId) -> Self {
        Value::Tensor(t)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::Int(i)
    }
}
