//! Storages and their versions: which values share memory, and which writes that memory sees.
//!
//! A storage is named by the [`Place`] where its memory is born: an input, or a fresh result. Views are views of it.
//! Storages that *may* overlap (a conditional view, an operator that nobody described, inputs that the host says may be
//! one) form a group and see each other's writes.
//!
//! Promises: (1) every write to a storage is an [`Event`] of its group, events are in program order; (2) a value that shares
//! memory surely or possibly is in the group; (3) what is asked of one storage costs what uses it, not the graph; (4) nothing
//! recurses. Leaves to others: what a write means (`verify`), whether streams respect the order (`streams`).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::place::{Place, carriers, getitem_of, place_of, places_of};
use super::sharing::{Home, Shares, home_of};
use crate::graph::{Arg, BodyId, InputKind, NodeId, NodeKind, OutputKind, View};
use crate::ops::{Bound, Operator, Registry, SideEffect};

/// Which version of a storage: as it was born, or after a write.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Stamp {
    /// As it was born.
    Birth,
    /// After the write of that node.
    Write(NodeId),
    /// After the final copy that output number so-and-so of the signature stands for.
    Final(u32),
}

/// A write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When, in program order of the body.
    pub order: u64,
    /// The version that it makes.
    pub stamp: Stamp,
    /// The value through which is written.
    pub place: Place,
    /// The storage that is written.
    pub origin: Place,
}

/// Storages that may overlap, with all writes to them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Group {
    /// Where the storages are born.
    pub origins: Vec<Place>,
    /// Every value in these storages.
    pub members: Vec<Place>,
    /// Writes, in program order; one node that writes two storages of the group has two events.
    pub events: Vec<Event>,
}

impl Group {
    /// Returns the version that a reader at `order` sees: that of the last write before it.
    pub fn version_at(&self, order: u64) -> Stamp {
        let before = self.events.partition_point(|e| e.order < order);
        before.checked_sub(1).and_then(|i| self.events.get(i)).map_or(Stamp::Birth, |e| e.stamp)
    }

    /// Returns the version that the caller finds.
    pub fn last_version(&self) -> Stamp {
        self.events.last().map_or(Stamp::Birth, |e| e.stamp)
    }

    /// Returns the version before the one that `stamp` names.
    pub fn version_before(&self, stamp: Stamp) -> Stamp {
        let first = self.events.iter().position(|e| e.stamp == stamp);
        first.and_then(|i| i.checked_sub(1)).and_then(|i| self.events.get(i)).map_or(Stamp::Birth, |e| e.stamp)
    }

    /// Returns the writes of one version.
    pub fn writes(&self, stamp: Stamp) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |e| e.stamp == stamp)
    }
}

/// Pairs of inputs, by name, that the host says may be the same memory.
pub type MayAlias = [(String, String)];

/// Storages of one graph, found as they are asked for.
pub struct Storages<'a> {
    view: &'a dyn View,
    registry: &'a Registry,
    may_alias: &'a MayAlias,
    homes: FxHashMap<Place, Home>,
    origins: FxHashMap<Place, Place>,
    groups: FxHashMap<Place, Arc<Group>>,
    writing_bodies: FxHashMap<BodyId, bool>,
    finals: Option<Vec<(Place, NodeId, u32)>>,
}

impl<'a> Storages<'a> {
    /// Returns the storages of a graph; nothing is computed yet.
    pub fn new(view: &'a dyn View, registry: &'a Registry, may_alias: &'a MayAlias) -> Self {
        Storages {
            view,
            registry,
            may_alias,
            homes: FxHashMap::default(),
            origins: FxHashMap::default(),
            groups: FxHashMap::default(),
            writing_bodies: FxHashMap::default(),
            finals: None,
        }
    }

    /// Returns in which operands' memory a value (may) lie.
    pub fn home(&mut self, place: Place) -> Home {
        if let Some(home) = self.homes.get(&place) {
            return home.clone();
        }
        let home = home_of(self.view, self.registry, place);
        self.homes.insert(place, home.clone());
        home
    }

    /// Returns the operand of which a value surely is a view, or which it is.
    pub fn parent(&mut self, place: Place) -> Option<Shares> {
        match self.home(place).as_slice() {
            [one @ (Shares::Same(_) | Shares::View(_))] => Some(*one),
            _ => None,
        }
    }

