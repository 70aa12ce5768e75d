//! Equal over the reals: what rules that hold bit by bit do not show.
//!
//! Four things are asked of two values, of the first as it was and of the second as it is: that they are equal over a field; that no NaN that
//! reaches the first is hidden from the second; that both are defined wherever inputs lie in the working range; that the bound of the second's
//! rounding is at most 16 times that of the first, and 64 units.
//!
//! Promises: (1) values of which nothing more is known are free: each lies in the same boxes as inputs do, which is assumed of those that are no
//! inputs, and only of those that no infinite number reaches that the graphs name; (2) what is shown is not bit by bit, so that nothing downstream may ask more
//! than real numbers (`carried`). The sampled test is made elsewhere (`differ`).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Place, Stamp, places_of};
use crate::formats::text::domain::Domain;
use crate::graph::{Arg, BodyId, Dtype, NodeId, NodeKind, ValueType};
use crate::ops::SideEffect;
use crate::rules::definedness;
use crate::rules::element::arena::{Elements, ExprId, Form, Op, Source, SourceId, Tensor};
use crate::rules::field::{BesideZero, Field, WORKING};
use crate::rules::fingerprint::Over;
use crate::rules::meaning::{Array, Meant, Speaker};
use crate::rules::rounding::{self, Leaving, Reach};
use crate::rules::table::{is_never_infinite, is_within_softmax};
use crate::sym::Dim;
use crate::term::store::ValueId;
use crate::term::term::{self, Side};
use crate::verify::functional::values::Functional;
use crate::verify::prove::bounded;
use crate::verify::prove::endless;
use crate::verify::prove::poles;
use crate::verify::prove::region::{ENDS, Ends, region};
use crate::verify::prove::remains::{Remains, remains};
use crate::verify::prove::speak::Lowering;
use crate::verify::prove::tiny;

/// What is larger than this is taken for an infinite number.
const LARGEST: f64 = 1e30;

/// How many expressions two ends may be made of to be looked at in further ways.
const LOOKED_AT_AGAIN: usize = 400;
/// How much work that may be.
const AGAIN: usize = 20_000;

/// Which values are made of memory that nobody set, once it was looked whether a call leaves any.
type ByChance = Option<Option<FxHashMap<ValueId, bool>>>;

/// What was shown equal over the reals.
#[derive(Debug, Default)]
pub struct Reals {
    /// Pairs: as it was, as it is.
    pub pairs: Vec<(ValueId, ValueId)>,
    /// The names, bit by bit, of what each pair was shown of.
    pub ways: Vec<(ValueId, ValueId)>,
    /// The names, bit by bit, of what stood for classes of what is equal over the reals only, where these were looked into.
    pub looked_into: Vec<ValueId>,
    /// What only the first of a pair was made of.
    pub remains: Vec<Remains>,
    /// Where both of each pair lie beside 0.
    pub beside_zero: Vec<BesideZero>,
    /// Whether one of the pairs is only as close, and rounded elsewhere.
    pub(super) wider: bool,
    /// Whether integers may be one quantum apart.
    pub(in crate::verify) quantum: bool,
    /// Values that are assumed to lie in the working range.
    assumed: Vec<Source>,
    /// Which values are infinite over a whole part of the working range, as far as it was asked.
    grows: FxHashMap<ValueId, bool>,
    /// How far values reach that may be beyond the working range, as far as it was asked.
    reaches: endless::Reaches,
    /// How large values are that are next to nothing, as far as it was asked.
    magnitudes: tiny::Magnitudes,
    /// Which values are made of memory that nobody set, as far as it was asked.
    by_chance: ByChance,
    /// Which values may be 0 in more than few places, as far as it was asked.
    vanishes: FxHashMap<ValueId, bool>,
    /// Nodes of either graph that may hold an infinite number that is named there, once that was looked up.
    infinite: Option<FxHashSet<(bool, NodeId)>>,
}

