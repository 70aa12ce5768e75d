//! Running sums, products and extrema.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
