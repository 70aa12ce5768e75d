//! Conditions on an index along a dimension that is summed over, as one condition and single places.
//!
//! ## What it says
//! `i + 1 >= 0` is `i >= 0`, or `i + 1 = 0`; what does not hold is 1 less what does. So the sum of what stands before a place is that of what stands
//! up to it, less it, and the sum of what stands behind is that of all less that of the others.
//!
//! ## When it is wrong
//! Sums are taken apart: over the reals, or in a ring.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::field::normal::Field;
use crate::rules::field::poly::Poly;
use crate::sym::Dim;

/// How far a condition may be from the one that it is written by.
const STEPS: i64 = 2;

impl Field<'_> {
    /// Whether a condition stands in any of these that an index along a summed dimension lies before, or behind, a place.
    pub(super) fn has_steps(e: &mut Elements, roots: &[ExprId]) -> bool {
        let all: Vec<ExprId> = roots.iter().flat_map(|r| e.below(*r)).collect();
        all.into_iter().any(|id| match e.expr(id).map(|x| x.form.clone()) {
            Some(Form::AtLeastZero(index)) => step_of(e, index).is_some(),
            _ => false,
        })
    }

    /// Returns a condition as a number: 1 where it holds.
    pub(super) fn stepped(&mut self, condition: ExprId) -> Option<Poly> {
        let one = Poly::number(1.0)?;
        if let Some((Op::Not, [inner])) = self.e.op_of(condition) {
            let inner = *inner;
            let holds = self.stepped_once(inner)?;
            return self.plus(&one, &holds, -1.0);
        }
        self.stepped_once(condition)
    }

    fn stepped_once(&mut self, condition: ExprId) -> Option<Poly> {
        let Some(Form::AtLeastZero(index)) = self.e.expr(condition).map(|x| x.form.clone()) else {
            return Self::leaf(condition);
        };
        let Some(far) = step_of(self.e, index).filter(|far| far.abs() <= STEPS) else { return Self::leaf(condition) };
        let base = self.e.shift(index, Dim::Fixed(far.checked_neg()?))?;
        let first = self.e.at_least_zero_expr(base)?;
        let mut out = self.truth(first)?;
        // `i + 2 >= 0` where `i >= 0`, or `i` is -1 or -2; `i - 2 >= 0` where `i >= 0`, and is neither 0 nor 1.
        for k in if far > 0 { 1..=far } else { far.checked_add(1)?..=0 } {
            let at = self.e.shift(base, Dim::Fixed(k))?;
            let hits = self.e.is_zero_expr(at)?;
            let hits = self.truth(hits)?;
            out = self.plus(&out, &hits, if far > 0 { 1.0 } else { -1.0 })?;
        }
        Some(out)
    }

    /// Returns a truth as a number.
    fn truth(&mut self, id: ExprId) -> Option<Poly> {
        if let Some((Op::Not, [inner])) = self.e.op_of(id) {
            let inner = Self::leaf(*inner)?;
            let one = Poly::number(1.0)?;
            return self.plus(&one, &inner, -1.0);
        }
        match self.e.number(id) {
            Some(v) if self.e.dtype(id) == Some(Dtype::Bool) => Poly::number(if v == 0 { 0.0 } else { 1.0 }),
            _ => Self::leaf(id),
        }
    }
}

/// Returns how far an index is from one place less another, one of which is along a reduced dimension; of a sum of two the second is counted from the end.
fn step_of(e: &mut Elements, index: IndexId) -> Option<i64> {
    let sum = e.linear(index).clone();
    // Behind the first few places.
    if let ([(Place::Bound(..), Dim::Fixed(1))], Some(offset @ ..0)) = (sum.terms.as_slice(), sum.offset().fixed()) {
        return Some(offset);
    }
    let [(p, a), (q, b)] = sum.terms.as_slice() else { return None };
    let (a, b) = (a.fixed()?, b.fixed()?);
    let bound = |p: &Place| match p {
        Place::Bound(_, size) => Some(*size),
        _ => None,
    };
    match (a, b) {
        (1, -1) => bound(p).or(bound(q)).and(sum.offset().fixed()),
        (1, 1) => {
            let size = bound(q).filter(|_| bound(p).is_none())?;
            let last = e.plus(size, Dim::Fixed(-1))?;
            e.plus(sum.offset(), last)?.fixed()
        }
        _ => None,
    }
}
