//! The content of a storage after a write.
//!
//! Promises: the functional value of an in-place operator is its functional twin's where that has the type of what is written, and no
//! element is written twice; else it is a function of the call and of the memory that it takes. What may overlap in unknown ways is
//! asked of the joint state (`memory`).

use crate::analysis::{Event, FINAL_ORDER, Place, Stamp, call, place_of, tensor_operands};
use crate::graph::{Arg, Dtype, NodeId};
use crate::ops::{Bound, CallSite, Given, Operator};
use crate::term::call::Arguments;
use crate::term::index_map::{Step, ViewMap};
use crate::term::sizes::Dims;
use crate::term::store::ValueId;
use crate::term::term::{Form, Side, Token};
use crate::verify::effects::trace::Effect;
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::{Found, Functional, bind};

impl<'a> Functional<'a> {
    /// The content of a storage (`key.place` is its origin) after the write that the stamp names.
    pub(in crate::verify) fn find_written(&mut self, key: Key) -> Found {
        let group = self.side(key.side).storages.group(key.place);
        if let Stamp::Write(writer) = key.stamp
            && self.order(key.side, writer) <= self.order(key.side, key.place.node)
        {
            return Found::Same(self.value(key.side, key.place, Stamp::Birth));
        }
        match group.writes(key.stamp) {
            // All of it was written at once: whatever overlaps has no say.
            [one] if one.place == key.place && one.origin == key.place && self.is_known_write(key.side, one) => {
                Found::Same(self.written(key, one))
            }
            _ if group.is_shared() => self.held(key, &group),
            // Nobody reads it so late.
            _ if group.rank(key.place).is_none() => self.leaf(key),
            [one] => self.find_write(key, one, group.version_before(key.stamp)),
            [] => Found::Same(self.value(key.side, key.place, group.version_before(key.stamp))),
            several => self.written_twice(key, several, group.version_before(key.stamp)),
        }
    }

    /// Whether what is written is exactly what is said to be: the writer is an operator that is described, and runs no bodies.
    fn is_known_write(&self, side: Side, event: &Event) -> bool {
        match event.stamp {
            Stamp::Write(writer) => self.is_described(side, writer),
            Stamp::Final(_) => true,
            Stamp::Birth => false,
        }
    }

    fn is_described(&self, side: Side, writer: NodeId) -> bool {
        let view = self.view(side);
        let known = self.registry.operator_of(view, writer).and_then(|o| bind(o, view, writer).map(|_| o));
        known.is_some_and(|o| o.effects.side != Some(crate::ops::SideEffect::Control) && !o.effects.opaque)
            && !call::takes_operator(view, writer)
    }

    fn find_write(&mut self, key: Key, event: &Event, previous: Stamp) -> Found {
        let old = self.value(key.side, key.place, previous);
        if !self.is_known_write(key.side, event) {
            let new = self.written(key, event);
            return Found::Term(Form::ScatterAt, vec![old, new, self.part(key.side, event.place)]);
        }
        match self.map_of(key.side, event.place).filter(|(map, _)| map.is_injective_for_all(&mut self.sizes)) {
            Some((map, base)) => {
                let new = self.written(key, event);
                if event.place == key.place { Found::Same(new) } else { self.scatter(map, base, old, new) }
            }
            None => {
                let new = self.written_alike(key, event);
                Found::Term(Form::ScatterAt, vec![old, new, self.part(key.side, event.place)])
            }
        }
    }

    /// One call writes several parts of one storage: a function of the call and of the parts.
    fn written_twice(&mut self, key: Key, events: &[Event], previous: Stamp) -> Found {
        let mut value = self.value(key.side, key.place, previous);
        for event in events {
            let new = self.written_alike(key, event);
            let part = self.part(key.side, event.place);
            value = self.store.of_term(Form::ScatterAt, [value, new, part]);
        }
        Found::Same(value)
    }

    /// Returns what a write leaves in the elements of `event.place`.
    pub(in crate::verify) fn written(&mut self, key: Key, event: &Event) -> ValueId {
        let found = match event.stamp {
            Stamp::Final(number) => self.final_value(key, number),
            Stamp::Write(writer) if self.is_described(key.side, writer) => self.written_value(key, event, writer),
            Stamp::Write(_) | Stamp::Birth => None,
        };
        found.unwrap_or_else(|| self.written_alike(key, event))
    }

