//! The output files of one command: all of them appear, or none.
//!
//! Each is written under its own name in a hidden folder beside where it belongs, and renamed when all are whole. Promises: an
//! error leaves no file and no folder behind; files that were there before stay as they are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::formats::{Unfinished, pt2, text, write_whole};
use crate::graph::Model;
use crate::ops::Registry;

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Its folder is not there.
    #[error("cannot write {}: there is no folder {}", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// A folder stands in its place.
    #[error("cannot write {}: it is a folder", path.display())]
    IsFolder {
        /// The file.
        path: PathBuf,
    },
    /// One file for two outputs.
    #[error("two outputs cannot both be {}", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// One file for an output and an input.
    #[error("{} cannot be written: it is read as {}", path.display(), input.display())]
    IsRead {
        /// The output.
        path: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// An ending that says nothing.
    #[error("cannot tell what to write to {}: its ending must be .pt2 or .fx", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// The operating system says no.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// A graph that no text holds.
    #[error("cannot write {}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Why.
        source: text::Unwritable,
    },
    /// A model that no archive holds.
    #[error("{0}")]
    Pt2(#[from] pt2::Pt2Error),
}

/// Says which file the operating system does not let be written.
pub fn cannot_write(path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_path_buf();
    |source| OutputError::Io { path, source }
}

/// Refuses to write a model where the ending does not say how.
pub fn check_ending(path: &Path) -> Result<(), OutputError> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("pt2" | "fx") => Ok(()),
        _ => Err(OutputError::Ending { path: path.into() }),
    }
}

/// Writes to `path` the model that will be called `file`, whose ending decides.
pub fn write_model(model: &Model, registry: &Registry, path: &Path, file: &Path) -> Result<(), OutputError> {
    check_ending(file)?;
    if file.extension().is_some_and(|e| e == "pt2") {
        return Ok(pt2::write_as(model, path, file, registry)?);
    }
    let text = text::write_readable(&model.graph).map_err(|source| OutputError::Text { path: file.into(), source })?;
    write_whole(path, |out| out.write_all(text.as_bytes())).map_err(cannot_write(file))
}

/// The files beside a GE graph: options of the device, and what the host does around it.
pub fn beside(path: &Path) -> [PathBuf; 2] {
    ["options", "host"].map(|what| {
        let mut name = OsString::from(path);
        name.push(format!(".{what}.json"));
        name.into()
    })
}

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
pub fn check(outputs: &[&Path]) -> Result<(), OutputError> {
    for path in outputs {
        let folder = folder_of(path);
        if !folder.is_dir() {
            return Err(OutputError::NoFolder { path: path.into(), folder: folder.into() });
        }
        if path.is_dir() {
            return Err(OutputError::IsFolder { path: path.into() });
        }
    }
    Ok(())
}

/// Refuses outputs that are one file, or a file that is read, in whatever words.
pub fn check_apart(outputs: &[&Path], inputs: &[&Path]) -> Result<(), OutputError> {
    for (index, path) in outputs.iter().enumerate() {
        if is_stream(path) {
            continue;
        }
        let same = |other: &&&Path| !is_stream(other) && identity(other) == identity(path);
        if outputs.iter().take(index).any(|other| same(&other)) {
            return Err(OutputError::Twice { path: path.into() });
        }
        if let Some(input) = inputs.iter().find(same) {
            return Err(OutputError::IsRead { path: path.into(), input: input.into() });
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
    pub fn add<E: From<OutputError>>(
        &mut self,
        to: &Path,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        write(&self.place(to)?)
    }

    /// Has these bytes appear at `to`.
    pub fn add_bytes(&mut self, to: &Path, bytes: &[u8]) -> Result<(), OutputError> {
        self.add(to, |place| std::fs::write(place, bytes).map_err(cannot_write(to)))
    }

    /// Makes a place for what is to appear at `to`.
    fn place(&mut self, to: &Path) -> Result<PathBuf, OutputError> {
        if let Some(place) = self.places.get(to) {
            self.in_place.push(to.to_path_buf());
            return Ok(place.clone());
        }
        let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "is no file name");
        let name = to.file_name().ok_or_else(no_name).map_err(cannot_write(to))?;
        // Jobs of one process may write to one folder at once.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let hidden = format!(".airlock-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // What is to be written into a device or a pipe waits elsewhere.
        let place = if is_device(to) { std::env::temp_dir() } else { folder_of(to).to_path_buf() };
        let folder = place.join(hidden);
        let unfinished = Unfinished::begin(&folder);
        std::fs::create_dir(&folder).map_err(cannot_write(to))?;
        let from = folder.join(name);
        self.files.push(Staged { folder, from: from.clone(), to: to.to_path_buf(), _unfinished: unfinished });
        Ok(from)
    }

    /// Renames all files to where they belong. Returns which were written in place.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, OutputError> {
        self.files.iter().try_for_each(|file| file.appear().map_err(cannot_write(&file.to)))?;
        Ok(std::mem::take(&mut self.in_place))
    }
}

impl Staged {
    fn appear(&self) -> io::Result<()> {
        if is_device(&self.to) {
            let content = std::fs::read(&self.from)?;
            return write_whole(&self.to, |out| out.write_all(&content));
        }
        if let Ok(old) = std::fs::metadata(&self.to) {
            std::fs::set_permissions(&self.from, old.permissions())?;
        }
        std::fs::rename(&self.from, &self.to)
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
        stage.add_bytes(&folder.path().join("a"), b"a").unwrap();
        let second = folder.path().join("b");
        let full = |_: &Path| Err(cannot_write(&second)(io::Error::other("full")));
        assert!(stage.add(&second, full).is_err());
        drop(stage);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn several_at_once_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        let (mut first, mut second) = (Staging::default(), Staging::default());
        first.add_bytes(&a, b"a").unwrap();
        second.add_bytes(&b, b"b").unwrap();
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
            stage.add_bytes(path, b"new").unwrap();
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
            stage.add_bytes(path, b"new").unwrap();
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
