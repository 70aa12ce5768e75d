//! What composite and fused operators are held to, where GE has none of that name: their definition in base operators.
//!
//! Promises: only operators with a decomposition that is right over the reals, and of which the raised graph has no call, are taken apart; which
//! they are is said, so that a verdict names what it rests on. A definition is the registry's own, held against what PyTorch computes.

use std::collections::BTreeSet;

use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::lower::ge::expand::replace;
use crate::ops::{Exactness, Registry};

/// As often as what an operator was taken apart into is taken apart again.
const ROUNDS: usize = 4;

/// Takes operators of `graph` apart that `raised` has none of; returns their targets.
pub fn by_definition(graph: &mut Graph, raised: &Graph, registry: &Registry) -> BTreeSet<String> {
    let there: BTreeSet<String> =
        raised.nodes(BodyId::ROOT).filter(|n| raised.kind(*n) == NodeKind::Call).map(|n| raised.target(n).to_string()).collect();
    let mut taken = BTreeSet::new();
    for _ in 0..ROUNDS {
        let is_taken = |graph: &Graph, n: NodeId| {
            let target = graph.target(n);
            let exactness = registry.operator_of(graph, n).and_then(|o| registry.exactness(o));
            graph.kind(n) == NodeKind::Call && exactness == Some(Exactness::Real) && !there.contains(target)
        };
        let nodes: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| is_taken(graph, *n)).collect();
        let mut any = false;
        for node in nodes {
            let Ok(Some(expansion)) = registry.decompose_values(graph, node) else { continue };
            taken.insert(graph.target(node).to_string());
            let results = expansion.inline(graph, BodyId::ROOT, Some(node));
            replace(graph, node, &results);
            any = true;
        }
        if !any {
            break;
        }
    }
    taken
}
