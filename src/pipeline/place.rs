//! Where passes run, in this process or in processes of their own, and how they get there.

use std::path::{Path, PathBuf};

use super::{FilePass, PassSpec};
use crate::contract::{Limits, LoadError};
#[cfg(target_os = "linux")]
use crate::sandbox::worker::{Cache, WorkerPass, Workers};
use crate::sandbox::{AnyPass, Engine, GRANTS, Pass};

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

impl Place {
    /// Returns workers for so many passes, with what was compiled before.
    #[cfg(target_os = "linux")]
    pub fn apart(
        cache: Option<std::sync::Arc<Cache>>,
        operators: Vec<(String, String)>,
        limits: &Limits,
        passes: usize,
    ) -> Result<Self, PlaceError> {
        let mut workers = Workers::of_this_program().with_cache(cache);
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
        for FilePass { path, stage, config, options, grant: grants } in wanted {
            let pass = self
                .load(&path, limits)
                .map_err(|source| PlaceError::Load { path: path.clone(), source: Box::new(source) })?;
            specs.push(PassSpec { pass, file: path.display().to_string(), stage, config, options, grants });
            loaded();
        }
        Ok(specs)
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
