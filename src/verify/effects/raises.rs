//! An operator may raise only where the graph as it was raises, and may stop raising only by being dead there.
//!
//! What a call asks of its operands in order not to raise is a term: the call and its operands, views and copies not seen through. In-place forms
//! ask what their functional form asks, where what is written surely takes the result.
//!
//! Promises: (1) a call that is not shown to hold passes only if the graph as it was asks the same somewhere, outside of branches; so
//! does one whose type only an annotation tells, which is then told alike; (2) what a live call of the graph as it was asks is still
//! asked. Draws, sub-graphs and operators that nobody described are compared one by one elsewhere (`judge`), as are assertions.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Place, Stamp, getitem_of, place_of, tensor_operands};
use crate::graph::{Arg, BodyId, Dtype, NodeId, NodeKind, ValueType};
use crate::ops::{Base, Bound, Operator, fits_plainly};
use crate::sym::{Dim, KeyedMap};
use crate::term::call::Arguments;
use crate::term::store::ValueId;
use crate::term::term::{Fact, Form, Side, Token};
use crate::verify::effects::fits::surely_holds;
use crate::verify::findings::{Findings, Problem};
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::{Functional, bind};
use crate::verify::functional::views::{as_dim, axis};
use crate::verify::prove::congruence::Congruence;
use crate::verify::prove::partners::Partners;
use crate::verify::verdict::Question;

