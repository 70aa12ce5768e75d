//! What commands that run passes share: which passes, what they are given, and where they run.

use std::collections::BTreeMap;

use anyhow::bail;
use clap::Args;

use super::{Global, Reading, progress};
use crate::contract::Limits;
use crate::pipeline::{Config, FilePass, PassSpec, Place, Stage};
use crate::sandbox::Engine;

/// What passes are given, and where they run.
#[derive(Args, Debug)]
pub struct Passing {
    /// Given to the passes' `run`.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub pass_config: String,
    /// An option that passes read.
    #[arg(long = "option", value_name = "KEY=VALUE")]
    pub options: Vec<String>,
    /// What passes may have beyond the graph: `constants` (weight bytes).
    #[arg(long, value_name = "GRANT")]
    pub grant: Vec<String>,
    /// Run passes in this process: a hole in the engine is then one in this process. Without this each has processes of its own, behind walls
    /// (`airlock inspect --host`).
    #[arg(long)]
    pub in_process: bool,
    /// Compile passes anew, and keep nothing of it (`airlock cache`).
    #[arg(long)]
    pub no_cache: bool,
}

/// Whether traps are told by their places in sources.
#[derive(Args, Debug, Default)]
pub struct Locating {
    /// Read `P.wasm.debug` beside each pass, as `airlock build` writes it: a trap is told by file and line. For your own passes.
    #[arg(long)]
    pub symbols: bool,
}

/// The passes of the command line: `P.wasm[@STAGE]` each.
pub fn named_passes(texts: &[String], passing: &Passing, symbols: bool) -> anyhow::Result<Vec<FilePass>> {
    let options = options(&passing.options)?;
    let mut wanted: Vec<FilePass> = Vec::new();
    for text in texts {
        let (path, stage) = match text.rsplit_once('@') {
            Some((path, "pre")) => (path, Stage::Pre),
            Some((path, "post")) => (path, Stage::Post),
            Some((_, other)) if !other.contains(['/', '.']) => {
                bail!("--pass {text}: a stage is `pre` or `post`, not `{other}`")
            }
            _ => (text.as_str(), Stage::Pre),
        };
        let (config, grant) = (passing.pass_config.clone(), passing.grant.clone());
        wanted.push(FilePass { path: path.into(), stage, config, options: options.clone(), grant, symbols });
    }
    Ok(wanted)
}

/// Returns where so many passes run; `locates`: where a trap is told by its place.
pub fn place(
    passing: &Passing,
    limits: &Limits,
    reading: &Reading,
    (passes, locates): (usize, bool),
) -> anyhow::Result<Place> {
    if passing.in_process {
        return Ok(Place::Here(if locates { Engine::locating(limits) } else { Engine::new(limits) }?));
    }
    #[cfg(target_os = "linux")]
    {
        let operators = reading.sources().operator_texts()?;
        Ok(Place::apart(super::cache::of_run(passing.no_cache), operators, limits, passes, locates)?)
    }
    #[cfg(not(target_os = "linux"))]
    bail!(
        "there are no worker processes to run passes in but on Linux; --in-process runs them in this process, with one wall less"
    );
}

/// Loads passes, and shows how far that is.
pub fn load_passes<'e>(
    wanted: Vec<FilePass>,
    config: &Config,
    place: &'e Place,
    global: &Global,
) -> anyhow::Result<Vec<PassSpec<'e>>> {
    let bar = progress::bar(global, wanted.len(), "Compiling");
    let specs = place.load_passes(wanted, &config.file.limits, &|| bar.inc(1))?;
    bar.finish_and_clear();
    Ok(specs)
}

fn options(texts: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let mut options = BTreeMap::new();
    for text in texts {
        let Some((key, value)) = text.split_once('=') else { bail!("--option {text}: expected KEY=VALUE") };
        options.insert(key.to_string(), value.to_string());
    }
    Ok(options)
}
