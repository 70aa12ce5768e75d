//! Choosing between values: where, clamp, masked fill.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
