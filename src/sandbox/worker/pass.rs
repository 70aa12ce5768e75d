//! A pass whose code is only ever compiled and run by workers.
//!
//! Promises: [`WorkerPass::load`] compiles in one worker, unless that was done before, and loads in another; [`WorkerPass::run`] gives a copy of the graph away, gets a
//! journal of edits back and makes them again with the host's own editor, which checks each. The outcome is the same as that of
//! [`crate::sandbox::Pass`], edits, ids and names included. A worker that fails is a fault of its pass.

use std::path::Path;
use std::time::Instant;

use super::cache::{Artifact, Stored};
use super::kept::{self, Kept};
use super::process::{Ended as Gone, NotStarted, Worker, Workers};
use super::wire::{Begin, Blob, Failed, Failure, Order, Ran, Report, Role, Run};
use crate::contract::{self, Contract, Limits, LoadError, Preflight, shown};
use crate::editor::Editor;
use crate::graph::{Bytes, NodeId, View};
use crate::sandbox::host::{Named, weight_bytes};
use crate::sandbox::journal::{self, ReplayError};
use crate::sandbox::pass::{check_info, read_component};
use crate::sandbox::{Ended, FaultKind, Frame, Info, Job, LogLine, PassFault, PassRun, Usage};

/// Memory of a worker that compiles.
const COMPILER_BYTES: u64 = 2 << 30;
/// Memory of a worker that runs, beyond what limits of the pass name and a large graph needs.
const RUNNER_BYTES: u64 = 1 << 30;
/// Bytes of memory that a byte of a graph on its way may become.
const GRAPH_GROWS: u64 = 32;
/// The largest artifact.
const ARTIFACT_BYTES: u64 = 1 << 30;
/// Bytes of an answer that holds no graph, no code and no log.
const SMALL: u64 = 1 << 20;

/// A pass that workers run.
///
/// Workers die with the thread that started them: the one that loads a pass must live as long as it.
#[derive(Debug)]
pub struct WorkerPass {
    label: String,
    preflight: Preflight,
    artifact: Artifact,
    workers: Workers,
    operators: Vec<(String, String)>,
    /// One that has loaded the pass.
    ready: Option<Worker>,
}

impl WorkerPass {
    /// Loads the component in a file; errors name it by the file's name without ending. `operators` are the texts that add to the
    /// registry, each with the name of its file.
    pub fn load_file(
        path: &Path,
        workers: &Workers,
        operators: &[(String, String)],
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let (label, bytes) = read_component(path, limits)?;
        Self::load(&label, &bytes, workers, operators, limits)
    }

    /// Loads a component; errors and faults name it `label`.
    pub fn load(
        label: &str,
        bytes: &[u8],
        workers: &Workers,
        operators: &[(String, String)],
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let label = shown(label, limits.message_chars);
        let place = match workers.cache.clone() {
            Some(cache) => Some((cache.name(bytes, limits, workers.locates)?, cache)),
            None => None,
        };
        let mut begun = None;
        let known = place.as_ref().and_then(|(name, cache)| {
            let entry = cache.open_entry(name)?;
            let Stored { about, artifact } = if cache.is_mapped(&entry) {
                // To look at what is large takes as long as to start a worker.
                let file = entry.file.try_clone().ok()?;
                std::thread::scope(|scope| {
                    let looked = scope.spawn(|| cache.look(name, entry));
                    begun = Worker::start(workers, begin_run(limits, operators, 0), Some(&file)).ok();
                    looked.join().ok().flatten()
                })?
            } else {
                cache.look(name, entry)?
            };
            Some((Kept::read(&about)?, artifact))
        });
        let was_known = known.is_some();
        let checked = kept::checked(limits);
        let (preflight, artifact) = match known {
            Some((kept, artifact)) if kept.checked == checked => (kept.preflight, artifact),
            Some((_, artifact)) => (contract::check(&label, bytes, limits)?, artifact),
            None => (contract::check(&label, bytes, limits)?, Artifact::Sent(Bytes::new([]))),
        };
        let (workers, operators) = (workers.clone(), operators.to_vec());
        let mut pass = Self { label, preflight, artifact, workers, operators, ready: None };
        if was_known {
            // Where that one fails another shows why.
            let loaded = begun.and_then(|worker| pass.loaded_by(worker, limits).ok());
            match loaded.map_or_else(|| pass.start(limits, 0), Ok) {
                // What was right when it was put in may not be on another machine that shares the folder.
                Err(LoadError::Compile { .. }) => {}
                started => {
                    pass.ready = Some(started?);
                    return Ok(pass);
                }
            }
        }
        let artifact = compiled(&pass.label, bytes, &pass.workers, limits)?;
        if let Some((name, cache)) = &place {
            // Without a place for it the next run compiles again.
            let _ = cache.put(name, &pass.label, &Kept::write(&checked, &pass.preflight), artifact.as_slice());
        }
        pass.artifact = Artifact::Sent(artifact);
        pass.ready = Some(pass.start(limits, 0)?);
        Ok(pass)
    }

