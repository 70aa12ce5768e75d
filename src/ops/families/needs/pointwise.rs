//! What element-wise operators need.

use super::shared::{alike, first, joint, real_numbers, real_pair};
use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::typing::call::{Call, Number, Operand};
use crate::ops::typing::promote::Promotion;
use crate::ops::typing::require::{Entry, Needed, is_integral, is_real, size};
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
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
            "prims.ceil.default",
            "prims.floor.default",
            "prims.trunc.default",
        ],
    ),
    (
        |c| first(c, "other than bool", |d| d != Dtype::Bool),
        &["aten.hardtanh.default", "aten.neg.default", "aten.relu.default", "aten.relu6.default"],
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
            "prims.fmax.default",
            "prims.fmin.default",
            "prims.fmod.default",
            "prims.hypot.default",
            "prims.maximum.default",
            "prims.minimum.default",
            "prims.mul.default",
            "prims.nextafter.default",
            "prims.pow.default",
            "prims.remainder.default",
            "prims.shift_left.default",
            "prims.shift_right_arithmetic.default",
            "prims.sub.default",
        ],
    ),
    (
        alpha,
        &[
            "aten.add.Tensor",
            "aten.add.Scalar",
            "aten.sub.Tensor",
            "aten.sub.Scalar",
            "aten.subtract.Tensor",
            "aten.rsub.Tensor",
            "aten.rsub.Scalar",
        ],
    ),
    (
        no_boolean_difference,
        &["aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", "aten.rsub.Tensor", "aten.rsub.Scalar"],
    ),
    (|c| c.need_dtype(0, "of reals", is_real), &["aten.abs_.default"]),
    (real_pair, &["aten.maximum.default", "aten.minimum.default", "aten.fmax.default", "aten.fmin.default"]),
    (|c| c.need_same_dtype(1, 0), &["aten.heaviside.default", "aten.complex.default", "aten.polar.default"]),
    (not_negative_power, &["aten.pow.Tensor_Scalar"]),
    (no_integer_division, &["aten.addcdiv.default"]),
    (|c| real_numbers(c, &[3]), &["aten.addcdiv.default", "aten.addcmul.default"]),
    (|c| real_numbers(c, &[2]), &["aten.lerp.Scalar"]),
    (lerp, &["aten.lerp.Scalar", "aten.lerp.Tensor"]),
    (prelu, &["aten.prelu.default"]),
    (|c| c.need_same_dtype(1, 0), &["aten._prelu_kernel.default"]),
    (|c| c.need_word(1, &["none", "tanh"]), &["aten.gelu.default", "aten.gelu_.default"]),
    (|c| c.need_word(2, &["none", "tanh"]), &["aten.gelu_backward.default"]),
    (
        |c| c.need_word(2, &["floor", "trunc"]),
        &["aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.div_.Tensor_mode", "aten.div_.Scalar_mode"],
    ),
    (|c| c.need_float(1, "another alpha than 0", |a| a != 0.0), &["aten.celu.default"]),
    (|c| c.need_float(1, "0 or more, finite", |l| l >= 0.0 && l.is_finite()), &["aten.softshrink.default"]),
    (limits, &["aten.hardtanh.default", "aten.hardtanh_.default"]),
    (
        |c| real_numbers(c, &[1, 2]),
        &["aten.threshold.default", "aten.threshold_.default", "aten.hardtanh.default", "aten.hardtanh_.default"],
    ),
    (|c| real_numbers(c, &[1, 2]), &["aten.clamp.default", "aten.clip.default", "aten.elu.default"]),
    (|c| c.need_number_of(2, c.tensor(0)?.dtype), &["aten.threshold.default", "aten.threshold_.default"]),
    (|c| real_numbers(c, &[2]), &["aten.leaky_relu_backward.default", "aten.threshold_backward.default"]),
    (|c| slope_of_result(c, 2, 3), &["aten.leaky_relu_backward.default"]),
    (|c| slope_of_result(c, 1, 4), &["aten.elu_backward.default"]),
    (|c| real_numbers(c, &[2, 3]), &["aten.hardtanh_backward.default"]),
    (power_fits, &["aten.pow_.Scalar"]),
    (
        |c| quantised(c, 2, 3, 4),
        &["aten.fake_quantize_per_tensor_affine.default", "aten.fake_quantize_per_tensor_affine_cachemask.default"],
    ),
    (quantised_by_channel, &["aten.fake_quantize_per_channel_affine_cachemask.default"]),
];

