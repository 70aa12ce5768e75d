//! Events: what a record, a wait and their tagged forms name.
//!
//! A wait names records (the result of `record`) or tensors; a wait on a tensor is one for a record right behind the node that
//! the wait names. Tagged events have a name of their own; the latest record of a tag before a wait counts, and a wait without
//! one waits for nothing. `..._on_stream` and `tagged_stream_wait_stream` name streams by id, index and kind of device, which
//! scopes made from `torch.npu.stream` state; `DEFAULT_STREAM_ID_MARKER` is the stream on which the graph is called: main.
//!
//! Promises: what is read is written out in the graph; anything else is `None`, and nobody guesses. Leaves to `order`: what
//! follows from events.

use super::scopes::{StreamId, StreamOperator, Streams, argument, as_text};
use crate::graph::{Arg, NodeId, View};

/// The id by which compiled code names the stream on which it is called.
const DEFAULT_STREAM: &str = "DEFAULT_STREAM_ID_MARKER";

/// A stream that an event is recorded on, or that waits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum On {
    /// The stream where the operator stands.
    Current,
    /// A stream of the graph.
    Stream(StreamId),
    /// A stream that no scope of the graph names.
    Outside,
}

/// A tagged event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tag {
    /// Its name.
    pub name: Box<str>,
    /// Whether the compiler made it: those stand in a table of their own.
    pub is_compilers: bool,
}

/// What an operator on events does.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Records the event that the node stands for.
    Record,
    /// Waits for each: records, or tensors.
    Wait(Vec<NodeId>),
    /// Records a tag.
    TaggedRecord(Tag, On),
    /// Waits for a tag.
    TaggedWait(Tag, On),
    /// The first stream waits for all that the second was given.
    StreamWaits(On, On),
    /// The memory of a value is kept until the stream of that label has done what it was given.
    Keep(NodeId, Box<str>),
    /// Scopes, and what else orders nothing by itself.
    Nothing,
}

impl Streams {
    /// Returns what an operator on streams does to events; `None` where that is not written out.
    pub fn action(&self, view: &dyn View, node: NodeId, operator: StreamOperator) -> Option<Action> {
        let text = |place: usize, name: &str| argument(view, node, place, name).and_then(as_text);
        let tag = |inside: usize, name: &str| -> Option<Tag> {
            let is_compilers = match argument(view, node, inside, "created_inside") {
                None => false,
                Some(Arg::Bool(value)) => *value,
                Some(_) => return None,
            };
            Some(Tag { name: text(0, name)?.into(), is_compilers })
        };
        let on = |first: usize, names: [&str; 3]| -> Option<On> {
            let [id, index, kind] = names;
            let places = [first, first.checked_add(1)?, first.checked_add(2)?];
            let [a, b, c] = places;
            Some(self.named([text(a, id)?, text(b, index)?, text(c, kind)?]))
        };
        const OWN: [&str; 3] = ["stream_id", "device_index", "device_type"];
        const OTHER: [&str; 3] = ["other_stream_id", "other_device_index", "other_device_type"];
        Some(match operator {
            StreamOperator::Record => Action::Record,
            StreamOperator::Wait => {
                let items = argument(view, node, 0, "x")?.items()?;
                Action::Wait(items.iter().map(Arg::as_node).collect::<Option<_>>()?)
            }
            StreamOperator::TaggedRecord => Action::TaggedRecord(tag(1, "tag")?, On::Current),
            StreamOperator::TaggedWait => Action::TaggedWait(tag(1, "tag")?, On::Current),
            StreamOperator::TaggedRecordOn => Action::TaggedRecord(tag(4, "event_tag")?, on(1, OWN)?),
            StreamOperator::TaggedWaitOn => Action::TaggedWait(tag(4, "event_tag")?, on(1, OWN)?),
            StreamOperator::StreamWaitsStream => Action::StreamWaits(on(0, OWN)?, on(3, OTHER)?),
            StreamOperator::Keep => Action::Keep(argument(view, node, 0, "input")?.as_node()?, text(1, "tag")?.into()),
            StreamOperator::Enter
            | StreamOperator::Exit
            | StreamOperator::WaitTensor
            | StreamOperator::KernelBegin
            | StreamOperator::KernelEnd => Action::Nothing,
        })
    }

    fn named(&self, key: [&str; 3]) -> On {
        if key.first() == Some(&DEFAULT_STREAM) {
            return On::Stream(StreamId::MAIN);
        }
        self.identified(&key.map(Into::into)).map_or(On::Outside, On::Stream)
    }
}
