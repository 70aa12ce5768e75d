//! Element by element: arithmetic, activations, comparisons, casts.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::graph::{Arg, Layout, MemoryFormat};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

pub(super) const TABLE: &[Entry] = &[
    ("aten.abs.default", Rule::By(abs)),
    ("aten.add.Scalar", Rule::By(add)),
    ("aten.add.Tensor", Rule::By(add)),
    ("aten.clamp.Tensor", Rule::By(clamp)),
    ("aten.clamp.default", Rule::By(clamp)),
    (
        "aten.copy_.default",
        Rule::By(|cx| {
            let (dst, src) = (cx.input(0, "self")?, cx.input(1, "src")?);
            cx.ge("Assign", vec![dst, src], &[])
        }),
    ),
    ("aten.div.Scalar", Rule::Promoted("RealDiv")),
    ("aten.div.Tensor", Rule::Promoted("RealDiv")),
    ("aten.div.Tensor_mode", Rule::By(div_mode)),
    ("aten._to_copy.default", Rule::By(to_copy)),
    ("aten.mul.Scalar", Rule::Promoted("Mul")),
    ("aten.mul.Tensor", Rule::By(mul)),
    ("aten.pow.Scalar", Rule::Promoted("Pow")),
    ("aten.pow.Tensor_Scalar", Rule::Promoted("Pow")),
    ("aten.pow.Tensor_Tensor", Rule::Promoted("Pow")),
    ("aten.acos.default", Rule::Unary("Acos")),
    ("aten.acosh.default", Rule::Unary("Acosh")),
    ("aten.atan.default", Rule::Unary("Atan")),
    ("aten.atanh.default", Rule::Unary("Atanh")),
    ("aten.cos.default", Rule::Unary("Cos")),
    ("aten.cosh.default", Rule::Unary("Cosh")),
    ("aten.erf.default", Rule::Unary("Erf")),
    ("aten.erfinv.default", Rule::Unary("Erfinv")),
    ("aten.expm1.default", Rule::Unary("Expm1")),
    ("aten.gelu.default", Rule::Unary("Gelu")),
    ("aten.hardsigmoid.default", Rule::Unary("HardSigmoid")),
    ("aten.hardswish.default", Rule::Unary("HardSwish")),
    ("aten.isinf.default", Rule::Unary("IsInf")),
    ("aten.log.default", Rule::Unary("Log")),
    ("aten.log1p.default", Rule::Unary("Log1p")),
    ("aten.mish.default", Rule::Unary("Mish")),
    ("aten.neg.default", Rule::Unary("Neg")),
    ("aten.sign.default", Rule::Unary("Sign")),
    ("aten.sin.default", Rule::Unary("Sin")),
    ("aten.sinh.default", Rule::Unary("Sinh")),
    ("aten.tan.default", Rule::Unary("Tan")),
    ("aten.tanh.default", Rule::Unary("Tanh")),
    ("aten.zero.default", Rule::Unary("ZerosLike")),
    ("aten.floor_divide.default", Rule::Promoted("FloorDiv")),
    ("aten.logical_or.default", Rule::Promoted("LogicalOr")),
    ("aten.maximum.default", Rule::Promoted("Maximum")),
    ("aten.remainder.Scalar", Rule::Promoted("FloorMod")),
    ("aten.remainder.Scalar_Tensor", Rule::Promoted("FloorMod")),
    ("aten.gt.Scalar", Rule::Compared("Greater")),
    ("aten.gt.Tensor", Rule::Compared("Greater")),
    ("aten.relu.default", Rule::Unary("Relu")),
    ("aten.round.default", Rule::Unary("Round")),
    ("aten.rsqrt.default", Rule::Unary("Rsqrt")),
    ("aten.sigmoid.default", Rule::Unary("Sigmoid")),
    ("aten.silu.default", Rule::Unary("Swish")),
    ("aten.sub.Tensor", Rule::By(sub)),
];

fn abs(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    if cx.dtype(x) == DataType::Uint8 {
        return Ok(x.into());
    }
    cx.ge("Abs", vec![x.into()], &[])
}

fn is_one(value: &Value) -> bool {
    match value {
        Value::None => true,
        Value::Int(i) => *i == 1,
        Value::Float(f) => *f == 1.0,
        Value::Bool(b) => *b,
        _ => false,
    }
}

fn add(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    let alpha = cx.get(2, "alpha");
    if is_one(&alpha) {
        return cx.ge("Add", vec![a.into(), b.into()], &[]);
    }
    let alpha = cx.cast(alpha, dtype)?;
    cx.ge("AxpyV2", vec![a.into(), b.into(), alpha.into()], &[])
}

