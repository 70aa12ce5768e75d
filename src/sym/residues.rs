//! Sizes with quotients and remainders of one symbol, by what the symbol leaves of a division.
//!
//! With `s = L*q + r`, where L is a multiple of every divisor, each quotient and each remainder of an expression of `s` is a number times `q` and a
//! number, so that for one `r` the whole is `a*q + b`: two expressions that are that for every `r` are one for every `s`. `(8 - s % 8) % 8` is
//! `(s + 7) // 8 * 8 - s` so.
//!
//! Promise: `true` was shown for all values of the symbol. Work is bounded: few divisors, none of them large.

use super::expr::{Dim, Expr, SymbolId};
use super::poly::gcd;
use super::range::{floor_div, floor_mod};
use super::store::{Arena, Symbols};

/// How large the common multiple may be.
const MOST: i64 = 1024;
/// How deep expressions may stand in one another.
const DEPTH: usize = 12;
/// How many quotients and remainders an expression may hold.
const DIVISORS: usize = 8;

/// Returns whether two sizes are equal whatever a symbol leaves of a division.
pub(super) fn are_equal(all: &Symbols, a: Dim, b: Dim) -> bool {
    let mut seen = Divisions { symbol: None, count: 0 };
    let each = seen.of(all, a, DEPTH).zip(seen.of(all, b, DEPTH));
    let by = each.and_then(|(a, b)| common(a, b)).filter(|_| seen.count > 0);
    let (Some(symbol), Some(by)) = (seen.symbol, by) else { return false };
    (0..by).all(|left| {
        let at = Class { symbol, by, left };
        at.value(all, a, DEPTH).is_some_and(|x| at.value(all, b, DEPTH) == Some(x))
    })
}

/// Returns a number that both divide, if it is not too large.
fn common(a: i64, b: i64) -> Option<i64> {
    let divisor = i64::try_from(gcd(a.unsigned_abs(), b.unsigned_abs())).ok()?;
    a.checked_div(divisor)?.checked_mul(b).filter(|m| *m <= MOST)
}

/// What was met of an expression: its symbol, and how many divisions.
struct Divisions {
    symbol: Option<SymbolId>,
    count: usize,
}

impl Divisions {
    /// Returns a multiple of all divisors, of one within another their product.
    fn of(&mut self, all: &Symbols, dim: Dim, depth: usize) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let Dim::Expr(id) = dim else { return Some(1) };
        match all.expr(id)? {
            Expr::Symbol(symbol) => (*self.symbol.get_or_insert(*symbol) == *symbol).then_some(1),
            Expr::Poly(poly) => {
                let each = poly.atoms().into_iter();
                each.map(|atom| self.of(all, Dim::Expr(atom), depth)).try_fold(1, |m, n| common(m, n?))
            }
            Expr::FloorDiv(x, Dim::Fixed(n)) | Expr::Mod(_, x, Dim::Fixed(n)) if *n > 0 => {
                self.count = self.count.checked_add(1).filter(|n| *n <= DIVISORS)?;
                self.of(all, *x, depth)?.checked_mul(*n).filter(|m| *m <= MOST)
            }
            _ => None,
        }
    }
}

/// All values of a symbol that leave one number.
struct Class {
    symbol: SymbolId,
    by: i64,
    left: i64,
}

impl Class {
    /// Returns how often the quotient of the symbol goes into an expression, and what is left.
    fn value(&self, all: &Symbols, dim: Dim, depth: usize) -> Option<(i64, i64)> {
        let depth = depth.checked_sub(1)?;
        let id = match dim {
            Dim::Fixed(v) => return Some((0, v)),
            Dim::Expr(id) => id,
        };
        match all.expr(id)? {
            Expr::Symbol(symbol) => (*symbol == self.symbol).then_some((self.by, self.left)),
            Expr::Poly(poly) => {
                let mut total = (0_i64, 0_i64);
                for (monomial, number) in poly.terms() {
                    let mut product = (0_i64, number);
                    for (atom, power) in monomial.factors() {
                        let one = self.value(all, Dim::Expr(atom), depth)?;
                        for _ in 0..power {
                            product = multiplied(product, one)?;
                        }
                    }
                    total = (total.0.checked_add(product.0)?, total.1.checked_add(product.1)?);
                }
                Some(total)
            }
            Expr::FloorDiv(x, Dim::Fixed(n)) => {
                let (often, left) = self.value(all, *x, depth)?;
                (floor_mod(often, *n)? == 0).then_some((floor_div(often, *n)?, floor_div(left, *n)?))
            }
            Expr::Mod(_, x, Dim::Fixed(n)) => {
                let (often, left) = self.value(all, *x, depth)?;
                (floor_mod(often, *n)? == 0).then_some((0, floor_mod(left, *n)?))
            }
            _ => None,
        }
    }
}

/// A product that is no square of the quotient.
fn multiplied(a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    let often = a.0.checked_mul(b.1)?.checked_add(b.0.checked_mul(a.1)?)?;
    (a.0 == 0 || b.0 == 0).then_some((often, a.1.checked_mul(b.1)?))
}

#[cfg(test)]
mod tests {
    use super::super::{Range, Relation, Symbols};
    use super::*;

    #[test]
    fn padding_to_a_multiple_is_one_number_however_it_is_written() {
        let mut all = Symbols::new();
        let s = all.symbol("s0");
        all.set_range("s0", Range::new(Some(1), Some(64))).unwrap();
        let eight = Dim::Fixed(8);
        let left = all.modulo(s, eight).unwrap();
        let short = all.sub(eight, left).unwrap();
        let first = all.modulo(short, eight).unwrap();
        let more = all.add(s, Dim::Fixed(7)).unwrap();
        let blocks = all.floordiv(more, eight).unwrap();
        let whole = all.mul(blocks, eight).unwrap();
        let second = all.sub(whole, s).unwrap();
        assert_eq!(all.known(first, Relation::Equal, second), Some(true));
        // A block too many where nothing is left.
        assert_eq!(all.known(short, Relation::Equal, second), None);
    }
}
