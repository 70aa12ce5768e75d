//! What a text leaves out, taken from a model that has it: values of constant inputs, the trees of arguments and results, weights, and how
//! inputs lie in memory.
//!
//! Promises: nothing is taken from a model whose caller would see another program: inputs and outputs must be the same, by name, kind and
//! number; nothing that the text states is changed.

use std::sync::Arc;

use thiserror::Error;

use crate::analysis::contiguous;
use crate::graph::{BodyId, Graph, InputKind, Model, NodeId, NodeKind, OutputKind, TensorType, ValueType, View};

/// Why a model does not serve.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LikeError {
    /// One of the two says nothing of its inputs and outputs.
    #[error("{which} has no signature, so that nothing says which of its inputs are which")]
    NoSignature {
        /// Which of the two.
        which: &'static str,
    },
    /// Another number of inputs or outputs.
    #[error("the model has {found} {what}, and the text has {expected}")]
    Count {
        /// `inputs` or `outputs`.
        what: &'static str,
        /// In the model.
        found: usize,
        /// In the text.
        expected: usize,
    },
    /// Another input at a place.
    #[error("input {place} is {found} in the model, and {expected} in the text")]
    Input {
        /// From 0.
        place: usize,
        /// In the model.
        found: String,
        /// In the text.
        expected: String,
    },
    /// Another output at a place.
    #[error("output {place} is a {found} in the model, and a {expected} in the text")]
    Output {
        /// From 0.
        place: usize,
        /// In the model.
        found: &'static str,
        /// In the text.
        expected: &'static str,
    },
}

/// Fills in what `model`, read from a text, does not say, as `like` says it. Weights are taken where `model` has none.
pub fn complete(model: &mut Model, like: Model) -> Result<(), LikeError> {
    check_same_caller(&model.graph, &like.graph)?;
    let pairs: Vec<(NodeId, NodeId)> = inputs(&model.graph).zip(inputs(&like.graph)).collect();
    let mut is_assumed = false;
    for (node, other) in pairs {
        if matches!(model.graph.ty(node), ValueType::Const(None)) {
            model.graph.set_type(node, like.graph.ty(other).clone());
            continue;
        }
        // How results lie the text still does not say: `layout_assumed` stays as it is.
        match laid_out(&model.graph, node, like.graph.ty(other)) {
            Some(ty) => model.graph.set_type(node, ty),
            None => is_assumed |= like.graph.ty(other).as_tensor().is_some_and(|t| contiguous(t) != Some(true)),
        }
    }
    model.graph.inputs_assumed &= is_assumed;
    if model.weights.storages.is_empty() {
        model.weights = like.weights;
    }
    model.envelope.json = like.envelope.json;
    model.envelope.entries = like.envelope.entries;
    Ok(())
}

fn inputs(graph: &Graph) -> impl Iterator<Item = NodeId> + '_ {
    graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder)
}

fn check_same_caller(text: &Graph, like: &Graph) -> Result<(), LikeError> {
    let expected = text.signature.as_ref().ok_or(LikeError::NoSignature { which: "the text" })?;
    let found = like.signature.as_ref().ok_or(LikeError::NoSignature { which: "the model" })?;
    for (what, found, expected) in [
        ("inputs", found.inputs.len(), expected.inputs.len()),
        ("inputs", inputs(like).count(), inputs(text).count()),
        ("outputs", found.outputs.len(), expected.outputs.len()),
    ] {
        if found != expected {
            return Err(LikeError::Count { what, found, expected });
        }
    }
    for (place, (found, expected)) in found.inputs.iter().zip(&expected.inputs).enumerate() {
        if (found.kind, &found.target) != (expected.kind, &expected.target)
            || (found.kind == InputKind::UserInput && found.name != expected.name)
        {
            let named =
                |s: &crate::graph::InputSpec| format!("{} `{}`", s.kind.name(), s.target.as_deref().unwrap_or(&s.name));
            return Err(LikeError::Input { place, found: named(found), expected: named(expected) });
        }
    }
    for (place, (found, expected)) in found.outputs.iter().zip(&expected.outputs).enumerate() {
        if found.kind != expected.kind {
            let name = |kind: OutputKind| kind.name();
            return Err(LikeError::Output { place, found: name(found.kind), expected: name(expected.kind) });
        }
    }
    Ok(())
}

/// The type of an input with strides and offset of `like`, where the two are tensors of one dtype and the same fixed sizes.
fn laid_out(graph: &Graph, node: NodeId, like: &ValueType) -> Option<ValueType> {
    let (stated, like) = (graph.ty(node).as_tensor()?, like.as_tensor()?);
    let is_fixed = |t: &TensorType| t.sizes.iter().chain(t.strides.iter().flatten()).all(|d| d.fixed().is_some());
    if (stated.dtype, &stated.sizes) != (like.dtype, &like.sizes) || !is_fixed(like) || like.strides.is_none() {
        return None;
    }
    let (strides, offset) = (like.strides.clone(), like.offset);
    let requires_grad = stated.requires_grad || like.requires_grad;
    Some(ValueType::Tensor(Arc::new(TensorType { strides, offset, requires_grad, ..stated.clone() })))
}
