//! The functional form: what each value is as a term, writes being new versions.
//!
//! Promises: (1) the term of a value is its meaning: equal terms, equal bits; (2) a write through a view is a scatter into the
//! version before, a read of a view after it reads the view of the new version; (3) where memory may overlap in ways that
//! nothing decides, or a write reads what it overwrites in another arrangement, the content is a function of the calls and of the
//! memory that they take, in order; (4) no type that is hearsay decides what a term is; (5) terms are found when asked for, with
//! worklists, never by recursion.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{FINAL_ORDER, Place, Shares, Stamp, Storages, call, getitem_of, place_of, tensor_operands};
use crate::formats::text::domain::Domain;
use crate::graph::{Arg, Graph, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::{Bound, Operator, Registry, SharesWhen, SideEffect};
use crate::term::call::Arguments;
use crate::term::index_map::{Step, ViewMap};
use crate::term::sizes::{Dims, Sizes};
use crate::term::store::{Store, ValueId};
use crate::term::term::{Form, Side, Term, Token};
use crate::verify::differ::Prints;
use crate::verify::effects::beside::Beside;
use crate::verify::effects::trace::{Effect, effect_of};
use crate::verify::functional::bodies::see_layout;
use crate::verify::functional::identities::{equal_operand, strided_step};
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::views::ViewCall;
use crate::verify::judge::kinds::Kinds;
use crate::verify::options::{Budget, JudgeOptions};
use crate::verify::prove::checked::Checking;

/// What is known of a value when its term is asked for.
// Lives for one step of a worklist: never stored, so its size costs nothing.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum Found {
    /// A term.
    Term(Form, Vec<ValueId>),
    /// It is another value.
    Same(ValueId),
    /// The term of another value is needed first.
    Need(ValueId),
}

/// One of the two graphs.
pub struct Graphs<'a> {
    /// The graph.
    pub view: &'a dyn View,
    /// Its storages.
    pub storages: Storages<'a>,
    /// Numbers of effects; without them a node is its own number (both sides have the same nodes).
    pub events: Option<FxHashMap<NodeId, u64>>,
    /// Numbers of inputs, by placeholder.
    pub inputs: FxHashMap<NodeId, u32>,
    /// Numbers of calls that leave what they give to chance, each target's own; without them a node is its own number.
    pub unset: Option<FxHashMap<NodeId, u64>>,
    /// What its collectives may still work on.
    pub beside: Beside,
    /// Written memory that operators which nobody described can know.
    pub known_to_opaque: Option<std::sync::Arc<[Place]>>,
}

/// Which nodes are one value on both sides.
#[derive(Debug, Default)]
pub enum Shared {
    /// None: the graphs have nothing but their inputs in common.
    #[default]
    Nothing,
    /// All but these, which the edit touched or reached.
    AllBut(FxHashSet<NodeId>),
}

/// The functional form of both graphs.
pub struct Functional<'a> {
    /// Operators.
    pub registry: &'a Registry,
    /// The graph as it was.
    pub before: Graphs<'a>,
    /// The graph as it is.
    pub after: Graphs<'a>,
    /// All values.
    pub store: Store<Key>,
    /// Sizes of both.
    pub sizes: Sizes<'a>,
    /// What both have in common.
    pub shared: Shared,
    /// How much work there may be.
    pub budget: Budget,
    /// What kinds of calls they have.
    pub kinds: Kinds,
    /// What the host says of the values of inputs.
    pub domains: &'a [(String, Domain)],
    /// Whether the second graph may run where the first raises.
    pub may_stop_raising: bool,
    /// Whether the second graph may round to narrower floats where the first does not, if it comes as close.
    pub allows_wider: bool,
    /// Whether integers behind a quantisation may be one quantum apart.
    pub allows_quantum: bool,
    /// Whether anything was asked of how values lie.
    pub layout_counts: bool,
    /// Whether anything was read at an offset in an input's memory.
    pub begin_counts: bool,
    /// Operators of whose definitions something was shown that are not PyTorch's: a device may compute otherwise.
    pub defined: BTreeSet<Box<str>>,
    /// Whether the policy judges how outputs lie, too.
    pub judges_strides: bool,
    /// Both graphs as they may be run, where they are at hand.
    pub runs: Option<Runs<'a>>,
    /// What values were in such a run, once they were run; `None` within where they could not be.
    pub prints: Option<Option<Rc<Prints>>>,
    /// What is compared by fingerprints.
    pub checking: Checking,
}

