//! Convolution with one input channel a group: each output row is a sum of shifted input rows, or where channels are fastest,
//! each output pixel a sum of input pixels, all channels at once.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::gemv::Axpy;
use super::im2col::{Order, Part, gather, source, tap_of};
use super::simd::{Kernel, vectorised};
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
        gather(shape, input, part, Order::ChannelOuter, (0..shape.taps(), first..next), block, 1);
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

/// Convolves all channels at once, one output channel each, where channels are fastest in input and `out`; false if they are not.
pub(super) fn depthwise_last<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    weight: &Volume<'_, T>,
    bias: Option<&[T]>,
    out: &mut [T],
) -> bool {
    let [_, channel, ..] = input.strides;
    if channel != 1 || shape.group_out != 1 || shape.groups == 0 {
        return false;
    }
    let [kd, kh, kw] = shape.kernel;
    let taps = (0..kd).flat_map(|d| (0..kh).flat_map(move |h| (0..kw).map(move |w| [d, h, w])));
    let factors: Vec<T> = taps
        .flat_map(|[d, h, w]| (0..shape.groups).filter_map(move |c| weight.from([c, 0, d, h, w]).first().copied()))
        .collect();
    let [_, rows, columns] = shape.output;
    let positions = shape.positions();
    out.par_chunks_mut(shape.groups.saturating_mul(columns)).enumerate().for_each(|(line, out)| {
        let first = line.saturating_mul(columns);
        let image = first.checked_div(positions).unwrap_or(0);
        let line = first.checked_rem(positions).unwrap_or(0).checked_div(columns).unwrap_or(0);
        let (depth, row) = (line.checked_div(rows).unwrap_or(0), line.checked_rem(rows).unwrap_or(0));
        for (column, out) in out.chunks_mut(shape.groups).enumerate() {
            match bias {
                Some(bias) => out.copy_from_slice(bias),
                None => out.fill(T::zero()),
            }
            for (tap, factors) in factors.chunks(shape.groups).enumerate() {
                let [td, th, tw] = tap_of(shape, tap);
                let at = (source(shape, 0, depth, td), source(shape, 1, row, th), source(shape, 2, column, tw));
                if let (Some(d), Some(h), Some(w)) = at {
                    vectorised::<Multiply, _>((factors, input.from([image, 0, d, h, w]), &mut *out));
                }
            }
        }
    });
    true
}

/// `y += a * x`, element by element.
struct Multiply;

impl<T: Scalar> Kernel<(&[T], &[T], &mut [T])> for Multiply {
    type Output = ();

    #[inline(always)]
    fn run((a, x, y): (&[T], &[T], &mut [T])) {
        for ((y, &x), &a) in y.iter_mut().zip(x).zip(a) {
            *y = a.fused(x, *y);
        }
    }
}
