//! Gradients of convolutions and poolings.

use crate::exec::call::cx::Cx;
use crate::exec::dense::conv::conv;
use crate::exec::dense::conv_back::{conv_bias_gradient, conv_input_gradient, conv_weight_gradient};
use crate::exec::dense::{ConvOptions, ConvShape, Layout, Volume};
use crate::exec::kernels::Entry;
use crate::exec::kernels::gradient::{masked, wide};
use crate::exec::kernels::moments::{count_of, round};
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::rows;
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (convolution, &["aten.convolution_backward.default"]),
    (max_pool2d, &["aten.max_pool2d_with_indices_backward.default"]),
    (avg_pool2d, &["aten.avg_pool2d_backward.default"]),
    (adaptive_avg_pool2d, &["aten._adaptive_avg_pool2d_backward.default"]),
];

fn counts(cx: &Cx<'_, '_, '_>, i: usize) -> Result<Vec<usize>, CallFault> {
    let found = cx.ints(i)?;
    let one = |n: &i64| usize::try_from(*n).map_err(|_| cx.bad(i, "no negative number", n.to_string()));
    found.iter().map(one).collect()
}

/// Repeats a single number for each spatial dimension.
fn spread(all: Vec<usize>, dims: usize) -> Vec<usize> {
    if all.len() == 1 { all.repeat(dims) } else { all }
}

fn convolution(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, input, weight) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    if !input.dtype().is_float() {
        return Err(CallFault::Unsupported {
            what: format!("the gradient of a convolution of {}", input.dtype().long()),
        });
    }
    let dims = input.rank().saturating_sub(2);
    let (stride, padding) = (spread(counts(cx, 4)?, dims), spread(counts(cx, 5)?, dims));
    let (dilation, output_padding) = (spread(counts(cx, 6)?, dims), spread(counts(cx, 8)?, dims));
    let groups = cx.int(9)?;
    let groups = usize::try_from(groups).map_err(|_| cx.bad(9, "a positive number", groups.to_string()))?;
    let options = ConvOptions { stride: &stride, padding: &padding, dilation: &dilation, groups };
    let transposed = cx.bool(7)?;
    let shape = if transposed {
        ConvShape::transposed(input.sizes(), weight.sizes(), &output_padding, &options).map_err(rows::refused)?
    } else {
        ConvShape::new(input.sizes(), weight.sizes(), &options).map_err(rows::refused)?
    };
    let (g, x, w) = (wide(grad)?, wide(input)?, wide(weight)?);
    let grad_out = Volume::contiguous(&g, grad.sizes()).map_err(rows::refused)?;
    let (x, w) = (
        Volume::contiguous(&x, input.sizes()).map_err(rows::refused)?,
        Volume::contiguous(&w, weight.sizes()).map_err(rows::refused)?,
    );
    let of_input = || {
        let mut out = vec![0.0; input.numel()];
        if transposed {
            conv(&shape, &grad_out, &w, None, &mut out, Layout::ChannelsFirst).map_err(rows::refused)?;
        } else {
            conv_input_gradient(&shape, &grad_out, &w, None, &mut out, Layout::ChannelsFirst).map_err(rows::refused)?;
        }
        Ok(out)
    };
    let of_weight = || {
        let mut out = vec![0.0; weight.numel()];
        let (read, written) = if transposed { (&grad_out, &x) } else { (&x, &grad_out) };
        conv_weight_gradient(&shape, read, written, &mut out).map_err(rows::refused)?;
        Ok(out)
    };
    let of_bias = || {
        let channels = grad.meta.size(1);
        let inner = shape::numel(grad.sizes().get(2..).unwrap_or(&[])).max(1);
        let mut out = vec![0.0; channels];
        if transposed {
            for (k, plane) in g.chunks(inner).enumerate() {
                let sum: f64 = plane.iter().sum();
                out.get_mut(k.checked_rem(channels).unwrap_or(0)).into_iter().for_each(|o| *o += sum);
            }
        } else {
            conv_bias_gradient(&shape, &grad_out, &mut out).map_err(rows::refused)?;
        }
        Ok(out)
    };
    Ok(Value::List(vec![masked(cx, 10, 0, of_input)?, masked(cx, 10, 1, of_weight)?, masked(cx, 10, 2, of_bias)?]))
}

/// Height and width, of an image with or without a batch.
fn plane(sizes: &[usize]) -> [usize; 2] {
    let mut last = sizes.iter().rev().copied();
    let width = last.next().unwrap_or(1);
    [last.next().unwrap_or(1), width]
}

