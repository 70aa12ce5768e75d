//! A difference on graphs that a person can look through: both made smaller, alike, as long as running them shows the same kind of difference.
//!
//! Promises: both graphs are well formed, and what is given with them shows the difference on them. It is a picture, no evidence: inputs that stand
//! for nodes of the graph may hold what it never computes. Refuting is the witness's business.

use std::time::{Duration, Instant};

use crate::analysis::form::check_form;
use crate::graph::{self, BodyId, Graph, NodeKind, View};
use crate::ops::Registry;
use crate::verify::differ::{Shows, Witness, refute};
use crate::verify::options::{Budget, JudgeOptions};

/// Inputs that are tried on each pair of smaller graphs.
const TRIALS: usize = 24;
/// Milliseconds that each pair may take.
const TRIAL_MS: u64 = 1500;

/// Two small graphs that differ as larger ones do.
#[derive(Debug)]
pub struct Illustration {
    /// The graph before.
    pub before: Graph,
    /// The graph after.
    pub after: Graph,
    /// What shows it.
    pub witness: Witness,
    /// Inputs that stand for nodes of the larger graph.
    pub stand_ins: Vec<String>,
}

impl Illustration {
    /// Returns what a reader must know of it.
    pub fn note(&self) -> String {
        match self.stand_ins.as_slice() {
            [] => "a part of the graphs that differ".into(),
            names => format!("a part of the graphs that differ; computed there, given here: {}", names.join(", ")),
        }
    }
}

/// Looks for the smallest graphs that show a difference of this kind, until the deadline; `None` where none are smaller.
pub fn illustrate(
    (before, after): (&Graph, &Graph),
    shows: Shows,
    registry: &Registry,
    options: &JudgeOptions,
    deadline: Instant,
) -> Option<Illustration> {
    let quick = JudgeOptions {
        given: None,
        budget: Budget { trials: TRIALS, shrinks: 0, time_ms: TRIAL_MS, ..options.budget },
        ..options.clone()
    };
    let mut still = |graphs: &[Graph]| {
        let Some((a, b)) = well_formed(graphs, registry) else { return false };
        refute(&a, &b, registry, &quick).witness.is_some_and(|w| w.shows == shows)
    };
    let whole = [before.clone(), after.clone()];
    if !still(&whole) {
        return None;
    }
    let reduced = graph::reduce(whole.into(), deadline, &mut still);
    let (a, b) = well_formed(&reduced.graphs, registry)?;
    if a.len() >= before.len() && b.len() >= after.len() {
        return None;
    }
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(TRIAL_MS));
    let time_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    let thorough = JudgeOptions { budget: Budget { time_ms, ..options.budget }, given: None, ..options.clone() };
    let witness = refute(&a, &b, registry, &thorough).witness?;
    let stand_ins = stand_ins(before, &a);
    Some(Illustration { before: a, after: b, witness, stand_ins })
}

/// Both graphs with their types, where they are well formed.
fn well_formed(graphs: &[Graph], registry: &Registry) -> Option<(Graph, Graph)> {
    let [a, b] = graphs else { return None };
    let typed = |g: &Graph| {
        let mut g = g.clone();
        (check_form(&g).is_empty() && registry.check_types(&mut g).is_empty()).then_some(g)
    };
    Some((typed(a)?, typed(b)?))
}

fn stand_ins(before: &Graph, small: &Graph) -> Vec<String> {
    let inputs = |g: &Graph| -> Vec<String> {
        let nodes = g.nodes(BodyId::ROOT).take_while(|n| g.kind(*n) == NodeKind::Placeholder);
        nodes.map(|n| g.name(n).to_string()).collect()
    };
    let own = inputs(before);
    inputs(small).into_iter().filter(|n| !own.contains(n)).collect()
}
