//! What an edge of a GE graph carries: a tensor, or numbers that are known when the graph is raised.
//!
//! GE gives sizes, axes, permutations and repeats as tensors; in FX they are arguments. Constants and what is computed of sizes stay
//! numbers as long as nobody asks for a tensor.

use std::rc::Rc;

use super::build::Build;
use super::{Undefined, undefined};
use crate::graph::{Arg, Dtype, NodeId};

/// What an edge carries.
#[derive(Clone, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(NodeId),
    /// Numbers.
    Numbers(Rc<Numbers>),
    /// Where a pool found its greatest elements, in a form of the device's own: the call that gives both.
    Places(NodeId),
    /// What stands for a draw of random numbers.
    Drawing(Drawing),
    /// Numbers of 4 bits.
    Packed(Packed),
}

/// Numbers of 4 bits, of which PyTorch holds several in each element of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    /// PyTorch's tensor.
    pub packed: NodeId,
    /// How many an element holds.
    pub each: i64,
    /// Whether those of one element have a dimension of their own, the last.
    pub apart: bool,
}

/// What was made of numbers of the unit interval on the way to waiting times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Nothing.
    Drawn,
    /// They are kept from being zero.
    Positive,
    /// Their logarithms.
    Logarithm,
}

/// What stands for a draw of random numbers, before it is a tensor.
#[derive(Clone, Debug)]
pub enum Drawing {
    /// Where the generator stands at each draw of the graph: how many there are.
    Offsets(usize),
    /// Where it stands at one of them.
    Offset(usize),
    /// The same, as a counter.
    Counter(usize),
    /// Numbers of the unit interval of which integers will be made.
    Unit {
        /// The call that draws those.
        call: NodeId,
        /// The least of them, where that is said.
        low: Option<i64>,
        /// How many there are.
        width: i64,
    },
    /// The same, scaled.
    Scaled {
        /// The call.
        call: NodeId,
        /// The least of them, where that is said.
        low: Option<i64>,
    },
    /// The same, whole, from 0 on.
    Below {
        /// The call.
        call: NodeId,
        /// The least of them.
        low: i64,
    },
    /// The same, and not yet of the call's type.
    Whole(NodeId),
    /// Numbers of the unit interval of which waiting times will be made.
    Waiting {
        /// The call that draws those.
        call: NodeId,
        /// By what their logarithms are multiplied.
        by: Arg,
        /// What was made of them.
        made: Waiting,
    },
    /// Which elements a dropout keeps.
    Mask {
        /// The dropout.
        call: NodeId,
        /// Its operand.
        of: NodeId,
        /// How likely an element is kept.
        keep: Arg,
    },
}

/// Numbers in a shape: literals, and calls that give a symbolic number.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub dims: Vec<i64>,
    /// Elements in row-major order.
    pub items: Vec<Arg>,
}

impl From<NodeId> for Value {
    fn from(node: NodeId) -> Self {
        Value::Tensor(node)
    }
}

impl From<Drawing> for Value {
    fn from(drawing: Drawing) -> Self {
        Value::Drawing(drawing)
    }
}

impl Value {
    /// Returns one number.
    pub fn scalar(dtype: Dtype, item: Arg) -> Self {
        Value::Numbers(Rc::new(Numbers { dtype, dims: Vec::new(), items: vec![item] }))
    }

    /// Returns a list of numbers.
    pub fn list(dtype: Dtype, items: Vec<Arg>) -> Self {
        let dims = vec![super::build::signed(items.len())];
        Value::Numbers(Rc::new(Numbers { dtype, dims, items }))
    }

    /// Returns the numbers, if they are known.
    pub fn numbers(&self) -> Option<&Numbers> {
        match self {
            Value::Numbers(n) => Some(n),
            Value::Tensor(_) | Value::Places(_) | Value::Drawing(_) | Value::Packed(_) => None,
        }
    }

    /// Returns the element type.
    pub fn dtype(&self, b: &Build<'_>) -> Result<Dtype, Undefined> {
        match self {
            Value::Tensor(n) => b.dtype(*n),
            Value::Numbers(n) => Ok(n.dtype),
            Value::Places(_) | Value::Drawing(_) | Value::Packed(_) => of_the_device(),
        }
    }

    /// Returns how many dimensions it has.
    pub fn rank(&self, b: &Build<'_>) -> Result<usize, Undefined> {
        match self {
            Value::Tensor(n) => b.rank(*n),
            Value::Numbers(n) => Ok(n.dims.len()),
            Value::Places(_) | Value::Drawing(_) | Value::Packed(_) => of_the_device(),
        }
    }

    /// Returns a tensor: itself, or one made of the numbers.
    pub fn tensor(&self, b: &mut Build<'_>) -> Result<NodeId, Undefined> {
        match self {
            Value::Tensor(n) => Ok(*n),
            Value::Numbers(n) => n.tensor(b),
            Value::Drawing(Drawing::Mask { call, .. }) => b.item(*call, 1),
            Value::Places(_) | Value::Drawing(_) | Value::Packed(_) => of_the_device(),
        }
    }
}

fn of_the_device<T>() -> Result<T, Undefined> {
    undefined("what is in a form of the device's own has no meaning here")
}

