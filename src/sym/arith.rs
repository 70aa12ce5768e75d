//! Canonical integer arithmetic: the constructors of expressions.
//!
//! Promises: the result equals the operation for all values of the symbols for which the operation is defined (no divisor is zero, no
//! exponent negative, no step beyond 64 bits), whatever the ranges: these are set later and may change. Polynomials that are equal are one id.
//! Division and remainder are Python's. What PyTorch folds when it makes an expression is folded here too.

use super::assume;
use super::error::SymError;
use super::expr::{BitOperator, Dim, Expr, Modulus};
use super::poly::{Monomial, Poly};
use super::range::{floor_div, floor_mod};
use super::store::Arena;

type Made = Result<Dim, SymError>;

/// The polynomial that a value is: itself, or one atom.
pub(super) fn poly_of<A: Arena>(arena: &A, dim: Dim) -> Result<Poly, SymError> {
    match dim {
        Dim::Fixed(value) => Ok(Poly::constant(value)),
        Dim::Expr(id) => Ok(match arena.expr_or_err(id)? {
            Expr::Poly(poly) => poly.clone(),
            _ => Poly::atom(id),
        }),
    }
}

/// The value that a polynomial is.
pub(super) fn from_poly<A: Arena>(arena: &mut A, poly: Poly) -> Made {
    match (poly.as_constant(), poly.as_atom()) {
        (Some(value), _) => Ok(Dim::Fixed(value)),
        (_, Some(atom)) => Ok(Dim::Expr(atom)),
        (None, None) => arena.int(Expr::Poly(poly)),
    }
}

pub(super) fn add<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => fixed(x.checked_add(y), "a sum"),
        (Dim::Fixed(0), other) | (other, Dim::Fixed(0)) => Ok(other),
        _ => {
            let sum = poly_of(arena, a)?.plus(&poly_of(arena, b)?)?;
            from_poly(arena, sum)
        }
    }
}

/// The sum of many, interned once.
pub(super) fn sum<A: Arena>(arena: &mut A, dims: &[Dim]) -> Made {
    let mut terms = Vec::new();
    for dim in dims {
        terms.extend(poly_of(arena, *dim)?.terms().map(|(monomial, value)| (monomial.clone(), value)));
    }
    from_poly(arena, Poly::collect(terms)?)
}

pub(super) fn sub<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => fixed(x.checked_sub(y), "a difference"),
        (other, Dim::Fixed(0)) => Ok(other),
        _ if a == b => Ok(Dim::Fixed(0)),
        _ => {
            let difference = poly_of(arena, a)?.minus(&poly_of(arena, b)?)?;
            from_poly(arena, difference)
        }
    }
}

pub(super) fn neg<A: Arena>(arena: &mut A, a: Dim) -> Made {
    sub(arena, Dim::Fixed(0), a)
}

pub(super) fn mul<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => fixed(x.checked_mul(y), "a product"),
        (Dim::Fixed(0), _) | (_, Dim::Fixed(0)) => Ok(Dim::Fixed(0)),
        (Dim::Fixed(1), other) | (other, Dim::Fixed(1)) => Ok(other),
        _ => {
            let product = poly_of(arena, a)?.times(&poly_of(arena, b)?)?;
            from_poly(arena, product)
        }
    }
}

pub(super) fn power<A: Arena>(arena: &mut A, base: Dim, exponent: Dim) -> Made {
    let Dim::Fixed(number) = exponent else {
        return if base == Dim::Fixed(1) { Ok(base) } else { arena.int(Expr::Power(base, exponent)) };
    };
    if number < 0 {
        return Err(SymError::NegativeExponent { exponent: number });
    }
    let raised = match base {
        // Any exponent is fine for these; for others one beyond 64 overflows or is too large.
        Dim::Fixed(0) if number > 0 => return Ok(base),
        Dim::Fixed(1) => return Ok(base),
        Dim::Fixed(-1) => return Ok(Dim::Fixed(if number & 1 == 0 { 1 } else { -1 })),
        _ => poly_of(arena, base)?.raised(u32::try_from(number).unwrap_or(u32::MAX))?,
    };
    from_poly(arena, raised)
}

pub(super) fn floordiv<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    const NAME: &str = "a floor division";
    match (a, b) {
        (_, Dim::Fixed(0)) => return Err(SymError::DivisionByZero { operation: NAME }),
        (Dim::Fixed(x), Dim::Fixed(y)) => return fixed(floor_div(x, y), NAME),
        (Dim::Fixed(0), _) | (_, Dim::Fixed(1)) => return Ok(a),
        (_, Dim::Fixed(number)) if number < 0 => {
            let (a, b) = (neg(arena, a)?, neg(arena, b)?);
            return floordiv(arena, a, b);
        }
        _ if a == b => return Ok(Dim::Fixed(1)),
        _ => {}
    }
    if let (Dim::Expr(id), Dim::Fixed(_)) = (a, b)
        && let Expr::FloorDiv(inner, divisor) = *arena.expr_or_err(id)?
    {
        // floor(floor(x / y) / c) is floor(x / (y * c)) for c > 0.
        let product = mul(arena, divisor, b)?;
        return floordiv(arena, inner, product);
    }
    let (base, divisor) = (poly_of(arena, a)?, poly_of(arena, b)?);
    if let Some(quotient) = base.divided_exactly(&divisor) {
        return from_poly(arena, quotient);
    }
    let (number, monomial) = base.common_with(&divisor);
    if number != 1 || !monomial.is_one() {
        let reduced = |poly: &Poly| poly.divided_by_term(&monomial, number).unwrap_or_default();
        let (base, divisor) = (from_poly(arena, reduced(&base))?, from_poly(arena, reduced(&divisor))?);
        return floordiv(arena, base, divisor);
    }
    if let Dim::Fixed(number) = b {
        let (whole, rest) = base.partition(|_, value| value.checked_rem(number) == Some(0));
        if !whole.is_zero() {
            let quotient = whole.divided_by_term(&Monomial::one(), number).unwrap_or_default();
            let (quotient, rest) = (from_poly(arena, quotient)?, from_poly(arena, rest)?);
            let rest = floordiv(arena, rest, b)?;
            return add(arena, quotient, rest);
        }
    }
    arena.int(Expr::FloorDiv(a, b))
}

