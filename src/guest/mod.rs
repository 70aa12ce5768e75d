//! Making passes: from a guest's sources to a component, and a pass to start from.
//!
//! * [`build`] finds a Rust compiler for `wasm32-unknown-unknown` ([`Toolchain`]), runs cargo, wraps the core module with
//!   `wit-component` and checks what came out against the contract.
//! * [`scaffold`] writes a new pass with a copy of the SDK, so that it builds without this checkout.
//!
//! Promises: an output file appears whole or not at all; what is written imports nothing outside of the contract; whatever
//! is missing on the machine is named with the command that brings it. Needs no engine: running passes is the sandbox's.

mod build;
mod cargo;
mod error;
mod scaffold;
mod sdk;
mod toolchain;

pub use build::{BuildOptions, BuildReport, build};
pub use error::{BuildError, ScaffoldError};
pub use scaffold::{Language, Scaffolded, scaffold};
pub use toolchain::{Std, Toolchain, cache_folder};
