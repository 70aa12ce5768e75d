//! Whether what leaves its dtype makes two elements infinite, or NaN, in the same places.
//!
//! ## What it says
//! Each of the numbers that both elements are made of is below 0, nothing, or above 0; where it may leave its dtype it is infinite on one of both sides, or NaN. In each of
//! these ways of which one is not finite, both elements are finite, or both the same infinite number, or both NaN. What grows beyond its dtype in one of both alone makes no finite number: what it divides
//! is as large as it may be.
//!
//! ## When it is wrong
//! What both are made of stands for itself: that the one is infinite where the other is makes ways that do not occur, never fewer than do. Of places that are summed, and of
//! those of which the greatest is taken, two of each kind stand for all. A sum of what is of one sign is beyond its dtype where any of it is. A product that is too small to be seen is taken for the number that it is.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, SourceId};
use crate::rules::field::Field;
use crate::rules::rounding::backward::constant;
use crate::rules::rounding::forward::{Past, Ranges, count, largest, ranges};
use crate::rules::rounding::interval::Interval;
use crate::rules::rounding::{Box, free};
use crate::rules::table::{Real, real};
use crate::sym::Dim;

/// How many ways are looked at.
const WAYS: usize = 20_000;
/// How many elements stand for themselves.
const ATOMS: usize = 8;
/// By how many powers of two a number may be rounded up.
const ROUNDED: f64 = 1e-3;
/// What is smaller may be nothing, too.
const TINY: f64 = 1e-30;

/// Between which numbers something lies that is beyond the working range: infinite ones where it may leave its dtype.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Reach {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Reach {
    /// What may leave its dtype on both sides.
    pub const ANY: Reach = Reach { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Whether it may leave its dtype.
    pub fn leaves(self) -> bool {
        self.low.is_infinite() || self.high.is_infinite()
    }

    /// The largest magnitude.
    pub fn most(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// What of an interval lies on the side of 0 on which this lies.
    fn side_of(self, range: Interval) -> Option<Interval> {
        let (low, high) = (range.low, range.high);
        if self.low >= 0.0 {
            Interval::new(low.max(0.0), high.max(0.0))
        } else if self.high <= 0.0 {
            Interval::new(low.min(0.0), high.min(0.0))
        } else {
            Some(range)
        }
    }
}

/// How far values reach that may be beyond the working range; those that are not are not in here.
pub type Leaving = FxHashMap<SourceId, Reach>;

/// As powers of two, how large elements may be.
type Sizes = FxHashMap<ExprId, f64>;

/// What a number may be, one bit each.
type Kinds = u8;
const NOTHING: Kinds = 1;
const ABOVE: Kinds = 2;
const BELOW: Kinds = 4;
const UP: Kinds = 8;
const DOWN: Kinds = 16;
const NAN: Kinds = 32;
const FINITE: Kinds = NOTHING | ABOVE | BELOW;
const ANY: Kinds = 63;
/// Of a truth.
const HOLDS: Kinds = 1;
const FAILS: Kinds = 2;

/// At two places of those over which something is reduced.
type Two = [Kinds; 2];

/// Whether two elements are infinite, or NaN, alike, wherever what they are made of leaves its dtype; `None` where nothing is known of an element.
pub fn leave_alike(e: &mut Elements, x: ExprId, y: ExprId, sources: Box<'_>, leaving: &Leaving) -> Option<bool> {
    if x == y {
        return Some(true);
    }
    let order = in_order(e, [x, y]);
    e.spend(order.len())?;
    let signed = |source: Option<SourceId>, dtype| {
        let range = sources(source, dtype)?;
        source.and_then(|s| leaving.get(&s)).map_or(Some(range), |reach| reach.side_of(range))
    };
    let (ranges, mut past, _) = ranges(e, &order, &signed)?;
    let (sizes, beyond) = grown(e, &order, large(e, &order, leaving));
    past.extend(order.iter().filter(|id| beyond.contains(id)));
    let may = may_leave(e, &order, &past, leaving);
    if may.is_empty() {
        return Some(true);
    }
    let known = Known { ranges: &ranges, past: &past, sizes: &sizes, may: &may, leaving };
    let Some(ways) = Ways::of(e, [x, y], &order, &known)? else { return Some(false) };
    ways.are_alike(e)
}

/// Everything below two elements, children first.
fn in_order(e: &Elements, roots: [ExprId; 2]) -> Vec<ExprId> {
    let mut seen = FxHashSet::default();
    roots.into_iter().flat_map(|r| e.below(r)).filter(|id| seen.insert(*id)).collect()
}

/// What is known of what two elements are made of.
struct Known<'w> {
    ranges: &'w Ranges,
    past: &'w Past,
    sizes: &'w Sizes,
    /// What may leave its dtype, and what is made of that.
    may: &'w FxHashSet<ExprId>,
    leaving: &'w Leaving,
}

