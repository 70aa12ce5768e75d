//! The graph that is being raised: calls appended to it, each typed by the registry's rules.
//!
//! Promises: a call that no rule types, or that a rule refuses, is not appended unless its operator is known and only its type is not.

use std::collections::BTreeSet;

use super::Undefined;
use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType, View};
use crate::ops::Registry;
use crate::sym::Dim;

/// Numbers that the graph that was lowered names.
#[derive(Clone, Debug, Default)]
pub struct Literals {
    /// Floats, each once.
    pub floats: Vec<f64>,
    /// Integers, each once.
    pub integers: Vec<i64>,
    /// The first momentum that a call is given.
    pub momentum: Option<f64>,
    /// The last argument of the first norm that says by which library it is computed.
    pub library: Option<Arg>,
    /// Operators that are called.
    pub targets: BTreeSet<String>,
    /// Calls that make a tensor of nothing but numbers: what they make, and how they are spelled.
    pub fills: Vec<Fill>,
}

/// A call without operands that fills a tensor with a number.
#[derive(Clone, Debug)]
pub struct Fill {
    ty: TensorType,
    target: String,
    args: Vec<Arg>,
    kwargs: Vec<(String, Arg)>,
}

impl Literals {
    /// Collects the numbers of a graph.
    pub fn of(graph: &Graph, registry: &Registry) -> Self {
        let mut found = Literals::default();
        let (mut floats, mut integers) = (BTreeSet::new(), BTreeSet::new());
        for node in graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()) {
            if found.momentum.is_none()
                && let Some(place) = registry.operator_of(graph, node).and_then(|o| o.schema.param_index("momentum"))
                && let Some(Arg::Float(momentum)) = graph.args(node).get(place)
            {
                found.momentum = Some(*momentum);
            }
            if found.library.is_none()
                && let Some(place) =
                    registry.operator_of(graph, node).and_then(|o| o.schema.param_index("cudnn_enabled"))
            {
                found.library = graph.args(node).get(place).cloned();
            }
            found.targets.insert(graph.target(node).to_string());
            let values = match graph.target(node) {
                "aten.full.default" => 2,
                "aten.scalar_tensor.default" => 1,
                _ => 0,
            };
            if values > 0
                && graph.args(node).len() == values
                && !matches!(graph.args(node).last(), Some(Arg::Node(_)))
                && let Some(ty) = graph.ty(node).as_tensor()
            {
                let kwargs = graph.kwargs(node).iter().map(|(k, a)| (graph.texts.text(*k).to_string(), a.clone()));
                let (target, args) = (graph.target(node).to_string(), graph.args(node).to_vec());
                found.fills.push(Fill { ty: ty.clone(), target, args, kwargs: kwargs.collect() });
            }
            let mut open: Vec<&Arg> =
                graph.args(node).iter().chain(graph.kwargs(node).iter().map(|(_, a)| a)).collect();
            while let Some(arg) = open.pop() {
                match arg {
                    Arg::Float(v) if floats.insert(v.to_bits()) => found.floats.push(*v),
                    Arg::Int(v) if v.unsigned_abs() < 1 << 53 && integers.insert(*v) => found.integers.push(*v),
                    Arg::List(items) | Arg::Tuple(items) => open.extend(items.iter()),
                    _ => {}
                }
            }
        }
        found
    }
}

/// A graph to which calls are appended.
pub struct Build<'r> {
    /// The graph.
    pub graph: Graph,
    registry: &'r Registry,
    /// Where tensors are made.
    device: Device,
    literals: Literals,
    /// Places in a tensor, as 32 bits, and as the 64 that they were made in.
    pub places: std::collections::BTreeMap<NodeId, NodeId>,
    /// What is taken for granted of the device.
    pub assumed: BTreeSet<String>,
}

impl<'r> Build<'r> {
    /// Begins in a graph that has its placeholders.
    pub fn new(graph: Graph, registry: &'r Registry, device: Device, literals: Literals) -> Self {
        Build { graph, registry, device, literals, places: std::collections::BTreeMap::new(), assumed: BTreeSet::new() }
    }

