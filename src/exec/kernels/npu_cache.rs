//! NPU operators that write caches.

use crate::exec::kernels::Entry;

pub(in crate::exec) const KERNELS: &[Entry] = &[];
