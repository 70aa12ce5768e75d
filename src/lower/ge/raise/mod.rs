//! A GE graph, as it was written, back to a graph of PyTorch's operators: through `define`, and nothing that lowered it.
//!
//! - `attributes`: what the graph says of itself; `between`: which calls may be read at another place;
//! - `wires`: what the edges name; `memory`: what is written, and who reads it when; `order`: whether they keep what streams say; `source`: Data and constants; `host`: what the host does around the graph;
//!   `single`: one element beside narrow floats; `ties`: places among equals; `bias`, `fourier`, `numbers`, `scales`, `spelling`: calls that both sides say alike; `told`: sizes that only running tells; `definition`: what the graph that was lowered is held to where GE lacks an operator; `types`.
//!
//! Promises: the graph that is given has the inputs of the graph that was lowered, and computes what GE's operators mean; every output of an
//! operator has the dtype that its descriptor says. What writes an input is ordered against whoever reads it, by edges alone.
//! Leaves to others: whether that is what the graph that was lowered means (`verify`, asked by the pipeline).

mod attributes;
mod between;
mod bias;
mod definition;
mod draws;
mod fourier;
mod host;
mod memory;
mod numbers;
mod order;
mod scales;
mod scatters;
mod single;
mod source;
mod spelling;
mod ties;
mod told;
pub(in crate::lower::ge) mod types;
mod wires;

use std::collections::BTreeMap;

use super::compare::Host;
use super::define::{Build, Literals, Undefined, Value, define, fields};
use super::written::{Written, WrittenOp};
use crate::graph::{Device, Dtype, Graph, NodeId};
use crate::ops::Registry;
use draws::Draws;
use wires::Wires;

pub use bias::{ASSUMED as ROW_IS_ADDED, biased};
pub use definition::{by_definition, by_form, with_zeros, without_idle_writes, without_own_memory, without_waits};
pub use fourier::one_by_one;
pub use host::comparable;
pub use single::{ASSUMED as ONE_IS_ROUNDED, rounded_first};
pub use spelling::spelled;
pub use ties::{ASSUMED as ANY_OF_EQUALS, sorted_first};
pub use told::named_alike;

/// A GE graph in PyTorch's operators.
#[derive(Clone, Debug)]
pub struct Raised {
    /// The graph.
    pub graph: Graph,
    /// What is taken for granted of the device.
    pub assumed: Vec<String>,
    /// How many operators of each type were defined.
    pub defined: BTreeMap<String, usize>,
}

/// An operator of GE without definition.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Opaque {
    /// Its name.
    pub node: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is not defined.
    pub reason: String,
}

/// Why a GE graph has no meaning here.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RaiseError {
    /// It is no graph.
    #[error("the GE graph is not well formed: {0}")]
    Malformed(String),
    /// Operators, or forms of them, that nobody defined: all of them.
    #[error("{} operators of the GE graph have no definition:{}", nodes.len(), listed(nodes))]
    Opaque {
        /// The operators, in order.
        nodes: Vec<Opaque>,
    },
    /// A write that is not ordered against a read.
    #[error("`{writer}` writes what `{reader}` reads, and no edge says which comes first")]
    Unordered {
        /// Who writes.
        writer: String,
        /// Who reads.
        reader: String,
    },
    /// A write into what may be an input's memory, or a copy of it.
    #[error("`{writer}` writes what `{passed}` passes on of an input: whether that is the input's memory nobody says")]
    PassedOn {
        /// Who writes.
        writer: String,
        /// Who passes it on.
        passed: String,
    },
    /// An order that streams have in the graph that was lowered is not kept.
    #[error("`{after}` waits for `{before}` in the graph that was lowered, and by no edge in the GE graph")]
    OrderLost {
        /// What comes first.
        before: String,
        /// What waits.
        after: String,
    },
    /// The host's side names what is not there.
    #[error("what the host does around the GE graph: {0}")]
    Host(String),
}

fn listed(nodes: &[Opaque]) -> String {
    nodes.iter().take(20).map(|n| format!("\n  {} ({}): {}", n.node, n.kind, n.reason)).collect()
}

/// Raises a GE graph that was made of `original`, whose types are settled.
pub fn raise(ge: &Written<'_>, host: &Host, original: &Graph, registry: &Registry) -> Result<Raised, RaiseError> {
    let wires = Wires::of(ge)?;
    let (graph, inputs) = host::begin(original);
    let device = host::device(original).unwrap_or_else(Device::cpu);
    let mut raising = Raising {
        ge,
        host,
        original,
        values: vec![Vec::new(); ge.op.len()],
        b: Build::new(graph, registry, device, Literals::of(original, registry)),
        inputs,
        draws: Draws::of(original, registry, host.seed),
        opaque: Vec::new(),
        defined: BTreeMap::new(),
        live: live(ge, &wires),
        wires,
    };
    raising.check_writes()?;
    raising.check_order()?;
    for at in raising.wires.order.clone() {
        raising.operator(at);
    }
    if !raising.opaque.is_empty() {
        return Err(RaiseError::Opaque { nodes: raising.opaque });
    }
    raising.finish(original)
}

