//! Waits for processes that were killed, beside what goes on.
//!
//! Promises: each is waited for, in one thread that lives as long as there is one; where no thread can be had, whoever killed it waits.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Killed {
    children: Vec<Child>,
    is_waiting: bool,
}

static KILLED: Mutex<Killed> = Mutex::new(Killed { children: Vec::new(), is_waiting: false });

fn killed() -> MutexGuard<'static, Killed> {
    // Nothing in here panics between two changes.
    KILLED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a process that was killed be waited for.
pub(super) fn wait_for(child: Child) {
    let mut killed = killed();
    killed.children.push(child);
    if std::mem::replace(&mut killed.is_waiting, true) {
        return;
    }
    drop(killed);
    if std::thread::Builder::new().name("airlock-reaper".into()).spawn(reap).is_err() {
        reap();
    }
}

/// Waits until none is left.
fn reap() {
    loop {
        let children = {
            let mut killed = killed();
            killed.is_waiting = !killed.children.is_empty();
            if !killed.is_waiting {
                return;
            }
            std::mem::take(&mut killed.children)
        };
        for mut child in children {
            // It fails only for a process that is gone.
            let _ = child.wait();
        }
    }
}
