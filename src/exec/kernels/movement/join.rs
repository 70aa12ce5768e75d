//! Moving elements without looking at them: joining, repeating, writing slices into copies.
//!
//! Promises: bits are kept where dtypes are equal. Leaves rearrangement within a tensor to `rearrange`, padding to `pad`, triangles and
//! diagonals to `triangle`, windows to `window`.

use crate::exec::call::cx::Cx;
use crate::exec::call::session::run_as;
use crate::exec::kernels::Entry;
use crate::exec::kernels::movement::{rows_at, rows_of};
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor, fill};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (cat, &["aten.cat.default", "aten.concat.default"]),
    (stack, &["aten.stack.default"]),
    (|cx| cat_raised(cx, 1), &["aten.hstack.default"]),
    (|cx| cat_raised(cx, 2), &["aten.vstack.default"]),
    (repeat, &["aten.repeat.default", "aten.tile.default"]),
    (repeat_each, &["aten.repeat_interleave.self_int"]),
    (repeat_by_tensor, &["aten.repeat_interleave.self_Tensor"]),
    (repeated_places, &["aten.repeat_interleave.Tensor"]),
    (meshgrid, &["aten.meshgrid.indexing"]),
    (block_diag, &["aten.block_diag.default"]),
    (scattered, &["aten.diagonal_scatter.default", "aten.select_scatter.default", "aten.slice_scatter.default"]),
    (as_strided_scatter, &["aten.as_strided_scatter.default"]),
    (spread_back, &["aten.select_backward.default", "aten.slice_backward.default"]),
];

/// Writes the pieces one behind another; empty ones of one dimension count for nothing, as in PyTorch.
fn joined(cx: &Cx<'_, '_, '_>, pieces: &[Tensor], d: usize) -> Made {
    let out = fill::unset(&cx.meta()?, cx.meter())?;
    let mut start = 0_usize;
    for t in pieces.iter().filter(|t| t.numel() > 0) {
        let len = t.meta.size(d);
        out.narrow(d, start, len)?.copy_from(t)?;
        start = start.saturating_add(len);
    }
    Ok(out.into())
}

fn cat(cx: &mut Cx<'_, '_, '_>) -> Made {
    let d = cx.axis(1, cx.meta()?.rank())?;
    let pieces: Vec<Tensor> = cx.tensors(0)?.into_iter().cloned().collect();
    joined(cx, &pieces, d)
}

fn stack(cx: &mut Cx<'_, '_, '_>) -> Made {
    let d = cx.axis(1, cx.meta()?.rank())?;
    let pieces: Result<Vec<_>, CallFault> = cx.tensors(0)?.into_iter().map(|t| unsqueezed(t, d)).collect();
    joined(cx, &pieces?, d)
}

/// Returns the view with a dimension of size 1 more.
pub(in crate::exec) fn unsqueezed(t: &Tensor, d: usize) -> Result<Tensor, CallFault> {
    let mut meta = t.meta.clone();
    let d = d.min(meta.rank());
    meta.sizes.insert(d, 1);
    meta.strides.insert(d, 1);
    t.with_meta(meta)
}

/// `hstack` and `vstack`: tensors of fewer dimensions get leading ones.
fn cat_raised(cx: &mut Cx<'_, '_, '_>, least: usize) -> Made {
    let raise = |t: &Tensor| (t.rank()..least).try_fold(t.clone(), |t, _| unsqueezed(&t, 0));
    let pieces = cx.tensors(0)?.into_iter().map(raise).collect::<Result<Vec<_>, CallFault>>()?;
    let d = usize::from(least == 1 && pieces.first().is_some_and(|t| t.rank() > 1));
    joined(cx, &pieces, d)
}

/// Copies a view that has the result's elements in its order.
pub(in crate::exec) fn emit_view(cx: &Cx<'_, '_, '_>, view: &Tensor) -> Made {
    with_width!(view.dtype().bytes(), U => cx.emit_raw(view.raw::<U>()?.into_vec()))
}

