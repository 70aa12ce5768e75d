//! Two programs made ready to be run against each other: their common inputs, and which steps each takes.
//!
//! Promises: every placeholder of the first program but constants and numbers has values to try; a pair that cannot be run is an
//! [`Obstacle`] that says why. Parameters and buffers are inputs; lifted constants are not. Leaves values to `regimes`.

use crate::exec::{Meta, Value};
use crate::formats::text::domain::Domain;
use crate::graph::{Arg, BodyId, Dtype, Graph, InputKind, InputLayout, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::Registry;
use crate::sym::{Dim, Symbols};
use crate::verify::differ::parting;
use crate::verify::differ::run;
use crate::verify::differ::sampled::UNITS;
use crate::verify::differ::steps::{self, Steps};
use crate::verify::options::JudgeOptions;

/// What an input is given.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A tensor of values of a regime.
    Tensor(TensorType),
    /// A size.
    Size(Dim),
    /// Always the same.
    Fixed(Value),
}

/// One input.
#[derive(Clone, Debug)]
pub struct Input {
    /// The placeholder's name.
    pub name: String,
    /// Fully qualified name of a weight.
    pub target: Option<String>,
    /// What it is given.
    pub kind: Kind,
    /// The host's word of its values.
    pub domain: Domain,
    /// An earlier input that may be the same memory.
    pub twin: Option<usize>,
    /// Whether it lies on the way to the place where the programs part.
    pub on_the_way: bool,
}

/// Why a pair cannot be run.
pub type Obstacle = String;

/// A pair that can be run.
pub struct Subject<'a> {
    /// The program before.
    pub before: &'a Graph,
    /// The program after.
    pub after: &'a Graph,
    /// The operators.
    pub registry: &'a Registry,
    /// The inputs of both, in order.
    pub inputs: Vec<Input>,
    /// The symbols of their sizes.
    pub symbols: Symbols,
    /// What the first program does.
    pub old: Steps,
    /// What the second program does.
    pub new: Steps,
    /// Whether a rounding to a narrower dtype may be dropped, added or moved.
    pub allow_wider: bool,
    /// Whether integers behind a quantisation may be one quantum apart.
    pub integer_slack: bool,
    /// Whether the second program may run where the first raises.
    pub may_stop_raising: bool,
    /// The most bytes that a tensor of a run may take.
    pub most_bytes: usize,
    /// Where integers of which nothing is said lie in this trial: from 0 on, below this.
    pub integers_below: Option<i64>,
    /// Below which integers both programs ran that had raised.
    pub index_limit: Option<i64>,
}

impl<'a> Subject<'a> {
    /// Makes a pair ready.
    pub fn of(
        before: &'a Graph,
        after: &'a Graph,
        registry: &'a Registry,
        options: &JudgeOptions,
    ) -> Result<Subject<'a>, Obstacle> {
        let mut inputs = inputs(before, options)?;
        let others = placeholders(after);
        if inputs.len() != others.len() || inputs.iter().zip(&others).any(|(i, n)| i.name != after.name(*n)) {
            return Err("the two graphs take other inputs".into());
        }
        let (old, new) = (steps::of(before, registry), steps::of(after, registry));
        let before_it = parting::on_the_way(before, after);
        inputs.iter_mut().for_each(|i| i.on_the_way = before_it.contains(&i.name));
        Ok(Subject {
            before,
            after,
            registry,
            inputs,
            symbols: before.symbols.clone(),
            old,
            new,
            allow_wider: options.allow_wider,
            integer_slack: options.integer_slack,
            may_stop_raising: options.may_stop_raising,
            most_bytes: options.budget.bytes.saturating_mul(4),
            integers_below: None,
            index_limit: None,
        })
    }

    /// Returns whether there are integers to choose of which nothing is said.
    pub fn has_free_integers(&self) -> bool {
        self.inputs.iter().any(|i| i.domain.is_any() && matches!(&i.kind, Kind::Tensor(t) if t.dtype.is_integer()))
    }

    /// Returns whether there are inputs that may lie anyhow: nobody states their strides, and the host does not say that they lie row by row.
    pub fn lie_anyhow(&self) -> bool {
        let is_open = |i: &Input| matches!(&i.kind, Kind::Tensor(t) if t.strides.is_none() && !t.sizes.is_empty());
        self.before.inputs_lie == InputLayout::Any && self.inputs.iter().any(is_open)
    }

    /// Returns whether some inputs lie on the way to the place where the programs part, and others do not.
    pub fn parts_midway(&self) -> bool {
        let float = |i: &&Input| matches!(&i.kind, Kind::Tensor(t) if t.dtype.is_float());
        let on_the_way = |i: &Input| i.on_the_way;
        self.inputs.iter().filter(float).any(on_the_way) && !self.inputs.iter().filter(float).all(on_the_way)
    }

    /// Returns every dimension of every input.
    pub fn dims(&self) -> Vec<Dim> {
        let of = |i: &Input| match &i.kind {
            Kind::Tensor(ty) => ty.sizes.iter().chain(ty.strides.iter().flatten()).copied().collect(),
            Kind::Size(dim) => vec![*dim],
            Kind::Fixed(_) => Vec::new(),
        };
        self.inputs.iter().flat_map(of).collect()
    }

    fn floats(&self) -> impl Iterator<Item = Dtype> + '_ {
        self.old.floats.iter().chain(&self.new.floats).copied()
    }

    /// Returns whether the working range is the narrow one.
    pub fn is_narrow(&self) -> bool {
        self.floats().any(|d| d == Dtype::F16)
    }

    /// Returns whether f64 occurs, or complex numbers of it.
    pub fn holds_doubles(&self) -> bool {
        self.floats().any(|d| matches!(d, Dtype::F64 | Dtype::C128))
    }

    /// Returns the roundoff of the coarsest dtype that occurs.
    pub fn unit(&self) -> f64 {
        self.floats().map(roundoff).fold(f64::EPSILON / 2.0, f64::max)
    }

    /// Returns whether a dtype occurs of which so few numbers lie near one that whatever rounding is allowed to do leads to any other.
    pub fn is_coarse(&self) -> bool {
        UNITS * self.unit() >= 1.0
    }

    /// Returns whether a bit of a float is told from others: bits are read.
    pub fn reads_bits(&self) -> bool {
        self.old.bits || self.new.bits
    }

    /// Returns whether one program rounds to narrower dtypes where the other does not.
    pub fn other_roundings(&self) -> bool {
        !self.allow_wider && self.old.roundings != self.new.roundings
    }

    /// Returns whether one program takes a discrete step that the other does not.
    pub fn other_discrete(&self) -> bool {
        self.old.discrete != self.new.discrete
    }

    /// Returns whether no rounding has a part in a returned value, on either side.
    pub fn is_exact(&self, returned: usize) -> bool {
        let exact = |s: &Steps| s.rounded.get(returned) == Some(&false);
        exact(&self.old) && exact(&self.new)
    }
}

