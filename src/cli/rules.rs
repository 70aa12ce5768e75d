//! `airlock rules`: the rules by which values are shown equal.

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, output};
use crate::rules::Level;
use crate::rules::catalog::{FAMILIES, Family, find};

/// Tells by which rules values are shown equal: all families, or what one says and when it is wrong.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  airlock rules\n  airlock rules casts\n  airlock rules cast-of-cast")]
pub struct RulesArgs {
    /// A family, or a rule that a verdict names.
    name: Option<String>,
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