/// Returns whether two values are equal over the reals.
pub fn equal(f: &mut Functional<'_>, reals: &mut Reals, a: ValueId, b: ValueId, fuel: &mut usize) -> bool {
    let mut ends_at_view = false;
    for ends in ENDS {
        if ends == Ends::CommonButViews && !ends_at_view {
            continue;
        }
        let limit = if ends == Ends::Nowhere { f.budget.region.min(512) } else { f.budget.region };
        let found = region(f, a, b, limit, ends);
        ends_at_view |= found.ends_at_view;
        let terms = found.terms;
        let bound = f.sizes.settled_names();
        let symbols = f.sizes.symbols().clone();
        let given = (*fuel).min(f.budget.work);
        let speaker = Speaker::new(f.registry, Elements::new(symbols, bound, given), true);
        let names: FxHashMap<_, _> = f.store.targets().map(|(c, t)| (c, t.to_string())).collect();
        let mut lowering = Lowering { f: &mut *f, terms, names, speaker, meant: FxHashMap::default() };
        let shown = shown(&mut lowering, reals, a, b);
        *fuel = fuel.saturating_sub(given.saturating_sub(lowering.speaker.e.fuel));
        if shown == Some(true) {
            let beside = beside_zero(&mut lowering, reals, a, b).unwrap_or_default();
            let defined = std::mem::take(&mut lowering.speaker.e.defined);
            let terms = lowering.terms;
            f.defined.extend(defined);
            for class in terms.keys().copied() {
                if f.store.is_near(class) {
                    reals.looked_into.push(f.store.shown_of(class));
                }
            }
            // Each as it is made: once they are one, which of them a class names is not said.
            let [first, second] = [a, b].map(|one| poles::lies(f, one).unwrap_or_default());
            let whole = beside_zero_whole(f, reals, a, b).unwrap_or_default();
            let beside = beside.or(whole).or(first.and(second));
            reals.remains.extend(remains(f, &terms, [a, b]));
            reals.ways.push((f.store.shown_of(a), f.store.shown_of(b)));
            reals.pairs.push((a, b));
            reals.beside_zero.push(beside);
            return true;
        }
    }
    [Ends::Common, Ends::Nowhere].into_iter().any(|ends| equal_but_for_nan(f, reals, (a, b), ends, fuel))
}

/// Whether two values are equal bit by bit, but that the second one shows a NaN that the first one hides, or another zero.
fn equal_but_for_nan(
    f: &mut Functional<'_>,
    reals: &mut Reals,
    (a, b): (ValueId, ValueId),
    ends: Ends,
    fuel: &mut usize,
) -> bool {
    let terms = region(f, a, b, f.budget.region.min(512), ends).terms;
    let near = terms.keys().any(|class| f.store.is_near(*class));
    if near || f.checking.now || f.kinds.sees_nan {
        return false;
    }
    let given = (*fuel).min(f.budget.work);
    let e = Elements::bit_by_bit(f.sizes.symbols().clone(), f.sizes.settled_names(), given);
    let speaker = Speaker::new(f.registry, e, false);
    let names: FxHashMap<_, _> = f.store.targets().map(|(c, t)| (c, t.to_string())).collect();
    let mut l = Lowering { f: &mut *f, terms, names, speaker, meant: FxHashMap::default() };
    let free = without_guards(&mut l, reals, a, b);
    *fuel = fuel.saturating_sub(given.saturating_sub(l.speaker.e.fuel));
    let Some(free) = free else { return false };
    let defined = std::mem::take(&mut l.speaker.e.defined);
    f.defined.extend(defined);
    reals.assumed.extend(free);
    reals.ways.push((f.store.shown_of(a), f.store.shown_of(b)));
    reals.pairs.push((a, b));
    reals.beside_zero.push(BesideZero::default());
    true
}

/// Returns what is free where two values are equal once what hides NaN in the first one is left out.
fn without_guards(l: &mut Lowering<'_, '_>, reals: &mut Reals, a: ValueId, b: ValueId) -> Option<Vec<Source>> {
    let (Meant::One(x), Meant::One(y)) = (l.meant(a)?, l.meant(b)?) else { return None };
    let bare = l.speaker.e.without_guards(x.expr)?;
    let [x, y] = [(x, Some(bare)), (y, None)].map(|(one, expr)| Tensor {
        dtype: one.dtype,
        sizes: one.sizes,
        expr: expr.unwrap_or(one.expr),
    });
    let roots = [x.expr, y.expr];
    let near =
        sources(&l.speaker.e, &roots).iter().any(|(_, s)| matches!(s, Source::Value(id) if l.f.store.is_near(*id)));
    let [x, y] = [l.speaker.e.tensor(x), l.speaker.e.tensor(y)];
    (!near && l.speaker.e.equal_tensors(x, y)).then_some(())?;
    free_values(l, reals, &roots)
}

/// The same of two values looked into beyond what they have in common.
fn beside_zero_whole(f: &mut Functional<'_>, reals: &Reals, a: ValueId, b: ValueId) -> Option<BesideZero> {
    let [_, most] = poles::TERMS;
    let mut terms = region(f, a, b, f.budget.region.min(most), Ends::Nowhere).terms;
    terms.retain(|class, _| !f.store.is_near(*class));
    beside_zero(&mut poles::lowering(f, terms), reals, a, b)
}

