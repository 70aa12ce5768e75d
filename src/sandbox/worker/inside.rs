//! The worker's side: one process that compiles a component, or that loads, describes and runs one.
//!
//! Promises: the walls stand before anything of a component is looked at; from then on no thread is started and no descriptor opened.
//! Whatever goes wrong ends the process: the host finds out.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

use wasmtime::component::Component;

use super::walls::{self, Room, Wall};
use super::wire::{self, Begin, Failed, Failure, Order, Ran, Report, Role, Run, WireError};
use crate::contract::{Limits, LoadError};
use crate::editor::Editor;
use crate::formats::operators;
use crate::graph::NodeId;
use crate::ops::Registry;
use crate::sandbox::host::{AskedForWeights, Host};
use crate::sandbox::journal::Journal;
use crate::sandbox::{Ended, Engine, Job, Pass, PassFault, artifact};

/// The worker's end of what joins it to its host.
pub type Stream = Arc<File>;

/// How far a worker is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It was told to begin; no wall but those of the process stands.
    Beginning,
    /// The walls stand.
    Begun,
    /// It was told to compile.
    Compiling,
    /// It was told to load.
    Loading,
    /// It was told to describe.
    Describing,
    /// It was told to run.
    Running,
    /// It has run, and is about to say so.
    Ran,
}

/// The address space that a linear memory sets aside, with its guards.
const MEMORY_ADDRESSES: u64 = 8 << 30;
/// What everything else may set aside beyond what it fills.
const OTHER_ADDRESSES: u64 = 4 << 30;

