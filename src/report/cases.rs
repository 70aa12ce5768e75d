//! What became of cases: the judge's answers beside what is known.

use serde::Serialize;

use crate::verify::Verdict;

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// What it is said to be.
    pub label: String,
    /// Whether the verdict agrees with the label.
    pub right: bool,
    /// The mode in which it was judged.
    pub mode: &'static str,
    /// The judgement.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// All cases of a test.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TestReport {
    /// Each case.
    pub cases: Vec<CaseReport>,
    /// How many verdicts agree with their labels.
    pub right: usize,
    /// How many do not.
    pub wrong: usize,
    /// How many were accepted that must not be: defects of the judge.
    pub accepted_wrong: usize,
}

impl TestReport {
    /// Counts the cases.
    pub fn new(cases: Vec<CaseReport>) -> Self {
        let right = cases.iter().filter(|c| c.right).count();
        let accepted_wrong = cases.iter().filter(|c| c.verdict.accepted && !c.right).count();
        let wrong = cases.len().saturating_sub(right);
        Self { cases, right, wrong, accepted_wrong }
    }
}
