//! Ids of nodes, bodies and interned texts.
//!
//! Promises: a [`NodeId`] is index and generation, below 2^63 as a number, so that a batch of edits can use the upper
//! half for its own new nodes; an interned text is stored once and its [`StrId`] is stable while the graph lives.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sym::KeyedMap;

/// A node: index into the columns and the generation of that slot. A stale id is an error, not another node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl NodeId {
    /// The id as one number: generation in the upper 32 bits (always below 2^31), index in the lower.
    pub fn to_bits(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index)
    }

    /// The id that `bits` stands for; whether it is alive only a graph can tell. Numbers from 2^63 on are no ids.
    pub fn from_bits(bits: u64) -> Option<Self> {
        let generation = u32::try_from(bits >> 32).ok()?;
        let index = u32::try_from(bits & 0xffff_ffff).ok()?;
        (generation < 1 << 31).then_some(Self { index, generation })
    }

    /// The id that stands, inside one batch of edits, for the node that edit number `position` makes. No graph holds it.
    pub fn new_in_batch(position: u32) -> Self {
        Self { index: position, generation: 1 << 31 }
    }

    /// The position in its batch, for an id made by [`NodeId::new_in_batch`].
    pub fn batch_position(self) -> Option<u32> {
        (self.generation == 1 << 31).then_some(self.index)
    }

    pub(crate) fn slot(self) -> usize {
        self.index as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}g{}", self.index, self.generation)
    }
}

/// A graph body: 0 is the graph itself, others are bodies of `cond`, `while_loop` and the like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct BodyId(pub u32);

impl BodyId {
    /// The graph itself.
    pub const ROOT: BodyId = BodyId(0);

    pub(crate) fn slot(self) -> usize {
        self.0 as usize
    }
}

/// A text of the graph's [`Interner`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct StrId(pub u32);

/// Texts stored once: targets, names, keyword names, annotations.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    texts: Vec<std::sync::Arc<str>>,
    ids: KeyedMap<std::sync::Arc<str>, StrId>,
}

impl Interner {
    /// Returns the id of `text`, storing it if it is new.
    pub fn intern(&mut self, text: &str) -> StrId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = StrId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let shared: std::sync::Arc<str> = text.into();
        self.texts.push(shared.clone());
        self.ids.insert(shared, id);
        id
    }

    /// Returns the id of `text` if it was stored before.
    pub fn find(&self, text: &str) -> Option<StrId> {
        self.ids.get(text).copied()
    }

    /// Returns the text, or the empty text for an id of another interner.
    pub fn text(&self, id: StrId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |t| t)
    }

    /// Returns how many texts are stored; ids are `0..len`.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns all texts, in the order of their ids.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|t| &**t)
    }

    /// Returns whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

impl FromIterator<std::sync::Arc<str>> for Interner {
    /// Stores texts that are all different: their ids are their places.
    fn from_iter<I: IntoIterator<Item = std::sync::Arc<str>>>(texts: I) -> Self {
        let texts: Vec<_> = texts.into_iter().collect();
        let id = |i: usize| StrId(u32::try_from(i).unwrap_or(u32::MAX));
        let ids = texts.iter().enumerate().map(|(i, t)| (t.clone(), id(i))).collect();
        Self { texts, ids }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_the_way_through_a_number() {
        let id = NodeId { index: 7, generation: 3 };
        assert_eq!(NodeId::from_bits(id.to_bits()), Some(id));
        assert_eq!(NodeId::from_bits(1 << 63), None);
    }

    #[test]
    fn a_text_is_stored_once() {
        let mut i = Interner::default();
        let (a, b) = (i.intern("aten.mm.default"), i.intern("aten.mm.default"));
        assert_eq!((a, i.len(), i.text(a)), (b, 1, "aten.mm.default"));
    }
}
