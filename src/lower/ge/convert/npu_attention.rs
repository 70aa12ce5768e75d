//! Attention of `torch_npu`.

use super::args::Args;
use super::cx::{Cx, list};
use super::direct;
use super::packed::{E8M0, FLOAT4, HIFLOAT8, bitcast, see_hifloat8};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    (
        "npu.npu_attention_update.default",
        By(|cx| {
            let args = Args::of(cx, "lse local_out update_type")?;
            let count = super::cx::signed(cx.tensors(0, "lse")?.len());
            direct::make(cx, &args, "AttentionUpdate(lse, local_out; update_type)", &[("sp", Attr::Int(count))])
        }),
    ),
    (
        "npu.npu_chunk_gated_delta_rule.default",
        Direct(
            "query key value beta initial_state actual_seq_lengths scale g",
            "ChunkGatedDeltaRule(*; scale_value=scale)",
        ),
    ),
    ("npu.npu_fused_infer_attention_score.default", By(fused_infer)),
    ("npu.npu_fused_infer_attention_score_v2.default", By(fused_infer_v2)),
    ("npu.npu_fusion_attention.default", By(fusion)),
    ("npu.npu_fusion_attention_grad.default", By(fusion_grad)),
    ("npu.npu_incre_flash_attention.default", By(incremental)),
    ("npu.npu_kv_quant_sparse_flash_attention.default", By(sparse_quantized)),
    (
        "npu.npu_lightning_indexer.default",
        Direct(
            "query key weights actual_seq_lengths_query actual_seq_lengths_key block_table layout_query=BSND \
             layout_key=BSND sparse_count=2048 sparse_mode=3 pre_tokens=9223372036854775807 \
             next_tokens=9223372036854775807 return_value=false",
            "LightningIndexer(*; *, return_values=return_value)",
        ),
    ),
    (
        "npu.npu_masked_softmax_with_rel_pos_bias.default",
        Direct(
            "x atten_mask relative_pos_bias scale_value=1.0 inner_precision_mode=0",
            "MaskedSoftmaxWithRelPosBias(*; *)",
        ),
    ),
    ("npu.npu_prompt_flash_attention.default", By(prompt)),
    ("npu.npu_quant_lightning_indexer.default", By(quantized_indexer)),
    (
        "npu.npu_recurrent_gated_delta_rule.default",
        Direct(RECURRENT, "RecurrentGatedDeltaRule(*; scale_value=scale) -> (out)"),
    ),
    (
        "npu.npu_recurrent_gated_delta_rule_functional.default",
        Direct(RECURRENT, "RecurrentGatedDeltaRule(state=move(state), *; scale_value=scale)"),
    ),
    (
        "npu.npu_sparse_flash_attention.default",
        Direct(
            "query key value sparse_indices scale_value block_table actual_seq_lengths_query actual_seq_lengths_kv \
             query_rope key_rope sparse_block_size=1 layout_query=BSND layout_kv=BSND sparse_mode=3 \
             pre_tokens=9223372036854775807 next_tokens=9223372036854775807 attention_mode=0 return_softmax_lse=false",
            "SparseFlashAttention(*; *)",
        ),
    ),
];

const RECURRENT: &str =
    "query key value state beta scale actual_seq_lengths ssm_state_indices num_accepted_tokens g gk";

/// Refuses what devices from Ascend 950 on no longer have.
fn refuse_arch35(cx: &Cx) -> Result<(), Refusal> {
    match cx.b.arch35 {
        true => Err(Refusal("devices from Ascend 950 on no longer have it".into())),
        false => Ok(()),
    }
}

