//! Numbers that are written into tensors: whether a dtype can hold them.
//!
//! Promises: what PyTorch's `Scalar::to` refuses is refused: numbers beyond the dtype's range, imaginary parts in real tensors; negative
//! numbers wrap in unsigned dtypes. Casts of whole tensors never refuse; they are `element`'s.

use super::cx::Cx;
use super::fill::Order;
use super::lane::{Lane, LaneKind, with_lane};
use super::source::number;
use super::tensor::{Meta, Tensor};
use super::value::Scalar;
use crate::graph::Dtype;
use crate::ops::Fault;

/// Returns the number of parameter `i` if the dtype can hold it.
pub fn scalar_for(cx: &Cx<'_, '_, '_>, i: usize, dtype: Dtype) -> Result<Scalar, Fault> {
    let value = cx.scalar(i)?;
    if fits(value, dtype) {
        return Ok(value);
    }
    Err(cx.bad(i, format!("a number that {} holds", dtype.long()), format!("{value:?}")))
}

/// Returns whether a dtype can hold a number.
pub fn fits(value: Scalar, dtype: Dtype) -> bool {
    if dtype.is_complex() || dtype == Dtype::Bool {
        return !matches!(value, Scalar::Complex(_, im) if dtype == Dtype::Bool && im != 0.0);
    }
    match value {
        Scalar::Bool(_) => true,
        Scalar::Int(v) => integer_fits(v, dtype),
        Scalar::Float(v) => float_fits(v, dtype),
        Scalar::Complex(re, im) => im == 0.0 && float_fits(re, dtype),
    }
}

/// The range of an integer dtype, with the largest magnitude of negative numbers that wrap.
fn range(dtype: Dtype) -> Option<(f64, f64)> {
    Some(match dtype {
        Dtype::U8 => (-255.0, 255.0),
        Dtype::I8 => (-128.0, 127.0),
        Dtype::I16 => (-32768.0, 32767.0),
        Dtype::U16 => (-65535.0, 65535.0),
        Dtype::I32 => (-2_147_483_648.0, 2_147_483_647.0),
        Dtype::U32 => (-4_294_967_295.0, 4_294_967_295.0),
        _ => return None,
    })
}

#[allow(clippy::cast_precision_loss)]
fn integer_fits(v: i64, dtype: Dtype) -> bool {
    match range(dtype) {
        Some((least, most)) => (least..=most).contains(&(v as f64)),
        None => dtype.is_integer() || float_fits(v as f64, dtype),
    }
}

fn float_fits(v: f64, dtype: Dtype) -> bool {
    if let Some((least, most)) = range(dtype) {
        // Of integers negative ones wrap in unsigned dtypes; floats must not be below 0.
        let least = if matches!(dtype, Dtype::U8 | Dtype::U16 | Dtype::U32) { 0.0 } else { least };
        return (least..=most).contains(&v);
    }
    let most = match dtype {
        Dtype::I64 | Dtype::U64 => return (-9_223_372_036_854_775_808.0..=9_223_372_036_854_775_807.0).contains(&v),
        Dtype::F32 => f64::from(f32::MAX),
        Dtype::F16 => 65504.0,
        Dtype::Bf16 => f64::from(f32::from_bits(0x7f7f_0000)),
        _ => return true,
    };
    !v.is_finite() || v.abs() <= most
}

/// Returns a tensor all of whose elements are this number.
pub fn filled(cx: &Cx<'_, '_, '_>, meta: &Meta, value: Scalar) -> Result<Tensor, Fault> {
    with_lane!(meta.dtype, L => {
        let value = number::<L>(value, Some(meta.dtype));
        cx.fill(meta, &Order::of(meta), &|_, part: &mut [L]| part.fill(value))
    })
}

/// Returns the only element of a tensor as a number.
pub fn only(t: &Tensor) -> Result<Option<Scalar>, Fault> {
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
}
