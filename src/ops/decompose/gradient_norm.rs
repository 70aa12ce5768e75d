//! Gradients of normalisations, by the statistics that the way forward saved. f16 and bf16 are computed in f32 and rounded once.
//!
//! With normalised values `n`, and `g` the gradient times the weight, that of the input is `rstd * (g - mean(g) - n * mean(g * n))`.

use super::prelude::*;
use crate::sym::Dim;

pub(super) const TABLE: &[Line] = &[
    (Real, layer_norm, &["aten.native_layer_norm_backward.default"]),
    (Real, group_norm, &["aten.native_group_norm_backward.default"]),
    (Real, batch_norm, &["aten.native_batch_norm_backward.default"]),
];

/// Whether a gradient is asked for.
fn on(b: &Builder<'_>, k: usize) -> bool {
    b.arg("output_mask").items().and_then(|m| m.get(k)).is_none_or(|a| *a == Arg::Bool(true))
}

/// What is normalised: the gradient of the result, the values, one mean and one reciprocal root for all of `dims`.
struct Normal<'b> {
    grad: T<'b>,
    values: T<'b>,
    rstd: T<'b>,
    dims: Vec<i64>,
}

impl<'b> Normal<'b> {
    fn new([grad, x, mean, rstd]: [T<'b>; 4], dims: Vec<i64>) -> Self {
        Normal { grad, values: (x - mean) * rstd, rstd, dims }
    }

    fn of_input(&self, weight: Option<T<'b>>) -> T<'b> {
        let weighed = weight.map_or(self.grad, |w| self.grad * w);
        let along = self.values * (weighed * self.values).mean(&self.dims, true);
        self.rstd * (weighed - weighed.mean(&self.dims, true) - along)
    }

    fn of_weight(&self) -> T<'b> {
        self.grad * self.values
    }
}

fn summed<'b>(x: T<'b>, dims: &[i64]) -> T<'b> {
    if dims.is_empty() { x } else { x.sum(dims, false) }
}

/// Refuses what has no elements, or gradients of another dtype.
fn only_filled(b: &Builder<'_>, g: T<'_>, x: T<'_>) -> Result<(), CallFault> {
    let filled = x.sizes().iter().all(|s| s.fixed() != Some(0));
    b.only(filled && x.dtype().is_float() && g.dtype() == x.dtype() && g.sizes() == x.sizes(), "this input")
}

fn layer_norm(b: &Builder<'_>) -> Made {
    let (g, x, mean, rstd) = (b.t(0)?, b.t(1)?, b.t(3)?, b.t(4)?);
    let (weight, bias) = (b.opt(5)?, b.opt(6)?);
    only_filled(b, g, x)?;
    let lead = x.rank().saturating_sub(b.sizes(2).len());
    let mut one_a_row = x.sizes();
    one_a_row.iter_mut().skip(lead).for_each(|d| *d = Dim::Fixed(1));
    b.only(mean.sizes() == one_a_row && rstd.sizes() == one_a_row, "statistics of another form")?;
    b.only((weight.is_some() || !on(b, 1)) && (bias.is_some() || !on(b, 2)), "a gradient of what is not given")?;
    let mut outer = range(x.rank());
    let inner = outer.split_off(lead);
    let all = Normal::new([g.wide(), x.wide(), mean.wide(), rstd.wide()], inner);
    let kept = |t: Option<T<'_>>| t.map_or(x.dtype(), T::dtype);
    let first = if on(b, 0) { all.of_input(weight.map(T::wide)).to(x.dtype()).into() } else { Arg::None };
    let second = if on(b, 1) { summed(all.of_weight(), &outer).to(kept(weight)).into() } else { Arg::None };
    let third = if on(b, 2) { summed(all.grad, &outer).to(kept(bias)).into() } else { Arg::None };
    Ok(vec![first, second, third])
}

fn group_norm(b: &Builder<'_>) -> Made {
    let (g, x, mean, rstd) = (b.t(0)?, b.t(1)?, b.t(2)?, b.t(3)?);
    let (weight, n, c, groups) = (b.opt(4)?, b.arg(5), b.arg(6), b.int("group")?);
    only_filled(b, g, x)?;
    b.only(x.rank() >= 2 && groups > 0 && mean.rank() == 2 && rstd.sizes() == mean.sizes(), "this form")?;
    let groups = Arg::Int(groups);
    let each = b.size_op("floordiv", c.clone(), groups.clone());
    // Batch, group, channel of the group, and all others.
    let apart = |t: T<'_>| t.wide().reshape(vec![n.clone(), groups.clone(), each.clone(), Arg::Int(-1)]).id();
    let one = |t: T<'_>| t.wide().reshape(vec![n.clone(), groups.clone(), Arg::Int(1), Arg::Int(1)]).id();
    let of = [apart(g), apart(x), one(mean), one(rstd)].map(|id| b.value(id));
    let own = weight.map(|w| w.wide().reshape(vec![Arg::Int(1), groups.clone(), each.clone(), Arg::Int(1)]));
    let all = Normal::new(of, vec![2, 3]);
    let kept = weight.map_or(x.dtype(), T::dtype);
    let channels = |t: T<'_>| -> Arg { t.sum(&[0, 3], false).reshape(vec![c.clone()]).to(kept).into() };
    let first = if on(b, 0) { all.of_input(own).reshape(x.shape()).to(x.dtype()).into() } else { Arg::None };
    let second = if on(b, 1) { channels(all.of_weight()) } else { Arg::None };
    let third = if on(b, 2) { channels(all.grad) } else { Arg::None };
    Ok(vec![first, second, third])
}

/// By the statistics of the batch, as the way forward saved them, or by running ones, which no gradient passes through.
fn batch_norm(b: &Builder<'_>) -> Made {
    let (g, x, weight, trains, eps) = (b.t(0)?, b.t(1)?, b.opt(2)?, b.flag("train")?, b.float("eps")?);
    only_filled(b, g, x)?;
    b.only(x.rank() >= 2, "this form")?;
    let along: Vec<Arg> = (0..x.rank()).map(|d| if d == 1 { x.size(1) } else { Arg::Int(1) }).collect();
    let column = |t: T<'_>| b.value(t.wide().reshape(along.clone()).id());
    let (mean, rstd) = match (b.opt(if trains { 5 } else { 3 })?, b.opt(if trains { 6 } else { 4 })?) {
        (Some(mean), Some(rstd)) if trains => (column(mean), column(rstd)),
        (Some(mean), Some(var)) => (column(mean), (column(var) + eps).op("rsqrt")),
        _ => return Err(b.unsupported("no statistics")),
    };
    let dims: Vec<i64> = range(x.rank()).into_iter().filter(|d| *d != 1).collect();
    let all = Normal::new([g.wide(), x.wide(), mean, rstd], dims.clone());
    let own = weight.map(column);
    let kept = weight.map_or(x.dtype(), T::dtype);
    let of_input = || match own {
        own if trains => all.of_input(own),
        Some(own) => all.grad * all.rstd * own,
        None => all.grad * all.rstd,
    };
    let first = if on(b, 0) { of_input().to(x.dtype()).into() } else { Arg::None };
    let second = if on(b, 1) { all.of_weight().sum(&dims, false).to(kept).into() } else { Arg::None };
    let third = if on(b, 2) { all.grad.sum(&dims, false).to(kept).into() } else { Arg::None };
    Ok(vec![first, second, third])
}