    /// Returns the operators.
    pub fn registry(&self) -> &'r Registry {
        self.registry
    }

    /// Appends a call.
    pub fn call(&mut self, target: &str, args: Vec<Arg>) -> Result<NodeId, Undefined> {
        self.call_with(target, args, Vec::new())
    }

    /// Appends a call with keywords.
    pub fn call_with(&mut self, target: &str, args: Vec<Arg>, named: Vec<(&str, Arg)>) -> Result<NodeId, Undefined> {
        let kwargs: Vec<(StrId, Arg)> = named.into_iter().map(|(k, v)| (self.graph.texts.intern(k), v)).collect();
        let ty = match self.registry.infer(&mut self.graph, target, &args, &kwargs) {
            Ok(ty) => ty,
            Err(error) if matches!(*error.fault, crate::ops::Fault::NoRule) => ValueType::Unknown,
            Err(error) => return Err(Undefined(error.to_string())),
        };
        let base = target.split('.').nth(1).unwrap_or(target);
        let name = self.graph.free_name(BodyId::ROOT, base);
        let target = self.graph.texts.intern(target);
        let node = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty };
        Ok(self.graph.push(BodyId::ROOT, &name, node))
    }

    /// Takes the first `count` results of a call apart.
    pub fn items(&mut self, node: NodeId, count: usize) -> Result<Vec<NodeId>, Undefined> {
        (0..count).map(|i| self.item(node, i)).collect()
    }

    /// Takes one result of a call.
    pub fn item(&mut self, node: NodeId, at: usize) -> Result<NodeId, Undefined> {
        let args = vec![Arg::Node(node), Arg::Int(signed(at))];
        if *self.graph.ty(node) != ValueType::Unknown {
            return self.call("_operator.getitem", args);
        }
        let target = self.graph.texts.intern("_operator.getitem");
        let name = self.graph.free_name(BodyId::ROOT, "getitem");
        let node =
            NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: Box::default(), ty: ValueType::Unknown };
        Ok(self.graph.push(BodyId::ROOT, &name, node))
    }

    /// Returns a tensor's type.
    pub fn tensor(&self, node: NodeId) -> Result<TensorType, Undefined> {
        match self.graph.ty(node) {
            ValueType::Tensor(t) => Ok((**t).clone()),
            _ => Err(Undefined(format!("the type of `{}` is not known", self.graph.name(node)))),
        }
    }

    /// Returns a tensor's dtype.
    pub fn dtype(&self, node: NodeId) -> Result<Dtype, Undefined> {
        self.tensor(node).map(|t| t.dtype)
    }

    /// Returns how many dimensions a tensor has.
    pub fn rank(&self, node: NodeId) -> Result<usize, Undefined> {
        self.tensor(node).map(|t| t.rank())
    }

    /// Returns the size of a dimension: a number, or the call that asks for it.
    pub fn size(&mut self, node: NodeId, at: usize) -> Result<Arg, Undefined> {
        match self.tensor(node)?.sizes.get(at) {
            Some(Dim::Fixed(n)) => Ok(Arg::Int(*n)),
            Some(Dim::Expr(_)) => {
                self.call("aten.sym_size.int", vec![Arg::Node(node), Arg::Int(signed(at))]).map(Arg::Node)
            }
            None => Err(Undefined(format!("a tensor of no dimension {at}"))),
        }
    }

    /// Returns all sizes.
    pub fn sizes(&mut self, node: NodeId) -> Result<Vec<Arg>, Undefined> {
        (0..self.rank(node)?).map(|i| self.size(node, i)).collect()
    }

    /// Returns a tensor in a dtype.
    pub fn to(&mut self, node: NodeId, dtype: Dtype) -> Result<NodeId, Undefined> {
        if self.dtype(node)? == dtype {
            return Ok(node);
        }
        self.call_with("aten._to_copy.default", vec![Arg::Node(node)], vec![("dtype", Arg::Dtype(dtype))])
    }

    /// Returns places in a tensor as numbers of 32 bits.
    pub fn narrow_places(&mut self, places: NodeId) -> Result<NodeId, Undefined> {
        let narrow = self.to(places, Dtype::I32)?;
        self.places.insert(narrow, places);
        Ok(narrow)
    }

    /// Makes a tensor filled with a number.
    pub fn full(&mut self, sizes: Vec<Arg>, value: Arg, dtype: Dtype) -> Result<NodeId, Undefined> {
        if let Some(fill) = self.spelled_fill(&sizes, &value, dtype) {
            let named = fill.kwargs.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
            return self.call_with(&fill.target, fill.args.clone(), named);
        }
        let device = Arg::Device(self.device.clone());
        let named = vec![("dtype", Arg::Dtype(dtype)), ("device", device)];
        self.call_with("aten.full.default", vec![Arg::List(sizes.into()), value], named)
    }

    /// How the graph that was lowered makes such a tensor: the same number, type and dimensions, known sizes alike.
    fn spelled_fill(&self, sizes: &[Arg], value: &Arg, dtype: Dtype) -> Option<Fill> {
        let fits = |f: &&Fill| {
            let alike = |(own, size): (&Dim, &Arg)| match (own, size) {
                (Dim::Fixed(n), size) => *size == Arg::Int(*n),
                (Dim::Expr(_), size) => matches!(size, Arg::Node(_)),
            };
            let shape = f.ty.rank() == sizes.len() && f.ty.sizes.iter().zip(sizes).all(alike);
            f.ty.dtype == dtype && shape && f.args.last() == Some(value)
        };
        let mut fill = self.literals.fills.iter().find(fits).cloned()?;
        if let [list, _] = fill.args.as_mut_slice() {
            *list = Arg::List(sizes.into());
        }
        Some(fill)
    }

    /// Returns whether the graph that was lowered calls an operator.
    pub fn calls(&self, target: &str) -> bool {
        self.literals.targets.contains(target)
    }

    /// Of equal spellings, returns the first that the graph as lowered uses; else the first.
    pub fn spelled(&self, spellings: &[&'static str]) -> &'static str {
        let used = spellings.iter().find(|s| self.literals.targets.contains(**s));
        used.or(spellings.first()).copied().unwrap_or("")
    }

    /// Returns the last argument of a norm, as the graph that was lowered has it: a choice among libraries.
    pub fn library(&self) -> Arg {
        self.literals.library.clone().unwrap_or(Arg::Bool(false))
    }

    /// Returns a momentum for a norm that does not use it.
    pub fn momentum(&self) -> f64 {
        self.literals.momentum.unwrap_or(0.1)
    }

    /// Returns where tensors are made.
    pub fn device(&self) -> Arg {
        Arg::Device(self.device.clone())
    }

    /// Returns the number that GE holds, rounded to a dtype: one that the graph as lowered names, if it rounds to that.
    pub fn number(&mut self, held: f64, dtype: Dtype) -> Arg {
        let Some(named) = self.named(held, dtype) else {
            // Nobody wrote it: a default, which schemas write as an integer.
            #[allow(clippy::float_cmp)] // 1 is exact.
            return if held == 1.0 { Arg::Int(1) } else { Arg::Float(held) };
        };
        // A number beside a tensor of f32 is rounded to f32 before it is used: nothing is lost.
        if let Arg::Float(v) = named
            && !same(v, held)
            && dtype != Dtype::F32
        {
            self.assumed.insert(format!("{v} is held as {held} in {}", dtype.long()));
        }
        named
    }

    fn named(&self, held: f64, dtype: Dtype) -> Option<Arg> {
        if self.literals.floats.iter().any(|v| same(*v, held)) {
            return Some(Arg::Float(held));
        }
        #[allow(clippy::cast_precision_loss)]
        if let Some(whole) = self.literals.integers.iter().find(|i| same(**i as f64, held)) {
            return Some(Arg::Int(*whole));
        }
        let near = self.literals.floats.iter().find(|v| round(**v, dtype).is_some_and(|r| same(r, held)));
        near.map(|v| Arg::Float(*v))
    }

    /// Returns a number as the integer that the graph as lowered names, if it names no such float.
    pub fn whole(&self, value: f64) -> Arg {
        self.named(value, Dtype::F64).filter(|n| matches!(n, Arg::Int(_))).unwrap_or(Arg::Float(value))
    }

    /// Returns the number that a single-precision attribute stands for.
    pub fn attribute(&mut self, held: f32) -> f64 {
        let wide = f64::from(held);
        match self.named(wide, Dtype::F32) {
            Some(Arg::Float(named)) => {
                if !same(named, wide) {
                    self.assumed.insert(format!("{named} is held as {held} in float32"));
                }
                named
            }
            Some(_) => wide,
            // The shortest decimal is what people wrote.
            None => held.to_string().parse().unwrap_or(wide),
        }
    }
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// Rounds a number to a dtype and back.
#[allow(clippy::cast_possible_truncation)]
fn round(value: f64, dtype: Dtype) -> Option<f64> {
    Some(match dtype {
        Dtype::F32 => f64::from(value as f32),
        Dtype::F16 => half::f16::from_f64(value).to_f64(),
        Dtype::Bf16 => half::bf16::from_f64(value).to_f64(),
        Dtype::F64 => value,
        _ => return None,
    })
}

/// A place as a number of a graph.
pub fn signed(i: usize) -> i64 {
    i64::try_from(i).unwrap_or(i64::MAX)
}
