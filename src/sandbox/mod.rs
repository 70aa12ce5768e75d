//! Passes that are WebAssembly components: what may be loaded, what it may use, how it ends.
//!
//! - `limits`: every limit; `fault`, `load_error`, `outcome`: what can come of a load and of a run;
//! - `contract`: what `wit/` offers; `preflight`: the look at a component before anything is compiled;
//! - `engine`, `store`: wasmtime, configured for the least; one store a run; the clock;
//! - `host`: what a component's imports do; `pass`: load, describe, run; `classify`: from errors of wasmtime to faults.
//!
//! Promises: whatever a component does, the process lives, the run ends within its limits, and a run that did not end
//! well leaves the graph as it was. Nothing outside this folder names wasmtime. Nothing is linked but the contract.
//! Leaves to others: whether an edit means the same (`verify`), what a user allows (`pipeline`), a process of its own for
//! compiler and guest.

mod contract;
mod escape;
mod fault;
mod limits;
mod load_error;
mod preflight;

#[cfg(feature = "sandbox")]
mod bindings;
#[cfg(feature = "sandbox")]
mod classify;
#[cfg(feature = "sandbox")]
mod engine;
#[cfg(feature = "sandbox")]
mod host;
#[cfg(feature = "sandbox")]
mod outcome;
#[cfg(feature = "sandbox")]
mod pass;
#[cfg(feature = "sandbox")]
mod store;

pub use contract::Contract;
pub use escape::shown;
pub use fault::{Fault, FaultKind};
pub use limits::Limits;
pub use load_error::LoadError;
pub use preflight::{Preflight, check as preflight};

#[cfg(feature = "sandbox")]
pub use engine::Engine;
#[cfg(feature = "sandbox")]
pub use host::{Job, Level, LogLine};
#[cfg(feature = "sandbox")]
pub use outcome::{Ended, Info, Outcome, Said, Usage};
#[cfg(feature = "sandbox")]
pub use pass::{GRANTS, Pass};
