//! Sizes, views, and moves of elements.

use std::rc::Rc;

use super::build::signed;
use super::put::put_within;
use super::value::Numbers;
use super::{Call, Made, Packed, Table, Undefined, Value, one, undefined};
use crate::graph::{Arg, Dtype, NodeId, View};

pub(super) const TABLE: Table = &[
    ("Identity", identity),
    ("Shape", shape),
    ("Reshape", reshape),
    ("FlattenV2", flatten),
    ("Transpose", |c| permute(c, true)),
    ("Permute", |c| permute(c, false)),
    ("Unsqueeze", unsqueeze),
    ("ExpandDims", expand_dims),
    ("Squeeze", squeeze),
    ("Expand", expand),
    ("ConcatV2", concat),
    ("Pack", pack),
    ("Unpack", unpack),
    ("SplitV", split),
    ("StridedSliceV2", strided_slice),
    ("PadV3", pad),
    ("PadV3Grad", pad_gradient),
    ("MirrorPad", mirror_pad),
    ("TensorMove", tensor_move),
    ("AsStrided", as_strided),
];

fn identity(c: &mut Call<'_, '_>) -> Made {
    Ok(vec![Some(c.value("x")?)])
}

fn tensor_move(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    one(c.b.call("aten.clone.default", vec![Arg::Node(x)])?)
}

/// Of a dense tensor, which dimension is seen in windows, of what size, how far apart: all others are as they are, and the places within a
/// window come last.
fn windows(c: &Call<'_, '_>, x: NodeId, sizes: &[Arg], strides: &[Arg]) -> Option<(i64, i64, i64)> {
    let ints = |list: &[Arg]| -> Option<Vec<i64>> {
        list.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None }).collect()
    };
    let own: Vec<i64> = c.b.tensor(x).ok()?.sizes.iter().map(|d| d.fixed()).collect::<Option<_>>()?;
    let (sizes, strides) = (ints(sizes)?, ints(strides)?);
    let ([sizes @ .., size], [strides @ .., within]) = (sizes.as_slice(), strides.as_slice()) else { return None };
    let mut dense = vec![1_i64; own.len()];
    for place in (1..own.len()).rev() {
        *dense.get_mut(place.checked_sub(1)?)? = dense.get(place)?.checked_mul(*own.get(place)?)?;
    }
    let alike = |axis: usize| {
        (0..own.len()).filter(|d| *d != axis).all(|d| sizes.get(d) == own.get(d) && strides.get(d) == dense.get(d))
    };
    let axis = (0..own.len()).find(|axis| dense.get(*axis) == Some(within) && alike(*axis))?;
    let step = strides.get(axis)?.checked_div(*within)?;
    let (length, count) = (*own.get(axis)?, *sizes.get(axis)?);
    let fits = sizes.len() == own.len() && step > 0 && step.checked_mul(*within) == strides.get(axis).copied();
    let counts = length.checked_sub(*size)?.checked_div(step)?.checked_add(1) == Some(count);
    (fits && counts && *size <= length).then_some((signed(axis), *size, step))
}

