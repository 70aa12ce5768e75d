//! What operators that move elements need.

use super::shared::{from_the_front, has_places, place, space, strided};
use crate::graph::TensorType;
use crate::ops::families::view::{diagonal_size, slice_range};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, size};
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (reflected, &["aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default"]),
    (
        bordered,
        &[
            "aten.reflection_pad1d.default",
            "aten.reflection_pad2d.default",
            "aten.reflection_pad3d.default",
            "aten.replication_pad1d.default",
            "aten.replication_pad2d.default",
            "aten.replication_pad3d.default",
        ],
    ),
    (unfolded, &["aten.im2col.default"]),
    (folded, &["aten.col2im.default"]),
    (|c| c.need_rank(0, 2..=usize::MAX), &["aten.tril.default", "aten.triu.default"]),
    (from_the_front, &["prims.rev.default"]),
    (roll, &["aten.roll.default"]),
    (|c| c.need_length(2, &[2]), &["aten.rot90.default"]),
    (|c| two_dimensions(c, 2, 1), &["aten.diag_embed.default"]),
    (|c| two_dimensions(c, 3, 0), &["aten.diagonal_scatter.default"]),
    (block, &["aten.block_diag.default"]),
    (mesh, &["aten.meshgrid.indexing"]),
    (unshuffle, &["aten.pixel_unshuffle.default"]),
    (shuffle, &["aten.pixel_shuffle.default"]),
    (channels, &["aten.channel_shuffle.default"]),
    (none_below_zero, &["aten.repeat.default", "aten.tile.default"]),
    (repeats, &["aten.repeat_interleave.self_int"]),
    (repeats_by_tensor, &["aten.repeat_interleave.Tensor", "aten.repeat_interleave.self_Tensor"]),
    (strided, &["aten.as_strided_scatter.default"]),
    (padded_around, &["aten._pad_circular.default"]),
    (padded_in_mode, &["aten.pad.default"]),
];

/// As many paddings as borders; a batch may be empty, nothing else.
fn bordered(c: &Call<'_>) -> Needed {
    let n = space(c);
    c.need_length(1, &[n.saturating_mul(2)])?;
    bordered_along(c, n)
}

fn bordered_along(c: &Call<'_>, n: usize) -> Needed {
    let t = c.tensor(0)?;
    c.need_rank(0, n.saturating_add(1)..=n.saturating_add(2))?;
    has_places(c, 0, n, 0)?;
    for (k, pair) in c.ints(1)?.chunks(2).enumerate() {
        let own = size(t, t.rank().saturating_sub(1).saturating_sub(k)).fixed();
        let sum = pair.iter().fold(0_i64, |s, p| s.saturating_add(*p));
        if own.is_some_and(|n| n.saturating_add(sum) < 1) {
            return Err(c.bad(1, "paddings that leave an element", format!("{pair:?}")));
        }
    }
    Ok(())
}

/// A reflection is shorter than what it reflects.
fn reflected(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    for (k, pair) in c.ints(1)?.chunks(2).enumerate() {
        let Some(n) = size(t, t.rank().saturating_sub(1).saturating_sub(k)).fixed() else { continue };
        if pair.iter().any(|p| *p >= n) {
            return Err(c.bad(1, format!("less than {n} in each direction"), format!("{pair:?}")));
        }
    }
    Ok(())
}

