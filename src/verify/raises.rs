//! An operator may raise for its operands only where the graph as it was raises.
//!
//! Promises: a call that may raise (an index out of range, an integer division by zero) passes only if the graph as it was
//! makes the same call with equal operands.

use super::congruence::Congruence;
use super::effects::{effect_of, may_raise};
use super::findings::{Findings, Problem};
use super::functional::Functional;
use super::term::Side;
use super::verdict::Question;
use crate::analysis::Place;
use crate::graph::{BodyId, NodeId};
use rustc_hash::FxHashMap;

/// Checks nodes of the graph as it is.
pub fn check(f: &mut Functional<'_>, c: &mut Congruence, nodes: &[NodeId], findings: &mut Findings) {
    let mut candidates: Option<FxHashMap<String, Vec<NodeId>>> = None;
    for node in nodes {
        let view = f.after.view;
        if !may_raise(view, f.registry, *node) || effect_of(view, f.registry, *node).is_some() {
            continue;
        }
        let value = f.outcome(Side::After, Place::of(*node));
        f.resolve(value);
        if f.store.is_in_before(value) {
            continue;
        }
        let all = candidates.get_or_insert_with(|| by_target(f));
        let same = all.get(&plain(view.target(*node))).cloned().unwrap_or_default();
        let found = same.into_iter().take(MAX_CANDIDATES).any(|other| {
            let old = f.outcome(Side::Before, Place::of(other));
            c.equal(f, old, value)
        });
        if !found {
            let name = view.name(*node).to_string();
            let reason = format!("`{name}` may raise for operands for which nothing raised before");
            findings.push(Problem::unknown(Question::Effects, reason).at([name]));
        }
    }
}

/// How many calls of one operator are tried.
const MAX_CANDIDATES: usize = 1024;

/// In-place and functional forms raise alike.
fn plain(target: &str) -> String {
    target.replace("_.", ".")
}

fn by_target(f: &Functional<'_>) -> FxHashMap<String, Vec<NodeId>> {
    let view = f.before.view;
    let mut out: FxHashMap<String, Vec<NodeId>> = FxHashMap::default();
    let mut next = view.first(BodyId::ROOT);
    while let Some(node) = next {
        if may_raise(view, f.registry, node) {
            out.entry(plain(view.target(node))).or_default().push(node);
        }
        next = view.next(node);
    }
    out
}
