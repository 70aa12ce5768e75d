//! Other values in the place of a node.
//!
//! Promises: who used the node uses what stands for it, wherever in its arguments it is named. Form and types are not checked.

use super::{Arg, Graph, NodeId, View};

/// Lets the users of a node use its results instead, and removes it.
pub fn replace(graph: &mut Graph, node: NodeId, results: &[Arg]) {
    let (whole, results) = match results {
        [list @ (Arg::List(items) | Arg::Tuple(items))] => (list.clone(), &**items),
        [one] => (one.clone(), &[][..]),
        all => (Arg::Tuple(all.into()), all),
    };
    let users: Vec<NodeId> = graph.users_in_order(node);
    for user in users {
        let part = match (graph.target(user), graph.args(user)) {
            ("_operator.getitem" | "operator.getitem", [_, Arg::Int(i)]) => usize::try_from(*i).ok(),
            _ => None,
        };
        match part.and_then(|i| results.get(i)).cloned() {
            Some(result) => {
                let takers = graph.users_in_order(user);
                takers.into_iter().for_each(|taker| put(graph, taker, user, &result));
                graph.remove(user);
            }
            None => put(graph, user, node, &whole),
        }
    }
    graph.remove(node);
}

/// Lets a user take another value in the place of a node.
pub fn put(graph: &mut Graph, user: NodeId, old: NodeId, new: &Arg) {
    let args = graph.args(user).iter().map(|a| replaced_in(a, old, new)).collect();
    let kwargs = graph.kwargs(user).iter().map(|(k, a)| (*k, replaced_in(a, old, new))).collect();
    graph.set_args(user, args, kwargs);
}

/// Returns the argument with a node replaced. Lists nest at most `Arg::MAX_DEPTH` deep.
pub fn replaced_in(arg: &Arg, old: NodeId, new: &Arg) -> Arg {
    match arg {
        Arg::Node(n) if *n == old => new.clone(),
        Arg::List(items) => Arg::List(items.iter().map(|a| replaced_in(a, old, new)).collect()),
        Arg::Tuple(items) => Arg::Tuple(items.iter().map(|a| replaced_in(a, old, new)).collect()),
        Arg::Dict(items) => Arg::Dict(items.iter().map(|(k, a)| (k.clone(), replaced_in(a, old, new))).collect()),
        other => other.clone(),
    }
}
