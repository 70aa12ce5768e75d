//! The contract: what `wit/` offers a pass, and whether a component keeps to it. One check, for whoever builds one and whoever runs one.
//!
//! - `offered`: interfaces, functions and version of the WIT itself; `preflight`: the look at a component before anything is compiled;
//! - `limits`: every limit of a pass; `load_error`: why a file is no pass; `escape`: a stranger's texts, made fit to be shown.
//!
//! Promises: what is accepted here and built by the toolchain is accepted when it is run, with the same words where it is not; no engine
//! is needed. Leaves types of functions to the linker, and what compiling costs within the bounds to the sandbox.

mod escape;
mod limits;
mod load_error;
mod offered;
mod preflight;
#[cfg(test)]
mod tests;

pub use escape::shown;
pub use limits::Limits;
pub use load_error::LoadError;
pub use offered::{Contract, InterfaceName, VERSION, WIT};
pub use preflight::{FEATURES, Preflight, check};
