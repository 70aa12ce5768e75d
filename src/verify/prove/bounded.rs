//! Whether the bound of a value's rounding is small enough beside that of another, on every box and at every size.
//!
//! Promises: "yes" only where, on each box of inputs, the second bound is at most 16 times the first, 64 units of what the first surely reaches,
//! and the smallest normal number (`f16` aside), and where elements that leave their dtype do so on both sides. Where an end is made of few elements, boxes are looked at in pieces: a bound of
//! each piece is one of the box.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::formats::text::domain::Domain;
use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, SourceId};
use crate::rules::element::index::Place;
use crate::rules::field::WORKING;
use crate::rules::meaning::Array;
use crate::rules::rounding::{self, Bound, Interval, Leaving, leave_alike, leave_together, unit};
use crate::sym::{Bindings, Dim, SymValue};
use crate::verify::prove::common::{Common, common};

/// How many elements may be bounded, all in all.
const WORK: usize = 3_000_000;

/// How many of them where values of choices are looked at as far as they are chosen.
const CHOSEN: usize = 300_000;

/// By what part the error of a narrow rounding grows where a wider one comes before it.
const TWICE: f64 = 1.0 / 256.0;

/// What is known of what two ends are made of.
pub struct Asked<'e> {
    /// What is compared with an infinite number.
    pub finite: &'e [ExprId],
    pub stated: &'e FxHashMap<SourceId, Domain>,
    /// Sources that may be beyond the working range.
    pub leaving: &'e Leaving,
    /// The largest magnitudes of sources that are next to nothing.
    pub tiny: &'e FxHashMap<SourceId, f64>,
    /// Between which numbers sources lie that are no inputs and surely on one side of 0.
    pub apart: &'e FxHashMap<SourceId, (f64, f64)>,
}

/// Whether the bound of the second is small enough on every box, at every size.
pub fn is_bounded(e: &mut Elements, x: &Array, y: &Array, known: &Asked<'_>) -> Option<bool> {
    let finite = known.finite;
    // What is compared with an infinite number is finite.
    if finite.iter().any(|root| may_leave(e, *root, known.leaving)) {
        return Some(false);
    }
    // What is made of the same steps is rounded alike, where none of them takes a rounding for more than it is.
    let plain = !e.wider && finite.is_empty();
    if plain && x.expr == y.expr && rounding::is_followed(e, x.expr)? {
        return Some(true);
    }
    let rows = e.cut_and_joined(x.expr, y.expr).flatten();
    // So is what sums the same elements in another order.
    if plain
        && let Some((a, b)) = rows
        && a == b
        && rounding::is_followed(e, a)?
    {
        return Some(true);
    }
    // Both are one over the reals: that is worth more work than to look whether they are.
    let left = std::mem::replace(&mut e.fuel, CHOSEN);
    let mut found = as_chosen(e, x, y, known);
    e.fuel = WORK;
    if found != Some(true) {
        found = on_all_boxes(e, x, y, None, known);
    }
    // Of dimensions in a row more is known where they are those that are read.
    if found != Some(true)
        && let Some((a, b)) = rows
        && (a, b) != (x.expr, y.expr)
    {
        let [x, y] = [(x, a), (y, b)].map(|(array, expr)| Array { expr, ..array.clone() });
        found = on_all_boxes(e, &x, &y, None, known);
    }
    // What cancels between what both are made of shows once that is one number.
    if found == Some(false)
        && !e.wider
        && let Some(Some(both)) = common(e, x.dtype, x.expr, y.expr)
    {
        found = on_all_boxes(e, x, y, Some(&both), known);
    }
    e.now = None;
    let used = WORK.saturating_sub(e.fuel);
    e.fuel = left.saturating_sub(used.checked_div(16).unwrap_or(0));
    found
}

/// Whether an element is made of what may leave its dtype.
fn may_leave(e: &Elements, root: ExprId, leaving: &Leaving) -> bool {
    let leaves = |s: &SourceId| leaving.get(s).is_some_and(|reach| reach.leaves());
    !leaving.is_empty()
        && e.below(root)
            .into_iter()
            .any(|id| matches!(e.expr(id).map(|x| &x.form), Some(Form::Load(s, _)) if leaves(s)))
}

