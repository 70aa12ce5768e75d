//! Boxes of detectors, as torchvision's CPU kernels compute them: those that are kept, and means of what lies in them.
//!
//! Every step is taken in `f64` and rounded to the operands' dtype, which for single sums, products and quotients is the same as taking it there.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::Meta;
use crate::exec::tensor::fill;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (nms, &["torchvision.nms.default"]),
    (roi_align, &["torchvision.roi_align.default"]),
    (roi_pool, &["torchvision.roi_pool.default"]),
    (part_pool, &["torchvision.ps_roi_pool.default"]),
    (part_align, &["torchvision.ps_roi_align.default"]),
];

/// Rounds to a dtype of floats.
fn rounding(cx: &Cx<'_, '_, '_>, dtype: Dtype) -> Result<fn(f64) -> f64, CallFault> {
    #[allow(clippy::cast_possible_truncation)] // Rounding is what is wanted.
    match dtype {
        Dtype::F32 => Ok(|v| f64::from(v as f32)),
        Dtype::F64 => Ok(|v| v),
        other => Err(cx.bad(0, "f32 or f64", other.long())),
    }
}

/// Left, top, right, bottom.
type Corners = [f64; 4];

/// The best box, then the best of those that overlap none of the kept ones too much.
fn nms(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (boxes, scores, most) = (cx.tensor(0)?, cx.tensor(1)?, cx.f64(2)?);
    let round = rounding(cx, boxes.dtype())?;
    let numbers = boxes.lanes::<f64>()?;
    let all: Vec<Corners> = numbers.chunks_exact(4).filter_map(|c| c.try_into().ok()).collect();
    let scores = scores.lanes::<f64>()?;
    let mut places: Vec<usize> = (0..all.len()).collect();
    let score = |i: &usize| scores.get(*i).copied().unwrap_or(0.0);
    // NaN is the best there is.
    places.sort_by(|a, b| score(a).is_nan().cmp(&score(b).is_nan()).reverse().then(score(b).total_cmp(&score(a))));
    let area = |[left, top, right, bottom]: Corners| round(round(right - left) * round(bottom - top));
    let overlap = |[l, t, r, b]: Corners, [left, top, right, bottom]: Corners| {
        let width = round(r.min(right) - l.max(left)).max(0.0);
        let height = round(b.min(bottom) - t.max(top)).max(0.0);
        let shared = round(width * height);
        let whole = round(round(area([l, t, r, b]) + area([left, top, right, bottom])) - shared);
        round(shared / whole)
    };
    let mut kept: Vec<usize> = Vec::new();
    for place in places {
        cx.session.check_time()?;
        let Some(own) = all.get(place) else { continue };
        if !kept.iter().filter_map(|k| all.get(*k)).any(|other| overlap(*other, *own) > most) {
            kept.push(place);
        }
    }
    let kept: Vec<i64> = kept.into_iter().filter_map(|k| i64::try_from(k).ok()).collect();
    fill::from_lanes(&Meta::contiguous(Dtype::I64, &[kept.len()]), kept, cx.meter()).map(Value::Tensor)
}

/// A neighbour of a point between elements: its place in the image, and its share.
type Neighbour = (usize, f64);

/// The four elements around a point, by how near they are; none outside of the image.
fn neighbours(y: f64, x: f64, (height, width): (usize, usize), round: fn(f64) -> f64) -> Option<[Neighbour; 4]> {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // Sizes, and places within them.
    let along = |at: f64, size: usize| {
        if !(-1.0..=size as f64).contains(&at) {
            return None;
        }
        let at = at.max(0.0);
        let (low, last) = (at as usize, size.saturating_sub(1));
        let (low, high, at) = if low >= last { (last, last, last as f64) } else { (low, low.saturating_add(1), at) };
        let far = round(at - low as f64);
        Some([(low, round(1.0 - far)), (high, far)])
    };
    let ([top, bottom], [left, right]) = (along(y, height)?, along(x, width)?);
    let place = |(row, h): (usize, f64), (column, w): (usize, f64)| {
        (row.saturating_mul(width).saturating_add(column), round(h * w))
    };
    Some([place(top, left), place(top, right), place(bottom, left), place(bottom, right)])
}

