//! `airlock bench`: what a pass costs on a model.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::passing::{Passing, named_passes};
use super::{Exit, Format, Global, Reading, output, progress};
use crate::contract::Limits;
use crate::editor::Editor;
use crate::passes::{BUILT_IN, BuiltIn};
use crate::pipeline::load::Loaded;
use crate::pipeline::outputs::{self, Staging};
use crate::pipeline::{Config, FilePass, check_grants};
use crate::report::plain;
#[cfg(target_os = "linux")]
use crate::sandbox::worker::{WorkerPass, Workers};
use crate::sandbox::{CallCost, Ended, Engine, Job, Look, Pass, Profile};

/// Tells what a pass costs on a model: times, fuel, calls of the host, bytes. It runs in this process: bench what you trust.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  airlock bench dedup.wasm model.pt2
  airlock bench dead-code.wasm model.pt2 --native remove_dead_code
  airlock bench dedup.wasm model.pt2 --flame dedup.svg

Exit: 0 measured, 2 bad input, 3 the pass faulted.")]
pub struct BenchArgs {
    /// The pass.
    pass: PathBuf,
    /// The model: .pt2 or .fx.
    model: PathBuf,
    /// How often each is measured; the middle is told.
    #[arg(long, value_name = "N", default_value = "15", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// A built-in pass that does the same, to compare with; without this the one of the pass's name, where there is one.
    #[arg(long, value_name = "NAME", value_parser = built_in)]
    native: Option<&'static str>,
    /// Draw which functions of the guest its fuel goes to; the stacks are written beside, to OUT.folded.
    #[arg(long, value_name = "OUT.svg")]
    flame: Option<PathBuf>,
    /// Configuration; without it the nearest airlock.toml from the current folder upwards.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    passing: Passing,
    #[command(flatten)]
    reading: Reading,
}

fn built_in(name: &str) -> Result<&'static str, String> {
    let names: Vec<&str> = BUILT_IN.iter().map(|b| b.name).collect();
    names.iter().find(|n| **n == name).copied().ok_or_else(|| format!("there are {}", names.join(", ")))
}

/// What was measured; times are the middle of all rounds.
#[derive(Serialize)]
struct Bench {
    pass: String,
    model: String,
    nodes: usize,
    rounds: u16,
    component_bytes: usize,
    compile_ms: f64,
    here: Here,
    worker: Option<Apart>,
    native: Option<Native>,
    calls: Vec<CallCost>,
    bytes: Crossed,
    flame: Option<String>,
}

/// In this process.
#[derive(Serialize)]
struct Here {
    instantiate_us: f64,
    run_ms: f64,
    fuel: u64,
    memory_bytes: u64,
    calls: u64,
}

/// In a worker.
#[derive(Serialize)]
struct Apart {
    /// From no process to one that has loaded the pass.
    start_ms: f64,
    /// In one that has: giving the graph away, running, making the edits again.
    run_ms: f64,
}

/// The same by a built-in pass.
#[derive(Serialize)]
struct Native {
    pass: &'static str,
    run_ms: f64,
    /// How many times as long the component takes in this process.
    times: f64,
}

/// Bytes on their way.
#[derive(Serialize)]
struct Crossed {
    /// That calls made the host keep.
    kept_by_host: u64,
    /// Of the graph that a worker is sent.
    graph_to_worker: usize,
    /// Of the edits that it sends back.
    edits_from_worker: usize,
}

