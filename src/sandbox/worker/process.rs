//! The host's end of one worker.
//!
//! Promises: a worker is asked and answers, or it is ended and the host is told how: what it sent instead, its signal or exit code, its last
//! words. A worker is killed with the value that stands for it. Leaves to `pass` what answers mean.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;

use super::cache::Cache;
use super::pool::Pool;
use super::reaper;
use super::walls::Wall;
use super::wire::{self, Begin, Failure, Order, Report, Role, WireError};
use crate::contract::{Limits, LoadError, shown};
use crate::sandbox::FaultKind;

/// Bytes of an answer that holds no graph, no code and no log.
const SMALL: u64 = 1 << 20;
/// How long a process may take to come up, on a machine that does other things too.
const START: Duration = Duration::from_secs(30);
/// How long a worker that closed its end may take to be gone.
const DYING: Duration = Duration::from_secs(2);
/// Bytes of last words that are kept.
const WORDS: usize = 2_000;

/// How workers are started.
#[derive(Clone, Debug)]
pub struct Workers {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// How long a worker may take beyond the time of its pass before it is killed.
    pub grace: Duration,
    /// How often a pass is tried again whose worker somebody killed (signal SIGKILL). No pass can send that signal; a system that runs out of
    /// memory does.
    pub again: u32,
    /// Whether they tell where in its functions a guest traps: what they compile is a tenth larger.
    pub locates: bool,
    /// What was compiled before.
    pub(super) cache: Option<Arc<Cache>>,
    pool: Option<Arc<Pool>>,
    counts: Arc<Counted>,
}

/// How many workers there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Counts {
    /// That were started.
    pub started: u64,
    /// That were taken from a pool.
    pub pooled: u64,
    /// That somebody killed, and whose pass was tried again.
    pub killed: u64,
}

#[derive(Debug, Default)]
struct Counted {
    started: AtomicU64,
    pooled: AtomicU64,
    killed: AtomicU64,
}

impl Workers {
    /// Workers that are this program once more: `airlock worker`.
    pub fn of_this_program() -> Self {
        // What the link names is this program even where its file was replaced.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() { own } else { std::env::current_exe().unwrap_or(own) };
        Self::of(program, ["worker"])
    }

    /// Workers that are another program: one that calls [`super::main`] when it is given these arguments.
    pub fn of<A: Into<OsString>>(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = A>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        let (program, counts) = (program.into(), Arc::default());
        Self {
            program,
            arguments,
            grace: Duration::from_secs(10),
            again: 0,
            locates: false,
            cache: None,
            pool: None,
            counts,
        }
    }
}

impl Workers {
    /// The same workers, with a cache of what they compile.
    pub fn with_cache(self, cache: Option<Arc<Cache>>) -> Self {
        Self { cache, ..self }
    }

    /// The same workers, of which that many wait, begun, for passes that run within these limits, over these operators; taken out, they are replaced
    /// so often.
    pub fn with_pool(
        self,
        size: usize,
        more: usize,
        limits: &Limits,
        operators: &[(String, String)],
    ) -> std::io::Result<Self> {
        let pool = Pool::start(self.clone(), super::pass::begin_run(limits, operators, 0), size, more)?;
        Ok(Self { pool: Some(Arc::new(pool)), ..self })
    }

    /// Returns how many there were, of these and of those that were made of them.
    pub fn counts(&self) -> Counts {
        let Counted { started, pooled, killed } = &*self.counts;
        let [started, pooled, killed] = [started, pooled, killed].map(|n| n.load(Ordering::Relaxed));
        Counts { started, pooled, killed }
    }

