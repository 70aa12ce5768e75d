//! Operators of `torch_npu` for mixtures of experts, on one device and across devices.

use super::args::Args;
use super::cx::{Cx, list};
use super::direct;
use super::packed::{FLOAT4, PAIRS, bitcast, packed, seen_as, unpacked};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::Refusal;
use crate::lower::ge::proto::DataType;

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    (
        "npu.npu_moe_compute_expert_tokens.default",
        Direct("sorted_experts num_experts", "MoeComputeExpertTokens(sorted_experts; num_experts)"),
    ),
    (
        "npu.npu_moe_distribute_combine.default",
        Direct(
            "expand_x expert_ids expand_idx ep_send_counts expert_scales group_ep ep_world_size ep_rank_id \
             moe_expert_num tp_send_counts x_active_mask activation_scale weight_scale group_list expand_scales \
             shared_expert_x group_tp= tp_world_size=0 tp_rank_id=0 expert_shard_type=0 shared_expert_num=1 \
             shared_expert_rank_num=0 global_bs=0 out_dtype=0 comm_quant_mode=0 group_list_type=0",
            "MoeDistributeCombine(*; *)",
        ),
    ),
    (
        "npu.npu_moe_distribute_combine_add_rms_norm.default",
        Direct(
            "expand_x expert_ids expand_idx ep_send_counts expert_scales residual_x gamma group_ep ep_world_size \
             ep_rank_id moe_expert_num tp_send_counts x_active_mask activation_scale weight_scale group_list \
             expand_scales shared_expert_x elastic_info ori_x const_expert_alpha_1 const_expert_alpha_2 \
             const_expert_v group_tp= tp_world_size=0 tp_rank_id=0 expert_shard_type=0 shared_expert_num=1 \
             shared_expert_rank_num=0 global_bs=0 out_dtype=0 comm_quant_mode=0 group_list_type=0 comm_alg= \
             norm_eps=1e-06 zero_expert_num=0 copy_expert_num=0 const_expert_num=0",
            "MoeDistributeCombineAddRmsNorm(assist_info=expand_idx, *; *)",
        ),
    ),
    (
        "npu.npu_moe_distribute_combine_v2.default",
        Direct(
            "expand_x expert_ids assist_info_for_combine ep_send_counts expert_scales group_ep ep_world_size \
             ep_rank_id moe_expert_num tp_send_counts x_active_mask expand_scales shared_expert_x elastic_info \
             ori_x const_expert_alpha_1 const_expert_alpha_2 const_expert_v performance_info group_tp= \
             tp_world_size=0 tp_rank_id=0 expert_shard_type=0 shared_expert_num=1 shared_expert_rank_num=0 \
             global_bs=0 comm_quant_mode=0 comm_alg= zero_expert_num=0 copy_expert_num=0 const_expert_num=0",
            "MoeDistributeCombineV2(*; *)",
        ),
    ),
    ("npu.npu_moe_distribute_dispatch.default", Direct(DISPATCH, "MoeDistributeDispatch(*; *)")),
    ("npu.npu_moe_distribute_dispatch_v2.default", By(dispatch)),
    ("npu.npu_moe_finalize_routing.default", By(finalize_routing)),
    (
        "npu.npu_moe_gating_top_k.default",
        Direct(
            "x k bias k_group=1 group_count=1 group_select_mode=0 renorm=0 norm_type=0 out_flag=false \
             routed_scaling_factor=1.0 eps=1e-20",
            "MoeGatingTopK(x, bias; *)",
        ),
    ),
    ("npu.npu_moe_gating_top_k_softmax.default", Direct("x finished k=1", "MoeGatingTopKSoftmax(x, finished; k)")),
    (
        "npu.npu_moe_gating_top_k_softmax_v2.default",
        // TorchAir names the operator before it, which has neither attribute and gives rows where this one gives the softmax.
        Direct("x k=1 finished renorm=0 output_softmax=false", "MoeGatingTopKSoftmaxV2(x, finished; *)"),
    ),
    (
        "npu.npu_moe_init_routing.default",
        Direct("x row_idx expert_idx active_num=99", "MoeInitRouting(x, row_idx, expert_idx; active_num)"),
    ),
    ("npu.npu_moe_init_routing_v2.default", By(init_routing)),
    ("npu.npu_moe_re_routing.default", By(re_routing)),
    (
        "npu.npu_moe_update_expert.default",
        Direct(
            "expert_ids eplb_table expert_scales pruning_threshold active_mask local_rank_id=-1 world_size=-1 \
             balance_mode=0",
            "MoeUpdateExpert(*; *)",
        ),
    ),
];

const DISPATCH: &str = "x expert_ids group_ep ep_world_size ep_rank_id moe_expert_num scales x_active_mask expert_scales \
                        group_tp= tp_world_size=0 tp_rank_id=0 expert_shard_type=0 shared_expert_num=1 \
                        shared_expert_rank_num=0 quant_mode=0 global_bs=0 expert_token_nums_type=1";

fn is_float4(dtype: DataType) -> bool {
    matches!(dtype, DataType::Float4E2m1 | DataType::Float4E1m2)
}

