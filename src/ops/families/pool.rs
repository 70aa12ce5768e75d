//! Pooling and resampling: spatial sizes change, the suggested memory format stays.

use crate::graph::{Arg, Dtype, MemoryFormat, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::norm::suggested;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (max_pool, &["aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default"]),
    (
        max_pool_with_indices,
        &[
            "aten.max_pool1d_with_indices.default",
            "aten.max_pool2d_with_indices.default",
            "aten.max_pool3d_with_indices.default",
        ],
    ),
    (avg_pool, &["aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default"]),
    (
        adaptive,
        &[
            "aten.adaptive_avg_pool1d.default",
            "aten.adaptive_avg_pool2d.default",
            "aten.adaptive_avg_pool3d.default",
            "aten._adaptive_avg_pool2d.default",
            "aten._adaptive_avg_pool3d.default",
        ],
    ),
    (adaptive_with_indices, &["aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default"]),
    (adaptive_with_indices_in_rows, &["aten.adaptive_max_pool3d.default"]),
    (unpool, &["aten.max_unpool2d.default"]),
    (fractional, &["aten.fractional_max_pool2d.default", "aten.fractional_max_pool3d.default"]),
    (
        upsample,
        &[
            "aten.upsample_nearest1d.default",
            "aten.upsample_nearest2d.default",
            "aten._upsample_nearest_exact2d.default",
            "aten.upsample_nearest3d.default",
            "aten._upsample_nearest_exact1d.default",
            "aten._upsample_nearest_exact3d.default",
            "aten.upsample_linear1d.default",
            "aten.upsample_bilinear2d.default",
            "aten.upsample_trilinear3d.default",
            "aten.upsample_bicubic2d.default",
            "aten._upsample_bilinear2d_aa.default",
            "aten._upsample_bicubic2d_aa.default",
        ],
    ),
    (
        upsample_by,
        &[
            "aten.upsample_nearest1d.vec",
            "aten.upsample_nearest2d.vec",
            "aten.upsample_nearest3d.vec",
            "aten._upsample_nearest_exact1d.vec",
            "aten._upsample_nearest_exact2d.vec",
            "aten._upsample_nearest_exact3d.vec",
            "aten.upsample_linear1d.vec",
            "aten.upsample_bilinear2d.vec",
            "aten.upsample_trilinear3d.vec",
            "aten.upsample_bicubic2d.vec",
            "aten._upsample_bilinear2d_aa.vec",
            "aten._upsample_bicubic2d_aa.vec",
        ],
    ),
    (sampled, &["aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"]),
    (affine_grid, &["aten.affine_grid_generator.default"]),
    (
        like_input,
        &[
            "aten.max_pool2d_with_indices_backward.default",
            "aten.avg_pool2d_backward.default",
            "aten._adaptive_avg_pool2d_backward.default",
        ],
    ),
];

/// How many of the last dimensions are spatial: from the digit in the name.
fn spatial_rank(c: &Call<'_>) -> usize {
    let name = &c.operator.schema.name;
    [("1d", 1), ("3d", 3)].iter().find(|(text, _)| name.contains(text)).map_or(2, |(_, n)| *n)
}

fn check_rank(c: &Call<'_>, t: &TensorType) -> Result<usize, CallFault> {
    let space = spatial_rank(c);
    match t.rank().checked_sub(space) {
        Some(outer @ (1 | 2)) => Ok(outer),
        _ => Err(c.bad(
            0,
            format!("{} or {} dimensions", space.saturating_add(1), space.saturating_add(2)),
            t.rank().to_string(),
        )),
    }
}

fn at(list: &[i64], d: usize, default: i64) -> i64 {
    match list {
        [] => default,
        [one] => *one,
        many => many.get(d).copied().unwrap_or(default),
    }
}

/// The size of one pooled dimension (`pooling_output_shape`).
fn pooled(
    c: &mut Call<'_>,
    size: Dim,
    (kernel, stride, padding, dilation): (i64, i64, i64, i64),
    ceil: bool,
) -> Result<Dim, CallFault> {
    if kernel < 1 || stride < 1 || dilation < 1 || padding < 0 {
        return Err(c.bad(
            1,
            "kernel, stride and dilation of 1 or more, padding of 0 or more",
            format!("{kernel}, {stride}, {dilation}, {padding}"),
        ));
    }
    if padding > kernel.wrapping_div(2) {
        return Err(c.bad(3, format!("at most half of the kernel, {}", kernel.wrapping_div(2)), padding.to_string()));
    }
    let reach = dilation.saturating_mul(kernel.saturating_sub(1)).saturating_add(1);
    let fixed = padding.saturating_mul(2).saturating_sub(reach);
    let room = sizes::add(c.symbols, size, Dim::Fixed(fixed))?;
    let rounded = if ceil { sizes::add(c.symbols, room, Dim::Fixed(stride.saturating_sub(1)))? } else { room };
    let steps = sizes::floordiv(c.symbols, rounded, Dim::Fixed(stride))?;
    let count = sizes::add(c.symbols, steps, Dim::Fixed(1))?;
    if count.fixed().is_some_and(|n| n < 1) {
        return Err(c.bad(1, "a window within the padded input", c.symbols.print_python(size)));
    }
    if !ceil {
        return Ok(count);
    }
    // The last window must start inside the input or its left padding.
    let last = sizes::mul(c.symbols, steps, Dim::Fixed(stride))?;
    let inside = sizes::add(c.symbols, size, Dim::Fixed(padding))?;
    Ok(if sizes::less(c.symbols, last, inside) == Some(false) { steps } else { count })
}