struct Raising<'a, 'r> {
    ge: &'a Written<'a>,
    host: &'a Host,
    original: &'a Graph,
    wires: Wires,
    b: Build<'r>,
    /// One an operator: what each of its outputs carries.
    values: Vec<Vec<Option<Value>>>,
    inputs: Vec<NodeId>,
    draws: Draws,
    opaque: Vec<Opaque>,
    defined: BTreeMap<String, usize>,
    /// One an operator: whether anything of it reaches the caller.
    live: Vec<bool>,
}

/// What reaches the caller, by data or by an edge that keeps it: GE runs nothing else.
fn live(ge: &Written<'_>, wires: &Wires) -> Vec<bool> {
    let mut live = wires.before(wires.end);
    if let Some(mark) = live.get_mut(wires.end) {
        *mark = true;
    }
    live.truncate(ge.op.len());
    live
}

impl Raising<'_, '_> {
    fn operator(&mut self, at: usize) {
        let Some(op) = self.ge.op.get(at) else { return };
        if self.live.get(at) != Some(&true) || op.r#type == "NetOutput" {
            return;
        }
        let Some(inputs) = self.fed(at) else { return };
        let node = |slot: usize| match inputs.get(slot) {
            Some(Some(Value::Tensor(node))) => Some(*node),
            _ => None,
        };
        self.b.written_inputs = self.written_inputs(at).into_iter().filter_map(node).collect();
        match self.made(at, op, inputs).and_then(|made| self.checked(op, made)) {
            Ok(made) => {
                if let Some(slot) = self.values.get_mut(at) {
                    *slot = made;
                }
                match self.defined.get_mut(op.r#type) {
                    Some(count) => *count = count.saturating_add(1),
                    None => {
                        self.defined.insert(op.r#type.into(), 1);
                    }
                }
            }
            Err(Undefined(reason)) => {
                self.opaque.push(Opaque { node: op.name.into(), kind: op.r#type.into(), reason });
            }
        }
    }

    /// What feeds an operator; nothing where one of its producers has no definition, which was said there.
    fn fed(&mut self, at: usize) -> Option<Vec<Option<Value>>> {
        let op = self.ge.op.get(at)?;
        let mut inputs = Vec::new();
        for (slot, wire) in self.wires.data.get(at)?.iter().enumerate() {
            let Some((producer, output)) = wire else {
                inputs.push(None);
                continue;
            };
            let from = self.ge.op.get(*producer)?;
            let values = self.values.get(*producer)?;
            match values.get(*output) {
                Some(Some(value)) => inputs.push(Some(value.clone())),
                Some(None) => {
                    let reason = format!("output {output} of {} has no meaning here", from.r#type);
                    let name = op.input_desc.get(slot).map_or("", |d| d.name);
                    let reason = format!("`{name}`: {reason}");
                    self.opaque.push(Opaque { node: op.name.into(), kind: op.r#type.into(), reason });
                    return None;
                }
                None => return None,
            }
        }
        Some(inputs)
    }

    fn made(
        &mut self,
        at: usize,
        op: &WrittenOp<'_>,
        inputs: Vec<Option<Value>>,
    ) -> Result<Vec<Option<Value>>, Undefined> {
        match op.r#type {
            "Data" | "RefData" => {
                let index = op.attr.get("index").and_then(|a| a.as_i()).and_then(|i| usize::try_from(i).ok());
                let from = index.and_then(|i| self.host.ge_inputs.get(i));
                let Some(from) = from else { return Err(Undefined("the host passes nothing for its index".into())) };
                if from == "rng-offsets" {
                    return Ok(vec![Some(self.draws.offsets(op)?)]);
                }
                Ok(vec![Some(source::data(&mut self.b, op, from, &self.inputs)?)])
            }
            "Const" | "Constant" => Ok(vec![Some(source::constant(op)?)]),
            _ if draws::is_of_draws(op, &inputs) => self.drawn(at, op, inputs),
            kind if fields::is_held(kind) => fields::make(&mut self.b, op, inputs, self.original),
            _ => define(&mut self.b, op, inputs),
        }
    }

    /// Holds what was made to the dtypes that the descriptors say.
    fn checked(&mut self, op: &WrittenOp<'_>, made: Vec<Option<Value>>) -> Result<Vec<Option<Value>>, Undefined> {
        for (i, (value, desc)) in made.iter().zip(op.output_desc.iter()).enumerate() {
            let (Some(value), Some(said)) = (value, types::of_proto(desc.dtype)) else { continue };
            // Where nothing is said of an inner tensor, TorchAir writes f32.
            if let Ok(found) = value.dtype(&self.b)
                && found != said
                && said != Dtype::F32
                && !(found == Dtype::U8 && is_byte_float(said) && fields::is_held(op.r#type))
            {
                return Err(Undefined(format!("output {i} is said to be {said}, and is {found}")));
            }
        }
        Ok(made)
    }
}

/// A float of 8 bits: where torch has no such type, a call of `torch_npu` gives its bytes.
fn is_byte_float(dtype: Dtype) -> bool {
    dtype.is_float() && dtype.bytes() == 1
}
