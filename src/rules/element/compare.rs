//! Comparisons.
//!
//! ## What it says
//! Among integers `a <= b` is not `b < a`, `a == b` is `a - b == 0` (wrapping around), a number equals itself; none is less than itself, a NaN neither. Conversions that lose nothing keep order
//! and equality, as do those to fewer bits of integers that these hold. Of two floats one is less, or both are equal, or one is greater, or one is NaN: what is known of some comparisons says others. `-x < c` is `-c < x`; `|x| < c` is `-c < x` and `x < c`, and `|x| == c`, above 0, is `x == -c` or `x == c`; `x * c == 0`, of a magnitude of `c` of at least 1 and finite in f32, is `x == 0`; `x * 0 == 0` says that `x` is finite, and no NaN; `x * c < d`, of a power of two `c`, is `x < d / c` where neither number is as small as what has not all of its places; `max(x, c) <= d` is `x <= d` where `c <= d`, else false. Over the reals `0 < x - c` is `c < x`. Comparisons of indices are arithmetic. A count of truths, or of products of truths, is above 0 where any is true, and that of all where none is false. The greater one of two is one of them where the other is not above it, and what is bounded by numbers is itself between them. The bits of a float, without that of its sign, are in the order of magnitudes up to the infinite one, and beyond that of NaN alone; where it is never 0, that of its sign tells whether it is less. A truth as a number is 0 where it is false. A product of integers that surely does not wrap around is 0 where any of them is.
//!
//! ## When it is wrong
//! Of bits below those of the smallest number that has all of its places nothing is said: a comparison of such floats may take them for 0. The bit of the sign of -0.0 is set, and -0.0 is not less than 0. `c <= max(x, c)` is false where `x` is NaN: of such nothing is said. With NaN `a <= b` is not the opposite of `b < a`, and `x == x` is false. Among floats `a == b` is no statement of `a - b` (inf - inf). `a < b` is
//! no statement of the sign of `a - b` among integers either: that wraps around.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::loses_nothing;
use crate::rules::element::index::IndexId;
use crate::rules::element::make::{ends, width};
use crate::sym::Dim;

/// How many places of an f64 stand behind its leading one.
const PLACES: u32 = 52;

