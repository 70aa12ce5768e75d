//! Joining, repeating, padding and turning.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, pairs, &["aten.combinations.default"]),
    (Exact, |b| done![b.op("cat", args![parts(&b.ts(0)?), b.arg(1)])], &["aten.concat.default"]),
    (Exact, stack, &["aten.stack.default"]),
    (Exact, hstack, &["aten.hstack.default"]),
    (Exact, vstack, &["aten.vstack.default"]),
    (Exact, tile, &["aten.tile.default"]),
    (Exact, repeat_interleave, &["aten.repeat_interleave.self_int"]),
    (Exact, repeat_interleave_tensor, &["aten.repeat_interleave.self_Tensor"]),
    (Exact, roll, &["aten.roll.default"]),
    (Exact, rot90, &["aten.rot90.default"]),
    (Exact, |b| triangle(b, "le"), &["aten.tril.default"]),
    (Exact, |b| triangle(b, "ge"), &["aten.triu.default"]),
    (Exact, pad, &["aten.pad.default"]),
    (Exact, pad_circular, &["aten._pad_circular.default"]),
    (Exact, |b| by_places(b, 1, reflected), &["aten.reflection_pad1d.default"]),
    (Exact, |b| by_places(b, 2, reflected), &["aten.reflection_pad2d.default"]),
    (Exact, |b| by_places(b, 3, reflected), &["aten.reflection_pad3d.default"]),
    (Exact, |b| by_places(b, 1, replicated), &["aten.replication_pad1d.default"]),
    (Exact, |b| by_places(b, 2, replicated), &["aten.replication_pad2d.default"]),
    (Exact, |b| by_places(b, 3, replicated), &["aten.replication_pad3d.default"]),
    (Exact, pixel_shuffle, &["aten.pixel_shuffle.default"]),
    (Exact, pixel_unshuffle, &["aten.pixel_unshuffle.default"]),
    (Exact, channel_shuffle, &["aten.channel_shuffle.default"]),
    (Exact, block_diag, &["aten.block_diag.default"]),
    (Exact, diag_embed, &["aten.diag_embed.default"]),
    (Exact, diag, &["aten.diag.default"]),
    (Exact, select_scatter, &["aten.select_scatter.default"]),
    (Exact, slice_scatter, &["aten.slice_scatter.default"]),
    (Exact, meshgrid, &["aten.meshgrid.indexing", "aten.meshgrid.default"]),
    (Exact, atleast_3d, &["aten.atleast_3d.default"]),
    (Exact, |b| each(b, "atleast_1d.default"), &["aten.atleast_1d.Sequence"]),
    (Exact, |b| each(b, "atleast_2d.default"), &["aten.atleast_2d.Sequence"]),
    (Exact, |b| each(b, "atleast_3d.default"), &["aten.atleast_3d.Sequence"]),
    (Exact, broadcast_tensors, &["aten.broadcast_tensors.default"]),
    (Exact, cartesian_prod, &["aten.cartesian_prod.default"]),
    (Exact, column_stack, &["aten.column_stack.default"]),
    (Exact, dstack, &["aten.dstack.default"]),
    (Exact, |b| done![b.t(0)?.reshape(vec![Arg::Int(-1)]).call("diag", args![b.arg(1)])], &["aten.diagflat.default"]),
    (Exact, |b| split_along(b, 1), &["aten.hsplit.int", "aten.hsplit.array"]),
    (Exact, |b| split_along(b, 0), &["aten.vsplit.int", "aten.vsplit.array"]),
    (Exact, |b| split_along(b, 2), &["aten.dsplit.int", "aten.dsplit.array"]),
    (Exact, pad_sequence, &["aten.pad_sequence.default"]),
    (Exact, |b| flip(b, 1), &["aten.fliplr.default"]),
    (Exact, |b| flip(b, 0), &["aten.flipud.default"]),
];

