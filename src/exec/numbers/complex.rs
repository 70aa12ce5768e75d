//! Complex elementary functions, computed in `f64` parts; quotients, roots and what is made of them in the operand's own.
//!
//! Branch cuts, signs of zeros and values at infinities are those of C99's Annex G, as PyTorch takes them from the C library. Inverse
//! sine and cosine follow Hull, Fairgrieve and Tang ("Implementing the complex arcsine and arccosine functions using exception
//! handling", 1997); the hyperbolic tangent follows Kahan ("Branch cuts for complex elementary functions", 1987).

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LN_10, PI};

use num_complex::Complex;

use crate::exec::numbers::real::Real;
use crate::exec::tensor::lane::{C64, C128};

/// Above this the exponential function overflows.
const LARGE: f64 = 709.0;
/// Squares of larger numbers overflow, squares of smaller ones than its inverse vanish.
const HUGE: f64 = 1e150;

/// Returns a number in `f64` parts.
pub fn widen(z: C64) -> C128 {
    C128::new(f64::from(z.re), f64::from(z.im))
}

/// Rounds a number to `f32` parts.
#[allow(clippy::cast_possible_truncation)]
pub fn narrow(z: C128) -> C64 {
    C64::new(z.re as f32, z.im as f32)
}

/// Applies a function of `f64` parts to a number of either width.
fn wide<R: Real>(f: fn(C128) -> C128, z: Complex<R>) -> Complex<R> {
    let w = f(C128::new(z.re.wide(), z.im.wide()));
    Complex::new(R::of(w.re), R::of(w.im))
}

/// i z.
fn turned(z: C128) -> C128 {
    C128::new(-z.im, z.re)
}

/// -i z.
fn turned_back(z: C128) -> C128 {
    C128::new(z.im, -z.re)
}

/// 1 / z.
pub fn reciprocal<R: Real>(z: Complex<R>) -> Complex<R> {
    divide(Complex::new(R::one(), R::zero()), z)
}

/// a / b by Smith's method, in which products are added without being rounded first.
pub fn divide<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    smith(a, b, |x, y, term| x.mul_add(y, term))
}

/// a / b by Smith's method, in which the numerator's products are rounded.
pub fn divide_rounded<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    smith(a, b, |x, y, term| x * y + term)
}

#[inline]
fn smith<R: Real>(a: Complex<R>, b: Complex<R>, plus: impl Fn(R, R, R) -> R) -> Complex<R> {
    let (c, d) = (Real::abs(b.re), Real::abs(b.im));
    if c >= d {
        if c == R::zero() && d == R::zero() {
            return Complex::new(a.re / c, a.im / d);
        }
        let ratio = b.im / b.re;
        let scale = R::one() / b.im.mul_add(ratio, b.re);
        Complex::new(plus(a.im, ratio, a.re) * scale, plus(-a.re, ratio, a.im) * scale)
    } else {
        let ratio = b.re / b.im;
        let scale = R::one() / b.re.mul_add(ratio, b.im);
        Complex::new(plus(a.re, ratio, a.im) * scale, plus(a.im, ratio, -a.re) * scale)
    }
}

/// The root with a real part that is not negative.
pub fn sqrt<R: Real>(z: Complex<R>) -> Complex<R> {
    let (a, b) = (z.re, z.im);
    if a == R::zero() && b == R::zero() {
        return Complex::new(R::zero(), b);
    }
    if Real::abs(b) == R::infinity() {
        return Complex::new(R::infinity(), b);
    }
    if Real::abs(a) == R::infinity() {
        let other = if b.wide().is_nan() { b } else { R::zero() };
        let positive = a > R::zero();
        return if positive {
            Complex::new(a, other.copysign(b))
        } else {
            Complex::new(Real::abs(other), (-a).copysign(b))
        };
    }
    let large = Real::abs(a) > R::HUGE || Real::abs(b) > R::HUGE;
    let small = Real::abs(a) < R::one() / R::HUGE && Real::abs(b) < R::one() / R::HUGE;
    // Powers of 4, whose roots are exact.
    let (down, up) = match (large, small) {
        (true, _) => (R::of(0.0625), R::of(4.0)),
        (_, true) => (R::of(2_f64.powi(80)), R::of(2_f64.powi(-40))),
        _ => (R::one(), R::one()),
    };
    let (a, b) = (a * down, b * down);
    let half = R::of(0.5);
    let t = Real::sqrt((Real::abs(a) + a.hypot(b)) * half);
    let other = half * (Real::abs(b) / t);
    if a >= R::zero() {
        Complex::new(t * up, other.copysign(b) * up)
    } else {
        Complex::new(other * up, t.copysign(b) * up)
    }
}

