//! Conflicts: pairs of accesses to common memory, at least one a write, that no schedule is held to order.
//!
//! What is asked of each pair of steps on two streams:
//! - *made*: a value is used only after its memory was first filled (in `max-autotune` data edges see to that);
//! - *memory*: accesses to one storage, or to storages that may overlap, at least one a write, whose parts of it are not
//!   known to be apart ([`Region`]); the final copies that the signature stands for are such accesses on the main stream;
//! - *known memory*: an opaque operator accesses all memory that it can know, also without arguments: inputs, attributes, whatever
//!   opaque operators take or give; it conflicts with every access to these;
//! - *effects*: draws, prints, collectives, opaque operators, control operators whose bodies write or have effects.
//!
//! Views touch no memory in captured graphs; in GE they may be operators, which read their operand where they stand and again
//! where they are used ([`Order::made`]).
//!
//! Promises: where nothing is reported, every two such accesses are ordered, in list order; one pass over the accesses, each costs
//! the number of streams; pairs are enumerated only where there is one. Leaves to `verify`: which of two graphs is charged.

use rustc_hash::{FxHashMap, FxHashSet};

use super::accesses::{Work, holds_tensor};
use super::order::{Order, Rules, Step};
use super::region::{Meeting, Region};
use super::scopes::nodes_of;
use crate::analysis::{Place, Shares, Storages, place_of, places_of, type_of};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, OutputKind, ValueType, View};
use crate::ops::Registry;

/// How many pairs of accesses are looked at one by one before the rest is left open.
const MAX_PAIRS: usize = 200_000;

/// How many operands, and views of each, are followed to see whether one step gives another what it uses.
const MAX_LOOKED_AT: usize = 16;

/// How many conflicts are reported.
pub const MAX_CONFLICTS: usize = 1000;

/// What two steps have in common.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// The second uses what the first makes.
    Made,
    /// Both access a storage.
    Memory,
    /// One is opaque, and the other accesses memory that it can know.
    Known,
    /// Both have effects.
    Effects,
}

/// Two steps that nothing orders, and should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// What is common.
    pub kind: Kind,
    /// The one that comes first in the list.
    pub first: NodeId,
    /// The other; the output node for a final copy.
    pub second: NodeId,
    /// Where the memory is born.
    pub storage: Option<Place>,
    /// Both surely access a common element.
    pub certain: bool,
}

/// All that was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conflicts {
    /// In order of kind and list.
    pub found: Vec<Conflict>,
    /// Whether there may be more than `found`.
    pub is_cut_short: bool,
}

struct Access {
    node: NodeId,
    step: Step,
    origin: Place,
    /// The part of the storage; `None` where it may be any.
    place: Option<Place>,
    /// Where it is not the node itself (a view made for it, a final copy): the one value that it uses.
    made: Option<Place>,
    writes: bool,
    certain: bool,
}

impl Conflicts {
    /// Returns the conflicts of a graph.
    pub fn of(
        view: &dyn View,
        registry: &Registry,
        rules: Rules,
        order: &Order,
        work: &Work,
        storages: &mut Storages<'_>,
    ) -> Self {
        let mut search = Search {
            view,
            registry,
            rules,
            order,
            storages,
            classes: Classes::default(),
            regions: FxHashMap::default(),
            asked: FxHashSet::default(),
            attributes: None,
            budget: MAX_PAIRS,
            out: Conflicts::default(),
        };
        if rules == Rules::ReduceOverhead {
            search.made(work);
        }
        search.join_storages(work);
        search.memory(work);
        search.known(work);
        search.effects(work);
        search.out.found.sort_by_key(|c| (c.kind, view.place(c.second), view.place(c.first)));
        search.out.found.dedup();
        search.out
    }
}

/// Storages that may overlap, in classes.
#[derive(Default)]
struct Classes {
    parents: FxHashMap<Place, Place>,
}

