//! Gradients that have the types of what they are gradients of.

use crate::graph::{Arg, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::norm::suggested;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        |c| {
            let t = c.tensor(1)?;
            suggested(c, t.dtype, t, t.sizes.clone())
        },
        &["aten.reflection_pad2d_backward.default"],
    ),
    (
        |c| {
            let t = c.tensor(1)?;
            plain(c, t)
        },
        &["aten.nll_loss_backward.default"],
    ),
    (of_gradient, &["aten.log_sigmoid_backward.default"]),
    (of_both, &["aten._prelu_kernel_backward.default"]),
    (masked, &["aten.matmul_backward.default", "aten.grid_sampler_2d_backward.default"]),
    (of_sizes, &["aten.upsample_nearest2d_backward.default"]),
    (
        |c| {
            let t = c.tensor(0)?;
            plain(c, t)
        },
        &["aten.rrelu_with_noise.default"],
    ),
];

fn plain(c: &mut Call<'_>, t: &TensorType) -> Typed {
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

/// Written into a tensor like the gradient that comes in, unless the input makes it larger.
fn of_gradient(c: &mut Call<'_>) -> Typed {
    let (gradient, t, buffer) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    // Kernels of devices keep nothing in the buffer, and read nothing of one without elements.
    let is_kept = &*buffer.device.kind == "cpu" || buffer.sizes.as_slice() != [Dim::Fixed(0)];
    let all: Vec<&TensorType> = [gradient, t].into_iter().chain(is_kept.then_some(buffer)).collect();
    let shapes: Vec<&[Dim]> = all.iter().map(|t| t.sizes.as_slice()).collect();
    let dims = out::broadcast(c, 1, &shapes)?;
    if sizes::all_same(c.symbols, &dims, &gradient.sizes) {
        return out::like(c, gradient.dtype, gradient);
    }
    let operands: Vec<Option<&TensorType>> = all.into_iter().map(Some).collect();
    out::row_or_open(c, gradient.dtype, dims, &operands)
}

/// One walk over input, weight and gradient gives both. The weight's gradient is not yet summed over what the weight was broadcast to.
fn of_both(c: &mut Call<'_>) -> Typed {
    let (gradient, t, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let walked = [Operand::Tensor(t), Operand::Tensor(weight), Operand::Tensor(gradient)];
    let first = out::pointwise(c, t.dtype, &walked)?;
    Ok(out::many([first, out::pointwise(c, weight.dtype, &walked)?]))
}

/// Two gradients, each only if the mask asks for it.
fn masked(c: &mut Call<'_>) -> Typed {
    let place = c.operator.schema.params.len().saturating_sub(1);
    let wanted = c.arg(place).items().unwrap_or_default();
    let mut all = Vec::new();
    for (k, of) in [1, 2].into_iter().enumerate() {
        let t = c.tensor(of)?;
        let on = wanted.get(k).is_none_or(|a| *a == Arg::Bool(true));
        all.push(if on { plain(c, t)? } else { ValueType::None });
    }
    Ok(out::many(all))
}

fn of_sizes(c: &mut Call<'_>) -> Typed {
    let (t, dims) = (c.tensor(0)?, c.dims(2)?);
    suggested(c, t.dtype, t, dims)
}
