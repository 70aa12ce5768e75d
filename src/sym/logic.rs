//! Constructors of floats and booleans.
//!
//! Promises: constants are folded only where the result is exactly what evaluating would give; floats are never reordered or regrouped.

use super::bounds;
use super::error::SymError;
use super::expr::{Comparison, Dim, Expr, Rounding, SymBool, SymFloat, SymValue};
use super::range::Range;
use super::store::Arena;

type Made<T> = Result<T, SymError>;

pub(super) fn float_expr<A: Arena>(arena: &mut A, expr: Expr) -> Made<SymFloat> {
    arena.intern(expr).map(SymFloat)
}

fn bool_expr<A: Arena>(arena: &mut A, expr: Expr) -> Made<SymBool> {
    arena.intern(expr).map(SymBool)
}

pub(super) fn constant<A: Arena>(arena: &mut A, value: f64) -> Made<SymFloat> {
    float_expr(arena, Expr::FloatConst(value.to_bits()))
}

pub(super) fn truth<A: Arena>(arena: &mut A, value: bool) -> Made<SymBool> {
    bool_expr(arena, Expr::BoolConst(value))
}

pub(super) fn to_float<A: Arena>(arena: &mut A, value: SymValue) -> Made<SymFloat> {
    match value {
        SymValue::Float(float) => Ok(float),
        SymValue::Int(Dim::Fixed(number)) => constant(arena, number as f64),
        SymValue::Int(dim) => float_expr(arena, Expr::ToFloat(dim)),
        SymValue::Bool(truth) => {
            let dim = choose(arena, truth, Dim::Fixed(1), Dim::Fixed(0))?;
            float_expr(arena, Expr::ToFloat(dim))
        }
    }
}

pub(super) fn sum<A: Arena>(arena: &mut A, operands: Vec<SymFloat>) -> Made<SymFloat> {
    match operands.as_slice() {
        [] => constant(arena, 0.0),
        [one] => Ok(*one),
        _ => float_expr(arena, Expr::FloatSum(operands.into_boxed_slice())),
    }
}

/// A product; signs are drawn together, which is exact wherever they stand.
pub(super) fn product<A: Arena>(arena: &mut A, operands: Vec<SymFloat>) -> Made<SymFloat> {
    let mut negative = false;
    let mut factors = Vec::new();
    let mut number = None;
    for operand in operands {
        match arena.expr_or_err(operand.0)? {
            Expr::FloatConst(bits) if f64::from_bits(*bits) == -1.0 => {
                negative = !negative;
                continue;
            }
            Expr::FloatConst(bits) if number.is_none() => number = Some((factors.len(), f64::from_bits(*bits))),
            _ => {}
        }
        factors.push(operand);
    }
    if negative {
        let (place, value) = number.unwrap_or((0, 1.0));
        let negated = constant(arena, -value)?;
        match factors.get_mut(place).filter(|_| number.is_some()) {
            Some(slot) => *slot = negated,
            None => factors.insert(0, negated),
        }
    }
    match factors.as_slice() {
        [] => constant(arena, 1.0),
        [one] => Ok(*one),
        _ => float_expr(arena, Expr::FloatProduct(factors.into_boxed_slice())),
    }
}

pub(super) fn power<A: Arena>(arena: &mut A, base: SymFloat, exponent: SymFloat) -> Made<SymFloat> {
    float_expr(arena, Expr::FloatPower(base, exponent))
}

pub(super) fn int_true_div<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made<SymFloat> {
    if b == Dim::Fixed(0) {
        return Err(SymError::DivisionByZero { operation: "a true division" });
    }
    float_expr(arena, Expr::IntTrueDiv(a, b))
}

pub(super) fn round<A: Arena>(arena: &mut A, rounding: Rounding, inner: SymFloat) -> Made<Dim> {
    match arena.expr_or_err(inner.0)? {
        // A size survives the way through a float only below 2^53, so this stays as it is.
        Expr::FloatConst(bits) => rounded(rounding, f64::from_bits(*bits)).map(Dim::Fixed),
        _ => arena.int(Expr::Round(rounding, inner)),
    }
}