    /// Counts one that somebody killed.
    pub(super) fn was_killed(&self) {
        self.counts.killed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a worker that has begun: one that waits, or a new one.
    pub(super) fn begun(&self, begin: Begin) -> Result<Worker, NotStarted> {
        let begin = Begin { locates: self.locates, ..begin };
        if let Some(worker) = self.pool.as_ref().and_then(|pool| pool.take(&begin)) {
            self.counts.pooled.fetch_add(1, Ordering::Relaxed);
            return Ok(worker);
        }
        Worker::start(self, begin, None)
    }
}

/// Starts a worker, and returns the walls that stand around it.
pub fn walls_here(workers: &Workers) -> Result<Vec<Wall>, LoadError> {
    let begin = Begin {
        role: Role::Compile,
        limits: Limits::default(),
        data_bytes: 1 << 30,
        cpu_seconds: 10,
        operators: Vec::new(),
        locates: false,
    };
    match Worker::start(workers, begin, None) {
        Ok(worker) => Ok(worker.walls.clone()),
        Err(NotStarted::Unsafe(walls)) => Ok(walls),
        Err(other) => Err(other.into_error("a worker")),
    }
}

/// A process that works for this one.
#[derive(Debug)]
pub(super) struct Worker {
    /// Taken out where it is not waited for.
    child: Option<Child>,
    stream: UnixStream,
    /// What it writes to its standard error; never waited for.
    stderr: Option<ChildStderr>,
    words: Vec<u8>,
    pub(super) walls: Vec<Wall>,
    pub(super) data_bytes: u64,
}

/// Why there is no worker.
#[derive(Debug)]
pub(super) enum NotStarted {
    /// No process could be made.
    Spawn(std::io::Error),
    /// It ended before it had begun.
    Ended(Ended),
    /// It has no filter of system calls.
    Unsafe(Vec<Wall>),
    /// It says why not.
    Failed(String),
}

impl NotStarted {
    /// Whether somebody killed it.
    pub(super) fn is_killed(&self) -> bool {
        matches!(self, NotStarted::Ended(ended) if ended.is_killed())
    }

    pub(super) fn into_error(self, pass: &str) -> LoadError {
        let message = match self {
            NotStarted::Spawn(e) => format!("no process for it could be started: {e}"),
            NotStarted::Ended(ended) => ended.to_string(),
            NotStarted::Failed(message) => shown(&message, 2_000),
            NotStarted::Unsafe(walls) => {
                let why = walls.iter().find(|w| w.name == Wall::FILTER).map_or("", |w| &w.detail);
                return LoadError::NoWalls { why: shown(why, 2_000) };
            }
        };
        LoadError::Worker { pass: pass.to_string(), message }
    }
}

impl Worker {
    /// Starts one; what it may map, but not write, stands where its standard output would be.
    pub(super) fn start(workers: &Workers, begin: Begin, mapped: Option<&File>) -> Result<Self, NotStarted> {
        workers.counts.started.fetch_add(1, Ordering::Relaxed);
        let begin = Begin { locates: workers.locates, ..begin };
        let mapped = mapped.map(File::try_clone).transpose().map_err(NotStarted::Spawn)?;
        let (own, its) = UnixStream::pair().map_err(NotStarted::Spawn)?;
        let mut child = Command::new(&workers.program)
            .args(&workers.arguments)
            .env_clear()
            // One arena for all threads: others would look at files of the system when they shrink.
            .env("GLIBC_TUNABLES", "glibc.malloc.arena_max=1")
            // Of what it may fill counts what may be written, used or not: nothing is to be kept ready.
            .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
            .env("MIMALLOC_EAGER_COMMIT", "0")
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(mapped.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::piped())
            // What a terminal sends to its foreground is for the host.
            .process_group(0)
            .spawn()
            .map_err(NotStarted::Spawn)?;
        let stderr = child.stderr.take().filter(|stderr| fcntl(stderr, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).is_ok());
        let data_bytes = begin.data_bytes;
        let mut worker =
            Self { child: Some(child), stream: own, stderr, words: Vec::new(), walls: Vec::new(), data_bytes };
        let until = Instant::now().checked_add(START);
        match worker.ask(Order::Begin(Box::new(begin)), SMALL, until).map_err(NotStarted::Ended)? {
            Report::Begun(walls) if walls.0.iter().any(|w| w.name == Wall::FILTER && w.stands) => {
                worker.walls = walls.0;
                Ok(worker)
            }
            Report::Begun(walls) => Err(NotStarted::Unsafe(walls.0)),
            Report::Failed(Failure::Engine(message) | Failure::Compile(message) | Failure::Mismatch(message)) => {
                Err(NotStarted::Failed(message))
            }
            other => Err(NotStarted::Ended(worker.out_of_turn(&other))),
        }
    }

    /// Sends an order and waits for the answer. A worker that gives none is ended.
    pub(super) fn ask(&mut self, mut order: Order, most: u64, until: Option<Instant>) -> Result<Report, Ended> {
        self.hear();
        let sent = wire::send(&mut self.stream, &mut order, until);
        match sent.and_then(|()| wire::receive(&mut self.stream, most, until)) {
            Ok(report) => Ok(report),
            Err(error) => Err(self.end(&error)),
        }
    }

    /// Whether the process lives.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.status(), Ok(None))
    }

    /// Ends a worker that answered what nobody had asked.
    pub(super) fn out_of_turn(&mut self, report: &Report) -> Ended {
        let name = format!("{report:?}");
        let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        self.end(&WireError::Nonsense(format!("`{name}` out of turn")))
    }

