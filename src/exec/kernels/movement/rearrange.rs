//! Rearranging the elements of a tensor: turning, rolling, shuffling, picking rows.
//!
//! What can be said with strides is a view that is copied; the rest picks by one table of offsets a dimension.

use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::movement::emit_view;
use crate::exec::tensor::fill;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (roll, &["aten.roll.default"]),
    (flip, &["aten.flip.default"]),
    (rotate, &["aten.rot90.default"]),
    (pixel_shuffle, &["aten.pixel_shuffle.default"]),
    (pixel_unshuffle, &["aten.pixel_unshuffle.default"]),
    (channel_shuffle, &["aten.channel_shuffle.default"]),
];

/// Rows below this many elements together are picked by one thread.
const ALONE: usize = 1 << 14;

/// Returns a tensor of type `meta` whose element at `[i, j, ..]` is that of `t` at `[maps[0][i], maps[1][j], ..]`.
pub(in crate::exec) fn picked(
    cx: &Cx<'_, '_, '_>,
    t: &Tensor,
    meta: &Meta,
    maps: Vec<Vec<usize>>,
) -> Result<Tensor, CallFault> {
    let strides = shape::contiguous(t.sizes());
    let mut tables = maps;
    for (table, stride) in tables.iter_mut().zip(&strides) {
        table.iter_mut().for_each(|at| *at = at.saturating_mul(*stride));
    }
    with_width!(t.dtype().bytes(), U => {
        let source = t.raw::<U>()?;
        let mut out = cx.meter().unset::<U>(meta.numel());
        pick(&source, &tables, &mut out);
        fill::from_raw(meta, out, cx.meter())
    })
}

fn pick<T: Copy + Send + Sync>(source: &[T], tables: &[Vec<usize>], out: &mut [T]) {
    let Some((last, outer)) = tables.split_last() else {
        out.iter_mut().zip(source).for_each(|(o, v)| *o = *v);
        return;
    };
    let consecutive = last.windows(2).all(|w| matches!(w, [a, b] if a.checked_add(1) == Some(*b)));
    let first = last.first().copied().unwrap_or(0);
    let row = |k: usize, part: &mut [T]| {
        let (mut rest, mut base) = (k, 0_usize);
        for table in outer.iter().rev() {
            let at = rest.checked_rem(table.len()).unwrap_or(0);
            rest = rest.checked_div(table.len()).unwrap_or(0);
            base = base.saturating_add(table.get(at).copied().unwrap_or(0));
        }
        let from = source.get(base..).unwrap_or(&[]);
        if consecutive {
            part.iter_mut().zip(from.get(first..).unwrap_or(&[])).for_each(|(o, v)| *o = *v);
        } else {
            part.iter_mut().zip(last).for_each(|(o, at)| {
                if let Some(v) = from.get(*at) {
                    *o = *v;
                }
            });
        }
    };
    let width = last.len().max(1);
    if out.len() <= ALONE {
        out.chunks_mut(width).enumerate().for_each(|(k, part)| row(k, part));
    } else {
        let rows = (ALONE / 2).checked_div(width).unwrap_or(1).max(1);
        out.par_chunks_mut(width.saturating_mul(rows)).enumerate().for_each(|(k, parts)| {
            let first = k.saturating_mul(rows);
            parts.chunks_mut(width).enumerate().for_each(|(j, part)| row(first.saturating_add(j), part));
        });
    }
}

/// Returns for each dimension the places in order.
pub(in crate::exec) fn identity(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().map(|n| (0..*n).collect()).collect()
}

/// Returns the tensor in other row-major sizes: a view where it lies so, else a copy.
pub(in crate::exec) fn rows_of(cx: &Cx<'_, '_, '_>, t: &Tensor, sizes: &[usize]) -> Result<Tensor, CallFault> {
    let rows = if t.meta.is_contiguous() { t.clone() } else { t.resolved(cx.meter())? };
    let offset = rows.meta.offset;
    rows.with_meta(Meta { offset, ..Meta::contiguous(t.dtype(), sizes) })
}

