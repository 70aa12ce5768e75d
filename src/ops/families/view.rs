//! Views: the same memory in other sizes and strides, and their `_copy` forms.
//!
//! Strides and offsets are computed, not assumed; where a view is impossible for sure, the call is at fault.

use smallvec::SmallVec;

use crate::graph::{MemoryFormat, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::ops::typing::viewed::{self, Viewed};
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (view, &["aten.view.default", "aten._unsafe_view.default"]),
    (reshape, &["aten.reshape.default"]),
    (view_as, &["aten.view_as.default"]),
    (reshape_as, &["aten.reshape_as.default"]),
    (reshape_alias, &["aten._reshape_alias.default"]),
    (expand, &["aten.expand.default", "aten.broadcast_to.default"]),
    (expand_as, &["aten.expand_as.default"]),
    (permute, &["aten.permute.default", "prims.transpose.default"]),
    (
        transpose,
        &[
            "aten.transpose.int",
            "aten.transpose_.default",
            "aten.swapaxes.default",
            "aten.swapaxes_.default",
            "aten.swapdims_.default",
        ],
    ),
    (t, &["aten.t.default", "aten.t_.default"]),
    (reverse, &["aten.numpy_T.default"]),
    (last_two, &["aten.mT.default", "aten.adjoint.default"]),
    (
        squeeze,
        &[
            "aten.squeeze.default",
            "aten.squeeze_.default",
            "aten.squeeze.dim",
            "aten.squeeze_.dim",
            "aten.squeeze.dims",
            "aten.squeeze_.dims",
        ],
    ),
    (unsqueeze, &["aten.unsqueeze.default", "aten.unsqueeze_.default"]),
    (select, &["aten.select.int"]),
    (slice, &["aten.slice.Tensor"]),
    (narrow, &["aten.narrow.default"]),
    (narrow_at, &["aten.narrow.Tensor"]),
    (slice_inverse, &["aten.slice_inverse.default"]),
    (as_strided, &["aten.as_strided.default", "aten.as_strided_.default"]),
    (diagonal, &["aten.diagonal.default"]),
    (unfold, &["aten.unfold.default"]),
    (flatten, &["aten.flatten.using_ints"]),
    (unflatten, &["aten.unflatten.int"]),
    (movedim, &["aten.movedim.int", "aten.movedim.intlist"]),
    (
        same,
        &[
            "aten.alias.default",
            "aten.detach.default",
            "aten.detach_.default",
            "aten.lift.default",
            "aten.lift_fresh.default",
            "aten.positive.default",
            "aten._conj.default",
            "aten.conj.default",
        ],
    ),
    (resolved, &["aten.resolve_conj.default", "aten.resolve_neg.default"]),
    (contiguous, &["aten.contiguous.default"]),
    (at_least, &["aten.atleast_1d.default", "aten.atleast_2d.default"]),
    (|c| copied(reshape(c), c), &["aten.view_copy.default"]),
    (|c| copied(expand(c), c), &["aten.expand_copy.default"]),
    (|c| copied(permute(c), c), &["aten.permute_copy.default"]),
    (|c| copied(transpose(c), c), &["aten.transpose_copy.int"]),
    (|c| copied(t(c), c), &["aten.t_copy.default"]),
    (|c| copied(squeeze(c), c), &["aten.squeeze_copy.default", "aten.squeeze_copy.dim", "aten.squeeze_copy.dims"]),
    (|c| copied(unsqueeze(c), c), &["aten.unsqueeze_copy.default"]),
    (|c| copied(select(c), c), &["aten.select_copy.int"]),
    (|c| copied(slice(c), c), &["aten.slice_copy.Tensor"]),
    (|c| copied(as_strided(c), c), &["aten.as_strided_copy.default"]),
    (|c| copied(diagonal(c), c), &["aten.diagonal_copy.default"]),
    (|c| copied(unfold(c), c), &["aten.unfold_copy.default"]),
    (|c| copied(narrow(c), c), &["aten.narrow_copy.default"]),
    (|c| copied(same(c), c), &["aten.alias_copy.default", "aten.detach_copy.default"]),
];

/// Returns the tensor in other sizes, strides and at another offset.
pub(in crate::ops) fn seen(t: &TensorType, sizes: Sizes, strides: Option<Sizes>, offset: Dim) -> ValueType {
    ValueType::tensor(TensorType { sizes, strides, offset, requires_grad: false, ..t.clone() })
}