/// e^re (cos, sin), where e^re alone may overflow.
fn polar_exp(re: f64, c: f64, s: f64) -> C128 {
    if re > LARGE {
        let half = (re / 2.0).exp();
        return C128::new(half * c * half, half * s * half);
    }
    let r = re.exp();
    C128::new(r * c, r * s)
}

/// e^z.
pub fn exp(z: C128) -> C128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return C128::new(x.exp(), y);
    }
    if x.is_infinite() {
        return match (x > 0.0, y.is_finite()) {
            (true, true) => C128::new(x.copysign(y.cos()), x.copysign(y.sin())),
            (true, false) => C128::new(x, f64::NAN),
            (false, true) => C128::new(0_f64.copysign(y.cos()), 0_f64.copysign(y.sin())),
            (false, false) => C128::new(0.0, 0_f64.copysign(y)),
        };
    }
    polar_exp(x, y.cos(), y.sin())
}

/// 2^z.
pub fn exp2<R: Real>(z: Complex<R>) -> Complex<R> {
    let ln_2 = R::of(LN_2);
    wide(exp, Complex::new(z.re * ln_2, z.im * ln_2))
}

/// e^z - 1.
pub fn exp_m1(z: C128) -> C128 {
    let half = (z.im / 2.0).sin();
    let re = z.re.exp_m1() * z.im.cos() - 2.0 * half * half;
    C128::new(re, z.re.exp() * z.im.sin())
}

/// ln |z|, exact near 1 too.
fn ln_abs(z: C128) -> f64 {
    let (large, small) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
    let magnitude = z.re.hypot(z.im);
    if (0.5..2.0).contains(&magnitude) {
        // large^2 + small^2 - 1 with the rounding errors of both squares.
        let (first, second) = (large * large, small * small);
        let errors = large.mul_add(large, -first) + small.mul_add(small, -second);
        return 0.5 * ((first - 1.0) + second + errors).ln_1p();
    }
    if magnitude.is_infinite() && z.re.is_finite() && z.im.is_finite() {
        return (z.re * 0.5).hypot(z.im * 0.5).ln() + LN_2;
    }
    magnitude.ln()
}

/// The natural logarithm; its imaginary part is the angle.
pub fn ln(z: C128) -> C128 {
    C128::new(ln_abs(z), z.im.atan2(z.re))
}

/// The logarithm to base 2.
pub fn log2(z: C128) -> C128 {
    let z = ln(z);
    C128::new(z.re / LN_2, z.im / LN_2)
}

/// The logarithm to base 10.
pub fn log10(z: C128) -> C128 {
    let z = ln(z);
    C128::new(z.re / LN_10, z.im / LN_10)
}

/// ln(1 + z).
pub fn ln_1p(z: C128) -> C128 {
    let angle = z.im.atan2(z.re + 1.0);
    if z.re.hypot(z.im) < 0.5 {
        return C128::new(0.5 * z.re.mul_add(2.0 + z.re, z.im * z.im).ln_1p(), angle);
    }
    C128::new(ln_abs(C128::new(z.re + 1.0, z.im)), angle)
}

/// 1 + e^-z: what sigmoid and silu divide by; every step rounded to the parts: where 1 cancels, that shows.
pub fn one_and_exp<R: Real>(z: Complex<R>) -> Complex<R> {
    let (x, y) = (-z.re, -z.im);
    let (magnitude, finite) = (Real::exp(x), y.wide().is_finite());
    if !finite || y == R::zero() || magnitude == R::zero() || magnitude == R::infinity() {
        let e = wide(exp, Complex::new(x, y));
        return Complex::new(e.re + R::one(), e.im);
    }
    Complex::new(magnitude * Real::cos(y) + R::one(), magnitude * Real::sin(y))
}

/// 1 / (1 + e^-z).
pub fn sigmoid<R: Real>(z: Complex<R>) -> Complex<R> {
    reciprocal(one_and_exp(z))
}

/// 1 / sqrt z.
pub fn rsqrt<R: Real>(z: Complex<R>) -> Complex<R> {
    reciprocal(sqrt(z))
}

/// sin(pi z) / (pi z), and 1 at 0.
pub fn sinc<R: Real>(z: Complex<R>) -> Complex<R> {
    if z.re == R::zero() && z.im == R::zero() {
        return Complex::new(R::one(), R::zero());
    }
    let pi = R::of(PI);
    let product = Complex::new(z.re * pi, z.im * pi);
    divide(wide(sin, product), product)
}

/// The hyperbolic sine.
pub fn sinh(z: C128) -> C128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return C128::new(x.sinh(), y);
    }
    if !y.is_finite() {
        return if x == 0.0 || x.is_infinite() { C128::new(x, f64::NAN) } else { C128::new(f64::NAN, f64::NAN) };
    }
    if x.abs() > LARGE {
        let grown = polar_exp(x.abs() - LN_2, y.cos(), y.sin());
        return C128::new(grown.re * 1_f64.copysign(x), grown.im);
    }
    C128::new(x.sinh() * y.cos(), x.cosh() * y.sin())
}

