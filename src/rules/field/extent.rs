//! Bounds that never bite, and comparisons with one outcome.
//!
//! ## What it says
//! Whatever numbers an element is made of, it lies between two ends, and so does the float that is computed of it: squares, magnitudes, roots and
//! exponentials are not negative, a sigmoid lies between 0 and 1, an input in the domain that the host states. The greater of two of which one is never
//! above the other is that one; a magnitude of what is never negative is that; a comparison of what lies apart has one outcome.
//!
//! ## When it is wrong
//! Of NaN, which is none of these: that is asked of the elements as they stand. A float is not its number: what is tiny becomes 0, what is added to
//! something large is rounded as that is, what is too large is infinite. So each step moves the ends apart by what its dtype may lose, and a comparison is
//! known only of what is never NaN unless its elements are, and lies apart, or on two sides of 0.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::definedness::hides_no_nan;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, SourceId};
use crate::rules::element::cast::{keeps_order, loses_nothing, round};
use crate::rules::field::normal::Field;
use crate::rules::rounding::{
    Least, Reach, between, greatest, holds_a_one, is_element_of, is_end_of, least_of_sum, least_share, remember, unit,
};
use crate::rules::table::{FLOOR, Meaning, Real, is_never_infinite, meaning, real};
use crate::sym::Dim;

/// How far ends are moved apart, beside themselves, for what is lost where they are computed.
const LOST: f64 = 1e-12;
/// How many units of its dtype a function may be off.
const OF_FUNCTION: f64 = 8.0;
/// No number that is stated not to be near 0 is nearer.
const NOT_NEAR: f64 = crate::rules::rounding::APART;
/// How far ends must lie apart, beside themselves, so that no rounding decides a comparison.
const APART: f64 = 0.01;
/// What is no larger never leaves a dtype where few are added or two are multiplied.
const MODEST: f64 = 100.0;

/// How many factors and products of them are looked at for what stands twice.
const FACTORS: usize = 16;
/// An exponential that comes to more than this is steep.
const STEEP: f64 = 1_048_576.0;
/// A number that the graph names and that is larger is steep, too.
const NUMBER: f64 = 16384.0;
/// Within which no exponential comes to its end.
const NEAR_ENOUGH: f64 = 4.0;
/// The end of the working range, of narrow floats aside.
pub const WORKING: f64 = 1024.0;
/// No dimension is longer.
const MANY: f64 = 9.3e18;
/// The square of what is at least this is far above the smallest numbers.
pub(super) const SEEN: f64 = 1e-15;
/// How many elements what is chosen may be made of to be looked at as it is chosen.
const CHOSEN: usize = 32;

/// Between which ends an element lies.
#[derive(Clone, Copy, Debug)]
pub(in crate::rules) struct Extent {
    pub(super) low: f64,
    high: f64,
    /// Whether it is no NaN where its elements are none, infinite ones and what leaves its dtype included.
    plain: bool,
}

const ANY: Extent = Extent { low: f64::NEG_INFINITY, high: f64::INFINITY, plain: false };

impl Default for Extent {
    /// Of which nothing is known.
    fn default() -> Self {
        ANY
    }
}

impl Extent {
    pub(in crate::rules) fn is_never_negative(self) -> bool {
        self.low >= 0.0
    }

    /// Whether all of it is so far from 0 that its square is seen in every dtype but `f16`.
    pub(in crate::rules) fn is_apart_from_zero(self) -> bool {
        self.low >= SEEN || self.high <= -SEEN
    }

    /// Whether both ends are numbers.
    pub(in crate::rules) fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// The least magnitude within.
    pub(super) fn least_magnitude(self) -> f64 {
        self.low.max(-self.high).max(0.0)
    }

    /// Whether all of it is one number, as far as it is computed.
    pub(super) fn is_one_number(self) -> bool {
        let most = self.high.max(-self.low);
        most.is_finite() && self.high - self.low <= APART * most
    }

    fn of(low: f64, high: f64) -> Extent {
        if low.is_nan() || high.is_nan() || low > high { ANY } else { Extent { low, high, plain: false } }
    }

    fn plain(self, plain: bool) -> Extent {
        Extent { plain, ..self }
    }

    /// Ends that floats of a dtype keep to, too, which are computed within so many of its units: a rounding never leaves 0 for the other side, what is
    /// tiny may be 0, and what the dtype does not hold is infinite.
    fn computed(self, dtype: Dtype, units: f64) -> Extent {
        let lost = (units * unit(dtype)).max(LOST);
        let (least, most) = (least_normal(dtype), greatest(dtype));
        let up = |v: f64| {
            let above = if v == 0.0 { v } else { v + v.abs() * lost + least };
            let above = if v < 0.0 { above.min(0.0) } else { above };
            if above > most { f64::INFINITY } else { above }
        };
        Extent { low: -up(-self.low), high: up(self.high), ..self }.mended()
    }

    /// The same of what is rounded once, to the nearest: no rounding passes a number that the dtype holds.
    fn rounded_once(self, dtype: Dtype) -> Extent {
        let made = self.computed(dtype, 1.0);
        let holds = |v: f64| v.abs() >= least_normal(dtype) && dtype != Dtype::F64 && round(dtype, v) == Some(v);
        let end = |exact: f64, made: f64| if exact.is_finite() && holds(exact) { exact } else { made };
        Extent { low: end(self.low, made.low), high: end(self.high, made.high), ..made }
    }

