//! Python's functions of numbers: `_operator`, `math`, `builtins`, and `torch.sym_*`.
//!
//! Promises: what Python computes, with its kinds: booleans are integers in arithmetic, `/` gives a float (of integers of any size the nearest
//! one), `//` and `%` round down. What Python refuses is refused; integers beyond 64 bits, which Python has, are an error here.

use std::cmp::Ordering;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::value::{Scalar, Value};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (|cx| arithmetic(cx, i64::checked_add, |a, b| a + b), &["_operator.add"]),
    (|cx| arithmetic(cx, i64::checked_sub, |a, b| a - b), &["_operator.sub"]),
    (|cx| arithmetic(cx, i64::checked_mul, |a, b| a * b), &["_operator.mul"]),
    (divided, &["_operator.truediv"]),
    (floor_divided, &["_operator.floordiv"]),
    (remainder, &["_operator.mod"]),
    (power, &["_operator.pow", "builtins.pow"]),
    (|cx| bits(cx, |a, b| a & b), &["_operator.and_"]),
    (|cx| bits(cx, |a, b| a | b), &["_operator.or_"]),
    (|cx| bits(cx, |a, b| a ^ b), &["_operator.xor"]),
    (shifted_left, &["_operator.lshift"]),
    (shifted_right, &["_operator.rshift"]),
    (|cx| compared(cx, |o| o == Some(Ordering::Equal)), &["_operator.eq"]),
    (|cx| compared(cx, |o| o != Some(Ordering::Equal)), &["_operator.ne"]),
    (|cx| compared(cx, |o| o == Some(Ordering::Less)), &["_operator.lt"]),
    (|cx| compared(cx, |o| o.is_some_and(Ordering::is_le)), &["_operator.le"]),
    (|cx| compared(cx, |o| o == Some(Ordering::Greater)), &["_operator.gt"]),
    (|cx| compared(cx, |o| o.is_some_and(Ordering::is_ge)), &["_operator.ge"]),
    (|cx| signed(cx, i64::checked_neg, |v| -v), &["_operator.neg"]),
    (|cx| signed(cx, Some, |v| v), &["_operator.pos"]),
    (|cx| signed(cx, i64::checked_abs, f64::abs), &["_operator.abs", "builtins.abs"]),
    (|cx| Ok(Value::Bool(!truth(cx.scalar(0)?))), &["_operator.not_", "torch.sym_not"]),
    (|cx| Ok(Value::Bool(truth(cx.scalar(0)?))), &["_operator.truth", "builtins.bool"]),
    (|cx| whole(cx, 0).map(|v| Value::Int(!v)), &["_operator.inv", "_operator.invert"]),
    (index, &["_operator.index"]),
    (element, &["_operator.getitem"]),
    (|cx| chosen(cx, Ordering::Greater), &["builtins.max"]),
    (|cx| chosen(cx, Ordering::Less), &["builtins.min"]),
    (|cx| chosen_sym(cx, Ordering::Greater), &["torch.sym_max"]),
    (|cx| chosen_sym(cx, Ordering::Less), &["torch.sym_min"]),
    (|cx| real(cx, 0).map(Value::Float), &["torch.sym_float", "builtins.float"]),
    (|cx| rounded(cx, f64::trunc), &["torch.sym_int", "builtins.int", "math.trunc"]),
    (|cx| rounded(cx, f64::ceil), &["math.ceil"]),
    (|cx| rounded(cx, f64::floor), &["math.floor"]),
    (round, &["builtins.round"]),
    (|cx| Ok(cx.value(if cx.bool(0)? { 1 } else { 2 })), &["torch.sym_ite"]),
    (sum, &["torch.sym_sum"]),
    (|cx| folded(cx, |a, b| a & b), &["torch.sym_and"]),
    (|cx| folded(cx, |a, b| a | b), &["torch.sym_or"]),
    (|cx| function(cx, f64::sqrt, |v| v >= 0.0), &["math.sqrt", "torch.sym_sqrt", "torch._sym_sqrt"]),
    (|cx| function(cx, f64::exp, |_| true), &["math.exp"]),
    (|cx| function(cx, f64::ln, |v| v > 0.0), &["math.log"]),
    (|cx| function(cx, f64::log2, |v| v > 0.0), &["math.log2", "torch._sym_log2"]),
    (|cx| function(cx, f64::sin, f64::is_finite), &["math.sin", "torch._sym_sin"]),
    (|cx| function(cx, f64::cos, f64::is_finite), &["math.cos", "torch._sym_cos"]),
    (|cx| function(cx, f64::tan, f64::is_finite), &["math.tan", "torch._sym_tan"]),
    (|cx| function(cx, f64::sinh, |_| true), &["math.sinh", "torch._sym_sinh"]),
    (|cx| function(cx, f64::cosh, |_| true), &["math.cosh", "torch._sym_cosh"]),
    (|cx| function(cx, f64::tanh, |_| true), &["math.tanh", "torch._sym_tanh"]),
    (|cx| function(cx, f64::asin, |v| v.abs() <= 1.0), &["math.asin", "torch._sym_asin"]),
    (|cx| function(cx, f64::acos, |v| v.abs() <= 1.0), &["math.acos", "torch._sym_acos"]),
    (|cx| function(cx, f64::atan, |_| true), &["math.atan", "torch._sym_atan"]),
    (math_power, &["math.pow"]),
];