/// Reads a strided view of a dense tensor as a diagonal of two of its dimensions: how far beside the main one, and which.
fn diagonal(c: &Call<'_, '_>, x: NodeId, sizes: &[Arg], strides: &[Arg], start: i64) -> Option<(i64, i64, i64)> {
    let numbers = |list: &[Arg]| list.iter().map(|a| if let Arg::Int(n) = a { Some(*n) } else { None }).collect();
    let (sizes, strides): (Option<Vec<i64>>, Option<Vec<i64>>) = (numbers(sizes), numbers(strides));
    let (sizes, strides) = (sizes?, strides?);
    let own: Vec<i64> = c.b.tensor(x).ok()?.sizes.iter().map(|d| d.fixed()).collect::<Option<_>>()?;
    let mut dense = vec![1_i64; own.len()];
    for at in (1..own.len()).rev() {
        let (inner, size) = (*dense.get(at)?, *own.get(at)?);
        *dense.get_mut(at.checked_sub(1)?)? = inner.checked_mul(size)?;
    }
    if sizes.len().checked_add(1) != Some(own.len()) || sizes.contains(&0) {
        return None;
    }
    let pairs = (0..own.len()).flat_map(|a| (a.saturating_add(1)..own.len()).map(move |b| (a, b)));
    let found = |(a, b): (usize, usize)| {
        let (rows, columns, down, along) = (*own.get(a)?, *own.get(b)?, *dense.get(a)?, *dense.get(b)?);
        let rest = |list: &[i64]| -> Vec<i64> {
            list.iter().enumerate().filter(|(i, _)| *i != a && *i != b).map(|(_, v)| *v).collect()
        };
        // Beside the main diagonal: to the right by columns, else down by rows.
        let right = start.checked_rem(along)? == 0 && start.checked_div(along)? < columns;
        let shift = if right { start.checked_div(along)? } else { start.checked_div(down)?.checked_neg()? };
        let begins = if right { shift.checked_mul(along) } else { shift.checked_neg()?.checked_mul(down) };
        let length = rows.checked_add(shift.min(0))?.min(columns.checked_sub(shift.max(0))?);
        let (mut want_sizes, mut want_strides) = (rest(&own), rest(&dense));
        want_sizes.push(length);
        want_strides.push(down.checked_add(along)?);
        let fits = begins == Some(start) && length > 0 && want_sizes == sizes && want_strides == strides;
        fits.then_some((shift, signed(a), signed(b)))
    };
    pairs.into_iter().find_map(found)
}

/// By memory: GE's tensors are dense, and begin where their memory begins.
fn as_strided(c: &mut Call<'_, '_>) -> Made {
    let mut x = c.t("x")?;
    let (sizes, strides, offset) = (c.sizes("size")?, c.sizes("stride")?, c.one_number("storage_offset")?);
    let by_memory = c.b.calls("aten.as_strided.default");
    if !by_memory
        && let Arg::Int(start) = offset
        && let Some((shift, a, b)) = diagonal(c, x, &sizes, &strides, start)
    {
        let args = vec![Arg::Node(x), Arg::Int(shift), Arg::Int(a), Arg::Int(b)];
        return one(c.b.call("aten.diagonal.default", args)?);
    }
    if !by_memory
        && offset == Arg::Int(0)
        && let Some((axis, size, step)) = windows(c, x, &sizes, &strides)
    {
        let args = vec![Arg::Node(x), Arg::Int(axis), Arg::Int(size), Arg::Int(step)];
        return one(c.b.call("aten.unfold.default", args)?);
    }
    if !c.b.is_own(x) || !c.b.is_dense(x)? {
        let named = vec![("memory_format", Arg::MemoryFormat(crate::graph::MemoryFormat::Contiguous))];
        x = c.b.call_with("aten.clone.default", vec![Arg::Node(x)], named)?;
    }
    let alike = |own: &Arg, here: &[Arg]| match own {
        Arg::List(own) | Arg::Tuple(own) => {
            own.len() == here.len()
                && own.iter().zip(here).all(|(a, b)| a == b || matches!((a, b), (Arg::Node(_), Arg::Node(_))))
        }
        _ => false,
    };
    let without = |args: &[Arg]| match args {
        [_, own_sizes, own_strides] | [_, own_sizes, own_strides, Arg::None] => {
            alike(own_sizes, &sizes) && alike(own_strides, &strides)
        }
        _ => false,
    };
    let left_out = offset == Arg::Int(0) && c.b.leaves_out("aten.as_strided.default", without);
    let mut args = vec![Arg::Node(x), Arg::List(sizes.into()), Arg::List(strides.into())];
    if !left_out {
        args.push(offset);
    }
    one(c.b.call("aten.as_strided.default", args)?)
}

