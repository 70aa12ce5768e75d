//! Operators of `torch_npu` that compute and communicate at once, and those of schedulers across devices.

use super::args::Args;
use super::cx::Cx;
use super::direct;
use super::packed::{FLOAT4, group_size, see, seen_as};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    (
        "npu._npu_distribute_barrier.default",
        Direct("x_ref group world_size time_out elastic_info", "DistributeBarrier(*; *)"),
    ),
    (
        "npu.attention_worker_scheduler.default",
        Direct("schedule_context", "AttentionWorkerScheduler(move(schedule_context))"),
    ),
    (
        "npu.ffn_worker_scheduler.default",
        Direct("schedule_context sync_group_size=1 execute_mode=0", "FfnWorkerScheduler(move(schedule_context); *)"),
    ),
    ("npu.npu_all_gather_base_mm.default", By(all_gather_base)),
    ("npu.npu_all_gather_quant_mm.default", By(all_gather_quant)),
    ("npu.npu_all_to_all_matmul.default", By(all_to_all_matmul)),
    ("npu.npu_all_to_all_quant_matmul.default", By(all_to_all_quant)),
    (
        "npu.npu_alltoallv_gmm.default",
        By(|cx| {
            plain_v(
                cx,
                "trans_gmm_weight=false trans_mm_weight=false permute_out_flag=false",
                "AlltoAllvGroupedMatMul(*; group=hcom, *)",
            )
        }),
    ),
    ("npu.npu_alltoallv_quant_gmm.default", By(all_to_all_v_quant)),
    (
        "npu.npu_attention_to_ffn.default",
        Direct(
            "x session_id micro_batch_id layer_id expert_ids expert_rank_table group world_size \
             ffn_token_info_table_shape ffn_token_data_shape attn_token_info_table_shape moe_expert_num scales \
             active_mask quant_mode=0 sync_flag=0 ffn_start_rank_id=0",
            "AttentionToFFN(*; *)",
        ),
    ),
    (
        "npu.npu_attention_worker_combine.default",
        Direct(
            "schedule_context expert_scales layer_id hidden_size token_dtype=0 need_schedule=0",
            "AttentionWorkerCombine(*; hidden_size, token_dtype)",
        ),
    ),
    (
        "npu.npu_ffn_to_attention.default",
        Direct(
            "x session_ids micro_batch_ids token_ids expert_offsets actual_token_num group world_size \
             token_info_table_shape token_data_shape attn_rank_table",
            "FFNToAttention(*; *)",
        ),
    ),
    (
        "npu.npu_ffn_worker_batching.default",
        Direct(
            "schedule_context expert_num max_out_shape token_dtype=0 need_schedule=0 layer_num=0",
            "FfnWorkerBatching(schedule_context; *)",
        ),
    ),
    (
        "npu.npu_gmm_alltoallv.default",
        By(|cx| {
            plain_v(cx, "trans_gmm_weight=false trans_mm_weight=false", "GroupedMatMulAlltoAllv(*; group=hcom, *)")
        }),
    ),
    ("npu.npu_matmul_all_to_all.default", By(matmul_all_to_all)),
    ("npu.npu_mm_all_reduce_base.default", By(all_reduce)),
    ("npu.npu_mm_reduce_scatter_base.default", By(reduce_scatter_base)),
    ("npu.npu_quant_gmm_alltoallv.default", By(quant_all_to_all_v)),
    ("npu.npu_quant_matmul_all_to_all.default", By(quant_matmul_all_to_all)),
    ("npu.npu_quant_mm_reduce_scatter.default", By(reduce_scatter_quant)),
];

const HALF: [DataType; 2] = [DataType::Float16, DataType::Bf16];

/// Refuses operands that are not both of one half precision.
fn halves(cx: &Cx, args: &Args, a: &str, b: &str) -> Result<DataType, Refusal> {
    let (a, b) = (cx.dtype(args.tensor(a)?), cx.dtype(args.tensor(b)?));
    match a == b && HALF.contains(&a) {
        true => Ok(a),
        false => Err(Refusal("both operands must be float16, or both bfloat16".into())),
    }
}

fn refuse_mode(args: &Args) -> Result<(), Refusal> {
    args.one_of("comm_mode", &["", "ai_cpu", "ccu"])
}

/// Refuses a type of the result that no such operator has.
fn result_type(args: &Args, name: &str, none: DataType) -> Result<DataType, Refusal> {
    match args.dtype(name)? {
        None => Ok(none),
        Some(dtype @ (DataType::Float | DataType::Float16 | DataType::Bf16)) => Ok(dtype),
        Some(_) => Err(Refusal(format!("argument {name} must be float32, float16 or bfloat16"))),
    }
}