/// `-(-a // b)`, as PyTorch spells it: `(a + b - 1) // b`, which is that for positive `b`.
pub(super) fn ceildiv<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    if let (Ok(base), Ok(divisor)) = (poly_of(arena, a), poly_of(arena, b))
        && base.divided_exactly(&divisor).is_some()
    {
        return floordiv(arena, a, b);
    }
    let less = sub(arena, b, Dim::Fixed(1))?;
    let sum = add(arena, a, less)?;
    floordiv(arena, sum, b)
}

pub(super) fn modulo<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    let spelling = assume::spelling(arena, a, b);
    modulo_as(arena, spelling, a, b)
}

/// As [`modulo`], spelled as it was read.
pub(super) fn modulo_as<A: Arena>(arena: &mut A, spelling: Modulus, a: Dim, b: Dim) -> Made {
    const NAME: &str = "a remainder";
    match (a, b) {
        (_, Dim::Fixed(0)) => return Err(SymError::DivisionByZero { operation: NAME }),
        (Dim::Fixed(x), Dim::Fixed(y)) => return fixed(floor_mod(x, y), NAME),
        (_, Dim::Fixed(1 | -1)) | (Dim::Fixed(0), _) => return Ok(Dim::Fixed(0)),
        _ => {}
    }
    if poly_of(arena, a)?.divided_exactly(&poly_of(arena, b)?).is_some() {
        return Ok(Dim::Fixed(0));
    }
    arena.int(Expr::Mod(spelling, a, b))
}

/// Which of several values is taken.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Extreme {
    Max,
    Min,
}

pub(super) fn extreme<A: Arena>(arena: &mut A, which: Extreme, dims: &[Dim]) -> Made {
    let mut flat: Vec<Dim> = Vec::new();
    for dim in dims {
        match (which, expr_of(arena, *dim)?) {
            (Extreme::Max, Some(Expr::Max(inner))) | (Extreme::Min, Some(Expr::Min(inner))) => {
                flat.extend(inner.iter())
            }
            _ => flat.push(*dim),
        }
    }
    flat.sort_unstable();
    flat.dedup();
    // Numbers sort first, by value: one of them is enough.
    let numbers = flat.partition_point(|dim| dim.fixed().is_some());
    let drop = match which {
        Extreme::Max => 0..numbers.saturating_sub(1),
        Extreme::Min => numbers.min(1)..numbers,
    };
    flat.drain(drop);
    match flat.as_slice() {
        [] => Err(SymError::ArgumentCount { name: "Max or Min".to_owned(), expected: "one or more", found: 0 }),
        [one] => Ok(*one),
        _ => {
            let dims = flat.into_boxed_slice();
            arena.int(if which == Extreme::Max { Expr::Max(dims) } else { Expr::Min(dims) })
        }
    }
}

pub(super) fn bitwise<A: Arena>(arena: &mut A, operator: BitOperator, a: Dim, b: Dim) -> Made {
    match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => Ok(Dim::Fixed(bits(operator, x, y))),
        _ => arena.int(Expr::Bitwise(operator, a, b)),
    }
}

pub(super) fn bits(operator: BitOperator, x: i64, y: i64) -> i64 {
    match operator {
        BitOperator::And => x & y,
        BitOperator::Or => x | y,
        BitOperator::Xor => x ^ y,
    }
}

/// `a << b`: what PyTorch makes of it, `a * 2**b`.
pub(super) fn shift_left<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    let factor = power(arena, Dim::Fixed(2), b)?;
    mul(arena, a, factor)
}

/// `a >> b`: what PyTorch makes of it, `a // 2**b`.
pub(super) fn shift_right<A: Arena>(arena: &mut A, a: Dim, b: Dim) -> Made {
    let divisor = power(arena, Dim::Fixed(2), b)?;
    floordiv(arena, a, divisor)
}

fn expr_of<A: Arena>(arena: &A, dim: Dim) -> Result<Option<&Expr>, SymError> {
    match dim {
        Dim::Fixed(_) => Ok(None),
        Dim::Expr(id) => arena.expr_or_err(id).map(Some),
    }
}

fn fixed(value: Option<i64>, operation: &'static str) -> Made {
    value.map(Dim::Fixed).ok_or(SymError::Overflow { operation })
}
