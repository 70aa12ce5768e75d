//! What is made of values that are equal over the reals only.
//!
//! Promises: what is equal over the reals only is a real number to all that reads it, in either graph: it reaches no step that both take, no effect, no memory that more than numbers are read
//! from, nothing that decides a size, nothing that may raise for contents. How rounding grows on the way is no question of this file.

use rustc_hash::FxHashSet;

use crate::analysis::call::{draws, writes};
use crate::analysis::{Place, Stamp, getitem_of, places_of};
use crate::graph::{Arg, BodyId, Dtype, NodeId, NodeKind, ValueType, View};
use crate::ops::{Bound, CallSite, Operator, Total};
use crate::rules::element::arena::Op;
use crate::rules::table::{Meaning, Real, edge_of, hides_nan, is_never_infinite, meaning, real as real_function};
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::key::Aspect;
use crate::verify::functional::values::{Functional, bind};
use crate::verify::prove::real::{self, Reals};

/// Whether a value that is rounded elsewhere is computed from otherwise than by what has no end, in wide floats, or made of what is only taken to lie in the working range: poles and
/// ends of dtypes are nearer than roundings to narrower floats, and what these make of them is bounded nowhere.
pub fn is_wider_inside(f: &mut Functional<'_>, reals: &Reals, whole: bool) -> bool {
    let passed_on = |f: &mut Functional<'_>| inner(f, reals).is_empty() || is_passed_on(f, reals);
    reals.wider && (!passed_on(f) || !real::only_assumed(f, reals, whole).is_empty())
}

/// Whether all that is made of values that are equal over the reals only is made by what has no end, in wide floats: it passes an error on as far in both graphs.
fn is_passed_on(f: &mut Functional<'_>, reals: &Reals) -> bool {
    let mut classes: FxHashSet<ValueId> = FxHashSet::default();
    for value in reals.pairs.iter().flat_map(|(a, b)| [*a, *b]) {
        classes.insert(f.store.find(value));
    }
    for side in [Side::Before, Side::After] {
        let view = f.view(side);
        let mut follows: FxHashSet<NodeId> = FxHashSet::default();
        for node in view.nodes(BodyId::ROOT) {
            let made = view.kind(node) == NodeKind::Call && view.operands(node).any(|n| follows.contains(&n));
            if made && !has_no_end(f, side, node) {
                return false;
            }
            let own = places_of(view, node).into_iter().any(|place| {
                let given = f.outcome(side, place);
                classes.contains(&f.store.find(given))
            });
            if own || made {
                follows.insert(node);
            }
        }
    }
    true
}

/// Whether a call moves, adds, multiplies or bends wide floats, without a divisor and without an end.
fn has_no_end(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    if getitem_of(view, node).is_some() {
        return true;
    }
    let wide = view.ty(node).as_tensor().is_some_and(|t| matches!(t.dtype, Dtype::F32 | Dtype::F64));
    let Some(operator) = f.registry.operator_of(view, node).filter(|o| o.effects.is_pure() && wide) else {
        return false;
    };
    let target = &*operator.target;
    let adds = matches!(
        meaning(target),
        Some(
            Meaning::Binary(Op::Add | Op::Sub | Op::Mul)
                | Meaning::Sum(_)
                | Meaning::Mean
                | Meaning::MatMul
                | Meaning::Convert
        )
    );
    let bends = is_never_infinite(target) || matches!(real_function(target), Some(Real::Relu | Real::Silu));
    (adds || bends || operator.facts.moves) && (0..operator.schema.params.len()).all(|k| edge_of(target, k).is_none())
}

/// Returns the names of nodes that are equal over the reals only and that more is computed from.
pub fn inner(f: &Functional<'_>, reals: &Reals) -> Vec<String> {
    let mut out = Vec::new();
    for (_, value) in &reals.pairs {
        let Some(key) = f.store.key(*value) else { continue };
        let view = f.view(key.side);
        let mut open = readers(view, key.place);
        // A result that is taken out of several is the value itself.
        while let Some(reader) = open.pop() {
            match getitem_of(view, reader) {
                Some((of, _)) if of == key.place.node => open.extend(view.users_in_order(reader)),
                _ if view.kind(reader) == NodeKind::Output => {}
                _ => {
                    out.push(view.name(key.place.node).to_string());
                    break;
                }
            }
        }
    }
    out
}

