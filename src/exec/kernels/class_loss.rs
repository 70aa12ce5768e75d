//! Losses of classes: negative log likelihood and cross entropy, with weights, ignored targets and smoothed labels.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::loss::{Reduction, reduction};
use crate::exec::kernels::moments::{count_of, round};
use crate::exec::kernels::norm::weights;
use crate::exec::kernels::reduce::Made;
use crate::exec::kernels::softmax::log_softmax_row;
use crate::exec::loops::rows;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (nll_loss, &["aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default", "aten.nll_loss_nd.default"]),
    (cross_entropy, &["aten.cross_entropy_loss.default"]),
    (nll_loss_backward, &["aten.nll_loss_backward.default"]),
];

/// Scores as images of classes of places: an input of one dimension is one image of one place.
#[derive(Clone, Copy)]
struct Layout {
    classes: usize,
    inner: usize,
}

impl Layout {
    fn of(t: &Tensor) -> Layout {
        let d = class_dim(t);
        let inner = shape::numel(t.sizes().get(d.saturating_add(1)..).unwrap_or(&[]));
        Layout { classes: t.meta.size(d), inner }
    }

    /// Returns where class `class` of target number `k` stands.
    fn place(self, k: usize, class: usize) -> usize {
        let image = k.checked_div(self.inner).unwrap_or(0);
        let at = k.checked_rem(self.inner).unwrap_or(0);
        image.saturating_mul(self.classes).saturating_add(class).saturating_mul(self.inner).saturating_add(at)
    }
}

fn class_dim(t: &Tensor) -> usize {
    usize::from(t.rank() > 1)
}

fn param(cx: &Cx<'_, '_, '_>, name: &str) -> usize {
    cx.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

/// Returns the class of every target; `None` where it is ignored.
fn targets(cx: &Cx<'_, '_, '_>, classes: usize) -> Result<Vec<Option<usize>>, CallFault> {
    let (target, place) = (cx.tensor(param(cx, "target"))?, param(cx, "target"));
    let ignored = cx.int(param(cx, "ignore_index"))?;
    let class = |v: &i64| {
        if *v == ignored {
            return Ok(None);
        }
        let class = usize::try_from(*v).ok().filter(|c| *c < classes);
        class.map(Some).ok_or_else(|| cx.bad(place, format!("classes below {classes}"), v.to_string()))
    };
    target.lanes::<i64>()?.iter().map(class).collect()
}

/// What targets weigh, and what their losses are.
struct Losses {
    each: Vec<f64>,
    weights: Vec<f64>,
}

fn losses(scores: &[f64], layout: Layout, targets: &[Option<usize>], weight: Option<&[f64]>) -> Losses {
    let mut out = Losses { each: Vec::with_capacity(targets.len()), weights: Vec::with_capacity(targets.len()) };
    for (k, class) in targets.iter().enumerate() {
        let (mut loss, mut own) = (0.0, 0.0);
        if let Some(class) = class {
            own = weight.map_or(1.0, |w| w.get(*class).copied().unwrap_or(1.0));
            loss = -own * scores.get(layout.place(k, *class)).copied().unwrap_or(0.0);
        }
        out.each.push(loss);
        out.weights.push(own);
    }
    out
}

/// Losses that are added up as PyTorch does it: in the dtype, in levels of sixteen, ignored targets left out.
#[derive(Clone, Copy)]
struct Steps<'a> {
    dtype: Dtype,
    losses: &'a [f64],
    targets: &'a [Option<usize>],
}

impl Steps<'_> {
    fn sum(self) -> f64 {
        let r = |v: f64| round(self.dtype, v);
        let power = self.losses.len().next_power_of_two().trailing_zeros().checked_div(8).unwrap_or(0).max(4);
        let mut levels = [0_f64; 8];
        for (k, (loss, _)) in self.losses.iter().zip(self.targets).enumerate().filter(|(_, (_, t))| t.is_some()) {
            let mut carried = r(*loss);
            let mut rest = k;
            for (level, sum) in levels.iter_mut().enumerate() {
                *sum = r(*sum + carried);
                let full = rest.checked_shr(power).is_some_and(|up| up.checked_shl(power) == Some(rest));
                if !full || level == 7 {
                    break;
                }
                carried = std::mem::take(sum);
                rest = rest.checked_shr(power).unwrap_or(0);
            }
        }
        levels.iter().fold(0.0, |a, b| r(a + b))
    }
}