fn all_gather_base(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self x2 hcom world_size bias gather_index=0 gather_output=true comm_turn=0")?;
    halves(cx, &args, "self", "x2")?;
    let line = "AllGatherMatmul(self, x2, bias; *, group=hcom, rank_size=world_size, is_gather_out=gather_output)";
    direct::make(cx, &args, line, &[])
}

fn reduce_scatter_base(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self x2 hcom world_size reduce_op=sum bias comm_turn=0")?;
    halves(cx, &args, "self", "x2")?;
    direct::make(cx, &args, "MatmulReduceScatter(self, x2, bias; *, group=hcom, rank_size=world_size)", &[])
}

/// The operands' types and the result's fit one another: halves keep theirs, floats of 8 bits must name it.
fn quantized_types(cx: &Cx, args: &Args) -> Result<DataType, Refusal> {
    let (a, b) = (cx.dtype(args.tensor("self")?), cx.dtype(args.tensor("x2")?));
    if a != b && (HALF.contains(&a) || a == DataType::Hifloat8) {
        return Err(Refusal("both operands must have one type".into()));
    }
    match (args.dtype("y_dtype")?, a) {
        (None, DataType::Hifloat8 | DataType::Float8E4m3fn | DataType::Float8E5m2) => {
            Err(Refusal("argument y_dtype is missing".into()))
        }
        (Some(y), a) if HALF.contains(&a) && y != a => Err(Refusal("the result must have the operands' type".into())),
        (y, a) => Ok(y.unwrap_or(a)),
    }
}

const SEEN: [(&str, &str); 4] =
    [("self", "x1_dtype"), ("x2", "x2_dtype"), ("x1_scale", "x1_scale_dtype"), ("x2_scale", "x2_scale_dtype")];

fn all_gather_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "self x2 hcom world_size bias x1_scale x2_scale quant_scale block_size=0 gather_index=0 gather_output=true \
         comm_turn=0 group_sizes amax_output=false y_dtype x1_dtype x2_dtype x1_scale_dtype x2_scale_dtype comm_mode=",
    )?;
    let dtype = quantized_types(cx, &args)?;
    let size = group_size(&args, "group_sizes")?;
    // Left out, TorchAir's descriptor says int8, whatever the operands are.
    let told = args.dtype("y_dtype")?.unwrap_or(DataType::Int8);
    let own = match args.dtype("x1_dtype")? {
        None => cx.dtype(args.tensor("self")?),
        Some(DataType::Hifloat8) => DataType::Hifloat8,
        Some(_) => DataType::Undefined,
    };
    see(cx, &mut args, &SEEN)?;
    let attrs = [("group_size", Attr::Int(size)), ("y_dtype", dtype.into())];
    let line = "AllGatherMatmulV2(self, *; *, group=hcom, rank_size=world_size, is_gather_out=gather_output, \
                is_amax_out=amax_output, comm_mode|)";
    let made = direct::outputs(cx, &args, line, &attrs)?;
    for (t, dtype) in made.iter().zip([told, own]) {
        cx.b.set_desc_type(*t, dtype);
    }
    Ok(super::cx::list(&made))
}

fn reduce_scatter_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "self x2 hcom world_size reduce_op=sum bias x1_scale x2_scale quant_scale block_size=0 comm_turn=0 group_sizes \
         amax_output=false y_dtype x1_dtype x2_dtype x1_scale_dtype x2_scale_dtype comm_mode=",
    )?;
    let dtype = quantized_types(cx, &args)?;
    let size = group_size(&args, "group_sizes")?;
    let told = args.dtype("y_dtype")?.unwrap_or(DataType::Int8);
    see(cx, &mut args, &SEEN)?;
    let attrs = [("group_size", Attr::Int(size)), ("y_dtype", dtype.into())];
    let line = "MatmulReduceScatterV2(self, *; *, group=hcom, rank_size=world_size, is_amax_out=amax_output)";
    let made = direct::outputs(cx, &args, line, &attrs)?;
    if let Some(t) = made.first() {
        cx.b.set_desc_type(*t, told);
    }
    Ok(super::cx::list(&made))
}

fn refuse_bias(cx: &Cx, args: &Args, own: DataType) -> Result<(), Refusal> {
    match args.optional("bias").map(|t| cx.dtype(t)) {
        Some(dtype) if dtype != DataType::Float && dtype != own => {
            Err(Refusal("the bias must be float32, or have the operands' type".into()))
        }
        _ => Ok(()),
    }
}

