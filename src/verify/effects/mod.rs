//! What no value shows: effects in order, and what may raise.
//!
//! - `trace`: draws, prints, collectives, sub-graphs, assertions;
//! - `raises`: what calls ask of their operands; `fits`: which calls surely hold.

mod definition;
pub(in crate::verify) mod fits;
pub(in crate::verify) mod raises;
pub(in crate::verify) mod trace;
