//! What reductions, losses and scans need.

use super::shared::{first, from_the_front, no_complex_result, real_numbers, real_pair};
use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_empty, is_inexact, is_long, is_real, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (
        |c| first(c, "of floats or complex numbers", is_inexact),
        &[
            "aten.std.correction",
            "aten.std.default",
            "aten.std.dim",
            "aten.std_mean.correction",
            "aten.var.correction",
            "aten.var.default",
            "aten.var.dim",
            "aten.var_mean.correction",
            "aten.var_mean.dim",
            "aten.norm.Scalar",
            "aten.norm.ScalarOpt_dim",
            "prims.var.default",
        ],
    ),
    (|c| first(c, "of reals", is_real), &["aten.kl_div.default"]),
    (|c| first(c, "other than bool", |d| d != Dtype::Bool), &["aten.argmax.default", "aten.argmin.default"]),
    (no_complex_result, &["aten.nanmean.default", "aten.nansum.default"]),
    (
        |c| match c.arg(1).items() {
            Some([]) if c.tensor(0)?.rank() > 0 => Err(c.bad(1, "a dimension", "none")),
            _ => Ok(()),
        },
        &["aten.logsumexp.default"],
    ),
    (no_boolean_difference, &["aten.dist.default", "aten.l1_loss.default"]),
    (real_pair, &["aten.max.other", "aten.min.other"]),
    (
        whole_or_sized,
        &[
            "aten.amax.default",
            "aten.amin.default",
            "aten.argmax.default",
            "aten.argmin.default",
            "aten.aminmax.default",
            "aten.max.default",
            "aten.min.default",
            "aten.max.dim",
            "aten.min.dim",
            "aten.median.dim",
            "aten.nanmedian.dim",
            "aten.mode.default",
            "aten.kthvalue.default",
        ],
    ),
    (
        |c| c.need_dtype(0, "of reals", is_real),
        &["aten.argmax.default", "aten.argmin.default", "aten.aminmax.default", "aten.max.dim", "aten.min.dim"],
    ),
    (up_to_64, &["aten.amax.default", "aten.amin.default", "aten.aminmax.default"]),
    (kth, &["aten.kthvalue.default"]),
    (|c| c.need_rank(0, 2..=2), &["aten.trace.default"]),
    (
        |c| real_numbers(c, &[2]),
        &["aten.var.correction", "aten.std.correction", "aten.var_mean.correction", "aten.std_mean.correction"],
    ),
    (order_of_norm, &["aten.linalg_vector_norm.default", "aten.norm.Scalar", "aten.norm.ScalarOpt_dim"]),
    (|c| broadcast(c, 0, 1), &["aten.dist.default"]),
    (order_of_distance, &["aten.dist.default"]),
    (|c| c.need_dtype(0, "of reals", is_real), &["aten.kl_div.default"]),
    (|c| c.need_dtype(0, "of floats", is_inexact), &["aten.kl_div.default"]),
    (|c| c.need_dtype(1, "of floats", is_inexact), &["aten.kl_div.default"]),
    (|c| c.need_float(3, "more than 0", |d| d > 0.0), &["aten.huber_loss.default"]),
    (|c| c.need_float(3, "0 or more", |d| d >= 0.0), &["aten.smooth_l1_loss.default"]),
    (reduction, &["aten.mse_loss.default", "aten.smooth_l1_loss.default"]),
    (likelihood, &["aten.binary_cross_entropy.default"]),
    (likelihood_of_logits, &["aten.binary_cross_entropy_with_logits.default"]),
    (|c| classes(c, 2), &["aten.nll_loss_forward.default"]),
    (|c| classes(c, 4), &["aten.nll_loss2d_forward.default"]),
    (classes_or_probabilities, &["aten.cross_entropy_loss.default"]),
    (classes_of_any, &["aten.nll_loss_nd.default"]),
    (
        from_the_front,
        &["prims.sum.default", "prims.prod.default", "prims.amax.default", "prims.amin.default", "prims.var.default"],
    ),
    (differences, &["aten.diff.default"]),
];