/// Returns where two values that are equal over the reals lie beside 0.
fn beside_zero(l: &mut Lowering<'_, '_>, reals: &Reals, a: ValueId, b: ValueId) -> Option<BesideZero> {
    let (Meant::One(x), Meant::One(y)) = (l.meant(a)?, l.meant(b)?) else { return None };
    let found = l.speaker.e.beside_zero(x.expr, y.expr)?;
    // What both are made of may itself be equal over the reals only.
    let is_input = |source: &Source| {
        let Source::Value(id) = source else { return false };
        l.f.store
            .key(*id)
            .is_some_and(|k| matches!(l.f.view(k.side).kind(k.place.node), NodeKind::Placeholder | NodeKind::GetAttr))
    };
    let given = reals.pairs.is_empty() || sources(&l.speaker.e, &[x.expr, y.expr]).iter().all(|(_, s)| is_input(s));
    Some(BesideZero { alike: found.alike && given, signed: found.signed && given, ..found })
}

fn shown(l: &mut Lowering<'_, '_>, reals: &mut Reals, a: ValueId, b: ValueId) -> Option<bool> {
    match (l.meant(a)?, l.meant(b)?) {
        (Meant::One(x), Meant::One(y)) => arrays_shown(l, reals, &x, &y),
        (Meant::Complex(x), Meant::Complex(y)) => {
            let (assumed, wider) = (reals.assumed.len(), reals.wider);
            let each = x.iter().zip(y.iter()).all(|(x, y)| arrays_shown(l, reals, x, y) == Some(true));
            if !each {
                reals.assumed.truncate(assumed);
                reals.wider = wider;
            }
            Some(each)
        }
        _ => None,
    }
}

