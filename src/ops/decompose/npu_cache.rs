//! Writes into caches on torch_npu: by row, by page, by index. Repeated indices are not defined, as on the device.

use super::npu::{float_of, rope};
use super::npu_norm::rms;
use super::npu_quant::to_i8;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, scatter_update, &["npu.scatter_update.default"]),
    (Exact, scatter_nd_update, &["npu.npu_scatter_nd_update.default"]),
    (Exact, quant_scatter, &["npu.npu_quant_scatter.default"]),
    (
        Exact,
        kv_functional,
        &["npu.npu_kv_rmsnorm_rope_cache.default", "npu.npu_kv_rmsnorm_rope_cache_v2_functional.default"],
    ),
    (Exact, kv_in_place, &["npu.npu_kv_rmsnorm_rope_cache_v2.default"]),
    (Exact, mla, &["npu.npu_mla_prolog_v3.default", "npu.npu_mla_prolog_v3_functional.default"]),
];

fn counted<'b>(b: &'b Builder<'_>, like: T<'b>, n: Arg) -> T<'b> {
    let device = like.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    b.op("arange.default", args![n; device = device])
}

fn put<'b>(b: &'b Builder<'_>, x: T<'b>, at: &[T<'b>], values: T<'b>) -> T<'b> {
    let at: Vec<Arg> = at.iter().map(|t| Arg::from(*t)).collect();
    b.op("index_put.default", args![x, at, values])
}

/// `data[row, .., offset : offset + n at axis, ..] = updates[i]`.
fn updated<'b>(b: &'b Builder<'_>, data: T<'b>, at: T<'b>, updates: T<'b>, axis: i64) -> Result<T<'b>, CallFault> {
    let axis = if axis < 0 { axis.saturating_add(data.dims()) } else { axis };
    b.only((1..data.dims()).contains(&axis) && data.rank() == updates.rank(), "this axis")?;
    let (rows, offsets) = match at.rank() {
        1 => (counted(b, data, updates.size(0)), at),
        2 => (at.select(1, 0), at.select(1, 1)),
        _ => return Err(b.unsupported("indices of this rank")),
    };
    let places = offsets.to(Dtype::I64).unsqueeze(1) + counted(b, data, updates.size(axis));
    let front = |t: T<'b>| if axis == 1 { t } else { t.call("movedim.int", args![axis, 1]) };
    let written = put(b, front(data), &[rows.to(Dtype::I64).unsqueeze(1), places], front(updates));
    Ok(if axis == 1 { written } else { written.call("movedim.int", args![1, axis]) })
}

fn scatter_update(b: &Builder<'_>) -> Made {
    done![updated(b, b.t(0)?, b.t(1)?, b.t(2)?, b.int(3)?)?]
}

fn scatter_nd_update(b: &Builder<'_>) -> Made {
    let (x, at, updates) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let depth = at.fixed(-1)?;
    b.only((1..=x.dims()).contains(&depth), "this depth of indices")?;
    let flat = at.reshape(vec![Arg::Int(-1), depth.into()]);
    let columns: Vec<T<'_>> = (0..depth).map(|i| flat.select(1, i).to(Dtype::I64)).collect();
    let rest = tail(&x.shape(), usize::try_from(depth).unwrap_or(0));
    let values = updates.reshape([vec![flat.size(0)], rest].concat());
    done![put(b, x, &columns, values)]
}

fn quant_scatter(b: &Builder<'_>) -> Made {
    let flat = |t: T<'_>| t.reshape(vec![t.numel()]).id();
    let zero = b.opt("quant_zero_points")?.map(flat);
    let axis = b.int("quant_axis")?;
    let scales = flat(b.t("quant_scales")?);
    let values = b.op("npu.npu_quantize.default", args![b.t("updates")?, scales, zero, 1, axis]);
    done![updated(b, b.t(0)?, b.t(1)?, values, b.int("axis")?)?]
}

