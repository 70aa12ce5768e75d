//! Which values of a class stand for which, where some of it are equal over the reals only.
//!
//! A class says neither which of its values shows the NaN of which, nor that what is computed of two of them is not computed of one twice. Promises: (1)
//! wherever a class holds several values of one graph, each of the graph as it was leads to each of the graph as it is, along what was shown, by way of each that stood for the class in a proof; (2) in neither graph
//! is anything computed of two of them: what cancels over the reals does not where it is rounded, and what is compared may be told apart.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Stamp, getitem_of, places_of};
use crate::graph::{BodyId, NodeId, NodeKind};
use crate::rules::meaning::Meant;
use crate::rules::table::{Meaning, meaning};
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::values::{Functional, bind};
use crate::verify::prove::carried::asks_sizes;
use crate::verify::prove::poles;
use crate::verify::prove::real::Reals;

/// How many classes with several values of a graph are looked at.
const CLASSES: usize = 16;

/// The values of each class, bit by bit, as it was and as it is.
type Classes = FxHashMap<ValueId, [FxHashSet<ValueId>; 2]>;

/// Returns the first node of which it is not shown that it stands for what is made of it.
pub fn are_shown(f: &mut Functional<'_>, reals: &Reals) -> Result<(), String> {
    let mut classes = Classes::default();
    for value in reals.pairs.iter().flat_map(|(a, b)| [*a, *b]) {
        classes.entry(f.store.find(value)).or_default();
    }
    let sides = [Side::Before, Side::After];
    if classes.is_empty() {
        return Ok(());
    }
    for (k, side) in sides.into_iter().enumerate() {
        each_value(f, side, |f, _, value| {
            let class = f.store.find(value);
            let own = f.store.exactly(value);
            if let Some(all) = classes.get_mut(&class).and_then(|all| all.get_mut(k)) {
                all.insert(own);
            }
        });
    }
    classes.retain(|_, values| values.iter().any(|own| own.len() > 1));
    if classes.is_empty() {
        return Ok(());
    }
    let lead = |f: &mut Functional<'_>, class: ValueId, values| all_lead(f, reals, class, values);
    if classes.len() > CLASSES || !classes.iter().all(|(class, values)| lead(f, *class, values)) {
        return Err(name_of_one(f, &classes));
    }
    sides.into_iter().try_for_each(|side| are_not_mixed(f, side, &classes))
}

/// Returns the name of a node that gives a value of some class.
fn name_of_one(f: &mut Functional<'_>, classes: &Classes) -> String {
    let mut found = None;
    for side in [Side::Before, Side::After] {
        let view = f.view(side);
        each_value(f, side, |f, node, value| {
            if classes.contains_key(&f.store.find(value)) {
                found = Some(view.name(node).to_string());
            }
        });
    }
    found.unwrap_or_default()
}

/// Looks at what each node of a graph gives.
fn each_value<'a>(f: &mut Functional<'a>, side: Side, mut look: impl FnMut(&mut Functional<'a>, NodeId, ValueId)) {
    let view = f.view(side);
    for node in view.nodes(BodyId::ROOT) {
        for value in given(f, side, node) {
            look(f, node, value);
        }
    }
}

/// Returns what a node gives, and what the memory that it writes holds then.
pub(super) fn given(f: &mut Functional<'_>, side: Side, node: NodeId) -> Vec<ValueId> {
    let places = places_of(f.view(side), node);
    let mut out: Vec<ValueId> = places.into_iter().map(|place| f.outcome(side, place)).collect();
    for place in f.side(side).storages.written_by(node) {
        out.push(f.value(side, place, Stamp::Write(node)));
    }
    out
}

