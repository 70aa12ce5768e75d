//! Scopes and labels: the only reader of them, for the judge, the form of a graph, lowering and passes.
//!
//! Two name spaces hold the same operators: `air.*` (TorchAir) and `npugraph_ex.*`. Scopes are a stack; one without a stream
//! label keeps the stream of the one around it. A label is the value of the key `_user_stream_label`; the same label is the
//! same stream. Keys and values are zipped; a repeated key keeps its place and takes the last value.
//!
//! # Innermost and outermost
//!
//! Two labels of nested scopes matter, and which one is asked differs by mode (`facts` in brackets are files of TorchAir):
//!
//! | | runs on | `record` and `wait` are of |
//! |---|---|---|
//! | `reduce-overhead` | the *innermost* label: generated code opens `with torch.npu.stream(...)` scope in scope [`_acl_concrete_graph/fx2acl_converter.py`] | the same: the current stream |
//! | `max-autotune` | the *innermost* label: attributes are put on outermost first, so that an inner value wins [`scope/_scope_attr.py`] | the *outermost* label: last operators and waiting edges are kept by the label that is found first from the bottom of the stack [`_ge_concrete_graph/fx2ge_converter.py`] |
//!
//! So in `max-autotune` a record behind an inner scope names the inner scope's last operator, which may run on another stream.
//! [`Member`] holds both; [`super::Order`] is the one that uses them by mode, and lowering keeps its edges by [`Scopes::outer`].
//!
//! # What is wrong
//!
//! A [`ScopeFault`] each: scopes that are not paired; keys without as many values; keys, values or labels that are no texts; an
//! empty label; a label twice, or not first (some readers of TorchAir's take the *first* value whatever its key); a wait for
//! nothing; begin and end of a super kernel (`npu.super_kernel_scope_*`, paired by name in any order, without a stream) that do
//! not pair. Which operators a mode lacks is the judge's to say.
//!
//! Promises: one pass, linear; nothing is guessed: what cannot be read is a fault. Leaves to `events`: what records and waits
//! name; to `verify`: whether the streams keep the order of accesses.

use rustc_hash::FxHashMap;

use std::sync::LazyLock;

use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::sym::{KeyedMap, KeyedSet};

/// The key whose value names a stream.
pub const STREAM_LABEL: &str = "_user_stream_label";

/// The keys under which a scope made from `torch.npu.stream` says which stream it is: id, device, kind of device.
const STREAM_IDS: [&str; 3] = ["_user_stream_id", "_user_stream_device_index", "_user_stream_device_type"];

/// A stream of a graph, by number.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct StreamId(pub u32);

impl StreamId {
    /// The stream outside of all scopes.
    pub const MAIN: StreamId = StreamId(0);
}

/// What an operator does to streams and scopes.
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
    /// The first operand, after the second: `max-autotune` only.
    WaitTensor,
    /// Records the event of a tag. This and the next ones: `reduce-overhead` only.
    TaggedRecord,
    /// Waits for the event of a tag.
    TaggedWait,
    /// Records the event of a tag on a stream that it names.
    TaggedRecordOn,
    /// Waits for the event of a tag on a stream that it names.
    TaggedWaitOn,
    /// One stream waits for all of another.
    StreamWaitsStream,
    /// Keeps a tensor's memory until a stream has done what it was given.
    Keep,
    /// Begins a super kernel.
    KernelBegin,
    /// Ends one.
    KernelEnd,
}

impl StreamOperator {
    /// Returns whether it is of tagged events, of whole streams or of memory: what only captured graphs have.
    pub fn is_captured_only(self) -> bool {
        use StreamOperator::{Keep, StreamWaitsStream, TaggedRecord, TaggedRecordOn, TaggedWait, TaggedWaitOn};
        matches!(self, TaggedRecord | TaggedWait | TaggedRecordOn | TaggedWaitOn | StreamWaitsStream | Keep)
    }

    /// Returns whether it gives a value that others compute with. All others touch no memory.
    pub fn computes(self) -> bool {
        self == StreamOperator::WaitTensor
    }
}

/// Names in the two name spaces of streams.
const STREAM_NAMES: &[(&str, StreamOperator)] = &[
    ("scope_enter", StreamOperator::Enter),
    ("scope_exit", StreamOperator::Exit),
    ("record", StreamOperator::Record),
    ("wait", StreamOperator::Wait),
    ("wait_tensor", StreamOperator::WaitTensor),
    ("tagged_event_record", StreamOperator::TaggedRecord),
    ("tagged_event_wait", StreamOperator::TaggedWait),
    ("tagged_event_record_on_stream", StreamOperator::TaggedRecordOn),
    ("tagged_event_wait_on_stream", StreamOperator::TaggedWaitOn),
    ("tagged_stream_wait_stream", StreamOperator::StreamWaitsStream),
    ("record_tagged_stream", StreamOperator::Keep),
    ("record_tagged_stream_", StreamOperator::Keep),
];

