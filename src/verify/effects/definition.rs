//! Whether a call surely holds because each call of its exact definition does.
//!
//! Promises: "yes" only for operators that are nothing but their definition (what PyTorch's own refuse, no decomposition says), and for sizes that are numbers, which type rules checked, where every call of the decomposition (in turn decomposed, where
//! need be) never raises for the types that the rules give. A fused operator means its one definition; that the device raises for nothing else is
//! the same assumption as that it computes that. Work is bounded.

use crate::analysis::{getitem_of, place_of};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::{Bound, CallSite, Contracts, Exactness, Operator, Total, ViewStep};
use crate::term::term::Side;
use crate::verify::effects::contract;
use crate::verify::effects::numbers::holds_plainly;
use crate::verify::effects::sizes::{agree_but, are_counts, has_known_sizes, is_reduced_filled};
use crate::verify::effects::view_calls::has_view;
use crate::verify::functional::values::Functional;
use crate::verify::functional::views::axis;

/// How many calls a definition may have, all in all.
const CALLS: usize = 400;

/// Returns whether every call of a call's definition never raises.
pub fn by_definition(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    let Some(first) = expanded(f, view, node, false) else { return false };
    let mut open = vec![first];
    let mut calls = 0_usize;
    while let Some(graph) = open.pop() {
        let nodes: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
        calls = calls.saturating_add(nodes.len());
        if calls > CALLS {
            return false;
        }
        for node in nodes {
            if getitem_of(&graph, node).is_some() || holds(f, &graph, node) {
                continue;
            }
            match expanded(f, &graph, node, true) {
                Some(inner) => open.push(inner),
                None => return false,
            }
        }
    }
    true
}

/// Returns the exact definition of a call whose types are numbers and the rules'.
fn expanded(f: &mut Functional<'_>, view: &dyn View, node: NodeId, typed: bool) -> Option<Graph> {
    let called = f.registry.operator_of(view, node)?;
    // What lies apart is written as if it were given.
    let operator = f.registry.apart(called).unwrap_or(called);
    let exact = f.registry.exactness(operator) == Some(Exactness::Exact) && operator.means_its_definition();
    let mut sizes = operands(view, node, typed)?.into_iter().flat_map(|t| t.sizes.iter());
    if !exact || !operator.effects.is_pure() || !sizes.all(|d| f.sizes.is_settled(*d)) {
        return None;
    }
    let site = CallSite { annotated: None, target: &operator.target, ..CallSite::of(view, node) };
    let expansion = f.registry.decompose(view, f.sizes.own(), site).ok()??;
    Some(expansion.graph)
}

fn is_fixed(t: &TensorType) -> bool {
    t.sizes.iter().all(|d| d.fixed().is_some())
}

/// Types of all tensors that a call is given; `None` where something else is a node, or nobody knows. `typed`: rules gave all types.
fn operands(view: &dyn View, node: NodeId, typed: bool) -> Option<Vec<&TensorType>> {
    let mut out = Vec::new();
    for n in view.operands(node) {
        // Calls of a definition were typed as they were made.
        if !typed && (view.hearsay(n).sizes() || view.hearsay(n).strides()) {
            return None;
        }
        match view.ty(n) {
            ValueType::Tensor(t) => out.push(&**t),
            ValueType::Many(all) => {
                for t in all.iter() {
                    out.push(t.as_tensor()?);
                }
            }
            // Whether such a number fits is asked of the call.
            ValueType::SymInt(_) if typed => {}
            _ => return None,
        }
    }
    Some(out)
}

/// Whether a call of a definition never raises for its types.
fn holds(f: &mut Functional<'_>, graph: &Graph, node: NodeId) -> bool {
    let registry = f.registry;
    let found = registry.operator_of(graph, node).and_then(|o| {
        Some((
            o,
            Bound::bind(&o.schema, graph, graph.args(node), graph.kwargs(node)).ok()?,
            operands(graph, node, true)?,
        ))
    });
    let Some((operator, bound, types)) = found else { return false };
    let fixed = types.iter().all(|t| is_fixed(t));
    let any_numbers = !is_given_sizes(graph, node) && (fixed || operator.facts.counts.is_none());
    let counted = any_numbers || are_counts(&mut f.sizes, graph, operator, &bound);
    let fit = counted && (fixed || fit_as_symbols(f, operator, &bound, &types));
    if !operator.effects.is_pure() || !fit {
        return false;
    }
    let one_device = types.windows(2).all(|pair| matches!(pair, [a, b] if a.device == b.device));
    one_device && states(f, operator, graph, node, &bound, &types) && lies_so(f, graph, node, operator, &bound)
}

