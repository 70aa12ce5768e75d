//! Whether what is equal over the reals only decides where a function is defined.
//!
//! Promises: a divisor, and what a root, a logarithm or a power is taken of, that a rounding may take to another side of where the function ends is none that only real numbers are known of: near there one graph
//! gives a number and the other none. It may be where both graphs' values surely lie apart from there, whatever is rounded, or are 0 in the same places ([`BesideZero`]). Functions that no table knows are defined everywhere here: the runs look at them.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::{getitem_of, places_of};
use crate::graph::{Arg, BodyId, NodeId, NodeKind};
use crate::ops::{Bound, Operator};
use crate::rules::element::arena::{Elements, ExprId, Form, Op, Source, SourceId};
use crate::rules::field::BesideZero;
use crate::rules::meaning::{Meant, Speaker};
use crate::rules::rounding::unit;
use crate::rules::table::{
    Edge, Meaning, Real, edge_of, is_corrected, is_defined_everywhere, is_sampler, meaning, norm_power, real,
    threshold_of,
};
use crate::term::store::ValueId;
use crate::term::term::{Form as TermForm, Side, Term};
use crate::verify::functional::values::{Functional, bind};
use crate::verify::functional::views::axis;
use crate::verify::prove::carried::{self, computes};
use crate::verify::prove::endless::Endless;
use crate::verify::prove::real::Reals;
use crate::verify::prove::region::{Ends, region};
use crate::verify::prove::speak::Lowering;

/// How many terms are looked into to see where a value lies: most is said by a few.
pub(super) const TERMS: [usize; 2] = [8, 64];

/// The least power that is no steeper beside 0 than a root.
const ROOT: f64 = 0.5;

/// What is known of values that are equal over the reals only, by class.
pub type Known = FxHashMap<ValueId, BesideZero>;

/// Returns the first node, of either graph, that a value that is equal over the reals only may leave undefined in one of them.
pub fn are_not_crossed(f: &mut Functional<'_>, reals: &Reals) -> Result<(), String> {
    let known = known(f, reals);
    for side in [Side::Before, Side::After].into_iter().filter(|_| !known.is_empty()) {
        let holders = carried::holders(f, side, reals)?;
        is_not_crossed(f, side, &known, &holders)?;
    }
    Ok(())
}

/// Returns what is known of all classes of values that are equal over the reals only.
fn known(f: &mut Functional<'_>, reals: &Reals) -> Known {
    let mut known = Known::default();
    for ((a, b), beside) in reals.pairs.iter().zip(&reals.beside_zero) {
        for value in [a, b] {
            let all = known.entry(f.store.find(*value)).or_insert(*beside);
            *all = all.and(*beside);
        }
    }
    known
}

/// Returns the first node of one graph that values of these classes, or of these nodes, may leave undefined.
pub fn is_not_crossed(f: &mut Functional<'_>, side: Side, known: &Known, also: &[NodeId]) -> Result<(), String> {
    let view = f.view(side);
    let mut endless = Endless::default();
    let also: FxHashSet<NodeId> = also.iter().copied().collect();
    let mut reached: FxHashMap<NodeId, BesideZero> = FxHashMap::default();
    for node in view.nodes(BodyId::ROOT) {
        if also.contains(&node) {
            reached.insert(node, BesideZero::default());
        }
        // Inputs are what they are.
        if view.kind(node) != NodeKind::Call {
            continue;
        }
        let mut operands: Vec<(NodeId, BesideZero)> =
            view.operands(node).filter_map(|n| reached.get(&n).map(|beside| (n, *beside))).collect();
        // Of memory more may be known as it is read.
        for (operand, beside) in &mut operands {
            let value = f.read(side, *operand, node);
            *beside = known.get(&f.store.find(value)).copied().unwrap_or(*beside);
        }
        for (operand, beside) in &operands {
            if let Some(edge) = edge(f, side, node, *operand)
                && !stays_off(*beside, edge)
                && !is_apart(f, known, (side, *operand, node), edge)
            {
                return Err(view.name(node).to_string());
            }
        }
        let nodes: Vec<NodeId> = operands.iter().map(|(n, _)| *n).collect();
        if endless.is_met(f, (side, node), &nodes) {
            return Err(view.name(node).to_string());
        }
        if !operands.iter().all(|(_, beside)| beside.signed) && !stays_off_within(f, (side, node), &operands) {
            return Err(view.name(node).to_string());
        }
        let follows = follows(f, side, node);
        let alike = operands.iter().all(|(_, beside)| beside.alike) && follows;
        let signed = operands.iter().all(|(_, beside)| beside.signed) && follows;
        let mut own = (!operands.is_empty()).then_some(BesideZero { alike, signed, ..BesideZero::default() });
        for place in places_of(view, node) {
            let value = f.outcome(side, place);
            own = known.get(&f.store.find(value)).copied().or(own);
        }
        if also.contains(&node) {
            own = Some(BesideZero::default());
        }
        for carrier in if own.is_some() { carried::written_carriers(f, side, node)? } else { Vec::new() } {
            reached.insert(carrier, BesideZero::default());
            endless.lies_in(node, carrier);
        }
        reached.extend(own.map(|beside| (node, beside)));
    }
    Ok(())
}