    /// Ends the process and finds out how it ended.
    pub(super) fn end(&mut self, error: &WireError) -> Ended {
        let mut how = match error {
            WireError::Silent => How::Silent,
            WireError::Nonsense(what) => How::Nonsense(shown(what, 300)),
            WireError::Closed | WireError::Io(_) => How::LivedOn,
        };
        let until = Instant::now().checked_add(DYING);
        while matches!(how, How::LivedOn) && until.is_some_and(|until| Instant::now() < until) {
            match self.status() {
                Ok(Some(status)) => {
                    how = match (status.signal(), status.code()) {
                        (Some(signal), _) => How::Signal(signal),
                        (None, code) => How::Exit(code.unwrap_or(-1)),
                    }
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => break,
            }
        }
        let words = self.kill();
        Ended { how, words, data_bytes: self.data_bytes }
    }

    fn status(&mut self) -> std::io::Result<Option<ExitStatus>> {
        self.child.as_mut().map_or(Ok(None), Child::try_wait)
    }

    /// Kills the process, if it lives, and returns its last words.
    fn kill(&mut self) -> String {
        let Some(mut child) = self.child.take() else { return String::new() };
        // Both fail only for a process that is gone.
        let _ = child.kill();
        let _ = child.wait();
        self.hear();
        String::from_utf8_lossy(&self.words).trim().to_string()
    }

    /// Takes in what it wrote to its standard error since, and keeps the end of it. It may write as much as a pipe holds between two orders.
    fn hear(&mut self) {
        let Some(stderr) = &mut self.stderr else { return };
        let mut chunk = [0_u8; 4096];
        // Whatever holds the other end may write on and on.
        for _ in 0..64 {
            let Ok(n @ 1..) = stderr.read(&mut chunk) else { break };
            self.words.extend_from_slice(chunk.get(..n).unwrap_or_default());
            let over = self.words.len().saturating_sub(WORDS);
            self.words.drain(..over);
        }
    }
}

impl Drop for Worker {
    /// Kills the process. A system takes milliseconds to take its memory back: a run that is over does not wait for that.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // It fails only for a process that is gone.
        let _ = child.kill();
        reaper::wait_for(child);
    }
}

/// How a worker came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
enum How {
    Silent,
    Nonsense(String),
    Signal(i32),
    Exit(i32),
    LivedOn,
}

/// The end of a worker that had not done its work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ended {
    how: How,
    words: String,
    data_bytes: u64,
}

impl Ended {
    /// Returns the kind of fault that it is of the pass.
    pub(super) fn kind(&self) -> FaultKind {
        match &self.how {
            How::Silent => FaultKind::Time,
            How::Signal(signal) if *signal == Signal::SIGXCPU as i32 => FaultKind::Time,
            _ if self.is_out_of_memory() => FaultKind::HostLimit,
            _ => FaultKind::Worker,
        }
    }

    /// Whether somebody killed it: the system, or a user of the machine.
    pub(super) fn is_killed(&self) -> bool {
        self.how == How::Signal(Signal::SIGKILL as i32)
    }

    fn is_out_of_memory(&self) -> bool {
        self.how == How::Signal(Signal::SIGABRT as i32) && self.words.contains("memory allocation of")
    }

    fn cause(&self) -> String {
        let signal = |number: &i32| Signal::try_from(*number).map_or("of no name", Signal::as_str);
        match &self.how {
            How::Silent => "it said nothing in its time and was killed".to_string(),
            How::Nonsense(what) => format!("it does not answer as a worker does: {what}"),
            How::Signal(_) if self.is_out_of_memory() => {
                format!("it needed more than the {} MiB of memory that it had", self.data_bytes >> 20)
            }
            How::Signal(n) if *n == Signal::SIGSYS as i32 => {
                "it made a system call that no worker makes (signal SIGSYS)".to_string()
            }
            How::Signal(n) if *n == Signal::SIGXCPU as i32 => {
                "its processor time was used up (signal SIGXCPU)".to_string()
            }
            How::Signal(n) if *n == Signal::SIGKILL as i32 => {
                "it was killed, by the system where memory ran out or by somebody (signal SIGKILL)".to_string()
            }
            How::Signal(n) => format!("it crashed (signal {})", signal(n)),
            How::Exit(code) => format!("it ended by itself with exit code {code}"),
            How::LivedOn => "it closed its end and was killed".to_string(),
        }
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "its worker process is gone: {}", self.cause())?;
        if !self.words.is_empty() {
            write!(f, "; its last words: {}", shown(&self.words, 500))?;
        }
        Ok(())
    }
}
