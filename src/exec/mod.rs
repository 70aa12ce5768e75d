//! The reference executor: runs a graph, or one call, on the CPU, as PyTorch's CPU kernels compute.
//!
//! - `run`: a whole graph, node by node, its inputs, and its bodies;
//! - `call`: what a run holds beside values, and one call with in-place and `out` forms;
//! - `tensor`: memory, places in it, views; what is stored and what is computed in; whole tensors as slices;
//! - `numbers`: arithmetic that must be PyTorch's to the bit, numbers of a seed, and what a dtype can hold;
//! - `loops`: the loops under kernels: element by element, along dimensions, in blocks;
//! - `dense`: matrix products, convolutions and rows on slices, in a fast and in a plain form;
//! - `kernels`: which kernel computes which operator, one file or folder a family;
//! - `closeness`: how far two tensors are apart.
//!
//! Promises: dtype, sizes and strides of a result are its type rule's; a view is a view; a call that fails changes nothing but what its
//! kernel had written; the same seed gives the same run. Leaves types to `ops`, files to `formats`.

mod call;
mod closeness;
pub mod dense;
mod error;
mod kernels;
mod loops;
mod numbers;
mod run;
mod tensor;

pub use call::cx::Cx;
pub use call::session::Session;
pub use closeness::{Comparison, Tolerance, compare};
pub use error::ExecError;
pub use kernels::{Kernel, Kernels};
pub use numbers::generator::Generator;
pub use run::beside::{Against, Differing, Keep};
pub use run::program::{Execution, Observer, Step, copy_back, run, run_on};
pub use run::sample::{SampleError, laid_out, literal, seed_weights, seeded};
pub use run::wide::Floats;
pub use tensor::shape::Shape;
pub use tensor::storage::{Meter, Storage};
pub use tensor::value::{Operand, Scalar, Value};
pub use tensor::{Meta, Tensor};
