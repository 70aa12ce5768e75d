//! What is reduced at places of a tensor whose own elements there do not count, in one spelling on both sides.
//!
//! Promises: a tensor that holds, at the very places where something is reduced into it, what changes nothing there (0 for a sum, 1 for a product,
//! infinities for an extreme) is that tensor with its own elements left out, as PyTorch computes it itself; a sum with
//! its own elements is what adds to it.

use super::between::nothing_is_written;
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;

const REDUCED: &str = "aten.scatter_reduce.two";
const ADDED: &str = "aten.scatter_add.default";

/// A reduction at places: of which tensor, along which dimension, where, what, and how.
struct Reduction {
    into: NodeId,
    along: i64,
    places: NodeId,
    what: NodeId,
    way: String,
}

/// Leaves out the elements of a tensor that count for nothing.
pub(super) fn without_neutral(graph: &mut Graph, registry: &Registry) {
    let is_sent = |n: &NodeId| graph.kind(*n) == NodeKind::Call && [REDUCED, ADDED].contains(&graph.target(*n));
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(is_sent).collect();
    for node in calls {
        let Some(found) = read(graph, node) else { continue };
        let Some(own) = below(graph, &found) else { continue };
        if !nothing_is_written(graph, registry, found.into, node) {
            continue;
        }
        let (name, target) = (graph.texts.intern("include_self"), graph.texts.intern(REDUCED));
        let args = [
            Arg::Node(own),
            Arg::Int(found.along),
            Arg::Node(found.places),
            Arg::Node(found.what),
            Arg::Str(found.way.as_str().into()),
        ];
        graph.set_args(node, Box::new(args), Box::new([(name, Arg::Bool(false))]));
        graph.set_target(node, target);
        // What is reduced asks the same of the same places.
        if graph.users_in_order(found.into).is_empty() {
            let filled = graph.args(found.into).get(3).and_then(Arg::as_node);
            graph.remove(found.into);
            if let Some(filled) = filled.filter(|n| graph.users_in_order(*n).is_empty()) {
                graph.remove(filled);
            }
        }
    }
    for node in graph.nodes(BodyId::ROOT).collect::<Vec<_>>() {
        as_added(graph, node);
    }
}

/// A sum at places to which a tensor's own elements belong is what adds to it.
fn as_added(graph: &mut Graph, node: NodeId) {
    if graph.kind(node) != NodeKind::Call || graph.target(node) != REDUCED {
        return;
    }
    let Some(found) = read(graph, node).filter(|f| f.way == "sum") else { return };
    let args = [Arg::Node(found.into), Arg::Int(found.along), Arg::Node(found.places), Arg::Node(found.what)];
    graph.set_args(node, Box::new(args), Box::default());
    let target = graph.texts.intern(ADDED);
    graph.set_target(node, target);
}

fn read(graph: &Graph, node: NodeId) -> Option<Reduction> {
    let [Arg::Node(into), Arg::Int(along), Arg::Node(places), Arg::Node(what), rest @ ..] = graph.args(node) else {
        return None;
    };
    let way = match (graph.target(node), rest) {
        (ADDED, []) => "sum".to_string(),
        (REDUCED, [Arg::Str(way)] | [Arg::Str(way), Arg::Bool(true)]) => way.to_string(),
        _ => return None,
    };
    let counts = |(key, arg): &(_, Arg)| graph.texts.text(*key) == "include_self" && *arg == Arg::Bool(true);
    let is_plain = graph.kwargs(node).iter().all(counts);
    is_plain.then_some(Reduction { into: *into, along: *along, places: *places, what: *what, way })
}

