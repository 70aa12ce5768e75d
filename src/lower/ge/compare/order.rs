//! The order that control edges force, compared as a relation.
//!
//! Under a complete pairing both graphs have the same data edges. So their orders are the same exactly if every control
//! edge of each is forced in the other: stands there too, or follows from a path.

use std::collections::BTreeSet;

use super::Differences;
use super::normal::{Normal, Source};
use super::pairs::Pairs;

/// Compares the orders of two completely paired graphs.
pub(super) fn compare(pairs: &Pairs, found: &mut Differences) {
    let forward = |n: usize| pairs.to_right.get(n).copied().flatten();
    let backward = |n: usize| pairs.to_left.get(n).copied().flatten();
    for (before, after) in missing(pairs.left, pairs.right, forward) {
        found.add(format!("{after} runs after {before} here, and may run before it there"));
    }
    for (before, after) in missing(pairs.right, pairs.left, backward) {
        found.add(format!("{after} runs after {before} there, and may run before it here"));
    }
}

/// Returns the control edges of `from` that nothing forces in `to`.
fn missing<'a>(from: &Normal<'a>, to: &Normal<'a>, map: impl Fn(usize) -> Option<usize>) -> Vec<(&'a str, &'a str)> {
    let mut missing = Vec::new();
    for (after, node) in from.nodes.iter().enumerate() {
        for before in &node.after {
            let (Some(b), Some(a)) = (map(*before), map(after)) else { continue };
            if !reaches(to, b, a)
                && let Some(first) = from.nodes.get(*before)
            {
                missing.push((first.name, node.name));
            }
        }
    }
    missing
}

/// Returns whether `after` must run after `before`.
fn reaches(graph: &Normal, before: usize, after: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![after];
    while let Some(n) = work.pop() {
        let Some(node) = graph.nodes.get(n) else { continue };
        if node.after.contains(&before) {
            return true;
        }
        let producers = node.slots.iter().filter_map(|s| match s.source {
            Source::Node { node, .. } => Some(node),
            Source::Constant(_) => None,
        });
        for p in producers.chain(node.after.iter().copied()) {
            if p == before {
                return true;
            }
            if seen.insert(p) {
                work.push(p);
            }
        }
    }
    false
}
