//! Reading what a command names: content decides, not the ending.
//!
//! Promises: a [`Loaded`] model is well formed and typed. Leaves to callers which files may be read together.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::analysis::form::check_form;
use crate::formats::{like, map, operators, pt2, text, weights};
use crate::graph::{Bytes, Graph, InputLayout, Model};
use crate::ops::Registry;

/// What a model is read with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// Files of more operators.
    pub ops: &'a [PathBuf],
    /// Weights of a text.
    pub weights: Option<&'a Path>,
    /// A model that is called as a text is, for what the text leaves out.
    pub like: Option<&'a Path>,
    /// How inputs lie of which the model states no strides.
    pub inputs_lie: InputLayout,
}

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
    /// The model.
    pub model: Model,
    /// Its operators.
    pub registry: Arc<Registry>,
    /// What it was read from.
    pub kind: Kind,
}

/// Why a model cannot be read. Errors of formats are said as they are.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system says no.
    #[error("cannot read {what}")]
    Io {
        /// The file.
        what: String,
        /// What it says.
        source: std::io::Error,
    },
    /// Weights beside a file that has them.
    #[error("{name} holds its own weights; --weights is for .fx models")]
    OwnWeights {
        /// The file.
        name: String,
    },
    /// A model that is called otherwise.
    #[error("{name} is not called as {like} is")]
    Like {
        /// The text.
        name: String,
        /// The model.
        like: String,
        /// Where they differ.
        source: like::LikeError,
    },
    /// A model whose form or types do not hold.
    #[error("{name} is not a well-formed model:\n  {}", problems.join("\n  "))]
    IllFormed {
        /// The file.
        name: String,
        /// What does not hold.
        problems: Vec<String>,
    },
    /// No archive.
    #[error("{0}")]
    Pt2(#[from] pt2::Pt2Error),
    /// No text.
    #[error("{0}")]
    Text(#[from] text::TextError),
    /// No case.
    #[error("{0}")]
    Case(#[from] text::case::CaseError),
    /// No weights.
    #[error("{0}")]
    Weights(#[from] weights::WeightsFileError),
    /// No operators.
    #[error("{0}")]
    Operators(#[from] operators::OperatorFileError),
}

fn cannot_read(path: &Path) -> impl FnOnce(std::io::Error) -> ReadError {
    let what = path.display().to_string();
    |source| ReadError::Io { what, source }
}

impl Sources<'_> {
    /// Returns the registry with what the files of operators add.
    pub fn registry(&self) -> Result<Arc<Registry>, ReadError> {
        static STANDARD: OnceLock<Arc<Registry>> = OnceLock::new();
        if self.ops.is_empty() {
            return Ok(STANDARD.get_or_init(|| Arc::new(Registry::standard())).clone());
        }
        let mut registry = Registry::standard();
        for (name, text) in self.operator_texts()? {
            operators::extend(&mut registry, &name, &text)?;
        }
        Ok(Arc::new(registry))
    }

    /// Returns the texts of the files of operators, each with its file's name.
    pub fn operator_texts(&self) -> Result<Vec<(String, String)>, ReadError> {
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).map_err(cannot_read(path))?;
            Ok((path.display().to_string(), text))
        };
        self.ops.iter().map(read).collect()
    }

    /// Reads a model and checks form and types; a model that is not well formed is bad input.
    pub fn model(&self, path: &Path) -> Result<Loaded, ReadError> {
        self.model_of_bytes(path, bytes(path)?)
    }

    /// Does the same with the bytes of `path`.
    pub fn model_of_bytes(&self, path: &Path, bytes: Bytes) -> Result<Loaded, ReadError> {
        let registry = self.registry()?;
        let (mut model, kind) = self.unchecked_bytes(path, bytes, &registry)?;
        let problems = problems(&mut model.graph, &registry);
        if !problems.is_empty() {
            return Err(ReadError::IllFormed { name: path.display().to_string(), problems });
        }
        Ok(Loaded { model, registry, kind })
    }

    /// Reads a model without checking it: form and types are the caller's.
    pub fn unchecked(&self, path: &Path, registry: &Registry) -> Result<(Model, Kind), ReadError> {
        self.unchecked_bytes(path, bytes(path)?, registry)
    }

    /// Reads a model from the bytes of `path`; of a case the program before.
    pub fn unchecked_bytes(&self, path: &Path, bytes: Bytes, registry: &Registry) -> Result<(Model, Kind), ReadError> {
        let name = if path == Path::new("-") { "standard input".to_string() } else { path.display().to_string() };
        if pt2::is_pt2(bytes.as_slice()) {
            if self.weights.is_some() {
                return Err(ReadError::OwnWeights { name });
            }
            return Ok((pt2::read_bytes(&name, bytes, registry)?, Kind::Pt2));
        }
        let graph = self.read_text(&name, bytes.as_slice())?;
        let weights = match self.weights {
            Some(file) => weights::read(file, &graph)?,
            None => Default::default(),
        };
        let mut model = Model { graph, weights, ..Model::default() };
        if let Some(calling) = text_of(bytes.as_slice()).map(|t| text::calling::read(&name, t)).transpose()?.flatten() {
            model.envelope.json = calling.into_json();
        }
        if let Some(file) = self.like {
            let shown = file.display().to_string();
            let like = pt2::read_bytes(&shown, self::bytes(file)?, registry)?;
            like::complete(&mut model, like).map_err(|source| ReadError::Like { name, like: shown, source })?;
        }
        Ok((model, Kind::Text))
    }

    /// Reads a graph from text; the device of a graph without a signature is the NPU.
    fn read_text(&self, name: &str, bytes: &[u8]) -> Result<Graph, ReadError> {
        let options = text::ReadOptions { inputs_lie: self.inputs_lie, ..text::ReadOptions::of_file(name) };
        match std::str::from_utf8(bytes) {
            Ok(case) if case.starts_with("=== ") => Ok(text::case::read_before(case, &options)?),
            _ => Ok(text::read_bytes(bytes, &options)?),
        }
    }
}

/// Returns all bytes of a file, mapped; `-` is standard input.
pub fn bytes(path: &Path) -> Result<Bytes, ReadError> {
    if path == Path::new("-") {
        let mut all = Vec::new();
        let cannot = |source| ReadError::Io { what: "standard input".into(), source };
        std::io::stdin().lock().read_to_end(&mut all).map_err(cannot)?;
        return Ok(Bytes::new(all));
    }
    map(path).map_err(cannot_read(path))
}

/// Returns what is read as a text that stands alone: of a case the programs say nothing of how they are called.
fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|t| !t.starts_with("=== "))
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
