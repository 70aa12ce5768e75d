//! A pass that workers run does what it does in process: the same bytes, the same faults.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::components::hostile;
use crate::e2e::{airlock, file, json, model, text};
use crate::graphs::{self, content, editor};
use airlock::contract::Limits;
use airlock::editor::Editor;
use airlock::ops::Registry;
use airlock::sandbox::worker::{WorkerPass, Workers};
use airlock::sandbox::{Ended, Engine, Job, Pass, PassRun};

fn workers() -> Workers {
    Workers::of(assert_cmd::cargo::cargo_bin("airlock"), ["worker"])
}

fn limits() -> Limits {
    Limits { fuel_base: 50_000_000, fuel_per_node: 0, time_seconds: 60.0, ..Limits::default() }
}

/// Everything of an outcome that may be compared: how long it took may not.
fn told(outcome: &PassRun) -> String {
    let PassRun { editor, ended, usage, log, log_dropped } = outcome;
    let usage = airlock::sandbox::Usage { sandbox_ms: 0.0, ..*usage };
    format!("{ended:?}\n{usage:?}\n{log:?} {log_dropped}\n{:?}\n{}", editor.changes(), content(editor.graph()))
}

fn both(name: &str, bytes: &[u8], limits: &Limits, editor: impl Fn() -> Editor) -> [String; 2] {
    let engine = Engine::new(limits).unwrap();
    let here = Pass::load(name, bytes, &engine, limits).unwrap();
    let mut apart = WorkerPass::load(name, bytes, &workers(), &[], limits).unwrap();
    let described = [here.describe(limits), apart.describe(limits)];
    let job = || Job { config: "c".into(), stage: "pre".into(), mode: "max-autotune".into(), ..Job::default() };
    let ran = [here.run(editor(), job(), limits), apart.run(editor(), job(), limits)];
    let [a, b] = [0, 1].map(|i| format!("{:?}\n{}", described[i], told(&ran[i])));
    [a, b]
}

#[test]
fn every_hostile_component_ends_as_in_process() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/components");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "wat"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() > 20);
    let limits = Limits { memory_bytes: 96 << 20, host_bytes: 1 << 20, ..limits() };
    // Time ends one of them, after another number of calls each time.
    for name in names.into_iter().filter(|name| name != "endless_effects") {
        let [here, apart] = both(&name, &hostile(&name), &limits, editor);
        assert_eq!(here, apart, "{name}");
    }
}

pub fn released(name: &str) -> PathBuf {
    file(&format!("tests/components/released-0.1.0/{name}.wasm"))
}

#[test]
fn a_large_graph_comes_back_with_the_same_ids_and_names() {
    let bytes = std::fs::read(released("dedup")).unwrap();
    let graph = || Editor::new(graphs::twins(5_000), Arc::new(Registry::standard()));
    let [here, apart] = both("dedup", &bytes, &Limits::default(), graph);
    assert!(here.contains("Changed"), "{here:.300}");
    assert_eq!(here, apart);
}

#[test]
fn weights_are_given_where_they_are_granted_and_nowhere_else() {
    use airlock::graph::{Bytes, Device, Dtype, InputKind, InputSpec, Signature, TensorType, Weight, Weights};
    use airlock::sym::Dim;
    let ty = TensorType::new(Dtype::F32, [Dim::Fixed(2), Dim::Fixed(3)], Device::cpu());
    let mut weights = Weights::default();
    weights.state.insert("w".into(), Weight { ty, storage: "s".into(), is_param: true });
    weights.storages.insert("s".into(), Bytes::new(*b"weights of a model are!!"));
    let graph = || {
        let mut g = graphs::chain(3);
        let input =
            InputSpec { kind: InputKind::Parameter, name: "x".into(), target: Some("w".into()), persistent: None };
        g.signature = Some(Signature { inputs: vec![input], outputs: Vec::new() });
        Editor::new(g, Arc::new(Registry::standard()))
    };
    let (limits, bytes) = (limits(), hostile("weights"));
    let engine = Engine::new(&limits).unwrap();
    let here = Pass::load("weights", &bytes, &engine, &limits).unwrap();
    let mut apart = WorkerPass::load("weights", &bytes, &workers(), &[], &limits).unwrap();
    for (constants, said) in [(Some(Arc::new(weights)), "hts of a"), (None, "needs the grant `constants`")] {
        let job = || Job { constants: constants.clone(), ..Job::default() };
        let [a, b] = [here.run(graph(), job(), &limits), apart.run(graph(), job(), &limits)];
        assert_eq!(told(&a), told(&b));
        assert_eq!(b.log.len(), 3);
        assert!(b.log[0].text.contains(said), "{:?}", b.log);
        let none = if constants.is_some() { "is no parameter" } else { said };
        assert!(b.log[1].text.contains(none), "{:?}", b.log);
    }
}

