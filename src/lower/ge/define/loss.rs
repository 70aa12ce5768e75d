//! Losses and their gradients.

use super::{Call, Made, Table, Undefined, one, undefined};
use crate::graph::{Arg, NodeId, View};

pub(super) const TABLE: Table =
    &[("MseLoss", mse), ("MseLossGrad", mse_gradient), ("NLLLoss", likelihood), ("NLLLossGrad", likelihood_gradient)];

/// PyTorch's number of a reduction.
fn reduction(c: &Call<'_, '_>) -> Result<Arg, Undefined> {
    Ok(Arg::Int(match c.text("reduction")?.as_str() {
        "none" => 0,
        "mean" => 1,
        "sum" => 2,
        other => return undefined(format!("reduction {other}")),
    }))
}

fn mse(c: &mut Call<'_, '_>) -> Made {
    let args = vec![Arg::Node(c.t("predict")?), Arg::Node(c.t("label")?), reduction(c)?];
    one(c.b.call("aten.mse_loss.default", args)?)
}

fn mse_gradient(c: &mut Call<'_, '_>) -> Made {
    let (predict, label, grad) = (c.t("predict")?, c.t("label")?, c.t("dout")?);
    let args = vec![Arg::Node(grad), Arg::Node(predict), Arg::Node(label), reduction(c)?];
    one(c.b.call("aten.mse_loss_backward.default", args)?)
}

/// Classes, which GE takes as 32 bits: none is beyond them that is looked up, and none that is left out, where that class is not.
fn classes(c: &mut Call<'_, '_>) -> Result<NodeId, Undefined> {
    let ignored = c.int("ignore_index")?;
    c.only(i32::try_from(ignored).is_ok(), "a class beyond 32 bits that is left out")?;
    let target = c.t("target")?;
    Ok(c.b.wide_places(target))
}

fn likelihood(c: &mut Call<'_, '_>) -> Made {
    let (x, target, weight) = (c.t("x")?, classes(c)?, c.maybe("weight")?);
    let args = vec![Arg::Node(x), Arg::Node(target), weight, reduction(c)?, Arg::Int(c.int("ignore_index")?)];
    let both = c.b.call("aten.nll_loss_forward.default", args)?;
    Ok(c.b.items(both, 2)?.into_iter().map(|n| Some(n.into())).collect())
}

/// Weights that are all one are none.
fn likelihood_gradient(c: &mut Call<'_, '_>) -> Made {
    let (x, grad, target) = (c.t("x")?, c.t("y_grad")?, classes(c)?);
    let (weight, total) = (c.t("weight")?, c.t("total_weight")?);
    let ones = match c.b.graph.args(weight) {
        [_, Arg::Int(1)] => true,
        #[allow(clippy::float_cmp)] // 1 is exact.
        [_, Arg::Float(v)] => *v == 1.0,
        _ => false,
    };
    let weight = if c.b.graph.target(weight) == "aten.full.default" && ones { Arg::None } else { Arg::Node(weight) };
    let ignored = Arg::Int(c.int("ignore_index")?);
    let args = vec![Arg::Node(grad), Arg::Node(x), Arg::Node(target), weight, reduction(c)?, ignored, Arg::Node(total)];
    one(c.b.call("aten.nll_loss_backward.default", args)?)
}
