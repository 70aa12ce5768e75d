//! softmax and log-softmax over the middle one of three sizes: `outer` x `dim` x `inner`, all dense, last size fastest.
//!
//! The largest element is subtracted first. A NaN makes its whole row NaN, and so does a row of -inf, as in PyTorch. `f32` uses
//! vector loops, `f64` the standard library.

use rayon::prelude::*;

use super::DenseError;
use super::exp::exp;
use super::simd::{Kernel, fold_lanes, fold_lanes_mut, vectorised};

/// Elements below which one thread does it.
const MIN_PARALLEL: usize = 1 << 14;

/// Which of the two functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Soft {
    /// e^x / sum of e^x.
    Max,
    /// Its logarithm.
    LogMax,
}

/// A real number that softmax is computed in.
pub trait Exponential: Copy + PartialOrd + Send + Sync + 'static {
    /// A score that no other is below: its share is 0.
    const HIDDEN: Self;
    /// Makes a row the softmax, or log-softmax, of itself.
    fn soft_row(kind: Soft, row: &mut [Self]);
    /// The logarithm of the sum of a row's exponentials, from its largest element and that one's softmax.
    fn log_sum(largest: Self, share: Self) -> Self;
}

impl Exponential for f32 {
    const HIDDEN: Self = f32::NEG_INFINITY;

    fn soft_row(kind: Soft, row: &mut [f32]) {
        match kind {
            Soft::Max => vectorised::<SoftmaxRow, _>(row),
            Soft::LogMax => vectorised::<LogSoftmaxRow, _>(row),
        }
    }

    fn log_sum(largest: f32, share: f32) -> f32 {
        largest - share.ln()
    }
}

impl Exponential for f64 {
    const HIDDEN: Self = f64::NEG_INFINITY;

    fn soft_row(kind: Soft, row: &mut [f64]) {
        let max = row.iter().fold(f64::NEG_INFINITY, |m, &v| if v > m || v.is_nan() { v } else { m });
        let sum: f64 = row.iter().map(|v| (v - max).exp()).sum();
        let log = max + sum.ln();
        for v in row {
            *v = match kind {
                Soft::Max => (*v - max).exp() / sum,
                Soft::LogMax => (*v - max) - (log - max),
            };
        }
    }

    fn log_sum(largest: f64, share: f64) -> f64 {
        largest - share.ln()
    }
}

/// softmax or log-softmax of `x` (`outer` x `dim` x `inner` elements) over `dim` into `out`.
pub fn soft<T: Exponential>(
    kind: Soft,
    x: &[T],
    out: &mut [T],
    [outer, dim, inner]: [usize; 3],
) -> Result<(), DenseError> {
    let block = dim.saturating_mul(inner);
    let total = outer.saturating_mul(block);
    DenseError::expect("the number of input elements", total, x.len())?;
    DenseError::expect("the number of output elements", total, out.len())?;
    if total == 0 {
        return Ok(());
    }
    let one = |(x, out): (&[T], &mut [T])| {
        if inner == 1 {
            out.copy_from_slice(x);
            T::soft_row(kind, out);
        } else {
            soft_columns(kind, x, out, inner);
        }
    };
    let rows_a_task = MIN_PARALLEL.checked_div(block).unwrap_or(1).max(1);
    if total < MIN_PARALLEL || rayon::current_num_threads() == 1 {
        x.chunks(block).zip(out.chunks_mut(block)).for_each(one);
    } else {
        x.par_chunks(block).zip(out.par_chunks_mut(block)).with_min_len(rows_a_task).for_each(one);
    }
    Ok(())
}

/// Each column of a `dim` x `inner` block: gathered, computed, put back.
fn soft_columns<T: Exponential>(kind: Soft, x: &[T], out: &mut [T], inner: usize) {
    let mut row = Vec::new();
    for column in 0..inner {
        row.clear();
        row.extend(x.iter().skip(column).step_by(inner));
        T::soft_row(kind, &mut row);
        for (out, &v) in out.iter_mut().skip(column).step_by(inner).zip(&row) {
            *out = v;
        }
    }
}

/// The largest element, NaN left out: the sum of exponentials becomes NaN by itself.
#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let pick = |a: f32, b: f32| if b > a { b } else { a };
    fold_lanes(row, f32::NEG_INFINITY, pick, pick)
}

struct SoftmaxRow;

impl Kernel<&mut [f32]> for SoftmaxRow {
    type Output = ();

    #[inline(always)]
    fn run(row: &mut [f32]) {
        let max = largest(row);
        let part = |sum: f32, v: &mut f32| {
            *v = exp(*v - max);
            sum + *v
        };
        let scale = 1.0 / fold_lanes_mut(row, 0.0, part, |a, b| a + b);
        for v in row {
            *v *= scale;
        }
    }
}

struct LogSoftmaxRow;

impl Kernel<&mut [f32]> for LogSoftmaxRow {
    type Output = ();

    #[inline(always)]
    fn run(row: &mut [f32]) {
        let max = largest(row);
        let log = fold_lanes(row, 0.0, |s, v| s + exp(v - max), |a, b| a + b).ln();
        for v in row {
            *v = (*v - max) - log;
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn wide(x: &[f64], kind: Soft) -> Vec<f64> {
        let mut row = x.to_vec();
        f64::soft_row(kind, &mut row);
        row
    }

    #[test]
    fn rows_agree_with_f64_and_sum_to_one() {
        for n in [1_usize, 2, 15, 64, 65, 197, 1000] {
            let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 101) as f32 / 7.0 - 5.0).collect();
            let exact: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
            for kind in [Soft::Max, Soft::LogMax] {
                let mut out = vec![0.0; n];
                soft(kind, &x, &mut out, [1, n, 1]).unwrap();
                for (o, w) in out.iter().zip(wide(&exact, kind)) {
                    assert!(
                        (f64::from(*o) - w).abs() <= 1e-6 * w.abs() + if kind == Soft::Max { 1e-9 } else { 1e-6 },
                        "{o} {w}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_middle_dimension_is_the_same_as_a_transposed_last_one() {
        let (dim, inner) = (5, 3);
        let x: Vec<f32> = (0..30).map(|i| (i * 13 % 17) as f32).collect();
        let mut out = vec![0.0; 30];
        soft(Soft::Max, &x, &mut out, [2, dim, inner]).unwrap();
        for (x, out) in x.chunks(15).zip(out.chunks(15)) {
            for column in 0..inner {
                let mut row: Vec<f32> = x.iter().skip(column).step_by(inner).copied().collect();
                f32::soft_row(Soft::Max, &mut row);
                assert_eq!(row, out.iter().skip(column).step_by(inner).copied().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn nan_and_rows_of_minus_infinity_give_nan() {
        let inf = f32::INFINITY;
        for row in [vec![f32::NAN, 1.0], vec![-inf, -inf], vec![inf, 1.0], vec![inf, -inf], vec![f32::NAN, inf]] {
            let mut out = row.clone();
            f32::soft_row(Soft::Max, &mut out);
            assert!(out[0].is_nan(), "{row:?} {out:?}");
        }
        let mut masked = vec![-inf, 0.0, 0.0];
        f32::soft_row(Soft::Max, &mut masked);
        assert_eq!(masked, [0.0, 0.5, 0.5]);
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        assert!(soft(Soft::Max, &[0.0_f32; 5], &mut [0.0; 6], [1, 6, 1]).is_err());
        assert!(soft::<f32>(Soft::Max, &[], &mut [], [3, 0, 1]).is_ok());
    }
}
