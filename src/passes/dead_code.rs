//! Dead-code elimination that keeps effects.
//!
//! Promises: what writes, draws random numbers, asserts, prints, orders streams, or is not known, stays; one walk from
//! the last node to the first.

use crate::editor::{EditError, Editor};
use crate::graph::{Graph, NodeId, NodeKind, View};
use crate::ops::Registry;

/// Removes nodes without users that leave no trace, in every body.
pub fn remove_dead_code(editor: &mut Editor) -> Result<(), EditError> {
    let registry = editor.registry().clone();
    for body in editor.graph().bodies() {
        let mut at = editor.graph().last(body);
        while let Some(node) = at {
            at = editor.graph().previous(node);
            if is_dead(editor.graph(), &registry, node) {
                editor.erase(node)?;
            }
        }
    }
    Ok(())
}

fn is_dead(graph: &Graph, registry: &Registry, node: NodeId) -> bool {
    if graph.users(node).is_none_or(|users| !users.is_empty()) {
        return false;
    }
    match graph.kind(node) {
        NodeKind::Call => registry.operator_of(graph, node).is_some_and(|o| o.effects.may_be_dropped()),
        NodeKind::GetAttr => true,
        NodeKind::Placeholder | NodeKind::Output => false,
    }
}
