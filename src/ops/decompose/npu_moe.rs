//! Mixture of experts on torch_npu: gating, routing, gathering.

use super::npu::float_of;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, gating_softmax, &["npu.npu_moe_gating_top_k_softmax.default"]),
    (Exact, gating, &["npu.npu_moe_gating_top_k.default"]),
    (Exact, init_routing, &["npu.npu_moe_init_routing.default"]),
    (Exact, init_routing_v2, &["npu.npu_moe_init_routing_v2.default"]),
    (Exact, finalize_routing, &["npu.npu_moe_finalize_routing.default"]),
    (Exact, expert_tokens, &["npu.npu_moe_compute_expert_tokens.default"]),
];

/// Descending, ties by lower index: values and places.
fn ranked<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<[T<'b>; 2], CallFault> {
    b.many("sort.stable", args![x; stable = true, dim = -1, descending = true])
}

/// Ascending, ties in order: values and places.
fn sorted<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<[T<'b>; 2], CallFault> {
    let flat = x.reshape(vec![x.numel()]);
    b.many("sort.stable", args![flat; stable = true, dim = -1, descending = false])
}

/// `0, 1, .. n` where `like` lives.
fn counted<'b>(b: &'b Builder<'_>, like: T<'b>, n: Arg, dtype: Dtype) -> T<'b> {
    let device = like.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    b.op("arange.default", args![n; dtype = dtype, device = device])
}

fn rows_at<'b>(x: T<'b>, at: T<'b>) -> T<'b> {
    x.call("index.Tensor", args![vec![Arg::from(at.to(Dtype::I64))]])
}

fn gating_softmax(b: &Builder<'_>) -> Made {
    let (x, k) = (b.t(0)?, b.int(2)?);
    b.only(x.rank() == 2, "other than two dimensions")?;
    let [v, i] = ranked(b, x.to(float_of(&[x])).call("softmax.int", args![-1]))?;
    let (v, mut i) = (v.slice(1, 0, k).to(x.dtype()), i.slice(1, 0, k).to(Dtype::I32));
    if let Some(finished) = b.opt(1)? {
        let column = finished.reshape(vec![Arg::Int(-1), Arg::Int(1)]);
        i = b.choose(column, x.size(1), i).to(Dtype::I32);
    }
    let n = x.size(0);
    let rows = counted(b, x, b.size_op("mul", n.clone(), k), Dtype::I32);
    done![v, i, rows.reshape(vec![k.into(), n]).transpose(0, 1).copy()]
}

fn gating(b: &Builder<'_>) -> Made {
    let (x, k, dtype) = (b.t(0)?, b.int(1)?, b.t(0)?.dtype());
    b.only(b.is_none("input_ids") && b.int("renorm")? == 0, "hash mode or renorm")?;
    let by_softmax = b.int("norm_type")? == 0;
    let v = x.to(Dtype::F32);
    let norm = if by_softmax { v.call("softmax.int", args![-1]) } else { v.op("sigmoid") };
    let mut pick = b.opt("bias")?.map_or(norm, |t| norm + t.to(Dtype::F32));
    let groups = b.int("group_count")?;
    if groups > 1 {
        pick = best_groups(b, pick, groups)?;
    }
    let [_, i] = ranked(b, pick)?;
    let i = i.slice(1, 0, k);
    let mut y = norm.call("gather", args![1, i]);
    if b.int("norm_type")? == 1 {
        y = y / (y.sum(&[-1], true) + b.float("eps")?);
    }
    let shown = if b.flag("out_flag")? { norm } else { norm.op("zeros_like") };
    done![(y * b.float("routed_scaling_factor")?).to(dtype), i.to(Dtype::I32), shown]
}

/// Scores of all but the best groups to -inf.
fn best_groups<'b>(b: &'b Builder<'_>, pick: T<'b>, groups: i64) -> Result<T<'b>, CallFault> {
    let per = b.size_op("floordiv", pick.size(1), groups);
    let g = pick.view(vec![pick.size(0), groups.into(), per]);
    let score = if b.int("group_select_mode")? == 0 {
        g.amax(&[-1], false)
    } else {
        b.pick("topk", args![g, 2, -1], 0).sum(&[-1], false)
    };
    let [_, order] = ranked(b, score)?;
    let kept = order.slice(1, 0, b.int("k_group")?);
    let out = b.full(score, score.shape(), true, Dtype::Bool).call("scatter.value", args![1, kept, false]);
    Ok(g.fill_where(out.unsqueeze(-1), f64::NEG_INFINITY).view(pick.shape()))
}

