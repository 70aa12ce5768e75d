//! Whether what is equal over the reals only meets what may be infinite, or is divided by what may vanish.
//!
//! Promises: a number that a rounding may take to 0 is multiplied by none that may be infinite, or that the graph names and that is large, and divided by none
//! that may be 0: the one graph would give NaN, the other an infinite number. Numbers are taken to be neither in so few places that nobody meets them (a sum of products of inputs, of which no more
//! is known, is 0 almost nowhere); they may be both wherever a bound, a choice, a truth or an integer makes them so, or the graph or its inputs state it. An
//! operator that nobody knows multiplies.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Stamp, getitem_of, place_of};
use crate::formats::text::domain::Domain;
use crate::graph::{Arg, Dtype, NodeId, NodeKind, ValueType};
use crate::ops::{Bound, Operator};
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, Source, SourceId};
use crate::rules::field::{LARGE, POWERS, WORKING};
use crate::rules::meaning::Meant;
use crate::rules::rounding::{APART, Reach, greatest};
use crate::rules::table::{
    Edge, Meaning, Real, edge_of, grows, is_never_infinite, is_within_softmax, meaning, multipliers, norm_power, real,
};
use crate::sym::Dim;
use crate::term::store::ValueId;
use crate::term::term::{self, Side};
use crate::verify::functional::values::{Functional, bind};
use crate::verify::prove::carried;
use crate::verify::prove::poles;
use crate::verify::prove::real;
use crate::verify::prove::speak::Lowering;

/// The greatest power of a norm that stays within its dtype in the working range.
const STEEP: i64 = 8;
const STEEP_NUMBER: f64 = 8.0;
/// How many nodes are looked at to find what may be infinite; beyond that everything may.
const NODES: usize = 4096;

/// How many terms are looked into to see how far a value reaches, one after another.
const WITHIN: [usize; 4] = [64, 32, 20, 12];
/// How often what a value is made of is looked into anew.
const DEEP: usize = 16;

/// What may be infinite, as far as it was asked for.
#[derive(Default)]
pub struct Endless {
    /// By what either graph names.
    named: Option<FxHashSet<(bool, NodeId)>>,
    known: FxHashMap<(bool, NodeId), bool>,
    vanishes: FxHashMap<ValueId, bool>,
    grows: FxHashMap<ValueId, bool>,
    powers: FxHashMap<ValueId, f64>,
    /// By how many powers of two numbers that the graph names made what a node gives larger.
    larger: FxHashMap<NodeId, f64>,
}

impl Endless {
    /// Whether some operands of a node, of which one graph's may be 0 alone, are multiplied by what may be infinite or divided by what may be 0.
    pub fn is_met(&mut self, f: &mut Functional<'_>, (side, node): (Side, NodeId), near: &[NodeId]) -> bool {
        let view = f.view(side);
        let Some(operator) = carried::computes(f, side, node).filter(|_| !near.is_empty()) else { return false };
        let before = near.iter().filter_map(|n| self.larger.get(n)).fold(0.0, |most: f64, own| most.max(*own));
        if getitem_of(view, node).is_some() || gives_no_float(view.ty(node)) {
            self.larger.insert(node, before);
            return false;
        }
        let target = &operator.target;
        let Some(bound) = bind(operator, view, node) else { return true };
        let weight = operator.schema.param_index("alpha").map(|k| bound.get(k));
        if weight.is_some_and(is_large_number) {
            return true;
        }
        let larger = before + named_factor(operator, &bound) + self.constant_factors(f, (side, node), operator, near);
        self.larger.insert(node, larger);
        if larger > POWERS {
            return true;
        }
        if adds_or_moves(operator) {
            return false;
        }
        let multiplies = matches!(meaning(target), Some(Meaning::Binary(Op::Mul)));
        let chooses = matches!(meaning(target), Some(Meaning::Where | Meaning::Clamp | Meaning::Bound(_)));
        let divisor = (1..bound.args.len()).find(|k| edge_of(target, *k) == Some(Edge::Zero));
        for (k, param) in operator.schema.params.iter().enumerate() {
            let arg = bound.get(k).clone();
            let others = || arg.nodes().filter(|other| near != [*other]).collect::<Vec<_>>();
            let met = if is_within_softmax(target, &param.name) {
                false
            } else if divisor == Some(k) {
                is_tiny(&arg) || others().into_iter().any(|other| self.may_vanish(f, side, (other, node), Edge::Zero))
            } else {
                is_large(&arg)
                    || multiplies && is_large_number(&arg)
                    || others()
                        .into_iter()
                        .any(|other| self.may_be(f, side, other) || !chooses && self.may_grow(f, side, (other, node)))
            };
            if met {
                return true;
            }
        }
        false
    }

