//! The smallest parts of two graphs that differ, run on their own: for what runs of the whole graphs do not show, or cannot.
//!
//! - `sites`: pairs of values at which the graphs part, from the outside in;
//! - `cut`: what computes such a pair, with its frontier (values that both graphs have) as free inputs; wider, one layer of definitions at a time;
//! - `replay`: what shows a difference on a region, on inputs of the whole graph;
//! - `vanish`: what is nothing but rounding in a region.
//!
//! Promises: a difference on a region refutes nothing, for its frontier may hold what the graph never computes. It is told only where it stays as
//! the region grows, and stands in the verdict as what it is. What is replayed refutes as any other trial does: both whole graphs ran on it.

mod cut;
mod replay;
mod search;
mod sites;
mod vanish;

pub use search::search;
pub use vanish::vanish_alike;
