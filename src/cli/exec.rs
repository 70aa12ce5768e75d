//! `airlock exec`: reads, runs, compares, tells.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::load::{self, Kind, Loaded};
use super::{Exit, Format, Global, Reading, output, progress};
use crate::exec::{Against, Differing, Execution, Keep, Kernels, Observer, Session, Step, Value};
use crate::exec::{laid_out, run, seed_weights, seeded};
use crate::formats::{recording, write_whole};
use crate::pipeline::recorded::{self, Row, Stated, rows, rows_of_both};
use crate::report::Trace;

/// Runs a model on the CPU, as PyTorch's CPU kernels compute.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock exec model.pt2 --inputs io.safetensors --compare\n  airlock exec model.fx                              (inputs and weights of a seed)\n  airlock exec before.fx --all-nodes after.fx        (the first node whose value differs)\n  airlock exec model.pt2 --profile trace.json        (open in Perfetto)"
)]
pub struct ExecArgs {
    /// The model: `.pt2` or `.fx`; `-` is standard input.
    model: PathBuf,
    /// Recorded inputs `in_N` (and outputs, for --compare).
    #[arg(long, value_name = "FILE.safetensors")]
    inputs: Option<PathBuf>,
    /// Hold outputs, changed buffers and changed inputs against the recorded ones.
    #[arg(long, requires = "inputs")]
    compare: bool,
    /// Relative tolerance of --compare; by default that of the dtype, as torch.testing.assert_close.
    #[arg(long, requires = "compare")]
    rtol: Option<f64>,
    /// Absolute tolerance of --compare.
    #[arg(long, requires = "compare")]
    atol: Option<f64>,
    /// Run another graph on the same inputs and name the first node whose value differs.
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["compare", "profile"])]
    all_nodes: Option<PathBuf>,
    /// Write a Chrome trace: one row an operator call.
    #[arg(long, value_name = "OUT.json")]
    profile: Option<PathBuf>,
    /// Seed of random operators, and of inputs and weights that no file gives.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run this often and report the fastest time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Number of threads; by default one a core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Report {
    tensors: Vec<Row>,
    equal: bool,
    ms: f64,
    peak_bytes: usize,
    live_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<Differing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes_compared: Option<usize>,
}

pub fn exec(args: &ExecArgs, global: &Global) -> anyhow::Result<Exit> {
    // This thread is one of them: else each kernel that shares its work waits for another thread to wake up.
    let threads = args.threads.unwrap_or_default().into();
    rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global()?;
    let loaded = load(&args.model, args, global)?;
    let recording = args.inputs.as_deref().map(recording::read).transpose()?;
    let given = || match &recording {
        Some(recording) => Ok(laid_out(&loaded.model.graph, recorded::values(&recording.inputs)?)?),
        None => Ok(seeded(&loaded.model.graph, args.seed)?),
    };
    if recording.is_none() && !loaded.model.graph.is_empty() {
        output::status(global, "Inputs", &format!("drawn from seed {}; --inputs gives recorded ones", args.seed));
    }
    let kernels = Kernels::standard();
    let mut report = match &args.all_nodes {
        Some(other) => against(&loaded, other, &given, args, global, &kernels)?,
        None => once(&loaded, &given, args, global, &kernels)?,
    };
    if args.compare {
        let stated = Stated { rtol: args.rtol, atol: args.atol };
        report.1.tensors = rows(&report.0, recording.as_ref(), &loaded.model.weights, stated)?;
    } else if args.all_nodes.is_none() {
        report.1.tensors = rows(&report.0, None, &loaded.model.weights, Stated::default())?;
    }
    let mut report = report.1;
    report.equal = report.tensors.iter().all(|t| t.equal) && report.first_difference.is_none();
    match global.format {
        Format::Json => output::print_json(&report)?,
        _ => output::print(&text(&report, args))?,
    }
    Ok(if report.equal { Exit::Done } else { Exit::Refused })
}

fn load(path: &std::path::Path, args: &ExecArgs, global: &Global) -> anyhow::Result<Loaded> {
    let mut loaded = args.reading.sources().model(path)?;
    if loaded.kind == Kind::Text {
        let drawn = seed_weights(&mut loaded.model, args.seed)?;
        if drawn > 0 {
            let what = format!("{drawn} drawn from seed {}; --weights gives real ones", args.seed);
            output::status(global, "Weights", &what);
        }
    }
    Ok(loaded)
}

type Ran = (Execution, Report);
type Given<'a> = &'a dyn Fn() -> anyhow::Result<Vec<Value>>;

