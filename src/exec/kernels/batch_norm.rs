//! Batch and instance norm: over everything but channels, with the batch's statistics or running ones.
//!
//! Promises: in training the running statistics are written in place (variance unbiased), or given back by the functional form; means
//! and variances are computed in `f64`.

use crate::exec::call::cx::Cx;
use crate::exec::dense::norm::{Real, affine_channels};
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::{count_of, moments, round};
use crate::exec::kernels::norm::{in_float_lane, results};
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::rows;
use crate::exec::tensor::lane::{Lane, LaneKind};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
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
    let all = rows::fold::<f64, (f64, f64)>(t, over, Dtype::F64, moments)?;
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
) -> Result<Vec<L>, CallFault> {
    let ones = |t: Option<&Tensor>, v: f64| -> Result<Vec<f64>, CallFault> {
        let each = t.map_or(Ok(vec![v; mean.len()]), wide)?;
        Ok(each.iter().copied().cycle().take(each.len().saturating_mul(repeat)).collect())
    };
    let (weight, bias) = (ones(o.weight, 1.0)?, ones(o.bias, 0.0)?);
    let scale: Vec<f64> = inverse.iter().zip(&weight).map(|(i, w)| i * w).collect();
    let shift = mean.iter().zip(&scale).zip(&bias).map(|((m, s), b)| L::from_f64(b - m * s)).collect::<Vec<L>>();
    let scale: Vec<L> = scale.into_iter().map(L::from_f64).collect();
    let values = t.lanes::<L>()?;
    let mut out = vec![L::default(); values.len()];
    let inner = shape::numel(t.sizes().get(2..).unwrap_or(&[]));
    if !values.is_empty() {
        affine_channels(&values, &mut out, inner, &scale, &shift).map_err(rows::refused)?;
    }
    Ok(out)
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

/// What channels are multiplied by: of the batch it is kept in a dtype, of running statistics it is not.
fn inverse(var: &[f64], eps: f64, kept: Option<Dtype>) -> Vec<f64> {
    let one = |v: &f64| 1.0 / (v + eps).sqrt();
    var.iter().map(|v| kept.map_or(one(v), |dtype| round(dtype, one(v)))).collect()
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
    let inverse = inverse(&var, o.eps, own.then_some(o.kept));
    let first = if steps {
        let r = |v: f64| round(o.kept, v);
        let running = || var.iter().map(|v| r(1.0 / r(r(v + o.eps).sqrt()))).collect();
        stepwise::<L>(t, &mean, &if own { inverse.clone() } else { running() }, &o)?
    } else {
        scaled::<L>(t, &mean, &inverse, &o, 1)?
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
            all.push(cx.emit_at(k, values)?);
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
    let out = scaled::<L>(&flat, &mean, &inverse(&var, o.eps, o.training.then_some(o.kept)), &o, images)?;
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
