//! Where a mask is true.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::index::cells::{apart, offsets, overwrite, target};
use crate::exec::numbers::checked::{filled, fits, only, scalar_for};
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (fill, &["aten.masked_fill.Scalar", "aten.masked_fill_.Scalar"]),
    (fill_tensor, &["aten.masked_fill.Tensor", "aten.masked_fill_.Tensor"]),
    (scatter, &["aten.masked_scatter.default", "aten.masked_scatter_.default"]),
    (select, &["aten.masked_select.default"]),
];

/// Returns what is written: the tensor itself in place, else a copy broadcast with the mask; and the mask spread over it.
fn written(cx: &Cx<'_, '_, '_>) -> Result<(Tensor, Tensor), CallFault> {
    let (t, mask) = (cx.tensor(0)?, cx.tensor(1)?);
    if !matches!(mask.dtype(), Dtype::Bool) {
        return Err(cx.bad(1, "a mask of bool", mask.dtype().long()));
    }
    let out = if &*cx.operator.schema.name == "masked_fill_" {
        // One number for several elements: PyTorch only warns of overlap.
        t.clone()
    } else if cx.operator.schema.name.ends_with('_') {
        target(cx)?
    } else {
        let out = cx.zeros(0)?;
        out.copy_from(t)?;
        out
    };
    let mask = apart(cx, mask, &out)?;
    let spread = mask
        .broadcast(out.sizes())
        .map_err(|_| cx.bad(1, format!("sizes that broadcast to {:?}", out.sizes()), format!("{:?}", mask.sizes())))?;
    Ok((out, spread))
}

/// Returns the offsets in `t` at which the mask is true, in row-major order.
fn places(t: &Meta, mask: &Tensor) -> Result<Vec<usize>, CallFault> {
    let mask = mask.raw::<u8>()?;
    Ok(offsets(t).zip(mask.iter()).filter(|(_, m)| **m != 0).map(|(at, _)| at).collect())
}

fn filled_with(cx: &Cx<'_, '_, '_>, value: Scalar) -> Made {
    let (out, mask) = written(cx)?;
    let one = filled(cx, &Meta::contiguous(out.dtype(), &[]), value)?;
    with_width!(out.dtype().bytes(), U => {
        let value: U = one.raw::<U>()?.first().copied().unwrap_or_default();
        let mask = mask.raw::<u8>()?;
        if out.meta.is_contiguous() {
            let start = out.meta.offset;
            let mut content = out.storage.write()?;
            let cells = content.bytes_mut().as_chunks_mut::<{ std::mem::size_of::<U>() }>().0;
            let cells = cells.get_mut(start..).unwrap_or(&mut []);
            let value: [u8; std::mem::size_of::<U>()] = bytemuck::cast(value);
            cells.iter_mut().zip(mask.iter()).for_each(|(cell, m)| *cell = if *m != 0 { value } else { *cell });
        } else {
            let at: Vec<usize> = offsets(&out.meta).zip(mask.iter()).filter(|(_, m)| **m != 0).map(|(k, _)| k).collect();
            overwrite(&out, &at, &one.broadcast(&[at.len()])?)?;
        }
        Ok(out.into())
    })
}

fn fill(cx: &mut Cx<'_, '_, '_>) -> Made {
    let value = scalar_for(cx, 2, cx.tensor(0)?.dtype())?;
    filled_with(cx, value)
}

fn fill_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (value, dtype) = (cx.tensor(2)?, cx.tensor(0)?.dtype());
    if value.rank() > 0 {
        return Err(cx.bad(2, "a tensor without dimensions", format!("sizes {:?}", value.sizes())));
    }
    let value = only(value)?.unwrap_or(Scalar::Int(0));
    if !fits(value, dtype) {
        return Err(cx.bad(2, format!("a number that {} holds", dtype.long()), format!("{value:?}")));
    }
    filled_with(cx, value)
}

/// The source's elements one after another go where the mask is true.
fn scatter(cx: &mut Cx<'_, '_, '_>) -> Made {
    let source = cx.tensor(2)?;
    if source.dtype() != cx.tensor(0)?.dtype() {
        return Err(cx.bad(2, format!("dtype {}", cx.tensor(0)?.dtype().long()), source.dtype().long()));
    }
    let (out, mask) = written(cx)?;
    let at = places(&out.meta, &mask)?;
    if source.numel() < at.len() {
        return Err(cx.bad(2, format!("{} elements or more", at.len()), source.numel().to_string()));
    }
    let source = apart(cx, source, &out)?;
    overwrite(&out, &at, &source)?;
    Ok(out.into())
}

fn select(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, mask) = (cx.tensor(0)?, cx.tensor(1)?);
    if mask.dtype() != Dtype::Bool {
        return Err(cx.bad(1, "a mask of bool", mask.dtype().long()));
    }
    let rank = t.rank().max(mask.rank());
    let size = |t: &Tensor, k: usize| k.checked_sub(rank.saturating_sub(t.rank())).map_or(1, |d| t.meta.size(d));
    let sizes: Shape = (0..rank).map(|k| if size(t, k) == 1 { size(mask, k) } else { size(t, k) }).collect();
    let (t, mask) = (t.broadcast(&sizes)?, mask.broadcast(&sizes)?);
    let at = places(&t.meta, &mask)?;
    let list = Tensor { meta: Meta::contiguous(t.dtype(), &[at.len()]), ..t.clone() };
    let plain = t.conj || t.neg;
    if plain {
        let rows = t.resolved(cx.meter())?;
        return chosen(cx, &rows, &places(&rows.meta, &mask)?, list.sizes());
    }
    chosen(cx, &t, &at, list.sizes())
}

/// How many there are only the mask told, so the rule did not.
fn chosen(cx: &Cx<'_, '_, '_>, t: &Tensor, at: &[usize], sizes: &[usize]) -> Made {
    let meta = Meta::contiguous(t.dtype(), sizes);
    with_width!(t.dtype().bytes(), U => {
        let values = crate::exec::kernels::index::cells::taken::<U>(t, at)?;
        crate::exec::tensor::fill::from_raw(&meta, values, cx.meter()).map(Value::Tensor)
    })
}
