//! Lists of tensors, one by one.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