/// A fresh contiguous tensor in place of each view.
pub(in crate::ops) fn copied(view: Typed, c: &mut Call<'_>) -> Typed {
    let mut copy = |t: &TensorType| out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone());
    match view? {
        ValueType::Tensor(t) => copy(&t),
        ValueType::Many(all) => {
            let each = all.iter().map(|v| v.as_tensor().map_or(Ok(v.clone()), &mut copy));
            Ok(ValueType::Many(each.collect::<Result<_, _>>()?))
        }
        other => Ok(other),
    }
}

/// Resolves a `-1` and checks the number of elements.
pub(in crate::ops) fn full_sizes(
    c: &mut Call<'_>,
    i: usize,
    t: &TensorType,
    wanted: Sizes,
) -> Result<Sizes, CallFault> {
    let mut wanted = wanted;
    let numel = sizes::product(c.symbols, &t.sizes)?;
    let minus = |d: &Dim| *d == Dim::Fixed(-1);
    let fault = |c: &Call<'_>, wanted: &[Dim]| {
        let found = sizes::show(c.symbols, wanted);
        Err(c.bad(i, format!("sizes that hold as many elements as {}", sizes::show(c.symbols, &t.sizes)), found))
    };
    if wanted.iter().filter(|d| minus(d)).count() > 1 {
        return Err(c.bad(i, "at most one -1", sizes::show(c.symbols, &wanted)));
    }
    if wanted.iter().any(|d| d.fixed().is_some_and(|n| n < -1)) {
        return Err(c.bad(i, "sizes of 0 or more, or one -1", sizes::show(c.symbols, &wanted)));
    }
    if let Some(open) = wanted.iter().position(minus) {
        let rest: Sizes = wanted.iter().copied().filter(|d| !minus(d)).collect();
        let rest = sizes::product(c.symbols, &rest)?;
        if rest == Dim::Fixed(0) {
            return fault(c, &wanted);
        }
        let size = sizes::floordiv(c.symbols, numel, rest)?;
        if let (Some(n), Some(r)) = (numel.fixed(), rest.fixed())
            && n.checked_rem(r) != Some(0)
        {
            return fault(c, &wanted);
        }
        if let Some(slot) = wanted.get_mut(open) {
            *slot = size;
        }
        return Ok(wanted);
    }
    let product = sizes::product(c.symbols, &wanted)?;
    if sizes::differ(c.symbols, numel, product) { fault(c, &wanted) } else { Ok(wanted) }
}

fn viewed(c: &mut Call<'_>, i: usize, t: &TensorType, wanted: Sizes) -> Typed {
    match viewed::view(c.symbols, t, &wanted)? {
        Viewed::As(strides) => Ok(seen(t, wanted, Some(strides), t.offset)),
        Viewed::Unknown => Ok(seen(t, wanted, None, t.offset)),
        Viewed::Never => {
            let strides = t.strides.clone().unwrap_or_default();
            let found = format!(
                "{} for sizes {} with strides {}",
                sizes::show(c.symbols, &wanted),
                sizes::show(c.symbols, &t.sizes),
                sizes::show(c.symbols, &strides)
            );
            Err(CallFault::Unseen { argument: c.name(i).into(), found })
        }
    }
}

fn reshaped(c: &mut Call<'_>, t: &TensorType, wanted: Sizes) -> Typed {
    match viewed::view(c.symbols, t, &wanted)? {
        Viewed::As(strides) => Ok(seen(t, wanted, Some(strides), t.offset)),
        Viewed::Unknown if !viewed::reshapes_to_rows(c.symbols, t, &wanted) => Ok(seen(t, wanted, None, Dim::Fixed(0))),
        Viewed::Unknown | Viewed::Never => out::contiguous(c.symbols, t.dtype, wanted, t.device.clone()),
    }
}

fn view(c: &mut Call<'_>) -> Typed {
    let (t, wanted) = (c.tensor(0)?, c.dims(1)?);
    let wanted = full_sizes(c, 1, t, wanted)?;
    viewed(c, 1, t, wanted)
}

fn reshape(c: &mut Call<'_>) -> Typed {
    let (t, wanted) = (c.tensor(0)?, c.dims(1)?);
    let wanted = full_sizes(c, 1, t, wanted)?;
    reshaped(c, t, wanted)
}