/// Whether values lie so beside 0 that both graphs, or none, are where a function ends.
fn stays_off(beside: BesideZero, edge: Edge) -> bool {
    match edge {
        Edge::Zero => beside.apart || beside.signed,
        Edge::Positive => beside.apart && beside.never_negative || beside.signed,
        Edge::Negative => beside.never_negative || beside.alike,
        Edge::AboveMinusOne => beside.never_negative,
        Edge::Elsewhere => false,
    }
}

/// Returns where what a node computes of an operand ends, if it does.
#[allow(clippy::cast_precision_loss)]
fn edge(f: &Functional<'_>, side: Side, node: NodeId, operand: NodeId) -> Option<Edge> {
    let view = f.view(side);
    let operator = computes(f, side, node).filter(|_| view.kind(node) == NodeKind::Call)?;
    // What writes its result by another name is not looked into.
    let Some(bound) = bind(operator, view, node) else { return Some(Edge::Elsewhere) };
    let is = |k: usize| bound.get(k).nodes().any(|n| n == operand);
    let power = |k: usize| match bound.get(k) {
        Arg::Int(v) => Some(*v as f64),
        Arg::Float(v) => Some(*v),
        _ => None,
    };
    match meaning(&operator.target) {
        Some(Meaning::Power) => match power(1) {
            Some(v) if v >= 0.0 && v.fract() == 0.0 => None,
            // What is steeper than a root takes what a rounding left of 0 to what is none.
            Some(v) if v >= ROOT => Some(Edge::Negative),
            Some(v) if v < 0.0 && v.fract() == 0.0 => Some(Edge::Zero),
            _ => Some(Edge::Positive),
        },
        Some(Meaning::PowerOf) => power(0).is_none_or(|v| v <= 0.0).then_some(Edge::Elsewhere),
        // A place that is NaN is some place to it, and of the nearest elements there is one.
        _ if is_sampler(&operator.target) => is(1).then_some(Edge::Elsewhere),
        _ if norm_power(&operator.target).is_some_and(|k| *bound.get(k) != Arg::None) => {
            let counts = norm_power(&operator.target).and_then(power).is_none_or(|v| v < ROOT);
            counts.then_some(Edge::Elsewhere)
        }
        _ if let Some((x, at)) = threshold_of(&operator.target) => {
            let leaps = |t: f64| view.ty(node).as_tensor().is_none_or(|ty| (-t).exp() > unit(ty.dtype));
            (is(x) && power(at).is_none_or(leaps)).then_some(Edge::Elsewhere)
        }
        _ if is_corrected(&operator.target) => (!is_left_over(f, side, operator, &bound)).then_some(Edge::Elsewhere),
        _ => (0..bound.args.len()).filter(|k| is(*k)).find_map(|k| edge_of(&operator.target, k)),
    }
}

