//! Whether two GE graphs are the same, up to what means nothing.
//!
//! Does not count: names, the order in which operators are written, whether equal constants are shared or repeated,
//! unfed optional inputs, attributes at their default, text for people, shapes and devices of intermediate tensors, and
//! control edges that force no order beyond what other edges force.
//! Counts: operator types, data edges by slot, declared and scope attributes, types and formats, Data, NetOutput, the
//! contents of constants, graph attributes, and the order that control edges force.
//!
//! How: the two NetOutputs are one pair, and a pair forces the pairs of its producers, slot by slot. What no output
//! depends on is paired by what it computes (exact interned terms, no hashes); only where equal terms share differently
//! is there a choice, and then `petgraph` searches. Every pair is checked in full, so "same" never rests on a guess.

mod dead;
mod host;
mod normal;
mod order;
mod pairs;

pub use host::{Host, HostError, compare_host};

use super::proto::GraphDef;
use normal::Normal;
use pairs::Pairs;

/// The result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// Whether the graphs are the same.
    pub same: bool,
    /// How they differ, in words, in the order in which it was found; cut where there is too much.
    pub differences: Vec<String>,
    /// How many operators were compared, constants aside.
    pub nodes: usize,
}

/// Compares `ours` with `reference`.
pub fn compare(ours: &GraphDef, reference: &GraphDef) -> Comparison {
    let mut found = Differences::default();
    let left = Normal::of(ours, "ours", &mut found);
    let right = Normal::of(reference, "the reference", &mut found);
    normal::compare_graph_attributes(ours, reference, &mut found);
    normal::compare_constants(&left, &right, &mut found);
    if let (Some(a), Some(b)) = (left.net_output, right.net_output) {
        let mut pairs = Pairs::new(&left, &right);
        pairs.force(a, b, &mut found);
        dead::pair(&mut pairs, &mut found);
        if found.is_empty() {
            order::compare(&pairs, &mut found);
        }
    }
    let nodes = left.nodes.len();
    Comparison { same: found.is_empty(), differences: found.into_list(), nodes }
}

/// Differences, up to a limit.
#[derive(Default)]
pub(super) struct Differences {
    list: Vec<String>,
    more: usize,
}

impl Differences {
    const LIMIT: usize = 100;

    fn add(&mut self, text: String) {
        if self.list.len() < Self::LIMIT {
            self.list.push(text);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn into_list(mut self) -> Vec<String> {
        if self.more > 0 {
            self.list.push(format!("and {} more", self.more));
        }
        self.list
    }
}

#[cfg(test)]
mod tests;
