//! Floats: arithmetic that is exact, or rounds once the same number.
//!
//! ## What it says
//! `x + -0.0`, `x - 0.0`, `x * 1` and `x / 1` are `x`; `x * -1` is `-x`; `a - b` is `a + (-b)`; sums and products commute; a sign passes through
//! products and quotients, and is lost to both operands where it is lost to them, and in a square; what the host says is above 0 is its magnitude; `x / 2^k` is `x * 2^-k` where the dtype has both, and `x * (1 / s)` is `x / s` where the host says that `s` is such a power; `x + x` is `2 * x`; 0 is 0 by a number above 0; rounding to an integer is idempotent, and a sign passes through.
//! Over the reals the opposite of a chosen number is the chosen opposite, and where one of two chosen numbers is 0 wherever the other is not, their sum is the one that is not.
//!
//! ## When it is wrong
//! `x + 0.0` is not `x` (-0.0). `-(a - b)` is not `b - a` (0.0). Nothing associates or distributes: each step rounds. A quotient by a number
//! that is no power of two is no product. 0 by what may be 0, infinite or NaN is NaN. In narrow floats a number that the dtype does not hold is another operand than its rounding.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::table::{Real, real};

/// How deep choices of numbers may stand in choices.
const NUMBERS: usize = 4;

impl Elements {
    /// Returns the operand of which this is the negative.
    fn negative_of(&self, x: ExprId) -> Option<ExprId> {
        match self.op_of(x)? {
            (Op::Neg, [inner]) => Some(*inner),
            _ => None,
        }
    }

    pub(super) fn float_op(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<ExprId> {
        if !matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64) {
            return self.raw(op, dtype, kids);
        }
        if let Some(number) = self.of_numbers(op, dtype, kids) {
            return Some(number);
        }
        if let Some(chosen) = self.of_chosen_numbers(op, dtype, kids)? {
            return Some(chosen);
        }
        if let Some(whole) = self.of_whole(op, dtype, kids)? {
            return Some(whole);
        }
        match (op, kids) {
            (Op::Add, [a, b]) => self.added(dtype, *a, *b),
            (Op::Sub, [a, b]) => match self.float(*b).filter(|v| !v.is_nan()) {
                Some(v) => {
                    self.by("sub-number");
                    let b = self.rounded(dtype, -v)?;
                    self.added(dtype, *a, b)
                }
                None => match self.negative_of(*b) {
                    Some(b) => self.added(dtype, *a, b),
                    None => self.raw(op, dtype, kids),
                },
            },
            (Op::Mul, [a, b]) => self.multiplied(dtype, *a, *b),
            (Op::Div, [a, b]) => self.quotient_of(dtype, *a, *b),
            (Op::Neg, [a]) => self.opposite(dtype, *a),
            (Op::Abs, [a]) => match (self.op_of(*a), self.float(*a)) {
                (Some((Op::Neg | Op::Abs, [inner])), _) => {
                    let inner = *inner;
                    self.by("abs-of-sign");
                    self.op(Op::Abs, dtype, &[inner])
                }
                (_, Some(v)) => self.rounded(dtype, v.abs()),
                _ if self.floats_of(*a).is_some_and(|(low, _)| low > 0.0) => {
                    self.by("abs-of-positive");
                    Some(*a)
                }
                (Some((of @ (Op::Mul | Op::Div), [x, y])), _) => {
                    let (x, y) = (*x, *y);
                    self.by("abs-of-product");
                    let (x, y) = (self.op(Op::Abs, dtype, &[x])?, self.op(Op::Abs, dtype, &[y])?);
                    self.op(of, dtype, &[x, y])
                }
                _ => match self.magnitude_of_whole(dtype, *a)? {
                    Some(size) => Some(size),
                    None => self.raw(op, dtype, kids),
                },
            },
            (Op::Round, [a]) => self.rounded_to_integer(dtype, *a),
            _ => self.raw(op, dtype, kids),
        }
    }

