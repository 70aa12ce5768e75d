//! Normalisations. f16 and bf16 are computed in f32 and rounded once.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, renorm, &["aten.renorm.default"]),
    (Exact, |b| by_kernel(b, "_softmax"), &["aten.softmax.int"]),
    (Exact, |b| by_kernel(b, "_log_softmax"), &["aten.log_softmax.int"]),
    (Real, softmax, &["aten._softmax.default"]),
    (Real, log_softmax, &["aten._log_softmax.default"]),
    (Exact, safe_softmax, &["aten._safe_softmax.default"]),
    (Exact, layer_norm, &["aten.layer_norm.default"]),
    (Real, native_layer_norm, &["aten.native_layer_norm.default"]),
    (Exact, rms_norm, &["aten.rms_norm.default", "aten._fused_rms_norm.default"]),
    (Exact, group_norm, &["aten.group_norm.default"]),
    (Real, native_group_norm, &["aten.native_group_norm.default"]),
    (Exact, batch_norm, &["aten.batch_norm.default"]),
    (Exact, instance_norm, &["aten.instance_norm.default"]),
    (
        Real,
        batch_norm_kernel,
        &[
            "aten.native_batch_norm.default",
            "aten._native_batch_norm_legit.default",
            "aten._native_batch_norm_legit.no_stats",
        ],
    ),
    (
        Real,
        batch_norm_inference,
        &["aten._native_batch_norm_legit_no_training.default", "aten._batch_norm_no_update.default"],
    ),
    (Real, batch_norm_functional, &["aten._native_batch_norm_legit_functional.default"]),
    (Real, weight_norm, &["aten._weight_norm.default"]),
    (Real, norm_except_dim, &["aten.norm_except_dim.default"]),
];

/// With `dtype` the input is converted first.
fn by_kernel(b: &Builder<'_>, target: &str) -> Made {
    let x = b.t(0)?;
    let x = b.dtype(2)?.map_or(x, |d| x.to(d));
    done![b.op(target, args![x, b.arg(1), false])]
}

/// The input less its greatest along the dimension, widened; a scalar counts as of one dimension.
fn shifted<'b>(b: &'b Builder<'_>) -> Result<(T<'b>, i64, Dtype), CallFault> {
    let x = b.t(0)?;
    let axis = b.axis(1, x.rank())?;
    b.only(!b.flag(2)? && x.sizes().iter().all(|s| s.fixed() != Some(0)), "half_to_float or an empty input")?;
    let wide = x.wide();
    Ok((wide - wide.amax(&[axis], true), axis, x.dtype()))
}

fn softmax(b: &Builder<'_>) -> Made {
    let (x, axis, dtype) = shifted(b)?;
    let e = x.op("exp");
    done![(e / e.sum(&[axis], true)).to(dtype)]
}

fn log_softmax(b: &Builder<'_>) -> Made {
    let (x, axis, dtype) = shifted(b)?;
    b.only(dtype == wide(dtype), "f16 or bf16, which its kernel rounds in between")?;
    done![(x - x.op("exp").sum(&[axis], true).op("log")).to(dtype)]
}

/// Rows of nothing but -inf give zeros.
fn safe_softmax(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let y = b.op("softmax.int", args![x, b.arg(1), b.arg(2)]);
    let masked = x.call("eq", args![f64::NEG_INFINITY]).call("all.dim", args![b.arg(1), true]);
    done![b.choose(masked, y.op("zeros_like"), y)]
}

fn layer_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    done![b.pick("native_layer_norm", args![x, b.arg(1), b.arg(2), b.arg(3), b.arg(4)], 0)]
}

