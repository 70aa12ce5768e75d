//! Graphs changed a little: what a plain wide run shows different is never accepted, what is equal by construction is never refuted.
//!
//! A mutant counts as different where f64 runs on inputs of this test's own differ, as equal only by how it was made; others are counted apart.
//! `AIRLOCK_MUTANTS=N` judges so many (200 by default), `AIRLOCK_MUTANT_SEED` varies them, `AIRLOCK_CORPUS=DIR` takes every graph and
//! case below DIR too.

mod kinds;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::files;
use airlock::analysis::form::check_form;
use airlock::exec::{self, Floats, Generator, Kernels, Meta, Meter, Session, Storage, Tensor, Value};
use airlock::formats::{
    pt2,
    text::{self, ReadOptions, case},
};
use airlock::graph::{BodyId, Graph, NodeKind, ValueType, View};
use airlock::ops::Registry;
use airlock::sym::Dim;
use airlock::verify::{self, Budget, Finding, Held, JudgeOptions, Values, judge_pair};
use kinds::{KINDS, mutant};

/// Graphs that run quickly: few nodes, small inputs of fixed sizes.
fn graphs(registry: &Registry) -> Vec<(String, Graph, JudgeOptions)> {
    let mut out = Vec::new();
    let read = |file: &std::path::Path| std::fs::read_to_string(file).ok();
    for file in files("fx").into_iter().filter(|f| !f.display().to_string().contains("hostile")) {
        let name = file.display().to_string();
        let Some(Ok(graph)) = read(&file).map(|t| text::read(&t, &ReadOptions::of_file(&name))) else { continue };
        out.push((name, graph, JudgeOptions { budget: Budget::searching(), ..JudgeOptions::default() }));
    }
    out.extend(models(registry));
    for file in files("case").into_iter().filter(|f| !f.display().to_string().contains("hostile")) {
        let name = file.display().to_string();
        let Some(Ok(case)) = read(&file).map(|t| case::read(&t, &ReadOptions::of_file(&name))) else { continue };
        let options = JudgeOptions::of_case(&case.meta, airlock::verify::Mode::default());
        out.push((name, case.before, options));
    }
    out.retain_mut(|(_, g, options)| runs_quickly(g, options, registry));
    out
}

/// Exported models, with what their lifted constants hold.
fn models(registry: &Registry) -> Vec<(String, Graph, JudgeOptions)> {
    let mut out = Vec::new();
    for file in files("pt2").into_iter().filter(|f| !f.display().to_string().contains("hostile")) {
        let Ok(model) = pt2::read(&file, registry) else { continue };
        let constants = verify::constants(&model.graph, &model.weights);
        let options = JudgeOptions { constants, budget: Budget::searching(), ..JudgeOptions::default() };
        out.push((file.display().to_string(), model.graph, options));
    }
    out
}

fn runs_quickly(g: &mut Graph, options: &JudgeOptions, registry: &Registry) -> bool {
    (1..400).contains(&calls(g))
        && check_form(g).is_empty()
        && registry.check_types(g).is_empty()
        && inputs(g, &options.constants, 1).is_some()
}

fn calls(g: &Graph) -> usize {
    g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call).count()
}

/// Draws the inputs of a graph, lifted constants aside; `None` where it has others than small tensors of fixed sizes.
fn inputs(g: &Graph, constants: &[Held], seed: u64) -> Option<Vec<Value>> {
    let mut random = Generator::new(seed);
    let placeholders = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Placeholder);
    placeholders
        .map(|n| {
            let ValueType::Tensor(ty) = g.ty(n) else { return None };
            let size = |d: &Dim| d.fixed().and_then(|v| usize::try_from(v).ok());
            let sizes: Vec<usize> = ty.sizes.iter().map(size).collect::<Option<_>>()?;
            let count: usize = sizes.iter().product();
            if count > 200_000 || ty.dtype.is_complex() || ty.strides.is_some() && ty.rank() == 0 {
                return None;
            }
            let float = ty.dtype.is_float();
            let values: Vec<f64> =
                (0..count).map(|_| if float { random.uniform() + 0.05 } else { random.integer(0, 2) as f64 }).collect();
            let storage = Storage::new(vec![0_u8; (count * ty.dtype.bytes()).max(1)], &Meter::default());
            let t = Tensor::new(Meta::contiguous(ty.dtype, &sizes), storage).ok()?;
            match constants.iter().find(|h| h.name == g.name(n)).map(|h| &h.values) {
                Some(Values::Floats(all)) => t.write(all).ok()?,
                Some(Values::Whole(all)) => t.write(all).ok()?,
                None => t.write(&values).ok()?,
            }
            Some(Value::Tensor(t))
        })
        .collect()
}

