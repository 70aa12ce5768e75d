//! The judge: from a graph as it was and as it is to a verdict.
//!
//! - `judge/`: the entries, from an editor's journal or for two files; what an edit touched, and what that reaches;
//! - `functional/`: what each value is, as a term: views, writes, memory that may overlap, layouts, bodies;
//! - `form/`: the calling convention, what is returned; `effects/`: draws, prints, assertions, what may raise;
//! - `differ/`: both graphs run on inputs that may show a difference;
//! - `order/`: streams; `prove/`: whether two values are equal;
//! - `replay`: an answer as a certificate, and a certificate shown again without a search;
//! - `models`: what models hold beside their graphs;
//! - `user_rules`: rules that a user states, what admits them, and what rests on them;
//! - `findings`, `verdict`, `policy`, `options`, `show`: what is said.
//!
//! Terms, their arithmetic and their store are `crate::term`.
//!
//! Promises: (1) what is accepted was shown, for all inputs and all sizes; (2) no verdict rests on a hash alone; (3) no guest code
//! runs here, and there is no `unsafe`; (4) nothing recurses on graph depth; (5) judging an edit costs what it touched and
//! what that reaches. What cannot be shown is "unknown", and refused.

mod differ;
mod effects;
mod findings;
mod form;
mod functional;
mod judge;
mod models;
mod options;
mod order;
mod policy;
mod prove;
mod replay;
mod show;
#[cfg(test)]
mod tests;
mod user_rules;
mod verdict;

pub use crate::formats::text::domain::Domain;
pub use differ::{
    Given, GivenError, Held, Illustration, Shows, Traced, TracedNode, Tried, Values, Witness, Written, adds_up, given,
    illustrate, inline_table, refute, settle, trace, write_counterexample,
};
pub use judge::{judge_edit, judge_editor, judge_own_pair, judge_pair};
pub use models::{constants, of_models, unlike_models};
pub use options::{Budget, Closure, JudgeOptions, Mode, stated};
pub use policy::Policy;
pub use replay::{Again, Certified, Held as HeldCertificate, Unproved, certify, check_certificate};
pub use show::line as print_node;
pub use user_rules::{Admitted, NotAdmitted, UserRule, UserRules, admit};
pub use verdict::{Answer, Assumption, Finding, Level, Question, SideBySide, Stop, Verdict};