fn arrays_shown(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array) -> Option<bool> {
    let plain = matches!(x.dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    let few = l.speaker.e.are_settled(&x.sizes) && x.sizes.iter().all(|d| l.speaker.e.at_most(Dim::Fixed(0), *d));
    let alike =
        x.sizes.len() == y.sizes.len() && x.sizes.iter().zip(&y.sizes).all(|(a, b)| l.speaker.e.same_size(*a, *b));
    if !few || x.dtype != y.dtype || !alike || x.sizes.contains(&Dim::Fixed(0)) {
        return None;
    }
    if !plain {
        return if l.f.allows_quantum { by_quantum(l, reals, x, y) } else { None };
    }
    let whole = are_one(l, reals, x, y, false);
    if whole == Some(true) {
        return whole;
    }
    if l.f.allows_wider && as_close(l, reals, x, y) == Some(true) {
        reals.wider = true;
        return Some(true);
    }
    let size: usize = [x.expr, y.expr].iter().map(|end| l.speaker.e.below(*end).len()).sum();
    if size > LOOKED_AT_AGAIN {
        return whole;
    }
    if let Some(shown) = by_parts(l, reals, x, y) {
        return Some(shown);
    }
    // Most that is not equal is not equal in other ways, too.
    let left = l.speaker.e.fuel;
    let given = left.min(AGAIN);
    l.speaker.e.fuel = given;
    let places = !l.f.checking.now;
    let shown = by_masks(l, reals, x, y).or_else(|| places.then(|| by_places(l, reals, x, y))?);
    l.speaker.e.fuel = left.saturating_sub(given.saturating_sub(l.speaker.e.fuel));
    shown.or(whole)
}

/// Whether both are one, whatever is rounded to narrower floats where, and the second comes as close.
fn as_close(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array) -> Option<bool> {
    l.speaker.e.wider = true;
    let shown = are_one(l, reals, x, y, false);
    l.speaker.e.wider = false;
    shown
}

/// Whether two integers are the same steps of numbers that are one: a rounding that falls otherwise moves them by one quantum.
fn by_quantum(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array) -> Option<bool> {
    let ((first, steps), (second, others)) = (l.speaker.e.quantised(x.expr)?, l.speaker.e.quantised(y.expr)?);
    let (p, q) = (l.speaker.e.dtype(first)?, l.speaker.e.dtype(second)?);
    // What is no number is an integer here.
    if steps != others || p != q || !definedness::hides_no_nan(&mut l.speaker.e, second, first)? {
        return None;
    }
    let [x, y] = [(x, first), (y, second)].map(|(whole, expr)| Array { dtype: p, expr, ..whole.clone() });
    let shown = arrays_shown(l, reals, &x, &y);
    reals.quantum |= shown == Some(true);
    shown
}

/// A number may mask, too: as -inf does, where some of each row is left.
fn by_masks(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array) -> Option<bool> {
    let masks = [x.expr, y.expr].map(|end| l.speaker.e.with_endless_masks(end));
    if masks.iter().all(Option::is_none) {
        return None;
    }
    let [first, second] = masks;
    let first = Array { expr: first.unwrap_or(x.expr), ..x.clone() };
    let second = Array { expr: second.unwrap_or(y.expr), ..y.clone() };
    are_one(l, reals, &first, &second, true).filter(|equal| *equal)
}

/// Whether both are one in each of the parts of which one was joined along a dimension.
fn by_parts(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array) -> Option<bool> {
    let (dim, cuts) = [x, y].into_iter().find_map(|end| l.speaker.e.cuts_of(end.expr))?;
    let size = x.sizes.get(dim)?.fixed()?;
    let inside: Vec<i64> = cuts.into_iter().filter(|cut| (1..size).contains(cut)).collect();
    let assumed = reals.assumed.len();
    let ends: Vec<(i64, i64)> = [0].iter().chain(&inside).copied().zip(inside.iter().copied().chain([size])).collect();
    for (from, to) in ends.iter().copied().filter(|_| ends.len() > 1) {
        let part = |l: &mut Lowering<'_, '_>, whole: &Array| {
            let mut sizes = whole.sizes.clone();
            *sizes.get_mut(dim)? = Dim::Fixed(to.checked_sub(from)?);
            let mut at = l.speaker.vars(&sizes);
            let place = at.get_mut(dim)?;
            *place = l.speaker.e.shift(*place, Dim::Fixed(from))?;
            let expr = l.speaker.at(whole, at)?;
            Some(Array { sizes, expr, ..whole.clone() })
        };
        let (first, second) = (part(l, x)?, part(l, y)?);
        if are_one(l, reals, &first, &second, false) != Some(true) {
            reals.assumed.truncate(assumed);
            return None;
        }
    }
    (ends.len() > 1).then_some(true)
}

/// Whether both are one at each place of what conditions ask.
fn by_places(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array) -> Option<bool> {
    let places = l.speaker.e.at_each_place(&x.sizes, [x.expr, y.expr])?;
    let assumed = reals.assumed.len();
    for [first, second] in places {
        let ends = (Array { expr: first, ..x.clone() }, Array { expr: second, ..y.clone() });
        if are_one(l, reals, &ends.0, &ends.1, false) != Some(true) {
            reals.assumed.truncate(assumed);
            return None;
        }
    }
    Some(true)
}

/// Whether two elements are equal over the reals, hide no NaN, are defined alike, and rounded about as far. `alive`: no row may be masked as a whole.
fn are_one(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: &Array, y: &Array, alive: bool) -> Option<bool> {
    let (x, y) = (x.clone(), y.clone());
    // Which sign a zero has is asked below.
    let is_one = l.speaker.e.without_signs_of_zeros(x.expr)? == l.speaker.e.without_signs_of_zeros(y.expr)?;
    let (x, y) = (
        Array { expr: l.speaker.e.without_mask_queries(x.expr)?, ..x },
        Array { expr: l.speaker.e.without_mask_queries(y.expr)?, ..y },
    );
    // What is compared with an infinite number is finite: that is asked for, too.
    let mut finite = Vec::new();
    let (x, y) = (
        Array { expr: without_infinities(&mut l.speaker.e, x.expr, &mut finite)?, ..x },
        Array { expr: without_infinities(&mut l.speaker.e, y.expr, &mut finite)?, ..y },
    );
    if l.speaker.e.are_chosen_alike(x.expr, y.expr) {
        return Some(true);
    }
    let domains = sources(&l.speaker.e, &[x.expr, y.expr]).into_iter().filter_map(|(id, source)| match source {
        Source::Value(value) => l.f.domain_of(value).map(|d| (id, d.clone())),
        Source::Call { .. } => None,
    });
    let domains: FxHashMap<SourceId, Domain> = domains.collect();
    // What is absorbed lies in the working range.
    let leaves = |d: &Domain| matches!(d, Domain::OneOf(all) | Domain::Is(all) if all.iter().any(|v| v.abs() > 1024.0));
    if alive && domains.values().any(leaves) {
        return None;
    }
    let y = match domains.values().any(leaves) {
        true => y,
        false => Array { expr: without_absorbed(l, reals, y.expr)?, ..y },
    };
    let (limits, x, y) = without_masks(&mut l.speaker.e, x, y, alive)?;
    let [first, second, absorbed] = limits;
    let ends = [(first, second), (first, absorbed)];
    let equal = match l.f.checking.now {
        true => ends.into_iter().any(|(a, b)| l.f.checking.agree(&mut l.speaker.e, &x.sizes, [a, b], Over::Reals)),
        false => are_equal(&mut l.speaker.e, x.dtype, ends)?,
    };
    if !equal {
        return Some(false);
    }
    // Of which sign a zero is, is no real number's matter, and that of what is divided by it.
    if [x.expr, y.expr].iter().any(|end| l.speaker.e.divides_by_nothing(*end)) {
        return None;
    }
    if l.speaker.e.divide_by_open_zeros(x.expr, y.expr)? {
        return None;
    }
    let (x, y) = (
        Array { expr: l.speaker.e.without_signs_of_zeros(x.expr)?, ..x },
        Array { expr: l.speaker.e.without_signs_of_zeros(y.expr)?, ..y },
    );
    // What is one computation is defined where it is, and rounded as far.
    let is_one = is_one && finite.is_empty() && x.expr == y.expr && l.speaker.e.is_one_computation(x.expr)?;
    if !is_one && meets_an_end(l, reals, x.expr, y.expr)? {
        return None;
    }
    let free = free_values(l, reals, &[x.expr, y.expr])?;
    // What one of both reads alone may be no number for inputs that the other gives one for.
    if !is_one && !free.is_empty() && !are_read_by_both(l, &free, x.expr, y.expr) {
        return None;
    }
    if is_one {
        reals.assumed.extend(free);
        return Some(true);
    }
    let (leaving, tiny) = (leaving(l, reals, &[x.expr, y.expr]), next_to_nothing(l, reals, &[x.expr, y.expr]));
    let apart = divisors_apart(l, &[x.expr, y.expr]);
    let known = bounded::Asked { finite: &finite, stated: &domains, leaving: &leaving, tiny: &tiny, apart: &apart };
    let bounded = bounded::is_bounded(&mut l.speaker.e, &x, &y, &known)?;
    if bounded {
        reals.assumed.extend(free);
    }
    Some(bounded)
}

/// Returns an element without what is absorbed by a large number, wherever it lies.
fn without_absorbed(l: &mut Lowering<'_, '_>, reals: &mut Reals, root: ExprId) -> Option<ExprId> {
    let found = rounding::without_absorbed(&mut l.speaker.e, root, &Leaving::default())?;
    if found == root {
        return Some(root);
    }
    let leaving = leaving(l, reals, &[root]);
    rounding::without_absorbed(&mut l.speaker.e, root, &leaving)
}

/// Whether a rest that is 0 in one of two elements alone meets what is infinite over a part of the working range, or is divided by what vanishes there.
fn meets_an_end(l: &mut Lowering<'_, '_>, reals: &mut Reals, x: ExprId, y: ExprId) -> Option<bool> {
    let met = l.speaker.e.ends_met(x, y)?;
    if met.end {
        return Some(true);
    }
    for source in met.factors {
        let Some(value) = made(l, source) else { continue };
        let grows = || endless::grows_beyond(l.f, value).unwrap_or(false);
        if *reals.grows.entry(value).or_insert_with(grows) {
            return Some(true);
        }
    }
    for source in met.divisors {
        let Some(value) = made(l, source) else { continue };
        let vanishes = || endless::vanishes_beyond(l.f, value).unwrap_or(true);
        if *reals.vanishes.entry(value).or_insert_with(vanishes) {
            return Some(true);
        }
    }
    Some(false)
}

/// Returns what is read that may be beyond the working range, and how far it reaches.
fn leaving(l: &mut Lowering<'_, '_>, reals: &mut Reals, roots: &[ExprId]) -> Leaving {
    let mut out = Leaving::default();
    let all = sources(&l.speaker.e, roots);
    let (values, calls): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, s)| matches!(s, Source::Value(_)));
    for (source, of) in values {
        let reach = match made(l, source) {
            Some(value) => endless::reach(l.f, value, &mut reals.reaches),
            None => match of {
                Source::Value(id) => l.f.domain_of(id).and_then(stated_beyond),
                Source::Call { .. } => None,
            },
        };
        out.extend(reach.map(|reach| (source, reach)));
    }
    for (source, _) in calls {
        let reach = endless::reach_in_order(l, source, &mut reals.reaches).unwrap_or(Some(Reach::ANY));
        out.extend(reach.map(|reach| (source, reach)));
    }
    out
}

