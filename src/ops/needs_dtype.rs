//! Dtypes that operators refuse on every device, whatever the contents: what PyTorch's own checks say before any kernel is asked.
//!
//! Promises: a call that is refused here raises always (`tests/facts` has each refusal recorded). Leaves dtypes for which only some
//! device lacks a kernel to that device: such a call is typed.

use super::call::{Call, Number, Operand};
use super::promote::Promotion;
use super::require::{Entry, Needed, is_inexact, is_integral, is_long, is_real};
use super::sizes;
use crate::graph::{Dtype, TensorType};

pub(super) const NEEDS: &[Entry] = &[
    (
        |c| first(c, "of floats or complex numbers", is_inexact),
        &[
            "aten.std.correction",
            "aten.std.default",
            "aten.std.dim",
            "aten.std_mean.correction",
            "aten.var.correction",
            "aten.var.default",
            "aten.var.dim",
            "aten.var_mean.correction",
            "aten.var_mean.dim",
            "aten.norm.Scalar",
            "aten.norm.ScalarOpt_dim",
            "aten.embedding_renorm_.default",
            "prims.var.default",
        ],
    ),
    (
        |c| first(c, "of reals", is_real),
        &[
            "aten.ceil.default",
            "aten.floor.default",
            "aten.trunc.default",
            "aten.sign.default",
            "aten.clamp.default",
            "aten.clamp_max.default",
            "aten.clamp_min.default",
            "aten.clip.default",
            "aten.deg2rad.default",
            "aten.rad2deg.default",
            "aten.heaviside.default",
            "aten.kl_div.default",
            "prims.ceil.default",
            "prims.floor.default",
            "prims.trunc.default",
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
        &[
            "aten.argmax.default",
            "aten.argmin.default",
            "aten.hardtanh.default",
            "aten.neg.default",
            "aten.positive.default",
            "aten.relu.default",
            "aten.relu6.default",
            "aten._foreach_neg.default",
            "aten._foreach_sub.Scalar",
            "aten._foreach_sub.ScalarList",
        ],
    ),
    (
        |c| first(c, "float16, float32 or float64", |d| matches!(d, Dtype::F16 | Dtype::F32 | Dtype::F64)),
        &["aten.complex.default", "aten.polar.default"],
    ),
    (|c| first(c, "of complex numbers", Dtype::is_complex), &["prims.conj_physical.default"]),
    (no_boolean_difference, &["aten.dist.default", "aten.l1_loss.default"]),
    (of_one_dtype, &["aten._prelu_kernel_backward.default", "aten.log_sigmoid_backward.default"]),
    (blended, &["aten._foreach_lerp.List", "aten._foreach_lerp.Scalar"]),
    (no_integer_division, &["aten._foreach_addcdiv.Scalar"]),
    (classes, &["aten.nll_loss_backward.default"]),
    (
        no_division_by_zero,
        &["aten.div.Scalar_mode", "aten.floor_divide.Scalar", "aten.fmod.Scalar", "aten.remainder.Scalar"],
    ),
    (
        alike,
        &[
            "prims.add.default",
            "prims.atan2.default",
            "prims.bitwise_and.default",
            "prims.bitwise_or.default",
            "prims.bitwise_xor.default",
            "prims.div.default",
            "prims.eq.default",
            "prims.fmax.default",
            "prims.fmin.default",
            "prims.fmod.default",
            "prims.ge.default",
            "prims.gt.default",
            "prims.hypot.default",
            "prims.le.default",
            "prims.lt.default",
            "prims.maximum.default",
            "prims.minimum.default",
            "prims.mul.default",
            "prims.ne.default",
            "prims.nextafter.default",
            "prims.pow.default",
            "prims.remainder.default",
            "prims.shift_left.default",
            "prims.shift_right_arithmetic.default",
            "prims.sub.default",
        ],
    ),
];

/// The tensors of the first argument: one, or a list.
fn leading<'a>(c: &Call<'a>) -> Result<Vec<&'a TensorType>, super::error::Fault> {
    if c.arg(0).items().is_some() {
        return c.tensors(0);
    }
    Ok(match c.operand(0)? {
        Operand::Tensor(t) => vec![t],
        Operand::Number(_) => Vec::new(),
    })
}

fn first(c: &Call<'_>, what: &str, fits: fn(Dtype) -> bool) -> Needed {
    match leading(c)?.into_iter().find(|t| !fits(t.dtype)) {
        Some(t) => Err(c.bad(0, format!("dtype {what}"), t.dtype.long())),
        None => Ok(()),
    }
}

fn no_boolean_difference(c: &Call<'_>) -> Needed {
    for i in [0, 1] {
        if c.tensor(i)?.dtype == Dtype::Bool {
            return Err(c.bad(i, "no bool, which has no difference", "bool"));
        }
    }
    Ok(())
}

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

fn of_one_dtype(c: &Call<'_>) -> Needed {
    c.need_same_dtype(1, 0)?;
    c.need_same_dtype(2, 0)
}

fn classes(c: &Call<'_>) -> Needed {
    c.need_dtype(2, "int64 or uint8", |d| is_long(d) || d == Dtype::U8)?;
    c.need_same_dtype(1, 0)
}

/// Of integers only; a number that is known.
fn no_division_by_zero(c: &Call<'_>) -> Needed {
    let (Operand::Tensor(t), number) = (c.operand(0)?, c.number(1)?) else { return Ok(()) };
    let zero = matches!(number, Number::Int(d) if d.fixed() == Some(0)) || number == Number::Bool(Some(false));
    let mut p = Promotion::default();
    p.tensor(t.dtype, t.rank())?;
    p.number(number)?;
    let divided = c.operator.schema.param_index("rounding_mode").is_none_or(|i| !c.is_none(i));
    if zero && divided && is_integral(p.dtype()?) && !super::require::is_empty(t) {
        return Err(c.bad(1, "another divisor of integers than 0", "0"));
    }
    Ok(())
}

/// Elementary operators neither broadcast nor promote; a scalar goes with anything.
fn alike(c: &Call<'_>) -> Needed {
    let (Operand::Tensor(a), Operand::Tensor(b)) = (c.operand(0)?, c.operand(1)?) else { return Ok(()) };
    c.need_same_dtype(1, 0)?;
    let scalar = a.rank() == 0 || b.rank() == 0;
    let differ = a.rank() != b.rank() || a.sizes.iter().zip(&b.sizes).any(|(x, y)| sizes::differ(c.symbols, *x, *y));
    if !scalar && differ {
        return Err(c.bad(1, format!("sizes {}", sizes::show(c.symbols, &a.sizes)), sizes::show(c.symbols, &b.sizes)));
    }
    Ok(())
}
