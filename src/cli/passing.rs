//! What commands that run passes share: which passes, what they are given, and where they run.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;

#[cfg(target_os = "linux")]
use super::load;
use super::{Global, Reading, progress};
use crate::contract::{Limits, LoadError};
use crate::pipeline::{Config, FilePass, PassSpec, Stage};
#[cfg(target_os = "linux")]
use crate::sandbox::worker::{WorkerPass, Workers};
use crate::sandbox::{AnyPass, Engine, GRANTS, Pass};

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

/// The passes of the command line: `P.wasm[@STAGE]` each.
pub fn named_passes(texts: &[String], passing: &Passing) -> anyhow::Result<Vec<FilePass>> {
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
        wanted.push(FilePass { path: path.into(), stage, config, options: options.clone(), grant });
    }
    Ok(wanted)
}

/// Refuses grants that there are not.
pub fn check_grants(wanted: &[FilePass]) -> anyhow::Result<()> {
    if let Some(grant) = wanted.iter().flat_map(|p| &p.grant).find(|g| !GRANTS.contains(&g.as_str())) {
        bail!("there is nothing called `{grant}` to grant to a pass; there is {}", GRANTS.join(", "));
    }
    Ok(())
}

/// Where passes run.
pub enum Place {
    Here(Engine),
    #[cfg(target_os = "linux")]
    Apart(Workers, Vec<(String, String)>),
}

impl Place {
    pub fn of(passing: &Passing, limits: &Limits, reading: &Reading, passes: usize) -> anyhow::Result<Self> {
        if passing.in_process {
            return Ok(Place::Here(Engine::new(limits)?));
        }
        #[cfg(target_os = "linux")]
        {
            let operators = load::operator_texts(reading)?;
            let mut workers = Workers::of_this_program().with_cache(super::cache::of_run(passing.no_cache));
            if passes > 1 {
                // They come up while the first is compiled or loaded.
                workers = workers.with_pool(passes.saturating_sub(1), 0, limits, &operators)?;
            }
            Ok(Place::Apart(workers, operators))
        }
        #[cfg(not(target_os = "linux"))]
        bail!(
            "there are no worker processes to run passes in but on Linux; --in-process runs them in this process, with one wall less"
        );
    }

    /// Loads the component in a file.
    fn load(&self, path: &Path, limits: &Limits) -> Result<AnyPass<'_>, LoadError> {
        match self {
            Place::Here(engine) => Pass::load_file(path, engine, limits).map(AnyPass::Here),
            #[cfg(target_os = "linux")]
            Place::Apart(workers, operators) => {
                WorkerPass::load_file(path, workers, operators, limits).map(|p| AnyPass::Apart(Box::new(p)))
            }
        }
    }
}

pub fn load_passes<'e>(
    wanted: Vec<FilePass>,
    config: &Config,
    place: &'e Place,
    global: &Global,
) -> anyhow::Result<Vec<PassSpec<'e>>> {
    let bar = progress::bar(global, wanted.len(), "Compiling");
    let mut specs = Vec::new();
    for pass in wanted {
        let loaded = place
            .load(&pass.path, &config.file.limits)
            .with_context(|| format!("cannot load {}", pass.path.display()))?;
        let FilePass { path, stage, config, options, grant } = pass;
        specs.push(PassSpec { pass: loaded, file: path.display().to_string(), stage, config, options, grants: grant });
        bar.inc(1);
    }
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
