//! Equal over the reals: what rules that hold bit by bit do not show.
//!
//! Four things are asked of two values, of the first as it was and of the second as it is: that they are equal over a field; that no NaN that
//! reaches the first is hidden from the second; that both are defined wherever inputs lie in the working range; that the bound of the second's
//! rounding is at most 16 times that of the first, and 64 units.
//!
//! Promises: (1) values of which nothing more is known are free: each lies in the same boxes as inputs do, which is assumed of those that are no
//! inputs, and only of those that no infinite number reaches that the graphs name; (2) what is shown is not bit by bit, so that nothing downstream may ask more
//! than real numbers: no step, no write, no effect, nothing that decides a size ([`is_carried`]). The sampled test is made elsewhere (`differ`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::call::{draws, writes};
use crate::analysis::{Stamp, places_of};
use crate::formats::text::domain::Domain;
use crate::graph::{Arg, BodyId, Dtype, NodeId, NodeKind, ValueType};
use crate::ops::{SideEffect, Total};
use crate::rules::element::arena::{Elements, ExprId, Form, Op, Source, SourceId};
use crate::rules::element::index::Place;
use crate::rules::field::Field;
use crate::rules::meaning::{Array, Meant, Speaker};
use crate::rules::rounding::{self, Interval, unit};
use crate::rules::table::{Real, is_never_infinite, is_within_softmax, real as real_of};
use crate::sym::{Bindings, Dim, SymValue};
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::key::Aspect;
use crate::verify::functional::values::{Functional, bind};
use crate::verify::prove::region::region;
use crate::verify::prove::speak::Lowering;

/// What was shown equal over the reals.
#[derive(Debug, Default)]
pub struct Reals {
    /// Pairs: as it was, as it is.
    pub pairs: Vec<(ValueId, ValueId)>,
    /// Nodes that are assumed to lie in the working range.
    pub assumed: std::collections::BTreeSet<String>,
    /// Nodes of either graph that may hold an infinite number that is named there, once that was looked up.
    infinite: Option<FxHashSet<(bool, NodeId)>>,
}

/// Returns whether two values are equal over the reals.
pub fn equal(f: &mut Functional<'_>, reals: &mut Reals, a: ValueId, b: ValueId, fuel: &mut usize) -> bool {
    for cuts in [true, false] {
        let limit = if cuts { f.budget.region } else { f.budget.region.min(512) };
        let terms = region(f, a, b, limit, cuts).terms;
        let bound = f.sizes.settled_names();
        let symbols = f.sizes.symbols().clone();
        let given = (*fuel).min(f.budget.work);
        let speaker = Speaker { registry: f.registry, e: Elements::new(symbols, bound, given), over_reals: true };
        let names: FxHashMap<_, _> = f.store.targets().map(|(c, t)| (c, t.to_string())).collect();
        let mut lowering = Lowering { f: &mut *f, terms, names, speaker, meant: FxHashMap::default() };
        let shown = shown(&mut lowering, reals, a, b);
        *fuel = fuel.saturating_sub(given.saturating_sub(lowering.speaker.e.fuel));
        if shown == Some(true) {
            reals.pairs.push((a, b));
            return true;
        }
    }
    false
}