pub fn bench(args: &BenchArgs, global: &Global) -> anyhow::Result<Exit> {
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let reading = args.reading.under(&config);
    let flames = flames(args, &reading)?;
    let wanted = named_passes(&[args.pass.display().to_string()], &args.passing, false)?;
    let [wanted] = wanted.as_slice() else { bail!("one pass is measured") };
    check_grants(std::slice::from_ref(wanted))?;
    let limits = &config.file.limits;
    let loaded = reading.sources().model(&args.model)?;
    let bytes = std::fs::read(&wanted.path).with_context(|| format!("cannot read {}", wanted.path.display()))?;
    let label = wanted.path.file_stem().map_or_else(|| "pass".into(), |name| name.to_string_lossy());
    let engine = Engine::new(limits)?;
    let began = Instant::now();
    let pass = Pass::load(&label, &bytes, &engine, limits)?;
    let compile = began.elapsed();
    let measured = Measured { args, loaded: &loaded, limits, wanted };
    let bar = progress::spinner(global, "Measuring".into());
    let mut runs = Vec::new();
    for _ in 0..args.rounds {
        runs.push(match measured.here(&pass, Look::Times) {
            Ok(run) => run,
            Err(exit) => return Ok(exit),
        });
    }
    let Ok(calls) = measured.here(&pass, Look::Calls) else { return Ok(Exit::Faulted) };
    let worker = measured.apart(&label, &bytes, &reading)?;
    let native = args.native.or_else(|| of_that_name(&label)).map(|name| measured.native(name)).transpose()?;
    if let Some(flames) = &flames {
        let Ok(stacks) = measured.here(&pass, Look::Stacks) else { return Ok(Exit::Faulted) };
        flames.write(&label, &stacks)?;
    }
    bar.finish_and_clear();
    let here = here(&runs);
    let times = |native: f64| if native > 0.0 { here.run_ms / native } else { f64::INFINITY };
    let bench = Bench {
        pass: label.into_owned(),
        model: args.model.display().to_string(),
        nodes: loaded.model.graph.len(),
        rounds: args.rounds,
        component_bytes: bytes.len(),
        compile_ms: millis(compile),
        native: native.map(|(pass, run_ms)| Native { pass, run_ms, times: times(run_ms) }),
        bytes: Crossed {
            kept_by_host: calls.outcome.usage.host_bytes,
            graph_to_worker: crate::sandbox::bytes_of(&loaded.model.graph),
            edits_from_worker: calls.journal_bytes,
        },
        here,
        worker,
        calls: calls.calls,
        flame: args.flame.as_ref().map(|path| path.display().to_string()),
    };
    match global.format {
        Format::Json => output::print_json(&bench)?,
        _ => output::print(&text(&bench))?,
    }
    Ok(Exit::Done)
}

/// What is measured.
struct Measured<'a> {
    args: &'a BenchArgs,
    loaded: &'a Loaded,
    limits: &'a Limits,
    wanted: &'a FilePass,
}

impl Measured<'_> {
    fn editor(&self) -> Editor {
        Editor::new(self.loaded.model.graph.clone(), self.loaded.registry.clone())
    }

    fn job(&self) -> Job {
        let FilePass { config, options, grant, stage, .. } = self.wanted;
        let constants =
            grant.iter().any(|g| g == "constants").then(|| std::sync::Arc::new(self.loaded.model.weights.clone()));
        let (config, options) = (config.clone(), options.clone());
        Job { config, options, stage: stage.name().into(), mode: super::Mode::default().name().into(), constants }
    }

    /// Runs the pass in this process; a fault is told.
    fn here(&self, pass: &Pass<'_>, look: Look) -> Result<Profile, Exit> {
        let profile = pass.profile(self.editor(), self.job(), self.limits, look);
        match &profile.outcome.ended {
            Ended::Faulted(fault) => {
                output::error(&anyhow::anyhow!("{fault}"));
                Err(Exit::Faulted)
            }
            _ => Ok(profile),
        }
    }

    #[cfg(target_os = "linux")]
    fn apart(&self, label: &str, bytes: &[u8], reading: &Reading) -> anyhow::Result<Option<Apart>> {
        let workers = Workers::of_this_program();
        let mut pass = WorkerPass::load(label, bytes, &workers, &reading.sources().operator_texts()?, self.limits)?;
        let (mut starts, mut runs) = (Vec::new(), Vec::new());
        for _ in 0..self.args.rounds {
            let began = Instant::now();
            pass.prepare(self.limits)?;
            starts.push(began.elapsed());
            let (editor, job) = (self.editor(), self.job());
            let began = Instant::now();
            let outcome = pass.run(editor, job, self.limits);
            runs.push(began.elapsed());
            if let Ended::Faulted(fault) = outcome.ended {
                bail!("{fault}");
            }
        }
        Ok(Some(Apart { start_ms: millis(middle(starts)), run_ms: millis(middle(runs)) }))
    }

    #[cfg(not(target_os = "linux"))]
    fn apart(&self, _: &str, _: &[u8], _: &Reading) -> anyhow::Result<Option<Apart>> {
        Ok(None)
    }

    fn native(&self, name: &str) -> anyhow::Result<(&'static str, f64)> {
        let Some(BuiltIn { name, run, .. }) = BUILT_IN.iter().find(|b| b.name == name) else {
            bail!("there is no built-in pass `{name}`");
        };
        let mut times = Vec::new();
        for _ in 0..self.args.rounds {
            let mut editor = self.editor();
            let began = Instant::now();
            run(&mut editor).map_err(|e| anyhow::anyhow!("{name}: {e}"))?;
            times.push(began.elapsed());
        }
        Ok((name, millis(middle(times))))
    }
}

