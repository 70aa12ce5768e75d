//! Where passes run, in this process or in processes of their own, and how they get there.

use std::path::{Path, PathBuf};

use super::{FilePass, PassSpec};
use crate::contract::{Limits, LoadError};
#[cfg(target_os = "linux")]
use crate::sandbox::worker::{Cache, WorkerPass, Workers};
use crate::sandbox::{AnyPass, Engine, GRANTS, Pass, Symbols, SymbolsError};

/// Where passes run.
pub enum Place {
    /// In this process.
    Here(Engine),
    /// In workers, which are told these operators.
    #[cfg(target_os = "linux")]
    Apart(Workers, Vec<(String, String)>),
}

/// Why passes cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// A grant that there is not.
    #[error("there is nothing called `{grant}` to grant to a pass; there is {}", GRANTS.join(", "))]
    Grant {
        /// As it was asked for.
        grant: String,
    },
    /// A component that does not load.
    #[error("cannot load {}", path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<LoadError>,
    },
    /// Debug information that is not there.
    #[error("cannot read the debug information {}: `airlock build` writes it beside components in Rust, C and C++", path.display())]
    NoSymbols {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Debug information that does not read.
    #[error("{}: {source}", path.display())]
    Symbols {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SymbolsError,
    },
    /// Workers that do not begin.
    #[error("{0}")]
    Workers(#[from] std::io::Error),
}

/// Refuses grants that there are not.
pub fn check_grants(wanted: &[FilePass]) -> Result<(), PlaceError> {
    match wanted.iter().flat_map(|p| &p.grant).find(|g| !GRANTS.contains(&g.as_str())) {
        Some(grant) => Err(PlaceError::Grant { grant: grant.clone() }),
        None => Ok(()),
    }
}

/// Reads what `airlock build` wrote beside a component.
fn read_symbols(component: &Path) -> Result<Symbols, PlaceError> {
    let mut path = component.as_os_str().to_owned();
    path.push(".debug");
    let path = PathBuf::from(path);
    let bytes = std::fs::read(&path).map_err(|source| PlaceError::NoSymbols { path: path.clone(), source })?;
    Symbols::read(bytes).map_err(|source| PlaceError::Symbols { path, source })
}

impl Place {
    /// Returns workers for so many passes, with what was compiled before; `locates`: those that tell where in its functions a guest traps.
    #[cfg(target_os = "linux")]
    pub fn apart(
        cache: Option<std::sync::Arc<Cache>>,
        operators: Vec<(String, String)>,
        limits: &Limits,
        passes: usize,
        locates: bool,
    ) -> Result<Self, PlaceError> {
        let mut workers = Workers::of_this_program().with_cache(cache);
        workers.locates = locates;
        if passes > 1 {
            // They come up while the first is compiled or loaded.
            workers = workers.with_pool(passes.saturating_sub(1), 0, limits, &operators)?;
        }
        Ok(Place::Apart(workers, operators))
    }

    /// Loads passes; `loaded` is told of each.
    pub fn load_passes(
        &self,
        wanted: Vec<FilePass>,
        limits: &Limits,
        loaded: &dyn Fn(),
    ) -> Result<Vec<PassSpec<'_>>, PlaceError> {
        let mut specs = Vec::new();
        for FilePass { path, stage, config, options, grant: grants, symbols } in wanted {
            let symbols = (symbols && self.locates()).then(|| read_symbols(&path)).transpose()?;
            let pass = self
                .load(&path, limits)
                .map_err(|source| PlaceError::Load { path: path.clone(), source: Box::new(source) })?;
            let file = path.display().to_string();
            specs.push(PassSpec { pass, file, stage, config, options, grants, symbols });
            loaded();
        }
        Ok(specs)
    }

    /// Whether a trap is told by its place; whoever serves others does not read what they say of it.
    fn locates(&self) -> bool {
        match self {
            Place::Here(_) => true,
            #[cfg(target_os = "linux")]
            Place::Apart(workers, _) => workers.locates,
        }
    }

    /// Loads the component in a file.
    fn load(&self, path: &Path, limits: &Limits) -> Result<AnyPass<'_>, LoadError> {
        match self {
            Place::Here(engine) => Pass::load_file(path, engine, limits).map(AnyPass::Here),
            #[cfg(target_os = "linux")]
            Place::Apart(workers, operators) => {
                WorkerPass::load_file(path, workers, operators, limits).map(|p| AnyPass::Apart(Box::new(p)))
            }
        }
    }
}
