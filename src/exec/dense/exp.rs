//! Elementary functions of `f32` over slices: exp, tanh, erf and what activations are made of.
//!
//! Each is a polynomial after a range reduction, in `f32` with fused multiply-add, without a branch, so that a loop over it
//! becomes vector code. The coefficients are minimax fits of our own. Largest errors,
//! over every 61st float: exp 1 ULP, tanh 1.5, erf 1.5, sigmoid 2.5 (down to -87; below, where e^-x overflows, it is 0, as PyTorch's).
//! NaN gives NaN; infinities, -0.0 and results below the smallest normal number come out as the
//! functions have them (denormal arguments are not flushed). `f64` has no such haste: use the standard library.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use super::simd::{Kernel, vectorised};

/// 1.5 * 2^23: adding it rounds to an integer, which the low bits then hold.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts; the first has few enough bits that its product with an exponent is exact.
const LN2_HIGH: f32 = 0.693_359_4;
const LN2_LOW: f32 = -2.121_944_4e-4;

#[inline(always)]
fn poly<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = 0.0;
    for c in coefficients.into_iter().rev() {
        sum = x.mul_add(sum, c);
    }
    sum
}

/// 2^n as a float, for n in -126..=127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// e^x.
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    const P: [f32; 6] = [0.5, 0.166_666_66, 0.041_666_295, 0.008_333_498, 0.001_394_470_5, 1.979_030_3e-4];
    let shifted = x.mul_add(LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let value = (r * r).mul_add(poly(r, P), r) + 1.0;
    // Two factors: one alone could not make a number below the smallest normal one, nor reach 2^128.
    let n = (shifted.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    let half = n >> 1;
    let value = value * power_of_two(half) * power_of_two(n.wrapping_sub(half));
    let value = if x > 88.722_84 { f32::INFINITY } else { value };
    if x < -103.972_08 { 0.0 } else { value }
}

/// tanh x.
#[inline(always)]
#[must_use]
pub fn tanh(x: f32) -> f32 {
    const P: [f32; 6] = [-0.333_333_3, 0.133_331_97, -0.053_945_52, 0.021_693_682, -0.008_159_557, 0.002_126_228_8];
    let magnitude = x.abs();
    let square = x * x;
    let small = (square * poly(square, P)).mul_add(x, x);
    let large = 1.0 - 2.0 / (exp(magnitude + magnitude) + 1.0);
    (if magnitude < 0.625 { small } else { large }).copysign(x)
}

/// The error function.
#[inline(always)]
#[must_use]
pub fn erf(x: f32) -> f32 {
    const SMALL: [f32; 7] =
        [0.128_379_17, -0.376_126_32, 0.112_836_875, -0.026_858_944, 0.005_199_911_5, -8.130_055_5e-4, 8.316_927e-5];
    // ln(1 - erf x) on 0.92..4.
    const LARGE: [f32; 8] = [
        1.758_745_6e-4,
        -1.129_520_8,
        -0.633_334_64,
        -0.108_293_94,
        0.025_128_625,
        -0.004_174_643,
        4.352_188_8e-4,
        -2.116_190_6e-5,
    ];
    let magnitude = x.abs();
    let small = x.mul_add(poly(x * x, SMALL), x);
    // Beyond 4 the result is 1 to the last bit.
    let capped = if magnitude > 4.0 { 4.0 } else { magnitude };
    let large = 1.0 - exp(poly(capped, LARGE));
    let value = if magnitude < 0.93 { small } else { large.copysign(x) };
    if x.is_nan() { x } else { value }
}

/// 1 / (1 + e^-x).
#[inline(always)]
#[must_use]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// x / (1 + e^-x).
#[inline(always)]
#[must_use]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

/// x * (1 + erf(x / sqrt 2)) / 2.
#[inline(always)]
#[must_use]
pub fn gelu(x: f32) -> f32 {
    x * 0.5 * (1.0 + erf(x * FRAC_1_SQRT_2))
}

/// x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2.
#[inline(always)]
#[must_use]
pub fn gelu_tanh(x: f32) -> f32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    let inner = SQRT_2_OVER_PI * (x * x * x).mul_add(0.044_715, x);
    0.5 * x * (1.0 + tanh(inner))
}

/// Applies a function to each element of the first slice into the second; what is longer is left alone.
struct Map<F>(std::marker::PhantomData<F>);

/// A function of one number, as a type.
trait Function {
    fn eval(x: f32) -> f32;
}

impl<F: Function> Kernel<(&[f32], &mut [f32])> for Map<F> {
    type Output = ();

    #[inline(always)]
    fn run((x, out): (&[f32], &mut [f32])) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = F::eval(x);
        }
    }
}

impl<F: Function> Kernel<&mut [f32]> for Map<F> {
    type Output = ();

    #[inline(always)]
    fn run(x: &mut [f32]) {
        for x in x {
            *x = F::eval(*x);
        }
    }
}