/// Kernel, dilation, padding and stride of two dimensions.
fn windows(c: &Call<'_>) -> Needed {
    for (name, least) in [("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1)] {
        let i = place(c, name);
        c.need_length(i, &[2])?;
        if c.ints(i)?.iter().any(|n| *n < least) {
            return Err(c.bad(i, format!("values of {least} or more"), format!("{:?}", c.ints(i)?)));
        }
    }
    Ok(())
}

/// How many windows fit into an image, where that is known.
fn fitting(c: &Call<'_>, image: &[Dim]) -> Result<Option<i64>, crate::ops::error::CallFault> {
    let read = |name| c.ints(place(c, name));
    let (kernel, dilation, padding, stride) =
        (read("kernel_size")?, read("dilation")?, read("padding")?, read("stride")?);
    let mut count = 1_i64;
    for (d, size) in image.iter().enumerate() {
        let at = |list: &[i64]| list.get(d).copied().unwrap_or(1);
        let Some(size) = size.fixed() else { return Ok(None) };
        let reach = at(&dilation).saturating_mul(at(&kernel).saturating_sub(1)).saturating_add(1);
        let room = size.saturating_add(at(&padding).saturating_mul(2)).saturating_sub(reach);
        let here = room.div_euclid(at(&stride).max(1)).saturating_add(1);
        if here < 1 {
            return Err(c.bad(place(c, "kernel_size"), "a window within the padded image", format!("{kernel:?}")));
        }
        count = count.saturating_mul(here);
    }
    Ok(Some(count))
}

fn unfolded(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_rank(0, 3..=4)?;
    windows(c)?;
    has_places(c, 0, 2, 0)?;
    let image: Vec<Dim> = t.sizes.iter().skip(t.rank().saturating_sub(2)).copied().collect();
    fitting(c, &image).map(|_| ())
}

fn folded(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_length(1, &[2])?;
    windows(c)?;
    c.need_rank(0, 2..=3)?;
    has_places(c, 0, 1, 0)?;
    let image = c.dims(1)?;
    if image.iter().any(|d| d.fixed().is_some_and(|n| n < 1)) {
        return Err(c.bad(1, "sizes of 1 or more", sizes::show(c.symbols, &image)));
    }
    let area = c.ints(2)?.iter().fold(1_i64, |n, k| n.saturating_mul(*k));
    let planes = size(t, t.rank().saturating_sub(2));
    if planes.fixed().is_some_and(|n| n.checked_rem(area) != Some(0)) {
        return Err(c.bad(0, format!("channels that {area} divides"), c.symbols.print_python(planes)));
    }
    match fitting(c, &image)? {
        Some(count) => {
            c.need_equal(0, "as many columns as windows,", Dim::Fixed(count), size(t, t.rank().saturating_sub(1)))
        }
        None => Ok(()),
    }
}

fn roll(c: &Call<'_>) -> Needed {
    let (t, shifts, dims) = (c.tensor(0)?, c.dims(1)?, c.dims(2)?);
    if shifts.is_empty() {
        return Err(c.bad(1, "a shift", "none"));
    }
    let whole = dims.is_empty() && shifts.len() == 1;
    if !whole && shifts.len() != dims.len() {
        return Err(c.bad(2, format!("{} dimensions, one a shift", shifts.len()), dims.len().to_string()));
    }
    for d in c.ints(2)? {
        if t.rank() == 0 {
            return Err(c.bad(2, "no dimensions of a scalar", d.to_string()));
        }
        c.wrap(2, d, t.rank())?;
    }
    Ok(())
}

/// `more`: how many dimensions the result has beyond the tensor's.
fn two_dimensions(c: &Call<'_>, i: usize, more: usize) -> Needed {
    let rank = c.tensor(0)?.rank().saturating_add(more);
    let next = i.saturating_add(1);
    let (a, b) = (c.axis(i, rank)?, c.axis(next, rank)?);
    if a == b { Err(c.bad(next, "another dimension than the first", b.to_string())) } else { Ok(()) }
}

fn block(c: &Call<'_>) -> Needed {
    match c.tensors(0)?.iter().find(|t| t.rank() > 2) {
        Some(t) => Err(c.bad(0, "at most 2 dimensions", sizes::show(c.symbols, &t.sizes))),
        None => Ok(()),
    }
}

fn mesh(c: &Call<'_>) -> Needed {
    let tensors = c.tensors(0)?;
    let Some(first) = tensors.first() else { return Err(c.bad(0, "one tensor or more", "none")) };
    for t in &tensors {
        if t.rank() > 1 {
            return Err(c.bad(0, "at most 1 dimension", sizes::show(c.symbols, &t.sizes)));
        }
        if t.dtype != first.dtype {
            return Err(c.bad(0, format!("dtype {}", first.dtype.long()), t.dtype.long()));
        }
    }
    c.need_word(1, &["ij", "xy"])
}

fn divides(c: &Call<'_>, t: &TensorType, d: usize, by: i64) -> Needed {
    match size(t, d).fixed() {
        Some(n) if n.checked_rem(by) != Some(0) => {
            Err(c.bad(0, format!("a size of dimension {d} that {by} divides"), n.to_string()))
        }
        _ => Ok(()),
    }
}

fn unshuffle(c: &Call<'_>) -> Needed {
    let (t, by) = (c.tensor(0)?, c.int(1)?);
    c.need_rank(0, 3..=usize::MAX)?;
    c.need_int(1, 1..=i64::MAX)?;
    divides(c, t, t.rank().saturating_sub(2), by)?;
    divides(c, t, t.rank().saturating_sub(1), by)
}

fn shuffle(c: &Call<'_>) -> Needed {
    let (t, by) = (c.tensor(0)?, c.int(1)?);
    c.need_rank(0, 3..=usize::MAX)?;
    c.need_int(1, 1..=i64::MAX)?;
    divides(c, t, t.rank().saturating_sub(3), by.saturating_mul(by))
}

fn channels(c: &Call<'_>) -> Needed {
    let (t, groups) = (c.tensor(0)?, c.int(1)?);
    c.need_rank(0, 3..=usize::MAX)?;
    c.need_int(1, 1..=i64::MAX)?;
    divides(c, t, 1, groups)
}

fn none_below_zero(c: &Call<'_>) -> Needed {
    match c.dims(1)?.iter().find(|d| d.fixed().is_some_and(|n| n < 0)) {
        Some(d) => Err(c.bad(1, "counts of 0 or more", c.symbols.print_python(*d))),
        None => Ok(()),
    }
}

fn repeats(c: &Call<'_>) -> Needed {
    c.need_int(1, 0..=i64::MAX)?;
    if c.is_none(3) {
        return Ok(());
    }
    let (t, times) = (c.tensor(0)?, c.int(1)?);
    let length = match c.opt_int(2)? {
        Some(d) => size(t, c.wrap(2, d, t.rank())?).fixed(),
        None => t.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?)),
    };
    match (c.opt_int(3)?, length.and_then(|n| n.checked_mul(times))) {
        (Some(told), Some(wanted)) if told != wanted => Err(c.bad(3, wanted.to_string(), told.to_string())),
        _ => Ok(()),
    }
}

