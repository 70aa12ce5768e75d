//! Between which numbers a float lies, by the comparisons of it with numbers that are assumed.
//!
//! ## What it says
//! Comparisons of one float with numbers say others: what is more than 4 is more than 0. What is neither less nor more than a number is that number. What is
//! at most a number, and not that, is less; each number is at most infinity.
//! A bound of what lies on one side of it is the one or the other.
//!
//! ## When it is wrong
//! A comparison that does not hold says nothing of a NaN: by such ones alone others are false, none is true, and the float is the number or NaN.

use crate::rules::element::arena::{Elements, ExprId, Op};

/// Where a float lies, and whether it is surely no NaN.
#[derive(Clone, Copy, Debug)]
struct Between {
    low: f64,
    high: f64,
    /// Whether an end itself is left out.
    above: bool,
    below: bool,
    ordered: bool,
}

impl Between {
    const ALL: Between =
        Between { low: f64::NEG_INFINITY, high: f64::INFINITY, above: false, below: false, ordered: false };

    fn raised_to(mut self, low: f64, above: bool) -> Between {
        if low > self.low || low >= self.low && above {
            (self.low, self.above) = (low, above);
        }
        self
    }

    fn lowered_to(mut self, high: f64, below: bool) -> Between {
        if high < self.high || high <= self.high && below {
            (self.high, self.below) = (high, below);
        }
        self
    }

    fn without(mut self, number: f64) -> Between {
        self.above |= number == self.low;
        self.below |= number == self.high;
        self
    }

    /// What a comparison with a number says: `number op x`, or `x op number`.
    fn told(self, op: Op, number: f64, number_first: bool, holds: bool) -> Between {
        let told = match (op, number_first, holds) {
            (Op::Eq, _, true) => self.raised_to(number, false).lowered_to(number, false),
            (Op::Lt, true, true) | (Op::Le, false, false) => self.raised_to(number, true),
            (Op::Le, true, true) | (Op::Lt, false, false) => self.raised_to(number, false),
            (Op::Lt, false, true) | (Op::Le, true, false) => self.lowered_to(number, true),
            (Op::Le, false, true) | (Op::Lt, true, false) => self.lowered_to(number, false),
            _ => self,
        };
        Between { ordered: told.ordered || holds, ..told }
    }

    /// Whether it is less than a number, of a float that is no NaN.
    fn less(self, number: f64) -> Option<bool> {
        match () {
            () if self.high < number || self.high <= number && self.below => Some(true),
            () if self.low >= number => Some(false),
            () => None,
        }
    }

    /// Whether it is a number or less, of a float that is no NaN.
    fn less_or_equal(self, number: f64) -> Option<bool> {
        match () {
            () if self.high <= number => Some(true),
            () if self.low > number || self.low >= number && self.above => Some(false),
            () => None,
        }
    }
}

impl Elements {
    /// Returns the float, the number, and whether the number stands first, of a comparison of the two.
    fn with_number(&self, a: ExprId, b: ExprId) -> Option<(ExprId, f64, bool)> {
        match (self.float(a).filter(|v| !v.is_nan()), self.float(b).filter(|v| !v.is_nan())) {
            (Some(number), None) => Some((b, number, true)),
            (None, Some(number)) => Some((a, number, false)),
            _ => None,
        }
    }

    /// Returns where a float lies.
    fn lies(&self, x: ExprId) -> Between {
        let mut out = Between::ALL;
        let mut others = Vec::new();
        for (id, holds) in &self.truths {
            let Some((op @ (Op::Lt | Op::Le | Op::Eq), [a, b])) = self.op_of(*id) else { continue };
            out.ordered |= *holds && op == Op::Eq && *a == x && *b == x;
            if let Some((_, number, first)) = self.with_number(*a, *b).filter(|(y, ..)| *y == x) {
                out = out.told(op, number, first, *holds);
                others.extend((op == Op::Eq && !holds).then_some(number));
            }
        }
        // An end that it is not is left out.
        others.into_iter().fold(out, Between::without)
    }

    /// Returns what is known of a comparison of a float with a number.
    pub(super) fn follows_by_numbers(&self, op: Op, a: ExprId, b: ExprId) -> Option<bool> {
        if self.truths.is_empty() {
            return None;
        }
        let (x, number, first) = self.with_number(a, b)?;
        let between = self.lies(x);
        let known = match (op, first) {
            (Op::Lt, false) => between.less(number),
            (Op::Le, false) => between.less_or_equal(number),
            (Op::Lt, true) => between.less_or_equal(number).map(|holds| !holds),
            (Op::Le, true) => between.less(number).map(|holds| !holds),
            (Op::Eq, _) => {
                let beside = between.less(number) == Some(true) || between.less_or_equal(number) == Some(false);
                let itself = between.less(number) == Some(false) && between.less_or_equal(number) == Some(true);
                (beside || itself).then_some(itself)
            }
            _ => None,
        }?;
        // Of a NaN each of these is false.
        (between.ordered || !known || self.is_ordered(x) == Some(true)).then_some(known)
    }

    /// Returns which of a float and a number a bound is, by what is assumed; of zeros that are equal the kernel chooses.
    pub(super) fn bound_by_numbers(&self, op: Op, a: ExprId, b: ExprId) -> Option<ExprId> {
        if self.truths.is_empty() {
            return None;
        }
        let (x, number, first) = self.with_number(a, b)?;
        let Between { low, high, above, below, ordered } = self.lies(x);
        let beyond = low > number || low >= number && (above || number != 0.0);
        let within = high < number || high <= number && (below || number != 0.0);
        let (itself, other) = match op {
            Op::Max | Op::AtLeast => (beyond, within),
            Op::Min | Op::AtMost => (within, beyond),
            _ => return None,
        };
        match () {
            // A NaN passes.
            () if itself => Some(x),
            () if other && ordered => Some(if first { a } else { b }),
            () => None,
        }
    }

    /// Whether what is assumed of a float, compared with numbers, holds of none but NaN: it is neither below nor above one of them, nor that.
    pub(super) fn holds_of_nan_alone(&self) -> bool {
        let compared = self.truths.keys().filter_map(|id| match self.op_of(*id) {
            Some((Op::Lt | Op::Le | Op::Eq, [a, b])) => self.with_number(*a, *b).map(|(x, ..)| x),
            _ => None,
        });
        let mut all: Vec<ExprId> = compared.collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().any(|x| {
            let Between { low, high, above, below, .. } = self.lies(x);
            low > high || low >= high && (above || below)
        })
    }

    /// Returns floats that are one finite number, or NaN, by what is assumed.
    pub fn assumed_numbers(&self) -> Vec<(ExprId, f64)> {
        let mut all: Vec<ExprId> = Vec::new();
        for id in self.truths.keys() {
            let Some((Op::Lt | Op::Le | Op::Eq, [a, b])) = self.op_of(*id) else { continue };
            all.extend(self.with_number(*a, *b).map(|(x, ..)| x));
        }
        all.sort_unstable();
        all.dedup();
        let number = |x: ExprId| {
            let Between { low, high, above, below, .. } = self.lies(x);
            (low.is_finite() && low >= high && high >= low && !above && !below).then_some((x, low))
        };
        all.into_iter().filter_map(number).collect()
    }
}
