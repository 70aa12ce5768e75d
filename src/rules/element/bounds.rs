//! Between which integers an integer of the data lies.
//!
//! ## What it says
//! What the host says of an input's values holds of every element of it; sums, products, choices and bounds of such integers lie between the ends that
//! their operands give, and so do magnitudes and the bits of numbers that are not negative, and what is cut of floats that are computed of indices and numbers alone, or held between numbers. A short dtype has few numbers. A comparison with a number that is assumed, within a choice by it, bounds what is compared. What is left of a number less its multiples of a divisor is at least 0 and less than the divisor.
//!
//! ## When it is wrong
//! Sums and products wrap around: one that may leave its dtype is bounded by nothing. What the host says is of the values that the input came with. A float beyond the
//! integers that are counted here is cut as the machine does.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, SourceId};
use crate::rules::element::cast::round;
use crate::rules::element::index::IndexId;
use crate::rules::element::make::{ends, width, wrapped};
use crate::rules::element::pick::less_a_multiple;
use crate::rules::table::FLOOR;
use crate::sym::Dim;

/// How deep expressions are looked into.
const DEPTH: usize = 12;
/// How many comparisons of one condition are taken for what they say.
const TOLD: usize = 8;

/// What is at least this is far from 0.
const NEAR: f64 = 0.001;

impl Elements {
    /// Says that every element of a source lies between two integers.
    pub fn lies_between(&mut self, source: SourceId, low: i64, high: i64) {
        self.between.insert(source, (low, high));
    }

    /// Whether an index surely is a place of a dimension of that size.
    pub(in crate::rules) fn is_place_of(&mut self, at: IndexId, size: Dim) -> Option<bool> {
        let left = self.scale(at, Dim::Fixed(-1))?;
        let last = self.plus(size, Dim::Fixed(-1))?;
        let left = self.shift(left, last)?;
        if self.at_least_zero(at) == Some(true) && self.at_least_zero(left) == Some(true) {
            return Some(true);
        }
        let number = self.index_value(Dtype::I64, at)?;
        let ends = size.fixed().zip(self.integers_of(number));
        Some(ends.is_some_and(|(size, (low, high))| low >= 0 && high < size))
    }

    /// Says that every element of a source is a float between two.
    pub fn is_number_between(&mut self, source: SourceId, low: f64, high: f64) {
        self.numbers.insert(source, (low, high));
    }

    /// Says that every element of a source is one of some finite floats, as its dtype rounds them.
    pub fn is_one_listed(&mut self, source: SourceId, all: &[f64]) {
        self.listed.insert(source, all.into());
    }

    /// Says that no element of a source is 0, or no number.
    pub fn is_not_zero(&mut self, source: SourceId) {
        self.not_zero.insert(source);
    }

