//! Group normalization and its gradient.

use super::args::Args;
use super::cx::{Cx, int, ints, list};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::value::{TensorId, Value};
use crate::sym::Dim;

use Rule::By;

pub(super) const TABLE: &[Entry] =
    &[("aten.native_group_norm.default", By(group_norm)), ("aten.native_group_norm_backward.default", By(backward))];

fn group_norm(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input weight bias N C HxW group eps")?;
    let (group, eps) = (args.int("group")?.unwrap_or(1), cx.float(7, "eps", 1e-5)?);
    let dtype = cx.result_type(0)?;
    let mut inputs = vec![args.input("input")?];
    for (name, value) in [("weight", 1), ("bias", 0)] {
        inputs.push(match args.optional(name) {
            Some(t) => t.into(),
            None => {
                let channels = args.int("C")?.unwrap_or(0);
                let value = cx.constant(Literal::Int(value), dtype)?;
                cx.op("Fill", vec![ints(&[channels]), value.into()], &[])?.into()
            }
        });
    }
    let kind = if cx.b.arch35 { "GroupNormV2" } else { "GroupNorm" };
    let attrs = [("num_groups", Attr::Int(group)), ("eps", Attr::Float(eps)), ("is_training", Attr::Bool(true))];
    let made = cx.b.many(kind, inputs, &attrs, None)?;
    let [y, mean, spread] = made.as_slice() else { return Err(Refusal("three results were expected".into())) };
    cx.formats(*y, &[0, 1, 2], &[0, 1, 2], "NCHW");
    if cx.b.arch35 {
        return Ok(list(&made));
    }
    let eps = cx.constant(Literal::Float(eps), dtype)?;
    let variance = cx.op("Add", vec![(*spread).into(), eps.into()], &[])?;
    let rstd = cx.op("Rsqrt", vec![variance.into()], &[])?;
    Ok(list(&[*y, *mean, rstd]))
}

fn reshape(cx: &mut Cx, x: impl Into<In>, sizes: TensorId) -> Result<TensorId, Refusal> {
    cx.op("Reshape", vec![x.into(), sizes.into()], &[])
}

fn mask(args: &Args) -> Result<Vec<bool>, Refusal> {
    match args.get("output_mask").literal() {
        Some(Literal::Bools(mask)) if mask.len() == 3 => Ok(mask),
        _ => Err(Refusal("argument output_mask is no fixed list of three".into())),
    }
}

fn backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_out input mean rstd weight N C HxW group output_mask")?;
    if cx.b.arch35 {
        return backward_whole(cx, &args);
    }
    let (n, c, x) = (args.input("N")?, args.input("C")?, args.tensor("input")?);
    let group = int(args.int("group")?.unwrap_or(1));
    let mut operands = [args.tensor("grad_out")?, x];
    if cx.rank(x)? != 3 {
        let three = cx.pack(vec![n.clone(), c.clone(), args.input("HxW")?])?;
        operands = [reshape(cx, operands[0], three)?, reshape(cx, operands[1], three)?];
    }
    let [dy, flat] = operands;
    let scaled = match args.optional("weight") {
        None => dy,
        Some(weight) => {
            let row = cx.pack(vec![int(1), c.clone(), int(1)])?;
            let weight = reshape(cx, weight, row)?;
            cx.op("Mul", vec![dy.into(), weight.into()], &[])?
        }
    };
    let made = through_batch_norm(cx, &args, [scaled, flat], n.clone(), group.clone())?;
    let made = cx.shape(x).and_then(|shape| reshape(cx, made, shape))?;
    of_parameters(cx, &args, made, [dy, flat], [n, c, group])
}

/// The gradient of the operand is that of a batch normalization whose channels are the groups of all samples.
fn through_batch_norm(
    cx: &mut Cx,
    args: &Args,
    operands: [TensorId; 2],
    n: In,
    group: In,
) -> Result<TensorId, Refusal> {
    let epsilon = [("epsilon", Attr::Float(1e-5))];
    let rest = if matches!(args.get("N"), Value::Int(0)) { 1 } else { -1 };
    let dtype = cx.dtype(args.tensor("input")?);
    let groups = cx.op("Mul", vec![n, group], &[])?;
    let wide = cx.pack(vec![int(1), groups.into(), int(rest)])?;
    let vector = cx.pack(vec![groups.into()])?;
    let [dy, x] = operands;
    let (x, dy) = (reshape(cx, x, wide)?, reshape(cx, dy, wide)?);
    let mean = reshape(cx, args.tensor("mean")?, vector)?;
    let rstd = args.tensor("rstd")?;
    let square = cx.op("Mul", vec![rstd.into(), rstd.into()], &[])?;
    let variance = cx.op("Reciprocal", vec![square.into()], &[])?;
    let variance = cx.op("Sub", vec![variance.into(), Literal::Float(1e-5).into()], &[])?;
    let variance = reshape(cx, variance, vector)?;
    let one = cx.constant(Literal::Int(1), dtype)?;
    let ones = cx.op("Fill", vec![vector.into(), one.into()], &[])?;
    let (x, dy) = (cx.unsqueeze(x, &[3])?, cx.unsqueeze(dy, &[3])?);
    let inputs = [dy, x, mean, variance].map(In::Tensor).to_vec();
    let update = cx.b.many("BNTrainingUpdateGrad", inputs, &epsilon, None)?;
    let [scale, offset] = update.as_slice() else { return Err(Refusal("two results were expected".into())) };
    cx.formats(*scale, &[0, 1, 2, 3], &[0, 1], "NCHW");
    let inputs = [dy, x, *scale, *offset, ones, mean, variance].map(In::Tensor).to_vec();
    let made = cx.op("BNTrainingReduceGrad", inputs, &epsilon)?;
    cx.formats(made, &[0, 1, 2, 3, 4, 5, 6], &[0], "NCHW");
    cx.squeeze(made, &[3])
}

