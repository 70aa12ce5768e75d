//! Losses. `reduction` is 0 for none, 1 for the mean, 2 for the sum.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, l1, &["aten.l1_loss.default"]),
    (Exact, kl_div, &["aten.kl_div.default"]),
    (Exact, nll, &["aten.nll_loss_nd.default"]),
    (Exact, cross_entropy, &["aten.cross_entropy_loss.default"]),
    (Real, mse, &["aten.mse_loss.default"]),
    (Real, smooth_l1, &["aten.smooth_l1_loss.default"]),
    (Real, huber, &["aten.huber_loss.default"]),
    (Real, binary_cross_entropy, &["aten.binary_cross_entropy.default"]),
    (Real, with_logits, &["aten.binary_cross_entropy_with_logits.default"]),
    (Exact, |b| picked(b, "nll_loss_forward"), &["aten.nll_loss.default"]),
    (Exact, |b| picked(b, "nll_loss2d_forward"), &["aten.nll_loss2d.default"]),
    (Real, margin_ranking, &["aten.margin_ranking_loss.default"]),
    (Real, hinge_embedding, &["aten.hinge_embedding_loss.default"]),
    (Real, cosine_embedding, &["aten.cosine_embedding_loss.default"]),
    (Real, triplet_margin, &["aten.triplet_margin_loss.default"]),
    (Real, poisson_nll, &["aten.poisson_nll_loss.default"]),
    (Real, soft_margin, &["aten.soft_margin_loss.default"]),
    (Real, multi_margin, &["aten.multi_margin_loss.default"]),
    (Real, multilabel_margin, &["aten.multilabel_margin_loss.default"]),
    (Real, nll_forward, &["aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default"]),
    (Real, nll_backward, &["aten.nll_loss_backward.default"]),
];

/// Each label's value against every other's, the labels being those ahead of the first -1.
fn multilabel_margin(b: &Builder<'_>) -> Made {
    let (x, labels, dtype) = (b.t(0)?, b.t(1)?, b.t(0)?.dtype());
    b.only(matches!(x.rank(), 1 | 2) && labels.rank() == x.rank() && dtype.is_float(), "another number of dimensions")?;
    let classes = x.fixed(-1)?;
    b.only(classes > 0, "no classes")?;
    let x = x.wide();
    let said = labels.call("ge", args![0]).to(Dtype::I64).call("cumprod", args![-1]);
    let places = labels.clamp(0, classes);
    let none = b.full(x, x.shape(), 0, Dtype::I64);
    let is_label = none.call("scatter_add", args![-1, places, said]).call("gt", args![0]);
    let apart = x.call("gather", args![-1, places]).minus_from(1).unsqueeze(-1) + x.unsqueeze(-2);
    let counted =
        said.to(Dtype::Bool).unsqueeze(-1).call("logical_and", args![is_label.op("logical_not").unsqueeze(-2)]);
    // What is not above is not counted, NaN among it.
    let counted = counted.call("logical_and", args![apart.call("gt", args![0])]);
    let apart = apart.fill_where(counted.op("logical_not"), 0);
    let loss = apart.sum(&[-2, -1], false) / classes;
    rounded(b, loss, b.int(2)?, dtype)
}

fn reduced(b: &Builder<'_>, loss: T<'_>, reduction: i64) -> Made {
    match reduction {
        0 => done![loss],
        1 => done![loss.op("mean.default")],
        2 => done![loss.op("sum.default")],
        _ => Err(b.unsupported("this reduction")),
    }
}

/// Computed and reduced widened, rounded once.
fn rounded(b: &Builder<'_>, loss: T<'_>, reduction: i64, dtype: Dtype) -> Made {
    let value = match reduction {
        0 => loss,
        1 => loss.op("mean.default"),
        2 => loss.op("sum.default"),
        _ => return Err(b.unsupported("this reduction")),
    };
    done![value.to(dtype)]
}

fn picked(b: &Builder<'_>, target: &str) -> Made {
    done![b.pick(target, args![b.t(0)?, b.t(1)?, b.arg(2), b.arg(3), b.arg(4)], 0)]
}

fn margin_ranking(b: &Builder<'_>) -> Made {
    let apart = (b.t(0)? - b.t(1)?) * -b.t(2)? + b.float(3)?;
    reduced(b, apart.call("clamp_min", args![0]), b.int(4)?)
}

