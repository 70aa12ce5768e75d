//! Elements taken and put by index.

use super::build::signed;
use super::put::selected;
use super::shape::{as_index, axis};
use super::write::write;
use super::{Call, Made, Table, Undefined, Value, one, undefined};
use crate::graph::{Arg, Dtype, NodeId, NodeKind, ValueType, View};
use crate::sym::Dim;

pub(super) const TABLE: Table = &[
    ("Gather", |c| gather(c, false)),
    ("GatherV2", |c| gather(c, true)),
    ("IndexByTensor", by_tensor),
    ("NonZero", non_zero),
    ("UniqueConsecutive", unique_consecutive),
    ("MaskedSelect", masked_select),
    ("MaskedScatter", masked_scatter),
    ("SearchSorted", search_sorted),
    ("Bincount", bincount),
    ("ScatterElements", scatter_elements),
    ("ScatterNdUpdate", |c| scatter_nd(c, false)),
    ("TensorScatterMax", |c| extreme(c, "amax")),
    ("TensorScatterMin", |c| extreme(c, "amin")),
    ("ScatterNdAdd", |c| scatter_nd(c, true)),
    ("EmbeddingBag", embedding_bag),
    ("Scatter", scatter),
    ("InplaceIndexAdd", index_add),
];

fn gather(c: &mut Call<'_, '_>, by_axis: bool) -> Made {
    c.only(c.int("batch_dims")? == 0, "a gather by batch")?;
    // It says how it is computed, not what.
    let _ = c.flag("is_preprocessed")?;
    let from_the_end = c.flag("negative_index_support")?;
    if !by_axis {
        let _ = c.flag("validate_indices")?;
    }
    let at = if by_axis { c.one_int("axis")? } else { 0 };
    let x = c.value("x")?;
    let indices = c.value("indices")?;
    if let (Value::Numbers(from), Value::Numbers(by)) = (&x, &indices)
        && from.dims.len() == 1
        && by.dims.len() <= 1
        && let Some(places) = by.ints()
    {
        let take = |i: &i64| usize::try_from(*i).ok().and_then(|i| from.items.get(i)).cloned();
        let Some(items) = places.iter().map(take).collect::<Option<Vec<_>>>() else {
            return undefined("an index beyond the list");
        };
        return one(match (by.dims.is_empty(), items.as_slice()) {
            (true, [item]) => Value::scalar(from.dtype, item.clone()),
            _ => Value::list(from.dtype, items),
        });
    }
    let x = x.tensor(c.b)?;
    let at = axis(at, c.b.rank(x)?)?;
    if let Some(Arg::Int(place)) = indices.numbers().filter(|n| n.dims.is_empty()).and_then(|n| n.only()) {
        c.only(*place >= 0 || from_the_end, "a place from the end, which GE is not told of,")?;
        return one(c.b.call("aten.select.int", vec![Arg::Node(x), Arg::Int(signed(at)), Arg::Int(*place)])?);
    }
    let indices = as_index(c, "indices")?;
    let (rank, own) = (c.b.rank(indices)?, c.b.rank(x)?);
    // A single place keeps the dimension in PyTorch.
    if let [Arg::Node(place), Arg::Int(0)] = c.b.graph.args(indices)
        && c.b.graph.target(indices) == "aten.unsqueeze.default"
        && c.b.rank(*place)? == 0
    {
        let args = vec![Arg::Node(x), Arg::Int(signed(at)), Arg::Node(*place)];
        return one(c.b.call("aten.index_select.default", args)?);
    }
    if rank == 1 && !(at == 0 && own == 2) {
        let args = vec![Arg::Node(x), Arg::Int(signed(at)), Arg::Node(indices)];
        return one(c.b.call("aten.index_select.default", args)?);
    }
    if at == 0 && own == 2 {
        return one(c.b.call("aten.embedding.default", vec![Arg::Node(x), Arg::Node(indices)])?);
    }
    let indices = if from_the_end { indices } else { from_the_front(c, indices, x, at)? };
    let mut by = vec![Arg::None; at];
    by.push(Arg::Node(indices));
    one(c.b.call("aten.index.Tensor", vec![Arg::Node(x), Arg::List(by.into())])?)
}