/// The rotated keys and the normed values, not rounded.
fn keys_and_values<'b>(b: &'b Builder<'_>) -> Result<(T<'b>, T<'b>), CallFault> {
    let (kv, gamma, eps) = (b.t("kv")?, b.t("gamma")?, b.float("epsilon")?);
    let a = float_of(&[kv]);
    let (cos, sin) = (b.t("cos")?.to(a), b.t("sin")?.to(a));
    if let Some(v) = b.opt("v")? {
        let (y, _) = rms(kv, gamma, eps, None, false);
        let d = cos.size(-1);
        let turned = rope(b, y.slice(-1, 0, d.clone()), cos, sin)?;
        let k = b.op("cat", args![vec![Arg::from(turned), Arg::from(y.slice(-1, d, i64::MAX))], -1]);
        return Ok((k, v.to(a)));
    }
    let n = gamma.size(0);
    let (y, _) = rms(kv.slice(-1, 0, n.clone()), gamma, eps, None, false);
    Ok((rope(b, kv.slice(-1, n, i64::MAX).to(a), cos, sin)?, y))
}

/// Rows of dimension `axis` written at places; a negative place writes nothing: it goes to a row that is cut off again.
fn rows_put<'b>(b: &'b Builder<'_>, x: T<'b>, lead: Option<T<'b>>, at: T<'b>, values: T<'b>) -> T<'b> {
    let axis = i64::from(lead.is_some());
    let size = x.size(axis);
    let spare = x.slice(axis, 0, 1);
    let longer = b.op("cat", args![vec![Arg::from(x), Arg::from(spare)], axis]);
    let at = at.to(Dtype::I64);
    let beyond = at.op("zeros_like") + size.clone();
    let at = b.choose(at.call("lt", args![0]), beyond, at);
    let places: Vec<T<'b>> = lead.into_iter().chain([at]).collect();
    put(b, longer, &places, values).slice(axis, 0, size)
}

/// The cache with the rows written, as `mode` addresses them.
fn cache_put<'b>(b: &'b Builder<'_>, cache: T<'b>, rows: T<'b>, at: T<'b>, mode: &str) -> Result<T<'b>, CallFault> {
    match mode {
        "Norm" => {
            let lead = counted(b, cache, rows.size(0)).unsqueeze(1);
            let written = rows_put(b, cache.select(1, 0), Some(lead), at, rows.select(1, 0));
            Ok(cache.call("select_scatter", args![written, 1, 0]))
        }
        "PA" | "PA_BNSD" => {
            let width = cache.size(-1);
            let flat = cache.reshape(vec![Arg::Int(-1), width.clone()]);
            let values = rows.select(1, 0).reshape(vec![Arg::Int(-1), width]);
            let written = rows_put(b, flat, None, at.reshape(vec![at.numel()]), values);
            Ok(written.reshape(cache.shape()))
        }
        other => Err(b.unsupported(format!("cache_mode='{other}'"))),
    }
}

fn stored<'b>(b: &'b Builder<'_>, x: T<'b>, scale: Option<T<'b>>, cache: T<'b>) -> Result<T<'b>, CallFault> {
    match scale {
        Some(s) => to_i8(b, x * s.to(x.dtype())),
        None => Ok(x.to(cache.dtype())),
    }
}

/// `k`, `y`, both caches.
fn kv<'b>(b: &'b Builder<'_>) -> Result<[T<'b>; 4], CallFault> {
    b.only(b.is_none("k_rope_offset") && b.is_none("c_kv_offset"), "asymmetric offsets")?;
    let (kv, at, mode) = (b.t("kv")?, b.t("index")?, b.text("cache_mode"));
    let (k_cache, y_cache) = (b.t("k_cache")?, b.t("ckv_cache")?);
    let (k, y) = keys_and_values(b)?;
    let k_rows = stored(b, k, b.opt("k_rope_scale")?, k_cache)?;
    let y_rows = stored(b, y, b.opt("c_kv_scale")?, y_cache)?;
    let k_new = cache_put(b, k_cache, k_rows, at, &mode)?;
    let y_new = cache_put(b, y_cache, y_rows, at, &mode)?;
    Ok([k.to(kv.dtype()), y.to(kv.dtype()), k_new, y_new])
}

fn kv_functional(b: &Builder<'_>) -> Made {
    let [k, y, k_cache, y_cache] = kv(b)?;
    let caches_first = !b.operator().schema.name.ends_with("_functional");
    if caches_first { done![k_cache, y_cache, k, y] } else { done![k, y, k_cache, y_cache] }
}

fn kv_in_place(b: &Builder<'_>) -> Made {
    let [k, y, k_cache, y_cache] = kv(b)?;
    b.op("copy_", args![b.t("k_cache")?, k_cache]);
    b.op("copy_", args![b.t("ckv_cache")?, y_cache]);
    done![k, y]
}