/// A box as a grid of bins: where it starts, how large a bin is, and how many points of each count, along rows and columns.
struct Grid {
    start: [f64; 2],
    bin: [f64; 2],
    points: [usize; 2],
}

impl Grid {
    /// Reads a row of image, left, top, right and bottom.
    fn of(cx: &Cx<'_, '_, '_>, corners: Corners, bins: [usize; 2], round: fn(f64) -> f64) -> Result<Grid, CallFault> {
        let (scale, ratio, aligned) = (round(cx.f64(2)?), cx.int(5)?, cx.bool(6)?);
        let shift = if aligned { 0.5 } else { 0.0 };
        let [left, top, right, bottom] = corners.map(|v| round(round(v * scale) - shift));
        let least = if aligned { f64::NEG_INFINITY } else { 1.0 };
        let size = [round(bottom - top).max(least), round(right - left).max(least)];
        #[allow(clippy::cast_precision_loss)] // A number of bins.
        let bin = [round(size[0] / bins[0] as f64), round(size[1] / bins[1] as f64)];
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates.
        let points = bin.map(|b| if ratio > 0 { usize::try_from(ratio).unwrap_or(0) } else { b.ceil() as usize });
        Ok(Grid { start: [top, left], bin, points })
    }

    /// Where the points of bin `k` along a dimension lie.
    #[allow(clippy::cast_precision_loss)] // Places of a grid.
    fn along(&self, d: usize, k: usize, round: fn(f64) -> f64) -> impl Iterator<Item = f64> + Clone {
        let at = |list: &[f64; 2]| list.get(d).copied().unwrap_or(0.0);
        let (bin, count) = (at(&self.bin), self.points.get(d).copied().unwrap_or(0));
        let begin = round(at(&self.start) + round(k as f64 * bin));
        (0..count).map(move |step| round(begin + round(round((step as f64 + 0.5) * bin) / count as f64)))
    }
}

/// Each box in a grid of bins, each bin the mean of points between elements.
fn roi_align(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (x, meta) = (cx.tensor(0)?, cx.meta()?);
    let round = rounding(cx, x.dtype())?;
    let [images, channels, height, width] = *x.sizes() else { return Err(cx.bad(0, "4 dimensions", "another rank")) };
    let bins = [meta.size(2), meta.size(3)];
    let (pixels, numbers) = (x.lanes::<f64>()?, cx.tensor(1)?.lanes::<f64>()?);
    let plane = height.saturating_mul(width);
    let mut out: Vec<f64> = Vec::with_capacity(meta.numel());
    for one in numbers.chunks_exact(5) {
        cx.session.check_time()?;
        let &[image, left, top, right, bottom] = one else { continue };
        let image = image_of(cx, image, images)?;
        let grid = Grid::of(cx, [left, top, right, bottom], bins, round)?;
        let count = grid.points[0].saturating_mul(grid.points[1]);
        if count > plane.saturating_mul(16).saturating_add(1 << 16) {
            return Err(CallFault::Unsupported { what: "a box that far outside of its image".into() });
        }
        let places = (0..bins[0]).flat_map(|row| (0..bins[1]).map(move |column| (row, column)));
        let neighbours_of = |(row, column): (usize, usize)| -> Vec<Neighbour> {
            let columns = grid.along(1, column, round);
            let points = grid.along(0, row, round).flat_map(|y| columns.clone().map(move |x| (y, x)));
            points.filter_map(|(y, x)| neighbours(y, x, (height, width), round)).flatten().collect()
        };
        let shares: Vec<Vec<Neighbour>> = places.map(neighbours_of).collect();
        for channel in 0..channels {
            let begin = image.saturating_mul(channels).saturating_add(channel).saturating_mul(plane);
            let own = pixels.get(begin..begin.saturating_add(plane)).unwrap_or(&[]);
            out.extend(shares.iter().map(|bin| mean(own, bin, count.max(1), round)));
        }
    }
    cx.emit(out)
}