impl Classes {
    fn find(&mut self, place: Place) -> Place {
        let mut root = place;
        while let Some(up) = self.parents.get(&root).filter(|up| **up != root) {
            root = *up;
        }
        let mut at = place;
        while let Some(up) = self.parents.insert(at, root).filter(|up| *up != root && at != root) {
            at = up;
        }
        root
    }

    fn join(&mut self, a: Place, b: Place) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents.insert(a.max(b), a.min(b));
    }
}

struct Search<'s, 'a> {
    view: &'s dyn View,
    registry: &'s Registry,
    rules: Rules,
    order: &'s Order,
    storages: &'s mut Storages<'a>,
    classes: Classes,
    regions: FxHashMap<Place, Option<Region>>,
    /// Storages whose groups were asked for.
    asked: FxHashSet<Place>,
    /// Stands for all attributes of the module.
    attributes: Option<Place>,
    budget: usize,
    out: Conflicts,
}

impl Search<'_, '_> {
    fn report(&mut self, conflict: Conflict) {
        if self.out.found.len() < MAX_CONFLICTS {
            self.out.found.push(conflict);
        } else {
            self.out.is_cut_short = true;
        }
    }

    /// Captured graphs: data dependences order nothing.
    fn made(&mut self, work: &Work) {
        for (node, does) in &work.nodes {
            let Some(step) = self.order.step(*node).filter(|_| !does.is_view) else { continue };
            for touch in &does.touches {
                self.made_before(touch.place, step, *node, does.certain);
            }
        }
        for (_, value, step) in self.finals() {
            let node = self.view.last(BodyId::ROOT).unwrap_or(value);
            self.made_before(place_of(self.view, value), step, node, true);
        }
    }

    fn made_before(&mut self, place: Place, step: Step, node: NodeId, certain: bool) {
        let origin = self.storages.origin(place);
        let Some(first) = self.order.step(origin.node) else { return };
        if !self.order.is_before(first, step) {
            let certain = certain && self.storages.home(origin).is_empty();
            let storage = Some(origin);
            self.report(Conflict { kind: Kind::Made, first: origin.node, second: node, storage, certain });
        }
    }

    /// Final copies that write something: input, value, step.
    fn finals(&mut self) -> Vec<(Place, NodeId, Step)> {
        let steps: FxHashMap<u32, Step> = self.order.finals.iter().copied().collect();
        let finals = self.storages.finals().to_vec();
        let mut out = Vec::new();
        for (input, value, number) in finals {
            // A value that was written in place is there already.
            let at = self.storages.first_of_same(place_of(self.view, value));
            if let Some(step) = steps.get(&number).filter(|_| at != input) {
                out.push((input, value, *step));
            }
        }
        out
    }

    /// Puts storages that may overlap into one class, as far as something is written in them.
    fn join_storages(&mut self, work: &Work) {
        for (node, kind) in nodes_of(self.view, BodyId::ROOT) {
            if kind == NodeKind::GetAttr && !matches!(self.view.ty(node), ValueType::Body(_)) {
                // Two of them may name one tensor.
                let place = Place::of(node);
                let one = *self.attributes.get_or_insert(place);
                self.classes.join(one, place);
            }
        }
        let finals: Vec<Place> = self.finals().into_iter().map(|(input, _, _)| input).collect();
        for place in finals {
            self.join_group(place);
        }
        for (node, does) in &work.nodes {
            for touch in does.touches.iter().filter(|t| t.writes || does.is_control) {
                self.join_group(touch.place);
            }
            if !does.is_control && !does.opaque {
                continue;
            }
            // What bodies give back may lie in their operands, and what nobody described gives back too.
            let places: Vec<Place> =
                places_of(self.view, *node).into_iter().chain(does.touches.iter().map(|t| t.place)).collect();
            let mut first: Option<Place> = None;
            for place in places {
                self.join_group(place);
                let origin = self.storages.origin(place);
                let one = *first.get_or_insert(origin);
                self.classes.join(one, origin);
            }
        }
    }

