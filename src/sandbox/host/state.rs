//! What one run holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::super::bindings;
use super::super::bindings::airlock::pass::types as wit;
use super::super::journal::Journal;
use super::super::profile::Meter;
use super::super::store::{Deadline, Guard, Stop};
use super::args::Words;
use super::sizes::Sizes;
use super::weights::Named;
use crate::contract::Limits;
use crate::contract::shown;
use crate::editor::{EditCode, EditError, Editor};
use crate::graph::{Graph, Interner, NodeId, StrId, View, Weights};

/// What a pass is told of its run, and what it is granted.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// The user's text for this pass.
    pub config: String,
    /// `pre` or `post`.
    pub stage: String,
    /// `max-autotune` or `reduce-overhead`.
    pub mode: String,
    /// The user's options for this pass.
    pub options: BTreeMap<String, String>,
    /// Weight bytes, where the grant `constants` is given.
    pub constants: Option<Arc<Weights>>,
}

/// How much a line of log matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For whoever works on the pass.
    Debug,
    /// For whoever runs it.
    Info,
    /// Something is likely wrong.
    Warn,
}

/// A line that a pass wrote. The text is escaped and cut.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LogLine {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub text: String,
}

/// The data of a store.
pub struct Host {
    /// The graph of the run; an empty one where there is none.
    pub(in super::super) editor: Editor,
    /// Whether the guest may use the graph: while `run` runs, not in `describe` or a start function.
    pub(in super::super) is_open: bool,
    pub(in super::super) deadline: Deadline,
    pub(in super::super) guard: Guard,
    pub(in super::super) log: Vec<LogLine>,
    pub(in super::super) log_dropped: u64,
    pub(in super::super) calls: u64,
    pub(in super::super) host_bytes: u64,
    /// How much of what edits made the graph keep was charged, and how much it may keep.
    charged_kept: u64,
    pub(super) most_kept: u64,
    pub(in super::super) job: Job,
    pub(super) limits: Limits,
    pub(super) texts: Texts,
    pub(super) words: Words,
    pub(super) sizes: Sizes,
    pub(super) named: Option<Named>,
    /// Notes each edit that reaches the editor, where somebody else is to make them again.
    pub(in super::super) journal: Option<Journal>,
    /// Counts what calls cost, where somebody looks.
    pub(in super::super) meter: Option<Box<Meter>>,
    /// Who is asked for weight bytes, where `job` does not hold them.
    pub(in super::super) asked: Option<Box<dyn AskedForWeights>>,
}

/// Gives bytes of weights that are somewhere else.
pub trait AskedForWeights: Send {
    /// Returns at most `len` bytes of what the node stands for, from `offset`; an error is one of the guest's.
    fn read(&mut self, node: NodeId, offset: u64, len: u32) -> std::io::Result<Result<Vec<u8>, String>>;
}

impl Host {
    pub(in super::super) fn new(editor: Editor, job: Job, limits: &Limits) -> Self {
        Self {
            charged_kept: editor.kept_bytes(),
            most_kept: u64::MAX,
            editor,
            is_open: false,
            deadline: Deadline::from_now(limits.time()),
            guard: Guard::new(limits),
            log: Vec::new(),
            log_dropped: 0,
            calls: 0,
            host_bytes: 0,
            job,
            limits: limits.clone(),
            texts: Texts::default(),
            words: Words::default(),
            sizes: Sizes::default(),
            named: None,
            journal: None,
            meter: None,
            asked: None,
        }
    }

    /// Counts a call, and stops a guest that uses the graph outside `run`, or whose time is over: no epoch ends a host call.
    pub(super) fn enter(&mut self, function: &'static str) -> wasmtime::Result<()> {
        self.count(function);
        self.deadline.check()?;
        if self.is_open { Ok(()) } else { Err(Stop::NoGraph { function }.into()) }
    }

    /// Counts a call.
    pub(super) fn count(&mut self, function: &'static str) {
        self.calls = self.calls.saturating_add(1);
        if let Some(meter) = &mut self.meter {
            meter.enter(function);
        }
    }

    /// Enters a call and gives the graph.
    pub(super) fn graph(&mut self, function: &'static str) -> wasmtime::Result<&Graph> {
        self.enter(function)?;
        Ok(self.editor.graph())
    }

    /// Enters a call and gives the graph and the node, if it is one.
    pub(super) fn node(
        &mut self,
        function: &'static str,
        id: u64,
    ) -> wasmtime::Result<Result<(&Graph, NodeId), wit::EditError>> {
        let graph = self.graph(function)?;
        Ok(live(graph, id).map(|n| (graph, n)))
    }

    /// Counts bytes that the host is about to keep, and stops a guest that would fill too many.
    pub(super) fn charge(&mut self, bytes: u64) -> wasmtime::Result<()> {
        let wanted = self.host_bytes.saturating_add(bytes);
        if wanted > self.limits.host_bytes {
            return Err(Stop::HostBytes { wanted, limit: self.limits.host_bytes }.into());
        }
        self.host_bytes = wanted;
        Ok(())
    }