/// Names of super kernels.
const KERNEL_NAMES: &[(&str, StreamOperator)] =
    &[("super_kernel_scope_begin", StreamOperator::KernelBegin), ("super_kernel_scope_end", StreamOperator::KernelEnd)];

const SPACES: &[(&str, &[(&str, StreamOperator)])] =
    &[("air.", STREAM_NAMES), ("npugraph_ex.", STREAM_NAMES), ("npu.", KERNEL_NAMES)];

/// Returns what a target does to streams.
pub fn stream_operator(target: &str) -> Option<StreamOperator> {
    let (name, names) = SPACES.iter().find_map(|(space, names)| Some((target.strip_prefix(space)?, *names)))?;
    let name = name.strip_suffix(".default").unwrap_or(name);
    names.iter().find(|(n, _)| *n == name).map(|(_, operator)| *operator)
}

/// Returns whether the texts of a graph name any stream operator: without one there is nothing to ask. Costs no walk.
pub fn mentions_streams(view: &dyn View) -> bool {
    static TARGETS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let names =
            SPACES.iter().flat_map(|(space, names)| names.iter().map(move |(name, _)| format!("{space}{name}")));
        names.flat_map(|name| [format!("{name}.default"), name]).collect()
    });
    TARGETS.iter().any(|target| view.texts().find(target).is_some())
}

/// Something wrong with scopes, events or waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamFault {
    /// The operator.
    pub node: NodeId,
    /// What is wrong, in words.
    pub fault: ScopeFault,
}

/// What can be wrong.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScopeFault {
    /// No scope is open.
    #[error("closes a scope, and none is open")]
    ExitWithoutEnter,
    /// Open at the end.
    #[error("opens a scope that is never closed")]
    NeverClosed,
    /// Keys and values are zipped: surplus ones are lost.
    #[error("gives {keys} keys and {values} values; a scope needs as many values as keys")]
    KeysWithoutValues {
        /// How many keys.
        keys: usize,
        /// How many values.
        values: usize,
    },
    /// Nothing to wait for.
    #[error("waits for nothing; name at least one record")]
    EmptyWait,
    /// A super kernel ends.
    #[error("ends a super kernel that was never begun")]
    KernelEndWithoutBegin,
    /// A super kernel begins.
    #[error("begins a super kernel that is never ended")]
    KernelNeverEnded,
    /// What is not written out cannot be read.
    #[error("must have its keys, values and names written out as texts")]
    NoText,
    /// A label that is no name.
    #[error("has an empty stream label")]
    EmptyLabel,
    /// The first value is taken as the label.
    #[error("has a stream label that does not stand first, and TorchAir takes the first value as the label")]
    LabelNotFirst,
    /// Which one counts differs between readers.
    #[error("gives two stream labels")]
    LabelTwice,
}

impl ScopeFault {
    /// Returns whether TorchAir itself refuses such a graph, or nobody could say what it means: it is not well formed.
    pub fn is_of_form(self) -> bool {
        match self {
            ScopeFault::ExitWithoutEnter
            | ScopeFault::NeverClosed
            | ScopeFault::KeysWithoutValues { .. }
            | ScopeFault::EmptyWait
            | ScopeFault::KernelEndWithoutBegin
            | ScopeFault::KernelNeverEnded => true,
            ScopeFault::NoText | ScopeFault::EmptyLabel | ScopeFault::LabelNotFirst | ScopeFault::LabelTwice => false,
        }
    }
}

/// An open scope.
#[derive(Clone, Debug)]
pub struct Scope {
    /// What opened it.
    pub node: NodeId,
    /// Keys and values, each key once.
    pub pairs: Vec<(Box<str>, Box<str>)>,
    inner: StreamId,
    outer: StreamId,
}

/// The stack of open scopes while one walks over a body.
#[derive(Clone, Debug, Default)]
pub struct Scopes {
    /// Outermost first.
    pub open: Vec<Scope>,
    /// What was found wrong so far.
    pub faults: Vec<StreamFault>,
    labels: Vec<Box<str>>,
    numbers: KeyedMap<Box<str>, StreamId>,
    ids: KeyedMap<[Box<str>; 3], StreamId>,
    unclear: KeyedSet<[Box<str>; 3]>,
    kernels: KeyedMap<Box<str>, Vec<NodeId>>,
}

