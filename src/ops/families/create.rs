//! New tensors from sizes, from others' sizes, from casts and copies.

use crate::graph::{Device, Dtype, MemoryFormat, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Number};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        of_sizes,
        &[
            "aten.zeros.default",
            "aten.ones.default",
            "aten.empty.memory_format",
            "aten.rand.default",
            "aten.randn.default",
            "aten.randn.generator",
            "aten.normal.float_float",
        ],
    ),
    (full, &["aten.full.default"]),
    (scalar_tensor, &["aten.scalar_tensor.default"]),
    (
        like,
        &[
            "aten.zeros_like.default",
            "aten.ones_like.default",
            "aten.empty_like.default",
            "aten.full_like.default",
            "aten.rand_like.default",
            "aten.randn_like.default",
            "aten.randint_like.default",
            "aten.randint_like.low_dtype",
            "aten.clone.default",
        ],
    ),
    (new, &["aten.new_zeros.default", "aten.new_ones.default", "aten.new_empty.default", "aten.new_full.default"]),
    (strided, &["aten.empty_strided.default", "aten.new_empty_strided.default"]),
    (permuted, &["aten.empty_permuted.default"]),
    (arange, &["aten.arange.default", "aten.arange.start", "aten.arange.start_step"]),
    (linspace, &["aten.linspace.default", "aten.logspace.default"]),
    (eye, &["aten.eye.default", "aten.eye.m"]),
    (randint, &["aten.randint.default", "aten.randint.low"]),
    (randperm, &["aten.randperm.default"]),
    (fill, &["aten.fill.Scalar", "aten.fill.Tensor", "aten.zero.default"]),
    (copy, &["aten.copy.default"]),
    (
        cast,
        &[
            "aten._to_copy.default",
            "aten.to.device",
            "aten.to.dtype",
            "aten.to.dtype_layout",
            "aten.to.other",
            "aten.type_as.default",
            "prims.convert_element_type.default",
            "prims.device_put.default",
        ],
    ),
    (fresh, &["aten.lift_fresh_copy.default"]),
    (iota, &["prims.iota.default"]),
    (resize, &["aten.resize_.default"]),
    (set, &["aten.set_.default", "aten.set_.source_Tensor", "aten.set_.source_Tensor_storage_offset"]),
    (triangle_indices, &["aten.tril_indices.default", "aten.triu_indices.default"]),
];

/// What the arguments `dtype`, `device` and `memory_format` of this call say.
struct Options {
    dtype: Option<Dtype>,
    device: Option<Device>,
    format: Option<MemoryFormat>,
}

fn options(c: &Call<'_>) -> Result<Options, CallFault> {
    let place = |name| c.operator.schema.param_index(name);
    Ok(Options {
        dtype: place("dtype").map_or(Ok(None), |i| c.dtype(i))?,
        device: place("device").map_or(Ok(None), |i| c.device(i))?,
        format: place("memory_format").and_then(|i| c.memory_format(i)),
    })
}

fn check_sizes(c: &Call<'_>, i: usize, dims: &[Dim]) -> Result<(), CallFault> {
    if dims.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(i, "sizes of 0 or more", sizes::show(c.symbols, dims)));
    }
    Ok(())
}

fn made(c: &mut Call<'_>, dtype: Dtype, dims: Sizes, o: Options) -> Typed {
    let device = o.device.unwrap_or_else(|| c.default_device());
    let strides = layout::of_format(c.symbols, &dims, o.format.unwrap_or(MemoryFormat::Contiguous))?;
    Ok(out::strided(dtype, dims, Some(strides), device))
}

fn of_sizes(c: &mut Call<'_>) -> Typed {
    let place = c.operator.schema.param_index("size").unwrap_or(0);
    let (dims, o) = (c.dims(place)?, options(c)?);
    check_sizes(c, place, &dims)?;
    if o.format == Some(MemoryFormat::Preserve) {
        return Err(CallFault::mismatch(
            "memory_format",
            "a format (there is no tensor whose layout to keep)",
            "preserve",
        ));
    }
    made(c, o.dtype.unwrap_or(Dtype::F32), dims, o)
}

