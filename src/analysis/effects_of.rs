//! What a call does beside computing its results: the answers that a pass is given.
//!
//! Promises: (1) [`EffectsOf::of`] says what a call does with its arguments as they stand, [`effects_of_target`] the worst over all
//! arguments that the operator takes: what the first says of a call, the second says of its target; (2) what nobody described is the worst of
//! everything ([`CallEffects::is_opaque`]); (3) an answer costs the arguments of its call, and where a write depends on
//! arguments or bodies the storages of what may be written. Leaves to `ops` what operators do, to `storage` which of them are
//! spared, to the judge what follows.
//!
//! Operands are named by parameter: the `i`-th positional argument of a call is parameter `i`, a keyword argument the
//! parameter of that name.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::call;
use crate::analysis::sharing::may_share::{Shares, aliases, tensor_operands};
use crate::analysis::sharing::place::{GETITEM, Place, place_of, places_of, type_of};
use crate::analysis::sharing::storages::{Stamp, Storages};
use crate::graph::{Arg, Dtype, NodeId, NodeKind, StrId, ValueType, View};
use crate::ops::{Base, Bound, Operator, Registry, Sharing, SideEffect, Total};

/// A result that (maybe) lies in the memory of an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct SharedResult {
    /// The operand, as a position in [`CallEffects::parameters`].
    pub parameter: u32,
    /// How.
    pub how: Sharing,
}

/// Operands, as positions in [`CallEffects::parameters`].
pub type Operands = SmallVec<[u32; 4]>;

/// The operands whose memory one result may lie in; none: it is fresh.
pub type ResultMemory = SmallVec<[SharedResult; 1]>;

/// What a call does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallEffects<'a> {
    /// The names of the parameters; those that only varargs or an operator that nobody described gives a place have none
    /// where they are positional.
    pub parameters: SmallVec<[&'a str; 6]>,
    /// Whether nobody described the operator: then every other field says the worst.
    pub is_opaque: bool,
    /// Whether it is a function of its operands that leaves no trace.
    pub is_pure: bool,
    /// The operands whose memory it reads.
    pub reads: Operands,
    /// The operands whose memory it (maybe) writes.
    pub writes: Operands,
    /// One a result; a list that is one result has one for all its items, and the last holds for all results after it.
    pub results: SmallVec<[ResultMemory; 1]>,
    /// Whether it may draw random numbers.
    pub draws: bool,
    /// Whether it may raise though the types of its arguments fit.
    pub may_raise: bool,
    /// What else it does.
    pub side: Option<SideEffect>,
    /// Whether operands 0 and 1 may be exchanged, bit for bit.
    pub commutes: bool,
}

/// Of the names only their lengths: a graph has few different effects, and each of its calls is looked up among them.
impl Hash for CallEffects<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let names = self.parameters.iter().fold(self.parameters.len(), |sum, name| sum.wrapping_mul(31) ^ name.len());
        (names, self.is_opaque, self.is_pure, self.draws, self.may_raise, self.side, self.commutes).hash(state);
        self.reads.hash(state);
        self.writes.hash(state);
        self.results.hash(state);
    }
}

impl CallEffects<'_> {
    fn settle(mut self, fills: bool) -> Self {
        self.is_pure = fills && !self.is_opaque && !self.draws && self.side.is_none() && self.writes.is_empty();
        self.commutes &= self.is_pure;
        self
    }
}

/// What the calls of one graph do.
pub struct EffectsOf<'a> {
    view: &'a dyn View,
    registry: &'a Registry,
    storages: Storages<'a>,
    /// Operators of targets that name one.
    operators: FxHashMap<StrId, &'a Operator>,
}

impl<'a> EffectsOf<'a> {
    /// Returns who answers for a graph; nothing is computed yet.
    pub fn new(view: &'a dyn View, registry: &'a Registry) -> Self {
        EffectsOf { view, registry, storages: Storages::new(view, registry, &[]), operators: FxHashMap::default() }
    }