    fn mended(self) -> Extent {
        let low = if self.low.is_nan() { f64::NEG_INFINITY } else { self.low };
        let high = if self.high.is_nan() { f64::INFINITY } else { self.high };
        Extent { low, high, ..self }
    }

    fn is_modest(self) -> bool {
        self.low.abs() <= MODEST && self.high.abs() <= MODEST
    }

    fn plus(self, other: Extent) -> Extent {
        // What is infinite on one side alone does not meet its opposite.
        let below = self.low > f64::NEG_INFINITY && other.low > f64::NEG_INFINITY;
        let above = self.high < f64::INFINITY && other.high < f64::INFINITY;
        let plain = self.plain && other.plain && (below || above);
        Extent::of(self.low + other.low, self.high + other.high).plain(plain)
    }

    fn minus(self) -> Extent {
        Extent { low: -self.high, high: -self.low, ..self }
    }

    fn times(self, other: Extent) -> Extent {
        // 0 times any number is 0.
        let one = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let all = [
            one(self.low, other.low),
            one(self.low, other.high),
            one(self.high, other.low),
            one(self.high, other.high),
        ];
        let plain = self.plain && other.plain && self.is_modest() && other.is_modest();
        let low = all.into_iter().fold(f64::INFINITY, f64::min);
        Extent::of(low, all.into_iter().fold(f64::NEG_INFINITY, f64::max)).plain(plain)
    }

    fn inverse(self) -> Extent {
        let plain = self.plain && (self.low > 1.0 / MODEST || self.high < -1.0 / MODEST);
        if self.low >= 0.0 {
            Extent::of(1.0 / self.high, if self.low > 0.0 { 1.0 / self.low } else { f64::INFINITY }).plain(plain)
        } else if self.high <= 0.0 {
            self.minus().inverse().minus()
        } else {
            ANY
        }
    }

    fn magnitude(self) -> Extent {
        if self.low >= 0.0 {
            self
        } else if self.high <= 0.0 {
            self.minus()
        } else {
            Extent { low: 0.0, high: self.high.max(-self.low), ..self }
        }
    }

    fn with(self, other: Extent) -> Extent {
        Extent { low: self.low.min(other.low), high: self.high.max(other.high), plain: self.plain && other.plain }
    }

    /// Values of a function that does not fall.
    fn rising(self, f: impl Fn(f64) -> f64) -> Extent {
        Extent { low: f(self.low), high: f(self.high), ..self }.mended()
    }

    /// Values of a function, as floats of a dtype have them.
    fn function(self, function: Real, dtype: Dtype) -> Extent {
        let endless = f64::INFINITY;
        let (least, most) = match function {
            Real::Exp | Real::Exp2 | Real::Sqrt | Real::Square | Real::Relu => (0.0, endless),
            Real::Expm1 => (-1.0, endless),
            Real::Sigmoid => (0.0, 1.0),
            Real::Tanh | Real::Erf => (-1.0, 1.0),
            Real::Erfc => (0.0, 2.0),
            _ => (-endless, endless),
        };
        let made = self.real_function(function);
        let made = if function == Real::Relu { made } else { made.computed(dtype, OF_FUNCTION) };
        Extent { low: made.low.max(least), high: made.high.min(most), ..made }
    }

    /// Values of a function of real numbers.
    fn real_function(self, function: Real) -> Extent {
        let endless = f64::INFINITY;
        let within = |low: f64, high: f64| Extent { low, high, ..self };
        match function {
            Real::Exp => self.rising(f64::exp),
            Real::Exp2 => self.rising(f64::exp2),
            Real::Expm1 => self.rising(f64::exp_m1),
            Real::Log if self.low > 0.0 => self.rising(f64::ln),
            Real::Log => Extent::of(-endless, if self.high > 0.0 { self.high.ln() } else { endless }),
            Real::Log1p if self.low > -1.0 => self.rising(f64::ln_1p),
            Real::Sqrt => self.rising(|v| v.max(0.0).sqrt()).plain(self.plain && self.low >= 0.0),
            Real::Rsqrt => self.real_function(Real::Sqrt).inverse(),
            Real::Reciprocal => self.inverse(),
            Real::Sigmoid => self.rising(|v| 1.0 / (1.0 + (-v).exp())),
            Real::Silu if self.low >= 0.0 => Extent::of(0.0, self.high).plain(self.plain),
            Real::Silu => Extent::of(-0.28, self.high.max(0.0)),
            Real::Relu => within(self.low.max(0.0), self.high.max(0.0)),
            Real::Square => {
                let size = self.magnitude();
                within(size.low * size.low, size.high * size.high)
            }
            Real::Tanh => self.rising(f64::tanh),
            Real::Erf | Real::Sin | Real::Cos => within(-1.0, 1.0).plain(self.plain && function == Real::Erf),
            Real::Erfc => within(0.0, 2.0),
            Real::Sinh => self.rising(f64::sinh),
            Real::Cosh => within(1.0, endless),
            Real::Log1p | Real::Tan => ANY,
        }
    }
}

/// A number's magnitude as a power of two; 0 of what has none.
fn power_of(v: f64) -> f64 {
    if v.is_finite() && v != 0.0 { v.abs().log2() } else { 0.0 }
}

