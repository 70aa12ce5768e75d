//! Gradients of other operators.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
