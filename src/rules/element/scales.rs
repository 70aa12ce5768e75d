//! Scales: factors that are powers of two, and a factor that is divided by again before it is rounded to an integer.
//!
//! ## What it says
//! A product of an integer and a float, divided by that float, or multiplied by its inverse, and rounded to an integer, is that integer. A power of two moves through a product and a
//! conversion to a shorter float, and from a divisor that is at most 1 as its inverse to what is divided.
//!
//! ## When it is wrong
//! Where the float may be 0, negative, so small or so large that the product leaves the numbers that have all of their places: it must be stated between which numbers it
//! lies. An integer so large that its roundings come to a half. A power of two below 1 rounds what has not all of its places, one above 1 is infinite sooner: of both factors, and of the
//! product, it must be known that they are 0 or far from either end; of what is divided nothing need be known where it is only made larger, and its quotient is larger still.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::element::make::{ends, width};
use crate::rules::table::{Real, real};

/// How deep expressions are looked into.
const DEPTH: usize = 6;
/// By how much a few roundings move a number at most.
const NEAR: f64 = 1e-2;

/// Between which magnitudes every number lies that has all of its places, well within.
fn whole_range(dtype: Dtype) -> Option<(f64, f64)> {
    match dtype {
        Dtype::F16 => Some((2.0_f64.powi(-13), 2.0_f64.powi(15))),
        Dtype::Bf16 | Dtype::F32 => Some((2.0_f64.powi(-125), 2.0_f64.powi(126))),
        Dtype::F64 => Some((2.0_f64.powi(-1020), 2.0_f64.powi(1020))),
        _ => None,
    }
}

/// Whether a float is a power of two, above 0.
fn is_power(v: f64) -> bool {
    v.is_normal() && v > 0.0 && v.to_bits() & ((1 << 52) - 1) == 0
}

impl Elements {
    /// Returns two magnitudes above 0 between which a float lies wherever it is neither 0 nor NaN.
    fn magnitudes(&mut self, id: ExprId, depth: usize) -> Option<(f64, f64)> {
        let depth = depth.checked_sub(1)?;
        let dtype = self.dtype(id)?;
        let (least, most) = whole_range(dtype)?;
        let (low, high) = match (self.expr(id)?.form.clone(), self.expr(id)?.kids.clone().as_slice()) {
            (Form::Const(_) | Form::Load(..), _) => match self.floats_of(id)? {
                (low, high) if low > 0.0 => (low, high),
                (low, high) if high < 0.0 => (-high, -low),
                _ => return None,
            },
            (Form::Op(Op::Neg | Op::Abs), [x]) => self.magnitudes(*x, depth)?,
            (Form::Op(Op::Cast), [x]) if width(self.dtype(*x)?).is_some() => {
                let all = ends(self.dtype(*x)?);
                let (low, high) = self.integers_of(*x).or(all)?;
                #[allow(clippy::cast_precision_loss)]
                let far = low.unsigned_abs().max(high.unsigned_abs()).max(1) as f64;
                (1.0, far)
            }
            (Form::Op(Op::Cast), [x]) => self.magnitudes(*x, depth)?,
            (Form::Op(Op::Mul), [x, y]) => {
                let ((a, b), (c, d)) = (self.magnitudes(*x, depth)?, self.magnitudes(*y, depth)?);
                (a * c, b * d)
            }
            _ => return None,
        };
        let (low, high) = (low * (1.0 - NEAR), high * (1.0 + NEAR));
        (least < low && high < most).then_some((low, high))
    }

    /// The same of a float times a power of two.
    fn magnitudes_by(&mut self, id: ExprId, power: f64) -> Option<()> {
        let (low, high) = self.magnitudes(id, DEPTH)?;
        let (least, most) = whole_range(self.dtype(id)?)?;
        (least < low * power && high * power < most).then_some(())
    }