/// The same of values of choices as far as they are chosen; `None` where none is chosen by a number.
fn as_chosen(e: &mut Elements, x: &Array, y: &Array, known: &Asked<'_>) -> Option<bool> {
    let (a, b) = (rounding::within_choices(e, x.expr)?, rounding::within_choices(e, y.expr)?);
    let apart = (a, b) != (x.expr, y.expr) && !e.wider;
    let [x, y] = [(x, a), (y, b)].map(|(array, expr)| Array { expr, ..array.clone() });
    apart.then(|| on_all_boxes(e, &x, &y, None, known))?
}

fn on_all_boxes(e: &mut Elements, x: &Array, y: &Array, common: Option<&Common>, known: &Asked<'_>) -> Option<bool> {
    let Asked { finite, stated, leaving, tiny, apart } = *known;
    // What is tiny is lost under a root that only the second takes.
    if e.has_roots_of_what_vanishes(y.expr)? && !e.has_roots_of_what_vanishes(x.expr)? {
        return Some(false);
    }
    let reaches = x;
    let whole = [x.expr, y.expr];
    let [x, y] = [(x, common.map(|c| c.x)), (y, common.map(|c| c.y))]
        .map(|(array, expr)| Array { expr: expr.unwrap_or(array.expr), ..array.clone() });
    // The greatest is never rounded: that of parts is that of all.
    let [first, second] = [e.without_idle_comparisons(x.expr)?, e.without_idle_comparisons(y.expr)?];
    let [first, second] = [e.joined(first)?, e.joined(second)?];
    let x = &Array { expr: e.parted_in_ones(first)?, ..x };
    let y = &Array { expr: e.parted_in_ones(second)?, ..y };
    let roots = [x.expr, y.expr];
    let all = if common.is_some() { whole } else { roots };
    let parts = apart_from_zero(e, &all, stated)?;
    rounding::remember(e, roots);
    let mut leaving = leaving.clone();
    for (source, of) in common.iter().flat_map(|c| &c.numbers) {
        if let Some(reach) = rounding::reach(e, *of, &leaving) {
            leaving.insert(*source, reach);
        }
    }
    let none = FxHashMap::default();
    // Of what may be as large as the end of the working range most is about 1.
    let tinier = tiny.iter().map(|(source, most)| (*source, most / WORKING)).collect();
    let half = all.into_iter().flat_map(|r| e.below(r)).any(|id| e.dtype(id) == Some(Dtype::F16));
    for now in sizes_of(e, &all, finite)? {
        e.now = Some(now);
        let sizes: Vec<i64> = x.sizes.iter().map(|d| e.size_now(*d).unwrap_or(1).max(1)).collect();
        for parts in &parts {
            let reaches = if common.is_some() { reaches.expr } else { x.expr };
            let ends = Ends {
                x,
                y,
                reaches,
                common,
                finite,
                stated,
                leaving: &leaving,
                tiny: &none,
                apart,
                reach: reach(half),
                parts,
                sizes: &sizes,
            };
            let each = [ends, Ends { tiny, ..ends }, Ends { tiny: &tinier, ..ends }];
            let each = each.into_iter().take(if tiny.is_empty() { 1 } else { 3 });
            for (ends, around) in each.flat_map(|ends| boxes(half).map(move |around| (ends, around))) {
                if !ends.are_bounded(e, around)? {
                    return Some(false);
                }
            }
        }
    }
    Some(true)
}

/// As a power of two, the end of the working range.
fn farthest(half: bool) -> i32 {
    if half { 5 } else { 10 }
}

/// The end of the working range.
fn reach(half: bool) -> f64 {
    2.0_f64.powi(farthest(half))
}

/// As a power of two, the smallest box.
const LEAST: i32 = -40;
/// What lies within.
pub(super) const SMALLEST_BOX: f64 = 1.0 / (1_u64 << 40) as f64;

/// Centres and widths of the boxes.
fn boxes(half: bool) -> impl Iterator<Item = (f64, f64)> {
    let far = farthest(half);
    let centre = 2.0_f64.powi(far);
    // Of what is tiny squares are still numbers, and their products are none.
    let tiny = [LEAST].into_iter().filter(move |_| !half);
    let near = tiny.chain([-14, -10, -6, -2, 2, 6, 10]).filter(move |k| *k < far).chain([far]).map(|k| (0.0, k));
    let away =
        [2, 6, 10].into_iter().filter(move |k| *k < far).chain([far]).flat_map(move |k| [(centre, k), (-centre, k)]);
    near.chain(away).map(|(centre, k)| (centre, 2.0_f64.powi(k)))
}

