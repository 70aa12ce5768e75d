//! Choices, bounds and truths.
//!
//! ## What it says
//! A choice of equal values is that value; with the opposite condition its values are exchanged; of two conditions that never hold together either is asked first. A bound within bounds: constants are taken together, in
//! the order in which they are applied. The greater one of a value and itself, or of a
//! value and minus infinity, is that value; that of an integer and its opposite is its magnitude; that of a value and the greatest of
//! some, in place of others of which it stands, is that without the others. Bool algebra. Of 1 and 0 it is the truth as a number. A
//! magnitude that takes the sign of its number is that number. A
//! rounded number and an integer are bounded as the number is by what is left of the bound. Of two numbers one is not less than the other where that is
//! at most the one. A quotient by the greatest magnitude over a whole number, of one of those of which it is the greatest, rounded to an integer, does not pass that number.
//!
//! ## When it is wrong
//! Bounds apply in order: `clamp(clamp(x, 0, 1), 2, 3)` is 2, not `clamp(x, 2, 1)`. NaN passes. Which of 0.0 and -0.0 is the greater one is the kernel's:
//! a bound of 0 is never moved past another, nor are such operands exchanged. `where(a > b, a, b)` is not `maximum`.
//! Where the greatest magnitude over the number may be less than the smallest number that has all of its places, its quotients pass: it must be at least a number, or of what is
//! stated to be far from 0. Before it is rounded a quotient passes in its last places.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::make::ends;
use crate::rules::rounding::{is_element_of, unit};

impl Elements {
    pub(super) fn choose(&mut self, dtype: Dtype, c: ExprId, a: ExprId, b: ExprId) -> Option<ExprId> {
        if let Some(known) = self.number(c).map(|v| v != 0).or_else(|| self.truths.get(&c).copied()) {
            return Some(if known { a } else { b });
        }
        if a == b {
            self.by("choose-equal");
            return Some(a);
        }
        if let Some((Op::Not, [inner])) = self.op_of(c) {
            let inner = *inner;
            self.by("choose-not");
            return self.choose(dtype, inner, b, a);
        }
        if dtype == Dtype::Bool
            && let (Some(yes), Some(no)) = (self.number(a), self.number(b))
        {
            // Of true and false it is the truth, or its opposite; both are not the same here.
            self.by("choose-truth");
            return if yes != 0 && no == 0 { Some(c) } else { self.negated(c) };
        }
        if let (Some((Op::Neg, [minus])), Some((Op::Abs, [x])), Some((Op::Lt, [bits, zero]))) =
            (self.op_of(a), self.op_of(b), self.op_of(c))
            && let (true, Some((Op::Bits, [of])), Some(0)) = (*minus == b, self.op_of(*bits), self.number(*zero))
            && of == x
        {
            let x = *x;
            self.by("magnitude-with-sign");
            return Some(x);
        }
        let (one, zero) = match dtype.is_float() {
            true => (self.float(a) == Some(1.0), self.float(b).is_some_and(|v| v.to_bits() == 0)),
            false => (self.number(a) == Some(1), self.number(b) == Some(0)),
        };
        if one && zero && matches!(self.expr(a).map(|x| &x.form), Some(Form::Const(_))) {
            self.by("choose-truth");
            return self.op(Op::Cast, dtype, &[c]);
        }
        if let Some(picked) = self.picked(dtype, c, a, b)? {
            return Some(picked);
        }
        // Below its own condition a choice is made.
        let a = match self.op_of(a) {
            Some((Op::Choose, [d, x, _])) if *d == c => *x,
            _ => a,
        };
        let b = match self.op_of(b) {
            Some((Op::Choose, [d, _, y])) if *d == c => *y,
            _ => b,
        };
        if a == b {
            return Some(a);
        }
        // Of two conditions that never hold together either may be asked first.
        if let (Some((Op::Choose, [d, x, y])), Some((Op::Lt, [p, q]))) = (self.op_of(b), self.op_of(c))
            && *d < c
            && let (d, x, y) = (*d, *x, *y)
            && matches!(self.op_of(d), Some((Op::Lt, [r, s])) if r == q && s == p)
        {
            self.by("choose-either");
            let inner = self.choose(dtype, c, a, y)?;
            return self.choose(dtype, d, x, inner);
        }
        self.raw(Op::Choose, dtype, &[c, a, b])
    }

