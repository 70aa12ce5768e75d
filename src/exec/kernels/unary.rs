//! Exact functions of one operand: signs, rounding, tests. No result here is rounded but to its dtype.

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use num_complex::Complex;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::loops::blocks::in_blocks;
use crate::exec::loops::pointwise::map1;
use crate::exec::numbers::real::{Real, not_real, with_real};
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind, with_lane};
use crate::exec::tensor::value::{Scalar, Value};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (neg, &["aten.neg.default", "prims.neg.default"]),
    (abs, &["aten.abs.default", "prims.abs.default"]),
    (sign, &["aten.sign.default", "aten.sgn.default", "prims.sign.default"]),
    (square, &["aten.square.default"]),
    (|cx| rounded(cx, f32::ceil, f64::ceil), &["aten.ceil.default", "prims.ceil.default"]),
    (|cx| rounded(cx, f32::floor, f64::floor), &["aten.floor.default", "prims.floor.default"]),
    (|cx| rounded(cx, f32::round_ties_even, f64::round_ties_even), &["aten.round.default", "prims.round.default"]),
    (|cx| rounded(cx, f32::trunc, f64::trunc), &["aten.trunc.default", "prims.trunc.default"]),
    (round_decimals, &["aten.round.decimals"]),
    (frac, &["aten.frac.default"]),
    (nan_to_num, &["aten.nan_to_num.default"]),
    (|cx| test(cx, f64::is_nan, Parts::Any), &["aten.isnan.default"]),
    (|cx| test(cx, f64::is_infinite, Parts::Any), &["aten.isinf.default"]),
    (|cx| test(cx, f64::is_finite, Parts::All), &["aten.isfinite.default", "prims.isfinite.default"]),
    (|cx| test(cx, |v| v == f64::INFINITY, Parts::RealOnly), &["aten.isposinf.default"]),
    (|cx| test(cx, |v| v == f64::NEG_INFINITY, Parts::RealOnly), &["aten.isneginf.default"]),
    (signbit, &["aten.signbit.default", "prims.signbit.default"]),
];

/// The fault of an operator that has no such dtype.
fn refused(cx: &Cx<'_, '_, '_>, expected: &str) -> CallFault {
    let found = cx.tensor(0).map_or("a number", |t| t.dtype().long());
    cx.bad(0, expected, found)
}

fn is_bool(cx: &Cx<'_, '_, '_>) -> bool {
    cx.tensor(0).is_ok_and(|t| t.dtype() == Dtype::Bool)
}

fn neg(cx: &mut Cx<'_, '_, '_>) -> Made {
    if is_bool(cx) {
        return Err(refused(cx, "numbers; use logical_not to invert booleans"));
    }
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    with_lane!(meta.dtype, L => map1(cx, &meta, x, meta.dtype, |v: L| v.negate())).map(Value::Tensor)
}

/// The magnitude; of complex numbers a real one.
fn abs(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let from = cx.tensor(0).map_or(meta.dtype, Tensor::dtype);
    let out = match LaneKind::of(from) {
        LaneKind::F32 => map1(cx, &meta, x, from, f32::abs),
        LaneKind::F64 => map1(cx, &meta, x, from, f64::abs),
        LaneKind::I64 if from == Dtype::U64 => map1(cx, &meta, x, from, |v: i64| v),
        LaneKind::I64 => map1(cx, &meta, x, from, i64::wrapping_abs),
        LaneKind::C64 => map1(cx, &meta, x, from, |z: C64| z.re.hypot(z.im)),
        LaneKind::C128 => map1(cx, &meta, x, from, |z: C128| z.re.hypot(z.im)),
    };
    out.map(Value::Tensor)
}

