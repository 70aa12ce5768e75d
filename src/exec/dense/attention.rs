//! Scaled dot-product attention, head by head and block of queries by block: the matrix of scores is never whole.
//!
//! Threads share heads and blocks of queries. A query that may look at nothing yields zeros, as in PyTorch.

use ndarray::Axis;
use rayon::prelude::*;

use super::gemm::product;
use super::softmax::softmax_row;
use super::{Batch, BatchMut, DenseError, MatMut};

/// Queries whose scores are held at once.
const QUERIES: usize = 64;

/// What a query may look at.
#[derive(Debug, Clone)]
pub enum Mask<'a> {
    /// Everything.
    None,
    /// Keys up to the query's own index.
    Causal,
    /// Numbers that are added to the scores (heads x queries x keys; -inf hides a key).
    Added(Batch<'a, f32>),
    /// Keys that are seen (heads x queries x keys).
    Seen(Batch<'a, bool>),
}

/// softmax(scale * q * k^T + mask) * v for each head: `q` is heads x queries x width, `k` heads x keys x width, `v` heads x keys x
/// value width, `out` heads x queries x value width. Heads are all leading dimensions in one; a stride of 0 shares keys between them.
pub fn attention(
    q: &Batch<'_, f32>,
    k: &Batch<'_, f32>,
    v: &Batch<'_, f32>,
    mask: &Mask<'_>,
    scale: f32,
    mut out: BatchMut<'_, f32>,
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
    let mut jobs = Vec::new();
    for (head, out) in out.view.outer_iter_mut().enumerate() {
        let mut out = Some(out);
        for first in (0..queries).step_by(QUERIES) {
            let Some(whole) = out.take() else { break };
            let (now, later) = whole.split_at(Axis(0), QUERIES.min(queries.saturating_sub(first)));
            out = Some(later);
            jobs.push((head, first, now));
        }
    }
    jobs.into_par_iter().try_for_each(|(head, first, out)| {
        let last = first.saturating_add(out.nrows());
        let rows = q.view.index_axis(Axis(0), head);
        let rows = rows.slice_axis(Axis(0), (first..last).into());
        let (keys_t, values) = (k.view.index_axis(Axis(0), head).reversed_axes(), v.view.index_axis(Axis(0), head));
        let mut scores = vec![0.0; out.nrows().saturating_mul(keys)];
        product(1, scale, rows, keys_t, 0.0, MatMut::row_major(&mut scores, out.nrows(), keys)?.view);
        for (row, scores) in scores.chunks_mut(keys.max(1)).enumerate() {
            hide(mask, head, first.saturating_add(row), scores);
            if scores.iter().all(|s| *s == f32::NEG_INFINITY) {
                scores.fill(0.0);
            } else {
                softmax_row(scores);
            }
        }
        let weights = MatMut::row_major(&mut scores, out.nrows(), keys)?.view;
        product(1, 1.0, weights.view(), values, 0.0, out);
        Ok(())
    })
}

fn expect_mask(found: (usize, usize, usize), needed: (usize, usize, usize)) -> Result<(), DenseError> {
    DenseError::expect("the number of heads of the mask", needed.0, found.0)?;
    DenseError::expect("the number of rows of the mask", needed.1, found.1)?;
    DenseError::expect("the number of columns of the mask", needed.2, found.2)
}

/// Adds the mask of one query to its scores.
fn hide(mask: &Mask<'_>, head: usize, query: usize, scores: &mut [f32]) {
    match mask {
        Mask::None => {}
        Mask::Causal => {
            for score in scores.iter_mut().skip(query.saturating_add(1)) {
                *score = f32::NEG_INFINITY;
            }
        }
        Mask::Added(m) => {
            let row = m.view.index_axis(Axis(0), head);
            for (score, &add) in scores.iter_mut().zip(row.index_axis(Axis(0), query)) {
                *score += add;
            }
        }
        Mask::Seen(m) => {
            let row = m.view.index_axis(Axis(0), head);
            for (score, &seen) in scores.iter_mut().zip(row.index_axis(Axis(0), query)) {
                if !seen {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
    }
}