fn prompt(cx: &mut Cx) -> Made {
    refuse_arch35(cx)?;
    let mut args = Args::of(
        cx,
        "query key value padding_mask atten_mask pse_shift actual_seq_lengths deq_scale1 quant_scale1 deq_scale2 \
         quant_scale2 quant_offset2 num_heads=1 scale_value=1.0 pre_tokens=2147473647 next_tokens=0 input_layout=BSH \
         num_key_value_heads=0 actual_seq_lengths_kv sparse_mode=0 inner_precise=1",
    )?;
    for name in ["actual_seq_lengths", "actual_seq_lengths_kv"] {
        if args.optional(name).is_some() {
            return Err(Refusal(format!("argument {name} must be a list of numbers")));
        }
    }
    if let Some(mask) = args.optional("atten_mask").filter(|t| cx.dtype(*t) == DataType::Float16) {
        let mask = cx.cast(mask, DataType::Uint8)?;
        args.set("atten_mask", mask);
    }
    // Modes from 10 on are those from 0 on, in high precision.
    if let Some(mode @ 10..=14) = args.int("sparse_mode")? {
        args.set("inner_precise", 0);
        args.set("sparse_mode", mode.saturating_sub(10));
    }
    let line = "PromptFlashAttention(actual_seq_lengths=int64(actual_seq_lengths), \
                actual_seq_lengths_kv=int64(actual_seq_lengths_kv), *; *)";
    direct::make(cx, &args, line, &[])
}

fn incremental(cx: &mut Cx) -> Made {
    refuse_arch35(cx)?;
    let args = Args::of(
        cx,
        "query key value padding_mask atten_mask pse_shift actual_seq_lengths antiquant_scale antiquant_offset \
         block_table dequant_scale1 quant_scale1 dequant_scale2 quant_scale2 quant_offset2 kv_padding_size num_heads=1 \
         scale_value=1.0 input_layout=BSH num_key_value_heads=0 block_size=0 inner_precise=1",
    )?;
    direct::make(cx, &args, "IncreFlashAttention(actual_seq_lengths=int64(actual_seq_lengths), *; *)", &[])
}

/// Takes keys and values apart that hold `count` numbers in one element, along their last dimension.
fn apart(cx: &mut Cx, args: &mut Args, names: &[&str], dtype: DataType, count: i64) -> Result<(), Refusal> {
    let (key, value) = (cx.rank(args.tensor("key")?)?, cx.rank(args.tensor("value")?)?);
    let three = args.text("input_layout")? == "BSH" || key == 3 || value == 3;
    let ones: usize = if key == 5 || value == 5 {
        4
    } else if three {
        2
    } else {
        3
    };
    let factors = cx.constant(Literal::Ints([vec![1; ones], vec![count]].concat()), DataType::Int64)?;
    for name in names {
        let Some(t) = args.optional(name) else { continue };
        if count == 8 && names.len() > 2 && cx.dtype(t) != DataType::Int32 {
            continue;
        }
        let shape = cx.shape(t)?;
        let shape = cx.op("Mul", vec![shape.into(), factors.into()], &[])?;
        let seen = bitcast(cx, t, dtype)?;
        let made = cx.op("Reshape", vec![seen.into(), shape.into()], &[])?;
        args.set(name, made);
    }
    Ok(())
}

fn is_int32(cx: &Cx, args: &Args, name: &str) -> bool {
    args.optional(name).is_some_and(|t| cx.dtype(t) == DataType::Int32)
}

fn fused_infer(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "query key value pse_shift atten_mask actual_seq_lengths actual_seq_lengths_kv dequant_scale1 quant_scale1 \
         dequant_scale2 quant_scale2 quant_offset2 antiquant_scale antiquant_offset block_table query_padding_size \
         kv_padding_size key_antiquant_scale key_antiquant_offset value_antiquant_scale value_antiquant_offset \
         key_shared_prefix value_shared_prefix actual_shared_prefix_len query_rope key_rope key_rope_antiquant_scale \
         num_heads=1 scale=1.0 pre_tokens=2147483647 next_tokens=2147483647 input_layout=BSH num_key_value_heads=0 \
         sparse_mode=0 inner_precise=0 block_size=0 antiquant_mode=0 softmax_lse_flag=false key_antiquant_mode=0 \
         value_antiquant_mode=0",
    )?;
    let packed = ["key", "value", "key_shared_prefix", "value_shared_prefix"];
    apart(cx, &mut args, &packed, DataType::Int4, 8)?;
    let line = "FusedInferAttentionScore(actual_seq_lengths=int64(actual_seq_lengths), \
                actual_seq_lengths_kv=int64(actual_seq_lengths_kv), \
                actual_shared_prefix_len=int64(actual_shared_prefix_len), *; *)";
    direct::make(cx, &args, line, &[])
}

