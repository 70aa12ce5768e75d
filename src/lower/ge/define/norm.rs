//! Normalisations and softmaxes.

use super::build::signed;
use super::{Call, Made, Table, Undefined, one, undefined};
use crate::graph::{Arg, Dtype, NodeId, View};

pub(super) const TABLE: Table = &[
    ("SoftmaxV2", softmax),
    ("SoftmaxGrad", softmax_grad),
    ("LogSoftmaxV2", log_softmax),
    ("LogSoftmaxGrad", log_softmax_grad),
    ("LayerNormV4", layer_norm),
    ("BNInfer", bn_infer),
    ("GroupNormV2", |c| group_norm(c, false)),
    ("GroupNorm", |c| group_norm(c, true)),
    ("GroupNormSilu", group_norm_silu),
];

/// The one axis of an attribute that is a list.
fn only_axis(c: &Call<'_, '_>, name: &str) -> Result<i64, super::Undefined> {
    match c.int_list(name)?.as_slice() {
        [one] => Ok(*one),
        _ => undefined("a softmax over several axes"),
    }
}

fn softmax(c: &mut Call<'_, '_>) -> Made {
    let mut x = c.t("x")?;
    if c.flag("half_to_float")? {
        c.only(c.b.dtype(x)? == Dtype::F16, "what is no half precision, widened")?;
        x = c.b.call_with("aten._to_copy.default", vec![Arg::Node(x)], vec![("dtype", Arg::Dtype(Dtype::F32))])?;
    }
    let args = vec![Arg::Node(x), Arg::Int(only_axis(c, "axes")?), Arg::Bool(false)];
    one(c.b.call("aten._softmax.default", args)?)
}

fn softmax_grad(c: &mut Call<'_, '_>) -> Made {
    let (y, grad) = (c.t("softmax")?, c.t("grad_softmax")?);
    let dtype = Arg::Dtype(c.b.dtype(y)?);
    let args = vec![Arg::Node(grad), Arg::Node(y), Arg::Int(only_axis(c, "axes")?), dtype];
    one(c.b.call("aten._softmax_backward_data.default", args)?)
}

fn log_softmax(c: &mut Call<'_, '_>) -> Made {
    let args = vec![Arg::Node(c.t("logits")?), Arg::Int(only_axis(c, "axes")?), Arg::Bool(false)];
    one(c.b.call("aten._log_softmax.default", args)?)
}

/// `x` is the result of the logarithm.
fn log_softmax_grad(c: &mut Call<'_, '_>) -> Made {
    let (grad, y) = (c.t("grad")?, c.t("x")?);
    let dtype = Arg::Dtype(c.b.dtype(y)?);
    let args = vec![Arg::Node(grad), Arg::Node(y), Arg::Int(only_axis(c, "axis")?), dtype];
    one(c.b.call("aten._log_softmax_backward_data.default", args)?)
}

fn layer_norm(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let sizes = c.sizes("normalized_shape")?;
    let (gamma, beta, eps) = (c.maybe("gamma")?, c.maybe("beta")?, c.float("epsilon")?);
    let args = vec![Arg::Node(x), Arg::List(sizes.into()), gamma, beta, Arg::Float(eps)];
    let all = c.b.call("aten.native_layer_norm.default", args)?;
    Ok(c.b.items(all, 3)?.into_iter().map(|n| Some(n.into())).collect())
}

/// By statistics that are given. The momentum, of which nothing depends here, is the one that the graph as lowered names.
fn bn_infer(c: &mut Call<'_, '_>) -> Made {
    let mut args = Vec::new();
    for slot in ["x", "scale", "offset", "mean", "variance"] {
        args.push(Arg::Node(c.t(slot)?));
    }
    // What is normalized by channel is so without dimensions of one place behind: they are put on afterwards.
    let mut filled = 0_usize;
    if let Some(Arg::Node(x)) = args.first_mut() {
        let (mut at, mut depth) = (*x, 0_usize);
        while let Some(inner) = last_unsqueezed(c, at) {
            (at, depth) = (inner, depth.saturating_add(1));
            if c.b.rank(at).is_ok_and(|rank| c.b.norms(rank)) {
                (*x, filled) = (at, depth);
            }
        }
    }
    // So is it in what dimensions behind the channels were made one.
    let folded = match args.first() {
        Some(Arg::Node(x)) => unfolded(c, *x).map(|inner| (*x, inner)),
        _ => None,
    };
    if let (Some((_, inner)), Some(x)) = (folded, args.first_mut()) {
        *x = Arg::Node(inner);
    }
    let mut out = bn_call(c, args)?;
    if let Some((x, _)) = folded {
        let sizes = c.b.sizes(x)?;
        out = c.b.call("aten.reshape.default", vec![Arg::Node(out), Arg::List(sizes.into())])?;
    }
    for _ in 0..filled {
        out = c.b.call("aten.unsqueeze.default", vec![Arg::Node(out), Arg::Int(-1)])?;
    }
    one(out)
}