    /// Returns what a node does with its arguments as they stand. What is no call reads its arguments and nothing else.
    pub fn of(&mut self, node: NodeId) -> CallEffects<'a> {
        let view = self.view;
        if view.kind(node) != NodeKind::Call {
            return not_a_call(view, node);
        }
        let operator = self.operator(node);
        let bound = operator.and_then(|o| Bound::bind(&o.schema, view, view.args(node), view.kwargs(node)).ok());
        match (operator, bound) {
            (Some(operator), Some(bound)) if !operator.effects.opaque && self.is_understood(operator, &bound) => {
                self.described(node, operator, &bound)
            }
            _ => undescribed(view, node),
        }
    }

    fn operator(&mut self, node: NodeId) -> Option<&'a Operator> {
        let target = self.view.target_id(node);
        if let Some(known) = self.operators.get(&target) {
            return Some(known);
        }
        let named = self.registry.get(self.view.target(node));
        if let Some(operator) = named {
            self.operators.insert(target, operator);
        }
        // Which overload a target without one means, its arguments say.
        named.or_else(|| self.registry.operator_of(self.view, node))
    }

    /// Returns whether every operator that the call is handed does nothing that is not seen here, and every argument has one
    /// place among the parameters.
    fn is_understood(&self, operator: &Operator, bound: &Bound<'_>) -> bool {
        let places = !operator.schema.params.iter().any(|p| p.kwarg_only) || bound.extra.iter().all(|e| e.0.is_some());
        let runs_bodies = operator.effects.side == Some(SideEffect::Control);
        let harmless = |arg: &Arg| match arg {
            Arg::Operator(target) => self.registry.get(plain(target)).map(|o| &o.effects).is_some_and(|inner| {
                // What is called in place writes its operands; the functional form of a call writes copies of them.
                let writes_here = runs_bodies && inner.writes();
                !inner.opaque && !inner.random && inner.side.is_none() && !writes_here
            }),
            _ => true,
        };
        places && bound.args.iter().chain(bound.extra.iter().map(|(_, a)| a)).all(|arg| harmless(arg))
    }

    fn described(&mut self, node: NodeId, operator: &'a Operator, bound: &Bound<'a>) -> CallEffects<'a> {
        let view = self.view;
        let effects = &operator.effects;
        let runs_bodies = effects.side == Some(SideEffect::Control);
        let mut out = CallEffects {
            parameters: operator.schema.params.iter().map(|p| &*p.name).collect(),
            draws: runs_bodies || call::draws(operator, bound),
            may_raise: self.may_raise(node, operator),
            side: effects.side,
            commutes: commutes_here(operator, bound),
            ..CallEffects::default()
        };
        out.parameters.extend(bound.extra.iter().map(|(name, _)| name.map_or("", |n| view.texts().text(n))));
        let given = bound.args.iter().chain(bound.extra.iter().map(|(_, arg)| arg));
        for (at, arg) in given.enumerate() {
            let stated = effects.params.get(at).copied().unwrap_or_default();
            // What bodies and varargs do with an operand no schema says.
            let unstated = runs_bodies || at >= effects.params.len();
            if arg.nodes().any(|n| (stated.reads || unstated) && holds_memory(view.ty(n))) {
                out.reads.push(number(at));
            }
            // A write that the schema shows is one; others depend on arguments and bodies.
            let depends = stated.hidden || runs_bodies;
            if (stated.writes && !stated.hidden) || (depends && self.writes(node, arg)) {
                out.writes.push(number(at));
            }
        }
        out.results = match runs_bodies {
            true => anything(&out.reads),
            false => self.results(node, operator, bound),
        };
        out.settle(!operator.facts.unset)
    }

    /// Returns whether the call, which may write this operand, does so.
    fn writes(&mut self, node: NodeId, arg: &Arg) -> bool {
        arg.nodes().any(|operand| {
            places_of(self.view, operand).into_iter().any(|place| {
                let group = self.storages.group(place);
                group.writes(Stamp::Write(node)).iter().any(|event| event.place == place)
            })
        })
    }

    /// Returns whether the call may raise: unless its operator states that it never does where types fit.
    fn may_raise(&self, node: NodeId, operator: &Operator) -> bool {
        let plain = |place: &Place| {
            type_of(self.view, *place).as_tensor().is_some_and(|t| matches!(t.dtype, Dtype::F32 | Dtype::F64))
        };
        let total = match operator.facts.total {
            Total::Always => true,
            Total::Floats => tensor_operands(self.view, node).iter().all(plain),
            // Stated for numbers that fit, too: told where none is given.
            Total::Plain | Total::PlainWords | Total::Reals | Total::AnyFloats => {
                let mut args = self.view.args(node).iter().chain(self.view.kwargs(node).iter().map(|(_, a)| a));
                args.all(|a| matches!(a, Arg::Node(_))) && tensor_operands(self.view, node).iter().all(plain)
            }
            _ => false,
        };
        !total || operator.effects.writes() || operator.facts.step.is_some()
    }

    /// Returns the memory of each result that the schema names; where the items of a list differ, the least sure holds.
    fn results(&mut self, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> SmallVec<[ResultMemory; 1]> {
        let stated = &operator.effects.returns;
        if &*operator.target == GETITEM {
            let taken = SharedResult { parameter: 0, how: Sharing::Same };
            return SmallVec::from_elem([taken].into_iter().filter(|_| holds_memory(self.view.ty(node))).collect(), 1);
        }
        if stated.iter().all(SmallVec::is_empty) {
            return stated.iter().map(|_| ResultMemory::new()).collect();
        }
        let places = places_of(self.view, node);
        let of_result = |result: usize| -> Vec<Place> {
            let own = |p: &&Place| stated.len() == 1 || p.item == number(result) || p.item == Place::WHOLE;
            places.iter().filter(own).copied().collect()
        };
        let each: Vec<Vec<Place>> = (0..stated.len()).map(of_result).collect();
        each.iter()
            .zip(stated)
            .map(|(places, stated)| {
                let mut found: BTreeMap<u32, (Sharing, usize)> = BTreeMap::new();
                for place in places {
                    for shares in self.storages.home(*place) {
                        self.note(*place, shares, operator, bound, &mut found);
                    }
                }
                let every = |(parameter, (how, items)): (u32, (Sharing, usize))| SharedResult {
                    parameter,
                    how: if items < places.len() { Sharing::Maybe } else { how },
                };
                match places.is_empty() {
                    true => {
                        stated.iter().map(|s| SharedResult { parameter: number(s.param), how: s.sharing }).collect()
                    }
                    false => found.into_iter().map(every).collect(),
                }
            })
            .collect()
    }

    fn note(
        &self,
        result: Place,
        shares: Shares,
        operator: &Operator,
        bound: &Bound<'_>,
        found: &mut BTreeMap<u32, (Sharing, usize)>,
    ) {
        let how = match shares {
            Shares::Same(_) => Sharing::Same,
            Shares::View(_) => Sharing::View,
            Shares::Maybe(_) => Sharing::Maybe,
        };
        for alias in aliases(operator, result.item) {
            if bound.get(alias.param).nodes().any(|n| place_of(self.view, n) == shares.place()) {
                let (least, items) = found.entry(number(alias.param)).or_insert((how, 0));
                *least = less_sure(*least, how);
                *items = items.saturating_add(1);
            }
        }
    }
}

