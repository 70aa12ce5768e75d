//! Finding and counting by value: nonzero, searchsorted, bucketize, bincount, histc.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::{count_of, round};
use crate::exec::kernels::reduce::Made;
use crate::exec::kernels::sort::is_nan;
use crate::exec::loops::rows;
use crate::exec::loops::rows::with_order;
use crate::exec::tensor::lane::{Lane, LaneKind, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (nonzero, &["aten.nonzero.default"]),
    (nonzero_numpy, &["aten.nonzero_numpy.default"]),
    (nonzero_static, &["aten.nonzero_static.default"]),
    (searchsorted, &["aten.searchsorted.Tensor", "aten.searchsorted.Scalar"]),
    (bucketize, &["aten.bucketize.Tensor"]),
    (bincount, &["aten.bincount.default"]),
    (histc, &["aten.histc.default"]),
];

fn places_of_nonzero(t: &Tensor) -> Result<Vec<usize>, CallFault> {
    with_lane!(t.dtype(), L => {
        Ok(t.lanes::<L>()?.iter().enumerate().filter(|(_, v)| v.truth()).map(|(k, _)| k).collect())
    })
}

/// Returns coordinate `d` of row-major places.
fn coordinates(sizes: &[usize], places: &[usize], d: usize) -> Vec<i64> {
    let step = shape::contiguous(sizes).get(d).copied().unwrap_or(1);
    let size = sizes.get(d).copied().unwrap_or(1);
    let at = |k: &usize| k.checked_div(step).and_then(|k| k.checked_rem(size)).unwrap_or(0);
    places.iter().map(|k| i64::try_from(at(k)).unwrap_or(i64::MAX)).collect()
}

/// Coordinates lie in memory one dimension after another: one column of the result is one run.
fn found_coordinates(cx: &Cx<'_, '_, '_>, t: &Tensor) -> Result<Tensor, CallFault> {
    let places = places_of_nonzero(t)?;
    let all: Vec<i64> = (0..t.rank()).flat_map(|d| coordinates(t.sizes(), &places, d)).collect();
    let made = cx.make(Dtype::I64, &[t.rank(), places.len()], all)?;
    let (sizes, strides) = ([places.len(), t.rank()], [1, places.len()]);
    made.with_meta(Meta { sizes: sizes.as_slice().into(), strides: strides.as_slice().into(), ..made.meta.clone() })
}

fn nonzero(cx: &mut Cx<'_, '_, '_>) -> Made {
    found_coordinates(cx, cx.tensor(0)?).map(Value::Tensor)
}

fn nonzero_numpy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut t = cx.tensor(0)?.clone();
    if t.rank() == 0 {
        t = t.broadcast(&[1])?;
    }
    let found = found_coordinates(cx, &t)?;
    let columns: Result<Vec<Tensor>, CallFault> = (0..t.rank()).map(|d| found.select(1, d)).collect();
    Ok(columns?.into())
}

fn nonzero_static(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, size, filler) = (cx.tensor(0)?, cx.int(1)?, cx.int(2)?);
    let size = usize::try_from(size).map_err(|_| cx.bad(1, "no negative number", size.to_string()))?;
    let mut places = places_of_nonzero(t)?;
    places.truncate(size);
    let columns: Vec<Vec<i64>> = (0..t.rank()).map(|d| coordinates(t.sizes(), &places, d)).collect();
    let rows = (0..size).flat_map(|k| columns.iter().map(move |c| c.get(k).copied().unwrap_or(filler)));
    cx.emit(rows.collect::<Vec<i64>>())
}

/// Which side of equal values is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Returns how many sorted values come before `v`. A boundary that is not comparable to it counts as before it.
fn bisect<L: PartialOrd + Copy>(at: impl Fn(usize) -> L, len: usize, v: L, side: Side) -> i64 {
    let (mut start, mut end) = (0_usize, len);
    while start < end {
        let mid = start.saturating_add(end.saturating_sub(start) >> 1);
        let bound = at(mid);
        let behind = if side == Side::Left { bound >= v } else { bound > v };
        if behind {
            end = mid;
        } else {
            start = mid.saturating_add(1);
        }
    }
    i64::try_from(start).unwrap_or(i64::MAX)
}

/// Boundaries, and the order in which they ascend.
struct Sequence<'a> {
    values: &'a Tensor,
    order: Option<&'a Tensor>,
}

