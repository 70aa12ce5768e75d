//! Matrix products `c = alpha * a * b + beta * c` in the element type, single and batched.
//!
//! Operands have any strides: a transposed one costs nothing. `beta == 0` does not read `c`, so that NaN in it is ignored; the
//! products and sums themselves never skip a NaN or an infinity. The order of additions over the inner dimension is the kernel's
//! (blocks of some hundreds), and does not depend on the number of threads: those share the rows or columns of `c`.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::gemv::gemv;
use super::panels;
use super::{Batch, BatchMut, DenseError, Mat, MatMut, Scalar};

/// Multiplications below which a second thread costs more than it brings.
pub(super) const MIN_PARALLEL: usize = 1 << 17;
/// Columns of the second matrix that the kernel packs at once; for each such block it packs the first matrix again.
const PACKED: usize = 1024;
/// Rows or columns of a result up to which only the matrix that has so few is laid out anew, where the other's lie in one piece.
const NARROW: usize = 128;
/// Rows or columns of a thread's share are a multiple of this: whole tiles of the kernel.
const TILE: usize = 16;

/// `c = alpha * a * b + beta * c`: `a` is m x k, `b` is k x n, `c` is m x n.
///
/// Uses the threads of the rayon pool that it is called in.
pub fn gemm<T: Scalar>(alpha: T, a: &Mat<'_, T>, b: &Mat<'_, T>, beta: T, c: MatMut<'_, T>) -> Result<(), DenseError> {
    DenseError::expect("the number of rows of the second matrix", a.cols(), b.rows())?;
    DenseError::expect("the number of rows of the result", a.rows(), c.rows())?;
    DenseError::expect("the number of columns of the result", b.cols(), c.cols())?;
    product(rayon::current_num_threads(), alpha, a.view, b.view, beta, c.view);
    Ok(())
}

/// `c[i] = alpha * a[i] * b[i] + beta * c[i]` for each matrix of a batch.
///
/// Threads share the batch where it has enough matrices, else the rows or columns of each.
pub fn gemm_batch<T: Scalar>(
    alpha: T,
    a: &Batch<'_, T>,
    b: &Batch<'_, T>,
    beta: T,
    mut c: BatchMut<'_, T>,
) -> Result<(), DenseError> {
    let (batch, m, k) = a.view.dim();
    let (batch_b, k_b, n) = b.view.dim();
    let (batch_c, m_c, n_c) = c.view.dim();
    DenseError::expect("the number of second matrices", batch, batch_b)?;
    DenseError::expect("the number of results", batch, batch_c)?;
    DenseError::expect("the number of rows of the second matrices", k, k_b)?;
    DenseError::expect("the number of rows of the results", m, m_c)?;
    DenseError::expect("the number of columns of the results", n, n_c)?;
    let threads = rayon::current_num_threads();
    let work = m.saturating_mul(k).saturating_mul(n).saturating_mul(batch);
    let mut jobs: Vec<_> = c.view.outer_iter_mut().zip(a.view.outer_iter().zip(b.view.outer_iter())).collect();
    if threads > 1 && batch >= threads && work >= MIN_PARALLEL {
        jobs.par_iter_mut().for_each(|(c, (a, b))| product(1, alpha, *a, *b, beta, c.view_mut()));
    } else {
        for (c, (a, b)) in jobs {
            product(threads, alpha, a, b, beta, c);
        }
    }
    Ok(())
}

/// The product of views whose sizes fit, by at most `threads` threads.
pub(super) fn product<T: Scalar>(
    threads: usize,
    alpha: T,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T,
    mut c: ArrayViewMut2<'_, T>,
) {
    let ((m, k), n) = (a.dim(), b.ncols());
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        scale(beta, &mut c);
        return;
    }
    if n == 1 {
        gemv(threads, alpha, &a, &b.index_axis(Axis(1), 0), beta, c.index_axis_mut(Axis(1), 0));
        return;
    }
    if m == 1 {
        gemv(threads, alpha, &b.t(), &a.index_axis(Axis(0), 0), beta, c.index_axis_mut(Axis(0), 0));
        return;
    }
    let small = m.saturating_mul(k).saturating_mul(n) < MIN_PARALLEL;
    let threads = if small { 1 } else { threads };
    if let Some(tiler) = T::tiler() {
        let whole = |a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, c: ArrayViewMut2<'_, T>| {
            panels::product(tiler, alpha, a, b, beta, c);
        };
        if n <= NARROW && a.strides().get(1) == Some(&1) {
            split(threads, &whole, a, b, c);
            return;
        }
        if m <= NARROW && b.strides().first() == Some(&1) {
            // Of few terms, columns are turned sooner when they are laid out than as results.
            if k < m && c.strides().get(1) == Some(&1) {
                split(threads, &whole, a, b, c);
            } else {
                split(threads, &whole, b.reversed_axes(), a.reversed_axes(), c.reversed_axes());
            }
            return;
        }
    }
    let whole = |a: ArrayView2<'_, T>, b: ArrayView2<'_, T>, mut c: ArrayViewMut2<'_, T>| {
        general_mat_mul(alpha, &a, &b, beta, &mut c);
    };
    // Of the exchanged transposes, where less is packed so: the same products, added in the same order.
    let packed = |rows: usize, columns: usize| rows.saturating_mul(columns.div_ceil(PACKED)).saturating_add(columns);
    if n > m && packed(n, m) <= packed(m, n) {
        split(threads, &whole, b.reversed_axes(), a.reversed_axes(), c.reversed_axes());
    } else {
        split(threads, &whole, a, b, c);
    }
}

