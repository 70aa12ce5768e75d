//! What normalisations, softmax and class losses need: parameters of one size a channel, dtypes that go together.

use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_empty, is_inexact, is_long, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (not_widened, &["aten._softmax.default", "aten._log_softmax.default"]),
    (gradient_of_softmax, &["aten._softmax_backward_data.default"]),
    (
        |c| c.axis(2, c.tensor(0)?.rank()).map(|_| ()),
        &["aten._softmax_backward_data.default", "aten._log_softmax_backward_data.default"],
    ),
    (
        by_channel,
        &[
            "aten.batch_norm.default",
            "aten.instance_norm.default",
            "aten.native_batch_norm.default",
            "aten._native_batch_norm_legit.default",
            "aten._native_batch_norm_legit.no_stats",
            "aten._native_batch_norm_legit_no_training.default",
            "aten._native_batch_norm_legit_functional.default",
            "aten._batch_norm_no_update.default",
            "aten._batch_norm_with_update.default",
        ],
    ),
    (|c| mixed(c, 0, &["weight", "bias"]), &["aten.layer_norm.default", "aten.native_layer_norm.default"]),
    (batch_gradient, &["aten.native_batch_norm_backward.default"]),
    (group, &["aten.group_norm.default"]),
    (native_group, &["aten.native_group_norm.default"]),
    (group_gradient, &["aten.native_group_norm_backward.default"]),
    (layer_gradient, &["aten.native_layer_norm_backward.default"]),
    (
        |c| c.need_length(c.operator.schema.param_index("output_mask").unwrap_or(usize::MAX), &[3]),
        &[
            "aten.native_batch_norm_backward.default",
            "aten.native_group_norm_backward.default",
            "aten.native_layer_norm_backward.default",
            "aten.convolution_backward.default",
        ],
    ),
    (|c| classes(c, 2), &["aten.nll_loss_forward.default"]),
    (|c| classes(c, 4), &["aten.nll_loss2d_forward.default"]),
    (classes_or_probabilities, &["aten.cross_entropy_loss.default"]),
    (classes_of_any, &["aten.nll_loss_nd.default"]),
];

fn not_widened(c: &Call<'_>) -> Needed {
    if c.bool(2)? { Err(c.bad(2, "False: on a CPU nothing is widened", "True")) } else { Ok(()) }
}

fn gradient_of_softmax(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_sizes(1, &t.sizes)
}

