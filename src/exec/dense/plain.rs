//! The plain path: textbook loops whose order of operations is written here, generic over the accumulator.
//!
//! Every sum starts at zero and goes left to right; every product is rounded before it is added (no fused operation), in the accumulator's
//! arithmetic. Nothing is skipped, nothing is parallel, nothing depends on the machine. Convolutions are in
//! [`super::plain_conv`].

use super::{DenseError, Mat};

/// A number that values of type `T` are summed in: as wide as `T` or wider.
pub trait Accumulator<T>: Copy {
    /// Nothing added yet.
    const ZERO: Self;
    /// The value, exactly.
    fn of(value: T) -> Self;
    /// `self + other`.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// `self * other`.
    #[must_use]
    fn times(self, other: Self) -> Self;
}

/// An accumulator that has the elementary functions that softmax and norms need.
pub trait RealAccumulator<T>: Accumulator<T> + PartialOrd {
    /// `self - other`.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// `self / other`.
    #[must_use]
    fn over(self, other: Self) -> Self;
    /// e to the power of `self`.
    #[must_use]
    fn exp(self) -> Self;
    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// The square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// A count, or a small constant.
    fn constant(value: f64) -> Self;
}

macro_rules! floats {
    ($($t:ty => $a:ty, $widen:expr;)*) => {$(
        impl Accumulator<$t> for $a {
            const ZERO: Self = 0.0;
            fn of(value: $t) -> Self {
                let widen: fn($t) -> $a = $widen;
                widen(value)
            }
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
        impl RealAccumulator<$t> for $a {
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
            fn exp(self) -> Self {
                <$a>::exp(self)
            }
            fn ln(self) -> Self {
                <$a>::ln(self)
            }
            fn sqrt(self) -> Self {
                <$a>::sqrt(self)
            }
            fn constant(value: f64) -> Self {
                value as $a
            }
        }
    )*};
}

floats! {
    f32 => f32, |v| v;
    f32 => f64, f64::from;
    f64 => f64, |v| v;
    half::f16 => f32, half::f16::to_f32;
    half::f16 => f64, half::f16::to_f64;
    half::bf16 => f32, half::bf16::to_f32;
    half::bf16 => f64, half::bf16::to_f64;
}

/// `out[r * columns + c]` = sum over k, from first to last, of `a[r, k] * b[k, c]`.
pub fn matmul<T: Copy, A: Accumulator<T>>(a: &Mat<'_, T>, b: &Mat<'_, T>, out: &mut [A]) -> Result<(), DenseError> {
    DenseError::expect("the number of rows of the second matrix", a.cols(), b.rows())?;
    DenseError::expect("the number of result elements", a.rows().saturating_mul(b.cols()), out.len())?;
    for (row, out) in a.view.outer_iter().zip(out.chunks_mut(b.cols().max(1))) {
        for (column, out) in b.view.columns().into_iter().zip(out) {
            *out = row.iter().zip(column).fold(A::ZERO, |sum, (&a, &b)| sum.plus(A::of(a).times(A::of(b))));
        }
    }
    Ok(())
}

/// The sum from first to last.
pub fn sum<T: Copy, A: Accumulator<T>>(x: &[T]) -> A {
    x.iter().fold(A::ZERO, |sum, &v| sum.plus(A::of(v)))
}

/// softmax of a row into `out`: largest element subtracted, one division an element. A NaN anywhere makes all NaN.
pub fn softmax_row<T: Copy, A: RealAccumulator<T>>(x: &[T], out: &mut [A]) -> Result<(), DenseError> {
    DenseError::expect("the number of output elements", x.len(), out.len())?;
    let Some(max) = largest::<T, A>(x) else { return Ok(()) };
    for (out, &v) in out.iter_mut().zip(x) {
        *out = A::of(v).minus(max).exp();
    }
    let total = out.iter().fold(A::ZERO, |sum, &v| sum.plus(v));
    for out in out {
        *out = out.over(total);
    }
    Ok(())
}

/// log-softmax of a row into `out`.
pub fn log_softmax_row<T: Copy, A: RealAccumulator<T>>(x: &[T], out: &mut [A]) -> Result<(), DenseError> {
    DenseError::expect("the number of output elements", x.len(), out.len())?;
    let Some(max) = largest::<T, A>(x) else { return Ok(()) };
    let total = x.iter().fold(A::ZERO, |sum, &v| sum.plus(A::of(v).minus(max).exp()));
    for (out, &v) in out.iter_mut().zip(x) {
        *out = A::of(v).minus(max).minus(total.ln());
    }
    Ok(())
}

/// The largest element, or a NaN if there is one.
fn largest<T: Copy, A: RealAccumulator<T>>(x: &[T]) -> Option<A> {
    let is_nan = |v: &A| v.partial_cmp(v).is_none();
    x.iter().map(|&v| A::of(v)).reduce(|max, v| if v > max || is_nan(&v) { v } else { max })
}

/// Mean, and mean of the squared distances from it, of a row.
pub fn moments<T: Copy, A: RealAccumulator<T>>(x: &[T]) -> (A, A) {
    let count = A::constant(x.len() as f64);
    let mean = sum::<T, A>(x).over(count);
    let squares = x.iter().fold(A::ZERO, |sum, &v| {
        let distance = A::of(v).minus(mean);
        sum.plus(distance.times(distance))
    });
    (mean, squares.over(count))
}

/// (x - mean) / sqrt(variance + eps) * weight + bias of a row.
pub fn layer_norm_row<T: Copy, A: RealAccumulator<T>>(
    x: &[T],
    weight: Option<&[T]>,
    bias: Option<&[T]>,
    eps: f64,
    out: &mut [A],
) -> Result<(), DenseError> {
    DenseError::expect("the number of output elements", x.len(), out.len())?;
    DenseError::expect("the number of weights", x.len(), weight.map_or(x.len(), <[T]>::len))?;
    DenseError::expect("the number of biases", x.len(), bias.map_or(x.len(), <[T]>::len))?;
    let (mean, variance) = moments::<T, A>(x);
    let deviation = variance.plus(A::constant(eps)).sqrt();
    for (out, &v) in out.iter_mut().zip(x) {
        *out = A::of(v).minus(mean).over(deviation);
    }
    for (out, &w) in out.iter_mut().zip(weight.unwrap_or(&[])) {
        *out = out.times(A::of(w));
    }
    for (out, &b) in out.iter_mut().zip(bias.unwrap_or(&[])) {
        *out = out.plus(A::of(b));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn sums_go_from_first_to_last() {
        // Left to right the small numbers are lost one by one; any other order keeps them.
        let mut x = vec![1.0_f32; 100];
        x[0] = 16_777_216.0;
        assert_eq!(sum::<f32, f32>(&x), 16_777_216.0);
        assert_eq!(sum::<f32, f64>(&x), 16_777_315.0);
    }

    #[test]
    fn products_are_summed_in_the_accumulator() {
        let x = [half::bf16::ONE; 300];
        let mut out = [0.0_f64];
        matmul(&Mat::row_major(&x, 1, 300).unwrap(), &Mat::row_major(&x, 300, 1).unwrap(), &mut out).unwrap();
        assert_eq!(out, [300.0]);
    }

    #[test]
    fn a_nan_makes_its_row_nan() {
        for x in [[f64::NAN, 1.0, 2.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]] {
            let mut out = [0.0; 3];
            softmax_row::<f64, f64>(&x, &mut out).unwrap();
            assert!(out.iter().all(|v: &f64| v.is_nan()));
        }
    }
}