fn shape(c: &mut Call<'_, '_>) -> Made {
    let dtype = c.dtype("dtype")?;
    let items = match c.value("x")? {
        Value::Tensor(x) => c.b.sizes(x)?,
        Value::Numbers(n) => n.dims.iter().map(|d| Arg::Int(*d)).collect(),
        Value::Packed(p) if !p.apart => {
            let mut sizes = c.b.sizes(p.packed)?;
            match sizes.last_mut() {
                Some(Arg::Int(last)) => *last = last.saturating_mul(p.each),
                _ => return undefined("packed numbers of a symbolic size"),
            }
            sizes
        }
        other @ (Value::Packed(_) | Value::Places(_) | Value::Drawing(_)) => return other.tensor(c.b).and_then(one),
    };
    one(Value::list(dtype, items))
}

/// Returns an axis from the front.
pub(super) fn axis(at: i64, rank: usize) -> Result<usize, Undefined> {
    let at = if at < 0 { at.saturating_add(signed(rank)) } else { at };
    usize::try_from(at).ok().filter(|a| *a < rank.max(1)).ok_or_else(|| Undefined(format!("axis {at} of {rank}")))
}

fn renamed(numbers: &Numbers, dims: Vec<i64>) -> Value {
    Value::Numbers(Rc::new(Numbers { dtype: numbers.dtype, dims, items: numbers.items.clone() }))
}

fn reshape(c: &mut Call<'_, '_>) -> Made {
    let (x, to) = (c.value("x")?, c.sizes("shape")?);
    if let Value::Packed(p) = x {
        let mut apart = c.b.sizes(p.packed)?;
        apart.push(Arg::Int(p.each));
        c.only(!p.apart && apart == to, "packed numbers in another shape")?;
        return one(Value::Packed(Packed { apart: true, ..p }));
    }
    let known = |size: &Arg| if let Arg::Int(size) = size { Some(*size) } else { None };
    if let (Value::Numbers(n), Some(dims)) = (&x, to.iter().map(known).collect::<Option<Vec<i64>>>()) {
        let count: i64 = dims.iter().product();
        if dims.iter().all(|d| *d > 0) && count == signed(n.items.len()) {
            return one(renamed(n, dims));
        }
    }
    let x = x.tensor(c.b)?;
    if c.b.unpacked.contains(&x) && c.b.sizes(x)? == to {
        return one(x);
    }
    one(c.b.call("aten.reshape.default", vec![Arg::Node(x), Arg::List(to.into())])?)
}

fn flatten(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let (start, end) = (c.int("axis")?, c.int("end_axis")?);
    one(c.b.call("aten.flatten.using_ints", vec![Arg::Node(x), Arg::Int(start), Arg::Int(end)])?)
}

fn permute(c: &mut Call<'_, '_>, by_input: bool) -> Made {
    let x = c.t("x")?;
    let order = if by_input { c.ints("perm")? } else { c.int_list("order")? };
    // What an attribute does not name follows, in order, as in Caffe.
    let rest = (0..signed(c.b.rank(x)?)).filter(|d| !by_input && !order.contains(d));
    let order: Vec<i64> = order.iter().copied().chain(rest).collect();
    if let Some(put) = put_within(c, x, &order)? {
        return one(put);
    }
    let made = c.b.call("aten.permute.default", vec![Arg::Node(x), Arg::list(order.clone())])?;
    // Places stay what they are, in another order.
    if let Some(wide) = c.b.places.get(&x).copied() {
        let turned = c.b.call("aten.permute.default", vec![Arg::Node(wide), Arg::list(order)])?;
        c.b.places.insert(made, turned);
    }
    one(made)
}