/// Returns what a call asks in order not to raise; `None` where it surely holds, or is compared elsewhere.
fn asked(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<ValueId> {
    let view = f.view(side);
    if view.kind(node) != NodeKind::Call || surely_holds(f, side, node) || f.effect(side, node).is_some() {
        return None;
    }
    let own = Key { side, place: Place::of(node), stamp: Stamp::Birth, aspect: Aspect::Value };
    if let Some((of, item)) = getitem_of(view, node) {
        let whole = f.read(side, of, node);
        let callee = f.store.callee(view.target(node));
        let tokens = Box::new([Token::Int(i64::from(item))]);
        return Some(f.store.of_term(Form::Of(Fact::Asks(callee), tokens), [whole]));
    }
    let bound = f.registry.operator_of(view, node).and_then(|o| bind(o, view, node).map(|b| (o, b)));
    if let Some((operator, bound)) = &bound
        && let Some(question) = within(f, side, node, operator, bound)
            .or_else(|| from_either_end(f, side, node, operator, bound))
            .or_else(|| but_one(f, side, node, operator, bound))
            .or_else(|| in_corner(f, side, node, operator, bound))
    {
        return Some(question);
    }
    if let Some(question) = f.asked_apart(side, node) {
        return Some(question);
    }
    let Arguments { mut tokens, operands } = match &bound {
        Some((operator, bound)) => Arguments::bound(view, operator, bound, &mut f.sizes),
        None => Arguments::written(view, node, &mut f.sizes),
    };
    let mut children = f.operands(own, &mut tokens, &operands, &mut |f, n| f.read(side, n, node));
    let stated = stated(f, side, node);
    for operand in tensor_operands(view, node) {
        // Overlaps of what is written and views that may not exist depend on it.
        if stated.is_none_or(|o| {
            let facts = &o.facts;
            facts.layout_decides
                || facts.if_contiguous
                || facts.sees_layout
                || o.effects.writes()
                || o.effects.view_of().is_some()
        }) {
            let exact = stated.is_none_or(|o| o.effects.writes() || o.facts.sees_layout || o.facts.if_contiguous);
            let aspect = if exact { Aspect::Exact } else { Aspect::Layout };
            children.push(f.layout_as(side, operand, aspect));
        }
        // What reaches beyond its operand asks how much memory there is: that of what it lies in.
        if stated.is_some_and(|o| o.facts.sees_layout) {
            let origin = f.side(side).storages.origin(operand);
            children.push(f.value(side, origin, Stamp::Birth));
            children.push(f.layout_as(side, origin, Aspect::Exact));
        }
    }
    if bound.as_ref().is_some_and(|(o, _)| o.facts.not_on_views) {
        let (token, homes) = seen_as(f, side, node)?;
        tokens.push(token);
        children.extend(homes);
    }
    tokens.extend(f.told(own));
    let callee =
        f.store.callee(stated.map_or(view.target(node), |o| o.facts.same_call.as_deref().unwrap_or(&o.target)));
    Some(f.store.of_term(Form::Of(Fact::Asks(callee), tokens.into()), children))
}

/// What a tensor is a view by, and how that lies of which it is one: whether it is a view is asked.
fn seen_as(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<(Token, Vec<ValueId>)> {
    let view = f.view(side);
    let place = tensor_operands(view, node).first().copied()?;
    let homes: Vec<Place> = f.side(side).storages.home(place).iter().map(|s| s.place()).collect();
    let made_by = match view.kind(place.node) {
        NodeKind::Call => Token::Other(view.target(place.node).into()),
        _ => Token::None,
    };
    Some((made_by, homes.into_iter().map(|home| f.layout_as(side, home, Aspect::Exact)).collect()))
}

/// The question of a call that raises only for places that are not there: which integers, and how many places there are.
fn within(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> Option<ValueId> {
    let view = f.view(side);
    let index = bound.get(operator.schema.param_index(operator.facts.within.as_ref()?)?).as_node()?;
    let from = f.tensor(side, place_of(view, bound.args.first()?.as_node()?))?;
    let integers = f.tensor(side, place_of(view, index))?.dtype;
    let plain = from.dtype.is_float() || from.dtype.is_integer() || from.dtype == Dtype::Bool;
    let known = plain && !view.hearsay(node).is_told() && matches!(integers, Dtype::I32 | Dtype::I64);
    if !bags_hold(f, side, node, operator, bound) {
        return None;
    }
    let dim = match operator.schema.param_index("dim") {
        Some(i) => axis(bound.get(i), from.rank())?,
        None => 0,
    };
    let size = *from.sizes.get(dim)?;
    if !known || !f.sizes.is_settled(size) {
        return None;
    }
    let child = f.read(side, index, node);
    f.settle(child);
    if let Some((of, number)) = size.fixed().and_then(|n| crate::verify::prove::normal::spared(f, child, n)) {
        return Some(places_but_one(f, size, number, of));
    }
    Some(f.store.of_term(Form::Of(Fact::Within, Box::new([Token::Dim(size)])), [child]))
}

/// The question whether every integer but those that are one number is a place, counted from the front.
fn places_but_one(f: &mut Functional<'_>, size: Dim, number: i64, of: ValueId) -> ValueId {
    let tokens = Box::new([Token::Dim(size), Token::Int(-2), Token::Int(number)]);
    f.store.of_term(Form::Of(Fact::Within, tokens), [of])
}

/// The question of a call that spares integers that are one number, and raises for each other one that is no class.
fn but_one(
    f: &mut Functional<'_>,
    side: Side,
    node: NodeId,
    operator: &Operator,
    bound: &Bound<'_>,
) -> Option<ValueId> {
    let view = f.view(side);
    let given = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    let Arg::Int(number) = given(operator.facts.spares.as_ref()?)? else { return None };
    let number = *number;
    let target = given(operator.facts.reaches.as_ref()?)?.as_node()?;
    let from = f.tensor(side, place_of(view, bound.args.first()?.as_node()?))?;
    let (size, floats) = (*from.sizes.get(usize::from(from.rank() > 1))?, from.dtype.is_float());
    let integers = f.tensor(side, place_of(view, target))?.dtype == Dtype::I64;
    let alone = given("weight") == Some(&Arg::None) && size.fixed().is_some();
    if !(alone && floats && integers) || view.hearsay(node).is_told() {
        return None;
    }
    let of = f.read(side, target, node);
    Some(places_but_one(f, size, number, of))
}

/// The question of a call that sends a corner of what it is given to places, and raises for those that are not there: which integers, and how many
/// places there are. What is sent is not among it where the corner is surely there.
fn in_corner<'a>(
    f: &mut Functional<'a>,
    side: Side,
    node: NodeId,
    operator: &'a Operator,
    bound: &Bound<'_>,
) -> Option<ValueId> {
    let operator = if operator.effects.writes() { f.plain_twin(side, node, operator)? } else { operator };
    let view = f.view(side);
    let given = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    let facts = &operator.facts;
    let (sent, index) = (given(facts.corner.as_ref()?)?.as_node()?, given(facts.reaches.as_ref()?)?.as_node()?);
    let into = f.tensor(side, place_of(view, into_of(operator, bound)?.as_node()?))?.clone();
    let (from, at) = (f.tensor(side, place_of(view, sent))?.clone(), f.tensor(side, place_of(view, index))?.clone());
    let dim = axis(given("dim")?, into.rank())?;
    let has_kernel = into.dtype.is_float() || facts.moves && into.dtype.is_integer();
    let alike =
        from.dtype == into.dtype && at.dtype == Dtype::I64 && from.device == into.device && at.device == into.device;
    let fits = at.rank() == into.rank()
        && from.rank() == into.rank()
        && at.sizes.iter().zip(&from.sizes).all(|(part, all)| f.sizes.at_most(*part, *all))
        && at
            .sizes
            .iter()
            .zip(&into.sizes)
            .enumerate()
            .all(|(k, (part, all))| k == dim || f.sizes.at_most(*part, *all));
    let size = *into.sizes.get(dim)?;
    if !(has_kernel && alike && fits && f.sizes.is_settled(size)) || view.hearsay(node).is_told() {
        return None;
    }
    let child = f.read(side, index, node);
    Some(f.store.of_term(Form::Of(Fact::Within, Box::new([Token::Dim(size)])), [child]))
}

/// What a call sends something to: its first tensor, where nothing else is stated.
fn into_of<'b>(operator: &Operator, bound: &Bound<'b>) -> Option<&'b Arg> {
    match &operator.facts.into {
        Some(name) => Some(bound.get(operator.schema.param_index(name)?)),
        None => bound.args.first().copied(),
    }
}