    fn join_group(&mut self, place: Place) {
        let origin = self.storages.origin(place);
        if !self.asked.insert(origin) {
            return;
        }
        for other in &self.storages.group(origin).origins {
            self.asked.insert(*other);
            self.classes.join(origin, *other);
        }
    }

    /// Every access of the graph, in list order.
    fn accesses(&mut self, work: &Work) -> Vec<Access> {
        let mut out = Vec::new();
        for (node, does) in &work.nodes {
            let Some(step) = self.order.step(*node) else { continue };
            let made = self.order.made(*node);
            if does.is_view && self.rules == Rules::ReduceOverhead {
                continue;
            }
            for touch in &does.touches {
                let origin = self.storages.origin(touch.place);
                let access = |place: Option<Place>, step: Step, writes: bool, certain: bool| Access {
                    node: *node,
                    step,
                    origin,
                    place,
                    made: None,
                    writes,
                    certain,
                };
                let is_view = !matches!(self.storages.home(touch.place).as_slice(), [] | [Shares::Same(_)]);
                if let Some(made) = made.filter(|_| is_view) {
                    let view = Some(touch.place);
                    out.push(Access { made: view, ..access(view, made, false, false) });
                }
                if does.is_view {
                    // It reads no more than it gives.
                    for result in places_of(self.view, *node) {
                        out.push(access(Some(result), step, false, false));
                    }
                    continue;
                }
                // Who runs bodies or is not described may go beyond the part that it was given.
                let place = (!does.opaque && !does.is_control).then_some(touch.place);
                out.push(access(place, step, touch.writes, does.certain));
            }
            if let Some(writes) = does.attributes {
                let origin = *self.attributes.get_or_insert(Place { node: *node, item: 0 });
                out.push(Access { node: *node, step, origin, place: None, made: None, writes, certain: false });
            }
        }
        let end = self.view.last(BodyId::ROOT).filter(|n| self.view.kind(*n) == NodeKind::Output);
        for (input, value, step) in self.finals() {
            let node = end.unwrap_or(value);
            let value = place_of(self.view, value);
            let origin = self.storages.origin(value);
            out.push(Access {
                node,
                step,
                origin,
                place: Some(value),
                made: Some(value),
                writes: false,
                certain: true,
            });
            out.push(Access {
                node,
                step,
                origin: input,
                place: Some(input),
                made: Some(value),
                writes: true,
                certain: true,
            });
        }
        if let Some((end, step)) = end.and_then(|n| Some((n, self.order.step(n)?))) {
            let made = self.order.made(end);
            for value in self.returned(end) {
                let origin = self.storages.origin(value);
                let is_view = !matches!(self.storages.home(value).as_slice(), [] | [Shares::Same(_)]);
                if let Some(step) = made.filter(|_| is_view) {
                    let (place, made) = (Some(value), Some(value));
                    out.push(Access { node: end, step, origin, place, made, writes: false, certain: false });
                }
                out.push(Access {
                    node: end,
                    step,
                    origin,
                    place: Some(value),
                    made: None,
                    writes: false,
                    certain: false,
                });
            }
        }
        out
    }

    /// The values that the output gives, but for new contents of inputs.
    fn returned(&self, end: NodeId) -> Vec<Place> {
        let kinds = self.view.signature().map_or(&[] as &[_], |s| &s.outputs);
        let args = self.view.args(end);
        let items = args.first().and_then(Arg::items).unwrap_or(args);
        let mut out = Vec::new();
        for (number, arg) in items.iter().enumerate() {
            let kind = kinds.get(number).map_or(OutputKind::UserOutput, |s| s.kind);
            if !kind.is_mutation() {
                out.extend(arg.nodes().flat_map(|n| places_of(self.view, n)));
            }
        }
        out.retain(|p| holds_tensor(type_of(self.view, *p)));
        out
    }

