//! Playing one attack: the command as a user runs it, what it leaves behind, its time and memory.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Attack, Ends};
use crate::components::component;
use crate::e2e::file;

/// Limits of every attack, so that each ends soon.
const LIMITS: &str = "fuel_base = 5000000\nfuel_per_node = 0\ntime_seconds = 15.0\nmemory_bytes = 67108864\n\
                      host_bytes = 4194304\nlog_lines = 50\nmessage_chars = 200\n";

/// What came of an attack.
pub struct Found {
    /// As the table says it.
    pub ended: String,
    /// What was not as it must be.
    pub wrong: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    /// The most that a process of it took.
    pub mebibytes: u64,
}

/// The model, and what a pass that does nothing leaves of it.
pub struct Field {
    model: PathBuf,
    original: Vec<u8>,
}

/// One run of the command.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    written: Option<Vec<u8>>,
    left: Vec<String>,
    seconds: f64,
    mebibytes: u64,
}

impl Field {
    pub fn new() -> Self {
        let mut field = Self { model: file("tests/hostile/model.fx"), original: Vec::new() };
        let quiet = Attack::new(super::LIVES, "quiet", "nothing", "unchanged", component(""));
        let ran = field.run(&quiet);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        field.original = ran.written.expect("the model as it was");
        field
    }

    pub fn play(&self, attack: &Attack) -> Found {
        let ran = self.run(attack);
        let report: Option<serde_json::Value> = serde_json::from_str(&ran.stdout).ok();
        let how = how(ran.code, report.as_ref());
        let mut wrong = Vec::new();
        let mut check = |holds: bool, what: String| {
            if !holds {
                wrong.push(what);
            }
        };
        let Ends { how: expected, says } = &attack.ends;
        check(how == *expected, format!("ends as `{how}`, not as `{expected}`"));
        let said = format!("{}\n{}", ran.stdout, ran.stderr);
        check(said.contains(says.as_str()), format!("does not say `{says}` but {}", told(&ran, report.as_ref())));
        let is_plain = |text: &[u8]| text.iter().all(|b| matches!(b, b' '..=b'~' | b'\n'));
        check(is_plain(said.as_bytes()), "what is said is not printable".into());
        match expected.as_str() {
            "refused" => check(ran.written.is_none(), "something was written".into()),
            "accepted" => {
                let written = ran.written.as_deref().unwrap_or_default();
                check(
                    written != self.original && is_harmless(written),
                    "what was written is not harmless, or as it was".into(),
                );
                check(reads(written), "what was written does not read".into());
            }
            _ => check(ran.written.as_ref() == Some(&self.original), "the graph is not as it was".into()),
        }
        check(ran.left.is_empty(), format!("left behind: {:?}", ran.left));
        check(ran.seconds <= attack.seconds as f64, format!("{:.1} s", ran.seconds));
        check(ran.mebibytes <= attack.mebibytes, format!("{} MiB", ran.mebibytes));
        Found { ended: how, wrong, seconds: ran.seconds, mebibytes: ran.mebibytes }
    }

    fn run(&self, attack: &Attack) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("pass.wasm"), &attack.bytes).unwrap();
        std::fs::write(at("airlock.toml"), format!("[limits]\n{}", limits(&attack.limits))).unwrap();
        let (stdout, stderr) = (at("stdout"), at("stderr"));
        let started = Instant::now();
        let child = Command::new(assert_cmd::cargo::cargo_bin("airlock"))
            .args(["--no-progress", "--format", "json", "run", "--no-builtin", "--no-cache", "-o", "out.fx"])
            .args(["--pass", "pass.wasm"])
            .args(&attack.more)
            .arg(&self.model)
            .env("NO_COLOR", "1")
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&stdout).unwrap())
            .stderr(std::fs::File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        let (code, mebibytes) = ended(child, Duration::from_secs(attack.seconds.saturating_mul(2)));
        let seconds = started.elapsed().as_secs_f64();
        let text = |path: &Path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let own = ["pass.wasm", "airlock.toml", "stdout", "stderr", "out.fx"];
        let mut left = crate::e2e::listing(folder.path());
        left.retain(|name| !own.contains(&name.as_str()));
        let (stdout, stderr) = (text(&stdout), text(&stderr));
        Ran { code, stdout, stderr, written: std::fs::read(at("out.fx")).ok(), left, seconds, mebibytes }
    }
}

/// The limits of all, but for those that are stated of one.
fn limits(own: &str) -> String {
    let key = |line: &str| line.split(" = ").next().unwrap_or_default().to_string();
    let stated: Vec<String> = own.lines().map(key).collect();
    let mut text: String = LIMITS.lines().filter(|l| !stated.contains(&key(l))).map(|l| format!("{l}\n")).collect();
    text.push_str(own);
    text
}

/// Waits for a process; returns its exit code, none where a signal ended it, and the MiB that it or one of its children took at most.
#[allow(unsafe_code)]
fn ended(child: Child, at_most: Duration) -> (Option<i32>, u64) {
    let started = Instant::now();
    let id = i32::try_from(child.id()).unwrap();
    loop {
        let mut status = 0;
        // SAFETY: both are plain data that the call fills; the process is a child of this one that nobody else waits for.
        let (gone, used) = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            (libc::wait4(id, &mut status, libc::WNOHANG, &mut used), used)
        };
        assert!(gone >= 0, "waiting for it failed");
        if gone == id {
            let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            return (code, u64::try_from(used.ru_maxrss).unwrap() >> 10);
        }
        if started.elapsed() > at_most {
            // It is waited for in the next turn: it cannot refuse.
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// How the command ended, in the words of [`Ends`].
fn how(code: Option<i32>, report: Option<&serde_json::Value>) -> String {
    let pass = report.map(|r| &r["passes"][0]);
    match (code, pass) {
        (Some(2), None) => "refused".into(),
        (Some(3), Some(pass)) if pass["outcome"] == "faulted" => {
            let word = |key: &str| pass["fault"][key].as_str().unwrap_or_default().to_string();
            format!("fault {} in {}", word("kind"), word("function"))
        }
        (Some(1), Some(pass)) if pass["outcome"] == "refused" => "judged".into(),
        (Some(0), Some(pass)) => pass["outcome"].as_str().unwrap_or_default().into(),
        (code, _) => format!("exit {code:?}"),
    }
}

/// What matters of what was said.
fn told(ran: &Ran, report: Option<&serde_json::Value>) -> String {
    let Some(pass) = report.map(|r| &r["passes"][0]) else { return format!("{:.600}", ran.stderr) };
    format!(
        "{:.600}",
        format!("{} {} {} {}", pass["fault"]["message"], pass["verdict"]["reason"], pass["log"], pass["note"])
    )
}

/// Letters of any script may stand in comments, as PyTorch prints them; nothing that moves, hides or ends a line may.
fn is_harmless(written: &[u8]) -> bool {
    let is_harmless = |c: char| matches!(c, ' '..='~' | '\n') || c.is_alphanumeric();
    std::str::from_utf8(written).is_ok_and(|text| text.chars().all(is_harmless))
}

fn reads(written: &[u8]) -> bool {
    let options = airlock::formats::text::ReadOptions::default();
    let Ok(mut graph) = airlock::formats::text::read_bytes(written, &options) else { return false };
    airlock::analysis::form::check_form(&graph).is_empty()
        && airlock::ops::Registry::standard().check_types(&mut graph).is_empty()
}
