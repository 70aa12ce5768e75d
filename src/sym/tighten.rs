//! Bounds of polynomials that are tighter than term by term.
//!
//! Each tactic gives a range that holds every value, and all are intersected:
//! * **shift**: every atom is written as its least value plus something, or its greatest minus something: `s*t - s` is `s'*t' + t'` then;
//! * **quotients**: for `q = x // d` with `d > 0`, `d*q` is `x - r` with `0 <= r < d`: bounds of `d*p` give those of `p`;
//! * **remainders**: `x % d` is `x - d*(x // d)`;
//! * **choices**: `Max`, `Min` and `Where` are one of their operands, and `Max` is at least each of them.
//!
//! Work is bounded by [`FUEL`] steps a question; without fuel the quick bounds are the answer.

use rustc_hash::FxHashMap;

use super::arith;
use super::bounds;
use super::error::SymError;
use super::expr::{Dim, Expr, ExprId};
use super::poly::{Monomial, Poly};
use super::range::{Range, floor_div};
use super::store::{Arena, Scratch};

/// Steps of one question.
const FUEL: u32 = 120;
/// How deep tactics go into the results of tactics.
const LEVELS: u32 = 3;
/// Of so few atoms every combination of shifts is tried.
const SHIFTED_EACH_WAY: usize = 3;
/// Tactics multiply terms: a longer polynomial is bounded term by term only.
const TERMS: usize = 48;

/// Decides over a scratch pad; see the module and `reduce`.
pub(super) struct Prover<'a> {
    pub(super) arena: Scratch<'a>,
    fuel: u32,
    levels: u32,
    /// Atoms whose tighter range is found, or being looked for.
    ranges: FxHashMap<ExprId, Range>,
    pub(super) reduced: FxHashMap<ExprId, Dim>,
}

