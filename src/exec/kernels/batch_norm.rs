//! Batch and instance norm: over everything but channels, with the batch's statistics or running ones.
//!
//! Promises: in training the running statistics are written in place (variance unbiased), or given back by the functional form; means
//! and variances are computed in `f64`.

use crate::exec::call::cx::Cx;
use crate::exec::dense::norm::{Real, affine_channels};
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::{count_of, moments, round};
use crate::exec::kernels::norm::{in_float_lane, results};
use crate::exec::kernels::reduce::{Made, total_of};
use crate::exec::loops::rows;
use crate::exec::tensor::lane::{Lane, LaneKind};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        batch_norm,
        &[
            "aten.batch_norm.default",
            "aten.native_batch_norm.default",
            "aten._native_batch_norm_legit.default",
            "aten._native_batch_norm_legit.no_stats",
            "aten._native_batch_norm_legit_no_training.default",
            "aten._native_batch_norm_legit_functional.default",
            "aten._batch_norm_with_update.default",
            "aten._batch_norm_no_update.default",
        ],
    ),
    (instance_norm, &["aten.instance_norm.default"]),
];

/// Where an operator has its parameters, and whether it uses the batch's statistics.
struct Options<'a> {
    weight: Option<&'a Tensor>,
    bias: Option<&'a Tensor>,
    mean: Option<&'a Tensor>,
    var: Option<&'a Tensor>,
    training: bool,
    momentum: f64,
    eps: f64,
    /// The dtype in which PyTorch keeps the batch's statistics.
    kept: Dtype,
}

fn options<'a>(cx: &Cx<'a, '_, '_>) -> Result<Options<'a>, CallFault> {
    let schema = &cx.operator.schema;
    let tensor = |name| schema.param_index(name).map_or(Ok(None), |i| cx.opt_tensor(i));
    let number = |name| schema.param_index(name).map_or(Ok(0.0), |i| cx.f64(i));
    let flag = schema.param_index("training").or_else(|| schema.param_index("use_input_stats"));
    let training = flag.map_or(Ok(&*schema.name == "_batch_norm_with_update"), |i| cx.bool(i))?;
    let (mean, var) = (tensor("running_mean")?, tensor("running_var")?);
    if !training && (mean.is_none() || var.is_none()) && schema.param_index("running_mean").is_some() {
        let i = schema.param_index("running_mean").unwrap_or(0);
        return Err(cx.bad(i, "running statistics, where the batch's are not used", "None"));
    }
    let (weight, bias) = (tensor("weight")?, tensor("bias")?);
    let own = cx.tensor(0)?.dtype();
    let single = [weight, bias, mean, var].into_iter().flatten().any(|t| t.dtype() == Dtype::F32);
    let kept = if single && own != Dtype::F64 { Dtype::F32 } else { own };
    Ok(Options { weight, bias, mean, var, training, momentum: number("momentum")?, eps: number("eps")?, kept })
}

/// Means, biased and unbiased variances of channels.
#[derive(Default)]
struct Statistics {
    mean: Vec<f64>,
    var: Vec<f64>,
    unbiased: Vec<f64>,
}

/// Returns the statistics over these dimensions. PyTorch keeps means and sums of squares in bf16 where everything is bf16, in `f32` where
/// it is f16.
fn of_batch(t: &Tensor, over: &[usize], kept: Dtype) -> Result<Statistics, CallFault> {
    let n = count_of(rows::length(t, over));
    // In `f32` a deviation from the mean is rounded, and so are its square and what squares come to.
    let all = if (t.dtype(), kept) == (Dtype::F32, Dtype::F32) && t.rank() > 2 {
        rows::fold::<f32, (f64, f64)>(t, over, Dtype::F32, single_moments)?
    } else {
        rows::fold::<f64, (f64, f64)>(t, over, Dtype::F64, moments)?
    };
    let mut out = Statistics::default();
    let step = |v: f64| if kept == Dtype::Bf16 { round(kept, v) } else { v };
    for (mean, squares) in all {
        let squares = step(squares);
        out.mean.push(step(mean));
        out.var.push(step(squares / n));
        out.unbiased.push(step(squares / (n - 1.0)));
    }
    Ok(out)
}

/// The mean of a row, and the sum of the squares of what its elements are away from it, as PyTorch rounds them.
#[allow(clippy::cast_possible_truncation)]
fn single_moments(row: &[f32]) -> (f64, f64) {
    let mean = (total_of::<f32, f64>(row, f64::from) / count_of(row.len())) as f32;
    let squares = total_of::<f32, f64>(row, |v| f64::from((v - mean) * (v - mean)));
    (f64::from(mean), f64::from(squares as f32))
}

