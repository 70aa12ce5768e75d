//! Batch normalization and its gradient.
//!
//! The device normalizes four dimensions (`NCHW`) or five (`NCDHW`): fewer are filled up with ones, more are folded into the last.

use super::args::Args;
use super::cx::{Cx, int, ints, list};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.batch_norm_backward_elemt.default", By(backward_elemt)),
    ("aten.batch_norm_backward_reduce.default", By(backward_reduce)),
    ("aten.batch_norm_elemt.default", By(elemt)),
    ("aten._native_batch_norm_legit.default", By(|cx| training(cx, Statistics::Written))),
    ("aten._native_batch_norm_legit.no_stats", By(|cx| training(cx, Statistics::Missing))),
    ("aten._native_batch_norm_legit_functional.default", By(|cx| training(cx, Statistics::Returned))),
    ("aten._native_batch_norm_legit_no_training.default", By(inference)),
    ("aten.native_batch_norm_backward.default", By(backward)),
    ("npu.batch_norm_gather_stats_update.default", By(gather_stats)),
];

/// What becomes of running statistics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statistics {
    Written,
    Missing,
    Returned,
}

fn at_least_two(cx: &Cx, x: TensorId) -> Result<i64, Refusal> {
    match cx.rank(x)? {
        0 | 1 => Err(Refusal("fewer than two dimensions are not supported".into())),
        rank => Ok(super::cx::signed(rank)),
    }
}

/// Returns an argument, or a value for each channel where it is missing.
fn channels(cx: &mut Cx, args: &Args, name: &str, sizes: TensorId, value: f64) -> Result<TensorId, Refusal> {
    if let Some(t) = args.optional(name) {
        return Ok(t);
    }
    let dtype = cx.dtype(args.tensor("input")?);
    let count = cx.element(sizes, 1)?;
    cx.filled(count, value, dtype)
}

/// Returns the sizes with all after the first `kept` as one.
fn folded(cx: &mut Cx, sizes: TensorId, kept: i64) -> Result<TensorId, Refusal> {
    let mut parts: Vec<In> = Vec::new();
    for place in 0..kept {
        parts.push(cx.element(sizes, place)?.into());
    }
    parts.push(int(-1));
    cx.pack(parts)
}

fn reshape(cx: &mut Cx, x: TensorId, sizes: TensorId) -> Result<TensorId, Refusal> {
    cx.op("Reshape", vec![x.into(), sizes.into()], &[])
}

/// Returns the result in its own sizes again: what was filled up is taken out, what was folded is unfolded.
fn restored(cx: &mut Cx, made: TensorId, rank: i64, sizes: TensorId, folds: bool) -> Result<TensorId, Refusal> {
    if rank < 4 {
        return cx.squeeze(made, &(rank..4).rev().collect::<Vec<_>>());
    }
    if !folds {
        return Ok(made);
    }
    let made = reshape(cx, made, sizes)?;
    cx.formats(made, &[0, 1], &[0], "ND");
    Ok(made)
}

fn filled_up(cx: &mut Cx, x: TensorId, rank: i64) -> Result<TensorId, Refusal> {
    if rank < 4 { cx.unsqueeze(x, &(rank..4).collect::<Vec<_>>()) } else { Ok(x) }
}

/// Makes BatchNormV3, whose five outputs are the result, the new running and the batch's statistics.
fn third(cx: &mut Cx, inputs: Vec<In>, attrs: &[(&str, Attr)], rank: i64) -> Result<[TensorId; 5], Refusal> {
    let made = cx.b.many("BatchNormV3", inputs, attrs, None)?;
    let made: [TensorId; 5] = made.try_into().map_err(|_| Refusal("five results were expected".into()))?;
    cx.formats(made[0], &[0], &[0], if rank <= 4 { "NCHW" } else { "NCDHW" });
    Ok(made)
}