    /// What a write leaves, as a function of the very call, of the memory that it takes, and of what was there.
    fn written_alike(&mut self, key: Key, event: &Event) -> ValueId {
        let writer = match event.stamp {
            Stamp::Write(writer) => writer,
            Stamp::Final(number) => return self.final_alike(key, number),
            Stamp::Birth => return self.store.at(key),
        };
        let view = self.view(key.side);
        let own = Key { side: key.side, place: Place::of(writer), stamp: Stamp::Birth, aspect: Aspect::Value };
        let bound = self.registry.operator_of(view, writer).and_then(|o| bind(o, view, writer).map(|b| (o, b)));
        let (Arguments { mut tokens, operands }, param) = match &bound {
            Some((operator, bound)) => {
                let written = (0..bound.args.len()).filter(|i| {
                    call::writes(operator, bound, *i) && bound.get(*i).nodes().any(|n| place_of(view, n) == event.place)
                });
                let params: Vec<usize> = written.collect();
                let mut arguments = Arguments::bound(view, operator, bound, &mut self.sizes);
                arguments.tokens.extend(params.iter().map(|p| Token::count(*p)));
                (arguments, params.first().copied().unwrap_or(usize::MAX))
            }
            None => (Arguments::written(view, writer, &mut self.sizes), usize::MAX),
        };
        if self.effect(key.side, writer) == Some(Effect::Ordered) {
            tokens.push(self.event(own));
        }
        let mut children = self.operands(own, &mut tokens, &operands, &mut |f, n| f.read(key.side, n, writer));
        // Which of the operands it is that is written, where a list is.
        for (i, operand) in tensor_operands(view, writer).into_iter().enumerate() {
            if operand == event.place {
                tokens.push(Token::count(i));
            }
            children.push(self.layout_as(key.side, operand, Aspect::Exact));
        }
        self.add_shared_operands(own, &mut tokens, &mut children);
        self.add_memory_known_to_opaque(own, &mut tokens, &mut children);
        let callee = self.store.callee(view.target(writer));
        self.store.of_term(Form::Written { callee, tokens: tokens.into(), param }, children)
    }

    /// A final copy of a value of another type, or of one whose type nobody stated.
    fn final_alike(&mut self, key: Key, number: u32) -> ValueId {
        let finals = self.side(key.side).storages.finals().to_vec();
        let Some((_, value, _)) = finals.into_iter().find(|(_, _, n)| *n == number) else { return self.store.at(key) };
        let place = place_of(self.view(key.side), value);
        let new = self.read_at(key.side, place, FINAL_ORDER.saturating_add(u64::from(number)));
        let old = self.value(key.side, key.place, Stamp::Birth);
        let callee = self.store.callee("final copy");
        let tokens = Box::new([]);
        self.store.of_term(Form::Written { callee, tokens, param: usize::MAX }, [old, new])
    }

    /// What a mutation in the signature copies to its input at the end.
    fn final_value(&mut self, key: Key, number: u32) -> Option<ValueId> {
        let finals = self.side(key.side).storages.finals().to_vec();
        let (_, value, _) = finals.into_iter().find(|(_, _, n)| *n == number)?;
        let place = place_of(self.view(key.side), value);
        let (from, to) = (self.tensor(key.side, place)?, self.tensor(key.side, key.place)?);
        let fits = from.dtype == to.dtype && self.sizes.all_same(&from.sizes, &to.sizes);
        fits.then(|| self.read_at(key.side, place, FINAL_ORDER.saturating_add(u64::from(number))))
    }

