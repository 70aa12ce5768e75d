//! Attention and recurrent cells.

use super::matmul::{linear_of, product};
use super::prelude::*;
use crate::sym::Dim;

pub(super) const TABLE: &[Line] = &[
    (Real, |b| attention(b, false), &["aten.scaled_dot_product_attention.default"]),
    (Exact, |b| attention(b, true), &["aten._scaled_dot_product_attention_math.default"]),
    (Exact, lstm_cell, &["aten.lstm_cell.default"]),
    (Exact, gru_cell, &["aten.gru_cell.default"]),
    (Real, flash, &["aten._scaled_dot_product_flash_attention_for_cpu.default"]),
    (Real, |b| plain_cell(b, "tanh"), &["aten.rnn_tanh_cell.default"]),
    (Real, |b| plain_cell(b, "relu"), &["aten.rnn_relu_cell.default"]),
    (Real, flash_backward, &["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"]),
];

/// `softmax(q @ k.T * scale + mask) @ v`; the square root of the scale on either factor, against overflow.
fn attention(b: &Builder<'_>, with_weights: bool) -> Made {
    let (q, mut k, mut v) = (b.t(0)?, b.t(1)?, b.t(2)?);
    b.only(b.float("dropout_p")? == 0.0, "dropout")?;
    if with_weights {
        b.only(b.is_none("dropout_mask"), "a dropout mask")?;
    }
    let wide = matches!(q.dtype(), Dtype::F16 | Dtype::Bf16);
    let dtype = q.dtype();
    if b.flag("enable_gqa")? && q.rank() >= 3 {
        (k, v) = (repeated(b, q, k)?, repeated(b, q, v)?);
    }
    #[allow(clippy::cast_precision_loss)] // Sizes are far below 2^53.
    let scale = match b.opt_float("scale")? {
        Some(s) => s,
        None => 1.0 / (q.fixed(-1)? as f64).sqrt(),
    };
    b.only(scale >= 0.0, "a negative scale")?;
    let (q, k, v) = if wide { (q.wide(), k.wide(), v.wide()) } else { (q, k, v) };
    let k = k.transpose(-2, -1);
    // The form with weights is defined so, bit by bit; the other by what it means.
    let scores = match with_weights {
        true => product(b, q * scale.sqrt(), k * scale.sqrt())?,
        false => product(b, q, k)? * scale,
    };
    let scores = masked(b, scores, with_weights)?;
    let mut weights = scores.call("_safe_softmax", args![-1]);
    if wide && !with_weights && is_fused(b)? {
        // Its kernel multiplies weights of the narrow type.
        weights = weights.to(dtype).wide();
    }
    let y = product(b, weights, v)?.to(dtype);
    if with_weights { done![y, weights.to(dtype)] } else { done![y] }
}

/// The same with the logarithms of the sums, one a row.
fn flash(b: &Builder<'_>) -> Made {
    let (q, k, v) = (b.t(0)?, b.t(1)?, b.t(2)?);
    b.only(b.float("dropout_p")? == 0.0 && q.rank() == 4, "dropout, or another rank")?;
    #[allow(clippy::cast_precision_loss)] // A size.
    let scale = b.opt_float("scale")?.unwrap_or(1.0 / (q.fixed(-1)? as f64).sqrt());
    let scores = product(b, q.wide(), k.wide().transpose(-2, -1))? * scale;
    let scores = masked(b, scores, false)?;
    let weights = scores.call("_safe_softmax", args![-1]).to(q.dtype()).wide();
    let made = product(b, weights, v.wide())?.to(q.dtype());
    let sums = scores.call("logsumexp", args![ints(&[-1])]);
    done![made, sums]
}

fn repeated<'b>(b: &'b Builder<'_>, q: T<'b>, t: T<'b>) -> Result<T<'b>, CallFault> {
    let (heads, own) = (q.fixed(-3)?, t.fixed(-3)?);
    let times = heads.checked_div(own).filter(|n| n.saturating_mul(own) == heads);
    let times = times.ok_or_else(|| b.unsupported("heads that do not divide"))?;
    Ok(if times == 1 { t } else { t.call("repeat_interleave.self_int", args![times, -3]) })
}

/// Whether PyTorch's fused kernel takes the call: batches and widths alike, and elements of a row side by side.
fn is_fused(b: &Builder<'_>) -> Result<bool, CallFault> {
    let [q, k, v] = [b.t(0)?, b.t(1)?, b.t(2)?];
    let lead = |t: T<'_>| t.sizes().first().copied();
    let width = |t: T<'_>| t.sizes().last().copied();
    let alike = [k, v].into_iter().all(|t| t.rank() == q.rank() && lead(t) == lead(q) && width(t) == width(q));
    if !matches!(q.rank(), 3 | 4) || !alike {
        return Ok(false);
    }
    let last = |t: T<'_>| t.ty().and_then(|t| t.strides.as_ref().and_then(|s| s.last().copied()));
    let strides = [q, k, v].map(last);
    b.only(strides.iter().all(Option::is_some) || !b.lays_out, "operands of which it is not known how they lie")?;
    Ok(strides.into_iter().flatten().all(|s| s == Dim::Fixed(1)))
}

