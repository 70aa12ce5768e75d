//! Where a value is found: which graph, which place, which version, and what of it.

use crate::analysis::{Place, Stamp};
use crate::term::term::Side;

/// What is asked of a place.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Aspect {
    /// Its value.
    Value,
    /// How it lies in memory, strides that no index uses left out.
    Layout,
    /// How it lies in memory, strides of dimensions of size one included: some operators look at these.
    Exact,
    /// The state of all storages that may overlap with it.
    Memory,
}

/// Where a value was found: a place, at a version of its storage.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    /// Which graph.
    pub side: Side,
    /// Which result.
    pub place: Place,
    /// Which version.
    pub stamp: Stamp,
    /// What of it.
    pub aspect: Aspect,
}
