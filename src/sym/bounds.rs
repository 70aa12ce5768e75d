//! The quick range of an expression: interval arithmetic over the ranges of its operands, one step deep.
//!
//! Promise: it holds every value that the expression takes while each symbol is in its range. `decide` finds tighter ones.

use super::expr::{BitOperator, Comparison, Dim, Expr, ExprId};
use super::poly::Poly;
use super::range::Range;
use super::store::Arena;

/// The range of an integer expression whose operands are interned; all integers for other sorts.
pub(super) fn quick<A: Arena + ?Sized>(arena: &A, expr: &Expr) -> Range {
    match expr {
        Expr::Symbol(symbol) => arena.symbol_range(*symbol),
        Expr::Poly(poly) => of_poly(|atom| arena.facts(atom).range, poly),
        Expr::FloorDiv(a, b) => arena.quick_range(*a).floor_divided(&arena.quick_range(*b)),
        Expr::Mod(_, a, b) => arena.quick_range(*a).remainder(&arena.quick_range(*b)),
        Expr::Power(base, _) => of_power(&arena.quick_range(*base)),
        Expr::Max(dims) => fold(arena, dims, |a, b| a.maximum(b)),
        Expr::Min(dims) => fold(arena, dims, |a, b| a.minimum(b)),
        Expr::Where(_, a, b) => arena.quick_range(*a).union(&arena.quick_range(*b)),
        Expr::Bitwise(operator, a, b) => of_bits(*operator, &arena.quick_range(*a), &arena.quick_range(*b)),
        Expr::Round(..)
        | Expr::FloatConst(_)
        | Expr::FloatSymbol(_)
        | Expr::ToFloat(_)
        | Expr::FloatSum(_)
        | Expr::FloatProduct(_)
        | Expr::IntTrueDiv(..)
        | Expr::FloatTrueDiv(..)
        | Expr::FloatPower(..)
        | Expr::FloatIntPower(..)
        | Expr::FloatMax(_)
        | Expr::FloatMin(_)
        | Expr::FloatCall(..)
        | Expr::TruncToFloat(_)
        | Expr::RoundDecimal(..)
        | Expr::FloatWhere(..)
        | Expr::BoolConst(_)
        | Expr::Compare(..)
        | Expr::FloatCompare(..)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Not(_) => Range::ALL,
    }
}

/// The range of a polynomial, term by term, given that of each atom.
pub(super) fn of_poly(range: impl Fn(ExprId) -> Range, poly: &Poly) -> Range {
    poly.terms().fold(Range::only(0), |sum, (monomial, coefficient)| {
        let term = monomial
            .factors()
            .fold(Range::only(coefficient), |product, (atom, power)| product.times(&range(atom).power(power)));
        sum.plus(&term)
    })
}

/// `base ** e` for any natural `e`, 0 included.
fn of_power(base: &Range) -> Range {
    if base.at_least(1) {
        Range { min: Some(1), max: base.max.filter(|max| *max == 1) }
    } else if base.at_least(0) {
        Range { min: Some(0), max: base.max.filter(|max| *max <= 1).map(|_| 1) }
    } else {
        Range::ALL
    }
}

fn of_bits(operator: BitOperator, a: &Range, b: &Range) -> Range {
    if !(a.at_least(0) && b.at_least(0)) {
        return Range::ALL;
    }
    match operator {
        BitOperator::And => Range::SIZE.intersect(&Range { min: None, max: a.minimum(b).max }),
        BitOperator::Or | BitOperator::Xor => Range { min: Some(0), max: a.plus(b).max },
    }
}

fn fold<A: Arena + ?Sized>(arena: &A, dims: &[Dim], combine: impl Fn(&Range, &Range) -> Range) -> Range {
    let mut ranges = dims.iter().map(|dim| arena.quick_range(*dim));
    let Some(first) = ranges.next() else { return Range::ALL };
    ranges.fold(first, |sum, range| combine(&sum, &range))
}

/// Whether a comparison holds for all, or for no, pair of values of two ranges.
pub(super) fn compare(comparison: Comparison, a: &Range, b: &Range) -> Option<bool> {
    let below = |x: &Range, y: &Range| x.max.zip(y.min).is_some_and(|(x, y)| x < y);
    let not_above = |x: &Range, y: &Range| x.max.zip(y.min).is_some_and(|(x, y)| x <= y);
    let same = a.single().is_some() && a.single() == b.single();
    let (holds, fails) = match comparison {
        Comparison::Equal => (same, below(a, b) || below(b, a)),
        Comparison::NotEqual => (below(a, b) || below(b, a), same),
        Comparison::Less => (below(a, b), not_above(b, a)),
        Comparison::LessOrEqual => (not_above(a, b), below(b, a)),
        Comparison::Greater => (below(b, a), not_above(a, b)),
        Comparison::GreaterOrEqual => (not_above(b, a), below(a, b)),
    };
    match (holds, fails) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}
