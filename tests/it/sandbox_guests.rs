//! The example passes run over real graphs. Skipped, with a message, where they are not built (`scripts/setup.sh`).

use crate::graphs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlock::contract::Limits;
use airlock::editor::Editor;
use airlock::formats::text::ReadOptions;
use airlock::graph::{BodyId, Graph, View};
use airlock::ops::Registry;
use airlock::sandbox::{Ended, Engine, FaultKind, Job, Pass, PassRun};

fn component(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/components/{name}.wasm"));
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not built; scripts/setup.sh builds it", path.display());
    None
}

fn run(name: &str, graph: Graph, limits: &Limits) -> Option<PassRun> {
    let path = component(name)?;
    let engine = Engine::new(limits).unwrap();
    let pass = Pass::load_file(&path, &engine, limits).unwrap();
    assert_eq!(pass.describe(limits).unwrap().name, name);
    let nodes = graph.len();
    let job = Job { stage: "pre".into(), mode: "max-autotune".into(), ..Job::default() };
    let outcome = pass.run(Editor::new(graph, Arc::new(Registry::standard())), job, limits);
    eprintln!("{name} over {nodes} nodes: {:?}", outcome.usage);
    Some(outcome)
}

fn doc_model(registry: &Registry) -> Graph {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/torchair_doc_model/core.pt2");
    airlock::formats::pt2::read(&path, registry).unwrap().graph
}

fn targets(g: &Graph) -> Vec<&str> {
    g.nodes(BodyId::ROOT).map(|n| g.target(n)).collect()
}

#[test]
fn stream_split_labels_a_stream_and_joins_it() {
    let graph = doc_model(&Registry::standard());
    let Some(outcome) = run("stream-split", graph, &Limits::default()) else { return };
    assert!(matches!(outcome.ended, Ended::Changed(_)), "{:?} {:?}", outcome.ended, outcome.log);
    let found = targets(outcome.editor.graph());
    let at = |target: &str| found.iter().position(|t| *t == target).unwrap_or_else(|| panic!("{target} in {found:?}"));
    let order =
        ["air.scope_enter.default", "aten.mm.default", "aten.abs.default", "air.wait.default", "aten.sub.Tensor"];
    assert!(order.map(at).is_sorted(), "{found:?}");
    assert!(at("air.record.default") > at("aten.abs.default"));
    assert!(at("air.scope_exit.default") > at("aten.abs.default"));
    assert_eq!(outcome.editor.changes().inserted.len(), 4);
}

#[test]
fn endless_ends_by_fuel_and_changes_nothing() {
    let graph = doc_model(&Registry::standard());
    let limits = Limits { fuel_base: 100_000_000, ..Limits::default() };
    let before = graphs::content(&graph);
    let Some(outcome) = run("endless", graph, &limits) else { return };
    match outcome.ended {
        Ended::Faulted(fault) => assert_eq!(fault.kind, FaultKind::Fuel, "{fault}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(graphs::content(outcome.editor.graph()), before);
}

#[test]
fn dedup_of_a_chain_of_fifty_thousand_calls_is_within_the_default_limits() {
    let Some(outcome) = run("dedup", graphs::chain(50_000), &Limits::default()) else { return };
    assert!(!matches!(outcome.ended, Ended::Faulted(_)), "{:?}", outcome.ended);
}

#[test]
fn dedup_makes_one_of_what_the_host_says_is_a_function_of_its_operands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/effects/twice.fx");
    let text = std::fs::read_to_string(&path).unwrap();
    let graph = airlock::formats::text::read(&text, &ReadOptions::of_file("twice.fx")).unwrap();
    let Some(outcome) = run("dedup", graph, &Limits::default()) else { return };
    assert!(matches!(outcome.ended, Ended::Changed(_)), "{:?} {:?}", outcome.ended, outcome.log);
    let found = targets(outcome.editor.graph());
    let count = |target: &str| found.iter().filter(|t| **t == target).count();
    // Of four dropouts two draw.
    assert_eq!((count("aten.nonzero.default"), count("aten.item.default"), count("aten.dropout.default")), (1, 1, 3));
    assert_eq!(count("aten.empty_like.default"), 2);
}

#[test]
fn broken_edits_what_form_and_types_allow() {
    let Some(outcome) = run("broken", doc_model(&Registry::standard()), &Limits::default()) else { return };
    assert!(matches!(outcome.ended, Ended::Changed(_)), "{:?}", outcome.ended);
}
