//! The zip around a model: entries by name, mapped where they are stored, inflated within a bound where they are compressed.
//!
//! Promises: a stored entry is a cut of the file's bytes, never a copy; all compressed entries together inflate to at most
//! [`RATIO`] times the file (and [`FLOOR`]); names are those below the one root folder, where
//! the container has one; an archive inside an archive shares its bound. Leaves to `read` what the entries mean. As
//! PyTorch's reader, it does not check the checksums of stored entries.

use std::io::{Cursor, Read};

use indexmap::IndexMap;
use zip::read::{ArchiveOffset, Config};
use zip::{CompressionMethod, ZipArchive};

use super::container::{Container, FLAT, FOLDER};
use super::error::Problem;
use crate::graph::Bytes;

/// How many times larger than the file its entries may become, all together.
pub(super) const RATIO: u64 = 64;
/// What entries may become in any case.
const FLOOR: u64 = 1 << 20;

/// An opened archive.
pub(super) struct Archive {
    bytes: Bytes,
    zip: ZipArchive<Cursor<Bytes>>,
    /// Position in the central directory, by name below the root folder, in the order of the directory.
    places: IndexMap<String, usize>,
    container: &'static Container,
    /// What may still be inflated.
    left: u64,
    limit: u64,
}

impl Archive {
    /// Reads the directory of the archive that `bytes` are.
    pub(super) fn open(bytes: Bytes) -> Result<Self, Problem> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let limit = size.saturating_mul(RATIO).max(FLOOR);
        Self::within(bytes, limit, limit)
    }

    /// Reads the directory of an archive that may inflate `left` bytes of `limit`.
    fn within(bytes: Bytes, left: u64, limit: u64) -> Result<Self, Problem> {
        // Detecting where the archive begins goes wrong where an entry's header lies as far before the end as the directory is long.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip = ZipArchive::with_config(config, Cursor::new(bytes.clone()))
            .map_err(|e| Problem::NotZip { reason: e.to_string() })?;
        if zip.offset() != 0 || !ends_with_directory(bytes.as_slice(), zip.comment().len()) {
            // A part of an archive may hold another one whole: the pickled sample inputs are a zip.
            return Err(Problem::NotZip { reason: "its directory does not stand at its end".to_string() });
        }
        let names: Vec<String> = zip.file_names_raw().map(|n| String::from_utf8_lossy(n).into_owned()).collect();
        let flat = names.iter().any(|name| name == FLAT.program);
        let container = if flat { &FLAT } else { &FOLDER };
        let root = if flat { None } else { Some(one_root(&names)?) };
        let below = |name: &str| match root {
            Some(root) => name.strip_prefix(root)?.strip_prefix('/').map(str::to_string),
            None => Some(name.to_string()),
        };
        let mut places = IndexMap::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            if let Some(name) = below(name).filter(|n| !n.is_empty()) {
                places.insert(name, place);
            }
        }
        Ok(Self { bytes, zip, places, container, left, limit })
    }

    /// Returns how the archive is laid out.
    pub(super) fn container(&self) -> &'static Container {
        self.container
    }

    /// Does something with an entry that is an archive itself. What that inflates counts here.
    pub(super) fn inside<T>(
        &mut self,
        entry: &str,
        act: impl FnOnce(&mut Archive) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let wrap = |problem| Problem::Inside { entry: entry.to_string(), problem: Box::new(problem) };
        let bytes = self.entry(entry)?;
        let mut inner = Self::within(bytes, self.left, self.limit).map_err(wrap)?;
        let done = act(&mut inner).map_err(wrap);
        self.left = inner.left;
        done
    }

    /// Returns the names of all entries, in the order of the directory.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// Returns whether there is an entry of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Returns the content of an entry that must be there.
    pub(super) fn entry(&mut self, name: &str) -> Result<Bytes, Problem> {
        let place = *self.places.get(name).ok_or_else(|| Problem::MissingEntry { entry: name.to_string() })?;
        let failed = |reason: String| Problem::Entry { entry: name.to_string(), reason };
        let raw = self.zip.by_index_raw(place).map_err(|e| failed(e.to_string()))?;
        if raw.encrypted() {
            return Err(failed("it is encrypted".to_string()));
        }
        let (method, size, packed) = (raw.compression(), raw.size(), raw.compressed_size());
        let start = raw.data_start().ok_or_else(|| failed("its local header is not readable".to_string()))?;
        drop(raw);
        if method == CompressionMethod::Stored {
            if size != packed {
                return Err(failed(format!("stored in {packed} bytes, but said to have {size}")));
            }
            let cut = usize::try_from(start).ok().zip(usize::try_from(size).ok());
            return cut
                .and_then(|(start, size)| self.bytes.cut(start, size))
                .ok_or_else(|| failed(format!("its {size} bytes from {start} do not lie inside the file")));
        }
        self.inflate(name, place)
    }

    fn inflate(&mut self, name: &str, place: usize) -> Result<Bytes, Problem> {
        let failed = |reason: String| Problem::Entry { entry: name.to_string(), reason };
        let reader = self.zip.by_index(place).map_err(|e| failed(e.to_string()))?;
        let mut content = Vec::new();
        reader.take(self.left.saturating_add(1)).read_to_end(&mut content).map_err(|e| failed(e.to_string()))?;
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        match self.left.checked_sub(size) {
            Some(left) => self.left = left,
            None => return Err(Problem::Inflates { entry: name.to_string(), limit: self.limit, ratio: RATIO }),
        }
        content.shrink_to_fit();
        Ok(Bytes::new(content))
    }
}

/// Returns whether the end record and its comment are the end of the file.
fn ends_with_directory(bytes: &[u8], comment: usize) -> bool {
    const END_RECORD: usize = 22;
    let start = bytes.len().checked_sub(END_RECORD.saturating_add(comment));
    start.and_then(|s| bytes.get(s..)).is_some_and(|end| end.starts_with(b"PK\x05\x06"))
}

/// Returns the one folder in which all entries lie.
fn one_root(names: &[String]) -> Result<&str, Problem> {
    let mut roots: Vec<&str> = Vec::new();
    for name in names {
        let root = match name.split_once('/') {
            Some((root, _)) if !root.is_empty() => root,
            _ => return Err(Problem::NotPt2 { found: format!("`{name}` lies in no folder") }),
        };
        if roots.last() != Some(&root) && !roots.contains(&root) {
            roots.push(root);
        }
        if roots.len() > 1 {
            return Err(Problem::NotPt2 { found: format!("there are several folders, {}", quoted(&roots)) });
        }
    }
    roots.first().copied().ok_or_else(|| Problem::NotPt2 { found: "it is empty".to_string() })
}

/// Returns names in backticks, the first few of them.
pub(super) fn quoted(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(4).map(|n| format!("`{n}`")).collect();
    let more = names.len().saturating_sub(shown.len());
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
