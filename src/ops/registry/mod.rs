//! The registry: every operator that Airlock knows, by target.
//!
//! Promises: [`Registry::standard`] is the tables and rules of this crate, the same at every call; lookup is one hash; an operator file
//! only adds. Leaves inference to `infer`, whole graphs to `check`.

pub(in crate::ops) mod file;
pub(in crate::ops) mod lowering;
pub(in crate::ops) mod operator;
pub(in crate::ops) mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::error::CallFault;
use crate::graph::{Arg, Graph, StrId, View};
use crate::ops::families;
use crate::ops::registry::operator::{Operator, Rule};
use crate::ops::schema::bind::Bound;
use crate::sym::KeyedMap;

/// Operators by target.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    operators: Vec<Operator>,
    by_target: KeyedMap<Box<str>, usize>,
    /// Overloads by target without overload, the default one first.
    packets: KeyedMap<Box<str>, SmallVec<[usize; 2]>>,
    /// No other operators have this number: each change is another one.
    stamp: u64,
}

/// The number of the operators that are made next.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Registry {
    /// Returns every operator of this crate. Building it takes a few milliseconds: build once a run and share.
    pub fn standard() -> Registry {
        let mut registry = Registry::default();
        for table in table::TABLES {
            let mut family = "";
            for line in table.lines() {
                family = table::heading(line).unwrap_or(family);
                // A test holds that every line parses.
                let Some((schema, marks)) = table::line(line).ok().flatten() else { continue };
                let mut operator = Operator::new(schema, &marks);
                if !family.is_empty() {
                    operator.family = family.into();
                }
                registry.add(operator);
            }
        }
        for (rule, targets) in families::families() {
            for target in *targets {
                registry.set_rule(target, *rule);
            }
        }
        for (need, targets) in families::needs() {
            for target in *targets {
                if let Some(operator) = registry.by_target.get(*target).and_then(|i| registry.operators.get_mut(*i)) {
                    operator.needs.push(*need);
                }
            }
        }
        let pairs: Vec<Option<usize>> = registry.operators.iter().map(|o| registry.functional_place(o)).collect();
        for (operator, place) in registry.operators.iter_mut().zip(pairs) {
            operator.functional = place;
        }
        let of =
            |(place, o): (usize, &Operator)| Some((*registry.by_target.get(o.facts.functional_of.as_deref()?)?, place));
        let apart: Vec<(usize, usize)> = registry.operators.iter().enumerate().filter_map(of).collect();
        for (place, of) in apart {
            if let Some(operator) = registry.operators.get_mut(place) {
                operator.apart = Some(of);
            }
        }
        registry.changed();
        registry
    }

    /// Returns the operator that gives as a new tensor what `operator` writes and returns.
    pub fn functional(&self, operator: &Operator) -> Option<&Operator> {
        self.operators.get(operator.functional?)
    }

    /// Returns the operator of the same arguments that gives the results of `operator`, then all that it writes.
    pub fn apart(&self, operator: &Operator) -> Option<&Operator> {
        self.operators.get(operator.apart?)
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

    fn set_rule(&mut self, target: &str, rule: Rule) {
        if let Some(operator) = self.by_target.get(target).and_then(|i| self.operators.get_mut(*i)) {
            operator.rule = Some(rule);
        }
    }

    /// Adds an operator; one of the same target is replaced.
    pub fn add(&mut self, operator: Operator) {
        self.changed();
        if let Some(old) = self.by_target.get(&operator.target).and_then(|i| self.operators.get_mut(*i)) {
            *old = operator;
            return;
        }
        let index = self.operators.len();
        let overloads = self.packets.entry(operator.packet().into()).or_default();
        let place = if operator.schema.overload.is_empty() { 0 } else { overloads.len() };
        overloads.insert(place, index);
        self.by_target.insert(operator.target.clone(), index);
        self.operators.push(operator);
    }

    /// Gives an operator the graph of its meaning: placeholders named as its parameters, one output.
    pub fn set_body(&mut self, target: &str, body: Graph) {
        self.changed();
        if let Some(operator) = self.by_target.get(target).and_then(|i| self.operators.get_mut(*i)) {
            operator.body = Some(Arc::new(body));
        }
    }

    /// Returns the operator of that target. A target without overload is found only where one operator has that name.
    pub fn get(&self, target: &str) -> Option<&Operator> {
        if let Some(index) = self.by_target.get(target) {
            return self.operators.get(*index);
        }
        match self.packets.get(target)?.as_slice() {
            [one] => self.operators.get(*one),
            _ => None,
        }
    }

    /// Returns the overloads of a target without overload (`aten.add`).
    pub fn overloads(&self, packet: &str) -> impl Iterator<Item = &Operator> {
        self.packets.get(packet).into_iter().flatten().filter_map(|i| self.operators.get(*i))
    }

    /// Returns every operator, in the order of the tables.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
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
        assert_eq!(lines.count(), Registry::standard().operators.len());
    }

    #[test]
    fn a_packet_with_one_overload_is_that_overload() {
        let registry = Registry::standard();
        assert_eq!(&*registry.get("npu.scatter_update").unwrap().target, "npu.scatter_update.default");
        assert!(registry.get("aten.add").is_none());
        assert!(registry.get("aten.no_such").is_none());
    }
}
