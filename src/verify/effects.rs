//! What a call does that no value shows, as far as the judge compares it.
//!
//! Promises: every draw, print, collective, sub-graph call and every operator that nobody described is [`Effect::Ordered`]; every
//! assertion is [`Effect::Assertion`]. Stream operators order, they compute nothing: they belong to `streams`. Writes belong to
//! the storages.

use crate::analysis::call::{self, Known};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::ops::{Registry, SideEffect};

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
    let Known::As(operator, bound) = Known::of(view, registry, node) else { return Some(Effect::Ordered) };
    if call::draws(operator, &bound) || wraps_effect(view, registry, node) {
        return Some(Effect::Ordered);
    }
    match operator.effects.side {
        Some(SideEffect::Assert) => Some(Effect::Assertion),
        Some(SideEffect::Print | SideEffect::Collective | SideEffect::Control) => Some(Effect::Ordered),
        Some(SideEffect::Stream | SideEffect::Record | SideEffect::Prefetch) | None => None,
    }
}

/// Returns whether a call stands for one of another operator that has an effect, or that nobody described.
fn wraps_effect(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    view.args(node).iter().any(|arg| match arg {
        Arg::Operator(target) => registry
            .get(target.strip_prefix("torch.ops.").unwrap_or(target))
            .is_none_or(|o| o.effects.opaque || o.effects.random || o.effects.side.is_some()),
        _ => false,
    })
}

/// Returns the calls that give a tensor another shape or memory in place: no value and no version says so. Costs no walk where
/// no call ever had such a target.
pub fn reshaping_in_place(view: &dyn View, registry: &Registry) -> Vec<NodeId> {
    let reshapes = |target| registry.get(view.texts().text(target)).is_some_and(|o| o.facts.reshapes);
    let targets: Vec<_> = view.targets().iter().copied().filter(|t| reshapes(*t)).collect();
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
