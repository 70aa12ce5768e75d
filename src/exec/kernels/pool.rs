//! Pooling: maxima with their places, averages over windows and over equal parts, and maxima put back.
//!
//! Planes are read in row-major order, whatever the memory format: a channels-last input is turned once. Narrow floats are summed in `f32`.
//! Leaves windows to `dense::pool`.

use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::dense::pool;
use crate::exec::dense::pool::{Divisor, PoolShape, Pooled};
use crate::exec::kernels::Entry;
use crate::exec::kernels::matmul::refused;
use crate::exec::tensor::lane::{Lane, LaneKind, round_f32, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (max_pool, &["aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default"]),
    (
        max_pool_with_places,
        &[
            "aten.max_pool1d_with_indices.default",
            "aten.max_pool2d_with_indices.default",
            "aten.max_pool3d_with_indices.default",
        ],
    ),
    (avg_pool, &["aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default"]),
    (
        adaptive_avg_pool,
        &[
            "aten.adaptive_avg_pool1d.default",
            "aten.adaptive_avg_pool2d.default",
            "aten.adaptive_avg_pool3d.default",
            "aten._adaptive_avg_pool2d.default",
            "aten._adaptive_avg_pool3d.default",
        ],
    ),
    (
        adaptive_max_pool,
        &["aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default"],
    ),
    (max_unpool, &["aten.max_unpool2d.default"]),
];

/// Runs `$body` with the lane of a real dtype as `$L`.
macro_rules! with_real_lane {
    ($dtype:expr, $L:ident => $body:expr) => {
        match LaneKind::of($dtype) {
            LaneKind::F32 => {
                type $L = f32;
                $body
            }
            LaneKind::F64 => {
                type $L = f64;
                $body
            }
            LaneKind::I64 => {
                type $L = i64;
                $body
            }
            _ => Err(CallFault::Unsupported { what: format!("pooling of {}", $dtype.long()) }),
        }
    };
}

/// How many of the last dimensions are spatial: from the digit in the name.
fn spatial_rank(cx: &Cx<'_, '_, '_>) -> usize {
    let name = &cx.call.operator.schema.name;
    [("1d", 1), ("3d", 3)].iter().find(|(text, _)| name.contains(text)).map_or(2, |(_, n)| *n)
}

/// The last `space` of these sizes as three, 1 where there are fewer.
fn spatial(sizes: &[usize], space: usize) -> [usize; 3] {
    let mut all = [1; 3];
    for (to, from) in all.iter_mut().rev().zip(sizes.iter().rev().take(space)) {
        *to = *from;
    }
    all
}

/// Reads a list of one number for all dimensions, or one for each; `missing` where it is empty.
fn numbers(
    cx: &Cx<'_, '_, '_>,
    i: usize,
    space: usize,
    missing: [usize; 3],
    fill: usize,
) -> Result<[usize; 3], CallFault> {
    let given = cx.ints(i)?;
    if given.is_empty() {
        return Ok(missing);
    }
    let mut all = [fill; 3];
    for (k, to) in all.iter_mut().skip(3_usize.saturating_sub(space)).enumerate() {
        let number = if given.len() == 1 { given.first() } else { given.get(k) };
        let number = number.and_then(|n| usize::try_from(*n).ok());
        *to = number.ok_or_else(|| cx.bad(i, format!("{space} numbers of 0 or more"), format!("{given:?}")))?;
    }
    Ok(all)
}

/// The windows of a call; `dilation` is the place of that argument.
fn windows(cx: &Cx<'_, '_, '_>, dilation: Option<usize>) -> Result<PoolShape, CallFault> {
    let space = spatial_rank(cx);
    let kernel = numbers(cx, 1, space, [1; 3], 1)?;
    Ok(PoolShape {
        input: spatial(cx.tensor(0)?.sizes(), space),
        kernel,
        stride: numbers(cx, 2, space, kernel, 1)?,
        padding: numbers(cx, 3, space, [0; 3], 0)?,
        dilation: match dilation {
            Some(i) => numbers(cx, i, space, [1; 3], 1)?,
            None => [1; 3],
        },
        output: spatial(&cx.meta()?.sizes, space),
    })
}

