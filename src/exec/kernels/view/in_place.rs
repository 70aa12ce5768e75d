//! Views that change the tensor itself: other sizes, strides or memory under the same name.
//!
//! Promises: the result is the tensor as it is afterwards, in the same storage (`set_` apart); who calls lets it take the argument's place.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::storage::Storage;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::MemoryFormat;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        reseen,
        &[
            "aten.squeeze_.default",
            "aten.squeeze_.dim",
            "aten.squeeze_.dims",
            "aten.unsqueeze_.default",
            "aten.transpose_.default",
            "aten.swapaxes_.default",
            "aten.swapdims_.default",
            "aten.t_.default",
            "aten.as_strided_.default",
            "aten.detach_.default",
        ],
    ),
    (resize, &["aten.resize_.default"]),
    (set_empty, &["aten.set_.default"]),
    (set_source, &["aten.set_.source_Tensor"]),
    (set_place, &["aten.set_.source_Tensor_storage_offset"]),
];

fn reseen(cx: &mut Cx<'_, '_, '_>) -> Made {
    Ok(cx.tensor(0)?.with_meta(cx.meta()?)?.into())
}

/// The storage grows where it must, and never shrinks; sizes that stay leave strides alone.
fn resize(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let mut sizes = crate::exec::tensor::shape::Shape::new();
    for n in cx.ints(1)? {
        sizes.push(usize::try_from(n).map_err(|_| cx.bad(1, "sizes of 0 or more", n.to_string()))?);
    }
    let order: &[usize] = match cx.memory_format(2) {
        Some(MemoryFormat::ChannelsLast) if sizes.len() == 4 => &[0, 2, 3, 1],
        Some(MemoryFormat::ChannelsLast3d) if sizes.len() == 5 => &[0, 2, 3, 4, 1],
        _ => &[],
    };
    let mut meta = Meta { offset: t.meta.offset, ..Meta::contiguous(t.dtype(), &sizes) };
    if order.is_empty() && sizes.as_slice() == t.sizes() && cx.is_none(2) {
        meta.strides = t.meta.strides.clone();
    }
    if !order.is_empty() {
        let dense = crate::exec::tensor::shape::contiguous(&crate::exec::tensor::shape::permuted(&sizes, order));
        for (d, stride) in order.iter().zip(dense) {
            if let Some(slot) = meta.strides.get_mut(*d) {
                *slot = stride;
            }
        }
    }
    if meta.numel() > 0 {
        t.storage.grow(meta.needed()?.saturating_mul(t.dtype().bytes()))?;
    }
    Ok(t.with_meta(meta)?.into())
}

fn set_empty(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let storage = Storage::new(Vec::<u8>::new(), cx.meter());
    Ok(Tensor::new(Meta::contiguous(t.dtype(), &[0]), storage)?.into())
}

/// The other's memory and shape under the own dtype.
fn set_source(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, source) = (cx.tensor(0)?, cx.tensor(1)?);
    let meta = Meta { dtype: t.dtype(), ..source.meta.clone() };
    if meta.numel() > 0 {
        source.storage.grow(meta.needed()?.saturating_mul(meta.dtype.bytes()))?;
    }
    Ok(Tensor::new(meta, source.storage.clone())?.into())
}

fn set_place(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, source) = (cx.tensor(0)?, cx.tensor(1)?);
    let list = |i: usize| -> Result<crate::exec::tensor::shape::Shape, CallFault> {
        let one = |n: i64| usize::try_from(n).map_err(|_| cx.bad(i, "numbers of 0 or more", n.to_string()));
        cx.ints(i)?.into_iter().map(one).collect()
    };
    let offset = cx.int(2)?;
    let offset = usize::try_from(offset).map_err(|_| cx.bad(2, "an offset of 0 or more", offset.to_string()))?;
    let sizes = list(3)?;
    let mut strides = if cx.is_none(4) { crate::exec::tensor::shape::Shape::new() } else { list(4)? };
    if strides.is_empty() {
        strides = crate::exec::tensor::shape::contiguous(&sizes);
    }
    let meta = Meta { dtype: t.dtype(), sizes, strides, offset };
    if meta.numel() > 0 {
        source.storage.grow(meta.needed()?.saturating_mul(meta.dtype.bytes()))?;
    }
    Ok(Tensor::new(meta, source.storage.clone())?.into())
}
