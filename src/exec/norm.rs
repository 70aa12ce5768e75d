//! Softmax and normalisations.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
