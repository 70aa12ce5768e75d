//! The Editor: every change to a Graph that is in use.
//!
//! Promises:
//! - an edit that is refused changes nothing; a batch holds whole or not at all;
//! - after every edit the graph is well formed (uses after definitions, schemas hold) and its types are what the rules say;
//! - the graph as it was is a view, never a copy; undo and the list of changes cost what was edited.
//!
//! Leaves to others: what the edits mean (`verify`), who may make them (`sandbox`, `passes`).

mod before;
mod changes;
mod edit;
mod error;
#[cfg(test)]
mod laws;
mod point;
mod record;
mod retype;

pub use before::Before;
pub use changes::Changes;
pub use edit::{Edit, Editor, NewCall};
pub use error::{EditCode, EditError};
pub use point::Point;
