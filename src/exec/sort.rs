//! Order: sort, topk, unique, search.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
