//! Kinds of mutants: one small change at one node.

use std::sync::Arc;

use airlock::editor::{Editor, NewCall, Point};
use airlock::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, View};
use airlock::ops::Registry;

/// Operators that stand for one another in a mutant.
const TWINS: &[(&str, &str)] = &[
    ("aten.add.Tensor", "aten.sub.Tensor"),
    ("aten.mul.Tensor", "aten.add.Tensor"),
    ("aten.sub.Tensor", "aten.add.Tensor"),
    ("aten.relu.default", "aten.abs.default"),
    ("aten.sigmoid.default", "aten.tanh.default"),
    ("aten.tanh.default", "aten.sin.default"),
    ("aten.exp.default", "aten.expm1.default"),
    ("aten.rsqrt.default", "aten.reciprocal.default"),
    ("aten.silu.default", "aten.relu.default"),
    ("aten.sqrt.default", "aten.rsqrt.default"),
    ("aten.amax.default", "aten.amin.default"),
    ("aten.maximum.default", "aten.minimum.default"),
    ("aten.sum.dim_IntList", "aten.mean.dim"),
    ("aten.floor.default", "aten.round.default"),
    ("aten.gt.Scalar", "aten.ge.Scalar"),
    ("aten.cos.default", "aten.sin.default"),
];

/// All kinds. Those that begin with `equal` mean the same by how they are made.
pub const KINDS: &[&str] = &[
    "literal",
    "slightly",
    "operands swapped",
    "residual",
    "integer",
    "list",
    "alpha",
    "operator",
    "dropped",
    "outputs",
    "equal: commuted",
    "equal: copied",
    "equal: negated twice",
    "rescaled",
    "scaled",
    "cast",
    "dtype",
    "write dropped",
    "writes swapped",
    "assertion dropped",
];

fn users_now_use(g: &mut Graph, old: NodeId, new: NodeId) {
    for user in g.users_in_order(old).into_iter().filter(|u| *u != new) {
        let swap = |a: &Arg| replaced(a, old, new);
        let args = g.args(user).iter().map(swap).collect();
        let kwargs = g.kwargs(user).iter().map(|(k, a)| (*k, swap(a))).collect();
        g.set_args(user, args, kwargs);
    }
}

fn replaced(a: &Arg, old: NodeId, new: NodeId) -> Arg {
    match a {
        Arg::Node(n) if *n == old => Arg::Node(new),
        Arg::List(all) => Arg::List(all.iter().map(|a| replaced(a, old, new)).collect()),
        Arg::Tuple(all) => Arg::Tuple(all.iter().map(|a| replaced(a, old, new)).collect()),
        other => other.clone(),
    }
}

fn set(g: &mut Graph, node: NodeId, args: Vec<Arg>) {
    let kwargs = g.kwargs(node).to_vec();
    g.set_args(node, args.into(), kwargs.into());
}

fn call_after(g: &mut Graph, node: NodeId, target: &str, name: &str) -> NodeId {
    let (target, ty, next) = (g.texts.intern(target), g.ty(node).clone(), g.next(node));
    let name = g.free_name(BodyId::ROOT, name);
    let args = vec![Arg::Node(node)].into();
    let new = NewNode { kind: NodeKind::Call, target, args, kwargs: Box::default(), ty };
    g.insert(BodyId::ROOT, next, &name, new)
}

