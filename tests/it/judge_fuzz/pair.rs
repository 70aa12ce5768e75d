//! One pair: judged both ways, run on both sides, compared.

use airlock::analysis::form::check_form;
use airlock::certificate::Certificate;
use airlock::graph::Graph;
use airlock::verify::{JudgeOptions, Verdict, certify, check_certificate, judge_editor, judge_pair};

use super::compare::{Difference, Kind, compare, without};
use super::journal;
use super::program::Program;
use super::run::{self, Binding, Demon, Seen};

/// A first program: read, well formed, and run with every binding.
pub struct First {
    pub program: Program,
    pub graph: Graph,
    pub plain: Graph,
    pub bindings: Vec<Binding>,
    pub seen: Vec<Option<Seen>>,
    /// Why the judge does not say that it is equal to itself; `None` where it does.
    pub not_itself: Option<String>,
}

/// What the judge says of a pair.
pub struct Judged {
    pub whole: Verdict,
    /// From the journal, and of the whole graphs that the editor leaves; `None` where no journal makes the second program.
    pub journal: Option<(Verdict, Verdict)>,
    /// Why an accepted pair has no certificate that holds.
    pub uncertified: Option<String>,
}

impl Judged {
    /// Whether any way to judge accepts.
    pub fn accepted(&self) -> bool {
        self.whole.accepted || self.journal.as_ref().is_some_and(|(local, _)| local.accepted)
    }
}

/// What is wrong with a pair that was judged.
#[derive(Clone, Debug)]
pub enum Wrong {
    /// Accepted (by whom), and it differs under that binding.
    Differs(Difference, Binding, &'static str),
    /// The journal and the whole graphs are judged differently.
    Disagree { journal: bool, why: String },
    /// A program that is not said to be equal to itself.
    NotItself(String),
    /// The certificate of an accepted pair does not hold.
    Uncertified(String),
    /// The judge panicked.
    Panics(String),
}

impl Wrong {
    /// Returns the class: what a shrunk pair must still be.
    pub fn class(&self) -> String {
        match self {
            Wrong::Differs(d, _, _) => format!("{:?}", d.kind).to_lowercase(),
            Wrong::Disagree { journal: true, .. } => "journal-accepts".into(),
            Wrong::Disagree { .. } => "journal-refuses".into(),
            Wrong::NotItself(_) => "not-itself".into(),
            Wrong::Uncertified(_) => "uncertified".into(),
            Wrong::Panics(_) => "panics".into(),
        }
    }

