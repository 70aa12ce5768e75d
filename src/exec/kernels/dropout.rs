//! Dropout and its kin: what is exact outside training, and random in it.
//!
//! Promises: outside training, or with nothing to drop, the operand itself is given where PyTorch gives it; with all to drop, zeros.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::Made;
use crate::exec::kernels::random::{coin, drawn, probability};
use crate::exec::tensor::fill;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (dropout, &["aten.dropout.default"]),
    (alpha_dropout, &["aten.alpha_dropout.default"]),
    (feature_dropout, &["aten.feature_dropout.default"]),
    (native_dropout, &["aten.native_dropout.default"]),
    (rrelu_with_noise, &["aten.rrelu_with_noise.default"]),
];

/// Returns a tensor that is 1 with probability `keep`, else 0; it lies in memory, and is drawn, as what is made like `like`, and else row by row.
fn mask(
    cx: &mut Cx<'_, '_, '_>,
    dtype: Dtype,
    sizes: &[usize],
    like: Option<&Tensor>,
    keep: f64,
) -> Result<Tensor, CallFault> {
    let mut meta = Meta::contiguous(dtype, sizes);
    if let Some(t) = like {
        meta.strides = cx.run_tensor("aten.empty_like.default", &[Value::Tensor(t.clone())])?.meta.strides.clone();
    }
    drawn(cx, &meta, |random| coin(random, keep))
}

/// What becomes of kept elements.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Scaled, so that the mean stays.
    Scaled,
    /// Scaled and shifted, so that mean and variance of a `selu` stay.
    Alpha,
}

/// Drops elements, or with `per_channel` whole channels.
fn drop(cx: &mut Cx<'_, '_, '_>, kind: Kind, per_channel: bool) -> Made {
    let (t, p, train) = (cx.tensor(0)?, probability(cx, 1, cx.f64(1)?)?, cx.bool(2)?);
    if p == 0.0 || !train || t.numel() == 0 {
        return Ok(Value::Tensor(t.clone()));
    }
    let this = Value::Tensor(t.clone());
    if p == 1.0 {
        let zeros = fill::empty(&Meta::contiguous(t.dtype(), &[]), cx.meter())?;
        return product(cx, this, zeros);
    }
    if !t.dtype().is_float() && !t.dtype().is_complex() {
        return Err(cx.bad(0, "a tensor of floats", t.dtype().long()));
    }
    if per_channel && t.rank() < 2 {
        return Err(cx.bad(0, "at least 2 dimensions, of which the second one is dropped", t.rank().to_string()));
    }
    let sizes: Vec<usize> =
        t.sizes().iter().enumerate().map(|(d, n)| if per_channel && d > 1 { 1 } else { *n }).collect();
    let noise = mask(cx, t.dtype(), &sizes, (!per_channel).then_some(t), 1.0 - p)?;
    match kind {
        Kind::Scaled => {
            let noise = cx.run_tensor("aten.div.Scalar", &[noise.into(), Value::Float(1.0 - p)])?;
            product(cx, this, noise)
        }
        Kind::Alpha => {
            const ALPHA: f64 = 1.758_099_340_847_376_6;
            let a = 1.0 / ((ALPHA * ALPHA * p + 1.0) * (1.0 - p)).sqrt();
            let lowered = cx.run_tensor("aten.sub.Scalar", &[noise.clone().into(), Value::Int(1)])?;
            let shift = cx.run_tensor("aten.mul.Scalar", &[lowered.into(), Value::Float(ALPHA * a)])?;
            let shift = cx.run_tensor("aten.add.Scalar", &[shift.into(), Value::Float(ALPHA * a * p)])?;
            let scaled = cx.run_tensor("aten.mul.Scalar", &[noise.into(), Value::Float(a)])?;
            let kept = cx.run_tensor("aten.mul.Tensor", &[this, scaled.into()])?;
            let sum = cx.run_tensor("aten.add.Tensor", &[kept.into(), shift.into()])?;
            cx.laid_out(0, sum).map(Value::Tensor)
        }
    }
}

fn product(cx: &mut Cx<'_, '_, '_>, this: Value, factor: Tensor) -> Made {
    let out = cx.run_tensor("aten.mul.Tensor", &[this, factor.into()])?;
    cx.laid_out(0, out).map(Value::Tensor)
}

fn dropout(cx: &mut Cx<'_, '_, '_>) -> Made {
    drop(cx, Kind::Scaled, false)
}

fn alpha_dropout(cx: &mut Cx<'_, '_, '_>) -> Made {
    drop(cx, Kind::Alpha, false)
}

fn feature_dropout(cx: &mut Cx<'_, '_, '_>) -> Made {
    drop(cx, Kind::Scaled, true)
}

/// The operand with elements dropped, and which ones stay.
fn native_dropout(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, p) = (cx.tensor(0)?, cx.f64(1)?);
    let train = cx.is_none(2) || cx.bool(2)?;
    let kept = cx.meta_of(1)?;
    if t.numel() == 0 {
        return Ok(vec![t.clone(), cx.zeros(1)?].into());
    }
    if !train {
        let (out, all) = (cx.zeros(0)?, cx.zeros(1)?);
        out.copy_from(t)?;
        all.copy_from(&fill::from_lanes(&Meta::contiguous(kept.dtype, &[]), vec![1_i64], cx.meter())?)?;
        return Ok(vec![out, all].into());
    }
    if !t.dtype().is_float() && !t.dtype().is_complex() {
        return Err(cx.bad(0, "a tensor of floats", t.dtype().long()));
    }
    let keep = 1.0 - probability(cx, 1, p)?;
    let scale = if keep == 0.0 { 0.0 } else { 1.0 / keep };
    let stays = mask(cx, Dtype::Bool, t.sizes(), Some(t), keep)?;
    let product = cx.run_tensor("aten.mul.Tensor", &[Value::Tensor(t.clone()), stays.clone().into()])?;
    let scaled = cx.run_tensor("aten.mul.Scalar", &[product.into(), Value::Float(scale)])?;
    Ok(vec![cx.laid_out(0, scaled)?, cx.laid_out(1, stays)?].into())
}

/// A leaky `relu` with a slope that is drawn for each element in training, and written to `noise`.
fn rrelu_with_noise(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, noise, training) = (cx.tensor(0)?, cx.tensor(1)?, cx.bool(4)?);
    let (lower, upper) = (cx.f64(2)?, cx.f64(3)?);
    if noise.sizes() != t.sizes() {
        return Err(cx.bad(1, format!("the sizes of `self`, {:?}", t.sizes()), format!("{:?}", noise.sizes())));
    }
    if !training {
        let slope = Value::Float((lower + upper) / 2.0);
        let out = cx.run_tensor("aten.leaky_relu.default", &[Value::Tensor(t.clone()), slope])?;
        return cx.laid_out(0, out).map(Value::Tensor);
    }
    if lower > upper {
        return Err(cx.bad(3, format!("a bound not below {lower}"), upper.to_string()));
    }
    let values = t.lanes::<f64>()?;
    let (mut out, mut slopes) = (Vec::with_capacity(values.len()), Vec::with_capacity(values.len()));
    for v in values.iter() {
        let slope = if *v <= 0.0 { lower + (upper - lower) * cx.session.random.uniform() } else { 1.0 };
        slopes.push(slope);
        out.push(if *v <= 0.0 { v * slope } else { *v });
    }
    noise.write(&slopes)?;
    cx.emit(out)
}
