//! Bounds of what becomes an integer.
//!
//! ## What it says
//! What is rounded and held between integers is rounded to the same integer where it is held before, by as much as all bounds together leave: to an
//! integer the sign of a zero is none. What is held on one side of 0 before a positive number multiplies or divides it is so after, too. A NaN that becomes 0 passes
//! bounds that leave 0 as it is; in at most 16 bits it is 0 without that.
//!
//! ## When it is wrong
//! Of a float: which of two zeros a bound of 0 gives is the kernel's. A bound that is no integer is rounded where it stands within. A bound above 0 makes that of
//! a NaN which is 0, and leaves that which is none. A factor that may be infinite makes NaN of a 0; a divisor that may be makes NaN of what is infinite, where a 0 would be 0.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::element::cast::{loses_nothing, most_whole, round};
use crate::rules::table::{Real, real};

/// How many bounds and roundings within one another are looked through.
const NESTED: usize = 8;

/// What stands around a float that becomes an integer.
enum Layer {
    /// A bound, from below where that is so.
    Bound(bool, f64),
    /// A rounding to an integer.
    Round,
    /// A choice of 0 for a NaN.
    Number,
}

/// Whether NaN is 0 in a dtype of integers.
pub(super) fn nan_is_zero(to: Dtype) -> bool {
    matches!(to, Dtype::I8 | Dtype::U8 | Dtype::I16)
}

impl Elements {
    /// Returns a float that becomes an integer with its bounds outside of what rounds it, and all of them together; `Some(None)` where it stands so.
    pub(super) fn held_outside(&mut self, to: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let dtype = self.dtype(x)?;
        let (mut at, mut rounds, mut chosen, mut bounds) = (x, false, false, Vec::new());
        for _ in 0..NESTED {
            // A NaN in place of 0 becomes 0, unless a bound outside makes another number of that.
            let nan_goes = nan_is_zero(to) && bounds.iter().all(|(least, v)| *v == 0.0 || *least == (*v < 0.0));
            let Some((layer, inner)) = self.layer_of(at, nan_goes)? else { break };
            match layer {
                // What is chosen for a NaN within stays 0 under its bounds.
                Layer::Bound(least, v) if chosen && v != 0.0 && least == (v > 0.0) => break,
                Layer::Bound(least, v) => bounds.push((least, v)),
                Layer::Round => rounds = true,
                Layer::Number => chosen = true,
            }
            at = inner;
        }
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (least, v) in bounds.iter().rev() {
            (low, high) = if *least { (low.max(*v), high.max(*v)) } else { (low.min(*v), high.min(*v)) };
        }
        let goes = chosen && nan_is_zero(to) && low <= 0.0 && high >= 0.0;
        if bounds.is_empty() && !goes {
            return Some(None);
        }
        let mut out = if rounds { self.op(Op::Round, dtype, &[at])? } else { at };
        if chosen && !goes {
            let (number, zero) = (self.is_number(out)?, self.rounded(dtype, 0.0)?);
            out = self.op(Op::Choose, dtype, &[number, out, zero])?;
        }
        for (op, v) in [(Op::AtLeast, low), (Op::AtMost, high)] {
            if v.is_finite() {
                // One zero stands for both.
                let v = self.rounded(dtype, v + 0.0)?;
                out = self.op(op, dtype, &[out, v])?;
            }
        }
        Some((out != x).then_some(out))
    }

    /// Returns what stands around a float, and the float.
    fn layer_of(&mut self, x: ExprId, nan_goes: bool) -> Option<Option<(Layer, ExprId)>> {
        if let Some(found) = self.held_by(x) {
            return Some(Some(found));
        }
        if let Some(number) = self.chosen_for_nan(x) {
            return Some(Some((Layer::Number, number)));
        }
        if let Some(found) = self.held_narrow(x)? {
            return Some(Some(found));
        }
        self.scaled_above_zero(x, nan_goes)
    }