fn param(cx: &Cx<'_, '_, '_>, name: &str) -> usize {
    cx.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

fn side(cx: &Cx<'_, '_, '_>) -> Result<Side, CallFault> {
    let right = cx.bool(param(cx, "right"))?;
    let Some(i) = cx.operator.schema.param_index("side") else {
        return Ok(if right { Side::Right } else { Side::Left });
    };
    match (cx.text(i), right) {
        ("" | "left", false) => Ok(Side::Left),
        ("right", _) | ("", true) => Ok(Side::Right),
        (other, _) => Err(cx.bad(i, "`left` or `right`, as `right` says", other)),
    }
}

/// The dtype in which values and boundaries are compared: a number takes part by its kind only.
fn common(sequence: &Tensor, values: &Operand<'_>) -> Dtype {
    let kind = |d: Dtype| {
        if d.is_complex() {
            3
        } else if d.is_float() {
            2
        } else {
            u8::from(d != Dtype::Bool)
        }
    };
    match values {
        Operand::Tensor(v) if v.dtype() == sequence.dtype() => v.dtype(),
        Operand::Tensor(v) => {
            let (a, b) = (sequence.dtype(), v.dtype());
            let a_counts = sequence.rank() > 0 || v.rank() == 0 || kind(a) > kind(b);
            let b_counts = v.rank() > 0 || sequence.rank() == 0 || kind(b) > kind(a);
            match (a_counts, b_counts) {
                (true, false) => a,
                (false, true) => b,
                _ => joint(a, b),
            }
        }
        Operand::Number(n) => match n {
            Scalar::Float(_) if !sequence.dtype().is_float() => Dtype::F32,
            Scalar::Int(_) if sequence.dtype() == Dtype::Bool => Dtype::I64,
            _ => sequence.dtype(),
        },
    }
}

/// What two dtypes promote to, as far as the order of values is concerned.
fn joint(a: Dtype, b: Dtype) -> Dtype {
    match (a.is_float(), b.is_float()) {
        (true, false) => a,
        (false, true) => b,
        (true, true) if a == Dtype::F64 || b == Dtype::F64 => Dtype::F64,
        (true, true) => Dtype::F32,
        (false, false) => Dtype::I64,
    }
}

fn find(cx: &Cx<'_, '_, '_>, sequence: &Sequence<'_>, values: Operand<'_>, side: Side) -> Made {
    let bounds = sequence.values;
    let dtype = common(bounds, &values);
    let len = bounds.meta.size(bounds.rank().saturating_sub(1));
    let order = match sequence.order {
        Some(t) => Some(t.lanes::<i64>()?),
        None => None,
    };
    if let Some(order) = &order
        && let Some(out) = order
            .iter()
            .find(|k| usize::try_from(**k).is_err_and(|_| true) || **k >= i64::try_from(len).unwrap_or(i64::MAX))
    {
        return Err(cx.bad(
            param(cx, "sorter"),
            format!("places from 0 to {}", len.saturating_sub(1)),
            out.to_string(),
        ));
    }
    with_order!(dtype, L => {
        let all = rows::cast::<L>(bounds, dtype)?;
        let wanted: Vec<L> = match values {
            Operand::Tensor(v) => rows::cast::<L>(v, dtype)?.to_vec(),
            Operand::Number(n) => vec![number(n, Some(dtype))],
        };
        let row_of = |k: usize| -> usize {
            let each = match values { Operand::Tensor(v) => v.meta.size(v.rank().saturating_sub(1)), Operand::Number(_) => 1 };
            if bounds.rank() <= 1 { 0 } else { k.checked_div(each).unwrap_or(0).saturating_mul(len) }
        };
        let found = wanted.iter().enumerate().map(|(k, v)| {
            let base = row_of(k);
            let at = |i: usize| {
                let place = base.saturating_add(i);
                let place = match &order {
                    Some(order) => base.saturating_add(order.get(place).and_then(|p| usize::try_from(*p).ok()).unwrap_or(0)),
                    None => place,
                };
                all.get(place).copied().unwrap_or_default()
            };
            bisect(at, len, *v, side)
        });
        cx.emit(found.collect::<Vec<i64>>())
    })
}

fn searchsorted(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (bounds, values) = (cx.tensor(0)?, cx.operand(1)?);
    if bounds.rank() == 0 {
        return Err(cx.bad(0, "at least one dimension", "a scalar"));
    }
    if bounds.rank() > 1 {
        let lead = bounds.rank().saturating_sub(1);
        let fits = match values {
            Operand::Tensor(v) => v.rank() == bounds.rank() && v.sizes().get(..lead) == bounds.sizes().get(..lead),
            Operand::Number(_) => false,
        };
        if !fits {
            let expected =
                format!("boundaries of one dimension, or like the values but for the last of {:?}", bounds.sizes());
            return Err(cx.bad(0, expected, "others"));
        }
    }
    let order = cx.opt_tensor(param(cx, "sorter"))?;
    if let Some(order) = order
        && (order.sizes() != bounds.sizes() || order.dtype() != Dtype::I64)
    {
        return Err(cx.bad(
            param(cx, "sorter"),
            format!("i64 of sizes {:?}", bounds.sizes()),
            format!("{:?}", order.sizes()),
        ));
    }
    find(cx, &Sequence { values: bounds, order }, values, side(cx)?)
}

fn bucketize(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (values, bounds) = (cx.operand(0)?, cx.tensor(1)?);
    if bounds.rank() != 1 {
        return Err(cx.bad(1, "one dimension", format!("{} dimensions", bounds.rank())));
    }
    find(cx, &Sequence { values: bounds, order: None }, values, side(cx)?)
}

fn bincount(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, weights, least) = (cx.tensor(0)?, cx.opt_tensor(1)?, cx.int(2)?);
    let least = usize::try_from(least).map_err(|_| cx.bad(2, "no negative number", least.to_string()))?;
    if t.rank() != 1 || LaneKind::of(t.dtype()) != LaneKind::I64 || t.dtype() == Dtype::Bool {
        return Err(cx.bad(0, "integers in one dimension", format!("{} of sizes {:?}", t.dtype().long(), t.sizes())));
    }
    if let Some(w) = weights
        && w.sizes() != t.sizes()
    {
        return Err(cx.bad(1, format!("sizes {:?}", t.sizes()), format!("{:?}", w.sizes())));
    }
    let values = t.lanes::<i64>()?;
    if values.is_empty() {
        return cx.make(Dtype::I64, &[least], vec![0_i64; least]).map(Value::Tensor);
    }
    if let Some(low) = values.iter().find(|v| **v < 0) {
        return Err(cx.bad(0, "no negative numbers", low.to_string()));
    }
    let largest = values.iter().copied().max().unwrap_or(0);
    let bins = usize::try_from(largest).unwrap_or(0).saturating_add(1).max(least);
    cx.room(bins)?;
    let places = values.iter().map(|v| usize::try_from(*v).unwrap_or(usize::MAX));
    match weights {
        None => {
            let mut out = vec![0_i64; bins];
            places.for_each(|k| out.get_mut(k).into_iter().for_each(|v| *v = v.wrapping_add(1)));
            cx.make(Dtype::I64, &[bins], out).map(Value::Tensor)
        }
        Some(w) if w.dtype() == Dtype::F32 => {
            let mut out = vec![0_f32; bins];
            let w = w.lanes::<f32>()?;
            places.zip(w.iter()).for_each(|(k, w)| out.get_mut(k).into_iter().for_each(|v| *v += *w));
            cx.make(Dtype::F32, &[bins], out).map(Value::Tensor)
        }
        Some(w) => {
            let mut out = vec![0_f64; bins];
            let w = w.lanes::<f64>()?;
            places.zip(w.iter()).for_each(|(k, w)| out.get_mut(k).into_iter().for_each(|v| *v += *w));
            cx.make(Dtype::F64, &[bins], out).map(Value::Tensor)
        }
    }
}

