//! Errors of elements beside what they are, where nothing cancels.
//!
//! Promises: an element's error is at most `far` times its magnitude, and `lost`: what is smaller than its dtype holds. What is divided by such an
//! element follows its error beside it, however near 0 the element may be.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::rounding::backward::{constant, inexact, least};
use crate::rules::rounding::forward::{Ranges, count};
use crate::rules::rounding::unit;
use crate::rules::table::{Real, real};

/// A bound of an error.
#[derive(Clone, Copy, Default, Debug)]
pub struct Beside {
    /// Times the element's magnitude.
    pub(super) far: f64,
    /// Whatever it is.
    pub(super) lost: f64,
}

impl Beside {
    /// Returns the error as a part of the element, which is at least so far from 0.
    pub fn of(self, from_zero: f64) -> f64 {
        self.far + if self.lost > 0.0 { self.lost / from_zero } else { 0.0 }
    }

    /// Returns the error of an element that is at most so large.
    pub fn whole(self, most: f64) -> f64 {
        self.far * most + self.lost
    }
}

/// Returns the errors of those elements of which nothing cancels: products, quotients and roots, sums of what is not negative, and bounds by a number that is not.
pub fn errors(e: &Elements, order: &[ExprId], ranges: &Ranges) -> FxHashMap<ExprId, Beside> {
    let inexact = inexact(e, order);
    let mut out: FxHashMap<ExprId, Beside> = FxHashMap::default();
    for id in order {
        // What is small is 0 in `f16` too soon.
        let Some(expr) = e.expr(*id).filter(|x| x.dtype.is_float() && x.dtype != Dtype::F16) else { continue };
        let own = match inexact.contains(id) {
            true => step(e, expr, ranges, &out, &inexact),
            false => Some(Beside::default()),
        };
        // What is apart from 0 loses a part of itself.
        let apart = ranges.get(id).map(|r| r.low.max(-r.high)).filter(|v| *v > 0.0);
        let own = own.map(|b| apart.map_or(b, |from_zero| Beside { far: b.of(from_zero), lost: 0.0 }));
        if let Some(own) = own.filter(|b| b.far.is_finite() && b.lost.is_finite()) {
            out.insert(*id, own);
        }
    }
    out
}

/// The error of an element from those of what it is made of; `None` where something may cancel.
pub(super) fn step(
    e: &Elements,
    expr: &Expr,
    ranges: &Ranges,
    known: &FxHashMap<ExprId, Beside>,
    inexact: &FxHashSet<ExprId>,
) -> Option<Beside> {
    let (one, gone) = (unit(expr.dtype), least(expr.dtype));
    let of = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied();
    let range = |k: usize| expr.kids.get(k).and_then(|k| ranges.get(k)).copied();
    let most = |k: usize| range(k).map(|r| r.most());
    let from_zero = |k: usize| range(k).map(|r| r.low.max(-r.high)).filter(|v| *v > 0.0);
    let never_negative = || (0..expr.kids.len()).all(|k| range(k).is_some_and(|r| r.low >= 0.0));
    let both = || of(0).zip(of(1));
    match &expr.form {
        Form::Op(Op::Mul) => both()
            .zip(most(0).zip(most(1)))
            .map(|((a, b), (x, y))| Beside { far: a.far + b.far + one, lost: a.lost * y + b.lost * x + gone }),
        // However near 0 a divisor is, of which nothing is lost, the quotient is as near.
        Form::Op(Op::Div) if both().is_some_and(|(a, b)| a.lost + b.lost <= 0.0) => {
            both().map(|(a, b)| Beside { far: a.far + b.far + one, lost: gone })
        }
        Form::Op(Op::Div) => both().zip(most(0).zip(from_zero(1))).map(|((a, b), (x, y))| Beside {
            far: a.far + b.of(y) + one,
            lost: a.lost / y + if b.lost > 0.0 { b.lost * x / y / y } else { 0.0 } + gone,
        }),
        // Of what is exact one rounding is all.
        Form::Op(Op::Add | Op::Sub) if expr.kids.iter().all(|k| !inexact.contains(k)) => {
            Some(Beside { far: one, lost: 0.0 })
        }
        Form::Op(Op::Add) if never_negative() => {
            both().map(|(a, b)| Beside { far: a.far.max(b.far) + one, lost: a.lost + b.lost })
        }
        // The greater of a positive number and what is near another one is as near.
        Form::Op(Op::Max | Op::AtLeast) if expr.kids.iter().any(|k| constant(e, *k).is_some()) => {
            both().map(|(a, b)| Beside { far: a.far.max(b.far), lost: a.lost.max(b.lost) })
        }
        Form::Op(Op::Neg | Op::Abs) => of(0),
        Form::Op(Op::Cast) => of(0).map(|a| Beside { far: a.far + one, lost: a.lost + gone }),
        Form::Reduce(Fold::Sum, _, sizes) if never_negative() => {
            of(0).zip(count(e, sizes)).map(|(a, n)| Beside { far: a.far + (n - 1.0).max(0.0) * one, lost: a.lost * n })
        }
        Form::Named(target, _) => match real(target) {
            // The root of a sum is at most the sum of the roots.
            Some(Real::Sqrt) => of(0).map(|a| Beside { far: a.far / 2.0 + 2.0 * one, lost: a.lost.sqrt() }),
            Some(Real::Square) => {
                of(0).zip(most(0)).map(|(a, x)| Beside { far: a.far * 2.0 + 2.0 * one, lost: 2.0 * a.lost * x + gone })
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns which operand of an element, if it is divided by that one or its root is taken, is followed by its error beside it, and how often that error is the
/// element's.
pub fn divisor(form: &Form) -> Option<(usize, f64)> {
    match form {
        Form::Op(Op::Div) => Some((1, 1.0)),
        Form::Named(target, _) => match real(target) {
            Some(Real::Reciprocal) => Some((0, 1.0)),
            Some(Real::Rsqrt) => Some((0, 0.5)),
            _ => None,
        },
        _ => None,
    }
}
