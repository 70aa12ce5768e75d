//! Factors of one matrix: LU with pivots, Cholesky, QR by reflections, eigenvalues and singular values by rotations.
//!
//! Promises: LU takes the first largest entry of a column as its pivot, and R of QR has the signs that LAPACK's reflections give, so that both
//! are the ones of PyTorch. Vectors of eigenvalues and singular values are unique up to their signs alone, and up to rotation where values are
//! equal; these are not LAPACK's. All is computed in `f64`; LU, Cholesky and triangles of complex numbers too.

#![allow(clippy::arithmetic_side_effects, reason = "floats; indices stay below the sizes of a matrix in memory")]
#![allow(clippy::indexing_slicing, reason = "each index runs below a size of the matrix that it is taken from")]

use std::ops::{DivAssign, SubAssign};

use ndarray::{Array1, Array2, Axis, LinalgScalar, s};

use crate::exec::tensor::lane::{C128, Lane};

/// A matrix.
pub type Matrix<T = f64> = Array2<T>;

/// What matrices hold.
pub trait Scalar: LinalgScalar + Lane + SubAssign + DivAssign {
    /// How large a pivot is, as LAPACK compares them.
    fn size(self) -> f64;
}

impl Scalar for f64 {
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Scalar for C128 {
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}

/// Rows exchanged, one a step, from 0; the first step without a pivot other than 0, from 1, or 0.
pub struct Lu<T = f64> {
    /// Below the diagonal L, whose diagonal is 1, the rest U.
    pub factors: Matrix<T>,
    /// The row with which each row was exchanged.
    pub pivots: Vec<usize>,
    /// The first step without a pivot, from 1; 0 where all have one.
    pub info: usize,
}

/// Factors a matrix, with exchanges of rows or without.
pub fn lu<T: Scalar>(mut a: Matrix<T>, exchange: bool) -> Lu<T> {
    let (rows, columns) = a.dim();
    let mut pivots = Vec::new();
    let mut info = 0;
    for k in 0..rows.min(columns) {
        let mut at = k;
        for i in k..rows {
            if exchange && a[[i, k]].size() > a[[at, k]].size() {
                at = i;
            }
        }
        pivots.push(at);
        if at != k {
            for j in 0..columns {
                a.swap([k, j], [at, j]);
            }
        }
        let pivot = a[[k, k]];
        if pivot.size() == 0.0 {
            if info == 0 {
                info = k + 1;
            }
            continue;
        }
        for i in k + 1..rows {
            let factor = a[[i, k]] / pivot;
            a[[i, k]] = factor;
            for j in k + 1..columns {
                let share = factor * a[[k, j]];
                a[[i, j]] -= share;
            }
        }
    }
    Lu { factors: a, pivots, info }
}

impl<T: Scalar> Lu<T> {
    /// Returns where each row of the factored matrix came from.
    pub fn order(&self, rows: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rows).collect();
        for (k, at) in self.pivots.iter().enumerate() {
            order.swap(k, *at);
        }
        order
    }

    /// Returns 1 or -1: whether the exchanges are even in number.
    pub fn parity(&self) -> f64 {
        self.pivots.iter().enumerate().fold(1.0, |sign, (k, at)| if k == *at { sign } else { -sign })
    }

    /// Solves with the factored matrix.
    pub fn solve(&self, b: &Matrix<T>) -> Matrix<T> {
        let sorted = b.select(Axis(0), &self.order(b.nrows()));
        let below = solve_triangular(&self.factors, sorted, Triangle { upper: false, unit: true });
        solve_triangular(&self.factors, below, Triangle { upper: true, unit: false })
    }
}

/// Which half of a matrix counts, and whether its diagonal is 1.
#[derive(Clone, Copy)]
pub struct Triangle {
    /// The upper half.
    pub upper: bool,
    /// A diagonal of ones, whatever stands there.
    pub unit: bool,
}

