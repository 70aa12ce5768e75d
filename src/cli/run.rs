//! `airlock run`: passes on a model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::convert::write_model;
use super::load::{self, Loaded};
use super::lower::{found, warn_of_options};
use super::passing::{Locating, Passing, load_passes, named_passes, place};
use super::{Exit, Format, Global, Mode, Policy, Reading, Stating, output, progress};
use crate::formats::text::write_node_line;
use crate::graph::Bytes;
use crate::lower::ge;
use crate::pipeline::outputs::{self, Staging};
use crate::pipeline::proofs::{self, ProofFile};
use crate::pipeline::settle::{Flags, Search, Settled};
use crate::pipeline::{
    self, Config, Dump, FilePass, LoweredModel, Lowering, Observer, Outcome, PassReport, Place, RunReport,
};
use crate::report;
use crate::verify::{JudgeOptions, Verdict};

/// Runs passes on a model: each in its sandbox, each judged, what is accepted is written.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  airlock run model.pt2 --pass split.wasm -o out.pt2
  airlock run model.fx --pass a.wasm --pass b.wasm@post --lower out.pbtxt --dump graphs/
  airlock run --print-config

Exit: 0 all accepted, 1 a pass was refused, 2 bad input (nothing written), 3 a pass faulted.")]
pub struct RunArgs {
    /// The model: .pt2 or .fx; `-` is standard input.
    #[arg(required_unless_present = "print_config")]
    model: Option<PathBuf>,
    /// A pass, and the stage in which it runs (`@pre`, the default, or `@post`). May be given more than once.
    #[arg(long = "pass", value_name = "P.wasm[@STAGE]")]
    passes: Vec<String>,
    /// The edited model: .pt2 or .fx; `-` is text on standard output.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The NPU graph of the edited model: .txt, .pbtxt, .py or .bin.
    #[arg(long, value_name = "OUT")]
    lower: Option<PathBuf>,
    /// Keep the graph before and after each pass, and reproducers, in this folder.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Keep a file for each refusal and fault that runs it again.
    #[arg(long, value_name = "DIR")]
    reproducer: Option<PathBuf>,
    /// The edits that passes made, in order, one JSON object a line; nodes by name.
    #[arg(long, value_name = "OUT.jsonl")]
    edits: Option<PathBuf>,
    /// Keep what each acceptance rests on in this folder: a certificate and the graph that the pass left. `airlock check-certificate DIR MODEL OUT`
    /// shows all of it again.
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
    /// A report for people.
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    /// Configuration; without it the nearest airlock.toml from the current folder upwards.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show what holds and from where, and do nothing.
    #[arg(long)]
    print_config: bool,
    /// The NPU path.
    #[arg(long, value_parser = super::modes())]
    mode: Option<Mode>,
    /// What a verdict must say to be accepted.
    #[arg(long, value_parser = super::policies())]
    policy: Option<Policy>,
    /// Write the original unless no pass was dropped.
    #[arg(long)]
    all_or_nothing: bool,
    /// Run no built-in passes.
    #[arg(long)]
    no_builtin: bool,
    /// Fuel of each pass, whatever the graph.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MOST))]
    fuel: Option<u64>,
    /// Bytes of memory of each pass.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MOST))]
    memory: Option<u64>,
    /// Seconds of each pass.
    #[arg(long, value_name = "S", value_parser = seconds)]
    time: Option<f64>,
    /// Seed of the inputs on which graphs are run before and after; with it nothing rests on fingerprints.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// On how many inputs graphs are run before and after where values are not proved; 0: on none.
    #[arg(long, value_name = "N")]
    trials: Option<usize>,
    /// Seconds that this may take, for each pass.
    #[arg(long, value_name = "S", value_parser = seconds)]
    trial_time: Option<f64>,
    #[command(flatten)]
    stating: Stating,
    #[command(flatten)]
    passing: Passing,
    #[command(flatten)]
    locating: Locating,
    #[command(flatten)]
    reading: Reading,
    #[arg(skip)]
    in_memory: Memory,
}

