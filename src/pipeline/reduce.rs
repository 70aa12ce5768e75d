//! The smallest model on which something still happens.
//!
//! Promises: what comes out passed the test; weights that no input names are gone. Leaves how graphs shrink to `graph`, and the test to callers.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::graph::{self, Graph, Model};

/// What is left of a model.
pub struct Reduced {
    /// The model.
    pub model: Model,
    /// On how many models the test was run.
    pub tried: usize,
    /// Whether nothing more can be taken out; else time ran out.
    pub is_done: bool,
}

/// Makes a model smaller as long as the test, which the model passes, says yes; no try begins after the deadline.
pub fn reduce(mut model: Model, deadline: Instant, test: &mut dyn FnMut(&Model) -> bool) -> Reduced {
    let graph = std::mem::take(&mut model.graph);
    let mut holds = |graphs: &[Graph]| {
        let Some(graph) = graphs.first() else { return false };
        model.graph = graph.clone();
        test(&model)
    };
    let reduced = graph::reduce(vec![graph], deadline, &mut holds);
    model.graph = reduced.graphs.into_iter().next().unwrap_or_default();
    drop_weights(&mut model);
    Reduced { model, tried: reduced.tried, is_done: reduced.is_done }
}

/// Forgets weights that no input names.
fn drop_weights(model: &mut Model) {
    let Some(signature) = &model.graph.signature else { return };
    let names: BTreeSet<&str> = signature.inputs.iter().filter_map(|i| i.target.as_deref()).collect();
    let weights = &mut model.weights;
    weights.state.retain(|n, _| names.contains(&**n));
    weights.constants.retain(|n, _| names.contains(&**n));
    let used: BTreeSet<_> =
        weights.state.values().chain(weights.constants.values()).map(|w| w.storage.clone()).collect();
    weights.storages.retain(|n, _| used.contains(n));
}
