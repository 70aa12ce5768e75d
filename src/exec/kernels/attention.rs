//! Scaled dot-product attention.
//!
//! Heads are read where they lie, whichever way they were split off, and written where the type rule says. Narrow floats are computed in
//! `f32`, and rounded where PyTorch's kernel rounds them. A query that may look at nothing gets zeros. Leaves the numbers to `dense`; dropout is refused.

use crate::exec::call::cx::Cx;
use crate::exec::dense::attention::{Mask, attention_with_sums, weigh};
use crate::exec::dense::attention_narrow::{Narrow, attention_narrow};
use crate::exec::dense::gemm::gemm_batch;
use crate::exec::dense::softmax::Exponential;
use crate::exec::dense::{Batch, BatchMut, Scalar};
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::is_narrow;
use crate::exec::kernels::matmul::refused;
use crate::exec::tensor::lane::{Lane, LaneKind, round_f32};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::span::Span;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (attention, &["aten.scaled_dot_product_attention.default"]),
    (with_sums, &["aten._scaled_dot_product_flash_attention_for_cpu.default"]),
    (with_weights, &["aten._scaled_dot_product_attention_math.default"]),
];

/// What is computed beside the result.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    Nothing,
    Sums,
    Weights,
}

/// Where the arguments of an overload stand.
struct Places {
    mask: usize,
    dropout: usize,
    causal: usize,
    scale: usize,
    grouped: Option<usize>,
}

fn attention(cx: &mut Cx<'_, '_, '_>) -> Made {
    let places = Places { mask: 3, dropout: 4, causal: 5, scale: 6, grouped: Some(7) };
    let found = attend(cx, &places, Beside::Nothing)?;
    Ok(Value::Tensor(found.0))
}

fn with_sums(cx: &mut Cx<'_, '_, '_>) -> Made {
    let places = Places { mask: 5, dropout: 3, causal: 4, scale: 6, grouped: None };
    let (out, sums) = attend(cx, &places, Beside::Sums)?;
    Ok([Some(out), sums].into_iter().flatten().collect::<Vec<_>>().into())
}

fn with_weights(cx: &mut Cx<'_, '_, '_>) -> Made {
    if !cx.is_none(6) {
        return Err(CallFault::Unsupported { what: "a dropout mask in attention".into() });
    }
    let places = Places { mask: 3, dropout: 4, causal: 5, scale: 7, grouped: Some(8) };
    let (out, weights) = attend(cx, &places, Beside::Weights)?;
    Ok([Some(out), weights].into_iter().flatten().collect::<Vec<_>>().into())
}

/// A lane that attention is computed in.
trait Attended: Lane + Scalar + Exponential {
    /// Computes one group of numbers of a narrower dtype.
    fn narrow(job: Group<'_, '_, Self>, dtype: Dtype) -> Result<(), CallFault>;
}

impl Attended for f32 {
    fn narrow(job: Group<'_, '_, f32>, dtype: Dtype) -> Result<(), CallFault> {
        let mask = mask_of(job.mask, job.causal);
        let heads = Narrow { q: job.q, k: job.k, v: job.v, mask, scale: job.scale };
        attention_narrow(&heads, job.out, job.sums, |v| round_f32(dtype, v)).map_err(refused)
    }
}

impl Attended for f64 {
    fn narrow(_: Group<'_, '_, f64>, dtype: Dtype) -> Result<(), CallFault> {
        Err(CallFault::Unsupported { what: format!("attention of {} in doubles", dtype.long()) })
    }
}