fn shown(l: &mut Lowering<'_, '_>, reals: &mut Reals, a: ValueId, b: ValueId) -> Option<bool> {
    let (ma, mb) = (l.meant(a), l.meant(b));
    let (Meant::One(x), Meant::One(y)) = (ma?, mb?) else { return None };
    let plain = matches!(x.dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    let few = l.speaker.e.are_settled(&x.sizes) && x.sizes.iter().all(|d| l.speaker.e.at_most(Dim::Fixed(0), *d));
    let alike =
        x.sizes.len() == y.sizes.len() && x.sizes.iter().zip(&y.sizes).all(|(a, b)| l.speaker.e.same_size(*a, *b));
    if !plain || !few || x.dtype != y.dtype || !alike || x.sizes.contains(&Dim::Fixed(0)) {
        return None;
    }
    // What is compared with an infinite number is finite: that is asked for, too.
    let mut finite = Vec::new();
    let (x, y) = (
        Array { expr: without_infinities(&mut l.speaker.e, x.expr, &mut finite)?, ..x },
        Array { expr: without_infinities(&mut l.speaker.e, y.expr, &mut finite)?, ..y },
    );
    let fe = Field::equal(&mut l.speaker.e, x.dtype, x.expr, y.expr);
    if !fe? {
        return Some(false);
    }
    let infinite = reals.infinite.get_or_insert_with(|| infinite(l.f));
    let free = free_values(l, &[x.expr, y.expr], infinite)?;
    let bounded = is_bounded(l, &x, &y, &finite)?;
    if bounded {
        reals.assumed.extend(free);
    }
    Some(bounded)
}

/// Returns the names of values that are free and no inputs; `None` where one of them may be infinite.
fn free_values(
    l: &mut Lowering<'_, '_>,
    roots: &[ExprId],
    infinite: &FxHashSet<(bool, NodeId)>,
) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for (_, source) in sources(&l.speaker.e, roots) {
        match source {
            Source::Value(id) => {
                let key = l.f.store.key(id)?;
                let view = l.f.view(key.side);
                // What bodies name is not looked up.
                if view.place(key.place.node).is_none_or(|(body, _)| body != BodyId::ROOT) {
                    return None;
                }
                if !matches!(view.kind(key.place.node), NodeKind::Placeholder | NodeKind::GetAttr) {
                    if infinite.contains(&(key.side == Side::Before, key.place.node)) {
                        return None;
                    }
                    out.push(view.name(key.place.node).to_string());
                }
            }
            Source::Call { .. } if !infinite.is_empty() => return None,
            Source::Call { target, .. } => out.push(target.to_string()),
        }
    }
    Some(out)
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
fn infinite(f: &Functional<'_>) -> FxHashSet<(bool, NodeId)> {
    let is_large = |v: f64| !v.is_finite() || v.abs() > 1e30;
    let large = |a: &Arg| matches!(a, Arg::Float(v) if is_large(*v));
    let mut out = FxHashSet::default();
    for side in [Side::Before, Side::After] {
        let (view, before) = (f.view(side), side == Side::Before);
        let mut next = view.first(BodyId::ROOT);
        while let Some(node) = next {
            next = view.next(node);
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
            if operator.is_some_and(|o| is_never_infinite(&o.target)) {
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
                let mut all = view.first(BodyId::ROOT);
                while let Some(one) = all {
                    out.insert((before, one));
                    all = view.next(one);
                }
                break;
            }
        }
    }
    out
}

/// Whether the bound of the second is small enough on every box, at every size.
fn is_bounded(l: &mut Lowering<'_, '_>, x: &Array, y: &Array, finite: &[ExprId]) -> Option<bool> {
    let e = &mut l.speaker.e;
    let x = &Array { expr: e.parted_in_ones(x.expr)?, ..x.clone() };
    let y = &Array { expr: e.parted_in_ones(y.expr)?, ..y.clone() };
    let roots = [x.expr, y.expr];
    let mut stated: FxHashMap<SourceId, Domain> = FxHashMap::default();
    for (id, source) in sources(&l.speaker.e, &roots) {
        if let Source::Value(value) = source {
            stated.extend(l.f.domain_of(value).map(|d| (id, d.clone())));
        }
    }
    let e = &mut l.speaker.e;
    let parts = apart_from_zero(e, &roots, &stated)?;
    let half = roots.into_iter().flat_map(|r| e.below(r)).any(|id| e.dtype(id) == Some(Dtype::F16));
    for now in sizes_of(e, &roots, finite)? {
        e.now = Some(now);
        let sizes: Vec<i64> = x.sizes.iter().map(|d| e.size_now(*d).unwrap_or(1).max(1)).collect();
        for parts in &parts {
            let ends = Ends { x, y, finite, stated: &stated, parts, sizes: &sizes };
            for around in boxes(half) {
                if !ends.are_bounded(e, around)? {
                    return Some(false);
                }
            }
        }
    }
    e.now = None;
    Some(true)
}

/// Centres and widths of the boxes.
fn boxes(half: bool) -> impl Iterator<Item = (f64, f64)> {
    let far = if half { 5 } else { 10 };
    let centre = 2.0_f64.powi(far);
    let near = [-14, -10, -6, -2, 2, 6, 10].into_iter().filter(move |k| *k < far).chain([far]).map(|k| (0.0, k));
    let away =
        [2, 6, 10].into_iter().filter(move |k| *k < far).chain([far]).flat_map(move |k| [(centre, k), (-centre, k)]);
    near.chain(away).map(|(centre, k)| (centre, 2.0_f64.powi(k)))
}

/// Two ends, and what is known of what they are made of.
struct Ends<'e> {
    x: &'e Array,
    y: &'e Array,
    finite: &'e [ExprId],
    stated: &'e FxHashMap<SourceId, Domain>,
    /// Sources that are above 0, or below.
    parts: &'e FxHashMap<SourceId, bool>,
    sizes: &'e [i64],
}

