//! `airlock lower`: a model to a GE graph, or against one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Mode, Reading, Searching, output};
use crate::lower::ge;
use crate::pipeline::outputs::{self, Staging};
use crate::pipeline::settle::{Flags, Settled};
use crate::pipeline::{self, Config, Dump, Judged, LoweredModel, Lowering, LoweringError};
use crate::report::{verdict_details, verdict_words};
use crate::verify::{Finding, Policy, Verdict};

/// Lowers a model to the NPU. Runs no graph passes: these belong to `run`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock lower model.pt2 -o model.pbtxt\n  airlock lower model.fx --compare torchair.bin"
)]
pub struct LowerArgs {
    /// The model.
    model: PathBuf,
    /// The NPU path.
    #[arg(long, value_parser = super::modes())]
    mode: Option<Mode>,
    /// Configuration; without it the nearest airlock.toml from the current folder upwards.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The file to write, with OUT.options.json (of the device) and OUT.host.json (what the host does around the graph) beside it; its ending decides: .txt (protobuf text), .pbtxt (for graph viewers), .py, .bin (serialized).
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// A GE graph (.bin) to compare with; exit 1 where it is another.
    #[arg(long, value_name = "REF.bin")]
    compare: Option<PathBuf>,
    /// What the host does around that graph, to be compared as well: a TOML with fx_outputs, ge_inputs, output_ref_input.
    #[arg(long, value_name = "META.toml", requires = "compare")]
    compare_host: Option<PathBuf>,
    /// TorchAir's `experimental_config.enable_ref_data`: inputs that the graph writes become RefData.
    #[arg(long)]
    enable_ref_data: bool,
    /// TorchAir's `experimental_config.enable_view_optimize = False`: views are made where they stand.
    #[arg(long)]
    no_view_optimize: bool,
    /// Stop at operators for which TorchAir has no converter, instead of lowering what stands for them.
    #[arg(long)]
    no_decompose: bool,
    /// The device, by CANN's name of it (Ascend910B1, Ascend950); some operators are made otherwise from Ascend950 on.
    #[arg(long, value_name = "NAME")]
    soc_version: Option<String>,
    /// The version of CANN (8.2.RC1): from 8.2 on, parts of one length are exchanged by an operator of their own.
    #[arg(long, value_name = "VERSION")]
    cann_version: Option<String>,
    /// What the verdict on the lowered graph must say for it to be written: what is refuted never is, what is unknown with `advisory` alone,
    /// which holds where nobody states another.
    #[arg(long, value_parser = super::policies())]
    policy: Option<Policy>,
    /// Keep the graph on its way to GE in this folder, by TorchAir's names; TORCH_COMPILE_DEBUG=1 keeps it in PyTorch's.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// Write the graph without reading it back and judging it.
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    searching: Searching,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Report {
    same: Option<bool>,
    differences: Vec<String>,
    nodes: usize,
    unsupported: Vec<ge::Unsupported>,
    remarks: Vec<ge::Remark>,
    output: Option<String>,
    host: Option<ge::compare::Host>,
    verdict: Option<Verdict>,
    defined: usize,
    held: usize,
    opaque: Vec<ge::Opaque>,
}

pub fn lower(args: &LowerArgs, global: &Global) -> anyhow::Result<Exit> {
    if args.output.is_none() && args.compare.is_none() && args.dump.is_none() {
        bail!("nothing to do: give -o OUT to write the GE graph, or --compare REF.bin to compare with one");
    }
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let (mode, policy, search) = (args.mode, args.policy, args.searching.search());
    let settled = Settled::of(config, Flags { mode, policy, search, ..Flags::default() })?;
    let config = &settled.config;
    let reading = args.reading.under(config);
    if let Some(path) = &args.output {
        let [options, host] = outputs::beside(path);
        let inputs: Vec<_> = [args.model.as_path()].into_iter().chain(config.path.as_deref()).collect();
        outputs::check_apart(&[path, &options, &host], &reading.files(&inputs))?;
        ge::Format::of(path)?;
        pipeline::check_lowers(settled.mode)?;
    }
    warn_of_options(&settled)?;
    let loaded = reading.sources().model(&args.model)?;
    super::load::warn_of_unknown_inputs(&settled, &loaded);
    let folder = pipeline::dump_folder(args.dump.as_deref());
    let mut dump = folder.map(|folder| Dump::begin(&folder, &loaded.model.graph)).transpose()?;
    // What is only compared is not handed on.
    let judging = (args.output.is_some() && !args.no_verify).then(|| settled.judging(settled.lowered_policy));
    let mut options = ge_options(args, config);
    options.keep_stages |= dump.is_some();
    let how = Lowering { mode: settled.mode, compiler: &config.compiler, ge: options, judging };
    let lowered = match pipeline::lower(&loaded, &how) {
        Ok(lowered) => lowered,
        Err(error) => return refuse(error, global),
    };
    pipeline::dump_lowered(&lowered, &config.compiler, dump.as_mut())?;
    let comparison = compare(args, &lowered)?;
    let format = args.output.as_deref().map(ge::Format::of).transpose()?;
    let made = pipeline::settled(lowered, &loaded, &how, format);
    let is_accepted = made.is_accepted();
    let written = args.output.as_ref().filter(|_| is_accepted);
    if let Some(path) = written {
        let mut stage = Staging::default();
        made.add_to(&mut stage, path)?;
        stage.commit()?;
    }
    let found = found(&made);
    let LoweredModel { host, remarks, nodes, judged, draft, .. } = made;
    let report = Report {
        same: comparison.as_ref().map(|c| c.same),
        differences: comparison.map(|c| c.differences).unwrap_or_default(),
        nodes,
        unsupported: Vec::new(),
        remarks,
        output: written.map(|p| p.display().to_string()),
        host: Some(host),
        defined: judged.as_ref().map_or(0, |j| j.defined),
        held: judged.as_ref().map_or(0, |j| j.held),
        opaque: judged.as_ref().map_or_else(Vec::new, |j| j.opaque.clone()),
        verdict: judged.map(|j| j.verdict),
    };
    show(&report, found, args, global)?;
    // The process is about to end: nobody waits for what many small pieces take to be given back.
    std::mem::forget((loaded, draft));
    Ok(if report.same == Some(false) || !is_accepted { Exit::Refused } else { Exit::Done })
}

/// What the configuration says of the GE graph, and flags over it.
fn ge_options(args: &LowerArgs, config: &Config) -> ge::Options {
    let stated = pipeline::ge_options(&config.compiler);
    ge::Options {
        enable_view_optimize: stated.enable_view_optimize && !args.no_view_optimize,
        enable_ref_data: stated.enable_ref_data || args.enable_ref_data,
        decompose: !args.no_decompose,
        soc_version: args.soc_version.clone().or(stated.soc_version.clone()),
        cann_version: args.cann_version.clone(),
        ..stated
    }
}

/// Warns of options of compilers that do not belong to the mode.
pub(super) fn warn_of_options(settled: &Settled) -> anyhow::Result<()> {
    let foreign = settled.check_options()?;
    if !foreign.is_empty() {
        let (names, mode) = (foreign.join(", "), settled.mode.name());
        output::warn(&format!("these options do not take effect in {mode} mode: {names}"));
    }
    Ok(())
}

/// Says in one line what was found of a lowered model, under the word for it.
pub(super) fn found(made: &LoweredModel) -> Option<(&'static str, String)> {
    let Judged { verdict, defined, held, .. } = made.judged.as_ref()?;
    let word = match (verdict.accepted, verdict.verdict) {
        (false, _) => "Refused",
        (true, Finding::Proved | Finding::Checked) => "Verified",
        (true, _) => "Unproved",
    };
    let held = if *held == 0 { String::new() } else { format!(", {held} held field by field") };
    let words = verdict_words(verdict);
    Some((word, format!("{words}; {defined} by definition{held}; {:.1} ms to judge", verdict.ms)))
}

fn compare(args: &LowerArgs, lowered: &ge::Lowered<ge::Draft>) -> anyhow::Result<Option<ge::Comparison>> {
    let Some(path) = &args.compare else { return Ok(None) };
    let reference = ge::read_file(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut comparison = ge::compare(&lowered.graph.to_def(), &reference);
    if let Some(path) = &args.compare_host {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let host = ge::compare::Host::from_toml(&text).with_context(|| format!("in {}", path.display()))?;
        comparison.differences.extend(ge::compare::compare_host(&lowered.host, &host));
        comparison.same = comparison.differences.is_empty();
    }
    Ok(Some(comparison))
}

fn refuse(error: LoweringError, global: &Global) -> anyhow::Result<Exit> {
    let LoweringError::Ge(ge::LowerError::Unsupported { nodes }) = &error else { return Err(error.into()) };
    if global.format == Format::Json {
        let unsupported = nodes.clone();
        output::print_json(&Report {
            same: None,
            differences: Vec::new(),
            nodes: 0,
            unsupported,
            remarks: Vec::new(),
            output: None,
            host: None,
            verdict: None,
            defined: 0,
            held: 0,
            opaque: Vec::new(),
        })?;
    }
    output::error(&error.into());
    Ok(Exit::Bad)
}

fn show(report: &Report, found: Option<(&str, String)>, args: &LowerArgs, global: &Global) -> anyhow::Result<()> {
    if global.format == Format::Json {
        return output::print_json(report);
    }
    if let Some(path) = &report.output {
        output::status(global, "Lowered", &format!("{} to {path}, {} GE nodes", args.model.display(), report.nodes));
    }
    if let Some((word, text)) = found {
        output::status(global, word, &text);
    }
    if let Some(verdict) = report.verdict.as_ref().filter(|v| !v.accepted) {
        let more = "--policy advisory writes what is unknown, --no-verify whatever is found";
        output::print(&format!("{}   {more}\n", verdict_details(verdict)))?;
    }
    for assumed in report.verdict.iter().filter(|v| v.accepted).flat_map(|v| &v.assumes) {
        output::status(global, "Assumed", &assumed.text());
    }
    for remark in &report.remarks {
        output::status(global, "Note", &format!("{} ({}): {}", remark.node, remark.target, remark.what));
    }
    match report.same {
        Some(true) => output::print("same\n"),
        Some(false) => output::print(&format!("different\n  {}\n", report.differences.join("\n  "))),
        None => Ok(()),
    }
}
