//! Moving and copying of elements without looking at them: joining, repeating, padding, writing of slices.

use crate::graph::{Dtype, MemoryFormat, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::needs::movement::slice_of;
use crate::ops::families::norm::suggested;
use crate::ops::families::view::diagonal_size;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::promote::Promotion;
use crate::ops::typing::require::overlaps_itself;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (cat, &["aten.cat.default", "aten.concat.default"]),
    (stack, &["aten.stack.default"]),
    (hstack, &["aten.hstack.default"]),
    (vstack, &["aten.vstack.default"]),
    (repeat, &["aten.repeat.default", "aten.tile.default"]),
    (repeat_interleave, &["aten.repeat_interleave.self_int"]),
    (repeat_by_tensor, &["aten.repeat_interleave.self_Tensor", "aten.repeat_interleave.Tensor"]),
    (contiguous, &["aten.roll.default", "aten.tril.default", "aten.triu.default"]),
    (flip, &["aten.flip.default", "prims.rev.default"]),
    (rotate, &["aten.rot90.default"]),
    (pad, &["aten.constant_pad_nd.default", "aten.pad.default", "aten._pad_circular.default"]),
    (
        pad_border,
        &[
            "aten.reflection_pad1d.default",
            "aten.reflection_pad2d.default",
            "aten.reflection_pad3d.default",
            "aten.replication_pad1d.default",
            "aten.replication_pad2d.default",
            "aten.replication_pad3d.default",
        ],
    ),
    (shuffle, &["aten.pixel_shuffle.default", "aten.pixel_unshuffle.default"]),
    (channel_shuffle, &["aten.channel_shuffle.default"]),
    (im2col, &["aten.im2col.default"]),
    (col2im, &["aten.col2im.default"]),
    (meshgrid, &["aten.meshgrid.indexing"]),
    (block_diag, &["aten.block_diag.default"]),
    (diag, &["aten.diag.default"]),
    (diag_embed, &["aten.diag_embed.default"]),
    (written, &["aten.diagonal_scatter.default", "aten.select_scatter.default", "aten.slice_scatter.default"]),
    (as_strided_scatter, &["aten.as_strided_scatter.default"]),
    (spread_back, &["aten.select_backward.default", "aten.slice_backward.default"]),
];

fn plain(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    out::contiguous(c.symbols, dtype, dims, t.device.clone())
}

fn joined_dtype(tensors: &[&TensorType]) -> Result<Dtype, CallFault> {
    let mut p = Promotion::default();
    for t in tensors {
        p.tensor(t.dtype, t.rank())?;
    }
    p.dtype()
}

/// Joins along `d`; 1-d empty tensors are skipped, as PyTorch has always done.
fn joined(c: &mut Call<'_>, tensors: &[&TensorType], d: i64) -> Typed {
    let legacy = |t: &TensorType| t.rank() == 1 && t.sizes.first() == Some(&Dim::Fixed(0));
    let kept: Vec<&TensorType> = tensors.iter().copied().filter(|t| !legacy(t)).collect();
    let Some(first) = kept.first().or(tensors.first()).copied() else {
        return Err(c.bad(0, "one tensor or more", "none"));
    };
    if first.rank() == 0 {
        return Err(c.bad(0, "tensors with dimensions", "a scalar"));
    }
    let dtype = joined_dtype(tensors)?;
    let axis = c.wrap(1, d, first.rank())?;
    let mut dims = first.sizes.clone();
    for t in kept.iter().skip(1) {
        if t.rank() != first.rank() {
            return Err(c.bad(0, format!("tensors of {} dimensions", first.rank()), sizes::show(c.symbols, &t.sizes)));
        }
        for (k, (slot, size)) in dims.iter_mut().zip(&t.sizes).enumerate() {
            if k == axis {
                *slot = sizes::add(c.symbols, *slot, *size)?;
            } else if sizes::differ(c.symbols, *slot, *size) {
                let expected = format!("sizes like {} but in dimension {axis}", sizes::show(c.symbols, &first.sizes));
                return Err(c.bad(0, expected, sizes::show(c.symbols, &t.sizes)));
            } else if slot.fixed().is_none() {
                *slot = *size;
            }
        }
    }
    let mut formats = tensors.iter().map(|t| layout::suggested_format(c.symbols, t));
    let format = formats.next().flatten();
    let agreed = match format {
        Some(f) if formats.all(|other| other == Some(f)) => Some(f),
        _ if tensors.iter().any(|t| t.strides.is_none()) => None,
        _ => Some(MemoryFormat::Contiguous),
    };
    let strides = match agreed {
        Some(f) => Some(layout::of_format(c.symbols, &dims, f)?),
        None => None,
    };
    Ok(out::strided(dtype, dims, strides, c.common_device(tensors)))
}