fn native_layer_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let count = b.sizes(1).len();
    let (gamma, beta, eps) = (b.opt(2)?, b.opt(3)?, b.float(4)?);
    b.only(x.sizes().iter().all(|s| s.fixed() != Some(0)) && x.dtype().is_float(), "this input")?;
    let dims: Vec<i64> = tail(&range(x.rank()), x.rank().saturating_sub(count));
    let v = x.wide();
    let [var, mean] = b.many("var_mean.correction", args![v, ints(&dims); correction = 0, keepdim = true])?;
    let rstd = (var + eps).op("rsqrt");
    let mut y = (v - mean) * rstd;
    y = gamma.map_or(y, |g| y * g.wide());
    y = beta.map_or(y, |g| y + g.wide());
    let kept = match b.own_type()? {
        crate::graph::ValueType::Many(all) => all.get(1).and_then(|t| t.as_tensor()).map_or(x.dtype(), |t| t.dtype),
        _ => x.dtype(),
    };
    done![y.to(x.dtype()), mean.to(kept), rstd.to(kept)]
}

/// Both names; the second also gives the reciprocal root.
fn rms_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let count = b.sizes(1).len();
    let v = x.wide();
    b.only(x.dtype().is_float(), "this dtype")?;
    let usual = if v.dtype() == Dtype::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let eps = b.opt_float(3)?.unwrap_or(usual);
    let dims: Vec<i64> = tail(&range(x.rank()), x.rank().saturating_sub(count));
    let rstd = (v.pow(2).mean(&dims, true) + eps).op("rsqrt");
    let y = v * rstd;
    let y = b.opt(2)?.map_or(y, |g| y * g).to(x.dtype());
    if b.operator().schema.returns.len() == 2 { done![y, rstd] } else { done![y] }
}

fn group_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (n, c) = (x.size(0), x.size(1));
    let inner = b.size_product(&tail(&x.shape(), 2));
    let x = x.contiguous();
    done![b.pick("native_group_norm", args![x, b.arg(2), b.arg(3), n, c, inner, b.arg(1), b.arg(4)], 0)]
}

fn native_group_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (n, c, groups) = (b.arg(3), b.arg(4), b.arg(6));
    let (gamma, beta, eps) = (b.opt(1)?, b.opt(2)?, b.float(7)?);
    b.only(x.dtype().is_float() && x.sizes().iter().all(|s| s.fixed() != Some(0)), "this input")?;
    let per = b.size_op("floordiv", c.clone(), groups.clone());
    let inner = b.size_op("mul", per, b.arg(5));
    let v = x.wide().reshape(vec![n.clone(), groups.clone(), inner]);
    let [var, mean] = b.many("var_mean.correction", args![v, ints(&[2]); correction = 0, keepdim = true])?;
    let rstd = (var + eps).op("rsqrt");
    let mut y = ((v - mean) * rstd).reshape(x.shape());
    let along =
        |t: T<'_>| -> Vec<Arg> { (0..x.rank()).map(|d| if d == 1 { t.size(0) } else { Arg::Int(1) }).collect() };
    y = gamma.map_or(y, |g| y * g.wide().reshape(along(g)));
    y = beta.map_or(y, |g| y + g.wide().reshape(along(g)));
    let kept = gamma.map_or(x.dtype(), T::dtype);
    let flat = |t: T<'_>| t.reshape(vec![n.clone(), groups.clone()]).to(kept).id();
    done![y.to(x.dtype()), flat(mean), flat(rstd)]
}

fn batch_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() >= 2, "this rank")?;
    let given = args![x, b.arg(1), b.arg(2), b.arg(3), b.arg(4), b.arg(5), b.arg(6), b.arg(7)];
    done![b.pick("native_batch_norm", given, 0)]
}

fn instance_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(b.is_none(3) && b.is_none(4) && b.flag(5)?, "running statistics")?;
    let (n, c) = (x.size(0), x.size(1));
    let repeated = |t: Option<T<'_>>| t.map(|t| t.call("repeat", args![vec![n.clone()]]).id());
    let mut sizes = vec![Arg::Int(1), b.size_op("mul", n.clone(), c)];
    sizes.extend(tail(&x.shape(), 2));
    let flat = x.contiguous().view(sizes);
    let given =
        args![flat, repeated(b.opt(1)?), repeated(b.opt(2)?), Arg::None, Arg::None, true, b.arg(6), b.arg(7), b.arg(8)];
    done![b.op("batch_norm", given).view(x.shape())]
}