fn training(cx: &mut Cx, statistics: Statistics) -> Made {
    let args = match statistics {
        Statistics::Missing => Args::of(cx, "input weight bias training momentum eps")?,
        _ => Args::of(cx, "input weight bias running_mean running_var training momentum eps")?,
    };
    if !args.flag("training")? {
        return untrained(cx, &args, statistics);
    }
    if statistics != Statistics::Returned && !cx.b.arch35 {
        return Err(Refusal("only devices from Ascend 950 on have it".into()));
    }
    let x = args.tensor("input")?;
    let rank = at_least_two(cx, x)?;
    let sizes = cx.shape32(x)?;
    let (weight, bias) = (channels(cx, &args, "weight", sizes, 1.0)?, channels(cx, &args, "bias", sizes, 0.0)?);
    let (mut mean, mut var) =
        (channels(cx, &args, "running_mean", sizes, 0.0)?, channels(cx, &args, "running_var", sizes, 1.0)?);
    let mut operand = x;
    if rank > 5 {
        let five = folded(cx, sizes, 4)?;
        operand = reshape(cx, x, five)?;
    }
    if statistics == Statistics::Returned {
        mean = cx.op("TensorMove", vec![mean.into()], &[])?;
        var = cx.op("TensorMove", vec![var.into()], &[])?;
    }
    let operand = filled_up(cx, operand, rank)?;
    let place = args.names().count();
    let attrs = [
        ("epsilon", Attr::Float(cx.float(place.saturating_sub(1), "eps", 1e-5)?)),
        ("momentum", Attr::Float(cx.float(place.saturating_sub(2), "momentum", 0.1)?)),
        ("is_training", Attr::Bool(true)),
    ];
    let inputs = [operand, weight, bias, mean, var].map(In::Tensor).to_vec();
    let [output, mean, var, batch_mean, batch_var] = third(cx, inputs, &attrs, rank)?;
    let output = restored(cx, output, rank, sizes, rank > 5)?;
    Ok(match statistics {
        Statistics::Missing => list(&[output, batch_mean, batch_var]),
        Statistics::Written => list(&[output, batch_mean, batch_var, mean, var]),
        // PyTorch's order; TorchAir gives the running statistics first.
        Statistics::Returned => list(&[output, batch_mean, batch_var, mean, var]),
    })
}

fn inference(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input weight bias running_mean running_var momentum eps")?;
    let (momentum, eps) = (cx.float(5, "momentum", 0.1)?, cx.float(6, "eps", 1e-5)?);
    infer(cx, &args, momentum, eps)
}

/// The form that training graphs have, where it does not train.
pub(super) fn native(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input weight bias running_mean running_var training momentum eps")?;
    if args.flag("training")? {
        return Err(Refusal("training=True is not supported".into()));
    }
    let (momentum, eps) = (cx.float(6, "momentum", 0.1)?, cx.float(7, "eps", 1e-5)?);
    infer(cx, &args, momentum, eps)
}

/// With given statistics, which stay as they are.
fn untrained(cx: &mut Cx, args: &Args, statistics: Statistics) -> Made {
    if statistics == Statistics::Missing {
        return Err(Refusal("training=False without statistics is not supported".into()));
    }
    let (momentum, eps) = (cx.float(6, "momentum", 0.1)?, cx.float(7, "eps", 1e-5)?);
    let made = infer(cx, args, momentum, eps)?;
    let Value::List(three) = made else { return Ok(made) };
    let kept = match statistics {
        Statistics::Returned => vec![args.get("running_mean"), args.get("running_var")],
        _ => Vec::new(),
    };
    Ok(Value::List(three.iter().cloned().chain(kept).collect()))
}

