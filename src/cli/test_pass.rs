//! `airlock test --pass`: what a pass must come to on graphs of its author's.
//!
//! A `.case` file of a pass has `label = "accepted"`, `refused`, `unchanged` or `faulted` in its `meta`; `config` and `[options]` are what the user
//! gives the pass. Where it has an `after`, that is the output, to the letter. Sources are built first, into a file that is gone afterwards.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use super::passing::{Passing, Place, named_passes};
use super::{Exit, Format, Global, Reading, load, output, progress};
use crate::formats::text::{self, ReadOptions, case};
use crate::graph::{Graph, Model};
use crate::guest::{self, BuildOptions, Source};
use crate::ops::Registry;
use crate::pipeline::{self, Config, Observer, Outcome, PassReport, PassSpec, Settings};
use crate::report::plain;
use crate::verify::{Budget, JudgeOptions, Policy};

/// What a pass came to on one case.
#[derive(Serialize)]
struct Found {
    file: String,
    label: String,
    right: bool,
    outcome: &'static str,
    /// Why it was refused or faulted, or what is wrong with the output.
    reason: String,
}

#[derive(Serialize)]
struct Report {
    cases: Vec<Found>,
    right: usize,
    wrong: usize,
}

struct Quiet;

impl Observer for Quiet {
    fn begin(&mut self, _: &str, _: &'static str) {}
    fn end(&mut self, _: &PassReport) {}
}

/// The pass of the current folder, where no path is named.
pub fn pass_here() -> Option<PathBuf> {
    let here = PathBuf::from(".");
    Source::of(&here).is_ok().then_some(here)
}

/// Runs a pass, a component or its sources, on cases: those that are named, else those of its folder.
pub fn test(
    pass: &Path,
    cases: Vec<PathBuf>,
    (passing, policy): (&Passing, Policy),
    reading: &Reading,
    global: &Global,
) -> anyhow::Result<Exit> {
    if !matches!(global.format, Format::Text | Format::Json) {
        bail!("what becomes of a pass's cases is shown as text or json");
    }
    let mut config = Config::default();
    config.file.builtin = crate::passes::BUILT_IN.iter().map(|b| (b.name.to_string(), false)).collect();
    let folder = tempfile::tempdir().context("no temporary folder can be made")?;
    let component = component(pass, folder.path(), global)?;
    let place = Place::of(passing, &config.file.limits, reading, cases.len())?;
    let wanted = named_passes(&[component.display().to_string()], passing)?;
    let mut specs = super::passing::load_passes(wanted, &config, &place, global)?;
    let Some(spec) = specs.first_mut() else { bail!("there is no pass in {}", pass.display()) };
    let registry = load::registry(reading)?;
    let bar = progress::bar(global, cases.len(), "Testing");
    let mut found = Vec::new();
    for file in &cases {
        found.push(run_case(file, spec, &config, &registry, policy)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    show(found, global)
}

/// The component, which is built where sources are named.
fn component(pass: &Path, folder: &Path, global: &Global) -> anyhow::Result<PathBuf> {
    if pass.extension().is_some_and(|ending| ending == "wasm") {
        return Ok(pass.to_owned());
    }
    let spinner = progress::spinner(global, format!("building {}", pass.display()));
    let options = BuildOptions { quiet: true };
    let built = guest::build(pass, Some(&folder.join("pass.wasm")), &options);
    spinner.finish_and_clear();
    Ok(built?.component)
}

fn run_case(
    file: &Path,
    spec: &mut PassSpec<'_>,
    config: &Config,
    registry: &std::sync::Arc<Registry>,
    policy: Policy,
) -> anyhow::Result<Found> {
    let name = file.display().to_string();
    let bytes = load::bytes(file)?;
    let text = std::str::from_utf8(bytes.as_slice()).with_context(|| format!("{name} is not UTF-8 text"))?;
    let case = case::read_of_pass(text, &ReadOptions::of_file(&name))?;
    let expected = Expected::of(&case.meta).with_context(|| name.clone())?;
    let mut before = case.before;
    let problems = load::problems(&mut before, registry);
    if !problems.is_empty() {
        bail!("{name}: `before` is not well formed:\n  {}", problems.join("\n  "));
    }
    let given = (spec.config.clone(), spec.options.clone());
    spec.options.extend(expected.options);
    spec.config = expected.config.unwrap_or_else(|| given.0.clone());
    let mode = crate::verify::Mode::from_name(case.meta.mode.as_deref().unwrap_or("max-autotune")).unwrap_or_default();
    let judge = JudgeOptions { policy, budget: Budget::searching(), ..JudgeOptions::of_case(&case.meta, mode) };
    let mut settings = Settings {
        config,
        registry: registry.clone(),
        judge,
        mode: mode.name(),
        all_or_nothing: false,
        dump: None,
        reproducers: None,
        record_edits: false,
        certify: false,
    };
    let mut model = Model { graph: before, ..Model::default() };
    let run = pipeline::run(&mut model, std::slice::from_mut(spec), &mut settings, &mut Quiet)?;
    (spec.config, spec.options) = given;
    let Some(pass) = run.passes.first() else { bail!("{name}: the pass did not run") };
    let outcome = word(pass.outcome);
    let differs = case.after.and_then(|after| difference(&model.graph, after, registry));
    let why = pass.fault.as_ref().map(|f| f.message.clone()).or(pass.verdict.as_ref().map(|v| v.reason.clone()));
    let right = outcome == expected.label && differs.is_none();
    let reason = if outcome == expected.label { differs.unwrap_or_default() } else { why.unwrap_or_default() };
    Ok(Found { file: name, label: expected.label, right, outcome, reason })
}

/// What a case expects of a pass, and gives it.
struct Expected {
    label: String,
    config: Option<String>,
    options: Vec<(String, String)>,
}

impl Expected {
    fn of(meta: &case::CaseMeta) -> anyhow::Result<Expected> {
        let label = meta.label.clone();
        if !["accepted", "refused", "unchanged", "faulted"].contains(&label.as_str()) {
            bail!("label = \"{label}\": of a pass it is accepted, refused, unchanged or faulted");
        }
        let text = |key: &str, value: &toml::Value| match value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(anyhow::anyhow!("{key} = {value}: a text was expected")),
        };
        let config = meta.other.get("config").map(|value| text("config", value)).transpose()?;
        let options = meta.other.get("options").and_then(toml::Value::as_table).into_iter().flatten();
        let options =
            options.map(|(key, value)| Ok((key.clone(), text(key, value)?))).collect::<anyhow::Result<_>>()?;
        Ok(Expected { label, config, options })
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Accepted => "accepted",
        Outcome::Unchanged => "unchanged",
        Outcome::Refused => "refused",
        Outcome::Faulted => "faulted",
    }
}

/// The first line in which the output is not what the case has.
fn difference(found: &Graph, mut expected: Graph, registry: &Registry) -> Option<String> {
    // Types are the rules' to say: a case need not state those of calls.
    let _ = load::problems(&mut expected, registry);
    let (found, expected) = (text::write(found), text::write(&expected));
    let mut lines =
        found.lines().map(Some).chain(std::iter::repeat(None)).zip(expected.lines().map(Some).chain([None]));
    let (ours, theirs) = lines.find(|(ours, theirs)| ours != theirs)?;
    let line = |line: Option<&str>| line.map_or("its end".to_owned(), |line| line.trim().to_owned());
    Some(format!("the output has `{}`, expected was `{}`", line(ours), line(theirs)))
}

fn show(cases: Vec<Found>, global: &Global) -> anyhow::Result<Exit> {
    let right = cases.iter().filter(|case| case.right).count();
    let wrong = cases.len().saturating_sub(right);
    let exit = if wrong == 0 { Exit::Done } else { Exit::Refused };
    if global.format == Format::Json {
        output::print_json(&Report { cases, right, wrong })?;
        return Ok(exit);
    }
    let mut text = String::new();
    for case in cases.iter().filter(|case| !case.right || global.verbose > 0) {
        let word = if case.right { "right" } else { "WRONG" };
        let expected = if case.outcome == case.label { String::new() } else { format!(", expected {}", case.label) };
        text.push_str(&format!("{word} {}   {}{expected}\n", plain(&case.file), case.outcome));
        if !case.reason.is_empty() {
            text.push_str(&format!("      {}\n", plain(&case.reason)));
        }
    }
    let noun = if cases.len() == 1 { "case" } else { "cases" };
    text.push_str(&format!("{} {noun}: {right} right, {wrong} wrong\n", cases.len()));
    output::print(&text)?;
    Ok(exit)
}
