//! How many jobs run at once.
//!
//! Promises: never more than so many; one client never has all places, so that another's job waits for one job at most.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Lets so many jobs run at once.
pub(super) struct Gate {
    most: usize,
    running: Mutex<Running>,
    freed: Condvar,
}

#[derive(Default)]
struct Running {
    all: usize,
    by_client: BTreeMap<i32, usize>,
}

/// A place that a job has.
pub(super) struct Place<'g> {
    gate: &'g Gate,
    client: i32,
}

impl Gate {
    pub(super) fn new(most: usize) -> Self {
        Self { most, running: Mutex::default(), freed: Condvar::new() }
    }

    /// Returns how many jobs run at once.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        // Numbers stay right where a thread panicked.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a job of that client may run.
    pub(super) fn enter(&self, client: i32) -> Place<'_> {
        let most_of_one = self.most.saturating_sub(1).max(1);
        let mut running = self.running();
        loop {
            let own = running.by_client.get(&client).copied().unwrap_or(0);
            if running.all < self.most && own < most_of_one {
                break;
            }
            running = self.freed.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
        running.all = running.all.saturating_add(1);
        let own = running.by_client.entry(client).or_default();
        *own = own.saturating_add(1);
        Place { gate: self, client }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut running = self.gate.running();
        running.all = running.all.saturating_sub(1);
        if let Some(own) = running.by_client.get_mut(&self.client) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                running.by_client.remove(&self.client);
            }
        }
        drop(running);
        self.gate.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_client_has_all_places() {
        let gate = Gate::new(3);
        let (first, second) = (gate.enter(7), gate.enter(7));
        let entered = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _third = gate.enter(7);
                entered.fetch_add(1, Ordering::SeqCst);
            });
            // Another client does not wait for it.
            drop(gate.enter(8));
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(entered.load(Ordering::SeqCst), 0);
            drop(first);
        });
        assert_eq!(entered.load(Ordering::SeqCst), 1);
        drop(second);
        assert!(gate.running().by_client.is_empty() && gate.running().all == 0);
    }

    #[test]
    fn never_more_than_so_many_run() {
        let (gate, now, most) = (Gate::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for client in 0..8 {
                let (gate, now, most) = (&gate, &now, &most);
                scope.spawn(move || {
                    let _place = gate.enter(client);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }
}
