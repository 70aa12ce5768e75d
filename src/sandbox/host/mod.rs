//! The host's side of the contract: what a component's imports do.
//!
//! - `state`: what one run holds: the editor, the log, what its calls have filled;
//! - `graph`: the interface `graph`, one call after another; `columns`: a whole graph at once; `effects`: what calls do;
//!   `edits`: batches;
//! - `service`: the interfaces `host` and `constants`; `weights`: which bytes a node stands for;
//! - `args`, `types`, `sizes`: values on their way between guest and graph.
//!
//! Promises: an id is checked at each call; a refused edit is a typed error that changes nothing; what calls keep in host
//! memory is counted, and a run that would pass `host_bytes` is stopped before it does; nothing a guest sends panics.
//! Leaves to the editor: whether an edit is well formed and well typed.

mod args;
mod columns;
mod edits;
mod effects;
mod graph;
mod service;
mod sizes;
mod state;
mod types;
mod weights;

pub(super) use args::device;
pub(super) use edits::{EDIT_BYTES, MAX_KWARGS, check_key, check_name, check_reserved};
pub(super) use state::Host;
pub use state::{Job, Level, LogLine};
#[cfg(target_os = "linux")]
pub(super) use {
    state::AskedForWeights,
    weights::{Named, weight_bytes},
};
