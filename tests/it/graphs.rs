//! Graphs to run passes on, and their whole content as text.

use std::fmt::Write;
use std::sync::Arc;

use airlock::editor::Editor;
use airlock::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, TensorType, ValueType, View};
use airlock::ops::Registry;
use airlock::sym::Dim;

fn push(g: &mut Graph, kind: NodeKind, name: &str, target: &str, args: &[Arg]) -> NodeId {
    let target = g.texts.intern(target);
    let ty = match kind {
        NodeKind::Output => ValueType::Unknown,
        _ => ValueType::tensor(TensorType::new(Dtype::F32, [Dim::Fixed(2), Dim::Fixed(3)], Device::cpu())),
    };
    g.push(BodyId::ROOT, name, NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty })
}

/// A chain of `calls` negations, and a relu that nobody uses.
pub fn chain(calls: usize) -> Graph {
    let mut g = Graph::new();
    let mut last = push(&mut g, NodeKind::Placeholder, "x", "x", &[]);
    push(&mut g, NodeKind::Call, "dead", "aten.relu.default", &[last.into()]);
    for i in 0..calls {
        last = push(&mut g, NodeKind::Call, &format!("neg_{i}"), "aten.neg.default", &[last.into()]);
    }
    push(&mut g, NodeKind::Output, "output", "output", &[Arg::Tuple(Box::new([last.into()]))]);
    g
}

/// That many equal calls, and their sum.
pub fn twins(calls: usize) -> Graph {
    let mut g = Graph::new();
    let x = push(&mut g, NodeKind::Placeholder, "x", "x", &[]);
    let mut sum = x;
    for i in 0..calls {
        let twin = push(&mut g, NodeKind::Call, &format!("neg_{i}"), "aten.neg.default", &[x.into()]);
        sum = push(&mut g, NodeKind::Call, &format!("add_{i}"), "aten.add.Tensor", &[sum.into(), twin.into()]);
    }
    push(&mut g, NodeKind::Output, "output", "output", &[Arg::Tuple(Box::new([sum.into()]))]);
    g
}

/// An editor of a small graph.
pub fn editor() -> Editor {
    Editor::new(chain(3), Arc::new(Registry::standard()))
}

/// Everything that a graph holds.
pub fn content(g: &Graph) -> String {
    let mut out = String::new();
    for body in g.bodies() {
        for n in g.nodes(body) {
            let (kind, target, name) = (g.kind(n), g.target(n), g.name(n));
            let (args, kwargs, ty, users) = (g.args(n), g.kwargs(n), g.ty(n), g.users_in_order(n));
            writeln!(
                out,
                "{body:?} {n:?} {kind:?} {target} {name} {args:?} {kwargs:?} {ty:?} {users:?} {:?}",
                g.meta(n)
            )
            .unwrap();
        }
    }
    out
}
