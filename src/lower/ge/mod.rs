//! The GE graph that TorchAir's max-autotune mode hands to the NPU's graph engine, its files, and its comparison.
//!
//! - `draft`: a graph in the making, by numbers, and its bytes.
//! - `proto`, `operators`: the messages; what each GE operator looks like. `written`: a graph as it stands in its bytes.
//! - `files`: the four forms in which TorchAir dumps a graph; `.bin` is read back.
//! - `compare`: whether two graphs are the same, up to what means nothing.
//! - `define`: what each GE operator computes; `raise`: a GE graph back to a graph, by that alone.
//! - `lowering`: from FX; with `arguments`, `outputs`, `convert` (operators, a file a family), `views` (put off), `scopes` (streams), `metas` (types),
//!   `builder`, `draws` and `literal` (making operators, random states and constants), `expand` and `bodies` (operators
//!   without a converter), `writes` (what `copy_` means for later readers), `cleanup` and `transposes` (what TorchAir does at the end).

mod arguments;
mod bodies;
mod builder;
mod cleanup;
pub mod compare;
mod convert;
mod define;
mod draft;
mod draws;
mod expand;
pub mod files;
mod literal;
mod lowering;
mod metas;
pub mod operators;
mod outputs;
pub mod proto;
mod raise;
mod scopes;
mod transposes;
mod types;
mod value;
mod views;
mod writes;
mod written;

pub use bodies::inlined;
pub use compare::{Comparison, compare};
pub use convert::targets;
pub use define::{
    defined,
    fields::{held, is_held},
};
pub use draft::Draft;
pub use files::{FileError, Format, decode, decode_lean, encode, read_file, write_file};
pub use lowering::{LowerError, Lowered, Options, Remark, Unsupported, draft, lower, lower_with};
pub use proto::GraphDef;
pub use raise::{
    ANY_OF_EQUALS, ONE_IS_ROUNDED, Opaque, ROW_IS_ADDED, RaiseError, Raised, biased, by_definition, by_form,
    comparable, named_alike, one_by_one, raise, rounded_first, sorted_first, spelled, with_zeros, without_idle_writes,
    without_own_memory, without_waits,
};
pub use written::Written;
