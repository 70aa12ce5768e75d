//! Operators of `torch_npu` that bring quantized numbers back, and casts between types that torch does not have.

use super::args::Args;
use super::cx::Cx;
use super::direct;
use super::npu_quant::{pack_results, rank_of_first};
use super::packed::{FLOAT4, PAIRS, bitcast, packed, unpacked};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("npu._npu_dtype_cast_backward.default", By(cast_backward_to)),
    ("npu.npu_anti_mx_quant.default", By(anti_micro)),
    ("npu.npu_anti_quant.default", By(anti_quant)),
    ("npu.npu_dequant_bias.default", By(dequant_bias)),
    ("npu.npu_dequant_swiglu_quant.default", By(dequant_swiglu_quant)),
    ("npu.npu_dtype_cast.default", By(dtype_cast)),
    ("npu.npu_dtype_cast_backward.default", By(dtype_cast_backward)),
];

fn anti_micro(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "x mxscale axis=-1 dst_type=15 src_type=292")?;
    let x = args.tensor("x")?;
    let (rank, own, source) = (cx.rank(x)?, cx.dtype(x), args.dtype("src_type")?);
    if !matches!(args.dtype("dst_type")?, Some(DataType::Float16 | DataType::Float | DataType::Bf16)) {
        return Err(Refusal("argument dst_type must be float16, float32 or bfloat16".into()));
    }
    let axis = args.int("axis")?.unwrap_or(-1);
    if !(1..=7).contains(&rank) || metas::axis(axis, rank).is_none() {
        return Err(Refusal("x must have one to seven dimensions, and axis be one of them".into()));
    }
    match (own, source) {
        (DataType::Uint8, Some(source @ (DataType::Float4E2m1 | DataType::Float4E1m2))) => {
            let wide = unpacked(cx, x, source, 2)?;
            args.set("x", wide);
        }
        (own, Some(source)) if own == source => {}
        _ => return Err(Refusal("argument src_type does not fit the type of x".into())),
    }
    direct::make(cx, &args, "AntiMxQuant(x, mxscale; axis, dst_type=type(dst_type)) -> (y: dst_type)", &[])
}

fn anti_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "x scale offset dst_dtype src_dtype")?;
    let x = args.tensor("x")?;
    let (own, source) = (cx.dtype(x), args.dtype("src_dtype")?);
    let holds = match own {
        DataType::Uint8 => DataType::Hifloat8,
        DataType::Int32 => DataType::Int4,
        DataType::Int8 | DataType::Float8E4m3fn | DataType::Float8E5m2 => own,
        _ => return Err(Refusal("x must be of 8 bits, or int32 with integers of 4 bits".into())),
    };
    if source.is_some_and(|s| s != holds) {
        return Err(Refusal("argument src_dtype does not fit the type of x".into()));
    }
    match own {
        DataType::Uint8 => {
            let seen = bitcast(cx, x, DataType::Hifloat8)?;
            args.set("x", seen);
        }
        DataType::Int32 if cx.rank(x)? == 0 => return Err(Refusal("x must have dimensions".into())),
        DataType::Int32 => {
            let wide = unpacked(cx, x, DataType::Int4, 8)?;
            args.set("x", wide);
        }
        _ => {}
    }
    let dtype = args.dtype("dst_dtype")?.unwrap_or(DataType::Float16);
    direct::make(cx, &args, "AscendAntiQuantV2(x, scale, offset)", &[("dst_type", dtype.into())])
}

fn dequant_bias(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "x weight_scale activation_scale bias output_dtype")?;
    let dtype = args.dtype("output_dtype")?.unwrap_or(DataType::Float16);
    let line = "DequantBias(x, weight_scale, activation_scale, bias)";
    direct::make(cx, &args, line, &[("output_dtype", dtype.into())])
}

