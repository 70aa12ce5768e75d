//! Maps files into memory, and writes files that appear whole or not at all.
//!
//! The only `unsafe` of the formats is [`map`]. Its argument: a mapping is sound as long as nobody changes the file's bytes while
//! it is borrowed, which no program can promise of a file system. What we promise: the mapping is read-only, Airlock itself never writes
//! to a file in place (see [`write_whole`]: a new file is renamed over the old one, whose bytes live on under the mapping), and no
//! text that is borrowed from a mapping is trusted to be UTF-8 without a check. Somebody who truncates a model while it is being
//! read ends the process by a signal; that is what every program that maps files lives with.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Unfinished;
use crate::graph::Bytes;

/// Returns the bytes of a file without reading them yet.
pub fn map(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if !about.is_file() || about.len() == 0 {
        // Pipes and devices cannot be mapped, nor can nothing.
        return std::fs::read(path).map(Bytes::new);
    }
    map_file(&file)
}

/// Returns the bytes of an open file, no device and no pipe, without reading them yet.
pub fn map_file(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new(Vec::new()));
    }
    #[allow(unsafe_code)]
    // SAFETY: read-only, private to this process; see the argument at the top of this file.
    let map = unsafe { memmap2::MmapOptions::new().map(file)? };
    Ok(Bytes::new(map))
}

/// Writes a file that appears whole or not at all: `fill` writes beside it, and the result is renamed. Returns what `fill` returns.
///
/// Nothing is left behind when `fill` fails; an existing file is replaced only by a whole one. A device, a pipe and what
/// this process has open (`/proc/self/fd/N`) are written as they stand.
pub fn write_whole<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<T>) -> io::Result<T> {
    let is_open = path.starts_with("/proc/self/fd");
    if is_open || std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        let value = fill(&mut out)?;
        out.flush()?;
        return Ok(value);
    }
    let (beside, file) = create_beside(path)?;
    let _unfinished = Unfinished::begin(&beside);
    let written = (|| {
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let value = fill(&mut out)?;
        out.flush()?;
        if let Ok(old) = std::fs::metadata(path) {
            std::fs::set_permissions(&beside, old.permissions())?;
        }
        std::fs::rename(&beside, path)?;
        Ok(value)
    })();
    if written.is_err() {
        // The first error is the one to report; a file that cannot be removed adds nothing to it.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Creates a file of a new name in the folder of `path`.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "is no file name"))?;
    let mut last = io::Error::new(io::ErrorKind::AlreadyExists, "too many unfinished files beside it");
    for attempt in 0..64_u32 {
        let mut beside = std::ffi::OsString::from(".");
        beside.push(name);
        beside.push(format!(".{}.{attempt}.part", std::process::id()));
        let beside = path.with_file_name(beside);
        match File::options().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn a_device_is_written_and_stays_a_device() {
        let link = tempfile::tempdir().unwrap();
        let path = link.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        write_whole(&path, |out| out.write_all(b"gone")).unwrap();
        assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink());
        assert!(!std::fs::metadata(&path).unwrap().is_file());
    }

    use super::*;

    #[test]
    fn a_file_that_could_not_be_written_whole_leaves_the_old_one_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        write_whole(&path, |f| f.write_all(b"first")).unwrap();
        let failed = write_whole(&path, |f| {
            f.write_all(b"sec")?;
            Err::<(), _>(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn mapped_bytes_outlive_the_file_that_replaces_theirs() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        write_whole(&path, |f| f.write_all(b"first")).unwrap();
        let bytes = map(&path).unwrap();
        write_whole(&path, |f| f.write_all(b"second")).unwrap();
        assert_eq!(bytes.as_slice(), b"first");
        assert_eq!(map(&path).unwrap().as_slice(), b"second");
    }

    #[test]
    fn an_empty_file_and_a_folder_are_no_trouble() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("empty"), b"").unwrap();
        assert!(map(&dir.path().join("empty")).unwrap().is_empty());
        assert!(map(dir.path()).is_err());
    }
}