    /// Returns a sentence.
    pub fn why(&self) -> String {
        match self {
            Wrong::Differs(d, b, by) => format!(
                "accepted {by}, but {} (sizes {:?}{})",
                d.what,
                b.symbols,
                if b.alias { ", inputs the same memory" } else { "" }
            ),
            Wrong::Disagree { journal: true, why } => format!("accepted from the journal, refused as a pair: {why}"),
            Wrong::Disagree { why, .. } => format!("refused from the journal, accepted as a pair: {why}"),
            Wrong::NotItself(why) => format!("the same graph on both sides is refused: {why}"),
            Wrong::Uncertified(why) => format!("accepted, but its certificate does not hold: {why}"),
            Wrong::Panics(why) => format!("the judge panics: {why}"),
        }
    }
}

/// Returns with what a program is run: sizes 0, 1, 2 and large within the ranges, inputs that are and are not the same memory.
pub fn bindings(p: &Program, seed: u64) -> Vec<Binding> {
    let clip = |k: usize, n: i64| {
        let (low, high) = p.ranges[k];
        n.max(low).min(high.unwrap_or(i64::MAX))
    };
    let count = p.ranges.len();
    let mut sizes: Vec<Vec<i64>> = if count == 0 {
        vec![vec![]; 2]
    } else {
        [0, 1, 2, 5, 17].iter().map(|n| (0..count).map(|k| clip(k, *n)).collect()).collect()
    };
    if count > 1 {
        sizes.push((0..count).map(|k| clip(k, [3, 1][k % 2])).collect());
        sizes.push((0..count).map(|k| clip(k, [1, 4][k % 2])).collect());
    }
    if count > 0 {
        sizes.dedup();
    }
    let opaque = p.nodes.iter().chain(p.bodies.iter().flat_map(|b| &b.nodes)).any(|n| n.target.starts_with("demo."));
    let demon = |sharing, writes, remembers| Demon { sharing, writes, remembers };
    let all = [
        demon(false, false, true),
        demon(false, true, false),
        demon(true, true, true),
        demon(false, true, true),
        demon(true, false, false),
    ];
    let mut out = Vec::new();
    for (k, symbols) in sizes.into_iter().enumerate() {
        let seed = seed.wrapping_add(k as u64);
        let plain = Binding { symbols, alias: false, seed, demon: demon(false, false, false) };
        if opaque {
            out.extend(all.iter().map(|d| Binding { demon: *d, ..plain.clone() }));
        } else {
            out.push(plain.clone());
        }
        if !p.may_alias.is_empty() {
            out.push(Binding { alias: true, demon: if opaque { all[3] } else { plain.demon }, ..plain });
        }
    }
    out
}

/// Reads, checks and runs a first program; `None` where it is not well formed or never runs.
pub fn first(program: &Program, seed: u64) -> Option<First> {
    let bindings = bindings(program, seed);
    first_with(program, bindings)
}

/// The same, with these bindings.
pub fn first_with(program: &Program, bindings: Vec<Binding>) -> Option<First> {
    let mut graph = run::read(program, false).ok()?;
    let plain = run::read(program, true).ok()?;
    if !check_form(&graph).is_empty() || !run::registry().check_types(&mut graph).is_empty() {
        return None;
    }
    let seen: Vec<Option<Seen>> = bindings.iter().map(|b| run::run(program, &plain, b).ok()).collect();
    // Of several results of one call items are returned, not their list.
    let list = |s: &Seen| s.outputs.iter().any(|v| matches!(v, airlock::exec::Value::List(_)));
    if seen.iter().all(Option::is_none) || seen.iter().flatten().any(list) {
        return None;
    }
    let itself = judge_pair(&graph, &graph, run::registry(), &options(program));
    let not_itself = (!itself.accepted).then_some(itself.reason);
    Some(First { program: program.clone(), graph, plain, bindings, seen, not_itself })
}

fn options(p: &Program) -> JudgeOptions {
    JudgeOptions { may_alias: p.may_alias.clone(), ..JudgeOptions::default() }
}

/// Judges a pair both ways. `None` where the second program cannot be read.
pub fn judge(a: &First, b: &Program) -> Option<Result<Judged, String>> {
    let after = run::read(b, false).ok()?;
    let judged = || judge_settled(&a.graph, &after, &options(&a.program));
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(judged));
    let text = |e: Box<dyn std::any::Any + Send>| {
        let text = e.downcast_ref::<String>().cloned();
        text.or_else(|| e.downcast_ref::<&str>().map(|s| (*s).to_string())).unwrap_or_default()
    };
    Some(caught.map_err(text))
}

/// The same of two graphs as they were read.
pub fn judge_graphs(before: &Graph, after: &Graph, may_alias: &[(String, String)]) -> Judged {
    let mut before = before.clone();
    let _ = run::registry().check_types(&mut before);
    judge_settled(&before, after, &JudgeOptions { may_alias: may_alias.to_vec(), ..JudgeOptions::default() })
}

fn judge_settled(before: &Graph, after: &Graph, options: &JudgeOptions) -> Judged {
    let registry = run::registry();
    let whole = judge_pair(before, after, registry, options);
    let journal = journal::edited(before, after, registry)
        .map(|e| (judge_editor(&e, options), judge_pair(before, e.graph(), registry, options)));
    let uncertified = (whole.accepted && before.len().wrapping_add(after.len()).is_multiple_of(CERTIFIED))
        .then(|| uncertified(before, after, options))
        .flatten();
    Judged { whole, journal, uncertified }
}

/// One of so many accepted pairs has its certificate made and checked.
const CERTIFIED: usize = 8;

