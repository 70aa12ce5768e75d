//! Recorded calls of operators, and whether Airlock computes the same.
//!
//! - `sample`: one recorded call, read from a line of a `.gold` file;
//! - `check`: the call made here, and what differs;
//! - `suite`: all samples of a folder, and what is to be told of them.
//!
//! Promises: a sample passes only if dtype, sizes, strides, shared memory, what is written, and every value agree within its tolerance, and a
//! call that PyTorch refuses is refused. Leaves computing to `exec`.

mod check;
mod sample;
mod suite;

pub use check::check;
pub use sample::{Sample, SampleError};
pub use suite::{Failure, Suite, SuiteError, SuiteReport};
