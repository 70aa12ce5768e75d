//! A model: graph, weights, and what its file says beyond both.

use super::{Bytes, Graph, Weights};

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
}