/// Whether elements are left to divide by, once the correction of a variance is taken off.
#[allow(clippy::cast_precision_loss)]
fn is_left_over(f: &Functional<'_>, side: Side, operator: &Operator, bound: &Bound<'_>) -> bool {
    let view = f.view(side);
    let given = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    let correction = match given("correction") {
        None | Some(Arg::None) => 1.0,
        Some(Arg::Int(v)) => *v as f64,
        Some(Arg::Float(v)) => *v,
        Some(_) => return false,
    };
    // Of one element the sum of squares is 0 however it was rounded.
    if correction <= 1.0 {
        return true;
    }
    let Some(t) = bound.args.first().and_then(|a| a.as_node()).and_then(|n| view.ty(n).as_tensor()) else {
        return false;
    };
    let dims = match given("dim").and_then(|a| a.items()) {
        Some(items) if !items.is_empty() => items.iter().map(|d| axis(d, t.rank())).collect::<Option<Vec<_>>>(),
        _ => Some((0..t.rank()).collect()),
    };
    let sizes = dims.and_then(|dims| dims.into_iter().map(|d| t.sizes.get(d)?.fixed()).collect::<Option<Vec<i64>>>());
    sizes.is_some_and(|all| all.iter().product::<i64>() as f64 > correction)
}

/// Whether what a node's definition divides by, or takes a root or a logarithm of, stays off where that ends, of whatever operands: where the definition is understood.
fn stays_off_within(f: &mut Functional<'_>, (side, node): (Side, NodeId), operands: &[(NodeId, BesideZero)]) -> bool {
    let view = f.view(side);
    let is_defined = computes(f, side, node).is_some_and(|o| {
        !is_defined_everywhere(&o.target)
            && meaning(&o.target).is_none()
            && real(&o.target).is_none()
            && o.facts.step.is_none()
            && o.facts.same_as.is_none()
    });
    let mut known = Known::default();
    for (operand, beside) in operands.iter().filter(|_| is_defined) {
        let value = f.read(side, *operand, node);
        known.insert(f.store.find(value), *beside);
    }
    let places = if is_defined { places_of(view, node) } else { SmallVec::new() };
    places.into_iter().all(|place| {
        let value = f.outcome(side, place);
        edges_within(f, &known, value) != Some(false)
    })
}

/// Whether all edges in the definition of a value, its operands standing for themselves, are stayed off from.
fn edges_within(f: &mut Functional<'_>, known: &Known, value: ValueId) -> Option<bool> {
    let mut terms = FxHashMap::default();
    let mut at = f.store.find(value);
    loop {
        let term = f.term(at)?;
        let whole = matches!(*term.form, TermForm::Item(_)).then(|| term.children.first().copied()).flatten();
        terms.insert(at, term);
        match whole {
            Some(whole) => at = f.store.find(whole),
            None => break,
        }
    }
    let mut l = lowering(f, terms);
    let Meant::One(x) = l.meant(value)? else { return None };
    state_leaves(&mut l, known, x.expr);
    let mut follows: FxHashSet<ExprId> = FxHashSet::default();
    for id in l.speaker.e.below(x.expr) {
        let expr = l.speaker.e.expr(id)?.clone();
        let own = match &expr.form {
            Form::Load(source, _) => is_one_of(&mut l, known, *source),
            _ => false,
        };
        if own || expr.kids.iter().any(|k| follows.contains(k)) {
            follows.insert(id);
        }
        let (edge, of) = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [_, of]) if expr.dtype.is_float() => (Edge::Zero, *of),
            (Form::Named(target, _), [of, ..]) => match edge_of(target, 0) {
                Some(edge) => (edge, *of),
                None => continue,
            },
            _ => continue,
        };
        if follows.contains(&of) && !stays_off(lies_as(&mut l.speaker.e, of)?, edge) {
            return Some(false);
        }
    }
    Some(true)
}

fn is_one_of(l: &mut Lowering<'_, '_>, known: &Known, source: SourceId) -> bool {
    match l.speaker.e.source_of(source) {
        Some(Source::Value(value)) => {
            let value = *value;
            known.contains_key(&l.f.store.find(value))
        }
        _ => false,
    }
}