    /// Whether an element is surely a number, and not 0.
    pub(super) fn is_never_zero(&self, id: ExprId) -> bool {
        let stated = matches!(self.expr(id).map(|x| &x.form), Some(Form::Load(s, _)) if self.not_zero.contains(s));
        stated || self.floats_of(id).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Whether the host says of an element that it is far from 0.
    pub(super) fn is_never_near_zero(&self, id: ExprId) -> bool {
        let far = |(low, high): (f64, f64)| low >= NEAR || high <= -NEAR;
        matches!(&self.expr(id).map(|x| &x.form), Some(Form::Load(s, _)) if self.not_zero.contains(s))
            || self.floats_of(id).is_some_and(far)
    }

    /// Says that every element of a source is one of few small integers.
    pub fn is_one_of_few(&mut self, source: SourceId, numbers: &[i32]) {
        self.few.insert(source, numbers.into());
    }

    /// Says that every element of a source is a power of two, of either sign, of which every float dtype holds the inverse.
    pub fn is_power_of_two(&mut self, source: SourceId) {
        self.powers.insert(source);
    }

    /// Returns the few small integers of which an element is one.
    pub(in crate::rules) fn few_of(&self, id: ExprId) -> Option<&[i32]> {
        match &self.expr(id)?.form {
            Form::Load(source, _) => self.few.get(source).map(|all| &**all),
            _ => None,
        }
    }

    /// Returns two floats between which an element, or a number, lies.
    pub(super) fn floats_of(&self, id: ExprId) -> Option<(f64, f64)> {
        match &self.expr(id)?.form {
            Form::Load(source, _) => self.numbers.get(source).copied(),
            _ => self.float(id).filter(|v| !v.is_nan()).map(|v| (v, v)),
        }
    }

    /// Returns two integers between which an expression of integers lies, wherever it stands: then nothing within wraps around.
    pub fn integers_of(&mut self, id: ExprId) -> Option<(i64, i64)> {
        if self.between.is_empty()
            && self.truths.is_empty()
            && width(self.expr(id)?.dtype).is_none_or(|w| w > 32)
            && !matches!(
                self.expr(id)?.form,
                Form::Const(_) | Form::Op(_) | Form::Index(_) | Form::Poly(_) | Form::Reduce(..)
            )
            && !matches!(self.expr(id)?.form, Form::Load(source, _) if self.places_among(source).is_some())
        {
            return None;
        }
        self.integers_at(id, DEPTH)
    }

    fn integers_at(&mut self, id: ExprId, depth: usize) -> Option<(i64, i64)> {
        let found = self.integers_made(id, depth);
        let dtype = self.dtype(id)?;
        if self.truths.is_empty() || width(dtype).is_none_or(|w| w < 2) {
            return found;
        }
        // Whatever its dtype holds, where nothing else is known of an element.
        let loaded = || matches!(self.expr(id).map(|x| &x.form), Some(Form::Load(..)));
        let all = found.or_else(|| ends(dtype).filter(|_| loaded()))?;
        let told = self.told_by_truths(id, all);
        (found.is_some() || told != all).then_some(told)
    }

    /// Between which integers one lies that lies between two, by comparisons with numbers that are assumed.
    fn told_by_truths(&self, id: ExprId, (mut low, mut high): (i64, i64)) -> (i64, i64) {
        for (truth, holds) in &self.truths {
            let Some((op, [a, b])) = self.op_of(*truth) else { continue };
            let (number, above) = match (self.number(*a), self.number(*b)) {
                (None, Some(v)) if *a == id => (v, false),
                (Some(v), None) if *b == id => (v, true),
                _ => continue,
            };
            let (more, less) = (number.saturating_add(1), number.saturating_sub(1));
            match (op, above, holds) {
                (Op::Lt, false, true) | (Op::Le, true, false) => high = high.min(less),
                (Op::Lt, false, false) | (Op::Le, true, true) => low = low.max(number),
                (Op::Lt, true, true) | (Op::Le, false, false) => low = low.max(more),
                (Op::Lt, true, false) | (Op::Le, false, true) => high = high.min(number),
                (Op::Eq, _, true) => (low, high) = (low.max(number), high.min(number)),
                _ => {}
            }
        }
        (low, high)
    }

    /// Between which integers one lies where a truth is so.
    fn integers_where(&mut self, truth: ExprId, holds: bool, id: ExprId, depth: usize) -> Option<(i64, i64)> {
        let mut open = vec![(truth, holds)];
        let mut told = Vec::new();
        while let Some((truth, holds)) = open.pop() {
            match self.op_of(truth) {
                Some((Op::Not, [inner])) => open.push((*inner, !holds)),
                Some((Op::And, kids)) if holds => open.extend(kids.iter().map(|k| (*k, true))),
                Some((Op::Or, kids)) if !holds => open.extend(kids.iter().map(|k| (*k, false))),
                Some((Op::Lt | Op::Le | Op::Eq, _)) if !self.truths.contains_key(&truth) && told.len() < TOLD => {
                    self.truths.insert(truth, holds);
                    told.push(truth);
                }
                _ => {}
            }
        }
        let found = self.integers_at(id, depth);
        for truth in told {
            self.truths.remove(&truth);
        }
        found
    }

    /// Whether a float, being a number, is not above 0, or not below it, by a comparison with 0 that is assumed; `None` where none says so.
    pub(in crate::rules) fn sign_by_truths(&self, id: ExprId) -> Option<bool> {
        let nothing = |x: ExprId| self.float(x).is_some_and(|v| v == 0.0);
        self.truths.iter().find_map(|(truth, holds)| match self.op_of(*truth)? {
            (Op::Lt | Op::Le, [a, b]) if *a == id && nothing(*b) => Some(*holds),
            (Op::Lt | Op::Le, [a, b]) if *b == id && nothing(*a) => Some(!*holds),
            _ => None,
        })
    }

    fn integers_made(&mut self, id: ExprId, depth: usize) -> Option<(i64, i64)> {
        let depth = depth.checked_sub(1)?;
        self.spend(1)?;
        let expr = self.expr(id)?.clone();
        if expr.dtype == Dtype::Bool {
            return Some((0, 1));
        }
        width(expr.dtype)?;
        let found = match &expr.form {
            Form::Const(v) => (*v, *v),
            Form::Load(source, _) => match self.between.get(source) {
                Some(known) => *known,
                None if let Some(size) = self.places_among(*source) => (0, size.fixed()?.saturating_sub(1).max(0)),
                // All numbers that a short dtype has.
                None => match expr.dtype {
                    Dtype::U8 => (0, 255),
                    Dtype::I8 => (-128, 127),
                    Dtype::I16 => (-32768, 32767),
                    Dtype::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
                    _ => return None,
                },
            },
            Form::Index(i) => self.ends_of(*i)?,
            Form::Poly(products) if let Some(by) = self.remainder_by(products, &expr.kids) => (0, by.checked_sub(1)?),
            Form::Poly(products) => {
                let mut kids = expr.kids.iter().copied();
                let mut total = (0_i64, 0_i64);
                for (count, factor) in products {
                    let mut product = (*factor, *factor);
                    for kid in kids.by_ref().take(*count as usize) {
                        product = multiplied(product, self.integers_at(kid, depth)?)?;
                    }
                    total = (total.0.checked_add(product.0)?, total.1.checked_add(product.1)?);
                }
                total
            }
            Form::Reduce(Fold::Sum, _, sizes) => {
                let (low, high) = self.integers_at(*expr.kids.first()?, depth)?;
                let mut count = 1_i64;
                for size in sizes.iter() {
                    count = count.checked_mul(size.fixed().or_else(|| self.symbols.range_of(*size).max)?.max(1))?;
                }
                (low.min(0).checked_mul(count)?, high.max(0).checked_mul(count)?)
            }
            Form::Reduce(Fold::Most | Fold::Least, ..) => self.integers_at(*expr.kids.first()?, depth)?,
            Form::Op(Op::Bits) => self.bits_between(*expr.kids.first()?)?,
            Form::Op(Op::Cast) if let Some(kid) = expr.kids.first().copied().filter(|k| self.is_float(*k)) => {
                match self.computed_between(kid, depth) {
                    Some((low, high)) => (cut(low)?, cut(high)?),
                    None => self.cut_between(expr.dtype, kid)?,
                }
            }
            Form::Op(Op::And) => {
                // Bits that are not set in one are not set in both.
                let each = [0, 1].map(|k| expr.kids.get(k).and_then(|kid| self.integers_at(*kid, depth)));
                let most = each.into_iter().flatten().filter(|(low, _)| *low >= 0).map(|(_, high)| high).min()?;
                (0, most)
            }
            // Each value is one where the condition is as it says.
            Form::Op(Op::Choose) => {
                let (condition, yes, no) = (*expr.kids.first()?, *expr.kids.get(1)?, *expr.kids.get(2)?);
                let yes = self.integers_where(condition, true, yes, depth)?;
                let no = self.integers_where(condition, false, no, depth)?;
                (yes.0.min(no.0), yes.1.max(no.1))
            }
            Form::Op(op) => {
                let mut each = Vec::new();
                // Any integer is an element as it stands; a bound leaves what it bounds.
                let bounds = matches!(op, Op::Max | Op::Min | Op::AtLeast | Op::AtMost) && expr.dtype == Dtype::I64;
                for kid in &expr.kids {
                    let known = self.integers_at(*kid, depth);
                    let loaded = bounds && matches!(self.expr(*kid)?.form, Form::Load(..));
                    each.push(known.or(loaded.then_some((i64::MIN, i64::MAX)))?);
                }
                of_operator(*op, &each)?
            }
            _ => return None,
        };
        let holds = |v: i64| wrapped(expr.dtype, v) == Some(v);
        (holds(found.0) && holds(found.1)).then_some(found)
    }
}

/// The integer that is left of a float, cut.
fn cut(v: f64) -> Option<i64> {
    const MOST: f64 = 1e15;
    #[allow(clippy::cast_possible_truncation)]
    (v.abs() <= MOST).then_some(v as i64)
}

impl Elements {
    fn is_float(&self, id: ExprId) -> bool {
        self.dtype(id).is_some_and(|d| d.is_float())
    }

