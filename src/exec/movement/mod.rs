//! Moving elements without looking at them.
//!
//! - `join`: joining, repeating, writing slices into copies;
//! - `rearrange`: turning, rolling, shuffling, picking rows;
//! - `pad`: what lies outside a tensor;
//! - `triangle`: triangles and diagonals;
//! - `window`: sliding windows as columns.

mod join;
mod pad;
mod rearrange;
mod triangle;
mod window;

pub(super) use join::{KERNELS as JOIN, emit_view};
pub(super) use pad::KERNELS as PAD;
pub(super) use rearrange::{KERNELS as REARRANGE, identity, picked, rows_at, rows_of};
pub(super) use triangle::KERNELS as TRIANGLE;
pub(super) use window::KERNELS as WINDOW;
