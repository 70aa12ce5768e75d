//! Powers.
//!
//! Promises: the exponents that PyTorch treats apart (0.5, 2, 3, -0.5, -1, -2) are computed its way, which decides infinities and
//! signs of zero; integers wrap; a negative number as exponent of integers is an error, a negative element is not.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, in_lines, is_narrow, map2_counted, pointwise2, two};
use crate::exec::kernels::division::{quotient64, quotient128};
use crate::exec::loops::pointwise::map1;
use crate::exec::numbers::checked::check_fits;
use crate::exec::tensor::lane::{C64, C128, LaneKind, round_f32};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (pow, &["aten.pow.Tensor_Tensor", "aten.pow.Scalar", "prims.pow.default", "aten.float_power.Tensor_Tensor"]),
    (pow_number, &["aten.pow.Tensor_Scalar", "aten.float_power.Tensor_Scalar"]),
    (ldexp, &["aten.ldexp.Tensor"]),
];

/// `base` to the power of `exponent`, wrapped.
fn pow_i64(base: i64, exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent & 1 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut left) = (1_i64, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    result
}

/// The product of complex numbers as C has it: where both parts are NaN, infinities among the factors are recovered (annex G).
macro_rules! recovered {
    ($x:expr, $y:expr, $complex:ty, $part:ty) => {{
        let (x, y): ($complex, $complex) = ($x, $y);
        let product = x * y;
        let infinite = |z: $complex| z.re.is_infinite() || z.im.is_infinite();
        if product.re.is_nan() && product.im.is_nan() && (infinite(x) || infinite(y)) {
            // An infinite factor is taken to the corner of the unit square, NaN in the other one is zero.
            let corner = |z: $complex| {
                let unit =
                    |v: $part| if v.is_infinite() { (1.0 as $part).copysign(v) } else { (0.0 as $part).copysign(v) };
                let finite = |v: $part| if v.is_nan() { 0.0 } else { v };
                let part = |v: $part| if infinite(z) { unit(v) } else { finite(v) };
                <$complex>::new(part(z.re), part(z.im))
            };
            let (x, y) = (corner(x), corner(y));
            let inf = <$part>::INFINITY;
            <$complex>::new((x.re * y.re - x.im * y.im) * inf, (x.re * y.im + x.im * y.re) * inf)
        } else {
            product
        }
    }};
}

/// `exp(y * log(x))`, as the C library has it.
macro_rules! complex_power {
    ($name:ident, $complex:ty, $part:ty) => {
        #[allow(clippy::cast_possible_truncation)]
        fn $name(x: $complex, y: $complex) -> $complex {
            if y.re == 0.0 && y.im == 0.0 {
                return <$complex>::new(1.0, 0.0);
            }
            let length = f64::from(x.re).hypot(f64::from(x.im)).ln() as $part;
            let log = <$complex>::new(length, x.im.atan2(x.re));
            let power = recovered!(y, log, $complex, $part);
            if power.re == <$part>::NEG_INFINITY && !power.im.is_finite() {
                return <$complex>::new(0.0, (0.0 as $part).copysign(power.im));
            }
            if power.re == <$part>::INFINITY && !power.im.is_finite() {
                return <$complex>::new(<$part>::INFINITY, <$part>::NAN);
            }
            let scale = power.re.exp();
            if power.im == 0.0 {
                return <$complex>::new(scale, power.im);
            }
            <$complex>::new(scale * power.im.cos(), scale * power.im.sin())
        }
    };
}

complex_power!(pow64, C64, f32);
complex_power!(pow128, C128, f64);

fn pow(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    if let [Operand::Number(base), _] = operands
        && number::<C128>(base, None) == C128::new(1.0, 0.0)
    {
        return constant(cx, &meta);
    }
    powers(cx, &meta, operands)
}

fn powers(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2]) -> Made {
    pointwise2!(cx, meta, operands, meta.dtype;
        f32 |a, b| a.powf(b);
        f64 |a, b| a.powf(b);
        i64 |a, b| pow_i64(a, b);
        c64 |a, b| pow64(a, b);
        c128 |a, b| pow128(a, b);)
}

/// All ones.
fn constant(cx: &Cx<'_, '_, '_>, meta: &Meta) -> Made {
    crate::exec::kernels::create::filled_with(cx, meta, Scalar::Int(1)).map(Value::Tensor)
}

fn pow_number(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, [base, exponent]) = two(cx)?;
    let (n, dtype) = (cx.scalar(1)?, meta.dtype);
    let value: C128 = number(n, None);
    if LaneKind::of(dtype) == LaneKind::I64 && value.re < 0.0 {
        return Err(cx.bad(1, "0 or more as exponent of integers", format!("{n:?}")));
    }
    if value == C128::new(0.0, 0.0) {
        return constant(cx, &meta);
    }
    if value == C128::new(1.0, 0.0) {
        let copied = cast(cx, &meta, base)?;
        return Ok(copied);
    }
    if LaneKind::of(dtype) == LaneKind::I64 || is_narrow(dtype) {
        check_fits(cx, 1, n, dtype)?;
    }
    if value.im == 0.0
        && let Some(made) = special(cx, &meta, base, value.re)
    {
        return made;
    }
    if dtype == Dtype::F32 && !matches!(n, Scalar::Complex(..)) {
        return powers_f32(cx, &meta, [base, exponent], n.to_f64());
    }
    powers(cx, &meta, [base, exponent])
}

