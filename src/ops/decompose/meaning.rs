//! The meaning of a user's operator: a body in other operators, put in place of a call.
//!
//! Promises: parameters are the call's arguments, tensors or not; every call of the body is typed anew for the types of the call.
//! Leaves reading the text and checking it against the schema to `formats`.

use rustc_hash::FxHashMap;

use super::builder::{Builder, Made};
use super::expand::substitute;
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};

/// Emits the calls of `body` for the arguments of the call.
pub(super) fn build(b: &Builder<'_>, body: &Graph) -> Made {
    let mut places: FxHashMap<NodeId, Arg> = FxHashMap::default();
    let mut results = Vec::new();
    for node in body.nodes(BodyId::ROOT) {
        match body.kind(node) {
            NodeKind::Placeholder => {
                places.insert(node, b.arg(body.target(node)));
            }
            NodeKind::Call => {
                let args = body.args(node).iter().map(|a| substitute(a, &places)).collect();
                let named = body.kwargs(node).iter();
                let named = named.map(|(k, a)| (body.texts.text(*k).to_string(), substitute(a, &places)));
                let named = named.collect::<Vec<_>>();
                let interned =
                    b.with_graph(|g| named.into_iter().map(|(k, a)| (g.texts.intern(&k), a)).collect::<Vec<_>>());
                places.insert(node, Arg::Node(b.emit_interned(body.target(node), args, interned)));
            }
            NodeKind::Output => {
                results = body.args(node).iter().map(|a| substitute(a, &places)).collect();
            }
            NodeKind::GetAttr => return Err(b.unsupported("bodies of its own")),
        }
    }
    match (results.as_slice(), b.operator().schema.returns.len()) {
        ([Arg::Tuple(all)], n) if n != 1 || all.len() == 1 => Ok(all.to_vec()),
        ([Arg::None], 0) => Ok(Vec::new()),
        _ => Ok(results),
    }
}