/// A number as Python computes with it.
#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    #[allow(clippy::cast_precision_loss)]
    fn real(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::Float(v) => v,
        }
    }
}

fn number(cx: &Cx<'_, '_, '_>, i: usize) -> Result<Number, CallFault> {
    match cx.scalar(i)? {
        Scalar::Bool(v) => Ok(Number::Int(i64::from(v))),
        Scalar::Int(v) => Ok(Number::Int(v)),
        Scalar::Float(v) => Ok(Number::Float(v)),
        Scalar::Complex(..) => Err(CallFault::Unsupported { what: "complex numbers in Python's arithmetic".into() }),
    }
}

fn numbers(cx: &Cx<'_, '_, '_>) -> Result<(Number, Number), CallFault> {
    Ok((number(cx, 0)?, number(cx, 1)?))
}

fn real(cx: &Cx<'_, '_, '_>, i: usize) -> Result<f64, CallFault> {
    number(cx, i).map(Number::real)
}

fn whole(cx: &Cx<'_, '_, '_>, i: usize) -> Result<i64, CallFault> {
    match number(cx, i)? {
        Number::Int(v) => Ok(v),
        Number::Float(v) => Err(cx.bad(i, "an integer", v.to_string())),
    }
}

fn truth(v: Scalar) -> bool {
    match v {
        Scalar::Bool(v) => v,
        Scalar::Int(v) => v != 0,
        Scalar::Float(v) => v != 0.0,
        Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
    }
}

fn too_large() -> CallFault {
    CallFault::Unsupported { what: "an integer that 64 bits do not hold".into() }
}

fn integer(v: Option<i64>) -> Made {
    v.map(Value::Int).ok_or_else(too_large)
}

fn arithmetic(cx: &Cx<'_, '_, '_>, ints: fn(i64, i64) -> Option<i64>, floats: fn(f64, f64) -> f64) -> Made {
    match numbers(cx)? {
        (Number::Int(a), Number::Int(b)) => integer(ints(a, b)),
        (a, b) => Ok(Value::Float(floats(a.real(), b.real()))),
    }
}

fn no_zero(cx: &Cx<'_, '_, '_>, b: Number) -> Result<(), CallFault> {
    if b.real() == 0.0 { Err(cx.bad(1, "another divisor than 0", "0")) } else { Ok(()) }
}

fn divided(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = numbers(cx)?;
    no_zero(cx, b)?;
    Ok(Value::Float(match (a, b) {
        (Number::Int(a), Number::Int(b)) => quotient(a, b),
        (a, b) => a.real() / b.real(),
    }))
}

/// Returns the float nearest to the quotient of two integers, which may themselves be no floats.
#[allow(clippy::cast_precision_loss)]
fn quotient(a: i64, b: i64) -> f64 {
    const EXACT: u64 = 1 << 53;
    if a.unsigned_abs() <= EXACT && b.unsigned_abs() <= EXACT {
        return a as f64 / b as f64;
    }
    let (x, y) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
    // 64 bits of the quotient or one more, the last of which says whether anything was left: rounding them to 53 is rounding once.
    let shift = 64_u32
        .saturating_add(128_u32.saturating_sub(y.leading_zeros()))
        .saturating_sub(128_u32.saturating_sub(x.leading_zeros()));
    let scaled = x.checked_shl(shift).unwrap_or(0);
    let whole = scaled.checked_div(y).unwrap_or(0) | u128::from(scaled.checked_rem(y) != Some(0));
    let size = whole as f64 * 2_f64.powi(i32::try_from(shift).unwrap_or(0).saturating_neg());
    if (a < 0) == (b < 0) { size } else { -size }
}

