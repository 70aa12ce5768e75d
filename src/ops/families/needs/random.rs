//! What draws need.

use super::shared::{drawn_between, drawn_up_to, holds_bound};
use crate::graph::Dtype;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_empty, is_integral, is_real};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (drawn_up_to, &["aten.random.to", "aten.random_.to"]),
    (drawn_between, &["aten.random.from", "aten.random_.from"]),
    (
        |c| c.need_dtype(0, "of integers or reals", is_real),
        &["aten.random.from", "aten.random_.from", "aten.random.to", "aten.random_.to"],
    ),
    (|c| bounded_by(c, 1), &["aten.random.from", "aten.random_.from", "aten.random.to", "aten.random_.to"]),
    (|c| probability(c, 1), &["aten.bernoulli.p", "aten.bernoulli_.float"]),
    (|c| c.need_broadcast_to(1, &c.tensor(0)?.sizes), &["aten.bernoulli.Tensor", "aten.bernoulli_.Tensor"]),
    (
        |c| probability(c, 1),
        &[
            "aten.dropout.default",
            "aten.dropout_.default",
            "aten.alpha_dropout.default",
            "aten.feature_dropout.default",
            "aten.feature_alpha_dropout.default",
        ],
    ),
    (
        dropped,
        &[
            "aten.dropout.default",
            "aten.dropout_.default",
            "aten.alpha_dropout.default",
            "aten.feature_dropout.default",
            "aten.feature_alpha_dropout.default",
        ],
    ),
    (native_dropped, &["aten.native_dropout.default"]),
    (uniform, &["aten.uniform.default", "aten.uniform_.default"]),
    (exponential, &["aten.exponential.default", "aten.exponential_.default"]),
    (|c| deviation(c, 1), &["aten.normal.Tensor_float"]),
    (|c| deviation(c, 2), &["aten.normal_.default"]),
    (|c| c.need_dtype(1, "of reals", is_real), &["aten.normal.float_Tensor", "aten.normal.Tensor_Tensor"]),
    (multinomial, &["aten.multinomial.default"]),
    (features_dropped, &["aten.feature_dropout.default", "aten.feature_alpha_dropout.default"]),
];

/// The ends of a range, the upper one exclusive, are numbers of the dtype.
fn bounded_by(c: &Call<'_>, i: usize) -> Needed {
    let dtype = c.tensor(0)?.dtype;
    if !is_integral(dtype) {
        return Ok(());
    }
    let upper = i.saturating_add(usize::from(c.name(i) == "from"));
    for (place, less) in [(i, i64::from(c.name(i) == "to")), (upper, 1)] {
        if place == upper && less == 1 && c.is_none(place) {
            continue;
        }
        holds_bound(c, place, less, dtype)?;
    }
    Ok(())
}

fn probability(c: &Call<'_>, i: usize) -> Needed {
    c.need_float(i, "a probability from 0 to 1", |p| (0.0..=1.0).contains(&p))
}

/// What is scaled must hold fractions.
fn dropped(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let scales = c.bool(2)? && c.float(1).is_some_and(|p| p > 0.0 && p < 1.0) && !is_empty(t);
    if scales { c.need_dtype(0, "of floats", |d| !is_integral(d)) } else { Ok(()) }
}

/// Whole features are drawn: of samples, of which the first two dimensions tell them apart.
fn features_dropped(c: &Call<'_>) -> Needed {
    let draws = c.bool(2)? && c.float(1).is_none_or(|p| p > 0.0 && p < 1.0) && !is_empty(c.tensor(0)?);
    if draws { c.need_rank(0, 2..=usize::MAX) } else { Ok(()) }
}

fn native_dropped(c: &Call<'_>) -> Needed {
    if !c.is_none(2) && !c.bool(2)? {
        return Ok(());
    }
    probability(c, 1)?;
    if is_empty(c.tensor(0)?) { Ok(()) } else { c.need_dtype(0, "of floats", |d| !is_integral(d)) }
}

fn uniform(c: &Call<'_>) -> Needed {
    match (c.float(1), c.float(2)) {
        (Some(low), Some(high)) if low > high => Err(c.bad(2, format!("{low} or more"), high.to_string())),
        _ => Ok(()),
    }
}

fn exponential(c: &Call<'_>) -> Needed {
    if !is_empty(c.tensor(0)?) {
        c.need_dtype(0, "of floats", Dtype::is_float)?;
    }
    c.need_float(1, "more than 0", |rate| rate > 0.0)
}

fn deviation(c: &Call<'_>, i: usize) -> Needed {
    c.need_float(i, "a deviation of 0 or more", |d| d >= 0.0)
}

fn multinomial(c: &Call<'_>) -> Needed {
    let (t, count) = (c.tensor(0)?, c.dim(1)?);
    c.need_dtype(0, "of floats", Dtype::is_float)?;
    c.need_rank(0, 1..=2)?;
    c.need_int(1, 1..=i64::MAX)?;
    let choices = t.sizes.last().copied().unwrap_or(Dim::Fixed(1));
    if !c.bool(2)? && sizes::less(c.symbols, choices, count) == Some(true) {
        let (choices, count) = (c.symbols.print_python(choices), c.symbols.print_python(count));
        return Err(c.bad(1, format!("at most {choices} without replacement"), count));
    }
    Ok(())
}
