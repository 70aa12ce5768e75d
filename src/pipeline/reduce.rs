//! The smallest model on which something still happens.
//!
//! Outputs are left out, then calls in ever smaller groups: a value that is still read becomes an input, a call of its operand's type is passed by.
//! Each try is a copy of the model that the caller's test sees; what it does not recognise is forgotten.
//!
//! Promises: what comes out passed the test; where time ran out it is the smallest so far, and that is said. Leaves the test, and sizes, to callers.

use std::time::Instant;

use crate::graph::{BodyId, Graph, Model, NodeId, NodeKind, ValueType, View};

/// What is left of a model.
pub struct Reduced {
    /// The model.
    pub model: Model,
    /// On how many models the test was run.
    pub tried: usize,
    /// Whether nothing more can be taken out; else time ran out.
    pub is_done: bool,
}

struct Reducer<'t> {
    now: Model,
    test: &'t mut dyn FnMut(&Model) -> bool,
    tried: usize,
    deadline: Instant,
}

/// Makes a model smaller as long as the test, which the model passes, says yes; no try begins after the deadline.
pub fn reduce(model: Model, deadline: Instant, test: &mut dyn FnMut(&Model) -> bool) -> Reduced {
    let mut r = Reducer { now: model, test, tried: 0, deadline };
    loop {
        let before = r.size();
        r.outputs();
        r.calls();
        r.bypasses();
        r.accept(&mut |g| g.drop_unread_inputs() > 0);
        if r.size() == before || r.is_late() {
            break;
        }
    }
    r.drop_weights();
    Reduced { is_done: !r.is_late(), tried: r.tried, model: r.now }
}

impl Reducer<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn size(&self) -> (usize, usize) {
        (self.now.graph.len(), outputs(&self.now.graph))
    }

    /// Takes a change of the graph if it changes something and the test still says yes.
    fn accept(&mut self, change: &mut dyn FnMut(&mut Graph) -> bool) -> bool {
        if self.is_late() {
            return false;
        }
        let mut model = self.now.clone();
        if !change(&mut model.graph) {
            return false;
        }
        self.tried = self.tried.saturating_add(1);
        let holds = (self.test)(&model);
        if holds {
            self.now = model;
        }
        holds
    }

    /// Tries to do without groups of items: all, halves, quarters, and so on to single ones.
    fn without<T: Copy>(&mut self, mut items: Vec<T>, change: &dyn Fn(&mut Graph, &[T]) -> bool) {
        let mut group = items.len();
        while group > 0 {
            let mut at = 0_usize;
            while at < items.len() && !self.is_late() {
                let end = at.saturating_add(group).min(items.len());
                let some: Vec<T> = items.get(at..end).unwrap_or_default().to_vec();
                if self.accept(&mut |g| change(g, &some)) {
                    items.drain(at..end);
                } else {
                    at = end;
                }
            }
            group = group.checked_div(2).unwrap_or(0);
        }
    }

    fn outputs(&mut self) {
        // Each place is counted from the end, so that those before it stay where they are.
        let mut places: Vec<usize> = (0..outputs(&self.now.graph)).rev().collect();
        let mut group = places.len();
        while group > 0 {
            let mut at = 0_usize;
            while at < places.len() {
                let end = at.saturating_add(group).min(places.len());
                let some: Vec<usize> = places.get(at..end).unwrap_or_default().to_vec();
                if self.accept(&mut |g| g.drop_outputs(&some)) {
                    let gone = some.len();
                    places.drain(at..end);
                    places.iter_mut().take(at).for_each(|p| *p = p.saturating_sub(gone));
                } else {
                    at = end;
                }
            }
            group = group.checked_div(2).unwrap_or(0);
        }
    }

    fn calls(&mut self) {
        let is_call = |n: &NodeId| matches!(self.now.graph.kind(*n), NodeKind::Call | NodeKind::GetAttr);
        let calls: Vec<NodeId> = self.now.graph.nodes(BodyId::ROOT).filter(is_call).collect();
        self.without(calls, &|g, some| {
            // From the end, so that a call whose readers go with it leaves no input behind.
            let out = some.iter().rev().filter(|n| g.take_out(**n)).count();
            g.drop_unread_inputs();
            out > 0
        });
    }

    /// Passes by calls that give what one of their operands is, by type.
    fn bypasses(&mut self) {
        let graph = &self.now.graph;
        let pairs: Vec<(NodeId, NodeId)> =
            graph.nodes(BodyId::ROOT).filter_map(|n| Some((n, twin(graph, n)?))).collect();
        self.without(pairs, &|g, some| {
            for (node, operand) in some.iter().rev() {
                g.bypass(*node, *operand);
            }
            g.drop_unread_inputs();
            true
        });
    }

    /// Forgets weights that no input names.
    fn drop_weights(&mut self) {
        let Some(signature) = &self.now.graph.signature else { return };
        let names: std::collections::BTreeSet<&str> =
            signature.inputs.iter().filter_map(|i| i.target.as_deref()).collect();
        let weights = &mut self.now.weights;
        weights.state.retain(|n, _| names.contains(&**n));
        weights.constants.retain(|n, _| names.contains(&**n));
        let used: std::collections::BTreeSet<_> =
            weights.state.values().chain(weights.constants.values()).map(|w| w.storage.clone()).collect();
        weights.storages.retain(|n, _| used.contains(n));
    }
}

fn outputs(graph: &Graph) -> usize {
    let node = graph.output(BodyId::ROOT);
    node.and_then(|n| graph.args(n).first()?.items().map(<[_]>::len)).unwrap_or(0)
}

/// The first operand of a call that has its type.
fn twin(graph: &Graph, node: NodeId) -> Option<NodeId> {
    if graph.kind(node) != NodeKind::Call || !matches!(graph.ty(node), ValueType::Tensor(_)) {
        return None;
    }
    graph.operands(node).find(|o| graph.ty(*o) == graph.ty(node))
}