fn view_as(c: &mut Call<'_>) -> Typed {
    let (t, other) = (c.tensor(0)?, c.tensor(1)?);
    let wanted = full_sizes(c, 1, t, other.sizes.clone())?;
    viewed(c, 1, t, wanted)
}

fn reshape_as(c: &mut Call<'_>) -> Typed {
    let (t, other) = (c.tensor(0)?, c.tensor(1)?);
    let wanted = full_sizes(c, 1, t, other.sizes.clone())?;
    reshaped(c, t, wanted)
}

fn reshape_alias(c: &mut Call<'_>) -> Typed {
    let (t, wanted, mut strides) = (c.tensor(0)?, c.dims(1)?, c.dims(2)?);
    if strides.len() != wanted.len() {
        return Err(c.bad(2, format!("{} strides", wanted.len()), strides.len().to_string()));
    }
    // A negative stride stands for that of a dimension around the next one.
    let mut around = Dim::Fixed(1);
    for (stride, size) in strides.iter_mut().zip(&wanted).rev() {
        if stride.fixed().is_some_and(|n| n < 0) {
            *stride = around;
        }
        around = if *size == Dim::Fixed(0) { *stride } else { sizes::mul(c.symbols, *stride, *size)? };
    }
    Ok(seen(t, wanted, Some(strides), t.offset))
}

fn expanded(c: &mut Call<'_>, t: &TensorType, wanted: &[Dim]) -> Typed {
    let Some(new) = wanted.len().checked_sub(t.rank()) else {
        return Err(c.bad(1, format!("at least {} sizes", t.rank()), wanted.len().to_string()));
    };
    let mut out_sizes: Sizes = SmallVec::from_elem(Dim::Fixed(0), wanted.len());
    let mut strides: Option<Sizes> = t.strides.is_some().then(|| SmallVec::from_elem(Dim::Fixed(0), wanted.len()));
    for (d, &size) in wanted.iter().enumerate().rev() {
        let old = d.checked_sub(new).and_then(|o| t.sizes.get(o)).copied();
        let here = match old {
            Some(o) if size == Dim::Fixed(-1) => o,
            None if size == Dim::Fixed(-1) => return Err(c.bad(1, "no -1 for a new dimension", "-1")),
            Some(o) if sizes::differ(c.symbols, o, size) && sizes::differ(c.symbols, o, Dim::Fixed(1)) => {
                let found = sizes::show(c.symbols, wanted);
                return Err(c.bad(1, format!("sizes to which {} expands", sizes::show(c.symbols, &t.sizes)), found));
            }
            _ => size,
        };
        if let Some(slot) = out_sizes.get_mut(d) {
            *slot = here;
        }
        let (Some(laid), Some(olds)) = (&mut strides, &t.strides) else { continue };
        if t.rank() == 0 {
            continue;
        }
        let (size_before, stride) = match d.checked_sub(new) {
            Some(o) => (old.unwrap_or(Dim::Fixed(1)), olds.get(o).copied().unwrap_or(Dim::Fixed(0))),
            None => {
                let inner = d.saturating_add(1);
                let (a, b) = (out_sizes.get(inner).copied(), laid.get(inner).copied());
                (Dim::Fixed(1), sizes::mul(c.symbols, a.unwrap_or(Dim::Fixed(1)), b.unwrap_or(Dim::Fixed(1)))?)
            }
        };
        let stretched = match size_before == here || sizes::same(c.symbols, size_before, here) == Some(true) {
            true => false,
            false if sizes::is(c.symbols, size_before, 1) || sizes::differ(c.symbols, size_before, here) => true,
            // One element repeated, or all of them: its size decides, and nobody knows it.
            false => {
                strides = None;
                continue;
            }
        };
        if let Some(slot) = laid.get_mut(d) {
            *slot = if stretched { Dim::Fixed(0) } else { stride };
        }
    }
    Ok(seen(t, out_sizes, strides, t.offset))
}

fn expand(c: &mut Call<'_>) -> Typed {
    let (t, wanted) = (c.tensor(0)?, c.dims(1)?);
    expanded(c, t, &wanted)
}

fn expand_as(c: &mut Call<'_>) -> Typed {
    let (t, other) = (c.tensor(0)?, c.tensor(1)?);
    expanded(c, t, &other.sizes)
}

