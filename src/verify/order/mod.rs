//! The question "order": what `analysis/streams` says of both graphs.
//!
//! - `judge`: form of scopes and events, joins, conflicts, lifetime; which of them are charged to the rewrite;
//! - `hazard`: a finding in words: both accesses, their streams, the memory, and what would order them.

mod hazard;
mod judge;

pub use judge::judge_order;

#[cfg(test)]
mod tests;
