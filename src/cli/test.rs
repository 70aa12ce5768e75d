//! `airlock test`: cases, their verdicts beside what is known.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use rayon::prelude::*;

use super::counterexample;
use super::{Exit, Format, Global, Reading, Searching, load, output, progress};
use crate::formats::text::{ReadOptions, case};
use crate::graph::Graph;
use crate::ops::Registry;
use crate::report::{CaseReport, TestReport, junit, plain, sarif, verdict_words};
use crate::verify::{self, Finding, Mode, Policy, Question, Verdict};

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
    #[command(flatten)]
    searching: Searching,
    #[command(flatten)]
    reading: Reading,
}

pub fn test(args: &TestArgs, global: &Global) -> anyhow::Result<Exit> {
    #[cfg(feature = "sandbox")]
    if let Some(pass) = args.pass.clone().or_else(|| super::test_pass::pass_here().filter(|_| args.paths.is_empty())) {
        let beside = if pass.is_dir() { pass.clone() } else { pass.parent().unwrap_or(Path::new("")).join(".") };
        let paths = if args.paths.is_empty() { vec![beside] } else { args.paths.clone() };
        let how = (&args.passing, args.policy.unwrap_or_default());
        return super::test_pass::test(&pass, files(&paths)?, how, &args.reading, global);
    }
    if args.paths.is_empty() {
        bail!("name .case files or folders of them; in the folder of a pass its own are taken");
    }
    let registry = load::registry(&args.reading)?;
    let files = files(&args.paths)?;
    let bar = progress::bar(global, files.len(), "Judging");
    let judged: Vec<anyhow::Result<CaseReport>> = files
        .par_iter()
        .map(|file| {
            let report = judge_case(file, &registry, args);
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

/// The cases that are named, and those of folders.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        collect(path, &mut files)?;
    }
    if files.is_empty() {
        let named: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
        bail!("there are no .case files in {}", named.join(", "));
    }
    Ok(files)
}

/// The report of a case that cannot be read: the others are judged all the same.
fn not_judged(file: &Path, error: &anyhow::Error) -> CaseReport {
    let file = file.display().to_string();
    let verdict = Verdict::refusal(Finding::Unknown, Question::Form, format!("{error:#}"), Vec::new());
    CaseReport { name: file.clone(), file, label: String::new(), right: false, mode: "", verdict }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    let mut open = vec![path.to_path_buf()];
    let mut found = Vec::new();
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|e| e == "case") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    files.extend(found);
    Ok(())
}

/// A case that was read, and its verdict in each mode that it is for.
pub struct JudgedCase {
    meta: case::CaseMeta,
    before: Graph,
    after: Graph,
    options: verify::JudgeOptions,
    /// At least one.
    pub verdicts: Vec<(Mode, Verdict)>,
}

impl JudgedCase {
    /// Judges a case in the mode given, else in its own; one whose mode is `any` in both.
    pub fn of(
        file: &Path,
        registry: &Registry,
        (policy, mode): (Policy, Option<Mode>),
        searching: &Searching,
        shrinks: bool,
    ) -> anyhow::Result<Self> {
        let name = file.display();
        let bytes = load::bytes(file)?;
        let text = std::str::from_utf8(bytes.as_slice())
            .with_context(|| format!("{name} is not UTF-8 text; a case has the parts `meta`, `before` and `after`"))?;
        let mut case = case::read(text, &ReadOptions::of_file(&name.to_string()))?;
        let modes =
            match (mode, case.meta.mode.as_deref()) {
                (Some(mode), _) => vec![mode],
                (None, None | Some("any")) => vec![Mode::MaxAutotune, Mode::ReduceOverhead],
                (None, Some(own)) => vec![Mode::from_name(own).with_context(|| {
                    format!("{name}: mode = \"{own}\": expected max-autotune, reduce-overhead or any")
                })?],
            };
        let problems = load::problems(&mut case.before, registry);
        if !problems.is_empty() {
            bail!("{name}: `before` is not well formed:\n  {}", problems.join("\n  "));
        }
        let given = given(file, &case.meta)?;
        let how = |mode| {
            let options =
                verify::JudgeOptions { given: given.clone(), ..verify::JudgeOptions::of_case(&case.meta, mode) };
            let mut options = searching.applied(verify::JudgeOptions { policy, ..options });
            options.budget.shrinks = if shrinks { counterexample::SHRINKS } else { 0 };
            options
        };
        let judge = |mode| (mode, verify::judge_pair(&case.before, &case.after, registry, &how(mode)));
        let verdicts = modes.iter().copied().map(judge).collect();
        let options = how(modes.first().copied().unwrap_or_default());
        Ok(Self { verdicts, options, meta: case.meta, before: case.before, after: case.after })
    }