/// Why the certificate of an accepted pair does not hold, or why there is none.
fn uncertified(before: &Graph, after: &Graph, options: &JudgeOptions) -> Option<String> {
    let made = certify(before, after, run::registry(), options);
    let Some(certificate) = made.certificate else { return Some("there is none".into()) };
    let read = match Certificate::read(certificate.to_json().as_bytes()) {
        Ok(read) => read,
        Err(error) => return Some(error.to_string()),
    };
    check_certificate(&read, before, after, run::registry(), options).err().map(|e| e.to_string())
}

/// How often both programs of a pair ran.
#[derive(Clone, Copy, Default)]
pub struct Ran {
    pub both: usize,
    /// Without raising.
    pub to_the_end: usize,
}

/// Returns what differs when both are run, and how often both ran.
pub fn run_both(a: &First, b: &Program) -> (Option<(Difference, Binding)>, Ran) {
    let mut ran = Ran::default();
    let Ok(graph) = run::read(b, true) else { return (None, ran) };
    for (binding, seen) in a.bindings.iter().zip(&a.seen) {
        let Some(x) = seen else { continue };
        let Ok(y) = run::run(b, &graph, binding) else { continue };
        ran.both += 1;
        ran.to_the_end += usize::from(x.raised.is_none());
        if let Some(mut d) = compare(&a.program, b, x, &y) {
            // Memory that nothing has written would show as a difference of a program from itself.
            if let Ok(again) = run::run(&a.program, &a.plain, binding)
                && compare(&a.program, &a.program, x, &again).is_some()
            {
                continue;
            }
            if d.kind == Kind::StopsRaising && only_dead(&a.program, b, x, &y, binding) {
                continue;
            }
            if d.kind == Kind::Opaque {
                d.what = format!("{} ({:?})", d.what, binding.demon);
            }
            return (Some((d, binding.clone())), ran);
        }
    }
    (None, ran)
}

/// Whether what raised in the first program is dead there: without it, the first program does what the second one does.
fn only_dead(a: &Program, b: &Program, x: &Seen, y: &Seen, binding: &Binding) -> bool {
    let mut left = a.clone();
    let mut raised = x.raised.clone();
    while let Some((node, _)) = raised {
        let Some(smaller) = without(&left, &node) else { return false };
        left = smaller;
        let Some(seen) = run::read(&left, true).ok().and_then(|g| run::run(&left, &g, binding).ok()) else {
            return true;
        };
        if seen.raised.is_none() {
            return compare(&left, b, &seen, y).is_none();
        }
        raised = seen.raised;
    }
    true
}

/// Judges and runs a pair: what is wrong, if anything.
pub fn wrong(a: &First, b: &Program) -> Option<Wrong> {
    let judged = match judge(a, b)? {
        Ok(judged) => judged,
        Err(why) => return Some(Wrong::Panics(why)),
    };
    wrong_of(a, b, &judged).0
}

/// The same of a pair that was judged; with how often it ran.
pub fn wrong_of(a: &First, b: &Program, judged: &Judged) -> (Option<Wrong>, Ran) {
    if let Some(why) = a.not_itself.clone().filter(|_| *b == a.program) {
        return (Some(Wrong::NotItself(why)), Ran::default());
    }
    let mut ran = Ran::default();
    if judged.accepted() {
        let (difference, times) = run_both(a, b);
        ran = times;
        if let Some((d, binding)) = difference {
            let by = match judged.journal.as_ref().map(|(local, _)| local.accepted) {
                Some(true) if judged.whole.accepted => "as a pair and from the journal",
                Some(true) => "from the journal only",
                Some(false) => "as a pair, refused from the journal",
                None => "as a pair",
            };
            return (Some(Wrong::Differs(d, binding, by)), ran);
        }
    }
    // Whole graphs that are not equal to themselves are refused for what no edit touched.
    if let Some((local, whole)) = &judged.journal
        && local.accepted != whole.accepted
        && a.not_itself.is_none()
    {
        let why = if local.accepted { whole.reason.clone() } else { local.reason.clone() };
        return (Some(Wrong::Disagree { journal: local.accepted, why }), ran);
    }
    (judged.uncertified.clone().map(Wrong::Uncertified), ran)
}
