//! Element by element: arithmetic, activations.

use super::cx::{Cx, is_complex, is_float};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

pub(super) const TABLE: &[Entry] = &[
    ("aten.abs.default", Rule::By(abs)),
    ("aten.add.Scalar", Rule::By(add)),
    ("aten.add.Tensor", Rule::By(add)),
    ("aten.clamp.Tensor", Rule::By(clamp)),
    ("aten.clamp.default", Rule::By(clamp)),
    ("aten.div.Scalar", Rule::Promoted("RealDiv")),
    ("aten.div.Tensor", Rule::Promoted("RealDiv")),
    ("aten.div.Tensor_mode", Rule::By(div_mode)),
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
    ("aten.log.default", Rule::Unary("Log")),
    ("aten.log1p.default", Rule::Unary("Log1p")),
    ("aten.mish.default", Rule::Unary("Mish")),
    ("aten.neg.default", Rule::Unary("Neg")),
    ("aten.sign.default", Rule::Unary("Sign")),
    ("aten.sin.default", Rule::Unary("Sin")),
    ("aten.sinh.default", Rule::Unary("Sinh")),
    ("aten.tan.default", Rule::Unary("Tan")),
    ("aten.tanh.default", Rule::Unary("Tanh")),
    ("aten.floor_divide.default", Rule::Promoted("FloorDiv")),
    ("aten.maximum.default", Rule::Promoted("Maximum")),
    ("aten.remainder.Scalar", Rule::Promoted("FloorMod")),
    ("aten.remainder.Scalar_Tensor", Rule::Promoted("FloorMod")),
    ("aten.addcdiv.default", Rule::By(|cx| fused(cx, "Addcdiv"))),
    ("aten.addcmul.default", Rule::By(|cx| fused(cx, "Addcmul"))),
    ("aten.asin.default", Rule::By(|cx| of_out_type(cx, "Asin"))),
    ("aten.asinh.default", Rule::By(|cx| of_out_type(cx, "Asinh"))),
    ("aten.ceil.default", Rule::By(|cx| then_cast(cx, "Ceil"))),
    ("aten.exp.default", Rule::By(exp)),
    ("aten.floor.default", Rule::By(|cx| then_cast(cx, "Floor"))),
    ("aten.hardtanh.default", Rule::By(hardtanh)),
    ("aten.lerp.Scalar", Rule::Direct("self end weight", "Lerp(self, end, weight)")),
    ("aten.log10.default", Rule::By(|cx| logarithm(cx, 10.0))),
    ("aten.log2.default", Rule::By(|cx| logarithm(cx, 2.0))),
    ("aten.reciprocal.default", Rule::By(reciprocal)),
    ("aten.relu.default", Rule::Unary("Relu")),
    ("aten.rsub.Scalar", Rule::By(rsub_scalar)),
    ("aten.rsub.Tensor", Rule::By(rsub)),
    ("aten.sgn.default", Rule::Unary("Sign")),
    ("aten.round.default", Rule::Unary("Round")),
    ("aten.rsqrt.default", Rule::Unary("Rsqrt")),
    ("aten.sigmoid.default", Rule::Unary("Sigmoid")),
    ("aten.silu.default", Rule::Unary("Swish")),
    ("aten.sub.Tensor", Rule::By(sub)),
    ("aten.bitwise_right_shift_.Tensor", Rule::Direct("self other", "RightShift(self, other)")),
    ("aten.clamp_min.default", Rule::By(clamp_min)),
    ("aten.erfinv.out", Rule::By(|_| Err(Refusal("the form with out has no GE form".into())))),
    ("aten.expm1.out", Rule::Direct("self out", "Expm1(self)")),
    ("aten.minimum.default", Rule::By(minimum)),
    ("aten.nan_to_num.default", Rule::Direct("self nan posinf neginf", "NanToNum(self; *)")),
    ("aten.nan_to_num.out", Rule::Direct("self nan posinf neginf out", "NanToNum(self; *)")),
    ("aten.remainder.Tensor", Rule::By(remainder)),
    ("aten.sqrt.default", Rule::By(|cx| of_out_type(cx, "Sqrt"))),
    ("prims.add.default", Rule::Direct("a b", "Add(a, b)")),
    ("prims.maximum.default", Rule::Direct("a b", "Maximum(a, b)")),
    ("prims.minimum.default", Rule::Direct("a b", "Minimum(a, b)")),
    ("prims.mul.default", Rule::Direct("a b", "Mul(a, b)")),
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
        // It is scaled in the type of the result: its own may hold neither the factor nor the product.
        let b = match other.literal() {
            Some(number) => cx.constant(number, dtype)?,
            None => cx.cast(other, dtype)?,
        };
        let alpha = match alpha.literal() {
            Some(l) => cx.constant(l, dtype)?,
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
    let is_truncated = matches!(cx.kwarg("rounding_mode"), Value::Str(mode) if &*mode == "trunc");
    let is_narrow = matches!(dtype, DataType::Float16 | DataType::Bf16);
    if is_truncated && is_narrow && cx.get(1, "other").tensor().is_none() {
        // By a number PyTorch divides in single precision: a quotient that is rounded first may reach the next whole number.
        let (a, b) = (cx.promoted(0, DataType::Float)?, cx.promoted(1, DataType::Float)?);
        let quotient = cx.op("RealDiv", vec![a.into(), b.into()], &[])?;
        let whole = cx.op("Trunc", vec![quotient.into()], &[])?;
        return Ok(cx.cast(whole, dtype)?.into());
    }
    let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    let inputs = vec![a.into(), b.into()];
    match cx.kwarg("rounding_mode") {
        Value::Str(mode) if &*mode == "floor" => cx.ge("FloorDiv", inputs, &[]),
        // Of integers GE has the quotient that is rounded towards zero; one that goes by way of floats loses digits.
        Value::Str(mode) if &*mode == "trunc" && !is_float(dtype) => cx.ge("TruncateDiv", inputs, &[]),
        Value::Str(mode) if &*mode == "trunc" => {
            let quotient = cx.op("RealDiv", inputs, &[])?;
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
    let (least, greatest) = limits(dtype);
    let x = cx.cast(x, dtype)?;
    let mut bound = |given: Value, limit: Literal| match given {
        Value::None => cx.constant(limit, dtype),
        given => cx.cast(given, dtype),
    };
    let (low, high) = (bound(low, least)?, bound(high, greatest)?);
    cx.ge("ClipByValueV2", vec![x.into(), low.into(), high.into()], &[])
}

/// Returns the bounds that stand for a missing one.
pub(super) fn limits(dtype: DataType) -> (Literal, Literal) {
    let ints = |low: i64, high: i64| (Literal::Int(low), Literal::Int(high));
    match dtype {
        DataType::Int8 => ints(i8::MIN.into(), i8::MAX.into()),
        DataType::Uint8 => ints(0, u8::MAX.into()),
        DataType::Int16 => ints(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => ints(i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => ints(i64::MIN, i64::MAX),
        DataType::Bool => (Literal::Bool(false), Literal::Bool(true)),
        _ => (Literal::Float(f64::NEG_INFINITY), Literal::Float(f64::INFINITY)),
    }
}

/// `self + value * (tensor1 ? tensor2)`, all of the result's type.
fn fused(cx: &mut Cx, kind: &str) -> Made {
    let dtype = cx.out_type()?;
    let value = cx.kwarg("value");
    let operands = [
        cx.get(0, "self"),
        cx.get(1, "tensor1"),
        cx.get(2, "tensor2"),
        if value.is_none() { Value::Int(1) } else { value },
    ];
    let mut inputs = Vec::with_capacity(operands.len());
    for operand in operands {
        inputs.push(cx.cast(operand, dtype)?.into());
    }
    cx.ge(kind, inputs, &[])
}

fn of_out_type(cx: &mut Cx, kind: &str) -> Made {
    let dtype = cx.out_type()?;
    let x = cx.promoted(0, dtype)?;
    cx.ge(kind, vec![x.into()], &[])
}

fn then_cast(cx: &mut Cx, kind: &str) -> Made {
    let (x, dtype) = (cx.any(0)?, cx.out_type()?);
    let y = cx.op(kind, vec![x], &[])?;
    Ok(cx.cast(y, dtype)?.into())
}

/// The operand of a function that gives floats: integers and truth values as floats, since GE gives the operand's type.
fn as_float(cx: &mut Cx) -> Result<TensorId, Refusal> {
    let (x, dtype) = (cx.tensor(0, "self")?, cx.out_type()?);
    if is_float(cx.dtype(x)) || is_complex(cx.dtype(x)) { Ok(x) } else { cx.cast(x, dtype) }
}

fn exp(cx: &mut Cx) -> Made {
    let x = as_float(cx)?;
    cx.ge("Exp", vec![x.into()], &[])
}

fn logarithm(cx: &mut Cx, base: f64) -> Made {
    let x = as_float(cx)?;
    cx.ge("Log", vec![x.into()], &[("base", Attr::Float(base))])
}

fn reciprocal(cx: &mut Cx) -> Made {
    let mut x = cx.tensor(0, "self")?;
    use DataType::{Bool, Float, Int8, Int16, Int32, Int64, Uint8};
    if [Bool, Int8, Uint8, Int16, Int32, Int64].contains(&cx.dtype(x)) {
        x = cx.always_cast(x, Float)?;
    }
    cx.ge("Reciprocal", vec![x.into()], &[])
}

fn rsub(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (x, other) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    let alpha = cx.get(2, "alpha");
    if is_one(&alpha) {
        return cx.ge("Sub", vec![other.into(), x.into()], &[]);
    }
    let alpha = cx.cast(alpha, dtype)?;
    let scaled = cx.op("Mul", vec![x.into(), alpha.into()], &[])?;
    cx.ge("Sub", vec![other.into(), scaled.into()], &[])
}

fn rsub_scalar(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (x, other, alpha) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?, cx.get(2, "alpha"));
    let alpha = cx.cast(if alpha.is_none() { Value::Int(1) } else { alpha }, dtype)?;
    cx.ge("Sxpy", vec![other.into(), x.into(), alpha.into()], &[])
}

fn hardtanh(cx: &mut Cx) -> Made {
    let (low, high) = (cx.float(1, "min_val", -1.0)?, cx.float(2, "max_val", 1.0)?);
    let x = cx.tensor(0, "self")?;
    let given = |v: Value, default: i64| if v.is_none() { Value::Int(default) } else { v };
    let (min, max) = (given(cx.get(1, "min_val"), -1), given(cx.get(2, "max_val"), 1));
    let dtype = cx.out_type()?;
    let x = cx.cast(x, dtype)?;
    let (min, max) = (cx.cast(min, dtype)?, cx.cast(max, dtype)?);
    // The upper end holds where the ends are crossed, and what is no number stays none.
    if low >= high {
        let raised = cx.op("Maximum", vec![x.into(), min.into()], &[])?;
        return cx.ge("Minimum", vec![raised.into(), max.into()], &[]);
    }
    cx.ge("ClipByValueV2", vec![x.into(), min.into(), max.into()], &[])
}

fn clamp_min(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (_, greatest) = limits(dtype);
    let (x, low) = (cx.promoted(0, dtype)?, cx.get(1, "min"));
    let (low, high) = (cx.cast(low, dtype)?, cx.constant(greatest, dtype)?);
    cx.ge("ClipByValueV2", vec![x.into(), low.into(), high.into()], &[])
}

fn minimum(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    match dtype {
        DataType::Bool => {
            let (a, b) = (cx.any(0)?, cx.any(1)?);
            cx.ge("Mul", vec![a, b], &[])
        }
        // The device compares these only as int32.
        DataType::Uint8 | DataType::Int16 => {
            let (a, b) = (cx.promoted(0, DataType::Int32)?, cx.promoted(1, DataType::Int32)?);
            let least = cx.op("Minimum", vec![a.into(), b.into()], &[])?;
            Ok(cx.cast(least, dtype)?.into())
        }
        _ => {
            let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
            cx.ge("Minimum", vec![a.into(), b.into()], &[])
        }
    }
}

fn remainder(cx: &mut Cx) -> Made {
    let (mut a, mut b) = (cx.tensor(0, "self")?, cx.tensor(1, "other")?);
    if cx.dtype(a) != cx.dtype(b) {
        let dtype = cx.out_type()?;
        (a, b) = (cx.cast(a, dtype)?, cx.cast(b, dtype)?);
    }
    cx.ge("FloorMod", vec![a.into(), b.into()], &[])
}
