//! The edit between two graphs, node by node.
//!
//! Nodes are matched by body and name. What stands in the same relative order on both sides is an anchor (a longest
//! increasing subsequence); the rest is gone, new or moved. Promises: O(n log n), and a graph against itself is empty.
//! Leaves meaning to `verify`: a diff says what was written, not whether it matters.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::graph::{BodyId, NodeId, NodeKind, View};
use crate::sym::KeyedMap;

/// What happened to one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only in the first graph.
    Erased,
    /// Only in the second graph.
    Inserted,
    /// In both, with another statement.
    Changed,
    /// In both, at another place.
    Moved,
}

/// One node that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    /// What happened.
    pub change: Change,
    /// Name of the body; empty for the graph itself.
    pub body: String,
    /// Name of the node.
    pub node: String,
    /// The statement in the first graph.
    pub before: Option<String>,
    /// The statement in the second graph.
    pub after: Option<String>,
    /// The name of the node before it in the second graph (of an erased one: in the first).
    pub follows: Option<String>,
}

/// Compares two graphs; entries are in program order. `line` prints a statement.
pub fn diff<A: View, B: View>(
    before: &A,
    after: &B,
    line_before: impl Fn(NodeId) -> String,
    line_after: impl Fn(NodeId) -> String,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let bodies = |n: usize| (0..u32::try_from(n).unwrap_or(u32::MAX)).map(BodyId);
    let after_bodies: KeyedMap<String, BodyId> = bodies(after.body_count()).map(|b| (path(after, b), b)).collect();
    let mut seen = FxHashMap::default();
    for body in bodies(before.body_count()) {
        let name = path(before, body);
        let other = after_bodies.get(&name).copied();
        seen.insert(name.clone(), ());
        let (a, b) = (nodes(before, Some(body)), nodes(after, other));
        diff_body(
            &name,
            &Side { view: before, nodes: a, line: &line_before },
            &Side { view: after, nodes: b, line: &line_after },
            &mut entries,
        );
    }
    for body in bodies(after.body_count()) {
        let name = path(after, body);
        if !seen.contains_key(&name) {
            let (a, b) = (Vec::new(), nodes(after, Some(body)));
            diff_body(
                &name,
                &Side { view: before, nodes: a, line: &line_before },
                &Side { view: after, nodes: b, line: &line_after },
                &mut entries,
            );
        }
    }
    entries
}

struct Side<'a, V, F> {
    view: &'a V,
    nodes: Vec<NodeId>,
    line: &'a F,
}

fn nodes<V: View>(view: &V, body: Option<BodyId>) -> Vec<NodeId> {
    body.map(|b| view.nodes(b).collect()).unwrap_or_default()
}

/// The names of a body and of those that hold it, joined by dots; empty for the graph itself.
fn path<V: View>(view: &V, body: BodyId) -> String {
    let mut names = Vec::new();
    let mut at = Some(body);
    while let Some(b) = at.filter(|b| *b != BodyId::ROOT) {
        names.push(view.body_name(b));
        at = view.body_parent(b);
        if names.len() > view.body_count() {
            break;
        }
    }
    names.reverse();
    names.join(".")
}

/// The name under which a node is matched: the output has none of its own.
fn key<V: View>(view: &V, n: NodeId) -> &str {
    if view.kind(n) == NodeKind::Output { "return" } else { view.name(n) }
}