fn lies_as(e: &mut Elements, root: ExprId) -> Option<BesideZero> {
    let apart = e.is_apart_from_zero(root)?;
    Some(BesideZero { apart, never_negative: e.is_never_negative(root)?, ..BesideZero::default() })
}

pub(super) fn lowering<'l, 'f>(f: &'l mut Functional<'f>, terms: FxHashMap<ValueId, Term>) -> Lowering<'l, 'f> {
    let (bound, symbols) = (f.sizes.settled_names(), f.sizes.symbols().clone());
    let speaker = Speaker::new(f.registry, Elements::new(symbols, bound, f.budget.work), true);
    let names: FxHashMap<_, _> = f.store.targets().map(|(c, t)| (c, t.to_string())).collect();
    Lowering { f, terms, names, speaker, meant: FxHashMap::default() }
}

/// Whether every element of an operand, made of values of which no more is known than where they lie beside 0, is apart from where a function of a reader ends.
fn is_apart(f: &mut Functional<'_>, known: &Known, (side, node, reader): (Side, NodeId, NodeId), edge: Edge) -> bool {
    let value = f.read(side, node, reader);
    let is_made_of_others = !f.store.is_near(value);
    is_made_of_others
        && TERMS
            .into_iter()
            .any(|most| lies_within(f, known, value, most).is_some_and(|beside| stays_off(beside, edge)))
}

/// Returns where every element of a value lies beside 0, whatever is rounded: classes of what is equal over the reals only are not looked into.
pub(super) fn lies(f: &mut Functional<'_>, value: ValueId) -> Option<BesideZero> {
    let [_, most] = TERMS;
    lies_within(f, &Known::default(), value, most)
}

fn lies_within(f: &mut Functional<'_>, known: &Known, value: ValueId, most: usize) -> Option<BesideZero> {
    looked_into(f, value, most, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        state_leaves(l, known, x.expr);
        lies_as(&mut l.speaker.e, x.expr)
    })
}

/// Looks at a value down to so many terms; classes of what is equal over the reals only stand for themselves.
pub(super) fn looked_into<R>(
    f: &mut Functional<'_>,
    value: ValueId,
    most: usize,
    look: impl FnOnce(&mut Lowering<'_, '_>) -> Option<R>,
) -> Option<R> {
    looked_into_as(f, value, most, false, look)
}

/// The same; `itself`: of such a class itself, what one of both graphs makes it of.
pub(super) fn looked_into_as<R>(
    f: &mut Functional<'_>,
    value: ValueId,
    most: usize,
    itself: bool,
    look: impl FnOnce(&mut Lowering<'_, '_>) -> Option<R>,
) -> Option<R> {
    let value = f.store.find(value);
    let mut terms = region(f, value, value, f.budget.region.min(most), Ends::Nowhere).terms;
    terms.retain(|class, _| itself && *class == value || !f.store.is_near(*class));
    let mut l = lowering(f, terms);
    let found = look(&mut l)?;
    let defined = std::mem::take(&mut l.speaker.e.defined);
    l.f.defined.extend(defined);
    Some(found)
}

/// Says of what stands for itself what is known of both graphs' values of it.
fn state_leaves(l: &mut Lowering<'_, '_>, known: &Known, root: ExprId) {
    for id in l.speaker.e.below(root) {
        let Some(Form::Load(source, _)) = l.speaker.e.expr(id).map(|x| x.form.clone()) else { continue };
        let Some(Source::Value(value)) = l.speaker.e.source_of(source).cloned() else { continue };
        if known.get(&l.f.store.find(value)).is_some_and(|beside| beside.never_negative) {
            l.speaker.e.is_number_between(source, 0.0, f64::INFINITY);
        }
    }
}

/// Whether what a node gives is 0 where its operands are, and on the side of 0 where they are.
fn follows(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    if getitem_of(view, node).is_some() {
        return true;
    }
    let Some(operator) = computes(f, side, node) else { return false };
    let moves = operator.facts.step.is_some() || operator.facts.same_as.is_some();
    moves
        || matches!(real(&operator.target), Some(Real::Sqrt | Real::Relu))
        || matches!(meaning(&operator.target), Some(Meaning::Unary(Op::Neg | Op::Abs)))
}
