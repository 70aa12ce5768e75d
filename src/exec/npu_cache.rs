//! NPU operators that write caches.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