/// Statistics of the batch normalise where it trains and keeps none of its own; running ones where it does not.
fn batch_norm_kernel(b: &Builder<'_>) -> Made {
    let has_stats = b.operator().schema.param_index("running_mean").is_some();
    let (trains, eps) = if has_stats { (b.flag(5)?, 7) } else { (b.flag(3)?, 5) };
    if !trains && has_stats && !b.is_none(3) && !b.is_none(4) {
        let given = args![b.t(0)?, b.arg(1), b.arg(2), b.arg(3), b.arg(4), b.arg(6), b.arg(7)];
        let [y, mean, rstd] = b.many("_native_batch_norm_legit_no_training", given)?;
        return done![y, mean, rstd];
    }
    b.only(trains, "statistics of the batch that are not to be used")?;
    let (x, gamma, beta, eps) = (b.t(0)?, b.opt(1)?, b.opt(2)?, b.float(eps)?);
    b.only(x.rank() >= 2 && x.dtype().is_float() && x.sizes().iter().all(|s| s.fixed() != Some(0)), "this input")?;
    let dims: Vec<i64> = range(x.rank()).into_iter().filter(|d| *d != 1).collect();
    let v = x.wide();
    let [var, mean] = b.many("var_mean.correction", args![v, ints(&dims); correction = 0, keepdim = true])?;
    let rstd = (var + eps).op("rsqrt");
    let along: Vec<Arg> = (0..x.rank()).map(|d| if d == 1 { x.size(1) } else { Arg::Int(1) }).collect();
    let mut y = (v - mean) * rstd;
    y = gamma.map_or(y, |g| y * g.wide().reshape(along.clone()));
    y = beta.map_or(y, |g| y + g.wide().reshape(along.clone()));
    let kept = match b.own_type()? {
        crate::graph::ValueType::Many(all) => all.get(1).and_then(|t| t.as_tensor()).map_or(v.dtype(), |t| t.dtype),
        _ => v.dtype(),
    };
    if has_stats && (b.opt(3)?.is_some() || b.opt(4)?.is_some()) {
        let count = x.count()?.checked_div(x.fixed(1)?).unwrap_or(0);
        update_running(b, [mean, var].map(|t| t.reshape(vec![x.size(1)])), count)?;
    }
    let flat = |t: T<'_>| t.reshape(vec![x.size(1)]).to(kept).id();
    done![y.to(x.dtype()), flat(mean), flat(rstd)]
}

/// With given statistics, which are given back as they were.
fn batch_norm_functional(b: &Builder<'_>) -> Made {
    b.only(!b.flag("training")?, "statistics of the batch")?;
    let given = args![b.t(0)?, b.arg(1), b.arg(2), b.arg(3), b.arg(4), b.arg(6), b.arg(7)];
    let [y, mean, rstd] = b.many("_native_batch_norm_legit_no_training", given)?;
    done![y, mean, rstd, b.t(3)?.op("clone"), b.t(4)?.op("clone")]
}

/// Moves running statistics towards those of the batch; the variance without the bias of its own mean.
#[allow(clippy::cast_precision_loss)] // Sizes are far below 2^53.
fn update_running<'b>(b: &'b Builder<'_>, [mean, var]: [T<'b>; 2], count: i64) -> Result<(), CallFault> {
    let momentum = b.float(6)?;
    let unbiased = count as f64 / (count.saturating_sub(1)) as f64;
    for (place, new) in [(3_usize, mean), (4, var * unbiased)] {
        if let Some(running) = b.opt(place)? {
            b.only(count > 1, "a variance of one value")?;
            let moved = running.wide() * (1.0 - momentum) + new * momentum;
            b.op("copy_", args![running, moved.to(running.dtype())]);
        }
    }
    Ok(())
}

