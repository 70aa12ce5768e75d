//! Discrete Fourier transforms of any size, over any dimensions.
//!
//! Computed in `f64`, so that a result in `f32` is right to the last digit or nearly, without what only some processors have, so that
//! it has the same bits on each. Leaves the transform of a line to `rustfft`, and scaling conventions to the operators'
//! `normalization`: 0 none, 1 by the root of the size, 2 by the size.

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use std::cmp::Reverse;

use rustfft::{Fft, FftDirection as Direction, FftPlannerScalar};

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::Meta;
use crate::exec::tensor::lane::{C128, Lane};
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (complex_to_complex, &["aten._fft_c2c.default"]),
    (real_to_complex, &["aten._fft_r2c.default"]),
    (complex_to_real, &["aten._fft_c2r.default"]),
];

/// Values in row-major order, with their sizes.
struct Field {
    sizes: Vec<usize>,
    values: Vec<C128>,
}

impl Field {
    fn of(cx: &Cx<'_, '_, '_>) -> Result<Field, CallFault> {
        let t = cx.tensor(0)?;
        Ok(Field { sizes: t.sizes().to_vec(), values: t.lanes::<C128>()?.into_vec() })
    }

    /// Replaces each line along `d` by what `f` makes of it, which has `len` elements.
    fn along(&mut self, d: usize, len: usize, f: impl Fn(&[C128]) -> Vec<C128>) {
        let size = self.sizes.get(d).copied().unwrap_or(1);
        let inner: usize = self.sizes.iter().skip(d.saturating_add(1)).product();
        let (block, new_block) = (size.saturating_mul(inner), len.saturating_mul(inner));
        if block == 0 {
            self.values = Vec::new();
        } else {
            let blocks = self.values.len().checked_div(block).unwrap_or(0);
            let mut out = vec![C128::default(); blocks.saturating_mul(new_block)];
            for (from, to) in self.values.chunks_exact(block).zip(out.chunks_exact_mut(new_block.max(1))) {
                for k in 0..inner {
                    let line: Vec<C128> = from.iter().skip(k).step_by(inner).copied().collect();
                    let made = f(&line);
                    to.iter_mut().skip(k).step_by(inner).zip(made).for_each(|(o, v)| *o = v);
                }
            }
            self.values = out;
        }
        if let Some(size) = self.sizes.get_mut(d) {
            *size = len;
        }
    }

    fn transform(&mut self, d: usize, direction: Direction) {
        let len = self.sizes.get(d).copied().unwrap_or(1);
        if len <= 1 {
            return;
        }
        let plan = FftPlannerScalar::new().plan_fft(len, direction);
        self.along(d, len, |line| {
            let mut line = line.to_vec();
            plan.process(&mut line);
            line
        });
    }
}

/// The factor that `normalization` asks for.
#[allow(clippy::cast_precision_loss)]
fn scale(cx: &Cx<'_, '_, '_>, sizes: &[usize], dims: &[usize]) -> Result<f64, CallFault> {
    let n: f64 = dims.iter().filter_map(|d| sizes.get(*d)).map(|n| *n as f64).product();
    match cx.int(2)? {
        0 => Ok(1.0),
        1 => Ok(1.0 / n.sqrt()),
        2 => Ok(1.0 / n),
        other => Err(cx.bad(2, "0, 1 or 2", other.to_string())),
    }
}

fn dims(cx: &Cx<'_, '_, '_>) -> Result<Vec<usize>, CallFault> {
    let rank = cx.tensor(0)?.rank();
    Ok(cx.axes(1, rank)?.unwrap_or_default().to_vec())
}

/// The dimensions that are not transformed, in the order in which `std::partition` leaves them: it decides where strides are equal.
fn others_first(rank: usize, dims: &[usize]) -> Shape {
    let mut all: Shape = (0..rank).collect();
    let (mut first, mut last) = (0_usize, rank);
    loop {
        while first < last && all.get(first).is_some_and(|d| !dims.contains(d)) {
            first = first.saturating_add(1);
        }
        while first < last && all.get(last.saturating_sub(1)).is_some_and(|d| dims.contains(d)) {
            last = last.saturating_sub(1);
        }
        if first >= last {
            break;
        }
        last = last.saturating_sub(1);
        all.swap(first, last);
        first = first.saturating_add(1);
    }
    all.truncate(first);
    all
}

/// The strides in which PyTorch's library leaves a transform: transformed dimensions innermost in the order in which they were done,
/// around them the others from the largest stride of the operand to the smallest.
fn strides_after(before: &[usize], sizes: &[usize], dims: &[usize]) -> Shape {
    let mut order = others_first(sizes.len(), dims);
    order.sort_by_key(|d| Reverse(before.get(*d).copied()));
    order.extend(dims.iter().copied());
    let mut strides: Shape = sizes.iter().map(|_| 1).collect();
    let mut step = 1_usize;
    for d in order.into_iter().rev() {
        if let (Some(stride), Some(size)) = (strides.get_mut(d), sizes.get(d)) {
            *stride = step;
            step = step.saturating_mul(*size);
        }
    }
    strides
}

/// Dimensions from the largest stride to the smallest: the order in which they are done.
fn by_stride(strides: &[usize], dims: &[usize]) -> Vec<usize> {
    let mut dims = dims.to_vec();
    dims.sort_by_key(|d| Reverse(strides.get(*d).copied()));
    dims
}

