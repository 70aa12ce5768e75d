//! Matrix products.

use super::cx::{Cx, list, signed};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};
use crate::sym::Dim;

pub(super) const TABLE: &[Entry] = &[
    ("aten.addmm.default", Rule::By(addmm)),
    ("aten.baddbmm.default", Rule::By(baddbmm)),
    ("aten.bmm.default", Rule::By(bmm)),
    ("aten.matmul.default", Rule::By(matmul)),
    ("aten.matmul_backward.default", Rule::By(matmul_backward)),
    ("aten.mm.default", Rule::By(mm)),
];

fn refuse_int8(cx: &Cx, a: TensorId, b: TensorId) -> Result<(), Refusal> {
    match [a, b].iter().any(|t| cx.dtype(*t) == DataType::Int8) {
        true => Err(Refusal("int8 is not supported".into())),
        false => Ok(()),
    }
}

fn mm(cx: &mut Cx) -> Made {
    let (a, b) = (cx.tensor(0, "self")?, cx.tensor(1, "mat2")?);
    refuse_int8(cx, a, b)?;
    cx.ge("MatMul", vec![a.into(), b.into(), In::None], &[])
}

fn bmm(cx: &mut Cx) -> Made {
    let (a, b) = (cx.tensor(0, "self")?, cx.tensor(1, "mat2")?);
    refuse_int8(cx, a, b)?;
    let dtype = cx.out_type()?;
    let (a, b) = (cx.cast(a, dtype)?, cx.cast(b, dtype)?);
    cx.ge("BatchMatMul", vec![a.into(), b.into()], &[])
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::None => Some(1.0),
        #[allow(clippy::cast_precision_loss)] // Only compared with 0 and 1.
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        _ => None,
    }
}

fn addmm(cx: &mut Cx) -> Made {
    let factor = |v: Value| if v.is_none() { Value::Int(1) } else { v };
    let (beta, alpha) = (factor(cx.kwarg("beta")), factor(cx.kwarg("alpha")));
    let (beta_value, alpha_value) = (number(&beta), number(&alpha));
    let dtype = cx.out_type()?;
    if alpha_value != Some(0.0) && is_scaled_half(dtype, &[alpha_value, beta_value]) {
        let operands = [cx.get(0, "self"), cx.get(1, "mat1"), cx.get(2, "mat2")];
        return scaled_wide(cx, "MatMulV2", operands, (beta, alpha), dtype);
    }
    let (mat1, mat2) = (cx.get(1, "mat1"), cx.get(2, "mat2"));
    let (mut mat1, mat2) = (cx.cast(mat1, dtype)?, cx.cast(mat2, dtype)?);
    let bias = cx.get(0, "self");
    // Whether the bias can be one of the product is asked of it as it came, where its cast has no sizes yet.
    let mut bias = cx.cast(bias, dtype)?;
    let (alpha, beta) = (cx.cast(alpha, dtype)?, cx.cast(beta, dtype)?);
    if alpha_value == Some(0.0) {
        return cx.ge("Mul", vec![bias.into(), beta.into()], &[]);
    }
    if is_row(cx, bias, mat2)? {
        if beta_value != Some(1.0) {
            bias = cx.op("Mul", vec![bias.into(), beta.into()], &[])?;
        }
        if alpha_value != Some(1.0) {
            mat1 = cx.op("Mul", vec![mat1.into(), alpha.into()], &[])?;
        }
        return cx.ge("MatMulV2", vec![mat1.into(), mat2.into(), bias.into(), In::None], &[]);
    }
    let product = cx.op("MatMulV2", vec![mat1.into(), mat2.into(), In::None, In::None], &[])?;
    cx.b.set_desc_type(product, dtype);
    let product = cx.op("Mul", vec![product.into(), alpha.into()], &[])?;
    match beta_value {
        Some(0.0) => Ok(product.into()),
        Some(1.0) => cx.ge("Add", vec![product.into(), bias.into()], &[]),
        _ => cx.ge("AxpyV2", vec![product.into(), bias.into(), beta.into()], &[]),
    }
}

/// Whether factors other than 1 scale a product of narrow floats: in these, what is scaled before the sum may overflow where the sum does not.
fn is_scaled_half(dtype: DataType, factors: &[Option<f64>]) -> bool {
    matches!(dtype, DataType::Float16 | DataType::Bf16) && factors.iter().any(|f| *f != Some(1.0))
}

/// A scaled product beside a scaled operand, in single precision, rounded once.
fn scaled_wide(
    cx: &mut Cx,
    kind: &str,
    [bias, a, b]: [Value; 3],
    (beta, alpha): (Value, Value),
    dtype: DataType,
) -> Made {
    let wide = DataType::Float;
    let (a, b) = (cx.cast(a, wide)?, cx.cast(b, wide)?);
    let none = if kind == "MatMulV2" { vec![In::None, In::None] } else { Vec::new() };
    let product = cx.op(kind, [vec![a.into(), b.into()], none].concat(), &[])?;
    let alpha = cx.cast(alpha, wide)?;
    let mut sum = cx.op("Mul", vec![product.into(), alpha.into()], &[])?;
    // What is not there at all has no infinities either.
    if number(&beta) != Some(0.0) {
        let (bias, beta) = (cx.cast(bias, wide)?, cx.cast(beta, wide)?);
        let bias = cx.op("Mul", vec![bias.into(), beta.into()], &[])?;
        sum = cx.op("Add", vec![sum.into(), bias.into()], &[])?;
    }
    Ok(cx.cast(sum, dtype)?.into())
}