fn in_order(t: &TensorType, order: &[usize]) -> ValueType {
    let pick = |v: &Sizes| order.iter().filter_map(|d| v.get(*d)).copied().collect::<Sizes>();
    seen(t, pick(&t.sizes), t.strides.as_ref().map(pick), t.offset)
}

fn permute(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let order = c.axes(1, t.rank())?.unwrap_or_default();
    if order.len() != t.rank() {
        return Err(c.bad(1, format!("each of {} dimensions once", t.rank()), format!("{} dimensions", order.len())));
    }
    Ok(in_order(t, &order))
}

pub(in crate::ops) fn swapped(t: &TensorType, a: usize, b: usize) -> ValueType {
    let mut order: SmallVec<[usize; 6]> = (0..t.rank()).collect();
    if a < order.len() && b < order.len() {
        order.swap(a, b);
    }
    in_order(t, &order)
}

fn transpose(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    Ok(swapped(t, c.axis(1, t.rank())?, c.axis(2, t.rank())?))
}

fn t(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if t.rank() > 2 {
        return Err(c.bad(0, "at most 2 dimensions", t.rank().to_string()));
    }
    Ok(swapped(t, 0, 1))
}

fn reverse(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let order: SmallVec<[usize; 6]> = (0..t.rank()).rev().collect();
    Ok(in_order(t, &order))
}

fn last_two(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    match (t.rank().checked_sub(2), t.rank().checked_sub(1)) {
        (Some(a), Some(b)) => Ok(swapped(t, a, b)),
        _ if t.rank() == 0 => Ok(out::itself(t)),
        _ => Err(c.bad(0, "2 or more dimensions", t.rank().to_string())),
    }
}

fn keep(t: &TensorType, stays: impl Fn(usize) -> bool) -> ValueType {
    let order: SmallVec<[usize; 6]> = (0..t.rank()).filter(|d| stays(*d)).collect();
    in_order(t, &order)
}

/// A symbolic size counts as not 1 unless it is known to be.
fn squeeze(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = if c.bound.args.len() > 1 { c.axes(1, t.rank())? } else { None };
    let named = |d: usize| dims.as_ref().is_none_or(|dims| dims.contains(&d));
    let one = |d: usize| t.sizes.get(d).map_or(Some(false), |size| sizes::same(c.symbols, *size, Dim::Fixed(1)));
    if (0..t.rank()).any(|d| named(d) && one(d).is_none()) {
        return Err(CallFault::Unsupported {
            what: "a size that may be 1 or not, which decides how many are left".into(),
        });
    }
    Ok(keep(t, |d| !(named(d) && one(d) == Some(true))))
}

fn unsqueeze(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = c.axis(1, t.rank().saturating_add(1))?;
    unsqueezed(c, t, d)
}

fn unsqueezed(c: &mut Call<'_>, t: &TensorType, d: usize) -> Typed {
    let mut out_sizes = t.sizes.clone();
    out_sizes.insert(d.min(t.rank()), Dim::Fixed(1));
    let strides = match &t.strides {
        None => None,
        Some(old) => {
            let stride = match (t.sizes.get(d), old.get(d)) {
                (Some(size), Some(stride)) => sizes::mul(c.symbols, *size, *stride)?,
                _ => Dim::Fixed(1),
            };
            let mut strides = old.clone();
            strides.insert(d.min(t.rank()), stride);
            Some(strides)
        }
    };
    Ok(seen(t, out_sizes, strides, t.offset))
}

/// Returns `offset + index * stride`, or the offset where the stride is not known.
fn advanced(c: &mut Call<'_>, t: &TensorType, d: usize, index: Dim) -> Result<Dim, CallFault> {
    match t.strides.as_ref().and_then(|s| s.get(d)).copied() {
        Some(stride) => {
            let step = sizes::mul(c.symbols, index, stride)?;
            sizes::add(c.symbols, t.offset, step)
        }
        None => Ok(t.offset),
    }
}

