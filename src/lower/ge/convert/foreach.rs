//! Operators on lists of tensors.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

pub(super) const TABLE: &[Entry] = &[
    ("aten._foreach_abs.default", Rule::By(|cx| unary(cx, "ForeachAbs"))),
    ("aten._foreach_acos.default", Rule::By(|cx| unary(cx, "ForeachAcos"))),
    ("aten._foreach_add.List", Rule::By(add_list)),
    ("aten._foreach_add.Scalar", Rule::By(|cx| scalar(cx, "ForeachAddScalar"))),
    ("aten._foreach_asin.default", Rule::By(|cx| unary(cx, "ForeachAsin"))),
    ("aten._foreach_ceil.default", Rule::By(|cx| rounded(cx, 3))),
    ("aten._foreach_cos.default", Rule::By(|cx| unary(cx, "ForeachCos"))),
    ("aten._foreach_cosh.default", Rule::By(|cx| unary(cx, "ForeachCosh"))),
    ("aten._foreach_div.ScalarList", Rule::By(|cx| binary(cx, "ForeachDivScalarList"))),
    ("aten._foreach_erf.default", Rule::By(|cx| unary(cx, "ForeachErf"))),
    ("aten._foreach_erfc.default", Rule::By(|cx| unary(cx, "ForeachErfc"))),
    ("aten._foreach_exp.default", Rule::By(|cx| unary(cx, "ForeachExp"))),
    ("aten._foreach_expm1.default", Rule::By(|cx| unary(cx, "ForeachExpm1"))),
    ("aten._foreach_log.default", Rule::By(|cx| unary(cx, "ForeachLog"))),
    ("aten._foreach_log10.default", Rule::By(|cx| unary(cx, "ForeachLog10"))),
    ("aten._foreach_log1p.default", Rule::By(|cx| unary(cx, "ForeachLog1p"))),
    ("aten._foreach_log2.default", Rule::By(|cx| unary(cx, "ForeachLog2"))),
    ("aten._foreach_maximum.List", Rule::By(|cx| binary(cx, "ForeachMaximumList"))),
    ("aten._foreach_maximum.Scalar", Rule::By(|cx| scalar(cx, "ForeachMaximumScalar"))),
    ("aten._foreach_maximum.ScalarList", Rule::By(|cx| scalars(cx, "ForeachMaximumScalarList"))),
    ("aten._foreach_minimum.List", Rule::By(|cx| binary(cx, "ForeachMinimumList"))),
    ("aten._foreach_mul.ScalarList", Rule::By(|cx| scalars(cx, "ForeachMulScalarList"))),
    ("aten._foreach_pow.List", Rule::By(|cx| binary(cx, "ForeachPowList"))),
    ("aten._foreach_pow.Scalar", Rule::By(|cx| scalar(cx, "ForeachPowScalar"))),
    ("aten._foreach_pow.ScalarList", Rule::By(|cx| binary(cx, "ForeachPowScalarList"))),
    ("aten._foreach_sigmoid.default", Rule::By(|cx| unary(cx, "ForeachSigmoid"))),
    ("aten._foreach_sin.default", Rule::By(|cx| unary(cx, "ForeachSin"))),
    ("aten._foreach_sinh.default", Rule::By(|cx| unary(cx, "ForeachSinh"))),
    ("aten._foreach_sub.Scalar", Rule::By(|cx| scalar(cx, "ForeachSubScalar"))),
    ("aten._foreach_sub.ScalarList", Rule::By(|cx| scalars(cx, "ForeachSubScalarList"))),
    ("aten._foreach_tan.default", Rule::By(|cx| unary(cx, "ForeachTan"))),
    ("aten._foreach_tanh.default", Rule::By(|cx| unary(cx, "ForeachTanh"))),
    ("aten._foreach_trunc.default", Rule::By(|cx| rounded(cx, 5))),
];

/// Returns the list, how long it is, and the type of numbers beside it: bfloat16 lists take single-precision ones.
fn operands(cx: &Cx) -> Result<(In, usize, DataType), Refusal> {
    let tensors = cx.tensors(0, "self")?;
    let dtype = tensors.first().and_then(Value::tensor).map_or(DataType::Float, |t| cx.dtype(t));
    let dtype = if dtype == DataType::Bf16 { DataType::Float } else { dtype };
    Ok((cx.input(0, "self")?, tensors.len(), dtype))
}

fn unary(cx: &mut Cx, kind: &str) -> Made {
    let (x, count, _) = operands(cx)?;
    cx.ge_split(kind, vec![x], &[], count)
}

fn binary(cx: &mut Cx, kind: &str) -> Made {
    let ((x, count, _), y) = (operands(cx)?, cx.any(1)?);
    cx.ge_split(kind, vec![x, y], &[], count)
}

fn second(cx: &Cx) -> Result<Value, Refusal> {
    cx.args
        .get(1)
        .or(cx.kwargs.first().map(|(_, v)| v))
        .cloned()
        .ok_or_else(|| Refusal("an argument is missing".into()))
}

fn scalar(cx: &mut Cx, kind: &str) -> Made {
    let ((x, count, dtype), y) = (operands(cx)?, second(cx)?);
    let y = cx.cast(y, dtype)?;
    cx.ge_split(kind, vec![x, y.into()], &[], count)
}

fn scalars(cx: &mut Cx, kind: &str) -> Made {
    let (x, count, _) = operands(cx)?;
    let numbers = second(cx)?;
    let is_ints = matches!(&numbers, Value::List(l) if matches!(l.first(), Some(Value::Int(_))));
    let y = if is_ints { In::Tensor(cx.cast(numbers, DataType::Int64)?) } else { In::try_from(&numbers)? };
    cx.ge_split(kind, vec![x, y], &[], count)
}

fn add_list(cx: &mut Cx) -> Made {
    let ((x, count, dtype), y) = (operands(cx)?, cx.input(1, "other")?);
    let alpha = cx.kwarg("alpha");
    let alpha = cx.cast(if alpha.is_none() { Value::Int(1) } else { alpha }, dtype)?;
    cx.ge_split("ForeachAddList", vec![x, y, alpha.into()], &[], count)
}

fn rounded(cx: &mut Cx, mode: i64) -> Made {
    let (x, count, _) = operands(cx)?;
    let mode = cx.always_cast(Literal::Int(mode), DataType::Int8)?;
    let mode = cx.op("Fill", vec![Literal::Int(1).into(), mode.into()], &[])?;
    cx.ge_split("ForeachRoundOffNumber", vec![x, mode.into()], &[], count)
}
