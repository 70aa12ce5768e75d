//! Arithmetic and functions over the reals in a field.
//!
//! Promises: what is equal over the reals by what is known of a function here is one number; of all else nothing is known. The exponential of a sum is the product of
//! those of its terms, drawn for each.

use crate::graph::Dtype;
use crate::rules::element::arena::{Expr, Op};
use crate::rules::element::cast::round;
use crate::rules::fingerprint::lane::{Lane, Number, Tag, Terms, Value};
use crate::rules::fingerprint::loops::Node;
use crate::rules::table::Real;

/// How large numerator and denominator of a fraction may be that a number is the nearest to.
const FRACTION: i64 = 4096;
/// How many terms a sum may have that is an exponent.
const TERMS: usize = 6;

impl Lane {
    /// Returns a float as the number that it is, or as the fraction of small numbers that it is the nearest to.
    pub(super) fn float(&mut self, dtype: Dtype, v: f64) -> Value {
        if !v.is_finite() {
            return Value::Undefined;
        }
        if let Some((over, under)) = fraction(dtype, v).filter(|_| self.takes_fractions) {
            let (over, under) = (self.whole(over), self.whole(under));
            return self.quotient(over, under);
        }
        let bits = v.to_bits();
        let (exponent, rest) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        let (mantissa, shift) = match exponent {
            0 => (rest, -1074_i64),
            _ => (rest | 1 << 52, i64::try_from(exponent).unwrap_or(0).saturating_sub(1075)),
        };
        let by = self.prime.power(2, shift.unsigned_abs());
        let by = if shift < 0 { self.prime.inverse(by).unwrap_or(0) } else { by };
        let far = self.prime.times(self.prime.of(u128::from(mantissa)), by);
        let v = if v < 0.0 { self.prime.minus(far) } else { far };
        let (above, below) =
            if shift < 0 { (53, shift.unsigned_abs()) } else { (shift.unsigned_abs().saturating_add(53), 0) };
        self.made(Number { v, over: 0, under: 0, above, below })
    }

    /// Returns the terms of a number, the opposite of one as that one taken away.
    fn terms(&self, x: Number) -> Terms {
        if let Some(known) = self.sums.get(&x.v) {
            return known.clone();
        }
        let one = if self.prime.is_negative(x.v) { (self.minus(x), -1) } else { (x, 1) };
        let is_nothing = x.v == 0;
        std::iter::once(one).filter(|_| !is_nothing).collect()
    }

    /// Keeps of what a number is the sum, or the difference: an exponential may be asked of it.
    fn keep_terms(&mut self, made: Value, x: Number, y: Number, sign: i64) -> Value {
        let Value::Number(sum) = made else { return made };
        let mut all = self.terms(x);
        for (term, times) in self.terms(y) {
            let times = times.saturating_mul(sign);
            match all.iter_mut().find(|(n, _)| n.v == term.v) {
                Some((_, known)) => *known = known.saturating_add(times),
                None => all.push((term, times)),
            }
        }
        all.retain(|(_, times)| *times != 0);
        self.count(all.len().saturating_add(1));
        if all.len() <= TERMS && all.iter().all(|(_, times)| times.unsigned_abs() <= 64) {
            self.sums.insert(sum.v, all);
        }
        made
    }

    /// An exponential: the product of those of the terms of its exponent.
    fn exp(&mut self, x: Number) -> Value {
        let mut product = self.whole(1);
        for (term, times) in self.terms(x) {
            let Value::Number(one) = self.call(Tag::Real(Real::Exp), &[Value::Number(term)]) else {
                return Value::Undefined;
            };
            for _ in 0..times.unsigned_abs() {
                let made = if times < 0 { self.quotient(product, one) } else { self.times(product, one) };
                let Value::Number(next) = made else { return Value::Undefined };
                product = next;
            }
        }
        Value::Number(product)
    }

    fn sigmoid(&mut self, x: Number) -> Value {
        let (minus, one) = (self.minus(x), self.whole(1));
        let Value::Number(exp) = self.exp(minus) else { return Value::Undefined };
        let Value::Number(under) = self.plus(exp, one) else { return Value::Undefined };
        self.quotient(one, under)
    }

    /// A function that the sign of its operand passes through, or is lost in.
    fn by_sign(&mut self, tag: Tag, x: Number, keeps_sign: bool) -> Value {
        let back = self.prime.is_negative(x.v);
        let operand = if back { self.minus(x) } else { x };
        match self.call(tag, &[Value::Number(operand)]) {
            Value::Number(made) if back && keeps_sign => Value::Number(self.minus(made)),
            other => other,
        }
    }

