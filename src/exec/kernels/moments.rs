//! Spreads, vector norms and log-sum-exp.
//!
//! All are computed in `f64` and rounded once, but where PyTorch makes an operator of several others: there each step rounds to the dtype.

use num_complex::Complex;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::reduce::{Made, Sum, axes, total_of};
use crate::exec::loops::rows;
use crate::exec::tensor::lane::{C128, Lane, LaneKind, round_f32};
use crate::exec::tensor::value::{Scalar, Value};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        |cx| spread(cx, f64::sqrt),
        &["aten.std.default", "aten.std.dim", "aten.std.correction", "aten.std_mean.correction"],
    ),
    (
        |cx| spread(cx, |v| v),
        &[
            "aten.var.default",
            "aten.var.dim",
            "aten.var.correction",
            "aten.var_mean.correction",
            "aten.var_mean.dim",
            "prims.var.default",
        ],
    ),
    (norm, &["aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.linalg_vector_norm.default"]),
    (logsumexp, &["aten.logsumexp.default"]),
];

/// Rounds an `f64` to what a real dtype holds.
#[allow(clippy::cast_possible_truncation)]
#[inline]
pub(in crate::exec) fn round(dtype: Dtype, v: f64) -> f64 {
    match dtype {
        Dtype::F64 => v,
        Dtype::F32 => f64::from(v as f32),
        _ => f64::from(round_f32(dtype, v as f32)),
    }
}

#[allow(clippy::cast_precision_loss)]
pub(in crate::exec) fn count_of(n: usize) -> f64 {
    n as f64
}

/// Returns mean and sum of squared distances from it.
pub(in crate::exec) fn moments(row: &[f64]) -> (f64, f64) {
    let n = count_of(row.len());
    let mean = total_of::<f64, f64>(row, |v| v) / n;
    let squares: f64 = total_of::<f64, f64>(row, |v| (v - mean) * (v - mean));
    // What rounding of the mean adds is taken off again.
    let off: f64 = total_of::<f64, f64>(row, |v| v - mean);
    (mean, squares - if off.is_finite() { off * off / n } else { 0.0 })
}

/// The running mean that `PyTorch` computes element by element: an infinity that is not the last element makes it NaN.
fn mean_of_infinite(row: &[f64]) -> f64 {
    row.iter().enumerate().fold(0.0, |mean, (k, v)| mean + (v - mean) / count_of(k.saturating_add(1)))
}

fn correction(cx: &Cx<'_, '_, '_>) -> Result<f64, CallFault> {
    let schema = &cx.operator.schema;
    if let Some(i) = schema.param_index("correction") {
        return Ok(cx.opt_scalar(i)?.map_or(1.0, Scalar::to_f64));
    }
    match schema.param_index("unbiased") {
        Some(i) => Ok(f64::from(u8::from(cx.bool(i)?))),
        None => Ok(1.0),
    }
}

fn spread(cx: &mut Cx<'_, '_, '_>, finish: fn(f64) -> f64) -> Made {
    let t = cx.tensor(0)?;
    let (over, correction) = (axes(cx, t.rank())?, correction(cx)?);
    let divided = |(mean, squares): (f64, f64), n: usize| (mean, squares / (count_of(n) - correction).max(0.0));
    let found: Vec<(C128, f64)> = match LaneKind::of(t.dtype()) {
        LaneKind::C64 | LaneKind::C128 => rows::fold::<C128, _>(t, &over, Dtype::C128, |row| {
            let (re, im): (Vec<f64>, Vec<f64>) = row.iter().map(|v| (v.re, v.im)).unzip();
            let (re, im) = (divided(moments(&re), row.len()), divided(moments(&im), row.len()));
            (C128::new(re.0, im.0), finish(re.1 + im.1))
        })?,
        _ => rows::fold::<f64, _>(t, &over, Dtype::F64, |row| {
            let (mut mean, var) = divided(moments(row), row.len());
            if mean.is_infinite() {
                mean = mean_of_infinite(row);
            }
            (C128::new(mean, 0.0), finish(var))
        })?,
    };
    let (means, spreads): (Vec<C128>, Vec<f64>) = found.into_iter().unzip();
    if cx.result_count() < 2 {
        return cx.emit(spreads);
    }
    let spreads = cx.emit_at(0, spreads)?;
    Ok(vec![spreads, cx.emit_at(1, means)?].into())
}

/// Adds up `f` of all absolute values, rounded as a sum in the lane would be.
fn powers<L: Sum>(row: &[L], f: impl Fn(f64) -> f64 + Sync + Copy, lane: LaneKind) -> f64 {
    let sum = total_of::<L, f64>(row, |v| f(magnitude(v)));
    if matches!(lane, LaneKind::F64 | LaneKind::C128) { sum } else { f64::from(sum.to_f32()) }
}

