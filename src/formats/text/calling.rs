//! How a program is called, which PyTorch's print leaves out: values of constant inputs, trees of arguments and results.
//!
//! One line of ours below the ranges, written only when asked for: `Calling convention: {"constants": {..}, ..}`, a JSON object. Promises:
//! what is written reads back; JSON is bounded in depth by its own reader. PyTorch reads no text, so no reader of its is confused.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::cursor::Cursor;
use super::error::{TextError, TextFault};
use super::pyrepr;
use super::value::literal;
use crate::graph::{BodyId, Graph, Model, NodeKind, ValueType, View};
use crate::sym::KeyedMap;

/// The first words of the line.
pub(super) const CALLING: &str = "Calling convention:";

/// The fields of `model.json` that say how a program is called.
const TREES: [&str; 2] = ["module_call_graph", "treespec_namedtuple_fields"];

/// What the line says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calling {
    /// Python literals of constant inputs, by name.
    #[serde(default)]
    constants: KeyedMap<String, String>,
    /// Fields of `model.json`, as they stand there.
    #[serde(default)]
    module_call_graph: Option<Box<RawValue>>,
    #[serde(default)]
    treespec_namedtuple_fields: Option<Box<RawValue>>,
}

impl Calling {
    /// Returns the fields of `model.json`, by name.
    pub fn into_json(self) -> Vec<(String, Box<RawValue>)> {
        let values = [self.module_call_graph, self.treespec_namedtuple_fields];
        TREES.iter().zip(values).filter_map(|(name, value)| Some(((*name).to_string(), value?))).collect()
    }
}

/// Returns what a text says of how its program is called; `None` where it has no such line.
pub fn read(file: &str, text: &str) -> Result<Option<Calling>, TextError> {
    let start = if text.starts_with(CALLING) {
        0
    } else {
        match text.rfind(&format!("\n{CALLING}")) {
            Some(at) => at.saturating_add(1),
            None => return Ok(None),
        }
    };
    let cursor = Cursor::new(file, text).moved_to(start.saturating_add(CALLING.len()));
    let line = cursor.rest().split(['\n', '\r']).next().unwrap_or_default();
    if !line.trim_start().starts_with('{') {
        return Err(cursor.fault(1, TextFault::Calling { reason: "expected a JSON object".into() }));
    }
    match serde_json::from_str(line) {
        Ok(calling) => Ok(Some(calling)),
        Err(error) => Err(cursor.fault(1, TextFault::Calling { reason: error.to_string() })),
    }
}

/// Returns the line of a model, with its end.
pub fn write(model: &Model) -> String {
    let graph = &model.graph;
    let mut constants = serde_json::Map::new();
    for node in graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder) {
        if let ValueType::Const(Some(value)) = graph.ty(node) {
            let mut literal = String::new();
            pyrepr::arg(&mut literal, value, &mut |_, _| ());
            constants.insert(graph.target(node).to_string(), literal.into());
        }
    }
    let mut out = format!("{CALLING} {{\"constants\": {}", serde_json::Value::Object(constants));
    for name in TREES {
        if let Some((_, raw)) = model.envelope.json.iter().find(|(key, _)| key == name) {
            // Between the tokens of JSON a line end is a space; within its texts none can stand.
            let _ = write!(out, ", \"{name}\": {}", raw.get().replace(['\n', '\r'], " "));
        }
    }
    out.push_str("}\n");
    out
}

/// Gives constant inputs their values.
pub(super) fn fill(graph: &mut Graph, calling: &Calling) {
    let inputs: Vec<_> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder).collect();
    for node in inputs {
        if matches!(graph.ty(node), ValueType::Const(None))
            && let Some(value) = calling.constants.get(graph.target(node)).and_then(|text| literal(text))
        {
            graph.set_type(node, ValueType::Const(Some(std::sync::Arc::new(value))));
        }
    }
}