/// Returns between which numbers what is read as a divisor, or as a factor of one, lies that is no input and surely on one side of 0.
fn divisors_apart(l: &mut Lowering<'_, '_>, roots: &[ExprId]) -> FxHashMap<SourceId, (f64, f64)> {
    let mut open: Vec<ExprId> = Vec::new();
    for id in roots.iter().flat_map(|root| l.speaker.e.below(*root)) {
        open.extend(l.speaker.e.op_of(id).filter(|(op, _)| *op == Op::Div).and_then(|(_, kids)| kids.get(1)));
    }
    let (mut seen, mut out) = (FxHashSet::default(), FxHashMap::default());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match l.speaker.e.expr(id).map(|x| x.form.clone()) {
            Some(Form::Op(Op::Mul)) => {
                open.extend(l.speaker.e.op_of(id).map(|(_, kids)| kids.to_vec()).unwrap_or_default())
            }
            Some(Form::Load(source, _)) => {
                let ends = made(l, source).and_then(|value| endless::ends_apart(l.f, value));
                out.extend(ends.map(|ends| (source, ends)));
            }
            _ => {}
        }
    }
    out
}

/// Returns how large what is read is that is next to nothing.
fn next_to_nothing(l: &mut Lowering<'_, '_>, reals: &mut Reals, roots: &[ExprId]) -> FxHashMap<SourceId, f64> {
    let all = sources(&l.speaker.e, roots).into_iter();
    all.filter_map(|(source, _)| Some((source, tiny::magnitude_of(l, source, &mut reals.magnitudes)?))).collect()
}

