//! Lanes: the five types that kernels compute in.
//!
//! A tensor of a narrow float dtype is computed in `f32`, one of integers or booleans in `i64` (which wraps when it is stored), as PyTorch's
//! CPU kernels do. A kernel is written for lanes; `element` reads and writes storage through them.

use bytemuck::Pod;
use half::{bf16, f16};
use num_complex::Complex;

use crate::graph::Dtype;

/// A complex number of two `f32`.
pub type C64 = Complex<f32>;
/// A complex number of two `f64`.
pub type C128 = Complex<f64>;

/// Which lane a dtype is computed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneKind {
    /// `f32`: f32 and all narrower floats.
    F32,
    /// `f64`.
    F64,
    /// `i64`: integers and booleans.
    I64,
    /// Complex of `f32` (and of `f16`).
    C64,
    /// Complex of `f64`.
    C128,
}

impl LaneKind {
    /// Returns the lane of a dtype.
    pub fn of(dtype: Dtype) -> LaneKind {
        match dtype {
            Dtype::F64 => LaneKind::F64,
            Dtype::C128 => LaneKind::C128,
            d if d.is_complex() => LaneKind::C64,
            d if d.is_float() => LaneKind::F32,
            _ => LaneKind::I64,
        }
    }
}

/// A type that kernels compute in.
pub trait Lane: Pod + PartialEq + Default + Send + Sync {
    /// The dtype that is stored as this very type.
    const DTYPE: Dtype;
    /// Converts an `f32`.
    fn from_f32(v: f32) -> Self;
    /// Converts an `f64`.
    fn from_f64(v: f64) -> Self;
    /// Converts a signed integer.
    fn from_i64(v: i64) -> Self;
    /// Converts an unsigned integer.
    fn from_u64(v: u64) -> Self;
    /// Converts a complex number; real lanes drop the imaginary part.
    fn from_complex(v: C128) -> Self;
    /// Converts to `f32`; the imaginary part is dropped.
    fn to_f32(self) -> f32;
    /// Converts to `f64`; the imaginary part is dropped.
    fn to_f64(self) -> f64;
    /// Converts to a signed integer of 64 bits as x86-64 does: what does not fit is `i64::MIN`.
    fn to_i64(self) -> i64;
    /// Converts to a signed integer of 32 bits as x86-64 does: what does not fit is `i32::MIN`.
    fn to_i32(self) -> i32;
    /// Converts to an unsigned integer of 64 bits.
    fn to_u64(self) -> u64;
    /// Converts to a complex number.
    fn to_complex(self) -> C128;
    /// Returns whether the value counts as true.
    fn truth(self) -> bool;
    /// Returns the complex conjugate.
    fn conj(self) -> Self;
    /// Returns the negated value.
    fn negate(self) -> Self;
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn f64_to_i64(v: f64) -> i64 {
    // 2^63 is the first value that does not fit; NaN fails both comparisons.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&v);
    if fits { v as i64 } else { i64::MIN }
}

#[allow(clippy::cast_possible_truncation)]
fn f64_to_i32(v: f64) -> i32 {
    if v > -2_147_483_649.0 && v < 2_147_483_648.0 { v as i32 } else { i32::MIN }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn f64_to_u64(v: f64) -> u64 {
    if v < 9_223_372_036_854_775_808.0 { f64_to_i64(v) as u64 } else { v as u64 }
}

macro_rules! real_lane {
    ($t:ty, $dtype:ident) => {
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_lossless)]
        impl Lane for $t {
            const DTYPE: Dtype = Dtype::$dtype;
            #[inline]
            fn from_f32(v: f32) -> Self {
                v as $t
            }
            #[inline]
            fn from_f64(v: f64) -> Self {
                v as $t
            }
            #[inline]
            fn from_i64(v: i64) -> Self {
                v as $t
            }
            #[inline]
            fn from_u64(v: u64) -> Self {
                v as $t
            }
            #[inline]
            fn from_complex(v: C128) -> Self {
                v.re as $t
            }
            #[inline]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline]
            fn to_i64(self) -> i64 {
                f64_to_i64(self as f64)
            }
            #[inline]
            fn to_i32(self) -> i32 {
                f64_to_i32(self as f64)
            }
            #[inline]
            fn to_u64(self) -> u64 {
                f64_to_u64(self as f64)
            }
            #[inline]
            fn to_complex(self) -> C128 {
                C128::new(self as f64, 0.0)
            }
            #[inline]
            fn truth(self) -> bool {
                self != 0.0
            }
            #[inline]
            fn conj(self) -> Self {
                self
            }
            #[inline]
            fn negate(self) -> Self {
                -self
            }
        }
    };
}

