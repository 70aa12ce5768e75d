//! No-op removal, as TorchAir takes it over from PyTorch's inductor (`remove_noop_ops` in `post_grad.py`): an operator that
//! returns its operand as it is gives way to it, where dtype, sizes, strides and device are the operand's.
//!
//! Where we differ: inductor looks at the outputs as they were, so that two clones of one value can come to share memory
//! among the outputs; and it does not look at writes. Here outputs and inputs never begin to share memory, and nothing is
//! done where either storage is written.

use rustc_hash::FxHashSet;

use crate::analysis::{Place, Shares, Storages, place_of};
use crate::editor::{EditError, Editor};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, TensorType, View};
use crate::ops::Registry;
use crate::sym::{Relation, Symbols};

/// Lets every no-op give way to its operand, until there is none.
pub fn remove_noop_ops(editor: &mut Editor) -> Result<(), EditError> {
    loop {
        let plan = plan(editor.graph(), editor.registry());
        if plan.is_empty() {
            return Ok(());
        }
        // From the last: what takes a node's place may be a no-op itself.
        for (node, source) in plan.into_iter().rev() {
            editor.replace_uses(node, source, None)?;
            editor.erase(node)?;
        }
    }
}

/// An operator that may be a no-op: its target, which argument it would return, and what must hold besides equal types.
struct Candidate {
    target: &'static str,
    source: fn(&[Arg]) -> Option<NodeId>,
    holds: fn(&[Arg], &TensorType) -> bool,
}

fn first(args: &[Arg]) -> Option<NodeId> {
    args.first()?.as_node()
}

fn second(args: &[Arg]) -> Option<NodeId> {
    args.get(1)?.as_node()
}

/// The only element of a list that is the first argument.
fn only(args: &[Arg]) -> Option<NodeId> {
    match args.first()?.items()? {
        [one] => one.as_node(),
        _ => None,
    }
}

fn always(_: &[Arg], _: &TensorType) -> bool {
    true
}

fn of_integers(_: &[Arg], ty: &TensorType) -> bool {
    ty.dtype.is_integer()
}

fn to_the_first_power(args: &[Arg], _: &TensorType) -> bool {
    match args.get(1) {
        Some(Arg::Int(e)) => *e == 1,
        Some(Arg::Float(e)) => *e == 1.0,
        _ => false,
    }
}

/// Equal sizes do not say so: 1 in front and -1 behind leave the size and move the content.
fn without_padding(args: &[Arg], _: &TensorType) -> bool {
    args.get(1).and_then(Arg::items).is_some_and(|pads| pads.iter().all(|p| *p == Arg::Int(0)))
}

const fn candidate(
    target: &'static str,
    source: fn(&[Arg]) -> Option<NodeId>,
    holds: fn(&[Arg], &TensorType) -> bool,
) -> Candidate {
    Candidate { target, source, holds }
}

/// For slices, repeats, views and copies equal sizes say all: a slice as long as its operand is all of it.
const CANDIDATES: &[Candidate] = &[
    candidate("aten.slice.Tensor", first, always),
    candidate("aten.slice_scatter.default", second, always),
    candidate("aten.repeat.default", first, always),
    candidate("aten.constant_pad_nd.default", first, without_padding),
    candidate("prims.convert_element_type.default", first, always),
    candidate("prims.device_put.default", first, always),
    candidate("aten.ceil.default", first, of_integers),
    candidate("aten.floor.default", first, of_integers),
    candidate("aten.round.default", first, of_integers),
    candidate("aten.trunc.default", first, of_integers),
    candidate("aten.pow.Tensor_Scalar", first, to_the_first_power),
    candidate("aten.cat.default", only, always),
    candidate("aten.view.default", first, always),
    candidate("aten.view.dtype", first, always),
    candidate("aten.copy.default", second, always),
    candidate("aten.alias.default", first, always),
    candidate("aten.clone.default", first, always),
];

/// Returns the no-ops and what takes their place, in program order.
fn plan(graph: &Graph, registry: &Registry) -> Vec<(NodeId, NodeId)> {
    let mut storages = Storages::new(graph, registry, &[]);
    let returned: FxHashSet<NodeId> = graph.output(BodyId::ROOT).into_iter().flat_map(|o| graph.operands(o)).collect();
    let mut shown: FxHashSet<Place> = returned.iter().map(|n| storages.origin(place_of(graph, *n))).collect();
    let mut plan = Vec::new();
    for node in graph.nodes(BodyId::ROOT) {
        let Some(source) = noop_of(graph, node) else { continue };
        let (place, from) = (place_of(graph, node), place_of(graph, source));
        let is_view = matches!(storages.parent(place), Some(Shares::Same(_) | Shares::View(_)));
        let (memory, origin) = (storages.origin(place), storages.origin(from));
        let origin_is_input = graph.kind(origin.node) == NodeKind::Placeholder;
        if is_view {
            // An output that is a view of an input or output stays another tensor than it.
            let source_is_seen = returned.contains(&source) || graph.kind(source) == NodeKind::Placeholder;
            if returned.contains(&node) && source_is_seen {
                continue;
            }
        } else {
            let is_written = !storages.group(place).events.is_empty() || !storages.group(from).events.is_empty();
            if is_written || (shown.contains(&memory) && (origin_is_input || shown.contains(&origin))) {
                continue;
            }
            if shown.contains(&memory) {
                shown.insert(origin);
            }
        }
        plan.push((node, source));
    }
    plan
}

/// Returns what `node` returns as it is, as far as types and arguments tell.
fn noop_of(graph: &Graph, node: NodeId) -> Option<NodeId> {
    if graph.kind(node) != NodeKind::Call {
        return None;
    }
    let target = graph.target(node);
    let candidate = CANDIDATES.iter().find(|c| c.target == target)?;
    let source = (candidate.source)(graph.args(node))?;
    let (ty, from) = (graph.ty(node).as_tensor()?, graph.ty(source).as_tensor()?);
    // A conjugate is computed where it is copied; who reads it may see whether it was.
    if ty.dtype.is_complex() {
        return None;
    }
    (same_meta(&graph.symbols, ty, from) && (candidate.holds)(graph.args(node), ty)).then_some(source)
}

fn same_meta(symbols: &Symbols, a: &TensorType, b: &TensorType) -> bool {
    let equal = |a: &[crate::sym::Dim], b: &[crate::sym::Dim]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| symbols.known(*a, Relation::Equal, *b) == Some(true))
    };
    let strides = match (&a.strides, &b.strides) {
        (Some(a), Some(b)) => equal(a, b),
        _ => false,
    };
    a.dtype == b.dtype && a.device == b.device && a.layout == b.layout && equal(&a.sizes, &b.sizes) && strides
}