/// Solves with half of a matrix.
pub fn solve_triangular<T: Scalar>(a: &Matrix<T>, mut b: Matrix<T>, half: Triangle) -> Matrix<T> {
    let n = a.nrows();
    for step in 0..n {
        let i = if half.upper { n - 1 - step } else { step };
        for column in 0..b.ncols() {
            if !half.unit {
                b[[i, column]] /= a[[i, i]];
            }
            let known = b[[i, column]];
            let rest = if half.upper { 0..i } else { i + 1..n };
            for j in rest {
                b[[j, column]] -= a[[j, i]] * known;
            }
        }
    }
    b
}

/// Returns L with `L L^H` the matrix, of which the lower half is read, and the first step whose square is not positive, from 1, or 0.
pub fn cholesky<T: Scalar>(a: &Matrix<T>) -> (Matrix<T>, usize) {
    let n = a.nrows();
    let mut l: Matrix<T> = Matrix::zeros((n, n));
    for j in 0..n {
        let row = l.slice(s![j, ..j]).mapv(Lane::conj);
        // Of what its own conjugate is, the real part alone counts.
        let square = a[[j, j]].to_f64() - l.slice(s![j, ..j]).dot(&row).to_f64();
        if square.is_nan() || square <= 0.0 {
            return (l, j + 1);
        }
        let root = T::from_f64(square.sqrt());
        l[[j, j]] = root;
        for i in j + 1..n {
            l[[i, j]] = (a[[i, j]] - l.slice(s![i, ..j]).dot(&row)) / root;
        }
    }
    (l, 0)
}

/// The reflection that sends column `k` from its diagonal on to a multiple of the first unit vector: a vector that
/// begins with 1, and how much it reflects. `None` where nothing stands below the diagonal.
fn reflection(a: &Matrix, k: usize) -> Option<(Array1<f64>, f64)> {
    let mut v = a.slice(s![k.., k]).to_owned();
    let (head, tail) = (v[[0]], v.slice(s![1..]).dot(&v.slice(s![1..])));
    if tail == 0.0 {
        return None;
    }
    let norm = (head * head + tail).sqrt();
    let end = if head >= 0.0 { -norm } else { norm };
    v.mapv_inplace(|x| x / (head - end));
    v[[0]] = 1.0;
    Some((v, (end - head) / end))
}

/// Returns R, with the vectors of its reflections below the diagonal, and how much each reflects.
pub fn reflections(mut a: Matrix) -> (Matrix, Vec<f64>) {
    let (rows, columns) = a.dim();
    let mut factors = Vec::new();
    for k in 0..rows.min(columns) {
        let Some((v, factor)) = reflection(&a, k) else {
            factors.push(0.0);
            continue;
        };
        reflect(&mut a, k, &v, factor);
        a.slice_mut(s![k + 1.., k]).assign(&v.slice(s![1..]));
        factors.push(factor);
    }
    (a, factors)
}

/// Returns the first columns of the product of reflections: vectors below the diagonal of `a`, each with how much it reflects.
pub fn reflected(a: &Matrix, factors: &[f64]) -> Matrix {
    let mut q = Matrix::zeros(a.dim());
    q.diag_mut().fill(1.0);
    for (k, factor) in factors.iter().enumerate().take(a.ncols().min(a.nrows())).rev() {
        let mut v = a.slice(s![k.., k]).to_owned();
        v[[0]] = 1.0;
        reflect(&mut q, k, &v, *factor);
    }
    q
}

/// Returns Q of `inner` columns and R of as many rows.
pub fn qr(mut a: Matrix, inner: usize) -> (Matrix, Matrix) {
    let (rows, columns) = a.dim();
    let mut reflections: Vec<(usize, Array1<f64>, f64)> = Vec::new();
    for k in 0..rows.min(columns) {
        let Some((v, factor)) = reflection(&a, k) else { continue };
        reflect(&mut a, k, &v, factor);
        reflections.push((k, v, factor));
    }
    let mut q = Matrix::zeros((rows, inner));
    q.diag_mut().fill(1.0);
    for (k, v, factor) in reflections.iter().rev() {
        reflect(&mut q, *k, v, *factor);
    }
    let mut r = Matrix::zeros((inner, columns));
    for i in 0..inner.min(rows) {
        for j in i..columns {
            r[[i, j]] = a[[i, j]];
        }
    }
    (q, r)
}

