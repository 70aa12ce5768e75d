//! Draws that follow an operand's sizes; draws by sizes are in `create`.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::out;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        like,
        &[
            "aten.bernoulli.Tensor",
            "aten.uniform.default",
            "aten.exponential.default",
            "aten.cauchy.default",
            "aten.geometric.default",
            "aten.log_normal.default",
            "aten.normal_functional.default",
            "aten.random.default",
            "aten.random.from",
            "aten.random.to",
        ],
    ),
    (
        contiguous,
        &[
            "aten.bernoulli.default",
            "aten.bernoulli.p",
            "aten.normal.Tensor_float",
            "aten.poisson.default",
            "aten._standard_gamma.default",
        ],
    ),
    (normal_scaled, &["aten.normal.float_Tensor"]),
    (normal_both, &["aten.normal.Tensor_Tensor"]),
    (binomial, &["aten.binomial.default"]),
    (native_dropout, &["aten.native_dropout.default"]),
    (
        dropout,
        &[
            "aten.dropout.default",
            "aten.alpha_dropout.default",
            "aten.feature_dropout.default",
            "aten.feature_alpha_dropout.default",
        ],
    ),
    (multinomial, &["aten.multinomial.default"]),
];

fn like(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::like(c, t.dtype, t)
}

fn normal_scaled(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(1)?;
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

fn contiguous(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

fn normal_both(c: &mut Call<'_>) -> Typed {
    let (mean, deviation) = (c.tensor(0)?, c.tensor(1)?);
    let dims = out::broadcast(c, 1, &[&mean.sizes, &deviation.sizes])?;
    out::contiguous(c.symbols, mean.dtype, dims, mean.device.clone())
}

fn binomial(c: &mut Call<'_>) -> Typed {
    let (count, chance) = (c.tensor(0)?, c.tensor(1)?);
    if count.dtype != chance.dtype || !count.dtype.is_float() {
        return Err(c.bad(1, format!("dtype {}", count.dtype.long()), chance.dtype.long()));
    }
    normal_both(c)
}

fn native_dropout(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    // Of what may be nothing nobody knows whether there is a mask.
    let one = |d: &Dim| d.fixed().is_some() || !c.symbols.range_of(*d).contains(0);
    if !t.sizes.contains(&Dim::Fixed(0)) && !t.sizes.iter().all(one) {
        let trains = c.is_none(2) || c.bool(2)?;
        let result =
            if trains { out::pointwise(c, t.dtype, &[Operand::Tensor(t)])? } else { out::like(c, t.dtype, t)? };
        return Ok(out::many([result, ValueType::Unknown]));
    }
    // Of nothing there is no mask.
    let mask = if t.sizes.contains(&Dim::Fixed(0)) { t.dtype } else { Dtype::Bool };
    let result = match mask {
        Dtype::Bool if c.is_none(2) || c.bool(2)? => out::pointwise(c, t.dtype, &[Operand::Tensor(t)])?,
        Dtype::Bool => out::like(c, t.dtype, t)?,
        _ => out::itself(t),
    };
    Ok(out::many([result, out::like(c, mask, t)?]))
}

/// Outside training it gives its operand.
fn dropout(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let idle = !c.bool(2)? || c.float(1) == Some(0.0);
    if idle { Ok(out::itself(t)) } else { out::pointwise(c, t.dtype, &[Operand::Tensor(t)]) }
}

fn multinomial(c: &mut Call<'_>) -> Typed {
    let (t, count) = (c.tensor(0)?, c.dim(1)?);
    let mut dims: Sizes = t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect();
    dims.push(count);
    out::contiguous(c.symbols, Dtype::I64, dims, t.device.clone())
}
