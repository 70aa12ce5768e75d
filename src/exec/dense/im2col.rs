//! The matrix of windows that turns a convolution into a product, block by block of output positions, and its way back.
//!
//! A block has one column for each of some output positions and one row for each element of a window: (channel, depth, height,
//! width), the last fastest. For an input whose channels are fastest, rows are (depth, height, width, channel) and memory holds
//! one position after the other: then each tap is one copy of all its channels.

use std::ops::Range;

use rayon::prelude::*;

use super::{ConvShape, Scalar, Volume};

/// Bytes of a block: small enough for the second-level cache, and what a convolution takes beside its operands.
pub(super) const BLOCK_BYTES: usize = 2 << 20;

/// The order of a window's elements in the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// (channel, depth, height, width).
    ChannelOuter,
    /// (depth, height, width, channel).
    ChannelInner,
}

/// One run of output positions of a block that lie in one output row.
struct Run {
    depth: usize,
    row: usize,
    columns: Range<usize>,
}

/// The output rows, or parts of them, that a range of positions covers.
fn runs(shape: &ConvShape, positions: Range<usize>) -> Vec<Run> {
    let [_, rows, width] = shape.output;
    let mut found = Vec::new();
    let mut at = positions.start;
    while at < positions.end {
        let (Some(line), Some(column)) = (at.checked_div(width), at.checked_rem(width)) else { break };
        let (Some(depth), Some(row)) = (line.checked_div(rows), line.checked_rem(rows)) else { break };
        let length = width.saturating_sub(column).min(positions.end.saturating_sub(at));
        found.push(Run { depth, row, columns: column..column.saturating_add(length) });
        at = at.saturating_add(length);
    }
    found
}

/// Where a tap reads: position * stride + tap * dilation - padding, if that is inside.
fn source(shape: &ConvShape, axis: usize, position: usize, tap: usize) -> Option<usize> {
    let at = position
        .checked_mul(*shape.stride.get(axis)?)?
        .checked_add(tap.checked_mul(*shape.dilation.get(axis)?)?)?
        .checked_sub(*shape.padding.get(axis)?)?;
    (at < *shape.input.get(axis)?).then_some(at)
}

/// Of a run of output columns: those whose tap is inside the input row, and where the first of them reads.
fn inside(shape: &ConvShape, columns: &Range<usize>, tap: usize) -> (Range<usize>, usize) {
    let [_, _, stride] = shape.stride;
    let [_, _, padding] = shape.padding;
    let [_, _, dilation] = shape.dilation;
    let [_, _, width] = shape.input;
    let offset = tap.saturating_mul(dilation);
    // stride * column >= padding - offset, and stride * column < width + padding - offset.
    let first = padding.saturating_sub(offset).div_ceil(stride.max(1));
    let end = width.saturating_add(padding).saturating_sub(offset).div_ceil(stride.max(1));
    let from = first.max(columns.start).min(columns.end);
    let to = end.min(columns.end).max(from);
    (from..to, from.saturating_mul(stride).saturating_add(offset).saturating_sub(padding))
}

/// (depth, height, width) of a tap.
fn tap_of(shape: &ConvShape, tap: usize) -> [usize; 3] {
    let [_, height, width] = shape.kernel;
    let plane = height.saturating_mul(width);
    [
        tap.checked_div(plane).unwrap_or(0),
        tap.checked_rem(plane).unwrap_or(0).checked_div(width).unwrap_or(0),
        tap.checked_rem(width).unwrap_or(0),
    ]
}

/// Which image and group of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) image: usize,
    pub(super) group: usize,
}

/// Fills a block of windows at `positions`: `depth` x positions, or positions x `depth` for [`Order::ChannelInner`].
pub(super) fn gather<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    order: Order,
    positions: Range<usize>,
    block: &mut [T],
    threads: usize,
) {
    let count = positions.len();
    let runs = runs(shape, positions);
    match order {
        Order::ChannelOuter => {
            let row = |(row, to): (usize, &mut [T])| gather_row(shape, input, part, row, &runs, to);
            if threads > 1 {
                block.par_chunks_mut(count.max(1)).with_min_len(8).enumerate().for_each(row);
            } else {
                block.chunks_mut(count.max(1)).enumerate().for_each(row);
            }
        }
        Order::ChannelInner => {
            let spots: Vec<[usize; 3]> =
                runs.iter().flat_map(|run| run.columns.clone().map(|c| [run.depth, run.row, c])).collect();
            let window = |(spot, to): (&[usize; 3], &mut [T])| gather_window(shape, input, part, *spot, to);
            let depth = shape.depth().max(1);
            if threads > 1 {
                spots.par_iter().zip(block.par_chunks_mut(depth)).with_min_len(16).for_each(window);
            } else {
                spots.iter().zip(block.chunks_mut(depth)).for_each(window);
            }
        }
    }
}