/// What a plain wide run returns and leaves in inputs, as numbers; `None` where it cannot be made.
fn wide(g: &Graph, constants: &[Held], seed: u64, registry: &Registry, kernels: &Kernels) -> Option<Vec<Vec<f64>>> {
    let mut session = Session::new(registry, kernels, 1);
    session.floats = Some(Floats::Wide);
    let given: Vec<Value> = inputs(g, constants, seed)?
        .iter()
        .map(|v| Floats::Wide.hold(v, &Meter::default()).ok())
        .collect::<Option<_>>()?;
    let returned = exec::run_on(g, &given, &mut session, &mut ()).ok()?;
    let tensors = returned.iter().chain(&given).flat_map(Value::items).filter_map(Value::as_tensor);
    tensors.map(|t| Some(t.lanes::<f64>().ok()?.to_vec())).collect()
}

/// Whether wide runs differ: beyond 1e-6 of the largest magnitude, on any of some inputs.
fn shown(a: &Graph, b: &Graph, constants: &[Held], registry: &Registry, kernels: &Kernels) -> bool {
    (11..14).any(|seed| {
        let run = |g| wide(g, constants, seed, registry, kernels);
        let (Some(x), Some(y)) = (run(a), run(b)) else { return false };
        x.len() != y.len()
            || x.iter().zip(&y).any(|(p, q)| {
                let scale = p.iter().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
                p.len() != q.len() || p.iter().zip(q).any(|(v, w)| (v - w).abs() > 1e-6 * scale + 1e-12)
            })
    })
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
    let (wanted, seed) = (number("AIRLOCK_MUTANTS", 200), number("AIRLOCK_MUTANT_SEED", 0));
    let (registry, kernels) = (Arc::new(Registry::standard()), Kernels::standard());
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
        let Some(changed) = mutant(graph, kind, at, &registry) else { continue };
        made += 1;
        let verdict = judge_pair(graph, &changed, &registry, options);
        let state = match (equal, verdict.verdict == Finding::Refuted && verdict.witness.is_none()) {
            (true, _) => "equal",
            // Refused for its form: nothing is run.
            (false, true) => "malformed",
            (false, false) if shown(graph, &changed, &options.constants, &registry, &kernels) => "different",
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

/// How many elements of an input are neither 0 nor 1.
fn telling(held: &Held) -> usize {
    match &held.values {
        Values::Floats(all) => all.iter().filter(|v| **v != 0.0 && **v != 1.0).count(),
        Values::Whole(all) => all.iter().filter(|v| **v != 0 && **v != 1).count(),
    }
}

/// `AIRLOCK_ILLUSTRATED=N` looks at so many (3 by default), `AIRLOCK_ILLUSTRATE_SECONDS` says how long each may take (20).
#[test]
fn most_mutants_of_large_models_are_shown_on_ten_nodes_with_few_numbers() {
    let number = |name: &str, or: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or);
    let (wanted, seconds) = (number("AIRLOCK_ILLUSTRATED", 3), number("AIRLOCK_ILLUSTRATE_SECONDS", 20));
    let registry = Arc::new(Registry::standard());
    let mut large = models(&registry);
    large.retain_mut(|(name, g, options)| {
        name.ends_with("core.pt2") && calls(g) >= 100 && runs_quickly(g, options, &registry)
    });
    assert!(large.len() > 4, "{}", large.len());
    let mut random = Generator::new(number("AIRLOCK_MUTANT_SEED", 0));
    let (mut made, mut small) = (0, 0);
    while made < wanted {
        let (name, graph, options) = &large[random.bits() as usize % large.len()];
        let kind = KINDS[random.bits() as usize % KINDS.len()];
        let at = random.bits() >> 8;
        let Some(changed) = mutant(graph, kind, at, &registry) else { continue };
        let verdict = judge_pair(graph, &changed, &registry, options);
        let Some(witness) = &verdict.witness else { continue };
        made += 1;
        let options = JudgeOptions { budget: Budget { shrinks: 400, ..options.budget }, ..options.clone() };
        let began = Instant::now();
        let until = began + Duration::from_secs(seconds);
        let shown = verify::illustrate((graph, &changed), witness.shows, &registry, &options, until);
        let (took, short) = (began.elapsed().as_secs_f64(), &name[name.len().saturating_sub(40)..]);
        let Some(shown) = shown else {
            println!("{kind} of {short} ({at}): nothing smaller, {:?}, {took:.1} s", witness.shows);
            continue;
        };
        let nodes = shown.before.len().max(shown.after.len());
        let numbers = shown.witness.inputs.iter().map(telling).max().unwrap_or(0);
        small += usize::from(nodes <= 10 && numbers <= 8);
        println!("{kind} of {short} ({at}): {nodes} nodes, {numbers} numbers, {:?}, {took:.1} s", shown.witness.shows);
    }
    println!("{small} of {made} on at most 10 nodes with at most 8 numbers a tensor that are neither 0 nor 1");
    assert!(small * 10 >= made as usize * 9, "{small} of {made}");
}