fn select(c: &mut Call<'_>) -> Typed {
    let (t, mut index) = (c.tensor(0)?, c.dim(2)?);
    if t.rank() == 0 {
        return Err(c.bad(0, "a tensor with dimensions", "a scalar"));
    }
    let d = c.axis(1, t.rank())?;
    let size = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    let below = sizes::sub(c.symbols, Dim::Fixed(-1), size)?;
    if sizes::less(c.symbols, index, size) == Some(false) || sizes::less(c.symbols, below, index) == Some(false) {
        let (size, index) = (c.symbols.print_python(size), c.symbols.print_python(index));
        return Err(c.bad(2, format!("an index into {size} elements"), index));
    }
    if sizes::less(c.symbols, index, Dim::Fixed(0)) == Some(true) {
        index = sizes::add(c.symbols, index, size)?;
    }
    let offset = advanced(c, t, d, index)?;
    let kept = keep(t, |k| k != d);
    Ok(match kept.as_tensor() {
        Some(k) => seen(t, k.sizes.clone(), k.strides.clone(), offset),
        None => kept,
    })
}

/// Returns start and size of a slice, as PyTorch clamps them.
pub(in crate::ops) fn slice_range(
    c: &mut Call<'_>,
    size: Dim,
    start: Option<Dim>,
    end: Option<Dim>,
    step: Dim,
) -> Result<(Dim, Dim), CallFault> {
    let zero = Dim::Fixed(0);
    let mut bound = |value: Option<Dim>, default: Dim, least: Dim| -> Result<Dim, CallFault> {
        let Some(mut value) = value else { return Ok(default) };
        if value.fixed().is_some_and(|v| v >= i64::MAX >> 1) {
            return Ok(size);
        }
        if sizes::less(c.symbols, value, zero) == Some(true) {
            value = sizes::add(c.symbols, value, size)?;
        }
        let value = sizes::max(c.symbols, value, least)?;
        sizes::min(c.symbols, value, size)
    };
    let start = bound(start, zero, zero)?;
    let end = bound(end, size, start)?;
    let span = sizes::sub(c.symbols, end, start)?;
    let count = sizes::ceildiv(c.symbols, span, step)?;
    Ok((start, count))
}

fn slice(c: &mut Call<'_>) -> Typed {
    let (t, start, end, step) = (c.tensor(0)?, c.opt_dim(2)?, c.opt_dim(3)?, c.dim(4)?);
    if t.rank() == 0 {
        return Err(c.bad(0, "a tensor with dimensions", "a scalar"));
    }
    if sizes::less(c.symbols, Dim::Fixed(0), step) == Some(false) {
        return Err(c.bad(4, "a step of 1 or more", c.symbols.print_python(step)));
    }
    let d = c.axis(1, t.rank())?;
    let size = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    let (start, count) = slice_range(c, size, start, end, step)?;
    let offset = advanced(c, t, d, start)?;
    let mut out_sizes = t.sizes.clone();
    if let Some(slot) = out_sizes.get_mut(d) {
        *slot = count;
    }
    let mut strides = t.strides.clone();
    if let Some(slot) = strides.as_mut().and_then(|s| s.get_mut(d)) {
        *slot = sizes::mul(c.symbols, *slot, step)?;
    }
    Ok(seen(t, out_sizes, strides, offset))
}

/// Returns a piece of a dimension.
pub(in crate::ops) fn piece(c: &mut Call<'_>, t: &TensorType, d: usize, start: Dim, length: Dim) -> Typed {
    let offset = advanced(c, t, d, start)?;
    let mut out_sizes = t.sizes.clone();
    if let Some(slot) = out_sizes.get_mut(d) {
        *slot = length;
    }
    Ok(seen(t, out_sizes, t.strides.clone(), offset))
}

fn narrow(c: &mut Call<'_>) -> Typed {
    let (t, mut start, length) = (c.tensor(0)?, c.dim(2)?, c.dim(3)?);
    if t.rank() == 0 {
        return Err(c.bad(0, "a tensor with dimensions", "a scalar"));
    }
    let d = c.axis(1, t.rank())?;
    let size = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    if sizes::less(c.symbols, start, Dim::Fixed(0)) == Some(true) {
        start = sizes::add(c.symbols, start, size)?;
    }
    let end = sizes::add(c.symbols, start, length)?;
    if sizes::less(c.symbols, size, end) == Some(true) || length.fixed().is_some_and(|n| n < 0) {
        let (end, size) = (c.symbols.print_python(end), c.symbols.print_python(size));
        return Err(c.bad(3, format!("an end within {size}"), end));
    }
    piece(c, t, d, start, length)
}

