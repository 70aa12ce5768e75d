//! Languages that passes are written in, and which one a path is of.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{BuildError, ScaffoldError};

/// A language that passes can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, with the crate `airlock-pass`.
    Rust,
    /// C, with `airlock.h`.
    C,
    /// C++, with `airlock.hpp` over the C SDK.
    Cpp,
    /// Python, with the package `airlock_pass`.
    Python,
    /// JavaScript, with the package `airlock-pass`.
    JavaScript,
    /// TypeScript, with the same package and its types.
    TypeScript,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 6] =
        [Language::Rust, Language::C, Language::Cpp, Language::Python, Language::JavaScript, Language::TypeScript];

    /// The name by which the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::C => "c",
            Language::Cpp => "cpp",
            Language::Python => "python",
            Language::JavaScript => "javascript",
            Language::TypeScript => "typescript",
        }
    }

    /// The names of all languages.
    pub fn names() -> Vec<&'static str> {
        Language::ALL.map(Language::name).to_vec()
    }

    /// The folder of its SDK below `sdk/`.
    pub(super) fn sdk(self) -> &'static str {
        match self {
            Language::JavaScript | Language::TypeScript => "js",
            _ => self.name(),
        }
    }

    /// The endings of its sources.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Language::Rust => &["rs"],
            Language::C => &["c"],
            Language::Cpp => &["cpp", "cc", "cxx"],
            Language::Python => &["py"],
            Language::JavaScript => &["js", "mjs"],
            Language::TypeScript => &["ts", "mts"],
        }
    }

    fn of_file(path: &Path) -> Option<Language> {
        // Declarations of TypeScript are about sources, and none.
        if path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(".d")) {
            return None;
        }
        let ending = path.extension()?.to_str()?;
        Language::ALL.into_iter().find(|language| language.endings().contains(&ending))
    }
}

impl FromStr for Language {
    type Err = ScaffoldError;

    fn from_str(text: &str) -> Result<Language, ScaffoldError> {
        let found = Language::ALL.into_iter().find(|language| language.name() == text);
        found.ok_or_else(|| ScaffoldError::UnknownLanguage { found: text.to_owned(), known: Language::names() })
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The sources of a pass.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// In what they are written.
    pub language: Language,
    /// The folder of the pass; its last part names the pass, unless the language's own manifest does.
    pub dir: PathBuf,
    /// The files in it that are the pass, sorted. Of Rust none: cargo knows.
    pub files: Vec<PathBuf>,
    /// What the component is called.
    pub name: String,
}

impl Source {
    /// Looks at a path: one source file, or the folder of a pass. Of a folder its own files count and those of `src/`.
    pub fn of(path: &Path) -> Result<Source, BuildError> {
        let io = |source| BuildError::Io { path: path.to_owned(), source };
        let whole = path.canonicalize().map_err(io)?;
        let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if whole.is_file() {
            let language = Language::of_file(&whole).filter(|language| *language != Language::Rust);
            let language = language.ok_or_else(|| BuildError::NoSource { path: path.to_owned() })?;
            let dir = whole.parent().unwrap_or(Path::new("/")).to_owned();
            return Ok(Source { language, dir, name: stem(&whole), files: vec![whole] });
        }
        let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if whole.join("Cargo.toml").is_file() {
            return Ok(Source { language: Language::Rust, dir: whole, files: Vec::new(), name });
        }
        let mut files = source_files(&whole).map_err(io)?;
        files.extend(source_files(&whole.join("src")).unwrap_or_default());
        let has = |language: &Language| files.iter().any(|file| Language::of_file(file) == Some(*language));
        // A C++ pass may have files in C, one in TypeScript files in JavaScript; a script beside sources that are compiled is a
        // tool of theirs.
        let order = [Language::Cpp, Language::C, Language::TypeScript, Language::JavaScript, Language::Python];
        let language = order.into_iter().find(has);
        let language = language.ok_or_else(|| BuildError::NoSource { path: path.to_owned() })?;
        files.retain(|file| {
            let of = Language::of_file(file);
            of == Some(language) || (language == Language::Cpp && of == Some(Language::C))
        });
        Ok(Source { language, dir: whole, files, name })
    }
}

fn source_files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = dir.read_dir()?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file() && Language::of_file(path).is_some());
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_of_the_language_of_its_sources() {
        let dir = tempfile::tempdir().unwrap();
        let pass = dir.path().join("my-pass");
        std::fs::create_dir_all(pass.join("src")).unwrap();
        assert!(matches!(Source::of(&pass), Err(BuildError::NoSource { .. })));
        std::fs::write(pass.join("src/b.c"), "").unwrap();
        std::fs::write(pass.join("a.c"), "").unwrap();
        let source = Source::of(&pass).unwrap();
        assert_eq!((source.language, source.name.as_str(), source.files.len()), (Language::C, "my-pass", 2));
        std::fs::write(pass.join("tables.py"), "").unwrap();
        let source = Source::of(&pass).unwrap();
        assert_eq!((source.language, source.files.len()), (Language::C, 2), "a script beside it is no pass");
        std::fs::write(pass.join("c.cpp"), "").unwrap();
        let source = Source::of(&pass).unwrap();
        assert_eq!((source.language, source.files.len()), (Language::Cpp, 3));
        std::fs::write(pass.join("Cargo.toml"), "").unwrap();
        assert_eq!(Source::of(&pass).unwrap().language, Language::Rust);
    }

    #[test]
    fn a_folder_with_typescript_is_no_javascript_and_declarations_are_no_source() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["pass.js", "types.d.ts", "tool.py"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let source = Source::of(dir.path()).unwrap();
        assert_eq!((source.language, source.files.len()), (Language::JavaScript, 1));
        std::fs::write(dir.path().join("pass.ts"), "").unwrap();
        assert_eq!(Source::of(dir.path()).unwrap().language, Language::TypeScript);
    }

    #[test]
    fn one_file_is_a_pass_that_has_its_name() {
        let dir = tempfile::tempdir().unwrap();
        for other in ["other.c", "fold.c", "lib.rs", "notes.txt"] {
            std::fs::write(dir.path().join(other), "").unwrap();
        }
        let source = Source::of(&dir.path().join("fold.c")).unwrap();
        assert_eq!((source.name.as_str(), source.files.len()), ("fold", 1));
        for no_pass in ["lib.rs", "notes.txt"] {
            assert!(matches!(Source::of(&dir.path().join(no_pass)), Err(BuildError::NoSource { .. })), "{no_pass}");
        }
    }

    #[test]
    fn a_language_without_an_sdk_is_named_with_those_that_have_one() {
        let error = Language::from_str("cobol").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no SDK for `cobol`: there is one for rust, c, cpp, python, javascript, typescript"),
            "{error}"
        );
    }
}