/// The mean of points, four neighbours each.
fn mean(plane: &[f64], neighbours: &[Neighbour], count: usize, round: fn(f64) -> f64) -> f64 {
    let share = |(place, share): &Neighbour| round(share * plane.get(*place).copied().unwrap_or(0.0));
    let point = |four: &[Neighbour]| match four {
        [first, rest @ ..] => rest.iter().fold(share(first), |all, one| round(all + share(one))),
        [] => 0.0,
    };
    let sum = neighbours.chunks(4).fold(0.0, |sum, four| round(sum + point(four)));
    #[allow(clippy::cast_precision_loss)] // A number of points.
    round(sum / count as f64)
}

/// The image that a box lies in.
fn image_of(cx: &Cx<'_, '_, '_>, image: f64, images: usize) -> Result<usize, CallFault> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Checked to be a place.
    let place = Some(image as usize).filter(|i| image >= 0.0 && *i < images);
    place.ok_or_else(|| cx.bad(1, format!("boxes of images below {images}"), "another"))
}

/// The first and the last but one element of bin `k` along a dimension of a box that begins at `start`, clipped to `last`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Clipped to places.
fn covered(start: f64, bin: f64, k: usize, last: usize, round: fn(f64) -> f64) -> std::ops::Range<usize> {
    let clip = |v: f64| (v + start).clamp(0.0, last as f64) as usize;
    let (k, next) = (k as f64, k.saturating_add(1) as f64);
    clip(round(k * bin).floor())..clip(round(next * bin).ceil())
}

/// What is done with the bins of each box: where the plane begins, its width, rows and columns.
type OfBin<'a> = &'a mut dyn FnMut(&[f64], usize, std::ops::Range<usize>, std::ops::Range<usize>);

/// Whole elements in each bin of each box, one plane a result. `plane` chooses it by channel and bin; `more` is what a size has beyond its ends.
fn each_bin(
    cx: &mut Cx<'_, '_, '_>,
    plane_of: &dyn Fn(usize, usize) -> usize,
    (more, margin): (f64, usize),
    act: OfBin<'_>,
) -> Result<(), CallFault> {
    let (x, meta) = (cx.tensor(0)?, cx.meta_of(0)?);
    let round = rounding(cx, x.dtype())?;
    let [images, channels, height, width] = *x.sizes() else { return Err(cx.bad(0, "4 dimensions", "another rank")) };
    let (out, rows, columns) = (meta.size(1), meta.size(2), meta.size(3));
    let (pixels, numbers, scale) = (x.lanes::<f64>()?, cx.tensor(1)?.lanes::<f64>()?, round(cx.f64(2)?));
    let area = height.saturating_mul(width);
    #[allow(clippy::cast_precision_loss)] // A number of bins.
    let bin = |size: f64, bins: usize| round(size.max(1.0) / bins as f64);
    for one in numbers.chunks_exact(5) {
        cx.session.check_time()?;
        let &[image, left, top, right, bottom] = one else { continue };
        let image = image_of(cx, image, images)?;
        // `round` of C: halves away from zero.
        let [left, top, right, bottom] = [left, top, right, bottom].map(|v| round(v * scale).round());
        let (by_row, by_column) = (bin(bottom - top + more, rows), bin(right - left + more, columns));
        for channel in 0..out {
            for row in 0..rows {
                for column in 0..columns {
                    let plane = plane_of(channel, row.saturating_mul(columns).saturating_add(column));
                    let begin = image.saturating_mul(channels).saturating_add(plane).saturating_mul(area);
                    let own = pixels.get(begin..begin.saturating_add(area)).unwrap_or(&[]);
                    let down = covered(top, by_row, row, height.saturating_sub(margin), round);
                    let across = covered(left, by_column, column, width.saturating_sub(margin), round);
                    act(own, width, down, across);
                }
            }
        }
    }
    Ok(())
}

/// Each box in bins, each the greatest of its elements, with its place in the plane; 0 and -1 where it has none.
fn roi_pool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (mut values, mut places) = (Vec::new(), Vec::new());
    each_bin(cx, &|channel, _| channel, (1.0, 0), &mut |plane, width, down, across| {
        let empty = down.is_empty() || across.is_empty();
        let (mut most, mut found) = (if empty { 0.0 } else { -f64::from(f32::MAX) }, -1_i64);
        for at in down.flat_map(|y| across.clone().map(move |x| y.saturating_mul(width).saturating_add(x))) {
            match plane.get(at) {
                Some(v) if *v > most => (most, found) = (*v, i64::try_from(at).unwrap_or(-1)),
                _ => {}
            }
        }
        values.push(most);
        places.push(found);
    })?;
    Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, places)?].into())
}

