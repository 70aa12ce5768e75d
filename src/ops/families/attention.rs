//! Attention and recurrent layers as single operators.

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::promote::Promotion;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (covered, &["aten._masked_softmax.default"]),
    (attention, &["aten.scaled_dot_product_attention.default"]),
    (flash_attention, &["aten._scaled_dot_product_flash_attention_for_cpu.default"]),
    (attention_math, &["aten._scaled_dot_product_attention_math.default"]),
    (lstm, &["aten.lstm.input"]),
    (gru, &["aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input"]),
    (lstm_cell, &["aten.lstm_cell.default"]),
    (gru_cell, &["aten.gru_cell.default"]),
    (flash_backward, &["aten._scaled_dot_product_flash_attention_for_cpu_backward.default"]),
    (rnn_cell, &["aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default"]),
];

fn size(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

fn plain(c: &mut Call<'_>, t: &TensorType, dims: Sizes) -> Typed {
    out::contiguous(c.symbols, t.dtype, dims, t.device.clone())
}

/// Sizes of the result and of the weights of keys, after checking that the three fit.
fn attended(c: &mut Call<'_>) -> Result<(Sizes, Sizes), CallFault> {
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    for (i, t) in [(0, q), (1, k), (2, v)] {
        if t.rank() < 2 {
            return Err(c.bad(i, "2 or more dimensions", t.rank().to_string()));
        }
        if t.dtype != q.dtype {
            return Err(c.bad(i, format!("dtype {}", q.dtype.long()), t.dtype.long()));
        }
    }
    let last = |t: &TensorType| size(t, t.rank().saturating_sub(1));
    let rows = |t: &TensorType| size(t, t.rank().saturating_sub(2));
    if sizes::differ(c.symbols, last(q), last(k)) {
        return Err(c.bad(
            1,
            format!("a last size of {}", c.symbols.print_python(last(q))),
            c.symbols.print_python(last(k)),
        ));
    }
    if sizes::differ(c.symbols, rows(k), rows(v)) {
        return Err(c.bad(2, format!("{} rows", c.symbols.print_python(rows(k))), c.symbols.print_python(rows(v))));
    }
    let batch = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(2)).copied().collect::<Sizes>();
    let grouped = c.operator.schema.param_index("enable_gqa").map_or(Ok(false), |i| c.bool(i))?;
    let (mut of_k, mut of_v) = (batch(k), batch(v));
    if grouped {
        // Heads of keys and of values are repeated to those of queries.
        for (i, own) in [(1, &mut of_k), (2, &mut of_v)] {
            *own = as_many_heads(c, i, &batch(q), own)?;
        }
    }
    let mut weights = out::broadcast(c, 1, &[&batch(q), &of_k])?;
    let mut result = out::broadcast(c, 2, &[&weights, &of_v])?;
    result.extend([rows(q), last(v)]);
    weights.extend([rows(q), rows(k)]);
    check_mask(c, q, &weights)?;
    Ok((result, weights))
}

/// Returns the batch sizes of keys or values, the last of which, heads, divide those of queries.
fn as_many_heads(c: &Call<'_>, i: usize, of: &Sizes, own: &Sizes) -> Result<Sizes, CallFault> {
    let (Some(heads), Some(fewer)) = (of.last(), own.last()) else {
        return Err(c.bad(i, "3 or more dimensions for enable_gqa", own.len().saturating_add(2).to_string()));
    };
    let rest = heads.fixed().zip(fewer.fixed()).map(|(h, f)| if f == 0 { h } else { h.checked_rem(f).unwrap_or(0) });
    if rest.is_some_and(|r| r != 0) {
        return Err(c.bad(
            i,
            format!("heads that divide {}", c.symbols.print_python(*heads)),
            c.symbols.print_python(*fewer),
        ));
    }
    let mut out = own.clone();
    out.pop();
    out.push(*heads);
    Ok(out)
}

/// A mask stands where queries meet keys, repeated to that; it is no addition to being causal.
fn check_mask(c: &Call<'_>, q: &TensorType, weights: &Sizes) -> Result<(), CallFault> {
    let place = |name: &str| c.operator.schema.param_index(name);
    let Some(i) = place("attn_mask") else { return Ok(()) };
    let Some(mask) = c.opt_tensor(i)? else { return Ok(()) };
    if place("is_causal").map_or(Ok(false), |i| c.bool(i))? {
        return Err(c.bad(i, "no mask, for is_causal is True", "one"));
    }
    if mask.dtype != Dtype::Bool && mask.dtype != Dtype::F32 && mask.dtype != q.dtype {
        return Err(c.bad(i, format!("a mask of bool or {}", q.dtype.long()), mask.dtype.long()));
    }
    let one = Dim::Fixed(1);
    let fits = |own: Dim, to: Dim| own == one || !sizes::differ(c.symbols, own, to);
    let ahead = mask.rank().saturating_sub(weights.len());
    let leading = mask.sizes.iter().take(ahead).all(|d| *d == one) && (ahead == 0 || mask.rank() <= 4);
    let trailing = mask.sizes.iter().rev().zip(weights.iter().rev()).all(|(own, to)| fits(*own, *to));
    if mask.rank() < 2 || !leading || !trailing {
        return Err(c.bad(
            i,
            format!("a mask of sizes {}", sizes::show(c.symbols, weights)),
            sizes::show(c.symbols, &mask.sizes),
        ));
    }
    Ok(())
}

