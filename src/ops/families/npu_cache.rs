//! Operators of torch_npu that fill key-value caches. Types follow the published meta functions, unquantised forms only.

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::schema::Param;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (|c| kv_norm(c, &[Of::Key, Of::Value]), &["npu.npu_kv_rmsnorm_rope_cache_v2.default"]),
    (
        |c| kv_norm(c, &[Of::Key, Of::Value, Of::KeyCache, Of::ValueCache]),
        &["npu.npu_kv_rmsnorm_rope_cache_v2_functional.default"],
    ),
    (|c| kv_norm(c, &[Of::KeyCache, Of::ValueCache, Of::Key, Of::Value]), &["npu.npu_kv_rmsnorm_rope_cache.default"]),
    (|c| prolog(c, Extra::None, Caches::Returned), &["npu.npu_mla_prolog.default"]),
    (|c| prolog(c, Extra::Three, Caches::Written), &["npu.npu_mla_prolog_v3.default"]),
    (|c| prolog(c, Extra::Three, Caches::Returned), &["npu.npu_mla_prolog_v3_functional.default"]),
];

/// What a result is.
#[derive(Clone, Copy)]
enum Of {
    Key,
    Value,
    KeyCache,
    ValueCache,
}

/// Results between queries and caches, for quantised forms; empty otherwise.
#[derive(Clone, Copy, PartialEq)]
enum Extra {
    None,
    Three,
}

#[derive(Clone, Copy, PartialEq)]
enum Caches {
    Returned,
    Written,
}

fn made(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    out::contiguous(c.symbols, dtype, dims, t.device.clone())
}

fn with_last(t: &TensorType, last: Dim) -> Sizes {
    let mut dims: Sizes = t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect();
    dims.push(last);
    dims
}

fn last(t: &TensorType) -> Dim {
    t.sizes.last().copied().unwrap_or(Dim::Fixed(1))
}

/// Of the last dimension the first part, as long as `gamma`, is normalised and the rest rotated; where values are given, all of it is both.
fn kv_norm(c: &mut Call<'_>, order: &[Of]) -> Typed {
    let (kv, gamma) = (c.tensor(0)?, c.tensor(1)?);
    let place = c.operator.schema.param_index("v").unwrap_or(usize::MAX);
    if let Some(value) = c.opt_tensor(place)? {
        return kv_results(c, order, kv, last(kv), last(value));
    }
    let width = last(gamma);
    let rest = sizes::sub(c.symbols, last(kv), width)?;
    if rest.fixed().is_some_and(|n| n < 1) {
        return Err(c.bad(1, "a size below the last of `kv`", c.symbols.print_python(width)));
    }
    kv_results(c, order, kv, rest, width)
}

/// Keys and values of these widths, and the caches as they were given.
fn kv_results(c: &mut Call<'_>, order: &[Of], kv: &TensorType, key: Dim, value: Dim) -> Typed {
    let mut all = Vec::new();
    for of in order {
        all.push(match of {
            Of::Key => made(c, kv.dtype, kv, with_last(kv, key))?,
            Of::Value => made(c, kv.dtype, kv, with_last(kv, value))?,
            Of::KeyCache => cache(c, 5)?,
            Of::ValueCache => cache(c, 6)?,
        });
    }
    Ok(out::many(all))
}

fn cache(c: &mut Call<'_>, i: usize) -> Typed {
    let t = c.tensor(i)?;
    made(c, t.dtype, t, t.sizes.clone())
}

/// Queries by head in the compressed width, their rotated parts, what quantisation would need, the caches.
fn prolog(c: &mut Call<'_>, extra: Extra, caches: Caches) -> Typed {
    let (x, up, sine) = (c.tensor(0)?, c.tensor(3)?, c.tensor(7)?);
    let quantised = |p: &Param| p.name.starts_with("dequant_") || p.name.starts_with("quant_scale_c");
    for (i, param) in c.operator.schema.params.iter().enumerate() {
        if quantised(param) && param.ty.is_optional() && !c.is_none(i) {
            return Err(CallFault::Unsupported { what: format!("`{}`", param.name) });
        }
    }
    let heads = up.sizes.first().copied().unwrap_or(Dim::Fixed(1));
    let by_head = |width: Dim| {
        let mut dims = with_last(x, heads);
        dims.push(width);
        dims
    };
    let mut all = vec![made(c, x.dtype, x, by_head(last(up)))?, made(c, x.dtype, x, by_head(last(sine)))?];
    if extra == Extra::Three {
        let normed = c.operator.schema.param_index("query_norm_flag").map_or(Ok(false), |i| c.bool(i))?;
        let none: Sizes = smallvec::smallvec![Dim::Fixed(0)];
        let norm = if normed { with_last(x, last(c.tensor(1)?)) } else { none.clone() };
        all.push(made(c, Dtype::F32, x, none.clone())?);
        all.push(made(c, x.dtype, x, norm)?);
        all.push(made(c, Dtype::F32, x, none)?);
    }
    if caches == Caches::Returned {
        for name in ["kv_cache", "kr_cache"] {
            let place = c.operator.schema.param_index(name).unwrap_or(usize::MAX);
            all.push(cache(c, place)?);
        }
    }
    Ok(out::many(all))
}