impl Scopes {
    /// Reads the next node of a body: opens, closes, notes faults. Returns what the node does to streams.
    pub fn read(&mut self, view: &dyn View, node: NodeId) -> Option<StreamOperator> {
        if view.kind(node) != NodeKind::Call {
            return None;
        }
        let operator = stream_operator(view.target(node))?;
        match operator {
            StreamOperator::Enter => self.enter(view, node),
            StreamOperator::Exit if self.open.pop().is_none() => self.fault(node, ScopeFault::ExitWithoutEnter),
            StreamOperator::Wait if argument(view, node, 0, "x").and_then(Arg::items).is_none_or(<[Arg]>::is_empty) => {
                self.fault(node, ScopeFault::EmptyWait);
            }
            StreamOperator::KernelBegin | StreamOperator::KernelEnd => self.kernel(view, node, operator),
            _ => {}
        }
        Some(operator)
    }

    /// Notes what is still open at the end of a body.
    pub fn finish(&mut self) {
        let open: Vec<NodeId> = self.open.drain(..).map(|s| s.node).collect();
        let mut kernels: Vec<NodeId> = self.kernels.drain().flat_map(|(_, nodes)| nodes).collect();
        kernels.sort_unstable();
        self.faults.extend(open.into_iter().map(|node| StreamFault { node, fault: ScopeFault::NeverClosed }));
        self.faults.extend(kernels.into_iter().map(|node| StreamFault { node, fault: ScopeFault::KernelNeverEnded }));
    }

    /// Returns the stream of the innermost scope that has a label: where a node runs.
    pub fn inner(&self) -> StreamId {
        self.open.last().map_or(StreamId::MAIN, |s| s.inner)
    }

    /// Returns the stream of the outermost scope that has a label: of which `record` and `wait` are in `max-autotune`.
    pub fn outer(&self) -> StreamId {
        self.open.last().map_or(StreamId::MAIN, |s| s.outer)
    }

    /// Returns the label of a stream; `None` is the main stream.
    pub fn label(&self, stream: StreamId) -> Option<&str> {
        self.labels.get((stream.0 as usize).checked_sub(1)?).map(|l| &**l)
    }

    fn fault(&mut self, node: NodeId, fault: ScopeFault) {
        self.faults.push(StreamFault { node, fault });
    }

    fn kernel(&mut self, view: &dyn View, node: NodeId, operator: StreamOperator) {
        let Some(name) = argument(view, node, 0, "scope_name").and_then(as_text) else {
            return self.fault(node, ScopeFault::NoText);
        };
        let open = self.kernels.entry(name.into()).or_default();
        match operator {
            StreamOperator::KernelBegin => open.push(node),
            _ if open.pop().is_none() => self.fault(node, ScopeFault::KernelEndWithoutBegin),
            _ => {}
        }
    }

    fn enter<'v>(&mut self, view: &'v dyn View, node: NodeId) {
        let (keys, values) = (argument(view, node, 0, "keys"), argument(view, node, 1, "values"));
        if [keys, values].into_iter().flatten().any(|list| list.items().is_none()) {
            self.fault(node, ScopeFault::NoText);
        }
        let list = |arg: Option<&'v Arg>| arg.and_then(Arg::items).unwrap_or(&[]);
        let (keys, values) = (list(keys), list(values));
        if keys.len() != values.len() {
            self.fault(node, ScopeFault::KeysWithoutValues { keys: keys.len(), values: values.len() });
        }
        let mut pairs: Vec<(Box<str>, Box<str>)> = Vec::new();
        let mut places: KeyedMap<&str, usize> = KeyedMap::default();
        for (place, (key, value)) in keys.iter().zip(values).enumerate() {
            let (Some(key), Some(value)) = (as_text(key), as_text(value)) else {
                self.fault(node, ScopeFault::NoText);
                continue;
            };
            if key == STREAM_LABEL {
                match () {
                    () if value.is_empty() => self.fault(node, ScopeFault::EmptyLabel),
                    () if places.contains_key(key) => self.fault(node, ScopeFault::LabelTwice),
                    () if place != 0 => self.fault(node, ScopeFault::LabelNotFirst),
                    () => {}
                }
            }
            match places.get(key).and_then(|p| pairs.get_mut(*p)) {
                Some(pair) => pair.1 = value.into(),
                None => {
                    places.insert(key, pairs.len());
                    pairs.push((key.into(), value.into()));
                }
            }
        }
        let value = |key: &str| places.get(key).and_then(|p| pairs.get(*p)).map(|(_, v)| v.clone());
        let label = value(STREAM_LABEL);
        let ids = STREAM_IDS.map(value);
        let own = label.map(|label| self.number(label));
        if let (Some(own), [Some(id), Some(index), Some(kind)]) = (own, ids) {
            let key = [id, index, kind];
            if *self.ids.entry(key.clone()).or_insert(own) != own {
                self.unclear.insert(key);
            }
        }
        let (inner, outer) = (self.inner(), self.outer());
        let outer = if outer == StreamId::MAIN { own.unwrap_or(outer) } else { outer };
        self.open.push(Scope { node, pairs, inner: own.unwrap_or(inner), outer });
    }

    fn number(&mut self, label: Box<str>) -> StreamId {
        if let Some(known) = self.numbers.get(&label) {
            return *known;
        }
        self.labels.push(label.clone());
        let number = StreamId(u32::try_from(self.labels.len()).unwrap_or(u32::MAX));
        self.numbers.insert(label, number);
        number
    }
}

