//! Whether two sub-graphs are one: Python keeps what a module holds by name, so that two of one name are the last of them.
//!
//! Promises: those that are said to be the same are the same list of calls, of the same types, with those that they name. Names of nodes are no part of that.

use crate::graph::{BodyId, Graph, NodeId, ValueType, View};
use crate::sym::KeyedMap;

impl Graph {
    /// Whether two bodies are the same list of calls, up to names of nodes.
    pub fn is_same_body(&self, one: BodyId, other: BodyId) -> bool {
        let mut open = vec![(one, other)];
        while let Some((one, other)) = open.pop() {
            let [first, second]: [Vec<NodeId>; 2] = [one, other].map(|body| self.nodes(body).collect());
            // Where the other one's nodes stand in the first.
            let stands: KeyedMap<NodeId, NodeId> = second.iter().copied().zip(first.iter().copied()).collect();
            if first.len() != second.len()
                || !first.iter().zip(&second).all(|(a, b)| self.is_same_call(*a, *b, &stands))
            {
                return false;
            }
            for (a, b) in first.into_iter().zip(second) {
                match (self.ty(a), self.ty(b)) {
                    (ValueType::Body(a), ValueType::Body(b)) => open.push((*a, *b)),
                    (a, b) if a != b => return false,
                    _ => {}
                }
            }
        }
        true
    }

    fn is_same_call(&self, a: NodeId, b: NodeId, stands: &KeyedMap<NodeId, NodeId>) -> bool {
        let mut there = |node: NodeId| stands.get(&node).copied().unwrap_or(node);
        let same = self.kind(a) == self.kind(b) && self.target(a) == self.target(b);
        let args = self.args(b).iter().map(|arg| arg.map_nodes(&mut there));
        if !same || !args.eq(self.args(a).iter().cloned()) {
            return false;
        }
        let kwargs = self.kwargs(b).iter().map(|(name, arg)| (*name, arg.map_nodes(&mut there)));
        kwargs.eq(self.kwargs(a).iter().cloned())
    }
}
