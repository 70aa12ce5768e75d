//! Softmax and normalisations. Statistics are small tensors beside the result.

use smallvec::SmallVec;

use crate::graph::{Dtype, MemoryFormat, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (weight_norm, &["aten._weight_norm_interface.default"]),
    (weight_norm_backward, &["aten._weight_norm_interface_backward.default"]),
    (
        softmax,
        &[
            "aten.softmax.int",
            "aten.log_softmax.int",
            "aten._safe_softmax.default",
            "aten._softmax.default",
            "aten._log_softmax.default",
        ],
    ),
    (softmax_backward, &["aten._softmax_backward_data.default", "aten._log_softmax_backward_data.default"]),
    (layer_norm, &["aten.layer_norm.default"]),
    (rms_norm, &["aten.rms_norm.default"]),
    (native_layer_norm, &["aten.native_layer_norm.default"]),
    (fused_rms_norm, &["aten._fused_rms_norm.default"]),
    (group_norm, &["aten.group_norm.default"]),
    (native_group_norm, &["aten.native_group_norm.default"]),
    (batch_norm, &["aten.batch_norm.default"]),
    (instance_norm, &["aten.instance_norm.default"]),
    (
        native_batch_norm,
        &[
            "aten.native_batch_norm.default",
            "aten._native_batch_norm_legit.default",
            "aten._native_batch_norm_legit.no_stats",
            "aten._native_batch_norm_legit_no_training.default",
            "aten._native_batch_norm_legit_functional.default",
            "aten._batch_norm_no_update.default",
            "aten._batch_norm_with_update.default",
        ],
    ),
    (native_layer_norm_backward, &["aten.native_layer_norm_backward.default"]),
    (native_group_norm_backward, &["aten.native_group_norm_backward.default"]),
    (native_batch_norm_backward, &["aten.native_batch_norm_backward.default"]),
];

/// Returns a result of these sizes in the memory format that the operand suggests.
pub(in crate::ops) fn suggested(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    let strides = match layout::suggested_format(c.symbols, t) {
        Some(format) => Some(layout::of_format(c.symbols, &dims, format)?),
        None => None,
    };
    Ok(out::strided(dtype, dims, strides, t.device.clone()))
}

fn plain(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    out::contiguous(c.symbols, dtype, dims, t.device.clone())
}

fn empty(c: &mut Call<'_>, dtype: Dtype, t: &TensorType) -> Typed {
    plain(c, dtype, t, smallvec::smallvec![Dim::Fixed(0)])
}

fn softmax(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(1, t.rank())?;
    let dtype = if c.operator.schema.params.get(2).is_some_and(|p| &*p.name == "half_to_float") {
        if c.bool(2)? { Dtype::F32 } else { t.dtype }
    } else {
        c.dtype(2)?.unwrap_or(t.dtype)
    };
    if !dtype.is_float() && !dtype.is_complex() && !crate::ops::typing::require::is_empty(t) {
        return Err(c.bad(0, "a floating point dtype", dtype.long()));
    }
    plain(c, dtype, t, t.sizes.clone())
}

fn softmax_backward(c: &mut Call<'_>) -> Typed {
    let (t, told) = (c.tensor(0)?, c.dtype(3)?);
    let half = |d| matches!(d, Dtype::F16 | Dtype::Bf16);
    match told {
        Some(d) if d != t.dtype && (half(d) || half(t.dtype)) => {
            Err(c.bad(3, format!("dtype {}", t.dtype.long()), d.long()))
        }
        _ => plain(c, t.dtype, t, t.sizes.clone()),
    }
}

