//! Losses element by element, and what is made of them: all, their mean or their sum.
//!
//! Computed in `f64`; each step that PyTorch takes as an operator of its own rounds to the dtype.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::round;
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::pointwise::{map_all, map2};
use crate::exec::tensor::lane::C128;
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::{Operand, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (mse_loss, &["aten.mse_loss.default"]),
    (l1_loss, &["aten.l1_loss.default"]),
    (smooth_l1_loss, &["aten.smooth_l1_loss.default"]),
    (huber_loss, &["aten.huber_loss.default"]),
    (binary_cross_entropy, &["aten.binary_cross_entropy.default"]),
    (binary_cross_entropy_with_logits, &["aten.binary_cross_entropy_with_logits.default"]),
    (kl_div, &["aten.kl_div.default"]),
];

/// What is made of the losses of all elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exec) enum Reduction {
    /// They are the result.
    None,
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
}

/// Returns the reduction that the call asks for.
pub(in crate::exec) fn reduction(cx: &Cx<'_, '_, '_>) -> Result<Reduction, CallFault> {
    let Some(i) = cx.operator.schema.param_index("reduction") else { return Ok(Reduction::Mean) };
    match cx.int(i)? {
        0 => Ok(Reduction::None),
        1 => Ok(Reduction::Mean),
        2 => Ok(Reduction::Sum),
        other => Err(cx.bad(i, "0 (none), 1 (mean) or 2 (sum)", other.to_string())),
    }
}

/// Makes the result of the losses of all elements. PyTorch leaves them as they are for a number that names no reduction, too; operators
/// that refuse such a one do so by their types.
pub(in crate::exec) fn reduced(cx: &mut Cx<'_, '_, '_>, losses: Tensor) -> Made {
    let asked = cx.operator.schema.param_index("reduction").map_or(Ok(1), |i| cx.int(i))?;
    let result = match asked {
        1 => cx.run_tensor("aten.mean.default", &[losses.into()])?,
        2 => cx.run_tensor("aten.sum.default", &[losses.into()])?,
        _ => losses,
    };
    cx.laid_out(0, result).map(Value::Tensor)
}

