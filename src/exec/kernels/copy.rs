//! Copies, casts and fills; what changes the place of a tensor.
//!
//! Promises: a copy of the same dtype keeps every bit; a call that changes nothing gives its operand itself. Storage of a functional `copy`
//! reaches as far as the operand's, so that strides and offset are kept.

use crate::exec::call::cx::Cx;
use crate::exec::call::overlap;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::Made;
use crate::exec::kernels::create::filled_with;
use crate::exec::numbers::checked::check_fits;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::storage::Storage;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor, fill};
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (fill, &["aten.fill.Scalar", "aten.fill.Tensor"]),
    (fill_in_place, &["aten.fill_.Scalar", "aten.fill_.Tensor"]),
    (zero, &["aten.zero.default"]),
    (zero_in_place, &["aten.zero_.default"]),
    (copy, &["aten.copy.default"]),
    (copy_in_place, &["aten.copy_.default"]),
    (fresh, &["aten.clone.default", "aten._to_copy.default", "aten.lift_fresh_copy.default"]),
    (fresh, &["prims.convert_element_type.default"]),
    // A run has everything on one device.
    (|cx| cx.tensor(0).cloned().map(Value::Tensor), &["prims.device_put.default"]),
    (cast, &["aten.to.device", "aten.to.dtype", "aten.to.other", "aten.to.dtype_layout", "aten.type_as.default"]),
];

/// Returns what `fill` writes: a tensor of one element that broadcasts.
fn filling(cx: &Cx<'_, '_, '_>) -> Result<Tensor, CallFault> {
    let dtype = cx.tensor(0)?.dtype();
    if let Ok(value) = cx.tensor(1) {
        if value.rank() > 0 {
            return Err(cx.bad(1, "a tensor without dimensions", format!("sizes {:?}", value.sizes())));
        }
        return Ok(value.clone());
    }
    let n = cx.scalar(1)?;
    check_fits(cx, 1, n, dtype)?;
    filled_with(cx, &Meta::contiguous(dtype, &[]), n)
}

fn fill(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (out, value) = (cx.zeros(0)?, filling(cx)?);
    out.copy_from(&value)?;
    Ok(Value::Tensor(out))
}

fn fill_in_place(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (target, value) = (cx.tensor(0)?, filling(cx)?);
    target.copy_from(&value)?;
    Ok(Value::Tensor(target.clone()))
}

fn zero(cx: &mut Cx<'_, '_, '_>) -> Made {
    cx.zeros(0).map(Value::Tensor)
}

fn zero_in_place(cx: &mut Cx<'_, '_, '_>) -> Made {
    let target = cx.tensor(0)?;
    target.copy_from(&fill::empty(&Meta::contiguous(target.dtype(), &[]), cx.meter())?)?;
    Ok(Value::Tensor(target.clone()))
}

fn copy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let needed = meta.needed()?;
    let storage = with_width!(meta.dtype.bytes(), U => Storage::new(vec![U::default(); needed], cx.meter()));
    let out = Tensor::new(meta, storage)?;
    out.copy_from(cx.tensor(1)?)?;
    Ok(Value::Tensor(out))
}

fn copy_in_place(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (target, source) = (cx.tensor(0)?, cx.tensor(1)?);
    let same_view = target.shares_storage(source) && target.meta == source.meta;
    if !same_view || target.conj != source.conj || target.neg != source.neg {
        overlap::check_written(cx, 0)?;
        target.copy_from(source)?;
    }
    Ok(Value::Tensor(target.clone()))
}

fn fresh(cx: &mut Cx<'_, '_, '_>) -> Made {
    let out = fill::unset(&cx.meta()?, cx.meter())?;
    out.copy_from(cx.tensor(0)?)?;
    Ok(Value::Tensor(out))
}

/// The operand itself where it is of that dtype and layout already and no copy is asked for.
fn cast(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, t) = (cx.meta()?, cx.tensor(0)?);
    let copies = cx.operator.schema.param_index("copy").map_or(Ok(false), |i| cx.bool(i))?;
    if !copies && meta.dtype == t.dtype() && meta.strides == t.meta.strides {
        return Ok(Value::Tensor(t.clone()));
    }
    fresh(cx)
}