/// How far an input reaches of which it is stated that it holds more than the working range.
pub(in crate::verify) fn stated_beyond(domain: &Domain) -> Option<Reach> {
    let most = match domain {
        Domain::OneOf(all) | Domain::Is(all) => all.iter().map(|v| v.abs()).reduce(f64::max)?,
        Domain::Spread(spread) => bounded::SPREADS * spread.abs(),
        _ => return None,
    };
    // What is larger is in no proof, but as a mask.
    Some(Reach { low: -most, high: most }).filter(|_| (WORKING..=LARGEST).contains(&most))
}

/// Returns the value that is read, where it is no input.
pub(super) fn made(l: &mut Lowering<'_, '_>, source: SourceId) -> Option<ValueId> {
    let Some(Source::Value(id)) = l.speaker.e.source_of(source).cloned() else { return None };
    (!is_given(l.f, id)).then_some(id)
}

/// Whether a value is what an input holds, whatever else is known to be that.
fn is_given(f: &mut Functional<'_>, value: ValueId) -> bool {
    // What an input is in is looked at as that input.
    let leaf = match f.store.term(value).map(|t| &*t.form) {
        Some(term::Form::Leaf(id)) => *id,
        _ => value,
    };
    [value, leaf].into_iter().filter_map(|id| f.store.key(id)).any(|key| {
        let kind = f.view(key.side).kind(key.place.node);
        matches!(kind, NodeKind::Placeholder | NodeKind::GetAttr) && key.stamp == Stamp::Birth
    })
}

/// Whether rules show two elements to be equal over the reals, or the first and what the second one is where something is absorbed; `None` where that was too much work.
fn are_equal(e: &mut Elements, dtype: Dtype, [(first, second), (_, absorbed)]: [(ExprId, ExprId); 2]) -> Option<bool> {
    Some(
        first == second
            || Field::equal(e, dtype, first, second) == Some(true)
            || second != absorbed && Field::equal(e, dtype, first, absorbed) == Some(true)
            || Field::equal_by_signs(e, dtype, first, second)?
            || Field::equal_unrolled(e, dtype, first, second)?
            || Field::equal_without_idle_bounds(e, dtype, first, second)?,
    )
}

/// Returns two elements with one number in place of the infinite ones of their masks, the second one with what is added to it left out, too, and what they are without: where both are NaN by their masks in
/// the same rows; `all`: where neither is in any.
fn without_masks(e: &mut Elements, x: Array, y: Array, all: bool) -> Option<([ExprId; 3], Array, Array)> {
    let number = e.any_number(x.dtype)?;
    let (Some(a), Some(b)) = (e.unmasked(x.expr, number)?, e.unmasked(y.expr, number)?) else {
        let masked = [x.expr, y.expr].map(|root| e.unmasked(root, number));
        let none = masked.iter().all(|m| matches!(m, Some(None)));
        return none.then_some(([x.expr, y.expr, y.expr], x, y));
    };
    let holds = |truth: &ExprId| e.number(*truth) == Some(1);
    if all && !(a.alive.iter().chain(&b.alive).all(holds) && e.is_near(a.bare) && e.is_near(b.bare)) {
        return None;
    }
    let alike = a.alive.len() == b.alive.len() && a.alive.iter().zip(&b.alive).all(|(p, q)| p == q);
    alike.then(|| ([a.limit, b.limit, b.absorbed], Array { expr: a.bare, ..x }, Array { expr: b.bare, ..y }))
}

/// Returns values that are free and no inputs; `None` where one of them may be infinite, or nobody set it.
fn free_values(l: &mut Lowering<'_, '_>, reals: &mut Reals, roots: &[ExprId]) -> Option<Vec<Source>> {
    let mut out = Vec::new();
    let infinite = reals.infinite.get_or_insert_with(|| infinite(l.f));
    for (_, source) in sources(&l.speaker.e, roots) {
        match source {
            Source::Value(id) => {
                let key = l.f.store.key(id)?;
                let view = l.f.view(key.side);
                // What bodies name is not looked up.
                if view.place(key.place.node).is_none_or(|(body, _)| body != BodyId::ROOT) {
                    return None;
                }
                if infinite.contains(&(key.side == Side::Before, key.place.node))
                    || is_left_to_chance(l, key.side, key.place)
                {
                    return None;
                }
                if !matches!(view.kind(key.place.node), NodeKind::Placeholder | NodeKind::GetAttr) {
                    if !is_given(l.f, id) && is_made_by_chance(l.f, &mut reals.by_chance, id) {
                        return None;
                    }
                    out.push(source);
                }
            }
            Source::Call { .. } if !infinite.is_empty() => return None,
            Source::Call { .. } => out.push(source),
        }
    }
    Some(out)
}

