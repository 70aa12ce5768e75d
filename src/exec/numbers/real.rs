//! Real numbers of both widths: what formulas over `f32` and `f64` lanes are written in.
//!
//! Promises: every function is within 2 units in the last place over its whole domain; those of `f32` that the standard library lacks
//! are computed in `f64` and rounded once. Leaves complex numbers to `complex_math`, gamma functions to `special`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::exec::tensor::lane::Lane;

/// `f32` or `f64`.
pub trait Real:
    Lane
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Squares of larger numbers overflow, those of numbers below its inverse vanish.
    const HUGE: Self;
    /// Returns a constant in this width.
    fn of(v: f64) -> Self;
    /// Returns the value in `f64`.
    fn wide(self) -> f64;
    /// Returns the magnitude.
    fn abs(self) -> Self;
    /// Returns the integer part.
    fn trunc(self) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the hypotenuse of a right triangle with these legs.
    fn hypot(self, other: Self) -> Self;
    /// Returns `self * factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Returns e to this power.
    fn exp(self) -> Self;
    /// Returns e to this power, less 1.
    fn exp_m1(self) -> Self;
    /// Returns the natural logarithm.
    fn ln(self) -> Self;
    /// Returns the natural logarithm of 1 more.
    fn ln_1p(self) -> Self;
    /// Returns the sine.
    fn sin(self) -> Self;
    /// Returns the cosine.
    fn cos(self) -> Self;
    /// Returns the hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Returns this magnitude with the sign of another number.
    fn copysign(self, sign: Self) -> Self;
    /// Returns the error function.
    fn erf(self) -> Self;
    /// Returns infinity.
    fn infinity() -> Self {
        Self::of(f64::INFINITY)
    }
    /// Returns zero.
    fn zero() -> Self {
        Self::default()
    }
    /// Returns one.
    fn one() -> Self {
        Self::of(1.0)
    }
}

macro_rules! real {
    ($t:ident, $huge:expr, $erf:expr) => {
        #[allow(clippy::cast_possible_truncation, clippy::cast_lossless)]
        impl Real for $t {
            const HUGE: Self = $huge;
            #[inline]
            fn of(v: f64) -> Self {
                v as $t
            }
            #[inline]
            fn wide(self) -> f64 {
                self as f64
            }
            #[inline]
            fn hypot(self, other: Self) -> Self {
                $t::hypot(self, other)
            }
            #[inline]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                $t::mul_add(self, factor, term)
            }
            #[inline]
            fn erf(self) -> Self {
                $erf(self)
            }
            #[inline]
            fn copysign(self, sign: Self) -> Self {
                $t::copysign(self, sign)
            }
            real!($t: abs, trunc, sqrt, exp, exp_m1, ln, ln_1p, sin, cos, tanh);
        }
    };
    ($t:ident: $($f:ident),*) => {
        $(#[inline]
        fn $f(self) -> Self {
            $t::$f(self)
        })*
    };
}

real!(f32, 1e18, libm::erff);
real!(f64, 1e150, libm::erf);

/// Returns a function of `f64` as one of `f32`, rounded once.
#[allow(clippy::cast_possible_truncation)]
pub fn narrowed(f: impl Fn(f64) -> f64 + Sync) -> impl Fn(f32) -> f32 + Sync {
    move |v| f(f64::from(v)) as f32
}

/// Runs `$body` with `$R` as the real lane of a dtype; a dtype of another kind is a fault of the call.
macro_rules! with_real {
    ($cx:expr, $dtype:expr, $R:ident => $body:expr) => {
        match $crate::exec::tensor::lane::LaneKind::of($dtype) {
            $crate::exec::tensor::lane::LaneKind::F32 => {
                type $R = f32;
                $body
            }
            $crate::exec::tensor::lane::LaneKind::F64 => {
                type $R = f64;
                $body
            }
            _ => Err($crate::exec::numbers::real::not_real($cx, $dtype)),
        }
    };
}
pub(in crate::exec) use with_real;

/// Returns the fault of an operator that has no such dtype.
pub fn not_real(cx: &crate::exec::call::cx::Cx<'_, '_, '_>, dtype: crate::graph::Dtype) -> crate::ops::CallFault {
    cx.bad(0, "a float dtype", dtype.long())
}
