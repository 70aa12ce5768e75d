//! The output files of one command: all of them appear, or none.
//!
//! Each is written under its own name in a hidden folder beside where it belongs, and renamed when all are whole. Promises: an
//! error leaves no file and no folder behind; files that were there before stay as they are.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::formats::Unfinished;

/// Files that wait to be renamed.
#[derive(Default)]
pub struct Staging {
    files: Vec<Staged>,
}

struct Staged {
    folder: PathBuf,
    from: PathBuf,
    to: PathBuf,
    _unfinished: Unfinished,
}

/// Refuses outputs that could not be written, before anything runs.
pub fn check(outputs: &[&Path]) -> anyhow::Result<()> {
    for (index, path) in outputs.iter().enumerate() {
        let folder = folder_of(path);
        if !folder.is_dir() {
            bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
        }
        if path.is_dir() {
            bail!("cannot write {}: it is a folder", path.display());
        }
        if outputs.iter().take(index).any(|other| other == path) {
            bail!("two outputs cannot both be {}", path.display());
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Staging {
    /// Has `write` write a file to the path that it is given; the file is to appear at `to`.
    pub fn add(&mut self, to: &Path, write: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", to.display());
        let name = to.file_name().with_context(cannot)?;
        let hidden = format!(".airlock-{}-{}", std::process::id(), self.files.len());
        let folder = folder_of(to).join(hidden);
        let unfinished = Unfinished::begin(&folder);
        std::fs::create_dir(&folder).with_context(cannot)?;
        let from = folder.join(name);
        self.files.push(Staged { folder, from: from.clone(), to: to.to_path_buf(), _unfinished: unfinished });
        write(&from)
    }

    /// Renames all files to where they belong.
    pub fn commit(self) -> anyhow::Result<()> {
        for file in &self.files {
            let cannot = || format!("cannot write {}", file.to.display());
            if let Ok(old) = std::fs::metadata(&file.to) {
                std::fs::set_permissions(&file.from, old.permissions()).with_context(cannot)?;
            }
            std::fs::rename(&file.from, &file.to).with_context(cannot)?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for file in &self.files {
            // What cannot be removed adds nothing to the error that is told.
            let _ = std::fs::remove_file(&file.from);
            let _ = std::fs::remove_dir(&file.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_the_second_file_fails_the_first_does_not_appear_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Staging::default();
        stage.add(&folder.path().join("a"), |path| Ok(std::fs::write(path, "a")?)).unwrap();
        assert!(stage.add(&folder.path().join("b"), |_| bail!("full")).is_err());
        drop(stage);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_appear_together_and_replace_older_ones() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&a, "old").unwrap();
        let mut stage = Staging::default();
        for path in [&a, &b] {
            stage.add(path, |path| Ok(std::fs::write(path, "new")?)).unwrap();
        }
        assert_eq!((std::fs::read_to_string(&a).unwrap().as_str(), b.exists()), ("old", false));
        stage.commit().unwrap();
        assert_eq!([&a, &b].map(|p| std::fs::read_to_string(p).unwrap()), ["new", "new"]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn outputs_without_a_folder_or_of_one_name_are_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (a, lost) = (folder.path().join("a"), folder.path().join("no/b"));
        assert!(check(&[&a, &lost]).unwrap_err().to_string().contains("there is no folder"));
        assert!(check(&[&a, &a]).unwrap_err().to_string().contains("two outputs"));
        assert!(check(&[folder.path()]).unwrap_err().to_string().contains("it is a folder"));
        assert!(check(&[&a]).is_ok());
    }
}