/// Returns the unit of roundoff of a dtype.
pub fn roundoff(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 | Dtype::C128 => f64::EPSILON / 2.0,
        Dtype::F32 | Dtype::C64 => f64::from(f32::EPSILON) / 2.0,
        Dtype::F16 | Dtype::C32 => 0.5_f64.powi(11),
        Dtype::Bf16 | Dtype::Bc32 => 0.5_f64.powi(8),
        _ => 0.5_f64.powi(4),
    }
}

fn placeholders(graph: &Graph) -> Vec<NodeId> {
    graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder).collect()
}

fn inputs(graph: &Graph, options: &JudgeOptions) -> Result<Vec<Input>, Obstacle> {
    let specs = graph.signature.as_ref().map_or(&[][..], |s| &s.inputs);
    let mut out: Vec<Input> = Vec::new();
    for (place, node) in placeholders(graph).into_iter().enumerate() {
        let name = graph.name(node).to_string();
        let spec = specs.get(place);
        let stated = options.domains.iter().find(|(n, _)| *n == name);
        let is_known = matches!(stated, Some((_, Domain::Is(_))));
        let kind = match graph.ty(node) {
            _ if spec.is_some_and(|s| s.kind == InputKind::CustomObj) => return Err(not_at_hand(&name)),
            ValueType::Tensor(ty) if spec.is_some_and(|s| s.kind == InputKind::ConstantTensor) && !is_known => {
                Kind::Fixed(lifted(&name, ty, options).ok_or_else(|| not_at_hand(&name))?)
            }
            ValueType::Tensor(ty) => Kind::Tensor((**ty).clone()),
            ValueType::SymInt(dim) => Kind::Size(*dim),
            ValueType::Const(Some(arg)) => Kind::Fixed(constant(arg)),
            _ => return Err(format!("nothing says what input `{name}` is")),
        };
        let twin = options.may_alias.iter().find_map(|(a, b)| {
            let other = if *b == name {
                a
            } else if *a == name {
                b
            } else {
                return None;
            };
            out.iter().position(|i| i.name == *other)
        });
        out.push(Input {
            name,
            target: spec.and_then(|s| s.target.as_deref()).map(str::to_string),
            kind,
            domain: stated.map(|(_, d)| d.clone()).unwrap_or_default(),
            twin,
            on_the_way: false,
        });
    }
    Ok(out)
}

fn not_at_hand(name: &str) -> Obstacle {
    format!("the value of constant `{name}` is not at hand")
}

/// A lifted constant: always what the model holds.
fn lifted(name: &str, ty: &TensorType, options: &JudgeOptions) -> Option<Value> {
    let held = options.constants.iter().find(|h| h.name == name && h.dtype == Some(ty.dtype))?;
    let fixed = |d: &Dim| d.fixed().and_then(|n| usize::try_from(n).ok());
    let sizes: Vec<usize> = ty.sizes.iter().map(fixed).collect::<Option<_>>()?;
    let mut meta = Meta::contiguous(ty.dtype, &sizes);
    if let Some(strides) = ty.strides.as_ref().and_then(|s| s.iter().map(fixed).collect::<Option<Vec<_>>>()) {
        meta.strides = strides.as_slice().into();
    }
    (held.sizes == sizes).then(|| run::tensor(meta, &held.values).map(Value::Tensor))?
}

fn constant(arg: &Arg) -> Value {
    match arg {
        Arg::None => Value::None,
        Arg::Bool(v) => Value::Bool(*v),
        Arg::Int(v) => Value::Int(*v),
        Arg::Float(v) => Value::Float(*v),
        other => Value::Literal(other.clone()),
    }
}
