//! Compiled components, kept between runs.
//!
//! An entry's name is a hash of all that decides what a compiler makes: the component, engine, configuration and processor, and this
//! version of the format. Its content begins with a hash of name and content under a key of the user's, which lies outside of the cache.
//! A large artifact stands at a multiple of the largest page: a worker maps it from there.
//!
//! Promises: an artifact comes out only as it was put in under that name by somebody who has the key; folder and key are the user's alone, or
//! the cache is not used; an entry appears whole or not at all, whoever else reads, writes or is killed; all entries together take no more
//! than the bound, those used last stay. What fails costs a compilation, never a run. Leaves to workers to load what comes out.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use nix::sys::statvfs::FsFlags;

use crate::contract::{Limits, LoadError};
use crate::graph::Bytes;
use crate::sandbox::Engine;

/// What is in front of all that is hashed: the format, the keyed hash.
const TAGGED: usize = 8 + 32;
/// How an entry begins; the number is the version of the format.
const FORMAT: &[u8; 8] = b"airlock3";
/// What is in front of an artifact: the format, the keyed hash, and how long the label is.
const HEAD: usize = TAGGED + 1;
/// From how many bytes on an artifact is mapped, not sent: a new worker costs less than sending them.
const LARGE: usize = 4 << 20;
/// The largest page of any processor.
const PAGE: usize = 64 << 10;
/// Bytes that are read at once.
const PIECE: usize = 1 << 18;
/// How old the beginning of an entry is when whoever wrote it must be gone.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Bytes that all entries may take.
const BOUND: u64 = 1 << 30;

/// A folder of compiled components.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    key: [u8; 32],
    bound: u64,
    /// Whether what is mapped from the folder may be run.
    maps: bool,
    /// What is compiled for, once it is known: an engine must be started to find it out.
    engine: OnceLock<[u8; 32]>,
}

/// An entry, as it is listed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The pass that was compiled, as it was first named.
    pub label: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it was last used.
    pub used: SystemTime,
}

/// What an entry holds.
#[derive(Debug)]
pub(super) struct Stored {
    /// What was known about it; zeros may follow.
    pub(super) about: Vec<u8>,
    pub(super) artifact: Artifact,
}

/// What was compiled, on its way to a worker.
#[derive(Clone, Debug)]
pub(super) enum Artifact {
    /// Sent as bytes.
    Sent(Bytes),
    /// Mapped from its entry.
    Mapped(Arc<OnDisk>),
}

/// Where an artifact stands in a file that was looked at.
///
/// An entry is never written in place, and its folder is the user's alone: who changes it nevertheless, after it was looked at, has the key too.
/// A worker shares the place in the file at which is read: the host reads by position only.
#[derive(Debug)]
pub(super) struct OnDisk {
    pub(super) file: File,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// Why there is no cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It cannot be told where it would be.
    #[error("no folder for a cache is known: neither {0} nor HOME is set")]
    NoFolder(&'static str),
    /// Others may read or write it.
    #[error("{} is not used: it must belong to you alone (mode {:o}, owner {owner}); `chmod 700` it or remove it", path.display(), mode & 0o7777)]
    NotPrivate {
        /// Folder or file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// Its owner.
        owner: u32,
    },
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// Folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_path_buf();
    move |source| CacheError::Io { path, source }
}

impl Cache {
    /// Opens the cache of the user: `$XDG_CACHE_HOME/airlock/artifacts`, its key in `$XDG_STATE_HOME/airlock`.
    pub fn of_user() -> Result<Self, CacheError> {
        Self::open(
            &base("XDG_CACHE_HOME", ".cache")?.join("artifacts"),
            &base("XDG_STATE_HOME", ".local/state")?,
            BOUND,
        )
    }

    /// Opens a cache in a folder, with its key in another, of at most that many bytes. Makes what is not there.
    pub fn open(folder: &Path, key_folder: &Path, bound: u64) -> Result<Self, CacheError> {
        for folder in [folder, key_folder] {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
            private(folder, fs::symlink_metadata(folder))?;
        }
        let (folder, key) = (folder.to_path_buf(), key(key_folder)?);
        let maps = nix::sys::statvfs::statvfs(&folder).is_ok_and(|about| !about.flags().contains(FsFlags::ST_NOEXEC));
        Ok(Self { folder, key, bound, maps, engine: OnceLock::new() })
    }

