//! Writing an archive: everything is put together and checked first, then one file appears.
//!
//! Entries come in PyTorch's order. Weights and other entries are written from where they lie (a mapped file, mostly).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::container::FOLDER;
use super::error::{Problem, Pt2Error};
use super::weights::{CONSTANTS, CONSTANTS_CONFIG, WEIGHTS, WEIGHTS_CONFIG, complete, extent};
use super::zip_out::ZipOut;
use super::{python, write_program, write_values};
use crate::formats::write_whole;
use crate::graph::{Bytes, Model, Weight, WeightError, Weights};
use crate::ops::Registry;
use crate::sym::KeyedSet;

/// The name of the folder where a file has none to give.
const ROOT: &str = "archive";

/// Writes a model as a `.pt2` file, which appears whole or not at all.
pub fn write(model: &Model, path: &Path, ops: &Registry) -> Result<(), Pt2Error> {
    write_as(model, path, path, ops)
}

/// Writes to `path` the archive that will be called `file`: its root folder and errors go by that name.
pub fn write_as(model: &Model, path: &Path, file: &Path, ops: &Registry) -> Result<(), Pt2Error> {
    let name = file.display().to_string();
    let root = file.file_stem().and_then(|s| s.to_str()).filter(|s| !s.is_empty()).unwrap_or(ROOT);
    let plan = Plan::of(model, ops).map_err(|problem| problem.of(&name))?;
    write_whole(path, |out| plan.write(out, root)).map_err(|source| Problem::Io { action: "write", source }.of(&name))
}

/// Writes a model as a `.pt2` file to `out`; `name` is how errors call it.
pub fn write_to(model: &Model, name: &str, out: &mut dyn Write, ops: &Registry) -> Result<(), Pt2Error> {
    let plan = Plan::of(model, ops).map_err(|problem| problem.of(name))?;
    plan.write(out, ROOT).map_err(|source| Problem::Io { action: "write", source }.of(name))
}

/// All entries but those that every archive has alike.
struct Plan<'m> {
    entries: Vec<(String, Content<'m>)>,
}

enum Content<'m> {
    Made(String),
    Carried(&'m Bytes),
}

impl<'m> Plan<'m> {
    fn of(model: &'m Model, ops: &Registry) -> Result<Self, Problem> {
        let program = write_program::program(model, ops)?;
        let mut entries = Vec::new();
        let mut taken: KeyedSet<String> = model.envelope.entries.iter().map(|(n, _)| n.clone()).collect();
        for (folder, stem, config, table) in [
            (WEIGHTS, "weight_", WEIGHTS_CONFIG, &model.weights.state),
            (CONSTANTS, "tensor_", CONSTANTS_CONFIG, &model.weights.constants),
        ] {
            let names = storages(&model.weights, table, folder, stem, &mut taken)?;
            for (storage, path) in &names {
                let bytes = model.weights.storages.get(storage);
                entries.extend(bytes.map(|b| (format!("{folder}{path}"), Content::Carried(b))));
            }
            entries.push((config.to_string(), Content::Made(weights_config(table, &names)?)));
        }
        if let Some(signature) = &model.graph.signature {
            complete(signature, &model.weights)?;
        }
        entries.push((FOLDER.program.to_string(), Content::Made(program)));
        if !model.envelope.entries.iter().any(|(name, _)| name == SAMPLE_INPUTS) {
            entries.push((SAMPLE_INPUTS.to_string(), Content::Made(String::new())));
        }
        entries.extend(model.envelope.entries.iter().map(|(name, bytes)| (name.clone(), Content::Carried(bytes))));
        Ok(Self { entries })
    }

    fn write(&self, out: &mut (impl Write + ?Sized), root: &str) -> io::Result<()> {
        let mut zip = ZipOut::new(out);
        for (name, content) in &self.entries {
            let bytes = match content {
                Content::Made(text) => text.as_bytes(),
                Content::Carried(bytes) => bytes.as_slice(),
            };
            zip.add(&format!("{root}/{name}"), bytes)?;
        }
        for (name, content) in
            [("archive_format", "pt2"), ("archive_version", "0"), (".data/version", "6\n"), ("byteorder", "little")]
        {
            zip.add(&format!("{root}/{name}"), content.as_bytes())?;
        }
        let id = zip.id();
        zip.add(&format!("{root}/.data/serialization_id"), id.as_bytes())?;
        zip.finish()
    }
}

/// PyTorch's loader wants it, if only empty.
const SAMPLE_INPUTS: &str = "data/sample_inputs/model.pt";

/// Returns the path of every storage that `table` uses: its own where it has one in `folder`, else a new one.
fn storages(
    weights: &Weights,
    table: &IndexMap<Box<str>, Weight>,
    folder: &str,
    stem: &str,
    taken: &mut KeyedSet<String>,
) -> Result<IndexMap<Arc<str>, String>, Problem> {
    let mut used: BTreeMap<usize, Arc<str>> = BTreeMap::new();
    for (name, weight) in table {
        let place = weights.storages.get_index_of(&weight.storage);
        used.insert(place.ok_or_else(|| WeightError::Missing { name: name.to_string() })?, weight.storage.clone());
    }
    let own = |storage: &str| storage.strip_prefix(folder).filter(|p| !p.is_empty()).map(str::to_string);
    for storage in used.values() {
        if let Some(path) = own(storage) {
            taken.insert(format!("{folder}{path}"));
        }
    }
    let mut next = 0_usize;
    let mut names = IndexMap::with_capacity(used.len());
    for storage in used.into_values() {
        let path = own(&storage).unwrap_or_else(|| {
            loop {
                let path = format!("{stem}{next}");
                next = next.saturating_add(1);
                if taken.insert(format!("{folder}{path}")) {
                    return path;
                }
            }
        });
        names.insert(storage, path);
    }
    Ok(names)
}

fn weights_config(table: &IndexMap<Box<str>, Weight>, names: &IndexMap<Arc<str>, String>) -> Result<String, Problem> {
    let mut out = String::from("{\"config\": {");
    for (place, (name, weight)) in table.iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        if weight.ty.dtype.pt2_number() == 0 || extent(&weight.ty).is_none() {
            let reason =
                format!("weight `{name}` has no fixed size, or a dtype without a number ({})", weight.ty.dtype);
            return Err(Problem::Node { node: name.to_string(), reason });
        }
        python::quote(&mut out, name);
        out.push_str(": {\"path_name\": ");
        python::quote(&mut out, names.get(&weight.storage).map_or("", |p| p));
        let _ = write!(out, ", \"is_param\": {}, \"use_pickle\": false, \"tensor_meta\": ", weight.is_param);
        write_values::tensor(&mut out, &weight.ty, &mut |out, dim| {
            python::int(out, dim.fixed().unwrap_or_default());
        });
        out.push('}');
    }
    out.push_str("}}");
    Ok(out)
}
