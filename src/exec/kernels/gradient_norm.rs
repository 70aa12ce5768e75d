//! Gradients of softmax and of normalisations, from the statistics that the way forward saved.
//!
//! Computed in `f64` and rounded once.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::gradient::{masked, opt_wide, wide};
use crate::exec::kernels::moments::{count_of, moments};
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::rows;
use crate::exec::tensor::lane::LaneKind;
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (|cx| softmax(cx, |grad, y, sum| (grad - sum) * y, |grad, y| grad * y), &["aten._softmax_backward_data.default"]),
    (
        |cx| softmax(cx, |grad, y, sum| grad - y.exp() * sum, |grad, _| grad),
        &["aten._log_softmax_backward_data.default"],
    ),
    (layer_norm, &["aten.native_layer_norm_backward.default"]),
    (group_norm, &["aten.native_group_norm_backward.default"]),
    (batch_norm, &["aten.native_batch_norm_backward.default"]),
];

/// `each` makes an element of gradient, result and the row's sum of `term`.
fn softmax(cx: &mut Cx<'_, '_, '_>, each: fn(f64, f64, f64) -> f64, term: fn(f64, f64) -> f64) -> Made {
    let (grad, result) = (cx.tensor(0)?, cx.tensor(1)?);
    if matches!(LaneKind::of(grad.dtype()), LaneKind::I64 | LaneKind::C64 | LaneKind::C128) {
        return Err(CallFault::Unsupported { what: format!("the gradient of softmax in {}", grad.dtype().long()) });
    }
    let d = cx.axis(2, grad.rank())?;
    let len = rows::length(grad, &[d]).max(1);
    let (grad_view, result_view) = (rows::dims_last(grad, &[d]), rows::dims_last(result, &[d]));
    let (grads, results) = (grad_view.lanes::<f64>()?, result_view.lanes::<f64>()?);
    let mut out = Vec::with_capacity(grads.len());
    for (g, y) in grads.chunks(len).zip(results.chunks(len)) {
        let sum: f64 = g.iter().zip(y).map(|(g, y)| term(*g, *y)).sum();
        out.extend(g.iter().zip(y).map(|(g, y)| each(*g, *y, sum)));
    }
    rows::emit(cx, 0, d, out).map(Value::Tensor)
}

/// Rows that were normalised: gradients, inputs, and what each element was multiplied by.
struct Row<'a> {
    grad: &'a [f64],
    x: &'a [f64],
    mean: f64,
    rstd: f64,
}

impl Row<'_> {
    /// Returns the gradient of the row's input, where `weight` tells an element's weight.
    fn input(&self, weight: impl Fn(usize) -> f64) -> Vec<f64> {
        let n = count_of(self.x.len());
        let weighed = |k: usize, g: &f64| g * weight(k);
        let normal = |x: &f64| (x - self.mean) * self.rstd;
        let sum: f64 = self.grad.iter().enumerate().map(|(k, g)| weighed(k, g)).sum();
        let product: f64 = self.grad.iter().zip(self.x).enumerate().map(|(k, (g, x))| weighed(k, g) * normal(x)).sum();
        let each = self.grad.iter().zip(self.x).enumerate();
        each.map(|(k, (g, x))| self.rstd * (weighed(k, g) - (sum + normal(x) * product) / n)).collect()
    }
}

fn layer_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, x) = (wide(cx.tensor(0)?)?, wide(cx.tensor(1)?)?);
    let sizes: Vec<usize> = cx.ints(2)?.iter().filter_map(|n| usize::try_from(*n).ok()).collect();
    let width = shape::count(&sizes)?;
    let (mean, rstd) = (wide(cx.tensor(3)?)?, wide(cx.tensor(4)?)?);
    for (k, i) in [(1, 5), (2, 6)] {
        if crate::exec::kernels::gradient::asked(cx, 7, k) && cx.is_none(i) {
            return Err(cx.bad(i, "a tensor, since its gradient is asked for", "None"));
        }
    }
    let weight = opt_wide(cx.opt_tensor(5)?)?;
    let own = |k: usize| weight.as_ref().map_or(1.0, |w| w.get(k).copied().unwrap_or(1.0));
    let rows: Vec<Row<'_>> = grad
        .chunks(width.max(1))
        .zip(x.chunks(width.max(1)))
        .zip(mean.iter().zip(&rstd))
        .map(|((grad, x), (mean, rstd))| Row { grad, x, mean: *mean, rstd: *rstd })
        .collect();
    let column_sums = |f: fn(&Row<'_>, f64, f64) -> f64| -> Vec<f64> {
        let mut sums = vec![0.0; width];
        for row in &rows {
            sums.iter_mut().zip(row.grad.iter().zip(row.x)).for_each(|(s, (g, x))| *s += f(row, *g, *x));
        }
        sums
    };
    Ok(Value::List(vec![
        masked(cx, 7, 0, || Ok(rows.iter().flat_map(|r| r.input(own)).collect()))?,
        masked(cx, 7, 1, || Ok(column_sums(|r, g, x| g * (x - r.mean) * r.rstd)))?,
        masked(cx, 7, 2, || Ok(column_sums(|_, g, _| g)))?,
    ]))
}