/// Returns what reads a value: of several results only those nodes that take this one, or all.
fn readers(view: &dyn View, place: Place) -> Vec<NodeId> {
    let mut users = view.users_in_order(place.node);
    let takes = |item: u32| place.item == Place::WHOLE || item == place.item;
    users.retain(|n| getitem_of(view, *n).is_none_or(|(_, item)| takes(item)));
    users
}

/// Returns the first node, of either graph, to which a value that is only equal over the reals is more than a real number.
///
/// Steps that one of the graphs takes alone are none of its meaning: what they reach was shown to be what the other graph makes of the same
/// numbers without a step, wherever these lie, so that it follows them as they do.
pub fn is_carried(f: &mut Functional<'_>, reals: &Reals) -> Result<(), String> {
    let mut classes: FxHashSet<ValueId> = FxHashSet::default();
    for value in reals.pairs.iter().flat_map(|(a, b)| [*a, *b]) {
        if f.store.key(value).is_none_or(|k| k.aspect != Aspect::Value) {
            return Err("a value that is no node's own".into());
        }
        classes.insert(f.store.find(value));
    }
    let mut steps: Vec<String> = Vec::new();
    for side in [Side::Before, Side::After].into_iter().filter(|_| !classes.is_empty()) {
        let view = f.view(side);
        let mut open: Vec<NodeId> = Vec::new();
        for holder in holders(f, side, reals)? {
            open.extend(view.users_in_order(holder));
        }
        for node in view.nodes(BodyId::ROOT) {
            for place in places_of(view, node) {
                let value = f.outcome(side, place);
                if !classes.contains(&f.store.find(value)) {
                    continue;
                }
                // Of several results only those that take this one see it.
                let pure = f.registry.operator_of(view, node).is_some_and(|o| o.effects.is_pure());
                if pure {
                    // What it does itself was looked into: a step there bounds no rounding.
                    open.extend(readers(view, place));
                } else {
                    open.push(node);
                }
            }
        }
        steps.extend(reached(f, side, open)?);
    }
    match steps.pop() {
        Some(last) if !steps.is_empty() => Err(last),
        _ => Ok(()),
    }
}

/// Returns the nodes of one graph whose memory holds, once it was written, what is equal over the reals only.
pub fn holders(f: &mut Functional<'_>, side: Side, reals: &Reals) -> Result<Vec<NodeId>, String> {
    let mut out = Vec::new();
    for value in reals.pairs.iter().flat_map(|(a, b)| [*a, *b]) {
        if let Some(key) =
            f.store.key(value).filter(|k| [side, Side::Both].contains(&k.side) && k.stamp != Stamp::Birth)
        {
            let members = f.side(side).storages.group(key.place).members.clone();
            out.extend(carriers(f, side, &members)?);
        }
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

/// Returns the nodes that name some memory; an error names one to which what is in it is more than real numbers, or that may know it unseen.
fn carriers(f: &mut Functional<'_>, side: Side, places: &[Place]) -> Result<Vec<NodeId>, String> {
    let view = f.view(side);
    if let Some(unknown) = f.side(side).storages.opaque_calls().first() {
        return Err(view.name(*unknown).to_string());
    }
    let mut out = Vec::new();
    for place in places {
        let ty = f.side(side).storages.type_of(*place);
        if !is_real(f, ty) {
            return Err(view.name(place.node).to_string());
        }
        out.extend(f.side(side).storages.carriers(*place));
    }
    Ok(out)
}

/// Returns what a node computes: the operator, or that of which it writes the result.
pub(super) fn computes<'v>(f: &Functional<'v>, side: Side, node: NodeId) -> Option<&'v Operator> {
    let view = f.view(side);
    let operator = f.registry.operator_of(view, node)?;
    let writes_it =
        |bound: &Bound<'_>| (0..bound.args.len()).any(|i| *bound.get(i) != Arg::None && writes(operator, bound, i));
    // Statistics may be written, and are not where none are given.
    if !operator.effects.writes() || bind(operator, view, node).is_some_and(|bound| !writes_it(&bound)) {
        return Some(operator);
    }
    f.registry.functional(operator)
}