    /// Accesses to storages in which something is written.
    fn memory(&mut self, work: &Work) {
        let all = self.accesses(work);
        let mut written: FxHashSet<Place> = FxHashSet::default();
        for access in all.iter().filter(|a| a.writes) {
            written.insert(self.classes.find(access.origin));
        }
        let mut by_class: FxHashMap<Place, Vec<Access>> = FxHashMap::default();
        let mut classes: Vec<Place> = Vec::new();
        for access in all {
            let class = self.classes.find(access.origin);
            if !written.contains(&class) {
                continue;
            }
            let list = by_class.entry(class).or_insert_with(|| {
                classes.push(class);
                Vec::new()
            });
            list.push(access);
        }
        for class in classes {
            let list = by_class.remove(&class).unwrap_or_default();
            self.pairs(Kind::Memory, &list);
        }
    }

    /// Opaque operators against all memory that they can know.
    fn known(&mut self, work: &Work) {
        if !work.nodes.iter().any(|(_, does)| does.opaque) {
            return;
        }
        let mut accesses = self.accesses(work);
        let mut places: Vec<Place> = self.attributes.into_iter().collect();
        for (node, does) in work.nodes.iter().filter(|(_, does)| does.opaque) {
            places.extend(places_of(self.view, *node));
            places.extend(does.touches.iter().map(|t| t.place));
        }
        for (node, kind) in nodes_of(self.view, BodyId::ROOT) {
            let is_input = matches!(kind, NodeKind::Placeholder | NodeKind::GetAttr);
            if is_input && holds_tensor(self.view.ty(node)) {
                places.push(Place::of(node));
            }
        }
        // What may lie in memory that is known is known.
        for place in &places {
            self.join_group(*place);
        }
        let mut known: FxHashSet<Place> = FxHashSet::default();
        for place in places {
            let origin = self.storages.origin(place);
            known.insert(self.classes.find(origin));
        }
        let opaque: FxHashSet<NodeId> =
            work.nodes.iter().filter(|(_, does)| does.opaque).map(|(node, _)| *node).collect();
        let mut list: Vec<Access> = Vec::new();
        let mut given: FxHashSet<NodeId> = FxHashSet::default();
        for (node, _) in work.nodes.iter().filter(|(_, does)| does.opaque && does.touches.is_empty()) {
            if let Some(step) = self.order.step(*node) {
                let origin = Place::of(*node);
                accesses.push(Access {
                    node: *node,
                    step,
                    origin,
                    place: None,
                    made: None,
                    writes: true,
                    certain: false,
                });
            }
        }
        for access in accesses {
            let is_opaque = opaque.contains(&access.node);
            if is_opaque && access.step == self.order.step(access.node).unwrap_or(access.step) {
                if given.insert(access.node) {
                    list.push(Access { writes: true, place: None, certain: false, ..access });
                }
            } else if known.contains(&self.classes.find(access.origin)) {
                list.push(Access { writes: false, place: None, certain: false, ..access });
            }
        }
        list.sort_by_key(|a| self.view.place(a.node));
        self.pairs(Kind::Known, &list);
    }

    fn effects(&mut self, work: &Work) {
        let mut list = Vec::new();
        for (node, _) in work.nodes.iter().filter(|(_, does)| does.effect) {
            if let Some(step) = self.order.step(*node) {
                let origin = Place::of(*node);
                list.push(Access { node: *node, step, origin, place: None, made: None, writes: true, certain: false });
            }
        }
        self.pairs(Kind::Effects, &list);
    }