/// Reflects the rows from `k` on, in columns from `k` on: those before have nothing there.
fn reflect(a: &mut Matrix, k: usize, v: &Array1<f64>, factor: f64) {
    for j in k..a.ncols() {
        let mut column = a.slice_mut(s![k.., j]);
        let along = column.dot(v) * factor;
        column.scaled_add(-along, v);
    }
}

/// Sweeps after which rotations have converged for any matrix that memory holds; a bound, not a choice.
const SWEEPS: usize = 60;

/// Returns eigenvalues of a symmetric matrix, of which the lower half is read, ascending, and a vector for each as a column.
pub fn eigen(a: &Matrix) -> (Vec<f64>, Matrix) {
    let n = a.nrows();
    let mut a = Matrix::from_shape_fn((n, n), |(i, j)| a[[i.max(j), i.min(j)]]);
    let mut v = Matrix::eye(n);
    for _ in 0..SWEEPS {
        let mut apart = 0.0;
        for p in 0..n {
            for q in p + 1..n {
                let off = a[[p, q]];
                apart += off * off;
                if off == 0.0 {
                    continue;
                }
                let (c, s) = rotation(a[[p, p]], off, a[[q, q]]);
                for k in 0..n {
                    let (x, y) = (a[[k, p]], a[[k, q]]);
                    (a[[k, p]], a[[k, q]]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[[p, k]], a[[q, k]]);
                    (a[[p, k]], a[[q, k]]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[[k, p]], v[[k, q]]);
                    (v[[k, p]], v[[k, q]]) = (c * x - s * y, s * x + c * y);
                }
                (a[[p, q]], a[[q, p]]) = (0.0, 0.0);
            }
        }
        if apart <= 1e-300 {
            break;
        }
    }
    let values: Vec<f64> = a.diag().to_vec();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a[[*i, *i]].total_cmp(&a[[*j, *j]]));
    (order.iter().filter_map(|i| values.get(*i).copied()).collect(), v.select(Axis(1), &order))
}

/// Returns cosine and sine of the rotation that makes a symmetric matrix of two rows diagonal.
fn rotation(p: f64, off: f64, q: f64) -> (f64, f64) {
    let slope = (q - p) / (2.0 * off);
    let t = slope.signum() / (slope.abs() + slope.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    (c, c * t)
}

/// Returns U, the singular values in descending order, and V transposed: as many columns and rows as there are values.
pub fn svd(a: &Matrix) -> (Matrix, Vec<f64>, Matrix) {
    if a.nrows() < a.ncols() {
        let (u, values, v) = svd(&a.t().to_owned());
        return (v.t().to_owned(), values, u.t().to_owned());
    }
    let n = a.ncols();
    let (mut u, mut v) = (a.clone(), Matrix::eye(n));
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let (x, y) = (u.column(p), u.column(q));
                let (xx, yy, xy) = (x.dot(&x), y.dot(&y), x.dot(&y));
                if xy.abs() <= 1e-16 * (xx * yy).sqrt() || xy == 0.0 {
                    continue;
                }
                turned = true;
                let (c, s) = rotation(xx, xy, yy);
                for m in [&mut u, &mut v] {
                    for k in 0..m.nrows() {
                        let (x, y) = (m[[k, p]], m[[k, q]]);
                        (m[[k, p]], m[[k, q]]) = (c * x - s * y, s * x + c * y);
                    }
                }
            }
        }
        if !turned {
            break;
        }
    }
    let norms: Vec<f64> = u.columns().into_iter().map(|c| c.dot(&c).sqrt()).collect();
    let norm = |i: &usize| norms.get(*i).copied().unwrap_or(0.0);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| norm(j).total_cmp(&norm(i)));
    let values: Vec<f64> = order.iter().map(norm).collect();
    let mut u = u.select(Axis(1), &order);
    normalize(&mut u, &values);
    (u, values, v.select(Axis(1), &order).t().to_owned())
}

