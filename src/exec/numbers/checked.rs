//! Numbers that are written into tensors: whether a dtype can hold them.
//!
//! Promises: what PyTorch's `Scalar::to` refuses is refused: numbers beyond the dtype's range, imaginary parts in real tensors; negative
//! numbers wrap in unsigned dtypes. Casts of whole tensors never refuse; they are `element`'s.

use crate::exec::call::cx::Cx;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::{Lane, LaneKind, with_lane};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::Scalar;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// Returns the number of parameter `i` if the dtype can hold it.
pub fn scalar_for(cx: &Cx<'_, '_, '_>, i: usize, dtype: Dtype) -> Result<Scalar, CallFault> {
    let value = cx.scalar(i)?;
    check_fits(cx, i, value, dtype)?;
    Ok(value)
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
pub fn fits(n: Scalar, dtype: Dtype) -> bool {
    if dtype == Dtype::Bool {
        return !matches!(n, Scalar::Complex(_, im) if im != 0.0);
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
pub fn check_fits(cx: &Cx<'_, '_, '_>, i: usize, n: Scalar, dtype: Dtype) -> Result<(), CallFault> {
    if fits(n, dtype) {
        return Ok(());
    }
    Err(cx.bad(i, format!("a number that {} can hold", dtype.long()), format!("{n:?}")))
}

/// Returns a tensor all of whose elements are this number.
pub fn filled(cx: &Cx<'_, '_, '_>, meta: &Meta, value: Scalar) -> Result<Tensor, CallFault> {
    with_lane!(meta.dtype, L => {
        let value = number::<L>(value, Some(meta.dtype));
        cx.fill(meta, &Order::of(meta), &|_, part: &mut [L]| part.fill(value))
    })
}

/// Returns the only element of a tensor as a number.
pub fn only(t: &Tensor) -> Result<Option<Scalar>, CallFault> {
    with_lane!(t.dtype(), L => {
        let lanes = t.lanes::<L>()?;
        Ok(lanes.first().map(|v| match LaneKind::of(t.dtype()) {
            LaneKind::I64 if t.dtype() == Dtype::Bool => Scalar::Bool(v.truth()),
            LaneKind::I64 => Scalar::Int(v.to_i64()),
            LaneKind::F32 | LaneKind::F64 => Scalar::Float(v.to_f64()),
            LaneKind::C64 | LaneKind::C128 => Scalar::Complex(v.to_complex().re, v.to_complex().im),
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_the_range_are_refused_and_negative_ones_wrap_in_unsigned_dtypes() {
        assert!(fits(Scalar::Int(255), Dtype::U8) && !fits(Scalar::Int(256), Dtype::U8));
        assert!(fits(Scalar::Int(-1), Dtype::U8) && !fits(Scalar::Int(-129), Dtype::I8));
        assert!(fits(Scalar::Float(f64::INFINITY), Dtype::F16) && !fits(Scalar::Float(-1e9), Dtype::F16));
        assert!(!fits(Scalar::Float(f64::NAN), Dtype::I32) && !fits(Scalar::Complex(1.0, 1.0), Dtype::F32));
    }

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
