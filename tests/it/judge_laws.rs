//! Every well-formed graph is equal to itself, and judging an edit from its journal says what judging both graphs whole says.
//!
//! `AIRLOCK_CORPUS=DIR` takes every model and every case below DIR too.

use std::path::Path;
use std::sync::Arc;

use crate::common::files;
use airlock::analysis::form::check_form;
use airlock::editor::{Editor, NewCall, Point};
use airlock::formats::text::{self, ReadOptions, case};
use airlock::graph::{Arg, BodyId, Graph, NodeKind, View};
use airlock::ops::Registry;
use airlock::verify::{JudgeOptions, Mode, judge_editor, judge_pair};

fn registry() -> Registry {
    let mut registry = Registry::standard();
    if let Some(corpus) = std::env::var_os("AIRLOCK_CORPUS") {
        let file = Path::new(&corpus).join("ops.toml");
        if let Ok(text) = std::fs::read_to_string(&file) {
            registry.extend_toml(&text).unwrap();
        }
    }
    registry
}

/// Files that are made to hurt their reader are no graphs that anyone edits, and those that lowering must refuse are not well formed
/// in every mode.
fn is_hostile(file: &Path) -> bool {
    file.components().any(|c| c.as_os_str() == "hostile" || c.as_os_str() == "error")
}

/// Graphs of the corpus that are well formed, by file.
fn graphs(registry: &Registry) -> Vec<(String, Graph, JudgeOptions)> {
    let mut out = Vec::new();
    let options = JudgeOptions::default();
    for file in files("fx").into_iter().filter(|f| !is_hostile(f)) {
        let name = file.display().to_string();
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if let Ok(graph) = text::read(&text, &ReadOptions::of_file(&name)) {
            out.push((name, graph, options.clone()));
        }
    }
    for file in files("case").into_iter().filter(|f| !is_hostile(f)) {
        let name = file.display().to_string();
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Ok(case) = case::read(&text, &ReadOptions::of_file(&name)) else { continue };
        let mode = case.meta.mode.as_deref().and_then(Mode::from_name).unwrap_or_default();
        out.push((name, case.before, JudgeOptions { mode, may_alias: case.meta.may_alias.clone(), ..options.clone() }));
    }
    out.retain_mut(|(_, graph, _)| check_form(graph).is_empty() && registry.check_types(&mut graph.clone()).is_empty());
    out
}

#[test]
fn every_well_formed_graph_is_equal_to_itself() {
    let registry = registry();
    let all = graphs(&registry);
    assert!(all.len() > 30, "{}", all.len());
    let mut wrong = Vec::new();
    for (name, graph, options) in &all {
        let verdict = judge_pair(graph, graph, &registry, options);
        if !verdict.accepted {
            wrong.push(format!("{name}: {:?}: {}", verdict.question, verdict.reason));
        }
    }
    println!("{} graphs, {} not accepted against themselves", all.len(), wrong.len());
    assert_eq!(wrong, Vec::<String>::new());
}

/// Edits that a pass might make, some of them wrong: one for each number.
fn edit(e: &mut Editor, number: usize) -> bool {
    let g = e.graph();
    let calls: Vec<_> = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call).collect();
    let Some(node) = calls.get(number * 7919 % calls.len().max(1)).copied() else { return false };
    let tensor = g.ty(node).as_tensor().is_some();
    match number % 5 {
        0 if tensor => {
            let Some(after) = g.next(node) else { return false };
            let args = vec![Arg::Node(node)];
            let new = NewCall { target: "aten.clone.default".into(), args, ..NewCall::default() };
            e.insert(Point::Before(after), new).is_ok_and(|copy| {
                let users: Vec<_> = e.graph().users_in_order(node).into_iter().filter(|u| *u != copy).collect();
                e.replace_uses(node, copy, Some(&users)).is_ok()
            })
        }
        1 => g.previous(node).is_some_and(|earlier| e.move_node(node, Point::Before(earlier)).is_ok()),
        2 => {
            let same = calls.iter().copied().find(|n| {
                *n != node && g.is_before(*n, node) && g.target(*n) == g.target(node) && g.args(*n) == g.args(node)
            });
            same.is_some_and(|n| e.replace_uses(node, n, None).is_ok() && e.erase(node).is_ok())
        }
        3 => g.users_in_order(node).is_empty() && e.erase(node).is_ok(),
        _ => {
            let operand = g.args(node).iter().find_map(Arg::as_node).filter(|_| tensor);
            let Some(operand) = operand.filter(|o| g.ty(*o) == g.ty(node)) else { return false };
            e.replace_uses(node, operand, None).is_ok()
        }
    }
}

#[test]
fn the_journal_chooses_what_is_computed_and_never_what_is_asked() {
    let registry = Arc::new(registry());
    let (mut edits, mut accepted, mut wrong) = (0, 0, Vec::new());
    for (name, graph, options) in graphs(&registry) {
        let mut graph = graph;
        registry.check_types(&mut graph);
        if graph.nodes(BodyId::ROOT).count() > 400 {
            continue;
        }
        for number in 0..20 {
            let mut editor = Editor::new(graph.clone(), registry.clone());
            if !edit(&mut editor, number) {
                continue;
            }
            let local = judge_editor(&editor, &options);
            let whole = judge_pair(&graph, &editor.into_graph(), &registry, &options);
            edits += 1;
            accepted += usize::from(whole.accepted);
            if (local.accepted, local.verdict) != (whole.accepted, whole.verdict) {
                wrong.push(format!(
                    "{name}, edit {number}: journal {:?} {:?} ({}), whole {:?} {:?} ({})",
                    local.verdict, local.question, local.reason, whole.verdict, whole.question, whole.reason
                ));
            }
        }
    }
    println!("{edits} edits, {accepted} accepted, {} judged otherwise from the journal", wrong.len());
    assert!(accepted > 20 && edits > accepted);
    assert_eq!(wrong, Vec::<String>::new());
}