fn parts(items: &[T<'_>]) -> Arg {
    Arg::List(items.iter().map(|t| Arg::from(*t)).collect())
}

fn stack(b: &Builder<'_>) -> Made {
    let items = b.ts(0)?;
    let rank = items.first().map_or(0, |t| t.rank()).saturating_add(1);
    let axis = b.axis(1, rank)?;
    let wider: Vec<T<'_>> = items.iter().map(|t| t.unsqueeze(axis)).collect();
    done![b.op("cat", args![parts(&wider), axis])]
}

fn hstack(b: &Builder<'_>) -> Made {
    let items: Vec<T<'_>> = b.ts(0)?.into_iter().map(|t| t.op("atleast_1d")).collect();
    let axis = i64::from(items.first().is_some_and(|t| t.rank() > 1));
    done![b.op("cat", args![parts(&items), axis])]
}

fn vstack(b: &Builder<'_>) -> Made {
    let items: Vec<T<'_>> = b.ts(0)?.into_iter().map(|t| t.op("atleast_2d")).collect();
    done![b.op("cat", args![parts(&items), 0])]
}

fn tile(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let times = b.sizes(1);
    let missing = x.rank().saturating_sub(times.len());
    let all: Vec<Arg> = std::iter::repeat_n(Arg::Int(1), missing).chain(times).collect();
    done![x.call("repeat", args![all])]
}

/// Each element some times: a new dimension, broadcast, folded into its neighbour.
fn repeat_interleave(b: &Builder<'_>) -> Made {
    let mut x = b.t(0)?;
    let times = b.arg(1);
    let axis = match b.opt_int(2)? {
        Some(_) => b.axis(2_usize, x.rank())?,
        None => {
            x = x.reshape(vec![x.numel()]);
            0
        }
    };
    if x.rank() == 0 {
        x = x.reshape(vec![Arg::Int(1)]);
    }
    let wider = x.unsqueeze(axis.saturating_add(1));
    let mut sizes = wider.shape();
    if let Some(slot) = usize::try_from(axis).ok().and_then(|a| sizes.get_mut(a.saturating_add(1))) {
        *slot = times;
    }
    let repeated = wider.expand(sizes).copy();
    done![repeated.call("flatten.using_ints", args![axis, axis.saturating_add(1)])]
}

fn repeat_interleave_tensor(b: &Builder<'_>) -> Made {
    let (mut x, mut times) = (b.t(0)?, b.t(1)?);
    let axis = match b.opt_int(2)? {
        Some(_) => b.axis(2_usize, x.rank())?,
        None => {
            x = x.reshape(vec![x.numel()]);
            0
        }
    };
    if times.rank() == 0 || times.dim(0).fixed() == Some(1) {
        times = times.reshape(vec![Arg::Int(1)]).expand(vec![x.size(axis)]);
    }
    let places = times.call("repeat_interleave.Tensor", args![; output_size = b.arg(3)]);
    done![x.call("index_select", args![axis, places])]
}

/// The end of a dimension comes before its beginning.
fn roll(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (shifts, dims) = (b.sizes(1), b.ints(2)?);
    if x.sizes().iter().any(|s| s.fixed() == Some(0)) {
        return done![x.duplicate()];
    }
    if dims.is_empty() {
        let shift = shifts.into_iter().next().unwrap_or(Arg::Int(0));
        let flat = x.contiguous().view(vec![x.numel()]);
        return done![rolled(b, flat, shift, 0).view(x.shape())];
    }
    b.only(shifts.len() == dims.len(), "lists of unequal lengths")?;
    let mut y = x;
    for (shift, dim) in shifts.into_iter().zip(dims) {
        y = rolled(b, y, shift, if dim < 0 { dim.saturating_add(x.dims()) } else { dim });
    }
    done![y]
}

fn rolled<'b>(b: &'b Builder<'_>, x: T<'b>, shift: Arg, axis: i64) -> T<'b> {
    let (start, end) = match (&shift, x.fixed(axis)) {
        (Arg::Int(shift), Ok(size)) => (size.saturating_sub(*shift).checked_rem_euclid(size).unwrap_or(0), size),
        // By one place there is nothing to wrap round, however many there are.
        (Arg::Int(shift @ (-1 | 1)), Err(_)) => (shift.saturating_neg(), i64::MAX),
        _ => return taken_round(b, x, shift, axis),
    };
    let (tail, head) = (x.slice(axis, start, end), x.slice(axis, 0, start));
    b.op("cat", args![parts(&[tail, head]), axis])
}

