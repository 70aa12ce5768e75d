//! `airlock reduce`: the smallest model on which it still happens.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::convert::{write_model, write_model_as};
use super::load::{self, Loaded};
use super::passing::{self, Passing, Place};
use super::{Exit, Format, Global, Mode, Policy, Reading, output, progress, staging};
use crate::graph::Model;
use crate::pipeline::{self, Config, Observer, Outcome, PassReport, PassSpec, RunReport};
use crate::verify::{Finding, Question};

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

/// What happens on a model: what must go on happening.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Happening {
    /// A pass is refused: which, and for which question it is what.
    Refused { pass: String, question: Option<Question>, finding: Finding },
    /// A pass faults: which, and how.
    Faulted { pass: String, fault: &'static str },
    /// The command ends with this, or by a signal.
    Failed { code: Option<i32> },
}

impl std::fmt::Display for Happening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Happening::Refused { pass, question, finding } => {
                let finding = match finding {
                    Finding::Refuted => "refuted",
                    _ => "not shown",
                };
                write!(f, "pass `{pass}` is refused ({} {finding})", question.map_or("a question", Question::name))
            }
            Happening::Faulted { pass, fault } => write!(f, "pass `{pass}` faults ({fault})"),
            Happening::Failed { code: Some(code) } => write!(f, "the command ends with {code}"),
            Happening::Failed { code: None } => write!(f, "the command is killed"),
        }
    }
}

/// Tells what happens on a model.
struct Trial<'a> {
    args: &'a ReduceArgs,
    config: &'a Config,
    specs: Vec<PassSpec<'a>>,
    loaded: &'a Loaded,
    folder: tempfile::TempDir,
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
    let mut reading = args.reading.clone();
    reading.ops.extend(config.file.ops.iter().cloned());
    let wanted = passing::named_passes(&args.passes, &args.passing)?;
    passing::check_grants(&wanted)?;
    check_output(args, global, &reading)?;
    let place = Place::of(&args.passing, &config.file.limits, &reading, wanted.len())?;
    let specs = passing::load_passes(wanted, &config, &place, global)?;
    let loaded = load::model(&args.model, &reading)?;
    let folder = tempfile::tempdir().context("cannot make a folder for the models to try")?;
    let mut trial = Trial { args, config: &config, specs, loaded: &loaded, folder };
    let Some(happens) = trial.happens(&loaded.model)? else {
        bail!("nothing happens on {}: {}", args.model.display(), trial.wanted());
    };
    let bar = progress::spinner(global, "Reducing".into());
    let deadline = Instant::now().checked_add(Duration::from_secs_f64(args.time)).context("--time is too long")?;
    let mut test = |model: &Model| {
        let mut graph = model.graph.clone();
        bar.set_message(format!("{} nodes", graph.len()));
        load::problems(&mut graph, &loaded.registry).is_empty()
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
    if !matches!(args.output.extension().and_then(|e| e.to_str()), Some("pt2" | "fx")) {
        bail!("cannot tell what to write to {}: its ending must be .pt2 or .fx", args.output.display());
    }
    staging::check(&[&args.output])?;
    staging::check_apart(&[&args.output], &reading.files(&[&args.model]))
}

impl Trial<'_> {
    /// What was expected of the whole model.
    fn wanted(&self) -> &'static str {
        match &self.args.check {
            Some(_) => "the command ends with 0; it must fail on the whole model",
            None => "every pass is accepted, or edits nothing; one must be refused or fault on the whole model",
        }
    }

    fn happens(&mut self, model: &Model) -> anyhow::Result<Option<Happening>> {
        let mut model = model.clone();
        let report = self.run(&mut model)?;
        match &self.args.check {
            Some(command) => self.check(command, &model),
            None => Ok(report.passes.iter().find_map(happening)),
        }
    }

    fn run(&mut self, model: &mut Model) -> anyhow::Result<RunReport> {
        if self.specs.is_empty() {
            return Ok(RunReport::default());
        }
        let mut judge = super::verify::options(self.args.mode, self.args.policy, &self.config.file.may_alias);
        judge.budget.shrinks = 0;
        let mut settings = pipeline::Settings {
            config: self.config,
            registry: self.loaded.registry.clone(),
            judge,
            mode: self.args.mode.name(),
            all_or_nothing: false,
            dump: None,
            reproducers: None,
            record_edits: false,
            certify: false,
        };
        Ok(pipeline::run(model, &mut self.specs, &mut settings, &mut Silent)?)
    }

    fn check(&self, command: &str, model: &Model) -> anyhow::Result<Option<Happening>> {
        let ending = self.args.output.extension().map_or("fx".into(), |e| e.to_string_lossy().into_owned());
        let file = self.folder.path().join(format!("model.{ending}"));
        write_model_as(model, &self.loaded.registry, &file, &file)?;
        let path = file.display().to_string();
        let line = if command.contains("{}") { command.replace("{}", &path) } else { format!("{command} {path}") };
        let ended = Command::new("sh")
            .args(["-c", &line])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .with_context(|| format!("cannot run `{line}`"))?;
        Ok((!ended.success()).then(|| Happening::Failed { code: ended.code() }))
    }
}

fn happening(report: &PassReport) -> Option<Happening> {
    let pass = report.name.clone();
    match (report.outcome, &report.verdict, &report.fault) {
        (Outcome::Refused, Some(verdict), _) => {
            Some(Happening::Refused { pass, question: verdict.question, finding: verdict.verdict })
        }
        (Outcome::Faulted, _, Some(fault)) => Some(Happening::Faulted { pass, fault: fault.kind }),
        _ => None,
    }
}

struct Silent;

impl Observer for Silent {
    fn begin(&mut self, _: &str, _: &'static str) {}
    fn end(&mut self, _: &PassReport) {}
}
