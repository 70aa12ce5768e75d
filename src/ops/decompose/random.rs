//! Random operators by those that draw.

use super::builder::Actual;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, dropout, &["aten.dropout.default"]),
    (Exact, |b| written(b, "dropout"), &["aten.dropout_.default"]),
    (Exact, feature_dropout, &["aten.feature_dropout.default"]),
    (Exact, alpha_dropout, &["aten.alpha_dropout.default"]),
    (Exact, feature_alpha_dropout, &["aten.feature_alpha_dropout.default"]),
    (Exact, |b| written(b, "alpha_dropout"), &["aten.alpha_dropout_.default"]),
    (Exact, |b| written(b, "feature_dropout"), &["aten.feature_dropout_.default"]),
    (Exact, |b| written(b, "feature_alpha_dropout"), &["aten.feature_alpha_dropout_.default"]),
    (Exact, bernoulli, &["aten.bernoulli.default"]),
    (Real, uniform, &["aten.uniform.default"]),
    (Exact, bernoulli_in_place, &["aten.bernoulli_.float", "aten.bernoulli_.Tensor"]),
    (Real, normal, &["aten.normal.Tensor_float", "aten.normal.float_Tensor", "aten.normal.Tensor_Tensor"]),
    (Real, normal_in_place, &["aten.normal_.default"]),
    (Real, normal_of_sizes, &["aten.normal.float_float"]),
    (Exact, |b| randint_like(b, 1), &["aten.randint_like.default"]),
    (Exact, |b| randint_like(b, 2), &["aten.randint_like.low_dtype"]),
];

/// Itself where nothing is dropped.
fn rests(b: &Builder<'_>) -> Result<bool, CallFault> {
    Ok(b.float(1)? == 0.0 || !b.flag(2)? || b.t(0)?.sizes().iter().any(|s| s.fixed() == Some(0)))
}

/// Ones with the probability of being kept, divided by it.
fn noise<'b>(b: &'b Builder<'_>, x: T<'b>, kept: f64) -> T<'b> {
    b.op("bernoulli.p", args![x.op("empty_like"), kept]) / kept
}

fn dropout(b: &Builder<'_>) -> Made {
    let (x, p) = (b.t(0)?, b.float(1)?);
    if rests(b)? {
        return done![x];
    }
    if p == 1.0 {
        return done![x.call("mul.Tensor", args![0])];
    }
    done![x * noise(b, x, 1.0 - p)]
}

/// What the functional form gives, written into the operand.
fn written(b: &Builder<'_>, functional: &str) -> Made {
    let x = b.t(0)?;
    if rests(b)? {
        return done![x];
    }
    let dropped = b.op(functional, args![x, b.arg(1), b.arg(2)]);
    done![b.op("copy_", args![x, dropped])]
}

fn feature_dropout(b: &Builder<'_>) -> Made {
    let (x, p) = (b.t(0)?, b.float(1)?);
    if rests(b)? {
        return done![x];
    }
    b.only(p < 1.0 && x.rank() >= 2, "p of 1")?;
    done![x * noise(b, a_feature_each(x), 1.0 - p)]
}