/// Seen with each dimension behind one of stride 0, the elements stand in the result's order.
fn repeat(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    let lead = meta.rank().saturating_sub(t.rank());
    let mut seen = Meta { sizes: Shape::new(), strides: Shape::new(), ..t.meta.clone() };
    for (d, wanted) in meta.sizes.iter().enumerate() {
        let own = d.checked_sub(lead);
        let (size, stride) = own.map_or((1, 0), |d| (t.meta.size(d), t.meta.stride(d)));
        seen.sizes.extend([wanted.checked_div(size).unwrap_or(0), size]);
        seen.strides.extend([0, stride]);
    }
    emit_view(cx, &t.with_meta(seen)?)
}

fn repeat_each(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.rank() == 0 && !cx.is_none(2) {
        return Err(cx.bad(0, "a tensor with dimensions", "a scalar"));
    }
    let times = cx.int(1)?;
    let times = usize::try_from(times).map_err(|_| cx.bad(1, "0 repeats or more", times.to_string()))?;
    let (t, d) = if cx.is_none(2) { (rows_of(cx, t, &[t.numel()])?, 0) } else { (t.clone(), cx.axis(2, t.rank())?) };
    let mut seen = unsqueezed(&t, d.saturating_add(1))?.meta;
    let place = if t.rank() == 0 { 0 } else { d.saturating_add(1) };
    if let (Some(size), Some(stride)) = (seen.sizes.get_mut(place), seen.strides.get_mut(place)) {
        (*size, *stride) = (times, 0);
    }
    emit_view(cx, &t.with_meta(seen)?)
}

/// Returns place `k` as often as `repeats[k]` says.
fn places(cx: &Cx<'_, '_, '_>, i: usize) -> Result<Vec<usize>, CallFault> {
    let repeats = cx.tensor(i)?;
    if !matches!(repeats.dtype(), Dtype::I64 | Dtype::I32) {
        return Err(cx.bad(i, "repeats of int32 or int64", repeats.dtype().long()));
    }
    if repeats.rank() > 1 {
        return Err(cx.bad(i, "at most 1 dimension", repeats.rank().to_string()));
    }
    let count = |n: &i64| usize::try_from(*n).map_err(|_| cx.bad(i, "repeats of 0 or more", n.to_string()));
    let counts = repeats.lanes::<i64>()?.iter().map(count).collect::<Result<Vec<usize>, CallFault>>()?;
    let sum = counts.iter().fold(0_usize, |sum, n| sum.saturating_add(*n));
    let place = cx.operator.schema.param_index("output_size");
    if let Some(told) = place.map_or(Ok(None), |p| cx.opt_int(p))?
        && usize::try_from(told) != Ok(sum)
    {
        return Err(cx.bad(place.unwrap_or(0), format!("the sum of the repeats, {sum}"), told.to_string()));
    }
    let mut out = Vec::new();
    out.try_reserve_exact(sum)
        .map_err(|_| cx.bad(i, "a size that fits in this machine's memory", format!("{sum} repeats")))?;
    for (k, n) in counts.into_iter().enumerate() {
        out.extend(std::iter::repeat_n(k, n));
    }
    Ok(out)
}

#[allow(clippy::cast_possible_wrap)]
fn repeated_places(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, places) = (cx.tensor(0)?, places(cx, 0)?);
    if t.rank() != 1 {
        return Err(cx.bad(0, "1 dimension", t.rank().to_string()));
    }
    let values = places.iter().map(|k| *k as i64).collect();
    Ok(cx.make::<i64>(t.dtype(), &[places.len()], values)?.into())
}

fn repeat_by_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.rank() == 0 && !cx.is_none(2) {
        return Err(cx.bad(0, "a tensor with dimensions", "a scalar"));
    }
    let (t, d) = if cx.is_none(2) { (rows_of(cx, t, &[t.numel()])?, 0) } else { (t.clone(), cx.axis(2, t.rank())?) };
    let (size, repeats) = (t.meta.size(d), cx.tensor(1)?);
    let mut places = places(cx, 1)?;
    if repeats.numel() == 1 {
        let times = places.len();
        places = (0..size).flat_map(|k| std::iter::repeat_n(k, times)).collect();
    } else if repeats.numel() != size {
        return Err(cx.bad(1, format!("1 or {size} repeats"), repeats.numel().to_string()));
    }
    Ok(rows_at(cx, &t, d, &places)?.into())
}