/// Returns an argument by place or name.
pub(super) fn argument<'a>(view: &'a dyn View, node: NodeId, place: usize, name: &str) -> Option<&'a Arg> {
    let by_name = || {
        let key = view.texts().find(name)?;
        view.kwargs(node).iter().find(|(k, _)| *k == key).map(|(_, a)| a)
    };
    view.args(node).get(place).or_else(by_name)
}

/// Returns the text that an argument is.
pub(super) fn as_text(arg: &Arg) -> Option<&str> {
    match arg {
        Arg::Str(text) => Some(text),
        _ => None,
    }
}

/// The two streams that a node belongs to; they differ in nested scopes only.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Member {
    /// The innermost label: where it runs.
    pub inner: StreamId,
    /// The outermost label: whose records and waits see it in `max-autotune`.
    pub outer: StreamId,
}

/// Streams of a graph: of its root body, where alone they have a meaning.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    scopes: Scopes,
    /// Nodes in a scope with a label.
    members: FxHashMap<NodeId, Member>,
    /// Every operator on streams, in order.
    pub operators: Vec<(NodeId, StreamOperator)>,
    /// What is wrong, in order.
    pub faults: Vec<StreamFault>,
    /// The first operator on streams in a sub-graph: nobody says what it does there.
    pub in_body: Option<NodeId>,
}

impl Streams {
    /// Reads the streams of a graph. Linear.
    pub fn of(view: &dyn View) -> Self {
        let mut out = Streams::default();
        let mut scopes = Scopes::default();
        for (node, kind) in nodes_of(view, BodyId::ROOT) {
            if let Some(operator) = scopes.read(view, node) {
                out.operators.push((node, operator));
            }
            let member = Member { inner: scopes.inner(), outer: scopes.outer() };
            if kind == NodeKind::Call && member != Member::default() {
                out.members.insert(node, member);
            }
        }
        scopes.finish();
        out.faults = std::mem::take(&mut scopes.faults);
        out.scopes = scopes;
        for body in view.bodies().skip(1) {
            out.in_body = out.in_body.or_else(|| {
                let mut calls = nodes_of(view, body).filter(|(_, kind)| *kind == NodeKind::Call);
                calls.find(|(n, _)| stream_operator(view.target(*n)).is_some()).map(|(n, _)| n)
            });
        }
        out
    }

    /// Returns how many streams there are, the main stream included.
    pub fn count(&self) -> usize {
        self.scopes.labels.len().saturating_add(1)
    }

    /// Returns the streams of a node.
    pub fn member(&self, node: NodeId) -> Member {
        self.members.get(&node).copied().unwrap_or_default()
    }

    /// Returns the stream on which a node runs.
    pub fn stream(&self, node: NodeId) -> StreamId {
        self.member(node).inner
    }

    /// Returns the label of a stream; `None` is the main stream.
    pub fn label(&self, stream: StreamId) -> Option<&str> {
        self.scopes.label(stream)
    }

    /// Returns the stream of that label.
    pub fn labelled(&self, label: &str) -> Option<StreamId> {
        self.scopes.numbers.get(label).copied()
    }

    /// Returns the stream that scopes say has this id, index and kind of device; `None` where none does, or two do.
    pub fn identified(&self, key: &[Box<str>; 3]) -> Option<StreamId> {
        self.scopes.ids.get(key).copied().filter(|_| !self.scopes.unclear.contains(key))
    }

    /// Returns whether something that computes runs outside the main stream.
    pub fn is_multi_stream(&self, view: &dyn View) -> bool {
        let beside = |(node, member): (&NodeId, &Member)| {
            member.inner != StreamId::MAIN && stream_operator(view.target(*node)).is_none_or(StreamOperator::computes)
        };
        self.members.iter().any(beside)
    }
}

/// Returns the nodes of a body in order, with their kinds.
pub(super) fn nodes_of(view: &dyn View, body: BodyId) -> impl Iterator<Item = (NodeId, NodeKind)> + '_ {
    view.nodes(body).map(|n| (n, view.kind(n)))
}
