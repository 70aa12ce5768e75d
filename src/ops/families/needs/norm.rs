//! What norms need.

use super::shared::{contiguous, no_complex_result};
use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_empty, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (no_complex_result, &["aten.softmax.int", "aten.log_softmax.int", "aten._safe_softmax.default"]),
    (
        evaluated,
        &[
            "aten.batch_norm.default",
            "aten.instance_norm.default",
            "aten.native_batch_norm.default",
            "aten._batch_norm_no_update.default",
        ],
    ),
    (lengths, &["aten._weight_norm.default"]),
    (with_channels, &["aten.group_norm.default", "aten.instance_norm.default"]),
    (widened, &["aten._softmax.default", "aten._log_softmax.default"]),
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
        ],
    ),
];

/// A length for each place of one dimension, which alone has more than one.
fn lengths(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_same_dtype(1, 0)?;
    if c.int(2)? == -1 {
        return Ok(());
    }
    let d = c.axis(2, t.rank())?;
    let mut sizes = vec![Dim::Fixed(1); t.rank()];
    if let Some(slot) = sizes.get_mut(d) {
        *slot = size(t, d);
    }
    c.need_sizes(1, &sizes)
}

const STATISTICS: [&str; 2] = ["running_mean", "running_var"];

/// Without taking statistics of the input there must be some; else both or none.
fn evaluated(c: &Call<'_>) -> Needed {
    let schema = &c.operator.schema;
    let flag = schema.param_index("training").or_else(|| schema.param_index("use_input_stats"));
    let given = |name| schema.param_index(name).is_some_and(|i| !c.is_none(i));
    if let [true, false] | [false, true] = STATISTICS.map(given) {
        return Err(c.bad(schema.param_index("running_var").unwrap_or(0), "both running statistics or none", "one"));
    }
    if flag.map_or(Ok(false), |i| c.bool(i))? {
        return Ok(());
    }
    for name in STATISTICS {
        if let Some(i) = c.operator.schema.param_index(name)
            && c.is_none(i)
        {
            return Err(c.bad(i, "statistics to evaluate with", "None"));
        }
    }
    Ok(())
}

/// There is a channel, and of groups something in it.
fn with_channels(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let looked_at = if &*c.operator.schema.name == "group_norm" { usize::MAX } else { 1 };
    if t.sizes.iter().skip(1).take(looked_at).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "channels with elements", sizes::show(c.symbols, &t.sizes)));
    }
    // Running statistics are taken of the first sample's channels, for all of them.
    let kept = c.operator.schema.param_index("running_mean").is_some_and(|i| !c.is_none(i));
    if kept && t.sizes.first() == Some(&Dim::Fixed(0)) {
        return Err(c.bad(0, "a sample", "none"));
    }
    Ok(())
}

/// Devices alone widen, and half precision alone is widened. A text without devices is of one if its annotation says so.
fn widened(c: &Call<'_>) -> Needed {
    if !c.bool(2)? {
        return Ok(());
    }
    let t = c.tensor(0)?;
    let is_said = c.annotated.and_then(ValueType::as_tensor).is_some_and(|said| said.dtype == Dtype::F32);
    if &*t.device.kind == "cpu" && !is_said {
        return Err(c.bad(2, "False: on a CPU nothing is widened", "True"));
    }
    match t.dtype {
        Dtype::F16 | Dtype::Bf16 => Ok(()),
        other => Err(c.bad(0, "float16 or bfloat16, which half_to_float widens", other.long())),
    }
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
    let given = |name| c.opt_tensor(place(c, name)).map(|t| t.is_some());
    let whole = matches!(&*c.operator.schema.name, "batch_norm" | "instance_norm");
    let training = c.operator.schema.param_index("training").map_or(Ok(true), |i| c.bool(i))?;
    if !training && !given("running_mean")? && place(c, "running_mean") == usize::MAX {
        return Err(c.bad(place(c, "training"), "True: there are no running statistics", "False"));
    }
    // Weights are repeated to the batch.
    if instance && size(t, 0).fixed() == Some(0) && (given("weight")? || given("bias")?) {
        return Err(c.bad(0, "samples to repeat weights to", sizes::show(c.symbols, &t.sizes)));
    }
    let updates = training && &*c.operator.schema.name != "_native_batch_norm_legit_no_training";
    if !whole && updates && &*c.operator.schema.name != "_batch_norm_no_update" && is_empty(t) {
        return Err(c.bad(0, "elements to take statistics of", sizes::show(c.symbols, &t.sizes)));
    }
    if instance && given("running_mean")? != given("running_var")? {
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
        if !is_left_empty(c, name)? {
            one_each(c, name, size(t, 1))?;
        }
    }
    mixed(c, 1, &["weight", "running_mean", "running_var", "save_mean", "save_invstd"])
}

/// Whether statistics of the batch are those without elements that a norm gives which does not train: nobody reads them then.
fn is_left_empty(c: &Call<'_>, name: &str) -> Result<bool, CallFault> {
    let is_of_batch = name.starts_with("save_") && !c.bool(place(c, "train"))?;
    let stated = c.opt_tensor(place(c, name))?;
    Ok(is_of_batch && stated.is_some_and(|t| t.sizes.as_slice() == [Dim::Fixed(0)]))
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
    // PyTorch's kernel reads statistics row by row, however they lie.
    for i in [3, 4] {
        contiguous(c, i)?;
    }
    for i in [5, 6] {
        if c.opt_tensor(i)?.is_some() {
            c.need_sizes(i, &shape)?;
        }
    }
    Ok(())
}
