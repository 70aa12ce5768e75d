//! TorchAir's streams, events and scopes: effects with hardly a type.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (record, &["air.record.default", "npugraph_ex.record.default"]),
    (wait_tensor, &["air.wait_tensor.default", "npugraph_ex.wait_tensor.default"]),
    (wait, &["air.wait.default", "npugraph_ex.wait.default"]),
];

/// An empty tensor that stands for an event.
fn record(c: &mut Call<'_>) -> Typed {
    if let Some(known @ ValueType::Tensor(_)) = c.told() {
        return Ok(known.clone());
    }
    let device = match c.device(0)? {
        Some(device) => device,
        None => c.default_device(),
    };
    let empty: Sizes = smallvec::smallvec![Dim::Fixed(0)];
    out::contiguous(c.symbols, Dtype::F32, empty, device)
}

fn wait_tensor(c: &mut Call<'_>) -> Typed {
    Ok(out::itself(c.tensor(0)?))
}

fn wait(c: &mut Call<'_>) -> Typed {
    if c.tensors(0)?.is_empty() {
        return Err(c.bad(0, "one tensor or more", "none"));
    }
    Ok(ValueType::None)
}
