//! What composite and fused operators are held to, where GE has none of that name: their definition in base operators.
//!
//! Promises: only operators that give memory of their own, have a decomposition that draws nothing, or what the raised graph draws, and of which the
//! raised graph has no call, are taken apart; those whose decomposition is right over the reals alone are said, so that a verdict names what it rests on. A
//! definition is the registry's own, held against what PyTorch computes.

use std::collections::{BTreeSet, HashMap};

use rustc_hash::FxHashMap;

use super::draws;
use crate::analysis::streams::mentions_streams;
use crate::analysis::{home_of, place_of};
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, StrId, TensorType, View, replace};
use crate::lower::ge::define::fields::is_call_held;
use crate::ops::{Exactness, Expansion, Operator, Registry, Sharing};
use crate::sym::Dim;

/// Composites of calls that GE's operators are held to by their fields: there is no such operator of the whole.
const OF_HELD: [&str; 2] = ["aten.max_pool3d.default", "npu.npu_gelu_mul.default"];

/// As often as what an operator was taken apart into is taken apart again.
const ROUNDS: usize = 4;

/// Takes the forms of operators apart that a GE graph knows nothing of: those that give what they write become the functional form and the write,
/// draws of other distributions than the device's become draws of these. Returns the targets of those that mean it over the reals alone.
pub fn by_form(graph: &mut Graph, registry: &Registry) -> BTreeSet<String> {
    // The order of streams is held by the names of nodes.
    if mentions_streams(graph) {
        return BTreeSet::new();
    }
    let chosen = |target: &str, o: &Operator| {
        !is_call_held(target)
            && (is_form(o) || OF_HELD.contains(&target) || (o.effects.random && !draws::is_known(target)))
    };
    taken_apart(graph, registry, chosen, |_, _, _| true)
}

/// Takes the calls of chosen operators apart whose expansion will do, and the calls that this gives; returns the targets of those that mean it
/// over the reals alone.
pub(super) fn taken_apart(
    graph: &mut Graph,
    registry: &Registry,
    chosen: impl Fn(&str, &Operator) -> bool,
    will_do: impl Fn(&Graph, NodeId, &Expansion) -> bool,
) -> BTreeSet<String> {
    let mut rounded = BTreeSet::new();
    for _ in 0..ROUNDS {
        // Of a target that is one operator whatever it is given, it is asked once.
        let mut known: FxHashMap<StrId, Option<Option<Exactness>>> = FxHashMap::default();
        let exactness = |n: NodeId, o: &Operator| chosen(graph.target(n), o).then(|| registry.exactness(o)).flatten();
        let of_target = |n: NodeId| registry.get(graph.target(n)).map(|o| exactness(n, o));
        let nodes: Vec<(NodeId, Exactness)> = graph
            .nodes(BodyId::ROOT)
            .filter(|n| graph.kind(*n) == NodeKind::Call)
            .filter_map(|n| {
                let found = *known.entry(graph.target_id(n)).or_insert_with(|| of_target(n));
                let by_call = || registry.operator_of(graph, n).and_then(|o| exactness(n, o));
                Some((n, found.unwrap_or_else(by_call)?))
            })
            .collect();
        let mut any = false;
        for (node, exactness) in nodes {
            let Ok(Some(expansion)) = registry.decompose_values(graph, node) else { continue };
            if !will_do(graph, node, &expansion) {
                continue;
            }
            if exactness != Exactness::Exact {
                rounded.insert(graph.target(node).to_string());
            }
            let results = expansion.inline(graph, BodyId::ROOT, Some(node));
            replace(graph, node, &results);
            any = true;
        }
        if !any {
            break;
        }
    }
    rounded
}

/// Whether an operator writes an operand and gives it: in-place and `out` forms.
fn is_form(operator: &Operator) -> bool {
    operator.effects.writes() && !operator.effects.opaque && operator.effects.returns.iter().any(|r| !r.is_empty())
}