/// The smallest number of a dtype that has all of its places: what is less a device may take for 0.
pub(super) fn least_normal(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => 0.5_f64.powi(14),
        Dtype::F64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

impl Elements {
    /// Returns between which ends an element lies.
    pub(super) fn extent_of(&mut self, root: ExprId) -> Option<Extent> {
        self.extents(root)?.get(&root).copied()
    }

    /// Whether an element is never negative, whatever real numbers it is made of.
    pub fn is_never_negative(&mut self, root: ExprId) -> Option<bool> {
        Some(self.extent_of(root)?.low >= 0.0)
    }

    /// Whether an element is so far from 0 that its square is seen in every dtype but `f16`.
    pub fn is_apart_from_zero(&mut self, root: ExprId) -> Option<bool> {
        Some(self.extent_of(root)?.is_apart_from_zero())
    }

    /// Between which numbers an element lies that is surely on one side of 0.
    pub fn ends_apart_from_zero(&mut self, root: ExprId) -> Option<(f64, f64)> {
        let extent = self.extent_of(root)?;
        extent.is_apart_from_zero().then_some((extent.low, extent.high))
    }

    /// Says of floats of which nothing is stated that they lie in the working range.
    pub fn lies_in_working_range(&mut self, root: ExprId) {
        let below = self.below(root);
        let narrow = below.iter().any(|id| self.dtype(*id) == Some(Dtype::F16));
        let most = if narrow { 32.0 } else { WORKING };
        for id in below {
            if let Some(Expr { form: Form::Load(source, _), .. }) = self.expr(id) {
                let source = *source;
                self.numbers.entry(source).or_insert((-most, most));
            }
        }
    }

    /// Whether something within is infinite over a whole part of the working range: an exponential or a power that leaves its dtype, or what is made of one.
    /// What sums and products of inputs come to is not asked, nor where a divisor is 0.
    pub fn grows_beyond(&mut self, root: ExprId) -> Option<bool> {
        let known = self.extents(root)?;
        Some(!self.endless_within(root, &known).is_empty())
    }

    /// Returns what stands in order in a source, if that is one.
    pub fn in_order(&self, source: SourceId) -> Option<ExprId> {
        self.ordered(source).map(|t| t.expr)
    }

    /// How far what stands in order in a source reaches, if that is one, where some of what is read reaches beyond the working range.
    pub fn reach_in_order(&mut self, source: SourceId, beyond: &[(SourceId, Reach)]) -> Option<Option<Reach>> {
        let root = self.in_order(source)?;
        let stated = self.numbers.clone();
        self.numbers.extend(beyond.iter().map(|(source, reach)| (*source, (reach.low, reach.high))));
        self.lies_in_working_range(root);
        let found = self.reach_of(root);
        self.numbers = stated;
        found
    }

    /// Whether an element lies in the working range of what is not narrow, as far as is known of what it is made of.
    pub fn is_within_working_range(&mut self, root: ExprId) -> Option<bool> {
        let extent = self.extent_of(root)?;
        Some(extent.low >= -WORKING && extent.high <= WORKING)
    }

    /// Whether an element stays within its dtype where all that it is made of lies in the working range.
    pub fn stays_within(&mut self, root: ExprId) -> Option<bool> {
        let stated = self.numbers.clone();
        self.lies_in_working_range(root);
        let found = self.reach_of(root).zip(self.extent_of(root));
        self.numbers = stated;
        let (reach, extent) = found?;
        let most = greatest(self.dtype(root)?);
        Some(reach.is_none() && extent.low >= -most && extent.high <= most)
    }

    /// How far an element reaches beyond the working range, in few places or many: by what grows beside them, by large numbers, or by a rounding. What sums
    /// and products of other numbers come to is not asked.
    pub fn reach_of(&mut self, root: ExprId) -> Option<Option<Reach>> {
        let dtype = self.dtype(root)?;
        let ends = std::mem::take(&mut self.ends);
        remember(self, [root, root]);
        let steep = self.extents(root).and_then(|known| {
            let bounded = self.bounded_where_chosen(root, &known)?;
            Some((self.steep_within(root, &known, &bounded).contains(&root), known))
        });
        self.ends = ends;
        let (is_steep, known) = steep?;
        let (found, most) = (known.get(&root).copied().unwrap_or(ANY), greatest(dtype));
        if !dtype.is_float() || !is_steep {
            return Some(None);
        }
        let end = |v: f64| if v.abs() > most { v.signum() * f64::INFINITY } else { v };
        Some(Some(Reach { low: end(found.low), high: end(found.high) }).filter(|reach| reach.most() > WORKING))
    }

    /// Returns choices, and what is modest wherever they choose it.
    fn bounded_where_chosen(
        &mut self,
        root: ExprId,
        known: &FxHashMap<ExprId, Extent>,
    ) -> Option<FxHashSet<(ExprId, ExprId)>> {
        let mut out = FxHashSet::default();
        for id in self.below(root) {
            let Some((Op::Choose, &[truth, a, b])) = self.op_of(id) else { continue };
            for (holds, chosen) in [(true, a), (false, b)] {
                self.spend(1)?;
                if self.extent_where(truth, holds, chosen, known).is_some_and(Extent::is_modest) {
                    out.insert((id, chosen));
                }
            }
        }
        Some(out)
    }

    /// Returns what is large in few places, and what is made of that and may be large; choices, and what is modest wherever they choose it, are given.
    fn steep_within(
        &self,
        root: ExprId,
        known: &FxHashMap<ExprId, Extent>,
        bounded: &FxHashSet<(ExprId, ExprId)>,
    ) -> FxHashSet<ExprId> {
        let extent = |id: &ExprId| known.get(id).copied().unwrap_or(ANY);
        let most = |id: &ExprId| extent(id).high.max(-extent(id).low);
        let mut steep: FxHashSet<ExprId> = FxHashSet::default();
        // By how many powers of two numbers that the graph names, one after another, make elements larger.
        let mut larger: FxHashMap<ExprId, f64> = FxHashMap::default();
        for id in self.below(root) {
            let Some(expr) = self.expr(id).filter(|x| x.dtype.is_float()) else { continue };
            let by = self.larger_by(expr, &larger);
            larger.insert(id, by);
            let last = expr.kids.last();
            let below = last.map_or(0.0, |k| extent(k).least_magnitude());
            let own = match &expr.form {
                Form::Const(_) | Form::Number(_) => most(&id) > NUMBER && most(&id).is_finite(),
                Form::Load(..) => most(&id) > NUMBER,
                Form::Op(Op::Div) => {
                    let is_share = || self.is_share(expr, |id| extent(id).low >= 0.0);
                    last.is_some_and(|k| !self.ends.ones.contains(k) && below < self.least_divisor(*k)) && !is_share()
                }
                Form::Op(Op::Cast) => most(&id).is_infinite() && last.is_some_and(|k| most(k).is_finite()),
                Form::Op(_) => false,
                Form::Reduce(fold, ..) => *fold == Fold::Product,
                Form::Named(target, _) => match real(target) {
                    Some(Real::Exp | Real::Exp2 | Real::Expm1 | Real::Sinh | Real::Cosh) => {
                        let falls = |k: &ExprId| self.ends.never_above.contains(k) || self.is_less_the_greatest(*k);
                        most(&id) > STEEP && !expr.kids.iter().any(falls)
                    }
                    Some(Real::Reciprocal) => below < last.map_or(1.0, |k| self.least_divisor(*k)),
                    Some(Real::Rsqrt) => below < 1.0 / (STEEP * STEEP),
                    Some(Real::Log | Real::Log1p | Real::Tan) => most(&id).is_infinite(),
                    Some(_) => false,
                    None => !is_never_infinite(target),
                },
                _ => false,
            };
            let named = by > NUMBER.log2() && most(&id).is_finite();
            let made = expr.kids.iter().any(|k| steep.contains(k) && !bounded.contains(&(id, *k)));
            if (own || named || made) && most(&id) > MODEST {
                steep.insert(id);
            }
        }
        steep
    }

    /// By how many powers of two numbers that the graph names make an element larger than what is read.
    fn larger_by(&self, expr: &Expr, known: &FxHashMap<ExprId, f64>) -> f64 {
        let of = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied().unwrap_or(0.0);
        let most = |kids: &[ExprId]| kids.iter().filter_map(|k| known.get(k)).copied().fold(0.0, f64::max);
        match &expr.form {
            Form::Const(v) => power_of(f64::from_bits(v.cast_unsigned())),
            Form::Number(bits) => power_of(f64::from_bits(*bits)),
            Form::Op(Op::Mul) => of(0) + of(1),
            Form::Op(Op::Div) => of(0) - of(1),
            Form::Named(target, _) => match real(target) {
                Some(Real::Square) => 2.0 * of(0),
                Some(Real::Sqrt) => of(0) / 2.0,
                Some(Real::Relu | Real::Silu) => of(0),
                _ => 0.0,
            },
            Form::Op(_) | Form::Reduce(..) => most(&expr.kids),
            _ => 0.0,
        }
    }

    /// Whether a quotient is of one of some elements by the sum of all, none of which is below 0: it is at most 1, or NaN where all are 0.
    fn is_share(&self, quotient: &Expr, never_negative: impl Fn(&ExprId) -> bool) -> bool {
        let [over, below] = quotient.kids.as_slice() else { return false };
        let each = self.expr(*below).and_then(|sum| sum.kids.first());
        each.is_some_and(never_negative) && is_end_of(self, *over, (*below, Fold::Sum), None)
    }

    /// What is divided by less is large: roots stand in norms, whose bound is smaller.
    fn least_divisor(&self, id: ExprId) -> f64 {
        let root =
            matches!(self.expr(id).map(|x| &x.form), Some(Form::Named(target, _)) if real(target) == Some(Real::Sqrt));
        if root { 1.0 / STEEP } else { 16.0 / STEEP }
    }

    /// Returns what is infinite over a whole part of the working range, and what is made of that.
    pub(super) fn endless_within(&self, root: ExprId, known: &FxHashMap<ExprId, Extent>) -> FxHashSet<ExprId> {
        let high = |id: &ExprId| known.get(id).map_or(0.0, |e| e.high.max(-e.low));
        let (mut steep, mut endless) = (FxHashSet::default(), FxHashSet::default());
        for id in self.below(root) {
            let Some(expr) = self.expr(id).filter(|x| x.dtype.is_float()) else { continue };
            let exponential = match &expr.form {
                Form::Named(target, _) => {
                    meaning(target) == Some(Meaning::Power)
                        || matches!(real(target), Some(Real::Exp | Real::Exp2 | Real::Expm1 | Real::Sinh | Real::Cosh))
                }
                _ => false,
            };
            let made = matches!(&expr.form, Form::Op(op) if *op != Op::Div) || matches!(expr.form, Form::Reduce(..));
            let falls = |k: &ExprId| self.ends.never_above.contains(k) || self.is_less_the_greatest(*k);
            let shifted = exponential && expr.kids.iter().any(falls);
            if exponential && !shifted && high(&id) > STEEP || made && expr.kids.iter().any(|k| steep.contains(k)) {
                steep.insert(id);
                if high(&id).is_infinite() {
                    endless.insert(id);
                }
            }
            if expr.kids.iter().any(|k| endless.contains(k)) {
                endless.insert(id);
            }
        }
        endless
    }

    /// Whether an exponent is less the greatest of what is made of the same tensors, as that of a softmax is: its mask may stand aside.
    fn is_less_the_greatest(&self, exponent: ExprId) -> bool {
        let Some((Op::Sub, [a, most])) = self.op_of(exponent) else { return false };
        let sources = |root: ExprId| -> FxHashSet<_> {
            let (mut open, mut out) = (vec![root], FxHashSet::default());
            while let Some(root) = open.pop() {
                for expr in self.below(root).into_iter().filter_map(|id| self.expr(id)) {
                    let Form::Load(source, _) = &expr.form else { continue };
                    // One of those in order is one of those that are put in order.
                    match self.ordered(*source).filter(|_| out.len() < FACTORS) {
                        Some(all) => open.push(all.expr),
                        None => drop(out.insert(*source)),
                    }
                }
            }
            out
        };
        let greatest = matches!(self.expr(*most).map(|x| &x.form), Some(Form::Reduce(Fold::Most, ..)));
        greatest && sources(*a).is_subset(&sources(*most))
    }

    /// Whether an element may be 0 over a whole part of the working range: it is made of a function that comes to its end there.
    pub fn vanishes_beyond(&mut self, root: ExprId) -> Option<bool> {
        let known = self.extents(root)?;
        let apart = known.get(&root).is_some_and(|e| e.is_apart_from_zero());
        Some(!apart && known.keys().any(|id| self.ends_beyond(*id, &known)))
    }

    /// Whether an element is a function that comes to its end in the working range.
    pub(super) fn ends_beyond(&self, id: ExprId, known: &FxHashMap<ExprId, Extent>) -> bool {
        let Some(Expr { form: Form::Named(target, _), kids, .. }) = self.expr(id) else { return false };
        let far = |id: &ExprId| known.get(id).is_none_or(|e| e.low < -NEAR_ENOUGH || e.high > NEAR_ENOUGH);
        let rises = matches!(real(target), Some(Real::Exp | Real::Exp2 | Real::Expm1 | Real::Cosh));
        let levels = matches!(real(target), Some(Real::Sigmoid | Real::Silu | Real::Tanh | Real::Erf | Real::Erfc));
        (rises || levels) && kids.iter().any(far)
    }

    /// Returns between which ends an element, and each of those below it, lies.
    pub(in crate::rules) fn extents(&mut self, root: ExprId) -> Option<FxHashMap<ExprId, Extent>> {
        let mut known: FxHashMap<ExprId, Extent> = FxHashMap::default();
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let found = if expr.dtype.is_float() { self.extent(id, &expr, &known) } else { ANY };
            known.insert(id, found);
        }
        Some(known)
    }

    /// Whether something below is in order.
    fn has_ordered(&self, root: ExprId) -> bool {
        let forms = self.below(root).into_iter().filter_map(|id| self.expr(id));
        forms.into_iter().any(|x| matches!(x.form, Form::Load(source, _) if self.is_in_order(source)))
    }

    fn extent(&mut self, id: ExprId, expr: &Expr, known: &FxHashMap<ExprId, Extent>) -> Extent {
        let kid = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied().unwrap_or(ANY);
        match &expr.form {
            Form::Const(v) => {
                let v = f64::from_bits(v.cast_unsigned());
                Extent::of(v, v).plain(v.is_finite())
            }
            Form::Number(bits) => Extent::of(f64::from_bits(*bits), f64::from_bits(*bits)).plain(true),
            Form::Load(source, _) => match self.numbers.get(source) {
                Some((low, high)) => Extent::of(*low, *high).plain(true),
                // In order they are what they are.
                None if let Some(all) = self.ordered(*source).map(|t| t.expr).filter(|all| !self.has_ordered(*all)) => {
                    self.extent_of(all).unwrap_or(ANY)
                }
                // Its own NaN is no NaN that is made.
                None => ANY.plain(true),
            },
            Form::Op(op) => self.extent_of_operator(*op, expr, known),
            Form::Named(target, _) => match (real(target), expr.kids.first()) {
                (Some(Real::Square), Some(x)) => {
                    self.told_apart(*x, kid(0)).magnitude().function(Real::Square, expr.dtype)
                }
                (Some(function), _) => kid(0).function(function, expr.dtype),
                _ if **target == *FLOOR => Extent { low: kid(0).low - 1.0, ..kid(0) },
                _ => ANY,
            },
            Form::Reduce(Fold::Most, ..) => {
                let found = kid(0);
                let low = least_share(self, id).flatten().map_or(found.low, |least| found.low.max(least));
                Extent { low, high: found.high.max(low), ..found }
            }
            Form::Reduce(Fold::Least, ..) => kid(0),
            Form::Reduce(Fold::Sum, _, sizes) => {
                let found = self.extent_of_sum(kid(0), sizes, expr.dtype);
                let least = match least_of_sum(self, expr) {
                    _ if holds_a_one(self, expr) => 1.0,
                    Some(Least::One) => 1.0,
                    Some(Least::Over(by)) => {
                        let by = known.get(&by).copied().unwrap_or(ANY);
                        // What is rounded on the way takes less than that.
                        if by.low > 0.0 { 0.99 / by.high } else { found.low }
                    }
                    _ => found.low,
                };
                let least = least_share(self, id).flatten().map_or(least, |share| least.max(share));
                let low = found.low.max(least);
                Extent { low, high: found.high.max(low), ..found }
            }
            _ => ANY,
        }
    }

    /// The magnitude of an element that the host says is not near 0.
    fn told_apart(&self, x: ExprId, found: Extent) -> Extent {
        let is_told = matches!(self.expr(x).map(|x| &x.form), Some(Form::Load(s, _)) if self.not_zero.contains(s));
        let size = found.magnitude();
        if is_told { Extent { low: size.low.max(NOT_NEAR), high: size.high.max(NOT_NEAR), ..size } } else { found }
    }

    fn extent_of_operator(&mut self, op: Op, expr: &Expr, known: &FxHashMap<ExprId, Extent>) -> Extent {
        let kid = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied().unwrap_or(ANY);
        let rounded = |e: Extent| e.computed(expr.dtype, 1.0);
        match (op, expr.kids.as_slice()) {
            (Op::Add, [a, b]) => {
                let found = rounded(kid(0).plus(kid(1)));
                let low = if self.add_up_to_a_span(*a, *b) { found.low.max(0.0) } else { found.low };
                let low = low.max(self.least_on_the_way(expr, known));
                Extent { low, high: found.high.max(low), ..found }
            }
            (Op::Sub, [x, most]) => {
                let found = rounded(kid(0).plus(kid(1).minus()));
                let (x, most) = (*x, *most);
                let below = is_element_of(self, x, most, None) || self.last_in_order(x).flatten() == Some(most);
                let (x, most) = (&x, &most);
                let low = if self.is_a_span(*x, *most) { found.low.max(0.0) } else { found.low };
                let low = low.max(self.least_on_the_way(expr, known));
                Extent { low, high: if below { found.high.min(0.0) } else { found.high }.max(low), ..found }
            }
            // To the nearest integer.
            (Op::Round, _) => Extent { low: kid(0).low - 0.5, high: kid(0).high + 0.5, ..kid(0) },
            (Op::Neg, _) => kid(0).minus(),
            (Op::Abs, [x]) => self.told_apart(*x, kid(0)).magnitude(),
            (Op::Mul, [a, b]) if a == b => self.told_apart(*a, kid(0)).magnitude().function(Real::Square, expr.dtype),
            (Op::Mul, _) => {
                let found = kid(0).times(kid(1)).rounded_once(expr.dtype);
                let low = if found.low < 0.0 && self.has_no_sign(expr, known) { 0.0 } else { found.low };
                Extent { low, high: found.high.max(low), ..found }
            }
            (Op::Div, _) => rounded(kid(0).times(kid(1).inverse())),
            (Op::Max | Op::AtLeast, _) => {
                let (a, b) = (kid(0), kid(1));
                Extent { low: a.low.max(b.low), high: a.high.max(b.high), plain: a.plain && b.plain }
            }
            (Op::Min | Op::AtMost, _) => {
                let (a, b) = (kid(0), kid(1));
                Extent { low: a.low.min(b.low), high: a.high.min(b.high), plain: a.plain && b.plain }
            }
            (Op::Choose, [truth, a, b]) => {
                let (truth, a, b) = (*truth, *a, *b);
                let [first, second] =
                    [(true, a), (false, b)].map(|(holds, chosen)| self.extent_where(truth, holds, chosen, known));
                first.unwrap_or_else(|| kid(1)).with(second.unwrap_or_else(|| kid(2)))
            }
            (Op::Cast, [from]) => match self.dtype(*from) {
                // There are floats without a sign.
                _ if !keeps_order(expr.dtype) => ANY,
                Some(dtype) if dtype.is_float() && loses_nothing(dtype, expr.dtype) => kid(0),
                // A rounding does not leave 0 for the other side.
                Some(dtype) if dtype.is_float() => rounded(kid(0)),
                _ => {
                    #[allow(clippy::cast_precision_loss)]
                    let ends = self.integers_of(*from).map(|(low, high)| Extent::of(low as f64, high as f64));
                    let small = |e: &Extent| e.low.abs().max(e.high.abs()) <= 2048.0;
                    ends.filter(small).map_or(ANY, |e| rounded(e.plain(true)))
                }
            },
            _ => ANY,
        }
    }

    /// Between which ends what is chosen lies where it is chosen by a comparison of what it is made of with a number: an exponential is not endless where
    /// its exponent is bounded. Asked only of what is endless else.
    fn extent_where(
        &mut self,
        truth: ExprId,
        holds: bool,
        chosen: ExprId,
        known: &FxHashMap<ExprId, Extent>,
    ) -> Option<Extent> {
        known.get(&chosen).filter(|e| e.low.is_infinite() || e.high.is_infinite())?;
        let (compared, range) = self.range_where(truth, holds, known)?;
        let below = self.below(chosen);
        if below.len() > CHOSEN || !below.contains(&compared) {
            return None;
        }
        let mut under: FxHashMap<ExprId, Extent> = FxHashMap::default();
        for id in below {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let found = match &expr.form {
                _ if id == compared => range,
                _ if expr.dtype.is_float() => self.extent(id, &expr, &under),
                _ => ANY,
            };
            under.insert(id, found);
        }
        under.get(&chosen).copied()
    }

    /// Between which ends what is compared with a number lies where that holds, or fails; NaN aside.
    fn range_where(&self, truth: ExprId, holds: bool, known: &FxHashMap<ExprId, Extent>) -> Option<(ExprId, Extent)> {
        let (Op::Lt | Op::Le, [a, b]) = self.op_of(truth)? else { return None };
        let (compared, number, is_most) = match (self.float(*a), self.float(*b)) {
            (None, Some(v)) => (*a, v, holds),
            (Some(v), None) => (*b, v, !holds),
            _ => return None,
        };
        let own = known.get(&compared).copied().unwrap_or(ANY);
        let range = if is_most {
            Extent { high: own.high.min(number), ..own }
        } else {
            Extent { low: own.low.max(number), ..own }
        };
        Some((compared, range)).filter(|(_, range)| range.low <= range.high)
    }

    /// What an element is at least that lies at most half of the way between two that are never negative: it is off by a few units of itself, since more than half of
    /// the one that it begins with is left.
    fn least_on_the_way(&self, expr: &Expr, known: &FxHashMap<ExprId, Extent>) -> f64 {
        let Some((from, to, part)) = between(self, expr) else { return f64::NEG_INFINITY };
        let lows = [from, to].map(|k| known.get(&k).map_or(f64::NEG_INFINITY, |e| e.low));
        match lows {
            [from, to] if from >= 0.0 && to >= 0.0 => {
                let least = from * (1.0 - part) + to * part;
                least - least * OF_FUNCTION * unit(expr.dtype) - least_normal(expr.dtype).min(least)
            }
            _ => f64::NEG_INFINITY,
        }
    }

    /// Whether one is the greatest of what the other is the least of.
    fn is_a_span(&self, most: ExprId, least: ExprId) -> bool {
        let (Some(a), Some(b)) = (self.expr(most), self.expr(least)) else { return false };
        let same = |f: Fold, g: Fold| matches!((&a.form, &b.form), (Form::Reduce(x, l, s), Form::Reduce(y, m, t)) if (*x, *y) == (f, g) && l == m && s == t);
        same(Fold::Most, Fold::Least) && a.kids == b.kids
    }

    /// The same of the greatest of opposites, which is the opposite of the least.
    fn add_up_to_a_span(&self, a: ExprId, b: ExprId) -> bool {
        let (Some(x), Some(y)) = (self.expr(a), self.expr(b)) else { return false };
        let (Form::Reduce(Fold::Most, l, s), Form::Reduce(Fold::Most, m, t)) = (&x.form, &y.form) else { return false };
        let ([p], [q]) = (x.kids.as_slice(), y.kids.as_slice()) else { return false };
        let opposite = |p: ExprId, q: ExprId| matches!(self.op_of(p), Some((Op::Neg, [inner])) if *inner == q);
        l == m && s == t && (opposite(*p, *q) || opposite(*q, *p))
    }

    /// Whether the factors of a product are never negative but for those that stand in it twice: signs are those of the numbers, whatever is rounded.
    fn has_no_sign(&self, product: &Expr, known: &FxHashMap<ExprId, Extent>) -> bool {
        let mut open: SmallVec<[ExprId; 8]> = product.kids.iter().copied().collect();
        let mut single: SmallVec<[ExprId; 8]> = SmallVec::new();
        for _ in 0..FACTORS {
            let Some(factor) = open.pop() else { break };
            if let Some((Op::Mul, kids)) = self.op_of(factor) {
                open.extend(kids.iter().copied());
            } else if let Some(twin) = single.iter().position(|s| *s == factor) {
                single.swap_remove(twin);
            } else {
                single.push(factor);
            }
        }
        open.is_empty() && single.iter().all(|s| known.get(s).is_some_and(|e| e.low >= 0.0))
    }

    #[allow(clippy::cast_precision_loss)]
    fn extent_of_sum(&self, each: Extent, sizes: &[Dim], dtype: Dtype) -> Extent {
        let least = |d: &Dim| if self.at_most(Dim::Fixed(1), *d) { 1.0 } else { 0.0 };
        let few: f64 = sizes.iter().map(|d| d.fixed().map_or_else(|| least(d), |n| n as f64)).product();
        let many: f64 = sizes.iter().map(|d| d.fixed().map_or(MANY, |n| n as f64)).product();
        let times = |v: f64, n: f64| if v == 0.0 || n == 0.0 { 0.0 } else { v * n };
        let low = times(each.low, if each.low >= 0.0 { few } else { many });
        let high = times(each.high, if each.high <= 0.0 { few } else { many });
        let one_sided = each.low > f64::NEG_INFINITY || each.high < f64::INFINITY;
        // What is added up of one sign never becomes less than one of it; else each step loses a unit of all that it may hold.
        // No sum of many comes to more than twice what they come to.
        let lost = times(each.low.abs().max(each.high.abs()), many * (many * unit(dtype)).min(1.0));
        let low = if each.low >= 0.0 { (low - lost).max(each.low.min(low)) } else { low - lost };
        let high = if each.high <= 0.0 { (high + lost).min(each.high.max(high)) } else { high + lost };
        Extent { low, high, plain: each.plain && one_sided }.mended().computed(dtype, 1.0)
    }

    /// Returns an element in which comparisons with one outcome are that.
    pub fn without_idle_comparisons(&mut self, root: ExprId) -> Option<ExprId> {
        let known = self.idle_comparisons(root)?;
        if known.is_empty() { Some(root) } else { self.with_truths(root, &known) }
    }

    /// Returns comparisons of floats that have one outcome unless one of their elements is NaN.
    fn idle_comparisons(&mut self, root: ExprId) -> Option<Vec<(ExprId, bool)>> {
        let extents = self.extents(root)?;
        let mut known: Vec<(ExprId, bool)> = Vec::new();
        for id in self.below(root) {
            let Some((op @ (Op::Lt | Op::Le), [a, b])) = self.op_of(id) else { continue };
            let floats = [a, b].iter().all(|k| self.dtype(**k).is_some_and(Dtype::is_float));
            let ends = (extents.get(a).copied().unwrap_or(ANY), extents.get(b).copied().unwrap_or(ANY));
            if let Some(Idle::Truth(v)) = idle(op, ends.0, ends.1).filter(|_| floats) {
                known.push((id, v));
            }
        }
        Some(known)
    }

    /// Returns an element in which bounds that never bite are left out, and comparisons with one outcome are that.
    pub(super) fn without_idle_bounds(&mut self, root: ExprId) -> Option<ExprId> {
        let extents = self.extents(root)?;
        let mut made: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.below(root) {
            let expr = self.expr(id)?.clone();
            let kids: Vec<ExprId> = expr.kids.iter().map(|k| made.get(k).copied().unwrap_or(*k)).collect();
            let extent = |k: usize| expr.kids.get(k).and_then(|k| extents.get(k)).copied().unwrap_or(ANY);
            let floats = expr.kids.iter().all(|k| self.dtype(*k).is_some_and(Dtype::is_float));
            let found = match (&expr.form, kids.as_slice()) {
                (Form::Op(op), kids) if floats => match idle(*op, extent(0), extent(1)) {
                    Some(Idle::Is(k)) => kids.get(k).copied(),
                    Some(Idle::Minus) => Some(self.op(Op::Neg, expr.dtype, kids)?),
                    Some(Idle::Truth(v)) => Some(self.truth(v)?),
                    None => None,
                },
                (Form::Named(target, _), [x]) if real(target) == Some(Real::Relu) && extent(0).low >= 0.0 => Some(*x),
                _ => None,
            };
            let found = match found {
                Some(found) => found,
                None if kids.as_slice() == expr.kids.as_slice() => id,
                None => self.again(&expr, &kids)?,
            };
            made.insert(id, found);
        }
        made.get(&root).copied()
    }
}