fn mask_of<T>(mask: Option<Batch<'_, T>>, causal: bool) -> Mask<'_, T> {
    match mask {
        Some(mask) => Mask::Added(mask),
        None if causal => Mask::Causal,
        None => Mask::None,
    }
}

/// Equally laid out heads, as matrices.
struct Group<'a, 'o, T> {
    q: Batch<'a, T>,
    k: Batch<'a, T>,
    v: Batch<'a, T>,
    mask: Option<Batch<'a, T>>,
    causal: bool,
    scale: T,
    out: BatchMut<'o, T>,
    sums: Option<&'o mut [T]>,
    weights: Option<&'o mut [T]>,
    /// Heads, queries, keys.
    sizes: [usize; 3],
    /// The narrow dtype that weights are rounded to, where they are.
    rounded: Option<Dtype>,
}

/// Computes one group, all weights at once where somebody asks for them.
fn group<T: Attended>(job: Group<'_, '_, T>) -> Result<(), CallFault> {
    if job.weights.is_some() || (job.causal && job.mask.is_some()) {
        return explicit(job);
    }
    if let Some(dtype) = job.rounded {
        return T::narrow(job, dtype);
    }
    let mask = mask_of(job.mask, job.causal);
    attention_with_sums(&job.q, &job.k, &job.v, &mask, job.scale, job.out, job.sums).map_err(refused)
}

fn explicit<T: Attended>(job: Group<'_, '_, T>) -> Result<(), CallFault> {
    let [heads, queries, keys] = job.sizes;
    let mut own = Vec::new();
    let weights = match job.weights {
        Some(weights) => weights,
        None => {
            own.resize(heads.saturating_mul(queries).saturating_mul(keys), T::zero());
            &mut own
        }
    };
    let strides = [queries.saturating_mul(keys), keys, 1];
    let scores = BatchMut::new(weights, job.sizes, strides).map_err(refused)?;
    gemm_batch(job.scale, &job.q, &job.k.transposed(), T::zero(), scores).map_err(refused)?;
    let mut added = job.mask.as_ref().map(|m| m.elements());
    let mut sums = job.sums.map(|s| s.iter_mut());
    for (row, scores) in weights.chunks_mut(keys.max(1)).enumerate() {
        if let Some(added) = &mut added {
            scores.iter_mut().zip(added).for_each(|(s, m)| *s = s.plus(*m));
        }
        if job.causal {
            let query = row.checked_rem(queries).unwrap_or(0);
            scores.iter_mut().skip(query.saturating_add(1)).for_each(|s| *s = T::HIDDEN);
        }
        weigh(scores, sums.as_mut().and_then(Iterator::next));
    }
    let weights = Batch::new(weights, job.sizes, strides).map_err(refused)?;
    gemm_batch(T::one(), &weights, &job.v, T::zero(), job.out).map_err(refused)
}

fn attend(cx: &Cx<'_, '_, '_>, places: &Places, beside: Beside) -> Result<(Tensor, Option<Tensor>), CallFault> {
    let dtype = cx.tensor(0)?.dtype();
    if cx.f64(places.dropout)? > 0.0 {
        return Err(CallFault::Unsupported { what: "dropout inside attention".into() });
    }
    match LaneKind::of(dtype) {
        LaneKind::F32 => attend_lanes::<f32>(cx, places, beside),
        LaneKind::F64 => attend_lanes::<f64>(cx, places, beside),
        _ => Err(CallFault::Unsupported { what: format!("attention of {}", dtype.long()) }),
    }
}

/// The mask as numbers to be added to scores, broadcast to (batch.., queries, keys).
///
/// The operator that shows its weights takes booleans for numbers too: true adds 1.
fn added<T: Attended>(
    cx: &Cx<'_, '_, '_>,
    i: usize,
    sizes: &[usize],
    beside: Beside,
) -> Result<Option<Tensor>, CallFault> {
    let Some(mask) = cx.opt_tensor(i)? else { return Ok(None) };
    let q = cx.tensor(0)?;
    let fits = match beside {
        Beside::Sums => matches!(mask.rank(), 2 | 4) && mask.dtype() == q.dtype(),
        Beside::Nothing => mask.rank() > 1 || q.rank() != 4,
        Beside::Weights => true,
    };
    if !fits {
        let found = format!("{}{:?}", mask.dtype().short(), mask.sizes());
        return Err(cx.bad(i, "a mask of queries by keys, or of heads of them", found));
    }
    let values: Vec<T> = if mask.dtype() == Dtype::Bool && beside != Beside::Weights {
        let seen = mask.lanes::<i64>()?;
        seen.iter().map(|s| if *s == 0 { T::HIDDEN } else { T::default() }).collect()
    } else if mask.dtype() == T::DTYPE {
        return mask.broadcast(sizes).map(Some);
    } else {
        mask.lanes::<T>()?.into_vec()
    };
    let mask =
        crate::exec::tensor::fill::from_lanes(&Meta::contiguous(T::DTYPE, mask.sizes()), values, &Meter::default())?;
    mask.broadcast(sizes).map(Some)
}

/// Leading sizes, then rows and width of a matrix.
fn split(t: &Tensor) -> (Shape, usize, usize) {
    let lead = t.rank().saturating_sub(2);
    let sizes = t.sizes().iter().copied().take(lead).collect();
    (sizes, t.meta.size(lead), t.meta.size(lead.saturating_add(1)))
}

/// The heads of a tensor at a position of its outer dimensions: `count` from `first` on; a step of 0 repeats the first.
struct Heads<'a, T: Lane> {
    span: Span<'a, T>,
}

