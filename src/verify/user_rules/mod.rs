//! Rules that a user states: what a graph holds may be replaced by something else, of which the judge knows no proof.
//!
//! - `admission`: what a rule must show before it is used; `matching`: where it holds in a graph, and the graph in which it was applied once at each place;
//! - `saturate`: all that rules which hold both ways make equal in two graphs, in any order (`terms`: graphs in an e-graph; `rebuild`: graphs out of it);
//! - `carried`: whether what rules put into a graph stands where they say so, and is no more than real numbers to what is made of it.
//!
//! Promises: a rule is asked only where values stay unknown without it; the first graph is brought to what rules make of it, the second one to what those make of it that hold backwards, too, and both
//! are judged as any two are; what is equal over the reals by a rule is no more than real numbers to what is made of it; what rests on a
//! rule says so in its assumptions, and `strict` takes none of which there is no proof; both graphs as they were given are run, too, and no run may disagree. Leaves the reading of files to `pipeline`.

mod admission;
mod carried;
mod matching;
mod rebuild;
mod saturate;
mod terms;

pub use admission::{NotAdmitted, admit};

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::formats::text::write_node_line;
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::verify::differ::settle;
use crate::verify::findings::Findings;
use crate::verify::judge::judge_pair;
use crate::verify::judge::pair::comparable;
use crate::verify::options::JudgeOptions;
use crate::verify::user_rules::carried::carried;
use crate::verify::user_rules::matching::Applied;
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
    /// How it was that `after` may be as `before`, where it may.
    pub backwards: Option<Admitted>,
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
    // Rules hold for types, which a graph need not state.
    let (before, after) = &comparable(before, after, registry, &mut Findings::default());
    // What the second graph holds still is left in the first one, too, by a rule that leads one way.
    let kept: FxHashSet<String> = lines(after).map(|(_, line)| line).collect();
    let goes: FxHashSet<NodeId> = lines(before).filter(|(_, line)| !kept.contains(line)).map(|(n, _)| n).collect();
    let first = matching::applied(before, rules, registry, &|r, n| r.backwards.is_some() || goes.contains(&n));
    let second = matching::applied(after, rules, registry, &|r, _| r.backwards.is_some());
    let plain = JudgeOptions { rules: UserRules::default(), given: None, ..options.clone() };
    let judged = |first: &Applied, second: &Applied| {
        let used = !(first.used.is_empty() && second.used.is_empty());
        let found = used.then(|| judge_pair(&first.graph, &second.graph, registry, &plain))?;
        found.accepted.then_some(())?;
        let within = carried([(before, first), (after, second)], registry, &plain)?;
        let found = Verdict { assumes: found.assumes.iter().cloned().chain(within).collect(), ..found };
        Some(with_rules(&verdict, found, [first, second], (before, after, registry), options))
    };
    // What one graph says may be what a rule makes of the other's, so that it must not be changed.
    let [before_alone, after_alone] = [before, after].map(Applied::none);
    for (first, second) in [(&first, &after_alone), (&before_alone, &second), (&first, &second)] {
        if let Some(shown) = judged(first, second) {
            return shown;
        }
    }
    let Some(all) = saturate::saturated(before, after, rules, registry) else { return verdict };
    let stopped = if all.is_whole { verdict.stopped } else { verdict.stopped.or(Some(Stop::Rules)) };
    judged(&all.before, &all.after).unwrap_or(Verdict { stopped, ..verdict })
}

/// Returns what was found of two graphs after rules were applied, as a verdict on the graphs as they were given.
fn with_rules(
    verdict: &Verdict,
    found: Verdict,
    [first, second]: [&Applied; 2],
    (before, after, registry): (&Graph, &Graph, &Registry),
    options: &JudgeOptions,
) -> Verdict {
    let plain = JudgeOptions { rules: UserRules::default(), given: None, ..options.clone() };
    let of = |used: &BTreeSet<usize>| used.iter().filter_map(|k| options.rules.0.get(*k)).collect::<Vec<_>>();
    let (by, also) = (of(&first.used), of(&second.used));
    let is_real = found.level == Some(Level::Real) || by.iter().chain(&also).any(|r| r.level == Level::Real);
    let by = by.into_iter().map(|r| r.assumption(r.admitted));
    let also = also.into_iter().filter_map(|r| r.backwards.map(|admitted| r.assumption(admitted)));
    let assumes: BTreeSet<Assumption> = found.assumes.iter().cloned().chain(by).chain(also).collect();
    let level = if is_real { Level::Real } else { Level::Exact };
    let mut answers = found.answers.clone();
    answers.iter_mut().filter(|a| a.level.is_some()).for_each(|a| a.level = Some(level));
    let assumes = assumes.into_iter().collect();
    let combined =
        Verdict { level: Some(level), assumes, answers, ms: verdict.ms + found.ms, accepted: false, ..found };
    // The graphs as they were given are held against each other, too.
    let settled = settle(combined, before, after, registry, &plain);
    match settled.verdict {
        Finding::Proved if !is_real => Verdict { accepted: plain.policy.accepts(&settled), ..settled },
        _ => settled,
    }
}

/// Returns the calls of a graph as they are written.
fn lines(graph: &Graph) -> impl Iterator<Item = (NodeId, String)> {
    let calls = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call);
    calls.map(|n| (n, write_node_line(graph, n)))
}

impl UserRule {
    fn assumption(&self, admitted: Admitted) -> Assumption {
        Assumption::Rule { name: self.name.clone(), inputs: admitted.inputs() }
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
