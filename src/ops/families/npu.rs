//! Operators of torch_npu. Types follow the published meta functions and documents; what these leave open has no rule.
//!
//! Results are contiguous.

use crate::graph::{Arg, Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (rms_norm, &["npu.npu_rms_norm.default", "npu.npu_gemma_rms_norm.default"]),
    (add_rms_norm, &["npu.npu_add_rms_norm.default"]),
    (add_rms_norm_v2, &["npu.npu_add_rms_norm_v2.default"]),
    (add_rms_norm_functional, &["npu.npu_add_rms_norm_v2_functional.default"]),
    (add_rms_norm_cast, &["npu.npu_add_rms_norm_cast.default"]),
    (add_rms_norm_quant, &["npu.npu_add_rms_norm_quant.default"]),
    (add_rms_norm_dynamic_quant, &["npu.npu_add_rms_norm_dynamic_quant.default"]),
    (rms_norm_quant, &["npu.npu_rms_norm_quant.default"]),
    (add_layer_norm, &["npu.npu_add_layer_norm.default"]),
    (deep_norm, &["npu.npu_deep_norm.default"]),
    (group_norm_silu, &["npu.npu_group_norm_silu.default"]),
    (
        like,
        &[
            "npu.npu_layer_norm_eval.default",
            "npu.npu_gelu.default",
            "npu.npu_silu.default",
            "npu.npu_fast_gelu.default",
            "npu.fast_gelu.default",
            "npu.npu_gelu_backward.default",
            "npu.npu_scaled_masked_softmax.default",
            "npu.npu_rotary_mul.default",
            "npu.npu_interleave_rope.default",
            "npu.npu_top_k_top_p.default",
            "npu.scatter_update.default",
            "npu.npu_scatter_nd_update.default",
            "npu.npu_quant_scatter.default",
            "npu.npu_format_cast.default",
        ],
    ),
    (halved, &["npu.npu_swiglu.default", "npu.npu_clipped_swiglu.default", "npu.npu_gelu_mul.default"]),
    (geglu, &["npu.npu_geglu.default"]),
    (rotary_pair, &["npu.npu_apply_rotary_pos_emb.default"]),
    (linear, &["npu.npu_linear.default"]),
    (bmm, &["npu.npu_bmmV2.default"]),
    (transpose_bmm, &["npu.npu_transpose_batchmatmul.default"]),
    (transpose, &["npu.npu_transpose.default"]),
    (confusion_transpose, &["npu.npu_confusion_transpose.default"]),
    (grouped, &["npu.npu_grouped_matmul.default"]),
    (cross_entropy, &["npu.npu_cross_entropy_loss.default"]),
    (cast, &["npu._npu_dtype_cast.default", "npu._npu_dtype_cast_backward.default"]),
    (|c| cast_of(c, 2, 1), &["npu.npu_dtype_cast.default"]),
    (|c| cast_of(c, 2, 3), &["npu.npu_dtype_cast_backward.default"]),
];

pub(in crate::ops) fn made(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    out::contiguous(c.symbols, dtype, dims, t.device.clone())
}

pub(in crate::ops) fn same(c: &mut Call<'_>, t: &TensorType) -> Typed {
    made(c, t.dtype, t, t.sizes.clone())
}

