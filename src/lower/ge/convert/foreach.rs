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
    ("aten._foreach_add.List", Rule::By(|cx| scaled_list(cx, "ForeachAddList"))),
    ("aten._foreach_add.Scalar", Rule::By(|cx| scalar(cx, "ForeachAddScalar"))),
    ("aten._foreach_add.ScalarList", Rule::By(|cx| scalars(cx, "ForeachAddScalarList"))),
    ("aten._foreach_addcdiv.Scalar", Rule::By(|cx| fused_scalar(cx, "ForeachAddcdivScalar"))),
    ("aten._foreach_addcdiv.ScalarList", Rule::By(|cx| fused(cx, "ForeachAddcdivScalarList"))),
    ("aten._foreach_addcdiv.Tensor", Rule::By(|cx| fused(cx, "ForeachAddcdivList"))),
    ("aten._foreach_addcmul.Scalar", Rule::By(|cx| fused_scalar(cx, "ForeachAddcmulScalar"))),
    ("aten._foreach_addcmul.ScalarList", Rule::By(|cx| fused(cx, "ForeachAddcmulScalarList"))),
    ("aten._foreach_addcmul.Tensor", Rule::By(|cx| fused(cx, "ForeachAddcmulList"))),
    ("aten._foreach_asin.default", Rule::By(|cx| unary(cx, "ForeachAsin"))),
    ("aten._foreach_atan.default", Rule::By(|cx| unary(cx, "ForeachAtan"))),
    ("aten._foreach_ceil.default", Rule::By(|cx| rounded(cx, 3))),
    ("aten._foreach_cos.default", Rule::By(|cx| unary(cx, "ForeachCos"))),
    ("aten._foreach_cosh.default", Rule::By(|cx| unary(cx, "ForeachCosh"))),
    ("aten._foreach_div.List", Rule::By(|cx| binary(cx, "ForeachDivList"))),
    ("aten._foreach_div.Scalar", Rule::By(|cx| scalar(cx, "ForeachDivScalar"))),
    ("aten._foreach_div.ScalarList", Rule::By(|cx| binary(cx, "ForeachDivScalarList"))),
    ("aten._foreach_erf.default", Rule::By(|cx| unary(cx, "ForeachErf"))),
    ("aten._foreach_erfc.default", Rule::By(|cx| unary(cx, "ForeachErfc"))),
    ("aten._foreach_exp.default", Rule::By(|cx| unary(cx, "ForeachExp"))),
    ("aten._foreach_expm1.default", Rule::By(|cx| unary(cx, "ForeachExpm1"))),
    ("aten._foreach_floor.default", Rule::By(|cx| rounded_floats(cx, 2, Whole::Kept))),
    ("aten._foreach_frac.default", Rule::By(|cx| rounded_floats(cx, 7, Whole::Zero))),
    ("aten._foreach_lerp.List", Rule::By(|cx| ternary(cx, "ForeachLerpList"))),
    ("aten._foreach_lerp.Scalar", Rule::By(|cx| ternary(cx, "ForeachLerpScalar"))),
    ("aten._foreach_log.default", Rule::By(|cx| unary(cx, "ForeachLog"))),
    ("aten._foreach_log10.default", Rule::By(|cx| unary(cx, "ForeachLog10"))),
    ("aten._foreach_log1p.default", Rule::By(|cx| unary(cx, "ForeachLog1p"))),
    ("aten._foreach_log2.default", Rule::By(|cx| unary(cx, "ForeachLog2"))),
    ("aten._foreach_maximum.List", Rule::By(|cx| binary(cx, "ForeachMaximumList"))),
    ("aten._foreach_maximum.Scalar", Rule::By(|cx| scalar(cx, "ForeachMaximumScalar"))),
    ("aten._foreach_maximum.ScalarList", Rule::By(|cx| scalars(cx, "ForeachMaximumScalarList"))),
    ("aten._foreach_minimum.List", Rule::By(|cx| binary(cx, "ForeachMinimumList"))),
    ("aten._foreach_minimum.Scalar", Rule::By(|cx| scalar(cx, "ForeachMinimumScalar"))),
    ("aten._foreach_minimum.ScalarList", Rule::By(|cx| scalars(cx, "ForeachMinimumScalarList"))),
    ("aten._foreach_mul.List", Rule::By(|cx| binary(cx, "ForeachMulList"))),
    ("aten._foreach_mul.Scalar", Rule::By(|cx| scalar(cx, "ForeachMulScalar"))),
    ("aten._foreach_mul.ScalarList", Rule::By(|cx| scalars(cx, "ForeachMulScalarList"))),
    ("aten._foreach_norm.Scalar", Rule::By(norm)),
    ("aten._foreach_pow.List", Rule::By(|cx| binary(cx, "ForeachPowList"))),
    ("aten._foreach_pow.Scalar", Rule::By(|cx| scalar(cx, "ForeachPowScalar"))),
    ("aten._foreach_pow.ScalarAndTensor", Rule::By(pow_of_number)),
    ("aten._foreach_pow.ScalarList", Rule::By(|cx| binary(cx, "ForeachPowScalarList"))),
    ("aten._foreach_round.default", Rule::By(|cx| rounded_floats(cx, 4, Whole::Kept))),
    ("aten._foreach_sigmoid.default", Rule::By(|cx| unary(cx, "ForeachSigmoid"))),
    ("aten._foreach_sin.default", Rule::By(|cx| unary(cx, "ForeachSin"))),
    ("aten._foreach_sinh.default", Rule::By(|cx| unary(cx, "ForeachSinh"))),
    ("aten._foreach_sub.List", Rule::By(|cx| scaled_list(cx, "ForeachSubList"))),
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

