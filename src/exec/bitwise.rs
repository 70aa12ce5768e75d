//! Bits of integers and booleans: and, or, xor, shifts.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