/// Returns how many of the last dimensions are normalised, after checking that they are those of the argument.
fn normalized(c: &mut Call<'_>, t: &TensorType) -> Result<usize, CallFault> {
    let shape = c.dims(1)?;
    let Some(start) = t.rank().checked_sub(shape.len()) else {
        return Err(c.bad(1, format!("at most {} sizes", t.rank()), shape.len().to_string()));
    };
    let tail: Sizes = t.sizes.iter().skip(start).copied().collect();
    if shape.is_empty() || tail.iter().zip(&shape).any(|(a, b)| sizes::differ(c.symbols, *a, *b)) {
        return Err(c.bad(
            1,
            format!("the last sizes of {}", sizes::show(c.symbols, &t.sizes)),
            sizes::show(c.symbols, &shape),
        ));
    }
    for i in [2, 3] {
        if c.operator.schema.params.get(i).is_some_and(|p| matches!(&*p.name, "weight" | "bias"))
            && let Some(w) = c.opt_tensor(i)?
            && (w.rank() != shape.len() || w.sizes.iter().zip(&shape).any(|(a, b)| sizes::differ(c.symbols, *a, *b)))
        {
            return Err(c.bad(
                i,
                format!("sizes {}", sizes::show(c.symbols, &shape)),
                sizes::show(c.symbols, &w.sizes),
            ));
        }
    }
    Ok(start)
}

fn layer_norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    normalized(c, t)?;
    plain(c, t.dtype, t, t.sizes.clone())
}

/// One kernel on the CPU, which writes row by row whatever it reads; elsewhere, and with another dtype, products that may keep a layout.
fn rms_norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let start = normalized(c, t)?;
    let weight = c.opt_tensor(2)?;
    let fused = &*t.device.kind == "cpu" && weight.is_none_or(|w| w.dtype == t.dtype);
    match fused {
        // Of no elements it is the products, here too.
        _ if crate::ops::typing::require::is_empty(t) => scaled_rows(c, t, start),
        true => plain(c, t.dtype, t, t.sizes.clone()),
        false => out::row_or_open(c, t.dtype, t.sizes.clone(), &[Some(t), weight]),
    }
}

/// The input times one factor a row, times the weight: each product lies in memory as that of any two tensors.
fn scaled_rows(c: &mut Call<'_>, t: &TensorType, start: usize) -> Typed {
    let factors = plain(c, t.dtype, t, statistics(t, start))?;
    let product = match &factors {
        ValueType::Tensor(f) => out::pointwise(c, t.dtype, &[Operand::Tensor(t), Operand::Tensor(f)])?,
        _ => return Ok(factors),
    };
    match (&product, c.opt_tensor(2)?) {
        (ValueType::Tensor(p), Some(w)) => out::pointwise(c, t.dtype, &[Operand::Tensor(p), Operand::Tensor(w)]),
        _ => Ok(product),
    }
}

/// Sizes with every dimension from `start` on reduced to 1.
fn statistics(t: &TensorType, start: usize) -> Sizes {
    t.sizes.iter().enumerate().map(|(d, size)| if d < start { *size } else { Dim::Fixed(1) }).collect()
}

/// On the CPU statistics of a half-precision input with full-precision weights are full precision; elsewhere always.
fn statistics_dtype(c: &Call<'_>, t: &TensorType, weights: &[usize]) -> Result<Dtype, CallFault> {
    let half = matches!(t.dtype, Dtype::F16 | Dtype::Bf16);
    let mut mixed = &*t.device.kind != "cpu";
    for i in weights {
        if let Some(w) = c.opt_tensor(*i)? {
            mixed |= w.dtype == Dtype::F32;
        }
    }
    Ok(if half && mixed { Dtype::F32 } else { t.dtype })
}

fn native_layer_norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let start = normalized(c, t)?;
    let dtype = statistics_dtype(c, t, &[2, 3])?;
    let stats = plain(c, dtype, t, statistics(t, start))?;
    Ok(out::many([plain(c, t.dtype, t, t.sizes.clone())?, stats.clone(), stats]))
}

