//! Files and folders that are being written: what must go when the process is interrupted.
//!
//! The one piece of process-wide state: a signal comes to the process, not to a value. Promises: what is begun through
//! [`Unfinished`] is removed by [`remove_all`] as long as the value lives. Leaves the signal to the command line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file or folder that is not whole yet.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Notes that `path` is being written.
    pub fn begin(path: &Path) -> Self {
        PATHS.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        PATHS.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Removes everything that is being written. For a process that is about to end.
pub fn remove_all() {
    for path in PATHS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_begun_is_removed_and_what_is_finished_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (begun, finished) = (folder.path().join("begun"), folder.path().join("finished"));
        std::fs::write(&begun, "x").unwrap();
        std::fs::write(&finished, "x").unwrap();
        let _begun = Unfinished::begin(&begun);
        drop(Unfinished::begin(&finished));
        // Tests of one process share the set: what others are writing is not touched here.
        PATHS.lock().unwrap().retain(|p| p.starts_with(folder.path()));
        remove_all();
        assert!(!begun.exists() && finished.exists());
    }
}
