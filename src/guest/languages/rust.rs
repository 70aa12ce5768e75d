//! Passes in Rust: a compiler for `wasm32-unknown-unknown`, run by cargo.

use super::cargo;
use super::rustc::Toolchain;
use crate::guest::build::Built;
use crate::guest::component::{componentize, without_debug};
use crate::guest::{BuildError, BuildOptions, Source};

/// Builds the pass with cargo.
pub fn build(source: &Source, options: &BuildOptions) -> Result<Built, BuildError> {
    let package = cargo::package(&source.dir)?;
    let toolchain = Toolchain::find(&source.dir)?;
    let path = cargo::build(&source.dir, &package, &toolchain, options)?;
    let module = std::fs::read(&path).map_err(|source| BuildError::Io { path, source })?;
    let refused = |reason| BuildError::Componentize { package: package.name.clone(), reason };
    let stripped = without_debug(&module).map_err(refused)?;
    let component = componentize(stripped.as_ref().unwrap_or(&module)).map_err(refused)?;
    let debug = stripped.is_some().then_some(module);
    let toolchain = format!("{} {}", toolchain.rustc.display(), toolchain.version);
    Ok(Built { name: package.name, component, debug, toolchain })
}
