//! Polynomials with 64-bit coefficients over atoms (interned expressions that are not polynomials).
//!
//! Promises: terms are sorted (greatest monomial first, lexicographically), have distinct monomials and no zero coefficient, so equal
//! polynomials are equal values; at most [`MAX_TERMS`] terms, at most [`MAX_DEGREE`] factors each. Knows atoms by id only.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::error::SymError;
use super::expr::ExprId;
use super::range::floor_div;

/// More terms than sizes ever have.
pub(super) const MAX_TERMS: usize = 256;
/// More factors in one term than sizes ever have.
pub(super) const MAX_DEGREE: u32 = 64;

/// A product of atoms: each with its power (never 0), by rising id.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Monomial(SmallVec<[(ExprId, u32); 2]>);

impl Monomial {
    pub(super) fn one() -> Monomial {
        Monomial::default()
    }

    pub(super) fn power(atom: ExprId, power: u32) -> Monomial {
        if power == 0 { Monomial::one() } else { Monomial(SmallVec::from_slice(&[(atom, power)])) }
    }

    pub(super) fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn factors(&self) -> impl Iterator<Item = (ExprId, u32)> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn power_of(&self, atom: ExprId) -> u32 {
        self.factors().find(|(id, _)| *id == atom).map_or(0, |(_, power)| power)
    }

    pub(super) fn without(&self, atom: ExprId) -> Monomial {
        Monomial(self.factors().filter(|(id, _)| *id != atom).collect())
    }

    pub(super) fn times(&self, other: &Monomial) -> Result<Monomial, SymError> {
        let mut powers: BTreeMap<ExprId, u32> = self.factors().collect();
        for (atom, power) in other.factors() {
            let entry = powers.entry(atom).or_insert(0);
            *entry = entry.saturating_add(power);
        }
        let degree = powers.values().fold(0u32, |sum, power| sum.saturating_add(*power));
        if degree > MAX_DEGREE {
            return Err(SymError::TooLarge {
                what: "factors in one product",
                limit: usize::try_from(MAX_DEGREE).unwrap_or(0),
            });
        }
        Ok(Monomial(powers.into_iter().collect()))
    }

    /// The quotient, if `divisor` divides.
    fn divided(&self, divisor: &Monomial) -> Option<Monomial> {
        let mut powers: BTreeMap<ExprId, u32> = self.factors().collect();
        for (atom, power) in divisor.factors() {
            let left = powers.get(&atom)?.checked_sub(power)?;
            if left == 0 {
                powers.remove(&atom);
            } else {
                powers.insert(atom, left);
            }
        }
        Some(Monomial(powers.into_iter().collect()))
    }

    fn common(&self, other: &Monomial) -> Monomial {
        Monomial(
            self.factors()
                .map(|(atom, power)| (atom, power.min(other.power_of(atom))))
                .filter(|(_, power)| *power > 0)
                .collect(),
        )
    }
}

