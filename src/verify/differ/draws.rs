//! How often two programs draw.
//!
//! Promises: numbers are told where every call's draws are known; then programs that draw another number of times and leave the generator
//! elsewhere are not the same, whatever they return.

use crate::analysis::call::{self, Known};
use crate::graph::{BodyId, Graph, NodeKind, View};
use crate::ops::Registry;
use crate::verify::differ::error::{Difference, Shows};
use crate::verify::differ::subject::Subject;

/// Returns that the programs draw another number of times; `None` where they do not, or nobody knows.
pub fn compare(subject: &Subject<'_>) -> Option<Difference> {
    let count = |graph| count(graph, subject.registry);
    let (before, after) = (count(subject.before)?, count(subject.after)?);
    // What is lowered draws by operators of its own.
    if before == after || subject.may_stop_raising {
        return None;
    }
    let (before, after) = (words(before), words(after));
    let what = "random numbers".to_string();
    Some(Difference { shows: Shows::Draws, what, index: Vec::new(), before, after, wide: None, units: None })
}

fn words(count: usize) -> String {
    if count == 1 { "1 draw".into() } else { format!("{count} draws") }
}

fn count(graph: &Graph, registry: &Registry) -> Option<usize> {
    if graph.bodies().count() > 1 {
        return None;
    }
    let mut draws = 0_usize;
    for node in graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call) {
        let Known::As(operator, bound) = Known::of(graph, registry, node) else { return None };
        draws = draws.saturating_add(usize::from(call::draws(operator, &bound)));
    }
    Some(draws)
}