    /// Returns a product by a power of two as the factor times that, or a conversion of it; `Some(None)` where it stands so.
    pub(super) fn power_within(&mut self, x: ExprId, power: ExprId) -> Option<Option<ExprId>> {
        let Some(by) = self.float(power).filter(|v| is_power(*v)) else { return Some(None) };
        let dtype = self.dtype(x)?;
        if self.magnitudes_by(x, by).is_none() {
            return Some(None);
        }
        match self.op_of(x) {
            Some((Op::Cast, [inner])) => {
                let inner = *inner;
                let from = self.dtype(inner)?;
                if !from.is_float() || self.magnitudes_by(inner, by).is_none() {
                    return Some(None);
                }
                self.by("power-within");
                let power = self.rounded(from, by)?;
                let inner = self.op(Op::Mul, from, &[inner, power])?;
                self.op(Op::Cast, dtype, &[inner]).map(Some)
            }
            Some((Op::Mul, [a, b])) => {
                let (a, b) = (*a, *b);
                // To the factor that is stated, not to what is computed of integers.
                let stated = |e: &Self, id: ExprId| matches!(e.expr(id).map(|x| &x.form), Some(Form::Load(..)));
                let Some((kept, moved)) = [(a, b), (b, a)].into_iter().find(|(_, m)| stated(self, *m)) else {
                    return Some(None);
                };
                if self.magnitudes_by(moved, by).is_none() {
                    return Some(None);
                }
                self.by("power-within");
                let moved = self.raw(Op::Mul, dtype, &[moved.min(power), moved.max(power)])?;
                self.raw(Op::Mul, dtype, &[kept.min(moved), kept.max(moved)]).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Returns a quotient by what is multiplied by a power of two as that of its multiple; `Some(None)` where it stands so.
    pub(super) fn power_of_divisor(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let Some((Op::Mul, [x, y])) = self.op_of(b).filter(|_| matches!(dtype, Dtype::F32 | Dtype::F64)) else {
            return Some(None);
        };
        for (scale, power) in [(*x, *y), (*y, *x)] {
            let Some(by) = self.float(power).filter(|v| is_power(*v) && *v < 1.0) else { continue };
            let small = self.magnitudes(scale, DEPTH).is_some_and(|(_, high)| high <= 1.0);
            if small && self.magnitudes_by(scale, by).is_some() {
                self.by("power-of-divisor");
                let inverse = self.rounded(dtype, by.recip())?;
                let more = self.op(Op::Mul, dtype, &[a, inverse])?;
                return self.op(Op::Div, dtype, &[more, scale]).map(Some);
            }
        }
        Some(None)
    }

    /// Returns the integer, a float, of which a multiple is divided by the same factor, where that is rounded to an integer; `Some(None)` where it stands so.
    pub(super) fn whole_again(&mut self, quotient: ExprId) -> Option<Option<ExprId>> {
        // Three roundings of as many as this come to less than a half.
        let Some(most) = self.dtype(quotient).and_then(|d| match d {
            Dtype::F32 => Some(1_i64 << 20),
            Dtype::F64 => Some(1 << 40),
            _ => None,
        }) else {
            return Some(None);
        };
        let (product, by, divides) = match self.op_of(quotient) {
            Some((Op::Div, [product, by])) => (*product, *by, true),
            Some((Op::Mul, [x, y])) => match (self.inverse_of(*x), self.inverse_of(*y)) {
                (_, Some(by)) => (*x, by, false),
                (Some(by), _) => (*y, by, false),
                _ => return Some(None),
            },
            _ => return Some(None),
        };
        let Some((Op::Mul, [x, y])) = self.op_of(product) else { return Some(None) };
        for (whole, factor) in [(*x, *y), (*y, *x)] {
            if factor != by || self.floats_of(by).is_none_or(|(low, _)| low <= 0.0) {
                continue;
            }
            let Some(number) = self.whole(whole) else { continue };
            let few = self.integers_of(number).is_some_and(|(low, high)| low >= most.saturating_neg() && high <= most);
            // Its inverse, too, has all of its places.
            let inverse = divides || self.magnitudes(by, DEPTH).is_some_and(|(low, high)| low > 1e-30 && high < 1e30);
            if few && inverse && self.magnitudes(product, DEPTH).is_some() {
                self.by("whole-again");
                return Some(Some(whole));
            }
        }
        Some(None)
    }

    fn inverse_of(&self, x: ExprId) -> Option<ExprId> {
        let expr = self.expr(x)?;
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [one, by]) if self.float(*one) == Some(1.0) => Some(*by),
            (Form::Named(target, _), [by]) if real(target) == Some(Real::Reciprocal) => Some(*by),
            _ => None,
        }
    }
}
