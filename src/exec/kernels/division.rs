//! Quotients and what remains: division with its rounding modes, `remainder`, `fmod`, common divisors.
//!
//! Promises: integers divided by zero are an error; floats follow PyTorch's steps, each rounded in narrow floats as there; complex
//! numbers are divided as `c10::complex` does it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, fused, in_vectors, is_narrow, map2_counted, pointwise2, single, two};
use crate::exec::loops::pointwise::{map1, map2};
use crate::exec::tensor::Meta;
use crate::exec::tensor::lane::{C64, C128, LaneKind, round_f32};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::graph::Dtype;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (div, &["aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", "aten.divide.Tensor"]),
    (prims_div, &["prims.div.default"]),
    (div_mode, &["aten.div.Tensor_mode", "aten.div.Scalar_mode"]),
    (floor_divide, &["aten.floor_divide.default", "aten.floor_divide.Scalar"]),
    (
        remainder,
        &["aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor", "prims.remainder.default"],
    ),
    (fmod, &["aten.fmod.Tensor", "aten.fmod.Scalar", "prims.fmod.default"]),
    (gcd, &["aten.gcd.default"]),
    (lcm, &["aten.lcm.default"]),
];

macro_rules! complex_quotient {
    ($name:ident, $complex:ty, $fused:expr) => {
        /// The quotient, by the larger part of the divisor (Smith's way, as numpy and `c10::complex`), products fused with sums.
        pub(in crate::exec) fn $name(x: $complex, y: $complex) -> $complex {
            let fused = $fused;
            let (a, b, c, d) = (x.re, x.im, y.re, y.im);
            if c.abs() >= d.abs() {
                if c == 0.0 && d == 0.0 {
                    return <$complex>::new(a / c.abs(), b / d.abs());
                }
                let ratio = d / c;
                let scale = 1.0 / fused(d, ratio, c);
                return <$complex>::new(fused(b, ratio, a) * scale, fused(-a, ratio, b) * scale);
            }
            let ratio = c / d;
            let scale = 1.0 / fused(c, ratio, d);
            <$complex>::new(fused(a, ratio, b) * scale, fused(b, ratio, -a) * scale)
        }
    };
}

complex_quotient!(quotient64, C64, |a: f32, b: f32, c: f32| fused(c, a, b));
complex_quotient!(quotient128, C128, f64::mul_add);

/// Notes a division of integers by zero, which is an error once all elements are done.
#[derive(Default)]
struct ByZero(AtomicBool);

impl ByZero {
    fn or(&self, divisor: i64, f: impl FnOnce() -> i64) -> i64 {
        if divisor == 0 {
            self.0.store(true, Ordering::Relaxed);
            return 0;
        }
        f()
    }

    fn check(&self, cx: &Cx<'_, '_, '_>, made: Made) -> Made {
        if self.0.load(Ordering::Relaxed) {
            return Err(cx.bad(1, "integers other than 0 to divide by", "0"));
        }
        made
    }
}

fn div(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    quotient(cx, &meta, operands)
}

fn quotient(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2]) -> Made {
    let [a, b] = operands;
    if is_narrow(meta.dtype)
        && let Some(divisor) = single(&b)?
    {
        return map1(cx, meta, a, meta.dtype, |v: f32| v / divisor).map(Value::Tensor);
    }
    pointwise2!(cx, meta, operands, meta.dtype;
        f32 |a, b| a / b;
        f64 |a, b| a / b;
        c64 |a, b| quotient64(a, b);
        c128 |a, b| quotient128(a, b);)
}

/// Integers stay integers, towards zero.
fn prims_div(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    if meta.dtype.is_float() || meta.dtype.is_complex() {
        return quotient(cx, &meta, operands);
    }
    towards_zero(cx, &meta, operands)
}

fn div_mode(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    match cx.text(2) {
        "" => quotient(cx, &meta, operands),
        "trunc" => towards_zero(cx, &meta, operands),
        "floor" => downwards(cx, &meta, operands),
        other => Err(cx.bad(2, "None, `trunc` or `floor`", format!("`{other}`"))),
    }
}

fn floor_divide(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    downwards(cx, &meta, operands)
}

fn towards_zero(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2]) -> Made {
    let (dtype, by_zero) = (meta.dtype, ByZero::default());
    if is_narrow(dtype) {
        let [a, b] = operands;
        return match single(&b)? {
            Some(divisor) => map1(cx, meta, a, dtype, |v: f32| (v / divisor).trunc()),
            None => map2(cx, meta, operands, dtype, |a: f32, b: f32| round_f32(dtype, a / b).trunc()),
        }
        .map(Value::Tensor);
    }
    let made = pointwise2!(cx, meta, operands, dtype;
        f32 |a, b| (a / b).trunc();
        f64 |a, b| (a / b).trunc();
        i64 |a, b| by_zero.or(b, || a.checked_div(b).unwrap_or(a)););
    by_zero.check(cx, made)
}

/// Python's floor division of floats; `r` rounds each step.
macro_rules! floored {
    ($zero:expr, $a:expr, $b:expr, $r:expr) => {{
        let (a, b, r) = ($a, $b, $r);
        if b == 0.0 {
            a / b
        } else {
            let rest = r(a % b);
            let mut quotient = r(r(a - rest) / b);
            if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
                quotient = r(quotient - 1.0);
            }
            if quotient == 0.0 {
                $zero.copysign(r(a / b))
            } else {
                let floor = quotient.floor();
                if r(quotient - floor) > 0.5 { r(floor + 1.0) } else { floor }
            }
        }
    }};
}