/// Returns the worst that a call of that target does, over all arguments.
pub fn effects_of_target<'a>(registry: &'a Registry, target: &str) -> CallEffects<'a> {
    let Some(operator) = registry.get(plain(target)).filter(|o| !o.effects.opaque) else { return worst() };
    let (schema, effects) = (&operator.schema, &operator.effects);
    let takes_anything = schema.params.iter().any(|p| matches!(p.ty.base, Base::Other(_)));
    if schema.varargs && takes_anything {
        // Operators are among what it takes: it does what they do.
        return worst();
    }
    let runs_bodies = effects.side == Some(SideEffect::Control);
    let those = |wanted: &dyn Fn(usize) -> bool| (0..schema.params.len()).filter(|i| wanted(*i)).map(number).collect();
    let access = |i: usize| effects.params.get(i).copied().unwrap_or_default();
    let all: Operands = (0..schema.params.len()).map(number).collect();
    let stated = effects
        .returns
        .iter()
        .map(|r| r.iter().map(|alias| SharedResult { parameter: number(alias.param), how: alias.sharing }).collect());
    let results = match () {
        () if runs_bodies => anything(&all),
        () if &*operator.target == GETITEM => {
            SmallVec::from_elem(ResultMemory::from_elem(SharedResult { parameter: 0, how: Sharing::Same }, 1), 1)
        }
        () => stated.collect(),
    };
    CallEffects {
        parameters: schema.params.iter().map(|p| &*p.name).collect(),
        reads: those(&|i| runs_bodies || access(i).reads),
        writes: those(&|i| runs_bodies || access(i).writes),
        results,
        draws: runs_bodies || effects.random,
        may_raise: operator.facts.total != Total::Always || operator.effects.writes() || operator.facts.step.is_some(),
        side: effects.side,
        commutes: operator.commutes && schema.params.len() == 2,
        ..CallEffects::default()
    }
    .settle(!operator.facts.unset)
}

