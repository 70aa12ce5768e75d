//! Activations: relu, gelu, silu and the like.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