impl Ends<'_> {
    fn are_bounded(&self, e: &mut Elements, (centre, width): (f64, f64)) -> Option<bool> {
        let sources = |source: Option<SourceId>, dtype: Dtype| {
            let around = Interval::new(centre - width, centre + width)?;
            let domain = source.and_then(|s| self.stated.get(&s)).unwrap_or(&Domain::Any);
            match source.and_then(|s| self.parts.get(&s)) {
                Some(true) => part(around, (0.125, f64::MAX)),
                Some(false) => part(around, (-f64::MAX, -0.125)),
                None if dtype.is_float() || dtype == Dtype::Bool => inside(domain, around),
                None => whole(domain, dtype),
            }
        };
        for root in self.finite {
            rounding::range(e, *root, &sources)?;
        }
        let (x, y) = (self.x.expr, self.y.expr);
        if rounding::are_one_by_zero(e, x, y, &sources) {
            return Some(true);
        }
        let (a, b) = (rounding::bound(e, x, &sources)?, rounding::bound(e, y, &sources)?);
        // Infinite in the same elements.
        for (some, others) in [(&a.past, &b.past), (&b.past, &a.past)] {
            for one in some.iter().filter(|one| !others.contains(one)) {
                let dtype = e.dtype(*one)?;
                let mut alike = others.iter().filter(|o| e.dtype(**o) == Some(dtype)).copied().collect::<Vec<_>>();
                alike.truncate(4);
                let mut together = |other: ExprId| {
                    exponent(e, *one).is_some_and(|x| exponent(e, other) == Some(x))
                        || Field::same_value(e, dtype, *one, other) == Some(true)
                };
                if !alike.into_iter().any(&mut together) {
                    return Some(false);
                }
            }
        }
        let reached = if b.error > 16.0 * a.error { rounding::largest(e, x, &sources, self.sizes) } else { 0.0 };
        Some(b.error <= 16.0 * a.error + 64.0 * unit(self.x.dtype) * reached)
    }
}

/// Returns the exponent of an exponential, or of one less 1: both are infinite where it is too large.
fn exponent(e: &Elements, id: ExprId) -> Option<ExprId> {
    let expr = e.expr(id)?;
    let Form::Named(target, _) = &expr.form else { return None };
    let is_one = matches!(real_of(target), Some(Real::Exp | Real::Expm1));
    expr.kids.first().copied().filter(|_| is_one)
}

