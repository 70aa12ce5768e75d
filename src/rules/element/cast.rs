//! Conversions.
//!
//! ## What it says
//! A conversion to the own dtype is nothing. Of two in a row the first is nothing where it loses nothing: every number of the first dtype is one of the
//! second. Among integers the second one decides where it is not wider than the first. To bool is "not equal to 0". A sign passes through a conversion of
//! floats. What is computed in a dtype of more than twice as many places and rounded back is computed in the own one: sums, differences, products,
//! quotients of two; bounds by numbers and choices, also of one another, are never rounded: what is held by a number and rounded is what is rounded, held by the rounded number. NaN is 0 in at most 16 bits. A sum or product of integers may be converted to fewer
//! bits before or after, so may what is masked by all of these, one that surely does not wrap around to more bits, too, and a quotient by a number to more. `abs` and the sign are bits; those of an integer, seen as one of as many, are its conversion. Of floats that are integers, none so large that the dtype does not hold all up to it, sums,
//! differences, magnitudes, bounds, and products of numbers of known sign are those of the integers; so are their sums, and products of matrices of them, in any order, as long as no part of one may
//! be too large. A conversion to an integer cuts: what was cut before is as it was, and so is what is not below 0, rounded down, within bounds that are numbers, too. A float between numbers that a short dtype holds is the same integer by way of a longer one. To an integer -0.0 is 0.0: what is added to 0 before is as it was. What was rounded to an
//! integer is one: rounded down it is itself. A quotient of floats that are such integers, cut or rounded down to an integer, is that of the integers. The bits of a
//! `bf16` are the upper half of those of the same `f32`.
//!
//! ## When it is wrong
//! `0 * -3` is -0.0 among floats. An integer of which nothing is known may be beyond 2^24. Which of two zeros is the greater one is the kernel's, and
//! another one in another dtype: the greatest of some is not moved. f32 to f16 and back rounds. i32 to f32 and back rounds above 2^24. i64 to bool and on
//! is 0 or 1. A float to an integer cuts, and out of range gives what the machine gives: never moved. A bit view shows the payload of a NaN: only the
//! sign's bit is looked through. Integers that their float does not hold may round to the next quotient.

use half::{bf16, f16};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, Source, kernel_of};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::{ends, width, wrapped};
use crate::rules::element::rebuild::Moves;
use crate::rules::table::{Meaning, Real, meaning, real};
use crate::sym::Dim;
use crate::term::term::Token;

/// How many bounds and choices within one another are looked through.
const NESTED: usize = 8;

/// Returns a number rounded to a float dtype; `None` for other dtypes.
pub fn round(dtype: Dtype, v: f64) -> Option<f64> {
    // As native code does: a narrow float is made of an f32.
    #[allow(clippy::cast_possible_truncation)]
    let single = v as f32;
    Some(match dtype {
        Dtype::F64 => v,
        Dtype::F32 => f64::from(single),
        Dtype::F16 => f16::from_f32(single).to_f64(),
        Dtype::Bf16 => bf16::from_f32(single).to_f64(),
        _ => return None,
    })
}

/// Whether rounding to a float dtype keeps the order of all numbers, and what lies beyond its end is infinite: there are floats of 8 bits without a sign, and some that make it NaN.
pub fn keeps_order(to: Dtype) -> bool {
    matches!(to, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 | Dtype::F8E5m2)
}

/// Returns whether every number of `from` is one of `to`, so that what comes next sees the same number.
pub fn loses_nothing(from: Dtype, to: Dtype) -> bool {
    use Dtype::*;
    match (from, to) {
        _ if from == to => true,
        (Bool, U8 | I8 | I16 | I32 | I64 | F16 | Bf16 | F32 | F64) => true,
        (U8, I16 | I32 | I64 | F16 | Bf16 | F32 | F64) | (I8, I16 | I32 | I64 | F16 | Bf16 | F32 | F64) => true,
        (I16, I32 | I64 | F32 | F64) | (I32, I64 | F64) => true,
        (F16 | Bf16, F32 | F64) | (F32, F64) => true,
        (F8E4m3fn | F8E5m2, F16 | Bf16 | F32 | F64) => true,
        _ => false,
    }
}

/// Whether a sum, product or quotient of numbers of the first dtype is the same rounded to the second one first: it has more than twice as many places.
fn rounds_once(narrow: Dtype, wide: Dtype) -> bool {
    use Dtype::*;
    matches!((narrow, wide), (F16 | Bf16, F32 | F64) | (F32, F64))
}

/// Up to which number, and down to which, a float dtype holds every integer.
pub fn most_whole(dtype: Dtype) -> Option<i64> {
    match dtype {
        Dtype::F64 => Some(1 << 48),
        Dtype::F32 => Some(1 << 24),
        Dtype::F16 => Some(1 << 11),
        Dtype::Bf16 => Some(1 << 8),
        _ => None,
    }
}

/// Whether a number is an integer that a short dtype holds.
pub(super) fn is_one_of(dtype: Dtype, v: f64) -> bool {
    #[allow(clippy::cast_possible_truncation)]
    let whole = v as i64;
    v.fract() == 0.0 && v.abs() <= 65536.0 && wrapped(dtype, whole) == Some(whole)
}

