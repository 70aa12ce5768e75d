//! Writes taken out of a graph, as AOT Autograd does: a write gives a new value, and whoever reads the memory later reads that.
//!
//! - `walk`: one walk forward over the calls; `memory`: where values lie, and what they hold now; `back`: what is written through a view, put back
//!   into what it is a view of; `stands`: calls that stand for a call that writes.
//!
//! Promises: what is written through a chain of views is scattered back into the memory that the chain begins at, and every view of it is made
//! again before its next read; an input that was written is written once, at the end; which node holds what a value held after a write is told.
//! What may or may not share memory that is written and read later is refused, as is a view that strides decide. No terms are made and nothing of the
//! judge is used: lowering takes such a graph, and is judged against the graph as it was; the check of a certificate shows its steps there again.

mod back;
mod memory;
mod stands;
mod walk;

use std::collections::HashMap;

use crate::analysis::call;
use crate::graph::{BodyId, Graph, NodeId, View};
use crate::ops::{Bound, Registry};

/// Why writes cannot be taken out: the node, and what is in the way.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{node}`: {reason}")]
pub struct Kept {
    /// The node.
    pub node: String,
    /// What is in the way.
    pub reason: String,
}

/// A graph without writes but those of inputs at its end.
#[derive(Debug)]
pub struct Functionalized {
    /// The graph. What writes nothing keeps its name.
    pub graph: Graph,
    /// Which node holds what a node of the graph as it was holds after a write: by its name, and that of the node that writes. What a
    /// write itself gives stands under its own name twice.
    pub versions: HashMap<(Box<str>, Box<str>), NodeId>,
    /// What a call that writes gives, by its name: the name of what it writes.
    pub given: HashMap<Box<str>, Box<str>>,
}

/// Returns what a call writes, as its operator states of these arguments: all that it is given where they do not fit.
fn written(graph: &Graph, registry: &Registry, node: NodeId) -> Vec<NodeId> {
    let Some(operator) = registry.operator_of(graph, node).filter(|o| o.effects.writes()) else { return Vec::new() };
    match Bound::bind(&operator.schema, graph, graph.args(node), graph.kwargs(node)) {
        Ok(bound) => {
            let written = (0..bound.args.len()).filter(|i| call::writes(operator, &bound, *i));
            written.flat_map(|i| bound.get(i).nodes()).collect()
        }
        Err(_) => graph.operands(node).collect(),
    }
}

/// Returns whether a call writes.
pub fn writes(graph: &Graph, registry: &Registry, node: NodeId) -> bool {
    !written(graph, registry, node).is_empty()
}

/// Takes the writes of the outermost body out of a graph; `None` where it has none.
///
/// # Errors
/// The first node that stands in the way, with the reason.
pub fn functionalize(graph: &Graph, registry: &Registry) -> Result<Option<Functionalized>, Kept> {
    if !graph.nodes(BodyId::ROOT).any(|n| writes(graph, registry, n)) {
        return Ok(None);
    }
    walk::taken(graph, registry, false).map(Some)
}