/// What is no file, though it is named like one.
#[derive(Default)]
pub(super) struct Memory {
    /// The model.
    pub(super) model: Option<Bytes>,
    /// Where outputs are written as they stand, by name.
    pub(super) places: BTreeMap<PathBuf, PathBuf>,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memory of {:?}", self.places.keys())
    }
}

/// The largest limit: what TOML can hold.
const MOST: u64 = i64::MAX.unsigned_abs();

/// Reads a number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        _ => Err("expected a number of seconds, 0 or more".into()),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    model: &'a str,
    mode: &'static str,
    policy: &'static str,
    passes: &'a [PassReport],
    builtin: &'a [PassReport],
    outputs: &'a Outputs,
}

#[derive(Serialize, Default)]
struct Outputs {
    model: Option<String>,
    lowered: Option<String>,
    /// What was found of the lowered graph.
    lowering: Option<LoweringReport>,
}

#[derive(Serialize)]
struct LoweringReport {
    nodes: usize,
    remarks: Vec<ge::Remark>,
    verdict: Option<Verdict>,
    defined: usize,
    held: usize,
    opaque: Vec<ge::Opaque>,
}

pub fn run(args: &RunArgs, global: &Global) -> anyhow::Result<Exit> {
    let settled = settle(args)?;
    if args.print_config {
        if global.format == Format::Json {
            bail!("--print-config prints TOML; it has no --format json");
        }
        output::print(&settled.to_toml()?)?;
        return Ok(Exit::Done);
    }
    let (reading, wanted) = checked(args, &settled, global)?;
    let expected = (wanted.len(), wanted.iter().any(|w| w.symbols));
    let place = place(&args.passing, &settled.config.file.limits, &reading, expected)?;
    let done = perform(args, &settled, (&reading, wanted), &place, global)?;
    show(args, global, &done)?;
    Ok(done.exit)
}

/// Refuses what could not be done, before anything runs; returns what is read and which passes run.
pub(super) fn checked(args: &RunArgs, settled: &Settled, global: &Global) -> anyhow::Result<(Reading, Vec<FilePass>)> {
    let reading = args.reading.under(&settled.config);
    let wanted = settled.passes(named_passes(&args.passes, &args.passing, args.locating.symbols)?);
    pipeline::check_grants(&wanted)?;
    check_outputs(args, settled, global, (&reading, &wanted))?;
    Ok((reading, wanted))
}

/// A run that is over, its outputs written.
pub(super) struct Done {
    model: String,
    mode: &'static str,
    policy: &'static str,
    run: RunReport,
    outputs: Outputs,
    pub(super) exit: Exit,
    /// Outputs that were written in place.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(super) in_place: Vec<PathBuf>,
}

impl Done {
    /// Returns what `--format json` prints.
    pub(super) fn report(&self) -> impl Serialize + '_ {
        let Done { model, mode, policy, run, outputs, .. } = self;
        Report { model, mode, policy, passes: &run.passes, builtin: &run.builtin, outputs }
    }
}