/// A dimension that a search for an extreme lost and that is put back was kept, where the graph that was lowered puts none back itself.
fn kept(c: &Call<'_, '_>, x: NodeId, at: usize) -> Option<(String, Vec<Arg>)> {
    let target = c.b.graph.target(x);
    let [Arg::Node(of), Arg::Int(dim)] = c.b.graph.args(x) else { return None };
    let searches = ["aten.argmax.default", "aten.argmin.default"].contains(&target);
    let is_own = searches && !c.b.calls("aten.unsqueeze.default") && axis(*dim, c.b.rank(*of).ok()?).ok()? == at;
    is_own.then(|| (target.to_string(), vec![Arg::Node(*of), Arg::Int(*dim), Arg::Bool(true)]))
}

fn unsqueeze(c: &mut Call<'_, '_>) -> Made {
    let axes = c.int_list("axes")?;
    let value = c.value("x")?;
    let rank = value.rank(c.b)?.saturating_add(axes.len());
    let mut places = axes.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<_>, _>>()?;
    places.sort_unstable();
    c.only(places.windows(2).all(|w| w.first() != w.last()), "an axis that is named twice")?;
    if let Value::Numbers(n) = &value {
        let mut dims = n.dims.clone();
        for at in places {
            dims.insert(at.min(dims.len()), 1);
        }
        return one(renamed(n, dims));
    }
    let mut x = value.tensor(c.b)?;
    if let [at] = places.as_slice()
        && let Some(kept) = kept(c, x, *at)
    {
        return one(c.b.call(&kept.0, kept.1)?);
    }
    for at in places {
        x = c.b.call("aten.unsqueeze.default", vec![Arg::Node(x), Arg::Int(signed(at))])?;
    }
    one(x)
}

fn expand_dims(c: &mut Call<'_, '_>) -> Made {
    let at = c.one_int("axis")?;
    let value = c.value("x")?;
    let rank = value.rank(c.b)?.saturating_add(1);
    let at = axis(at, rank)?;
    if let Value::Numbers(n) = &value {
        let mut dims = n.dims.clone();
        dims.insert(at.min(dims.len()), 1);
        return one(renamed(n, dims));
    }
    let x = value.tensor(c.b)?;
    one(c.b.call("aten.unsqueeze.default", vec![Arg::Node(x), Arg::Int(signed(at))])?)
}

fn squeeze(c: &mut Call<'_, '_>) -> Made {
    let axes = c.int_list("axis")?;
    let value = c.value("x")?;
    let rank = value.rank(c.b)?;
    let mut places = axes.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<_>, _>>()?;
    if let Value::Numbers(n) = &value {
        let keeps = |i: usize, d: i64| !(d == 1 && (places.is_empty() || places.contains(&i)));
        let dims = n.dims.iter().enumerate().filter(|(i, d)| keeps(*i, **d)).map(|(_, d)| *d).collect();
        return one(renamed(n, dims));
    }
    let x = value.tensor(c.b)?;
    let sizes = c.b.tensor(x)?.sizes.clone();
    if places.is_empty() {
        c.only(sizes.iter().all(|d| d.fixed().is_some()), "a squeeze of all axes, some of which are not known")?;
        places = (0..rank).filter(|i| sizes.get(*i).and_then(|d| d.fixed()) == Some(1)).collect();
    }
    c.only(
        places.iter().all(|i| sizes.get(*i).and_then(|d| d.fixed()) == Some(1)),
        "a squeeze of an axis that is not 1",
    )?;
    places.sort_unstable();
    places.dedup();
    let mut out = x;
    for at in places.into_iter().rev() {
        out = c.b.call("aten.squeeze.dim", vec![Arg::Node(out), Arg::Int(signed(at))])?;
    }
    one(out)
}

/// As BroadcastTo, but a size of -1 or 1 keeps the dimension.
fn expand(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let sizes = c.sizes("shape")?;
    let own = c.b.sizes(x)?;
    let ahead = sizes.len().saturating_sub(own.len());
    let kept = |(i, s): (usize, Arg)| match (&s, i.checked_sub(ahead).and_then(|i| own.get(i))) {
        (Arg::Int(-1 | 1), Some(own)) => own.clone(),
        _ => s,
    };
    let sizes: Vec<Arg> = sizes.into_iter().enumerate().map(kept).collect();
    one(c.b.call("aten.expand.default", vec![Arg::Node(x), Arg::List(sizes.into())])?)
}