/// Python's `divmod` of floats.
fn float_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut whole = (a - rest) / b;
    if rest == 0.0 {
        rest = 0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        whole -= 1.0;
    }
    if whole == 0.0 {
        return (0_f64.copysign(a / b), rest);
    }
    let mut down = whole.floor();
    if whole - down > 0.5 {
        down += 1.0;
    }
    (down, rest)
}

fn floor_divided(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = numbers(cx)?;
    no_zero(cx, b)?;
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => integer(floor_quotient(a, b)),
        (a, b) => Ok(Value::Float(float_divmod(a.real(), b.real()).0)),
    }
}

fn floor_quotient(a: i64, b: i64) -> Option<i64> {
    let (whole, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    if rest != 0 && (rest < 0) != (b < 0) { whole.checked_sub(1) } else { Some(whole) }
}

fn remainder(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = numbers(cx)?;
    no_zero(cx, b)?;
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => {
            // The one remainder that overflows on the way is 0.
            let rest = a.checked_rem(b).unwrap_or(0);
            let turned = rest != 0 && (rest < 0) != (b < 0);
            integer(if turned { rest.checked_add(b) } else { Some(rest) })
        }
        (a, b) => Ok(Value::Float(float_divmod(a.real(), b.real()).1)),
    }
}

fn power(cx: &mut Cx<'_, '_, '_>) -> Made {
    match numbers(cx)? {
        (Number::Int(a), Number::Int(b)) if b >= 0 => integer(integer_power(a, b)),
        (a, b) => {
            let (a, b) = (a.real(), b.real());
            if a < 0.0 && b.is_finite() && b.fract() != 0.0 && a.is_finite() {
                return Err(CallFault::Unsupported { what: "a power that is complex".into() });
            }
            float_power(cx, a, b)
        }
    }
}

fn integer_power(a: i64, b: i64) -> Option<i64> {
    match a {
        0 | 1 => Some(if b == 0 { 1 } else { a }),
        -1 => Some(if b.checked_rem(2) == Some(0) { 1 } else { -1 }),
        _ => a.checked_pow(u32::try_from(b).ok()?),
    }
}

fn float_power(cx: &Cx<'_, '_, '_>, a: f64, b: f64) -> Made {
    if a == 0.0 && b < 0.0 && b.is_finite() {
        return Err(cx.bad(1, "an exponent of 0 or more for the base 0", b.to_string()));
    }
    finite(a.powf(b), a.is_finite() && b.is_finite())
}

fn math_power(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (real(cx, 0)?, real(cx, 1)?);
    let result = a.powf(b);
    if result.is_nan() && !a.is_nan() && !b.is_nan() {
        return Err(cx.bad(0, "0 or more for an exponent that is no integer", a.to_string()));
    }
    if a == 0.0 && b < 0.0 && b.is_finite() {
        return Err(cx.bad(1, "an exponent of 0 or more for the base 0", b.to_string()));
    }
    finite(result, a.is_finite() && b.is_finite())
}

/// Python's `OverflowError`: an infinite result of finite operands.
fn finite(result: f64, operands: bool) -> Made {
    if result.is_infinite() && operands {
        return Err(CallFault::Unsupported { what: "a result beyond the range of floats".into() });
    }
    Ok(Value::Float(result))
}

fn joined(
    cx: &Cx<'_, '_, '_>,
    (i, a): (usize, Scalar),
    (j, b): (usize, Scalar),
    f: fn(i64, i64) -> i64,
) -> Result<Scalar, CallFault> {
    let number = |i: usize, v: Scalar| match v {
        Scalar::Bool(v) => Ok(i64::from(v)),
        Scalar::Int(v) => Ok(v),
        other => Err(cx.bad(i, "an integer or a boolean", format!("{other:?}"))),
    };
    let result = f(number(i, a)?, number(j, b)?);
    Ok(match (a, b) {
        (Scalar::Bool(_), Scalar::Bool(_)) => Scalar::Bool(result != 0),
        _ => Scalar::Int(result),
    })
}

fn bits(cx: &Cx<'_, '_, '_>, f: fn(i64, i64) -> i64) -> Made {
    joined(cx, (0, cx.scalar(0)?), (1, cx.scalar(1)?), f).map(Value::from)
}