/// Makes a mutant of a kind at one of the nodes; `None` where there is none.
pub fn mutant(original: &Graph, kind: &str, at: u64, registry: &Arc<Registry>) -> Option<Graph> {
    if EDITED.contains(&kind) {
        return edited(original, kind, at, registry);
    }
    let mut g = original.clone();
    let calls: Vec<NodeId> = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call).collect();
    let node = calls[at as usize % calls.len()];
    let args = g.args(node).to_vec();
    let float_at = args.iter().position(|a| matches!(a, Arg::Float(_)));
    let nodes_of_one_type = |g: &Graph| {
        let two = [args.first()?.as_node()?, args.get(1)?.as_node()?];
        (two[0] != two[1] && g.ty(two[0]) == g.ty(two[1])).then_some(())
    };
    let is_tensor = g.ty(node).as_tensor().is_some();
    let floats = g.ty(node).as_tensor().is_some_and(|t| t.dtype.is_float());
    match kind {
        "literal" | "slightly" => {
            let k = float_at?;
            let Arg::Float(v) = args[k] else { return None };
            let mut args = args.clone();
            args[k] = Arg::Float(if kind == "literal" { v * 10.0 + 0.25 } else { v * (1.0 + 1.0 / 1024.0) });
            (v != 0.0 || kind == "literal").then(|| set(&mut g, node, args))?;
        }
        "operands swapped" | "equal: commuted" => {
            nodes_of_one_type(&g)?;
            let commutes = ["aten.add.Tensor", "aten.mul.Tensor"].contains(&g.target(node))
                && args.len() == 2
                && g.kwargs(node).is_empty();
            let counts = if kind == "operands swapped" { !commutes } else { commutes };
            let mut args = args.clone();
            args.swap(0, 1);
            counts.then(|| set(&mut g, node, args))?;
        }
        "residual" => {
            let operand = args.first()?.as_node()?;
            let earlier =
                calls.iter().copied().find(|n| *n != operand && g.is_before(*n, node) && g.ty(*n) == g.ty(operand))?;
            let mut args = args.clone();
            args[0] = Arg::Node(earlier);
            set(&mut g, node, args);
        }
        "integer" => {
            let whole: Vec<usize> = (0..args.len()).filter(|k| matches!(args[*k], Arg::Int(_))).collect();
            let k = *whole.get((at >> 8) as usize % whole.len().max(1))?;
            let Arg::Int(v) = args[k] else { return None };
            let mut args = args.clone();
            args[k] = Arg::Int(if at.is_multiple_of(2) { v.saturating_add(1) } else { v.saturating_sub(1) });
            set(&mut g, node, args);
        }
        "list" => {
            let k = args
                .iter()
                .position(|a| a.items().is_some_and(|i| i.len() > 1 && i[0] != i[1] && matches!(i[0], Arg::Int(_))))?;
            let mut items = args[k].items()?.to_vec();
            items.swap(0, 1);
            let mut args = args.clone();
            args[k] = Arg::List(items.into());
            set(&mut g, node, args);
        }
        "alpha" => {
            let takes = ["aten.add.Tensor", "aten.sub.Tensor"].contains(&g.target(node)) && g.kwargs(node).is_empty();
            let key = g.texts.intern("alpha");
            takes.then(|| g.set_args(node, args.clone().into(), vec![(key, Arg::Int(2))].into()))?;
        }
        "operator" => {
            let (_, other) = TWINS.iter().find(|(a, _)| *a == g.target(node))?;
            let other = g.texts.intern(other);
            g.set_target(node, other);
        }
        "dropped" => {
            let operand = args.first()?.as_node()?;
            (g.ty(operand) == g.ty(node)).then(|| users_now_use(&mut g, node, operand))?;
        }
        "outputs" => {
            let output = g.output(BodyId::ROOT)?;
            let Some(Arg::Tuple(all) | Arg::List(all)) = g.args(output).first() else { return None };
            let mut all = all.to_vec();
            let k = at as usize % all.len().max(1);
            let (a, b) = (all.get(k)?.as_node()?, all.get(k + 1)?.as_node()?);
            (a != b && g.ty(a) == g.ty(b)).then(|| all.swap(k, k + 1))?;
            set(&mut g, output, vec![Arg::Tuple(all.into())]);
        }
        "equal: copied" => {
            let made = is_tensor.then(|| call_after(&mut g, node, "aten.clone.default", "copied"))?;
            users_now_use(&mut g, node, made);
        }
        // The same over the reals; whether its rounding may differ that much hangs on what follows.
        "rescaled" => {
            let wide = g.ty(node).as_tensor().is_some_and(|t| t.dtype == airlock::graph::Dtype::F32);
            let first = wide.then(|| call_after(&mut g, node, "aten.mul.Tensor", "scaled"))?;
            set(&mut g, first, vec![Arg::Node(node), Arg::Float(3.0)]);
            let second = call_after(&mut g, first, "aten.div.Tensor", "again");
            set(&mut g, second, vec![Arg::Node(first), Arg::Float(3.0)]);
            for user in g.users_in_order(node).into_iter().filter(|u| *u != first) {
                let args = g.args(user).iter().map(|a| replaced(a, node, second)).collect();
                let kwargs = g.kwargs(user).iter().map(|(k, a)| (*k, replaced(a, node, second))).collect();
                g.set_args(user, args, kwargs);
            }
        }
        _ => {
            let first = floats.then(|| call_after(&mut g, node, "aten.neg.default", "negated"))?;
            let second = call_after(&mut g, first, "aten.neg.default", "again");
            for user in g.users_in_order(node).into_iter().filter(|u| *u != first) {
                let args = g.args(user).iter().map(|a| replaced(a, node, second)).collect();
                let kwargs = g.kwargs(user).iter().map(|(k, a)| (*k, replaced(a, node, second))).collect();
                g.set_args(user, args, kwargs);
            }
        }
    }
    Some(g)
}