/// Whether sizes are held in a type: in 32 or in 64 bits they are the same sizes.
fn is_size(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::I32 | Dtype::I64)
}

/// Reads what stands before a part of a tensor, another part of the same size, and what stands behind it, as that tensor with the part written,
/// where the graph that was lowered says it so.
fn replaced(c: &Call<'_, '_>, parts: &[NodeId], at: i64) -> Option<Vec<Arg>> {
    let [before, new, behind] = parts else { return None };
    let slice = |n: NodeId| -> Option<(NodeId, [i64; 3])> {
        let [Arg::Node(of), Arg::Int(dim), Arg::Int(from), Arg::Int(to), Arg::Int(1)] = c.b.graph.args(n) else {
            return None;
        };
        (c.b.graph.target(n) == "aten.slice.Tensor").then_some((*of, [*dim, *from, *to]))
    };
    let ((of, [dim, from, start]), (again, [other, end, last])) = (slice(*before)?, slice(*behind)?);
    let axis = axis(at, c.b.rank(of).ok()?).ok()?;
    let size = |n: NodeId| c.b.tensor(n).ok()?.sizes.get(axis)?.fixed();
    let (whole, part) = (size(of)?, size(*new)?);
    let fits = of == again && dim == signed(axis) && other == dim && from == 0 && last >= whole;
    let within = (0..=end).contains(&start) && end <= whole && end.checked_sub(start) == Some(part);
    let args = vec![Arg::Node(of), Arg::Node(*new), Arg::Int(dim), Arg::Int(start), Arg::Int(end)];
    (fits && within && c.b.calls("aten.slice_scatter.default")).then_some(args)
}

fn concat(c: &mut Call<'_, '_>) -> Made {
    let (values, at) = (c.values("x")?, c.one_int("concat_dim")?);
    c.only(c.int("N")? == signed(values.len()), "a count that is not that of the inputs")?;
    if let Some(all) = values.iter().map(|v| v.numbers().filter(|n| n.dims.len() == 1)).collect::<Option<Vec<_>>>()
        && let Some(first) = all.first()
        && matches!(at, 0 | -1)
        && all.iter().all(|n| n.dtype == first.dtype || is_size(n.dtype) && is_size(first.dtype))
    {
        let items = all.iter().flat_map(|n| n.items.iter().cloned()).collect();
        let dtype = all.iter().fold(first.dtype, |d, n| super::numbers::wider(d, n.dtype));
        return one(Value::list(dtype, items));
    }
    let tensors = c.many("x")?;
    let dtypes = tensors.iter().map(|t| c.b.dtype(*t)).collect::<Result<Vec<_>, _>>()?;
    c.only(dtypes.windows(2).all(|w| w.first() == w.last()), "a join of several types")?;
    let ranks = tensors.iter().map(|t| c.b.rank(*t)).collect::<Result<Vec<_>, _>>()?;
    c.only(ranks.windows(2).all(|w| w.first() == w.last()), "a join of other dimensions")?;
    if let Some(args) = replaced(c, &tensors, at) {
        return one(c.b.call("aten.slice_scatter.default", args)?);
    }
    one(c.b.call("aten.cat.default", vec![Arg::list(tensors), Arg::Int(at)])?)
}