/// `sym_and` and `sym_or` of any number of values, from left to right.
fn folded(cx: &Cx<'_, '_, '_>, f: fn(i64, i64) -> i64) -> Made {
    let mut result = cx.scalar(0)?;
    for (_, arg) in &cx.bound.extra {
        let next = match arg {
            crate::graph::Arg::Bool(v) => Scalar::Bool(*v),
            crate::graph::Arg::Int(v) => Scalar::Int(*v),
            other => return Err(cx.wrong_kind(1, "an integer or a boolean", other)),
        };
        result = joined(cx, (0, result), (1, next), f)?;
    }
    Ok(result.into())
}

fn shift(cx: &Cx<'_, '_, '_>) -> Result<(i64, u32), CallFault> {
    let (a, by) = (whole(cx, 0)?, whole(cx, 1)?);
    if by < 0 {
        return Err(cx.bad(1, "0 or more", by.to_string()));
    }
    Ok((a, u32::try_from(by).unwrap_or(u32::MAX)))
}

fn shifted_left(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, by) = shift(cx)?;
    let factor = 1_i128.checked_shl(by).filter(|_| by < 127);
    let wide = if a == 0 { Some(0) } else { factor.and_then(|f| i128::from(a).checked_mul(f)) };
    integer(wide.and_then(|v| i64::try_from(v).ok()))
}

fn shifted_right(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, by) = shift(cx)?;
    Ok(Value::Int(a.checked_shr(by).unwrap_or(if a < 0 { -1 } else { 0 })))
}

/// Compares as Python does: an integer and a float by their exact values.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn order(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Float(_), Number::Int(_)) => order(b, a).map(Ordering::reverse),
        (Number::Int(a), Number::Float(b)) => {
            if b.is_nan() {
                return None;
            }
            if b >= 9_223_372_036_854_775_808.0 {
                return Some(Ordering::Less);
            }
            if b < -9_223_372_036_854_775_808.0 {
                return Some(Ordering::Greater);
            }
            let down = b.floor();
            let whole = a.cmp(&(down as i64));
            Some(if whole.is_eq() && b > down { Ordering::Less } else { whole })
        }
    }
}

fn compared(cx: &Cx<'_, '_, '_>, holds: fn(Option<Ordering>) -> bool) -> Made {
    let (a, b) = numbers(cx)?;
    Ok(Value::Bool(holds(order(a, b))))
}

fn signed(cx: &Cx<'_, '_, '_>, ints: fn(i64) -> Option<i64>, floats: fn(f64) -> f64) -> Made {
    match number(cx, 0)? {
        Number::Int(v) => integer(ints(v)),
        Number::Float(v) => Ok(Value::Float(floats(v))),
    }
}

fn index(cx: &mut Cx<'_, '_, '_>) -> Made {
    match cx.scalar(0)? {
        Scalar::Bool(v) => Ok(Value::Bool(v)),
        _ => whole(cx, 0).map(Value::Int),
    }
}

fn element(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (all, at) = (cx.value(0), cx.int(1)?);
    let Value::List(all) = all else { return Err(cx.bad(0, "a list", all.kind())) };
    let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let place = usize::try_from(if at < 0 { at.saturating_add(count) } else { at }).ok();
    let found = place.and_then(|k| all.get(k)).cloned();
    found.ok_or_else(|| cx.bad(1, format!("an index into {count} elements"), at.to_string()))
}

/// The first of equals, in its own kind.
fn chosen(cx: &Cx<'_, '_, '_>, wanted: Ordering) -> Made {
    let (a, b) = numbers(cx)?;
    Ok(cx.value(usize::from(order(b, a) == Some(wanted))))
}

/// A float where one of the two is one.
fn chosen_sym(cx: &Cx<'_, '_, '_>, wanted: Ordering) -> Made {
    let (a, b) = numbers(cx)?;
    match (a, b) {
        (Number::Int(_), Number::Int(_)) => chosen(cx, wanted),
        _ => Ok(Value::Float(if order(b, a) == Some(wanted) { b.real() } else { a.real() })),
    }
}

#[allow(clippy::cast_possible_truncation)]
fn rounded(cx: &Cx<'_, '_, '_>, f: fn(f64) -> f64) -> Made {
    match number(cx, 0)? {
        Number::Int(v) => Ok(Value::Int(v)),
        Number::Float(v) => {
            let whole = f(v);
            if whole.is_nan() || whole.is_infinite() {
                return Err(cx.bad(0, "a finite number", v.to_string()));
            }
            let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&whole);
            if fits { Ok(Value::Int(whole as i64)) } else { Err(too_large()) }
        }
    }
}