fn fused_rms_norm(c: &mut Call<'_>) -> Typed {
    let (t, shape) = (c.tensor(0)?, c.dims(1)?);
    let Some(start) = t.rank().checked_sub(shape.len()) else {
        return Err(c.bad(1, format!("at most {} sizes", t.rank()), shape.len().to_string()));
    };
    // Without sizes everything is normalised.
    let start = if shape.is_empty() { 0 } else { start };
    let dtype = if matches!(t.dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { t.dtype };
    let stats = plain(c, dtype, t, statistics(t, start))?;
    let dims = match c.opt_tensor(2)? {
        Some(w) => out::broadcast(c, 2, &[&t.sizes, &w.sizes])?,
        None => t.sizes.clone(),
    };
    Ok(out::many([suggested(c, t.dtype, t, dims)?, stats]))
}

fn channels(t: &TensorType) -> Sizes {
    smallvec::smallvec![t.sizes.get(1).copied().unwrap_or(Dim::Fixed(1))]
}

fn group_norm(c: &mut Call<'_>) -> Typed {
    let (t, groups) = (c.tensor(0)?, c.int(1)?);
    if let Some(n) = t.sizes.get(1).and_then(|d| d.fixed())
        && n.checked_rem(groups) != Some(0)
    {
        return Err(c.bad(1, format!("a divisor of {n} channels"), groups.to_string()));
    }
    suggested(c, t.dtype, t, t.sizes.clone())
}

fn native_group_norm(c: &mut Call<'_>) -> Typed {
    let (t, batch, groups) = (c.tensor(0)?, c.dim(3)?, c.int(6)?);
    let dtype = statistics_dtype(c, t, &[1, 2])?;
    let stats = match (&*t.device.kind, t.dtype) {
        // Kernels of devices keep them in full precision, PyTorch's own pieces in the input's.
        ("cpu", _) | (_, Dtype::F32 | Dtype::F64) => {
            plain(c, dtype, t, smallvec::smallvec![batch, Dim::Fixed(groups)])?
        }
        _ => ValueType::Unknown,
    };
    Ok(out::many([suggested(c, t.dtype, t, t.sizes.clone())?, stats.clone(), stats]))
}

fn batch_norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    by_channel(c, t)
}

/// A result in the format of the input; unknown where a batch of one with a stride of its own makes kernels answer differently what that is.
fn by_channel(c: &mut Call<'_>, t: &TensorType) -> Typed {
    let last = [MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d];
    let plain = layout::suggested_format(c.symbols, t) == Some(MemoryFormat::Contiguous);
    let seen = last.iter().any(|f| layout::is_in_format(c.symbols, t, *f) == Some(true));
    if plain && seen && layout::is_contiguous(c.symbols, t) != Some(true) {
        return Ok(out::strided(t.dtype, t.sizes.clone(), None, t.device.clone()));
    }
    suggested(c, t.dtype, t, t.sizes.clone())
}

/// Channels of all samples become those of one: for that they must lie together.
fn instance_norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    plain(c, t.dtype, t, t.sizes.clone())
}

fn native_batch_norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let name = &*c.operator.schema.name;
    let training = match c.operator.schema.param_index("training") {
        Some(i) => c.bool(i)?,
        None => name == "_batch_norm_with_update",
    };
    let mut place: SmallVec<[usize; 4]> = SmallVec::new();
    let schema = &c.operator.schema;
    place.extend(["weight", "bias", "running_mean", "running_var"].iter().filter_map(|name| schema.param_index(name)));
    let dtype = statistics_dtype(c, t, &place)?;
    let result = by_channel(c, t)?;
    let stats = match training {
        true => plain(c, dtype, t, channels(t))?,
        false if &*t.device.kind == "cpu" => empty(c, dtype, t)?,
        // Where it does not train, some devices give none, others those that were passed.
        false => ValueType::Unknown,
    };
    let mut all = vec![result, stats.clone(), stats];
    if name.starts_with("_batch_norm") {
        all.push(empty(c, Dtype::U8, t)?);
    }
    if name.ends_with("functional") {
        for i in [3, 4] {
            let running = c.tensor(i)?;
            // Of narrow ones PyTorch's kernel gives their own type, and what it traces says f32.
            let is_narrow = matches!(running.dtype, Dtype::F16 | Dtype::Bf16);
            all.push(match training && is_narrow {
                true => ValueType::Unknown,
                false => out::like(c, running.dtype, running)?,
            });
        }
    }
    Ok(out::many(all))
}

