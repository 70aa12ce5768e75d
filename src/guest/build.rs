//! From a guest's sources to a component file.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::languages::{c, javascript, python, rust};
use super::{BuildError, Language, Source};
use crate::contract::{self, Limits, Preflight};

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Compilers say nothing but errors and warnings.
    pub quiet: bool,
}

/// What was built, and with what.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The pass's name, as its sources have it.
    pub package: String,
    /// In what it is written.
    pub language: Language,
    /// The component file.
    pub component: PathBuf,
    /// Its size.
    pub bytes: usize,
    /// The file beside it with its debug information, where the language has it apart.
    pub debug: Option<PathBuf>,
    /// What built it, for people.
    pub toolchain: String,
    /// What the component takes from the host and gives it.
    pub contract: Preflight,
}

/// A component that is in no file yet.
pub struct Built {
    /// The pass's name.
    pub name: String,
    /// The component.
    pub component: Vec<u8>,
    /// The core module that it was made of, with its debug information, where the language has it apart.
    pub debug: Option<Vec<u8>>,
    /// What built it, for people.
    pub toolchain: String,
}

/// Builds the pass at `path`, a folder or one source file, and writes its component to `out` (`None`: `NAME.wasm` in the
/// current folder).
///
/// Debug information stands in `OUT.debug`, for the author: nothing of it is in the component but the names of functions. Compilers' own messages go to standard error. The file appears whole or not at all, and only if it fits the contract.
pub fn build(path: &Path, out: Option<&Path>, options: &BuildOptions) -> Result<BuildReport, BuildError> {
    let source = Source::of(path)?;
    let built = match source.language {
        Language::Rust => rust::build(&source, options),
        Language::C | Language::Cpp => c::build(&source),
        Language::Python => python::build(&source, options),
        Language::JavaScript | Language::TypeScript => javascript::build(&source),
    }?;
    let Built { name, component, debug, toolchain } = built;
    let contract = contract::check(&name, &component, &Limits::default()).map_err(Box::new)?;
    let path = out.map_or_else(|| PathBuf::from(format!("{name}.wasm")), Path::to_owned);
    write_component(&path, &component)?;
    let debug = debug.map(|module| write_debug(&path, &module)).transpose()?;
    let (language, bytes) = (source.language, component.len());
    Ok(BuildReport { package: name, language, component: path, bytes, debug, toolchain, contract })
}

fn write_debug(component: &Path, module: &[u8]) -> Result<PathBuf, BuildError> {
    let mut path = component.as_os_str().to_owned();
    path.push(".debug");
    let path = PathBuf::from(path);
    write_component(&path, module)?;
    Ok(path)
}

/// Writes the file, and makes its folder where it is not there.
fn write_component(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::Io { path, source }
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(io(folder))?;
    }
    crate::formats::write_whole(path, |file| file.write_all(bytes)).map_err(io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("out.wasm");
        std::fs::create_dir_all(taken.join("full")).unwrap();
        assert!(matches!(write_component(&taken, b"x"), Err(BuildError::Io { .. })));
        assert_eq!(dir.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn folders_of_the_output_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/out.wasm");
        write_component(&path, b"x").unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"x");
    }
}
