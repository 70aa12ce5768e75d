//! `airlock ops`: what is known of operators.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Reading, load, output, progress};
use crate::exec::Kernels;
use crate::golden::{Suite, SuiteReport};
use crate::ops::{Operator, Registry};

/// Tells what Airlock knows of operators.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock ops                     (a table of all)\n  airlock ops aten.add            (all overloads of one)\n  airlock ops aten.add.Tensor --format json\n  airlock ops --golden tests/golden              (make recorded calls, and compare)"
)]
pub struct OpsArgs {
    /// A target (`aten.add.Tensor`) or a name without overload (`aten.add`).
    name: Option<String>,
    /// Make the recorded calls of a folder (`*.gold`) of operators whose names begin so, and tell which differ.
    #[arg(long, value_name = "DIR")]
    golden: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Known {
    target: String,
    schema: String,
    rule: bool,
    pure: bool,
    writes: Vec<String>,
    random: bool,
    effect: Option<&'static str>,
}

pub fn ops(args: &OpsArgs, global: &Global) -> anyhow::Result<Exit> {
    let registry = load::registry(&args.reading)?;
    if let Some(folder) = &args.golden {
        return golden(folder, args.name.as_deref(), &registry, global);
    }
    let chosen = choose(&registry, args.name.as_deref())?;
    let known: Vec<Known> = chosen.into_iter().map(describe).collect();
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({ "operators": known }))?,
        _ => output::print(&table(&known))?,
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
    let Some(name) = name else { return Ok(registry.operators().iter().collect()) };
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

fn describe(operator: &Operator) -> Known {
    let effects = &operator.effects;
    let written = operator.schema.params.iter().zip(&effects.params).filter(|(_, a)| a.writes);
    Known {
        target: operator.schema.target(),
        schema: operator.schema.to_string(),
        rule: operator.rule.is_some(),
        pure: effects.is_pure(),
        writes: written.map(|(p, _)| p.name.to_string()).collect(),
        random: effects.random,
        effect: effects.side.map(|s| s.name()),
    }
}

fn table(known: &[Known]) -> String {
    let mut text = String::new();
    for k in known {
        let mut facts: Vec<String> = vec![if k.rule { "type rule".into() } else { "no type rule".into() }];
        if k.pure {
            facts.push("pure".into());
        }
        if !k.writes.is_empty() {
            facts.push(format!("writes {}", k.writes.join(", ")));
        }
        if k.random {
            facts.push("random".into());
        }
        facts.extend(k.effect.map(str::to_string));
        text.push_str(&format!("{}\n    {}\n", k.schema, facts.join(", ")));
    }
    text
}
