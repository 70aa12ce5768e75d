//! What views need.

use super::shared::{first, format, from_the_front, not_preserved, strided};
use crate::graph::Dtype;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed};

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
    (parts, &["aten.unflatten.int"]),
    (|c| c.need_int(2, 0..=i64::MAX), &["aten.unfold.default", "aten.unfold_copy.default"]),
];

/// A dimension is parted into some.
fn parts(c: &Call<'_>) -> Needed {
    c.need_rank(0, 1..=usize::MAX)?;
    if c.arg(2).items().is_some_and(<[crate::graph::Arg]>::is_empty) {
        return Err(c.bad(2, "sizes", "none"));
    }
    Ok(())
}