/// The tensor into which what changes nothing was sent, along the same dimension to the same places.
fn below(graph: &Graph, found: &Reduction) -> Option<NodeId> {
    let sent = found.into;
    let [Arg::Node(own), Arg::Int(along), Arg::Node(places), value] = graph.args(sent) else { return None };
    let dtype = graph.ty(sent).as_tensor()?.dtype;
    let number = match (graph.target(sent), value) {
        ("aten.scatter.value", number) => number,
        ("aten.scatter.src", Arg::Node(filled)) if graph.target(*filled) == "aten.full.default" => {
            graph.args(*filled).get(1)?
        }
        _ => return None,
    };
    let number = match number {
        Arg::Float(v) => *v,
        Arg::Int(v) => f64::from(i32::try_from(*v).ok()?),
        _ => return None,
    };
    let neutral = match found.way.as_str() {
        "sum" => 0.0,
        "prod" => 1.0,
        "amax" => f64::NEG_INFINITY,
        "amin" => f64::INFINITY,
        _ => return None,
    };
    // Of zeros the one with a sign is another; integers have no infinities.
    let changes_nothing = number.to_bits() == f64::to_bits(neutral) && dtype.is_float();
    let plain = graph.kind(sent) == NodeKind::Call && graph.kwargs(sent).is_empty();
    (plain && changes_nothing && *along == found.along && *places == found.places).then_some(*own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    fn rewritten(program: &str) -> String {
        let mut graph = text::read(program, &text::ReadOptions::of_file("t.fx")).unwrap();
        without_neutral(&mut graph, &Registry::standard());
        text::write(&graph)
    }

    fn reduced(sent: &str, reduced: &str) -> String {
        let program = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3, 4]\", i: \"i64[2, 4]\", j: \"i64[2, 4]\", y: \"f32[2, 4]\"):\n        s: \"f32[3, 4]\" = torch.ops.aten.scatter.value(x, 0, {sent})\n        r: \"f32[3, 4]\" = torch.ops.aten.scatter_reduce.two(s, 0, i, y, {reduced})\n        return (r,)\n"
        );
        rewritten(&program)
    }

    #[test]
    fn what_filled_the_places_goes_with_it_unless_it_is_read() {
        let reduced = |result: &str| {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3, 4]\", i: \"i64[2, 4]\", y: \"f32[2, 4]\"):\n        f: \"f32[2, 4]\" = torch.ops.aten.full.default([2, 4], -inf)\n        s: \"f32[3, 4]\" = torch.ops.aten.scatter.src(x, 0, i, f)\n        r: \"f32[3, 4]\" = torch.ops.aten.scatter_reduce.two(s, 0, i, y, 'amax')\n        return ({result},)\n"
            );
            rewritten(&program)
        };
        assert!(!reduced("r").contains("full"));
        assert!(reduced("r, f").contains("full"));
    }

    #[test]
    fn a_sum_with_own_elements_is_added_and_no_other_reduction_is() {
        let made = |way: &str| {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3, 4]\", i: \"i64[2, 4]\", y: \"f32[2, 4]\"):\n        r: \"f32[3, 4]\" = torch.ops.aten.scatter_reduce.two(x, 0, i, y, {way})\n        return (r,)\n"
            );
            rewritten(&program)
        };
        for way in ["'sum'", "'sum', include_self = True"] {
            assert!(made(way).contains("scatter_add.default(x, 0, i, y)"), "{way}");
        }
        for way in ["'sum', include_self = False", "'prod'", "'mean'", "'amax'"] {
            assert!(made(way).contains("scatter_reduce.two(x, 0, i, y"), "{way}");
        }
    }

    #[test]
    fn only_what_changes_nothing_at_the_same_places_is_left_out() {
        for (sent, way) in
            [("i, 0.0", "'sum'"), ("i, 1", "'prod'"), ("i, -inf", "'amax'"), ("i, inf", "'amin', include_self = True")]
        {
            let made = reduced(sent, way);
            assert!(made.contains("scatter_reduce.two(x, 0, i, y") && made.contains("include_self = False"), "{made}");
        }
        let others =
            [("j, 0.0", "'sum'"), ("i, -0.0", "'sum'"), ("i, 0.0", "'mean'"), ("i, inf", "'amax'"), ("i, 1", "'sum'")];
        for (sent, way) in others {
            assert!(!reduced(sent, way).contains("include_self"), "{sent} {way}");
        }
    }
}
