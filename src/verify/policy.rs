//! Policies: which verdicts are taken.
//!
//! Promises: no policy takes what is refuted, or unknown form, effects, order or lifetime.

use crate::verify::verdict::{Assumption, Finding, Level, Question, Verdict};

/// A policy.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Takes what is proved bit for bit, with outputs in the same strides and nothing assumed about the device.
    Strict,
    /// Takes what is proved, and what is checked.
    #[default]
    Default,
    /// Takes unknown values too. Whoever prints the verdict says so.
    Advisory,
}

impl Policy {
    /// Returns the policy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "strict" => Some(Policy::Strict),
            "default" => Some(Policy::Default),
            "advisory" => Some(Policy::Advisory),
            _ => None,
        }
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Strict => "strict",
            Policy::Default => "default",
            Policy::Advisory => "advisory",
        }
    }

    /// Returns whether the policy takes a verdict.
    pub fn accepts(self, verdict: &Verdict) -> bool {
        match (self, verdict.verdict) {
            (_, Finding::Refuted) => false,
            (Policy::Strict, Finding::Proved) => {
                let rests = |a: &Assumption| a.is_device() || a.is_unproved();
                verdict.level == Some(Level::Exact) && !verdict.assumes.iter().any(rests) && verdict.strides.is_empty()
            }
            (Policy::Strict, _) => false,
            (Policy::Default | Policy::Advisory, Finding::Proved | Finding::Checked) => true,
            (Policy::Default, Finding::Unknown) => false,
            (Policy::Advisory, Finding::Unknown) => verdict.open == [Question::Values],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(question: Question) -> Verdict {
        Verdict::refusal(Finding::Unknown, question, String::new(), Vec::new())
    }

    #[test]
    fn only_unknown_values_are_ever_taken_and_only_by_advisory() {
        for question in [Question::Form, Question::Values, Question::Effects, Question::Order, Question::Lifetime] {
            let values = question == Question::Values;
            assert_eq!(Policy::Advisory.accepts(&unknown(question)), values);
            assert!(!Policy::Default.accepts(&unknown(question)));
            assert!(!Policy::Strict.accepts(&unknown(question)));
            let refuted = Verdict { verdict: Finding::Refuted, ..unknown(question) };
            assert!(!Policy::Advisory.accepts(&refuted));
        }
    }

    #[test]
    fn strict_takes_no_device_assumption_and_no_real() {
        let exact = Verdict::proved_exact(vec![Assumption::StreamOrder]);
        assert!(Policy::Strict.accepts(&exact));
        let device = Verdict::proved_exact(vec![Assumption::Device("fused".into())]);
        assert!(!Policy::Strict.accepts(&device) && Policy::Default.accepts(&device));
        let elsewhere = Verdict { strides: vec!["output 0 lies otherwise".into()], ..exact.clone() };
        assert!(!Policy::Strict.accepts(&elsewhere) && Policy::Default.accepts(&elsewhere));
        let real = Verdict { level: Some(Level::Real), ..exact };
        assert!(!Policy::Strict.accepts(&real) && Policy::Default.accepts(&real));
    }
}