#[test]
fn a_second_run_has_a_worker_of_its_own() {
    let limits = limits();
    let mut pass = WorkerPass::load("trap", &hostile("edit_then_trap"), &workers(), &[], &limits).unwrap();
    let mut editor = editor();
    let before = content(editor.graph());
    for _ in 0..3 {
        let outcome = pass.run(editor, Job::default(), &limits);
        assert!(matches!(outcome.ended, Ended::Faulted(_)), "{:?}", outcome.ended);
        editor = outcome.editor;
        assert_eq!(content(editor.graph()), before);
    }
}

/// Components and model. Where one follows another it meets slots, names and symbols that the first left behind.
const RUNS: &[(&[&str], &str)] = &[
    (&["add-rms-norm"], "add_rms_norm"),
    (&["broken"], "torchair_doc_model"),
    (&["dedup", "broken", "add-rms-norm", "dedup"], "llama_prefill_eager"),
    (&["dedup"], "cond_while"),
    (&["dedup"], "dynamic_batch"),
    (&["stream-split", "endless", "stream-split"], "torchair_doc_model"),
];

#[test]
fn the_command_writes_the_same_bytes_with_workers_and_without() {
    let folder = tempfile::tempdir().unwrap();
    for (passes, graph) in RUNS {
        let run = |more: &[&str]| {
            let out = folder.path().join("out.pt2");
            let mut command = airlock();
            command.args(["run", "--format", "json", "--policy", "advisory", "--fuel", "10000000"]).args(more);
            command.arg(model(graph, "core")).arg("-o").arg(&out);
            for (position, pass) in passes.iter().enumerate() {
                let stage = if position == 0 { "pre" } else { "post" };
                command.arg("--pass").arg(format!("{}@{stage}", released(pass).display()));
            }
            let output = command.output().unwrap();
            let mut report = json(&output);
            assert_eq!(report["passes"].as_array().map(Vec::len), Some(passes.len()), "{}", text(&output.stderr));
            strip(&mut report);
            (std::fs::read(out).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr))), report)
        };
        let (here, told_here) = run(&["--in-process"]);
        for _ in 0..2 {
            // The second time from the cache.
            let (apart, told_apart) = run(&[]);
            assert!(here == apart, "{passes:?} over {graph}: other bytes");
            assert_eq!(told_here, told_apart, "{passes:?} over {graph}");
        }
    }
}

#[test]
fn compiled_passes_are_kept_listed_and_let_go_of() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, state, out) = (folder.path().join("c"), folder.path().join("s"), folder.path().join("out.fx"));
    let command = |arguments: &[&str]| {
        let mut command = airlock();
        command.args(["--format", "json"]).args(arguments).env("XDG_CACHE_HOME", &cache).env("XDG_STATE_HOME", &state);
        command
    };
    let run = |more: &[&str]| {
        let mut command = command(&["run", "--no-builtin", "-o", out.to_str().unwrap()]);
        let output =
            command.args(more).arg(model("dynamic_batch", "core")).arg("--pass").arg(released("dedup")).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (std::fs::read(&out).unwrap(), text(&output.stderr))
    };
    let list = || json(&command(&["cache"]).output().unwrap());
    let (cold, _) = run(&["--no-cache"]);
    assert!(!cache.exists());
    assert_eq!(run(&[]).0, cold);
    let listed = list();
    assert_eq!((listed["entries"].as_array().unwrap().len(), &listed["entries"][0]["pass"]), (1, &"dedup".into()));
    assert_eq!(run(&[]).0, cold);
    assert_eq!(list(), listed);

    // Bytes of somebody else's are let go of, and compiled anew.
    let entry = cache.join("airlock/artifacts").join(listed["entries"][0]["name"].as_str().unwrap());
    let good = std::fs::read(&entry).unwrap();
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    std::fs::write(&entry, &bad).unwrap();
    assert_eq!(run(&[]).0, cold);
    assert!(std::fs::read(&entry).unwrap() == good, "compiling twice gives the same bytes");

    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(cache.join("airlock/artifacts"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (same, warned) = run(&[]);
    assert!(
        same == cold && warned.contains("compiled passes are not kept") && warned.contains("chmod 700"),
        "{warned}"
    );
    std::fs::set_permissions(cache.join("airlock/artifacts"), std::fs::Permissions::from_mode(0o700)).unwrap();

    assert_eq!(json(&command(&["cache", "clear"]).output().unwrap())["removed"], 1);
    assert_eq!(list()["entries"].as_array().unwrap().len(), 0);
}

#[test]
fn eight_runs_at_once_on_one_empty_cache_write_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let run = |n: usize| {
        // An archive holds its own name.
        let out = folder.path().join(format!("{n}/out.pt2"));
        std::fs::create_dir(out.parent().unwrap()).unwrap();
        let mut command = airlock();
        command.env("XDG_CACHE_HOME", folder.path().join("c")).env("XDG_STATE_HOME", folder.path().join("s"));
        command.args(["run", "-o"]).arg(&out).arg(model("llama_prefill_eager", "core"));
        let output = command.arg("--pass").arg(released("dedup")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        std::fs::read(out).unwrap()
    };
    let first = run(100);
    std::fs::remove_dir_all(folder.path().join("c")).unwrap();
    let run = &run;
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..8).map(|n| scope.spawn(move || (0..2).map(|i| run(n * 10 + i)).collect::<Vec<_>>())).collect();
        for bytes in runs.into_iter().flat_map(|r| r.join().unwrap()) {
            assert!(bytes == first);
        }
    });
}

