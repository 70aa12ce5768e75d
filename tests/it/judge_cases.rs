//! No case that is labelled different, race, lifetime or malformed is ever accepted.
//!
//! `AIRLOCK_CORPUS=DIR` runs this over every `.case` below DIR too, and prints how many of each label and folder were accepted.
//! `AIRLOCK_SHOW=TEXT` prints verdicts of the cases whose path contains TEXT.

use std::collections::BTreeMap;

use crate::common::files;
use airlock::formats::text::{ReadOptions, case};
use airlock::ops::Registry;
use airlock::verify::{Finding, JudgeOptions, Mode, Policy, Verdict, judge_pair};

/// Right rewrites of this repository that nothing shows yet.
const UNPROVED: &str = include_str!("../fx/cases/rewrites/unproved.txt");

/// Judges a case, however busy the machine is.
pub fn judge(case: &case::Case, registry: &Registry, mode: Mode, policy: Policy) -> Verdict {
    let mut options = JudgeOptions { policy, ..JudgeOptions::of_case(&case.meta, mode) };
    // A verdict is not to depend on how busy the machine is.
    options.budget.time_ms = 60_000;
    judge_pair(&case.before, &case.after, registry, &options)
}

/// The modes that a case names, all where it names none.
pub fn modes(case: &case::Case) -> Vec<Mode> {
    match case.meta.mode.as_deref().and_then(Mode::from_name) {
        Some(mode) => vec![mode],
        None => vec![Mode::MaxAutotune, Mode::ReduceOverhead],
    }
}

/// The operators of this crate, and those that cases have beside them.
fn registry() -> Registry {
    let mut registry = Registry::standard();
    registry.extend_toml(include_str!("../fx/cases/ops.toml")).unwrap();
    if let Some(corpus) = std::env::var_os("AIRLOCK_CORPUS") {
        let file = std::path::Path::new(&corpus).join("ops.toml");
        if let Ok(text) = std::fs::read_to_string(&file) {
            registry.extend_toml(&text).unwrap();
        }
    }
    registry
}

/// Whether the case's label says that it must be refused; `None` where it says nothing.
fn must_refuse(case: &case::Case) -> Option<bool> {
    match case.meta.label.as_str() {
        "different" | "race" | "lifetime" | "malformed" => Some(true),
        "recorded" => case.meta.judged.as_deref().map(|j| j != "equivalent"),
        "exact" | "equivalent" | "real" => Some(false),
        _ => None,
    }
}

#[test]
fn what_is_not_the_same_is_refused() {
    let registry = registry();
    let show = std::env::var("AIRLOCK_SHOW").ok();
    let mut counts: BTreeMap<(String, String), [usize; 3]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in files("case") {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let case = case::read(&text, &ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let verdicts: Vec<Verdict> =
            modes(&case).into_iter().map(|m| judge(&case, &registry, m, Policy::Default)).collect();
        let accepted = verdicts.iter().all(|v| v.accepted);
        let folder = file.parent().and_then(|p| p.file_name()).unwrap().to_string_lossy().to_string();
        let label = match case.meta.judged.as_deref() {
            Some(judged) => format!("{} {judged}", case.meta.label),
            None => case.meta.label.clone(),
        };
        let count = counts.entry((folder.clone(), label)).or_default();
        count[0] += 1;
        count[1] += usize::from(accepted);
        count[2] += usize::from(verdicts.iter().any(|v| v.verdict == Finding::Refuted));
        if show.as_ref().is_some_and(|s| name.contains(s.as_str())) {
            for v in &verdicts {
                println!(
                    "{name} [{}]: {:?} {:?} {}: {:?}",
                    case.meta.label, v.verdict, v.question, v.reason, v.differing
                );
            }
        }
        // What rules showed once stays shown.
        let own = name.contains("tests/fx/cases/rewrites/") && must_refuse(&case) == Some(false);
        let listed = UNPROVED.lines().any(|l| l.split_once(':').is_some_and(|(n, _)| n == case.meta.name));
        if own && accepted == listed {
            let is = if accepted { "accepted, but listed as not" } else { "not accepted" };
            wrong.push(format!("{name}: {is}: {}", verdicts.iter().map(|v| &*v.reason).collect::<Vec<_>>().join("; ")));
        }
        // The twins of pairs that must be refused: what is the same stays accepted.
        let has_twins = ["adversary", "functionalized"].contains(&&*folder);
        if has_twins && must_refuse(&case) == Some(false) && !accepted {
            wrong.push(format!(
                "{name}: not accepted: {}",
                verdicts.iter().map(|v| &*v.reason).collect::<Vec<_>>().join("; ")
            ));
        }
        if must_refuse(&case) == Some(true) && verdicts.iter().any(|v| v.accepted) {
            wrong.push(format!("{name}: {}", case.meta.why));
        }
        let refuted = verdicts.iter().find(|v| v.verdict == Finding::Refuted);
        if let (Some(false), Some(v)) = (must_refuse(&case), refuted) {
            wrong.push(format!("{name}: refuted though equal: {}", v.reason));
        }
    }
    for ((folder, label), [all, accepted, refuted]) in &counts {
        println!("{folder:12} {label:24} {all:4} cases, {accepted:4} accepted, {refuted:4} refuted");
    }
    assert_eq!(wrong, Vec::<String>::new(), "accepted though not the same, or refused though it is");
}
