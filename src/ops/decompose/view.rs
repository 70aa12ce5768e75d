//! Views by `view`, `permute`, `expand`, `slice`, and copies of views.

use super::prelude::*;
use crate::graph::{MemoryFormat, ValueType};
use crate::ops::typing::layout;

pub(super) const TABLE: &[Line] = &[
    (Exact, ravel, &["aten.ravel.default"]),
    (Exact, sum_to_size, &["aten.sum_to_size.default"]),
    (Exact, fill_diagonal, &["aten.fill_diagonal_.default"]),
    (Exact, copy_strided, &["prims.copy_strided.default"]),
    (Exact, reshape, &["aten.reshape.default"]),
    (Exact, |b| done![b.t(0)?.view(b.sizes(1))], &["aten._unsafe_view.default"]),
    (Exact, |b| done![b.t(0)?.view(b.t(1)?.shape())], &["aten.view_as.default"]),
    (Exact, |b| done![b.t(0)?.reshape(b.t(1)?.shape())], &["aten.reshape_as.default"]),
    (Exact, |b| done![b.t(0)?.expand(b.t(1)?.shape())], &["aten.expand_as.default"]),
    (Exact, |b| done![b.t(0)?.expand(b.sizes(1))], &["aten.broadcast_to.default"]),
    (Exact, turned, &["aten.numpy_T.default", "aten.t.default"]),
    (Exact, |b| done![b.t(0)?.transpose(-2, -1)], &["aten.mT.default"]),
    (Exact, adjoint, &["aten.adjoint.default"]),
    (Exact, transpose, &["aten.transpose.int", "aten.swapaxes.default"]),
    (Exact, narrow, &["aten.narrow.default"]),
    (Exact, flatten, &["aten.flatten.using_ints"]),
    (Exact, unflatten, &["aten.unflatten.int"]),
    (Exact, movedim, &["aten.movedim.int", "aten.movedim.intlist"]),
    (Exact, |b| at_least(b, 1), &["aten.atleast_1d.default"]),
    (Exact, |b| at_least(b, 2), &["aten.atleast_2d.default"]),
    (Exact, |b| done![b.t(0)?.op("alias")], &["aten.detach.default", "aten.lift_fresh.default"]),
    (Exact, |b| done![b.t(0)?], &["aten.detach_.default"]),
    (Exact, squeeze_all, &["aten.squeeze.default"]),
    (Exact, |b| done![b.t(0)?.call("squeeze.dims", args![ints(&[b.int(1)?])])], &["aten.squeeze.dim"]),
    (
        Exact,
        copied,
        &[
            "aten.view_copy.default",
            "aten.view_copy.dtype",
            "aten.expand_copy.default",
            "aten.permute_copy.default",
            "aten.transpose_copy.int",
            "aten.t_copy.default",
            "aten.squeeze_copy.default",
            "aten.squeeze_copy.dim",
            "aten.squeeze_copy.dims",
            "aten.unsqueeze_copy.default",
            "aten.select_copy.int",
            "aten.slice_copy.Tensor",
            "aten.as_strided_copy.default",
            "aten.diagonal_copy.default",
            "aten.alias_copy.default",
            "aten.detach_copy.default",
            "aten.unfold_copy.default",
            "aten.narrow_copy.default",
        ],
    ),
    (Exact, |b| done![b.t(0)?], &["aten.positive.default"]),
    (Exact, real, &["aten.conj.default", "aten.resolve_conj.default", "aten.resolve_neg.default"]),
    (Exact, contiguous, &["aten.contiguous.default"]),
];

/// A view where there can be one, else a copy.
fn reshape(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let sizes = b.own_tensor()?.sizes.clone();
    match x.viewable(&sizes)? {
        Some(true) => done![x.view(b.sizes(1))],
        Some(false) => done![x.copy().call("_unsafe_view", args![b.sizes(1)])],
        None => Err(b.unsupported("strides of which it is not known whether a view is possible")),
    }
}

fn turned(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    done![x.permute(&range(x.rank()).into_iter().rev().collect::<Vec<_>>())]
}

fn adjoint(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    done![x.transpose(-2, -1)]
}

fn transpose(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (p, q) = (b.axis(1, x.rank())?, b.axis(2, x.rank())?);
    if b.operator().schema.name.starts_with("swap") {
        return done![x.transpose(b.int(1)?, b.int(2)?)];
    }
    let exchanged = |d: i64| {
        if d == p {
            q
        } else if d == q {
            p
        } else {
            d
        }
    };
    done![x.permute(&range(x.rank()).into_iter().map(exchanged).collect::<Vec<_>>())]
}

fn narrow(b: &Builder<'_>) -> Made {
    let (x, start, length) = (b.t(0)?, b.int(2)?, b.int(3)?);
    let axis = b.axis(1, x.rank())?;
    let start = if start < 0 { start.saturating_add(x.fixed(axis)?) } else { start };
    done![x.slice(axis, start, start.saturating_add(length))]
}

fn flatten(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (first, last) = (b.axis(1, x.rank())?, b.axis(2, x.rank())?);
    if x.rank() == 0 {
        return done![x.reshape(vec![Arg::Int(1)])];
    }
    if first == last {
        return done![x];
    }
    let shape = x.shape();
    let (first, after) = (usize::try_from(first).unwrap_or(0), usize::try_from(last).unwrap_or(0).saturating_add(1));
    let middle = b.size_product(shape.get(first..after).unwrap_or(&[]));
    let sizes = [shape.get(..first).unwrap_or(&[]), &[middle], shape.get(after..).unwrap_or(&[])].concat();
    done![x.reshape(sizes)]
}