/// All of `airlock worker`: what came is on standard input, as [`super::Workers`] starts it.
pub fn main() -> ExitCode {
    match enter(|_, _| {}) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Is a worker until its host closes its end. `at` is told of each step: tests put holes into workers with it.
pub fn enter(mut at: impl FnMut(Step, &Stream) + Send) -> Result<(), WireError> {
    let mut raised = walls::leave_the_world();
    let mut stream: Stream = Arc::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let Order::Begin(begin) = wire::receive(&mut stream, u64::MAX, None)? else {
        return Err(WireError::Nonsense("it did not begin".to_string()));
    };
    at(Step::Beginning, &stream);
    let (engine, registry) = match prepared(&begin) {
        Ok(prepared) => prepared,
        Err(failure) => return wire::send(&mut stream, &mut Report::Failed(failure), None),
    };
    // The last thread: the one with the stack that a guest needs.
    let thread = std::thread::Builder::new().name("airlock-worker".into()).stack_size(engine.thread_stack_bytes());
    let work = || {
        raised.push(walls::limit(&room(&begin)));
        raised.push(walls::filter());
        let is_safe = raised.iter().any(|w| w.name == Wall::FILTER && w.stands);
        wire::send(&mut stream, &mut Report::Begun(raised.into_iter().collect()), None)?;
        if !is_safe {
            return Ok(());
        }
        at(Step::Begun, &stream);
        Inside { stream, limits: begin.limits, registry }.serve(&engine, &mut at)
    };
    std::thread::scope(|scope| match thread.spawn_scoped(scope, work)?.join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn prepared(begin: &Begin) -> Result<(Engine, Arc<Registry>), Failure> {
    let engine = Engine::of_worker(&begin.limits, begin.locates).map_err(|e| Failure::Engine(e.to_string()))?;
    let mut registry = Registry::default();
    if begin.role == Role::Run {
        // Here nobody waits for it.
        engine.linker().map_err(|e| Failure::Engine(e.to_string()))?;
        registry = Registry::standard();
        for (name, text) in &begin.operators {
            operators::extend(&mut registry, name, text).map_err(|e| Failure::Engine(e.to_string()))?;
        }
    }
    Ok((engine, Arc::new(registry)))
}

fn room(begin: &Begin) -> Room {
    let memories = u64::from(begin.limits.memories).saturating_mul(MEMORY_ADDRESSES);
    Room {
        data_bytes: begin.data_bytes,
        address_bytes: begin.data_bytes.saturating_add(memories).saturating_add(OTHER_ADDRESSES),
        cpu_seconds: begin.cpu_seconds,
    }
}

struct Inside {
    stream: Stream,
    limits: Limits,
    registry: Arc<Registry>,
}

impl Inside {
    fn serve(mut self, engine: &Engine, at: &mut dyn FnMut(Step, &Stream)) -> Result<(), WireError> {
        let mut pass: Option<Pass<'_>> = None;
        loop {
            let order = match wire::receive(&mut self.stream, u64::MAX, None) {
                Err(WireError::Closed) => return Ok(()),
                order => order?,
            };
            let mut report = match (order, &pass) {
                (Order::Compile(bytes), _) => {
                    at(Step::Compiling, &self.stream);
                    match artifact::compile("component", bytes.as_slice(), engine, &self.limits) {
                        Ok(compiled) => Report::Compiled(compiled.into()),
                        Err(error) => Report::Failed(failure(error)),
                    }
                }
                (Order::Load(label, bytes, limits), _) => {
                    at(Step::Loading, &self.stream);
                    self.limits = *limits;
                    let loaded = artifact::load(&label, bytes.as_slice(), engine, &self.limits);
                    self.loaded(label, loaded, engine, &mut pass)
                }
                (Order::Map(label, start, len, limits), _) => {
                    at(Step::Loading, &self.stream);
                    self.limits = *limits;
                    let loaded = artifact::map(&label, &io::stdout(), (start, len), engine, &self.limits);
                    self.loaded(label, loaded, engine, &mut pass)
                }
                (Order::Describe, Some(pass)) => {
                    at(Step::Describing, &self.stream);
                    Report::Described(pass.describe(&self.limits).map_err(failed))
                }
                (Order::Run(run), Some(pass)) => {
                    at(Step::Running, &self.stream);
                    let ran = self.run(*run, pass)?;
                    at(Step::Ran, &self.stream);
                    Report::Ran(Box::new(ran))
                }
                (order, _) => return Err(WireError::Nonsense(format!("out of turn: {order:.40?}"))),
            };
            wire::send(&mut self.stream, &mut report, None)?;
        }
    }

    fn loaded<'e>(
        &self,
        label: String,
        component: Result<Component, LoadError>,
        engine: &'e Engine,
        pass: &mut Option<Pass<'e>>,
    ) -> Report {
        let bound =
            component.and_then(|c| Pass::bind(label, &c, engine, &self.limits, crate::contract::Preflight::default()));
        match bound {
            Ok(bound) => {
                *pass = Some(bound);
                Report::Loaded
            }
            Err(error) => Report::Failed(failure(error)),
        }
    }

    fn run(&self, run: Run, pass: &Pass<'_>) -> Result<Ran, WireError> {
        let Run { config, stage, mode, options, constants, graph } = run;
        let graph = postcard::from_bytes(graph.as_slice()).map_err(|e| WireError::Nonsense(e.to_string()))?;
        let job = Job { config, stage, mode, options, constants: None };
        let mut host = Host::new(Editor::new(graph, self.registry.clone()), job, &self.limits);
        host.journal = Some(Journal::default());
        if constants {
            host.asked = Some(Box::new(Asked(self.stream.clone())));
        }
        let (outcome, journal, _) = pass.run_on(host, &self.limits);
        let ended = match outcome.ended {
            Ended::Changed(said) | Ended::Unchanged(said) => Ok(said),
            Ended::Faulted(fault) => Err(failed(fault)),
        };
        let journal = journal.filter(|_| ended.is_ok()).map_or_else(Vec::new, Journal::into_bytes);
        Ok(Ran {
            ended,
            journal: journal.into(),
            log: outcome.log.into_iter().map(|line| (line.level, line.text)).collect(),
            log_dropped: outcome.log_dropped,
            fuel: outcome.usage.fuel,
            memory_bytes: outcome.usage.memory_bytes,
            host_bytes: outcome.usage.host_bytes,
            calls: outcome.usage.calls,
        })
    }
}

/// Asks the host for weights.
struct Asked(Stream);

impl AskedForWeights for Asked {
    fn read(&mut self, node: NodeId, offset: u64, len: u32) -> io::Result<Result<Vec<u8>, String>> {
        let other = |e: WireError| io::Error::other(e.to_string());
        wire::send(&mut self.0, &mut Report::Weights { node: node.to_bits(), offset, len }, None).map_err(other)?;
        match wire::receive(&mut self.0, u64::MAX, None).map_err(other)? {
            Order::Weights(answer) => Ok(answer.map(|bytes| bytes.as_slice().to_vec())),
            _ => Err(io::Error::other("no answer but another order")),
        }
    }
}

fn failure(error: LoadError) -> Failure {
    match error {
        LoadError::Compile { message, .. } => Failure::Compile(message),
        LoadError::Mismatch { message, .. } => Failure::Mismatch(message),
        other => Failure::Engine(other.to_string()),
    }
}

fn failed(fault: PassFault) -> Failed {
    Failed {
        kind: fault.kind,
        in_start: fault.function == "start",
        message: fault.message,
        used: fault.used,
        limit: fault.limit,
        frames: fault.frames.into_iter().collect(),
    }
}
