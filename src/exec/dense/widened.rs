//! Products outside the kernel's types: reduced precision, computed in `f32` and rounded once, and integers that wrap around.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::gemm::product;
use super::simd::{Kernel, vectorised};
use super::{DenseError, Mat, MatMut};

/// Rows and columns of a block of the result: its widened operands stay in the second-level cache.
const BLOCK: usize = 256;
/// Longest piece of the inner dimension that is widened at once.
const DEPTH: usize = 1024;

/// A number of fewer bits that is computed with in `f32`.
pub trait Reduced: Copy + Send + Sync {
    /// Exactly.
    fn widen(self) -> f32;
    /// Exactly, each element; the slices are of one length.
    fn widen_slice(from: &[Self], to: &mut [f32]);
    /// To the nearest, ties to even.
    fn round(value: f32) -> Self;
}

/// One kernel a format, so that the conversion becomes vector code.
struct Widen;

macro_rules! reduced {
    ($($t:ty: $widen:expr;)*) => {$(
        impl Kernel<(&[$t], &mut [f32])> for Widen {
            type Output = ();

            #[inline(always)]
            fn run((from, to): (&[$t], &mut [f32])) {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to = $widen(from.to_bits());
                }
            }
        }

        impl Reduced for $t {
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            fn widen_slice(from: &[Self], to: &mut [f32]) {
                vectorised::<Widen, _>((from, to));
            }
            #[inline(always)]
            fn round(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    )*};
}

reduced! {
    half::f16: widen_f16;
    half::bf16: widen_bf16;
}

#[inline(always)]
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Moves exponent and mantissa to their places in an `f32` and scales by the difference of the biases, which also makes small numbers
/// normal; only infinities and NaN need more.
#[inline(always)]
fn widen_f16(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let scaled = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    let magnitude = if bits & 0x7c00 == 0x7c00 { scaled.to_bits() | 0x7f80_0000 } else { scaled.to_bits() };
    f32::from_bits(magnitude | (bits & 0x8000) << 16)
}

/// An integer whose products and sums wrap around.
pub trait Wrapping: Copy + Send + Sync {
    /// Nothing added yet.
    const ZERO: Self;
    /// `sum + a * b`, modulo the type's width.
    #[must_use]
    fn accumulate(a: Self, b: Self, sum: Self) -> Self;
}

macro_rules! wrapping {
    ($($t:ty),*) => {$(
        impl Wrapping for $t {
            const ZERO: Self = 0;
            #[inline(always)]
            fn accumulate(a: Self, b: Self, sum: Self) -> Self {
                sum.wrapping_add(a.wrapping_mul(b))
            }
        }
    )*};
}

wrapping!(u8, i8, u16, i16, u32, i32, u64, i64);

fn fitting<A, B, C>(a: &Mat<'_, A>, b: &Mat<'_, B>, c: &MatMut<'_, C>) -> Result<(), DenseError> {
    DenseError::expect("the number of rows of the second matrix", a.cols(), b.rows())?;
    DenseError::expect("the number of rows of the result", a.rows(), c.rows())?;
    DenseError::expect("the number of columns of the result", b.cols(), c.cols())
}

/// `c = alpha * a * b + beta * c` with all products and sums in `f32`, rounded once; `beta == 0` does not read `c`.
///
/// Operands are widened block by block, so that scratch memory is some MB whatever their size.
pub fn gemm_reduced<T: Reduced>(
    alpha: f32,
    a: &Mat<'_, T>,
    b: &Mat<'_, T>,
    beta: f32,
    c: MatMut<'_, T>,
) -> Result<(), DenseError> {
    fitting(a, b, &c)?;
    let mut c = c.view;
    let (a, b) = (a.view, b.view);
    let rows: Vec<_> = c.axis_chunks_iter_mut(Axis(0), BLOCK).zip(a.axis_chunks_iter(Axis(0), BLOCK)).collect();
    let mut blocks = Vec::new();
    for (c, a) in rows {
        let mut c = Some(c);
        for b in b.axis_chunks_iter(Axis(1), BLOCK) {
            let Some(whole) = c.take() else { break };
            let (block, rest) = whole.split_at(Axis(1), b.ncols());
            c = Some(rest);
            blocks.push((block, a, b));
        }
    }
    blocks.into_par_iter().try_for_each(|(c, a, b)| reduced_block(alpha, a, b, beta, c))
}

fn reduced_block<T: Reduced>(
    alpha: f32,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: f32,
    c: ArrayViewMut2<'_, T>,
) -> Result<(), DenseError> {
    let mut sums = vec![0.0; c.len()];
    let (mut wide_a, mut wide_b) = (Vec::new(), Vec::new());
    for (a, b) in a.axis_chunks_iter(Axis(1), DEPTH).zip(b.axis_chunks_iter(Axis(0), DEPTH)) {
        let (a, b) = (widen_into(&a, &mut wide_a)?, widen_into(&b, &mut wide_b)?);
        product(1, 1.0, a, b, 1.0, MatMut::row_major(&mut sums, a.nrows(), b.ncols())?.view);
    }
    for (c, sum) in c.into_iter().zip(sums) {
        *c = T::round(if beta == 0.0 { alpha * sum } else { alpha * sum + beta * c.widen() });
    }
    Ok(())
}

/// A widened copy, in the order of memory.
fn widen_into<'a, T: Reduced>(
    source: &ArrayView2<'_, T>,
    buffer: &'a mut Vec<f32>,
) -> Result<ArrayView2<'a, f32>, DenseError> {
    let (rows, cols) = source.dim();
    let column_major = source.strides().first() < source.strides().get(1);
    let lines = if column_major { source.t() } else { source.view() };
    buffer.resize(source.len(), 0.0);
    for (line, to) in lines.outer_iter().zip(buffer.chunks_mut(lines.ncols().max(1))) {
        match line.to_slice() {
            Some(line) => T::widen_slice(line, to),
            None => to.iter_mut().zip(line).for_each(|(to, from)| *to = from.widen()),
        }
    }
    let (row, column) = if column_major { (1, rows) } else { (cols, 1) };
    Ok(Mat::new(buffer, rows, cols, row, column)?.view)
}

