//! The way back through a convolution: gradients of input, weight and bias, and transposed convolution, which is the first of them.

use ndarray::{ArrayView2, ArrayViewMut1, Axis};

use super::conv::{Weight, block_matrix, expect_input, expect_output, expect_weight, image_matrix};
use super::gemm::product;
use super::gemv::Sum;
use super::im2col::{Order, Part, gather, scatter_add};
use super::simd::vectorised;
use super::{ConvShape, DenseError, Layout, Mat, MatMut, Scalar, Volume};

/// Elements of a block of windows.
const STRIP: usize = 1 << 19;

/// The gradient of the input (dense in `layout`, as large as [`ConvShape::input_sizes`] says), from that of the output.
///
/// This is transposed convolution: with a shape from [`ConvShape::transposed`], `grad_out` is its input, `out` its output, and `bias`
/// (input channels of the shape) is added.
pub fn conv_input_gradient<T: Scalar>(
    shape: &ConvShape,
    grad_out: &Volume<'_, T>,
    weight: &Volume<'_, T>,
    bias: Option<&[T]>,
    out: &mut [T],
    layout: Layout,
) -> Result<(), DenseError> {
    expect_output(shape, grad_out)?;
    expect_weight(shape, weight)?;
    let (channels, pixels) = (shape.in_channels(), shape.pixels());
    let image_len = channels.saturating_mul(pixels);
    DenseError::expect("the number of input gradient elements", image_len.saturating_mul(shape.batch), out.len())?;
    DenseError::expect("the number of biases", channels, bias.map_or(channels, <[T]>::len))?;
    if out.is_empty() {
        return Ok(());
    }
    let weight = Weight::new(shape, weight, Order::ChannelOuter);
    let threads = rayon::current_num_threads();
    for (image, out) in out.chunks_mut(image_len).enumerate() {
        let mut out = image_matrix(out, channels, pixels, layout)?;
        for (row, mut plane) in out.outer_iter_mut().enumerate() {
            plane.fill(bias.and_then(|b| b.get(row)).copied().unwrap_or(T::zero()));
        }
        for (group, mut out) in out.axis_chunks_iter_mut(Axis(0), shape.group_in.max(1)).enumerate() {
            let mut planes: Vec<_> = out.outer_iter_mut().collect();
            let weight = weight.of(shape, group)?.transposed();
            input_gradient_group(threads, shape, grad_out, Part { image, group }, &weight, &mut planes)?;
        }
    }
    Ok(())
}

/// Positions whose whole windows are held at once: some MB, at least 32.
fn strip(shape: &ConvShape) -> usize {
    STRIP.checked_div(shape.depth()).unwrap_or(STRIP).max(32)
}

