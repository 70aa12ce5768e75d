//! Operators without a converter, taken apart by their decompositions, in a copy of the graph that is lowered instead.
//!
//! A node is replaced by the calls of its decomposition, and these in turn, until all have a converter or one has neither. What
//! cannot be lowered is then said of the node that the graph has, not of one that stands in for it.

use std::collections::{HashMap, HashSet};

use super::lowering::{Remark, Unsupported};
use crate::graph::{Arg, BodyId, Graph, MemoryFormat, NodeId, View, replace};
use crate::ops::{Expansion, Registry};

/// A copy of a graph with some of its nodes taken apart.
pub(super) struct Expanded {
    pub(super) graph: Graph,
    pub(super) remarks: Vec<Remark>,
    /// Nodes that stand in for others: name to the name and target of the graph's own node.
    origins: HashMap<String, (String, String)>,
    /// Why nodes could not be taken apart, by name.
    refused: HashMap<String, String>,
}

/// What TorchAir's converter gives another meaning than PyTorch: rows of nothing but -inf become NaN there. A program that asks for it by name
/// gets what TorchAir makes; one that is taken apart does not.
const UNFAITHFUL: [&str; 1] = ["aten._safe_softmax.default"];

impl Expanded {
    pub(super) fn of(graph: &Graph) -> Self {
        Self { graph: graph.clone(), remarks: Vec::new(), origins: HashMap::new(), refused: HashMap::new() }
    }

    /// Takes nodes apart; returns whether any could be.
    pub(super) fn expand(&mut self, registry: &Registry, nodes: &[Unsupported]) -> bool {
        let mut any = false;
        let mut open: Vec<Unsupported> = self.with_those_alike(nodes);
        open.reverse();
        while let Some(lacking) = open.pop() {
            let Some(node) = self.graph.find_name(BodyId::ROOT, &lacking.node) else { continue };
            if self.forget_layout(node) {
                any = true;
                continue;
            }
            let expansion = match registry.decompose_values(&mut self.graph, node) {
                Ok(Some(expansion)) => expansion,
                Ok(None) => continue,
                Err(error) => {
                    if !error.is_unknown_target() && !error.is_bad_argument() {
                        self.refused.insert(lacking.node.clone(), error.to_string());
                    }
                    continue;
                }
            };
            if expansion.calls().any(|c| *expansion.graph.target(c) == *lacking.target) {
                continue;
            }
            let own = self.origins.get(&lacking.node).cloned();
            let own = own.unwrap_or_else(|| (lacking.node.clone(), lacking.target.clone()));
            self.note(&own, &expansion);
            let before = self.graph.previous(node);
            let results = expansion.inline(&mut self.graph, BodyId::ROOT, Some(node));
            let mut new = before.map_or_else(|| self.graph.first(BodyId::ROOT), |b| self.graph.next(b));
            while let Some(inserted) = new.filter(|n| *n != node) {
                let (name, target) = (self.graph.name(inserted).to_string(), self.graph.target(inserted).to_string());
                self.origins.insert(name.clone(), own.clone());
                if UNFAITHFUL.contains(&target.as_str()) {
                    open.push(Unsupported { node: name, target, reason: String::new() });
                }
                new = self.graph.next(inserted);
            }
            replace(&mut self.graph, node, &results);
            any = true;
        }
        any
    }

    /// Adds the calls behind them that are as they are but for their tensors: what one lacks the others do, and one round is enough for all.
    fn with_those_alike(&self, nodes: &[Unsupported]) -> Vec<Unsupported> {
        let mut all = nodes.to_vec();
        let listed: HashSet<&str> = nodes.iter().map(|n| n.node.as_str()).collect();
        let mut lacking: HashMap<&str, Vec<(Vec<Arg>, String)>> = HashMap::new();
        for n in nodes {
            if let Some(node) = self.graph.find_name(BodyId::ROOT, &n.node) {
                lacking.entry(n.target.as_str()).or_default().push((literals(&self.graph, node), n.reason.clone()));
            }
        }
        for node in self.graph.nodes(BodyId::ROOT) {
            let (name, target) = (self.graph.name(node), self.graph.target(node));
            let Some(forms) = lacking.get(target).filter(|_| !listed.contains(name)) else { continue };
            let own = literals(&self.graph, node);
            if let Some((_, reason)) = forms.iter().find(|(form, _)| *form == own) {
                let (node, target) = (name.to_string(), target.to_string());
                all.push(Unsupported { node, target, reason: reason.clone() });
            }
        }
        all
    }

    /// Takes the memory format off a copy: to GE a tensor has no strides. Returns whether there was one.
    fn forget_layout(&mut self, node: NodeId) -> bool {
        let target = self.graph.target(node).to_string();
        if !["aten.clone.default", "aten._to_copy.default", "aten.contiguous.default"].contains(&target.as_str()) {
            return false;
        }
        let is_format = |arg: &Arg| matches!(arg, Arg::MemoryFormat(f) if *f != MemoryFormat::Contiguous);
        let args: Vec<Arg> = self.graph.args(node).iter().filter(|a| !is_format(a)).cloned().collect();
        let kwargs: Vec<_> = self.graph.kwargs(node).iter().filter(|(_, a)| !is_format(a)).cloned().collect();
        if args.len() == self.graph.args(node).len() && kwargs.len() == self.graph.kwargs(node).len() {
            return false;
        }
        self.graph.set_args(node, args.into(), kwargs.into());
        let own = self.origins.get(self.graph.name(node)).cloned();
        let (node, target) = own.unwrap_or_else(|| (self.graph.name(node).to_string(), target));
        let what = "its memory format is left out: tensors of GE have none".to_string();
        self.remarks.push(Remark { node, target, what });
        true
    }

    fn note(&mut self, (node, target): &(String, String), expansion: &Expansion) {
        if self.remarks.iter().all(|r| r.node != *node) {
            let parts: Vec<&str> = expansion.calls().map(|c| expansion.graph.target(c)).collect();
            let what = format!("has no converter; taken apart into {}", parts.join(", "));
            self.remarks.push(Remark { node: node.clone(), target: target.clone(), what });
        }
    }

    /// Returns what cannot be lowered, said of the graph's own nodes, each once.
    pub(super) fn blame(&self, nodes: Vec<Unsupported>) -> Vec<Unsupported> {
        let mut blamed: Vec<Unsupported> = Vec::new();
        for mut lacking in nodes {
            if let Some(refused) = self.refused.get(&lacking.node) {
                lacking.reason = format!("{}; nor can it be taken apart: {refused}", lacking.reason);
            }
            let said = match self.origins.get(&lacking.node) {
                None => lacking,
                Some((node, target)) => Unsupported {
                    node: node.clone(),
                    target: target.clone(),
                    reason: format!(
                        "it has no converter, and its decomposition needs {}: {}",
                        lacking.target, lacking.reason
                    ),
                },
            };
            if blamed.iter().all(|b| b.node != said.node) {
                blamed.push(said);
            }
        }
        blamed
    }
}

/// The arguments of a call without its tensors.
fn literals(graph: &Graph, node: NodeId) -> Vec<Arg> {
    fn literal(arg: &Arg) -> Arg {
        match arg {
            Arg::Node(_) => Arg::Other("%".into()),
            Arg::List(items) => Arg::List(items.iter().map(literal).collect()),
            Arg::Tuple(items) => Arg::Tuple(items.iter().map(literal).collect()),
            other => other.clone(),
        }
    }
    let named = graph.kwargs(node).iter().map(|(_, a)| a);
    graph.args(node).iter().chain(named).map(literal).collect()
}
