//! Sums, products and extremes in every lane: what writing by index accumulates with.

use crate::exec::tensor::lane::{C64, C128, Lane};

/// A lane in which values are accumulated. Integers wrap; NaN is the largest and the smallest of floats.
pub trait Ring: Lane {
    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The product.
    fn times(self, other: Self) -> Self;
    /// This plus a product; of floats rounded once.
    fn plus_product(self, a: Self, b: Self) -> Self {
        self.plus(a.times(b))
    }
    /// The larger one; of complex numbers, which have no order, the first.
    fn larger(self, other: Self) -> Self;
    /// The smaller one; of complex numbers, which have no order, the first.
    fn smaller(self, other: Self) -> Self;
    /// The quotient; of integers rounded down, by 0 zero.
    fn over(self, other: Self) -> Self;
}

macro_rules! floats {
    ($t:ty) => {
        impl Ring for $t {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn plus_product(self, a: Self, b: Self) -> Self {
                a.mul_add(b, self)
            }
            fn larger(self, other: Self) -> Self {
                if self.is_nan() || self >= other { self } else { other }
            }
            fn smaller(self, other: Self) -> Self {
                if self.is_nan() || self <= other { self } else { other }
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
        }
    };
}

macro_rules! complex {
    ($t:ty) => {
        impl Ring for $t {
            fn plus(self, other: Self) -> Self {
                Self::new(self.re + other.re, self.im + other.im)
            }
            fn times(self, other: Self) -> Self {
                Self::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
            }
            fn larger(self, _: Self) -> Self {
                self
            }
            fn smaller(self, _: Self) -> Self {
                self
            }
            fn over(self, other: Self) -> Self {
                let scale = other.re * other.re + other.im * other.im;
                let (re, im) = (self.re * other.re + self.im * other.im, self.im * other.re - self.re * other.im);
                Self::new(re / scale, im / scale)
            }
        }
    };
}

floats!(f32);
floats!(f64);
complex!(C64);
complex!(C128);

impl Ring for i64 {
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    fn larger(self, other: Self) -> Self {
        self.max(other)
    }
    fn smaller(self, other: Self) -> Self {
        self.min(other)
    }
    fn over(self, other: Self) -> Self {
        let (Some(quotient), Some(rest)) = (self.checked_div(other), self.checked_rem(other)) else { return 0 };
        if rest != 0 && (rest < 0) != (other < 0) { quotient.saturating_sub(1) } else { quotient }
    }
}
