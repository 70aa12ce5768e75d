//! Convolution with one input channel a group: each output row is a sum of shifted input rows.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};

use super::gemv::Axpy;
use super::im2col::{Order, Part, gather};
use super::simd::vectorised;
use super::{ConvShape, DenseError, Scalar, Volume};

/// Positions that are computed at once: a window's elements at them stay in the first-level cache.
const STRIP: usize = 512;

/// Convolves one input channel with each row of `weight` (output channels x window) into the rows of `out`.
pub(super) fn depthwise<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    weight: ArrayView2<'_, T>,
    bias: Option<&[T]>,
    mut out: ArrayViewMut2<'_, T>,
) -> Result<(), DenseError> {
    let channel = part.group.saturating_mul(shape.group_out);
    let mut block = vec![T::zero(); STRIP.saturating_mul(shape.taps())];
    let mut sums = [T::zero(); STRIP];
    let mut first = 0_usize;
    for mut out in out.axis_chunks_iter_mut(Axis(1), STRIP) {
        let count = out.ncols();
        let next = first.saturating_add(count);
        let block = block.get_mut(..count.saturating_mul(shape.taps())).unwrap_or(&mut []);
        let sums = sums.get_mut(..count).unwrap_or(&mut []);
        gather(shape, input, part, Order::ChannelOuter, first..next, block, 1);
        let biases = bias.unwrap_or(&[]).iter().skip(channel).copied().map(Some).chain(std::iter::repeat(None));
        for ((mut out, weight), bias) in out.outer_iter_mut().zip(weight.outer_iter()).zip(biases) {
            sums.fill(bias.unwrap_or(T::zero()));
            for (&factor, values) in weight.iter().zip(block.chunks(count.max(1))) {
                vectorised::<Axpy, _>((factor, values, &mut *sums));
            }
            for (out, &sum) in out.iter_mut().zip(sums.iter()) {
                *out = sum;
            }
        }
        first = next;
    }
    Ok(())
}
