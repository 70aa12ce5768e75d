//! The matrix of windows that turns a convolution into a product, block by block of output positions, and its way back.
//!
//! A block has one column for each of some output positions and one row for each element of a window: (channel, depth, height,
//! width), the last fastest. For an input whose channels are fastest, rows are (depth, height, width, channel) and memory holds
//! one position after the other: then each tap is one copy of all its channels.

use std::ops::Range;

use rayon::prelude::*;

use super::simd::{Kernel, vectorised};
use super::{ConvShape, Scalar, Volume};

/// Elements of a block: small enough for the second-level cache, and what a convolution takes beside its operands.
const BLOCK: usize = 1 << 18;
/// Rows of a block, about: what the product's kernel takes of the inner dimension at once.
const ROWS: usize = 256;

/// The order of a window's elements in the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// (channel, depth, height, width).
    ChannelOuter,
    /// (depth, height, width, channel).
    ChannelInner,
    /// Blocks of so many channels, each of them (depth, height, width, channel).
    Blocks(usize),
}

impl Order {
    /// Returns the channel and the tap of a row.
    pub(super) fn place(self, shape: &ConvShape, row: usize) -> Option<(usize, usize)> {
        let taps = shape.taps();
        let Order::Blocks(channels) = self else { return Some((row.checked_div(taps)?, row.checked_rem(taps)?)) };
        let block = channels.saturating_mul(taps);
        let first = row.checked_div(block)?.saturating_mul(channels);
        let (rest, width) = (row.checked_rem(block)?, channels.min(shape.group_in.saturating_sub(first)));
        Some((first.saturating_add(rest.checked_rem(width)?), rest.checked_div(width)?))
    }
}

/// One run of output positions of a block that lie in one output row.
pub(super) struct Run {
    pub(super) depth: usize,
    pub(super) row: usize,
    pub(super) columns: Range<usize>,
}

/// The output rows, or parts of them, that a range of positions covers.
pub(super) fn runs(shape: &ConvShape, positions: Range<usize>) -> Vec<Run> {
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
pub(super) fn source(shape: &ConvShape, axis: usize, position: usize, tap: usize) -> Option<usize> {
    let at = position
        .checked_mul(*shape.stride.get(axis)?)?
        .checked_add(tap.checked_mul(*shape.dilation.get(axis)?)?)?
        .checked_sub(*shape.padding.get(axis)?)?;
    (at < *shape.input.get(axis)?).then_some(at)
}

/// Of a run of output columns: those whose tap is inside the input row, and where the first of them reads.
pub(super) fn inside(shape: &ConvShape, columns: &Range<usize>, tap: usize) -> (Range<usize>, usize) {
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
pub(super) fn tap_of(shape: &ConvShape, tap: usize) -> [usize; 3] {
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

/// How the rows (elements of a window) and columns (output positions) of the matrix of windows are cut into blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) order: Order,
    /// Rows of a block; whole lines of taps if channels are fastest.
    pub(super) rows: usize,
    /// Columns of a block.
    pub(super) columns: usize,
}

impl Cut {
    /// Blocks of at most some MB, for `shares` threads that have columns of their own.
    pub(super) fn new(shape: &ConvShape, order: Order, shares: usize) -> Self {
        let rows = match order {
            Order::ChannelOuter => ROWS,
            Order::ChannelInner => {
                let [.., width] = shape.kernel;
                let line = width.saturating_mul(shape.group_in).max(1);
                ROWS.div_ceil(line).saturating_mul(line)
            }
            Order::Blocks(channels) => channels.saturating_mul(shape.taps()),
        };
        let rows = rows.min(shape.depth()).max(1);
        let most = BLOCK.checked_div(rows).unwrap_or(1).max(32);
        let strips = shape.positions().div_ceil(most).max(1).checked_next_multiple_of(shares.max(1)).unwrap_or(1);
        let columns = shape.positions().div_ceil(strips).checked_next_multiple_of(16).unwrap_or(most).max(1);
        Self { order, rows, columns }
    }

    /// As many rows as fit together with all columns: for threads that fill each block together.
    pub(super) fn tall(shape: &ConvShape, order: Order) -> Self {
        let cut = Self::new(shape, order, 1);
        if matches!(order, Order::Blocks(_)) {
            return cut;
        }
        let blocks = BLOCK.saturating_mul(2).checked_div(cut.columns.saturating_mul(cut.rows)).unwrap_or(1).max(1);
        Self { rows: cut.rows.saturating_mul(blocks).min(shape.depth()), ..cut }
    }

    /// Elements of a block.
    pub(super) fn elements(&self, shape: &ConvShape) -> usize {
        self.rows.saturating_mul(self.columns.min(shape.positions()))
    }

    /// The ranges of rows, first to last.
    pub(super) fn row_ranges(&self, shape: &ConvShape) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, depth) = (self.rows, shape.depth());
        (0..depth).step_by(rows.max(1)).map(move |first| first..first.saturating_add(rows).min(depth))
    }
}

