//! Products of matrices to which a row is added, in one spelling on both sides: GE has an operator for the product and one for the sum, whatever
//! the graph that was lowered calls them, and computes the two as one.
//!
//! Promises: what is done is done to both graphs, under one assumption, which is named: the row is added before the product is rounded.

use std::collections::BTreeSet;

use super::between::nothing_is_written;
use super::definition::taken_apart;
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, View};
use crate::ops::Registry;

const SUM: &str = "aten.add.Tensor";
const PRODUCT: &str = "aten.mm.default";
const BOTH: &str = "aten.addmm.default";
const RESHAPED: &str = "aten.reshape.default";
const LINEAR: &str = "aten.linear.default";

/// What gives a tensor other sizes.
const RESHAPES: [&str; 3] = [RESHAPED, "aten.view.default", "aten._unsafe_view.default"];

/// What is assumed of the device.
pub const ASSUMED: &str = "a row that is added to a product of matrices is added before the product is rounded";

/// Spells products with a row alike in both graphs; returns whether there is any, and the targets that were taken apart by what they mean over the
/// reals alone.
pub fn biased(before: &mut Graph, raised: &mut Graph, registry: &Registry) -> (bool, BTreeSet<String>) {
    let calls =
        |g: &Graph, target: &str| g.nodes(BodyId::ROOT).any(|n| g.kind(n) == NodeKind::Call && g.target(n) == target);
    let mut defined = BTreeSet::new();
    if [&*before, &*raised].iter().any(|g| calls(g, LINEAR)) && [&*before, &*raised].iter().any(|g| calls(g, BOTH)) {
        for graph in [&mut *before, &mut *raised] {
            defined.extend(taken_apart(graph, registry, |target, _| target == LINEAR, |_| true));
        }
    }
    let mut any = false;
    for graph in [before, raised] {
        let sums: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.target(*n) == SUM).collect();
        for sum in sums {
            any |= as_one(graph, registry, sum);
        }
    }
    (any, defined)
}

/// Makes one call of a product that nothing else reads, and a row that is added to it.
fn as_one(graph: &mut Graph, registry: &Registry, sum: NodeId) -> bool {
    let ([Arg::Node(x), Arg::Node(y)], []) = (graph.args(sum), graph.kwargs(sum)) else { return false };
    let (x, y) = (*x, *y);
    let Some((of, row)) = [(x, y), (y, x)].into_iter().find(|(of, row)| is_row_for(graph, *of, *row, sum)) else {
        return false;
    };
    let lone = |n: NodeId| graph.users_in_order(n).len() == 1;
    let reshaped = match graph.args(of) {
        [Arg::Node(from), sizes] if RESHAPES.contains(&graph.target(of)) && lone(of) => Some((*from, sizes.clone())),
        _ => None,
    };
    let product = reshaped.as_ref().map_or(of, |(from, _)| *from);
    let [Arg::Node(a), Arg::Node(b)] = graph.args(product) else { return false };
    let last = |n: NodeId| graph.ty(n).as_tensor().and_then(|t| t.sizes.last().copied());
    if graph.target(product) != PRODUCT || !lone(product) || last(product) != last(of) {
        return false;
    }
    if !nothing_is_written(graph, registry, product, sum) {
        return false;
    }
    let args: Box<[Arg]> = Box::new([Arg::Node(row), Arg::Node(*a), Arg::Node(*b)]);
    let both = graph.texts.intern(BOTH);
    if let Some((_, sizes)) = reshaped {
        let (name, ty) = (graph.free_name(BodyId::ROOT, "addmm"), graph.ty(product).clone());
        let new = NewNode { kind: NodeKind::Call, target: both, args, kwargs: Box::default(), ty };
        let made = graph.insert(BodyId::ROOT, Some(sum), &name, new);
        graph.set_args(sum, Box::new([Arg::Node(made), sizes]), Box::default());
        let target = graph.texts.intern(RESHAPED);
        graph.set_target(sum, target);
        graph.remove(of);
    } else {
        graph.set_args(sum, args, Box::default());
        graph.set_target(sum, both);
    }
    graph.remove(product);
    true
}

/// Whether one operand of a sum is a row of its type that is repeated over the other, whose sizes the sum has.
fn is_row_for(graph: &Graph, of: NodeId, row: NodeId, sum: NodeId) -> bool {
    let tensor = |n: NodeId| graph.ty(n).as_tensor();
    let (Some(of), Some(row), Some(sum)) = (tensor(of), tensor(row), tensor(sum)) else { return false };
    row.rank() == 1 && of.rank() >= 2 && row.dtype == of.dtype && of.dtype == sum.dtype && of.sizes == sum.sizes
}