/// Returns whether the first two arguments may be exchanged: all others have their defaults.
fn commutes_here(operator: &Operator, bound: &Bound<'_>) -> bool {
    let mut others = operator.schema.params.iter().zip(&bound.args).skip(2);
    operator.commutes
        && matches!(bound.args.as_slice(), [Arg::Node(_), Arg::Node(_), ..])
        && others.all(|(param, arg)| param.default.as_ref().is_some_and(|d| d.value == **arg))
}

fn not_a_call<'a>(view: &'a dyn View, node: NodeId) -> CallEffects<'a> {
    let args = match (view.kind(node), view.args(node)) {
        (NodeKind::Output, [only]) => only.items().map_or(1, <[Arg]>::len),
        (_, args) => args.len(),
    };
    CallEffects {
        parameters: SmallVec::from_elem("", args),
        reads: (0..args).map(number).collect(),
        is_pure: view.kind(node) == NodeKind::GetAttr,
        ..CallEffects::default()
    }
}

/// The worst of everything, over no argument in particular.
fn worst<'a>() -> CallEffects<'a> {
    CallEffects { is_opaque: true, draws: true, may_raise: true, ..CallEffects::default() }
}

/// The worst of everything: each argument is read and written, each result may be any of them.
fn undescribed<'a>(view: &'a dyn View, node: NodeId) -> CallEffects<'a> {
    let names = view.kwargs(node).iter().map(|(name, _)| view.texts().text(*name));
    let parameters: SmallVec<[&'a str; 6]> = view.args(node).iter().map(|_| "").chain(names).collect();
    let all: Operands = (0..parameters.len()).map(number).collect();
    CallEffects { parameters, writes: all.clone(), results: anything(&all), reads: all, ..worst() }
}

/// Every result may lie in the memory of each of these operands.
fn anything(operands: &[u32]) -> SmallVec<[ResultMemory; 1]> {
    let maybe = |parameter: &u32| SharedResult { parameter: *parameter, how: Sharing::Maybe };
    SmallVec::from_elem(operands.iter().map(maybe).collect(), 1)
}

fn less_sure(a: Sharing, b: Sharing) -> Sharing {
    match (a, b) {
        (Sharing::Maybe, _) | (_, Sharing::Maybe) => Sharing::Maybe,
        (Sharing::View, _) | (_, Sharing::View) => Sharing::View,
        (Sharing::Same, Sharing::Same) => Sharing::Same,
    }
}

fn holds_memory(ty: &ValueType) -> bool {
    !matches!(
        ty,
        ValueType::None | ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_) | ValueType::Body(_)
    )
}

fn plain(target: &str) -> &str {
    target.strip_prefix("torch.ops.").unwrap_or(target)
}

fn number(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
