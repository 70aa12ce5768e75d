//! Attention of numbers narrower than `f32`, held in it: what PyTorch's kernel for the CPU rounds, and when.
//!
//! Keys come in blocks. The weights of a block are exponentials of scores less the largest so far; they are rounded to the narrow
//! dtype before they meet the values, while their sum is not, by which the result is divided in the end. Whole vectors of exponentials
//! are a quick approximation to about four digits, which shows where weights are rounded.

use ndarray::{ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::attention::{Mask, QUERIES, hide};
use super::exp::exp;
use super::gemm::product;
use super::simd::{Kernel, fold_lanes, vectorised};
use super::{Batch, BatchMut, DenseError, MatMut};

/// Keys that are looked at together.
const KEYS: usize = 512;

/// Exponentials that the kernel computes at once, on a processor with AVX-512.
const VECTOR: usize = 16;

/// Queries, keys and values (heads x rows x width), and how they meet.
pub struct Narrow<'a> {
    /// Queries.
    pub q: Batch<'a, f32>,
    /// Keys.
    pub k: Batch<'a, f32>,
    /// Values.
    pub v: Batch<'a, f32>,
    /// What a query may look at.
    pub mask: Mask<'a, f32>,
    /// What scores are multiplied by.
    pub scale: f32,
}

/// A query's largest score so far, and the sum of its exponentials less that.
#[derive(Clone, Copy)]
struct Query {
    largest: f32,
    sum: f32,
}

/// Attention of numbers of the dtype that `round` rounds to; `out` is not rounded yet. `sums`, heads x queries, gets the logarithms of
/// sums of exponentials.
pub fn attention_narrow(
    heads: &Narrow<'_>,
    mut out: BatchMut<'_, f32>,
    sums: Option<&mut [f32]>,
    round: impl Fn(f32) -> f32 + Sync,
) -> Result<(), DenseError> {
    let ((count, queries, width), (count_k, keys, width_k)) = (heads.q.view.dim(), heads.k.view.dim());
    let ((count_v, keys_v, width_v), (count_o, queries_o, width_o)) = (heads.v.view.dim(), out.view.dim());
    DenseError::expect("the number of heads of the keys", count, count_k)?;
    DenseError::expect("the number of heads of the values", count, count_v)?;
    DenseError::expect("the number of heads of the result", count, count_o)?;
    DenseError::expect("the width of the keys", width, width_k)?;
    DenseError::expect("the number of values", keys, keys_v)?;
    DenseError::expect("the number of rows of the result", queries, queries_o)?;
    DenseError::expect("the width of the result", width_v, width_o)?;
    if let Mask::Added(m) = &heads.mask {
        let (heads_m, rows, columns) = m.view.dim();
        DenseError::expect("the number of heads of the mask", count, heads_m)?;
        DenseError::expect("the number of rows of the mask", queries, rows)?;
        DenseError::expect("the number of columns of the mask", keys, columns)?;
    }
    let mut own = Vec::new();
    let sums = sums.unwrap_or_else(|| {
        own.resize(count.saturating_mul(queries), 0.0);
        &mut own
    });
    DenseError::expect("the number of sums", count.saturating_mul(queries), sums.len())?;
    let each = out.view.outer_iter_mut().enumerate().zip(sums.chunks_mut(queries.max(1)));
    each.collect::<Vec<_>>().into_par_iter().try_for_each(|((head, mut out), sums)| {
        let blocks = out.axis_chunks_iter_mut(Axis(0), QUERIES).enumerate().zip(sums.chunks_mut(QUERIES));
        let blocks: Vec<_> = blocks.map(|((n, out), sums)| (n.saturating_mul(QUERIES), out, sums)).collect();
        blocks.into_par_iter().try_for_each(|(first, out, sums)| heads.some((head, first), out, sums, &round))
    })
}