impl Elements {
    /// Returns the integer that a float surely is, as an `i64`: one that was converted, of few enough, or a number; never -0.0.
    pub(in crate::rules) fn whole(&mut self, x: ExprId) -> Option<ExprId> {
        let most = most_whole(self.dtype(x)?)?;
        if let Some(v) = self.float(x) {
            let holds = v.fract() == 0.0 && !(v == 0.0 && v.is_sign_negative());
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
            return (holds && v.abs() <= most as f64).then(|| self.integer(Dtype::I64, v as i64))?;
        }
        let (Op::Cast, [inner]) = self.op_of(x)? else { return None };
        let inner = *inner;
        width(self.dtype(inner)?)?;
        let (low, high) = self.integers_of(inner)?;
        if low < most.checked_neg()? || high > most {
            return None;
        }
        self.op(Op::Cast, Dtype::I64, &[inner])
    }

    /// Returns the integer that floats which are integers make by sums, differences, products and signs, as an `i64`, whatever the sign of a zero.
    fn whole_value(&mut self, x: ExprId, depth: usize) -> Option<Option<ExprId>> {
        self.spend(1)?;
        let most = most_whole(self.dtype(x)?)?;
        if let Some(whole) = self.whole(x) {
            return Some(Some(whole));
        }
        let Some(depth) = depth.checked_sub(1) else { return Some(None) };
        let (op, kids) = match self.op_of(x) {
            Some((op @ (Op::Add | Op::Sub | Op::Mul), [a, b])) => (op, vec![*a, *b]),
            Some((Op::Neg, [a])) => (Op::Neg, vec![*a]),
            _ => return Some(None),
        };
        let mut wholes = Vec::new();
        for kid in kids {
            let Some(whole) = self.whole_value(kid, depth)? else { return Some(None) };
            wholes.push(whole);
        }
        let made = self.op(op, Dtype::I64, &wholes)?;
        let fits = self.integers_of(made).is_some_and(|(low, high)| most.saturating_neg() <= low && high <= most);
        Some(fits.then_some(made))
    }

    /// Returns the integer that a sum of floats is which are integers, added up in any order: no part of it is farther from 0 than all of them together may be.
    fn sum_of_integers(&mut self, x: ExprId) -> Option<Option<ExprId>> {
        let Form::Load(source, at) = self.expr(x)?.form.clone() else { return Some(None) };
        let Some(Source::Call { target, tokens, kids, .. }) = self.source_of(source).cloned() else {
            return Some(None);
        };
        let ([kid], true) = (&*kids, target == kernel_of(Some(Fold::Sum))) else { return Some(None) };
        let array = self.tensor_of(*kid)?.clone();
        let within = self.highest_level(array.expr).into_iter().chain(self.levels_in(&at)).max();
        let level = within.map_or(0, |l| l.saturating_add(1));
        let (mut kept, mut sizes, mut places) = (at.iter().copied(), Vec::new(), SmallVec::<[IndexId; 4]>::new());
        for (k, size) in array.sizes.iter().copied().enumerate() {
            if tokens.iter().skip(1).any(|token| *token == Token::count(k)) {
                let name = level.checked_add(u32::try_from(sizes.len()).ok()?)?;
                sizes.push(size);
                places.push(self.place(Place::Bound(name, size)));
            } else {
                places.push(kept.next()?);
            }
        }
        let element = self.moved(array.expr, &Moves { vars: places, bound: None })?;
        let Some(each) = self.whole_value(element, NESTED)? else { return Some(None) };
        let fits = most_whole(array.dtype).is_some_and(|most| self.stays_below(each, &sizes, most));
        if fits { self.reduced(Fold::Sum, level, &sizes, each).map(Some) } else { Some(None) }
    }

    /// Whether as many integers as there are places come to no more than a number, whatever their signs.
    pub(in crate::rules) fn stays_below(&mut self, each: ExprId, sizes: &[Dim], most: i64) -> bool {
        let count = sizes.iter().try_fold(1_i64, |n, size| n.checked_mul(self.most_of(*size)?.max(1)));
        let largest = self.integers_of(each).map(|(low, high)| low.saturating_abs().max(high.saturating_abs()));
        count.zip(largest).and_then(|(n, v)| n.checked_mul(v)).is_some_and(|reached| reached <= most)
    }

    /// The largest size that a dimension may have.
    fn most_of(&self, size: Dim) -> Option<i64> {
        size.fixed().or_else(|| self.symbols.range_of(size).max)
    }

