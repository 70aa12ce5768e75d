//! Reading an archive: entries, versions, weights, then the program.

use std::borrow::Cow;
use std::path::Path;

use serde_json::value::RawValue;

use super::archive::{Archive, quoted};
use super::body::Reader;
use super::error::{Problem, Pt2Error};
use super::schema::{InputSpec, Program};
use super::{document, signature, weights};
use crate::formats::map;
use crate::graph::{BodyId, Bytes, Envelope, Model};
use crate::ops::Registry;

/// Entries that the writer makes anew.
const REMADE: &[&str] = &["archive_format", "archive_version", ".data/version", ".data/serialization_id", "byteorder"];

/// Returns whether bytes begin as a `.pt2` file does: a zip archive.
pub fn is_pt2(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Reads a `.pt2` file. Its weights stay in the file, which is mapped.
pub fn read(path: &Path, ops: &Registry) -> Result<Model, Pt2Error> {
    let name = path.display().to_string();
    let bytes = map(path).map_err(|source| Problem::Io { action: "read", source }.of(&name))?;
    read_bytes(&name, bytes, ops)
}

/// Reads a `.pt2` file from memory; `name` is how errors call it.
pub fn read_bytes(name: &str, bytes: Bytes, ops: &Registry) -> Result<Model, Pt2Error> {
    archive(bytes, ops).map_err(|problem| problem.of(name))
}

fn archive(bytes: Bytes, ops: &Registry) -> Result<Model, Problem> {
    let mut archive = Archive::open(bytes)?;
    let container = archive.container();
    if container.is_stated {
        says(&mut archive, "archive_format", "pt2")?;
        says(&mut archive, "archive_version", "0")?;
    }
    if !archive.has(container.program) {
        return Err(no_program(&archive));
    }
    let mut json = archive.entry(container.program)?;
    if !container.is_stated
        && let Cow::Owned(quoted) = document::quoted(json.as_slice())
    {
        json = Bytes::new(quoted);
    }
    let program = document::program(container.program, json.as_slice(), container.majors)?;
    let weights = weights::read(&mut archive)?;

    let signature = signature::read(&program.graph_module)?;
    weights::complete(&signature, &weights)?;
    let mut reader = Reader::new(&json, ops);
    reader.input_names = program.graph_module.signature.input_specs.iter().map(constant_name).collect();
    reader.values.ranges(&mut reader.graph, &program.range_constraints)?;
    reader.body(BodyId::ROOT, &program.graph_module.graph)?;
    signature::outputs_fit(&program.graph_module)?;
    reader.values.keep_ranges(&mut reader.graph, &program.range_constraints);

    let mut envelope = envelope(&program);
    for entry in archive.names().map(str::to_string).collect::<Vec<_>>() {
        let remade = entry == container.program
            || REMADE.contains(&entry.as_str())
            || weights::is_remade(&archive, &entry)
            || weights.storages.contains_key(entry.as_str());
        if let Some(name) = container.carried(&entry).filter(|_| !remade) {
            envelope.entries.push((name.into_owned(), archive.entry(&entry)?));
        }
    }
    let Reader { mut graph, values, opaque, .. } = reader;
    graph.signature = Some(signature);
    envelope.symbolic = values.texts;
    envelope.opaque = opaque;
    Ok(Model { graph, weights, envelope })
}

/// Holds that a small entry says what it must.
fn says(archive: &mut Archive, entry: &'static str, expected: &'static str) -> Result<(), Problem> {
    let content = archive.entry(entry)?;
    let found: String = String::from_utf8_lossy(content.as_slice()).trim().chars().take(40).collect();
    if found == expected { Ok(()) } else { Err(Problem::Version { entry, found, expected }) }
}

fn no_program(archive: &Archive) -> Problem {
    let others: Vec<&str> = archive.names().filter(|n| n.starts_with("models/") && n.ends_with(".json")).collect();
    if others.is_empty() {
        return Problem::MissingEntry { entry: archive.container().program.to_string() };
    }
    Problem::NotPt2 { found: format!("its models are {}; only one that is named `model` is read", quoted(&others)) }
}

fn constant_name<'p>(spec: &'p InputSpec<'p>) -> Option<&'p str> {
    match spec {
        InputSpec::ConstantInput { name } => Some(name),
        _ => None,
    }
}

fn envelope(program: &Program<'_>) -> Envelope {
    let module = &program.graph_module;
    let kept = [
        ("module_call_graph", Some(module.module_call_graph)),
        ("metadata", module.metadata),
        ("treespec_namedtuple_fields", module.treespec_namedtuple_fields),
        ("opset_version", Some(program.opset_version)),
        ("torch_version", program.torch_version),
        ("guards_code", program.guards_code),
    ];
    let own = |(name, raw): (&str, Option<&RawValue>)| Some((name.to_string(), raw?.to_owned()));
    Envelope {
        verifiers: program.verifiers.iter().map(|v| v.to_string()).collect(),
        json: kept.into_iter().filter_map(own).collect(),
        ..Envelope::default()
    }
}