fn cat(c: &mut Call<'_>) -> Typed {
    let (tensors, d) = (c.tensors(0)?, c.int(1)?);
    joined(c, &tensors, d)
}

fn stack(c: &mut Call<'_>) -> Typed {
    let tensors = c.tensors(0)?;
    let Some(first) = tensors.first().copied() else { return Err(c.bad(0, "one tensor or more", "none")) };
    let d = c.axis(1, first.rank().saturating_add(1))?;
    for t in &tensors {
        let fits = t.rank() == first.rank()
            && !t.sizes.iter().zip(&first.sizes).any(|(a, b)| sizes::differ(c.symbols, *a, *b));
        if !fits {
            let expected = format!("tensors of sizes {}", sizes::show(c.symbols, &first.sizes));
            return Err(c.bad(0, expected, sizes::show(c.symbols, &t.sizes)));
        }
    }
    let mut dims = first.sizes.clone();
    dims.insert(d.min(first.rank()), Dim::Fixed(i64::try_from(tensors.len()).unwrap_or(i64::MAX)));
    // Images and volumes may be joined channels-last before the new dimension is seen, where all look so: at the end, each with it.
    let at_end = d == first.rank();
    let in_rows = tensors.iter().any(|t| {
        let mut t = (*t).clone();
        if at_end {
            t.sizes.push(Dim::Fixed(1));
            t.strides.iter_mut().for_each(|s| s.push(Dim::Fixed(1)));
        }
        layout::suggested_format(c.symbols, &t) == Some(MemoryFormat::Contiguous)
    });
    if matches!(first.rank(), 4 | 5) && !in_rows {
        let operands: Vec<Option<&TensorType>> = tensors.iter().copied().map(Some).collect();
        return out::row_or_open(c, joined_dtype(&tensors)?, dims, &operands);
    }
    plain(c, joined_dtype(&tensors)?, first, dims)
}

/// The tensors with at least `rank` dimensions, new ones in front.
fn raised(tensors: &[&TensorType], rank: usize) -> Vec<TensorType> {
    let raise = |t: &TensorType| {
        let mut t = t.clone();
        while t.rank() < rank {
            t.sizes.insert(0, Dim::Fixed(1));
            if let Some(s) = &mut t.strides {
                s.insert(0, Dim::Fixed(1));
            }
        }
        t
    };
    tensors.iter().map(|t| raise(t)).collect()
}

fn hstack(c: &mut Call<'_>) -> Typed {
    let raised = raised(&c.tensors(0)?, 1);
    let refs: Vec<&TensorType> = raised.iter().collect();
    let d = i64::from(refs.first().is_some_and(|t| t.rank() > 1));
    joined(c, &refs, d)
}

fn vstack(c: &mut Call<'_>) -> Typed {
    let raised = raised(&c.tensors(0)?, 2);
    let refs: Vec<&TensorType> = raised.iter().collect();
    joined(c, &refs, 0)
}

fn repeat(c: &mut Call<'_>) -> Typed {
    let (t, mut times) = (c.tensor(0)?, c.dims(1)?);
    if &*c.operator.schema.name == "tile" {
        while times.len() < t.rank() {
            times.insert(0, Dim::Fixed(1));
        }
    }
    let Some(new) = times.len().checked_sub(t.rank()) else {
        return Err(c.bad(1, format!("at least {} repeats", t.rank()), times.len().to_string()));
    };
    let mut dims = Sizes::new();
    for (d, n) in times.iter().enumerate() {
        let size = d.checked_sub(new).and_then(|d| t.sizes.get(d)).copied().unwrap_or(Dim::Fixed(1));
        dims.push(sizes::mul(c.symbols, size, *n)?);
    }
    plain(c, t.dtype, t, dims)
}

fn repeat_interleave(c: &mut Call<'_>) -> Typed {
    let (t, times, d) = (c.tensor(0)?, c.dim(1)?, c.opt_int(2)?);
    let dims = match d {
        None => {
            let all = sizes::product(c.symbols, &t.sizes)?;
            smallvec::smallvec![sizes::mul(c.symbols, all, times)?]
        }
        Some(d) => {
            if t.rank() == 0 {
                return Err(c.bad(2, "no dimension of a tensor that has none", d.to_string()));
            }
            let d = c.wrap(2, d, t.rank())?;
            let mut dims = t.sizes.clone();
            if let Some(slot) = dims.get_mut(d) {
                *slot = sizes::mul(c.symbols, *slot, times)?;
            }
            dims
        }
    };
    plain(c, t.dtype, t, dims)
}

