//! A run as text: one line a pass, and under a refusal what parts the graphs.

use std::fmt::Write;

use owo_colors::OwoColorize;

use super::{plain, verdict_details, verdict_words};
use crate::contract::shown;
use crate::pipeline::{Outcome, PassReport, RunReport};
use crate::verify::Finding;

/// How many characters of a text that a pass or file wrote are shown.
const SHOWN: u32 = 400;

/// Prints what became of each pass, and one summary line.
pub fn run_text(run: &RunReport, verbose: u8) -> String {
    let mut text = String::new();
    let all = || run.passes.iter().chain(&run.builtin);
    let name_width = all().map(|p| label(p).chars().count()).max().unwrap_or(0);
    for pass in all() {
        line(&mut text, pass, name_width);
        details(&mut text, pass, verbose);
    }
    let count = |outcome| run.passes.iter().filter(|p| p.outcome == outcome).count();
    let parts: Vec<String> = [
        (Outcome::Accepted, "accepted"),
        (Outcome::Unchanged, "unchanged"),
        (Outcome::Refused, "refused"),
        (Outcome::Faulted, "faulted"),
    ]
    .into_iter()
    .filter(|(outcome, _)| count(*outcome) > 0)
    .map(|(outcome, word)| format!("{} {word}", count(outcome)))
    .collect();
    let _ = write!(
        text,
        "{} {}: {}",
        run.passes.len(),
        if run.passes.len() == 1 { "pass" } else { "passes" },
        if parts.is_empty() { "none".into() } else { parts.join(", ") }
    );
    let _ = writeln!(text, "{}", if run.is_original { "; the output is the original model" } else { "" });
    text
}

fn label(pass: &PassReport) -> String {
    let name = shown(&pass.name, SHOWN);
    if pass.version.is_empty() { name } else { format!("{name} {}", shown(&pass.version, SHOWN)) }
}

fn line(text: &mut String, pass: &PassReport, name_width: usize) {
    let outcome = match pass.outcome {
        Outcome::Accepted => format!("{:<9}", "accepted").green().to_string(),
        Outcome::Unchanged => format!("{:<9}", "unchanged").dimmed().to_string(),
        Outcome::Refused => format!("{:<9}", "refused").red().bold().to_string(),
        Outcome::Faulted => format!("{:<9}", "faulted").red().bold().to_string(),
    };
    let what = match (&pass.fault, &pass.verdict) {
        (Some(fault), _) => {
            let used = match (fault.used, fault.limit) {
                (Some(used), Some(limit)) => format!(" (used {used} of {limit})"),
                _ => String::new(),
            };
            format!("{} in `{}`: {}{used}", fault.kind, fault.function, plain(&fault.message))
        }
        (None, Some(verdict)) => {
            let edits = &pass.edits;
            let changed = if edits.changed > 0 { format!(", {} changed", edits.changed) } else { String::new() };
            format!("{}   {} inserted, {} erased{changed}", verdict_words(verdict), edits.inserted, edits.erased)
        }
        (None, None) => String::new(),
    };
    let times = if pass.stage == "builtin" {
        format!("{:.1} ms to judge", pass.judge_ms)
    } else {
        format!("{:.1} ms in the sandbox, {:.1} ms to judge", pass.sandbox_ms, pass.judge_ms)
    };
    let _ = writeln!(text, "{:<name_width$}   {outcome}   {what}   {}", label(pass), times.dimmed());
}

fn details(text: &mut String, pass: &PassReport, verbose: u8) {
    if let Some(verdict) = &pass.verdict
        && (pass.outcome == Outcome::Refused || verbose > 0)
    {
        text.push_str(&verdict_details(verdict));
    }
    if let Some(verdict) = &pass.verdict
        && pass.outcome == Outcome::Accepted
        && verdict.verdict == Finding::Unknown
    {
        let _ = writeln!(
            text,
            "   {}",
            "ACCEPTED WITHOUT PROOF: policy `advisory` lets unknown values through".red().bold()
        );
    }
    for frame in pass.fault.iter().flat_map(|fault| &fault.frames) {
        let Some(source) = &frame.source else { continue };
        let _ = writeln!(text, "   at {} in {}", plain(source), plain(&frame.function));
    }
    if let Some(file) = &pass.reproducer {
        let file = plain(file);
        let _ = match &pass.fault {
            Some(_) => writeln!(text, "   reproducer: airlock run {file} --pass {}", plain(&pass.file)),
            None => writeln!(text, "   reproducer: airlock verify {file}"),
        };
    }
    if verbose > 0 {
        let _ = writeln!(text, "   fuel {} of {}", pass.fuel, pass.fuel_limit);
        if !pass.note.is_empty() {
            let _ = writeln!(text, "   note: {}", plain(&pass.note));
        }
        for grant in &pass.grants {
            let _ = writeln!(text, "   granted: {}", plain(grant));
        }
        for log in &pass.log {
            let _ = writeln!(text, "   {}: {}", format!("{:?}", log.level).to_lowercase(), plain(&log.text));
        }
    }
}
