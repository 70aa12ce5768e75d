//! Operators of `torch_npu` on key and value caches, on positions, and on the latent projections before attention.

use super::args::Args;
use super::cx::{Cx, list};
use super::direct;
use super::packed::{HIFLOAT8, bitcast};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    ("npu.npu_apply_rotary_pos_emb.default", By(apply_rotary)),
    (
        "npu.npu_dequant_rope_quant_kvcache.default",
        By(|cx| {
            rope_quant(
                cx,
                "x cos sin k_cache v_cache indices scale_k scale_v size_splits offset_k offset_v weight_scale \
                 activation_scale bias quant_mode=0 input_layout=BSND kv_output=false cache_mode=contiguous",
            )
        }),
    ),
    (
        "npu.npu_fused_causal_conv1d.default",
        By(|cx| causal_conv(cx, "FusedCausalConv1d(*; *, activation_mode, conv_mode) -> (y)")),
    ),
    (
        "npu.npu_fused_causal_conv1d_v2.default",
        By(|cx| causal_conv(cx, "InplaceFusedCausalConv1d(*; *, activation_mode, conv_mode) -> (x)")),
    ),
    ("npu.npu_interleave_rope.default", Direct("x cos sin", "InterleaveRope(x, cos, sin)")),
    ("npu.npu_kv_rmsnorm_rope_cache.default", Direct(KV_CACHE, "KvRmsNormRopeCache(*; *)")),
    (
        "npu.npu_kv_rmsnorm_rope_cache_v2_functional.default",
        Direct(
            KV_CACHE,
            "KvRmsNormRopeCache(k_cache=move(k_cache), ckv_cache=move(ckv_cache), *; *) \
             -> (k_rope, c_kv, k_cache, ckv_cache)",
        ),
    ),
    ("npu.npu_masked_causal_conv1d.default", Direct("input weight mask", "MaskedCausalConv1d(*)")),
    ("npu.npu_mla_prolog.default", Direct(MLA, "MlaProlog(*; *)")),
    ("npu.npu_mla_prolog_v2.default", Direct(MLA, "MlaPrologV2(*; *)")),
    ("npu.npu_mla_prolog_v3.default", By(|cx| mla_prolog_v3(cx, "MlaPrologV3(*; *)", Caches::Own))),
    (
        "npu.npu_mla_prolog_v3_functional.default",
        By(|cx| {
            mla_prolog_v3(cx, "MlaPrologV3(kv_cache=move(kv_cache), kr_cache=move(kr_cache), *; *)", Caches::Copied)
        }),
    ),
    (
        "npu.npu_qkv_rms_norm_rope_cache.default",
        Direct(QKV_CACHE, "QkvRmsNormRopeCache(*; *) -> (q_out_before_quant, k_out_before_quant, v_out_before_quant)"),
    ),
    (
        "npu.npu_qkv_rms_norm_rope_cache_functional.default",
        Direct(
            QKV_CACHE,
            "QkvRmsNormRopeCache(q_out=move(q_out), k_cache=move(k_cache), v_cache=move(v_cache), *; *) \
             -> (q_out_before_quant, k_out_before_quant, v_out_before_quant, q_out, k_cache, v_cache)",
        ),
    ),
    (
        "npu.npu_rope_quant_kvcache.default",
        By(|cx| {
            rope_quant(
                cx,
                "x cos sin k_cache v_cache indices scale_k scale_v size_splits offset_k offset_v quant_mode=0 \
                 input_layout=BSND kv_output=false cache_mode=contiguous",
            )
        }),
    ),
    ("npu.npu_rotary_mul.default", By(rotary_mul)),
    ("npu.npu_rotary_mul_backward.default", By(rotary_mul_backward)),
    ("npu.npu_scatter_list.default", By(scatter_list)),
    (
        "npu.npu_scatter_pa_kv_cache_functional.default",
        Direct(
            "key value key_cache value_cache slot_mapping compress_lens compress_seq_offsets seq_lens cache_mode=PA_NZ",
            "ScatterPaKvCache(key, move(key_cache), slot_mapping, value, move(value_cache), compress_lens, \
             compress_seq_offsets, seq_lens; cache_mode, scatter_mode=|None)",
        ),
    ),
];

const KV_CACHE: &str = "kv gamma cos sin index k_cache ckv_cache k_rope_scale c_kv_scale k_rope_offset c_kv_offset v \
                        epsilon=1e-05 cache_mode=Norm is_output_kv=false";