    /// Returns the integer that an element of a product of matrices of floats is, whose elements are integers: as long as no sum of the largest ones leaves those that the dtype holds.
    fn product_of_integers(&mut self, x: ExprId) -> Option<Option<ExprId>> {
        let Form::Load(source, at) = self.expr(x)?.form.clone() else { return Some(None) };
        let Some(Source::Call { target, kids, .. }) = self.source_of(source).cloned() else { return Some(None) };
        let (Some(Meaning::MatMul), [a, b], Some((column, rows))) = (meaning(&target), &*kids, at.split_last()) else {
            return Some(None);
        };
        let (a, b) = (self.tensor_of(*a)?.clone(), self.tensor_of(*b)?.clone());
        let dtype = self.dtype(x)?;
        let (Some(most), Some(inner), Some((row, batch))) =
            (most_whole(dtype), a.sizes.last().copied(), rows.split_last())
        else {
            return Some(None);
        };
        if [a.dtype, b.dtype] != [dtype; 2] {
            return Some(None);
        }
        let within =
            [a.expr, b.expr].into_iter().filter_map(|e| self.highest_level(e)).chain(self.levels_in(&at)).max();
        let level = within.map_or(0, |l| l.saturating_add(1));
        let place = self.place(Place::Bound(level, inner));
        let left: SmallVec<[IndexId; 4]> = batch.iter().copied().chain([*row, place]).collect();
        let right: SmallVec<[IndexId; 4]> = batch.iter().copied().chain([place, *column]).collect();
        let mut factors = [x; 2];
        for (factor, (array, at)) in factors.iter_mut().zip([(&a, left), (&b, right)]) {
            let element = self.moved(array.expr, &Moves { vars: at, bound: None })?;
            let Some(whole) = self.whole(element) else { return Some(None) };
            *factor = whole;
        }
        let each = self.op(Op::Mul, Dtype::I64, &factors)?;
        if !self.stays_below(each, &[inner], most) {
            return Some(None);
        }
        self.reduced(Fold::Sum, level, &[inner], each).map(Some)
    }

    /// Returns an integer as a float, where that is among those that the dtype holds.
    pub(in crate::rules) fn whole_as(&mut self, dtype: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let (Some((low, high)), Some(most)) = (self.integers_of(x), most_whole(dtype)) else { return Some(None) };
        if low < most.checked_neg()? || high > most {
            return Some(None);
        }
        self.by("integers-as-floats");
        self.op(Op::Cast, dtype, &[x]).map(Some)
    }

    /// A quotient by a number of a sum that surely does not wrap around, before it is cut to fewer bits: as one of 64.
    fn quotient_in_more_bits(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let cuts = width(to).zip(width(from)).is_some_and(|(few, more)| 1 < few && few < more && from != Dtype::I64);
        let Some((op @ (Op::DivFloor | Op::DivTrunc | Op::Shr), [a, b])) = self.op_of(x).filter(|_| cuts) else {
            return Some(None);
        };
        let (a, b) = (*a, *b);
        let is_sum = matches!(self.expr(a).map(|e| &e.form), Some(Form::Poly(_)));
        let (Some(by), true, Some((low, high))) = (self.number(b), is_sum, self.integers_of(a)) else {
            return Some(None);
        };
        if wrapped(from, low) != Some(low) || wrapped(from, high) != Some(high) {
            return Some(None);
        }
        let (a, by) = (self.converted(Op::Cast, Dtype::I64, a)?, self.integer(Dtype::I64, by)?);
        self.op(op, Dtype::I64, &[a, by]).map(Some)
    }

    /// The magnitude of a float that is an integer, converted, as that of the integer; `Some(None)` where it is not so.
    pub(super) fn magnitude_of_whole(&mut self, dtype: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        if !self.exact || !matches!(self.op_of(x), Some((Op::Cast, _))) {
            return Some(None);
        }
        let Some(whole) = self.whole(x) else { return Some(None) };
        let size = self.op(Op::Abs, Dtype::I64, &[whole])?;
        self.whole_as(dtype, size)
    }

