//! What attention and recurrent layers need.

use crate::graph::{Dtype, TensorType};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (
        |c| c.need_float(4, "a probability from 0 to 1", |p| (0.0..=1.0).contains(&p)),
        &["aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_attention_math.default"],
    ),
    (attention, &["aten._scaled_dot_product_flash_attention_for_cpu.default"]),
    (floats, &["aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_attention_math.default"]),
    (rnn, &["aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input"]),
    (
        cell,
        &[
            "aten.lstm_cell.default",
            "aten.gru_cell.default",
            "aten.rnn_tanh_cell.default",
            "aten.rnn_relu_cell.default",
        ],
    ),
];

fn floats(c: &Call<'_>) -> Needed {
    let (t, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let batch = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(2)).copied().collect::<Vec<_>>();
    let grouped = c.operator.schema.param_index("enable_gqa").map_or(Ok(false), |i| c.bool(i))?;
    if !grouped {
        crate::ops::typing::out::broadcast(c, 2, &[&batch(t), &batch(k), &batch(v)])?;
    }
    if let Some(mask) = c.opt_tensor(3)? {
        let taken = [Dtype::Bool, Dtype::F32, t.dtype].contains(&mask.dtype);
        taken
            .then_some(())
            .ok_or_else(|| c.bad(3, format!("bool, float32 or {}", t.dtype.long()), mask.dtype.long()))?;
    }
    let scored = t.sizes.iter().all(|d| *d != Dim::Fixed(0));
    if scored { c.need_dtype(0, "of floats", |d| d.is_float() || d.is_complex()) } else { Ok(()) }
}

fn attention(c: &Call<'_>) -> Needed {
    for i in 0..3 {
        c.need_dtype(i, "of floats", Dtype::is_float)?;
        c.need_rank(i, 4..=4)?;
    }
    c.need_float(3, "no dropout", |p| p == 0.0)?;
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    c.need_equal(1, "heads of width", size(q, 3), size(k, 3))?;
    c.need_equal(2, "heads of width", size(q, 3), size(v, 3))
}

/// Four or two tensors a layer and direction, states for each.
fn rnn(c: &Call<'_>) -> Needed {
    let (biased, layers, both) = (c.bool(3)?, c.int(4)?, c.bool(7)?);
    c.need_rank(0, 2..=3)?;
    c.need_dtype(0, "of floats", Dtype::is_float)?;
    c.need_int(4, 1..=i64::MAX)?;
    let ways = layers.saturating_mul(if both { 2 } else { 1 });
    let t = c.tensor(0)?;
    let states = match c.operator.schema.name.as_ref() {
        "lstm" => c.tensors(1)?,
        _ => vec![c.tensor(1)?],
    };
    // A state narrower than its cell is a projection, which has a weight of its own.
    let projected = match states.as_slice() {
        [h, cell] => sizes::differ(c.symbols, size(h, 2), size(cell, 2)),
        _ => false,
    };
    let each = if biased { 4_usize } else { 2 }.saturating_add(usize::from(projected));
    let params = c.tensors(2)?;
    let wanted = usize::try_from(ways).unwrap_or(0).saturating_mul(each);
    if params.len() != wanted {
        return Err(c.bad(2, format!("{wanted} weights"), params.len().to_string()));
    }
    if &*c.operator.schema.name == "lstm" && states.len() != 2 {
        return Err(c.bad(1, "two states", states.len().to_string()));
    }
    for s in &states {
        if s.rank() != 3 || s.dtype != t.dtype {
            return Err(c.bad(1, format!("states of 3 dimensions, {}", t.dtype.long()), s.dtype.long()));
        }
        c.need_equal(1, "states:", Dim::Fixed(ways), size(s, 0))?;
        if t.rank() == 3 {
            // PyTorch would broadcast one against the other, and give what no rule says.
            c.need_equal(1, "a batch of", size(t, usize::from(!c.bool(8)?)), size(s, 1))?;
        }
    }
    let gates = match &*c.operator.schema.name {
        "lstm" => 4,
        "gru" => 3,
        _ => 1,
    };
    let width = states.last().and_then(|s| size(s, 2).fixed());
    for (k, p) in params.iter().enumerate() {
        let is_projection = projected && k.saturating_add(1).is_multiple_of(each);
        if p.dtype != t.dtype {
            return Err(c.bad(2, format!("weights of {}", t.dtype.long()), p.dtype.long()));
        }
        if let Some(w) = width.filter(|_| !is_projection) {
            c.need_equal(2, "rows, one a gate and unit:", Dim::Fixed(w.saturating_mul(gates)), size(p, 0))?;
        }
        if k == 0 {
            c.need_equal(2, "columns:", size(t, t.rank().saturating_sub(1)), size(p, 1))?;
        }
    }
    Ok(())
}

/// One step: input and state are matrices, the weights have a row a gate and unit.
fn cell(c: &Call<'_>) -> Needed {
    let lstm = &*c.operator.schema.name == "lstm_cell";
    let t = c.tensor(0)?;
    let states = if lstm { c.tensors(1)? } else { vec![c.tensor(1)?] };
    if lstm && states.len() != 2 {
        return Err(c.bad(1, "two states", states.len().to_string()));
    }
    let Some(h) = states.first().copied() else { return Err(c.bad(1, "a state", "none")) };
    let (input_weight, state_weight) = (c.tensor(2)?, c.tensor(3)?);
    c.need_dtype(0, "of floats", |d| d.is_float() || d.is_complex())?;
    c.need_rank(0, 2..=2)?;
    c.need_rank(2, 2..=2)?;
    c.need_rank(3, 2..=2)?;
    for s in &states {
        if s.rank() != 2 {
            return Err(c.bad(1, "states of 2 dimensions", sizes::show(c.symbols, &s.sizes)));
        }
        c.need_equal(1, "as many rows as the input,", size(t, 0), size(s, 0))?;
        c.need_equal(1, "a width of", size(h, 1), size(s, 1))?;
    }
    c.need_equal(2, "columns:", size(t, 1), size(input_weight, 1))?;
    c.need_equal(3, "columns:", size(h, 1), size(state_weight, 1))?;
    let gates = match &*c.operator.schema.name {
        "lstm_cell" => 4,
        "gru_cell" => 3,
        _ => 1,
    };
    if let Some(width) = size(h, 1).fixed() {
        let rows = Dim::Fixed(width.saturating_mul(gates));
        c.need_equal(2, "rows, one a gate and unit:", rows, size(input_weight, 0))?;
        c.need_equal(3, "rows, one a gate and unit:", rows, size(state_weight, 0))?;
    }
    c.need_same_dtype(2, 0)?;
    c.need_same_dtype(3, 0)?;
    if h.dtype != t.dtype {
        return Err(c.bad(1, format!("dtype {}", t.dtype.long()), h.dtype.long()));
    }
    for i in [4, 5] {
        c.need_same_dtype(i, 0)?;
        if let Some(bias) = c.opt_tensor(i)? {
            c.need_broadcast_to(i, &[size(t, 0), size(input_weight, 0)])?;
            if bias.rank() > 1 {
                c.need_rank(i, 0..=1)?;
            }
        }
    }
    Ok(())
}
