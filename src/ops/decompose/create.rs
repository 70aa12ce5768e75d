//! New tensors by `full` and `arange`, filling, casting.

use super::prelude::*;
use crate::graph::MemoryFormat;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| filled(b, 0, None), &["aten.zeros.default"]),
    (Exact, |b| filled(b, 1, None), &["aten.ones.default"]),
    (Exact, |b| like(b, 0.into()), &["aten.zeros_like.default"]),
    (Exact, |b| like(b, 1.into()), &["aten.ones_like.default"]),
    (Exact, |b| filled(b, 0, Some(1)), &["aten.new_zeros.default"]),
    (Exact, |b| filled(b, 1, Some(1)), &["aten.new_ones.default"]),
    (Exact, new_full, &["aten.new_full.default"]),
    (Exact, |b| arange(b, 1), &["aten.arange.default"]),
    (Exact, |b| arange(b, 2), &["aten.arange.start"]),
    (Exact, iota, &["prims.iota.default"]),
    (Exact, fill, &["aten.fill.Scalar", "aten.fill.Tensor"]),
    (Exact, |b| done![b.t(0)?.call("fill.Scalar", args![0])], &["aten.zero.default"]),
    (Exact, eye, &["aten.eye.default", "aten.eye.m"]),
    (Exact, to, &["aten.to.dtype", "aten.to.device", "aten.to.dtype_layout"]),
    (Exact, to_other, &["aten.to.other", "aten.type_as.default"]),
    (Real, linspace, &["aten.linspace.default"]),
    (Real, logspace, &["aten.logspace.default"]),
];

/// Sizes in parameter `sizes`; dtype and device are those of the result.
fn filled_with(b: &Builder<'_>, sizes: usize, value: Arg) -> Made {
    let own = b.own_tensor()?;
    done![b.op("full", args![b.sizes(sizes), value; dtype = own.dtype, device = Arg::Device(own.device.clone())])]
}

fn filled(b: &Builder<'_>, value: i64, sizes: Option<usize>) -> Made {
    filled_with(b, sizes.unwrap_or(0), value.into())
}

fn new_full(b: &Builder<'_>) -> Made {
    filled_with(b, 1, b.arg(2))
}

fn like(b: &Builder<'_>, value: Arg) -> Made {
    let x = b.t(0)?;
    let own = b.own_tensor()?;
    let format = b.arg("memory_format");
    done![b.op("full_like", args![x, value; dtype = own.dtype, memory_format = format])]
}

fn arange(b: &Builder<'_>, given: usize) -> Made {
    let own = b.own_tensor()?;
    let (start, end) = if given == 1 { (Arg::Int(0), b.arg(0)) } else { (b.arg(0), b.arg(1)) };
    let device = Arg::Device(own.device.clone());
    done![b.op("arange.start_step", args![start, end, 1; dtype = own.dtype, device = device])]
}

/// So many integers, a step apart.
fn iota(b: &Builder<'_>) -> Made {
    let (own, step) = (b.own_tensor()?, b.int("step")?);
    b.only(matches!(own.dtype, Dtype::I64 | Dtype::I32) && step != 0, "this dtype, or no step")?;
    let end = b.size_op("add", b.arg("start"), b.size_op("mul", b.arg("length"), step));
    let device = Arg::Device(own.device.clone());
    done![b.op("arange.start_step", args![b.arg("start"), end, step; dtype = own.dtype, device = device])]
}

fn fill(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    match b.arg(1) {
        Arg::Node(_) => {
            b.only(b.t(1)?.rank() == 0, "a value with dimensions")?;
            done![b.op("copy", args![x, b.t(1)?])]
        }
        number => done![b.op("full_like", args![x, number])],
    }
}

fn eye(b: &Builder<'_>) -> Made {
    let own = b.own_tensor()?;
    let (rows, columns) = (b.arg(0), if b.operator().schema.overload.is_empty() { b.arg(0) } else { b.arg(1) });
    let device = Arg::Device(own.device.clone());
    let count = |n: Arg| b.op("arange.default", args![n; device = device.clone()]).id();
    let (rows, columns) = (b.value(count(rows)), b.value(count(columns)));
    done![rows.unsqueeze(-1).call("eq.Tensor", args![columns]).to(own.dtype)]
}

/// Itself where nothing changes.
fn to(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let own = b.own_tensor()?;
    let ty = x.ty().ok_or_else(|| b.unsupported("this input"))?;
    let format = b.ask(|c| {
        let place = c.operator.schema.param_index("memory_format").unwrap_or(usize::MAX);
        Ok(c.memory_format(place))
    })?;
    let moved = own.dtype != ty.dtype || own.device != ty.device || own.strides != ty.strides;
    if !moved && !b.flag("copy")? {
        return done![x];
    }
    let dtype = (own.dtype != ty.dtype).then_some(own.dtype);
    let device = (own.device != ty.device).then(|| Arg::Device(own.device.clone()));
    let format = format.filter(|f| *f != MemoryFormat::Preserve).map(Arg::MemoryFormat);
    done![x.call("_to_copy", args![; dtype = dtype, device = device, memory_format = format])]
}

fn to_other(b: &Builder<'_>) -> Made {
    let (x, other) = (b.t(0)?, b.t(1)?);
    let same_device = x.ty().map(|t| t.device.clone()) == other.ty().map(|t| t.device.clone());
    b.only(same_device, "another device")?;
    done![b.op("to.dtype", args![x, other.dtype()])]
}

/// As many steps of one length.
fn linspace(b: &Builder<'_>) -> Made {
    let own = b.own_tensor()?;
    b.only(matches!(own.dtype, Dtype::F32 | Dtype::F64), "a dtype that does not count so far")?;
    let (start, end, steps) = (b.float(0)?, b.float(1)?, b.int(2)?);
    let device = Arg::Device(own.device.clone());
    #[allow(clippy::cast_precision_loss)]
    let step = if steps > 1 { (end - start) / (steps as f64 - 1.0) } else { 0.0 };
    let place = b.op("arange.default", args![steps; dtype = own.dtype, device = device]);
    done![place * step + start]
}

fn logspace(b: &Builder<'_>) -> Made {
    let own = b.own_tensor()?;
    b.only(own.dtype.is_float(), "whole numbers")?;
    let device = Arg::Device(own.device.clone());
    let line = b.op("linspace", args![b.arg(0), b.arg(1), b.arg(2); dtype = own.dtype, device = device]);
    done![b.op("pow.Scalar", args![b.float(3)?, line])]
}