/// The same by places, where only a run tells where it wraps round.
fn taken_round<'b>(b: &'b Builder<'_>, x: T<'b>, shift: Arg, axis: i64) -> T<'b> {
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let places = b.op("arange.default", args![x.size(axis); device = device]);
    let from = places.call("sub.Scalar", args![shift]).call("remainder.Scalar", args![x.size(axis)]);
    x.call("index_select", args![axis, from])
}

fn rot90(b: &Builder<'_>) -> Made {
    let (x, times) = (b.t(0)?, b.int(1)?);
    let plane = b.axes(2_usize, x.rank())?;
    let [p, q] = plane.as_slice() else { return Err(b.unsupported("other than two dimensions")) };
    let flip = |t: T<'_>, dims: &[i64]| t.call("flip", args![ints(dims)]).id();
    let id = match times.rem_euclid(4) {
        0 => x.duplicate().id(),
        1 => b.op("transpose.int", args![flip(x, &[*q]), *p, *q]).id(),
        2 => flip(x, &plane),
        _ => b.op("transpose.int", args![flip(x, &[*p]), *p, *q]).id(),
    };
    done![id]
}

/// Zero where the column is not in relation `keep` to row + diagonal.
fn triangle(b: &Builder<'_>, keep: &str) -> Made {
    let (x, diagonal) = (b.t(0)?, b.int(1)?);
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let count = |n: Arg| b.op("arange.default", args![n; device = device.clone()]).id();
    let (rows, columns) = (b.value(count(x.size(-2))).unsqueeze(-1), b.value(count(x.size(-1))));
    let kept = (columns - rows).call(keep, args![diagonal]);
    done![x.fill_where(kept.op("logical_not"), 0)]
}

fn pad(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let sides = b.sizes(1);
    let pairs = sides.len().div_euclid(2);
    let spatial = x.rank().saturating_sub(pairs);
    b.only(sides.len().is_multiple_of(2), "an odd number of sides")?;
    let (one, two, three) = match b.text(2).as_str() {
        "constant" => {
            // As PyTorch's: a number of the dtype's own kind, which a device may insist on.
            let zero = if x.dtype().is_float() { Arg::Float(0.0) } else { Arg::Int(0) };
            let value = if b.is_none(3) { zero } else { b.arg(3) };
            return done![x.call("constant_pad_nd", args![sides, value])];
        }
        "reflect" => ("reflection_pad1d", "reflection_pad2d", "reflection_pad3d"),
        "replicate" => ("replication_pad1d", "replication_pad2d", "replication_pad3d"),
        "circular" => return done![x.call("_pad_circular", args![sides])],
        other => return Err(b.unsupported(format!("mode '{other}'"))),
    };
    b.only((1..=2).contains(&spatial), "this rank")?;
    match pairs {
        1 => done![x.call(one, args![sides])],
        2 => done![x.call(two, args![sides])],
        3 => done![x.call(three, args![sides])],
        _ => Err(b.unsupported("this number of dimensions")),
    }
}

/// The far end of each padded dimension on its near side, and the other way round.
fn pad_circular(b: &Builder<'_>) -> Made {
    let mut x = b.t(0)?;
    let sides = b.ints(1)?;
    for (pair, axis) in sides.chunks(2).zip((0..x.dims()).rev()) {
        let [before, after] = pair else { return Err(b.unsupported("an odd number of sides")) };
        let Some(size) = x.dim(axis).fixed() else {
            b.only(*before >= 0 && *after >= 0, "a symbolic size that is cut")?;
            x = beside(
                b,
                x,
                axis,
                [|x, axis, n| x.slice(axis, n.saturating_neg(), i64::MAX), |x, axis, n| x.slice(axis, 0, n)],
                (*before, *after),
            );
            continue;
        };
        b.only(*before <= size && *after <= size, "padding beyond the size")?;
        // Negative padding cuts.
        let core = x.slice(axis, (*before).min(0).saturating_neg(), size.saturating_add((*after).min(0)));
        let head = x.slice(
            axis,
            size.saturating_sub((*before).max(0)).saturating_add((*after).min(0)),
            size.saturating_add((*after).min(0)),
        );
        let from = (*before).min(0).saturating_neg();
        let end = x.slice(axis, from, from.saturating_add((*after).max(0)));
        let mut all = Vec::new();
        all.extend((*before > 0).then_some(head));
        all.push(core);
        all.extend((*after > 0).then_some(end));
        x = b.op("cat", args![parts(&all), axis]);
    }
    done![x]
}

