//! What an edit touched, read off the editor's journal.
//!
//! Promises: a node in none of the lists has the same arguments, target and type on both sides, and stands in the same order
//! to all other such nodes. Costs the edit.

use crate::editor::Changes;
use crate::graph::{BodyId, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::verify::effects::beside::Beside;
use crate::verify::effects::trace::effect_of;

/// Nodes that an edit touched.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// New.
    pub inserted: Vec<NodeId>,
    /// Gone.
    pub erased: Vec<NodeId>,
    /// With other arguments, target or type, in place.
    pub changed: Vec<NodeId>,
    /// In another place.
    pub moved: Vec<NodeId>,
    local: bool,
}

impl Touched {
    /// Reads the journal: neighbours of edits and changes of names and metadata are left out. Beside collectives no edit is local ([`Kinds::is_plain`](super::kinds::Kinds::is_plain)).
    pub fn of(before: &dyn View, after: &dyn View, changes: &Changes, registry: &Registry) -> Self {
        let differs = |n: &NodeId| {
            before.kind(*n) != after.kind(*n)
                || before.target_id(*n) != after.target_id(*n)
                || before.args(*n) != after.args(*n)
                || before.kwargs(*n) != after.kwargs(*n)
                || before.ty(*n) != after.ty(*n)
        };
        let stayed = |n: &NodeId| before.contains(*n) && after.contains(*n);
        // Labels grow along the list: nodes that keep theirs keep their order.
        let moved = changes.relinked.iter().filter(|n| stayed(n) && before.place(**n) != after.place(**n));
        let changed = changes.changed.iter().filter(|n| stayed(n) && differs(n));
        let mut out = Touched {
            inserted: changes.inserted.clone(),
            erased: changes.erased.clone(),
            changed: changed.copied().collect(),
            moved: moved.copied().collect(),
            local: true,
        };
        let renamed = changes
            .changed
            .iter()
            .any(|n| after.kind(*n) == NodeKind::Placeholder && before.name_id(*n) != after.name_id(*n));
        out.local = !renamed
            && out.nodes().all(|n| {
                let on = |view: &dyn View| {
                    !view.contains(n)
                        || (view.place(n).is_some_and(|(body, _)| body == BodyId::ROOT)
                            && matches!(view.kind(n), NodeKind::Call | NodeKind::Output)
                            && effect_of(view, registry, &Beside::default(), n).is_none())
                };
                on(before) && on(after)
            });
        out
    }

    /// Returns every touched node.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.inserted.iter().chain(&self.erased).chain(&self.changed).chain(&self.moved).copied()
    }

    /// Returns whether the edit can be judged from what it touches: calls of the graph itself that leave no trace but values
    /// and writes.
    pub fn is_local(&self) -> bool {
        self.local
    }
}