/// Where the piece begins only running it tells.
fn narrow_at(c: &mut Call<'_>) -> Typed {
    let (t, start, length) = (c.tensor(0)?, c.tensor(2)?, c.dim(3)?);
    if start.rank() > 0 || !start.dtype.is_integer() {
        return Err(c.bad(2, "an integer without dimensions", sizes::show(c.symbols, &start.sizes)));
    }
    if t.rank() == 0 {
        return Err(c.bad(0, "a tensor with dimensions", "a scalar"));
    }
    let d = c.axis(1, t.rank())?;
    let size = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    if sizes::less(c.symbols, size, length) == Some(true) || length.fixed().is_some_and(|n| n < 0) {
        let (length, size) = (c.symbols.print_python(length), c.symbols.print_python(size));
        return Err(c.bad(3, format!("a length within {size}"), length));
    }
    let start = sizes::fresh_symbol(c.symbols);
    piece(c, t, d, start, length)
}

/// The tensor of which `self` is a slice, seen through it: `src` says its sizes and strides.
fn slice_inverse(c: &mut Call<'_>) -> Typed {
    let (t, src) = (c.tensor(0)?, c.tensor(1)?);
    Ok(seen(t, src.sizes.clone(), src.strides.clone(), src.offset))
}

fn as_strided(c: &mut Call<'_>) -> Typed {
    let (t, wanted, strides) = (c.tensor(0)?, c.dims(1)?, c.dims(2)?);
    if wanted.len() != strides.len() {
        return Err(c.bad(2, format!("{} strides", wanted.len()), strides.len().to_string()));
    }
    let offset = c.opt_dim(3)?.unwrap_or(t.offset);
    Ok(seen(t, wanted, Some(strides), offset))
}

/// Returns the length of a diagonal of two sizes.
pub(in crate::ops) fn diagonal_size(c: &mut Call<'_>, offset: i64, rows: Dim, columns: Dim) -> Result<Dim, CallFault> {
    let shift = Dim::Fixed(offset.saturating_abs());
    let (rows, columns) = if offset >= 0 {
        (rows, sizes::sub(c.symbols, columns, shift)?)
    } else {
        (sizes::sub(c.symbols, rows, shift)?, columns)
    };
    let least = sizes::min(c.symbols, rows, columns)?;
    sizes::max(c.symbols, least, Dim::Fixed(0))
}

fn diagonal(c: &mut Call<'_>) -> Typed {
    let (t, shift) = (c.tensor(0)?, c.int(1)?);
    let (a, b) = (c.axis(2, t.rank())?, c.axis(3, t.rank())?);
    if a == b {
        return Err(c.bad(3, "another dimension than `dim1`", b.to_string()));
    }
    let at = |v: &Sizes, d: usize| v.get(d).copied().unwrap_or(Dim::Fixed(1));
    let length = diagonal_size(c, shift, at(&t.sizes, a), at(&t.sizes, b))?;
    let mut offset = t.offset;
    if length != Dim::Fixed(0) {
        offset = advanced(c, t, if shift >= 0 { b } else { a }, Dim::Fixed(shift.saturating_abs()))?;
    }
    let rest = keep(t, |d| d != a && d != b);
    let Some(rest) = rest.as_tensor() else { return Ok(rest) };
    let mut out_sizes = rest.sizes.clone();
    out_sizes.push(length);
    let mut strides = rest.strides.clone();
    if let (Some(strides), Some(old)) = (&mut strides, &t.strides) {
        strides.push(sizes::add(c.symbols, at(old, a), at(old, b))?);
    }
    Ok(seen(t, out_sizes, strides, offset))
}

fn unfold(c: &mut Call<'_>) -> Typed {
    let (t, size, step) = (c.tensor(0)?, c.dim(2)?, c.dim(3)?);
    let d = c.axis(1, t.rank())?;
    if step.fixed().is_some_and(|n| n < 1) {
        return Err(c.bad(3, "a step of 1 or more", c.symbols.print_python(step)));
    }
    if size.fixed().is_some_and(|n| n < 0) {
        return Err(c.bad(2, "a size of 0 or more", c.symbols.print_python(size)));
    }
    let old = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    if sizes::less(c.symbols, old, size) == Some(true) {
        return Err(c.bad(2, format!("at most {}", c.symbols.print_python(old)), c.symbols.print_python(size)));
    }
    let span = sizes::sub(c.symbols, old, size)?;
    let steps = sizes::floordiv(c.symbols, span, step)?;
    let count = sizes::add(c.symbols, steps, Dim::Fixed(1))?;
    let mut out_sizes = t.sizes.clone();
    if let Some(slot) = out_sizes.get_mut(d) {
        *slot = count;
    }
    out_sizes.push(size);
    let mut strides = t.strides.clone();
    if let Some(strides) = &mut strides {
        let stride = strides.get(d).copied().unwrap_or(Dim::Fixed(1));
        if let Some(slot) = strides.get_mut(d) {
            *slot = sizes::mul(c.symbols, stride, step)?;
        }
        strides.push(stride);
    }
    Ok(seen(t, out_sizes, strides, t.offset))
}

