//! What arithmetic, reductions, products, losses and symbolic assertions need.

use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::error::Fault;
use crate::ops::typing::call::{Call, Number, Operand};
use crate::ops::typing::promote::Promotion;
use crate::ops::typing::require::{Entry, Needed, is_empty, is_inexact, is_integral, is_real, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
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
    (
        |c| c.need_dtype(0, "of reals", is_real),
        &["aten.abs_.default", "aten.isposinf.default", "aten.isneginf.default"],
    ),
    (
        real_pair,
        &[
            "aten.maximum.default",
            "aten.minimum.default",
            "aten.fmax.default",
            "aten.fmin.default",
            "aten.max.other",
            "aten.min.other",
        ],
    ),
    (
        |c| c.need_same_dtype(1, 0),
        &["aten.heaviside.default", "aten.isclose.default", "aten.complex.default", "aten.polar.default"],
    ),
    (not_negative_power, &["aten.pow.Tensor_Scalar"]),
    (no_integer_division, &["aten.addcdiv.default"]),
    (|c| real_numbers(c, &[3]), &["aten.addcdiv.default", "aten.addcmul.default"]),
    (|c| real_numbers(c, &[2]), &["aten.lerp.Scalar"]),
    (lerp, &["aten.lerp.Scalar", "aten.lerp.Tensor"]),
    (prelu, &["aten.prelu.default"]),
    (|c| c.need_same_dtype(1, 0), &["aten._prelu_kernel.default"]),
    (|c| c.need_word(1, &["none", "tanh"]), &["aten.gelu.default", "aten.gelu_.default"]),
    (
        |c| c.need_word(2, &["floor", "trunc"]),
        &["aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.div_.Tensor_mode", "aten.div_.Scalar_mode"],
    ),
    (|c| c.need_float(1, "another alpha than 0", |a| a != 0.0), &["aten.celu.default"]),
    (|c| c.need_float(1, "0 or more, finite", |l| l >= 0.0 && l.is_finite()), &["aten.softshrink.default"]),
    (|c| c.need_float(3, "0 or more", |e| e >= 0.0), &["aten.cosine_similarity.default"]),
    (limits, &["aten.hardtanh.default", "aten.hardtanh_.default"]),
    (
        |c| real_numbers(c, &[1, 2]),
        &["aten.threshold.default", "aten.threshold_.default", "aten.hardtanh.default", "aten.hardtanh_.default"],
    ),
    (|c| real_numbers(c, &[1, 2]), &["aten.clamp.default", "aten.clip.default", "aten.elu.default"]),
    (|c| c.need_number_of(2, c.tensor(0)?.dtype), &["aten.threshold.default", "aten.threshold_.default"]),
    (|c| real_numbers(c, &[2]), &["aten.leaky_relu_backward.default", "aten.threshold_backward.default"]),
    (|c| real_numbers(c, &[2, 3]), &["aten.hardtanh_backward.default"]),
    (|c| slope_of_result(c, 2, 3), &["aten.leaky_relu_backward.default"]),
    (|c| slope_of_result(c, 1, 4), &["aten.elu_backward.default"]),
    (tolerances, &["aten.isclose.default", "aten.allclose.default"]),
    (power_fits, &["aten.pow_.Scalar"]),
    (
        whole_or_sized,
        &[
            "aten.amax.default",
            "aten.amin.default",
            "aten.argmax.default",
            "aten.argmin.default",
            "aten.aminmax.default",
            "aten.max.default",
            "aten.min.default",
            "aten.max.dim",
            "aten.min.dim",
            "aten.median.dim",
            "aten.nanmedian.dim",
            "aten.mode.default",
            "aten.kthvalue.default",
        ],
    ),
    (
        |c| c.need_dtype(0, "of reals", is_real),
        &[
            "aten.argmax.default",
            "aten.argmin.default",
            "aten.aminmax.default",
            "aten.max.dim",
            "aten.min.dim",
            "aten.sort.default",
            "aten.sort.stable",
            "aten.argsort.default",
            "aten.argsort.stable",
            "aten.msort.default",
        ],
    ),
    (up_to_64, &["aten.amax.default", "aten.amin.default", "aten.aminmax.default"]),
    (kth, &["aten.kthvalue.default"]),
    (|c| c.need_rank(0, 2..=2), &["aten.trace.default"]),
    (
        |c| real_numbers(c, &[2]),
        &["aten.var.correction", "aten.std.correction", "aten.var_mean.correction", "aten.std_mean.correction"],
    ),
    (order_of_norm, &["aten.linalg_vector_norm.default", "aten.norm.Scalar", "aten.norm.ScalarOpt_dim"]),
    (|c| broadcast(c, 0, 1), &["aten.dist.default"]),
    (|c| c.need_dtype(0, "of reals", is_real), &["aten.kl_div.default"]),
    (|c| c.need_dtype(0, "of floats", is_inexact), &["aten.kl_div.default"]),
    (|c| c.need_dtype(1, "of floats", is_inexact), &["aten.kl_div.default"]),
    (|c| c.need_float(3, "more than 0", |d| d > 0.0), &["aten.huber_loss.default"]),
    (|c| c.need_float(3, "0 or more", |d| d >= 0.0), &["aten.smooth_l1_loss.default"]),
    (reduction, &["aten.mse_loss.default", "aten.smooth_l1_loss.default"]),
    (likelihood, &["aten.binary_cross_entropy.default"]),
    (likelihood_of_logits, &["aten.binary_cross_entropy_with_logits.default"]),
    (
        |c| quantised(c, 2, 3, 4),
        &["aten.fake_quantize_per_tensor_affine.default", "aten.fake_quantize_per_tensor_affine_cachemask.default"],
    ),
    (quantised_by_channel, &["aten.fake_quantize_per_channel_affine_cachemask.default"]),
    (
        |c| c.need_dtype(0, "of complex numbers", Dtype::is_complex),
        &["aten._conj.default", "aten._fft_c2c.default", "aten._fft_c2r.default"],
    ),
    (|c| c.need_dtype(0, "of floats", Dtype::is_float), &["aten._fft_r2c.default"]),
    (metadata, &["aten._assert_tensor_metadata.default"]),
    (truth, &["aten._assert_async.default", "aten._assert_async.msg", "aten._functional_assert_async.msg"]),
    (known_true, &["aten._assert_scalar.default", "aten._functional_assert_scalar.default"]),
    (within_range, &["aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"]),
    (|c| c.need_int(2, 3..=i64::MAX), &["aten.sym_constrain_range_for_size.default"]),
];

