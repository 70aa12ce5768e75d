//! Values of a run: what a node stands for once it has been computed.

use crate::exec::tensor::Tensor;
use crate::graph::{Arg, BodyId};

/// A number where an operator takes one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
}

impl Scalar {
    /// Returns the number as a float; of a complex one the real part.
    #[allow(clippy::cast_precision_loss)]
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(v) => f64::from(u8::from(v)),
            Scalar::Int(v) => v as f64,
            Scalar::Float(v) | Scalar::Complex(v, _) => v,
        }
    }

    /// Returns the number as an integer, truncated.
    #[allow(clippy::cast_possible_truncation)]
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(v) => i64::from(v),
            Scalar::Int(v) => v,
            Scalar::Float(v) | Scalar::Complex(v, _) => v as i64,
        }
    }
}

/// A tensor, or a number in a tensor's place.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number.
    Number(Scalar),
}

/// What a node stands for.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    None,
    /// A tensor.
    Tensor(Tensor),
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
    /// Several values.
    List(Vec<Value>),
    /// A sub-graph.
    Body(BodyId),
    /// Any other literal: a text, a dtype, a device.
    Literal(Arg),
}

impl Value {
    /// Returns the tensor that this is.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// Returns the number that this is.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Value::Bool(v) => Some(Scalar::Bool(*v)),
            Value::Int(v) => Some(Scalar::Int(*v)),
            Value::Float(v) => Some(Scalar::Float(*v)),
            Value::Complex(re, im) => Some(Scalar::Complex(*re, *im)),
            _ => None,
        }
    }

    /// Returns the values of a list, or this one value.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::List(all) => all,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns what kind of value this is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Tensor(_) => "a tensor",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Complex(..) => "a complex number",
            Value::List(_) => "a list",
            Value::Body(_) => "a sub-graph",
            Value::Literal(_) => "a literal",
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Self {
        Value::Tensor(t)
    }
}

impl From<Scalar> for Value {
    fn from(n: Scalar) -> Self {
        match n {
            Scalar::Bool(v) => Value::Bool(v),
            Scalar::Int(v) => Value::Int(v),
            Scalar::Float(v) => Value::Float(v),
            Scalar::Complex(re, im) => Value::Complex(re, im),
        }
    }
}

impl From<Vec<Tensor>> for Value {
    fn from(all: Vec<Tensor>) -> Self {
        Value::List(all.into_iter().map(Value::Tensor).collect())
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}

impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}

impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Float(v)
    }
}