fn meshgrid(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (tensors, indexing) = (cx.tensors(0)?, cx.text(1));
    if !matches!(indexing, "ij" | "xy") {
        return Err(cx.bad(1, "ij or xy", indexing));
    }
    let grid = |(k, t): (usize, &&Tensor)| t.with_meta(cx.meta_of(k)?).map(Value::Tensor);
    tensors.iter().enumerate().map(grid).collect::<Result<_, _>>().map(Value::List)
}

fn block_diag(cx: &mut Cx<'_, '_, '_>) -> Made {
    let out = cx.zeros(0)?;
    let (mut row, mut column) = (0_usize, 0_usize);
    for t in cx.tensors(0)? {
        let block = (t.rank()..2).try_fold(t.clone(), |t, _| unsqueezed(&t, 0))?;
        let (rows, columns) = (block.meta.size(0), block.meta.size(1));
        out.narrow(0, row, rows)?.narrow(1, column, columns)?.copy_from(&block)?;
        (row, column) = (row.saturating_add(rows), column.saturating_add(columns));
    }
    Ok(out.into())
}

/// Returns a copy that lies as the rule says, offset and gaps too, in a storage of so many elements or more.
fn preserved(cx: &Cx<'_, '_, '_>, t: &Tensor, elements: usize) -> Result<Tensor, CallFault> {
    let meta = cx.meta()?;
    let whole = Meta::contiguous(t.dtype(), &[elements.max(meta.needed()?)]);
    let out = crate::exec::tensor::fill::empty(&whole, cx.meter())?.with_meta(meta)?;
    out.copy_from(t)?;
    Ok(out)
}

/// A copy in which the view of the same name is written: `slice_scatter` writes `slice`.
fn scattered(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, source) = (cx.tensor(0)?, cx.tensor(1)?);
    let out = preserved(cx, t, cx.meta()?.needed()?)?;
    let target = match &*cx.operator.schema.name {
        "select_scatter" => "aten.select.int",
        "slice_scatter" => "aten.slice.Tensor",
        _ => "aten.diagonal.default",
    };
    write_view(cx, target, &out, source, 2)?;
    Ok(out.into())
}

/// Writes `source` into a view of `out`, whose further arguments are this call's from parameter `from` on.
fn write_view(
    cx: &mut Cx<'_, '_, '_>,
    target: &str,
    out: &Tensor,
    source: &Tensor,
    from: usize,
) -> Result<(), CallFault> {
    let values = cx.values().into_iter().skip(from);
    let args = std::iter::once(Value::Tensor(out.clone())).chain(values).collect();
    let seen = run_as(cx, target, args)?;
    let Value::Tensor(seen) = seen else { return Err(cx.bad(0, "a tensor", seen.kind())) };
    if crate::exec::call::overlap::overlaps_itself(&seen) {
        let found = format!("sizes {:?} with strides {:?}", seen.meta.sizes, seen.meta.strides);
        return Err(cx.bad(0, "a slice each of whose elements has its own memory", found));
    }
    if seen.sizes() != source.sizes() {
        let at = usize::from(cx.operator.schema.param_index("src") == Some(1));
        return Err(cx.bad(at, format!("sizes {:?}", seen.sizes()), format!("{:?}", source.sizes())));
    }
    seen.copy_from(source)
}

/// The view may reach all of the storage, so all of it is copied; a tensor that overlaps itself is copied alone.
fn as_strided_scatter(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, source) = (cx.tensor(0)?, cx.tensor(1)?);
    let out = if crate::exec::call::overlap::overlaps_itself(t) {
        preserved(cx, t, 0)?
    } else {
        let storage = crate::exec::tensor::storage::Storage::new(t.storage.read()?.bytes().to_vec(), cx.meter());
        Tensor { storage, ..t.clone() }
    };
    write_view(cx, "aten.as_strided.default", &out, source, 2)?;
    Ok(out.into())
}

fn spread_back(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (gradient, out) = (cx.tensor(0)?, cx.zeros(0)?);
    let select = &*cx.operator.schema.name == "select_backward";
    write_view(cx, if select { "aten.select.int" } else { "aten.slice.Tensor" }, &out, gradient, 2)?;
    Ok(out.into())
}
