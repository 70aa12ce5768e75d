//! Rows of a table by number: `embedding`, its gradient and renormalisation, `one_hot`.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::index::cells::{Range, rounded, target, update};
use crate::exec::kernels::movement::rows_at;
use crate::exec::numbers::accumulate::Ring;
use crate::exec::tensor::lane::{Lane, with_lane};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Scalar, Value};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (embedding, &["aten.embedding.default"]),
    (gradient, &["aten.embedding_dense_backward.default"]),
    (renormalised, &["aten.embedding_renorm_.default"]),
    (one_hot, &["aten.one_hot.default"]),
];

/// Returns the rows that argument `i` names, of so many.
pub fn rows(cx: &Cx<'_, '_, '_>, i: usize, count: usize) -> Result<Vec<usize>, CallFault> {
    let index = cx.tensor(i)?;
    if !matches!(index.dtype(), Dtype::I64 | Dtype::I32) {
        return Err(cx.bad(i, "indices of int32 or int64", index.dtype().long()));
    }
    index.lanes::<i64>()?.iter().map(|v| Range::Strict.place(cx, i, *v, count)).collect()
}

fn embedding(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (table, meta) = (cx.tensor(0)?, cx.meta()?);
    let found = rows_at(cx, table, 0, &rows(cx, 1, table.meta.size(0))?)?;
    Ok(found.with_meta(meta)?.into())
}

/// Sums the gradients of each row's uses, rounding at each step; those of the padding row are left out.
#[allow(clippy::cast_precision_loss)]
fn gradient(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (gradient, out) = (cx.tensor(0)?, cx.zeros(0)?);
    let (count, width) = (out.meta.size(0), out.meta.size(1));
    let (padding, by_count) = (cx.int(3)?, cx.bool(4)?);
    let index = cx.tensor(1)?.lanes::<i64>()?;
    let mut uses = vec![0_i64; count];
    for v in index.iter().filter(|v| **v != padding) {
        if let Some(n) = uses.get_mut(Range::Strict.place(cx, 1, *v, count)?) {
            *n = n.saturating_add(1);
        }
    }
    with_lane!(gradient.dtype(), L => {
        let gradients = gradient.lanes::<L>()?;
        for (v, row) in index.iter().zip(gradients.chunks(width.max(1))) {
            if *v == padding {
                continue;
            }
            let place = Range::Strict.place(cx, 1, *v, count)?;
            let first = place.saturating_mul(width);
            let at: Vec<usize> = (first..first.saturating_add(width)).collect();
            let n = uses.get(place).copied().unwrap_or(1).max(1);
            let scale = if by_count { 1.0 / n as f64 } else { 1.0 };
            let scale = number::<L>(Scalar::Float(scale), Some(out.dtype()));
            update(&out, &at, row, |a: L, b| a.plus(rounded(out.dtype(), b.times(scale))))?;
        }
        Ok(out.into())
    })
}

/// Rows whose norm is larger are scaled down to it, each once.
#[allow(clippy::cast_possible_truncation)]
fn renormalised(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (out, most, p) = (target(cx)?, cx.f64(2)?, cx.f64(3)?);
    let mut places = rows(cx, 1, out.meta.size(0))?;
    places.sort_unstable();
    places.dedup();
    for place in places {
        let row = out.select(0, place)?;
        with_lane!(out.dtype(), L => {
            let values = row.lanes::<L>()?.into_vec();
            let norm = norm(values.iter().map(|v| v.to_f64().abs()), p);
            if norm > most {
                let scale = L::from_f64(most / (norm + 1e-7));
                let scaled: Vec<L> = values.iter().map(|v| v.times(scale)).collect();
                row.write(&scaled)?;
            }
        });
    }
    Ok(out.into())
}

fn norm(values: impl Iterator<Item = f64>, p: f64) -> f64 {
    if p == f64::INFINITY {
        return values.fold(0.0, f64::max);
    }
    if p == 0.0 {
        return values.fold(0.0, |n, v| if v == 0.0 { n } else { n + 1.0 });
    }
    let sum: f64 = if p == 2.0 { values.map(|v| v * v).sum() } else { values.map(|v| v.powf(p)).sum() };
    if p == 2.0 { sum.sqrt() } else { sum.powf(1.0 / p) }
}

/// Without a number of classes there are as many as the largest index says.
fn one_hot(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (index, told) = (cx.tensor(0)?, cx.int(1)?);
    if index.dtype() != Dtype::I64 {
        return Err(cx.bad(0, "indices of int64", index.dtype().long()));
    }
    let values = index.lanes::<i64>()?;
    let largest = values.iter().max();
    let classes = match (told, largest) {
        (n, None) if n <= 0 => return Err(cx.bad(1, "a number of classes, as there are no indices", n.to_string())),
        (-1, Some(largest)) => largest.saturating_add(1),
        (n, _) => n,
    };
    let classes = usize::try_from(classes).ok().filter(|n| *n > 0 || values.is_empty());
    let classes = classes.ok_or_else(|| cx.bad(1, "1 class or more", told.to_string()))?;
    let mut sizes: Vec<usize> = index.sizes().to_vec();
    sizes.push(classes);
    let count = crate::exec::tensor::shape::count(&sizes)?;
    cx.room(count)?;
    let mut out = vec![0_i64; count];
    for (row, v) in out.chunks_mut(classes.max(1)).zip(values.iter()) {
        let place = Range::Strict.place(cx, 0, *v, classes)?;
        if let Some(slot) = row.get_mut(place) {
            *slot = 1;
        }
    }
    Ok(cx.make::<i64>(Dtype::I64, &sizes, out)?.into())
}
