//! Running a pass, lowering a model, and the report of either.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::lower::ge;
use engine::pipeline::{self, RunError, RunReport, Settings, Silent};
use engine::verify::{Finding, Verdict};
use engine::{formats, report};

use crate::handles::{self, Id, Object, add, lock};
use crate::host::Host;
use crate::model::Model;
use crate::status::{Failure, Status, call};
use crate::texts::{Text, ended, give, path, place};

/// What became of a pass, of an editor's edits, or of a lowering.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was edited.
    Unchanged = 0,
    /// The edits stand; what was lowered is written.
    Accepted = 1,
    /// The verdict is not enough: the graph is as it was, nothing is written.
    Refused = 2,
    /// The pass faulted: the graph is as it was.
    Faulted = 3,
}

/// What the verdict is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing was judged.
    None = 0,
    /// The graphs mean the same.
    Proved = 1,
    /// They mean the same on what was checked.
    Checked = 2,
    /// Nobody knows.
    Unknown = 3,
    /// They differ.
    Refuted = 4,
}

/// A report, as texts that C can point to.
pub struct Report {
    outcome: Outcome,
    verdict: Found,
    reason: Box<[u8]>,
    text: Box<[u8]>,
    json: Box<[u8]>,
}

impl Report {
    pub fn new(outcome: Outcome, verdict: Option<&Verdict>, reason: String, text: String, json: String) -> Report {
        let found = match verdict.map(|verdict| verdict.verdict) {
            None => Found::None,
            Some(Finding::Proved) => Found::Proved,
            Some(Finding::Checked) => Found::Checked,
            Some(Finding::Unknown) => Found::Unknown,
            Some(Finding::Refuted) => Found::Refuted,
        };
        Report { outcome, verdict: found, reason: ended(reason), text: ended(text), json: ended(json) }
    }

    /// The report of a run of one pass.
    fn of_run(run: &RunReport) -> Result<Report, Failure> {
        let json = to_json(run)?;
        let Some(pass) = run.passes.first() else {
            return Err(Failure::new(Status::Internal, "a run without a report"));
        };
        let outcome = match pass.outcome {
            pipeline::Outcome::Accepted => Outcome::Accepted,
            pipeline::Outcome::Unchanged => Outcome::Unchanged,
            pipeline::Outcome::Refused => Outcome::Refused,
            pipeline::Outcome::Faulted => Outcome::Faulted,
        };
        let of_fault = pass.fault.as_ref().map(|fault| fault.message.clone());
        let of_verdict = pass.verdict.as_ref().map(|verdict| verdict.reason.clone());
        let reason = of_fault.or(of_verdict).unwrap_or_default();
        Ok(Report::new(outcome, pass.verdict.as_ref(), reason, plain(&report::run_text(run, 0)), json))
    }
}

/// A text without the colours of a terminal.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

pub fn to_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(|e| Failure::new(Status::Internal, e.to_string()))
}

fn run(model: &mut Model, pass: &mut crate::pass::Pass) -> Result<Report, Failure> {
    let host = model.host.clone();
    let inner = model.whole()?;
    let mut settings = Settings::plain(&host.config, host.registry.clone(), host.judge.clone());
    let ran = pass.with(|spec| pipeline::run(inner, std::slice::from_mut(spec), &mut settings, &mut Silent));
    match ran {
        Ok(report) => Report::of_run(&report),
        Err(error @ RunError::NotGranted { .. }) => Err(Failure::new(Status::NotGranted, error.to_string())),
        Err(error) => Err(Failure::file(error.to_string())),
    }
}

/// Runs a pass on a model, judges what it did, and lets it stand or takes it back; then the built-in passes, which are judged too. A
/// refusal or a fault is a report, no failure.
///
/// # Safety
///
/// `report` points to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_run(model: Id, pass: Id, report: *mut Id) -> Status {
    call(|| {
        place(report, "report")?;
        let (model, pass) = (handles::model(model)?, handles::pass(pass)?);
        // Always the pass first, so that two threads do not wait for each other.
        let mut pass = lock(&pass)?;
        let made = run(&mut *lock(&model)?, &mut pass)?;
        let made = add(Object::Report(Arc::new(made)))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(report, made, "report") }
    })
}