/// What stands on a side of a dimension, so many places wide.
type Piece = for<'b> fn(T<'b>, i64, i64) -> T<'b>;

/// A dimension of a symbolic size with pieces of it on both sides, each where it has places.
fn beside<'b>(
    b: &'b Builder<'_>,
    x: T<'b>,
    axis: i64,
    [first, last]: [Piece; 2],
    (before, after): (i64, i64),
) -> T<'b> {
    let mut all = Vec::new();
    all.extend((before > 0).then(|| first(x, axis, before)));
    all.push(x);
    all.extend((after > 0).then(|| last(x, axis, after)));
    if all.len() == 1 { x } else { b.op("cat", args![parts(&all), axis]) }
}

fn turned(x: T<'_>, axis: i64) -> T<'_> {
    x.call("flip", args![ints(&[axis])])
}

/// One place of a dimension as many.
fn widened(x: T<'_>, axis: i64, n: i64) -> T<'_> {
    let sizes = (0..signed(x.rank())).map(|d| Arg::Int(if d == axis { n } else { -1 }));
    x.expand(sizes.collect::<Vec<_>>())
}

/// The places next to the first one, and to the last one, read backwards.
const REFLECTED: [Piece; 2] = [
    |x, axis, n| turned(x.slice(axis, 1, n.saturating_add(1)), axis),
    |x, axis, n| turned(x.slice(axis, n.saturating_neg().saturating_sub(1), -1), axis),
];

/// The first place, and the last one, many times.
const REPLICATED: [Piece; 2] =
    [|x, axis, n| widened(x.slice(axis, 0, 1), axis, n), |x, axis, n| widened(x.slice(axis, -1, i64::MAX), axis, n)];

/// Which place of a dimension of that size each place of the padded one shows.
type Place = fn(place: i64, size: i64) -> i64;

fn reflected(place: i64, size: i64) -> i64 {
    let last = size.saturating_sub(1);
    let place = place.saturating_abs();
    if place > last { last.saturating_mul(2).saturating_sub(place) } else { place }
}

fn replicated(place: i64, size: i64) -> i64 {
    place.clamp(0, size.saturating_sub(1).max(0))
}

fn by_places(b: &Builder<'_>, spatial: usize, place: Place) -> Made {
    let mut x = b.t(0)?;
    let sides = b.ints(1)?;
    b.only(sides.len() == spatial.saturating_mul(2), "this number of sides")?;
    let mirrored = b.operator().schema.name.starts_with("reflection");
    for (pair, axis) in sides.chunks(2).zip((0..x.dims()).rev()) {
        let [before, after] = pair else { return Err(b.unsupported("an odd number of sides")) };
        if (*before, *after) == (0, 0) {
            continue;
        }
        let Some(size) = x.dim(axis).fixed() else {
            b.only(*before >= 0 && *after >= 0, "a symbolic size that is cut")?;
            x = beside(b, x, axis, if mirrored { REFLECTED } else { REPLICATED }, (*before, *after));
            continue;
        };
        let end = size.saturating_add(*after);
        let beyond = mirrored && (*before >= size || *after >= size);
        b.only(!beyond && size > 0 && end.saturating_add(*before) <= 65_536, "this many places")?;
        let shown = before.saturating_neg()..end;
        let mut pieces: Vec<(i64, i64, bool)> = Vec::new();
        for p in shown.map(|p| place(p, size)) {
            extend_piece(&mut pieces, p);
        }
        let all: Vec<T<'_>> = pieces.iter().map(|(from, to, _)| ranged(x, axis, *from, *to)).collect();
        x = if all.len() == 1 { all.first().copied().unwrap_or(x) } else { b.op("cat", args![parts(&all), axis]) };
    }
    done![if x.id() == b.t(0)?.id() { x.duplicate() } else { x }]
}

/// Joins a place to the run before it, where it goes on in the run's direction.
fn extend_piece(pieces: &mut Vec<(i64, i64, bool)>, place: i64) {
    if let Some((from, to, turned)) = pieces.last_mut() {
        let step = place.saturating_sub(*to);
        let fresh = from == to && !*turned;
        if step == 1 && (fresh || from < to) || step == -1 && (fresh || from > to) {
            *to = place;
            return;
        }
    }
    pieces.push((place, place, false));
}

fn ranged(x: T<'_>, axis: i64, from: i64, to: i64) -> T<'_> {
    let piece = x.slice(axis, from.min(to), from.max(to).saturating_add(1));
    if from > to { piece.call("flip", args![ints(&[axis])]) } else { piece }
}

/// Leading sizes, then the last three.
fn image(x: T<'_>) -> Option<(Vec<Arg>, [Arg; 3])> {
    let (shape, at) = (x.shape(), x.rank().checked_sub(3)?);
    Some((shape.get(..at)?.to_vec(), tail(&shape, at).try_into().ok()?))
}

fn pixel_shuffle(b: &Builder<'_>) -> Made {
    let (x, factor) = (b.t(0)?, b.int(1)?);
    let (lead, [c, h, w]) = image(x).ok_or_else(|| b.unsupported("this rank"))?;
    let out = b.size_op("floordiv", c, factor.saturating_mul(factor));
    let n = signed(lead.len());
    let split = [lead.clone(), vec![out.clone(), factor.into(), factor.into(), h.clone(), w.clone()]].concat();
    let order = [range(lead.len()), [0, 3, 1, 4, 2].map(|d: i64| d.saturating_add(n)).to_vec()].concat();
    let sizes = [lead, vec![out, b.size_op("mul", h, factor), b.size_op("mul", w, factor)]].concat();
    done![x.reshape(split).permute(&order).copy().view(sizes)]
}

fn pixel_unshuffle(b: &Builder<'_>) -> Made {
    let (x, factor) = (b.t(0)?, b.int(1)?);
    let (lead, [c, h, w]) = image(x).ok_or_else(|| b.unsupported("this rank"))?;
    let (h, w) = (b.size_op("floordiv", h, factor), b.size_op("floordiv", w, factor));
    let n = signed(lead.len());
    let split = [lead.clone(), vec![c.clone(), h.clone(), factor.into(), w.clone(), factor.into()]].concat();
    let order = [range(lead.len()), [0, 2, 4, 1, 3].map(|d: i64| d.saturating_add(n)).to_vec()].concat();
    let sizes = [lead, vec![b.size_op("mul", c, factor.saturating_mul(factor)), h, w]].concat();
    done![x.reshape(split).permute(&order).copy().view(sizes)]
}

fn channel_shuffle(b: &Builder<'_>) -> Made {
    let (x, groups) = (b.t(0)?, b.int(1)?);
    let shape = x.shape();
    let (Some(n), Some(c)) = (shape.first(), shape.get(1)) else { return Err(b.unsupported("this rank")) };
    let per = b.size_op("floordiv", c.clone(), groups);
    let rest = shape.get(2..).unwrap_or(&[]).to_vec();
    let split = [vec![n.clone(), groups.into(), per], rest].concat();
    done![x.reshape(split).transpose(1, 2).copy().view(shape)]
}

fn diag(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    match x.rank() {
        1 => done![x.call("diag_embed", args![b.arg(1)])],
        _ => done![x.call("diagonal", args![b.arg(1)]).copy()],
    }
}

/// What stands before the part, the part, what stands behind it.
fn slice_scatter(b: &Builder<'_>) -> Made {
    let (x, source, axis) = (b.t(0)?, b.t(1)?, b.axis(2_usize, b.t(0)?.rank())?);
    b.only(b.int(5)? == 1, "steps")?;
    let size = x.fixed(axis).ok();
    let from_front = |bound: i64| match size {
        Some(size) if bound < 0 => Ok(bound.saturating_add(size).max(0)),
        Some(size) => Ok(bound.min(size)),
        None if bound < 0 => Err(b.unsupported("a place from the end of a symbolic size")),
        None => Ok(bound),
    };
    let end = from_front(b.opt_int(4)?.unwrap_or(i64::MAX))?;
    let start = from_front(b.opt_int(3)?.unwrap_or(0))?.min(end);
    let (before, behind) = (x.slice(axis, 0, start), x.slice(axis, end, i64::MAX));
    done![b.op("cat", args![parts(&[before, source, behind]), axis])]
}

fn select_scatter(b: &Builder<'_>) -> Made {
    let (x, src, axis) = (b.t(0)?, b.t(1)?, b.axis(2_usize, b.t(0)?.rank())?);
    let size = x.fixed(axis)?;
    let at = b.int(3)?;
    let at = if at < 0 { at.saturating_add(size) } else { at };
    let part = src.unsqueeze(axis);
    done![x.call("slice_scatter", args![part, axis, at, at.saturating_add(1)])]
}

/// Each vector along a dimension of its own, broadcast; `xy` exchanges the first two.
fn meshgrid(b: &Builder<'_>) -> Made {
    let mut items = b.ts(0)?;
    let swap = b.operator().schema.params.len() > 1 && b.text(1) == "xy" && items.len() >= 2;
    if swap {
        items.swap(0, 1);
    }
    let sizes: Vec<Arg> = items.iter().map(|t| t.numel()).collect();
    let count = items.len();
    let mut grids: Vec<T<'_>> = Vec::new();
    for (i, t) in items.iter().enumerate() {
        let own = (0..count).map(|d| if d == i { t.numel() } else { Arg::Int(1) }).collect::<Vec<_>>();
        grids.push(t.view(own).expand(sizes.clone()));
    }
    if swap {
        grids.swap(0, 1);
    }
    Ok(vec![parts(&grids)])
}

fn atleast_3d(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    done![match x.rank() {
        0 => x.reshape(vec![Arg::Int(1); 3]),
        1 => x.unsqueeze(0).unsqueeze(2),
        2 => x.unsqueeze(2),
        _ => x,
    }]
}

fn each(b: &Builder<'_>, target: &str) -> Made {
    Ok(vec![parts(&b.ts(0)?.into_iter().map(|t| t.op(target)).collect::<Vec<_>>())])
}

fn broadcast_tensors(b: &Builder<'_>) -> Made {
    let items = b.ts(0)?;
    let mut sizes = Vec::new();
    for t in &items {
        sizes = super::matmul::broadcast(b, &sizes, &t.shape())?;
    }
    Ok(vec![parts(&items.into_iter().map(|t| t.expand(sizes.clone())).collect::<Vec<_>>())])
}

/// Rows of one element of each vector, the last one's changing fastest.
fn cartesian_prod(b: &Builder<'_>) -> Made {
    let items = b.ts(0)?;
    b.only(items.len() > 1, "one vector, which is its own product")?;
    let grids = b.list("meshgrid.indexing", args![parts(&items); indexing = Arg::Str("ij".into())]);
    let flat: Vec<T<'_>> = grids.into_iter().map(|t| t.reshape(vec![Arg::Int(-1)])).collect();
    done![b.op("stack", args![parts(&flat), 1])]
}

fn column_stack(b: &Builder<'_>) -> Made {
    let column = |t: T<'_>| if t.rank() < 2 { t.reshape(vec![t.numel(), Arg::Int(1)]).id() } else { t.id() };
    let columns: Vec<T<'_>> = b.ts(0)?.into_iter().map(|t| b.value(column(t))).collect();
    done![b.op("cat", args![parts(&columns), 1])]
}

fn dstack(b: &Builder<'_>) -> Made {
    let deep: Vec<T<'_>> = b.ts(0)?.into_iter().map(|t| t.op("atleast_3d")).collect();
    done![b.op("cat", args![parts(&deep), 2])]
}

/// Into equal parts, or at places; a vector along its only dimension.
fn split_along(b: &Builder<'_>, axis: i64) -> Made {
    let x = b.t(0)?;
    let axis = if axis == 1 && x.rank() == 1 { 0 } else { axis };
    b.only(axis < x.dims(), "too few dimensions")?;
    let overload = match b.arg(1) {
        Arg::Int(parts) => {
            b.only(parts > 0 && x.fixed(axis)?.checked_rem(parts) == Some(0), "parts that are not equal")?;
            "tensor_split.sections"
        }
        _ => "tensor_split.indices",
    };
    Ok(vec![parts(&b.list(overload, args![x, b.arg(1), axis]))])
}

/// Sequences filled up to the longest, side by side.
fn pad_sequence(b: &Builder<'_>) -> Made {
    let items = b.ts(0)?;
    b.only(items.iter().all(|t| t.rank() > 0), "a sequence without length")?;
    let lengths = items.iter().map(|t| t.fixed(0)).collect::<Result<Vec<i64>, CallFault>>()?;
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let right = b.text("padding_side") == "right";
    let mut filled = Vec::new();
    for (t, length) in items.iter().zip(&lengths) {
        let missing = longest.saturating_sub(*length);
        let mut pad = vec![0_i64; t.rank().saturating_sub(1).saturating_mul(2)];
        pad.extend(if right { [0, missing] } else { [missing, 0] });
        filled.push(t.call("constant_pad_nd", args![ints(&pad), b.arg("padding_value")]));
    }
    done![b.op("stack", args![parts(&filled), i64::from(!b.flag("batch_first")?)])]
}

fn flip(b: &Builder<'_>, axis: i64) -> Made {
    let x = b.t(0)?;
    b.only(axis < x.dims(), "too few dimensions")?;
    done![x.call("flip", args![ints(&[axis])])]
}

/// Each element with each that comes after it.
fn pairs(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() == 1 && b.int(1)? == 2, "other than pairs of a vector")?;
    let (n, device) = (x.fixed(0)?, x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone())));
    b.only(n > 0, "no elements")?;
    let offset = i64::from(!b.flag(2)?);
    let places = b.op("triu_indices", args![n, n, offset; device = device]);
    let at = |row: i64| Arg::from(x.call("index_select", args![0, places.select(0, row)]));
    done![b.op("stack", args![vec![at(0), at(1)], 1])]
}