impl Elements {
    /// A magnitude is less than a number where what has it lies between that and its opposite: bit by bit.
    fn magnitude_compared(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let inner = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Abs, [inner])) => Some(*inner),
            _ => None,
        };
        let dtype = self.dtype(a)?;
        let (x, v, within) = match (inner(self, a), inner(self, b), self.float(a), self.float(b)) {
            (Some(x), _, _, Some(v)) => (x, v, true),
            (_, Some(x), Some(v), _) => (x, v, false),
            _ => return Some(None),
        };
        if !self.exact || v.is_nan() || op == Op::Eq && v <= 0.0 {
            return Some(None);
        }
        self.by("compare-magnitude");
        let (low, high) = (self.rounded(dtype, -v)?, self.rounded(dtype, v)?);
        if op == Op::Eq {
            let (below, above) = (self.compared(op, x, low)?, self.compared(op, x, high)?);
            return Some(self.op(Op::Or, Dtype::Bool, &[below, above]));
        }
        Some(if within {
            let (above, below) = (self.compared(op, low, x)?, self.compared(op, x, high)?);
            self.op(Op::And, Dtype::Bool, &[above, below])
        } else {
            let (above, below) = (self.compared(op, high, x)?, self.compared(op, x, low)?);
            self.op(Op::Or, Dtype::Bool, &[above, below])
        })
    }

    /// A multiple of a float by a number that is at least 1 is 0 where the float is, and nowhere else.
    fn is_nothing_where(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let literal = |e: &Self, x: ExprId| match e.expr(x)?.form {
            Form::Number(bits) => Some(f64::from_bits(bits)),
            _ => e.float(x),
        };
        // Narrower floats are multiplied in f32, where the number may be infinite.
        let most = if self.dtype(a)? == Dtype::F64 { f64::MAX } else { f64::from(f32::MAX) };
        let grows = |e: &Self, x: ExprId| literal(e, x).is_some_and(|v| (1.0..=most).contains(&v.abs()));
        for (product, zero) in [(a, b), (b, a)] {
            let (Some((Op::Mul, [x, y])), Some(0.0)) = (self.op_of(product), self.float(zero)) else { continue };
            let factor = if grows(self, *y) { *x } else { *y };
            if op == Op::Eq && (grows(self, *x) || grows(self, *y)) {
                self.by("compare-product");
                return self.compared(op, factor, zero).map(Some);
            }
        }
        Some(None)
    }

    /// A multiple by a power of two is less than a number where the float is less than that number divided by it: nothing is rounded in between.
    fn scaled_compared(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let dtype = self.dtype(a)?;
        let is_power = |v: &f64| v.is_normal() && v.to_bits().trailing_zeros() >= PLACES;
        let scaled = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Mul, [p, q])) => match (e.float(*p), e.float(*q)) {
                (None, Some(k)) if is_power(&k) => Some((*p, k)),
                (Some(k), None) if is_power(&k) => Some((*q, k)),
                _ => None,
            },
            _ => None,
        };
        let (x, k, v, first) = match (scaled(self, a), self.float(b), self.float(a), scaled(self, b)) {
            (Some((x, k)), Some(v), ..) => (x, k, v, true),
            (.., Some(v), Some((x, k))) => (x, k, v, false),
            _ => return Some(None),
        };
        let Some((least, _)) = bits_of_ends(dtype) else { return Some(None) };
        // Below the least number that has all of its places a product is rounded.
        let holds = |v: f64| float_of_bits(dtype, least).is_some_and(|least| v.abs() >= 4.0 * least && v.is_finite());
        let at = v / k;
        let bound = self.rounded(dtype, at)?;
        // Over the reals where a function bends is told by what is compared.
        let is_exact = self.exact && holds(v) && holds(at) || v == 0.0 && (k.abs() >= 1.0 || !self.exact);
        if !is_exact || self.float(bound) != Some(at) {
            return Some(None);
        }
        self.by("compare-product");
        let (low, high) = if first == (k > 0.0) { (x, bound) } else { (bound, x) };
        self.compared(op, low, high).map(Some)
    }

    /// The greater of two of which one is a number is not above another number that is at least that, where the other is not; the lesser of two likewise.
    fn bound_compared(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let parts = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((bound @ (Op::Max | Op::AtLeast | Op::Min | Op::AtMost), [p, q])) => {
                let greater = matches!(bound, Op::Max | Op::AtLeast);
                match (e.float(*p), e.float(*q)) {
                    (None, Some(v)) => Some((greater, *p, v)),
                    (Some(v), None) => Some((greater, *q, v)),
                    _ => None,
                }
            }
            _ => None,
        };
        if op == Op::Eq {
            return Some(None);
        }
        let within = |below: f64, above: f64| if op == Op::Le { below <= above } else { below < above };
        let known = match (parts(self, a), self.float(b), self.float(a), parts(self, b)) {
            (Some((true, x, bound)), Some(v), ..) if !v.is_nan() && !bound.is_nan() => {
                if within(bound, v) {
                    Some((x, b))
                } else {
                    return self.never_compared().map(Some);
                }
            }
            (.., Some(v), Some((false, x, bound))) if !v.is_nan() && !bound.is_nan() => {
                if within(v, bound) {
                    Some((a, x))
                } else {
                    return self.never_compared().map(Some);
                }
            }
            // Where the bound is not enough alone.
            (Some((false, x, bound)), Some(v), ..) if bound > v || op == Op::Lt && bound >= v => Some((x, b)),
            (.., Some(v), Some((true, x, bound))) if bound < v || op == Op::Lt && bound <= v => Some((a, x)),
            _ => None,
        };
        let Some((x, y)) = known else { return Some(None) };
        self.by("compare-bound");
        self.compared(op, x, y).map(Some)
    }

    /// Bits of a magnitude are in the order of magnitudes, up to the infinite one; beyond are those of NaN. The sign of what is never 0 tells whether it is less.
    fn bits_compared(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let float_of = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Bits, [of])) if e.dtype(*of).is_some_and(Dtype::is_float) => Some(*of),
            _ => None,
        };
        if let (Op::Lt, Some(x), Some(0)) = (op, float_of(self, a), self.number(b))
            && self.is_never_zero(x)
        {
            self.by("compare-bits");
            let zero = self.rounded(self.dtype(x)?, 0.0)?;
            return self.compared(Op::Lt, x, zero).map(Some);
        }
        let (of, number, behind) = match (self.magnitude_in_bits(a), self.magnitude_in_bits(b)) {
            (Some(x), None) => (x, self.number(b), false),
            (None, Some(x)) => (x, self.number(a), true),
            _ => return Some(None),
        };
        let dtype = self.dtype(of)?;
        let (Some(number), Some((least, endless))) = (number, bits_of_ends(dtype)) else { return Some(None) };
        // What is not below is at least that.
        let (asked, opposite) = match (op, behind) {
            (Op::Lt, true) => (Op::Le, true),
            (Op::Le, true) => (Op::Lt, true),
            (op, _) => (op, false),
        };
        let (asked, at) = match asked {
            Op::Lt if number > endless => (Op::Le, number.checked_sub(1)?),
            asked => (asked, number),
        };
        if !(least..=endless).contains(&at) {
            return Some(None);
        }
        self.by("compare-bits");
        let found = if asked == Op::Le && at == endless {
            self.compared(Op::Eq, of, of)?
        } else {
            let (size, edge) = (self.op(Op::Abs, dtype, &[of])?, self.rounded(dtype, float_of_bits(dtype, at)?)?);
            self.compared(asked, size, edge)?
        };
        if opposite { self.op(Op::Not, Dtype::Bool, &[found]).map(Some) } else { Some(Some(found)) }
    }

    /// Returns the float of which an integer has the bits but for that of its sign.
    fn magnitude_in_bits(&self, x: ExprId) -> Option<ExprId> {
        let bits = |x: ExprId| match self.op_of(x) {
            Some((Op::Bits, [of])) if self.dtype(*of).is_some_and(Dtype::is_float) => Some(*of),
            _ => None,
        };
        if let Some((Op::Abs, [of])) = bits(x).and_then(|of| self.op_of(of)) {
            return Some(*of);
        }
        let (_, most) = ends(self.dtype(x)?)?;
        match self.op_of(x)? {
            (Op::And, [p, q]) if self.number(*q) == Some(most) => bits(*p),
            (Op::And, [p, q]) if self.number(*p) == Some(most) => bits(*q),
            _ => None,
        }
    }

    fn never_compared(&mut self) -> Option<ExprId> {
        self.by("compare-bound");
        self.truth(false)
    }

    /// Two floats whose comparison is that of both with the other sign: `-a < c` is `-c < a`, and `a - b < c` is `-c < b - a`.
    fn opposites(&mut self, a: ExprId, b: ExprId) -> Option<Option<(ExprId, ExprId)>> {
        let negative = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Neg, [inner])) => Some(*inner),
            _ => None,
        };
        let dtype = self.dtype(a)?;
        // Which zero it is makes no difference.
        let opposite = |v: f64| if v == 0.0 { 0.0 } else { -v };
        let back = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Sub, [p, q])) if q < p => Some((*q, *p)),
            _ => None,
        };
        Some(match (negative(self, a), negative(self, b), self.float(a), self.float(b)) {
            (Some(x), Some(y), ..) => Some((y, x)),
            (Some(x), _, _, Some(v)) => Some((self.rounded(dtype, opposite(v))?, x)),
            (_, Some(y), Some(v), _) => Some((y, self.rounded(dtype, opposite(v))?)),
            (.., Some(v)) if let Some((q, p)) = back(self, a) => {
                Some((self.rounded(dtype, opposite(v))?, self.op(Op::Sub, dtype, &[q, p])?))
            }
            (_, _, Some(v), _) if let Some((q, p)) = back(self, b) => {
                Some((self.op(Op::Sub, dtype, &[q, p])?, self.rounded(dtype, opposite(v))?))
            }
            _ => None,
        })
    }

    pub(super) fn compared(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<ExprId> {
        let dtype = self.dtype(a)?;
        if self.dtype(b)? != dtype {
            return None;
        }
        if let (Some(x), Some(y)) = (self.number(a), self.number(b)) {
            let (x, y, floats) = (x, y, (self.float(a), self.float(b)));
            return match (op, floats) {
                (Op::Lt, (Some(x), Some(y))) => self.truth(x < y),
                (Op::Le, (Some(x), Some(y))) => self.truth(x <= y),
                (_, (Some(x), Some(y))) => self.truth(x == y),
                (Op::Lt, _) => self.truth(x < y),
                (Op::Le, _) => self.truth(x <= y),
                _ => self.truth(x == y),
            };
        }
        if let Some(same) = self.lifted(op, a, b) {
            return Some(same);
        }
        if dtype == Dtype::Bool {
            return self.truths_compared(op, a, b);
        }
        if width(dtype).is_some() {
            if let Some(floats) = self.bits_compared(op, a, b)? {
                return Some(floats);
            }
            return self.integers_compared(op, dtype, a, b);
        }
        if self.exact
            && let (Some(x), Some(y)) = (self.whole(a), self.whole(b))
        {
            self.by("compare-before-cast");
            return self.compared(op, x, y);
        }
        if let Some(known) = self.between_integers(op, a, b)? {
            return Some(known);
        }
        if let Some(less) = self.greater_itself(op, a, b) {
            return Some(less);
        }
        if let Some((x, y)) = self.opposites(a, b)? {
            self.by("compare-opposites");
            return self.compared(op, x, y);
        }
        if let Some(known) = self.bound_compared(op, a, b)? {
            return Some(known);
        }
        if let Some(both) = self.magnitude_compared(op, a, b)? {
            return Some(both);
        }
        if let Some(inner) = self.is_nothing_where(op, a, b)? {
            return Some(inner);
        }
        if let Some(finite) = self.nothing_times(op, a, b)? {
            return Some(finite);
        }
        if let Some(inner) = self.scaled_compared(op, a, b)? {
            return Some(inner);
        }
        let (a, b) = if op == Op::Eq { (a.min(b), a.max(b)) } else { (a, b) };
        if let (Some(x), Some(y)) = (self.floats_of(a), self.floats_of(b)) {
            let (less, not_less) = (x.1 < y.0, x.0 >= y.1);
            let known = match op {
                Op::Lt if less || not_less => Some(less),
                Op::Le if x.1 <= y.0 || x.0 > y.1 => Some(x.1 <= y.0),
                Op::Eq if a == b => Some(true),
                Op::Eq if less || x.0 > y.1 => Some(false),
                _ => None,
            };
            if let Some(known) = known {
                self.by("compare-ranges");
                return self.truth(known);
            }
        }
        if let Some(known) = self.compared_as_numbers(op, a, b)? {
            return Some(known);
        }
        if !self.exact
            && let Some((x, y)) = self.alone(a, b)?
        {
            return self.compared(op, x, y);
        }
        if op == Op::Lt && a == b {
            self.by("not-less-than-itself");
            return self.truth(false);
        }
        let by_numbers = self.follows_by_numbers(op, a, b);
        if let Some(known) = by_numbers.or(self.follows(op, a, b)?) {
            self.by("compare-by-comparison");
            return self.truth(known);
        }
        self.raw(op, Dtype::Bool, &[a, b])
    }

    /// An integer as a float, compared with a number that is none: with the integer below it, or above it.
    fn between_integers(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let part = |e: &Self, x: ExprId| e.float(x).filter(|v| v.abs() < 256.0 && v.fract() != 0.0);
        let (number, other) = match (part(self, a), part(self, b)) {
            (Some(v), None) => (v, b),
            (None, Some(v)) => (v, a),
            _ => return Some(None),
        };
        let Some(whole) = self.whole(other).filter(|_| self.exact) else { return Some(None) };
        self.by("compare-before-cast");
        if op == Op::Eq {
            return self.truth(false).map(Some);
        }
        #[allow(clippy::cast_possible_truncation)]
        let below = self.integer(Dtype::I64, number.floor() as i64)?;
        // Above the number is above what is below it; below it is not above that.
        let above = self.compared(Op::Lt, below, whole)?;
        if other == b { Some(Some(above)) } else { self.op(Op::Not, Dtype::Bool, &[above]).map(Some) }
    }

    /// 0 times a float is 0 where that is a number.
    fn nothing_times(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let is_zero = |e: &Self, id: ExprId| e.float(id) == Some(0.0);
        let other = if is_zero(self, b) { a } else { b };
        let (Op::Eq, true, Some((Op::Mul, &[p, q]))) = (op, is_zero(self, a) != is_zero(self, b), self.op_of(other))
        else {
            return Some(None);
        };
        let x = match [is_zero(self, p), is_zero(self, q)] {
            [true, false] => q,
            [false, true] => p,
            _ => return Some(None),
        };
        let dtype = self.dtype(x)?;
        if !matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64) {
            return Some(None);
        }
        self.by("finite-by-nothing");
        let (size, endless) = (self.op(Op::Abs, dtype, &[x])?, self.rounded(dtype, f64::INFINITY)?);
        let (known, ends) = (self.op(Op::Eq, Dtype::Bool, &[x, x])?, self.op(Op::Eq, Dtype::Bool, &[size, endless])?);
        let inside = self.op(Op::Not, Dtype::Bool, &[ends])?;
        self.op(Op::And, Dtype::Bool, &[known, inside]).map(Some)
    }

    /// Returns what a comparison with a number is where the float is an opposite, or, compared with 0, a number more or less than another.
    fn alone(&mut self, a: ExprId, b: ExprId) -> Option<Option<(ExprId, ExprId)>> {
        let (number, other, first) = match (self.float(a), self.float(b)) {
            (Some(n), None) => (n, b, true),
            (None, Some(n)) => (n, a, false),
            _ => return Some(None),
        };
        let Some((op, kids)) = self.op_of(other) else { return Some(None) };
        let (x, at, turned) = match (op, kids) {
            (Op::Neg, [x]) => (*x, -number, true),
            (Op::Add | Op::Sub, [p, q]) if number.abs() <= 0.0 => match (op, self.float(*p), self.float(*q)) {
                (Op::Add, None, Some(more)) => (*p, -more, false),
                (Op::Add, Some(more), None) => (*q, -more, false),
                (Op::Sub, None, Some(less)) => (*p, less, false),
                (Op::Sub, Some(from), None) => (*q, from, true),
                _ => return Some(None),
            },
            _ => return Some(None),
        };
        if !at.is_finite() {
            return Some(None);
        }
        let dtype = self.dtype(x)?;
        let at = self.rounded(dtype, at)?;
        Some(Some(if first == turned { (x, at) } else { (at, x) }))
    }

    /// What is known of a comparison of floats by others of the same two, which are assumed: one is less, both are equal, one is greater, or one is NaN.
    pub(super) fn follows(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<Option<bool>> {
        if self.truths.is_empty() {
            return Some(None);
        }
        const LESS: u8 = 1;
        const EQUAL: u8 = 2;
        const GREATER: u8 = 4;
        const NEITHER: u8 = 8;
        let mut left = if a == b { EQUAL | NEITHER } else { LESS | EQUAL | GREATER | NEITHER };
        let asked = [
            (Op::Lt, a, b, LESS),
            (Op::Lt, b, a, GREATER),
            (Op::Le, a, b, LESS | EQUAL),
            (Op::Le, b, a, GREATER | EQUAL),
            (Op::Eq, a.min(b), a.max(b), EQUAL),
        ];
        for (op, x, y, holds) in asked {
            let other = self.raw(op, Dtype::Bool, &[x, y])?;
            match self.truths.get(&other) {
                Some(true) => left &= holds,
                Some(false) => left &= !holds,
                None => {}
            }
        }
        // Nothing is above infinity, or below its opposite.
        for (x, most, least) in [(a, LESS, GREATER), (b, GREATER, LESS)] {
            match self.float(x) {
                Some(f64::INFINITY) => left &= !most,
                Some(f64::NEG_INFINITY) => left &= !least,
                _ => {}
            }
        }
        let mut ordered = true;
        for x in [a, b] {
            let itself = self.raw(Op::Eq, Dtype::Bool, &[x, x])?;
            let inner = self.nan_of(x);
            let innermost = self.raw(Op::Eq, Dtype::Bool, &[inner, inner])?;
            let known = match self.float(x) {
                Some(v) => Some(!v.is_nan()),
                None => {
                    let stated = self.truths.get(&itself).or_else(|| self.truths.get(&innermost)).copied();
                    stated.or_else(|| self.is_ordered(x))
                }
            };
            ordered &= known == Some(true);
            if known == Some(false) {
                left &= NEITHER;
            }
        }
        if ordered {
            left &= !NEITHER;
        }
        let holds = match op {
            Op::Lt => LESS,
            Op::Le => LESS | EQUAL,
            _ => EQUAL,
        };
        Some(match (left & holds, left & !holds) {
            (_, 0) => Some(true),
            (0, _) => Some(false),
            _ => None,
        })
    }

    /// Whether a comparison that is assumed to hold says that a float is no NaN.
    pub(super) fn is_ordered(&self, x: ExprId) -> Option<bool> {
        let inner = self.nan_of(x);
        let holds = |id: &ExprId| {
            let compared = self.op_of(*id).filter(|(op, _)| matches!(op, Op::Lt | Op::Le | Op::Eq));
            compared.is_some_and(|(_, kids)| kids.iter().any(|k| *k == x || self.nan_of(*k) == inner))
        };
        self.truths.iter().any(|(id, known)| *known && holds(id)).then_some(true)
    }

    /// Compares what was converted, before it was.
    fn lifted(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<ExprId> {
        let inner = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((Op::Cast, [inner])) => Some(*inner),
            _ => None,
        };
        let to = self.dtype(a)?;
        let (x, y) = match (inner(self, a), inner(self, b)) {
            (Some(x), Some(y)) if self.dtype(x) == self.dtype(y) => (x, y),
            // 0 and 1 are numbers of every dtype.
            (Some(x), None) => (x, self.small(b, self.dtype(x)?)?),
            (None, Some(y)) => (self.small(a, self.dtype(y)?)?, y),
            _ => return None,
        };
        let own = self.dtype(x)?;
        let fit = |e: &mut Self, x: ExprId| width(own).is_some() && width(to).is_some() && e.stays_whole(x, to);
        let keeps_all = loses_nothing(own, to) || fit(self, x) && fit(self, y);
        if !keeps_all {
            return None;
        }
        self.by("compare-before-cast");
        self.compared(op, x, y)
    }

    fn small(&mut self, x: ExprId, dtype: Dtype) -> Option<ExprId> {
        // An integer that the narrower dtype holds, too.
        if width(dtype).is_some_and(|w| w > 1)
            && let Some(v) = self.number(x).filter(|_| self.dtype(x).and_then(width).is_some())
        {
            return (crate::rules::element::make::wrapped(dtype, v) == Some(v)).then(|| self.integer(dtype, v))?;
        }
        let v = match self.float(x) {
            Some(0.0) => 0,
            Some(1.0) => 1,
            Some(_) => return None,
            None => self.number(x).filter(|v| (0..=1).contains(v))?,
        };
        if dtype.is_float() { self.rounded(dtype, if v == 0 { 0.0 } else { 1.0 }) } else { self.integer(dtype, v) }
    }

    fn truths_compared(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<ExprId> {
        match op {
            Op::Eq => {
                let other = self.op(Op::Xor, Dtype::Bool, &[a, b])?;
                self.op(Op::Not, Dtype::Bool, &[other])
            }
            Op::Lt => {
                let low = self.op(Op::Not, Dtype::Bool, &[a])?;
                self.op(Op::And, Dtype::Bool, &[low, b])
            }
            _ => {
                let low = self.op(Op::Not, Dtype::Bool, &[a])?;
                self.op(Op::Or, Dtype::Bool, &[low, b])
            }
        }
    }

    /// An integer that is one of two numbers is the greater one where it is not the lower one.
    fn other_of_two(&mut self, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let (x, v) = match (self.number(a), self.number(b)) {
            (None, Some(v)) => (a, v),
            (Some(v), None) => (b, v),
            _ => return Some(None),
        };
        let Some((low, high)) = self.integers_of(x).filter(|(low, high)| low.checked_add(1) == Some(*high)) else {
            return Some(None);
        };
        if v != high {
            return Some(None);
        }
        let dtype = self.dtype(x)?;
        let low = self.integer(dtype, low)?;
        self.compared(Op::Eq, x, low).map(Some)
    }

    /// Returns the index that an expression is the number of.
    fn as_index(&mut self, x: ExprId) -> Option<IndexId> {
        match self.expr(x)?.form {
            Form::Index(i) => Some(i),
            Form::Const(v) => Some(self.at(Dim::Fixed(v))),
            _ => None,
        }
    }

    /// The integer and the number that it is where a sum of both, wrapping around, is 0.
    fn one_less_number(&mut self, dtype: Dtype, sum: ExprId) -> Option<Option<(ExprId, ExprId)>> {
        let Some(Expr { form: Form::Poly(products), kids, .. }) = self.expr(sum).cloned() else { return Some(None) };
        let factors = products.iter().filter(|(count, _)| *count > 0).collect::<Vec<_>>();
        let number = products.iter().find(|(count, _)| *count == 0).map_or(0, |(_, number)| *number);
        let ([(1, by @ (1 | -1))], [kid]) = (factors.as_slice(), kids.as_slice()) else { return Some(None) };
        let number = if *by == 1 { number.wrapping_neg() } else { number };
        Some(Some((*kid, self.integer(dtype, number)?)))
    }

    /// Returns the integer that a truth compares with a number, where it is that it is equal, and the number.
    pub fn is_number_where(&mut self, truth: ExprId) -> Option<(ExprId, i64)> {
        let (Op::Eq, &[a, b]) = self.op_of(truth)? else { return None };
        let (x, number) = match (self.number(a), self.number(b)) {
            (None, Some(v)) => (a, v),
            (Some(v), None) => (b, v),
            _ => return None,
        };
        let dtype = self.dtype(x).filter(|d| d.is_integer())?;
        match self.one_less_number(dtype, x)? {
            Some((kid, other)) if number == 0 => Some((kid, self.number(other)?)),
            Some(_) => None,
            None => Some((x, number)),
        }
    }

    fn integers_compared(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        if op == Op::Le {
            let other = self.compared(Op::Lt, b, a)?;
            return self.op(Op::Not, Dtype::Bool, &[other]);
        }
        if let (Some(i), Some(j)) = (self.as_index(a), self.as_index(b)) {
            self.by("compare-indices");
            let over = self.difference(j, i)?;
            if op == Op::Eq {
                return self.is_zero_expr(over);
            }
            let over = self.shift(over, Dim::Fixed(-1))?;
            return self.at_least_zero_expr(over);
        }
        if let (Some((low, high)), Some((least, most))) = (self.integers_of(a), self.integers_of(b)) {
            let apart = high < least || most < low;
            let known = match op {
                Op::Eq => apart.then_some(false),
                _ if high < least => Some(true),
                _ => (most <= low).then_some(false),
            };
            if let Some(known) = known {
                self.by("compare-ranges");
                return self.truth(known);
            }
        }
        if op == Op::Eq
            && let Some(one) = self.other_of_two(a, b)?
        {
            self.by("compare-ranges");
            return self.op(Op::Not, Dtype::Bool, &[one]);
        }
        if let Some(any) = self.counted(op, dtype, a, b) {
            return Some(any);
        }
        if op == Op::Eq
            && let Some(any) = self.product_is_zero(dtype, a, b)?
        {
            self.by("product-is-zero");
            return Some(any);
        }
        if let Some(less) = self.greater_itself(op, a, b) {
            return Some(less);
        }
        if op == Op::Lt
            && let Some(less) = self.less_by_parts(dtype, a, b)?
        {
            return Some(less);
        }
        if op == Op::Lt {
            return if a == b { self.truth(false) } else { self.raw(op, Dtype::Bool, &[a, b]) };
        }
        // The difference is 0 in the ring only where both are equal; its sign is as well its opposite's.
        let minus = self.integer_op(Op::Neg, dtype, &[b])?;
        let over = self.integer_op(Op::Add, dtype, &[a, minus])?;
        let under = self.integer_op(Op::Neg, dtype, &[over])?;
        if let Some(v) = self.number(over) {
            return self.truth(v == 0);
        }
        if let Some((x, number)) = self.one_less_number(dtype, over)?
            && let Some(one) = self.other_of_two(x, number)?
        {
            self.by("compare-ranges");
            return self.op(Op::Not, Dtype::Bool, &[one]);
        }
        let zero = self.integer(dtype, 0)?;
        let simple = self.expr(a).is_some_and(|e| matches!(e.form, Form::Const(_)));
        let simple = simple || self.expr(b).is_some_and(|e| matches!(e.form, Form::Const(_)));
        if simple && (a == zero || b == zero) {
            let x = if a == zero { b } else { a };
            let y = self.integer_op(Op::Neg, dtype, &[x])?;
            return self.raw(Op::Eq, Dtype::Bool, &[x.min(y), zero]);
        }
        if let Some(index) = self.place_less_one_of_data(dtype, over) {
            self.by("compare-indices");
            return self.is_zero_expr(index);
        }
        self.by("difference-is-zero");
        self.raw(Op::Eq, Dtype::Bool, &[over.min(under), zero])
    }

    /// Returns a sum of an index and one integer of the data as an index: none of them is so far from 0 that the sum wraps around to it.
    fn place_less_one_of_data(&mut self, dtype: Dtype, sum: ExprId) -> Option<IndexId> {
        let Expr { form: Form::Poly(products), kids, .. } = self.expr(sum)?.clone() else { return None };
        let (mut out, mut data, mut places) = (self.at(Dim::Fixed(0)), 0_usize, 0_usize);
        if dtype != Dtype::I64 || products.len() > kids.len() || products.iter().any(|(n, _)| *n != 1) {
            return None;
        }
        for (kid, (_, by)) in kids.iter().zip(products.iter()) {
            let index = match self.expr(*kid)?.form {
                Form::Index(i) if by.unsigned_abs() <= 1 << 12 => {
                    places = places.saturating_add(1);
                    i
                }
                _ if by.unsigned_abs() == 1 => {
                    data = data.saturating_add(1);
                    self.data_index(*kid)?
                }
                _ => return None,
            };
            let part = self.scale(index, Dim::Fixed(*by))?;
            out = self.sum(out, part)?;
        }
        (data == 1 && places == 1).then_some(out)
    }

    /// The greater (lesser) one of two is one of them where the other is not above (below) it; one within two numbers is what is bounded where it lies between
    /// them.
    fn greater_itself(&mut self, op: Op, a: ExprId, b: ExprId) -> Option<ExprId> {
        if op != Op::Eq {
            return None;
        }
        let bound = |e: &Self, x: ExprId| match e.op_of(x) {
            Some((op @ (Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [x, y])) => {
                Some((matches!(op, Op::Max | Op::AtLeast), *x, *y))
            }
            _ => None,
        };
        for (most, one) in [(a, b), (b, a)] {
            let Some((rises, x, y)) = bound(self, most) else { continue };
            if x == one || y == one {
                let other = if x == one { y } else { x };
                self.by("greater-is-itself");
                return if rises { self.compared(Op::Le, other, one) } else { self.compared(Op::Le, one, other) };
            }
            let Some((inner_rises, z, w)) = bound(self, x) else { continue };
            let ends = if rises { (y, w) } else { (w, y) };
            let numbers = match (self.float(ends.0), self.float(ends.1)) {
                (Some(low), Some(high)) => low <= high,
                _ => self.number(ends.0).zip(self.number(ends.1)).is_some_and(|(low, high)| low <= high),
            };
            if self.exact && z == one && inner_rises != rises && numbers {
                self.by("greater-is-itself");
                let (low, high) = (self.compared(Op::Le, ends.0, one)?, self.compared(Op::Le, one, ends.1)?);
                return self.op(Op::And, Dtype::Bool, &[low, high]);
            }
        }
        None
    }

    /// A product of integers that surely does not wrap around is 0 where any of them is.
    fn product_is_zero(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let product = match (self.number(a), self.number(b)) {
            (None, Some(0)) => a,
            (Some(0), None) => b,
            _ => return Some(None),
        };
        let zero = self.integer(dtype, 0)?;
        let expr = self.expr(product)?.clone();
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Reduce(Fold::Product, level, sizes), [body]) => {
                if !self.holds_product(dtype, sizes, *body) {
                    return Some(None);
                }
                let each = self.compared(Op::Eq, *body, zero)?;
                self.reduced(Fold::Any, *level, sizes, each).map(Some)
            }
            (Form::Poly(products), [_, _, ..]) if products.len() == 1 && self.integers_of(product).is_some() => {
                let mut any = self.truth(false)?;
                for kid in &expr.kids {
                    let one = self.compared(Op::Eq, *kid, zero)?;
                    any = self.op(Op::Or, Dtype::Bool, &[any, one])?;
                }
                Some(Some(any))
            }
            _ => Some(None),
        }
    }

    /// Whether the product of an integer over so many places, however many there are, stays within its dtype.
    fn holds_product(&mut self, dtype: Dtype, sizes: &[Dim], body: ExprId) -> bool {
        let (Some((low, high)), Some((least, most))) = (self.integers_of(body), ends(dtype)) else { return false };
        let places = sizes.iter().try_fold(1_i64, |n, d| {
            let size = d.fixed().or_else(|| self.symbols.range_of(*d).max)?;
            n.checked_mul(size)
        });
        let Some(places) = places.and_then(|n| u32::try_from(n).ok()) else { return false };
        let largest = i128::from(low).abs().max(i128::from(high).abs());
        let whole = largest.checked_pow(places);
        whole.is_some_and(|v| v <= i128::from(most) && v.saturating_neg() >= i128::from(least))
    }

    /// Returns the truth that is counted as a number: where truths are multiplied as numbers, whether all hold.
    fn truth_counted(&mut self, body: ExprId) -> Option<ExprId> {
        let as_number = |e: &Self, id: ExprId| match e.op_of(id) {
            Some((Op::Cast, [inner])) if e.dtype(*inner) == Some(Dtype::Bool) => Some(*inner),
            _ => None,
        };
        if let Some(truth) = as_number(self, body) {
            return Some(truth);
        }
        let expr = self.expr(body)?.clone();
        let Form::Poly(products) = &expr.form else { return None };
        matches!(&products[..], [(_, 1)]).then_some(())?;
        let mut all: Option<ExprId> = None;
        for kid in &expr.kids {
            let truth = as_number(self, *kid)?;
            all = Some(all.map_or(Some(truth), |all| self.op(Op::And, Dtype::Bool, &[all, truth]))?);
        }
        all
    }

    /// Whether a count of truths is above 0, or 0, or that of all.
    fn counted(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        let (zero, count, is_above) = match (op, self.number(a), self.number(b)) {
            (Op::Lt, Some(0), _) => (a, b, true),
            (Op::Eq, Some(0), _) => (a, b, false),
            (Op::Eq, _, Some(0)) => (b, a, false),
            (Op::Eq, Some(_), _) => (a, b, false),
            (Op::Eq, _, Some(_)) => (b, a, false),
            (Op::Eq, None, None) if self.is_reduction(a) => (b, a, false),
            (Op::Eq, None, None) => (a, b, false),
            _ => return None,
        };
        let expr = self.expr(count)?.clone();
        let Form::Reduce(Fold::Sum, level, sizes) = &expr.form else { return None };
        let truth = self.truth_counted(*expr.kids.first()?).filter(|_| dtype == Dtype::I64)?;
        if self.number(zero) != Some(0) {
            let all = self.product(sizes)?;
            let all = self.at(all);
            (self.index_value(dtype, all)? == zero).then_some(())?;
            self.by("count-is-any");
            let other = self.op(Op::Not, Dtype::Bool, &[truth])?;
            let any = self.reduced(Fold::Any, *level, sizes, other)?;
            return self.op(Op::Not, Dtype::Bool, &[any]);
        }
        self.by("count-is-any");
        let any = self.reduced(Fold::Any, *level, sizes, truth)?;
        if is_above { Some(any) } else { self.op(Op::Not, Dtype::Bool, &[any]) }
    }
}

/// Returns the bits of the least number of a dtype of floats that has all of its places, and of the infinite one.
fn bits_of_ends(dtype: Dtype) -> Option<(i64, i64)> {
    match dtype {
        Dtype::F16 => Some((0x0400, 0x7c00)),
        Dtype::Bf16 => Some((0x0080, 0x7f80)),
        Dtype::F32 => Some((0x0080_0000, 0x7f80_0000)),
        Dtype::F64 => Some((0x0010_0000_0000_0000, 0x7ff0_0000_0000_0000)),
        _ => None,
    }
}

/// Returns the float that has these bits, which are those of a number that has all of its places, or of the infinite one.
#[allow(clippy::cast_precision_loss)]
fn float_of_bits(dtype: Dtype, bits: i64) -> Option<f64> {
    let (least, endless) = bits_of_ends(dtype)?;
    if bits == endless {
        return Some(f64::INFINITY);
    }
    let one = least;
    let (exponent, places) = (bits.checked_div(one)?, bits.checked_rem(one)?);
    let middle = endless.checked_div(one)?.checked_div(2)?;
    let power = i32::try_from(exponent.checked_sub(middle)?).ok()?;
    Some((1.0 + places as f64 / one as f64) * 2.0_f64.powi(power))
}