/// Returns a row-major tensor of the slices of `t` at these places of dimension `d`.
pub(in crate::exec) fn rows_at(
    cx: &Cx<'_, '_, '_>,
    t: &Tensor,
    d: usize,
    places: &[usize],
) -> Result<Tensor, CallFault> {
    let inner = shape::numel(t.sizes().get(d.saturating_add(1)..).unwrap_or(&[]));
    let outer = shape::numel(t.sizes().get(..d).unwrap_or(&[]));
    let rows = rows_of(cx, t, &[outer, t.meta.size(d), inner])?;
    let meta = Meta::contiguous(t.dtype(), &[outer, places.len(), inner]);
    let mut maps = vec![(0..outer).collect(), places.to_vec()];
    if inner != 1 {
        maps.push((0..inner).collect());
    }
    let flat = picked(cx, &rows, &meta, maps)?;
    let mut sizes: Shape = t.sizes().into();
    if let Some(size) = sizes.get_mut(d) {
        *size = places.len();
    }
    flat.with_meta(Meta::contiguous(t.dtype(), &sizes))
}

/// The last places of a dimension come first, as many as it is shifted by.
fn roll(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta, shifts) = (cx.tensor(0)?, cx.meta()?, cx.ints(1)?);
    if t.rank() == 0 && !cx.ints(2)?.is_empty() {
        return Err(cx.bad(0, "a tensor with dimensions", "a scalar"));
    }
    if t.numel() == 0 {
        return Ok(cx.zeros(0)?.into());
    }
    if shifts.is_empty() {
        return Err(cx.bad(1, "one shift or more", "none"));
    }
    let dims = cx.ints(2)?;
    let turned = |n: usize, by: i64| -> Vec<usize> {
        let size = i64::try_from(n).unwrap_or(i64::MAX);
        let by = by.checked_rem_euclid(size).and_then(|k| usize::try_from(k).ok()).unwrap_or(0);
        let first = n.saturating_sub(by);
        (first..n).chain(0..first).collect()
    };
    if dims.is_empty() {
        let [by] = shifts.as_slice() else {
            return Err(cx.bad(1, "one shift, as no dimensions are given", shifts.len().to_string()));
        };
        let count = t.numel();
        let flat = rows_of(cx, t, &[count])?;
        let flat = picked(cx, &flat, &Meta::contiguous(t.dtype(), &[count]), vec![turned(count, *by)])?;
        return Ok(flat.with_meta(meta)?.into());
    }
    if dims.len() != shifts.len() {
        return Err(cx.bad(1, format!("{} shifts", dims.len()), shifts.len().to_string()));
    }
    let mut maps = identity(t.sizes());
    for (d, by) in dims.iter().zip(&shifts) {
        let d = cx.wrap(2, *d, t.rank())?;
        if let Some(map) = maps.get_mut(d) {
            let turn = turned(map.len(), *by);
            *map = turn.iter().filter_map(|k| map.get(*k)).copied().collect();
        }
    }
    Ok(picked(cx, t, &meta, maps)?.into())
}

fn flipped(cx: &Cx<'_, '_, '_>, t: &Tensor, dims: &[usize], meta: &Meta) -> Result<Tensor, CallFault> {
    let mut maps = identity(t.sizes());
    for d in dims {
        if let Some(map) = maps.get_mut(*d) {
            map.reverse();
        }
    }
    picked(cx, t, meta, maps)
}

fn flip(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let dims = cx.axes(1, t.rank())?.unwrap_or_default();
    Ok(flipped(cx, t, &dims, &cx.meta()?)?.into())
}

