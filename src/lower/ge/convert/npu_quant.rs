//! Operators of `torch_npu` that quantize.

use super::args::Args;
use super::cx::{Cx, list};
use super::direct;
use super::packed::{Divisor, EIGHTS, FLOAT4, HIFLOAT8, INT4, PAIRS, Packing, bitcast, divisor, packed, packed_by};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    (
        "npu.npu_add_rms_norm_dynamic_mx_quant.default",
        By(|cx| {
            micro(
                cx,
                "x1 x2 gamma beta epsilon=1e-06 scale_alg=0 round_mode=rint dst_type=296",
                "AddRmsNormDynamicMxQuant(*; *, dst_type=type(dst_type)) -> \
                 (y: dst_type, x, mxscale: DT_FLOAT8_E8M0, rstd)",
                &[0],
            )
        }),
    ),
    (
        "npu.npu_dynamic_block_mx_quant.default",
        By(|cx| {
            micro(
                cx,
                "x round_mode=rint dst_type=296 scale_alg=0 dst_type_max=0.0",
                "DynamicBlockMxQuant(x; *, dst_type=type(dst_type)) -> \
                 (y: dst_type, scale1: DT_FLOAT8_E8M0, scale2: DT_FLOAT8_E8M0)",
                &[0],
            )
        }),
    ),
    ("npu.npu_dynamic_block_quant.default", By(dynamic_block_quant)),
    ("npu.npu_dynamic_dual_level_mx_quant.default", By(dual_level)),
    (
        "npu.npu_dynamic_mx_quant.default",
        By(|cx| {
            micro(
                cx,
                "x axis=-1 round_mode=rint dst_type=296 block_size=32 scale_alg=0 dst_type_max=0.0",
                "DynamicMxQuant(x; *, dst_type=type(dst_type), blocksize=block_size) -> \
                 (y: dst_type, mxscale: DT_FLOAT8_E8M0)",
                &[0],
            )
        }),
    ),
    (
        "npu.npu_dynamic_mx_quant_with_dual_axis.default",
        By(|cx| {
            micro(
                cx,
                "x round_mode=rint dst_type=296 scale_alg=0 dst_type_max=0.0",
                "DynamicMxQuantWithDualAxis(x; *, dst_type=type(dst_type)) -> \
                 (y1: dst_type, mxscale1: DT_FLOAT8_E8M0, y2: dst_type, mxscale2: DT_FLOAT8_E8M0)",
                &[0, 2],
            )
        }),
    ),
    ("npu.npu_dynamic_quant.default", By(dynamic_quant)),
    ("npu.npu_dynamic_quant_asymmetric.default", By(dynamic_quant_asymmetric)),
    ("npu.npu_gelu_quant.default", By(gelu_quant)),
    ("npu.npu_group_quant.default", By(group_quant)),
    (
        "npu.npu_grouped_dynamic_block_quant.default",
        Direct(
            "x group_list min_scale=0.0 round_mode=rint dst_type=291 row_block_size=1 col_block_size=128 \
             group_list_type=0",
            "GroupedDynamicBlockQuant(x, group_list; *, dst_type=type(dst_type)) -> (y: dst_type, scale)",
        ),
    ),
    ("npu.npu_grouped_dynamic_mx_quant.default", By(grouped_micro)),
    ("npu.npu_kronecker_quant.default", By(kronecker_quant)),
    (
        "npu.npu_quant_max.default",
        Direct(
            "x scale round_mode=rint dst_dtype=291",
            "QuantMax(x, scale; round_mode, dst_type=type(dst_dtype)) -> (y: dst_dtype, amax)",
        ),
    ),
    ("npu.npu_quant_scatter.default", By(quant_scatter)),
    ("npu.npu_quant_scatter_.default", By(quant_scatter_in_place)),
    ("npu.npu_quantize.default", By(quantize)),
    (
        "npu.npu_rms_norm_dynamic_mx_quant.default",
        By(|cx| {
            micro(
                cx,
                "x gamma beta epsilon=1e-06 scale_alg=0 round_mode=rint dst_type=296",
                "RmsNormDynamicMxQuant(*; *, dst_type=type(dst_type)) -> (y: dst_type, mxscale: DT_FLOAT8_E8M0, rstd)",
                &[0],
            )
        }),
    ),
    ("npu.npu_rotate_quant.default", By(rotate_quant)),
    (
        "npu.npu_swiglu_mx_quant.default",
        By(|cx| {
            micro(
                cx,
                "x group_index activate_left=false activate_dim=-1 swiglu_mode=0 clamp_limit=7.0 glu_alpha=1.702 \
                 glu_bias=1.0 group_mode=0 axis=-1 dst_type=296 round_mode=rint scale_alg=0 max_dtype_value=0",
                "SwigluMxQuant(x, group_index; *, dst_type=type(dst_type)) -> (y: dst_type, mxscale: DT_FLOAT8_E8M0)",
                &[0],
            )
        }),
    ),
];