fn by_tensor(c: &mut Call<'_, '_>) -> Made {
    let (x, indices, mask) = (c.t("x")?, c.many("indices")?, c.int_list("indices_mask")?);
    let mut left = indices.into_iter();
    let mut by = Vec::new();
    for taken in mask {
        by.push(if taken == 1 { left.next().map_or(Arg::None, Arg::Node) } else { Arg::None });
    }
    c.only(left.next().is_none() && by.len() <= c.b.rank(x)?, "more indices than the mask says")?;
    let by = as_masks(c, by);
    let target = c.b.spelled(&["aten.index.Tensor", "aten._unsafe_index.Tensor"]);
    one(c.b.call(target, vec![Arg::Node(x), Arg::List(by.into())])?)
}

fn search_sorted(c: &mut Call<'_, '_>) -> Made {
    let (line, values) = (c.t("sorted_sequence")?, c.t("values")?);
    let (right, dtype) = (c.flag("right")?, c.dtype("dtype")?);
    let mut named = vec![("out_int32", Arg::Bool(dtype == Dtype::I32)), ("right", Arg::Bool(right))];
    c.only(matches!(dtype, Dtype::I32 | Dtype::I64), "places of another type")?;
    let sorter = c.maybe("sorter")?;
    if sorter != Arg::None {
        named.push(("sorter", sorter.clone()));
    }
    if sorter == Arg::None && c.b.rank(line)? == 1 && c.b.calls("aten.bucketize.Tensor") {
        return one(c.b.call_with("aten.bucketize.Tensor", vec![Arg::Node(values), Arg::Node(line)], named)?);
    }
    // From which side it is searched may be said in a word, too.
    let alike = |own: &[Arg], words: &[(String, Arg)]| {
        let mut said = Vec::new();
        for (name, arg) in words {
            match (name.as_str(), arg) {
                ("side", Arg::Str(side)) => said.push(**side == *"right"),
                ("right", Arg::Bool(flag)) => said.push(*flag),
                ("out_int32", Arg::Bool(narrow)) if *narrow == (dtype == Dtype::I32) => {}
                ("sorter", Arg::None) => {}
                _ => return false,
            }
        }
        own.len() == 2 && (dtype == Dtype::I64 || words.iter().any(|(n, _)| n == "out_int32")) && said == [right]
    };
    let operands = vec![Arg::Node(line), Arg::Node(values)];
    if sorter == Arg::None
        && let Some((_, words)) = c.b.spelled_numbers("aten.searchsorted.Tensor", alike)
    {
        let words = words.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
        return one(c.b.call_with("aten.searchsorted.Tensor", operands, words)?);
    }
    one(c.b.call_with("aten.searchsorted.Tensor", operands, named)?)
}

fn non_zero(c: &mut Call<'_, '_>) -> Made {
    c.only(!c.flag("transpose")?, "places a row a dimension")?;
    let (x, dtype) = (c.t("x")?, c.dtype("dtype")?);
    let places = c.b.call("aten.nonzero.default", vec![Arg::Node(x)])?;
    one(c.b.to(places, dtype)?)
}

/// An operand and a mask, one of which PyTorch repeats itself, where the graph that was lowered leaves it to that. Of two that are repeated
/// neither says the sizes.
fn unspread(c: &Call<'_, '_>, x: NodeId, mask: NodeId) -> (NodeId, NodeId) {
    let is_spelled = c.b.calls("aten.expand.default");
    let bare = |t: NodeId| match c.b.graph.args(t) {
        [Arg::Node(from), _] if !is_spelled && c.b.graph.target(t) == "aten.expand.default" => *from,
        _ => t,
    };
    let (bare_x, bare_mask) = (bare(x), bare(mask));
    if bare_mask == mask { (bare_x, mask) } else { (x, bare_mask) }
}