    /// Returns the name of what a component is compiled to here.
    pub(super) fn name(&self, component: &[u8], limits: &Limits, locates: bool) -> Result<String, LoadError> {
        let mut hash = blake3::Hasher::new();
        hash.update(FORMAT);
        hash.update(&self.engine(limits)?);
        // All that such an engine is configured for besides.
        hash.update(&[u8::from(locates)]);
        hash.update(env!("CARGO_PKG_VERSION").as_bytes());
        hash.update(blake3::hash(component).as_bytes());
        Ok(hash.finalize().to_hex().to_string())
    }

    /// Returns a hash of engine, configuration and processor.
    fn engine(&self, limits: &Limits) -> Result<[u8; 32], LoadError> {
        if let Some(known) = self.engine.get() {
            return Ok(*known);
        }
        // No limit of a run changes what is compiled.
        let engine = Engine::new(limits)?;
        let mut hash = Blake3(blake3::Hasher::new());
        engine.wasmtime.precompile_compatibility_hash().hash(&mut hash);
        Ok(*self.engine.get_or_init(|| *hash.0.finalize().as_bytes()))
    }

    /// Returns an entry that nobody has looked at yet.
    pub(super) fn open_entry(&self, name: &str) -> Option<OnDisk> {
        let path = self.folder.join(name);
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path).ok()?;
        let len = file.metadata().ok()?.len().min(self.bound);
        Some(OnDisk { file, start: 0, len })
    }

    /// Whether what is in an entry is mapped, not sent.
    pub(super) fn is_mapped(&self, entry: &OnDisk) -> bool {
        self.maps && usize::try_from(entry.len).is_ok_and(|len| len >= LARGE)
    }

    /// Returns what was put in under that name, if that is what is there; else it is taken out.
    pub(super) fn look(&self, name: &str, entry: OnDisk) -> Option<Stored> {
        let stored = self.authentic(name, entry);
        if stored.is_none() {
            self.remove(name);
        }
        stored
    }

    fn authentic(&self, name: &str, entry: OnDisk) -> Option<Stored> {
        let is_mapped = self.is_mapped(&entry);
        let OnDisk { file, len: size, .. } = entry;
        let mut hash = blake3::Hasher::new_keyed(&self.key);
        hash.update(name.as_bytes());
        let (mut kept, mut piece, mut at) = (Vec::new(), vec![0; PIECE], 0_u64);
        while at < size {
            let left = usize::try_from(size.saturating_sub(at)).map_or(PIECE, |left| left.min(PIECE));
            let read = file.read_at(piece.get_mut(..left)?, at).ok().filter(|n| *n > 0)?;
            let read_now = piece.get(..read)?;
            let tagged = usize::try_from(at).map_or(0, |at| TAGGED.saturating_sub(at).min(read));
            hash.update(read_now.get(tagged..)?);
            // Of what is mapped only the beginning is needed here.
            if !is_mapped || at == 0 {
                kept.extend_from_slice(read_now);
            }
            at = at.saturating_add(u64::try_from(read).ok()?);
        }
        let (format, rest) = kept.split_first_chunk::<8>()?;
        let (tag, content) = rest.split_first_chunk::<32>()?;
        // The comparison takes as long whatever differs.
        if format != FORMAT || hash.finalize() != blake3::Hash::from_bytes(*tag) {
            return None;
        }
        let label = usize::from(*content.first()?);
        let (start, _) = content.get(label.saturating_add(1)..)?.split_first_chunk::<8>()?;
        let (start, about) = (u64::from_le_bytes(*start), TAGGED.saturating_add(label).saturating_add(9));
        // Where this fails the entry only looks older.
        let _ = file.set_modified(SystemTime::now());
        let len = size.checked_sub(start)?;
        let at = usize::try_from(start).ok()?;
        let about = kept.get(about..at)?.to_vec();
        let artifact = if is_mapped && start.is_multiple_of(u64::try_from(PAGE).ok()?) {
            Artifact::Mapped(Arc::new(OnDisk { file, start, len }))
        } else {
            Artifact::Sent(Bytes::new(kept).cut(at, usize::try_from(len).ok()?)?)
        };
        Some(Stored { about, artifact })
    }

    fn tag(&self, name: &str, content: &[&[u8]]) -> blake3::Hash {
        let mut hash = blake3::Hasher::new_keyed(&self.key);
        hash.update(name.as_bytes());
        for part in content {
            hash.update(part);
        }
        hash.finalize()
    }