/// Returns whether a half-precision bias is one row as wide as the product.
fn is_row(cx: &Cx, bias: TensorId, mat2: TensorId) -> Result<bool, Refusal> {
    if !matches!(cx.dtype(bias), DataType::Float16 | DataType::Bf16) {
        return Ok(false);
    }
    let sizes = cx.sizes(bias)?;
    Ok(match &*sizes {
        [_] => true,
        [rows, columns] => *rows == Dim::Fixed(1) && cx.sizes(mat2)?.get(1) == Some(columns),
        _ => false,
    })
}

fn baddbmm(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (x, a, b) = (cx.input(0, "self")?, cx.input(1, "batch1")?, cx.input(2, "batch2")?);
    let factor = |v: Value| if v.is_none() { Value::Int(1) } else { v };
    let factors = (factor(cx.kwarg("beta")), factor(cx.kwarg("alpha")));
    if is_scaled_half(dtype, &[number(&factors.0), number(&factors.1)]) {
        let operands = [cx.get(0, "self"), cx.get(1, "batch1"), cx.get(2, "batch2")];
        return scaled_wide(cx, "BatchMatMul", operands, factors, dtype);
    }
    let (beta, alpha) = (In::try_from(&factor(cx.kwarg("beta")))?, In::try_from(&factor(cx.kwarg("alpha")))?);
    let product = cx.op("BatchMatMul", vec![a, b], &[])?;
    let product = cx.op("Mul", vec![product.into(), alpha], &[])?;
    let x = cx.op("Mul", vec![x, beta], &[])?;
    let (product, x) = (cx.cast(product, dtype)?, cx.cast(x, dtype)?);
    cx.ge("Add", vec![product.into(), x.into()], &[])
}

fn matmul(cx: &mut Cx) -> Made {
    let (a, b) = (cx.tensor(0, "self")?, cx.tensor(1, "other")?);
    let is_row = [cx.rank(a)? == 1, cx.rank(b)? == 1];
    if is_row.contains(&true) && cx.rank(a)? > 0 && cx.rank(b)? > 0 {
        return of_rows(cx, (a, b), is_row);
    }
    if cx.rank(a)? < 3 && cx.rank(b)? < 3 {
        return cx.ge("MatMul", vec![a.into(), b.into(), In::None], &[]);
    }
    let dtype = cx.out_type()?;
    let (a, b) = (cx.cast(a, dtype)?, cx.cast(b, dtype)?);
    cx.ge("BatchMatMul", vec![a.into(), b.into()], &[])
}

pub(super) fn by_column(cx: &mut Cx) -> Made {
    let (a, b) = (cx.tensor(0, "self")?, cx.tensor(1, "vec")?);
    of_rows(cx, (a, b), [false, true])
}

/// GE multiplies matrices: a vector is a row or a column of one.
fn of_rows(cx: &mut Cx, (a, b): (TensorId, TensorId), [row, column]: [bool; 2]) -> Made {
    let dtype = cx.out_type()?;
    let few = cx.rank(a)? < 3 && cx.rank(b)? < 3;
    let (a, b) = (cx.cast(a, dtype)?, cx.cast(b, dtype)?);
    let a = if row { cx.unsqueeze(a, &[0])? } else { a };
    let b = if column { cx.unsqueeze(b, &[1])? } else { b };
    let product = match few {
        true => cx.op("MatMul", vec![a.into(), b.into(), In::None], &[])?,
        false => cx.op("BatchMatMul", vec![a.into(), b.into()], &[])?,
    };
    let put: Vec<i64> = [row.then_some(-2), column.then_some(-1)].into_iter().flatten().collect();
    Ok(cx.squeeze(product, &put)?.into())
}

fn matmul_backward(cx: &mut Cx) -> Made {
    let (grad, a, b) = (cx.tensor(0, "grad")?, cx.tensor(1, "self")?, cx.tensor(2, "other")?);
    if cx.get(3, "mask").literal() != Some(Literal::Bools(vec![true, true])) {
        return Err(Refusal("only both gradients at once are supported".into()));
    }
    let mut turned = |t: TensorId| {
        let rank = cx.rank(t)?;
        let Some(last) = rank.checked_sub(1).filter(|last| *last > 0) else {
            return Err(Refusal("an operand with fewer than two dimensions is not supported".into()));
        };
        let axes = metas::swapped(rank, last.saturating_sub(1), last).into_iter().map(signed).collect();
        let axes = cx.constant(Literal::Ints(axes), DataType::Int64)?;
        cx.op("Transpose", vec![t.into(), axes.into()], &[])
    };
    let (a, b) = (turned(a)?, turned(b)?);
    let of_self = cx.op("BatchMatMul", vec![grad.into(), b.into()], &[])?;
    let of_other = cx.op("BatchMatMul", vec![a.into(), grad.into()], &[])?;
    Ok(list(&[of_self, of_other]))
}