fn masked_select(c: &mut Call<'_, '_>) -> Made {
    let (x, mask) = (c.t("x")?, c.t("mask")?);
    let (x, mask) = unspread(c, x, mask);
    one(c.b.call("aten.masked_select.default", vec![Arg::Node(x), Arg::Node(mask)])?)
}

/// What is written goes where the mask holds, in order. PyTorch repeats operand or mask itself, where the graph that was lowered leaves it to that.
fn masked_scatter(c: &mut Call<'_, '_>) -> Made {
    let (x, mask, updates) = (c.t("x")?, c.t("mask")?, c.t("updates")?);
    let (x, mask) = unspread(c, x, mask);
    one(c.b.call("aten.masked_scatter.default", vec![Arg::Node(x), Arg::Node(mask), Arg::Node(updates)])?)
}

/// Of runs of equal ones the first: along an axis, or of all elements in order, which GE says by 1000.
fn unique_consecutive(c: &mut Call<'_, '_>) -> Made {
    let (x, inverse, counts) = (c.t("x")?, c.flag("return_idx")?, c.flag("return_counts")?);
    let mut args = vec![Arg::Node(x), Arg::Bool(inverse), Arg::Bool(counts)];
    match c.int("axis")? {
        1000 => {}
        at => args.push(Arg::Int(at)),
    }
    let all = c.b.call("aten.unique_consecutive.default", args)?;
    Ok(c.b.items(all, 3)?.into_iter().map(|t| Some(t.into())).collect())
}

/// Which tensor's places these are, and of which of its dimensions.
fn column(c: &Call<'_, '_>, index: &Arg) -> Option<(NodeId, i64)> {
    let Arg::Node(index) = index else { return None };
    let [Arg::Node(places), Arg::Int(1 | -1), Arg::Int(at)] = c.b.graph.args(*index) else { return None };
    let [Arg::Node(of)] = c.b.graph.args(*places) else { return None };
    let is = |n: &NodeId, target: &str| c.b.graph.kind(*n) == NodeKind::Call && c.b.graph.target(*n) == target;
    (is(index, "aten.select.int") && is(places, "aten.nonzero.default")).then_some((*of, *at))
}

/// All columns of the places of a mask, side by side, are the mask itself: that is what an index by truth values means.
fn as_masks(c: &Call<'_, '_>, by: Vec<Arg>) -> Vec<Arg> {
    let mut out = Vec::new();
    let mut rest = by.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let whole = column(c, first).filter(|(_, at)| *at == 0).and_then(|(mask, _)| {
            let rank = c.b.tensor(mask).ok().filter(|t| t.dtype == Dtype::Bool)?.rank();
            let columns = rest.get(..rank)?;
            let follow = |(at, index): (usize, &Arg)| column(c, index) == Some((mask, signed(at)));
            columns.iter().enumerate().all(follow).then_some((mask, rank))
        });
        match whole {
            Some((mask, rank)) => {
                out.push(Arg::Node(mask));
                rest = rest.get(rank..).unwrap_or_default();
            }
            None => {
                out.push(first.clone());
                rest = behind;
            }
        }
    }
    out
}

/// The number that fills a tensor, if one does, and the tensor has these sizes.
fn filler(c: &Call<'_, '_>, filled: NodeId, like: NodeId) -> Option<Arg> {
    let (target, args) = (c.b.graph.target(filled), c.b.graph.args(filled));
    let same = c.b.tensor(filled).ok()?.sizes == c.b.tensor(like).ok()?.sizes;
    match (target, args) {
        ("aten.full.default", [_, value @ (Arg::Int(_) | Arg::Float(_) | Arg::Bool(_))]) if same => Some(value.clone()),
        _ => None,
    }
}

