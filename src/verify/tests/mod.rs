//! What needs the inside of the judge to be tested: the journal's way beside the whole graph's, and what judging costs.

mod journal;
mod linear;
pub(in crate::verify) mod programs;