fn full(c: &mut Call<'_>) -> Typed {
    let (dims, value, o) = (c.dims(0)?, c.number(1)?, options(c)?);
    check_sizes(c, 0, &dims)?;
    made(c, o.dtype.unwrap_or_else(|| value.dtype()), dims, o)
}

fn scalar_tensor(c: &mut Call<'_>) -> Typed {
    let o = options(c)?;
    c.number(0)?;
    made(c, o.dtype.unwrap_or(Dtype::F32), Sizes::new(), o)
}

/// Layout as the operand's, or as `memory_format` says.
fn like_with(c: &mut Call<'_>, t: &TensorType, o: Options) -> Typed {
    let strides = match o.format {
        None | Some(MemoryFormat::Preserve) => layout::preserved(c.symbols, t)?,
        Some(format) => Some(layout::of_format(c.symbols, &t.sizes, format)?),
    };
    let device = o.device.unwrap_or_else(|| t.device.clone());
    Ok(out::strided(o.dtype.unwrap_or(t.dtype), t.sizes.clone(), strides, device))
}

fn like(c: &mut Call<'_>) -> Typed {
    let (t, o) = (c.tensor(0)?, options(c)?);
    like_with(c, t, o)
}

fn new(c: &mut Call<'_>) -> Typed {
    let (t, dims, mut o) = (c.tensor(0)?, c.dims(1)?, options(c)?);
    check_sizes(c, 1, &dims)?;
    o.device = o.device.or_else(|| Some(t.device.clone()));
    made(c, o.dtype.unwrap_or(t.dtype), dims, o)
}

fn strided(c: &mut Call<'_>) -> Typed {
    let base = usize::from(c.name(0) == "self");
    let (dims, strides, o) = (c.dims(base)?, c.dims(base.saturating_add(1))?, options(c)?);
    if dims.len() != strides.len() {
        return Err(c.bad(base.saturating_add(1), format!("{} strides", dims.len()), strides.len().to_string()));
    }
    let (dtype, device) = if base == 1 {
        let t = c.tensor(0)?;
        (t.dtype, t.device.clone())
    } else {
        (Dtype::F32, c.default_device())
    };
    Ok(out::strided(o.dtype.unwrap_or(dtype), dims, Some(strides), o.device.unwrap_or(device)))
}

fn permuted(c: &mut Call<'_>) -> Typed {
    let (dims, order, o) = (c.dims(0)?, c.axes(1, c.dims(0)?.len())?, options(c)?);
    let order = order.unwrap_or_default();
    if order.len() != dims.len() {
        return Err(c.bad(1, format!("an order of {} dimensions", dims.len()), order.len().to_string()));
    }
    let strides = layout::dense(c.symbols, &dims, order.iter().rev().copied())?;
    let device = o.device.unwrap_or_else(|| c.default_device());
    Ok(out::strided(o.dtype.unwrap_or(Dtype::F32), dims, Some(strides), device))
}

fn vector(c: &mut Call<'_>, dtype: Dtype, size: Dim, o: Options) -> Typed {
    made(c, dtype, smallvec::smallvec![size], o)
}

#[allow(clippy::cast_precision_loss)]
fn as_float(n: Number) -> Option<f64> {
    match n {
        Number::Int(d) => d.fixed().map(|v| v as f64),
        Number::Float(v) => v,
        Number::Bool(b) => b.map(f64::from),
        Number::Complex => None,
    }
}