fn count(cx: &Cx<'_, '_, '_>, i: usize) -> Result<usize, CallFault> {
    let found = cx.int(i)?;
    usize::try_from(found).map_err(|_| cx.bad(i, "no negative number", found.to_string()))
}

fn group_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, x) = (wide(cx.tensor(0)?)?, wide(cx.tensor(1)?)?);
    let (mean, rstd) = (wide(cx.tensor(2)?)?, wide(cx.tensor(3)?)?);
    let weight = opt_wide(cx.opt_tensor(4)?)?;
    let (channels, inner, groups) = (count(cx, 6)?, count(cx, 7)?, count(cx, 8)?);
    let each = channels.checked_div(groups).unwrap_or(0);
    let width = each.saturating_mul(inner).max(1);
    let rows: Vec<Row<'_>> = grad
        .chunks(width)
        .zip(x.chunks(width))
        .zip(mean.iter().zip(&rstd))
        .map(|((grad, x), (mean, rstd))| Row { grad, x, mean: *mean, rstd: *rstd })
        .collect();
    let channel = |row: usize, k: usize| {
        let first = row.checked_rem(groups).unwrap_or(0).saturating_mul(each);
        first.saturating_add(k.checked_div(inner).unwrap_or(0))
    };
    let own = |c: usize| weight.as_ref().map_or(1.0, |w| w.get(c).copied().unwrap_or(1.0));
    let channel_sums = |f: fn(&Row<'_>, f64, f64) -> f64| -> Vec<f64> {
        let mut sums = vec![0.0; channels];
        for (r, row) in rows.iter().enumerate() {
            for (k, (g, x)) in row.grad.iter().zip(row.x).enumerate() {
                sums.get_mut(channel(r, k)).into_iter().for_each(|s| *s += f(row, *g, *x));
            }
        }
        sums
    };
    let inputs = || rows.iter().enumerate().flat_map(|(r, row)| row.input(|k| own(channel(r, k)))).collect();
    Ok(Value::List(vec![
        masked(cx, 9, 0, || Ok(inputs()))?,
        masked(cx, 9, 1, || Ok(channel_sums(|r, g, x| g * (x - r.mean) * r.rstd)))?,
        masked(cx, 9, 2, || Ok(channel_sums(|_, g, _| g)))?,
    ]))
}

/// With running statistics the way back is a product; with the batch's it passes through them.
fn batch_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, t) = (cx.tensor(0)?, cx.tensor(1)?);
    let (training, eps) = (cx.bool(7)?, cx.f64(8)?);
    let weight = opt_wide(cx.opt_tensor(2)?)?;
    let over: Vec<usize> = (0..t.rank()).filter(|d| *d != 1).collect();
    let (grad_view, view) = (rows::dims_last(grad, &over), rows::dims_last(t, &over));
    let (grads, xs) = (grad_view.lanes::<f64>()?, view.lanes::<f64>()?);
    let width = rows::length(t, &over).max(1);
    let (saved_mean, saved_inverse) = (opt_wide(cx.opt_tensor(5)?)?, opt_wide(cx.opt_tensor(6)?)?);
    let (running_mean, running_var) = (opt_wide(cx.opt_tensor(3)?)?, opt_wide(cx.opt_tensor(4)?)?);
    let at = |all: &Option<Vec<f64>>, c: usize| all.as_ref().and_then(|v| v.get(c).copied());
    let (mut inputs, mut weights, mut biases) = (Vec::with_capacity(xs.len()), Vec::new(), Vec::new());
    for (c, (g, x)) in grads.chunks(width).zip(xs.chunks(width)).enumerate() {
        let own = at(&weight, c).unwrap_or(1.0);
        let known = if training {
            at(&saved_mean, c).zip(at(&saved_inverse, c))
        } else {
            at(&running_mean, c).zip(at(&running_var, c).map(|v| 1.0 / (v + eps).sqrt()))
        };
        let (mean, rstd) = known.unwrap_or_else(|| {
            let (mean, squares) = moments(x);
            (mean, 1.0 / (squares / count_of(x.len()) + eps).sqrt())
        });
        let row = Row { grad: g, x, mean, rstd };
        if training {
            inputs.extend(row.input(|_| own));
        } else {
            inputs.extend(g.iter().map(|g| g * rstd * own));
        }
        weights.push(g.iter().zip(x).map(|(g, x)| g * (x - mean) * rstd).sum::<f64>());
        biases.push(g.iter().sum::<f64>());
    }
    // Channels stand first here, second in the input.
    let first = if cx.meta_of(0).is_ok() && crate::exec::kernels::gradient::asked(cx, 9, 0) {
        let order: Vec<usize> = std::iter::once(1).chain(over.iter().copied()).collect();
        let lead = shape::permuted(t.sizes(), &order);
        let made = cx.make(Dtype::F64, &lead, inputs)?;
        let back: Vec<usize> = (0..t.rank()).map(|d| order.iter().position(|o| *o == d).unwrap_or(d)).collect();
        let placed = made.permute(&back).lanes::<f64>()?.to_vec();
        Value::Tensor(cx.emit_at(0, placed)?)
    } else {
        Value::None
    };
    Ok(Value::List(vec![first, masked(cx, 9, 1, || Ok(weights))?, masked(cx, 9, 2, || Ok(biases))?]))
}
