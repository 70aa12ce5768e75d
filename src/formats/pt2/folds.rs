//! Getitem nodes, which `.pt2` files do not hold: which of them is which result of which node.

use rustc_hash::FxHashMap;

use super::error::Problem;
use crate::graph::{Arg, Graph, NodeId, NodeKind, ValueType, View};

/// The target of a getitem.
pub(super) const GETITEM: &str = "_operator.getitem";

/// Which getitem stands for which result.
#[derive(Default)]
pub(super) struct Folds {
    /// The first getitem of each result, by tuple and index.
    first: FxHashMap<(NodeId, usize), NodeId>,
    /// Later getitems of a result: their uses are uses of the first.
    merged: FxHashMap<NodeId, NodeId>,
}

impl Folds {
    /// Finds all getitems.
    pub(super) fn of(graph: &Graph) -> Result<Self, Problem> {
        let mut folds = Folds::default();
        let Some(getitem) = graph.texts.find(GETITEM) else { return Ok(folds) };
        for body in graph.bodies() {
            for node in graph.nodes(body) {
                if graph.kind(node) == NodeKind::Call && graph.target_id(node) == getitem {
                    folds.fold(graph, node)?;
                }
            }
        }
        Ok(folds)
    }

    fn fold(&mut self, graph: &Graph, node: NodeId) -> Result<(), Problem> {
        let bad = |reason: &str| Problem::Node { node: graph.name(node).to_string(), reason: reason.to_string() };
        let [Arg::Node(tuple), Arg::Int(index)] = graph.args(node) else {
            return Err(bad("a getitem needs a node and a number"));
        };
        let results = match graph.ty(*tuple) {
            ValueType::Many(results) => results,
            ValueType::Unknown => {
                let reason = "its type is not known; describe its operator in an operator file (--ops)".to_string();
                return Err(Problem::Node { node: graph.name(*tuple).to_string(), reason });
            }
            _ => return Err(bad("its operand is no node with several results")),
        };
        let index = usize::try_from(*index).ok().filter(|i| *i < results.len());
        let index = index.ok_or_else(|| bad("there is no such result; count from 0"))?;
        if !graph.is_before(*tuple, node) {
            return Err(bad("it stands before its operand"));
        }
        match self.first.get(&(self.canonical(*tuple), index)) {
            Some(first) => {
                self.merged.insert(node, *first);
            }
            None => {
                self.first.insert((self.canonical(*tuple), index), node);
            }
        }
        Ok(())
    }

    /// Returns the getitem that stands for a result.
    pub(super) fn result(&self, tuple: NodeId, index: usize) -> Option<NodeId> {
        self.first.get(&(tuple, index)).copied()
    }

    /// Returns the node whose name the file knows: the first getitem of the same result.
    pub(super) fn canonical(&self, node: NodeId) -> NodeId {
        self.merged.get(&node).copied().unwrap_or(node)
    }
}
