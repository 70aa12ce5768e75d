//! Convolution: products of the weight with blocks of the matrix of windows; pointwise and depthwise ones without that matrix.
//!
//! Threads share images and groups where there are enough, else the parts of each block's product. `f32` has its windows in panels
//! (`conv_panels`). For other numbers scratch is one block of windows for each thread, and a reordered copy of a weight whose strides do
//! not fit the order of the windows.

use std::borrow::Cow;

use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::conv_panels::{Paneled, fits_panels};
use super::depthwise::{depthwise, depthwise_last};
use super::gemm::product;
use super::im2col::{Cut, Order, Part, gather, lines_run_on};
use super::panels::Tiler;
use super::{ConvShape, DenseError, Layout, Mat, MatMut, Scalar, Volume};

/// Channels from which on copying those of a pixel is worth its overhead.
const MIN_CHANNELS: usize = 16;
/// Elements from which on copying a line of a window is worth its overhead.
const MIN_LINE: usize = 32;

/// Refuses what a convolution takes, and so many elements that it gives, if they are not of the sizes that it says.
pub(super) fn expect_all<T>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    weight: &Volume<'_, T>,
    bias: Option<&[T]>,
    found: usize,
) -> Result<(), DenseError> {
    expect_input(shape, input)?;
    expect_weight(shape, weight)?;
    let channels = shape.out_channels();
    let elements = channels.saturating_mul(shape.positions()).saturating_mul(shape.batch);
    DenseError::expect("the number of output elements", elements, found)?;
    DenseError::expect("the number of biases", channels, bias.map_or(channels, <[T]>::len))
}

/// Convolves `input` (batch, channels, spatial) with `weight` (output channels, channels of a group, window) and adds `bias`
/// (output channels) into `out`, which is dense in `layout` and as large as [`ConvShape::output_sizes`] says.
pub fn conv<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    weight: &Volume<'_, T>,
    bias: Option<&[T]>,
    out: &mut [T],
    layout: Layout,
) -> Result<(), DenseError> {
    expect_all(shape, input, weight, bias, out.len())?;
    let (channels, positions) = (shape.out_channels(), shape.positions());
    let image = channels.saturating_mul(positions);
    if image == 0 || shape.batch == 0 {
        return Ok(());
    }
    let depthwise_case = shape.group_in == 1 && shape.groups > 1;
    if depthwise_case && layout == Layout::ChannelsLast && depthwise_last(shape, input, weight, bias, out) {
        return Ok(());
    }
    let order = if depthwise_case { Order::ChannelOuter } else { window_order(shape, input) };
    let tiler = T::tiler().filter(|_| !depthwise_case && fits_panels(shape, order));
    let weight = Weight::new(shape, weight, if tiler.is_some() { Order::ChannelOuter } else { order });
    let mut images = out
        .chunks_mut(image)
        .map(|out| image_matrix(out, channels, positions, layout))
        .collect::<Result<Vec<_>, _>>()?;
    let mut jobs = Vec::new();
    for (image, out) in images.iter_mut().enumerate() {
        for (group, out) in out.axis_chunks_iter_mut(Axis(0), shape.group_out.max(1)).enumerate() {
            jobs.push((Part { image, group }, out));
        }
    }
    let threads = rayon::current_num_threads();
    let one = |(part, mut out): (Part, ArrayViewMut2<'_, T>), threads: usize| {
        let late = matches!(order, Order::Blocks(channels) if channels < shape.group_in);
        let beta = start_with_bias(shape, part, bias.filter(|_| !late), &mut out);
        let weight = weight.of(shape, part.group)?.view;
        if depthwise_case {
            depthwise(shape, input, part, weight, bias, out);
            return Ok(());
        }
        one_group((threads, tiler), (shape, order), input, part, weight, beta, out.view_mut())?;
        if late {
            let own = bias.unwrap_or(&[]).iter().skip(part.group.saturating_mul(shape.group_out));
            out.outer_iter_mut().zip(own).for_each(|(mut row, bias)| row.mapv_inplace(|v| v.plus(*bias)));
        }
        Ok(())
    };
    if threads > 1 && jobs.len() >= threads {
        jobs.into_par_iter().try_for_each(|job| one(job, 1))
    } else {
        jobs.into_iter().try_for_each(|job| one(job, threads))
    }
}

