//! Where a node goes.

use super::{EditCode, EditError};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};

/// A place in a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// Right before a node.
    Before(NodeId),
    /// Right after a node.
    After(NodeId),
    /// After the placeholders of a body.
    Start(BodyId),
    /// Before the output of a body.
    End(BodyId),
}

impl Point {
    pub(crate) fn map_node(self, map: impl FnOnce(NodeId) -> NodeId) -> Self {
        match self {
            Point::Before(n) => Point::Before(map(n)),
            Point::After(n) => Point::After(map(n)),
            body => body,
        }
    }

    /// Returns the body, and the node before which the place is. Placeholders stay first and the output last.
    pub(crate) fn resolve(self, graph: &Graph) -> Result<(BodyId, NodeId), EditError> {
        let refuse = |node, why: &str| Err(EditError::new(EditCode::NotAllowed, node, why));
        let body = match self {
            Point::Before(n) | Point::After(n) => graph.place(n).ok_or_else(|| EditError::stale(n))?.0,
            Point::Start(body) | Point::End(body) => body,
        };
        let Some(output) = graph.output(body) else {
            return refuse(None, "this body has no output to insert before");
        };
        let before = match self {
            Point::Before(n) => n,
            Point::After(n) if n == output => return refuse(Some(n), "nothing can stand after the output"),
            Point::After(n) => graph.next(n).unwrap_or(output),
            Point::Start(_) => graph.nodes(body).find(|n| graph.kind(*n) != NodeKind::Placeholder).unwrap_or(output),
            Point::End(_) => output,
        };
        if graph.kind(before) == NodeKind::Placeholder {
            let why = format!("`{}` is a placeholder; calls stand after all placeholders", graph.name(before));
            return refuse(Some(before), &why);
        }
        Ok((body, before))
    }
}
