//! Special functions of real numbers that neither the standard library nor `libm` has, and formulas over them.
//!
//! Where PyTorch's formula loses digits (digamma, sinc) the same formula is used in the same width, so that the same digits are lost.

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use crate::exec::numbers::real::Real;

/// 1 / (1 + e^-x).
#[inline]
pub fn sigmoid<R: Real>(x: R) -> R {
    R::one() / (R::one() + (-x).exp())
}

/// The inverse hyperbolic cosine; NaN below 1.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// sin(pi x) / (pi x), and 1 at 0.
pub fn sinc<R: Real>(x: R) -> R {
    if x == R::zero() {
        return R::one();
    }
    let product = R::of(PI) * x;
    product.sin() / product
}

/// The error function to an absolute error of 1.5e-7: formula 7.1.26 of Abramowitz and Stegun, "Handbook of Mathematical Functions".
///
/// This is what PyTorch computes for narrow floats; near 0 its few digits show.
pub fn coarse_erf(x: f32) -> f32 {
    // As printed there, to be rounded by the compiler.
    #[allow(clippy::excessive_precision)]
    const SERIES: [f32; 5] = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let magnitude = x.abs();
    let t = 1.0 / 0.327_591_1_f32.mul_add(magnitude, 1.0);
    let sum = SERIES.iter().fold(0.0_f32, |sum, c| sum.mul_add(t, *c));
    let tail = -(-magnitude * magnitude).exp() * t;
    tail.mul_add(sum, 1.0).copysign(x)
}

/// The logarithmic derivative of the gamma function: recurrence up to 10, then the asymptotic series; reflection below 0.
pub fn digamma<R: Real>(x: R) -> R {
    if x == R::zero() {
        return R::infinity().copysign(-x);
    }
    if x < R::zero() {
        if x == x.trunc() {
            return R::of(f64::NAN);
        }
        let fraction = x.wide() - x.wide().trunc();
        return positive_digamma(R::one() - x) - R::of(PI / (PI * fraction).tan());
    }
    positive_digamma(x)
}

fn positive_digamma<R: Real>(mut x: R) -> R {
    /// digamma(10).
    const AT_TEN: f64 = 2.251_752_589_066_721;
    /// B(2k) / 2k for k from 7 down to 1.
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0];
    let ten = R::of(10.0);
    let mut result = R::zero();
    while x < ten {
        result = result - R::one() / x;
        x = x + R::one();
    }
    if x == ten {
        return result + R::of(AT_TEN);
    }
    let mut tail = R::zero();
    if x < R::of(1e17) {
        let z = R::one() / (x * x);
        tail = z * SERIES.iter().fold(R::zero(), |sum, c| sum * z + R::of(*c));
    }
    result + x.ln() - R::of(0.5) / x - tail
}

/// The inverse of the error function: a first guess by Winitzki's formula, then Halley's iteration on `erf` or, near 1, on `erfc`.
pub fn erfinv(y: f64) -> f64 {
    let magnitude = y.abs();
    if magnitude.is_nan() || magnitude >= 1.0 {
        return if magnitude == 1.0 { f64::INFINITY.copysign(y) } else { f64::NAN };
    }
    if magnitude < 1e-8 {
        return y / FRAC_2_SQRT_PI;
    }
    let a = 0.147;
    let log = (-magnitude * magnitude).ln_1p();
    let half = 2.0 / (PI * a) + log / 2.0;
    let mut x = ((half * half - log / a).sqrt() - half).sqrt();
    let rest = 1.0 - magnitude;
    for _ in 0..3 {
        let error = if magnitude < 0.5 { libm::erf(x) - magnitude } else { rest - libm::erfc(x) };
        let step = error / (FRAC_2_SQRT_PI * (-x * x).exp());
        x -= step / (1.0 + x * step);
    }
    x.copysign(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-14 * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn erfinv_undoes_erf_up_to_the_ends_of_its_domain() {
        for x in [1e-12, 0.01, 0.3, 0.476, 0.48, 1.0, 2.0, 3.0] {
            let y = libm::erf(x);
            assert!((libm::erf(erfinv(y)) - y).abs() <= 2.0 * f64::EPSILON * y, "at {x}");
            near(erfinv(-y), -erfinv(y));
        }
        assert_eq!((erfinv(1.0), erfinv(-1.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(erfinv(1.5).is_nan() && erfinv(f64::NAN).is_nan());
        assert!(erfinv(-0.0).is_sign_negative());
    }

    #[test]
    fn digamma_has_its_known_values_and_poles() {
        near(digamma(1.0_f64), -0.577_215_664_901_532_9);
        near(digamma(0.5_f64), -1.963_510_026_021_423_5);
        near(digamma(-0.5_f64), 0.036_489_973_978_576_52);
        assert!(digamma(-2.0_f64).is_nan());
        assert_eq!((digamma(0.0_f32), digamma(-0.0_f32)), (f32::NEG_INFINITY, f32::INFINITY));
    }
}