    /// Says that what a node gives lies in the memory of another, too.
    pub fn lies_in(&mut self, node: NodeId, carrier: NodeId) {
        let own = self.larger.get(&node).copied().unwrap_or(0.0);
        let all = self.larger.entry(carrier).or_insert(own);
        *all = all.max(own);
    }

    /// By how many powers of two tensors that are one number make larger what they multiply, or divide.
    fn constant_factors(
        &mut self,
        f: &mut Functional<'_>,
        (side, node): (Side, NodeId),
        operator: &Operator,
        near: &[NodeId],
    ) -> f64 {
        let divides = match meaning(&operator.target) {
            Some(Meaning::Binary(Op::Mul)) => false,
            Some(Meaning::Binary(Op::Div)) => true,
            _ => return 0.0,
        };
        let others: Vec<NodeId> = f.view(side).operands(node).filter(|n| !near.contains(n)).collect();
        let by: f64 = others.into_iter().map(|other| self.powers_of(f, side, (other, node))).sum();
        if divides { -by } else { by }
    }

    /// How many powers of two a tensor is that is one number; 0 of any other.
    fn powers_of(&mut self, f: &mut Functional<'_>, side: Side, (operand, reader): (NodeId, NodeId)) -> f64 {
        let value = f.read(side, operand, reader);
        let key = f.store.find(value);
        if let Some(known) = self.powers.get(&key) {
            return *known;
        }
        let [few, _] = poles::TERMS;
        let found = poles::looked_into(f, value, few, |l| {
            let Meant::One(x) = l.meant(value)? else { return None };
            l.speaker.e.float(x.expr).filter(|v| v.is_finite() && *v != 0.0).map(|v| v.abs().log2())
        });
        let found = found.unwrap_or(0.0);
        self.powers.insert(key, found);
        found
    }

    /// Whether a node's value may be infinite: it is made of what may be, or of what is written there.
    fn may_be(&mut self, f: &mut Functional<'_>, side: Side, root: NodeId) -> bool {
        let before = side == Side::Before;
        let (mut open, mut seen) = (vec![root], FxHashSet::default());
        while let Some(node) = open.pop() {
            let known = self.known.get(&(before, node)).copied();
            if known == Some(false) || is_finite(f, side, node) || !seen.insert(node) {
                continue;
            }
            if known == Some(true) || seen.len() > NODES || self.is_source(f, side, node) {
                self.known.insert((before, root), true);
                return true;
            }
            open.extend(makers(f, side, node));
        }
        self.known.extend(seen.into_iter().map(|node| ((before, node), false)));
        false
    }

    /// Whether a graph names an infinite number there, or a function is asked where it ends.
    fn is_source(&mut self, f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
        if self.named.get_or_insert_with(|| real::infinite(f)).contains(&(side == Side::Before, node)) {
            return true;
        }
        let view = f.view(side);
        let Some(operator) = carried::computes(f, side, node).filter(|_| view.kind(node) == NodeKind::Call) else {
            return view.kind(node) == NodeKind::Call && getitem_of(view, node).is_none();
        };
        let Some(bound) = bind(operator, view, node) else { return true };
        let steep = |k: usize| match bound.get(k) {
            Arg::Int(v) => *v > STEEP,
            Arg::Float(v) => *v > STEEP_NUMBER && v.is_finite(),
            _ => false,
        };
        if grows(&operator.target) || norm_power(&operator.target).is_some_and(steep) {
            return true;
        }
        (0..bound.args.len()).any(|k| {
            let edge = edge_of(&operator.target, k);
            let operands: Vec<NodeId> = bound.get(k).nodes().collect();
            edge.is_some_and(|edge| operands.into_iter().any(|n| self.may_vanish(f, side, (n, node), edge)))
        })
    }