/// The fused kernel keeps the layout [batch, rows, heads, width] inside; which one runs depends on the call.
fn attention(c: &mut Call<'_>) -> Typed {
    let (dims, _) = attended(c)?;
    let q = c.tensor(0)?;
    match fused(c)? {
        Some(true) => Ok(out::strided(q.dtype, dims, layout::preserved(c.symbols, q)?, q.device.clone())),
        Some(false) => plain(c, q, dims),
        None => Ok(out::strided(q.dtype, dims, None, q.device.clone())),
    }
}

/// Whether the fused kernel of the CPU takes the call; `None` where symbols or another device leave it open.
fn fused(c: &Call<'_>) -> Result<Option<bool>, CallFault> {
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    // Without a batch it is put in front.
    let missing = 4_usize.saturating_sub(q.rank());
    let four = missing < 2 && [q, k, v].iter().all(|t| t.rank() == q.rank());
    if !four || !q.dtype.is_float() || c.float(4).is_some_and(|p| p > 0.0) {
        return Ok(Some(false));
    }
    if &*q.device.kind != "cpu" || [q, k, v].iter().any(|t| t.strides.is_none()) {
        return Ok(None);
    }
    let fixed = |t: &TensorType, d: usize| match d.checked_sub(missing) {
        Some(d) => size(t, d).fixed(),
        None => Some(1),
    };
    let all = |d: usize| (fixed(q, d), fixed(k, d), fixed(v, d));
    let (Some(a), Some(b), Some(w)) = all(3) else { return Ok(None) };
    let (Some(rows), Some(keys), _) = all(2) else { return Ok(None) };
    let (Some(heads), Some(shared), Some(values)) = all(1) else { return Ok(None) };
    let (Some(x), Some(y), Some(z)) = all(0) else { return Ok(None) };
    let grouped = c.operator.schema.param_index("enable_gqa").map_or(Ok(false), |i| c.bool(i))?;
    let same_heads = heads == shared && shared == values;
    let heads_fit = same_heads || (grouped && shared == values && heads.checked_rem(shared) == Some(0));
    let unit = |t: &TensorType| t.strides.as_ref().and_then(|s| s.last()) == Some(&Dim::Fixed(1));
    let masked = match c.opt_tensor(3)? {
        Some(m) => m.rank() == 2 || m.rank() == q.rank(),
        None => true,
    };
    let fits = a == b && b == w && rows > 0 && keys > 0 && heads_fit && x == y && y == z;
    Ok(Some(fits && masked && [q, k, v].into_iter().all(unit)))
}

/// Heads are stored inside rows.
fn heads_inside(c: &mut Call<'_>, dims: &Sizes) -> Result<Option<Sizes>, CallFault> {
    let [batch, heads, rows, width] = dims.as_slice() else { return Ok(None) };
    let strides = layout::contiguous(c.symbols, &[*batch, *rows, *heads, *width])?;
    Ok(match strides.as_slice() {
        [a, b, s, w] => Some(smallvec::smallvec![*a, *s, *b, *w]),
        _ => None,
    })
}

