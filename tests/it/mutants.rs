//! Graphs changed a little: what a plain wide run shows different is never accepted, what is equal by construction is never refuted.
//!
//! A mutant counts as different where f64 runs on inputs of this test's own differ, as equal only by how it was made; others are counted apart.
//! `AIRLOCK_MUTANTS=N` judges so many (300 by default), `AIRLOCK_MUTANT_SEED` varies them, `AIRLOCK_CORPUS=DIR` takes every graph and
//! case below DIR too.

use std::collections::BTreeMap;

use crate::common::files;
use airlock::analysis::form::check_form;
use airlock::exec::{self, Casts, Generator, Kernels, Meta, Meter, Session, Storage, Tensor, Value};
use airlock::formats::text::{self, ReadOptions, case};
use airlock::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, ValueType, View};
use airlock::ops::Registry;
use airlock::sym::Dim;
use airlock::verify::{Budget, Finding, JudgeOptions, judge_pair};

/// Graphs that run quickly: few nodes, small inputs of fixed sizes.
fn graphs(registry: &Registry) -> Vec<(String, Graph, JudgeOptions)> {
    let mut out = Vec::new();
    let read = |file: &std::path::Path| std::fs::read_to_string(file).ok();
    for file in files("fx").into_iter().filter(|f| !f.display().to_string().contains("hostile")) {
        let name = file.display().to_string();
        let Some(Ok(graph)) = read(&file).map(|t| text::read(&t, &ReadOptions::of_file(&name))) else { continue };
        out.push((name, graph, JudgeOptions { budget: Budget::searching(), ..JudgeOptions::default() }));
    }
    for file in files("case").into_iter().filter(|f| !f.display().to_string().contains("hostile")) {
        let name = file.display().to_string();
        let Some(Ok(case)) = read(&file).map(|t| case::read(&t, &ReadOptions::of_file(&name))) else { continue };
        let options = JudgeOptions::of_case(&case.meta, airlock::verify::Mode::default());
        out.push((name, case.before, options));
    }
    out.retain_mut(|(_, g, _)| {
        let calls = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call).count();
        (1..120).contains(&calls)
            && check_form(g).is_empty()
            && registry.check_types(g).is_empty()
            && inputs(g, 1).is_some()
    });
    out
}

/// Draws the inputs of a graph; `None` where it has others than small tensors of fixed sizes.
fn inputs(g: &Graph, seed: u64) -> Option<Vec<Value>> {
    let mut random = Generator::new(seed);
    let placeholders = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Placeholder);
    placeholders
        .map(|n| {
            let ValueType::Tensor(ty) = g.ty(n) else { return None };
            let size = |d: &Dim| d.fixed().and_then(|v| usize::try_from(v).ok());
            let sizes: Vec<usize> = ty.sizes.iter().map(size).collect::<Option<_>>()?;
            let count: usize = sizes.iter().product();
            if count > 20_000 || ty.dtype.is_complex() || ty.strides.is_some() && ty.rank() == 0 {
                return None;
            }
            let float = ty.dtype.is_float();
            let values: Vec<f64> =
                (0..count).map(|_| if float { random.uniform() + 0.05 } else { random.integer(0, 2) as f64 }).collect();
            let storage = Storage::new(vec![0_u8; (count * ty.dtype.bytes()).max(1)], &Meter::default());
            let t = Tensor::new(Meta::contiguous(ty.dtype, &sizes), storage).ok()?;
            t.write(&values).ok()?;
            Some(Value::Tensor(t))
        })
        .collect()
}

/// What a plain wide run returns, as numbers; `None` where it cannot be made.
fn wide(g: &Graph, registry: &Registry, kernels: &Kernels, seed: u64) -> Option<Vec<Vec<f64>>> {
    let mut session = Session::new(registry, kernels, 1);
    session.wide = Some(Casts::Dropped);
    let given: Vec<Value> =
        inputs(g, seed)?.iter().map(|v| exec::widened(v, &Meter::default()).ok()).collect::<Option<_>>()?;
    let returned = exec::run_on(g, &given, &mut session, &mut ()).ok()?;
    let tensors = returned.iter().flat_map(Value::items).filter_map(Value::as_tensor);
    Some(tensors.map(|t| t.lanes::<f64>().unwrap().to_vec()).collect())
}