    /// Whether an operand is infinite over a whole part of the working range, or a number that the graph names and that is large.
    fn may_grow(&mut self, f: &mut Functional<'_>, side: Side, (operand, reader): (NodeId, NodeId)) -> bool {
        let value = f.read(side, operand, reader);
        let key = f.store.find(value);
        if let Some(known) = self.grows.get(&key) {
            return *known;
        }
        let found = grows_beyond(f, value).unwrap_or(false);
        self.grows.insert(key, found);
        found
    }

    /// Whether an operand may lie where a reader's function ends in more than few places.
    fn may_vanish(
        &mut self,
        f: &mut Functional<'_>,
        side: Side,
        (operand, reader): (NodeId, NodeId),
        edge: Edge,
    ) -> bool {
        if !matches!(edge, Edge::Zero | Edge::Positive) {
            return false;
        }
        // A size of at least 1 is no 0.
        if let ValueType::SymInt(size) = f.view(side).ty(operand)
            && f.sizes.is_settled(*size)
            && f.sizes.at_most(Dim::Fixed(1), *size)
        {
            return false;
        }
        let value = f.read(side, operand, reader);
        let key = f.store.find(value);
        if let Some(known) = self.vanishes.get(&key) {
            return *known;
        }
        let found = vanishes_beyond(f, value).unwrap_or(true);
        self.vanishes.insert(key, found);
        found
    }
}

/// Whether a value is infinite over a whole part of the working range, or a number that the graph names and that is large.
pub(super) fn grows_beyond(f: &mut Functional<'_>, value: ValueId) -> Option<bool> {
    let [_, most] = poles::TERMS;
    poles::looked_into(f, value, most, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        let e = &mut l.speaker.e;
        e.lies_in_working_range(x.expr);
        Some(e.float(x.expr).is_some_and(|v| v.abs() > LARGE) || e.grows_beyond(x.expr)?)
    })
}

/// Between which numbers a value lies that is surely on one side of 0, whatever it is made of.
pub(super) fn ends_apart(f: &mut Functional<'_>, value: ValueId) -> Option<(f64, f64)> {
    let [few, _] = poles::TERMS;
    poles::looked_into(f, value, few, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        l.speaker.e.ends_apart_from_zero(x.expr)
    })
}

/// Whether a value surely lies in the working range, where inputs do.
pub(super) fn is_usual(f: &mut Functional<'_>, value: ValueId) -> bool {
    let [_, most] = poles::TERMS;
    let found = poles::looked_into(f, value, most, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        let class = l.f.store.find(value);
        let below = l.speaker.e.below(x.expr);
        if stands_for_itself(l, x.expr, class) || !beyond_of(l, &below, None, &mut Reaches::default(), DEEP).is_empty()
        {
            return None;
        }
        l.speaker.e.lies_in_working_range(x.expr);
        l.speaker.e.is_within_working_range(x.expr)
    });
    found == Some(true)
}

/// How far values reach that may be beyond the working range, as far as it was asked.
pub(in crate::verify) type Reaches = FxHashMap<ValueId, Option<Reach>>;

/// How far a value reaches, where inputs lie in the working range, and what it is made of where no more is known of that; `None` where that is not beyond.
pub(in crate::verify) fn reach(f: &mut Functional<'_>, value: ValueId, known: &mut Reaches) -> Option<Reach> {
    reach_from(f, value, known, DEEP)
}

