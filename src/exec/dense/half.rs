//! Products of matrices of `f16`, added up in the order of PyTorch's own loops.
//!
//! Where a processor has no arithmetic of `f16`, oneDNN takes none of these products, and the order of PyTorch's loops hangs on how the
//! operands lie. A product of two `f16` is exact in `f32`, so that this order is all there is to say; it is the same whatever the
//! vectors of the processor.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::gemm::{MIN_PARALLEL, split};
use super::gemv::Axpy;
use super::simd::{Kernel, LANES, join_lanes, vectorised};
use super::{Batch, BatchMut, DenseError};

/// In what order the terms of an element are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// [`LANES`] sums side by side, joined in halves; what is left in 8 sums, and the last terms one by one.
    Lanes,
    /// Four sums side by side, joined one after the other.
    Four,
    /// From first to last.
    One,
}

/// Columns of a result whose sums stay in the first cache.
const STRIP: usize = 512;
/// Columns of the second matrix that stay in the second cache while all rows of the first pass.
const COLUMNS: usize = 64;
/// Terms that are left after whole [`LANES`] are added by vectors of so many `f16`, half after half.
const PAIR: usize = 16;
/// Sums of these.
const NARROW: usize = PAIR / 2;

/// `c[i] = alpha * a[i] * b[i] + beta * c[i]` for each matrix of a batch; `beta == 0` does not read `c`.
///
/// In the order [`Order::Lanes`] rows of `a` and columns of `b` lie in one piece, in the others rows of both.
pub fn product(
    order: Order,
    alpha: f32,
    a: &Batch<'_, f32>,
    b: &Batch<'_, f32>,
    beta: f32,
    mut c: BatchMut<'_, f32>,
) -> Result<(), DenseError> {
    DenseError::expect("the number of second matrices", a.view.len_of(Axis(0)), b.view.len_of(Axis(0)))?;
    DenseError::expect("the number of results", a.view.len_of(Axis(0)), c.view.len_of(Axis(0)))?;
    DenseError::expect("the number of rows of the second matrices", a.view.len_of(Axis(2)), b.view.len_of(Axis(1)))?;
    DenseError::expect("the number of rows of the results", a.view.len_of(Axis(1)), c.view.len_of(Axis(1)))?;
    DenseError::expect("the number of columns of the results", b.view.len_of(Axis(2)), c.view.len_of(Axis(2)))?;
    let threads = rayon::current_num_threads();
    let work = c.view.len().saturating_mul(a.view.len_of(Axis(2)));
    let jobs = c.view.outer_iter_mut().zip(a.view.outer_iter().zip(b.view.outer_iter()));
    let mut jobs: Vec<_> = jobs.collect();
    if threads > 1 && jobs.len() >= threads && work >= MIN_PARALLEL {
        jobs.par_iter_mut().for_each(|(c, (a, b))| matrices(order, 1, alpha, *a, *b, beta, c.view_mut()));
        return Ok(());
    }
    jobs.into_iter().for_each(|(c, (a, b))| matrices(order, threads, alpha, a, b, beta, c));
    Ok(())
}

/// `c = alpha * a * b + beta * c` by at most `threads` threads. Sizes fit, and operands lie as [`product`] wants them.
pub(super) fn matrices(
    order: Order,
    threads: usize,
    alpha: f32,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    beta: f32,
    c: ArrayViewMut2<'_, f32>,
) {
    let store = |sum: f32, old: &mut f32| *old = if beta == 0.0 { alpha * sum } else { beta * *old + alpha * sum };
    let whole = |a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>, c: ArrayViewMut2<'_, f32>| match order {
        Order::Lanes => dots(a, b, c, store),
        Order::Four => rows::<4>(a, b, c, store),
        Order::One => rows::<1>(a, b, c, store),
    };
    let small = c.len().saturating_mul(a.ncols()) < MIN_PARALLEL;
    split(if small { 1 } else { threads }, &whole, a, b, c);
}

/// Each element on its own, along a row of the first matrix and a column of the second.
fn dots(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>, mut c: ArrayViewMut2<'_, f32>, store: impl Fn(f32, &mut f32)) {
    for (b, mut c) in b.axis_chunks_iter(Axis(1), COLUMNS).zip(c.axis_chunks_iter_mut(Axis(1), COLUMNS)) {
        for (a, c) in a.rows().into_iter().zip(c.rows_mut()) {
            for (b, c) in b.columns().into_iter().zip(c) {
                if let (Some(a), Some(b)) = (a.to_slice(), b.to_slice()) {
                    store(vectorised::<Dot, _>((a, b)), c);
                }
            }
        }
    }
}