pub(in crate::ops) fn size(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

pub(in crate::ops) fn last(t: &TensorType) -> Dim {
    size(t, t.rank().saturating_sub(1))
}

/// Every size but the last.
pub(in crate::ops) fn rows(t: &TensorType) -> Sizes {
    t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect()
}

/// What statistics and scales of these are computed in: f64 where one is, else f32.
pub(in crate::ops) fn wide(tensors: &[&TensorType]) -> Dtype {
    if tensors.iter().any(|t| t.dtype == Dtype::F64) { Dtype::F64 } else { Dtype::F32 }
}

/// Reciprocal root mean squares: every normalised dimension 1. `gamma` must be a tail of `t`.
fn rstd(c: &mut Call<'_>, i: usize, t: &TensorType, gamma: &TensorType) -> Typed {
    let tail = t.rank().checked_sub(gamma.rank());
    let fits = tail.is_some_and(|start| {
        !t.sizes.iter().skip(start).zip(&gamma.sizes).any(|(a, b)| sizes::differ(c.symbols, *a, *b))
    });
    let (Some(start), true) = (tail, fits) else {
        let expected = format!("the last sizes of {}", sizes::show(c.symbols, &t.sizes));
        return Err(c.bad(i, expected, sizes::show(c.symbols, &gamma.sizes)));
    };
    let dims = t.sizes.iter().enumerate().map(|(d, s)| if d < start { *s } else { Dim::Fixed(1) }).collect();
    made(c, wide(&[t, gamma]), t, dims)
}

fn rms_norm(c: &mut Call<'_>) -> Typed {
    let (t, gamma) = (c.tensor(0)?, c.tensor(1)?);
    Ok(out::many([same(c, t)?, rstd(c, 1, t, gamma)?]))
}

/// Checks that both summands have one shape and dtype; gives the sum's type and `rstd`.
fn summed<'a>(c: &mut Call<'a>) -> Result<(&'a TensorType, ValueType, ValueType), CallFault> {
    let (a, b, gamma) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let differs = a.rank() != b.rank() || a.sizes.iter().zip(&b.sizes).any(|(x, y)| sizes::differ(c.symbols, *x, *y));
    if differs {
        return Err(c.bad(1, format!("sizes {}", sizes::show(c.symbols, &a.sizes)), sizes::show(c.symbols, &b.sizes)));
    }
    if a.dtype != b.dtype {
        return Err(c.bad(1, format!("dtype {}", a.dtype.long()), b.dtype.long()));
    }
    let sum = same(c, a)?;
    let rstd = rstd(c, 2, a, gamma)?;
    Ok((a, sum, rstd))
}

fn add_rms_norm(c: &mut Call<'_>) -> Typed {
    let (_, x, rstd) = summed(c)?;
    Ok(out::many([x.clone(), rstd, x]))
}

fn add_rms_norm_v2(c: &mut Call<'_>) -> Typed {
    Ok(summed(c)?.2)
}

fn add_rms_norm_functional(c: &mut Call<'_>) -> Typed {
    let (_, x, rstd) = summed(c)?;
    Ok(out::many([rstd, x.clone(), x]))
}

fn add_rms_norm_cast(c: &mut Call<'_>) -> Typed {
    let (t, x, rstd) = summed(c)?;
    Ok(out::many([made(c, wide(&[t]), t, t.sizes.clone())?, x.clone(), rstd, x]))
}

fn add_rms_norm_quant(c: &mut Call<'_>) -> Typed {
    let (t, x, _) = summed(c)?;
    let quantised = made(c, Dtype::I8, t, t.sizes.clone())?;
    Ok(out::many([quantised.clone(), annotated(c, 1, quantised), x]))
}

/// An output that is switched off is empty or undefined: the annotation says which.
fn annotated(c: &Call<'_>, k: usize, otherwise: ValueType) -> ValueType {
    match c.annotation(k) {
        Some(known @ ValueType::Tensor(_)) => known.clone(),
        _ => otherwise,
    }
}

fn add_rms_norm_dynamic_quant(c: &mut Call<'_>) -> Typed {
    let (t, x, _) = summed(c)?;
    let quantised = made(c, Dtype::I8, t, t.sizes.clone())?;
    let scale = made(c, wide(&[t]), t, rows(t))?;
    let none = made(c, Dtype::I8, t, smallvec::smallvec![Dim::Fixed(0)])?;
    let no_scale = made(c, wide(&[t]), t, smallvec::smallvec![Dim::Fixed(0)])?;
    let smooth = [!c.is_none(3), !c.is_none(4)];
    let on = |k: usize| match c.arg(7).items() {
        Some(mask) => mask.get(k) != Some(&crate::graph::Arg::Bool(false)),
        None => k == 0 || smooth.iter().all(|s| *s),
    };
    let pick = |k: usize, yes: &ValueType, no: &ValueType| if on(k) { yes.clone() } else { no.clone() };
    Ok(out::many([
        pick(0, &quantised, &none),
        pick(1, &quantised, &none),
        x,
        pick(0, &scale, &no_scale),
        pick(1, &scale, &no_scale),
    ]))
}

