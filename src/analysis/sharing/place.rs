//! Places: the values of a graph, results of multi-output calls told apart.
//!
//! Promises: a `getitem` and the result that it takes are one [`Place`], so that nobody reasons about tuples. Leaves to
//! `storage`: which places share memory.

use smallvec::{SmallVec, smallvec};

use crate::graph::{Arg, NodeId, NodeKind, ValueType, View};

/// Takes one result of several, by number.
pub const GETITEM: &str = "_operator.getitem";

/// One result of one node.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The node that makes the value: never a `getitem` of a call.
    pub node: NodeId,
    /// Which of its results; [`Place::WHOLE`] for the only one, or for all as a tuple.
    pub item: u32,
}

impl Place {
    /// The item of a value that is not taken out of a tuple.
    pub const WHOLE: u32 = u32::MAX;

    /// Returns all that a node gives.
    pub fn of(node: NodeId) -> Self {
        Place { node, item: Place::WHOLE }
    }
}

/// Returns the call and the number that a `getitem` names.
pub fn getitem_of(view: &dyn View, node: NodeId) -> Option<(NodeId, u32)> {
    if view.kind(node) != NodeKind::Call || view.target(node) != GETITEM {
        return None;
    }
    match view.args(node) {
        [Arg::Node(of), Arg::Int(item)] => Some((*of, u32::try_from(*item).ok()?)),
        _ => None,
    }
}

/// Returns the value that `node` stands for.
pub fn place_of(view: &dyn View, node: NodeId) -> Place {
    match getitem_of(view, node) {
        Some((of, item)) if getitem_of(view, of).is_none() => Place { node: of, item },
        _ => Place::of(node),
    }
}

/// Returns every value that `node` stands for: the items of a tuple or list (of an unknown number: those that are taken), else itself.
pub fn places_of(view: &dyn View, node: NodeId) -> SmallVec<[Place; 2]> {
    if getitem_of(view, node).is_some() {
        return smallvec![place_of(view, node)];
    }
    match view.ty(node) {
        ValueType::Many(items) => {
            (0..u32::try_from(items.len()).unwrap_or(Place::WHOLE)).map(|item| Place { node, item }).collect()
        }
        ValueType::Unknown | ValueType::Other(_) => {
            let taken = view.users_in_order(node).into_iter().map(|u| place_of(view, u)).filter(|p| p.node == node);
            let mut places: SmallVec<[Place; 2]> = taken.chain([Place::of(node)]).collect();
            places.sort_unstable();
            places.dedup();
            places
        }
        _ => smallvec![Place::of(node)],
    }
}

/// Returns the type of a value.
pub fn type_of(view: &dyn View, place: Place) -> &ValueType {
    match view.ty(place.node) {
        whole if place.item == Place::WHOLE => whole,
        ValueType::Many(items) => items.get(place.item as usize).unwrap_or(&ValueType::Unknown),
        // Nobody said what the call gives: what takes the item says what that is.
        _ => {
            let taken = view.users_in_order(place.node).into_iter().find(|u| place_of(view, *u) == place);
            taken.map_or(&ValueType::Unknown, |u| view.ty(u))
        }
    }
}

/// The same, for whoever came to the value through `carrier`: that says what it is where nobody said what the call gives.
pub(in crate::analysis) fn type_of_item(view: &dyn View, place: Place, carrier: NodeId) -> &ValueType {
    match view.ty(place.node) {
        ValueType::Many(_) => type_of(view, place),
        _ if place.item != Place::WHOLE && carrier != place.node => view.ty(carrier),
        _ => type_of(view, place),
    }
}

/// Returns the nodes through which others name a value: the node itself, or its `getitem`s.
pub fn carriers(view: &dyn View, place: Place) -> Vec<NodeId> {
    let mut out = vec![place.node];
    if place.item != Place::WHOLE {
        let items = view.users_in_order(place.node);
        out.extend(items.into_iter().filter(|u| place_of(view, *u) == place));
    }
    out
}
