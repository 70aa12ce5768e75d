//! Bodies that only say how autograd records them: to a graph for inference their calls stand where the wrapper stands.
//!
//! Promises: the calls of a body are copied in their order, its placeholders are the operands, its results those of the wrapper; a body under
//! autocast that is on is left alone, since there operators compute in other types than they say.

use std::collections::HashMap;

use super::expand::replace;
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, ValueType, View};

/// Returns the graph with such bodies in their places; nothing where it has none.
pub fn inlined(graph: &Graph) -> Option<Graph> {
    let wrappers = |g: &Graph| -> Vec<(NodeId, BodyId, Vec<Arg>)> {
        g.nodes(BodyId::ROOT).filter_map(|n| wrapped(g, n).map(|(body, operands)| (n, body, operands))).collect()
    };
    let mut open = wrappers(graph);
    if open.is_empty() {
        return None;
    }
    let mut graph = graph.clone();
    // A body may hold wrappers of bodies further in: each is a child, so that this ends.
    while !open.is_empty() {
        for (node, body, operands) in open {
            let getter = graph.operands(node).find(|n| matches!(graph.ty(*n), ValueType::Body(_)));
            let results = copy(&mut graph, body, node, &operands);
            replace(&mut graph, node, &results);
            if let Some(getter) = getter.filter(|g| graph.users_in_order(*g).is_empty()) {
                graph.remove(getter);
            }
        }
        open = wrappers(&graph);
    }
    Some(graph)
}

/// Returns the body that a call runs as it stands, and what it is given.
fn wrapped(graph: &Graph, node: NodeId) -> Option<(BodyId, Vec<Arg>)> {
    let args = graph.args(node);
    let at = match graph.target(node) {
        "higher_order.wrap_with_set_grad_enabled" => 1,
        "higher_order.wrap_with_autocast" if args.get(2) == Some(&Arg::Bool(false)) => 4,
        _ => return None,
    };
    match graph.ty(args.get(at)?.as_node()?) {
        ValueType::Body(body) => Some((*body, args.get(at.saturating_add(1)..)?.to_vec())),
        _ => None,
    }
}

fn copy(graph: &mut Graph, body: BodyId, before: NodeId, operands: &[Arg]) -> Vec<Arg> {
    let mut places: HashMap<NodeId, Arg> = HashMap::new();
    let mut operands = operands.iter();
    for node in graph.nodes(body).collect::<Vec<_>>() {
        let put = |arg: &Arg| arg_with(arg, &places);
        let args: Box<[Arg]> = graph.args(node).iter().map(put).collect();
        let kwargs = graph.kwargs(node).iter().map(|(k, a)| (*k, put(a))).collect();
        match graph.kind(node) {
            NodeKind::Placeholder => {
                places.extend(operands.next().map(|o| (node, o.clone())));
            }
            kind @ (NodeKind::Call | NodeKind::GetAttr) => {
                let (ty, name) = (graph.ty(node).clone(), graph.name(node).to_string());
                let target = graph.target(node).to_string();
                let target = graph.texts.intern(&target);
                let name = graph.free_name(BodyId::ROOT, &name);
                let new = NewNode { kind, target, args, kwargs, ty };
                places.insert(node, Arg::Node(graph.insert(BodyId::ROOT, Some(before), &name, new)));
            }
            // A list of one is a list.
            NodeKind::Output => return args.to_vec(),
        }
    }
    Vec::new()
}

/// Lists nest at most `Arg::MAX_DEPTH` deep.
fn arg_with(arg: &Arg, places: &HashMap<NodeId, Arg>) -> Arg {
    let each = |items: &[Arg]| items.iter().map(|a| arg_with(a, places)).collect();
    match arg {
        Arg::Node(n) => places.get(n).cloned().unwrap_or(Arg::None),
        Arg::List(items) => Arg::List(each(items)),
        Arg::Tuple(items) => Arg::Tuple(each(items)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;
    use crate::lower::ge::{Options, lower};

    fn wrapped_by(call: &str) -> Graph {
        let text = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2]\", y: \"f32[2]\"):\n        b = self.b\n        w = torch.ops.higher_order.{call}, b, x, y)\n        g: \"f32[2]\" = w[0]\n        r: \"f32[2]\" = torch.ops.aten.relu.default(g)\n        return (r,)\n    class b(torch.nn.Module):\n        def forward(self, p: \"f32[2]\", q: \"f32[2]\"):\n            t: \"f32[2]\" = torch.ops.aten.sub.Tensor(q, p)\n            return (t,)\n"
        );
        text::read(&text, &text::ReadOptions::of_file("t.fx")).unwrap()
    }

    #[test]
    fn a_body_that_is_only_told_of_gradients_stands_in_its_place() {
        let lowered = lower(&wrapped_by("wrap_with_set_grad_enabled(False"), &Options::default()).unwrap();
        let sub = lowered.graph.op.iter().find(|op| op.r#type == "Sub").unwrap();
        assert_eq!(sub.input, ["y:0", "x:0"]);
        assert!(lower(&wrapped_by("wrap_with_autocast('cpu', None, False, None"), &Options::default()).is_ok());
    }

    #[test]
    fn a_body_under_autocast_is_left_alone() {
        let found = lower(&wrapped_by("wrap_with_autocast('cpu', torch.bfloat16, True, None"), &Options::default());
        assert!(found.unwrap_err().to_string().contains("wrap_with_autocast"));
    }
}
