//! Rules that a user states: what a graph holds may be replaced by something else, of which the judge knows no proof.
//!
//! - `admission`: what a rule must show before it is used; `matching`: where it holds in a graph, and the graph in which it was applied once at each place;
//! - `saturate`: all that rules make equal in two graphs, in any order and both ways (`terms`: graphs in an e-graph; `rebuild`: graphs out of it).
//!
//! Promises: a rule is asked only where values stay unknown without it; both graphs are brought to what rules make of them, and judged as any two are; what rests on a
//! rule says so in its assumptions, and `strict` takes none of which there is no proof; both graphs as they were given are run, too, and no run may disagree. Leaves the reading of files to `pipeline`.

mod admission;
mod matching;
mod rebuild;
mod saturate;
mod terms;

pub use admission::{NotAdmitted, admit};

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::graph::Graph;
use crate::ops::Registry;
use crate::verify::differ::settle;
use crate::verify::judge::judge_pair;
use crate::verify::options::JudgeOptions;
use crate::verify::verdict::{Assumption, Finding, Level, Question, Stop, Verdict};

/// How a rule was admitted.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Admitted {
    /// The judge proves it.
    Proof,
    /// It was run, and no run shows a difference.
    Runs {
        /// On how many inputs.
        inputs: usize,
    },
}

/// A rule that was admitted: what is as `before` may be as `after`.
#[derive(Clone, Debug)]
pub struct UserRule {
    /// Its name.
    pub name: String,
    /// How equal both sides are.
    pub level: Level,
    /// How it was admitted.
    pub admitted: Admitted,
    before: Graph,
    after: Graph,
}

/// Rules that a user states, in order.
#[derive(Clone, Debug, Default)]
pub struct UserRules(Arc<[UserRule]>);

impl UserRules {
    /// Returns these rules.
    pub fn new(rules: Vec<UserRule>) -> Self {
        UserRules(rules.into())
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for UserRules {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.is_empty() && other.0.is_empty()
    }
}

/// Judges again by the rules of the user, where a verdict leaves values unknown.
pub(in crate::verify) fn judged_by(
    verdict: Verdict,
    before: &Graph,
    after: &Graph,
    registry: &Registry,
    options: &JudgeOptions,
) -> Verdict {
    let may_settle = |q: &Question| matches!(q, Question::Values | Question::Effects);
    if options.rules.is_empty() || verdict.verdict != Finding::Unknown || !verdict.open.iter().all(may_settle) {
        return verdict;
    }
    let rules = &options.rules.0;
    let plain = JudgeOptions { rules: UserRules::default(), given: None, ..options.clone() };
    let judged = |first: &Graph, second: &Graph, used: &BTreeSet<usize>| {
        let used: Vec<&UserRule> = used.iter().filter_map(|k| rules.get(*k)).collect();
        let found = (!used.is_empty()).then(|| judge_pair(first, second, registry, &plain))?;
        found.accepted.then(|| with_rules(&verdict, found, &used, (before, after, registry), &plain))
    };
    let (first, by) = matching::applied(before, rules, registry);
    let (second, also) = matching::applied(after, rules, registry);
    if let Some(shown) = judged(&first, &second, &by.union(&also).copied().collect()) {
        return shown;
    }
    let Some(all) = saturate::saturated(before, after, rules, registry) else { return verdict };
    let stopped = if all.is_whole { verdict.stopped } else { verdict.stopped.or(Some(Stop::Rules)) };
    judged(&all.before, &all.after, &all.used).unwrap_or(Verdict { stopped, ..verdict })
}

/// Returns what was found of both graphs after rules were applied, as a verdict on the graphs as they were given.
fn with_rules(
    verdict: &Verdict,
    found: Verdict,
    used: &[&UserRule],
    (before, after, registry): (&Graph, &Graph, &Registry),
    plain: &JudgeOptions,
) -> Verdict {
    let assumes: BTreeSet<Assumption> =
        found.assumes.iter().cloned().chain(used.iter().map(|r| r.assumption())).collect();
    let is_real = found.level == Some(Level::Real) || used.iter().any(|r| r.level == Level::Real);
    let level = if is_real { Level::Real } else { Level::Exact };
    let mut answers = found.answers.clone();
    answers.iter_mut().filter(|a| a.level.is_some()).for_each(|a| a.level = Some(level));
    let assumes = assumes.into_iter().collect();
    let combined =
        Verdict { level: Some(level), assumes, answers, ms: verdict.ms + found.ms, accepted: false, ..found };
    // The graphs as they were given are held against each other, too.
    let settled = settle(combined, before, after, registry, plain);
    match settled.verdict {
        Finding::Proved if !is_real => Verdict { accepted: plain.policy.accepts(&settled), ..settled },
        _ => settled,
    }
}

impl UserRule {
    fn assumption(&self) -> Assumption {
        Assumption::Rule { name: self.name.clone(), inputs: self.admitted.inputs() }
    }
}

impl Admitted {
    /// Returns on how many inputs a rule was run of which there is no proof.
    pub fn inputs(self) -> Option<usize> {
        match self {
            Admitted::Proof => None,
            Admitted::Runs { inputs } => Some(inputs),
        }
    }
}
