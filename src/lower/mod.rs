//! Lowering to the NPU.

pub mod ge;
