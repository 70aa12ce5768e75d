//! Functions of two operands: the larger and the smaller one, angles, logarithms of sums, neighbours, signs.

use half::{bf16, f16};

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, fused, pointwise2, two};
use crate::exec::numbers::{bessel, gamma};
use crate::exec::tensor::lane::{C64, C128, round_f32};
use crate::graph::Dtype;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (maximum, &["aten.maximum.default", "prims.maximum.default"]),
    (minimum, &["aten.minimum.default", "prims.minimum.default"]),
    (fmax, &["aten.fmax.default", "prims.fmax.default"]),
    (fmin, &["aten.fmin.default", "prims.fmin.default"]),
    (atan2, &["aten.atan2.default", "prims.atan2.default"]),
    (copysign, &["aten.copysign.Tensor", "aten.copysign.Scalar"]),
    (hypot, &["aten.hypot.default", "prims.hypot.default"]),
    (nextafter, &["aten.nextafter.default", "prims.nextafter.default"]),
    (|cx| wide(cx, gamma::lower), &["aten.igamma.default"]),
    (|cx| wide(cx, gamma::upper), &["aten.igammac.default"]),
    (|cx| wide(cx, bessel::zeta), &["aten.special_zeta.default"]),
    (xlogy, &["aten.xlogy.Tensor", "aten.xlogy.Scalar_Other"]),
    (logaddexp, &["aten.logaddexp.default"]),
    (logaddexp2, &["aten.logaddexp2.default"]),
    (heaviside, &["aten.heaviside.default"]),
];

macro_rules! kernel {
    ($name:ident; $($kind:ident |$a:ident, $b:ident| $body:expr;)+) => {
        fn $name(cx: &mut Cx<'_, '_, '_>) -> Made {
            let (meta, operands) = two(cx)?;
            pointwise2!(cx, &meta, operands, meta.dtype; $($kind |$a, $b| $body;)+)
        }
    };
}

/// The first operand where it is NaN or compares so, else the second one, NaN or not.
macro_rules! chosen {
    ($a:expr, $b:expr, $op:tt) => {
        if $a.is_nan() || $a $op $b { $a } else { $b }
    };
}

kernel!(maximum; f32 |a, b| chosen!(a, b, >=); f64 |a, b| chosen!(a, b, >=); i64 |a, b| a.max(b););
kernel!(minimum; f32 |a, b| chosen!(a, b, <=); f64 |a, b| chosen!(a, b, <=); i64 |a, b| a.min(b););
kernel!(fmax; f32 |a, b| a.max(b); f64 |a, b| a.max(b); i64 |a, b| a.max(b););
kernel!(fmin; f32 |a, b| a.min(b); f64 |a, b| a.min(b); i64 |a, b| a.min(b););
kernel!(atan2; f32 |a, b| a.atan2(b); f64 |a, b| a.atan2(b););
kernel!(copysign; f32 |a, b| a.copysign(b); f64 |a, b| a.copysign(b););
kernel!(hypot; f32 |a, b| a.hypot(b); f64 |a, b| a.hypot(b););

macro_rules! log_of_sum {
    ($a:expr, $b:expr, $rest:expr) => {
        if $a.is_infinite() && $a == $b {
            $a
        } else {
            let larger = if $a.is_nan() || $a > $b { $a } else { $b };
            $rest(larger)
        }
    };
}

macro_rules! complex_log_of_sum {
    ($name:ident, $complex:ty) => {
        /// From the operand with the larger real part (of equal ones the larger imaginary part).
        fn $name(a: $complex, b: $complex) -> $complex {
            let a_is_less = a.re < b.re || a.re == b.re && a.im < b.im;
            let (small, large) = if a_is_less || b.is_nan() { (a, b) } else { (b, a) };
            if small.is_nan() || large.is_nan() {
                let nan = small.re + large.re + small.im + large.im;
                return <$complex>::new(nan, nan);
            }
            if !small.re.is_finite() && small.re == large.re {
                if small.re < 0.0 {
                    return small;
                }
                return (small.exp() + large.exp()).ln();
            }
            let ratio = (small - large).exp();
            // The logarithm of 1 + ratio, with care for small ones.
            let (re, im) = (ratio.re, ratio.im);
            let length =
                if ratio.norm() < 0.5 { 0.5 * (re * (re + 2.0) + im * im).ln_1p() } else { (re + 1.0).hypot(im).ln() };
            large + <$complex>::new(length, im.atan2(1.0 + re))
        }
    };
}

