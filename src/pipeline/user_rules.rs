//! Rules that a user states, from files: each is admitted before it is used.

use std::path::{Path, PathBuf};

use super::cases::{CaseFault, text};
use super::load;
use crate::formats::text::{ReadOptions, case};
use crate::ops::Registry;
use crate::verify::{NotAdmitted, UserRule, UserRules, admit};

/// Why the rules of a file are not used.
#[derive(Debug, thiserror::Error)]
pub enum RuleFault {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] CaseFault),
    /// It is not admitted.
    #[error("{file}: {source}")]
    Refused {
        /// The file.
        file: String,
        /// Why.
        source: NotAdmitted,
    },
}

/// Reads a rule, a `.case` whose label says how equal its two graphs are, and admits it.
///
/// # Errors
/// A file that is no case, or a rule that is not admitted.
pub fn admitted(file: &Path, registry: &Registry) -> Result<UserRule, RuleFault> {
    let name = file.display().to_string();
    let bytes = load::bytes(file).map_err(CaseFault::from)?;
    let case = case::read(text(file, bytes.as_slice())?, &ReadOptions::of_file(&name)).map_err(CaseFault::from)?;
    admit(&case, registry).map_err(|source| RuleFault::Refused { file: name, source })
}

/// Reads and admits rules, in order.
///
/// # Errors
/// The first file that is none.
pub fn read(files: &[PathBuf], registry: &Registry) -> Result<UserRules, RuleFault> {
    let rules = files.iter().map(|file| admitted(file, registry)).collect::<Result<_, _>>()?;
    Ok(UserRules::new(rules))
}
