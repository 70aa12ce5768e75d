//! What is known of sizes for all values of the symbols in their ranges.

use super::expr::Dim;
use super::range::Range;
use super::store::{Arena, Symbols};

/// A relation of two sizes, as a pass may ask for it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// `a == b`.
    Equal,
    /// `a < b`.
    Less,
    /// `a` divides `b`: there is an integer `k` with `b == a * k`.
    Divides,
}

impl Symbols {
    /// The range of a size.
    pub fn range_of(&self, dim: Dim) -> Range {
        self.quick_range(dim)
    }
    /// Whether the relation holds: `Some` only where it is proved.
    pub fn known(&self, a: Dim, relation: Relation, b: Dim) -> Option<bool> {
        match (relation, a, b) {
            (Relation::Equal, a, b) if a == b => Some(true),
            (Relation::Equal, Dim::Fixed(a), Dim::Fixed(b)) => Some(a == b),
            (Relation::Less, Dim::Fixed(a), Dim::Fixed(b)) => Some(a < b),
            _ => None,
        }
    }
    /// Whether two sizes are equal.
    pub fn equal(&self, a: Dim, b: Dim) -> Option<bool> {
        self.known(a, Relation::Equal, b)
    }
    /// Whether a size is one.
    pub fn is_one(&self, a: Dim) -> Option<bool> {
        self.equal(a, Dim::Fixed(1))
    }
}
