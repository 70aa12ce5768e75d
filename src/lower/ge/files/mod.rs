//! GE graphs in files, in the four forms in which TorchAir dumps them.
//!
//! - `ge.proto`: the messages; `generated`: what prost makes of it (`AIRLOCK_UPDATE=1 cargo test --test it ge_proto`);
//! - `bin`: the serialized model; `lean`: the same without what nobody computes by; `text`: protobuf text; `pbtxt`: for viewers; `python`: calls that rebuild the graph;
//! - `form`: which of them a file has.

mod bin;
mod form;
mod lean;
#[rustfmt::skip]
pub(in crate::lower::ge) mod generated;
mod pbtxt;
mod python;
mod text;

pub use bin::read as decode;
pub use form::{FileError, Format, encode, read_file, write_file};
pub use lean::read as decode_lean;
pub(in crate::lower::ge) use text::attribute;
