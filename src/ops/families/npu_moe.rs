//! Operators of torch_npu for mixtures of experts. Results are contiguous.

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::npu::{last, made, rows, size};
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (gating_top_k_softmax, &["npu.npu_moe_gating_top_k_softmax.default"]),
    (gating_top_k, &["npu.npu_moe_gating_top_k.default"]),
    (init_routing, &["npu.npu_moe_init_routing.default"]),
    (init_routing_v2, &["npu.npu_moe_init_routing_v2.default"]),
    (finalize_routing, &["npu.npu_moe_finalize_routing.default"]),
    (expert_tokens, &["npu.npu_moe_compute_expert_tokens.default"]),
];

fn vector(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, length: Dim) -> Typed {
    made(c, dtype, t, smallvec::smallvec![length])
}

fn chosen(c: &mut Call<'_>, i: usize, t: &TensorType) -> Result<Sizes, CallFault> {
    let k = c.dim(i)?;
    if sizes::less(c.symbols, last(t), k) == Some(true) || k.fixed().is_some_and(|n| n < 0) {
        return Err(c.bad(i, format!("at most {}", c.symbols.print_python(last(t))), c.symbols.print_python(k)));
    }
    let mut dims = rows(t);
    dims.push(k);
    Ok(dims)
}

fn gating_top_k_softmax(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = chosen(c, 2, t)?;
    let index = made(c, Dtype::I32, t, dims.clone())?;
    Ok(out::many([made(c, t.dtype, t, dims)?, index.clone(), index]))
}

fn expert_tokens(c: &mut Call<'_>) -> Typed {
    let (t, experts) = (c.tensor(0)?, c.int(1)?);
    made(c, Dtype::I32, t, smallvec::smallvec![Dim::Fixed(experts)])
}

/// Weights, experts, and all normalised scores (undefined unless `out_flag`).
fn gating_top_k(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dims = chosen(c, 1, t)?;
    let scores = made(c, Dtype::F32, t, t.sizes.clone())?;
    Ok(out::many([made(c, t.dtype, t, dims.clone())?, made(c, Dtype::I32, t, dims)?, scores]))
}

/// Rows by expert, the inverse permutation, the experts in order.
fn init_routing(c: &mut Call<'_>) -> Typed {
    let (t, index, experts, active) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?, c.dim(3)?);
    let active = sizes::min(c.symbols, size(t, 0), active)?;
    let count = sizes::mul(c.symbols, active, size(index, 1))?;
    let all = sizes::product(c.symbols, &index.sizes)?;
    let gathered = made(c, t.dtype, t, smallvec::smallvec![count, size(t, 1)])?;
    Ok(out::many([gathered, vector(c, index.dtype, t, all)?, vector(c, experts.dtype, t, all)?]))
}

/// Rows by expert without dropping, places, counts, and what quantisation would scale by.
fn init_routing_v2(c: &mut Call<'_>) -> Typed {
    let (t, experts) = (c.tensor(0)?, c.tensor(1)?);
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    let (count, quant) = (c.dim(place("expert_num"))?, c.int(place("quant_mode"))?);
    if quant != -1 || c.int(place("drop_pad_mode"))? != 0 || !matches!(c.int(place("expert_tokens_num_type"))?, 0 | 1) {
        return Err(CallFault::Unsupported { what: "quantising, dropping, or counts as pairs".into() });
    }
    let all_experts = match c.ints(place("active_expert_range"))?.as_slice() {
        [] => true,
        range => matches!(range, [0, end] if Dim::Fixed(*end) == count),
    };
    let is_whole = all_experts && c.int(place("active_num"))? <= 0;
    if !is_whole || !c.bool(place("expert_tokens_num_flag"))? {
        return Err(CallFault::Unsupported { what: "some of the rows or experts, or no counts".into() });
    }
    let all = sizes::product(c.symbols, &experts.sizes)?;
    let gathered = made(c, t.dtype, t, smallvec::smallvec![all, size(t, 1)])?;
    let (places, counts) = (vector(c, Dtype::I32, t, all)?, vector(c, Dtype::I64, t, count)?);
    Ok(out::many([gathered, places, counts, vector(c, Dtype::F32, t, all)?]))
}

/// As many rows as `scales` has, else every k-th of the expanded ones.
fn finalize_routing(c: &mut Call<'_>) -> Typed {
    let (t, scales, places) = (c.tensor(0)?, c.opt_tensor(4)?, c.tensor(5)?);
    let count = match scales {
        Some(s) => size(s, 0),
        None => {
            let k = c.opt_dim(8)?.unwrap_or(Dim::Fixed(1));
            sizes::floordiv(c.symbols, size(places, 0), k)?
        }
    };
    made(c, t.dtype, t, smallvec::smallvec![count, last(t)])
}