struct Pool {
    dilation: Option<usize>,
    ceil: usize,
}

fn pooled_sizes(c: &mut Call<'_>, p: &Pool) -> Result<Sizes, CallFault> {
    let t = c.tensor(0)?;
    let outer = check_rank(c, t)?;
    let (kernel, stride, padding) = (c.ints(1)?, c.ints(2)?, c.ints(3)?);
    let dilation = match p.dilation {
        Some(i) => c.ints(i)?,
        None => smallvec::smallvec![1],
    };
    let ceil = c.bool(p.ceil)?;
    let mut dims: Sizes = t.sizes.iter().take(outer).copied().collect();
    for (d, size) in t.sizes.iter().skip(outer).enumerate() {
        let k = at(&kernel, d, 1);
        let window = (k, at(&stride, d, k), at(&padding, d, 0), at(&dilation, d, 1));
        dims.push(pooled(c, *size, window, ceil)?);
    }
    Ok(dims)
}

fn max_pool(c: &mut Call<'_>) -> Typed {
    let dims = pooled_sizes(c, &Pool { dilation: Some(4), ceil: 5 })?;
    let t = c.tensor(0)?;
    suggested(c, t.dtype, t, dims)
}

fn max_pool_with_indices(c: &mut Call<'_>) -> Typed {
    let dims = pooled_sizes(c, &Pool { dilation: Some(4), ceil: 5 })?;
    let t = c.tensor(0)?;
    Ok(out::many([kept_format(c, t.dtype, t, dims.clone())?, kept_format(c, Dtype::I64, t, dims)?]))
}

fn avg_pool(c: &mut Call<'_>) -> Typed {
    let dims = pooled_sizes(c, &Pool { dilation: None, ceil: 4 })?;
    let t = c.tensor(0)?;
    if spatial_rank(c) == 3 && &*t.device.kind == "cpu" {
        return out::contiguous(c.symbols, t.dtype, dims, t.device.clone());
    }
    kept_format(c, t.dtype, t, dims)
}

/// Rows are pooled as images of one row, whose channels may be innermost.
fn kept_format(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    let last = t.strides.as_ref().and_then(|s| s.last().copied()).and_then(|s| s.fixed());
    let length = t.sizes.last().and_then(|d| d.fixed());
    let (Some(stride), Some(length), 1, 3) = (last, length, spatial_rank(c), t.rank()) else {
        return suggested(c, dtype, t, dims);
    };
    let mut image = t.clone();
    image.sizes.insert(2, Dim::Fixed(1));
    if let Some(s) = &mut image.strides {
        s.insert(2, Dim::Fixed(stride.saturating_mul(length)));
    }
    let mut whole = dims.clone();
    whole.insert(2, Dim::Fixed(1));
    let stored = suggested(c, dtype, &image, whole)?;
    let Some(mut strides) = stored.as_tensor().and_then(|t| t.strides.clone()) else { return Ok(stored) };
    strides.remove(2);
    Ok(out::strided(dtype, dims, Some(strides), t.device.clone()))
}

/// The input's outer sizes, then `space` sizes of argument `i` (one for all, or one each).
fn resized(c: &mut Call<'_>, t: &TensorType, i: usize) -> Result<Sizes, CallFault> {
    let (outer, wanted) = (check_rank(c, t)?, c.dims(i)?);
    let mut dims: Sizes = t.sizes.iter().take(outer).copied().collect();
    let space = spatial_rank(c);
    match wanted.as_slice() {
        [one] => dims.extend(std::iter::repeat_n(*one, space)),
        many if many.len() == space => dims.extend(many.iter().copied()),
        many => return Err(c.bad(i, format!("{space} sizes"), many.len().to_string())),
    }
    Ok(dims)
}

/// To 1 by 1 it is a mean, whose strides are those of a channels-last tensor where the input is one.
fn adaptive(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = resized(c, t, 1)?;
    let volume = spatial_rank(c) == 3;
    let single = dims.iter().rev().take(3).all(|d| *d == Dim::Fixed(1));
    if volume && !single {
        return out::contiguous(c.symbols, t.dtype, dims, t.device.clone());
    }
    kept_format(c, t.dtype, t, dims)
}

