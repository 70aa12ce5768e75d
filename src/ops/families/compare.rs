//! Comparisons, logic, choices by condition.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::pointwise::{operands, unary};
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::out;
use crate::ops::typing::promote::Promotion;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        compare,
        &[
            "aten.eq.Tensor",
            "aten.eq.Scalar",
            "aten.ne.Tensor",
            "aten.ne.Scalar",
            "aten.lt.Tensor",
            "aten.lt.Scalar",
            "aten.le.Tensor",
            "aten.le.Scalar",
            "aten.gt.Tensor",
            "aten.gt.Scalar",
            "aten.ge.Tensor",
            "aten.ge.Scalar",
            "aten.logical_and.default",
            "aten.logical_or.default",
            "aten.logical_xor.default",
            "aten.isclose.default",
            "prims.eq.default",
            "prims.ge.default",
            "prims.gt.default",
            "prims.le.default",
            "prims.lt.default",
            "prims.ne.default",
        ],
    ),
    (
        test,
        &[
            "aten.logical_not.default",
            "aten.isnan.default",
            "aten.isposinf.default",
            "aten.isneginf.default",
            "aten.signbit.default",
            "prims.isfinite.default",
            "prims.signbit.default",
        ],
    ),
    (of_floats, &["aten.isinf.default", "aten.isfinite.default"]),
    (
        choose,
        &[
            "aten.where.self",
            "aten.where.ScalarOther",
            "aten.where.ScalarSelf",
            "aten.where.Scalar",
            "prims.where.default",
        ],
    ),
    (positions, &["aten.where.default"]),
];

fn compare(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    promotion.dtype()?;
    out::pointwise(c, Dtype::Bool, &operands)
}

fn test(c: &mut Call<'_>) -> Typed {
    unary(c, |_| Dtype::Bool)
}

/// Of integers nothing is compared.
fn of_floats(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if t.dtype.is_float() || t.dtype.is_complex() { test(c) } else { out::like(c, Dtype::Bool, t) }
}

fn choose(c: &mut Call<'_>) -> Typed {
    let condition = c.tensor(0)?;
    if !matches!(condition.dtype, Dtype::Bool | Dtype::U8) {
        return Err(c.bad(0, "a condition of bool", condition.dtype.long()));
    }
    let (mut promotion, a, b) = (Promotion::default(), c.operand(1)?, c.operand(2)?);
    promotion.operand(a)?;
    promotion.operand(b)?;
    out::pointwise(c, promotion.dtype()?, &[Operand::Tensor(condition), a, b])
}

/// One index tensor a dimension, as many elements as there are true ones.
fn positions(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let count = c.unbacked(0, 0);
    crate::ops::families::sort::columns(c, t, count)
}
