//! What operands are computed in: PyTorch's common dtype, and numbers that a dtype cannot hold.

use super::cx::Cx;
use super::value::{Operand, Scalar};
use crate::graph::Dtype;
use crate::ops::{Fault, Number, Promotion};
use crate::sym::Dim;

/// Returns the dtype that PyTorch computes these operands in.
pub fn common_dtype(operands: &[Operand<'_>]) -> Result<Dtype, Fault> {
    let mut promotion = Promotion::default();
    for operand in operands {
        match operand {
            Operand::Tensor(t) => promotion.tensor(t.dtype(), t.rank())?,
            Operand::Number(n) => promotion.number(as_number(*n))?,
        }
    }
    promotion.dtype()
}

fn as_number(n: Scalar) -> Number {
    match n {
        Scalar::Bool(v) => Number::Bool(Some(v)),
        Scalar::Int(v) => Number::Int(Dim::Fixed(v)),
        Scalar::Float(v) => Number::Float(Some(v)),
        Scalar::Complex(..) => Number::Complex,
    }
}

/// The least and the largest number of a real dtype, and whether it has infinities.
fn range(dtype: Dtype) -> (f64, f64, bool) {
    let float = |max: f64| (-max, max, true);
    match dtype {
        Dtype::F16 | Dtype::C32 => float(65504.0),
        Dtype::Bf16 => float(3.389_531_389_251_535_5e38),
        Dtype::F32 | Dtype::C64 => float(f64::from(f32::MAX)),
        Dtype::F8E5m2 => float(57344.0),
        Dtype::F8E4m3fn => (-448.0, 448.0, false),
        Dtype::F8E4m3fnuz => (-240.0, 240.0, false),
        Dtype::F8E5m2fnuz => (-57344.0, 57344.0, false),
        Dtype::U8 => (0.0, 255.0, false),
        Dtype::I8 => (-128.0, 127.0, false),
        Dtype::I16 => (-32768.0, 32767.0, false),
        Dtype::U16 => (0.0, 65535.0, false),
        Dtype::I32 => (-2_147_483_648.0, 2_147_483_647.0, false),
        Dtype::U32 => (0.0, 4_294_967_295.0, false),
        Dtype::I64 => (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0, false),
        Dtype::U64 => (0.0, 18_446_744_073_709_551_616.0, false),
        _ => float(f64::MAX),
    }
}

/// Returns whether a number can be converted to a dtype, as `Scalar::to` of PyTorch sees it: negative integers may wrap to unsigned
/// ones, fractions are cut, infinities and NaN fit where the dtype has them.
#[allow(clippy::cast_precision_loss)]
fn fits(n: Scalar, dtype: Dtype) -> bool {
    if dtype == Dtype::Bool {
        return true;
    }
    let (low, high, infinite) = range(dtype);
    let real = |v: f64| {
        if infinite && v.is_infinite() || v.is_nan() && dtype.is_float() {
            return true;
        }
        !v.is_nan() && v >= low && v <= high
    };
    match n {
        Scalar::Bool(_) => true,
        Scalar::Int(v) if low == 0.0 => v as f64 <= high && v as f64 >= -high,
        Scalar::Int(v) => real(v as f64),
        Scalar::Float(v) => real(v) || dtype.is_complex() && v.is_nan(),
        Scalar::Complex(re, im) if dtype.is_complex() => [re, im].into_iter().all(|v| v.is_nan() || real(v)),
        Scalar::Complex(re, im) => im == 0.0 && real(re),
    }
}

/// Checks that the number of argument `i` can be converted to `dtype`.
pub fn check_fits(cx: &Cx<'_, '_, '_>, i: usize, n: Scalar, dtype: Dtype) -> Result<(), Fault> {
    if fits(n, dtype) {
        return Ok(());
    }
    Err(cx.bad(i, format!("a number that {} can hold", dtype.long()), format!("{n:?}")))
}

/// As [`check_fits`], where PyTorch makes a tensor of the number: half precision takes any, as infinity.
pub fn check_wrapped(cx: &Cx<'_, '_, '_>, i: usize, n: Scalar, dtype: Dtype) -> Result<(), Fault> {
    let real = !matches!(n, Scalar::Complex(..));
    if real && matches!(dtype, Dtype::F16 | Dtype::Bf16) { Ok(()) } else { check_fits(cx, i, n, dtype) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_as_pytorch_converts_them() {
        for (n, dtype, answer) in [
            (Scalar::Int(255), Dtype::U8, true),
            (Scalar::Int(256), Dtype::U8, false),
            (Scalar::Int(-1), Dtype::U8, true),
            (Scalar::Int(-256), Dtype::U8, false),
            (Scalar::Int(-129), Dtype::I8, false),
            (Scalar::Float(-1.0), Dtype::U8, false),
            (Scalar::Float(65504.0), Dtype::F16, true),
            (Scalar::Float(65505.0), Dtype::F16, false),
            (Scalar::Float(f64::INFINITY), Dtype::F16, true),
            (Scalar::Float(f64::NAN), Dtype::I32, false),
            (Scalar::Float(2.7), Dtype::I32, true),
            (Scalar::Float(1e39), Dtype::F32, false),
            (Scalar::Float(1e39), Dtype::Bool, true),
            (Scalar::Complex(1.0, 2.0), Dtype::F32, false),
            (Scalar::Complex(1.0, 0.0), Dtype::F32, true),
            (Scalar::Complex(1.0, f64::NAN), Dtype::C64, true),
        ] {
            assert_eq!(fits(n, dtype), answer, "{n:?} as {}", dtype.long());
        }
    }
}
