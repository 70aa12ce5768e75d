//! The text form: what PyTorch prints for an exported program, read and written.
//!
//! [`read`] takes what `print(exported_program)` and `graph_module.print_readable()` give (PyTorch 2.5 to 2.15) and returns an *unchecked*
//! graph; `analysis::form` and `ops` check it. [`write()`] gives what PyTorch 2.15 prints, line by line. [`case::read`] takes two programs in
//! one file. Nothing is executed or imported: a text is data.
//!
//! Promises: linear in the text; no recursion deeper than lists may nest; a fault is a [`TextError`] with its line and a caret; reading what
//! was written gives the same graph (names, order, arguments, types, signature, ranges).

mod annotation;
pub mod calling;
pub mod case;
mod comment;
mod cursor;
pub mod domain;
mod error;
mod pyrepr;
mod read;
mod signature;
mod statement;
mod target;
mod value;
mod write;

pub use error::{TextError, TextFault, shown};
pub use read::{ReadOptions, read, read_bytes};
pub use value::literal;
pub use write::{Unwritable, show_form_error, write, write_node_line, write_readable};
