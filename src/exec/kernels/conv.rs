//! Convolutions, forwards and transposed.
//!
//! Operands keep their strides, and a result lies as its type rule says, so that channels-last images are neither gathered nor turned.
//! Narrow floats are computed in `f32` and rounded once (but see `conv_columns`), `f16` in the order of PyTorch's loops; integers wrap. Leaves the products to `dense`.

use crate::exec::call::cx::Cx;
use crate::exec::dense::plain::Accumulator;
use crate::exec::dense::{ConvOptions, ConvShape, Layout, Volume, conv, conv_back, conv_half, plain_conv};
use crate::exec::kernels::Entry;
use crate::exec::kernels::conv_columns::Columns;
use crate::exec::kernels::matmul::refused;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::span::Span;
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (convolution, &["aten.convolution.default", "aten._convolution.default"]),
    (forward, &["aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default"]),
    (padded, &["aten.conv1d.padding", "aten.conv2d.padding"]),
    (transposed, &["aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input"]),
];

/// A tensor as its lanes lie.
#[derive(Clone, Copy)]
struct Laid<'a, T> {
    data: &'a [T],
    sizes: &'a [usize],
    strides: &'a [usize],
}

impl<'a, T> Laid<'a, T> {
    fn volume(self) -> Result<Volume<'a, T>, CallFault> {
        Volume::new(self.data, self.sizes, self.strides).map_err(refused)
    }

    /// The same places with other elements.
    fn with<U>(self, data: &'a [U]) -> Laid<'a, U> {
        Laid { data, sizes: self.sizes, strides: self.strides }
    }
}

/// A convolution, forwards or transposed: then what the shape calls output is `input`.
#[derive(Clone, Copy)]
struct Job<'a, T> {
    shape: &'a ConvShape,
    input: Laid<'a, T>,
    weight: Laid<'a, T>,
    bias: Option<&'a [T]>,
    layout: Layout,
    transposed: bool,
}

/// A lane that convolutions are computed in.
trait Convolved: Lane {
    /// Computes the result.
    fn run(job: Job<'_, Self>, out: &mut [Self]) -> Result<(), CallFault>;
}

macro_rules! floating {
    ($($t:ty),*) => {$(
        impl Convolved for $t {
            fn run(job: Job<'_, $t>, out: &mut [$t]) -> Result<(), CallFault> {
                let (input, weight) = (job.input.volume()?, job.weight.volume()?);
                let run = if job.transposed { conv_back::conv_input_gradient } else { conv::conv };
                run(job.shape, &input, &weight, job.bias, out, job.layout).map_err(refused)
            }
        }
    )*};
}

floating!(f32, f64);

macro_rules! complex {
    ($($t:ty => $part:ty),*) => {$(
        impl Convolved for $t {
            /// Three real ones, as PyTorch has it: of real parts, of imaginary parts, and of their sums.
            fn run(job: Job<'_, $t>, out: &mut [$t]) -> Result<(), CallFault> {
                let part = |of: fn(&$t) -> $part, biased: bool| -> Result<Vec<$part>, CallFault> {
                    let parts = |data: &[$t]| data.iter().map(of).collect::<Vec<$part>>();
                    let (input, weight) = (parts(job.input.data), parts(job.weight.data));
                    let bias = job.bias.filter(|_| biased).map(parts);
                    let mut out = vec![0.0; out.len()];
                    let (input, weight) = (job.input.with(&input), job.weight.with(&weight));
                    let Job { shape, layout, transposed, .. } = job;
                    <$part>::run(Job { shape, input, weight, bias: bias.as_deref(), layout, transposed }, &mut out)?;
                    Ok(out)
                };
                let (real, imaginary, sum) = (part(|v| v.re, true)?, part(|v| v.im, false)?, part(|v| v.re + v.im, true)?);
                for (o, ((a, b), c)) in out.iter_mut().zip(real.iter().zip(&imaginary).zip(&sum)) {
                    *o = <$t>::new(a - b, c - a - b);
                }
                Ok(())
            }
        }
    )*};
}

complex!(C64 => f32, C128 => f64);

/// An integer that wraps, as sums of `dense`'s plain loops. Results lie in order: no other layout is asked for.
#[derive(Clone, Copy)]
struct Wrapped(i64);

impl Accumulator<i64> for Wrapped {
    const ZERO: Self = Wrapped(0);

    fn of(value: i64) -> Self {
        Wrapped(value)
    }

    fn plus(self, other: Self) -> Self {
        Wrapped(self.0.wrapping_add(other.0))
    }

