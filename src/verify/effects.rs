//! What a call does that no value shows, as far as the judge compares it.
//!
//! Promises: every draw, print, collective, sub-graph call and every operator that nobody described is [`Effect::Ordered`]; every
//! assertion is [`Effect::Assertion`]. Stream operators order, they compute nothing: they belong to `streams`. Writes belong to
//! the storages.

use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::ops::{Bound, Operator, Registry, SideEffect};

/// How the judge compares an effect.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// In order, one by one.
    Ordered,
    /// As a set: each assertion of either side is one of the other.
    Assertion,
}

/// Returns the effect of a node.
pub fn effect_of(view: &dyn View, registry: &Registry, node: NodeId) -> Option<Effect> {
    if view.kind(node) != NodeKind::Call {
        return None;
    }
    let Some(operator) = registry.operator_of(view, node) else { return Some(Effect::Ordered) };
    let effects = &operator.effects;
    if effects.opaque || (effects.random && draws(view, operator, node)) {
        return Some(Effect::Ordered);
    }
    match effects.side {
        Some(SideEffect::Assert) => Some(Effect::Assertion),
        Some(SideEffect::Print | SideEffect::Collective | SideEffect::Control) => Some(Effect::Ordered),
        Some(SideEffect::Stream | SideEffect::Record | SideEffect::Prefetch) | None => None,
    }
}

/// Returns whether an operator that may draw does so with these arguments.
fn draws(view: &dyn View, operator: &Operator, node: NodeId) -> bool {
    let Ok(bound) = Bound::bind(&operator.schema, view, view.args(node), view.kwargs(node)) else { return true };
    let is = |name: &str, value: Arg| operator.schema.param_index(name).is_some_and(|i| *bound.get(i) == value);
    let never = match &*operator.schema.name {
        "dropout" | "dropout_" | "alpha_dropout" | "feature_dropout" | "native_dropout" => {
            is("train", Arg::Bool(false))
        }
        "rrelu_with_noise" => is("training", Arg::Bool(false)),
        _ => is("dropout_p", Arg::Float(0.0)) || is("dropout_p", Arg::Int(0)),
    };
    !never
}

/// Returns the effects of a graph in order.
pub fn trace(view: &dyn View, registry: &Registry) -> (Vec<NodeId>, Vec<NodeId>) {
    let (mut ordered, mut assertions) = (Vec::new(), Vec::new());
    let mut next = view.first(BodyId::ROOT);
    while let Some(node) = next {
        match effect_of(view, registry, node) {
            Some(Effect::Ordered) => ordered.push(node),
            Some(Effect::Assertion) => assertions.push(node),
            None => {}
        }
        next = view.next(node);
    }
    (ordered, assertions)
}

/// Operators that raise for some values of their operands, types being right: indices out of range, integer division by zero.
pub fn may_raise(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    if view.kind(node) != NodeKind::Call {
        return false;
    }
    let Some(operator) = registry.operator_of(view, node) else { return true };
    let name = &*operator.schema.name;
    let name = name.strip_suffix('_').unwrap_or(name);
    let partial = [
        "index",
        "take",
        "gather",
        "scatter",
        "embedding",
        "put",
        "one_hot",
        "bincount",
        "repeat_interleave",
        "linalg",
        "cholesky",
        "inverse",
        "multinomial",
        "nll_loss",
        "cross_entropy",
        "item",
        "_local_scalar_dense",
        "masked_scatter",
        "as_strided",
        "remainder",
        "fmod",
        "floor_divide",
        "floordiv",
        "mod",
        "histc",
        "searchsorted",
        "bernoulli",
        "normal",
        "tril_indices",
        "nonzero_static",
        "segment",
        "lu",
        "svd",
        "eig",
        "unpool",
        "npu_",
        "narrow",
        "sym_constrain",
        "grid_sampler",
    ];
    partial.iter().any(|p| name.contains(p))
        || (name.starts_with("div") && !result_is_float(view, node))
        || (name == "pow" && !result_is_float(view, node))
}

fn result_is_float(view: &dyn View, node: NodeId) -> bool {
    view.ty(node).as_tensor().is_some_and(|t| t.dtype.is_float() || t.dtype.is_complex())
}
