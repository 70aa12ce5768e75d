//! Storages and their versions: which values share memory, and which writes that memory sees.
//!
//! A storage is named by the [`Place`] where its memory is born: an input, or a fresh result. Views are views of it.
//! Storages that *may* overlap (a conditional view, a result of a body, whatever operators that nobody described were given or
//! gave, inputs that the host says may be one) form a group and see each other's writes.
//!
//! An operator that nobody described may write all memory that it can know: what it is given, inputs, tensors of the module, and
//! whatever such operators were given or gave before.
//!
//! Promises: (1) every write to a storage is an [`Event`] of its group, events are in program order; (2) a value that shares
//! memory surely or possibly is in the group, whichever of them is asked for first; (3) what is asked of one storage costs what
//! uses it, not the graph, and the calls of operators that nobody described; (4) nothing
//! recurses. Leaves to others: what a write means (`verify`), whether streams respect the order (`streams`).

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::analysis::call::{Bodies, Known, opaque_calls, takes_operator, writes};
use crate::analysis::sharing::may_share::{Home, Shares, home_of_typed, tensor_operands};
use crate::analysis::sharing::place::{Place, getitem_of, places_of};
use crate::analysis::sharing::results;
use crate::analysis::sharing::results::Reached;
use crate::graph::{Arg, BodyId, InputKind, NodeId, NodeKind, OutputKind, StrId, ValueType, View};
use crate::ops::{Operator, Registry, SideEffect};
use crate::sym::{KeyedIndexMap, KeyedMap};

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
    /// Where the writes of a version stand among the events.
    spans: FxHashMap<Stamp, (usize, usize)>,
    /// Where the births of those that have a say stand in program order.
    /// Of a few, nothing: these are looked through.
    ranks: FxHashMap<Place, usize>,
    /// These storages, in that order, each with when it was born: right behind the call; what the caller gives is there at 0.
    born: Vec<(u64, Place)>,
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
        let first = self.spans.get(&stamp).map(|(first, _)| *first);
        first.and_then(|i| i.checked_sub(1)).and_then(|i| self.events.get(i)).map_or(Stamp::Birth, |e| e.stamp)
    }

    /// Returns the writes of one version.
    pub fn writes(&self, stamp: Stamp) -> &[Event] {
        let span = self.spans.get(&stamp).and_then(|(first, end)| self.events.get(*first..*end));
        span.unwrap_or(&[])
    }

    /// Returns the how-many-th storage of the group was born there; `None` for one that has no say in what others hold.
    pub fn rank(&self, origin: Place) -> Option<usize> {
        match self.born.len() {
            0..=FEW_BORN => self.born.iter().position(|(_, place)| *place == origin),
            _ => self.ranks.get(&origin).copied(),
        }
    }

    /// Returns the storages, as ranks, that were born with a version or after it, by calls before `order`; with [`Stamp::Birth`]
    /// also those that the caller gives.
    pub fn born_since(&self, version: Stamp, order: u64) -> std::ops::Range<usize> {
        let since = self.writes(version).first().map_or(0, |e| e.order.saturating_add(1));
        self.born.partition_point(|(b, _)| *b < since)..self.born.partition_point(|(b, _)| *b <= order)
    }

    /// Returns where the storage of that rank was born.
    pub fn ranked(&self, rank: usize) -> Option<Place> {
        self.born.get(rank).map(|(_, origin)| *origin)
    }

    /// Returns whether writes to one storage may be seen in another.
    pub fn is_shared(&self) -> bool {
        self.born.len() > 1
    }

    fn settle(&mut self, view: &dyn View, idle: &FxHashSet<Place>) {
        self.events.sort_by_key(|e| (e.order, e.stamp, e.place));
        self.events.dedup();
        for (i, event) in self.events.iter().enumerate() {
            let end = i.saturating_add(1);
            self.spans.entry(event.stamp).and_modify(|span| span.1 = end).or_insert((i, end));
        }
        let born = |p: &Place| match view.kind(p.node) {
            NodeKind::Call => view.place(p.node).map_or(0, |(_, order)| order.saturating_add(1)),
            _ => 0,
        };
        let order = |p: &Place| view.place(p.node).map(|(_, order)| order);
        self.origins.sort_by_cached_key(|p| (born(p), order(p), *p));
        self.born = self.origins.iter().filter(|p| !idle.contains(p)).map(|p| (born(p), *p)).collect();
        if self.born.len() > FEW_BORN {
            self.ranks = self.born.iter().enumerate().map(|(i, (_, p))| (*p, i)).collect();
        }
        self.members.sort_unstable();
    }
}

