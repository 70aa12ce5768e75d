//! Passes that are WebAssembly components: what may be loaded, what it may use, how it ends.
//!
//! - `fault`, `outcome`: what can come of a run (of a load: `contract`, which looks at a component before anything is compiled);
//! - `engine`, `store`: wasmtime, configured for the least; one store a run; the clock;
//! - `host`: what a component's imports do; `pass`: load, describe, run; `classify`: from errors of wasmtime to faults;
//! - `symbols`: where in its sources that was, by what its author keeps beside it;
//! - `worker`: the same in processes of their own, behind walls; `journal`: edits on their way back; `artifact`: compiled components;
//! - `any`: a pass, wherever it runs; `calls`: the contract's calls for a program that edits by itself; `profile`: what a run costs.
//!
//! Promises: whatever a component does, the process lives, the run ends within its limits, and a run that did not end
//! well leaves the graph as it was. Nothing outside this folder names wasmtime. Nothing is linked but the contract.
//! Leaves to others: whether an edit means the same (`verify`), what a user allows (`pipeline`).

#[cfg(feature = "sandbox")]
mod any;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod artifact;
mod fault;

#[cfg(feature = "sandbox")]
mod bindings;
#[cfg(feature = "sandbox")]
mod calls;
#[cfg(feature = "sandbox")]
mod classify;
#[cfg(feature = "sandbox")]
mod engine;
#[cfg(feature = "sandbox")]
mod host;
#[cfg(feature = "sandbox")]
// Only hosts of workers read journals.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod journal;
#[cfg(feature = "sandbox")]
mod outcome;
#[cfg(feature = "sandbox")]
mod pass;
#[cfg(feature = "sandbox")]
mod profile;
#[cfg(feature = "sandbox")]
mod store;
#[cfg(feature = "sandbox")]
mod symbols;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
pub mod worker;

pub use fault::{FaultKind, Frame, PassFault};

#[cfg(feature = "sandbox")]
pub use any::AnyPass;
#[cfg(feature = "sandbox")]
pub use calls::{Calls, wit};
#[cfg(feature = "sandbox")]
pub use engine::Engine;
#[cfg(feature = "sandbox")]
pub use host::{Job, Level, LogLine};
#[cfg(feature = "sandbox")]
#[doc(hidden)]
pub use journal::for_fuzzers as journals;
#[cfg(feature = "sandbox")]
pub use outcome::{Ended, Info, PassRun, Said, Usage};
#[cfg(feature = "sandbox")]
pub use pass::{GRANTS, Pass};
#[cfg(feature = "sandbox")]
pub use profile::{CallCost, Look, Profile, bytes_of};
#[cfg(feature = "sandbox")]
pub use symbols::{Symbols, SymbolsError};
