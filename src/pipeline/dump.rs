//! Graphs on disk: before and after each pass.
//!
//! Names follow TorchAir's debug dumps: `NNN_graph.fx`, `NNN_graph_after_PASS.fx`, in the order of the run.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::formats::text;
use crate::graph::Graph;

/// A folder that a run's graphs go to. It is the only place that the run may write to through this value.
#[derive(Debug)]
pub struct Dump {
    dir: Dir,
    path: PathBuf,
    count: u32,
}

impl Dump {
    /// Opens the folder, making it where it is not there.
    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { dir, path: path.to_path_buf(), count: 0 })
    }

    /// Writes a graph under the next number and returns the file's path. `what` is what a file name allows of it.
    pub fn graph(&mut self, graph: &Graph, what: &str) -> io::Result<PathBuf> {
        self.text(what, "fx", &text::write(graph))
    }

    /// Writes a text under the next number.
    pub fn text(&mut self, what: &str, ending: &str, text: &str) -> io::Result<PathBuf> {
        let clean: String = what.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let name = format!("{:03}_{clean}.{ending}", self.count);
        self.count = self.count.saturating_add(1);
        self.dir.write(&name, text)?;
        Ok(self.path.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_pass_chose_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut dump = Dump::open(&folder.path().join("dump")).unwrap();
        let path = dump.text("../../evil", "fx", "x").unwrap();
        assert_eq!(path, folder.path().join("dump/000_______evil.fx"));
        assert!(path.is_file());
    }
}