/// Takes operators of `graph` apart that `raised` has none of; returns the targets of those that mean it over the reals alone.
pub fn by_definition(graph: &mut Graph, raised: &Graph, registry: &Registry) -> BTreeSet<String> {
    let calls = raised.nodes(BodyId::ROOT).filter(|n| raised.kind(*n) == NodeKind::Call);
    let there: BTreeSet<&str> = calls.map(|n| raised.target(n)).collect();
    let draws = |e: &Expansion, n: NodeId| {
        let is_there = there.contains(e.graph.target(n));
        registry.operator_of(&e.graph, n).is_none_or(|o| o.effects.random && !is_there)
    };
    let chosen = |target: &str, o: &Operator| !there.contains(target) && may_give_its_own(o);
    let is_own =
        |g: &Graph, n: NodeId| registry.operator_of(g, n).is_some_and(gives_its_own) || is_fresh(g, registry, n);
    taken_apart(graph, registry, chosen, |g, n, e| is_own(g, n) && !e.calls().any(|n| draws(e, n)))
}

/// Puts zeros into memory that `graph` leaves unset, where `raised` leaves none of that type: what is found there is anybody's choice, and this one is
/// as good. Returns whether there is any.
pub fn with_zeros(graph: &mut Graph, raised: &Graph, registry: &Registry) -> bool {
    let leaves = |g: &Graph, n: NodeId| registry.operator_of(g, n).is_some_and(|o| o.facts.unset);
    let is_plain = |t: &StrId| registry.get(graph.texts.text(*t)).is_some_and(|o| !o.facts.unset);
    if graph.targets().iter().all(is_plain) {
        return false;
    }
    // Symbols are each graph's own.
    let fixed = |t: &TensorType| t.sizes.iter().map(|d| d.fixed()).collect::<Vec<_>>();
    let type_of = |g: &Graph, n: NodeId| g.ty(n).as_tensor().map(|t| (t.dtype, fixed(t)));
    // What is unset in both is one choice: of each type, as many as the raised graph leaves.
    let mut kept: HashMap<_, usize> = HashMap::new();
    for node in raised.nodes(BodyId::ROOT).filter(|n| leaves(raised, *n)) {
        let count = kept.entry(type_of(raised, node)).or_default();
        *count = count.saturating_add(1);
    }
    let is_choice = |n: &NodeId| {
        let left = kept.get_mut(&type_of(graph, *n)).filter(|left| **left > 0);
        left.map(|left| *left = left.saturating_sub(1)).is_none()
    };
    let unset: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| leaves(graph, *n)).filter(is_choice).collect();
    let mut any = false;
    for node in unset {
        let Some(ty) = graph.ty(node).as_tensor().cloned() else { continue };
        let Some(sizes) = sizes_of(graph, node, &ty.sizes) else { continue };
        let args = [Arg::List(sizes.into()), Arg::Int(0)];
        let named = [("dtype", Arg::Dtype(ty.dtype)), ("device", Arg::Device(ty.device.clone()))];
        let kwargs: Vec<(StrId, Arg)> = named.into_iter().map(|(k, v)| (graph.texts.intern(k), v)).collect();
        let Ok(made) = registry.infer(graph, "aten.full.default", &args, &kwargs) else { continue };
        // How what is unset lies may be said too.
        if made != *graph.ty(node) {
            continue;
        }
        let (target, name) = (graph.texts.intern("aten.full.default"), graph.free_name(BodyId::ROOT, "unset"));
        let new = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty: made };
        let zeros = graph.insert(BodyId::ROOT, Some(node), &name, new);
        replace(graph, node, &[Arg::Node(zeros)]);
        any = true;
    }
    any
}

/// The sizes of what a call leaves unset, as it was told them: numbers, or the list that it was given.
fn sizes_of(graph: &Graph, node: NodeId, sizes: &[Dim]) -> Option<Vec<Arg>> {
    let fixed: Option<Vec<Arg>> = sizes.iter().map(|d| d.fixed().map(Arg::Int)).collect();
    let listed = || graph.args(node).iter().find_map(|a| if let Arg::List(l) = a { Some(l.to_vec()) } else { None });
    fixed.or_else(listed)
}

/// Calls that wait for a collective's result: their operand, where operators run as soon as what they read is there.
const WAITS: [&str; 2] = ["_c10d_functional.wait_tensor.default", "c10d_functional.wait_tensor.default"];