/// -1, 0 or 1 (0 for NaN); of complex numbers the direction.
fn sign(cx: &mut Cx<'_, '_, '_>) -> Made {
    fn of<R: Real>(v: R) -> R {
        let positive = if v > R::zero() { R::one() } else { R::zero() };
        if v < R::zero() { -R::one() } else { positive }
    }
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => map1(cx, &meta, x, dtype, of::<f32>),
        LaneKind::F64 => map1(cx, &meta, x, dtype, of::<f64>),
        LaneKind::I64 if dtype == Dtype::U64 => map1(cx, &meta, x, dtype, |v: i64| i64::from(v != 0)),
        LaneKind::I64 => map1(cx, &meta, x, dtype, i64::signum),
        LaneKind::C64 => in_blocks(cx, &meta, direction::<f32>, direction_by_quotient::<f32>),
        LaneKind::C128 => in_blocks(cx, &meta, direction::<f64>, direction_by_quotient::<f64>),
    };
    out.map(Value::Tensor)
}

/// z / |z|, and 0 at 0.
fn direction<R: Real>(z: Complex<R>) -> Complex<R> {
    let magnitude = z.re.hypot(z.im);
    if magnitude == R::zero() {
        return Complex::default();
    }
    Complex::new(z.re / magnitude, z.im / magnitude)
}

/// The same by a division of complex numbers, whose rounding differs.
fn direction_by_quotient<R: Real>(z: Complex<R>) -> Complex<R> {
    let magnitude = z.re.hypot(z.im);
    if magnitude == R::zero() {
        return Complex::default();
    }
    crate::exec::numbers::complex::divide(z, Complex::new(magnitude, R::zero()))
}

fn fused_square<R: Real>(z: Complex<R>) -> Complex<R> {
    let cross = z.re * z.im;
    Complex::new(z.re.mul_add(z.re, -(z.im * z.im)), cross + cross)
}

fn square(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => map1(cx, &meta, x, dtype, |v: f32| v * v),
        LaneKind::F64 => map1(cx, &meta, x, dtype, |v: f64| v * v),
        LaneKind::I64 => map1(cx, &meta, x, dtype, |v: i64| v.wrapping_mul(v)),
        LaneKind::C64 => in_blocks(cx, &meta, |z: C64| z * z, fused_square::<f32>),
        LaneKind::C128 => in_blocks(cx, &meta, |z: C128| z * z, fused_square::<f64>),
    };
    out.map(Value::Tensor)
}

/// A function under which integers stay as they are.
fn rounded(cx: &mut Cx<'_, '_, '_>, single: impl Fn(f32) -> f32 + Sync, double: impl Fn(f64) -> f64 + Sync) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => map1(cx, &meta, x, dtype, single),
        LaneKind::F64 => map1(cx, &meta, x, dtype, double),
        LaneKind::I64 if dtype == Dtype::Bool => return Err(refused(cx, "integers or floats")),
        LaneKind::I64 => map1(cx, &meta, x, dtype, |v: i64| v),
        LaneKind::C64 | LaneKind::C128 => return Err(refused(cx, "real numbers")),
    };
    out.map(Value::Tensor)
}

/// Scales by a power of 10, rounds, scales back.
fn round_decimals(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let (dtype, decimals) = (meta.dtype, cx.int(1)?);
    if LaneKind::of(dtype) == LaneKind::I64 {
        return rounded(cx, f32::round_ties_even, f64::round_ties_even);
    }
    let power = i32::try_from(decimals.unsigned_abs()).map_or(f64::INFINITY, |n| 10_f64.powi(n));
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => {
            let ten = f32::from_f64(power);
            map1(cx, &meta, x, dtype, move |v: f32| match decimals {
                0 => v.round_ties_even(),
                ..0 => (v / ten).round_ties_even() * ten,
                _ => (v * ten).round_ties_even() / ten,
            })
        }
        LaneKind::F64 => map1(cx, &meta, x, dtype, move |v: f64| match decimals {
            0 => v.round_ties_even(),
            ..0 => (v / power).round_ties_even() * power,
            _ => (v * power).round_ties_even() / power,
        }),
        _ => Err(not_real(cx, dtype)),
    };
    out.map(Value::Tensor)
}

fn frac(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    with_real!(cx, meta.dtype, R => map1(cx, &meta, x, meta.dtype, |v: R| v - Real::trunc(v))).map(Value::Tensor)
}

