//! `gather` and `scatter`: an index for every element, along one dimension.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::index::cells::{Range, apart, emit_taken, overwrite, target, without};
use crate::exec::kernels::index::reduction::{Reduction, Start, reduce_wide};
use crate::exec::kernels::movement::rows_of;
use crate::exec::numbers::checked::{filled, scalar_for};
use crate::exec::tensor::shape::{Runs, Shape};
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (gather, &["aten.gather.default"]),
    (take_along_dim, &["aten.take_along_dim.default"]),
    (|cx| scatter_tensor(cx, None), &["aten.scatter.src", "aten.scatter_.src"]),
    (|cx| scatter_number(cx, None), &["aten.scatter.value", "aten.scatter_.value"]),
    (|cx| scatter_tensor(cx, Some(Reduction::Sum)), &["aten.scatter_add.default", "aten.scatter_add_.default"]),
    (
        |cx| scatter_tensor(cx, Some(Reduction::named(cx, 4)?)),
        &["aten.scatter.reduce", "aten.scatter_.reduce", "aten.scatter_reduce.two", "aten.scatter_reduce_.two"],
    ),
    (
        |cx| scatter_number(cx, Some(Reduction::named(cx, 4)?)),
        &["aten.scatter.value_reduce", "aten.scatter_.value_reduce"],
    ),
];

/// Returns the place in `meta` of every element of the index, which argument `i` is.
pub fn places(cx: &Cx<'_, '_, '_>, i: usize, meta: &Meta, d: usize, index: &Tensor) -> Result<Vec<usize>, CallFault> {
    let (size, stride) = (meta.size(d), meta.stride(d));
    let mut strides: Shape = without(&meta.strides, d);
    strides.resize(index.rank(), 0);
    let index_values = index.lanes::<i64>()?;
    let mut out = Vec::with_capacity(index_values.len());
    let mut rest = index_values.iter();
    for run in Runs::new(index.sizes(), &strides, 0, index.numel()) {
        let mut at = meta.offset.wrapping_add(run.offset);
        for v in rest.by_ref().take(run.len) {
            let place = Range::Strict.place(cx, i, *v, size)?;
            out.push(at.wrapping_add(place.wrapping_mul(stride)));
            at = at.wrapping_add(run.step);
        }
    }
    Ok(out)
}

/// Checks that an index has the tensor's number of dimensions, and fits where it does not choose.
fn check_sizes(cx: &Cx<'_, '_, '_>, meta: &Meta, d: usize, index: &Tensor, what: usize) -> Result<(), CallFault> {
    if index.rank().max(1) != meta.rank().max(1) {
        return Err(cx.bad(what, format!("{} dimensions", meta.rank()), index.rank().to_string()));
    }
    let large = (0..meta.rank()).filter(|k| *k != d).find(|k| index.meta.size(*k) > meta.size(*k));
    match large {
        Some(k) => Err(cx.bad(
            what,
            format!("a size of at most {} in dimension {k}", meta.size(k)),
            index.meta.size(k).to_string(),
        )),
        None => Ok(()),
    }
}

fn gather(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, index) = (cx.tensor(0)?, cx.tensor(2)?);
    gathered(cx, t, cx.axis(1, t.rank())?, index, 2)
}

fn gathered(cx: &Cx<'_, '_, '_>, t: &Tensor, d: usize, index: &Tensor, i: usize) -> Made {
    if index.numel() == 0 {
        return Ok(cx.zeros(0)?.into());
    }
    check_sizes(cx, &t.meta, d, index, i)?;
    emit_taken(cx, t, &places(cx, i, &t.meta, d, index)?)
}

fn take_along_dim(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, index) = (cx.tensor(0)?, cx.tensor(1)?);
    if cx.is_none(2) {
        let (flat, list) = (rows_of(cx, t, &[t.numel()])?, rows_of(cx, index, &[index.numel()])?);
        return gathered(cx, &flat, 0, &list, 1);
    }
    let (d, wanted) = (cx.axis(2, t.rank())?, cx.meta()?);
    let mut sizes = wanted.sizes.clone();
    if let Some(size) = sizes.get_mut(d) {
        *size = t.meta.size(d);
    }
    // Along a dimension indices are taken modulo its size, as PyTorch does.
    let size = i64::try_from(t.meta.size(d)).unwrap_or(i64::MAX);
    let around = index.lanes::<i64>()?.iter().map(|v| v.checked_rem_euclid(size).unwrap_or(*v)).collect();
    let index = cx.make::<i64>(Dtype::I64, index.sizes(), around)?;
    gathered(cx, &t.broadcast(&sizes)?, d, &index.broadcast(&wanted.sizes)?, 1)
}

fn scatter_tensor(cx: &mut Cx<'_, '_, '_>, by: Option<Reduction>) -> Made {
    let (index, source) = (cx.tensor(2)?, cx.tensor(3)?);
    let t = cx.tensor(0)?;
    if index.numel() > 0 {
        if source.dtype() != t.dtype() {
            return Err(cx.bad(3, format!("dtype {}", t.dtype().long()), source.dtype().long()));
        }
        check_sizes(cx, &source.meta, usize::MAX, index, 2)?;
    }
    let part = Meta { sizes: index.meta.sizes.clone(), ..source.meta.clone() };
    let mut part = Tensor { meta: part, ..source.clone() };
    part.meta.strides.resize(index.rank(), 0);
    scattered(cx, by, &part)
}

fn scatter_number(cx: &mut Cx<'_, '_, '_>, by: Option<Reduction>) -> Made {
    let (t, index) = (cx.tensor(0)?, cx.tensor(2)?);
    let value = if index.numel() == 0 { Scalar::Int(0) } else { scalar_for(cx, 3, t.dtype())? };
    let one = filled(cx, &Meta::contiguous(t.dtype(), &[]), value)?;
    scattered(cx, by, &one.broadcast(index.sizes())?)
}

fn scattered(cx: &Cx<'_, '_, '_>, by: Option<Reduction>, values: &Tensor) -> Made {
    let (out, index) = (target(cx)?, cx.tensor(2)?);
    let d = cx.axis(1, out.rank())?;
    if index.numel() == 0 {
        return Ok(out.into());
    }
    check_sizes(cx, &out.meta, d, index, 2)?;
    let at = places(cx, 2, &out.meta, d, &apart(cx, index, &out)?)?;
    let values = apart(cx, values, &out)?;
    let kept = cx.operator.schema.param_index("include_self").map_or(Ok(true), |p| cx.bool(p))?;
    match by {
        None => overwrite(&out, &at, &values)?,
        Some(by) => reduce_wide(&out, &at, &values, by, if kept { Start::Included } else { Start::Replaced })?,
    }
    Ok(out.into())
}
