//! A language a file: finding its toolchain, and making a component with it.

pub mod c;
mod cargo;
pub mod javascript;
pub mod python;
pub mod rust;
mod rustc;

pub use rustc::cache_folder;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BuildError, Source};

/// The file with the pass: the one that is called `expected`, or the only one.
pub fn entry<'s>(source: &'s Source, language: &'static str, expected: &'static str) -> Result<&'s Path, BuildError> {
    let is_pass = |file: &&PathBuf| file.file_name().is_some_and(|name| name == expected);
    let only = || source.files.first().filter(|_| source.files.len() == 1);
    let file = source.files.iter().find(is_pass).or_else(only);
    file.map(PathBuf::as_path).ok_or_else(|| BuildError::NoEntry { dir: source.dir.clone(), language, expected })
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::Language;

    #[test]
    fn the_pass_is_the_only_file_or_the_one_that_is_called_so() {
        let source = |files: &[&str]| {
            let files = files.iter().map(PathBuf::from).collect();
            Source { language: Language::Python, dir: "/p".into(), files, name: "p".into() }
        };
        let entry = |files: &[&str]| entry(&source(files), "Python", "pass.py").map(Path::to_owned);
        assert_eq!(entry(&["/p/fold.py"]).unwrap(), Path::new("/p/fold.py"));
        assert_eq!(entry(&["/p/a.py", "/p/pass.py"]).unwrap(), Path::new("/p/pass.py"));
        assert!(matches!(entry(&["/p/a.py", "/p/b.py"]), Err(BuildError::NoEntry { .. })));
    }
}
