//! Reading and writing by index, masks, embeddings.

use super::prelude::*;
use crate::sym::Dim;

pub(super) const TABLE: &[Line] = &[
    (Real, embedding_renorm, &["aten.embedding_renorm.default"]),
    (Exact, take_along_dim, &["aten.take_along_dim.default"]),
    (
        Exact,
        |b| done![b.t(0)?.reshape(vec![b.t(0)?.numel()]).call("index.Tensor", args![vec![b.arg(1)]])],
        &["aten.take.default"],
    ),
    (Exact, |b| done![b.op("index.Tensor", args![b.t(0)?, b.arg(1)])], &["aten._unsafe_index.Tensor"]),
    (Exact, unsafe_index_put, &["aten._unsafe_index_put.default"]),
    (Exact, index_copy, &["aten.index_copy.default"]),
    (Exact, index_fill, &["aten.index_fill.int_Scalar"]),
    (Exact, index_fill_by_tensor, &["aten.index_fill.int_Tensor"]),
    (Exact, index_reduce, &["aten.index_reduce.default"]),
    (Exact, scatter_by_name, &["aten.scatter.reduce"]),
    (Exact, scatter_number_by_name, &["aten.scatter.value_reduce"]),
    (Real, scatter_reduce, &["aten.scatter_reduce.two"]),
    (Exact, put, &["aten.put.default"]),
    (Exact, put_by_mask, &["aten.index_put.default"]),
    (Exact, diagonal_scatter, &["aten.diagonal_scatter.default"]),
    (Exact, unsafe_masked_index, &["aten._unsafe_masked_index.default"]),
    (Exact, unsafe_masked_put, &["aten._unsafe_masked_index_put_accumulate.default"]),
    (Exact, masked_scatter, &["aten.masked_scatter.default"]),
    (Exact, masked_fill, &["aten.masked_fill.Scalar", "aten.masked_fill.Tensor"]),
    (Exact, embedding, &["aten.embedding.default"]),
    (Exact, one_hot, &["aten.one_hot.default"]),
    (Exact, embedding_bag, &["aten.embedding_bag.default", "aten.embedding_bag.padding_idx"]),
    (Exact, index_add, &["aten.index_add.default"]),
    (Exact, repeated_places, &["aten.repeat_interleave.Tensor"]),
];

/// Which of several stands at a place, if each is repeated as often as is said: the first whose last copy lies beyond it.
fn repeated_places(b: &Builder<'_>) -> Made {
    let repeats = b.t(0)?;
    b.only(!b.is_none(1), "as many as the contents say")?;
    b.only(matches!(repeats.dtype(), Dtype::I64 | Dtype::I32) && repeats.rank() == 1, "other than a list of integers")?;
    let ends = repeats.call("cumsum", args![0]);
    let device = repeats.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let places = b.op("arange.default", args![b.arg(1); dtype = Dtype::I64, device = device]);
    let found = b.op("searchsorted.Tensor", args![ends, places; right = true]);
    done![found.to(repeats.dtype())]
}

fn take_along_dim(b: &Builder<'_>) -> Made {
    let (x, at) = (b.t(0)?, b.t(1)?);
    if b.is_none(2) {
        return done![x.reshape(vec![x.numel()]).call("gather", args![0, at.reshape(vec![at.numel()])])];
    }
    let axis = b.axis(2_usize, x.rank())?;
    b.only(x.rank() == at.rank(), "indices of another rank")?;
    let own = usize::try_from(axis).unwrap_or(0);
    let without = |t: T<'_>| {
        let mut sizes = t.shape();
        if let Some(s) = sizes.get_mut(own) {
            *s = Arg::Int(1);
        }
        sizes
    };
    let common = super::matmul::broadcast(b, &without(x), &without(at))?;
    // Along a dimension indices are taken modulo its size.
    let around = repeated_beside(at, axis, common.clone()).call("remainder", args![x.size(axis)]);
    done![b.op("gather", args![repeated_beside(x, axis, common), axis, around])]
}

/// Repeated to such sizes along all dimensions but one.
fn repeated_beside<'b>(t: T<'b>, axis: i64, mut sizes: Vec<Arg>) -> T<'b> {
    if let Some(own) = usize::try_from(axis).ok().and_then(|k| sizes.get_mut(k)) {
        *own = t.size(axis);
    }
    t.expand(sizes)
}

fn unsafe_index_put(b: &Builder<'_>) -> Made {
    done![b.op("index_put.default", args![b.t(0)?, b.arg(1), b.t(2)?, b.arg(3)])]
}

