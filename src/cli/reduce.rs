//! `airlock reduce`: the smallest model on which it still happens.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::convert::write_model;
use super::passing::{self, Passing};
use super::{Exit, Format, Global, Mode, Policy, Reading, output, progress};
use crate::graph::Model;
use crate::pipeline::happening::{Happening, Trial};
use crate::pipeline::load::problems;
use crate::pipeline::{self, Config, Settings, outputs, settle};

/// Finds the smallest model on which a pass is still refused or faults as it does on this one, or on which a command still fails.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  airlock reduce model.pt2 --pass split.wasm -o small.fx
  airlock reduce model.fx --check './fails.sh' -o small.fx
  airlock reduce model.pt2 --pass split.wasm --check 'python compile.py' -o small.pt2

With --check the command is given a file with the model, as its last argument or where it says {}; with --pass too, the model that
the pass edited. It fails while it ends as it does on the whole model, which must not be with 0.

Exit: 0 reduced, 2 bad input, or nothing happens on the whole model.")]
pub struct ReduceArgs {
    /// The model: .pt2 or .fx; `-` is standard input.
    model: PathBuf,
    /// A pass, and the stage in which it runs (`@pre`, the default, or `@post`). May be given more than once.
    #[arg(long = "pass", value_name = "P.wasm[@STAGE]", required_unless_present = "check")]
    passes: Vec<String>,
    /// A command that fails on the model.
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// The small model: .pt2 or .fx; `-` is text on standard output.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Seconds after which the smallest model so far is written.
    #[arg(long, value_name = "S", default_value = "60", value_parser = super::seconds)]
    time: f64,
    /// The NPU path.
    #[arg(long, value_parser = super::modes(), default_value = "max-autotune")]
    mode: Mode,
    /// What a verdict must say to be accepted.
    #[arg(long, value_parser = super::policies(), default_value = "default")]
    policy: Policy,
    /// The configuration: limits, and switches of built-in passes.
    #[arg(long, value_name = "airlock.toml")]
    config: Option<PathBuf>,
    #[command(flatten)]
    passing: Passing,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Report<'a> {
    model: String,
    output: String,
    happens: &'a Happening,
    nodes: usize,
    nodes_before: usize,
    tried: usize,
    is_smallest: bool,
}

pub fn reduce(args: &ReduceArgs, global: &Global) -> anyhow::Result<Exit> {
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let reading = args.reading.under(&config);
    let wanted = passing::named_passes(&args.passes, &args.passing, false)?;
    pipeline::check_grants(&wanted)?;
    check_output(args, global, &reading)?;
    let place = passing::place(&args.passing, &config.file.limits, &reading, (wanted.len(), false))?;
    let specs = passing::load_passes(wanted, &config, &place, global)?;
    let loaded = reading.sources().model(&args.model)?;
    let folder = tempfile::tempdir().context("cannot make a folder for the models to try")?;
    let ending = args.output.extension().map_or("fx".into(), |e| e.to_string_lossy());
    let file = folder.path().join(format!("model.{ending}"));
    let mut judge = settle::judging(args.mode, args.policy, &config)?;
    judge.budget.shrinks = 0;
    let settings = Settings::plain(&config, loaded.registry.clone(), judge);
    let check = args.check.as_deref().map(|command| (command, file.as_path()));
    let mut trial = Trial { specs, settings, check };
    let Some(happens) = trial.happens(&loaded.model)? else {
        bail!("nothing happens on {}: {}", args.model.display(), expected(args));
    };
    let bar = progress::spinner(global, "Reducing".into());
    let deadline = Instant::now().checked_add(Duration::from_secs_f64(args.time)).context("--time is too long")?;
    let mut test = |model: &Model| {
        let mut graph = model.graph.clone();
        bar.set_message(format!("{} nodes", graph.len()));
        problems(&mut graph, &loaded.registry).is_empty()
            && trial.happens(model).is_ok_and(|found| found.as_ref() == Some(&happens))
    };
    let reduced = pipeline::reduce(loaded.model.clone(), deadline, &mut test);
    bar.finish_and_clear();
    write_model(&reduced.model, &loaded.registry, &args.output)?;
    let (nodes, nodes_before) = (reduced.model.graph.len(), loaded.model.graph.len());
    if global.format == Format::Json {
        let (model, output) = (args.model.display().to_string(), args.output.display().to_string());
        let (tried, is_smallest) = (reduced.tried, reduced.is_done);
        output::print_json(&Report { model, output, happens: &happens, nodes, nodes_before, tried, is_smallest })?;
    } else {
        let end = if reduced.is_done { "" } else { "; time ran out, --time gives more" };
        let what = format!("{nodes_before} nodes to {nodes}, on which {happens}; {} models tried{end}", reduced.tried);
        output::status(global, "Reduced", &what);
    }
    Ok(Exit::Done)
}

fn check_output(args: &ReduceArgs, global: &Global, reading: &Reading) -> anyhow::Result<()> {
    if args.output == Path::new("-") {
        if global.format == Format::Json {
            bail!("standard output cannot hold both the model (-o -) and the report (--format json): name a file");
        }
        return Ok(());
    }
    outputs::check_ending(&args.output)?;
    outputs::check(&[&args.output])?;
    Ok(outputs::check_apart(&[&args.output], &reading.files(&[&args.model]))?)
}

/// What was expected of the whole model.
fn expected(args: &ReduceArgs) -> &'static str {
    match &args.check {
        Some(_) => "the command ends with 0; it must fail on the whole model",
        None => "every pass is accepted, or edits nothing; one must be refused or fault on the whole model",
    }
}