/// Kinds that change types or what is written: an editor makes them, as a pass would.
const EDITED: &[&str] = &["scaled", "cast", "dtype", "write dropped", "writes swapped", "assertion dropped"];

fn edited(original: &Graph, kind: &str, at: u64, registry: &Arc<Registry>) -> Option<Graph> {
    let is_of = |n: &NodeId| {
        let effects = || registry.get(original.target(*n)).map(|o| &o.effects);
        match kind {
            "scaled" => original.ty(*n).as_tensor().is_some_and(|t| t.dtype.is_float()),
            "cast" => cast(original, *n).is_some(),
            "dtype" => original.kwargs(*n).iter().any(|(_, a)| matches!(a, Arg::Dtype(_))),
            "assertion dropped" => effects().is_some_and(|e| e.side.is_some() && !e.writes()),
            _ => effects().is_some_and(|e| e.writes() && !e.opaque),
        }
    };
    let calls: Vec<NodeId> =
        original.nodes(BodyId::ROOT).filter(|n| original.kind(*n) == NodeKind::Call).filter(is_of).collect();
    let k = at as usize % calls.len().max(1);
    let node = *calls.get(k)?;
    let mut editor = Editor::new(original.clone(), registry.clone());
    match kind {
        "scaled" => {
            let args = vec![Arg::Node(node), Arg::Float(1.0 + 1.0 / 1024.0)];
            let call = NewCall { target: "aten.mul.Tensor".into(), args, kwargs: Vec::new(), name: None };
            let users = original.users_in_order(node);
            let scaled = editor.insert(Point::After(node), call).ok()?;
            editor.replace_uses(node, scaled, Some(&users)).ok()?;
        }
        "cast" => {
            editor.replace_uses(node, cast(original, node)?, None).ok()?;
        }
        "dtype" => {
            use airlock::graph::Dtype::{Bf16, F16, F32, F64, I8, I32, I64, U8};
            let other = |d| match d {
                F16 => Bf16,
                Bf16 => F16,
                F32 => F16,
                F64 => F32,
                I64 => I32,
                I32 => I64,
                I8 => U8,
                other => other,
            };
            let text = |k: airlock::graph::StrId| original.texts.text(k).to_string();
            let kwargs = original.kwargs(node).iter().map(|(k, a)| match a {
                Arg::Dtype(d) => (text(*k), Arg::Dtype(other(*d))),
                a => (text(*k), a.clone()),
            });
            editor.set_args(node, original.args(node).to_vec(), kwargs.collect()).ok()?;
        }
        "writes swapped" => {
            let earlier = *calls.get(k.checked_sub(1)?)?;
            editor.move_node(node, Point::Before(earlier)).ok()?;
        }
        _ => {
            if let Some(Arg::Node(written)) = original.args(node).first()
                && !original.users_in_order(node).is_empty()
            {
                editor.replace_uses(node, *written, None).ok()?;
            }
            editor.erase(node).ok()?;
        }
    }
    Some(editor.into_graph())
}

/// The operand of a conversion to another dtype.
fn cast(g: &Graph, node: NodeId) -> Option<NodeId> {
    let operand = g.args(node).first()?.as_node()?;
    let (from, to) = (g.ty(operand).as_tensor()?, g.ty(node).as_tensor()?);
    (from.dtype != to.dtype && from.sizes == to.sizes && g.operands(node).count() == 1).then_some(operand)
}
