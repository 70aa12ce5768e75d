//! Statements that are true: which terms mean the same, and how equal they are. Trusted.
//!
//! A rule will be one file of a family's folder: two terms with typed variables, conditions, and how strong it is. None is needed for
//! what the judge proves today, which is congruence; [`Level`] is what rules and verdicts have in common.

use serde::Serialize;

/// How equal values are.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Bit by bit.
    Exact,
    /// Over the reals, with bounded rounding.
    Real,
}