/// Maxima and their places in their planes.
fn maxima<L: Lane + Pooled>(cx: &Cx<'_, '_, '_>) -> Result<(Vec<L>, Vec<i64>), CallFault> {
    let windows = windows(cx, Some(4))?;
    let count = shape::count(&cx.meta()?.sizes)?;
    let (mut out, mut places) = (cx.meter().unset::<L>(count), vec![0; count]);
    let input = cx.tensor(0)?.lanes::<L>()?;
    pool::max_pool(&windows, &input, &mut out, &mut places).map_err(refused)?;
    Ok((out, places))
}

fn max_pool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let dtype = cx.meta()?.dtype;
    with_real_lane!(dtype, L => cx.emit(maxima::<L>(cx)?.0))
}

fn max_pool_with_places(cx: &mut Cx<'_, '_, '_>) -> Made {
    let dtype = cx.meta()?.dtype;
    with_real_lane!(dtype, L => {
        let (values, places) = maxima::<L>(cx)?;
        Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, places)?].into())
    })
}

fn avg_pool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (windows, meta) = (windows(cx, None)?, cx.meta()?);
    let given = if cx.call.operator.schema.params.len() > 6 { cx.opt_int(6)? } else { None };
    #[allow(clippy::cast_precision_loss)]
    let divisor = match given {
        Some(0) => return Err(cx.bad(6, "a divisor other than 0", "0")),
        Some(n) => Divisor::Fixed(n as f64),
        None if cx.bool(5)? => Divisor::WithPadding,
        None => Divisor::WithoutPadding,
    };
    with_real_lane!(meta.dtype, L => {
        let mut out = vec![L::default(); shape::count(&meta.sizes)?];
        pool::avg_pool(&windows, divisor, &cx.tensor(0)?.lanes::<L>()?, &mut out).map_err(refused)?;
        cx.emit(out)
    })
}

fn adaptive_avg_pool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta, space) = (cx.tensor(0)?, cx.meta()?, spatial_rank(cx));
    let (from, to) = (spatial(t.sizes(), space), spatial(&meta.sizes, space));
    // To one element a plane it is a mean.
    let mean = to == [1; 3] && !cx.call.operator.schema.name.starts_with('_');
    if space == 3 && !mean && LaneKind::of(meta.dtype) == LaneKind::F32 && meta.dtype != Dtype::F32 {
        return cx.emit(narrow_averages(t, &meta, from, to)?);
    }
    with_real_lane!(meta.dtype, L => {
        let mut out = vec![L::default(); shape::count(&meta.sizes)?];
        pool::adaptive_avg_pool(from, to, &t.lanes::<L>()?, &mut out).map_err(refused)?;
        cx.emit(out)
    })
}

/// Averages of equal parts of volumes of a narrow float, whose sums PyTorch rounds at every step.
fn narrow_averages(t: &Tensor, meta: &Meta, from: [usize; 3], to: [usize; 3]) -> Result<Vec<f32>, CallFault> {
    let (plane, result) = (shape::numel(&from), shape::numel(&to));
    let mut out = vec![0.0_f32; shape::count(&meta.sizes)?];
    let round = |v: f32| round_f32(meta.dtype, v);
    let ([depths, height, width], [d_to, h_to, w_to]) = (from, to);
    let input = t.lanes::<f32>()?;
    for (out, input) in out.chunks_mut(result.max(1)).zip(input.chunks(plane.max(1))) {
        let spots = (0..d_to).flat_map(|d| (0..h_to).flat_map(move |h| (0..w_to).map(move |w| (d, h, w))));
        for (out, (d, h, w)) in out.iter_mut().zip(spots) {
            let (deep, down, across) = (part(depths, d_to, d), part(height, h_to, h), part(width, w_to, w));
            let mut sum = 0.0;
            for d in deep.clone() {
                for h in down.clone() {
                    let line = d.saturating_mul(height).saturating_add(h).saturating_mul(width);
                    let row = across.clone().filter_map(|w| input.get(line.saturating_add(w)));
                    sum = row.fold(sum, |sum, v| round(sum + v));
                }
            }
            *out = [deep, down, across].iter().fold(sum, |sum, range| round(sum / range.len() as f32));
        }
    }
    Ok(out)
}

