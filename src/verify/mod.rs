//! The judge: from a graph as it was and as it is to a verdict.
//!
//! - `judge`: the entry; `local`: from the editor's journal; `pair`: for two files; `touched`: what an edit touched;
//! - `functional`, `writes`, `views`, `arguments`, `identities`: what each value is, as a term;
//! - `term`, `store`, `viewmap`, `sizes`: terms, hash-consed; index maps of views; arithmetic of sizes;
//! - `layout`: what calls see of memory that no element shows;
//! - `congruence`, `bodies`: whether two values are equal;
//! - `outputs`, `effects`, `raises`, `fits`, `order`: what else the caller sees;
//! - `findings`, `verdict`, `policy`, `options`, `show`: what is said.
//!
//! Promises: (1) what is accepted was shown, for all inputs and all sizes; (2) no verdict rests on a hash alone; (3) no guest code
//! runs here, and there is no `unsafe`; (4) nothing recurses on graph depth; (5) judging an edit costs what it touched and
//! what that reaches. What cannot be shown is "unknown", and refused.

mod arguments;
mod bodies;
mod congruence;
mod effects;
mod findings;
mod fits;
mod functional;
mod identities;
#[cfg(test)]
mod journal;
mod judge;
mod layout;
mod local;
#[cfg(test)]
mod lookalikes;
mod memory;
mod options;
mod order;
mod outputs;
mod pair;
mod policy;
mod raises;
mod show;
mod sizes;
mod store;
mod term;
mod touched;
#[cfg(test)]
mod twins;
mod verdict;
mod viewmap;
mod views;
mod writes;

pub use judge::{judge_edit, judge_editor};
pub use options::{JudgeOptions, Mode};
pub use pair::judge_pair;
pub use policy::Policy;
pub use show::line as print_node;
pub use verdict::{Assumption, Finding, Level, Question, SideBySide, Verdict};
