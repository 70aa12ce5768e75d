//! Choices by a comparison that are a bound, a remainder, or a magnitude.
//!
//! ## What it says
//! Of two integers the one that a comparison of them chooses is the greater or the lesser one; so it is where what is compared is apart as they are, or by
//! one more or less where the choice does not change there. What is left of a division that cuts, made positive by adding the divisor once, is what is left of
//! the one that rounds down, of floats too, where it is not 0. Over the reals the greater one of two floats of which a NaN is none is the same in either order. The greater one of the greatest and of the opposite of the least is the greatest magnitude, where a bound above 0 holds it.
//!
//! ## When it is wrong
//! Of floats: a comparison with NaN is false, so that only a choice that takes the first where that is NaN is a bound, and only over the reals: which of
//! two zeros is the greater one is the kernel's. Integers of which nothing is known may be apart by more than their dtype holds. The magnitude is that
//! of the same elements.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::make::width;
use crate::rules::table::{FMOD, REMAINDER};
use crate::sym::Dim;

impl Elements {
    /// Returns the bound, or the remainder, that a choice of integers is; `Some(None)` where it is neither.
    pub(super) fn picked(&mut self, dtype: Dtype, c: ExprId, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let integers = width(dtype).is_some_and(|w| w > 1);
        if let Some(rest) = self.rest_made_signed(dtype, c, (a, b))? {
            return Some(Some(rest));
        }
        if dtype.is_float() && !self.exact {
            return self.picked_number(dtype, c, a, b);
        }
        let Some((op @ (Op::Lt | Op::Le), [p, q])) = self.op_of(c) else { return Some(None) };
        let (p, q) = (*p, *q);
        if !integers || self.dtype(p) != Some(dtype) {
            return Some(None);
        }
        let bound = match (a == q && b == p, a == p && b == q) {
            (true, _) => Some(Op::Max),
            (_, true) => Some(Op::Min),
            _ => None,
        };
        if let Some(bound) = bound {
            self.by("choose-greater");
            return self.op(bound, dtype, &[a, b]).map(Some);
        }
        if op == Op::Lt
            && let Some((x, by)) = self.cut_remainder(p)
            && self.number(q) == Some(0)
            && b == p
        {
            let by = self.integer(dtype, by)?;
            if self.op(Op::Add, dtype, &[p, by])? == a {
                self.by("remainder-of-cut");
                return self.op(Op::Rem, dtype, &[x, by]).map(Some);
            }
        }
        let Some(apart) = self.surely_apart(dtype, q, p)? else { return Some(None) };
        // Where the comparison turns, both may be one, or not be reached yet.
        let turns = if op == Op::Lt { [-1, 0] } else { [0, 1] };
        for (bound, x, y) in [(Op::Max, a, b), (Op::Min, b, a)] {
            let Some(own) = self.surely_apart(dtype, x, y)? else { return Some(None) };
            let more = self.op(Op::Sub, dtype, &[own, apart])?;
            if self.number(more).is_some_and(|k| turns.contains(&k)) {
                self.by("choose-greater");
                return self.op(bound, dtype, &[a, b]).map(Some);
            }
        }
        Some(None)
    }

    /// What a division of floats leaves that cuts, the divisor added once where it is not 0 and of another sign than that: what one leaves that rounds down.
    fn rest_made_signed(&mut self, dtype: Dtype, c: ExprId, (a, b): (ExprId, ExprId)) -> Option<Option<ExprId>> {
        let Some(Expr { form: Form::Named(target, tokens), kids, .. }) = self.expr(b).cloned() else {
            return Some(None);
        };
        let ([x, y], true) = (kids.as_slice(), *target == *FMOD && tokens.len() == 2 && dtype.is_float()) else {
            return Some(None);
        };
        let (x, y, zero) = (*x, *y, self.rounded(dtype, 0.0)?);
        let [below, under] = [b, y].map(|id| self.op(Op::Lt, Dtype::Bool, &[id, zero]));
        let apart = self.op(Op::Xor, Dtype::Bool, &[below?, under?])?;
        let none = self.op(Op::Eq, Dtype::Bool, &[b, zero])?;
        let some = self.op(Op::Not, Dtype::Bool, &[none])?;
        if self.op(Op::And, Dtype::Bool, &[some, apart])? != c || self.op(Op::Add, dtype, &[b, y])? != a {
            return Some(None);
        }
        self.by("remainder-of-cut");
        self.named(dtype, Form::Named(REMAINDER.into(), tokens), &[x, y]).map(Some)
    }

