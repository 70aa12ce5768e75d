//! A language a file: finding its toolchain, and making a component with it.

pub mod c;
mod cargo;
pub mod python;
pub mod rust;
mod rustc;

pub use rustc::cache_folder;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::BuildError;

/// A folder of one's own among the temporary files.
pub fn work_folder() -> Result<PathBuf, BuildError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = cache_folder().join("work").join(name);
    let io = |source| BuildError::Io { path: folder.clone(), source };
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(io)?;
    }
    std::fs::create_dir_all(&folder).map_err(io)?;
    Ok(folder)
}

/// A program of the path.
pub fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}