    /// Returns two finite numbers between which a float lies that is computed of indices, integers and numbers alone: each rounding keeps their order.
    fn computed_between(&mut self, id: ExprId, depth: usize) -> Option<(f64, f64)> {
        const EXACT: i64 = 1 << 52;
        let depth = depth.checked_sub(1)?;
        self.spend(1)?;
        let expr = self.expr(id)?.clone();
        let rounded = |v: f64| round(expr.dtype, v).filter(|v| v.is_finite());
        let of_all = |all: &[f64]| {
            let low = all.iter().copied().fold(f64::INFINITY, f64::min);
            let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            Some((rounded(low)?, rounded(high)?))
        };
        let kids = expr.kids.as_slice();
        match (&expr.form, kids) {
            (Form::Const(_), []) => self.float(id).filter(|v| v.is_finite()).map(|v| (v, v)),
            #[allow(clippy::cast_precision_loss)]
            (Form::Op(Op::Cast), [x]) if !self.is_float(*x) => {
                let (low, high) = self.integers_at(*x, depth)?;
                (low.unsigned_abs().max(high.unsigned_abs()) <= EXACT.unsigned_abs()).then_some(())?;
                of_all(&[low as f64, high as f64])
            }
            (Form::Op(Op::Cast), [x]) => {
                let (low, high) = self.computed_between(*x, depth)?;
                of_all(&[low, high])
            }
            (Form::Op(Op::Neg), [x]) => self.computed_between(*x, depth).map(|(low, high)| (-high, -low)),
            (Form::Op(op @ (Op::Add | Op::Sub | Op::Mul)), [x, y]) => {
                let (x, y) = (self.computed_between(*x, depth)?, self.computed_between(*y, depth)?);
                match op {
                    Op::Add => of_all(&[x.0 + y.0, x.1 + y.1]),
                    Op::Sub => of_all(&[x.0 - y.1, x.1 - y.0]),
                    _ => of_all(&[x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1]),
                }
            }
            (Form::Op(op @ (Op::Max | Op::AtLeast | Op::Min | Op::AtMost)), [x, y]) => {
                let (x, y) = (self.computed_between(*x, depth)?, self.computed_between(*y, depth)?);
                match op {
                    Op::Max | Op::AtLeast => Some((x.0.max(y.0), x.1.max(y.1))),
                    _ => Some((x.0.min(y.0), x.1.min(y.1))),
                }
            }
            (Form::Named(name, tokens), [x]) if tokens.len() == 1 && **name == *FLOOR => {
                self.computed_between(*x, depth).map(|(low, high)| (low.floor(), high.floor()))
            }
            _ => None,
        }
    }