fn no_boolean_difference(c: &Call<'_>) -> Needed {
    for i in [0, 1] {
        if c.tensor(i)?.dtype == Dtype::Bool {
            return Err(c.bad(i, "no bool, which has no difference", "bool"));
        }
    }
    Ok(())
}

/// What has no identity needs an element: along each reduced dimension, or anywhere where none is named.
fn whole_or_sized(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if !is_empty(t) {
        return Ok(());
    }
    let place = c.operator.schema.param_index("dim");
    let named = place.and_then(|i| c.axes(i, t.rank()).transpose()).transpose()?.filter(|d| !d.is_empty());
    let lacks = match (&named, place) {
        (Some(dims), _) => dims.iter().any(|d| size(t, *d) == Dim::Fixed(0)),
        (None, _) => true,
    };
    if lacks {
        return Err(c.bad(0, "an element in each reduction", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn up_to_64(c: &Call<'_>) -> Needed {
    c.need_rank(0, 0..=64)
}

fn kth(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let length = size(t, c.axis(2, t.rank())?).fixed().unwrap_or(i64::MAX);
    c.need_int(1, 1..=length)
}

/// A distance of an order below 0, or of infinity, has no value for nothing.
fn order_of_distance(c: &Call<'_>) -> Needed {
    let needs_one = c.float(2).is_some_and(|order| order < 0.0 || order == f64::INFINITY);
    for i in [0, 1] {
        if needs_one && is_empty(c.tensor(i)?) {
            return Err(c.bad(i, "an element", sizes::show(c.symbols, &c.tensor(i)?.sizes)));
        }
    }
    Ok(())
}

/// A norm of an order below 0, or of infinity, has no value for nothing.
fn order_of_norm(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if matches!(c.arg(1), Arg::Complex(..)) {
        return Err(c.bad(1, "a real order", "a complex number"));
    }
    let needs_one = c.float(1).is_some_and(|order| order < 0.0 || order == f64::INFINITY);
    if !needs_one || !is_empty(t) {
        return Ok(());
    }
    let place = c.operator.schema.param_index("dim");
    let named = place.and_then(|i| c.axes(i, t.rank()).transpose()).transpose()?.filter(|d| !d.is_empty());
    if named.is_none_or(|dims| dims.iter().any(|d| size(t, *d) == Dim::Fixed(0))) {
        return Err(c.bad(0, "an element in each reduction", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn broadcast(c: &Call<'_>, i: usize, j: usize) -> Needed {
    let (a, b) = (c.tensor(i)?, c.tensor(j)?);
    crate::ops::typing::out::broadcast(c, j, &[&a.sizes, &b.sizes]).map(|_| ())
}

fn reduction(c: &Call<'_>) -> Needed {
    c.need_int(2, 0..=2)
}

fn likelihood(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_same_dtype(1, 0)?;
    c.need_same_dtype(2, 0)?;
    match c.opt_tensor(2)? {
        Some(w) => crate::ops::typing::out::broadcast(c, 2, &[&t.sizes, &w.sizes]).map(|_| ()),
        None => Ok(()),
    }
}

fn likelihood_of_logits(c: &Call<'_>) -> Needed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    c.need_broadcast_to(0, &target.sizes)?;
    if c.opt_tensor(2)?.is_some() {
        c.need_broadcast_to(2, &target.sizes)?;
    }
    let Some(positive) = c.opt_tensor(3)? else { return Ok(()) };
    let weighted = crate::ops::typing::out::broadcast(c, 3, &[&positive.sizes, &target.sizes])?;
    if c.broadcasts_to(&weighted, &t.sizes) {
        return Ok(());
    }
    let expected = format!("sizes that broadcast to {}", sizes::show(c.symbols, &t.sizes));
    Err(c.bad(3, expected, sizes::show(c.symbols, &positive.sizes)))
}

fn class_dtype(c: &Call<'_>) -> Needed {
    c.need_dtype(1, "int64 or uint8", |d| is_long(d) || d == Dtype::U8)
}

/// One weight a class.
fn class_weights(c: &Call<'_>, t: &TensorType) -> Needed {
    let classes = if t.rank() == 1 { size(t, 0) } else { size(t, 1) };
    match c.opt_tensor(2)? {
        Some(w) if w.rank() > 1 || sizes::differ(c.symbols, classes, size(w, 0)) => {
            let expected = format!("{} weights, one a class", c.symbols.print_python(classes));
            Err(c.bad(2, expected, sizes::show(c.symbols, &w.sizes)))
        }
        Some(_) if !is_empty(t) => c.need_same_dtype(2, 0),
        _ => Ok(()),
    }
}

/// `rank`: 2 for the flat form, 4 for images.
fn classes(c: &Call<'_>, rank: usize) -> Needed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    class_dtype(c)?;
    if rank == 4 {
        c.need_rank(0, 4..=4)?;
        c.need_rank(1, 3..=3)?;
        c.need_sizes(1, &[size(t, 0), size(t, 2), size(t, 3)])?;
        return class_weights(c, t);
    }
    c.need_rank(0, 1..=2)?;
    c.need_rank(1, 0..=1)?;
    if t.rank() == 2 {
        c.need_equal(1, "one class a row,", size(t, 0), size(target, 0))?;
    }
    class_weights(c, t)
}

fn batched(c: &Call<'_>) -> Needed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    class_dtype(c)?;
    match t.rank() {
        0 => return c.need_rank(0, 1..=usize::MAX),
        1 => {
            c.need_rank(1, 0..=1)?;
            c.need_equal(1, "one class:", Dim::Fixed(1), size(target, 0))?;
        }
        _ => {
            c.need_equal(1, "as many targets as inputs,", size(t, 0), size(target, 0))?;
            let wanted: Vec<Dim> = t.sizes.iter().enumerate().filter(|(d, _)| *d != 1).map(|(_, s)| *s).collect();
            c.need_sizes(1, &wanted)?;
        }
    }
    class_weights(c, t)
}

fn classes_of_any(c: &Call<'_>) -> Needed {
    batched(c)
}

fn classes_or_probabilities(c: &Call<'_>) -> Needed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    c.need_float(5, "a smoothing from 0 to 1", |s| (0.0..=1.0).contains(&s))?;
    if !c.can_equal(&t.sizes, &target.sizes) {
        return batched(c);
    }
    c.need_dtype(1, "of floats, for probabilities", |d| is_inexact(d) && !d.is_complex())?;
    c.need_int(3, 0..=2)?;
    if !c.is_none(2) {
        c.need_rank(2, 1..=1)?;
        let classes = t.sizes.get(usize::from(t.rank() > 1)).copied();
        if !classes.is_none_or(|n| c.can_equal(&[n], &c.tensor(2).map(|w| w.sizes.clone()).unwrap_or_default())) {
            return Err(c.bad(2, "a weight of each class", "others"));
        }
    }
    match c.arg(4) {
        Arg::Int(n) if *n >= 0 => Err(c.bad(4, "no ignored class with probabilities", n.to_string())),
        _ => Ok(()),
    }
}

fn differences(c: &Call<'_>) -> Needed {
    c.need_rank(0, 1..=usize::MAX)?;
    c.need_int(1, 0..=i64::MAX)?;
    let (t, d) = (c.tensor(0)?, c.axis(2, c.tensor(0)?.rank())?);
    for i in [3, 4] {
        let Some(more) = c.opt_tensor(i)? else { continue };
        let mut wanted = t.sizes.clone();
        if let (Some(slot), Some(own)) = (wanted.get_mut(d), more.sizes.get(d)) {
            *slot = *own;
        }
        c.need_sizes(i, &wanted)?;
    }
    Ok(())
}