/// The same of a call that counts places from either end of one dimension, or of all as one.
fn from_either_end(
    f: &mut Functional<'_>,
    side: Side,
    node: NodeId,
    operator: &Operator,
    bound: &Bound<'_>,
) -> Option<ValueId> {
    let view = f.view(side);
    let at = operator.schema.param_index(operator.facts.reaches.as_ref()?)?;
    let from = f.tensor(side, place_of(view, bound.args.first()?.as_node()?))?;
    let sizes = from.sizes.clone();
    let (index, size) = match bound.get(at).items() {
        Some(all) => {
            let mut given = all.iter().enumerate().filter(|(_, a)| **a != Arg::None);
            let (dim, only) = given.next().filter(|_| given.next().is_none())?;
            (only.as_node()?, *sizes.get(dim)?)
        }
        None if operator.facts.flat => (bound.get(at).as_node()?, f.sizes.product(&sizes)?),
        None => return None,
    };
    let integers = f.tensor(side, place_of(view, index))?.dtype;
    let plain = from.dtype.is_float() || from.dtype.is_integer() || from.dtype == Dtype::Bool;
    let moves = bound.args.len() == 2 && !operator.effects.writes() && operator.facts.moves;
    // Of no elements no place is looked at.
    let filled = sizes.iter().all(|d| f.sizes.is_settled(*d) && f.sizes.at_most(Dim::Fixed(1), *d));
    let known = plain && moves && filled && !view.hearsay(node).is_told() && integers == Dtype::I64;
    if !known || !f.sizes.is_settled(size) {
        return None;
    }
    let child = f.read(side, index, node);
    Some(f.store.of_term(Form::Of(Fact::Within, Box::new([Token::Dim(size), Token::Int(-1)])), [child]))
}