/// What NaN and the infinities become.
#[derive(Clone, Copy)]
struct Replacements<R> {
    nan: R,
    above: R,
    below: R,
}

impl<R: Real> Replacements<R> {
    fn of(cx: &Cx<'_, '_, '_>, dtype: Dtype) -> Result<Self, CallFault> {
        let largest = match dtype {
            Dtype::F16 | Dtype::C32 => f64::from(half::f16::MAX),
            Dtype::Bf16 => f64::from(half::bf16::MAX),
            Dtype::F32 | Dtype::C64 => f64::from(f32::MAX),
            Dtype::F64 | Dtype::C128 => f64::MAX,
            other => return Err(not_real(cx, other)),
        };
        let given = |i: usize, otherwise: f64| cx.opt_scalar(i).map(|n| R::of(n.map_or(otherwise, Scalar::to_f64)));
        Ok(Replacements { nan: given(1, 0.0)?, above: given(2, largest)?, below: given(3, -largest)? })
    }

    fn apply(self, v: R) -> R {
        if v.wide().is_nan() {
            self.nan
        } else if v == R::infinity() {
            self.above
        } else if v == -R::infinity() {
            self.below
        } else {
            v
        }
    }
}

fn nan_to_num(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => {
            let with = Replacements::<f32>::of(cx, dtype)?;
            map1(cx, &meta, x, dtype, |v| with.apply(v))
        }
        LaneKind::F64 => {
            let with = Replacements::<f64>::of(cx, dtype)?;
            map1(cx, &meta, x, dtype, |v| with.apply(v))
        }
        LaneKind::I64 => map1(cx, &meta, x, dtype, |v: i64| v),
        LaneKind::C64 => {
            let with = Replacements::<f32>::of(cx, dtype)?;
            map1(cx, &meta, x, dtype, |z: C64| C64::new(with.apply(z.re), with.apply(z.im)))
        }
        LaneKind::C128 => {
            let with = Replacements::<f64>::of(cx, dtype)?;
            map1(cx, &meta, x, dtype, |z: C128| C128::new(with.apply(z.re), with.apply(z.im)))
        }
    };
    out.map(Value::Tensor)
}

/// How a test of real numbers is put to the two parts of a complex one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Any,
    All,
    RealOnly,
}

fn test(cx: &mut Cx<'_, '_, '_>, holds: fn(f64) -> bool, parts: Parts) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let from = cx.tensor(0).map_or(Dtype::F64, Tensor::dtype);
    let out = match LaneKind::of(from) {
        LaneKind::F32 => map1(cx, &meta, x, from, |v: f32| i64::from(holds(f64::from(v)))),
        LaneKind::F64 => map1(cx, &meta, x, from, |v: f64| i64::from(holds(v))),
        // Every integer is finite, none is special.
        LaneKind::I64 => map1(cx, &meta, x, from, |_: i64| i64::from(parts == Parts::All)),
        LaneKind::C64 | LaneKind::C128 if parts == Parts::RealOnly => return Err(refused(cx, "real numbers")),
        LaneKind::C64 | LaneKind::C128 => map1(cx, &meta, x, Dtype::C128, |z: C128| {
            let (re, im) = (holds(z.re), holds(z.im));
            i64::from(if parts == Parts::Any { re || im } else { re && im })
        }),
    };
    out.map(Value::Tensor)
}

fn signbit(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let from = cx.tensor(0).map_or(Dtype::F64, Tensor::dtype);
    let out = match LaneKind::of(from) {
        LaneKind::F32 => map1(cx, &meta, x, from, |v: f32| i64::from(v.is_sign_negative())),
        LaneKind::F64 => map1(cx, &meta, x, from, |v: f64| i64::from(v.is_sign_negative())),
        LaneKind::I64 if from == Dtype::U64 => map1(cx, &meta, x, from, |_: i64| 0_i64),
        LaneKind::I64 => map1(cx, &meta, x, from, |v: i64| i64::from(v < 0)),
        LaneKind::C64 | LaneKind::C128 => return Err(refused(cx, "real numbers")),
    };
    out.map(Value::Tensor)
}
