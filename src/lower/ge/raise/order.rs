//! Whether a GE graph orders what the graph that was lowered orders.
//!
//! What a graph says of streams becomes control edges. For each node that waits for another stream, the last node there that it waits for must be
//! behind it by edges, or by the order of operators on one stream. Which operators are a node's, the descriptors say (`_fx_tensor_name`); that is
//! no more than a name to look for: an edge that is not there is found wherever the name leads, and a node that must be there and whose name is gone is refused.

use std::collections::{HashMap, HashSet};

use super::wires::Wires;
use super::{RaiseError, Raising};
use crate::analysis::streams::{Accesses, Order, Rules, Streams, Work, mentions_streams};
use crate::analysis::{Shares, Storages, home_of, place_of};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, ValueType, View};
use crate::lower::ge::proto::{AttrDef, Value};
use crate::lower::ge::written::{Written, WrittenOp};
use crate::ops::Registry;

const STREAM: &str = "_user_stream_label";

fn text(attr: Option<&AttrDef>) -> Option<&str> {
    match attr.map(|a| &a.value) {
        Some(Some(Value::S(text))) => std::str::from_utf8(text).ok(),
        _ => None,
    }
}

/// Returns the name of the node of which an operator gives a result.
fn node_of<'o>(op: &'o WrittenOp<'_>) -> Option<&'o str> {
    let names = op.output_desc.iter().filter_map(|d| text(d.attr.get("_fx_tensor_name")));
    names.filter_map(|n| n.split_once('-')).map(|(node, _)| node).next()
}

/// Returns for each operator the one before it on its stream.
fn earlier_on_stream(ge: &Written<'_>) -> Vec<Option<usize>> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    let computes = |op: &WrittenOp<'_>| !matches!(op.r#type, "Data" | "RefData" | "Const" | "NetOutput");
    let one = |(i, op): (usize, &WrittenOp<'_>)| {
        // The main stream's operators are ordered by their data alone.
        let stream = op.attr.get(STREAM).and_then(|a| text(Some(a))).filter(|_| computes(op))?.to_string();
        let key = ge.op.get(i).and_then(|o| text(o.attr.get(STREAM))).filter(|s| *s == stream)?;
        last.insert(key, i)
    };
    ge.op.iter().enumerate().map(one).collect()
}

/// Whether one operator is done before another begins.
fn is_before(wires: &Wires, earlier: &[Option<usize>], a: usize, b: usize) -> bool {
    let (mut open, mut seen) = (vec![b], vec![false; earlier.len()]);
    while let Some(at) = open.pop() {
        if at == a {
            return true;
        }
        if let Some(mark) = seen.get_mut(at)
            && !std::mem::replace(mark, true)
        {
            open.extend(wires.producers(at));
            open.extend(earlier.get(at).copied().flatten());
        }
    }
    false
}

impl Raising<'_, '_> {
    /// Holds the graph to the order that streams have in the one that was lowered.
    pub(super) fn check_order(&self) -> Result<(), RaiseError> {
        let original = self.original;
        if !mentions_streams(original) {
            return Ok(());
        }
        let registry = self.b.registry();
        let streams = Streams::of(original);
        let mut storages = Storages::new(original, registry, &[]);
        let work = Work::of(original, &mut Accesses::new(original, registry), &mut storages);
        let Ok(order) = Order::of(original, &streams, Rules::MaxAutotune, &work, &mut storages) else {
            return Err(RaiseError::Host("its streams are too many to be told apart".into()));
        };
        let operators: HashMap<&str, usize> =
            self.ge.op.iter().enumerate().filter_map(|(i, op)| Some((node_of(op)?, i))).collect();
        let earlier = earlier_on_stream(self.ge);
        for (a, b) in waits(original, &order) {
            let (before, after) = (original.name(a), original.name(b));
            let found =
                |n: NodeId, next: &dyn Fn(NodeId) -> Vec<NodeId>| operators_of(original, registry, &operators, n, next);
            let first = found(a, &|n| original.operands(n).collect());
            let then = found(b, &|n| original.users_in_order(n));
            let kept = first.zip(then).is_some_and(|(first, then)| {
                first.iter().all(|x| then.iter().all(|y| is_before(&self.wires, &earlier, *x, *y)))
            });
            if !kept {
                return Err(RaiseError::OrderLost { before: before.to_string(), after: after.to_string() });
            }
        }
        Ok(())
    }
}

/// The operator of a node; those of its next ones, where it becomes none. Nothing where one that it must have is not there.
fn operators_of(
    original: &Graph,
    registry: &Registry,
    operators: &HashMap<&str, usize>,
    node: NodeId,
    next: &dyn Fn(NodeId) -> Vec<NodeId>,
) -> Option<Vec<usize>> {
    let (mut open, mut seen, mut found) = (vec![node], HashSet::new(), Vec::new());
    while let Some(node) = open.pop() {
        if original.kind(node) != NodeKind::Call || !seen.insert(node) {
            continue;
        }
        match operators.get(original.name(node)) {
            Some(at) => found.push(*at),
            None if makes_none(original, registry, node) => open.extend(next(node)),
            None => return None,
        }
    }
    Some(found)
}

/// Whether a node may become no operator: it gives no tensor, takes one of several that another gave, is its operand, or nobody reads it.
fn makes_none(original: &Graph, registry: &Registry, node: NodeId) -> bool {
    let ty = original.ty(node);
    let is_number =
        matches!(ty, ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_) | ValueType::None);
    let is_same = matches!(home_of(original, registry, place_of(original, node)).as_slice(), [Shares::Same(_)]);
    let is_item = original.target(node) == "_operator.getitem";
    is_number || is_same || is_item || original.users_in_order(node).is_empty()
}

/// Every node that waits for another stream, with the last one there that it waits for, where that is new to its own stream.
fn waits(original: &Graph, order: &Order) -> Vec<(NodeId, NodeId)> {
    let mut at: HashMap<(u32, u32), NodeId> = HashMap::new();
    let mut known: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut found = Vec::new();
    for node in original.nodes(BodyId::ROOT) {
        let Some(step) = order.step(node) else { continue };
        let now = order.known(step).to_vec();
        let before = known.insert(step.stream.0, now.clone()).unwrap_or_default();
        for (stream, position) in (0_u32..).zip(&now) {
            let was = usize::try_from(stream).ok().and_then(|s| before.get(s)).copied().unwrap_or(0);
            if stream != step.stream.0 && *position > was {
                // Operators on streams have no step: the last one that computes.
                let last = (1..=*position).rev().find_map(|p| at.get(&(stream, p)));
                found.extend(last.map(|a| (*a, node)));
            }
        }
        at.insert((step.stream.0, step.position), node);
    }
    found
}
