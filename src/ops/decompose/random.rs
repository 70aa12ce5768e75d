//! Random operators by those that draw.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, dropout, &["aten.dropout.default"]),
    (Exact, dropout_in_place, &["aten.dropout_.default"]),
    (Exact, feature_dropout, &["aten.feature_dropout.default"]),
    (Exact, alpha_dropout, &["aten.alpha_dropout.default"]),
    (Exact, bernoulli, &["aten.bernoulli.default"]),
    (Real, uniform, &["aten.uniform.default"]),
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

fn dropout_in_place(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    if rests(b)? {
        return done![x];
    }
    let dropped = b.op("dropout", args![x, b.arg(1), b.arg(2)]);
    done![b.op("copy_", args![x, dropped])]
}

fn feature_dropout(b: &Builder<'_>) -> Made {
    let (x, p) = (b.t(0)?, b.float(1)?);
    if rests(b)? {
        return done![x];
    }
    b.only(p < 1.0 && x.rank() >= 2, "p of 1")?;
    let sizes: Vec<Arg> = (0..x.rank()).map(|d| if d < 2 { x.size(signed(d)) } else { Arg::Int(1) }).collect();
    let mask = x.call("new_empty", args![sizes]);
    done![x * noise(b, mask, 1.0 - p)]
}

/// Dropped ones become the negative saturation; scaled to keep mean and variance.
fn alpha_dropout(b: &Builder<'_>) -> Made {
    const ALPHA: f64 = 1.758_099_340_847_376_6;
    let (x, p) = (b.t(0)?, b.float(1)?);
    if rests(b)? {
        return done![x];
    }
    b.only(p < 1.0, "p of 1")?;
    let kept = b.op("bernoulli.p", args![x.op("empty_like"), 1.0 - p]);
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
    done![x.op("rand_like") * (to - from) + from]
}