    /// Judges the case again in one mode, for a certificate.
    pub fn certify(&self, mode: Mode, registry: &Registry) -> verify::Certified {
        let options = verify::JudgeOptions { mode, ..self.options.clone() };
        verify::certify(&self.before, &self.after, registry, &options)
    }

    /// Keeps what refutes the case beside others in a folder; returns the file.
    pub fn keep(
        &self,
        verdict: &Verdict,
        registry: &Registry,
        dir: &Path,
        name: &str,
    ) -> anyhow::Result<Option<PathBuf>> {
        counterexample::keep((&self.before, &self.after), verdict, (registry, &self.options), dir, name)
    }
}

/// The name under which a case's counterexample is kept: cases of two folders may have one name.
fn kept_name(file: &Path) -> String {
    let part = |p: Option<&std::ffi::OsStr>| p.map(|s| s.to_string_lossy().into_owned());
    let folder = part(file.parent().and_then(Path::file_name));
    folder.into_iter().chain(part(file.file_stem())).collect::<Vec<_>>().join("-")
}

/// The inputs that a case states, from the file beside where it names one.
fn given(file: &Path, meta: &case::CaseMeta) -> anyhow::Result<Option<verify::Given>> {
    let beside = meta.counterexample.as_ref().and_then(|c| c.file.as_deref());
    let bytes = beside.map(|name| load::bytes(&file.with_file_name(name))).transpose()?;
    let given = verify::given(meta, bytes.as_ref().map(|b| b.as_slice()));
    given.with_context(|| file.display().to_string())
}

/// Judges one case; where it is for several modes, its verdict must be right in each.
fn judge_case(file: &Path, registry: &Registry, args: &TestArgs) -> anyhow::Result<CaseReport> {
    let how = (args.policy.unwrap_or_default(), None);
    let mut judged = JudgedCase::of(file, registry, how, &args.searching, args.counterexamples.is_some())?;
    let verdicts = std::mem::take(&mut judged.verdicts);
    let meta = &judged.meta;
    let name = file.display().to_string();
    let mut worst: Option<(bool, Mode, Verdict)> = None;
    for (mode, verdict) in verdicts {
        let right = is_right(&meta.label, meta.judged.as_deref(), &verdict)
            .with_context(|| format!("{name}: nothing is known of the label `{}`", meta.label))?;
        if worst.as_ref().is_none_or(|(was_right, _, _)| *was_right && !right) {
            worst = Some((right, mode, verdict));
        }
    }
    let Some((right, mode, mut verdict)) = worst else { bail!("{name}: no mode to judge in") };
    if let Some(dir) = &args.counterexamples {
        verdict.counterexample =
            judged.keep(&verdict, registry, dir, &kept_name(file))?.map(|p| p.display().to_string());
    }
    let shown = if meta.name.is_empty() { name.clone() } else { meta.name.clone() };
    Ok(CaseReport { name: shown, file: name, label: meta.label.clone(), right, mode: mode.name(), verdict })
}

/// Whether a verdict agrees with a label; `None` for a label that nobody knows.
fn is_right(label: &str, judged: Option<&str>, verdict: &Verdict) -> Option<bool> {
    let refused_for = |question: Question| !verdict.accepted && verdict.question == Some(question);
    Some(match label {
        "exact" | "real" | "equivalent" => verdict.accepted,
        // A difference may be one of values or of effects: `differs_in` says which, the judge may see either first.
        "different" => !verdict.accepted,
        "race" => refused_for(Question::Order),
        "lifetime" => refused_for(Question::Lifetime),
        "malformed" => refused_for(Question::Form),
        "recorded" => verdict.accepted == (judged == Some("equivalent")),
        _ => return None,
    })
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
