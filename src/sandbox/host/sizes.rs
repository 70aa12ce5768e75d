//! Questions about sizes that come as text.
//!
//! Promises: asking changes nothing of the graph: texts are read into a copy of its symbols, which is taken again when the
//! graph has learnt new ones.

use super::super::bindings::airlock::pass::graph::Relation as WitRelation;
use super::super::bindings::airlock::pass::types::Dim as WitDim;
use crate::graph::Graph;
use crate::sym::{Dim, Relation, Symbols};

/// Texts beyond this many bytes are not read: one of powers of sums takes the longer the more of them stand in it, and no deadline is looked at
/// meanwhile.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// A copy of the graph's symbols to read texts into.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    symbols: Symbols,
    copied_from: Option<usize>,
    /// Bytes of the symbols when that was last asked.
    bytes: u64,
}

impl Sizes {
    fn read(&mut self, graph: &Graph, dim: &WitDim) -> Option<Dim> {
        let text = match dim {
            WitDim::Fixed(v) => return Some(Dim::Fixed(*v)),
            WitDim::Symbolic(text) => text,
        };
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        if self.copied_from != Some(graph.symbols.len()) {
            self.symbols = graph.symbols.clone();
            self.copied_from = Some(graph.symbols.len());
            self.bytes = self.symbols.bytes();
        }
        self.symbols.parse_dim(text).ok()
    }

    /// Returns how many bytes reading has added since this was last asked: a text of some letters can be a sum of thousands.
    pub(super) fn take_grown(&mut self) -> u64 {
        let now = self.symbols.bytes();
        now.saturating_sub(std::mem::replace(&mut self.bytes, now))
    }

    /// Returns whether a relation always or never holds.
    pub(super) fn known(&mut self, graph: &Graph, a: &WitDim, relation: WitRelation, b: &WitDim) -> Option<bool> {
        let relation = match relation {
            WitRelation::Equal => Relation::Equal,
            WitRelation::Less => Relation::Less,
            WitRelation::Divides => Relation::Divides,
        };
        let (a, b) = (self.read(graph, a)?, self.read(graph, b)?);
        self.symbols.known(a, relation, b)
    }

    /// Returns the smallest and the largest value; what is no size can be anything.
    pub(super) fn range_of(&mut self, graph: &Graph, a: &WitDim) -> (i64, Option<i64>) {
        match self.read(graph, a) {
            Some(dim) => {
                let range = self.symbols.range_of(dim);
                (range.min.unwrap_or(i64::MIN), range.max)
            }
            None => (i64::MIN, None),
        }
    }
}

/// Returns how many bytes reading a size may fill.
pub(super) fn weight_of(dim: &WitDim) -> u64 {
    const PER_BYTE: u64 = 64;
    match dim {
        WitDim::Fixed(_) => 0,
        WitDim::Symbolic(text) => u64::try_from(text.len()).unwrap_or(u64::MAX).saturating_mul(PER_BYTE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::Range;

    fn text(t: &str) -> WitDim {
        WitDim::Symbolic(t.into())
    }

    #[test]
    fn sizes_are_compared_over_their_ranges_without_touching_the_graph() {
        let mut graph = Graph::new();
        graph.symbols.symbol("s0");
        graph.symbols.set_range("s0", Range::new(2, 10)).unwrap();
        let before = graph.symbols.len();
        let mut sizes = Sizes::default();
        assert_eq!(sizes.known(&graph, &text("2*s0"), WitRelation::Equal, &text("s0 + s0")), Some(true));
        assert_eq!(sizes.known(&graph, &text("s0"), WitRelation::Less, &WitDim::Fixed(11)), Some(true));
        assert_eq!(sizes.known(&graph, &text("s0"), WitRelation::Less, &WitDim::Fixed(5)), None);
        assert_eq!(sizes.known(&graph, &WitDim::Fixed(4), WitRelation::Divides, &text("8*s0")), Some(true));
        assert_eq!(sizes.range_of(&graph, &text("s0 + 1")), (3, Some(11)));
        assert_eq!(graph.symbols.len(), before);
    }

    #[test]
    fn what_is_no_size_is_not_known() {
        let (graph, mut sizes) = (Graph::new(), Sizes::default());
        let nested = text(&"(".repeat(50_000));
        for bad in [text("s0 +"), text("\0"), nested, text(&"9".repeat(100_000))] {
            assert_eq!(sizes.known(&graph, &bad, WitRelation::Equal, &bad), None);
            assert_eq!(sizes.range_of(&graph, &bad), (i64::MIN, None));
        }
    }
}