fn scatter_elements(c: &mut Call<'_, '_>) -> Made {
    let (data, at, reduction) = (c.t("data")?, c.int("axis")?, c.text("reduction")?);
    let index = as_index(c, "indices")?;
    let index = c.b.to(index, Dtype::I64)?;
    let mut args = vec![Arg::Node(data), Arg::Int(at), Arg::Node(index)];
    let updates = c.value("updates")?;
    c.only(updates.dtype(c.b)? == c.b.dtype(data)?, "updates of another type")?;
    // Of updates of other sizes PyTorch takes a corner; GE has none such.
    let of = |c: &mut Call<'_, '_>| -> Result<NodeId, Undefined> {
        let updates = c.t("updates")?;
        let alike = c.b.tensor(updates)?.sizes == c.b.tensor(index)?.sizes;
        c.only(alike, "updates of other sizes than their indices")?;
        Ok(updates)
    };
    match reduction.as_str() {
        "none" => {
            if let Some(number) = updates.numbers().filter(|n| n.dims.is_empty()).and_then(|n| Some((n, n.only()?))) {
                let value = number.0.argument(c.b, number.1);
                args.push(value);
                return one(c.b.call("aten.scatter.value", args)?);
            }
            let updates = of(c)?;
            if c.b.calls("aten.scatter.value")
                && let Some(number) = filler(c, updates, index)
            {
                args.push(number);
                return one(c.b.call("aten.scatter.value", args)?);
            }
            if !c.b.calls("aten.scatter.src")
                && let Some(row) = selected(c, (data, at), index, updates)?
            {
                return one(row);
            }
            args.push(Arg::Node(updates));
            one(c.b.call("aten.scatter.src", args)?)
        }
        "add" => {
            args.push(Arg::Node(of(c)?));
            one(c.b.call("aten.scatter_add.default", args)?)
        }
        "mul" => {
            args.extend([Arg::Node(of(c)?), Arg::Str("prod".into())]);
            one(c.b.call("aten.scatter_reduce.two", args)?)
        }
        other => undefined(format!("reduction {other}")),
    }
}

/// How often each number stands there: as far as the greatest one, and further where more are asked for.
fn bincount(c: &mut Call<'_, '_>) -> Made {
    let (array, size, weights) = (c.t("array")?, c.t("size")?, c.value("weights")?);
    let least = up_to_greatest(c, array, size);
    let Some(least) = least else { return undefined("a count that is not told by the greatest number") };
    let is_filled = c.b.tensor(array)?.sizes.iter().all(|d| d.fixed().is_some_and(|n| n > 0));
    c.only(is_filled && c.b.rank(array)? == 1, "a list that may be empty, which has no greatest number,")?;
    let is_one = |arg: &Arg| *arg == Arg::Int(1);
    let counts = match &weights {
        Value::Numbers(numbers) => numbers.items.iter().all(is_one),
        Value::Tensor(node) => called(c, *node, "aten.full.default").and_then(|a| a.get(1)).is_some_and(is_one),
        _ => false,
    };
    // Sums are of the weights' type, counts are integers.
    let weights = match weights.dtype(c.b)? {
        Dtype::I64 if counts => Arg::None,
        Dtype::F32 | Dtype::F64 => Arg::Node(weights.tensor(c.b)?),
        other => return undefined(format!("weights of {other}")),
    };
    let narrowed = called(c, array, "aten._to_copy.default").and_then(|args| args.first()).and_then(Arg::as_node);
    let array = match narrowed {
        Some(wide) if c.b.dtype(wide)? == Dtype::I64 => {
            c.b.assumed.insert("numbers that are counted are of 32 bits".into());
            wide
        }
        _ => array,
    };
    one(c.b.call("aten.bincount.default", vec![Arg::Node(array), weights, Arg::Int(least)])?)
}

fn called<'a>(c: &'a Call<'_, '_>, node: NodeId, target: &str) -> Option<&'a [Arg]> {
    (c.b.graph.kind(node) == NodeKind::Call && c.b.graph.target(node) == target).then(|| c.b.graph.args(node))
}

