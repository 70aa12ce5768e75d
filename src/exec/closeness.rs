//! Comparing tensors: how far apart, and whether that is near enough.
//!
//! Promises: NaN equals NaN whatever its bits; the tolerances are those of `torch.testing.assert_close`. Leaves what to do about a
//! difference to callers.

use super::tensor::Tensor;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::lane::{C128, Lane};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// How near two values must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// Every bit.
    Exact,
    /// Every bit but the sign of zero.
    ExactButZeroSign,
    /// So many units in the last place; integers exactly.
    Ulp(u64),
    /// `|found - expected| <= atol + rtol * |expected|`; integers exactly.
    Close {
        /// Relative part.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
    /// Any difference up to a part of the largest magnitude expected.
    OfLargest(f64),
    /// Not looked at.
    Any,
}

impl Tolerance {
    /// Returns `assert_close`'s tolerance of a dtype.
    pub fn close(dtype: Dtype) -> Tolerance {
        let (rtol, atol) = match dtype {
            Dtype::F32 | Dtype::C64 => (1.3e-6, 1e-5),
            Dtype::F64 | Dtype::C128 => (1e-7, 1e-7),
            Dtype::F16 | Dtype::C32 => (1e-3, 1e-5),
            Dtype::Bf16 | Dtype::Bc32 => (1.6e-2, 1e-5),
            d if d.is_float() => (1.3e-1, 1e-5),
            _ => (0.0, 0.0),
        };
        Tolerance::Close { rtol, atol }
    }
}

/// What a comparison found. Differences of NaN or of unequal infinities count as infinite.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Whether every element is near enough.
    pub equal: bool,
    /// Largest absolute difference.
    pub max_abs: f64,
    /// Largest difference relative to the expected value.
    pub max_rel: f64,
    /// Largest difference in units in the last place; 0 for equal integers.
    pub max_ulp: u64,
    /// The first element that is too far off: its row-major number, what was found and what was expected.
    pub first: Option<(usize, String, String)>,
    /// How many elements are too far off.
    pub wrong: usize,
}

/// Compares values; both tensors have the same dtype and sizes.
pub fn compare(found: &Tensor, expected: &Tensor, tolerance: Tolerance) -> Result<Comparison, CallFault> {
    let mut out = Comparison { equal: true, max_abs: 0.0, max_rel: 0.0, max_ulp: 0, first: None, wrong: 0 };
    let dtype = expected.dtype();
    if found.dtype() != dtype || found.sizes() != expected.sizes() {
        let show = |t: &Tensor| format!("{}{:?}", t.dtype(), t.sizes());
        return Err(CallFault::mismatch("found", show(expected), show(found)));
    }
    let largest = |all: &[C128]| all.iter().map(|v| v.norm()).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let (a, b) = (values(found)?, values(expected)?);
    let codes: Vec<(Bits, Bits)> = bits(found)?.into_iter().zip(bits(expected)?).collect();
    let scale = if let Tolerance::OfLargest(part) = tolerance { part * largest(&b) } else { 0.0 };
    for (k, ((a, b), codes)) in a.iter().zip(&b).zip(codes).enumerate() {
        let apart = Apart::of(dtype, *a, *b, codes);
        out.max_abs = out.max_abs.max(apart.abs);
        out.max_rel = out.max_rel.max(apart.rel);
        out.max_ulp = out.max_ulp.max(apart.ulp);
        let near = apart.same
            || match tolerance {
                Tolerance::Any => true,
                Tolerance::Exact => false,
                Tolerance::ExactButZeroSign => apart.abs == 0.0,
                Tolerance::Ulp(n) => apart.ulp <= n,
                Tolerance::Close { rtol, atol } => apart.abs <= rtol.mul_add(b.norm(), atol),
                Tolerance::OfLargest(_) => apart.abs <= scale,
            };
        if !near {
            out.wrong = out.wrong.saturating_add(1);
            out.equal = false;
            out.first.get_or_insert_with(|| (k, show(dtype, *a), show(dtype, *b)));
        }
    }
    Ok(out)
}

/// Returns a number as text: complex ones with both parts.
fn show(dtype: Dtype, v: C128) -> String {
    if dtype.is_complex() { format!("{:?}{:+?}j", v.re, v.im) } else { format!("{:?}", v.re) }
}

struct Apart {
    same: bool,
    abs: f64,
    rel: f64,
    ulp: u64,
}

