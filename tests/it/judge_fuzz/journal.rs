//! A second program as edits of the first one, through the `Editor`: what the judge is given when a pass has run.
//!
//! Promises: the journal holds no more than the difference (nodes that stay where they were are not touched). Gives up where the editor refuses
//! an edit, or where the second program needs what no edit makes (another sub-graph).

use std::collections::BTreeMap;
use std::sync::Arc;

use airlock::editor::{Editor, NewCall, Point};
use airlock::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};
use airlock::ops::Registry;

/// Edits `before` until it is `after`. Types of `before` must be settled.
pub fn edited(before: &Graph, after: &Graph, registry: &Arc<Registry>) -> Option<Editor> {
    let mut e = Editor::new(before.clone(), registry.clone());
    let pairs: Vec<(BodyId, BodyId)> = before
        .bodies()
        .map(|b| after.bodies().find(|c| before.body_name(b) == after.body_name(*c)).map(|c| (b, c)))
        .collect::<Option<_>>()?;
    if pairs.len() != after.bodies().count() {
        return None;
    }
    for (b, c) in pairs {
        one(&mut e, b, after, c)?;
    }
    Some(e)
}

fn one(e: &mut Editor, body: BodyId, after: &Graph, theirs: BodyId) -> Option<()> {
    let own: Vec<NodeId> = e.graph().nodes(body).collect();
    let inputs: Vec<NodeId> = own.iter().copied().filter(|n| e.graph().kind(*n) == NodeKind::Placeholder).collect();
    let mut inputs = inputs.into_iter();
    let mut map: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut last: Option<NodeId> = None;
    for node in after.nodes(theirs) {
        let mapped = |a: &Arg| a.map_nodes(&mut |n| map.get(&n).copied().unwrap_or(n));
        let args: Vec<Arg> = after.args(node).iter().map(mapped).collect();
        let kwargs: Vec<(String, Arg)> =
            after.kwargs(node).iter().map(|(k, a)| (after.texts.text(*k).to_string(), mapped(a))).collect();
        let kind = after.kind(node);
        let here = match kind {
            NodeKind::Placeholder => inputs.next()?,
            NodeKind::Output => {
                let output = e.graph().output(body)?;
                if e.graph().args(output) != args.as_slice() {
                    e.set_args(output, args, kwargs).ok()?;
                }
                output
            }
            NodeKind::GetAttr | NodeKind::Call => {
                let next = match last {
                    Some(l) => e.graph().next(l)?,
                    None => *own.first()?,
                };
                let known = e
                    .graph()
                    .find_name(body, after.name(node))
                    .filter(|n| own.contains(n) && e.graph().kind(*n) == kind);
                let known =
                    known.filter(|n| e.graph().target(*n) == after.target(node) || same_args(e, *n, &args, &kwargs));
                match known {
                    Some(n) => {
                        if kind == NodeKind::Call {
                            if e.graph().target(n) != after.target(node) {
                                e.set_target(n, after.target(node)).ok()?;
                            } else if !same_args(e, n, &args, &kwargs) {
                                e.set_args(n, args, kwargs).ok()?;
                            }
                        }
                        if n != next {
                            e.move_node(n, Point::Before(next)).ok()?;
                        }
                        n
                    }
                    None if kind == NodeKind::Call => {
                        let call = NewCall { target: after.target(node).into(), args, kwargs, name: None };
                        e.insert(Point::Before(next), call).ok()?
                    }
                    None => return None,
                }
            }
        };
        map.insert(node, here);
        last = Some(here);
    }
    let kept: Vec<NodeId> = map.values().copied().collect();
    for node in own.into_iter().rev().filter(|n| !kept.contains(n)) {
        e.erase(node).ok()?;
    }
    Some(())
}

fn same_args(e: &Editor, n: NodeId, args: &[Arg], kwargs: &[(String, Arg)]) -> bool {
    let graph = e.graph();
    let own = graph.kwargs(n).iter().map(|(k, a)| (graph.texts.text(*k), a));
    graph.args(n) == args && own.eq(kwargs.iter().map(|(k, a)| (k.as_str(), a)))
}