/// Returns what losses and weights sum up to; without weights targets are counted.
fn sums(found: &Losses, targets: &[Option<usize>], dtype: Dtype, weighted: bool) -> [f64; 2] {
    let each = Steps { dtype, losses: &found.each, targets };
    let total = if weighted {
        Steps { losses: &found.weights, ..each }.sum()
    } else {
        round(dtype, found.weights.iter().sum())
    };
    [each.sum(), total]
}

fn nll_loss(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let layout = Layout::of(t);
    let targets = targets(cx, layout.classes)?;
    let weight = weights::<f64>(cx, param(cx, "weight"))?;
    let found = losses(&t.lanes::<f64>()?, layout, &targets, weight.as_deref());
    let [sum, total] = sums(&found, &targets, dtype, weight.is_some());
    let (values, total) = match reduction(cx)? {
        Reduction::None if t.rank() > 1 => (found.each, 0.0),
        Reduction::None => (found.each, total),
        Reduction::Sum => (vec![sum], total),
        Reduction::Mean => (vec![sum / total], total),
    };
    let first = cx.emit_at(0, values)?;
    if cx.result_count() < 2 {
        return Ok(Value::Tensor(first));
    }
    Ok(vec![first, cx.emit_at(1, vec![total])?].into())
}

/// Each row's log-softmax, rounded to the dtype, in row-major order of the input.
fn log_probabilities(t: &Tensor, dtype: Dtype) -> Result<Vec<f64>, CallFault> {
    let d = class_dim(t);
    let len = rows::length(t, &[d]);
    let last = d.saturating_add(1) >= t.rank();
    let made = rows::map::<f64, f64>(t, &[d], t.dtype(), len, |row, out| log_softmax_row(dtype, last, row, out))?;
    let layout = Layout::of(t);
    if layout.inner <= 1 || len == 0 {
        return Ok(made);
    }
    // Classes come last here, and second in the input.
    let mut out = vec![0.0; made.len()];
    for (k, row) in made.chunks(len).enumerate() {
        for (class, v) in row.iter().enumerate() {
            out.get_mut(layout.place(k, class)).into_iter().for_each(|o| *o = *v);
        }
    }
    Ok(out)
}

fn cross_entropy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, target, dtype) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?.dtype);
    let smoothing = cx.f64(param(cx, "label_smoothing"))?;
    let scores = log_probabilities(t, dtype)?;
    let layout = Layout::of(t);
    let weight = weights::<f64>(cx, 2)?;
    let weight = weight.as_deref();
    if target.sizes() == t.sizes() && (target.dtype().is_float() || t.rank() > 1) {
        return probabilities(cx, &scores, layout, weight, smoothing);
    }
    let targets = targets(cx, layout.classes)?;
    let found = losses(&scores, layout, &targets, weight);
    let plain = match (reduction(cx)?, sums(&found, &targets, dtype, weight.is_some())) {
        (Reduction::None, _) => found.each,
        (Reduction::Sum, [sum, _]) => vec![sum],
        (Reduction::Mean, [sum, total]) => vec![sum / total],
    };
    if smoothing == 0.0 {
        return cx.emit(plain);
    }
    let weigh = |class: usize| weight.map_or(1.0, |w| w.get(class).copied().unwrap_or(1.0));
    let all_classes = |k: usize| -> f64 {
        let score = |class| scores.get(layout.place(k, class)).copied().unwrap_or(0.0) * weigh(class);
        -(0..layout.classes).map(score).sum::<f64>()
    };
    let smooth: Vec<f64> =
        targets.iter().enumerate().map(|(k, target)| if target.is_some() { all_classes(k) } else { 0.0 }).collect();
    let smooth = combined(&smooth, &found.weights, reduction(cx)?);
    let share = smoothing / count_of(layout.classes);
    cx.emit(plain.iter().zip(smooth).map(|(p, s)| (1.0 - smoothing) * p + s * share).collect::<Vec<f64>>())
}

