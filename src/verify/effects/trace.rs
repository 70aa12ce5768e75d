//! What a call does that no value shows, as far as the judge compares it.
//!
//! Promises: every draw, print, collective, sub-graph call and every operator that nobody described is [`Effect::Ordered`]; every
//! assertion is [`Effect::Assertion`]. What meets what a collective may still work on (`beside`) is ordered, too. Stream operators order, they compute nothing: they belong to `streams`. Writes belong to
//! the storages.

use crate::analysis::call::{self, Known};
use crate::analysis::{bodies_called, place_of, type_of};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, StrId, TensorType, ValueType, View};
use crate::ops::{CallSite, Operator, Registry, SideEffect};
use crate::sym::Symbols;
use crate::verify::effects::beside::Beside;

/// How the judge compares an effect.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// In order, one by one.
    Ordered,
    /// As a set: each assertion of either side is one of the other.
    Assertion,
}

/// Returns the effect of a node.
pub fn effect_of(view: &dyn View, registry: &Registry, beside: &Beside, node: NodeId) -> Option<Effect> {
    if view.kind(node) != NodeKind::Call {
        return None;
    }
    let Known::As(operator, bound) = Known::of(view, registry, node) else { return Some(Effect::Ordered) };
    if call::draws(operator, &bound) || wraps_effect(view, registry, node) || beside.touches(view, node, operator) {
        return Some(Effect::Ordered);
    }
    match operator.effects.side {
        Some(SideEffect::Assert) => Some(Effect::Assertion),
        Some(SideEffect::Control) if runs_nothing(view, operator, node) => None,
        Some(SideEffect::Print | SideEffect::Collective | SideEffect::Control) => Some(Effect::Ordered),
        Some(SideEffect::Stream | SideEffect::Record | SideEffect::Prefetch) | None => None,
    }
}

/// Returns whether a call runs a body once in which nothing stands, and that is given nothing.
pub(super) fn runs_nothing(view: &dyn View, operator: &Operator, node: NodeId) -> bool {
    let bodies = bodies_called(view, node);
    let [body] = bodies.as_slice() else { return false };
    operator.facts.runs_once
        && view.operands(node).count() == 1
        && view.nodes(*body).all(|n| view.kind(n) == NodeKind::Output)
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
    let takes_out = |o: &Operator| o.schema.params.iter().zip(&o.effects.params).any(|(p, a)| p.kwarg_only && a.writes);
    let reshapes = |target| registry.get(view.texts().text(target)).is_none_or(|o| o.facts.reshapes || takes_out(o));
    let targets: Vec<_> = view.targets().iter().copied().filter(|t| reshapes(*t)).collect();
    let mut out = Vec::new();
    let mut symbols = if targets.is_empty() { Symbols::default() } else { view.symbols().clone() };
    for body in view.bodies().filter(|_| !targets.is_empty()) {
        for node in view.nodes(body) {
            if view.kind(node) == NodeKind::Call
                && targets.contains(&view.target_id(node))
                && match registry.get(view.target(node)) {
                    Some(known) => known.facts.reshapes || resizes_out(view, registry, &mut symbols, node),
                    // What nobody described gives what it is given by name, to write it, the shape that it likes.
                    None => is_given_by_name(view, node),
                }
            {
                out.push(node);
            }
        }
    }
    out
}

fn is_given_by_name(view: &dyn View, node: NodeId) -> bool {
    let mut given = view.kwargs(node).iter().flat_map(|(_, arg)| arg.nodes());
    given.any(|n| !matches!(view.ty(n), ValueType::SymInt(_) | ValueType::Body(_)))
}

/// Whether a call may give its `out` another shape: PyTorch does where that is not the result's.
fn resizes_out(view: &dyn View, registry: &Registry, symbols: &mut Symbols, node: NodeId) -> bool {
    let Known::As(operator, bound) = Known::of(view, registry, node) else { return true };
    let params = &operator.schema.params;
    let is_out = |i: &usize| params.get(*i).is_some_and(|p| p.kwarg_only) && call::writes(operator, &bound, *i);
    let outs: Vec<usize> = (0..params.len()).filter(is_out).collect();
    let is_named_out = |name: &str| outs.iter().any(|i| params.get(*i).is_some_and(|p| &*p.name == name));
    let kwargs: Vec<(StrId, Arg)> =
        view.kwargs(node).iter().filter(|(k, _)| !is_named_out(view.texts().text(*k))).cloned().collect();
    let Some(twin) = registry.functional(operator) else { return true };
    let site = CallSite { target: &twin.target, args: view.args(node), kwargs: &kwargs, annotated: None };
    let Ok(result) = registry.infer_in(view, symbols, site) else { return true };
    let results = match &result {
        ValueType::Many(all) => all.iter().map(ValueType::as_tensor).collect(),
        one => vec![one.as_tensor()],
    };
    let known = |n: NodeId| type_of(view, place_of(view, n)).as_tensor().filter(|_| !view.hearsay(n).sizes());
    let given: Vec<_> = outs.iter().map(|i| bound.get(*i).as_node().and_then(known)).collect();
    let same = |a: &TensorType, b: &TensorType| {
        a.rank() == b.rank() && a.sizes.iter().zip(&b.sizes).all(|(x, y)| symbols.equal(*x, *y) == Some(true))
    };
    results.len() != given.len()
        || !results.iter().zip(&given).all(|pair| matches!(pair, (Some(a), Some(b)) if same(a, b)))
}

/// Returns the effects of a graph in order.
pub fn trace(view: &dyn View, registry: &Registry, beside: &Beside) -> (Vec<NodeId>, Vec<NodeId>) {
    let (mut ordered, mut assertions) = (Vec::new(), Vec::new());
    for node in view.nodes(BodyId::ROOT) {
        match effect_of(view, registry, beside, node) {
            Some(Effect::Ordered) => ordered.push(node),
            Some(Effect::Assertion) => assertions.push(node),
            None => {}
        }
    }
    (ordered, assertions)
}
