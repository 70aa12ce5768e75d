//! Choices by a comparison with a number.
//!
//! Promises: a choice whose values are one where what is compared is that number is written without the edge, and without factors of what is compared with 0 that have one sign; `log(1 + exp(x))`, and its slope, are found in
//! their two halves.

use std::rc::Rc;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::cast::round;
use crate::rules::field::normal::Field;
use crate::rules::field::poly::{Binders, Function, Poly};

impl Field<'_> {
    /// A choice: one number in front of both, and, where both are one at the number that is compared with, the comparison that leaves it out.
    pub(super) fn choice(&mut self, expr: &Expr, c: &Rc<Poly>, a: &Rc<Poly>, b: &Rc<Poly>) -> Option<Poly> {
        let numbers = |p: &Poly| p.terms.iter().map(|t| t.number.abs()).fold(0.0_f64, f64::max);
        let lead = numbers(a).max(numbers(b));
        if lead <= 0.0 || !lead.is_finite() {
            return Self::call(Function::Other(expr.form.clone(), expr.dtype), vec![c.clone(), a.clone(), b.clone()]);
        }
        let (mut yes, mut no) =
            (self.plus(&Poly::default(), a, 1.0 / lead)?, self.plus(&Poly::default(), b, 1.0 / lead)?);
        let mut truth = c.clone();
        let [condition, first, second] = expr.kids.as_slice() else { return None };
        if let Some((x, at, order)) = self.meets(*condition, *first, *second)? {
            if let Some(bound) = self.bounded_by_choice((x, at), if order { (a, b) } else { (b, a) })? {
                return Some(bound);
            }
            let (less, turned) = if at == 0.0 { self.below_zero(x)? } else { (self.below(x, at)?, false) };
            truth = less;
            if order == turned {
                std::mem::swap(&mut yes, &mut no);
            }
        }
        let form = Function::Other(expr.form.clone(), expr.dtype);
        let made = Self::call(form, vec![truth, Rc::new(yes), Rc::new(no)])?;
        self.plus(&Poly::default(), &made, lead)
    }

    /// Whether a float is less than a number.
    fn below(&mut self, x: ExprId, at: f64) -> Option<Rc<Poly>> {
        let of = self.e.dtype(x)?;
        let at = self.e.rounded(of, at)?;
        let less = self.e.op(Op::Lt, Dtype::Bool, &[x, at])?;
        self.of(less)
    }

    /// Whether a float is below 0, without the factors that have one sign: and whether together they are not above 0, so that what is left is above it.
    fn below_zero(&mut self, x: ExprId) -> Option<(Rc<Poly>, bool)> {
        let plain = self.below(x, 0.0)?;
        let Some((Op::Mul | Op::Div | Op::Neg, _)) = self.e.op_of(x) else { return Some((plain, false)) };
        let mut inner = [(*self.of(x)?).clone()];
        let (_, turned) = self.signed_factors(&mut inner, &Binders::new())?;
        let [inner] = inner;
        let Some(lead) = inner.terms.first().map(|t| t.number) else { return Some((plain, false)) };
        let inner = self.plus(&Poly::default(), &inner, 1.0 / lead)?;
        let less = Function::Other(Form::Op(Op::Lt), Dtype::Bool);
        let less = Self::call(less, vec![Rc::new(inner), Rc::new(Poly::default())])?;
        Some((Rc::new(less), turned != (lead < 0.0)))
    }

    /// The greater of a float and a number, or the lesser, where a choice by which of them that is gives the one or the other.
    fn bounded_by_choice(
        &mut self,
        (x, at): (ExprId, f64),
        (below, above): (&Rc<Poly>, &Rc<Poly>),
    ) -> Option<Option<Poly>> {
        let (x, at) = (self.of(x)?, Rc::new(Poly::number(at)?));
        if self.same(above, &x, &[])? && self.same(below, &at, &[])? {
            return self.greatest(&[x, at]).map(Some);
        }
        if self.same(below, &x, &[])? && self.same(above, &at, &[])? {
            let (x, at) = (self.plus(&Poly::default(), &x, -1.0)?, self.plus(&Poly::default(), &at, -1.0)?);
            let most = self.greatest(&[Rc::new(x), Rc::new(at)])?;
            return self.plus(&Poly::default(), &most, -1.0).map(Some);
        }
        Some(None)
    }

    /// Returns whether two values are one over the reals where the float that a condition compares with a number is that number.
    pub fn meets_where(e: &mut Elements, condition: ExprId, a: ExprId, b: ExprId) -> Option<bool> {
        let dtype = e.dtype(a)?;
        Field::new(e, dtype, &[condition, a, b], false).meets(condition, a, b).map(|found| found.is_some())
    }

    /// Returns the float and the number that a condition compares, where two expressions are one once the float is that number, and whether the
    /// condition says that the float is the lesser one.
    fn meets(&mut self, condition: ExprId, a: ExprId, b: ExprId) -> Option<Option<(ExprId, f64, bool)>> {
        let Some((Op::Lt | Op::Le, [p, q])) = self.e.op_of(condition) else { return Some(None) };
        let (x, at, order) = match (self.e.float(*p), self.e.float(*q)) {
            (Some(at), None) => (*q, at, false),
            (None, Some(at)) => (*p, at, true),
            _ => return Some(None),
        };
        if self.meets || !at.is_finite() || round(self.e.dtype(x)?, at) != Some(at) {
            return Some(None);
        }
        // What has that magnitude is that number or its opposite.
        let within = match self.e.op_of(x) {
            Some((Op::Abs, [inner])) => Some(*inner),
            _ => None,
        };
        for sign in if within.is_some() { &[1.0, -1.0][..] } else { &[1.0] } {
            let mut there = self.where_it_meets();
            there.known.insert(x, Rc::new(Poly::number(at)?));
            if let Some(inner) = within {
                there.known.insert(inner, Rc::new(Poly::number(at * sign)?));
            }
            let (first, second) = (there.of(a)?, there.of(b)?);
            if !there.same(&first, &second, &[])? {
                return Some(None);
            }
        }
        Some(Some((x, at, order)))
    }

    /// Returns `log(1 + exp(z))` where a choice is that below a number, and `z` above it, where both round to one number.
    pub(super) fn softened(&mut self, condition: ExprId, a: &Poly, b: &Poly) -> Option<Option<Poly>> {
        let Some((Op::Lt | Op::Le, [p, q])) = self.e.op_of(condition) else { return Some(None) };
        let (x, at) = match (self.e.float(*p), self.e.float(*q)) {
            (Some(at), None) => (*q, at),
            (None, Some(at)) => (*p, at),
            _ => return Some(None),
        };
        let high = at.abs();
        let half = if self.dtype == Dtype::F64 { 0.5_f64.powi(54) } else { 0.5_f64.powi(25) };
        if !high.is_finite() || high <= 1.0 || (-high).exp() > half * high {
            return Some(None);
        }
        // Below a negative number it is what falls that is linear.
        let (above, rises) = (x == *q, at > 0.0);
        let (a, b) = if above == rises { (a, b) } else { (b, a) };
        let x = self.of(x)?;
        let z = self.plus(&Poly::default(), &x, if rises { 1.0 } else { -1.0 })?;
        // Above, its sigmoid is 1 in every dtype.
        if (-high).exp() <= half {
            let sigmoid = self.sigmoid(&z)?;
            let bent = self.times(a, &sigmoid)?;
            if self.same(b, &bent, &[])? {
                return Some(Some(bent));
            }
        }
        let one = Poly::number(1.0)?;
        let more = self.exp(&z)?;
        let more = self.plus(&more, &one, 1.0)?;
        let soft = self.log(&more)?;
        let lead = |p: &Poly| p.terms.first().map(|t| t.number);
        let (Some(k), Some(own)) = (lead(a), lead(&z)) else { return Some(None) };
        let (linear, soft) = (self.plus(&Poly::default(), &z, k / own)?, self.plus(&Poly::default(), &soft, k / own)?);
        Some((self.same(a, &linear, &[])? && self.same(b, &soft, &[])?).then_some(soft))
    }
}
