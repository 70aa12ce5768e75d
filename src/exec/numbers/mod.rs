//! Numbers: where a result must be PyTorch's to the bit, or an integer must not wrap unseen.
//!
//! - `real`, `complex`, `special`: functions of one element; `accumulate`: what writing by index accumulates with;
//! - `checked`: numbers that a dtype can hold; `generator`: numbers of a seed; `introsort`: which of equals C++ would choose.

pub(in crate::exec) mod accumulate;
pub(in crate::exec) mod bessel;
pub(in crate::exec) mod checked;
pub(in crate::exec) mod complex;
pub(in crate::exec) mod gamma;
pub(in crate::exec) mod generator;
pub(in crate::exec) mod introsort;
pub(in crate::exec) mod real;
pub(in crate::exec) mod special;