/// A row of the result from rows of the second matrix, in `N` sums an element.
fn rows<const N: usize>(
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
    mut c: ArrayViewMut2<'_, f32>,
    store: impl Fn(f32, &mut f32),
) {
    // Terms that are left after whole groups join the first sum.
    let whole = a.ncols().checked_div(N).unwrap_or(0).saturating_mul(N);
    let mut sums = [[0.0; STRIP]; N];
    for (b, mut c) in b.axis_chunks_iter(Axis(1), STRIP).zip(c.axis_chunks_iter_mut(Axis(1), STRIP)) {
        for (a, c) in a.rows().into_iter().zip(c.rows_mut()) {
            sums.as_flattened_mut().fill(0.0);
            for (l, (factor, b)) in a.iter().zip(b.rows()).enumerate() {
                let sum = sums.get_mut(if l < whole { l.checked_rem(N).unwrap_or(0) } else { 0 });
                if let (Some(sum), Some(b)) = (sum, b.to_slice()) {
                    vectorised::<Axpy, _>((*factor, b, sum.as_mut_slice()));
                }
            }
            for (j, c) in c.into_iter().enumerate() {
                let sum = sums.iter().filter_map(|sums| sums.get(j)).copied().reduce(|x, y| x + y);
                store(sum.unwrap_or(0.0), c);
            }
        }
    }
}

/// The dot product of two slices in [`Order::Lanes`].
struct Dot;

impl Kernel<(&[f32], &[f32])> for Dot {
    type Output = f32;

    #[inline(always)]
    fn run((a, b): (&[f32], &[f32])) -> f32 {
        let mut lanes = [0.0; LANES];
        let ((whole_a, a), (whole_b, b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in whole_a.iter().zip(whole_b) {
            for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
                *lane = a.mul_add(*b, *lane);
            }
        }
        let mut narrow = [0.0; NARROW];
        let ((pairs_a, last_a), (pairs_b, last_b)) = (a.as_chunks::<PAIR>(), b.as_chunks::<PAIR>());
        let (halves_a, _) = pairs_a.as_flattened().as_chunks::<NARROW>();
        let (halves_b, _) = pairs_b.as_flattened().as_chunks::<NARROW>();
        for (a, b) in halves_a.iter().zip(halves_b) {
            for ((lane, a), b) in narrow.iter_mut().zip(a).zip(b) {
                *lane = a.mul_add(*b, *lane);
            }
        }
        let [a0, a1, a2, a3, a4, a5, a6, a7] = narrow;
        let narrow = ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7));
        let whole = join_lanes(&mut lanes, |x, y| x + y) + narrow;
        last_a.iter().zip(last_b).fold(whole, |sum, (a, b)| sum + a * b)
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    /// Terms of many sizes of which the second half takes the first away again: what is left is what rounding left.
    fn operands(inner: usize) -> (Vec<f32>, Vec<f32>) {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for line in 0..2 {
            for l in 0..inner {
                let mirrored = l >= inner - inner / 2;
                let l = if mirrored { inner - 1 - l } else { l };
                let x = ((l * l * 7919 + 12345 + line * 977) % 2039) as f32 / 8.0 / f32::from(1_u8 << (l % 5));
                a.push(if mirrored { -x } else { x });
                b.push(((l * 6101 + line * 331 + 77) % 2027) as f32 / 16.0 / f32::from(1_u8 << (l % 3)));
            }
        }
        (a, b)
    }

    #[test]
    fn each_order_gives_the_bits_of_pytorch() {
        // PyTorch 2.15 on a processor without arithmetic of f16: `linear(x, w)`, `x @ w.t().contiguous()`, and the latter of an
        // `x` that lies in columns; times 2^15.
        let recorded = [
            (Order::Lanes, [24.0, 0.0, 16.0, 0.0]),
            (Order::Four, [-112.0, -64.0, -32.0, -64.0]),
            (Order::One, [304.0, -128.0, 88.0, 384.0]),
        ];
        let (a, b) = operands(150);
        let turned: Vec<f32> = (0..150).flat_map(|l| [b[l], b[150 + l]]).collect();
        for (order, expected) in recorded {
            let (b, strides) = if order == Order::Lanes { (&b, [300, 1, 150]) } else { (&turned, [300, 2, 1]) };
            let a = Batch::new(&a, [1, 2, 150], [300, 150, 1]).unwrap();
            let b = Batch::new(b, [1, 150, 2], strides).unwrap();
            let mut c = [f32::NAN; 4];
            product(order, 1.0, &a, &b, 0.0, BatchMut::new(&mut c, [1, 2, 2], [4, 2, 1]).unwrap()).unwrap();
            assert_eq!(c.map(|v| half::f16::from_f32(v).to_f32() * 32768.0), expected, "{order:?}");
        }
    }
}