/// Halves the longer side of `c` until each thread has a share: each packs the operand of the shorter side again.
pub(super) fn split<T: Scalar>(
    parts: usize,
    whole: &(impl Fn(ArrayView2<'_, T>, ArrayView2<'_, T>, ArrayViewMut2<'_, T>) + Sync),
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    c: ArrayViewMut2<'_, T>,
) {
    let (m, n) = c.dim();
    let first = parts / 2;
    let Some(at) = share(m.max(n), first, parts) else {
        whole(a, b, c);
        return;
    };
    let rest = parts.saturating_sub(first);
    if m >= n {
        let (a0, a1) = a.split_at(Axis(0), at);
        let (c0, c1) = c.split_at(Axis(0), at);
        rayon::join(|| split(first, whole, a0, b, c0), || split(rest, whole, a1, b, c1));
    } else {
        let (b0, b1) = b.split_at(Axis(1), at);
        let (c0, c1) = c.split_at(Axis(1), at);
        rayon::join(|| split(first, whole, a, b0, c0), || split(rest, whole, a, b1, c1));
    }
}

/// Where to cut `length` so that `first` of `parts` lie before, in whole tiles; `None` if a side would be empty.
pub(super) fn share(length: usize, first: usize, parts: usize) -> Option<usize> {
    let exact = length.checked_mul(first)?.checked_div(parts)?;
    let at = exact.checked_next_multiple_of(TILE)?;
    (first > 0 && at > 0 && at < length).then_some(at)
}

/// `c = beta * c`, without reading `c` if `beta` is 0.
fn scale<T: Scalar>(beta: T, c: &mut ArrayViewMut2<'_, T>) {
    if beta == T::zero() {
        c.fill(beta);
    } else {
        c.mapv_inplace(|v| beta.times(v));
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use num_complex::Complex;

    use super::*;

    #[test]
    fn complex_products_are_not_conjugated() {
        let i = Complex::new(0.0_f32, 1.0);
        for size in [1_usize, 2, 40] {
            let (a, mut c) = (vec![i; size * size], vec![Complex::new(f32::NAN, 0.0); size * size]);
            let a = Mat::row_major(&a, size, size).unwrap();
            gemm(i, &a, &a, Complex::new(0.0, 0.0), MatMut::row_major(&mut c, size, size).unwrap()).unwrap();
            assert_eq!(c, vec![Complex::new(0.0, -(size as f32)); size * size]);
        }
    }

    #[test]
    fn a_zero_beta_ignores_what_was_there_and_a_zero_factor_does_not_hide_infinity() {
        for (m, k, n) in [(1, 5, 7), (7, 5, 1), (1, 1, 1), (20, 30, 20), (3, 0, 3)] {
            let (mut a, b) = (vec![0.0_f64; m * k], vec![1.0_f64; k * n]);
            if let Some(first) = a.first_mut() {
                *first = f64::INFINITY;
            }
            let mut c = vec![f64::NAN; m * n];
            let (a_mat, b_mat) = (Mat::row_major(&a, m, k).unwrap(), Mat::row_major(&b, k, n).unwrap());
            gemm(1.0, &a_mat, &b_mat, 0.0, MatMut::row_major(&mut c, m, n).unwrap()).unwrap();
            assert!(c.iter().all(|v| !v.is_nan()));
            let zeros = vec![0.0_f64; k * n];
            gemm(1.0, &a_mat, &Mat::row_major(&zeros, k, n).unwrap(), 0.0, MatMut::row_major(&mut c, m, n).unwrap())
                .unwrap();
            assert_eq!(c[0].is_nan(), k > 0);
        }
    }

    #[test]
    fn matrices_that_do_not_fit_are_refused() {
        let data = [1.0_f32; 12];
        let mut out = [0.0_f32; 16];
        let (a, b) = (Mat::row_major(&data, 3, 4).unwrap(), Mat::row_major(&data, 4, 3).unwrap());
        let refusal = gemm(1.0, &a, &a, 0.0, MatMut::row_major(&mut out, 3, 4).unwrap()).unwrap_err();
        assert_eq!(refusal.to_string(), "the number of rows of the second matrix is 3, expected 4");
        assert!(gemm(1.0, &a, &b, 0.0, MatMut::row_major(&mut out, 4, 4).unwrap()).is_err());
        assert!(gemm(1.0, &a, &b, 0.0, MatMut::row_major(&mut out, 3, 3).unwrap()).is_ok());
    }
}
