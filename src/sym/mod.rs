//! Symbolic integers: sizes, strides and the values that programs compute from them.
//!
//! A graph owns one [`Symbols`]: an arena of interned, canonical expressions over named symbols, each with a range. A size is a [`Dim`]: a
//! number, or the id of an expression. Floats and booleans over sizes are [`SymFloat`] and [`SymBool`].
//!
//! Promises:
//! * equal polynomials are equal ids: `2*s + s` and `3*s` are one [`Dim`];
//! * [`Symbols::known`] answers only what holds for *all* values in the ranges, and nothing else; expressions never depend on ranges;
//! * arithmetic is checked, division is Python's, every failure is a [`SymError`]; sizes of expressions are bounded;
//! * text is PyTorch's: what it prints is read, and is printed again as it was, unless it was not canonical.
//!
//! Leaves to others: which symbol belongs to which input, and what the program asserts about them.

mod arith;
mod assume;
mod bounds;
mod convert;
mod decide;
mod error;
mod eval;
mod expr;
mod express;
mod floats;
mod keyed;
mod lex;
mod logic;
mod order;
mod poly;
mod print;
mod python;
mod range;
mod rebuild;
mod reduce;
mod residues;
mod srepr;
mod store;
mod symbols;
#[cfg(test)]
mod tests;
mod tighten;
mod tree;

pub use decide::Relation;
pub use error::{SymError, cut};
pub use eval::{Bindings, Number};
pub use expr::{BitOperator, Comparison, Dim, ExprId, Rounding, SymBool, SymFloat, SymValue, SymbolId};
pub use floats::FloatParts;
pub use keyed::{KeyedHash, KeyedIndexMap, KeyedIndexSet, KeyedMap, KeyedSet};
pub use poly::gcd;
pub use range::{Range, floor_div, floor_mod};
pub use srepr::is_unbacked;
pub use store::{MAX_DEPTH, MAX_WEIGHT, Symbols};
pub use symbols::srepr_to_python;
