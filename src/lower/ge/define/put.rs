//! What is put at places of inner dimensions: GE puts rows, and has these dimensions brought to the front, and back; and what is sent to one place of
//! a dimension.
//!
//! Promises: the same elements at the same places, by an `index_put` that names the dimensions where they are, or a `select_scatter`.

use super::build::signed;
use super::{Call, Undefined};
use crate::graph::{Arg, NodeId, NodeKind, View};

/// The operands of a call of one operator without keywords.
fn operands<'g>(c: &'g Call<'_, '_>, node: NodeId, target: &str) -> Option<&'g [Arg]> {
    let g = &c.b.graph;
    (g.kind(node) == NodeKind::Call && g.target(node) == target && g.kwargs(node).is_empty()).then(|| g.args(node))
}

/// What a permutation is of, and its order.
fn permuted(c: &Call<'_, '_>, node: NodeId) -> Option<(NodeId, Vec<usize>)> {
    let [Arg::Node(of), Arg::List(order)] = operands(c, node, "aten.permute.default")? else { return None };
    let place = |a: &Arg| if let Arg::Int(at) = a { usize::try_from(*at).ok() } else { None };
    Some((*of, order.iter().map(place).collect::<Option<_>>()?))
}

/// The order that brings `count` dimensions from `first` on to the front.
fn to_front(first: usize, count: usize, rank: usize) -> Vec<usize> {
    let end = first.saturating_add(count);
    (first..end).chain(0..first).chain(end..rank).collect()
}

/// The order that takes another one back.
fn back(order: &[usize]) -> Option<Vec<usize>> {
    (0..order.len()).map(|axis| order.iter().position(|from| *from == axis)).collect()
}

/// Reads what is put at the front of a permuted tensor, and permuted back by `order`, as put within that tensor.
pub(super) fn put_within(c: &mut Call<'_, '_>, put: NodeId, order: &[i64]) -> Result<Option<NodeId>, Undefined> {
    let Some((args, updates, turned)) = read(c, put, order) else { return Ok(None) };
    let values = match permuted(c, updates) {
        Some((own, before)) if back(&before).as_ref() == Some(&turned) => own,
        _ if turned.is_sorted() => updates,
        _ => {
            let order = Arg::list(turned.iter().copied().map(signed));
            c.b.call("aten.permute.default", vec![Arg::Node(updates), order])?
        }
    };
    // What is repeated over the places is repeated by PyTorch itself.
    let values = match operands(c, values, "aten.expand.default") {
        Some([Arg::Node(own), _]) => *own,
        _ => values,
    };
    let mut args = args;
    if let Some(slot) = args.get_mut(2) {
        *slot = Arg::Node(values);
    }
    c.b.call("aten.index_put.default", args).map(Some)
}

/// The operands of the inner put, with its values as they are at the front, and the order that takes these back.
fn read(c: &Call<'_, '_>, put: NodeId, order: &[i64]) -> Option<(Vec<Arg>, NodeId, Vec<usize>)> {
    let args = operands(c, put, "aten.index_put.default")?;
    let ([Arg::Node(rows), Arg::List(by), Arg::Node(updates)], adds) = args.split_at_checked(3)? else { return None };
    let (own, front) = permuted(c, *rows)?;
    let order: Vec<usize> = order.iter().map(|at| usize::try_from(*at).ok()).collect::<Option<_>>()?;
    let (first, count, rank) = (*front.first()?, by.len(), front.len());
    if back(&front)? != order || front != to_front(first, count, rank) {
        return None;
    }
    let mut spread = 0;
    for index in by.iter() {
        let Arg::Node(index) = index else { return None };
        let ty = c.b.tensor(*index).ok()?;
        // Truth values name as many dimensions as they have.
        if !ty.dtype.is_integer() || ty.dtype.bytes() < 4 {
            return None;
        }
        spread = spread.max(ty.rank());
    }
    let values = c.b.rank(*updates).ok()?;
    // All dimensions are there: none is left to be put in front.
    if values != rank.checked_sub(count)?.checked_add(spread)? {
        return None;
    }
    let turned = back(&to_front(first, spread, values))?;
    let places = vec![Arg::None; first].into_iter().chain(by.iter().cloned()).collect::<Vec<_>>();
    let inner = [Arg::Node(own), Arg::List(places.into()), Arg::Node(*updates)];
    Some((inner.into_iter().chain(adds.iter().cloned()).collect(), *updates, turned))
}

/// The number that fills a tensor of places, however it is repeated.
fn filled(c: &Call<'_, '_>, node: NodeId) -> Option<i64> {
    let mut node = node;
    while c.b.graph.target(node) == "aten.expand.default"
        && let Some(Arg::Node(from)) = c.b.graph.args(node).first()
    {
        node = *from;
    }
    match (c.b.graph.target(node), c.b.graph.args(node)) {
        ("aten.full.default", [_, Arg::Int(place)]) => Some(*place),
        _ => None,
    }
}

/// What is sent along a dimension to one place of it, whole: the same everywhere along that dimension, if it is sent there more than once.
pub(super) fn selected(
    c: &mut Call<'_, '_>,
    (data, along): (NodeId, i64),
    places: NodeId,
    updates: NodeId,
) -> Result<Option<NodeId>, Undefined> {
    let rank = c.b.rank(data)?;
    let Ok(axis) = super::shape::axis(along, rank) else { return Ok(None) };
    let Some(place) = filled(c, places) else { return Ok(None) };
    let (own, sent) = (c.b.tensor(data)?.sizes.clone(), c.b.tensor(places)?.sizes.clone());
    let within = own.get(axis).and_then(|d| d.fixed()).is_some_and(|size| (0..size).contains(&place));
    let times = sent.get(axis).and_then(|d| d.fixed()).unwrap_or(0);
    let whole = own.len() == sent.len() && own.iter().zip(&sent).enumerate().all(|(d, (a, b))| d == axis || a == b);
    if !within || !whole || times < 1 || c.b.tensor(updates)?.sizes != sent {
        return Ok(None);
    }
    let one = |c: &Call<'_, '_>, n: NodeId| {
        c.b.tensor(n).is_ok_and(|t| t.rank() == rank && t.sizes.get(axis).and_then(|d| d.fixed()) == Some(1))
    };
    let row = match operands(c, updates, "aten.expand.default") {
        Some([Arg::Node(from), _]) if one(c, *from) => *from,
        _ if one(c, updates) => updates,
        _ => return Ok(None),
    };
    let at = Arg::Int(signed(axis));
    let row = match operands(c, row, "aten.unsqueeze.default") {
        Some([Arg::Node(from), Arg::Int(put)]) if *put == signed(axis) => *from,
        _ => c.b.call("aten.squeeze.dim", vec![Arg::Node(row), at.clone()])?,
    };
    // The row is repeated along other dimensions, too.
    let mut sizes = c.b.sizes(data)?;
    sizes.remove(axis);
    let row = if c.b.sizes(row)? == sizes {
        row
    } else {
        c.b.call("aten.expand.default", vec![Arg::Node(row), Arg::List(sizes.into())])?
    };
    let args = vec![Arg::Node(data), Arg::Node(row), at, Arg::Int(place)];
    c.b.call("aten.select_scatter.default", args).map(Some)
}