/// Running statistics normalise and stay. The statistics that it gives back are empty.
fn batch_norm_inference(b: &Builder<'_>) -> Made {
    let (x, gamma, beta) = (b.t(0)?, b.opt(1)?, b.opt(2)?);
    let (mean, var, eps) = (b.t(3)?, b.t(4)?, b.float(6)?);
    b.only(b.operator().schema.returns.len() == 3, "reserved memory as a result")?;
    let along: Vec<Arg> = (0..x.rank()).map(|d| if d == 1 { x.size(1) } else { Arg::Int(1) }).collect();
    let shaped = |t: T<'_>| t.wide().reshape(along.clone()).id();
    let column = |t: T<'_>| b.value(shaped(t)).id();
    let scale = (var.wide() + eps).op("sqrt").recip();
    let mut y = (x.wide() - b.value(column(mean))) * b.value(column(scale));
    y = gamma.map_or(y, |g| y * b.value(column(g)));
    y = beta.map_or(y, |g| y + b.value(column(g)));
    let none = || b.op("new_empty", args![mean, ints(&[0])]);
    let kept = |t: T<'_>| -> Arg { t.into() };
    done![y.to(x.dtype()), kept(none()), kept(none())]
}

/// Each slice by its own length.
fn weight_norm(b: &Builder<'_>) -> Made {
    let (v, g) = (b.t(0)?.contiguous(), b.t(1)?.contiguous());
    done![v * (g / v.call("norm_except_dim", args![2, b.arg(2)]))]
}

/// The length of each slice of a dimension, kept broadcast against the whole; of everything where it is -1.
fn norm_except_dim(b: &Builder<'_>) -> Made {
    let (v, order, dim) = (b.t(0)?, b.arg(1), b.int(2)?);
    let last = v.dims().saturating_sub(1);
    if dim == -1 {
        return done![v.call("norm.Scalar", args![order])];
    }
    b.only((0..=last).contains(&dim), "this dimension")?;
    let lengths = |rows: T<'_>, axis: i64| rows.call("norm.ScalarOpt_dim", args![order.clone(), ints(&[axis])]).id();
    let mut sizes = vec![Arg::Int(1); v.rank()];
    if dim == last && last > 0 {
        sizes.pop();
        sizes.push(v.size(last));
        let columns = v.contiguous().view(vec![Arg::Int(-1), v.size(last)]);
        return done![b.value(lengths(columns, 0)).view(sizes)];
    }
    let front = if dim == 0 { v } else { v.transpose(0, dim) };
    if let Some(first) = sizes.first_mut() {
        *first = front.size(0);
    }
    let rows = front.contiguous().view(vec![front.size(0), Arg::Int(-1)]);
    let kept = b.value(lengths(rows, 1)).view(sizes);
    done![if dim == 0 { kept } else { kept.transpose(0, dim) }]
}

/// Each part along a dimension, no longer than `maxnorm`.
fn renorm(b: &Builder<'_>) -> Made {
    let (x, dtype, most) = (b.t(0)?, b.t(0)?.dtype(), b.arg(3));
    b.only(x.rank() > 1 && dtype.is_float(), "another number of dimensions, or dtype")?;
    let along = b.axis(2, x.rank())?;
    let over: Vec<i64> = range(x.rank()).into_iter().filter(|d| *d != along).collect();
    let x = x.wide();
    let length = x.call("linalg_vector_norm", args![b.arg(1), ints(&over), true]);
    let factor = (length + 1e-7).recip() * b.float(3)?;
    let factor = b.choose(length.call("gt", args![most]), factor, 1.0);
    done![(x * factor).to(dtype)]
}
