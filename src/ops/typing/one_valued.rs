//! Symbols that have one value only: numbers, as everywhere where they are written as such.
//!
//! Promises: a graph whose symbols range over more than one value each is not looked at.

use std::sync::Arc;

use super::check::settle;
use crate::graph::{Graph, NodeId, NodeKind, TensorType, ValueType, View};
use crate::sym::KeyedMap;
use crate::sym::{Dim, SymValue, Symbols};

/// Puts numbers for symbols of one value into every type.
pub fn number(graph: &mut Graph, symbols: &mut Symbols) {
    let known: KeyedMap<String, i64> =
        symbols.believed().filter_map(|(name, range)| Some((name.to_string(), range.single()?))).collect();
    if known.is_empty() {
        return;
    }
    let nodes: Vec<NodeId> = graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()).collect();
    for node in nodes {
        if graph.kind(node) != NodeKind::Output
            && let Some(ty) = numbered(graph.ty(node), symbols, &known)
        {
            settle(graph, symbols, node, ty);
        }
    }
}

/// The type with numbers; `None` where it is left as it is.
fn numbered(ty: &ValueType, symbols: &mut Symbols, known: &KeyedMap<String, i64>) -> Option<ValueType> {
    let dim = |d: Dim, symbols: &mut Symbols| match d {
        Dim::Fixed(_) => d,
        Dim::Expr(_) => {
            let put = symbols.substitute(SymValue::Int(d), &|name| known.get(name).copied().map(Dim::Fixed));
            match put {
                Ok(SymValue::Int(number)) => number,
                _ => d,
            }
        }
    };
    match ty {
        ValueType::Tensor(t) => {
            let sizes = t.sizes.iter().map(|d| dim(*d, symbols)).collect();
            let strides = t.strides.as_ref().map(|s| s.iter().map(|d| dim(*d, symbols)).collect());
            let offset = dim(t.offset, symbols);
            Some(ValueType::Tensor(Arc::new(TensorType { sizes, strides, offset, ..(**t).clone() })))
        }
        ValueType::SymInt(d) => Some(ValueType::SymInt(dim(*d, symbols))),
        _ => None,
    }
}