/// Both graphs as they may be run: what is found so is where to look first, and no more.
#[derive(Copy, Clone)]
pub struct Runs<'a> {
    /// The graph as it was.
    pub before: &'a Graph,
    /// The graph as it is.
    pub after: &'a Graph,
    /// How inputs are made.
    pub options: &'a JudgeOptions,
}

impl<'a> Functional<'a> {
    /// Returns what the host says of the values of an input, where a value is what the input came with.
    pub fn domain_of(&mut self, value: ValueId) -> Option<&'a Domain> {
        // What an input is equal to bit by bit holds what that holds.
        let given = if self.store.is_near(value) { value } else { self.store.find(value) };
        self.stated_of(given)
    }

    fn stated_of(&self, value: ValueId) -> Option<&'a Domain> {
        let key = self.store.key(value).filter(|k| k.stamp == Stamp::Birth && k.aspect == Aspect::Value)?;
        let view = self.view(key.side);
        if view.kind(key.place.node) != NodeKind::Placeholder {
            return None;
        }
        let name = view.name(key.place.node);
        self.domains.iter().find(|(n, _)| n == name).map(|(_, d)| d)
    }

    /// Returns one side; what is common is read off the graph as it is.
    pub fn side(&mut self, side: Side) -> &mut Graphs<'a> {
        match side {
            Side::Before => &mut self.before,
            Side::After | Side::Both => &mut self.after,
        }
    }

    /// Returns the graph of one side.
    pub fn view(&self, side: Side) -> &'a dyn View {
        match side {
            Side::Before => self.before.view,
            Side::After | Side::Both => self.after.view,
        }
    }

    /// Returns the effect of a node.
    pub fn effect(&self, side: Side, node: NodeId) -> Option<Effect> {
        let graph = match side {
            Side::Before => &self.before,
            Side::After | Side::Both => &self.after,
        };
        effect_of(graph.view, self.registry, &graph.beside, node)
    }

    fn is_shared(&self, node: NodeId) -> bool {
        match &self.shared {
            Shared::Nothing => false,
            Shared::AllBut(reached) => !reached.contains(&node),
        }
    }

    /// Returns the value of a place at a version.
    pub fn value(&mut self, side: Side, place: Place, stamp: Stamp) -> ValueId {
        let side = self.sided(side, place, stamp);
        self.store.at(Key { side, place, stamp, aspect: Aspect::Value })
    }

    /// Returns of which side a place at a version is: of both where the edit did not reach it.
    fn sided(&self, side: Side, place: Place, stamp: Stamp) -> Side {
        let writer_shared = match stamp {
            Stamp::Birth => true,
            Stamp::Write(writer) => self.is_shared(writer),
            Stamp::Final(_) => false,
        };
        match side {
            _ if writer_shared && self.is_shared(place.node) => Side::Both,
            // An operand of a node that the edit did not change was shown equal: either side's will do.
            Side::Both => Side::After,
            one => one,
        }
    }

    /// Returns the value that a place is by its operand, and that one by its own, where they are the same memory: a chain of writes is
    /// walked, not kept as a value of each of its places at each version.
    fn first_of_same(&mut self, key: Key, parent: Place) -> ValueId {
        let place = self.side(key.side).storages.first_of_same(parent);
        let side = self.sided(key.side, place, key.stamp);
        self.store.at(Key { side, place, stamp: key.stamp, aspect: Aspect::Value })
    }

    /// Returns how a value lies in memory, strides that no index uses left out.
    pub fn layout(&mut self, side: Side, place: Place) -> ValueId {
        self.layout_as(side, place, Aspect::Layout)
    }

    /// Returns how a value lies in memory; `aspect` says how exactly.
    pub fn layout_as(&mut self, side: Side, place: Place, aspect: Aspect) -> ValueId {
        let side = match side {
            _ if self.is_shared(place.node) => Side::Both,
            Side::Both => Side::After,
            one => one,
        };
        self.store.at(Key { side, place, stamp: Stamp::Birth, aspect })
    }

    /// Returns what `reader` sees of an operand.
    pub fn read(&mut self, side: Side, operand: NodeId, reader: NodeId) -> ValueId {
        let order = self.order(side, reader);
        let place = place_of(self.view(side), operand);
        self.read_at(side, place, order)
    }

    /// Returns where a node stands in program order.
    pub fn order(&self, side: Side, node: NodeId) -> u64 {
        self.view(side).place(node).map_or(0, |(_, order)| order)
    }

    /// Returns what stands in a place at a point of program order.
    pub fn read_at(&mut self, side: Side, place: Place, order: u64) -> ValueId {
        // What the signature has copied into inputs at the end is no call.
        if !self.kinds.writes && order < FINAL_ORDER {
            return self.value(side, place, Stamp::Birth);
        }
        let stamp = match self.side(side).storages.type_of(place) {
            ValueType::SymInt(_)
            | ValueType::SymFloat(_)
            | ValueType::SymBool(_)
            | ValueType::None
            | ValueType::Body(_) => Stamp::Birth,
            _ => self.side(side).storages.group(place).version_at(order),
        };
        self.value(side, place, stamp)
    }

    /// Returns what a node's result is right after the node, its own writes done.
    pub fn outcome(&mut self, side: Side, place: Place) -> ValueId {
        let order = self.order(side, place.node);
        self.read_at(side, place, order.saturating_add(1))
    }

    /// Returns whether a node is one on both sides.
    pub fn is_untouched(&self, node: NodeId) -> bool {
        self.is_shared(node)
    }

    /// Returns the type of a tensor that rules computed from what inputs state; `None` for any other.
    pub fn tensor(&mut self, side: Side, place: Place) -> Option<&'a TensorType> {
        if self.view(side).hearsay(place.node).sizes() {
            return None;
        }
        self.side(side).storages.type_of(place).as_tensor()
    }

    /// Finds the term of a value, and of all that this needs.
    pub fn resolve(&mut self, id: ValueId) {
        let mut open = vec![id];
        while let Some(&id) = open.last() {
            if self.store.term(id).is_some() {
                open.pop();
                continue;
            }
            let root = self.store.find(id);
            let Some(key) = self.store.key(root).or_else(|| self.store.key(id)) else {
                self.store.define(id, Form::Leaf(root), []);
                continue;
            };
            match self.find(key) {
                Found::Need(other) => open.push(other),
                Found::Term(form, children) => self.store.define(id, form, children),
                Found::Same(other) => {
                    if self.store.term(other).is_some() {
                        self.store.union(id, other);
                    } else if self.store.find(other) == root {
                        self.store.define(id, Form::Leaf(root), []);
                    } else {
                        open.push(other);
                    }
                }
            }
        }
    }

    /// Finds the term of a value and of everything below it, so that equal structures are one class.
    pub fn settle(&mut self, id: ValueId) {
        let mut open = vec![(id, false)];
        // Classes may stand below themselves, as `floor(x)` that was found equal to `floor(floor(x))`.
        let mut above: FxHashSet<ValueId> = FxHashSet::default();
        while let Some((id, below_done)) = open.pop() {
            if self.store.is_settled(id) {
                continue;
            }
            if below_done {
                self.store.rehash(id);
                continue;
            }
            self.resolve(id);
            if !above.insert(self.store.find(id)) {
                continue;
            }
            let children = self.store.term(id).map(|t| t.children.clone()).unwrap_or_default();
            open.push((id, true));
            open.extend(children.into_iter().filter(|c| !self.store.is_settled(*c)).map(|c| (c, false)));
        }
    }

    /// Returns the term of a value.
    pub fn term(&mut self, id: ValueId) -> Option<Term> {
        self.resolve(id);
        self.store.term(id).cloned()
    }

    pub(in crate::verify) fn leaf(&mut self, key: Key) -> Found {
        let id = self.store.at(key);
        Found::Term(Form::Leaf(id), Vec::new())
    }

    fn find(&mut self, key: Key) -> Found {
        match key.aspect {
            Aspect::Layout | Aspect::Exact => return self.find_layout(key),
            Aspect::Memory => return self.find_memory(key),
            Aspect::Value => {}
        }
        match self.side(key.side).storages.parent(key.place) {
            Some(Shares::Same(parent)) => Found::Same(self.first_of_same(key, parent)),
            Some(Shares::View(parent)) => {
                let child = self.value(key.side, parent, key.stamp);
                self.find_view(key, parent, child)
            }
            Some(Shares::Maybe(_)) | None => match key.stamp {
                Stamp::Birth => self.find_birth(key),
                Stamp::Write(_) | Stamp::Final(_) => self.find_written(key),
            },
        }
    }

    /// A view of `child`: an index map where sizes say which, else a function of the arguments.
    fn find_view(&mut self, key: Key, parent: Place, child: ValueId) -> Found {
        let view = self.view(key.side);
        let operator = self.registry.operator_of(view, key.place.node);
        let bound = operator.and_then(|o| bind(o, view, key.place.node).map(|b| (o, b)));
        let Some((operator, bound)) = bound else { return self.leaf(key) };
        if equal_operand(self, key.side, operator, &bound, key.place).is_some() {
            return Found::Same(child);
        }
        if let Some(from) = self.tensor(key.side, parent)
            && let Some(step) = self.view_step(key.side, operator, &bound, key.place)
            && let Some(found) = self.apply(&step, &from.sizes, child)
        {
            return found;
        }
        let operand = |f: &mut Self, node: NodeId| {
            if place_of(view, node) == parent { child } else { f.read(key.side, node, key.place.node) }
        };
        self.call_term(key, operator, &bound, operand)
    }

    /// Returns the index map that a call of a view operator is, where types that rules computed say which.
    pub(in crate::verify) fn view_step(
        &mut self,
        side: Side,
        operator: &Operator,
        bound: &Bound<'_>,
        place: Place,
    ) -> Option<Step> {
        let view = self.view(side);
        if operator.facts.shares == Some(SharesWhen::Each) && place.item != Place::WHOLE {
            return self.tensor(side, place).map(|to| Step::Expand(to.sizes.clone()));
        }
        if operator.facts.step.is_none() {
            return strided_step(self, side, operator, place);
        }
        let source = place_of(view, bound.args.first()?.as_node()?);
        let (from, to) = (self.tensor(side, source)?, self.tensor(side, place)?);
        ViewCall { view, operator, bound, place }.step(from, to, &mut self.sizes)
    }

    /// Applies one view to a value; `None` where the arithmetic does not fit.
    fn apply(&mut self, step: &Step, from: &[crate::sym::Dim], child: ValueId) -> Option<Found> {
        let Some(term) = self.store.term(child).cloned() else { return Some(Found::Need(child)) };
        let (start, base, inner) = match (&*term.form, term.children.first()) {
            (Form::View { map, base }, Some(inner)) if map.sizes() == from => (map.clone(), base.clone(), *inner),
            _ => (ViewMap::identity(from, &mut self.sizes)?, Dims::from(from), child),
        };
        let map = start.then(step, &mut self.sizes)?;
        self.view_of(map, base, inner)
    }

    fn view_of(&mut self, map: ViewMap, base: Dims, inner: ValueId) -> Option<Found> {
        let mut inner = inner;
        // No chain of writes is longer than there are values, but for one that comes back to where it began.
        for _ in 0..=self.store.kept() {
            if map.is_identity(&base, &mut self.sizes) {
                return Some(Found::Same(inner));
            }
            let Some(term) = self.store.term(inner).cloned() else { return Some(Found::Need(inner)) };
            match (&*term.form, term.children.as_slice()) {
                (Form::Scatter { map: written, base: of }, [_, new]) if *of == base && *written == map => {
                    return Some(Found::Same(*new));
                }
                (Form::Scatter { map: written, base: of }, [old, _]) if *of == base && !written.meets(&map) => {
                    inner = *old;
                }
                _ => break,
            }
        }
        Some(Found::Term(Form::View { map, base }, vec![inner]))
    }

    /// Puts `new` in the place of a part of `old`.
    pub(in crate::verify) fn scatter(&mut self, map: ViewMap, base: Dims, old: ValueId, new: ValueId) -> Found {
        if map.is_identity(&base, &mut self.sizes) {
            return Found::Same(new);
        }
        // Where each element is written, what was there has no say.
        if let Some(back) = map.inverse(&base, &mut self.sizes) {
            return Found::Term(Form::View { map: back, base: map.sizes().into() }, vec![new]);
        }
        let Some(term) = self.store.term(old).cloned() else { return Found::Need(old) };
        match (&*term.form, term.children.as_slice()) {
            (Form::Scatter { map: written, base: of }, [older, _]) if *of == base && *written == map => {
                Found::Term(Form::Scatter { map, base }, vec![*older, new])
            }
            _ => Found::Term(Form::Scatter { map, base }, vec![old, new]),
        }
    }

    fn find_birth(&mut self, key: Key) -> Found {
        let view = self.view(key.side);
        let node = key.place.node;
        match view.kind(node) {
            NodeKind::Placeholder => match self.side(key.side).inputs.get(&node) {
                Some(number) => Found::Term(Form::Input(*number), Vec::new()),
                None => self.leaf(key),
            },
            NodeKind::GetAttr => match view.ty(node) {
                ValueType::Body(body) => {
                    let number = crate::verify::functional::bodies::number(self, key.side, *body);
                    Found::Term(Form::Body(number), Vec::new())
                }
                _ => Found::Term(Form::Attribute(view.target(node).into()), Vec::new()),
            },
            NodeKind::Output => self.leaf(key),
            NodeKind::Call => self.find_call(key),
        }
    }

    fn find_call(&mut self, key: Key) -> Found {
        let view = self.view(key.side);
        let node = key.place.node;
        if let Some((of, item)) = getitem_of(view, node) {
            let whole = self.read(key.side, of, node);
            return Found::Term(Form::Item(item), vec![whole]);
        }
        let bound = self.registry.operator_of(view, node).and_then(|o| bind(o, view, node).map(|b| (o, b)));
        let Some((operator, bound)) = bound else { return self.opaque(key) };
        if let Some(operand) = equal_operand(self, key.side, operator, &bound, key.place) {
            return Found::Same(self.read(key.side, operand, node));
        }
        if let Some(found) = self.find_functionalized(key, operator, &bound) {
            return found;
        }
        if let Some(found) = self.find_movement(key, operator, &bound) {
            return found;
        }
        self.call_term(key, operator, &bound, |f, operand| f.read(key.side, operand, node))
    }

    /// Fresh results that only move elements: copies of views, and values with a part replaced.
    fn find_movement(&mut self, key: Key, operator: &Operator, bound: &Bound<'_>) -> Option<Found> {
        let view = self.view(key.side);
        let node = key.place.node;
        let Arg::Node(source) = bound.args.first()? else { return None };
        if operator.facts.scatters.is_some() {
            return self.find_scatter(key, operator, bound, *source);
        }
        let step = self.view_step(key.side, operator, bound, key.place)?;
        let from = self.tensor(key.side, place_of(view, *source))?;
        let child = self.read(key.side, *source, node);
        self.apply(&step, &from.sizes, child)
    }

    fn find_scatter(&mut self, key: Key, operator: &Operator, bound: &Bound<'_>, source: NodeId) -> Option<Found> {
        let view = self.view(key.side);
        let new = bound.args.get(1)?.as_node()?;
        let from = self.tensor(key.side, place_of(view, source))?;
        let new_type = self.tensor(key.side, place_of(view, new))?;
        let call = ViewCall { view, operator, bound, place: key.place };
        let step = call.scatter_step(from, new_type, &mut self.sizes)?;
        let map = ViewMap::identity(&from.sizes, &mut self.sizes)?.then(&step, &mut self.sizes)?;
        let fits = new_type.dtype == from.dtype && self.sizes.all_same(map.sizes(), &new_type.sizes);
        if !fits {
            return None;
        }
        let old = self.read(key.side, source, key.place.node);
        let new = self.read(key.side, new, key.place.node);
        Some(self.scatter(map, from.sizes.clone(), old, new))
    }

    /// Whether a call has no effect but that it draws: in which memory its operands lie beside others has no say.
    fn draws_alone(&self, operator: &Operator, bound: &Bound<'_>) -> bool {
        let hides = bound.args.iter().any(|arg| matches!(arg, Arg::Operator(_)));
        let effects = &operator.effects;
        call::draws(operator, bound) && effects.side.is_none() && !effects.opaque && !hides && !self.kinds.goes_on
    }

    /// The term of a call that is a function of its operands (and, for draws, of its number and of the memory that it fills).
    fn call_term(
        &mut self,
        key: Key,
        operator: &Operator,
        bound: &Bound<'_>,
        mut operand: impl FnMut(&mut Self, NodeId) -> ValueId,
    ) -> Found {
        let view = self.view(key.side);
        let node = key.place.node;
        let Arguments { mut tokens, operands } = Arguments::bound(view, operator, bound, &mut self.sizes);
        if operator.effects.side == Some(SideEffect::Assert) {
            // What it says to a person is no part of what it asks.
            tokens.retain(|t| !matches!(t, Token::Str(_)));
        }
        let ordered = self.effect(key.side, node) == Some(Effect::Ordered);
        if ordered {
            tokens.push(self.event(key));
        }
        if operator.facts.unset {
            let numbers = self.side(key.side).unset.as_ref();
            let number = numbers.map_or(Some(node.to_bits()), |n| n.get(&node).copied());
            tokens.push(Token::Event(number.unwrap_or(u64::MAX)));
        }
        let mut children = self.operands(key, &mut tokens, &operands, &mut operand);
        tokens.extend(self.told(key));
        if operator.effects.writes() || ordered && !self.draws_alone(operator, bound) {
            self.add_shared_operands(key, &mut tokens, &mut children);
        }
        if ordered {
            self.add_memory_known_to_opaque(key, &mut tokens, &mut children);
        }
        if call::draws(operator, bound) {
            self.add_layouts_of_results(key, &mut tokens, &mut children);
        }
        if operator.facts.sees_layout(|name| operator.schema.param_index(name).map(|i| bound.get(i))) {
            self.add_seen_layout(key, bound, &mut tokens, &mut children);
        }
        if operator.effects.side == Some(SideEffect::Control) && see_layout(view, self.registry, node) {
            for operand in tensor_operands(view, node) {
                children.push(self.layout_as(key.side, operand, Aspect::Exact));
            }
        }
        if operator.facts.layout_decides {
            let Some(source) = bound.args.first().and_then(|a| a.as_node()) else { return self.leaf(key) };
            children.push(self.layout(key.side, place_of(view, source)));
        }
        let form = Form::Call {
            callee: self.store.callee(operator.facts.same_call.as_deref().unwrap_or(&operator.target)),
            // Of two NaN the first is kept.
            commutes: !self.kinds.sees_nan
                && operator.commutes
                && exchangeable(&tokens)
                && self.are_alike(key.side, &operands),
            tokens: tokens.into(),
        };
        self.result(key, form, children)
    }

    /// Whether two operands have one dtype: then none of them is converted, and they may be exchanged where the operator commutes.
    pub(in crate::verify) fn are_alike(&mut self, side: Side, operands: &[NodeId]) -> bool {
        let view = self.view(side);
        let [a, b] = operands else { return false };
        match (view.ty(*a), view.ty(*b)) {
            (ValueType::Tensor(_), ValueType::Tensor(_)) => {
                let (a, b) = (self.tensor(side, place_of(view, *a)), self.tensor(side, place_of(view, *b)));
                // Products of complex numbers add four parts, in an order that an exchange changes.
                matches!((a, b), (Some(a), Some(b))
                    if a.dtype == b.dtype && !a.dtype.is_complex() && a.device == b.device)
            }
            (ValueType::SymInt(_), ValueType::SymInt(_)) | (ValueType::SymBool(_), ValueType::SymBool(_)) => true,
            _ => false,
        }
    }

    /// What an annotation alone says of a result belongs to the call: who reads another type reads another value.
    pub(in crate::verify) fn told(&mut self, key: Key) -> Vec<Token> {
        if !self.view(key.side).hearsay(key.place.node).is_told() {
            return Vec::new();
        }
        annotation(self.side(key.side).storages.type_of(key.place))
    }

    /// An operator that nobody described: its operands, its number, the memory that it can know, and the type that was read.
    fn opaque(&mut self, key: Key) -> Found {
        let view = self.view(key.side);
        let node = key.place.node;
        let Arguments { mut tokens, operands } = Arguments::written(view, node, &mut self.sizes);
        tokens.push(self.event(key));
        let mut children = self.operands(key, &mut tokens, &operands, &mut |f, n| f.read(key.side, n, node));
        for operand in crate::analysis::tensor_operands(view, node) {
            children.push(self.layout(key.side, operand));
        }
        tokens.extend(self.told(key));
        self.add_shared_operands(key, &mut tokens, &mut children);
        self.add_memory_known_to_opaque(key, &mut tokens, &mut children);
        let form = Form::Call { callee: self.store.callee(view.target(node)), tokens: tokens.into(), commutes: false };
        self.result(key, form, children)
    }

    /// Values of operands; a tuple or list node counts as its items.
    pub(in crate::verify) fn operands(
        &mut self,
        key: Key,
        tokens: &mut Vec<Token>,
        operands: &[NodeId],
        read: &mut impl FnMut(&mut Self, NodeId) -> ValueId,
    ) -> Vec<ValueId> {
        let view = self.view(key.side);
        let mut children = Vec::with_capacity(operands.len());
        for (number, node) in operands.iter().enumerate() {
            if let ValueType::Many(_) = view.ty(*node) {
                let order = self.order(key.side, key.place.node);
                let places = self.side(key.side).storages.places(*node);
                // How many there are belongs to the arguments.
                tokens.extend([Token::List(places.len()), Token::count(number)]);
                for place in places {
                    children.push(self.read_at(key.side, place, order));
                }
            } else {
                children.push(read(self, *node));
            }
        }
        children
    }

    pub(in crate::verify) fn event(&mut self, key: Key) -> Token {
        let node = key.place.node;
        let number = self.side(key.side).events.as_ref().map_or(Some(node.to_bits()), |e| e.get(&node).copied());
        Token::Event(number.unwrap_or(u64::MAX))
    }

    fn result(&mut self, key: Key, form: Form, children: Vec<ValueId>) -> Found {
        if key.place.item == Place::WHOLE {
            return Found::Term(form, children);
        }
        let whole = self.store.of_term(form, children);
        Found::Term(Form::Item(key.place.item), vec![whole])
    }
}

/// A type as tokens.
fn annotation(ty: &ValueType) -> Vec<Token> {
    let Some(t) = ty.as_tensor() else { return Vec::new() };
    let strides = t.strides.iter().flatten().map(|d| Token::Dim(*d));
    let known = [Token::Dtype(t.dtype), Token::Device(t.device.clone()), Token::List(t.sizes.len())];
    known.into_iter().chain(t.sizes.iter().map(|d| Token::Dim(*d))).chain(strides).collect()
}

/// Binds a node's arguments.
pub fn bind<'v>(operator: &'v Operator, view: &'v dyn View, node: NodeId) -> Option<Bound<'v>> {
    Bound::bind(&operator.schema, view, view.args(node), view.kwargs(node)).ok()
}

/// Returns whether the first two arguments are operands and all others have no say (their defaults).
pub(in crate::verify) fn exchangeable(tokens: &[Token]) -> bool {
    match tokens.split_first_chunk::<2>() {
        Some(([Token::Child, Token::Child], rest)) => rest.iter().all(|t| matches!(t, Token::Int(1) | Token::None)),
        _ => false,
    }
}