    /// Returns the bits between which those of a float lie that is above 0: they rise with it.
    fn bits_between(&self, x: ExprId) -> Option<(i64, i64)> {
        let expr = self.expr(x)?;
        let Form::Load(source, _) = &expr.form else { return None };
        let (low, high) = *self.numbers.get(source)?;
        let most = match expr.dtype {
            Dtype::F32 => f64::from(f32::MAX),
            Dtype::F64 => f64::MAX,
            _ => return None,
        };
        (low > 0.0 && round(expr.dtype, low) == Some(low)).then_some(())?;
        let high = if high >= most { f64::INFINITY } else { high };
        (round(expr.dtype, high) == Some(high)).then_some(())?;
        #[allow(clippy::cast_possible_truncation)]
        let bits = |v: f64| match expr.dtype {
            Dtype::F32 => i64::from((v as f32).to_bits()),
            _ => v.to_bits().cast_signed(),
        };
        Some((bits(low), bits(high)))
    }

    /// Returns the divisor where a sum is a number less the multiple of the divisor below it.
    pub(super) fn remainder_by(&self, products: &[(u32, i64)], kids: &[ExprId]) -> Option<i64> {
        self.remainder_of(products, kids).map(|(_, by)| by)
    }

    /// The same, and the number of which the rest is.
    pub(super) fn remainder_of(&self, products: &[(u32, i64)], kids: &[ExprId]) -> Option<(ExprId, i64)> {
        let (x, over, by) = less_a_multiple(products, kids)?;
        let divides = match self.op_of(over)? {
            (Op::DivFloor, [y, n]) => *y == x && self.number(*n) == Some(by),
            (Op::Shr, [y, n]) => {
                *y == x && self.number(*n).and_then(|n| 1_i64.checked_shl(u32::try_from(n).ok()?)) == Some(by)
            }
            _ => false,
        };
        divides.then_some((x, by))
    }
}

fn multiplied(a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    let all = [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?];
    Some((all.into_iter().min()?, all.into_iter().max()?))
}

fn of_operator(op: Op, each: &[(i64, i64)]) -> Option<(i64, i64)> {
    match (op, each) {
        (Op::Cast, [a]) => Some(*a),
        (Op::Max | Op::AtLeast, [a, b]) => Some((a.0.max(b.0), a.1.max(b.1))),
        (Op::Min | Op::AtMost, [a, b]) => Some((a.0.min(b.0), a.1.min(b.1))),
        (Op::Add, [a, b]) => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
        (Op::Sub, [a, b]) => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
        (Op::Mul, [a, b]) => multiplied(*a, *b),
        (Op::DivFloor, [a, b]) if b.0 == b.1 && b.0 > 0 => {
            Some((a.0.checked_div_euclid(b.0)?, a.1.checked_div_euclid(b.0)?))
        }
        (Op::DivTrunc, [a, b]) if b.0 == b.1 && b.0 > 0 => Some((a.0.checked_div(b.0)?, a.1.checked_div(b.0)?)),
        (Op::Shr, [a, b]) if b.0 == b.1 && (0..63).contains(&b.0) => {
            let by = u32::try_from(b.0).ok()?;
            Some((a.0.checked_shr(by)?, a.1.checked_shr(by)?))
        }
        (Op::Shr, [a, b]) if a.0 >= 0 && b.0 >= 0 && b.1 < 63 => {
            let (least, most) = (u32::try_from(b.0).ok()?, u32::try_from(b.1).ok()?);
            Some((a.0.checked_shr(most)?, a.1.checked_shr(least)?))
        }
        (Op::Abs, [a]) => {
            let (first, last) = (a.0.checked_abs()?, a.1.checked_abs()?);
            let least = if a.0 <= 0 && a.1 >= 0 { 0 } else { first.min(last) };
            Some((least, first.max(last)))
        }
        // No bit is set above the highest of either.
        (Op::Or | Op::Xor, [a, b]) if a.0 >= 0 && b.0 >= 0 => {
            let above = a.1.max(b.1).leading_zeros().checked_sub(1)?;
            Some((0, i64::MAX.checked_shr(above)?))
        }
        // What is left of a division by a positive number is less than it.
        (Op::Rem, [_, b]) if b.0 > 0 => Some((0, b.1.checked_sub(1)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::element::arena::Source;
    use crate::sym::Symbols;
    use crate::term::store::Store;

    fn source(e: &mut Elements) -> SourceId {
        let mut store: Store<u32> = Store::default();
        e.source(Source::Value(store.at(0)))
    }

    #[test]
    fn a_sum_lies_between_sums_of_ends_unless_it_may_wrap_around() {
        let mut e = Elements::new(Symbols::new(), crate::sym::KeyedSet::default(), 10_000);
        let s = source(&mut e);
        let x = e.load(Dtype::I8, s, smallvec::SmallVec::new()).unwrap();
        assert_eq!(e.integers_of(x), Some((-128, 127)));
        let word = e.load(Dtype::I32, s, smallvec::SmallVec::new()).unwrap();
        assert_eq!(e.integers_of(word), Some((i64::from(i32::MIN), i64::from(i32::MAX))));
        let one = e.integer(Dtype::I32, 1).unwrap();
        let next = e.op(Op::Add, Dtype::I32, &[word, one]).unwrap();
        assert_eq!(e.integers_of(next), None);
        let wide = e.load(Dtype::I64, s, smallvec::SmallVec::new()).unwrap();
        assert_eq!(e.integers_of(wide), None);
        e.lies_between(s, 0, 100);
        assert_eq!(e.integers_of(x), Some((0, 100)));
        let (three, hundred) = (e.integer(Dtype::I8, 3).unwrap(), e.integer(Dtype::I8, 100).unwrap());
        let more = e.op(Op::Add, Dtype::I8, &[x, three]).unwrap();
        assert_eq!(e.integers_of(more), Some((3, 103)));
        let wraps = e.op(Op::Add, Dtype::I8, &[x, hundred]).unwrap();
        assert_eq!(e.integers_of(wraps), None);
    }
}