#[allow(clippy::cast_precision_loss)]
fn report(outcome: &Execution, took: std::time::Duration) -> Report {
    Report {
        tensors: Vec::new(),
        equal: true,
        ms: took.as_nanos() as f64 / 1e6,
        peak_bytes: outcome.peak_bytes,
        live_bytes: outcome.live_bytes,
        first_difference: None,
        nodes_compared: None,
    }
}

fn once(loaded: &Loaded, given: Given<'_>, args: &ExecArgs, global: &Global, kernels: &Kernels) -> anyhow::Result<Ran> {
    let mut best: Option<Ran> = None;
    for round in 0..args.repeat {
        let inputs = given()?;
        let mut session = Session::new(&loaded.registry, kernels, args.seed);
        let mut watch = Watch::new(global, loaded, args.profile.is_some() && round == 0);
        let start = Instant::now();
        let outcome = run(&loaded.model, inputs, &mut session, &mut watch)?;
        let took = start.elapsed();
        watch.finish(args)?;
        let now = report(&outcome, took);
        if best.as_ref().is_none_or(|(_, old)| now.ms < old.ms) {
            best = Some((outcome, now));
        }
    }
    best.ok_or_else(|| anyhow::anyhow!("--repeat must be at least 1"))
}

fn against(
    loaded: &Loaded,
    other: &std::path::Path,
    given: Given<'_>,
    args: &ExecArgs,
    global: &Global,
    kernels: &Kernels,
) -> anyhow::Result<Ran> {
    load::check_one_from_stdin(&[&args.model, other])?;
    if args.profile.is_some() {
        bail!("--profile and --all-nodes do not go together: profile one of the graphs");
    }
    let other = load(other, args, global)?;
    let mut keep = Keep::default();
    let first = run(&loaded.model, given()?, &mut Session::new(&loaded.registry, kernels, args.seed), &mut keep)?;
    let mut against = Against::new(keep);
    let start = Instant::now();
    let outcome = run(&other.model, given()?, &mut Session::new(&other.registry, kernels, args.seed), &mut against)?;
    let mut report = report(&outcome, start.elapsed());
    report.nodes_compared = Some(against.compared);
    report.first_difference = against.differing;
    report.tensors = rows_of_both(&outcome, &first);
    Ok((outcome, report))
}

/// Moves the progress bar, and traces where that is asked for.
struct Watch {
    bar: indicatif::ProgressBar,
    trace: Option<Trace>,
}

impl Watch {
    fn new(global: &Global, loaded: &Loaded, traced: bool) -> Self {
        let bar = progress::bar(global, loaded.model.graph.len(), "Running");
        Watch { bar, trace: traced.then(Trace::default) }
    }

    fn finish(self, args: &ExecArgs) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        if let (Some(trace), Some(path)) = (self.trace, &args.profile) {
            let text = trace.into_json();
            write_whole(path, |out| out.write_all(text.as_bytes()))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn computed(&mut self, step: &Step<'_>) {
        self.bar.inc(1);
        if let Some(trace) = &mut self.trace {
            trace.computed(step);
        }
    }

    fn sees_all(&self) -> bool {
        self.trace.is_some()
    }
}

fn text(report: &Report, args: &ExecArgs) -> String {
    let mut out = String::new();
    for row in &report.tensors {
        let shape: Vec<String> = row.shape.iter().map(ToString::to_string).collect();
        let mut line = format!("{:<8}{:<24}{}[{}]", row.role, row.name, row.dtype, shape.join(", "));
        if let (Some(abs), Some(ulp)) = (row.max_abs, row.max_ulp) {
            line = format!("{line:<56}  off by {abs:.3e}, {ulp} ulp");
        }
        if let Some(reason) = &row.reason {
            line = format!("{line:<56}  differs: {reason}");
        } else if args.compare {
            line.push_str("  equal");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    match (&report.first_difference, report.nodes_compared) {
        (Some(d), _) => out.push_str(&format!("first difference: {} ({}): {}\n", d.node, d.target, d.reason)),
        (None, Some(n)) => out.push_str(&format!("{n} nodes of the same name, none differs\n")),
        _ => {}
    }
    let mib = |bytes: usize| bytes.div_ceil(1024).to_string();
    out.push_str(&format!(
        "{:.3} ms, {} KiB at most, {} KiB of them live tensors\n",
        report.ms,
        mib(report.peak_bytes),
        mib(report.live_bytes)
    ));
    out
}
