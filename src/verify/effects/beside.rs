//! What collectives may still work on once they gave their results.
//!
//! Promises: [`Beside::touches`] says of every call that reads what such a collective may still write, or writes what it may still read. That something waits in between is not looked at: such calls are
//! compared in their order beside collectives and waits. Where anything waits, what nobody described may be a collective that writes its operands. Costs a walk, where there is one at all.

use rustc_hash::FxHashMap;

use crate::analysis::getitem_of;
use crate::graph::{BodyId, NodeId, NodeKind, ValueType, View};
use crate::ops::{Operator, Registry};
use crate::verify::judge::kinds::Kinds;

/// How many views lie between a value and that in whose memory it lies, at most.
const LOOKED_AT: usize = 256;

/// What is done to memory.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Work {
    Reads,
    Writes,
}

/// On which values, and all that lie in their memory, collectives may still work.
#[derive(Debug, Default)]
pub struct Beside {
    works: FxHashMap<NodeId, Work>,
    /// Whether what some collective works on was too far to be found.
    anywhere: bool,
}

impl Beside {
    /// Looks at the collectives of a graph.
    pub fn of(view: &dyn View, registry: &Registry, kinds: &Kinds) -> Self {
        let mut out = Beside::default();
        let nodes = view.nodes(BodyId::ROOT).filter(|n| kinds.goes_on && view.kind(*n) == NodeKind::Call);
        for node in nodes.filter(|n| getitem_of(view, *n).is_none()) {
            let operator = registry.operator_of(view, node);
            if operator.map_or(kinds.waits, |o| o.facts.asynchronous) {
                let to_operands = match operator {
                    Some(known) if !known.effects.writes() => Work::Reads,
                    _ => Work::Writes,
                };
                out.add(Some(node), Work::Writes);
                for operand in view.operands(node).filter(|n| has_memory(view, *n)) {
                    out.add(base(view, registry, operand), to_operands);
                }
            }
        }
        out
    }

    fn add(&mut self, base: Option<NodeId>, work: Work) {
        let Some(base) = base else {
            self.anywhere = true;
            return;
        };
        let known = self.works.entry(base).or_insert(work);
        *known = work.max(*known);
    }

    /// Whether a call meets what a collective may still work on.
    pub fn touches(&self, view: &dyn View, registry: &Registry, node: NodeId, operator: &Operator) -> bool {
        if self.works.is_empty() {
            return false;
        }
        let meets = if operator.effects.writes() { Work::Reads } else { Work::Writes };
        let mut operands = view.operands(node).filter(|n| has_memory(view, *n));
        operands.any(|n| match base(view, registry, n) {
            Some(base) => self.anywhere || self.works.get(&base).is_some_and(|work| *work >= meets),
            None => true,
        })
    }
}

fn has_memory(view: &dyn View, node: NodeId) -> bool {
    !matches!(view.ty(node), ValueType::SymInt(_) | ValueType::Body(_))
}

/// Returns the value in whose memory a node's result may lie; `None` where that is too far.
fn base(view: &dyn View, registry: &Registry, node: NodeId) -> Option<NodeId> {
    let mut at = node;
    for _ in 0..LOOKED_AT {
        if !lies_in(view, registry, at) {
            return Some(at);
        }
        match view.operands(at).next() {
            Some(next) => at = next,
            None => return Some(at),
        }
    }
    None
}

/// Returns whether what a node gives may lie in the memory of its first operand.
fn lies_in(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    let shares = |o: &Operator| o.effects.side.is_none() && o.effects.returns.iter().any(|r| !r.is_empty());
    view.kind(node) == NodeKind::Call
        && (getitem_of(view, node).is_some() || registry.operator_of(view, node).is_some_and(shares))
}