/// Scores of what takes part. A mask is added, a boolean one says what takes part (the form with weights adds it as it stands). What lies ahead is left out by
/// the fused kernel, which then does not see a NaN there; the form with weights, and what that kernel does not take, add a mask for that, too.
fn masked<'b>(b: &'b Builder<'_>, scores: T<'b>, with_weights: bool) -> Result<T<'b>, CallFault> {
    let q = b.t(0)?;
    let zero_or_never = |m: T<'b>| {
        let zero = b.full(q, Vec::new(), 0, q.dtype());
        let never = b.full(q, Vec::new(), f64::NEG_INFINITY, q.dtype());
        b.op("where.self", args![m, zero, never])
    };
    if b.flag("is_causal")? {
        b.only(b.is_none("attn_mask"), "a mask and is_causal")?;
        let all = b.full(q, vec![q.size(-2), b.t(1)?.size(-2)], true, Dtype::Bool);
        return Ok(match with_weights || !is_fused(b)? {
            true => scores + zero_or_never(all.op("tril")).to(scores.dtype()),
            false => scores.fill_where(all.call("triu", args![1]), f64::NEG_INFINITY),
        });
    }
    let Some(mask) = b.opt("attn_mask")? else { return Ok(scores) };
    let added = if mask.dtype() == Dtype::Bool && !with_weights { zero_or_never(mask) } else { mask };
    Ok(scores + added.to(scores.dtype()))
}

fn quarters<'b, const N: usize>(b: &'b Builder<'_>, t: T<'b>) -> Result<[T<'b>; N], CallFault> {
    let parts = b.list("chunk", args![t, signed(N), 1]);
    parts.try_into().map_err(|_| b.unsupported("gates of unequal sizes"))
}

fn lstm_cell(b: &Builder<'_>) -> Made {
    let (x, hidden) = (b.t(0)?, b.ts(1)?);
    let [h, c] = hidden.as_slice() else { return Err(b.unsupported("other than two states")) };
    let gates = linear_of(b, x, b.t(2)?, b.opt(4)?)? + linear_of(b, *h, b.t(3)?, b.opt(5)?)?;
    let [i, f, g, o] = quarters::<4>(b, gates)?;
    let next = f.op("sigmoid") * *c + i.op("sigmoid") * g.op("tanh");
    done![o.op("sigmoid") * next.op("tanh"), next]
}

fn gru_cell(b: &Builder<'_>) -> Made {
    let (x, h) = (b.t(0)?, b.t(1)?);
    let from_input = linear_of(b, x, b.t(2)?, b.opt(4)?)?;
    let from_state = linear_of(b, h, b.t(3)?, b.opt(5)?)?;
    let [ri, zi, ni] = quarters::<3>(b, from_input)?;
    let [rh, zh, nh] = quarters::<3>(b, from_state)?;
    let reset = (rh + ri).op("sigmoid");
    let update = (zh + zi).op("sigmoid");
    let fresh = (ni + nh * reset).op("tanh");
    done![(h - fresh) * update + fresh]
}

/// From the weights, made again by the logarithms of their sums; gradients lie with the heads inside of the sequence.
fn flash_backward(b: &Builder<'_>) -> Made {
    let wide = |key: usize| Ok::<_, CallFault>(b.t(key)?.wide().id());
    let [grad, q, k, v, out] = [wide(0)?, wide(1)?, wide(2)?, wide(3)?, wide(4)?].map(|id| b.value(id));
    b.only(b.float("dropout_p")? == 0.0 && q.rank() == 4, "dropout, or another rank")?;
    // The kernel reads it by its first three strides: where exported graphs pass one with more dimensions, what stands first in those.
    let mut sums = b.t(5)?;
    b.only(sums.rank() >= 3, "what is no logarithm of sums, one a row")?;
    while sums.rank() > 3 {
        sums = sums.select(-1, 0);
    }
    let width = q.fixed(3)?;
    #[allow(clippy::cast_precision_loss)] // A size.
    let scale = b.opt_float("scale")?.unwrap_or(1.0 / (width as f64).sqrt());
    let times = |x: T<'_>, y: T<'_>| b.op("matmul", args![x, y]).id();
    let mut scores = b.value(times(q, k.transpose(2, 3))) * scale;
    if b.flag("is_causal")? {
        let ones = scores.call("ones_like", args![; dtype = Dtype::Bool]);
        scores = scores.fill_where(ones.call("triu", args![1]), f64::NEG_INFINITY);
    }
    if let Some(mask) = b.opt("attn_mask")? {
        b.only(mask.dtype() != Dtype::Bool, "a mask of truth values")?;
        scores = scores + mask.to(scores.dtype());
    }
    let weights = (scores - sums.unsqueeze(3)).op("exp");
    let through = b.value(times(grad, v.transpose(2, 3)));
    let inner = weights * (through - (grad * out).sum(&[3], true)) * scale;
    let of_q = b.value(times(inner, k));
    let of_k = b.value(times(inner.transpose(2, 3), q));
    let of_v = b.value(times(weights.transpose(2, 3), grad));
    let laid = |t: T<'_>, like: usize| -> Result<Arg, CallFault> {
        Ok(t.to(b.t(like)?.dtype()).transpose(1, 2).copy().transpose(1, 2).into())
    };
    Ok(vec![laid(of_q, 1)?, laid(of_k, 2)?, laid(of_v, 3)?])
}

fn plain_cell(b: &Builder<'_>, activation: &str) -> Made {
    let part =
        |x: usize, w: usize, bias: usize| Ok::<_, CallFault>(b.op("linear", args![b.t(x)?, b.t(w)?, b.arg(bias)]).id());
    let (of_input, of_state) = (b.value(part(0, 2, 4)?), b.value(part(1, 3, 5)?));
    done![(of_input + of_state).op(activation)]
}
