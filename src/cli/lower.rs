//! `airlock lower`: a model to a GE graph, or against one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::delivery::{self, How, Made};
use super::staging::{self, Staging};
use super::{Exit, Format, Global, Mode, Reading, Searching, configured, load, output};
use crate::lower::ge;
use crate::pipeline::Config;
use crate::report::verdict_details;
use crate::verify::{Policy, Verdict};

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
    let mode = args.mode.or(configured::mode(&config)?).unwrap_or_default();
    let policy = args.policy.or(configured::policy(&config)?).unwrap_or(Policy::Advisory);
    let mut reading = args.reading.clone();
    reading.ops.extend(config.file.ops.iter().cloned());
    if let Some(path) = &args.output {
        let [options, host] = delivery::beside(path);
        let inputs: Vec<_> = [args.model.as_path()].into_iter().chain(config.path.as_deref()).collect();
        staging::check_apart(&[path, &options, &host], &reading.files(&inputs))?;
        ge::Format::of(path)?;
        delivery::check_lowers(mode)?;
    }
    configured::check_options(&config.compiler, mode)?;
    let loaded = load::model(&args.model, &reading)?;
    let mut dump = delivery::open_dump(args.dump.as_deref(), &loaded)?;
    // What is only compared is not handed on.
    let judging = (args.output.is_some() && !args.no_verify)
        .then(|| args.searching.applied(super::verify::options(mode, policy, &config.file.may_alias)));
    let mut options = ge_options(args, &config);
    options.keep_stages |= dump.is_some();
    let how = How { mode, compiler: &config.compiler, ge: options, judging };
    let made = match delivery::make(&loaded, &how) {
        Ok(made) => made,
        Err(error) => return refuse(error, global),
    };
    made.dump(&config.compiler, dump.as_mut())?;
    let comparison = compare(args, &made.lowered)?;
    let is_accepted = made.is_accepted();
    let written = args.output.as_ref().filter(|_| is_accepted);
    if let Some(path) = written {
        let mut stage = Staging::default();
        made.add_to(&mut stage, path, &loaded, &config.compiler)?;
        stage.commit()?;
    }
    let found = made.found();
    let Made { lowered, judged } = made;
    let report = Report {
        same: comparison.as_ref().map(|c| c.same),
        differences: comparison.map(|c| c.differences).unwrap_or_default(),
        nodes: lowered.graph.op.len(),
        unsupported: Vec::new(),
        remarks: lowered.remarks,
        output: written.map(|p| p.display().to_string()),
        host: Some(lowered.host),
        defined: judged.as_ref().map_or(0, |j| j.defined),
        held: judged.as_ref().map_or(0, |j| j.held),
        opaque: judged.as_ref().map_or_else(Vec::new, |j| j.opaque.clone()),
        verdict: judged.map(|j| j.verdict),
    };
    // The process ends here: taking a graph of a million pieces apart is time that nobody gets back.
    std::mem::forget(lowered.graph);
    show(&report, found, args, global)?;
    Ok(if report.same == Some(false) || !is_accepted { Exit::Refused } else { Exit::Done })
}

/// What the configuration says of the GE graph, and flags over it.
fn ge_options(args: &LowerArgs, config: &Config) -> ge::Options {
    let stated = delivery::ge_options(&config.compiler);
    ge::Options {
        enable_view_optimize: stated.enable_view_optimize && !args.no_view_optimize,
        enable_ref_data: stated.enable_ref_data || args.enable_ref_data,
        decompose: !args.no_decompose,
        soc_version: args.soc_version.clone().or(stated.soc_version.clone()),
        ..stated
    }
}

fn compare(args: &LowerArgs, lowered: &ge::Lowered) -> anyhow::Result<Option<ge::Comparison>> {
    let Some(path) = &args.compare else { return Ok(None) };
    let reference = ge::read_file(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut comparison = ge::compare(&lowered.graph, &reference);
    if let Some(path) = &args.compare_host {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let host = ge::compare::Host::from_toml(&text).with_context(|| format!("in {}", path.display()))?;
        comparison.differences.extend(ge::compare::compare_host(&lowered.host, &host));
        comparison.same = comparison.differences.is_empty();
    }
    Ok(Some(comparison))
}

fn refuse(error: anyhow::Error, global: &Global) -> anyhow::Result<Exit> {
    let Some(ge::LowerError::Unsupported { nodes }) = error.downcast_ref() else { return Err(error) };
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
    output::error(&error);
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
    for remark in &report.remarks {
        output::status(global, "Note", &format!("{} ({}): {}", remark.node, remark.target, remark.what));
    }
    match report.same {
        Some(true) => output::print("same\n"),
        Some(false) => output::print(&format!("different\n  {}\n", report.differences.join("\n  "))),
        None => Ok(()),
    }
}
