//! `airlock lower`: a model to a GE graph, or against one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Mode, Reading, Searching, load, output, staging};
use crate::graph::Model;
use crate::lower::ge;
use crate::ops::Registry;
use crate::pipeline::judge_lowered;
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
    #[arg(long, value_parser = super::modes(), default_value = "max-autotune")]
    mode: Mode,
    /// The file to write; its ending decides: .txt (protobuf text), .pbtxt (for graph viewers), .py, .bin (serialized).
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
    /// What the verdict on the lowered graph must say for it to be written: what is refuted never is, what is unknown with `advisory` alone.
    #[arg(long, value_parser = super::policies(), default_value = "advisory")]
    policy: Policy,
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
    if args.output.is_none() && args.compare.is_none() {
        bail!("nothing to do: give -o OUT to write the GE graph, or --compare REF.bin to compare with one");
    }
    if let Some(path) = &args.output {
        staging::check_apart(&[path], &args.reading.files(&[&args.model]))?;
        ge::Format::of(path)?;
        check_lowers(args.mode)?;
    }
    let options = ge::Options {
        enable_view_optimize: !args.no_view_optimize,
        enable_ref_data: args.enable_ref_data,
        decompose: !args.no_decompose,
        soc_version: args.soc_version.clone(),
        ..ge::Options::default()
    };
    let loaded = load::model(&args.model, &args.reading)?;
    let lowered = match lower_model(&loaded.model, &loaded.registry, args.mode, &options) {
        Ok(lowered) => lowered,
        Err(error) => return refuse(error, global),
    };
    let comparison = compare(args, &lowered)?;
    // What is only compared is not handed on.
    let judged = (args.output.is_some() && !args.no_verify).then(|| {
        let judging = args.searching.applied(super::verify::options(args.mode, args.policy, &[]));
        judge_lowered(
            &ge::encode(&lowered.graph, ge::Format::Bin),
            &lowered.host,
            &loaded.model.graph,
            &loaded.registry,
            &judging,
        )
    });
    let is_accepted = judged.as_ref().is_none_or(|j| j.verdict.accepted);
    if let Some(path) = args.output.as_ref().filter(|_| is_accepted) {
        ge::write_file(&lowered.graph, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let report = Report {
        same: comparison.as_ref().map(|c| c.same),
        differences: comparison.map(|c| c.differences).unwrap_or_default(),
        nodes: lowered.graph.op.len(),
        unsupported: Vec::new(),
        remarks: lowered.remarks,
        output: args.output.as_ref().filter(|_| is_accepted).map(|p| p.display().to_string()),
        host: Some(lowered.host),
        defined: judged.as_ref().map_or(0, |j| j.defined),
        held: judged.as_ref().map_or(0, |j| j.held),
        opaque: judged.as_ref().map_or_else(Vec::new, |j| j.opaque.clone()),
        verdict: judged.map(|j| j.verdict),
    };
    show(&report, args, global)?;
    Ok(if report.same == Some(false) || !is_accepted { Exit::Refused } else { Exit::Done })
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

/// Refuses a mode for which nothing can be lowered yet.
pub fn check_lowers(mode: Mode) -> anyhow::Result<()> {
    if mode == Mode::ReduceOverhead {
        bail!("lowering to a launch plan (--mode reduce-overhead) is not supported yet; max-autotune is");
    }
    Ok(())
}

/// Lowers a model in a mode, or says why it cannot.
pub fn lower_model(
    model: &Model,
    registry: &Registry,
    mode: Mode,
    options: &ge::Options,
) -> anyhow::Result<ge::Lowered> {
    check_lowers(mode)?;
    Ok(ge::lower_with(&model.graph, options, registry)?)
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

fn show(report: &Report, args: &LowerArgs, global: &Global) -> anyhow::Result<()> {
    if global.format == Format::Json {
        return output::print_json(report);
    }
    if let Some(path) = &report.output {
        output::status(global, "Lowered", &format!("{} to {path}, {} GE nodes", args.model.display(), report.nodes));
    }
    if let Some(verdict) = &report.verdict {
        let word = match (verdict.accepted, verdict.verdict) {
            (false, _) => "Refused",
            (true, Finding::Proved | Finding::Checked) => "Verified",
            (true, _) => "Unproved",
        };
        let held = if report.held == 0 { String::new() } else { format!(", {} held field by field", report.held) };
        let by = format!("{} by definition{held}", report.defined);
        output::status(global, word, &format!("{}; {by}; {:.1} ms to judge", verdict_words(verdict), verdict.ms));
        if !verdict.accepted {
            let more = "--policy advisory writes what is unknown, --no-verify whatever is found";
            output::print(&format!("{}   {more}\n", verdict_details(verdict)))?;
        }
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