/// Whether sizes that are symbols are among what a call is given.
fn is_given_sizes(graph: &Graph, node: NodeId) -> bool {
    graph.operands(node).any(|n| matches!(graph.ty(n), ValueType::SymInt(_)))
}

/// Whether sizes that are symbols fit for all their values.
fn fit_as_symbols(f: &Functional<'_>, operator: &Operator, bound: &Bound<'_>, types: &[&TensorType]) -> bool {
    let one = crate::sym::Dim::Fixed(1);
    let align = |a: &TensorType, b: &TensorType| {
        let mut pairs = a.sizes.iter().rev().zip(b.sizes.iter().rev());
        pairs.all(|(x, y)| *x == one || *y == one || f.sizes.same(*x, *y))
    };
    let all = types.iter().enumerate().all(|(k, a)| types.iter().skip(k).all(|b| align(a, b)));
    // Attention has flags that ask more.
    let plain = operator.facts.contracts.filter(|kind| *kind != Contracts::Attention);
    let contracts = plain.is_some_and(|kind| contract::fits(&f.sizes, kind, bound, types));
    let from = types.first().copied();
    let apart = operator.facts.joins && joins(f, bound, types);
    let known = has_known_sizes(&f.sizes, operator, bound, from, types) || parts_fit(operator, bound, from);
    let reduced = operator.facts.fits_filled && is_reduced_filled(f, operator, bound, from);
    (operator.pointwise && all)
        || (operator.facts.any_size && types.len() == 1)
        || contracts
        || apart
        || known
        || reduced
}

/// Whether tensors that are joined have the same sizes along all other dimensions.
fn joins(f: &Functional<'_>, bound: &Bound<'_>, types: &[&TensorType]) -> bool {
    let rank = types.first().map_or(0, |t| t.rank());
    axis(bound.get(1), rank).is_some_and(|dim| agree_but(f, types, dim))
}

/// Whether parts are taken, by numbers, of a dimension whose size is one: the type rule checked that they are there.
fn parts_fit(operator: &Operator, bound: &Bound<'_>, from: Option<&TensorType>) -> bool {
    let Some(from) = from else { return false };
    match operator.facts.step {
        Some(
            ViewStep::Permute
            | ViewStep::Transpose
            | ViewStep::LastTwo
            | ViewStep::Reverse
            | ViewStep::Flip
            | ViewStep::Move,
        ) => true,
        Some(ViewStep::Slice | ViewStep::Narrow | ViewStep::Select | ViewStep::Pieces) => {
            let at = usize::from(operator.facts.step == Some(ViewStep::Pieces)).saturating_add(1);
            let size = axis(bound.get(at), from.rank()).and_then(|d| from.sizes.get(d));
            let numbers = bound
                .args
                .iter()
                .skip(1)
                .all(|a| a.items().map_or(a.as_node().is_none(), |all| all.iter().all(|a| a.as_node().is_none())));
            numbers && size.is_some_and(|d| d.fixed().is_some())
        }
        _ => false,
    }
}

fn states(
    f: &mut Functional<'_>,
    operator: &Operator,
    graph: &Graph,
    node: NodeId,
    bound: &Bound<'_>,
    types: &[&TensorType],
) -> bool {
    match operator.facts.total {
        Total::Always => true,
        total if total.goes_by_dtypes() => {
            holds_plainly(&mut f.sizes, graph, node, operator, bound, (Some(types), false))
        }
        Total::Floats | Total::Numbers => {
            types.iter().all(|t| matches!(t.dtype, crate::graph::Dtype::F32 | crate::graph::Dtype::F64))
                && operator.schema.params.iter().zip(&bound.args).all(|(p, a)| {
                    p.ty.holds_tensors() || matches!(a, Arg::None | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_))
                })
        }
        _ => false,
    }
}

fn lies_so(f: &mut Functional<'_>, graph: &Graph, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
    if operator.facts.if_contiguous || operator.facts.if_given.is_some() {
        return false;
    }
    if !operator.facts.layout_decides {
        return true;
    }
    let from = bound.args.first().and_then(|a| a.as_node()).map(|n| place_of(graph, n).node);
    let (Some(from), Some(to)) = (from.and_then(|n| graph.ty(n).as_tensor()), graph.ty(node).as_tensor()) else {
        return false;
    };
    has_view(f.sizes.own(), from, to, bound)
}
