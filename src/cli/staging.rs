//! The output files of one command: all of them appear, or none.
//!
//! Each is written under its own name in a hidden folder beside where it belongs, and renamed when all are whole. Promises: an
//! error leaves no file and no folder behind; files that were there before stay as they are.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};

use crate::formats::{Unfinished, write_whole};

/// Files that wait to be renamed.
#[derive(Default)]
pub struct Staging {
    files: Vec<Staged>,
    places: BTreeMap<PathBuf, PathBuf>,
    in_place: Vec<PathBuf>,
}

struct Staged {
    folder: PathBuf,
    from: PathBuf,
    to: PathBuf,
    _unfinished: Unfinished,
}

/// Refuses outputs that could not be written, before anything runs.
pub fn check(outputs: &[&Path]) -> anyhow::Result<()> {
    for path in outputs {
        let folder = folder_of(path);
        if !folder.is_dir() {
            bail!("cannot write {}: there is no folder {}", path.display(), folder.display());
        }
        if path.is_dir() {
            bail!("cannot write {}: it is a folder", path.display());
        }
    }
    Ok(())
}

/// Refuses outputs that are one file, or a file that is read, in whatever words.
pub fn check_apart(outputs: &[&Path], inputs: &[&Path]) -> anyhow::Result<()> {
    for (index, path) in outputs.iter().enumerate() {
        if is_stream(path) {
            continue;
        }
        let same = |other: &&&Path| !is_stream(other) && identity(other) == identity(path);
        if outputs.iter().take(index).any(|other| same(&other)) {
            bail!("two outputs cannot both be {}", path.display());
        }
        if let Some(input) = inputs.iter().find(same) {
            bail!("{} cannot be written: it is read as {}", path.display(), input.display());
        }
    }
    Ok(())
}

/// Whether this is no file that is replaced: standard output or input, a device, a pipe.
fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || is_device(path)
}

fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The one name of a file, whether it is there or not.
fn identity(path: &Path) -> PathBuf {
    let beside = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_path_buf())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Staging {
    /// Outputs of these names are written to these places as they stand: to what somebody has open who gives it away when all are whole.
    pub fn with_places(places: BTreeMap<PathBuf, PathBuf>) -> Self {
        Self { files: Vec::new(), places, in_place: Vec::new() }
    }

    /// Has `write` write a file to the path that it is given; the file is to appear at `to`.
    pub fn add(&mut self, to: &Path, write: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
        if let Some(place) = self.places.get(to) {
            self.in_place.push(to.to_path_buf());
            return write(place);
        }
        let cannot = || format!("cannot write {}", to.display());
        let name = to.file_name().with_context(cannot)?;
        // Jobs of one process may write to one folder at once.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let hidden = format!(".airlock-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // What is to be written into a device or a pipe waits elsewhere.
        let place = if is_device(to) { std::env::temp_dir() } else { folder_of(to).to_path_buf() };
        let folder = place.join(hidden);
        let unfinished = Unfinished::begin(&folder);
        std::fs::create_dir(&folder).with_context(cannot)?;
        let from = folder.join(name);
        self.files.push(Staged { folder, from: from.clone(), to: to.to_path_buf(), _unfinished: unfinished });
        write(&from)
    }

    /// Renames all files to where they belong. Returns which were written in place.
    pub fn commit(mut self) -> anyhow::Result<Vec<PathBuf>> {
        for file in &self.files {
            let cannot = || format!("cannot write {}", file.to.display());
            if is_device(&file.to) {
                let content = std::fs::read(&file.from).with_context(cannot)?;
                write_whole(&file.to, |out| out.write_all(&content)).with_context(cannot)?;
                continue;
            }
            if let Ok(old) = std::fs::metadata(&file.to) {
                std::fs::set_permissions(&file.from, old.permissions()).with_context(cannot)?;
            }
            std::fs::rename(&file.from, &file.to).with_context(cannot)?;
        }
        Ok(std::mem::take(&mut self.in_place))
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
    fn several_at_once_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let (mut first, mut second) = (Staging::default(), Staging::default());
        first.add(&a, |path| Ok(std::fs::write(path, "a")?)).unwrap();
        second.add(&b, |path| Ok(std::fs::write(path, "b")?)).unwrap();
        first.commit().unwrap();
        second.commit().unwrap();
        assert_eq!([&a, &b].map(|p| std::fs::read_to_string(p).unwrap()), ["a", "b"]);
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
    fn one_file_in_other_words_is_refused_as_a_second_output_and_as_an_input() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let other_words = inner.join("..").join("a");
        let error = |outputs: &[&Path], inputs: &[&Path]| check_apart(outputs, inputs).unwrap_err().to_string();
        assert!(error(&[&a, &a], &[]).contains("two outputs"));
        assert!(error(&[&a, &other_words], &[]).contains("two outputs"));
        std::fs::write(&a, "x").unwrap();
        assert!(error(&[&b, &other_words], &[&a]).contains("it is read as"));
        assert!(check_apart(&[&a, &b], &[&inner]).is_ok());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&a, inner.join("link")).unwrap();
            assert!(error(&[&a, &inner.join("link")], &[]).contains("two outputs"));
            let null = Path::new("/dev/null");
            assert!(check_apart(&[null, null, Path::new("-")], &[null, Path::new("-")]).is_ok());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_and_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (null, file) = (folder.path().join("null"), folder.path().join("file"));
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        let mut stage = Staging::default();
        for path in [&null, &file] {
            stage.add(path, |path| Ok(std::fs::write(path, "new")?)).unwrap();
        }
        stage.commit().unwrap();
        assert!(std::fs::symlink_metadata(&null).unwrap().is_symlink() && is_device(&null));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn outputs_without_a_folder_or_of_one_name_are_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (a, lost) = (folder.path().join("a"), folder.path().join("no/b"));
        assert!(check(&[&a, &lost]).unwrap_err().to_string().contains("there is no folder"));
        assert!(check(&[folder.path()]).unwrap_err().to_string().contains("it is a folder"));
        assert!(check(&[&a]).is_ok());
    }
}