fn infer(cx: &mut Cx, args: &Args, momentum: f64, eps: f64) -> Made {
    let x = args.tensor("input")?;
    let rank = at_least_two(cx, x)?;
    let dtype = cx.dtype(x);
    let sizes = cx.shape32(x)?;
    let (weight, bias) = (channels(cx, args, "weight", sizes, 1.0)?, channels(cx, args, "bias", sizes, 0.0)?);
    let empty = cx.filled(ints(&[0]), 0.0, dtype)?;
    let epsilon = ("epsilon", Attr::Float(eps));
    let mut operand = filled_up(cx, x, rank)?;
    let most = if cx.b.arch35 { 5 } else { 4 };
    if rank > most {
        let fewer = folded(cx, sizes, most.saturating_sub(1))?;
        operand = reshape(cx, operand, fewer)?;
    }
    let statistics = [args.input("running_mean")?, args.input("running_var")?];
    let inputs = [In::Tensor(operand), weight.into(), bias.into()].into_iter().chain(statistics).collect();
    let output = if cx.b.arch35 {
        let momentum = ("momentum", Attr::Float(momentum));
        third(cx, inputs, &[epsilon, momentum, ("is_training", Attr::Bool(false))], rank)?[0]
    } else {
        let made = cx.op("BNInfer", inputs, &[epsilon])?;
        cx.formats(made, &[0, 1, 2, 3, 4], &[0], "NCHW");
        made
    };
    let output = restored(cx, output, rank, sizes, rank > most)?;
    Ok(list(&[output, empty, empty]))
}

fn backward(cx: &mut Cx) -> Made {
    let signature = "grad_out input weight running_mean running_var save_mean save_invstd train eps output_mask";
    let args = Args::of(cx, signature)?;
    let x = args.tensor("input")?;
    let rank = at_least_two(cx, x)?;
    let sizes = cx.shape32(x)?;
    let weight = channels(cx, &args, "weight", sizes, 1.0)?;
    let (mut grad, mut x) = (args.tensor("grad_out")?, x);
    if rank > 5 {
        let five = folded(cx, sizes, 4)?;
        (grad, x) = (reshape(cx, grad, five)?, reshape(cx, x, five)?);
    }
    x = filled_up(cx, x, rank)?;
    grad = filled_up(cx, grad, rank)?;
    let Some(Literal::Bools(mask)) = args.get("output_mask").literal() else {
        return Err(Refusal("argument output_mask is no fixed list".into()));
    };
    let (made, scale, offset) = match cx.b.arch35 {
        true => gradient_of_third(cx, &args, [grad, x, weight], rank, &mask)?,
        false => gradient(cx, &args, [grad, x, weight], rank)?,
    };
    let made = restored(cx, made, rank, sizes, rank > 5)?;
    let kept = |place: usize, t: TensorId| if mask.get(place) == Some(&true) { Value::Tensor(t) } else { Value::None };
    Ok(Value::List([Value::Tensor(made), kept(1, scale), kept(2, offset)].into()))
}

type Gradients = (TensorId, TensorId, TensorId);

fn gradient(cx: &mut Cx, args: &Args, operands: [TensorId; 3], rank: i64) -> Result<Gradients, Refusal> {
    let [grad, x, weight] = operands;
    let (train, deep) = (args.flag("train")?, rank > 4);
    let epsilon = [("epsilon", Attr::Float(cx.float(8, "eps", 1e-5)?))];
    let (mean, var) = if train { ("save_mean", "save_invstd") } else { ("running_mean", "running_var") };
    let (mean, var) = (args.tensor(mean)?, args.tensor(var)?);
    let format = if deep { "NCDHW" } else { "NCHW" };
    let kind = if deep { "BN3DTrainingUpdateGrad" } else { "BNTrainingUpdateGrad" };
    let inputs = [grad, x, mean, var].map(In::Tensor).to_vec();
    let [scale, offset] = two(&cx.b.many(kind, inputs, &epsilon, None)?)?;
    cx.formats(scale, &[0, 1, 2, 3], &[0, 1], format);
    let made = if train {
        let inputs = [grad, x, scale, offset, weight, mean, var].map(In::Tensor).to_vec();
        let made = cx.op("BNTrainingReduceGrad", inputs, &epsilon)?;
        cx.formats(made, &[0, 1, 2, 3, 4, 5, 6], &[0], format);
        made
    } else {
        let made = cx.op("BNInferGrad", [grad, weight, var].map(In::Tensor).to_vec(), &epsilon)?;
        cx.formats(made, &[0, 1, 2], &[0], format);
        made
    };
    Ok((made, scale, offset))
}

