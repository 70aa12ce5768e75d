//! Bodies that run once, as they stand: their calls stand where the wrapper stands.
//!
//! Promises: the calls of a body are copied in their order, its placeholders are the operands, its results those of the wrapper; under autocast
//! the operands of each call are cast as PyTorch does it. What would be cast in a way that is not known (another device, a call made of others,
//! a body within that is no region of its own) is left alone.

use rustc_hash::FxHashMap;

use crate::graph::{Arg, BodyId, Dtype, Graph, NewNode, NodeId, NodeKind, TensorType, ValueType, View, replace};
use crate::ops::{AutocastPolicy, autocast_policy, is_autocast};

/// Returns the graph with such bodies in their places; nothing where it has none.
pub fn inlined(graph: &Graph) -> Option<Graph> {
    let mut open = wrappers(graph);
    if open.is_empty() && ordered(graph).is_empty() {
        return None;
    }
    let mut graph = graph.clone();
    // A body may hold wrappers of bodies further in: each is a child, so that this ends.
    while !open.is_empty() {
        for node in open {
            // What it is given may be what one before it gave, whose results have taken their places by now.
            let Some(wrapped) = wrapped(&graph, node) else { continue };
            let getter = graph.operands(node).find(|n| matches!(graph.ty(*n), ValueType::Body(_)));
            let results = copy(&mut graph, &wrapped, node);
            replace(&mut graph, node, &results);
            if let Some(getter) = getter.filter(|g| graph.users_in_order(*g).is_empty()) {
                graph.remove(getter);
            }
        }
        open = wrappers(&graph);
    }
    for node in ordered(&graph) {
        free(&mut graph, node);
    }
    Some(graph)
}

/// Calls that only a token holds in their place, of at most one result.
fn ordered(graph: &Graph) -> Vec<NodeId> {
    let is = |n: &NodeId| {
        graph.target(*n) == "higher_order.with_effects"
            && matches!(graph.args(*n), [Arg::Node(_), Arg::Operator(_), ..])
            && matches!(graph.ty(*n), ValueType::Many(all) if all.len() == 2)
    };
    graph.nodes(BodyId::ROOT).filter(is).collect()
}

/// The call itself, where the token holds it: in a list calls have an order already.
fn free(graph: &mut Graph, node: NodeId) {
    let args = graph.args(node).to_vec();
    let ([token, Arg::Operator(name), given @ ..], ValueType::Many(types)) = (&*args, graph.ty(node)) else { return };
    let ty = types.get(1).cloned().unwrap_or(ValueType::None);
    let gives = ty != ValueType::None;
    let (kwargs, target) = (graph.kwargs(node).into(), graph.texts.intern(name));
    let base = name.split('.').nth(1).unwrap_or(name);
    let name = graph.free_name(BodyId::ROOT, base);
    let new = NewNode { kind: NodeKind::Call, target, args: given.into(), kwargs, ty };
    let call = graph.insert(BodyId::ROOT, Some(node), &name, new);
    replace(graph, node, &[token.clone(), if gives { Arg::Node(call) } else { Arg::None }]);
}

/// A body that a call runs as it stands.
struct Wrapped {
    body: BodyId,
    operands: Vec<Arg>,
    /// What autocast casts to in it.
    region: Option<Dtype>,
}

fn wrappers(graph: &Graph) -> Vec<NodeId> {
    graph.nodes(BodyId::ROOT).filter(|n| wrapped(graph, *n).is_some()).collect()
}

