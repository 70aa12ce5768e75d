//! `airlock ops`: what is known of operators.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use super::{Exit, Format, Global, Reading, output, progress};
use crate::exec::Kernels;
use crate::golden::{Suite, SuiteReport};
use crate::ops::{Operator, Registry};
use crate::report::operators::{self, Examples};

/// Tells what Airlock knows of operators.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock ops                     (a table of all)\n  airlock ops aten.add            (all overloads of one)\n  airlock ops aten.add.Tensor --format json\n  airlock ops --lowering                         (what lowers to GE, and what does not)\n  airlock ops --golden tests/golden              (make recorded calls, and compare)"
)]
pub struct OpsArgs {
    /// A target (`aten.add.Tensor`) or a name without overload (`aten.add`).
    name: Option<String>,
    /// Make the recorded calls of a folder (`*.gold`) of operators whose names begin so, and tell which differ.
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    /// Print tables in Markdown, one a family.
    #[arg(long, conflicts_with = "golden")]
    markdown: bool,
    /// Count what lowers operators to GE, and name those that nothing lowers.
    #[arg(long, conflicts_with_all = ["golden", "markdown"])]
    lowering: bool,
    #[command(flatten)]
    reading: Reading,
}

pub fn ops(args: &OpsArgs, global: &Global) -> anyhow::Result<Exit> {
    let registry = args.reading.sources().registry()?;
    if let Some(folder) = &args.golden {
        return golden(folder, args.name.as_deref(), &registry, global);
    }
    let chosen = choose(&registry, args.name.as_deref())?;
    let known = operators::known(&registry, &Kernels::standard(), chosen);
    let examples = if args.name.is_some() { Examples::Shown } else { Examples::Left };
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({ "operators": known }))?,
        _ if args.lowering => output::print(&operators::write_lowerings(&known))?,
        _ if args.markdown => output::print(&operators::write_markdown(&known, ""))?,
        _ => output::print(&operators::write_text(&known, examples))?,
    }
    Ok(Exit::Done)
}

fn golden(folder: &Path, only: Option<&str>, registry: &Registry, global: &Global) -> anyhow::Result<Exit> {
    let suite = Suite::open(folder, only)?;
    let bar = progress::bar(global, suite.len(), "Calling");
    let report = suite.run(registry, &Kernels::standard(), &|| bar.inc(1))?;
    bar.finish_and_clear();
    match global.format {
        Format::Json => output::print_json(&report)?,
        _ => output::print(&golden_text(&report))?,
    }
    Ok(if report.failures.is_empty() { Exit::Done } else { Exit::Refused })
}

fn golden_text(report: &SuiteReport) -> String {
    let mut text = String::new();
    for f in &report.failures {
        text.push_str(&format!("{}   {}   {}\n", f.sample, f.op, f.reason));
    }
    text.push_str(&format!(
        "{} of {} calls agree; {} of {} operators have a call that agrees\n",
        report.passed, report.samples, report.overloads_passed, report.overloads
    ));
    text
}

fn choose<'a>(registry: &'a Registry, name: Option<&str>) -> anyhow::Result<Vec<&'a Operator>> {
    let Some(name) = name else { return Ok(registry.operators().collect()) };
    let name = name.strip_prefix("torch.ops.").unwrap_or(name);
    let mut found: Vec<&Operator> = registry.get(name).into_iter().collect();
    if found.is_empty() {
        found = registry.overloads(name).collect();
    }
    if found.is_empty() {
        return Err(anyhow!("no operator `{name}` is known; --ops FILE adds operators"));
    }
    Ok(found)
}