fn rms_norm_quant(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    made(c, Dtype::I8, t, t.sizes.clone())
}

fn add_layer_norm(c: &mut Call<'_>) -> Typed {
    let (_, x, rstd) = summed(c)?;
    Ok(out::many([x.clone(), rstd.clone(), rstd, x]))
}

fn deep_norm(c: &mut Call<'_>) -> Typed {
    let (t, gamma) = (c.tensor(0)?, c.tensor(3)?);
    let stats = rstd(c, 3, t, gamma)?;
    Ok(out::many([stats.clone(), stats, same(c, t)?]))
}

fn group_norm_silu(c: &mut Call<'_>) -> Typed {
    let (t, groups) = (c.tensor(0)?, c.int(3)?);
    let stats = made(c, t.dtype, t, smallvec::smallvec![size(t, 0), Dim::Fixed(groups)])?;
    Ok(out::many([same(c, t)?, stats.clone(), stats]))
}

fn like(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    same(c, t)
}

fn halved_type(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = match c.operator.schema.param_index("dim") {
        Some(i) => c.axis(i, t.rank())?,
        None => t.rank().saturating_sub(1),
    };
    let mut dims = t.sizes.clone();
    if let Some(slot) = dims.get_mut(d) {
        if slot.fixed().is_some_and(|n| n % 2 != 0) {
            return Err(c.bad(0, format!("an even size of dimension {d}"), sizes::show(c.symbols, &t.sizes)));
        }
        *slot = sizes::floordiv(c.symbols, *slot, Dim::Fixed(2))?;
    }
    made(c, t.dtype, t, dims)
}

fn halved(c: &mut Call<'_>) -> Typed {
    halved_type(c)
}

fn geglu(c: &mut Call<'_>) -> Typed {
    let one = halved_type(c)?;
    Ok(out::many([one.clone(), one]))
}

fn rotary_pair(c: &mut Call<'_>) -> Typed {
    let (query, key) = (c.tensor(0)?, c.tensor(1)?);
    Ok(out::many([same(c, query)?, same(c, key)?]))
}

pub(in crate::ops) fn product(c: &mut Call<'_>, dtype: Dtype) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if a.rank() < 2 || b.rank() < 2 {
        return Err(c.bad(1, "2 or more dimensions", b.rank().to_string()));
    }
    if b.dtype == a.dtype && sizes::differ(c.symbols, last(a), size(b, b.rank().saturating_sub(2))) {
        let expected = format!("as many rows as the first has columns: {}", c.symbols.print_python(last(a)));
        return Err(c.bad(1, expected, sizes::show(c.symbols, &b.sizes)));
    }
    let batch = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(2)).copied().collect::<Sizes>();
    let mut dims = out::broadcast(c, 1, &[&batch(a), &batch(b)])?;
    dims.push(size(a, a.rank().saturating_sub(2)));
    dims.push(last(b));
    made(c, dtype, a, dims)
}

fn linear(c: &mut Call<'_>) -> Typed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    if sizes::differ(c.symbols, last(t), last(weight)) {
        let expected = format!("{} columns", c.symbols.print_python(last(t)));
        return Err(c.bad(1, expected, c.symbols.print_python(last(weight))));
    }
    let mut dims = rows(t);
    dims.push(size(weight, 0));
    made(c, t.dtype, t, dims)
}

fn bmm(c: &mut Call<'_>) -> Typed {
    let dtype = c.tensor(0)?.dtype;
    product(c, dtype)
}

