//! Compiled components, kept between runs.
//!
//! An entry's name is a hash of all that decides what a compiler makes: the component, engine, configuration and processor, and this
//! version of the format. Its content begins with a hash of name and content under a key of the user's, which lies outside of the cache.
//!
//! Promises: an artifact comes out only as it was put in under that name by somebody who has the key; folder and key are the user's alone, or
//! the cache is not used; an entry appears whole or not at all, whoever else reads, writes or is killed; all entries together take no more
//! than the bound, those used last stay. What fails costs a compilation, never a run. Leaves to workers to load what comes out.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::contract::{Limits, LoadError};
use crate::graph::Bytes;
use crate::sandbox::Engine;

/// How an entry begins; the number is the version of the format.
const FORMAT: &[u8; 8] = b"airlock2";
/// What is in front of an artifact: the format, the keyed hash, and how long the label is.
const HEAD: usize = 8 + 32 + 1;
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
        Ok(Self { folder, key, bound, engine: OnceLock::new() })
    }

    /// Returns the name of what a component is compiled to here.
    pub(super) fn name(&self, component: &[u8], limits: &Limits) -> Result<String, LoadError> {
        let mut hash = blake3::Hasher::new();
        hash.update(FORMAT);
        hash.update(&self.engine(limits)?);
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

    /// Returns the artifact of that name, if there is one that was put in here.
    pub(super) fn get(&self, name: &str) -> Option<Bytes> {
        let path = self.folder.join(name);
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(&path).ok()?;
        let size = file.metadata().ok()?.len().min(self.bound);
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?.saturating_add(1));
        Read::by_ref(&mut file).take(self.bound).read_to_end(&mut bytes).ok()?;
        let Some(label) = self.authentic(name, &bytes) else {
            self.remove(name);
            return None;
        };
        let start = HEAD.saturating_add(label.len());
        // Where this fails the entry only looks older.
        let _ = file.set_modified(SystemTime::now());
        let len = bytes.len().saturating_sub(start);
        // A copy: the file may become another after it was looked at.
        Bytes::new(bytes).cut(start, len)
    }

    /// Returns the label of an entry that was put in here.
    fn authentic<'b>(&self, name: &str, bytes: &'b [u8]) -> Option<&'b str> {
        let (format, rest) = bytes.split_first_chunk::<8>()?;
        let (tag, content) = rest.split_first_chunk::<32>()?;
        let label = content.get(1..)?.get(..usize::from(*content.first()?))?;
        // The comparison takes as long whatever differs.
        let is_ours = format == FORMAT && self.tag(name, &[content]) == blake3::Hash::from_bytes(*tag);
        is_ours.then(|| std::str::from_utf8(label).ok()).flatten()
    }

    fn tag(&self, name: &str, content: &[&[u8]]) -> blake3::Hash {
        let mut hash = blake3::Hasher::new_keyed(&self.key);
        hash.update(name.as_bytes());
        for part in content {
            hash.update(part);
        }
        hash.finalize()
    }

    /// Keeps an artifact under a name, and takes out what was not used longest where the bound asks for it.
    pub(super) fn put(&self, name: &str, label: &str, artifact: &[u8]) -> Result<(), CacheError> {
        let label = label.get(..label.len().min(100)).unwrap_or_default();
        let label_head = [u8::try_from(label.len()).unwrap_or(0)];
        let parts: [&[u8]; 3] = [&label_head, label.as_bytes(), artifact];
        let size = parts.iter().map(|p| p.len()).fold(40, usize::saturating_add);
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

    #[test]
    fn what_is_put_in_comes_out_also_for_another_process() {
        let folder = tempfile::tempdir().unwrap();
        assert!(cache(folder.path(), 1000).get(NAME).is_none());
        cache(folder.path(), 1000).put(NAME, "dedup", b"code").unwrap();
        let again = cache(folder.path(), 1000);
        assert_eq!(again.get(NAME).unwrap().as_slice(), b"code");
        let entries = again.entries().unwrap();
        assert_eq!((entries.len(), entries[0].label.as_str(), entries[0].name.as_str()), (1, "dedup", NAME));
        assert_eq!(again.clear().unwrap().0, 1);
        assert!(again.get(NAME).is_none());
    }

    #[test]
    fn no_byte_of_an_entry_can_be_another() {
        let folder = tempfile::tempdir().unwrap();
        let cache = cache(folder.path(), 1000);
        cache.put(NAME, "p", b"native code").unwrap();
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
    fn what_another_key_made_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path(), 1000).put(NAME, "p", b"code").unwrap();
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
            cache.put(&other(n), "p", &[n; 150]).unwrap();
            File::open(cache.folder().join(other(n))).unwrap().set_modified(day(n.into())).unwrap();
        }
        // Used again, it is the youngest.
        assert!(cache.get(&other(0)).is_some());
        fs::write(cache.folder().join(".9-9-9"), b"abandoned").unwrap();
        File::open(cache.folder().join(".9-9-9")).unwrap().set_modified(day(0)).unwrap();
        cache.put(&other(9), "p", &[9; 400]).unwrap();
        let left: Vec<u8> = (0..10).filter(|n| cache.get(&other(*n)).is_some()).collect();
        assert_eq!(left, [0, 3, 9]);
        assert!(!cache.folder().join(".9-9-9").exists());
        cache.put(&other(5), "p", &[5; 1000]).unwrap();
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
                        cache.put(&other(n), "p", &[n; 500]).unwrap();
                        if let Some(found) = cache.get(&other(n.wrapping_add(1) % 10)) {
                            assert_eq!(found.as_slice(), [n.wrapping_add(1) % 10; 500]);
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
        let name = |bytes: &[u8]| cache.name(bytes, &limits).unwrap();
        assert_eq!(name(b"a"), name(b"a"));
        assert_ne!(name(b"a"), name(b"b"));
        assert!(is_name(&name(b"a")));
    }
}
