//! Whether what rules put into a graph, equal over the reals only, is no more than that to what is made of it.
//!
//! Promises, where [`carried`] gives an answer: (1) what is put in place of something reaches no step, and does not decide where anything is defined; nor does anything that is written as it is; (2) of
//! two values that a rule makes one nothing is computed in a graph as it was given: what cancels over the reals does not where it is rounded; (3) no infinite number that a graph names, and no
//! memory that nobody set, reaches what a rule was applied to, and of what is no input there it is said that it lies in the working range. What rounding comes to where several rules follow one
//! another is left to the runs.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::places_of;
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::term::sizes::Sizes;
use crate::term::term::Side;
use crate::verify::findings::Findings;
use crate::verify::functional::values::Functional;
use crate::verify::judge::edit::functional;
use crate::verify::judge::kinds::Kinds;
use crate::verify::judge::pair::comparable;
use crate::verify::options::JudgeOptions;
use crate::verify::prove::carried::reached;
use crate::verify::prove::endless::{Reaches, reach};
use crate::verify::prove::poles::is_not_crossed;
use crate::verify::prove::real::{infinite, stated_beyond};
use crate::verify::user_rules::matching::Applied;
use crate::verify::user_rules::terms::Heads;
use crate::verify::verdict::Assumption;

/// Returns what is assumed of values to which rules were applied, in a graph as it was and as it is; `None` where what they made is more than real numbers to something.
pub(super) fn carried(
    [(before, first), (after, second)]: [(&Graph, &Applied); 2],
    registry: &Registry,
    options: &JudgeOptions,
) -> Option<Vec<Assumption>> {
    let (one, other) = comparable(&first.graph, &second.graph, registry, &mut Findings::default());
    let (sizes, kinds) = (Sizes::new(other.symbols(), &one), Kinds::of(&[&one, &other], registry));
    let mut f = functional(&one, &other, registry, options, (sizes, kinds));
    let endless = infinite(&f);
    let mut reaches = Reaches::default();
    let mut assumed = Vec::new();
    for (side, given, applied) in [(Side::Before, before, first), (Side::After, after, second)] {
        let mut written = Written::default();
        let (stood, stands) = (written.of(given, registry), written.of(f.view(side), registry));
        let classes: FxHashSet<usize> = applied.reals.iter().filter_map(|(new, _)| stands.get(new)).copied().collect();
        let all: Vec<NodeId> =
            f.view(side).nodes(BodyId::ROOT).filter(|n| stands.get(n).is_some_and(|k| classes.contains(k))).collect();
        let view = f.view(side);
        let users = all.iter().flat_map(|n| view.users_in_order(*n)).collect();
        let holds = reached(&mut f, side, users) == Ok(None)
            && is_not_crossed(&mut f, side, &FxHashMap::default(), &all).is_ok()
            && are_not_mixed(f.view(side), applied, &stands, &stood, &all);
        holds.then_some(())?;
        for leaf in leaves(f.view(side), given, applied) {
            let may_be_endless = endless.contains(&(side == Side::Before, leaf)) || is_unset(&f, side, leaf);
            (!may_be_endless && lies_in_working_range(&mut f, side, leaf, &mut reaches)).then_some(())?;
            let view = f.view(side);
            assumed.extend((view.kind(leaf) == NodeKind::Call).then(|| Assumption::Range(view.name(leaf).to_string())));
        }
    }
    Some(assumed)
}

/// Whether no value that a node gives is known, or stated, to be beyond the working range, near one input or near many.
fn lies_in_working_range(f: &mut Functional<'_>, side: Side, node: NodeId, reaches: &mut Reaches) -> bool {
    let view = f.view(side);
    places_of(view, node).into_iter().all(|place| {
        let value = f.outcome(side, place);
        f.settle(value);
        match view.kind(node) {
            NodeKind::Call => reach(f, value, reaches).is_none(),
            _ => f.domain_of(value).and_then(stated_beyond).is_none(),
        }
    })
}

fn is_unset(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    f.registry.operator_of(f.view(side), node).is_some_and(|o| o.facts.unset)
}

/// Returns what rules were applied to: what was there before, and is read by what they put in; or stands in the place of something itself.
fn leaves(view: &dyn View, given: &Graph, applied: &Applied) -> Vec<NodeId> {
    let mut open: Vec<NodeId> = applied.reals.iter().map(|(new, _)| *new).collect();
    let (mut seen, mut out) = (FxHashSet::default(), Vec::new());
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        match given.contains(node) {
            true => out.push(node),
            false => open.extend(view.operands(node)),
        }
    }
    out
}

/// Whether nothing is made of two values that stood apart and are written alike now.
fn are_not_mixed(
    view: &dyn View,
    applied: &Applied,
    stands: &FxHashMap<NodeId, usize>,
    stood: &FxHashMap<NodeId, usize>,
    all: &[NodeId],
) -> bool {
    let places: FxHashMap<NodeId, NodeId> = applied.reals.iter().copied().collect();
    let members: FxHashSet<NodeId> = all.iter().copied().collect();
    // Of each node: of which values, as they stood, of which classes it is made.
    let mut made: FxHashMap<NodeId, FxHashMap<usize, Result<usize, NodeId>>> = FxHashMap::default();
    for node in view.nodes(BodyId::ROOT).filter(|n| view.kind(*n) != NodeKind::Output) {
        let mut own: FxHashMap<usize, Result<usize, NodeId>> = FxHashMap::default();
        for (class, value) in view.operands(node).filter_map(|n| made.get(&n)).flatten() {
            if *own.entry(*class).or_insert(*value) != *value {
                return false;
            }
        }
        if members.contains(&node)
            && let Some(class) = stands.get(&node)
        {
            let was = stood.get(places.get(&node).unwrap_or(&node)).copied().ok_or(node);
            own.entry(*class).and_modify(|of| *of = if *of == was { was } else { Err(node) }).or_insert(was);
        }
        if !own.is_empty() {
            made.insert(node, own);
        }
    }
    true
}

/// Numbers of calls, the same for what is written alike.
#[derive(Default)]
struct Written {
    heads: Heads,
    calls: FxHashMap<(u32, Vec<usize>), usize>,
    // What is an input, or does more than give a value, is itself: it is one node as it stood and as it stands.
    others: FxHashMap<NodeId, usize>,
}

impl Written {
    fn of(&mut self, view: &dyn View, registry: &Registry) -> FxHashMap<NodeId, usize> {
        let mut out: FxHashMap<NodeId, usize> = FxHashMap::default();
        for node in view.nodes(BodyId::ROOT).filter(|n| view.kind(*n) != NodeKind::Output) {
            let next = self.calls.len().saturating_add(self.others.len());
            let is_pure = crate::analysis::getitem_of(view, node).is_some()
                || registry.operator_of(view, node).is_some_and(|o| o.effects.is_pure());
            let number = if view.kind(node) == NodeKind::Call && is_pure {
                let (head, operands) = self.heads.of_call(view, node);
                let operands = operands.iter().filter_map(|n| out.get(n)).copied().collect();
                *self.calls.entry((head, operands)).or_insert(next)
            } else {
                *self.others.entry(node).or_insert(next)
            };
            out.insert(node, number);
        }
        out
    }
}
