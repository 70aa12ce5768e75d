//! Fourier transforms of one dimension after the other, in one spelling on both sides: the device transforms the last one or two, and what that makes of
//! several PyTorch does at once.
//!
//! Promises: what is done is done to both graphs; of those that were taken apart a verdict says that they are right over the reals. Complex numbers that
//! are put together of the parts of others, moved as pairs, are these, moved.

use std::collections::BTreeSet;

use super::between::nothing_is_written;
use super::definition::taken_apart;
use crate::analysis::getitem_of;
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, View};
use crate::ops::Registry;

const PAIRED: &str = "aten.complex.default";
const PERMUTED: &str = "aten.permute.default";
const COPY: &str = "aten.clone.default";

pub(super) const TRANSFORMS: [&str; 3] = ["aten._fft_c2c.default", "aten._fft_r2c.default", "aten._fft_c2r.default"];

/// Takes transforms apart into those of the last dimension; returns the targets of those that were.
pub fn one_by_one(before: &mut Graph, raised: &mut Graph, registry: &Registry) -> BTreeSet<String> {
    let calls = |g: &Graph| {
        let mut nodes = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call);
        nodes.any(|n| TRANSFORMS.contains(&g.target(n)))
    };
    let mut defined = BTreeSet::new();
    if calls(before) && calls(raised) {
        for graph in [before, raised] {
            defined.extend(taken_apart(graph, registry, |target, _| TRANSFORMS.contains(&target), |_, _, _| true));
            let pairs: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| is_call(graph, *n, PAIRED)).collect();
            for pair in pairs {
                put_together(graph, registry, pair);
            }
        }
    }
    defined
}

/// Complex numbers of which both parts are those of the same ones, in the same other order, are a copy of these in that order.
fn put_together(graph: &mut Graph, registry: &Registry, node: NodeId) -> Option<()> {
    let [Arg::Node(real), Arg::Node(imaginary)] = graph.args(node) else { return None };
    let (real, imaginary) = (*real, *imaginary);
    let (moved, other) = (part(graph, real, 0)?, part(graph, imaginary, 1)?);
    let (pairs, order) = match graph.args(moved) {
        [Arg::Node(pairs), order] if is_call(graph, moved, PERMUTED) => (*pairs, order.items()?.to_vec()),
        _ => (moved, Vec::new()),
    };
    let [Arg::Node(whole)] = graph.args(pairs) else { return None };
    let whole = *whole;
    let last = i64::try_from(graph.ty(whole).as_tensor()?.rank()).ok()?;
    let stays = order.last().is_none_or(|d| *d == Arg::Int(last));
    if moved != other || !is_call(graph, pairs, "aten.view_as_real.default") || !stays {
        return None;
    }
    if !nothing_is_written(graph, registry, whole, node) {
        return None;
    }
    let is_moved = |order: &[Arg]| !order.iter().zip(0..).all(|(d, at)| *d == Arg::Int(at));
    let seen = match order.split_last() {
        Some((_, order)) if is_moved(order) => {
            made(graph, registry, node, PERMUTED, vec![Arg::Node(whole), Arg::List(order.into())])?
        }
        _ => whole,
    };
    let target = graph.texts.intern(COPY);
    graph.set_args(node, Box::new([Arg::Node(seen)]), Box::default());
    graph.set_target(node, target);
    without_unread(graph, vec![real, imaginary]);
    Some(())
}

fn is_call(graph: &Graph, node: NodeId, target: &str) -> bool {
    graph.kind(node) == NodeKind::Call && graph.target(node) == target
}

/// The tensor of pairs of which a tensor holds the so-many-th of each pair.
fn part(graph: &Graph, node: NodeId, which: u32) -> Option<NodeId> {
    let [Arg::Node(item), Arg::Int(at)] = graph.args(node) else { return None };
    let (split, found) = getitem_of(graph, *item)?;
    let [Arg::Node(pairs), sizes, Arg::Int(-1)] = graph.args(split) else { return None };
    let last = i64::try_from(graph.ty(*pairs).as_tensor()?.rank()).ok()?.checked_sub(1)?;
    let is_part = is_call(graph, node, "aten.squeeze.dim") && is_call(graph, split, "aten.split_with_sizes.default");
    let halves = sizes.items()? == [Arg::Int(1), Arg::Int(1)];
    (is_part && halves && found == which && *at == last).then_some(*pairs)
}

/// A call in front of another one, whose type the rules give.
pub(super) fn made(
    graph: &mut Graph,
    registry: &Registry,
    before: NodeId,
    target: &str,
    args: Vec<Arg>,
) -> Option<NodeId> {
    let ty = registry.infer(graph, target, &args, &[]).ok()?;
    let (target, name) = (graph.texts.intern(target), graph.free_name(BodyId::ROOT, "moved"));
    let new = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: Box::default(), ty };
    Some(graph.insert(BodyId::ROOT, Some(before), &name, new))
}

/// Whether a call is one of those by which parts are taken.
fn is_view(graph: &Graph, node: NodeId) -> bool {
    const VIEWS: [&str; 4] =
        ["aten.squeeze.dim", "aten.split_with_sizes.default", PERMUTED, "aten.view_as_real.default"];
    getitem_of(graph, node).is_some() || VIEWS.contains(&graph.target(node))
}

/// Removes views that nobody reads, and those that only they read.
fn without_unread(graph: &mut Graph, mut open: Vec<NodeId>) {
    while let Some(node) = open.pop() {
        let is_view = graph.contains(node) && graph.kind(node) == NodeKind::Call && is_view(graph, node);
        if is_view && graph.users_in_order(node).is_empty() {
            open.extend(graph.operands(node));
            graph.remove(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    /// What becomes of complex numbers that are put together of pairs.
    fn paired(permuted: &str, parts: &str) -> String {
        let program = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, z: \"c64[2, 3]\"):\n        f: \"c64[2, 3]\" = torch.ops.aten._fft_c2c.default(z, [1], 0, True)\n        v: \"f32[2, 3, 2]\" = torch.ops.aten.view_as_real.default(f)\n        p: \"f32[3, 2, 2]\" = torch.ops.aten.permute.default(v, {permuted})\n        s = torch.ops.aten.split_with_sizes.default(p, [1, 1], -1)\n        a: \"f32[3, 2, 1]\" = s[0]\n        b: \"f32[3, 2, 1]\" = s[1]\n        c: \"f32[3, 2]\" = torch.ops.aten.squeeze.dim(a, 2)\n        d: \"f32[3, 2]\" = torch.ops.aten.squeeze.dim(b, 2)\n        r: \"c64[3, 2]\" = torch.ops.aten.complex.default({parts})\n        return (r,)\n"
        );
        let registry = Registry::standard();
        let read = || {
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            let _ = registry.check_types(&mut graph);
            graph
        };
        let (mut before, mut raised) = (read(), read());
        let defined = one_by_one(&mut before, &mut raised, &registry);
        assert!(defined.is_empty(), "the last dimension alone is what it is");
        text::write(&raised)
    }

    #[test]
    fn only_both_parts_of_the_same_numbers_are_these() {
        let made = paired("[1, 0, 2]", "c, d");
        assert!(made.contains("permute.default(f, [1, 0])") && !made.contains("view_as_real"), "{made}");
        // Conjugates, and what pairs other numbers with one another, are not.
        for (order, parts) in [("[1, 0, 2]", "d, c"), ("[1, 0, 2]", "c, c"), ("[1, 2, 0]", "c, d")] {
            assert!(paired(order, parts).contains("complex.default"), "{order} {parts}");
        }
    }
}
