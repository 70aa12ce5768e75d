//! What is known of sizes for all values of the symbols in their ranges.
//!
//! Promise: `Some` only where it is proved for every binding in the ranges under which both sides are defined (no zero divisor, no
//! overflow); asking changes nothing and takes bounded work. Equality and order are read off bounds of the difference (`tighten`), if
//! need be in the normal form of `reduce`; divisibility off exact division and common divisors of coefficients.

use super::bounds;
use super::expr::{Comparison, Dim, Expr, ExprId, SymBool};
use super::poly::{Poly, gcd};
use super::range::Range;
use super::store::{Arena, Scratch, Symbols};
use super::tighten::Prover;

/// Of how many sizes each is compared with the others.
const MOST_TAKEN: usize = 8;

/// A relation of two sizes, as a pass may ask for it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// `a == b`.
    Equal,
    /// `a < b`.
    Less,
    /// `a` divides `b`: there is an integer `k` with `b == a * k`.
    Divides,
}

impl Symbols {
    /// A range that holds every value of a size; as tight as bounded work finds it.
    pub fn range_of(&self, dim: Dim) -> Range {
        match dim {
            Dim::Fixed(value) => Range::only(value),
            Dim::Expr(id) => match self.expr(id) {
                Some(Expr::Symbol(symbol)) => self.symbol_range(*symbol),
                _ => Prover::over(Scratch::over(self)).range_of(dim),
            },
        }
    }

    /// Whether a relation of two sizes holds: true or false for all values in the ranges, or `None`.
    pub fn known(&self, a: Dim, relation: Relation, b: Dim) -> Option<bool> {
        match relation {
            Relation::Equal => self.known_equal(a, b),
            Relation::Less => self.known_less(a, b),
            Relation::Divides => self.known_divides(a, b),
        }
    }

    /// Whether two sizes are equal: [`Symbols::known`] with [`Relation::Equal`].
    pub fn equal(&self, a: Dim, b: Dim) -> Option<bool> {
        self.known_equal(a, b)
    }

    /// Whether a size is one, as broadcasting asks.
    pub fn is_one(&self, a: Dim) -> Option<bool> {
        self.known_equal(a, Dim::Fixed(1))
    }

    /// Whether a size is zero.
    pub fn is_zero(&self, a: Dim) -> Option<bool> {
        self.known_equal(a, Dim::Fixed(0))
    }

    /// Whether `a <= b`.
    pub fn at_most(&self, a: Dim, b: Dim) -> Option<bool> {
        self.known_less(b, a).map(|less| !less)
    }

    /// A size in which the greater, or the lesser, of several is the one that it is known always to be; what stands within others is left as it is.
    pub fn taken(&mut self, dim: Dim) -> Dim {
        let Dim::Expr(id) = dim else { return dim };
        let Some(Expr::Poly(poly)) = self.expr(id) else { return self.lead_of(dim) };
        let is_choice = |atom: ExprId| matches!(self.expr(atom), Some(Expr::Max(_) | Expr::Min(_)));
        if !poly.terms().any(|(monomial, _)| monomial.factors().any(|(atom, _)| is_choice(atom))) {
            return dim;
        }
        let terms: Vec<(Vec<(ExprId, u32)>, i64)> = poly.terms().map(|(m, by)| (m.factors().collect(), by)).collect();
        self.sum_of_taken(&terms).unwrap_or(dim)
    }

    fn sum_of_taken(&mut self, terms: &[(Vec<(ExprId, u32)>, i64)]) -> Option<Dim> {
        let mut sum = Dim::Fixed(0);
        for (factors, by) in terms {
            let mut term = Dim::Fixed(*by);
            for (atom, power) in factors {
                let one = self.lead_of(Dim::Expr(*atom));
                for _ in 0..*power {
                    term = self.mul(term, one).ok()?;
                }
            }
            sum = self.add(sum, term).ok()?;
        }
        Some(sum)
    }

    /// The one of several of which the greatest, or the least, always is that.
    fn lead_of(&self, dim: Dim) -> Dim {
        let Dim::Expr(id) = dim else { return dim };
        let (dims, greatest) = match self.expr(id) {
            Some(Expr::Max(dims)) => (dims, true),
            Some(Expr::Min(dims)) => (dims, false),
            _ => return dim,
        };
        let leads = |one: &&Dim| {
            let first = |a, b| if greatest { self.at_most(b, a) } else { self.at_most(a, b) };
            dims.iter().all(|other| first(**one, *other) == Some(true))
        };
        if dims.len() > MOST_TAKEN { dim } else { dims.iter().find(leads).copied().unwrap_or(dim) }
    }

    /// Whether a symbolic boolean is true, or false, for all values in the ranges.
    pub fn decide(&self, truth: SymBool) -> Option<bool> {
        match self.expr(truth.0)? {
            Expr::BoolConst(value) => Some(*value),
            Expr::Compare(comparison, a, b) => self.known_comparison(*comparison, *a, *b),
            Expr::Not(operand) => self.decide(*operand).map(|value| !value),
            Expr::And(operands) => self.decide_all(operands, false),
            Expr::Or(operands) => self.decide_all(operands, true),
            _ => None,
        }
    }

