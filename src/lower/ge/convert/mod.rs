//! Converters: which FX operator becomes which GE operators. One file a family, as in `ops`; adding an operator is adding an entry.
//!
//! A converter sees arguments by name, makes GE operators and returns what the node stands for. It leaves scopes, control
//! edges, result types and views that are put off to the lowering around it.

mod create;
mod cx;
mod direct;
mod foreach;
mod index;
mod logic;
mod matmul;
mod norm;
mod npu;
mod pointwise;
mod reduce;
mod shape;
mod stream;
mod symbolic;
mod table;
mod view;

pub(super) use cx::Cx;
pub use table::targets;
pub(super) use table::{Entry, Made, Rule, apply, apply_described, rule};
