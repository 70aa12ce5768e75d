//! Types as the value tables of `model.json` hold them.

use std::fmt::Write;

use super::python;
use crate::graph::{Device, TensorType};
use crate::sym::Dim;

/// Appends a tensor's type; `symbolic` appends what stands for a size: for a number that is done here.
pub(super) fn tensor(out: &mut String, ty: &TensorType, symbolic: &mut dyn FnMut(&mut String, Dim)) {
    let mut size = |out: &mut String, dim: Dim| match dim {
        Dim::Fixed(v) => {
            let _ = write!(out, "{{\"as_int\": {v}}}");
        }
        Dim::Expr(_) => symbolic(out, dim),
    };
    let _ = write!(out, "{{\"dtype\": {}, \"sizes\": [", ty.dtype.pt2_number());
    python::joined(out, ty.sizes.iter().copied(), &mut size);
    let _ = write!(out, "], \"requires_grad\": {}, \"device\": ", ty.requires_grad);
    device(out, &ty.device);
    out.push_str(", \"strides\": [");
    python::joined(out, ty.strides.iter().flatten().copied(), &mut size);
    out.push_str("], \"storage_offset\": ");
    size(out, ty.offset);
    let _ = write!(out, ", \"layout\": {}}}", ty.layout.pt2_number());
}

/// Appends a device.
pub(super) fn device(out: &mut String, device: &Device) {
    out.push_str("{\"type\": ");
    python::quote(out, &device.kind);
    match device.index {
        Some(index) => {
            let _ = write!(out, ", \"index\": {index}}}");
        }
        None => out.push_str(", \"index\": null}"),
    }
}