/// Only the form without quantisation, its caches in pages.
fn mla_is_plain(b: &Builder<'_>) -> Result<bool, CallFault> {
    const OFF: &[&str] = &[
        "dequant_scale_x",
        "dequant_scale_w_dq",
        "dequant_scale_w_uq_qr",
        "dequant_scale_w_dkv_kr",
        "quant_scale_ckv",
        "quant_scale_ckr",
        "smooth_scales_cq",
    ];
    let unscaled = b.float("qc_qr_scale")? == 1.0 && b.float("kc_scale")? == 1.0;
    let modes = b.int("weight_quant_mode")? == 0 && b.int("kv_cache_quant_mode")? == 0;
    Ok(unscaled && modes && b.text("cache_mode") == "PA_BSND" && OFF.iter().all(|p| b.is_none(*p)))
}

fn mla(b: &Builder<'_>) -> Made {
    b.only(mla_is_plain(b)?, "quantisation or another cache mode")?;
    let (x, up) = (b.t("token_x")?, b.t("weight_uk")?);
    let (heads, d, r) = (up.size(0), up.size(1), up.size(2));
    let (sin, cos) = (b.t("rope_sin")?, b.t("rope_cos")?);
    let turned = sin.size(-1);
    let per_row = |t: T<'_>| t.reshape(vec![Arg::Int(-1), Arg::Int(1), turned.clone()]).id();
    let (sin_rows, cos_rows) = (b.value(per_row(sin)), b.value(per_row(cos)));
    let lead: Vec<Arg> = x.shape().into_iter().take(x.rank().saturating_sub(1)).collect();
    let t = x.reshape(vec![b.size_product(&lead), x.size(-1)]);
    let normed = |v: T<'_>, gamma: &str, eps: &str| {
        Ok::<_, CallFault>(b.pick("npu.npu_rms_norm.default", args![v, b.t(gamma)?, b.float(eps)?], 0).id())
    };
    let down = b.op("mm", args![t, b.t("weight_dq")?]);
    let cq = b.value(normed(down, "rmsnorm_gamma_cq", "rmsnorm_epsilon_cq")?);
    let width = b.size_op("add", d.clone(), turned.clone());
    let q = b.op("mm", args![cq, b.t("weight_uq_qr")?]).view(vec![t.size(0), heads.clone(), width]);
    let by_head = q.slice(-1, 0, d.clone()).permute(&[1, 0, 2]);
    let query = b.op("bmm", args![by_head, up]).permute(&[1, 0, 2]);
    let query_rope = rope(b, q.slice(-1, d, i64::MAX), cos_rows, sin_rows)?;
    let ckv = b.op("mm", args![t, b.t("weight_dkv_kr")?]);
    let kc = b.value(normed(ckv.slice(1, 0, r.clone()), "rmsnorm_gamma_ckv", "rmsnorm_epsilon_ckv")?);
    let kr = rope(b, ckv.slice(1, r.clone(), i64::MAX).unsqueeze(1), cos_rows, sin_rows)?;
    let at = b.t("cache_index")?;
    let (kv_cache, kr_cache) = (b.t("kv_cache")?, b.t("kr_cache")?);
    let kv_new = cache_put(b, kv_cache, kc.unsqueeze(1).unsqueeze(1), at, "PA")?;
    let kr_new = cache_put(b, kr_cache, kr.unsqueeze(1), at, "PA")?;
    let empty = |dtype: Dtype| b.full(x, vec![Arg::Int(0)], 0, dtype).id();
    let shown = if b.flag("query_norm_flag")? {
        cq.reshape([lead.clone(), vec![cq.size(-1)]].concat()).id()
    } else {
        empty(x.dtype())
    };
    let query = query.reshape([lead.clone(), vec![heads.clone(), r]].concat());
    let query_rope = query_rope.reshape([lead, vec![heads, turned]].concat());
    let five: Vec<Arg> =
        vec![query.into(), query_rope.into(), empty(Dtype::F32).into(), shown.into(), empty(Dtype::F32).into()];
    if b.operator().effects.writes() {
        b.op("copy_", args![kv_cache, kv_new]);
        b.op("copy_", args![kr_cache, kr_new]);
        return Ok(five);
    }
    Ok([five, vec![kv_new.into(), kr_new.into()]].concat())
}