/// Returns the nodes whose memory a node writes.
pub(super) fn written_carriers(f: &mut Functional<'_>, side: Side, node: NodeId) -> Result<Vec<NodeId>, String> {
    let places = f.side(side).storages.written_by(node);
    if places.is_empty() { Ok(Vec::new()) } else { carriers(f, side, &places) }
}

/// Returns the first step that some nodes, and what is made of them, reach; an error names one to which they are more than real numbers.
pub fn reached(f: &mut Functional<'_>, side: Side, mut open: Vec<NodeId>) -> Result<Option<String>, String> {
    let view = f.view(side);
    let (mut seen, mut step) = (FxHashSet::default(), None);
    while let Some(node) = open.pop() {
        if !view.contains(node) || !seen.insert(node) || asks_sizes(f, side, node) {
            continue;
        }
        if !takes_reals(f, side, node) {
            let name = view.name(node).to_string();
            if !is_step(f, side, node) {
                return Err(name);
            }
            step.get_or_insert(name);
        }
        open.extend(view.users_in_order(node));
        for carrier in written_carriers(f, side, node)? {
            open.extend(view.users_in_order(carrier));
        }
    }
    Ok(step)
}

/// Whether a node sees no element of what it is given.
pub(super) fn asks_sizes(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    f.registry.operator_of(f.view(side), node).is_some_and(|o| o.facts.asks_sizes)
}

/// Whether a node does nothing but give truths or integers, of sizes that inputs settle: it raises for no content, writes and draws nothing.
fn is_step(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    let ValueType::Tensor(t) = view.ty(node) else { return false };
    let plain = view.args(node).iter().chain(view.kwargs(node).iter().map(|(_, a)| a));
    let takes_bodies = plain.flat_map(Arg::nodes).any(|n| matches!(view.ty(n), ValueType::Body(_)));
    let Some(operator) = f.registry.operator_of(view, node) else { return false };
    let total =
        operator.facts.total != Total::Never && operator.facts.within.is_none() && operator.facts.reaches.is_none();
    let tells_no_real = !t.dtype.is_float() && !t.dtype.is_complex();
    let settled = t.sizes.iter().all(|d| f.sizes.is_settled(*d));
    tells_no_real && operator.effects.is_pure() && total && !takes_bodies && settled
}

/// From where on `log(1 + exp(x))` is `x` in floats of 24 places.
const JOINED: f64 = 20.0;

/// Whether a comparison chooses, beyond a number, nothing but what the other choice comes to there: `where(x > 20, x, log1p(exp(x)))`.
fn chooses_what_joins(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    let [Arg::Node(x), bound] = view.args(node) else { return false };
    let is_beyond = match bound {
        Arg::Int(v) => f64::from(i32::try_from(*v).unwrap_or(0)) >= JOINED,
        Arg::Float(v) => *v >= JOINED,
        _ => false,
    };
    let holds_it = view.ty(*x).as_tensor().is_some_and(|t| matches!(t.dtype, Dtype::F32 | Dtype::Bf16));
    let function = |n: NodeId, which: Real| match view.args(n) {
        [Arg::Node(of)] if real_function(view.target(n)) == Some(which) => Some(*of),
        _ => None,
    };
    let joins = |user: NodeId| match view.args(user) {
        [Arg::Node(truth), Arg::Node(a), Arg::Node(b)] if meaning(view.target(user)) == Some(Meaning::Where) => {
            let grown = function(*b, Real::Log1p).and_then(|of| function(of, Real::Exp));
            (*truth, *a, grown) == (node, *x, Some(*x))
        }
        _ => false,
    };
    let asks = meaning(view.target(node)) == Some(Meaning::Compare(Op::Lt, true, false));
    is_beyond && holds_it && asks && view.users_in_order(node).into_iter().all(joins)
}