impl Narrow<'_> {
    /// The queries of a head from `first` on, as many as the result has rows.
    fn some(
        &self,
        (head, first): (usize, usize),
        mut out: ArrayViewMut2<'_, f32>,
        sums: &mut [f32],
        round: &impl Fn(f32) -> f32,
    ) -> Result<(), DenseError> {
        let rows = first..first.saturating_add(out.nrows());
        let q = self.q.view.index_axis(Axis(0), head);
        let q = q.slice_axis(Axis(0), rows.into());
        let (k, v) = (self.k.view.index_axis(Axis(0), head), self.v.view.index_axis(Axis(0), head));
        let mut state = vec![Query { largest: f32::NEG_INFINITY, sum: 0.0 }; out.nrows()];
        out.fill(0.0);
        let blocks = k.axis_chunks_iter(Axis(0), KEYS).zip(v.axis_chunks_iter(Axis(0), KEYS)).enumerate();
        for (n, (k, v)) in blocks {
            let (start, count) = (n.saturating_mul(KEYS), k.nrows());
            let mut scores = vec![0.0; out.nrows().saturating_mul(count)];
            product(1, 1.0, q, k.reversed_axes(), 0.0, MatMut::row_major(&mut scores, out.nrows(), count)?.view);
            let lines = scores.chunks_mut(count.max(1)).zip(&mut state).zip(out.outer_iter_mut());
            for (row, ((scores, query), mut line)) in lines.enumerate() {
                scores.iter_mut().for_each(|s| *s *= self.scale);
                hide(&self.mask, head, first.saturating_add(row), start, scores);
                let shrunk = query.weigh(scores);
                line.iter_mut().for_each(|v| *v *= shrunk);
                scores.iter_mut().for_each(|w| *w = round(*w));
            }
            let weights = MatMut::row_major(&mut scores, out.nrows(), count)?.view;
            product(1, 1.0, weights.view(), v, 1.0, out.view_mut());
        }
        for ((query, mut line), sum) in state.iter().zip(out.outer_iter_mut()).zip(sums) {
            let (largest, total) = if query.sum == 0.0 { (0.0, 1.0) } else { (query.largest, query.sum) };
            let share = 1.0 / total;
            line.iter_mut().for_each(|v| *v *= share);
            *sum = largest + total.ln();
        }
        Ok(())
    }
}

impl Query {
    /// Makes the scores of a block its weights; returns what the sum of earlier blocks is to be multiplied by.
    fn weigh(&mut self, scores: &mut [f32]) -> f32 {
        let pick = |a: f32, b: f32| if b > a { b } else { a };
        let largest = pick(self.largest, fold_lanes(scores, f32::NEG_INFINITY, pick, pick));
        if largest == f32::NEG_INFINITY && scores.iter().all(|s| *s == largest) {
            scores.fill(0.0);
            return 1.0;
        }
        scores.iter_mut().for_each(|s| *s -= largest);
        vectorised::<Weights, _>(&mut *scores);
        let shrunk = exp(self.largest - largest);
        self.sum = shrunk.mul_add(self.sum, fold_lanes(scores, 0.0, |s, v| s + v, |a, b| a + b));
        self.largest = largest;
        shrunk
    }
}

/// Exponentials of numbers that are not positive: of whole vectors quick ones, of the rest exact ones.
struct Weights;

impl Kernel<&mut [f32]> for Weights {
    type Output = ();

    #[inline(always)]
    fn run(scores: &mut [f32]) {
        let (vectors, rest) = scores.as_chunks_mut::<VECTOR>();
        for vector in vectors {
            for s in vector {
                *s = quick_exp(*s);
            }
        }
        for s in rest {
            *s = exp(*s);
        }
    }
}

