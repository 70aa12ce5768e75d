//! The content of a storage after a write.
//!
//! Promises: the functional value of an in-place operator is its functional twin's where that has the type of what is written;
//! else it is a function of its own. What may overlap in unknown ways is a leaf.

use super::arguments::Arguments;
use super::effects::{Effect, effect_of};
use super::functional::{Found, Functional, bind};
use super::sizes::Dims;
use super::store::{Key, ValueId};
use super::term::{Form, Side, Token};
use super::viewmap::{Step, ViewMap};
use super::views::ViewCall;
use crate::analysis::{Event, FINAL_ORDER, Place, Shares, Stamp, place_of, tensor_operands, type_of};
use crate::graph::{NodeId, NodeKind, View};
use crate::ops::{Bound, CallSite, Operator, SideEffect};

impl<'a> Functional<'a> {
    /// The content of a storage (`key.place` is its origin) after the write that the stamp names.
    pub(super) fn find_written(&mut self, key: Key) -> Found {
        let group = self.side(key.side).storages.group(key.place);
        let writes: Vec<Event> = group.writes(key.stamp).cloned().collect();
        let previous = group.version_before(key.stamp);
        let order = |node: NodeId| self.view(key.side).place(node).map(|(_, order)| order);
        if let Stamp::Write(writer) = key.stamp
            && order(writer) <= order(key.place.node)
        {
            return Found::Same(self.value(key.side, key.place, Stamp::Birth));
        }
        if let Stamp::Write(writer) = key.stamp
            && let Some(found) = self.find_unknown_write(key, writer, previous)
        {
            return found;
        }
        let (own, others): (Vec<&Event>, Vec<&Event>) = writes.iter().partition(|e| e.origin == key.place);
        match (own.as_slice(), others.as_slice()) {
            ([one], []) => self.find_write(key, one, previous),
            ([], []) => Found::Same(self.value(key.side, key.place, previous)),
            ([], others) => {
                let mut origins: Vec<Place> = others.iter().map(|e| e.origin).collect();
                origins.dedup();
                self.find_clobbered(key, previous, &origins)
            }
            // Two writes of one node to storages that overlap: which comes last is nobody's promise.
            _ => self.lone(key),
        }
    }

    /// What an operator that nobody described leaves in a storage that it was given: a function of all that it was given, of
    /// which parts of the storage those were, and of its number.
    fn find_unknown_write(&mut self, key: Key, writer: NodeId, previous: Stamp) -> Option<Found> {
        let view = self.view(key.side);
        let known = self.registry.operator_of(view, writer).and_then(|o| bind(o, view, writer)).is_some();
        let control =
            self.registry.operator_of(view, writer).is_some_and(|o| o.effects.side == Some(SideEffect::Control));
        if known && !control {
            return None;
        }
        let Arguments { mut tokens, operands } = Arguments::written(view, writer, &mut self.sizes);
        let own = Key { side: key.side, place: Place::of(writer), stamp: Stamp::Birth };
        tokens.push(self.event(own));
        let mut first = None;
        for (number, operand) in tensor_operands(view, writer).into_iter().enumerate() {
            if self.side(key.side).storages.origin(operand) != key.place {
                continue;
            }
            let Some((map, _)) = self.map_of(key.side, operand) else { return Some(self.lone(key)) };
            tokens.extend([Token::Int(i64::try_from(number).unwrap_or(i64::MAX)), Token::Part(map)]);
            first = first.or(Some(number));
        }
        // Memory that may overlap what it was given is clobbered like by any other write.
        let param = first?;
        let mut children = self.operands(own, &mut tokens, &operands, &mut |f, n| f.read(key.side, n, writer));
        children.push(self.value(key.side, key.place, previous));
        let target = view.target(writer).into();
        Some(Found::Term(Form::Written { target, tokens: tokens.into(), param }, children))
    }

    /// Memory that may overlap memory that was written: an input, or the result of an operator that nobody described.
    fn find_clobbered(&mut self, key: Key, previous: Stamp, written: &[Place]) -> Found {
        let all: Vec<Place> = [key.place].into_iter().chain(written.iter().copied()).collect();
        let numbers: Option<Box<[(bool, u64)]>> = all.into_iter().map(|p| self.name_of_memory(key.side, p)).collect();
        let Some(numbers) = numbers else { return self.lone(key) };
        let mut children = vec![self.value(key.side, key.place, previous)];
        children.extend(written.iter().map(|origin| self.value(key.side, *origin, key.stamp)));
        Found::Term(Form::Clobbered(numbers), children)
    }