/// The part of `from` elements that stands for number `at` of `to`.
fn part(from: usize, to: usize, at: usize) -> std::ops::Range<usize> {
    let start = at.saturating_mul(from).checked_div(to).unwrap_or(0);
    start..at.saturating_add(1).saturating_mul(from).div_ceil(to.max(1))
}

fn adaptive_max_pool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta, space) = (cx.tensor(0)?, cx.meta()?, spatial_rank(cx));
    let (from, to) = (spatial(t.sizes(), space), spatial(&meta.sizes, space));
    with_real_lane!(meta.dtype, L => {
        let (values, places) = adaptive_maxima::<L>(t, &meta, from, to)?;
        Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, places)?].into())
    })
}

fn adaptive_maxima<L: Lane + Pooled>(
    t: &Tensor,
    meta: &Meta,
    [depth, height, width]: [usize; 3],
    [layers, rows, columns]: [usize; 3],
) -> Result<(Vec<L>, Vec<i64>), CallFault> {
    let count = shape::count(&meta.sizes)?;
    let (mut out, mut places) = (vec![L::LOWEST; count], vec![0_i64; count]);
    let plane = depth.saturating_mul(height).saturating_mul(width);
    let result = layers.saturating_mul(rows).saturating_mul(columns);
    if count == 0 || plane == 0 {
        return Ok((out, places));
    }
    let input = t.lanes::<L>()?;
    let planes = out.par_chunks_mut(result).zip(places.par_chunks_mut(result)).zip(input.par_chunks(plane));
    planes.for_each(|((out, places), input)| {
        let spots = (0..layers).flat_map(|l| (0..rows).flat_map(move |r| (0..columns).map(move |c| (l, r, c))));
        for ((out, place), (l, r, c)) in out.iter_mut().zip(places).zip(spots) {
            let (sheets, lines) = (part(depth, layers, l), part(height, rows, r));
            let across = part(width, columns, c);
            let line_of = |sheet: usize, line: usize| sheet.saturating_mul(height).saturating_add(line);
            *place = at(line_of(sheets.start, lines.start), width, across.start);
            let all = sheets.flat_map(|s| lines.clone().map(move |line| line_of(s, line)));
            for (line, column) in all.flat_map(|line| across.clone().map(move |column| (line, column))) {
                let index = at(line, width, column);
                let value = usize::try_from(index).ok().and_then(|k| input.get(k));
                if let Some(value) = value.filter(|v| v.replaces(*out)) {
                    (*out, *place) = (*value, index);
                }
            }
        }
    });
    Ok((out, places))
}

fn at(line: usize, width: usize, column: usize) -> i64 {
    i64::try_from(line.saturating_mul(width).saturating_add(column)).unwrap_or(i64::MAX)
}

/// Puts values back to where they were the maximum; the last of several for one place stays.
fn max_unpool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, places, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let (from, to) = (spatial(t.sizes(), 2), spatial(&meta.sizes, 2));
    let ([_, h, w], [_, rows, columns]) = (from, to);
    let (plane, result) = (h.saturating_mul(w).max(1), rows.saturating_mul(columns));
    let places = places.lanes::<i64>()?;
    with_lane!(meta.dtype, L => {
        let values = t.lanes::<L>()?;
        let mut out = vec![L::default(); shape::count(&meta.sizes)?];
        let planes = values.chunks(plane).zip(places.chunks(plane)).zip(out.chunks_mut(result.max(1)));
        for ((values, places), out) in planes {
            for (value, place) in values.iter().zip(places) {
                let slot = usize::try_from(*place).ok().and_then(|k| out.get_mut(k));
                *slot.ok_or_else(|| cx.bad(1, format!("places below {result}"), place.to_string()))? = *value;
            }
        }
        cx.emit(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_and_overlap_by_one_at_most() {
        let parts: Vec<_> = (0..3).map(|k| part(5, 3, k)).collect();
        assert_eq!(parts, [0..2, 1..4, 3..5]);
        assert_eq!(spatial(&[7, 2, 3], 2), [1, 2, 3]);
    }
}