fn pack(c: &mut Call<'_, '_>) -> Made {
    let (values, at) = (c.values("x")?, c.int("axis")?);
    c.only(c.int("N")? == signed(values.len()), "a count that is not that of the inputs")?;
    if at == 0
        && let Some(all) = values.iter().map(|v| v.numbers().filter(|n| n.dims.is_empty())).collect::<Option<Vec<_>>>()
        && let Some(first) = all.first()
        && all.iter().all(|n| n.dtype == first.dtype || n.dtype.is_integer() && first.dtype.is_integer())
    {
        let dtype = all.iter().fold(first.dtype, |d, n| super::numbers::wider(d, n.dtype));
        return one(Value::list(dtype, all.iter().flat_map(|n| n.items.iter().cloned()).collect()));
    }
    let tensors = c.many("x")?;
    let dtypes = tensors.iter().map(|t| c.b.dtype(*t)).collect::<Result<Vec<_>, _>>()?;
    c.only(dtypes.windows(2).all(|w| w.first() == w.last()), "a stack of several types")?;
    if let Some(whole) = parts_of(c, &tensors, at) {
        return one(whole);
    }
    one(c.b.call("aten.stack.default", vec![Arg::list(tensors), Arg::Int(at)])?)
}

/// All parts of a tensor, taken along its last dimension in order and put together again, are that tensor.
fn parts_of(c: &Call<'_, '_>, parts: &[NodeId], at: i64) -> Option<NodeId> {
    let mut whole = None;
    for (place, part) in parts.iter().enumerate() {
        let (target, args) = (c.b.graph.target(*part), c.b.graph.args(*part));
        let [Arg::Node(of), Arg::Int(-1), Arg::Int(taken)] = args else { return None };
        let is_other = |w: NodeId| w != *of && !is_again(c, w, *of);
        if target != "aten.select.int" || *taken != signed(place) || whole.is_some_and(is_other) {
            return None;
        }
        whole = Some(*of);
    }
    let sizes = c.b.tensor(whole?).ok()?.sizes.clone();
    let last = at == -1 || at == signed(sizes.len().saturating_sub(1));
    whole.filter(|_| last && sizes.last().and_then(|d| d.fixed()) == Some(signed(parts.len())))
}

/// Whether two calls see the same numbers as pairs.
fn is_again(c: &Call<'_, '_>, a: NodeId, b: NodeId) -> bool {
    let g = &c.b.graph;
    [a, b].iter().all(|n| g.target(*n) == "aten.view_as_real.default") && g.args(a) == g.args(b)
}

fn unpack(c: &mut Call<'_, '_>) -> Made {
    let (at, count) = (c.int("axis")?, c.int("num")?);
    c.only(usize::try_from(count) == Ok(c.outputs()), "a count that is not that of the outputs")?;
    let value = c.value("x")?;
    if let Value::Numbers(n) = &value
        && n.dims == [count]
    {
        return Ok(n.items.iter().map(|i| Some(Value::scalar(n.dtype, i.clone()))).collect());
    }
    let x = value.tensor(c.b)?;
    let parts = c.b.call("aten.unbind.int", vec![Arg::Node(x), Arg::Int(at)])?;
    Ok(c.b.items(parts, c.outputs())?.into_iter().map(|n| Some(n.into())).collect())
}

fn split(c: &mut Call<'_, '_>) -> Made {
    let (x, at) = (c.t("x")?, c.one_int("split_dim")?);
    let mut sizes = c.sizes("size_splits")?;
    c.only(c.int("num_split")? == signed(sizes.len()), "a count that is not that of the parts")?;
    c.only(sizes.len() == c.outputs(), "a count that is not that of the outputs")?;
    // A part of -1 is what the others leave.
    if let Some(open) = sizes.iter().position(|s| *s == Arg::Int(-1)) {
        let rank = c.b.rank(x)?;
        let Arg::Int(mut left) = c.b.size(x, axis(at, rank)?)? else { return undefined("a part of a symbolic size") };
        for size in &sizes {
            match size {
                Arg::Int(-1) => {}
                Arg::Int(n) => left = left.saturating_sub(*n),
                _ => return undefined("a part beside symbolic ones"),
            }
        }
        if let Some(slot) = sizes.get_mut(open) {
            *slot = Arg::Int(left);
        }
    }
    let parts = c.b.call("aten.split_with_sizes.default", vec![Arg::Node(x), Arg::List(sizes.into()), Arg::Int(at)])?;
    Ok(c.b.items(parts, c.outputs())?.into_iter().map(|n| Some(n.into())).collect())
}