fn wrapped(graph: &Graph, node: NodeId) -> Option<Wrapped> {
    let args = graph.args(node);
    let (at, first) = match graph.target(node) {
        "higher_order.wrap_with_set_grad_enabled" => (1, 2),
        "higher_order.wrap_with_autocast" => (4, 5),
        "higher_order.invoke_subgraph" => (0, 2),
        "higher_order.tag_activation_checkpoint" | "higher_order.strict_mode" | "higher_order.hints_wrapper" => (0, 1),
        _ => return None,
    };
    let ValueType::Body(body) = graph.ty(args.get(at)?.as_node()?) else { return None };
    let rest = args.get(first..)?;
    let operands = match (graph.target(node), rest) {
        ("higher_order.strict_mode" | "higher_order.hints_wrapper", [operands, ..]) => operands.items()?.to_vec(),
        _ => rest.to_vec(),
    };
    let region = match (graph.target(node), args) {
        ("higher_order.wrap_with_autocast", [_, _, Arg::Bool(false), ..]) => None,
        ("higher_order.wrap_with_autocast", [Arg::Str(device), dtype, ..]) if &**device == "cpu" => match dtype {
            Arg::Dtype(dtype) => Some(*dtype),
            // PyTorch's default on the CPU.
            Arg::None => Some(Dtype::Bf16),
            _ => return None,
        },
        ("higher_order.wrap_with_autocast", _) => return None,
        _ => None,
    };
    let placeholders = graph.nodes(*body).filter(|n| graph.kind(*n) == NodeKind::Placeholder).count();
    if placeholders != operands.len() || region.is_some() && !is_castable(graph, *body) {
        return None;
    }
    Some(Wrapped { body: *body, operands, region })
}

/// Whether it is known of every call of a body what autocast does to it.
fn is_castable(graph: &Graph, body: BodyId) -> bool {
    graph.nodes(body).filter(|n| graph.kind(*n) == NodeKind::Call).all(|n| match graph.target(n) {
        "higher_order.wrap_with_autocast" => true,
        target if target.starts_with("higher_order.") => false,
        target => autocast_policy(target) != Some(AutocastPolicy::Inside),
    })
}

/// Casts the operands of a call as its region says, before the call.
struct Casts<'g> {
    graph: &'g mut Graph,
    before: NodeId,
    to: Dtype,
}

impl Casts<'_> {
    fn type_of(&self, arg: &Arg) -> Option<TensorType> {
        match self.graph.ty(arg.as_node()?) {
            ValueType::Tensor(t) => Some(TensorType::clone(t)),
            _ => None,
        }
    }

    /// Lists nest at most `Arg::MAX_DEPTH` deep.
    fn holds(&self, arg: &Arg, dtype: Dtype) -> bool {
        self.type_of(arg).is_some_and(|t| t.dtype == dtype)
            || arg.items().is_some_and(|items| items.iter().any(|a| self.holds(a, dtype)))
    }

    fn cast(&mut self, arg: &Arg) -> Arg {
        if let Arg::List(items) | Arg::Tuple(items) = arg {
            return Arg::List(items.iter().map(|a| self.cast(a)).collect());
        }
        let Some(own) = self.type_of(arg).filter(|t| is_autocast(t.dtype) && t.dtype != self.to) else {
            return arg.clone();
        };
        let target = self.graph.texts.intern("aten._to_copy.default");
        let dtype = self.graph.texts.intern("dtype");
        let name = self.graph.free_name(BodyId::ROOT, "_to_copy");
        let ty = ValueType::tensor(TensorType { dtype: self.to, ..own });
        let kwargs = vec![(dtype, Arg::Dtype(self.to))].into();
        let new = NewNode { kind: NodeKind::Call, target, args: vec![arg.clone()].into(), kwargs, ty };
        Arg::Node(self.graph.insert(BodyId::ROOT, Some(self.before), &name, new))
    }
}

