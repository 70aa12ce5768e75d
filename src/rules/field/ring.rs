//! Sums of products of integers, in any order.
//!
//! ## What it says
//! Integers wrap around as a ring does: two sums of products, each summed over dimensions, that are one as sums over the whole numbers are one modulo
//! 2^n. So a product of matrices of integers associates, and a sum over few places is those places added up. A truth is 1 or 0 and its own square: how
//! often either of two holds is how often each does, less how often both do. The lowest bits of an integer are it less a multiple of what it is shifted down.
//!
//! ## When it is wrong
//! Nothing else of integers is a ring: a quotient, a remainder, a comparison, a conversion to more bits stand for themselves. Numbers are those that an
//! `f64` holds: where one grows too large, nothing is shown.

use std::rc::Rc;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::make::width;
use crate::rules::field::normal::Field;
use crate::rules::field::poly::Poly;

/// How many conditions may be split, one within another.
const CASES: usize = 4;
/// How many of the lowest bits are told from those above.
const LOW: u32 = 16;
/// Up to which number everything is exact.
const MOST: f64 = (1_u64 << 46) as f64;

impl Field<'_> {
    /// Returns whether two expressions of one dtype of integers are one sum of products, wrapping around.
    pub fn equal_as_ring(e: &mut Elements, a: ExprId, b: ExprId) -> bool {
        let integer = |x: ExprId| e.dtype(x).filter(|d| width(*d).is_some_and(|w| w > 1));
        let Some(dtype) = integer(a).filter(|d| integer(b) == Some(*d)) else { return false };
        if ![a, b].iter().any(|r| e.below(*r).iter().any(|id| e.is_reduction(*id))) {
            return false;
        }
        let alike = |e: &mut Elements, ends| {
            e.equal_by_cases(ends, CASES, &mut |e, a, b| Self::is_one_sum(e, dtype, a, b) == Some(true))
        };
        let equal = alike(e, (a, b))
            || e.unrolled_integers(a).zip(e.unrolled_integers(b)).is_some_and(|ends| alike(e, ends))
            || e.parted_integers(a).zip(e.parted_integers(b)).is_some_and(|ends| ends != (a, b) && alike(e, ends))
            || e.cut_and_joined(a, b).flatten().is_some_and(|ends| alike(e, ends));
        if equal {
            e.applied.insert("ring-of-sums");
        }
        equal
    }

    /// Returns whether two truths are one, each place of what is taken together being named.
    pub fn equal_each_named(e: &mut Elements, a: ExprId, b: ExprId) -> bool {
        let truths = [a, b].iter().all(|x| e.dtype(*x) == Some(Dtype::Bool));
        let Some(ends) = e.unrolled_integers(a).zip(e.unrolled_integers(b)).filter(|ends| *ends != (a, b)) else {
            return false;
        };
        truths && e.equal_by_cases(ends, CASES, &mut |e, a, b| e.congruent(a, b, CASES))
    }

    fn is_one_sum(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        let mut field = Field::as_ring(e, dtype);
        let (x, y) = (field.of(a)?, field.of(b)?);
        let modest = |p: &Poly| p.terms.iter().all(|t| t.number.abs().max(t.scale) <= MOST && t.number.fract() == 0.0);
        Some(modest(&x) && modest(&y) && field.same(&x, &y, &[])?)
    }

    /// Returns an expression of integers as a sum of products; `None` where something may be too large.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn ring_one(&mut self, dtype: Dtype, id: ExprId, expr: &Expr, kids: &[Rc<Poly>]) -> Option<Poly> {
        let made = match &expr.form {
            _ if expr.dtype == Dtype::Bool => return self.truth_in_ring(id, expr, kids),
            _ if expr.dtype != dtype => Self::leaf(id),
            Form::Const(v) if v.unsigned_abs() < 1 << 46 => Poly::number(*v as f64),
            Form::Poly(products) => {
                let (mut out, mut kids) = (Poly::default(), kids.iter());
                for (count, by) in products.iter() {
                    if by.unsigned_abs() >= 1 << 46 {
                        return Self::leaf(id);
                    }
                    let mut product = Poly::number(1.0)?;
                    for kid in kids.by_ref().take(*count as usize) {
                        product = self.times(&product, kid)?;
                    }
                    out = self.plus(&out, &product, *by as f64)?;
                }
                Some(out)
            }
            Form::Op(Op::Choose) if kids.iter().skip(1).any(|k| k.terms.is_empty()) => {
                let (Some(yes), Some(no)) = (kids.get(1), kids.get(2)) else { return Self::leaf(id) };
                let truth = kids.first()?.clone();
                let (holds, not) = (self.times(&truth, yes)?, self.times(&truth, no)?);
                let rest = self.plus(no, &not, -1.0)?;
                self.plus(&rest, &holds, 1.0)
            }
            Form::Op(Op::And) => self.low_bits(dtype, id, expr, kids),
            // A truth as a number.
            Form::Op(Op::Cast) if expr.kids.first().and_then(|k| self.e.dtype(*k)) == Some(Dtype::Bool) => {
                Some((**kids.first()?).clone())
            }
            Form::Reduce(Fold::Sum, level, sizes) => self.reduced(Fold::Sum, *level, sizes, id, expr, kids),
            _ => Self::leaf(id),
        }?;
        made.terms.iter().all(|t| t.number.abs().max(t.scale) <= MOST).then_some(made)
    }

    /// The lowest bits of an integer are it less those above, which are a multiple of it shifted down, its sign kept.
    fn low_bits(&mut self, dtype: Dtype, id: ExprId, expr: &Expr, kids: &[Rc<Poly>]) -> Option<Poly> {
        for (mask, of) in [(0, 1), (1, 0)] {
            let (Some(mask), Some(whole), Some(x)) = (expr.kids.get(mask), expr.kids.get(of), kids.get(of)) else {
                continue;
            };
            let Some(bits) = self.e.number(*mask).and_then(|v| v.checked_add(1)).filter(|v| v.count_ones() == 1) else {
                continue;
            };
            let places = bits.trailing_zeros();
            if places == 0 || places > LOW || width(dtype).is_none_or(|w| places >= w) || dtype == Dtype::U8 {
                continue;
            }
            let shift = self.e.integer(dtype, i64::from(places))?;
            let above = self.e.op(Op::Shr, dtype, &[*whole, shift])?;
            let Some(above) = Self::leaf(above) else { continue };
            #[allow(clippy::cast_precision_loss)]
            return self.plus(x, &above, -(bits as f64));
        }
        Self::leaf(id)
    }

    /// A truth as a number.
    fn truth_in_ring(&mut self, id: ExprId, expr: &Expr, kids: &[Rc<Poly>]) -> Option<Poly> {
        match (&expr.form, kids) {
            (Form::Op(Op::Not), [a]) => {
                let one = Poly::number(1.0)?;
                self.plus(&one, a, -1.0)
            }
            (Form::Op(op @ (Op::And | Op::Or | Op::Xor)), [a, b]) => match self.of_truths(*op, a, b)? {
                Some(truth) => Some(truth),
                None => Self::leaf(id),
            },
            _ => match self.of_equal_data(id)? {
                Some(equal) => Self::leaf(equal),
                None => self.stepped(id),
            },
        }
    }

    /// Two integers of the data that are equal are one index less another that is 0.
    fn of_equal_data(&mut self, truth: ExprId) -> Option<Option<ExprId>> {
        let Some((Op::Eq, [apart, zero])) = self.e.op_of(truth) else { return Some(None) };
        let (apart, none) = (*apart, self.e.number(*zero) == Some(0));
        let Some(Expr { dtype: Dtype::I64, form: Form::Poly(products), kids }) = self.e.expr(apart).cloned() else {
            return Some(None);
        };
        let ([(1, 1), (1, -1)] | [(1, -1), (1, 1)], [a, b], true) = (&*products, kids.as_slice(), none) else {
            return Some(None);
        };
        let (a, b) = (self.e.data_index(*a)?, self.e.data_index(*b)?);
        let apart = self.e.difference(a, b)?;
        self.e.is_zero_expr(apart).map(Some)
    }
}