fn takes_reals(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    match view.kind(node) {
        NodeKind::Output | NodeKind::Placeholder | NodeKind::GetAttr => return true,
        NodeKind::Call if chooses_what_joins(f, side, node) => return true,
        NodeKind::Call => {}
    }
    if getitem_of(view, node).is_some() {
        return is_real(f, view.ty(node));
    }
    let Some(operator) = f.registry.operator_of(view, node) else { return false };
    // What asks for a type alone sees no number.
    if operator.facts.states_type {
        return true;
    }
    let Some(bound) = bind(operator, view, node) else { return false };
    let acts = draws(operator, &bound);
    // What writes a result does to real numbers what the result is made by.
    let Some(computed) = computes(f, side, node) else { return false };
    let sees_bits = view.args(node).iter().any(|a| matches!(a, Arg::Dtype(_))) && computed.facts.step.is_some();
    let takes_bodies = view.args(node).iter().any(|a| a.nodes().any(|n| matches!(view.ty(n), ValueType::Body(_))));
    if operator.effects.writes() && !gives_reals(f, side, node, computed) {
        return false;
    }
    // What raises for contents may raise for what rounding makes of them.
    let shown = crate::verify::effects::fits::surely_holds(f, side, node);
    let by_integers = computed.facts.within.is_some() || computed.facts.reaches.is_some();
    let holds = computed.facts.total != Total::Never || computed.facts.step.is_some() || by_integers || shown;
    holds
        && operator.effects.side.is_none()
        && !operator.effects.opaque
        && !acts
        && !computed.facts.discrete
        && !hides_nan(&computed.target)
        && !sees_bits
        && !takes_bodies
        && is_real_as_read(f, side, node, &computed.target)
}

/// Whether what is taken of a node's results is real numbers: the places at which what is given in order stands are none, where somebody asks for them.
fn is_real_as_read(f: &mut Functional<'_>, side: Side, node: NodeId, target: &str) -> bool {
    let view = f.view(side);
    let in_order = matches!(
        meaning(target),
        Some(
            Meaning::Sorted
                | Meaning::Extreme(_)
                | Meaning::RunningExtreme(_)
                | Meaning::Median
                | Meaning::MaxPooling(_)
        )
    );
    let all = match view.ty(node) {
        ValueType::Many(all) if in_order => all,
        ty => return is_real(f, ty),
    };
    let items: Option<Vec<u32>> = view
        .users_in_order(node)
        .into_iter()
        .map(|user| getitem_of(view, user).filter(|(of, _)| *of == node).map(|(_, item)| item))
        .collect();
    let Some(items) = items else { return is_real(f, view.ty(node)) };
    items.into_iter().all(|item| all.get(item as usize).is_some_and(|ty| is_real(f, ty)))
}

/// Whether what a call writes is made as real numbers: truths that are written to floats are none.
fn gives_reals(f: &mut Functional<'_>, side: Side, node: NodeId, computed: &Operator) -> bool {
    if computed.effects.writes() {
        return true;
    }
    let view = f.view(side);
    let site = CallSite { target: &computed.target, args: view.args(node), kwargs: view.kwargs(node), annotated: None };
    match f.registry.infer_in(view, f.sizes.own(), site) {
        Ok(ty) => is_real(f, &ty),
        Err(_) => false,
    }
}

fn is_real(f: &mut Functional<'_>, ty: &ValueType) -> bool {
    // The ends of floats of 8 bits lie in the working range.
    let wide = |d: Dtype| matches!(d, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    let mut one = |t: &ValueType| match t {
        ValueType::Tensor(t) => wide(t.dtype) && t.sizes.iter().all(|d| f.sizes.is_settled(*d)),
        _ => false,
    };
    match ty {
        ValueType::Many(all) => all.iter().all(&mut one),
        other => one(other),
    }
}
