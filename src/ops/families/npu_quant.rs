//! Operators of torch_npu that quantise, dequantise or multiply quantised tensors. Results are contiguous.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::npu::{coded, last, made, product, rows, wide};
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (quantize, &["npu.npu_quantize.default"]),
    (dynamic_quant, &["npu.npu_dynamic_quant.default"]),
    (anti_quant, &["npu.npu_anti_quant.default"]),
    (trans_quant_param, &["npu.npu_trans_quant_param.default"]),
    (quant_matmul, &["npu.npu_quant_matmul.default"]),
    (weight_quant_matmul, &["npu.npu_weight_quant_batchmatmul.default"]),
    (dequant_bias, &["npu.npu_dequant_bias.default"]),
    (dequant_swiglu_quant, &["npu.npu_dequant_swiglu_quant.default"]),
];

fn quantize(c: &mut Call<'_>) -> Typed {
    let (t, code) = (c.tensor(0)?, c.arg(3));
    let code = match code {
        crate::graph::Arg::Dtype(Dtype::Qint8 | Dtype::I8) => 1,
        crate::graph::Arg::Dtype(Dtype::Quint8 | Dtype::U8) => 13,
        crate::graph::Arg::Dtype(Dtype::Qint32 | Dtype::I32) => 3,
        crate::graph::Arg::Dtype(Dtype::Quint4x2) => 16,
        _ => c.int(3)?,
    };
    let mut dims = t.sizes.clone();
    let dtype = match code {
        1 | 12 => Dtype::I8,
        0 | 13 => Dtype::U8,
        3 | 14 => Dtype::I32,
        16 => {
            if let Some(slot) = dims.last_mut() {
                *slot = sizes::floordiv(c.symbols, *slot, Dim::Fixed(8))?;
            }
            Dtype::I32
        }
        other => return Err(c.bad(3, "a dtype code of i8, u8, i32 or packed int4", other.to_string())),
    };
    made(c, dtype, t, dims)
}

fn dynamic_quant(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !c.is_none(3) && !matches!(c.opt_int(3), Ok(Some(1))) || c.text(4) != "pertoken" {
        return Err(CallFault::Unsupported { what: "quantising to another dtype than i8, or not by row".into() });
    }
    Ok(out::many([made(c, Dtype::I8, t, t.sizes.clone())?, made(c, wide(&[t]), t, rows(t))?]))
}

fn anti_quant(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = coded(c, 3, Dtype::F16)?;
    if t.dtype == Dtype::I32 {
        let mut dims = rows(t);
        dims.push(sizes::mul(c.symbols, last(t), Dim::Fixed(8))?);
        return made(c, dtype, t, dims);
    }
    made(c, dtype, t, t.sizes.clone())
}

fn trans_quant_param(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    made(c, Dtype::I64, t, t.sizes.clone())
}

fn quant_matmul(c: &mut Call<'_>) -> Typed {
    let place = c.operator.schema.param_index("output_dtype").unwrap_or(6);
    if c.tensor(1)?.dtype == Dtype::I32 {
        return Err(CallFault::Unsupported { what: "packed int4 weights".into() });
    }
    let dtype = coded(c, place, Dtype::I8)?;
    product(c, dtype)
}

fn weight_quant_matmul(c: &mut Call<'_>) -> Typed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    if weight.dtype == Dtype::I32 {
        return Err(CallFault::Unsupported { what: "packed int4 weights".into() });
    }
    let dtype = if c.is_none(4) { t.dtype } else { Dtype::I8 };
    let mut dims = rows(t);
    dims.push(last(weight));
    made(c, dtype, t, dims)
}

fn dequant_bias(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = c.dtype(4)?.unwrap_or(Dtype::F16);
    made(c, dtype, t, t.sizes.clone())
}

/// Half as wide, and a scale a row.
fn dequant_swiglu_quant(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let place = c.operator.schema.param_index("dst_type").unwrap_or(usize::MAX);
    if !c.is_none(place) && c.int(place)? != 1 {
        return Err(CallFault::Unsupported { what: "quantising to another dtype than i8".into() });
    }
    let place = c.operator.schema.param_index("activate_dim").unwrap_or(usize::MAX);
    let along = c.opt_int(place)?.unwrap_or(-1);
    if along != -1 && usize::try_from(along).ok() != Some(t.rank().saturating_sub(1)) {
        return Err(CallFault::Unsupported { what: "halves along another dimension than the last".into() });
    }
    if last(t).fixed().is_some_and(|n| n % 2 != 0) {
        return Err(c.bad(0, "an even last size", sizes::show(c.symbols, &t.sizes)));
    }
    let mut dims = rows(t);
    dims.push(sizes::floordiv(c.symbols, last(t), Dim::Fixed(2))?);
    Ok(out::many([made(c, Dtype::I8, t, dims)?, made(c, Dtype::F32, t, rows(t))?]))
}
