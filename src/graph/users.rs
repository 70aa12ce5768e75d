//! Who uses a node: a multiset of users with counts.
//!
//! Promises: adding and removing a use is O(1) (amortised) however many users there are. The order of the stored users
//! is an accident of edits: whoever shows users sorts them by program order first.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::NodeId;

const INDEX_FROM: usize = 12;

/// The users of one node, each with the number of its arguments that are that node.
#[derive(Clone, Debug, Default)]
pub struct Users {
    list: SmallVec<[(NodeId, u32); 2]>,
    /// Position in `list`, kept only for nodes with many users.
    places: Option<Box<FxHashMap<NodeId, usize>>>,
}

impl Users {
    /// Returns every user once, in no meaningful order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.list.iter().map(|(n, _)| *n)
    }

    /// Returns how many different nodes use this one.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether nobody uses this node.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether `user` uses this node.
    pub fn contains(&self, user: NodeId) -> bool {
        self.place(user).is_some()
    }

    fn place(&self, user: NodeId) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&user).copied(),
            None => self.list.iter().position(|(n, _)| *n == user),
        }
    }

    pub(crate) fn add(&mut self, user: NodeId) {
        if let Some((_, count)) = self.place(user).and_then(|p| self.list.get_mut(p)) {
            *count = count.saturating_add(1);
            return;
        }
        if let Some(places) = &mut self.places {
            places.insert(user, self.list.len());
        }
        self.list.push((user, 1));
        if self.places.is_none() && self.list.len() > INDEX_FROM {
            self.places = Some(Box::new(self.list.iter().enumerate().map(|(i, (n, _))| (*n, i)).collect()));
        }
    }

    pub(crate) fn remove(&mut self, user: NodeId) {
        let Some(place) = self.place(user) else {
            return;
        };
        let Some((_, count)) = self.list.get_mut(place) else {
            return;
        };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        self.list.swap_remove(place);
        if let Some(places) = &mut self.places {
            places.remove(&user);
            if let Some((moved, _)) = self.list.get(place) {
                places.insert(*moved, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_decide_when_a_user_is_gone() {
        let mut users = Users::default();
        let n = |index| NodeId { index, generation: 0 };
        for i in 0..40 {
            users.add(n(i));
            users.add(n(i));
        }
        for i in 0..40 {
            users.remove(n(i));
            assert!(users.contains(n(i)));
        }
        for i in (0..40).rev() {
            users.remove(n(i));
            assert!(!users.contains(n(i)));
        }
        assert!(users.is_empty());
    }
}
