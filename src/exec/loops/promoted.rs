//! What operands are computed in: PyTorch's common dtype, and numbers that a dtype cannot hold.

use crate::exec::call::cx::Cx;
use crate::exec::numbers::checked::check_fits;
use crate::exec::tensor::value::{Operand, Scalar};
use crate::graph::Dtype;
use crate::ops::{CallFault, Number, Promotion};
use crate::sym::Dim;

/// Returns the dtype that PyTorch computes these operands in.
pub fn common_dtype(operands: &[Operand<'_>]) -> Result<Dtype, CallFault> {
    let mut promotion = Promotion::default();
    for operand in operands {
        match operand {
            Operand::Tensor(t) => promotion.tensor(t.dtype(), t.rank())?,
            Operand::Number(n) => promotion.number(as_number(*n))?,
        }
    }
    promotion.dtype()
}

fn as_number(n: Scalar) -> Number {
    match n {
        Scalar::Bool(v) => Number::Bool(Some(v)),
        Scalar::Int(v) => Number::Int(Dim::Fixed(v)),
        Scalar::Float(v) => Number::Float(Some(v)),
        Scalar::Complex(..) => Number::Complex,
    }
}

/// As [`check_fits`], where PyTorch makes a tensor of the number: half precision takes any, as infinity.
pub fn check_wrapped(cx: &Cx<'_, '_, '_>, i: usize, n: Scalar, dtype: Dtype) -> Result<(), CallFault> {
    let real = !matches!(n, Scalar::Complex(..));
    if real && matches!(dtype, Dtype::F16 | Dtype::Bf16) { Ok(()) } else { check_fits(cx, i, n, dtype) }
}