/// Whether a call that takes bags of rows surely finds each bag: all of one length, as offsets say that are counted, of plain floats; where each row has a weight, as many of these.
fn bags_hold(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
    let Some(offsets) = &operator.facts.bags else { return true };
    let view = f.view(side);
    let given = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    let of = |name: &str| given(name).and_then(|a| a.as_node()).map(|n| place_of(view, n));
    let sums = matches!(bound.args.get(4), Some(Arg::Int(0)));
    let unweighed = given("per_sample_weights") == Some(&Arg::None);
    let plain = (sums || unweighed && matches!(bound.args.get(4), Some(Arg::Int(1))))
        && ["scale_grad_by_freq", "sparse", "include_last_offset"].iter().all(|n| given(n) == Some(&Arg::Bool(false)));
    let (Some(weight), Some(indices), Some(bags)) = (of("weight"), of("indices"), of(offsets)) else { return false };
    let types = [weight, indices, bags].map(|p| f.tensor(side, p).cloned());
    let [Some(weight), Some(indices), Some(starts)] = types else { return false };
    let factors = of("per_sample_weights").and_then(|p| f.tensor(side, p));
    if !unweighed && !factors.is_some_and(|w| w.dtype == weight.dtype && w.sizes == indices.sizes) {
        return false;
    }
    let fit =
        matches!(weight.dtype, Dtype::F32 | Dtype::F64) && indices.dtype == Dtype::I64 && starts.dtype == Dtype::I64;
    let [Dim::Fixed(count)] = indices.sizes.as_slice() else { return false };
    let count = *count;
    if !plain || !fit {
        return false;
    }
    let Some(offsets) = given(offsets).and_then(|a| a.as_node()) else { return false };
    let value = f.read(side, offsets, node);
    f.settle(value);
    crate::verify::prove::normal::are_counted_to(f, value, count)
}

/// Whether every integer that a call takes as a place is one: all else that it may raise for is its type.
fn surely_reaches(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    reaches(f, side, node).is_some_and(|all| all)
}

