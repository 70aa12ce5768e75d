//! Convolutions on the plain path: seven nested loops, sums over (channel, window) from first to last.
//!
//! Outputs are contiguous (batch, channels, spatial). Padding adds no term at all: a zero of it never meets an infinity.

use super::conv::{expect_all, expect_input, expect_output, expect_weight};
use super::plain::Accumulator;
use super::{ConvShape, DenseError, Volume};

/// All index triples of three sizes, the last fastest.
fn triples([a, b, c]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..a).flat_map(move |a| (0..b).flat_map(move |b| (0..c).map(move |c| [a, b, c])))
}

/// The input position that a tap of a window reads, if it is inside.
fn tapped(shape: &ConvShape, position: [usize; 3], tap: [usize; 3]) -> Option<[usize; 3]> {
    let mut at = [0; 3];
    for (axis, at) in at.iter_mut().enumerate() {
        *at = position
            .get(axis)?
            .checked_mul(*shape.stride.get(axis)?)?
            .checked_add(tap.get(axis)?.checked_mul(*shape.dilation.get(axis)?)?)?
            .checked_sub(*shape.padding.get(axis)?)?;
        if *at >= *shape.input.get(axis)? {
            return None;
        }
    }
    Some(at)
}

fn element<T: Copy, A: Accumulator<T>>(volume: &Volume<'_, T>, first: usize, second: usize, at: [usize; 3]) -> A {
    let [d, h, w] = at;
    volume.from([first, second, d, h, w]).first().map_or(A::ZERO, |&v| A::of(v))
}

/// The convolution, bias added last.
pub fn conv<T: Copy, A: Accumulator<T>>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    weight: &Volume<'_, T>,
    bias: Option<&[T]>,
    out: &mut [A],
) -> Result<(), DenseError> {
    expect_all(shape, input, weight, bias, out.len())?;
    let channels = shape.out_channels();
    let mut out = out.iter_mut();
    for image in 0..shape.batch {
        for channel in 0..channels {
            let group = channel.checked_div(shape.group_out).unwrap_or(0);
            for position in triples(shape.output) {
                let mut sum = A::ZERO;
                for c in 0..shape.group_in {
                    let from = group.saturating_mul(shape.group_in).saturating_add(c);
                    for tap in triples(shape.kernel) {
                        if let Some(at) = tapped(shape, position, tap) {
                            let term = element::<T, A>(input, image, from, at).times(element(weight, channel, c, tap));
                            sum = sum.plus(term);
                        }
                    }
                }
                let sum = bias.and_then(|b| b.get(channel)).map_or(sum, |&b| sum.plus(A::of(b)));
                if let Some(out) = out.next() {
                    *out = sum;
                }
            }
        }
    }
    Ok(())
}

/// For each product of the convolution, in its order: (image, input channel, input position, output channel, output position,
/// channel of the group, tap).
fn for_each_product(
    shape: &ConvShape,
    mut visit: impl FnMut(usize, (usize, [usize; 3]), (usize, [usize; 3]), (usize, [usize; 3])),
) {
    for image in 0..shape.batch {
        for channel in 0..shape.out_channels() {
            let group = channel.checked_div(shape.group_out).unwrap_or(0);
            for position in triples(shape.output) {
                for c in 0..shape.group_in {
                    let from = group.saturating_mul(shape.group_in).saturating_add(c);
                    for tap in triples(shape.kernel) {
                        if let Some(at) = tapped(shape, position, tap) {
                            visit(image, (from, at), (channel, position), (c, tap));
                        }
                    }
                }
            }
        }
    }
}

/// The index of (first, second, position) in a contiguous volume of `channels` channels.
fn flat(
    first: usize,
    channels: usize,
    second: usize,
    [_, rows, columns]: [usize; 3],
    pixels: usize,
    at: [usize; 3],
) -> usize {
    let [d, h, w] = at;
    let plane = first.saturating_mul(channels).saturating_add(second);
    let line = d.saturating_mul(rows).saturating_add(h);
    plane.saturating_mul(pixels).saturating_add(line.saturating_mul(columns)).saturating_add(w)
}

/// The gradient of the input; with a shape from [`ConvShape::transposed`], the transposed convolution without its bias.
pub fn conv_input_gradient<T: Copy, A: Accumulator<T>>(
    shape: &ConvShape,
    grad_out: &Volume<'_, T>,
    weight: &Volume<'_, T>,
    out: &mut [A],
) -> Result<(), DenseError> {
    expect_output(shape, grad_out)?;
    expect_weight(shape, weight)?;
    let (channels, pixels) = (shape.in_channels(), shape.pixels());
    let total = shape.batch.saturating_mul(channels).saturating_mul(pixels);
    DenseError::expect("the number of input gradient elements", total, out.len())?;
    out.fill(A::ZERO);
    for_each_product(shape, |image, (from, at), (channel, position), (c, tap)| {
        let term = element::<T, A>(grad_out, image, channel, position).times(element(weight, channel, c, tap));
        if let Some(sum) = out.get_mut(flat(image, channels, from, shape.input, pixels, at)) {
            *sum = sum.plus(term);
        }
    });
    Ok(())
}

/// The gradient of the weight.
pub fn conv_weight_gradient<T: Copy, A: Accumulator<T>>(
    shape: &ConvShape,
    input: &Volume<'_, T>,
    grad_out: &Volume<'_, T>,
    out: &mut [A],
) -> Result<(), DenseError> {
    expect_input(shape, input)?;
    expect_output(shape, grad_out)?;
    let total = shape.out_channels().saturating_mul(shape.depth());
    DenseError::expect("the number of weight gradient elements", total, out.len())?;
    out.fill(A::ZERO);
    for_each_product(shape, |image, (from, at), (channel, position), (c, tap)| {
        let term = element::<T, A>(input, image, from, at).times(element(grad_out, image, channel, position));
        if let Some(sum) = out.get_mut(flat(channel, shape.group_in, c, shape.kernel, shape.taps(), tap)) {
            *sum = sum.plus(term);
        }
    });
    Ok(())
}

/// The gradient of the bias.
pub fn conv_bias_gradient<T: Copy, A: Accumulator<T>>(
    shape: &ConvShape,
    grad_out: &Volume<'_, T>,
    out: &mut [A],
) -> Result<(), DenseError> {
    expect_output(shape, grad_out)?;
    DenseError::expect("the number of bias gradient elements", shape.out_channels(), out.len())?;
    for (channel, out) in out.iter_mut().enumerate() {
        *out = A::ZERO;
        for image in 0..shape.batch {
            for position in triples(shape.output) {
                *out = out.plus(element(grad_out, image, channel, position));
            }
        }
    }
    Ok(())
}