impl Apart {
    fn of(dtype: Dtype, a: C128, b: C128, codes: (Bits, Bits)) -> Apart {
        let floating = dtype.is_float() || dtype.is_complex();
        if !floating {
            let same = codes.0 == codes.1;
            let abs = if same { 0.0 } else { (a.re - b.re).abs().max(f64::MIN_POSITIVE) };
            return Apart { same, abs, rel: abs / b.re.abs(), ulp: if same { 0 } else { u64::MAX } };
        }
        let same =
            |x: f64, y: f64| (x.is_nan() && y.is_nan()) || (x == y && x.is_sign_negative() == y.is_sign_negative());
        if same(a.re, b.re) && same(a.im, b.im) {
            return Apart { same: true, abs: 0.0, rel: 0.0, ulp: 0 };
        }
        let part = |x: f64, y: f64| if x == y || (x.is_nan() && y.is_nan()) { 0.0 } else { (x - y).abs() };
        let abs = part(a.re, b.re).hypot(part(a.im, b.im));
        let abs = if abs.is_nan() { f64::INFINITY } else { abs };
        let rel = if abs == 0.0 { 0.0 } else { abs / b.norm() };
        Apart { same: false, abs, rel: if rel.is_nan() { f64::INFINITY } else { rel }, ulp: ulps(dtype, a, b, codes) }
    }
}

fn ulps(dtype: Dtype, a: C128, b: C128, codes: (Bits, Bits)) -> u64 {
    let one = |x: f64, y: f64, from: i64, to: i64| {
        if x.is_nan() && y.is_nan() {
            0
        } else if x.is_nan() || y.is_nan() {
            u64::MAX
        } else {
            from.abs_diff(to)
        }
    };
    let ((re_a, im_a), (re_b, im_b)) = (codes.0, codes.1);
    let re = one(a.re, b.re, re_a, re_b);
    if dtype.is_complex() { re.max(one(a.im, b.im, im_a, im_b)) } else { re }
}

/// Real and imaginary part as numbers in which neighbouring values differ by 1 (of integers: their value).
type Bits = (i64, i64);

fn bits(t: &Tensor) -> Result<Vec<Bits>, CallFault> {
    let dtype = t.dtype();
    let width = dtype.bytes().saturating_mul(8);
    if dtype.is_complex() {
        let half = u32::try_from(width / 2).unwrap_or(32);
        return with_width!(dtype.bytes(), U => {
            let all = t.raw::<U>()?;
                let split = |v: &U| (ordered(wide(*v), half), ordered(wide(*v) >> half, half));
            Ok(all.iter().map(split).collect())
        });
    }
    if dtype.is_float() {
        let width = u32::try_from(width).unwrap_or(32);
        return with_width!(dtype.bytes(), U => Ok(t.raw::<U>()?.iter().map(|v| (ordered(wide(*v), width), 0)).collect()));
    }
    Ok(t.lanes::<i64>()?.iter().map(|v| (*v, 0)).collect())
}

fn wide<U: Into<u128>>(v: U) -> u128 {
    v.into()
}

/// Maps the lower `width` bits, a float's, to an integer in the same order.
#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::arithmetic_side_effects)]
fn ordered(bits: u128, width: u32) -> i64 {
    let sign = 1_u128 << width.clamp(1, 64).saturating_sub(1);
    let magnitude = (bits & sign.wrapping_sub(1)) as i64;
    if bits & sign == 0 { magnitude } else { magnitude.wrapping_neg() }
}

fn values(t: &Tensor) -> Result<Vec<C128>, CallFault> {
    if t.dtype().is_complex() {
        return Ok(t.lanes::<C128>()?.into_vec());
    }
    Ok(t.lanes::<f64>()?.iter().map(|v| v.to_complex()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::tensor::fill;
    use crate::exec::{Meta, Meter};

    fn tensor(values: &[f32]) -> Tensor {
        fill::from_lanes(&Meta::contiguous(Dtype::F32, &[values.len()]), values.to_vec(), &Meter::default()).unwrap()
    }

    #[test]
    fn neighbours_are_one_unit_apart_and_zeros_differ_by_sign_only() {
        let next = f32::from_bits(1.0_f32.to_bits() + 1);
        let c = compare(&tensor(&[1.0, -0.0]), &tensor(&[next, 0.0]), Tolerance::Exact).unwrap();
        assert_eq!((c.equal, c.max_ulp, c.wrong), (false, 1, 2));
        assert!(compare(&tensor(&[1.0, -0.0]), &tensor(&[next, 0.0]), Tolerance::Ulp(1)).unwrap().equal);
        assert!(compare(&tensor(&[-0.0]), &tensor(&[0.0]), Tolerance::ExactButZeroSign).unwrap().equal);
    }

    #[test]
    fn nan_equals_nan_and_nothing_else() {
        assert!(compare(&tensor(&[f32::NAN]), &tensor(&[-f32::NAN]), Tolerance::Exact).unwrap().equal);
        let close = Tolerance::close(Dtype::F32);
        assert!(!compare(&tensor(&[f32::NAN]), &tensor(&[1.0]), close).unwrap().equal);
        assert!(!compare(&tensor(&[f32::INFINITY]), &tensor(&[f32::MAX]), close).unwrap().equal);
    }
}
