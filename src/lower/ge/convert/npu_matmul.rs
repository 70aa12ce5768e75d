//! Matrix products of `torch_npu`: quantized, grouped, fused with what comes after.

use super::args::Args;
use super::cx::{Cx, ints};
use super::direct;
use super::packed::{FLOAT4, bitcast, group_size, see, seen_as, swapped, unpacked, unpacked_across};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    ("npu.npu_add_quant_gmm.default", By(|cx| add_quant_gmm(cx, Target::Copy))),
    ("npu.npu_add_quant_gmm_.default", By(|cx| add_quant_gmm(cx, Target::Own))),
    ("npu.npu_add_quant_matmul.default", By(|cx| add_quant_matmul(cx, Target::Copy))),
    ("npu.npu_add_quant_matmul_.default", By(|cx| add_quant_matmul(cx, Target::Own))),
    (
        "npu.npu_batch_gather_matmul.default",
        Direct(
            "self x weight_b indices weight_a layer_idx=0 scale=0.001 y_offset=0 y_slice_size=-1",
            "AddLora(self, x, weight_b, indices, weight_a; *)",
        ),
    ),
    ("npu.npu_ffn.default", By(ffn)),
    ("npu.npu_fused_matmul.default", By(fused_matmul)),
    ("npu.npu_linear.default", Direct("input weight bias", "MatMul(input, weight, bias; transpose_x2=|true)")),
    ("npu.npu_quant_conv2d.default", By(quant_conv2d)),
    (
        "npu.npu_quant_grouped_matmul_dequant.default",
        Direct(
            "x quantized_weight weight_scale group_list bias x_scale x_offset smooth_scale quant_mode=pertoken",
            "QuantGroupedMatmulDequant(*; x_quant_mode=quant_mode)",
        ),
    ),
    ("npu.npu_quant_matmul.default", By(quant_matmul)),
    (
        "npu.npu_quant_matmul_dequant.default",
        Direct(
            "x quantized_weight weight_scale bias x_scale x_offset smooth_scale quant_mode=pertoken",
            "QuantMatmulDequant(*; x_quant_mode=quant_mode)",
        ),
    ),
    ("npu.npu_quant_matmul_reduce_sum.default", By(reduce_sum)),
    (
        "npu.npu_transpose_batchmatmul.default",
        Direct(
            "input weight bias scale perm_x1=[0,1,2] perm_x2=[0,1,2] perm_y=[1,0,2] batch_split_factor=1",
            "TransposeBatchMatMul(input, weight, bias, scale; *)",
        ),
    ),
    ("npu.npu_transpose_quant_batchmatmul.default", By(transpose_quant)),
    ("npu.npu_weight_quant_batchmatmul.default", By(weight_quant)),
];

/// Which memory an operator that adds in place adds to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Copy,
    Own,
}

fn only_arch35(cx: &Cx) -> Result<(), Refusal> {
    match cx.b.arch35 {
        true => Ok(()),
        false => Err(Refusal("only devices from Ascend 950 on have it; name one as soc_version".into())),
    }
}

const SEEN: [(&str, &str); 4] =
    [("x1", "x1_dtype"), ("x2", "x2_dtype"), ("x1_scale", "x1_scale_dtype"), ("x2_scale", "x2_scale_dtype")];

fn add_in_place(cx: &mut Cx, args: &mut Args, line: &str, target: Target, more: &[(&str, Attr)]) -> Made {
    see(cx, args, &SEEN)?;
    if target == Target::Copy {
        let copy = cx.op("TensorMove", vec![args.input("self")?], &[])?;
        args.set("self", copy);
    }
    let made = direct::outputs(cx, args, line, more)?;
    if target == Target::Own {
        made.iter().for_each(|t| cx.b.keep(*t));
    }
    Ok(made.first().map_or(Value::None, |t| (*t).into()))
}

