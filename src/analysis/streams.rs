//! Stream membership: which stream each node runs in, and what is wrong with the scopes.
//!
//! Scopes are a stack; the stream of a node is that of the innermost scope with a label, else the main stream. A label is
//! the value of the key `_user_stream_label`; TorchAir takes the *first* value whatever its key, so a label that does not
//! stand first is a fault here.
//!
//! Promises: one pass, linear. Leaves to `verify`: whether the streams keep the order of accesses.

use rustc_hash::FxHashMap;

use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};

/// The key whose value names a stream.
pub const STREAM_LABEL: &str = "_user_stream_label";

/// What an operator of the namespaces `air` and `npugraph_ex` does to streams.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum StreamOperator {
    /// Opens a scope.
    Enter,
    /// Closes the innermost scope.
    Exit,
    /// Records an event on the current stream.
    Record,
    /// The current stream waits.
    Wait,
    /// The first operand, after the second.
    WaitTensor,
    /// Tagged events, and waits of whole streams: the second mode only.
    Tagged,
}

/// Returns what a target does to streams.
pub fn stream_operator(target: &str) -> Option<StreamOperator> {
    let name = target.strip_prefix("air.").or_else(|| target.strip_prefix("npugraph_ex."))?;
    let name = name.strip_suffix(".default").unwrap_or(name);
    Some(match name {
        "scope_enter" => StreamOperator::Enter,
        "scope_exit" => StreamOperator::Exit,
        "record" => StreamOperator::Record,
        "wait" => StreamOperator::Wait,
        "wait_tensor" => StreamOperator::WaitTensor,
        "tagged_event_record"
        | "tagged_event_wait"
        | "tagged_event_record_on_stream"
        | "tagged_event_wait_on_stream"
        | "tagged_stream_wait_stream"
        | "record_tagged_stream"
        | "record_tagged_stream_" => StreamOperator::Tagged,
        _ => return None,
    })
}

const NAMES: &[&str] = &[
    "scope_enter",
    "scope_exit",
    "record",
    "wait",
    "wait_tensor",
    "tagged_event_record",
    "tagged_event_wait",
    "tagged_event_record_on_stream",
    "tagged_event_wait_on_stream",
    "tagged_stream_wait_stream",
    "record_tagged_stream",
    "record_tagged_stream_",
];

/// Returns whether the texts of a graph name any stream operator: without one there is nothing to ask. Costs no walk.
pub fn mentions_streams(view: &dyn View) -> bool {
    ["air", "npugraph_ex"].iter().any(|space| {
        NAMES.iter().any(|name| {
            let texts = view.texts();
            texts.find(&format!("{space}.{name}.default")).is_some() || texts.find(&format!("{space}.{name}")).is_some()
        })
    })
}

/// Something wrong with scopes, events or waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamFault {
    /// The operator.
    pub node: NodeId,
    /// What is wrong, in words.
    pub fault: Fault,
}

/// What can be wrong.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// No scope is open.
    #[error("closes a scope that was never opened")]
    ExitWithoutEnter,
    /// Open at the end.
    #[error("opens a scope that is never closed")]
    NeverClosed,
    /// Keys and values are zipped: surplus ones are lost.
    #[error("has not as many values as keys")]
    Unpaired,
    /// The first value is taken as the label.
    #[error("has a stream label that does not stand first, and TorchAir takes the first value as the label")]
    LabelNotFirst,
    /// Nothing to wait for.
    #[error("waits for nothing")]
    EmptyWait,
}

/// Streams of one body.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    labels: Vec<Box<str>>,
    /// Nodes outside the main stream, with the number of their label.
    members: FxHashMap<NodeId, u32>,
    /// Every stream operator, in order.
    pub operators: Vec<(NodeId, StreamOperator)>,
    /// What is wrong, in order.
    pub faults: Vec<StreamFault>,
}

impl Streams {
    /// Reads the streams of a body. Linear.
    pub fn of(view: &dyn View, body: BodyId) -> Self {
        let mut out = Streams::default();
        let mut scopes: Vec<(NodeId, Option<u32>)> = Vec::new();
        let mut next = view.first(body);
        while let Some(node) = next {
            next = view.next(node);
            if view.kind(node) == NodeKind::Output {
                continue;
            }
            let operator = (view.kind(node) == NodeKind::Call).then(|| stream_operator(view.target(node))).flatten();
            match operator {
                Some(StreamOperator::Enter) => {
                    let label = out.enter(view, node);
                    scopes.push((node, label));
                }
                Some(StreamOperator::Exit) if scopes.pop().is_none() => out.fault(node, Fault::ExitWithoutEnter),
                Some(StreamOperator::Wait)
                    if view.args(node).first().and_then(Arg::items).is_some_and(<[Arg]>::is_empty) =>
                {
                    out.fault(node, Fault::EmptyWait);
                }
                _ => {}
            }
            if let Some(operator) = operator {
                out.operators.push((node, operator));
            }
            if let Some(label) = scopes.iter().rev().find_map(|(_, label)| *label)
                && view.kind(node) == NodeKind::Call
            {
                out.members.insert(node, label);
            }
        }
        for (node, _) in scopes {
            out.fault(node, Fault::NeverClosed);
        }
        out
    }

    fn fault(&mut self, node: NodeId, fault: Fault) {
        self.faults.push(StreamFault { node, fault });
    }

    fn enter(&mut self, view: &dyn View, node: NodeId) -> Option<u32> {
        let list = |place: usize, key: &str| view.args(node).get(place).or_else(|| view.kwarg_of(node, key));
        let keys = list(0, "keys").and_then(Arg::items).unwrap_or(&[]);
        let values = list(1, "values").and_then(Arg::items).unwrap_or(&[]);
        if keys.len() != values.len() {
            self.fault(node, Fault::Unpaired);
        }
        let place = keys.iter().position(|k| matches!(k, Arg::Str(s) if &**s == STREAM_LABEL))?;
        if place != 0 {
            self.fault(node, Fault::LabelNotFirst);
        }
        let Some(Arg::Str(label)) = values.get(place) else { return None };
        let number = self.labels.iter().position(|l| l == label).unwrap_or_else(|| {
            self.labels.push(label.clone());
            self.labels.len().saturating_sub(1)
        });
        u32::try_from(number).ok()
    }

    /// Returns the label of the stream in which a node runs; `None` is the main stream.
    pub fn label(&self, node: NodeId) -> Option<&str> {
        self.labels.get(*self.members.get(&node)? as usize).map(|l| &**l)
    }

    /// Returns the stream of a node as a number; `None` is the main stream.
    pub fn stream(&self, node: NodeId) -> Option<u32> {
        self.members.get(&node).copied()
    }

    /// Returns whether something that computes runs outside the main stream.
    pub fn is_multi_stream(&self, view: &dyn View) -> bool {
        self.members.keys().any(|n| stream_operator(view.target(*n)).is_none())
    }
}

/// Keyword arguments by name, on any view.
trait KwargOf {
    fn kwarg_of(&self, node: NodeId, key: &str) -> Option<&Arg>;
}

impl KwargOf for dyn View + '_ {
    fn kwarg_of(&self, node: NodeId, key: &str) -> Option<&Arg> {
        let key = self.texts().find(key)?;
        self.kwargs(node).iter().find(|(k, _)| *k == key).map(|(_, a)| a)
    }
}