impl Ord for Monomial {
    /// Lexicographic in the powers, the atom of least id first: an order that products keep, as exact division needs.
    fn cmp(&self, other: &Monomial) -> Ordering {
        let mut left = self.factors();
        let mut right = other.factors();
        loop {
            match (left.next(), right.next()) {
                (None, None) => return Ordering::Equal,
                (Some(_), None) => return Ordering::Greater,
                (None, Some(_)) => return Ordering::Less,
                (Some((a, p)), Some((b, q))) => {
                    let order = b.cmp(&a).then(p.cmp(&q));
                    if order.is_ne() {
                        return order;
                    }
                }
            }
        }
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A polynomial; see the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(super) struct Poly {
    terms: Vec<(Monomial, i64)>,
}

impl Poly {
    pub(super) fn constant(value: i64) -> Poly {
        Poly { terms: if value == 0 { Vec::new() } else { vec![(Monomial::one(), value)] } }
    }

    pub(super) fn atom(atom: ExprId) -> Poly {
        Poly { terms: vec![(Monomial::power(atom, 1), 1)] }
    }

    /// Adds up the given terms.
    pub(super) fn collect(terms: impl IntoIterator<Item = (Monomial, i64)>) -> Result<Poly, SymError> {
        let mut sum: BTreeMap<Monomial, i64> = BTreeMap::new();
        for (monomial, coefficient) in terms {
            let entry = sum.entry(monomial).or_insert(0);
            *entry = entry.checked_add(coefficient).ok_or(SymError::Overflow { operation: "a sum of terms" })?;
            if sum.len() > MAX_TERMS.saturating_mul(2) {
                return Err(too_many_terms());
            }
        }
        let terms: Vec<_> = sum.into_iter().rev().filter(|(_, coefficient)| *coefficient != 0).collect();
        if terms.len() > MAX_TERMS {
            return Err(too_many_terms());
        }
        Ok(Poly { terms })
    }

    pub(super) fn terms(&self) -> impl Iterator<Item = (&Monomial, i64)> {
        self.terms.iter().map(|(monomial, coefficient)| (monomial, *coefficient))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The number that it is, if it is one.
    pub(super) fn as_constant(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(monomial, value)] if monomial.is_one() => Some(*value),
            _ => None,
        }
    }

    /// The atom that it is, if it is one.
    pub(super) fn as_atom(&self) -> Option<ExprId> {
        match self.terms.as_slice() {
            [(monomial, 1)] => match monomial.0.as_slice() {
                [(atom, 1)] => Some(*atom),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn constant_term(&self) -> i64 {
        self.terms.last().filter(|(monomial, _)| monomial.is_one()).map_or(0, |(_, value)| *value)
    }

    /// The atoms, by rising id, each once.
    pub(super) fn atoms(&self) -> Vec<ExprId> {
        let mut atoms: Vec<ExprId> =
            self.terms.iter().flat_map(|(monomial, _)| monomial.factors().map(|(id, _)| id)).collect();
        atoms.sort_unstable();
        atoms.dedup();
        atoms
    }

    /// How many parts it would print as.
    pub(super) fn weight(&self) -> usize {
        self.terms.iter().fold(0, |sum, (monomial, _)| sum.saturating_add(monomial.0.len()).saturating_add(1))
    }

    pub(super) fn plus(&self, other: &Poly) -> Result<Poly, SymError> {
        Poly::collect(self.terms.iter().chain(&other.terms).cloned())
    }

    pub(super) fn minus(&self, other: &Poly) -> Result<Poly, SymError> {
        self.plus(&other.scaled(-1)?)
    }

    pub(super) fn scaled(&self, factor: i64) -> Result<Poly, SymError> {
        if factor == 0 {
            return Ok(Poly::default());
        }
        let scale = |(monomial, value): &(Monomial, i64)| {
            value
                .checked_mul(factor)
                .map(|value| (monomial.clone(), value))
                .ok_or(SymError::Overflow { operation: "a product" })
        };
        Ok(Poly { terms: self.terms.iter().map(scale).collect::<Result<_, _>>()? })
    }

    pub(super) fn times(&self, other: &Poly) -> Result<Poly, SymError> {
        let mut products = Vec::new();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let value = a.checked_mul(*b).ok_or(SymError::Overflow { operation: "a product" })?;
                products.push((left.times(right)?, value));
            }
        }
        Poly::collect(products)
    }

    pub(super) fn raised(&self, exponent: u32) -> Result<Poly, SymError> {
        if exponent > MAX_DEGREE && self.as_constant().is_none() {
            return Err(SymError::TooLarge {
                what: "factors in one product",
                limit: usize::try_from(MAX_DEGREE).unwrap_or(0),
            });
        }
        if let Some(value) = self.as_constant() {
            return value.checked_pow(exponent).map(Poly::constant).ok_or(SymError::Overflow { operation: "a power" });
        }
        (0..exponent).try_fold(Poly::constant(1), |product, _| product.times(self))
    }

    /// Keeps the terms for which `keep` holds, and gives the others as a second polynomial.
    pub(super) fn partition(&self, keep: impl Fn(&Monomial, i64) -> bool) -> (Poly, Poly) {
        let (kept, others) = self.terms.iter().cloned().partition(|(monomial, value)| keep(monomial, *value));
        (Poly { terms: kept }, Poly { terms: others })
    }

    /// The greatest positive integer that divides every coefficient; 0 of the zero polynomial.
    pub(super) fn content(&self) -> u64 {
        self.terms.iter().fold(0, |divisor, (_, value)| gcd(divisor, value.unsigned_abs()))
    }

    /// The greatest product of atoms that divides every term.
    pub(super) fn common_monomial(&self) -> Option<Monomial> {
        let mut monomials = self.terms.iter().map(|(monomial, _)| monomial);
        let first = monomials.next()?.clone();
        Some(monomials.fold(first, |common, monomial| common.common(monomial)))
    }

    /// Divides by what is known to divide every term; `None` where it does not.
    pub(super) fn divided_by_term(&self, divisor: &Monomial, number: i64) -> Option<Poly> {
        let divide = |(monomial, value): &(Monomial, i64)| {
            if value.checked_rem(number)? != 0 {
                return None;
            }
            Some((monomial.divided(divisor)?, value.checked_div(number)?))
        };
        Some(Poly { terms: self.terms.iter().map(divide).collect::<Option<_>>()? })
    }

    /// The first term and the others.
    pub(super) fn split_first(&self) -> Option<(Poly, Poly)> {
        let (first, others) = self.terms.split_first()?;
        Some((Poly { terms: vec![first.clone()] }, Poly { terms: others.to_vec() }))
    }

    /// Of a single term: the whole part of its quotient by another, rounded down in the coefficient.
    pub(super) fn quotient_term(&self, divisor: &Monomial, number: i64) -> Option<Poly> {
        let (monomial, value) = self.terms.first()?;
        Poly::collect([(monomial.divided(divisor)?, floor_div(*value, number)?)]).ok()
    }

    /// The quotient, if `divisor` divides this polynomial (with integer coefficients); `None` also where the search gets long.
    pub(super) fn divided_exactly(&self, divisor: &Poly) -> Option<Poly> {
        let (lead, number) = divisor.terms.first()?;
        if divisor.terms.len() == 1 {
            return self.divided_by_term(lead, *number);
        }
        let mut rest = self.clone();
        let mut quotient = Vec::new();
        while let Some((monomial, value)) = rest.terms.first() {
            if quotient.len() >= MAX_TERMS || value.checked_rem(*number)? != 0 {
                return None;
            }
            let step = Poly { terms: vec![(monomial.divided(lead)?, value.checked_div(*number)?)] };
            rest = rest.minus(&divisor.times(&step).ok()?).ok()?;
            quotient.extend(step.terms);
        }
        Poly::collect(quotient).ok()
    }

    pub(super) fn common_with(&self, other: &Poly) -> (i64, Monomial) {
        let number = i64::try_from(gcd(self.content(), other.content())).unwrap_or(1).max(1);
        let monomial = match (self.common_monomial(), other.common_monomial()) {
            (Some(a), Some(b)) => a.common(&b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Monomial::one(),
        };
        (number, monomial)
    }
}

fn too_many_terms() -> SymError {
    SymError::TooLarge { what: "terms", limit: MAX_TERMS }
}

/// Returns the greatest common divisor; of nothing, zero.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a.checked_rem(b).unwrap_or(0));
    }
    a
}
