//! Finding a Rust compiler that builds guests.
//!
//! In this order; one that has the target's library ready goes before one that must build it:
//!
//! 1. `AIRLOCK_GUEST_RUSTC`, and nothing else where it is set;
//! 2. `rustc` in the path (which is what rustup chose for this folder), then rustup's other toolchains;
//! 3. the one that `scripts/setup.sh` unpacked in the cache folder;
//! 4. the system's.
//!
//! A compiler without the target is of use where the sources of its own standard library are beside it: cargo then builds
//! the library once, into the cache folder. Asking compilers is all that this module does; it changes nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::guest::BuildError;

/// What guests are compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The oldest compiler that the SDK builds with.
const OLDEST: (u32, u32) = (1, 85);

/// Where the target's standard library comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Std {
    /// It is installed.
    Installed,
    /// It is built from its sources, once.
    FromSource,
}

/// A compiler that can build guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler.
    pub rustc: PathBuf,
    /// Its version, `1.96.0`.
    pub version: String,
    /// Where the target's standard library comes from.
    pub std: Std,
    /// The linker, where the compiler does not bring its own.
    pub linker: Option<PathBuf>,
    /// Folders with the compiler's shared libraries, where the system does not find them.
    pub libraries: Vec<PathBuf>,
}

impl Toolchain {
    /// Finds one. `dir` is the guest's folder: rustup may have a toolchain for it.
    pub fn find(dir: &Path) -> Result<Toolchain, BuildError> {
        if let Some(named) = std::env::var_os("AIRLOCK_GUEST_RUSTC") {
            let candidate = Candidate::new(PathBuf::from(named));
            let found = candidate.look(dir).map_err(|reason| BuildError::NamedCompiler { reason })?;
            return found.with_linker(dir);
        }
        let mut tried = Vec::new();
        let mut from_source = None;
        for candidate in candidates() {
            match candidate.look(dir) {
                Ok(found) if found.toolchain.std == Std::Installed => return found.with_linker(dir),
                Ok(found) => {
                    from_source.get_or_insert(found);
                }
                Err(reason) => tried.push(reason),
            }
        }
        from_source.ok_or(BuildError::NoToolchain { tried })?.with_linker(dir)
    }

    /// Sets what cargo needs to use this compiler. `RUSTFLAGS` of the host do not reach guests: they would build another
    /// standard library, and mean another machine.
    pub fn prepare(&self, command: &mut Command) {
        command.env("RUSTC", &self.rustc);
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_TARGET"] {
            command.env_remove(name);
        }
        if let Some(linker) = &self.linker {
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        if let Some(path) = library_path(&self.libraries) {
            command.env("LD_LIBRARY_PATH", path);
        }
        if self.std == Std::FromSource {
            // What `-Zbuild-std` needs of a stable compiler.
            command.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
        }
    }
}

/// The folder for what is built once for all guests: `AIRLOCK_GUEST_CACHE`, else `guest-toolchain` in the cargo target
/// folder that this program stands in, else the user's cache.
pub fn cache_folder() -> PathBuf {
    if let Some(named) = std::env::var_os("AIRLOCK_GUEST_CACHE") {
        return PathBuf::from(named);
    }
    if let Some(folder) = std::env::current_exe().ok().and_then(|program| beside(&program)) {
        return folder;
    }
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    cache.unwrap_or_else(std::env::temp_dir).join("airlock/guest-toolchain")
}

/// `guest-toolchain` in the target folder of a program. Cargo marks a target folder that it made; one that
/// `scripts/setup.sh` began is known by what was put there.
fn beside(program: &Path) -> Option<PathBuf> {
    let is_target = |folder: &&Path| folder.join("guest-toolchain").is_dir() || folder.join("CACHEDIR.TAG").is_file();
    program.ancestors().skip(1).find(is_target).map(|target| target.join("guest-toolchain"))
}

/// A compiler that may be of use.
struct Candidate {
    rustc: PathBuf,
    libraries: Vec<PathBuf>,
}

/// A compiler that is of use, and its folder of tools.
struct Found {
    toolchain: Toolchain,
    tools: PathBuf,
}

fn candidates() -> Vec<Candidate> {
    let mut candidates = vec![Candidate::new(PathBuf::from("rustc"))];
    candidates.extend(rustup_compilers().into_iter().map(Candidate::new));
    let root = cache_folder().join("root");
    candidates.push(Candidate { rustc: root.join("usr/bin/rustc"), libraries: library_folders(&root) });
    candidates.push(Candidate::new(PathBuf::from("/usr/bin/rustc")));
    candidates.retain(|candidate| candidate.rustc.components().count() == 1 || candidate.rustc.is_file());
    candidates
}

/// The compilers of all toolchains of rustup, by name.
fn rustup_compilers() -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    let entries = home.and_then(|home| home.join("toolchains").read_dir().ok());
    let folders = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut compilers: Vec<PathBuf> = folders.map(|folder| folder.join("bin/rustc")).collect();
    compilers.sort_unstable();
    compilers
}

/// `usr/lib` and the folders of its architectures.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let lib = root.join("usr/lib");
    let entries = lib.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let is_architecture = |path: &PathBuf| path.to_string_lossy().ends_with("-linux-gnu");
    let mut folders: Vec<PathBuf> = entries.filter(is_architecture).collect();
    folders.sort_unstable();
    folders.push(lib);
    folders
}

fn library_path(folders: &[PathBuf]) -> Option<OsString> {
    if folders.is_empty() {
        return None;
    }
    let inherited = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let inherited = std::env::split_paths(&inherited).filter(|path| !path.as_os_str().is_empty());
    std::env::join_paths(folders.iter().cloned().chain(inherited)).ok()
}

