//! Many runs: the same bytes each time, no memory, descriptor, process or file left over.
//!
//! `AIRLOCK_RUNS=100000` makes many of them (in a release build, some minutes); `AIRLOCK_SHOW=1` shows what memory did.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::components::hostile;
use crate::e2e::{airlock, listing, model, text};
use crate::graphs::{content, editor};
use crate::sandbox_workers::{children, released, wait_for};
use airlock::contract::Limits;
use airlock::sandbox::worker::{WorkerPass, Workers};
use airlock::sandbox::{Engine, Job, Pass};

fn limits() -> Limits {
    Limits { fuel_base: 1_000_000, fuel_per_node: 0, host_bytes: 1 << 20, memory_bytes: 8 << 20, ..Limits::default() }
}

const AT_ONCE: usize = 8;
/// What is run in turn: it does nothing, edits and traps, logs, loops.
const PASSES: [&str; 4] = ["quiet", "edit_then_trap", "log_flood", "endless_run"];

/// KiB that this process has resident.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Makes that many runs, so many at once, and holds what is left over after the first twentieth against what is at the end.
fn many(runs: usize, what: &str, one: impl Fn(usize) + Sync) {
    let temporary = std::env::temp_dir();
    let first = (runs / 20).max(AT_ONCE * 4);
    let counted = || {
        // Threads that were joined are gone from the list a moment later.
        let own = || count("/proc/self/task");
        wait_for("threads are left", || (own() <= 3).then_some(()));
        // A worker whose run was ended is reaped a moment later.
        wait_for("processes are left", || children(std::process::id()).is_empty().then_some(()));
        (count("/proc/self/fd"), children(std::process::id()).len())
    };
    let all = |from: usize, to: usize| {
        let next = AtomicUsize::new(from);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= to {
                            return;
                        }
                        one(number);
                    }
                });
            }
        });
    };
    all(0, first);
    let (before, memory, files) = (counted(), resident(), listing(&temporary));
    all(first, runs);
    let (after, grown) = (counted(), resident());
    if std::env::var_os("AIRLOCK_SHOW").is_some() {
        println!("{what}: {runs} runs, {memory} KiB after {first} of them, {grown} at the end");
    }
    assert_eq!(after, before, "{what}: descriptors, processes");
    assert_eq!(listing(&temporary), files, "{what}: temporary files");
    // Each thread's allocator takes some MiB until it has what it needs.
    let settled = if runs >= 10_000 { 2048 } else { 16 << 10 };
    assert!(grown <= memory + memory / 20 + settled, "{what}: {memory} KiB became {grown}");
}

/// Runs this test in a process that does nothing else; returns whether this is that process.
fn is_alone(test: &str) -> bool {
    if std::env::args().any(|a| a == "many=alone") {
        return true;
    }
    let arguments = ["--exact", test, "--nocapture", "many=alone"];
    // Its temporary files are its own too.
    let folder = tempfile::tempdir().unwrap();
    let mut own = std::process::Command::new(std::env::current_exe().unwrap());
    let own = own.args(arguments).env("TMPDIR", folder.path()).output().unwrap();
    assert!(own.status.success(), "{}{}", text(&own.stdout), text(&own.stderr));
    print!("{}", text(&own.stdout));
    false
}

