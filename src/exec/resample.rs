//! Resizing: nearest, linear, cubic, grid sampling.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
