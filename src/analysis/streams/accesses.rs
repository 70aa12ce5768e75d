//! What a call does to memory: what it reads and writes, and whether others may not pass it.
//!
//! Worst first: an operator without a statement, or whose arguments do not bind, is opaque; a control operator does what its
//! bodies do, all of them together, and everything to each of its operands; an operator that takes another operator as an
//! argument (`auto_functionalized`) has that one's effects.
//!
//! Promises: every tensor operand of a call that is not a pure view is read, and written wherever that is not excluded; nothing
//! recurses; each body is looked at once. Leaves to `conflicts`: which values share memory.

use rustc_hash::{FxHashMap, FxHashSet};

use super::scopes::{nodes_of, stream_operator};
use crate::analysis::{Home, Place, Shares, Storages, bodies_called, getitem_of, place_of, places_of, type_of};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, ValueType, View};
use crate::ops::{Bound, Operator, Registry, SideEffect};

/// An operand, and what a call does to its memory.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Touch {
    /// The value.
    pub place: Place,
    /// Whether it is written; it is read in any case.
    pub writes: bool,
}

/// What a call does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Does {
    /// Its operands, each once.
    pub touches: Vec<Touch>,
    /// Nobody described it: it may read and write all memory that it can know.
    pub opaque: bool,
    /// Its order among others with effects counts: it draws, prints, talks with other devices, is or runs what nobody described.
    pub effect: bool,
    /// What is said of `touches` is surely so, and surely all of the operand that it writes.
    pub certain: bool,
    /// Reads attributes of the module, or writes them.
    pub attributes: Option<bool>,
    /// Its results may be new memory.
    pub allocates: bool,
    /// It only gives its operand another shape: captured graphs run nothing for it.
    pub is_view: bool,
    /// GE surely computes something for it, in its place.
    pub launches: bool,
    /// Runs bodies: its results may lie in the memory of its operands.
    pub is_control: bool,
}

/// Answers for the calls of one graph.
pub struct Accesses<'a> {
    view: &'a dyn View,
    registry: &'a Registry,
    bodies: FxHashMap<BodyId, Summary>,
}

/// What all nodes do, in list order.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Calls that do something.
    pub nodes: Vec<(NodeId, Does)>,
}

impl Work {
    /// Returns what the nodes of the root body do.
    pub fn of(view: &dyn View, accesses: &mut Accesses<'_>, storages: &mut Storages<'_>) -> Self {
        let calls = nodes_of(view, BodyId::ROOT).filter(|(_, kind)| *kind == NodeKind::Call);
        Work { nodes: calls.map(|(n, _)| (n, accesses.of(storages, n))).collect() }
    }
}

/// What a body does, those that it calls included.
#[derive(Copy, Clone, Debug, Default)]
struct Summary {
    opaque: bool,
    writes: bool,
    effect: bool,
    attributes: bool,
}

impl<'a> Accesses<'a> {
    /// Returns answers about a graph; nothing is looked at yet.
    pub fn new(view: &'a dyn View, registry: &'a Registry) -> Self {
        Accesses { view, registry, bodies: FxHashMap::default() }
    }

    /// Returns what a node does. Stream operators but `wait_tensor`, items of tuples and what is no call do nothing.
    pub fn of(&mut self, storages: &mut Storages<'_>, node: NodeId) -> Does {
        let view = self.view;
        let operator = stream_operator(view.target(node));
        if view.kind(node) != NodeKind::Call
            || getitem_of(view, node).is_some()
            || operator.is_some_and(|o| !o.computes())
        {
            return Does::default();
        }
        let operands = operands_of(view, node);
        let all = |writes: bool| operands.iter().map(|place| Touch { place: *place, writes }).collect::<Vec<_>>();
        let opaque = Does { touches: all(true), opaque: true, effect: true, allocates: true, ..Does::default() };
        let Some(operator) = self.registry.operator_of(view, node) else { return opaque };
        let Ok(bound) = Bound::bind(&operator.schema, view, view.args(node), view.kwargs(node)) else { return opaque };
        if operator.effects.opaque {
            return opaque;
        }
        let (inner, runs_operator) = self.inner_operators(node);
        if operator.effects.side == Some(SideEffect::Control) {
            let bodies = bodies_called(view, node);
            let mut summary = inner;
            summary.opaque |= bodies.is_empty();
            for body in bodies {
                summary = summary.and(self.summary(body));
            }
            if summary.opaque {
                return Does { is_control: true, attributes: Some(true), ..opaque };
            }
            return Does {
                touches: all(summary.writes),
                effect: summary.writes || summary.effect,
                attributes: summary.attributes.then_some(summary.writes),
                allocates: true,
                is_control: true,
                ..Does::default()
            };
        }
        if inner.opaque {
            return opaque;
        }
        let mut written: FxHashSet<Place> = FxHashSet::default();
        for (param, arg) in bound.args.iter().enumerate() {
            if operator.effects.params.get(param).is_some_and(|p| p.writes) {
                written.extend(arg.nodes().flat_map(|n| places_of(view, n)));
            }
        }
        let touches: Vec<Touch> = operands.iter().map(|p| Touch { place: *p, writes: written.contains(p) }).collect();
        let homes: Vec<(Place, Home)> = places_of(view, node)
            .into_iter()
            .filter(|p| holds_tensor(type_of(view, *p)))
            .map(|p| (p, storages.home(p)))
            .collect();
        let effects = &operator.effects;
        let is_sure = |home: &Home| matches!(home.as_slice(), [Shares::Same(_) | Shares::View(_)]);
        let is_view = effects.is_pure() && !homes.is_empty() && homes.iter().all(|(_, home)| is_sure(home));
        Does {
            effect: has_effect(operator) || inner.effect,
            // Who gives no tensor and writes none may look at sizes only.
            certain: !runs_operator
                && !effects.params.iter().any(|p| p.hidden)
                && (!homes.is_empty() || effects.writes()),
            allocates: homes.iter().any(|(_, home)| !is_sure(home)),
            launches: !runs_operator && launches(view, operator, &touches, &homes),
            is_view,
            touches,
            ..Does::default()
        }
    }

