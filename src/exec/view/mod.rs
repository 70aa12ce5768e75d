//! Views: other places in the same memory.
//!
//! - `plain`: views and their `_copy` forms; - `in_place`: views that change the tensor itself; - `complex`: lazy conjugation and parts.

mod complex;
mod in_place;
mod plain;

pub(super) use complex::KERNELS as COMPLEX;
pub(super) use in_place::KERNELS as IN_PLACE;
pub(super) use plain::{KERNELS as PLAIN, fresh};
