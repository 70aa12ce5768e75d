//! Whether a call holds for all values of the symbols in the sizes of its operands.
//!
//! Promises: "yes" is said only where it was shown: sizes broadcast, or have one product, or the operator takes any size; sizes
//! that are numbers were checked by the type rules. What is not known is "no".

use super::functional::{Functional, bind};
use super::views::{ViewCall, as_dim};
use crate::analysis::{place_of, tensor_operands, type_of};
use crate::graph::{Arg, NodeId, NodeKind, TensorType, ValueType};
use crate::ops::{Bound, Operator};
use crate::sym::Dim;

/// Operators that take tensors of any size.
const ANY_SIZE: &[&str] = &[
    "_to_copy",
    "alias",
    "clone",
    "contiguous",
    "conj",
    "cumsum",
    "detach",
    "detach_",
    "empty_like",
    "fill",
    "fill_",
    "full_like",
    "gelu",
    "lift",
    "lift_fresh",
    "lift_fresh_copy",
    "log_softmax",
    "_log_softmax",
    "logsumexp",
    "mean",
    "ones_like",
    "permute",
    "positive",
    "prod",
    "slice",
    "softmax",
    "_softmax",
    "squeeze",
    "sum",
    "sym_numel",
    "sym_size",
    "t",
    "to",
    "transpose",
    "unsqueeze",
    "zero",
    "zero_",
    "zeros_like",
];

/// Returns whether a call fits its operands for all sizes.
pub fn fits_for_all_sizes(f: &mut Functional<'_>, node: NodeId) -> bool {
    let view = f.after.view;
    if view.kind(node) != NodeKind::Call || crate::analysis::getitem_of(view, node).is_some() {
        return true;
    }
    let Some(operator) = f.registry.operator_of(view, node) else { return true };
    if !matches!(&*operator.schema.namespace, "aten" | "prims" | "npu") {
        return true;
    }
    let types: Vec<&TensorType> =
        tensor_operands(view, node).into_iter().filter_map(|p| type_of(view, p).as_tensor()).collect();
    let open = |t: &TensorType| t.sizes.iter().any(|d| d.fixed().is_none());
    let given = view.args(node).iter().flat_map(Arg::nodes);
    let mut sizes_given = given.filter(|n| matches!(view.ty(*n), ValueType::SymInt(d) if d.fixed().is_none()));
    if !types.iter().any(|t| open(t)) && sizes_given.next().is_none() {
        return true;
    }
    if ANY_SIZE.contains(&&*operator.schema.name) {
        return true;
    }
    let Some(bound) = bind(operator, view, node) else { return false };
    match &*operator.schema.name {
        "expand" => fits_into(f, types.first().copied(), type_of(view, place_of(view, node)).as_tensor()),
        "copy_" => fits_into(f, types.get(1).copied(), types.first().copied()),
        "select" => selects(f, node, operator, &bound),
        _ if operator.pointwise => types.iter().enumerate().all(|(i, a)| {
            types.iter().take(i).all(|b| {
                let pairs = a.sizes.iter().rev().zip(b.sizes.iter().rev());
                let one = Dim::Fixed(1);
                pairs.into_iter().all(|(x, y)| *x == one || *y == one || f.sizes.same(*x, *y))
            })
        }),
        _ => {
            let place = place_of(view, node);
            let call = ViewCall { view, operator, bound: &bound, place };
            types.first().is_some_and(|from| call.step(from, &mut f.sizes).is_some())
        }
    }
}

/// Returns whether one broadcasts to the sizes of the other.
fn fits_into(f: &Functional<'_>, from: Option<&TensorType>, to: Option<&TensorType>) -> bool {
    let (Some(from), Some(to)) = (from, to) else { return false };
    let mut pairs = from.sizes.iter().rev().zip(to.sizes.iter().rev());
    from.rank() <= to.rank() && pairs.all(|(x, y)| *x == Dim::Fixed(1) || f.sizes.same(*x, *y))
}

/// Returns whether the index of a selection is always in range.
fn selects(f: &mut Functional<'_>, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
    let view = f.after.view;
    let arg = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    let from = bound.args.first().and_then(|a| a.as_node()).and_then(|n| type_of(view, place_of(view, n)).as_tensor());
    let (Some(from), Some(dim), Some(index)) = (from, arg("dim"), arg("index")) else { return false };
    let size = super::views::axis(dim, from.rank()).and_then(|d| from.sizes.get(d).copied());
    let (Some(size), Some(index)) = (size, as_dim(view, index)) else { return false };
    let Some(after) = f.sizes.add(index, Dim::Fixed(1)) else { return false };
    let Some(end) = f.sizes.add(index, size) else { return false };
    let settled = f.sizes.are_settled(&[index, size]) && view.kind(node) == NodeKind::Call;
    settled && f.sizes.at_most(after, size) && f.sizes.at_most(Dim::Fixed(0), end)
}
