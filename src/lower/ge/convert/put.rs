//! Writing at places that tensors name, of sizes that may be symbols.

use super::Made;
use super::args::Args;
use super::cx::{Cx, int, ints, signed};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::TensorId;
use crate::sym::Dim;

/// A size, and the dimension of which tensor has it.
#[derive(Clone, Copy)]
pub(super) struct Size {
    dim: Dim,
    of: TensorId,
    axis: usize,
}

/// Returns the sizes of a tensor.
pub(super) fn sizes_of(cx: &Cx, of: TensorId) -> Result<Vec<Size>, Refusal> {
    Ok(cx.sizes(of)?.iter().enumerate().map(|(axis, dim)| Size { dim: *dim, of, axis }).collect())
}

fn number(cx: &mut Cx, size: Size) -> Result<In, Refusal> {
    if let Some(fixed) = size.dim.fixed() {
        return Ok(int(fixed));
    }
    let shape = cx.op("Shape", vec![size.of.into()], &[("dtype", DataType::Int64.into())])?;
    Ok(cx.element(shape, signed(size.axis))?.into())
}

/// Returns sizes as the input that GE takes.
pub(super) fn as_input(cx: &mut Cx, sizes: &[Size]) -> Result<In, Refusal> {
    if let Some(fixed) = sizes.iter().map(|s| s.dim.fixed()).collect::<Option<Vec<i64>>>() {
        return Ok(ints(&fixed));
    }
    let parts = sizes.iter().map(|s| number(cx, *s)).collect::<Result<Vec<_>, _>>()?;
    let packed = cx.pack(parts)?;
    cx.b.mark(packed, "_force_unknown_shape");
    Ok(packed.into())
}

/// Spreads a tensor over sizes that it may have already.
pub(super) fn spread_to(cx: &mut Cx, t: TensorId, sizes: &[Size]) -> Result<TensorId, Refusal> {
    let own = cx.sizes(t)?;
    spread_of(cx, t, &own, sizes)
}

/// Returns the sizes over which tensors are repeated beside each other.
pub(super) fn common_sizes(cx: &Cx, tensors: &[TensorId]) -> Result<Vec<Size>, Refusal> {
    let all = tensors.iter().map(|t| sizes_of(cx, *t)).collect::<Result<Vec<_>, _>>()?;
    broadcast(&all)
}

fn spread_of(cx: &mut Cx, t: TensorId, own: &[Dim], sizes: &[Size]) -> Result<TensorId, Refusal> {
    if own.iter().eq(sizes.iter().map(|s| &s.dim)) {
        return Ok(t);
    }
    let sizes = as_input(cx, sizes)?;
    cx.op("BroadcastTo", vec![t.into(), sizes], &[])
}

/// Returns the sizes that all broadcast to.
fn broadcast(all: &[Vec<Size>]) -> Result<Vec<Size>, Refusal> {
    let mut longest: Vec<Size> = all.iter().max_by_key(|s| s.len()).cloned().unwrap_or_default();
    for one in all {
        for (size, own) in longest.iter_mut().rev().zip(one.iter().rev()) {
            match (size.dim, own.dim) {
                (_, Dim::Fixed(1)) => {}
                (Dim::Fixed(1), _) => *size = *own,
                (size, own) if size == own => {}
                _ => return Err(Refusal("the sizes of operands do not broadcast".into())),
            }
        }
    }
    Ok(longest)
}

fn transposed(cx: &mut Cx, t: TensorId, perm: &[usize]) -> Result<TensorId, Refusal> {
    if perm.is_sorted() {
        return Ok(t);
    }
    let perm: Vec<i64> = perm.iter().copied().map(signed).collect();
    cx.op("Transpose", vec![t.into(), ints(&perm)], &[])
}

/// What is put where a mask of the first dimensions holds.
fn masked(cx: &mut Cx, args: &Args, mask: TensorId) -> Made {
    let (x, value, dtype) = (args.tensor("self")?, args.tensor("values")?, cx.out_type()?);
    let (rank, own) = (cx.rank(x)?, cx.rank(mask)?);
    let (sizes, given) = (cx.sizes(x)?, cx.sizes(value)?);
    let row = sizes.get(own..).unwrap_or_default();
    let is_each = |first: &Dim, rest: &[Dim]| first.fixed().is_some_and(|n| n != 1) && rest == row;
    let is_simple = given.len() <= row.len() || given.split_first().is_some_and(|(first, rest)| is_each(first, rest));
    if args.flag("accumulate")? || !is_simple {
        return rows_of_mask(cx, args, mask);
    }
    if !given.is_empty() {
        return Err(Refusal("several values at the places of truth values are not supported".into()));
    }
    let mut mask = cx.cast(mask, DataType::Bool)?;
    if own < rank {
        mask = cx.unsqueeze(mask, &(own..rank).map(signed).collect::<Vec<_>>())?;
    }
    let value = cx.cast(value, dtype)?;
    cx.ge("MaskedFill", vec![x.into(), mask.into(), value.into()], &[])
}

