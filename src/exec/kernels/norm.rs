//! Normalisations over the last dimensions and over groups of channels: layer, RMS and group norm, with their statistics.
//!
//! Narrow floats are computed in `f32` and rounded once. Batch and instance norm are in `batch_norm`.

use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::dense::norm::{Real, RowStatistics, layer_norm as layer_rows, rms_norm as rms_rows};
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::count_of;
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::rows;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::flat::Flat;
use crate::exec::tensor::lane::{C128, Lane, LaneKind};
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (layer_norm, &["aten.layer_norm.default", "aten.native_layer_norm.default"]),
    (rms_norm, &["aten.rms_norm.default", "aten._fused_rms_norm.default"]),
    (group_norm, &["aten.group_norm.default", "aten.native_group_norm.default"]),
];

/// Calls a function of a float lane with the lane of `$dtype`.
macro_rules! in_float_lane {
    ($dtype:expr, $f:ident($($arg:expr),*)) => {
        match LaneKind::of($dtype) {
            LaneKind::F32 => $f::<f32>($($arg),*),
            LaneKind::F64 => $f::<f64>($($arg),*),
            _ => Err(CallFault::Unsupported { what: format!("a norm of {}", $dtype.long()) }),
        }
    };
}
pub(in crate::exec) use in_float_lane;

/// Gives the first result alone where the operator has no others.
pub(in crate::exec) fn results(cx: &Cx<'_, '_, '_>, all: Vec<Tensor>) -> Value {
    let mut all = all;
    if cx.operator.schema.returns.len() == 1 && !all.is_empty() {
        return Value::Tensor(all.swap_remove(0));
    }
    all.into()
}

/// Returns the values of an optional weight.
pub(in crate::exec) fn weights<'a, L: Lane>(cx: &Cx<'a, '_, '_>, i: usize) -> Result<Option<Flat<'a, L>>, CallFault> {
    match cx.opt_tensor(i)? {
        Some(w) => w.lanes::<L>().map(Some),
        None => Ok(None),
    }
}

/// How many elements a row of the normalised shape has: as many last dimensions of the operand as it names, all where it names none.
/// What sizes it states is for the type rule: `_fused_rms_norm` looks at their number only.
fn row_width(cx: &Cx<'_, '_, '_>) -> Result<usize, CallFault> {
    let (t, named) = (cx.tensor(0)?, cx.ints(1)?.len());
    let first = if named == 0 { 0 } else { t.rank().saturating_sub(named) };
    shape::count(t.sizes().get(first..).unwrap_or_default())
}

fn layer_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    in_float_lane!(cx.tensor(0)?.dtype(), layer_norm_in(cx))
}

fn layer_norm_in<L: Lane + Real>(cx: &Cx<'_, '_, '_>) -> Made {
    let (t, width, eps) = (cx.tensor(0)?, row_width(cx)?, cx.f64(4)?);
    let values = t.lanes::<L>()?;
    let (weight, bias) = (weights::<L>(cx, 2)?, weights::<L>(cx, 3)?);
    let rows = t.numel().checked_div(width).unwrap_or(0);
    let mut out = cx.meter().unset::<L>(values.len());
    let (mut mean, mut rstd) = (vec![L::default(); rows], vec![L::default(); rows]);
    let statistics = RowStatistics { mean: &mut mean, rstd: &mut rstd };
    layer_rows(&values, &mut out, width, weight.as_deref(), bias.as_deref(), eps, statistics).map_err(rows::refused)?;
    statistics_with(cx, out, [mean, rstd])
}

/// Makes the result and, where the operator gives them, two tensors of statistics; those of no elements are not defined.
fn statistics_with<L: Lane>(cx: &Cx<'_, '_, '_>, out: Vec<L>, statistics: [Vec<L>; 2]) -> Made {
    let mut all = vec![cx.emit_at(0, out)?];
    for (k, values) in (1_usize..).zip(statistics).take(cx.result_count().saturating_sub(1)) {
        let fits = cx.meta_of(k)?.numel() == values.len();
        all.push(if fits { cx.emit_at(k, values)? } else { cx.zeros(k)? });
    }
    Ok(results(cx, all))
}

fn rms_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    if cx.tensor(0)?.dtype().is_complex() {
        return complex_rms_norm(cx);
    }
    in_float_lane!(cx.tensor(0)?.dtype(), rms_norm_in(cx))
}

