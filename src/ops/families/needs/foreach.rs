//! What operators on lists of tensors need.

use super::shared::first;
use crate::graph::Dtype;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_integral, is_real};

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (
        |c| first(c, "of reals", is_real),
        &[
            "aten._foreach_ceil.default",
            "aten._foreach_floor.default",
            "aten._foreach_trunc.default",
            "aten._foreach_sign.default",
            "aten._foreach_clamp_max.Scalar",
            "aten._foreach_clamp_max.ScalarList",
            "aten._foreach_clamp_min.Scalar",
            "aten._foreach_clamp_min.ScalarList",
            "aten._foreach_maximum.Scalar",
            "aten._foreach_maximum.ScalarList",
            "aten._foreach_minimum.Scalar",
            "aten._foreach_minimum.ScalarList",
        ],
    ),
    (
        |c| first(c, "other than bool", |d| d != Dtype::Bool),
        &["aten._foreach_neg.default", "aten._foreach_sub.Scalar", "aten._foreach_sub.ScalarList"],
    ),
    (blended, &["aten._foreach_lerp.List", "aten._foreach_lerp.Scalar"]),
    (no_integer_division, &["aten._foreach_addcdiv.Scalar"]),
];

/// Tensor by tensor, start and end have one dtype.
fn blended(c: &Call<'_>) -> Needed {
    for (start, end) in c.tensors(0)?.iter().zip(c.tensors(1)?) {
        if start.dtype != end.dtype {
            return Err(c.bad(1, format!("dtype {}", start.dtype.long()), end.dtype.long()));
        }
    }
    Ok(())
}

fn no_integer_division(c: &Call<'_>) -> Needed {
    for (a, b) in c.tensors(1)?.iter().zip(c.tensors(2)?) {
        if is_integral(a.dtype) && is_integral(b.dtype) {
            return Err(c.bad(2, "no division of integers", b.dtype.long()));
        }
    }
    Ok(())
}