/// Makes columns unit vectors; one without length becomes orthogonal to all others.
fn normalize(u: &mut Matrix, values: &[f64]) {
    let (rows, columns) = u.dim();
    let most = values.first().copied().unwrap_or(0.0);
    for (j, value) in values.iter().enumerate().take(columns) {
        if *value > most * 1e-300 && *value > 0.0 {
            u.column_mut(j).mapv_inplace(|x| x / value);
            continue;
        }
        for axis in 0..rows {
            let mut v = Array1::zeros(rows);
            v[[axis]] = 1.0;
            for _ in 0..2 {
                for k in 0..j {
                    let along = u.column(k).dot(&v);
                    v.scaled_add(-along, &u.column(k));
                }
            }
            let norm = v.dot(&v).sqrt();
            if norm > 0.1 / f64::from(u32::try_from(rows).unwrap_or(u32::MAX)).sqrt() {
                u.column_mut(j).assign(&(v / norm));
                break;
            }
        }
    }
}

/// Returns the exponential: the series of a power of 2 below, squared back.
pub fn exponential(a: &Matrix) -> Matrix {
    const TERMS: u32 = 24;
    let most = a.rows().into_iter().map(|r| r.iter().map(|x| x.abs()).sum::<f64>()).fold(0.0, f64::max);
    let mut halvings = 0;
    let mut scale = 1.0;
    while most * scale > 0.5 && halvings < 1100 {
        scale *= 0.5;
        halvings += 1;
    }
    let small = a * scale;
    let mut sum = Matrix::eye(a.nrows());
    for k in (1..=TERMS).rev() {
        sum = Matrix::eye(a.nrows()) + small.dot(&sum) / f64::from(k);
    }
    for _ in 0..halvings {
        sum = sum.dot(&sum);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rows: usize, columns: usize) -> Matrix {
        let mut state = 7_u32;
        Matrix::from_shape_simple_fn((rows, columns), || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 23) - 1.0
        })
    }

    fn near(a: &Matrix, b: &Matrix) -> bool {
        a.dim() == b.dim() && (a - b).iter().all(|d| d.abs() < 1e-12)
    }

    #[test]
    fn factors_give_the_matrix_back() {
        for (rows, columns) in [(4, 4), (5, 3), (3, 5), (1, 1)] {
            let a = sample(rows, columns);
            let (q, r) = qr(a.clone(), rows.min(columns));
            assert!(near(&q.dot(&r), &a) && near(&q.t().dot(&q), &Matrix::eye(rows.min(columns))));
            let (u, values, v) = svd(&a);
            assert!(near(&u.dot(&Matrix::from_diag(&Array1::from(values))).dot(&v), &a));
            let f = lu(a.clone(), true);
            let least = rows.min(columns);
            let lower = Matrix::from_shape_fn((rows, least), |(i, j)| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => f.factors[[i, j]],
            });
            let upper = Matrix::from_shape_fn((least, columns), |(i, j)| if i > j { 0.0 } else { f.factors[[i, j]] });
            assert!(near(&lower.dot(&upper), &a.select(Axis(0), &f.order(rows))));
        }
    }

    #[test]
    fn a_symmetric_matrix_is_its_vectors_and_values() {
        let a = sample(5, 5);
        let a: Matrix<f64> = a.dot(&a.t()) + Matrix::<f64>::eye(5);
        let (values, v) = eigen(&a);
        assert!(values.is_sorted());
        assert!(near(&v.dot(&Matrix::from_diag(&Array1::from(values))).dot(&v.t()), &a));
        let (l, info) = cholesky(&a);
        assert!(info == 0 && near(&l.dot(&l.t()), &a));
        assert!(near(&lu(a.clone(), true).solve(&a), &Matrix::eye(5)));
    }

    #[test]
    fn what_has_no_factor_says_at_which_step() {
        let a = ndarray::array![[1.0, 2.0], [2.0, 4.0]];
        assert_eq!(lu(a.clone(), true).info, 2);
        assert_eq!(cholesky(&(-a)).1, 1);
        let (u, values, _) = svd(&Matrix::zeros((3, 2)));
        assert!(values.iter().all(|v| *v == 0.0) && near(&u.t().dot(&u), &Matrix::eye(2)));
    }

    #[test]
    fn the_exponential_of_a_turn_is_cosine_and_sine() {
        let e = exponential(&ndarray::array![[0.0, -3.0], [3.0, 0.0]]);
        let (s, c) = 3_f64.sin_cos();
        assert!(near(&e, &ndarray::array![[c, -s], [s, c]]));
    }
}