fn emit<L: Lane>(cx: &Cx<'_, '_, '_>, field: &Field, strides: Shape, scale: f64, f: impl Fn(C128) -> L) -> Made {
    // The type rule leaves strides open.
    let meta = Meta { strides, offset: 0, ..cx.meta()? };
    let values = field.values.iter().map(|v| f(v * scale)).collect();
    crate::exec::tensor::fill::from_lanes(&meta, values, cx.meter()).map(Value::Tensor)
}

fn complex_to_complex(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (mut field, dims) = (Field::of(cx)?, dims(cx)?);
    let direction = if cx.bool(3)? { Direction::Forward } else { Direction::Inverse };
    dims.iter().for_each(|d| field.transform(*d, direction));
    let scale = scale(cx, &field.sizes, &dims)?;
    let before = &cx.tensor(0)?.meta.strides;
    let strides = strides_after(before, &field.sizes, &by_stride(before, &dims));
    emit(cx, &field, strides, scale, |v| v)
}

fn real_to_complex(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (mut field, dims) = (Field::of(cx)?, dims(cx)?);
    let scale = scale(cx, &field.sizes, &dims)?;
    dims.iter().rev().for_each(|d| field.transform(*d, Direction::Forward));
    let before = &cx.tensor(0)?.meta.strides;
    let mut order = Vec::new();
    if let Some((last, others)) = dims.split_last() {
        order = by_stride(before, others);
        order.push(*last);
        if cx.bool(3)? {
            let kept = field.sizes.get(*last).map_or(1, |n| (n / 2).saturating_add(1));
            field.along(*last, kept, |line| line.iter().take(kept).copied().collect());
        }
    }
    let strides = strides_after(before, &field.sizes, &order);
    emit(cx, &field, strides, scale, |v| v)
}

/// The last dimension holds the first half of a spectrum whose other half is its mirror image.
fn complex_to_real(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (mut field, dims) = (Field::of(cx)?, dims(cx)?);
    let size = usize::try_from(cx.int(3)?).ok().filter(|n| *n > 0);
    let size = size.ok_or_else(|| cx.bad(3, "a size above 0", cx.int(3).map_or(String::new(), |n| n.to_string())))?;
    let mut strides = cx.tensor(0)?.meta.strides.clone();
    let Some((last, others)) = dims.split_last() else {
        return Err(cx.bad(1, "at least one dimension", "none"));
    };
    if !others.is_empty() {
        others.iter().for_each(|d| field.transform(*d, Direction::Inverse));
        strides = strides_after(&strides, &field.sizes, &by_stride(&strides, others));
    }
    let plan = FftPlannerScalar::new().plan_fft(size, Direction::Inverse);
    field.along(*last, size, |line| from_half_spectrum(line, size, &*plan));
    let scale = scale(cx, &field.sizes, &dims)?;
    let strides = strides_after(&strides, &field.sizes, &[*last]);
    emit(cx, &field, strides, scale, |v| v.re)
}

fn from_half_spectrum(line: &[C128], size: usize, backward: &dyn Fft<f64>) -> Vec<C128> {
    let given = |k: usize| line.get(k).copied().unwrap_or_default();
    let mut whole: Vec<C128> = (0..size)
        .map(|k| match size.saturating_sub(k) {
            mirrored if k > mirrored => given(mirrored).conj(),
            // What has no partner is its own mirror image.
            mirrored if k == mirrored || k == 0 => C128::new(given(k).re, 0.0),
            _ => given(k),
        })
        .collect();
    backward.process(&mut whole);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(line: &mut [C128], direction: Direction) {
        FftPlannerScalar::new().plan_fft(line.len(), direction).process(line);
    }

    /// e^(-2 pi i k / n).
    fn root(k: usize, n: usize) -> C128 {
        let (sin, cos) = (2.0 * std::f64::consts::PI * k as f64 / n as f64).sin_cos();
        C128::new(cos, -sin)
    }

    fn by_definition(line: &[C128]) -> Vec<C128> {
        let n = line.len();
        let at = |k: usize| (0..n).map(|j| line[j] * root(j * k % n, n)).sum();
        (0..n).map(at).collect()
    }

    #[test]
    fn every_size_gives_the_sum_that_defines_the_transform() {
        for n in 1..40_u32 {
            let line: Vec<C128> = (0..n).map(|k| C128::new(f64::from(k * k % 7), f64::from(k % 3) - 1.0)).collect();
            let mut made = line.clone();
            transform(&mut made, Direction::Forward);
            for (a, b) in made.iter().zip(by_definition(&line)) {
                assert!((a - b).norm() < 1e-11 * f64::from(n), "size {n}: {a} is not {b}");
            }
        }
    }

    #[test]
    fn backward_undoes_forward_up_to_the_size() {
        for n in [8_u32, 12, 31] {
            let line: Vec<C128> = (0..n).map(|k| C128::new(f64::from(k), 1.0)).collect();
            let mut made = line.clone();
            transform(&mut made, Direction::Forward);
            transform(&mut made, Direction::Inverse);
            assert!(made.iter().zip(&line).all(|(a, b)| (a / f64::from(n) - b).norm() < 1e-12));
        }
    }
}