/// What a tensor of three dimensions and more is without its last one, which was put on it.
fn last_unsqueezed(c: &Call<'_, '_>, node: NodeId) -> Option<NodeId> {
    let [Arg::Node(inner), Arg::Int(at)] = c.b.graph.args(node) else { return None };
    let rank = c.b.rank(*inner).ok()?;
    let last = *at == -1 || *at == signed(rank);
    (c.b.graph.target(node) == "aten.unsqueeze.default" && last && rank >= 2).then_some(*inner)
}

/// What a tensor was before it was given other sizes, those of images and channels kept.
fn unfolded(c: &Call<'_, '_>, node: NodeId) -> Option<NodeId> {
    let [Arg::Node(inner), _] = c.b.graph.args(node) else { return None };
    let (own, before) = (c.b.tensor(node).ok()?, c.b.tensor(*inner).ok()?);
    let kept = own.sizes.iter().take(2).eq(before.sizes.iter().take(2)) && before.rank() > own.rank() && own.rank() > 2;
    (c.b.graph.target(node) == "aten.reshape.default" && kept && c.b.norms(before.rank())).then_some(*inner)
}

fn bn_call(c: &mut Call<'_, '_>, mut args: Vec<Arg>) -> Result<NodeId, Undefined> {
    let plain = "aten._native_batch_norm_legit_no_training.default";
    let spelled = c.b.spelled(&[plain, "aten.batch_norm.default"]);
    if spelled != plain {
        let (momentum, eps) = (Arg::Float(c.b.momentum()), Arg::Float(c.float("epsilon")?));
        // Which library computes it does not change what.
        args.extend([Arg::Bool(false), momentum, eps, c.b.library()]);
        return c.b.call(spelled, args);
    }
    args.extend([Arg::Float(c.b.momentum()), Arg::Float(c.float("epsilon")?)]);
    let all = c.b.call("aten._native_batch_norm_legit_no_training.default", args)?;
    c.b.item(all, 0)
}

/// The second form gives the variance where the first gives its reciprocal root.
fn group_norm(c: &mut Call<'_, '_>, variance: bool) -> Made {
    c.only(c.flag("is_training")?, "statistics that are given")?;
    // The layout of a tensor that is plain is not looked at.
    c.only(matches!(&*c.text("data_format")?, "NCHW" | "NHWC"), "a layout that is none")?;
    let (x, gamma, beta) = (c.t("x")?, c.t("gamma")?, c.t("beta")?);
    let (groups, eps) = (c.int("num_groups")?, c.float("eps")?);
    let sizes = c.b.sizes(x)?;
    let [n, channels, inner @ ..] = sizes.as_slice() else { return undefined("a tensor without channels") };
    let mut area = Arg::Int(1);
    for size in inner {
        area = match (&area, size) {
            (Arg::Int(a), Arg::Int(b)) => Arg::Int(a.saturating_mul(*b)),
            (Arg::Int(1), other) => other.clone(),
            (a, b) => Arg::Node(c.b.call("_operator.mul", vec![a.clone(), b.clone()])?),
        };
    }
    let args = vec![
        Arg::Node(x),
        Arg::Node(gamma),
        Arg::Node(beta),
        n.clone(),
        channels.clone(),
        area,
        Arg::Int(groups),
        Arg::Float(eps),
    ];
    let all = c.b.call("aten.native_group_norm.default", args)?;
    let [y, mean, rstd] = c.b.items(all, 3)?.try_into().unwrap_or([x, x, x]);
    if !variance {
        return Ok(vec![Some(y.into()), Some(mean.into()), Some(rstd.into())]);
    }
    let flat = Arg::List(vec![n.clone(), Arg::Int(groups), Arg::Int(-1)].into());
    let rows = c.b.call("aten.reshape.default", vec![Arg::Node(x), flat])?;
    let named = vec![("correction", Arg::Int(0))];
    let variance = c.b.call_with("aten.var.correction", vec![Arg::Node(rows), Arg::list([2_i64])], named)?;
    Ok(vec![Some(y.into()), Some(mean.into()), Some(variance.into())])
}

fn group_norm_silu(c: &mut Call<'_, '_>) -> Made {
    let (x, gamma, beta) = (c.t("x")?, c.maybe("gamma")?, c.maybe("beta")?);
    let args = vec![Arg::Node(x), gamma, beta, Arg::Int(c.int("num_groups")?), Arg::Float(c.float("eps")?)];
    let all = c.b.call("npu.npu_group_norm_silu.default", args)?;
    Ok(c.b.items(all, 3)?.into_iter().map(|n| Some(n.into())).collect())
}
