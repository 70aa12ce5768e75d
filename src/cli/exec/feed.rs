//! What a model is run on: recorded values, or values of a seed.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};

use crate::exec::{Generator, Meta, Meter, Storage, Tensor, Value};
use crate::formats::recording::{self, Recorded, Recording};
use crate::graph::{
    Arg, BodyId, Bytes, Dtype, Graph, InputKind, Model, NodeId, NodeKind, TensorType, ValueType, View, Weight,
};
use crate::sym::{Bindings, Dim};

/// Reads recorded inputs and outputs.
pub fn recorded(path: &Path) -> anyhow::Result<Recording> {
    Ok(recording::read(path)?)
}

/// Returns recorded values as values of a run; tensors stay in the file until they are written.
pub fn values(all: &[Recorded]) -> anyhow::Result<Vec<Value>> {
    all.iter().enumerate().map(|(i, r)| value(r).with_context(|| format!("value {i}"))).collect()
}

/// Returns one recorded value.
pub fn value(recorded: &Recorded) -> anyhow::Result<Value> {
    Ok(match recorded {
        Recorded::Tensor(ty, bytes) => {
            let storage = Storage::mapped(bytes.clone(), &Meter::default());
            Value::Tensor(Tensor::new(Meta::of(ty)?, storage)?)
        }
        Recorded::Literal(arg) => match arg {
            Arg::None => Value::None,
            Arg::Bool(v) => Value::Bool(*v),
            Arg::Int(v) => Value::Int(*v),
            Arg::Float(v) => Value::Float(*v),
            other => Value::Literal(other.clone()),
        },
    })
}

/// Returns inputs drawn from a seed, as the program states them: floats normal, integers and booleans 0 or 1, the smallest size that a symbol may
/// have, from 2 on.
pub fn seeded(graph: &Graph, seed: u64) -> anyhow::Result<Vec<Value>> {
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
                Value::Tensor(drawn(graph, ty, &bindings, &mut random, 1.0).with_context(|| {
                    format!("input `{}` cannot be drawn from a seed; give the inputs with --inputs", graph.name(node))
                })?)
            }
            ValueType::SymInt(dim) => Value::Int(size(graph, *dim, &bindings)?),
            ValueType::Const(Some(arg)) => value(&Recorded::Literal((**arg).clone()))?,
            _ => {
                return Err(anyhow!(
                    "input `{}` has no type to draw from; give the inputs with --inputs",
                    graph.name(node)
                ));
            }
        });
    }
    Ok(out)
}

fn user_inputs(graph: &Graph) -> Vec<NodeId> {
    let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let specs: Vec<InputKind> = graph.signature.iter().flat_map(|s| s.inputs.iter().map(|i| i.kind)).collect();
    let kind = |i: usize| specs.get(i).copied().unwrap_or(InputKind::UserInput);
    placeholders.enumerate().filter(|(i, _)| kind(*i) == InputKind::UserInput).map(|(_, n)| n).collect()
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

fn size(graph: &Graph, dim: Dim, bindings: &Bindings) -> anyhow::Result<i64> {
    Ok(graph.symbols.eval(dim, bindings)?)
}

fn drawn(
    graph: &Graph,
    ty: &TensorType,
    bindings: &Bindings,
    random: &mut Generator,
    scale: f64,
) -> anyhow::Result<Tensor> {
    let numbers = |dims: &[Dim]| {
        let each = dims.iter().map(|d| Ok(usize::try_from(size(graph, *d, bindings)?)?));
        each.collect::<anyhow::Result<Vec<usize>>>()
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
    values.try_reserve_exact(count).with_context(|| format!("{count} elements do not fit in memory"))?;
    values.extend((0..count).map(|_| draw(random)));
    let bytes = Storage::new(vec![0_u8; count.saturating_mul(ty.dtype.bytes())], &Meter::default());
    let places = Tensor::new(Meta::contiguous(ty.dtype, &[count]), bytes)?;
    places.write(&values)?;
    kept(Tensor { meta, ..places })
}

/// The same in memory that a run does not own: what it writes there shows as written.
fn kept(t: Tensor) -> anyhow::Result<Tensor> {
    let content = t.storage.read()?.bytes().to_vec();
    let storage = Storage::mapped(Bytes::new(content), &Meter::default());
    Ok(Tensor::new(t.meta, storage)?)
}

/// Lays recorded inputs out as the program states them: a recording holds values in order of their indices.
pub fn laid_out(graph: &Graph, values: Vec<Value>) -> anyhow::Result<Vec<Value>> {
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

fn with_strides_of(graph: &Graph, ty: &TensorType, bindings: &Bindings, t: Tensor) -> anyhow::Result<Tensor> {
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
pub fn seed_weights(model: &mut Model, seed: u64) -> anyhow::Result<usize> {
    let specs = model.graph.signature.clone().map(|s| s.inputs).unwrap_or_default();
    let placeholders: Vec<NodeId> =
        model.graph.nodes(BodyId::ROOT).filter(|n| model.graph.kind(*n) == NodeKind::Placeholder).collect();
    let mut count = 0_usize;
    for (spec, node) in specs.iter().zip(placeholders) {
        let Some(name) = spec.target.as_deref().filter(|n| model.weights.find(n).is_err()) else { continue };
        let Some(ty) = model.graph.ty(node).as_tensor() else { continue };
        if ty.dtype == Dtype::F4E2m1fnX2 {
            return Err(anyhow!("weight `{name}` of dtype {} cannot be drawn from a seed", ty.dtype.long()));
        }
        // By name: an edit that drops one weight leaves the others what they were.
        let mut random = Generator::new(seed ^ u64::from(crc32fast::hash(name.as_bytes())));
        let t = drawn(&model.graph, ty, &Bindings::new(), &mut random, 0.1)?;
        let content = t.storage.read()?.bytes().to_vec();
        let storage: Arc<str> = name.into();
        model.weights.storages.insert(storage.clone(), Bytes::new(content));
        let weight = Weight { ty: t.meta.ty(&ty.device), storage, is_param: spec.kind == InputKind::Parameter };
        model.weights.state.insert(name.into(), weight);
        count = count.saturating_add(1);
    }
    Ok(count)
}
