//! The element types that the fast path computes in.

use ndarray::LinalgScalar;
use num_complex::Complex;

use super::panels::{self, Tiler};

/// A number that products are computed in: `f32`, `f64` and their complex numbers.
pub trait Scalar: LinalgScalar + PartialEq + Send + Sync {
    /// `self + other`.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// `self * other`.
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// `self * factor + term`; real numbers round once.
    #[must_use]
    fn fused(self, factor: Self, term: Self) -> Self;
    /// What computes tiles of products by panels, if there is one for these numbers on this machine.
    #[must_use]
    fn tiler() -> Option<Tiler<Self>> {
        None
    }
}

macro_rules! real {
    ($($t:ty, $tiler:expr);*) => {$(
        impl Scalar for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
            fn tiler() -> Option<Tiler<Self>> {
                $tiler
            }
        }
    )*};
}

macro_rules! complex {
    ($($t:ty),*) => {$(
        impl Scalar for Complex<$t> {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Complex::new(self.re + other.re, self.im + other.im)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Complex::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
            }
            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.times(factor).plus(term)
            }
        }
    )*};
}

real!(f32, panels::tiler(); f64, None);
complex!(f32, f64);
