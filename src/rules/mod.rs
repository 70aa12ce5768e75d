//! Statements that are true: which terms mean the same, and how equal they are. Trusted.
//!
//! - `element`: values element by element; each family of rules on scalars, indices and choices in one file, applied where an expression
//!   is made;
//! - `table`: which operator is which function of elements: the one place with names; `meaning`: what a call is, `pointwise` and
//!   `movement` where the table says.
//!
//! - `fingerprint`: elements computed at every place over fields that are drawn: what rests on it is checked, not proved;
//! - `catalog`: their names and texts;
//! - `field`: equality over the reals; `definedness`: what NaN does; `rounding`: bounds on boxes of inputs; `real_sums`, `contract`: sums of floats; `pooling`: windows.
//!
//! A file of rules says what it says and when it is wrong. What `element` shows holds bit by bit ([`Level::Exact`]); equality over the reals
//! ([`Level::Real`]) takes all of `field`, `definedness` and `rounding`. `tests/it/rule_admission.rs` runs random instances of both sides.

pub mod catalog;
mod complex;
mod contract;
pub mod definedness;
pub mod element;
pub mod field;
pub mod fingerprint;
mod guards;
mod masks;
pub mod meaning;
mod movement;
mod ordered;
mod pointwise;
mod pooling;
mod real_sums;
pub mod rounding;
mod scalars;
pub mod table;
mod writes;

use serde::{Deserialize, Serialize};

/// Rules that keep the sign and the payload of every NaN.
pub const KEEP_NAN: &[&str] = &[
    "bit-by-bit",
    "exhausted-integers",
    "by-cases",
    "choose-equal",
    "choose-not",
    "choose-truth",
    "decomposition",
    "magnitude-with-sign",
    "integer-ring",
    "sign-bit",
    "upper-half",
    "neg-neg",
    "abs-of-sign",
    "sum-of-indices",
    "sum-up-to-an-index",
    "compare-indices",
    "compare-bits",
    "compare-magnitude",
    "compare-opposites",
    "abs-of-positive",
    "bits-of-integers",
    "quotient-of-opposite",
];

/// How equal values are.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Bit by bit.
    Exact,
    /// Over the reals, with bounded rounding.
    Real,
}