/// Returns the sizes to which all operands broadcast.
fn joint_sizes(operands: &[Operand<'_>]) -> Shape {
    let tensors = operands.iter().filter_map(|o| match o {
        Operand::Tensor(t) => Some(t.sizes()),
        Operand::Number(_) => None,
    });
    let all: Vec<&[usize]> = tensors.collect();
    let rank = all.iter().map(|s| s.len()).max().unwrap_or(0);
    let size = |behind: usize| {
        let own = all.iter().filter_map(|s| s.iter().rev().nth(behind)).copied();
        own.fold(1_usize, |a, b| if a == 1 { b } else { a })
    };
    (0..rank).rev().map(size).collect()
}

/// Computes the losses of all elements: `f` is given what each operand has there.
fn elementwise(
    cx: &Cx<'_, '_, '_>,
    operands: &[Operand<'_>],
    dtype: Dtype,
    f: impl Fn(&[f64]) -> f64 + Sync,
) -> Result<Tensor, CallFault> {
    let sizes = joint_sizes(operands);
    shape::count(&sizes)?;
    map_all::<f64, f64>(cx, &Meta::contiguous(dtype, &sizes), operands, dtype, f)
}

/// Computes losses of input and target.
fn of_two(cx: &mut Cx<'_, '_, '_>, f: impl Fn(Dtype, f64, f64) -> f64 + Sync) -> Made {
    let operands = [cx.operand(0)?, cx.operand(1)?];
    let dtype = cx.meta()?.dtype;
    let losses = elementwise(cx, &operands, dtype, |v| match v {
        [a, b] => f(dtype, *a, *b),
        _ => 0.0,
    })?;
    reduced(cx, losses)
}

fn mse_loss(cx: &mut Cx<'_, '_, '_>) -> Made {
    of_two(cx, |dtype, a, b| {
        let off = round(dtype, a - b);
        off * off
    })
}

fn l1_loss(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if !a.dtype().is_complex() && !b.dtype().is_complex() {
        return of_two(cx, |_, a, b| (a - b).abs());
    }
    let operands = [Operand::Tensor(a), Operand::Tensor(b)];
    let dtype = cx.meta()?.dtype;
    let common = if dtype == Dtype::F64 { Dtype::C128 } else { Dtype::C64 };
    let meta = Meta::contiguous(dtype, &joint_sizes(&operands));
    let losses = map2::<C128, f64>(cx, &meta, operands, common, |a, b| {
        let off = a - b;
        off.re.hypot(off.im)
    })?;
    reduced(cx, losses)
}

fn smooth_l1_loss(cx: &mut Cx<'_, '_, '_>) -> Made {
    let beta = cx.f64(3)?;
    if beta < 0.0 {
        return Err(cx.bad(3, "no negative number", beta.to_string()));
    }
    of_two(cx, move |_, a, b| {
        let off = (a - b).abs();
        if off < beta { 0.5 * off * off / beta } else { off - 0.5 * beta }
    })
}

fn huber_loss(cx: &mut Cx<'_, '_, '_>) -> Made {
    let delta = cx.f64(3)?;
    if delta <= 0.0 {
        return Err(cx.bad(3, "a positive number", delta.to_string()));
    }
    of_two(cx, move |_, a, b| {
        let off = (a - b).abs();
        if off <= delta { 0.5 * off * off } else { delta * (off - 0.5 * delta) }
    })
}

/// Logarithms are cut off at -100.
fn binary_cross_entropy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (input, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    if let Some(out) = input.lanes::<f64>()?.iter().find(|v| !(0.0..=1.0).contains(*v)) {
        return Err(cx.bad(0, "numbers from 0 to 1", out.to_string()));
    }
    let mut operands = vec![cx.operand(0)?, cx.operand(1)?];
    operands.extend(cx.opt_tensor(2)?.map(Operand::Tensor));
    let losses = elementwise(cx, &operands, dtype, |v| {
        let [x, y, ..] = v else { return 0.0 };
        let r = |v: f64| round(dtype, v);
        let (no, yes) = (r((-x).ln_1p()).max(-100.0), r(x.ln()).max(-100.0));
        let loss = r(r(r(y - 1.0) * no) - r(y * yes));
        loss * v.get(2).copied().unwrap_or(1.0)
    })?;
    reduced(cx, losses)
}

/// (1 - target) * input - weight of the positive * log(sigmoid(input)), every step rounded.
fn binary_cross_entropy_with_logits(cx: &mut Cx<'_, '_, '_>) -> Made {
    let dtype = cx.meta()?.dtype;
    let (weight, positive) = (cx.opt_tensor(2)?, cx.opt_tensor(3)?);
    let mut operands = vec![cx.operand(0)?, cx.operand(1)?];
    operands.extend(weight.into_iter().chain(positive).map(Operand::Tensor));
    let place = usize::from(weight.is_some()).saturating_add(2);
    let losses = elementwise(cx, &operands, dtype, |v| {
        let r = |v: f64| round(dtype, v);
        let [x, y, ..] = v else { return 0.0 };
        let mut log = r(x.min(0.0) - (-x.abs()).exp().ln_1p());
        if x.is_nan() {
            log = f64::NAN;
        }
        if positive.is_some() {
            let p = v.get(place).copied().unwrap_or(1.0);
            log = r(log * r(r(r(p - 1.0) * y) + 1.0));
        }
        let loss = r(r(r(1.0 - y) * x) - log);
        if weight.is_some() { loss * v.get(2).copied().unwrap_or(1.0) } else { loss }
    })?;
    reduced(cx, losses)
}

fn kl_div(cx: &mut Cx<'_, '_, '_>) -> Made {
    let logarithms = cx.bool(3)?;
    of_two(cx, move |dtype, x, y| {
        let r = |v: f64| round(dtype, v);
        if logarithms {
            return r(y.exp()) * r(y - x);
        }
        let entropy = if y == 0.0 { 0.0 } else { r(y * y.ln()) };
        entropy - r(y * x)
    })
}
