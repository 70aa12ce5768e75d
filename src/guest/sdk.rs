//! The SDKs' own sources, carried along: a new pass gets a copy, so that it builds anywhere, and a pass without a copy
//! builds with the one that this program carries.

use std::path::{Path, PathBuf};

use super::languages::cache_folder;
use super::{BuildError, Language};
use crate::contract;

/// A path below the copy's folder, with its contents.
type File = (&'static str, &'static str);

macro_rules! files {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("../../", $path)))),*] };
}

const RUST: &[File] = files![
    "sdk/rust/Cargo.toml",
    "sdk/rust/README.md",
    "sdk/rust/src/arg.rs",
    "sdk/rust/src/bindings.rs",
    "sdk/rust/src/call.rs",
    "sdk/rust/src/edits.rs",
    "sdk/rust/src/effects.rs",
    "sdk/rust/src/error.rs",
    "sdk/rust/src/graph.rs",
    "sdk/rust/src/host.rs",
    "sdk/rust/src/lib.rs",
    "sdk/rust/src/node.rs",
    "sdk/rust/src/pass.rs",
    "sdk/rust/src/snapshot.rs",
    "sdk/rust/src/texts.rs",
];

const C: &[File] = files![
    "sdk/c/README.md",
    "sdk/c/bindings/graph_pass.c",
    "sdk/c/bindings/graph_pass.h",
    "sdk/c/include/airlock.h",
    "sdk/c/src/airlock.c",
    "sdk/c/src/stdio.c",
];

/// Over that of C, which is part of it.
const CPP: &[File] = files![
    "sdk/c/bindings/graph_pass.c",
    "sdk/c/bindings/graph_pass.h",
    "sdk/c/include/airlock.h",
    "sdk/c/src/airlock.c",
    "sdk/c/src/stdio.c",
    "sdk/cpp/README.md",
    "sdk/cpp/include/airlock.hpp",
];

const PYTHON: &[File] = files![
    "sdk/python/README.md",
    "sdk/python/airlock_pass/__init__.py",
    "sdk/python/airlock_pass/arguments.py",
    "sdk/python/airlock_pass/effects.py",
    "sdk/python/airlock_pass/entry.py",
    "sdk/python/airlock_pass/errors.py",
    "sdk/python/airlock_pass/graph.py",
    "sdk/python/airlock_pass/log.py",
    "sdk/python/airlock_pass/node.py",
    "sdk/python/airlock_pass/ops.py",
    "sdk/python/airlock_pass/py.typed",
    "sdk/python/airlock_pass/torch.py",
    "sdk/python/airlock_pass/torchair.py",
    "sdk/python/airlock_pass/values.py",
];

const JS: &[File] = files![
    "sdk/js/README.md",
    "sdk/js/airlock-pass/arguments.js",
    "sdk/js/airlock-pass/config.js",
    "sdk/js/airlock-pass/effects.js",
    "sdk/js/airlock-pass/entry.js",
    "sdk/js/airlock-pass/errors.js",
    "sdk/js/airlock-pass/graph.js",
    "sdk/js/airlock-pass/index.d.ts",
    "sdk/js/airlock-pass/index.js",
    "sdk/js/airlock-pass/log.js",
    "sdk/js/airlock-pass/node.js",
    "sdk/js/airlock-pass/ops.js",
    "sdk/js/airlock-pass/package.json",
    "sdk/js/airlock-pass/torch.js",
    "sdk/js/airlock-pass/trace.js",
    "sdk/js/airlock-pass/values.js",
];

/// The SDK of a language and the contract. SDKs find the contract at `../../wit`.
pub fn files(language: Language) -> Vec<File> {
    let own = match language {
        Language::Rust => RUST,
        Language::C => C,
        Language::Cpp => CPP,
        Language::Python => PYTHON,
        Language::JavaScript | Language::TypeScript => JS,
    };
    std::iter::once(("wit/airlock-pass.wit", contract::WIT)).chain(own.iter().copied()).collect()
}

/// The folder `sdk` for the pass in `dir`: of its copy in `airlock/`, of the checkout that it is in, or else of a copy in the
/// cache folder.
pub fn folder(dir: &Path, language: Language) -> Result<PathBuf, BuildError> {
    let has = |sdk: &PathBuf| sdk.join(language.sdk()).is_dir() && sdk.with_file_name("wit").is_dir();
    let near = dir.ancestors().flat_map(|dir| [dir.join("airlock/sdk"), dir.join("sdk")]).find(has);
    near.map_or_else(|| cached(language), Ok)
}

/// A copy in the cache folder; its name says what is in it.
fn cached(language: Language) -> Result<PathBuf, BuildError> {
    let files = files(language);
    let mut hasher = crc32fast::Hasher::new();
    files.iter().for_each(|(_, text)| hasher.update(text.as_bytes()));
    let name = format!("sdk-{}-{}-{:08x}", language.sdk(), contract::VERSION, hasher.finalize());
    let copy = cache_folder().join(name);
    if !copy.is_dir() {
        let beside = copy.with_extension(std::process::id().to_string());
        let written =
            super::scaffold::write_all(&beside, files.iter().map(|(path, text)| (PathBuf::from(path), *text)));
        let io = |path: PathBuf| move |source| BuildError::Io { path, source };
        written.map_err(io(beside.clone()))?;
        // Another build may have been first.
        std::fs::rename(&beside, &copy)
            .or_else(|error| match copy.is_dir() {
                true => std::fs::remove_dir_all(&beside),
                false => Err(error),
            })
            .map_err(io(copy.clone()))?;
    }
    Ok(copy.join("sdk"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_every_source_of_the_sdk() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (language, folders) in [
            (Language::Rust, &["sdk/rust/src"][..]),
            (Language::C, &["sdk/c/src", "sdk/c/include", "sdk/c/bindings"]),
            (Language::Python, &["sdk/python/airlock_pass"]),
            (Language::TypeScript, &["sdk/js/airlock-pass"]),
        ] {
            for folder in folders {
                let entries = root.join(folder).read_dir().unwrap().map(|entry| entry.unwrap());
                for entry in entries.filter(|entry| entry.path().is_file()) {
                    let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
                    assert!(files(language).iter().any(|(file, _)| *file == path), "{path} is missing");
                }
            }
        }
    }

    #[test]
    fn the_nearest_sdk_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let pass = dir.path().join("passes/mine");
        for folder in ["sdk/c", "wit", "passes/mine/airlock/wit"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        assert_eq!(folder(&pass, Language::C).unwrap(), dir.path().join("sdk"));
        std::fs::create_dir_all(pass.join("airlock/sdk/c")).unwrap();
        assert_eq!(folder(&pass, Language::C).unwrap(), pass.join("airlock/sdk"));
    }
}
