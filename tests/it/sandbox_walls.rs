//! Workers with holes: whatever a worker does once something of a component has taken it over, the host lives, the graph is as it was, and
//! what is said names the cause.
//!
//! No hole is shipped: this binary is the worker. It is started as [`a_worker_with_a_hole`] with the name of the hole, and does all that
//! `airlock worker` does, but for that hole.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::components::hostile;
use crate::e2e::file;
use crate::graphs::{content, editor};
use airlock::contract::Limits;
use airlock::sandbox::worker::{Step, Stream, WorkerPass, Workers, enter};
use airlock::sandbox::{Ended, FaultKind, Job};

/// What a hole does, by its name. It is everything that the process does from then on.
fn fall_into(hole: &str, mut stream: &std::fs::File) {
    let head = |len: u64| [b"ALW4", &len.to_le_bytes()[..]].concat();
    match hole {
        "opens-a-file" => drop(std::fs::File::open("/etc/passwd")),
        "writes-a-file" => drop(std::fs::write("/tmp/airlock-was-here", "x")),
        "removes-a-file" => drop(std::fs::remove_file("/tmp/airlock-was-here")),
        "lists-a-folder" => drop(std::fs::read_dir("/")),
        "opens-a-socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
        "connects" => drop(std::net::TcpStream::connect("127.0.0.1:80")),
        "pairs-sockets" => drop(std::os::unix::net::UnixStream::pair()),
        "starts-a-process" => drop(std::process::Command::new("/bin/true").spawn()),
        "starts-a-thread" => drop(std::thread::Builder::new().spawn(|| {})),
        "kills-its-host" => drop(nix::sys::signal::kill(nix::unistd::getppid(), nix::sys::signal::Signal::SIGKILL)),
        "leaves-its-namespaces" => drop(nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER)),
        "raises-its-limits" => {
            let raised = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 100, 100);
            panic!("limits: {raised:?}");
        }
        "aborts" => std::process::abort(),
        "panics" => panic!("a hole"),
        "exits" => std::process::exit(0),
        "exits-with-3" => std::process::exit(3),
        "overflows-its-stack" => drop(deep(0)),
        "fills-memory" => {
            let mut kept = Vec::new();
            loop {
                kept.push(vec![1_u8; 64 << 20]);
                std::hint::black_box(&kept);
            }
        }
        "spins" => loop {
            std::hint::spin_loop();
        },
        "is-silent" => {}
        "floods-its-last-words" => loop {
            eprintln!("{}", "\u{1b}[31m lies ".repeat(100));
        },
        "sends-garbage" => stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap(),
        "sends-a-huge-length" => stream.write_all(&head(u64::MAX)).unwrap(),
        "sends-half-a-message" => stream.write_all(&[&head(1000)[..], b"half"].concat()).unwrap(),
        "sends-no-message" => stream.write_all(&[&head(3)[..], &[200, 1, 1]].concat()).unwrap(),
        "speaks-out-of-turn" => stream.write_all(&[&head(1)[..], &[2]].concat()).unwrap(),
        "asks-for-weights" => stream.write_all(&[&head(4)[..], &[5, 1, 0, 9]].concat()).unwrap(),
        "floods-its-host" => loop {
            stream.write_all(&[0; 1 << 16]).unwrap();
        },
        other => panic!("no hole {other}"),
    }
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[allow(unconditional_recursion)]
fn deep(n: u64) -> u64 {
    let room = [n; 1000];
    std::hint::black_box(&room);
    deep(n + 1) + room[7]
}

/// Not a promise but a worker: it is one when it is started with `hole=NAME@STEP`.
#[test]
fn a_worker_with_a_hole() {
    let Some(hole) = std::env::args().find_map(|a| Some(a.strip_prefix("hole=")?.to_string())) else { return };
    let (hole, step) = hole.split_once('@').unwrap();
    let at = |found: Step, stream: &Stream| {
        if format!("{found:?}") == step {
            fall_into(hole, stream);
        }
    };
    std::process::exit(i32::from(enter(at).is_err()));
}

fn workers(hole: &str, step: Step) -> Workers {
    let arguments = ["--exact", "sandbox_walls::a_worker_with_a_hole", "--nocapture", "--test-threads", "1"];
    let arguments = arguments.map(str::to_string).into_iter().chain([format!("hole={hole}@{step:?}")]);
    let mut workers = Workers::of(std::env::current_exe().unwrap(), arguments);
    workers.grace = Duration::from_secs(3);
    workers
}

fn limits() -> Limits {
    Limits { time_seconds: 2.0, memory_bytes: 64 << 20, host_bytes: 16 << 20, ..Limits::default() }
}

/// Loads, describes and runs a pass by workers with that hole; returns what was said where it ended, and of which kind it is.
fn ended(hole: &str, step: Step) -> (String, Option<FaultKind>) {
    let (workers, limits) = (workers(hole, step), limits());
    let bytes = std::fs::read(file("tests/components/released-0.1.0/dedup.wasm")).unwrap();
    let mut pass = match WorkerPass::load("dedup", &bytes, &workers, &[], &limits) {
        Ok(pass) => pass,
        Err(error) => return (error.to_string(), None),
    };
    if let Err(fault) = pass.describe(&limits) {
        return (fault.to_string(), Some(fault.kind));
    }
    let editor = editor();
    let before = content(editor.graph());
    let outcome = pass.run(editor, Job::default(), &limits);
    assert_eq!(content(outcome.editor.graph()), before, "{hole} at {step:?}: the graph is not as it was");
    assert!(outcome.editor.changes().is_empty());
    match outcome.ended {
        Ended::Faulted(fault) => (fault.to_string(), Some(fault.kind)),
        other => panic!("{hole} at {step:?}: no fault but {other:?}"),
    }
}