/// The least count that a count states, which is else one more than the greatest element.
fn up_to_greatest(c: &Call<'_, '_>, array: NodeId, size: NodeId) -> Option<i64> {
    let number = |arg: &Arg| match arg {
        Arg::Int(n) => Some(*n),
        Arg::Node(n) => match called(c, *n, "aten.full.default")? {
            [_, Arg::Int(n)] => Some(*n),
            _ => None,
        },
        _ => None,
    };
    let [Arg::Node(next), least] = called(c, size, "aten.maximum.default")? else { return None };
    let [Arg::Node(greatest), one] = called(c, *next, "aten.add.Tensor")? else { return None };
    let [Arg::Node(of), ..] = called(c, *greatest, "aten.amax.default")? else { return None };
    (*of == array && c.b.rank(*greatest).ok()? == 0 && number(one)? == 1).then(|| number(least))?
}

/// The tensors that were put side by side in a last dimension of their own.
fn stacked_last(c: &Call<'_, '_>, stacked: NodeId) -> Option<Vec<NodeId>> {
    let [Arg::List(parts), Arg::Int(at)] = c.b.graph.args(stacked) else { return None };
    let last = *at == -1 || *at == signed(c.b.rank(stacked).ok()?.saturating_sub(1));
    let parts = parts.iter().map(|p| if let Arg::Node(n) = p { Some(*n) } else { None }).collect::<Option<Vec<_>>>()?;
    (c.b.graph.target(stacked) == "aten.stack.default" && last).then_some(parts)
}

/// Places of which those from the end were counted from the front: without that, since PyTorch counts them so itself. GE has no place before the
/// first, so that nothing is said of others.
fn unwrapped(c: &Call<'_, '_>, index: NodeId, var: NodeId, axis: usize) -> Option<NodeId> {
    let call = |n: NodeId, target: &str| called(c, n, target);
    let [Arg::Node(negative), Arg::Node(wrapped), Arg::Node(plain)] = call(index, "aten.where.self")? else {
        return None;
    };
    let [Arg::Node(below), Arg::Int(0)] = call(*negative, "aten.lt.Scalar")? else { return None };
    let [Arg::Node(added), size] = call(*wrapped, "aten.add.Tensor")? else { return None };
    let own = *c.b.tensor(var).ok()?.sizes.get(axis)?;
    let size = match size {
        Arg::Int(size) => Dim::Fixed(*size),
        Arg::Node(size) => match c.b.graph.ty(*size) {
            ValueType::SymInt(size) => *size,
            _ => return None,
        },
        _ => return None,
    };
    (below == plain && added == plain && size == own).then_some(*plain)
}

/// Places as an operator takes them that counts none from the end: one below zero is as far out as one beyond.
fn from_the_front(c: &mut Call<'_, '_>, index: NodeId, of: NodeId, axis: usize) -> Result<NodeId, Undefined> {
    if !c.b.dtype(index)?.is_integer() || c.b.is_not_negative(index) {
        return Ok(index);
    }
    let (size, dtype) = (c.b.size(of, axis)?, c.b.dtype(index)?);
    let below = c.b.call("aten.lt.Scalar", vec![Arg::Node(index), Arg::Int(0)])?;
    let beyond =
        c.b.call_with("aten.full_like.default", vec![Arg::Node(index), size], vec![("dtype", Arg::Dtype(dtype))])?;
    c.b.call("aten.where.self", vec![Arg::Node(below), Arg::Node(beyond), Arg::Node(index)])
}