impl<'a, T: Lane> Heads<'a, T> {
    fn open(owner: &'a Tensor, view: &Tensor) -> Result<Self, CallFault> {
        Span::open(owner, view).map(|span| Heads { span })
    }

    fn group(&self, outer: &[usize], first: usize, count: usize, repeated: bool) -> Result<Batch<'_, T>, CallFault> {
        let rank = self.span.sizes.len();
        let (size, stride) = (
            |d: usize| rank.checked_sub(d).and_then(|d| self.span.sizes.get(d)).copied().unwrap_or(1),
            |d: usize| rank.checked_sub(d).and_then(|d| self.span.strides.get(d)).copied().unwrap_or(0),
        );
        let step = stride(3);
        let index = outer.iter().copied().chain([first]);
        let start = offset(index, &self.span.strides);
        let data = self.span.data.get(start..).unwrap_or(&[]);
        let step = if repeated { 0 } else { step };
        Batch::new(data, [count, size(2), size(1)], [step, stride(2), stride(1)]).map_err(refused)
    }
}

/// Where an index lies; strides that the index does not reach count nothing.
fn offset(index: impl Iterator<Item = usize>, strides: &[usize]) -> usize {
    index.zip(strides).fold(0_usize, |at, (i, s)| at.saturating_add(i.saturating_mul(*s)))
}

/// Returns the view with a dimension of one head, where there is none.
fn headed(t: &Tensor) -> Tensor {
    let mut t = t.clone();
    if t.rank() == 2 {
        t.meta.sizes.insert(0, 1);
        t.meta.strides.insert(0, 0);
    }
    t
}

fn attend_lanes<T: Attended>(
    cx: &Cx<'_, '_, '_>,
    places: &Places,
    beside: Beside,
) -> Result<(Tensor, Option<Tensor>), CallFault> {
    let (q, k, v) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let views = [headed(q), headed(k), headed(v)];
    let [q_view, k_view, v_view] = &views;
    let (batch, queries, width) = split(q_view);
    let keys = split(k_view).1;
    let grouped = places.grouped.map_or(Ok(false), |i| cx.bool(i))?;
    let scale = cx.opt_scalar(places.scale)?.map_or_else(|| 1.0 / (width as f64).sqrt(), |s| s.to_f64());
    let causal = cx.bool(places.causal)?;
    if causal && !cx.is_none(places.mask) && beside != Beside::Sums {
        return Err(cx.bad(places.causal, "no mask beside is_causal", "both"));
    }
    let Some((heads, outer)) = batch.split_last() else { return Err(cx.bad(0, "2 or more dimensions", "fewer")) };
    let whole: Shape = batch.iter().copied().chain([queries, keys]).collect();
    let mask = added::<T>(cx, places.mask, &whole, beside)?;
    // Keys and values of other batch sizes are repeated, as a product broadcasts; heads in groups are not.
    let kv_heads = if grouped { k_view.meta.size(outer.len()) } else { *heads };
    let spread = |t: &Tensor| {
        let (_, rows, width) = split(t);
        t.broadcast(&outer.iter().copied().chain([kv_heads, rows, width]).collect::<Shape>())
    };
    let (k_view, v_view) = (spread(k_view)?, spread(v_view)?);
    let each = heads.checked_div(kv_heads).filter(|n| n.saturating_mul(kv_heads) == *heads);
    let each = each.ok_or_else(|| cx.bad(1, format!("heads that divide {heads}"), kv_heads.to_string()))?;
    let (q, k, v) = (Heads::open(q, q_view)?, Heads::open(k, &k_view)?, Heads::open(v, &v_view)?);
    let mask = mask.as_ref().map(|m| Heads::<T>::open(m, m)).transpose()?;

    let meta = cx.meta()?;
    // Of other ranks and widths PyTorch's CPU runs the written-out form, which rounds elsewhere.
    let fused = cx.tensor(0)?.rank() == 4 && v_view.meta.size(outer.len().saturating_add(2)) == width;
    let rounded = Some(cx.tensor(0)?.dtype()).filter(|d| fused && is_narrow(*d));
    let place = Landing::of(&meta);
    let mut out = cx.meter().unset::<T>(shape::count(&meta.sizes)?);
    let rows = shape::count(&batch)?.saturating_mul(queries);
    let mut sums = vec![T::default(); if beside == Beside::Sums { rows } else { 0 }];
    let mut weights = vec![T::default(); if beside == Beside::Weights { rows.saturating_mul(keys) } else { 0 }];
    let (value_width, out_strides) = (v_view.meta.size(outer.len().saturating_add(2)), place.strides(&meta));
    let one = if grouped { kv_heads } else { 1 };
    let count = if grouped { each } else { *heads };
    for (n, at) in positions(outer, one).enumerate() {
        let (outside, inner) = at.split_at(outer.len());
        let shared = inner.first().copied().unwrap_or(0);
        let first = shared.saturating_mul(count);
        let start = offset(outside.iter().copied().chain([first]), &out_strides);
        let own = |len: usize| n.saturating_mul(count).saturating_mul(queries).saturating_mul(len);
        let many = |len: usize| count.saturating_mul(queries).saturating_mul(len);
        let stride = |d: usize| out_strides.get(outer.len().saturating_add(d)).copied().unwrap_or(1);
        let target = out.get_mut(start..).unwrap_or(&mut []);
        let sizes = [count, queries, value_width];
        group(Group {
            q: q.group(outside, first, count, false)?,
            k: k.group(outside, if grouped { shared } else { 0 }, count, grouped)?,
            v: v.group(outside, if grouped { shared } else { 0 }, count, grouped)?,
            mask: mask.as_ref().map(|m| m.group(outside, first, count, false)).transpose()?,
            causal,
            scale: T::from_f64(scale),
            out: BatchMut::new(target, sizes, [stride(0), stride(1), stride(2)]).map_err(refused)?,
            sums: (beside == Beside::Sums).then(|| part(&mut sums, own(1), many(1))),
            weights: (beside == Beside::Weights).then(|| part(&mut weights, own(keys), many(keys))),
            sizes: [count, queries, keys],
            rounded,
        })?;
    }
    let result = place.tensor(cx, &meta, out)?;
    let other = match beside {
        Beside::Nothing => None,
        Beside::Sums => Some(cx.emit_at(1, sums)?),
        Beside::Weights => Some(cx.emit_at(1, weights)?),
    };
    Ok((result, other))
}

