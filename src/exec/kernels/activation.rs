//! Activations: relu, gelu, silu, elu and their like, of floats (some of integers too).
//!
//! Promises: NaN stays NaN; narrow floats are computed in `f32` and rounded once; parameters are not rounded to the operand's dtype
//! unless an operator compares with them exactly.

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use crate::exec::call::cx::Cx;
use crate::exec::dense::exp;
use crate::exec::kernels::Entry;
use crate::exec::kernels::elementary;
use crate::exec::loops::blocks::in_blocks;
use crate::exec::loops::pointwise::{map1, map2};
use crate::exec::numbers::checked::check_fits;
use crate::exec::numbers::real::{Real, with_real};
use crate::exec::numbers::special::sigmoid;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (relu, &["aten.relu.default"]),
    (|cx| clamped(cx, Scalar::Int(0), Scalar::Int(6)), &["aten.relu6.default"]),
    (hardtanh, &["aten.hardtanh.default"]),
    (threshold, &["aten.threshold.default"]),
    (threshold_in_place, &["aten.threshold_.default"]),
    (|cx| elementary::by_slices(cx, exp::silu_slice, silu), &["aten.silu.default"]),
    (|cx| elementary::real(cx, mish, mish), &["aten.mish.default"]),
    (|cx| elementary::real(cx, hardsigmoid, hardsigmoid), &["aten.hardsigmoid.default"]),
    (|cx| elementary::real(cx, hardswish, hardswish), &["aten.hardswish.default"]),
    (|cx| elementary::real(cx, log_sigmoid, log_sigmoid), &["aten.log_sigmoid.default"]),
    (log_sigmoid_forward, &["aten.log_sigmoid_forward.default"]),
    (
        |cx| match cx.text(1) {
            "none" => elementary::by_slices(cx, gelu_slice, gelu),
            "tanh" => elementary::by_slices(cx, exp::gelu_tanh_slice, gelu),
            _ => gelu(cx),
        },
        &["aten.gelu.default"],
    ),
    (elu, &["aten.elu.default"]),
    (selu, &["aten.selu.default"]),
    (celu, &["aten.celu.default"]),
    (leaky_relu, &["aten.leaky_relu.default"]),
    (prelu_kernel, &["aten._prelu_kernel.default"]),
    (prelu, &["aten.prelu.default"]),
    (softplus, &["aten.softplus.default"]),
    (hardshrink, &["aten.hardshrink.default"]),
    (softshrink, &["aten.softshrink.default"]),
    (glu, &["aten.glu.default"]),
];

/// x / (1 + e^-x).
fn silu(cx: &mut Cx<'_, '_, '_>) -> Made {
    use crate::exec::numbers::complex::{divide, divide_rounded, one_and_exp};
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let out = match LaneKind::of(meta.dtype) {
        LaneKind::C64 => {
            let in_vectors = |z: C64| divide(z, one_and_exp(z));
            in_blocks(cx, &meta, in_vectors, |z: C64| divide_rounded(z, one_and_exp(z)))
        }
        LaneKind::C128 => map1(cx, &meta, x, meta.dtype, |z: C128| divide(z, one_and_exp(z))),
        _ => return elementary::real(cx, |v| v / (1.0 + (-v).exp()), |v| v / (1.0 + (-v).exp())),
    };
    out.map(Value::Tensor)
}

#[inline]
fn mish<R: Real>(x: R) -> R {
    x * x.exp().ln_1p().tanh()
}

/// `max(0, min(x, 6))`; NaN stays.
#[inline]
fn to_six<R: Real>(x: R) -> R {
    let floor = if x < R::zero() { R::zero() } else { x };
    if floor > R::of(6.0) { R::of(6.0) } else { floor }
}

#[inline]
fn hardsigmoid<R: Real>(x: R) -> R {
    to_six(x + R::of(3.0)) / R::of(6.0)
}

#[inline]
fn hardswish<R: Real>(x: R) -> R {
    x * to_six(x + R::of(3.0)) / R::of(6.0)
}

#[inline]
fn log_sigmoid<R: Real>(x: R) -> R {
    let low = if x < R::zero() { x } else { R::zero() };
    low - (-x.abs()).exp().ln_1p()
}