/// Takes the writes of the outermost body out of a graph, and takes apart what stands for a call that writes on copies.
///
/// # Errors
/// The first node that stands in the way, with the reason.
pub fn functionalize_fully(graph: &Graph, registry: &Registry) -> Result<Functionalized, Kept> {
    walk::taken(graph, registry, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Kernels, Meta, Session, Storage, Tensor, Value, run_on};
    use crate::formats::text;
    use crate::graph::{Arg, Dtype, NodeKind};

    fn program(body: &str) -> Graph {
        let lines: String = body.lines().map(|l| format!("        {}\n", l.trim())).collect();
        let head = "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4, 6]\", y: \"f32[6]\"):\n";
        let mut graph = text::read(&format!("{head}{lines}"), &text::ReadOptions::of_file("t.fx")).unwrap();
        let problems = Registry::standard().check_types(&mut graph);
        // Of an operator that nobody described no type is known.
        assert!(problems.is_empty() || body.contains("own."), "{problems:?}");
        graph
    }

    /// Both graphs on the same inputs: what they return, and what the inputs hold afterwards.
    fn assert_means_the_same(body: &str) {
        let registry = Registry::standard();
        let graph = program(body);
        let taken = functionalize(&graph, &registry).unwrap_or_else(|k| panic!("{k:?}\n{body}")).unwrap().graph;
        let writes = |n: NodeId| registry.operator_of(&taken, n).is_some_and(|o| o.effects.writes());
        let order: Vec<NodeId> = taken.nodes(BodyId::ROOT).collect();
        for node in order.iter().filter(|n| writes(**n)) {
            let into = taken.args(*node).first().and_then(Arg::as_node).unwrap();
            assert_eq!(taken.kind(into), NodeKind::Placeholder, "{body}");
        }
        let kernels = Kernels::standard();
        let run = |g: &Graph| {
            let mut session = Session::new(&registry, &kernels, 7);
            let counted = |dims: &[usize]| {
                let values: Vec<f32> = (0..dims.iter().product()).map(|i: usize| i as f32 * 0.5 - 3.0).collect();
                let storage = Storage::new(values, session.meter());
                Value::Tensor(Tensor::new(Meta::contiguous(Dtype::F32, dims), storage).unwrap())
            };
            let inputs = [counted(&[4, 6]), counted(&[6])];
            let mut all = run_on(g, &inputs, &mut session, &mut ()).unwrap();
            all.extend(inputs);
            all.iter().map(|v| v.as_tensor().unwrap().lanes::<f32>().unwrap().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(run(&graph), run(&taken), "{body}\n{}", text::write(&taken));
    }

    #[test]
    fn what_is_taken_out_of_a_call_once_more_holds_what_was_written_to_it() {
        assert_means_the_same(
            "m = torch.ops.aten._foreach_maximum.ScalarList([x], [-1.25])
             a = m[0]
             f = torch.ops.aten.fix_.default(a)
             b = m[0]
             return (b, f, x)",
        );
    }

    #[test]
    fn a_write_through_views_is_seen_by_all_that_read_the_memory_later() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             before = torch.ops.aten.slice.Tensor(c, 1, 0, 3)
             s = torch.ops.aten.select.int(c, 0, 1)
             f = torch.ops.aten.fill_.Scalar(s, 2.0)
             t = torch.ops.aten.t.default(c)
             row = torch.ops.aten.select.int(t, 1, 2)
             a = torch.ops.aten.add_.Tensor(row, y)
             sum_1 = torch.ops.aten.add.Tensor(before, 1)
             return (c, sum_1, s, f, t)",
        );
    }

    #[test]
    fn inputs_that_change_places_are_read_before_either_is_written() {
        assert_means_the_same(
            "r = torch.ops.aten.select.int(x, 0, 0)
             t = torch.ops.aten.clone.default(y)
             b = torch.ops.aten.copy_.default(y, r)
             a = torch.ops.aten.copy_.default(r, t)
             back = torch.ops.aten.copy_.default(x, y)
             return (r, y)",
        );
    }

    #[test]
    fn pieces_of_what_is_written_are_its_pieces_and_the_other_way_round() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             parts = torch.ops.aten.split.Tensor(c, 3, dim = 0)
             last: \"f32[1, 6]\" = parts[1]
             first: \"f32[3, 6]\" = parts[0]
             z = torch.ops.aten.zero_.default(last)
             a = torch.ops.aten.add_.Scalar(c, 1.0)
             rows = torch.ops.aten.unbind.int(c)
             row: \"f32[6]\" = rows[2]
             m = torch.ops.aten.mul_.Tensor(row, y)
             return (c, first, last)",
        );
    }

    #[test]
    fn what_is_copied_to_itself_is_written_nowhere() {
        let body = "v = torch.ops.aten.slice.Tensor(x, 0, 1, 3)
            w = torch.ops.aten.copy_.default(v, v)
            r = torch.ops.aten.neg.default(w)
            return (r, w, x)";
        assert_means_the_same(body);
        let (graph, registry) = (program(body), Registry::standard());
        let taken = functionalize_fully(&graph, &registry).unwrap();
        assert!(!taken.graph.nodes(BodyId::ROOT).any(|n| writes(&taken.graph, &registry, n)));
        assert!(!text::write(&taken.graph).contains("scatter"));
    }

    #[test]
    fn what_was_read_before_a_write_stays() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             old = torch.ops.aten.add.Tensor(c, 0)
             z = torch.ops.aten.zero_.default(c)
             return (old, c)",
        );
    }

    #[test]
    fn an_input_is_written_once_and_its_views_go_with_it() {
        assert_means_the_same(
            "v = torch.ops.aten.view.default(x, [24])
             s = torch.ops.aten.slice.Tensor(v, 0, 3, 20, 2)
             m = torch.ops.aten.mul_.Tensor(s, 3.0)
             r = torch.ops.aten.select.int(x, 0, 0)
             c = torch.ops.aten.copy_.default(r, y)
             out = torch.ops.aten.sum.default(x)
             return (out, v)",
        );
    }

    #[test]
    fn views_of_views_of_an_updated_value_are_its_views() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             s = torch.ops.aten.select.int(c, 0, 1)
             z = torch.ops.aten.zero_.default(s)
             w = torch.ops.aten.slice.Tensor(c, 1, 2, 5)
             u = torch.ops.aten.unsqueeze.default(w, 0)
             a = torch.ops.aten.add_.Scalar(u, 5.0)
             p = torch.ops.aten.permute.default(c, [1, 0])
             d = torch.ops.aten.diagonal.default(p)
             n = torch.ops.aten.neg_.default(d)
             q = torch.ops.aten.narrow.default(c, 1, 1, 2)
             k = torch.ops.aten.copy_.default(q, z)
             return (c, w, p, d)"
                .replace("copy_.default(q, z)", "copy_.default(q, a0)")
                .replace(
                    "q = torch",
                    "a0 = torch.ops.aten.full.default([4, 1], 9.0, dtype = torch.float64)\n q = torch",
                )
                .as_str(),
        );
    }

    #[test]
    fn memory_of_which_nobody_can_say_whether_it_is_shared_is_refused_where_it_is_read_later() {
        let graph = program(
            "c = torch.ops.own.maybe.default(x)
             z = torch.ops.aten.zero_.default(x)
             n = torch.ops.aten.neg.default(c)
             return (n,)",
        );
        assert!(functionalize(&graph, &Registry::standard()).unwrap_err().reason.contains("may share memory"));
    }
}
