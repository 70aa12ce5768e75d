//! Storages that may overlap: their joint state, and parts of memory as terms.
//!
//! Where it is not known whether storages overlap, what one holds after a write to another is a function of the state of all of them.
//! That state is a term: the state before, what was born since (each with the call that made it, how it lies, and in whose memory it
//! may lie), and what is written where.
//!
//! Promises: (1) two states with equal terms are the same births and writes of equal values in equal parts, in the same order, so that
//! every storage of the group holds the same; (2) two parts with equal terms are the same elements of the storage of the same rank. Nothing
//! is promised of states with different terms.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::analysis::{Event, Group, Place, Stamp, placeholders, tensor_operands};
use crate::graph::{BodyId, NodeId, NodeKind};
use crate::term::call::Arguments;
use crate::term::index_map::ViewMap;
use crate::term::store::ValueId;
use crate::term::term::{Fact, Form, Side, Token};
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::{Found, Functional, bind};

impl Functional<'_> {
    /// Returns the state of a group after a version.
    fn memory(&mut self, side: Side, group: &Group, stamp: Stamp) -> Option<ValueId> {
        let side = if side == Side::Both { Side::After } else { side };
        let place = *group.origins.first()?;
        (stamp != Stamp::Birth).then(|| self.store.at(Key { side, place, stamp, aspect: Aspect::Memory }))
    }

    /// Returns what a storage that may overlap others holds at a version.
    pub(in crate::verify) fn held(&mut self, key: Key, group: &Group) -> Found {
        let (Some(rank), Some(memory)) = (group.rank(key.place), self.memory(key.side, group, key.stamp)) else {
            return self.leaf(key);
        };
        Found::Term(Form::Of(Fact::Held, Box::new([Token::count(rank)])), vec![memory])
    }

    /// The state after the write that the stamp names.
    pub(in crate::verify) fn find_memory(&mut self, key: Key) -> Found {
        let group = self.side(key.side).storages.group(key.place);
        let order = group.writes(key.stamp).first().map_or(0, |e| e.order);
        let (mut tokens, mut children) = (Vec::new(), Vec::new());
        self.add_births(key.side, &group, order, &mut tokens, &mut children);
        let events = group.writes(key.stamp).to_vec();
        tokens.push(Token::List(events.len()));
        for event in events {
            let new = self.written(Key { place: event.origin, aspect: Aspect::Value, ..key }, &event);
            children.extend([self.part(key.side, event.place), new]);
        }
        Found::Term(Form::Of(Fact::Memory, tokens.into()), children)
    }

    /// Returns the state of the group of a value right before a point of program order, for calls that take several of its storages.
    pub(in crate::verify) fn memory_before(&mut self, side: Side, place: Place, order: u64) -> ValueId {
        let group = self.side(side).storages.group(place);
        let (mut tokens, mut children) = (Vec::new(), Vec::new());
        self.add_births(side, &group, order, &mut tokens, &mut children);
        self.store.of_term(Form::Of(Fact::Memory, tokens.into()), children)
    }

    /// The state after the last write before `order`, and what was born since.
    fn add_births(
        &mut self,
        side: Side,
        group: &Group,
        order: u64,
        tokens: &mut Vec<Token>,
        children: &mut Vec<ValueId>,
    ) {
        let previous = group.version_at(order);
        let memory = self.memory(side, group, previous);
        tokens.push(Token::Bool(memory.is_some()));
        children.extend(memory);
        // What is born at `order` is the result of the call that asks.
        for rank in group.born_since(previous, order) {
            let Some(origin) = group.ranked(rank) else { continue };
            tokens.push(Token::count(rank));
            children.push(self.value(side, origin, Stamp::Birth));
            for home in self.side(side).storages.home(origin) {
                tokens.push(Token::Child);
                children.push(self.part(side, home.place()));
                children.push(self.layout(side, home.place()));
            }
        }
    }

    /// Returns which part of its storage a value is, whichever storage of its group that is.
    pub(in crate::verify) fn part_of_any(&mut self, side: Side, place: Place) -> ValueId {
        self.part_from(side, place, Token::None)
    }

    /// Returns which part of its storage a value is, and which storage of the group that is.
    pub(in crate::verify) fn part(&mut self, side: Side, place: Place) -> ValueId {
        let origin = self.side(side).storages.origin(place);
        let rank = self.side(side).storages.group(origin).rank(origin);
        self.part_from(side, place, rank.map_or(Token::None, Token::count))
    }

    fn part_from(&mut self, side: Side, place: Place, rank: Token) -> ValueId {
        let (chain, at) = self.side(side).storages.views(place);
        let mut part = self.store.of_term(Form::Of(Fact::Origin, Box::new([rank])), []);
        let mut sizes = self.tensor(side, at).map(|t| t.sizes.clone());
        let mut map = sizes.as_ref().and_then(|s| ViewMap::identity(s, &mut self.sizes));
        for place in chain.into_iter().rev() {
            let next = map.as_ref().and_then(|map| self.step_of_part(side, place, map));
            if next.is_none() {
                part = self.flushed(map.take(), sizes.take(), part);
                part = self.part_by_call(side, place, part);
                sizes = self.tensor(side, place).map(|t| t.sizes.clone());
            }
            map = next.or_else(|| sizes.as_ref().and_then(|s| ViewMap::identity(s, &mut self.sizes)));
        }
        self.flushed(map, sizes, part)
    }

    fn flushed(&mut self, map: Option<ViewMap>, base: Option<crate::term::sizes::Dims>, part: ValueId) -> ValueId {
        match (map, base) {
            (Some(map), Some(base)) if !map.is_identity(&base, &mut self.sizes) => {
                self.store.of_term(Form::Part(map), [part])
            }
            _ => part,
        }
    }

    fn step_of_part(&mut self, side: Side, place: Place, map: &ViewMap) -> Option<ViewMap> {
        let view = self.view(side);
        let operator = self.registry.operator_of(view, place.node)?;
        let bound = bind(operator, view, place.node)?;
        if crate::verify::functional::identities::equal_operand(self, side, operator, &bound, place).is_some() {
            return Some(map.clone());
        }
        let step = self.view_step(side, operator, &bound, place)?;
        map.then(&step, &mut self.sizes)
    }

    /// A part that no index map says: the same view of the same part, taken alike.
    fn part_by_call(&mut self, side: Side, place: Place, part: ValueId) -> ValueId {
        let view = self.view(side);
        let node = place.node;
        let own = Key { side, place, stamp: Stamp::Birth, aspect: Aspect::Value };
        let Arguments { mut tokens, operands } =
            match self.registry.operator_of(view, node).and_then(|o| bind(o, view, node).map(|b| (o, b))) {
                Some((operator, bound)) => Arguments::bound(view, operator, &bound, &mut self.sizes),
                None => Arguments::written(view, node, &mut self.sizes),
            };
        let mut children = vec![part];
        // Values of scalars count, elements do not: which memory a view takes is said by its operand's part.
        let scalars: Vec<_> = operands.into_iter().filter(|n| view.ty(*n).as_tensor().is_none()).collect();
        children.extend(self.operands(own, &mut tokens, &scalars, &mut |f, n| f.read(side, n, node)));
        for operand in tensor_operands(view, node) {
            children.push(self.layout(side, operand));
            if self.registry.operator_of(view, node).is_some_and(|o| o.facts.sees_layout) {
                let origin = self.side(side).storages.origin(operand);
                children.push(self.layout(side, origin));
            }
        }
        tokens.push(Token::Int(i64::from(place.item)));
        tokens.extend(self.told(own));
        let callee = self.store.callee(view.target(node));
        self.store.of_term(Form::Of(Fact::PartBy(callee), tokens.into()), children)
    }

    /// Which operands of a call lie in one memory, and which parts of it they are: equal contents in memory of their own are another call.
    pub(in crate::verify) fn add_shared_operands(
        &mut self,
        key: Key,
        tokens: &mut Vec<Token>,
        children: &mut Vec<ValueId>,
    ) {
        let view = self.view(key.side);
        let order = self.order(key.side, key.place.node);
        let mut groups: IndexMap<Place, Vec<(usize, Place)>, FxBuildHasher> = IndexMap::default();
        for (i, operand) in tensor_operands(view, key.place.node).into_iter().enumerate() {
            let group = self.side(key.side).storages.group(operand);
            let Some(first) = group.origins.first().copied() else { continue };
            groups.entry(first).or_default().push((i, operand));
        }
        for (first, operands) in groups {
            let shared = self.side(key.side).storages.group(first).is_shared();
            if operands.len() < 2 && !shared {
                continue;
            }
            tokens.push(Token::List(operands.len()));
            for (i, operand) in operands {
                tokens.push(Token::count(i));
                children.push(self.part(key.side, operand));
            }
            if shared {
                children.push(self.memory_before(key.side, first, order));
            }
        }
    }

    /// Memory beyond its operands that an operator which nobody described can know, and that is not as the caller gave it.
    pub(in crate::verify) fn add_memory_known_to_opaque(
        &mut self,
        key: Key,
        tokens: &mut Vec<Token>,
        children: &mut Vec<ValueId>,
    ) {
        if !self.is_opaque(key) {
            return;
        }
        let known = self.written_known(key.side);
        let order = self.order(key.side, key.place.node);
        let mut states: FxHashSet<Place> = FxHashSet::default();
        for place in known.iter() {
            let group = self.side(key.side).storages.group(*place);
            if group.version_at(order) == Stamp::Birth || self.order(key.side, place.node) >= order.max(1) {
                continue;
            }
            // Of storages that may overlap, one state says what all of them hold.
            match group.origins.first().filter(|_| group.is_shared()) {
                Some(first) if !states.insert(*first) => {}
                Some(first) => children.push(self.memory_before(key.side, *first, order)),
                None => {
                    let name = self.name_of_memory(key.side, *place);
                    tokens.extend(name);
                    children.push(self.read_at(key.side, *place, order));
                }
            }
        }
    }

    fn is_opaque(&mut self, key: Key) -> bool {
        self.side(key.side).storages.is_opaque_call(key.place.node)
    }

    /// Storages that operators which nobody described can know, and that something else writes: one of each group, for such
    /// operators can know all of it; none where there are no such operators.
    fn written_known(&mut self, side: Side) -> std::sync::Arc<[Place]> {
        if let Some(known) = &self.side(side).known_to_opaque {
            return known.clone();
        }
        let view = self.view(side);
        let calls = self.side(side).storages.opaque_calls();
        let mut given: Vec<Place> = Vec::new();
        if !calls.is_empty() {
            given.extend(placeholders(view, BodyId::ROOT).into_iter().map(Place::of));
            given.extend(self.side(side).storages.attributes().into_iter().map(Place::of));
            given.extend(calls.iter().flat_map(|n| tensor_operands(view, *n)));
        }
        let calls: FxHashSet<NodeId> = calls.into_iter().collect();
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        let mut found: Vec<Place> = Vec::new();
        for place in given {
            let origin = self.side(side).storages.origin(place);
            let group = self.side(side).storages.group(origin);
            let first = group.origins.first().copied().unwrap_or(origin);
            let by_others = |e: &Event| !matches!(e.stamp, Stamp::Write(n) if calls.contains(&n));
            if seen.insert(first) && group.events.iter().any(by_others) {
                found.push(first);
            }
        }
        let found: std::sync::Arc<[Place]> = found.into();
        self.side(side).known_to_opaque = Some(found.clone());
        found
    }

    /// Names memory so that both sides mean the same: inputs by number, the module's tensors by target; nothing else needs a name.
    fn name_of_memory(&mut self, side: Side, place: Place) -> Vec<Token> {
        let view = self.view(side);
        match view.kind(place.node) {
            NodeKind::Placeholder => {
                let number = self.side(side).inputs.get(&place.node).copied();
                vec![Token::Int(number.map_or(i64::MAX, i64::from))]
            }
            NodeKind::GetAttr => vec![Token::Str(view.target(place.node).into())],
            _ => vec![Token::None],
        }
    }
}
