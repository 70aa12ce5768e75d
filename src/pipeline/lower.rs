//! Lowering that is judged: a graph to GE, the bytes that are written read back, raised, and held against the graph.
//!
//! Promises: what is judged is what is written; a verdict rests on GE operators' own definitions, never on what lowered the graph; where an
//! operator has none, values are unknown.

use serde::Serialize;

use crate::graph::Graph;
use crate::lower::ge::{self, Opaque, RaiseError, compare::Host};
use crate::ops::Registry;
use crate::verify::{self, Finding, JudgeOptions, Level, Policy, Question, Verdict};

/// What is said of a lowered graph.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Whether it means what the graph means.
    pub verdict: Verdict,
    /// GE operators that were taken by their definition.
    pub defined: usize,
    /// Those that were held field by field to the call of which they were made.
    pub held: usize,
    /// Those of which nothing is known.
    pub opaque: Vec<Opaque>,
}

/// Whether a policy takes what is said of a lowered graph. `advisory` takes what is unknown of values, and of what operators may raise, which
/// no device does.
pub fn takes(policy: Policy, verdict: &Verdict) -> bool {
    let is_of_values = |q: &Question| matches!(q, Question::Values | Question::Effects);
    let is_advised = policy == Policy::Advisory && verdict.verdict == Finding::Unknown;
    policy.accepts(verdict) || is_advised && verdict.open.iter().all(is_of_values)
}

/// Judges a GE graph, as it is written, against the graph of which it was made.
pub fn judge_lowered(
    written: &[u8],
    host: &Host,
    original: &Graph,
    registry: &Registry,
    options: &JudgeOptions,
) -> Judged {
    // A device raises nothing: where the graph raises, GE may compute what it likes.
    let options = &JudgeOptions { may_stop_raising: true, ..options.clone() };
    // Bodies that only say how gradients are recorded stand in their places: an inference runs them as they are.
    let mut settled = ge::inlined(original).unwrap_or_else(|| original.clone());
    // What is wrong with the graph itself is its reader's to say.
    let _ = registry.check_types(&mut settled);
    let raised = match ge::decode(written) {
        Ok(read) => ge::raise(&read, host, &settled, registry),
        Err(error) => Err(RaiseError::Malformed(error.to_string())),
    };
    match raised {
        Ok(raised) => {
            let mut before = ge::comparable(&settled, registry);
            let defined = ge::by_definition(&mut before, &raised.graph, registry);
            let mut verdict = verify::judge_pair(&before, &raised.graph, registry, options);
            verdict.assumes.extend(raised.assumed.into_iter().map(verify::Assumption::Device));
            if !defined.is_empty() {
                // A definition is right over the reals: so is what is shown of it.
                verdict.level = verdict.level.map(|_| Level::Real);
                let held = |target: String| verify::Assumption::Device(format!("{target} is held to its definition"));
                verdict.assumes.extend(defined.into_iter().map(held));
            }
            verdict.assumes.push(verify::Assumption::Device("nothing raises in the graph that was lowered".into()));
            // A policy may not take what is assumed of the device.
            let is_open = verdict.verdict == Finding::Unknown;
            verdict.accepted = (verdict.accepted || is_open) && takes(options.policy, &verdict);
            let count = |held: bool| -> usize {
                raised.defined.iter().filter(|(kind, _)| ge::is_held(kind) == held).map(|(_, n)| n).sum()
            };
            Judged { verdict, defined: count(false), held: count(true), opaque: Vec::new() }
        }
        Err(error) => {
            let (finding, question) = match &error {
                RaiseError::Malformed(_) => (Finding::Refuted, Question::Form),
                RaiseError::Host(_) => (Finding::Unknown, Question::Form),
                RaiseError::Unordered { .. } | RaiseError::OrderLost { .. } => (Finding::Unknown, Question::Order),
                RaiseError::Opaque { .. } => (Finding::Unknown, Question::Values),
            };
            let reason = error.to_string();
            let opaque = if let RaiseError::Opaque { nodes } = error { nodes } else { Vec::new() };
            let names = opaque.iter().map(|o| o.node.clone()).collect();
            let mut verdict = Verdict::refusal(finding, question, reason, names);
            verdict.accepted = takes(options.policy, &verdict);
            Judged { verdict, defined: 0, held: 0, opaque }
        }
    }
}