fn reach_from(f: &mut Functional<'_>, value: ValueId, known: &mut Reaches, depth: usize) -> Option<Reach> {
    let key = f.store.find(value);
    if let Some(found) = known.get(&key) {
        return *found;
    }
    // What stands below itself adds nothing.
    known.insert(key, None);
    let made_by = f.store.key(value).and_then(|k| f.registry.operator_of(f.view(k.side), k.place.node));
    if made_by.is_some_and(|o| is_never_infinite(&o.target)) {
        return None;
    }
    if f.store.is_near(value) && reach_of_call(f, value, known, depth).is_none() {
        return None;
    }
    let mut found = None;
    for most in WITHIN {
        found = reach_within(f, value, known, (most, depth));
        // Where it ends elsewhere, both what is normed and what it is normed by may be looked into.
        if !matches!(found, Some(Some(reach)) if reach.most().is_infinite()) {
            break;
        }
    }
    let found = found.unwrap_or_else(|| reach_of_call(f, value, known, depth));
    known.insert(key, found);
    found
}

/// The same as far as so many terms tell; `None` where these tell nothing.
fn reach_within(
    f: &mut Functional<'_>,
    value: ValueId,
    known: &mut Reaches,
    (most, depth): (usize, usize),
) -> Option<Option<Reach>> {
    let key = f.store.find(value);
    // Both graphs' values of a class leave their dtype together: that was asked when they were shown equal.
    poles::looked_into_as(f, value, most, true, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        let below = l.speaker.e.below(x.expr);
        if stands_for_itself(l, x.expr, key) {
            return None;
        }
        for (source, reach) in beyond_of(l, &below, Some(key), known, depth) {
            l.speaker.e.is_number_between(source, reach.low, reach.high);
        }
        l.speaker.e.lies_in_working_range(x.expr);
        l.speaker.e.reach_of(x.expr)
    })
}

fn stands_for_itself(l: &mut Lowering<'_, '_>, expr: ExprId, class: ValueId) -> bool {
    let Some(Form::Load(source, _)) = l.speaker.e.expr(expr).map(|x| x.form.clone()) else { return false };
    match l.speaker.e.source_of(source).cloned() {
        Some(Source::Value(id)) => l.f.store.find(id) == class,
        _ => false,
    }
}

/// The same of a value that is not looked into: it leaves its dtype where its function ends somewhere, or where its operands do, and is no more than they come to together.
fn reach_of_call(f: &mut Functional<'_>, value: ValueId, known: &mut Reaches, depth: usize) -> Option<Reach> {
    let Some(key) = f.store.key(value) else { return reach_of_moved(f, value, known, depth) };
    let (view, node) = (f.view(key.side), key.place.node);
    let ends = f.registry.operator_of(view, node).is_some_and(|operator| {
        let Some(bound) = bind(operator, view, node) else { return true };
        // What the graph names is a number of which the function is known.
        let is_asked = |k: usize| edge_of(&operator.target, k).is_some() && bound.get(k).nodes().next().is_some();
        grows(&operator.target) || (0..bound.args.len()).any(is_asked)
    });
    if ends {
        return Some(Reach::ANY);
    }
    let depth = depth.checked_sub(1)?;
    let children = f.term(value).map(|term| term.children.to_vec()).unwrap_or_default();
    let within = children.into_iter().filter_map(|child| reach_from(f, child, known, depth)).map(Reach::most);
    let most = within.reduce(|all, one| all * one)?;
    let most = if most > greatest(Dtype::F32) { f64::INFINITY } else { most };
    Some(Reach { low: -most, high: most })
}

/// The same of what no node gives: where it only moves elements, as far as these reach.
fn reach_of_moved(f: &mut Functional<'_>, value: ValueId, known: &mut Reaches, depth: usize) -> Option<Reach> {
    let moves =
        |form: &term::Form| matches!(form, term::Form::View { .. } | term::Form::Scatter { .. } | term::Form::Item(_));
    let Some(term) = f.term(value).filter(|term| moves(&term.form)) else { return Some(Reach::ANY) };
    let Some(depth) = depth.checked_sub(1) else { return Some(Reach::ANY) };
    let all: Vec<Reach> = term.children.iter().filter_map(|child| reach_from(f, *child, known, depth)).collect();
    let most = all.into_iter().map(Reach::most).reduce(f64::max)?;
    Some(Reach { low: -most, high: most })
}

/// The same of what is read in order, if that is it.
pub(super) fn reach_in_order(l: &mut Lowering<'_, '_>, source: SourceId, known: &mut Reaches) -> Option<Option<Reach>> {
    let root = l.speaker.e.in_order(source)?;
    let below = l.speaker.e.below(root);
    let beyond = beyond_of(l, &below, None, known, DEEP);
    l.speaker.e.reach_in_order(source, &beyond)
}