/// Two ends, and what is known of what they are made of.
#[derive(Copy, Clone)]
struct Ends<'e> {
    x: &'e Array,
    y: &'e Array,
    /// What tells how large the first one surely becomes.
    reaches: ExprId,
    /// What both have in common, where that is taken for numbers.
    common: Option<&'e Common>,
    finite: &'e [ExprId],
    stated: &'e FxHashMap<SourceId, Domain>,
    /// Sources that may be beyond the working range.
    leaving: &'e Leaving,
    /// The largest magnitudes of sources that are next to nothing, where that is looked at.
    tiny: &'e FxHashMap<SourceId, f64>,
    /// Between which numbers sources lie that are surely on one side of 0.
    apart: &'e FxHashMap<SourceId, (f64, f64)>,
    /// The end of the working range.
    reach: f64,
    /// Sources that are above 0, or below.
    parts: &'e FxHashMap<SourceId, bool>,
    sizes: &'e [i64],
}

/// In which interval each element of a source lies.
type Sources<'s> = dyn Fn(Option<SourceId>, Dtype) -> Option<Interval> + 's;

impl Ends<'_> {
    fn are_bounded(&self, e: &mut Elements, (centre, width): (f64, f64)) -> Option<bool> {
        let given = |source: Option<SourceId>, dtype: Dtype| {
            let around = match source.and_then(|s| self.tiny.get(&s)) {
                Some(most) => Interval::new(-most, *most)?,
                None => Interval::new(centre - width, centre + width)?,
            };
            if let Some(ends) = source.and_then(|s| self.apart.get(&s)) {
                return part(around, *ends);
            }
            let domain = source.and_then(|s| self.stated.get(&s)).unwrap_or(&Domain::Any);
            match source.and_then(|s| self.parts.get(&s)) {
                Some(true) => part(around, (0.125, f64::MAX)),
                Some(false) => part(around, (-f64::MAX, -0.125)),
                None if dtype.is_float() || dtype == Dtype::Bool => inside(domain, around),
                None => whole(domain, dtype),
            }
        };
        for root in self.finite {
            rounding::range(e, *root, &given)?;
        }
        let mut numbers: FxHashMap<SourceId, Interval> = FxHashMap::default();
        for (common, (source, of)) in self.common.iter().flat_map(|c| c.numbers.iter().map(move |n| (c, n))) {
            numbers.insert(*source, rounding::range_where(e, *of, &given, &common.known)?);
        }
        let sources = |source: Option<SourceId>, dtype: Dtype| {
            source.and_then(|s| numbers.get(&s).copied()).or_else(|| given(source, dtype))
        };
        let (mut x, mut y) = (self.x.expr, self.y.expr);
        // On which side of 0 such a source lies decides what is chosen by it.
        if !self.parts.is_empty() {
            (x, y) = (decided(e, x, &sources)?, decided(e, y, &sources)?);
        }
        let whole_range = centre.abs() <= 0.0 && width >= self.reach;
        if whole_range && !self.leaving.is_empty() && !leave_alike(e, x, y, &sources, self.leaving)? {
            return Some(false);
        }
        if rounding::are_one_by_zero(e, x, y, &sources) {
            return Some(true);
        }
        let whole = errors(e, (x, y), &sources, self.leaving);
        // What is rounded elsewhere must come as close, but for what wider floats are rounded to before.
        if e.wider {
            return whole.map(|[(a, b), ..]| b <= a * (1.0 + TWICE));
        }
        if whole.is_some_and(|both| both.iter().any(|(a, b)| *b <= 16.0 * a)) {
            return Some(true);
        }
        let pieces = self.in_pieces(e, &sources).map(|found| [found; 4]);
        let found = pieces.or(whole)?;
        let holds = |more: f64| found.iter().chain(whole.iter().flatten()).any(|(a, b)| *b <= 16.0 * a + more);
        if holds(0.0) {
            return Some(true);
        }
        let reached = rounding::largest(e, self.reaches, &given, self.sizes);
        Some(holds(64.0 * unit(self.x.dtype) * reached + rounding::flushed(self.x.dtype)))
    }

    /// Returns the largest bounds on pieces of a box, where ends are made of one or two elements, or are sums of what is: what a condition says of the whole of a piece is
    /// known there.
    fn in_pieces(&self, e: &mut Elements, sources: &Sources<'_>) -> Option<(f64, f64)> {
        let (mut loads, mut read): (FxHashSet<ExprId>, Vec<SourceId>) = (FxHashSet::default(), Vec::new());
        let mut bounds: Vec<f64> = vec![0.0];
        for id in [self.x.expr, self.y.expr].into_iter().flat_map(|r| e.below(r)) {
            let expr = e.expr(id)?;
            match &expr.form {
                Form::Reduce(..)
                    if !is_multiple_of_sum(e, self.x.expr, id) && !is_multiple_of_sum(e, self.y.expr, id) =>
                {
                    return None;
                }
                Form::Load(source, _) if expr.dtype.is_float() && loads.insert(id) => read.push(*source),
                Form::Op(Op::Lt | Op::Le) => bounds.extend(expr.kids.iter().filter_map(|k| e.float(*k))),
                _ => {}
            }
        }
        read.sort_unstable_by_key(|s| s.number());
        if read.len() > 2 || read.windows(2).any(|pair| pair.first() == pair.last()) {
            return None;
        }
        bounds.retain(|v| v.is_finite());
        let mut all: Vec<FxHashMap<SourceId, Interval>> = vec![FxHashMap::default()];
        // Of one element more of them are looked at: what is compared may be its square.
        let least = if read.len() > 1 { -6 } else { -16 };
        for source in read {
            let cut = pieces(sources(Some(source), self.x.dtype)?, &bounds, least);
            let each = |before: FxHashMap<SourceId, Interval>| {
                cut.iter().map(move |piece| before.iter().map(|(s, v)| (*s, *v)).chain([(source, *piece)]).collect())
            };
            all = all.into_iter().flat_map(each).collect();
        }
        let mut most = (0.0_f64, 0.0_f64);
        for piece in all {
            let within = |source: Option<SourceId>, dtype: Dtype| {
                source.and_then(|s| piece.get(&s).copied()).or_else(|| sources(source, dtype))
            };
            let (x, y) = (decided(e, self.x.expr, &within)?, decided(e, self.y.expr, &within)?);
            let [(a, b), ..] = errors(e, (x, y), &within, self.leaving)?;
            most = (most.0.max(a), most.1.max(b));
        }
        Some(most)
    }
}