complex_log_of_sum!(log_of_sum64, C64);
complex_log_of_sum!(log_of_sum128, C128);

kernel!(logaddexp;
    f32 |a, b| log_of_sum!(a, b, |m| m + (-(a - b).abs()).exp().ln_1p());
    f64 |a, b| log_of_sum!(a, b, |m| m + (-(a - b).abs()).exp().ln_1p());
    c64 |a, b| log_of_sum64(a, b);
    c128 |a, b| log_of_sum128(a, b););
kernel!(logaddexp2;
    f32 |a, b| log_of_sum!(a, b, |m| fused(m, (-(a - b).abs()).exp2().ln_1p(), std::f32::consts::LOG2_E));
    f64 |a, b| log_of_sum!(a, b, |m| (-(a - b).abs()).exp2().ln_1p().mul_add(std::f64::consts::LOG2_E, m)););

/// A step: 0 below zero and for NaN, 1 above, the second operand at zero.
macro_rules! step {
    ($a:expr, $b:expr, $zero:expr, $one:expr) => {
        if $a == $zero {
            $b
        } else if $a > $zero {
            $one
        } else {
            $zero
        }
    };
}

kernel!(heaviside;
    f32 |a, b| step!(a, b, 0.0, 1.0);
    f64 |a, b| step!(a, b, 0.0, 1.0);
    i64 |a, b| step!(a, b, 0, 1););

/// Computed in `f64`, and rounded once.
#[allow(clippy::cast_possible_truncation)] // Rounded once.
fn wide(cx: &mut Cx<'_, '_, '_>, f: fn(f64, f64) -> f64) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    pointwise2!(cx, &meta, operands, dtype;
        f32 |a, b| f(f64::from(a), f64::from(b)) as f32;
        f64 |a, b| f(a, b);)
}

fn xlogy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    macro_rules! times_log {
        ($a:expr, $b:expr, $log:expr) => {
            if $b.is_nan() {
                $b
            } else if $a == 0.0 {
                0.0
            } else {
                $a * $log
            }
        };
    }
    pointwise2!(cx, &meta, operands, dtype;
        f32 |a, b| times_log!(a, b, round_f32(dtype, b.ln()));
        f64 |a, b| times_log!(a, b, b.ln());)
}

/// The neighbour of `a` towards `b` among the numbers of a format whose codes ascend with the magnitude.
macro_rules! neighbour {
    ($a:expr, $b:expr, $float:ty, $sign:expr) => {{
        let (a, b): ($float, $float) = ($a, $b);
        let code = a.to_bits();
        if a.is_nan() || b.is_nan() {
            <$float>::NAN
        } else if a == b {
            b
        } else if code & !$sign == 0 {
            <$float>::from_bits(1 | (b.to_bits() & $sign))
        } else if (a < b) == (code & $sign == 0) {
            <$float>::from_bits(code.wrapping_add(1))
        } else {
            <$float>::from_bits(code.wrapping_sub(1))
        }
    }};
}

fn neighbour_f32(dtype: Dtype, a: f32, b: f32) -> f32 {
    match dtype {
        Dtype::Bf16 => neighbour!(bf16::from_f32(a), bf16::from_f32(b), bf16, 0x8000_u16).to_f32(),
        Dtype::F16 => neighbour!(f16::from_f32(a), f16::from_f32(b), f16, 0x8000_u16).to_f32(),
        _ => neighbour!(a, b, f32, 0x8000_0000_u32),
    }
}

fn nextafter(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    pointwise2!(cx, &meta, operands, dtype;
        f32 |a, b| neighbour_f32(dtype, a, b);
        f64 |a, b| neighbour!(a, b, f64, 0x8000_0000_0000_0000_u64);)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_cross_zero_and_keep_to_their_format() {
        assert_eq!(neighbour_f32(Dtype::F32, 0.0, -1.0).to_bits(), 0x8000_0001);
        assert_eq!(neighbour_f32(Dtype::Bf16, 1.0, 2.0), 1.007_812_5);
        assert_eq!(neighbour_f32(Dtype::F32, 1.0, 1.0), 1.0);
        assert_eq!(neighbour_f32(Dtype::F32, -1.0, f32::INFINITY), (-1.0_f32).next_up());
        assert!(neighbour_f32(Dtype::F32, f32::NAN, 1.0).is_nan());
    }
}
