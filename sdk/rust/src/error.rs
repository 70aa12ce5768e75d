//! Errors of a pass: a refused edit, or the pass's own words.

use std::fmt;

use crate::Node;
use crate::bindings::airlock::pass::graph::BatchError;
use crate::bindings::airlock::pass::types::{EditCode, EditError};

/// What a pass returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a pass, or one of its edits, failed.
///
/// A pass can act on it, or hand it on with `?`: the host then drops the pass's edits and shows the error.
///
/// ```
/// use airlock_pass::{EditCode, Error, Node, Result};
///
/// fn erase_if_unused(node: Node) -> Result<bool> {
///     match node.erase() {
///         Ok(()) => Ok(true),
///         Err(error) if error.code() == Some(EditCode::StillUsed) => Ok(false),
///         Err(error) => Err(error),
///     }
/// }
///
/// fn option_missing() -> Result<()> {
///     Err(Error::new("option `stream` is missing"))
/// }
/// # assert_eq!(option_missing().unwrap_err().to_string(), "option `stream` is missing");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The host refused an edit or a read.
    Edit(EditError),
    /// The host refused a batch because of one of its edits.
    Batch {
        /// The edit's position in the batch.
        index: usize,
        /// Why it was refused.
        error: EditError,
    },
    /// The pass gives up.
    Pass(String),
}

impl Error {
    /// An error in the pass's own words.
    pub fn new(message: impl Into<String>) -> Error {
        Error::Pass(message.into())
    }

    /// What kind of refusal it is; nothing for the pass's own errors.
    pub fn code(&self) -> Option<EditCode> {
        self.edit().map(|error| error.code)
    }

    /// The node that it is about.
    pub fn node(&self) -> Option<Node> {
        self.edit()?.node.map(Node::from_id)
    }

    /// The argument that it is about: a position or a keyword.
    pub fn argument(&self) -> Option<&str> {
        self.edit()?.argument.as_deref()
    }

    fn edit(&self) -> Option<&EditError> {
        match self {
            Error::Edit(error) | Error::Batch { error, .. } => Some(error),
            Error::Pass(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Edit(error) => write_edit(f, error),
            Error::Batch { index, error } => {
                write!(f, "edit {index} of the batch: ")?;
                write_edit(f, error)
            }
            Error::Pass(message) => f.write_str(message),
        }
    }
}

fn write_edit(f: &mut fmt::Formatter<'_>, error: &EditError) -> fmt::Result {
    let code = match error.code {
        EditCode::Stale => "stale node",
        EditCode::UnknownTarget => "unknown target",
        EditCode::BadArgument => "bad argument",
        EditCode::TypeMismatch => "type mismatch",
        EditCode::UseBeforeDefinition => "use before definition",
        EditCode::StillUsed => "still used",
        EditCode::NotAllowed => "not allowed",
        EditCode::OverLimit => "over limit",
    };
    f.write_str(code)?;
    if let Some(argument) = &error.argument {
        write!(f, " (argument {argument})")?;
    }
    write!(f, ": {}", error.message)
}

impl std::error::Error for Error {}

impl From<EditError> for Error {
    fn from(error: EditError) -> Error {
        Error::Edit(error)
    }
}

impl From<BatchError> for Error {
    fn from(error: BatchError) -> Error {
        Error::Batch { index: error.index as usize, error: error.error }
    }
}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error::Pass(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::Pass(message.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> EditError {
        EditError {
            code: EditCode::TypeMismatch,
            node: Some(5),
            argument: Some("1".into()),
            message: "`mm` takes f32[4, 3], found f32[3, 4]".into(),
        }
    }

    #[test]
    fn a_refused_edit_says_what_argument_and_why() {
        let error = Error::from(refused());
        assert_eq!(error.code(), Some(EditCode::TypeMismatch));
        assert_eq!(error.node(), Some(Node::from_id(5)));
        assert_eq!(error.argument(), Some("1"));
        assert_eq!(error.to_string(), "type mismatch (argument 1): `mm` takes f32[4, 3], found f32[3, 4]");
    }

    #[test]
    fn a_refused_batch_says_which_edit() {
        let error = Error::from(BatchError { index: 3, error: refused() });
        assert!(error.to_string().starts_with("edit 3 of the batch: type mismatch"));
        assert_eq!(error.code(), Some(EditCode::TypeMismatch));
    }

    #[test]
    fn an_error_of_the_pass_is_its_own_words() {
        let error = Error::from("no such stream");
        assert_eq!(error.code(), None);
        assert_eq!(error.to_string(), "no such stream");
    }
}
