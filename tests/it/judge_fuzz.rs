//! What the judge accepts does the same when it is run: random programs over the registry, random edits, each accepted pair run on both sides.
//!
//! A run of fixed seed and bounded length is part of every test run. The long run is the same test with other numbers: see `docs/fuzzing.md`.

mod compare;
mod edits;
mod functional;
mod generate;
mod journal;
mod menu;
mod pair;
mod program;
mod random;
mod report;
mod run;
mod schema;
mod shrink;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use airlock::exec::Value;
use airlock::formats::text::{ReadOptions, case};
use edits::Draft;
use generate::Gen;
use pair::First;
use program::Program;
use random::{Rng, mix};
use report::Counts;
use shrink::{Finding, shrink};

/// How long a run is, and from where it begins.
struct Plan {
    seed: u64,
    pairs: usize,
    time: Duration,
    /// Operators and edits that are left out.
    skip: Vec<String>,
    /// Where findings are written.
    findings: Option<PathBuf>,
    /// Where accepted pairs are written.
    dump: Option<PathBuf>,
}

impl Plan {
    fn from_environment() -> Plan {
        let number = |name: &str| std::env::var(name).ok().and_then(|t| t.parse::<u64>().ok());
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let seconds = number("AIRLOCK_FUZZ_SECONDS");
        let pairs = number("AIRLOCK_FUZZ_PAIRS").map(|n| n as usize);
        Plan {
            seed: number("AIRLOCK_FUZZ_SEED").unwrap_or(1),
            pairs: pairs.unwrap_or(if seconds.is_some() { usize::MAX } else { 1500 }),
            time: Duration::from_secs(seconds.unwrap_or(600)),
            skip: std::env::var("AIRLOCK_FUZZ_SKIP")
                .map(|t| t.split(',').map(String::from).collect())
                .unwrap_or_default(),
            findings: folder("AIRLOCK_FUZZ_FINDINGS"),
            dump: folder("AIRLOCK_FUZZ_DUMP"),
        }
    }
}

/// Kinds of findings that are known and only counted; empty while both ways of judging agree.
const KNOWN: &[&str] = &[];

/// How many edited programs are made of one.
const EDITED: usize = 8;

/// Makes the second program: one edit, sometimes several.
fn edited(
    a: &Program,
    env: &BTreeMap<String, Value>,
    g: &Gen,
    rng: &mut Rng,
    skip: &[String],
) -> Option<(Program, Vec<&'static str>)> {
    let mut draft = Draft { p: a.clone(), env, rng, skip, hint: &g.hint, opaque: g.opaque };
    let count = *draft.rng.pick(&[1, 1, 1, 1, 2, 2, 3]);
    let mut kinds = Vec::new();
    for _ in 0..12 {
        if kinds.len() == count {
            break;
        }
        kinds.extend(edits::edit(&mut draft).filter(|e| !skip.iter().any(|s| s == e)));
    }
    (!kinds.is_empty()).then_some((draft.p, kinds))
}

fn fuzz(plan: &Plan) -> (Counts, Vec<Finding>) {
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut findings: Vec<Finding> = Vec::new();
    let mut number = 0_u64;
    while counts.pairs < plan.pairs && start.elapsed() < plan.time {
        let seed = mix(plan.seed.wrapping_mul(0x1_0000_0001).wrapping_add(number));
        number += 1;
        let mut g = Gen::new(seed, &plan.skip);
        g.program();
        counts.programs += 1;
        let Some(first) = pair::first(&g.p, seed) else {
            counts.malformed += 1;
            continue;
        };
        for n in &first.program.nodes {
            *counts.operators.entry(n.target.clone()).or_default() += 1;
        }
        let mut rng = Rng::new(seed ^ 77);
        for _ in 0..EDITED {
            one_pair(plan, &mut counts, &mut findings, &first, &g, &mut rng, number);
        }
    }
    (counts, findings)
}