/// How many there are only running it tells, unless `output_size` says it.
fn repeat_by_tensor(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let place = c.operator.schema.param_index("output_size").unwrap_or(1);
    let mut told = c.opt_dim(place)?;
    // Of no elements there are no repetitions, whatever is said.
    let repeats = c.tensor(c.operator.schema.param_index("repeats").unwrap_or(0))?;
    if repeats.sizes.contains(&Dim::Fixed(0)) {
        told = Some(Dim::Fixed(0));
    }
    if c.operator.schema.param_index("self").is_none() {
        let size = told.unwrap_or_else(|| c.unbacked(0, 0));
        return plain(c, t.dtype, t, smallvec::smallvec![size]);
    }
    match c.opt_int(2)? {
        None => {
            let size = told.unwrap_or_else(|| c.unbacked(0, 0));
            plain(c, t.dtype, t, smallvec::smallvec![size])
        }
        Some(d) => {
            let d = c.wrap(2, d, t.rank())?;
            let size = told.unwrap_or_else(|| c.unbacked(0, d));
            let mut dims = t.sizes.clone();
            if let Some(slot) = dims.get_mut(d) {
                *slot = size;
            }
            plain(c, t.dtype, t, dims)
        }
    }
}

fn contiguous(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if &*c.operator.schema.name == "roll" && t.sizes.contains(&Dim::Fixed(0)) {
        return out::like(c, t.dtype, t);
    }
    plain(c, t.dtype, t, t.sizes.clone())
}

fn flip(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axes(1, t.rank())?;
    out::like(c, t.dtype, t)
}

/// A flip, laid out as the tensor; behind it the two dimensions are swapped where the turns are odd.
fn rotate(c: &mut Call<'_>) -> Typed {
    let (t, times) = (c.tensor(0)?, c.int(1)?);
    let over = c.axes(2, t.rank())?.unwrap_or_default();
    let [a, b] = over.as_slice() else { return Err(c.bad(2, "2 dimensions", over.len().to_string())) };
    if times.rem_euclid(4) == 0 {
        return plain(c, t.dtype, t, t.sizes.clone());
    }
    let flipped = out::like(c, t.dtype, t)?;
    match flipped.as_tensor() {
        Some(flipped) if times.rem_euclid(2) == 1 => Ok(crate::ops::families::view::swapped(flipped, *a, *b)),
        _ => Ok(flipped),
    }
}

/// Sizes with pairs of paddings added, the last dimension first.
fn padded_sizes(c: &mut Call<'_>, t: &TensorType) -> Result<Sizes, CallFault> {
    let pads = c.dims(1)?;
    if pads.len() % 2 != 0 || pads.len() > t.rank().saturating_mul(2) {
        return Err(c.bad(1, format!("pairs for at most {} dimensions", t.rank()), pads.len().to_string()));
    }
    let mut dims = t.sizes.clone();
    for (slot, pair) in dims.iter_mut().rev().zip(pads.chunks(2)) {
        // What is cut off is there before anything is added.
        let cut = pair.iter().filter_map(|p| p.fixed()).filter(|p| *p < 0).fold(0_i64, i64::saturating_add);
        if slot.fixed().is_some_and(|n| n.saturating_add(cut) < 0) {
            return Err(c.bad(1, "paddings that cut off what is there", sizes::show(c.symbols, &pads)));
        }
        for pad in pair {
            *slot = sizes::add(c.symbols, *slot, *pad)?;
        }
        if slot.fixed().is_some_and(|n| n < 0) {
            return Err(c.bad(1, "paddings that leave a size", sizes::show(c.symbols, &pads)));
        }
    }
    Ok(dims)
}

fn pad(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = padded_sizes(c, t)?;
    let cuts = c.ints(1).is_ok_and(|pads| pads.iter().all(|p| *p <= 0));
    let constant = &*c.operator.schema.name == "constant_pad_nd" || matches!(c.text(2), "constant");
    if constant && cuts {
        // Nothing is added: a copy of a piece.
        return out::like(c, t.dtype, &TensorType { sizes: dims, ..t.clone() });
    }
    let circular = &*c.operator.schema.name == "_pad_circular" || matches!(c.text(2), "circular");
    match () {
        () if constant => suggested(c, t.dtype, t, dims),
        // Images and volumes are padded by operators that keep channels-last.
        () if !circular && c.ints(1)?.len() > 2 => suggested(c, t.dtype, t, dims),
        () => plain(c, t.dtype, t, dims),
    }
}