fn repeats_by_tensor(c: &Call<'_>) -> Needed {
    let i = c.operator.schema.param_index("repeats").unwrap_or(0);
    let repeats = c.tensor(i)?;
    let told = c.operator.schema.param_index("output_size").unwrap_or(usize::MAX);
    c.need_int(told, 0..=i64::MAX)?;
    if i == 0 {
        c.need_dtype(i, "int32 or int64", crate::ops::typing::require::is_index)?;
        return c.need_rank(0, 1..=1);
    }
    c.need_rank(i, 0..=1)?;
    let t = c.tensor(0)?;
    let single = repeats.rank() == 0 || size(repeats, 0) == Dim::Fixed(1);
    match c.opt_int(2)? {
        _ if single => Ok(()),
        Some(d) => c.need_equal(i, "as many repeats as elements,", size(t, c.wrap(2, d, t.rank())?), size(repeats, 0)),
        None => match t.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?)) {
            Some(n) => c.need_equal(i, "as many repeats as elements,", Dim::Fixed(n), size(repeats, 0)),
            None => Ok(()),
        },
    }
}

fn padded_around(c: &Call<'_>) -> Needed {
    let (t, pads) = (c.tensor(0)?, c.ints(1)?);
    if !matches!(t.rank().checked_sub(pads.len() / 2), Some(1 | 2)) {
        let expected = format!("pairs for all but 1 or 2 of {} dimensions", t.rank());
        return Err(c.bad(1, expected, pads.len().to_string()));
    }
    for (k, pair) in pads.chunks(2).enumerate() {
        let d = t.rank().saturating_sub(1).saturating_sub(k);
        let Some(n) = size(t, d).fixed() else { continue };
        if pair.iter().any(|p| *p > n) {
            return Err(c.bad(1, format!("at most {n} in dimension {d}: it goes round once"), format!("{pair:?}")));
        }
    }
    Ok(())
}

fn padded_in_mode(c: &Call<'_>) -> Needed {
    c.need_word(2, &["constant", "reflect", "replicate", "circular"])?;
    match c.text(2) {
        "constant" => Ok(()),
        _ if c.ints(1).is_ok_and(|pads| pads.is_empty()) => Err(c.bad(1, "paddings of a dimension", "none")),
        "circular" if c.is_none(3) => padded_around(c),
        _ if c.float(3).is_some_and(|v| v != 0.0) => Err(c.bad(3, "no value but for constants", "a number")),
        "circular" => padded_around(c),
        word => {
            bordered_along(c, c.ints(1)?.len() / 2)?;
            if word == "reflect" { reflected(c) } else { Ok(()) }
        }
    }
}

/// Sizes of the slice that `select`, `slice` or `diagonal` with these arguments gives.
pub(in crate::ops) fn slice_of(
    c: &mut Call<'_>,
    from: &Sizes,
    name: &str,
    first: usize,
) -> Result<Sizes, crate::ops::error::CallFault> {
    let whole = TensorType { sizes: from.clone(), ..c.tensor(0)?.clone() };
    let place = |k: usize| first.saturating_add(k);
    if name.starts_with("diagonal") {
        let shift = c.int(place(0))?;
        let (a, b) = (c.axis(place(1), whole.rank())?, c.axis(place(2), whole.rank())?);
        let length = diagonal_size(c, shift, size(&whole, a), size(&whole, b))?;
        let mut left: Sizes = from.iter().enumerate().filter(|(d, _)| *d != a && *d != b).map(|(_, s)| *s).collect();
        left.push(length);
        return Ok(left);
    }
    let d = c.need_nonscalar_axis(place(0), &whole)?;
    if name.starts_with("select") {
        if let (Some(n), Some(at)) = (size(&whole, d).fixed(), c.dim(place(1))?.fixed())
            && (at >= n || at < 0_i64.saturating_sub(n))
        {
            return Err(c.bad(place(1), format!("an index into {n} elements"), at.to_string()));
        }
        return Ok(from.iter().enumerate().filter(|(k, _)| *k != d).map(|(_, s)| *s).collect());
    }
    c.need_int(place(3), 1..=i64::MAX)?;
    let (start, end, step) = (c.opt_dim(place(1))?, c.opt_dim(place(2))?, c.dim(place(3))?);
    let (_, count) = slice_range(c, size(&whole, d), start, end, step)?;
    Ok(from.iter().enumerate().map(|(k, s)| if k == d { count } else { *s }).collect())
}