/// Whether each of these is read by both elements.
fn are_read_by_both(l: &Lowering<'_, '_>, free: &[Source], x: ExprId, y: ExprId) -> bool {
    let [first, second] = [x, y].map(|end| sources(&l.speaker.e, &[end]));
    let reads = |all: &[(SourceId, Source)], one: &Source| all.iter().any(|(_, source)| source == one);
    free.iter().all(|one| reads(&first, one) && reads(&second, one))
}

/// Whether what a value lies in is memory that its maker leaves to chance: it may hold anything, and something else each time.
fn is_left_to_chance(l: &mut Lowering<'_, '_>, side: Side, place: Place) -> bool {
    let origin = l.f.side(side).storages.origin(place);
    let unset = |node: NodeId| l.f.registry.operator_of(l.f.view(side), node).is_some_and(|o| o.facts.unset);
    [place.node, origin.node].into_iter().any(unset)
}

/// Whether a value is made of memory that its maker leaves to chance: what is overwritten is not.
fn is_made_by_chance(f: &mut Functional<'_>, known: &mut ByChance, value: ValueId) -> bool {
    let unset = |f: &Functional<'_>, side: Side, node: NodeId| {
        f.registry.operator_of(f.view(side), node).is_some_and(|o| o.facts.unset)
    };
    let known = known.get_or_insert_with(|| {
        let any = [Side::Before, Side::After].into_iter().any(|side| {
            let mut nodes = f.view(side).nodes(BodyId::ROOT);
            nodes.any(|node| unset(f, side, node))
        });
        any.then(FxHashMap::default)
    });
    let Some(known) = known else { return false };
    let root = f.store.find(value);
    let (mut open, mut seen) = (vec![root], FxHashSet::default());
    while let Some(id) = open.pop() {
        let before = known.get(&id).copied();
        let key = f.store.key(id).map(|key| (key.side, key.place));
        if before == Some(true) || key.is_some_and(|(side, place)| unset(f, side, place.node)) {
            known.insert(root, true);
            return true;
        }
        if before.is_none() && seen.insert(id) {
            let read = read_by(f, id);
            open.extend(read.into_iter().map(|id| f.store.find(id)));
        }
    }
    known.extend(seen.into_iter().map(|id| (id, false)));
    false
}

/// What a value reads, as far as it is looked into; of what stands for itself its operands.
fn read_by(f: &mut Functional<'_>, value: ValueId) -> Vec<ValueId> {
    let [few, _] = poles::TERMS;
    let found = poles::looked_into(f, value, few, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        let each = sources(&l.speaker.e, &[x.expr]).into_iter().map(|(_, source)| match source {
            Source::Value(id) if l.f.store.find(id) != value => Some(id),
            _ => None,
        });
        each.collect::<Option<Vec<ValueId>>>()
    });
    found.unwrap_or_else(|| f.term(value).map(|term| term.children.to_vec()).unwrap_or_default())
}

/// Returns the names of what is assumed to lie in the working range: of whole graphs, of the first node that gives a value, since which one was met first
/// depends on what was looked at.
pub fn assumed(f: &mut Functional<'_>, reals: &Reals, whole: bool) -> BTreeSet<String> {
    named(f, &reals.assumed, whole)
}

/// The same of what is not shown to lie there, wherever inputs do.
pub fn only_assumed(f: &mut Functional<'_>, reals: &Reals, whole: bool) -> BTreeSet<String> {
    let is_open = |f: &mut Functional<'_>, source: &Source| match source {
        Source::Value(id) => !endless::is_usual(f, *id),
        Source::Call { .. } => true,
    };
    let open: Vec<Source> = reals.assumed.iter().filter(|source| is_open(f, source)).cloned().collect();
    named(f, &open, whole)
}

fn named(f: &mut Functional<'_>, sources: &[Source], whole: bool) -> BTreeSet<String> {
    let (mut out, mut open) = (BTreeSet::new(), BTreeMap::new());
    for source in sources {
        match source {
            Source::Call { target, .. } => {
                out.insert(target.to_string());
            }
            Source::Value(id) => {
                let key = f.store.key(*id);
                open.extend(key.map(|key| (f.store.find(*id), f.view(key.side).name(key.place.node).to_string())));
            }
        }
    }
    let sides = if whole && !open.is_empty() { &[Side::Before, Side::After][..] } else { &[] };
    for side in sides.iter().copied() {
        let view = f.view(side);
        let mut next = view.first(BodyId::ROOT);
        while let Some(node) = next {
            next = view.next(node);
            for place in places_of(view, node) {
                let value = f.outcome(side, place);
                f.settle(value);
                let is_named = open.remove(&f.store.find(value)).is_some();
                // What an input holds lies there anyway, if nothing else is stated of it.
                let is_input = matches!(view.kind(node), NodeKind::Placeholder | NodeKind::GetAttr)
                    && !f.domains.iter().any(|(name, _)| name == view.name(node));
                if is_named && !is_input {
                    out.insert(view.name(node).to_string());
                }
            }
        }
    }
    out.extend(open.into_values());
    out
}

