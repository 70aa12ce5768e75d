//! The entries of the judge.
//!
//! - `edit`: an editor's changes, or two whole graphs; which questions there are;
//! - `kinds`: what calls the graphs have, at a glance;
//! - `obligation`: what must be equal, and who asks;
//! - `touched`, `reach`: what an edit touched, and what that reaches;
//! - `pair`: two graphs that come from elsewhere.

pub(in crate::verify) mod edit;
pub(in crate::verify) mod kinds;
pub(in crate::verify) mod obligation;
pub(in crate::verify) mod pair;
pub(in crate::verify) mod reach;
pub(in crate::verify) mod touched;

pub use edit::{judge_edit, judge_editor};
pub use pair::{judge_own_pair, judge_pair};
