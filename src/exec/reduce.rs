//! Reductions: sum, mean, prod, extrema, norms, logic.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
