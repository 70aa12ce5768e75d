//! Complex numbers: parts, conjugates, polar forms.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
