//! Whether a float is a number, and between which numbers it lies if it is one.
//!
//! ## What it says
//! A square, a magnitude, an exponential is at least 0, or NaN: compared with what is never above it, it says only whether it is NaN. `|x|`, `-x`, `x * x`, `exp(x)`,
//! `x + 1`, a bound by a number, a rounding and a conversion between floats are NaN where `x` is, and nowhere else. `x - x` is 0 where `x` is neither infinite nor NaN.
//!
//! ## When it is wrong
//! A product of two elements is NaN where one is 0 and the other infinite; a sum where both are infinite. `exp(x) > 0` is false where it is rounded to 0. A root is
//! NaN below 0.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::table::{FLOOR, Real, real};

/// How many functions within one another are looked through.
const NESTED: usize = 16;

fn is_plain(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
}

impl Elements {
    /// What a comparison of floats says by the ends between which both lie if they are numbers; `Some(None)` where it takes more.
    pub(super) fn compared_as_numbers(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        // Over the reals one element may be computed in two ways, whose difference is no 0.
        if !self.exact {
            return Some(None);
        }
        // Which of the elements that are NaN together is asked stays as it is said.
        if op == Op::Eq && a == b {
            return Some(None);
        }
        if op == Op::Eq
            && let Some(finite) = self.differs_from_itself_by_nothing(a, b)?
        {
            return Some(Some(finite));
        }
        let (Some(x), Some(y)) = (self.ends_if_number(a), self.ends_if_number(b)) else { return Some(None) };
        let apart = x.1 < y.0 || y.1 < x.0;
        let (holds, fails) = match op {
            Op::Lt => (x.1 < y.0, x.0 >= y.1),
            Op::Le => (x.1 <= y.0, x.0 > y.1),
            _ => (false, apart),
        };
        if fails {
            self.by("compare-numbers");
            return self.truth(false).map(Some);
        }
        if !holds {
            return Some(None);
        }
        self.by("compare-numbers");
        let (p, q) = (self.is_number(a)?, self.is_number(b)?);
        self.op(Op::And, Dtype::Bool, &[p, q]).map(Some)
    }

    /// Whether a float is a number, as `x == x` of the innermost element that is NaN where it is, and nowhere else.
    pub(super) fn is_number(&mut self, x: ExprId) -> Option<ExprId> {
        let at = self.nan_of(x);
        self.compared(Op::Eq, at, at)
    }

    /// The innermost element that is NaN where an expression is, and nowhere else.
    pub(super) fn nan_of(&self, x: ExprId) -> ExprId {
        let mut at = x;
        for _ in 0..NESTED {
            match self.same_nan(at) {
                Some(inner) => at = inner,
                None => break,
            }
        }
        at
    }

    /// The one operand that is NaN where an expression is, and nowhere else.
    fn same_nan(&self, x: ExprId) -> Option<ExprId> {
        let expr = self.expr(x)?;
        let finite = |id: &ExprId| self.float(*id).is_some_and(f64::is_finite);
        let number = |id: &ExprId| self.float(*id).is_some_and(|v| !v.is_nan());
        let scales = |id: &ExprId| self.float(*id).is_some_and(|v| v.is_finite() && v != 0.0);
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Neg | Op::Abs | Op::Round), [a]) => Some(*a),
            // Shorter floats than these have no infinity to overflow to.
            (Form::Op(Op::Cast), [a]) if is_plain(self.dtype(*a)?) && is_plain(expr.dtype) => Some(*a),
            (Form::Op(Op::Mul), [a, b]) if a == b => Some(*a),
            (Form::Op(Op::Add | Op::Sub), [a, b]) if finite(b) => Some(*a),
            (Form::Op(Op::Add | Op::Sub), [a, b]) if finite(a) => Some(*b),
            (Form::Op(Op::Mul | Op::Div), [a, b]) if scales(b) => Some(*a),
            (Form::Op(Op::Mul), [a, b]) if scales(a) => Some(*b),
            (Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [a, b]) if number(b) => Some(*a),
            (Form::Op(Op::Max | Op::Min), [a, b]) if number(a) => Some(*b),
            (Form::Op(Op::Mul | Op::Div), [a, b]) if self.is_finite_above_zero(*b) => Some(*a),
            (Form::Op(Op::Mul), [a, b]) if self.is_finite_above_zero(*a) => Some(*b),
            (Form::Named(name, tokens), [a]) if tokens.len() == 1 && self.dtype(*a) == Some(expr.dtype) => {
                let total = matches!(
                    real(name),
                    Some(Real::Exp | Real::Exp2 | Real::Sigmoid | Real::Tanh | Real::Erf | Real::Relu)
                );
                (total || **name == *FLOOR).then_some(*a)
            }
            _ => None,
        }
    }

    /// Two numbers between which a float lies, unless it is NaN.
    fn ends_if_number(&self, x: ExprId) -> Option<(f64, f64)> {
        const LEAST: f64 = f64::NEG_INFINITY;
        const MOST: f64 = f64::INFINITY;
        if let Some(known) = self.floats_of(x) {
            return Some(known);
        }
        let expr = self.expr(x)?;
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Abs), [_]) => Some((0.0, MOST)),
            (Form::Op(Op::Mul), [a, b]) if a == b => Some((0.0, MOST)),
            (Form::Op(Op::Max | Op::AtLeast), [a, b]) => {
                let bound = self.float(*b).or_else(|| self.float(*a)).filter(|v| !v.is_nan())?;
                Some((bound, MOST))
            }
            (Form::Op(Op::Min | Op::AtMost), [a, b]) => {
                let bound = self.float(*b).or_else(|| self.float(*a)).filter(|v| !v.is_nan())?;
                Some((LEAST, bound))
            }
            (Form::Named(name, tokens), [_]) if tokens.len() == 1 => match real(name)? {
                Real::Exp | Real::Exp2 | Real::Sqrt => Some((0.0, MOST)),
                _ => None,
            },
            _ => None,
        }
    }

    /// `x - x == 0` where `x` is neither infinite nor NaN.
    fn differs_from_itself_by_nothing(&mut self, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        for (difference, zero) in [(a, b), (b, a)] {
            let (Some((Op::Sub, [x, y])), Some(0.0)) = (self.op_of(difference), self.float(zero)) else { continue };
            let (x, y) = (*x, *y);
            if x != y {
                continue;
            }
            self.by("compare-numbers");
            let dtype = self.dtype(x)?;
            let (size, end) = (self.op(Op::Abs, dtype, &[x])?, self.rounded(dtype, f64::INFINITY)?);
            return self.compared(Op::Lt, size, end).map(Some);
        }
        Some(None)
    }
}