    /// Arithmetic of floats that are integers, converted, as that of the integers; `Some(None)` where it is not so.
    pub(super) fn of_whole(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<Option<ExprId>> {
        let [a, b] = kids else { return Some(None) };
        let converts = |e: &Self, x: ExprId| matches!(e.op_of(x), Some((Op::Cast, _)));
        if !self.exact || !(converts(self, *a) || converts(self, *b)) {
            return Some(None);
        }
        let (Some(x), Some(y)) = (self.whole(*a), self.whole(*b)) else { return Some(None) };
        if op == Op::Mul {
            // Nothing times what is below it is -0.0.
            let (x, y) = (self.integers_of(x)?, self.integers_of(y)?);
            let sign = |(low, high): (i64, i64)| (low > 0, low >= 0, high < 0);
            let fits = match (sign(x), sign(y)) {
                ((_, true, _), (_, true, _)) => true,
                ((above, _, below), (over, _, under)) => (above || below) && (over || under),
            };
            if !fits {
                return Some(None);
            }
        }
        let op = match op {
            Op::AtLeast => Op::Max,
            Op::AtMost => Op::Min,
            Op::Add | Op::Sub | Op::Mul | Op::Max | Op::Min => op,
            _ => return Some(None),
        };
        let made = self.op(op, Dtype::I64, &[x, y])?;
        self.whole_as(dtype, made)
    }

    pub(super) fn converted(&mut self, op: Op, to: Dtype, x: ExprId) -> Option<ExprId> {
        let from = self.dtype(x)?;
        if from == to {
            return Some(x);
        }
        match op {
            Op::Bits => self.seen_as(to, from, x),
            _ => self.cast(to, from, x),
        }
    }

    fn cast(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<ExprId> {
        if let Some(known) = self.cast_number(to, from, x) {
            return Some(known);
        }
        if matches!(to, Dtype::I8 | Dtype::U8 | Dtype::I16) && self.is_nan(x)? {
            self.by("nan-to-few-bits");
            return self.integer(to, 0);
        }
        if to == Dtype::Bool && (width(from).is_some() || from.is_float()) {
            let zero = if from.is_float() { self.rounded(from, 0.0)? } else { self.integer(from, 0)? };
            let is_zero = self.op(Op::Eq, Dtype::Bool, &[x, zero])?;
            return self.op(Op::Not, Dtype::Bool, &[is_zero]);
        }
        // Over the reals no zero has a sign: the greatest is that of what is converted.
        if !self.exact
            && from.is_float()
            && to.is_float()
            && loses_nothing(from, to)
            && let Some(Expr { form: Form::Reduce(fold @ (Fold::Most | Fold::Least), level, sizes), kids, .. }) =
                self.expr(x).cloned()
        {
            let inner = self.converted(Op::Cast, to, *kids.first()?)?;
            return self.reduced(fold, level, &sizes, inner);
        }
        match self.op_of(x) {
            Some((Op::Cast, [inner])) => {
                let inner = *inner;
                let first = self.dtype(inner)?;
                let integers = |d: Dtype| width(d).filter(|_| d != Dtype::Bool);
                let cuts = match (integers(first), integers(from), integers(to)) {
                    (Some(_), Some(between), Some(last)) => last <= between,
                    _ => false,
                };
                // What lies between the ends of the dtype between is not cut there.
                let between = integers(first).and(integers(from)).and_then(|_| self.integers_of(inner));
                let fits = between
                    .is_some_and(|(low, high)| wrapped(from, low) == Some(low) && wrapped(from, high) == Some(high));
                let few = self.exact && integers(first).is_some() && from.is_float() && self.whole(x).is_some();
                let fits = fits || few && (to.is_float() || self.stays_whole(inner, to));
                // What NaN becomes hangs on the float that it is.
                let of_nan = first.is_float() && matches!(to, Dtype::U16 | Dtype::U32 | Dtype::U64);
                if loses_nothing(first, from) && !of_nan || cuts || fits {
                    self.by("cast-of-cast");
                    return self.converted(Op::Cast, to, inner);
                }
            }
            Some((sign @ (Op::Neg | Op::Abs), [inner])) => {
                let inner = *inner;
                let plain = |d| matches!(d, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
                if plain(from) && plain(to) {
                    self.by("cast-of-sign");
                    let inner = self.converted(Op::Cast, to, inner)?;
                    return self.op(sign, to, &[inner]);
                }
            }
            _ => {}
        }
        if to != Dtype::Bool
            && width(to).is_some()
            && from.is_float()
            && let Some(inner) = self.without_trunc(from, x)?
        {
            self.by("trunc-before-integers");
            return self.converted(Op::Cast, to, inner);
        }
        if matches!(to, Dtype::I8 | Dtype::U8 | Dtype::I16)
            && matches!(from, Dtype::I16 | Dtype::I32 | Dtype::I64)
            && let Some((Op::Cast, [inner])) = self.op_of(x)
        {
            let inner = *inner;
            if self.dtype(inner).is_some_and(|d| d.is_float())
                && let Some((low, high)) = self.bounded_between(inner)
                && is_one_of(to, low)
                && is_one_of(to, high)
            {
                self.by("integers-between");
                return self.converted(Op::Cast, to, inner);
            }
        }
        if to != Dtype::Bool
            && width(to).is_some()
            && from.is_float()
            && let Some(held) = self.held_outside(to, x)?
        {
            self.by("held-before-integers");
            return self.converted(Op::Cast, to, held);
        }
        if to != Dtype::Bool
            && width(to).is_some()
            && from.is_float()
            && let Some(cut) = self.cut_apart(to, x)?
        {
            return Some(cut);
        }
        if width(to).is_some()
            && from.is_float()
            && let Some(inner) = self.without_zero(x)?
        {
            self.by("zero-before-integers");
            return self.converted(Op::Cast, to, inner);
        }
        let wider = width(to).zip(width(from)).is_some_and(|(wide, narrow)| wide > narrow && narrow > 1);
        if self.exact
            && wider
            && let Some(Form::Poly(products)) = self.expr(x).map(|e| e.form.clone())
            && self
                .integers_of(x)
                .is_some_and(|(low, high)| wrapped(to, low) == Some(low) && wrapped(to, high) == Some(high))
        {
            self.by("cast-of-integer-sum");
            let kids = self.expr(x)?.kids.clone();
            let kids: Vec<ExprId> = kids.into_iter().map(|k| self.converted(Op::Cast, to, k)).collect::<Option<_>>()?;
            return self.sum_of_products(to, &products, &kids);
        }
        if wider
            && let Some((op @ (Op::DivFloor | Op::DivTrunc | Op::Shr), [a, b])) = self.op_of(x)
            && let Some(by) = self.number(*b)
        {
            let a = *a;
            self.by("cast-of-quotient");
            let (a, b) = (self.converted(Op::Cast, to, a)?, self.integer(to, by)?);
            return self.op(op, to, &[a, b]);
        }
        if self.exact
            && let Some(quotient) = self.quotient_in_more_bits(to, from, x)?
        {
            self.by("cast-of-quotient");
            return self.converted(Op::Cast, to, quotient);
        }
        if self.exact
            && to != Dtype::Bool
            && width(to).is_some()
            && matches!(from, Dtype::F32 | Dtype::F64)
            && let Some(quotient) = self.quotient_in_floats(to, x)?
        {
            return Some(quotient);
        }
        if self.exact
            && to != Dtype::Bool
            && width(to).is_some()
            && from.is_float()
            && let Some(whole) =
                self.whole_value(x, NESTED)?.or(self.product_of_integers(x)?).or(self.sum_of_integers(x)?)
            && self.stays_whole(whole, to)
        {
            self.by("integers-as-floats");
            return self.converted(Op::Cast, to, whole);
        }
        if self.exact
            && to.is_float()
            && from != Dtype::I64
            && let Some(Form::Poly(products)) = self.expr(x).map(|e| e.form.clone())
            && self.integers_of(x).is_some()
        {
            // A sum that surely does not wrap around is one of more bits.
            self.by("cast-of-integer-sum");
            let kids = self.expr(x)?.kids.clone();
            let kids: Vec<ExprId> =
                kids.into_iter().map(|k| self.converted(Op::Cast, Dtype::I64, k)).collect::<Option<_>>()?;
            let wide = self.sum_of_products(Dtype::I64, &products, &kids)?;
            return self.converted(Op::Cast, to, wide);
        }
        if let Some(narrow) = self.computed_narrow(to, from, x)? {
            return Some(narrow);
        }
        if let Some(bound) = self.bound_of_cast(to, x)? {
            return Some(bound);
        }
        let folded = self.expr(x).cloned().filter(|e| matches!(e.form, Form::Reduce(Fold::Sum | Fold::Product, ..)));
        if let (Some(wide), Some(narrow)) = (width(from), width(to))
            && narrow <= wide
            && to != Dtype::Bool
            && let Some(Expr { form: Form::Reduce(fold, level, sizes), kids, .. }) = folded
        {
            self.by("cast-of-integer-sum");
            let body = self.converted(Op::Cast, to, *kids.first()?)?;
            return self.reduced(fold, level, &sizes, body);
        }
        if let (Some(wide), Some(narrow)) = (width(from), width(to))
            && narrow <= wide
            && to != Dtype::Bool
            && let Some(Form::Poly(products)) = self.expr(x).map(|e| e.form.clone())
        {
            self.by("cast-of-integer-sum");
            let kids = self.expr(x)?.kids.clone();
            let kids: Vec<ExprId> = kids.into_iter().map(|k| self.converted(Op::Cast, to, k)).collect::<Option<_>>()?;
            return self.sum_of_products(to, &products, &kids);
        }
        if let (Some(wide), Some(narrow)) = (width(from), width(to))
            && narrow <= wide
            && to != Dtype::Bool
            && let Some((Op::And, &[a, b])) = self.op_of(x)
        {
            // The bits that are left are all kept.
            let all = 1_i64.checked_shl(narrow).filter(|n| *n > 0).and_then(|n| n.checked_sub(1)).unwrap_or(-1);
            for (a, b) in [(a, b), (b, a)] {
                if self.number(b).is_some_and(|mask| mask & all == all) {
                    self.by("lowest-bits");
                    return self.converted(Op::Cast, to, a);
                }
            }
        }
        self.raw(Op::Cast, to, &[x])
    }

    /// Returns a float that is cut to an integer as it was before, perhaps within bounds that are numbers: a conversion cuts it the same way, and sees the same NaN,
    /// infinities and numbers out of range. To cut keeps order, so that what is held and cut is what is cut, held and cut.
    fn without_trunc(&mut self, dtype: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let (bounds, at) = self.out_of_bounds(x);
        let Some(inner) = self.before_trunc(dtype, at)? else { return Some(None) };
        self.bounded_again(bounds, inner).map(Some)
    }

    /// What is cut to an integer.
    fn before_trunc(&mut self, dtype: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let of_floor = |e: &Self, x: ExprId| match e.expr(x) {
            Some(Expr { form: Form::Named(name, _), kids, .. }) if **name == *crate::rules::table::FLOOR => {
                kids.first().copied()
            }
            _ => None,
        };
        // What is not below 0 is cut where it is rounded down.
        if let Some(inner) = of_floor(self, x) {
            return Some(self.is_never_below_zero(inner).then_some(inner));
        }
        let Some((Op::Choose, [_, _, down])) = self.op_of(x) else { return Some(None) };
        let Some(inner) = of_floor(self, *down) else { return Some(None) };
        Some((self.truncated(dtype, inner)? == x).then_some(inner))
    }

    /// Returns bounds that are numbers, from the outside in, and what they hold.
    fn out_of_bounds(&self, x: ExprId) -> (Vec<(Op, ExprId)>, ExprId) {
        let (mut bounds, mut at) = (Vec::new(), x);
        while let Some((op @ (Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [a, b])) = self.op_of(at)
            && self.float(*b).is_some_and(|v| !v.is_nan())
        {
            bounds.push((op, *b));
            at = *a;
        }
        (bounds, at)
    }

    /// Holds a float by such bounds again.
    fn bounded_again(&mut self, bounds: Vec<(Op, ExprId)>, inner: ExprId) -> Option<ExprId> {
        let dtype = self.dtype(inner)?;
        bounds.into_iter().rev().try_fold(inner, |out, (op, bound)| self.op(op, dtype, &[out, bound]))
    }

    /// Whether a float surely is not below 0, or NaN: a magnitude, a square, what is held above, or of what the host says so.
    fn is_never_below_zero(&self, x: ExprId) -> bool {
        let (bounds, _) = self.out_of_bounds(x);
        let held = |(op, by): &(Op, ExprId)| match op {
            Op::Max | Op::AtLeast => self.float(*by).is_some_and(|v| v >= 0.0),
            _ => self.float(*by).is_some_and(|v| v < 0.0),
        };
        // The last bound of those that say on which side of 0 it is.
        if let Some((op, _)) = bounds.iter().find(|bound| held(bound)) {
            return matches!(op, Op::Max | Op::AtLeast);
        }
        let above = |x: ExprId| self.floats_of(x).is_some_and(|(low, _)| low >= 0.0);
        match self.op_of(x) {
            Some((Op::Abs, _)) => true,
            Some((Op::Mul, [a, b])) => a == b || above(*a) && above(*b),
            Some((Op::Add | Op::Div | Op::Min | Op::AtMost, [a, b])) => above(*a) && above(*b),
            Some((Op::Max | Op::AtLeast, [a, b])) => above(*a) || above(*b),
            _ => above(x),
        }
    }

    /// Returns the integer towards 0: rounded up below 0, else down.
    pub(in crate::rules) fn truncated(&mut self, dtype: Dtype, x: ExprId) -> Option<ExprId> {
        let (zero, minus) = (self.rounded(dtype, 0.0)?, self.op(Op::Neg, dtype, &[x])?);
        let below = self.floored(dtype, minus)?;
        let (up, down) = (self.op(Op::Neg, dtype, &[below])?, self.floored(dtype, x)?);
        let negative = self.op(Op::Lt, Dtype::Bool, &[x, zero])?;
        self.op(Op::Choose, dtype, &[negative, up, down])
    }

    /// Returns the number rounded down to an integer.
    pub(in crate::rules) fn floored(&mut self, dtype: Dtype, x: ExprId) -> Option<ExprId> {
        // What is an integer already, or its opposite.
        let inner = match self.op_of(x) {
            Some((Op::Neg, [inner])) => *inner,
            _ => x,
        };
        let floored = |e: &Self| matches!(e.expr(inner).map(|e| &e.form), Some(Form::Named(name, _)) if **name == *crate::rules::table::FLOOR);
        if matches!(self.op_of(inner), Some((Op::Round, _))) || floored(self) {
            self.by("floor-of-integers");
            return Some(x);
        }
        let form = Form::Named(crate::rules::table::FLOOR.into(), Box::new([crate::term::term::Token::Child]));
        self.named(dtype, form, &[x])
    }

    /// Numbers between which a float lies that is not NaN: those by which it is bounded last.
    pub(super) fn bounded_between(&self, x: ExprId) -> Option<(f64, f64)> {
        let bound = |x: ExprId| match self.op_of(x)? {
            (op @ (Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [inner, c]) => Some((op, *inner, self.float(*c)?)),
            _ => None,
        };
        let (outer, inner, a) = bound(x)?;
        let (second, _, b) = bound(inner)?;
        let rises = |op: Op| matches!(op, Op::Max | Op::AtLeast);
        let (low, high) = match (rises(outer), rises(second)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        (low <= high).then_some((low, high))
    }

    /// Returns a float to which 0 is added, perhaps within bounds that are numbers, without that: only the sign of a zero tells them apart.
    fn without_zero(&mut self, x: ExprId) -> Option<Option<ExprId>> {
        let (bounds, at) = self.out_of_bounds(x);
        let Some((Op::Add, [inner, zero])) = self.op_of(at) else { return Some(None) };
        let inner = *inner;
        if self.float(*zero) != Some(0.0) {
            return Some(None);
        }
        self.bounded_again(bounds, inner).map(Some)
    }

    /// Whether an integer is one of another dtype of integers too.
    pub(super) fn stays_whole(&mut self, x: ExprId, to: Dtype) -> bool {
        let holds = |v: i64| wrapped(to, v) == Some(v);
        to != Dtype::Bool && self.integers_of(x).is_some_and(|(low, high)| holds(low) && holds(high))
    }

    /// A float that is held by a number, other than 0: a rounding keeps order, so that what is rounded is held by the rounded number as it was before.
    fn bound_of_cast(&mut self, to: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let Some((op @ (Op::Max | Op::Min), [inner, bound])) = self.op_of(x) else { return Some(None) };
        let (inner, bound) = (*inner, *bound);
        // What is rounded to 0, or to nothing finite, is left.
        let rounded = self.float(bound).and_then(|v| round(to, v)).filter(|v| *v != 0.0 && v.is_finite());
        let Some(v) = rounded.filter(|_| keeps_order(to)) else { return Some(None) };
        self.by("bound-before-cast");
        let (inner, bound) = (self.converted(Op::Cast, to, inner)?, self.rounded(to, v)?);
        self.op(op, to, &[inner, bound]).map(Some)
    }

    /// What was converted, computed in a wider dtype and converted back, as computed in its own; `Some(None)` where it is not so.
    fn computed_narrow(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        if !loses_nothing(to, from) {
            return Some(None);
        }
        let expr = self.expr(x)?.clone();
        match &expr.form {
            Form::Op(op @ (Op::Add | Op::Sub | Op::Mul | Op::Div)) if rounds_once(to, from) => {
                let Some(kids) = self.all_narrow(to, &expr.kids)? else { return Some(None) };
                self.by("round-once");
                self.op(*op, to, &kids).map(Some)
            }
            // A root has no place between the numbers of a dtype of less than half as many places that rounding twice would miss.
            Form::Named(target, tokens) if real(target) == Some(Real::Sqrt) && rounds_once(to, from) => {
                let Some(kids) = self.all_narrow(to, &expr.kids)? else { return Some(None) };
                self.by("round-once");
                let form = Form::Named(target.clone(), tokens.clone());
                self.named(to, form, &kids).map(Some)
            }
            Form::Op(op @ (Op::Max | Op::Min | Op::AtLeast | Op::AtMost))
                if expr.kids.iter().any(|k| self.float(*k).is_some()) =>
            {
                let Some(kids) = self.all_narrow(to, &expr.kids)? else { return Some(None) };
                self.by("bound-before-cast");
                self.op(*op, to, &kids).map(Some)
            }
            Form::Op(Op::Choose) => {
                let (Some(c), Some(values)) = (expr.kids.first(), expr.kids.get(1..)) else { return Some(None) };
                let Some(kids) = self.all_narrow(to, values)? else { return Some(None) };
                self.by("choose-before-cast");
                self.op(Op::Choose, to, &[*c, *kids.first()?, *kids.last()?]).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Returns expressions as those of a narrower dtype, where each is one that was converted, or a number that it holds.
    fn all_narrow(&mut self, to: Dtype, kids: &[ExprId]) -> Option<Option<Vec<ExprId>>> {
        let mut out = Vec::new();
        for kid in kids {
            match self.narrow(to, *kid, NESTED)? {
                Some(narrow) => out.push(narrow),
                None => return Some(None),
            }
        }
        Some(Some(out))
    }

    /// One of them: converted, a number, or bounds and choices of such, which are never rounded.
    fn narrow(&mut self, to: Dtype, x: ExprId, depth: usize) -> Option<Option<ExprId>> {
        if let Some(v) = self.float(x) {
            let holds = round(to, v) == Some(v) || v.is_nan();
            return if holds { self.rounded(to, v).map(Some) } else { Some(None) };
        }
        let (Some(depth), Some((op, kids))) = (depth.checked_sub(1), self.op_of(x)) else { return Some(None) };
        let kids = kids.to_vec();
        match (op, kids.as_slice()) {
            // An integer that the narrower dtype holds is the same number in both.
            (Op::Cast, [inner]) if self.dtype(*inner).is_some_and(Dtype::is_integer) => {
                let held = most_whole(to).zip(self.integers_of(*inner));
                let holds = held.is_some_and(|(most, (low, high))| low.saturating_neg() <= most && high <= most);
                if holds { self.op(Op::Cast, to, &[*inner]).map(Some) } else { Some(None) }
            }
            (Op::Cast, [inner]) => {
                let widens = self.dtype(x).is_some_and(|wide| wide.is_float() && loses_nothing(to, wide));
                Some((widens && self.dtype(*inner) == Some(to)).then_some(*inner))
            }
            (Op::Max | Op::Min | Op::AtLeast | Op::AtMost, [a, b]) if self.float(*a).or(self.float(*b)).is_some() => {
                let (Some(a), Some(b)) = (self.narrow(to, *a, depth)?, self.narrow(to, *b, depth)?) else {
                    return Some(None);
                };
                self.op(op, to, &[a, b]).map(Some)
            }
            (Op::Choose, [c, a, b]) => {
                let (Some(a), Some(b)) = (self.narrow(to, *a, depth)?, self.narrow(to, *b, depth)?) else {
                    return Some(None);
                };
                self.op(Op::Choose, to, &[*c, a, b]).map(Some)
            }
            _ => Some(None),
        }
    }

    fn cast_number(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<ExprId> {
        let v = self.number(x)?;
        if from.is_float() {
            let v = self.float(x)?;
            return match to {
                Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => self.rounded(to, v),
                _ if to != Dtype::Bool && v.fract() == 0.0 && v.abs() < 1e6 => {
                    #[allow(clippy::cast_possible_truncation)]
                    let v = v as i64;
                    if wrapped(to, v) == Some(v) { self.integer(to, v) } else { None }
                }
                _ => None,
            };
        }
        match to {
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 if v.unsigned_abs() <= 1 << 24 => {
                #[allow(clippy::cast_precision_loss)]
                let v = v as f64;
                self.rounded(to, v)
            }
            _ if width(to).is_some() => self.integer(to, v),
            _ => None,
        }
    }

    /// The same bits as another dtype of that width.
    fn seen_as(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<ExprId> {
        if from.bytes() != to.bytes() {
            return None;
        }
        let integers = |d: Dtype| width(d).is_some_and(|w| w > 1);
        if integers(from) && integers(to) {
            self.by("bits-of-integers");
            return self.converted(Op::Cast, to, x);
        }
        if let Some((Op::Bits, [inner])) = self.op_of(x) {
            let inner = *inner;
            return self.converted(Op::Bits, to, inner);
        }
        // The sign of a float is its highest bit.
        if to.is_float()
            && let Some((mask @ (Op::And | Op::Xor), [a, b])) = self.op_of(x)
        {
            let (a, b) = (*a, *b);
            let lowest = 1_i64.checked_shl(width(from)?.checked_sub(1)?)?;
            for (value, number) in [(a, b), (b, a)] {
                let Some((Op::Bits, [inner])) = self.op_of(value) else { continue };
                let inner = *inner;
                let Some(bits) = self.number(number) else { continue };
                let sign = wrapped(from, lowest)?;
                let rest = wrapped(from, lowest.wrapping_sub(1))?;
                let meant = match mask {
                    Op::And if bits == rest => Some(Op::Abs),
                    Op::Xor if bits == sign => Some(Op::Neg),
                    _ => None,
                };
                if let Some(meant) = meant.filter(|_| self.dtype(inner) == Some(to)) {
                    self.by("sign-bit");
                    return self.op(meant, to, &[inner]);
                }
            }
        }
        if let Some(short) = self.upper_half(to, from, x)? {
            self.by("upper-half");
            return self.op(Op::Cast, to, &[short]);
        }
        if let Some(signed) = self.with_sign_of(to, from, x)? {
            self.by("sign-bit");
            return Some(signed);
        }
        self.raw(Op::Bits, to, &[x])
    }

    /// Returns the `bf16` of which an integer holds the bits in its upper half.
    fn upper_half(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        if (to, from) != (Dtype::F32, Dtype::I32) {
            return Some(None);
        }
        let Some(Expr { form: Form::Poly(_), kids, .. }) = self.expr(x).cloned() else { return Some(None) };
        let [half] = kids.as_slice() else { return Some(None) };
        let Some((Op::Cast, [bits])) = self.op_of(*half) else { return Some(None) };
        let Some((Op::Bits, [short])) = self.op_of(*bits) else { return Some(None) };
        let (half, short) = (*half, *short);
        if self.dtype(short) != Some(Dtype::Bf16) {
            return Some(None);
        }
        let times = self.integer(Dtype::I32, 1 << 16)?;
        Some((self.op(Op::Mul, Dtype::I32, &[half, times])? == x).then_some(short))
    }

    /// The magnitude of one float with the sign of another, made of their bits.
    fn with_sign_of(&mut self, to: Dtype, from: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let Some((Op::Or, [a, b])) = self.op_of(x).filter(|_| to.is_float()) else { return Some(None) };
        let lowest = 1_i64.checked_shl(width(from)?.checked_sub(1)?)?;
        let (sign, rest) = (wrapped(from, lowest)?, wrapped(from, lowest.wrapping_sub(1))?);
        let masked = |e: &Self, id: ExprId, mask: i64| {
            let Some((Op::And, [p, q])) = e.op_of(id) else { return None };
            let (bits, number) = if e.number(*q) == Some(mask) { (*p, *q) } else { (*q, *p) };
            match (e.number(number) == Some(mask), e.op_of(bits)) {
                (true, Some((Op::Bits, [of]))) if e.dtype(*of) == Some(to) => Some((*of, bits)),
                _ => None,
            }
        };
        let (a, b) = (*a, *b);
        let found = [(a, b), (b, a)].into_iter().find_map(|(x, y)| masked(self, x, rest).zip(masked(self, y, sign)));
        let Some(((magnitude, _), (_, signed))) = found else { return Some(None) };
        let size = self.op(Op::Abs, to, &[magnitude])?;
        let zero = self.integer(from, 0)?;
        let below = self.op(Op::Lt, Dtype::Bool, &[signed, zero])?;
        let minus = self.op(Op::Neg, to, &[size])?;
        self.op(Op::Choose, to, &[below, minus, size]).map(Some)
    }

    /// Returns the quotient of integers that a conversion cuts out of a quotient of floats, or of that rounded down: of integers that the float holds the quotient
    /// is at least as far from the next integer as it is rounded.
    fn quotient_in_floats(&mut self, to: Dtype, x: ExprId) -> Option<Option<ExprId>> {
        let Some(expr) = self.expr(x) else { return Some(None) };
        let (op, of) = match (&expr.form, expr.kids.as_slice()) {
            (Form::Named(name, _), [of]) if **name == *crate::rules::table::FLOOR => (Op::DivFloor, *of),
            _ => (Op::DivTrunc, x),
        };
        let Some((Op::Div, [over, under])) = self.op_of(of) else { return Some(None) };
        let (over, under) = (*over, *under);
        let (Some(n), Some(d)) = (self.whole(over), self.whole(under)) else { return Some(None) };
        let Some((low, high)) = self.integers_of(d) else { return Some(None) };
        if low <= 0 && high >= 0 || !self.stays_whole(n, to) || !self.stays_whole(d, to) {
            return Some(None);
        }
        // The least integer by -1 is none.
        if self.integers_of(n).is_none_or(|(low, _)| low <= ends(to).map_or(i64::MIN, |e| e.0)) {
            return Some(None);
        }
        self.by("quotient-in-floats");
        let (n, d) = (self.converted(Op::Cast, to, n)?, self.converted(Op::Cast, to, d)?);
        self.op(op, to, &[n, d]).map(Some)
    }
}
