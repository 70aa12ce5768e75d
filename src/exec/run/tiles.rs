//! Tiles: which calls run together, a few rows at a time, so that what lies between two products stays in a near cache.
//!
//! Attention whose softmax is written out is a product, a dozen calls on as many numbers as queries times keys, and another product.
//! Row by row none of them needs another row. Promises: a tile is a chain that ends with a batched product, whose other calls nobody
//! outside reads, between which nothing is written or drawn, and each of which makes an element of its own row alone, by a kernel
//! that does not look at how many rows there are. Leaves running it to `tiled`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::exec::call::session::Session;
use crate::exec::tensor::Meta;
use crate::exec::tensor::shape::Shape;
use crate::graph::{Arg, BodyId, Dtype, Graph, NodeId, NodeKind, View};

/// Matrices of fewer elements than this fit a near cache as they are.
const LEAST: usize = 1 << 19;

/// What a call in a tile does to rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Gives them as they are, in other leading dimensions.
    Same,
    /// Makes elements of the elements of operands that broadcast.
    Each,
    /// Makes one number for all elements: of the first operand only the sizes count.
    Fill,
    /// Makes a row of a row, or one number; the second argument names the last dimension.
    Row,
    /// Makes rows of the first operand's rows and all of the second operand's matrix.
    Product,
}

/// Calls that run together.
#[derive(Debug)]
pub struct Tile {
    /// The calls and what they do, in order; the last one is the product that ends the chain.
    pub calls: Vec<(NodeId, Work)>,
    /// How many matrices there are, and how many rows and columns they have between the products.
    pub sizes: [usize; 3],
}

impl Tile {
    /// Returns the call at the end.
    pub fn last(&self) -> Option<NodeId> {
        self.calls.last().map(|(node, _)| *node)
    }
}

/// The tiles of a body.
#[derive(Default, Debug)]
pub struct Tiles {
    /// All of them.
    pub all: Vec<Tile>,
    of: FxHashMap<NodeId, usize>,
}

impl Tiles {
    /// Returns the tile that a call is part of.
    pub fn of(&self, node: NodeId) -> Option<&Tile> {
        self.of.get(&node).and_then(|k| self.all.get(*k))
    }

    /// Finds the tiles of a body.
    pub fn find(graph: &Graph, body: BodyId, session: &Session<'_>) -> Tiles {
        let mut out = Tiles::default();
        let ends = |n: &NodeId| graph.kind(*n) == NodeKind::Call && graph.target(*n) == "aten.bmm.default";
        let nodes: Vec<NodeId> = graph.nodes(body).collect();
        if !nodes.iter().any(ends) {
            return out;
        }
        let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for node in &nodes {
            graph.operands(*node).for_each(|operand| users.entry(operand).or_default().push(*node));
        }
        for (at, node) in nodes.iter().enumerate().filter(|(_, n)| ends(n)) {
            let before = nodes.get(..at).unwrap_or(&[]);
            let Some(tile) = chain(graph, before, *node, &users, session) else { continue };
            if tile.calls.iter().all(|(n, _)| !out.of.contains_key(n)) {
                out.of.extend(tile.calls.iter().map(|(n, _)| (*n, out.all.len())));
                out.all.push(tile);
            }
        }
        out
    }
}

/// Returns the sizes of a value whose elements kernels of tiles compute alike wherever they stand.
pub fn sizes(graph: &Graph, node: NodeId) -> Option<Shape> {
    let ty = graph.ty(node).as_tensor()?;
    matches!(ty.dtype, Dtype::F32 | Dtype::F64 | Dtype::Bool).then(|| Meta::of(ty).ok().map(|m| m.sizes)).flatten()
}

/// How many matrices a value is, and their rows and columns.
fn matrices(sizes: &[usize]) -> Option<[usize; 3]> {
    let [lead @ .., rows, columns] = sizes else { return None };
    Some([crate::exec::tensor::shape::numel(lead), *rows, *columns])
}

