//! Numbers out of tensors, and assertions on numbers and tensors.
//!
//! Promises: an assertion that fails is an error with the graph's own message. Devices are not checked: a run has everything on the CPU,
//! wherever the graph had it. Leaves arithmetic to `python`.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::view::fresh;
use crate::exec::numbers::checked::only;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::{Lane, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::value::{Scalar, Value};
use crate::graph::{Arg, Dtype, MemoryFormat};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (|cx| at_axis(cx, cx.tensor(0)?.sizes()), &["aten.sym_size.int", "aten.size.int"]),
    (|cx| at_axis(cx, &cx.tensor(0)?.meta.strides), &["aten.sym_stride.int", "aten.stride.int"]),
    (|cx| list(cx.tensor(0)?.sizes()), &["aten.sym_size.default"]),
    (|cx| list(&cx.tensor(0)?.meta.strides), &["aten.sym_stride.default"]),
    (|cx| integer(cx.tensor(0)?.numel()), &["aten.sym_numel.default", "aten.numel.default"]),
    (|cx| integer(cx.tensor(0)?.meta.offset), &["aten.sym_storage_offset.default"]),
    (is_contiguous, &["aten.sym_is_contiguous.default"]),
    (item, &["aten.item.default", "aten._local_scalar_dense.default"]),
    (is_nonzero, &["aten.is_nonzero.default"]),
    (is_same_size, &["aten.is_same_size.default"]),
    (assert_tensor, &["aten._assert_async.default", "aten._assert_async.msg"]),
    (assert_scalar, &["aten._assert_scalar.default"]),
    (assert_metadata, &["aten._assert_tensor_metadata.default"]),
    (
        |cx| {
            assert_tensor(cx)?;
            token(cx)
        },
        &["aten._functional_assert_async.msg"],
    ),
    (
        |cx| {
            assert_scalar(cx)?;
            token(cx)
        },
        &["aten._functional_assert_scalar.default"],
    ),
    (|cx| constrain(cx, i64::MIN), &["aten.sym_constrain_range.default"]),
    (|cx| constrain(cx, 0), &["aten.sym_constrain_range_for_size.default"]),
];

fn integer(n: usize) -> Made {
    let too_large = |_| CallFault::Unsupported { what: format!("the number {n}, which 64 bits with sign do not hold") };
    i64::try_from(n).map(Value::Int).map_err(too_large)
}

fn list(all: &[usize]) -> Made {
    all.iter().map(|n| integer(*n)).collect::<Result<_, _>>().map(Value::List)
}

fn at_axis(cx: &Cx<'_, '_, '_>, all: &[usize]) -> Made {
    if all.is_empty() {
        return Err(cx.bad(0, "a tensor with dimensions", "a scalar"));
    }
    integer(all.get(cx.axis(1, all.len())?).copied().unwrap_or(0))
}

fn is_contiguous(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let order: &[usize] = match cx.memory_format(1) {
        Some(MemoryFormat::ChannelsLast) => &[0, 2, 3, 1],
        Some(MemoryFormat::ChannelsLast3d) => &[0, 2, 3, 4, 1],
        _ => return Ok(t.meta.is_contiguous().into()),
    };
    Ok(shape::follows(t.sizes(), &t.meta.strides, order).into())
}

fn item(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let Some(value) = only(t)? else { return Err(cx.bad(0, "a tensor of one element", "an empty one")) };
    match value {
        Scalar::Int(v) if t.dtype() == Dtype::U64 && v < 0 => {
            Err(CallFault::Unsupported { what: "a number of 2^63 or more as a Python integer".into() })
        }
        value => Ok(value.into()),
    }
}

/// Returns whether the only element of argument 0 is true.
fn truth(cx: &Cx<'_, '_, '_>) -> Result<bool, CallFault> {
    let t = cx.tensor(0)?;
    if t.numel() != 1 {
        return Err(cx.bad(0, "a tensor of one element", format!("sizes {:?}", t.sizes())));
    }
    with_lane!(t.dtype(), L => Ok(t.lanes::<L>()?.first().is_some_and(|v| v.truth())))
}

fn is_nonzero(cx: &mut Cx<'_, '_, '_>) -> Made {
    truth(cx).map(Value::Bool)
}

fn is_same_size(cx: &mut Cx<'_, '_, '_>) -> Made {
    Ok((cx.tensor(0)?.sizes() == cx.tensor(1)?.sizes()).into())
}

fn failed(cx: &Cx<'_, '_, '_>, found: impl Into<String>) -> CallFault {
    let message = cx.text(1);
    cx.bad(0, if message.is_empty() { "a value that is true" } else { message }, found)
}

fn assert_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    if truth(cx)? { Ok(Value::None) } else { Err(failed(cx, "a tensor that is false")) }
}

fn assert_scalar(cx: &mut Cx<'_, '_, '_>) -> Made {
    let value = cx.scalar(0)?;
    let holds = match value {
        Scalar::Bool(v) => v,
        Scalar::Int(v) => v != 0,
        Scalar::Float(v) => v != 0.0,
        Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
    };
    if holds { Ok(Value::None) } else { Err(failed(cx, format!("{value:?}"))) }
}

/// A token of its own, as the functional forms return one.
fn token(cx: &mut Cx<'_, '_, '_>) -> Made {
    Ok(fresh(cx, 0, cx.tensor(2)?)?.into())
}

fn assert_metadata(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t: &Tensor = cx.tensor(0)?;
    let same = |i: usize, own: &[usize]| -> Result<(), CallFault> {
        let Some(wanted) = cx.opt_ints(i)? else { return Ok(()) };
        if wanted.iter().map(|n| usize::try_from(*n).ok()).eq(own.iter().copied().map(Some)) {
            return Ok(());
        }
        Err(cx.bad(0, format!("{} {:?}", cx.name(i), wanted.as_slice()), format!("{own:?}")))
    };
    same(1, t.sizes())?;
    same(2, &t.meta.strides)?;
    match cx.dtype(3)? {
        Some(wanted) if wanted != t.dtype() => Err(cx.bad(0, wanted.long(), t.dtype().long())),
        _ => Ok(Value::None),
    }
}

/// Checks that a number lies between the bounds; one of a size may be bounded from above only beyond 2.
fn constrain(cx: &mut Cx<'_, '_, '_>, least: i64) -> Made {
    let bound = |i: usize, default: i64| Ok::<_, CallFault>(cx.opt_int(i)?.unwrap_or(default));
    let (value, low, high) = (cx.scalar(0)?, bound(1, least)?, bound(2, i64::MAX)?);
    if least == 0 && high <= 2 {
        return Err(cx.bad(2, "more than 2 for a size", high.to_string()));
    }
    if high < low {
        return Err(cx.bad(2, format!("at least `min`, {low}"), high.to_string()));
    }
    let value = match value {
        Scalar::Int(v) => v,
        Scalar::Bool(v) => i64::from(v),
        other if least == 0 => return Err(cx.wrong_kind(0, "an integer", &Arg::Float(other.to_f64()))),
        // PyTorch lets other numbers pass.
        _ => return Ok(Value::None),
    };
    if !(low..=high).contains(&value) {
        return Err(cx.bad(0, format!("a value from {low} to {high}"), value.to_string()));
    }
    Ok(Value::None)
}