fn dequant_swiglu_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x weight_scale activation_scale bias quant_scale quant_offset group_index activate_left=false quant_mode=0 \
         dst_type=1 round_mode=0 activate_dim=-1 swiglu_mode=0 clamp_limit=7.0 glu_alpha=1.702 glu_bias=1.0",
    )?;
    args.or("dst_type", 1);
    args.or("activate_dim", -1);
    let round = match args.int("round_mode")?.unwrap_or(0) {
        1 => "round",
        2 => "floor",
        3 => "ceil",
        4 => "trunc",
        _ => "rint",
    };
    let mode = if args.int("quant_mode")? == Some(1) { "dynamic" } else { "static" };
    let attrs = [("round_mode", Attr::Str(round.into())), ("quant_mode", Attr::Str(mode.into()))];
    let line = "DequantSwigluQuant(*; *, dst_type=type(dst_type)) -> (y: dst_type, scale)";
    let made = direct::outputs(cx, &args, line, &attrs)?;
    let rank = rank_of_first(cx, &args)?;
    let narrow: &[usize] = if args.int("dst_type")?.is_some_and(|d| FLOAT4.contains(&d)) { &[0] } else { &[] };
    pack_results(cx, made, narrow, rank, PAIRS)
}

/// Takes what was packed apart, or only notes the type that the operand really has.
fn as_really(cx: &mut Cx, x: TensorId, args: &Args, name: &str) -> Result<TensorId, Refusal> {
    let Some(dtype) = args.dtype(name)? else { return Ok(x) };
    if !matches!(dtype, DataType::Float4E2m1 | DataType::Float4E1m2) {
        cx.b.set_desc_type(x, dtype);
        return Ok(x);
    }
    let rank = cx.rank(x)?;
    let factors = [vec![1; rank.saturating_sub(1)], vec![2]].concat();
    let factors = cx.constant(Literal::Ints(factors), DataType::Int64)?;
    let factors = cx.always_cast(factors, DataType::Int32)?;
    let shape = cx.shape(x)?;
    let shape = cx.op("Mul", vec![shape.into(), factors.into()], &[])?;
    let seen = bitcast(cx, x, dtype)?;
    cx.op("Reshape", vec![seen.into(), shape.into()], &[])
}

fn cast_to(cx: &mut Cx, x: TensorId, dtype: DataType, rank: usize, narrow: bool) -> Made {
    let made = cx.always_cast(x, dtype)?;
    cx.b.set_desc_type(made, dtype);
    Ok(if narrow { packed(cx, made, rank, PAIRS)? } else { made }.into())
}

fn dtype_cast(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dtype input_dtype")?;
    let x = args.tensor("self")?;
    let dtype = args.dtype("dtype")?.ok_or_else(|| Refusal("argument dtype is missing".into()))?;
    // Seen apart, the operand has no rank of its own that a packed result could have.
    let operand = as_really(cx, x, &args, "input_dtype")?;
    let narrow = matches!(args.get("dtype"), Value::Int(285 | 296 | 297));
    let rank = if narrow { cx.rank(operand)? } else { 0 };
    cast_to(cx, operand, dtype, rank, narrow)
}

fn dtype_cast_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dtype grad_dtype input_dtype")?;
    let x = args.tensor("self")?;
    let operand = as_really(cx, x, &args, "grad_dtype")?;
    match args.dtype("input_dtype")? {
        Some(dtype) => {
            let narrow = matches!(args.get("input_dtype"), Value::Int(296 | 297));
            let rank = if narrow { cx.rank(operand)? } else { 0 };
            cast_to(cx, operand, dtype, rank, narrow)
        }
        None => {
            let dtype = args.dtype("dtype")?.ok_or_else(|| Refusal("argument dtype is missing".into()))?;
            Ok(cx.always_cast(operand, dtype)?.into())
        }
    }
}

fn cast_backward_to(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dtype")?;
    let dtype = args.dtype("dtype")?.ok_or_else(|| Refusal("argument dtype is missing".into()))?;
    let x = args.tensor("self")?;
    Ok(cx.always_cast(x, dtype)?.into())
}