/// Gradients of input, weight and bias, as far as the mask asks for them.
fn gradients(c: &mut Call<'_>, mask: usize, first: ValueType, of: &[Option<&TensorType>; 2]) -> Typed {
    let wanted = c.arg(mask).items().unwrap_or_default();
    let on = |k: usize| wanted.get(k).is_none_or(|a| *a == crate::graph::Arg::Bool(true));
    let mut all = vec![if on(0) { first } else { ValueType::None }];
    for (k, t) in of.iter().enumerate() {
        all.push(match t {
            Some(t) if on(k.saturating_add(1)) => plain(c, t.dtype, t, t.sizes.clone())?,
            _ => ValueType::None,
        });
    }
    Ok(out::many(all))
}

fn native_layer_norm_backward(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(1)?;
    let first = plain(c, t.dtype, t, t.sizes.clone())?;
    let of = [c.opt_tensor(5)?, c.opt_tensor(6)?];
    gradients(c, 7, first, &of)
}

/// One element a channel, of the weight's dtype if there is one.
fn channel_gradient(c: &mut Call<'_>, t: &TensorType, weight: usize, count: Dim) -> Result<TensorType, CallFault> {
    let dtype = c.opt_tensor(weight)?.map_or(t.dtype, |w| w.dtype);
    Ok(out::tensor(dtype, smallvec::smallvec![count], Some(smallvec::smallvec![Dim::Fixed(1)]), t.device.clone()))
}

fn native_group_norm_backward(c: &mut Call<'_>) -> Typed {
    let (t, count) = (c.tensor(1)?, c.dim(6)?);
    let each = channel_gradient(c, t, 4, count)?;
    let first = match layout::is_contiguous(c.symbols, t) {
        Some(true) => out::like(c, t.dtype, t)?,
        _ => suggested(c, t.dtype, t, t.sizes.clone())?,
    };
    gradients(c, 9, first, &[Some(&each), Some(&each)])
}

fn native_batch_norm_backward(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(1)?;
    let each = channel_gradient(c, t, 2, t.sizes.get(1).copied().unwrap_or(Dim::Fixed(1)))?;
    let first = suggested(c, t.dtype, t, t.sizes.clone())?;
    gradients(c, 9, first, &[Some(&each), Some(&each)])
}

/// The memory format of convolutions: channels-last where input or weight is.
pub(in crate::ops) fn joint_format(c: &Call<'_>, tensors: &[&TensorType]) -> Option<MemoryFormat> {
    let mut format = MemoryFormat::Contiguous;
    for t in tensors {
        match layout::suggested_format(c.symbols, t)? {
            MemoryFormat::Contiguous => {}
            other => format = other,
        }
    }
    Some(format)
}

/// A weight row by row, and its lengths as those that were given lie; narrow floats have wide lengths.
fn weight_norm(c: &mut Call<'_>) -> Typed {
    let (v, g) = (c.tensor(0)?, c.tensor(1)?);
    if !v.dtype.is_float() || v.dtype != g.dtype {
        return Err(c.bad(1, format!("floats, of dtype {}", v.dtype.long()), g.dtype.long()));
    }
    let wide = if matches!(v.dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { v.dtype };
    let weight = out::contiguous(c.symbols, v.dtype, v.sizes.clone(), v.device.clone())?;
    Ok(out::many([weight, out::strided(wide, g.sizes.clone(), g.strides.clone(), g.device.clone())]))
}

fn weight_norm_backward(c: &mut Call<'_>) -> Typed {
    let (grad, v, g) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    if !v.dtype.is_float() || v.dtype != grad.dtype {
        return Err(c.bad(1, format!("floats, of dtype {}", grad.dtype.long()), v.dtype.long()));
    }
    let one = |c: &mut Call<'_>, t: &TensorType| out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone());
    Ok(out::many([one(c, v)?, one(c, g)?]))
}
