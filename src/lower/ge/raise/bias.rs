//! Products of matrices to which a row is added, in one spelling on both sides: GE has an operator for the product and one for the sum, whatever
//! the graph that was lowered calls them, and computes the two as one.
//!
//! Promises: what is done is done to both graphs, under one assumption, which is named: the row is added before the product is rounded.

use std::collections::BTreeSet;

use super::between::nothing_is_written;
use super::definition::taken_apart;
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, View};
use crate::ops::Registry;

const SUM: &str = "aten.add.Tensor";
const PRODUCT: &str = "aten.mm.default";
const BOTH: &str = "aten.addmm.default";
const RESHAPED: &str = "aten.reshape.default";
const LINEAR: &str = "aten.linear.default";

/// What gives a tensor other sizes.
const RESHAPES: [&str; 3] = [RESHAPED, "aten.view.default", "aten._unsafe_view.default"];

/// What is assumed of the device.
pub const ASSUMED: &str = "a row that is added to a product of matrices is added before the product is rounded";

/// Spells products with a row alike in both graphs; returns whether there is any, and the targets that were taken apart by what they mean over the
/// reals alone.
pub fn biased(before: &mut Graph, raised: &mut Graph, registry: &Registry) -> (bool, BTreeSet<String>) {
    let calls =
        |g: &Graph, target: &str| g.nodes(BodyId::ROOT).any(|n| g.kind(n) == NodeKind::Call && g.target(n) == target);
    let mut defined = BTreeSet::new();
    if [&*before, &*raised].iter().any(|g| calls(g, LINEAR)) && [&*before, &*raised].iter().any(|g| calls(g, BOTH)) {
        for graph in [&mut *before, &mut *raised] {
            defined.extend(taken_apart(graph, registry, |target, _| target == LINEAR, |_, _, _| true));
        }
    }
    let mut any = false;
    for graph in [before, raised] {
        let sums: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.target(*n) == SUM).collect();
        for sum in sums {
            any |= as_one(graph, registry, sum);
        }
    }
    (any, defined)
}

/// Makes one call of a product that nothing else reads, and a row that is added to it.
fn as_one(graph: &mut Graph, registry: &Registry, sum: NodeId) -> bool {
    let ([Arg::Node(x), Arg::Node(y)], []) = (graph.args(sum), graph.kwargs(sum)) else { return false };
    let (x, y) = (*x, *y);
    let Some((of, row)) = [(x, y), (y, x)].into_iter().find(|(of, row)| is_row_for(graph, *of, *row, sum)) else {
        return false;
    };
    let lone = |n: NodeId| graph.users_in_order(n).len() == 1;
    let reshaped = match graph.args(of) {
        [Arg::Node(from), sizes] if RESHAPES.contains(&graph.target(of)) && lone(of) => Some((*from, sizes.clone())),
        _ => None,
    };
    let product = reshaped.as_ref().map_or(of, |(from, _)| *from);
    let [Arg::Node(a), Arg::Node(b)] = graph.args(product) else { return false };
    let last = |n: NodeId| graph.ty(n).as_tensor().and_then(|t| t.sizes.last().copied());
    if graph.target(product) != PRODUCT || !lone(product) || last(product) != last(of) {
        return false;
    }
    if !nothing_is_written(graph, registry, product, sum) {
        return false;
    }
    let args: Box<[Arg]> = Box::new([Arg::Node(row), Arg::Node(*a), Arg::Node(*b)]);
    let both = graph.texts.intern(BOTH);
    if let Some((_, sizes)) = reshaped {
        let (name, ty) = (graph.free_name(BodyId::ROOT, "addmm"), graph.ty(product).clone());
        let new = NewNode { kind: NodeKind::Call, target: both, args, kwargs: Box::default(), ty };
        let made = graph.insert(BodyId::ROOT, Some(sum), &name, new);
        graph.set_args(sum, Box::new([Arg::Node(made), sizes]), Box::default());
        let target = graph.texts.intern(RESHAPED);
        graph.set_target(sum, target);
        graph.remove(of);
    } else {
        graph.set_args(sum, args, Box::default());
        graph.set_target(sum, both);
    }
    graph.remove(product);
    true
}