/// Products of permuted batches, given as [rows, batch, columns] where no order of the result is.
fn transpose_bmm(c: &mut Call<'_>) -> Typed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    if !c.is_none(3) || t.rank() != 3 || weight.rank() != 3 {
        return Err(CallFault::Unsupported { what: "a scale, or other than 3 dimensions".into() });
    }
    let order = |i: usize| -> Result<[usize; 3], CallFault> {
        let dims = c.axes(i, 3)?.unwrap_or_else(|| smallvec::smallvec![0, 1, 2]);
        match dims.as_slice() {
            [x, y, z] => Ok([*x, *y, *z]),
            _ => Err(c.bad(i, "an order of 3 dimensions", dims.len().to_string())),
        }
    };
    let ([b, m, k], [groups, rows, n]) = (order(4)?, order(5)?);
    let fits = !sizes::differ(c.symbols, size(t, b), size(weight, groups))
        && !sizes::differ(c.symbols, size(t, k), size(weight, rows));
    if !fits || t.dtype != weight.dtype {
        let expected = format!("batches and rows that fit {}", sizes::show(c.symbols, &t.sizes));
        return Err(c.bad(1, expected, sizes::show(c.symbols, &weight.sizes)));
    }
    let product = [size(t, b), size(t, m), size(weight, n)];
    let moved = if c.is_none(6) { [1, 0, 2] } else { order(6)? };
    let parts = c.opt_int(7)?.unwrap_or(1);
    if parts <= 1 {
        let dims = moved.iter().filter_map(|d| product.get(*d)).copied().collect();
        return made(c, t.dtype, t, dims);
    }
    if moved != [1, 0, 2] {
        return Err(CallFault::Unsupported { what: "parts of a result in another order than [1, 0, 2]".into() });
    }
    let [batch, rows, width] = product;
    let all = sizes::mul(c.symbols, batch, width)?;
    let part = sizes::floordiv(c.symbols, all, Dim::Fixed(parts))?;
    made(c, t.dtype, t, smallvec::smallvec![Dim::Fixed(parts), rows, part])
}

/// The dtype of a code in torch_npu's numbering; f16 where there is none.
pub(in crate::ops) fn coded(c: &Call<'_>, i: usize, otherwise: Dtype) -> Result<Dtype, CallFault> {
    if c.is_none(i) { Ok(otherwise) } else { Ok(c.dtype(i)?.unwrap_or(otherwise)) }
}

fn permuted(c: &Call<'_>, t: &TensorType) -> Result<Sizes, CallFault> {
    let order = c.axes(1, t.rank())?.unwrap_or_default();
    if order.len() != t.rank() {
        return Err(c.bad(1, format!("an order of {} dimensions", t.rank()), order.len().to_string()));
    }
    Ok(order.iter().map(|d| size(t, *d)).collect())
}

fn transpose(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = permuted(c, t)?;
    made(c, t.dtype, t, dims)
}

fn confusion_transpose(c: &mut Call<'_>) -> Typed {
    let (t, shape, first) = (c.tensor(0)?, c.dims(2)?, c.bool(3)?);
    if first {
        let dims = crate::ops::families::view::full_sizes(c, 2, t, shape)?;
        return made(c, t.dtype, t, dims);
    }
    let seen = TensorType { sizes: crate::ops::families::view::full_sizes(c, 2, t, shape)?, ..t.clone() };
    let dims = permuted(c, &seen)?;
    made(c, t.dtype, t, dims)
}

fn cast(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = coded(c, 1, t.dtype)?;
    made(c, dtype, t, t.sizes.clone())
}

/// Torch_npu's number of integers of 4 bits.
const INT4: i64 = 285;
/// Its number of floats of 8 bits that PyTorch has no type for.
const HIFLOAT8: i64 = 290;
/// Its numbers of floats of 4 bits.
const FLOAT4: [i64; 2] = [296, 297];