/// Quarter turns: one flip, and for odd ones the two dimensions swapped.
fn rotate(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    let over = cx.axes(2, t.rank())?.unwrap_or_default();
    let [a, b] = over.as_slice() else { return Err(cx.bad(2, "2 dimensions", over.len().to_string())) };
    let dims: &[usize] = match cx.int(1)?.rem_euclid(4) {
        0 => &[],
        1 => &[*b],
        2 => &[*a, *b],
        _ => &[*a],
    };
    let mut seen = t.clone();
    if dims.len() == 1 {
        let mut order: Shape = (0..t.rank()).collect();
        order.swap(*a, *b);
        seen = t.permute(&order);
    }
    // What was flipped before the swap lies in the other dimension after it.
    let dims: Shape = match dims {
        [one] => [if one == a { *b } else { *a }].into_iter().collect(),
        other => other.into(),
    };
    Ok(flipped(cx, &seen, &dims, &meta)?.into())
}

/// Returns the view in which dimension `d` is split into `parts`, outermost first.
fn split(t: &Tensor, d: usize, parts: &[usize]) -> Result<Tensor, CallFault> {
    let mut meta = t.meta.clone();
    let stride = meta.stride(d);
    if d >= meta.rank() {
        return Ok(t.clone());
    }
    meta.sizes.remove(d);
    meta.strides.remove(d);
    let mut step = stride;
    for part in parts.iter().rev() {
        meta.sizes.insert(d, *part);
        meta.strides.insert(d, step);
        step = step.saturating_mul(*part);
    }
    t.with_meta(meta)
}

/// Splits by the shuffle's factor; `CallFault` where a size is no multiple of it.
fn part(cx: &Cx<'_, '_, '_>, size: usize, by: usize, what: &str) -> Result<usize, CallFault> {
    match size.checked_rem(by) {
        Some(0) => Ok(size.checked_div(by).unwrap_or(0)),
        _ => Err(cx.bad(0, format!("{what} that are a multiple of {by}"), size.to_string())),
    }
}

fn factor(cx: &Cx<'_, '_, '_>) -> Result<usize, CallFault> {
    let n = cx.int(1)?;
    usize::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| cx.bad(1, "1 or more", n.to_string()))
}

/// Channels become rows and columns: `[C, r, r, H, W]` read as `[C, H, r, W, r]`.
fn pixel_shuffle(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, r) = (cx.tensor(0)?, factor(cx)?);
    let Some(d) = t.rank().checked_sub(3) else { return Err(cx.bad(0, "3 dimensions", t.rank().to_string())) };
    let channels = part(cx, t.meta.size(d), r.saturating_mul(r), "channels")?;
    shuffled(cx, &split(t, d, &[channels, r, r])?, d, &[0, 3, 1, 4, 2])
}

/// Rows and columns become channels: `[C, H, r, W, r]` read as `[C, r, r, H, W]`.
fn pixel_unshuffle(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, r) = (cx.tensor(0)?, factor(cx)?);
    if t.numel() == 0 {
        return Ok(cx.zeros(0)?.into());
    }
    let Some(d) = t.rank().checked_sub(3) else { return Err(cx.bad(0, "3 dimensions", t.rank().to_string())) };
    let (rows, columns) = (d.saturating_add(1), d.saturating_add(2));
    let height = part(cx, t.meta.size(rows), r, "rows")?;
    let width = part(cx, t.meta.size(columns), r, "columns")?;
    let seen = split(&split(t, columns, &[width, r])?, rows, &[height, r])?;
    shuffled(cx, &seen, d, &[0, 2, 4, 1, 3])
}

fn channel_shuffle(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, groups) = (cx.tensor(0)?, factor(cx)?);
    if t.rank() < 3 {
        return Err(cx.bad(0, "3 or more dimensions", t.rank().to_string()));
    }
    let each = part(cx, t.meta.size(1), groups, "channels")?;
    shuffled(cx, &split(t, 1, &[groups, each])?, 1, &[1, 0])
}

/// Copies the view with its dimensions from `d` on in that order; further ones stay.
fn shuffled(cx: &Cx<'_, '_, '_>, t: &Tensor, d: usize, order: &[usize]) -> Made {
    let moved = order.iter().map(|k| d.saturating_add(*k));
    let all: Shape = (0..d).chain(moved).chain(d.saturating_add(order.len())..t.rank()).collect();
    emit_view(cx, &t.permute(&all))
}