/// Memory for one number a feature.
fn a_feature_each(x: T<'_>) -> T<'_> {
    let sizes: Vec<Arg> = (0..x.rank()).map(|d| if d < 2 { x.size(signed(d)) } else { Arg::Int(1) }).collect();
    x.call("new_empty", args![sizes])
}

/// Dropped ones become the negative saturation; scaled to keep mean and variance.
fn alpha_dropout(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    if rests(b)? {
        return done![x];
    }
    saturated(b, x.op("empty_like"))
}

fn feature_alpha_dropout(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    if rests(b)? {
        return done![x];
    }
    b.only(x.rank() >= 2, "no features")?;
    saturated(b, a_feature_each(x))
}

/// The same with one decision for each element of `memory`.
fn saturated(b: &Builder<'_>, memory: T<'_>) -> Made {
    const ALPHA: f64 = 1.758_099_340_847_376_6;
    let (x, p) = (b.t(0)?, b.float(1)?);
    b.only(p < 1.0, "p of 1")?;
    let kept = b.op("bernoulli.p", args![memory, 1.0 - p]);
    let a = 1.0 / ((ALPHA * ALPHA * p + 1.0) * (1.0 - p)).sqrt();
    let shift = (kept - 1) * (ALPHA * a) + ALPHA * a * p;
    done![x * (kept * a) + shift]
}

/// Probabilities are the values themselves.
fn bernoulli(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(b.is_none("generator"), "a generator")?;
    done![b.op("bernoulli.Tensor", args![x.op("empty_like"), x])]
}

/// Those of the unit interval, scaled and moved.
fn uniform(b: &Builder<'_>) -> Made {
    let (x, from, to) = (b.t(0)?, b.float(1)?, b.float(2)?);
    b.only(b.is_none("generator"), "a generator")?;
    // Narrow floats are scaled in single precision.
    let (own, unit) = (x.dtype(), x.op("rand_like"));
    if !matches!(own, Dtype::F16 | Dtype::Bf16) {
        return done![unit * (to - from) + from];
    }
    done![(unit.to(Dtype::F32) * (to - from) + from).to(own)]
}

fn bernoulli_in_place(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(b.is_none("generator"), "a generator")?;
    let kind = if matches!(b.arg(1), Arg::Node(_)) { "bernoulli.Tensor" } else { "bernoulli.p" };
    let drawn = b.op(kind, args![x, b.arg(1)]);
    done![b.op("copy_", args![x, drawn])]
}

/// Those of mean 0 and deviation 1, scaled and moved.
fn normal(b: &Builder<'_>) -> Made {
    b.only(b.is_none("generator"), "a generator")?;
    let (mean, deviation) = (b.arg(0), b.arg(1));
    let like = match (&mean, &deviation) {
        (Arg::Node(_), Arg::Node(_)) => {
            b.only(b.t(0)?.ty() == b.t(1)?.ty(), "a mean and a deviation of two forms")?;
            b.t(0)?
        }
        (Arg::Node(_), _) => b.t(0)?,
        _ => b.t(1)?,
    };
    let scaled = like.op("randn_like").call("mul.Tensor", args![deviation]);
    done![scaled.call("add.Tensor", args![mean])]
}

fn normal_in_place(b: &Builder<'_>) -> Made {
    let (x, mean, deviation) = (b.t(0)?, b.float(1)?, b.float(2)?);
    b.only(b.is_none("generator"), "a generator")?;
    let drawn = x.op("randn_like") * deviation + mean;
    done![b.op("copy_", args![x, drawn])]
}

fn normal_of_sizes(b: &Builder<'_>) -> Made {
    b.only(b.is_none("generator"), "a generator")?;
    let (mean, deviation) = (b.float(0)?, b.float(1)?);
    let named: Vec<(Box<str>, Arg)> =
        ["dtype", "device"].into_iter().filter(|k| !b.is_none(*k)).map(|k| (k.into(), b.arg(k))).collect();
    let drawn = b.op("randn", Actual::new(vec![b.arg(2)], named));
    done![drawn * deviation + mean]
}

/// Of the sizes of an operand; `bounds` are given.
fn randint_like(b: &Builder<'_>, bounds: usize) -> Made {
    let x = b.t(0)?;
    let sizes: Vec<Arg> = (0..x.rank()).map(|d| x.size(signed(d))).collect();
    let dtype = match b.arg("dtype") {
        Arg::None => Arg::Dtype(x.dtype()),
        given => given,
    };
    let kind = if bounds == 1 { "randint" } else { "randint.low" };
    let mut given: Vec<Arg> = (1..=bounds).map(|i| b.arg(i)).collect();
    given.push(Arg::List(sizes.into()));
    done![b.op(kind, Actual::new(given, vec![("dtype".into(), dtype)]))]
}