    /// Returns where the memory of a value is born.
    pub fn origin(&mut self, place: Place) -> Place {
        let mut chain = Vec::new();
        let mut at = place;
        let origin = loop {
            if let Some(known) = self.origins.get(&at) {
                break *known;
            }
            chain.push(at);
            match self.parent(at) {
                Some(shares) => at = shares.place(),
                None => break at,
            }
        };
        for place in chain {
            self.origins.insert(place, origin);
        }
        origin
    }

    /// Returns the group that the storage of a value belongs to.
    pub fn group(&mut self, place: Place) -> Arc<Group> {
        let origin = self.origin(place);
        if let Some(group) = self.groups.get(&origin) {
            return group.clone();
        }
        let group = Arc::new(self.explore(origin));
        for origin in &group.origins {
            self.groups.insert(*origin, group.clone());
        }
        group
    }

    /// Returns the version of a value's storage that a reader sees.
    pub fn version_for(&mut self, place: Place, reader: NodeId) -> Stamp {
        let order = self.view.place(reader).map_or(0, |(_, order)| order);
        self.group(place).version_at(order)
    }

    /// Returns the final copies that the signature stands for: input, value, number of the output.
    pub fn finals(&mut self) -> &[(Place, NodeId, u32)] {
        if self.finals.is_none() {
            self.finals = Some(final_copies(self.view));
        }
        self.finals.as_deref().unwrap_or(&[])
    }

    fn explore(&mut self, origin: Place) -> Group {
        let mut group = Group::default();
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        let mut open = vec![origin];
        while let Some(place) = open.pop() {
            if !seen.insert(place) {
                continue;
            }
            group.members.push(place);
            let home = self.home(place);
            if self.origin(place) == place {
                group.origins.push(place);
                open.extend(self.partners(place));
            }
            open.extend(home.iter().map(|s| s.place()));
            for carrier in carriers(self.view, place) {
                for user in self.view.users_in_order(carrier) {
                    self.follow(place, carrier, user, &mut group, &mut open);
                }
            }
        }
        self.add_finals(&mut group, &seen);
        group.events.sort_by_key(|e| (e.order, e.stamp, e.place));
        group.events.dedup();
        group.origins.sort_unstable();
        group.members.sort_unstable();
        group
    }

    fn add_finals(&mut self, group: &mut Group, members: &FxHashSet<Place>) {
        let finals = self.finals().to_vec();
        for (input, _, number) in finals.into_iter().filter(|(input, _, _)| members.contains(input)) {
            let stamp = Stamp::Final(number);
            let order = FINAL_ORDER.saturating_add(u64::from(number));
            group.events.push(Event { order, stamp, place: input, origin: input });
        }
    }

    fn partners(&self, place: Place) -> Vec<Place> {
        if self.may_alias.is_empty() || self.view.kind(place.node) != NodeKind::Placeholder {
            return Vec::new();
        }
        let name = self.view.name(place.node);
        let others = self.may_alias.iter().filter_map(|(a, b)| match () {
            () if a == name => Some(b),
            () if b == name => Some(a),
            () => None,
        });
        let inputs = inputs_by_name(self.view);
        others.filter_map(|other| inputs.get(other.as_str())).map(|n| Place::of(*n)).collect()
    }

    fn follow(&mut self, place: Place, carrier: NodeId, user: NodeId, group: &mut Group, open: &mut Vec<Place>) {
        if self.view.kind(user) != NodeKind::Call || getitem_of(self.view, user).is_some_and(|(n, _)| n == place.node) {
            return;
        }
        let order = self.view.place(user).map_or(0, |(_, order)| order);
        let origin = self.origin(place);
        let write = |group: &mut Group| {
            group.events.push(Event { order, stamp: Stamp::Write(user), place, origin });
        };
        let view = self.view;
        let operator = self.registry.operator_of(view, user);
        let bound = operator.and_then(|o| Bound::bind(&o.schema, view, view.args(user), view.kwargs(user)).ok());
        let (Some(operator), Some(bound)) = (operator, bound) else {
            write(group);
            open.extend(places_of(view, user));
            return;
        };
        if operator.effects.side == Some(SideEffect::Control) && self.has_writing_body(user) {
            write(group);
            open.extend(places_of(view, user));
            return;
        }
        for (param, arg) in bound.args.iter().enumerate() {
            if !arg.nodes().any(|n| n == carrier) {
                continue;
            }
            if operator.effects.params.get(param).is_some_and(|a| a.writes) && !is_spared(operator, &bound) {
                write(group);
            }
        }
        for result in places_of(view, user) {
            if self.home(result).iter().any(|s| s.place() == place) {
                open.push(result);
            }
        }
    }

