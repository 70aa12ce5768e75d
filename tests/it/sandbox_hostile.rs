//! Whatever a component does, the process lives, the run ends with a typed fault within its limits, and the graph is as
//! it was.

use std::time::{Duration, Instant};

use crate::components::hostile;
use crate::graphs::{content, editor};
use airlock::contract::Limits;
use airlock::sandbox::{Ended, Engine, FaultKind, Job, Pass, PassFault, PassRun, Said};

/// Small limits, so that each end comes soon; time is ample, so that it is never what ends a run by accident.
fn limits() -> Limits {
    Limits {
        fuel_base: 50_000_000,
        fuel_per_node: 0,
        time_seconds: 120.0,
        memory_bytes: 96 << 20,
        host_bytes: 1 << 20,
        ..Limits::default()
    }
}

fn run_with(name: &str, limits: &Limits) -> PassRun {
    let engine = Engine::new(limits).unwrap();
    let pass = Pass::load(name, &hostile(name), &engine, limits).unwrap();
    let editor = editor();
    let before = content(editor.graph());
    let outcome = pass.run(editor, Job::default(), limits);
    if matches!(outcome.ended, Ended::Faulted(_)) {
        assert_eq!(content(outcome.editor.graph()), before, "{name}: the graph is not as it was");
        assert!(outcome.editor.changes().is_empty());
    }
    outcome
}

fn fault_with(name: &str, limits: &Limits) -> PassFault {
    match run_with(name, limits).ended {
        Ended::Faulted(fault) => {
            assert_eq!(fault.pass, name);
            fault
        }
        other => panic!("{name}: no fault but {other:?}"),
    }
}

fn fault(name: &str) -> PassFault {
    fault_with(name, &limits())
}

fn describe(name: &str) -> PassFault {
    let (engine, limits) = (Engine::new(&limits()).unwrap(), limits());
    Pass::load(name, &hostile(name), &engine, &limits).unwrap().describe(&limits).unwrap_err()
}

fn ended_by(fault: &PassFault, kind: FaultKind, function: &str) {
    assert_eq!((fault.kind, fault.function), (kind, function), "{fault}");
}

#[test]
fn an_endless_run_ends_by_fuel_and_names_the_figures() {
    let fault = fault("endless_run");
    ended_by(&fault, FaultKind::Fuel, "run");
    assert_eq!((fault.used, fault.limit), (Some(50_000_000), Some(50_000_000)));
    assert_eq!(fault.frames.first().map(|f| f.name.as_str()), Some("spin"));
    assert!(fault.to_string().contains("endless_run in `run`"), "{fault}");
}

#[test]
fn an_endless_describe_ends_by_fuel() {
    ended_by(&describe("endless_describe"), FaultKind::Fuel, "describe");
}

#[test]
fn an_endless_start_function_ends_by_fuel() {
    ended_by(&fault("endless_start"), FaultKind::Fuel, "start");
    ended_by(&describe("endless_start"), FaultKind::Fuel, "start");
}