/// Returns the rank of the first argument, which quantized results share.
pub(super) fn rank_of_first(cx: &Cx, args: &Args) -> Result<usize, Refusal> {
    let name = args.names().next().map(ToString::to_string).unwrap_or_default();
    cx.rank(args.tensor(&name)?)
}

/// Packs results of `made`, each of the rank of the operand.
pub(super) fn pack_results(cx: &mut Cx, mut made: Vec<TensorId>, places: &[usize], rank: usize, how: Packing) -> Made {
    if !places.is_empty() {
        let by = divisor(cx, rank, how)?;
        for place in places {
            if let Some(t) = made.get_mut(*place) {
                *t = packed_by(cx, *t, by, how)?;
            }
        }
    }
    Ok(list(&made))
}

/// Makes the operator of a line that quantizes by blocks with shared scales; results of 4 bits are packed.
fn micro(cx: &mut Cx, signature: &str, line: &str, narrow: &[usize]) -> Made {
    let args = Args::of(cx, signature)?;
    let made = direct::outputs(cx, &args, line, &[])?;
    let rank = rank_of_first(cx, &args)?;
    let is_narrow = args.int("dst_type")?.is_some_and(|d| FLOAT4.contains(&d));
    pack_results(cx, made, if is_narrow { narrow } else { &[] }, rank, PAIRS)
}

fn dual_level(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input smooth_scale round_mode=rint")?;
    let line = "DynamicDualLevelMxQuant(input, smooth_scale; round_mode, level0_block_size=|512, level1_block_size=|32) \
                -> (y: DT_FLOAT4_E2M1, level0_scale: DT_FLOAT, level1_scale: DT_FLOAT8_E8M0)";
    let made = direct::outputs(cx, &args, line, &[])?;
    let rank = rank_of_first(cx, &args)?;
    pack_results(cx, made, &[0], rank, PAIRS)
}

fn grouped_micro(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "x group_index round_mode=rint dst_type=23 blocksize=32 scale_alg=0")?;
    if !matches!(args.dtype("dst_type")?, Some(DataType::Float8E4m3fn | DataType::Float8E5m2)) {
        return Err(Refusal("argument dst_type must be one of two floats of 8 bits".into()));
    }
    if cx.rank(args.tensor("x")?)? != 2 || cx.rank(args.tensor("group_index")?)? != 1 {
        return Err(Refusal("x must have two dimensions and group_index one".into()));
    }
    args.one_of("round_mode", &["rint"])?;
    if args.int("blocksize")? != Some(32) || !matches!(args.int("scale_alg")?, Some(0 | 1)) {
        return Err(Refusal("blocksize must be 32, and scale_alg 0 or 1".into()));
    }
    let line = "GroupedDynamicMxQuant(x, group_index; *, dst_type=type(dst_type)) -> (y, mxscale: DT_FLOAT8_E8M0)";
    direct::make(cx, &args, line, &[])
}

fn dynamic_block_quant(cx: &mut Cx) -> Made {
    let signature = "x min_scale=0.0 round_mode=rint dst_type=1 row_block_size=1 col_block_size=128 dst_type_max=0.0";
    let args = Args::of(cx, signature)?;
    if !args.int("dst_type")?.is_some_and(|d| matches!(d, 23 | 24) || d >= 256) {
        return Err(Refusal("argument dst_type must be a float of 8 bits".into()));
    }
    direct::make(cx, &args, "DynamicBlockQuant(x; *, dst_type=type(dst_type)) -> (y: dst_type, scale)", &[])
}

const DYNAMIC: &str = "input smooth_scales group_index dst_type=1 quant_mode=pertoken dst_type_max=0.0";

