//! Bounds of what becomes an integer.
//!
//! ## What it says
//! What is rounded and held between integers is rounded to the same integer where it is held before, by as much as all bounds together leave: to an
//! integer the sign of a zero is none. What is held above 0 before a positive number multiplies or divides it is so after, too.
//!
//! ## When it is wrong
//! Of a float: which of two zeros a bound of 0 gives is the kernel's. A bound that is no integer is rounded where it stands within.

use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::element::cast::most_whole;
use crate::rules::table::{Real, real};

/// How many bounds and roundings within one another are looked through.
const NESTED: usize = 8;

/// A bound, from below or from above, or none where it is a rounding; and what it holds.
type Held = (Option<(bool, f64)>, ExprId);

impl Elements {
    /// Returns a float that becomes an integer with its bounds outside of what rounds it, and all of them together; `Some(None)` where it stands so.
    pub(super) fn held_outside(&mut self, x: ExprId) -> Option<Option<ExprId>> {
        let dtype = self.dtype(x)?;
        let (mut at, mut rounds, mut bounds) = (x, false, Vec::new());
        for _ in 0..NESTED {
            let Some((bound, inner)) = self.held_by(at).or(self.scaled_above_zero(at)?) else { break };
            rounds |= bound.is_none();
            bounds.extend(bound);
            at = inner;
        }
        if bounds.is_empty() {
            return Some(None);
        }
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (least, v) in bounds.into_iter().rev() {
            (low, high) = if least { (low.max(v), high.max(v)) } else { (low.min(v), high.min(v)) };
        }
        let mut out = if rounds { self.op(Op::Round, dtype, &[at])? } else { at };
        for (op, v) in [(Op::AtLeast, low), (Op::AtMost, high)] {
            if v.is_finite() {
                // One zero stands for both.
                let v = self.rounded(dtype, v + 0.0)?;
                out = self.op(op, dtype, &[out, v])?;
            }
        }
        Some((out != x).then_some(out))
    }

    /// What is held above 0, then multiplied or divided by a positive number, is held above 0 after that.
    fn scaled_above_zero(&mut self, x: ExprId) -> Option<Option<Held>> {
        let Some((op @ (Op::Mul | Op::Div), [held, by])) = self.op_of(x) else { return Some(None) };
        let (held, by) = (*held, *by);
        if !self.float(by).is_some_and(|v| v > 0.0 && v.is_finite()) {
            return Some(None);
        }
        let Some((bound @ Some((true, 0.0)), inner)) = self.held_by(held) else { return Some(None) };
        let scaled = self.op(op, self.dtype(x)?, &[inner, by])?;
        Some(Some((bound, scaled)))
    }

    /// Returns what is held by an integer, from below where that is so, or rounded to one.
    fn held_by(&self, x: ExprId) -> Option<Held> {
        let expr = self.expr(x)?;
        #[allow(clippy::cast_precision_loss)]
        let most = most_whole(expr.dtype)? as f64;
        let whole = |id: ExprId| self.float(id).filter(|v| v.fract() == 0.0 && v.abs() <= most);
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Max | Op::AtLeast), [inner, b]) => Some((Some((true, whole(*b)?)), *inner)),
            (Form::Op(Op::Min | Op::AtMost), [inner, b]) => Some((Some((false, whole(*b)?)), *inner)),
            (Form::Op(Op::Round), [inner]) => Some((None, *inner)),
            (Form::Named(target, _), [inner]) if real(target) == Some(Real::Relu) => Some((Some((true, 0.0)), *inner)),
            _ => None,
        }
    }
}
