//! Losses and their gradients.

use super::args::Args;
use super::cx::Cx;
use super::{Entry, Made, Rule, direct};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.mse_loss.default", By(mse_loss)),
    ("aten.mse_loss_backward.default", By(mse_loss_backward)),
    ("aten.nll_loss_backward.default", By(nll_loss_backward)),
    ("aten.nll_loss_forward.default", By(nll_loss)),
];

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