/// 2^(x log2 e): the bits of a float are nearly its logarithm, which a cubic mends (Malossi and others, "Fast exponential computation on
/// SIMD architectures").
#[inline(always)]
#[allow(clippy::cast_possible_truncation)]
fn quick_exp(x: f32) -> f32 {
    const STEPS: f32 = 8_388_608.0;
    let log = x * std::f32::consts::LOG2_E;
    let part = log - log.floor();
    let mended = part.mul_add(-0.079_204_24, -0.224_338_36);
    let mended = part.mul_add(part.mul_add(mended, 0.303_542_6), 0.000_107_034_35);
    let bits = STEPS.mul_add(log - mended, STEPS * 127.0) as i32;
    if x.is_nan() {
        x
    } else if x < -87.336_54 {
        0.0
    } else {
        f32::from_bits(bits.cast_unsigned())
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn bf16(v: f32) -> f32 {
        half::bf16::from_f32(v).to_f32()
    }

    fn run(hidden: bool, keys: usize, round: impl Fn(f32) -> f32 + Sync) -> (Vec<f32>, Vec<f32>) {
        let number = |i: usize| bf16(((i * 7919) % 257) as f32 / 64.0 - 2.0);
        let (q, k): (Vec<f32>, Vec<f32>) =
            ((0..2 * 3 * 4).map(number).collect(), (0..2 * keys * 4).map(number).collect());
        let v: Vec<f32> = (0..2 * keys * 5).map(|i| number(i + 11)).collect();
        let (mut out, mut sums) = (vec![f32::NAN; 2 * 3 * 5], vec![f32::NAN; 6]);
        let of = |data, rows, width| Batch::new(data, [2, rows, width], [rows * width, width, 1]).unwrap();
        let lowest = vec![f32::NEG_INFINITY; 2 * 3 * keys];
        let mask = if hidden { Mask::Added(of(&lowest, 3, keys)) } else { Mask::None };
        let heads = Narrow { q: of(&q, 3, 4), k: of(&k, keys, 4), v: of(&v, keys, 5), mask, scale: 0.5 };
        attention_narrow(&heads, BatchMut::new(&mut out, [2, 3, 5], [15, 5, 1]).unwrap(), Some(&mut sums), round)
            .unwrap();
        (out, sums)
    }

    #[test]
    fn without_rounding_it_is_attention_in_one_and_in_several_blocks() {
        for keys in [7, 1200] {
            let (exact, sums) = run(false, keys, |v| v);
            let number = |i: usize| f64::from(bf16(((i * 7919) % 257) as f32 / 64.0 - 2.0));
            for (at, found) in exact.iter().enumerate() {
                let (head, query, column) = (at / 15, at / 5 % 3, at % 5);
                let score = |key: usize| -> f64 {
                    (0..4)
                        .map(|c| number(head * 12 + query * 4 + c) * number(head * keys * 4 + key * 4 + c))
                        .sum::<f64>()
                        * 0.5
                };
                let total: f64 = (0..keys).map(|key| score(key).exp()).sum();
                let value = |key: usize| score(key).exp() * number(head * keys * 5 + key * 5 + column + 11);
                let wanted = (0..keys).map(value).sum::<f64>() / total;
                assert!((f64::from(*found) - wanted).abs() < 1e-3, "{found} {wanted}");
                assert!((f64::from(sums[head * 3 + query]) - total.ln()).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn weights_are_rounded_and_their_sum_is_not() {
        // One weight is 1, the other e^-1: 0.36787945, in bf16 0.3671875.
        let (q, k, v) = ([1.0_f32], [0.0_f32, -1.0], [0.0_f32, 1.0]);
        let of = |data, rows| Batch::new(data, [1, rows, 1], [rows, 1, 1]).unwrap();
        let heads = Narrow { q: of(&q, 1), k: of(&k, 2), v: of(&v, 2), mask: Mask::None, scale: 1.0 };
        let mut out = [f32::NAN];
        attention_narrow(&heads, BatchMut::new(&mut out, [1, 1, 1], [1, 1, 1]).unwrap(), None, bf16).unwrap();
        assert!((out[0] - 0.367_187_5 / 1.367_879_5).abs() < 1e-7, "{}", out[0]);
    }

    /// Of 16 keys, one with the score 0 and fifteen with another: the score, and the logarithm of the sum that PyTorch 2.15 gives in bf16.
    const RECORDED: [(f32, f32); 5] =
        [(-0.25, 2.540_149), (-0.5, 2.312_354_3), (-1.0, 1.874_532_7), (-2.25, 0.948_170_6), (-5.5, 0.059_448_555)];

    #[test]
    fn quick_exponentials_are_those_of_pytorch() {
        for (x, sum) in RECORDED {
            let total = quick_exp(0.0) + 15.0 * quick_exp(x);
            assert!((total.ln() - sum).abs() < 1e-6, "{x}: {} {sum}", total.ln());
        }
        assert_eq!(quick_exp(-100.0), 0.0);
        assert!(quick_exp(f32::NAN).is_nan());
    }

    #[test]
    fn a_query_that_may_look_at_nothing_gets_zeros() {
        let (out, sums) = run(true, 600, bf16);
        assert!(out.iter().chain(&sums).all(|v| *v == 0.0), "{out:?} {sums:?}");
    }
}