/// Each gradient goes to where its maximum stood; sums round to the dtype at every step.
fn max_pool2d(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, input, places) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(7)?);
    let dtype = cx.meta()?.dtype;
    let ([h, w], [oh, ow]) = (plane(input.sizes()), plane(grad.sizes()));
    let (size, each) = (h.saturating_mul(w), oh.saturating_mul(ow).max(1));
    let grads = wide(grad)?;
    let places = places.lanes::<i64>()?;
    let mut out = vec![0_f64; input.numel()];
    let planes = grads.chunks(each).zip(places.chunks(each));
    for ((grads, places), out) in planes.zip(out.chunks_mut(size.max(1))) {
        for (g, place) in grads.iter().zip(places) {
            let slot = usize::try_from(*place).ok().and_then(|k| out.get_mut(k));
            let slot = slot.ok_or_else(|| cx.bad(7, format!("places below {size}"), place.to_string()))?;
            *slot = round(dtype, *slot + g);
        }
    }
    cx.emit(out)
}

/// A window of a dimension: where it starts and ends, cut to the input, and how long it is with padding.
struct Window {
    start: usize,
    end: usize,
    padded: i64,
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn window(at: usize, [kernel, stride, padding, size]: [usize; 4]) -> Window {
    let from = signed(at.saturating_mul(stride)).saturating_sub(signed(padding));
    let to = from.saturating_add(signed(kernel)).min(signed(size.saturating_add(padding)));
    let inside = |n: i64| usize::try_from(n.max(0)).unwrap_or(0).min(size);
    Window { start: inside(from), end: inside(to), padded: to.saturating_sub(from) }
}

/// Adds shares of a plane's gradients to the windows that they were averages of.
#[allow(clippy::cast_precision_loss)]
fn avg_pool2d(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, input) = (cx.tensor(0)?, cx.tensor(1)?);
    let kernel = spread(counts(cx, 2)?, 2);
    let stride = spread(counts(cx, 3)?, 2);
    let stride = if stride.is_empty() { kernel.clone() } else { stride };
    let padding = spread(counts(cx, 4)?, 2);
    let (with_padding, divisor) = (cx.bool(6)?, cx.opt_int(7)?);
    let ([h, w], [oh, ow]) = (plane(input.sizes()), plane(grad.sizes()));
    let ([kh, kw], [sh, sw], [ph, pw]) = (plane(&kernel), plane(&stride), plane(&padding));
    let shares = |y: usize, x: usize| {
        let (rows, columns) = (window(y, [kh, sh, ph, h]), window(x, [kw, sw, pw, w]));
        let inside = rows.end.saturating_sub(rows.start).saturating_mul(columns.end.saturating_sub(columns.start));
        let own = if with_padding { rows.padded.saturating_mul(columns.padded) } else { signed(inside) };
        (rows.start..rows.end, columns.start..columns.end, [divisor.unwrap_or(own) as f64, 1.0])
    };
    shared_out(cx, [h, w], [oh, ow], shares)
}

/// Windows of equal shares: from floor(i * in / out) to ceil((i + 1) * in / out).
fn adaptive_avg_pool2d(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, input) = (cx.tensor(0)?, cx.tensor(1)?);
    let ([h, w], [oh, ow]) = (plane(input.sizes()), plane(grad.sizes()));
    let range = |at: usize, size: usize, out: usize| {
        let start = at.saturating_mul(size).checked_div(out).unwrap_or(0);
        start..at.saturating_add(1).saturating_mul(size).div_ceil(out.max(1))
    };
    shared_out(cx, [h, w], [oh, ow], |y, x| {
        let (rows, columns) = (range(y, h, oh), range(x, w, ow));
        let counts = [count_of(rows.len()), count_of(columns.len())];
        (rows, columns, counts)
    })
}

type Share = (std::ops::Range<usize>, std::ops::Range<usize>, [f64; 2]);

/// Shares are divided by two counts, one after the other, and added up; each step rounds to the dtype.
fn shared_out(
    cx: &Cx<'_, '_, '_>,
    [h, w]: [usize; 2],
    [oh, ow]: [usize; 2],
    share: impl Fn(usize, usize) -> Share,
) -> Made {
    let grads = wide(cx.tensor(0)?)?;
    let dtype = cx.meta()?.dtype;
    let mut out = vec![0_f64; cx.tensor(1)?.numel()];
    let (size, each) = (h.saturating_mul(w).max(1), oh.saturating_mul(ow).max(1));
    for (grads, out) in grads.chunks(each).zip(out.chunks_mut(size)) {
        for (y, line) in grads.chunks(ow.max(1)).enumerate() {
            for (x, g) in line.iter().enumerate() {
                let (rows, columns, [first, second]) = share(y, x);
                let own = round(dtype, round(dtype, g / first) / second);
                for row in out.chunks_mut(w.max(1)).skip(rows.start).take(rows.len()) {
                    row.get_mut(columns.clone()).into_iter().flatten().for_each(|o| *o = round(dtype, *o + own));
                }
            }
        }
    }
    cx.emit(out)
}