fn flash_attention(c: &mut Call<'_>) -> Typed {
    let (dims, _) = attended(c)?;
    let q = c.tensor(0)?;
    let like = TensorType { sizes: dims.clone(), ..q.clone() };
    let strides = if dims == q.sizes { layout::preserved(c.symbols, &like)? } else { heads_inside(c, &dims)? };
    let dtype = if matches!(q.dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { q.dtype };
    let sums: Sizes = dims.iter().take(3).copied().collect();
    let sum_strides = match sums.as_slice() {
        // Stored as [batch, rows, heads].
        [batch, heads, rows] => {
            let s = layout::contiguous(c.symbols, &[*batch, *rows, *heads])?;
            match s.as_slice() {
                [a, b, h] => Some(smallvec::smallvec![*a, *h, *b]),
                _ => None,
            }
        }
        _ => None,
    };
    let sums = out::strided(dtype, sums, sum_strides, q.device.clone());
    Ok(out::many([out::strided(q.dtype, dims, strides, q.device.clone()), sums]))
}

fn attention_math(c: &mut Call<'_>) -> Typed {
    let (dims, weights) = attended(c)?;
    let q = c.tensor(0)?;
    Ok(out::many([plain(c, q, dims)?, plain(c, q, weights)?]))
}

/// Gradients of what was attended to, stored with the heads inside of the sequence.
fn flash_backward(c: &mut Call<'_>) -> Typed {
    let mut all = Vec::new();
    for i in 1..=3 {
        let t = c.tensor(i)?;
        let [batch, heads, rows, width] = *t.sizes.as_slice() else {
            return Err(c.bad(i, "4 dimensions", sizes::show(c.symbols, &t.sizes)));
        };
        let strides = match layout::contiguous(c.symbols, &[batch, rows, heads, width])?.as_slice() {
            [b, r, h, w] => Some(smallvec::smallvec![*b, *h, *r, *w]),
            _ => None,
        };
        all.push(out::strided(t.dtype, t.sizes.clone(), strides, t.device.clone()));
    }
    Ok(out::many(all))
}

/// Sizes of the sequence result: batch and steps of the input, width by direction.
fn sequence(c: &mut Call<'_>, width: Dim, bidirectional: bool) -> Result<Sizes, CallFault> {
    let t = c.tensor(0)?;
    let mut dims: Sizes = t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect();
    let ways = Dim::Fixed(if bidirectional { 2 } else { 1 });
    dims.push(sizes::mul(c.symbols, width, ways)?);
    Ok(dims)
}

/// With the batch first the result is a transposed view of the steps-first one.
fn sequence_type(c: &mut Call<'_>, dims: Sizes, batch_first: bool) -> Typed {
    let t = c.tensor(0)?;
    if let (true, [batch, steps, width]) = (batch_first, dims.as_slice()) {
        let inside = layout::contiguous(c.symbols, &[*steps, *batch, *width])?;
        if let [s, b, w] = inside.as_slice() {
            let strides = smallvec::smallvec![*b, *s, *w];
            return Ok(out::strided(t.dtype, dims, Some(strides), t.device.clone()));
        }
    }
    plain(c, t, dims)
}

fn lstm(c: &mut Call<'_>) -> Typed {
    let (states, params) = (c.tensors(1)?, c.tensors(2)?);
    let (bidirectional, batch_first) = (c.bool(7)?, c.bool(8)?);
    let (Some(h), Some(cell)) = (states.first().copied(), states.get(1).copied()) else {
        return Err(c.bad(1, "two states", states.len().to_string()));
    };
    if params.is_empty() {
        return Err(c.bad(2, "weights", "none"));
    }
    let width = h.sizes.last().copied().unwrap_or(Dim::Fixed(1));
    let dims = sequence(c, width, bidirectional)?;
    let result = sequence_type(c, dims, batch_first)?;
    Ok(out::many([result, plain(c, h, h.sizes.clone())?, plain(c, cell, cell.sizes.clone())?]))
}

fn gru(c: &mut Call<'_>) -> Typed {
    let h = c.tensor(1)?;
    let (bidirectional, batch_first) = (c.bool(7)?, c.bool(8)?);
    let width = h.sizes.last().copied().unwrap_or(Dim::Fixed(1));
    let dims = sequence(c, width, bidirectional)?;
    let result = sequence_type(c, dims, batch_first)?;
    Ok(out::many([result, plain(c, h, h.sizes.clone())?]))
}

fn lstm_cell(c: &mut Call<'_>) -> Typed {
    let states = c.tensors(1)?;
    // The cell meets the gates, and the new state the cell.
    let mut p = Promotion::default();
    for t in &states {
        p.tensor(t.dtype, t.rank())?;
    }
    let dtype = p.dtype()?;
    let mut all = Vec::new();
    for t in states.iter().take(2) {
        all.push(out::contiguous(c.symbols, dtype, t.sizes.clone(), t.device.clone())?);
    }
    Ok(out::many(all))
}

fn rnn_cell(c: &mut Call<'_>) -> Typed {
    let h = c.tensor(1)?;
    plain(c, h, h.sizes.clone())
}

fn gru_cell(c: &mut Call<'_>) -> Typed {
    let h = c.tensor(1)?;
    let strides = layout::contiguous(c.symbols, &h.sizes)?;
    let gate = out::tensor(h.dtype, h.sizes.clone(), Some(strides), h.device.clone());
    // What is left of the state, over the gates.
    out::pointwise(c, h.dtype, &[Operand::Tensor(h), Operand::Tensor(&gate)])
}

/// As the scores lie.
fn covered(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !t.dtype.is_float() {
        return Err(c.bad(0, "floats", t.dtype.long()));
    }
    out::like(c, t.dtype, t)
}
