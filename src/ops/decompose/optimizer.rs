//! Steps of optimizers on lists of tensors, as formulas that write parameters and what is kept of gradients.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, |b| adam(b, false), &["aten._fused_adam_.default"]),
    (Real, |b| adam(b, true), &["aten._fused_adamw_.default"]),
    (Real, momentum, &["aten._fused_sgd_.default"]),
];

/// The gradients, as many as parameters, with the sign in which parameters go; scaled ones are not covered.
fn gradients<'b>(b: &'b Builder<'_>, params: &[T<'b>]) -> Result<Vec<T<'b>>, CallFault> {
    b.only(b.is_none("grad_scale") && b.is_none("found_inf"), "scaled gradients")?;
    let (given, turned) = (b.ts("grads")?, b.flag("maximize")?);
    let alike = |p: &T<'_>, g: &T<'_>| p.dtype() == g.dtype() && p.sizes() == g.sizes() && p.dtype().is_float();
    let fits = given.len() == params.len() && params.iter().zip(&given).all(|(p, g)| alike(p, g));
    b.only(fits, "gradients of another form")?;
    Ok(if turned { given.into_iter().map(|g| -g).collect() } else { given })
}

fn write(b: &Builder<'_>, to: T<'_>, value: T<'_>) {
    b.op("copy_", args![to, value]);
}

/// Averages of gradients and of their squares, without what their beginning at 0 does; weights decay in the gradient, or by themselves.
fn adam(b: &Builder<'_>, apart: bool) -> Made {
    let params = b.ts("self")?;
    let grads = gradients(b, &params)?;
    let (firsts, seconds, steps) = (b.ts("exp_avgs")?, b.ts("exp_avg_sqs")?, b.ts("state_steps")?);
    let (rate, decay, least) = (b.float("lr")?, b.float("weight_decay")?, b.float("eps")?);
    let (keep, keep_squares) = (b.float("beta1")?, b.float("beta2")?);
    b.only(!b.flag("amsgrad")?, "the greatest average")?;
    b.only([firsts.len(), seconds.len(), steps.len()].iter().all(|n| *n == params.len()), "lists of unequal lengths")?;
    for (k, p) in params.iter().enumerate() {
        let (Some(g), Some(m), Some(v), Some(step)) = (grads.get(k), firsts.get(k), seconds.get(k), steps.get(k))
        else {
            return Err(b.unsupported("lists of unequal lengths"));
        };
        let from = if apart && decay != 0.0 { *p * (1.0 - rate * decay) } else { *p };
        let g = if !apart && decay != 0.0 { *g + *p * decay } else { *g };
        let m_now = *m * keep + g * (1.0 - keep);
        let v_now = *v * keep_squares + g * g * (1.0 - keep_squares);
        let left = |keep: f64| b.op("pow.Scalar", args![keep, *step]).minus_from(1).id();
        let (by_first, by_second) = (b.value(left(keep)), b.value(left(keep_squares)).op("sqrt"));
        let size = v_now.op("sqrt") / by_second + least;
        let next = from - m_now / size / by_first * rate;
        for (to, value) in [(*m, m_now), (*v, v_now), (*p, next)] {
            write(b, to, value.to(to.dtype()));
        }
    }
    Ok(Vec::new())
}

/// A sum of gradients that fades.
fn momentum(b: &Builder<'_>) -> Made {
    let params = b.ts("self")?;
    let (grads, sums) = (gradients(b, &params)?, b.ts("momentum_buffer_list")?);
    let (rate, decay, keep) = (b.float("lr")?, b.float("weight_decay")?, b.float("momentum")?);
    let (fresh, ahead, first) = (1.0 - b.float("dampening")?, b.flag("nesterov")?, b.flag("is_first_step")?);
    b.only(sums.len() == params.len() || keep == 0.0, "lists of unequal lengths")?;
    for (k, (p, g)) in params.iter().zip(grads).enumerate() {
        let mut g = if decay == 0.0 { g } else { g + *p * decay };
        if let Some(sum) = sums.get(k).filter(|_| keep != 0.0) {
            let now = if first { g } else { *sum * keep + g * fresh };
            write(b, *sum, now);
            g = if ahead { g + now * keep } else { now };
        }
        write(b, *p, *p - g * rate);
    }
    Ok(Vec::new())
}