fn all_to_all_matmul(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "x1 x2 hcom world_size bias all2all_axes=[-2,-1] all2all_out_flag=true comm_mode")?;
    refuse_mode(&args)?;
    let own = halves(cx, &args, "x1", "x2")?;
    refuse_bias(cx, &args, own)?;
    args.or("all2all_axes", Value::List([-2, -1].map(Value::Int).into()));
    let line = "AlltoAllMatmul(*; *, group=hcom, alltoall_out_flag=all2all_out_flag) \
                -> (y: x1, all2all_out: x1)";
    direct::make(cx, &args, line, &[("y_dtype", own.into())])
}

fn matmul_all_to_all(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "x1 x2 hcom world_size bias all2all_axes=[-1,-2] comm_mode")?;
    refuse_mode(&args)?;
    let own = halves(cx, &args, "x1", "x2")?;
    refuse_bias(cx, &args, own)?;
    args.or("all2all_axes", Value::List([-1, -2].map(Value::Int).into()));
    direct::make(cx, &args, "MatmulAlltoAll(*; *, group=hcom)", &[("y_dtype", own.into())])
}

/// What both quantized exchanges hold true of their operands.
fn refuse_quantized(cx: &Cx, args: &Args, modes: [(i64, i64); 2], needed: &[&str]) -> Result<(), Refusal> {
    refuse_mode(args)?;
    if !args.int("world_size")?.is_some_and(|n| matches!(n, 2 | 4 | 8 | 16)) {
        return Err(Refusal("argument world_size must be 2, 4, 8 or 16".into()));
    }
    if let Some(name) = needed.iter().find(|name| args.optional(name).is_none()) {
        return Err(Refusal(format!("argument {name} is missing")));
    }
    if args.optional("bias").is_some_and(|t| cx.dtype(t) != DataType::Float) {
        return Err(Refusal("the bias must be float32".into()));
    }
    let given = (args.int("x1_quant_mode")?.unwrap_or(0), args.int("x2_quant_mode")?.unwrap_or(0));
    if !modes.contains(&given) {
        return Err(Refusal(format!("quantization modes {} and {} are not supported together", given.0, given.1)));
    }
    let float4 = |name: &str| Ok::<_, Refusal>(args.int(name)?.is_some_and(|d| FLOAT4.contains(&d)));
    match float4("x1_dtype")? || float4("x2_dtype")? {
        true => Err(Refusal("operands of 4-bit floats are not supported".into())),
        false => Ok(()),
    }
}

const SCALES: [(&str, &str); 2] = [("x1_scale", "x1_scale_dtype"), ("x2_scale", "x2_scale_dtype")];

fn all_to_all_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x1 x2 hcom world_size all2all_out_flag=true bias x1_scale x2_scale common_scale x1_offset x2_offset \
         x1_quant_mode=7 x2_quant_mode=2 common_quant_mode=0 group_sizes all2all_axes comm_quant_dtype=-1 x1_quant_dtype \
         x1_dtype x2_dtype x1_scale_dtype x2_scale_dtype output_scale_dtype comm_scale_dtype y_dtype comm_mode",
    )?;
    refuse_quantized(cx, &args, [(7, 2), (6, 6)], &["x2_scale"])?;
    let blocks = args.int("x1_quant_mode")? == Some(6);
    let quant = args.dtype("x1_quant_dtype")?;
    if !blocks && !matches!(quant, Some(DataType::Float8E4m3fn | DataType::Float8E5m2)) {
        return Err(Refusal("argument x1_quant_dtype must be a float of 8 bits".into()));
    }
    args.or("all2all_axes", Value::List([-2, -1].map(Value::Int).into()));
    if blocks {
        see(cx, &mut args, &SCALES)?;
    }
    let dtype = result_type(&args, "y_dtype", DataType::Float)?;
    let mut attrs = vec![
        ("y_dtype", dtype.into()),
        ("group_size", Attr::Int(group_size(&args, "group_sizes")?)),
        ("comm_quant_dtype", Attr::Int(-1)),
    ];
    attrs.extend(quant.map(|d| ("x1_quant_dtype", d.into())));
    let line = "AlltoAllMatmul(comm_scale=common_scale, *; *, group=hcom, alltoall_out_flag=all2all_out_flag)";
    let made = direct::outputs(cx, &args, line, &attrs)?;
    let sent =
        args.dtype("x1_dtype")?.unwrap_or_else(|| args.optional("x1").map_or(DataType::Undefined, |t| cx.dtype(t)));
    let [y, out] = made.as_slice() else { return Err(Refusal("two results were expected".into())) };
    cx.b.set_desc_type(*y, dtype);
    if args.flag("all2all_out_flag")? {
        cx.b.set_desc_type(*out, sent);
    }
    Ok(super::cx::list(&made))
}

