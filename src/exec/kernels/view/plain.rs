//! Views: other places in the same memory, and their `_copy` forms.
//!
//! The type rule says sizes, strides and offset; a kernel here decides whose memory they are. Leaves lazy conjugation and complex parts to
//! `view_complex`, views that change the tensor itself to `view_in_place`.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::MemoryFormat;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        view,
        &[
            "aten.view.default",
            "aten._unsafe_view.default",
            "aten._reshape_alias.default",
            "aten.view_as.default",
            "aten.unflatten.int",
            "aten.expand.default",
            "aten.expand_as.default",
            "aten.broadcast_to.default",
            "aten.permute.default",
            "aten.transpose.int",
            "aten.swapaxes.default",
            "aten.t.default",
            "aten.numpy_T.default",
            "aten.mT.default",
            "aten.squeeze.default",
            "aten.squeeze.dim",
            "aten.squeeze.dims",
            "aten.unsqueeze.default",
            "aten.select.int",
            "aten.slice.Tensor",
            "aten.narrow.default",
            "aten.as_strided.default",
            "aten.diagonal.default",
            "aten.unfold.default",
            "aten.movedim.int",
            "aten.movedim.intlist",
            "aten.alias.default",
            "aten.detach.default",
            "aten.lift.default",
            "aten.lift_fresh.default",
            "aten.slice_inverse.default",
            "prims.transpose.default",
            "prims.broadcast_in_dim.default",
        ],
    ),
    (
        views,
        &[
            "aten.split.Tensor",
            "aten.split.sizes",
            "aten.split_with_sizes.default",
            "aten.chunk.default",
            "aten.unbind.int",
            "aten.unsafe_split.Tensor",
            "aten.unsafe_chunk.default",
            "aten.unsafe_split_with_sizes.default",
            "aten.tensor_split.sections",
            "aten.tensor_split.indices",
        ],
    ),
    (
        reshaped,
        &[
            "aten.reshape.default",
            "aten.reshape_as.default",
            "aten.flatten.using_ints",
            "aten.atleast_1d.default",
            "aten.atleast_2d.default",
        ],
    ),
    (contiguous, &["aten.contiguous.default"]),
    (as_dtype, &["aten.view.dtype"]),
    (narrow_at, &["aten.narrow.Tensor"]),
    (
        copied,
        &[
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
            "aten.unfold_copy.default",
            "aten.narrow_copy.default",
            "aten.alias_copy.default",
            "aten.detach_copy.default",
            "aten.view_copy.dtype",
            "aten.split_copy.Tensor",
            "aten.split_with_sizes_copy.default",
            "aten.unbind_copy.int",
        ],
    ),
    (view_copy, &["aten.view_copy.default"]),
];

fn view(cx: &mut Cx<'_, '_, '_>) -> Made {
    Ok(cx.tensor(0)?.with_meta(cx.meta()?)?.into())
}

fn views(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let pieces = (0..cx.result_count()).map(|k| t.with_meta(cx.meta_of(k)?).map(Value::Tensor));
    pieces.collect::<Result<_, _>>().map(Value::List)
}

/// Returns a copy of its own in row-major order; lazy marks are kept, not resolved.
fn copy_of(cx: &Cx<'_, '_, '_>, t: &Tensor, meta: Meta) -> Result<Tensor, CallFault> {
    let plain = Tensor { conj: false, neg: false, ..t.clone() };
    let mut out = crate::exec::tensor::fill::empty(&meta, cx.meter())?;
    out.copy_from(&plain)?;
    (out.conj, out.neg) = (t.conj, t.neg);
    Ok(out)
}

/// Shares memory exactly where a view in these sizes is possible, as PyTorch's `reshape` does.
fn reshaped(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    if t.meta.sizes == meta.sizes || view_strides(&t.meta, &meta.sizes).is_some() {
        return Ok(t.with_meta(meta)?.into());
    }
    let rows = copy_of(cx, t, Meta::contiguous(t.dtype(), t.sizes()))?;
    Ok(rows.with_meta(meta)?.into())
}

