//! A model: graph, weights, and what its file says beyond both.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::{Bytes, Graph, Weights};
use crate::sym::SymValue;

/// A graph with its weights.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The program.
    pub graph: Graph,
    /// Parameters, buffers, constants.
    pub weights: Weights,
    /// What the archive holds beyond graph and weights.
    pub envelope: Envelope,
}

/// Parts of an exported program that Airlock carries through unread, as JSON text or bytes.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// `ATEN` or `TRAINING`.
    pub verifiers: Vec<String>,
    /// Top-level and module fields of `model.json` that are kept as they were read, by name.
    pub json: Vec<(String, Box<serde_json::value::RawValue>)>,
    /// Archive entries carried through, by name below the root folder.
    pub entries: Vec<(String, Bytes)>,
    /// How symbolic expressions stood in the file.
    pub symbolic: IndexMap<SymValue, SymText>,
    /// How the file calls operators that nobody knows, by target.
    pub opaque: BTreeMap<Box<str>, OpaqueForm>,
}

/// A symbolic expression as a file holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymText {
    /// sympy's `srepr`.
    pub srepr: Box<str>,
    /// The example's value, as JSON.
    pub hint: Option<Box<str>>,
}

/// What the calls of an operator show of its schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpaqueForm {
    /// Names of its positional parameters, as far as calls show them.
    pub positional: Vec<Box<str>>,
    /// Whether it gives one list of tensors, rather than several results.
    pub list_result: bool,
}
