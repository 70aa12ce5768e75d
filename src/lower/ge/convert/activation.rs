//! Activations and their gradients.

use super::args::Args;
use super::cx::{Cx, list};
use super::{Entry, Made, Rule, direct};
use crate::lower::ge::builder::{Attr, Refusal};
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

/// The gradient's operator needs no buffer; whoever else reads it finds what PyTorch's CPU keeps there.
fn log_sigmoid(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let output = cx.op("LogSigmoid", vec![x.into()], &[])?;
    let buffer = match cx.result_is_read(1, "aten.log_sigmoid_backward.default") {
        false => cx.op("Identity", vec![x.into()], &[])?,
        true => {
            let size = cx.op("Abs", vec![x.into()], &[])?;
            let below = cx.op("Neg", vec![size.into()], &[])?;
            cx.op("Exp", vec![below.into()], &[])?
        }
    };
    Ok(list(&[output, buffer]))
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
