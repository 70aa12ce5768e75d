//! Converters: which FX operator becomes which GE operators. One file a family, as in `ops`; adding an operator is adding an entry.
//!
//! A converter sees arguments by name, makes GE operators and returns what the node stands for. It leaves scopes, control
//! edges, result types and views that are put off to the lowering around it.

mod activation;
mod args;
mod batch_norm;
mod beyond;
mod comm;
mod conv;
mod create;
mod cx;
mod detection;
mod direct;
mod foreach;
mod fourier;
mod group_norm;
mod index;
mod linalg;
mod logic;
mod loss;
mod matmul;
mod movement;
mod norm;
mod npu;
mod npu_attention;
mod npu_cache;
mod npu_comm;
mod npu_dequant;
mod npu_grouped;
mod npu_matmul;
mod npu_moe;
mod npu_quant;
mod own;
mod packed;
mod pad;
mod pointwise;
mod pool;
mod put;
mod random;
mod reduce;
mod resample;
mod slices;
mod sort;
mod split;
mod stream;
mod symbolic;
mod table;
mod view;

pub(super) use beyond::is_beyond;
pub(super) use cx::Cx;
pub(super) use own::{convert as convert_own, operator_of as own_operator};
pub use table::targets;
pub(super) use table::{Entry, Made, Rule, apply, apply_described, rule};