const SYSCALL: &str = "a system call that no worker makes (signal SIGSYS)";

/// The hole, what is said of it, and the kind of fault that it is.
const HOLES: &[(&str, &str, FaultKind)] = &[
    ("opens-a-file", SYSCALL, FaultKind::Worker),
    ("writes-a-file", SYSCALL, FaultKind::Worker),
    ("removes-a-file", SYSCALL, FaultKind::Worker),
    ("lists-a-folder", SYSCALL, FaultKind::Worker),
    ("opens-a-socket", SYSCALL, FaultKind::Worker),
    ("connects", SYSCALL, FaultKind::Worker),
    ("pairs-sockets", SYSCALL, FaultKind::Worker),
    ("starts-a-process", SYSCALL, FaultKind::Worker),
    ("starts-a-thread", SYSCALL, FaultKind::Worker),
    ("kills-its-host", SYSCALL, FaultKind::Worker),
    ("leaves-its-namespaces", SYSCALL, FaultKind::Worker),
    ("raises-its-limits", "limits: Err(EPERM)", FaultKind::Worker),
    ("aborts", "it crashed (signal SIGABRT)", FaultKind::Worker),
    ("panics", "a hole", FaultKind::Worker),
    ("exits", "exit code 0", FaultKind::Worker),
    ("exits-with-3", "exit code 3", FaultKind::Worker),
    ("overflows-its-stack", "has overflowed its stack", FaultKind::Worker),
    ("fills-memory", "MiB of memory that it had", FaultKind::HostLimit),
    ("is-silent", "said nothing in its time", FaultKind::Time),
    ("floods-its-last-words", "lies \\u{1b}[31m lies", FaultKind::Time),
    ("sends-garbage", "does not answer as a worker does: it begins with", FaultKind::Worker),
    ("sends-a-huge-length", "18446744073709551615 bytes, at most", FaultKind::Worker),
    ("sends-half-a-message", "said nothing in its time", FaultKind::Time),
    ("sends-no-message", "does not answer as a worker does", FaultKind::Worker),
    ("speaks-out-of-turn", "`Loaded` out of turn", FaultKind::Worker),
    ("asks-for-weights", "`Weights` out of turn", FaultKind::Worker),
    ("floods-its-host", "does not answer as a worker does", FaultKind::Worker),
];

#[test]
fn a_hole_in_a_run_is_a_fault_that_names_its_cause() {
    for (hole, said, kind) in HOLES {
        let started = Instant::now();
        let (found, of_kind) = ended(hole, Step::Running);
        assert!(found.contains(said), "{hole}: {found}");
        assert_eq!(of_kind, Some(*kind), "{hole}: {found}");
        assert!(found.contains("in `run`"), "{hole}: {found}");
        assert!(found.len() < 1_000 && found.is_ascii() && !found.contains('\u{1b}'), "{hole}: {found}");
        assert!(started.elapsed() < Duration::from_secs(30), "{hole}: {:?}", started.elapsed());
    }
    assert!(!std::path::Path::new("/tmp/airlock-was-here").exists());
}

#[test]
fn a_worker_that_spins_is_killed() {
    let (found, kind) = ended("spins", Step::Running);
    assert!(kind == Some(FaultKind::Time) && found.contains("said nothing in its time"), "{found}");
}

#[test]
fn a_worker_may_fall_at_any_step() {
    use Step::{Beginning, Begun, Compiling, Describing, Loading, Ran, Running};
    for step in [Beginning, Begun, Compiling, Loading, Describing, Running, Ran] {
        for (hole, said) in
            [("aborts", "signal SIGABRT"), ("exits", "exit code 0"), ("sends-garbage", "does not answer")]
        {
            let (found, kind) = ended(hole, step);
            assert!(found.contains(said), "{hole} at {step:?}: {found}");
            assert_eq!(kind.is_none(), [Beginning, Begun, Compiling, Loading].contains(&step), "{found}");
        }
    }
}

#[test]
fn a_compiler_that_opens_a_file_is_killed() {
    for step in [Step::Begun, Step::Compiling, Step::Loading] {
        let (found, _) = ended("opens-a-file", step);
        assert!(found.contains("dedup: cannot be loaded") && found.contains(SYSCALL), "{step:?}: {found}");
    }
}

#[test]
fn a_program_that_is_no_worker_is_none() {
    let bytes = hostile("quiet");
    for (program, said) in [("/bin/true", "exit code 0"), ("/no/such/program", "no process")] {
        let workers = Workers::of(program, ["worker"]);
        let error = WorkerPass::load("quiet", &bytes, &workers, &[], &limits()).unwrap_err().to_string();
        assert!(error.contains(said), "{program}: {error}");
    }
}