fn pad_border(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = padded_sizes(c, t)?;
    if c.operator.schema.name.contains("2d") || c.operator.schema.name.contains("3d") {
        return suggested(c, t.dtype, t, dims);
    }
    plain(c, t.dtype, t, dims)
}

fn shuffle(c: &mut Call<'_>) -> Typed {
    let (t, factor) = (c.tensor(0)?, c.int(1)?);
    let un = c.operator.schema.name.contains("un");
    let Some(outer) = t.rank().checked_sub(3) else {
        return Err(c.bad(0, "3 or more dimensions", t.rank().to_string()));
    };
    if factor < 1 {
        return Err(c.bad(1, "a factor of 1 or more", factor.to_string()));
    }
    if un && t.sizes.contains(&Dim::Fixed(0)) {
        // PyTorch clones an empty tensor, whatever the factor.
        return out::like(c, t.dtype, t);
    }
    let square = Dim::Fixed(factor.saturating_mul(factor));
    let mut dims = t.sizes.clone();
    // One way channels are divided and height and width multiplied, the other way the contrary.
    for (d, slot) in dims.iter_mut().enumerate().skip(outer) {
        let by = if d == outer { square } else { Dim::Fixed(factor) };
        let grows = (d == outer) == un;
        *slot = if grows { sizes::mul(c.symbols, *slot, by)? } else { sizes::floordiv(c.symbols, *slot, by)? };
    }
    suggested(c, t.dtype, t, dims)
}

fn channel_shuffle(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    suggested(c, t.dtype, t, t.sizes.clone())
}

fn at(list: &[i64], d: usize) -> i64 {
    list.get(d).or(list.first()).copied().unwrap_or(1)
}

/// How many windows fit into a dimension.
fn windows(c: &mut Call<'_>, size: Dim, d: usize) -> Result<Dim, CallFault> {
    let place = |name| c.operator.schema.param_index(name).unwrap_or(0);
    let (kernel, dilation) = (c.ints(place("kernel_size"))?, c.ints(place("dilation"))?);
    let (padding, stride) = (c.ints(place("padding"))?, c.ints(place("stride"))?);
    let reach = at(&dilation, d).saturating_mul(at(&kernel, d).saturating_sub(1)).saturating_add(1);
    let fixed = at(&padding, d).saturating_mul(2).saturating_sub(reach);
    let room = sizes::add(c.symbols, size, Dim::Fixed(fixed))?;
    let steps = sizes::floordiv(c.symbols, room, Dim::Fixed(at(&stride, d)))?;
    sizes::add(c.symbols, steps, Dim::Fixed(1))
}

fn im2col(c: &mut Call<'_>) -> Typed {
    let (t, kernel) = (c.tensor(0)?, c.ints(1)?);
    let Some(outer) = t.rank().checked_sub(3) else { return Err(c.bad(0, "3 or 4 dimensions", t.rank().to_string())) };
    let get = |d: usize| t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    let area = Dim::Fixed(at(&kernel, 0).saturating_mul(at(&kernel, 1)));
    let mut dims: Sizes = t.sizes.iter().take(outer).copied().collect();
    dims.push(sizes::mul(c.symbols, get(outer), area)?);
    let rows = windows(c, get(outer.saturating_add(1)), 0)?;
    let columns = windows(c, get(outer.saturating_add(2)), 1)?;
    dims.push(sizes::mul(c.symbols, rows, columns)?);
    plain(c, t.dtype, t, dims)
}

fn col2im(c: &mut Call<'_>) -> Typed {
    let (t, wanted, kernel) = (c.tensor(0)?, c.dims(1)?, c.ints(2)?);
    let Some(outer) = t.rank().checked_sub(2) else { return Err(c.bad(0, "2 or 3 dimensions", t.rank().to_string())) };
    let area = Dim::Fixed(at(&kernel, 0).saturating_mul(at(&kernel, 1)));
    let mut dims: Sizes = t.sizes.iter().take(outer).copied().collect();
    let channels = t.sizes.get(outer).copied().unwrap_or(Dim::Fixed(1));
    dims.push(sizes::floordiv(c.symbols, channels, area)?);
    dims.extend(wanted);
    plain(c, t.dtype, t, dims)
}

