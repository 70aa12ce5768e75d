//! What a program begins with: user inputs, checked against what it states, and weights in their storages.

use std::sync::Arc;

use crate::exec::call::session::Session;
use crate::exec::error::ExecError;
use crate::exec::tensor::storage::Storage;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::{Arg, BodyId, Graph, InputKind, Model, NodeId, NodeKind, TensorType, ValueType, View};
use crate::sym::KeyedMap;
use crate::sym::{Bindings, Dim};

/// One input of a program.
pub struct Input {
    /// Its placeholder.
    pub node: NodeId,
    /// What it is to the caller.
    pub kind: InputKind,
    /// Fully qualified name of a weight.
    pub target: Option<Box<str>>,
}

/// Returns the inputs of a program, in order; without a signature all are the user's.
pub fn of(graph: &Graph) -> Vec<Input> {
    let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let mut specs = graph.signature.iter().flat_map(|s| s.inputs.iter());
    placeholders
        .map(|node| match specs.next() {
            Some(spec) => Input { node, kind: spec.kind, target: spec.target.clone() },
            None => Input { node, kind: InputKind::UserInput, target: None },
        })
        .collect()
}

/// Gives every placeholder its value.
pub fn values(
    model: &Model,
    inputs: &[Input],
    given: Vec<Value>,
    session: &Session<'_>,
) -> Result<Vec<(NodeId, Value)>, ExecError> {
    let graph = &model.graph;
    let users = inputs.iter().filter(|i| i.kind == InputKind::UserInput).count();
    if users != given.len() {
        let names: Vec<&str> =
            inputs.iter().filter(|i| i.kind == InputKind::UserInput).map(|i| graph.name(i.node)).collect();
        return Err(ExecError::Inputs { expected: users, names: names.join(", "), found: given.len() });
    }
    let mut storages: KeyedMap<Arc<str>, Storage> = KeyedMap::default();
    let mut bindings = Bindings::new();
    let mut given = given.into_iter().enumerate();
    let mut out = Vec::with_capacity(inputs.len());
    for input in inputs {
        let value = match (input.kind, &input.target) {
            (InputKind::UserInput, _) => {
                let (index, value) = given.next().unwrap_or_default();
                check(graph, input.node, index, &value, &mut bindings)?;
                value
            }
            // What orders effects: nobody reads it.
            (InputKind::Token, _) => Value::List(Vec::new()),
            (_, Some(target)) => Value::Tensor(weight(model, input.node, target, &mut storages, session)?),
            (_, None) => Value::None,
        };
        out.push((input.node, value));
    }
    Ok(out)
}

fn weight(
    model: &Model,
    node: NodeId,
    target: &str,
    storages: &mut KeyedMap<Arc<str>, Storage>,
    session: &Session<'_>,
) -> Result<Tensor, ExecError> {
    let name = || model.graph.name(node).to_string();
    let (weight, bytes) = model.weights.find(target).map_err(|source| ExecError::Weight { name: name(), source })?;
    let storage = storages
        .entry(weight.storage.clone())
        .or_insert_with(|| Storage::mapped(bytes.clone(), session.meter()))
        .clone();
    let place = Meta::of(&weight.ty).and_then(|meta| Tensor::new(meta, storage));
    place.map_err(|fault| ExecError::Place { name: name(), weight: target.into(), fault: Box::new(fault) })
}

/// Checks a user's input against its placeholder, and binds the symbols of its sizes.
fn check(graph: &Graph, node: NodeId, index: usize, value: &Value, bindings: &mut Bindings) -> Result<(), ExecError> {
    let wrong = |expected: String, found: String| {
        Err(ExecError::Input { name: graph.name(node).into(), index, expected, found })
    };
    match (graph.ty(node), value) {
        (ValueType::Tensor(ty), Value::Tensor(t)) => match fits(graph, ty, t, bindings) {
            true => Ok(()),
            false => wrong(ty.print(&graph.symbols), format!("{}{:?}", t.dtype(), t.sizes())),
        },
        (ValueType::Tensor(ty), other) => wrong(ty.print(&graph.symbols), other.kind().into()),
        (ValueType::SymInt(dim), Value::Int(n)) => match bound(graph, *dim, *n, bindings) {
            true => Ok(()),
            false => wrong(graph.symbols.print_python(*dim), n.to_string()),
        },
        (ValueType::SymInt(dim), other) => wrong(graph.symbols.print_python(*dim), other.kind().into()),
        (ValueType::Const(Some(stated)), found) if !same_constant(stated, found) => {
            wrong(format!("the constant {stated:?} with which it was exported"), format!("{found:?}"))
        }
        _ => Ok(()),
    }
}

fn fits(graph: &Graph, ty: &TensorType, t: &Tensor, bindings: &mut Bindings) -> bool {
    #[allow(clippy::cast_possible_wrap)]
    let sizes = ty.sizes.iter().zip(t.sizes()).all(|(dim, n)| bound(graph, *dim, *n as i64, bindings));
    ty.dtype == t.dtype() && ty.rank() == t.rank() && sizes
}

/// Returns whether a size may be that number, given what earlier ones bound.
fn bound(graph: &Graph, dim: Dim, n: i64, bindings: &mut Bindings) -> bool {
    let symbols = &graph.symbols;
    match dim {
        Dim::Fixed(size) => size == n,
        Dim::Expr(_) if !symbols.range_of(dim).contains(n) => false,
        // An expression of symbols that a later input binds is not held against anything.
        Dim::Expr(_) => symbols.eval(dim, bindings).map_or_else(
            |_| {
                symbols.bind_dim(bindings, dim, n);
                true
            },
            |value| value == n,
        ),
    }
}

fn same_constant(stated: &Arg, found: &Value) -> bool {
    match (stated, found) {
        (Arg::None, Value::None) => true,
        (Arg::Bool(a), Value::Bool(b)) => a == b,
        (Arg::Int(a), Value::Int(b)) => a == b,
        (Arg::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (a, Value::Literal(b)) => a == b,
        _ => false,
    }
}
