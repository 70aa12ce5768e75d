//! A verdict as text: in a few words, and in full.

use std::fmt::Write;

use owo_colors::OwoColorize;

use crate::contract::shown;
use crate::verify::{Finding, Stop, Verdict};

/// How many characters of a text that a file wrote are shown.
const SHOWN: u32 = 400;

/// Prints a verdict in a few words: `proved exact`, `values unknown`.
pub fn verdict_words(verdict: &Verdict) -> String {
    let finding = finding(verdict.verdict);
    match (verdict.question, verdict.level) {
        (Some(question), _) => format!("{} {finding}", question.name()),
        (None, Some(level)) => format!("{finding} {}", format!("{level:?}").to_lowercase()),
        (None, None) => finding.to_string(),
    }
}

fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Proved => "proved",
        Finding::Checked => "checked",
        Finding::Refuted => "refuted",
        Finding::Unknown => "unknown",
    }
}

fn stopped(stop: Stop) -> &'static str {
    match stop {
        Stop::Pairs => "the budget of comparisons ran out",
        Stop::Trials => "the budget of trials ran out",
        Stop::Time => "the time for trials ran out",
        Stop::Bytes => "inputs of other sizes would take too many bytes",
        Stop::Work => "the work of proofs by rules ran out (`judge.rules` in airlock.toml)",
        Stop::Rules => "rules make more calls equal than their budget has",
    }
}

/// Prints why, where the graphs part, and what the verdict rests on; indented.
pub fn verdict_details(verdict: &Verdict) -> String {
    let mut text = String::new();
    if !verdict.reason.is_empty() {
        let _ = writeln!(text, "   {}", shown(&verdict.reason, 4 * SHOWN));
    }
    if let Some(side) = &verdict.differing {
        let show = |line: &str| if line.is_empty() { "(nothing)".to_string() } else { shown(line, SHOWN) };
        let _ = writeln!(text, "   {} {}", "before".red(), show(&side.before));
        let _ = writeln!(text, "   {} {}", "after ".green(), show(&side.after));
    }
    if !verdict.nodes.is_empty() && verdict.differing.is_none() {
        let nodes: Vec<String> = verdict.nodes.iter().map(|n| shown(n, SHOWN)).collect();
        let _ = writeln!(text, "   nodes: {}", nodes.join(", "));
    }
    if let Some(log2) = verdict.bound_log2 {
        let _ = writeln!(
            text,
            "   by fingerprints, not by proof: the chance that values differ is at most 2^{:.0}",
            log2.ceil()
        );
    }
    if let Some(tried) = verdict.tried {
        let ended = verdict.stopped.map_or(String::new(), |s| format!("; {}", stopped(s)));
        let kept = verdict.obstacle.as_ref().map_or(String::new(), |o| format!("; not all could: {}", shown(o, SHOWN)));
        let _ = writeln!(text, "   both graphs ran on {tried} inputs, and none shows a difference{ended}{kept}");
    }
    if let Some(region) = &verdict.region {
        let _ = writeln!(text, "   {}", shown(region, 4 * SHOWN));
    }
    if let Some(file) = &verdict.counterexample {
        let _ = writeln!(text, "   shown again by {}", shown(file, SHOWN));
    }
    for strides in &verdict.strides {
        let _ = writeln!(text, "   {}", shown(strides, SHOWN));
    }
    for assumption in &verdict.assumes {
        let _ = writeln!(text, "   assumes: {}", assumption.text());
    }
    text
}
