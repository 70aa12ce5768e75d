//! Whether a call may read at another place of the graph what it read at its own.
//!
//! Promises: where that is said, no call between the two places writes anything.

use crate::analysis::getitem_of;
use crate::graph::{Graph, NodeId, NodeKind, View};
use crate::ops::{Registry, SideEffect};

/// How many calls are looked at: what belongs together stands together.
const WALKED: usize = 256;

/// Whether no call after one, and before another that stands later, writes.
pub(super) fn nothing_is_written(graph: &Graph, registry: &Registry, from: NodeId, to: NodeId) -> bool {
    let mut next = graph.next(from);
    for _ in 0..WALKED {
        match next {
            Some(node) if node == to => return true,
            Some(node) if writes(graph, registry, node) => return false,
            Some(node) => next = graph.next(node),
            None => return false,
        }
    }
    false
}

/// Whether a call may write.
pub(super) fn writes(graph: &Graph, registry: &Registry, node: NodeId) -> bool {
    let may = |o: &crate::ops::Operator| {
        o.effects.opaque || o.effects.writes() || o.effects.side == Some(SideEffect::Control)
    };
    graph.kind(node) == NodeKind::Call
        && getitem_of(graph, node).is_none()
        && registry.operator_of(graph, node).is_none_or(may)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;
    use crate::graph::BodyId;

    #[test]
    fn a_write_between_two_calls_keeps_them_apart() {
        for (between, is_same) in
            [("relu.default(y)", true), ("copy_.default(x, y)", false), ("relu_.default(y)", false)]
        {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3]\", y: \"f32[3]\"):\n        a: \"f32[3]\" = torch.ops.aten.neg.default(x)\n        b: \"f32[3]\" = torch.ops.aten.{between}\n        c: \"f32[3]\" = torch.ops.aten.abs.default(a)\n        return (b, c)\n"
            );
            let graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            let named = |name| graph.find_name(BodyId::ROOT, name).unwrap();
            let same = nothing_is_written(&graph, &Registry::standard(), named("a"), named("c"));
            assert_eq!(same, is_same, "{between}");
        }
    }
}
