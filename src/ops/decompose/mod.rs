//! Decompositions: what an operator is in more basic operators, as builders that emit calls typed by the rules.
//!
//! - [`Builder`], [`T`]: arguments of the call, values whose arithmetic emits calls;
//! - `expand`: [`Registry::decompose`](super::Registry::decompose), the results held against the operator's own type rule;
//! - `derived`: in-place and out forms, lists; `meaning`: operators of an operator file;
//! - `table` and one file a family: the decompositions. Adding one is adding a function and its line.
//!
//! Promises: a decomposition covers a form of a call or refuses it; it never gives another dtype or size than the rule. What is
//! [`Exactness::Exact`] gives the bits of the operator's own kernel, given the bits of those that it calls.
//! Leaves when to decompose to others: the operators that remain are not a closed set.

mod builder;
mod derived;
mod expand;
mod meaning;
mod table;
#[cfg(test)]
mod tests;
mod unfold;
mod value;

mod activation;
mod attention;
mod bag;
mod compare;
mod conv;
mod create;
mod ctc;
mod differences;
mod distance;
mod einsum;
mod elementary;
mod encoder;
mod fourier;
mod gradient;
mod gradient_norm;
mod gradient_window;
mod histogram;
mod index;
mod linalg;
mod loss;
mod matmul;
mod movement;
mod norm;
mod npu;
mod npu_attention;
mod npu_cache;
mod npu_moe;
mod npu_norm;
mod npu_quant;
mod optimizer;
mod pool;
mod quantized;
mod random;
mod recurrent;
mod reduce;
mod renamed;
mod resample;
mod sample_back;
mod sort;
mod split;
mod symbolic;
mod ternary;
mod view;
mod weight_norm;

pub use exactness::Exactness;
pub use expand::Expansion;
pub(super) use expand::result_type;

mod exactness;

/// What every family needs.
mod prelude {
    pub(super) use super::Exactness::{ButZeros, Exact, Real};
    pub(super) use super::builder::{Builder, Made, args, done, range, signed, tail};
    pub(super) use super::table::Line;
    pub(super) use super::value::{T, ints, wide};
    pub(super) use crate::graph::{Arg, Dtype};
    pub(super) use crate::ops::error::CallFault;
}
