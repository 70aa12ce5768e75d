//! What views need.

use super::shared::{first, format, from_the_front, not_preserved, strided};
use crate::graph::Dtype;
use crate::ops::typing::require::Entry;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| first(c, "other than bool", |d| d != Dtype::Bool), &["aten.positive.default"]),
    (format, &["aten.contiguous.default"]),
    (|c| c.need_dtype(0, "of complex numbers", Dtype::is_complex), &["aten._conj.default"]),
    (from_the_front, &["prims.transpose.default"]),
    (|c| not_preserved(c, "memory_format"), &["aten.contiguous.default"]),
    (
        strided,
        &[
            "aten.as_strided.default",
            "aten.as_strided_.default",
            "aten.as_strided_copy.default",
            "aten._reshape_alias.default",
        ],
    ),
    (|c| c.need_int(2, 0..=i64::MAX), &["aten.unfold.default", "aten.unfold_copy.default"]),
];