/// The hyperbolic cosine.
pub fn cosh(z: C128) -> C128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return C128::new(x.cosh(), y * 1_f64.copysign(x));
    }
    if !y.is_finite() {
        let re = if x.is_infinite() { x.abs() } else { f64::NAN };
        return C128::new(re, if x == 0.0 { 0.0 } else { f64::NAN });
    }
    if x.abs() > LARGE {
        let grown = polar_exp(x.abs() - LN_2, y.cos(), y.sin());
        return C128::new(grown.re, grown.im * 1_f64.copysign(x));
    }
    C128::new(x.cosh() * y.cos(), x.sinh() * y.sin())
}

/// The hyperbolic tangent.
pub fn tanh(z: C128) -> C128 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return C128::new(x.tanh(), y);
    }
    if x.is_infinite() {
        let sign = if y.is_finite() { (2.0 * y).sin() } else { y };
        return C128::new(1_f64.copysign(x), 0_f64.copysign(sign));
    }
    if !y.is_finite() || x.is_nan() {
        return C128::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN);
    }
    if x.abs() > 22.0 {
        return C128::new(1_f64.copysign(x), 4.0 * y.sin() * y.cos() * (-2.0 * x.abs()).exp());
    }
    let (t, s) = (y.tan(), x.sinh());
    let beta = t.mul_add(t, 1.0);
    let rho = s.mul_add(s, 1.0).sqrt();
    if t.is_infinite() {
        return C128::new(rho / s, 1.0 / t);
    }
    let below = beta * s * s + 1.0;
    C128::new(beta * rho * s / below, t / below)
}

/// The sine.
pub fn sin(z: C128) -> C128 {
    turned_back(sinh(turned(z)))
}

/// The cosine.
pub fn cos(z: C128) -> C128 {
    cosh(turned(z))
}

/// The tangent.
pub fn tan(z: C128) -> C128 {
    turned_back(tanh(turned(z)))
}

/// What arcsine and arccosine share, for the quadrant in which both parts are not negative.
struct Arc {
    /// The real part of the arcsine.
    sine: f64,
    /// The real part of the arccosine.
    cosine: f64,
    /// The magnitude of either's imaginary part.
    imaginary: f64,
}

impl Arc {
    fn of(x: f64, y: f64) -> Arc {
        if x > HUGE || y > HUGE {
            let imaginary = (x / 2.0).hypot(y / 2.0).ln() + 2.0 * LN_2;
            return Arc { sine: x.atan2(y), cosine: y.atan2(x), imaginary };
        }
        let (r, s) = ((x + 1.0).hypot(y), (x - 1.0).hypot(y));
        let a = 0.5 * (r + s);
        let b = x / a;
        // Above this ratio asin and acos of it lose digits; tangents of the same angles do not.
        let (sine, cosine) = if b <= 0.6417 {
            (b.asin(), b.acos())
        } else {
            let sum = a + x;
            let rest = if x <= 1.0 {
                (0.5 * sum * (y * y / (r + x + 1.0) + (s + (1.0 - x)))).sqrt()
            } else {
                y * (0.5 * (sum / (r + x + 1.0) + sum / (s + (x - 1.0)))).sqrt()
            };
            (x.atan2(rest), rest.atan2(x))
        };
        Arc { sine, cosine, imaginary: Arc::imaginary(x, y, a, r, s) }
    }

    fn imaginary(x: f64, y: f64, a: f64, r: f64, s: f64) -> f64 {
        if a > 1.5 {
            return (a + (a * a - 1.0).sqrt()).ln();
        }
        if y < 1.0 / HUGE && x < 1.0 {
            return y / ((1.0 - x) * (1.0 + x)).sqrt();
        }
        let over = y * y / (r + x + 1.0);
        let excess = if x < 1.0 { 0.5 * (over + y * y / (s + (1.0 - x))) } else { 0.5 * (over + (s + (x - 1.0))) };
        (excess + (excess * (a + 1.0)).sqrt()).ln_1p()
    }
}

/// The inverse hyperbolic sine.
pub fn asinh(z: C128) -> C128 {
    let (x, y) = (z.re, z.im);
    let (re, im) = match (x, y) {
        _ if x.is_infinite() && y.is_infinite() => (f64::INFINITY, FRAC_PI_4),
        _ if x.is_infinite() => (f64::INFINITY, if y.is_nan() { f64::NAN } else { 0.0 }),
        _ if y.is_infinite() => (f64::INFINITY, if x.is_nan() { f64::NAN } else { FRAC_PI_2 }),
        _ if x.is_nan() || y.is_nan() => (f64::NAN, if y == 0.0 { y } else { f64::NAN }),
        // asinh z = i asin(-i z): the parts change places.
        _ => {
            let arc = Arc::of(y.abs(), x.abs());
            (arc.imaginary, arc.sine)
        }
    };
    C128::new(re.copysign(x), im.copysign(y))
}