/// How far an element reaches, if it is made of what is beyond the working range.
pub fn reach(e: &Elements, root: ExprId, leaving: &Leaving) -> Option<Reach> {
    let order = e.below(root);
    if may_leave(e, &order, &Past::new(), leaving).contains(&root) {
        return Some(Reach::ANY);
    }
    let (sizes, beyond) = grown(e, &order, large(e, &order, leaving));
    if order.iter().any(|id| beyond.contains(id)) {
        return Some(Reach::ANY);
    }
    sizes.get(&root).map(|size| Reach { low: -size.exp2(), high: size.exp2() })
}

/// What is read that is large and stays within its dtype.
fn large(e: &Elements, order: &[ExprId], leaving: &Leaving) -> Sizes {
    let of = |id: &ExprId| match &e.expr(*id)?.form {
        Form::Load(source, _) => leaving.get(source).filter(|reach| !reach.leaves()).map(|reach| reach.most().log2()),
        _ => None,
    };
    order.iter().filter_map(|id| Some((*id, of(id)?))).collect()
}

/// Floats that may leave their dtype, and what is made of them.
fn may_leave(e: &Elements, order: &[ExprId], past: &Past, leaving: &Leaving) -> FxHashSet<ExprId> {
    let mut out: FxHashSet<ExprId> = past.iter().copied().collect();
    for id in order {
        let Some(expr) = e.expr(*id) else { continue };
        let own =
            matches!(&expr.form, Form::Load(source, _) if leaving.get(source).is_some_and(|reach| reach.leaves()));
        if own || e.parts(expr).iter().any(|k| out.contains(k)) {
            out.insert(*id);
        }
    }
    out
}

/// Elements that leave their dtype together.
struct Group {
    all: FxHashSet<ExprId>,
    /// Whether that hangs on a place over which something is reduced.
    is_bound: bool,
    /// Whether they leave it since large numbers grow, and one of both ends is made of none of them: what they divide is 0 in the other one alone, and large there.
    grows_alone: bool,
}

/// Two elements, what both are made of, and in which ways that may be infinite.
struct Ways<'w> {
    roots: [ExprId; 2],
    /// What is computed of what stands for itself, children first.
    made: Vec<ExprId>,
    /// What stands for itself, and what it may be at a place.
    atoms: Vec<(ExprId, Kinds, bool)>,
    /// Elements that leave their dtype together.
    past: Vec<Group>,
    ranges: &'w Ranges,
}

