//! An index for every slice of a dimension: `index_select`, `index_add` and the like; and for every element of the whole: `take`, `put`.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::index::cells::{Range, apart, emit_taken, offsets, overwrite, target};
use crate::exec::kernels::index::reduction::{Reduction, Start, reduce, scaled};
use crate::exec::kernels::movement::rows_at;
use crate::exec::numbers::checked::{filled, fits, only, scalar_for};
use crate::exec::tensor::lane::with_lane;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (select, &["aten.index_select.default"]),
    (add, &["aten.index_add.default", "aten.index_add_.default"]),
    (copy, &["aten.index_copy.default", "aten.index_copy_.default"]),
    (fill, &["aten.index_fill.int_Scalar", "aten.index_fill_.int_Scalar"]),
    (fill_tensor, &["aten.index_fill.int_Tensor", "aten.index_fill_.int_Tensor"]),
    (reduced, &["aten.index_reduce.default", "aten.index_reduce_.default"]),
    (take, &["aten.take.default"]),
    (put, &["aten.put.default", "aten.put_.default"]),
];

/// Slices of fewer elements than this are written element by element.
const SLICE: usize = 32;

/// Returns the places of dimension `d` that argument 2 names.
fn chosen(cx: &Cx<'_, '_, '_>, size: usize, range: Range) -> Result<Vec<usize>, CallFault> {
    let index = cx.tensor(2)?;
    if index.rank() > 1 {
        return Err(cx.bad(2, "at most 1 dimension", index.rank().to_string()));
    }
    let values = index.lanes::<i64>()?;
    let lenient = match &*cx.operator.schema.name {
        // Of a vector each index is looked at, even where there is no place at all.
        "index_add" | "index_add_" => cx.tensor(0)?.rank() > 1,
        "index_fill" | "index_fill_" => size > 0,
        _ => false,
    };
    if lenient && cx.tensor(0)?.numel() == 0 {
        // Nothing is written, so no index is looked at.
        return Ok(vec![0; values.len()]);
    }
    values.iter().map(|v| range.place(cx, 2, *v, size)).collect()
}

fn select(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let d = cx.axis(1, t.rank())?;
    let places = chosen(cx, t.meta.size(d), Range::Strict)?;
    if t.rank() == 0 {
        let at = vec![t.meta.offset; places.len().min(1)];
        return emit_taken(cx, t, &at);
    }
    let rows = rows_at(cx, t, d, &places)?;
    cx.laid_out(0, rows).map(Value::Tensor)
}

/// Returns the slices of `t` at these places, as one tensor's offsets in row-major order.
fn slices(t: &Tensor, d: usize, places: &[usize]) -> Vec<usize> {
    let mut outer = t.meta.clone();
    let inner = Meta {
        sizes: outer.sizes.drain(d.min(outer.rank())..).skip(1).collect(),
        strides: outer.strides.drain(d.min(outer.strides.len())..).skip(1).collect(),
        offset: 0,
        ..t.meta.clone()
    };
    let (stride, within): (usize, Vec<usize>) = (t.meta.stride(d), offsets(&inner).collect());
    let mut out = Vec::with_capacity(outer.numel().saturating_mul(places.len()).saturating_mul(within.len()));
    for base in offsets(&outer) {
        for place in places {
            let start = base.wrapping_add(place.wrapping_mul(stride));
            out.extend(within.iter().map(|k| start.wrapping_add(*k)));
        }
    }
    out
}

/// Checks that the source has the target's dtype, and its sizes but in dimension `d`.
fn check_source(cx: &Cx<'_, '_, '_>, t: &Tensor, d: usize, count: usize, source: &Tensor) -> Result<(), CallFault> {
    if source.dtype() != t.dtype() {
        return Err(cx.bad(3, format!("dtype {}", t.dtype().long()), source.dtype().long()));
    }
    let mut wanted: Shape = t.sizes().into();
    if let Some(size) = wanted.get_mut(d) {
        *size = count;
    }
    let scalar = source.rank() == 0 || t.rank() == 0;
    if scalar && source.numel() != count || !scalar && source.sizes() != wanted.as_slice() {
        return Err(cx.bad(3, format!("sizes {:?}", wanted.as_slice()), format!("{:?}", source.sizes())));
    }
    Ok(())
}

/// What is written, where, and from what.
struct Plan {
    out: Tensor,
    d: usize,
    places: Vec<usize>,
    source: Tensor,
}

fn planned(cx: &Cx<'_, '_, '_>) -> Result<Plan, CallFault> {
    let (t, source) = (cx.tensor(0)?, cx.tensor(3)?);
    let d = cx.axis(1, t.rank())?;
    let places = chosen(cx, t.meta.size(d), Range::Strict)?;
    check_source(cx, t, d, places.len(), source)?;
    let out = target(cx)?;
    let source = apart(cx, source, &out)?;
    Ok(Plan { out, d, places, source })
}