/// Each row of the indices names a place in the leading dimensions.
fn scatter_nd(c: &mut Call<'_, '_>, adds: bool) -> Made {
    let _ = c.flag("use_locking")?;
    let (var, indices, updates) = (c.t("var")?, c.t("indices")?, c.t("updates")?);
    let args = vec![Arg::Node(var), Arg::Node(indices), Arg::Node(updates)];
    if !adds && let Some(done) = as_spelled(c, "npu.npu_scatter_nd_update", var, &args)? {
        return one(done);
    }
    let rank = c.b.rank(indices)?;
    let depth = c.b.tensor(indices)?.sizes.last().and_then(|d| d.fixed()).unwrap_or(0);
    c.only((1..=8).contains(&depth) && rank >= 1, "places of that depth")?;
    let mut by = Vec::new();
    let stacked = stacked_last(c, indices);
    for column in 0..depth {
        let index = match stacked.as_ref().and_then(|s| s.get(usize::try_from(column).ok()?)) {
            Some(part) => *part,
            None => c.b.call("aten.select.int", vec![Arg::Node(indices), Arg::Int(-1), Arg::Int(column)])?,
        };
        let place = usize::try_from(column).unwrap_or(usize::MAX);
        by.push(Arg::Node(match unwrapped(c, index, var, place) {
            Some(plain) => plain,
            None => from_the_front(c, index, var, place)?,
        }));
    }
    // Values are spread over the places by PyTorch itself.
    let updates = match c.b.graph.args(updates) {
        [Arg::Node(own), _] if c.b.graph.target(updates) == "aten.expand.default" => *own,
        _ => updates,
    };
    let by = as_masks(c, by);
    let mut args = vec![Arg::Node(var), Arg::List(by.into()), Arg::Node(updates)];
    if adds {
        args.push(Arg::Bool(true));
    }
    let new = c.b.call("aten.index_put.default", args)?;
    one(write(c, var, new)?)
}

/// Each row of the indices names one place, of which all coordinates but one are those of the update itself: the largest or smallest sent
/// along a dimension.
fn extreme(c: &mut Call<'_, '_>, way: &str) -> Made {
    let (x, indices, updates) = (c.t("input")?, c.t("indices")?, c.t("updates")?);
    let (rank, sizes) = (c.b.rank(x)?, c.b.tensor(updates)?.sizes.clone());
    let Some(parts) = stacked_last(c, indices).filter(|p| p.len() == rank && sizes.len() == rank) else {
        return undefined("places that are not coordinates side by side");
    };
    let mut along = (0..rank).filter(|d| !parts.get(*d).is_some_and(|p| is_own_place(c, *p, *d, &sizes)));
    let (Some(axis), None) = (along.next(), along.next()) else {
        return undefined("places of which several coordinates are others");
    };
    let Some(index) = parts.get(axis).copied() else { return undefined("no coordinate") };
    let index = c.b.to(index, Dtype::I64)?;
    let args = [Arg::Node(x), Arg::Int(signed(axis)), Arg::Node(index), Arg::Node(updates), Arg::Str(way.into())];
    one(c.b.call("aten.scatter_reduce.two", args.to_vec())?)
}

/// Whether a coordinate is everywhere its place in a dimension: a line of whole numbers from 0, spread over the sizes.
fn is_own_place(c: &Call<'_, '_>, part: NodeId, axis: usize, sizes: &[Dim]) -> bool {
    let g = &c.b.graph;
    let (Some(size), Ok(spread)) = (sizes.get(axis).and_then(|d| d.fixed()), c.b.tensor(part)) else { return false };
    if spread.sizes.as_slice() != sizes || g.target(part) != "aten.expand.default" {
        return false;
    }
    let Some(Arg::Node(line)) = g.args(part).first() else { return false };
    // All other dimensions are of size 1: the elements are those of the line, in order.
    let lies = |t: &crate::graph::TensorType| {
        let from = sizes.len().checked_sub(t.sizes.len());
        from.is_some_and(|from| {
            let is = |(d, own): (usize, &Dim)| {
                let wanted = if d.saturating_add(from) == axis { size } else { 1 };
                *own == Dim::Fixed(wanted)
            };
            axis >= from && t.sizes.iter().enumerate().all(is)
        })
    };
    let Ok(ty) = c.b.tensor(*line) else { return false };
    if !lies(&ty) {
        return false;
    }
    let mut line = *line;
    while matches!(g.target(line), "aten.unsqueeze.default" | "aten.view.default" | "aten.reshape.default")
        && let Some(Arg::Node(from)) = g.args(line).first()
    {
        line = *from;
    }
    let filled = |n: &Arg| match n {
        Arg::Node(n) if g.target(*n) == "aten.full.default" => match g.args(*n) {
            [Arg::List(sizes), Arg::Int(value)] if sizes.is_empty() => Some(*value),
            _ => None,
        },
        _ => None,
    };
    match (g.target(line), g.args(line)) {
        ("aten.stack.default", [Arg::List(items)]) => items.iter().map(filled).eq((0..size).map(Some)),
        // One number, or none.
        ("aten.full.default", [_, Arg::Int(0)]) => size <= 1,
        _ => false,
    }
}