fn sources(e: &Elements, roots: &[ExprId]) -> Vec<(SourceId, Source)> {
    let mut seen = FxHashSet::default();
    let mut out = Vec::new();
    for id in roots.iter().flat_map(|r| e.below(*r)) {
        if let Some(Form::Load(source, _)) = e.expr(id).map(|x| &x.form)
            && seen.insert(*source)
            && let Some(found) = e.source_of(*source)
        {
            out.push((*source, found.clone()));
        }
    }
    out
}

/// Nodes, of either graph, that may hold an infinite number that the graph names, or so large a one that a sum leaves its dtype.
pub(in crate::verify) fn infinite(f: &Functional<'_>) -> FxHashSet<(bool, NodeId)> {
    let is_large = |v: f64| !v.is_finite() || v.abs() > LARGEST;
    let large = |a: &Arg| matches!(a, Arg::Float(v) if is_large(*v));
    let mut out = FxHashSet::default();
    for side in [Side::Before, Side::After] {
        let (view, before) = (f.view(side), side == Side::Before);
        for node in view.nodes(BodyId::ROOT) {
            let stated = f
                .domains
                .iter()
                .filter(|(name, _)| view.kind(node) == NodeKind::Placeholder && name == view.name(node));
            if stated
                .into_iter()
                .any(|(_, d)| matches!(d, Domain::OneOf(all) | Domain::Is(all) if all.iter().any(|v| is_large(*v))))
            {
                out.insert((before, node));
            }
            let operator = f.registry.operator_of(view, node);
            // Neither are truths and integers.
            let whole = matches!(view.ty(node), ValueType::Tensor(t) if !t.dtype.is_float() && !t.dtype.is_complex());
            if whole && operator.is_some_and(|o| !o.effects.writes())
                || operator.is_some_and(|o| is_never_infinite(&o.target))
            {
                continue;
            }
            let names: Vec<&str> =
                operator.map(|o| o.schema.params.iter().map(|p| &*p.name).collect()).unwrap_or_default();
            let given = view.args(node).iter().zip(names.iter().copied().map(Some).chain(std::iter::repeat(None)));
            let given = given.chain(view.kwargs(node).iter().map(|(k, a)| (a, Some(view.texts().text(*k)))));
            let mut open: Vec<&Arg> = Vec::new();
            for (arg, name) in given {
                let within = operator.zip(name).is_some_and(|(o, name)| is_within_softmax(&o.target, name));
                if !within {
                    open.push(arg);
                }
            }
            let runs = operator.is_none_or(|o| o.effects.side == Some(SideEffect::Control) || o.effects.opaque);
            let mut reached =
                runs && crate::analysis::getitem_of(view, node).is_none() && view.kind(node) == NodeKind::Call;
            while let Some(arg) = open.pop() {
                reached |= large(arg) || arg.nodes().any(|n| out.contains(&(before, n)));
                open.extend(arg.items().unwrap_or_default());
            }
            if reached {
                out.insert((before, node));
            }
            // What it is written to may be read anywhere.
            if reached && operator.is_some_and(|o| o.effects.writes()) {
                out.extend(view.nodes(BodyId::ROOT).map(|one| (before, one)));
                break;
            }
        }
    }
    out
}

/// Returns an expression in which comparisons with an infinite number are what they are for finite ones, which are added to a list.
fn without_infinities(e: &mut Elements, root: ExprId, finite: &mut Vec<ExprId>) -> Option<ExprId> {
    let mut known: Vec<(ExprId, bool)> = Vec::new();
    for id in e.below(root) {
        let Some((op @ (Op::Lt | Op::Le | Op::Eq), [a, b])) = e.op_of(id) else { continue };
        let infinite = |x: ExprId| e.float(x).filter(|v| v.is_infinite());
        let (a, b) = (*a, *b);
        let (truth, other) = match (infinite(a), infinite(b)) {
            (None, Some(v)) => (op != Op::Eq && v > 0.0, a),
            (Some(v), None) => (op != Op::Eq && v < 0.0, b),
            _ => continue,
        };
        // Of NaN none of these holds.
        if truth {
            continue;
        }
        known.push((id, truth));
        finite.push(other);
    }
    // What is compared may itself be chosen by such a comparison.
    for other in finite.iter_mut() {
        *other = e.with_truths(*other, &known)?;
    }
    e.with_truths(root, &known)
}
