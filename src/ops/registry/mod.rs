//! The registry: every operator that Airlock knows, by target.
//!
//! Promises: [`Registry::standard`] is the tables and rules of this crate, the same at every call; lookup is one hash; an operator file
//! only adds. Leaves inference to `infer`, whole graphs to `check`.

pub(in crate::ops) mod file;
pub(in crate::ops) mod lowering;
pub(in crate::ops) mod operator;
pub(in crate::ops) mod table;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::error::CallFault;
use crate::graph::{Arg, Graph, StrId, View};
use crate::ops::families;
use crate::ops::registry::operator::{Operator, Rule};
use crate::ops::registry::table::Line;
use crate::ops::schema::bind::Bound;
use crate::ops::typing::require::Need;
use crate::sym::KeyedMap;

/// Operators by target.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    // Names in it are the host's: those that are looked for cannot make it slow.
    by_target: FxHashMap<Box<str>, usize>,
    /// Overloads by target without overload, the default one first.
    packets: FxHashMap<Box<str>, SmallVec<[usize; 2]>>,
    /// Which operator gives what another one writes as further results, by the target of that other one.
    apart: KeyedMap<&'static str, usize>,
    /// No other operators have this number: each change is another one.
    stamp: u64,
}

/// An operator, made of its line of the tables when it is first asked for: a run asks for few of them.
#[derive(Clone, Debug)]
struct Entry {
    line: Option<Line>,
    made: OnceLock<Operator>,
}

/// The number of the operators that are made next.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Which rule types an operator of the tables.
static RULES: LazyLock<FxHashMap<&str, Rule>> = LazyLock::new(|| {
    let each = families::families().flat_map(|(rule, targets)| targets.iter().map(|t| (*t, *rule)));
    each.collect()
});

/// What calls of an operator of the tables must fulfil.
static NEEDS: LazyLock<FxHashMap<&str, SmallVec<[Need; 1]>>> = LazyLock::new(|| {
    let mut all: FxHashMap<&str, SmallVec<[Need; 1]>> = FxHashMap::default();
    for (need, targets) in families::needs() {
        for target in *targets {
            all.entry(target).or_default().push(*need);
        }
    }
    all
});

