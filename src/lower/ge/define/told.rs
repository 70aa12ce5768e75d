//! Numbers that the graph computes, where GE takes them as sizes and bounds: what only running tells.
//!
//! A call gives each of them, once for each tensor. What was put together of numbers is taken apart again as long as nothing was written, and
//! what is computed with them is computed with the numbers, unless the graph that was lowered asks such tensors for theirs.
//!
//! Promises: the numbers are those that the tensor holds where it is read. Sums and products are numbers without bounds: one that wraps is no size,
//! and the graph that was lowered raises for it.

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
const DEEP: usize = 64;

/// Returns the numbers of a tensor of integers without dimensions, or of a short list of them; nothing for any other.
pub(super) fn numbers(b: &mut Build<'_>, tensor: NodeId) -> Option<Result<Numbers, Undefined>> {
    let ty = b.tensor(tensor).ok()?;
    let dtype = ty.dtype;
    // A size that was made a float: whoever takes it rounds it.
    if let (Dtype::F32, [], "aten._to_copy.default", [Arg::Node(whole)]) =
        (dtype, ty.sizes.as_slice(), b.graph.target(tensor), b.graph.args(tensor))
    {
        let whole = numbers(b, *whole)?;
        return Some(whole.map(|known| Numbers { dtype, ..known }));
    }
    if !matches!(dtype, Dtype::I32 | Dtype::I64) {
        return None;
    }
    let (dims, items) = match ty.sizes.as_slice() {
        [] => (Vec::new(), number(b, tensor, DEEP).map(|one| vec![one])),
        [count] => {
            let count = count.fixed().filter(|n| (0..=MOST).contains(n))?;
            (vec![count], list(b, tensor, count))
        }
        _ => return None,
    };
    Some(items.map(|items| Numbers { dtype, dims, items }))
}

fn list(b: &mut Build<'_>, tensor: NodeId, count: i64) -> Result<Vec<Arg>, Undefined> {
    if let (false, "aten.stack.default", [Arg::List(parts), Arg::Int(0)]) =
        (b.has_written, b.graph.target(tensor), b.graph.args(tensor))
    {
        let parts: Vec<NodeId> = parts.iter().filter_map(Arg::as_node).collect();
        return parts.into_iter().map(|part| number(b, part, DEEP)).collect();
    }
    let one = |place| {
        let at = b.call("aten.select.int", vec![Arg::Node(tensor), Arg::Int(0), Arg::Int(place)])?;
        b.told(at)
    };
    (0..count).map(one).collect()
}

/// The number of a tensor without dimensions.
fn number(b: &mut Build<'_>, tensor: NodeId, deep: usize) -> Result<Arg, Undefined> {
    if b.has_written || b.tells_of(b.graph.target(tensor)) || deep == 0 {
        return b.told(tensor);
    }
    let (args, target) = (b.graph.args(tensor).to_vec(), b.graph.target(tensor));
    let op = arithmetic(target, b.graph.kwargs(tensor)).filter(|op| b.calls(op.target()));
    let is_number = |a: &Arg| matches!(a, Arg::Int(_)) || a.as_node().is_some_and(|n| b.is_number(n));
    match (target, args.as_slice()) {
        ("aten.full.default", [Arg::List(sizes), value]) if sizes.is_empty() && is_number(value) => Ok(value.clone()),
        ("aten.scalar_tensor.default", [value]) if is_number(value) => Ok(value.clone()),
        ("aten._to_copy.default", [Arg::Node(from)]) if b.dtype(*from) == Ok(Dtype::I32) && !is_narrow(b, tensor) => {
            number(b, *from, deep.saturating_sub(1))
        }
        (_, [x, y]) => {
            let made = op.map(|op| computed(b, op, tensor, [x, y], deep)).transpose()?.flatten();
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
    deep: usize,
) -> Result<Option<Arg>, Undefined> {
    let dtype = b.dtype(tensor)?;
    let mut sides = Vec::with_capacity(operands.len());
    for operand in operands {
        let item = match operand {
            Arg::Int(v) => Arg::Int(*v),
            Arg::Node(n) if b.is_number(*n) => Arg::Node(*n),
            Arg::Node(n) if b.dtype(*n) == Ok(dtype) && b.rank(*n) == Ok(0) => number(b, *n, deep.saturating_sub(1))?,
            _ => return Ok(None),
        };
        sides.push(Numbers { dtype, dims: Vec::new(), items: vec![item] });
    }
    let [x, y] = sides.as_slice() else { return Ok(None) };
    let made = both(b, op, x, y)?;
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