pub(super) fn expect_input<T>(shape: &ConvShape, input: &Volume<'_, T>) -> Result<(), DenseError> {
    let [batch, channels, d, h, w] = input.sizes;
    DenseError::expect("the input's batch", shape.batch, batch)?;
    DenseError::expect("the input's channels", shape.in_channels(), channels)?;
    expect_spatial("an input size", &shape.input, &[d, h, w])
}

pub(super) fn expect_output<T>(shape: &ConvShape, output: &Volume<'_, T>) -> Result<(), DenseError> {
    let [batch, channels, d, h, w] = output.sizes;
    DenseError::expect("the output's batch", shape.batch, batch)?;
    DenseError::expect("the output's channels", shape.out_channels(), channels)?;
    expect_spatial("an output size", &shape.output, &[d, h, w])
}

pub(super) fn expect_weight<T>(shape: &ConvShape, weight: &Volume<'_, T>) -> Result<(), DenseError> {
    let [out, group_in, d, h, w] = weight.sizes;
    DenseError::expect("the weight's output channels", shape.out_channels(), out)?;
    DenseError::expect("the weight's channels of a group", shape.group_in, group_in)?;
    expect_spatial("a window size", &shape.kernel, &[d, h, w])
}

fn expect_spatial(what: &'static str, expected: &[usize; 3], found: &[usize; 3]) -> Result<(), DenseError> {
    expected.iter().zip(found).try_for_each(|(&e, &f)| DenseError::expect(what, e, f))
}

/// Channels of an image as rows, positions as columns.
pub(super) fn image_matrix<T>(
    image: &mut [T],
    channels: usize,
    positions: usize,
    layout: Layout,
) -> Result<ArrayViewMut2<'_, T>, DenseError> {
    let (row, column) = match layout {
        Layout::ChannelsFirst => (positions, 1),
        Layout::ChannelsLast => (1, channels),
    };
    Ok(MatMut::new(image, channels, positions, row, column)?.view)
}

/// Inputs whose channels are fastest are gathered window by window, where that copies more than some elements at once.
fn window_order<T>(shape: &ConvShape, input: &Volume<'_, T>) -> Order {
    let ([_, channel, .., pixel], [.., width]) = (input.strides, shape.kernel);
    let long_lines = lines_run_on(shape, input) && width.saturating_mul(shape.group_in) >= MIN_LINE;
    let worth_it = shape.group_in >= MIN_CHANNELS || long_lines;
    match shape.channel_block {
        _ if channel == 1 && pixel > 1 && worth_it => Order::ChannelInner,
        Some(channels) if shape.taps() > 1 => Order::Blocks(channels),
        _ => Order::ChannelOuter,
    }
}

/// Fills the rows with their bias; what the product is then to multiply them by.
pub(super) fn start_with_bias<T: Scalar>(
    shape: &ConvShape,
    part: Part,
    bias: Option<&[T]>,
    out: &mut ArrayViewMut2<'_, T>,
) -> T {
    let Some(bias) = bias else {
        // Where a window has no element there is no product to overwrite what lies there.
        if shape.depth() == 0 {
            out.fill(T::zero());
        }
        return T::zero();
    };
    let first = part.group.saturating_mul(shape.group_out);
    for (mut row, &bias) in out.outer_iter_mut().zip(bias.iter().skip(first)) {
        row.fill(bias);
    }
    T::one()
}

/// A weight as one matrix: output channels x elements of a window, in the order of the windows.
pub(super) struct Weight<'a, T: Clone> {
    data: Cow<'a, [T]>,
    row: usize,
    column: usize,
}

