//! An operator may raise for its operands only where the graph as it was raises.
//!
//! Promises: (1) a call that may raise (an index out of range, an integer division by zero, sizes that fit for some values of the
//! symbols only) passes only if the graph as it was makes the same call with equal operands; (2) where only running a call tells
//! its type, what an annotation says of it passes only if the graph as it was says the same of the same call.

use rustc_hash::FxHashMap;

use super::congruence::Congruence;
use super::effects::{effect_of, may_raise, tells_its_type};
use super::findings::{Findings, Problem};
use super::fits::fits_for_all_sizes;
use super::functional::Functional;
use super::term::Side;
use super::verdict::Question;
use crate::analysis::{Place, place_of};
use crate::graph::{BodyId, NodeId, NodeKind, ValueType};

/// Checks nodes of the graph as it is.
pub fn check(f: &mut Functional<'_>, c: &mut Congruence, nodes: &[NodeId], findings: &mut Findings) {
    let mut candidates: Option<FxHashMap<String, Calls>> = None;
    for node in nodes {
        let view = f.after.view;
        let told = tells_its_type(view, f.registry, *node);
        let raises = may_raise(view, f.registry, *node) || !fits_for_all_sizes(f, *node);
        if !(told || raises) || effect_of(view, f.registry, *node).is_some() {
            continue;
        }
        let value = f.outcome(Side::After, value_of(f, Side::After, *node));
        f.resolve(value);
        if !told && f.store.is_in_before(value) {
            continue;
        }
        let all = candidates.get_or_insert_with(|| by_target(f));
        let found = all.get_mut(&plain(view.target(*node))).is_some_and(|calls| {
            let found = calls.around().find(|other| {
                let old = f.outcome(Side::Before, value_of(f, Side::Before, *other));
                c.equal(f, old, value) && (!told || same_type(f, f.before.view.ty(*other), view.ty(*node)))
            });
            calls.next =
                found.and_then(|n| calls.nodes.iter().position(|o| *o == n)).map_or(calls.next, |i| i.wrapping_add(1));
            found.is_some()
        });
        if !found {
            let name = view.name(*node).to_string();
            let (question, reason) = match raises {
                true => (Question::Effects, format!("`{name}` may raise for operands for which nothing raised before")),
                false => {
                    (Question::Form, format!("only running `{name}` tells its type, and before nothing said the same"))
                }
            };
            findings.push(Problem::unknown(question, reason).at([name]));
        }
    }
}

fn value_of(f: &Functional<'_>, side: Side, node: NodeId) -> Place {
    place_of(f.view(side), node)
}

/// Returns whether two values are said to have one type, strides left out.
pub fn same_type(f: &Functional<'_>, a: &ValueType, b: &ValueType) -> bool {
    let mut open = vec![(a, b)];
    while let Some(pair) = open.pop() {
        let same = match pair {
            (ValueType::Tensor(x), ValueType::Tensor(y)) => {
                x.dtype == y.dtype && x.device == y.device && f.sizes.all_same(&x.sizes, &y.sizes)
            }
            (ValueType::SymInt(x), ValueType::SymInt(y)) => f.sizes.same(*x, *y),
            (ValueType::Many(x), ValueType::Many(y)) => {
                open.extend(x.iter().zip(y.iter()));
                x.len() == y.len()
            }
            // Names of objects and numbers of bodies are each graph's own.
            (ValueType::Other(_), ValueType::Other(_)) => true,
            (x, y) => x == y,
        };
        if !same {
            return false;
        }
    }
    true
}

/// How many calls of one operator are tried.
const MAX_CANDIDATES: usize = 1024;

/// Calls of one operator in order, and which comes after the last that was found: graphs mostly keep their order.
#[derive(Default)]
struct Calls {
    nodes: Vec<NodeId>,
    next: usize,
}

impl Calls {
    fn around(&self) -> impl Iterator<Item = NodeId> + use<> {
        let start = self.next.min(self.nodes.len());
        let (before, after) = self.nodes.split_at(start);
        let all: Vec<NodeId> = after.iter().chain(before).take(MAX_CANDIDATES).copied().collect();
        all.into_iter()
    }
}

/// In-place and functional forms raise alike.
fn plain(target: &str) -> String {
    target.replace("_.", ".")
}

fn by_target(f: &Functional<'_>) -> FxHashMap<String, Calls> {
    let view = f.before.view;
    let mut out: FxHashMap<String, Calls> = FxHashMap::default();
    let mut next = view.first(BodyId::ROOT);
    while let Some(node) = next {
        if view.kind(node) == NodeKind::Call {
            out.entry(plain(view.target(node))).or_default().nodes.push(node);
        }
        next = view.next(node);
    }
    out
}