/// The range of a histogram: as given, or that of the data, and never empty.
fn range(cx: &Cx<'_, '_, '_>, all: &[f64]) -> Result<(f64, f64), CallFault> {
    let (mut low, mut high) = (cx.f64(2)?, cx.f64(3)?);
    if low > high {
        return Err(cx.bad(3, format!("at least {low}"), high.to_string()));
    }
    #[allow(clippy::float_cmp)]
    if low == high && !all.is_empty() {
        low = all.iter().fold(f64::INFINITY, |a, v| if is_nan(*v) || *v < a { *v } else { a });
        high = all.iter().fold(f64::NEG_INFINITY, |a, v| if is_nan(*v) || *v > a { *v } else { a });
    }
    #[allow(clippy::float_cmp)]
    if low == high {
        (low, high) = (low - 1.0, high + 1.0);
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(cx.bad(0, "a finite range", format!("{low} to {high}")));
    }
    Ok((low, high))
}

fn histc(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, bins, dtype) = (cx.tensor(0)?, cx.int(1)?, cx.meta()?.dtype);
    let count = usize::try_from(bins).ok().filter(|n| *n > 0);
    let count = count.ok_or_else(|| cx.bad(1, "a positive number", bins.to_string()))?;
    if LaneKind::of(dtype) == LaneKind::I64 || dtype.is_complex() {
        return Err(CallFault::Unsupported { what: format!("histc of {}", dtype.long()) });
    }
    let all = t.lanes::<f64>()?;
    let (low, high) = range(cx, &all)?;
    let r = |v: f64| round(dtype, v);
    let (low, high, steps) = (r(low), r(high), r(count_of(count)));
    let mut out = vec![0_f64; count];
    for v in all.iter().filter(|v| **v >= low && **v <= high) {
        // The place is computed in the dtype itself; the right end belongs to the last bin.
        let place = r(r(r(v - low) * steps) / r(high - low));
        let place = usize::try_from(place.to_i64()).unwrap_or(0).min(count.saturating_sub(1));
        out.get_mut(place).into_iter().for_each(|n| *n += 1.0);
    }
    cx.emit(out)
}
