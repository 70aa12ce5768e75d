//! A pass to start from.
//!
//! The new folder stands by itself: it carries a copy of the SDK and of the contract in `airlock/`, so that it builds the
//! same pass wherever it goes. It appears whole or not at all.

use std::path::{Path, PathBuf};

use super::{Language, ScaffoldError, sdk};

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
    let files: Vec<(&'static str, String)> =
        template(language).iter().chain(CASES).map(|(path, text)| (*path, text.replace("NAME", &name))).collect();
    let beside = beside(dir);
    let sdk = sdk::files(language);
    let copy = sdk.iter().map(|(path, text)| (Path::new("airlock").join(path), *text));
    let own = files.iter().map(|(path, text)| (PathBuf::from(path), text.as_str()));
    let written = write_all(&beside, own.chain(copy))
        .map_err(|source| ScaffoldError::Io { path: beside.clone(), source })
        .and_then(|()| put_in_place(&beside, dir));
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

pub(super) fn write_all<'t>(dir: &Path, files: impl Iterator<Item = (PathBuf, &'t str)>) -> std::io::Result<()> {
    for (path, text) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(dir))?;
        std::fs::write(&path, text)?;
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

/// What the pass must come to, in every language: `airlock test` in its folder looks.
const CASES: &[(&str, &str)] = &[
    ("cases/double.case", include_str!("templates/double.case")),
    ("cases/single.case", include_str!("templates/single.case")),
];

/// The author's files, in which `NAME` stands for the name of the pass.
fn template(language: Language) -> &'static [(&'static str, &'static str)] {
    match language {
        Language::Rust => &[
            ("Cargo.toml", include_str!("templates/rust/Cargo.toml")),
            ("src/lib.rs", include_str!("templates/rust/lib.rs")),
            ("README.md", include_str!("templates/rust/README.md")),
            (".gitignore", "/target\n*.wasm\n"),
        ],
        Language::C => &[
            ("pass.c", include_str!("templates/c/pass.c")),
            ("README.md", include_str!("templates/c/README.md")),
            ("compile_flags.txt", "-std=c11\n-Iairlock/sdk/c/include\n-Iairlock/sdk/c/bindings\n"),
            (".gitignore", "*.wasm\n"),
        ],
        Language::Cpp => &[
            ("pass.cpp", include_str!("templates/cpp/pass.cpp")),
            ("README.md", include_str!("templates/cpp/README.md")),
            (
                "compile_flags.txt",
                "-std=c++20\n-Iairlock/sdk/cpp/include\n-Iairlock/sdk/c/include\n-Iairlock/sdk/c/bindings\n",
            ),
            (".gitignore", "*.wasm\n"),
        ],
        Language::Python => &[
            ("pass.py", include_str!("templates/python/pass.py")),
            ("README.md", include_str!("templates/python/README.md")),
            (".gitignore", "*.wasm\n__pycache__/\n"),
        ],
        Language::JavaScript => &[
            ("pass.js", include_str!("templates/javascript/pass.js")),
            ("README.md", include_str!("templates/javascript/README.md")),
            ("package.json", include_str!("templates/javascript/package.json")),
            ("jsconfig.json", include_str!("templates/javascript/jsconfig.json")),
            (".gitignore", "*.wasm\nnode_modules/\n"),
        ],
        Language::TypeScript => &[
            ("pass.ts", include_str!("templates/typescript/pass.ts")),
            ("README.md", include_str!("templates/typescript/README.md")),
            ("package.json", include_str!("templates/typescript/package.json")),
            ("tsconfig.json", include_str!("templates/typescript/tsconfig.json")),
            (".gitignore", "*.wasm\nnode_modules/\n"),
        ],
    }
}

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
}
