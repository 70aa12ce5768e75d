//! What the judge promises, each rule with its wrong twin beside it.

mod journal;
mod linear;
mod lookalikes;
pub(in crate::verify) mod twins;