/// Returns every choice of signs for sources whose elements are not near 0, each of which is read at one place only.
fn apart_from_zero(
    e: &Elements,
    roots: &[ExprId],
    stated: &FxHashMap<SourceId, Domain>,
) -> Option<Vec<FxHashMap<SourceId, bool>>> {
    let mut apart: Vec<SourceId> = stated.iter().filter(|(_, d)| **d == Domain::Nonzero).map(|(s, _)| *s).collect();
    apart.sort_unstable_by_key(|s| s.number());
    let mut all = vec![FxHashMap::default()];
    for source in apart {
        let mut at = None;
        for id in roots.iter().flat_map(|r| e.below(*r)) {
            let Some(Form::Load(s, index)) = e.expr(id).map(|x| &x.form) else { continue };
            if *s != source {
                continue;
            }
            let bound = index.iter().any(|i| e.places_in(*i).iter().any(|p| matches!(p, Place::Bound(..))));
            if bound || at.get_or_insert_with(|| index.clone()) != index {
                return None;
            }
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
        known.push((id, truth));
        finite.push(other);
    }
    e.with_truths(root, &known)
}

/// Returns the part of a box that lies in a domain: where there is none, what of the domain is nearest.
fn inside(domain: &Domain, around: Interval) -> Option<Interval> {
    let (low, high) = match domain {
        Domain::Any | Domain::Spread(_) => return Some(around),
        Domain::Positive => (0.125, f64::MAX),
        Domain::Unit => (-1.0, 1.0),
        Domain::Probability => (0.01, 0.99),
        Domain::OneOf(all) | Domain::Is(all) => {
            let fold = |f: fn(f64, f64) -> f64| all.iter().copied().reduce(f);
            (fold(f64::min)?, fold(f64::max)?)
        }
        // Neither side of 0 alone.
        Domain::Nonzero | Domain::Integers { .. } => return None,
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

/// Returns the names of nodes that are equal over the reals only and that more is computed from.
pub fn inner(f: &Functional<'_>, reals: &Reals) -> Vec<String> {
    let mut out = Vec::new();
    for (_, value) in &reals.pairs {
        let Some(key) = f.store.key(*value) else { continue };
        let view = f.view(key.side);
        let more = |n: &NodeId| view.kind(*n) != NodeKind::Output;
        if view.users_in_order(key.place.node).iter().any(more) {
            out.push(view.name(key.place.node).to_string());
        }
    }
    out
}

/// Returns the first node, of either graph, to which a value that is only equal over the reals is more than a real number.
pub fn is_carried(f: &mut Functional<'_>, reals: &Reals) -> Result<(), String> {
    let mut classes: FxHashSet<ValueId> = FxHashSet::default();
    for value in reals.pairs.iter().flat_map(|(a, b)| [*a, *b]) {
        if f.store.key(value).is_none_or(|k| k.stamp != Stamp::Birth || k.aspect != Aspect::Value) {
            return Err("a value that is no node's own".into());
        }
        classes.insert(f.store.find(value));
    }
    for side in [Side::Before, Side::After].into_iter().filter(|_| !classes.is_empty()) {
        let view = f.view(side);
        let mut open: Vec<NodeId> = Vec::new();
        let mut next = view.first(BodyId::ROOT);
        while let Some(node) = next {
            next = view.next(node);
            for place in places_of(view, node) {
                let value = f.outcome(side, place);
                if classes.contains(&f.store.find(value)) {
                    open.push(node);
                }
            }
        }
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(node) = open.pop() {
            if !view.contains(node) || !seen.insert(node) {
                continue;
            }
            if !takes_reals(f, side, node) {
                return Err(view.name(node).to_string());
            }
            open.extend(view.users_in_order(node));
            for place in f.side(side).storages.written_by(node) {
                for carrier in f.side(side).storages.carriers(place) {
                    open.extend(view.users_in_order(carrier));
                }
            }
        }
    }
    Ok(())
}

fn takes_reals(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    match view.kind(node) {
        NodeKind::Output | NodeKind::Placeholder | NodeKind::GetAttr => return true,
        NodeKind::Call => {}
    }
    if crate::analysis::getitem_of(view, node).is_some() {
        return is_real(f, view.ty(node));
    }
    let Some(operator) = f.registry.operator_of(view, node) else { return false };
    let Some(bound) = bind(operator, view, node) else { return false };
    let given = |i: usize| *bound.get(i) != Arg::None;
    let acts = draws(operator, &bound) || (0..bound.args.len()).any(|i| given(i) && writes(operator, &bound, i));
    let sees_bits = view.args(node).iter().any(|a| matches!(a, Arg::Dtype(_))) && operator.facts.step.is_some();
    let takes_bodies = view.args(node).iter().any(|a| a.nodes().any(|n| matches!(view.ty(n), ValueType::Body(_))));
    // What raises for contents may raise for what rounding makes of them.
    let shown = crate::verify::effects::fits::surely_holds(f, side, node);
    let by_integers = operator.facts.within.is_some() || operator.facts.reaches.is_some();
    let holds = operator.facts.total != Total::Never || operator.facts.step.is_some() || by_integers || shown;
    holds
        && operator.effects.side.is_none()
        && !operator.effects.opaque
        && !acts
        && !operator.facts.discrete
        && !sees_bits
        && !takes_bodies
        && is_real(f, view.ty(node))
}

fn is_real(f: &mut Functional<'_>, ty: &ValueType) -> bool {
    let mut one = |t: &ValueType| match t {
        ValueType::Tensor(t) => t.dtype.is_float() && t.sizes.iter().all(|d| f.sizes.is_settled(*d)),
        _ => false,
    };
    match ty {
        ValueType::Many(all) => all.iter().all(&mut one),
        other => one(other),
    }
}