/// Returns the strides in which memory can be seen in other sizes: PyTorch's `computeStride`.
fn view_strides(old: &Meta, sizes: &[usize]) -> Option<Shape> {
    if old.numel() == 0 {
        return Some(shape::contiguous(sizes));
    }
    let mut strides: Shape = smallvec::SmallVec::from_elem(1, sizes.len());
    let mut slots = strides.iter_mut().zip(sizes).rev().peekable();
    let dims = old.sizes.iter().zip(&old.strides).rev();
    let mut inner = old.strides.last().copied().unwrap_or(1);
    let (mut count, mut outer) = (1_usize, dims.clone().skip(1));
    for (size, _) in dims {
        count = count.saturating_mul(*size);
        let next = outer.next();
        // A run of memory ends where the next dimension does not begin behind it.
        let ends = next.is_none_or(|(size, stride)| *size != 1 && *stride != count.saturating_mul(inner));
        if !ends {
            continue;
        }
        let mut covered = 1_usize;
        while let Some((stride, size)) = slots.next_if(|(_, size)| covered < count || **size == 1) {
            *stride = covered.saturating_mul(inner);
            covered = covered.saturating_mul(*size);
        }
        if covered != count {
            return None;
        }
        if let Some((_, stride)) = next {
            (count, inner) = (1, *stride);
        }
    }
    drop(slots);
    Some(strides)
}

fn contiguous(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    let order: &[usize] = match cx.memory_format(1) {
        Some(MemoryFormat::ChannelsLast) => &[0, 2, 3, 1],
        Some(MemoryFormat::ChannelsLast3d) => &[0, 2, 3, 4, 1],
        _ => &[],
    };
    let lies_so =
        if order.is_empty() { t.meta.is_contiguous() } else { shape::follows(t.sizes(), &t.meta.strides, order) };
    if lies_so { Ok(t.clone().into()) } else { Ok(copy_of(cx, t, meta)?.into()) }
}

/// Bits in another dtype; lazy marks would say something else there.
fn as_dtype(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    if (t.conj || t.neg) && meta.dtype != t.dtype() {
        return Err(cx.bad(0, "a tensor without lazy conjugation or negation", "a lazy view"));
    }
    Ok(t.with_meta(meta)?.into())
}

fn narrow_at(cx: &mut Cx<'_, '_, '_>) -> Made {
    let start = cx.tensor(2)?;
    let start = start.lanes::<i64>()?.first().copied().unwrap_or(0);
    let args = [cx.value(0), cx.value(1), Value::Int(start), cx.value(3)];
    cx.run("aten.narrow.default", &args)
}

/// The view of the same name, copied.
fn copied(cx: &mut Cx<'_, '_, '_>) -> Made {
    let target = cx.operator.target.replacen("_copy.", ".", 1);
    let seen = crate::exec::call::session::run_as(cx, &target, cx.values())?;
    let copies = seen.items().iter().enumerate().map(|(k, piece)| match piece {
        Value::Tensor(t) => fresh(cx, k, t),
        other => Err(cx.bad(0, "a tensor", other.kind())),
    });
    let copies = copies.collect::<Result<Vec<_>, _>>()?;
    match (copies.as_slice(), &seen) {
        ([one], Value::Tensor(_)) => Ok(one.clone().into()),
        _ => Ok(copies.into()),
    }
}

/// Returns result `k`, a copy without lazy marks.
pub(in crate::exec) fn fresh(cx: &Cx<'_, '_, '_>, k: usize, t: &Tensor) -> Result<Tensor, CallFault> {
    let out = cx.zeros(k)?;
    out.copy_from(t)?;
    Ok(out)
}

fn view_copy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    let plain = t.resolved(cx.meter())?;
    Ok(plain.with_meta(Meta::contiguous(meta.dtype, &meta.sizes))?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dtype;

    fn strides(sizes: &[usize], strides: &[usize], wanted: &[usize]) -> Option<Vec<usize>> {
        let old = Meta { dtype: Dtype::F32, sizes: sizes.into(), strides: strides.into(), offset: 0 };
        view_strides(&old, wanted).map(|s| s.to_vec())
    }

    #[test]
    fn memory_is_seen_in_other_sizes_only_where_it_lies_so() {
        assert_eq!(strides(&[4, 6], &[6, 1], &[2, 2, 6]), Some(vec![12, 6, 1]));
        assert_eq!(strides(&[4, 6], &[6, 1], &[24]), Some(vec![1]));
        assert_eq!(strides(&[4, 6], &[1, 4], &[24]), None);
        assert_eq!(strides(&[4, 6], &[1, 4], &[2, 2, 3, 2]), Some(vec![2, 1, 8, 4]));
        assert_eq!(strides(&[4, 6], &[12, 1], &[24]), None);
        assert_eq!(strides(&[4, 6], &[12, 1], &[1, 4, 6, 1]), Some(vec![48, 12, 1, 1]));
        assert_eq!(strides(&[], &[], &[1, 1]), Some(vec![1, 1]));
        assert_eq!(strides(&[3], &[0], &[3, 1]), Some(vec![0, 0]));
        assert_eq!(strides(&[0, 3], &[3, 1], &[3, 0]), Some(vec![1, 1]));
    }
}