    pub(super) fn negated(&mut self, a: ExprId) -> Option<ExprId> {
        if let Some(v) = self.number(a) {
            return self.truth(v == 0);
        }
        match self.op_of(a) {
            Some((Op::Not, [inner])) => Some(*inner),
            Some((op @ (Op::Lt | Op::Le), [x, y])) if self.is_never_nan(*x) && self.is_never_nan(*y) => {
                let (x, y) = (*x, *y);
                self.by("not-less");
                self.compared(if op == Op::Lt { Op::Le } else { Op::Lt }, y, x)
            }
            _ => self.raw(Op::Not, Dtype::Bool, &[a]),
        }
    }

    /// Whether a float is a number: one that is stated, that lies between two, or that an integer is.
    fn is_never_nan(&self, x: ExprId) -> bool {
        let integer = |k: &ExprId| self.dtype(*k).is_some_and(|d| !d.is_float() && !d.is_complex());
        let converted = matches!(self.op_of(x), Some((Op::Cast, [inner])) if integer(inner));
        self.dtype(x).is_some_and(Dtype::is_float) && (converted || self.floats_of(x).is_some())
    }

    /// Operators on truths: a sum is "or", a product is "and".
    pub(super) fn logic(&mut self, op: Op, kids: &[ExprId]) -> Option<ExprId> {
        let [a, b] = kids else { return None };
        let (a, b) = (*a.min(b), *a.max(b));
        let known = |e: &Self, x| e.number(x).map(|v| v != 0);
        match op {
            Op::And | Op::Mul | Op::Or | Op::Add => {
                // What decides: false for "and", true for "or".
                let decides = matches!(op, Op::Or | Op::Add);
                for (x, y) in [(a, b), (b, a)] {
                    if let Some(v) = known(self, x) {
                        return if v == decides { self.truth(v) } else { Some(y) };
                    }
                }
                if a == b {
                    return Some(a);
                }
                if !decides && let Some(told) = self.told_by_comparison(a, b)? {
                    return Some(told);
                }
                self.raw(if decides { Op::Or } else { Op::And }, Dtype::Bool, &[a, b])
            }
            Op::Xor => {
                for (x, y) in [(a, b), (b, a)] {
                    if let Some(v) = known(self, x) {
                        return if v { self.negated(y) } else { Some(y) };
                    }
                }
                if a == b { self.truth(false) } else { self.raw(Op::Xor, Dtype::Bool, &[a, b]) }
            }
            _ => None,
        }
    }

