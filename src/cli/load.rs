//! Models as commands name them: the flags of reading, handed to `pipeline::load`.

use std::path::Path;

use anyhow::bail;

pub use crate::pipeline::load::{Kind, Loaded, bytes, problems};

use super::Reading;
use crate::pipeline::load::Sources;
use crate::pipeline::settle::Settled;

/// Refuses to read two models from one stream.
pub fn check_one_from_stdin(paths: &[&Path]) -> anyhow::Result<()> {
    if paths.iter().filter(|p| **p == Path::new("-")).count() > 1 {
        bail!("only one of the models can be `-`: there is one standard input");
    }
    Ok(())
}

impl Reading {
    /// Returns what models are read with.
    pub fn sources(&self) -> Sources<'_> {
        Sources {
            ops: &self.ops,
            weights: self.weights.as_deref(),
            like: self.like.as_deref(),
            inputs_lie: self.layout,
        }
    }
}

/// Says on standard error which inputs the configuration names that a model has not.
pub fn warn_of_unknown_inputs(settled: &Settled, loaded: &Loaded) {
    let names = settled.unknown_inputs(&loaded.model.graph);
    if !names.is_empty() {
        let names = names.join("`, `");
        super::output::warn(&format!("`[inputs]` of the configuration names `{names}`: the model has no such input"));
    }
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
