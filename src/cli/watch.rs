//! Waiting for somebody to save a file: what `airlock build --watch` builds again for.
//!
//! Files are looked at every now and then: that works on every file system, and a pass has few. Left out is what building
//! itself writes: components, `target`, `node_modules`, caches of Python, and what is hidden.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How often files are looked at.
const EVERY: Duration = Duration::from_millis(200);

/// Folders beyond this many are not looked into.
const MOST_FOLDERS: usize = 1_000;

/// Files, when each was changed last, and how long it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl Seen {
    /// Looks at a file, or at all files of a folder.
    pub fn of(path: &Path) -> Seen {
        let mut files = BTreeMap::new();
        let mut open = vec![path.to_owned()];
        let mut looked_into = 0;
        while let Some(path) = open.pop() {
            let Ok(about) = path.metadata() else { continue };
            if !about.is_dir() {
                files.insert(path, (about.modified().ok(), about.len()));
            } else if looked_into < MOST_FOLDERS {
                looked_into = looked_into.saturating_add(1);
                let entries = path.read_dir().into_iter().flatten().flatten();
                open.extend(entries.map(|entry| entry.path()).filter(|path| !is_made(path)));
            }
        }
        Seen(files)
    }

    /// Waits until something is different from this, and then for whoever writes to come to an end.
    pub fn wait(self, path: &Path) -> Seen {
        let mut last = self;
        let mut changed = false;
        loop {
            std::thread::sleep(EVERY);
            let now = Seen::of(path);
            match (changed, now == last) {
                (true, true) => return now,
                (false, true) => {}
                (_, false) => changed = true,
            }
            last = now;
        }
    }
}

/// Whether building makes it.
fn is_made(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = ["target", "node_modules", "__pycache__"].contains(&&*name);
    is_ours || name.starts_with('.') || path.extension().is_some_and(|ending| ending == "wasm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_author_writes_is_seen_and_what_building_makes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("pass.c", "a");
        let seen = Seen::of(dir.path());
        for made in ["pass.wasm", "target/x", "node_modules/y/z", "__pycache__/p.pyc", ".git/index"] {
            write(made, "made");
        }
        assert_eq!(Seen::of(dir.path()), seen);
        write("src/other.c", "b");
        let more = Seen::of(dir.path());
        assert_ne!(more, seen);
        write("src/other.c", "longer");
        assert_ne!(Seen::of(dir.path()), more);
        std::fs::remove_dir_all(dir.path().join("src")).unwrap();
        assert_eq!(Seen::of(dir.path()), seen);
    }
}