/// Runs passes on a model, and writes what was asked for.
pub(super) fn perform(
    args: &RunArgs,
    settled: &Settled,
    (reading, wanted): (&Reading, Vec<FilePass>),
    place: &Place,
    global: &Global,
) -> anyhow::Result<Done> {
    let Some(path) = args.model.as_deref() else { bail!("no model given") };
    let mut specs = load_passes(wanted, &settled.config, place, global)?;
    let bytes = args.in_memory.model.clone().map_or_else(|| pipeline::load::bytes(path), Ok)?;
    let mut loaded = reading.sources().model_of_bytes(path, bytes)?;
    load::warn_of_absent_weights(&loaded, path, reading);
    load::warn_of_unknown_inputs(settled, &loaded);
    let mut settings = settings(args, settled, &loaded)?;
    let mut observer = Shown::new(global, specs.len());
    let before = args.report.is_some().then(|| loaded.model.graph.clone());
    let run = pipeline::run(&mut loaded.model, &mut specs, &mut settings, &mut observer)?;
    observer.finish();
    let page = before.map(|before| {
        let (a, b) = (&before, &loaded.model.graph);
        let changes = report::diff(a, b, |n| write_node_line(a, n), |n| write_node_line(b, n));
        report::html(&args_model(args), &run, &changes)
    });
    let proofs = args.certificates.as_deref().map(|folder| proofs::files_of_run(folder, &run));
    let asides = Asides {
        page,
        proofs: proofs.unwrap_or_default(),
        edits: args.edits.is_some().then(|| report::edits_jsonl(&run)),
    };
    let (outputs, in_place) = write_outputs(args, &loaded, settled, &asides, global)?;
    let exit = exit_of(&run, args.lower.is_some() && outputs.lowered.is_none());
    let (mode, policy) = (settled.mode.name(), settled.policy.name());
    Ok(Done { model: args_model(args), mode, policy, run, outputs, exit, in_place })
}

#[cfg(target_os = "linux")]
impl RunArgs {
    /// Takes this configuration where none is named.
    pub(super) fn set_config(&mut self, path: &Path) {
        self.config.get_or_insert_with(|| path.to_path_buf());
    }

    /// Returns the model's name and those of all outputs that are files, each with what is written beside it.
    pub(super) fn names(&self) -> (Option<&Path>, Vec<Vec<PathBuf>>) {
        let alone = [&self.output, &self.edits, &self.report].into_iter().flatten().map(|path| vec![path.clone()]);
        let lowered = self.lower.iter().map(|path| [vec![path.clone()], outputs::beside(path).into()].concat());
        (self.model.as_deref(), alone.chain(lowered).collect())
    }

    /// Takes these for what they are named in place of files.
    pub(super) fn set_memory(&mut self, memory: Memory) {
        self.in_memory = memory;
    }

    /// Whether that is in memory, no file.
    fn is_in_memory(&self, path: &Path) -> bool {
        let is_model = self.in_memory.model.is_some() && self.model.as_deref() == Some(path);
        is_model || self.in_memory.places.contains_key(path)
    }

    /// Refuses what means something only where somebody types it: streams, folders that are relative to one's own, another place to run.
    pub(super) fn check_served(&self) -> anyhow::Result<()> {
        if self.print_config {
            bail!("--print-config is for the command line");
        }
        if self.passing.in_process {
            bail!("--in-process is for the command line: what is served runs in workers");
        }
        if self.locating.symbols {
            bail!("--symbols is for the command line: debug information is read for its author alone");
        }
        if self.passing.no_cache {
            bail!("--no-cache is for the command line: whoever serves decides what is kept");
        }
        let Self { model, output, lower, dump, reproducer, edits, certificates, report, config, .. } = self;
        let passes = self.passes.iter().map(|text| Path::new(text.as_str()));
        let files = [model, output, lower, dump, reproducer, edits, certificates, report, config].into_iter().flatten();
        for path in files.map(PathBuf::as_path).chain(passes).chain(self.reading.files(&[])) {
            if !path.is_absolute() && !self.is_in_memory(path) {
                bail!("{}: a job names files by absolute paths", path.display());
            }
        }
        Ok(())
    }
}

fn args_model(args: &RunArgs) -> String {
    args.model.as_deref().map_or_else(String::new, |p| p.display().to_string())
}

fn exit_of(run: &RunReport, is_lowering_refused: bool) -> Exit {
    if run.any(Outcome::Faulted) {
        Exit::Faulted
    } else if run.any(Outcome::Refused) || is_lowering_refused {
        Exit::Refused
    } else {
        Exit::Done
    }
}