fn dispatch(cx: &mut Cx) -> Made {
    let signature = "x expert_ids group_ep ep_world_size ep_rank_id moe_expert_num scales x_active_mask expert_scales elastic_info \
         performance_info group_tp= tp_world_size=0 tp_rank_id=0 expert_shard_type=0 shared_expert_num=1 \
         shared_expert_rank_num=0 quant_mode=0 global_bs=0 expert_token_nums_type=1 comm_alg= zero_expert_num=0 \
         copy_expert_num=0 const_expert_num=0 y_dtype x_dtype scales_dtype";
    let mut args = Args::of(cx, signature)?;
    let mut own = cx.dtype(args.tensor("x")?);
    if let Some(dtype) = args.dtype("x_dtype")? {
        let x = args.tensor("x")?;
        let seen = if is_float4(dtype) { unpacked(cx, x, dtype, 2)? } else { bitcast(cx, x, dtype)? };
        cx.b.set_desc_type(seen, dtype);
        args.set("x", seen);
        own = cx.dtype(seen);
    }
    super::packed::see(cx, &mut args, &[("scales", "scales_dtype")])?;
    let mode = args.int("quant_mode")?.unwrap_or(0);
    let dtype = match args.dtype("y_dtype")? {
        Some(dtype) => dtype,
        None if mode == 0 => own,
        None => DataType::Int8,
    };
    let mut made = direct::outputs(cx, &args, "MoeDistributeDispatchV2(*; *)", &[("y_dtype", dtype.into())])?;
    let [expanded, scales, ..] = made.as_mut_slice() else { return Err(Refusal("seven results were expected".into())) };
    if args.int("y_dtype")?.is_some_and(|d| FLOAT4.contains(&d)) {
        *expanded = packed(cx, *expanded, 2, PAIRS)?;
    } else {
        cx.b.set_desc_type(*expanded, dtype);
    }
    let given = args.optional("scales").filter(|_| !matches!(own, DataType::Float16 | DataType::Bf16));
    let of_scales = match (mode, given) {
        (0, Some(given)) => cx.b.desc_type(given),
        (4, _) => DataType::Float8E8m0,
        _ => DataType::Float,
    };
    cx.b.set_desc_type(*scales, of_scales);
    Ok(list(&made))
}

fn finalize_routing(cx: &mut Cx) -> Made {
    let args = Args::of(
        cx,
        "expanded_permuted_rows skip1 skip2 bias scales expanded_src_to_dst_row export_for_source_row drop_pad_mode=0",
    )?;
    let all = ["skip1", "bias", "scales", "export_for_source_row"].iter().all(|n| args.optional(n).is_some());
    let line = match all && args.int("drop_pad_mode")? == Some(0) && !cx.b.arch35 {
        true => {
            "MoeFinalizeRouting(expanded_permuted_rows, skip1, skip2, bias, scales, expanded_src_to_dst_row, \
             export_for_source_row)"
        }
        false => {
            "MoeFinalizeRoutingV2(expanded_permuted_rows, expanded_src_to_dst_row, skip1, skip2, bias, scales, \
             export_for_source_row; drop_pad_mode)"
        }
    };
    direct::make(cx, &args, line, &[])
}

fn init_routing(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x expert_idx scale offset active_num=-1 expert_capacity=-1 expert_num=-1 drop_pad_mode=0 \
         expert_tokens_num_type=0 expert_tokens_num_flag=false quant_mode=-1 active_expert_range row_idx_type=0 x_dtype",
    )?;
    let x = args.tensor("x")?;
    let mut own = cx.dtype(x);
    let named = args.dtype("x_dtype")?;
    if let Some(dtype) = named {
        let narrow = own == DataType::Uint8 && dtype == DataType::Float4E2m1;
        let seen = if narrow { unpacked(cx, x, dtype, 2)? } else { seen_as(cx, x, dtype)? };
        own = cx.dtype(seen);
        args.set("x", seen);
    }
    let mode = args.int("quant_mode")?.unwrap_or(-1);
    if let Some(scale) = args.optional("scale")
        && mode == -1
        && matches!(own, DataType::Float8E4m3fn | DataType::Float8E5m2 | DataType::Float4E2m1)
    {
        let seen = bitcast(cx, scale, DataType::Float8E8m0)?;
        args.set("scale", seen);
    }
    let mut made = direct::outputs(cx, &args, "MoeInitRoutingV3(*; *)", &[])?;
    if let Some(expanded) = made.first_mut() {
        match (named, mode) {
            (Some(DataType::Float4E2m1), _) | (None, 9) => *expanded = packed(cx, *expanded, 2, PAIRS)?,
            (Some(dtype), _) => cx.b.set_desc_type(*expanded, dtype),
            (None, 6..=8) => cx.b.set_desc_type(*expanded, DataType::Hifloat8),
            _ => {}
        }
    }
    Ok(list(&made))
}

fn re_routing(cx: &mut Cx) -> Made {
    let signature = "tokens expert_token_num_per_rank per_token_scales expert_token_num_type=1 idx_type=0 tokens_dtype";
    let mut args = Args::of(cx, signature)?;
    let (named, tokens) = (args.dtype("tokens_dtype")?, args.tensor("tokens")?);
    if let Some(dtype) = named {
        let narrow = cx.dtype(tokens) == DataType::Uint8 && is_float4(dtype);
        let seen = if narrow { unpacked(cx, tokens, dtype, 2)? } else { seen_as(cx, tokens, dtype)? };
        args.set("tokens", seen);
    }
    let mut made = direct::outputs(cx, &args, "MoeReRouting(*; *)", &[])?;
    if let (Some(permuted), Some(dtype)) = (made.first_mut(), named) {
        match is_float4(dtype) {
            true => *permuted = packed(cx, *permuted, 2, PAIRS)?,
            false => cx.b.set_desc_type(*permuted, dtype),
        }
    }
    Ok(list(&made))
}
