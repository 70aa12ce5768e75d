//! What operators that make tensors need.

use super::shared::{drawn_between, drawn_up_to, format, holds_bound, not_preserved};
use crate::graph::{Arg, Dtype};
use crate::ops::error::CallFault;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed};
use crate::ops::typing::sizes;
use crate::sym::Dim;

const SIZES: std::ops::RangeInclusive<i64> = 0..=i64::MAX;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| c.need_int(0, SIZES), &["aten.eye.default", "aten.eye.m", "aten.randperm.default"]),
    (|c| c.need_int(1, SIZES), &["aten.eye.m"]),
    (spaced, &["aten.linspace.default", "aten.logspace.default"]),
    (real_bounds, &["aten.arange.default", "aten.arange.start", "aten.arange.start_step"]),
    (|c| c.need_number_of(0, dtype_or(c, Dtype::F32)?), &["aten.scalar_tensor.default"]),
    (|c| c.need_number_of(1, dtype_or(c, c.number(1)?.dtype())?), &["aten.full.default"]),
    (|c| c.need_number_of(1, dtype_or(c, c.tensor(0)?.dtype)?), &["aten.full_like.default"]),
    (|c| c.need_number_of(2, dtype_or(c, c.tensor(0)?.dtype)?), &["aten.new_full.default"]),
    (strided, &["aten.empty_strided.default", "aten.new_empty_strided.default"]),
    (permuted, &["aten.empty_permuted.default"]),
    (
        format,
        &[
            "aten.to.device",
            "aten.to.dtype",
            "aten.to.dtype_layout",
            "aten.to.other",
            "aten._to_copy.default",
            "aten.clone.default",
            "aten.resize_.default",
            "aten.full_like.default",
            "aten.zeros_like.default",
            "aten.ones_like.default",
            "aten.empty_like.default",
            "aten.rand_like.default",
            "aten.randn_like.default",
            "aten.randint_like.default",
            "aten.randint_like.low_dtype",
            "aten.empty.memory_format",
        ],
    ),
    (filled, &["aten.fill.Tensor", "aten.fill_.Tensor"]),
    (|c| c.need_number_of(1, c.tensor(0)?.dtype), &["aten.fill.Scalar", "aten.fill_.Scalar"]),
    (copied, &["aten.copy.default"]),
    (drawn_up_to, &["aten.randint.default", "aten.randint_like.default"]),
    (drawn_between, &["aten.randint.low", "aten.randint_like.low_dtype"]),
    (bounded_like, &["aten.randint_like.default", "aten.randint_like.low_dtype"]),
    (|c| not_preserved(c, "memory_format"), &["aten.resize_.default", "aten.empty.memory_format"]),
];

fn dtype_or(c: &Call<'_>, otherwise: Dtype) -> Result<Dtype, CallFault> {
    let place = c.operator.schema.param_index("dtype");
    Ok(place.map_or(Ok(None), |i| c.dtype(i))?.unwrap_or(otherwise))
}

fn spaced(c: &Call<'_>) -> Needed {
    c.need_int(2, SIZES)?;
    let complex = |i| matches!(c.arg(i), Arg::Complex(..));
    if (complex(0) || complex(1)) && !dtype_or(c, Dtype::C64)?.is_complex() {
        return Err(c.bad(1, "real ends for a real dtype", "a complex number"));
    }
    Ok(())
}

fn real_bounds(c: &Call<'_>) -> Needed {
    for i in 0..3_usize {
        if let Arg::Complex(_, im) = c.arg(i)
            && *im != 0.0
            && c.operator.schema.params.get(i).is_some_and(|p| !p.kwarg_only)
        {
            return Err(c.bad(i, "a real number", "a complex one"));
        }
    }
    Ok(())
}

fn whole(c: &Call<'_>, i: usize, dims: &[Dim]) -> Needed {
    if dims.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(i, "values of 0 or more", sizes::show(c.symbols, dims)));
    }
    Ok(())
}

fn strided(c: &Call<'_>) -> Needed {
    let base = usize::from(c.name(0) == "self");
    let strides = base.saturating_add(1);
    let (dims, steps) = (c.dims(base)?, c.dims(strides)?);
    whole(c, base, &dims)?;
    // Of an empty tensor strides do not matter.
    if dims.contains(&Dim::Fixed(0)) { Ok(()) } else { whole(c, strides, &steps) }
}

fn permuted(c: &Call<'_>) -> Needed {
    whole(c, 0, &c.dims(0)?)?;
    whole(c, 1, &c.dims(1)?)
}

fn filled(c: &Call<'_>) -> Needed {
    match c.operand(1)? {
        crate::ops::typing::call::Operand::Tensor(_) => c.need_rank(1, 0..=0),
        crate::ops::typing::call::Operand::Number(_) => Ok(()),
    }
}

fn copied(c: &Call<'_>) -> Needed {
    match c.operand(1)? {
        crate::ops::typing::call::Operand::Tensor(_) => c.need_broadcast_to(1, &c.tensor(0)?.sizes),
        crate::ops::typing::call::Operand::Number(_) => Ok(()),
    }
}

fn bounded_like(c: &Call<'_>) -> Needed {
    let dtype = dtype_or(c, c.tensor(0)?.dtype)?;
    if dtype.is_complex() {
        return Err(c.bad(0, "a dtype of integers or reals", dtype.long()));
    }
    let last = if c.name(1) == "low" { 2 } else { 1 };
    holds_bound(c, last, 1, dtype)
}