/// The gradient as devices from Ascend 950 on have it. Those of weight and bias are computed apart where the statistics were fixed.
fn gradient_of_third(
    cx: &mut Cx,
    args: &Args,
    operands: [TensorId; 3],
    rank: i64,
    mask: &[bool],
) -> Result<Gradients, Refusal> {
    let [grad, x, weight] = operands;
    let train = args.flag("train")?;
    let eps = cx.float(8, "eps", 1e-5)?;
    let mut inputs = [grad, x, weight].map(In::Tensor).to_vec();
    for name in ["running_mean", "running_var", "save_mean", "save_invstd"] {
        inputs.push(args.input(name)?);
    }
    let attrs = [("is_training", Attr::Bool(train)), ("epsilon", Attr::Float(eps))];
    let made: [TensorId; 3] =
        cx.b.many("BatchNormGradV3", inputs, &attrs, None)?
            .try_into()
            .map_err(|_| Refusal("three results were expected".into()))?;
    let [made, mut scale, mut offset] = made;
    cx.formats(made, &[0, 1], &[0], if rank > 4 { "NCDHW" } else { "NCHW" });
    let wanted = |place: usize| mask.get(place) == Some(&true);
    if train || !(wanted(1) || wanted(2)) {
        return Ok((made, scale, offset));
    }
    let dy = cx.always_cast(grad, DataType::Float)?;
    let x = cx.always_cast(x, DataType::Float)?;
    let mean = cx.always_cast(args.input("running_mean")?, DataType::Float)?;
    let var = cx.always_cast(args.input("running_var")?, DataType::Float)?;
    let axes: &[i64] = if rank > 4 { &[0, 2, 3, 4] } else { &[0, 2, 3] };
    let within: Vec<i64> = (1..super::cx::signed(axes.len())).collect();
    let drop = [("keep_dims", Attr::Bool(false))];
    if wanted(1) {
        let eps = cx.always_cast(Literal::Float(eps), DataType::Float)?;
        let power = cx.always_cast(Literal::Float(-0.5), DataType::Float)?;
        let deviation = cx.op("Add", vec![var.into(), eps.into()], &[])?;
        let deviation = cx.op("Pow", vec![deviation.into(), power.into()], &[])?;
        let (mean, deviation) = (cx.unsqueeze(mean, &within)?, cx.unsqueeze(deviation, &within)?);
        let centred = cx.op("Sub", vec![x.into(), mean.into()], &[])?;
        let normal = cx.op("Mul", vec![centred.into(), deviation.into()], &[])?;
        let product = cx.op("Mul", vec![dy.into(), normal.into()], &[])?;
        let sum = cx.op("ReduceSum", vec![product.into(), ints(axes)], &drop)?;
        let dtype = cx.result_type(1)?;
        scale = cx.always_cast(sum, dtype)?;
    }
    if wanted(2) {
        let sum = cx.op("ReduceSum", vec![dy.into(), ints(axes)], &drop)?;
        let dtype = cx.result_type(2)?;
        offset = cx.always_cast(sum, dtype)?;
    }
    Ok((made, scale, offset))
}

fn two(made: &[TensorId]) -> Result<[TensorId; 2], Refusal> {
    made.try_into().map_err(|_| Refusal("two results were expected".into()))
}

fn four(cx: &Cx, x: TensorId) -> Result<(), Refusal> {
    match cx.rank(x)? {
        4 => Ok(()),
        rank => Err(Refusal(format!("{rank} dimensions are not supported, only four"))),
    }
}

fn elemt(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input weight bias mean invstd eps")?;
    let x = args.tensor("input")?;
    four(cx, x)?;
    let eps = cx.float(5, "eps", 1e-5)?;
    let deviation = args.input("invstd")?;
    let square = cx.op("Mul", vec![deviation.clone(), deviation], &[])?;
    let var = cx.op("Div", vec![Literal::Float(1.0).into(), square.into()], &[])?;
    let var = cx.op("Sub", vec![var.into(), Literal::Float(eps).into()], &[])?;
    let inputs = vec![x.into(), args.input("weight")?, args.input("bias")?, args.input("mean")?, var.into()];
    let attrs = [("epsilon", Attr::Float(eps))];
    let made = if cx.b.arch35 {
        let more = [("momentum", Attr::Float(0.1)), ("is_training", Attr::Bool(false))];
        let made = cx.b.many("BatchNormV3", inputs, &[attrs.as_slice(), &more].concat(), None)?;
        made.first().copied().ok_or_else(|| Refusal("a result was expected".into()))?
    } else {
        cx.op("BNInfer", inputs, &attrs)?
    };
    cx.formats(made, &[0, 1, 2, 3, 4], &[0], "NCHW");
    Ok(made.into())
}