fn unflatten(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let axis = usize::try_from(b.axis(1, x.rank())?).unwrap_or(0);
    let own = b.own_tensor()?;
    let inner: Vec<Arg> = b.sizes(2);
    let inner = inner.into_iter().enumerate().map(|(i, s)| match own.sizes.get(axis.saturating_add(i)) {
        Some(d) if d.fixed().is_some() => Arg::from(d.fixed()),
        _ => s,
    });
    let shape = x.shape();
    let mut sizes = shape.get(..axis).unwrap_or(&[]).to_vec();
    sizes.extend(inner);
    sizes.extend_from_slice(shape.get(axis.saturating_add(1)..).unwrap_or(&[]));
    done![x.view(sizes)]
}

fn movedim(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (from, to) = (b.axes(1, x.rank())?, b.axes(2, x.rank())?);
    b.only(from.len() == to.len() && !b.ints(1)?.is_empty(), "lists of unequal lengths")?;
    let mut rest = range(x.rank()).into_iter().filter(|d| !from.contains(d)).collect::<Vec<_>>().into_iter();
    let order = range(x.rank()).into_iter().map(|d| {
        let given = to.iter().position(|t| *t == d).and_then(|i| from.get(i)).copied();
        given.or_else(|| rest.next()).unwrap_or(0)
    });
    done![x.permute(&order.collect::<Vec<_>>())]
}

fn at_least(b: &Builder<'_>, rank: usize) -> Made {
    let x = b.t(0)?;
    let one = Arg::Int(1);
    match (x.rank(), rank) {
        (0, 1) => done![x.reshape(vec![one])],
        (0, 2) => done![x.reshape(vec![one.clone(), one])],
        (1, 2) => done![x.unsqueeze(0)],
        _ => done![x],
    }
}

fn squeeze_all(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let dims: Vec<i64> = range(x.rank()).into_iter().filter(|d| x.dim(*d).fixed() == Some(1)).collect();
    b.only(x.sizes().iter().all(|s| s.fixed().is_some()), "symbolic sizes")?;
    if dims.is_empty() {
        return done![x.op("alias")];
    }
    done![x.call("squeeze.dims", args![ints(&dims)])]
}

/// The view of that name, copied.
fn copied(b: &Builder<'_>) -> Made {
    let schema = &b.operator().schema;
    let name = schema.name.trim_end_matches("_copy");
    let overload = if schema.overload.is_empty() { "default" } else { &schema.overload };
    let target = format!("aten.{name}.{overload}");
    let plain = b.registry().get(&target).ok_or_else(|| b.unsupported("a view that nobody knows"))?;
    let view = b.op(&target, super::derived::passed_on(b, plain));
    match b.own_type()? {
        ValueType::Tensor(_) => done![view.copy()],
        _ => Err(b.unsupported("several results")),
    }
}

/// Of real tensors: themselves.
pub(super) fn real(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    done![x]
}

/// Itself where it lies so already.
fn contiguous(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let format = b.ask(|c| Ok(c.memory_format(1)))?.unwrap_or(MemoryFormat::Contiguous);
    let ty = x.ty().ok_or_else(|| b.unsupported("this input"))?;
    match b.decide(|s| layout::is_in_format(s, &ty, format)) {
        Some(true) => done![x],
        Some(false) => done![x.call("clone", args![; memory_format = Arg::MemoryFormat(format)])],
        None => Err(b.unsupported("strides that are not known")),
    }
}

fn ravel(b: &Builder<'_>) -> Made {
    done![b.t(0)?.op("contiguous").view(vec![Arg::Int(-1)])]
}

/// Sums over what a tensor of those sizes would be repeated along.
fn sum_to_size(b: &Builder<'_>) -> Made {
    let (x, wanted) = (b.t(0)?, b.ints_of(1_usize, b.sizes(1).len())?);
    let lead = x.rank().checked_sub(wanted.len()).ok_or_else(|| b.unsupported("more dimensions"))?;
    let mut dims = range(lead);
    for (d, size) in wanted.iter().enumerate() {
        let axis = signed(d.saturating_add(lead));
        match (x.fixed(axis)?, *size) {
            (own, wanted) if own == wanted => {}
            (_, 1) => dims.push(axis),
            _ => return Err(b.unsupported("sizes that it is not repeated to")),
        }
    }
    if dims.is_empty() {
        return done![x];
    }
    if wanted.is_empty() {
        return done![x.op("sum.default")];
    }
    let made = x.sum(&dims, true);
    done![if lead == 0 { made } else { made.view(wanted.into_iter().map(Arg::Int).collect::<Vec<_>>()) }]
}

fn fill_diagonal(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() == 2, "other than a matrix")?;
    b.only(!b.flag("wrap")? || x.fixed(0)? <= x.fixed(1)?, "a diagonal that begins again")?;
    x.op("diagonal").call("fill_", args![b.arg(1)]);
    done![x]
}

/// The same elements in memory of those strides.
fn copy_strided(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let memory = b.op("empty_strided", args![x.shape(), b.sizes(1); dtype = x.dtype(), device = device]);
    done![b.op("copy_", args![memory, x])]
}
