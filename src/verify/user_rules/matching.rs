//! Where a rule holds in a graph, and the graph in which it was applied.
//!
//! Promises: what matches is the same calls on the same operands, of the dtypes and ranks that the rule states, and of sizes that surely lie in the ranges of its symbols; a rule is applied once at
//! each place that was there before, so that this ends. Which of the places that both graphs hold are left as they are is a choice: nothing rests on it. A graph that writes to memory, or holds bodies, is left as it is: what an operand holds may change on the way to where it would be read.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::editor::{Editor, NewCall, Point};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, ValueType, View};
use crate::ops::Registry;
use crate::sym::{Dim, Range, Relation, SymValue};
use crate::verify::user_rules::UserRule;
use crate::verify::verdict::Level;

/// What stands for what of a rule in a graph.
#[derive(Default)]
pub(super) struct Found {
    nodes: FxHashMap<NodeId, NodeId>,
    sizes: FxHashMap<String, Dim>,
}

/// A graph in which rules were applied.
pub(super) struct Applied {
    pub(super) graph: Graph,
    /// Which rules.
    pub(super) used: BTreeSet<usize>,
    /// What stands where something stood that it is equal to over the reals only, and what stood there.
    pub(super) reals: Vec<(NodeId, NodeId)>,
}

impl Applied {
    /// A graph as it is.
    pub(super) fn none(graph: &Graph) -> Self {
        Applied { graph: graph.clone(), used: BTreeSet::new(), reals: Vec::new() }
    }
}

/// Returns a graph in which rules were applied wherever they hold and `may` says so.
pub(super) fn applied(
    graph: &Graph,
    rules: &[UserRule],
    registry: &Registry,
    may: &dyn Fn(&UserRule, NodeId) -> bool,
) -> Applied {
    let (mut used, mut reals) = (BTreeSet::new(), Vec::new());
    if is_left_alone(graph, registry) {
        return Applied::none(graph);
    }
    let mut editor = Editor::new(graph.clone(), std::sync::Arc::new(registry.clone()));
    let places: Vec<NodeId> = graph.nodes(BodyId::ROOT).collect();
    for place in places {
        for (k, rule) in rules.iter().enumerate().filter(|(_, rule)| may(rule, place)) {
            let Some(found) = found(rule, editor.graph(), place) else { continue };
            if let Some(new) = replaced(&mut editor, rule, &found, place) {
                used.insert(k);
                reals.extend((rule.level == Level::Real && is_near(editor.graph().ty(new))).then_some((new, place)));
                break;
            }
        }
    }
    Applied { graph: editor.into_graph(), used, reals }
}

/// Whether no rule is applied to a graph: one that writes to memory, or holds bodies.
pub(super) fn is_left_alone(graph: &Graph, registry: &Registry) -> bool {
    let writes = |n: NodeId| {
        graph.kind(n) == NodeKind::Call
            && crate::analysis::getitem_of(graph, n).is_none()
            && registry.operator_of(graph, n).is_none_or(|o| o.effects.writes() || o.effects.opaque)
    };
    graph.bodies().count() > 1 || graph.nodes(BodyId::ROOT).any(writes)
}

/// Whether values of a type may be near to one another: integers and truths are equal or not.
pub(super) fn is_near(ty: &ValueType) -> bool {
    ty.as_tensor().is_none_or(|t| t.dtype.is_float() || t.dtype.is_complex())
}

/// Returns the one result of a rule's side.
pub(super) fn result(side: &Graph) -> Option<NodeId> {
    let output = side.output(BodyId::ROOT)?;
    let mut nodes = side.operands(output);
    let (first, second) = (nodes.next()?, nodes.next());
    second.is_none().then_some(first)
}

/// Returns what stands for what where a rule's result is a node.
fn found(rule: &UserRule, graph: &Graph, place: NodeId) -> Option<Found> {
    let pattern = &rule.before;
    let root = result(pattern)?;
    let mut found = Found::default();
    let mut open = vec![(root, place)];
    while let Some((wanted, at)) = open.pop() {
        match found.nodes.get(&wanted) {
            Some(known) if *known == at => continue,
            Some(_) => return None,
            None => {}
        }
        found.nodes.insert(wanted, at);
        if pattern.kind(wanted) == NodeKind::Placeholder {
            fits(pattern, pattern.ty(wanted), graph, graph.ty(at), &mut found)?;
            continue;
        }
        if graph.kind(at) != NodeKind::Call || pattern.target(wanted) != graph.target(at) {
            return None;
        }
        let (named, given) = (pattern.kwargs(wanted), graph.kwargs(at));
        let all = pattern.args(wanted).len() == graph.args(at).len() && named.len() == given.len();
        all.then_some(())?;
        for (a, b) in pattern.args(wanted).iter().zip(graph.args(at)) {
            same(a, b, &mut open)?;
        }
        for (name, a) in named {
            let name = pattern.texts.text(*name);
            let (_, b) = given.iter().find(|(other, _)| graph.texts.text(*other) == name)?;
            same(a, b, &mut open)?;
        }
    }
    Some(found)
}