fn reaches(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<bool> {
    let view = f.view(side);
    if view.kind(node) != NodeKind::Call || view.hearsay(node).is_told() {
        return None;
    }
    let operator = f.registry.operator_of(view, node)?;
    // What writes plainly takes the places that its functional form takes.
    let operator = if operator.effects.writes() { f.plain_twin(side, node, operator)? } else { operator };
    let bound = bind(operator, view, node)?;
    let name = operator.facts.within.as_ref().or(operator.facts.reaches.as_ref())?;
    // What divides by how often a place is named may do anything.
    let weighs = operator.schema.param_index("scale_grad_by_freq").map(|i| bound.get(i));
    if weighs.is_some_and(|given| *given != Arg::Bool(false)) {
        return None;
    }
    let from = f.tensor(side, place_of(view, into_of(operator, &bound)?.as_node()?))?.clone();
    let moves = operator.facts.within.is_some() || operator.facts.moves;
    let scalars = operator.schema.params.iter().zip(&bound.args).filter(|(p, _)| p.ty.base == Base::Scalar);
    let fit = scalars.into_iter().all(|(_, number)| fits_plainly(number, &[from.dtype]));
    let has_kernel = from.dtype.is_float() || from.dtype.is_integer() && (moves || operator.facts.whole) && fit;
    if operator.facts.into.is_some() {
        let first = f.tensor(side, place_of(view, bound.args.first()?.as_node()?))?;
        let sparse = operator.schema.param_index("sparse_grad").is_some_and(|i| *bound.get(i) != Arg::Bool(false));
        (first.dtype == from.dtype && !sparse).then_some(())?;
    }
    let devices = tensor_operands(view, node).into_iter().map(|p| f.tensor(side, p).map(|t| t.device.clone()));
    let one_device = devices.collect::<Vec<_>>().into_iter().all(|d| d.as_ref() == Some(&from.device));
    let classes = ["num_classes", "num_weights"].iter().find_map(|name| operator.schema.param_index(name));
    let classes = classes.map(|i| bound.get(i));
    if !operator.effects.is_pure() || !one_device || !(has_kernel || classes.is_some()) {
        return None;
    }
    if !bags_hold(f, side, node, operator, &bound) {
        return None;
    }
    let given = bound.get(operator.schema.param_index(name)?);
    if operator.facts.flat && f.tensor(side, place_of(f.view(side), given.as_node()?))?.dtype != Dtype::I64 {
        return None;
    }
    // One list of integers a dimension, counted from either end.
    if let Some(items) = given.items() {
        let mut all = true;
        for (item, size) in items.iter().zip(&from.sizes).filter(|(item, _)| **item != Arg::None) {
            let item_node = item.as_node()?;
            if are_places(f, side, node, item_node, (*size, true)) || are_said_places(f, side, node, item_node, *size) {
                continue;
            }
            let (low, high) = integers_of(f, side, node, item.as_node()?)?;
            all = all
                && f.sizes.at_most(Dim::Fixed(low.checked_neg()?), *size)
                && f.sizes.at_most(Dim::Fixed(high.checked_add(1)?), *size);
        }
        return Some(all);
    }
    let size = match (classes, operator.schema.param_index("dim"), &operator.facts.reaches) {
        (Some(n), ..) => as_dim(view, n)?,
        (None, Some(i), _) => *from.sizes.get(axis(bound.get(i), from.rank())?)?,
        // Classes stand behind the batch.
        (None, None, Some(_)) if operator.facts.flat => f.sizes.product(&from.sizes)?,
        (None, None, Some(_)) => *from.sizes.get(usize::from(from.rank() > 1))?,
        (None, None, None) => *from.sizes.first()?,
    };
    let operand = given.as_node()?;
    if are_places(f, side, node, operand, (size, false)) || are_said_places(f, side, node, operand, size) {
        return Some(true);
    }
    let (low, high) = integers_of(f, side, node, given.as_node()?)?;
    let first = if operator.facts.flat { Dim::Fixed(low.checked_neg()?) } else { Dim::Fixed(0) };
    let begins = if operator.facts.flat { f.sizes.at_most(first, size) } else { low >= 0 };
    Some(begins && f.sizes.at_most(Dim::Fixed(high.checked_add(1)?), size))
}

/// Whether every element of an operand is a place of a dimension, counted from the front, or from either end, whatever the symbols of its size are.
fn are_places(f: &mut Functional<'_>, side: Side, node: NodeId, operand: NodeId, (size, either): (Dim, bool)) -> bool {
    let integers = f.tensor(side, place_of(f.view(side), operand)).is_some_and(|t| t.dtype == Dtype::I64);
    if !integers || size.fixed().is_some() {
        return false;
    }
    let value = f.read(side, operand, node);
    crate::verify::prove::normal::are_places(f, value, size, either)
}

/// Whether every element of an operand is a place of a dimension, because a call said at which places of one of that size its elements stand.
fn are_said_places(f: &mut Functional<'_>, side: Side, node: NodeId, operand: NodeId, size: Dim) -> bool {
    let integers = f.tensor(side, place_of(f.view(side), operand)).is_some_and(|t| t.dtype == Dtype::I64);
    if !integers {
        return false;
    }
    let value = f.read(side, operand, node);
    f.settle(value);
    crate::verify::prove::normal::are_said_places(f, value, size)
}

/// Two integers between which every element of an operand lies.
pub(super) fn integers_of(f: &mut Functional<'_>, side: Side, node: NodeId, operand: NodeId) -> Option<(i64, i64)> {
    let dtype = f.tensor(side, place_of(f.view(side), operand))?.dtype;
    matches!(dtype, Dtype::I32 | Dtype::I64).then_some(())?;
    let value = f.read(side, operand, node);
    f.settle(value);
    crate::verify::prove::normal::integers(f, value)
}

/// The functional form where it asks the same, else the call's own operator.
fn stated<'a>(f: &mut Functional<'a>, side: Side, node: NodeId) -> Option<&'a Operator> {
    let operator = f.registry.operator_of(f.view(side), node)?;
    let twin = if operator.effects.writes() { f.plain_twin(side, node, operator) } else { None };
    Some(twin.unwrap_or(operator))
}

