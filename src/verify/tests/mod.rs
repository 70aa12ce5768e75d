//! What the judge promises, each rule with its wrong twin beside it.

mod journal;
mod linear;
mod lookalikes;
mod reals;
pub(in crate::verify) mod twins;