fn combined(each: &[f64], weights: &[f64], reduction: Reduction) -> Vec<f64> {
    match reduction {
        Reduction::None => each.to_vec(),
        Reduction::Sum => vec![each.iter().sum()],
        Reduction::Mean => vec![each.iter().sum::<f64>() / weights.iter().sum::<f64>()],
    }
}

/// Targets that are probabilities of all classes; the mean is over targets, whatever they weigh.
fn probabilities(cx: &Cx<'_, '_, '_>, scores: &[f64], layout: Layout, weight: Option<&[f64]>, smoothing: f64) -> Made {
    let target = cx.tensor(1)?.lanes::<f64>()?;
    let count = target.len().checked_div(layout.classes).unwrap_or(0);
    let loss = |k: usize| -> f64 {
        let one = |class: usize| {
            let place = layout.place(k, class);
            let wanted = target.get(place).copied().unwrap_or(0.0);
            let wanted = if smoothing > 0.0 {
                wanted * (1.0 - smoothing) + smoothing / count_of(layout.classes)
            } else {
                wanted
            };
            let own = weight.map_or(1.0, |w| w.get(class).copied().unwrap_or(1.0));
            scores.get(place).copied().unwrap_or(0.0) * wanted * own
        };
        -(0..layout.classes).map(one).sum::<f64>()
    };
    let each: Vec<f64> = (0..count).map(loss).collect();
    cx.emit(match reduction(cx)? {
        Reduction::None => each,
        Reduction::Sum => vec![each.iter().sum()],
        Reduction::Mean => vec![each.iter().sum::<f64>() / count_of(count)],
    })
}

/// The gradient is minus the weight, divided by the total weight for a mean, at each target's class.
fn nll_loss_backward(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (grad, t) = (cx.tensor(0)?, cx.tensor(1)?);
    let layout = Layout::of(t);
    let targets = targets(cx, layout.classes)?;
    let weight = weights::<f64>(cx, param(cx, "weight"))?;
    let reduction = reduction(cx)?;
    let total = match reduction {
        Reduction::Mean => cx.tensor(param(cx, "total_weight"))?.lanes::<f64>()?.first().copied().unwrap_or(1.0),
        _ => 1.0,
    };
    let grad = grad.lanes::<f64>()?;
    let mut out = vec![0_f64; t.numel()];
    for (k, class) in targets.iter().enumerate() {
        let Some(class) = class else { continue };
        let own = weight.as_ref().map_or(1.0, |w| w.get(*class).copied().unwrap_or(1.0));
        let upper = grad.get(if reduction == Reduction::None { k } else { 0 }).copied().unwrap_or(0.0);
        out.get_mut(layout.place(k, *class)).into_iter().for_each(|o| *o = -own * upper / total);
    }
    cx.emit(out)
}

#[cfg(test)]
mod tests {
    use crate::exec::Value;
    use crate::exec::loops::rows::testing::{call, tensor};
    use crate::graph::Dtype;

    fn nll(target: f64) -> Result<Vec<Vec<f64>>, String> {
        let scores = tensor(Dtype::F32, &[2, 3], &[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]);
        let target = tensor(Dtype::I64, &[2], &[1.0, target]);
        let args = [scores.into(), target.into(), Value::None, Value::Int(1), Value::Int(-100)];
        call("aten.nll_loss_forward.default", &args)
    }

    #[test]
    fn ignored_targets_count_neither_as_loss_nor_as_weight() {
        assert_eq!(nll(-100.0).unwrap(), [[2.0], [1.0]]);
        assert_eq!(nll(2.0).unwrap(), [[4.0], [2.0]]);
    }

    #[test]
    fn a_class_that_does_not_exist_is_refused() {
        assert!(nll(3.0).unwrap_err().contains("classes below 3"));
    }
}