    /// Names memory so that both sides mean the same: inputs and results of effects by their numbers.
    pub(super) fn name_of_memory(&mut self, side: Side, place: Place) -> Option<(bool, u64)> {
        let view = self.view(side);
        if view.kind(place.node) == NodeKind::Placeholder {
            let number = self.side(side).inputs.get(&place.node).copied();
            return Some((true, number.map_or(place.node.to_bits(), u64::from)));
        }
        let key = Key { side, place, stamp: Stamp::Birth };
        match (effect_of(view, self.registry, place.node), self.event(key)) {
            (Some(Effect::Ordered), Token::Event(number)) if place.item == Place::WHOLE => Some((false, number)),
            _ => None,
        }
    }

    fn lone(&mut self, key: Key) -> Found {
        let id = self.store.at(key);
        Found::Term(Form::Leaf(id), Vec::new())
    }

    fn find_write(&mut self, key: Key, event: &Event, previous: Stamp) -> Found {
        let new = match event.stamp {
            Stamp::Final(number) => self.final_value(key, number),
            Stamp::Write(writer) => self.written_value(key, event, writer),
            Stamp::Birth => None,
        };
        let Some(new) = new else { return self.lone(key) };
        if event.place == key.place {
            return Found::Same(new);
        }
        let Some((map, base)) = self.map_of(key.side, event.place) else { return self.lone(key) };
        if !map.is_injective() {
            return self.lone(key);
        }
        let old = self.value(key.side, key.place, previous);
        self.scatter(map, base, old, new)
    }

    /// What a mutation in the signature copies to its input at the end.
    fn final_value(&mut self, key: Key, number: u32) -> Option<ValueId> {
        let finals = self.side(key.side).storages.finals().to_vec();
        let (_, value, _) = finals.into_iter().find(|(_, _, n)| *n == number)?;
        let view = self.view(key.side);
        let place = place_of(view, value);
        let (from, to) = (type_of(view, place).as_tensor()?, type_of(view, key.place).as_tensor()?);
        let fits = from.dtype == to.dtype && self.sizes.all_same(&from.sizes, &to.sizes);
        fits.then(|| self.read_at(key.side, place, FINAL_ORDER.saturating_add(u64::from(number))))
    }

    /// Returns the index map of a value in its storage, and the sizes of what it is a map of.
    pub fn map_of(&mut self, side: Side, place: Place) -> Option<(ViewMap, Dims)> {
        let mut chain = Vec::new();
        let mut at = place;
        while let Some(shares) = self.side(side).storages.parent(at) {
            if let Shares::View(_) = shares {
                chain.push(at);
            }
            at = shares.place();
        }
        let view = self.view(side);
        let base = type_of(view, at).as_tensor()?.sizes.clone();
        let mut map = ViewMap::identity(&base, &mut self.sizes)?;
        for place in chain.into_iter().rev() {
            let parent = self.side(side).storages.parent(place)?.place();
            let from = type_of(view, parent).as_tensor()?;
            let operator = self.registry.operator_of(view, place.node)?;
            let bound = bind(operator, view, place.node)?;
            if super::identities::equal_operand(view, operator, &bound, place, &mut self.sizes).is_some() {
                continue;
            }
            let step = ViewCall { view, operator, bound: &bound, place }.step(from, &mut self.sizes)?;
            map = map.then(&step, &mut self.sizes)?;
        }
        Some((map, base))
    }