/// Whether an element is a multiple of one sum: its error is that of the elements that are summed, each of which lies in a piece of its own.
fn is_multiple_of_sum(e: &Elements, root: ExprId, sum: ExprId) -> bool {
    let is_number = |id: ExprId| match e.expr(id).map(|x| (&x.form, x.kids.first().copied())) {
        Some((Form::Op(Op::Cast), Some(inner))) => matches!(e.expr(inner).map(|x| &x.form), Some(Form::Index(_))),
        Some((Form::Const(_) | Form::Number(_), _)) => true,
        _ => false,
    };
    let mut at = root;
    while at != sum {
        at = match e.op_of(at) {
            Some((Op::Neg, [x])) => *x,
            Some((Op::Mul | Op::Div, [x, c])) if is_number(*c) => *x,
            Some((Op::Mul, [c, x])) if is_number(*c) => *x,
            _ => return false,
        };
    }
    let Some(Form::Reduce(Fold::Sum, ..)) = e.expr(sum).map(|x| &x.form) else { return false };
    e.below(sum).into_iter().all(|id| id == sum || !e.is_reduction(id))
}

/// Returns bounds of both errors, and such where what divides, and what is multiplied and divided, is followed by its error beside it; `None` where one has none, or where one may be infinite and the
/// other not.
fn errors(
    e: &mut Elements,
    (x, y): (ExprId, ExprId),
    sources: &Sources<'_>,
    leaving: &Leaving,
) -> Option<[(f64, f64); 4]> {
    let (a, b) = (rounding::bound(e, x, &sources)?, rounding::bound(e, y, &sources)?);
    let none = a.past.is_empty() && b.past.is_empty();
    let alike =
        none || is_past_where(e, &a, &b)? && is_past_where(e, &b, &a)? && leave_alike(e, x, y, &sources, leaving)?;
    alike.then_some([(a.error, b.error), (a.beside, b.beside), (a.products, b.products), (a.least, b.least)])
}

