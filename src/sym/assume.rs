//! What PyTorch assumes of an expression when it makes it: backed symbols are positive integers, others any integer.
//!
//! This decides only how a remainder is spelled (`Mod` where both operands are assumed not negative, else `PythonMod`), never what is
//! known: ranges do not count here, as they do not there.

use super::expr::{Dim, Expr, Modulus};
use super::poly::Poly;
use super::srepr::is_unbacked;
use super::store::Arena;

/// What is assumed of a value.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Sign {
    Unknown,
    NotNegative,
    Positive,
}

/// How PyTorch spells `a % b`.
pub(super) fn spelling<A: Arena>(arena: &A, a: Dim, b: Dim) -> Modulus {
    let natural = |dim| sign(arena, dim) >= Sign::NotNegative;
    if natural(a) && natural(b) { Modulus::Natural } else { Modulus::Python }
}

fn sign<A: Arena>(arena: &A, dim: Dim) -> Sign {
    let id = match dim {
        Dim::Fixed(value) => return of_number(value),
        Dim::Expr(id) => id,
    };
    let all = |dims: &[Dim]| dims.iter().map(|dim| sign(arena, *dim)).min().unwrap_or(Sign::Unknown);
    match arena.expr(id) {
        Some(Expr::Symbol(symbol)) if is_unbacked(&arena.symbol_name(*symbol)) => Sign::Unknown,
        Some(Expr::Symbol(_)) => Sign::Positive,
        Some(Expr::Poly(poly)) => of_poly(arena, poly),
        Some(Expr::FloorDiv(a, b)) => all(&[*a, *b]).min(Sign::NotNegative),
        Some(Expr::Mod(Modulus::Natural, ..)) => Sign::NotNegative,
        Some(Expr::Mod(Modulus::Python, _, b)) if sign(arena, *b) == Sign::Positive => Sign::NotNegative,
        Some(Expr::Max(dims)) => dims.iter().map(|dim| sign(arena, *dim)).max().unwrap_or(Sign::Unknown),
        Some(Expr::Min(dims)) => all(dims),
        Some(Expr::Where(_, a, b)) => all(&[*a, *b]),
        _ => Sign::Unknown,
    }
}

fn of_number(value: i64) -> Sign {
    match value {
        1.. => Sign::Positive,
        0 => Sign::NotNegative,
        _ => Sign::Unknown,
    }
}

/// With no negative multiple, the sum is at least the constant plus the coefficients of products that are at least one.
fn of_poly<A: Arena>(arena: &A, poly: &Poly) -> Sign {
    let mut least = i128::from(poly.constant_term());
    for (monomial, value) in poly.terms().filter(|(monomial, _)| !monomial.is_one()) {
        let factors = monomial.factors().map(|(atom, power)| {
            let sign = sign(arena, Dim::Expr(atom));
            // An even power is no negative number, whatever it is a power of.
            if power.is_multiple_of(2) { sign.max(Sign::NotNegative) } else { sign }
        });
        match factors.min() {
            Some(Sign::Positive) if value > 0 => least = least.saturating_add(value.into()),
            Some(Sign::NotNegative) if value > 0 => {}
            _ => return Sign::Unknown,
        }
    }
    match least {
        1.. => Sign::Positive,
        0 => Sign::NotNegative,
        _ => Sign::Unknown,
    }
}