/// Fills a block with some rows of the matrix of windows at `positions`: rows x positions, or positions x rows for
/// [`Order::ChannelInner`].
pub(super) fn gather<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    order: Order,
    (rows, positions): (Range<usize>, Range<usize>),
    block: &mut [T],
    threads: usize,
) {
    let count = positions.len().max(1);
    let runs = runs(shape, positions.clone());
    match order {
        Order::ChannelOuter | Order::Blocks(_) => {
            let row = |(row, to): (usize, &mut [T])| {
                let Some(place) = order.place(shape, rows.start.saturating_add(row)) else { return };
                gather_row(shape, input, part, place, &runs, positions.start, to);
            };
            if threads > 1 {
                block.par_chunks_mut(count).with_min_len(8).enumerate().for_each(row);
            } else {
                block.chunks_mut(count).enumerate().for_each(row);
            }
        }
        Order::ChannelInner => {
            let spots: Vec<[usize; 3]> =
                runs.iter().flat_map(|run| run.columns.clone().map(|c| [run.depth, run.row, c])).collect();
            let [.., taps] = shape.kernel;
            let first_line = rows.start.checked_div(taps.saturating_mul(shape.group_in)).unwrap_or(0);
            let window = |(spot, to): (&[usize; 3], &mut [T])| gather_window(shape, input, part, *spot, first_line, to);
            let width = rows.len().max(1);
            if threads > 1 {
                spots.par_iter().zip(block.par_chunks_mut(width)).with_min_len(16).for_each(window);
            } else {
                spots.iter().zip(block.chunks_mut(width)).for_each(window);
            }
        }
    }
}

/// One element of the window at all positions of the runs, of which the first is `start`.
fn gather_row<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    (channel, tap): (usize, usize),
    runs: &[Run],
    start: usize,
    mut to: &mut [T],
) {
    let channel = part.group.saturating_mul(shape.group_in).saturating_add(channel);
    let [td, th, tw] = tap_of(shape, tap);
    let [_, _, stride] = shape.stride;
    let [.., width] = input.strides;
    let step = stride.saturating_mul(width);
    let copied = copy_shifted(shape, input, [part.image, channel], [th, tw], start, to);
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
        zeros.iter_mut().chain(tail).for_each(|v| *v = T::zero());
        if copied {
            continue;
        }
        let from = input.from([part.image, channel, depth, height, first]);
        copy_every(step, from, values);
    }
}

/// Where the output is as wide as the input, each tap's row is the input plane itself, moved by some elements: copies it whole, and
/// says so. What comes from another line, or from none, is left to be overwritten.
fn copy_shifted<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    [image, channel]: [usize; 2],
    [th, tw]: [usize; 2],
    start: usize,
    to: &mut [T],
) -> bool {
    let ([depth, height, width], [_, rows, columns]) = (shape.input, shape.output);
    let [.., line, pixel] = input.strides;
    let same_lines = shape.stride == [1; 3] && width == columns && pixel == 1 && (line == width || height == 1);
    if !same_lines || depth != 1 || shape.positions() != rows.saturating_mul(columns) {
        return false;
    }
    let ([_, ph, pw], [_, dh, dw]) = (shape.padding, shape.dilation);
    // The source of position p is p + forward - back.
    let forward = th.saturating_mul(dh).saturating_mul(width).saturating_add(tw.saturating_mul(dw));
    let back = ph.saturating_mul(width).saturating_add(pw);
    let from = start.saturating_add(forward);
    let plane = input.from([image, channel, 0, 0, 0]);
    let plane = plane.get(..height.saturating_mul(width)).unwrap_or(plane);
    let source = plane.get(from.saturating_sub(back)..).unwrap_or(&[]);
    let to = to.get_mut(back.saturating_sub(from)..).unwrap_or(&mut []);
    let count = to.len().min(source.len());
    if let (Some(to), Some(source)) = (to.get_mut(..count), source.get(..count)) {
        to.copy_from_slice(source);
    }
    true
}

