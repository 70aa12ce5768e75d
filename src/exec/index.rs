//! Gather and scatter, by index and by mask.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
