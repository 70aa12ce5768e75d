//! Views: other places in the same memory.
//!
//! - `plain`: views and their `_copy` forms; - `in_place`: views that change the tensor itself; - `complex`: lazy conjugation and parts.

mod complex;
mod in_place;
mod plain;

pub(in crate::exec) use crate::exec::kernels::view::complex::KERNELS as COMPLEX;
pub(in crate::exec) use crate::exec::kernels::view::in_place::KERNELS as IN_PLACE;
pub(in crate::exec) use crate::exec::kernels::view::plain::{KERNELS as PLAIN, fresh};