fn chain(
    graph: &Graph,
    before: &[NodeId],
    last: NodeId,
    users: &FxHashMap<NodeId, Vec<NodeId>>,
    session: &Session<'_>,
) -> Option<Tile> {
    let left = graph.args(last).first()?.as_node()?;
    let of = matrices(&sizes(graph, left)?)?;
    sizes(graph, last)?;
    if of.iter().skip(1).try_fold(1_usize, |n, s| n.checked_mul(*s))? < LEAST {
        return None;
    }
    let mut calls = vec![(last, Work::Product)];
    let mut inside: FxHashSet<NodeId> = std::iter::once(last).collect();
    // How many calls of the way back to the first one of the tile have been met.
    let mut reach = 0_usize;
    for (distance, node) in before.iter().rev().enumerate() {
        let read_by = users.get(node).map_or(&[] as &[NodeId], Vec::as_slice);
        let ours = !read_by.is_empty() && read_by.iter().all(|u| inside.contains(u) && reads_rows(graph, *u, *node));
        if ours && let Some(work) = work(graph, *node, of) {
            inside.insert(*node);
            calls.push((*node, work));
            reach = distance.saturating_add(1);
        }
    }
    let pure = |n: &NodeId| match graph.kind(*n) {
        NodeKind::Call => session.registry().get(graph.target(*n)).is_some_and(|o| o.effects.is_pure()),
        _ => true,
    };
    let worth = calls.iter().filter(|(_, w)| *w != Work::Same).count() > 2;
    calls.reverse();
    (worth && before.iter().rev().take(reach).all(pure)).then_some(Tile { calls, sizes: of })
}

/// Whether a call of a tile reads this operand row by row, wherever it names it.
fn reads_rows(graph: &Graph, user: NodeId, operand: NodeId) -> bool {
    let by_place = |(place, arg): (usize, &Arg)| match arg {
        Arg::Node(n) if *n == operand => place == 0 || graph.target(user) != "aten.bmm.default",
        Arg::Node(_) => true,
        other => !other.nodes().any(|n| n == operand),
    };
    graph.args(user).iter().enumerate().all(by_place)
        && !graph.kwargs(user).iter().any(|(_, a)| a.nodes().any(|n| n == operand))
}

/// What a call does to rows of matrices, if it may be part of a tile.
fn work(graph: &Graph, node: NodeId, [count, rows, columns]: [usize; 3]) -> Option<Work> {
    if graph.kind(node) != NodeKind::Call {
        return None;
    }
    let own = sizes(graph, node)?;
    let [own_count, own_rows, own_columns] = matrices(&own)?;
    if own_count != count || own_rows != rows || (own_columns != columns && own_columns != 1) {
        return None;
    }
    let operand = |i: usize| graph.args(node).get(i).and_then(Arg::as_node).and_then(|n| sizes(graph, n));
    let last = |arg: Option<&Arg>| match arg {
        Some(Arg::Int(-1)) => true,
        Some(Arg::Int(d)) => usize::try_from(*d).ok().and_then(|d| d.checked_add(1)) == Some(own.len()),
        _ => false,
    };
    let args = graph.args(node);
    match graph.target(node) {
        "aten.bmm.default" => Some(Work::Product),
        "aten._softmax.default" if last(args.get(1)) => Some(Work::Row),
        "aten.any.dim" if last(args.get(1)) && args.get(2) == Some(&Arg::Bool(true)) => Some(Work::Row),
        "aten.clone.default" | "aten.view.default" | "aten.expand.default" | "aten._unsafe_view.default" => {
            (matrices(&operand(0)?)? == [own_count, own_rows, own_columns]).then_some(Work::Same)
        }
        "aten.full_like.default" => (operand(0)? == own).then_some(Work::Fill),
        target if EACH.contains(&target) => {
            let tensors = args.iter().filter_map(Arg::as_node);
            let all = tensors.map(|n| sizes(graph, n)).collect::<Option<Vec<_>>>()?;
            all.contains(&own).then_some(Work::Each)
        }
        _ => None,
    }
}

/// Calls whose kernels make each element of the elements at its place, by the same steps wherever it stands.
const EACH: &[&str] = &[
    "aten.add.Tensor",
    "aten.sub.Tensor",
    "aten.mul.Tensor",
    "aten.mul.Scalar",
    "aten.eq.Scalar",
    "aten.ne.Scalar",
    "aten.logical_not.default",
    "aten.logical_and.default",
    "aten.logical_or.default",
    "aten.where.self",
    "aten.where.ScalarSelf",
    "aten.where.ScalarOther",
];