/// The channels of an image that a bin of each result's channel reads: as many each as there are bins.
fn part_planes(cx: &Cx<'_, '_, '_>) -> Result<(usize, Vec<i64>), CallFault> {
    let meta = cx.meta_of(0)?;
    let bins = meta.size(2).saturating_mul(meta.size(3));
    let each = meta.size(1).saturating_mul(bins);
    let one = || (0..each).filter_map(|k| i64::try_from(k).ok());
    Ok((bins, (0..meta.size(0)).flat_map(|_| one()).collect()))
}

/// Each box in bins, each the mean of its elements in a channel of its own.
fn part_pool(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (bins, planes) = part_planes(cx)?;
    let round = rounding(cx, cx.tensor(0)?.dtype())?;
    let plane_of = move |channel: usize, bin: usize| channel.saturating_mul(bins).saturating_add(bin);
    let mut values = Vec::new();
    each_bin(cx, &plane_of, (0.0, 1), &mut |plane, width, down, across| {
        let count = down.len().saturating_mul(across.len());
        let at = down.flat_map(|y| across.clone().map(move |x| y.saturating_mul(width).saturating_add(x)));
        let sum = at.filter_map(|k| plane.get(k)).fold(0.0, |sum, v| round(sum + v));
        #[allow(clippy::cast_precision_loss)] // A number of elements.
        values.push(if count == 0 { 0.0 } else { round(sum / count as f64) });
    })?;
    Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, planes)?].into())
}

/// Each box in bins, each the mean of points between elements in a channel of its own.
fn part_align(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (x, meta) = (cx.tensor(0)?, cx.meta_of(0)?);
    let round = rounding(cx, x.dtype())?;
    let [images, channels, height, width] = *x.sizes() else { return Err(cx.bad(0, "4 dimensions", "another rank")) };
    let (bins, planes) = part_planes(cx)?;
    let (rows, columns, area) = (meta.size(2), meta.size(3), height.saturating_mul(width));
    let (pixels, numbers) = (x.lanes::<f64>()?, cx.tensor(1)?.lanes::<f64>()?);
    let (scale, ratio) = (round(cx.f64(2)?), cx.int(5)?);
    let mut values = Vec::with_capacity(meta.numel());
    for one in numbers.chunks_exact(5) {
        cx.session.check_time()?;
        let &[image, left, top, right, bottom] = one else { continue };
        let image = image_of(cx, image, images)?;
        let [left, top, right, bottom] = [left, top, right, bottom].map(|v| round(round(v * scale) - 0.5));
        #[allow(clippy::cast_precision_loss)] // A number of bins.
        let bin = [round(round(bottom - top) / rows as f64), round(round(right - left) / columns as f64)];
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Saturates.
        let points = bin.map(|b| if ratio > 0 { usize::try_from(ratio).unwrap_or(0) } else { b.ceil() as usize });
        let grid = Grid { start: [top, left], bin, points };
        let count = points[0].saturating_mul(points[1]);
        if count > area.saturating_mul(16).saturating_add(1 << 16) {
            return Err(CallFault::Unsupported { what: "a box that far outside of its image".into() });
        }
        for place in 0..meta.size(1).saturating_mul(bins) {
            let bin = place.checked_rem(bins).unwrap_or(0);
            let (row, column) = (bin.checked_div(columns).unwrap_or(0), bin.checked_rem(columns).unwrap_or(0));
            let across = grid.along(1, column, round);
            let spots = grid.along(0, row, round).flat_map(|y| across.clone().map(move |x| (y, x)));
            let near: Vec<Neighbour> =
                spots.filter_map(|(y, x)| neighbours(y, x, (height, width), round)).flatten().collect();
            let begin = image.saturating_mul(channels).saturating_add(place).saturating_mul(area);
            let own = pixels.get(begin..begin.saturating_add(area)).unwrap_or(&[]);
            values.push(mean(own, &near, count, round));
        }
    }
    Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, planes)?].into())
}