/// One group of one image: blocks of windows are products, and are added back to the planes.
fn input_gradient_group<T: Scalar>(
    threads: usize,
    shape: &ConvShape,
    grad_out: &Volume<'_, T>,
    part: Part,
    weight: &Mat<'_, T>,
    planes: &mut [ArrayViewMut1<'_, T>],
) -> Result<(), DenseError> {
    let mut copy = Vec::new();
    let grad = output_matrix(shape, grad_out, part, &mut copy)?;
    let width = strip(shape);
    let mut block = vec![T::zero(); width.min(shape.positions()).saturating_mul(shape.depth())];
    let mut first = 0_usize;
    for grad in grad.axis_chunks_iter(Axis(1), width) {
        let count = grad.ncols();
        let next = first.saturating_add(count);
        let block = block.get_mut(..count.saturating_mul(shape.depth())).unwrap_or(&mut []);
        let windows = MatMut::row_major(block, shape.depth(), count)?.view;
        product(threads, T::one(), weight.view, grad, T::zero(), windows);
        scatter_add(shape, first..next, block, planes, threads);
        first = next;
    }
    Ok(())
}

/// The gradient of the weight (output channels, channels of a group, window; contiguous), from input and output gradient.
pub fn conv_weight_gradient<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    grad_out: &Volume<'_, T>,
    out: &mut [T],
) -> Result<(), DenseError> {
    expect_input(shape, input)?;
    expect_output(shape, grad_out)?;
    let group_len = shape.group_out.saturating_mul(shape.depth());
    DenseError::expect("the number of weight gradient elements", group_len.saturating_mul(shape.groups), out.len())?;
    out.fill(T::zero());
    if out.is_empty() {
        return Ok(());
    }
    let threads = rayon::current_num_threads();
    let width = strip(shape);
    let mut block = vec![T::zero(); width.min(shape.positions()).saturating_mul(shape.depth())];
    let mut copy = Vec::new();
    for image in 0..shape.batch {
        for (group, out) in out.chunks_mut(group_len).enumerate() {
            let part = Part { image, group };
            let mut sums = MatMut::row_major(out, shape.group_out, shape.depth())?.view;
            let grad = output_matrix(shape, grad_out, part, &mut copy)?;
            let mut first = 0_usize;
            for grad in grad.axis_chunks_iter(Axis(1), width) {
                let count = grad.ncols();
                let next = first.saturating_add(count);
                let block = block.get_mut(..count.saturating_mul(shape.depth())).unwrap_or(&mut []);
                let rows = 0..shape.depth();
                gather(shape, input, part, Order::ChannelOuter, (rows, first..next), block, threads);
                let windows = block_matrix(Order::ChannelOuter, shape.depth(), count, block)?;
                product(threads, T::one(), grad, windows.reversed_axes(), T::one(), sums.view_mut());
                first = next;
            }
        }
    }
    Ok(())
}

/// The gradient of the bias: the sum of the output gradient over images and positions, for each output channel.
pub fn conv_bias_gradient<T: Scalar>(
    shape: &ConvShape,
    grad_out: &Volume<'_, T>,
    out: &mut [T],
) -> Result<(), DenseError> {
    expect_output(shape, grad_out)?;
    DenseError::expect("the number of bias gradient elements", shape.out_channels(), out.len())?;
    out.fill(T::zero());
    let mut copy = Vec::new();
    for image in 0..shape.batch {
        for (group, out) in out.chunks_mut(shape.group_out.max(1)).enumerate() {
            let grad = output_matrix(shape, grad_out, Part { image, group }, &mut copy)?;
            for (out, row) in out.iter_mut().zip(grad.outer_iter()) {
                let sum = match row.to_slice() {
                    Some(row) => vectorised::<Sum, _>(row),
                    None => row.iter().fold(T::zero(), |sum, &v| sum.plus(v)),
                };
                *out = out.plus(sum);
            }
        }
    }
    Ok(())
}

/// One group of one image's output channels x positions: a view where one stride walks the positions, else a copy.
fn output_matrix<'a, T: Scalar>(
    shape: &ConvShape,
    grad_out: &Volume<'a, T>,
    part: Part,
    copy: &'a mut Vec<T>,
) -> Result<ArrayView2<'a, T>, DenseError> {
    let first = part.group.saturating_mul(shape.group_out);
    let [_, channel, ..] = grad_out.strides;
    if let Some(step) = grad_out.spatial_stride() {
        let data = grad_out.from([part.image, first, 0, 0, 0]);
        return Ok(Mat::new(data, shape.group_out, shape.positions(), channel, step)?.view);
    }
    copy.clear();
    let [depths, rows, columns] = shape.output;
    let [.., step] = grad_out.strides;
    for channel in (0..shape.group_out).map(|c| first.saturating_add(c)) {
        for (d, h) in (0..depths).flat_map(|d| (0..rows).map(move |h| (d, h))) {
            let row = grad_out.from([part.image, channel, d, h, 0]);
            match step {
                0 => copy.extend(row.iter().take(1).cycle().take(columns)),
                step => copy.extend(row.iter().step_by(step).take(columns)),
            }
        }
    }
    Ok(Mat::row_major(copy, shape.group_out, shape.positions())?.view)
}
