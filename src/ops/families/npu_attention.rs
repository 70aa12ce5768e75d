//! Attention operators of torch_npu, unquantised forms. Results are contiguous.

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
    (training, &["npu.npu_fusion_attention.default"]),
    (prompt, &["npu.npu_prompt_flash_attention.default"]),
    (step, &["npu.npu_incre_flash_attention.default"]),
];

/// Where batch, heads and rows are in a layout; without a dimension of heads, these lie in the last one.
struct Places {
    batch: usize,
    heads: Option<usize>,
    rows: usize,
}

fn places(c: &Call<'_>, i: usize) -> Result<Places, CallFault> {
    let (batch, heads, rows) = match c.text(i) {
        "BNSD" => (0, Some(1), 2),
        "BSND" => (0, Some(2), 1),
        "BSH" => (0, None, 1),
        "SBH" => (1, None, 0),
        other => return Err(CallFault::Unsupported { what: format!("the layout `{other}`") }),
    };
    Ok(Places { batch, heads, rows })
}

/// Checks that query, key and value have the layout's rank and one dtype.
fn operands<'a>(c: &Call<'a>, p: &Places) -> Result<[&'a TensorType; 3], CallFault> {
    let all = [c.tensor(0)?, c.tensor(1)?, c.tensor(2)?];
    let [query, ..] = all;
    let rank = if p.heads.is_some() { 4 } else { 3 };
    for (i, t) in all.into_iter().enumerate() {
        if t.rank() != rank {
            return Err(c.bad(i, format!("{rank} dimensions"), sizes::show(c.symbols, &t.sizes)));
        }
        if t.dtype != query.dtype {
            return Err(c.bad(i, format!("dtype {}", query.dtype.long()), t.dtype.long()));
        }
    }
    Ok(all)
}

/// The query's sizes with the width of the value.
fn attended(c: &mut Call<'_>, p: &Places, query: &TensorType, value: &TensorType, heads: Dim, keys: Dim) -> Typed {
    let mut dims: Sizes = rows(query);
    dims.push(match p.heads {
        Some(_) => last(value),
        None => {
            let width = sizes::floordiv(c.symbols, last(value), keys)?;
            sizes::mul(c.symbols, width, heads)?
        }
    });
    made(c, query.dtype, query, dims)
}

/// Result, maximum and sum of each row (eight times), an empty tensor, and the state of the generator: 0 without dropout.
fn training(c: &mut Call<'_>) -> Typed {
    let (heads, p) = (c.dim(3)?, places(c, 4)?);
    let [query, key, value] = operands(c, &p)?;
    let keys = match p.heads {
        Some(d) => size(key, d),
        None => {
            let whole = sizes::mul(c.symbols, heads, last(key))?;
            sizes::floordiv(c.symbols, whole, last(query))?
        }
    };
    if keys == Dim::Fixed(0) {
        return Err(c.bad(3, "one head or more", "0"));
    }
    let result = attended(c, &p, query, value, heads, keys)?;
    let statistics: Sizes = smallvec::smallvec![size(query, p.batch), heads, size(query, p.rows), Dim::Fixed(8)];
    let statistics = made(c, Dtype::F32, query, statistics)?;
    let none = made(c, query.dtype, query, smallvec::smallvec![Dim::Fixed(0)])?;
    let zero = ValueType::SymInt(Dim::Fixed(0));
    let drawn = c.operator.schema.param_index("keep_prob").and_then(|i| c.float(i)).is_some_and(|p| p < 1.0);
    let state = if drawn { ValueType::Unknown } else { zero };
    Ok(out::many([result, statistics.clone(), statistics, none, state.clone(), state.clone(), state]))
}

fn quantised(c: &Call<'_>, name: &str) -> Result<(), CallFault> {
    match c.operator.schema.param_index(name) {
        Some(i) if !c.is_none(i) => Err(CallFault::Unsupported { what: format!("`{name}`") }),
        _ => Ok(()),
    }
}

fn prompt(c: &mut Call<'_>) -> Typed {
    quantised(c, "quant_scale2")?;
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    let (heads, keys) = (c.dim(place("num_heads"))?, c.dim(place("num_key_value_heads"))?);
    let p = places(c, place("input_layout"))?;
    let [query, _, value] = operands(c, &p)?;
    let keys = if keys == Dim::Fixed(0) { heads } else { keys };
    if keys == Dim::Fixed(0) {
        return Err(c.bad(place("num_heads"), "one head or more", "0"));
    }
    attended(c, &p, query, value, heads, keys)
}

/// One row of the query, and its sizes.
fn step(c: &mut Call<'_>) -> Typed {
    quantised(c, "quant_scale2")?;
    quantised(c, "antiquant_scale")?;
    let place = c.operator.schema.param_index("input_layout").unwrap_or(usize::MAX);
    let p = places(c, place)?;
    let [query, ..] = operands(c, &p)?;
    made(c, query.dtype, query, query.sizes.clone())
}