fn place(c: &Call<'_>, name: &str) -> usize {
    c.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

/// Parameters are of the input's dtype; of a half-precision input they may be float32, all of them.
fn mixed(c: &Call<'_>, i: usize, names: &[&str]) -> Needed {
    let t = c.tensor(i)?;
    let half = matches!(t.dtype, Dtype::F16 | Dtype::Bf16);
    let mut first: Option<Dtype> = None;
    for name in names {
        let Some(p) = c.opt_tensor(place(c, name))? else { continue };
        let wanted = *first.get_or_insert(if half && p.dtype == Dtype::F32 { Dtype::F32 } else { t.dtype });
        if p.dtype != wanted {
            return Err(c.bad(place(c, name), format!("dtype {}", wanted.long()), p.dtype.long()));
        }
    }
    Ok(())
}

fn one_each(c: &Call<'_>, name: &str, channels: Dim) -> Needed {
    let i = place(c, name);
    match c.opt_tensor(i)? {
        Some(_) => c.need_sizes(i, &[channels]),
        None => Ok(()),
    }
}

const PARAMETERS: &[&str] = &["weight", "bias", "running_mean", "running_var"];

fn by_channel(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let instance = &*c.operator.schema.name == "instance_norm";
    // Of one dimension only nothing can be normalised.
    if t.rank() < 2 && !is_empty(t) {
        c.need_rank(0, 2..=usize::MAX)?;
    }
    let channels = if t.rank() > 1 { size(t, 1) } else { size(t, 0) };
    for name in PARAMETERS {
        one_each(c, name, channels)?;
    }
    let running = |name| c.opt_tensor(place(c, name)).map(|t| t.is_some());
    let whole = matches!(&*c.operator.schema.name, "batch_norm" | "instance_norm");
    let training = c.operator.schema.param_index("training").map_or(Ok(true), |i| c.bool(i))?;
    if !training && !running("running_mean")? && place(c, "running_mean") == usize::MAX {
        return Err(c.bad(place(c, "training"), "True: there are no running statistics", "False"));
    }
    let updates = training && &*c.operator.schema.name != "_native_batch_norm_legit_no_training";
    if !whole && updates && &*c.operator.schema.name != "_batch_norm_no_update" && is_empty(t) {
        return Err(c.bad(0, "elements to take statistics of", sizes::show(c.symbols, &t.sizes)));
    }
    if instance && running("running_mean")? != running("running_var")? {
        return Err(c.bad(place(c, "running_var"), "both running statistics or none", "one"));
    }
    if !is_empty(t) {
        mixed(c, 0, PARAMETERS)?;
    }
    Ok(())
}

fn batch_gradient(c: &Call<'_>) -> Needed {
    let t = c.tensor(1)?;
    c.need_rank(1, 2..=usize::MAX)?;
    c.need_sizes(0, &t.sizes)?;
    c.need_same_dtype(0, 1)?;
    for name in ["weight", "running_mean", "running_var", "save_mean", "save_invstd"] {
        one_each(c, name, size(t, 1))?;
    }
    mixed(c, 1, &["weight", "running_mean", "running_var", "save_mean", "save_invstd"])
}

fn groups_fit(c: &Call<'_>, i: usize, channels: Dim) -> Needed {
    let groups = c.int(i)?;
    c.need_int(i, 1..=i64::MAX)?;
    match channels.fixed() {
        Some(n) if n.checked_rem(groups) != Some(0) => {
            Err(c.bad(i, format!("a divisor of {n} channels"), groups.to_string()))
        }
        _ => Ok(()),
    }
}

fn group(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_rank(0, 2..=usize::MAX)?;
    groups_fit(c, 1, size(t, 1))?;
    one_each(c, "weight", size(t, 1))?;
    one_each(c, "bias", size(t, 1))?;
    mixed(c, 0, &["weight", "bias"])
}

/// Batch, channels and places, as the arguments say them, make the whole input.
fn volume(c: &Call<'_>, i: usize, from: usize) -> Needed {
    let t = c.tensor(i)?;
    let fixed = |d: &Dim| d.fixed();
    let own = t.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(fixed(d)?));
    let mut told = Some(1_i64);
    for k in 0..3_usize {
        told = told.and_then(|n| n.checked_mul(c.dim(from.saturating_add(k)).ok()?.fixed()?));
    }
    match (own, told) {
        (Some(own), Some(told)) if own != told => Err(c.bad(i, format!("{told} elements"), own.to_string())),
        _ => Ok(()),
    }
}

fn native_group(c: &Call<'_>) -> Needed {
    for i in 3..6 {
        // Statistics of a batch without elements are allocated, too.
        c.need_int(i, 0..=1 << 40)?;
    }
    volume(c, 0, 3)?;
    let channels = c.dim(4)?;
    groups_fit(c, 6, channels)?;
    one_each(c, "weight", channels)?;
    one_each(c, "bias", channels)?;
    mixed(c, 0, &["weight", "bias"])
}

fn group_gradient(c: &Call<'_>) -> Needed {
    volume(c, 0, 5)?;
    volume(c, 1, 5)?;
    c.need_same_dtype(1, 0)?;
    let (batch, channels, groups) = (c.dim(5)?, c.dim(6)?, c.int(8)?);
    groups_fit(c, 8, channels)?;
    let Some(count) = batch.fixed().and_then(|n| n.checked_mul(groups)) else { return Ok(()) };
    for i in [2, 3] {
        let own = c.tensor(i)?.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?));
        if own.is_some_and(|n| n != count) {
            return Err(c.bad(i, format!("{count} elements"), own.unwrap_or(0).to_string()));
        }
    }
    match c.opt_tensor(4)? {
        Some(w) if w.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?)) != channels.fixed() => {
            Err(c.bad(4, "one element a channel", sizes::show(c.symbols, &w.sizes)))
        }
        _ => mixed(c, 0, &["mean", "rstd"]),
    }
}

fn layer_gradient(c: &Call<'_>) -> Needed {
    let (t, shape) = (c.tensor(1)?, c.dims(2)?);
    let start = t.rank().saturating_sub(shape.len());
    let tail: Vec<Dim> = t.sizes.iter().skip(start).copied().collect();
    if shape.is_empty() || !c.can_equal(&tail, &shape) {
        let expected = format!("the last sizes of {}", sizes::show(c.symbols, &t.sizes));
        return Err(c.bad(2, expected, sizes::show(c.symbols, &shape)));
    }
    c.need_same_dtype(0, 1)?;
    for i in [5, 6] {
        if c.opt_tensor(i)?.is_some() {
            c.need_sizes(i, &shape)?;
        }
    }
    Ok(())
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
    match c.arg(4) {
        Arg::Int(n) if *n >= 0 => Err(c.bad(4, "no ignored class with probabilities", n.to_string())),
        _ => Ok(()),
    }
}
