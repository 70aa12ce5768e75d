//! Maxima over windows whose places are drawn: samples, one a plane and dimension, are given.
//!
//! Places are computed in the samples' dtype, as PyTorch's loops do.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::lane::round_f32;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] =
    &[(fractional, &["aten.fractional_max_pool2d.default", "aten.fractional_max_pool3d.default"])];

/// Where the windows of one dimension begin.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Sizes, and places within them.
fn begins(dtype: Dtype, sample: f64, [own, wanted, window]: [usize; 3]) -> Vec<usize> {
    let round = |v: f64| if dtype == Dtype::F64 { v } else { f64::from(round_f32(dtype, v as f32)) };
    let room = own.saturating_sub(window);
    let step = round(room as f64 / wanted.saturating_sub(1).max(1) as f64);
    let first = round(sample * step).trunc();
    let at = |k: usize| (round(round(k as f64 + sample) * step).trunc() - first).max(0.0) as usize;
    (0..wanted).map(|k| if k.saturating_add(1) == wanted { room } else { at(k).min(room) }).collect()
}

fn fractional(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (x, meta, samples) = (cx.tensor(0)?, cx.meta_of(0)?, cx.tensor(3)?);
    if !x.dtype().is_float() {
        return Err(cx.bad(0, "floats", x.dtype().long()));
    }
    let kernel = cx.ints(1)?;
    let space = samples.sizes().last().copied().unwrap_or(0);
    let outer = x.rank().saturating_sub(space);
    let dims = |sizes: &[usize]| -> Vec<usize> { sizes.iter().skip(outer).copied().collect() };
    let (own, wanted) = (dims(x.sizes()), dims(&meta.sizes));
    let one = kernel.first().copied().unwrap_or(1);
    let windows: Vec<usize> =
        (0..space).map(|d| usize::try_from(kernel.get(d).copied().unwrap_or(one)).unwrap_or(1)).collect();
    let (pixels, drawn) = (x.lanes::<f64>()?, samples.lanes::<f64>()?);
    let area = own.iter().product::<usize>().max(1);
    let (mut values, mut places) = (Vec::with_capacity(meta.numel()), Vec::with_capacity(meta.numel()));
    for (plane, drawn) in pixels.chunks_exact(area).zip(drawn.chunks_exact(space.max(1))) {
        cx.session.check_time()?;
        // Of images the samples stand in reverse: columns first.
        let sample =
            |d: usize| drawn.get(if space == 2 { 1_usize.saturating_sub(d) } else { d }).copied().unwrap_or(0.0);
        let begins: Vec<Vec<usize>> = (0..space)
            .map(|d| {
                let at = |list: &[usize]| list.get(d).copied().unwrap_or(1);
                begins(x.dtype(), sample(d), [at(&own), at(&wanted), at(&windows)])
            })
            .collect();
        for corner in corners(&begins) {
            let (value, place) = greatest(plane, &own, &corner, &windows);
            values.push(value);
            places.push(place);
        }
    }
    Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, places)?].into())
}

/// Every choice of one place a dimension, the last dimension fastest.
fn corners(lists: &[Vec<usize>]) -> Vec<Vec<usize>> {
    lists.iter().fold(vec![Vec::new()], |all, list| {
        let longer = |head: &Vec<usize>| -> Vec<Vec<usize>> {
            list.iter().map(|k| head.iter().copied().chain([*k]).collect()).collect()
        };
        all.iter().flat_map(longer).collect()
    })
}

/// The greatest element of a window, and its place in the plane. The first of equal ones; NaN is greater than any.
fn greatest(plane: &[f64], own: &[usize], corner: &[usize], windows: &[usize]) -> (f64, i64) {
    let lines: Vec<Vec<usize>> =
        corner.iter().zip(windows).map(|(k, n)| (*k..k.saturating_add(*n)).collect()).collect();
    let place = |at: &Vec<usize>| at.iter().zip(own).fold(0_usize, |p, (k, n)| p.saturating_mul(*n).saturating_add(*k));
    let (mut most, mut found) = (f64::NEG_INFINITY, -1_i64);
    for place in corners(&lines).iter().map(place) {
        let value = plane.get(place).copied().unwrap_or(f64::NEG_INFINITY);
        if value > most || value.is_nan() || found < 0 {
            (most, found) = (value, i64::try_from(place).unwrap_or(-1));
        }
    }
    (most, found)
}
