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

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault};

    use rustc_hash::FxHasher;

    use super::*;

    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    fn letters(mut number: u64, count: usize) -> Vec<u8> {
        let base = LETTERS.len() as u64;
        let mut out = Vec::new();
        for _ in 0..count {
            out.push(LETTERS[(number % base) as usize]);
            number /= base;
        }
        out
    }

    /// Names of one hash under rustc-hash 2: what eight letters are is multiplied by zero, whatever they are.
    fn names_of_one_hash(count: u64) -> Vec<String> {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let mix = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            (product as u64) ^ ((product >> 64) as u64)
        };
        let head = (0_u64..).map(|i| [b"abcdefgh".to_vec(), letters(i, 8)].concat()).find_map(|head| {
            let key =
                mix(0x243f_6a88_85a3_08d3 ^ word(&head[..8]), 0xa409_3822_299f_31d0 ^ word(&head[8..])).to_le_bytes();
            key.iter().all(|b| LETTERS.contains(b)).then(|| [head, b"aaaaaaaabbbbbbbb".to_vec(), key.to_vec()].concat())
        });
        let head = head.unwrap();
        let name = |i| [head.clone(), letters(i, 8), b"cccccccccccccccc".to_vec()].concat();
        (0..count).map(|i| String::from_utf8(name(i)).unwrap()).collect()
    }

    #[test]
    fn names_that_a_file_chose_for_one_hash_have_many() {
        let names = names_of_one_hash(1_000);
        let fast = BuildHasherDefault::<FxHasher>::default();
        let of_fast: HashSet<u64> = names.iter().map(|n| fast.hash_one(n.as_str())).collect();
        assert_eq!(of_fast.len(), 1, "they were chosen so");
        let keyed = KeyedHash::default();
        let of_keyed: HashSet<u64> = names.iter().map(|n| keyed.hash_one(n.as_str())).collect();
        assert_eq!(of_keyed.len(), names.len());
    }
}
