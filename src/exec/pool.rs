//! Pooling.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