/// Checks all calls of both graphs. Everything below what is asked is found, so that equal questions are one class.
pub fn check_whole(f: &mut Functional<'_>, c: &mut Congruence, findings: &mut Findings) {
    let [before, after] = [Side::Before, Side::After].map(|side| {
        let nodes: Vec<NodeId> = f.view(side).nodes(BodyId::ROOT).collect();
        let mut asked_by: Vec<(NodeId, ValueId)> = Vec::new();
        for node in nodes {
            asked_by.extend(asked(f, side, node).map(|a| (node, a)));
        }
        asked_by
    });
    for (_, value) in before.iter().chain(&after) {
        f.settle(*value);
    }
    let classes = |f: &mut Functional<'_>, all: &[(NodeId, ValueId)]| -> FxHashSet<ValueId> {
        all.iter().map(|(_, v)| f.store.find(*v)).collect()
    };
    let (old, new) = (classes(f, &before), classes(f, &after));
    let added: Vec<_> = after.iter().filter(|(_, v)| !old.contains(&f.store.find(*v))).copied().collect();
    let lost: Vec<_> = before.iter().filter(|(_, v)| !new.contains(&f.store.find(*v))).copied().collect();
    // Values that no output shows were not compared so far.
    let partners = if added.is_empty() { None } else { Some(Partners::of(f, Side::Before, &before)) };
    for (node, value) in added {
        let name = f.view(Side::After).name(node);
        if !partners.as_ref().is_some_and(|p| p.ask(f, c, name, value)) && !surely_reaches(f, Side::After, node) {
            findings.push(new_question(f, node));
        }
    }
    let mut live = Liveness::default();
    let lost: Vec<_> = lost.into_iter().filter(|(node, _)| !f.may_stop_raising && live.is_live(f, *node)).collect();
    let partners = if lost.is_empty() { None } else { Some(Partners::of(f, Side::After, &after)) };
    for (node, value) in lost {
        let name = f.view(Side::Before).name(node);
        if !partners.as_ref().is_some_and(|p| p.ask(f, c, name, value)) && !surely_reaches(f, Side::Before, node) {
            findings.push(lost_question(f, node));
        }
    }
}

/// Checks calls that an edit touched or reached: `after` of the graph as it is, `before` of the graph as it was.
pub fn check_some(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    before: &[NodeId],
    after: &[NodeId],
    findings: &mut Findings,
) {
    let mut calls: [Option<KeyedMap<String, Vec<NodeId>>>; 2] = [None, None];
    let touched: [Vec<NodeId>; 2] = [before.to_vec(), after.to_vec()];
    let mut live = Liveness::default();
    for (side, nodes) in [(Side::After, after), (Side::Before, before)] {
        let other = if side == Side::After { Side::Before } else { Side::After };
        for node in nodes.iter().copied() {
            if !f.view(side).contains(node) {
                continue;
            }
            let Some(value) = asked(f, side, node) else { continue };
            let is_same = |f: &mut Functional<'_>, c: &mut Congruence, candidate: NodeId| {
                f.view(other).contains(candidate)
                    && asked(f, other, candidate).is_some_and(|old| c.equal(f, value, old))
            };
            let place = usize::from(other == Side::After);
            let near = touched.get(place).cloned().unwrap_or_default();
            let mut found = is_same(f, c, node) || near.into_iter().take(f.budget.near).any(|n| is_same(f, c, n));
            if !found && (side == Side::After || live.is_live(f, node)) {
                let callee = stated(f, side, node).map_or(f.view(side).target(node), |o| &o.target).to_string();
                if let Some(slot) = calls.get_mut(place) {
                    let all = slot.get_or_insert_with(|| by_callee(f, other));
                    let candidates = all.get(&callee).cloned().unwrap_or_default();
                    let candidates: Vec<NodeId> = candidates.into_iter().take(f.budget.candidates).collect();
                    found = candidates.iter().any(|n| is_same(f, c, *n)) || is_partner(f, c, other, value, &candidates);
                }
                if !found && !surely_reaches(f, side, node) {
                    let problem = if side == Side::After { new_question(f, node) } else { lost_question(f, node) };
                    findings.push(problem);
                }
            }
        }
    }
}

/// Whether one of these asks the same of operands that rules show equal.
fn is_partner(f: &mut Functional<'_>, c: &mut Congruence, side: Side, value: ValueId, candidates: &[NodeId]) -> bool {
    let mut all = Vec::new();
    for node in candidates.iter().copied() {
        if f.view(side).contains(node) {
            all.extend(asked(f, side, node).map(|a| (node, a)));
        }
    }
    Partners::of(f, side, &all).ask(f, c, "", value)
}