    /// Keeps an artifact under a name, with what is known about it, and takes out what was not used longest where the bound asks for it.
    pub(super) fn put(&self, name: &str, label: &str, about: &[u8], artifact: &[u8]) -> Result<(), CacheError> {
        let label = label.get(..label.len().min(100)).unwrap_or_default();
        let label_head = [u8::try_from(label.len()).unwrap_or(0)];
        let before = [1, label.len(), 8, about.len()].into_iter().fold(TAGGED, usize::saturating_add);
        let start = if artifact.len() < LARGE { before } else { before.next_multiple_of(PAGE) };
        let (padding, place) = (vec![0; start.saturating_sub(before)], u64::try_from(start).unwrap_or(u64::MAX));
        let place = place.to_le_bytes();
        let parts: [&[u8]; 6] = [&label_head, label.as_bytes(), &place, about, &padding, artifact];
        let size = start.saturating_add(artifact.len());
        if u64::try_from(size).unwrap_or(u64::MAX) > self.bound {
            return Ok(());
        }
        let tag = self.tag(name, &parts);
        let beside = self.folder.join(beginning());
        let written = new_file(&beside)
            .and_then(|mut file| {
                [FORMAT, tag.as_bytes().as_slice()].iter().chain(&parts).try_for_each(|part| file.write_all(part))
            })
            .and_then(|()| fs::rename(&beside, self.folder.join(name)));
        if let Err(source) = written {
            let _ = fs::remove_file(&beside);
            return Err(CacheError::Io { path: beside, source });
        }
        self.evict()
    }

    /// Takes an entry out.
    pub(super) fn remove(&self, name: &str) {
        // Somebody else may have done that.
        let _ = fs::remove_file(self.folder.join(name));
    }

    fn evict(&self) -> Result<(), CacheError> {
        let mut kept = 0_u64;
        for (path, metadata) in self.files()? {
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let is_entry = path.file_name().and_then(|n| n.to_str()).is_some_and(is_name);
            kept = kept.saturating_add(if is_entry { metadata.len() } else { 0 });
            let is_abandoned = !is_entry && used.elapsed().is_ok_and(|age| age > ABANDONED);
            if is_abandoned || (is_entry && kept > self.bound) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Returns the files of the folder, those used last first.
    fn files(&self) -> Result<Vec<(PathBuf, fs::Metadata)>, CacheError> {
        let entries = fs::read_dir(&self.folder).map_err(failed(&self.folder))?;
        // One that is gone by now is nobody's any more.
        let mut files: Vec<_> =
            entries.filter_map(|e| e.ok().and_then(|e| Some((e.path(), e.metadata().ok()?)))).collect();
        files.retain(|(_, metadata)| metadata.is_file());
        files.sort_by_key(|(path, m)| (std::cmp::Reverse(m.modified().ok()), path.clone()));
        Ok(files)
    }

    /// Returns where the entries are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns all entries, those used last first.
    pub fn entries(&self) -> Result<Vec<Entry>, CacheError> {
        let entry = |(path, metadata): (PathBuf, fs::Metadata)| {
            let name = path.file_name()?.to_str().filter(|n| is_name(n))?.to_string();
            let mut head = Vec::new();
            File::open(&path).ok()?.take(u64::try_from(HEAD).ok()?.saturating_add(255)).read_to_end(&mut head).ok()?;
            let len = usize::from(*head.get(HEAD.saturating_sub(1))?);
            let label = String::from_utf8_lossy(head.get(HEAD..)?.get(..len)?).into_owned();
            Some(Entry { name, label, bytes: metadata.len(), used: metadata.modified().ok()? })
        };
        Ok(self.files()?.into_iter().filter_map(entry).collect())
    }

    /// Takes all entries out; returns how many there were, and their bytes.
    pub fn clear(&self) -> Result<(usize, u64), CacheError> {
        let (mut count, mut bytes) = (0_usize, 0_u64);
        for (path, metadata) in self.files()? {
            fs::remove_file(&path).map_err(failed(&path))?;
            count = count.saturating_add(1);
            bytes = bytes.saturating_add(metadata.len());
        }
        Ok((count, bytes))
    }
}

fn base(variable: &'static str, below_home: &str) -> Result<PathBuf, CacheError> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let folder = set(variable).or_else(|| Some(set("HOME")?.join(below_home)));
    folder.map(|f| f.join("airlock")).ok_or(CacheError::NoFolder(variable))
}

/// Refuses what is a link, somebody else's, or open to others.
fn private(path: &Path, metadata: io::Result<fs::Metadata>) -> Result<(), CacheError> {
    let metadata = metadata.map_err(failed(path))?;
    let (mode, owner) = (metadata.mode(), metadata.uid());
    if metadata.is_symlink() || mode & 0o077 != 0 || owner != nix::unistd::geteuid().as_raw() {
        return Err(CacheError::NotPrivate { path: path.to_path_buf(), mode, owner });
    }
    Ok(())
}

/// Returns the user's key; the first to ask for it makes it.
fn key(folder: &Path) -> Result<[u8; 32], CacheError> {
    let path = folder.join("artifacts.key");
    if !path.exists() {
        let beside = folder.join(beginning());
        let mut key = [0; 32];
        let made = File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut key))
            .and_then(|()| new_file(&beside))
            .and_then(|mut file| file.write_all(&key))
            // Of two that make one the first stays.
            .and_then(|()| fs::hard_link(&beside, &path));
        let _ = fs::remove_file(&beside);
        if let Err(source) = made
            && source.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(CacheError::Io { path, source });
        }
    }
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path).map_err(failed(&path))?;
    private(&path, file.metadata())?;
    let mut key = [0; 32];
    file.read_exact(&mut key).map_err(failed(&path))?;
    Ok(key)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// A name that nobody else begins a file with.