fn add_quant_gmm(cx: &mut Cx, target: Target) -> Made {
    only_arch35(cx)?;
    let mut args = Args::of(
        cx,
        "self x1 x2 x2_scale group_list x1_scale group_list_type=0 group_sizes x1_dtype x2_dtype x1_scale_dtype \
         x2_scale_dtype",
    )?;
    let line = "QuantGroupedMatmulInplaceAdd(x1, x2, x2_scale, group_list, self, x1_scale; group_list_type)";
    add_in_place(cx, &mut args, line, target, &[])
}

fn add_quant_matmul(cx: &mut Cx, target: Target) -> Made {
    only_arch35(cx)?;
    let mut args =
        Args::of(cx, "self x1 x2 x2_scale x1_scale group_sizes x1_dtype x2_dtype x1_scale_dtype x2_scale_dtype")?;
    let size = group_size(&args, "group_sizes")?;
    let line = "QuantBatchMatmulInplaceAdd(x1, x2, x2_scale, self, x1_scale)";
    add_in_place(cx, &mut args, line, target, &[("group_size", Attr::Int(size))])
}

fn fused_matmul(cx: &mut Cx) -> Made {
    only_arch35(cx)?;
    let args = Args::of(cx, "x x2 bias x3 fused_op_type=")?;
    direct::make(cx, &args, "FusedMatMul(x, x2, bias, x3; fused_op_type)", &[])
}

fn ffn(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x weight1 weight2 activation expert_tokens expert_tokens_index bias1 bias2 scale offset deq_scale1 deq_scale2 \
         antiquant_scale1 antiquant_scale2 antiquant_offset1 antiquant_offset2 inner_precise=0 output_dtype",
    )?;
    let by_index = args.get("expert_tokens_index");
    if !by_index.is_none() {
        if !args.get("expert_tokens").is_none() {
            return Err(Refusal("only one of expert_tokens and expert_tokens_index can be given".into()));
        }
        args.set("expert_tokens", by_index.clone());
    }
    let quantized = cx.dtype(args.tensor("x")?) == DataType::Int8;
    let dtype = match args.dtype("output_dtype")?.filter(|_| quantized) {
        None => -1,
        Some(DataType::Float16) => 0,
        Some(DataType::Bf16) => 1,
        Some(_) => return Err(Refusal("argument output_dtype must be float16 or bfloat16".into())),
    };
    let attrs = [("output_dtype", Attr::Int(dtype)), ("tokens_index_flag", Attr::Bool(!by_index.is_none()))];
    direct::make(cx, &args, "FFN(expert_tokens=int64(expert_tokens), *; *)", &attrs)
}

fn quant_conv2d(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "input weight scale strides pads dilations groups=1 offset_x=0 round_mode=rint output_dtype bias offset \
         input_dtype weight_dtype",
    )?;
    if cx.out_sizes()?.len() != 4 {
        return Err(Refusal("only four dimensions are supported".into()));
    }
    if !args.get("offset").is_none() {
        return Err(Refusal("argument offset is not supported".into()));
    }
    args.or("round_mode", Value::Str("rint".into()));
    let dtype = args.dtype("output_dtype")?;
    use DataType::{Bf16, Float, Float16, Hifloat8};
    let Some(dtype) = dtype.filter(|d| matches!(d, Float16 | Float | Bf16 | Hifloat8)) else {
        return Err(Refusal("argument output_dtype must be float16, bfloat16, float32 or hifloat8".into()));
    };
    let pair = |name: &str| match args.ints(name)?.as_deref() {
        Some([a, b]) => Ok((*a, *b)),
        _ => Err(Refusal(format!("argument {name} must be two fixed numbers"))),
    };
    let ((sh, sw), (ph, pw), (dh, dw)) = (pair("strides")?, pair("pads")?, pair("dilations")?);
    for (name, of) in [("input", "input_dtype"), ("weight", "weight_dtype")] {
        if let Some(dtype) = args.dtype(of)? {
            cx.b.set_desc_type(args.tensor(name)?, dtype);
        }
    }
    let attrs = [
        // TorchAir gives the descriptors' number of the type here, where attributes have another.
        ("dtype", Attr::Int(i64::from(dtype as i32))),
        ("strides", Attr::Ints(vec![1, 1, sh, sw])),
        ("pads", Attr::Ints(vec![ph, ph, pw, pw])),
        ("dilations", Attr::Ints(vec![1, 1, dh, dw])),
        ("data_format", Attr::Str("NCHW".into())),
    ];
    let line = match dtype {
        Hifloat8 => "QuantConv2D(input, weight, scale, bias; *) -> (y: DT_HIFLOAT8)",
        _ => "QuantConv2D(input, weight, scale, bias; *)",
    };
    direct::make(cx, &args, line, &attrs)
}

