//! What collectives may still work on once they gave their results.
//!
//! Promises: [`Beside::touches`] says of every call that reads what such a collective may still write, or writes what it may still read. That something waits in between is not looked at: such calls are
//! compared in their order beside collectives and waits. Where anything waits, what nobody described may be a collective that writes its operands. Costs a walk, where there is one at all. Which memory is one is what the storages say.

use rustc_hash::FxHashMap;

use crate::analysis::{Place, Storages, getitem_of, tensor_operands};
use crate::graph::{BodyId, NodeId, NodeKind, View};
use crate::ops::{Operator, Registry};
use crate::verify::judge::kinds::Kinds;

/// What is done to memory.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Work {
    Reads,
    Writes,
}

/// On which values, and all that may lie in their memory, collectives may still work.
#[derive(Debug, Default)]
pub struct Beside {
    works: FxHashMap<Place, Work>,
}

impl Beside {
    /// Looks at the collectives of a graph.
    pub fn of(view: &dyn View, registry: &Registry, kinds: &Kinds, storages: &mut Storages<'_>) -> Self {
        let mut out = Beside::default();
        let nodes = view.nodes(BodyId::ROOT).filter(|n| kinds.goes_on && view.kind(*n) == NodeKind::Call);
        for node in nodes.filter(|n| getitem_of(view, *n).is_none()) {
            let operator = registry.operator_of(view, node);
            if operator.map_or(kinds.waits, |o| o.facts.asynchronous) {
                let to_operands = match operator {
                    Some(known) if !known.effects.writes() => Work::Reads,
                    _ => Work::Writes,
                };
                for place in storages.places(node) {
                    out.add(storages, place, Work::Writes);
                }
                for place in tensor_operands(view, node) {
                    out.add(storages, place, to_operands);
                }
            }
        }
        out
    }

    fn add(&mut self, storages: &mut Storages<'_>, place: Place, work: Work) {
        if self.works.get(&place).is_some_and(|known| *known >= work) {
            return;
        }
        for member in storages.group(place).members.iter().chain([&place]) {
            let known = self.works.entry(*member).or_insert(work);
            *known = work.max(*known);
        }
    }

    /// Whether a call meets what a collective may still work on.
    pub fn touches(&self, view: &dyn View, node: NodeId, operator: &Operator) -> bool {
        let meets = if operator.effects.writes() { Work::Reads } else { Work::Writes };
        !self.works.is_empty()
            && tensor_operands(view, node).iter().any(|place| self.works.get(place).is_some_and(|work| *work >= meets))
    }
}
