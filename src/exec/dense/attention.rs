//! Scaled dot-product attention, head by head and block of queries by block: the matrix of scores is never whole.
//!
//! Threads share heads and blocks of queries. A query that may look at nothing yields zeros, as in PyTorch.

use ndarray::Axis;
use rayon::prelude::*;

use super::gemm::product;
use super::softmax::{Exponential, Soft};
use super::{Batch, BatchMut, DenseError, MatMut, Scalar};

/// Queries whose scores are held at once.
pub(super) const QUERIES: usize = 64;

/// What a query may look at.
#[derive(Debug, Clone)]
pub enum Mask<'a, T> {
    /// Everything.
    None,
    /// Keys up to the query's own index.
    Causal,
    /// Numbers that are added to the scores (heads x queries x keys; -inf hides a key).
    Added(Batch<'a, T>),
    /// Keys that are seen (heads x queries x keys).
    Seen(Batch<'a, bool>),
}

/// softmax(scale * q * k^T + mask) * v for each head: `q` is heads x queries x width, `k` heads x keys x width, `v` heads x keys x
/// value width, `out` heads x queries x value width. Heads are all leading dimensions in one; a stride of 0 shares keys between them.
pub fn attention<T: Scalar + Exponential>(
    q: &Batch<'_, T>,
    k: &Batch<'_, T>,
    v: &Batch<'_, T>,
    mask: &Mask<'_, T>,
    scale: T,
    out: BatchMut<'_, T>,
) -> Result<(), DenseError> {
    attention_with_sums(q, k, v, mask, scale, out, None)
}

/// As [`attention`]; `sums`, heads x queries, gets the logarithm of the sum of exponentials of each query's scores.
pub fn attention_with_sums<T: Scalar + Exponential>(
    q: &Batch<'_, T>,
    k: &Batch<'_, T>,
    v: &Batch<'_, T>,
    mask: &Mask<'_, T>,
    scale: T,
    mut out: BatchMut<'_, T>,
    sums: Option<&mut [T]>,
) -> Result<(), DenseError> {
    let (heads, queries, width) = q.view.dim();
    let (heads_k, keys, width_k) = k.view.dim();
    let (heads_v, keys_v, width_v) = v.view.dim();
    let (heads_o, queries_o, width_o) = out.view.dim();
    DenseError::expect("the number of heads of the keys", heads, heads_k)?;
    DenseError::expect("the number of heads of the values", heads, heads_v)?;
    DenseError::expect("the number of heads of the result", heads, heads_o)?;
    DenseError::expect("the width of the keys", width, width_k)?;
    DenseError::expect("the number of values", keys, keys_v)?;
    DenseError::expect("the number of rows of the result", queries, queries_o)?;
    DenseError::expect("the width of the result", width_v, width_o)?;
    match mask {
        Mask::Added(m) => expect_mask(m.view.dim(), (heads, queries, keys))?,
        Mask::Seen(m) => expect_mask(m.view.dim(), (heads, queries, keys))?,
        Mask::None | Mask::Causal => {}
    }
    let rows = heads.saturating_mul(queries);
    DenseError::expect("the number of sums", rows, sums.as_ref().map_or(rows, |s| s.len()))?;
    let mut sums = sums.unwrap_or(&mut []);
    let mut jobs = Vec::new();
    for (head, out) in out.view.outer_iter_mut().enumerate() {
        let mut out = Some(out);
        for first in (0..queries).step_by(QUERIES) {
            let Some(whole) = out.take() else { break };
            let count = QUERIES.min(queries.saturating_sub(first));
            let (now, later) = whole.split_at(Axis(0), count);
            out = Some(later);
            let (own, rest) = std::mem::take(&mut sums).split_at_mut_checked(count).unwrap_or_default();
            sums = rest;
            jobs.push((head, first, now, own));
        }
    }
    jobs.into_par_iter().try_for_each_init(Vec::new, |scores, (head, first, out, sums)| {
        let mut sums = sums.iter_mut();
        let last = first.saturating_add(out.nrows());
        let looked_at = if matches!(mask, Mask::Causal) { keys.min(last) } else { keys };
        let rows = q.view.index_axis(Axis(0), head);
        let rows = rows.slice_axis(Axis(0), (first..last).into());
        let (keys, values) = (k.view.index_axis(Axis(0), head), v.view.index_axis(Axis(0), head));
        let keys = keys.slice_axis(Axis(0), (0..looked_at).into()).reversed_axes();
        let values = values.slice_axis(Axis(0), (0..looked_at).into());
        scores.resize(out.nrows().saturating_mul(looked_at), T::zero());
        product(1, scale, rows, keys, T::zero(), MatMut::row_major(scores, out.nrows(), looked_at)?.view);
        for (row, scores) in scores.chunks_mut(looked_at.max(1)).enumerate() {
            hide(mask, head, first.saturating_add(row), 0, scores);
            weigh(scores, sums.next());
        }
        let weights = MatMut::row_major(scores, out.nrows(), looked_at)?.view;
        product(1, T::one(), weights.view(), values, T::zero(), out);
        Ok(())
    })
}

/// Makes the scores of a query its weights; `sum` gets the logarithm of the sum of their exponentials, 0 where all keys are hidden.
pub fn weigh<T: Scalar + Exponential>(scores: &mut [T], sum: Option<&mut T>) {
    if scores.iter().all(|s| *s == T::HIDDEN) {
        scores.fill(T::zero());
        sum.into_iter().for_each(|s| *s = T::zero());
        return;
    }
    let Some(sum) = sum else { return T::soft_row(Soft::Max, scores) };
    let pick = |best: (usize, T), (k, v): (usize, &T)| if *v > best.1 { (k, *v) } else { best };
    let (at, largest) = scores.iter().enumerate().fold((0, T::HIDDEN), pick);
    T::soft_row(Soft::Max, scores);
    *sum = T::log_sum(largest, scores.get(at).copied().unwrap_or(T::one()));
}

fn expect_mask(found: (usize, usize, usize), needed: (usize, usize, usize)) -> Result<(), DenseError> {
    DenseError::expect("the number of heads of the mask", needed.0, found.0)?;
    DenseError::expect("the number of rows of the mask", needed.1, found.1)?;
    DenseError::expect("the number of columns of the mask", needed.2, found.2)
}

/// Adds the mask of one query to its scores, which are of the keys from `start` on.
pub(super) fn hide<T: Scalar + Exponential>(
    mask: &Mask<'_, T>,
    head: usize,
    query: usize,
    start: usize,
    scores: &mut [T],
) {
    match mask {
        Mask::None => {}
        Mask::Causal => {
            for score in scores.iter_mut().skip(query.saturating_add(1).saturating_sub(start)) {
                *score = T::HIDDEN;
            }
        }
        Mask::Added(m) => {
            let row = m.view.index_axis(Axis(0), head);
            for (score, &add) in scores.iter_mut().zip(row.index_axis(Axis(0), query).iter().skip(start)) {
                *score = score.plus(add);
            }
        }
        Mask::Seen(m) => {
            let row = m.view.index_axis(Axis(0), head);
            for (score, &seen) in scores.iter_mut().zip(row.index_axis(Axis(0), query).iter().skip(start)) {
                if !seen {
                    *score = T::HIDDEN;
                }
            }
        }
    }
}