fn new_question(f: &Functional<'_>, node: NodeId) -> Problem {
    let view = f.view(Side::After);
    let name = view.name(node).to_string();
    let (question, reason) = if view.hearsay(node).is_told() {
        (Question::Form, format!("only running `{name}` tells its type, and before nothing said the same"))
    } else {
        (Question::Effects, format!("`{name}` may raise for operands for which nothing raised before"))
    };
    Problem::unknown(question, reason).at([name])
}

fn lost_question(f: &Functional<'_>, node: NodeId) -> Problem {
    let name = f.view(Side::Before).name(node).to_string();
    let reason = format!("`{name}` may raise, and after nothing asks the same of the same operands");
    Problem::unknown(Question::Effects, reason).at([name])
}

/// Whether what a call of the graph as it was gives reaches anything that anyone sees.
#[derive(Default)]
struct Liveness {
    known: FxHashMap<NodeId, bool>,
}

impl Liveness {
    /// Costs the way to the first thing that is seen.
    fn is_live(&mut self, f: &mut Functional<'_>, node: NodeId) -> bool {
        let view = f.view(Side::Before);
        let mut open = vec![node];
        let mut seen: Vec<NodeId> = Vec::new();
        let mut visited = FxHashSet::default();
        while let Some(at) = open.pop() {
            if !visited.insert(at) {
                continue;
            }
            seen.push(at);
            let known = self.known.get(&at).copied();
            if known == Some(true) || shows(f, at) {
                self.known.insert(node, true);
                return true;
            }
            if known.is_none() {
                open.extend(view.users_in_order(at).into_iter().rev());
                // Whoever reads what it writes sees it.
                for place in f.before.storages.written_by(at) {
                    for carrier in f.before.storages.carriers(place) {
                        open.extend(view.users_in_order(carrier));
                    }
                }
            }
        }
        // Nothing that was passed leads anywhere.
        self.known.extend(seen.into_iter().map(|n| (n, false)));
        false
    }
}

/// Whether anyone sees a node itself: it is the output, has an effect, or writes memory that lasts.
fn shows(f: &mut Functional<'_>, node: NodeId) -> bool {
    let view = f.view(Side::Before);
    if view.kind(node) != NodeKind::Call {
        return view.kind(node) == NodeKind::Output;
    }
    if f.effect(Side::Before, node).is_some() {
        return true;
    }
    let written = f.before.storages.written_by(node);
    written.iter().any(|place| view.kind(place.node) != NodeKind::Call)
}

/// Returns whether two values are said to have one type, strides left out.
pub fn same_type(f: &Functional<'_>, a: &ValueType, b: &ValueType) -> bool {
    let mut open = vec![(a, b)];
    while let Some(pair) = open.pop() {
        let same = match pair {
            (ValueType::Tensor(x), ValueType::Tensor(y)) => {
                x.dtype == y.dtype && x.device == y.device && f.sizes.all_same(&x.sizes, &y.sizes)
            }
            (ValueType::SymInt(x), ValueType::SymInt(y)) => f.sizes.same(*x, *y),
            (ValueType::Many(x), ValueType::Many(y)) => {
                open.extend(x.iter().zip(y.iter()));
                x.len() == y.len()
            }
            // Names of objects and numbers of bodies are each graph's own.
            (ValueType::Other(_), ValueType::Other(_)) => true,
            (x, y) => x == y,
        };
        if !same {
            return false;
        }
    }
    true
}

fn by_callee(f: &mut Functional<'_>, side: Side) -> KeyedMap<String, Vec<NodeId>> {
    let view = f.view(side);
    let mut out: KeyedMap<String, Vec<NodeId>> = KeyedMap::default();
    for node in view.nodes(BodyId::ROOT).filter(|n| view.kind(*n) == NodeKind::Call) {
        let callee = stated(f, side, node).map_or(view.target(node), |o| &o.target).to_string();
        out.entry(callee).or_default().push(node);
    }
    out
}
