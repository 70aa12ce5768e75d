//! Activations and losses, and their gradients.

use super::args::Args;
use super::cx::{Cx, list};
use super::direct;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    ("aten.elu.default", Direct("self alpha=1 scale=1 input_scale=1", "Elu(self; *)")),
    ("aten.elu_backward.default", By(elu_backward)),
    ("aten.gelu_backward.default", Direct("grad_output self approximate", "GeluGrad(grad_output, self, grad_output)")),
    ("aten.glu.default", By(glu)),
    ("aten.glu_backward.default", Direct("grad_output self dim", "GLUGrad(grad_output, self; dim)")),
    ("aten.hardsigmoid_backward.default", Direct("grad_output self", "HardSigmoidGrad(grad_output, self)")),
    ("aten.hardswish_backward.default", Direct("grad_output self", "HardSwishGrad(grad_output, self)")),
    (
        "aten.hardtanh_backward.default",
        Direct("grad_output self min_val max_val", "HardtanhGrad(self, grad_output; min_val, max_val)"),
    ),
    ("aten.leaky_relu.default", Direct("self negative_slope=0.01", "LeakyRelu(self; negative_slope)")),
    (
        "aten.leaky_relu_backward.default",
        Direct("grad_output self negative_slope self_is_result", "LeakyReluGrad(grad_output, self; negative_slope)"),
    ),
    ("aten.log_sigmoid_backward.default", Direct("grad_output self buffer", "LogSigmoidGrad(grad_output, self)")),
    (
        "aten.log_sigmoid_backward.grad_input",
        Direct("grad_output self buffer grad_input", "LogSigmoidGrad(grad_output, self)"),
    ),
    ("aten.log_sigmoid_forward.default", By(log_sigmoid)),
    ("aten.log_sigmoid_forward.output", By(log_sigmoid)),
    ("aten.mish.out", Direct("self out", "Mish(self)")),
    ("aten.mse_loss.default", By(mse_loss)),
    ("aten.mse_loss_backward.default", By(mse_loss_backward)),
    ("aten.nll_loss_backward.default", By(nll_loss_backward)),
    ("aten.nll_loss_forward.default", By(nll_loss)),
    ("aten._prelu_kernel.default", Direct("self weight", "PRelu(self, weight)")),
    ("aten._prelu_kernel_backward.default", Direct("grad_output self weight", "PReluGrad(grad_output, self, weight)")),
    ("aten.prelu.default", Direct("self weight", "PRelu(self, weight)")),
    ("aten.sigmoid_backward.default", Direct("grad_output output", "SigmoidGrad(output, grad_output)")),
    ("aten.tanh_backward.default", Direct("grad_output output", "TanhGrad(output, grad_output)")),
    ("aten.threshold.default", Direct("self threshold value", "ThresholdV2(self, threshold, value)")),
    ("aten.threshold_backward.default", By(threshold_backward)),
];

fn elu_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output alpha scale input_scale is_result self_or_result")?;
    let negative = match args.get("alpha") {
        Value::Int(i) => i < 0,
        Value::Float(f) => f < 0.0,
        _ => false,
    };
    if args.flag("is_result")? && negative {
        return Err(Refusal("from the result alone, a negative alpha has no gradient".into()));
    }
    direct::make(cx, &args, "EluGradV2(grad_output, self_or_result; *)", &[])
}

fn glu(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim=-1")?;
    if cx.rank(args.tensor("self")?)? == 0 {
        return Err(Refusal("a tensor without dimensions is not supported".into()));
    }
    direct::make(cx, &args, "GLU(self; dim)", &[])
}

fn log_sigmoid(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let output = cx.op("LogSigmoid", vec![x.into()], &[])?;
    let buffer = cx.op("Identity", vec![x.into()], &[])?;
    Ok(list(&[output, buffer]))
}

/// Returns PyTorch's number of a reduction as GE's word.
fn reduction(args: &Args) -> Result<(&'static str, Attr), Refusal> {
    let word = match args.int("reduction")?.unwrap_or(1) {
        0 => "none",
        1 => "mean",
        2 => "sum",
        other => return Err(Refusal(format!("there is no reduction {other}"))),
    };
    Ok(("reduction", Attr::Str(word.into())))
}

/// Casts arguments to a type.
fn promote(cx: &mut Cx, args: &mut Args, names: &[&str], dtype: DataType) -> Result<(), Refusal> {
    for name in names {
        let value = args.get(name);
        let cast = cx.cast(value, dtype)?;
        args.set(name, cast);
    }
    Ok(())
}

fn mse_loss(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "self target reduction=1")?;
    let dtype = cx.out_type()?;
    promote(cx, &mut args, &["self", "target"], dtype)?;
    let reduction = reduction(&args)?;
    direct::make(cx, &args, "MseLoss(self, target)", &[reduction])
}

fn mse_loss_backward(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "grad_output self target reduction")?;
    let dtype = cx.out_type()?;
    promote(cx, &mut args, &["self", "target"], dtype)?;
    let reduction = reduction(&args)?;
    direct::make(cx, &args, "MseLossGrad(self, target, grad_output)", &[reduction])
}

fn nll_loss(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "self target weight reduction ignore_index")?;
    let dtype = cx.result_type(0)?;
    promote(cx, &mut args, &["self"], dtype)?;
    if cx.dtype(args.tensor("target")?) == DataType::Int64 {
        promote(cx, &mut args, &["target"], DataType::Int32)?;
    }
    let reduction = reduction(&args)?;
    direct::make(cx, &args, "NLLLoss(self, target, weight; ignore_index)", &[reduction])
}

fn nll_loss_backward(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "grad_output self target weight reduction ignore_index total_weight")?;
    let dtype = cx.out_type()?;
    if args.get("weight").is_none() {
        let shape = cx.shape(args.tensor("self")?)?;
        let classes = cx.op("GatherV2", vec![shape.into(), super::cx::int(1), super::cx::int(0)], &[])?;
        let one = cx.constant(crate::lower::ge::literal::Literal::Float(1.0), DataType::Float)?;
        let weight = cx.op("Fill", vec![classes.into(), one.into()], &[])?;
        args.set("weight", weight);
    }
    promote(cx, &mut args, &["self", "grad_output", "weight", "total_weight"], dtype)?;
    promote(cx, &mut args, &["target"], DataType::Int32)?;
    let reduction = reduction(&args)?;
    let line = "NLLLossGrad(self, grad_output, target, weight, total_weight; ignore_index)";
    direct::make(cx, &args, line, &[reduction])
}

fn threshold_backward(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (grad, x) = (cx.get(0, "grad_output"), cx.get(1, "self"));
    let (x, grad) = (cx.cast(x, dtype)?, cx.cast(grad, dtype)?);
    let threshold = cx.float(2, "threshold", 0.0)?;
    if threshold == 0.0 {
        return cx.ge("ReluGrad", vec![grad.into(), x.into()], &[]);
    }
    cx.ge("ThresholdGradV2D", vec![grad.into(), x.into()], &[("threshold", Attr::Float(threshold))])
}