    /// Returns the name under which it was loaded.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns what the look at it found.
    pub fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// Makes a worker ready for the next run, in place of one that is.
    pub fn prepare(&mut self, limits: &Limits) -> Result<(), LoadError> {
        self.ready = Some(self.start(limits, 0)?);
        Ok(())
    }

    /// Starts a worker that has loaded the pass.
    fn start(&self, limits: &Limits, room: u64) -> Result<Worker, LoadError> {
        patiently(&self.workers, || self.start_once(limits, room))
    }

    fn start_once(&self, limits: &Limits, room: u64) -> Result<Worker, Lost<LoadError>> {
        let begin = begin_run(limits, &self.operators, room);
        let worker = match &self.artifact {
            Artifact::Sent(_) => begun(&self.label, &self.workers, begin),
            Artifact::Mapped(on_disk) => lost(&self.label, Worker::start(&self.workers, begin, Some(&on_disk.file))),
        };
        self.loaded_by(worker?, limits)
    }

    /// Lets a worker that has begun, with the file of what is mapped, load the pass.
    fn loaded_by(&self, mut worker: Worker, limits: &Limits) -> Result<Worker, Lost<LoadError>> {
        let (label, limits_of_it) = (self.label.clone(), Box::new(limits.clone()));
        let order = match &self.artifact {
            Artifact::Sent(bytes) => Order::Load(label, bytes.clone().into(), limits_of_it),
            Artifact::Mapped(on_disk) => Order::Map(label, on_disk.start, on_disk.len, limits_of_it),
        };
        let until = Instant::now().checked_add(self.workers.grace);
        match worker.ask(order, SMALL, until) {
            Ok(Report::Loaded) => Ok(worker),
            Ok(Report::Failed(failure)) => Err(load_error(&self.label, failure, limits).into()),
            Ok(other) => Err(gone(&self.label, &worker.out_of_turn(&other))),
            Err(ended) => Err(gone(&self.label, &ended)),
        }
    }

    /// Takes a worker with at least that much room out, starting one if there is none.
    fn worker(&mut self, limits: &Limits, room: u64, function: &'static str) -> Result<Worker, PassFault> {
        match self.ready.take() {
            Some(worker) if worker.data_bytes >= room => Ok(worker),
            _ => self.start(limits, room).map_err(|e| self.fault(FaultKind::Worker, function, e.to_string())),
        }
    }

    fn until(&self, limits: &Limits) -> Option<Instant> {
        Instant::now().checked_add(limits.time())?.checked_add(self.workers.grace)
    }

    /// Asks the pass what it is. The component runs, without a graph.
    pub fn describe(&mut self, limits: &Limits) -> Result<Info, PassFault> {
        let workers = self.workers.clone();
        patiently(&workers, || self.describe_once(limits))
    }

    fn describe_once(&mut self, limits: &Limits) -> Result<Info, Lost<PassFault>> {
        let mut worker = self.worker(limits, 0, "describe")?;
        let info = match worker.ask(Order::Describe, SMALL, self.until(limits)) {
            Ok(Report::Described(Ok(info))) => check_info(&self.label, info, |t| kept(t, limits))?,
            Ok(Report::Described(Err(failed))) => return Err(self.failed(failed, "describe", limits).into()),
            Ok(other) => return Err(self.gone(&worker.out_of_turn(&other), "describe")),
            Err(ended) => return Err(self.gone(&ended, "describe")),
        };
        self.ready = Some(worker);
        Ok(info)
    }

    /// Runs the pass once over the editor's graph.
    pub fn run(&mut self, mut editor: Editor, job: Job, limits: &Limits) -> PassRun {
        let started = Instant::now();
        let fuel_limit = limits.fuel(editor.graph().len());
        let mut usage =
            Usage { fuel_limit, memory_limit: limits.memory_bytes, host_limit: limits.host_bytes, ..Usage::default() };
        let (mut log, mut log_dropped) = (Vec::new(), 0);
        let workers = self.workers.clone();
        let ran = patiently(&workers, || self.ran(&editor, &job, limits)).and_then(|ran| {
            usage.fuel = ran.fuel.min(fuel_limit);
            usage.memory_bytes = ran.memory_bytes.min(limits.memory_bytes);
            usage.host_bytes = ran.host_bytes.min(limits.host_bytes);
            usage.calls = ran.calls;
            log = lines(ran.log.0, limits);
            log_dropped = ran.log_dropped;
            let mut said = ran.ended.map_err(|failed| self.failed(failed, "run", limits))?;
            said.note = kept(&said.note, limits);
            let until = Instant::now().checked_add(limits.time());
            journal::replay(ran.journal.as_slice(), &mut editor, limits, until).map_err(|e| self.not_replayed(&e))?;
            Ok(said)
        });
        usage.sandbox_ms = started.elapsed().as_secs_f64() * 1e3;
        let ended = match ran {
            Ok(said) if editor.changes().is_empty() => Ended::Unchanged(said),
            Ok(said) => Ended::Changed(said),
            Err(fault) => {
                editor.undo();
                Ended::Faulted(fault)
            }
        };
        PassRun { editor, ended, usage, log, log_dropped }
    }

