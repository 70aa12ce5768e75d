//! `_foreach_*`: an operator on each tensor of a list. Tensor by tensor they are the operators of `pointwise`.

use crate::graph::{Arg, Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::schema::Base;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::out;
use crate::ops::typing::promote::{Promotion, float_of, to_real};
use crate::ops::typing::sizes;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        |c| each(c, |d| d),
        &[
            "aten._foreach_ceil.default",
            "aten._foreach_floor.default",
            "aten._foreach_frac.default",
            "aten._foreach_neg.default",
            "aten._foreach_round.default",
            "aten._foreach_sign.default",
            "aten._foreach_trunc.default",
            "aten._foreach_clone.default",
        ],
    ),
    (|c| each(c, to_real), &["aten._foreach_abs.default"]),
    (
        side_by_side,
        &[
            "aten._foreach_lerp.List",
            "aten._foreach_lerp.Scalar",
            "aten._foreach_lerp.ScalarList",
            "aten._foreach_addcmul.Scalar",
            "aten._foreach_addcmul.ScalarList",
            "aten._foreach_addcmul.Tensor",
            "aten._foreach_addcdiv.Scalar",
            "aten._foreach_addcdiv.ScalarList",
            "aten._foreach_addcdiv.Tensor",
        ],
    ),
    (
        |c| each(c, float_of),
        &[
            "aten._foreach_acos.default",
            "aten._foreach_asin.default",
            "aten._foreach_atan.default",
            "aten._foreach_cos.default",
            "aten._foreach_cosh.default",
            "aten._foreach_erf.default",
            "aten._foreach_erfc.default",
            "aten._foreach_exp.default",
            "aten._foreach_expm1.default",
            "aten._foreach_lgamma.default",
            "aten._foreach_log.default",
            "aten._foreach_log1p.default",
            "aten._foreach_log2.default",
            "aten._foreach_log10.default",
            "aten._foreach_reciprocal.default",
            "aten._foreach_rsqrt.default",
            "aten._foreach_sigmoid.default",
            "aten._foreach_sin.default",
            "aten._foreach_sinh.default",
            "aten._foreach_sqrt.default",
            "aten._foreach_tan.default",
            "aten._foreach_tanh.default",
        ],
    ),
    (
        |c| with(c, |d| d),
        &[
            "aten._foreach_add.List",
            "aten._foreach_add.Tensor",
            "aten._foreach_add.Scalar",
            "aten._foreach_add.ScalarList",
            "aten._foreach_sub.List",
            "aten._foreach_sub.Scalar",
            "aten._foreach_sub.ScalarList",
            "aten._foreach_mul.List",
            "aten._foreach_mul.Tensor",
            "aten._foreach_mul.Scalar",
            "aten._foreach_mul.ScalarList",
            "aten._foreach_pow.List",
            "aten._foreach_pow.Scalar",
            "aten._foreach_pow.ScalarList",
            "aten._foreach_maximum.List",
            "aten._foreach_maximum.Scalar",
            "aten._foreach_maximum.ScalarList",
            "aten._foreach_minimum.List",
            "aten._foreach_minimum.Scalar",
            "aten._foreach_minimum.ScalarList",
            "aten._foreach_clamp_min.List",
            "aten._foreach_clamp_min.Scalar",
            "aten._foreach_clamp_min.ScalarList",
            "aten._foreach_clamp_max.List",
            "aten._foreach_clamp_max.Scalar",
            "aten._foreach_clamp_max.ScalarList",
        ],
    ),
    (
        |c| with(c, float_of),
        &[
            "aten._foreach_div.List",
            "aten._foreach_div.Scalar",
            "aten._foreach_div.ScalarList",
            "aten._foreach_div.Tensor",
        ],
    ),
    (norm, &["aten._foreach_norm.Scalar"]),
    (largest, &["aten._foreach_max.default"]),
    (power, &["aten._foreach_pow.ScalarAndTensor"]),
];

fn each(c: &mut Call<'_>, dtype: fn(Dtype) -> Dtype) -> Typed {
    let mut all = Vec::new();
    for t in c.tensors(0)? {
        all.push(out::pointwise(c, dtype(t.dtype), &[Operand::Tensor(t)])?);
    }
    Ok(out::many(all))
}

