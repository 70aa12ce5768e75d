//! Why an edit is refused.

use crate::graph::NodeId;

/// What kind of mistake; the same words as in the contract with passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditCode {
    /// The node is no longer, or never was, in this graph.
    Stale,
    /// The operator is not known, or nothing is known of its result.
    UnknownTarget,
    /// An argument does not fit the operator's schema.
    BadArgument,
    /// A type would contradict a rule.
    TypeMismatch,
    /// A node would be used before it is defined.
    UseBeforeDefinition,
    /// The node still has users.
    StillUsed,
    /// This kind of node cannot be edited in this way.
    NotAllowed,
    /// A limit on the graph's size is reached.
    OverLimit,
}

/// A refused edit. The graph is as it was before it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct EditError {
    /// Kind of mistake.
    pub code: EditCode,
    /// The node that it is about.
    pub node: Option<NodeId>,
    /// The argument that it is about, by its schema name.
    pub argument: Option<String>,
    /// What was expected and found, for people.
    pub message: String,
}

impl EditError {
    pub(crate) fn new(code: EditCode, node: Option<NodeId>, message: impl Into<String>) -> Self {
        Self { code, node, argument: None, message: message.into() }
    }

    pub(crate) fn stale(node: NodeId) -> Self {
        Self::new(EditCode::Stale, Some(node), format!("node {node:?} is not in this graph (any more)"))
    }
}