    /// Lets a worker run the pass over a copy of the graph. The worker ends with it.
    fn ran(&mut self, editor: &Editor, job: &Job, limits: &Limits) -> Result<Ran, Lost<PassFault>> {
        let unsent =
            |e: postcard::Error| self.fault(FaultKind::Worker, "run", format!("the graph cannot be sent: {e}"));
        let graph = postcard::to_stdvec(editor.graph()).map_err(unsent)?;
        let room = u64::try_from(graph.len()).unwrap_or(u64::MAX).saturating_mul(GRAPH_GROWS);
        let mut worker = self.worker(limits, room, "run")?;
        let until = self.until(limits);
        let run = Run {
            config: job.config.clone(),
            stage: job.stage.clone(),
            mode: job.mode.clone(),
            options: job.options.clone(),
            constants: job.constants.is_some(),
            graph: graph.into(),
        };
        // Whatever an edit or a line of the log brings was counted in the worker, and takes less on its way.
        let line = u64::from(limits.message_chars).saturating_mul(SHOWN_GROWS).saturating_add(SHOWN_TAIL);
        let log = u64::from(limits.log_lines).saturating_mul(line);
        let most = limits.host_bytes.saturating_add(log).saturating_add(SMALL);
        let (mut order, mut named) = (Order::Run(Box::new(run)), None);
        loop {
            order = match worker.ask(order, most, until) {
                Ok(Report::Ran(ran)) => return Ok(*ran),
                Ok(Report::Weights { node, offset, len }) if job.constants.is_some() => {
                    Order::Weights(weights(editor, job, &mut named, (node, offset, len), limits))
                }
                Ok(other) => return Err(self.gone(&worker.out_of_turn(&other), "run")),
                Err(ended) => return Err(self.gone(&ended, "run")),
            };
        }
    }

    fn not_replayed(&self, error: &ReplayError) -> PassFault {
        let kind = match error {
            ReplayError::Time => FaultKind::Time,
            ReplayError::Memory { .. } => FaultKind::HostLimit,
            _ => FaultKind::Worker,
        };
        self.fault(kind, "run", shown(&format!("its worker process sent {error}"), 500))
    }

    fn gone(&self, ended: &Gone, function: &'static str) -> Lost<PassFault> {
        Lost { error: Box::new(self.fault(ended.kind(), function, ended.to_string())), is_killed: ended.is_killed() }
    }

    fn failed(&self, failed: Failed, function: &'static str, limits: &Limits) -> PassFault {
        let function = if failed.in_start { "start" } else { function };
        PassFault {
            kind: failed.kind,
            pass: self.label.clone(),
            function,
            message: kept(&failed.message, limits),
            used: failed.used,
            limit: failed.limit,
            frames: failed.frames.0.iter().map(|f| Frame { name: kept(&f.name, limits), place: f.place }).collect(),
        }
    }

    fn fault(&self, kind: FaultKind, function: &'static str, message: String) -> PassFault {
        let pass = self.label.clone();
        PassFault { kind, pass, function, message, used: None, limit: None, frames: Box::default() }
    }
}

/// How a worker begins that runs a pass.
pub(super) fn begin_run(limits: &Limits, operators: &[(String, String)], room: u64) -> Begin {
    let room = room.max(RUNNER_BYTES);
    let data_bytes = room.saturating_add(limits.memory_bytes).saturating_add(limits.host_bytes.saturating_mul(2));
    // It describes once and runs once.
    let cpu_seconds = limits.time().as_secs().saturating_mul(2).saturating_add(10);
    let (limits, operators) = (limits.clone(), operators.to_vec());
    Begin { role: Role::Run, limits, data_bytes, cpu_seconds, operators, locates: false }
}

/// An error of something that a worker should have done.
struct Lost<E> {
    error: Box<E>,
    /// Whether somebody killed the worker: then the same may go well with another.
    is_killed: bool,
}

impl<E> From<E> for Lost<E> {
    fn from(error: E) -> Self {
        Self { error: Box::new(error), is_killed: false }
    }
}