fn quant_matmul_all_to_all(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x1 x2 hcom world_size bias x1_scale x2_scale common_scale x1_offset x2_offset x1_quant_mode=3 x2_quant_mode=2 \
         common_quant_mode=0 group_sizes all2all_axes comm_quant_dtype=-1 x1_dtype x2_dtype x1_scale_dtype \
         x2_scale_dtype output_scale_dtype comm_scale_dtype y_dtype comm_mode",
    )?;
    refuse_quantized(cx, &args, [(3, 2), (6, 6)], &["x1_scale", "x2_scale"])?;
    args.or("all2all_axes", Value::List([-1, -2].map(Value::Int).into()));
    if args.int("x1_quant_mode")? == Some(6) {
        see(cx, &mut args, &SCALES)?;
    }
    let attrs = [
        ("y_dtype", result_type(&args, "y_dtype", DataType::Float)?.into()),
        ("group_size", Attr::Int(group_size(&args, "group_sizes")?)),
        ("comm_quant_dtype", Attr::Int(-1)),
    ];
    direct::make(cx, &args, "MatmulAlltoAll(comm_scale=common_scale, *; *, group=hcom)", &attrs)
}

/// An exchange of rows, by counts that differ, around grouped products that are not quantized.
fn plain_v(cx: &mut Cx, more: &str, line: &str) -> Made {
    let signature = format!(
        "gmm_x gmm_weight hcom ep_world_size send_counts recv_counts send_counts_tensor recv_counts_tensor mm_x mm_weight \
         {more} comm_mode"
    );
    let args = Args::of(cx, &signature)?;
    refuse_mode(&args)?;
    direct::make(cx, &args, line, &[])
}

const V_QUANT: &str = "gmm_x gmm_weight gmm_x_scale gmm_weight_scale hcom ep_world_size send_counts recv_counts gmm_y_dtype \
                       send_counts_tensor recv_counts_tensor mm_x mm_weight mm_x_scale mm_weight_scale";
const V_TYPES: &str = "gmm_x_dtype gmm_weight_dtype gmm_x_scale_dtype gmm_weight_scale_dtype mm_x_dtype mm_weight_dtype \
                       mm_x_scale_dtype mm_weight_scale_dtype";
const V_MODES: [&str; 4] = ["gmm_x_quant_mode", "gmm_weight_quant_mode", "mm_x_quant_mode", "mm_weight_quant_mode"];

