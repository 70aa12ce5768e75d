//! What a pickle holds: values in one flat table, named by id.
//!
//! Containers hold ids, so that a value that Python shares is shared here, a list may hold itself, and dropping needs no recursion.

use std::sync::Arc;

use super::global::Global;
use crate::graph::Dtype;

/// A value of a [`Pickle`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub(super) u32);

/// A Python value. Texts are borrowed from the pickle.
#[derive(Debug)]
pub enum Value<'p> {
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Text(&'p str),
    /// A tuple.
    Tuple(Box<[ValueId]>),
    /// A list.
    List(Vec<ValueId>),
    /// A `dict` or `OrderedDict`: keys and values as they were set; a later pair replaces an earlier one of an equal key.
    Dict(Vec<(ValueId, ValueId)>),
    /// A storage by itself.
    Storage(Box<Storage>),
    /// A tensor or parameter.
    Tensor(Box<Tensor>),
    /// One of the names that are known.
    Global(Global),
}

/// A storage, whose bytes lie beside the pickle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Storage {
    /// The name of its entry in `data/`.
    pub key: Arc<str>,
    /// What its elements are; `None` for bytes.
    pub dtype: Option<Dtype>,
    /// Where it was: `cpu`, `cuda:0`.
    pub location: Arc<str>,
    /// How many elements it has.
    pub elements: u64,
}

/// A tensor: its place in a storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// The storage.
    pub storage: Storage,
    /// Element type.
    pub dtype: Dtype,
    /// Offset in the storage in elements, not negative.
    pub offset: i64,
    /// Whether gradients are asked for.
    pub requires_grad: bool,
    /// Whether it is a `torch.nn.Parameter`.
    pub is_parameter: bool,
    /// Tuples of equal length of integers that are not negative.
    pub(super) sizes: ValueId,
    pub(super) strides: ValueId,
}

/// The values of a pickle.
#[derive(Debug)]
pub struct Pickle<'p> {
    pub(super) values: Vec<Value<'p>>,
    pub(super) root: ValueId,
}

impl<'p> Pickle<'p> {
    /// Returns what was pickled.
    pub fn root(&self) -> &Value<'p> {
        self.value(self.root)
    }

    /// Returns a value.
    pub fn value(&self, id: ValueId) -> &Value<'p> {
        at(&self.values, id)
    }

    /// Returns the sizes of a tensor of this pickle.
    pub fn sizes(&self, tensor: &Tensor) -> impl ExactSizeIterator<Item = i64> {
        ints(&self.values, tensor.sizes)
    }

    /// Returns the strides of a tensor of this pickle, in elements.
    pub fn strides(&self, tensor: &Tensor) -> impl ExactSizeIterator<Item = i64> {
        ints(&self.values, tensor.strides)
    }
}

/// Returns a value of a table; ids are made by the table's owner alone.
pub(super) fn at<'v, 'p>(values: &'v [Value<'p>], id: ValueId) -> &'v Value<'p> {
    usize::try_from(id.0).ok().and_then(|place| values.get(place)).unwrap_or(&Value::None)
}

fn ints(values: &[Value<'_>], tuple: ValueId) -> impl ExactSizeIterator<Item = i64> {
    let ids: &[ValueId] = match at(values, tuple) {
        Value::Tuple(ids) => ids,
        _ => &[],
    };
    ids.iter().map(|id| match at(values, *id) {
        Value::Int(v) => *v,
        _ => 0,
    })
}

impl Value<'_> {
    /// Returns what kind of value it is, for messages.
    pub fn kind(&self) -> String {
        match self {
            Value::None => "None".to_string(),
            Value::Bool(_) => "a boolean".to_string(),
            Value::Int(v) => format!("the integer {v}"),
            Value::Float(v) => format!("the float {v}"),
            Value::Text(_) => "a text".to_string(),
            Value::Tuple(items) => format!("a tuple of {}", items.len()),
            Value::List(_) => "a list".to_string(),
            Value::Dict(_) => "a dictionary".to_string(),
            Value::Storage(_) => "a storage".to_string(),
            Value::Tensor(_) => "a tensor".to_string(),
            Value::Global(global) => format!("`{}`", global.name()),
        }
    }
}