impl<'a, T: Scalar> Weight<'a, T> {
    pub(super) fn new(shape: &ConvShape, weight: &Volume<'a, T>, order: Order) -> Self {
        let [row, channel, ..] = weight.strides;
        let taps = shape.taps();
        let spatial = weight.spatial_stride();
        let column = match (order, spatial) {
            (_, _) if taps == 1 => Some(channel),
            (Order::ChannelOuter, Some(step)) if shape.group_in == 1 || channel == taps.saturating_mul(step) => {
                Some(step)
            }
            (Order::ChannelInner, Some(step)) if step == shape.group_in.saturating_mul(channel) => Some(channel),
            _ => None,
        };
        if let Some(column) = column {
            return Self { data: weight.from([0; 5]).into(), row, column };
        }
        if let Order::Blocks(channels) = order {
            return Self { data: in_blocks(shape, weight, channels).into(), row: 1, column: shape.out_channels() };
        }
        Self { data: reordered(shape, weight, order).into(), row: shape.depth(), column: 1 }
    }

    /// The rows of one group.
    pub(super) fn of(&self, shape: &ConvShape, group: usize) -> Result<Mat<'_, T>, DenseError> {
        let from = group.saturating_mul(shape.group_out).saturating_mul(self.row);
        let data = self.data.get(from..).unwrap_or(&[]);
        Mat::new(data, shape.group_out, shape.depth(), self.row, self.column)
    }
}

/// Output channels whose weights are brought into another order together: a line of cache.
const TOGETHER: usize = 16;

/// Where the elements of a window lie in a row of the weight, in the order of the windows.
fn places<T: Scalar>(shape: &ConvShape, weight: &Volume<'_, T>, order: Order) -> Vec<usize> {
    let order = if order == Order::ChannelInner { Order::Blocks(shape.group_in.max(1)) } else { order };
    let [_, channel, depth, height, width] = weight.strides;
    let place = |k: usize| {
        let (c, tap) = order.place(shape, k).unwrap_or_default();
        let [d, h, w] = super::im2col::tap_of(shape, tap);
        let steps =
            [c.saturating_mul(channel), d.saturating_mul(depth), h.saturating_mul(height), w.saturating_mul(width)];
        steps.iter().fold(0, |at: usize, step| at.saturating_add(*step))
    };
    (0..shape.depth()).map(place).collect()
}

/// A copy whose columns are in the order of the windows, column by column, which is how the product wants them.
fn in_blocks<T: Scalar>(shape: &ConvShape, weight: &Volume<'_, T>, channels: usize) -> Vec<T> {
    let outputs = shape.out_channels().max(1);
    let mut copy = vec![T::zero(); outputs.saturating_mul(shape.depth())];
    let places = places(shape, weight, Order::Blocks(channels));
    let columns = |(to, places): (&mut [T], &[usize])| {
        for first in (0..outputs).step_by(TOGETHER) {
            let rows: Vec<&[T]> = (first..outputs.min(first.saturating_add(TOGETHER)))
                .map(|output| weight.from([output, 0, 0, 0, 0]))
                .collect();
            for (column, place) in to.chunks_mut(outputs).zip(places) {
                let to = column.iter_mut().skip(first).zip(&rows);
                to.for_each(|(to, row)| *to = row.get(*place).copied().unwrap_or(*to));
            }
        }
    };
    // Threads take the columns of some blocks of channels each, which lie near each other in every row.
    let some = channels.saturating_mul(shape.taps()).max(1);
    copy.par_chunks_mut(outputs.saturating_mul(some)).zip(places.par_chunks(some)).for_each(columns);
    copy
}

/// A copy whose rows are in the order of the windows.
fn reordered<T: Scalar>(shape: &ConvShape, weight: &Volume<'_, T>, order: Order) -> Vec<T> {
    let depth = shape.depth().max(1);
    let mut copy = vec![T::zero(); shape.out_channels().saturating_mul(depth)];
    let places = places(shape, weight, order);
    copy.par_chunks_mut(depth).with_min_len(TOGETHER).enumerate().for_each(|(output, to)| {
        let from = weight.from([output, 0, 0, 0, 0]);
        to.iter_mut().zip(&places).for_each(|(to, place)| *to = from.get(*place).copied().unwrap_or(*to));
    });
    copy
}

