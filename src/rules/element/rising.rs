//! What rises, or falls, with one of the elements that it is made of, and so keeps or turns their order.
//!
//! ## What it says
//! Elements in order, each put through one function that rises, are what the function gives, in order: a number added, a positive factor or divisor, a
//! conversion between floats, an exponential, a sigmoid, and the like. Of integers a sum of products that does not wrap around rises or falls with the
//! one number in it that stands at the place; what the host says is no NaN falls with its opposite.
//!
//! ## When it is wrong
//! Bit by bit of floats: what differs may be one after a rounding, and of zeros the kernel chooses. A function that is NaN for numbers (roots, logarithms),
//! or that falls, puts a NaN elsewhere: NaN comes last. What is added, or multiplies, must be no infinity that meets another, and the same at each place.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::{keeps_order, loses_nothing};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::rules::table::{Real, real};

/// How many functions within one another are taken off.
const NESTED: usize = 12;

/// A step of a quantisation: what it does, to which dtype, and the bits of its number.
pub type Step = (Op, Dtype, Option<u64>);

/// An element without the functions that keep its order.
#[derive(Debug)]
pub(in crate::rules) struct Peeled {
    /// What is left.
    pub inner: ExprId,
    /// Whether the functions together turn its order.
    pub falls: bool,
    /// The functions, outermost first, and which child goes on.
    steps: Vec<(Expr, usize)>,
}

impl Elements {
    /// Returns a float without the powers of two that multiply it, where none of its products leaves its dtype: no two numbers become one.
    pub(in crate::rules) fn without_exact_factors(&self, root: ExprId) -> ExprId {
        let (mut at, mut by) = (root, 1.0_f64);
        while let Some((Op::Mul, [a, b])) = self.op_of(at) {
            let (x, factor) = match (self.float(*a), self.float(*b)) {
                (None, Some(v)) => (*a, v),
                (Some(v), None) => (*b, v),
                _ => break,
            };
            if !(1.0..=1024.0).contains(&factor) || factor.to_bits() & ((1 << 52) - 1) != 0 {
                break;
            }
            (at, by) = (x, by * factor);
        }
        let Some((low, high)) = self.floats_of(at) else { return root };
        let most = match self.dtype(at) {
            Some(Dtype::F16) => 60_000.0,
            Some(Dtype::Bf16 | Dtype::F32 | Dtype::F64) => 1e38,
            _ => return root,
        };
        if low.abs().max(high.abs()) * by <= most { at } else { root }
    }

    /// Returns a number without conversions to dtypes that hold it: no two numbers become one, and none changes its place among others.
    pub(in crate::rules) fn without_wider(&self, root: ExprId) -> ExprId {
        let mut at = root;
        while let Some((Op::Cast, [inner])) = self.op_of(at) {
            let held = self.dtype(*inner).zip(self.dtype(at));
            let keeps = |d: Dtype| d.is_integer() || keeps_order(d);
            if !held.is_some_and(|(from, to)| keeps(from) && keeps(to) && loses_nothing(from, to)) {
                break;
            }
            at = *inner;
        }
        at
    }

    /// Returns what is rounded to an integer, and the steps from there on: conversions, and bounds by numbers, outermost first.
    pub fn quantised(&self, root: ExprId) -> Option<(ExprId, Vec<Step>)> {
        let (mut at, mut steps) = (root, Vec::new());
        while steps.len() < NESTED {
            let (op, kids) = self.op_of(at)?;
            let number = |k: &ExprId| self.float(*k).map(f64::to_bits).or(self.number(*k).map(i64::cast_unsigned));
            let (next, bound) = match (op, kids) {
                (Op::Round | Op::Cast, [x]) => (*x, None),
                (Op::Max | Op::Min | Op::AtLeast | Op::AtMost, [x, bound]) if number(bound).is_some() => {
                    (*x, number(bound))
                }
                (Op::Max | Op::Min, [bound, x]) if number(bound).is_some() => (*x, number(bound)),
                // A number for NaN.
                (Op::Choose, [itself, x, other]) if self.op_of(*itself) == Some((Op::Eq, &[*x, *x])) => {
                    (*x, Some(number(other)?))
                }
                _ => return None,
            };
            steps.push((op, self.dtype(at)?, bound));
            if op == Op::Round {
                return Some((next, steps));
            }
            at = next;
        }
        None
    }

