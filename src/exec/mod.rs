//! The reference executor: runs a graph, or one call, on the CPU, as PyTorch's CPU kernels compute.
//!
//! - `lane`, `element`: what is computed in, what is stored, and how one becomes the other;
//! - `storage`, `shape`, `tensor`: memory, places in it, views;
//! - `flat`, `source`, `fill`: whole tensors as slices, chunks of them, and how results are made;
//! - `strided`: copies of elements between two places;
//! - `value`, `cx`: values of a run, and a call as its kernel sees it;
//! - `kernels`: which kernel computes which operator; one file a family, as in `ops`;
//! - `map`: the loops under pointwise kernels; `generator`: numbers of a seed; `closeness`: how far two tensors are apart;
//! - `rows`: the loops under kernels that work along dimensions; `introsort`: which of equals C++ would choose;
//! - `dense`: matrix products, convolutions and rows on slices, in a fast and in a plain form;
//! - `run`, `inputs`, `control`: a whole graph, and its bodies;
//! - `session`: what a run holds beside values, and one call with in-place and `out` forms.
//!
//! Promises: dtype, sizes and strides of a result are its type rule's; a view is a view; a call that fails changes nothing but what its
//! kernel had written; the same seed gives the same run. Leaves types to `ops`, files to `formats`.

mod closeness;
mod control;
mod cx;
pub mod dense;
mod element;
mod error;
mod fill;
mod flat;
mod generator;
mod inputs;
mod introsort;
mod kernels;
mod lane;
mod map;
mod operands;
mod overlap;
mod rows;
mod run;
mod session;
mod shape;
mod source;
mod storage;
mod strided;
mod tensor;
mod value;

mod activation;
mod arithmetic;
mod attention;
mod bitwise;
mod compare;
mod complex;
mod conv;
mod copy;
mod create;
mod extrema;
mod foreach;
mod gradient;
mod index;
mod loss;
mod matmul;
mod moments;
mod movement;
mod norm;
mod npu;
mod npu_cache;
mod pool;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod resample;
mod scan;
mod search;
mod select;
mod sort;
mod stream;
mod symbolic;
mod ternary;
mod unary;
mod unique;
mod view;
mod view_complex;
mod view_in_place;

pub use closeness::{Comparison, Tolerance, compare};
pub use cx::Cx;
pub use error::ExecError;
pub use generator::Generator;
pub use kernels::{Kernel, Kernels};
pub use run::{Observer, Outcome, Step, run};
pub use session::Session;
pub use shape::Shape;
pub use storage::{Meter, Storage};
pub use tensor::{Meta, Tensor};
pub use value::{Operand, Scalar, Value};