/// The inverse of a permutation as i32 (or of what numbers it has).
fn inverse<'b>(b: &'b Builder<'_>, places: T<'b>, dtype: Dtype) -> T<'b> {
    let zeros = b.full(places, places.shape(), 0, dtype);
    let numbers = counted(b, places, places.size(0), dtype);
    b.op("index_put.default", args![zeros, vec![Arg::from(places.to(Dtype::I64))], numbers])
}

fn init_routing(b: &Builder<'_>) -> Made {
    let (x, row, expert) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let (n, k, active) = (expert.fixed(0)?, expert.fixed(1)?, b.int(3)?);
    let [sorted_experts, order] = sorted(b, expert)?;
    let src = rows_at(row.reshape(vec![row.numel()]), order);
    let used = src.slice(0, 0, active.min(n).saturating_mul(k));
    let rows = rows_at(x, used.call("remainder.Scalar", args![n]));
    done![rows, inverse(b, src, src.dtype()), sorted_experts]
}

fn init_routing_v2(b: &Builder<'_>) -> Made {
    let (x, expert, experts) = (b.t(0)?, b.t(1)?, b.int("expert_num")?);
    let whole = matches!(b.ints("active_expert_range")?.as_slice(), [] | [0, _]);
    let end = b.ints("active_expert_range")?.get(1).is_none_or(|e| *e == experts);
    let kind = b.int("expert_tokens_num_type")?;
    let plain = b.int("quant_mode")? == -1
        && b.int("drop_pad_mode")? == 0
        && b.int("active_num")? <= 0
        && b.flag("expert_tokens_num_flag")?;
    b.only(
        plain && whole && end && (0..=1).contains(&kind) && b.is_none("scale"),
        "other than the plain dropless form",
    )?;
    let [e, order] = sorted(b, expert)?;
    let row = if b.int("row_idx_type")? == 1 { order.to(Dtype::I32) } else { inverse(b, order, Dtype::I32) };
    let is_of = e.unsqueeze(-1).call("eq.Tensor", args![counted(b, e, experts.into(), e.dtype())]);
    let count = is_of.sum(&[0], false);
    let count = if kind == 0 { count.call("cumsum", args![0]) } else { count };
    let rows = order.call("div.Tensor_mode", args![expert.size(1); rounding_mode = "floor"]);
    done![rows_at(x, rows), row, count, b.full(x, vec![order.size(0)], 0, Dtype::F32)]
}

fn finalize_routing(b: &Builder<'_>) -> Made {
    let (rows, scales, src) = (b.t(0)?, b.opt(4)?, b.t(5)?);
    let mode = b.opt_int(7)?.unwrap_or(0);
    b.only(matches!(mode, 0 | 2), "dropping or padding")?;
    let k = match scales {
        Some(s) => s.fixed(1)?,
        None => b.opt_int(8)?.unwrap_or(1).max(1),
    };
    b.only((1..=1024).contains(&k), "this k")?;
    let a = float_of(&[rows]);
    let n = b.size_op("floordiv", src.size(0), k);
    let mut out = b.full(rows, vec![n.clone(), rows.size(-1)], 0, a);
    for skip in [b.opt(1)?, b.opt(2)?].into_iter().flatten() {
        out = out + skip.to(a);
    }
    let at = if mode == 0 { src.view(vec![k.into(), n]).op("t") } else { src.view(vec![n, k.into()]) };
    for j in 0..k {
        let mut v = rows_at(rows, at.select(1, j)).to(a);
        if let Some(bias) = b.opt(3)? {
            v = v + rows_at(bias, b.t(6)?.select(1, j)).to(a);
        }
        out = out + scales.map_or(v, |s| s.slice(1, j, j.saturating_add(1)).to(a) * v);
    }
    done![out.to(rows.dtype())]
}

fn expert_tokens(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let experts = counted(b, x, b.arg(1), x.dtype());
    done![b.op("searchsorted.Tensor", args![x, experts; right = true]).to(Dtype::I32)]
}
