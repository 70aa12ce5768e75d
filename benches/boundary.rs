//! What it costs to cross the boundary between guest and host, and the one between processes: medians, each beside its goal.
//!
//! `cargo bench --bench boundary`. A figure that misses its goal is marked; nothing fails, since machines differ.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_precision_loss,
    dead_code,
    missing_docs
)]

#[path = "../tests/it/hostile/assemble.rs"]
mod assemble;
#[path = "../tests/it/components.rs"]
mod components;
#[path = "../tests/it/graphs.rs"]
mod graphs;
#[path = "native/dedup.rs"]
mod native;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use airlock::contract::Limits;
use airlock::editor::Editor;
use airlock::ops::Registry;
use airlock::sandbox::worker::{Cache, WorkerPass, Workers};
use airlock::sandbox::{Ended, Engine, Job, Look, Pass, Profile};
use assemble::{A, E, N, P, S};

const ROUNDS: usize = 21;
/// Calls of one kind in a round.
const CALLS: u32 = 100_000;

const WALK: &str = r#"
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(import "airlock:pass/graph@0.1.0" "kind" (func $kind (param i64 i32)))
(import "airlock:pass/graph@0.1.0" "owner" (func $owner (param i64 i32)))
(import "airlock:pass/graph@0.1.0" "target-id" (func $target (param i64 i32)))
(import "airlock:pass/graph@0.1.0" "next" (func $next (param i64 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i64)
  (call $nodes (i32.const 0) (i32.const 4200))
  (local.set 2 (i64.load (i32.load (i32.const 4200))))
  (loop $again
    (call $kind (local.get 2) (i32.const 4304))
    (call $owner (local.get 2) (i32.const 4304))
    (call $target (local.get 2) (i32.const 4304))
    (call $next (local.get 2) (i32.const 4304))
    (local.set 2 (i64.load (i32.const 4320)))
    (br_if $again (i32.load8_u (i32.const 4312))))
  (i32.const 2048))"#;

fn one_call() -> String {
    format!(
        r#"(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(import "airlock:pass/graph@0.1.0" "kind" (func $kind (param i64 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i32 i64)
  (call $nodes (i32.const 0) (i32.const 4200))
  (local.set 3 (i64.load (i32.load (i32.const 4200))))
  (local.set 2 (i32.const {CALLS}))
  (loop $again
    (call $kind (local.get 3) (i32.const 4304))
    ;; What is no node would have an error's text as answer.
    (if (i32.load8_u (i32.const 4304)) (then unreachable))
    (br_if $again (local.tee 2 (i32.sub (local.get 2) (i32.const 1)))))
  (i32.const 2048))"#
    )
}

