//! Numbers that the graph computes, where GE takes them as sizes and bounds: what only running tells.
//!
//! A call gives each of them, once for each tensor. What was put together of numbers is taken apart again as long as nothing was written, and
//! what is computed with them is computed with the numbers, unless the graph that was lowered asks such tensors for theirs.
//!
//! Promises: the numbers are those that the tensor holds where it is read. Sums and products of them are numbers without bounds: that none wraps is
//! said to be assumed.

use super::Undefined;
use super::build::Build;
use super::numbers::{Arithmetic, both};
use super::value::{Numbers, Value};
use crate::graph::{Arg, Dtype, NodeId, StrId, View};

/// Calls that tell the number that a tensor holds, in the spellings that graphs have.
pub(in crate::lower::ge) const TELL: [&str; 2] = ["aten._local_scalar_dense.default", "aten.item.default"];

/// A list of so many numbers is the sizes of a tensor.
const MOST: i64 = 8;

/// How many calls are looked through for the numbers of one tensor.
const CALLS: usize = 64;

/// Returns the numbers of a tensor of integers without dimensions, or of a short list of them; nothing for any other.
pub(super) fn numbers(b: &mut Build<'_>, tensor: NodeId) -> Option<Result<Numbers, Undefined>> {
    let ty = b.tensor(tensor).ok()?;
    let dtype = ty.dtype;
    if !matches!(dtype, Dtype::I32 | Dtype::I64) {
        return None;
    }
    let mut left = CALLS;
    let (dims, items) = match ty.sizes.as_slice() {
        [] => (Vec::new(), number(b, tensor, &mut left).map(|one| vec![one])),
        [count] => {
            let count = count.fixed().filter(|n| (0..=MOST).contains(n))?;
            (vec![count], list(b, tensor, count, &mut left))
        }
        _ => return None,
    };
    Some(items.map(|items| Numbers { dtype, dims, items }))
}

/// The same of a single float that was made of an integer: whoever takes it rounds it, and says so.
pub(super) fn bound(b: &mut Build<'_>, tensor: NodeId) -> Option<Result<Arg, Undefined>> {
    let ("aten._to_copy.default", [Arg::Node(whole)]) = (b.graph.target(tensor), b.graph.args(tensor)) else {
        return None;
    };
    let (whole, is_single) = (*whole, b.dtype(tensor) == Ok(Dtype::F32) && b.rank(tensor) == Ok(0));
    let known = numbers(b, whole).filter(|_| is_single)?;
    Some(known.and_then(|n| n.only().cloned().ok_or_else(|| Undefined("several bounds of a range".into()))))
}

fn list(b: &mut Build<'_>, tensor: NodeId, count: i64, left: &mut usize) -> Result<Vec<Arg>, Undefined> {
    if let (false, "aten.stack.default", [Arg::List(parts), Arg::Int(0)]) =
        (b.has_written, b.graph.target(tensor), b.graph.args(tensor))
    {
        let parts: Vec<NodeId> = parts.iter().filter_map(Arg::as_node).collect();
        return parts.into_iter().map(|part| number(b, part, left)).collect();
    }
    let one = |place| {
        let at = b.call("aten.select.int", vec![Arg::Node(tensor), Arg::Int(0), Arg::Int(place)])?;
        b.told(at)
    };
    (0..count).map(one).collect()
}

/// The number of a tensor without dimensions.
fn number(b: &mut Build<'_>, tensor: NodeId, left: &mut usize) -> Result<Arg, Undefined> {
    if b.has_written || b.tells_of(b.graph.target(tensor)) || *left == 0 {
        return b.told(tensor);
    }
    *left = left.saturating_sub(1);
    let (args, target) = (b.graph.args(tensor).to_vec(), b.graph.target(tensor));
    let op = arithmetic(target, b.graph.kwargs(tensor)).filter(|op| b.calls(op.target()));
    let is_number = |a: &Arg| matches!(a, Arg::Int(_)) || a.as_node().is_some_and(|n| b.is_number(n));
    match (target, args.as_slice()) {
        ("aten.full.default", [Arg::List(sizes), value]) if sizes.is_empty() && is_number(value) => Ok(value.clone()),
        ("aten.scalar_tensor.default", [value]) if is_number(value) => Ok(value.clone()),
        ("aten._to_copy.default", [Arg::Node(from)]) if b.dtype(*from) == Ok(Dtype::I32) && !is_narrow(b, tensor) => {
            number(b, *from, left)
        }
        (_, [x, y]) => {
            let made = op.map(|op| computed(b, op, tensor, [x, y], left)).transpose()?.flatten();
            made.map_or_else(|| b.told(tensor), Ok)
        }
        _ => b.told(tensor),
    }
}

fn is_narrow(b: &Build<'_>, tensor: NodeId) -> bool {
    b.dtype(tensor) != Ok(Dtype::I64)
}

/// What is computed of two numbers, each beside the other of one type.
fn computed(
    b: &mut Build<'_>,
    op: Arithmetic,
    tensor: NodeId,
    operands: [&Arg; 2],
    left: &mut usize,
) -> Result<Option<Arg>, Undefined> {
    let dtype = b.dtype(tensor)?;
    let mut sides = Vec::with_capacity(operands.len());
    for operand in operands {
        let item = match operand {
            Arg::Int(v) => Arg::Int(*v),
            Arg::Node(n) if b.is_number(*n) => Arg::Node(*n),
            Arg::Node(n) if b.dtype(*n) == Ok(dtype) && b.rank(*n) == Ok(0) => number(b, *n, left)?,
            _ => return Ok(None),
        };
        sides.push(Numbers { dtype, dims: Vec::new(), items: vec![item] });
    }
    let [x, y] = sides.as_slice() else { return Ok(None) };
    let made = both(b, op, x, y)?;
    if made.is_some() {
        b.assumed.insert("sums and products of numbers that tensors tell do not wrap".into());
    }
    Ok(made.as_ref().and_then(Value::numbers).and_then(Numbers::only).cloned())
}

fn arithmetic(target: &str, named: &[(StrId, Arg)]) -> Option<Arithmetic> {
    Some(match (target, named) {
        ("aten.add.Tensor", []) => Arithmetic::Add,
        ("aten.sub.Tensor", []) => Arithmetic::Sub,
        ("aten.mul.Tensor", []) => Arithmetic::Mul,
        ("aten.floor_divide.default", []) => Arithmetic::FloorDiv,
        ("aten.div.Tensor_mode", [(_, Arg::Str(mode))]) if **mode == *"floor" => Arithmetic::FloorDiv,
        ("aten.remainder.Scalar" | "aten.remainder.Tensor", []) => Arithmetic::Mod,
        ("aten.minimum.default", []) => Arithmetic::Min,
        ("aten.maximum.default", []) => Arithmetic::Max,
        _ => return None,
    })
}
