//! Gradients that have the types of what they are gradients of.

use super::call::Call;
use super::error::Fault;
use super::norm::suggested;
use super::out;
use super::rules::Entry;
use crate::graph::{Arg, TensorType, ValueType};

type Typed = Result<ValueType, Fault>;

pub(super) const RULES: &[Entry] = &[
    (
        |c| like(c, 1),
        &[
            "aten.hardswish_backward.default",
            "aten.log_sigmoid_backward.default",
            "aten.reflection_pad2d_backward.default",
            "aten.nll_loss_backward.default",
        ],
    ),
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

fn like(c: &mut Call<'_>, i: usize) -> Typed {
    let t = c.tensor(i)?;
    out::like(c, t.dtype, t)
}

fn plain(c: &mut Call<'_>, t: &TensorType) -> Typed {
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

/// The weight's gradient is not yet summed over what the weight was broadcast to.
fn of_both(c: &mut Call<'_>) -> Typed {
    let (t, weight) = (c.tensor(1)?, c.tensor(2)?);
    let wide = out::broadcast(c, 2, &[&t.sizes, &weight.sizes])?;
    let first = out::like(c, t.dtype, t)?;
    Ok(out::many([first, out::contiguous(c.symbols, weight.dtype, wide, t.device.clone())?]))
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