    /// Whether a comparison holds for all values in the ranges.
    pub fn known_comparison(&self, comparison: Comparison, a: Dim, b: Dim) -> Option<bool> {
        match comparison {
            Comparison::Equal => self.known_equal(a, b),
            Comparison::NotEqual => self.known_equal(a, b).map(|value| !value),
            Comparison::Less => self.known_less(a, b),
            Comparison::LessOrEqual => self.known_less(b, a).map(|value| !value),
            Comparison::Greater => self.known_less(b, a),
            Comparison::GreaterOrEqual => self.known_less(a, b).map(|value| !value),
        }
    }

    /// `and` (`decisive` false) or `or`: one operand that is `decisive` decides, else all must be known.
    fn decide_all(&self, operands: &[SymBool], decisive: bool) -> Option<bool> {
        let mut open = false;
        for operand in operands {
            match self.decide(*operand) {
                Some(value) if value == decisive => return Some(decisive),
                Some(_) => {}
                None => open = true,
            }
        }
        (!open).then_some(!decisive)
    }

    fn known_equal(&self, a: Dim, b: Dim) -> Option<bool> {
        match (a, b) {
            _ if a == b => Some(true),
            (Dim::Fixed(_), Dim::Fixed(_)) => Some(false),
            _ => match self.about_difference(a, b, Comparison::Equal) {
                None if super::residues::are_equal(self, a, b) => Some(true),
                found => found,
            },
        }
    }

    fn known_less(&self, a: Dim, b: Dim) -> Option<bool> {
        match (a, b) {
            _ if a == b => Some(false),
            (Dim::Fixed(a), Dim::Fixed(b)) => Some(a < b),
            _ => self.about_difference(a, b, Comparison::Less),
        }
    }

    /// Compares `a - b` with zero: as it stands, then in normal form.
    fn about_difference(&self, a: Dim, b: Dim, comparison: Comparison) -> Option<bool> {
        let (low, high) = (self.quick_range(a), self.quick_range(b));
        if let Some(decided) = bounds::compare(comparison, &low, &high) {
            return Some(decided);
        }
        let mut prover = Prover::over(Scratch::over(self));
        let difference = prover.poly(a)?.minus(&prover.poly(b)?).ok()?;
        if let Some(decided) = with_zero(&mut prover, &difference, comparison) {
            return Some(decided);
        }
        let (a, b) = (prover.reduced(a)?, prover.reduced(b)?);
        let reduced = prover.poly(a)?.minus(&prover.poly(b)?).ok()?;
        if reduced == difference {
            return None;
        }
        with_zero(&mut prover, &reduced, comparison)
    }

    fn known_divides(&self, a: Dim, b: Dim) -> Option<bool> {
        match (a, b) {
            _ if a == b => return Some(true),
            (_, Dim::Fixed(0)) | (Dim::Fixed(1 | -1), _) => return Some(true),
            (Dim::Fixed(0), _) => return self.known_equal(b, Dim::Fixed(0)),
            _ => {}
        }
        let mut prover = Prover::over(Scratch::over(self));
        let (divisor, multiple) = (prover.poly(a)?, prover.poly(b)?);
        if let Some(decided) = divides(&mut prover, &divisor, &multiple) {
            return Some(decided);
        }
        let (a, b) = (prover.reduced(a)?, prover.reduced(b)?);
        let (divisor, multiple) = (prover.poly(a)?, prover.poly(b)?);
        divides(&mut prover, &divisor, &multiple)
    }
}

fn with_zero(prover: &mut Prover<'_>, difference: &Poly, comparison: Comparison) -> Option<bool> {
    if comparison == Comparison::Equal && never_zero(difference) {
        return Some(false);
    }
    bounds::compare(comparison, &prover.bounds(difference), &Range::only(0))
}

/// Whether a common divisor of all other coefficients does not divide the constant term.
fn never_zero(poly: &Poly) -> bool {
    let (others, _) = poly.partition(|monomial, _| !monomial.is_one());
    let divisor = others.content();
    divisor > 1 && poly.constant_term().unsigned_abs().checked_rem(divisor) != Some(0)
}

fn divides(prover: &mut Prover<'_>, divisor: &Poly, multiple: &Poly) -> Option<bool> {
    if multiple.is_zero() || (!divisor.is_zero() && multiple.divided_exactly(divisor).is_some()) {
        return Some(true);
    }
    if let Some(number) = divisor.as_constant() {
        let (others, _) = multiple.partition(|monomial, _| !monomial.is_one());
        let common = gcd(others.content(), number.unsigned_abs());
        if common > 1 && multiple.constant_term().unsigned_abs().checked_rem(common) != Some(0) {
            return Some(false);
        }
    }
    // Nothing between 1 and the divisor less 1 is a multiple of it.
    let gap = divisor.minus(multiple).ok()?;
    (prover.bounds(multiple).at_least(1) && prover.bounds(&gap).at_least(1)).then_some(false)
}
