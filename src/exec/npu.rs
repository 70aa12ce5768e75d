//! Fused operators of the NPU, by their definitions.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