fn round(cx: &mut Cx<'_, '_, '_>) -> Made {
    let Some(digits) = cx.opt_int(1)? else { return rounded(cx, f64::round_ties_even) };
    match number(cx, 0)? {
        Number::Int(v) if digits >= 0 => Ok(Value::Int(v)),
        Number::Int(v) => integer(round_integer(v, digits.saturating_neg())),
        Number::Float(v) => round_float(v, digits).map(Value::Float),
    }
}

fn round_integer(v: i64, digits: i64) -> Option<i64> {
    let Some(unit) = u32::try_from(digits).ok().and_then(|d| 10_i128.checked_pow(d)) else { return Some(0) };
    let (v, half) = (i128::from(v), unit.checked_div(2)?);
    let (down, rest) = (v.checked_div_euclid(unit)?, v.checked_rem_euclid(unit)?);
    let up = rest > half || rest == half && down.checked_rem_euclid(2) == Some(1);
    let whole = down.checked_add(i128::from(up))?.checked_mul(unit)?;
    i64::try_from(whole).ok()
}

/// Rounds the exact decimal value, ties to even.
fn round_float(v: f64, digits: i64) -> Result<f64, CallFault> {
    if !v.is_finite() || digits > 323 {
        return Ok(v);
    }
    if digits < -308 {
        return Ok(0_f64.copysign(v));
    }
    if let Ok(digits) = usize::try_from(digits) {
        return Ok(format!("{v:.digits$}").parse().unwrap_or(v));
    }
    let unit = 10_f64.powi(i32::try_from(digits.saturating_neg()).unwrap_or(0));
    let result = (v / unit).round_ties_even() * unit;
    if result.is_finite() {
        Ok(result)
    } else {
        Err(CallFault::Unsupported { what: "a result beyond the range of floats".into() })
    }
}

fn sum(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut total = Number::Int(0);
    let all = cx.value(0);
    for one in all.items() {
        let next = match one.as_scalar() {
            Some(Scalar::Bool(v)) => Number::Int(i64::from(v)),
            Some(Scalar::Int(v)) => Number::Int(v),
            Some(Scalar::Float(v)) => Number::Float(v),
            _ => return Err(cx.bad(0, "numbers", one.kind())),
        };
        total = match (total, next) {
            (Number::Int(a), Number::Int(b)) => Number::Int(a.checked_add(b).ok_or_else(too_large)?),
            (a, b) => Number::Float(a.real() + b.real()),
        };
    }
    Ok(match total {
        Number::Int(v) => Value::Int(v),
        Number::Float(v) => Value::Float(v),
    })
}

/// A function of `math`: outside its domain, or where it leaves the range of floats, Python raises.
fn function(cx: &Cx<'_, '_, '_>, f: fn(f64) -> f64, domain: fn(f64) -> bool) -> Made {
    let v = real(cx, 0)?;
    if !v.is_nan() && !domain(v) {
        return Err(cx.bad(0, "a number in the function's domain", v.to_string()));
    }
    finite(f(v), v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Kernels, Session};
    use crate::ops::Registry;

    fn call(target: &str, args: &[Value]) -> Option<Scalar> {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        Session::new(&registry, &kernels, 0).call(target, args, &[]).ok()?.as_scalar()
    }

    #[test]
    fn division_rounds_down_and_true_division_rounds_once() {
        use Scalar::{Float, Int};
        let of = |op: &str, a: i64, b: i64| call(op, &[a.into(), b.into()]);
        assert_eq!(of("_operator.floordiv", -7, 2), Some(Int(-4)));
        assert_eq!(of("_operator.mod", -7, 2), Some(Int(1)));
        assert_eq!(of("_operator.mod", 7, -2), Some(Int(-1)));
        assert_eq!(of("_operator.truediv", 7, 2), Some(Float(3.5)));
        assert_eq!(quotient(i64::MAX, i64::MAX - 1), 1.0);
        assert_eq!(quotient(9_007_199_254_740_993, 3), 3_002_399_751_580_331.0);
        assert_eq!(of("_operator.floordiv", i64::MIN, -1), None);
        assert_eq!(of("_operator.mod", 1, 0), None);
    }

    #[test]
    fn integers_and_floats_compare_exactly() {
        let (big, float) = ((1_i64 << 53) + 1, (1_i64 << 53) as f64);
        assert_eq!(order(Number::Int(big), Number::Float(float)), Some(Ordering::Greater));
        assert_eq!(order(Number::Float(0.5), Number::Int(0)), Some(Ordering::Greater));
        assert_eq!(order(Number::Int(1), Number::Float(f64::NAN)), None);
    }
}
