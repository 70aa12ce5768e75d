//! Types of values, in the contract's words.

use super::super::bindings::airlock::pass::types::{Dim as WitDim, ElementType, TensorType, ValueType as WitType};
use super::args::words;
use crate::graph::{Graph, ValueType, View};
use crate::sym::Dim;

/// Returns the type of a node.
pub(super) fn value_type(graph: &Graph, ty: &ValueType) -> WitType {
    match ty {
        ValueType::Many(parts) => WitType::Many(parts.iter().map(|t| element(graph, t)).collect()),
        ValueType::Body(body) => WitType::Body(body.0),
        single => WitType::Single(element(graph, single)),
    }
}

fn element(graph: &Graph, ty: &ValueType) -> ElementType {
    let symbols = &graph.symbols;
    match ty {
        ValueType::None => ElementType::None,
        ValueType::Tensor(t) => ElementType::Tensor(TensorType {
            dtype: t.dtype.short().to_string(),
            sizes: t.sizes.iter().map(|d| dim(graph, *d)).collect(),
            strides: t.strides.iter().flatten().map(|d| dim(graph, *d)).collect(),
            device: t.device.to_string(),
        }),
        ValueType::SymInt(d) => ElementType::SymInt(symbols.print_python(*d)),
        ValueType::SymFloat(e) => ElementType::SymFloat(symbols.print_expr(*e)),
        ValueType::SymBool(e) => ElementType::SymBool(symbols.print_expr(*e)),
        ValueType::Unknown => ElementType::Other("unknown".to_string()),
        ValueType::Many(parts) => ElementType::Other(format!("tuple of {}", parts.len())),
        ValueType::Body(body) => ElementType::Other(format!("graph {}", body.0)),
        ValueType::Const(value) => ElementType::Other(
            value.as_ref().map_or_else(|| "constant".to_string(), |v| format!("constant {}", words(v))),
        ),
        ValueType::Other(name) => ElementType::Other(graph.texts().text(*name).to_string()),
    }
}

fn dim(graph: &Graph, d: Dim) -> WitDim {
    match d {
        Dim::Fixed(v) => WitDim::Fixed(v),
        symbolic => WitDim::Symbolic(graph.symbols.print_python(symbolic)),
    }
}