fn reduce_sum(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "x1 x2 x1_scale x2_scale")?;
    let dims = ints(&[0]);
    let scales = [args.input("x1_scale")?, args.input("x2_scale")?];
    let [x1_scale, x2_scale] = scales;
    let none = crate::lower::ge::builder::In::None;
    let inputs = vec![args.input("x1")?, args.input("x2")?, dims, none, x1_scale, x2_scale];
    cx.ge("QuantMatmulReduceSum", inputs, &[("dtype", Attr::Type(DataType::Bf16))])
}

fn transpose_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x1 x2 dtype bias x1_scale x2_scale group_sizes perm_x1=[1,0,2] perm_x2=[0,1,2] perm_y=[1,0,2] \
         batch_split_factor=1 x1_dtype x2_dtype",
    )?;
    let size = group_size(&args, "group_sizes")?;
    see(cx, &mut args, &[("x1", "x1_dtype"), ("x2", "x2_dtype")])?;
    let line = "TransposeQuantBatchMatMul(*; *, dtype=type(dtype)) -> (y: dtype)";
    direct::make(cx, &args, line, &[("group_size", Attr::Int(size))])
}

fn weight_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x weight antiquant_scale antiquant_offset quant_scale quant_offset bias antiquant_group_size=0 \
         inner_precise=0 weight_dtype",
    )?;
    if let Some(scale) = args.optional("quant_scale").filter(|t| cx.dtype(*t) == DataType::Int64) {
        let cast = cx.always_cast(scale, DataType::Uint64)?;
        args.set("quant_scale", cast);
    }
    let scale = args.tensor("antiquant_scale")?;
    if cx.dtype(scale) == DataType::Uint8 {
        // What was transposed is seen as another type before that.
        let turned = cx.b.op_of(scale).is_some_and(|op| op.kind == "Transpose");
        let mut seen = if turned { swapped(cx, scale, 2)? } else { scale };
        seen = bitcast(cx, seen, DataType::Float8E8m0)?;
        args.set("antiquant_scale", if turned { swapped(cx, seen, 2)? } else { seen });
    }
    see(cx, &mut args, &[("weight", "weight_dtype")])?;
    direct::make(cx, &args, "WeightQuantBatchMatmulV2(*; antiquant_group_size, inner_precise)", &[])
}

const QUANT_MATMUL: &str = "x1 x2 scale offset pertoken_scale bias output_dtype x1_dtype x2_dtype pertoken_scale_dtype \
                            scale_dtype group_sizes y_scale transpose_x1=false transpose_x2=false";

fn is_float4(args: &Args, name: &str) -> Result<bool, Refusal> {
    Ok(args.int(name)?.is_some_and(|d| FLOAT4.first() == Some(&d)))
}

fn size_from_end(cx: &Cx, t: TensorId, back: usize) -> Result<Option<i64>, Refusal> {
    let sizes = cx.sizes(t)?;
    Ok(sizes.len().checked_sub(back).and_then(|at| sizes.get(at)).and_then(|d| d.fixed()))
}

