//! What a server counts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::cli::Exit;
use crate::sandbox::worker::{Counts, Workers};

/// How many of the last jobs times are told of.
const KEPT: usize = 4096;

/// Counts jobs and clients.
#[derive(Default)]
pub(super) struct Metrics(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    jobs: Jobs,
    clients: Clients,
    /// Of the last jobs, in microseconds, from reading the line to having the answer.
    times: Vec<u64>,
    next: usize,
}

/// Jobs, by how they ended.
#[derive(Clone, Copy, Default, Debug, Serialize)]
pub(super) struct Jobs {
    /// That were begun.
    begun: u64,
    /// Exit 0.
    done: u64,
    /// Exit 1.
    refused: u64,
    /// Exit 2, and lines that are no job.
    bad: u64,
    /// Exit 3.
    faulted: u64,
    /// Whose answer could not be sent.
    unsent: u64,
}

#[derive(Clone, Copy, Default, Debug, Serialize)]
pub(super) struct Clients {
    /// That were let in.
    welcomed: u64,
    /// That were sent away.
    refused: u64,
}

/// All that is counted.
#[derive(Serialize)]
pub(super) struct Told {
    jobs: Jobs,
    clients: Clients,
    workers: Counts,
    /// Milliseconds of the last jobs: the middle, and what 99 of 100 stay below.
    p50_ms: f64,
    p99_ms: f64,
}

impl Metrics {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn welcomed(&self, is_let_in: bool) {
        let clients = &mut self.counted().clients;
        let count = if is_let_in { &mut clients.welcomed } else { &mut clients.refused };
        *count = count.saturating_add(1);
    }

    pub(super) fn begun(&self) {
        let jobs = &mut self.counted().jobs;
        jobs.begun = jobs.begun.saturating_add(1);
    }

    pub(super) fn answered(&self, exit: Exit, took: Duration, is_sent: bool) {
        let mut counted = self.counted();
        let jobs = &mut counted.jobs;
        let count = match exit {
            Exit::Done => &mut jobs.done,
            Exit::Refused => &mut jobs.refused,
            Exit::Bad => &mut jobs.bad,
            Exit::Faulted => &mut jobs.faulted,
        };
        *count = count.saturating_add(1);
        if !is_sent {
            jobs.unsent = jobs.unsent.saturating_add(1);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let at = counted.next;
        match counted.times.get_mut(at) {
            Some(time) => *time = micros,
            None => counted.times.push(micros),
        }
        counted.next = at.wrapping_add(1).checked_rem(KEPT).unwrap_or(0);
    }

    pub(super) fn told(&self, workers: &Workers) -> Told {
        let counted = self.counted();
        let (jobs, clients, mut times) = (counted.jobs, counted.clients, counted.times.clone());
        drop(counted);
        times.sort_unstable();
        let workers = workers.counts();
        Told { jobs, clients, workers, p50_ms: part(&times, 50), p99_ms: part(&times, 99) }
    }
}

/// What so many of a hundred stay below, in milliseconds.
#[allow(clippy::cast_precision_loss)]
fn part(sorted: &[u64], of_hundred: usize) -> f64 {
    let at = sorted.len().saturating_mul(of_hundred).checked_div(100).unwrap_or(0);
    sorted.get(at.min(sorted.len().saturating_sub(1))).map_or(0.0, |micros| *micros as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_last_jobs_are_told() {
        let metrics = Metrics::default();
        for i in 0..10_000_u64 {
            metrics.begun();
            metrics.answered(Exit::Done, Duration::from_micros(i), true);
        }
        let counted = metrics.counted();
        assert_eq!((counted.jobs.begun, counted.jobs.done, counted.times.len()), (10_000, 10_000, KEPT));
        assert!(counted.times.iter().all(|t| *t >= 10_000 - KEPT as u64));
        assert!((part(&[1000, 2000, 3000], 50) - 2.0).abs() < 1e-9);
        assert_eq!(part(&[], 50), 0.0);
    }
}