fn dynamic_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, DYNAMIC)?;
    args.or("dst_type", 1);
    let plain = args.text("quant_mode")? == "pertoken" && cx.float(5, "dst_type_max", 0.0)? == 0.0;
    let line = match plain {
        true => "DynamicQuant(input, smooth_scales, group_index; dst_type=type(dst_type)) -> (y: dst_type, scale)",
        false => {
            "DynamicQuantV2(input, smooth_scales, group_index; *, dst_type=type(dst_type), is_symmetrical=|true) \
             -> (y: dst_type, scale)"
        }
    };
    dynamic(cx, &args, line)
}

fn dynamic_quant_asymmetric(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, DYNAMIC)?;
    args.or("dst_type", 1);
    let line = "DynamicQuantV2(input, smooth_scales, group_index; *, dst_type=type(dst_type), is_symmetrical=|false) \
                -> (y: dst_type, scale, offset)";
    dynamic(cx, &args, line)
}

fn dynamic(cx: &mut Cx, args: &Args, line: &str) -> Made {
    let made = direct::outputs(cx, args, line, &[])?;
    let rank = rank_of_first(cx, args)?;
    let narrow: &[usize] = if args.int("dst_type")? == Some(INT4) { &[0] } else { &[] };
    pack_results(cx, made, narrow, rank, EIGHTS)
}

fn rotate_quant(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "x rotation alpha=0.0 dst_dtype=0")?;
    let line = "RotateQuant(x, rotation; alpha, y_dtype=type(dst_dtype)) -> (y: dst_dtype, scale)";
    let made = direct::outputs(cx, &args, line, &[])?;
    let rank = rank_of_first(cx, &args)?;
    let narrow: &[usize] = if args.int("dst_dtype")? == Some(INT4) { &[0] } else { &[] };
    pack_results(cx, made, narrow, rank, EIGHTS)
}

fn group_quant(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "x scale group_index offset dst_dtype")?;
    let dtype = match args.dtype("dst_dtype")? {
        None => DataType::Uint8,
        Some(DataType::Qint8) => DataType::Int8,
        Some(dtype) => dtype,
    };
    let made = direct::outputs(cx, &args, "GroupQuant(x, scale, group_index, offset)", &[("dst_type", dtype.into())])?;
    let rank = rank_of_first(cx, &args)?;
    match made.as_slice() {
        [y] if dtype == DataType::Int4 => Ok(packed(cx, *y, rank, EIGHTS)?.into()),
        [y] => Ok((*y).into()),
        _ => Err(Refusal("one result was expected".into())),
    }
}

fn kronecker_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "x kronecker_p1 kronecker_p2 clip_ratio=1.0 dst_dtype dst_type_max")?;
    args.or("clip_ratio", 1);
    args.or("dst_type_max", 0);
    match args.dtype("dst_dtype")? {
        None | Some(DataType::Int32) => {
            let line = "FlatQuant(x, kronecker_p1, kronecker_p2; clip_ratio)";
            let made = direct::outputs(cx, &args, line, &[])?;
            let rank = rank_of_first(cx, &args)?;
            pack_results(cx, made, &[0], rank, EIGHTS)
        }
        Some(DataType::Float4E2m1) => {
            let line = "FlatQuant(x, kronecker_p1, kronecker_p2; *, dst_dtype=type(dst_dtype)) \
                        -> (out: DT_FLOAT4_E2M1, quant_scale: DT_FLOAT8_E8M0)";
            direct::make(cx, &args, line, &[])
        }
        Some(_) => Err(Refusal("argument dst_dtype must be int32 or float4_e2m1".into())),
    }
}

/// Refuses a way of rounding that the type does not have.
fn refuse_rounding(args: &Args, dtype: DataType) -> Result<(), Refusal> {
    match dtype {
        DataType::Hifloat8 => args.one_of("round_mode", &["round", "hybrid"]),
        DataType::Int8 | DataType::Float8E4m3fn | DataType::Float8E5m2 => args.one_of("round_mode", &["rint"]),
        _ => Err(Refusal("argument dst_type must be int8 or a float of 8 bits".into())),
    }
}

fn gelu_quant(cx: &mut Cx) -> Made {
    let signature = "self input_scale input_offset approximate=none quant_mode=dynamic dst_type round_mode=rint";
    let args = Args::of(cx, signature)?;
    args.one_of("quant_mode", &["static", "dynamic"])?;
    let (is_static, scale) = (args.text("quant_mode")? == "static", args.optional("input_scale"));
    if scale.is_none() && (is_static || args.optional("input_offset").is_some()) {
        return Err(Refusal("argument input_scale is missing".into()));
    }
    if !is_static && cx.rank(args.tensor("self")?)? < 2 {
        return Err(Refusal("quant_mode=dynamic needs two dimensions".into()));
    }
    let dtype = args.dtype("dst_type")?.unwrap_or(DataType::Int8);
    refuse_rounding(&args, dtype)?;
    let line = match dtype {
        DataType::Hifloat8 => "GeluQuant(self, *; *) -> (y: DT_HIFLOAT8, out_scale)",
        _ => "GeluQuant(self, *; *)",
    };
    direct::make(cx, &args, line, &[("dst_type", dtype.into())])
}

