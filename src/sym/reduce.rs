//! A normal form for deciding: further reduced than what is kept and printed, since it may use the ranges.
//!
//! Promises: the result has the same value for all bindings in the ranges under which the expression is defined. A remainder becomes
//! `x - d*(x // d)`; what the divisor divides leaves a quotient; what has one value only becomes it; an operand of `Max` or `Min` that is
//! never taken is dropped.

use super::arith::{self, Extreme};
use super::error::SymError;
use super::expr::{Dim, Expr, ExprId};
use super::poly::{MAX_TERMS, Poly};
use super::store::Arena;
use super::tighten::Prover;

type Made<T> = Result<T, SymError>;

impl Prover<'_> {
    /// The normal form; `None` where it would get too large.
    pub(super) fn reduced(&mut self, dim: Dim) -> Option<Dim> {
        self.reduce(dim).ok()
    }

    fn reduce(&mut self, dim: Dim) -> Made<Dim> {
        let Dim::Expr(id) = dim else { return Ok(dim) };
        if let Some(done) = self.reduced.get(&id) {
            return Ok(*done);
        }
        let built = match self.arena.expr_or_err(id)?.clone() {
            Expr::Poly(poly) => self.reduce_poly(&poly)?,
            expr => self.reduce_atom(id, &expr)?,
        };
        self.reduced.insert(id, built);
        Ok(built)
    }

    fn reduce_poly(&mut self, poly: &Poly) -> Made<Dim> {
        let mut sum = Poly::default();
        for (monomial, value) in poly.terms() {
            let mut term = Poly::constant(value);
            for (atom, power) in monomial.factors() {
                let built = self.reduce(Dim::Expr(atom))?;
                term = term.times(&arith::poly_of(&self.arena, built)?.raised(power)?)?;
            }
            sum = sum.plus(&term)?;
        }
        arith::from_poly(&mut self.arena, sum)
    }

    fn reduce_atom(&mut self, id: ExprId, expr: &Expr) -> Made<Dim> {
        if let Some(value) = self.range_of(Dim::Expr(id)).single() {
            return Ok(Dim::Fixed(value));
        }
        match expr {
            Expr::FloorDiv(a, b) => {
                let (a, b) = (self.reduce(*a)?, self.reduce(*b)?);
                self.quotient(a, b)
            }
            Expr::Mod(_, a, b) => {
                let (a, b) = (self.reduce(*a)?, self.reduce(*b)?);
                let quotient = self.quotient(a, b)?;
                let product = arith::mul(&mut self.arena, b, quotient)?;
                arith::sub(&mut self.arena, a, product)
            }
            Expr::Power(a, b) => {
                let (a, b) = (self.reduce(*a)?, self.reduce(*b)?);
                arith::power(&mut self.arena, a, b)
            }
            Expr::Max(dims) => self.extreme(Extreme::Max, dims),
            Expr::Min(dims) => self.extreme(Extreme::Min, dims),
            _ => Ok(Dim::Expr(id)),
        }
    }

    /// `a // b`, with every multiple of `b` taken out of `a`.
    fn quotient(&mut self, a: Dim, b: Dim) -> Made<Dim> {
        let (base, divisor) = (arith::poly_of(&self.arena, a)?, arith::poly_of(&self.arena, b)?);
        let (whole, rest) = divide(&base, &divisor)?;
        let whole = arith::from_poly(&mut self.arena, whole)?;
        let rest = arith::from_poly(&mut self.arena, rest)?;
        let mut quotient = arith::floordiv(&mut self.arena, rest, b)?;
        if let Dim::Expr(id) = quotient
            && let Some(Expr::FloorDiv(Dim::Expr(inner), outer)) = self.arena.expr(id).cloned()
            && let Some(Expr::FloorDiv(x, y)) = self.arena.expr(inner).cloned()
            && self.range_of(outer).at_least(1)
        {
            let product = arith::mul(&mut self.arena, y, outer)?;
            quotient = arith::floordiv(&mut self.arena, x, product)?;
        }
        if let Some(value) = self.range_of(quotient).single() {
            quotient = Dim::Fixed(value);
        }
        arith::add(&mut self.arena, whole, quotient)
    }

    fn extreme(&mut self, which: Extreme, dims: &[Dim]) -> Made<Dim> {
        let mut kept: Vec<Dim> = Vec::new();
        for dim in dims {
            let dim = self.reduce(*dim)?;
            if kept.iter().any(|other| self.dominates(which, *other, dim)) {
                continue;
            }
            let mut others = Vec::new();
            for other in kept {
                if !self.dominates(which, dim, other) {
                    others.push(other);
                }
            }
            others.push(dim);
            kept = others;
        }
        arith::extreme(&mut self.arena, which, &kept)
    }

    /// Whether `a` is always at least `b` (for `Min`: at most).
    fn dominates(&mut self, which: Extreme, a: Dim, b: Dim) -> bool {
        let (Some(a), Some(b)) = (self.poly(a), self.poly(b)) else { return false };
        let gap = if which == Extreme::Max { a.minus(&b) } else { b.minus(&a) };
        gap.is_ok_and(|gap| self.bounds(&gap).at_least(0))
    }
}

/// `base == divisor * quotient + rest`, where no term of the rest is a multiple of the divisor's first term; for a number, with
/// coefficients from 0 to the number less 1.
fn divide(base: &Poly, divisor: &Poly) -> Made<(Poly, Poly)> {
    let Some((lead, number)) = divisor.terms().next() else { return Ok((Poly::default(), base.clone())) };
    let mut left = base.clone();
    let mut quotient = Poly::default();
    let mut rest = Poly::default();
    for _ in 0..MAX_TERMS.saturating_mul(4) {
        let Some((first, others)) = left.split_first() else { return Ok((quotient, rest)) };
        let step = first.quotient_term(lead, number).filter(|step| !step.is_zero());
        match step {
            Some(step) => {
                left = left.minus(&divisor.times(&step)?)?;
                quotient = quotient.plus(&step)?;
            }
            None => {
                rest = rest.plus(&first)?;
                left = others;
            }
        }
    }
    Ok((Poly::default(), base.clone()))
}
