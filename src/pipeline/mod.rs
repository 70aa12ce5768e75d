//! The pipeline: which passes run on a model, in which order, under which policy, and what a run leaves on disk.
//!
//! - `config`: `airlock.toml`, and flags over it; `options`: those of TorchAir and Torch-AIE;
//! - `run`: stages `pre`, built-in, `post`; each pass judged before the next begins;
//! - `lower`: a lowered graph, judged;
//! - `reduce`: the smallest model on which something still happens;
//! - `dump`, `reproducer`: graphs before and after each pass; what was refused, to be run again.
//!
//! Promises: a refused or faulted pass leaves no trace in what is written; built-in passes are judged like any other; the
//! graph is never cloned. Leaves printing to `report` and `cli`.

mod config;
mod dump;
mod lower;
mod options;
mod reduce;
#[cfg(feature = "sandbox")]
mod reproducer;
#[cfg(feature = "sandbox")]
mod run;

pub use config::{Config, ConfigError, FileConfig, FilePass, Origin, Stage};
pub use dump::Dump;
pub use lower::{Judged, judge_lowered, takes};
pub use options::{CompilerOptions, OptionError, assumed, device_options};
pub use reduce::{Reduced, reduce};
#[cfg(feature = "sandbox")]
pub use run::{Edits, FaultReport, Observer, Outcome, PassReport, PassSpec, RunError, RunReport, Settings, run};
