//! Recorded inputs and outputs of one call of a program: a `.safetensors` file.
//!
//! Tensors are named `in_N`, `out_N` (flattened, in order), `buf_after.NAME` (buffers that the call changed) and `in_after_N` (inputs that
//! it changed). What is no tensor stands under the same names in the file's metadata, as a Python literal. Promises: bytes stay in the file;
//! numbers are without gaps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use thiserror::Error;

use super::{map, text, weights};
use crate::graph::{Arg, Bytes, TensorType};

/// Why a file is no recording.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not of this format.
    #[error("{} is not a safetensors file: {reason}", .path.display())]
    Format {
        /// File.
        path: PathBuf,
        /// What the format's reader says.
        reason: String,
    },
    /// A number is missing.
    #[error("{} has no `{name}`, though it has a later one", .path.display())]
    Gap {
        /// File.
        path: PathBuf,
        /// The name that is missing.
        name: String,
    },
    /// A value that is no literal.
    #[error("`{name}` of {} is `{value}`: expected a number, a text, True, False or None", .path.display())]
    Literal {
        /// File.
        path: PathBuf,
        /// Its name.
        name: String,
        /// As it stands.
        value: String,
    },
}

/// One recorded value.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// A row-major tensor and its bytes.
    Tensor(Box<TensorType>, Bytes),
    /// Anything else.
    Literal(Arg),
}

/// Recorded inputs and outputs.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The user's inputs, in order.
    pub inputs: Vec<Recorded>,
    /// The user's outputs, in order.
    pub outputs: Vec<Recorded>,
    /// Buffers after the call, by name.
    pub buffers: BTreeMap<String, Recorded>,
    /// Inputs after the call, by number.
    pub changed: BTreeMap<usize, Recorded>,
}

/// Reads a recording.
pub fn read(path: &Path) -> Result<Recording, RecordingError> {
    let bytes = map(path).map_err(|source| RecordingError::Io { path: path.into(), source })?;
    let format = |e: safetensors::SafeTensorError| RecordingError::Format { path: path.into(), reason: e.to_string() };
    let file = SafeTensors::deserialize(bytes.as_slice()).map_err(format)?;
    let (_, header) = SafeTensors::read_metadata(bytes.as_slice()).map_err(format)?;
    let mut values: Vec<(String, Recorded)> = Vec::new();
    for (name, view) in file.tensors() {
        let ty = weights::placed(view.dtype(), view.shape(), None);
        values.push((name, Recorded::Tensor(Box::new(ty), weights::cut_of(&bytes, view.data()))));
    }
    for (name, value) in header.metadata().iter().flatten() {
        if !(name.starts_with("in_") || name.starts_with("out_")) {
            continue;
        }
        let literal = text::literal(value).ok_or_else(|| RecordingError::Literal {
            path: path.into(),
            name: name.clone(),
            value: value.clone(),
        })?;
        values.push((name.clone(), Recorded::Literal(literal)));
    }
    sorted(path, values)
}

fn sorted(path: &Path, values: Vec<(String, Recorded)>) -> Result<Recording, RecordingError> {
    let mut out = Recording::default();
    let (mut inputs, mut outputs) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in values {
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|n| n.parse::<usize>().ok());
        if let Some(n) = number("in_after_") {
            out.changed.insert(n, value);
        } else if let Some(n) = number("in_") {
            inputs.insert(n, value);
        } else if let Some(n) = number("out_") {
            outputs.insert(n, value);
        } else if let Some(buffer) = name.strip_prefix("buf_after.") {
            out.buffers.insert(buffer.into(), value);
        }
    }
    out.inputs = in_order(path, "in_", inputs)?;
    out.outputs = in_order(path, "out_", outputs)?;
    Ok(out)
}

fn in_order(path: &Path, prefix: &str, all: BTreeMap<usize, Recorded>) -> Result<Vec<Recorded>, RecordingError> {
    let gap = all.keys().copied().enumerate().find(|(at, n)| at != n);
    if let Some((at, _)) = gap {
        return Err(RecordingError::Gap { path: path.into(), name: format!("{prefix}{at}") });
    }
    Ok(all.into_values().collect())
}
