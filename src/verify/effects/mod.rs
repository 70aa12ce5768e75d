//! What no value shows: effects in order, and what may raise.
//!
//! - `trace`: draws, prints, collectives, sub-graphs, assertions;
//! - `beside`: what collectives may still work on;
//! - `raises`: what calls ask of their operands;
//! - `fits`, `definition`: which calls surely hold: whose sizes fit (`sizes`, `contract`, `windows`), whose views there are (`view_calls`), whose dtypes
//!   and numbers no kernel refuses (`numbers`, `quantised`);
//! - `stated`: assertions that types answer.

pub(in crate::verify) mod beside;
mod contract;
mod definition;
pub(in crate::verify) mod fits;
mod numbers;
mod quantised;
pub(in crate::verify) mod raises;
mod sizes;
pub(in crate::verify) mod stated;
pub(in crate::verify) mod trace;
mod view_calls;
mod windows;
