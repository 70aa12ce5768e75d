//! Incomplete gamma functions and the inverse of the normal distribution, in `f64`.

#![allow(clippy::arithmetic_side_effects, reason = "floats")]

use std::f64::consts::{PI, SQRT_2};

const PRECISION: f64 = 1e-16;

/// What neither a series nor a fraction says: outside of the domain, at its ends. The lower part; the upper one is the rest to 1.
fn at_an_end(a: f64, x: f64) -> Option<f64> {
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) || (a.is_infinite() && x.is_infinite())
    {
        return Some(f64::NAN);
    }
    if a == 0.0 || x.is_infinite() {
        return Some(1.0);
    }
    (x == 0.0 || a.is_infinite()).then_some(0.0)
}

/// `x^a e^-x / gamma(a)`.
fn factor(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - libm::lgamma(a)).exp()
}

fn by_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
    for _ in 0..100_000 {
        n += 1.0;
        term *= x / n;
        sum += term;
        if term < sum * PRECISION {
            break;
        }
    }
    sum * factor(a, x)
}

/// Lentz's way through the continued fraction of the upper part.
fn by_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..100_000 {
        let i = f64::from(i);
        let n = -i * (i - a);
        b += 2.0;
        let away = |v: f64| if v.abs() < TINY { TINY } else { v };
        d = 1.0 / away(n * d + b);
        c = away(b + n / c);
        h *= d * c;
        if (d * c - 1.0).abs() < PRECISION {
            break;
        }
    }
    h * factor(a, x)
}

/// Temme's expansion, its first correction: where `a` is large, lower and upper part.
fn of_large(a: f64, x: f64) -> (f64, f64) {
    let ratio = (x - a) / a;
    let half_square = ratio - ratio.ln_1p();
    let eta = (2.0 * half_square).max(0.0).sqrt().copysign(ratio);
    let correction = if eta.abs() < 1e-4 { -1.0 / 3.0 + eta / 12.0 } else { 1.0 / ratio - 1.0 / eta };
    let rest = (-a * half_square).exp() / (2.0 * PI * a).sqrt() * correction;
    let root = eta * (a / 2.0).sqrt();
    (0.5 * libm::erfc(-root) - rest, 0.5 * libm::erfc(root) + rest)
}

/// The regularized lower incomplete gamma function.
pub fn lower(a: f64, x: f64) -> f64 {
    match at_an_end(a, x) {
        Some(known) => known,
        None if a > 1e5 => of_large(a, x).0,
        None if x <= a + 1.0 => by_series(a, x),
        None => 1.0 - by_fraction(a, x),
    }
}

/// The regularized upper incomplete gamma function.
pub fn upper(a: f64, x: f64) -> f64 {
    match at_an_end(a, x) {
        Some(known) => 1.0 - known,
        None if a > 1e5 => of_large(a, x).1,
        None if x <= a + 1.0 => 1.0 - by_series(a, x),
        None => by_fraction(a, x),
    }
}

/// Below which number a part `p` of the normal distribution lies: a guess by its tail or its middle, then Halley's iteration.
pub fn ndtri(p: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -ndtri(1.0 - p);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 0.5 {
        return 0.0;
    }
    let t = (-2.0 * p.ln()).sqrt();
    let mut x = -(t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308))));
    for _ in 0..4 {
        // Relative to what lies below, so that tails count as much as the middle.
        let below = 0.5 * libm::erfc(-x / SQRT_2);
        let density = (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
        let step = (below - p) / density;
        x -= step / (1.0 + 0.5 * x * step);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn both_parts_are_one_together_and_known_values_are_met() {
        near(lower(1.0, 2.0), 1.0 - (-2.0_f64).exp(), 1e-14);
        near(upper(0.5, 4.0), libm::erfc(2.0), 1e-13);
        near(lower(0.5, 0.25), libm::erf(0.5), 1e-13);
        for (a, x) in [(0.3, 0.1), (2.0, 9.0), (50.0, 40.0), (1000.0, 1010.0), (99_999.0, 1e5), (100_001.0, 1e5)] {
            near(lower(a, x) + upper(a, x), 1.0, 1e-12);
        }
        near(lower(99_999.9, 1e5), lower(100_000.1, 1e5), 1e-2);
        assert!(lower(-1.0, 2.0).is_nan() && lower(0.0, 0.0).is_nan() && upper(0.0, 0.0).is_nan());
        assert!(lower(0.0, 1.0) == 1.0 && upper(2.0, 0.0) == 1.0 && lower(2.0, f64::INFINITY) == 1.0);
    }

    #[test]
    fn ndtri_turns_the_distribution_round() {
        for x in [-30.0, -8.0, -3.0, -1.0, -0.1, 0.2, 2.0] {
            near(ndtri(0.5 * libm::erfc(-x / SQRT_2)), x, 1e-12);
        }
        assert!(ndtri(0.0) == f64::NEG_INFINITY && ndtri(1.0) == f64::INFINITY && ndtri(1.1).is_nan());
        assert!(ndtri(0.5) == 0.0);
    }
}
