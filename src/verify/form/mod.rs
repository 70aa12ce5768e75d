//! The calling convention: inputs, and what is returned.

pub(in crate::verify) mod outputs;