/// Says between which numbers inputs lie; returns what is read that may be beyond the working range.
#[allow(clippy::cast_precision_loss)]
fn beyond_of(
    l: &mut Lowering<'_, '_>,
    below: &[ExprId],
    itself: Option<ValueId>,
    known: &mut Reaches,
    depth: usize,
) -> Vec<(SourceId, Reach)> {
    let mut out = Vec::new();
    for id in below {
        let Some(Form::Load(source, _)) = l.speaker.e.expr(*id).map(|x| x.form.clone()) else { continue };
        let Some(Source::Value(value)) = l.speaker.e.source_of(source).cloned() else {
            out.push((source, Reach::ANY));
            continue;
        };
        if real::made(l, source).is_some() {
            let itself = itself == Some(l.f.store.find(value));
            let reach = match depth.checked_sub(1) {
                Some(depth) if !itself => reach_from(l.f, value, known, depth),
                _ => itself.then_some(Reach::ANY),
            };
            out.extend(reach.map(|reach| (source, reach)));
        } else {
            match l.f.domain_of(value) {
                Some(Domain::Integers { lo, hi, .. }) => {
                    let (lo, hi) = (*lo as f64, *hi as f64);
                    l.speaker.e.is_number_between(source, lo, hi);
                }
                Some(Domain::Positive) => l.speaker.e.is_number_between(source, APART, WORKING),
                _ => {}
            }
        }
    }
    out
}

/// Whether a value may be 0 in more than few places.
pub(super) fn vanishes_beyond(f: &mut Functional<'_>, value: ValueId) -> Option<bool> {
    let [_, most] = poles::TERMS;
    poles::looked_into(f, value, most, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        if l.speaker.e.is_apart_from_zero(x.expr)? || is_integer_apart(&mut l.speaker.e, x.expr) {
            return Some(false);
        }
        for id in l.speaker.e.below(x.expr) {
            let source = match l.speaker.e.expr(id).map(|x| &x.form) {
                Some(Form::Load(source, _)) => l.speaker.e.source_of(*source).cloned(),
                _ => None,
            };
            let stated = match source {
                Some(Source::Value(id)) => l.f.domain_of(id),
                _ => None,
            };
            if stated.is_some_and(holds_zero) || makes_zeros(&l.speaker.e, id) {
                return Some(true);
            }
        }
        let e = &mut l.speaker.e;
        if e.float(x.expr).is_some_and(|v| v.abs() < 1.0 / LARGE) {
            return Some(true);
        }
        e.lies_in_working_range(x.expr);
        e.vanishes_beyond(x.expr)
    })
}

/// By how many powers of two a number that the graph names makes larger what it multiplies, or divides.
#[allow(clippy::cast_precision_loss)]
fn named_factor(operator: &Operator, bound: &Bound<'_>) -> f64 {
    let number = |arg: Option<&&Arg>| match arg {
        Some(Arg::Float(v)) if *v != 0.0 && v.is_finite() => v.abs().log2(),
        Some(Arg::Int(v)) if *v != 0 => (v.unsigned_abs() as f64).log2(),
        _ => 0.0,
    };
    let named = |name: &str| operator.schema.param_index(name).map_or(0.0, |k| number(bound.args.get(k)));
    match meaning(&operator.target) {
        Some(Meaning::Binary(Op::Mul)) => number(bound.args.first()) + number(bound.args.get(1)),
        Some(Meaning::Binary(Op::Div)) => -number(bound.args.get(1)),
        Some(Meaning::Where | Meaning::Clamp | Meaning::Bound(_) | Meaning::Power) => 0.0,
        _ if adds_or_moves(operator) => named("alpha"),
        _ => {
            let each = multipliers(&operator.target).iter().map(|k| (*k, number(bound.args.get(*k))));
            let divides = |k: usize| edge_of(&operator.target, k) == Some(Edge::Zero);
            each.fold(0.0, |sum, (k, v)| sum + (if divides(k) { -v } else { v }).max(0.0))
        }
    }
}

