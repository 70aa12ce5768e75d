//! Dense number crunching on slices: products, convolutions, row reductions and elementary functions.
//!
//! What lives here knows nothing of graphs, tensors or dtypes' names: it takes slices with sizes and strides, and fills
//! slices. Promises:
//! * no input panics: descriptors ([`Mat`], [`Batch`], [`Volume`], [`ConvShape`]) are checked once, when they are made, and a
//!   function that is given descriptors that do not fit each other returns a [`DenseError`];
//! * results do not depend on timing; the thread count, which is the caller's rayon pool's, may change the order of additions
//!   only where a function says so;
//! * scratch memory is bounded (some MB a call, whatever the image), except where a function says so.
//!
//! Two paths exist. The fast one computes in the element type with products from `matrixmultiply` (through `ndarray`, whose
//! interface is safe), or of windows and narrow matrices in `panels`, and with plain loops compiled for AVX2 and AVX-512 beside the
//! baseline ([`simd`]). The plain one ([`plain`], [`plain_conv`]) is textbook loops, left to right, generic over the accumulator: what
//! the fast one is tested against, and what a judge computes wide references with.
//!
//! Left to callers: type promotion, broadcasting, output layout, reduced precision other than in `widened`, `half` and `conv_half`
//! (widen, compute, round once), and what the result means.

pub mod attention;
pub mod attention_narrow;
pub mod conv;
pub mod conv_back;
pub mod conv_half;
mod conv_panels;
pub mod conv_shape;
mod depthwise;
mod error;
pub mod exp;
pub mod factor;
pub mod gemm;
mod gemv;
pub mod half;
mod im2col;
#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]
mod laws;
pub mod mat;
pub mod norm;
mod panels;
pub mod plain;
pub mod plain_conv;
pub mod pool;
mod scalar;
pub mod simd;
pub mod softmax;
pub mod volume;
pub mod widened;

pub use conv_shape::{ConvOptions, ConvShape};
pub use error::DenseError;
pub use mat::{Batch, BatchMut, Mat, MatMut};
pub use scalar::Scalar;
pub use volume::{Layout, Volume};
