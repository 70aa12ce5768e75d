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

pub(in crate::exec) use crate::exec::kernels::movement::join::{KERNELS as JOIN, emit_view};
pub(in crate::exec) use crate::exec::kernels::movement::pad::KERNELS as PAD;
pub(in crate::exec) use crate::exec::kernels::movement::rearrange::{
    KERNELS as REARRANGE, identity, picked, rows_at, rows_of,
};
pub(in crate::exec) use crate::exec::kernels::movement::triangle::KERNELS as TRIANGLE;
pub(in crate::exec) use crate::exec::kernels::movement::window::KERNELS as WINDOW;