fn backward_elemt(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_out input mean invstd weight sum_dy sum_dy_xmu count")?;
    let (grad, x, count) = (args.tensor("grad_out")?, args.tensor("input")?, args.tensor("count")?);
    four(cx, grad)?;
    let axes: Vec<i64> = (0..super::cx::signed(cx.rank(count)?)).collect();
    let divisor = cx.op("ReduceSum", vec![count.into(), ints(&axes)], &[("keep_dims", Attr::Bool(false))])?;
    let mean_dy = cx.op("RealDiv", vec![args.input("sum_dy")?, divisor.into()], &[])?;
    let mean_dy_xmu = cx.op("RealDiv", vec![args.input("sum_dy_xmu")?, divisor.into()], &[])?;
    let sizes = cx.shape(x)?;
    let mut inputs = vec![In::Tensor(grad), x.into()];
    let vectors = [args.tensor("mean")?, args.tensor("invstd")?, args.tensor("weight")?, mean_dy, mean_dy_xmu];
    for vector in vectors {
        let wide = cx.unsqueeze(vector, &[0])?;
        let wide = cx.unsqueeze(wide, &[2, 3])?;
        inputs.push(cx.op("BroadcastTo", vec![wide.into(), sizes.into()], &[])?.into());
    }
    let made = cx.op("SyncBatchNormBackwardElemt", inputs, &[])?;
    cx.formats(made, &[0, 1, 2, 3, 4, 5, 6], &[0], "NCHW");
    Ok(made.into())
}

fn backward_reduce(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_out input mean invstd weight input_g weight_g bias_g")?;
    let (grad, x) = (args.tensor("grad_out")?, args.tensor("input")?);
    four(cx, grad)?;
    if !(args.flag("input_g")? && args.flag("weight_g")? && args.flag("bias_g")?) {
        return Err(Refusal("only all three gradients at once are supported".into()));
    }
    let rank = super::cx::signed(cx.rank(x)?);
    let axes = ints(&(0..rank).filter(|a| *a != 1).collect::<Vec<_>>());
    let product = cx.op("Mul", vec![grad.into(), x.into()], &[])?;
    let drop = [("keep_dims", Attr::Bool(false))];
    let products = cx.op("ReduceSum", vec![product.into(), axes.clone()], &drop)?;
    let sums = cx.op("ReduceSum", vec![grad.into(), axes], &drop)?;
    let inputs = vec![sums.into(), products.into(), args.input("mean")?, args.input("invstd")?];
    let [xmu, weight] = two(&cx.b.many("SyncBatchNormBackwardReduce", inputs, &[], None)?)?;
    cx.formats(xmu, &[0, 1, 2, 3], &[0, 1], "NCHW");
    Ok(list(&[sums, xmu, weight, sums]))
}

fn gather_stats(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self sum square_sum running_mean running_var momentum eps counts")?;
    four(cx, args.tensor("self")?)?;
    let counts = cx.always_cast(args.input("counts")?, DataType::Int32)?;
    let attrs =
        [("momentum", Attr::Float(cx.float(5, "momentum", 0.1)?)), ("eps", Attr::Float(cx.float(6, "eps", 1e-5)?))];
    let inputs = vec![
        args.input("sum")?,
        args.input("square_sum")?,
        counts.into(),
        args.input("running_mean")?,
        args.input("running_var")?,
    ];
    let made = cx.b.many("SyncBatchNormGatherStats", inputs, &attrs, None)?;
    let [mean, deviation, ..] = made.as_slice() else { return Err(Refusal("two results were expected".into())) };
    cx.formats(*mean, &[0, 1, 2, 3, 4], &[0, 1, 2, 3], "NCHW");
    Ok(list(&[*mean, *deviation]))
}
