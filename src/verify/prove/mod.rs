//! Provers, in order of cost.

pub(in crate::verify) mod congruence;
