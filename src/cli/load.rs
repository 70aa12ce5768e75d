//! Reading what the command line names: content decides, not the ending.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow, bail};

use super::Reading;
use crate::analysis::form::check_form;
use crate::formats::{like, map, operators, pt2, text, weights};
use crate::graph::{Bytes, Graph, Model};
use crate::ops::Registry;

/// What kind of file a model came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A `torch.export` archive.
    Pt2,
    /// The text form.
    Text,
}

/// A model that was read and checked, and the operators that it was checked against.
pub struct Loaded {
    pub model: Model,
    pub registry: Arc<Registry>,
    #[cfg_attr(not(feature = "sandbox"), allow(dead_code))]
    pub kind: Kind,
}

/// Returns the registry with what `--ops` adds.
pub fn registry(reading: &Reading) -> anyhow::Result<Arc<Registry>> {
    static STANDARD: OnceLock<Arc<Registry>> = OnceLock::new();
    if reading.ops.is_empty() {
        return Ok(STANDARD.get_or_init(|| Arc::new(Registry::standard())).clone());
    }
    let mut registry = Registry::standard();
    for (name, text) in operator_texts(reading)? {
        operators::extend(&mut registry, &name, &text)?;
    }
    Ok(Arc::new(registry))
}

/// Returns the texts of `--ops`, each with the name of its file.
pub fn operator_texts(reading: &Reading) -> anyhow::Result<Vec<(String, String)>> {
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path.display().to_string(), text))
    };
    reading.ops.iter().map(read).collect()
}

/// Returns all bytes of a file, mapped; `-` is standard input.
pub fn bytes(path: &Path) -> anyhow::Result<Bytes> {
    if path == Path::new("-") {
        let mut all = Vec::new();
        std::io::stdin().lock().read_to_end(&mut all).context("cannot read standard input")?;
        return Ok(Bytes::new(all));
    }
    map(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a model without checking it: form and types are the caller's.
pub fn unchecked(path: &Path, reading: &Reading, registry: &Registry) -> anyhow::Result<(Model, Kind)> {
    unchecked_bytes(path, bytes(path)?, reading, registry)
}

/// Reads a model from the bytes of `path`; of a case the program before.
pub fn unchecked_bytes(
    path: &Path,
    bytes: Bytes,
    reading: &Reading,
    registry: &Registry,
) -> anyhow::Result<(Model, Kind)> {
    let name = if path == Path::new("-") { "standard input".to_string() } else { path.display().to_string() };
    if pt2::is_pt2(bytes.as_slice()) {
        if reading.weights.is_some() {
            bail!("{name} holds its own weights; --weights is for .fx models");
        }
        return Ok((pt2::read_bytes(&name, bytes, registry)?, Kind::Pt2));
    }
    let graph = read_text(&name, bytes.as_slice())?;
    let weights = match &reading.weights {
        Some(file) => weights::read(file, &graph)?,
        None => Default::default(),
    };
    let mut model = Model { graph, weights, ..Model::default() };
    if let Some(calling) = text_of(bytes.as_slice()).map(|t| text::calling::read(&name, t)).transpose()?.flatten() {
        model.envelope.json = calling.into_json();
    }
    if let Some(file) = &reading.like {
        let shown = file.display().to_string();
        let like = pt2::read_bytes(&shown, self::bytes(file)?, registry)?;
        like::complete(&mut model, like).with_context(|| format!("{name} is not called as {shown} is"))?;
    }
    Ok((model, Kind::Text))
}

/// Returns what is read as a text that stands alone: of a case the programs say nothing of how they are called.
fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|t| !t.starts_with("=== "))
}

/// Reads a graph from text; the device of a graph without a signature is the NPU.
fn read_text(name: &str, bytes: &[u8]) -> anyhow::Result<Graph> {
    let options = text::ReadOptions::of_file(name);
    match std::str::from_utf8(bytes) {
        Ok(case) if case.starts_with("=== ") => Ok(text::case::read_before(case, &options)?),
        _ => Ok(text::read_bytes(bytes, &options)?),
    }
}

/// Refuses to read two models from one stream.
pub fn check_one_from_stdin(paths: &[&Path]) -> anyhow::Result<()> {
    if paths.iter().filter(|p| **p == Path::new("-")).count() > 1 {
        bail!("only one of the models can be `-`: there is one standard input");
    }
    Ok(())
}

/// Reads a model and checks form and types; a model that is not well formed is bad input.
pub fn model(path: &Path, reading: &Reading) -> anyhow::Result<Loaded> {
    model_of_bytes(path, bytes(path)?, reading)
}

/// Does the same with a model that is in memory already.
pub fn model_of_bytes(path: &Path, bytes: Bytes, reading: &Reading) -> anyhow::Result<Loaded> {
    let registry = registry(reading)?;
    let (mut model, kind) = unchecked_bytes(path, bytes, reading, &registry)?;
    let problems = problems(&mut model.graph, &registry);
    if !problems.is_empty() {
        let name = path.display();
        return Err(anyhow!("{name} is not a well-formed model:\n  {}", problems.join("\n  ")));
    }
    Ok(Loaded { model, registry, kind })
}

/// Checks form, and where that holds types; fills in the types that rules give.
pub fn problems(graph: &mut Graph, registry: &Registry) -> Vec<String> {
    const SHOWN: usize = 20;
    let mut problems: Vec<String> = check_form(graph).iter().map(ToString::to_string).collect();
    if problems.is_empty() {
        problems = registry.check_types(graph).iter().map(ToString::to_string).collect();
    }
    if problems.len() > SHOWN {
        let more = problems.len().saturating_sub(SHOWN);
        problems.truncate(SHOWN);
        problems.push(format!("... and {more} more"));
    }
    problems
}

/// Says on standard error that a text model has no weights of its own.
#[cfg(feature = "sandbox")]
pub fn warn_of_absent_weights(loaded: &Loaded, path: &Path, reading: &Reading) {
    let needs = loaded.model.graph.signature.as_ref().is_some_and(|s| s.inputs.iter().any(|i| i.target.is_some()));
    if loaded.kind == Kind::Text && reading.weights.is_none() && needs {
        super::output::warn(&format!(
            "{} holds no weights; give them with --weights where they are needed",
            path.display()
        ));
    }
}