    /// The same of floats, over the reals: the first one where it is the greater one, or NaN.
    fn picked_number(&mut self, dtype: Dtype, c: ExprId, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let Some((Op::Or, [p, q])) = self.op_of(c) else { return Some(None) };
        for (order, lost) in [(*p, *q), (*q, *p)] {
            let nan = match self.op_of(lost) {
                Some((Op::Not, [same])) => match self.op_of(*same) {
                    Some((Op::Eq, [x, y])) if x == y => *x,
                    _ => continue,
                },
                _ => continue,
            };
            let Some((Op::Lt | Op::Le, [less, more])) = self.op_of(order) else { continue };
            let bound = match (*less == b && *more == a, *less == a && *more == b) {
                (true, _) => Op::Max,
                (_, true) => Op::Min,
                _ => continue,
            };
            if nan == a {
                self.by("choose-greater");
                return self.op(bound, dtype, &[a, b]).map(Some);
            }
            if nan == b {
                return self.greater_number(bound, dtype, a, b);
            }
        }
        Some(None)
    }

    /// The greater (lesser) one of two floats, the other one where one is NaN: whichever stands first, over the reals.
    fn greater_number(&mut self, bound: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let (x, y) = (a.min(b), a.max(b));
        let order = if bound == Op::Max { [y, x] } else { [x, y] };
        let order = self.op(Op::Le, Dtype::Bool, &order)?;
        let same = self.op(Op::Eq, Dtype::Bool, &[y, y])?;
        let lost = self.op(Op::Not, Dtype::Bool, &[same])?;
        let first = self.op(Op::Or, Dtype::Bool, &[order, lost])?;
        self.by("choose-greater-number");
        if let Some(known) = self.number(first) {
            return Some(Some(if known == 0 { y } else { x }));
        }
        self.raw(Op::Choose, dtype, &[first, x, y]).map(Some)
    }

    /// Returns how far two integers are apart, where their dtype surely holds that.
    fn surely_apart(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let (x, y) = match (self.integers_of(a), self.integers_of(b)) {
            (Some(x), Some(y)) => (x, y),
            _ => return Some(None),
        };
        let ends = x.0.checked_sub(y.1).zip(x.1.checked_sub(y.0));
        let holds = |v: i64| crate::rules::element::make::wrapped(dtype, v) == Some(v);
        if !ends.is_some_and(|(low, high)| holds(low) && holds(high)) {
            return Some(None);
        }
        self.op(Op::Sub, dtype, &[a, b]).map(Some)
    }

    /// Returns the number and the divisor of which an integer is what a division that cuts leaves.
    fn cut_remainder(&self, id: ExprId) -> Option<(ExprId, i64)> {
        let expr = self.expr(id)?;
        let Form::Poly(products) = &expr.form else { return None };
        let (x, over, by) = less_a_multiple(products, &expr.kids)?;
        let (Op::DivTrunc, [y, n]) = self.op_of(over)? else { return None };
        (*y == x && self.number(*n) == Some(by)).then_some((x, by))
    }

    /// Returns the greatest magnitude of some elements, where an expression is the greater one of their greatest and of the opposite of their least.
    pub(super) fn greatest_magnitude(&mut self, x: ExprId) -> Option<Option<ExprId>> {
        let Some((Op::Max, [p, q])) = self.op_of(x) else { return Some(None) };
        for (most, other) in [(*p, *q), (*q, *p)] {
            let (Some(of), Some(least)) = (self.reduced_by(most, Fold::Most), self.opposite_of_least(other)) else {
                continue;
            };
            if of == least {
                let (level, sizes, body) = of;
                let magnitude = self.op(Op::Abs, self.dtype(body)?, &[body])?;
                return self.reduced(Fold::Most, level, &sizes, magnitude).map(Some);
            }
        }
        Some(None)
    }

    /// Returns what an expression takes the greatest, or the least, of, and over which dimensions.
    fn reduced_by(&self, id: ExprId, wanted: Fold) -> Option<(u32, Box<[Dim]>, ExprId)> {
        let expr = self.expr(id)?;
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Reduce(fold, level, sizes), [body]) if *fold == wanted => Some((*level, sizes.clone(), *body)),
            _ => None,
        }
    }

    /// The same of the least of which an expression is the opposite: the greatest of opposites is one.
    fn opposite_of_least(&self, id: ExprId) -> Option<(u32, Box<[Dim]>, ExprId)> {
        if let Some((Op::Neg, [inner])) = self.op_of(id) {
            return self.reduced_by(*inner, Fold::Least);
        }
        let (level, sizes, body) = self.reduced_by(id, Fold::Most)?;
        match self.op_of(body) {
            Some((Op::Neg, [inner])) => Some((level, sizes, *inner)),
            _ => None,
        }
    }
}

/// Returns a number, what is multiplied, and the positive number by which, where a sum is the number less the product.
pub(super) fn less_a_multiple(products: &[(u32, i64)], kids: &[ExprId]) -> Option<(ExprId, ExprId, i64)> {
    let ([(1, f), (1, g)], [a, b]) = (products, kids) else { return None };
    let (x, over, by) = match (f, g) {
        (1, by) => (*a, *b, by),
        (by, 1) => (*b, *a, by),
        _ => return None,
    };
    Some((x, over, by.checked_neg().filter(|by| *by > 0)?))
}