/// Values by the places where a mask holds, in order, or one for all of them. How many there are is known as the graph runs.
fn rows_of_mask(cx: &mut Cx, args: &Args, mask: TensorId) -> Made {
    let (x, dtype) = (args.tensor("self")?, cx.out_type()?);
    let (sizes, own) = (sizes_of(cx, x)?, cx.rank(mask)?);
    let mask = cx.cast(mask, DataType::Bool)?;
    let attrs = [("transpose", Attr::Bool(false)), ("dtype", DataType::Int64.into())];
    let places = cx.op("NonZero", vec![mask.into()], &attrs)?;
    let shape = cx.op("Shape", vec![places.into()], &[("dtype", DataType::Int64.into())])?;
    let mut wanted = vec![In::Tensor(cx.element(shape, 0)?)];
    for size in sizes.get(own..).ok_or_else(|| Refusal("the mask has more dimensions than the tensor".into()))? {
        wanted.push(number(cx, *size)?);
    }
    let wanted = cx.pack(wanted)?;
    cx.b.mark(wanted, "_force_unknown_shape");
    let values = cx.cast(args.get("values"), dtype)?;
    let values = cx.op("BroadcastTo", vec![values.into(), wanted.into()], &[])?;
    let copy = cx.op("TensorMove", vec![x.into()], &[])?;
    let kind = if args.flag("accumulate")? { "ScatterNdAdd" } else { "ScatterNdUpdate" };
    cx.ge(kind, vec![copy.into(), places.into(), values.into()], &[])
}

/// Writes rows of a copy: the indexed dimensions are brought to the front, and back; places from the end are counted from the front.
pub(super) fn index_put(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self indices values accumulate=false")?;
    let (x, dtype) = (args.tensor("self")?, cx.out_type()?);
    let (sizes, given) = (sizes_of(cx, x)?, cx.tensors(1, "indices")?);
    let indexed: Vec<(usize, TensorId)> =
        given.iter().enumerate().filter_map(|(axis, index)| Some((axis, index.tensor()?))).collect();
    let Some((first, _)) = indexed.first().copied() else { return Err(Refusal("an index is missing".into())) };
    let is_mask = |cx: &Cx, index: TensorId| matches!(cx.dtype(index), DataType::Bool | DataType::Uint8);
    if let [(0, mask)] = indexed.as_slice()
        && is_mask(cx, *mask)
    {
        return masked(cx, &args, *mask);
    }
    if indexed.iter().enumerate().any(|(i, (axis, _))| *axis != first.saturating_add(i)) {
        return Err(Refusal("indexed dimensions that are not side by side are not supported".into()));
    }
    let mut of_indices = Vec::new();
    for (_, index) in &indexed {
        if is_mask(cx, *index) {
            return Err(Refusal("an index by truth values beside others is not supported".into()));
        }
        of_indices.push(sizes_of(cx, *index)?);
    }
    let spread = broadcast(&of_indices)?;
    let after = first.saturating_add(indexed.len());
    let part = |from: usize, to: usize| sizes.get(from..to).unwrap_or_default();
    let mut parts = Vec::new();
    for ((axis, index), own) in indexed.iter().zip(&of_indices) {
        let size = match sizes.get(*axis) {
            Some(size) => number(cx, *size)?,
            None => return Err(Refusal("more indices than dimensions".into())),
        };
        let index = cx.cast(*index, DataType::Int64)?;
        let negative = cx.op("Less", vec![index.into(), int(0)], &[])?;
        let wrapped = cx.op("Add", vec![index.into(), size], &[])?;
        let index = cx.op("SelectV2", vec![negative.into(), wrapped.into(), index.into()], &[])?;
        let own: Vec<Dim> = own.iter().map(|s| s.dim).collect();
        parts.push(In::Tensor(spread_of(cx, index, &own, &spread)?));
    }
    let count = Attr::Int(signed(parts.len()));
    let index = cx.op("Pack", vec![In::Many(parts)], &[("N", count), ("axis", Attr::Int(-1))])?;
    let own = cx.sizes(args.tensor("values")?)?.to_vec();
    let values = cx.cast(args.get("values"), dtype)?;
    let shape = [part(0, first), &spread, part(after, sizes.len())].concat();
    let values = spread_of(cx, values, &own, &shape)?;
    let to_front = |block: usize, rank: usize| -> Vec<usize> {
        let end = first.saturating_add(block);
        (first..end).chain(0..first).chain(end..rank).collect()
    };
    let perm = to_front(indexed.len(), sizes.len());
    let updates = transposed(cx, values, &to_front(spread.len(), shape.len()))?;
    let copy = cx.op("TensorMove", vec![x.into()], &[])?;
    let rows = transposed(cx, copy, &perm)?;
    let kind = if args.flag("accumulate")? { "ScatterNdAdd" } else { "ScatterNdUpdate" };
    let made = cx.op(kind, vec![rows.into(), index.into(), updates.into()], &[])?;
    let back: Vec<usize> = (0..sizes.len()).map(|axis| perm.iter().position(|p| *p == axis).unwrap_or(0)).collect();
    Ok(transposed(cx, made, &back)?.into())
}