/// Rows of blocks, zeros beside each.
fn block_diag(b: &Builder<'_>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    let mut blocks = Vec::new();
    let mut width = 0_i64;
    for t in b.ts(0)? {
        // A vector is a row.
        let block = (t.rank()..2).fold(t.to(dtype), |block, _| block.unsqueeze(0));
        let own = block.fixed(1)?;
        blocks.push((block, width, own));
        width = width.saturating_add(own);
    }
    let row = |(block, before, own): &(T<'_>, i64, i64)| {
        let after = width.saturating_sub(*before).saturating_sub(*own);
        Arg::from(block.call("constant_pad_nd", args![ints(&[*before, after]), 0]))
    };
    let rows: Vec<Arg> = blocks.iter().map(row).collect();
    done![b.op("cat", args![rows, 0])]
}

/// The last dimension along the diagonal of two new ones, zeros elsewhere.
fn diag_embed(b: &Builder<'_>) -> Made {
    let (x, offset) = (b.t(0)?, b.int("offset")?);
    let rank = x.rank().saturating_add(1);
    let (row, column) = (b.axis("dim1", rank)?, b.axis("dim2", rank)?);
    let last = x.dims().saturating_sub(1);
    let count = x.fixed(last)?;
    let beside = offset.saturating_abs();
    let side = count.saturating_add(beside);
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let places = b.op("arange.default", args![side; dtype = Dtype::I64, device = device]);
    let holds = places.call("eq.Tensor", args![places.unsqueeze(1) + offset]);
    // Each row has the element of its diagonal's place everywhere; the mask leaves one.
    let (before, after) = if offset < 0 { (beside, 0) } else { (0, beside) };
    let rows = x.call("constant_pad_nd", args![ints(&[before, after]), 0]).unsqueeze(x.dims());
    let zero = b.full(x, Vec::new(), 0, x.dtype());
    let made = b.choose(holds, rows, zero);
    // From the last two to where they belong.
    let (from_row, from_column) = (last, last.saturating_add(1));
    let mut others = 0..last;
    let order: Vec<i64> = range(rank)
        .into_iter()
        .map(|d| {
            if d == row {
                from_row
            } else if d == column {
                from_column
            } else {
                others.next().unwrap_or(0)
            }
        })
        .collect();
    done![made.permute(&order).contiguous()]
}
