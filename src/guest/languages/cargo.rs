//! Running cargo: which package a folder is, and the core module that its library becomes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::cache_folder;
use super::rustc::{TARGET, Toolchain};
use crate::guest::{BuildError, BuildOptions};

/// The package in a folder.
#[derive(Debug)]
pub struct Package {
    pub name: String,
    pub manifest: PathBuf,
    /// The name of its library target.
    pub library: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<MetadataTarget>,
}

#[derive(Deserialize)]
struct MetadataTarget {
    name: String,
    kind: Vec<String>,
}

/// One line of `--message-format json`; other kinds of line have other fields.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Reads which package a folder is.
pub fn package(dir: &Path) -> Result<Package, BuildError> {
    let manifest = dir.join("Cargo.toml");
    let io = |source| BuildError::Io { path: manifest.clone(), source };
    if !manifest.is_file() {
        return Err(BuildError::NoManifest { dir: dir.to_owned() });
    }
    let manifest = manifest.canonicalize().map_err(io)?;
    let mut command = cargo(dir);
    command.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]);
    let answer = run(command.arg(&manifest))?;
    let metadata: Metadata = serde_json::from_slice(&answer)
        .map_err(|error| BuildError::CargoAnswer { reason: format!("cargo metadata: {error}") })?;
    let members = || metadata.packages.iter().map(|package| package.name.clone()).collect();
    let own = metadata.packages.iter().find(|package| package.manifest_path == manifest);
    let own = own.ok_or_else(|| BuildError::Workspace { dir: dir.to_owned(), members: members() })?;
    let is_library =
        |target: &&MetadataTarget| target.kind.iter().any(|kind| kind == "lib" || kind == "cdylib" || kind == "rlib");
    let library =
        own.targets.iter().find(is_library).ok_or_else(|| BuildError::NoLibrary { package: own.name.clone() })?;
    Ok(Package { name: own.name.clone(), manifest, library: library.name.clone() })
}

/// Builds the package's library as a core module and gives its path.
pub fn build(
    dir: &Path,
    package: &Package,
    toolchain: &Toolchain,
    options: &BuildOptions,
) -> Result<PathBuf, BuildError> {
    let mut command = cargo(dir);
    command.args(["rustc", "--release", "--lib", "--crate-type", "cdylib", "--target", TARGET]);
    command.args(["--message-format", "json-render-diagnostics", "--manifest-path"]);
    // One folder for all guests: their standard library is built once.
    command.arg(&package.manifest).arg("--target-dir").arg(cache_folder().join("build"));
    if options.quiet {
        command.arg("--quiet");
    }
    toolchain.prepare(&mut command);
    // What is said of traps, in the pass's own sources; it is left out of the component.
    command.args(["--", "-C", "debuginfo=line-tables-only", "-C", "strip=none"]);
    let answer = run(&mut command)?;
    let messages = answer.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Message>(line).ok());
    let own =
        messages.filter(|message| message.reason == "compiler-artifact" && message.manifest_path == package.manifest);
    let mut files = own.flat_map(|message| message.filenames);
    let module = files.rfind(|file| file.extension().is_some_and(|ending| ending == "wasm"));
    module.ok_or_else(|| BuildError::CargoAnswer {
        reason: format!("no .wasm file of library `{}` was reported", package.library),
    })
}

fn cargo(dir: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null()).stderr(Stdio::inherit());
    command
}

/// Runs cargo to its end; what it says for people goes to standard error.
fn run(command: &mut Command) -> Result<Vec<u8>, BuildError> {
    let output = command.output().map_err(|source| BuildError::NoCargo { source })?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(BuildError::Cargo { status: output.status.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_manifest_is_said_to_have_none() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(package(dir.path()), Err(BuildError::NoManifest { .. })));
    }

    #[test]
    fn a_workspace_names_its_members() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest-examples/rust");
        let error = package(&dir).unwrap_err();
        assert!(error.to_string().contains("stream-split"), "{error}");
    }

    #[test]
    fn a_member_of_a_workspace_is_a_package() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest-examples/rust/stream-split");
        let package = package(&dir).unwrap();
        assert_eq!((package.name.as_str(), package.library.as_str()), ("stream-split", "stream_split"));
    }

    #[test]
    fn a_package_without_a_library_is_no_pass() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
        std::fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        std::fs::write(dir.path().join("src/main.rs"), "fn main() {}").unwrap();
        assert!(matches!(package(dir.path()), Err(BuildError::NoLibrary { package }) if package == "p"));
    }
}