/// A cast between types that PyTorch may not have, which lie in bytes: two of 4 bits in each. `from` and `to` are the places of their numbers;
/// where `to` names none of these, the dtype at place 1 is the result's.
fn cast_of(c: &mut Call<'_>, from: usize, to: usize) -> Typed {
    let t = c.tensor(0)?;
    let number = |c: &Call<'_>, i: usize| if let Arg::Int(n) = c.arg(i) { Some(*n) } else { None };
    let mut dims = t.sizes.clone();
    if let Some(wide) = dims.last_mut().filter(|_| number(c, from).is_some_and(|n| FLOAT4.contains(&n))) {
        *wide = sizes::mul(c.symbols, *wide, Dim::Fixed(2))?;
    }
    // Of gradients, integers of 4 bits are none.
    let named = number(c, to).filter(|n| to == 1 || *n != INT4);
    if named.is_some_and(|n| n == INT4 || FLOAT4.contains(&n)) {
        if last(t).fixed().is_some_and(|n| n % 2 != 0) {
            return Err(c.bad(0, "an even last size", sizes::show(c.symbols, &t.sizes)));
        }
        if let Some(narrow) = dims.last_mut() {
            *narrow = sizes::floordiv(c.symbols, *narrow, Dim::Fixed(2))?;
        }
    }
    let dtype = match named {
        Some(n) if n == INT4 || n == HIFLOAT8 || FLOAT4.contains(&n) => Dtype::U8,
        _ => coded(c, 1, t.dtype)?,
    };
    made(c, dtype, t, dims)
}

/// One product a group of rows; joined in one tensor where `split_item` says so.
fn grouped(c: &mut Call<'_>) -> Typed {
    let (xs, weights) = (c.tensors(0)?, c.tensors(1)?);
    let (Some(first), Some(weight)) = (xs.first().copied(), weights.first().copied()) else {
        return Err(c.bad(0, "one tensor or more", "none"));
    };
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    for name in ["scale", "antiquant_scale", "per_token_scale", "activation_input"] {
        if !c.is_none(place(name)) {
            return Err(CallFault::Unsupported { what: format!("`{name}`") });
        }
    }
    if c.opt_int(place("group_type"))?.is_some_and(|kind| !matches!(kind, -1 | 0)) {
        return Err(CallFault::Unsupported { what: "groups along another dimension than rows".into() });
    }
    let joined = matches!(c.opt_int(place("split_item"))?, Some(2 | 3));
    if joined {
        let total = xs.iter().try_fold(Dim::Fixed(0), |sum, t| sizes::add(c.symbols, sum, size(t, 0)))?;
        return Ok(out::many([made(c, first.dtype, first, smallvec::smallvec![total, last(weight)])?]));
    }
    // One tensor over several groups: how many rows each has only the list tells.
    let spread = xs.len() == 1;
    let groups = match (weight.rank(), weights.len()) {
        (3, 1) => size(weight, 0).fixed().and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        (_, many) => many,
    };
    if !spread && groups != xs.len() {
        return Err(c.bad(1, format!("{} weights", xs.len()), groups.to_string()));
    }
    let mut all = Vec::new();
    for k in 0..groups {
        let (x, weight) = (xs.get(k).copied().unwrap_or(first), weights.get(k).copied().unwrap_or(weight));
        let rows = if spread && groups > 1 { c.unbacked(k, 0) } else { size(x, 0) };
        all.push(made(c, x.dtype, x, smallvec::smallvec![rows, last(weight)])?);
    }
    Ok(out::many(all))
}

/// Loss (of one element, not a scalar), log probabilities, and two that are only defined with a z-loss: the loss' part of it, and each row's.
fn cross_entropy(c: &mut Call<'_>) -> Typed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    if t.rank() != 2 || target.rank() != 1 || sizes::differ(c.symbols, size(t, 0), size(target, 0)) {
        let expected = format!("one class a row of {}", sizes::show(c.symbols, &t.sizes));
        return Err(c.bad(1, expected, sizes::show(c.symbols, &target.sizes)));
    }
    let whole = matches!(c.text(3), "none");
    let loss = if whole { size(t, 0) } else { Dim::Fixed(1) };
    let loss = made(c, t.dtype, t, smallvec::smallvec![loss])?;
    let probabilities = same(c, t)?;
    let per_row = made(c, t.dtype, t, smallvec::smallvec![size(t, 0)])?;
    Ok(out::many([loss.clone(), probabilities, loss, per_row]))
}