/// Whether each value as it was leads to each as it is, along what was shown: and those that stood for the class are led to, and lead on.
fn all_lead(f: &mut Functional<'_>, reals: &Reals, class: ValueId, [before, after]: &[FxHashSet<ValueId>; 2]) -> bool {
    let ways: Vec<(ValueId, ValueId)> =
        reals.ways.iter().map(|(a, b)| (f.store.exactly(*a), f.store.exactly(*b))).collect();
    let led_to = |from: ValueId| {
        let (mut seen, mut open) = (FxHashSet::default(), vec![from]);
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                open.extend(ways.iter().filter(|(a, _)| *a == at).map(|(_, b)| *b));
            }
        }
        seen
    };
    let mut between: FxHashSet<ValueId> = FxHashSet::default();
    for one in &reals.looked_into {
        if f.store.find(*one) == class {
            between.insert(f.store.exactly(*one));
        }
    }
    let reaches = |from: &ValueId, all: &FxHashSet<ValueId>| all.is_subset(&led_to(*from));
    before.iter().all(|from| reaches(from, after) && reaches(from, &between))
        && between.iter().all(|from| reaches(from, after))
}

/// What a node is made of, of a class.
#[derive(Copy, Clone, PartialEq)]
enum Made {
    /// A value, bit by bit.
    Of(ValueId),
    /// What a node makes of one, and is of the class itself. Terms name operands by their class: which of it the bits are is not known.
    At(NodeId),
}

/// Returns the first node of a graph that is made of two values of a class.
fn are_not_mixed(f: &mut Functional<'_>, side: Side, classes: &Classes) -> Result<(), String> {
    let view = f.view(side);
    // Of each node: of which values of which classes it is made.
    let mut made: FxHashMap<NodeId, FxHashMap<ValueId, Made>> = FxHashMap::default();
    for node in view.nodes(BodyId::ROOT).filter(|n| view.kind(*n) != NodeKind::Output) {
        // What is always chosen is what is given, bit by bit.
        if let Some(chosen) = always_chosen(f, side, node) {
            let own = made.get(&chosen).cloned();
            made.extend(own.map(|own| (node, own)));
            continue;
        }
        if asks_sizes(f, side, node) {
            continue;
        }
        let mut own: FxHashMap<ValueId, Made> = FxHashMap::default();
        for (class, value) in view.operands(node).filter_map(|n| made.get(&n)).flatten() {
            if *own.entry(*class).or_insert(*value) != *value {
                return Err(view.name(node).to_string());
            }
        }
        let operator = f.registry.operator_of(view, node);
        // What moves elements gives those that it is made of, whichever of the class these are.
        let moves = operator.is_some_and(|o| o.facts.moves && o.effects.is_pure());
        for value in given(f, side, node) {
            let class = f.store.find(value);
            if classes.contains_key(&class) {
                let given = Made::Of(f.store.exactly(value));
                own.entry(class)
                    .and_modify(|of| *of = if *of == given || moves { *of } else { Made::At(node) })
                    .or_insert(given);
            }
        }
        // What is written may be read anywhere. What states a type asks for no element.
        let is_pure = operator.is_some_and(|o| o.effects.is_pure() || o.facts.states_type);
        if !own.is_empty() && view.kind(node) == NodeKind::Call && !is_pure && getitem_of(view, node).is_none() {
            return Err(view.name(node).to_string());
        }
        if !own.is_empty() {
            made.insert(node, own);
        }
    }
    Ok(())
}

/// Returns the operand that a choice always makes, of the type of the result: what decides it is made of numbers of the graph.
fn always_chosen(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<NodeId> {
    let view = f.view(side);
    let operator = f.registry.operator_of(view, node).filter(|o| meaning(&o.target) == Some(Meaning::Where))?;
    let bound = bind(operator, view, node)?;
    let (truth, first, second) = (bound.get(0).as_node()?, bound.get(1).as_node(), bound.get(2).as_node());
    let value = f.read(side, truth, node);
    let [few, _] = poles::TERMS;
    let holds = poles::looked_into(f, value, few, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        l.speaker.e.number(x.expr)
    })?;
    let chosen = if holds != 0 { first } else { second }?;
    (view.ty(chosen) == view.ty(node)).then_some(chosen)
}
