//! `airlock convert`: between `.pt2` and `.fx`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::{Exit, Format, Global, Reading, output};
use crate::formats::{text, write_whole};
use crate::graph::Model;
use crate::ops::Registry;
use crate::pipeline::outputs;

/// Converts a model; the output's ending decides what is written.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock convert model.pt2 model.fx\n  airlock convert model.pt2 -    (text to standard output)\n  airlock convert model.fx model.pt2 --weights model.safetensors\n  airlock convert edited.fx model2.pt2 --like model.pt2    (weights and calling convention of model.pt2)"
)]
pub struct ConvertArgs {
    /// The model to read; `-` is standard input.
    input: PathBuf,
    /// The file to write: `.pt2` or `.fx`; `-` is text on standard output.
    output: PathBuf,
    /// Add to a text how the program is called, which PyTorch does not print: values of constant inputs, trees of arguments and results.
    #[arg(long)]
    calling: bool,
    #[command(flatten)]
    reading: Reading,
}

pub fn convert(args: &ConvertArgs, global: &Global) -> anyhow::Result<Exit> {
    if args.output == Path::new("-") && global.format == Format::Json {
        bail!("standard output cannot hold both the model (-) and the report (--format json): name a file");
    }
    outputs::check_apart(&[&args.output], &args.reading.files(&[&args.input]))?;
    let loaded = args.reading.sources().model(&args.input)?;
    if args.calling {
        write_with_calling(&loaded.model, &args.output)?;
    } else {
        write_model(&loaded.model, &loaded.registry, &args.output)?;
    }
    if global.format == Format::Json {
        output::print_json(&serde_json::json!({
            "input": args.input.display().to_string(),
            "output": args.output.display().to_string(),
            "nodes": loaded.model.graph.len(),
        }))?;
    } else if args.output != Path::new("-") {
        output::status(global, "Wrote", &args.output.display().to_string());
    }
    Ok(Exit::Done)
}

/// Writes the text of a model and, below it, how it is called.
fn write_with_calling(model: &Model, path: &Path) -> anyhow::Result<()> {
    if path != Path::new("-") && path.extension().is_none_or(|e| e != "fx") {
        bail!(
            "--calling is for texts: {} must end in .fx, or be `-`; a .pt2 file always says how it is called",
            path.display()
        );
    }
    let shown = || format!("cannot write {}", path.display());
    let mut text = text::write_readable(&model.graph).with_context(shown)?;
    text.push_str(&text::calling::write(model));
    if path == Path::new("-") {
        return output::print_bytes(text.as_bytes());
    }
    write_whole(path, |out| std::io::Write::write_all(out, text.as_bytes())).with_context(shown)
}

/// Writes a model in the form that the file's ending names; the file appears whole or not at all.
pub fn write_model(model: &Model, registry: &Registry, path: &Path) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return output::print_bytes(text::write_readable(&model.graph)?.as_bytes());
    }
    Ok(outputs::write_model(model, registry, path, path)?)
}
