//! Making passes: from a guest's sources to a component, and a pass to start from.
//!
//! * [`build`] sees in which [`Language`] a pass is written, finds a toolchain for it, wraps the core module with
//!   `wit-component` and checks what came out against the contract.
//! * [`scaffold`] writes a new pass with a copy of the SDK, so that it builds without this checkout.
//!
//! Promises: an output file appears whole or not at all; what is written imports nothing outside of the contract; whatever
//! is missing on the machine is named with the command that brings it. Needs no engine: running passes is the sandbox's.

mod build;
mod component;
mod error;
mod language;
mod languages;
mod scaffold;
mod sdk;

pub use build::{BuildOptions, BuildReport, build};
pub use error::{BuildError, ScaffoldError};
pub use language::{Language, Source};
pub use languages::cache_folder;
pub use scaffold::{Scaffolded, scaffold};