/// Whether elements that leave their dtype do so only where some of the other side do.
fn is_past_where(e: &mut Elements, some: &Bound, others: &Bound) -> Option<bool> {
    for one in some.past.iter().filter(|one| !others.past.contains(one)) {
        let dtype = e.dtype(*one)?;
        let alike: Vec<ExprId> = others.past.iter().filter(|o| e.dtype(**o) == Some(dtype)).take(4).copied().collect();
        if !alike.into_iter().any(|other| leave_together(e, *one, other) == Some(true)) {
            return Some(false);
        }
    }
    Some(true)
}

/// Returns an expression in which conditions are what they are for all elements in some intervals; those that a rounding reaches stay.
fn decided(e: &mut Elements, root: ExprId, sources: &Sources<'_>) -> Option<ExprId> {
    let mut known: Vec<(ExprId, bool)> = Vec::new();
    for id in e.below(root) {
        let Some((op @ (Op::Lt | Op::Le), [a, b])) = e.op_of(id) else { continue };
        let (a, b) = (*a, *b);
        let floats = [a, b].iter().all(|k| e.dtype(*k).is_some_and(|d| d.is_float()) && rounding::is_exact(e, *k));
        if !floats {
            continue;
        }
        let (Some(a), Some(b)) = (rounding::range(e, a, &sources), rounding::range(e, b, &sources)) else { continue };
        let (holds, fails) = match op {
            Op::Lt => (a.high < b.low, a.low >= b.high),
            _ => (a.high <= b.low, a.low > b.high),
        };
        if holds || fails {
            known.push((id, holds));
        }
    }
    e.with_truths(root, &known)
}

/// Cuts an interval at powers of two from one on and between them, and around numbers that something is compared with.
fn pieces(whole: Interval, bounds: &[f64], least: i32) -> Vec<Interval> {
    let mut cuts: Vec<(f64, bool)> = bounds.iter().map(|v| (*v, true)).collect();
    cuts.extend(
        (least..=10).flat_map(|k| [1.0, 1.5].map(|v| v * 2.0_f64.powi(k))).flat_map(|v| [(v, false), (-v, false)]),
    );
    cuts.retain(|(v, _)| whole.low <= *v && *v <= whole.high);
    cuts.sort_by(|(a, p), (b, q)| a.total_cmp(b).then(q.cmp(p)));
    cuts.dedup_by(|(a, _), (b, _)| (*a - *b).abs() == 0.0);
    let (mut out, mut low) = (Vec::new(), whole.low);
    for (at, alone) in cuts {
        let high = if alone { at.next_down() } else { at };
        out.extend(Interval::new(low, high));
        if alone {
            out.extend(Interval::point(at));
        }
        low = if alone { at.next_up() } else { at };
    }
    out.extend(Interval::new(low, whole.high));
    out
}

/// Returns every choice of signs for sources whose elements are not near 0, as far as each of these is read at one place only. Of the others it is known that their
/// magnitudes are not small.
fn apart_from_zero(
    e: &mut Elements,
    roots: &[ExprId],
    stated: &FxHashMap<SourceId, Domain>,
) -> Option<Vec<FxHashMap<SourceId, bool>>> {
    let mut apart: Vec<SourceId> = stated.iter().filter(|(_, d)| **d == Domain::Nonzero).map(|(s, _)| *s).collect();
    apart.sort_unstable_by_key(|s| s.number());
    let mut all = vec![FxHashMap::default()];
    e.apart = FxHashSet::default();
    for source in apart {
        if !is_read_at_one_place(e, roots, source) {
            e.apart.insert(source);
            continue;
        }
        all = all
            .into_iter()
            .flat_map(|signs: FxHashMap<SourceId, bool>| {
                [true, false].map(|sign| signs.iter().map(|(s, v)| (*s, *v)).chain([(source, sign)]).collect())
            })
            .collect();
        (all.len() <= 8).then_some(())?;
    }
    Some(all)
}

/// Whether one element alone of a source is read.
fn is_read_at_one_place(e: &Elements, roots: &[ExprId], source: SourceId) -> bool {
    let mut at = None;
    for id in roots.iter().flat_map(|r| e.below(*r)) {
        let Some(Form::Load(s, index)) = e.expr(id).map(|x| &x.form) else { continue };
        if *s != source {
            continue;
        }
        let bound = index.iter().any(|i| e.places_in(*i).iter().any(|p| matches!(p, Place::Bound(..))));
        if bound || at.get_or_insert_with(|| index.clone()) != index {
            return false;
        }
    }
    true
}