impl<'a> Prover<'a> {
    pub(super) fn over(arena: Scratch<'a>) -> Prover<'a> {
        Prover { arena, fuel: FUEL, levels: LEVELS, ranges: FxHashMap::default(), reduced: FxHashMap::default() }
    }

    pub(super) fn poly(&self, dim: Dim) -> Option<Poly> {
        arith::poly_of(&self.arena, dim).ok()
    }

    pub(super) fn range_of(&mut self, dim: Dim) -> Range {
        match self.poly(dim) {
            Some(poly) => self.bounds(&poly),
            None => Range::ALL,
        }
    }

    /// Whether there is work left; takes a step of it.
    fn step(&mut self) -> bool {
        let left = self.fuel.checked_sub(1);
        self.fuel = left.unwrap_or(0);
        left.is_some()
    }

    /// A range that holds every value of the polynomial.
    pub(super) fn bounds(&mut self, poly: &Poly) -> Range {
        if let Some(value) = poly.as_constant() {
            return Range::only(value);
        }
        let atoms = poly.atoms();
        for atom in &atoms {
            self.atom_range(*atom);
        }
        let mut range = self.term_by_term(poly);
        if range.single().is_some() || self.levels == 0 || poly.terms().count() > TERMS || !self.step() {
            return range;
        }
        self.levels = self.levels.saturating_sub(1);
        // A tactic that overflows says nothing.
        range = meet(range, self.shifted(poly, &atoms).unwrap_or(Range::ALL));
        for atom in atoms {
            if range.single().is_some() {
                break;
            }
            range = meet(range, self.opened(poly, atom).ok().flatten().unwrap_or(Range::ALL));
        }
        self.levels = self.levels.saturating_add(1);
        range
    }

    /// The range of an atom, from tighter ranges of its operands.
    fn atom_range(&mut self, atom: ExprId) -> Range {
        if let Some(range) = self.ranges.get(&atom) {
            return *range;
        }
        let quick = self.arena.facts(atom).range;
        // Set first: while it is being looked for, the quick one is right.
        self.ranges.insert(atom, quick);
        let tighter = match self.arena.expr(atom).cloned() {
            Some(Expr::FloorDiv(a, b)) if self.step() => self.range_of(a).floor_divided(&self.range_of(b)),
            Some(Expr::Mod(_, a, b)) if self.step() => self.range_of(a).remainder(&self.range_of(b)),
            Some(Expr::Max(dims)) if self.step() => self.fold(&dims, Range::maximum),
            Some(Expr::Min(dims)) if self.step() => self.fold(&dims, Range::minimum),
            _ => quick,
        };
        let range = meet(quick, tighter);
        self.ranges.insert(atom, range);
        range
    }

    fn fold(&mut self, dims: &[Dim], combine: fn(&Range, &Range) -> Range) -> Range {
        let ranges: Vec<Range> = dims.iter().map(|dim| self.range_of(*dim)).collect();
        ranges.into_iter().reduce(|sum, range| combine(&sum, &range)).unwrap_or(Range::ALL)
    }

    fn term_by_term(&self, poly: &Poly) -> Range {
        bounds::of_poly(|atom| self.known_range(atom), poly)
    }

    fn known_range(&self, atom: ExprId) -> Range {
        self.ranges.get(&atom).copied().unwrap_or_else(|| self.arena.facts(atom).range)
    }

    /// The shift tactic; a polynomial of degree one gains nothing by it.
    fn shifted(&mut self, poly: &Poly, atoms: &[ExprId]) -> Result<Range, SymError> {
        let mut range = Range::ALL;
        if poly.terms().all(|(monomial, _)| monomial.factors().map(|(_, power)| u64::from(power)).sum::<u64>() <= 1) {
            return Ok(range);
        }
        let choices: u32 = if atoms.len() <= SHIFTED_EACH_WAY {
            1u32.wrapping_shl(u32::try_from(atoms.len()).unwrap_or(0))
        } else {
            2
        };
        for choice in 0..choices {
            if !self.step() {
                break;
            }
            let from_top = |index: usize| {
                if atoms.len() <= SHIFTED_EACH_WAY {
                    choice.wrapping_shr(u32::try_from(index).unwrap_or(0)) & 1 == 1
                } else {
                    choice == 1
                }
            };
            range = meet(range, self.shifted_by(poly, atoms, from_top)?);
        }
        Ok(range)
    }

    fn shifted_by(&self, poly: &Poly, atoms: &[ExprId], from_top: impl Fn(usize) -> bool) -> Result<Range, SymError> {
        let mut shifted = poly.clone();
        let mut ranges: FxHashMap<ExprId, Range> = FxHashMap::default();
        for (index, atom) in atoms.iter().enumerate() {
            let range = self.known_range(*atom);
            let width = range.min.zip(range.max).and_then(|(min, max)| max.checked_sub(min));
            let by = match (range.min, range.max) {
                (_, Some(max)) if from_top(index) => Poly::constant(max).minus(&Poly::atom(*atom))?,
                (Some(min), _) if !from_top(index) => Poly::atom(*atom).plus(&Poly::constant(min))?,
                _ => continue,
            };
            shifted = replace(&shifted, *atom, &by)?;
            ranges.insert(*atom, Range { min: Some(0), max: width });
        }
        let range = |atom: ExprId| ranges.get(&atom).copied().unwrap_or_else(|| self.known_range(atom));
        Ok(bounds::of_poly(range, &shifted))
    }

    /// The tactics that look into one atom.
    fn opened(&mut self, poly: &Poly, atom: ExprId) -> Result<Option<Range>, SymError> {
        if !self.step() {
            return Ok(None);
        }
        match self.arena.expr(atom).cloned() {
            Some(Expr::FloorDiv(a, b)) => self.without_quotient(poly, atom, a, b),
            Some(Expr::Mod(_, a, b)) => {
                let quotient = arith::floordiv(&mut self.arena, a, b)?;
                let product = arith::mul(&mut self.arena, b, quotient)?;
                let instead = arith::sub(&mut self.arena, a, product)?;
                let instead = arith::poly_of(&self.arena, instead)?;
                Ok(Some(self.bounds(&replace(poly, atom, &instead)?)))
            }
            Some(Expr::Max(dims)) => self.without_choice(poly, atom, &dims, Some(true)).map(Some),
            Some(Expr::Min(dims)) => self.without_choice(poly, atom, &dims, Some(false)).map(Some),
            Some(Expr::Where(_, a, b)) => self.without_choice(poly, atom, &[a, b], None).map(Some),
            _ => Ok(None),
        }
    }

    /// `greatest` says whether the atom is the greatest of its operands, the least, or just one of them.
    fn without_choice(
        &mut self,
        poly: &Poly,
        atom: ExprId,
        dims: &[Dim],
        greatest: Option<bool>,
    ) -> Result<Range, SymError> {
        let mut each = Vec::new();
        for dim in dims {
            let instead = arith::poly_of(&self.arena, *dim)?;
            let replaced = replace(poly, atom, &instead)?;
            each.push(self.bounds(&replaced));
        }
        let mut range = each.iter().copied().reduce(|a, b| a.union(&b)).unwrap_or(Range::ALL);
        let Some((factor, _)) = linear(poly, atom) else { return Ok(range) };
        let factor = self.bounds(&factor);
        let least = each.iter().filter_map(|range| range.min).max();
        let most = each.iter().filter_map(|range| range.max).min();
        let grows = match greatest {
            Some(true) => (factor.at_least(0), factor.at_most(0)),
            Some(false) => (factor.at_most(0), factor.at_least(0)),
            None => (false, false),
        };
        if grows.0 {
            // Never below what any one operand gives.
            range = meet(range, Range { min: least, max: None });
        }
        if grows.1 {
            range = meet(range, Range { min: None, max: most });
        }
        Ok(range)
    }

    /// `poly` is `factor * q + rest` with `q = a // b`.
    fn without_quotient(&mut self, poly: &Poly, atom: ExprId, a: Dim, b: Dim) -> Result<Option<Range>, SymError> {
        let Some((factor, rest)) = linear(poly, atom) else { return Ok(None) };
        let base = arith::poly_of(&self.arena, a)?;
        let divisor = arith::poly_of(&self.arena, b)?;
        let scaled = factor.times(&base)?.plus(&divisor.times(&rest)?)?;
        let factors = self.bounds(&factor);
        if let Some(number) = divisor.as_constant().filter(|number| *number > 0) {
            let cut = factors.times(&Range::new(0, number.saturating_sub(1)));
            let range = self.bounds(&scaled).plus(&cut.negated());
            let up =
                |value: i64| value.checked_neg().and_then(|value| floor_div(value, number)).and_then(i64::checked_neg);
            return Ok(Some(Range {
                min: range.min.and_then(up),
                max: range.max.and_then(|max| floor_div(max, number)),
            }));
        }
        if !self.bounds(&divisor).at_least(1) {
            return Ok(None);
        }
        // d*p lies between these two; only the sign of p follows.
        let cut = scaled.minus(&factor.times(&divisor.minus(&Poly::constant(1))?)?)?;
        let (low, high) = if factors.at_least(0) {
            (cut, scaled)
        } else if factors.at_most(0) {
            (scaled, cut)
        } else {
            return Ok(None);
        };
        let min = if self.bounds(&low).at_least(1) {
            Some(1)
        } else {
            let above = low.plus(&divisor)?;
            self.bounds(&above).at_least(1).then_some(0)
        };
        let max = if self.bounds(&high).at_most(-1) {
            Some(-1)
        } else {
            let below = high.minus(&divisor)?;
            self.bounds(&below).at_most(-1).then_some(0)
        };
        Ok(Some(Range { min, max }))
    }
}

/// The values in both. Nothing in both means that the expression is nowhere defined: then nothing is claimed of it.
fn meet(a: Range, b: Range) -> Range {
    let both = a.intersect(&b);
    if both.is_empty() { Range::ALL } else { both }
}

/// `factor` and `rest` with `poly == factor * atom + rest`, if the atom occurs in no higher power.
fn linear(poly: &Poly, atom: ExprId) -> Option<(Poly, Poly)> {
    if poly.terms().any(|(monomial, _)| monomial.power_of(atom) > 1) {
        return None;
    }
    let (with, rest) = poly.partition(|monomial, _| monomial.power_of(atom) == 1);
    let factor = with.divided_by_term(&Monomial::power(atom, 1), 1)?;
    Some((factor, rest))
}

/// The polynomial with another in the place of an atom.
pub(super) fn replace(poly: &Poly, atom: ExprId, instead: &Poly) -> Result<Poly, SymError> {
    let (with, mut sum) = poly.partition(|monomial, _| monomial.power_of(atom) > 0);
    for (monomial, value) in with.terms() {
        let others = Poly::collect([(monomial.without(atom), value)])?;
        sum = sum.plus(&others.times(&instead.raised(monomial.power_of(atom))?)?)?;
    }
    Ok(sum)
}
