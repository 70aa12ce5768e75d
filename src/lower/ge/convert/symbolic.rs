//! Symbolic sizes, and Python's arithmetic on them.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{Meta, Value};
use crate::sym::{SymValue, is_unbacked};

pub(super) const TABLE: &[Entry] = &[
    ("_operator.add", Rule::By(|cx| arithmetic(cx, "Add", i64::checked_add, |a, b| a + b))),
    ("_operator.floordiv", Rule::By(|cx| arithmetic(cx, "FloorDiv", crate::sym::floor_div, |a, b| (a / b).floor()))),
    ("_operator.mod", Rule::By(remainder)),
    ("_operator.mul", Rule::By(|cx| arithmetic(cx, "Mul", i64::checked_mul, |a, b| a * b))),
    ("_operator.neg", Rule::By(neg)),
    ("_operator.pow", Rule::By(|cx| arithmetic(cx, "Pow", power, f64::powf))),
    ("_operator.sub", Rule::By(|cx| arithmetic(cx, "Sub", i64::checked_sub, |a, b| a - b))),
    ("_operator.truediv", Rule::By(|cx| arithmetic(cx, "Div", |_, _| None, |a, b| a / b))),
    ("aten.sym_numel", Rule::By(sym_numel)),
    ("aten.sym_numel.default", Rule::By(sym_numel)),
    ("aten.sym_size", Rule::By(sym_size)),
    ("aten.sym_size.int", Rule::By(sym_size)),
    ("math.ceil", Rule::By(|cx| rounded(cx, "Ceil", f64::ceil))),
    ("math.floor", Rule::By(|cx| rounded(cx, "Floor", f64::floor))),
    ("torch.sym_float", Rule::By(sym_float)),
    ("torch.sym_max", Rule::By(|cx| arithmetic(cx, "Maximum", |a, b| Some(a.max(b)), f64::max))),
    ("torch.sym_sum", Rule::By(sum)),
    ("torch.sym_min", Rule::By(|cx| arithmetic(cx, "Minimum", |a, b| Some(a.min(b)), f64::min))),
];

fn power(a: i64, b: i64) -> Option<i64> {
    a.checked_pow(u32::try_from(b).ok()?)
}

#[allow(clippy::cast_precision_loss)] // As Python does it.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

/// Two Python numbers are computed now; with a tensor among them it is an operator.
fn arithmetic(cx: &mut Cx, kind: &str, ints: fn(i64, i64) -> Option<i64>, floats: fn(f64, f64) -> f64) -> Made {
    let (a, b) = (cx.get(0, "a"), cx.get(1, "b"));
    if let (Value::Int(x), Value::Int(y)) = (&a, &b)
        && let Some(value) = ints(*x, *y)
    {
        return Ok(Value::Int(value));
    }
    if let (Some(x), Some(y)) = (number(&a), number(&b)) {
        return Ok(Value::Float(floats(x, y)));
    }
    let dtype = cx.out_type()?;
    let (a, b) = (cx.cast(a, dtype)?, cx.cast(b, dtype)?);
    cx.ge(kind, vec![a.into(), b.into()], &[])
}

/// GE's Mod has the sign of what is divided, Python's remainder that of the divisor.
fn remainder(cx: &mut Cx) -> Made {
    let is_at_least = |value: Value, least: i64| match value {
        Value::Int(i) => i >= least,
        Value::Tensor(t) => match cx.b.tensor(t).and_then(|t| t.meta.as_ref()) {
            // What is read out of a tensor may be below zero, whatever its name says.
            Some(Meta::Symbol(dim, _)) => {
                let symbols = &cx.node.0.symbols;
                let is_told = symbols.symbols_in(SymValue::Int(*dim)).iter().any(|name| is_unbacked(name));
                !is_told && symbols.range_of(*dim).at_least(least)
            }
            _ => false,
        },
        _ => false,
    };
    let kind = if is_at_least(cx.get(0, "a"), 0) && is_at_least(cx.get(1, "b"), 1) { "Mod" } else { "FloorMod" };
    arithmetic(cx, kind, crate::sym::floor_mod, |a, b| a - b * (a / b).floor())
}

/// The sum of a list: of one tensor that packs them, where a symbol is among them.
fn sum(cx: &mut Cx) -> Made {
    if let Some(fixed) = cx.ints(0, "args").ok().flatten() {
        let total = fixed.iter().try_fold(0_i64, |a, b| a.checked_add(*b));
        return Ok(Value::Int(total.ok_or_else(|| Refusal("an integer overflows".into()))?));
    }
    let sizes = cx.input(0, "args")?;
    cx.ge("ReduceSum", vec![sizes, In::Literal(Literal::Int(0))], &[])
}

fn neg(cx: &mut Cx) -> Made {
    match cx.get(0, "a") {
        Value::Int(i) => Ok(Value::Int(i.checked_neg().ok_or_else(|| Refusal("an integer overflows".into()))?)),
        Value::Float(f) => Ok(Value::Float(-f)),
        _ => {
            let x = cx.any(0)?;
            cx.ge("Neg", vec![x], &[])
        }
    }
}

fn rounded(cx: &mut Cx, kind: &str, python: fn(f64) -> f64) -> Made {
    match cx.get(0, "a") {
        Value::Int(i) => Ok(Value::Int(i)),
        #[allow(clippy::cast_possible_truncation)] // Saturates where Python would go beyond 64 bits.
        Value::Float(f) => Ok(Value::Int(python(f) as i64)),
        _ => {
            let (x, dtype) = (cx.any(0)?, cx.out_type()?);
            let rounded = cx.op(kind, vec![x], &[])?;
            Ok(cx.cast(rounded, dtype)?.into())
        }
    }
}

fn sym_float(cx: &mut Cx) -> Made {
    let value = cx.get(0, "a");
    if let Some(f) = number(&value) {
        return Ok(Value::Float(f));
    }
    let (x, dtype) = (cx.any(0)?, cx.out_type()?);
    Ok(cx.always_cast(x, dtype)?.into())
}

fn sym_size(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let axis = cx.int(1, "dim", 0)?;
    let size = match cx.out() {
        Ok(Meta::Symbol(d, _)) => Some(*d),
        _ => {
            let sizes = cx.sizes(x)?;
            metas::axis(axis, sizes.len()).and_then(|a| sizes.get(a).copied())
        }
    };
    if let Some(fixed) = size.and_then(crate::sym::Dim::fixed) {
        return Ok(Value::Int(fixed));
    }
    let shape = cx.op("Shape", vec![x.into()], &[("dtype", Attr::Type(DataType::Int64))])?;
    let size = cx.op("Gather", vec![shape.into(), In::Literal(Literal::Int(axis))], &[])?;
    cx.b.mark(size, "_force_unknown_shape");
    Ok(size.into())
}

fn sym_numel(cx: &mut Cx) -> Made {
    let x = cx.any(0)?;
    let shape = cx.op("Shape", vec![x], &[])?;
    let product = cx.op("ReduceProdD", vec![shape.into()], &[("axes", Attr::Ints(vec![0]))])?;
    Ok(cx.always_cast(product, DataType::Int64)?.into())
}