#[inline]
fn magnitude<L: Lane>(v: L) -> f64 {
    let v: Complex<f64> = v.to_complex();
    if v.im == 0.0 { v.re.abs() } else { v.re.hypot(v.im) }
}

fn vector_norm<L: Sum>(row: &[L], ord: f64, lane: LaneKind) -> f64 {
    let extreme = |takes: fn(f64, f64) -> bool, from: f64| {
        row.iter().map(|v| magnitude(*v)).fold(from, |a, v| if v.is_nan() || takes(v, a) { v } else { a })
    };
    if ord == f64::INFINITY {
        return extreme(|v, a| v > a, 0.0);
    }
    if ord == f64::NEG_INFINITY {
        return extreme(|v, a| v < a, f64::INFINITY);
    }
    if ord == 0.0 {
        return powers(row, |v| if v == 0.0 { 0.0 } else { 1.0 }, lane);
    }
    if ord == 1.0 {
        return powers(row, |v| v, lane);
    }
    if ord == 2.0 {
        return powers(row, |v| v * v, lane).sqrt();
    }
    powers(row, |v| v.powf(ord), lane).powf(1.0 / ord)
}

/// Whether casting loses values.
fn narrows(from: Dtype, to: Dtype) -> bool {
    let wide = |d: Dtype| matches!(LaneKind::of(d), LaneKind::F64 | LaneKind::C128);
    let halves = |d: Dtype| matches!(d, Dtype::F16 | Dtype::Bf16);
    from != to && ((wide(from) && !wide(to)) || halves(to))
}

fn norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let over = axes(cx, t.rank())?;
    let ord = cx.opt_scalar(1)?.map_or(2.0, Scalar::to_f64);
    let dtype = cx.operator.schema.param_index("dtype").map_or(Ok(None), |i| cx.dtype(i))?.unwrap_or(t.dtype());
    if !dtype.is_float() && !dtype.is_complex() {
        return Err(cx.bad(0, "a floating point or complex dtype", dtype.long()));
    }
    if dtype.is_complex() != t.dtype().is_complex() || narrows(t.dtype(), dtype) {
        return Err(cx.bad(0, format!("a dtype that {} holds, as complex as it", dtype.long()), t.dtype().long()));
    }
    if rows::length(t, &over) == 0 && (ord < 0.0 || ord == f64::INFINITY) {
        return Err(cx.bad(0, format!("elements, for a norm of order {ord}"), format!("the sizes {:?}", t.sizes())));
    }
    let lane = LaneKind::of(dtype);
    let found = if dtype.is_complex() {
        rows::fold::<C128, f64>(t, &over, Dtype::C128, |row| vector_norm(row, ord, lane))?
    } else if lane == LaneKind::F64 {
        rows::fold::<f64, f64>(t, &over, dtype, |row| vector_norm(row, ord, lane))?
    } else {
        rows::fold::<f32, f64>(t, &over, dtype, |row| vector_norm(row, ord, lane))?
    };
    cx.emit(found)
}

/// The largest value is taken off before `exp`, unless it is infinite; each step rounds to the dtype.
fn log_sum(row: &[f64], dtype: Dtype) -> f64 {
    let largest = row.iter().fold(f64::NEG_INFINITY, |a, v| if v.is_nan() || *v > a { *v } else { a });
    let off = if largest.is_infinite() || row.is_empty() { 0.0 } else { largest };
    let sum = round(dtype, total_of::<f64, f64>(row, |v| round(dtype, round(dtype, v - off).exp())));
    round(dtype, sum.ln()) + off
}

fn complex_log_sum(row: &[C128]) -> C128 {
    let largest = row.iter().map(|v| v.re).fold(f64::NEG_INFINITY, |a, v| if v.is_nan() || v > a { v } else { a });
    let off = if largest.is_infinite() || row.is_empty() { 0.0 } else { largest };
    total_of::<C128, C128>(row, |v| (v - off).exp()).ln() + off
}

fn logsumexp(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let over = axes(cx, t.rank())?;
    if cx.ints(1)?.is_empty() && !cx.bool(2)? && t.rank() > 0 && t.numel() > 0 {
        return Err(cx.bad(1, "dimensions, or `keepdim`", "none"));
    }
    if dtype.is_complex() {
        return cx.emit(rows::fold::<C128, C128>(t, &over, Dtype::C128, complex_log_sum)?);
    }
    let found: Result<Vec<f64>, CallFault> = rows::fold::<f64, f64>(t, &over, Dtype::F64, |row| log_sum(row, dtype));
    let made: Value = cx.emit(found?)?;
    Ok(made)
}