impl Candidate {
    fn new(rustc: PathBuf) -> Candidate {
        Candidate { rustc, libraries: Vec::new() }
    }

    /// What this compiler is good for, or in one line why it is not.
    fn look(&self, dir: &Path) -> Result<Found, String> {
        let about = self.ask(dir, &["-vV"])?;
        let field = |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let (version, host) = (field("release: ").to_owned(), field("host: "));
        let label = format!("{} ({version})", self.rustc.display());
        if !is_new_enough(&version) {
            let (major, minor) = OLDEST;
            return Err(format!("{label}: older than {major}.{minor}, which the SDK needs"));
        }
        let sysroot = PathBuf::from(self.ask(dir, &["--print", "sysroot"])?.trim());
        let rustlib = sysroot.join("lib/rustlib");
        let std = if rustlib.join(TARGET).join("lib").is_dir() {
            Std::Installed
        } else if rustlib.join("src/rust/library/std/Cargo.toml").is_file() {
            Std::FromSource
        } else {
            return Err(format!("{label}: has neither {TARGET} nor the sources of its standard library"));
        };
        Ok(Found {
            toolchain: Toolchain {
                rustc: self.rustc.clone(),
                version,
                std,
                linker: None,
                libraries: self.libraries.clone(),
            },
            tools: rustlib.join(host).join("bin"),
        })
    }

    fn ask(&self, dir: &Path, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.rustc);
        command.args(args).current_dir(dir);
        if let Some(path) = library_path(&self.libraries) {
            command.env("LD_LIBRARY_PATH", path);
        }
        let output = command.output().map_err(|error| format!("{}: {error}", self.rustc.display()))?;
        if !output.status.success() {
            let says = String::from_utf8_lossy(&output.stderr);
            let first = says.lines().next().unwrap_or("no word");
            return Err(format!("{}: does not run: {first}", self.rustc.display()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Found {
    /// Adds a linker where the compiler has none of its own: rustup's toolchains bring `rust-lld`, Debian has `lld`.
    fn with_linker(self, dir: &Path) -> Result<Toolchain, BuildError> {
        let Found { mut toolchain, tools } = self;
        if tools.join("rust-lld").is_file() {
            return Ok(toolchain);
        }
        let of_others = std::iter::once(PathBuf::from("rustc"))
            .chain(rustup_compilers())
            .filter_map(|rustc| Candidate::new(rustc).tools(dir))
            .map(|tools| tools.join("rust-lld"));
        let linker = of_others.filter(|path| path.is_file()).chain(linkers_in_path()).next();
        match linker {
            Some(linker) => toolchain.linker = Some(linker),
            None => return Err(BuildError::NoLinker { rustc: toolchain.rustc }),
        }
        Ok(toolchain)
    }
}

impl Candidate {
    fn tools(&self, dir: &Path) -> Option<PathBuf> {
        let about = self.ask(dir, &["-vV"]).ok()?;
        let host = about.lines().find_map(|line| line.strip_prefix("host: "))?;
        let sysroot = self.ask(dir, &["--print", "sysroot"]).ok()?;
        Some(Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin"))
    }
}

/// Linkers by their usual names, the newest of Debian's numbered ones first; also those that the set-up script unpacked.
fn linkers_in_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let unpacked = cache_folder().join("root/usr/bin");
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain([unpacked]).collect();
    let numbered = (14..40).rev().map(|version| format!("wasm-ld-{version}"));
    let names = ["rust-lld", "wasm-ld"].map(str::to_owned).into_iter().chain(numbered);
    let paths = names.flat_map(|name| folders.iter().map(move |folder| folder.join(&name)).collect::<Vec<_>>());
    paths.filter(|path| path.is_file()).collect()
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= OLDEST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_too_old_is_not_taken() {
        assert!(is_new_enough("1.85.0"));
        assert!(is_new_enough("1.97.0-nightly"));
        assert!(!is_new_enough("1.84.1"));
        assert!(!is_new_enough("0.99.0"));
        assert!(!is_new_enough(""));
    }

    #[test]
    fn a_compiler_that_is_not_there_is_named_in_the_reason() {
        let candidate = Candidate::new(PathBuf::from("/no/such/rustc"));
        let reason = candidate.look(Path::new("/")).err().unwrap();
        assert!(reason.starts_with("/no/such/rustc: "), "{reason}");
    }

    #[test]
    fn a_target_folder_that_cargo_did_not_make_is_known_by_the_toolchain_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("target/debug/airlock");
        assert_eq!(beside(&program), None);
        let own = folder.path().join("target/guest-toolchain");
        std::fs::create_dir_all(&own).unwrap();
        assert_eq!(beside(&program), Some(own.clone()));
        std::fs::remove_dir(&own).unwrap();
        std::fs::write(folder.path().join("target/CACHEDIR.TAG"), "").unwrap();
        assert_eq!(beside(&program), Some(own));
    }

    #[test]
    fn own_libraries_go_before_inherited_ones() {
        assert_eq!(library_path(&[]), None);
        let path = library_path(&[PathBuf::from("/a"), PathBuf::from("/b")]).unwrap();
        assert!(path.to_string_lossy().starts_with("/a:/b"));
    }

    #[test]
    fn where_nothing_is_found_every_way_out_is_named() {
        let tried = vec!["/usr/bin/rustc (1.63.0): older than 1.85, which the SDK needs".to_owned()];
        let message = BuildError::NoToolchain { tried }.to_string();
        for part in ["1.63.0", "rustup target add wasm32-unknown-unknown", "apt-get install", "AIRLOCK_GUEST_RUSTC"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