/// Puts what is waited for in the place of each wait; returns whether there is any.
pub fn without_waits(graph: &mut Graph) -> bool {
    let waits: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| WAITS.contains(&graph.target(*n))).collect();
    for wait in &waits {
        if let Some(operand) = graph.args(*wait).first().cloned() {
            replace(graph, *wait, &[operand]);
        }
    }
    !waits.is_empty()
}

/// Takes out writes that change nothing: into inputs that have no elements, and of an input into itself.
pub fn without_idle_writes(graph: &mut Graph) {
    let is_empty = |g: &Graph, n: NodeId| {
        let sizes = g.ty(n).as_tensor().map(|t| t.sizes.as_slice());
        g.kind(n) == NodeKind::Placeholder && sizes.is_some_and(|s| s.contains(&Dim::Fixed(0)))
    };
    let idle = |n: &NodeId| {
        into(graph, *n).is_some_and(|(to, from)| {
            is_empty(graph, to) || from.is_some_and(|from| itself(graph, from) == itself(graph, to))
        })
    };
    let writes: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(idle).collect();
    for write in writes {
        if let Some(operand) = graph.args(write).first().cloned() {
            replace(graph, write, &[operand]);
        }
    }
}

/// Puts what is copied into memory that nothing else sees in the place of that memory, from there on.
pub fn without_own_memory(graph: &mut Graph, registry: &Registry) {
    if graph.bodies().count() > 1 {
        return;
    }
    let copies: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| into(graph, *n).is_some()).collect();
    if copies.is_empty() {
        return;
    }
    let order: FxHashMap<NodeId, usize> = graph.nodes(BodyId::ROOT).enumerate().map(|(place, n)| (n, place)).collect();
    for copy in copies {
        let Some((to, Some(from))) = into(graph, copy) else { continue };
        let type_of = |n: NodeId| graph.ty(n).as_tensor().map(|t| (t.dtype, &t.sizes));
        let alike = type_of(to).is_some() && type_of(to) == type_of(from);
        if to == from || !alike || ![to, from].iter().all(|n| is_seen_by_none(graph, registry, *n, copy)) {
            continue;
        }
        let later = |u: &NodeId| *u != copy && order.get(u) > order.get(&copy);
        let readers: Vec<NodeId> = graph.users_in_order(to).into_iter().filter(later).collect();
        for reader in readers {
            let mut map = |n: NodeId| if n == to { from } else { n };
            let args: Vec<Arg> = graph.args(reader).iter().map(|a| a.map_nodes(&mut map)).collect();
            let kwargs: Vec<(StrId, Arg)> =
                graph.kwargs(reader).iter().map(|(k, a)| (*k, a.map_nodes(&mut map))).collect();
            graph.set_args(reader, args.into(), kwargs.into());
        }
        replace(graph, copy, &[Arg::Node(from)]);
    }
}

/// Whether a tensor has memory of its own that no call but one writes, and that none gives on.
fn is_seen_by_none(graph: &Graph, registry: &Registry, tensor: NodeId, but: NodeId) -> bool {
    let plain = |n: NodeId| {
        let operator = (graph.kind(n) == NodeKind::Call).then(|| registry.operator_of(graph, n)).flatten();
        operator.is_some_and(|o| gives_its_own(o) && !o.effects.writes())
    };
    let reads = |n: NodeId| n == but || plain(n) || graph.kind(n) == NodeKind::Output || is_write_of_input(graph, n);
    plain(tensor) && graph.users_in_order(tensor).into_iter().all(reads)
}

/// Whether a call copies into an input.
fn is_write_of_input(graph: &Graph, node: NodeId) -> bool {
    into(graph, node).is_some_and(|(to, _)| graph.kind(itself(graph, to)) == NodeKind::Placeholder)
}

/// What a copy writes, and the tensor that it reads.
fn into(graph: &Graph, node: NodeId) -> Option<(NodeId, Option<NodeId>)> {
    match (graph.target(node), graph.args(node)) {
        ("aten.copy_.default", [Arg::Node(to), from, ..]) => Some((*to, from.as_node())),
        _ => None,
    }
}

