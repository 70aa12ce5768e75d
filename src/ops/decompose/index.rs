//! Reading and writing by index, masks, embeddings.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
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
    (Exact, masked_fill, &["aten.masked_fill.Scalar", "aten.masked_fill.Tensor"]),
    (Exact, embedding, &["aten.embedding.default"]),
    (Exact, one_hot, &["aten.one_hot.default"]),
    (Exact, embedding_bag, &["aten.embedding_bag.default", "aten.embedding_bag.padding_idx"]),
    (Exact, index_add, &["aten.index_add.default"]),
];

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
    let with = |t: T<'_>| {
        let mut sizes = common.clone();
        if let Some(s) = sizes.get_mut(own) {
            *s = t.size(axis);
        }
        t.expand(sizes).id()
    };
    done![b.op("gather", args![with(x), axis, with(at)])]
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

/// In order of the indices, as `index_put` with accumulation is.
fn index_add(b: &Builder<'_>) -> Made {
    let (x, at, source) = (b.t(0)?, b.t(2)?, b.t(3)?);
    let axis = b.axis(1_usize, x.rank())?;
    let alpha = b.float(4)?;
    b.only(x.rank() > 0 && at.rank() == 1 && alpha == 1.0 && x.dtype() != Dtype::Bool, "scalars or alpha")?;
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