fn adaptive_with_indices(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = resized(c, t, 1)?;
    Ok(out::many([kept_format(c, t.dtype, t, dims.clone())?, kept_format(c, Dtype::I64, t, dims)?]))
}

/// Row by row, however the input lies.
fn adaptive_with_indices_in_rows(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = resized(c, t, 1)?;
    let one = |c: &mut Call<'_>, dtype| out::contiguous(c.symbols, dtype, dims.clone(), t.device.clone());
    Ok(out::many([one(c, t.dtype)?, one(c, Dtype::I64)?]))
}

/// Row by row, with places.
fn fractional(c: &mut Call<'_>) -> Typed {
    let (t, samples) = (c.tensor(0)?, c.tensor(3)?);
    let dims = resized(c, t, 2)?;
    let space = spatial_rank(c);
    let outer = check_rank(c, t)?;
    let kernel = c.ints(1)?;
    for (d, (own, wanted)) in t.sizes.iter().zip(&dims).skip(outer).enumerate() {
        let reach = at(&kernel, d, 1).saturating_add(wanted.fixed().unwrap_or(1)).saturating_sub(1);
        if own.fixed().is_some_and(|n| n < reach) || at(&kernel, d, 1) < 1 || wanted.fixed().is_some_and(|n| n < 1) {
            return Err(c.bad(1, "windows that fit the input", reach.to_string()));
        }
    }
    let ways = Dim::Fixed(i64::try_from(space).unwrap_or(0));
    if samples.rank() != 3 || samples.sizes.last() != Some(&ways) || samples.dtype != t.dtype {
        return Err(c.bad(
            3,
            format!("{space} samples a plane, of the input's dtype"),
            sizes::show(c.symbols, &samples.sizes),
        ));
    }
    let one = |c: &mut Call<'_>, dtype| out::contiguous(c.symbols, dtype, dims.clone(), t.device.clone());
    Ok(out::many([one(c, t.dtype)?, one(c, Dtype::I64)?]))
}

fn unpool(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = resized(c, t, 2)?;
    suggested(c, t.dtype, t, dims)
}

fn upsample(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = resized(c, t, 1)?;
    suggested(c, t.dtype, t, dims)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn upsample_by(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !c.is_none(1) {
        let dims = resized(c, t, 1)?;
        return suggested(c, t.dtype, t, dims);
    }
    let outer = check_rank(c, t)?;
    let place = c.operator.schema.param_index("scale_factors").unwrap_or(2);
    let factors = c.arg(place).items().unwrap_or_default();
    let mut dims: Sizes = t.sizes.iter().take(outer).copied().collect();
    for (d, size) in t.sizes.iter().skip(outer).enumerate() {
        let factor = match factors.get(d) {
            Some(Arg::Float(f)) => *f,
            Some(Arg::Int(n)) => *n as f64,
            _ => return Err(c.bad(place, format!("{} factors", spatial_rank(c)), factors.len().to_string())),
        };
        let grown = match size.fixed() {
            Some(n) => Dim::Fixed((n as f64 * factor).floor() as i64),
            None if factor.fract() == 0.0 => sizes::mul(c.symbols, *size, Dim::Fixed(factor as i64))?,
            None => c.unbacked(0, d.saturating_add(outer)),
        };
        if grown.fixed().is_some_and(|n| n < 1) {
            return Err(c.bad(place, "factors that leave an element", factor.to_string()));
        }
        dims.push(grown);
    }
    suggested(c, t.dtype, t, dims)
}

fn sampled(c: &mut Call<'_>) -> Typed {
    let (t, grid) = (c.tensor(0)?, c.tensor(1)?);
    if t.rank() != grid.rank() || t.rank() < 4 {
        return Err(c.bad(1, format!("{} dimensions", t.rank()), grid.rank().to_string()));
    }
    let mut dims: Sizes = t.sizes.iter().take(2).copied().collect();
    dims.extend(grid.sizes.iter().skip(1).take(t.rank().saturating_sub(2)).copied());
    out::contiguous(c.symbols, t.dtype, dims, t.device.clone())
}

fn affine_grid(c: &mut Call<'_>) -> Typed {
    let (t, wanted) = (c.tensor(0)?, c.dims(1)?);
    let mut dims: Sizes = wanted.iter().take(1).copied().collect();
    dims.extend(wanted.iter().skip(2).copied());
    dims.push(Dim::Fixed(i64::try_from(wanted.len().saturating_sub(2)).unwrap_or(0)));
    out::contiguous(c.symbols, t.dtype, dims, t.device.clone())
}

fn like_input(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(1)?;
    let strides = match layout::suggested_format(c.symbols, t) {
        Some(format) => Some(layout::of_format(c.symbols, &t.sizes, format)?),
        None => Some(layout::of_format(c.symbols, &t.sizes, MemoryFormat::Contiguous)?),
    };
    Ok(out::strided(t.dtype, t.sizes.clone(), strides, t.device.clone()))
}
