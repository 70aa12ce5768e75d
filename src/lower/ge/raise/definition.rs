//! What composite and fused operators are held to, where GE has none of that name: their definition in base operators.
//!
//! Promises: only operators that give memory of their own, write nothing, have a decomposition that draws nothing, or what the raised graph draws, and of which the
//! raised graph has no call, are taken apart; those whose decomposition is right over the reals alone are said, so that a verdict names what it rests on. A
//! definition is the registry's own, held against what PyTorch computes.

use std::collections::BTreeSet;

use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::lower::ge::expand::replace;
use crate::ops::{Exactness, Operator, Registry};

/// As often as what an operator was taken apart into is taken apart again.
const ROUNDS: usize = 4;

/// Takes operators of `graph` apart that `raised` has none of; returns the targets of those that mean it over the reals alone.
pub fn by_definition(graph: &mut Graph, raised: &Graph, registry: &Registry) -> BTreeSet<String> {
    let calls = raised.nodes(BodyId::ROOT).filter(|n| raised.kind(*n) == NodeKind::Call);
    let there: BTreeSet<String> = calls.map(|n| raised.target(n).to_string()).collect();
    let mut rounded = BTreeSet::new();
    for _ in 0..ROUNDS {
        let nodes: Vec<(NodeId, Exactness)> = graph
            .nodes(BodyId::ROOT)
            .filter(|n| graph.kind(*n) == NodeKind::Call && !there.contains(graph.target(*n)))
            .filter_map(|n| Some((n, registry.operator_of(graph, n)?)))
            .filter(|(_, o)| gives_its_own(o))
            .filter_map(|(n, o)| Some((n, registry.exactness(o)?)))
            .collect();
        let mut any = false;
        for (node, exactness) in nodes {
            let Ok(Some(expansion)) = registry.decompose_values(graph, node) else { continue };
            let draws = |n: NodeId| {
                let is_there = there.contains(expansion.graph.target(n));
                registry.operator_of(&expansion.graph, n).is_none_or(|o| o.effects.random && !is_there)
            };
            if expansion.calls().any(draws) {
                continue;
            }
            if exactness == Exactness::Real {
                rounded.insert(graph.target(node).to_string());
            }
            let results = expansion.inline(graph, BodyId::ROOT, Some(node));
            replace(graph, node, &results);
            any = true;
        }
        if !any {
            break;
        }
    }
    rounded
}

/// Calls that wait for a collective's result: their operand, where operators run as soon as what they read is there.
const WAITS: [&str; 2] = ["_c10d_functional.wait_tensor.default", "c10d_functional.wait_tensor.default"];

/// Puts what is waited for in the place of each wait; returns whether there is any.
pub fn without_waits(graph: &mut Graph) -> bool {
    let waits: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| WAITS.contains(&graph.target(*n))).collect();
    for wait in &waits {
        if let Some(operand) = graph.args(*wait).first().cloned() {
            replace(graph, *wait, &[operand]);
        }
    }
    !waits.is_empty()
}

/// Whether an operator writes nothing, and its results lie in memory of their own.
fn gives_its_own(operator: &Operator) -> bool {
    let effects = &operator.effects;
    !effects.writes() && !effects.opaque && effects.side.is_none() && effects.returns.iter().all(|r| r.is_empty())
}
