//! Sizes that only running a call tells, by the names that the graph that was lowered has for them.
//!
//! Promises: names are changed and nothing else; which call of the other graph a name is taken from is a guess, and a judgement trusts no name of
//! such a size.

use std::collections::{HashMap, HashSet};

use super::between::writes;
use super::fourier::made;
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, TensorType, ValueType, View, replace};
use crate::lower::ge::define::TELL;
use crate::ops::{Registry, is_contiguous};
use crate::sym::{Dim, SymValue, Symbols, is_unbacked};

const VIEW: &str = "aten.view.default";
const RESHAPE: &str = "aten.reshape.default";
const REPEATED: &str = "aten.expand.default";
const REPEATED_LIKE: &str = "aten.expand_as.default";
const TAKEN: &str = "aten.index_select.default";
const ROWS: &str = "aten.embedding.default";
/// What sees a tensor in other sizes.
const SEEN: [&str; 6] =
    [VIEW, RESHAPE, "aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze.default"];
/// What is computed element by element, of a tensor and another one or a number.
const COMPUTED: [&str; 4] = ["aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor"];
const SLICE: &str = "aten.slice.Tensor";
const SIZE: &str = "aten.sym_size.int";

/// Gives the sizes of `raised` that only running tells the names that they have in `graph`: the so-many-th call of an operator tells what that one there tells.
pub fn named_alike(raised: &mut Graph, graph: &Graph) {
    let (own, others) = (tellers(raised), tellers(graph));
    let taken: HashSet<String> = own.values().flatten().cloned().collect();
    let mut names: HashMap<String, Dim> = HashMap::new();
    for (target, calls) in own {
        let Some(theirs) = others.get(&target).filter(|theirs| theirs.len() == calls.len()) else { continue };
        for (name, other) in calls.into_iter().zip(theirs) {
            // Two sizes of one graph never get one name.
            if let Some(dim) = raised.symbols.find_symbol(other).filter(|_| !taken.contains(other)) {
                names.entry(name).or_insert(dim);
            }
        }
    }
    if names.is_empty() {
        return;
    }
    for node in raised.nodes(BodyId::ROOT).collect::<Vec<_>>() {
        if let Some(ty) = renamed(raised.ty(node).clone(), &mut raised.symbols, &names) {
            raised.set_type(node, ty);
        }
    }
}

/// Spells views of sizes that only running tells as the raised graph does: what is seen in other sizes is reshaped to them, which for values is the
/// same where nothing is written, and what is repeated like another tensor is repeated to that one's sizes.
pub(super) fn spelled(graph: &mut Graph, registry: &Registry) {
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
    let told: Vec<NodeId> = calls.iter().copied().filter(|n| !names_of(graph, *n).is_empty()).collect();
    let asks = |target: &&str| graph.texts.find(target).is_some_and(|id| graph.targets().contains(&id));
    let asks = TELL.iter().any(asks);
    let mut symbols = None;
    let mut is_seen = |n: &NodeId| is_by_sizes(graph, symbols.get_or_insert_with(|| graph.symbols.clone()), *n);
    let seen: Vec<NodeId> = calls.iter().copied().filter(|n| sees_sizes(graph, *n) && is_seen(n)).collect();
    if told.is_empty() && !asks && seen.is_empty() || calls.iter().any(|n| writes(graph, registry, *n)) {
        return;
    }
    for node in calls.into_iter().filter(|_| asks) {
        of_one_element(graph, node).unwrap_or_default();
        beside_tensor(graph, node).unwrap_or_default();
    }
    for node in seen {
        let target = graph.texts.intern(RESHAPE);
        graph.set_target(node, target);
    }
    for node in told {
        from_the_front(graph, registry, node);
        match graph.target(node) {
            TAKEN => of_rows(graph, node).unwrap_or_default(),
            VIEW => {
                let target = graph.texts.intern(RESHAPE);
                graph.set_target(node, target);
            }
            SLICE => with_all_ends(graph, node),
            RESHAPE => to_own_sizes(graph, node).unwrap_or_default(),
            REPEATED_LIKE => by_sizes(graph, registry, node).unwrap_or_default(),
            _ => {}
        }
    }
}

