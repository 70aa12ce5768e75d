//! One store a run, with every limit set: fuel, time, memory, tables, instances, handles, bytes a call.
//!
//! Promises: [`new_store`] is the only place where a store is made; a limit that is passed ends the run with a
//! [`Stop`] or a trap of wasmtime, which `classify` tells apart. Leaves to [`super::host`] what host calls keep.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, Store, UpdateDeadline};

use super::Engine;
use super::host::Host;
use crate::contract::Limits;

/// Why the host stopped a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    #[error("its time is used up")]
    Time { used_ms: u64, limit_ms: u64 },
    #[error("its memory would grow to {wanted} bytes")]
    Memory { wanted: u64, limit: u64 },
    #[error("its tables would grow to {wanted} elements")]
    Table { wanted: u64, limit: u64 },
    #[error("its calls would fill {wanted} bytes of host memory")]
    HostBytes { wanted: u64, limit: u64 },
    #[error("it would write a note under `{key}`, which {whose} reads as structure; a note needs a key of its own")]
    ReservedKey { key: &'static str, whose: &'static str },
    #[error("`{function}` may not be called before `run`")]
    NoGraph { function: &'static str },
}

/// What the store's memories and tables use: counts them all together, unlike wasmtime's own limiter.
#[derive(Debug, Default)]
pub(super) struct Guard {
    pub(super) memory_bytes: u64,
    memory_limit: u64,
    table_elements: u64,
    table_limit: u64,
    last_growth: u64,
    instances: usize,
    memories: usize,
    tables: usize,
}

impl Guard {
    pub(super) fn new(limits: &Limits) -> Self {
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Self {
            memory_limit: limits.memory_bytes,
            table_limit: limits.table_elements,
            instances: count(limits.instances),
            memories: count(limits.memories),
            tables: count(limits.tables),
            ..Self::default()
        }
    }
}

fn growth(current: usize, desired: usize) -> u64 {
    u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX)
}

impl ResourceLimiter for Guard {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|m| desired > m) {
            return Ok(false);
        }
        let growth = growth(current, desired);
        let wanted = self.memory_bytes.saturating_add(growth);
        if wanted > self.memory_limit {
            return Err(Stop::Memory { wanted, limit: self.memory_limit }.into());
        }
        self.memory_bytes = wanted;
        self.last_growth = growth;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory_bytes = self.memory_bytes.saturating_sub(std::mem::take(&mut self.last_growth));
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|m| desired > m) {
            return Ok(false);
        }
        let wanted = self.table_elements.saturating_add(growth(current, desired));
        if wanted > self.table_limit {
            return Err(Stop::Table { wanted, limit: self.table_limit }.into());
        }
        self.table_elements = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.memories
    }

    fn tables(&self) -> usize {
        self.tables
    }
}

/// Makes a store in which a guest may run until its host's deadline; a [`Clock`] must tick for that to be noticed.
pub(super) fn new_store(engine: &Engine, host: Host, limits: &Limits, fuel: u64) -> Store<Host> {
    let mut store = Store::new(&engine.wasmtime, host);
    store.limiter(|host| &mut host.guard);
    // This fails only for an engine that counts no fuel, and then its code would not have been compiled to need any.
    let _ = store.set_fuel(fuel);
    store.set_hostcall_fuel(usize::try_from(limits.call_bytes).unwrap_or(usize::MAX));
    store.set_max_component_handles(usize::try_from(limits.handles).unwrap_or(usize::MAX));
    store.set_epoch_deadline(1);
    // Epochs belong to the engine: another run's clock may have ticked.
    store.epoch_deadline_callback(|context| {
        context.data().deadline.check()?;
        Ok(UpdateDeadline::Continue(1))
    });
    store
}

/// When a run must have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    started: Instant,
    limit: Duration,
}

impl Deadline {
    /// Returns the deadline of a run that begins now.
    pub(super) fn from_now(limit: Duration) -> Self {
        Self { started: Instant::now(), limit }
    }

    /// Returns when the time is up, where the clock can say it.
    pub(super) fn at(&self) -> Option<Instant> {
        self.started.checked_add(self.limit)
    }

    /// Returns how long the run has been going on.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns an error once the time is up.
    pub(super) fn check(&self) -> Result<(), Stop> {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let used = self.elapsed();
        if used < self.limit {
            return Ok(());
        }
        Err(Stop::Time { used_ms: millis(used), limit_ms: millis(self.limit) })
    }
}

/// Makes guests look at their deadline when it is over. Ends, with its thread, when it is dropped.
pub(super) struct Clock {
    runs: Option<Sender<Deadline>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Clock {
    /// Starts a clock of an engine.
    pub(super) fn start(engine: &wasmtime::Engine) -> std::io::Result<Self> {
        const AGAIN: Duration = Duration::from_millis(10);
        let (runs, begun) = channel::<Deadline>();
        let engine = engine.clone();
        let thread = std::thread::Builder::new().name("airlock-clock".into()).spawn(move || {
            let Ok(mut deadline) = begun.recv() else { return };
            loop {
                let left = deadline.limit.saturating_sub(deadline.elapsed());
                let wait = if left.is_zero() { AGAIN } else { left };
                match begun.recv_timeout(wait) {
                    Ok(next) => deadline = next,
                    Err(RecvTimeoutError::Timeout) => engine.increment_epoch(),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
        Ok(Self { runs: Some(runs), thread: Some(thread) })
    }

    /// From now on the clock ticks for a run.
    pub(super) fn watch(&self, deadline: Deadline) {
        if let Some(runs) = &self.runs {
            // The thread goes on as long as this end is there.
            let _ = runs.send(deadline);
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.runs.take());
        if let Some(thread) = self.thread.take() {
            // The thread does nothing that can panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_and_tables_are_counted_together() {
        let limits = Limits { memory_bytes: 100, table_elements: 10, ..Limits::default() };
        let mut guard = Guard::new(&limits);
        assert!(guard.memory_growing(0, 60, None).unwrap());
        assert!(guard.memory_growing(0, 40, None).unwrap());
        let error = guard.memory_growing(40, 41, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Stop::Memory { wanted: 101, limit: 100 }));
        assert!(guard.table_growing(0, 10, None).unwrap());
        assert!(guard.table_growing(0, 1, None).is_err());
    }

    #[test]
    fn growth_beyond_a_memorys_own_maximum_is_the_guests_to_handle() {
        let mut guard = Guard::new(&Limits::default());
        assert!(!guard.memory_growing(0, 200, Some(100)).unwrap());
        assert_eq!(guard.memory_bytes, 0);
    }

    #[test]
    fn a_growth_that_failed_is_not_counted() {
        let mut guard = Guard::new(&Limits::default());
        assert!(guard.memory_growing(0, 100, None).unwrap());
        guard.memory_grow_failed(wasmtime::Error::msg("no memory")).unwrap();
        assert_eq!(guard.memory_bytes, 0);
    }
}