/// Whether two arguments are written alike; nodes in them are compared later.
fn same(a: &Arg, b: &Arg, open: &mut Vec<(NodeId, NodeId)>) -> Option<()> {
    let mut left = vec![(a, b)];
    while let Some((a, b)) = left.pop() {
        match (a, b) {
            (Arg::Node(a), Arg::Node(b)) => open.push((*a, *b)),
            (Arg::Node(_), _) | (_, Arg::Node(_)) => return None,
            (a, b) => match (a.items(), b.items()) {
                (Some(x), Some(y)) if x.len() == y.len() => left.extend(x.iter().zip(y)),
                (None, None) if a == b => {}
                _ => return None,
            },
        }
    }
    Some(())
}

/// Whether a value is of the type that a rule states of its operand.
pub(super) fn fits(
    pattern: &Graph,
    wanted: &ValueType,
    graph: &Graph,
    given: &ValueType,
    found: &mut Found,
) -> Option<()> {
    let (ValueType::Tensor(wanted), ValueType::Tensor(given)) = (wanted, given) else { return None };
    let alike = wanted.dtype == given.dtype && wanted.sizes.len() == given.sizes.len();
    alike.then_some(())?;
    for (size, now) in wanted.sizes.iter().zip(&given.sizes) {
        let holds = match size.fixed() {
            Some(_) => *size == *now,
            None => {
                let names = pattern.symbols.symbols_in(SymValue::Int(*size));
                let [name] = names.as_slice() else { return None };
                (pattern.symbols.find_symbol(name) == Some(*size)).then_some(())?;
                let known = *found.sizes.entry(name.clone()).or_insert(*now);
                let equal = known == *now || graph.symbols.known(known, Relation::Equal, *now) == Some(true);
                equal && is_within(graph.symbols.range_of(*now), pattern.symbols.range_of(*size))
            }
        };
        holds.then_some(())?;
    }
    Some(())
}

fn is_within(inner: Range, outer: Range) -> bool {
    let above = outer.min.is_none_or(|low| inner.min.is_some_and(|v| v >= low));
    let below = outer.max.is_none_or(|high| inner.max.is_some_and(|v| v <= high));
    above && below
}

/// Puts the second side of a rule where its result is a node, and returns what stands there now; `None` where the editor refuses it, and then nothing is changed that is used.
fn replaced(editor: &mut Editor, rule: &UserRule, found: &Found, place: NodeId) -> Option<NodeId> {
    let side = &rule.after;
    let operands = inputs(&rule.before).into_iter().zip(inputs(side));
    let mut made: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for (own, other) in operands {
        made.extend(found.nodes.get(&own).map(|node| (other, *node)));
    }
    for node in side.nodes(BodyId::ROOT).filter(|n| side.kind(*n) == NodeKind::Call) {
        let mut missing = false;
        let mut map = |n: NodeId| {
            made.get(&n).copied().unwrap_or_else(|| {
                missing = true;
                n
            })
        };
        let args = side.args(node).iter().map(|a| a.map_nodes(&mut map)).collect();
        let named = side.kwargs(node).iter().map(|(k, a)| (side.texts.text(*k).to_string(), a.map_nodes(&mut map)));
        let new = NewCall { target: side.target(node).into(), args, kwargs: named.collect(), name: None };
        (!missing).then_some(())?;
        made.insert(node, editor.insert(Point::Before(place), new).ok()?);
    }
    let new = *made.get(&result(side)?)?;
    editor.replace_uses(place, new, None).ok()?;
    editor.erase(place).ok()?;
    Some(new)
}

/// Returns the operands of a rule's side, in order.
pub(super) fn inputs(side: &Graph) -> Vec<NodeId> {
    crate::analysis::placeholders(side, BodyId::ROOT)
}