fn quant_matmul(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, QUANT_MATMUL)?;
    args.or("output_dtype", 1);
    let (x1, x2) = (args.tensor("x1")?, args.tensor("x2")?);
    let (a, b) = (cx.dtype(x1), cx.dtype(x2));
    let is_int = |d: DataType| matches!(d, DataType::Int8 | DataType::Int32);
    if !cx.b.arch35 && !is_int(a) && !is_int(b) {
        return Err(Refusal("before Ascend 950 only operands of int8 or int32 are supported".into()));
    }
    let (float4_x1, float4_x2) = (is_float4(&args, "x1_dtype")?, is_float4(&args, "x2_dtype")?);
    let mixed = a == DataType::Float8E4m3fn && (float4_x2 || b == DataType::Float);
    let mut size = group_size(&args, "group_sizes")?;
    if mixed {
        size &= 0xffff;
    }
    if a == DataType::Int32 && b == DataType::Int32 {
        int4_operands(cx, &mut args, x1, x2)?;
    } else if float4_x1 || (mixed && b != DataType::Float) {
        return Err(Refusal("operands of 4-bit floats are not supported".into()));
    }
    see(cx, &mut args, &[("x1", "x1_dtype"), ("x2", "x2_dtype"), ("pertoken_scale", "pertoken_scale_dtype")])?;
    scale_seen(cx, &mut args, mixed && b == DataType::Float, x1, x2)?;
    match cx.b.arch35 {
        true => {
            let line = "QuantBatchMatmulV4(x1, x2, bias, pertoken_scale, scale, y_scale, x2_offset=offset; \
                        dtype=type(output_dtype)) -> (y: output_dtype)";
            direct::make(cx, &args, line, &[("group_size", Attr::Int(size))])
        }
        false => {
            let line = "QuantBatchMatmulV3(x1, x2, scale, offset, bias, pertoken_scale; dtype=type(output_dtype))";
            direct::make(cx, &args, line, &[])
        }
    }
}

/// Eight integers of 4 bits lie in an int32: along the inner dimension, which for a transposed weight is the one before the last.
fn int4_operands(cx: &mut Cx, args: &mut Args, x1: TensorId, x2: TensorId) -> Result<(), Refusal> {
    if cx.rank(x2)? < 2 {
        return Err(Refusal("x2 must have two dimensions".into()));
    }
    let turned = size_from_end(cx, x1, 1)?.is_some_and(|inner| size_from_end(cx, x2, 2) == Ok(Some(inner)));
    let wide = unpacked(cx, x1, DataType::Int4, 8)?;
    args.set("x1", wide);
    let wide = match turned {
        true => unpacked_across(cx, x2, DataType::Int4, 8)?,
        false => unpacked(cx, x2, DataType::Int4, 8)?,
    };
    args.set("x2", wide);
    Ok(())
}

/// Sees the scale as the type that is named: as it was stored, where it is transposed with the weight.
fn scale_seen(cx: &mut Cx, args: &mut Args, mixed: bool, x1: TensorId, x2: TensorId) -> Result<(), Refusal> {
    let (Some(dtype), Some(scale)) = (args.dtype("scale_dtype")?, args.optional("scale")) else { return Ok(()) };
    let inner = size_from_end(cx, x2, 2)?.and_then(|n| n.checked_mul(8));
    if !(mixed && inner.is_some() && size_from_end(cx, x1, 1)? == inner) {
        let seen = seen_as(cx, scale, dtype)?;
        args.set("scale", seen);
        return Ok(());
    }
    let perm: Vec<i64> = match cx.rank(scale)? {
        0 | 1 => return Err(Refusal("the scale must have two or three dimensions".into())),
        3 => vec![1, 0, 2],
        rank => {
            let axes = crate::lower::ge::metas::swapped(rank, rank.saturating_sub(2), rank.saturating_sub(1));
            axes.into_iter().map(super::cx::signed).collect()
        }
    };
    let turned = cx.op("Transpose", vec![scale.into(), ints(&perm)], &[])?;
    let seen = seen_as(cx, turned, dtype)?;
    let back = cx.op("Transpose", vec![seen.into(), ints(&perm)], &[])?;
    args.set("scale", back);
    Ok(())
}
