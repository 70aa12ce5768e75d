//! Places among equals, of which PyTorch names any.
//!
//! Promises: a call that gives an element by its rank, and its place, becomes the same of the row that is sorted, equals in their own order, where the
//! raised graph sorts; that this place is as good as another is said.

use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, StrId, View, replace};
use crate::lower::ge::metas;
use crate::ops::Registry;

/// What is assumed where it counts.
pub const ASSUMED: &str = "of equal elements kthvalue may name any";

const BY_RANK: &str = "aten.kthvalue.default";
const SORTED: &str = "aten.sort.stable";

/// Takes such calls apart; returns whether there is any.
pub fn sorted_first(graph: &mut Graph, raised: &Graph, registry: &Registry) -> bool {
    let mut sorts = false;
    for node in raised.nodes(BodyId::ROOT) {
        match raised.target(node) {
            BY_RANK => return false,
            SORTED => sorts = true,
            _ => {}
        }
    }
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| sorts && graph.target(*n) == BY_RANK).collect();
    let mut any = false;
    for node in calls {
        if let Some(both) = by_sorting(graph, registry, node) {
            replace(graph, node, &both);
            any = true;
        }
    }
    any
}

fn by_sorting(graph: &mut Graph, registry: &Registry, node: NodeId) -> Option<[Arg; 2]> {
    let (args, kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    let given = |place: usize, name: &str| {
        let named = || kwargs.iter().find(|(key, _)| graph.texts.text(*key) == name).map(|(_, a)| a.clone());
        args.get(place).cloned().or_else(named)
    };
    let Arg::Node(x) = given(0, "self")? else { return None };
    let Arg::Int(k) = given(1, "k")? else { return None };
    let dim = if let Some(Arg::Int(dim)) = given(2, "dim") { dim } else { -1 };
    let keeps = given(3, "keepdim") == Some(Arg::Bool(true));
    let axis = metas::axis(dim, graph.ty(x).as_tensor()?.rank())?;
    let axis = Arg::Int(i64::try_from(axis).ok()?);
    let stable = vec![("stable", Arg::Bool(true)), ("dim", axis.clone()), ("descending", Arg::Bool(false))];
    let sorted = call(graph, registry, node, SORTED, vec![Arg::Node(x)], stable)?;
    let mut one = |at: i64| {
        let of = call(graph, registry, node, "_operator.getitem", vec![Arg::Node(sorted), Arg::Int(at)], Vec::new())?;
        let first = k.checked_sub(1)?;
        let (target, args) = if keeps {
            ("aten.slice.Tensor", vec![Arg::Node(of), axis.clone(), Arg::Int(first), Arg::Int(k)])
        } else {
            ("aten.select.int", vec![Arg::Node(of), axis.clone(), Arg::Int(first)])
        };
        call(graph, registry, node, target, args, Vec::new()).map(Arg::Node)
    };
    Some([one(0)?, one(1)?])
}

/// Puts a call in front of another.
fn call(
    graph: &mut Graph,
    registry: &Registry,
    before: NodeId,
    target: &str,
    args: Vec<Arg>,
    named: Vec<(&str, Arg)>,
) -> Option<NodeId> {
    let kwargs: Vec<(StrId, Arg)> = named.into_iter().map(|(k, v)| (graph.texts.intern(k), v)).collect();
    let ty = registry.infer(graph, target, &args, &kwargs).ok()?;
    let (name, target) = (graph.free_name(BodyId::ROOT, "by_rank"), graph.texts.intern(target));
    let kind = crate::graph::NodeKind::Call;
    let new = NewNode { kind, target, args: args.into(), kwargs: kwargs.into(), ty };
    Some(graph.insert(BodyId::ROOT, Some(before), &name, new))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    #[test]
    fn an_element_by_rank_is_one_of_the_sorted_row_where_the_raised_graph_sorts() {
        let registry = Registry::standard();
        let read = |call: &str| {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3, 4]\"):\n        r = torch.ops.aten.{call}\n        g: \"f32[3]\" = r[0]\n        i: \"i64[3]\" = r[1]\n        return (g, i)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            let _ = registry.check_types(&mut graph);
            graph
        };
        let mut graph = read("kthvalue.default(x, 2)");
        let raised = graph.clone();
        assert!(!sorted_first(&mut graph, &raised, &registry));
        let raised = read("sort.stable(x, stable = True)");
        assert!(sorted_first(&mut graph, &raised, &registry));
        let made = text::write(&graph);
        assert!(made.contains("sort.stable(x, stable = True, dim = 1, descending = False)"), "{made}");
        assert!(made.contains("select.int") && made.contains(", 1, 1)") && !made.contains("kthvalue"), "{made}");
    }
}