fn quant_scatter(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "self indices updates quant_scales quant_zero_points axis=-2 quant_axis=-1 reduce=update dst_type round_mode=rint",
    )?;
    let dtype = args.dtype("dst_type")?.unwrap_or(DataType::Int8);
    args.or("round_mode", Value::Str("rint".into()));
    refuse_rounding(&args, dtype)?;
    let mut x = args.tensor("self")?;
    cx.b.set_desc_type(x, dtype);
    if args.int("dst_type")? == Some(HIFLOAT8) {
        x = bitcast(cx, x, DataType::Hifloat8)?;
    }
    let copy = cx.op("TensorMove", vec![x.into()], &[])?;
    cx.b.set_desc_type(copy, dtype);
    args.set("self", copy);
    let made = direct::outputs(cx, &args, "QuantUpdateScatter(self, *; *)", &[])?;
    made.iter().for_each(|y| cx.b.set_desc_type(*y, dtype));
    Ok(made.first().map_or(Value::None, |y| (*y).into()))
}

fn quant_scatter_in_place(cx: &mut Cx) -> Made {
    let signature = "self indices updates quant_scales quant_zero_points axis=0 quant_axis=1 reduce=update";
    let args = Args::of(cx, signature)?;
    let made = direct::outputs(cx, &args, "QuantUpdateScatter(self, *; *)", &[])?;
    made.iter().for_each(|y| cx.b.keep(*y));
    Ok(made.first().map_or(Value::None, |y| (*y).into()))
}

fn quantize(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "self scales zero_points dtype axis=1 div_mode=true")?;
    let dtype = args.dtype("dtype")?.ok_or_else(|| Refusal("argument dtype is missing".into()))?;
    let rank = rank_of_first(cx, &args)?;
    let axis = args.int("axis")?.unwrap_or(1);
    if !args.flag("div_mode")? {
        let kind = if dtype == DataType::Qint8 { DataType::Int8 } else { dtype };
        let attrs = [("dst_type", kind.into()), ("axis", Attr::Int(axis.min(-1)))];
        let line = "AscendQuantV2(self, scales, zero_points; round_mode=|round) -> (y: dtype)";
        let made = direct::outputs(cx, &args, line, &attrs)?;
        let [y] = made.as_slice() else { return Err(Refusal("one result was expected".into())) };
        let narrow = args.int("dtype")? == Some(INT4);
        let eights = Packing { divisor: Divisor::Cast, ..EIGHTS };
        return Ok(if narrow { packed(cx, *y, rank, eights)? } else { *y }.into());
    }
    let place = crate::lower::ge::metas::axis(axis, rank).ok_or_else(|| Refusal("axis is out of range".into()))?;
    let others: Vec<i64> = (0..rank).filter(|a| *a != place).map(super::cx::signed).collect();
    for name in ["zero_points", "scales"] {
        let Some(t) = args.optional(name) else { continue };
        if cx.rank(t)? != 1 {
            return Err(Refusal(format!("argument {name} must have one dimension")));
        }
        let t = cx.unsqueeze(t, &others)?;
        args.set(name, t);
    }
    let name = match dtype {
        DataType::Int8 | DataType::Qint8 => "torch.qint8",
        DataType::Uint8 | DataType::Quint8 => "torch.quint8",
        DataType::Int32 | DataType::Qint32 => "torch.qint32",
        DataType::Hifloat8 => "torch.hifloat8",
        DataType::Float8E5m2 => "torch.float8_e5m2",
        DataType::Float8E4m3fn => "torch.float8_e4m3fn",
        _ => return Err(Refusal("argument dtype must be an integer or a float of 8 bits".into())),
    };
    let attrs = [("dtype", Attr::Str(name.into())), ("axis", Attr::Int(super::cx::signed(place)))];
    direct::make(cx, &args, "Quantize(self, scales, zero_points) -> (y: dtype)", &attrs)
}
