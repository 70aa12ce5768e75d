//! Convolutions of `f16`, added up in the order of PyTorch's own loops (see [`half`]): windows as a matrix, and a product.

use ndarray::{ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::conv::{Weight, block_matrix, expect_all, image_matrix, start_with_bias};
use super::half::{self, matrices};
use super::im2col::{Order, Part, gather};
use super::{ConvShape, DenseError, Layout, Volume};

/// Elements of the matrix of windows that are laid out at once, about.
const BLOCK: usize = 1 << 18;
/// Fewest positions of an image that are computed at once.
const POSITIONS: usize = 16;

/// As [`super::conv::conv`]. Where channels are fastest they are so in windows too, and each element is a product on its own.
pub fn conv(
    shape: &ConvShape,
    input: &Volume<'_, f32>,
    weight: &Volume<'_, f32>,
    bias: Option<&[f32]>,
    out: &mut [f32],
    layout: Layout,
) -> Result<(), DenseError> {
    expect_all(shape, input, weight, bias, out.len())?;
    let (channels, positions) = (shape.out_channels(), shape.positions());
    let image = channels.saturating_mul(positions);
    if image == 0 {
        return Ok(());
    }
    let (order, sums) = match layout {
        Layout::ChannelsFirst => (Order::ChannelOuter, half::Order::Four),
        Layout::ChannelsLast => (Order::ChannelInner, half::Order::Lanes),
    };
    let weight = Weight::new(shape, weight, order);
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
    let one = |(part, out): (Part, ArrayViewMut2<'_, f32>), threads: usize| {
        group((shape, order, sums), input, part, &weight, bias, out, threads)
    };
    let threads = rayon::current_num_threads();
    if threads > 1 && jobs.len() >= threads {
        jobs.into_par_iter().try_for_each(|job| one(job, 1))
    } else {
        jobs.into_iter().try_for_each(|job| one(job, threads))
    }
}

/// One group's channels of one image.
fn group(
    (shape, order, sums): (&ConvShape, Order, half::Order),
    input: &Volume<'_, f32>,
    part: Part,
    weight: &Weight<'_, f32>,
    bias: Option<&[f32]>,
    mut out: ArrayViewMut2<'_, f32>,
    threads: usize,
) -> Result<(), DenseError> {
    let depth = shape.depth();
    let beta = start_with_bias(shape, part, bias, &mut out);
    let weight = weight.of(shape, part.group)?;
    let weight = weight.view.as_standard_layout();
    let some = BLOCK.checked_div(depth).unwrap_or(BLOCK).max(POSITIONS);
    let mut block = vec![0.0; depth.saturating_mul(some.min(shape.positions()))];
    let mut first = 0_usize;
    for out in out.axis_chunks_iter_mut(Axis(1), some) {
        let count = out.ncols();
        let positions = first..first.saturating_add(count);
        first = positions.end;
        let block = block.get_mut(..depth.saturating_mul(count)).unwrap_or(&mut []);
        gather(shape, input, part, order, (0..depth, positions), block, threads);
        matrices(sums, threads, 1.0, weight.view(), block_matrix(order, depth, count, block)?, beta, out);
    }
    Ok(())
}