    /// Returns the float in the place of which 0 is chosen where it is NaN.
    pub(super) fn chosen_for_nan(&self, x: ExprId) -> Option<ExprId> {
        let Some((Op::Choose, [number, inner, zero])) = self.op_of(x) else { return None };
        let Some((Op::Eq, [a, b])) = self.op_of(*number) else { return None };
        let same = a == b && self.dtype(*inner)?.is_float() && self.nan_of(*a) == self.nan_of(*inner);
        (same && self.float(*zero) == Some(0.0)).then_some(*inner)
    }

    /// What is held on one side of 0, then multiplied or divided by a positive number, is held so after that.
    fn scaled_above_zero(&mut self, x: ExprId, nan_goes: bool) -> Option<Option<(Layer, ExprId)>> {
        let Some((op @ (Op::Mul | Op::Div), [a, b])) = self.op_of(x) else { return Some(None) };
        let pairs = [(*a, *b), (*b, *a)];
        for (held, by) in pairs.into_iter().take(if op == Op::Mul { 2 } else { 1 }) {
            // By what is infinite a number is 0, and what is infinite below 0 is NaN, which becomes 0.
            let above = self.floats_of(by).is_some_and(|(low, _)| low > 0.0);
            if !(self.is_finite_above_zero(by) || above && op == Op::Div && nan_goes) {
                continue;
            }
            let narrow = self.held_narrow(held)?;
            let Some((Layer::Bound(least, 0.0), inner)) = self.held_by(held).or(narrow) else { continue };
            let scaled = self.op(op, self.dtype(x)?, &[inner, by])?;
            return Some(Some((Layer::Bound(least, 0.0), scaled)));
        }
        Some(None)
    }

    /// What is held in a float dtype and converted to one that holds all of it is held after that.
    fn held_narrow(&mut self, x: ExprId) -> Option<Option<(Layer, ExprId)>> {
        let Some((Op::Cast, [narrow])) = self.op_of(x) else { return Some(None) };
        let (narrow, to) = (*narrow, self.dtype(x)?);
        let from = self.dtype(narrow)?;
        let Some((layer @ Layer::Bound(..), inner)) = self.held_by(narrow) else { return Some(None) };
        if !from.is_float() || !loses_nothing(from, to) {
            return Some(None);
        }
        let inner = self.op(Op::Cast, to, &[inner])?;
        Some(Some((layer, inner)))
    }

    /// Whether a float surely is a number above 0, and none that is infinite.
    pub(super) fn is_finite_above_zero(&self, x: ExprId) -> bool {
        // What is stated is rounded to the dtype.
        let held = |v: f64| self.dtype(x).and_then(|dtype| round(dtype, v));
        let ends = self.floats_of(x).and_then(|(low, high)| held(low).zip(held(high)));
        ends.is_some_and(|(low, high)| low > 0.0 && high.is_finite())
    }

    /// Returns what is held by an integer, from below where that is so, or rounded to one.
    fn held_by(&self, x: ExprId) -> Option<(Layer, ExprId)> {
        let expr = self.expr(x)?;
        #[allow(clippy::cast_precision_loss)]
        let most = most_whole(expr.dtype)? as f64;
        let whole = |id: ExprId| self.float(id).filter(|v| v.fract() == 0.0 && v.abs() <= most);
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Max | Op::AtLeast), [inner, b]) => Some((Layer::Bound(true, whole(*b)?), *inner)),
            (Form::Op(Op::Min | Op::AtMost), [inner, b]) => Some((Layer::Bound(false, whole(*b)?), *inner)),
            (Form::Op(Op::Round), [inner]) => Some((Layer::Round, *inner)),
            (Form::Named(target, _), [inner]) if real(target) == Some(Real::Relu) => {
                Some((Layer::Bound(true, 0.0), *inner))
            }
            _ => None,
        }
    }
}
