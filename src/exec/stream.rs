//! Streams, events and scopes: order only, no values.

use super::kernels::Entry;

pub(super) const KERNELS: &[Entry] = &[];