    /// What a comparison that holds says of whether one of its floats is NaN: both together are the comparison, or never true.
    fn told_by_comparison(&mut self, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let itself = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Eq, [c, d])) if c == d && e.dtype(*c).is_some_and(Dtype::is_float) => Some(*c),
            _ => None,
        };
        for (compared, other) in [(a, b), (b, a)] {
            let Some((Op::Lt | Op::Le | Op::Eq, [x, y])) = self.op_of(compared) else { continue };
            let (x, y) = (*x, *y);
            let number = itself(self, other).is_some_and(|c| c == x || c == y);
            let negated = match self.op_of(other) {
                Some((Op::Not, [inner])) => itself(self, *inner).is_some_and(|c| c == x || c == y),
                _ => false,
            };
            if number || negated {
                self.by("compare-by-comparison");
                return if number { Some(Some(compared)) } else { self.truth(false).map(Some) };
            }
        }
        Some(None)
    }

    /// A number that may be taken together with others: not 0 among floats, whose sign a bound may keep or not, and no NaN.
    fn is_firm(&self, x: ExprId) -> bool {
        match self.float(x) {
            Some(v) => v != 0.0 && !v.is_nan(),
            None => self.number(x).is_some(),
        }
    }

    fn is_less(&self, a: ExprId, b: ExprId) -> Option<bool> {
        match (self.float(a), self.float(b)) {
            (Some(a), Some(b)) => Some(a < b),
            _ => Some(self.number(a)? < self.number(b)?),
        }
    }

    /// Whether a number is assumed not to equal itself.
    pub(super) fn is_nan(&mut self, x: ExprId) -> Option<bool> {
        if self.truths.is_empty() || !self.dtype(x)?.is_float() {
            return Some(false);
        }
        // The opposite of NaN is one, and so is its magnitude.
        let mut x = x;
        while let Some((Op::Neg | Op::Abs, [inner])) = self.op_of(x) {
            x = *inner;
        }
        let itself = self.raw(Op::Eq, Dtype::Bool, &[x, x])?;
        Some(self.truths.get(&itself) == Some(&false))
    }

    /// Returns a whole number that no quotient passes which is rounded to an integer, of an element by its scale: the greatest magnitude of some, that one among them, divided by that
    /// number, and no less than what is seen in its dtype.
    pub(super) fn quotient_within(&mut self, id: ExprId) -> Option<Option<f64>> {
        let Some((Op::Round, [quotient])) = self.op_of(id) else { return Some(None) };
        let Some((Op::Div, [x, scale])) = self.op_of(*quotient) else { return Some(None) };
        let (x, dtype) = (*x, self.dtype(id)?);
        let (scale, seen) = self.without_least_number(*scale);
        let (most, by) = match self.op_of(scale) {
            Some((Op::Div, [most, by])) => (*most, self.float(*by)),
            Some((Op::Mul, [most, by])) => (*most, self.float(*by).map(|v| (1.0 / v).round())),
            _ => return Some(None),
        };
        let least = if dtype == Dtype::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
        let Some(by) = by.filter(|v| v.fract() == 0.0 && *v >= 1.0 && *v * 8.0 * unit(dtype) < 0.5) else {
            return Some(None);
        };
        let (most, above) = self.without_least_number(most);
        let stated = matches!(self.expr(x).map(|x| &x.form), Some(Form::Load(..))) && self.is_never_near_zero(x);
        if !stated && seen.max(above / by) < 2.0 * least {
            return Some(None);
        }
        // A product by the inverse of a number is nearly the quotient by it.
        let exact = match self.op_of(scale) {
            Some((Op::Mul, [_, inverse])) => self.float(*inverse).is_some_and(|v| (v * by - 1.0).abs() <= unit(dtype)),
            _ => true,
        };
        let size = self.op(Op::Abs, dtype, &[x])?;
        let is_one =
            matches!(dtype, Dtype::F32 | Dtype::F64 | Dtype::Bf16) && exact && is_element_of(self, size, most, None);
        Some(is_one.then_some(by))
    }

    /// Returns an element without a number above 0 that it is at least, and that number.
    fn without_least_number(&self, id: ExprId) -> (ExprId, f64) {
        match self.op_of(id) {
            Some((Op::Max | Op::AtLeast, [x, least])) => match (self.float(*x), self.float(*least)) {
                (None, Some(v)) if v > 0.0 => (*x, v),
                (Some(v), None) if v > 0.0 => (*least, v),
                _ => (id, 0.0),
            },
            _ => (id, 0.0),
        }
    }

    pub(super) fn bounded_by(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        if self.is_nan(a)? && (self.is_firm(b) || matches!(op, Op::AtLeast | Op::AtMost)) {
            return Some(a);
        }
        if dtype.is_float()
            && let Some(whole) = self.of_whole(op, dtype, &[a, b])?
        {
            return Some(whole);
        }
        if let Some(known) = self.bound_by_numbers(op, a, b).filter(|_| dtype.is_float()) {
            self.by("bound-by-assumption");
            return Some(known);
        }
        if let Some(moved) = self.bound_of_sum(op, dtype, a, b)? {
            return Some(moved);
        }
        // A bound above 0 leaves no sign of a zero.
        if dtype.is_float()
            && matches!(op, Op::Max | Op::AtLeast)
            && self.float(b).is_some_and(|v| v > 0.0)
            && let Some(most) = self.greatest_magnitude(a)?
        {
            self.by("greatest-magnitude");
            return self.op(op, dtype, &[most, b]);
        }
        if dtype.is_float()
            && let Some(v) = self.float(b)
            && let Some(most) = self.quotient_within(a)?
            && if matches!(op, Op::Max | Op::AtLeast) { v <= -most } else { v >= most }
        {
            self.by("bound-of-quotient");
            return Some(a);
        }
        let op = match op {
            Op::AtLeast if self.is_firm(b) || !dtype.is_float() => Op::Max,
            Op::AtMost if self.is_firm(b) || !dtype.is_float() => Op::Min,
            other => other,
        };
        if matches!(op, Op::AtLeast | Op::AtMost) {
            // Two zeros of one sign are one number.
            if a == b {
                return Some(a);
            }
            if let (Some(x), Some(y)) = (self.float(a), self.float(b))
                && x.partial_cmp(&y).is_some_and(|o| o.is_ne())
            {
                return Some(if (x < y) == (op == Op::AtLeast) { b } else { a });
            }
            return match self.op_of(a) {
                Some((inner, [_, c])) if inner == op && *c == b => Some(a),
                _ => self.raw(op, dtype, &[a, b]),
            };
        }
        if dtype == Dtype::Bool {
            return self.logic(if op == Op::Max { Op::Or } else { Op::And }, &[a, b]);
        }
        if a == b {
            self.by("bound-itself");
            return Some(a);
        }
        if matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64) && self.op(Op::Neg, dtype, &[a])? == b {
            self.by("greater-of-opposites");
            let size = self.op(Op::Abs, dtype, &[a])?;
            return if op == Op::Max { Some(size) } else { self.op(Op::Neg, dtype, &[size]) };
        }
        if !dtype.is_float()
            && let (Some(x), Some(y)) = (self.integers_of(a), self.integers_of(b))
        {
            let first = if op == Op::Max { x.0 >= y.1 } else { x.1 <= y.0 };
            let second = if op == Op::Max { y.0 >= x.1 } else { y.1 <= x.0 };
            if first || second {
                self.by("bound-by-range");
                return Some(if first { a } else { b });
            }
        }
        if !dtype.is_float()
            && let Some(moved) = self.bound_by_parts(op, dtype, a, b)?
        {
            return Some(moved);
        }
        if !dtype.is_float()
            && let Some(cut) = self.bound_of_cut(op, dtype, a, b)?
        {
            return Some(cut);
        }
        let unlike = matches!((self.float(a), self.float(b)), (Some(x), Some(y)) if x.partial_cmp(&y).is_some_and(|o| o.is_ne()));
        if unlike || self.is_firm(a) && self.is_firm(b) {
            let less = self.is_less(a, b)?;
            return Some(if less == (op == Op::Max) { b } else { a });
        }
        let (x, c) = if self.is_firm(a) { (b, a) } else { (a, b) };
        let nothing = if op == Op::Max { f64::NEG_INFINITY } else { f64::INFINITY };
        if self.float(c).is_some_and(|v| v.total_cmp(&nothing).is_eq()) {
            self.by("bound-past-all");
            return Some(x);
        }
        if let Some(kept) = self.greatest_beside(op, dtype, a, b)? {
            return Some(kept);
        }
        if !self.is_firm(c) {
            let (x, c) = if dtype.is_float() { (x, c) } else { (x.min(c), x.max(c)) };
            return self.raw(op, dtype, &[x, c]);
        }
        self.within(op, dtype, x, c)
    }

    /// The greater of an element and of the greatest of some, in place of others of which that element stands: these are left out.
    fn greatest_beside(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let floats = !self.exact && matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
        if dtype.is_float() && !floats {
            return Some(None);
        }
        let (own, infinite) =
            if op == Op::Max { (Fold::Most, f64::NEG_INFINITY) } else { (Fold::Least, f64::INFINITY) };
        for (x, beside, first) in [(a, b, true), (b, a, false)] {
            let Some(Expr { form: Form::Reduce(fold, level, sizes), kids, .. }) = self.expr(x).cloned() else {
                continue;
            };
            let Some((Op::Choose, &[condition, yes, no])) = self.op_of(*kids.first()?) else { continue };
            // A number is a bound of each of them.
            let is_number = self.number(beside).is_some();
            if fold != own || (yes == beside) == (no == beside) || is_number || self.mentions(beside, level) {
                continue;
            }
            let least = match ends(dtype) {
                Some((low, high)) => self.integer(dtype, if op == Op::Max { low } else { high })?,
                None if floats => self.rounded(dtype, infinite)?,
                None => continue,
            };
            let (yes, no) = if yes == beside { (least, no) } else { (yes, least) };
            self.by("greatest-beside");
            let body = self.op(Op::Choose, dtype, &[condition, yes, no])?;
            let rest = self.reduced(fold, level, &sizes, body)?;
            let both = if first { [rest, beside] } else { [beside, rest] };
            return self.op(op, dtype, &both).map(Some);
        }
        Some(None)
    }

    /// A bound of a rounded number and an integer: the number is bounded, by what is left of the bound, then the integer is added. All numbers are
    /// integers that the dtype holds, so that where the bound holds the sum is that number.
    fn bound_of_sum(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        if !self.exact || !matches!(dtype, Dtype::F32 | Dtype::F64) {
            return Some(None);
        }
        let small = |v: f64| v.fract() == 0.0 && v.abs() <= 1_048_576.0 && !(v == 0.0 && v.is_sign_negative());
        for (sum, bound) in [(a, b), (b, a)] {
            let (Some(bound), Some((Op::Add, [x, y]))) = (self.float(bound).filter(|v| small(*v)), self.op_of(sum))
            else {
                continue;
            };
            for (x, y) in [(*x, *y), (*y, *x)] {
                let Some(more) = self.float(y).filter(|v| small(*v) && *v != 0.0) else { continue };
                if !self.is_rounded(x) {
                    continue;
                }
                self.by("bound-of-sum");
                let left = self.rounded(dtype, bound - more)?;
                let firm = self.is_firm(left);
                let op = match op {
                    Op::Max | Op::AtLeast if firm => Op::Max,
                    Op::Max | Op::AtLeast => Op::AtLeast,
                    _ if firm => Op::Min,
                    _ => Op::AtMost,
                };
                let within = self.op(op, dtype, &[x, left])?;
                return self.op(Op::Add, dtype, &[within, y]).map(Some);
            }
        }
        Some(None)
    }

    /// Whether a float is one that was rounded to an integer, held between numbers.
    fn is_rounded(&self, mut x: ExprId) -> bool {
        for _ in 0..4 {
            match self.op_of(x) {
                Some((Op::Round, _)) => return true,
                Some((Op::Max | Op::Min | Op::AtLeast | Op::AtMost, [inner, bound]))
                    if self.float(*bound).is_some() =>
                {
                    x = *inner;
                }
                _ => return false,
            }
        }
        false
    }

    /// `min(max(x, low), high)` with one more bound.
    fn within(&mut self, op: Op, dtype: Dtype, x: ExprId, c: ExprId) -> Option<ExprId> {
        let firm = |e: &Self, x: ExprId, op: Op| match e.op_of(x) {
            Some((found, [inner, c])) if found == op && e.is_firm(*c) => Some((*inner, *c)),
            _ => None,
        };
        let (inner, high) = firm(self, x, Op::Min).map_or((x, None), |(x, c)| (x, Some(c)));
        let (inner, low) = firm(self, inner, Op::Max).map_or((inner, None), |(x, c)| (x, Some(c)));
        if low.is_some() || high.is_some() {
            self.by("bounds-together");
        }
        let beyond = |e: &Self, a: Option<ExprId>, b: Option<ExprId>, most: bool| match (a, b) {
            (Some(a), Some(b)) => e.is_less(a, b).map(|less| Some(if less == most { b } else { a })),
            (one, None) => Some(one),
            (None, Some(_)) => Some(None),
        };
        let (low, high) = if op == Op::Max {
            let low = low.map_or(Some(Some(c)), |low| beyond(self, Some(low), Some(c), true))?;
            (low, beyond(self, high, Some(c), true)?)
        } else {
            let high = high.map_or(Some(Some(c)), |high| beyond(self, Some(high), Some(c), false))?;
            (low, high)
        };
        // Beyond the upper bound a lower one says nothing.
        let low = match (low, high) {
            (Some(low), Some(high)) if self.is_less(high, low)? => Some(high),
            (low, _) => low,
        };
        // A number at least as high and at most as low as one number is that.
        if let (Some(low), Some(high)) = (low, high)
            && low == high
            && (!dtype.is_float() || self.is_ordered(inner) == Some(true))
        {
            return Some(low);
        }
        let lowest = match low {
            Some(low) => self.raw(Op::Max, dtype, &[inner, low])?,
            None => inner,
        };
        match high {
            Some(high) => self.raw(Op::Min, dtype, &[lowest, high]),
            None => Some(lowest),
        }
    }
}
