//! Quantisation of torch_npu: computed in f32, rounded to nearest even, clamped.

use super::npu::{clipped, float_of};
use super::npu_norm::rms;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, quantize, &["npu.npu_quantize.default"]),
    (Exact, dynamic_quant, &["npu.npu_dynamic_quant.default"]),
    (Exact, add_rms_norm_quant, &["npu.npu_add_rms_norm_quant.default"]),
    (Exact, add_rms_norm_dynamic_quant, &["npu.npu_add_rms_norm_dynamic_quant.default"]),
    (Exact, rms_norm_quant, &["npu.npu_rms_norm_quant.default"]),
    (Exact, anti_quant, &["npu.npu_anti_quant.default"]),
    (Exact, trans_quant_param, &["npu.npu_trans_quant_param.default"]),
    (Exact, quant_matmul, &["npu.npu_quant_matmul.default"]),
    (Exact, weight_quant_matmul, &["npu.npu_weight_quant_batchmatmul.default"]),
    (Exact, dequant_bias, &["npu.npu_dequant_bias.default"]),
    (Exact, dequant_swiglu_quant, &["npu.npu_dequant_swiglu_quant.default"]),
];

/// The bounds of an integer dtype.
fn bounds(dtype: Dtype) -> Option<(i64, i64)> {
    match dtype {
        Dtype::I8 => Some((-128, 127)),
        Dtype::U8 => Some((0, 255)),
        Dtype::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        _ => None,
    }
}

/// Rounded, NaN to 0, clamped.
fn clamped<'b>(b: &Builder<'_>, v: T<'b>, dtype: Dtype) -> Result<T<'b>, CallFault> {
    let (low, high) = bounds(dtype).ok_or_else(|| b.unsupported(format!("a result of {}", dtype.long())))?;
    let r = v.op("round.default");
    Ok(r.fill_where(r.op("isnan"), 0).clamp(low, high).to(dtype))
}

/// To i8.
pub(super) fn to_i8<'b>(b: &Builder<'_>, v: T<'b>) -> Result<T<'b>, CallFault> {
    clamped(b, v, Dtype::I8)
}

/// A vector along one dimension of a tensor of that rank.
fn along(t: T<'_>, rank: usize, axis: i64) -> T<'_> {
    if t.rank() != 1 {
        return t;
    }
    t.view((0..rank).map(|d| if signed(d) == axis { t.size(0) } else { Arg::Int(1) }).collect::<Vec<_>>())
}

fn quantize(b: &Builder<'_>) -> Made {
    let (x, scales, by_division) = (b.t(0)?, b.t(1)?, b.flag(5)?);
    let axis = b.int(4)?;
    let axis = if !by_division && axis > -1 { -1 } else { axis };
    let axis = if axis < 0 { axis.saturating_add(x.dims()) } else { axis };
    let a = float_of(&[x, scales]);
    let s = along(scales.to(a), x.rank(), axis);
    let mut v = if by_division { x.to(a) / s } else { x.to(a) * s };
    if let Some(zero) = b.opt(2)? {
        v = v + along(zero.to(a), x.rank(), axis);
    }
    let dtype = b.own_tensor()?.dtype;
    done![clamped(b, if dtype == Dtype::I32 { v.to(Dtype::F64) } else { v }, dtype)?]
}

/// Rows by their greatest magnitude: values and scales.
fn by_rows<'b>(b: &Builder<'_>, v: T<'b>) -> Result<(T<'b>, T<'b>), CallFault> {
    let scale = v.op("abs").amax(&[-1], true) / 127;
    Ok((to_i8(b, v / scale)?, scale.squeeze(-1)))
}

fn dynamic_quant(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(b.text("quant_mode") == "pertoken" && matches!(b.opt_int("dst_type")?, None | Some(1 | 12)), "this mode")?;
    b.only(b.is_none("group_index"), "rows that values split")?;
    let v = x.to(float_of(&[x]));
    let v = b.opt("smooth_scales")?.map_or(v, |s| v * s.to(v.dtype()));
    let (y, scale) = by_rows(b, v)?;
    done![y, scale]
}

fn add_rms_norm_quant(b: &Builder<'_>) -> Made {
    let x = b.t(0)? + b.t(1)?;
    let (y, _) = rms(x, b.t(2)?, b.float("epsilon")?, b.opt("beta")?, false);
    let by_division = b.flag("div_mode")?;
    let way = |scale: Option<T<'_>>, zero: Option<T<'_>>| {
        let Some(s) = scale else { return Ok(b.full(y, y.shape(), 0, Dtype::I8).id()) };
        let s = b.value(s.id());
        let a = float_of(&[y, s]);
        let v = if by_division { y.to(a) / s.to(a) } else { y.to(a) * s.to(a) };
        to_i8(b, zero.map_or(v, |z| v + b.value(z.id()).to(a))).map(T::id)
    };
    done![way(Some(b.t("scales1")?), b.opt("zero_points1")?)?, way(b.opt("scales2")?, b.opt("zero_points2")?)?, x]
}