/// `c = a * b` modulo the integer's width; threads share the rows.
pub fn gemm_wrapping<T: Wrapping>(a: &Mat<'_, T>, b: &Mat<'_, T>, c: MatMut<'_, T>) -> Result<(), DenseError> {
    fitting(a, b, &c)?;
    let mut c = c.view;
    let mut rows: Vec<_> = c.outer_iter_mut().zip(a.view.outer_iter()).collect();
    rows.par_iter_mut().for_each(|(c, a)| {
        c.fill(T::ZERO);
        for (&a, b) in a.iter().zip(b.view.outer_iter()) {
            for (c, &b) in c.iter_mut().zip(b) {
                *c = T::accumulate(a, b, *c);
            }
        }
    });
    Ok(())
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use half::bf16;

    use super::*;

    #[test]
    fn reduced_products_are_rounded_once() {
        // In bf16 a running sum of ones would stop at 256.
        let ones = vec![bf16::ONE; 300 * 2];
        let mut c = [bf16::NAN; 4];
        let a = Mat::new(&ones, 2, 300, 300, 1).unwrap();
        gemm_reduced(1.0, &a, &a.clone().transposed(), 0.0, MatMut::row_major(&mut c, 2, 2).unwrap()).unwrap();
        assert_eq!(c, [bf16::from_f32(300.0); 4]);
    }

    #[test]
    fn blocks_of_any_size_make_the_whole_product() {
        let (m, k, n) = (300, 1100, 270);
        let a: Vec<bf16> = (0..m * k).map(|i| bf16::from_f32((i % 5) as f32 - 2.0)).collect();
        let b: Vec<bf16> = (0..n * k).map(|i| bf16::from_f32((i % 7) as f32 - 3.0)).collect();
        let mut c = vec![bf16::NAN; m * n];
        gemm_reduced(
            1.0,
            &Mat::row_major(&a, m, k).unwrap(),
            &Mat::new(&b, k, n, 1, k).unwrap(),
            0.0,
            MatMut::row_major(&mut c, m, n).unwrap(),
        )
        .unwrap();
        for (r, c_) in [(0, 0), (299, 269), (256, 255), (123, 257)] {
            let exact: f32 = (0..k).map(|x| a[r * k + x].to_f32() * b[c_ * k + x].to_f32()).sum();
            assert_eq!(c[r * n + c_], bf16::from_f32(exact));
        }
    }

    #[test]
    fn every_reduced_number_widens_exactly() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let mut wide = vec![0.0; all.len()];
        let f16s: Vec<half::f16> = all.iter().map(|&b| half::f16::from_bits(b)).collect();
        half::f16::widen_slice(&f16s, &mut wide);
        let same = |a: f32, b: f32| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(wide.iter().zip(&f16s).all(|(&w, h)| same(w, h.to_f32())));
        let bf16s: Vec<bf16> = all.iter().map(|&b| bf16::from_bits(b)).collect();
        bf16::widen_slice(&bf16s, &mut wide);
        assert!(wide.iter().zip(&bf16s).all(|(&w, h)| same(w, h.to_f32())));
    }

    #[test]
    fn integer_products_wrap_around() {
        let (a, b) = ([100_i8, 100], [100_i8, 1]);
        let mut c = [0_i8];
        let (a, b) = (Mat::row_major(&a, 1, 2).unwrap(), Mat::row_major(&b, 2, 1).unwrap());
        gemm_wrapping(&a, &b, MatMut::row_major(&mut c, 1, 1).unwrap()).unwrap();
        assert_eq!(i64::from(c[0]), (10_100_i64 + 128).rem_euclid(256) - 128);
    }
}