/// The integer that a float rounds to.
pub(super) fn rounded(rounding: Rounding, value: f64) -> Made<i64> {
    let (operation, whole) = match rounding {
        Rounding::Ceil => ("ceil", value.ceil()),
        Rounding::Floor => ("floor", value.floor()),
        Rounding::Trunc => ("trunc", value.trunc()),
        Rounding::Nearest => ("round", value.round_ties_even()),
    };
    // 2^63 is a float; the greatest i64 is not.
    let limit = 9_223_372_036_854_775_808.0;
    if whole >= -limit && whole < limit {
        Ok(whole as i64)
    } else {
        Err(SymError::NotAnInteger { operation, value: value.to_string() })
    }
}

pub(super) fn choose<A: Arena>(arena: &mut A, condition: SymBool, a: Dim, b: Dim) -> Made<Dim> {
    match arena.expr_or_err(condition.0)? {
        Expr::BoolConst(value) => Ok(if *value { a } else { b }),
        _ if a == b => Ok(a),
        _ => arena.int(Expr::Where(condition, a, b)),
    }
}

pub(super) fn choose_float<A: Arena>(arena: &mut A, condition: SymBool, x: SymFloat, y: SymFloat) -> Made<SymFloat> {
    match arena.expr_or_err(condition.0)? {
        Expr::BoolConst(value) => Ok(if *value { x } else { y }),
        _ if x == y => Ok(x),
        _ => float_expr(arena, Expr::FloatWhere(condition, x, y)),
    }
}

pub(super) fn compare<A: Arena>(arena: &mut A, comparison: Comparison, a: Dim, b: Dim) -> Made<SymBool> {
    let decided = match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => bounds::compare(comparison, &Range::only(x), &Range::only(y)),
        _ if a == b => Some(comparison.holds(Some(std::cmp::Ordering::Equal))),
        _ => None,
    };
    match decided {
        Some(value) => truth(arena, value),
        None => bool_expr(arena, Expr::Compare(comparison, a, b)),
    }
}

pub(super) fn compare_floats<A: Arena>(
    arena: &mut A,
    comparison: Comparison,
    x: SymFloat,
    y: SymFloat,
) -> Made<SymBool> {
    bool_expr(arena, Expr::FloatCompare(comparison, x, y))
}

pub(super) fn and<A: Arena>(arena: &mut A, operands: &[SymBool]) -> Made<SymBool> {
    junction(arena, operands, true)
}

pub(super) fn or<A: Arena>(arena: &mut A, operands: &[SymBool]) -> Made<SymBool> {
    junction(arena, operands, false)
}

/// `and` (`neutral` true) or `or` of operands: flat, sorted, without repetition.
fn junction<A: Arena>(arena: &mut A, operands: &[SymBool], neutral: bool) -> Made<SymBool> {
    let mut flat: Vec<SymBool> = Vec::new();
    for operand in operands {
        match (arena.expr_or_err(operand.0)?, neutral) {
            (Expr::BoolConst(value), _) if *value == neutral => {}
            (Expr::BoolConst(value), _) => return truth(arena, *value),
            (Expr::And(inner), true) | (Expr::Or(inner), false) => flat.extend(inner.iter()),
            _ => flat.push(*operand),
        }
    }
    flat.sort_unstable();
    flat.dedup();
    match flat.as_slice() {
        [] => truth(arena, neutral),
        [one] => Ok(*one),
        _ => {
            let operands = flat.into_boxed_slice();
            bool_expr(arena, if neutral { Expr::And(operands) } else { Expr::Or(operands) })
        }
    }
}

/// The contrary: of a comparison of integers the opposite comparison, as sympy has it.
pub(super) fn not<A: Arena>(arena: &mut A, operand: SymBool) -> Made<SymBool> {
    let expr = match arena.expr_or_err(operand.0)?.clone() {
        Expr::BoolConst(value) => Expr::BoolConst(!value),
        Expr::Not(inner) => return Ok(inner),
        Expr::Compare(comparison, a, b) => Expr::Compare(opposite(comparison), a, b),
        _ => Expr::Not(operand),
    };
    bool_expr(arena, expr)
}

/// One, but not the other.
pub(super) fn xor<A: Arena>(arena: &mut A, a: SymBool, b: SymBool) -> Made<SymBool> {
    let (not_a, not_b) = (not(arena, a)?, not(arena, b)?);
    let (first, second) = (and(arena, &[a, not_b])?, and(arena, &[not_a, b])?);
    or(arena, &[first, second])
}

fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}
