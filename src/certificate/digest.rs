//! What identifies a graph in a certificate.
//!
//! Promises: two graphs with one digest have the same bodies, nodes, names, calls, arguments, types, strides of inputs and calling convention, in
//! the same order, whatever file they were read from. Comments, metadata and weights have no say, for no verdict rests on these; nor has a
//! `getitem` that nobody uses: a `.pt2` has one for each result of a call, and a text may have none.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::analysis::getitem_of;
use crate::formats::text::write_node_line;
use crate::graph::{Graph, NodeId, NodeKind, View};
use crate::sym::Range;

/// A graph, named by what it holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphDigest {
    /// How many nodes its bodies have that are hashed.
    pub nodes: usize,
    /// The BLAKE3 hash of what it holds, in hexadecimal digits.
    pub blake3: String,
}

impl GraphDigest {
    /// Returns the digest of a graph whose types are settled.
    pub fn of(graph: &Graph) -> Self {
        let mut hash = blake3::Hasher::new();
        // A hasher takes all that is written.
        let nodes = write(graph, &mut hash).unwrap_or(usize::MAX);
        GraphDigest { nodes, blake3: hash.finalize().to_hex().to_string() }
    }
}

/// Returns how many nodes were written.
fn write(graph: &Graph, out: &mut impl Write) -> std::io::Result<usize> {
    let mut count = 0_usize;
    let is_idle = |n: NodeId| getitem_of(graph, n).is_some() && graph.users(n).is_none_or(|u| u.is_empty());
    for body in graph.bodies() {
        let parent = graph.body_parent(body).map(|b| b.0);
        writeln!(out, "body {:?} in {parent:?}", graph.body_name(body))?;
        for node in graph.nodes(body).filter(|n| !is_idle(*n)) {
            count = count.saturating_add(1);
            // A line holds no end of line: names are shown escaped.
            writeln!(out, "{:?} {:?} {}", graph.kind(node), graph.name(node), write_node_line(graph, node))?;
            if graph.kind(node) == NodeKind::Placeholder
                && let Some(ty) = graph.ty(node).as_tensor()
            {
                let shown = |dims: &[crate::sym::Dim]| -> Vec<String> {
                    dims.iter().map(|d| graph.symbols.print_python(*d)).collect()
                };
                let strides = ty.strides.as_deref().map(shown);
                writeln!(out, "lies {strides:?} from {} on {}", graph.symbols.print_python(ty.offset), ty.device)?;
            }
        }
    }
    writeln!(out, "{:?}", graph.signature)?;
    Ok(count)
}

/// Returns the ranges of the symbols of a graph, by name.
pub fn ranges(graph: &Graph) -> Vec<(String, Range)> {
    let mut all: Vec<(String, Range)> =
        graph.symbols.symbols().map(|(name, range)| (name.to_string(), range)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    fn digest(body: &str) -> GraphDigest {
        let program = format!("class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4, 6]\"):\n{body}");
        GraphDigest::of(&text::read(&program, &text::ReadOptions::default()).unwrap())
    }

    #[test]
    fn what_a_call_computes_has_a_say_and_a_getitem_that_nobody_uses_has_none() {
        let split = "        s = torch.ops.aten.split.Tensor(x, 2)\n";
        let taken = "        a = s[0]\n";
        let idle = "        b = s[1]\n";
        let end = "        return (a,)\n";
        assert_eq!(digest(&format!("{split}{taken}{end}")), digest(&format!("{split}{taken}{idle}{end}")));
        let other = split.replace(", 2)", ", 1)");
        assert_ne!(digest(&format!("{split}{taken}{end}")), digest(&format!("{other}{taken}{end}")));
    }
}
