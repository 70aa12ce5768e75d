//! `airlock serve`: every job is answered with what the command line gives, whatever other clients and the system do meanwhile.
//!
//! `AIRLOCK_SERVE_JOBS=10000` makes many of them; `AIRLOCK_SHOW=1` shows what the server counted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde_json::{Value, json};

use crate::e2e::{airlock, file, model, text};
use crate::sandbox_workers::{children, released, strip, wait_for};

/// A server, and the folder that it has to itself.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let log = std::fs::File::create(at("log")).unwrap();
        std::fs::write(at("airlock.toml"), "[limits]\nfuel_base = 9000000000000000\n").unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin("airlock"))
            .arg("serve")
            .arg("--socket")
            .arg(at("socket"))
            .args(more)
            .env("XDG_CACHE_HOME", at("cache"))
            .env("XDG_STATE_HOME", at("state"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, folder };
        wait_for("nobody listens", || UnixStream::connect(server.at("socket")).is_ok().then_some(()));
        server
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self) -> Client {
        let stream = UnixStream::connect(self.at("socket")).unwrap();
        Client { lines: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    fn metrics(&self) -> Value {
        self.client().ask(&json!({"metrics": true})).unwrap()["metrics"].clone()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.at("log")).unwrap()
    }

    fn tell(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits for its end; returns its exit code.
    fn ended(mut self) -> Option<i32> {
        let code = wait_for("the server goes on", || self.child.try_wait().unwrap()).code();
        assert!(!self.at("socket").exists(), "the socket is still there");
        code
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Client {
    stream: UnixStream,
    lines: BufReader<UnixStream>,
}

impl Client {
    fn send(&mut self, asked: &Value) {
        self.stream.write_all(format!("{asked}\n").as_bytes()).unwrap();
    }

    /// Returns the next answer; none where the server has closed its end.
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        assert!(line.is_ascii(), "{line}");
        Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")))
    }

    fn ask(&mut self, asked: &Value) -> Option<Value> {
        self.send(asked);
        self.next()
    }
}

fn words(pass: &str, graph: &Path, out: &Path) -> Vec<String> {
    let pass = released(pass);
    let paths = [graph, Path::new("--pass"), &pass, Path::new("-o"), out];
    let mut words: Vec<String> = paths.iter().map(|p| p.to_str().unwrap().to_string()).collect();
    words.extend(["--policy", "advisory", "--fuel", "3000000"].map(str::to_string));
    words
}

/// A job, and what the command line makes of it: exit code, report, bytes.
struct Job {
    pass: &'static str,
    graph: PathBuf,
    exit: i64,
    report: Value,
    bytes: Vec<u8>,
}

impl Job {
    fn of(pass: &'static str, graph: PathBuf, folder: &Path) -> Self {
        // An archive holds its own name.
        let out = folder.join("reference").join(out_of(&graph));
        std::fs::create_dir_all(out.parent().unwrap()).unwrap();
        let output = airlock().args(["--format", "json", "run"]).args(words(pass, &graph, &out)).output().unwrap();
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
        let exit = i64::from(output.status.code().unwrap());
        Self { pass, exit, report: comparable(report), bytes: std::fs::read(&out).unwrap(), graph }
    }

    fn hold(&self, answer: &Value, out: &Path) {
        assert_eq!(answer["exit"], self.exit, "{}: {answer}", self.pass);
        assert_eq!(comparable(answer["report"].clone()), self.report, "{}", self.pass);
        assert!(std::fs::read(out).unwrap() == self.bytes, "{}: other bytes than the command line's", self.pass);
    }
}

fn out_of(graph: &Path) -> &'static str {
    if graph.extension().is_some_and(|e| e == "pt2") { "out.pt2" } else { "out.fx" }
}

/// A report without times and without where its outputs are.
fn comparable(mut report: Value) -> Value {
    strip(&mut report);
    report["outputs"]["model"] = Value::Null;
    report
}

fn jobs(folder: &Path) -> Vec<Job> {
    let small = file("tests/hostile/model.fx");
    vec![
        Job::of("dedup", small.clone(), folder),
        Job::of("broken", small.clone(), folder),
        Job::of("endless", small, folder),
        Job::of("add-rms-norm", model("add_rms_norm", "core"), folder),
    ]
}

/// A client that means no good: no jobs, half of one, jobs without an end, answers that it does not take.
fn hostile(server: &Server, is_over: &AtomicBool) {
    let endless = || {
        let mut words = words("endless", &file("tests/hostile/model.fx"), &server.at("hostile.fx"));
        words.truncate(5);
        words.extend(["--time", "0.3", "--fuel", "9000000000000000"].map(str::to_string));
        json!({ "run": words })
    };
    for turn in 0_u64.. {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        let mut client = server.client();
        match turn % 6 {
            0 => {
                let answer = client.ask(&json!({"run": ["--print-config"]})).unwrap();
                assert_eq!(answer["exit"], 2, "{answer}");
            }
            1 => {
                client.stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                assert!(client.next().unwrap()["error"].as_str().unwrap().contains("no job"));
            }
            2 => client.stream.write_all(b"{\"run\": [\"").unwrap(),
            // It goes away without its answer.
            3 => client.send(&endless()),
            4 => {
                let answer = client.ask(&endless()).unwrap();
                assert_eq!(answer["exit"], 3, "{answer}");
            }
            _ => {
                let _ = client.stream.write_all(&vec![b'x'; 2 << 20]);
                assert!(client.next().is_none_or(|a| a["exit"] == 2));
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills a worker of the server for each so many jobs.
fn killer(server: &Server, done: &AtomicUsize, one_in: usize, is_over: &AtomicBool) -> usize {
    let (mut killed, mut seed) = (0, 7_usize);
    while !is_over.load(Ordering::SeqCst) {
        if done.load(Ordering::SeqCst) / one_in > killed {
            let workers = children(server.child.id());
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if let Some(worker) = workers.get((seed >> 33) % workers.len().max(1)) {
                // It may have ended by itself.
                let _ = kill(Pid::from_raw(i32::try_from(*worker).unwrap()), Signal::SIGKILL);
                killed += 1;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    killed
}

#[test]
fn every_job_is_answered_as_the_command_line_does_whoever_kills_workers() {
    const CLIENTS: usize = 8;
    let all = std::env::var("AIRLOCK_SERVE_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(96);
    let one_in = if all > 1_000 { 50 } else { 8 };
    let server = Server::start(&["--jobs", "4"]);
    let jobs = jobs(server.folder.path());
    assert_eq!(jobs.iter().map(|j| j.exit).collect::<Vec<_>>(), [0, 1, 3, 0]);
    let (next, done, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let killed = std::thread::scope(|scope| {
        let (server, jobs, next, done, is_over) = (&server, &jobs, &next, &done, &is_over);
        let killer = scope.spawn(move || killer(server, done, one_in, is_over));
        scope.spawn(move || hostile(server, is_over));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn(move || {
                    let folder = server.at(&format!("client-{number}"));
                    std::fs::create_dir(&folder).unwrap();
                    let mut client = server.client();
                    loop {
                        let turn = next.fetch_add(1, Ordering::SeqCst);
                        if turn >= all {
                            return;
                        }
                        let job = &jobs[turn % jobs.len()];
                        let out = folder.join(out_of(&job.graph));
                        let answer = client.ask(&json!({"id": turn, "run": words(job.pass, &job.graph, &out)}));
                        let answer = answer.unwrap_or_else(|| panic!("job {turn} has no answer"));
                        assert_eq!(answer["id"], turn);
                        job.hold(&answer, &out);
                        std::fs::remove_file(&out).unwrap();
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let ends: Vec<_> = clients.into_iter().map(|c| c.join()).collect();
        is_over.store(true, Ordering::SeqCst);
        let killed = killer.join().unwrap();
        assert!(ends.iter().all(Result::is_ok), "{}", server.log());
        killed
    });
    let metrics = server.metrics();
    if std::env::var_os("AIRLOCK_SHOW").is_some() {
        println!("{all} jobs in {:?}, {killed} workers killed: {metrics}", began.elapsed());
    }
    assert!(killed > 0 && metrics["workers"]["killed"].as_u64().unwrap() > 0, "{killed} {metrics}");
    assert!(metrics["workers"]["pooled"].as_u64().unwrap() > 0, "{metrics}");
    for line in server.log().lines() {
        let told: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(told["level"].is_string() && told["message"].is_string(), "{line}");
    }
    server.tell(Signal::SIGTERM);
    assert_eq!(server.ended(), Some(0));
}

#[test]
fn a_server_that_is_told_to_end_answers_what_it_began() {
    let server = Server::start(&["--jobs", "4"]);
    let mut clients: Vec<Client> = (0..3).map(|_| server.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let out = server.at(&format!("out-{number}.fx"));
        let mut words = words("endless", &file("tests/hostile/model.fx"), &out);
        words.truncate(5);
        words.extend(["--time", "2", "--fuel", "9000000000000000"].map(str::to_string));
        client.send(&json!({"id": number, "run": words}));
        // One that is not begun before the first is answered.
        client.send(&json!({"id": "later", "run": words}));
    }
    wait_for("they are not begun", || (server.metrics()["jobs"]["begun"] == 3).then_some(()));
    let workers = children(server.child.id());
    assert!(!workers.is_empty());
    server.tell(Signal::SIGTERM);
    for (number, client) in clients.iter_mut().enumerate() {
        let answer = client.next().expect("an answer to what was begun");
        assert_eq!((&answer["id"], &answer["exit"]), (&json!(number), &json!(3)), "{answer}");
        assert_eq!(answer["report"]["passes"][0]["fault"]["kind"], "time");
        assert_eq!(client.next(), None, "what was not begun is not");
    }
    assert!(UnixStream::connect(server.at("socket")).is_err() || server.log().contains("draining"));
    assert_eq!(server.ended(), Some(0));
    for worker in workers {
        let is_there = || std::fs::read_to_string(format!("/proc/{worker}/stat")).is_ok_and(|s| s.contains("airlock"));
        wait_for("a worker lives", || (!is_there()).then_some(()));
    }
}

/// Sealed memory with these bytes.
fn memory(bytes: &[u8], seals: SealFlags) -> File {
    let memory = memfd_create("model", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    let mut memory = File::from(memory);
    memory.write_all(bytes).unwrap();
    fcntl_add_seals(&memory, seals).unwrap();
    memory
}

impl Client {
    /// Sends a job with descriptors; returns the answer and the outputs that came with it, by name.
    fn share(&mut self, asked: &Value, descriptors: &[File]) -> (Value, BTreeMap<String, File>) {
        let (line, descriptors) = (format!("{asked}\n"), descriptors.iter().map(File::as_fd).collect::<Vec<_>>());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(descriptors.is_empty() || control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let sent = sendmsg(&self.stream, &[IoSlice::new(line.as_bytes())], &mut control, SendFlags::empty()).unwrap();
        assert_eq!(sent, line.len());
        let (mut line, mut come) = (Vec::new(), Vec::new());
        while !line.ends_with(b"\n") {
            let mut chunk = [0; 100];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut into = [IoSliceMut::new(&mut chunk)];
            let got = recvmsg(&self.stream, &mut into, &mut control, RecvFlags::empty()).unwrap().bytes;
            assert!(got > 0, "no answer");
            line.extend_from_slice(&chunk[..got]);
            for message in control.drain() {
                let RecvAncillaryMessage::ScmRights(descriptors) = message else { panic!() };
                come.extend(descriptors.map(File::from));
            }
        }
        let answer: Value = serde_json::from_slice(&line).unwrap();
        let names = answer["shared"].as_array().cloned().unwrap_or_default();
        assert_eq!(names.len(), come.len(), "{answer}");
        (answer, names.iter().map(|name| name.as_str().unwrap().to_string()).zip(come).collect())
    }
}

fn content(mut file: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

const SEALED: SealFlags = SealFlags::SHRINK.union(SealFlags::WRITE);

#[test]
fn graphs_in_shared_memory_give_what_files_give() {
    let server = Server::start(&["--jobs", "2"]);
    let mut client = server.client();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    let run = |client: &mut Client, job: &Job| {
        let model = std::fs::read(&job.graph).unwrap();
        let out = out_of(&job.graph);
        let mut words = words(job.pass, Path::new("model"), Path::new(out));
        let (mut shared, mut come) = (vec!["model", out, "edits.jsonl"], vec!["edits.jsonl", out]);
        words.extend(["--edits", "edits.jsonl"].map(str::to_string));
        // The other graph has a sub-graph.
        if out == "out.pt2" {
            words.extend(["--lower", "graph.bin"].map(str::to_string));
            shared.push("graph.bin");
            come.extend(["graph.bin", "graph.bin.host.json", "graph.bin.options.json"]);
        }
        come.sort_unstable();
        let (answer, outputs) = client.share(&json!({"run": words, "shared": shared}), &[memory(&model, SEALED)]);
        assert_eq!(outputs.keys().collect::<Vec<_>>(), come, "{answer}");
        (answer, outputs)
    };
    let same = |mut report: Value| {
        report = comparable(report);
        report["model"] = Value::Null;
        report["outputs"] = Value::Null;
        report
    };
    let mut before = None;
    for job in jobs(server.folder.path()).iter().filter(|j| j.pass != "endless") {
        for _ in 0..8 {
            let (answer, outputs) = run(&mut client, job);
            assert_eq!(answer["exit"], job.exit, "{answer}");
            assert_eq!(same(answer["report"].clone()), same(job.report.clone()));
            assert!(content(&outputs[out_of(&job.graph)]) == job.bytes, "{}: other bytes than by files", job.pass);
            for output in outputs.values() {
                let seals = fcntl_get_seals(output).unwrap();
                assert!(seals.contains(SEALED | SealFlags::GROW | SealFlags::SEAL), "{seals:?}");
            }
        }
        // The pool starts workers meanwhile: what is held against is how many there are at least.
        let now = (0..50).map(|_| open()).min().unwrap();
        assert!(now <= *before.get_or_insert(now) + 32, "descriptors are left: {now} after {before:?}");
    }
    let listed = std::fs::read_dir(server.folder.path()).unwrap().map(|e| e.unwrap().file_name());
    let files: Vec<_> = listed.filter(|n| n != "reference" && n != "cache" && n != "state").collect();
    assert_eq!(files.len(), 3, "the socket, the log, the configuration: {files:?}");
}

#[test]
fn memory_that_may_change_and_descriptors_that_nobody_named_are_refused() {
    let server = Server::start(&["--jobs", "1"]);
    let mut client = server.client();
    let model = std::fs::read(file("tests/hostile/model.fx")).unwrap();
    let words = words("dedup", Path::new("model.fx"), Path::new("out.fx"));
    let (graph, outside) =
        (words[0].clone(), words.iter().map(|w| w.replace("out.fx", "/no/out.fx")).collect::<Vec<_>>());
    let sealed = || memory(&model, SEALED);
    let sparse = || {
        let memory = memory(&model, SealFlags::empty());
        memory.set_len(1 << 40).unwrap();
        fcntl_add_seals(&memory, SEALED).unwrap();
        memory
    };
    let file = || {
        std::fs::write(server.at("file.fx"), &model).unwrap();
        File::open(server.at("file.fx")).unwrap()
    };
    let both = json!(["model.fx", "out.fx"]);
    for (words, shared, descriptors, said) in [
        (&words, &both, vec![], "0 descriptors came with this job, 1 for its model was expected"),
        (&words, &both, vec![sealed(), sealed()], "2 descriptors came"),
        (&words, &json!(["out.fx"]), vec![sealed()], "1 descriptors came"),
        (&words, &json!(["out.fx"]), vec![], "model.fx: a job names files by absolute paths"),
        (&words, &json!(["model.fx"]), vec![sealed()], "out.fx: a job names files by absolute paths"),
        (&words, &json!(["model.fx", "out.fx", "else"]), vec![sealed()], "`else` in `shared`"),
        (&outside, &json!(["model.fx", "/no/out.fx"]), vec![sealed()], "`/no/out.fx` in `shared`"),
        (&words, &both, vec![memory(&model, SealFlags::empty())], "no sealed memory"),
        (&words, &both, vec![memory(&model, SealFlags::WRITE)], "no sealed memory"),
        (&words, &both, vec![file()], "no sealed memory"),
        (&words, &both, vec![File::open("/dev/null").unwrap()], "no sealed memory"),
        (&words, &both, vec![sparse()], "holes"),
        (&words, &both, vec![memory(b"", SEALED)], "model.fx"),
        (&words, &both, vec![memory(b"\xff no program", SEALED)], "model.fx"),
    ] {
        let (answer, outputs) = client.share(&json!({"id": 7, "run": words, "shared": shared}), &descriptors);
        assert!(answer["exit"] == 2 && outputs.is_empty() && answer["id"] == 7, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(said), "{said}: {answer}");
    }
    // The same connection goes on, and what a client does to its memory afterwards nobody sees.
    let (answer, outputs) = client.share(&json!({"run": words, "shared": both}), &[sealed()]);
    assert_eq!((&answer["exit"], &answer["report"]["model"]), (&json!(0), &json!(graph)), "{answer}");
    assert!(content(&outputs["out.fx"]).starts_with(b"class GraphModule"));
}

#[test]
fn what_is_no_job_is_answered_with_what_is_wrong() {
    let server = Server::start(&["--jobs", "1", "--client-connections", "3"]);
    let mut client = server.client();
    let out = server.at("out.fx");
    let (graph, out) = (file("tests/hostile/model.fx"), out.to_str().unwrap().to_string());
    let graph = graph.to_str().unwrap();
    let pass = released("dedup");
    let pass = pass.to_str().unwrap();
    for (asked, said) in [
        (json!({"id": 1}), "neither `run` nor `metrics`"),
        (json!({"id": 1, "run": [], "else": 1}), "unknown field `else`"),
        (json!({"id": 1, "run": ["--no-such"]}), "unexpected argument"),
        (json!({"id": 1, "run": ["model.fx", "--pass", pass, "-o", out]}), "absolute paths"),
        (json!({"id": 1, "run": ["-", "--pass", pass, "-o", out]}), "absolute paths"),
        (json!({"id": 1, "run": [graph, "--pass", pass, "-o", "-"]}), "absolute paths"),
        (json!({"id": 1, "run": [graph, "--pass", pass, "-o", out, "--in-process"]}), "runs in workers"),
        (
            json!({"id": 1, "run": [graph, "--pass", pass, "-o", out, "--memory", "99999999999"]}),
            "more than this server allows",
        ),
        (json!({"id": 1, "run": [graph, "--pass", "/no/such.wasm", "-o", out]}), "/no/such.wasm"),
        (json!({"id": 1, "run": ["/no/such.fx", "--pass", pass, "-o", out]}), "/no/such.fx"),
    ] {
        let answer = client.ask(&asked).unwrap();
        assert_eq!(answer["exit"], 2, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(said), "{said}: {answer}");
    }
    // The same connection goes on.
    let answer = client.ask(&json!({"id": {"any": "thing"}, "run": [graph, "--pass", pass, "-o", out]})).unwrap();
    assert_eq!((&answer["id"], &answer["exit"]), (&json!({"any": "thing"}), &json!(0)), "{answer}");
    let mut more: Vec<Client> = (0..3).map(|_| server.client()).collect();
    assert!(more[2].next().unwrap()["error"].as_str().unwrap().contains("too many connections"));
    let second = Command::new(assert_cmd::cargo::cargo_bin("airlock"))
        .arg("serve")
        .arg("--socket")
        .arg(server.at("socket"))
        .output();
    assert!(text(&second.unwrap().stderr).contains("somebody listens there already"));
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(server.at("socket")).unwrap().permissions().mode() & 0o777, 0o600);
    server.tell(Signal::SIGINT);
    assert_eq!(server.ended(), Some(0));
}
