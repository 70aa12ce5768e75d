//! Comparisons, logic, choosing by a mask.

use super::cx::{Cx, ge_type, is_float};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::Refusal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

pub(super) const TABLE: &[Entry] = &[
    ("aten.bitwise_and.Tensor", Rule::By(|cx| bitwise(cx, "LogicalAnd", "BitwiseAnd"))),
    ("aten.bitwise_not.default", Rule::By(bitwise_not)),
    ("aten.bitwise_or.Tensor", Rule::By(|cx| bitwise(cx, "LogicalOr", "BitwiseOr"))),
    ("aten.eq.Scalar", Rule::By(|cx| common(cx, "Equal"))),
    ("aten.eq.Tensor", Rule::By(eq)),
    ("aten.ge.Scalar", Rule::By(ge_scalar)),
    ("aten.ge.Tensor", Rule::By(|cx| ordered(cx, "GreaterEqual"))),
    ("aten.gt.Scalar", Rule::Compared("Greater")),
    ("aten.gt.Tensor", Rule::Compared("Greater")),
    ("aten.le.Scalar", Rule::By(le_scalar)),
    ("aten.le.Tensor", Rule::By(|cx| ordered(cx, "LessEqual"))),
    ("aten.logical_and.default", Rule::By(logical_and)),
    ("aten.logical_not.default", Rule::By(logical_not)),
    ("aten.logical_or.default", Rule::Promoted("LogicalOr")),
    ("aten.lt.Scalar", Rule::By(lt_scalar)),
    ("aten.lt.Tensor", Rule::By(less)),
    ("aten.ne.Scalar", Rule::By(|cx| common(cx, "NotEqual"))),
    ("aten.ne.Tensor", Rule::By(|cx| common(cx, "NotEqual"))),
    ("aten.where.self", Rule::By(select)),
    ("aten.isinf.default", Rule::Unary("IsInf")),
    ("aten.less.Tensor", Rule::By(less)),
    ("prims.le.default", Rule::Direct("a b", "LessEqual(a, b)")),
    ("prims.lt.default", Rule::Direct("a b", "Less(a, b)")),
];

fn common(cx: &mut Cx, kind: &str) -> Made {
    let dtype = ge_type(cx.common_type()?)?;
    let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    cx.ge(kind, vec![a.into(), b.into()], &[])
}

fn eq(cx: &mut Cx) -> Made {
    let (a, b) = (cx.tensor(0, "self")?, cx.tensor(1, "other")?);
    if cx.dtype(a) != cx.dtype(b) {
        return cx.compared("Equal");
    }
    cx.ge("Equal", vec![a.into(), b.into()], &[])
}

/// Only where the types differ are operands cast, here to the type that holds both, numbers counting as tensors.
fn ordered(cx: &mut Cx, kind: &str) -> Made {
    let (a, b) = cx.operand_types()?;
    let dtype = match (a == b, a) {
        (true, crate::graph::Dtype::Bool) => Some(DataType::Float),
        (true, _) => None,
        // Among tensors one without dimensions gives way, as in PyTorch.
        (false, _) if cx.are_tensors() => Some(ge_type(cx.common_type()?)?),
        (false, _) => {
            let wide = crate::ops::promote_types(a, b).ok_or_else(|| Refusal("no common type".into()))?;
            Some(ge_type(wide)?)
        }
    };
    let (x, y) = match dtype {
        Some(dtype) => (cx.promoted(0, dtype)?.into(), cx.promoted(1, dtype)?.into()),
        None => (cx.any(0)?, cx.any(1)?),
    };
    cx.ge(kind, vec![x, y], &[])
}

/// Whether PyTorch too compares a tensor with the number as it is in the tensor's own type.
fn is_in_own_type(x: DataType, other: &Value) -> bool {
    match other {
        _ if x == DataType::Bool => false,
        Value::Float(f) if !is_float(x) => f.fract() == 0.0,
        Value::Int(i) => is_float(x) || x == DataType::Int64 || i32::try_from(*i).is_ok_and(|i| fits(i, x)),
        _ => true,
    }
}

fn fits(number: i32, x: DataType) -> bool {
    match x {
        DataType::Int8 => i8::try_from(number).is_ok(),
        DataType::Uint8 => u8::try_from(number).is_ok(),
        DataType::Int16 => i16::try_from(number).is_ok(),
        _ => true,
    }
}

/// A narrow float is compared as it is: the number is rounded to it first, which says something where it is not one of them.
fn le_scalar(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let is_narrow = matches!(cx.dtype(x), DataType::Float16 | DataType::Bf16);
    // An eighth of what bf16 tells apart.
    let is_held = |f: f64| (f * 32.0).fract() == 0.0 && f.abs() <= 8.0 || f.is_infinite();
    match cx.get(1, "other") {
        Value::Float(f) if is_narrow && !is_held(f) => cx.compared("LessEqual"),
        _ => ordered(cx, "LessEqual"),
    }
}

fn ge_scalar(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    if !is_in_own_type(cx.dtype(x), &cx.get(1, "other")) {
        return cx.compared("GreaterEqual");
    }
    let other = cx.promoted(1, cx.dtype(x))?;
    cx.ge("GreaterEqual", vec![x.into(), other.into()], &[])
}

fn lt_scalar(cx: &mut Cx) -> Made {
    let (x, other) = (cx.tensor(0, "self")?, cx.any(1)?);
    let dtype = cx.dtype(x);
    if !is_in_own_type(dtype, &cx.get(1, "other")) {
        return cx.compared("Less");
    }
    let other = cx.always_cast(other, dtype)?;
    cx.ge("Less", vec![x.into(), other.into()], &[])
}

fn bitwise(cx: &mut Cx, logical: &str, bits: &str) -> Made {
    let dtype = cx.out_type()?;
    let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    cx.ge(if dtype == DataType::Bool { logical } else { bits }, vec![a.into(), b.into()], &[])
}

fn bitwise_not(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    cx.ge(if cx.dtype(x) == DataType::Bool { "LogicalNot" } else { "Invert" }, vec![x.into()], &[])
}

fn logical_and(cx: &mut Cx) -> Made {
    let (a, b) = (cx.promoted(0, DataType::Bool)?, cx.promoted(1, DataType::Bool)?);
    cx.ge("LogicalAnd", vec![a.into(), b.into()], &[])
}

fn logical_not(cx: &mut Cx) -> Made {
    let x = cx.promoted(0, DataType::Bool)?;
    cx.ge("LogicalNot", vec![x.into()], &[])
}

fn select(cx: &mut Cx) -> Made {
    let mask = cx.input(0, "condition")?;
    let (mut a, mut b) = (cx.tensor(1, "self")?, cx.tensor(2, "other")?);
    if cx.dtype(a) != cx.dtype(b) {
        let dtype = cx.out_type()?;
        (a, b) = (cx.cast(a, dtype)?, cx.cast(b, dtype)?);
    }
    cx.ge("SelectV2", vec![mask, a.into(), b.into()], &[])
}

fn less(cx: &mut Cx) -> Made {
    let (x, y) = (cx.any(0)?, cx.any(1)?);
    let (a, b) = cx.operand_types()?;
    if a != b {
        return cx.compared("Less");
    }
    cx.ge("Less", vec![x, y], &[])
}