fn joined(c: &mut Call<'_>, t: &TensorType, other: Operand<'_>, dtype: fn(Dtype) -> Dtype) -> Typed {
    let mut p = Promotion::default();
    p.tensor(t.dtype, t.rank())?;
    p.operand(other)?;
    out::pointwise(c, dtype(p.dtype()?), &[Operand::Tensor(t), other])
}

/// With the tensors of another list, the numbers of a list, one tensor, or one number.
fn with(c: &mut Call<'_>, dtype: fn(Dtype) -> Dtype) -> Typed {
    let tensors = c.tensors(0)?;
    let others: Vec<Operand<'_>> = match (&*c.operator.schema.overload, c.arg(1)) {
        ("List", _) => c.tensors(1)?.into_iter().map(Operand::Tensor).collect(),
        ("ScalarList", Arg::List(numbers)) => {
            numbers.iter().map(|n| c.number_in(1, n).map(Operand::Number)).collect::<Result<_, _>>()?
        }
        ("Tensor", _) => vec![Operand::Tensor(c.tensor(1)?); tensors.len()],
        _ => vec![Operand::Number(c.number(1)?); tensors.len()],
    };
    if others.len() != tensors.len() {
        return Err(c.bad(1, format!("{} elements", tensors.len()), others.len().to_string()));
    }
    let mut all = Vec::new();
    for (t, other) in tensors.into_iter().zip(others) {
        all.push(joined(c, t, other, dtype)?);
    }
    Ok(out::many(all))
}

/// Two or three lists, walked together. A blend has the dtype of its first operand.
fn side_by_side(c: &mut Call<'_>) -> Typed {
    let blend = &*c.operator.schema.name == "_foreach_lerp";
    let of_tensors = |i: &usize| c.operator.schema.params.get(*i).is_some_and(|p| p.ty.base == Base::Tensor);
    let lists: Vec<_> = (0..3).filter(of_tensors).map(|i| c.tensors(i)).collect::<Result<_, _>>()?;
    let numbers = c.operator.schema.overload.as_ref() == "ScalarList";
    let count = lists.first().map_or(0, Vec::len);
    if let Some(place) = lists.iter().position(|l| l.len() != count) {
        return Err(c.bad(place, format!("{count} tensors"), lists.get(place).map_or(0, Vec::len).to_string()));
    }
    let given = c.bound.args.last().and_then(|a| a.items()).filter(|_| numbers).map_or(count, <[Arg]>::len);
    if given != count {
        return Err(c.bad(c.bound.args.len().saturating_sub(1), format!("{count} numbers"), given.to_string()));
    }
    let mut all = Vec::new();
    for k in 0..count {
        let operands: Vec<Operand<'_>> = lists.iter().filter_map(|l| l.get(k)).copied().map(Operand::Tensor).collect();
        let mut p = Promotion::default();
        for operand in operands.iter().take(if blend { 1 } else { 3 }) {
            p.operand(*operand)?;
        }
        all.push(out::pointwise(c, p.dtype()?, &operands)?);
    }
    Ok(out::many(all))
}

/// The norm of each tensor: one number, of its real dtype or that which is asked for.
fn norm(c: &mut Call<'_>) -> Typed {
    let asked = c.dtype(2)?;
    let mut all = Vec::new();
    for t in c.tensors(0)? {
        if !(t.dtype.is_float() || t.dtype.is_complex()) {
            return Err(c.bad(0, "tensors of floating point", t.dtype.short()));
        }
        all.push(out::contiguous(c.symbols, asked.unwrap_or(to_real(t.dtype)), sizes::Sizes::new(), t.device.clone())?);
    }
    Ok(out::many(all))
}

/// The largest element of each tensor.
fn largest(c: &mut Call<'_>) -> Typed {
    let mut all = Vec::new();
    for t in c.tensors(0)? {
        all.push(out::contiguous(c.symbols, t.dtype, sizes::Sizes::new(), t.device.clone())?);
    }
    Ok(out::many(all))
}

/// Powers of a number are written row by row.
fn power(c: &mut Call<'_>) -> Typed {
    let base = c.number(0)?;
    let mut all = Vec::new();
    for t in c.tensors(1)? {
        let mut p = Promotion::default();
        p.tensor(t.dtype, t.rank())?;
        p.number(base)?;
        all.push(out::contiguous(c.symbols, p.dtype()?, t.sizes.clone(), t.device.clone())?);
    }
    Ok(out::many(all))
}
