//! Attacks: whatever a component does, the host lives, the graph is as it was or the edit is a right one, what is said names the cause, and time
//! and memory stay within what is stated.
//!
//! Each attack is a component that `airlock run` is given as any other: what comes of it is looked at from outside. Those that want loops or
//! exports of their own are text (`tests/hostile/`, `tests/components/`: the first lines of a file say what it does and how it ends),
//! those that hand over odd edits are laid out by `assemble` from `edits`, those that are large or no component at all are made by
//! `bombs`; `mutants` change bytes of a good one. The table in `docs/security.md` is what came of the run: `AIRLOCK_UPDATE=1` writes it.

mod assemble;
mod bombs;
mod edits;
mod mutants;
mod play;
mod texts;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::committed;
use play::{Field, Found};

/// A component that means no good.
pub struct Attack {
    /// Its name.
    pub name: String,
    /// Which promise it is against.
    pub against: &'static str,
    /// What it does.
    pub what: String,
    /// How it must end.
    pub ends: Ends,
    /// Lines of `[limits]` that hold for it besides.
    pub limits: String,
    /// More words for the command line.
    pub more: Vec<String>,
    /// Seconds that it may take, however slow the machine and this build.
    pub seconds: u64,
    /// MiB that host and workers may take, each.
    pub mebibytes: u64,
    /// The component.
    pub bytes: Vec<u8>,
}

impl Attack {
    fn new(against: &'static str, name: &str, what: &str, ends: &str, bytes: Vec<u8>) -> Self {
        let (name, what) = (name.to_string(), what.to_string());
        let ends = Ends::read(ends).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (limits, more) = (String::new(), Vec::new());
        Self { name, against, what, ends, limits, more, seconds: 20, mebibytes: 256, bytes }
    }
}

/// How an attack ends: the command's exit code, the outcome of the pass, and words of what is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// `refused`, `fault KIND in FUNCTION`, `judged`, `unchanged`, `accepted`.
    pub how: String,
    /// What the command says of it.
    pub says: String,
}

impl Ends {
    fn read(text: &str) -> Result<Self, String> {
        let (how, says) = text.split_once(':').map_or((text, ""), |(how, says)| (how, says.trim_start()));
        let is_known = ["refused", "judged", "unchanged", "accepted"].contains(&how) || how.starts_with("fault ");
        if is_known { Ok(Self { how: how.into(), says: says.into() }) } else { Err(format!("ends as `{text}`?")) }
    }
}

/// The promises of `docs/security.md`, as the table groups attacks.
pub const LIVES: &str = "the host lives, the run ends within its limits";
pub const GRAPH: &str = "no wrong graph is accepted, what is refused leaves no trace";
pub const READS: &str = "nothing is read but what was granted";
pub const WORDS: &str = "names and messages cannot lie";
pub const INPUT: &str = "what is no pass is refused before anything of it runs";
const PROMISES: [&str; 5] = [LIVES, GRAPH, READS, WORDS, INPUT];

fn all() -> Vec<Attack> {
    let mut all = texts::attacks();
    all.extend(edits::attacks());
    all.extend(bombs::attacks());
    let mut names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "two of one name: {twice:?}");
    all
}

#[test]
fn every_attack_ends_as_it_must_and_the_table_says_so() {
    // What a process begins with counts as its memory: commands are started by one that has done nothing else.
    if !std::env::args().any(|a| a == "attacks=alone") {
        let arguments =
            ["--exact", "hostile::every_attack_ends_as_it_must_and_the_table_says_so", "--nocapture", "attacks=alone"];
        let alone = std::process::Command::new(std::env::current_exe().unwrap()).args(arguments).status().unwrap();
        assert!(alone.success(), "some attacks did not end as they must: see above");
        return;
    }
    let only = std::env::var("AIRLOCK_ATTACK").ok();
    let attacks: Vec<Attack> =
        all().into_iter().filter(|a| only.as_ref().is_none_or(|part| a.name.contains(part.as_str()))).collect();
    assert!(only.is_some() || attacks.len() >= 100, "{} attacks", attacks.len());
    if let Some(folder) = std::env::var_os("AIRLOCK_ATTACKS_TO") {
        attacks
            .iter()
            .for_each(|a| std::fs::write(Path::new(&folder).join(format!("{}.wasm", a.name)), &a.bytes).unwrap());
    }
    let field = Field::new();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(attack) = attacks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = field.play(attack);
                    found.lock().unwrap().push((attack.name.clone(), done));
                }
            });
        }
    });
    let mut found: Vec<(String, Found)> = found.into_inner().unwrap();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let wrong: Vec<String> = found
        .iter()
        .filter(|(_, f)| !f.wrong.is_empty())
        .map(|(n, f)| format!("{n}: {}", f.wrong.join("; ")))
        .collect();
    if std::env::var_os("AIRLOCK_SHOW").is_some() {
        for (name, f) in &found {
            println!("{name}: {}, {:.1} s, {} MiB", f.ended, f.seconds, f.mebibytes);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} attacks did not end as they must:\n{}",
        wrong.len(),
        found.len(),
        wrong.join("\n")
    );
    if only.is_none() {
        hold_table(&attacks, &found);
    }
}

const BEGIN: &str = "<!-- attacks: written by tests/it/hostile -->";
const END: &str = "<!-- end of attacks -->";

/// Holds the table of the document against what came of the run, or writes it.
fn hold_table(attacks: &[Attack], found: &[(String, Found)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the place of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let mut table = String::from("\n\n| component | what it does | ends | s | MiB |\n|---|---|---|---|---|\n");
    for promise in PROMISES {
        table += &format!("| | *{promise}* | | | |\n");
        let mut of: Vec<&Attack> = attacks.iter().filter(|a| a.against == promise).collect();
        of.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(!of.is_empty(), "nothing is tried against: {promise}");
        for attack in of {
            let ended = &found.iter().find(|(name, _)| *name == attack.name).unwrap().1.ended;
            let what = attack.what.replace('|', "\\|");
            table += &format!("| `{}` | {what} | {ended} | {} | {} |\n", attack.name, attack.seconds, attack.mebibytes);
        }
    }
    let wanted = format!("{before}{BEGIN}{table}\n{END}{after}");
    committed::hold(&path, wanted);
}
