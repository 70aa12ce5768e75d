//! The calling convention: inputs, what is returned, and what is copied back.

pub(in crate::verify) mod copied_back;
pub(in crate::verify) mod outputs;
pub(in crate::verify) mod strides;