/// How many sizes bounds are computed at.
const SIZES: usize = 4096;
/// How many values one symbol may have.
const VALUES: i64 = 64;

/// Returns all values of the symbols on which bounds depend: those of reduced dimensions, and of numbers.
fn sizes_of(e: &mut Elements, roots: &[ExprId], finite: &[ExprId]) -> Option<Vec<Bindings>> {
    let mut dims: Vec<Dim> = Vec::new();
    for id in roots.iter().chain(finite).flat_map(|r| e.below(*r)) {
        match &e.expr(id)?.form {
            Form::Reduce(_, _, sizes) => dims.extend(sizes.iter().copied()),
            Form::Index(i) => {
                let sum = e.linear(*i);
                dims.push(sum.offset());
                dims.extend(sum.terms.iter().map(|(_, by)| *by));
                dims.extend(sum.terms.iter().filter_map(|(p, _)| match p {
                    Place::Var(_, size) | Place::Bound(_, size) => Some(*size),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    let mut names: Vec<String> = dims.iter().flat_map(|d| e.symbols.symbols_in(SymValue::Int(*d))).collect();
    names.sort_unstable();
    names.dedup();
    let mut all = vec![Bindings::new()];
    for name in names {
        let range = e.symbols.range_of(e.symbols.find_symbol(&name)?);
        let (low, high) = (range.min?, range.max?);
        (high.checked_sub(low)? < VALUES).then_some(())?;
        let mut next = Vec::new();
        for before in &all {
            for value in low..=high {
                let mut now = before.clone();
                e.symbols.bind(&mut now, &name, value);
                next.push(now);
            }
        }
        all = next;
        (all.len() <= SIZES).then_some(())?;
    }
    Some(all)
}

/// Returns all numbers of a dtype of integers, or those of its domain.
#[allow(clippy::cast_precision_loss)]
fn whole(domain: &Domain, dtype: Dtype) -> Option<Interval> {
    match domain {
        Domain::Integers { lo, hi, .. } => Interval::new(*lo as f64, *hi as f64),
        _ => match dtype {
            Dtype::U8 => Interval::new(0.0, 255.0),
            Dtype::I8 => Interval::new(-128.0, 127.0),
            Dtype::I16 => Interval::new(-32768.0, 32767.0),
            Dtype::I32 => Interval::new(-2.0_f64.powi(31), 2.0_f64.powi(31)),
            Dtype::I64 => Interval::new(-2.0_f64.powi(63), 2.0_f64.powi(63)),
            _ => None,
        },
    }
}

/// No number of a stated spread is farther from 0 than so many times that.
pub(super) const SPREADS: f64 = 32.0;

/// Returns the part of a box that lies in a domain: where there is none, what of the domain is nearest.
fn inside(domain: &Domain, around: Interval) -> Option<Interval> {
    let (low, high) = match domain {
        Domain::Any => return Some(around),
        Domain::Spread(spread) => (-SPREADS * spread.abs(), SPREADS * spread.abs()),
        Domain::Positive => (0.125, f64::MAX),
        Domain::Unit => (-1.0, 1.0),
        Domain::Probability => (0.01, 0.99),
        Domain::OneOf(all) | Domain::Is(all) => {
            let fold = |f: fn(f64, f64) -> f64| all.iter().copied().reduce(f);
            (fold(f64::min)?, fold(f64::max)?)
        }
        // It lies on both sides of 0.
        Domain::Nonzero if around.most() <= rounding::APART => {
            return Interval::new(-rounding::APART, rounding::APART);
        }
        Domain::Nonzero => return Some(around),
        Domain::Integers { .. } => return None,
    };
    part(around, (low, high))
}

/// Returns what of a box lies between two numbers: where that is nothing, what of them is nearest.
fn part(around: Interval, (low, high): (f64, f64)) -> Option<Interval> {
    let width = (around.high - around.low) / 2.0;
    let (from, to) = (around.low.max(low), around.high.min(high));
    if from <= to {
        return Interval::new(from, to);
    }
    if around.high < low {
        Interval::new(low, (low + width).min(high))
    } else {
        Interval::new((high - width).max(low), high)
    }
}