    /// Lets edits go no further than what is left of time and memory.
    pub(super) fn bound_edits(&mut self) {
        let left = self.limits.host_bytes.saturating_sub(self.host_bytes);
        self.most_kept = self.charged_kept.saturating_add(left);
        self.editor.limit_work(self.most_kept, self.deadline.at());
    }

    /// Counts what edits made the graph keep: types and sizes that rules gave. Stops a guest whose time is over.
    pub(super) fn charge_edits(&mut self) -> wasmtime::Result<()> {
        self.deadline.check()?;
        let kept = self.editor.kept_bytes();
        let more = kept.saturating_sub(std::mem::replace(&mut self.charged_kept, kept));
        self.charge(more)
    }

    /// Counts what reading sizes has made them keep.
    pub(super) fn charge_sizes(&mut self) -> wasmtime::Result<()> {
        self.deadline.check()?;
        let more = self.sizes.take_grown();
        self.charge(more)
    }

    pub(super) fn write_log(&mut self, level: Level, text: &str) {
        let room = usize::try_from(self.limits.log_lines).unwrap_or(usize::MAX);
        if self.log.len() < room {
            self.log.push(LogLine { level, text: shown(text, self.limits.message_chars) });
        } else {
            self.log_dropped = self.log_dropped.saturating_add(1);
        }
    }
}

/// Returns the node of an id, if it is one of this graph.
pub(super) fn live(graph: &Graph, id: u64) -> Result<NodeId, wit::EditError> {
    NodeId::from_bits(id).filter(|n| graph.contains(*n)).ok_or_else(|| stale(id))
}

pub(super) fn stale(id: u64) -> wit::EditError {
    wit::EditError {
        code: wit::EditCode::Stale,
        node: Some(id),
        argument: None,
        message: format!("{id} is no node of this graph (any more)"),
    }
}

/// Returns an error about a node of the guest's making.
pub(super) fn refused(code: wit::EditCode, node: Option<u64>, message: impl Into<String>) -> wit::EditError {
    wit::EditError { code, node, argument: None, message: message.into() }
}

/// Returns the editor's error in the words of the contract.
pub(super) fn edit_error(error: EditError) -> wit::EditError {
    let code = match error.code {
        EditCode::Stale => wit::EditCode::Stale,
        EditCode::UnknownTarget => wit::EditCode::UnknownTarget,
        EditCode::BadArgument => wit::EditCode::BadArgument,
        EditCode::TypeMismatch => wit::EditCode::TypeMismatch,
        EditCode::UseBeforeDefinition => wit::EditCode::UseBeforeDefinition,
        EditCode::StillUsed => wit::EditCode::StillUsed,
        EditCode::NotAllowed => wit::EditCode::NotAllowed,
        EditCode::OverLimit => wit::EditCode::OverLimit,
    };
    wit::EditError { code, node: error.node.map(NodeId::to_bits), argument: error.argument, message: error.message }
}

/// Texts that the guest knows by number, counting up from 0.
#[derive(Debug, Default)]
pub(super) struct Texts {
    ids: Vec<StrId>,
    numbers: FxHashMap<StrId, u32>,
}

impl Texts {
    /// Returns the number of a text, giving it one if it has none.
    pub(super) fn number(&mut self, id: StrId) -> u32 {
        *self.numbers.entry(id).or_insert_with(|| {
            let number = u32::try_from(self.ids.len()).unwrap_or(u32::MAX);
            self.ids.push(id);
            number
        })
    }

    /// Returns the text of a number that was given out.
    pub(super) fn text<'a>(&self, number: u32, interner: &'a Interner) -> Option<&'a str> {
        self.ids.get(usize::try_from(number).ok()?).map(|id| interner.text(*id))
    }

    /// Returns all texts in the order of their numbers.
    pub(super) fn all(&self, interner: &Interner) -> Vec<String> {
        self.ids.iter().map(|id| interner.text(*id).to_string()).collect()
    }
}

impl bindings::airlock::pass::types::Host for Host {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_calls_keep_is_counted_and_bounded() {
        let mut host = Host::new(
            Editor::new(Graph::new(), Arc::default()),
            Job::default(),
            &Limits { host_bytes: 10, ..Limits::default() },
        );
        host.charge(10).unwrap();
        let error = host.charge(1).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Stop::HostBytes { wanted: 11, limit: 10 }));
        assert_eq!(host.host_bytes, 10);
    }

    #[test]
    fn a_flood_of_log_lines_is_cut_and_counted() {
        let limits = Limits { log_lines: 2, message_chars: 3, ..Limits::default() };
        let mut host = Host::new(Editor::new(Graph::new(), Arc::default()), Job::default(), &limits);
        for _ in 0..5 {
            host.write_log(Level::Info, "\u{1b}[31mred");
        }
        assert_eq!((host.log.len(), host.log_dropped), (2, 3));
        assert_eq!(host.log[0].text, "\\u{1b}[3... (5 more characters)");
    }

    #[test]
    fn outside_run_a_call_stops_the_guest() {
        let mut host = Host::new(Editor::new(Graph::new(), Arc::default()), Job::default(), &Limits::default());
        let error = host.graph("graph.nodes").unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Stop::NoGraph { function: "graph.nodes" }));
    }
}