    pub(super) fn function(&mut self, function: Real, x: Number) -> Value {
        let one = self.whole(1);
        let then = |lane: &mut Self, made: Value, with: &mut dyn FnMut(&mut Self, Number) -> Value| match made {
            Value::Number(n) => with(lane, n),
            other => other,
        };
        let drawn = |lane: &mut Self, x: Number| lane.call(Tag::Real(function), &[Value::Number(x)]);
        match function {
            Real::Exp => self.exp(x),
            Real::Expm1 => {
                let exp = self.exp(x);
                let less = self.minus(one);
                then(self, exp, &mut |lane, n| lane.plus(n, less))
            }
            Real::Log1p => {
                let more = self.plus(x, one);
                then(self, more, &mut |lane, n| lane.call(Tag::Real(Real::Log), &[Value::Number(n)]))
            }
            Real::Rsqrt => {
                let root = self.call(Tag::Real(Real::Sqrt), &[Value::Number(x)]);
                then(self, root, &mut |lane, n| lane.quotient(one, n))
            }
            Real::Reciprocal => self.quotient(one, x),
            Real::Sigmoid => self.sigmoid(x),
            Real::Silu => {
                let sigmoid = self.sigmoid(x);
                then(self, sigmoid, &mut |lane, n| lane.times(x, n))
            }
            Real::Relu => {
                let zero = self.whole(0);
                self.greatest(&[x, zero])
            }
            Real::Square => self.times(x, x),
            Real::Tanh => {
                let Value::Number(twice) = self.plus(x, x) else { return Value::Undefined };
                let sigmoid = self.sigmoid(twice);
                let less = self.minus(one);
                then(self, sigmoid, &mut |lane, n| match lane.plus(n, n) {
                    Value::Number(double) => lane.plus(double, less),
                    other => other,
                })
            }
            Real::Sinh | Real::Cosh => {
                let (minus, half) = (self.minus(x), self.whole(2));
                let (Value::Number(up), Value::Number(down)) = (self.exp(x), self.exp(minus)) else {
                    return Value::Undefined;
                };
                let down = if function == Real::Cosh { down } else { self.minus(down) };
                let both = self.plus(up, down);
                then(self, both, &mut |lane, n| lane.quotient(n, half))
            }
            Real::Erfc => {
                let erf = self.by_sign(Tag::Real(Real::Erf), x, true);
                then(self, erf, &mut |lane, n| {
                    let minus = lane.minus(n);
                    lane.plus(one, minus)
                })
            }
            Real::Tan => {
                let (over, under) =
                    (self.by_sign(Tag::Real(Real::Sin), x, true), self.by_sign(Tag::Real(Real::Cos), x, false));
                then(self, over, &mut |lane, over| match under {
                    Value::Number(under) => lane.quotient(over, under),
                    other => other,
                })
            }
            Real::Erf | Real::Sin => self.by_sign(Tag::Real(function), x, true),
            Real::Cos => self.by_sign(Tag::Real(function), x, false),
            Real::Exp2 | Real::Log | Real::Sqrt => drawn(self, x),
        }
    }

    pub(super) fn over_reals(&mut self, op: Op, expr: &Expr, node: &Node, kids: &[Number], given: &[Value]) -> Value {
        let other = |lane: &mut Self| lane.call(Tag::Form(expr.form.clone(), expr.dtype), given);
        match (op, kids) {
            (Op::Add, [a, b]) => {
                let made = self.plus(*a, *b);
                self.keep_terms(made, *a, *b, 1)
            }
            (Op::Sub, [a, b]) => {
                let minus = self.minus(*b);
                let made = self.plus(*a, minus);
                self.keep_terms(made, *a, *b, -1)
            }
            (Op::Neg, [a]) => {
                let (none, made) = (self.whole(0), self.minus(*a));
                self.keep_terms(Value::Number(made), none, *a, -1)
            }
            (Op::Mul, [a, b]) => self.times(*a, *b),
            (Op::Div, [a, b]) => self.quotient(*a, *b),
            (Op::Max | Op::AtLeast, [a, b]) => self.greatest(&[*a, *b]),
            (Op::Min | Op::AtMost, [a, b]) => self.least(&[*a, *b]),
            (Op::Abs, [a]) => self.by_sign(Tag::Form(expr.form.clone(), Dtype::F64), *a, false),
            (Op::Cast, [a]) if node.keeps => Value::Number(*a),
            _ => other(self),
        }
    }
}

/// Returns the fraction of small numbers that a float is the nearest to, where it is not itself a number of few bits.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::float_cmp)]
fn fraction(dtype: Dtype, v: f64) -> Option<(i64, i64)> {
    let few = v.to_bits().trailing_zeros() >= 40;
    if few || !(v.abs() < FRACTION as f64 && v.abs() > 1.0 / FRACTION as f64) {
        return None;
    }
    let is_it = |over: i64, under: i64| {
        let near = over as f64 / under as f64;
        match dtype {
            Dtype::F32 => round(dtype, near) == Some(v) || near == v,
            Dtype::F64 => near == v,
            _ => false,
        }
    };
    // By continued fractions.
    let (mut x, [mut p, mut q, mut r, mut s]) = (v.abs(), [0_i64, 1, 1, 0]);
    for _ in 0..16 {
        let whole = x.floor() as i64;
        (p, r) = (r, whole.checked_mul(r)?.checked_add(p)?);
        (q, s) = (s, whole.checked_mul(s)?.checked_add(q)?);
        if r > FRACTION.checked_mul(FRACTION)? || s > FRACTION {
            return None;
        }
        let signed = if v < 0.0 { r.checked_neg()? } else { r };
        if is_it(signed, s) {
            return Some((signed, s));
        }
        x = 1.0 / (x - x.floor());
        if !x.is_finite() {
            return None;
        }
    }
    None
}
