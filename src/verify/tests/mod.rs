//! What needs the inside of the judge to be tested: the journal's way beside the whole graph's, what judging costs, and what rules alone do not show.

mod journal;
mod linear;
pub(in crate::verify) mod programs;
mod scopes;