/// `None` for each dimension before the indexed one.
fn along(axis: i64, at: T<'_>) -> Arg {
    let before = usize::try_from(axis).unwrap_or(0);
    Arg::List(std::iter::repeat_n(Arg::None, before).chain([at.into()]).collect())
}

fn index_copy(b: &Builder<'_>) -> Made {
    let (x, at, source) = (b.t(0)?, b.t(2)?, b.t(3)?);
    let axis = b.axis(1_usize, x.rank())?;
    b.only(x.rank() > 0 && at.rank() == 1, "scalars")?;
    done![b.op("index_put.default", args![x, along(axis, at), source])]
}

fn index_fill(b: &Builder<'_>) -> Made {
    let (x, at) = (b.t(0)?, b.t(2)?);
    let axis = b.axis(1_usize, x.rank())?;
    b.only(x.rank() > 0 && at.rank() == 1, "scalars")?;
    let value = b.op("scalar_tensor", args![b.arg(3); dtype = x.dtype()]);
    done![b.op("index_put.default", args![x, along(axis, at), value])]
}

/// In order of the indices, as `index_put` with accumulation is, which rounds narrow floats elsewhere.
fn index_add(b: &Builder<'_>) -> Made {
    let (x, at, source) = (b.t(0)?, b.t(2)?, b.t(3)?);
    let axis = b.axis(1_usize, x.rank())?;
    let alpha = b.float(4)?;
    b.only(x.rank() > 0 && at.rank() == 1 && alpha == 1.0, "scalars or alpha")?;
    b.only(!matches!(x.dtype(), Dtype::Bool | Dtype::F16 | Dtype::Bf16), "this dtype")?;
    done![b.op("index_put.default", args![x, along(axis, at), source, true])]
}

fn masked_fill(b: &Builder<'_>) -> Made {
    let (x, mask) = (b.t(0)?, b.t(1)?);
    let value = match b.arg(2) {
        Arg::Node(_) => b.t(2)?.to(x.dtype()),
        number => b.op("scalar_tensor", args![number; dtype = x.dtype()]),
    };
    done![b.op("where.self", args![mask, value, x])]
}

/// A row of the table each index: padding and scaling concern gradients only.
fn embedding(b: &Builder<'_>) -> Made {
    let (table, at) = (b.t(0)?, b.t(1)?);
    if at.rank() == 1 {
        return done![table.call("index_select", args![0, at])];
    }
    let mut sizes = at.shape();
    sizes.push(table.size(1));
    done![table.call("index_select", args![0, at.reshape(vec![at.numel()])]).view(sizes)]
}

fn one_hot(b: &Builder<'_>) -> Made {
    let (x, classes) = (b.t(0)?, b.int(1)?);
    b.only(classes > 0, "a number of classes that the values tell")?;
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let places = b.op("arange.default", args![classes; device = device]);
    done![x.unsqueeze(-1).call("eq.Tensor", args![places]).to(Dtype::I64)]
}

fn embedding_bag(b: &Builder<'_>) -> Made {
    let mut given: Vec<Arg> = (0..b.operator().schema.params.len()).map(|i| b.arg(i)).collect();
    for (i, t) in [b.t(1)?, b.t(2)?].into_iter().enumerate() {
        if let Some(slot) = given.get_mut(i.saturating_add(1)) {
            *slot = t.contiguous().into();
        }
    }
    if b.operator().schema.param_index("padding_idx").is_some() {
        // Counted from the front: below 0 there is no padding for `_embedding_bag`.
        let padding = b.opt_int("padding_idx")?;
        let rows = b.t(0)?.fixed(0)?;
        given.pop();
        given.push(padding.map_or(-1, |p| if p < 0 { p.saturating_add(rows) } else { p }).into());
    }
    let [y, a, c, d] = b.many("_embedding_bag", super::builder::Actual::new(given, Vec::new()))?;
    done![y, a, c, d]
}

fn index_fill_by_tensor(b: &Builder<'_>) -> Made {
    let (x, at) = (b.t(0)?, b.t(2)?);
    let axis = b.axis(1_usize, x.rank())?;
    b.only(x.rank() > 0 && at.rank() == 1, "scalars")?;
    done![b.op("index_put.default", args![x, along(axis, at), b.t(3)?.to(x.dtype())])]
}