/// The processes that a process started.
pub fn children(of: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{of}/task")) else { return Vec::new() };
    let lists = threads.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<_>>()).collect()
}

pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn no_worker_outlives_a_host_that_is_killed() {
    let program = assert_cmd::cargo::cargo_bin("airlock");
    let mut host = std::process::Command::new(program)
        .args(["run", "--no-cache", "--time", "50", "--fuel", "9000000000000000"])
        .arg(model("torchair_doc_model", "core"))
        .arg("--pass")
        .arg(released("endless"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // One that compiles is gone soon; the one that runs spins.
    let spins = |n: &u32| std::fs::read_to_string(format!("/proc/{n}/task/{n}/comm")).is_ok() && time_of(*n) > 50;
    let worker = wait_for("no worker", || children(host.id()).into_iter().find(spins));
    host.kill().unwrap();
    host.wait().unwrap();
    wait_for("the worker lives", || (!is_alive(worker)).then_some(()));
}

/// Processor time of a process, in hundredths of a second.
fn time_of(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().nth(11).and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn is_alive(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn nothing_is_left_behind_by_many_runs() {
    // Other tests of this process start workers too: what is counted here is of one that does nothing else.
    let Some(rounds) = std::env::args().find_map(|a| a.strip_prefix("rounds=")?.parse::<usize>().ok()) else {
        let arguments = ["--exact", "sandbox_workers::nothing_is_left_behind_by_many_runs", "--nocapture", "rounds=40"];
        let own = std::process::Command::new(std::env::current_exe().unwrap()).args(arguments).output().unwrap();
        assert!(own.status.success(), "{}{}", text(&own.stdout), text(&own.stderr));
        assert!(text(&own.stdout).contains("nothing was left"), "{}", text(&own.stdout));
        return;
    };
    let limits = limits();
    let counted = || {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        (descriptors, threads, children(std::process::id()).len())
    };
    let bytes = ["quiet", "trap", "endless_run"].map(hostile);
    let round = || {
        for bytes in &bytes {
            let mut pass = WorkerPass::load("p", bytes, &workers(), &[], &limits).unwrap();
            pass.describe(&limits).unwrap();
            drop(pass.run(editor(), Job::default(), &limits));
        }
    };
    round();
    let before = counted();
    (0..rounds).for_each(|_| round());
    // What was joined or reaped is gone from the lists a moment later.
    let none_more = |now: (usize, usize, usize)| now.0 <= before.0 && now.1 <= before.1 && now.2 <= before.2;
    wait_for("descriptors, threads or processes are left", || none_more(counted()).then_some(()));
    println!("nothing was left");
}

/// Takes times out of a report.
pub fn strip(report: &mut serde_json::Value) {
    match report {
        serde_json::Value::Object(entries) => {
            entries.retain(|key, _| key != "ms" && !key.ends_with("_ms"));
            entries.values_mut().for_each(strip);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

#[test]
fn the_walls_of_this_machine_are_told() {
    let output = airlock().args(["inspect", "--host", "--format", "json"]).output().unwrap();
    let told = json(&output);
    let wall = |name: &str| told["walls"].as_array().unwrap().iter().find(|w| w["name"] == name).cloned();
    assert_eq!(told["kind"], "host");
    for name in ["seccomp", "rlimits", "privileges", "dumpable", "death", "descriptors"] {
        assert_eq!(wall(name).unwrap()["stands"], true, "{told}");
    }
    // Containers may have none of these.
    assert!(wall("landlock").is_some() && wall("namespaces").is_some());
}