/// The output channels of one group of one image, rows of `out`.
fn one_group<T: Scalar>(
    (threads, tiler): (usize, Option<Tiler<T>>),
    (shape, order): (&ConvShape, Order),
    input: &Volume<'_, T>,
    part: Part,
    weight: ArrayView2<'_, T>,
    beta: T,
    mut out: ArrayViewMut2<'_, T>,
) -> Result<(), DenseError> {
    if let Some(pixels) = pointwise_input(shape, input, part) {
        product(threads, T::one(), weight, pixels, beta, out);
        return Ok(());
    }
    if let Some(tiler) = tiler {
        Paneled { shape, order, input, part, tiler, weight, beta }.run(threads, out);
        return Ok(());
    }
    // Threads take positions of their own, unless the weight is the larger operand: each of them would prepare all of it.
    let apart = threads > 1 && shape.positions() >= shape.group_out.max(threads.saturating_mul(32));
    let cut = if apart || threads == 1 { Cut::new(shape, order, threads) } else { Cut::tall(shape, order) };
    let job = Strip { shape, input, part, cut, weight, beta };
    let strips = out.axis_chunks_iter_mut(Axis(1), cut.columns).enumerate();
    let mut strips: Vec<_> = strips.map(|(strip, out)| (strip.saturating_mul(cut.columns), out)).collect();
    let scratch = || vec![T::zero(); cut.elements(shape)];
    if apart {
        strips.par_iter_mut().try_for_each_init(scratch, |block, (first, out)| job.run(1, *first, block, out))
    } else {
        let mut block = scratch();
        strips.iter_mut().try_for_each(|(first, out)| job.run(threads, *first, &mut block, out))
    }
}

/// What the strips of output positions of one group of one image have in common.
struct Strip<'a, T> {
    shape: &'a ConvShape,
    input: &'a Volume<'a, T>,
    part: Part,
    cut: Cut,
    weight: ArrayView2<'a, T>,
    beta: T,
}

impl<T: Scalar> Strip<'_, T> {
    /// The output at the positions from `first` on, which are the columns of `out`: some rows of the windows after the other.
    fn run(
        &self,
        threads: usize,
        first: usize,
        block: &mut [T],
        out: &mut ArrayViewMut2<'_, T>,
    ) -> Result<(), DenseError> {
        let Self { shape, input, part, cut, weight, mut beta } = *self;
        let count = out.ncols();
        let positions = first..first.saturating_add(count);
        for rows in cut.row_ranges(shape) {
            let block = block.get_mut(..count.saturating_mul(rows.len())).unwrap_or(&mut []);
            gather(shape, input, part, cut.order, (rows.clone(), positions.clone()), block, threads);
            let windows = block_matrix(cut.order, rows.len(), count, block)?;
            let weight = weight.slice_axis(Axis(1), rows.into());
            product(threads, T::one(), weight, windows, beta, out.view_mut());
            beta = T::one();
        }
        Ok(())
    }
}

/// A block as rows x positions.
pub(super) fn block_matrix<T>(
    order: Order,
    rows: usize,
    count: usize,
    block: &[T],
) -> Result<ArrayView2<'_, T>, DenseError> {
    let (row, column) = match order {
        Order::ChannelOuter | Order::Blocks(_) => (count, 1),
        Order::ChannelInner => (1, rows),
    };
    Ok(Mat::new(block, rows, count, row, column)?.view)
}

/// The group's channels x pixels, where the windows are the pixels and one stride walks them.
fn pointwise_input<'a, T>(shape: &ConvShape, input: &Volume<'a, T>, part: Part) -> Option<ArrayView2<'a, T>> {
    if !shape.is_pointwise() {
        return None;
    }
    let [_, channel, ..] = input.strides;
    let step = input.spatial_stride()?;
    let data = input.from([part.image, part.group.checked_mul(shape.group_in)?, 0, 0, 0]);
    Mat::new(data, shape.group_in, shape.positions(), channel, step).ok().map(|pixels| pixels.view)
}