fn sub(cx: &mut Cx) -> Made {
    let (dtype, alpha, mut other) = (cx.out_type()?, cx.get(2, "alpha"), cx.get(1, "other"));
    if !is_one(&alpha) {
        let b = cx.tensor(1, "other")?;
        let alpha = match alpha.literal() {
            Some(l) => cx.constant(l, cx.dtype(b))?,
            None => return Err(Refusal("argument alpha is no fixed number".into())),
        };
        other = Value::Tensor(cx.op("Mul", vec![b.into(), alpha.into()], &[])?);
    }
    let a = cx.promoted(0, dtype)?;
    let b = cx.cast(other, dtype)?;
    cx.ge("Sub", vec![a.into(), b.into()], &[])
}

fn mul(cx: &mut Cx) -> Made {
    let (a, b, dtype) = (cx.get(0, "self"), cx.get(1, "other"), cx.out_type()?);
    let product = match (a.tensor(), b.tensor()) {
        (Some(x), None) if matches!(cx.dtype(x), DataType::Float16 | DataType::Bf16) => {
            let factor = cx.float(1, "other", 1.0)?;
            cx.op("Muls", vec![x.into()], &[("value", Attr::Float(factor))])?
        }
        (x, y) => {
            let bools = [x, y].iter().all(|t| t.is_some_and(|t| cx.dtype(t) == DataType::Bool));
            let compute = if bools { DataType::Uint8 } else { dtype };
            let (a, b) = (cx.cast(a, compute)?, cx.cast(b, compute)?);
            cx.op("Mul", vec![a.into(), b.into()], &[])?
        }
    };
    Ok(cx.cast(product, dtype)?.into())
}

fn div_mode(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    let inputs = vec![a.into(), b.into()];
    match cx.kwarg("rounding_mode") {
        Value::Str(mode) if &*mode == "floor" => cx.ge("FloorDiv", inputs, &[]),
        Value::Str(mode) if &*mode == "trunc" => {
            let quotient = cx.op("RealDiv", inputs, &[])?;
            if matches!(dtype, DataType::Int64 | DataType::Bool | DataType::Int16) {
                let float = cx.always_cast(quotient, DataType::Float)?;
                let whole = cx.op("Trunc", vec![float.into()], &[])?;
                return Ok(cx.always_cast(whole, dtype)?.into());
            }
            cx.ge("Trunc", vec![quotient.into()], &[])
        }
        _ => cx.ge("RealDiv", inputs, &[]),
    }
}

fn clamp(cx: &mut Cx) -> Made {
    let (low, high) = (cx.get(1, "min"), cx.get(2, "max"));
    if low.is_none() && high.is_none() {
        return Err(Refusal("at least one of min and max must be given".into()));
    }
    let dtype = cx.out_type()?;
    let x = cx.tensor(0, "self")?;
    let (least, greatest) = limits(cx.dtype(x));
    let x = cx.cast(x, dtype)?;
    let mut bound = |given: Value, limit: Literal| match given {
        Value::None => cx.constant(limit, dtype),
        given => cx.cast(given, dtype),
    };
    let (low, high) = (bound(low, least)?, bound(high, greatest)?);
    cx.ge("ClipByValueV2", vec![x.into(), low.into(), high.into()], &[])
}

/// Returns the bounds that stand for a missing one.
fn limits(dtype: DataType) -> (Literal, Literal) {
    let ints = |low: i64, high: i64| (Literal::Int(low), Literal::Int(high));
    match dtype {
        DataType::Int8 => ints(i8::MIN.into(), i8::MAX.into()),
        DataType::Uint8 => ints(0, u8::MAX.into()),
        DataType::Int16 => ints(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => ints(i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => ints(i64::MIN, i64::MAX),
        _ => (Literal::Float(f64::NEG_INFINITY), Literal::Float(f64::INFINITY)),
    }
}

fn to_copy(cx: &mut Cx) -> Made {
    if let Value::Other(layout) = cx.kwarg("layout")
        && *layout != Arg::Layout(Layout::Strided)
    {
        return Err(Refusal("only layout=torch.strided is supported".into()));
    }
    if let Value::Other(format) = cx.kwarg("memory_format")
        && *format != Arg::MemoryFormat(MemoryFormat::Contiguous)
    {
        return Err(Refusal("only memory_format=torch.contiguous_format is supported".into()));
    }
    let x = cx.tensor(0, "self")?;
    match cx.dtype_arg(usize::MAX, "dtype")? {
        Some(dtype) if dtype != cx.dtype(x) => Ok(cx.cast(x, dtype)?.into()),
        _ => cx.ge("TensorMove", vec![x.into()], &[]),
    }
}