fn wide(t: &Tensor) -> Result<Vec<f64>, CallFault> {
    t.lanes::<f64>().map(crate::exec::tensor::flat::Flat::into_vec)
}

/// Returns what a running statistic becomes.
fn moved(running: &Tensor, batch: &[f64], momentum: f64) -> Result<Vec<f64>, CallFault> {
    Ok(wide(running)?.iter().zip(batch).map(|(r, b)| momentum * b + (1.0 - momentum) * r).collect())
}

/// Returns `x` scaled and shifted channel by channel, given what each channel is divided by.
fn scaled<L: Lane + Real>(
    t: &Tensor,
    mean: &[f64],
    inverse: &[f64],
    o: &Options<'_>,
    repeat: usize,
    meter: &Meter,
) -> Result<Vec<L>, CallFault> {
    let ones = |t: Option<&Tensor>, v: f64| -> Result<Vec<f64>, CallFault> {
        let each = t.map_or(Ok(vec![v; mean.len()]), wide)?;
        Ok(each.iter().copied().cycle().take(each.len().saturating_mul(repeat)).collect())
    };
    let (weight, bias) = (ones(o.weight, 1.0)?, ones(o.bias, 0.0)?);
    let channels = mean.iter().zip(inverse).zip(weight.iter().zip(&bias));
    let (scale, shift): (Vec<L>, Vec<L>) =
        channels.map(|((m, i), (w, b))| factors::<L>(o.kept, [*m, *i, *w, *b])).unzip();
    let values = t.lanes::<L>()?;
    let mut out = meter.unset::<L>(values.len());
    let inner = shape::numel(t.sizes().get(2..).unwrap_or(&[]));
    if !values.is_empty() {
        affine_channels(&values, &mut out, inner, &scale, &shift).map_err(rows::refused)?;
    }
    Ok(out)
}

/// What a channel is multiplied by and what is added, from its mean, inverse, weight and bias: in the lane, as PyTorch computes them.
#[allow(clippy::cast_possible_truncation)]
fn factors<L: Lane>(kept: Dtype, channel: [f64; 4]) -> (L, L) {
    if L::DTYPE == Dtype::F64 {
        let [mean, inverse, weight, bias] = channel;
        let scale = inverse * weight;
        return (L::from_f64(scale), L::from_f64((-mean).mul_add(scale, bias)));
    }
    let [mean, inverse, weight, bias] = channel.map(|v| v as f32);
    let scale = inverse * weight;
    let fused = !matches!(kept, Dtype::F16 | Dtype::Bf16);
    let shift = if fused { (-mean).mul_add(scale, bias) } else { bias - mean * scale };
    (L::from_f32(scale), L::from_f32(shift))
}

/// Whether PyTorch takes each step in the dtype itself: of narrow floats that lie neither row by row nor channels last.
fn in_steps(t: &Tensor, kept: Dtype) -> bool {
    let last: Shape = (0..t.rank()).filter(|d| *d != 1).chain([1]).collect();
    let plain = t.meta.is_contiguous() || (t.rank() > 3 && t.permute(&last).meta.is_contiguous());
    !plain && matches!(kept, Dtype::F16 | Dtype::Bf16)
}

/// Returns `(x - mean) * inverse * weight + bias`, every step rounded.
fn stepwise<L: Lane>(t: &Tensor, mean: &[f64], inverse: &[f64], o: &Options<'_>) -> Result<Vec<L>, CallFault> {
    let r = |v: f64| round(o.kept, v);
    let ones = |t: Option<&Tensor>, v: f64| t.map_or(Ok(vec![v; mean.len()]), wide);
    let (weight, bias) = (ones(o.weight, 1.0)?, ones(o.bias, 0.0)?);
    let inner = shape::numel(t.sizes().get(2..).unwrap_or(&[])).max(1);
    let channels = mean.iter().zip(inverse).zip(weight.iter().zip(&bias));
    let channels: Vec<[f64; 4]> = channels.map(|((m, i), (w, b))| [*m, *i, *w, *b]).collect();
    let values = t.lanes::<f64>()?;
    let planes = values.chunks(inner).zip(channels.iter().cycle());
    let plane = |(x, [mean, inverse, weight, bias]): (&[f64], &[f64; 4])| {
        let one = |x: &f64| L::from_f64(r(r(r(x - mean) * inverse) * weight) + bias);
        x.iter().map(one).collect::<Vec<L>>()
    };
    Ok(planes.flat_map(plane).collect())
}

