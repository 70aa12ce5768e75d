//! Findings on the way to a verdict: an answer to every question, with what it rests on; then the worst.
//!
//! Promises: a question that nobody answered is unknown; a verdict is "proved" only if every question was answered and none has a
//! problem; every reason is kept; a policy that takes unknown values takes them only where nothing else is open.

use super::verdict::{Answer, Assumption, Finding, Level, Question, SideBySide, Verdict};
use crate::certificate::Evidence;

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
    /// Questions that were looked into to the end, and what the answer rests on.
    answered: Vec<(Question, Evidence)>,
    /// The chance of a false accept, as a power of two, where values were compared by fingerprints.
    pub checked_log2: Option<f64>,
    /// Which outputs lie in other strides than before.
    pub strides: Vec<String>,
}

/// How many reasons are kept for one question.
const MAX_REASONS: usize = 32;

impl Findings {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Says that a question was looked into to the end: unless a problem says otherwise, it is proved by that.
    pub fn answer(&mut self, question: Question, evidence: Evidence) {
        self.answered.push((question, evidence));
    }

    /// Returns the verdict, without policy and times.
    pub fn verdict(mut self) -> Verdict {
        let strides = std::mem::take(&mut self.strides);
        Verdict { strides, ..self.worst() }
    }

    fn worst(mut self) -> Verdict {
        self.assumes.sort();
        self.assumes.dedup();
        // What stayed unanswered is told only where nothing else is wrong: it mostly follows from that.
        let worst = self.problems.iter().min_by_key(|p| p.rank()).cloned();
        for question in Question::ALL {
            let answered = self.answered.iter().any(|(q, _)| *q == question);
            if !answered && !self.problems.iter().any(|p| p.question == question) {
                let reason = format!("nothing answered the question of {}", question.name());
                self.push(Problem::unknown(question, reason));
            }
        }
        let answers: Vec<Answer> = Question::ALL.into_iter().map(|q| self.answer_to(q)).collect();
        let open = answers
            .iter()
            .filter(|a| !matches!(a.finding, Finding::Proved | Finding::Checked))
            .map(|a| a.question)
            .collect();
        let worst = worst.or_else(|| self.problems.into_iter().min_by_key(Problem::rank));
        let Some(worst) = worst else {
            let level = answers.iter().find_map(|a| a.level);
            let verdict = if self.checked_log2.is_some() { Finding::Checked } else { Finding::Proved };
            let bound_log2 = self.checked_log2;
            return Verdict { answers, level, verdict, bound_log2, ..Verdict::proved_exact(self.assumes) };
        };
        Verdict {
            assumes: self.assumes,
            differing: worst.differing,
            open,
            answers,
            ..Verdict::refusal(worst.finding, worst.question, worst.reason, worst.nodes)
        }
    }

    fn answer_to(&self, question: Question) -> Answer {
        let own = || self.problems.iter().filter(|p| p.question == question);
        let finding = match own().map(|p| p.finding).collect::<Vec<_>>().as_slice() {
            [] if question == Question::Values && self.checked_log2.is_some() => Finding::Checked,
            [] => Finding::Proved,
            all if all.contains(&Finding::Refuted) => Finding::Refuted,
            _ => Finding::Unknown,
        };
        let evidence = self.answered.iter().find(|(q, _)| *q == question).map(|(_, e)| e.clone());
        let is_proved = matches!(finding, Finding::Proved | Finding::Checked);
        let level = if matches!(evidence, Some(Evidence::Reals { .. })) { Level::Real } else { Level::Exact };
        Answer {
            question,
            finding,
            level: (is_proved && question == Question::Values).then_some(level),
            evidence: evidence.filter(|_| is_proved),
            reasons: own().map(|p| p.reason.clone()).take(MAX_REASONS).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_nobody_answered_is_unknown() {
        let mut findings = Findings::default();
        for question in Question::ALL.into_iter().skip(1) {
            findings.answer(question, Evidence::Untouched);
        }
        let verdict = findings.clone().verdict();
        assert_eq!((verdict.verdict, verdict.question), (Finding::Unknown, Some(Question::ALL[0])));
        findings.answer(Question::ALL[0], Evidence::Untouched);
        assert_eq!(findings.verdict().verdict, Finding::Proved);
    }

    #[test]
    fn every_reason_is_kept_and_the_worst_is_named() {
        let mut findings = Findings::default();
        Question::ALL.into_iter().for_each(|q| findings.answer(q, Evidence::Untouched));
        findings.push(Problem::unknown(Question::Values, "first"));
        findings.push(Problem::unknown(Question::Values, "second"));
        findings.push(Problem::refuted(Question::Effects, "third"));
        let verdict = findings.verdict();
        assert_eq!((verdict.verdict, &*verdict.reason), (Finding::Refuted, "third"));
        let values = verdict.answers.iter().find(|a| a.question == Question::Values).unwrap();
        assert_eq!(values.reasons, ["first", "second"]);
        assert_eq!(verdict.open, [Question::Values, Question::Effects]);
    }
}
