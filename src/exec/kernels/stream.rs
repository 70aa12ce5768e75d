//! Streams, events and scopes: they order a run, and have no values.
//!
//! A run goes in program order, which every schedule of streams must keep to; what these operators order is in order already.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::Meta;
use crate::exec::tensor::fill;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        |_| Ok(Value::None),
        &[
            "air.scope_enter.default",
            "air.scope_exit.default",
            "air.wait.default",
            "air.tagged_event_record.default",
            "air.tagged_event_wait.default",
            "air.tagged_event_record_on_stream.default",
            "air.tagged_event_wait_on_stream.default",
            "air.tagged_stream_wait_stream.default",
            "air.record_tagged_stream.default",
            "air.record_tagged_stream_.default",
            "air.print.default",
            "npugraph_ex.scope_enter.default",
            "npugraph_ex.scope_exit.default",
            "npugraph_ex.wait.default",
            "npugraph_ex.tagged_event_record.default",
            "npugraph_ex.tagged_event_wait.default",
            "npugraph_ex.tagged_event_record_on_stream.default",
            "npugraph_ex.tagged_event_wait_on_stream.default",
            "npugraph_ex.tagged_stream_wait_stream.default",
            "npugraph_ex.record_tagged_stream.default",
            "npugraph_ex.record_tagged_stream_.default",
            "npugraph_ex.print.default",
            "npu.super_kernel_scope_begin.default",
            "npu.super_kernel_scope_end.default",
        ],
    ),
    (record, &["air.record.default", "npugraph_ex.record.default"]),
    (itself, &["air.wait_tensor.default", "npugraph_ex.wait_tensor.default"]),
];

/// An empty tensor that stands for an event.
fn record(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta().unwrap_or_else(|_| Meta::contiguous(Dtype::F32, &[0]));
    Ok(fill::empty(&meta, cx.meter())?.into())
}

fn itself(cx: &mut Cx<'_, '_, '_>) -> Made {
    Ok(cx.tensor(0)?.clone().into())
}
