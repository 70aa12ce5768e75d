//! Softmax and its logarithm along a dimension; narrow floats are computed in `f32` and rounded once.

use crate::exec::call::cx::Cx;
use crate::exec::dense::softmax::{Exponential, Soft, soft};
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::round;
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::rows;
use crate::exec::tensor::lane::{Lane, LaneKind};
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (|cx| softmax(cx, Soft::Max), &["aten.softmax.int", "aten._softmax.default"]),
    (|cx| softmax(cx, Soft::LogMax), &["aten.log_softmax.int", "aten._log_softmax.default"]),
    (safe_softmax, &["aten._safe_softmax.default"]),
];

fn softmax(cx: &mut Cx<'_, '_, '_>, kind: Soft) -> Made {
    let dtype = cx.meta()?.dtype;
    match LaneKind::of(dtype) {
        LaneKind::F32 => softmax_in::<f32>(cx, kind, dtype),
        LaneKind::F64 => softmax_in::<f64>(cx, kind, dtype),
        _ => Err(CallFault::Unsupported { what: format!("softmax of {}", dtype.long()) }),
    }
}

fn softmax_in<L: Lane + Exponential>(cx: &Cx<'_, '_, '_>, kind: Soft, dtype: Dtype) -> Made {
    let t = cx.tensor(0)?;
    let d = cx.axis(1, t.rank())?;
    let last = d.saturating_add(1) >= t.rank();
    if kind == Soft::LogMax && last && matches!(dtype, Dtype::F16 | Dtype::Bf16) {
        let len = rows::length(t, &[d]);
        let made = rows::map::<f64, f64>(t, &[d], dtype, len, |row, out| log_softmax_row(dtype, last, row, out))?;
        return cx.emit(made);
    }
    let values = rows::cast::<L>(t, dtype)?;
    let mut out = cx.meter().unset::<L>(values.len());
    let product = |sizes: &[usize]| crate::exec::tensor::shape::numel(sizes);
    let outer = product(t.sizes().get(..d).unwrap_or(&[]));
    let inner = product(t.sizes().get(d.saturating_add(1)..).unwrap_or(&[]));
    soft(kind, &values, &mut out, [outer, t.meta.size(d), inner]).map_err(rows::refused)?;
    cx.emit(out)
}

/// Computes a row's log-softmax in `f64`. Of narrow floats along the last dimension PyTorch rounds the sum and its logarithm too.
pub(in crate::exec) fn log_softmax_row(dtype: Dtype, last: bool, row: &[f64], out: &mut [f64]) {
    let largest = row.iter().fold(f64::NEG_INFINITY, |a, v| if v.is_nan() || *v > a { *v } else { a });
    let sum = row.iter().map(|v| (v - largest).exp()).sum::<f64>();
    let narrow = last && matches!(dtype, Dtype::F16 | Dtype::Bf16);
    let log = if narrow { round(dtype, round(dtype, sum).ln()) } else { sum.ln() };
    out.iter_mut().zip(row).for_each(|(o, v)| *o = round(dtype, (v - largest) - log));
}

/// Rows of nothing but -inf give zeros.
fn safe_softmax(cx: &mut Cx<'_, '_, '_>) -> Made {
    let dtype = cx.meta()?.dtype;
    match LaneKind::of(dtype) {
        LaneKind::F32 => safe_in::<f32>(cx, dtype),
        LaneKind::F64 => safe_in::<f64>(cx, dtype),
        _ => Err(CallFault::Unsupported { what: format!("softmax of {}", dtype.long()) }),
    }
}

fn safe_in<L: Lane + Exponential>(cx: &Cx<'_, '_, '_>, dtype: Dtype) -> Made {
    let t = cx.tensor(0)?;
    let d = cx.axis(1, t.rank())?;
    let len = rows::length(t, &[d]);
    let lowest = L::from_f64(f64::NEG_INFINITY);
    let made = rows::map::<L, L>(t, &[d], dtype, len, |row, out| {
        if row.iter().any(|v| *v != lowest) {
            out.copy_from_slice(row);
            L::soft_row(Soft::Max, out);
        }
    })?;
    rows::emit(cx, 0, d, made).map(Value::Tensor)
}