fn add_rms_norm_dynamic_quant(b: &Builder<'_>) -> Made {
    let x = b.t(0)? + b.t(1)?;
    let (y, _) = rms(x, b.t(2)?, b.float("epsilon")?, b.opt("beta")?, false);
    let smooth = [b.opt("smooth_scale1")?, b.opt("smooth_scale2")?];
    let on: Vec<bool> = match b.arg("output_mask").items() {
        Some(mask) if !mask.is_empty() => mask.iter().map(|m| *m == Arg::Bool(true)).collect(),
        _ => vec![true, smooth.iter().all(Option::is_some)],
    };
    let (mut values, mut scales) = (Vec::new(), Vec::new());
    for (on, s) in on.into_iter().zip(smooth) {
        if !on {
            values.push(b.full(y, vec![Arg::Int(0)], 0, Dtype::I8));
            scales.push(b.full(y, vec![Arg::Int(0)], 0, y.dtype()));
            continue;
        }
        let (q, scale) = by_rows(b, s.map_or(y, |s| y * s.to(y.dtype())))?;
        values.push(q);
        scales.push(scale);
    }
    match (values.as_slice(), scales.as_slice()) {
        ([y1, y2], [s1, s2]) => done![*y1, *y2, x, *s1, *s2],
        _ => Err(b.unsupported("this output_mask")),
    }
}

fn rms_norm_quant(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let a = float_of(&[x]);
    let flat = |t: T<'_>| t.reshape(vec![t.numel()]).id();
    let (gamma, beta) = (b.value(flat(b.t(1)?)), b.value(flat(b.t(2)?)));
    let (y, _) = rms(x, gamma, b.float(5)?, Some(beta), false);
    done![to_i8(b, y * b.t(3)?.to(a) + b.t(4)?.to(a))?]
}

fn anti_quant(b: &Builder<'_>) -> Made {
    let (x, scale) = (b.t(0)?, b.t(1)?);
    b.only(x.dtype() == Dtype::I8, "packed int4")?;
    let a = float_of(&[scale]);
    let v = b.opt("offset")?.map_or(x.to(a), |o| x.to(a) + o.to(a));
    done![(v * scale.to(a)).to(b.own_tensor()?.dtype)]
}

/// The bits of the scale with the low 13 cleared, a mark at bit 46, nine bits of the offset at bit 37.
fn trans_quant_param(b: &Builder<'_>) -> Made {
    let scale = b.t(0)?;
    b.only(matches!(b.opt_int(2)?, None | Some(0)), "round_mode")?;
    let bits = scale.call("view.dtype", args![Dtype::I32]).to(Dtype::I64).call("bitwise_and", args![0xFFFF_E000_i64]);
    let mut out = bits.call("bitwise_or", args![1_i64 << 46]);
    if let Some(offset) = b.opt(1)? {
        let o = offset.op("round.default").clamp(-256, 255).to(Dtype::I64).call("bitwise_and", args![0x1FF]);
        let o = o.call("bitwise_left_shift.Tensor_Scalar", args![37]);
        out = out.call("bitwise_and", args![0x4000_FFFF_FFFF_i64]).call("bitwise_or.Tensor", args![o]);
    }
    done![out]
}