fn copy(graph: &mut Graph, Wrapped { body, operands, region }: &Wrapped, before: NodeId) -> Vec<Arg> {
    let mut places: FxHashMap<NodeId, Arg> = FxHashMap::default();
    let (body, mut operands) = (*body, operands.iter());
    for node in graph.nodes(body).collect::<Vec<_>>() {
        let put = |arg: &Arg| arg_with(arg, &places);
        let mut args: Box<[Arg]> = graph.args(node).iter().map(put).collect();
        let mut kwargs: Box<[_]> = graph.kwargs(node).iter().map(|(k, a)| (*k, put(a))).collect();
        if let Some(region) = region
            && let Some(policy) = autocast_policy(graph.target(node))
        {
            let mut casts = Casts { graph, before, to: *region };
            let mut given = args.iter().chain(kwargs.iter().map(|(_, a)| a));
            let is_full = policy == AutocastPolicy::Full
                || policy == AutocastPolicy::Widest && given.any(|a| casts.holds(a, Dtype::F32));
            casts.to = if is_full { Dtype::F32 } else { *region };
            for arg in args.iter_mut().chain(kwargs.iter_mut().map(|(_, a)| a)) {
                *arg = casts.cast(arg);
            }
        }
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
fn arg_with(arg: &Arg, places: &FxHashMap<NodeId, Arg>) -> Arg {
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

    fn product(call: &str) -> Graph {
        let text = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2, 3]\", y: \"f32[3, 4]\"):\n        b = self.b\n        w = torch.ops.higher_order.{call}, b, x, y)\n        g: \"bf16[2, 4]\" = w[0]\n        return (g,)\n    class b(torch.nn.Module):\n        def forward(self, p: \"f32[2, 3]\", q: \"f32[3, 4]\"):\n            t: \"bf16[2, 4]\" = torch.ops.aten.mm.default(p, q)\n            return (t,)\n"
        );
        text::read(&text, &text::ReadOptions::of_file("t.fx")).unwrap()
    }

    #[test]
    fn operands_of_a_body_under_autocast_are_cast_before_the_call() {
        let graph = product("wrap_with_autocast('cpu', torch.bfloat16, True, None");
        let inlined = inlined(&graph).unwrap();
        let line = |n: NodeId| (inlined.target(n).to_string(), inlined.ty(n).annotation(&inlined.symbols));
        let calls: Vec<_> =
            inlined.nodes(BodyId::ROOT).filter(|n| inlined.kind(*n) == NodeKind::Call).map(line).collect();
        let cast = |sizes: &str| ("aten._to_copy.default".to_string(), Some(format!("bf16[{sizes}]")));
        assert_eq!(calls.get(..2), Some(&[cast("2, 3"), cast("3, 4")][..]), "{calls:?}");
        assert_eq!(calls[2].0, "aten.mm.default");
    }

    #[test]
    fn a_body_under_autocast_of_which_something_is_not_known_is_left_alone() {
        for call in [
            "wrap_with_autocast('cuda', torch.bfloat16, True, None",
            "wrap_with_autocast('cpu', 'bfloat16', True, None",
        ] {
            assert!(inlined(&product(call)).is_none(), "{call}");
        }
    }

    #[test]
    fn a_body_that_is_given_what_another_gave_reads_what_took_its_place() {
        let program = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4]\", y: \"f32[4]\"):
        b = self.b
        w = torch.ops.higher_order.wrap_with_set_grad_enabled(False, b, x, y)
        g: \"f32[4]\" = w[0]
        c = self.c
        v = torch.ops.higher_order.wrap_with_set_grad_enabled(False, c, g, y)
        h: \"f32[4]\" = v[0]
        return (h,)
    class b(torch.nn.Module):
        def forward(self, p: \"f32[4]\", q: \"f32[4]\"):
            t: \"f32[4]\" = torch.ops.aten.sub.Tensor(q, p)
            return (t,)
    class c(torch.nn.Module):
        def forward(self, p: \"f32[4]\", q: \"f32[4]\"):
            u: \"f32[4]\" = torch.ops.aten.div.Tensor(p, q)
            return (u,)
";
        let mut graph = text::read(program, &text::ReadOptions::default()).unwrap();
        assert!(crate::ops::Registry::standard().check_types(&mut graph).is_empty());
        let graph = inlined(&graph).unwrap();
        let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
        let [sub, div] = calls[..] else { panic!("{calls:?}") };
        assert_eq!((graph.target(sub), graph.target(div)), ("aten.sub.Tensor", "aten.div.Tensor"));
        let y = graph.find_name(BodyId::ROOT, "y").unwrap();
        assert_eq!(graph.operands(div).collect::<Vec<_>>(), [sub, y]);
    }
}