#[test]
fn without_enough_fuel_to_matter_the_clock_ends_a_run() {
    let limits = Limits { fuel_base: u64::MAX, time_seconds: 0.2, ..limits() };
    let started = Instant::now();
    for name in ["endless_run", "endless_host_calls", "endless_effects"] {
        let fault = fault_with(name, &limits);
        ended_by(&fault, FaultKind::Time, "run");
        assert_eq!(fault.limit, Some(200));
        assert!(fault.used >= fault.limit);
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_run_that_takes_the_same_fuel_each_time_is_cut_at_the_same_place() {
    let used = |name| run_with(name, &limits()).usage.fuel;
    assert_eq!(used("log_flood"), used("log_flood"));
}

#[test]
fn memory_and_tables_stop_at_their_limits() {
    let grown = fault("memory_bomb");
    ended_by(&grown, FaultKind::Memory, "run");
    assert_eq!(grown.limit, Some(96 << 20));
    assert!(grown.used > grown.limit);
    ended_by(&fault("big_memory"), FaultKind::Memory, "start");
    let grown = fault("table_bomb");
    ended_by(&grown, FaultKind::Memory, "run");
    assert_eq!(grown.limit, Some(100_000));
}

#[test]
fn deep_recursion_is_a_fault_and_no_crash() {
    ended_by(&fault("recursion"), FaultKind::Stack, "run");
}

#[test]
fn giant_texts_and_lists_are_refused_before_they_are_copied() {
    let handed = fault("giant_string");
    ended_by(&handed, FaultKind::HostLimit, "run");
    assert_eq!(handed.limit, Some(32 << 20));
    ended_by(&fault("giant_list"), FaultKind::Contract, "run");
    ended_by(&fault("giant_nodes"), FaultKind::Contract, "run");
    ended_by(&fault("bad_string"), FaultKind::Contract, "run");
}

#[test]
fn what_many_calls_keep_in_the_host_is_counted() {
    let fault = fault("note_flood");
    ended_by(&fault, FaultKind::HostLimit, "run");
    assert_eq!(fault.limit, Some(1 << 20));
}

#[test]
fn a_flood_of_log_lines_is_cut_and_shown_escaped() {
    let outcome = run_with("log_flood", &limits());
    assert_eq!(outcome.ended, Ended::Unchanged(Said::default()));
    assert_eq!((outcome.log.len(), outcome.log_dropped), (1_000, 4_000));
    assert_eq!(outcome.log[0].text, "\\u{1b}[2Jred alert");
}

#[test]
fn a_trap_names_the_guests_function() {
    let fault = fault("trap");
    ended_by(&fault, FaultKind::Trap, "run");
    assert_eq!(fault.frames.first().map(|f| f.name.as_str()), Some("oops"));
}

#[test]
fn edits_before_a_fault_are_undone() {
    ended_by(&fault("edit_then_trap"), FaultKind::Trap, "run");
    ended_by(&fault("edit_then_loop"), FaultKind::Fuel, "run");
    let fault = fault("edit_then_fail");
    ended_by(&fault, FaultKind::GuestError, "run");
    assert_eq!(fault.message, "no\\u{1b}[1m luck");
}

#[test]
fn the_graph_may_be_used_in_run_only() {
    ended_by(&describe("graph_in_describe"), FaultKind::Contract, "describe");
    assert_eq!(fault("graph_in_start").function, "start");
}

#[test]
fn a_pass_cannot_be_named_as_it_likes() {
    let fault = describe("bad_name");
    ended_by(&fault, FaultKind::Contract, "describe");
    assert!(fault.message.contains("`../Evil`"), "{fault}");
}

#[test]
fn the_host_looks_for_itself_whether_a_pass_edited() {
    let outcome = run_with("lying", &limits());
    assert_eq!(outcome.ended, Ended::Changed(Said::default()));
    assert_eq!(outcome.editor.changes().erased.len(), 1);
}

#[test]
fn a_quiet_pass_is_described_and_changes_nothing() {
    let (engine, limits) = (Engine::new(&limits()).unwrap(), limits());
    let pass = Pass::load("quiet", &hostile("quiet"), &engine, &limits).unwrap();
    let info = pass.describe(&limits).unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("hostile", "0.1.0"));
    let outcome = pass.run(editor(), Job::default(), &limits);
    assert_eq!(outcome.ended, Ended::Unchanged(Said::default()));
    assert!(outcome.usage.fuel > 0 && outcome.usage.fuel < 100, "{:?}", outcome.usage);
}

#[test]
fn a_fault_leaves_nothing_behind_for_the_next_run() {
    let (engine, limits) = (Engine::new(&limits()).unwrap(), limits());
    let pass = Pass::load("edit_then_trap", &hostile("edit_then_trap"), &engine, &limits).unwrap();
    let mut editor = editor();
    let before = content(editor.graph());
    for _ in 0..3 {
        let outcome = pass.run(editor, Job::default(), &limits);
        assert!(matches!(outcome.ended, Ended::Faulted(_)));
        editor = outcome.editor;
        assert_eq!(content(editor.graph()), before);
    }
}

#[test]
fn resources_without_end_end_at_the_limit_of_handles() {
    let limits = Limits { handles: 500, ..limits() };
    let engine = Engine::new(&limits).unwrap();
    let bytes = include_bytes!("../components/many_handles.wasm");
    let pass = Pass::load("many_handles", bytes, &engine, &limits).unwrap();
    let fault = pass.describe(&limits).unwrap_err();
    assert_eq!((fault.kind, fault.used, fault.limit), (FaultKind::HostLimit, Some(501), Some(500)), "{fault}");
}
