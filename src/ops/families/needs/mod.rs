//! What calls must fulfil before their type rule is asked, where PyTorch refuses more than the rule does: dtypes, flags, absent operands, sizes,
//! and what its own checks say before any kernel is asked. One file a family, as in the rules beside.
//!
//! Promises: a call that is refused here raises always (`tests/facts` has each refusal recorded). Leaves dtypes for which only some device lacks a
//! kernel to that device: such a call is typed.

pub(in crate::ops) mod attention;
pub(in crate::ops) mod compare;
pub(in crate::ops) mod conv;
pub(in crate::ops) mod create;
pub(in crate::ops) mod einsum;
pub(in crate::ops) mod foreach;
pub(in crate::ops) mod fourier;
pub(in crate::ops) mod gradient;
pub(in crate::ops) mod index;
pub(in crate::ops) mod matmul;
pub(in crate::ops) mod movement;
pub(in crate::ops) mod norm;
pub(in crate::ops) mod pointwise;
pub(in crate::ops) mod pool;
pub(in crate::ops) mod random;
pub(in crate::ops) mod reduce;
mod shared;
pub(in crate::ops) mod sort;
pub(in crate::ops) mod symbolic;
pub(in crate::ops) mod view;
