//! Equal over the reals: what rules that hold bit by bit do not show.
//!
//! Four things are asked of two values, of the first as it was and of the second as it is: that they are equal over a field; that no NaN that
//! reaches the first is hidden from the second; that both are defined wherever inputs lie in the working range; that the bound of the second's
//! rounding is at most 16 times that of the first, and 64 units.
//!
//! Promises: (1) values of which nothing more is known are free: each lies in the same boxes as inputs do, which is assumed of those that are no
//! inputs, and only in graphs that name no infinite number; (2) what is shown is not bit by bit, so that nothing downstream may ask more
//! than real numbers: no step, no write, no effect, nothing that decides a size ([`is_carried`]). The sampled test is made elsewhere (`differ`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::call::{draws, writes};
use crate::analysis::{Stamp, places_of};
use crate::formats::text::domain::Domain;
use crate::graph::{Arg, BodyId, Dtype, NodeId, NodeKind, ValueType};
use crate::ops::Total;
use crate::rules::element::arena::{Elements, ExprId, Form, Op, Source, SourceId};
use crate::rules::field::Field;
use crate::rules::meaning::{Array, Meant, Speaker};
use crate::rules::rounding::{self, Interval, unit};
use crate::sym::Dim;
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
    /// Whether the graphs name an infinite number, once that was looked up.
    infinite: Option<bool>,
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
    let (Meant::One(x), Meant::One(y)) = (l.meant(a)?, l.meant(b)?) else { return None };
    let plain = matches!(x.dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    let few = x.sizes.iter().all(|d| d.fixed().is_some_and(|n| n > 0));
    if !plain || !few || x.dtype != y.dtype || x.sizes != y.sizes {
        return None;
    }
    // What is compared with an infinite number is finite: that is asked for, too.
    let mut finite = Vec::new();
    let (x, y) = (
        Array { expr: without_infinities(&mut l.speaker.e, x.expr, &mut finite)?, ..x },
        Array { expr: without_infinities(&mut l.speaker.e, y.expr, &mut finite)?, ..y },
    );
    if !Field::equal(&mut l.speaker.e, x.dtype, x.expr, y.expr)? {
        return Some(false);
    }
    let free = free_values(l, &[x.expr, y.expr])?;
    if !free.is_empty() && *reals.infinite.get_or_insert_with(|| names_infinity(l.f)) {
        return None;
    }
    let bounded = is_bounded(l, &x, &y, &finite)?;
    if bounded {
        reals.assumed.extend(free);
    }
    Some(bounded)
}

/// Returns the names of values that are free and no inputs.
fn free_values(l: &mut Lowering<'_, '_>, roots: &[ExprId]) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for (_, source) in sources(&l.speaker.e, roots) {
        match source {
            Source::Value(id) => {
                let key = l.f.store.key(id)?;
                let view = l.f.view(key.side);
                if !matches!(view.kind(key.place.node), NodeKind::Placeholder | NodeKind::GetAttr) {
                    out.push(view.name(key.place.node).to_string());
                }
            }
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

/// Whether an argument of either graph is a number that is not finite, or so large that a sum may leave its dtype.
fn names_infinity(f: &Functional<'_>) -> bool {
    let large = |a: &Arg| match a {
        Arg::Float(v) => !v.is_finite() || v.abs() > 1e30,
        _ => false,
    };
    [Side::Before, Side::After].into_iter().any(|side| {
        let view = f.view(side);
        let mut next = view.first(BodyId::ROOT);
        while let Some(node) = next {
            next = view.next(node);
            let mut open: Vec<&Arg> = view.args(node).iter().chain(view.kwargs(node).iter().map(|(_, a)| a)).collect();
            while let Some(arg) = open.pop() {
                if large(arg) {
                    return true;
                }
                open.extend(arg.items().unwrap_or_default());
            }
        }
        false
    })
}

/// Whether the bound of the second is small enough on every box.
fn is_bounded(l: &mut Lowering<'_, '_>, x: &Array, y: &Array, finite: &[ExprId]) -> Option<bool> {
    let all = sources(&l.speaker.e, &[x.expr, y.expr]);
    let mut stated: FxHashMap<SourceId, Domain> = FxHashMap::default();
    for (id, source) in all {
        if let Source::Value(value) = source {
            stated.extend(l.f.domain_of(value).map(|d| (id, d.clone())));
        }
    }
    let sizes: Vec<i64> = x.sizes.iter().map(|d| d.fixed()).collect::<Option<_>>()?;
    let e = &mut l.speaker.e;
    let half = [x.expr, y.expr].into_iter().flat_map(|r| e.below(r)).any(|id| e.dtype(id) == Some(Dtype::F16));
    let far = if half { 5 } else { 10 };
    let near = [-14, -10, -6, -2, 2, 6, 10].into_iter().filter(|k| *k < far).chain([far]).map(|k| (0.0, k));
    let centre = 2.0_f64.powi(far);
    let away = [2, 6, 10].into_iter().filter(|k| *k < far).chain([far]).flat_map(|k| [(centre, k), (-centre, k)]);
    for (centre, k) in near.chain(away) {
        let width = 2.0_f64.powi(k);
        let sources = |source: Option<SourceId>, dtype: Dtype| {
            let around = Interval::new(centre - width, centre + width)?;
            let domain = source.and_then(|s| stated.get(&s)).unwrap_or(&Domain::Any);
            inside(domain, around).filter(|_| dtype.is_float() || dtype == Dtype::Bool)
        };
        for root in finite {
            rounding::range(e, *root, &sources)?;
        }
        let (a, _) = rounding::bound(e, x.expr, &sources)?;
        let (b, _) = rounding::bound(e, y.expr, &sources)?;
        let reached = if b > 16.0 * a { rounding::largest(e, x.expr, &sources, &sizes) } else { 0.0 };
        if b > 16.0 * a + 64.0 * unit(x.dtype) * reached {
            return Some(false);
        }
    }
    Some(true)
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

fn takes_reals(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    match view.kind(node) {
        NodeKind::Output | NodeKind::Placeholder | NodeKind::GetAttr => return true,
        NodeKind::Call => {}
    }
    if crate::analysis::getitem_of(view, node).is_some() {
        return is_real(view.ty(node));
    }
    let Some(operator) = f.registry.operator_of(view, node) else { return false };
    let Some(bound) = bind(operator, view, node) else { return false };
    let given = |i: usize| *bound.get(i) != Arg::None;
    let acts = draws(operator, &bound) || (0..bound.args.len()).any(|i| given(i) && writes(operator, &bound, i));
    let sees_bits = view.args(node).iter().any(|a| matches!(a, Arg::Dtype(_))) && operator.facts.step.is_some();
    let takes_bodies = view.args(node).iter().any(|a| a.nodes().any(|n| matches!(view.ty(n), ValueType::Body(_))));
    // What raises for contents may raise for what rounding makes of them.
    let by_integers = operator.facts.within.is_some() || operator.facts.reaches.is_some();
    let holds = operator.facts.total != Total::Never || operator.facts.step.is_some() || by_integers;
    holds
        && operator.effects.side.is_none()
        && !operator.effects.opaque
        && !acts
        && !operator.facts.discrete
        && !sees_bits
        && !takes_bodies
        && is_real(view.ty(node))
}

fn is_real(ty: &ValueType) -> bool {
    match ty {
        ValueType::Tensor(t) => t.dtype.is_float() && t.sizes.iter().all(|d| matches!(d, Dim::Fixed(_))),
        ValueType::Many(all) => all.iter().all(|t| matches!(t, ValueType::Tensor(t) if t.dtype.is_float())),
        _ => false,
    }
}