fn diff_body<A: View, B: View>(
    body: &str,
    before: &Side<'_, A, impl Fn(NodeId) -> String>,
    after: &Side<'_, B, impl Fn(NodeId) -> String>,
    entries: &mut Vec<Entry>,
) {
    let places: KeyedMap<&str, usize> =
        before.nodes.iter().enumerate().map(|(i, n)| (key(before.view, *n), i)).collect();
    let matched: Vec<Option<usize>> = after.nodes.iter().map(|n| places.get(key(after.view, *n)).copied()).collect();
    let anchored = longest_increasing(&matched);
    let in_after: rustc_hash::FxHashSet<usize> = matched.iter().flatten().copied().collect();
    let entry = |change, node: &str, old: Option<String>, new: Option<String>, follows: Option<&str>| Entry {
        change,
        body: body.to_string(),
        node: node.to_string(),
        before: old,
        after: new,
        follows: follows.map(str::to_string),
    };
    let mut next_before = 0;
    let mut erase_until = |end: usize, entries: &mut Vec<Entry>| {
        while next_before < end {
            if let (Some(n), false) = (before.nodes.get(next_before), in_after.contains(&next_before)) {
                let follows = next_before.checked_sub(1).and_then(|i| before.nodes.get(i));
                entries.push(entry(
                    Change::Erased,
                    key(before.view, *n),
                    Some((before.line)(*n)),
                    None,
                    follows.map(|f| key(before.view, *f)),
                ));
            }
            next_before = next_before.saturating_add(1);
        }
    };
    let mut follows: Option<&str> = None;
    for ((n, place), anchor) in after.nodes.iter().zip(&matched).zip(&anchored) {
        let name = key(after.view, *n);
        let new = (after.line)(*n);
        match place {
            None => entries.push(entry(Change::Inserted, name, None, Some(new), follows)),
            Some(i) => {
                if *anchor {
                    erase_until(*i, entries);
                }
                let old = before.nodes.get(*i).map(|o| (before.line)(*o)).unwrap_or_default();
                let change = match (old != new, *anchor) {
                    (true, _) => Some(Change::Changed),
                    (false, false) => Some(Change::Moved),
                    (false, true) => None,
                };
                if let Some(change) = change {
                    entries.push(entry(change, name, Some(old), Some(new), follows));
                }
            }
        }
        follows = Some(name);
    }
    erase_until(before.nodes.len(), entries);
}

/// Marks a longest strictly increasing subsequence of what is there.
fn longest_increasing(places: &[Option<usize>]) -> Vec<bool> {
    let mut tails: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; places.len()];
    let value = |i: usize| places.get(i).copied().flatten().unwrap_or(0);
    for (i, place) in places.iter().enumerate() {
        let Some(v) = place else { continue };
        let at = tails.partition_point(|t| value(*t) < *v);
        if let Some(slot) = previous.get_mut(i) {
            *slot = at.checked_sub(1).and_then(|k| tails.get(k)).copied();
        }
        match tails.get_mut(at) {
            Some(tail) => *tail = i,
            None => tails.push(i),
        }
    }
    let mut marked = vec![false; places.len()];
    let mut at = tails.last().copied();
    while let Some(i) = at {
        if let Some(m) = marked.get_mut(i) {
            *m = true;
        }
        at = previous.get(i).copied().flatten();
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Arg, Graph, NewNode, ValueType};

    fn graph(names: &[(&str, &str)]) -> Graph {
        let mut g = Graph::new();
        for (name, target) in names {
            let target = g.texts.intern(target);
            let args: Box<[Arg]> = Box::default();
            let node = NewNode { kind: NodeKind::Call, target, args, kwargs: Box::default(), ty: ValueType::None };
            g.push(BodyId::ROOT, name, node);
        }
        g
    }

    fn shown(a: &Graph, b: &Graph) -> Vec<(Change, String)> {
        let line = |g: &Graph, n| format!("{} = {}", g.name(n), g.target(n));
        diff(a, b, |n| line(a, n), |n| line(b, n)).into_iter().map(|e| (e.change, e.node)).collect()
    }

    #[test]
    fn a_graph_does_not_differ_from_itself() {
        let g = graph(&[("a", "x"), ("b", "y")]);
        assert!(shown(&g, &g).is_empty());
    }

    #[test]
    fn each_kind_of_change_is_told_apart() {
        let a = graph(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")]);
        let b = graph(&[("b", "x"), ("c", "z"), ("e", "x"), ("a", "x")]);
        let expected = [(Change::Changed, "c"), (Change::Inserted, "e"), (Change::Moved, "a"), (Change::Erased, "d")];
        assert_eq!(shown(&a, &b), expected.map(|(c, n)| (c, n.to_string())));
    }

    #[test]
    fn fifty_thousand_nodes_backwards_are_compared_without_a_quadratic_walk() {
        let names: Vec<String> = (0..50_000).map(|i| format!("n{i}")).collect();
        let forward: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "x")).collect();
        let backward: Vec<(&str, &str)> = forward.iter().rev().copied().collect();
        assert_eq!(shown(&graph(&forward), &graph(&backward)).len(), 49_999);
    }
}
