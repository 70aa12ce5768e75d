//! The GE graph that TorchAir's max-autotune mode hands to the NPU's graph engine, its files, and its comparison.
//!
//! - `proto`, `operators`: the messages; what each GE operator looks like.
//! - `files` with `text`, `viewer`, `python`: the four forms in which TorchAir dumps a graph; `.bin` is read back.
//! - `compare`: whether two graphs are the same, up to what means nothing.

pub mod compare;
pub mod files;
pub mod operators;
pub mod proto;
mod python;
mod text;
mod viewer;

pub use compare::{Comparison, compare};
pub use files::{FileError, Format, decode, encode, read_file, write_file};
pub use proto::GraphDef;