/// The most elements of a constant that is written into a graph element by element.
const MOST: usize = 1024;

impl Numbers {
    /// Returns the one number, if it is one.
    pub fn only(&self) -> Option<&Arg> {
        match self.items.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Returns the numbers as integers.
    pub fn ints(&self) -> Option<Vec<i64>> {
        self.items.iter().map(|i| if let Arg::Int(v) = i { Some(*v) } else { None }).collect()
    }

    /// Returns a number as an argument beside a tensor of the same dtype.
    pub fn argument(&self, b: &mut Build<'_>, item: &Arg) -> Arg {
        match item {
            Arg::Float(v) => b.number(*v, self.dtype),
            other => other.clone(),
        }
    }

    fn tensor(&self, b: &mut Build<'_>) -> Result<NodeId, Undefined> {
        let sizes: Vec<Arg> = self.dims.iter().map(|d| Arg::Int(*d)).collect();
        let Some(first) = self.items.first() else { return b.full(sizes, Arg::Int(0), self.dtype) };
        if let Some(places) = self.triangle(b) {
            return places;
        }
        if self.items.iter().all(|i| i == first) {
            let value = self.argument(b, first);
            if let Arg::Node(_) = value {
                let made = self.symbol(b, value)?;
                return if sizes.is_empty() {
                    Ok(made)
                } else {
                    b.call("aten.expand.default", vec![Arg::Node(made), Arg::List(sizes.into())])
                };
            }
            return b.full(sizes, value, self.dtype);
        }
        if self.items.len() > MOST {
            return undefined(format!("a constant of {} elements that differ", self.items.len()));
        }
        let mut parts = Vec::new();
        for item in &self.items {
            let value = self.argument(b, item);
            parts.push(Arg::Node(match value {
                Arg::Node(_) => self.symbol(b, value)?,
                known => b.full(Vec::new(), known, self.dtype)?,
            }));
        }
        let line = b.call("aten.stack.default", vec![Arg::List(parts.into())])?;
        if self.dims.len() == 1 {
            return Ok(line);
        }
        b.call("aten.view.default", vec![Arg::Node(line), Arg::List(sizes.into())])
    }

    /// The call of the graph that was lowered that gives just these numbers as the places on one side of a diagonal.
    fn triangle(&self, b: &mut Build<'_>) -> Option<Result<NodeId, Undefined>> {
        let places = self.ints().filter(|_| matches!(self.dims.as_slice(), [2, _]))?;
        for (target, is_lower) in [("aten.tril_indices.default", true), ("aten.triu_indices.default", false)] {
            let means = |args: &[Arg], named: &[(String, Arg)]| {
                let is_plain = |(name, value): &(String, Arg)| match (name.as_str(), value) {
                    ("dtype", Arg::Dtype(dtype)) => *dtype == self.dtype,
                    ("dtype", Arg::None) => self.dtype == Dtype::I64,
                    ("device" | "layout" | "pin_memory", _) => true,
                    _ => false,
                };
                let has_type = self.dtype == Dtype::I64 || named.iter().any(|(name, _)| name == "dtype");
                has_type && named.iter().all(is_plain) && beside_diagonal(args, is_lower).as_ref() == Some(&places)
            };
            if let Some((args, named)) = b.spelled_numbers(target, means) {
                let named = named.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
                return Some(b.call_with(target, args, named));
            }
        }
        None
    }

    fn symbol(&self, b: &mut Build<'_>, value: Arg) -> Result<NodeId, Undefined> {
        let named = vec![("dtype", Arg::Dtype(self.dtype)), ("device", b.device())];
        b.call_with("aten.scalar_tensor.default", vec![value], named)
    }
}

/// The rows, then the columns, of all places at or below a diagonal, or at or above it, row by row.
fn beside_diagonal(args: &[Arg], is_lower: bool) -> Option<Vec<i64>> {
    let (rows, columns, offset) = match args {
        [Arg::Int(rows), Arg::Int(columns)] => (*rows, *columns, 0),
        [Arg::Int(rows), Arg::Int(columns), Arg::Int(offset)] => (*rows, *columns, *offset),
        _ => return None,
    };
    if rows.checked_mul(columns)? > 1 << 20 {
        return None;
    }
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let is_within = |(row, column): &(i64, i64)| {
        let beyond = column.saturating_sub(*row);
        if is_lower { beyond <= offset } else { beyond >= offset }
    };
    let (mut found, columns): (Vec<i64>, Vec<i64>) = all.filter(is_within).unzip();
    found.extend(columns);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_beside_a_diagonal_stand_row_by_row() {
        let three = |offset| [Arg::Int(2), Arg::Int(3), Arg::Int(offset)];
        assert_eq!(beside_diagonal(&three(0), true).unwrap(), [0, 1, 1, 0, 0, 1]);
        assert_eq!(beside_diagonal(&three(1), false).unwrap(), [0, 0, 1, 1, 2, 2]);
        assert_eq!(beside_diagonal(&three(0)[..2], true), beside_diagonal(&three(0), true));
        assert_ne!(beside_diagonal(&three(1), true), beside_diagonal(&three(0), true));
    }
}
