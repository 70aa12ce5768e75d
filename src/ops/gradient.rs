//! Gradients that have the types of what they are gradients of, and Fourier transforms.

use super::call::Call;
use super::error::Fault;
use super::norm::suggested;
use super::out;
use super::promote::{to_complex, to_real};
use super::rules::Entry;
use super::sizes;
use crate::graph::{Arg, TensorType, ValueType};
use crate::sym::Dim;

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
    (|c| like(c, 0), &["aten.rrelu_with_noise.default"]),
    (transform, &["aten._fft_c2c.default", "aten._fft_r2c.default", "aten._fft_c2r.default"]),
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

/// How transforms are stored depends on the library that computes them.
fn transform(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let axes = c.axes(1, t.rank())?.unwrap_or_default();
    let mut dims = t.sizes.clone();
    let last = axes.last().and_then(|d| dims.get_mut(*d));
    let dtype = match (&*c.operator.schema.name, last) {
        ("_fft_r2c", Some(size)) => {
            if c.bool(3)? {
                let half = sizes::floordiv(c.symbols, *size, Dim::Fixed(2))?;
                *size = sizes::add(c.symbols, half, Dim::Fixed(1))?;
            }
            to_complex(t.dtype)
        }
        ("_fft_c2r", Some(size)) => {
            *size = c.dim(3)?;
            to_real(t.dtype)
        }
        _ => to_complex(t.dtype),
    };
    Ok(out::strided(dtype, dims, None, t.device.clone()))
}