/// What is left of an operator.
enum Idle {
    Is(usize),
    Minus,
    Truth(bool),
}

fn idle(op: Op, a: Extent, b: Extent) -> Option<Idle> {
    match op {
        Op::Max | Op::AtLeast if a.low >= b.high => Some(Idle::Is(0)),
        Op::Max | Op::AtLeast if b.low >= a.high => Some(Idle::Is(1)),
        Op::Min | Op::AtMost if a.high <= b.low => Some(Idle::Is(0)),
        Op::Min | Op::AtMost if b.high <= a.low => Some(Idle::Is(1)),
        Op::Abs if a.low >= 0.0 => Some(Idle::Is(0)),
        Op::Abs if a.high <= 0.0 => Some(Idle::Minus),
        Op::Lt | Op::Le if a.plain && b.plain => {
            let far = |x: f64, y: f64| y - x > (x.abs() + y.abs()) * APART && x.is_finite() && y.is_finite();
            let nothing = |x: f64, y: f64| x == 0.0 && y == 0.0;
            if far(a.high, b.low) || op == Op::Le && nothing(a.high, b.low) {
                Some(Idle::Truth(true))
            } else if far(b.high, a.low) || op == Op::Lt && nothing(b.high, a.low) {
                Some(Idle::Truth(false))
            } else {
                None
            }
        }
        _ => None,
    }
}

impl Field<'_> {
    /// Returns whether two expressions are equal over the reals, and no NaN is hidden, once bounds that never bite are left out.
    pub fn equal_without_idle_bounds(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        let (x, y) = (e.without_idle_bounds(a)?, e.without_idle_bounds(b)?);
        if (x, y) == (a, b) || hides_no_nan(e, a, b) != Some(true) {
            return Some(false);
        }
        // A NaN that turns a comparison of the second side must show there.
        for (comparison, _) in e.idle_comparisons(b)? {
            if hides_no_nan(e, comparison, b) != Some(true) {
                return Some(false);
            }
        }
        Some(Self::equal(e, dtype, x, y) == Some(true) || Self::equal_by_signs(e, dtype, x, y)?)
    }
}