fn one_pair(
    plan: &Plan,
    counts: &mut Counts,
    findings: &mut Vec<Finding>,
    first: &First,
    g: &Gen,
    rng: &mut Rng,
    number: u64,
) {
    let Some((b, kinds)) = edited(&first.program, &g.env, g, rng, &plan.skip) else { return };
    if b == first.program && kinds != ["none"] {
        return;
    }
    counts.pairs += 1;
    let Some(judged) = pair::judge(first, &b) else {
        counts.unreadable += 1;
        return;
    };
    let (wrong, accepted) = match &judged {
        Ok(judged) => {
            counts.journals += usize::from(judged.journal.is_some());
            let (wrong, ran) = pair::wrong_of(first, &b, judged);
            counts.ran += ran.both;
            counts.to_the_end += ran.to_the_end;
            counts.never += usize::from(judged.accepted() && ran.to_the_end == 0);
            (wrong, judged.accepted())
        }
        Err(why) => (Some(pair::Wrong::Panics(why.clone())), false),
    };
    counts.accepted += usize::from(accepted);
    for kind in &kinds {
        let entry = counts.edits.entry(kind).or_default();
        entry[0] += 1;
        entry[1] += usize::from(accepted);
        entry[2] += usize::from(wrong.is_some());
        if let (Ok(judged), false, None) = (&judged, accepted, &first.not_itself) {
            *counts.reasons.entry((kind, report::plain(&judged.whole.reason))).or_default() += 1;
        }
    }
    if let (Some(folder), true, None) = (&plan.dump, accepted, &wrong) {
        dump(folder, first, &b, counts.accepted);
    }
    let Some(wrong) = wrong else { return };
    if plan.skip.iter().any(|s| *s == wrong.class()) {
        return;
    }
    counts.wrong += 1;
    let found = Finding { a: first.program.clone(), b, wrong, edits: kinds };
    let small = shrink(&found, &first.bindings);
    let class = report::class(&small);
    let entry = counts.classes.entry(class.clone()).or_insert((counts.pairs, 0));
    entry.1 += 1;
    if entry.1 > 1 {
        return;
    }
    let name = format!("fuzz_{}_{number}_{}", plan.seed, findings.len());
    let why = format!("{} [{}; edits: {}]", small.wrong.why(), class, small.edits.join(", "));
    let label = match small.wrong.class().as_str() {
        "not-itself" | "panics" => "equivalent",
        // What is right nobody has shown: both ways to judge must say the same.
        "journal-accepts" | "journal-refuses" => "agree",
        _ => "different",
    };
    let text = report::case(&small.a, &small.b, &name, label, &why, "");
    println!("finding after {} pairs: {why}", counts.pairs);
    if let Some(folder) = &plan.findings {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(format!("{name}.case")), &text).unwrap();
    } else {
        println!("{text}");
    }
    findings.push(small);
}

/// Writes an accepted pair with what PyTorch needs to run it.
fn dump(folder: &std::path::Path, first: &First, b: &Program, number: usize) {
    let a = &first.program;
    let sizes: Vec<String> = first.bindings.iter().map(|x| format!("{:?}", x.symbols)).collect();
    let exact = compare::is_exact(a) && compare::is_exact(b);
    let extra = format!("exact = {exact}\nsymbols = [{}]\n", sizes.join(", "));
    let text = report::case(a, b, &format!("pair_{number}"), "equivalent", "accepted by the judge", &extra);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("pair_{number}.case")), text).unwrap();
}

#[test]
fn what_is_accepted_does_the_same() {
    let plan = Plan::from_environment();
    let start = Instant::now();
    let (counts, findings) = fuzz(&plan);
    println!("{}in {:.1} s, seed {}", counts.table(), start.elapsed().as_secs_f64(), plan.seed);
    let known = |f: &&Finding| !KNOWN.contains(&f.wrong.class().as_str());
    let all: Vec<String> = findings.iter().filter(known).map(report::class).collect();
    assert_eq!(all, Vec::<String>::new(), "accepted, but it does something else; the pairs are above");
}

/// Pairs that the journal and the whole graphs were once judged by in two ways.
#[test]
fn the_journal_and_the_whole_graphs_agree_where_once_they_did_not() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fx/cases/agree");
    let mut judged = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let case = case::read(&text, &ReadOptions::of_file(&file.display().to_string())).unwrap();
        let verdicts = pair::judge_graphs(&case.before, &case.after, &case.meta.may_alias);
        let (local, whole) = verdicts.journal.unwrap();
        assert_eq!(local.accepted, whole.accepted, "{}: {} / {}", file.display(), local.reason, whole.reason);
        judged += 1;
    }
    assert!(judged > 3);
}

/// Cases again, both ways: `AIRLOCK_FUZZ_CASES` names a file or a folder of them. What each verdict says is printed.
#[test]
fn cases_are_judged_alike_both_ways() {
    let Some(path) = std::env::var_os("AIRLOCK_FUZZ_CASES").map(PathBuf::from) else { return };
    let mut files: Vec<PathBuf> = match path.is_dir() {
        true => std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect(),
        false => vec![path],
    };
    files.retain(|f| f.extension().is_some_and(|e| e == "case"));
    files.sort();
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        let case = match case::read(&text, &ReadOptions::of_file(&name)) {
            Ok(case) => case,
            Err(e) => {
                wrong.push(format!("{name}: {e}"));
                continue;
            }
        };
        let verdicts = pair::judge_graphs(&case.before, &case.after, &case.meta.may_alias);
        let accepted = verdicts.accepted();
        let agree = verdicts.journal.as_ref().is_none_or(|(local, whole)| local.accepted == whole.accepted);
        let right = match case.meta.label.as_str() {
            "different" | "race" | "lifetime" | "malformed" => !accepted,
            "agree" => true,
            _ => verdicts.whole.accepted,
        };
        let journal = verdicts.journal.as_ref().map_or("none".into(), |(v, _)| format!("{} {}", v.accepted, v.reason));
        println!(
            "{name} [{}]: pair {} {}; journal {journal}",
            case.meta.label, verdicts.whole.accepted, verdicts.whole.reason
        );
        if !right || !agree {
            wrong.push(format!(
                "{name} [{}]: {}",
                case.meta.label,
                if right { "judged differently" } else { "judged wrongly" }
            ));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