/// Returns what holds: flags over file over defaults.
pub(super) fn settle(args: &RunArgs) -> anyhow::Result<Settled> {
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let flags = Flags {
        mode: args.mode,
        policy: args.policy,
        all_or_nothing: args.all_or_nothing,
        no_builtin: args.no_builtin,
        fuel: args.fuel,
        memory: args.memory,
        seconds: args.time,
        search: Search { seed: args.seed, trials: args.trials, seconds: args.trial_time },
    };
    Ok(Settled::of(config, flags)?)
}

/// Refuses outputs that could not be written, before anything runs.
fn check_outputs(
    args: &RunArgs,
    settled: &Settled,
    global: &Global,
    (reading, wanted): (&Reading, &[FilePass]),
) -> anyhow::Result<()> {
    let mut beside = Vec::new();
    if let Some(path) = &args.lower {
        ge::Format::of(path)?;
        pipeline::check_lowers(settled.mode)?;
        beside.extend(outputs::beside(path));
    }
    warn_of_options(settled)?;
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    if to_stdout && global.format == Format::Json {
        bail!("standard output cannot hold both the model (-o -) and the report (--format json): name a file for one");
    }
    let model = args.output.as_deref().filter(|_| !to_stdout);
    model.map_or(Ok(()), outputs::check_ending)?;
    let files: Vec<&Path> = [model, args.lower.as_deref(), args.edits.as_deref(), args.report.as_deref()]
        .into_iter()
        .flatten()
        .chain(beside.iter().map(PathBuf::as_path))
        .collect();
    outputs::check(&files)?;
    let config = settled.config.path.as_deref();
    let passes = wanted.iter().map(|p| p.path.as_path());
    let inputs =
        reading.files(&args.model.iter().map(PathBuf::as_path).chain(config).chain(passes).collect::<Vec<_>>());
    Ok(outputs::check_apart(&files, &inputs)?)
}

fn settings<'a>(args: &RunArgs, settled: &'a Settled, loaded: &Loaded) -> anyhow::Result<pipeline::Settings<'a>> {
    let open = |path: &Option<PathBuf>| -> anyhow::Result<Option<Dump>> {
        match path {
            Some(path) => Ok(Some(Dump::open(path).with_context(|| cannot_open(path))?)),
            None => Ok(None),
        }
    };
    Ok(pipeline::Settings {
        config: &settled.config,
        registry: loaded.registry.clone(),
        judge: JudgeOptions {
            rules: args.stating.read(Some(&settled.config), &loaded.registry)?,
            ..settled.judging(settled.policy)
        },
        mode: settled.mode.name(),
        all_or_nothing: settled.all_or_nothing,
        dump: open(&args.dump)?,
        reproducers: match &args.reproducer {
            Some(_) => open(&args.reproducer)?,
            None => open(&args.dump.as_ref().map(|d| d.join("reproducers")))?,
        },
        record_edits: args.edits.is_some(),
        certify: args.certificates.is_some(),
    })
}

/// Texts about the run that go to files.
struct Asides {
    page: Option<String>,
    edits: Option<String>,
    proofs: Vec<ProofFile>,
}