/// Floats have no bits to combine, and no divisors.
/// Of a result nobody tells on which side its operand was, where the slope below 0 is negative.
fn slope_of_result(c: &Call<'_>, slope: usize, is_result: usize) -> Needed {
    let negative = match c.arg(slope) {
        Arg::Int(v) => *v < 0,
        Arg::Float(v) => *v < 0.0,
        _ => false,
    };
    if negative && *c.arg(is_result) == Arg::Bool(true) {
        return Err(c.bad(slope, "0 or more beside a result", "a negative number"));
    }
    Ok(())
}

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

fn alpha(c: &Call<'_>) -> Needed {
    // The usual one, and what is known only when it runs.
    if matches!(c.arg(2), Arg::Int(_) | Arg::Node(_)) {
        return Ok(());
    }
    c.need_factor(2, joint(c, &[0, 1])?)
}

fn is_boolean(o: Operand<'_>) -> bool {
    matches!(o, Operand::Tensor(TensorType { dtype: Dtype::Bool, .. }) | Operand::Number(Number::Bool(_)))
}

fn no_boolean_difference(c: &Call<'_>) -> Needed {
    for i in [0, 1] {
        if is_boolean(c.operand(i)?) {
            return Err(c.bad(i, "numbers; of booleans there is `logical_xor`", "bool"));
        }
    }
    Ok(())
}

fn not_negative_power(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    match c.number(1)? {
        Number::Int(d) if is_integral(t.dtype) && d.fixed().is_some_and(|n| n < 0) => {
            Err(c.bad(1, "a power of 0 or more for integers", c.symbols.print_python(d)))
        }
        _ => Ok(()),
    }
}

/// In place the power is converted to the tensor's dtype.
fn power_fits(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if is_integral(t.dtype) { Ok(()) } else { c.need_number_of(1, t.dtype) }
}

fn no_integer_division(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(1)?, c.tensor(2)?);
    if is_integral(a.dtype) && is_integral(b.dtype) {
        return Err(c.bad(2, "a float: integers are not divided here", b.dtype.long()));
    }
    Ok(())
}

fn lerp(c: &Call<'_>) -> Needed {
    c.need_same_dtype(1, 0)?;
    match c.operand(2)? {
        Operand::Tensor(w) if w.rank() > 0 || w.dtype.is_complex() => c.need_same_dtype(2, 0),
        Operand::Tensor(_) => c.need_same_dtype(2, 0),
        Operand::Number(_) => Ok(()),
    }
}

fn prelu(c: &Call<'_>) -> Needed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    c.need_same_dtype(1, 0)?;
    let count = weight.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?));
    if count != Some(1) {
        if t.rank() == 0 {
            return Err(c.bad(0, "dimensions, one of channels", "a scalar"));
        }
        let channels = if t.rank() > 1 { size(t, 1) } else { Dim::Fixed(1) };
        let found = count.map_or_else(|| size(weight, 0), Dim::Fixed);
        c.need_equal(1, "one weight, or as many as channels:", channels, found)?;
    }
    c.need_rank(1, 0..=1)
}

fn limits(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    match (t.dtype, c.float(2)) {
        (Dtype::U8, Some(high)) if high < 0.0 => Err(c.bad(2, "a number that uint8 holds", high.to_string())),
        _ => Ok(()),
    }
}

fn quantised(c: &Call<'_>, zero: usize, low: usize, high: usize) -> Needed {
    let (least, most) = (c.int(low)?, c.int(high)?);
    if least > most {
        return Err(c.bad(high, format!("{least} or more"), most.to_string()));
    }
    match c.arg(zero) {
        Arg::Int(_) => c.need_int(zero, least..=most),
        _ => Ok(()),
    }
}

fn quantised_by_channel(c: &Call<'_>) -> Needed {
    let (t, scale, zero) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    c.need_dtype(1, "float32 or bfloat16", |d| matches!(d, Dtype::F32 | Dtype::Bf16))?;
    c.need_dtype(2, "int32, float32 or float16", |d| matches!(d, Dtype::I32 | Dtype::F32 | Dtype::F16))?;
    c.need_rank(1, 1..=1)?;
    c.need_rank(2, 1..=1)?;
    c.need_equal(2, "as many zero points as scales,", size(scale, 0), size(zero, 0))?;
    let d = c.need_nonscalar_axis(3, t)?;
    c.need_equal(1, "as many scales as channels,", size(t, d), size(scale, 0))?;
    quantised(c, 2, 4, 5)
}