/// What channels are multiplied by: of the batch it is kept in a dtype, of running statistics computed in the lane.
#[allow(clippy::cast_possible_truncation)]
fn inverse<L: Lane>(var: &[f64], eps: f64, kept: Option<Dtype>) -> Vec<f64> {
    let one = |v: &f64| 1.0 / (v + eps).sqrt();
    let single = |v: &f64| f64::from(1.0 / (*v as f32 + eps as f32).sqrt());
    let of = |v: &f64| match kept {
        Some(dtype) => round(dtype, one(v)),
        None if L::DTYPE == Dtype::F32 => single(v),
        None => one(v),
    };
    var.iter().map(of).collect()
}

fn batch_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    in_float_lane!(cx.tensor(0)?.dtype(), batch_norm_in(cx))
}

fn batch_norm_in<L: Lane + Real>(cx: &Cx<'_, '_, '_>) -> Made {
    let (t, o) = (cx.tensor(0)?, options(cx)?);
    let functional = cx.operator.schema.name.ends_with("functional");
    let over: Shape = (0..t.rank()).filter(|d| *d != 1).collect();
    let own = o.training || o.mean.is_none();
    let steps = in_steps(t, o.kept);
    let batch = if own { of_batch(t, &over, if steps { Dtype::F32 } else { o.kept })? } else { Statistics::default() };
    let (mean, var) = match (own, o.mean, o.var) {
        (false, Some(mean), Some(var)) => (wide(mean)?, wide(var)?),
        _ => (batch.mean.iter().map(|m| round(o.kept, *m)).collect(), batch.var.clone()),
    };
    let inverse = inverse::<L>(&var, o.eps, own.then_some(o.kept));
    let first = if steps {
        let r = |v: f64| round(o.kept, v);
        let running = || var.iter().map(|v| r(1.0 / r(r(v + o.eps).sqrt()))).collect();
        stepwise::<L>(t, &mean, &if own { inverse.clone() } else { running() }, &o)?
    } else {
        scaled::<L>(t, &mean, &inverse, &o, 1, cx.meter())?
    };
    let mut all = vec![cx.emit_at(0, first)?];
    if o.training && !functional {
        write_running(&o, &batch)?;
    }
    let saved = [mean, inverse];
    for (k, values) in (1_usize..).zip(saved).take(cx.result_count().saturating_sub(1)) {
        all.push(if own { cx.emit_at(k, values)? } else { cx.zeros(k)? });
    }
    if functional {
        for (k, running, new) in [(3, o.mean, &batch.mean), (4, o.var, &batch.unbiased)] {
            let running = running.ok_or_else(|| cx.bad(k, "running statistics", "None"))?;
            let values = if o.training { moved(running, new, o.momentum)? } else { wide(running)? };
            let sizes = [values.len()];
            all.push(cx.make(running.dtype(), &sizes, values)?);
        }
    } else {
        for k in all.len()..cx.result_count() {
            all.push(cx.zeros(k)?);
        }
    }
    Ok(results(cx, all))
}

fn write_running(o: &Options<'_>, batch: &Statistics) -> Result<(), CallFault> {
    if let Some(running) = o.mean {
        running.write(&moved(running, &batch.mean, o.momentum)?)?;
    }
    if let Some(running) = o.var {
        running.write(&moved(running, &batch.unbiased, o.momentum)?)?;
    }
    Ok(())
}

/// Each image's channels are channels of their own; running statistics become the mean over images.
fn instance_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    in_float_lane!(cx.tensor(0)?.dtype(), instance_norm_in(cx))
}

