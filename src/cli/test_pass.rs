//! `airlock test --pass`: what a pass must come to on graphs of its author's. Sources are built first, into a file that is gone afterwards.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use super::passing::{Passing, load_passes, named_passes, place};
use super::{Exit, Format, Global, Reading, output, progress};
use crate::guest::{self, BuildOptions, Source};
use crate::pipeline::pass_cases::{Found, alone, run_case};
use crate::report::plain;
use crate::verify::Policy;

#[derive(Serialize)]
struct Report {
    cases: Vec<Found>,
    right: usize,
    wrong: usize,
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
    (passing, symbols, policy): (&Passing, bool, Policy),
    reading: &Reading,
    global: &Global,
) -> anyhow::Result<Exit> {
    if !matches!(global.format, Format::Text | Format::Json) {
        bail!("what becomes of a pass's cases is shown as text or json");
    }
    let config = alone();
    let folder = tempfile::tempdir().context("no temporary folder can be made")?;
    let component = component(pass, folder.path(), global)?;
    let place = place(passing, &config.file.limits, reading, (cases.len(), symbols))?;
    let wanted = named_passes(&[component.display().to_string()], passing, symbols)?;
    let mut specs = load_passes(wanted, &config, &place, global)?;
    let Some(spec) = specs.first_mut() else { bail!("there is no pass in {}", pass.display()) };
    let registry = reading.sources().registry()?;
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