/// The arguments, the attributes that are computed of them, and the types of the two results.
type Quantized = (Args, Vec<(&'static str, Attr)>, [DataType; 2]);

/// Reads and checks what both exchanges with quantized grouped products have; sees operands as the types that are named.
fn quantized_v(cx: &mut Cx, signature: &str) -> Result<Quantized, Refusal> {
    let mut args = Args::of(cx, signature)?;
    refuse_mode(&args)?;
    for (name, is_needed) in V_MODES.into_iter().zip([true, true, false, false]) {
        match args.int(name)? {
            Some(1) => {}
            None if !is_needed => {}
            None => return Err(Refusal(format!("argument {name} is missing"))),
            Some(_) => return Err(Refusal("only quantization by tensor (mode 1) of all operands is supported".into())),
        }
    }
    for name in
        ["gmm_x", "gmm_weight", "gmm_x_scale", "gmm_weight_scale", "mm_x", "mm_weight", "mm_x_scale", "mm_weight_scale"]
    {
        if let (Some(t), Some(dtype)) = (args.optional(name), args.dtype(&format!("{name}_dtype"))?) {
            let seen = seen_as(cx, t, dtype)?;
            args.set(name, seen);
        }
    }
    let half = |name: &str, none: Option<DataType>| match args.dtype(name)?.or(none) {
        Some(dtype) if HALF.contains(&dtype) => Ok(dtype),
        _ => Err(Refusal(format!("argument {name} must be float16 or bfloat16"))),
    };
    let (y, mm) = (half("gmm_y_dtype", None)?, half("mm_y_dtype", Some(DataType::Float16))?);
    let size = group_size(&args, "group_size")?;
    let attrs = vec![("group_size", Attr::Int(size)), ("y_dtype", y.into()), ("mm_dtype", mm.into())];
    Ok((args, attrs, [y, mm]))
}

fn all_to_all_v_quant(cx: &mut Cx) -> Made {
    let signature =
        format!("{V_QUANT} {} permute_out_flag=false group_size {V_TYPES} mm_y_dtype comm_mode", V_MODES.join(" "));
    let (mut args, attrs, [y, mm]) = quantized_v(cx, &signature)?;
    V_MODES.iter().for_each(|name| args.or(name, 1));
    let sent = args
        .dtype("gmm_x_dtype")?
        .unwrap_or_else(|| args.optional("gmm_x").map_or(DataType::Undefined, |t| cx.dtype(t)));
    let made = direct::outputs(cx, &args, "AlltoAllvQuantGroupedMatMul(*; *, group=hcom)", &attrs)?;
    let [gmm_y, mm_y, permuted] = made.as_slice() else { return Err(Refusal("three results were expected".into())) };
    cx.b.set_desc_type(*gmm_y, y);
    if args.optional("mm_x").is_some() {
        cx.b.set_desc_type(*mm_y, mm);
    }
    if args.flag("permute_out_flag")? {
        cx.b.set_desc_type(*permuted, sent);
    }
    Ok(super::cx::list(&made))
}

fn quant_all_to_all_v(cx: &mut Cx) -> Made {
    let signature = format!(
        "{V_QUANT} comm_quant_scale {} comm_quant_mode group_size {V_TYPES} comm_quant_dtype mm_y_dtype comm_mode",
        V_MODES.join(" ")
    );
    let (mut args, mut attrs, [y, mm]) = quantized_v(cx, &signature)?;
    V_MODES.iter().for_each(|name| args.or(name, 1));
    attrs.push(("comm_quant_dtype", Attr::Int(0)));
    let made = direct::outputs(cx, &args, "QuantGroupedMatMulAlltoAllv(*; *, group=hcom)", &attrs)?;
    let [gmm_y, mm_y] = made.as_slice() else { return Err(Refusal("two results were expected".into())) };
    cx.b.set_desc_type(*gmm_y, y);
    if args.optional("mm_x").is_some() {
        cx.b.set_desc_type(*mm_y, mm);
    }
    Ok(super::cx::list(&made))
}

fn all_reduce(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x1 x2 hcom reduce_op=sum bias antiquant_scale antiquant_offset x3 dequant_scale pertoken_scale \
         comm_quant_scale_1 comm_quant_scale_2 antiquant_group_size=0 comm_turn=0 group_sizes y_dtype x1_dtype x2_dtype \
         dequant_scale_dtype pertoken_scale_dtype comm_quant_mode=0",
    )?;
    let (x1, x2) = (args.tensor("x1")?, args.tensor("x2")?);
    let (own, scale) = (cx.dtype(x1), args.optional("dequant_scale").map(|t| cx.dtype(t)));
    if scale.is_none() {
        let same = |name: &str| args.optional(name).is_none_or(|t| cx.dtype(t) == own);
        let weight = !args.get("antiquant_scale").is_none() || cx.dtype(x2) == own;
        if !HALF.contains(&own) || !weight || !same("bias") || !same("x3") {
            return Err(Refusal("operands, bias and x3 must be float16, or all bfloat16".into()));
        }
    }
    if cx.rank(x1)? < 2 || cx.rank(x2)? < 2 {
        return Err(Refusal("the operands must have two dimensions".into()));
    }
    let float4 = |name: &str| Ok::<_, Refusal>(args.int(name)?.is_some_and(|d| FLOAT4.contains(&d)));
    if float4("x1_dtype")? || float4("x2_dtype")? {
        return Err(Refusal("operands of 4-bit floats are not supported".into()));
    }
    let dtype = match (args.dtype("y_dtype")?, scale) {
        (Some(dtype), _) => dtype,
        (None, Some(DataType::Bf16)) => DataType::Bf16,
        (None, Some(_)) => DataType::Float16,
        (None, None) => DataType::Undefined,
    };
    let size = group_size(&args, "group_sizes")?;
    let names = ["x1", "x2", "dequant_scale", "pertoken_scale"].map(|n| (n, format!("{n}_dtype")));
    see(cx, &mut args, &names.each_ref().map(|(n, of)| (*n, of.as_str())))?;
    let attrs = [("group_size", Attr::Int(size)), ("y_dtype", dtype.into())];
    let made = direct::outputs(cx, &args, "MatmulAllReduce(*; *, group=hcom)", &attrs)?;
    let [y] = made.as_slice() else { return Err(Refusal("one result was expected".into())) };
    cx.b.set_desc_type(*y, if dtype == DataType::Undefined { own } else { dtype });
    Ok((*y).into())
}