fn instance_norm_in<L: Lane + Real>(cx: &Cx<'_, '_, '_>) -> Made {
    let (t, o) = (cx.tensor(0)?, options(cx)?);
    let (images, channels) = (t.meta.size(0), t.meta.size(1));
    // Batch and channels as one dimension, behind one that is 1.
    let inner: Shape = t.sizes().get(2..).unwrap_or(&[]).iter().copied().collect();
    let planes = images.saturating_mul(channels);
    let flat_sizes: Shape = [1, planes].into_iter().chain(inner.iter().copied()).collect();
    let flat = t.resolved(cx.meter())?;
    let flat = flat.with_meta(Meta::contiguous(t.dtype(), &flat_sizes))?;
    let over: Shape = (2..flat.rank()).collect();
    let batch = if o.training { of_batch(&flat, &over, o.kept)? } else { Statistics::default() };
    let (mean, var) = match (o.training, o.mean, o.var) {
        (false, Some(mean), Some(var)) => (wide(mean)?.repeat(images), wide(var)?.repeat(images)),
        _ => (batch.mean.iter().map(|m| round(o.kept, *m)).collect(), batch.var.clone()),
    };
    let out =
        scaled::<L>(&flat, &mean, &inverse::<L>(&var, o.eps, o.training.then_some(o.kept)), &o, images, cx.meter())?;
    if o.training {
        let over_images = |all: &[f64]| -> Vec<f64> {
            let sum = |c: usize| all.iter().skip(c).step_by(channels.max(1)).sum::<f64>();
            (0..channels).map(|c| sum(c) / count_of(images)).collect()
        };
        for (running, new) in [(o.mean, &batch.mean), (o.var, &batch.unbiased)] {
            let Some(running) = running else { continue };
            let own = wide(running)?.repeat(images);
            let each =
                own.iter().zip(new).map(|(r, b)| round(running.dtype(), o.momentum * b + (1.0 - o.momentum) * r));
            running.write(&over_images(&each.collect::<Vec<f64>>()))?;
        }
    }
    cx.emit(out)
}

#[cfg(test)]
mod tests {
    use crate::exec::Value;
    use crate::exec::loops::rows::testing::{call, tensor, values};
    use crate::graph::Dtype;

    const RUNNING: [f32; 24] = [
        -8.863768,
        3.138029,
        15.139826,
        -2.423779,
        9.578017,
        -7.9855876,
        0.36442363,
        -0.50174826,
        0.7658204,
        -0.3749913,
        0.89257723,
        0.026405344,
        -8.863768,
        3.138029,
        15.139826,
        -2.423779,
        9.578017,
        -4.1801395,
        0.08978381,
        -0.77638817,
        0.4911805,
        -0.3749913,
        0.89257723,
        0.026405344,
    ];
    const OF_BATCH: [f32; 24] = [
        -1.5154042,
        0.3116737,
        2.1387517,
        -0.53502095,
        1.2920569,
        -1.3817157,
        1.2077751,
        0.08610582,
        1.727573,
        0.25025263,
        1.8917198,
        0.77005047,
        -1.5154042,
        0.3116737,
        2.1387517,
        -0.53502095,
        1.2920569,
        -0.8023982,
        0.8521239,
        -0.2695455,
        1.3719218,
        0.25025263,
        1.8917198,
        0.77005047,
    ];

    /// What PyTorch 2.15 gives, bit by bit: with running statistics, and with those of the batch.
    #[test]
    fn images_are_scaled_by_pytorchs_roundings() {
        let of = |sizes: &[usize], all: &[f64]| Value::Tensor(tensor(Dtype::F32, sizes, all));
        let x: Vec<f64> = (0..24_u16).map(|i| f64::from(f32::from(i.wrapping_mul(7919) % 101) * 0.37 - 11.0)).collect();
        let run = |mean: &[f64], var: &[f64], training: bool| {
            let (weight, bias) = (of(&[2], &[1.3, -0.7]), of(&[2], &[0.1, 0.9]));
            let rest = [of(&[2], mean), of(&[2], var), Value::Bool(training), Value::Float(0.1), Value::Float(1e-5)];
            let args: Vec<Value> = [of(&[2, 2, 2, 3], &x), weight, bias].into_iter().chain(rest).collect();
            call("aten.native_batch_norm.default", &args).unwrap().swap_remove(0)
        };
        let single = |all: &[f32]| all.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        assert_eq!(run(&[0.33, -4.1], &[2.7, 150.3], false), single(&RUNNING));
        assert_eq!(run(&[0.0, 0.0], &[1.0, 1.0], true), single(&OF_BATCH));
    }

    #[test]
    fn running_variances_are_unbiased_and_written_in_place() {
        let one = |v: f64| tensor(Dtype::F32, &[1], &[v]);
        let (mean, var) = (one(0.0), one(1.0));
        let t = tensor(Dtype::F32, &[2, 1], &[1.0, 3.0]);
        let args = [
            t.into(),
            Value::None,
            Value::None,
            mean.clone().into(),
            var.clone().into(),
            Value::Bool(true),
            Value::Float(0.5),
            Value::Float(0.0),
        ];
        let found = call("aten.native_batch_norm.default", &args).unwrap();
        assert_eq!(found, [vec![-1.0, 1.0], vec![2.0], vec![1.0]]);
        assert_eq!((values(&mean), values(&var)), (vec![1.0], vec![1.5]));
    }
}
