//! Maps whose keys come from files and guests: names, texts, sizes, literals.
//!
//! Promises: no file can hold many keys of one hash, as the hash is drawn anew by each process. Hence the order of such a map
//! is another one each time: look up in it, never walk it into an output. [`KeyedIndexMap`] and [`KeyedIndexSet`] keep the
//! order of insertion. Ids that the host counts up (`NodeId`, `StrId`) need none of this.

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};

/// A hash with a key of its own in each process.
pub type KeyedHash = foldhash::quality::RandomState;

/// A map by what a file says.
pub type KeyedMap<K, V> = HashMap<K, V, KeyedHash>;

/// A set of what a file says.
pub type KeyedSet<K> = HashSet<K, KeyedHash>;

/// A map by what a file says, in order of insertion.
pub type KeyedIndexMap<K, V> = IndexMap<K, V, KeyedHash>;

/// A set of what a file says, in order of insertion.
pub type KeyedIndexSet<K> = IndexSet<K, KeyedHash>;
