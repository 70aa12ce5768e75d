//! Sub-graphs: two bodies are one if they are the same list of calls, up to names.
//!
//! Promises: equal bodies do the same, effects and writes included, for they are equal node by node, in order. Bodies that only
//! mean the same are not shown equal here.

use rustc_hash::FxHashMap;

use super::functional::Functional;
use super::term::{Side, Token};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, StrId, ValueType, View};

/// Returns whether two bodies are the same, and all bodies that they call.
pub fn same(f: &Functional<'_>, a: (Side, BodyId), b: (Side, BodyId)) -> bool {
    let (left, right) = (f.view(a.0), f.view(b.0));
    let mut open = vec![(a.1, b.1)];
    let mut seen = Vec::new();
    while let Some((x, y)) = open.pop() {
        if seen.contains(&(x, y)) {
            continue;
        }
        seen.push((x, y));
        let mut pairs: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let (mut at_x, mut at_y) = (left.first(x), right.first(y));
        while let (Some(p), Some(q)) = (at_x, at_y) {
            if !same_node(left, p, right, q, &pairs, &mut open) {
                return false;
            }
            pairs.insert(p, q);
            (at_x, at_y) = (left.next(p), right.next(q));
        }
        if at_x.is_some() || at_y.is_some() {
            return false;
        }
    }
    true
}

fn same_node(
    left: &dyn View,
    p: NodeId,
    right: &dyn View,
    q: NodeId,
    pairs: &FxHashMap<NodeId, NodeId>,
    open: &mut Vec<(BodyId, BodyId)>,
) -> bool {
    if left.kind(p) != right.kind(q) {
        return false;
    }
    match (left.ty(p), right.ty(q)) {
        (ValueType::Body(x), ValueType::Body(y)) => open.push((*x, *y)),
        (x, y) if x != y => return false,
        _ => {}
    }
    match left.kind(p) {
        NodeKind::Placeholder => return true,
        // Whose attribute it is, is said by the body that names it.
        NodeKind::GetAttr => {
            let path = |view: &dyn View, n: NodeId| view.place(n).map(|(body, _)| view.body_name(body).to_string());
            let is_body = matches!(left.ty(p), ValueType::Body(_));
            return is_body || (left.target(p) == right.target(q) && path(left, p) == path(right, q));
        }
        NodeKind::Output => {}
        NodeKind::Call => {
            if left.target(p) != right.target(q) {
                return false;
            }
        }
    }
    flat(left, left.args(p), left.kwargs(p), &|n| pairs.get(&n).copied())
        == flat(right, right.args(q), right.kwargs(q), &Some)
}

/// Arguments as a list of tokens and nodes; a node that has no partner is `None`.
fn flat(
    view: &dyn View,
    args: &[Arg],
    kwargs: &[(StrId, Arg)],
    map: &dyn Fn(NodeId) -> Option<NodeId>,
) -> Option<Vec<(Option<Token>, Option<NodeId>)>> {
    let mut out = vec![(Some(Token::List(args.len())), None)];
    let keyed = kwargs.iter().map(|(k, a)| (Some(view.texts().text(*k)), a));
    let mut open: Vec<(Option<&str>, &Arg)> = args.iter().map(|a| (None, a)).chain(keyed).collect();
    open.reverse();
    while let Some((key, arg)) = open.pop() {
        if let Some(key) = key {
            out.push((Some(Token::Key(key.into())), None));
        }
        match arg {
            Arg::Node(n) => out.push((None, Some(map(*n)?))),
            Arg::List(items) | Arg::Tuple(items) => {
                out.push((Some(Token::List(items.len())), None));
                open.extend(items.iter().rev().map(|a| (None, a)));
            }
            Arg::Dict(items) => {
                out.push((Some(Token::List(items.len())), None));
                open.extend(items.iter().rev().map(|(k, a)| (Some(&**k), a)));
            }
            scalar => out.push((Token::scalar(scalar), None)),
        }
    }
    Some(out)
}