    /// Returns the index map of a value in its storage, and the sizes of what it is a map of.
    pub fn map_of(&mut self, side: Side, place: Place) -> Option<(ViewMap, Dims)> {
        let (chain, at) = self.side(side).storages.views(place);
        let view = self.view(side);
        let base = self.tensor(side, at)?.sizes.clone();
        let mut map = ViewMap::identity(&base, &mut self.sizes)?;
        for place in chain.into_iter().rev() {
            let operator = self.registry.operator_of(view, place.node)?;
            let bound = bind(operator, view, place.node)?;
            if crate::verify::functional::identities::equal_operand(self, side, operator, &bound, place).is_some() {
                continue;
            }
            let step = self.view_step(side, operator, &bound, place)?;
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
            call::writes(operator, &bound, *i) && bound.get(*i).nodes().any(|n| place_of(view, n) == event.place)
        });
        let (param, None) = (written.next()?, written.next()) else { return None };
        let in_list = bound.get(param).as_node().is_none();
        let injective =
            self.map_of(key.side, event.place).is_some_and(|(map, _)| map.is_injective_for_all(&mut self.sizes));
        if in_list || !injective || self.overlaps(key, event, writer, operator) {
            return None;
        }
        let own = Key { side: key.side, place: Place::of(writer), stamp: Stamp::Birth, aspect: Aspect::Value };
        if operator.facts.copies {
            return self.copied(own, event, &bound);
        }
        if param == 0
            && event.place.item == Place::WHOLE
            && self.registry.functional(operator).is_some_and(gives_itself)
        {
            return Some(self.read(key.side, event.place.node, writer));
        }
        let twin = self.twin(key.side, operator, event, writer);
        let called = twin.unwrap_or(operator);
        let bound = bind(called, view, writer)?;
        let Arguments { mut tokens, operands } = Arguments::bound(view, called, &bound, &mut self.sizes);
        if self.effect(key.side, writer) == Some(Effect::Ordered) {
            tokens.push(self.event(own));
        }
        let mut children = self.operands(own, &mut tokens, &operands, &mut |f, n| f.read(key.side, n, writer));
        if call::draws(called, &bound) {
            // A draw fills the memory that it writes in its order.
            tokens.push(Token::List(1));
            children.push(self.layout(key.side, event.place));
        }
        let callee = self.store.callee(&called.target);
        let form = match twin {
            Some(twin) => Form::Call {
                callee,
                commutes: !self.kinds.sees_nan
                    && twin.commutes
                    && crate::verify::functional::values::exchangeable(&tokens)
                    && self.are_alike(key.side, &operands),
                tokens: tokens.into(),
            },
            None => Form::Written { callee, tokens: tokens.into(), param },
        };
        Some(self.store.of_term(form, children))
    }

    /// Returns whether another operand may overlap what is written in another arrangement.
    fn overlaps(&mut self, key: Key, event: &Event, writer: NodeId, operator: &Operator) -> bool {
        let view = self.view(key.side);
        let group = self.side(key.side).storages.group(key.place);
        let operands = tensor_operands(view, writer);
        let element_by_element = operator.pointwise || operator.facts.copies;
        let twice = |p: Place| {
            let args = view.args(writer).iter().chain(view.kwargs(writer).iter().map(|(_, a)| a));
            args.flat_map(crate::graph::Arg::nodes).filter(|n| place_of(view, *n) == p).count() > 1
        };
        for operand in operands {
            if operand == event.place {
                if twice(operand) && !element_by_element {
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
            // The same elements laid out otherwise are an overlap in part: PyTorch looks at strides that no index uses too.
            let same = element_by_element && a == b && self.lie_alike(key.side, operand, event.place);
            if !same && a.meets(&b) {
                return true;
            }
        }
        false
    }

    /// Whether two values are known to lie in the same strides.
    fn lie_alike(&mut self, side: Side, one: Place, other: Place) -> bool {
        let view = self.view(side);
        let known = |p: Place| !view.hearsay(p.node).strides();
        let [a, b] = [one, other].map(|p| self.tensor(side, p).and_then(|t| t.strides.clone()));
        known(one) && known(other) && a.is_some() && a == b
    }

    /// `copy_`: the source, converted and repeated to what is written.
    fn copied(&mut self, own: Key, event: &Event, bound: &Bound<'_>) -> Option<ValueId> {
        let view = self.view(own.side);
        let source = bound.get(1).as_node()?;
        let (from, to) = (self.tensor(own.side, place_of(view, source))?, self.tensor(own.side, event.place)?);
        let mut value = self.read(own.side, source, own.place.node);
        if from.dtype != to.dtype {
            value = self.store.of_term(Form::Cast(to.dtype), [value]);
        }
        if self.sizes.all_same(&from.sizes, &to.sizes) {
            return Some(value);
        }
        let settled = self.sizes.are_settled(&from.sizes) && self.sizes.are_settled(&to.sizes);
        let map = ViewMap::identity(&from.sizes, &mut self.sizes).filter(|_| settled)?;
        let map = map.then(&Step::Expand(to.sizes.clone()), &mut self.sizes)?;
        Some(self.store.of_term(Form::View { map, base: from.sizes.clone() }, [value]))
    }

    /// Returns whether a call writes one operand, of which each element has its own place, reads it in no other arrangement, and
    /// surely holds the result.
    pub(in crate::verify) fn writes_plainly(&mut self, side: Side, writer: NodeId, operator: &'a Operator) -> bool {
        let Some(event) = self.only_write(side, writer, operator) else { return false };
        if operator.facts.copies {
            return true;
        }
        self.twin(side, operator, &event, writer).is_some()
    }

    /// Returns the functional form of a call that writes plainly: it asks the same of its operands.
    pub(in crate::verify) fn plain_twin(
        &mut self,
        side: Side,
        writer: NodeId,
        operator: &'a Operator,
    ) -> Option<&'a Operator> {
        let event = self.only_write(side, writer, operator)?;
        self.twin(side, operator, &event, writer)
    }

    /// Returns whether all that a call writes has a place for each element, and overlaps nothing else that the call takes.
    pub(in crate::verify) fn writes_apart(&mut self, side: Side, writer: NodeId, operator: &Operator) -> bool {
        let stamp = Stamp::Write(writer);
        let mut events: Vec<Event> = Vec::new();
        for operand in tensor_operands(self.view(side), writer) {
            let group = self.side(side).storages.group(operand);
            events.extend(group.writes(stamp).iter().filter(|e| e.place == operand).cloned());
        }
        let count = operator.effects.params.iter().filter(|a| a.writes).count();
        let all = !events.is_empty() && events.len() <= count;
        all && events.into_iter().all(|event| {
            let key = Key { side, place: event.origin, stamp, aspect: Aspect::Value };
            let is_told = self.view(side).hearsay(event.place.node).strides();
            let injective =
                self.map_of(side, event.place).is_some_and(|(map, _)| map.is_injective_for_all(&mut self.sizes));
            !is_told && injective && !self.overlaps(key, &event, writer, operator)
        })
    }

    fn only_write(&mut self, side: Side, writer: NodeId, operator: &Operator) -> Option<Event> {
        let view = self.view(side);
        let operands = tensor_operands(view, writer);
        let group = self.side(side).storages.group(*operands.first()?);
        let [event] = group.writes(Stamp::Write(writer)) else { return None };
        let (event, strides) = (event.clone(), view.hearsay(event.place.node).strides());
        let is_laid_out = !strides && self.tensor(side, event.place)?.strides.is_some();
        let key = Key { side, place: event.origin, stamp: event.stamp, aspect: Aspect::Value };
        let injective =
            self.map_of(side, event.place).is_some_and(|(map, _)| map.is_injective_for_all(&mut self.sizes));
        (is_laid_out && injective && !self.overlaps(key, &event, writer, operator)).then_some(event)
    }

    /// The functional operator that gives what this one writes: its arguments the same, its result of the type of what is written.
    pub(in crate::verify) fn twin(
        &mut self,
        side: Side,
        operator: &'a Operator,
        event: &Event,
        writer: NodeId,
    ) -> Option<&'a Operator> {
        let view = self.view(side);
        let schema = &operator.schema;
        if operator.effects.params.iter().filter(|a| a.writes).count() != 1 || schema.returns.len() > 1 {
            return None;
        }
        let twin = self.registry.functional(operator)?;
        // An `out` argument is no operand of the functional form: then the call has other arguments.
        let same_arguments = twin.schema.params.len() == schema.params.len();
        let fresh = !twin.effects.writes() && twin.effects.returns.iter().all(|r| r.is_empty());
        let fresh = fresh || gives_itself(twin);
        // Numbers beyond what a narrow float holds are rounded at another place in the functional form.
        let narrow = self.tensor(side, event.place).is_none_or(|t| matches!(t.dtype, Dtype::F16 | Dtype::Bf16));
        let args = view.args(writer).iter().chain(view.kwargs(writer).iter().map(|(_, a)| a));
        let numbers = args.into_iter().any(|a| matches!(a, Arg::Float(_) | Arg::Int(_) | Arg::Complex(..)));
        if !same_arguments || !fresh || (narrow && numbers) || self.view(side).hearsay(writer).sizes() {
            return None;
        }
        let target = twin.target.clone();
        let site = CallSite { target: &target, args: view.args(writer), kwargs: view.kwargs(writer), annotated: None };
        let result = self.registry.infer_in(view, self.sizes.own(), site).ok()?;
        let (result, written) = (result.as_tensor()?, self.tensor(side, event.place)?);
        (result.dtype == written.dtype && self.sizes.all_same(&result.sizes, &written.sizes)).then_some(twin)
    }
}

/// Whether an operator gives its operand as it is: in place it leaves what is there.
fn gives_itself(operator: &Operator) -> bool {
    let same = operator.facts.same_as.as_ref().filter(|same| same.given == Given::Always);
    same.and_then(|same| operator.schema.param_index(&same.param)) == Some(0) && operator.effects.view_of() == Some(0)
}