#[derive(serde::Serialize)]
struct Lowering<'a> {
    nodes: usize,
    remarks: &'a [ge::Remark],
    #[serde(flatten)]
    judged: &'a pipeline::Judged,
}

fn lower(model: &mut Model, host: &Host, file: &Path) -> Result<Report, Failure> {
    let format = ge::Format::of(file).map_err(|e| Failure::input(e.to_string()))?;
    let inner = model.whole()?;
    let failed = |message: String| Failure::new(Status::NotLowered, message);
    if host.judge.mode != engine::verify::Mode::MaxAutotune {
        return Err(failed("lowering to a launch plan (reduce-overhead) is not supported; max-autotune is".into()));
    }
    let lowered =
        ge::draft(&inner.graph, &ge::Options::default(), &host.registry).map_err(|e| failed(e.to_string()))?;
    let bytes = lowered.graph.encode(ge::Format::Bin);
    // Where nobody states a policy, what is unknown of a lowered graph is written, and said to be unproved.
    let mut judging = host.judge.clone();
    if !host.is_policy_stated {
        judging.policy = engine::verify::Policy::Advisory;
    }
    let judged = pipeline::judge_lowered(&bytes, &lowered.host, &inner.graph, &host.registry, &judging);
    let outcome = if judged.verdict.accepted { Outcome::Accepted } else { Outcome::Refused };
    if judged.verdict.accepted {
        write_lowered(host, inner, &lowered, file, format)?;
    }
    let about = Lowering { nodes: lowered.graph.len(), remarks: &lowered.remarks, judged: &judged };
    let text = format!("{}\n", report::verdict_words(&judged.verdict));
    Ok(Report::new(outcome, Some(&judged.verdict), judged.verdict.reason.clone(), plain(&text), to_json(&about)?))
}

fn write_lowered(
    host: &Host,
    model: &engine::graph::Model,
    lowered: &ge::Lowered<ge::Draft>,
    file: &Path,
    format: ge::Format,
) -> Result<(), Failure> {
    let options = pipeline::device_options(&host.config.compiler, &model.graph, lowered);
    let beside = |what: &str| PathBuf::from(format!("{}.{what}.json", file.display()));
    for (path, bytes) in [
        (beside("options"), (to_json(&options)? + "\n").into_bytes()),
        (beside("host"), (to_json(&lowered.host)? + "\n").into_bytes()),
        (file.to_owned(), lowered.graph.encode(format)),
    ] {
        formats::write_whole(&path, |out| std::io::Write::write_all(out, &bytes))
            .map_err(|e| Failure::file(format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(())
}

/// Lowers a model to the NPU, judges what came of it, and writes it unless it is refused, with `FILE.options.json` (of the device) and
/// `FILE.host.json` (what the host does around the graph) beside it. The ending decides: `.txt`, `.pbtxt`, `.py`, `.bin`.
///
/// # Safety
///
/// `file` is a text, `report` points to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_lower(model: Id, file: Text, report: *mut Id) -> Status {
    call(|| {
        place(report, "report")?;
        let model = handles::model(model)?;
        // SAFETY: a text of the caller.
        let file = unsafe { path(file, "file") }?;
        let mut model = lock(&model)?;
        let host = model.host.clone();
        let made = add(Object::Report(Arc::new(lower(&mut model, &host, &file)?)))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(report, made, "report") }
    })
}

/// What a report says.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ReportView {
    /// What became of it.
    pub outcome: Outcome,
    /// What the verdict is.
    pub verdict: Found,
    /// Why it was refused, or faulted; else what the verdict rests on, or empty.
    pub reason: Text,
    /// For people.
    pub text: Text,
    /// All of it, as `airlock run --format json` has it.
    pub json: Text,
}

/// Reads a report. Its texts last until the report is freed.
///
/// # Safety
///
/// `view` points to a place for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_report_read(report: Id, view: *mut ReportView) -> Status {
    call(|| {
        let report = handles::report(report)?;
        let given = ReportView {
            outcome: report.outcome,
            verdict: report.verdict,
            reason: Text::of_ended(&report.reason),
            text: Text::of_ended(&report.text),
            json: Text::of_ended(&report.json),
        };
        // SAFETY: a place for it, as the caller promises.
        unsafe { give(view, given, "view") }
    })
}