/// In vectors the exponent is rounded to `f32`, in the loop over single elements it stays a double.
#[allow(clippy::cast_possible_truncation)]
fn powers_f32(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2], exponent: f64) -> Made {
    let vectors = in_lines(meta, &operands, 128);
    map2_counted(
        cx,
        meta,
        operands,
        |k, a: f32, b: f32| {
            if k < vectors { a.powf(b) } else { f64::from(a).powf(exponent) as f32 }
        },
    )
}

fn cast(cx: &Cx<'_, '_, '_>, meta: &Meta, base: Operand<'_>) -> Made {
    pointwise2!(cx, meta, [base, Operand::Number(Scalar::Int(0))], meta.dtype;
        f32 |a, _| a; f64 |a, _| a; i64 |a, _| a; c64 |a, _| a; c128 |a, _| a;)
}

/// An exponent that PyTorch computes by products, roots and quotients.
fn special(cx: &Cx<'_, '_, '_>, meta: &Meta, base: Operand<'_>, exponent: f64) -> Option<Made> {
    let dtype = meta.dtype;
    // Half precision is widened first; bfloat16 rounds each product.
    let steps = |v: f32| if is_narrow(dtype) && dtype != Dtype::F16 { round_f32(dtype, v) } else { v };
    // The root of -0 has no sign in f16.
    let nothing = if dtype == Dtype::F16 { 0.0 } else { -0.0 };
    macro_rules! each {
        (f32 $f:expr, f64 $d:expr, c64 $c:expr, c128 $e:expr) => {
            match LaneKind::of(dtype) {
                LaneKind::F32 => map1(cx, meta, base, dtype, $f),
                LaneKind::F64 => map1(cx, meta, base, dtype, $d),
                LaneKind::C64 => map1(cx, meta, base, dtype, $c),
                LaneKind::C128 => map1(cx, meta, base, dtype, $e),
                LaneKind::I64 => return None,
            }
        };
    }
    let (one64, one128) = (C64::new(1.0, 0.0), C128::new(1.0, 0.0));
    let made = match exponent {
        0.5 => {
            each!(f32 |v: f32| v.sqrt() + nothing, f64 |v: f64| v.sqrt(), c64 |v: C64| v.sqrt(), c128 |v: C128| v.sqrt())
        }
        2.0 => each!(f32 |v: f32| v * v, f64 |v: f64| v * v, c64 |v: C64| v * v, c128 |v: C128| v * v),
        3.0 => {
            each!(f32 |v: f32| steps(v * v) * v, f64 |v: f64| v * v * v, c64 |v: C64| v * v * v, c128 |v: C128| v * v * v)
        }
        -0.5 => each!(f32 |v: f32| 1.0 / (v.sqrt() + nothing), f64 |v: f64| 1.0 / v.sqrt(),
            c64 |v: C64| quotient64(one64, v.sqrt()), c128 |v: C128| quotient128(one128, v.sqrt())),
        -1.0 => each!(f32 |v: f32| 1.0 / v, f64 |v: f64| 1.0 / v,
            c64 |v: C64| quotient64(one64, v), c128 |v: C128| quotient128(one128, v)),
        -2.0 => each!(f32 |v: f32| 1.0 / steps(v * v), f64 |v: f64| 1.0 / (v * v),
            c64 |v: C64| quotient64(one64, v * v), c128 |v: C128| quotient128(one128, v * v)),
        _ => return None,
    };
    Some(made.map(Value::Tensor))
}

/// `self * 2^other`: of floats with integers exact, else by way of the power in its own dtype.
fn ldexp(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if a.dtype().is_float() && LaneKind::of(b.dtype()) == LaneKind::I64 && b.dtype() != Dtype::Bool {
        return scaled(cx, a, b);
    }
    let (this, other) = (cx.value(0), cx.value(1));
    let power = cx.run_tensor("aten.pow.Scalar", &[Value::Float(2.0), other])?;
    let product = cx.run_tensor("aten.mul.Tensor", &[this, Value::Tensor(power)])?;
    cx.laid_out(0, product).map(Value::Tensor)
}

/// Floats by powers of two; the exponents are cut to 32 bits.
#[allow(clippy::cast_possible_truncation)]
fn scaled(cx: &Cx<'_, '_, '_>, a: &Tensor, b: &Tensor) -> Made {
    let meta = cx.meta()?;
    let (values, exponents) = (a.broadcast(&meta.sizes)?, b.broadcast(&meta.sizes)?);
    let (values, exponents) = (values.lanes::<f64>()?, exponents.lanes::<i64>()?);
    let each = values.iter().zip(exponents.iter()).map(|(v, n)| libm::ldexp(*v, *n as i32));
    if LaneKind::of(meta.dtype) == LaneKind::F64 {
        return cx.emit(each.collect::<Vec<f64>>());
    }
    cx.emit(each.map(|v| v as f32).collect::<Vec<f32>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_powers_wrap_and_vanish_below_zero() {
        assert_eq!([pow_i64(3, 4), pow_i64(-2, 63), pow_i64(2, 64)], [81, i64::MIN, 0]);
        assert_eq!([1, 2, -1, -2].map(|v| pow_i64(v, -1)), [1, 0, -1, 0]);
    }
}
