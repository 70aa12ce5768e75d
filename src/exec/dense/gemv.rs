//! Products of a matrix and a vector: bound by reading the matrix once, so not the matrix kernel's business.

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, Axis};
use rayon::prelude::*;

use super::Scalar;
use super::simd::{Kernel, LANES, fold_lanes, join_lanes, vectorised};

/// Elements of the matrix below which one thread does it.
const MIN_PARALLEL: usize = 1 << 15;
/// Elements of the result that one task of the column order computes: they stay in the first cache.
const STRIP: usize = 2048;

/// `y = alpha * a * x + beta * y`, without reading `y` if `beta` is 0. Sizes fit.
pub(super) fn gemv<T: Scalar>(
    threads: usize,
    alpha: T,
    a: &ArrayView2<'_, T>,
    x: &ArrayView1<'_, T>,
    beta: T,
    y: ArrayViewMut1<'_, T>,
) {
    let x = contiguous(x);
    let mut sums = vec![T::zero(); a.nrows()];
    let parallel = threads > 1 && a.len() >= MIN_PARALLEL;
    if a.strides().first() == Some(&1) && a.ncols() > 1 && a.strides().get(1) != Some(&1) {
        let strip = |(i, part): (usize, &mut [T])| {
            let from = i.saturating_mul(STRIP);
            for (column, &factor) in a.columns().into_iter().zip(&x) {
                if let Some(column) = column.to_slice().and_then(|c| c.get(from..)) {
                    vectorised::<Axpy, _>((factor, column, &mut *part));
                }
            }
        };
        if parallel {
            sums.par_chunks_mut(STRIP).enumerate().for_each(strip);
        } else {
            sums.chunks_mut(STRIP).enumerate().for_each(strip);
        }
    } else {
        let rows: Vec<_> = a.axis_iter(Axis(0)).collect();
        let row = |(sum, row): (&mut T, &ArrayView1<'_, T>)| *sum = dot_view(row, &x);
        if parallel {
            sums.par_iter_mut().zip(rows.par_iter()).with_min_len(8).for_each(row);
        } else {
            sums.iter_mut().zip(&rows).for_each(row);
        }
    }
    store(alpha, &sums, beta, y);
}

fn contiguous<T: Copy>(x: &ArrayView1<'_, T>) -> Vec<T> {
    match x.to_slice() {
        Some(x) => x.to_vec(),
        None => x.iter().copied().collect(),
    }
}

fn dot_view<T: Scalar>(row: &ArrayView1<'_, T>, x: &[T]) -> T {
    match row.to_slice() {
        Some(row) => vectorised::<Dot, _>((row, x)),
        None => row.iter().zip(x).fold(T::zero(), |sum, (&r, &x)| r.fused(x, sum)),
    }
}

fn store<T: Scalar>(alpha: T, sums: &[T], beta: T, y: ArrayViewMut1<'_, T>) {
    let one = T::one();
    for (y, &sum) in y.into_iter().zip(sums) {
        let scaled = if alpha == one { sum } else { alpha.times(sum) };
        *y = if beta == T::zero() { scaled } else { beta.fused(*y, scaled) };
    }
}

/// The dot product of two slices, with [`LANES`] sums side by side.
pub(super) struct Dot;

impl<T: Scalar> Kernel<(&[T], &[T])> for Dot {
    type Output = T;

    #[inline(always)]
    fn run((a, b): (&[T], &[T])) -> T {
        let mut lanes = [T::zero(); LANES];
        let ((whole_a, rest_a), (whole_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in whole_a.iter().zip(whole_b) {
            for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
                *lane = a.fused(b, *lane);
            }
        }
        for ((lane, &a), &b) in lanes.iter_mut().zip(rest_a).zip(rest_b) {
            *lane = a.fused(b, *lane);
        }
        join_lanes(&mut lanes, T::plus)
    }
}

/// `y += factor * x`.
pub(super) struct Axpy;

impl<T: Scalar> Kernel<(T, &[T], &mut [T])> for Axpy {
    type Output = ();

    #[inline(always)]
    fn run((factor, x, y): (T, &[T], &mut [T])) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = factor.fused(x, *y);
        }
    }
}

/// The sum of a slice, with [`LANES`] sums side by side.
pub(super) struct Sum;

impl<T: Scalar> Kernel<&[T]> for Sum {
    type Output = T;

    #[inline(always)]
    fn run(x: &[T]) -> T {
        fold_lanes(x, T::zero(), T::plus, T::plus)
    }
}