fn add(cx: &mut Cx<'_, '_, '_>) -> Made {
    let Plan { out, d, places, source } = planned(cx)?;
    if out.numel() == 0 {
        return Ok(out.into());
    }
    let at = slices(&out, d, &places);
    let alpha = cx.scalar(4)?;
    if alpha.to_f64() == 1.0 && !matches!(alpha, Scalar::Complex(..)) {
        reduce(&out, &at, &source, Reduction::Sum, Start::Included)?;
        return Ok(out.into());
    }
    with_lane!(out.dtype(), L => {
        let by = number::<L>(alpha, Some(out.dtype()));
        let values = scaled::<L>(&source.lanes::<L>()?, by);
        let plain = cx.make::<L>(out.dtype(), source.sizes(), values)?;
        reduce(&out, &at, &plain, Reduction::Sum, Start::Included)?;
        Ok(out.into())
    })
}

/// Writes slice by slice where slices are long, so that a large target is touched only there.
fn copy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let Plan { out, d, places, source } = planned(cx)?;
    let long = source.numel().checked_div(places.len()).is_some_and(|n| n >= SLICE);
    if long && out.rank() > 0 && source.rank() > 0 {
        for (k, place) in places.iter().enumerate() {
            out.select(d, *place)?.copy_from(&source.select(d, k)?)?;
        }
    } else {
        overwrite(&out, &slices(&out, d, &places), &source)?;
    }
    Ok(out.into())
}

fn filled_with(cx: &Cx<'_, '_, '_>, value: Scalar) -> Made {
    let out = target(cx)?;
    let d = cx.axis(1, out.rank())?;
    let at = slices(&out, d, &chosen(cx, out.meta.size(d), Range::Wrapping)?);
    let one = filled(cx, &Meta::contiguous(out.dtype(), &[]), value)?;
    overwrite(&out, &at, &one.broadcast(&[at.len()])?)?;
    Ok(out.into())
}

fn fill(cx: &mut Cx<'_, '_, '_>) -> Made {
    let value = scalar_for(cx, 3, cx.tensor(0)?.dtype())?;
    filled_with(cx, value)
}

fn fill_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (value, dtype) = (cx.tensor(3)?, cx.tensor(0)?.dtype());
    if value.rank() > 0 {
        return Err(cx.bad(3, "a tensor without dimensions", format!("sizes {:?}", value.sizes())));
    }
    let value = only(value)?.unwrap_or(Scalar::Int(0));
    if !fits(value, dtype) {
        return Err(cx.bad(3, format!("a number that {} holds", dtype.long()), format!("{value:?}")));
    }
    filled_with(cx, value)
}

fn reduced(cx: &mut Cx<'_, '_, '_>) -> Made {
    let by = Reduction::named(cx, 4)?;
    let Plan { out, d, places, source } = planned(cx)?;
    let start = if cx.bool(5)? { Start::Included } else { Start::Replaced };
    reduce(&out, &slices(&out, d, &places), &source, by, start)?;
    Ok(out.into())
}

/// Returns the places in `t` of row-major numbers.
fn numbered(cx: &Cx<'_, '_, '_>, t: &Tensor, index: &Tensor) -> Result<Vec<usize>, CallFault> {
    let (count, index) = (t.numel(), index.lanes::<i64>()?);
    let contiguous = t.meta.is_contiguous();
    let all: Vec<usize> = if contiguous { Vec::new() } else { offsets(&t.meta).collect() };
    let place = |v: &i64| -> Result<usize, CallFault> {
        let k = Range::Wrapping.place(cx, 1, *v, count)?;
        Ok(if contiguous { t.meta.offset.wrapping_add(k) } else { all.get(k).copied().unwrap_or(0) })
    };
    index.iter().map(place).collect()
}

fn take(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, index) = (cx.tensor(0)?, cx.tensor(1)?);
    emit_taken(cx, t, &numbered(cx, t, index)?)
}

fn put(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, index, source) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    if source.dtype() != t.dtype() {
        return Err(cx.bad(2, format!("dtype {}", t.dtype().long()), source.dtype().long()));
    }
    if index.numel() != source.numel() {
        return Err(cx.bad(2, format!("{} elements", index.numel()), source.numel().to_string()));
    }
    let out = target(cx)?;
    let (index, source) = (apart(cx, index, &out)?, apart(cx, source, &out)?);
    let at = numbered(cx, &out, &index)?;
    if cx.bool(3)? {
        reduce(&out, &at, &source, Reduction::Sum, Start::Included)?;
    } else {
        overwrite(&out, &at, &source)?;
    }
    Ok(out.into())
}