/// A slice with the start and the step that it has if nobody says so.
fn with_all_ends(graph: &mut Graph, node: NodeId) {
    let (mut args, kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    if let [_, Arg::Int(_), start, ..] = args.as_mut_slice()
        && *start == Arg::None
    {
        *start = Arg::Int(0);
    }
    if args.len() == 4 && kwargs.is_empty() {
        args.push(Arg::Int(1));
    }
    graph.set_args(node, args.into(), kwargs.into());
}

/// Whether a call sees a tensor in sizes that are computed.
fn sees_sizes(graph: &Graph, node: NodeId) -> bool {
    graph.target(node) == VIEW && graph.args(node).get(1).is_some_and(|sizes| sizes.nodes().next().is_some())
}

/// Whether its elements lie in order: then it raises just where a reshape does.
fn is_by_sizes(graph: &Graph, symbols: &mut Symbols, node: NodeId) -> bool {
    let x = graph.args(node).first().and_then(Arg::as_node);
    let ty = x.and_then(|x| graph.ty(x).as_tensor());
    ty.is_some_and(|t| is_contiguous(symbols, t) == Some(true))
}

/// The number of a tensor of one element that is seen in other sizes is that of the tensor.
fn of_one_element(graph: &mut Graph, node: NodeId) -> Option<()> {
    if !TELL.contains(&graph.target(node)) {
        return None;
    }
    let asked = graph.args(node).first()?.as_node()?;
    let has_one = |n: NodeId| graph.ty(n).as_tensor().is_some_and(|t| t.sizes.iter().all(|d| d.fixed() == Some(1)));
    let mut tensor = asked;
    while SEEN.contains(&graph.target(tensor)) && has_one(tensor) {
        let of = graph.args(tensor).first()?.as_node().filter(|of| has_one(*of))?;
        tensor = of;
    }
    if tensor != asked {
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, Box::new([Arg::Node(tensor)]), kwargs.into());
    }
    Some(())
}

/// A number that a tensor without dimensions tells, beside a tensor with some: that tensor, whose dtype counts for no more than that of a number of its kind.
fn beside_tensor(graph: &mut Graph, node: NodeId) -> Option<()> {
    let [Arg::Node(x), Arg::Node(number)] = graph.args(node) else { return None };
    if !COMPUTED.contains(&graph.target(node)) || !TELL.contains(&graph.target(*number)) {
        return None;
    }
    let asked = graph.args(*number).first()?.as_node()?;
    let (x, tensor) = (*x, graph.ty(asked).as_tensor()?);
    let beside = graph.ty(x).as_tensor()?;
    let holds_it = beside.dtype.is_float() || beside.dtype.is_integer() && tensor.dtype.is_integer();
    let is_plain = tensor.dtype.is_float() || tensor.dtype.is_integer();
    if tensor.rank() == 0 && beside.rank() > 0 && holds_it && is_plain {
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, Box::new([Arg::Node(x), Arg::Node(asked)]), kwargs.into());
    }
    Some(())
}

