//! Padding: by a number, by reflection, by the border, around in a circle.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::movement::{identity, picked};
use crate::exec::numbers::checked::{filled, fits, scalar_for};
use crate::exec::tensor::Tensor;
use crate::exec::tensor::value::{Scalar, Value};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (constant, &["aten.constant_pad_nd.default"]),
    (by_mode, &["aten.pad.default"]),
    (
        |cx| border(cx, Border::Reflect),
        &["aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default"],
    ),
    (
        |cx| border(cx, Border::Replicate),
        &["aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default"],
    ),
    (|cx| border(cx, Border::Circular), &["aten._pad_circular.default"]),
];

/// What lies outside the tensor.
#[derive(Clone, Copy, PartialEq)]
enum Border {
    Reflect,
    Replicate,
    Circular,
}

/// Returns the paddings before and after each dimension, in the order of dimensions.
fn paddings(cx: &Cx<'_, '_, '_>, rank: usize) -> Result<Vec<(i64, i64)>, CallFault> {
    let pads = cx.ints(1)?;
    if !pads.len().is_multiple_of(2) || pads.len() / 2 > rank {
        return Err(cx.bad(1, format!("pairs for at most {rank} dimensions"), pads.len().to_string()));
    }
    let mut out = vec![(0, 0); rank];
    for (slot, pair) in out.iter_mut().rev().zip(pads.chunks(2)) {
        if let [before, after] = pair {
            *slot = (*before, *after);
        }
    }
    Ok(out)
}

fn constant(cx: &mut Cx<'_, '_, '_>) -> Made {
    // Where nothing is filled PyTorch does not look at the number.
    let grows = cx.ints(1)?.iter().any(|p| *p > 0);
    let value = if grows { scalar_for(cx, 2, cx.tensor(0)?.dtype())? } else { Scalar::Int(0) };
    by_number(cx, value)
}

/// Negative paddings cut.
fn by_number(cx: &Cx<'_, '_, '_>, value: Scalar) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    let out = filled(cx, &meta, value)?;
    let (mut from, mut to) = (t.clone(), out.clone());
    let count = |n: i64| usize::try_from(n).unwrap_or(0);
    for (d, (before, after)) in paddings(cx, t.rank())?.into_iter().enumerate() {
        let (cut, end) = (count(before.saturating_neg()), count(after.saturating_neg()));
        let Some(kept) = t.meta.size(d).checked_sub(cut.saturating_add(end)) else {
            return Err(cx.bad(1, "paddings that leave a size", format!("{before}, {after}")));
        };
        from = from.narrow(d, cut, kept)?;
        to = to.narrow(d, count(before), kept)?;
    }
    to.copy_from(&from)?;
    Ok(out.into())
}

fn by_mode(cx: &mut Cx<'_, '_, '_>) -> Made {
    let dtype = cx.tensor(0)?.dtype();
    match cx.text(2) {
        "constant" => {
            let value = if cx.is_none(3) { Scalar::Float(0.0) } else { cx.scalar(3)? };
            let grows = cx.ints(1)?.iter().any(|p| *p > 0);
            if grows && !fits(value, dtype) {
                return Err(cx.bad(3, format!("a number that {} holds", dtype.long()), format!("{value:?}")));
            }
            by_number(cx, value)
        }
        _ if !cx.is_none(3) && cx.f64(3)? != 0.0 => Err(cx.bad(3, "no value in this mode", "a value")),
        "reflect" => border(cx, Border::Reflect),
        "replicate" => border(cx, Border::Replicate),
        "circular" => border(cx, Border::Circular),
        other => Err(cx.bad(2, "constant, reflect, replicate or circular", other)),
    }
}

fn border(cx: &mut Cx<'_, '_, '_>, border: Border) -> Made {
    let (t, meta) = (cx.tensor(0)?, cx.meta()?);
    let pads = paddings(cx, t.rank())?;
    let padded = cx.ints(1)?.len() / 2;
    check_rank(cx, t, padded)?;
    if meta.sizes.iter().rev().take(padded).any(|n| *n == 0) {
        return Err(cx.bad(1, "paddings that leave something", format!("the sizes {:?}", meta.sizes.as_slice())));
    }
    let mut maps = identity(t.sizes());
    for ((map, (before, after)), size) in maps.iter_mut().zip(pads).zip(t.sizes()) {
        if (before, after) != (0, 0) {
            *map = outside(cx, border, *size, before, after)?;
        }
    }
    Ok(picked(cx, t, &meta, maps)?.into())
}

/// As many dimensions as are padded, one of channels, and perhaps one of the batch, the only one that may be empty.
fn check_rank(cx: &Cx<'_, '_, '_>, t: &Tensor, padded: usize) -> Result<(), CallFault> {
    let batched = t.rank() == padded.saturating_add(2);
    let rest = t.sizes().get(usize::from(batched)..).unwrap_or(&[]);
    if !(batched || t.rank() == padded.saturating_add(1)) || rest.contains(&0) {
        let expected = format!(
            "{} or {} dimensions, none empty but the batch",
            padded.saturating_add(1),
            padded.saturating_add(2)
        );
        return Err(cx.bad(0, expected, format!("sizes {:?}", t.sizes())));
    }
    Ok(())
}

fn outside(cx: &Cx<'_, '_, '_>, border: Border, size: usize, before: i64, after: i64) -> Result<Vec<usize>, CallFault> {
    let n = i64::try_from(size).unwrap_or(i64::MAX);
    let (limit, what) = match border {
        Border::Reflect => (n.saturating_sub(1), "less than the size"),
        Border::Circular => (n, "at most the size"),
        Border::Replicate => (i64::MAX, ""),
    };
    if before > limit || after > limit {
        return Err(cx.bad(1, format!("paddings of {what} {n}"), format!("{before}, {after}")));
    }
    let last = n.saturating_sub(1);
    // Around goes what negative paddings leave.
    let cut = before.min(0).saturating_neg();
    let left = n.saturating_sub(cut).saturating_add(after.min(0));
    let at = |k: i64| match border {
        Border::Replicate => k.clamp(0, last),
        Border::Circular => k.saturating_sub(cut).checked_rem_euclid(left).unwrap_or(0).saturating_add(cut),
        Border::Reflect if k < 0 => k.saturating_neg(),
        Border::Reflect if k > last => last.saturating_mul(2).saturating_sub(k),
        Border::Reflect => k,
    };
    let range = before.saturating_neg()..n.saturating_add(after);
    Ok(range.map(|k| usize::try_from(at(k)).unwrap_or(0)).collect())
}