/// What a tensor is that copies wrote and gave.
fn itself(graph: &Graph, node: NodeId) -> NodeId {
    let mut node = node;
    while let Some((to, _)) = into(graph, node) {
        node = to;
    }
    node
}

/// Whether an operator's results lie in memory of their own; what it writes besides, its definition copies there.
fn gives_its_own(operator: &Operator) -> bool {
    may_give_its_own(operator) && operator.effects.returns.iter().all(|r| r.is_empty())
}

/// Whether they do, or may: which of the two, arguments and sizes say.
fn may_give_its_own(operator: &Operator) -> bool {
    let effects = &operator.effects;
    let sometimes = effects.returns.iter().flatten().all(|r| r.sharing == Sharing::Maybe);
    !effects.opaque && effects.side.is_none() && sometimes
}

/// Whether a call of one result surely gives memory of its own.
fn is_fresh(graph: &Graph, registry: &Registry, node: NodeId) -> bool {
    graph.ty(node).as_tensor().is_some() && home_of(graph, registry, place_of(graph, node)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    #[test]
    fn memory_that_nobody_else_sees_is_what_was_copied_there() {
        let given = [
            ("n: \"f32[3]\" = torch.ops.aten.neg.default(x)", "n", 2),
            ("n: \"f32[3]\" = torch.ops.aten.view.default(x, [3])", "n", 3),
            (
                "n: \"f32[3]\" = torch.ops.aten.neg.default(x)\n        v: \"f32[1, 3]\" = torch.ops.aten.view.default(n, [1, 3])",
                "v",
                4,
            ),
        ];
        for (first, last, left) in given {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3]\"):\n        {first}\n        r: \"f32[3]\" = torch.ops.aten.relu.default(n)\n        c: \"f32[3]\" = torch.ops.aten.copy_.default(n, r)\n        return ({last}, c)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            without_own_memory(&mut graph, &Registry::standard());
            let calls = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).count();
            assert_eq!(calls, left, "{first}");
            let returns_it = text::write(&graph).contains("return (r, r)");
            assert_eq!(returns_it, left == 2, "{first}");
        }
    }

    #[test]
    fn only_what_the_raised_graph_does_not_leave_unset_is_zeros() {
        let read = |calls: &str| {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3]\"):\n{calls}        return (x,)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            assert!(Registry::standard().check_types(&mut graph).is_empty());
            graph
        };
        let unset = |name: &str, ty: &str, dtype: &str| {
            format!("        {name}: \"{ty}\" = torch.ops.aten.empty.memory_format([3], dtype = torch.{dtype})\n")
        };
        let (floats, integers) = (unset("e", "f32[3]", "float32"), unset("i", "i64[3]", "int64"));
        for (raised, left) in [("", 0), (&*floats, 1), (&*integers, 1), (&*(floats.clone() + &integers), 2)] {
            let mut graph = read(&(floats.clone() + &integers));
            let any = with_zeros(&mut graph, &read(raised), &Registry::standard());
            assert_eq!(any, left < 2, "{raised}");
            assert_eq!(text::write(&graph).matches("empty.memory_format").count(), left, "{raised}");
        }
    }

    #[test]
    fn only_what_an_input_holds_already_is_not_written() {
        for (from, left) in [("w", 1), ("x", 1), ("y", 2)] {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3]\", y: \"f32[3]\"):\n        w: \"f32[3]\" = torch.ops.aten.copy_.default(x, y)\n        r: \"f32[3]\" = torch.ops.aten.copy_.default(x, {from})\n        return (r,)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            without_idle_writes(&mut graph);
            let calls = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).count();
            assert_eq!(calls, left, "{from}");
        }
    }

    #[test]
    fn only_writes_into_what_has_no_elements_are_none() {
        for (sizes, left) in [("[0, 3]", 0), ("[1, 3]", 1), ("[s0, 3]", 1)] {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32{sizes}\", y: \"f32{sizes}\"):\n        r: \"f32{sizes}\" = torch.ops.aten.copy_.default(x, y)\n        return (r,)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            without_idle_writes(&mut graph);
            let calls = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).count();
            assert_eq!(calls, left, "{sizes}");
        }
    }
}