/// A scale packed by `npu_trans_quant_param` is the f32 of its low 32 bits.
fn unpacked(scale: T<'_>) -> T<'_> {
    if scale.dtype() != Dtype::I64 {
        return scale;
    }
    let low = scale.call("bitwise_and", args![0xFFFF_FFFF_i64]);
    let sign = scale.call("bitwise_right_shift.Tensor_Scalar", args![31]).call("bitwise_and", args![1]);
    let sign = sign.call("bitwise_left_shift.Tensor_Scalar", args![32]);
    (low - sign).to(Dtype::I32).call("view.dtype", args![Dtype::F32])
}

fn quant_matmul(b: &Builder<'_>) -> Made {
    let (x1, x2) = (b.t(0)?, b.t(1)?);
    let ints_only = x1.dtype() == Dtype::I8 && x2.dtype() == Dtype::I8;
    b.only(ints_only && b.sizes("group_sizes").is_empty() && b.is_none("y_scale"), "other than int8")?;
    let product = super::matmul::product(b, x1.to(Dtype::I64), x2.to(Dtype::I64))?;
    let mut acc = product.to(Dtype::I32);
    let bias = b.opt("bias")?;
    let whole = bias.filter(|v| v.dtype() == Dtype::I32);
    acc = whole.map_or(acc, |v| acc + v);
    let dtype = b.own_tensor()?.dtype;
    // Whether what is left in integers is scaled is not published.
    b.only(dtype != Dtype::I32, "a result of int32")?;
    let scale = unpacked(b.t(2)?);
    let per_row = b.opt("pertoken_scale")?;
    let a = float_of(&[scale, per_row.unwrap_or(scale)]);
    let mut v = acc.to(a) * scale.to(a);
    v = per_row.map_or(v, |p| v * p.to(a).unsqueeze(-1));
    v = bias.filter(|t| t.dtype() != Dtype::I32).map_or(v, |t| v + t.to(a));
    if dtype != Dtype::I8 {
        return done![v.to(dtype)];
    }
    done![to_i8(b, b.opt("offset")?.map_or(v, |o| v + o.to(a)))?]
}

fn weight_quant_matmul(b: &Builder<'_>) -> Made {
    let (x, weight, scale) = (b.t(0)?, b.t(1)?, b.t(2)?);
    b.only(weight.dtype() == Dtype::I8, "packed int4")?;
    let (a, s) = (float_of(&[x]), float_of(&[scale]));
    let group = b.int("antiquant_group_size")?;
    let rows = weight.size(0);
    let grouped = |t: T<'_>| {
        let t = t.to(s);
        if group == 0 {
            return t.id();
        }
        t.call("repeat_interleave.self_int", args![group, 0]).slice(0, 0, rows.clone()).id()
    };
    let mut w = weight.to(s);
    if let Some(offset) = b.opt(3)? {
        w = w + b.value(grouped(offset));
    }
    let w = (w * b.value(grouped(scale))).to(scale.dtype());
    let mut y = super::matmul::product(b, x.to(a), w.to(a))?;
    if let Some(bias) = b.opt("bias")? {
        y = y + bias.to(a);
    }
    let Some(out) = b.opt("quant_scale")? else { return done![y.to(x.dtype())] };
    let y = y * out.to(a);
    done![to_i8(b, b.opt("quant_offset")?.map_or(y, |o| y + o.to(a)))?]
}

fn dequant_bias(b: &Builder<'_>) -> Made {
    let (mut x, scale, per_row, bias) = (b.t(0)?, b.t(1)?, b.opt(2)?, b.opt(3)?);
    let a = float_of(&[scale, per_row.unwrap_or(scale)]);
    x = bias.filter(|v| v.dtype() == Dtype::I32).map_or(x, |v| x + v);
    let mut v = x.to(a) * scale.to(a);
    v = per_row.map_or(v, |p| v * p.to(a).unsqueeze(-1));
    v = bias.filter(|t| t.dtype() != Dtype::I32).map_or(v, |t| v + t.to(a));
    done![v.to(b.own_tensor()?.dtype)]
}

/// The first row of a table of rows, or the vector itself, in f32.
fn first_row(t: T<'_>) -> T<'_> {
    (if t.rank() == 1 { t } else { t.select(0, 0) }).to(Dtype::F32)
}

fn dequant_swiglu_quant(b: &Builder<'_>) -> Made {
    let x = b.t("x")?;
    let usual = |key: &str, value: i64| b.opt_int(key).map(|v| v.is_none_or(|v| v == value));
    b.only(usual("dst_type", 1)? && usual("round_mode", 0)? && usual("activate_dim", -1)?, "this form")?;
    b.only(b.is_none("group_index") && x.rank() == 2, "rows that values split")?;
    let v = dequantised(b, x)?;
    let mode = b.int("swiglu_mode")?;
    let (act, linear) = if mode == 1 {
        (v.every_second(-1, 0), v.every_second(-1, 1))
    } else {
        let (left, right) = v.halves(-1)?;
        if b.flag("activate_left")? { (left, right) } else { (right, left) }
    };
    let mut v = if mode == 0 {
        act.op("silu") * linear
    } else {
        clipped(act, linear, b.float("clamp_limit")?, b.float("glu_alpha")?, b.float("glu_bias")?)
    };
    let scale = b.opt("quant_scale")?.map(first_row);
    if b.int("quant_mode")? == 1 {
        v = scale.map_or(v, |s| v * s);
        let (y, rows) = by_rows(b, v)?;
        return done![y, rows];
    }
    v = scale.map_or(v, |s| v / s);
    v = b.opt("quant_offset")?.map_or(v, |o| v + first_row(o));
    done![to_i8(b, v)?, b.full(x, vec![x.size(0)], 0, Dtype::F32)]
}

fn dequantised<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<T<'b>, CallFault> {
    if x.dtype() != Dtype::I32 {
        return Ok(x.to(Dtype::F32));
    }
    let bias = b.opt("bias")?;
    let whole = bias.filter(|t| t.dtype() == Dtype::I32);
    let mut v = whole.map_or(x, |t| x + t).to(Dtype::F32);
    v = b.opt("weight_scale")?.map_or(v, |s| v * first_row(s));
    v = b.opt("activation_scale")?.map_or(v, |s| v * s.reshape(vec![Arg::Int(-1), Arg::Int(1)]).to(Dtype::F32));
    Ok(bias.filter(|t| t.dtype() != Dtype::I32).map_or(v, |t| v + t.to(Dtype::F32)))
}