/// The built-in pass of a pass's name: `dead-code` is `remove_dead_code`.
fn of_that_name(label: &str) -> Option<&'static str> {
    let name = label.replace('-', "_");
    BUILT_IN.iter().map(|b| b.name).find(|n| *n == name || n.strip_prefix("remove_") == Some(name.as_str()))
}

fn here(runs: &[Profile]) -> Here {
    let usage = runs.first().map(|r| r.outcome.usage).unwrap_or_default();
    Here {
        instantiate_us: millis(middle(runs.iter().map(|r| r.instantiate).collect())) * 1e3,
        run_ms: millis(middle(runs.iter().map(|r| r.run).collect())),
        fuel: usage.fuel,
        memory_bytes: usage.memory_bytes,
        calls: usage.calls,
    }
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn text(bench: &Bench) -> String {
    let Bench { pass, model, nodes, rounds, component_bytes, compile_ms, here, worker, native, calls, bytes, .. } =
        bench;
    let mut text = format!("{} on {}, {nodes} nodes; the middle of {rounds} rounds\n", plain(pass), plain(model));
    let mut line = |what: &str, value: String| text.push_str(&format!("  {what:<28} {value}\n"));
    line("compile", format!("{compile_ms:10.3} ms   {component_bytes} bytes"));
    line("instantiate", format!("{:10.3} us", here.instantiate_us));
    line(
        "run, in this process",
        format!(
            "{:10.3} ms   {} fuel, {} calls, {} bytes of memory",
            here.run_ms, here.fuel, here.calls, here.memory_bytes
        ),
    );
    if let Some(worker) = worker {
        line("start and load, a worker", format!("{:10.3} ms", worker.start_ms));
        let (there, back) = (bytes.graph_to_worker, bytes.edits_from_worker);
        line("run, in a worker", format!("{:10.3} ms   {there} bytes there, {back} back", worker.run_ms));
    }
    if let Some(native) = native {
        line(
            &format!("{}, native", native.pass),
            format!("{:10.3} ms   the component takes {:.2} times as long", native.run_ms, native.times),
        );
    }
    for call in calls {
        let each =
            if call.calls > 0 { call.ms * 1e6 / f64::from(u32::try_from(call.calls).unwrap_or(u32::MAX)) } else { 0.0 };
        line(&format!("  {}", call.function), format!("{:10.3} ms   {} calls, {each:.0} ns each", call.ms, call.calls));
    }
    text
}

/// Where stacks are written.
struct Flames {
    svg: PathBuf,
    folded: PathBuf,
}

fn flames(args: &BenchArgs, reading: &Reading) -> anyhow::Result<Option<Flames>> {
    let Some(svg) = args.flame.clone() else { return Ok(None) };
    if svg.extension().is_none_or(|e| e != "svg") {
        bail!("--flame {}: its ending must be .svg", svg.display());
    }
    let folded = svg.with_extension("folded");
    outputs::check(&[&svg, &folded])?;
    let config = args.config.as_deref();
    let inputs: Vec<&Path> = [args.pass.as_path(), args.model.as_path()].into_iter().chain(config).collect();
    outputs::check_apart(&[&svg, &folded], &reading.files(&inputs))?;
    Ok(Some(Flames { svg, folded }))
}

impl Flames {
    fn write(&self, label: &str, profile: &Profile) -> anyhow::Result<()> {
        let lines: Vec<String> = profile.stacks.iter().map(|(stack, fuel)| format!("{stack} {fuel}")).collect();
        let mut options = inferno::flamegraph::Options::default();
        options.title = format!("{}, fuel by function", plain(label));
        options.count_name = "fuel".to_string();
        // The same stacks give the same picture.
        options.deterministic = true;
        let mut picture = Vec::new();
        if lines.is_empty() {
            bail!("the pass used no fuel: there is nothing to draw");
        }
        inferno::flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)
            .context("cannot draw the stacks")?;
        let mut stage = Staging::default();
        stage.add_bytes(&self.svg, &picture)?;
        stage.add_bytes(&self.folded, (lines.join("\n") + "\n").as_bytes())?;
        stage.commit()?;
        Ok(())
    }
}
