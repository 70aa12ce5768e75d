//! `airlock serve`: passes for programs that run them often.
//!
//! One process listens on a local socket; a client sends jobs, one a line, and gets an answer to each, in order. A job is what `airlock run` takes,
//! an answer what it prints (`docs/serve.md`).
//!
//! - `client`: one connection: lines, jobs, answers;
//! - `gate`: how many jobs run at once, all in all and of one client;
//! - `lines`: lines and descriptors over a socket;
//! - `shared`: graphs in shared memory;
//! - `metrics`: what is counted.
//!
//! Promises: a job gives the bytes that the command line gives; one that was begun is answered, also when the process is told to end; a worker that
//! somebody kills costs a job time, not its answer; no client keeps others from being served. Leaves to `run` what a job is.

mod client;
mod gate;
mod lines;
mod metrics;
mod shared;

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context, bail};
use clap::Args;
use tracing::{info, warn};

use super::{Exit, Global};
use crate::contract::Limits;
use crate::pipeline::{Config, Place};
use crate::sandbox::worker::Workers;
use gate::Gate;
use metrics::Metrics;

/// Runs passes for programs that run them often: jobs come over a local socket.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  airlock serve --socket /run/user/1000/airlock.sock

A client sends {\"id\": 1, \"run\": [\"/m/model.pt2\", \"--pass\", \"/p/split.wasm\", \"-o\", \"/m/out.pt2\"]} as one line. docs/serve.md has all of it.
SIGTERM ends it when every job that was begun is answered.")]
pub struct ServeArgs {
    /// The socket: made, for this user alone, and removed at the end.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Configuration of jobs that name none, and what no job may go beyond; without it the nearest airlock.toml from the current folder upwards.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How many jobs run at once; by default twice as many as there are processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// How many connections there may be.
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
    /// How many of them may be one process's.
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..))]
    client_connections: u16,
    /// How many workers wait for jobs; by default as many as run at once.
    #[arg(long, value_name = "N")]
    pool: Option<u16>,
    /// Compile passes anew, and keep nothing of it (`airlock cache`).
    #[arg(long)]
    no_cache: bool,
}

/// How often a job is tried again whose worker somebody killed.
const AGAIN: u32 = 5;

/// What all clients share.
struct Server {
    /// The configuration's file, if there is one.
    config: Option<PathBuf>,
    /// What no job may go beyond.
    limits: Limits,
    operators: Vec<PathBuf>,
    workers: Workers,
    /// Passes over the operators of the configuration.
    place: Place,
    gate: Gate,
    metrics: Metrics,
    connections: Mutex<Connections>,
    most: usize,
    most_of_one: usize,
}

/// Who is connected, by number.
#[derive(Default)]
struct Connections {
    next: u64,
    open: BTreeMap<u64, (UnixStream, i32)>,
}

impl Server {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static IS_OVER: AtomicBool = AtomicBool::new(false);
static SOCKET: OnceLock<PathBuf> = OnceLock::new();

/// Lets a server end when it has answered what was begun. Returns whether there is one to be told so; a second time there is none.
pub fn drain() -> bool {
    let Some(socket) = SOCKET.get() else { return false };
    if IS_OVER.swap(true, Ordering::SeqCst) {
        return false;
    }
    // It waits for a connection: this is the last one.
    drop(UnixStream::connect(socket));
    true
}

/// Whether no further job is begun.
fn is_over() -> bool {
    IS_OVER.load(Ordering::SeqCst)
}

pub fn serve(args: &ServeArgs, _global: &Global) -> anyhow::Result<Exit> {
    tracing_subscriber::fmt().json().flatten_event(true).with_writer(std::io::stderr).with_target(false).init();
    let server = Arc::new(server(args)?);
    let listener = listen(&args.socket)?;
    // It is set once: there is one server in a process.
    let _ = SOCKET.set(args.socket.clone());
    info!(socket = %args.socket.display(), jobs = server.gate.most(), "listening");
    let mut threads = Vec::new();
    loop {
        let stream = listener.accept();
        if is_over() {
            break;
        }
        threads.retain(|thread: &std::thread::JoinHandle<()>| !thread.is_finished());
        match stream {
            Ok((stream, _)) => threads.extend(client::welcome(&server, stream)),
            Err(error) => {
                // Too many descriptors: some will be closed.
                warn!(%error, "no connection");
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
    }
    info!("draining");
    for (stream, _) in server.connections().open.values() {
        // One that is gone already needs not be told.
        let _ = stream.shutdown(Shutdown::Read);
    }
    for thread in threads {
        // A thread that panicked has lost its client only.
        let _ = thread.join();
    }
    drop(listener);
    let _ = std::fs::remove_file(&args.socket);
    let metrics = server.metrics.told(&server.workers);
    info!(metrics = %serde_json::to_string(&metrics)?, "ended");
    Ok(Exit::Done)
}

fn server(args: &ServeArgs) -> anyhow::Result<Server> {
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(processors.saturating_mul(2), usize::from);
    let operators = operator_texts(&config.file.ops)?;
    let limits = config.file.limits.clone();
    let mut workers = Workers::of_this_program().with_cache(super::cache::of_run(args.no_cache));
    workers.again = AGAIN;
    let workers = workers.with_pool(args.pool.map_or(jobs, usize::from), usize::MAX, &limits, &operators)?;
    Ok(Server {
        config: config.path.map(|path| std::path::absolute(&path).unwrap_or(path)),
        operators: config.file.ops,
        place: Place::Apart(workers.clone(), operators),
        limits,
        workers,
        gate: Gate::new(jobs),
        metrics: Metrics::default(),
        connections: Mutex::default(),
        most: usize::from(args.connections),
        most_of_one: usize::from(args.client_connections),
    })
}

fn operator_texts(files: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    Ok(crate::pipeline::load::Sources { ops: files, ..Default::default() }.operator_texts()?)
}

/// Listens on a socket that is this user's alone. One that nobody listens on any more is replaced.
fn listen(path: &Path) -> anyhow::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    let cannot = || format!("cannot listen on {}", path.display());
    if let Ok(found) = std::fs::symlink_metadata(path) {
        if !found.file_type().is_socket() {
            bail!("{}: it is there already, and no socket", path.display());
        }
        if UnixStream::connect(path).is_ok() {
            bail!("{}: somebody listens there already", path.display());
        }
        std::fs::remove_file(path).with_context(cannot)?;
    }
    // Between making it and closing it to others nobody is answered: connections are looked at one by one below.
    let listener = UnixListener::bind(path).with_context(cannot)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).with_context(cannot)?;
    Ok(listener)
}
