//! A pass to start from.
//!
//! The new folder stands by itself: it carries a copy of the SDK and of the contract in `airlock/`, so that it builds the
//! same pass wherever it goes. It appears whole or not at all.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{ScaffoldError, sdk};

/// A language that passes can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, with the crate `airlock-pass`.
    Rust,
}

impl Language {
    /// The names of all languages.
    pub const NAMES: [&'static str; 1] = ["rust"];
}

impl FromStr for Language {
    type Err = ScaffoldError;

    fn from_str(text: &str) -> Result<Language, ScaffoldError> {
        match text {
            "rust" => Ok(Language::Rust),
            _ => Err(ScaffoldError::UnknownLanguage { found: text.to_owned(), known: Language::NAMES.to_vec() }),
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scaffolded {
    /// The name of the pass.
    pub name: String,
    /// The files for the author, below the folder; the SDK's copy is not among them.
    pub files: Vec<&'static str>,
}

/// Writes a new pass into `dir`, which must not exist or be empty. The folder's name becomes the pass's.
pub fn scaffold(dir: &Path, language: Language) -> Result<Scaffolded, ScaffoldError> {
    let name = name_of(dir)?;
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file() {
        return Err(ScaffoldError::NotEmpty { dir: dir.to_owned() });
    }
    let files = match language {
        Language::Rust => rust_files(&name),
    };
    let beside = beside(dir);
    let copy = sdk::FILES.iter().map(|(path, text)| (Path::new("airlock").join(path), *text));
    let own = files.iter().map(|(path, text)| (PathBuf::from(path), text.as_str()));
    let written = write_all(&beside, own.chain(copy)).and_then(|()| put_in_place(&beside, dir));
    if beside.is_dir() {
        let _ = std::fs::remove_dir_all(&beside);
    }
    written?;
    Ok(Scaffolded { name, files: files.iter().map(|(path, _)| *path).collect() })
}

fn name_of(dir: &Path) -> Result<String, ScaffoldError> {
    // `.` and `..` have no name of their own.
    let resolved = match dir.file_name() {
        Some(_) => dir.to_owned(),
        None => dir.canonicalize().unwrap_or_default(),
    };
    let name = resolved.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase());
    match starts_well && name.chars().all(allowed) {
        true => Ok(name),
        false => Err(ScaffoldError::BadName { name }),
    }
}

/// A name beside the folder, for what is not whole yet.
fn beside(dir: &Path) -> PathBuf {
    let whole = match dir.file_name() {
        Some(_) => dir.to_owned(),
        None => dir.canonicalize().unwrap_or_else(|_| dir.to_owned()),
    };
    let mut name = whole.into_os_string();
    name.push(format!(".{}.partial", std::process::id()));
    PathBuf::from(name)
}

fn write_all<'t>(dir: &Path, files: impl Iterator<Item = (PathBuf, &'t str)>) -> Result<(), ScaffoldError> {
    for (path, text) in files {
        let path = dir.join(path);
        let folder = path.parent().unwrap_or(dir);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|source| ScaffoldError::Io { path, source })?;
    }
    Ok(())
}

/// Renames the folder, or where it is there (it is empty, and may be somebody's current folder) what is in it.
fn put_in_place(beside: &Path, dir: &Path) -> Result<(), ScaffoldError> {
    let io = |source| ScaffoldError::Io { path: dir.to_owned(), source };
    if !dir.is_dir() {
        return std::fs::rename(beside, dir).map_err(io);
    }
    for entry in beside.read_dir().map_err(io)? {
        let entry = entry.map_err(io)?;
        std::fs::rename(entry.path(), dir.join(entry.file_name())).map_err(io)?;
    }
    Ok(())
}

fn rust_files(name: &str) -> Vec<(&'static str, String)> {
    let fill = |template: &str| template.replace("NAME", name);
    vec![
        ("Cargo.toml", fill(CARGO_TOML)),
        ("src/lib.rs", fill(LIB_RS)),
        ("README.md", fill(README)),
        (".gitignore", "/target\n*.wasm\n".to_owned()),
    ]
}

const CARGO_TOML: &str = r#"[package]
name = "NAME"
version = "0.1.0"
edition = "2024"
description = "Removes double negations"
publish = false

[lib]
crate-type = ["cdylib"]

[dependencies]
# A copy of the SDK. It may be replaced by the crate of that name, or by a checkout.
airlock-pass = { path = "airlock/sdk/rust" }

# A workspace of its own, also below another one.
[workspace]

[profile.release]
opt-level = "s"
lto = true
panic = "abort"
codegen-units = 1
# Keeps the names of functions: a trap can then say where it happened.
strip = "debuginfo"
"#;

const LIB_RS: &str = r#"//! A pass: negating twice is the identity.

use airlock_pass::{Graph, Outcome, Result, pass};

const NEG: &str = "aten.neg.default";

fn run(graph: Graph) -> Result<Outcome> {
    let mut edits = 0;
    for outer in graph.find_nodes(NEG) {
        let inner = outer.input(0)?;
        if inner.is_call(NEG) {
            outer.replace_all_uses_with(inner.input(0)?)?;
            graph.erase_node(outer)?;
            edits += 1;
        }
    }
    Ok(Outcome::edits(edits))
}

pass!(run);
"#;

const README: &str = r#"# NAME

A graph pass for Airlock.

    airlock build . -o NAME.wasm
    airlock run model.pt2 --pass NAME.wasm -o edited.pt2

`src/lib.rs` is the pass, `airlock/` a copy of the SDK (`cargo doc -p airlock-pass --open` shows its words).
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_pass_has_the_name_of_its_folder_and_a_copy_of_the_sdk() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("fold-scales");
        let written = scaffold(&dir, Language::Rust).unwrap();
        assert_eq!(written.name, "fold-scales");
        let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"fold-scales\""));
        assert!(dir.join("airlock/sdk/rust/src/lib.rs").is_file());
        assert!(dir.join("airlock/wit/airlock-pass.wit").is_file());
        assert_eq!(parent.path().read_dir().unwrap().count(), 1, "nothing half-made is left");
    }

    #[test]
    fn an_empty_folder_may_become_a_pass() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("here");
        std::fs::create_dir(&dir).unwrap();
        assert!(scaffold(&dir, Language::Rust).is_ok());
    }

    #[test]
    fn what_is_there_is_never_written_over() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("mine");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("notes"), "keep").unwrap();
        assert!(matches!(scaffold(&dir, Language::Rust), Err(ScaffoldError::NotEmpty { .. })));
        assert_eq!(dir.read_dir().unwrap().count(), 1);
    }

    #[test]
    fn a_name_that_cargo_would_refuse_is_refused() {
        for name in ["1st", "naïve", "a b", "-x"] {
            let dir = tempfile::tempdir().unwrap().path().join(name);
            assert!(matches!(scaffold(&dir, Language::Rust), Err(ScaffoldError::BadName { .. })), "{name}");
        }
    }

    #[test]
    fn a_language_without_an_sdk_is_named_with_those_that_have_one() {
        let error = Language::from_str("cobol").unwrap_err();
        assert_eq!(error.to_string(), "no SDK for `cobol`: there is one for rust");
    }
}
