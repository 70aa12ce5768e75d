//! Integers that floats are cut to, rounded and held between numbers: their order and their sign.
//!
//! ## What it says
//! A bound of such an integer may hold the float before. The greatest of some floats that are numbers, put through steps that rise with it and held between integers, is
//! cut to the greatest integer to which these are cut; so is the greater one of two. The sign of a float passes its bounds and the cut to the integer.
//!
//! ## When it is wrong
//! A float that its dtype of integers does not hold is what the machine makes of it: its bounds must be integers of that dtype. NaN becomes 0, or nobody knows what:
//! a bound must leave 0 as it is unless no NaN is there, and beside a NaN the greatest is 0, whatever stands there. The least integer has no opposite.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::{is_one_of, keeps_order, loses_nothing, most_whole};
use crate::rules::element::held::nan_is_zero;
use crate::rules::element::make::{ends, width};
use crate::rules::table::FLOOR;

/// How many steps within one another are looked through.
const NESTED: usize = 12;

/// Steps that rise or fall with one child each, outermost first.
struct Steps {
    /// What is left within.
    inner: ExprId,
    /// Whether they fall with it, all together.
    falls: bool,
    all: Vec<(Expr, usize)>,
}

impl Elements {
    /// A bound by a number of an integer that a float is cut to, as a bound of the float.
    pub(super) fn bound_of_cut(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let (cut, bound) = if self.number(a).is_some() { (b, a) } else { (a, b) };
        let (Op::Max | Op::Min, Some((Op::Cast, [x])), Some(c)) = (op, self.op_of(cut), self.number(bound)) else {
            return Some(None);
        };
        let (x, from) = (*x, self.dtype(*x)?);
        // An integer of fewer bits that the float was cut to before.
        if width(from).is_some_and(|w| w > 1) {
            let of_float =
                matches!(self.op_of(x), Some((Op::Cast, [f])) if self.dtype(*f).is_some_and(Dtype::is_float));
            let narrow = self.integer(from, c)?;
            if !of_float || !loses_nothing(from, dtype) || self.number(narrow) != Some(c) {
                return Some(None);
            }
            let held = self.op(op, from, &[x, narrow])?;
            return self.op(Op::Cast, dtype, &[held]).map(Some);
        }
        let leaves_zero = nan_is_zero(dtype) && if op == Op::Max { c <= 0 } else { c >= 0 };
        let held = most_whole(from).is_some_and(|most| c.checked_abs().is_some_and(|c| c <= most));
        if !held || !self.is_cut_within(dtype, x) || !(leaves_zero || self.is_surely_number(x)?) {
            return Some(None);
        }
        self.by("bound-of-cut");
        #[allow(clippy::cast_precision_loss)]
        let c = self.rounded(from, c as f64)?;
        let x = self.op(op, from, &[x, c])?;
        self.op(Op::Cast, dtype, &[x]).map(Some)
    }

    /// A float that is cut to an integer, as integers that other ones are cut to.
    pub(super) fn cut_apart(&mut self, to: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        if let Some(minus) = self.sign_of_cut(to, x)? {
            self.by("sign-of-cut");
            return Some(Some(minus));
        }
        if let Some(greatest) = self.greatest_of_cuts(to, x)? {
            self.by("greatest-of-cuts");
            return Some(Some(greatest));
        }
        Some(None)
    }

    /// Whether a float, if it is a number, is held between integers of a dtype.
    fn is_cut_within(&self, to: Dtype, x: ExprId) -> bool {
        self.bounded_between(x).is_some_and(|(low, high)| is_one_of(to, low) && is_one_of(to, high))
    }

