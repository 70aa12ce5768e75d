//! The loops under kernels.
//!
//! - `pointwise`: element by element; `promoted`: the same after promotion; `rows`: along dimensions; `blocks`: in PyTorch's blocks.

pub(in crate::exec) mod blocks;
pub(in crate::exec) mod pointwise;
pub(in crate::exec) mod promoted;
pub(in crate::exec) mod rows;
