//! Passes that are WebAssembly components: what may be loaded, what it may use, how it ends.
//!
//! - `fault`, `outcome`: what can come of a run (of a load: `contract`, which looks at a component before anything is compiled);
//! - `engine`, `store`: wasmtime, configured for the least; one store a run; the clock;
//! - `host`: what a component's imports do; `pass`: load, describe, run; `classify`: from errors of wasmtime to faults.
//!
//! Promises: whatever a component does, the process lives, the run ends within its limits, and a run that did not end
//! well leaves the graph as it was. Nothing outside this folder names wasmtime. Nothing is linked but the contract.
//! Leaves to others: whether an edit means the same (`verify`), what a user allows (`pipeline`), a process of its own for
//! compiler and guest.

mod fault;

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

pub use fault::{Fault, FaultKind};

#[cfg(feature = "sandbox")]
pub use engine::Engine;
#[cfg(feature = "sandbox")]
pub use host::{Job, Level, LogLine};
#[cfg(feature = "sandbox")]
pub use outcome::{Ended, Info, Outcome, Said, Usage};
#[cfg(feature = "sandbox")]
pub use pass::{GRANTS, Pass};