fn runs(by_default: usize) -> usize {
    std::env::var("AIRLOCK_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(by_default)
}

#[test]
fn many_runs_in_process_leave_nothing() {
    if !is_alone("sandbox_many::many_runs_in_process_leave_nothing") {
        return;
    }
    let limits = limits();
    let engine = Engine::new(&limits).unwrap();
    let passes = PASSES.map(|name| Pass::load(name, &hostile(name), &engine, &limits).unwrap());
    let expected = passes.each_ref().map(|pass| told(&pass.run(editor(), Job::default(), &limits)));
    many(runs(400), "in process", |number| {
        let at = number % passes.len();
        assert_eq!(told(&passes[at].run(editor(), Job::default(), &limits)), expected[at]);
    });
}

#[test]
fn many_runs_by_workers_leave_nothing() {
    if !is_alone("sandbox_many::many_runs_by_workers_leave_nothing") {
        return;
    }
    let limits = limits();
    let engine = Engine::new(&limits).unwrap();
    let bytes = PASSES.map(hostile);
    let expected = [0, 1, 2, 3].map(|at| {
        let pass = Pass::load(PASSES[at], &bytes[at], &engine, &limits).unwrap();
        told(&pass.run(editor(), Job::default(), &limits))
    });
    let workers = Workers::of(assert_cmd::cargo::cargo_bin("airlock"), ["worker"]);
    let loaded: Vec<_> = (0..AT_ONCE).map(|_| std::sync::Mutex::new(Vec::<WorkerPass>::new())).collect();
    drop(engine);
    many(runs(160), "by workers", |number| {
        let at = number % PASSES.len();
        // Compiled once for each that runs at once; each run has a worker of its own.
        let mut own = loaded[number % AT_ONCE].lock().unwrap();
        let position = own.iter().position(|p| p.label() == PASSES[at]).unwrap_or_else(|| {
            own.push(WorkerPass::load(PASSES[at], &bytes[at], &workers, &[], &limits).unwrap());
            own.len() - 1
        });
        let outcome = own[position].run(editor(), Job::default(), &limits);
        assert_eq!(told(&outcome), expected[at]);
    });
}

fn told(outcome: &airlock::sandbox::PassRun) -> String {
    let usage = airlock::sandbox::Usage { sandbox_ms: 0.0, ..outcome.usage };
    format!("{:?} {usage:?} {} {}", outcome.ended, outcome.log.len(), content(outcome.editor.graph()))
}

#[test]
fn twenty_runs_write_the_same_bytes_wherever_and_beside_whatever_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |number: usize, round: &str| {
        // An archive holds its own name.
        let out = folder.path().join(format!("{round}-{number}/out.pt2"));
        std::fs::create_dir(out.parent().unwrap()).unwrap();
        let mut command = airlock();
        command.args(["run", "--policy", "advisory", "-o"]).arg(&out).arg(model("llama_prefill_eager", "core"));
        command.arg("--pass").arg(released("dedup")).arg("--pass").arg(released("broken"));
        // Here and apart, cold and from the cache.
        command.args([["--no-cache"].as_slice(), &["--in-process"], &[]][number % 3]);
        let output = command.output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
        std::fs::read(out).unwrap()
    };
    let first = run(0, "alone");
    assert!((1..4).all(|number| run(number, "alone") == first), "one at a time");
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let number @ 0..16 = next.fetch_add(1, Ordering::Relaxed) {
                    assert!(run(number, "beside") == first, "run {number} of {AT_ONCE} at once");
                }
            });
        }
    });
}

#[test]
fn a_host_that_is_killed_at_any_time_leaves_no_process_and_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut workers = Vec::new();
    for number in 0..12_u64 {
        let mut host = std::process::Command::new(assert_cmd::cargo::cargo_bin("airlock"))
            .args(["run", "--no-cache", "--time", "50", "--fuel", "9000000000000000", "-o"])
            .arg(folder.path().join("out.pt2"))
            .arg(model("torchair_doc_model", "core"))
            .arg("--pass")
            .arg(released("endless"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(number * 23));
        workers.extend(children(host.id()));
        host.kill().unwrap();
        host.wait().unwrap();
    }
    assert!(!workers.is_empty());
    for worker in workers {
        let is_there = || std::fs::read_to_string(format!("/proc/{worker}/stat")).is_ok_and(|s| !s.contains(") Z "));
        wait_for("a worker lives", || (!is_there()).then_some(()));
    }
    assert_eq!(listing(folder.path()), [""; 0]);
}