    /// Returns whether a body that the node calls writes anything, returns an input, or is not understood.
    fn has_writing_body(&mut self, node: NodeId) -> bool {
        bodies_called(self.view, node).into_iter().any(|body| self.is_writing_body(body))
    }

    fn is_writing_body(&mut self, body: BodyId) -> bool {
        if let Some(known) = self.writing_bodies.get(&body) {
            return *known;
        }
        let mut writing = false;
        let mut open = vec![body];
        let mut seen = FxHashSet::default();
        while let Some(body) = open.pop().filter(|_| !writing) {
            if !seen.insert(body) {
                continue;
            }
            let mut next = self.view.first(body);
            while let Some(node) = next {
                writing |= match self.view.kind(node) {
                    NodeKind::Call => self
                        .registry
                        .operator_of(self.view, node)
                        .is_none_or(|o| o.effects.opaque || o.effects.writes()),
                    NodeKind::Output => self.returns_an_input(node),
                    NodeKind::Placeholder | NodeKind::GetAttr => false,
                };
                open.extend(bodies_called(self.view, node));
                next = self.view.next(node);
            }
        }
        self.writing_bodies.insert(body, writing);
        writing
    }

    fn returns_an_input(&mut self, output: NodeId) -> bool {
        let returned: Vec<NodeId> = self.view.args(output).iter().flat_map(Arg::nodes).collect();
        returned.into_iter().any(|n| {
            let origin = self.origin(place_of(self.view, n));
            self.view.kind(origin.node) == NodeKind::Placeholder && self.view.ty(origin.node).as_tensor().is_some()
        })
    }
}

/// Returns whether a call that may write without saying so does not: statistics are updated in training only.
fn is_spared(operator: &Operator, bound: &Bound<'_>) -> bool {
    let name = match &*operator.schema.name {
        "batch_norm" | "native_batch_norm" => "training",
        "instance_norm" => "use_input_stats",
        _ => return false,
    };
    operator.schema.param_index(name).is_some_and(|i| *bound.get(i) == Arg::Bool(false))
}

/// Where the final copies of the signature stand in the order of a body: behind every node.
pub const FINAL_ORDER: u64 = 1 << 63;

/// Returns the bodies that a call runs: its operands that are sub-graphs.
pub fn bodies_called(view: &dyn View, node: NodeId) -> Vec<BodyId> {
    let args = view.args(node).iter().chain(view.kwargs(node).iter().map(|(_, a)| a));
    args.flat_map(Arg::nodes)
        .filter_map(|n| match view.ty(n) {
            crate::graph::ValueType::Body(body) if view.kind(n) == NodeKind::GetAttr => Some(*body),
            _ => None,
        })
        .collect()
}

/// Returns the placeholders of the graph by name.
pub fn inputs_by_name(view: &dyn View) -> FxHashMap<&str, NodeId> {
    placeholders(view, BodyId::ROOT).into_iter().map(|n| (view.name(n), n)).collect()
}

/// Returns the placeholders of a body, in order.
pub fn placeholders(view: &dyn View, body: BodyId) -> Vec<NodeId> {
    let mut out = Vec::new();
    let mut next = view.first(body);
    while let Some(node) = next.filter(|n| view.kind(*n) == NodeKind::Placeholder) {
        out.push(node);
        next = view.next(node);
    }
    out
}

fn final_copies(view: &dyn View) -> Vec<(Place, NodeId, u32)> {
    let Some(signature) = view.signature() else { return Vec::new() };
    let Some(output) = view.last(BodyId::ROOT).filter(|n| view.kind(*n) == NodeKind::Output) else {
        return Vec::new();
    };
    let returned = view.args(output).first().and_then(Arg::items).unwrap_or(&[]);
    let inputs = inputs_by_name(view);
    let mut out = Vec::new();
    for (number, (spec, value)) in signature.outputs.iter().zip(returned).enumerate() {
        if !spec.kind.is_mutation() {
            continue;
        }
        let target = spec.target.as_deref().unwrap_or("");
        // A buffer and an input may have one name.
        let written = signature.inputs.iter().find(|i| match spec.kind {
            OutputKind::BufferMutation => i.kind == InputKind::Buffer && i.target.as_deref() == Some(target),
            OutputKind::ParameterMutation => i.kind == InputKind::Parameter && i.target.as_deref() == Some(target),
            _ => i.kind == InputKind::UserInput && &*i.name == target,
        });
        let written = written.and_then(|i| inputs.get(&*i.name));
        if let (Some(input), Arg::Node(value)) = (written, value) {
            out.push((Place::of(*input), *value, u32::try_from(number).unwrap_or(u32::MAX)));
        }
    }
    out
}
