//! Which values two programs make alike, and which inputs lie on the way to the place where they part: what happens there shows where these are
//! small and all others are not.
//!
//! Promises: values that are made alike are the same calls of the same inputs. Only what is tried depends on it: bodies within are not looked
//! into, nor are programs of many nodes.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};

/// Programs of more nodes are not looked through.
const NODES: usize = 20_000;

/// Nodes that compute the same of the same inputs have one number.
#[derive(Default)]
struct Numbers {
    known: FxHashMap<String, u32>,
}

impl Numbers {
    fn of(&mut self, graph: &Graph) -> FxHashMap<NodeId, u32> {
        let mut all: FxHashMap<NodeId, u32> = FxHashMap::default();
        for node in graph.nodes(BodyId::ROOT) {
            let mut alike = |n: NodeId| NodeId::new_in_batch(all.get(&n).copied().unwrap_or(u32::MAX >> 1));
            let args: Vec<_> = graph.args(node).iter().map(|a| a.map_nodes(&mut alike)).collect();
            let kwargs: Vec<_> = graph.kwargs(node).iter().map(|(k, a)| (*k, a.map_nodes(&mut alike))).collect();
            let said = match graph.kind(node) {
                NodeKind::Placeholder => graph.name(node).to_string(),
                kind => {
                    let kwargs: Vec<_> = kwargs.iter().map(|(k, a)| (graph.texts.text(*k), a)).collect();
                    format!("{kind:?} {} {args:?} {kwargs:?}", graph.target(node))
                }
            };
            let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX >> 1);
            all.insert(node, *self.known.entry(said).or_insert(next));
        }
        all
    }
}

/// Which values two programs make alike.
pub struct Alike {
    numbers: [FxHashMap<NodeId, u32>; 2],
    /// The nodes of each program by number, in order.
    nodes: [FxHashMap<u32, Vec<NodeId>>; 2],
}

impl Alike {
    /// Looks through both programs; `None` where that is too much.
    pub fn of(before: &Graph, after: &Graph) -> Option<Alike> {
        if before.len().max(after.len()) > NODES {
            return None;
        }
        let mut numbers = Numbers::default();
        let own = [before, after].map(|graph| numbers.of(graph));
        let mut nodes = [FxHashMap::default(), FxHashMap::default()];
        for ((graph, own), nodes) in [before, after].into_iter().zip(&own).zip(&mut nodes) {
            for node in graph.nodes(BodyId::ROOT) {
                if let Some(number) = own.get(&node) {
                    nodes.entry(*number).or_insert_with(Vec::new).push(node);
                }
            }
        }
        Some(Alike { numbers: own, nodes })
    }

    /// Whether a value of the first program and one of the second are made alike.
    pub fn are(&self, (a, b): (NodeId, NodeId)) -> bool {
        let [old, new] = &self.numbers;
        old.get(&a).is_some_and(|n| new.get(&b) == Some(n))
    }

    /// Returns the number of a value of one of the programs, 0 or 1, where the other has it too.
    pub fn common(&self, program: usize, node: NodeId) -> Option<u32> {
        let number = self.numbers.get(program)?.get(&node)?;
        self.nodes.iter().all(|n| n.contains_key(number)).then_some(*number)
    }

    /// Returns the nodes of one of the programs, 0 or 1, that make the value of that number.
    pub fn makers(&self, program: usize, number: u32) -> &[NodeId] {
        self.nodes.get(program).and_then(|n| n.get(&number)).map_or(&[], Vec::as_slice)
    }
}

/// Returns the names of the inputs on whose way both programs part; none, where that is not known.
pub fn on_the_way(before: &Graph, after: &Graph) -> FxHashSet<String> {
    let mut names = FxHashSet::default();
    if before.len().max(after.len()) > NODES {
        return names;
    }
    let mut numbers = Numbers::default();
    let (old, new) = (numbers.of(before), numbers.of(after));
    for (graph, own, others) in [(before, &old, &new), (after, &new, &old)] {
        let others: FxHashSet<u32> = others.values().copied().collect();
        let is_shared = |n: &NodeId| own.get(n).is_some_and(|number| others.contains(number));
        let parts =
            |n: &NodeId| graph.kind(*n) == NodeKind::Call && !is_shared(n) && graph.operands(*n).all(|o| is_shared(&o));
        let mut open: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(parts).flat_map(|n| graph.operands(n)).collect();
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            if graph.kind(node) == NodeKind::Placeholder {
                names.insert(graph.name(node).to_string());
            }
            open.extend(graph.operands(node));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text::{self, ReadOptions};

    fn program(eps: &str, other: &str) -> Graph {
        let text = format!(
            "def forward(self, x: \"f32[4]\", w: \"f32[4]\", v: \"f32[4]\"):
    a = torch.ops.aten.mul.Tensor(x, w)
    b = torch.ops.aten.add.Tensor(a, {eps})
    {other} = torch.ops.aten.mul.Tensor(b, v)
    return ({other},)
"
        );
        text::read(&text, &ReadOptions::default()).unwrap()
    }

    #[test]
    fn inputs_before_the_first_difference_are_on_the_way_and_others_are_not() {
        let mut found: Vec<String> = on_the_way(&program("1e-06", "c"), &program("1e-04", "d")).into_iter().collect();
        found.sort();
        assert_eq!(found, ["w", "x"]);
    }

    #[test]
    fn where_nothing_parts_no_input_is_on_the_way() {
        assert!(on_the_way(&program("1.0", "c"), &program("1.0", "d")).is_empty());
    }
}