/// Without an `eps` that of the dtype that is computed in is taken.
fn rms_norm_in<L: Lane + Real>(cx: &Cx<'_, '_, '_>) -> Made {
    let (t, width) = (cx.tensor(0)?, row_width(cx)?);
    let least = if L::DTYPE == Dtype::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let eps = if cx.is_none(3) { least } else { cx.f64(3)? };
    let values = t.lanes::<L>()?;
    let weight = weights::<L>(cx, 2)?;
    let mut out = cx.meter().unset::<L>(values.len());
    let mut rstd = vec![L::default(); t.numel().checked_div(width).unwrap_or(0)];
    rms_rows(&values, &mut out, width, weight.as_deref(), eps, &mut rstd).map_err(rows::refused)?;
    statistics_with(cx, out, [rstd, Vec::new()])
}

/// Complex numbers are squared as they are, not by magnitude.
fn complex_rms_norm(cx: &Cx<'_, '_, '_>) -> Made {
    let (t, width) = (cx.tensor(0)?, row_width(cx)?.max(1));
    let least = if t.dtype() == Dtype::C128 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let eps = if cx.is_none(3) { least } else { cx.f64(3)? };
    let (values, weight) = (t.lanes::<C128>()?, weights::<C128>(cx, 2)?);
    let mut out = Vec::with_capacity(values.len());
    for row in values.chunks(width) {
        let squares: C128 = row.iter().map(|v| v * v).sum();
        let scale = C128::new(1.0, 0.0) / (squares / count_of(row.len()) + eps).sqrt();
        let own = |k: usize| weight.as_ref().and_then(|w| w.get(k).copied()).unwrap_or(C128::new(1.0, 0.0));
        out.extend(row.iter().enumerate().map(|(k, v)| v * scale * own(k)));
    }
    cx.emit_at(0, out).map(Value::Tensor)
}

/// Groups of channels: how many rows of how many channels of how many elements.
struct Groups {
    groups: usize,
    channels: usize,
    inner: usize,
    weight: usize,
    bias: usize,
    eps: usize,
}

fn groups(cx: &Cx<'_, '_, '_>) -> Result<Groups, CallFault> {
    let t = cx.tensor(0)?;
    let schema = &cx.operator.schema;
    let place = |name| schema.param_index(name).unwrap_or(usize::MAX);
    let number = |i: usize| -> Result<usize, CallFault> {
        let found = cx.int(i)?;
        usize::try_from(found).map_err(|_| cx.bad(i, "no negative number", found.to_string()))
    };
    let native = &*schema.name == "native_group_norm";
    let group = place(if native { "group" } else { "num_groups" });
    let (channels, inner) = if native {
        (number(4)?, number(5)?)
    } else {
        (t.meta.size(1), shape::numel(t.sizes().get(2..).unwrap_or(&[])))
    };
    let found = Groups {
        groups: number(group)?,
        channels,
        inner,
        weight: place("weight"),
        bias: place("bias"),
        eps: place("eps"),
    };
    if (inner == 0 || channels == 0) && !native {
        return Err(cx.bad(0, "channels with elements", format!("the sizes {:?}", t.sizes())));
    }
    if found.groups == 0 || channels.checked_rem(found.groups) != Some(0) {
        return Err(cx.bad(group, format!("a divisor of {channels}"), found.groups.to_string()));
    }
    Ok(found)
}

fn group_norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    in_float_lane!(cx.tensor(0)?.dtype(), group_norm_in(cx))
}

fn group_norm_in<L: Lane + Real>(cx: &Cx<'_, '_, '_>) -> Made {
    let (t, g) = (cx.tensor(0)?, groups(cx)?);
    let each = g.channels.checked_div(g.groups).unwrap_or(0);
    let width = each.saturating_mul(g.inner);
    let eps = cx.f64(g.eps)?;
    let values = t.lanes::<L>()?;
    let (weight, bias) = (weights::<L>(cx, g.weight)?, weights::<L>(cx, g.bias)?);
    let rows = values.len().checked_div(width).unwrap_or(0);
    let mut out = cx.meter().unset::<L>(values.len());
    let (mut mean, mut rstd) = (vec![L::default(); rows], vec![L::default(); rows]);
    if width > 0 {
        let statistics = mean.par_iter_mut().zip(&mut rstd);
        let each_row = values.par_chunks(width).zip(out.par_chunks_mut(width)).zip(statistics).enumerate();
        each_row.for_each(|(k, ((x, out), (mean, rstd)))| {
            (*mean, *rstd) = L::layer_norm_row(x, out, None, None, eps);
            let first = k.checked_rem(g.groups).unwrap_or(0).saturating_mul(each);
            for (c, plane) in (first..).zip(out.chunks_mut(g.inner.max(1))) {
                let at = |all: &Option<Flat<'_, L>>, other: f64| {
                    all.as_ref().and_then(|v| v.get(c).copied()).unwrap_or(L::from_f64(other))
                };
                let (w, b) = (at(&weight, 1.0), at(&bias, 0.0));
                L::affine(plane, w, b);
            }
        });
    }
    statistics_with(cx, out, [mean, rstd])
}