/// What is labelled 1 as it is, what is labelled -1 by how far it is within the margin; anything else both.
fn hinge_embedding(b: &Builder<'_>) -> Made {
    let (x, y, zero) = (b.t(0)?, b.t(1)?, b.t(0)?.op("zeros_like"));
    let within = x.minus_from(b.float(2)?).call("clamp_min", args![0]);
    let apart = b.choose(y.call("ne", args![1]), within, zero);
    let near = b.choose(y.call("ne", args![-1]), x, zero);
    reduced(b, apart + near, b.int(3)?)
}

fn cosine_embedding(b: &Builder<'_>) -> Made {
    const LEAST: f64 = 1e-12;
    let (p, q, y) = (b.t(0)?, b.t(1)?, b.t(2)?);
    b.only(p.rank() == q.rank() && p.rank() == y.rank().saturating_add(1), "labels of this rank")?;
    let axis = p.dims().saturating_sub(1);
    let sum = |t: T<'_>| t.sum(&[axis], false).id();
    let (pq, pp, qq) = (b.value(sum(p * q)), b.value(sum(p * p)) + LEAST, b.value(sum(q * q)) + LEAST);
    let cosine = pq / (pp * qq).op("sqrt");
    let zero = cosine.op("zeros_like");
    let near = b.choose(y.call("eq", args![1]), cosine.minus_from(1), zero);
    let apart = (cosine - b.float(3)?).call("clamp_min", args![0]);
    reduced(b, near + b.choose(y.call("eq", args![-1]), apart, zero), b.int(4)?)
}

fn triplet_margin(b: &Builder<'_>) -> Made {
    let (anchor, near, far) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let distance = |p: T<'_>, q: T<'_>| b.op("pairwise_distance", args![p, q, b.arg(4), b.arg(5)]).id();
    let (to_near, mut to_far) = (b.value(distance(anchor, near)), b.value(distance(anchor, far)));
    if b.flag(6)? {
        to_far = to_far.call("minimum", args![b.value(distance(near, far))]);
    }
    // In this order: rounding beside large distances is seen.
    reduced(b, (to_near + b.float(3)? - to_far).call("clamp_min", args![0]), b.int(7)?)
}

fn poisson_nll(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    let mut loss = if b.flag(2)? { x.op("exp") - y * x } else { x - y * (x + b.float(4)?).op("log") };
    if b.flag(3)? {
        let stirling = y * y.op("log") - y + (y * (2.0 * std::f64::consts::PI)).op("log") * 0.5;
        loss = loss + stirling.fill_where(y.call("le", args![1]), 0);
    }
    reduced(b, loss, b.int(5)?)
}

fn l1(b: &Builder<'_>) -> Made {
    reduced(b, (b.t(0)? - b.t(1)?).op("abs"), b.int(2)?)
}

fn mse(b: &Builder<'_>) -> Made {
    let d = b.t(0)? - b.t(1)?;
    reduced(b, d * d, b.int(2)?)
}

fn smooth_l1(b: &Builder<'_>) -> Made {
    let (beta, dtype) = (b.float(3)?, b.own_tensor()?.dtype);
    if beta == 0.0 {
        return done![b.op("l1_loss", args![b.t(0)?, b.t(1)?, b.arg(2)])];
    }
    let d = (b.t(0)?.to(wide(dtype)) - b.t(1)?.to(wide(dtype))).op("abs");
    let near = d * d * 0.5 / beta;
    rounded(b, b.choose(d.call("lt", args![beta]), near, d - 0.5 * beta), b.int(2)?, dtype)
}

fn huber(b: &Builder<'_>) -> Made {
    let (delta, dtype) = (b.float(3)?, b.own_tensor()?.dtype);
    b.only(delta > 0.0, "a delta that is not positive")?;
    let d = (b.t(0)?.to(wide(dtype)) - b.t(1)?.to(wide(dtype))).op("abs");
    let far = (d - 0.5 * delta) * delta;
    rounded(b, b.choose(d.call("le", args![delta]), d * d * 0.5, far), b.int(2)?, dtype)
}

fn kl_div(b: &Builder<'_>) -> Made {
    let (x, target) = (b.t(0)?, b.t(1)?);
    let loss = if b.flag(3)? {
        target.op("exp") * (target - x)
    } else {
        b.op("xlogy.Tensor", args![target, target]) - target * x
    };
    reduced(b, loss, b.int(2)?)
}

/// Logarithms no less than -100.
fn binary_cross_entropy(b: &Builder<'_>) -> Made {
    let (x, y, dtype) = (b.t(0)?.wide(), b.t(1)?.wide(), b.own_tensor()?.dtype);
    let log = |t: T<'_>| t.op("log").call("clamp_min", args![-100]).id();
    let (at_one, at_zero) = (b.value(log(x)), b.value(log(x.minus_from(1))));
    let mut loss = (y - 1) * at_zero - y * at_one;
    if let Some(weight) = b.opt(2)? {
        loss = loss * weight.wide();
    }
    rounded(b, loss, b.int(3)?, dtype)
}