/// So many storages are looked through for one.
const FEW_BORN: usize = 8;

/// Places that were seen: a few are looked through.
#[derive(Default)]
struct Seen {
    few: SmallVec<[Place; FEW_BORN]>,
    many: FxHashSet<Place>,
}

impl Seen {
    /// Returns whether a place is new.
    fn insert(&mut self, place: Place) -> bool {
        if self.many.is_empty() {
            if self.few.contains(&place) {
                return false;
            }
            if self.few.len() < FEW_BORN {
                self.few.push(place);
                return true;
            }
            self.many.extend(self.few.iter().copied());
        }
        self.many.insert(place)
    }

    fn contains(&self, place: Place) -> bool {
        if self.many.is_empty() { self.few.contains(&place) } else { self.many.contains(&place) }
    }
}

/// What operators that nobody described can know of memory.
#[derive(Clone, Debug, Default)]
struct World {
    /// Their calls, in order.
    calls: Vec<(u64, NodeId)>,
    /// Whatever they were given or gave, and since when.
    known: FxHashMap<Place, u64>,
}

/// Who uses a node: those that take one result out of its tuple, by the number of the result, and all others, in order.
#[derive(Clone, Debug, Default)]
struct Items {
    taken: FxHashMap<u32, Vec<NodeId>>,
    others: Vec<NodeId>,
}

/// Pairs of inputs, by name, that the host says may be the same memory.
pub type MayAlias = [(String, String)];