/// As a scatter whose index is the same for all that lies in a row.
fn index_reduce(b: &Builder<'_>) -> Made {
    let (x, at, source) = (b.t(0)?, b.t(2)?, b.t(3)?);
    let axis = b.axis(1_usize, x.rank())?;
    b.only(x.rank() > 0 && at.rank() == 1, "scalars")?;
    let mut lying = vec![Arg::Int(1); x.rank()];
    if let Some(slot) = usize::try_from(axis).ok().and_then(|a| lying.get_mut(a)) {
        *slot = at.size(0);
    }
    let index = at.to(Dtype::I64).reshape(lying).expand(source.shape());
    let given = args![x, axis, index, source, b.arg("reduce"); include_self = b.flag("include_self")?];
    done![b.op("scatter_reduce.two", given)]
}

fn named<'b>(b: &'b Builder<'_>, x: T<'b>, axis: i64, index: T<'b>, source: T<'b>) -> Made {
    match b.text("reduce").as_str() {
        "add" => done![b.op("scatter_add", args![x, axis, index, source])],
        "multiply" => done![b.op("scatter_reduce.two", args![x, axis, index, source, "prod"; include_self = true])],
        _ => Err(b.unsupported("this reduction")),
    }
}

fn scatter_by_name(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    named(b, x, b.axis(1_usize, x.rank())?, b.t(2)?, b.t(3)?)
}

fn scatter_number_by_name(b: &Builder<'_>) -> Made {
    let (x, index) = (b.t(0)?, b.t(2)?);
    let source = b.full(x, index.shape(), b.arg(3), x.dtype());
    named(b, x, b.axis(1_usize, x.rank())?, index, source)
}

/// A mean by a sum and how many there were; what does not count itself begins with nothing.
fn scatter_reduce(b: &Builder<'_>) -> Made {
    let (x, index, source) = (b.t(0)?, b.t(2)?, b.t(3)?);
    let axis = b.axis(1_usize, x.rank())?;
    b.only(x.rank() > 0 && x.dtype().is_float() && b.text("reduce") == "mean", "another reduction, or whole numbers")?;
    let counts_itself = b.flag("include_self")?;
    let sum = |into: T<'_>, of: T<'_>| {
        let begun = if counts_itself { into } else { into.call("scatter.value", args![axis, index, 0.0]) };
        begun.call("scatter_add", args![axis, index, of]).id()
    };
    let each = source.call("ones_like", args![]);
    // What nothing is added to is one element, as it was.
    let count = match counts_itself {
        true => b.value(sum(x.call("ones_like", args![]), each)),
        false => {
            x.call("zeros_like", args![]).call("scatter_add", args![axis, index, each]).call("clamp_min", args![1])
        }
    };
    done![b.value(sum(x, source)) / count]
}

/// In the order in which the elements lie.
fn put(b: &Builder<'_>) -> Made {
    let (x, at, source) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let flat = |t: T<'_>| t.reshape(vec![t.numel()]).id();
    let at = vec![Arg::Node(flat(at))];
    let made = b.op("index_put.default", args![flat(x), at, flat(source), b.flag(3)?]);
    done![made.reshape(x.shape())]
}

/// Values where one mask holds: one number or row at each place, or a row a place, in order. Dimensions before the mask's are taken whole.
fn put_by_mask(b: &Builder<'_>) -> Made {
    let (x, values) = (b.t(0)?, b.t(2)?);
    let indices = b.opt_ts(1)?.unwrap_or_default();
    let before = indices.iter().take_while(|index| index.is_none()).count();
    let mut given = indices.iter().skip(before).copied();
    let (Some(Some(mask)), true) = (given.next(), given.all(|index| index.is_none())) else {
        return Err(b.unsupported("another index than one mask"));
    };
    b.only(mask.dtype() == Dtype::Bool && !b.flag(3)?, "other places than those of a mask, or sums")?;
    b.only(values.dtype() == x.dtype(), "values of another type")?;
    let end = before.saturating_add(mask.rank());
    b.only(mask.rank() > 0 && end <= x.rank(), "a mask of other dimensions")?;
    let row: Vec<Dim> = x.sizes().iter().skip(end).copied().collect();
    let spread = (end..x.rank()).fold(mask, |m, _| m.unsqueeze(-1));
    if values.rank() == 0 {
        return done![b.op("masked_fill.Tensor", args![x, spread, values])];
    }
    if values.rank() <= row.len() {
        return done![b.op("where.self", args![spread, values, x])];
    }
    let rows = values.sizes();
    // One row is repeated, and a size that is a symbol may be one.
    let several = rows.iter().next().is_some_and(|d| d.fixed().is_some_and(|n| n != 1));
    let is_each = before == 0 && several && rows.iter().skip(1).eq(row.iter());
    b.only(is_each, "rows that are repeated")?;
    done![x.call("masked_scatter", args![spread.expand(x.shape()), values])]
}