fn with_logits(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    let log = x.op("log_sigmoid");
    let rest = y.minus_from(1) * x;
    let mut loss = match b.opt(3)? {
        Some(positive) => rest - ((positive - 1) * y + 1) * log,
        None => rest - log,
    };
    if let Some(weight) = b.opt(2)? {
        loss = loss * weight;
    }
    reduced(b, loss, b.int(4)?)
}

/// By the rank of the input: vectors, or images; anything else becomes images of one row.
fn nll(b: &Builder<'_>) -> Made {
    let (x, target) = (b.t(0)?, b.t(1)?);
    let loss =
        |kernel: &str, x: T<'_>, target: T<'_>| b.pick(kernel, args![x, target, b.arg(2), b.arg(3), b.arg(4)], 0).id();
    match x.rank() {
        0 => Err(b.unsupported("this rank")),
        1 | 2 => done![b.value(loss("nll_loss_forward", x, target))],
        4 => done![b.value(loss("nll_loss2d_forward", x, target))],
        _ => {
            b.only(x.sizes().iter().all(|s| s.fixed() != Some(0)), "an empty input")?;
            let (samples, classes) = (x.size(0), x.size(1));
            let images = x.reshape(vec![samples.clone(), classes, 1.into(), (-1).into()]);
            let row = target.reshape(vec![samples, 1.into(), (-1).into()]);
            let made = b.value(loss("nll_loss2d_forward", images, row));
            if b.int(3)? == 0 { done![made.reshape(target.shape())] } else { done![made] }
        }
    }
}

fn cross_entropy(b: &Builder<'_>) -> Made {
    let (x, target) = (b.t(0)?, b.t(1)?);
    if target.dtype().is_float() {
        return by_probabilities(b, x, target);
    }
    let axis = i64::from(x.rank() > 1);
    let log = b.op("log_softmax.int", args![x, axis, x.dtype()]);
    let plain = b.op("nll_loss_nd", args![log, target, b.arg(2), b.arg(3), b.arg(4)]);
    let smoothing = b.float(5)?;
    if smoothing == 0.0 {
        return done![plain];
    }
    b.only(b.opt(2)?.is_none(), "smoothing by weights")?;
    let classes = x.fixed(axis)?;
    b.only((1..1 << 20).contains(&classes), "so many classes")?;
    let all = smoothed(b, log, target, axis)?;
    done![plain * (1.0 - smoothing) + all * (smoothing / f64::from(i32::try_from(classes).unwrap_or(1)))]
}

/// Each class by its probability: the mean is that of samples.
fn by_probabilities(b: &Builder<'_>, x: T<'_>, target: T<'_>) -> Made {
    let (axis, smoothing) = (i64::from(x.rank() > 1), b.float(5)?);
    let alike = x.dtype() == target.dtype() && matches!(x.dtype(), Dtype::F32 | Dtype::F64);
    b.only(alike && x.sizes() == target.sizes() && x.rank() > 0, "probabilities of another type")?;
    b.only(x.sizes().iter().all(|s| s.fixed() != Some(0)), "an empty input")?;
    let mut target = target;
    if smoothing > 0.0 {
        let classes = x.fixed(axis)?;
        b.only((1..1 << 20).contains(&classes), "so many classes")?;
        target = target * (1.0 - smoothing) + smoothing / f64::from(i32::try_from(classes).unwrap_or(1));
    }
    let mut each = b.op("log_softmax.int", args![x, axis, x.dtype()]) * target;
    if let Some(weight) = b.opt(2)? {
        let shape = (0..x.dims()).map(|d| if d == axis { weight.size(0) } else { Arg::Int(1) });
        each = each * weight.reshape(shape.collect::<Vec<_>>());
    }
    Ok(match b.int(3)? {
        0 => vec![(-each.sum(&[axis], false)).into()],
        1 => {
            let samples = each.call("select.int", args![axis, 0]).op("ones_like").op("sum.default");
            vec![(-each.op("sum.default") / samples).into()]
        }
        2 => vec![(-each.op("sum.default")).into()],
        _ => return Err(b.unsupported("this reduction")),
    })
}