/// The arcsine.
pub fn asin(z: C128) -> C128 {
    turned_back(asinh(turned(z)))
}

/// The arccosine.
pub fn acos(z: C128) -> C128 {
    let (x, y) = (z.re, z.im);
    let reflect = |angle: f64| if x.is_sign_negative() { PI - angle } else { angle };
    let (re, im) = match (x, y) {
        _ if x.is_infinite() && y.is_infinite() => (reflect(FRAC_PI_4), f64::INFINITY),
        _ if x.is_infinite() => (if y.is_nan() { f64::NAN } else { reflect(0.0) }, f64::INFINITY),
        _ if y.is_infinite() => (if x.is_nan() { f64::NAN } else { FRAC_PI_2 }, f64::INFINITY),
        _ if x.is_nan() || y.is_nan() => (if x == 0.0 { FRAC_PI_2 } else { f64::NAN }, f64::NAN),
        _ => {
            let arc = Arc::of(x.abs(), y.abs());
            (reflect(arc.cosine), arc.imaginary)
        }
    };
    C128::new(re, -im.copysign(y))
}

/// The inverse hyperbolic cosine.
pub fn acosh(z: C128) -> C128 {
    let w = acos(z);
    C128::new(w.im.abs(), w.re.copysign(z.im))
}

/// The inverse hyperbolic tangent.
pub fn atanh(z: C128) -> C128 {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (re, im) = if x.is_infinite() || y.is_infinite() {
        (0.0, if y.is_nan() { f64::NAN } else { FRAC_PI_2 })
    } else if x.is_nan() || y.is_nan() {
        (if x == 0.0 { 0.0 } else { f64::NAN }, f64::NAN)
    } else if x > HUGE || y > HUGE {
        let magnitude = (x / 2.0).hypot(y / 2.0) * 2.0;
        (x / magnitude / magnitude, FRAC_PI_2)
    } else if x == 1.0 && y < 1.0 / HUGE {
        (0.5 * (LN_2 - y.ln()), if y == 0.0 { 0.0 } else { FRAC_PI_4 })
    } else {
        let from_one = 1.0 - x;
        let re = 0.25 * (4.0 * x / from_one.mul_add(from_one, y * y)).ln_1p();
        (re, 0.5 * (2.0 * y).atan2(from_one * (1.0 + x) - y * y))
    };
    C128::new(re.copysign(z.re), im.copysign(z.im))
}

/// The arctangent.
pub fn atan(z: C128) -> C128 {
    turned_back(atanh(turned(z)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: C128, b: C128) {
        let apart = (a - b).norm();
        assert!(apart <= 4.0 * f64::EPSILON * b.norm().max(f64::MIN_POSITIVE), "{a} is not {b}");
    }

    #[test]
    fn inverses_undo_their_functions() {
        for (x, y) in [(0.3, 0.4), (-1.2, 0.7), (0.9, -1.1), (1e-9, -0.2), (-0.4, 1e-12)] {
            let z = C128::new(x, y);
            near(sinh(asinh(z)), z);
            near(sin(asin(z)), z);
            near(cos(acos(z)), z);
            near(tan(atan(z)), z);
            near(tanh(atanh(z)), z);
            near(exp(ln(z)), z);
            near(sqrt(z) * sqrt(z), z);
        }
    }

    #[test]
    fn the_sign_of_a_zero_imaginary_part_chooses_the_side_of_a_cut() {
        let (above, below) = (C128::new(-2.0, 0.0), C128::new(-2.0, -0.0));
        assert_eq!((ln(above).im, ln(below).im), (PI, -PI));
        assert_eq!((sqrt(above).im, sqrt(below).im), (2_f64.sqrt(), -2_f64.sqrt()));
        assert!(acos(above).im < 0.0 && acos(below).im > 0.0);
        assert!(asin(above).im > 0.0 && asin(below).im < 0.0);
    }

    #[test]
    fn infinities_give_what_annex_g_says() {
        let inf = f64::INFINITY;
        assert_eq!(asinh(C128::new(inf, inf)), C128::new(inf, FRAC_PI_4));
        assert_eq!(acos(C128::new(-inf, 1.0)), C128::new(PI, -inf));
        assert_eq!(atanh(C128::new(1.0, 0.0)), C128::new(inf, 0.0));
        assert_eq!(exp(C128::new(-inf, inf)), C128::new(0.0, 0.0));
        assert_eq!(tanh(C128::new(inf, 1.0)), C128::new(1.0, 0.0));
    }
}