/// What GE is told for the end of a dimension.
const LAST: i64 = 2_147_483_647;

/// One slice an axis that is named; masks bring their own rules, which are not defined.
fn strided_slice(c: &mut Call<'_, '_>) -> Made {
    for mask in ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"] {
        c.only(c.int(mask)? == 0, "a slice with a mask")?;
    }
    let mut x = c.t("x")?;
    let rank = c.b.rank(x)?;
    let (begin, end) = (c.sizes("begin")?, c.sizes("end")?);
    let axes = if c.is_fed("axes") { c.ints("axes")? } else { (0..signed(begin.len())).collect() };
    let strides = if c.is_fed("strides") { c.ints("strides")? } else { vec![1; begin.len()] };
    c.only(
        end.len() == begin.len() && axes.len() == begin.len() && strides.len() == begin.len(),
        "lists of other lengths",
    )?;
    let axes = axes.into_iter().map(|at| axis(at, rank)).collect::<Result<Vec<_>, _>>()?;
    let mut named = axes.clone();
    named.sort_unstable();
    c.only(named.windows(2).all(|w| w.first() != w.last()), "an axis that is named twice")?;
    for (((from, to), at), step) in begin.into_iter().zip(end).zip(axes).zip(strides) {
        c.only(step > 0, "a step backwards")?;
        let is_symbolic = c.b.tensor(x)?.sizes.get(at).is_some_and(|d| d.fixed().is_none());
        let to = if is_symbolic && to == Arg::Int(LAST) {
            c.b.assumed.insert("sizes are numbers of 32 bits".into());
            Arg::Int(i64::MAX)
        } else {
            to
        };
        let at = Arg::Int(signed(at));
        x = c.b.call("aten.slice.Tensor", vec![Arg::Node(x), at, from, to, Arg::Int(step)])?;
    }
    one(x)
}

/// Pads by dimension, outermost first, as PyTorch's innermost first.
fn pads_of(c: &mut Call<'_, '_>, name: &str, rank: usize, pairs: bool) -> Result<Vec<Arg>, Undefined> {
    let given = c.sizes(name)?;
    c.only(given.len() == rank.saturating_mul(2), "pads of another length")?;
    let at = |k: usize| given.get(k).cloned().unwrap_or(Arg::Int(0));
    let mut out = Vec::new();
    for d in (0..rank).rev() {
        let (low, high) = if pairs {
            (d.saturating_mul(2), d.saturating_mul(2).saturating_add(1))
        } else {
            (d, d.saturating_add(rank))
        };
        out.extend([at(low), at(high)]);
    }
    while out.len() >= 2 && out.iter().rev().take(2).all(|p| *p == Arg::Int(0)) {
        out.truncate(out.len().saturating_sub(2));
    }
    Ok(out)
}

fn pad(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let rank = c.b.rank(x)?;
    let pads = pads_of(c, "paddings", rank, c.flag("paddings_contiguous")?)?;
    match c.text("mode")?.as_str() {
        "constant" => {
            let dtype = c.b.dtype(x)?;
            let value = if c.is_fed("constant_values") {
                c.only(c.value("constant_values")?.dtype(c.b)? == dtype, "a pad of another type")?;
                c.one_number("constant_values")?
            } else {
                Arg::Int(0)
            };
            one(c.b.call("aten.constant_pad_nd.default", vec![Arg::Node(x), Arg::List(pads.into()), value])?)
        }
        mode @ ("reflect" | "edge") => {
            // What is put on comes from the operand: a number that is given says nothing.
            let _ = c.given("constant_values");
            reflect(c, x, pads, if mode == "edge" { "replication" } else { "reflection" })
        }
        other => undefined(format!("mode {other}")),
    }
}