/// Storages of one graph, found as they are asked for.
pub struct Storages<'a> {
    pub(super) view: &'a dyn View,
    pub(super) registry: &'a Registry,
    may_alias: &'a MayAlias,
    homes: FxHashMap<Place, Home>,
    origins: FxHashMap<Place, Place>,
    firsts: FxHashMap<Place, Place>,
    groups: FxHashMap<Place, Arc<Group>>,
    bodies: Bodies,
    reached: FxHashMap<BodyId, Arc<[Reached]>>,
    /// How many bodies are being looked into, one inside the other.
    depth: usize,
    items: FxHashMap<NodeId, Arc<Items>>,
    flows: FxHashMap<NodeId, Arc<Flow>>,
    world: Option<Arc<World>>,
    inputs: Option<Arc<KeyedMap<&'a str, NodeId>>>,
    attributes: Option<Arc<FxHashMap<StrId, Vec<NodeId>>>>,
    /// Nodes that are one tensor of the module, where there are several.
    targets: Option<FxHashMap<NodeId, Arc<[NodeId]>>>,
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
            firsts: FxHashMap::default(),
            groups: FxHashMap::default(),
            bodies: Bodies::default(),
            reached: FxHashMap::default(),
            depth: 0,
            items: FxHashMap::default(),
            flows: FxHashMap::default(),
            world: None,
            inputs: None,
            attributes: None,
            targets: None,
            finals: None,
        }
    }

    /// Returns in which operands' memory a value (may) lie.
    pub fn home(&mut self, place: Place) -> Home {
        if let Some(home) = self.homes.get(&place) {
            return home.clone();
        }
        let home = match self.runs_bodies(place.node) {
            true => self.home_of_result(place),
            false => home_of_typed(self.view, self.registry, place, self.type_of(place)),
        };
        self.homes.insert(place, home.clone());
        home
    }

    fn runs_bodies(&self, node: NodeId) -> bool {
        self.view.kind(node) == NodeKind::Call
            && self.registry.operator_of(self.view, node).is_some_and(|o| o.effects.side == Some(SideEffect::Control))
    }

    /// Whether results of one call may lie in memory that another of them lies in.
    fn may_be_one_memory(&self, node: NodeId) -> bool {
        let may_be = |o: &Operator| o.facts.one_memory || o.effects.side == Some(SideEffect::Control);
        self.view.kind(node) == NodeKind::Call && self.registry.operator_of(self.view, node).is_some_and(may_be)
    }

    /// A result of bodies: what they return lies in operands, in memory that another result lies in too, or is new.
    fn home_of_result(&mut self, place: Place) -> Home {
        if !crate::analysis::sharing::may_share::holds_tensor(self.type_of(place)) {
            return Home::new();
        }
        let bodies = bodies_called(self.view, place.node);
        let mut reached = Vec::new();
        for body in &bodies {
            reached.push(self.reached(*body));
        }
        results::home_of(self.view, place, &bodies, &reached)
    }

    /// Returns for each result of a body in which memory it may lie.
    fn reached(&mut self, body: BodyId) -> Arc<[Reached]> {
        if let Some(known) = self.reached.get(&body) {
            return known.clone();
        }
        // An empty list says nothing of any result: then all is possible. So it is for bodies nested too deeply.
        if self.depth >= MAX_NESTED_BODIES {
            return Arc::from([]);
        }
        self.depth = self.depth.saturating_add(1);
        let found: Arc<[Reached]> = results::returned(self.view, body).into_iter().map(|a| self.reach(&a)).collect();
        self.depth = self.depth.saturating_sub(1);
        self.reached.insert(body, found.clone());
        found
    }

    fn reach(&mut self, returned: &Arg) -> Reached {
        let mut out = Reached::default();
        let mut open: Vec<Place> = returned.nodes().flat_map(|n| places_of(self.view, n)).collect();
        let mut seen = FxHashSet::default();
        while let Some(place) = open.pop() {
            if !seen.insert(place) {
                continue;
            }
            let home = self.home(place);
            match self.view.kind(place.node) {
                NodeKind::Placeholder => out.placeholders.push(place.node),
                _ if home.is_empty() || home.iter().any(|s| matches!(s, Shares::Maybe(_))) => out.births.push(place),
                _ => {}
            }
            open.extend(home.iter().map(|s| s.place()));
        }
        out.births.sort_unstable();
        out
    }

    /// Returns the type of a value.
    pub fn type_of(&mut self, place: Place) -> &'a ValueType {
        match self.view.ty(place.node) {
            whole if place.item == Place::WHOLE => whole,
            ValueType::Many(items) => items.get(place.item as usize).unwrap_or(&ValueType::Unknown),
            _ => {
                let items = self.items(place.node);
                let taken = items.taken.get(&place.item).and_then(|nodes| nodes.first());
                taken.map_or(&ValueType::Unknown, |n| self.view.ty(*n))
            }
        }
    }

    /// Returns every value that a node stands for: the items of a tuple (of an unknown number: those that are taken), else itself.
    pub fn places(&mut self, node: NodeId) -> Vec<Place> {
        match self.view.ty(node) {
            ValueType::Unknown | ValueType::Other(_) if getitem_of(self.view, node).is_none() => {
                let mut taken: Vec<u32> = self.items(node).taken.keys().copied().collect();
                taken.sort_unstable();
                taken.into_iter().map(|item| Place { node, item }).chain([Place::of(node)]).collect()
            }
            _ => places_of(self.view, node).into_vec(),
        }
    }

    fn items(&mut self, node: NodeId) -> Arc<Items> {
        if let Some(known) = self.items.get(&node) {
            return known.clone();
        }
        let mut items = Items::default();
        for user in self.view.users_in_order(node) {
            match getitem_of(self.view, user) {
                Some((of, item)) if of == node => items.taken.entry(item).or_default().push(user),
                _ => items.others.push(user),
            }
        }
        let items = Arc::new(items);
        self.items.insert(node, items.clone());
        items
    }

    /// Returns the nodes through which others name a value: the node itself, or its `getitem`s.
    pub fn carriers(&mut self, place: Place) -> SmallVec<[NodeId; 2]> {
        if place.item == Place::WHOLE {
            return smallvec![place.node];
        }
        let items = self.items(place.node);
        let taken = items.taken.get(&place.item).map(Vec::as_slice).unwrap_or(&[]);
        [place.node].into_iter().chain(taken.iter().copied()).collect()
    }

    /// What operators that nobody described can know; found once.
    fn world(&mut self) -> Arc<World> {
        if let Some(known) = &self.world {
            return known.clone();
        }
        let mut world = World::default();
        for node in opaque_calls(self.view, self.registry, &mut self.bodies) {
            let order = self.view.place(node).map_or(0, |(_, order)| order);
            world.calls.push((order, node));
            let own = self.places(node);
            for place in tensor_operands(self.view, node).into_iter().chain(own) {
                world.known.entry(place).or_insert(order);
            }
        }
        // What they were not given they may know all the same, and give back.
        if !world.calls.is_empty() {
            let attributes = self.attributes();
            let lasting = placeholders(self.view, BodyId::ROOT).into_iter().chain(attributes);
            world.known.extend(lasting.map(|n| (Place::of(n), 0)));
        }
        let world = Arc::new(world);
        self.world = Some(world.clone());
        world
    }

    /// Returns the nodes that name tensors of the module. Costs a walk, once, where the graph names any.
    pub fn attributes(&mut self) -> Vec<NodeId> {
        self.named_tensors().values().flatten().copied().collect()
    }

    /// Other nodes that are the same parameter, buffer or tensor of the module, by its target.
    fn of_one_target(&mut self, node: NodeId) -> Vec<Place> {
        let view = self.view;
        let is_input = view.kind(node) == NodeKind::Placeholder;
        if !is_input && view.kind(node) != NodeKind::GetAttr {
            return Vec::new();
        }
        if self.targets.is_none() {
            let inputs = self.inputs.get_or_insert_with(|| Arc::new(inputs_by_name(view))).clone();
            let mut targets: KeyedIndexMap<Box<str>, Vec<NodeId>> = KeyedIndexMap::default();
            for spec in view.signature().map_or(&[][..], |s| &s.inputs) {
                if let (Some(target), Some(node)) = (&spec.target, inputs.get(&*spec.name)) {
                    targets.entry(target.clone()).or_default().push(*node);
                }
            }
            for (target, nodes) in self.named_tensors().iter() {
                targets.entry(view.texts().text(*target).into()).or_default().extend(nodes);
            }
            let mut one: FxHashMap<NodeId, Arc<[NodeId]>> = FxHashMap::default();
            for nodes in targets.into_values().filter(|nodes| nodes.len() > 1) {
                let nodes: Arc<[NodeId]> = nodes.into();
                one.extend(nodes.iter().map(|n| (*n, nodes.clone())));
            }
            self.targets = Some(one);
        }
        let all = self.targets.as_ref().and_then(|t| t.get(&node));
        all.into_iter().flat_map(|all| all.iter()).filter(|n| **n != node).map(|n| Place::of(*n)).collect()
    }

    /// Nodes that name a tensor of the module, by its target.
    fn named_tensors(&mut self) -> Arc<FxHashMap<StrId, Vec<NodeId>>> {
        if let Some(known) = &self.attributes {
            return known.clone();
        }
        let view = self.view;
        let mut found: FxHashMap<StrId, Vec<NodeId>> = FxHashMap::default();
        for node in view.nodes(BodyId::ROOT).take_while(|_| view.names_attributes()) {
            if view.kind(node) == NodeKind::GetAttr && !matches!(view.ty(node), ValueType::Body(_)) {
                found.entry(view.target_id(node)).or_default().push(node);
            }
        }
        let found = Arc::new(found);
        self.attributes = Some(found.clone());
        found
    }

    /// Returns the calls of operators that nobody described, in order.
    pub fn opaque_calls(&mut self) -> Vec<NodeId> {
        self.world().calls.iter().map(|(_, node)| *node).collect()
    }

    /// Returns whether a call of the graph itself is of an operator that nobody described, or runs one.
    pub fn is_opaque_call(&mut self, node: NodeId) -> bool {
        let Some((_, order)) = self.view.place(node) else { return false };
        self.world().calls.binary_search(&(order, node)).is_ok()
    }

    /// Returns whether operators that nobody described were given a value, or gave it.
    pub(super) fn is_known_to_opaque(&mut self, place: Place) -> bool {
        self.world().known.contains_key(&place)
    }

    /// Returns the operand of which a value surely is a view, or which it is.
    pub fn parent(&mut self, place: Place) -> Option<Shares> {
        match self.home(place).as_slice() {
            [one @ (Shares::Same(_) | Shares::View(_))] => Some(*one),
            _ => None,
        }
    }

    /// Returns the first value that a value surely is: a chain of writes gives one tensor back, each time under another name.
    pub fn first_of_same(&mut self, place: Place) -> Place {
        let mut chain = Vec::new();
        let mut at = place;
        let first = loop {
            if let Some(known) = self.firsts.get(&at) {
                break *known;
            }
            match self.parent(at) {
                Some(Shares::Same(above)) => {
                    chain.push(at);
                    at = above;
                }
                _ => break at,
            }
        };
        for place in chain {
            self.firsts.insert(place, first);
        }
        first
    }

    /// Returns the views by which a value comes from where its memory is born, the last first, and that place.
    pub fn views(&mut self, place: Place) -> (Vec<Place>, Place) {
        let mut chain = Vec::new();
        let mut at = self.first_of_same(place);
        while let Some(shares) = self.parent(at) {
            chain.push(at);
            at = self.first_of_same(shares.place());
        }
        (chain, at)
    }

    /// Returns where the memory of a value is born.
    pub fn origin(&mut self, place: Place) -> Place {
        if let Some(known) = self.origins.get(&place) {
            return *known;
        }
        let mut chain: SmallVec<[Place; 4]> = SmallVec::new();
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

    /// Returns every value whose content a call may change.
    pub fn written_by(&mut self, node: NodeId) -> Vec<Place> {
        let view = self.view;
        let may_write = match Known::of(view, self.registry, node) {
            Known::As(operator, bound) => {
                operator.effects.side == Some(SideEffect::Control)
                    || (0..bound.args.len()).any(|i| writes(operator, &bound, i))
            }
            Known::Not => true,
        };
        let mut out = Vec::new();
        for operand in tensor_operands(view, node).into_iter().filter(|_| may_write) {
            let group = self.group(operand);
            if !group.writes(Stamp::Write(node)).is_empty() {
                out.extend(group.members.iter().copied());
            }
        }
        out.sort_unstable();
        out.dedup();
        out
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
        let mut seen = Seen::default();
        let mut open: Open = smallvec![origin];
        let world = self.world();
        // Since when operators that nobody described can know of this memory.
        let mut known: Option<u64> = None;
        let mut linked = false;
        let mut siblings: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(place) = open.pop() {
            if !seen.insert(place) {
                continue;
            }
            group.members.push(place);
            let home = self.home(place);
            if self.origin(place) == place {
                group.origins.push(place);
                open.extend(self.partners(place));
                let lasts = matches!(self.view.kind(place.node), NodeKind::Placeholder | NodeKind::GetAttr);
                let in_root = self.view.place(place.node).is_some_and(|(body, _)| body == BodyId::ROOT);
                known = if lasts && in_root { Some(0) } else { known };
            }
            if let Some(since) = world.known.get(&place) {
                known = Some(known.map_or(*since, |k| k.min(*since)));
                // What one of them was given, another may keep and give back.
                if !std::mem::replace(&mut linked, true) {
                    open.extend(world.known.keys().copied());
                }
            }
            open.extend(home.iter().map(|s| s.place()));
            if self.may_be_one_memory(place.node) && siblings.insert(place.node) {
                let results = self.places(place.node);
                for result in results {
                    if self.home(result).iter().any(|s| s.place().node == place.node) {
                        open.push(result);
                        open.extend(self.home(result).iter().map(|s| s.place()));
                    }
                }
            }
            // A tuple's users are its items' and those of the calls that take it whole.
            for carrier in self.carriers(place) {
                let users = match carrier == place.node && place.item != Place::WHOLE {
                    true => self.items(carrier).others.clone(),
                    false => self.view.users_in_order(carrier),
                };
                for user in users {
                    self.follow(place, carrier, user, &mut group, &mut open);
                }
            }
        }
        if let Some(since) = known {
            self.add_unknown_writes(&mut group, &world, since);
        }
        self.add_finals(&mut group, &seen);
        let idle = self.idle(&group);
        group.settle(self.view, &idle);
        group
    }

    /// Operators that nobody described may write what they were not given.
    fn add_unknown_writes(&self, group: &mut Group, world: &World, since: u64) {
        let Some(first) = group.origins.iter().min().copied() else { return };
        let given: FxHashSet<Stamp> = group.events.iter().map(|e| e.stamp).collect();
        for (order, node) in world.calls.iter().filter(|(order, _)| *order >= since) {
            let stamp = Stamp::Write(*node);
            if !given.contains(&stamp) {
                group.events.push(Event { order: *order, stamp, place: first, origin: first });
            }
        }
    }

    fn add_finals(&mut self, group: &mut Group, members: &Seen) {
        let finals = self.finals().to_vec();
        for (input, _, number) in finals.into_iter().filter(|(input, _, _)| members.contains(*input)) {
            let stamp = Stamp::Final(number);
            let order = FINAL_ORDER.saturating_add(u64::from(number));
            group.events.push(Event { order, stamp, place: input, origin: input });
        }
    }

    fn partners(&mut self, place: Place) -> Vec<Place> {
        let named = self.of_one_target(place.node);
        if !named.is_empty() || self.view.kind(place.node) == NodeKind::GetAttr {
            return named;
        }
        if self.may_alias.is_empty() || self.view.kind(place.node) != NodeKind::Placeholder {
            return Vec::new();
        }
        let name = self.view.name(place.node);
        let others = self.may_alias.iter().filter_map(|(a, b)| match () {
            () if a == name => Some(b),
            () if b == name => Some(a),
            () => None,
        });
        let view = self.view;
        let inputs = self.inputs.get_or_insert_with(|| Arc::new(inputs_by_name(view))).clone();
        others.filter_map(|other| inputs.get(other.as_str())).map(|n| Place::of(*n)).collect()
    }

    fn follow(&mut self, place: Place, carrier: NodeId, user: NodeId, group: &mut Group, open: &mut Open) {
        if self.view.kind(user) != NodeKind::Call || getitem_of(self.view, user).is_some_and(|(n, _)| n == place.node) {
            return;
        }
        let order = self.view.place(user).map_or(0, |(_, order)| order);
        let origin = self.origin(place);
        let flow = self.flow(user);
        if flow.writes_all || flow.writes(carrier) {
            group.events.push(Event { order, stamp: Stamp::Write(user), place, origin });
        }
        open.extend(flow.any.iter().copied());
        open.extend(flow.lies_in(place));
    }

    /// Returns what a call does with its operands' memory; of calls with many operands it is kept, for each of them asks.
    fn flow(&mut self, user: NodeId) -> Arc<Flow> {
        if let Some(known) = self.flows.get(&user) {
            return known.clone();
        }
        let flow = Arc::new(self.find_flow(user));
        if self.view.operands(user).nth(FEW_OPERANDS).is_some() {
            self.flows.insert(user, flow.clone());
        }
        flow
    }

    fn find_flow(&mut self, user: NodeId) -> Flow {
        let mut flow = Flow::default();
        let view = self.view;
        let (operator, bound) = match Known::of(view, self.registry, user) {
            Known::As(operator, bound) => (operator, bound),
            Known::Not => return Flow { writes_all: true, any: self.places(user), ..flow },
        };
        let runs_others = operator.effects.side == Some(SideEffect::Control)
            || takes_operator(view, user) && self.bodies.is_opaque(view, self.registry, user);
        if runs_others {
            flow.writes_all = self.bodies.write(view, self.registry, user);
        } else {
            for param in (0..bound.args.len()).filter(|i| writes(operator, &bound, *i)) {
                flow.written.extend(bound.get(param).nodes());
            }
        }
        // Of results beyond count, those of a tuple that surely shares nothing need no look each.
        let returns = &operator.effects.returns;
        if runs_others || returns.is_empty() || !returns.iter().all(|r| r.is_empty()) {
            for result in self.places(user) {
                flow.lies_in.extend(self.home(result).into_iter().map(|home| (home.place(), result)));
            }
        }
        flow.written.sort_unstable();
        flow.lies_in.sort_by_key(|(operand, _)| *operand);
        flow
    }
}

