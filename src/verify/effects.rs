//! What a call does that no value shows, as far as the judge compares it.
//!
//! Promises: every draw, print, collective, sub-graph call and every operator that nobody described is [`Effect::Ordered`]; every
//! assertion is [`Effect::Assertion`]. Stream operators order, they compute nothing: they belong to `streams`. Writes belong to
//! the storages.

use crate::analysis::{tensor_operands, type_of};
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
    if effects.opaque || (effects.random && draws(view, operator, node)) || wraps_effect(view, registry, operator, node)
    {
        return Some(Effect::Ordered);
    }
    match effects.side {
        Some(SideEffect::Assert) => Some(Effect::Assertion),
        Some(SideEffect::Print | SideEffect::Collective | SideEffect::Control) => Some(Effect::Ordered),
        Some(SideEffect::Stream | SideEffect::Record | SideEffect::Prefetch) | None => None,
    }
}

/// Returns whether a call stands for one of another operator that has an effect, or that nobody described.
fn wraps_effect(view: &dyn View, registry: &Registry, operator: &Operator, node: NodeId) -> bool {
    if !operator.schema.name.starts_with("auto_functionalized") {
        return false;
    }
    let inner = match view.args(node).first() {
        Some(Arg::Operator(target)) => registry.get(target.strip_prefix("torch.ops.").unwrap_or(target)),
        _ => None,
    };
    inner.is_none_or(|o| o.effects.opaque || o.effects.random || o.effects.side.is_some())
}

/// Operators that give a tensor another shape, or other memory, in place: no value and no version says so.
const RESHAPING: &[&str] = &[
    "set_.source_Tensor",
    "set_.source_Tensor_storage_offset",
    "set_.source_Storage",
    "set_.source_Storage_storage_offset",
    "set_.default",
    "resize_.default",
    "resize_as_.default",
    "as_strided_.default",
    "t_.default",
    "transpose_.default",
    "swapaxes_.default",
    "swapdims_.default",
    "squeeze_.default",
    "squeeze_.dim",
    "squeeze_.dims",
    "unsqueeze_.default",
];

/// Returns the calls that give a tensor another shape or memory in place. Costs no walk where no text names one.
pub fn reshaping_in_place(view: &dyn View) -> Vec<NodeId> {
    let targets: Vec<_> = RESHAPING.iter().filter_map(|name| view.texts().find(&format!("aten.{name}"))).collect();
    let mut out = Vec::new();
    for body in (0..u32::try_from(view.body_count()).unwrap_or(0)).map(BodyId).filter(|_| !targets.is_empty()) {
        let mut next = view.first(body);
        while let Some(node) = next {
            if view.kind(node) == NodeKind::Call && targets.contains(&view.target_id(node)) {
                out.push(node);
            }
            next = view.next(node);
        }
    }
    out
}

/// Returns whether only running the call tells its type, so that what an annotation says of it is somebody's word.
pub fn tells_its_type(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    if view.kind(node) != NodeKind::Call {
        return false;
    }
    if let Some((of, _)) = crate::analysis::getitem_of(view, node) {
        return !matches!(view.ty(of), crate::graph::ValueType::Many(_));
    }
    let Some(operator) = registry.operator_of(view, node) else { return true };
    let name = &*operator.schema.name;
    let symbolic = || {
        tensor_operands(view, node)
            .iter()
            .any(|p| type_of(view, *p).as_tensor().is_none_or(|t| t.sizes.iter().any(|d| d.fixed().is_none())))
    };
    operator.rule.is_none()
        || ["item", "_local_scalar_dense", "masked_select", "repeat_interleave", "bincount"].contains(&name)
        || ["nonzero", "unique", "_unique"].iter().any(|p| name.starts_with(p))
        || ["split", "chunk", "unbind"].iter().any(|p| name.contains(p)) && symbolic()
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
        "is_nonzero",
        "truediv",
    ];
    partial.iter().any(|p| name.contains(p))
        || (name.starts_with("div") && !result_is_float(view, node))
        || (name == "pow" && !result_is_float(view, node))
}

fn result_is_float(view: &dyn View, node: NodeId) -> bool {
    view.ty(node).as_tensor().is_some_and(|t| t.dtype.is_float() || t.dtype.is_complex())
}
