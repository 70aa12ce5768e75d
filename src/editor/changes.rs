//! What an editor changed since it began.

use crate::graph::{Graph, NodeId, View};

/// Nodes by what happened to them, each list in ascending order of ids. A node made and erased again is in none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Nodes that were not there.
    pub inserted: Vec<NodeId>,
    /// Nodes that are gone.
    pub erased: Vec<NodeId>,
    /// Nodes whose target, arguments, name, type or metadata are not what they were.
    pub changed: Vec<NodeId>,
    /// Nodes that stand between other neighbours than they did, because they were moved or their neighbours were.
    pub relinked: Vec<NodeId>,
}

impl Changes {
    /// Returns whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty() && self.erased.is_empty() && self.changed.is_empty() && self.relinked.is_empty()
    }

    /// Reads the changes off the log that the graph keeps. Costs what was edited.
    pub(crate) fn of(graph: &Graph) -> Self {
        let Some(log) = &graph.log else { return Self::default() };
        let alive = |slot: &u32| graph.at(*slot).filter(|n| graph.contains(*n));
        let mut changes = Self {
            inserted: log.inserted.iter().filter_map(alive).collect(),
            erased: log.erased.iter().filter(|s| !log.inserted.contains(s)).filter_map(|s| graph.at(*s)).collect(),
            changed: Vec::new(),
            relinked: Vec::new(),
        };
        for (slot, old) in &log.rows {
            if let Some(n) = alive(slot)
                && graph.row(n).as_ref() != Some(old)
            {
                changes.changed.push(n);
            }
        }
        for (slot, old) in &log.links {
            if let Some(n) = alive(slot)
                && graph.link(n).is_some_and(|l| (l.previous, l.next) != (old.previous, old.next))
            {
                changes.relinked.push(n);
            }
        }
        for list in [&mut changes.inserted, &mut changes.erased, &mut changes.changed, &mut changes.relinked] {
            list.sort_unstable();
        }
        changes
    }
}
