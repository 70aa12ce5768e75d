//! Terms: what values are, as structures that are equal only where the values are. Trusted: a verdict rests on them.
//!
//! - `term`: forms and children; `call`: arguments of a call by parameter;
//! - `index_map`: which element of a value a view's element is;
//! - `sizes`: arithmetic over symbols, and what the inputs settle;
//! - `store`: hash-consed terms.
//!
//! Promises: equal terms are equal values for all inputs, bit by bit; nothing here knows of edits, journals or memory. Leaves to `verify`
//! which term a node of a graph has.

pub mod call;
pub mod index_map;
pub mod sizes;
pub mod store;
#[allow(clippy::module_inception)]
pub mod term;