/// The second result is what the gradient needs: e^-|x|.
fn log_sigmoid_forward(cx: &mut Cx<'_, '_, '_>) -> Made {
    let x = cx.operand(0)?;
    let (first, second) = (cx.meta_of(0)?, cx.meta_of(1)?);
    with_real!(cx, first.dtype, R => {
        let out = map1(cx, &first, x, first.dtype, log_sigmoid::<R>)?;
        let buffer = map1(cx, &second, x, first.dtype, |v: R| (-Real::abs(v)).exp())?;
        Ok(Value::from(vec![out, buffer]))
    })
}

fn relu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => map1(cx, &meta, x, dtype, |v: f32| if v < 0.0 { 0.0 } else { v }),
        LaneKind::F64 => map1(cx, &meta, x, dtype, |v: f64| if v < 0.0 { 0.0 } else { v }),
        LaneKind::I64 if dtype != Dtype::Bool => map1(cx, &meta, x, dtype, |v: i64| v.max(0)),
        _ => return Err(cx.bad(0, "integers or floats", dtype.long())),
    };
    out.map(Value::Tensor)
}

fn hardtanh(cx: &mut Cx<'_, '_, '_>) -> Made {
    clamped(cx, cx.scalar(1)?, cx.scalar(2)?)
}

/// Between two numbers, which for floats are rounded to their dtype; NaN stays.
fn clamped(cx: &mut Cx<'_, '_, '_>, low: Scalar, high: Scalar) -> Made {
    fn between<L: Lane + PartialOrd>(v: L, low: L, high: L) -> L {
        let floor = if v < low { low } else { v };
        if floor > high { high } else { floor }
    }
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    macro_rules! lanes {
        ($L:ident) => {{
            let (low, high) = (number::<$L>(low, Some(dtype)), number::<$L>(high, Some(dtype)));
            map1(cx, &meta, x, dtype, |v: $L| between(v, low, high))
        }};
    }
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => lanes!(f32),
        LaneKind::F64 => lanes!(f64),
        LaneKind::I64 if dtype != Dtype::Bool => {
            let (low, high) = (low.to_i64(), high.to_i64());
            map1(cx, &meta, x, dtype, |v: i64| between(v, low, high))
        }
        _ => return Err(cx.bad(0, "integers or floats", dtype.long())),
    };
    out.map(Value::Tensor)
}

/// What is not above the threshold becomes the value; NaN stays.
fn threshold(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let (dtype, limit, value) = (meta.dtype, cx.scalar(1)?, cx.scalar(2)?);
    macro_rules! lanes {
        ($L:ident) => {{
            let (limit, value) = (number::<$L>(limit, Some(dtype)), number::<$L>(value, Some(dtype)));
            map1(cx, &meta, x, dtype, |v: $L| if v <= limit { value } else { v })
        }};
    }
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => lanes!(f32),
        LaneKind::F64 => lanes!(f64),
        LaneKind::I64 if dtype != Dtype::Bool => {
            for (i, n) in [(1, limit), (2, value)] {
                check_fits(cx, i, n, dtype)?;
            }
            lanes!(i64)
        }
        _ => return Err(cx.bad(0, "integers or floats", dtype.long())),
    };
    out.map(Value::Tensor)
}

/// The only activation that may be written into a tensor whose elements share memory.
fn threshold_in_place(cx: &mut Cx<'_, '_, '_>) -> Made {
    let target = cx.tensor(0)?;
    let made = cx.run_tensor("aten.threshold.default", &cx.values())?;
    target.copy_from(&made)?;
    Ok(Value::Tensor(target.clone()))
}

/// `x/2 (1 + erf(x / sqrt 2))`, or its approximation by tanh.
fn gelu(cx: &mut Cx<'_, '_, '_>) -> Made {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let in_row = cx.tensor(0).is_ok_and(|t| t.meta.is_contiguous() && t.numel() > 1);
    let out = match cx.text(1) {
        "none" if in_row && dtype == Dtype::Bf16 => map1(cx, &meta, x, dtype, |v: f32| flushed(gelu_of_rows(v))),
        "none" if in_row && dtype == Dtype::F32 => map1(cx, &meta, x, dtype, gelu_of_rows),
        "none" => with_real!(cx, dtype, R => {
            let scale = R::of(FRAC_1_SQRT_2);
            map1(cx, &meta, x, dtype, |v: R| v * R::of(0.5) * (R::one() + Real::erf(v * scale)))
        }),
        "tanh" => with_real!(cx, dtype, R => {
            let (beta, kappa) = (R::of(SQRT_2 * FRAC_2_SQRT_PI * 0.5), R::of(0.044_715));
            map1(cx, &meta, x, dtype, |v: R| {
                let inner = beta * kappa.mul_add(v * v * v, v);
                R::of(0.5) * v * (R::one() + Real::tanh(inner))
            })
        }),
        other => return Err(cx.bad(1, "\"none\" or \"tanh\"", format!("{other:?}"))),
    };
    out.map(Value::Tensor)
}

