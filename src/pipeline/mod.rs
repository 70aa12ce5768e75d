//! The pipeline: which passes run on a model, in which order, under which policy, and what a run leaves on disk.
//!
//! - `load`: models as they are named; `outputs`: files that appear together;
//! - `config`: `airlock.toml`; `settle`: flags over it; `options`: those of TorchAir and Torch-AIE;
//! - `place`: where passes run; `run`: stages `pre`, built-in, `post`, each pass judged before the next begins;
//! - `lower`: lowering, judged;
//! - `cases`, `pass_cases`: cases beside what is known of them; `counterexample`: what refutes them, as files;
//! - `proofs`: certificates as files, and whether they hold;
//! - `user_rules`: rules that a user states, as files;
//! - `recorded`: what a run leaves, against what was recorded;
//! - `reduce`, `happening`: the smallest model on which something still happens;
//! - `dump`, `reproducer`: graphs before and after each pass; what was refused, to be run again.
//!
//! Promises: a refused or faulted pass leaves no trace in what is written; built-in passes are judged like any other; the
//! graph is never cloned. Leaves printing to `report` and `cli`.

pub mod cases;
mod config;
pub mod counterexample;
mod dump;
#[cfg(feature = "sandbox")]
pub mod happening;
pub mod load;
mod lower;
mod options;
pub mod outputs;
#[cfg(feature = "sandbox")]
pub mod pass_cases;
#[cfg(feature = "sandbox")]
mod place;
pub mod proofs;
pub mod recorded;
mod reduce;
#[cfg(feature = "sandbox")]
mod reproducer;
#[cfg(feature = "sandbox")]
mod run;
pub mod settle;
pub mod user_rules;

pub use config::{Config, ConfigError, FileConfig, FilePass, Inputs, Origin, Stage};
pub use dump::{Dump, DumpError, dump_folder, dump_lowered};
pub use lower::{
    Judged, LoweredModel, Lowering, LoweringError, check_lowers, ge_options, judge_lowered, lower, settled, takes,
};
pub use options::{CompilerOptions, OptionError, assumed, device_options};
#[cfg(feature = "sandbox")]
pub use place::{Place, PlaceError, check_grants};
pub use reduce::{Reduced, reduce};
#[cfg(feature = "sandbox")]
pub use run::{
    Edits, FaultReport, FrameReport, Observer, Outcome, PassReport, PassSpec, RunError, RunReport, Settings, Silent,
    run,
};
