//! Elements taken and put by index.

use super::build::signed;
use super::shape::{as_index, axis};
use super::write::write;
use super::{Call, Made, Table, Undefined, Value, one, undefined};
use crate::graph::{Arg, Dtype, NodeId, NodeKind, View};

pub(super) const TABLE: Table = &[
    ("Gather", |c| gather(c, false)),
    ("GatherV2", |c| gather(c, true)),
    ("IndexByTensor", by_tensor),
    ("ScatterElements", scatter_elements),
    ("ScatterNdUpdate", |c| scatter_nd(c, false)),
    ("ScatterNdAdd", |c| scatter_nd(c, true)),
    ("EmbeddingBag", embedding_bag),
    ("Scatter", scatter),
    ("InplaceIndexAdd", index_add),
];

fn gather(c: &mut Call<'_, '_>, by_axis: bool) -> Made {
    c.only(c.int("batch_dims")? == 0, "a gather by batch")?;
    // What the two say is how it is computed, not what.
    let _ = (c.flag("is_preprocessed")?, c.flag("negative_index_support")?);
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
        return one(c.b.call("aten.select.int", vec![Arg::Node(x), Arg::Int(signed(at)), Arg::Int(*place)])?);
    }
    let indices = as_index(c, "indices")?;
    let (rank, own) = (c.b.rank(indices)?, c.b.rank(x)?);
    if rank == 1 && !(at == 0 && own == 2) {
        let args = vec![Arg::Node(x), Arg::Int(signed(at)), Arg::Node(indices)];
        return one(c.b.call("aten.index_select.default", args)?);
    }
    if at == 0 && own == 2 {
        return one(c.b.call("aten.embedding.default", vec![Arg::Node(x), Arg::Node(indices)])?);
    }
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
    let target = c.b.spelled(&["aten.index.Tensor", "aten._unsafe_index.Tensor"]);
    one(c.b.call(target, vec![Arg::Node(x), Arg::List(by.into())])?)
}

fn scatter_elements(c: &mut Call<'_, '_>) -> Made {
    let (data, at, reduction) = (c.t("data")?, c.int("axis")?, c.text("reduction")?);
    let index = as_index(c, "indices")?;
    let index = c.b.to(index, Dtype::I64)?;
    let mut args = vec![Arg::Node(data), Arg::Int(at), Arg::Node(index)];
    let updates = c.value("updates")?;
    c.only(updates.dtype(c.b)? == c.b.dtype(data)?, "updates of another type")?;
    let of = |c: &mut Call<'_, '_>| -> Result<NodeId, Undefined> { c.t("updates") };
    match reduction.as_str() {
        "none" => {
            if let Some(number) = updates.numbers().filter(|n| n.dims.is_empty()).and_then(|n| Some((n, n.only()?))) {
                let value = number.0.argument(c.b, number.1);
                args.push(value);
                return one(c.b.call("aten.scatter.value", args)?);
            }
            args.push(Arg::Node(of(c)?));
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
    for column in 0..depth {
        by.push(Arg::Node(c.b.call("aten.select.int", vec![Arg::Node(indices), Arg::Int(-1), Arg::Int(column)])?));
    }
    let args = vec![Arg::Node(var), Arg::List(by.into()), Arg::Node(updates), Arg::Bool(adds)];
    let new = c.b.call("aten.index_put.default", args)?;
    one(write(c, var, new)?)
}

fn embedding_bag(c: &mut Call<'_, '_>) -> Made {
    let mode = match c.text("mode")?.as_str() {
        "sum" => 0,
        "mean" => 1,
        "max" => 2,
        other => return undefined(format!("mode {other}")),
    };
    let args = vec![
        Arg::Node(c.t("weight")?),
        Arg::Node(c.t("indices")?),
        Arg::Node(c.t("offsets")?),
        c.attribute_argument("scale_grad_by_freq")?,
        Arg::Int(mode),
        c.attribute_argument("sparse")?,
        c.maybe("per_sample_weights")?,
        c.attribute_argument("include_last_offset")?,
        Arg::Int(c.int("padding_idx")?),
    ];
    let all = c.b.call("aten._embedding_bag.default", args)?;
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
    if c.b.graph.kind(var) == NodeKind::Placeholder && c.b.calls(&in_place) {
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
    let named = if c.is_fed("alpha") { vec![("alpha", c.one_number("alpha")?)] } else { Vec::new() };
    let args = vec![Arg::Node(var), Arg::Int(c.int("axis")?), Arg::Node(indices), Arg::Node(updates)];
    let new = c.b.call_with("aten.index_add.default", args, named)?;
    one(write(c, var, new)?)
}