fn part<T>(all: &mut [T], start: usize, len: usize) -> &mut [T] {
    all.get_mut(start..start.saturating_add(len)).unwrap_or(&mut [])
}

/// Every index of the outer sizes, and of `groups` inside them.
fn positions(outer: &[usize], groups: usize) -> impl Iterator<Item = Shape> {
    let sizes: Shape = outer.iter().copied().chain([groups]).collect();
    let total = shape::numel(&sizes);
    (0..total).map(move |n| {
        let mut rest = n;
        let mut index: Shape = sizes
            .iter()
            .rev()
            .map(|size| {
                let at = rest.checked_rem(*size).unwrap_or(0);
                rest = rest.checked_div(*size).unwrap_or(0);
                at
            })
            .collect();
        index.reverse();
        index
    })
}

/// Where results are computed: where they lie in the end, if they lie there without gaps.
enum Landing {
    Direct,
    InOrder,
}

impl Landing {
    fn of(meta: &Meta) -> Landing {
        if meta.is_dense() { Landing::Direct } else { Landing::InOrder }
    }

    /// Strides of the result with at least three dimensions.
    fn strides(&self, meta: &Meta) -> Shape {
        let mut strides = match self {
            Landing::Direct => meta.strides.clone(),
            Landing::InOrder => shape::contiguous(&meta.sizes),
        };
        if strides.len() == 2 {
            strides.insert(0, meta.numel());
        }
        strides
    }

    fn tensor<T: Lane>(&self, cx: &Cx<'_, '_, '_>, meta: &Meta, values: Vec<T>) -> Result<Tensor, CallFault> {
        match self {
            Landing::InOrder => cx.emit_at(0, values),
            Landing::Direct => {
                let storage = crate::exec::tensor::fill::stored(meta.dtype, values, cx.meter());
                Tensor::new(Meta { offset: 0, ..meta.clone() }, storage)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_of_every_image_is_visited_once() {
        let all: Vec<Vec<usize>> = positions(&[2], 2).map(|p| p.to_vec()).collect();
        assert_eq!(all, [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(positions(&[0], 3).count(), 0);
        assert_eq!(positions(&[], 1).count(), 1);
    }
}
