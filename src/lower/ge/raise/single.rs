//! A tensor of one element beside narrow floats.
//!
//! PyTorch's CPU computes with it as it is, as with a number; a device that is given it as a tensor rounds it to the type of the others first, and
//! so does GE's Cast in front of an operator of one type. Promises: it is rounded only in the graph that was lowered, only where the raised graph
//! rounds such a tensor, and to the type of the result, once; the call that reads it has the type that it had. What was taken for that is said.

use crate::graph::{Arg, BodyId, Dtype, Graph, NewNode, NodeId, NodeKind, StrId, TensorType, View};
use crate::ops::Registry;
use crate::sym::Dim;

/// What is assumed where it counts.
pub const ASSUMED: &str =
    "a tensor of one element beside narrow floats is rounded to their type before it is computed with";

const ROUNDED: &str = "aten._to_copy.default";

/// A filler is rounded by PyTorch too.
const FILLED: &str = "aten.masked_fill.Tensor";

/// Operators of elements that take operands of several types.
const OF_SEVERAL: [&str; 18] = [
    FILLED,
    "aten.add.Tensor",
    "aten.addcdiv.default",
    "aten.addcmul.default",
    "aten.atan2.default",
    "aten.clamp.Tensor",
    "aten.div.Tensor",
    "aten.div.Tensor_mode",
    "aten.floor_divide.default",
    "aten.fmod.Tensor",
    "aten.maximum.default",
    "aten.minimum.default",
    "aten.mul.Tensor",
    "aten.pow.Tensor_Tensor",
    "aten.remainder.Tensor",
    "aten.rsub.Tensor",
    "aten.sub.Tensor",
    "aten.where.self",
];

/// Operators of elements that give truth values of operands of several types, which they compare in the type that a sum would have.
const COMPARING: [&str; 6] =
    ["aten.eq.Tensor", "aten.ge.Tensor", "aten.gt.Tensor", "aten.le.Tensor", "aten.lt.Tensor", "aten.ne.Tensor"];

/// The type in which a call computes, where that is a narrow float.
fn computed_in(graph: &mut Graph, registry: &Registry, node: NodeId) -> Option<Dtype> {
    let args = graph.args(node).to_vec();
    let ty = match graph.target(node) {
        target if COMPARING.contains(&target) => registry.infer(graph, "aten.add.Tensor", &args, &[]).ok()?,
        _ => graph.ty(node).clone(),
    };
    ty.as_tensor().map(|t| t.dtype).filter(|d| is_narrow(*d))
}

/// Rounds such operands; returns whether anything is taken for granted by that.
pub fn rounded_first(graph: &mut Graph, raised: &Graph, registry: &Registry) -> bool {
    if !raised.nodes(BodyId::ROOT).any(|n| is_rounding(raised, n)) {
        return false;
    }
    let mut assumed = false;
    let is_of_several = |target: &str| OF_SEVERAL.contains(&target) || COMPARING.contains(&target);
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| is_of_several(graph.target(*n))).collect();
    for node in calls {
        let Some(dtype) = computed_in(graph, registry, node) else { continue };
        for at in 0..graph.args(node).len() {
            let Some(Arg::Node(operand)) = graph.args(node).get(at).cloned() else { continue };
            let is_single =
                graph.ty(operand).as_tensor().is_some_and(|t| t.dtype != dtype && t.dtype != Dtype::Bool && is_one(t));
            if is_single && round(graph, registry, (node, at), operand, dtype) {
                assumed |= graph.target(node) != FILLED;
            }
        }
    }
    assumed
}

fn is_narrow(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16)
}

fn is_one(ty: &TensorType) -> bool {
    ty.sizes.iter().all(|d| *d == Dim::Fixed(1)) && !ty.dtype.is_complex()
}

/// Whether a call rounds a tensor of one element to narrow floats.
fn is_rounding(graph: &Graph, node: NodeId) -> bool {
    let ty = |n: NodeId| graph.ty(n).as_tensor();
    let from = || graph.args(node).first().and_then(Arg::as_node).and_then(ty);
    graph.kind(node) == NodeKind::Call
        && graph.target(node) == ROUNDED
        && ty(node).is_some_and(|t| is_narrow(t.dtype) && is_one(t))
        && from().is_some_and(is_one)
}