    /// Takes off what rises or falls with the one child that depends on the place along a dimension.
    pub(in crate::rules) fn peeled(&mut self, root: ExprId, dim: usize) -> Option<Peeled> {
        let mut out = Peeled { inner: root, falls: false, steps: Vec::new() };
        while out.steps.len() < NESTED {
            let expr = self.expr(out.inner)?.clone();
            let mut own = (0..expr.kids.len()).filter(|k| expr.kids.get(*k).is_some_and(|k| self.stands_at(*k, dim)));
            let (Some(k), None) = (own.next(), own.next()) else { break };
            let Some(falls) = self.step_falls(out.inner, &expr, k)? else { break };
            out.falls ^= falls;
            out.inner = *expr.kids.get(k)?;
            out.steps.push((expr, k));
        }
        Some(out)
    }

    /// Puts the functions on again, at an index.
    pub(in crate::rules) fn put_on(&mut self, peeled: &Peeled, inner: ExprId, at: &[IndexId]) -> Option<ExprId> {
        let mut out = inner;
        let moves = Moves { vars: at.into(), bound: None };
        for (expr, k) in peeled.steps.iter().rev() {
            let mut kids: SmallVec<[ExprId; 3]> = SmallVec::new();
            for (place, kid) in expr.kids.iter().enumerate() {
                kids.push(if place == *k { out } else { self.moved(*kid, &moves)? });
            }
            out = self.again(expr, &kids)?;
        }
        Some(out)
    }

    /// Whether an expression depends on the place along a dimension of the result.
    fn stands_at(&self, id: ExprId, dim: usize) -> bool {
        self.places_below(id).iter().any(|p| matches!(p, Place::Var(k, _) if *k as usize == dim))
    }

    /// Whether an expression falls with one of its children, where it rises or falls with it alone.
    fn step_falls(&mut self, id: ExprId, expr: &Expr, k: usize) -> Option<Option<bool>> {
        let kid = *expr.kids.get(k)?;
        if !expr.dtype.is_float() {
            return self.products_fall(id, expr, k);
        }
        let from = self.dtype(kid)?;
        let other = expr.kids.iter().copied().enumerate().find(|(place, _)| *place != k).map(|(_, x)| x);
        let rises = match (&expr.form, other) {
            // No NaN comes first that came last.
            (Form::Op(Op::Neg), None) if self.floats_of(kid).is_some() => return Some(Some(true)),
            (Form::Op(Op::Cast), None) => from.is_float() && keeps_order(expr.dtype),
            (Form::Op(Op::Add), Some(c)) => self.is_no_infinity(c),
            (Form::Op(Op::Sub), Some(c)) => k == 0 && self.is_no_infinity(c),
            (Form::Op(Op::Mul), Some(c)) => self.is_no_infinity(c) && self.is_positive(c)?,
            // An infinite divisor meets nothing that is less than all numbers.
            (Form::Op(Op::Div), Some(c)) => {
                k == 0 && self.is_positive(c)? && (self.is_no_infinity(c) || self.is_never_negative(kid)?)
            }
            (Form::Named(target, _), None) => matches!(
                real(target),
                Some(
                    Real::Exp
                        | Real::Exp2
                        | Real::Expm1
                        | Real::Sigmoid
                        | Real::Tanh
                        | Real::Erf
                        | Real::Sinh
                        | Real::Relu
                )
            ),
            _ => false,
        };
        Some(rises.then_some(false))
    }

    /// The same of a sum of products of integers that surely does not wrap around: one product is the child alone, and no other holds it.
    fn products_fall(&mut self, id: ExprId, expr: &Expr, k: usize) -> Option<Option<bool>> {
        let Form::Poly(products) = &expr.form else { return Some(None) };
        if expr.dtype == Dtype::Bool || self.integers_of(id).is_none() {
            return Some(None);
        }
        let mut first = 0_usize;
        for (count, factor) in products {
            let next = first.checked_add(*count as usize)?;
            if (first..next).contains(&k) {
                return Some((*count == 1 && *factor != 0).then_some(*factor < 0));
            }
            first = next;
        }
        Some(None)
    }

    /// Whether a float is a number or NaN: an element as it is given, or the greatest or least of some, or a number.
    fn is_no_infinity(&self, mut id: ExprId) -> bool {
        for _ in 0..NESTED {
            if let Some(v) = self.float(id) {
                return v.is_finite();
            }
            let Some(expr) = self.expr(id) else { return false };
            id = match (&expr.form, expr.kids.as_slice()) {
                (Form::Load(source, _), _) => {
                    return matches!(self.source_of(*source), Some(super::arena::Source::Value(_)));
                }
                (Form::Reduce(Fold::Most | Fold::Least, ..) | Form::Op(Op::Neg | Op::Abs), [inner]) => *inner,
                _ => return false,
            };
        }
        false
    }

    /// Whether an element is surely above 0, apart from it.
    fn is_positive(&mut self, id: ExprId) -> Option<bool> {
        Some(self.is_never_negative(id)? && self.is_apart_from_zero(id)?)
    }
}
