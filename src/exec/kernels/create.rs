//! New tensors of numbers: constants, ranges, the identity.
//!
//! Promises: a number that the dtype cannot hold is an error; ranges are computed as PyTorch's CPU kernels compute them, in its precision.
//! What `empty` gives is zero here.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, fused, no_kernel};
use crate::exec::loops::promoted::check_wrapped;
use crate::exec::numbers::checked::check_fits;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::{C64, C128, LaneKind, round_f32, with_lane};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        zeros,
        &[
            "aten.zeros.default",
            "aten.zeros_like.default",
            "aten.new_zeros.default",
            "aten.empty.memory_format",
            "aten.empty_like.default",
            "aten.empty_strided.default",
            "aten.empty_permuted.default",
            "aten.new_empty.default",
            "aten.new_empty_strided.default",
        ],
    ),
    (ones, &["aten.ones.default", "aten.ones_like.default", "aten.new_ones.default"]),
    (full, &["aten.full.default", "aten.full_like.default", "aten.new_full.default"]),
    (scalar_tensor, &["aten.scalar_tensor.default"]),
    (eye, &["aten.eye.default", "aten.eye.m"]),
    (arange, &["aten.arange.default", "aten.arange.start", "aten.arange.start_step"]),
    (iota, &["prims.iota.default"]),
    (linspace, &["aten.linspace.default"]),
    (logspace, &["aten.logspace.default"]),
];

/// Returns a tensor of one number, which the dtype holds.
pub(in crate::exec) fn filled_with(cx: &Cx<'_, '_, '_>, meta: &Meta, n: Scalar) -> Result<Tensor, CallFault> {
    with_lane!(meta.dtype, L => {
        let value: L = number(n, Some(meta.dtype));
        cx.fill(meta, &Order::of(meta), &|_, part: &mut [L]| part.fill(value))
    })
}

fn zeros(cx: &mut Cx<'_, '_, '_>) -> Made {
    cx.zeros(0).map(Value::Tensor)
}

fn ones(cx: &mut Cx<'_, '_, '_>) -> Made {
    filled_with(cx, &cx.meta()?, Scalar::Int(1)).map(Value::Tensor)
}

fn of_argument(cx: &Cx<'_, '_, '_>, i: usize) -> Made {
    let (meta, n) = (cx.meta()?, cx.scalar(i)?);
    check_fits(cx, i, n, meta.dtype)?;
    filled_with(cx, &meta, n).map(Value::Tensor)
}

fn full(cx: &mut Cx<'_, '_, '_>) -> Made {
    let place = cx.operator.schema.param_index("fill_value").unwrap_or(1);
    of_argument(cx, place)
}

fn scalar_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, n) = (cx.meta()?, cx.scalar(0)?);
    check_wrapped(cx, 0, n, meta.dtype)?;
    filled_with(cx, &meta, n).map(Value::Tensor)
}

fn eye(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (rows, columns) = (meta.size(0), meta.size(1));
    let mut values = vec![0_i64; meta.numel()];
    let step = columns.saturating_add(1);
    values.iter_mut().step_by(step).take(rows.min(columns)).for_each(|v| *v = 1);
    cx.emit(values)
}

/// Element `k` as an integer; a tensor has fewer than 2^63.
fn ordinal(k: usize) -> i64 {
    i64::try_from(k).unwrap_or(i64::MAX)
}

#[allow(clippy::cast_precision_loss)]
fn float(k: usize) -> f64 {
    k as f64
}

/// The numbers of `arange`: start and step.
fn arange(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (start, step) = match &*cx.operator.schema.overload {
        "" => (Scalar::Int(0), Scalar::Int(1)),
        "start" => (cx.scalar(0)?, Scalar::Int(1)),
        _ => (cx.scalar(0)?, cx.scalar(2)?),
    };
    range(cx, start, step)
}

fn iota(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (start, step) = (cx.scalar(1)?, cx.scalar(2)?);
    range(cx, start, step)
}

/// PyTorch fills so many elements at once by steps from the first of them, and the rest one by one.
#[derive(Clone, Copy)]
struct Vectors {
    len: usize,
    upto: usize,
}