real_lane!(f32, F32);
real_lane!(f64, F64);

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_possible_wrap)]
#[allow(clippy::cast_sign_loss)]
impl Lane for i64 {
    const DTYPE: Dtype = Dtype::I64;
    #[inline]
    fn from_f32(v: f32) -> Self {
        f64_to_i64(f64::from(v))
    }
    #[inline]
    fn from_f64(v: f64) -> Self {
        f64_to_i64(v)
    }
    #[inline]
    fn from_i64(v: i64) -> Self {
        v
    }
    #[inline]
    fn from_u64(v: u64) -> Self {
        v as i64
    }
    #[inline]
    fn from_complex(v: C128) -> Self {
        f64_to_i64(v.re)
    }
    #[inline]
    fn to_f32(self) -> f32 {
        self as f32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self as f64
    }
    #[inline]
    fn to_i64(self) -> i64 {
        self
    }
    #[inline]
    fn to_i32(self) -> i32 {
        self as i32
    }
    #[inline]
    fn to_u64(self) -> u64 {
        self as u64
    }
    #[inline]
    fn to_complex(self) -> C128 {
        C128::new(self as f64, 0.0)
    }
    #[inline]
    fn truth(self) -> bool {
        self != 0
    }
    #[inline]
    fn conj(self) -> Self {
        self
    }
    #[inline]
    fn negate(self) -> Self {
        self.wrapping_neg()
    }
}

macro_rules! complex_lane {
    ($t:ty, $part:ty, $dtype:ident) => {
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_lossless)]
        impl Lane for $t {
            const DTYPE: Dtype = Dtype::$dtype;
            #[inline]
            fn from_f32(v: f32) -> Self {
                Self::new(v as $part, 0.0)
            }
            #[inline]
            fn from_f64(v: f64) -> Self {
                Self::new(v as $part, 0.0)
            }
            #[inline]
            fn from_i64(v: i64) -> Self {
                Self::new(v as $part, 0.0)
            }
            #[inline]
            fn from_u64(v: u64) -> Self {
                Self::new(v as $part, 0.0)
            }
            #[inline]
            fn from_complex(v: C128) -> Self {
                Self::new(v.re as $part, v.im as $part)
            }
            #[inline]
            fn to_f32(self) -> f32 {
                self.re as f32
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self.re as f64
            }
            #[inline]
            fn to_i64(self) -> i64 {
                f64_to_i64(self.re as f64)
            }
            #[inline]
            fn to_i32(self) -> i32 {
                f64_to_i32(self.re as f64)
            }
            #[inline]
            fn to_u64(self) -> u64 {
                f64_to_u64(self.re as f64)
            }
            #[inline]
            fn to_complex(self) -> C128 {
                C128::new(self.re as f64, self.im as f64)
            }
            #[inline]
            fn truth(self) -> bool {
                self.re != 0.0 || self.im != 0.0
            }
            #[inline]
            fn conj(self) -> Self {
                Self::new(self.re, -self.im)
            }
            #[inline]
            fn negate(self) -> Self {
                -self
            }
        }
    };
}

complex_lane!(C64, f32, C64);
complex_lane!(C128, f64, C128);

/// Rounds a value to what `dtype` can hold, staying in its lane: what storing and reading back gives.
pub fn round_f32(dtype: Dtype, v: f32) -> f32 {
    match dtype {
        Dtype::Bf16 => bf16::from_f32(v).to_f32(),
        Dtype::F16 => f16::from_f32(v).to_f32(),
        _ => crate::exec::tensor::element::through(dtype, v),
    }
}

/// Returns what rounds to a dtype that is narrower than its lane; lanes that are stored as they are stay.
pub fn rounding<L: Lane>(dtype: Dtype) -> impl Fn(L) -> L + Sync {
    let narrow = dtype.is_float() && dtype != L::DTYPE;
    move |v| if narrow { L::from_f32(round_f32(dtype, v.to_f32())) } else { v }
}

/// Runs `$body` with `$L` as the lane type of a dtype.
macro_rules! with_lane {
    ($dtype:expr, $L:ident => $body:expr) => {
        match $crate::exec::tensor::lane::LaneKind::of($dtype) {
            $crate::exec::tensor::lane::LaneKind::F32 => {
                type $L = f32;
                $body
            }
            $crate::exec::tensor::lane::LaneKind::F64 => {
                type $L = f64;
                $body
            }
            $crate::exec::tensor::lane::LaneKind::I64 => {
                type $L = i64;
                $body
            }
            $crate::exec::tensor::lane::LaneKind::C64 => {
                type $L = $crate::exec::tensor::lane::C64;
                $body
            }
            $crate::exec::tensor::lane::LaneKind::C128 => {
                type $L = $crate::exec::tensor::lane::C128;
                $body
            }
        }
    };
}
pub(in crate::exec) use with_lane;

/// Runs `$body` with `$L` as the lane type of a real float dtype; for another dtype gives a fault that says what is refused.
macro_rules! with_float_lane {
    ($dtype:expr, $what:literal, $L:ident => $body:expr) => {
        match $crate::exec::tensor::lane::LaneKind::of($dtype) {
            $crate::exec::tensor::lane::LaneKind::F32 => {
                type $L = f32;
                $body
            }
            $crate::exec::tensor::lane::LaneKind::F64 => {
                type $L = f64;
                $body
            }
            _ => Err($crate::ops::CallFault::Unsupported { what: format!("{} of {}", $what, $dtype.long()) }),
        }
    };
}
pub(in crate::exec) use with_float_lane;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_integers_as_x86_64_does_it() {
        assert_eq!(i64::from_f32(f32::NAN), i64::MIN);
        assert_eq!(i64::from_f64(1e19), i64::MIN);
        assert_eq!(3e9_f32.to_i32(), i32::MIN);
        assert_eq!((-1.9_f32).to_i32(), -1);
        assert_eq!(1e19_f64.to_u64(), 10_000_000_000_000_000_000);
    }
}