/// Whether one operand of a sum is a row of its type that is repeated over the other, whose sizes the sum has.
fn is_row_for(graph: &Graph, of: NodeId, row: NodeId, sum: NodeId) -> bool {
    let tensor = |n: NodeId| graph.ty(n).as_tensor();
    let (Some(of), Some(row), Some(sum)) = (tensor(of), tensor(row), tensor(sum)) else { return false };
    row.rank() == 1 && of.rank() >= 2 && row.dtype == of.dtype && of.dtype == sum.dtype && of.sizes == sum.sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    /// What becomes of a product and a sum; `body` follows the product `p` and ends with the sum `s`.
    fn summed(inputs: &str, body: &str, returned: &str) -> (bool, String) {
        let program = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, a: \"f32[2, 3]\", b: \"f32[3, 4]\", {inputs}):\n        p: \"f32[2, 4]\" = torch.ops.aten.mm.default(a, b)\n{body}        return ({returned},)\n"
        );
        let read = || {
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            assert!(Registry::standard().check_types(&mut graph).is_empty());
            graph
        };
        let (mut before, mut raised) = (read(), read());
        let (any, _) = biased(&mut before, &mut raised, &Registry::standard());
        assert_eq!(text::write(&before), text::write(&raised));
        (any, text::write(&raised))
    }

    fn line(name: &str, ty: &str, call: &str) -> String {
        format!("        {name}: \"{ty}\" = torch.ops.aten.{call}\n")
    }

    #[test]
    fn a_row_beside_a_product_is_one_call_with_it() {
        for sum in ["add.Tensor(p, r)", "add.Tensor(r, p)"] {
            let (any, made) = summed("r: \"f32[4]\"", &line("s", "f32[2, 4]", sum), "s");
            assert!(any && made.contains("addmm.default(r, a, b)") && !made.contains("aten.mm.default"), "{made}");
        }
        let reshaped =
            line("v", "f32[1, 2, 4]", "view.default(p, [1, 2, 4])") + &line("s", "f32[1, 2, 4]", "add.Tensor(v, r)");
        let (any, made) = summed("r: \"f32[4]\"", &reshaped, "s");
        assert!(any && made.contains("addmm.default(r, a, b)"), "{made}");
    }

    #[test]
    fn nothing_else_is_one_call() {
        let row = "r: \"f32[4]\"";
        let of_another_width = line("h", "f16[4]", "_to_copy.default(r, dtype = torch.float16)")
            + &line("s", "f32[2, 4]", "add.Tensor(p, h)");
        let other_last =
            line("v", "f32[4, 2]", "view.default(p, [4, 2])") + &line("s", "f32[4, 2]", "add.Tensor(v, q)");
        let written = line("w", "f32[2, 3]", "copy_.default(a, c)") + &line("s", "f32[2, 4]", "add.Tensor(p, r)");
        for (inputs, body, returned) in [
            // Rows one below the other are no row; a factor is another sum; a product that is read twice stays.
            ("r: \"f32[2, 4]\"", line("s", "f32[2, 4]", "add.Tensor(p, r)"), "s"),
            (row, line("s", "f32[2, 4]", "add.Tensor(p, r, alpha = 2)"), "s"),
            (row, line("s", "f32[2, 4]", "add.Tensor(p, r)"), "s, p"),
            (row, of_another_width, "s"),
            ("q: \"f32[2]\"", other_last, "s"),
            ("c: \"f32[2, 3]\", r: \"f32[4]\"", written, "s"),
        ] {
            let (any, made) = summed(inputs, &body, returned);
            assert!(!any && !made.contains("addmm"), "{made}");
        }
    }
}