#[allow(clippy::cast_possible_truncation)]
fn arange(c: &mut Call<'_>) -> Typed {
    let o = options(c)?;
    let (start, end, step) = match &*c.operator.schema.overload {
        "" => (Number::Int(Dim::Fixed(0)), c.number(0)?, Number::Int(Dim::Fixed(1))),
        "start" => (c.number(0)?, c.number(1)?, Number::Int(Dim::Fixed(1))),
        _ => (c.number(0)?, c.number(1)?, c.number(2)?),
    };
    let integral = [start, end, step].iter().all(|n| matches!(n, Number::Int(_) | Number::Bool(_)));
    let dtype = o.dtype.unwrap_or(if integral { Dtype::I64 } else { Dtype::F32 });
    if let (Number::Int(start), Number::Int(end), Number::Int(step)) = (start, end, step)
        && !(start.fixed().is_some() && end.fixed().is_some() && dtype.is_float())
    {
        if step == Dim::Fixed(0) {
            return Err(CallFault::mismatch("step", "a step that is not 0", "0"));
        }
        let mut span = sizes::sub(c.symbols, end, start)?;
        let mut by = step;
        if step.fixed().is_some_and(|n| n < 0) {
            span = sizes::sub(c.symbols, start, end)?;
            by = sizes::sub(c.symbols, Dim::Fixed(0), step)?;
        }
        if sizes::less(c.symbols, span, Dim::Fixed(0)) == Some(true) {
            return Err(CallFault::mismatch("end", "an end that the step reaches", c.symbols.print_python(end)));
        }
        let size = sizes::ceildiv(c.symbols, span, by)?;
        return vector(c, dtype, size, o);
    }
    let (Some(start), Some(end), Some(step)) = (as_float(start), as_float(end), as_float(step)) else {
        let size = c.unbacked(0, 0);
        return vector(c, dtype, size, o);
    };
    let size = ((end - start) / step).ceil();
    let reached = if step > 0.0 { end >= start } else { end <= start };
    if !reached || !(0.0..=9e18).contains(&size) {
        return Err(CallFault::mismatch("end", "an end that the step reaches", end.to_string()));
    }
    vector(c, dtype, Dim::Fixed(size as i64), o)
}

fn linspace(c: &mut Call<'_>) -> Typed {
    let (size, o) = (c.dim(2)?, options(c)?);
    vector(c, o.dtype.unwrap_or(Dtype::F32), size, o)
}

fn eye(c: &mut Call<'_>) -> Typed {
    let (rows, o) = (c.dim(0)?, options(c)?);
    let columns = if &*c.operator.schema.overload == "m" { c.dim(1)? } else { rows };
    made(c, o.dtype.unwrap_or(Dtype::F32), smallvec::smallvec![rows, columns], o)
}

fn randint(c: &mut Call<'_>) -> Typed {
    let place = c.operator.schema.param_index("size").unwrap_or(1);
    let (dims, o) = (c.dims(place)?, options(c)?);
    check_sizes(c, place, &dims)?;
    // The default is int64; that nothing is said is said only by None, which is the dtype of all that is made from nothing.
    made(c, o.dtype.unwrap_or(Dtype::F32), dims, o)
}

fn randperm(c: &mut Call<'_>) -> Typed {
    let (size, o) = (c.dim(0)?, options(c)?);
    vector(c, o.dtype.unwrap_or(Dtype::I64), size, o)
}

fn fill(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::like(c, t.dtype, t)
}

/// The written tensor as it is afterwards: sizes and layout of the first, content of the second.
fn copy(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if let crate::ops::typing::call::Operand::Tensor(source) = c.operand(1)? {
        out::broadcast(c, 1, &[&t.sizes, &source.sizes])?;
    }
    // A clone keeps strides and offset, gaps too, unless elements lie on one another.
    let overlaps = t.strides.as_ref().is_some_and(|s| s.contains(&Dim::Fixed(0)));
    if overlaps {
        return out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone());
    }
    Ok(out::itself(t))
}