/// A dimension that is counted from the end, counted from the front.
fn from_the_front(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let place = registry.operator_of(graph, node).and_then(|o| o.schema.param_index("dim"));
    let mut args = graph.args(node).to_vec();
    let rank = args.first().and_then(Arg::as_node).and_then(|n| graph.ty(n).as_tensor()).map(|t| t.rank());
    // What puts a dimension in counts those of the result.
    let more = i64::from(graph.target(node) == "aten.unsqueeze.default");
    let rank = rank.and_then(|r| i64::try_from(r).ok()).map(|r| r.saturating_add(more));
    if let (Some(Arg::Int(dim)), Some(rank)) = (place.and_then(|p| args.get_mut(p)), rank)
        && *dim < 0
        && dim.saturating_add(rank) >= 0
    {
        *dim = dim.saturating_add(rank);
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// Rows that are taken by a list of places.
fn of_rows(graph: &mut Graph, node: NodeId) -> Option<()> {
    let [Arg::Node(x), Arg::Int(0), Arg::Node(places)] = graph.args(node) else { return None };
    let (x, places) = (*x, *places);
    let rank = |n: NodeId| graph.ty(n).as_tensor().map(|t| t.rank());
    if rank(x)? == 2 && rank(places)? == 1 {
        let target = graph.texts.intern(ROWS);
        graph.set_args(node, Box::new([Arg::Node(x), Arg::Node(places)]), Box::default());
        graph.set_target(node, target);
    }
    Some(())
}

/// What is repeated like another tensor, by the sizes of that one.
fn by_sizes(graph: &mut Graph, registry: &Registry, node: NodeId) -> Option<()> {
    let [Arg::Node(x), Arg::Node(like)] = graph.args(node) else { return None };
    let (x, like) = (*x, *like);
    let mut sizes = Vec::new();
    for (dim, size) in (0_i64..).zip(graph.ty(like).as_tensor()?.sizes.clone()) {
        sizes.push(match size {
            Dim::Fixed(n) => Arg::Int(n),
            Dim::Expr(_) => Arg::Node(made(graph, registry, node, SIZE, vec![Arg::Node(like), Arg::Int(dim)])?),
        });
    }
    let target = graph.texts.intern(REPEATED);
    graph.set_args(node, Box::new([Arg::Node(x), Arg::List(sizes.into())]), Box::default());
    graph.set_target(node, target);
    Some(())
}

/// What is reshaped to its own sizes is what it was.
fn to_own_sizes(graph: &mut Graph, node: NodeId) -> Option<()> {
    let [Arg::Node(x), sizes] = graph.args(node) else { return None };
    let x = *x;
    let own = &graph.ty(x).as_tensor()?.sizes;
    let is_own = |at: i64, dim: &Dim, size: &Arg| match size {
        Arg::Int(n) => *dim == Dim::Fixed(*n),
        Arg::Node(size) => graph.target(*size) == SIZE && *graph.args(*size) == [Arg::Node(x), Arg::Int(at)],
        _ => false,
    };
    let sizes = sizes.items()?;
    let all =
        sizes.len() == own.len() && (0..).zip(own.iter()).zip(sizes).all(|((at, dim), size)| is_own(at, dim, size));
    let is_returned = graph.users_in_order(node).into_iter().any(|n| graph.kind(n) == NodeKind::Output);
    if all && !is_returned {
        replace(graph, node, &[Arg::Node(x)]);
    }
    Some(())
}

/// By operator, the names of the sizes that its calls are the first to have, in order.
fn tellers(graph: &Graph) -> HashMap<String, Vec<String>> {
    let mut known: HashSet<String> = HashSet::new();
    let mut out: HashMap<String, Vec<String>> = HashMap::new();
    for node in graph.nodes(BodyId::ROOT) {
        let mut names = names_of(graph, node);
        if let ValueType::SymInt(number) = graph.ty(node) {
            names.extend(graph.symbols.symbols_in(SymValue::Int(*number)).into_iter().filter(|name| is_unbacked(name)));
        }
        for name in names {
            if known.insert(name.clone()) && graph.kind(node) == NodeKind::Call {
                out.entry(told_by(graph, node)).or_default().push(name);
            }
        }
    }
    out
}

/// Who tells a size: an operator, of numbers with that which gives the tensor.
fn told_by(graph: &Graph, node: NodeId) -> String {
    let target = graph.target(node);
    let asked = graph.args(node).first().and_then(Arg::as_node).filter(|_| TELL.contains(&target));
    asked.map_or_else(|| target.to_string(), |tensor| format!("{target} {}", graph.target(tensor)))
}

fn names_of(graph: &Graph, node: NodeId) -> Vec<String> {
    let types = match graph.ty(node) {
        ValueType::Many(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    let dims = types.iter().filter_map(ValueType::as_tensor).flat_map(|t| t.sizes.iter().copied());
    let dims = dims.filter(|d| d.fixed().is_none());
    let names = dims.flat_map(|d| graph.symbols.symbols_in(SymValue::Int(d)));
    names.filter(|name| is_unbacked(name)).collect()
}

/// A type with other names, if it has any of these.
fn renamed(ty: ValueType, symbols: &mut Symbols, names: &HashMap<String, Dim>) -> Option<ValueType> {
    let with = |name: &str| names.get(name).copied();
    let mut dim = |d: &Dim| match symbols.substitute(SymValue::Int(*d), &with) {
        Ok(SymValue::Int(new)) => new,
        _ => *d,
    };
    let new = match &ty {
        ValueType::Tensor(t) => ValueType::Tensor(std::sync::Arc::new(TensorType {
            sizes: t.sizes.iter().map(&mut dim).collect(),
            strides: t.strides.as_ref().map(|s| s.iter().map(&mut dim).collect()),
            offset: dim(&t.offset),
            ..(**t).clone()
        })),
        ValueType::SymInt(d) => ValueType::SymInt(dim(d)),
        ValueType::Many(all) => {
            let mut one = |t: &ValueType| renamed(t.clone(), symbols, names).unwrap_or_else(|| t.clone());
            ValueType::Many(all.iter().map(&mut one).collect())
        }
        _ => return None,
    };
    (new != ty).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;

    fn read(calls: &str) -> Graph {
        let program = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\", m: \"b8[4]\", n: \"b8[4]\", y: \"f32[4, 3]\"):\n{calls}        return (r,)\n"
        );
        text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap()
    }

    fn selected(name: &str, size: &str, mask: &str) -> String {
        format!("        {name}: \"f32[{size}]\" = torch.ops.aten.masked_select.default(x, {mask})\n")
    }

    #[test]
    fn sizes_that_running_tells_are_named_as_the_other_graph_names_them() {
        let theirs = read(&(selected("a", "u0", "m") + &selected("r", "u1", "n")));
        let mut own = read(&(selected("a", "u5", "m") + &selected("r", "u7", "n")));
        own.symbols = theirs.symbols.clone();
        let mut own = text::read(&text::write(&own), &text::ReadOptions::of_file("t.fx")).unwrap();
        for name in ["u0", "u1"] {
            own.symbols.parse_dim(name).unwrap();
        }
        named_alike(&mut own, &theirs);
        let made = text::write(&own);
        assert!(made.contains("a: \"f32[u0]\"") && made.contains("r: \"f32[u1]\""), "{made}");
        // Of another number of calls nobody knows which is which.
        let mut one = read(&selected("r", "u5", "m"));
        one.symbols.parse_dim("u0").unwrap();
        named_alike(&mut one, &theirs);
        assert!(text::write(&one).contains("f32[u5]"));
    }

    #[test]
    fn views_of_such_sizes_are_spelled_alike_where_nothing_is_written() {
        let registry = Registry::standard();
        let taken = "        i: \"i64[u0]\" = torch.ops.aten.masked_select.default(j, m)\n";
        let calls = |more: &str| {
            format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, j: \"i64[4]\", m: \"b8[4]\", y: \"f32[4, 3]\"):\n{taken}        v: \"i64[u0, 1]\" = torch.ops.aten.view.default(i, [-1, 1])\n        e: \"f32[u0, 3]\" = torch.ops.aten.index_select.default(y, -2, i)\n        r: \"i64[u0, 3]\" = torch.ops.aten.expand_as.default(v, e)\n{more}        return (r,)\n"
            )
        };
        let spelled = |text: &str| {
            let mut graph = text::read(text, &text::ReadOptions::of_file("t.fx")).unwrap();
            assert!(registry.check_types(&mut graph).is_empty());
            super::spelled(&mut graph, &registry);
            text::write(&graph)
        };
        let made = spelled(&calls(""));
        for call in ["reshape.default(i, [-1, 1])", "embedding.default(y, i)", "sym_size.int(e, 0)", ", 3])"] {
            assert!(made.contains(call), "{made}");
        }
        let own = |from: &str| {
            format!(
                "        n: \"Sym(u0)\" = torch.ops.aten.sym_size.int({from}, 0)\n        s: \"i64[u0, 3]\" = torch.ops.aten.reshape.default(r, [n, 3])\n        z: \"i64[u0, 3]\" = torch.ops.aten.neg.default(s)\n"
            )
        };
        assert!(spelled(&calls(&own("r"))).contains("neg.default(r)"));
        // Of another tensor the size is a guess.
        assert!(spelled(&calls(&own("e"))).contains("neg.default(s)"));
        let written = spelled(&calls("        w: \"f32[4, 3]\" = torch.ops.aten.copy_.default(y, y)\n"));
        assert!(written.contains("view.default(i") && written.contains("index_select.default(y, -2, i)"), "{written}");
    }
}
