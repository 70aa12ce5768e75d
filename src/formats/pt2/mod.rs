//! The `.pt2` archive of `torch.export.save`: read as PyTorch 2.5 to 2.15 write it (schema 7 and 8), written as 2.15 does.
//!
//! A `.pt2` file is a zip: one entry a storage with raw bytes, two JSON tables that place tensors in them, and `models/model.json`, the
//! program. PyTorch 2.8 and before pickle the weights, which `formats::pickle` reads, and 2.5 to 2.7 have no folder (`container`). `read` gives the Graph that PyTorch's loader would make of it: same nodes, names, order, positional and keyword arguments.
//!
//! Promises:
//! - weights are cuts of the mapped file and are never decoded; metadata of nodes stays in the file's JSON, as spans;
//! - memory for reading is bounded: compressed entries together inflate to at most 64 times the file (or 1 MiB), and the parsed form is
//!   at most a small multiple of the JSON; nesting is at most 127 levels deep;
//! - bad input is a [`Pt2Error`] that names file, entry, place, expected and found; never a panic.
//!
//! Leaves to others: whether the graph is well formed beyond names and order (`editor`), what its operators mean (`ops`), the values of
//! weights (`exec`). What PyTorch does not check on loading, such as whether types fit the operators, is not checked here either.

mod archive;
mod body;
mod container;
mod document;
mod error;
mod folds;
mod operands;
mod pickled;
mod python;
mod read;
mod schema;
mod signature;
mod target;
mod values;
mod weights;
mod write;
mod write_body;
mod write_operands;
mod write_program;
mod write_shown;
mod write_signature;
mod write_values;
mod zip_out;

pub use error::{Problem, Pt2Error};
pub use read::{is_pt2, read, read_bytes};
pub use write::{write, write_as, write_to};
