//! Comparisons, logic, choosing by a mask.

use super::cx::{Cx, ge_type};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::Refusal;
use crate::lower::ge::proto::DataType;

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
    ("aten.le.Scalar", Rule::By(|cx| ordered(cx, "LessEqual"))),
    ("aten.le.Tensor", Rule::By(|cx| ordered(cx, "LessEqual"))),
    ("aten.logical_and.default", Rule::By(logical_and)),
    ("aten.logical_not.default", Rule::By(logical_not)),
    ("aten.logical_or.default", Rule::Promoted("LogicalOr")),
    ("aten.lt.Scalar", Rule::By(lt_scalar)),
    ("aten.lt.Tensor", Rule::Direct("self other", "Less(self, other)")),
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
        return Err(Refusal("operands of different types are not supported".into()));
    }
    cx.ge("Equal", vec![a.into(), b.into()], &[])
}

/// Only where the types differ are operands cast, here to the type that holds both, numbers counting as tensors.
fn ordered(cx: &mut Cx, kind: &str) -> Made {
    let (a, b) = cx.operand_types()?;
    let dtype = match (a == b, a) {
        (true, crate::graph::Dtype::Bool) => Some(DataType::Float),
        (true, _) => None,
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

fn ge_scalar(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let other = cx.promoted(1, cx.dtype(x))?;
    cx.ge("GreaterEqual", vec![x.into(), other.into()], &[])
}

fn lt_scalar(cx: &mut Cx) -> Made {
    let (x, other) = (cx.tensor(0, "self")?, cx.any(1)?);
    let dtype = cx.dtype(x);
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
    let x = cx.tensor(0, "self")?;
    let other = cx.promoted(1, cx.dtype(x))?;
    cx.ge("Less", vec![x.into(), other.into()], &[])
}