/// Whether wide runs differ: beyond 1e-6 of the largest magnitude, on any of some inputs.
fn shown(a: &Graph, b: &Graph, registry: &Registry, kernels: &Kernels) -> bool {
    (11..14).any(|seed| {
        let (Some(x), Some(y)) = (wide(a, registry, kernels, seed), wide(b, registry, kernels, seed)) else {
            return false;
        };
        x.len() != y.len()
            || x.iter().zip(&y).any(|(p, q)| {
                let scale = p.iter().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
                p.len() != q.len() || p.iter().zip(q).any(|(v, w)| (v - w).abs() > 1e-6 * scale + 1e-12)
            })
    })
}

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

const KINDS: &[&str] = &[
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
fn mutant(original: &Graph, kind: &str, at: u64) -> Option<Graph> {
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
            let k = args.iter().position(|a| matches!(a, Arg::Int(_)))?;
            let Arg::Int(v) = args[k] else { return None };
            let mut args = args.clone();
            args[k] = Arg::Int(if at.is_multiple_of(2) { v + 1 } else { v - 1 });
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

/// A copy or a new operator may take away memory that the caller shares: such graphs say nothing about values.
fn shares(g: &Graph, registry: &Registry) -> bool {
    g.nodes(BodyId::ROOT).any(|n| {
        let known = registry.get(g.target(n));
        g.kind(n) == NodeKind::Call
            && known.is_none_or(|o| {
                o.effects.writes()
                    || o.view_of().is_some()
                    || !o.effects.is_pure()
                    || o.effects.returns.iter().any(|r| !r.is_empty())
            })
    })
}

#[test]
fn no_mutant_that_a_wide_run_shows_is_accepted_and_none_that_is_equal_is_refuted() {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or);
    let (wanted, seed) = (number("AIRLOCK_MUTANTS", 300), number("AIRLOCK_MUTANT_SEED", 0));
    let (registry, kernels) = (Registry::standard(), Kernels::standard());
    let graphs = graphs(&registry);
    assert!(graphs.len() > 10, "{}", graphs.len());
    let mut random = Generator::new(seed);
    let mut counts: BTreeMap<(&str, &str), [usize; 3]> = BTreeMap::new();
    let (mut made, mut wrong) = (0, Vec::new());
    for _ in 0..wanted * 40 {
        if made == wanted {
            break;
        }
        let (name, graph, options) = &graphs[random.bits() as usize % graphs.len()];
        let kind = KINDS[random.bits() as usize % KINDS.len()];
        let at = random.bits() >> 8;
        let equal = kind.starts_with("equal");
        if (equal || kind == "rescaled") && shares(graph, &registry) {
            continue;
        }
        let Some(changed) = mutant(graph, kind, at) else { continue };
        made += 1;
        let verdict = judge_pair(graph, &changed, &registry, options);
        let state = match (equal, verdict.verdict == Finding::Refuted && verdict.witness.is_none()) {
            (true, _) => "equal",
            // Refused for its form: nothing is run.
            (false, true) => "malformed",
            (false, false) if shown(graph, &changed, &registry, &kernels) => "different",
            (false, false) => "neither",
        };
        let count = counts.entry((kind, state)).or_default();
        count[if verdict.accepted { 2 } else { usize::from(verdict.verdict != Finding::Refuted) }] += 1;
        if state == "different" && verdict.accepted || state == "equal" && verdict.verdict == Finding::Refuted {
            wrong.push(format!("{kind} of {name} ({at}): {state}, {:?}: {}", verdict.verdict, verdict.reason));
        }
        if kind == "rescaled" && verdict.verdict == Finding::Refuted {
            println!("refuted: {kind} of {name} ({at}): {}", verdict.reason);
        }
        if state == "different" && verdict.verdict == Finding::Unknown {
            println!(
                "not refuted: {kind} of {name} ({at}): {:?} {:?} {:?}",
                verdict.open, verdict.tried, verdict.obstacle
            );
        }
    }
    println!("{made} mutants of {} graphs", graphs.len());
    for ((kind, state), [refuted, unknown, accepted]) in &counts {
        println!("{kind:22} {state:10} {refuted:5} refuted {unknown:5} unknown {accepted:5} accepted");
    }
    assert_eq!(made, wanted);
    assert_eq!(wrong, Vec::<String>::new());
}
