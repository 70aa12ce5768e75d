//! What no value shows: effects in order, and what may raise.
//!
//! - `trace`: draws, prints, collectives, sub-graphs, assertions;
//! - `raises`: what calls ask of their operands; `fits`, `definition`: which calls surely hold; `contract`, `windows`: whose sizes fit; `quantised`: which numbers a quantisation takes; `stated`: assertions that types answer.

mod contract;
mod definition;
pub(in crate::verify) mod fits;
mod quantised;
pub(in crate::verify) mod raises;
pub(in crate::verify) mod stated;
pub(in crate::verify) mod trace;
mod windows;