const QKV_CACHE: &str = "qkv q_gamma k_gamma cos sin index q_out k_cache v_cache qkv_size head_nums k_scale v_scale \
                         k_offset v_offset epsilon=1e-06 cache_mode=PA_NZ is_output_qkv=false";

const MLA: &str = "token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv rope_sin \
                   rope_cos cache_index kv_cache kr_cache dequant_scale_x dequant_scale_w_dq dequant_scale_w_uq_qr \
                   dequant_scale_w_dkv_kr quant_scale_ckv quant_scale_ckr smooth_scales_cq rmsnorm_epsilon_cq=1e-05 \
                   rmsnorm_epsilon_ckv=1e-05 cache_mode=PA_BSND";

const MLA_V3: &str = "token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv rope_sin \
                      rope_cos kv_cache kr_cache cache_index dequant_scale_x dequant_scale_w_dq dequant_scale_w_uq_qr \
                      dequant_scale_w_dkv_kr quant_scale_ckv quant_scale_ckr smooth_scales_cq actual_seq_len \
                      k_nope_clip_alpha rmsnorm_epsilon_cq=1e-05 rmsnorm_epsilon_ckv=1e-05 cache_mode=PA_BSND \
                      query_norm_flag=false weight_quant_mode=0 kv_cache_quant_mode=0 query_quant_mode=0 \
                      ckvkr_repo_mode=0 quant_scale_repo_mode=0 tile_size=128 qc_qr_scale=1.0 kc_scale=1.0 \
                      token_x_dtype weight_dq_dtype weight_uq_qr_dtype weight_dkv_kr_dtype kv_cache_dtype";

/// Whether an operator writes the caches that it is given, or copies of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caches {
    Own,
    Copied,
}

fn mla_prolog_v3(cx: &mut Cx, line: &str, caches: Caches) -> Made {
    let mut args = Args::of(cx, MLA_V3)?;
    let of_weights = args.int("weight_quant_mode")?.unwrap_or(0);
    let of_cache = args.int("kv_cache_quant_mode")?.unwrap_or(0);
    for name in ["token_x", "weight_dq", "weight_uq_qr", "weight_dkv_kr", "kv_cache"] {
        if of_weights == 5 && args.int(&format!("{name}_dtype"))? == Some(HIFLOAT8) {
            let seen = bitcast(cx, args.tensor(name)?, DataType::Hifloat8)?;
            args.set(name, seen);
        }
    }
    let made = direct::outputs(cx, &args, line, &[])?;
    let [query, query_rope, kv, kr, scale_nope, norm, scale_norm] = made.as_slice() else {
        return Err(Refusal("seven results were expected".into()));
    };
    if args.int("token_x_dtype")? == Some(HIFLOAT8) {
        if of_weights == 5 && of_cache == 1 {
            cx.b.set_desc_type(*query, DataType::Hifloat8);
        }
        if of_weights == 5 && matches!(of_cache, 1 | 3) {
            cx.b.set_desc_type(*kv, DataType::Hifloat8);
        }
        if args.flag("query_norm_flag")? && (of_weights == 5 || caches == Caches::Copied) {
            cx.b.set_desc_type(*norm, DataType::Hifloat8);
        }
    }
    Ok(match caches {
        Caches::Own => list(&[*query, *query_rope, *scale_nope, *norm, *scale_norm]),
        Caches::Copied => list(&[*query, *query_rope, *scale_nope, *norm, *scale_norm, *kv, *kr]),
    })
}

fn apply_rotary(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "query key cos sin layout=BSH rotary_mode=half")?;
    args.one_of("layout", &["BSH", "BSND", "SBND", "BNSD", "TND"])?;
    args.one_of("rotary_mode", &["half", "quarter", "interleave"])?;
    let layout = match args.text("layout")?.as_str() {
        "SBND" => 2,
        "BNSD" => 3,
        "TND" => 4,
        _ => 1,
    };
    let line = "ApplyRotaryPosEmb(move(query), move(key), cos, sin; rotary_mode)";
    direct::make(cx, &args, line, &[("layout", Attr::Int(layout))])
}

