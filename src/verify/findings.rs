//! Findings on the way to a verdict: every problem of every question, then the worst.
//!
//! Promises: a verdict is "proved" only if no question has a problem; a policy that takes unknown values takes them only where
//! nothing else is open.

use crate::verify::verdict::{Assumption, Finding, Question, SideBySide, Verdict};

/// Something that keeps the verdict from being "proved".
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// Refuted, or unknown.
    pub finding: Finding,
    /// Which question.
    pub question: Question,
    /// Why, in words.
    pub reason: String,
    /// The nodes that it is about.
    pub nodes: Vec<String>,
    /// Where the graphs part.
    pub differing: Option<SideBySide>,
}

impl Problem {
    /// Returns a problem that certainly is one.
    pub fn refuted(question: Question, reason: impl Into<String>) -> Self {
        Problem { finding: Finding::Refuted, question, reason: reason.into(), nodes: Vec::new(), differing: None }
    }

    /// Returns a problem that stays open.
    pub fn unknown(question: Question, reason: impl Into<String>) -> Self {
        Problem { finding: Finding::Unknown, ..Problem::refuted(question, reason) }
    }

    /// Names the nodes that the problem is about.
    pub fn at(mut self, nodes: impl IntoIterator<Item = String>) -> Self {
        self.nodes = nodes.into_iter().collect();
        self.nodes.dedup();
        self
    }

    /// Refuted before unknown; then the question that explains most.
    fn rank(&self) -> (u8, u8) {
        let finding = if self.finding == Finding::Refuted { 0 } else { 1 };
        let question = match self.question {
            Question::Form => 0,
            Question::Order => 1,
            Question::Lifetime => 2,
            Question::Values => 3,
            Question::Effects => 4,
        };
        (finding, question)
    }
}

/// All problems and assumptions of a judgement.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Problems, in the order in which they were found.
    pub problems: Vec<Problem>,
    /// What the verdict rests on.
    pub assumes: Vec<Assumption>,
}

impl Findings {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Returns the verdict, without policy and times.
    pub fn verdict(mut self) -> Verdict {
        self.assumes.sort();
        self.assumes.dedup();
        let mut open: Vec<Question> = self.problems.iter().map(|p| p.question).collect();
        open.sort_unstable();
        open.dedup();
        let worst = self.problems.into_iter().min_by_key(Problem::rank);
        let Some(worst) = worst else { return Verdict::proved_exact(self.assumes) };
        Verdict {
            assumes: self.assumes,
            differing: worst.differing,
            open,
            ..Verdict::refusal(worst.finding, worst.question, worst.reason, worst.nodes)
        }
    }
}
