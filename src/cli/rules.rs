//! `airlock rules`: the rules by which values are shown equal.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, output};
use crate::pipeline::load::Sources;
use crate::pipeline::user_rules;
use crate::rules::Level;
use crate::rules::catalog::{FAMILIES, Family, find};
use crate::verify::Admitted;

/// Tells by which rules values are shown equal: all families, or what one says and when it is wrong. Admits rules of the user's own.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock rules\n  airlock rules casts\n  airlock rules cast-of-cast\n  airlock rules --admit gelu-by-erfc.case\n  airlock verify a.fx b.fx --rules gelu-by-erfc.case"
)]
pub struct RulesArgs {
    /// A family, or a rule that a verdict names.
    #[arg(conflicts_with = "admit")]
    name: Option<String>,
    /// Run the gate over a rule of your own: a `.case` whose first graph may be replaced by the second one, labelled `exact` or `real`.
    #[arg(long, value_name = "FILE.case")]
    admit: Vec<PathBuf>,
    /// More operators.
    #[arg(long, value_name = "FILE.toml")]
    ops: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Gate {
    file: String,
    rule: Option<String>,
    level: Option<Level>,
    admitted: Option<Admitted>,
    backwards: Option<Admitted>,
    reason: String,
}

/// Runs the gate over each file: exit 0 where all are admitted.
fn admit(args: &RulesArgs, global: &Global) -> anyhow::Result<Exit> {
    let registry = Sources { ops: &args.ops, ..Sources::default() }.registry()?;
    let gate = |file: &PathBuf| {
        let (file, found) = (file.display().to_string(), user_rules::admitted(file, &registry));
        match found {
            Ok(rule) => Gate {
                file,
                rule: Some(rule.name),
                level: Some(rule.level),
                admitted: Some(rule.admitted),
                backwards: rule.backwards,
                reason: String::new(),
            },
            Err(fault) => {
                Gate { file, rule: None, level: None, admitted: None, backwards: None, reason: fault.to_string() }
            }
        }
    };
    let all: Vec<Gate> = args.admit.iter().map(gate).collect();
    let exit = if all.iter().all(|g| g.admitted.is_some()) { Exit::Done } else { Exit::Refused };
    if global.format == Format::Json {
        output::print_json(&all)?;
        return Ok(exit);
    }
    let line = |g: &Gate| match (&g.rule, g.level, g.admitted) {
        (Some(rule), Some(level), Some(by)) => {
            let word = format!("{level:?}").to_lowercase();
            let way = if g.backwards.is_some() { "" } else { ", one way" };
            match by.inputs() {
                None => format!("admitted  {rule}  {word}  proved{way}\n"),
                Some(inputs) => {
                    format!("admitted  {rule}  {word}  no proof; {inputs} runs do not contradict it{way}\n")
                }
            }
        }
        _ => format!("refused   {}\n", g.reason),
    };
    output::print(&all.iter().map(line).collect::<String>())?;
    Ok(exit)
}

#[derive(Serialize)]
struct Told {
    family: &'static str,
    level: Level,
    rules: &'static [&'static str],
    file: String,
    text: String,
}

pub fn rules(args: &RulesArgs, global: &Global) -> anyhow::Result<Exit> {
    if !args.admit.is_empty() {
        return admit(args, global);
    }
    let families: Vec<&Family> = match &args.name {
        Some(name) => match find(name) {
            Some(family) => vec![family],
            None => bail!("there is no rule or family `{name}`; `airlock rules` lists them"),
        },
        None => FAMILIES.iter().collect(),
    };
    if global.format == Format::Json {
        let told = |f: &&Family| Told {
            family: f.name,
            level: f.level,
            rules: f.rules,
            file: format!("src/rules/{}", f.file),
            text: f.text(),
        };
        output::print_json(&families.iter().map(told).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    let text = match args.name {
        Some(_) => families.iter().map(|f| whole(f)).collect::<String>(),
        None => table(&families),
    };
    output::print(text.trim_end())?;
    Ok(Exit::Done)
}

fn level(family: &Family) -> &'static str {
    match family.level {
        Level::Exact => "exact",
        Level::Real => "real",
    }
}

fn table(families: &[&Family]) -> String {
    let width = families.iter().map(|f| f.name.len()).max().unwrap_or(0);
    let line = |f: &&Family| format!("{:<width$}  {:<5}  {}\n", f.name, level(f), f.title());
    families.iter().map(line).collect()
}

fn whole(family: &Family) -> String {
    let rules = if family.rules.is_empty() { String::new() } else { format!("rules: {}\n", family.rules.join(", ")) };
    format!("{} ({}; src/rules/{})\n{rules}\n{}\n", family.name, level(family), family.file, family.text())
}
