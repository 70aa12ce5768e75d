//! Draws that follow an operand's sizes; draws by sizes are in `create`.

use super::call::Call;
use super::error::Fault;
use super::out;
use super::rules::Entry;
use super::sizes::Sizes;
use crate::graph::{Dtype, ValueType};

type Typed = Result<ValueType, Fault>;

pub(super) const RULES: &[Entry] = &[
    (
        like,
        &[
            "aten.bernoulli.default",
            "aten.bernoulli.p",
            "aten.bernoulli.Tensor",
            "aten.uniform.default",
            "aten.normal.Tensor_float",
            "aten.exponential.default",
            "aten.random.default",
            "aten.random.from",
            "aten.random.to",
            "aten.poisson.default",
        ],
    ),
    (normal_scaled, &["aten.normal.float_Tensor"]),
    (normal_both, &["aten.normal.Tensor_Tensor"]),
    (native_dropout, &["aten.native_dropout.default"]),
    (dropout, &["aten.dropout.default", "aten.alpha_dropout.default", "aten.feature_dropout.default"]),
    (multinomial, &["aten.multinomial.default"]),
];

fn like(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::like(c, t.dtype, t)
}

fn normal_scaled(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(1)?;
    out::like(c, t.dtype, t)
}

fn normal_both(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = super::pointwise::operands(c, &[0, 1])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

fn native_dropout(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    Ok(out::many([out::like(c, t.dtype, t)?, out::like(c, Dtype::Bool, t)?]))
}

/// Outside training it gives its operand.
fn dropout(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let idle = !c.bool(2)? || c.float(1) == Some(0.0);
    if idle { Ok(out::itself(t)) } else { out::like(c, t.dtype, t) }
}

fn multinomial(c: &mut Call<'_>) -> Typed {
    let (t, count) = (c.tensor(0)?, c.dim(1)?);
    let mut dims: Sizes = t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect();
    dims.push(count);
    out::contiguous(c.symbols, Dtype::I64, dims, t.device.clone())
}