fn beginning() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!(".{}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed), time.as_nanos())
}

/// Names of entries are hashes in hexadecimal.
fn is_name(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Lets what can be hashed be hashed by BLAKE3.
struct Blake3(blake3::Hasher);

impl Hasher for Blake3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks for this one: the whole hash is taken from inside.
    fn finish(&self) -> u64 {
        let hash = self.0.finalize();
        u64::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NAME: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn other(n: u8) -> String {
        format!("{n:02x}{}", &NAME[2..])
    }

    fn cache(folder: &Path, bound: u64) -> Cache {
        Cache::open(&folder.join("cache"), &folder.join("key"), bound).unwrap()
    }

    impl Cache {
        fn get(&self, name: &str) -> Option<Stored> {
            self.look(name, self.open_entry(name)?)
        }
    }

    fn sent(stored: &Stored) -> &[u8] {
        match &stored.artifact {
            Artifact::Sent(bytes) => bytes.as_slice(),
            Artifact::Mapped(on_disk) => panic!("{on_disk:?}"),
        }
    }

    #[test]
    fn what_is_put_in_comes_out_also_for_another_process() {
        let folder = tempfile::tempdir().unwrap();
        assert!(cache(folder.path(), 1000).get(NAME).is_none());
        cache(folder.path(), 1000).put(NAME, "dedup", b"about", b"code").unwrap();
        let again = cache(folder.path(), 1000);
        let stored = again.get(NAME).unwrap();
        assert_eq!((stored.about.as_slice(), sent(&stored)), (&b"about"[..], &b"code"[..]));
        let entries = again.entries().unwrap();
        assert_eq!((entries.len(), entries[0].label.as_str(), entries[0].name.as_str()), (1, "dedup", NAME));
        assert_eq!(again.clear().unwrap().0, 1);
        assert!(again.get(NAME).is_none());
    }

    #[test]
    fn no_byte_of_an_entry_can_be_another() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1000);
        cache.put(NAME, "p", b"about", b"native code").unwrap();
        let path = cache.folder().join(NAME);
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(cache.get(NAME).is_none(), "byte {at}");
            assert!(!path.exists());
        }
        for bad in [&good[..good.len() - 1], &good[..40], &[], &[&good[..], b"x"].concat()] {
            fs::write(&path, bad).unwrap();
            assert!(cache.get(NAME).is_none());
        }
        // An entry of another name.
        fs::write(cache.folder().join(other(7)), &good).unwrap();
        assert!(cache.get(&other(7)).is_none());
        fs::write(&path, &good).unwrap();
        assert!(cache.get(NAME).is_some());
    }

    #[test]
    fn a_large_one_is_mapped_from_a_page_of_its_own_and_no_byte_of_it_can_be_another() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1 << 30);
        let artifact: Vec<u8> = (0..LARGE + 3).map(|n| (n % 251) as u8).collect();
        cache.put(NAME, "p", b"about", &artifact).unwrap();
        let Stored { about, artifact: Artifact::Mapped(found) } = cache.get(NAME).unwrap() else { panic!("sent") };
        assert!(about.starts_with(b"about"));
        assert_eq!((found.start as usize % PAGE, found.len as usize), (0, artifact.len()));
        let mut read = vec![0; artifact.len()];
        found.file.read_exact_at(&mut read, found.start).unwrap();
        assert_eq!(read, artifact);
        let path = cache.folder().join(NAME);
        let good = fs::read(&path).unwrap();
        for at in [0, 9, 40, 41, 60, 100, PAGE - 1, PAGE, PIECE - 1, PIECE, PIECE + 1, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(cache.get(NAME).is_none(), "byte {at}");
        }
        fs::write(&path, &good[..good.len() - 1]).unwrap();
        assert!(cache.get(NAME).is_none());
    }

    #[test]
    fn what_another_key_made_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path(), 1000).put(NAME, "p", b"about", b"code").unwrap();
        fs::remove_dir_all(folder.path().join("key")).unwrap();
        assert!(cache(folder.path(), 1000).get(NAME).is_none());
    }

    #[test]
    fn what_others_may_write_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        drop(cache(folder.path(), 1000));
        let open = || Cache::open(&folder.path().join("cache"), &folder.path().join("key"), 1000);
        for (path, mode) in [("cache", 0o755), ("key", 0o770), ("key/artifacts.key", 0o604)] {
            let path = folder.path().join(path);
            let old = fs::metadata(&path).unwrap().permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(open(), Err(CacheError::NotPrivate { .. })), "{}", path.display());
            fs::set_permissions(&path, old).unwrap();
        }
        std::os::unix::fs::symlink(folder.path().join("cache"), folder.path().join("link")).unwrap();
        assert!(Cache::open(&folder.path().join("link"), &folder.path().join("key"), 1000).is_err());
        assert!(open().is_ok());
    }

    #[test]
    fn what_was_not_used_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1000);
        let day = |n: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(n * 86_400);
        for n in 0..4 {
            cache.put(&other(n), "p", b"about", &[n; 150]).unwrap();
            File::open(cache.folder().join(other(n))).unwrap().set_modified(day(n.into())).unwrap();
        }
        // Used again, it is the youngest.
        assert!(cache.get(&other(0)).is_some());
        fs::write(cache.folder().join(".9-9-9"), b"abandoned").unwrap();
        File::open(cache.folder().join(".9-9-9")).unwrap().set_modified(day(0)).unwrap();
        cache.put(&other(9), "p", b"about", &[9; 400]).unwrap();
        let left: Vec<u8> = (0..10).filter(|n| cache.get(&other(*n)).is_some()).collect();
        assert_eq!(left, [0, 3, 9]);
        assert!(!cache.folder().join(".9-9-9").exists());
        cache.put(&other(5), "p", b"about", &[5; 1000]).unwrap();
        assert!(cache.get(&other(5)).is_none(), "one that is larger than all may be");
    }

    #[test]
    fn many_at_once_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let folder = folder.path();
                scope.spawn(move || {
                    let cache = cache(folder, 4_000);
                    for round in 0..50_u8 {
                        let n = thread.wrapping_mul(7).wrapping_add(round) % 10;
                        cache.put(&other(n), "p", b"about", &[n; 500]).unwrap();
                        if let Some(found) = cache.get(&other(n.wrapping_add(1) % 10)) {
                            assert_eq!(sent(&found), [n.wrapping_add(1) % 10; 500]);
                        }
                    }
                });
            }
        });
        let cache = cache(folder.path(), 4_000);
        assert!(cache.entries().unwrap().iter().map(|e| e.bytes).sum::<u64>() <= 4_000);
    }

    #[test]
    fn names_tell_components_and_configurations_apart() {
        let (folder, limits) = (tempfile::tempdir().unwrap(), Limits::default());
        let cache = cache(folder.path(), 1000);
        let name = |bytes: &[u8]| cache.name(bytes, &limits, false).unwrap();
        assert_eq!(name(b"a"), name(b"a"));
        assert_ne!(name(b"a"), name(b"b"));
        assert!(is_name(&name(b"a")));
    }
}
