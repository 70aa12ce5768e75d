//! Element by element: arithmetic, activations, choices.

use smallvec::SmallVec;

use super::call::{Call, Operand};
use super::error::Fault;
use super::out;
use super::promote::{Promotion, float_of};
use super::rules::Entry;
use crate::graph::{Dtype, ValueType};

type Typed = Result<ValueType, Fault>;

pub(super) const RULES: &[Entry] = &[(binary, &["aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"])];

fn operands<'a>(c: &Call<'a>, places: &[usize]) -> Result<(SmallVec<[Operand<'a>; 4]>, Promotion), Fault> {
    let mut promotion = Promotion::default();
    let mut out = SmallVec::new();
    for &i in places {
        let operand = c.operand(i)?;
        promotion.operand(operand)?;
        out.push(operand);
    }
    Ok((out, promotion))
}

/// Two operands in their common dtype.
fn binary(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}
