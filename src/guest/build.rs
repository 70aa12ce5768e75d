//! From a guest's folder to a component file.

use std::io::Write;
use std::path::{Path, PathBuf};

use wit_component::ComponentEncoder;

use super::{BuildError, Toolchain, cargo};
use crate::contract::{self, Limits, Preflight};

/// How to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Cargo says nothing but errors.
    pub quiet: bool,
}

/// What was built, and with what.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The package's name.
    pub package: String,
    /// The component file.
    pub component: PathBuf,
    /// Its size.
    pub bytes: usize,
    /// The compiler that was used.
    pub toolchain: Toolchain,
    /// What the component takes from the host and gives it.
    pub contract: Preflight,
}

/// Builds the pass in `dir` and writes its component to `out` (`None`: `NAME.wasm` in the current folder).
///
/// Cargo's own messages go to standard error. The file appears whole or not at all, and only if it fits the contract.
pub fn build(dir: &Path, out: Option<&Path>, options: &BuildOptions) -> Result<BuildReport, BuildError> {
    let package = cargo::package(dir)?;
    let toolchain = Toolchain::find(dir)?;
    let module_path = cargo::build(dir, &package, &toolchain, options)?;
    let module = std::fs::read(&module_path).map_err(|source| BuildError::Io { path: module_path, source })?;
    let component =
        componentize(&module).map_err(|reason| BuildError::Componentize { package: package.name.clone(), reason })?;
    let contract = contract::check(&package.name, &component, &Limits::default()).map_err(Box::new)?;
    let path = out.map_or_else(|| PathBuf::from(format!("{}.wasm", package.name)), Path::to_owned);
    write_component(&path, &component)?;
    Ok(BuildReport { package: package.name, component: path, bytes: component.len(), toolchain, contract })
}

/// Wraps a core module that carries the types of its world, as `wit-bindgen` writes them.
fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let encoder = ComponentEncoder::default().module(module);
    let encoded = encoder.and_then(|encoder| encoder.validate(true).encode());
    encoded.map_err(|error| format!("{error:#}"))
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
    fn a_module_without_a_world_is_no_pass() {
        let module = wat::parse_str("(module)").unwrap();
        let component = componentize(&module).unwrap();
        let error = contract::check("p", &component, &Limits::default()).unwrap_err();
        assert!(matches!(error, contract::LoadError::MissingExport { .. }), "{error}");
    }

    #[test]
    fn a_module_with_an_unknown_import_does_not_become_a_component() {
        let module = wat::parse_str("(module (import \"env\" \"open\" (func)))").unwrap();
        let reason = componentize(&module).unwrap_err();
        assert!(reason.contains("env"), "{reason}");
    }

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