/// The library that PyTorch asks for rows of `float32` and `bfloat16` halves last, and has no value at infinity.
#[inline]
fn gelu_of_rows(x: f32) -> f32 {
    if x == f32::INFINITY {
        return f32::NAN;
    }
    x * (1.0 + Real::erf(x * std::f32::consts::FRAC_1_SQRT_2)) * 0.5
}

/// Long rows, with the same gap at infinity.
fn gelu_slice(x: &[f32], out: &mut [f32]) {
    exp::gelu_slice(x, out);
    out.iter_mut().zip(x).filter(|(_, x)| **x == f32::INFINITY).for_each(|(out, _)| *out = f32::NAN);
}

/// The same library writes zeros in place of what is too small for a normal `bfloat16`.
fn flushed(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { 0_f32.copysign(x) } else { x }
}

/// Above 0 times `positive`, else `negative * (e^(inner x) - 1)`.
fn exponential(cx: &mut Cx<'_, '_, '_>, negative: f64, positive: f64, inner: f64) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    with_real!(cx, meta.dtype, R => {
        let (negative, positive, inner) = (R::of(negative), R::of(positive), R::of(inner));
        map1(cx, &meta, x, meta.dtype, |v: R| {
            if v < R::zero() { Real::exp_m1(v * inner) * negative } else { v * positive }
        })
    })
    .map(Value::Tensor)
}

fn elu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (alpha, scale, inner) = (cx.f64(1)?, cx.f64(2)?, cx.f64(3)?);
    exponential(cx, alpha * scale, scale, inner)
}

fn selu(cx: &mut Cx<'_, '_, '_>) -> Made {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    exponential(cx, ALPHA * SCALE, SCALE, 1.0)
}

fn celu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let alpha = cx.f64(1)?;
    if alpha == 0.0 {
        return Err(cx.bad(1, "a number other than 0", "0"));
    }
    exponential(cx, alpha, 1.0, 1.0 / alpha)
}

fn leaky_relu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let slope = cx.f64(1)?;
    with_real!(cx, meta.dtype, R => {
        let slope = R::of(slope);
        map1(cx, &meta, x, meta.dtype, |v: R| if v > R::zero() { v } else { v * slope })
    })
    .map(Value::Tensor)
}

fn sloped(cx: &Cx<'_, '_, '_>, meta: &Meta, x: Operand<'_>, weight: &Tensor) -> Made {
    let dtype = meta.dtype;
    if weight.dtype() != dtype {
        return Err(cx.bad(1, dtype.long(), weight.dtype().long()));
    }
    let weight = Operand::Tensor(weight);
    with_real!(cx, dtype, R => {
        map2(cx, meta, [x, weight], dtype, |v: R, w: R| if v > R::zero() { v } else { v * w })
    })
    .map(Value::Tensor)
}

fn prelu_kernel(cx: &mut Cx<'_, '_, '_>) -> Made {
    sloped(cx, &cx.meta()?, cx.operand(0)?, cx.tensor(1)?)
}

/// The weight is one number, or one a channel (dimension 1).
fn prelu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (x, weight) = (cx.tensor(0)?, cx.tensor(1)?);
    if weight.rank() > 1 {
        return Err(cx.bad(1, "at most 1 dimension", weight.rank().to_string()));
    }
    let mut weight = weight.clone();
    if weight.numel() == 1 {
        weight.meta.sizes.clear();
        weight.meta.strides.clear();
    } else {
        let channels = if x.rank() > 1 { x.meta.size(1) } else { 1 };
        if weight.numel() != channels {
            return Err(cx.bad(1, format!("1 or {channels} elements, one a channel"), weight.numel().to_string()));
        }
        // Behind the channel every dimension is broadcast.
        for _ in 2..x.rank() {
            weight.meta.sizes.push(1);
            weight.meta.strides.push(0);
        }
    }
    sloped(cx, &cx.meta()?, Operand::Tensor(x), &weight)
}

