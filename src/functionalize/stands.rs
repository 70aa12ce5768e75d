//! Calls that stand for a call of an operator that writes, on copies of what it writes.
//!
//! Promises: `auto_functionalized(OP, ...)` and operators marked `#functional-of=OP` become copies and a call of `OP`, whose writes are then taken
//! out as any others. What writes parts of a base, or leaves one out, stays as it is.

use super::Kept;
use super::memory::Memory;
use crate::graph::{Arg, NodeId, StrId, View};
use crate::ops::{Functionalizes, Operator};

/// A call of the operator that is stood for.
struct Stood {
    target: String,
    args: Vec<Arg>,
    kwargs: Vec<(StrId, Arg)>,
    /// Where among these what it writes stands, in the order in which it is given back.
    written: Vec<Slot>,
}

/// Where an argument stands.
#[derive(Clone, Copy)]
enum Slot {
    Positional(usize),
    Named(StrId),
}

impl Stood {
    fn slot(&mut self, slot: Slot) -> Option<&mut Arg> {
        match slot {
            Slot::Positional(at) => self.args.get_mut(at),
            Slot::Named(name) => self.kwargs.iter_mut().find(|(key, _)| *key == name).map(|(_, arg)| arg),
        }
    }
}

impl Memory<'_> {
    /// Whether a call stands for one of an operator that writes.
    pub(super) fn stands_for_another(&self, node: NodeId) -> bool {
        let facts = self.registry.operator_of(&self.graph, node).map(|o| &o.facts);
        facts.is_some_and(|f| f.functional_of.is_some() || f.functionalizes.is_some())
    }

    /// Puts copies and the call itself before a call that stands for it; returns its results, or nothing where it is no such call.
    pub(super) fn called(&mut self, node: NodeId) -> Result<Option<Vec<Arg>>, Kept> {
        let Some(mut stood) = self.stood(node) else { return Ok(None) };
        let mut copies = Vec::new();
        for slot in std::mem::take(&mut stood.written) {
            let Some(arg) = stood.slot(slot) else { return Ok(None) };
            let copy = self.insert(node, "aten.clone.default", vec![arg.clone()])?;
            *arg = Arg::Node(copy);
            copies.push(Arg::Node(copy));
        }
        let call = self.insert_with(node, &stood.target, stood.args, stood.kwargs)?;
        let count = self.registry.get(&stood.target).map_or(0, |o| o.schema.returns.len());
        let mut results = Vec::new();
        for item in 0..count {
            results.push(match count {
                1 => Arg::Node(call),
                _ => {
                    let item = Arg::Int(i64::try_from(item).unwrap_or(i64::MAX));
                    Arg::Node(self.insert(node, "_operator.getitem", vec![Arg::Node(call), item])?)
                }
            });
        }
        let is_named = self.registry.operator_of(&self.graph, node).is_some_and(|o| o.facts.functionalizes.is_some());
        // What gives nothing gives a None there.
        results.extend((count == 0 && is_named).then_some(Arg::None));
        Ok(Some(results.into_iter().chain(copies).collect()))
    }

    fn stood(&self, node: NodeId) -> Option<Stood> {
        let graph = &self.graph;
        let own = self.registry.operator_of(graph, node)?;
        let (args, kwargs) = (graph.args(node), graph.kwargs(node));
        let (target, args) = match (&own.facts.functional_of, own.facts.functionalizes, args) {
            (Some(target), _, args) => (&**target, args),
            (None, Some(Functionalizes::Arguments), [Arg::Operator(target), none @ ..]) if none.is_empty() => {
                (&**target, none)
            }
            _ => return None,
        };
        let operator = self.registry.get(target.strip_prefix("torch.ops.").unwrap_or(target))?;
        let written = self.written_by(operator, args, kwargs)?;
        Some(Stood { target: operator.target.to_string(), args: args.to_vec(), kwargs: kwargs.to_vec(), written })
    }

    /// Where the tensors stand that a call would write, one a parameter; nothing where one is left out or is a list.
    fn written_by(&self, operator: &Operator, args: &[Arg], kwargs: &[(StrId, Arg)]) -> Option<Vec<Slot>> {
        let bound = crate::ops::Bound::bind(&operator.schema, &self.graph, args, kwargs).ok()?;
        let written = (0..bound.args.len()).filter(|i| crate::analysis::call::writes(operator, &bound, *i));
        let slot = |i: usize| {
            bound.get(i).as_node()?;
            let name = &operator.schema.params.get(i)?.name;
            let named = kwargs.iter().map(|(k, _)| *k).find(|k| self.graph.texts.text(*k) == &**name);
            Some(named.map_or(Slot::Positional(i), Slot::Named))
        };
        written.map(slot).collect()
    }
}