/// At each place that the mask names the next value: as many were taken as places were named before it.
fn masked_scatter(b: &Builder<'_>) -> Made {
    let (x, mask, source) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let sizes = b.own_tensor()?.sizes.clone();
    let count = sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?)).unwrap_or(0);
    b.only(mask.dtype() == Dtype::Bool && source.dtype() == x.dtype(), "other dtypes")?;
    b.only(count > 0 && source.count()? >= count, "values that may be fewer than places")?;
    let shape: Vec<Arg> = sizes.iter().map(|d| Arg::Int(d.fixed().unwrap_or(0))).collect();
    let mask = mask.expand(shape.clone());
    let so_far = mask.reshape(vec![Arg::Int(count)]).to(Dtype::I64).call("cumsum", args![0]);
    let at = (so_far - 1).call("clamp_min", args![0]);
    let values = source.reshape(vec![source.numel()]).call("gather", args![0, at]).reshape(shape);
    done![b.choose(mask, values, x)]
}

/// The two dimensions in front, and back.
fn diagonal_scatter(b: &Builder<'_>) -> Made {
    let (x, source, offset) = (b.t(0)?, b.t(1)?, b.int("offset")?);
    let (row, column) = (b.axis("dim1", x.rank())?, b.axis("dim2", x.rank())?);
    let others: Vec<i64> = range(x.rank()).into_iter().filter(|d| *d != row && *d != column).collect();
    let front = [vec![row, column], others].concat();
    let back: Vec<i64> = range(x.rank()).iter().map(|d| front.iter().position(|f| f == d).map_or(0, signed)).collect();
    let last = source.dims().saturating_sub(1);
    let count = source.fixed(last)?;
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let places = |from: i64| {
        let end = from.saturating_add(count);
        b.op("arange.start", args![from, end; dtype = Dtype::I64, device = device.clone()]).id()
    };
    let (down, right) = (offset.min(0).saturating_neg(), offset.max(0));
    let at = vec![Arg::Node(places(down)), Arg::Node(places(right))];
    let first: Vec<i64> = std::iter::once(last).chain(0..last).collect();
    let made = b.op("index_put.default", args![x.permute(&front), at, source.permute(&first)]);
    done![made.permute(&back).contiguous()]
}

/// Places that the mask leaves out may lie anywhere: they are brought inside.
fn inside<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<Vec<Arg>, CallFault> {
    let indices = b.opt_ts("indices")?.ok_or_else(|| b.unsupported("no indices"))?;
    let mut all = Vec::new();
    for (d, index) in indices.into_iter().enumerate() {
        let Some(index) = index else {
            all.push(Arg::None);
            continue;
        };
        let size = x.fixed(signed(d))?;
        b.only(size > 0 && index.dtype().is_integer(), "this index")?;
        all.push(index.clamp(size.saturating_neg(), size.saturating_sub(1)).into());
    }
    Ok(all)
}

fn unsafe_masked_index(b: &Builder<'_>) -> Made {
    let (x, mask) = (b.t(0)?, b.t(1)?);
    let found = b.op("index.Tensor", args![x, inside(b, x)?]);
    done![found.call("masked_fill.Scalar", args![mask.op("logical_not"), b.arg("fill")])]
}

fn unsafe_masked_put(b: &Builder<'_>) -> Made {
    let (x, mask, values) = (b.t(0)?, b.t(1)?, b.t("values")?);
    let values = values.call("masked_fill.Scalar", args![mask.op("logical_not"), 0]);
    done![b.op("index_put.default", args![x, inside(b, x)?, values, true])]
}

/// Rows that are named and longer than that are shortened to it.
fn embedding_renorm(b: &Builder<'_>) -> Made {
    let (table, indices, most, p) = (b.t(0)?, b.t(1)?, b.float(2)?, b.float(3)?);
    b.only(table.rank() == 2 && table.dtype().is_float(), "other than a table of floats")?;
    let wide = table.wide();
    let length = b.op("linalg_vector_norm", args![wide, p, ints(&[1]), true]);
    let shorter = wide * ((length + 1e-7).recip() * most);
    let none = b.full(table, vec![table.size(0)], false, Dtype::Bool);
    let named = none.call("index_fill.int_Scalar", args![0, indices.reshape(vec![Arg::Int(-1)]), true]).unsqueeze(1);
    let long = named.call("logical_and", args![length.call("gt", args![most])]);
    done![b.op("where.self", args![long, shorter.to(table.dtype()), table])]
}