/// As `operands`, each cast to the type of its result: beside a float, integers become floats, which GE's operators do not do.
fn promoted(cx: &mut Cx) -> Result<(In, usize, DataType), Refusal> {
    let (_, count, own) = operands(cx)?;
    let mut dtype = own;
    let mut list = Vec::with_capacity(count);
    for (place, tensor) in cx.tensors(0, "self")?.into_iter().enumerate() {
        let becomes = cx.result_type(place)?;
        if place == 0 && becomes != DataType::Bf16 {
            dtype = becomes;
        }
        list.push(In::Tensor(cx.cast(tensor, becomes)?));
    }
    Ok((In::Many(list), count, dtype))
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
    let ((x, count, dtype), y) = (promoted(cx)?, second(cx)?);
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

fn scaled_list(cx: &mut Cx, kind: &str) -> Made {
    let ((x, count, dtype), y) = (operands(cx)?, cx.input(1, "other")?);
    let alpha = cx.kwarg("alpha");
    let alpha = cx.cast(if alpha.is_none() { Value::Int(1) } else { alpha }, dtype)?;
    cx.ge_split(kind, vec![x, y, alpha.into()], &[], count)
}

fn argument(cx: &Cx, place: usize, names: &[&str]) -> Value {
    names.iter().map(|n| cx.get(place, n)).find(|v| !v.is_none()).unwrap_or(Value::None)
}

/// A third list, or a number beside the lists.
fn ternary(cx: &mut Cx, kind: &str) -> Made {
    let (x, count, _) = operands(cx)?;
    let (ends, weights) = (argument(cx, 1, &["tensors1"]), argument(cx, 2, &["weights", "weight"]));
    cx.ge_split(kind, vec![x, In::try_from(&ends)?, In::try_from(&weights)?], &[], count)
}

/// Two more lists, and what their combination is scaled by.
fn fused(cx: &mut Cx, kind: &str) -> Made {
    let (x, count, _) = operands(cx)?;
    let scale = In::try_from(&argument(cx, 3, &["scalars"]))?;
    cx.ge_split(kind, vec![x, cx.input(1, "tensor1")?, cx.input(2, "tensor2")?, scale], &[], count)
}

fn fused_scalar(cx: &mut Cx, kind: &str) -> Made {
    let (x, count, dtype) = operands(cx)?;
    let scale = cx.get(3, "value");
    let scale = cx.cast(if scale.is_none() { Value::Int(1) } else { scale }, dtype)?;
    cx.ge_split(kind, vec![x, cx.input(1, "tensor1")?, cx.input(2, "tensor2")?, scale.into()], &[], count)
}

fn norm(cx: &mut Cx) -> Made {
    let (x, count, _) = operands(cx)?;
    let order = cx.get(1, "ord");
    let order = if order.is_none() { Value::Int(2) } else { order };
    cx.ge_split("ForeachNorm", vec![x, In::try_from(&order)?], &[], count)
}

fn pow_of_number(cx: &mut Cx) -> Made {
    let base = match cx.get(0, "self") {
        Value::Float(f) => {
            let base = cx.always_cast(Literal::Float(f), DataType::Float)?;
            In::Tensor(cx.op("Fill", vec![Literal::Ints(vec![1]).into(), base.into()], &[])?)
        }
        other => In::try_from(&other)?,
    };
    let count = cx.tensors(1, "exponent")?.len();
    let exponents = cx.input(1, "exponent")?;
    cx.ge_split("ForeachPowScalarAndTensor", vec![base, exponents], &[], count)
}

/// What becomes of tensors of integers where floats are rounded.
#[derive(Clone, Copy)]
enum Whole {
    Kept,
    Zero,
}

fn is_whole(dtype: DataType) -> bool {
    use DataType::{Int8, Int16, Int32, Int64, Uint8, Uint32, Uint64};
    matches!(dtype, Int8 | Uint8 | Int16 | Int32 | Uint32 | Int64 | Uint64)
}

fn rounded_floats(cx: &mut Cx, mode: i64, whole: Whole) -> Made {
    let tensors: Vec<_> = cx.tensors(0, "self")?.iter().filter_map(Value::tensor).collect();
    let mode = cx.always_cast(Literal::Int(mode), DataType::Int8)?;
    let mode = cx.op("Fill", vec![Literal::Int(1).into(), mode.into()], &[])?;
    let floats: Vec<_> = tensors.iter().copied().filter(|t| !is_whole(cx.dtype(*t))).collect();
    let mut made = Vec::new();
    if !floats.is_empty() || matches!(whole, Whole::Zero) {
        let inputs = vec![floats.as_slice().into(), mode.into()];
        made = cx.b.many("ForeachRoundOffNumber", inputs, &[], Some(floats.len()))?;
    }
    let mut made = made.into_iter();
    let mut results = Vec::with_capacity(tensors.len());
    for t in tensors {
        results.push(match (is_whole(cx.dtype(t)), whole) {
            (false, _) => made.next().ok_or_else(|| Refusal("a result is missing".into()))?,
            (true, Whole::Kept) => t,
            (true, Whole::Zero) => cx.op("ZerosLike", vec![t.into()], &[])?,
        });
    }
    Ok(super::cx::list(&results))
}

fn rounded(cx: &mut Cx, mode: i64) -> Made {
    let (x, count, _) = operands(cx)?;
    let mode = cx.always_cast(Literal::Int(mode), DataType::Int8)?;
    let mode = cx.op("Fill", vec![Literal::Int(1).into(), mode.into()], &[])?;
    cx.ge_split("ForeachRoundOffNumber", vec![x, mode.into()], &[], count)
}