/// Whether an operator adds or moves elements: 0 beside an infinite number makes no NaN.
fn adds_or_moves(operator: &Operator) -> bool {
    let facts = &operator.facts;
    let adds = matches!(
        meaning(&operator.target),
        Some(Meaning::Binary(Op::Add | Op::Sub) | Meaning::Sum(_) | Meaning::Mean | Meaning::Convert | Meaning::Copy)
    );
    adds || facts.moves || facts.step.is_some() || facts.same_as.is_some() || is_never_infinite(&operator.target)
}

/// Returns what a node's value is made of: operands that are more than masks of a softmax, and what writes its memory.
fn makers(f: &mut Functional<'_>, side: Side, node: NodeId) -> Vec<NodeId> {
    let view = f.view(side);
    let mut out: Vec<NodeId> = match f.registry.operator_of(view, node).and_then(|o| Some((o, bind(o, view, node)?))) {
        Some((operator, bound)) => {
            let params = operator.schema.params.iter().enumerate();
            let seen = params.filter(|(_, p)| !is_within_softmax(&operator.target, &p.name));
            seen.flat_map(|(k, _)| bound.get(k).nodes().collect::<Vec<_>>()).collect()
        }
        None => view.operands(node).collect(),
    };
    let written = matches!(view.ty(node), ValueType::Tensor(_)).then(|| place_of(view, node));
    let events = written.map(|place| f.side(side).storages.group(place).events.clone()).unwrap_or_default();
    out.extend(events.into_iter().filter_map(|event| match event.stamp {
        Stamp::Write(writer) => Some(writer),
        _ => None,
    }));
    out
}

fn gives_no_float(ty: &ValueType) -> bool {
    matches!(ty, ValueType::Tensor(t) if !t.dtype.is_float() && !t.dtype.is_complex())
}

/// Whether a node's value is surely finite, or is no float.
fn is_finite(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    gives_no_float(view.ty(node)) || f.registry.operator_of(view, node).is_some_and(|o| is_never_infinite(&o.target))
}

/// Whether an integer, or one as a float, is never 0.
fn is_integer_apart(e: &mut Elements, id: ExprId) -> bool {
    let inner = match e.op_of(id) {
        Some((Op::Cast, [inner])) => *inner,
        _ => id,
    };
    let is_integer = e.dtype(inner).is_some_and(Dtype::is_integer);
    is_integer && e.integers_of(inner).is_some_and(|(low, high)| low > 0 || high < 0)
}

fn is_large_number(arg: &Arg) -> bool {
    is_large(arg) || matches!(arg, Arg::Int(v) if v.unsigned_abs() > 1 << 20)
}

fn is_large(arg: &Arg) -> bool {
    let own = |a: &Arg| matches!(a, Arg::Float(v) if v.is_nan() || v.abs() > LARGE);
    own(arg) || arg.items().is_some_and(|all| all.iter().any(own))
}

fn is_tiny(arg: &Arg) -> bool {
    matches!(arg, Arg::Int(0)) || matches!(arg, Arg::Float(v) if v.abs() < 1.0 / LARGE)
}

fn holds_zero(domain: &Domain) -> bool {
    match domain {
        Domain::Integers { lo, hi, .. } => *lo <= 0 && *hi >= 0,
        Domain::OneOf(all) | Domain::Is(all) => all.contains(&0.0),
        _ => false,
    }
}

/// Whether an expression is 0, or jumps to it, in more places than its operands are.
fn makes_zeros(e: &Elements, id: ExprId) -> bool {
    let Some(expr) = e.expr(id) else { return true };
    match &expr.form {
        Form::Op(Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Abs) => false,
        Form::Op(Op::Cast) => !expr.kids.first().and_then(|k| e.dtype(*k)).is_some_and(Dtype::is_float),
        Form::Named(target, _) => !matches!(real(target), Some(other) if other != Real::Relu),
        Form::Const(_) | Form::Number(_) | Form::Reduce(Fold::Sum, ..) => false,
        Form::Load(..) => !expr.dtype.is_float(),
        _ => true,
    }
}