/// Casts: the operand itself where nothing changes and no copy is asked for.
fn cast(c: &mut Call<'_>) -> Typed {
    let (t, mut o) = (c.tensor(0)?, options(c)?);
    if let Some(other) = c.operator.schema.param_index("other") {
        let other = c.tensor(other)?;
        o.dtype = Some(other.dtype);
        o.device = Some(other.device.clone());
    }
    let copies = match c.operator.schema.param_index("copy") {
        Some(i) => c.bool(i)?,
        None => matches!(&*c.operator.schema.name, "_to_copy" | "convert_element_type"),
    };
    let same_device =
        o.device.as_ref().is_none_or(|d| d.kind == t.device.kind && (d.index.is_none() || d.index == t.device.index));
    let same_format = match o.format {
        None | Some(MemoryFormat::Preserve) => true,
        Some(format) => layout::suggested_format(c.symbols, t) == Some(format),
    };
    if !copies && o.dtype.is_none_or(|d| d == t.dtype) && same_device && same_format {
        return Ok(out::itself(t));
    }
    like_with(c, t, o)
}

fn fresh(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

fn iota(c: &mut Call<'_>) -> Typed {
    let (size, o) = (c.dim(0)?, options(c)?);
    vector(c, o.dtype.unwrap_or(Dtype::I64), size, o)
}

/// The same storage in other sizes.
fn resize(c: &mut Call<'_>) -> Typed {
    let (t, dims, o) = (c.tensor(0)?, c.dims(1)?, options(c)?);
    check_sizes(c, 1, &dims)?;
    let strides = match o.format {
        None if dims == t.sizes => t.strides.clone(),
        format => Some(layout::of_format(c.symbols, &dims, format.unwrap_or(MemoryFormat::Contiguous))?),
    };
    Ok(crate::ops::families::view::seen(t, dims, strides, t.offset))
}

/// Another storage: the source's, or an empty one.
fn set(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    match c.bound.args.len() {
        1 if t.sizes.as_slice() == [Dim::Fixed(0)] => {
            Ok(crate::ops::families::view::seen(t, t.sizes.clone(), t.strides.clone(), Dim::Fixed(0)))
        }
        1 => out::contiguous(c.symbols, t.dtype, smallvec::smallvec![Dim::Fixed(0)], t.device.clone()),
        2 => {
            let source = c.tensor(1)?;
            // PyTorch would make the source's storage larger where its elements are smaller.
            c.need_same_dtype(1, 0)?;
            Ok(out::itself(source))
        }
        _ => {
            let (source, offset, dims, strides) = (c.tensor(1)?, c.dim(2)?, c.dims(3)?, c.dims(4)?);
            check_sizes(c, 3, &dims)?;
            let strides = if strides.is_empty() { layout::contiguous(c.symbols, &dims)? } else { strides };
            if strides.len() != dims.len() {
                return Err(c.bad(4, format!("{} strides", dims.len()), strides.len().to_string()));
            }
            Ok(crate::ops::families::view::seen(source, dims, Some(strides), offset))
        }
    }
}

fn triangle_indices(c: &mut Call<'_>) -> Typed {
    let (rows, columns, offset, o) = (c.int(0)?, c.int(1)?, c.int(2)?, options(c)?);
    let lower = &*c.operator.schema.name == "tril_indices";
    if !(0..=1 << 24).contains(&rows) || !(0..=1 << 24).contains(&columns) {
        return Err(c.bad(0, "sizes from 0 to 2^24", format!("{rows} and {columns}")));
    }
    let mut count = 0_i64;
    for row in 0..rows {
        let upto = row.saturating_add(offset).saturating_add(i64::from(lower)).clamp(0, columns);
        let here = if lower { upto } else { columns.saturating_sub(upto) };
        count = count.saturating_add(here);
    }
    made(c, o.dtype.unwrap_or(Dtype::I64), smallvec::smallvec![Dim::Fixed(2), Dim::Fixed(count)], o)
}