/// Puts a rounded operand in the place of another, where the call keeps its type.
fn round(graph: &mut Graph, registry: &Registry, (node, at): (NodeId, usize), operand: NodeId, dtype: Dtype) -> bool {
    let target = graph.texts.intern(ROUNDED);
    let key: StrId = graph.texts.intern("dtype");
    let (own, named) = (vec![Arg::Node(operand)], vec![(key, Arg::Dtype(dtype))]);
    let Ok(ty) = registry.infer(graph, ROUNDED, &own, &named) else { return false };
    let name = graph.free_name(BodyId::ROOT, "rounded");
    let new = NewNode { kind: NodeKind::Call, target, args: own.into(), kwargs: named.into(), ty };
    let rounded = graph.insert(BodyId::ROOT, Some(node), &name, new);
    let (mut args, kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    if let Some(slot) = args.get_mut(at) {
        *slot = Arg::Node(rounded);
    }
    let reader = graph.target(node).to_string();
    if registry.infer(graph, &reader, &args, &kwargs).is_ok_and(|ty| ty == *graph.ty(node)) {
        graph.set_args(node, args.into(), kwargs.into());
        return true;
    }
    graph.remove(rounded);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    fn read(inputs: &str, calls: &str) -> Graph {
        let program = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{calls}        return (r,)\n"
        );
        let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
        let problems = Registry::standard().check_types(&mut graph);
        assert!(problems.is_empty(), "{problems:?}");
        graph
    }

    fn call(ty: &str, call: &str) -> String {
        format!("        r: \"{ty}\" = torch.ops.aten.{call}\n")
    }

    #[test]
    fn one_element_is_rounded_to_the_others_where_the_raised_graph_does_so() {
        let registry = Registry::standard();
        let raised = read("y: \"f32[]\"", &call("f16[]", "_to_copy.default(y, dtype = torch.float16)"));
        let not = read("y: \"f32[4]\"", &call("f16[4]", "_to_copy.default(y, dtype = torch.float16)"));
        for (inputs, made, is_rounded) in [
            ("x: \"f16[4]\", y: \"f32[]\"", call("f16[4]", "div.Tensor(x, y)"), true),
            ("x: \"bf16[2, 4]\", y: \"f32[1, 1]\"", call("f32[2, 4]", "div.Tensor(x, y)"), false),
            ("x: \"f16[4]\", y: \"f16[]\"", call("f16[4]", "div.Tensor(x, y)"), false),
            ("x: \"f32[4]\", y: \"f64[]\"", call("f32[4]", "div.Tensor(x, y)"), false),
            ("x: \"f16[4]\", y: \"f32[]\"", call("b8[4]", "lt.Tensor(x, y)"), true),
            ("x: \"f32[4]\", y: \"f64[]\"", call("b8[4]", "lt.Tensor(x, y)"), false),
        ] {
            let mut graph = read(inputs, &made);
            assert!(!rounded_first(&mut graph, &not, &registry), "{made}");
            assert_eq!(rounded_first(&mut graph, &raised, &registry), is_rounded, "{made}");
            assert_eq!(text::write(&graph).contains("_to_copy"), is_rounded, "{made}");
        }
    }

    #[test]
    fn a_filler_is_rounded_by_pytorch_itself() {
        let registry = Registry::standard();
        let raised = read("y: \"f32[]\"", &call("f16[]", "_to_copy.default(y, dtype = torch.float16)"));
        let inputs = "x: \"f16[4]\", m: \"b8[4]\", v: \"f32[]\"";
        let mut graph = read(inputs, &call("f16[4]", "masked_fill.Tensor(x, m, v)"));
        assert!(!rounded_first(&mut graph, &raised, &registry));
        assert!(text::write(&graph).contains("masked_fill.Tensor(x, m, rounded)"));
    }
}