impl Vectors {
    fn of(total: usize, bytes: usize) -> Vectors {
        let len = 32_usize.checked_div(bytes).unwrap_or(1).max(1);
        let upto = total.saturating_sub(total.checked_rem(len.saturating_mul(2)).unwrap_or(0));
        Vectors { len, upto }
    }

    /// Returns the element whose value is computed, and how many steps element `k` is behind it.
    fn split(&self, k: usize) -> (usize, usize) {
        if k >= self.upto {
            return (k, 0);
        }
        let behind = k.checked_rem(self.len).unwrap_or(0);
        (k.saturating_sub(behind), behind)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn range(cx: &Cx<'_, '_, '_>, start: Scalar, step: Scalar) -> Made {
    let meta = cx.meta()?;
    let (dtype, total) = (meta.dtype, meta.numel());
    let vectors = Vectors::of(total, dtype.bytes());
    let (first, by) = (start.to_f64(), step.to_f64());
    match LaneKind::of(dtype) {
        LaneKind::I64 => {
            let (first, by): (i64, i64) = (number(start, None), number(step, None));
            cx.emit((0..total).map(|k| first.wrapping_add(by.wrapping_mul(ordinal(k)))).collect())
        }
        LaneKind::F64 => {
            let at = |k: usize| {
                let (base, behind) = vectors.split(k);
                by.mul_add(float(base), first) + by * float(behind)
            };
            cx.emit((0..total).map(at).collect())
        }
        LaneKind::F32 if dtype == Dtype::F32 => {
            let at = |k: usize| {
                let (base, behind) = vectors.split(k);
                let base = by.mul_add(float(base), first) as f32;
                (f64::from(base) + by * float(behind)) as f32
            };
            cx.emit((0..total).map(at).collect())
        }
        LaneKind::F32 => {
            let (first, by) = (first as f32, by as f32);
            let at = |k: usize| {
                let (base, behind) = vectors.split(k);
                let base = fused(first, by, base as f32);
                if behind == 0 { base } else { by * behind as f32 + round_f32(dtype, base) }
            };
            cx.emit((0..total).map(at).collect())
        }
        LaneKind::C64 | LaneKind::C128 => Err(no_kernel(cx, dtype)),
    }
}

/// Checks the ends of a row of numbers.
fn ends(cx: &Cx<'_, '_, '_>, dtype: Dtype) -> Result<(Scalar, Scalar), CallFault> {
    let (start, end) = (cx.scalar(0)?, cx.scalar(1)?);
    let complex = matches!(start, Scalar::Complex(..)) || matches!(end, Scalar::Complex(..));
    if complex && !dtype.is_complex() {
        return Err(cx.bad(0, format!("ends of the kind of {}", dtype.long()), "a complex number"));
    }
    check_fits(cx, 0, start, dtype)?;
    check_fits(cx, 1, end, dtype)?;
    Ok((start, end))
}

/// From both ends to the middle: element `k` of `$steps`, by steps from the first element of its vector; `$r` rounds each step of the
/// computation.
macro_rules! between {
    ($start:expr, $end:expr, $steps:expr, $vectors:expr, $from:expr, $r:expr) => {{
        let (start, end, steps, vectors, from, r) = ($start, $end, $steps, $vectors, $from, $r);
        let step = r(r(end - start) / from(steps.saturating_sub(1)));
        let half = steps >> 1;
        move |k: usize| {
            let (base, behind) = vectors.split(k);
            let first = if base < half {
                r(start + r(step * from(base)))
            } else {
                r(end - r(step * from(steps.saturating_sub(base).saturating_sub(1))))
            };
            if behind == 0 { first } else { r(first + step * from(behind)) }
        }
    }};
}

#[allow(clippy::cast_possible_truncation)]
fn linspace(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (dtype, steps) = (meta.dtype, meta.numel());
    let (start, end) = ends(cx, dtype)?;
    if steps == 1 {
        return filled_with(cx, &meta, start).map(Value::Tensor);
    }
    let (all, vectors, singly) = (0..steps, Vectors::of(steps, dtype.bytes()), Vectors { len: 1, upto: 0 });
    match LaneKind::of(dtype) {
        LaneKind::F32 => {
            let (start, end): (f32, f32) = (number(start, Some(dtype)), number(end, Some(dtype)));
            cx.emit(
                all.map(between!(start, end, steps, vectors, |k| float(k) as f32, |v| round_f32(dtype, v))).collect(),
            )
        }
        LaneKind::F64 => {
            let (start, end): (f64, f64) = (number(start, Some(dtype)), number(end, Some(dtype)));
            cx.emit(all.map(between!(start, end, steps, vectors, float, |v| v)).collect())
        }
        LaneKind::I64 => {
            let (start, end): (i64, i64) = (number(start, Some(dtype)), number(end, Some(dtype)));
            let (start, end): (f64, f64) = (number(Scalar::Int(start), None), number(Scalar::Int(end), None));
            cx.emit(all.map(between!(start, end, steps, singly, float, |v| v)).map(|v: f64| v as i64).collect())
        }
        LaneKind::C64 => {
            let (start, end): (C64, C64) = (number(start, Some(dtype)), number(end, Some(dtype)));
            cx.emit(
                all.map(between!(start, end, steps, singly, |k| C64::new(float(k) as f32, 0.0), |v: C64| v)).collect(),
            )
        }
        LaneKind::C128 => {
            let (start, end): (C128, C128) = (number(start, Some(dtype)), number(end, Some(dtype)));
            cx.emit(all.map(between!(start, end, steps, singly, |k| C128::new(float(k), 0.0), |v: C128| v)).collect())
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
fn logspace(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (dtype, steps, base) = (meta.dtype, meta.numel(), cx.f64(3)?);
    let (start, end) = ends(cx, dtype)?;
    let (all, singly) = (0..steps, Vectors { len: 1, upto: 0 });
    match LaneKind::of(dtype) {
        LaneKind::F32 => {
            let (start, end): (f32, f32) = (number(start, Some(dtype)), number(end, Some(dtype)));
            let span = f64::from(round_f32(dtype, end - start));
            let row = exponents(f64::from(start), f64::from(end), span, steps);
            cx.emit(all.map(|k| base.powf(row(k)) as f32).collect())
        }
        LaneKind::F64 => {
            let (start, end): (f64, f64) = (number(start, Some(dtype)), number(end, Some(dtype)));
            let row = exponents(start, end, end - start, steps);
            cx.emit(all.map(|k| base.powf(row(k))).collect())
        }
        LaneKind::I64 => {
            let (start, end): (i64, i64) = (number(start, Some(dtype)), number(end, Some(dtype)));
            let (start, end): (f64, f64) = (number(Scalar::Int(start), None), number(Scalar::Int(end), None));
            let row = exponents(start, end, end - start, steps);
            cx.emit(all.map(|k| base.powf(row(k))).collect::<Vec<f64>>())
        }
        LaneKind::C64 => {
            let (start, end): (C64, C64) = (number(start, Some(dtype)), number(end, Some(dtype)));
            let row = between!(start, end, steps, singly, |k| C64::new(float(k) as f32, 0.0), |v: C64| v);
            cx.emit(all.map(|k| complex_power(base, if steps == 1 { start } else { row(k) })).collect())
        }
        LaneKind::C128 => {
            let (start, end): (C128, C128) = (number(start, Some(dtype)), number(end, Some(dtype)));
            let row = between!(start, end, steps, singly, |k| C128::new(float(k), 0.0), |v: C128| v);
            let power = |v: C128| if base == 0.0 { v * 0.0 } else { C128::new(base, 0.0).powc(v) };
            cx.emit(all.map(|k| power(if steps == 1 { start } else { row(k) })).collect())
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
fn complex_power(base: f64, v: C64) -> C64 {
    let v = C128::new(f64::from(v.re), f64::from(v.im));
    let power = C128::new(base, 0.0).powc(v);
    C64::new(power.re as f32, power.im as f32)
}

/// The exponents of `logspace`, in doubles whatever the dtype; `span` is rounded to it.
fn exponents(start: f64, end: f64, span: f64, steps: usize) -> impl Fn(usize) -> f64 {
    let (step, half) = (span / float(steps.saturating_sub(1)), steps >> 1);
    move |k| match k {
        _ if steps == 1 => start,
        k if k < half => start + step * float(k),
        k => end - step * float(steps.saturating_sub(k).saturating_sub(1)),
    }
}