/// One element of the window at all positions of the runs.
fn gather_row<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    row: usize,
    runs: &[Run],
    mut to: &mut [T],
) {
    let taps = shape.taps();
    let (Some(channel), Some(tap)) = (row.checked_div(taps), row.checked_rem(taps)) else { return };
    let channel = part.group.saturating_mul(shape.group_in).saturating_add(channel);
    let [td, th, tw] = tap_of(shape, tap);
    let [_, _, stride] = shape.stride;
    let [.., width] = input.strides;
    let step = stride.saturating_mul(width).max(1);
    for run in runs {
        let Some((now, later)) = std::mem::take(&mut to).split_at_mut_checked(run.columns.len()) else { return };
        to = later;
        let (Some(depth), Some(height)) = (source(shape, 0, run.depth, td), source(shape, 1, run.row, th)) else {
            now.fill(T::zero());
            continue;
        };
        let (valid, first) = inside(shape, &run.columns, tw);
        let before = valid.start.saturating_sub(run.columns.start);
        let Some((zeros, rest)) = now.split_at_mut_checked(before) else { return };
        let Some((values, tail)) = rest.split_at_mut_checked(valid.len()) else { return };
        zeros.fill(T::zero());
        tail.fill(T::zero());
        let from = input.from([part.image, channel, depth, height, first]);
        match from.get(..values.len()) {
            Some(from) if step == 1 => values.copy_from_slice(from),
            _ => {
                for (value, &from) in values.iter_mut().zip(from.iter().step_by(step)) {
                    *value = from;
                }
            }
        }
    }
}

/// The whole window at one position, channels fastest.
fn gather_window<T: Scalar>(shape: &ConvShape, input: &Volume<'_, T>, part: Part, spot: [usize; 3], to: &mut [T]) {
    let [depth, row, column] = spot;
    let first = part.group.saturating_mul(shape.group_in);
    let [_, step, ..] = input.strides;
    for (tap, to) in to.chunks_mut(shape.group_in.max(1)).enumerate() {
        let [td, th, tw] = tap_of(shape, tap);
        let at = (source(shape, 0, depth, td), source(shape, 1, row, th), source(shape, 2, column, tw));
        let (Some(d), Some(h), Some(w)) = at else {
            to.fill(T::zero());
            continue;
        };
        let from = input.from([part.image, first, d, h, w]);
        match from.get(..to.len()) {
            Some(from) if step == 1 => to.copy_from_slice(from),
            _ => {
                for (to, &from) in to.iter_mut().zip(from.iter().step_by(step.max(1))) {
                    *to = from;
                }
            }
        }
    }
}

/// Adds a block of windows (`depth` x positions) back to the channels of an image: `channels` holds one mutable plane for each
/// channel of the group, `taps` rows of the block belong to it.
pub(super) fn scatter_add<T: Scalar>(
    shape: &ConvShape,
    positions: Range<usize>,
    block: &[T],
    channels: &mut [ndarray::ArrayViewMut1<'_, T>],
    threads: usize,
) {
    let count = positions.len();
    let runs = runs(shape, positions);
    let rows_bytes = count.saturating_mul(shape.taps()).max(1);
    let channel = |(plane, rows): (&mut ndarray::ArrayViewMut1<'_, T>, &[T])| {
        for (tap, row) in rows.chunks(count.max(1)).enumerate() {
            scatter_row(shape, tap, &runs, row, plane);
        }
    };
    if threads > 1 {
        channels.par_iter_mut().zip(block.par_chunks(rows_bytes)).for_each(channel);
    } else {
        channels.iter_mut().zip(block.chunks(rows_bytes)).for_each(channel);
    }
}

/// Adds one element of the window, at all positions of the runs, to a channel's plane.
fn scatter_row<T: Scalar>(
    shape: &ConvShape,
    tap: usize,
    runs: &[Run],
    mut row: &[T],
    plane: &mut ndarray::ArrayViewMut1<'_, T>,
) {
    let [td, th, tw] = tap_of(shape, tap);
    let [_, height, width] = shape.input;
    let [_, _, stride] = shape.stride;
    let step = stride.max(1);
    for run in runs {
        let Some((now, later)) = row.split_at_checked(run.columns.len()) else { return };
        row = later;
        let (Some(d), Some(h)) = (source(shape, 0, run.depth, td), source(shape, 1, run.row, th)) else { continue };
        let (valid, first) = inside(shape, &run.columns, tw);
        let before = valid.start.saturating_sub(run.columns.start);
        let values = now.iter().skip(before).take(valid.len());
        let at = d.saturating_mul(height).saturating_add(h).saturating_mul(width).saturating_add(first);
        match plane.as_slice_mut() {
            Some(plane) => {
                let to = plane.get_mut(at..).unwrap_or(&mut []);
                for (to, &v) in to.iter_mut().step_by(step).zip(values) {
                    *to = to.plus(v);
                }
            }
            None => {
                for (to, &v) in plane.iter_mut().skip(at).step_by(step).zip(values) {
                    *to = to.plus(v);
                }
            }
        }
    }
}
