//! What one call does with its arguments as they stand: the effects of its operator, narrowed by flags that are given.
//!
//! Promises: a call whose operator nobody described, or whose arguments do not bind, is [`Known::Not`]: anything may happen. Who
//! asks "does this call write, draw, or hide an operator that nobody described?" asks here. Leaves which memory that is to
//! `storage`.

use rustc_hash::FxHashMap;

use crate::analysis::sharing::storages::bodies_called;
use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::ops::{Bound, Operator, Registry, SideEffect};

/// A call, as far as the registry knows it.
// Lives on the stack of whoever asks.
#[allow(clippy::large_enum_variant)]
pub enum Known<'a> {
    /// The operator, and the arguments by its parameters.
    As(&'a Operator, Bound<'a>),
    /// Nobody described it.
    Not,
}

impl<'a> Known<'a> {
    /// Returns what is known of a call node.
    pub fn of(view: &'a dyn View, registry: &'a Registry, node: NodeId) -> Self {
        let Some(operator) = registry.operator_of(view, node).filter(|o| !o.effects.opaque) else { return Known::Not };
        match Bound::bind(&operator.schema, view, view.args(node), view.kwargs(node)) {
            Ok(bound) => Known::As(operator, bound),
            Err(_) => Known::Not,
        }
    }
}

/// Returns whether a call writes its argument `param`: statistics are updated only where a flag says so.
pub fn writes(operator: &Operator, bound: &Bound<'_>, param: usize) -> bool {
    let marked = operator.effects.params.get(param).is_some_and(|a| a.writes);
    let spared = operator.facts.writes_if.as_ref().is_some_and(|name| {
        operator.schema.param_index(name).is_some_and(|i| *bound.get(i) == Arg::Bool(false))
            && operator.effects.params.get(param).is_some_and(|a| a.hidden)
    });
    marked && !spared
}

/// Returns whether a call draws random numbers.
pub fn draws(operator: &Operator, bound: &Bound<'_>) -> bool {
    let never = operator
        .facts
        .draws_unless
        .iter()
        .any(|unless| operator.schema.param_index(&unless.param).is_some_and(|i| unless.holds(bound.get(i))));
    operator.effects.random && !never
}

/// Returns whether a call only orders streams or touches caches: it has no access to memory of tensors, nor an effect that anyone sees.
pub fn only_orders(operator: &Operator) -> bool {
    matches!(operator.effects.side, Some(SideEffect::Stream | SideEffect::Record | SideEffect::Prefetch))
}

/// What bodies do, one entry a body.
#[derive(Debug, Default)]
pub struct Bodies {
    opaque: FxHashMap<BodyId, bool>,
    writing: FxHashMap<BodyId, bool>,
}

impl Bodies {
    /// Returns whether a call is of an operator that nobody described, or runs one: in a body, or by name.
    pub fn is_opaque(&mut self, view: &dyn View, registry: &Registry, node: NodeId) -> bool {
        if view.kind(node) != NodeKind::Call {
            return false;
        }
        let Known::As(operator, _) = Known::of(view, registry, node) else { return true };
        if operator.effects.side != Some(SideEffect::Control) && !takes_operator(view, node) {
            return false;
        }
        hides_opaque(view, registry, node)
            || bodies_called(view, node).into_iter().any(|body| self.has_opaque(view, registry, body))
    }

    fn has_opaque(&mut self, view: &dyn View, registry: &Registry, body: BodyId) -> bool {
        if let Some(known) = self.opaque.get(&body) {
            return *known;
        }
        let found = any_call(view, body, |node| {
            matches!(Known::of(view, registry, node), Known::Not) || hides_opaque(view, registry, node)
        });
        self.opaque.insert(body, found);
        found
    }

    /// Returns whether a body that the call runs writes anything, or is not understood.
    pub fn write(&mut self, view: &dyn View, registry: &Registry, node: NodeId) -> bool {
        hides_opaque(view, registry, node)
            || bodies_called(view, node).into_iter().any(|body| self.is_writing(view, registry, body))
    }

    fn is_writing(&mut self, view: &dyn View, registry: &Registry, body: BodyId) -> bool {
        if let Some(known) = self.writing.get(&body) {
            return *known;
        }
        let found = any_call(view, body, |node| match Known::of(view, registry, node) {
            Known::As(operator, bound) => {
                (0..bound.args.len()).any(|i| writes(operator, &bound, i)) || hides_opaque(view, registry, node)
            }
            Known::Not => true,
        });
        self.writing.insert(body, found);
        found
    }
}

/// Returns whether an argument names an operator, which the call then stands for.
pub fn takes_operator(view: &dyn View, node: NodeId) -> bool {
    view.args(node).iter().any(|a| matches!(a, Arg::Operator(_)))
}

/// Returns whether a call stands for one of an operator that nobody described.
fn hides_opaque(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    view.args(node).iter().any(|a| match a {
        Arg::Operator(target) => {
            registry.get(target.strip_prefix("torch.ops.").unwrap_or(target)).is_none_or(|o| o.effects.opaque)
        }
        _ => false,
    })
}

/// Whether any call of a body, or of the bodies that it runs, is of a kind.
fn any_call(view: &dyn View, body: BodyId, mut is: impl FnMut(NodeId) -> bool) -> bool {
    let mut open = vec![body];
    let mut seen = rustc_hash::FxHashSet::default();
    while let Some(body) = open.pop() {
        if !seen.insert(body) {
            continue;
        }
        for node in view.nodes(body) {
            if view.kind(node) != NodeKind::Call {
                continue;
            }
            if is(node) {
                return true;
            }
            open.extend(bodies_called(view, node));
        }
    }
    false
}

/// Returns the calls of the graph itself that are of operators which nobody described, or run one, in order.
///
/// Costs no walk where every target that calls ever had is an operator of the registry.
pub fn opaque_calls(view: &dyn View, registry: &Registry, bodies: &mut Bodies) -> Vec<NodeId> {
    // A target without overload may mean one whose arguments do not bind; one that takes an operator may hide another.
    let plain = |target: &str| {
        registry.get(target).is_some_and(|o| {
            *o.target == *target
                && !o.effects.opaque
                && o.effects.side != Some(SideEffect::Control)
                && o.schema.params.first().is_none_or(|p| &*p.name != "op")
        })
    };
    if view.targets().iter().all(|t| plain(view.texts().text(*t))) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for node in view.nodes(BodyId::ROOT) {
        if bodies.is_opaque(view, registry, node) {
            out.push(node);
        }
    }
    out
}