    /// What the operators do that a call takes as arguments; and whether there are any.
    fn inner_operators(&self, node: NodeId) -> (Summary, bool) {
        let (mut out, mut any) = (Summary::default(), false);
        for arg in self.view.args(node).iter().chain(self.view.kwargs(node).iter().map(|(_, a)| a)) {
            let Arg::Operator(target) = arg else { continue };
            any = true;
            let target = target.strip_prefix("torch.ops.").unwrap_or(target);
            out = out.and(match self.registry.get(target) {
                Some(o) if !o.effects.opaque => {
                    Summary { writes: o.effects.writes(), effect: has_effect(o), ..Summary::default() }
                }
                _ => Summary { opaque: true, writes: true, effect: true, attributes: true },
            });
        }
        (out, any)
    }

    fn summary(&mut self, body: BodyId) -> Summary {
        if let Some(known) = self.bodies.get(&body) {
            return *known;
        }
        let mut out = Summary::default();
        let (mut open, mut seen) = (vec![body], FxHashSet::default());
        while let Some(body) = open.pop() {
            if !seen.insert(body) {
                continue;
            }
            for (node, kind) in nodes_of(self.view, body) {
                match kind {
                    NodeKind::Call => {
                        let called = bodies_called(self.view, node);
                        out = out.and(self.inner_operators(node).0);
                        out = out.and(self.alone(node, !called.is_empty()));
                        open.extend(called);
                    }
                    NodeKind::GetAttr => out.attributes |= !matches!(self.view.ty(node), ValueType::Body(_)),
                    NodeKind::Placeholder | NodeKind::Output => {}
                }
            }
        }
        self.bodies.insert(body, out);
        out
    }

    /// What a call in a body does, but for the bodies that it calls.
    fn alone(&self, node: NodeId, calls_bodies: bool) -> Summary {
        let view = self.view;
        let opaque = Summary { opaque: true, writes: true, effect: true, attributes: false };
        let Some(operator) = self.registry.operator_of(view, node) else { return opaque };
        let binds = Bound::bind(&operator.schema, view, view.args(node), view.kwargs(node)).is_ok();
        let is_control = operator.effects.side == Some(SideEffect::Control);
        if operator.effects.opaque || !binds || (is_control && !calls_bodies) {
            return opaque;
        }
        // A stream operator in a body has no known meaning.
        let effect = has_effect(operator) || stream_operator(view.target(node)).is_some();
        Summary { writes: operator.effects.writes(), effect, ..Summary::default() }
    }
}

impl Summary {
    fn and(self, other: Summary) -> Summary {
        Summary {
            opaque: self.opaque || other.opaque,
            writes: self.writes || other.writes,
            effect: self.effect || other.effect,
            attributes: self.attributes || other.attributes,
        }
    }
}

fn has_effect(operator: &Operator) -> bool {
    operator.effects.opaque
        || operator.effects.random
        || matches!(operator.effects.side, Some(SideEffect::Print | SideEffect::Collective))
}

/// Whether GE surely gets an operator for the call that computes in the call's place. Views are put off, asserts are dropped, results
/// without elements are constants, sizes are the host's; a copy that changes nothing, and a function of unsigned integers that
/// is the identity there, may be left out.
fn launches(view: &dyn View, operator: &Operator, touches: &[Touch], homes: &[(Place, Home)]) -> bool {
    if stream_operator(&operator.target).is_some_and(|o| o.computes()) {
        return true;
    }
    if touches.is_empty() || operator.effects.side == Some(SideEffect::Assert) {
        return false;
    }
    if touches.iter().any(|t| t.writes) {
        return true;
    }
    let tensor = |place: Place| type_of(view, place).as_tensor();
    let computes = |place: Place, home: &Home| {
        let Some(result) = tensor(place).filter(|_| home.is_empty()) else { return false };
        let is_empty = result.sizes.iter().any(|d| d.fixed() == Some(0));
        let is_unsigned = result.dtype == crate::graph::Dtype::U8;
        let same = |p: Place| tensor(p).is_some_and(|t| t.dtype == result.dtype && t.sizes == result.sizes);
        let is_copy = !operator.pointwise
            && (operator.facts.same_as.is_some() || operator.facts.step.is_some())
            && touches.iter().all(|t| same(t.place));
        !is_empty && !is_unsigned && !is_copy
    };
    homes.iter().any(|(place, home)| computes(*place, home))
}

/// Returns every operand that is or holds a tensor, each once.
fn operands_of(view: &dyn View, node: NodeId) -> Vec<Place> {
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    let mut out = Vec::new();
    for operand in view.operands(node) {
        if getitem_of(view, operand).is_some() {
            // Its own type says what it is, at once.
            let place = place_of(view, operand);
            if holds_tensor(view.ty(operand)) && seen.insert(place) {
                out.push(place);
            }
            continue;
        }
        for place in places_of(view, operand) {
            if holds_tensor(type_of(view, place)) && seen.insert(place) {
                out.push(place);
            }
        }
    }
    out
}

/// Whether a value may be or hold a tensor.
pub(super) fn holds_tensor(ty: &ValueType) -> bool {
    !matches!(
        ty,
        ValueType::None | ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_) | ValueType::Body(_)
    )
}