/// The gradients of weight and bias, as far as they are wanted.
fn of_parameters(cx: &mut Cx, args: &Args, dx: TensorId, operands: [TensorId; 2], sizes: [In; 3]) -> Made {
    let [dy, flat] = operands;
    let [n, c, group] = sizes;
    let mask = mask(args)?;
    let wanted = |place: usize| mask.get(place) == Some(&true);
    let (mean, rstd) = (args.tensor("mean")?, args.tensor("rstd")?);
    let mut results = [Value::Tensor(dx), Value::None, Value::None];
    if cx.sizes(args.tensor("input")?)?.contains(&Dim::Fixed(0)) {
        for (place, like) in [(1, mean), (2, rstd)] {
            let (wanted, dtype, channels) = (wanted(place), cx.dtype(like), args.int("C")?.unwrap_or(0));
            if let Some(result) = results.get_mut(place).filter(|_| wanted) {
                *result = cx.filled(ints(&[channels]), 0.0, dtype)?.into();
            }
        }
        return Ok(Value::List(results.into()));
    }
    let drop = [("keep_dims", Attr::Bool(false))];
    if wanted(1) {
        let [mut mean, mut rstd] = [mean, rstd];
        if cx.rank(mean)? == 1 {
            let pairs = cx.pack(vec![n.clone(), group.clone()])?;
            (mean, rstd) = (reshape(cx, mean, pairs)?, reshape(cx, rstd, pairs)?);
        }
        (mean, rstd) = (cx.unsqueeze(mean, &[2])?, cx.unsqueeze(rstd, &[2])?);
        let share = cx.op("RealDiv", vec![c.clone(), group.clone()], &[])?;
        let each = cx.pack(vec![n.clone(), group, share.into()])?;
        let row = cx.pack(vec![n, c, int(1)])?;
        let mut spread = |t: TensorId| {
            let wide = cx.op("BroadcastTo", vec![t.into(), each.into()], &[])?;
            reshape(cx, wide, row)
        };
        let (mean, rstd) = (spread(mean)?, spread(rstd)?);
        let centred = cx.op("Sub", vec![flat.into(), mean.into()], &[])?;
        let normal = cx.op("Mul", vec![centred.into(), rstd.into()], &[])?;
        let product = cx.op("Mul", vec![dy.into(), normal.into()], &[])?;
        results[1] = cx.op("ReduceSum", vec![product.into(), ints(&[0, 2])], &drop)?.into();
    }
    if wanted(2) {
        results[2] = cx.op("ReduceSum", vec![dy.into(), ints(&[0, 2])], &drop)?.into();
    }
    Ok(Value::List(results.into()))
}

/// The gradient as devices from Ascend 950 on have it.
fn backward_whole(cx: &mut Cx, args: &Args) -> Made {
    let (n, c, group) = (args.input("N")?, args.input("C")?, args.int("group")?.unwrap_or(1));
    let three = cx.pack(vec![n.clone(), c.clone(), args.input("HxW")?])?;
    let pairs = cx.pack(vec![n, int(group)])?;
    let vector = cx.pack(vec![c])?;
    let x = args.tensor("input")?;
    let dy = reshape(cx, args.tensor("grad_out")?, three)?;
    let flat = reshape(cx, x, three)?;
    let (mean, rstd) = (reshape(cx, args.tensor("mean")?, pairs)?, reshape(cx, args.tensor("rstd")?, pairs)?);
    let weight = match args.optional("weight") {
        Some(weight) => weight,
        None => {
            let one = cx.constant(Literal::Int(1), cx.dtype(x))?;
            cx.op("Fill", vec![vector.into(), one.into()], &[])?
        }
    };
    let weight = reshape(cx, weight, vector)?;
    let [dx, dgamma, dbeta] = <[bool; 3]>::try_from(mask(args)?).unwrap_or([true; 3]);
    let attrs = [
        ("num_groups", Attr::Int(group)),
        ("data_format", Attr::Str("NCHW".into())),
        ("dx_is_require", Attr::Bool(dx)),
        ("dgamma_is_require", Attr::Bool(dgamma)),
        ("dbeta_is_require", Attr::Bool(dbeta)),
    ];
    let inputs = [dy, mean, rstd, flat, weight].map(In::Tensor).to_vec();
    let made = cx.b.many("GroupNormGrad", inputs, &attrs, None)?;
    let [dx, dgamma, dbeta] = made.as_slice() else { return Err(Refusal("three results were expected".into())) };
    cx.formats(*dx, &[0, 1, 2, 3, 4], &[0, 1, 2], "NCHW");
    let shape = cx.shape(x)?;
    let dx = reshape(cx, *dx, shape)?;
    Ok(list(&[dx, *dgamma, *dbeta]))
}
