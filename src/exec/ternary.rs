//! Arithmetic of three operands: addcmul, addcdiv, lerp.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