/// The loss of all classes alike, 0 for ignored targets, which no mean counts.
fn smoothed<'b>(b: &'b Builder<'_>, log: T<'b>, target: T<'b>, axis: i64) -> Result<T<'b>, CallFault> {
    let ignored = target.call("eq", args![b.arg(4)]);
    let each = (-log.sum(&[axis], false)).fill_where(ignored, 0);
    Ok(match b.int(3)? {
        0 => each,
        1 => each.op("sum.default") / ignored.op("logical_not").op("sum.default"),
        2 => each.op("sum.default"),
        _ => return Err(b.unsupported("this reduction")),
    })
}

/// The weight of each target's class, 0 for ignored targets; classes are along dimension 1.
fn nll_forward(b: &Builder<'_>) -> Made {
    let (x, target, reduction, ignored) = (b.t(0)?, b.t(1)?, b.int(3)?, b.int(4)?);
    b.only(x.sizes().iter().all(|s| s.fixed() != Some(0)), "an empty input")?;
    let axis = i64::from(x.rank() > 1);
    let kept = target.call("ne", args![ignored]);
    let safe = target.fill_where(kept.op("logical_not"), 0);
    let picked = |t: T<'_>| t.call("gather", args![axis, safe.unsqueeze(axis)]).squeeze(axis).id();
    let weight = b.opt(2)?.map(|w| w.wide().call("index.Tensor", args![vec![Arg::from(safe)]]));
    let weight = weight.map(|w| w * kept.to(w.dtype()));
    let loss = -b.value(picked(x.wide()));
    let loss = weight.map_or(loss, |w| loss * w).fill_where(kept.op("logical_not"), 0);
    let zero = b.full(x, Vec::new(), 0, x.dtype());
    if reduction == 0 && x.rank() > 1 {
        return done![loss.to(x.dtype()), zero];
    }
    let total = weight.map_or_else(|| kept.op("sum.default").to(loss.dtype()), |w| w.op("sum.default"));
    let sum = loss.op("sum.default");
    done![if reduction == 1 { sum / total } else { sum }.to(x.dtype()), total.to(x.dtype())]
}

/// Of each sample what its target is given, by the weight of its class; nothing of ignored targets.
fn nll_backward(b: &Builder<'_>) -> Made {
    let (g, x, target, reduction) = (b.t(0)?, b.t(1)?, b.t(2)?, b.int(4)?);
    b.only(x.rank() == 2 && x.dtype().is_float(), "other than rows of classes")?;
    b.only(x.sizes().iter().all(|s| s.fixed() != Some(0)), "an empty input")?;
    let ignored = target.call("eq", args![b.arg(5)]);
    let safe = target.fill_where(ignored, 0);
    let mut each = -g.wide();
    if reduction == 1 {
        each = each / b.t(6)?.wide();
    }
    if let Some(weight) = b.opt(3)? {
        each = each * weight.wide().call("index.Tensor", args![vec![Arg::from(safe)]]);
    }
    let each = each.expand(target.shape()).fill_where(ignored, 0).to(x.dtype());
    let none = x.call("zeros_like", args![]);
    done![none.call("scatter.src", args![1, safe.unsqueeze(1), each.unsqueeze(1)])]
}

fn soft_margin(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    reduced(b, (-y * x).op("exp").op("log1p"), b.int(2)?)
}

/// What each class is above the right one less the margin, to a power, weighed by the right class; the mean over classes.
fn multi_margin(b: &Builder<'_>) -> Made {
    let (x, y, power, margin) = (b.t(0)?, b.t(1)?, b.float(2)?, b.float(3)?);
    // One sample is a row, one number a row of one class.
    let row = x.rank() < 2 && y.rank() < 2;
    let (x, y) = if row { (x.reshape(vec![1.into(), (-1).into()]), y.reshape(vec![Arg::Int(1)])) } else { (x, y) };
    b.only(x.rank() == 2 && y.rank() == 1 && (!row || y.fixed(0)? == 1), "other than rows of classes")?;
    b.only(power == 1.0 || power == 2.0, "another power")?;
    let right = y.unsqueeze(-1);
    let apart = x - x.call("gather", args![1, right]) + margin;
    // What is not above is not counted, NaN among it.
    let above = apart.fill_where(apart.call("gt", args![0]).op("logical_not"), 0);
    let powered = if power == 2.0 { above * above } else { above };
    let weighed = match b.opt(4)? {
        Some(weight) => powered * weight.call("index_select", args![0, y]).unsqueeze(-1),
        None => powered,
    };
    let others = weighed.call("scatter.value", args![1, right, 0]);
    let each = others.mean(&[1], false);
    reduced(b, if row { each.squeeze(0) } else { each }, b.int(5)?)
}