fn floor_f32(a: f32, b: f32, r: impl Fn(f32) -> f32) -> f32 {
    floored!(0.0_f32, a, b, r)
}

fn floor_f64(a: f64, b: f64) -> f64 {
    floored!(0.0_f64, a, b, |v: f64| v)
}

fn downwards(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2]) -> Made {
    let (dtype, by_zero) = (meta.dtype, ByZero::default());
    if is_narrow(dtype) {
        let [a, b] = operands;
        return match single(&b)? {
            Some(divisor) => map1(cx, meta, a, dtype, |v: f32| floor_f32(v, divisor, |v| v)),
            None => map2(cx, meta, operands, dtype, |a: f32, b: f32| floor_f32(a, b, |v| round_f32(dtype, v))),
        }
        .map(Value::Tensor);
    }
    let made = pointwise2!(cx, meta, operands, dtype;
        f32 |a, b| floor_f32(a, b, |v| v);
        f64 |a, b| floor_f64(a, b);
        i64 |a, b| by_zero.or(b, || floor_i64(a, b)););
    by_zero.check(cx, made)
}

fn floor_i64(a: i64, b: i64) -> i64 {
    let quotient = a.checked_div(b).unwrap_or(a);
    let below = a.checked_rem(b).unwrap_or(0) != 0 && (a < 0) != (b < 0);
    if below { quotient.wrapping_sub(1) } else { quotient }
}

/// What remains of a division, with the sign of the dividend; in vectors NaN where the quotient is too large for the dtype.
macro_rules! rest {
    ($vector:expr, $a:expr, $b:expr) => {
        if $vector && ($a / $b).is_infinite() { $a % 0.0 } else { $a % $b }
    };
}

/// Takes the divisor's sign.
macro_rules! modulo {
    ($rest:expr, $b:expr) => {{
        let (rest, b) = ($rest, $b);
        if rest != 0.0 && (b < 0.0) != (rest < 0.0) { rest + b } else { rest }
    }};
}

fn remainder(cx: &mut Cx<'_, '_, '_>) -> Made {
    let ((meta, operands), by_zero) = (two(cx)?, ByZero::default());
    let modulo_i64 = |a: i64, b: i64| {
        let rest = a.checked_rem(b).unwrap_or(0);
        if rest != 0 && (rest < 0) != (b < 0) { rest.wrapping_add(b) } else { rest }
    };
    let vectors = in_vectors(&meta, &operands);
    match LaneKind::of(meta.dtype) {
        LaneKind::F32 => map2_counted(cx, &meta, operands, |k, a: f32, b: f32| modulo!(rest!(k < vectors, a, b), b)),
        LaneKind::F64 => map2_counted(cx, &meta, operands, |k, a: f64, b: f64| modulo!(rest!(k < vectors, a, b), b)),
        _ => {
            let made = pointwise2!(cx, &meta, operands, meta.dtype;
                i64 |a, b| by_zero.or(b, || modulo_i64(a, b)););
            by_zero.check(cx, made)
        }
    }
}

fn fmod(cx: &mut Cx<'_, '_, '_>) -> Made {
    let ((meta, operands), by_zero) = (two(cx)?, ByZero::default());
    let vectors = in_vectors(&meta, &operands);
    match LaneKind::of(meta.dtype) {
        LaneKind::F32 => map2_counted(cx, &meta, operands, |k, a: f32, b: f32| rest!(k < vectors, a, b)),
        LaneKind::F64 => map2_counted(cx, &meta, operands, |k, a: f64, b: f64| rest!(k < vectors, a, b)),
        _ => {
            let made = pointwise2!(cx, &meta, operands, meta.dtype;
                i64 |a, b| by_zero.or(b, || a.checked_rem(b).unwrap_or(0)););
            by_zero.check(cx, made)
        }
    }
}

/// The absolute value as the dtype has it: of its least number that number again.
fn magnitude(dtype: Dtype, v: i64) -> i64 {
    number(Scalar::Int(v.wrapping_abs()), Some(dtype))
}

fn common_divisor(dtype: Dtype, a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (magnitude(dtype, a), magnitude(dtype, b));
    while a != 0 {
        (a, b) = (b.checked_rem(a).unwrap_or(0), a);
    }
    b
}

fn gcd(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    pointwise2!(cx, &meta, operands, dtype; i64 |a, b| common_divisor(dtype, a, b);)
}

fn lcm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    // Narrow integers are multiplied as `int`, and only the result is cut.
    let wide = if dtype.bytes() < 8 { Dtype::I32 } else { Dtype::I64 };
    let multiple = |a: i64, b: i64| match common_divisor(dtype, a, b) {
        0 => 0,
        divisor => {
            magnitude(wide, number(Scalar::Int(a.checked_div(divisor).unwrap_or(a).wrapping_mul(b)), Some(wide)))
        }
    };
    pointwise2!(cx, &meta, operands, dtype; i64 |a, b| multiple(a, b);)
}
