//! Dtypes, flags and absent operands that operators refuse on every device, whatever the contents: what PyTorch's own checks say before any
//! kernel is asked.
//!
//! Promises: a call that is refused here raises always (`tests/facts` has each refusal recorded). Leaves dtypes for which only some
//! device lacks a kernel to that device: such a call is typed.

use crate::graph::{Dtype, TensorType};
use crate::ops::typing::call::{Call, Number, Operand};
use crate::ops::typing::promote::Promotion;
use crate::ops::typing::require::{Entry, Needed, is_inexact, is_integral, is_long, is_real};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
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
    (
        bits,
        &[
            "aten.bitwise_and.Scalar",
            "aten.bitwise_and.Scalar_Tensor",
            "aten.bitwise_and.Tensor",
            "aten.bitwise_left_shift.Scalar_Tensor",
            "aten.bitwise_left_shift.Tensor",
            "aten.bitwise_left_shift.Tensor_Scalar",
            "aten.bitwise_not.default",
            "aten.bitwise_or.Scalar",
            "aten.bitwise_or.Scalar_Tensor",
            "aten.bitwise_or.Tensor",
            "aten.bitwise_right_shift.Scalar_Tensor",
            "aten.bitwise_right_shift.Tensor",
            "aten.bitwise_right_shift.Tensor_Scalar",
            "aten.bitwise_xor.Scalar",
            "aten.bitwise_xor.Scalar_Tensor",
            "aten.bitwise_xor.Tensor",
            "aten.__and__.Scalar",
            "aten.__and__.Tensor",
            "aten.__or__.Scalar",
            "aten.__or__.Tensor",
            "aten.__xor__.Scalar",
            "aten.__xor__.Tensor",
            "aten.__lshift__.Scalar",
            "aten.__lshift__.Tensor",
            "aten.__rshift__.Scalar",
            "aten.__rshift__.Tensor",
            "aten.gcd.default",
            "aten.lcm.default",
        ],
    ),
    (
        no_complex_result,
        &[
            "aten.nanmean.default",
            "aten.nansum.default",
            "aten.softmax.int",
            "aten.log_softmax.int",
            "aten._safe_softmax.default",
        ],
    ),
    (
        evaluated,
        &[
            "aten.batch_norm.default",
            "aten.instance_norm.default",
            "aten.native_batch_norm.default",
            "aten._batch_norm_no_update.default",
        ],
    ),
    (with_channels, &["aten.group_norm.default", "aten.instance_norm.default"]),
    (
        |c| match c.arg(1).items() {
            Some([]) if c.tensor(0)?.rank() > 0 => Err(c.bad(1, "a dimension", "none")),
            _ => Ok(()),
        },
        &["aten.logsumexp.default"],
    ),
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
fn leading<'a>(c: &Call<'a>) -> Result<Vec<&'a TensorType>, crate::ops::error::Fault> {
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

fn no_complex_result(c: &Call<'_>) -> Needed {
    let Some(i) = c.operator.schema.param_index("dtype") else { return Ok(()) };
    match c.dtype(i)? {
        Some(d) if d.is_complex() => Err(c.bad(i, "a dtype of reals", d.long())),
        _ => Ok(()),
    }
}

/// Floats have no bits to combine, and no divisors.
fn bits(c: &Call<'_>) -> Needed {
    for (i, p) in c.operator.schema.params.iter().enumerate().filter(|(_, p)| p.ty.alias.is_none()) {
        if !matches!(&*p.name, "self" | "other") {
            continue;
        }
        match c.operand(i)? {
            Operand::Tensor(t) if !is_integral(t.dtype) => {
                return Err(c.bad(i, "a dtype of integers or bool", t.dtype.long()));
            }
            Operand::Number(Number::Float(_) | Number::Complex) => {
                return Err(c.bad(i, "an integer or boolean", "another number"));
            }
            _ => {}
        }
    }
    Ok(())
}

const STATISTICS: [&str; 2] = ["running_mean", "running_var"];

/// Without taking statistics of the input there must be some; else both or none.
fn evaluated(c: &Call<'_>) -> Needed {
    let schema = &c.operator.schema;
    let flag = schema.param_index("training").or_else(|| schema.param_index("use_input_stats"));
    let given = |name| schema.param_index(name).is_some_and(|i| !c.is_none(i));
    if let [true, false] | [false, true] = STATISTICS.map(given) {
        return Err(c.bad(schema.param_index("running_var").unwrap_or(0), "both running statistics or none", "one"));
    }
    if flag.map_or(Ok(false), |i| c.bool(i))? {
        return Ok(());
    }
    for name in STATISTICS {
        if let Some(i) = c.operator.schema.param_index(name)
            && c.is_none(i)
        {
            return Err(c.bad(i, "statistics to evaluate with", "None"));
        }
    }
    Ok(())
}

/// There is a channel, and of groups something in it.
fn with_channels(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let looked_at = if &*c.operator.schema.name == "group_norm" { usize::MAX } else { 1 };
    if t.sizes.iter().skip(1).take(looked_at).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "channels with elements", sizes::show(c.symbols, &t.sizes)));
    }
    // Running statistics are taken of the first sample's channels, for all of them.
    let kept = c.operator.schema.param_index("running_mean").is_some_and(|i| !c.is_none(i));
    if kept && t.sizes.first() == Some(&Dim::Fixed(0)) {
        return Err(c.bad(0, "a sample", "none"));
    }
    Ok(())
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
    if zero && divided && is_integral(p.dtype()?) && !crate::ops::typing::require::is_empty(t) {
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