fn flatten(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let (first, last) = (c.axis(1, t.rank())?, c.axis(2, t.rank())?);
    if first > last {
        return Err(c.bad(1, "a start up to `end_dim`", first.to_string()));
    }
    if t.rank() == 0 {
        return reshaped(c, t, smallvec::smallvec![Dim::Fixed(1)]);
    }
    if first == last {
        return Ok(out::itself(t));
    }
    let inside: Sizes =
        t.sizes.iter().skip(first).take(last.saturating_sub(first).saturating_add(1)).copied().collect();
    let joined = sizes::product(c.symbols, &inside)?;
    let mut wanted: Sizes = t.sizes.iter().take(first).copied().collect();
    wanted.push(joined);
    wanted.extend(t.sizes.iter().skip(last.saturating_add(1)).copied());
    reshaped(c, t, wanted)
}

fn unflatten(c: &mut Call<'_>) -> Typed {
    let (t, parts) = (c.tensor(0)?, c.dims(2)?);
    let d = c.axis(1, t.rank())?;
    let mut wanted: Sizes = t.sizes.iter().take(d).copied().collect();
    let old = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    let whole = TensorType { sizes: smallvec::smallvec![old], ..t.clone() };
    wanted.extend(full_sizes(c, 2, &whole, parts)?);
    wanted.extend(t.sizes.iter().skip(d.saturating_add(1)).copied());
    viewed(c, 2, t, wanted)
}

fn movedim(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let (from, to) = (c.axes(1, t.rank())?.unwrap_or_default(), c.axes(2, t.rank())?.unwrap_or_default());
    if from.len() != to.len() {
        return Err(c.bad(2, format!("{} dimensions", from.len()), to.len().to_string()));
    }
    let mut rest = (0..t.rank()).filter(|d| !from.contains(d));
    let order: SmallVec<[usize; 6]> = (0..t.rank())
        .filter_map(|place| match to.iter().position(|d| *d == place) {
            Some(k) => from.get(k).copied(),
            None => rest.next(),
        })
        .collect();
    Ok(in_order(t, &order))
}

fn same(c: &mut Call<'_>) -> Typed {
    Ok(out::itself(c.tensor(0)?))
}

/// The operand itself, or a copy where it is to be conjugated or negated, which no type tells.
fn resolved(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !t.dtype.is_float() && !t.dtype.is_complex() {
        return Ok(out::itself(t));
    }
    let strides = if layout::is_dense(c.symbols, t) { t.strides.clone() } else { None };
    let offset = if t.offset == Dim::Fixed(0) { t.offset } else { sizes::fresh_symbol(c.symbols) };
    Ok(seen(t, t.sizes.clone(), strides, offset))
}

fn contiguous(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let format = c.memory_format(1).unwrap_or(MemoryFormat::Contiguous);
    if layout::is_in_format(c.symbols, t, format) == Some(true) {
        return Ok(out::itself(t));
    }
    let strides = layout::of_format(c.symbols, &t.sizes, format)?;
    let offset = if t.strides.is_some() { Dim::Fixed(0) } else { t.offset };
    Ok(seen(t, t.sizes.clone(), Some(strides), offset))
}

fn at_least(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let two = c.operator.schema.name.ends_with("2d");
    match (t.rank(), two) {
        (0, false) => reshaped(c, t, smallvec::smallvec![Dim::Fixed(1)]),
        (0, true) => reshaped(c, t, smallvec::smallvec![Dim::Fixed(1), Dim::Fixed(1)]),
        (1, true) => unsqueezed(c, t, 0),
        _ => Ok(out::itself(t)),
    }
}
