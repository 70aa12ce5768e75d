//! `airlock lower`: a model to a GE graph, or against one.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Mode, Reading, load, output};
use crate::graph::Model;
use crate::lower::ge;
use crate::ops::Registry;

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
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Unsupported {
    node: String,
    target: String,
    reason: String,
}

#[derive(Serialize)]
struct Report {
    same: Option<bool>,
    differences: Vec<String>,
    nodes: usize,
    unsupported: Vec<Unsupported>,
    output: Option<String>,
}

pub fn lower(args: &LowerArgs, global: &Global) -> anyhow::Result<Exit> {
    if args.output.is_none() && args.compare.is_none() {
        bail!("nothing to do: give -o OUT to write the GE graph, or --compare REF.bin to compare with one");
    }
    if let Some(path) = &args.output {
        ge::Format::of(path)?;
    }
    let loaded = load::model(&args.model, &args.reading)?;
    let lowered = match lower_model(&loaded.model, &loaded.registry, args.mode) {
        Ok(graph) => graph,
        Err(error) => return refuse(error, global),
    };
    let comparison = match &args.compare {
        Some(path) => {
            let reference = ge::read_file(path)?;
            Some(ge::compare(&lowered, &reference))
        }
        None => None,
    };
    if let Some(path) = &args.output {
        ge::write_file(&lowered, path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let report = Report {
        same: comparison.as_ref().map(|c| c.same),
        differences: comparison.map(|c| c.differences).unwrap_or_default(),
        nodes: lowered.op.len(),
        unsupported: Vec::new(),
        output: args.output.as_ref().map(|p| p.display().to_string()),
    };
    show(&report, args, global)?;
    Ok(if report.same == Some(false) { Exit::Refused } else { Exit::Done })
}

/// Lowers a model in a mode, or says why it cannot.
pub fn lower_model(model: &Model, registry: &Registry, mode: Mode) -> anyhow::Result<ge::GraphDef> {
    if mode == Mode::ReduceOverhead {
        bail!("lowering to a launch plan (--mode reduce-overhead) is not supported yet; max-autotune is");
    }
    let _ = (model, registry);
    bail!("lowering is not in this build yet")
}

fn refuse(error: anyhow::Error, global: &Global) -> anyhow::Result<Exit> {
    let _ = (global, Unsupported { node: String::new(), target: String::new(), reason: String::new() });
    Err(error)
}

fn show(report: &Report, args: &LowerArgs, global: &Global) -> anyhow::Result<()> {
    if global.format == Format::Json {
        return output::print_json(report);
    }
    if let Some(path) = &report.output {
        output::status(global, "Lowered", &format!("{} to {path}, {} GE nodes", args.model.display(), report.nodes));
    }
    match report.same {
        Some(true) => output::print("same\n"),
        Some(false) => output::print(&format!("different\n  {}\n", report.differences.join("\n  "))),
        None => Ok(()),
    }
}
