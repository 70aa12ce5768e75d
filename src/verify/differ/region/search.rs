//! Looks for a region on which two graphs differ, and for inputs of the whole graphs that show it.
//!
//! Promises: a difference is told only where it shows at each width that was tried, and at the pairs around it that were. Work is bounded by a deadline.

use std::time::Instant;

use crate::graph::{Graph, View};
use crate::ops::Registry;
use crate::verify::differ::parting::Alike;
use crate::verify::differ::region::cut::{Cutter, Region};
use crate::verify::differ::region::replay::replay;
use crate::verify::differ::region::sites::{Pair, ways};
use crate::verify::differ::{Witness, refute};
use crate::verify::options::{Budget, JudgeOptions};

/// Ways from what is returned that are followed.
const WAYS: usize = 4;
/// Pairs of a way, from where the graphs part outwards.
const PAIRS: usize = 3;
/// How often a region is made wider.
const LAYERS: usize = 6;
/// Inputs that are tried on a region.
const TRIALS: usize = 64;
/// Milliseconds that they may take.
const TRIAL_MS: u64 = 500;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Inputs of the whole graphs that show a difference.
    pub witness: Option<Witness>,
    /// What differs on a region, and is not shown on the graphs.
    pub told: Option<String>,
}

struct Search<'a> {
    cutter: Cutter<'a>,
    options: &'a JudgeOptions,
    deadline: Instant,
}

/// Looks for a region on which the graphs differ, until the deadline.
pub fn search(
    (before, after): (&Graph, &Graph),
    registry: &Registry,
    options: &JudgeOptions,
    deadline: Instant,
) -> Found {
    let Some(alike) = Alike::of(before, after) else { return Found::default() };
    let search = Search { cutter: Cutter::new([before, after], registry, &alike), options, deadline };
    let mut found = Found::default();
    for way in ways(before, after, &alike).iter().take(WAYS) {
        let of_way = search.along(way);
        if of_way.witness.is_some() {
            return of_way;
        }
        found.told = found.told.or(of_way.told);
    }
    found
}

impl Search<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// From where the graphs part outwards, as long as what is around differs too.
    fn along(&self, way: &[Pair]) -> Found {
        let mut told = None;
        for pair in way.iter().rev().take(PAIRS) {
            let at = self.at(*pair);
            if at.witness.is_some() {
                return at;
            }
            if self.is_late() {
                break;
            }
            // What the values around it make of a difference that is none.
            let Some(said) = at.told else { return Found::default() };
            told.get_or_insert(said);
        }
        Found { witness: None, told }
    }

    /// Wider and wider regions of a pair, as long as they differ.
    fn at(&self, pair: Pair) -> Found {
        let mut frontier = self.cutter.frontier(pair);
        let mut told = None;
        for _ in 0..=LAYERS {
            let Some(region) = self.cutter.cut(pair, &frontier).filter(|_| !self.is_late()) else { break };
            let Some(shown) = self.shown_on(&region) else { return Found::default() };
            if let Some(witness) =
                replay(self.cutter.graphs, self.cutter.registry, self.options, (&region, &shown), self.deadline)
            {
                return Found { witness: Some(witness), told: None };
            }
            told = Some(self.sentence(pair, &region, &shown));
            match self.cutter.wider(&frontier) {
                Some(wider) => frontier = wider,
                None => break,
            }
        }
        Found { witness: None, told }
    }

    /// Inputs of a region that show a difference.
    fn shown_on(&self, region: &Region) -> Option<Witness> {
        let budget = Budget { trials: TRIALS, shrinks: 0, time_ms: TRIAL_MS, ..self.options.budget };
        let options = JudgeOptions { budget, given: None, ..self.options.clone() };
        refute(&region.before, &region.after, self.cutter.registry, &options).witness
    }

    fn sentence(&self, (a, b): Pair, region: &Region, shown: &Witness) -> String {
        let [before, after] = self.cutter.graphs;
        let free: Vec<String> = region.stand_ins.iter().map(|(_, node)| format!("`{node}`")).collect();
        let of = if free.is_empty() { String::new() } else { format!(" of any {}", free.join(", ")) };
        let what = shown.sentence();
        let what = what.split_once(": ").map_or(what.as_str(), |(_, rest)| rest);
        format!("`{}` and `{}`{of} differ: {what}; not shown on the graph", before.name(a), after.name(b))
    }
}
