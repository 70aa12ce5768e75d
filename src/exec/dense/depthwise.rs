//! Convolution with one input channel a group: each output row is a sum of shifted input rows, or where channels are fastest,
//! each output pixel a sum of input pixels, all channels at once.

use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::gemv::Axpy;
use super::im2col::{Part, copy_every, inside, source, tap_of};
use super::simd::{Kernel, vectorised};
use super::{ConvShape, Scalar, Volume};

/// Convolves one input channel with each row of `weight` (output channels x window) into the rows of `out`.
pub(super) fn depthwise<T: Scalar>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    part: Part,
    weight: ArrayView2<'_, T>,
    bias: Option<&[T]>,
    mut out: ArrayViewMut2<'_, T>,
) {
    let [_, rows, columns] = shape.output;
    let channel = part.group.saturating_mul(shape.group_out);
    let biases = bias.unwrap_or(&[]).iter().skip(channel).copied().map(Some).chain(std::iter::repeat(None));
    let mut line = Line { shape, input, part, picked: vec![T::zero(); columns], sums: vec![T::zero(); columns] };
    for ((mut out, weight), bias) in out.outer_iter_mut().zip(weight.outer_iter()).zip(biases) {
        for (index, mut out) in out.axis_chunks_iter_mut(Axis(0), columns.max(1)).enumerate() {
            line.sums.fill(bias.unwrap_or(T::zero()));
            let depth = index.checked_div(rows).unwrap_or(0);
            let row = index.checked_rem(rows).unwrap_or(0);
            for (tap, &factor) in weight.iter().enumerate() {
                line.add(depth, row, tap_of(shape, tap), factor);
            }
            match out.as_slice_mut() {
                Some(out) => out.copy_from_slice(&line.sums),
                None => out.iter_mut().zip(&line.sums).for_each(|(out, &sum)| *out = sum),
            }
        }
    }
}

/// One output line while it is summed.
struct Line<'a, T> {
    shape: &'a ConvShape,
    input: &'a Volume<'a, T>,
    part: Part,
    /// Elements of a tap that do not lie side by side.
    picked: Vec<T>,
    sums: Vec<T>,
}

impl<T: Scalar> Line<'_, T> {
    /// Adds what one tap reads, times its factor.
    fn add(&mut self, depth: usize, row: usize, [td, th, tw]: [usize; 3], factor: T) {
        let Self { shape, input, part, picked, sums } = self;
        let (Some(d), Some(h)) = (source(shape, 0, depth, td), source(shape, 1, row, th)) else { return };
        let (valid, first) = inside(shape, &(0..sums.len()), tw);
        let from = input.from([part.image, part.group, d, h, first]);
        let sums = sums.get_mut(valid).unwrap_or(&mut []);
        let ([.., stride], [.., pixel]) = (shape.stride, input.strides);
        let step = stride.saturating_mul(pixel);
        if step == 1 {
            vectorised::<Axpy, _>((factor, from, sums));
            return;
        }
        let picked = picked.get_mut(..sums.len()).unwrap_or(&mut []);
        copy_every(step, from, picked);
        vectorised::<Axpy, _>((factor, &*picked, sums));
    }
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
