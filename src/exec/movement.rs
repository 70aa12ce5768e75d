//! Data movement: cat, flip, roll, pad, repeat.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