/// Views of the inputs, expanded to one another.
fn meshgrid(c: &mut Call<'_>) -> Typed {
    let (tensors, swap) = (c.tensors(0)?, c.text(1) == "xy");
    if tensors.len() > TensorType::MAX_RANK {
        let what = "dimensions of the result".into();
        return Err(CallFault::TooMuch { what, found: tensors.len(), limit: TensorType::MAX_RANK });
    }
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    if swap && order.len() > 1 {
        order.swap(0, 1);
    }
    let size = |t: &TensorType| t.sizes.first().copied().unwrap_or(Dim::Fixed(1));
    let dims: Sizes = order.iter().filter_map(|k| tensors.get(*k)).map(|t| size(t)).collect();
    let mut all = Vec::new();
    for (k, t) in tensors.iter().enumerate() {
        let strides = match &t.strides {
            Some(s) => {
                // Of size 1 but for its own dimension, then expanded.
                let empty = size(t) == Dim::Fixed(0);
                let own = if empty { Dim::Fixed(1) } else { s.first().copied().unwrap_or(Dim::Fixed(1)) };
                let left = if empty { own } else { sizes::mul(c.symbols, own, size(t))? };
                let own_place = order.iter().position(|o| *o == k).unwrap_or(k);
                let stride = |(place, wanted): (usize, &Dim)| match place.cmp(&own_place) {
                    std::cmp::Ordering::Equal => own,
                    _ if *wanted != Dim::Fixed(1) => Dim::Fixed(0),
                    std::cmp::Ordering::Less => left,
                    std::cmp::Ordering::Greater => own,
                };
                Some(dims.iter().enumerate().map(stride).collect())
            }
            None => None,
        };
        all.push(crate::ops::families::view::seen(t, dims.clone(), strides, t.offset));
    }
    Ok(out::many(all))
}

fn block_diag(c: &mut Call<'_>) -> Typed {
    let tensors = c.tensors(0)?;
    let Some(first) = tensors.first().copied() else { return Err(c.bad(0, "one tensor or more", "none")) };
    let (mut rows, mut columns) = (Dim::Fixed(0), Dim::Fixed(0));
    for t in &tensors {
        let (r, w) = match t.sizes.as_slice() {
            [r, w] => (*r, *w),
            [w] => (Dim::Fixed(1), *w),
            _ => (Dim::Fixed(1), Dim::Fixed(1)),
        };
        rows = sizes::add(c.symbols, rows, r)?;
        columns = sizes::add(c.symbols, columns, w)?;
    }
    plain(c, joined_dtype(&tensors)?, first, smallvec::smallvec![rows, columns])
}

fn diag(c: &mut Call<'_>) -> Typed {
    let (t, offset) = (c.tensor(0)?, c.int(1)?);
    match t.sizes.as_slice() {
        [n] => {
            let side = sizes::add(c.symbols, *n, Dim::Fixed(offset.saturating_abs()))?;
            plain(c, t.dtype, t, smallvec::smallvec![side, side])
        }
        [rows, columns] => {
            let n = diagonal_size(c, offset, *rows, *columns)?;
            plain(c, t.dtype, t, smallvec::smallvec![n])
        }
        _ => Err(c.bad(0, "1 or 2 dimensions", t.rank().to_string())),
    }
}

fn diag_embed(c: &mut Call<'_>) -> Typed {
    let (t, offset) = (c.tensor(0)?, c.int(1)?);
    let rank = t.rank().saturating_add(1);
    let (a, b) = (c.axis(2, rank)?, c.axis(3, rank)?);
    let n = t.sizes.last().copied().unwrap_or(Dim::Fixed(1));
    let side = sizes::add(c.symbols, n, Dim::Fixed(offset.saturating_abs()))?;
    let mut rest = t.sizes.iter().take(t.rank().saturating_sub(1)).copied();
    let dims = (0..rank).map(|d| if d == a || d == b { side } else { rest.next().unwrap_or(side) }).collect();
    plain(c, t.dtype, t, dims)
}

/// A copy in which a slice is another's.
fn written(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let slice = slice_of(c, &t.sizes, &c.operator.schema.name, 2)?;
    c.need_sizes(1, &slice)?;
    kept(c, t)
}

fn as_strided_scatter(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.need_sizes(1, &c.dims(2)?)?;
    kept(c, t)
}

/// A copy that keeps strides and offset, gaps too, unless elements lie on one another.
pub(in crate::ops) fn kept(c: &mut Call<'_>, t: &TensorType) -> Typed {
    if overlaps_itself(c, t) { out::like(c, t.dtype, t) } else { Ok(out::itself(t)) }
}

fn spread_back(c: &mut Call<'_>) -> Typed {
    let (t, dims) = (c.tensor(0)?, c.dims(1)?);
    if dims.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(1, "sizes of 0 or more", sizes::show(c.symbols, &dims)));
    }
    let slice = slice_of(c, &dims, &c.operator.schema.name, 2)?;
    c.need_broadcast_to(0, &slice)?;
    plain(c, t.dtype, t, dims)
}
