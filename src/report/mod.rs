//! Verdicts, diffs and faults for people and machines: text, HTML; JUnit and SARIF for CI.
//!
//! Promises: what a pass or a file named is shown escaped, so that it cannot lie to the reader. Decides nothing.

mod cases;
mod diff;
mod diff_text;
#[cfg(feature = "sandbox")]
mod edit_log;
#[cfg(feature = "sandbox")]
mod html;
mod junit;
pub mod operators;
mod plain;
#[cfg(feature = "sandbox")]
mod run_text;
mod sarif;
mod side_by_side;
mod trace;
mod verdict_text;

pub use cases::{CaseReport, TestReport};
pub use diff::{Change, Entry, diff};
pub use diff_text::diff_text;
#[cfg(feature = "sandbox")]
pub use edit_log::edits_jsonl;
#[cfg(feature = "sandbox")]
pub use html::html;
pub use junit::junit;
pub use plain::plain;
#[cfg(feature = "sandbox")]
pub use run_text::run_text;
pub use sarif::sarif;
pub use side_by_side::side_by_side;
pub use trace::Trace;
pub use verdict_text::{verdict_details, verdict_words};