    /// Reports the pairs of a list (in list order) that nothing orders.
    fn pairs(&mut self, kind: Kind, list: &[Access]) {
        if !self.has_pair(list) {
            return;
        }
        let mut by_stream: Vec<(u32, Vec<usize>)> = Vec::new();
        for (i, access) in list.iter().enumerate() {
            let known = self.order.known(access.step);
            for (stream, others) in by_stream.iter().filter(|(s, _)| *s != access.step.stream.0) {
                let limit = known.get(*stream as usize).copied().unwrap_or(0);
                for other in others.iter().rev().filter_map(|j| list.get(*j)) {
                    if other.step.position <= limit {
                        break;
                    }
                    if self.budget == 0 {
                        self.out.is_cut_short = true;
                        let conflict = conflict_of(kind, other, access, false);
                        return self.report(conflict);
                    }
                    self.budget = self.budget.saturating_sub(1);
                    if !(other.writes || access.writes) || other.node == access.node {
                        continue;
                    }
                    let meeting = self.meeting(other, access);
                    if meeting != Meeting::Apart && !self.is_operand_of(other, access) {
                        let certain = meeting == Meeting::Certain && other.certain && access.certain;
                        self.report(conflict_of(kind, other, access, certain));
                    }
                    if self.out.is_cut_short {
                        return;
                    }
                }
            }
            match by_stream.iter_mut().find(|(s, _)| *s == access.step.stream.0) {
                Some((_, own)) => own.push(i),
                None => by_stream.push((access.step.stream.0, vec![i])),
            }
        }
    }

    /// Whether two steps of a list (in list order), one of which writes, are not ordered: parts of storages left aside.
    fn has_pair(&self, list: &[Access]) -> bool {
        // Of each stream the last read and the last write.
        let mut last: Vec<(u32, u32, u32)> = Vec::new();
        for access in list {
            let known = self.order.known(access.step);
            let own = access.step.stream.0;
            for (stream, read, written) in last.iter().filter(|(s, _, _)| *s != own) {
                let limit = known.get(*stream as usize).copied().unwrap_or(0);
                if *written > limit || (access.writes && *read > limit) {
                    return true;
                }
            }
            let at = access.step.position;
            let (read, written) = if access.writes { (0, at) } else { (at, 0) };
            match last.iter_mut().find(|(s, _, _)| *s == own) {
                Some(entry) => *entry = (own, entry.1.max(read), entry.2.max(written)),
                None => last.push((own, read, written)),
            }
        }
        false
    }

    /// Whether what the second uses was made by the first, in GE graphs: that is an edge, also where the first may leave nothing.
    fn is_operand_of(&mut self, first: &Access, second: &Access) -> bool {
        if self.rules != Rules::MaxAutotune || first.made.is_some() {
            return false;
        }
        let view = self.view;
        let own = second.made.map(|place| vec![place]);
        let places = own.unwrap_or_else(|| {
            let args = view.args(second.node).iter().chain(view.kwargs(second.node).iter().map(|(_, a)| a));
            args.flat_map(Arg::nodes).take(MAX_LOOKED_AT).map(|n| place_of(view, n)).collect()
        });
        places.into_iter().any(|place| {
            let chain = std::iter::successors(Some(place), |p| self.storages.parent(*p).map(Shares::place));
            chain.take(MAX_LOOKED_AT).any(|p| p.node == first.node)
        })
    }

    fn meeting(&mut self, a: &Access, b: &Access) -> Meeting {
        let (Some(p), Some(q)) = (a.place, b.place) else { return Meeting::Maybe };
        if a.origin != b.origin {
            return Meeting::Maybe;
        }
        if p == q || (p == a.origin && q == b.origin) {
            return Meeting::Certain;
        }
        let (p, q) = (self.region(p), self.region(q));
        match (p, q) {
            (Some(p), Some(q)) => p.meets(&q),
            _ => Meeting::Maybe,
        }
    }

    fn region(&mut self, place: Place) -> Option<Region> {
        if let Some(known) = self.regions.get(&place) {
            return known.clone();
        }
        let region = Region::of(self.view, self.registry, self.storages, place);
        self.regions.insert(place, region.clone());
        region
    }
}

fn conflict_of(kind: Kind, first: &Access, second: &Access, certain: bool) -> Conflict {
    let storage = (kind == Kind::Memory).then_some(first.origin);
    Conflict { kind, first: first.node, second: second.node, storage, certain }
}
