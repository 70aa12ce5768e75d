//! Inputs and weights of a seed, and given ones laid out as a program states them.
//!
//! Promises: the same seed and program give the same values; a weight's depend on its name alone, so that an edit that drops one leaves the others.

use std::sync::Arc;

use thiserror::Error;

use super::inputs;
use crate::exec::numbers::generator::Generator;
use crate::exec::tensor::storage::{Meter, Storage};
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::{Arg, Bytes, Dtype, Graph, InputKind, Model, NodeId, TensorType, ValueType, View, Weight};
use crate::ops::CallFault;
use crate::sym::{Bindings, Dim, SymError};

/// Why there are no such values.
#[derive(Debug, Error)]
pub enum SampleError {
    /// An input that cannot be drawn.
    #[error("input `{name}` cannot be drawn from a seed; give the inputs with --inputs")]
    Input {
        /// Placeholder.
        name: String,
        /// Why.
        source: Box<SampleError>,
    },
    /// An input of which nothing is known.
    #[error("input `{name}` has no type to draw from; give the inputs with --inputs")]
    Untyped {
        /// Placeholder.
        name: String,
    },
    /// A weight of a dtype that is not drawn.
    #[error("weight `{name}` of dtype {} cannot be drawn from a seed", dtype.long())]
    Weight {
        /// Fully qualified name.
        name: String,
        /// Its dtype.
        dtype: Dtype,
    },
    /// More than memory holds.
    #[error("{count} elements do not fit in memory")]
    Memory {
        /// How many.
        count: usize,
    },
    /// A size that is no number.
    #[error("{0}")]
    Size(#[from] SymError),
    /// A size below zero, or beyond what there is.
    #[error("{0}")]
    Number(#[from] std::num::TryFromIntError),
    /// A place that does not exist.
    #[error("{0}")]
    CallFault(#[from] CallFault),
}

/// Returns a literal as a value of a run.
pub fn literal(arg: &Arg) -> Value {
    match arg {
        Arg::None => Value::None,
        Arg::Bool(v) => Value::Bool(*v),
        Arg::Int(v) => Value::Int(*v),
        Arg::Float(v) => Value::Float(*v),
        other => Value::Literal(other.clone()),
    }
}

/// Returns inputs drawn from a seed, as the program states them: floats normal, integers and booleans 0 or 1, the smallest size that a symbol may
/// have, from 2 on.
pub fn seeded(graph: &Graph, seed: u64) -> Result<Vec<Value>, SampleError> {
    let mut random = Generator::new(seed);
    let mut bindings = Bindings::new();
    let nodes: Vec<NodeId> = user_inputs(graph);
    for node in &nodes {
        if let Some(ty) = graph.ty(*node).as_tensor() {
            bind_sizes(graph, ty, &mut bindings);
        }
    }
    let mut out = Vec::new();
    for node in nodes {
        out.push(match graph.ty(node) {
            ValueType::Tensor(ty) => {
                let cannot = |e| SampleError::Input { name: graph.name(node).into(), source: Box::new(e) };
                Value::Tensor(drawn(graph, ty, &bindings, &mut random, 1.0).map_err(cannot)?)
            }
            ValueType::SymInt(dim) => Value::Int(graph.symbols.eval(*dim, &bindings)?),
            ValueType::Const(Some(arg)) => literal(arg),
            _ => return Err(SampleError::Untyped { name: graph.name(node).into() }),
        });
    }
    Ok(out)
}

fn user_inputs(graph: &Graph) -> Vec<NodeId> {
    inputs::of(graph).into_iter().filter(|i| i.kind == InputKind::UserInput).map(|i| i.node).collect()
}

fn bind_sizes(graph: &Graph, ty: &TensorType, bindings: &mut Bindings) {
    for dim in &ty.sizes {
        if graph.symbols.eval(*dim, bindings).is_err() {
            let range = graph.symbols.range_of(*dim);
            let smallest = (2..=4096).find(|n| range.contains(*n)).or_else(|| (0..2).find(|n| range.contains(*n)));
            graph.symbols.bind_dim(bindings, *dim, smallest.unwrap_or(1));
        }
    }
}

fn drawn(
    graph: &Graph,
    ty: &TensorType,
    bindings: &Bindings,
    random: &mut Generator,
    scale: f64,
) -> Result<Tensor, SampleError> {
    let numbers = |dims: &[Dim]| {
        let each = dims.iter().map(|d| Ok(usize::try_from(graph.symbols.eval(*d, bindings)?)?));
        each.collect::<Result<Vec<usize>, SampleError>>()
    };
    let mut meta = Meta::contiguous(ty.dtype, &numbers(&ty.sizes)?);
    if let Some(strides) = &ty.strides {
        meta.strides = numbers(strides)?.as_slice().into();
    }
    // One value for each place: elements that share one are equal.
    let count = meta.needed()?;
    let whole = !(ty.dtype.is_float() || ty.dtype.is_complex());
    let draw = |random: &mut Generator| {
        if whole { if random.uniform() < 0.5 { 0.0 } else { 1.0 } } else { random.normal() * scale }
    };
    let mut values: Vec<f64> = Vec::new();
    values.try_reserve_exact(count).map_err(|_| SampleError::Memory { count })?;
    values.extend((0..count).map(|_| draw(random)));
    let bytes = Storage::new(vec![0_u8; count.saturating_mul(ty.dtype.bytes())], &Meter::default());
    let places = Tensor::new(Meta::contiguous(ty.dtype, &[count]), bytes)?;
    places.write(&values)?;
    kept(Tensor { meta, ..places })
}

/// The same in memory that a run does not own: what it writes there shows as written.
fn kept(t: Tensor) -> Result<Tensor, SampleError> {
    let content = t.storage.read()?.bytes().to_vec();
    let storage = Storage::mapped(Bytes::new(content), &Meter::default());
    Ok(Tensor::new(t.meta, storage)?)
}

/// Lays recorded inputs out as the program states them: a recording holds values in order of their indices.
pub fn laid_out(graph: &Graph, values: Vec<Value>) -> Result<Vec<Value>, SampleError> {
    let mut bindings = Bindings::new();
    let nodes = user_inputs(graph);
    let stated = |node: NodeId| graph.ty(node).as_tensor().filter(|ty| ty.strides.is_some());
    for (node, value) in nodes.iter().zip(&values) {
        if let (Some(ty), Value::Tensor(t)) = (stated(*node), value) {
            for (dim, n) in ty.sizes.iter().zip(t.sizes()) {
                graph.symbols.bind_dim(&mut bindings, *dim, i64::try_from(*n)?);
            }
        }
    }
    let nodes = nodes.into_iter().map(Some).chain(std::iter::repeat(None));
    let each = nodes.zip(values).map(|(node, value)| match (node.and_then(stated), value) {
        (Some(ty), Value::Tensor(t)) => Ok(Value::Tensor(with_strides_of(graph, ty, &bindings, t)?)),
        (_, value) => Ok(value),
    });
    each.collect()
}

fn with_strides_of(graph: &Graph, ty: &TensorType, bindings: &Bindings, t: Tensor) -> Result<Tensor, SampleError> {
    let strides = ty.strides.iter().flatten().map(|d| graph.symbols.eval(*d, bindings).ok());
    let strides = strides.map(|d| d.and_then(|d| usize::try_from(d).ok())).collect::<Option<Vec<usize>>>();
    let Some(strides) = strides.filter(|s| s.len() == t.rank() && s.as_slice() != t.meta.strides.as_slice()) else {
        return Ok(t);
    };
    let meta = Meta { strides: strides.as_slice().into(), offset: 0, ..t.meta.clone() };
    let bytes = vec![0_u8; meta.needed()?.saturating_mul(t.dtype().bytes())];
    let placed = Tensor::new(meta, Storage::new(bytes, &Meter::default()))?;
    placed.copy_from(&t)?;
    kept(placed)
}

/// Gives the weights that a text model lacks values of a seed; returns how many.
pub fn seed_weights(model: &mut Model, seed: u64) -> Result<usize, SampleError> {
    let mut count = 0_usize;
    for input in inputs::of(&model.graph) {
        let Some(name) = input.target.as_deref().filter(|n| model.weights.find(n).is_err()) else { continue };
        let Some(ty) = model.graph.ty(input.node).as_tensor() else { continue };
        if ty.dtype == Dtype::F4E2m1fnX2 {
            return Err(SampleError::Weight { name: name.into(), dtype: ty.dtype });
        }
        let mut random = Generator::new(seed ^ u64::from(crc32fast::hash(name.as_bytes())));
        let t = drawn(&model.graph, ty, &Bindings::new(), &mut random, 0.1)?;
        let content = t.storage.read()?.bytes().to_vec();
        let storage: Arc<str> = name.into();
        model.weights.storages.insert(storage.clone(), Bytes::new(content));
        let weight = Weight { ty: t.meta.ty(&ty.device), storage, is_param: input.kind == InputKind::Parameter };
        model.weights.state.insert(name.into(), weight);
        count = count.saturating_add(1);
    }
    Ok(count)
}