/// Fills a slice with every `step`th element of another, the first included; with the first alone if there is no step.
pub(super) fn copy_every<T: Scalar>(step: usize, from: &[T], to: &mut [T]) {
    match (step, from.get(..to.len())) {
        (0, _) => to.fill(from.first().copied().unwrap_or(T::zero())),
        (1, Some(from)) => to.copy_from_slice(from),
        (2, _) => vectorised::<EverySecond, _>((from, to)),
        _ => {
            for (to, &from) in to.iter_mut().zip(from.iter().step_by(step)) {
                *to = from;
            }
        }
    }
}

/// Every second element of the first slice into the second.
struct EverySecond;

impl<T: Scalar> Kernel<(&[T], &mut [T])> for EverySecond {
    type Output = ();

    #[inline(always)]
    fn run((from, to): (&[T], &mut [T])) {
        let (pairs, last) = from.as_chunks::<2>();
        let (most, rest) = to.split_at_mut(pairs.len().min(to.len()));
        for (to, [from, _]) in most.iter_mut().zip(pairs) {
            *to = *from;
        }
        for (to, from) in rest.iter_mut().zip(last) {
            *to = *from;
        }
    }
}

/// Whether the pixels of an input line follow each other without a gap, and a window's taps too.
pub(super) fn lines_run_on<T>(shape: &ConvShape, input: &Volume<'_, T>) -> bool {
    let ([_, channel, .., pixel], [.., dilation]) = (input.strides, shape.dilation);
    channel == 1 && pixel == shape.group_in && dilation == 1
}

/// The window at one position from a line of taps on, channels fastest.
fn gather_window<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    [depth, row, column]: [usize; 3],
    first_line: usize,
    to: &mut [T],
) {
    let (channels, [.., width]) = (shape.group_in, shape.kernel);
    let first = part.group.saturating_mul(channels);
    let run_on = lines_run_on(shape, input);
    let [_, step, ..] = input.strides;
    for (line, to) in to.chunks_mut(width.saturating_mul(channels).max(1)).enumerate() {
        let [td, th, _] = tap_of(shape, first_line.saturating_add(line).saturating_mul(width));
        let (Some(d), Some(h)) = (source(shape, 0, depth, td), source(shape, 1, row, th)) else {
            to.fill(T::zero());
            continue;
        };
        if run_on {
            gather_line(shape, input, [part.image, d, h], column, to);
            continue;
        }
        for (tw, to) in to.chunks_mut(channels.max(1)).enumerate() {
            match source(shape, 2, column, tw) {
                Some(w) => copy_every(step, input.from([part.image, first, d, h, w]), to),
                None => to.fill(T::zero()),
            }
        }
    }
}

/// One line of a window where [`lines_run_on`]: what is inside the input is one run of elements.
fn gather_line<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    [image, depth, height]: [usize; 3],
    column: usize,
    to: &mut [T],
) {
    let ([.., stride], [.., padding], [.., width]) = (shape.stride, shape.padding, shape.input);
    let [.., taps] = shape.kernel;
    let start = column.saturating_mul(stride);
    let first = padding.saturating_sub(start).min(taps);
    let end = width.saturating_add(padding).saturating_sub(start).clamp(first, taps);
    let at = start.saturating_add(first).saturating_sub(padding);
    let elements = |taps: usize| taps.saturating_mul(shape.group_in);
    let (before, rest) = to.split_at_mut(elements(first).min(to.len()));
    let (values, after) = rest.split_at_mut(elements(end.saturating_sub(first)).min(rest.len()));
    before.iter_mut().chain(after).for_each(|v| *v = T::zero());
    if let Some(from) = input.from([image, 0, depth, height, at]).get(..values.len()) {
        values.copy_from_slice(from);
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
