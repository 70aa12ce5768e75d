//! What changes overwrote: the memory of an editor at work.
//!
//! Promises: the first change of a row, link or body since the log began saves the old one, so the graph as it was is the
//! log laid over the graph; taking the changes back costs what was changed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::build::Body;
use super::{BodyId, Graph, Link, NodeId, Row, StrId, Users};

/// Old rows, links and bodies, by slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) rows: FxHashMap<u32, Row>,
    pub(crate) links: FxHashMap<u32, Link>,
    pub(crate) bodies: FxHashMap<BodyId, Body>,
    pub(crate) inserted: FxHashSet<u32>,
    pub(crate) erased: Vec<u32>,
    pub(crate) counters: FxHashMap<(BodyId, StrId), Option<u64>>,
    /// The log that goes on when this one ends.
    outer: Option<Box<Log>>,
}

impl Log {
    /// Takes over a log that began later: what this one saved before, or saw made, stays as it is.
    fn absorb(&mut self, inner: Log) {
        for (slot, row) in inner.rows {
            if !self.inserted.contains(&slot) {
                self.rows.entry(slot).or_insert(row);
            }
        }
        for (slot, link) in inner.links {
            if !self.inserted.contains(&slot) {
                self.links.entry(slot).or_insert(link);
            }
        }
        for (body, old) in inner.bodies {
            self.bodies.entry(body).or_insert(old);
        }
        for (key, old) in inner.counters {
            self.counters.entry(key).or_insert(old);
        }
        self.inserted.extend(inner.inserted);
        self.erased.extend(inner.erased);
    }
}

impl Graph {
    /// Begins to remember what changes overwrite, inside the log that is already kept, if there is one.
    pub fn begin_log(&mut self) {
        let outer = self.log.take();
        self.log = Some(Box::new(Log { outer, ..Log::default() }));
    }

    /// Ends the innermost log; its changes stand, and belong to the outer log if there is one. Without one they are final:
    /// slots of erased nodes may be given out again.
    pub fn commit_log(&mut self) {
        let Some(mut log) = self.log.take() else { return };
        match log.outer.take() {
            None => log.erased.into_iter().for_each(|slot| self.recycle(slot)),
            Some(mut outer) => {
                outer.absorb(*log);
                self.log = Some(outer);
            }
        }
    }

    /// Returns whether changes are being remembered.
    pub fn is_logging(&self) -> bool {
        self.log.is_some()
    }

    /// Takes every change since the innermost log began back. Costs what was changed.
    pub fn undo_log(&mut self) {
        let Some(mut log) = self.log.take() else { return };
        self.forget_checks();
        let outer = log.outer.take();
        let id = |g: &Graph, slot: u32| NodeId {
            index: slot,
            generation: g.columns.generation.get(slot as usize).copied().unwrap_or(0),
        };
        let mut changed: Vec<u32> = log.rows.keys().chain(log.inserted.iter()).copied().collect();
        changed.sort_unstable();
        for &slot in &changed {
            if self.columns.alive.get(slot as usize) == Some(&true) {
                let n = id(self, slot);
                self.count_uses(n, Users::remove);
                if let (Some(link), Some(name)) = (self.link(n), self.columns.name.get(n.slot())) {
                    self.names.give_back(link.body, *name, &self.texts);
                }
            }
        }
        for (body, old) in log.bodies {
            if let Some(b) = self.bodies.get_mut(body.slot()) {
                *b = old;
            }
        }
        for (slot, old) in log.links {
            if let Some(l) = self.columns.link.get_mut(slot as usize) {
                *l = old;
            }
        }
        for (slot, row) in log.rows {
            self.columns.set_row(slot as usize, row);
        }
        let mut inserted: Vec<u32> = log.inserted.iter().copied().collect();
        inserted.sort_unstable();
        for &slot in log.erased.iter().filter(|s| !log.inserted.contains(s)) {
            if let Some(alive) = self.columns.alive.get_mut(slot as usize) {
                *alive = true;
            }
        }
        for slot in changed.into_iter().filter(|s| !log.inserted.contains(s)) {
            let n = id(self, slot);
            self.count_uses(n, Users::add);
            if let (Some(link), Some(name)) = (self.link(n), self.columns.name.get(n.slot())) {
                self.names.put(link.body, *name, n);
            }
        }
        for slot in inserted {
            if let Some(alive) = self.columns.alive.get_mut(slot as usize) {
                *alive = false;
            }
            self.recycle(slot);
        }
        for (key, old) in log.counters {
            match old {
                Some(count) => self.names.counters.insert(key, count),
                None => self.names.counters.remove(&key),
            };
        }
        self.log = outer;
    }
}