const COLUMNS: &str = r#"
(import "airlock:pass/graph@0.1.0" "read-columns" (func $columns (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $columns (i32.const 0) (i32.const 8192))
  (i32.const 2048))"#;

struct Bench {
    registry: Arc<Registry>,
    limits: Limits,
}

impl Bench {
    fn large(&self) -> Editor {
        // A placeholder, 50,007 calls, an output.
        Editor::new(graphs::chain(50_006), self.registry.clone())
    }

    fn small(&self) -> Editor {
        Editor::new(graphs::chain(3), self.registry.clone())
    }

    fn profiles(&self, pass: &Pass<'_>, look: Look, editor: impl Fn() -> Editor) -> Vec<Profile> {
        let one = |_| {
            let profile = pass.profile(editor(), Job::default(), &self.limits, look);
            assert!(!matches!(profile.outcome.ended, Ended::Faulted(_)), "{:?}", profile.outcome.ended);
            profile
        };
        (0..ROUNDS).map(one).collect()
    }

    /// The middle of the times of a guest's `run`, in seconds.
    fn run(&self, engine: &Engine, guest: &[u8], editor: impl Fn() -> Editor) -> f64 {
        let pass = Pass::load("guest", guest, engine, &self.limits).unwrap();
        middle(self.profiles(&pass, Look::Times, editor).iter().map(|p| p.run).collect())
    }

    /// The middle of the times that one function's calls take, in seconds.
    fn function(&self, engine: &Engine, guest: &[u8], function: &str, editor: impl Fn() -> Editor) -> f64 {
        let pass = Pass::load("guest", guest, engine, &self.limits).unwrap();
        let of = |p: &Profile| p.calls.iter().find(|c| c.function == function).unwrap().ms;
        let times = self.profiles(&pass, Look::Calls, editor);
        middle(times.iter().map(|p| Duration::from_secs_f64(of(p) / 1e3)).collect())
    }
}

/// Returns the middle, in seconds.
fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn rounds(mut one: impl FnMut() -> Duration) -> f64 {
    middle((0..ROUNDS).map(|_| one()).collect())
}

fn told(what: &str, seconds: f64, goal: f64) {
    let shown = |s: f64| match s {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    };
    let mark = if seconds <= goal { "" } else { "  MISSED" };
    println!("{what:<66} {:>12}   goal {:>10}{mark}", shown(seconds), shown(goal));
}

fn inserts(count: usize) -> Vec<u8> {
    let neg = || E::Insert(P::End(0), "aten.neg.default", vec![A::One(S::Node(N::Of(0)))], Vec::new(), None);
    components::component(&assemble::guest(&[(0..count).map(|_| neg()).collect()], 100))
}

fn retargets(count: usize) -> Vec<u8> {
    let to = |i: usize| E::SetTarget(N::Of(1), ["aten.neg.default", "aten.relu.default"][i % 2]);
    components::component(&assemble::guest(&[(0..count).map(to).collect()], 100))
}

fn moves(count: usize) -> Vec<u8> {
    let to = |i: usize| E::Move(N::Of(1), [P::After(N::Of(2)), P::Start(0)][i % 2]);
    components::component(&assemble::guest(&[(0..count).map(to).collect()], 100))
}

fn main() {
    let limits = Limits { fuel_base: 1 << 40, host_bytes: 2 << 30, ..Limits::default() };
    let bench = Bench { registry: Arc::new(Registry::standard()), limits: limits.clone() };
    let engine = Engine::new(&limits).unwrap();
    let component = components::component;

    let calls = f64::from(CALLS);
    told("a call of the host (kind)", bench.run(&engine, &component(&one_call()), || bench.small()) / calls, 130e-9);
    let columns = component(COLUMNS);
    told(
        "read-columns of 50,009 nodes",
        bench.function(&engine, &columns, "graph.read-columns", || bench.large()),
        2e-3,
    );
    told("4 reads of numbers of each of 50,009 nodes", bench.run(&engine, &component(WALK), || bench.large()), 50e-3);
    for (what, guest, edits, goal) in [
        ("an insertion, in batches of 250", inserts(250), 25_000.0, 2e-6),
        ("a change of target, in batches of 250", retargets(250), 25_000.0, 500e-9),
        ("a move, in batches of 250", moves(250), 25_000.0, 500e-9),
    ] {
        told(what, bench.function(&engine, &guest, "graph.apply", || bench.small()) / edits, goal);
    }

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dedup = std::fs::read(root.join("tests/components/released-0.1.0/dedup.wasm")).unwrap();
    let pass = Pass::load("dedup", &dedup, &engine, &limits).unwrap();
    let times = bench.profiles(&pass, Look::Times, || bench.small());
    told("instantiate, in process (dedup)", middle(times.iter().map(|p| p.instantiate).collect()), 20e-6);
    beside_native(&bench, &pass);
    apart(&bench, &pass, &dedup);
}

/// A pass in its sandbox beside the same as native code: nothing is judged.
fn beside_native(bench: &Bench, pass: &Pass<'_>) {
    for (what, graph) in [("nothing is merged", graphs::chain(50_006)), ("25,003 are merged", graphs::twins(25_004))] {
        let editor = || Editor::new(graph.clone(), bench.registry.clone());
        let mut left = 0;
        let native = rounds(|| {
            let mut editor = editor();
            let began = Instant::now();
            native::dedup(&mut editor);
            let took = began.elapsed();
            left = editor.graph().len();
            took
        });
        let profiles = bench.profiles(pass, Look::Times, editor);
        assert!(profiles.iter().all(|p| p.outcome.editor.graph().len() == left), "not the same pass");
        let here = middle(profiles.iter().map(|p| p.instantiate + p.run).collect());
        told(&format!("dedup of {} nodes, {what}: goal twice native", graph.len()), here, 2.0 * native);
    }
}

/// Runs by workers, beside the same in process.
fn apart(bench: &Bench, here: &Pass<'_>, dedup: &[u8]) {
    let limits = &bench.limits;
    let run_here = |editor: Editor| {
        let began = Instant::now();
        drop(here.run(editor, Job::default(), limits));
        began.elapsed()
    };
    let (small, large) = (rounds(|| run_here(bench.small())), rounds(|| run_here(bench.large())));
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(Cache::open(&folder.path().join("c"), &folder.path().join("s"), 1 << 30).unwrap());
    let program = Workers::of(env!("CARGO_BIN_EXE_airlock"), ["worker"]).with_cache(Some(cache));
    let pooled = program.clone().with_pool(2, usize::MAX, limits, &[]).unwrap();
    drop(WorkerPass::load("dedup", dedup, &program, &[], limits).unwrap());
    // What a run costs from having the component to having the edits.
    let run = |workers: &Workers, editor: Editor, bytes: &[u8]| {
        // The pool fills again meanwhile.
        std::thread::sleep(Duration::from_millis(150));
        let began = Instant::now();
        let mut pass = WorkerPass::load("dedup", bytes, workers, &[], limits).unwrap();
        let loaded = began.elapsed();
        let outcome = pass.run(editor, Job::default(), limits);
        assert!(!matches!(outcome.ended, Ended::Faulted(_)), "{:?}", outcome.ended);
        (loaded, began.elapsed())
    };
    told(
        "load a component from the cache into a worker of the pool (dedup)",
        rounds(|| run(&pooled, bench.small(), dedup).0),
        1e-3,
    );
    told(
        "run by a worker of the pool, beyond in process",
        rounds(|| run(&pooled, bench.small(), dedup).1) - small,
        3e-3,
    );
    told(
        "run by a worker that is started for it, beyond in process",
        rounds(|| run(&program, bench.small(), dedup).1) - small,
        40e-3,
    );
    told("the same of the pool, over 50,009 nodes", rounds(|| run(&pooled, bench.large(), dedup).1) - large, 30e-3);
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/components/python/same-shape.wasm");
    match std::fs::read(&python) {
        Ok(bytes) => {
            drop(WorkerPass::load("python", &bytes, &program, &[], limits).unwrap());
            told(
                "load a component of Python from the cache",
                rounds(|| {
                    std::thread::sleep(Duration::from_millis(150));
                    let began = Instant::now();
                    drop(WorkerPass::load("python", &bytes, &pooled, &[], limits).unwrap());
                    began.elapsed()
                }),
                10e-3,
            );
            // Its first call of the host comes before the run is over.
            told("load and run it, over 5 nodes", rounds(|| run(&pooled, bench.small(), &bytes).1), 25e-3);
        }
        Err(_) => println!("no component of Python: scripts/setup.sh builds it"),
    }
}
