//! What a pass is told of calls: the worst where nobody knows, what the arguments decide where they do, and never more of a
//! call than of its operator.
//!
//! `AIRLOCK_UPDATE=1` writes `effects/calls.txt` anew.

use crate::common;
use crate::common::committed;
use std::fmt::Write;
use std::path::Path;

use airlock::analysis::{CallEffects, EffectsOf, effects_of_target};
use airlock::formats::text::{self, ReadOptions, case};
use airlock::graph::{Graph, NodeKind, View};
use airlock::ops::{Bound, Registry, Sharing};

fn words(effects: &CallEffects<'_>) -> String {
    let mut out = String::new();
    let said = [
        (effects.is_opaque, "opaque"),
        (effects.is_pure, "pure"),
        (effects.draws, "draws"),
        (effects.may_raise, "may-raise"),
        (effects.commutes, "commutes"),
    ];
    said.iter().filter(|(holds, _)| *holds).for_each(|(_, word)| write!(out, "{word} ").unwrap());
    if let Some(side) = effects.side {
        write!(out, "{} ", side.name()).unwrap();
    }
    let name = |at: &u32| match effects.parameters[*at as usize] {
        "" => at.to_string(),
        name => name.to_string(),
    };
    let list = |of: &[u32]| of.iter().map(name).collect::<Vec<_>>().join(",");
    write!(out, "reads({}) writes({})", list(&effects.reads), list(&effects.writes)).unwrap();
    for result in &effects.results {
        let shared = |s: &airlock::analysis::SharedResult| format!("{} of {}", how(s.how), name(&s.parameter));
        let all = result.iter().map(shared).collect::<Vec<_>>().join(", ");
        write!(out, " [{}]", if all.is_empty() { "fresh" } else { &all }).unwrap();
    }
    out
}

fn how(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Same => "same",
        Sharing::View => "view",
        Sharing::Maybe => "maybe",
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/effects")
}

#[test]
fn calls_do_what_their_arguments_make_of_their_operators() {
    let registry = Registry::standard();
    let mut graph = common::read(Path::new("calls.fx"), &std::fs::read_to_string(folder().join("calls.fx")).unwrap());
    registry.check_types(&mut graph);
    let mut asked = EffectsOf::new(&graph, &registry);
    let mut found = String::new();
    for body in graph.bodies() {
        for node in graph.nodes(body) {
            writeln!(found, "{:<13} {}", graph.name(node), words(&asked.of(node))).unwrap();
        }
    }
    found.push_str("\nof targets\n");
    for target in [
        "aten.exp.default",
        "torch.ops.aten.add.Tensor",
        "aten.mul.Tensor",
        "aten.dropout.default",
        "aten.split.Tensor",
        "aten.native_batch_norm.default",
        "aten.add_.Tensor",
        "aten.empty_like.default",
        "_operator.getitem",
        "higher_order.cond",
        "higher_order.auto_functionalized",
        "aten.add",
        "demo.mystery.default",
        "",
    ] {
        writeln!(found, "{target:<32} {}", words(&effects_of_target(&registry, target))).unwrap();
    }
    committed::hold(folder().join("calls.txt"), found);
}

/// Returns whether all that is said of a call is said of its target too.
fn is_within(call: &CallEffects<'_>, target: &CallEffects<'_>) -> bool {
    if target.is_opaque {
        return true;
    }
    let less = |a: bool, b: bool| !a || b;
    let sureness = |s: Sharing| match s {
        Sharing::Same => 0,
        Sharing::View => 1,
        Sharing::Maybe => 2,
    };
    let shares = call.results.iter().enumerate().all(|(i, result)| {
        let worst = target.results.get(i).or(target.results.last());
        result.iter().all(|one| {
            worst
                .is_some_and(|w| w.iter().any(|t| t.parameter == one.parameter && sureness(t.how) >= sureness(one.how)))
        })
    });
    !call.is_opaque
        && less(target.is_pure, call.is_pure)
        && less(call.draws, target.draws)
        && less(call.may_raise, target.may_raise)
        && less(target.commutes, call.commutes || !call.is_pure || call.reads.len() < 2)
        && call.side == target.side
        && call.parameters.starts_with(&target.parameters)
        && call.writes.iter().all(|w| target.writes.contains(w) || *w as usize >= target.parameters.len())
        && call.reads.iter().all(|r| target.reads.contains(r) || *r as usize >= target.parameters.len())
        && shares
}

fn graphs() -> impl Iterator<Item = (String, Graph)> {
    let texts = common::files("fx").into_iter().filter_map(|file| {
        let name = file.display().to_string();
        let graph = text::read(&std::fs::read_to_string(&file).ok()?, &ReadOptions::of_file(&name)).ok()?;
        Some((name, graph))
    });
    let cases = common::files("case").into_iter().flat_map(|file| {
        let name = file.display().to_string();
        let read = |text: String| case::read(&text, &ReadOptions::of_file(&name)).ok();
        let case = std::fs::read_to_string(&file).ok().and_then(read);
        case.into_iter().flat_map(|c| [c.before, c.after]).map(move |graph| (name.clone(), graph)).collect::<Vec<_>>()
    });
    texts.chain(cases)
}

#[test]
fn no_more_is_said_of_a_call_than_of_its_operator() {
    let registry = Registry::standard();
    let mut calls = 0;
    for (name, graph) in graphs() {
        let mut asked = EffectsOf::new(&graph, &registry);
        for node in graph.bodies().flat_map(|body| graph.nodes(body).collect::<Vec<_>>()) {
            // A target without overload has no answer of its own, and what an operator does not take nobody described.
            let described = registry.get(graph.target(node)).is_some_and(|operator| {
                Bound::bind(&operator.schema, &graph, graph.args(node), graph.kwargs(node)).is_ok()
            });
            if graph.kind(node) != NodeKind::Call || !described {
                continue;
            }
            let (call, target) = (asked.of(node), effects_of_target(&registry, graph.target(node)));
            assert!(
                is_within(&call, &target),
                "{name}: `{}`\n  call    {}\n  target  {}",
                graph.name(node),
                words(&call),
                words(&target)
            );
            calls += 1;
        }
    }
    assert!(calls > 5_000, "{calls}");
}

#[test]
fn what_is_said_of_an_operator_is_what_the_registry_says() {
    let registry = Registry::standard();
    for operator in registry.operators() {
        let effects = effects_of_target(&registry, &operator.target);
        let stated = &operator.effects;
        assert!(!effects.is_pure || stated.is_pure(), "{}", operator.target);
        assert!(effects.is_opaque || effects.draws || !stated.random, "{}", operator.target);
        assert!(effects.is_opaque || effects.parameters.len() == operator.schema.params.len(), "{}", operator.target);
        for (at, access) in stated.params.iter().enumerate() {
            let at = u32::try_from(at).unwrap();
            assert!(effects.is_opaque || !access.writes || effects.writes.contains(&at), "{}", operator.target);
        }
    }
}