/// Writes what was asked for: all of it, or nothing.
fn write_outputs(
    args: &RunArgs,
    loaded: &Loaded,
    settled: &Settled,
    asides: &Asides,
    global: &Global,
) -> anyhow::Result<(Outputs, Vec<PathBuf>)> {
    let mut outputs = Outputs::default();
    let mut told = Vec::new();
    let mut stage = Staging::with_places(args.in_memory.places.clone());
    if let Some(path) = &args.lower {
        let made = lower(args, path, loaded, settled)?;
        told.extend(found(&made));
        let nodes = made.nodes;
        if made.is_accepted() {
            made.add_to(&mut stage, path)?;
            told.push(("Lowered", format!("to {}, {nodes} GE nodes", path.display())));
            outputs.lowered = Some(path.display().to_string());
        }
        let LoweredModel { remarks, judged, .. } = made;
        outputs.lowering = Some(LoweringReport {
            nodes,
            remarks,
            defined: judged.as_ref().map_or(0, |j| j.defined),
            held: judged.as_ref().map_or(0, |j| j.held),
            opaque: judged.as_ref().map_or_else(Vec::new, |j| j.opaque.clone()),
            verdict: judged.map(|j| j.verdict),
        });
    }
    for (path, text) in [(&args.edits, &asides.edits), (&args.report, &asides.page)] {
        let (Some(path), Some(text)) = (path, text) else { continue };
        stage.add_bytes(path, text.as_bytes())?;
        told.push(("Reported", path.display().to_string()));
    }
    if let Some(folder) = &args.certificates {
        std::fs::create_dir_all(folder).with_context(|| cannot_open(folder))?;
        for (path, text) in &asides.proofs {
            match text {
                Ok(text) => stage.add_bytes(path, text.as_bytes())?,
                Err(why) => output::warn(&format!("there is no certificate for {why}")),
            }
        }
        told.push(("Certified", format!("in {}", folder.display())));
    }
    if let Some(path) = &args.output {
        if path == Path::new("-") {
            write_model(&loaded.model, &loaded.registry, path)?;
        } else {
            stage.add(path, |beside| outputs::write_model(&loaded.model, &loaded.registry, beside, path))?;
            told.push(("Wrote", path.display().to_string()));
        }
        outputs.model = Some(path.display().to_string());
    }
    let in_place = stage.commit()?;
    for (word, text) in told.iter().rev() {
        output::status(global, word, text);
    }
    Ok((outputs, in_place))
}

/// Lowers what the passes left, and judges that.
fn lower(args: &RunArgs, path: &Path, loaded: &Loaded, settled: &Settled) -> anyhow::Result<LoweredModel> {
    let compiler = &settled.config.compiler;
    let mut ge = pipeline::ge_options(compiler);
    ge.keep_stages |= args.dump.is_some();
    let judging = Some(settled.judging(settled.lowered_policy));
    let how = Lowering { mode: settled.mode, compiler, ge, judging };
    let lowered = pipeline::lower(loaded, &how)?;
    let folder = args.dump.as_ref().map(|folder| folder.join("ge"));
    let mut dump = folder.map(|folder| Dump::open(&folder).with_context(|| cannot_open(&folder))).transpose()?;
    pipeline::dump_lowered(&lowered, compiler, dump.as_mut())?;
    Ok(pipeline::settled(lowered, loaded, &how, Some(ge::Format::of(path)?)))
}

fn cannot_open(folder: &Path) -> String {
    format!("cannot open {}", folder.display())
}

fn show(args: &RunArgs, global: &Global, done: &Done) -> anyhow::Result<()> {
    let run = &done.run;
    for dropped in run.builtin.iter().filter(|p| p.outcome != Outcome::Accepted) {
        let why = dropped.verdict.as_ref().map_or("", |v| v.reason.as_str());
        output::warn(&format!(
            "Airlock's own pass `{}` was dropped ({why}); please report this as a defect of Airlock",
            dropped.name
        ));
    }
    if global.format == Format::Json {
        return output::print_json(&done.report());
    }
    // The text of a model on standard output is not mixed with a table.
    let text = report::run_text(run, global.verbose);
    if args.output.as_deref() == Some(Path::new("-")) {
        output::print_aside(&text);
        return Ok(());
    }
    output::print(&text)
}

/// Shows on a terminal which pass is running.
struct Shown {
    bar: indicatif::ProgressBar,
}

impl Shown {
    fn new(global: &Global, passes: usize) -> Self {
        Self { bar: progress::bar(global, passes, "Running") }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Shown {
    fn begin(&mut self, name: &str, stage: &'static str) {
        self.bar.set_message(format!("{stage} {name}"));
    }

    fn end(&mut self, report: &PassReport) {
        if report.stage != "builtin" {
            self.bar.inc(1);
        }
    }
}