fn softplus(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let (beta, limit) = (cx.f64(1)?, cx.f64(2)?);
    with_real!(cx, meta.dtype, R => {
        let (beta, limit) = (R::of(beta), R::of(limit));
        map1(cx, &meta, x, meta.dtype, |v: R| {
            if v * beta > limit { v } else { Real::ln_1p(Real::exp(v * beta)) / beta }
        })
    })
    .map(Value::Tensor)
}

fn hardshrink(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let (dtype, limit) = (meta.dtype, cx.scalar(1)?);
    with_real!(cx, dtype, R => {
        let limit = number::<R>(limit, Some(dtype));
        map1(cx, &meta, x, dtype, |v: R| if v >= -limit && v <= limit { R::zero() } else { v })
    })
    .map(Value::Tensor)
}

fn softshrink(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let (dtype, limit) = (meta.dtype, cx.scalar(1)?);
    if limit.to_f64() < 0.0 {
        return Err(cx.bad(1, "a number that is not negative", limit.to_f64().to_string()));
    }
    with_real!(cx, dtype, R => {
        let limit = number::<R>(limit, None);
        map1(cx, &meta, x, dtype, |v: R| {
            if v > limit {
                v - limit
            } else if v < -limit {
                v + limit
            } else {
                // Not plain zero: NaN stays.
                v * R::zero()
            }
        })
    })
    .map(Value::Tensor)
}

/// One half of a dimension times the sigmoid of the other.
fn glu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.tensor(0)?);
    let d = cx.axis(1, x.rank())?;
    let half = x.meta.size(d) / 2;
    let (a, b) = (x.narrow(d, 0, half)?, x.narrow(d, half, half)?);
    let operands = [Operand::Tensor(&a), Operand::Tensor(&b)];
    with_real!(cx, meta.dtype, R => {
        map2(cx, &meta, operands, meta.dtype, |a: R, b: R| a * sigmoid(b))
    })
    .map(Value::Tensor)
}

#[cfg(test)]
mod tests {
    use crate::exec::tensor::fill;
    use crate::exec::{Kernels, Meta, Session, Tensor, Value};
    use crate::graph::Dtype;
    use crate::ops::Registry;

    fn call(target: &str, values: &[f32], more: &[Value]) -> Option<Vec<f32>> {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let mut session = Session::new(&registry, &kernels, 0);
        let meta = Meta::contiguous(Dtype::F32, &[values.len()]);
        let t = fill::from_lanes(&meta, values.to_vec(), session.meter()).unwrap();
        let args: Vec<Value> = std::iter::once(Value::Tensor(t)).chain(more.iter().cloned()).collect();
        let made = session.call(target, &args, &[]).ok()?;
        Some(made.as_tensor().map(Tensor::lanes::<f32>).unwrap().unwrap().into_vec())
    }

    #[test]
    fn nan_stays_nan_under_every_activation() {
        for name in
            "relu relu6 silu gelu mish hardtanh hardsigmoid hardswish elu selu celu leaky_relu softplus log_sigmoid \
                     hardshrink softshrink"
                .split_whitespace()
        {
            let out = call(&format!("aten.{name}.default"), &[f32::NAN, 1.0], &[]).unwrap();
            assert!(out[0].is_nan() && !out[1].is_nan(), "{name} gives {out:?}");
        }
    }

    #[test]
    fn relu_keeps_the_sign_of_zero() {
        let out = call("aten.relu.default", &[-0.0, 0.0, -1.0], &[]).unwrap();
        assert_eq!(out.into_iter().map(f32::to_bits).collect::<Vec<_>>(), [(-0.0_f32).to_bits(), 0, 0]);
    }

    #[test]
    fn crossed_bounds_give_the_upper_one() {
        let out = call("aten.hardtanh.default", &[0.0, 5.0], &[Value::Int(2), Value::Int(1)]).unwrap();
        assert_eq!(out, [1.0, 1.0]);
    }

    #[test]
    fn softshrink_takes_zero_as_limit_and_nothing_below() {
        assert_eq!(call("aten.softshrink.default", &[1.0], &[Value::Float(0.0)]), Some(vec![1.0]));
        assert_eq!(call("aten.softshrink.default", &[1.0], &[Value::Float(-0.5)]), None);
    }

    #[test]
    fn celu_needs_a_slope() {
        assert!(call("aten.celu.default", &[-1.0], &[Value::Float(0.5)]).is_some());
        assert!(call("aten.celu.default", &[-1.0], &[Value::Float(0.0)]).is_none());
    }
}