macro_rules! over_slices {
    ($($slice:ident $in_place:ident $function:ident $marker:ident;)*) => {$(
        struct $marker;
        impl Function for $marker {
            #[inline(always)]
            fn eval(x: f32) -> f32 {
                $function(x)
            }
        }
        #[doc = concat!("[`", stringify!($function), "`] of each element of `x` into `out`, as far as both reach.")]
        pub fn $slice(x: &[f32], out: &mut [f32]) {
            vectorised::<Map<$marker>, _>((x, out));
        }
        #[doc = concat!("[`", stringify!($function), "`] of each element, in place.")]
        pub fn $in_place(x: &mut [f32]) {
            vectorised::<Map<$marker>, _>(x);
        }
    )*};
}

over_slices! {
    exp_slice exp_in_place exp Exp;
    tanh_slice tanh_in_place tanh Tanh;
    erf_slice erf_in_place erf Erf;
    sigmoid_slice sigmoid_in_place sigmoid Sigmoid;
    silu_slice silu_in_place silu Silu;
    gelu_slice gelu_in_place gelu Gelu;
    gelu_tanh_slice gelu_tanh_in_place gelu_tanh GeluTanh;
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn ulps(got: f32, want: f64) -> f64 {
        let rounded = want as f32;
        if got == rounded || (got.is_nan() && rounded.is_nan()) {
            return 0.0;
        }
        if !got.is_finite() || !rounded.is_finite() {
            return f64::INFINITY;
        }
        let unit = (f64::from(f32::from_bits(rounded.abs().to_bits().max(1) & !0x7f_ffff)) * 2_f64.powi(-23))
            .max(f64::from(f32::from_bits(1)));
        (f64::from(got) - want).abs() / unit
    }

    /// Largest error in ULP over every `step`th float, signs and all exponents included.
    fn worst(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64, step: usize) -> (f64, f32) {
        (0..=u32::MAX)
            .step_by(step)
            .map(f32::from_bits)
            .filter(|x| !x.is_nan())
            .map(|x| (ulps(f(x), exact(f64::from(x))), x))
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    }

    /// A sum of positive terms: erf x = 2 / sqrt(pi) * e^(-x^2) * sum of 2^n x^(2n+1) / (2n+1)!!.
    fn exact_erf(x: f64) -> f64 {
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while n < 200.0 && x.abs() < 6.0 {
            n += 2.0;
            term *= 2.0 * x * x / n;
            sum += term;
        }
        if x.abs() < 6.0 { std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum } else { x.signum() }
    }

    #[test]
    fn functions_keep_their_promised_error() {
        let step = std::env::var("AIRLOCK_ULP_STEP").ok().and_then(|s| s.parse().ok()).unwrap_or(100_003);
        let sigmoid_in_range = |x: f32| if x < -87.0 { 0.0 } else { sigmoid(x) };
        let exact_sigmoid = |x: f64| if x < -87.0 { 0.0 } else { 1.0 / (1.0 + (-x).exp()) };
        for (name, (error, at), limit) in [
            ("exp", worst(exp, f64::exp, step), 1.0),
            ("tanh", worst(tanh, f64::tanh, step), 2.0),
            ("erf", worst(erf, exact_erf, step), 2.0),
            ("sigmoid", worst(sigmoid_in_range, exact_sigmoid, step), 2.5),
        ] {
            assert!(error <= limit, "{name}({at:e}) is off by {error} ULP");
            eprintln!("{name}: {error:.3} ULP at {at:e}");
        }
    }

    #[test]
    fn special_values_are_the_functions_own() {
        let inf = f32::INFINITY;
        assert_eq!((exp(-inf), exp(inf), exp(0.0), exp(-0.0)), (0.0, inf, 1.0, 1.0));
        assert_eq!((tanh(-inf), tanh(inf)), (-1.0, 1.0));
        assert_eq!((erf(-inf), erf(inf)), (-1.0, 1.0));
        assert_eq!((sigmoid(-inf), sigmoid(inf), sigmoid(0.0)), (0.0, 1.0, 0.5));
        for f in [exp, tanh, erf, sigmoid, silu, gelu, gelu_tanh] {
            assert!(f(f32::NAN).is_nan());
        }
        assert_eq!(tanh(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(erf(-0.0).to_bits(), (-0.0_f32).to_bits());
        assert_eq!((tanh(1e-40), tanh(-1e-40)), (1e-40, -1e-40));
        assert!(silu(-inf).is_nan());
        assert!(exp(-100.0) > 0.0);
    }

    #[test]
    fn slices_and_single_values_agree() {
        let x: Vec<f32> = (0..1000).map(|i| (i as f32 - 500.0) / 37.0).collect();
        let mut out = vec![0.0; 999];
        gelu_slice(&x, &mut out);
        let close = |a: f32, b: f32| (a - b).abs() <= 1e-6 * b.abs().max(1e-6);
        assert!(out.iter().zip(&x).all(|(&o, &x)| close(o, gelu(x))));
        let mut again = x.clone();
        exp_in_place(&mut again);
        assert!(again.iter().zip(&x).all(|(&o, &x)| close(o, exp(x))));
    }
}