impl Registry {
    /// Returns every operator of this crate. What a line of the tables says is read when its operator is asked for.
    pub fn standard() -> Registry {
        let mut registry = Registry::default();
        let mut functional: Vec<(&'static str, usize)> = Vec::new();
        for table in table::TABLES {
            let mut family = "";
            for text in table.lines() {
                family = table::heading(text).unwrap_or(family);
                let Some(line) = Line::of(text, family) else { continue };
                let place = registry.entries.len();
                functional.extend(line.functional_of().map(|of| (of, place)));
                registry.insert(&line.target(), &line.packet(), line.is_default(), None);
                if let Some(entry) = registry.entries.last_mut() {
                    entry.line = Some(line);
                }
            }
        }
        registry.apart.extend(functional);
        registry.changed();
        registry
    }

    /// Makes the operator of an entry; a test holds that every line of the tables is one.
    fn at(&self, place: usize) -> Option<&Operator> {
        let entry = self.entries.get(place)?;
        if let Some(made) = entry.made.get() {
            return Some(made);
        }
        let made = self.made(entry.line.as_ref()?)?;
        Some(entry.made.get_or_init(|| made))
    }

    fn made(&self, line: &Line) -> Option<Operator> {
        let (schema, marks) = table::line(line.text).ok().flatten()?;
        let mut operator = Operator::new(schema, &marks);
        if !line.family.is_empty() {
            operator.family = line.family.into();
        }
        if let Some(rule) = RULES.get(&*operator.target) {
            operator.rule = Some(*rule);
        }
        operator.needs = NEEDS.get(&*operator.target).cloned().unwrap_or_default();
        operator.functional = self.functional_place(&operator);
        operator.apart = self.apart.get(&*operator.target).copied();
        Some(operator)
    }

    fn at_mut(&mut self, target: &str) -> Option<&mut Operator> {
        let place = *self.by_target.get(target)?;
        self.at(place)?;
        self.entries.get_mut(place)?.made.get_mut()
    }

    /// Returns the operator that gives as a new tensor what `operator` writes and returns.
    pub fn functional(&self, operator: &Operator) -> Option<&Operator> {
        self.at(operator.functional?)
    }

    /// Returns the operator of the same arguments that gives the results of `operator`, then all that it writes.
    pub fn apart(&self, operator: &Operator) -> Option<&Operator> {
        self.at(operator.apart?)
    }

    /// `add_.Tensor` writes what `add.Tensor` gives, `mm.out` what `mm.default` gives; a few overloads are named differently.
    fn functional_place(&self, operator: &Operator) -> Option<usize> {
        let schema = &operator.schema;
        let overload = if schema.overload.is_empty() { "default" } else { &*schema.overload };
        let place = |name: &str, overload: &str| {
            self.by_target.get(&*format!("{}.{name}.{overload}", schema.namespace)).copied()
        };
        if let Some(name) = schema.name.strip_suffix('_') {
            let others: &[&str] = match (name, overload) {
                ("pow", "Tensor") => &["Tensor_Tensor"],
                ("pow", "Scalar") => &["Tensor_Scalar"],
                ("floor_divide", "Tensor") => &["default"],
                ("bernoulli", "float") => &["p"],
                _ => &[],
            };
            return place(name, overload).or_else(|| others.iter().find_map(|o| place(name, o)));
        }
        let stem = overload.strip_suffix("out")?;
        place(&schema.name, if stem.is_empty() { "default" } else { stem.trim_end_matches('_') })
    }

    fn changed(&mut self) {
        self.stamp = NEXT.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of these operators: those of one number are the same.
    pub(in crate::ops) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Adds an operator; one of the same target is replaced.
    pub fn add(&mut self, operator: Operator) {
        self.changed();
        if let Some(old) = self.at_mut(&operator.target) {
            *old = operator;
            return;
        }
        let (target, packet) = (operator.target.to_string(), operator.packet());
        self.insert(&target, &packet, operator.schema.overload.is_empty(), Some(operator));
    }

    fn insert(&mut self, target: &str, packet: &str, is_default: bool, operator: Option<Operator>) {
        let index = self.entries.len();
        let overloads = self.packets.entry(packet.into()).or_default();
        let place = if is_default { 0 } else { overloads.len() };
        overloads.insert(place, index);
        self.by_target.insert(target.into(), index);
        self.entries.push(Entry { line: None, made: operator.map_or_else(OnceLock::new, OnceLock::from) });
    }

    /// Gives an operator the graph of its meaning: placeholders named as its parameters, one output.
    pub fn set_body(&mut self, target: &str, body: Graph) {
        self.changed();
        if let Some(operator) = self.at_mut(target) {
            operator.body = Some(Arc::new(body));
        }
    }

    /// Returns the operator of that target. A target without overload is found only where one operator has that name.
    pub fn get(&self, target: &str) -> Option<&Operator> {
        if let Some(index) = self.by_target.get(target) {
            return self.at(*index);
        }
        match self.packets.get(target)?.as_slice() {
            [one] => self.at(*one),
            _ => None,
        }
    }

    /// Returns the overloads of a target without overload (`aten.add`).
    pub fn overloads(&self, packet: &str) -> impl Iterator<Item = &Operator> {
        self.packets.get(packet).into_iter().flatten().filter_map(|i| self.at(*i))
    }

    /// Returns every operator, in the order of the tables.
    pub fn operators(&self) -> impl Iterator<Item = &Operator> {
        (0..self.entries.len()).filter_map(|place| self.at(place))
    }

    /// Returns the operator that a call means: by target, and by arguments where the target names no overload. `None`: opaque.
    pub fn resolve(
        &self,
        view: &dyn View,
        target: &str,
        args: &[Arg],
        kwargs: &[(StrId, Arg)],
    ) -> Result<Option<&Operator>, CallFault> {
        if let Some(operator) = self.get(target) {
            return Ok(Some(operator));
        }
        if !self.packets.contains_key(target) {
            return Ok(None);
        }
        match self.overloads(target).find(|o| Bound::bind(&o.schema, view, args, kwargs).is_ok()) {
            Some(operator) => Ok(Some(operator)),
            None => {
                Err(CallFault::NoOverload { tried: self.overloads(target).map(|o| o.target.to_string()).collect() })
            }
        }
    }

    /// Returns the operator that a call node means; `None` for an opaque one, and where no overload takes its arguments.
    pub fn operator_of(&self, view: &dyn View, node: crate::graph::NodeId) -> Option<&Operator> {
        self.resolve(view, view.target(node), view.args(node), view.kwargs(node)).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_names_an_operator_of_the_tables() {
        let registry = Registry::standard();
        let ruled = families::families().flat_map(|(_, targets)| *targets);
        for target in ruled.chain(families::needs().flat_map(|(_, targets)| *targets)) {
            assert!(registry.by_target.contains_key(*target), "no schema for the rule of {target}");
        }
    }

    #[test]
    fn every_line_of_the_tables_is_an_operator_of_its_own() {
        let lines = table::TABLES.iter().flat_map(|t| t.lines()).filter(|l| table::line(l).unwrap().is_some());
        assert_eq!(lines.count(), Registry::standard().operators().count());
    }

    #[test]
    fn an_operator_is_found_by_what_its_line_begins_with() {
        let registry = Registry::standard();
        for (target, place) in &registry.by_target {
            let operator = registry.at(*place).unwrap();
            assert_eq!(
                (&*operator.target, operator.packet().as_str()),
                (&**target, registry.entries[*place].line.as_ref().unwrap().packet().as_str())
            );
        }
        for (of, place) in &registry.apart {
            assert_eq!(registry.at(*place).unwrap().facts.functional_of.as_deref(), Some(*of));
        }
        let marked = registry.operators().filter(|o| o.facts.functional_of.is_some()).count();
        assert_eq!(registry.apart.len(), marked);
    }

    #[test]
    fn a_packet_with_one_overload_is_that_overload() {
        let registry = Registry::standard();
        assert_eq!(&*registry.get("npu.scatter_update").unwrap().target, "npu.scatter_update.default");
        assert!(registry.get("aten.add").is_none());
        assert!(registry.get("aten.no_such").is_none());
    }
}