/// What a call does with the memory of its operands.
#[derive(Debug, Default)]
struct Flow {
    /// It writes whatever it is given.
    writes_all: bool,
    /// What it writes, in order.
    written: SmallVec<[NodeId; 2]>,
    /// Results that may lie in any operand.
    any: Vec<Place>,
    /// Operands in their order, each with a result that may lie in it.
    lies_in: SmallVec<[(Place, Place); 1]>,
}

impl Flow {
    fn writes(&self, operand: NodeId) -> bool {
        self.written.binary_search(&operand).is_ok()
    }

    /// The results that may lie in an operand.
    fn lies_in(&self, operand: Place) -> impl Iterator<Item = Place> {
        let first = self.lies_in.partition_point(|(own, _)| *own < operand);
        self.lies_in.iter().skip(first).take_while(move |(own, _)| *own == operand).map(|(_, result)| *result)
    }
}

/// Places that are still to be looked at.
type Open = SmallVec<[Place; 8]>;

/// Up to so many operands each asks anew what the call does.
const FEW_OPERANDS: usize = 8;

/// How deep bodies are looked into: this follows bodies in bodies, not the graph.
const MAX_NESTED_BODIES: usize = 32;

/// Where the final copies of the signature stand in the order of a body: behind every node.
pub const FINAL_ORDER: u64 = 1 << 63;

/// Returns the bodies that a call runs: its operands that are sub-graphs.
pub fn bodies_called(view: &dyn View, node: NodeId) -> Vec<BodyId> {
    view.operands(node)
        .filter_map(|n| match view.ty(n) {
            crate::graph::ValueType::Body(body) if view.kind(n) == NodeKind::GetAttr => Some(*body),
            _ => None,
        })
        .collect()
}

/// Returns the placeholders of the graph by name.
pub fn inputs_by_name(view: &dyn View) -> KeyedMap<&str, NodeId> {
    placeholders(view, BodyId::ROOT).into_iter().map(|n| (view.name(n), n)).collect()
}

/// Returns the placeholders of a body, in order.
pub fn placeholders(view: &dyn View, body: BodyId) -> Vec<NodeId> {
    view.nodes(body).take_while(|n| view.kind(*n) == NodeKind::Placeholder).collect()
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