fn fused_infer_v2(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "query key value query_rope key_rope pse_shift atten_mask actual_seq_qlen actual_seq_kvlen block_table \
         dequant_scale_query dequant_scale_key dequant_offset_key dequant_scale_value dequant_offset_value \
         dequant_scale_key_rope quant_scale_out quant_offset_out quant_scale_p learnable_sink num_query_heads=1 \
         num_key_value_heads=0 softmax_scale=1.0 pre_tokens=2147483647 next_tokens=2147483647 input_layout=BSH \
         sparse_mode=0 block_size=0 query_quant_mode=0 key_quant_mode=0 value_quant_mode=0 inner_precise=0 \
         return_softmax_lse=false query_dtype key_dtype value_dtype query_rope_dtype key_rope_dtype \
         key_shared_prefix_dtype value_shared_prefix_dtype dequant_scale_query_dtype dequant_scale_key_dtype \
         dequant_scale_value_dtype dequant_scale_key_rope_dtype out_dtype",
    )?;
    if is_int32(cx, &args, "key") || is_int32(cx, &args, "value") {
        apart(cx, &mut args, &["key", "value"], DataType::Int4, 8)?;
    } else if args.int("key_dtype")?.is_some_and(|d| FLOAT4.contains(&d)) {
        let dtype = args.dtype("key_dtype")?.unwrap_or(DataType::Float4E2m1);
        apart(cx, &mut args, &["key", "value"], dtype, 2)?;
    }
    for name in ["dequant_scale_query", "dequant_scale_key", "dequant_scale_value"] {
        if let Some(scale) = args.optional(name).filter(|_| args.int(&format!("{name}_dtype")) == Ok(Some(E8M0))) {
            let seen = bitcast(cx, scale, DataType::Float8E8m0)?;
            args.set(name, seen);
        }
    }
    for name in ["query", "key", "value"] {
        if let Some(t) = args.optional(name).filter(|_| args.int(&format!("{name}_dtype")) == Ok(Some(HIFLOAT8))) {
            let seen = bitcast(cx, t, DataType::Hifloat8)?;
            args.set(name, seen);
        }
    }
    let line = "FusedInferAttentionScore(query, key, value, pse_shift, atten_mask, int64(actual_seq_qlen), \
                int64(actual_seq_kvlen), quant_scale1=quant_scale_p, quant_scale2=quant_scale_out, \
                quant_offset2=quant_offset_out, block_table=block_table, key_antiquant_scale=dequant_scale_key, \
                key_antiquant_offset=dequant_offset_key, value_antiquant_scale=dequant_scale_value, \
                value_antiquant_offset=dequant_offset_value, query_rope=query_rope, key_rope=key_rope, \
                key_rope_antiquant_scale=dequant_scale_key_rope, dequant_scale_query=dequant_scale_query, \
                learnable_sink=learnable_sink; *, num_heads=num_query_heads, scale=softmax_scale, \
                softmax_lse_flag=return_softmax_lse, key_antiquant_mode=key_quant_mode, \
                value_antiquant_mode=value_quant_mode";
    let number = args.int("out_dtype")?;
    let line = match number {
        Some(HIFLOAT8) => format!("{line}) -> (attention_out: DT_HIFLOAT8, softmax_lse)"),
        _ => format!("{line})"),
    };
    direct::make(cx, &args, &line, &[])
}