fn embedding_bag(c: &mut Call<'_, '_>) -> Made {
    let mode = match c.text("mode")?.as_str() {
        "sum" => 0,
        "mean" => 1,
        "max" => 2,
        other => return undefined(format!("mode {other}")),
    };
    let (indices, offsets) = (c.t("indices")?, c.t("offsets")?);
    let args = vec![
        Arg::Node(c.t("weight")?),
        Arg::Node(c.b.wide_places(indices)),
        Arg::Node(c.b.wide_places(offsets)),
        c.attribute_argument("scale_grad_by_freq")?,
        Arg::Int(mode),
        c.attribute_argument("sparse")?,
        c.maybe("per_sample_weights")?,
        c.attribute_argument("include_last_offset")?,
        Arg::Int(c.int("padding_idx")?),
    ];
    let target = c.b.spelled(&["aten._embedding_bag.default", "aten._embedding_bag_forward_only.default"]);
    let all = c.b.call(target, args)?;
    Ok(c.b.items(all, 4)?.into_iter().map(|n| Some(n.into())).collect())
}

fn scatter(c: &mut Call<'_, '_>) -> Made {
    c.only(c.text("reduce")? == "update", "a scatter that adds up")?;
    let (var, indices, updates) = (c.t("var")?, c.t("indices")?, c.t("updates")?);
    let args = vec![Arg::Node(var), Arg::Node(indices), Arg::Node(updates), Arg::Int(c.int("axis")?)];
    if let Some(done) = as_spelled(c, "npu.scatter_update", var, &args)? {
        return one(done);
    }
    let new = c.b.call("npu.scatter_update.default", args)?;
    one(write(c, var, new)?)
}

/// The operator of torch_npu that GE's is, where the graph that was lowered calls it: in place where an input is written.
fn as_spelled(c: &mut Call<'_, '_>, packet: &str, var: NodeId, args: &[Arg]) -> Result<Option<NodeId>, Undefined> {
    let (plain, in_place) = (format!("{packet}.default"), format!("{packet}_.default"));
    if c.b.written_inputs.contains(&var) && c.b.calls(&in_place) {
        return c.b.call(&in_place, args.to_vec()).map(Some);
    }
    if !c.b.calls(&plain) && !c.b.calls(&in_place) {
        return Ok(None);
    }
    let new = c.b.call(&plain, args.to_vec())?;
    write(c, var, new).map(Some)
}

fn index_add(c: &mut Call<'_, '_>) -> Made {
    let (var, indices, updates) = (c.t("var")?, c.t("indices")?, c.t("updates")?);
    let indices = c.b.wide_places(indices);
    let named = if c.is_fed("alpha") { vec![("alpha", c.one_number("alpha")?)] } else { Vec::new() };
    let args = vec![Arg::Node(var), Arg::Int(c.int("axis")?), Arg::Node(indices), Arg::Node(updates)];
    let new = c.b.call_with("aten.index_add.default", args, named)?;
    one(write(c, var, new)?)
}
