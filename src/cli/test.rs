//! `airlock test`: cases, their verdicts beside what is known.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use rayon::prelude::*;

use super::{Exit, Format, Global, Reading, Searching, Stating, output, progress};
use crate::ops::Registry;
use crate::pipeline::cases::{JudgedCase, Judging, files};
use crate::report::{CaseReport, TestReport, junit, plain, sarif, verdict_words};
use crate::verify::{Finding, Policy, Question, UserRules, Verdict};

/// Judges `.case` files and folders of them, or runs a pass on them. Exit 1 where a verdict or an outcome disagrees with its label.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  airlock test tests/cases
  airlock test cases --format junit > report.xml
  airlock test --pass my-pass            # labels: accepted, refused, unchanged, faulted")]
pub struct TestArgs {
    /// Files and folders; without any, those of the pass, which is that of the current folder unless --pass names one.
    paths: Vec<PathBuf>,
    /// Run a pass on each case's `before`: a component, or sources, which are built. An `after` is the output, to the letter.
    #[cfg(feature = "sandbox")]
    #[arg(long, value_name = "PASS", conflicts_with = "counterexamples")]
    pass: Option<PathBuf>,
    /// What a verdict must say to be accepted, whatever the label.
    #[arg(long, value_parser = super::policies())]
    policy: Option<Policy>,
    /// Keep what refutes each case in this folder: a `.case` with its inputs, and a script for PyTorch.
    #[arg(long, value_name = "DIR")]
    counterexamples: Option<PathBuf>,
    #[cfg(feature = "sandbox")]
    #[command(flatten)]
    passing: super::passing::Passing,
    #[cfg(feature = "sandbox")]
    #[command(flatten)]
    locating: super::passing::Locating,
    #[command(flatten)]
    searching: Searching,
    #[command(flatten)]
    stating: Stating,
    #[command(flatten)]
    reading: Reading,
}

pub fn test(args: &TestArgs, global: &Global) -> anyhow::Result<Exit> {
    #[cfg(feature = "sandbox")]
    if let Some(pass) = args.pass.clone().or_else(|| super::test_pass::pass_here().filter(|_| args.paths.is_empty())) {
        let beside = if pass.is_dir() { pass.clone() } else { pass.parent().unwrap_or(Path::new("")).join(".") };
        let paths = if args.paths.is_empty() { vec![beside] } else { args.paths.clone() };
        let how = (&args.passing, args.locating.symbols, args.policy.unwrap_or_default());
        return super::test_pass::test(&pass, files(&paths)?, how, &args.reading, global);
    }
    if args.paths.is_empty() {
        bail!("name .case files or folders of them; in the folder of a pass its own are taken");
    }
    let registry = args.reading.sources().registry()?;
    let rules = args.stating.read(None, &registry)?;
    let files = files(&args.paths)?;
    let bar = progress::bar(global, files.len(), "Judging");
    let judged: Vec<anyhow::Result<CaseReport>> = files
        .par_iter()
        .map(|file| {
            let report = judge_case(file, (&registry, &rules), args);
            bar.inc(1);
            report
        })
        .collect();
    bar.finish_and_clear();
    let mut unreadable = false;
    let cases = files.iter().zip(judged).map(|(file, judged)| {
        judged.unwrap_or_else(|error| {
            unreadable = true;
            output::error(&error);
            not_judged(file, &error)
        })
    });
    let report = TestReport::new(cases.collect());
    show(&report, global)?;
    Ok(match (unreadable, report.wrong) {
        (true, _) => Exit::Bad,
        (false, 0) => Exit::Done,
        (false, _) => Exit::Refused,
    })
}

/// The report of a case that cannot be read: the others are judged all the same.
fn not_judged(file: &Path, error: &anyhow::Error) -> CaseReport {
    let file = file.display().to_string();
    let verdict = Verdict::refusal(Finding::Unknown, Question::Form, output::on_one_line(error), Vec::new());
    CaseReport { name: file.clone(), file, label: String::new(), right: false, mode: "", verdict }
}

/// The name under which a case's counterexample is kept: cases of two folders may have one name.
fn kept_name(file: &Path) -> String {
    let part = |p: Option<&std::ffi::OsStr>| p.map(|s| s.to_string_lossy().into_owned());
    let folder = part(file.parent().and_then(Path::file_name));
    folder.into_iter().chain(part(file.file_stem())).collect::<Vec<_>>().join("-")
}

/// Judges one case; where it is for several modes, its verdict must be right in each.
fn judge_case(file: &Path, (registry, rules): (&Registry, &UserRules), args: &TestArgs) -> anyhow::Result<CaseReport> {
    let (policy, search) = (args.policy.unwrap_or_default(), args.searching.search());
    let shrinks = args.counterexamples.is_some();
    let how = Judging { policy, mode: None, search, rules: rules.clone(), shrinks };
    let judged = JudgedCase::of(file, registry, &how)?;
    let (right, mode, verdict) = judged.worst()?;
    let mut verdict = verdict.clone();
    if let Some(dir) = &args.counterexamples {
        verdict.counterexample =
            judged.keep(&verdict, registry, dir, &kept_name(file))?.map(|p| p.display().to_string());
    }
    let (name, meta) = (file.display().to_string(), judged.meta);
    let shown = if meta.name.is_empty() { name.clone() } else { meta.name };
    Ok(CaseReport { name: shown, file: name, label: meta.label, right, mode: mode.name(), verdict })
}

fn show(report: &TestReport, global: &Global) -> anyhow::Result<()> {
    match global.format {
        Format::Json => return output::print_json(report),
        Format::Sarif => return output::print_json(&sarif(&report.cases)),
        Format::Junit => return output::print(&junit(report)),
        Format::Text => {}
    }
    let mut text = String::new();
    for case in report.cases.iter().filter(|c| !c.right || global.verbose > 0) {
        let word = match (case.right, case.verdict.accepted, case.verdict.verdict) {
            (true, _, _) => "right",
            (false, true, _) => "ACCEPTED, MUST NOT BE",
            (false, false, Finding::Unknown) => "not shown",
            (false, false, _) => "wrong",
        };
        text.push_str(&format!(
            "{word:<10} {:<10} {}   {}\n",
            case.label,
            plain(&case.file),
            verdict_words(&case.verdict)
        ));
        if global.verbose > 1 && !case.verdict.reason.is_empty() {
            text.push_str(&format!("           {}\n", plain(&case.verdict.reason)));
        }
    }
    text.push_str(&format!(
        "{} {}: {} right, {} wrong, of these {} accepted that must not be\n",
        report.cases.len(),
        if report.cases.len() == 1 { "case" } else { "cases" },
        report.right,
        report.wrong,
        report.accepted_wrong
    ));
    output::print(&text)
}