    fn times(self, other: Self) -> Self {
        Wrapped(self.0.wrapping_mul(other.0))
    }
}

impl Convolved for i64 {
    fn run(job: Job<'_, i64>, out: &mut [i64]) -> Result<(), CallFault> {
        let (input, weight) = (job.input.volume()?, job.weight.volume()?);
        let mut sums = vec![Wrapped(0); out.len()];
        if !job.transposed {
            plain_conv::conv(job.shape, &input, &weight, job.bias, &mut sums).map_err(refused)?;
            out.iter_mut().zip(sums).for_each(|(o, s)| *o = s.0);
            return Ok(());
        }
        plain_conv::conv_input_gradient(job.shape, &input, &weight, &mut sums).map_err(refused)?;
        out.iter_mut().zip(sums).for_each(|(o, s)| *o = s.0);
        let sizes = job.shape.input_sizes();
        let plane = sizes.iter().skip(2).fold(1_usize, |n, s| n.saturating_mul(*s)).max(1);
        let planes = out.chunks_mut(plane).zip(job.bias.unwrap_or(&[]).iter().cycle());
        planes.for_each(|(plane, b)| plane.iter_mut().for_each(|o| *o = o.wrapping_add(*b)));
        Ok(())
    }
}

/// How a window moves: one number for each spatial dimension.
struct Window {
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    /// Only of a transposed convolution.
    output_padding: Option<Shape>,
    groups: usize,
}

/// Reads a list of one number for all dimensions, or one for each.
fn numbers(cx: &Cx<'_, '_, '_>, i: usize, space: usize) -> Result<Shape, CallFault> {
    let given = cx.ints(i)?;
    let spread = |k: usize| if given.len() == 1 { given.first() } else { given.get(k) };
    (0..space)
        .map(|k| {
            let number = spread(k).and_then(|n| usize::try_from(*n).ok());
            number.ok_or_else(|| cx.bad(i, format!("{space} numbers of 0 or more"), format!("{given:?}")))
        })
        .collect()
}

fn groups(cx: &Cx<'_, '_, '_>, i: usize) -> Result<usize, CallFault> {
    let given = cx.int(i)?;
    usize::try_from(given).map_err(|_| cx.bad(i, "1 group or more", given.to_string()))
}

/// Returns the number of spatial dimensions.
fn space(cx: &Cx<'_, '_, '_>) -> Result<usize, CallFault> {
    Ok(cx.tensor(1)?.rank().saturating_sub(2))
}

fn convolution(cx: &mut Cx<'_, '_, '_>) -> Made {
    let n = space(cx)?;
    let window = Window {
        stride: numbers(cx, 3, n)?,
        padding: numbers(cx, 4, n)?,
        dilation: numbers(cx, 5, n)?,
        output_padding: if cx.bool(6)? { Some(numbers(cx, 7, n)?) } else { None },
        groups: groups(cx, 8)?,
    };
    convolved(cx, cx.tensor(0)?, &window)
}

fn forward(cx: &mut Cx<'_, '_, '_>) -> Made {
    let n = space(cx)?;
    let window = Window {
        stride: numbers(cx, 3, n)?,
        padding: numbers(cx, 4, n)?,
        dilation: numbers(cx, 5, n)?,
        output_padding: None,
        groups: groups(cx, 6)?,
    };
    convolved(cx, cx.tensor(0)?, &window)
}

fn transposed(cx: &mut Cx<'_, '_, '_>) -> Made {
    let n = space(cx)?;
    let window = Window {
        stride: numbers(cx, 3, n)?,
        padding: numbers(cx, 4, n)?,
        dilation: numbers(cx, 7, n)?,
        output_padding: Some(numbers(cx, 5, n)?),
        groups: groups(cx, 6)?,
    };
    convolved(cx, cx.tensor(0)?, &window)
}

/// Padding by word: `same` pads so that sizes stay, one more at the end where the sum is odd.
fn padded(cx: &mut Cx<'_, '_, '_>) -> Made {
    let n = space(cx)?;
    let (stride, dilation, groups) = (numbers(cx, 3, n)?, numbers(cx, 5, n)?, groups(cx, 6)?);
    let same = match cx.text(4) {
        "same" => true,
        "valid" => false,
        other => return Err(cx.bad(4, "'same' or 'valid'", format!("'{other}'"))),
    };
    let kernel = cx.tensor(1)?.sizes().iter().skip(2);
    let total: Shape = dilation
        .iter()
        .zip(kernel)
        .map(|(d, k)| if same { d.saturating_mul(k.saturating_sub(1)) } else { 0 })
        .collect();
    let padding = total.iter().map(|t| t / 2).collect();
    let window = Window { stride, padding, dilation, output_padding: None, groups };
    if total.iter().all(|t| t.is_multiple_of(2)) {
        return convolved(cx, cx.tensor(0)?, &window);
    }
    let ends = total.iter().rev().flat_map(|t| [Value::Int(0), Value::Int(i64::from(!t.is_multiple_of(2)))]).collect();
    let args = [cx.value(0), Value::List(ends), Scalar::Int(0).into()];
    let input = cx.run_tensor("aten.constant_pad_nd.default", &args)?;
    convolved(cx, &input, &window)
}

/// Returns the view with a batch of 1, where there is none.
fn batched(t: &Tensor, rank: usize) -> Tensor {
    let mut t = t.clone();
    if t.rank() < rank {
        t.meta.sizes.insert(0, 1);
        t.meta.strides.insert(0, 0);
    }
    t
}

/// How many channels PyTorch's CPU sums together, windows inside: blocks of 16 where oneDNN computes in `f32`, all in `bf16`. What
/// it computes by a plain product (small images one by one, doubles) has channels outside.
fn channels_at_once(input: &Tensor, weight: &Tensor, groups: usize) -> Option<usize> {
    let plane = weight.sizes().get(2..).unwrap_or(&[]);
    let wide = plane.len() > 1 && plane.iter().rev().take(2).all(|n| *n > 3);
    let large = input.sizes().iter().take(4).fold(1_usize, |n, s| n.saturating_mul(*s)) > LARGE_IMAGE;
    match weight.dtype() {
        Dtype::Bf16 => Some(usize::MAX),
        Dtype::F32 if groups > 1 || wide || input.meta.size(0) > 1 || large => Some(16),
        _ => None,
    }
}

/// One image of more numbers than this is not computed by a plain product.
const LARGE_IMAGE: usize = 20480;

fn convolved(cx: &Cx<'_, '_, '_>, input: &Tensor, window: &Window) -> Made {
    let (weight, bias) = (cx.tensor(1)?, cx.opt_tensor(2)?);
    let meta = cx.meta()?;
    let input_view = batched(input, weight.rank());
    let options = ConvOptions {
        stride: &window.stride,
        padding: &window.padding,
        dilation: &window.dilation,
        groups: window.groups,
    };
    let shape = match &window.output_padding {
        Some(more) => ConvShape::transposed(input_view.sizes(), weight.sizes(), more, &options),
        None => ConvShape::new(input_view.sizes(), weight.sizes(), &options),
    };
    let shape = shape.map_err(refused)?.in_blocks_of(channels_at_once(&input_view, weight, window.groups));
    let integral = LaneKind::of(meta.dtype) == LaneKind::I64;
    if meta.dtype == Dtype::F16 && window.output_padding.is_some() {
        return by_columns(cx, &input_view, window);
    }
    let layout = layout_of(&meta, weight.rank()).filter(|l| !integral || *l == Layout::ChannelsFirst);
    if meta.dtype == Dtype::F16 {
        return of_halves(cx, &shape, &input_view, layout);
    }
    with_lane!(meta.dtype, L => {
        let input = Span::<L>::open(input, &input_view)?;
        let kernel = Span::<L>::open(weight, weight)?;
        let bias = bias.map(|b| b.lanes::<L>()).transpose()?;
        let mut out = cx.meter().unset::<L>(shape::count(&meta.sizes)?);
        let job = Job {
            shape: &shape,
            input: Laid { data: &input.data, sizes: &input.sizes, strides: &input.strides },
            weight: Laid { data: &kernel.data, sizes: &kernel.sizes, strides: &kernel.strides },
            bias: bias.as_deref(),
            layout: layout.unwrap_or(Layout::ChannelsFirst),
            transposed: window.output_padding.is_some(),
        };
        L::run(job, &mut out)?;
        placed(cx, &meta, layout, out)
    })
}

/// The convolution of `f16`, in the order of PyTorch's loops.
fn of_halves(cx: &Cx<'_, '_, '_>, shape: &ConvShape, input: &Tensor, layout: Option<Layout>) -> Made {
    let (weight, bias, meta) = (cx.tensor(1)?, cx.opt_tensor(2)?, cx.meta()?);
    let (values, kernel) = (input.lanes::<f32>()?, weight.lanes::<f32>()?);
    let bias = bias.map(|b| b.lanes::<f32>()).transpose()?;
    let (by_rows, by_windows) = (shape::contiguous(input.sizes()), shape::contiguous(weight.sizes()));
    let input = Laid { data: &values, sizes: input.sizes(), strides: &by_rows }.volume()?;
    let weight = Laid { data: &kernel, sizes: weight.sizes(), strides: &by_windows }.volume()?;
    let mut out = cx.meter().unset::<f32>(shape::count(&meta.sizes)?);
    conv_half::conv(shape, &input, &weight, bias.as_deref(), &mut out, layout.unwrap_or(Layout::ChannelsFirst))
        .map_err(refused)?;
    placed(cx, &meta, layout, out)
}

/// Up to three numbers, right-aligned.
fn three(values: &[usize], fill: usize) -> [usize; 3] {
    let mut all = [fill; 3];
    for (to, from) in all.iter_mut().rev().zip(values.iter().rev()) {
        *to = *from;
    }
    all
}

/// The transposed convolution, rounded to its dtype at every step.
fn by_columns(cx: &Cx<'_, '_, '_>, input: &Tensor, window: &Window) -> Made {
    let (weight, bias, meta) = (cx.tensor(1)?, cx.opt_tensor(2)?, cx.meta()?);
    let spatial = |sizes: &[usize]| three(sizes.get(2..).unwrap_or(&[]), 1);
    let result = batched_sizes(&meta.sizes, weight.rank());
    let columns = Columns {
        batch: input.meta.size(0),
        groups: window.groups,
        takes: input.meta.size(1).checked_div(window.groups).unwrap_or(0),
        gives: weight.meta.size(1),
        input: spatial(input.sizes()),
        kernel: spatial(weight.sizes()),
        output: spatial(&result),
        stride: three(&window.stride, 1),
        padding: three(&window.padding, 0),
        dilation: three(&window.dilation, 1),
    };
    let bias = bias.map(|b| b.lanes::<f32>()).transpose()?;
    let mut out = vec![0.0; shape::count(&meta.sizes)?];
    columns.run(meta.dtype, &input.lanes::<f32>()?, &weight.lanes::<f32>()?, bias.as_deref(), &mut out)?;
    cx.emit(out)
}

/// Sizes with a batch of 1, where there is none.
fn batched_sizes(sizes: &[usize], rank: usize) -> Shape {
    std::iter::repeat_n(1, rank.saturating_sub(sizes.len())).chain(sizes.iter().copied()).collect()
}

/// Returns the layout in which a result may be computed where it lies; `None` where it lies otherwise.
fn layout_of(meta: &Meta, rank: usize) -> Option<Layout> {
    if meta.is_contiguous() {
        return Some(Layout::ChannelsFirst);
    }
    let channels = meta.rank().checked_sub(rank.checked_sub(1)?)?;
    let order: Shape = (0..meta.rank()).filter(|d| *d != channels).chain([channels]).collect();
    let (sizes, strides) = (shape::permuted(&meta.sizes, &order), shape::permuted(&meta.strides, &order));
    shape::is_contiguous(&sizes, &strides).then_some(Layout::ChannelsLast)
}

/// Makes the result of values that lie in `layout`.
fn placed<L: Lane>(cx: &Cx<'_, '_, '_>, meta: &Meta, layout: Option<Layout>, values: Vec<L>) -> Made {
    if layout.is_none() {
        return cx.emit(values);
    }
    let storage = crate::exec::tensor::fill::stored(meta.dtype, values, cx.meter());
    Tensor::new(Meta { offset: 0, ..meta.clone() }, storage).map(Value::Tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_whose_channels_are_fastest_is_computed_where_it_lies() {
        let meta = |sizes: &[usize], strides: &[usize]| Meta {
            dtype: Dtype::F32,
            sizes: sizes.into(),
            strides: strides.into(),
            offset: 0,
        };
        assert_eq!(layout_of(&meta(&[2, 3, 4, 5], &[60, 20, 5, 1]), 4), Some(Layout::ChannelsFirst));
        assert_eq!(layout_of(&meta(&[2, 3, 4, 5], &[60, 1, 15, 3]), 4), Some(Layout::ChannelsLast));
        assert_eq!(layout_of(&meta(&[3, 4, 5], &[1, 15, 3]), 4), Some(Layout::ChannelsLast));
        assert_eq!(layout_of(&meta(&[2, 3, 4, 5], &[60, 20, 1, 4]), 4), None);
    }
}