    /// The value that `writer` leaves in `event.place`; `None` where nothing says what it is.
    fn written_value(&mut self, key: Key, event: &Event, writer: NodeId) -> Option<ValueId> {
        let view = self.view(key.side);
        let operator = self.registry.operator_of(view, writer)?;
        let bound = bind(operator, view, writer)?;
        let mut written = (0..bound.args.len()).filter(|i| {
            operator.effects.params.get(*i).is_some_and(|a| a.writes)
                && bound.get(*i).nodes().any(|n| place_of(view, n) == event.place)
        });
        let (param, None) = (written.next()?, written.next()) else { return None };
        let in_list = bound.get(param).as_node().is_none();
        if in_list || self.overlaps(key, event, writer, operator) {
            return None;
        }
        let own = Key { side: key.side, place: Place::of(writer), stamp: Stamp::Birth };
        if operator.schema.name.as_ref() == "copy_" && &*operator.schema.namespace == "aten" {
            return self.copied(own, event, &bound);
        }
        let twin = self.twin(view, operator, event, writer);
        let called = twin.unwrap_or(operator);
        let bound = bind(called, view, writer)?;
        let Arguments { mut tokens, operands } = Arguments::bound(view, called, &bound, &mut self.sizes);
        if effect_of(view, self.registry, writer) == Some(Effect::Ordered) {
            tokens.push(self.event(own));
        }
        let children = self.operands(own, &mut tokens, &operands, &mut |f, n| f.read(key.side, n, writer));
        let form = match twin {
            Some(twin) => Form::Call {
                target: twin.target.clone(),
                commutes: twin.commutes && super::functional::exchangeable(&tokens),
                tokens: tokens.into(),
            },
            None => Form::Written { target: operator.target.clone(), tokens: tokens.into(), param },
        };
        Some(self.store.of_term(form, children, key.side))
    }

    /// Returns whether another operand may overlap what is written in another arrangement.
    fn overlaps(&mut self, key: Key, event: &Event, writer: NodeId, operator: &Operator) -> bool {
        let view = self.view(key.side);
        let group = self.side(key.side).storages.group(key.place);
        let operands = tensor_operands(view, writer);
        let twice = |p: Place| {
            let args = view.args(writer).iter().chain(view.kwargs(writer).iter().map(|(_, a)| a));
            args.flat_map(crate::graph::Arg::nodes).filter(|n| place_of(view, *n) == p).count() > 1
        };
        for operand in operands {
            if operand == event.place {
                if twice(operand) && !operator.pointwise {
                    return true;
                }
                continue;
            }
            let origin = self.side(key.side).storages.origin(operand);
            if !group.origins.contains(&origin) {
                continue;
            }
            if origin != key.place {
                return true;
            }
            let (Some((a, _)), Some((b, _))) = (self.map_of(key.side, operand), self.map_of(key.side, event.place))
            else {
                return true;
            };
            if a.meets(&b) && !(a == b && operator.pointwise) {
                return true;
            }
        }
        false
    }

    /// `copy_`: the source, converted and repeated to what is written.
    fn copied(&mut self, own: Key, event: &Event, bound: &Bound<'_>) -> Option<ValueId> {
        let view = self.view(own.side);
        let source = bound.get(1).as_node()?;
        let (from, to) = (type_of(view, place_of(view, source)).as_tensor()?, type_of(view, event.place).as_tensor()?);
        let mut value = self.read(own.side, source, own.place.node);
        if from.dtype != to.dtype {
            value = self.store.of_term(Form::Cast(to.dtype), [value], own.side);
        }
        if self.sizes.all_same(&from.sizes, &to.sizes) {
            return Some(value);
        }
        let settled = self.sizes.are_settled(&from.sizes) && self.sizes.are_settled(&to.sizes);
        let map = ViewMap::identity(&from.sizes, &mut self.sizes).filter(|_| settled)?;
        let map = map.then(&Step::Expand(to.sizes.clone()), &mut self.sizes)?;
        Some(self.store.of_term(Form::View { map, base: from.sizes.clone() }, [value], own.side))
    }

    /// The functional operator that gives what this one writes: same name without `_`, same arguments, a result of the type of what is written.
    fn twin(&mut self, view: &dyn View, operator: &Operator, event: &Event, writer: NodeId) -> Option<&'a Operator> {
        let schema = &operator.schema;
        if operator.effects.params.iter().filter(|a| a.writes).count() != 1 || schema.returns.len() > 1 {
            return None;
        }
        let overload = if schema.overload.is_empty() { "default" } else { &schema.overload };
        let target = format!("{}.{}.{overload}", schema.namespace, schema.name.strip_suffix('_')?);
        let registry = self.registry;
        let twin =
            registry.get(&target).filter(|t| !t.effects.writes() && t.effects.returns.iter().all(|r| r.is_empty()))?;
        let site = CallSite { target: &target, args: view.args(writer), kwargs: view.kwargs(writer), annotated: None };
        let result = registry.infer_in(view, self.sizes.own(), site).ok()?;
        let (result, written) = (result.as_tensor()?, type_of(view, event.place).as_tensor()?);
        (result.dtype == written.dtype && self.sizes.all_same(&result.sizes, &written.sizes)).then_some(twin)
    }
}
