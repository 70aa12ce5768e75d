//! Workers that have begun before there is anything for them to do: starting a process, its registry and its walls takes longer than a small run.
//!
//! Promises: each serves one pass, as any worker does; the pool's own thread starts them, with which they would die, so that they live as long
//! as the pool; one that died while it waited is not given out. Whoever finds the pool empty starts a worker of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::process::{Worker, Workers};
use super::wire::Begin;

/// How long is waited where no worker could be started.
const AGAIN: Duration = Duration::from_secs(1);

/// Workers that wait, all begun alike.
pub(super) struct Pool {
    shared: Arc<Shared>,
    starter: Option<JoinHandle<()>>,
}

struct Shared {
    begin: Begin,
    size: usize,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    workers: VecDeque<Worker>,
    is_over: bool,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // What a thread that panicked left is a queue still.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// Starts that many workers, and `more` in place of those that are taken out.
    pub(super) fn start(workers: Workers, begin: Begin, size: usize, more: usize) -> std::io::Result<Self> {
        let begin = Begin { locates: workers.locates, ..begin };
        let shared = Arc::new(Shared { begin, size, waiting: Mutex::default(), changed: Condvar::new() });
        let (own, all) = (shared.clone(), size.saturating_add(more));
        let starter =
            std::thread::Builder::new().name("airlock-pool".into()).spawn(move || fill(&workers, &own, all))?;
        Ok(Self { shared, starter: Some(starter) })
    }

    /// Takes a worker out in which such a pass may run: one that has begun with as much room or more.
    pub(super) fn take(&self, wanted: &Begin) -> Option<Worker> {
        let begin = &self.shared.begin;
        let serves = begin.role == wanted.role
            && begin.limits.stack_bytes == wanted.limits.stack_bytes
            && begin.limits.memories >= wanted.limits.memories
            && begin.operators == wanted.operators
            && begin.locates == wanted.locates
            && begin.cpu_seconds >= wanted.cpu_seconds
            && begin.data_bytes >= wanted.data_bytes;
        if !serves {
            return None;
        }
        let mut waiting = self.shared.waiting();
        let mut found = None;
        while let Some(mut worker) = waiting.workers.pop_front() {
            if worker.is_alive() {
                found = Some(worker);
                break;
            }
        }
        drop(waiting);
        self.shared.changed.notify_all();
        found
    }
}

/// Keeps a pool full until it is over or so many were started.
fn fill(workers: &Workers, shared: &Shared, all: usize) {
    let mut started = 0_usize;
    loop {
        let mut waiting = shared.waiting();
        while !waiting.is_over && (started >= all || waiting.workers.len() >= shared.size) {
            waiting = shared.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.is_over {
            return;
        }
        drop(waiting);
        match Worker::start(workers, shared.begin.clone(), None) {
            Ok(worker) => {
                started = started.saturating_add(1);
                shared.waiting().workers.push_back(worker);
            }
            // Whoever needs one tries it too, and says why there is none.
            Err(_) => {
                let waiting = shared.waiting();
                let over = |w: &mut Waiting| !w.is_over;
                drop(shared.changed.wait_timeout_while(waiting, AGAIN, over));
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut waiting = self.shared.waiting();
        waiting.is_over = true;
        let left = std::mem::take(&mut waiting.workers);
        drop(waiting);
        drop(left);
        self.shared.changed.notify_all();
        if let Some(starter) = self.starter.take() {
            // The thread does nothing that can panic.
            let _ = starter.join();
        }
        // One that was being started meanwhile.
        self.shared.waiting().workers.clear();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool of {}", self.shared.size)
    }
}