    /// Between which integers one of few bits lies that a float is cut to: 0, which a NaN is, among them.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn cut_between(&mut self, to: Dtype, x: ExprId) -> Option<(i64, i64)> {
        let (least, most) = ends(to).filter(|_| nan_is_zero(to))?;
        let held = self.bounded_between(x).filter(|_| self.is_cut_within(to, x));
        Some(match held.or(self.quotient_within(x)?.map(|most| (-most, most))) {
            Some((low, high)) => ((low as i64).clamp(least, 0), (high as i64).clamp(0, most)),
            None => (least, most),
        })
    }

    /// The opposite of a float within bounds, cut, as the opposite of the integer to which that is cut.
    fn sign_of_cut(&mut self, to: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let dtype = self.dtype(x)?;
        let (mut at, mut bounds) = (x, Vec::new());
        while let Some((op @ (Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [inner, bound])) = self.op_of(at) {
            let Some(v) = self.float(*bound).filter(|_| bounds.len() < NESTED) else { return Some(None) };
            bounds.push((op, v));
            at = *inner;
        }
        let Some((Op::Neg, [inner])) = self.op_of(at) else { return Some(None) };
        let inner = *inner;
        let within = match self.quotient_within(inner)? {
            Some(most) => is_one_of(to, most) && is_one_of(to, -most),
            None => self.is_cut_within(to, x),
        };
        let turns = bounds.iter().all(|(_, v)| is_one_of(to, *v) && is_one_of(to, -v));
        if !within || !turns || !(nan_is_zero(to) || self.is_surely_number(inner)?) {
            return Some(None);
        }
        let mut out = inner;
        for (op, v) in bounds.into_iter().rev() {
            let op = if matches!(op, Op::Max | Op::AtLeast) { Op::AtMost } else { Op::AtLeast };
            let v = self.rounded(dtype, 0.0 - v)?;
            out = self.op(op, dtype, &[out, v])?;
        }
        let cut = self.op(Op::Cast, to, &[out])?;
        self.op(Op::Neg, to, &[cut]).map(Some)
    }

    /// The greatest (least) of some, or the greater one of two, all of them numbers, within steps that rise or fall, cut to an integer.
    fn greatest_of_cuts(&mut self, to: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        if !self.is_cut_within(to, x) {
            return Some(None);
        }
        let steps = self.rising_steps(x)?;
        let expr = self.expr(steps.inner)?.clone();
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Reduce(fold @ (Fold::Most | Fold::Least), level, sizes), [each]) => {
                if !self.is_surely_number(*each)? {
                    return Some(None);
                }
                let each = self.cut_through(&steps, to, *each)?;
                let most = (*fold == Fold::Most) != steps.falls;
                self.reduced(if most { Fold::Most } else { Fold::Least }, *level, sizes, each).map(Some)
            }
            (Form::Op(op @ (Op::Max | Op::Min)), [a, b]) => {
                if !self.is_surely_number(*a)? || !self.is_surely_number(*b)? {
                    return Some(None);
                }
                let (a, b) = (self.cut_through(&steps, to, *a)?, self.cut_through(&steps, to, *b)?);
                let greater = (*op == Op::Max) != steps.falls;
                self.op(if greater { Op::Max } else { Op::Min }, to, &[a, b]).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Takes off steps that rise or fall with one child alone; what else they are made of depends on no place that is reduced.
    fn rising_steps(&mut self, x: ExprId) -> Option<Steps> {
        let mut out = Steps { inner: x, falls: false, all: Vec::new() };
        while out.all.len() < NESTED {
            let expr = self.expr(out.inner)?.clone();
            let Some((k, falls)) = self.rising_step(out.inner, &expr)? else { break };
            out.falls ^= falls;
            out.inner = *expr.kids.get(k)?;
            out.all.push((expr, k));
        }
        Some(out)
    }

    /// Returns the child with which a step rises, or falls, if it is one.
    fn rising_step(&mut self, id: ExprId, expr: &Expr) -> Option<Option<(usize, bool)>> {
        if self.chosen_for_nan(id).is_some() {
            return Some(Some((1, false)));
        }
        let plain = |e: &Self, k: ExprId| e.dtype(k).is_some_and(keeps_order);
        let finite = |e: &Self, k: ExprId| {
            let ends = |(low, high): (f64, f64)| low.is_finite() && high.is_finite();
            let whole = matches!(e.op_of(k), Some((Op::Cast, [n])) if e.dtype(*n).and_then(width).is_some());
            (e.floats_of(k).is_some_and(ends) || whole && e.dtype(k) != Some(Dtype::F16)) && !e.mentions(k, 0)
        };
        let scales = |e: &Self, k: ExprId| e.is_finite_above_zero(k) && !e.mentions(k, 0);
        Some(match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Round), [_]) => Some((0, false)),
            (Form::Named(name, _), [_]) if **name == *FLOOR => Some((0, false)),
            (Form::Op(Op::Cast), [x]) if plain(self, *x) && keeps_order(expr.dtype) => Some((0, false)),
            (Form::Op(Op::Neg), [_]) => Some((0, true)),
            (Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [_, b]) if self.float(*b).is_some() => {
                Some((0, false))
            }
            (Form::Op(Op::Mul | Op::Div), [_, b]) if scales(self, *b) => Some((0, false)),
            (Form::Op(Op::Mul), [a, _]) if scales(self, *a) => Some((1, false)),
            (Form::Op(Op::Add | Op::Sub), [_, b]) if finite(self, *b) => Some((0, false)),
            (Form::Op(Op::Add), [a, _]) if finite(self, *a) => Some((1, false)),
            (Form::Op(Op::Sub), [a, _]) if finite(self, *a) => Some((1, true)),
            _ => None,
        })
    }

    /// Puts the steps around another float, and cuts it.
    fn cut_through(&mut self, steps: &Steps, to: Dtype, inner: ExprId) -> Option<ExprId> {
        let mut out = inner;
        for (expr, k) in steps.all.iter().rev() {
            let mut kids: SmallVec<[ExprId; 3]> = expr.kids.clone();
            *kids.get_mut(*k)? = out;
            if matches!(expr.form, Form::Op(Op::Choose)) {
                *kids.first_mut()? = self.is_number(out)?;
            }
            out = self.again(expr, &kids)?;
        }
        self.op(Op::Cast, to, &[out])
    }

    /// Whether a float surely is no NaN: one that is stated to be a number, that an integer is, or that is chosen for a NaN.
    fn is_surely_number(&mut self, x: ExprId) -> Option<bool> {
        let mut open = vec![x];
        for _ in 0..64 {
            let Some(at) = open.pop() else { return Some(true) };
            let at = self.nan_of(at);
            if self.floats_of(at).is_some() {
                continue;
            }
            let chosen = self.chosen_for_nan(at).is_some();
            let Some(expr) = self.expr(at) else { return Some(false) };
            match (&expr.form, expr.kids.as_slice()) {
                (Form::Op(Op::Choose), _) if chosen => {}
                (Form::Op(Op::Choose), [_, a, b])
                | (Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [a, b]) => open.extend([*a, *b]),
                (Form::Op(Op::Cast), [inner]) if self.dtype(*inner).and_then(width).is_some() => {}
                (Form::Reduce(Fold::Most | Fold::Least, ..), [each]) => open.push(*each),
                _ => return Some(false),
            }
        }
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::element::arena::{Source, SourceId};
    use crate::sym::{KeyedSet, Symbols};
    use crate::term::store::Store;

    /// An arena, an element of a float of which nothing is known, and a scale.
    fn given() -> (Elements, SourceId, ExprId, ExprId) {
        let mut e = Elements::bit_by_bit(Symbols::new(), KeyedSet::default(), 10_000);
        let mut store: Store<u32> = Store::default();
        let [x, s] = [0, 1].map(|k| e.source(Source::Value(store.at(k))));
        e.is_number_between(s, 0.03, 0.5);
        let [a, b] = [x, s].map(|source| e.load(Dtype::F32, source, SmallVec::new()).unwrap());
        (e, x, a, b)
    }

    /// Divided, rounded, held and cut.
    fn quantised(e: &mut Elements, x: ExprId, s: ExprId, low: f64, high: f64) -> ExprId {
        let [low, high] = [low, high].map(|v| e.rounded(Dtype::F32, v).unwrap());
        let scaled = e.op(Op::Div, Dtype::F32, &[x, s]).unwrap();
        let rounded = e.op(Op::Round, Dtype::F32, &[scaled]).unwrap();
        let held = e.op(Op::Max, Dtype::F32, &[rounded, low]).unwrap();
        let held = e.op(Op::Min, Dtype::F32, &[held, high]).unwrap();
        e.op(Op::Cast, Dtype::I8, &[held]).unwrap()
    }

    #[test]
    fn an_integer_is_bounded_as_the_float_but_for_nan() {
        let (mut e, source, x, s) = given();
        let whole = quantised(&mut e, x, s, -128.0, 127.0);
        for (bound, same) in [(0, true), (-3, true), (3, false)] {
            let c = e.integer(Dtype::I8, bound).unwrap();
            let held = e.op(Op::Max, Dtype::I8, &[whole, c]).unwrap();
            let before = quantised(&mut e, x, s, bound as f64, 127.0);
            assert_eq!(held == before, same, "{bound}");
        }
        e.is_number_between(source, -1.0, 1.0);
        let c = e.integer(Dtype::I8, 3).unwrap();
        let held = e.op(Op::Max, Dtype::I8, &[whole, c]).unwrap();
        assert_eq!(held, quantised(&mut e, x, s, 3.0, 127.0));
    }

    #[test]
    fn a_sign_passes_where_the_opposite_of_each_bound_is_there() {
        let (mut e, _, x, s) = given();
        let minus = e.op(Op::Neg, Dtype::F32, &[x]).unwrap();
        for (low, same) in [(-127.0, true), (-128.0, false)] {
            let inner = quantised(&mut e, x, s, low, 127.0);
            let outside = e.op(Op::Neg, Dtype::I8, &[inner]).unwrap();
            assert_eq!(quantised(&mut e, minus, s, low, 127.0) == outside, same, "{low}");
        }
    }

    #[test]
    fn the_greater_of_two_numbers_is_cut_to_the_greater_integer() {
        let (mut e, source, x, s) = given();
        let w = e.op(Op::Abs, Dtype::F32, &[x]).unwrap();
        for same in [false, true] {
            let greater = e.op(Op::Max, Dtype::F32, &[x, w]).unwrap();
            let (a, b) = (quantised(&mut e, x, s, -128.0, 127.0), quantised(&mut e, w, s, -128.0, 127.0));
            let integers = e.op(Op::Max, Dtype::I8, &[a, b]).unwrap();
            assert_eq!(quantised(&mut e, greater, s, -128.0, 127.0) == integers, same);
            e.is_number_between(source, -1.0, 1.0);
        }
    }
}
