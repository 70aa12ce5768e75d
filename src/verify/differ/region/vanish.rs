//! What is nothing but rounding where the values that both graphs make alike may be any.
//!
//! A value that cancels over the reals is multiplied by what is 0 on nearly all inputs (`v * g + (-v / 49 * 49) * g`), or chosen where a branch is rare: on inputs of the whole graphs no run sees it. Of the
//! region behind, `v` and `g` are inputs.
//!
//! Promises: a region is told only where the graph after has more values that are nothing but rounding than the graph before, on inputs of it of which none is made of another. Of what is many calls away from
//! where the graphs part only that much is looked at; where a region cannot be cut out, nothing is said. Graphs that write are run as a whole, too, on ordinary inputs of several seeds.

use std::time::Instant;

use crate::graph::{BodyId, Graph, NodeKind, View};
use crate::ops::Registry;
use crate::verify::differ::parting::Alike;
use crate::verify::differ::region::cut::{Cutter, Frontier};
use crate::verify::differ::region::sites::{Pair, ways};
use crate::verify::differ::sampled::{self, Unheld};
use crate::verify::differ::subject::Subject;
use crate::verify::differ::trials;
use crate::verify::options::JudgeOptions;

/// How many results are looked at that the graphs do not make alike.
const RESULTS: usize = 16;
/// How often a region is made wider: what its inputs are made of may hang together.
const LAYERS: usize = 3;
/// How many calls of both graphs one has at most.
const CALLS: usize = 512;

/// Whether no more of the graph after than of the graph before is nothing but rounding, in any region behind what both make alike.
pub fn vanish_alike(
    (before, after): (&Graph, &Graph),
    registry: &Registry,
    options: &JudgeOptions,
    deadline: Instant,
) -> Result<(), Unheld> {
    // Beside writes no region is cut out.
    if [before, after].iter().any(|graph| writes(graph, registry)) {
        alike_in((before, after), registry, options, deadline)?;
    }
    let Some(alike) = Alike::of(before, after) else { return Ok(()) };
    let cutter = Cutter::new([before, after], registry, &alike);
    for way in ways(before, after, &alike).iter().take(RESULTS) {
        let nearest = |pair: &Pair| cutter.independent(cutter.frontier(*pair));
        let is_small = |pair: Pair, frontier: &Frontier| cutter.calls(pair, frontier) <= CALLS;
        let first = way.partition_point(|pair| !is_small(*pair, &nearest(pair)));
        let Some(pair) = way.get(first).copied() else { continue };
        let mut frontier = nearest(&pair);
        for _ in 0..=LAYERS {
            let Some(region) = cutter.cut(pair, &frontier) else { break };
            alike_in((&region.before, &region.after), registry, options, deadline)?;
            match cutter.wider(&frontier).map(|wider| cutter.independent(wider)) {
                Some(wider) if is_small(pair, &wider) => frontier = wider,
                _ => break,
            }
        }
    }
    Ok(())
}

fn writes(graph: &Graph, registry: &Registry) -> bool {
    let calls = graph.nodes(BodyId::ROOT).filter(|node| graph.kind(*node) == NodeKind::Call);
    calls.into_iter().any(|node| registry.operator_of(graph, node).is_some_and(|o| o.effects.writes()))
}

fn alike_in(
    (before, after): (&Graph, &Graph),
    registry: &Registry,
    options: &JudgeOptions,
    deadline: Instant,
) -> Result<(), Unheld> {
    let Ok(mut subject) = Subject::of(before, after, registry, options) else { return Ok(()) };
    let trials = trials::of(&mut subject, options.budget.bytes);
    sampled::vanish_alike_on_some(&mut subject, &trials, options.seed, deadline)
}