fn rope_quant(cx: &mut Cx, signature: &str) -> Made {
    let args = Args::of(cx, signature)?;
    let mode = if args.int("quant_mode")? == Some(0) { "static" } else { "dynamic" };
    let attrs = [("quant_mode", Attr::Str(mode.into()))];
    direct::make(cx, &args, "DequantRopeQuantKvcache(*; size_splits, layout=input_layout, kv_output)", &attrs)
}

fn causal_conv(cx: &mut Cx, line: &str) -> Made {
    let mut args = Args::of(
        cx,
        "x weight conv_states query_start_loc cache_indices initial_state_mode bias num_accepted_tokens activation=None \
         pad_slot_id=-1 run_mode=0 residual_connection=0 max_query_len=-1 num_computed_tokens \
         block_idx_first_scheduled_token block_idx_last_scheduled_token initial_state_idx block_size=128 \
         conv_mode=default",
    )?;
    let activation = match args.text("activation")?.as_str() {
        "silu" => 1,
        "swish" => 2,
        _ => 0,
    };
    let mode = i64::from(args.text("conv_mode")? == "pangu");
    args.set("activation_mode", activation);
    args.set("conv_mode", mode);
    direct::make(cx, &args, line, &[])
}

fn rotary_mode(args: &Args, modes: &[&str]) -> Result<(&'static str, Attr), Refusal> {
    args.one_of("rotary_mode", modes)?;
    let mode = args.text("rotary_mode")?;
    let place = ["half", "interleave", "quarter", "interleave-half"].iter().position(|m| *m == mode);
    Ok(("mode", Attr::Int(super::cx::signed(place.unwrap_or(0)))))
}

const ROTARY_MODES: [&str; 4] = ["half", "interleave", "quarter", "interleave-half"];

fn rotary_mul(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self r1 r2 rotary_mode=half rotate")?;
    if cx.b.arch35 {
        let mode = rotary_mode(&args, &ROTARY_MODES)?;
        return direct::make(cx, &args, "RotaryPositionEmbedding(self, r1, r2)", &[mode]);
    }
    let mode = rotary_mode(&args, &["half", "interleave"])?;
    if args.get("rotate").is_none() {
        // GE's RotaryMul turns halves; TorchAir's converter takes it for neighbours too.
        return match args.text("rotary_mode")?.as_str() {
            "half" => direct::make(cx, &args, "RotaryMul(self, r1, r2)", &[]),
            _ => direct::make(cx, &args, "RotaryPositionEmbedding(self, r1, r2)", &[mode]),
        };
    }
    direct::make(cx, &args, "RotaryPositionEmbedding(self, r1, r2, rotate)", &[mode])
}

fn rotary_mul_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad self r1 r2 rotary_mode=half need_backward=true")?;
    if cx.b.arch35 {
        let mode = rotary_mode(&args, &ROTARY_MODES)?;
        return direct::make(cx, &args, "RotaryPositionEmbeddingGrad(grad, r1, r2, self)", &[mode]);
    }
    let mut fixed = Vec::new();
    for name in ["self", "r1", "r2", "grad"] {
        let sizes = cx.fixed_sizes(args.tensor(name)?)?;
        fixed.push(sizes.ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))?);
    }
    if fixed.iter().take(3).any(|sizes| sizes.len() != 4) {
        return Err(Refusal("the operands must have four dimensions".into()));
    }
    let [x, r1, ..] = fixed.as_slice() else { return Err(Refusal("operands are missing".into())) };
    let spread = x.iter().zip(r1).filter(|(a, b)| a != b).fold(1_i64, |n, (a, _)| n.saturating_mul(*a));
    if spread > 1024 || x.last().is_some_and(|last| last % 64 != 0) {
        return Err(Refusal(
            "the last dimension must be a multiple of 64, and at most 1024 rows share a position".into(),
        ));
    }
    direct::make(cx, &args, "RotaryMulGrad(self, r1, r2, grad; need_backward)", &[])
}

fn scatter_list(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "self indices updates mask reduce=update axis=-2")?;
    let mut copies = Vec::new();
    for item in cx.tensors(0, "self")? {
        let item = item.tensor().ok_or_else(|| Refusal("argument self is no list of tensors".into()))?;
        copies.push(Value::Tensor(cx.op("TensorMove", vec![item.into()], &[])?));
    }
    args.set("self", Value::List(copies.into()));
    let made = direct::outputs(cx, &args, "ScatterList(self, indices, updates, mask; *)", &[])?;
    Ok(list(&made))
}