/// Tries it again, as often as is allowed, where somebody killed the worker.
fn patiently<T, E>(workers: &Workers, mut attempt: impl FnMut() -> Result<T, Lost<E>>) -> Result<T, E> {
    let mut left = workers.again;
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(lost) if lost.is_killed && left > 0 => {
                left = left.saturating_sub(1);
                workers.was_killed();
            }
            Err(lost) => return Err(*lost.error),
        }
    }
}

fn begun(label: &str, workers: &Workers, begin: Begin) -> Result<Worker, Lost<LoadError>> {
    lost(label, workers.begun(begin))
}

fn lost(label: &str, begun: Result<Worker, NotStarted>) -> Result<Worker, Lost<LoadError>> {
    begun.map_err(|e| Lost { is_killed: e.is_killed(), error: Box::new(e.into_error(label)) })
}

/// Lets a worker compile a component.
fn compiled(label: &str, bytes: &[u8], workers: &Workers, limits: &Limits) -> Result<Bytes, LoadError> {
    patiently(workers, || compiled_once(label, bytes, workers, limits))
}

fn compiled_once(label: &str, bytes: &[u8], workers: &Workers, limits: &Limits) -> Result<Bytes, Lost<LoadError>> {
    let megabytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX).div_ceil(1 << 20);
    let mut cpu_seconds = megabytes.saturating_mul(2).saturating_add(5);
    if cfg!(debug_assertions) {
        // A compiler that is not optimised itself.
        cpu_seconds = cpu_seconds.saturating_mul(5);
    }
    let (role, operators) = (Role::Compile, Vec::new());
    let data_bytes = COMPILER_BYTES;
    let begin = Begin { role, limits: limits.clone(), data_bytes, cpu_seconds, operators, locates: false };
    let mut worker = begun(label, workers, begin)?;
    // Other processes may have most of the processor.
    let wait = std::time::Duration::from_secs(cpu_seconds.saturating_mul(10)).saturating_add(workers.grace);
    let order = Order::Compile(bytes.to_vec().into());
    match worker.ask(order, ARTIFACT_BYTES, Instant::now().checked_add(wait)) {
        Ok(Report::Compiled(artifact)) => Ok(artifact.into_bytes()),
        Ok(Report::Failed(failure)) => Err(load_error(label, failure, limits).into()),
        Ok(other) => Err(gone(label, &worker.out_of_turn(&other))),
        Err(ended) => Err(gone(label, &ended)),
    }
}

fn gone(label: &str, ended: &Gone) -> Lost<LoadError> {
    let error = LoadError::Worker { pass: label.to_string(), message: ended.to_string() };
    Lost { error: Box::new(error), is_killed: ended.is_killed() }
}

fn load_error(label: &str, failure: Failure, limits: &Limits) -> LoadError {
    let pass = label.to_string();
    match failure {
        Failure::Compile(message) => LoadError::Compile { pass, message: kept(&message, limits) },
        Failure::Engine(message) => LoadError::Engine { message: kept(&message, limits) },
        Failure::Mismatch(message) => {
            let offered = Contract::current().map_or_else(|_| String::new(), |c| c.version);
            LoadError::Mismatch { pass, message: kept(&message, limits), offered }
        }
    }
}

fn weights(
    editor: &Editor,
    job: &Job,
    named: &mut Option<Named>,
    (node, offset, len): (u64, u64, u32),
    limits: &Limits,
) -> Result<Blob, String> {
    let Some(weights) = &job.constants else { return Err("there are no weights".to_string()) };
    let graph = editor.graph();
    let node = NodeId::from_bits(node).filter(|n| graph.contains(*n)).ok_or("it is no node of this graph")?;
    let len = len.min(u32::try_from(limits.call_bytes).unwrap_or(u32::MAX));
    weight_bytes(weights, graph, named, node, offset, len).map(|bytes| bytes.to_vec().into())
}

/// What one character becomes at most when it is shown, and what a cut text ends with.
const SHOWN_GROWS: u64 = 10;
const SHOWN_TAIL: u64 = 64;

/// Returns a text that a worker says it has made fit to be shown: as it is if it is, else made so.
fn kept(text: &str, limits: &Limits) -> String {
    let most = u64::from(limits.message_chars).saturating_mul(SHOWN_GROWS).saturating_add(SHOWN_TAIL);
    let is_fit =
        u64::try_from(text.len()).unwrap_or(u64::MAX) <= most && text.bytes().all(|b| matches!(b, b' '..=b'~'));
    if is_fit { text.to_string() } else { shown(text, limits.message_chars) }
}

fn lines(sent: Vec<(crate::sandbox::Level, String)>, limits: &Limits) -> Vec<LogLine> {
    let most = usize::try_from(limits.log_lines).unwrap_or(usize::MAX);
    sent.into_iter().take(most).map(|(level, text)| LogLine { level, text: kept(&text, limits) }).collect()
}