/// Only the plain case has an operator: one of two layouts, nothing dropped.
fn refuse_dropout(args: &Args, cx: &Cx, place: usize) -> Result<(), Refusal> {
    args.one_of("input_layout", &["BSH", "BNSD"])?;
    match (cx.float(place, "keep_prob", 1.0)? - 1.0).abs() <= 1e-9 {
        true => Ok(()),
        false => Err(Refusal("argument keep_prob must be 1".into())),
    }
}

fn fusion(cx: &mut Cx) -> Made {
    let args = Args::of(
        cx,
        "query key value head_num input_layout pse padding_mask atten_mask scale=1.0 keep_prob=1.0 \
         pre_tockens=2147483647 next_tockens=2147483647 inner_precise=0 prefix actual_seq_qlen actual_seq_kvlen \
         sparse_mode=0 gen_mask_parallel=true sync=false",
    )?;
    refuse_dropout(&args, cx, 9)?;
    let line = "FlashAttentionScore(query, key, value, -, -, padding_mask, atten_mask, prefix, actual_seq_qlen, \
                actual_seq_kvlen, =|0, =|0; *, scale_value=scale)";
    match direct::outputs(cx, &args, line, &[])?.as_slice() {
        [max, sum, out, attention] => {
            let tensors = [attention, max, sum, out].map(|t| Value::Tensor(*t));
            let numbers = [0, 0, 0].map(Value::Int);
            Ok(Value::List(tensors.into_iter().chain(numbers).collect()))
        }
        _ => Err(Refusal("four results were expected".into())),
    }
}

fn fusion_grad(cx: &mut Cx) -> Made {
    let args = Args::of(
        cx,
        "query key value dy head_num input_layout pse padding_mask atten_mask softmax_max softmax_sum softmax_in \
         attention_in scale_value=1.0 keep_prob=1.0 pre_tockens=2147483647 next_tockens=2147483647 inner_precise=0 \
         seed=0 offset=0 numels=0 prefix actual_seq_qlen actual_seq_kvlen sparse_mode=0 gen_mask_parallel=true sync=false",
    )?;
    refuse_dropout(&args, cx, 14)?;
    let line = "FlashAttentionScoreGrad(query, key, value, dy, -, -, padding_mask, atten_mask, softmax_max, softmax_sum, \
                softmax_in, attention_in, prefix, actual_seq_qlen, actual_seq_kvlen, =|0, =|0; *)";
    Ok(list(&direct::outputs(cx, &args, line, &[])?))
}

fn sparse_quantized(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "query key value sparse_indices scale_value key_quant_mode value_quant_mode key_dequant_scale \
         value_dequant_scale block_table actual_seq_lengths_query actual_seq_lengths_kv sparse_block_size=1 \
         layout_query=BSND layout_kv=BSND sparse_mode=3 pre_tokens=9223372036854775807 \
         next_tokens=9223372036854775807 attention_mode=0 quant_scale_repo_mode=1 tile_size=128 rope_head_dim=64 \
         key_dtype value_dtype",
    )?;
    see_hifloat8(cx, &mut args, &[("key", "key_dtype"), ("value", "value_dtype")])?;
    direct::make(cx, &args, "KvQuantSparseFlashAttention(*; *)", &[])
}

fn quantized_indexer(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "query key weights query_dequant_scale key_dequant_scale query_quant_mode key_quant_mode \
         actual_seq_lengths_query actual_seq_lengths_key block_table layout_query=BSND layout_key=BSND \
         sparse_count=2048 sparse_mode=3 pre_tokens=9223372036854775807 next_tokens=9223372036854775807 query_dtype \
         key_dtype",
    )?;
    see_hifloat8(cx, &mut args, &[("query", "query_dtype"), ("key", "key_dtype")])?;
    direct::make(cx, &args, "QuantLightningIndexer(*; *)", &[])
}