/// The dtype of operands together.
fn joint(c: &Call<'_>, places: &[usize]) -> Result<Dtype, Fault> {
    let mut promotion = Promotion::default();
    for i in places {
        promotion.operand(c.operand(*i)?)?;
    }
    promotion.dtype()
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

fn real_pair(c: &Call<'_>) -> Needed {
    match joint(c, &[0, 1])? {
        d if d.is_complex() => Err(c.bad(1, "reals, which have an order", d.long())),
        _ => Ok(()),
    }
}

/// Numbers that a double holds: no complex ones.
fn real_numbers(c: &Call<'_>, places: &[usize]) -> Needed {
    for i in places {
        if let Arg::Complex(_, im) = c.arg(*i)
            && *im != 0.0
            && !c.opt_tensor(0).ok().flatten().is_some_and(|t| t.dtype.is_complex())
        {
            return Err(c.bad(*i, "a real number", "a complex one"));
        }
    }
    Ok(())
}

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

fn tolerances(c: &Call<'_>) -> Needed {
    for i in [2, 3] {
        c.need_float(i, "a tolerance of 0 or more", |t| t >= 0.0)?;
    }
    Ok(())
}

/// What has no identity needs an element: along each reduced dimension, or anywhere where none is named.
fn whole_or_sized(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if !is_empty(t) {
        return Ok(());
    }
    let place = c.operator.schema.param_index("dim");
    let named = place.and_then(|i| c.axes(i, t.rank()).transpose()).transpose()?.filter(|d| !d.is_empty());
    let lacks = match (&named, place) {
        (Some(dims), _) => dims.iter().any(|d| size(t, *d) == Dim::Fixed(0)),
        (None, _) => true,
    };
    if lacks {
        return Err(c.bad(0, "an element in each reduction", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn up_to_64(c: &Call<'_>) -> Needed {
    c.need_rank(0, 0..=64)
}

fn kth(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let length = size(t, c.axis(2, t.rank())?).fixed().unwrap_or(i64::MAX);
    c.need_int(1, 1..=length)
}

/// A norm of an order below 0, or of infinity, has no value for nothing.
fn order_of_norm(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if matches!(c.arg(1), Arg::Complex(..)) {
        return Err(c.bad(1, "a real order", "a complex number"));
    }
    let needs_one = c.float(1).is_some_and(|order| order < 0.0 || order == f64::INFINITY);
    if !needs_one || !is_empty(t) {
        return Ok(());
    }
    let place = c.operator.schema.param_index("dim");
    let named = place.and_then(|i| c.axes(i, t.rank()).transpose()).transpose()?.filter(|d| !d.is_empty());
    if named.is_none_or(|dims| dims.iter().any(|d| size(t, *d) == Dim::Fixed(0))) {
        return Err(c.bad(0, "an element in each reduction", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn broadcast(c: &Call<'_>, i: usize, j: usize) -> Needed {
    let (a, b) = (c.tensor(i)?, c.tensor(j)?);
    crate::ops::typing::out::broadcast(c, j, &[&a.sizes, &b.sizes]).map(|_| ())
}

fn reduction(c: &Call<'_>) -> Needed {
    c.need_int(2, 0..=2)
}

fn likelihood(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_same_dtype(1, 0)?;
    c.need_same_dtype(2, 0)?;
    match c.opt_tensor(2)? {
        Some(w) => crate::ops::typing::out::broadcast(c, 2, &[&t.sizes, &w.sizes]).map(|_| ()),
        None => Ok(()),
    }
}

fn likelihood_of_logits(c: &Call<'_>) -> Needed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    c.need_broadcast_to(0, &target.sizes)?;
    if c.opt_tensor(2)?.is_some() {
        c.need_broadcast_to(2, &target.sizes)?;
    }
    let Some(positive) = c.opt_tensor(3)? else { return Ok(()) };
    let weighted = crate::ops::typing::out::broadcast(c, 3, &[&positive.sizes, &target.sizes])?;
    if c.broadcasts_to(&weighted, &t.sizes) {
        return Ok(());
    }
    let expected = format!("sizes that broadcast to {}", sizes::show(c.symbols, &t.sizes));
    Err(c.bad(3, expected, sizes::show(c.symbols, &positive.sizes)))
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

/// A graph may hold what fails when it runs; where it is known to fail, the call is at fault.
fn metadata(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if let Some(wanted) = c.opt_dims(1)? {
        c.need_sizes(0, &wanted)?;
    }
    if let (Some(wanted), Some(own)) = (c.opt_dims(2)?, &t.strides)
        && !c.can_equal(own, &wanted)
    {
        let expected = format!("strides {}", sizes::show(c.symbols, &wanted));
        return Err(c.bad(0, expected, sizes::show(c.symbols, own)));
    }
    match c.dtype(3)? {
        Some(d) if d != t.dtype => Err(c.bad(0, format!("dtype {}", d.long()), t.dtype.long())),
        _ => Ok(()),
    }
}

fn truth(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    match t.sizes.iter().find(|d| sizes::differ(c.symbols, **d, Dim::Fixed(1))) {
        Some(_) => Err(c.bad(0, "a tensor of one element", sizes::show(c.symbols, &t.sizes))),
        None => Ok(()),
    }
}

fn known_true(c: &Call<'_>) -> Needed {
    let fails = match c.arg(0) {
        Arg::Bool(b) => !b,
        Arg::Int(n) => *n == 0,
        Arg::Float(v) => *v == 0.0,
        _ => false,
    };
    if fails { Err(c.bad(0, format!("what holds: {}", c.text(1)), "False")) } else { Ok(()) }
}

fn within_range(c: &Call<'_>) -> Needed {
    if let Arg::Complex(..) = c.arg(0) {
        return Err(c.bad(0, "an integer", "a complex number"));
    }
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    let bound = |name| c.opt_dim(place(name)).map(|d| d.and_then(|d| d.fixed()));
    let (low, high) = (bound("min")?.unwrap_or(i64::MIN), bound("max")?.unwrap_or(i64::MAX));
    if low > high {
        return Err(c.bad(place("max"), format!("{low} or more"), high.to_string()));
    }
    match c.arg(0) {
        Arg::Int(_) | Arg::Bool(_) => c.need_int(0, low..=high),
        #[allow(clippy::cast_precision_loss)]
        Arg::Float(v) if v.trunc() < low as f64 || v.trunc() > high as f64 => {
            Err(c.bad(0, format!("{low} to {high}"), v.to_string()))
        }
        _ => Ok(()),
    }
}