    /// Arithmetic of a number and of a choice of two of them, as the choice of what it makes of each.
    fn of_chosen_numbers(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<Option<ExprId>> {
        let &[a, b] = kids else { return Some(None) };
        for (choice, number, first) in [(a, b, true), (b, a, false)] {
            let Some((Op::Choose, &[truth, p, q])) = self.op_of(choice) else { continue };
            if [number, p, q].iter().any(|k| self.float(*k).is_none()) {
                continue;
            }
            let made = [p, q].map(|k| self.of_numbers(op, dtype, &if first { [k, number] } else { [number, k] }));
            let [Some(p), Some(q)] = made else { continue };
            return self.op(Op::Choose, dtype, &[truth, p, q]).map(Some);
        }
        Some(None)
    }

    /// The number that two numbers make: of an `f64` sum, difference, product or quotient of shorter numbers the rounding is the one that the dtype makes.
    fn of_numbers(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<ExprId> {
        let [a, b] = kids else { return None };
        let (a, b) = (self.float(*a)?, self.float(*b)?);
        let made = match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            _ => return None,
        };
        self.by("arithmetic-of-numbers");
        self.rounded(dtype, made)
    }

    fn added(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        let is_negative_zero = |e: &Self, x| e.float(x).is_some_and(|v| v == 0.0 && v.is_sign_negative());
        if is_negative_zero(self, b) || is_negative_zero(self, a) {
            self.by("add-negative-zero");
            return Some(if is_negative_zero(self, b) { a } else { b });
        }
        if a == b {
            self.by("add-itself");
            let two = self.rounded(dtype, 2.0)?;
            return self.multiplied(dtype, a, two);
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Some(y) = self.negative_of(y)
                && self.negative_of(x).is_none()
            {
                self.by("add-negative");
                return self.raw(Op::Sub, dtype, &[x, y]);
            }
        }
        if let Some(one) = self.sum_of_apart(dtype, a, b)? {
            return Some(one);
        }
        self.raw(Op::Add, dtype, &[a.min(b), a.max(b)])
    }

    /// The sum of two of which one is 0 wherever the other is chosen, over the reals: that other one, with 0 added, which takes the sign from a zero.
    fn sum_of_apart(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        if self.exact {
            return Some(None);
        }
        let (Some((Op::Choose, [c, yes, no])), Some((Op::Choose, [d, other_yes, other_no]))) =
            (self.op_of(a), self.op_of(b))
        else {
            return Some(None);
        };
        let zero = |x: &ExprId| self.float(*x) == Some(0.0);
        let (c, same) = (*c, c == d);
        let kept = match (zero(yes) && zero(other_no), zero(no) && zero(other_yes)) {
            (true, _) => (*other_yes, *no),
            (_, true) => (*yes, *other_no),
            _ => return Some(None),
        };
        if !same {
            return Some(None);
        }
        let (chosen, zero) = (self.op(Op::Choose, dtype, &[c, kept.0, kept.1])?, self.rounded(dtype, 0.0)?);
        self.raw(Op::Add, dtype, &[chosen.min(zero), chosen.max(zero)]).map(Some)
    }

    fn multiplied(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        if let (true, Some((Op::Abs, [inner]))) = (a == b, self.op_of(a)) {
            let inner = *inner;
            self.by("abs-of-product");
            return self.raw(Op::Mul, dtype, &[inner, inner]);
        }
        for (x, y) in [(a, b), (b, a)] {
            match self.float(y) {
                Some(1.0) => {
                    self.by("mul-one");
                    return Some(x);
                }
                Some(-1.0) => {
                    self.by("mul-minus-one");
                    return self.opposite(dtype, x);
                }
                Some(0.0) if self.is_finite_above_zero(x) => {
                    self.by("zero-scaled");
                    return Some(y);
                }
                _ => {}
            }
            if let Some(power) = self.inverse_of_power(y) {
                self.by("div-power-of-two");
                return self.quotient_of(dtype, x, power);
            }
            if let Some(y) = self.negative_of(y) {
                self.by("sign-of-product");
                let product = self.multiplied(dtype, x, y)?;
                return self.opposite(dtype, product);
            }
        }
        if a == b
            && let Some((Op::Abs, [inner])) = self.op_of(a)
        {
            let inner = *inner;
            self.by("abs-of-product");
            return self.raw(Op::Mul, dtype, &[inner, inner]);
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Some(within) = self.power_within(x, y)? {
                return Some(within);
            }
        }
        self.raw(Op::Mul, dtype, &[a.min(b), a.max(b)])
    }

    /// Returns the power of two of which this is the inverse.
    fn inverse_of_power(&self, x: ExprId) -> Option<ExprId> {
        let expr = self.expr(x)?;
        let power = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [one, power]) if self.float(*one) == Some(1.0) => *power,
            (Form::Named(target, _), [power]) if real(target) == Some(Real::Reciprocal) => *power,
            _ => return None,
        };
        match &self.expr(power)?.form {
            Form::Load(source, _) => self.powers.contains(source).then_some(power),
            _ => None,
        }
    }

    fn quotient_of(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        if self.float(a) == Some(0.0) && self.is_finite_above_zero(b) {
            self.by("zero-scaled");
            return Some(a);
        }
        if let Some(c) = self.float(b) {
            let inverse = c.recip();
            let power = c.is_normal() && inverse.is_normal() && c.to_bits() & ((1 << 52) - 1) == 0;
            if power && crate::rules::element::cast::round(dtype, inverse) == Some(inverse) {
                self.by("div-power-of-two");
                let inverse = self.rounded(dtype, inverse)?;
                return self.multiplied(dtype, a, inverse);
            }
        }
        for (x, y, first) in [(a, b, true), (b, a, false)] {
            if let Some(x) = self.negative_of(x) {
                self.by("sign-of-quotient");
                let quotient = if first { self.quotient_of(dtype, x, y) } else { self.quotient_of(dtype, y, x) }?;
                return self.opposite(dtype, quotient);
            }
        }
        if let Some(quotient) = self.power_of_divisor(dtype, a, b)? {
            return Some(quotient);
        }
        self.raw(Op::Div, dtype, &[a, b])
    }

    fn opposite(&mut self, dtype: Dtype, a: ExprId) -> Option<ExprId> {
        if let Some(inner) = self.negative_of(a) {
            self.by("neg-neg");
            return Some(inner);
        }
        match self.float(a) {
            Some(v) => self.rounded(dtype, -v),
            None if !self.exact && self.chooses_numbers(a, NUMBERS) => {
                self.by("opposite-numbers");
                self.opposite_number(dtype, a)
            }
            None => self.raw(Op::Neg, dtype, &[a]),
        }
    }

    /// Whether an element is one of a few numbers that truths choose.
    fn chooses_numbers(&self, a: ExprId, depth: usize) -> bool {
        let inner = depth.checked_sub(1);
        match (self.op_of(a), inner) {
            _ if self.float(a).is_some() => true,
            (Some((Op::Choose, [_, x, y])), Some(inner)) => {
                self.chooses_numbers(*x, inner) && self.chooses_numbers(*y, inner)
            }
            (Some((Op::Cast, [truth])), _) => self.dtype(*truth) == Some(Dtype::Bool),
            _ => false,
        }
    }

    /// The opposite of such an element: that of 0 is -0.0.
    fn opposite_number(&mut self, dtype: Dtype, a: ExprId) -> Option<ExprId> {
        if let Some(v) = self.float(a) {
            return self.rounded(dtype, -v);
        }
        match self.op_of(a)? {
            (Op::Choose, [c, x, y]) => {
                let (c, x, y) = (*c, *x, *y);
                let (x, y) = (self.opposite_number(dtype, x)?, self.opposite_number(dtype, y)?);
                self.op(Op::Choose, dtype, &[c, x, y])
            }
            (Op::Cast, [truth]) => {
                let truth = *truth;
                let (minus, zero) = (self.rounded(dtype, -1.0)?, self.rounded(dtype, -0.0)?);
                self.op(Op::Choose, dtype, &[truth, minus, zero])
            }
            _ => None,
        }
    }

    fn rounded_to_integer(&mut self, dtype: Dtype, a: ExprId) -> Option<ExprId> {
        if self.exact && self.whole(a).is_some() {
            self.by("integers-as-floats");
            return Some(a);
        }
        if let Some(whole) = self.whole_again(a)? {
            return Some(whole);
        }
        match self.op_of(a) {
            Some((Op::Round, _)) => return Some(a),
            // Halves go to even, whichever sign they have.
            Some((Op::Neg, [x])) => {
                let x = *x;
                self.by("round-of-sign");
                let x = self.rounded_to_integer(dtype, x)?;
                return self.opposite(dtype, x);
            }
            // Rounding keeps the order of numbers, and integers: a bound that is one may be held before or after.
            Some((op @ (Op::Max | Op::Min), [x, c])) => {
                let (x, c) = (*x, *c);
                if self.float(c).is_some_and(|c| c != 0.0 && c.fract() == 0.0) {
                    self.by("round-within-integers");
                    let x = self.rounded_to_integer(dtype, x)?;
                    return self.op(op, dtype, &[x, c]);
                }
            }
            _ => {}
        }
        self.raw(Op::Round, dtype, &[a])
    }
}
