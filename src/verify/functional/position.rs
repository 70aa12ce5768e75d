//! Positions: how a certificate names a value, and finds it again.
//!
//! Promises: what `name` gives, `find` finds in the same two graphs; a value that no node of an outermost body gives has no name.

use crate::analysis::{Place, Stamp, places_of};
use crate::certificate::{Position, Version};
use crate::graph::{BodyId, NodeId, View};
use crate::sym::KeyedMap;
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::Functional;

/// The nodes of an outermost body, by name.
pub(in crate::verify) type Names<'a> = KeyedMap<&'a str, NodeId>;

/// Returns the nodes of a graph's outermost body, by name.
pub(in crate::verify) fn names(view: &dyn View) -> Names<'_> {
    let mut names = Names::default();
    for node in view.nodes(BodyId::ROOT) {
        names.insert(view.name(node), node);
    }
    names
}

/// Returns which node of a graph gives a value, alone or as one of several, or holds it once it was written.
pub(in crate::verify) fn given_by(f: &mut Functional<'_>, side: Side, value: ValueId) -> Option<Key> {
    let view = f.view(side);
    for node in view.nodes(BodyId::ROOT) {
        for place in places_of(view, node).into_iter().chain([Place::of(node)]) {
            let own = f.value(side, place, Stamp::Birth);
            f.settle(own);
            if f.store.find(own) == f.store.find(value) {
                return Some(Key { side, place, stamp: Stamp::Birth, aspect: Aspect::Value });
            }
        }
        let stamp = Stamp::Write(node);
        for place in f.side(side).storages.written_by(node) {
            let own = f.value(side, place, stamp);
            f.settle(own);
            if f.store.find(own) == f.store.find(value) {
                return Some(Key { side, place, stamp, aspect: Aspect::Value });
            }
        }
    }
    None
}

const ASPECTS: &[(Aspect, &str)] = &[
    (Aspect::Value, "value"),
    (Aspect::Layout, "layout"),
    (Aspect::Exact, "exact-layout"),
    (Aspect::Memory, "memory"),
];

const SIDES: &[(Side, &str)] = &[(Side::Before, "before"), (Side::After, "after")];

/// Returns where a value is found: one that has no place of its own, by a node that gives it, of that graph first.
pub(in crate::verify) fn name(f: &mut Functional<'_>, value: ValueId, first: Side) -> Option<Position> {
    let last = if first == Side::Before { Side::After } else { Side::Before };
    let known = f.store.key(value).or_else(|| given_by(f, first, value)).or_else(|| given_by(f, last, value));
    let Key { side, place, stamp, aspect } = known?;
    let view = f.view(side);
    let named = |node| view.place(node).filter(|(body, _)| *body == BodyId::ROOT).map(|_| view.name(node).to_string());
    let version = match stamp {
        Stamp::Birth => Version::Born,
        Stamp::Write(node) => Version::WrittenBy(named(node)?),
        Stamp::Final(number) => Version::FinalOutput(number),
    };
    let graph = SIDES.iter().find(|(s, _)| *s == side)?.1.to_string();
    let of = ASPECTS.iter().find(|(a, _)| *a == aspect)?.1.to_string();
    let result = (place.item != Place::WHOLE).then_some(place.item);
    Some(Position { graph, node: named(place.node)?, result, version, of })
}

/// Returns the value of a position: of a node that there is, at a version that its memory has.
pub(in crate::verify) fn find(
    f: &mut Functional<'_>,
    [before, after]: &[Names<'_>; 2],
    position: &Position,
) -> Option<ValueId> {
    let side = SIDES.iter().find(|(_, name)| *name == position.graph)?.0;
    let aspect = ASPECTS.iter().find(|(_, name)| *name == position.of)?.0;
    let names = if side == Side::Before { before } else { after };
    let place = Place { node: *names.get(&*position.node)?, item: position.result.unwrap_or(Place::WHOLE) };
    let is_result = place.item == Place::WHOLE || places_of(f.view(side), place.node).contains(&place);
    let stamp = match &position.version {
        Version::Born => Stamp::Birth,
        Version::WrittenBy(name) => Stamp::Write(*names.get(&**name)?),
        Version::FinalOutput(number) => Stamp::Final(*number),
    };
    let is_written = stamp == Stamp::Birth || !f.side(side).storages.group(place).writes(stamp).is_empty();
    (is_result && is_written).then(|| f.store.at(Key { side, place, stamp, aspect }))
}