fn reflect(c: &mut Call<'_, '_>, x: NodeId, mut pads: Vec<Arg>, how: &str) -> Made {
    if pads.is_empty() {
        // Nothing is put on: said of all dimensions but those of samples and channels.
        pads = vec![Arg::Int(0); c.b.rank(x)?.saturating_sub(2).saturating_mul(2)];
    }
    let dims = pads.len().div_euclid(2);
    c.only((1..=3).contains(&dims), "such pads of so many dimensions")?;
    // GE has no pad of three dimensions: one is put in front.
    let put = match (c.b.graph.target(x), c.b.graph.args(x)) {
        ("aten.unsqueeze.default", [Arg::Node(from), Arg::Int(0)]) if dims == 1 && matches!(c.b.rank(x)?, 3 | 4) => {
            Some(*from)
        }
        _ => None,
    };
    let args = vec![Arg::Node(put.unwrap_or(x)), Arg::List(pads.into())];
    let padded = c.b.call(&format!("aten.{how}_pad{dims}d.default"), args)?;
    if put.is_none() {
        return one(padded);
    }
    one(c.b.call("aten.unsqueeze.default", vec![Arg::Node(padded), Arg::Int(0)])?)
}

/// The gradient of a pad that repeats elements: of what was padded the sizes are left, those of the gradient without the pads.
fn pad_gradient(c: &mut Call<'_, '_>) -> Made {
    let mut grad = c.t("x")?;
    let rank = c.b.rank(grad)?;
    let pads = pads_of(c, "paddings", rank, c.flag("paddings_contiguous")?)?;
    // GE has no such gradient of three dimensions: one is put in front.
    let put = match (c.b.graph.target(grad), c.b.graph.args(grad)) {
        ("aten.unsqueeze.default", [Arg::Node(from), Arg::Int(0)]) if pads.len() == 2 => Some(*from),
        _ => None,
    };
    grad = put.unwrap_or(grad);
    let how = match c.text("mode")?.as_str() {
        "reflect" => "reflection",
        "edge" => "replication",
        other => return undefined(format!("mode {other}")),
    };
    let mut sizes = c.b.sizes(grad)?;
    for (size, pair) in sizes.iter_mut().rev().zip(pads.chunks(2)) {
        let (Arg::Int(padded), [Arg::Int(low), Arg::Int(high)]) = (&*size, pair) else {
            return undefined("a gradient of symbolic sizes");
        };
        *size = Arg::Int(padded.saturating_sub(*low).saturating_sub(*high));
    }
    let dims = pads.len().div_euclid(2);
    c.only((1..=3).contains(&dims), "such pads of so many dimensions")?;
    let dtype = c.b.dtype(grad)?;
    let lost = c.b.full(sizes, Arg::Float(0.0), dtype)?;
    let args = vec![Arg::Node(grad), Arg::Node(lost), Arg::List(pads.into())];
    let made = c.b.by_definition(&format!("aten.{how}_pad{dims}d_backward.default"), args)?;
    match made.first() {
        Some(Arg::Node(node)) if put.is_some() => {
            one(c.b.call("aten.unsqueeze.default", vec![Arg::Node(*node), Arg::Int(0)])?)
        }
        Some(Arg::Node(node)) => one(*node),
        _ => undefined("no gradient"),
    }
}

fn mirror_pad(c: &mut Call<'_, '_>) -> Made {
    c.only(c.text("mode")? == "REFLECT", "a mirror that repeats the edge")?;
    let x = c.t("x")?;
    let rank = c.b.rank(x)?;
    c.only(c.value("paddings")?.rank(c.b)? == 2, "pads that are no pairs")?;
    let pads = pads_of(c, "paddings", rank, true)?;
    reflect(c, x, pads, "reflection")
}

/// Returns a tensor of indices.
pub(super) fn as_index(c: &mut Call<'_, '_>, slot: &str) -> Result<NodeId, Undefined> {
    let index = c.t(slot)?;
    match c.b.dtype(index)? {
        Dtype::I64 | Dtype::I32 => Ok(index),
        other => undefined(format!("indices of {other}")),
    }
}
