//! Memory that has no say: results that may lie in written memory, but of which nobody sees more than what they were born with.
//!
//! Promises: nothing is written through an idle storage, nobody reads it after a write to its group that follows its birth, no call that
//! may write, draw, see layouts or run something else takes it, no operator that nobody described can know it, and what may lie in it is
//! idle too. So no other storage of the group holds something else for its sake.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::call::Known;
use crate::analysis::sharing::place::Place;
use crate::analysis::sharing::storages::{Group, Storages};
use crate::graph::{NodeId, NodeKind};

impl Storages<'_> {
    /// Returns the storages of a group that are idle.
    pub(super) fn idle(&mut self, group: &Group) -> FxHashSet<Place> {
        let mut idle = FxHashSet::default();
        if group.origins.len() < 2 || group.events.is_empty() {
            return idle;
        }
        let mut members: FxHashMap<Place, Vec<Place>> = FxHashMap::default();
        for member in &group.members {
            let origin = self.origin(*member);
            members.entry(origin).or_default().push(*member);
        }
        let mut writes: Vec<u64> = group.events.iter().map(|e| e.order).collect();
        writes.sort_unstable();
        let written: FxHashSet<Place> = group.events.iter().map(|e| e.origin).collect();
        for origin in group.origins.iter().filter(|o| !written.contains(o)) {
            let own = members.get(origin).map_or(&[][..], Vec::as_slice);
            if self.sees_no_write(*origin, own, &writes) {
                idle.insert(*origin);
            }
        }
        // What may lie in it must be idle too.
        let mut open: Vec<Place> = group.origins.iter().filter(|o| !idle.contains(o)).copied().collect();
        while let Some(origin) = open.pop() {
            for shares in self.home(origin) {
                let home = self.origin(shares.place());
                if idle.remove(&home) {
                    open.push(home);
                }
            }
        }
        idle
    }

    /// Whether a storage is a call's result, and all that use it see what it was born with; `writes` are those to its group.
    fn sees_no_write(&mut self, origin: Place, members: &[Place], writes: &[u64]) -> bool {
        let view = self.view;
        let Some((_, born)) = view.place(origin.node).filter(|_| view.kind(origin.node) == NodeKind::Call) else {
            return false;
        };
        let behind = writes.partition_point(|w| *w <= born);
        let next = writes.get(behind).copied().unwrap_or(u64::MAX);
        members.iter().all(|member| {
            let known = self.is_known_to_opaque(*member);
            !known
                && self.carriers(*member).into_iter().all(|carrier| {
                    let users = view.users_in_order(carrier);
                    users
                        .into_iter()
                        .all(|user| self.only_reads(user) && view.place(user).is_some_and(|(_, order)| order <= next))
                })
        })
    }

    /// Whether a call is a function of the elements of its operands.
    fn only_reads(&self, user: NodeId) -> bool {
        if self.view.kind(user) != NodeKind::Call {
            return false;
        }
        match Known::of(self.view, self.registry, user) {
            Known::As(operator, _) => {
                let effects = &operator.effects;
                !effects.writes() && !effects.random && effects.side.is_none() && !operator.facts.sees_layout
            }
            Known::Not => false,
        }
    }
}
