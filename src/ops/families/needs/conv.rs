//! What convolutions need.

use crate::ops::typing::require::Entry;

pub(in crate::ops) const NEEDS: &[Entry] = &[(
    |c| c.need_length(c.operator.schema.param_index("output_mask").unwrap_or(usize::MAX), &[3]),
    &["aten.convolution_backward.default"],
)];
