//! Operators of torch_npu.

use super::cx::Cx;
use super::direct;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::types;
use crate::lower::ge::value::Value;

const fn line(params: &'static str, line: &'static str) -> Rule {
    Rule::Direct(params, line)
}

pub(super) const TABLE: &[Entry] = &[
    ("npu._npu_dtype_cast.default", Rule::By(dtype_cast)),
    ("npu.fast_gelu.default", Rule::Unary("FastGelu")),
    ("npu.npu_add_rms_norm.default", line("x1 x2 gamma epsilon", "AddRmsNorm(x1, x2, gamma; epsilon|1e-06)")),
    ("npu.npu_add_rms_norm_cast.default", Rule::By(add_rms_norm_cast)),
    ("npu.npu_add_rms_norm_dynamic_quant.default", Rule::By(add_rms_norm_dynamic_quant)),
    (
        "npu.npu_clipped_swiglu.default",
        line(
            "x group_index dim alpha limit bias interleaved",
            "ClippedSwiglu(x, group_index; dim, alpha, limit, bias, interleaved)",
        ),
    ),
    ("npu.npu_fast_gelu.default", Rule::Unary("FastGelu")),
    (
        "npu.npu_geglu.default",
        line("self dim approximate activate_left", "GeGluV2(self; dim|-1, approximate|1, activate_left|false)"),
    ),
    (
        "npu.npu_group_norm_silu.default",
        line("self weight bias group eps", "GroupNormSilu(self, weight, bias; num_groups=group, eps|1e-05)"),
    ),
    ("npu.npu_interleave_rope.default", line("x cos sin", "InterleaveRope(x, cos, sin)")),
    ("npu.npu_kv_rmsnorm_rope_cache.default", line(KV_CACHE, KV_CACHE_LINE)),
    ("npu.npu_linear.default", line("input weight bias", "MatMul(input, weight, bias; transpose_x2=-|true)")),
    ("npu.npu_moe_gating_top_k_softmax.default", line("x finished k", "MoeGatingTopKSoftmax(x, finished; k|1)")),
    (
        "npu.npu_moe_init_routing.default",
        line("x row_idx expert_idx active_num", "MoeInitRouting(x, row_idx, expert_idx; active_num|99)"),
    ),
    (
        "npu.npu_moe_update_expert.default",
        line(
            "expert_ids eplb_table expert_scales pruning_threshold active_mask local_rank_id world_size balance_mode",
            "MoeUpdateExpert(expert_ids, eplb_table, expert_scales, pruning_threshold, active_mask; local_rank_id, world_size, balance_mode)",
        ),
    ),
    ("npu.npu_rms_norm.default", line("self gamma epsilon", "RmsNorm(self, gamma; epsilon|1e-06)")),
    ("npu.npu_rms_norm_backward.default", line("grad self gamma rstd", "RmsNormGrad(grad, self, rstd, gamma)")),
    ("npu.npu_scatter_nd_update.default", Rule::By(scatter_nd_update)),
    ("npu.npu_scatter_nd_update_.default", Rule::By(scatter_nd_update_in_place)),
    ("npu.npu_swiglu.default", line("self dim", "SwiGlu(self; dim|-1)")),
    (
        "npu.npu_trans_quant_param.default",
        line("scale offset round_mode", "TransQuantParamV2(scale, offset; round_mode|0)"),
    ),
    ("npu.scatter_update.default", Rule::By(scatter_update)),
    ("npu.scatter_update_.default", Rule::By(scatter_update_in_place)),
];

const KV_CACHE: &str = "kv gamma cos sin index k_cache ckv_cache k_rope_scale c_kv_scale k_rope_offset c_kv_offset v \
                        epsilon cache_mode is_output_kv";
const KV_CACHE_LINE: &str = "KvRmsNormRopeCache(kv, gamma, cos, sin, index, k_cache, ckv_cache, k_rope_scale, c_kv_scale, \
                             k_rope_offset, c_kv_offset, v; epsilon|1e-05, cache_mode|Norm, is_output_kv|false)";

fn dtype_cast(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let dtype = match cx.get(1, "dtype") {
        Value::Dtype(d) => types::ge_type(d),
        Value::Int(i) => types::of_torch_number(i),
        _ => None,
    };
    let dtype = dtype.ok_or_else(|| Refusal("GE has no type for argument dtype".into()))?;
    Ok(cx.always_cast(x, dtype)?.into())
}

/// Sets the types of results of which the graph may say nothing, being unused.
fn typed(cx: &mut Cx, made: Made, types: &[DataType]) -> Made {
    let made = made?;
    if let Value::List(outputs) = &made {
        for (output, dtype) in outputs.iter().filter_map(Value::tensor).zip(types) {
            cx.b.set_desc_type(output, *dtype);
        }
    }
    Ok(made)
}

fn add_rms_norm_cast(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "x1")?;
    let (float, own) = (DataType::Float, cx.dtype(x));
    let made = direct::convert(cx, "x1 x2 gamma epsilon", "AddRmsNormCast(x1, x2, gamma; epsilon|1e-06)");
    typed(cx, made, &[float, own, float, own])
}

fn add_rms_norm_dynamic_quant(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "x1")?;
    let (float, own) = (DataType::Float, cx.dtype(x));
    let made = direct::convert(
        cx,
        "x1 x2 gamma smooth_scale1 smooth_scale2 beta epsilon output_mask",
        "AddRmsNormDynamicQuant(x1, x2, gamma, smooth_scale1, smooth_scale2, beta; epsilon|1e-06, output_mask)",
    );
    typed(cx, made, &[DataType::Int8, DataType::Int8, own, float, float])
}

fn scatter_nd_update(cx: &mut Cx) -> Made {
    let copy = cx.input(0, "self")?;
    let copy = cx.op("TensorMove", vec![copy], &[])?;
    let (indices, updates) = (cx.input(1, "indices")?, cx.input(2, "updates")?);
    cx.ge("ScatterNdUpdate", vec![copy.into(), indices, updates], &[])
}

fn scatter_nd_update_in_place(cx: &mut Cx) -> Made {
    let (x, indices, updates) = (cx.input(0, "self")?, cx.input(1, "indices")?, cx.input(2, "updates")?);
    let made = cx.op("ScatterNdUpdate", vec![x, indices, updates], &[])?;
    cx.b.keep(made);
    Ok(made.into())
}

fn scatter_attrs(cx: &Cx) -> Result<[(&'static str, Attr); 2], Refusal> {
    Ok([("reduce", Attr::Str("update".into())), ("axis", Attr::Int(cx.int(3, "axis", 0)?))])
}

fn scatter_update(cx: &mut Cx) -> Made {
    let copy = cx.input(0, "data")?;
    let copy = cx.op("TensorMove", vec![copy], &[])?;
    let (indices, updates, attrs) = (cx.input(1, "indices")?, cx.input(2, "updates")?, scatter_attrs(cx)?);
    cx.ge("Scatter", vec![copy.into(), indices, updates], &attrs)
}

fn scatter_update_in_place(cx: &mut Cx) -> Made {
    let (x, indices, updates) = (cx.input(0, "data")?, cx.input(1, "indices")?, cx.input(2, "updates")?);
    let attrs = scatter_attrs(cx)?;
    let made = cx.op("Scatter", vec![x, indices, updates], &attrs)?;
    cx.b.keep(made);
    Ok(made.into())
}