impl<'w> Ways<'w> {
    /// Returns them; `None` within where there are too many.
    fn of(e: &mut Elements, roots: [ExprId; 2], order: &[ExprId], known: &Known<'w>) -> Option<Option<Ways<'w>>> {
        let own = atoms(e, roots);
        let made: Vec<ExprId> = above(e, roots, &own, order);
        let names = free(e, order);
        let is_bound = |id: ExprId| names.get(&id).is_some_and(|levels| !levels.is_empty());
        // Places over which one sum runs are two, of sums within sums they are more.
        let inner = |id: &ExprId| e.is_reduction(*id) && is_bound(*id);
        let sums: Vec<_> = order.iter().filter_map(|id| bound_by(e, *id)).collect();
        let of_one_sum = |levels: &[(u32, f64)]| {
            sums.iter().all(|sum| {
                let mut within = levels.iter().map(|(level, _)| sum.contains(level));
                let first = within.next();
                within.all(|one| Some(one) == first)
            })
        };
        let many = |id: &ExprId| names.get(id).is_some_and(|levels| !of_one_sum(levels));
        if own.len() > ATOMS || made.iter().any(inner) || own.iter().any(many) {
            return Some(None);
        }
        let atoms = own.iter().map(|id| (*id, kinds_of(e, *id, known), is_bound(*id))).collect();
        let mut groups: Vec<Group> = Vec::new();
        let growing = growing(e, &made, &own, known);
        let own_past = made.iter().filter(|id| known.past.contains(id) || growing.contains(id));
        for one in own_past {
            let mut with = None;
            for (k, group) in groups.iter().enumerate() {
                let Some(other) = group.all.iter().next().copied() else { continue };
                if leave_together(e, *one, other)? {
                    with = Some(k);
                    break;
                }
            }
            match with.and_then(|k| groups.get_mut(k)) {
                Some(group) => {
                    group.is_bound |= is_bound(*one);
                    group.all.insert(*one);
                }
                None => groups.push(Group {
                    all: FxHashSet::from_iter([*one]),
                    is_bound: is_bound(*one),
                    grows_alone: false,
                }),
            }
        }
        let below = roots.map(|root| FxHashSet::from_iter(e.below(root)));
        for group in &mut groups {
            let is_of = |end: &FxHashSet<ExprId>| group.all.iter().any(|id| end.contains(id));
            group.grows_alone = !below.iter().all(is_of) && group.all.iter().any(|id| growing.contains(id));
        }
        Some(Some(Ways { roots, made, atoms, past: groups, ranges: known.ranges }))
    }

    /// Whether both elements are alike in each way.
    fn are_alike(&self, e: &mut Elements) -> Option<bool> {
        let mut choices: Vec<Vec<Two>> = Vec::new();
        for (_, kinds, bound) in &self.atoms {
            choices.push(twos(&bits(*kinds), *bound));
        }
        for group in &self.past {
            choices.push(twos(&[0, 1], group.is_bound));
        }
        let count = choices.iter().try_fold(1_usize, |n, c| n.checked_mul(c.len())).filter(|n| *n <= WAYS);
        let Some(count) = count else { return Some(false) };
        e.spend(count)?;
        for number in 0..count {
            let (mut rest, mut way) = (number, SmallVec::<[Two; 12]>::new());
            for choice in &choices {
                way.push(*choice.get(rest.checked_rem(choice.len())?)?);
                rest = rest.checked_div(choice.len())?;
            }
            let (own, past) = way.split_at(self.atoms.len());
            let infinite = own.iter().zip(&self.atoms).any(|(two, (id, ..))| {
                e.dtype(*id).is_some_and(|d| d.is_float()) && two.iter().any(|k| k & FINITE == 0)
            });
            if !infinite && past.iter().all(|two| *two == [0, 0]) {
                continue;
            }
            let Some([a, b]) = self.ends(e, own, past)? else { continue };
            let one = a == b && [UP, DOWN, NAN].contains(&a);
            let alone = |(two, group): (&Two, &Group)| group.grows_alone && *two != [0, 0];
            if !one && past.iter().zip(&self.past).any(alone) {
                return Some(false);
            }
            if !one && (a | b) & !FINITE != 0 {
                return Some(false);
            }
        }
        Some(true)
    }

    /// What both elements are in one way; `None` within where there is no such way: a sum of what is of one sign is no less than any of it, and one of what is nothing is not large.
    fn ends(&self, e: &Elements, own: &[Two], past: &[Two]) -> Option<Option<Two>> {
        let mut known: FxHashMap<ExprId, Two> = FxHashMap::default();
        // At which of both places elements are beyond their dtype themselves.
        let mut beyond: FxHashMap<ExprId, [bool; 2]> = FxHashMap::default();
        // At which they are nothing, or next to it.
        let mut tiny: FxHashMap<ExprId, [bool; 2]> = FxHashMap::default();
        for ((id, ..), two) in self.atoms.iter().zip(own) {
            known.insert(*id, *two);
            tiny.insert(*id, two.map(|kinds| kinds == NOTHING));
        }
        for id in &self.made {
            let expr = e.expr(*id)?;
            let mut two = computed(e, expr, &known);
            let mut lies_beyond = self.sums_beyond(e, expr, &beyond);
            let is_tiny = sums_tiny(expr, &tiny);
            tiny.insert(*id, is_tiny);
            if expr.dtype.is_float() {
                for kinds in &mut two {
                    *kinds = self.within(*id, *kinds);
                }
                for (_, leaves) in self.past.iter().zip(past).filter(|(group, _)| group.all.contains(id)) {
                    let is_no_way = |((leaves, beyond), tiny): ((&u8, bool), bool)| match leaves {
                        0 => beyond,
                        _ => tiny,
                    };
                    if leaves.iter().zip(lies_beyond).zip(is_tiny).any(is_no_way) {
                        return Some(None);
                    }
                    for ((kinds, beyond), leaves) in two.iter_mut().zip(&mut lies_beyond).zip(leaves) {
                        if *leaves == 1 {
                            (*kinds, *beyond) = (left(*kinds), true);
                        }
                    }
                }
            }
            known.insert(*id, two);
            beyond.insert(*id, lies_beyond);
        }
        let [a, b] = self.roots.map(|r| known.get(&r).map(|[one, other]| one | other));
        Some(Some([a?, b?]))
    }

    /// At which of both places a sum is beyond its dtype since something is that it is a sum of, all of it of one sign.
    fn sums_beyond(&self, e: &Elements, expr: &Expr, beyond: &FxHashMap<ExprId, [bool; 2]>) -> [bool; 2] {
        let range = |k: &ExprId| self.ranges.get(k);
        let one_sign = expr.kids.iter().all(|k| range(k).is_some_and(|r| r.low >= 0.0))
            || expr.kids.iter().all(|k| range(k).is_some_and(|r| r.high <= 0.0));
        if !is_sum(expr) || !one_sign || expr.kids.iter().any(|k| e.dtype(*k) != Some(expr.dtype)) {
            return [false; 2];
        }
        let all = expr.kids.iter().filter_map(|k| beyond.get(k));
        let [a, b] = all.fold([false; 2], |[a, b], [p, q]| [a || *p, b || *q]);
        if matches!(expr.form, Form::Reduce(..)) { [a || b; 2] } else { [a, b] }
    }

    /// What a number may be that lies in its interval, where it is finite.
    fn within(&self, id: ExprId, kinds: Kinds) -> Kinds {
        let Some(range) = self.ranges.get(&id) else { return kinds };
        let finite = kinds & signs(range.low, range.high);
        if finite == 0 { kinds } else { kinds & !FINITE | finite }
    }
}

/// Which dimensions an element reduces.
fn bound_by(e: &Elements, id: ExprId) -> Option<std::ops::Range<u32>> {
    let Form::Reduce(_, level, sizes) = &e.expr(id)?.form else { return None };
    Some(*level..level.saturating_add(u32::try_from(sizes.len()).ok()?))
}

fn is_sum(expr: &Expr) -> bool {
    matches!(expr.form, Form::Op(Op::Add) | Form::Reduce(Fold::Sum, ..))
}

/// At which of both places a sum is of nothing but what is next to nothing.
fn sums_tiny(expr: &Expr, tiny: &FxHashMap<ExprId, [bool; 2]>) -> [bool; 2] {
    let each = expr.kids.iter().map(|k| tiny.get(k).copied().unwrap_or_default());
    let [a, b] = each.fold([is_sum(expr); 2], |[a, b], [p, q]| [a && p, b && q]);
    if matches!(expr.form, Form::Reduce(..)) { [a && b; 2] } else { [a, b] }
}

/// Returns what leaves its dtype where what stands for itself is near the end of its own, or as large as it may be.
fn growing(e: &Elements, made: &[ExprId], atoms: &[ExprId], known: &Known<'_>) -> FxHashSet<ExprId> {
    let mut sizes = Sizes::default();
    for id in atoms.iter().filter(|id| e.dtype(**id).is_some_and(|d| d.is_float())) {
        let near = known.may.contains(id).then(|| end(e, *id));
        sizes.extend(near.or_else(|| known.sizes.get(id).copied()).map(|size| (*id, size)));
    }
    grown(e, made, sizes).1
}

/// As a power of two, the end of an element's dtype.
fn end(e: &Elements, id: ExprId) -> f64 {
    e.dtype(id).map_or(0.0, |dtype| largest(dtype).log2())
}

/// Returns how large what is made of some elements may be, and what leaves its dtype then: a multiple by more than 1, a square, a product of two such, a sum of multiples of many, and what is rounded to less.
fn grown(e: &Elements, made: &[ExprId], mut sizes: Sizes) -> (Sizes, FxHashSet<ExprId>) {
    let mut out = FxHashSet::default();
    // Multiples, and sums of them: what other factors come to is not asked.
    let mut multiples: FxHashSet<ExprId> = sizes.keys().copied().collect();
    for id in made {
        let Some(expr) = e.expr(*id).filter(|x| x.dtype.is_float() && !sizes.contains_key(id)) else { continue };
        let within = expr.kids.iter().filter_map(|k| sizes.get(k)).copied().reduce(f64::max);
        let Some(within) = within else { continue };
        let number = |k: &ExprId| constant(e, *k).or_else(|| Some(-e.float(*k)?).filter(|v| *v > 0.0)).map(f64::log2);
        let is_multiple = |k: &ExprId| multiples.contains(k) || e.dtype(*k) == Some(Dtype::Bool) || is_number(e, *k);
        if expr.kids.iter().all(is_multiple) {
            multiples.insert(*id);
        }
        let is_sum = multiples.contains(id) && expr.kids.iter().all(|k| sizes.contains_key(k));
        let size = match (&expr.form, expr.kids.as_slice()) {
            (Form::Reduce(Fold::Sum, _, all), _) if multiples.contains(id) => {
                within + count(e, all).map_or(0.0, f64::log2)
            }
            (Form::Op(Op::Mul), [a, b]) if sizes.contains_key(a) && sizes.contains_key(b) => {
                sizes.get(a).into_iter().chain(sizes.get(b)).sum()
            }
            (Form::Op(Op::Mul), [a, b]) => within + number(a).or(number(b)).unwrap_or(0.0),
            (Form::Op(Op::Div), [a, b]) if sizes.contains_key(a) => within - number(b).unwrap_or(0.0),
            (Form::Op(Op::Div), _) => continue,
            (Form::Op(Op::Add), [a, b]) if a == b => within + 1.0,
            (Form::Op(Op::Add | Op::Sub), _) if is_sum => within + 1.0,
            (Form::Named(target, _), _) => match real(target) {
                Some(Real::Square) => 2.0 * within,
                Some(Real::Sqrt) => within / 2.0,
                Some(Real::Silu | Real::Relu) => within,
                _ => continue,
            },
            _ => within,
        };
        if size > end(e, *id) + ROUNDED {
            out.insert(*id);
        }
        sizes.insert(*id, size.min(end(e, *id)));
    }
    (sizes, out)
}

fn is_number(e: &Elements, id: ExprId) -> bool {
    e.expr(id).is_some_and(|x| matches!(x.form, Form::Const(_) | Form::Number(_)))
}

/// Whether elements that may leave their dtype do so in the same places.
pub fn leave_together(e: &mut Elements, one: ExprId, other: ExprId) -> Option<bool> {
    let dtype = e.dtype(one)?;
    if e.dtype(other) != Some(dtype) {
        return Some(false);
    }
    let same = exponent(e, one).is_some_and(|x| exponent(e, other) == Some(x));
    Some(same || Field::same_value_in_parts(e, dtype, one, other))
}

/// Returns the exponent of an exponential, or of one less 1: both are infinite where it is too large.
fn exponent(e: &Elements, id: ExprId) -> Option<ExprId> {
    let expr = e.expr(id)?;
    let Form::Named(target, _) = &expr.form else { return None };
    let is_one = matches!(real(target), Some(Real::Exp | Real::Expm1));
    expr.kids.first().copied().filter(|_| is_one)
}

/// The largest floats, and truths, of which both elements are made and of which none is made of another.
fn atoms(e: &Elements, [x, y]: [ExprId; 2]) -> Vec<ExprId> {
    let within: FxHashSet<ExprId> = e.below(x).into_iter().collect();
    let both: FxHashSet<ExprId> = e.below(y).into_iter().filter(|id| within.contains(id)).collect();
    let is_number = |id: &ExprId| e.expr(*id).is_some_and(|x| matches!(x.form, Form::Const(_) | Form::Number(_)));
    let (mut out, mut open, mut seen) = (Vec::new(), vec![x, y], FxHashSet::default());
    while let Some(at) = open.pop() {
        let Some(expr) = e.expr(at).filter(|_| seen.insert(at)) else { continue };
        let is_leaf = expr.kids.is_empty() && !is_number(&at);
        if is_leaf || both.contains(&at) && !is_number(&at) {
            out.push(at);
        } else {
            open.extend(expr.kids.iter().copied());
        }
    }
    // What is made of another one is taken apart.
    loop {
        let made_of_others = |id: &ExprId| {
            let below = e.below(*id);
            out.iter().any(|other| other != id && below.contains(other))
        };
        let Some(at) = out.iter().position(made_of_others) else { break };
        let whole = out.swap_remove(at);
        let kids = e.expr(whole).map(|x| x.kids.clone()).unwrap_or_default();
        for kid in kids.into_iter().filter(|k| !is_number(k)) {
            if !out.contains(&kid) {
                out.push(kid);
            }
        }
        if out.len() > ATOMS.saturating_mul(2) {
            break;
        }
    }
    out.sort_unstable();
    out
}

/// What stands above some elements, children first.
fn above(e: &Elements, roots: [ExprId; 2], atoms: &[ExprId], order: &[ExprId]) -> Vec<ExprId> {
    let (mut open, mut seen) = (roots.to_vec(), FxHashSet::default());
    while let Some(at) = open.pop() {
        if atoms.contains(&at) || !seen.insert(at) {
            continue;
        }
        open.extend(e.expr(at).map(|x| x.kids.clone()).unwrap_or_default());
    }
    order.iter().copied().filter(|id| seen.contains(id)).collect()
}

/// What an element that stands for itself may be.
fn kinds_of(e: &Elements, id: ExprId, known: &Known<'_>) -> Kinds {
    let Some(expr) = e.expr(id).filter(|x| x.dtype.is_float()) else { return HOLDS | FAILS };
    let (low, high) = known.ranges.get(&id).map_or((f64::NEG_INFINITY, f64::INFINITY), |r| (r.low, r.high));
    let finite = signs(low, high);
    if !known.may.contains(&id) {
        return finite;
    }
    match &expr.form {
        Form::Load(source, _) => {
            let reach = known.leaving.get(source).copied().unwrap_or(Reach::ANY);
            let up = if reach.high.is_infinite() { UP } else { 0 };
            finite | up | if reach.low.is_infinite() { DOWN } else { 0 }
        }
        _ => {
            let up = if high > 0.0 { UP } else { 0 };
            let down = if low < 0.0 { DOWN } else { 0 };
            finite | up | down | NAN
        }
    }
}

/// The signs of the numbers between two.
fn signs(low: f64, high: f64) -> Kinds {
    let above = if high > 0.0 { ABOVE } else { 0 };
    let below = if low < 0.0 { BELOW } else { 0 };
    above | below | if low < TINY && high > -TINY { NOTHING } else { 0 }
}

fn bits(kinds: Kinds) -> SmallVec<[Kinds; 6]> {
    (0..6).map(|k| 1 << k).filter(|bit| kinds & bit != 0).collect()
}

/// What may be at two places, or what is the same at both.
fn twos(kinds: &[Kinds], bound: bool) -> Vec<Two> {
    match bound {
        false => kinds.iter().map(|k| [*k; 2]).collect(),
        true => kinds.iter().flat_map(|a| kinds.iter().map(move |b| [*a, *b])).collect(),
    }
}

/// What is past the largest number.
fn left(kinds: Kinds) -> Kinds {
    let up = if kinds & ABOVE != 0 { UP } else { 0 };
    let down = if kinds & BELOW != 0 { DOWN } else { 0 };
    let out = kinds & !FINITE | up | down;
    if out == 0 { kinds } else { out }
}

fn computed(e: &Elements, expr: &Expr, known: &FxHashMap<ExprId, Two>) -> Two {
    let kid = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied().unwrap_or([ANY; 2]);
    if let Form::Reduce(fold, _, sizes) = &expr.form {
        let [a, b] = kid(0);
        let some = sizes.iter().all(|d| e.at_most(Dim::Fixed(1), *d));
        let found = match fold {
            _ if !some => ANY,
            Fold::Sum if expr.dtype.is_float() => each(a, b, plus),
            Fold::Most if expr.dtype.is_float() => each(a, b, greater),
            Fold::Least if expr.dtype.is_float() => each(a, b, |p, q| minus(greater(minus(p), minus(q)))),
            _ if expr.dtype.is_float() => ANY,
            _ => HOLDS | FAILS,
        };
        return [found; 2];
    }
    let at = |place: usize| {
        let own = |k: usize| kid(k).get(place).copied().unwrap_or(ANY);
        one(e, expr, [own(0), own(1), own(2)])
    };
    [at(0), at(1)]
}

fn one(e: &Elements, expr: &Expr, [a, b, c]: [Kinds; 3]) -> Kinds {
    let floats = |k: usize| expr.kids.get(k).and_then(|k| e.dtype(*k)).is_some_and(|d| d.is_float());
    match &expr.form {
        Form::Const(_) | Form::Number(_) if expr.dtype.is_float() => number(expr),
        Form::Const(v) if expr.dtype == crate::graph::Dtype::Bool => {
            if *v == 0 {
                FAILS
            } else {
                HOLDS
            }
        }
        Form::Op(op @ (Op::Lt | Op::Le | Op::Eq)) if floats(0) => each(a, b, |p, q| compared(*op, p, q)),
        Form::Op(Op::Not) => (a & HOLDS) << 1 | (a & FAILS) >> 1,
        Form::Op(Op::And) if expr.dtype == crate::graph::Dtype::Bool => a & b & HOLDS | (a | b) & FAILS,
        Form::Op(Op::Or) if expr.dtype == crate::graph::Dtype::Bool => (a | b) & HOLDS | a & b & FAILS,
        _ if !expr.dtype.is_float() => HOLDS | FAILS,
        Form::Op(Op::Choose) => chosen(a, b, c),
        Form::Op(Op::Cast) => {
            if floats(0) {
                a
            } else {
                FINITE
            }
        }
        Form::Op(Op::Add) => each(a, b, plus),
        Form::Op(Op::Sub) => each(a, b, |p, q| plus(p, minus(q))),
        // Both are one number.
        Form::Op(Op::Mul) if expr.kids.first() == expr.kids.get(1) => {
            each(a, a, |p, q| if p == q { times(p, q) } else { 0 })
        }
        Form::Op(Op::Mul) => each(a, b, times),
        Form::Op(Op::Div) => each(a, b, |p, q| each(p, inverse(q), times)),
        Form::Op(Op::Neg) => each(a, a, |p, _| minus(p)),
        Form::Op(Op::Abs) => each(a, a, |p, _| if p & (BELOW | DOWN) != 0 { minus(p) } else { p }),
        Form::Op(Op::Max | Op::AtLeast) => each(a, b, greater),
        Form::Op(Op::Min | Op::AtMost) => each(a, b, |p, q| minus(greater(minus(p), minus(q)))),
        Form::Named(target, _) => real(target).map_or(ANY, |of| each(a, a, |p, _| function(of, p))),
        _ => ANY,
    }
}

fn chosen(truth: Kinds, a: Kinds, b: Kinds) -> Kinds {
    let (first, second) = (truth & HOLDS != 0, truth & FAILS != 0);
    (if first { a } else { 0 }) | (if second { b } else { 0 })
}

fn number(expr: &Expr) -> Kinds {
    let value = match &expr.form {
        Form::Number(bits) => f64::from_bits(*bits),
        Form::Const(bits) => f64::from_bits(bits.cast_unsigned()),
        _ => return ANY,
    };
    match value {
        v if v.is_nan() => NAN,
        v if v.is_infinite() => {
            if v > 0.0 {
                UP
            } else {
                DOWN
            }
        }
        v if v > 0.0 => ABOVE,
        v if v < 0.0 => BELOW,
        _ => NOTHING,
    }
}

/// All that comes of one of each.
fn each(a: Kinds, b: Kinds, of: impl Fn(Kinds, Kinds) -> Kinds) -> Kinds {
    let (a, b) = (bits(a), bits(b));
    a.iter().flat_map(|p| b.iter().map(|q| of(*p, *q))).fold(0, |all, one| all | one)
}

fn plus(p: Kinds, q: Kinds) -> Kinds {
    match (p, q) {
        (NAN, _) | (_, NAN) | (UP, DOWN) | (DOWN, UP) => NAN,
        (UP | DOWN, _) | (_, NOTHING) => p,
        (_, UP | DOWN) | (NOTHING, _) => q,
        _ if p == q => p,
        _ => FINITE,
    }
}

fn minus(p: Kinds) -> Kinds {
    match p {
        ABOVE => BELOW,
        BELOW => ABOVE,
        UP => DOWN,
        DOWN => UP,
        other => other,
    }
}

fn times(p: Kinds, q: Kinds) -> Kinds {
    let infinite = |k: Kinds| k & (UP | DOWN) != 0;
    match (p, q) {
        (NAN, _) | (_, NAN) => NAN,
        (NOTHING, other) | (other, NOTHING) => {
            if infinite(other) {
                NAN
            } else {
                NOTHING
            }
        }
        _ => {
            let same = (p & (ABOVE | UP) != 0) == (q & (ABOVE | UP) != 0);
            match (infinite(p) || infinite(q), same) {
                (true, true) => UP,
                (true, false) => DOWN,
                (false, true) => ABOVE,
                (false, false) => BELOW,
            }
        }
    }
}

fn inverse(p: Kinds) -> Kinds {
    match p {
        NOTHING => UP | DOWN,
        UP | DOWN => NOTHING,
        other => other,
    }
}

fn rank(p: Kinds) -> u8 {
    match p {
        DOWN => 0,
        BELOW => 1,
        NOTHING => 2,
        ABOVE => 3,
        _ => 4,
    }
}

fn greater(p: Kinds, q: Kinds) -> Kinds {
    match (p, q) {
        (NAN, _) | (_, NAN) => NAN,
        _ if rank(p) >= rank(q) => p,
        _ => q,
    }
}

fn compared(op: Op, p: Kinds, q: Kinds) -> Kinds {
    let truth = |holds: bool| if holds { HOLDS } else { FAILS };
    match (rank(p).cmp(&rank(q)), op) {
        _ if p == NAN || q == NAN => FAILS,
        (std::cmp::Ordering::Equal, _) if p & (ABOVE | BELOW) != 0 => HOLDS | FAILS,
        (std::cmp::Ordering::Equal, _) => truth(op != Op::Lt),
        (order, _) => truth(op != Op::Eq && order.is_lt()),
    }
}

fn function(of: Real, p: Kinds) -> Kinds {
    let infinite = p & (UP | DOWN) != 0;
    match (of, p) {
        (_, NAN) => NAN,
        (Real::Exp | Real::Exp2 | Real::Expm1 | Real::Log | Real::Log1p | Real::Sqrt | Real::Silu | Real::Relu, UP) => {
            UP
        }
        (Real::Exp | Real::Exp2 | Real::Sigmoid | Real::Relu, DOWN) | (Real::Rsqrt | Real::Erfc, UP) => NOTHING,
        (Real::Exp | Real::Exp2 | Real::Erfc, _) | (Real::Sigmoid, NOTHING | BELOW) => ABOVE | NOTHING,
        (Real::Sigmoid, _) => ABOVE,
        (Real::Expm1 | Real::Tanh | Real::Erf, DOWN) => BELOW,
        (Real::Tanh | Real::Erf, UP) => ABOVE,
        (Real::Log, NOTHING) => DOWN,
        (Real::Log, ABOVE) => FINITE,
        (Real::Log | Real::Sqrt | Real::Rsqrt, BELOW | DOWN) | (Real::Log1p | Real::Silu, DOWN) => NAN,
        (Real::Log1p, BELOW) => BELOW | DOWN | NAN,
        (Real::Rsqrt, NOTHING) => UP | DOWN,
        (Real::Reciprocal, _) => inverse(p),
        (Real::Silu, BELOW) => BELOW | NOTHING,
        (Real::Relu, BELOW) => NOTHING,
        (Real::Square | Real::Cosh, UP | DOWN) => UP,
        (Real::Cosh, _) | (Real::Square, BELOW) => ABOVE,
        (Real::Sin | Real::Cos | Real::Tan, _) => {
            if infinite {
                NAN
            } else {
                FINITE
            }
        }
        // Of 0 they are 0, and on its side else.
        (
            Real::Expm1 | Real::Log | Real::Log1p | Real::Sqrt | Real::Rsqrt | Real::Silu | Real::Relu | Real::Square,
            _,
        )
        | (Real::Tanh | Real::Erf | Real::Sinh, _) => p,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dtype;
    use crate::rules::element::arena::Source;
    use crate::rules::element::index::Place;
    use crate::sym::Symbols;
    use crate::term::store::Store;

    /// Elements with two floats, and their sources.
    fn two() -> (Elements, [(ExprId, SourceId); 2]) {
        let mut e = Elements::new(Symbols::new(), crate::sym::KeyedSet::default(), 100_000);
        let mut store: Store<u32> = Store::default();
        let both = [store.at(0), store.at(1)].map(|value| {
            let source = e.source(Source::Value(value));
            (e.load(Dtype::F32, source, SmallVec::new()).unwrap(), source)
        });
        (e, both)
    }

    fn times(e: &mut Elements, x: ExprId, by: f64) -> ExprId {
        let by = e.rounded(Dtype::F32, by).unwrap();
        e.raw(Op::Mul, Dtype::F32, &[x, by]).unwrap()
    }

    fn made(e: &mut Elements, op: Op, x: ExprId, y: ExprId) -> ExprId {
        e.raw(op, Dtype::F32, &[x, y]).unwrap()
    }

    fn alike(e: &mut Elements, x: ExprId, y: ExprId, leaving: &Leaving) -> bool {
        leave_alike(e, x, y, &|_, _| Interval::new(-1024.0, 1024.0), leaving).unwrap()
    }

    #[test]
    fn what_is_infinite_is_no_difference_of_itself_and_is_brought_to_its_end_in_both() {
        let (mut e, [(v, source), (y, _)]) = two();
        let leaving = Leaving::from_iter([(source, Reach::ANY)]);
        let half = times(&mut e, v, 0.5);
        let rest = made(&mut e, Op::Sub, v, half);
        assert!(!alike(&mut e, rest, half, &leaving));
        let (more, quarter) = (times(&mut e, v, 4.0), times(&mut e, v, 0.25));
        let (back, less) = (times(&mut e, more, 0.125), times(&mut e, half, 0.5));
        assert!(!alike(&mut e, back, half, &leaving));
        assert!(alike(&mut e, less, quarter, &leaving));
        // Nothing is asked of what lies in the working range.
        let (half, more) = (times(&mut e, y, 0.5), times(&mut e, y, 4.0));
        let (rest, back) = (made(&mut e, Op::Sub, y, half), times(&mut e, more, 0.125));
        assert!(alike(&mut e, rest, half, &leaving) && alike(&mut e, back, half, &leaving));
    }

    #[test]
    fn sums_of_many_leave_their_dtype_where_none_of_them_does() {
        let (mut e, [(_, source), _]) = two();
        let eight = Dim::Fixed(8);
        let at = e.place(Place::Bound(0, eight));
        let v = e.load(Dtype::F32, source, smallvec::smallvec![at]).unwrap();
        let sum = |e: &mut Elements, of: ExprId| e.reduced(Fold::Sum, 0, &[eight], of).unwrap();
        let (whole, part) = (sum(&mut e, v), times(&mut e, v, 0.125));
        let (mean, parts) = (times(&mut e, whole, 0.125), sum(&mut e, part));
        for (most, expected) in [(1e37, true), (1e38, false)] {
            let leaving = Leaving::from_iter([(source, Reach { low: 0.0, high: most })]);
            assert_eq!(alike(&mut e, mean, parts, &leaving), expected, "{most}");
            assert_eq!(alike(&mut e, parts, mean, &leaving), expected, "{most}");
        }
    }

    #[test]
    fn what_is_divided_by_what_grows_in_one_of_both_alone_is_lost_there() {
        let (mut e, [(v, source), _]) = two();
        let half = times(&mut e, v, 0.5);
        let over_length = |e: &mut Elements, x: ExprId| {
            let square = made(e, Op::Mul, x, x);
            let twice = made(e, Op::Add, square, square);
            let one = e.rounded(Dtype::F32, 1.0).unwrap();
            let more = made(e, Op::Add, twice, one);
            made(e, Op::Div, x, more)
        };
        let (whole, part) = (over_length(&mut e, v), over_length(&mut e, half));
        for (most, expected) in [(1e18, true), (1.5e19, false)] {
            let leaving = Leaving::from_iter([(source, Reach { low: 0.0, high: most })]);
            assert_eq!(alike(&mut e, whole, part, &leaving), expected, "{most}");
            assert_eq!(alike(&mut e, part, whole, &leaving), expected, "{most}");
        }
    }

    #[test]
    fn what_is_large_leaves_its_dtype_by_squares_products_and_multiples() {
        let (mut e, [(v, source), (y, _)]) = two();
        let square = made(&mut e, Op::Mul, v, v);
        let (product, twice) = (made(&mut e, Op::Mul, v, y), times(&mut e, square, 2.0));
        let (again, back) = (made(&mut e, Op::Mul, product, v), times(&mut e, twice, 0.5));
        let (more, other) = (times(&mut e, again, 2.0), made(&mut e, Op::Mul, square, y));
        let back_again = times(&mut e, more, 0.5);
        for (most, expected) in [(1e18, true), (1e20, false)] {
            let leaving = Leaving::from_iter([(source, Reach { low: 0.0, high: most })]);
            assert_eq!(alike(&mut e, back, square, &leaving), expected, "{most}");
            assert_eq!(alike(&mut e, square, back, &leaving), expected, "{most}");
            assert_eq!(alike(&mut e, back_again, again, &leaving), expected, "{most}");
            assert_eq!(alike(&mut e, other, again, &leaving), expected, "{most}");
            assert_eq!(reach(&e, square, &leaving).unwrap().leaves(), !expected, "{most}");
            assert!(!reach(&e, v, &leaving).unwrap().leaves() && reach(&e, y, &leaving).is_none());
        }
    }
}
