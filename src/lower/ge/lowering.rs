//! From an FX graph to the GE graph that TorchAir's max-autotune mode makes of it.
//!
//! Node by node: a placeholder becomes Data, a call what its converter makes, the output NetOutput; then `cleanup`. Views
//! are put off (`views`), scopes put attributes on what is made inside, record and wait become control edges (`scopes`).
//! No graph passes run here. Every node without a GE form is reported, not only the first.

use std::borrow::Cow;
use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::builder::{Builder, Refusal};
use super::cleanup;
use super::compare::Host;
use super::convert::{self, Cx};
use super::draft::{self, Draft};
use super::expand::Expanded;
use super::metas;
use super::proto::GraphDef;
use super::scopes::{self, Edges};
use super::types;
use super::value::{Meta, Results, TensorId, Value};
use super::views::{Kind, Views};
use super::writes;
use crate::analysis::Storages;
use crate::analysis::streams::{ScopeFault, Scopes, Streams};
use crate::functionalize::functionalize;
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, ValueType, View};
use crate::ops::{Operator, Registry};
use crate::sym::{Dim, Symbols};

/// What of TorchAir's configuration changes the GE graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// `experimental_config.enable_view_optimize`: views are put off.
    pub enable_view_optimize: bool,
    /// `experimental_config.enable_ref_data`: written inputs become RefData.
    pub enable_ref_data: bool,
    /// The seed of random numbers.
    pub seed: i64,
    /// The device, by CANN's name of it (`Ascend910B1`, `Ascend950`); none: one before Ascend 950.
    pub soc_version: Option<String>,
    /// The version of CANN, as it says it of itself (`8.2.RC1`); none: one before 8.2.
    pub cann_version: Option<String>,
    /// Whether operators for which TorchAir has no converter are lowered by what else is known of them, decompositions too.
    pub decompose: bool,
    /// Whether [`Lowered::stages`] keeps the graph as it was on the way.
    pub keep_stages: bool,
}

impl Options {
    /// Returns whether the device is of the generation of Ascend 950.
    fn is_arch35(&self) -> bool {
        self.soc_version.as_ref().is_some_and(|s| s.contains("Ascend910_95") || s.contains("Ascend950"))
    }

    /// Returns whether equal parts are exchanged by an operator of their own, as from CANN 8.2 on.
    fn exchanges_equals(&self) -> bool {
        let mut parts = self.cann_version.iter().flat_map(|v| v.split('.')).map(|part| part.parse::<u32>().ok());
        let (major, minor) = (parts.next().flatten(), parts.next().flatten());
        major.is_some_and(|major| (major, minor.unwrap_or(0)) >= (8, 2))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            enable_view_optimize: true,
            enable_ref_data: false,
            seed: 10,
            soc_version: None,
            cann_version: None,
            decompose: true,
            keep_stages: false,
        }
    }
}

/// A GE graph, in messages or as it was made, and what the host does around it.
#[derive(Clone, Debug)]
pub struct Lowered<G = GraphDef> {
    /// The GE graph.
    pub graph: G,
    /// The host's side.
    pub host: Host,
    /// Data indices whose memory the graph writes.
    pub written_inputs: Vec<usize>,
    /// Where this is not what TorchAir does, and what it does there.
    pub remarks: Vec<Remark>,
    /// Whether a call has only results without elements.
    pub has_empty: bool,
    /// The GE graph before and after each clean-up, by TorchAir's names of them; nothing unless it was asked for.
    pub stages: Vec<(&'static str, GraphDef)>,
    /// What operators without converter were taken apart into; nothing unless it was asked for.
    pub decomposed: Option<Box<Graph>>,
}

impl Lowered<Draft> {
    /// Returns the same with the graph in messages.
    pub fn into_def(self) -> Lowered {
        let Lowered { graph, host, written_inputs, remarks, has_empty, stages, decomposed } = self;
        Lowered { graph: graph.to_def(), host, written_inputs, remarks, has_empty, stages, decomposed }
    }
}

/// What is to be said of how a node was lowered.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Remark {
    /// Its name.
    pub node: String,
    /// What it calls.
    pub target: String,
    /// What is to be said.
    pub what: String,
}

/// A node that has no GE form.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Unsupported {
    /// Its name.
    pub node: String,
    /// What it calls.
    pub target: String,
    /// Why it has none.
    pub reason: String,
}

/// Why a graph cannot be lowered.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum LowerError {
    /// Nodes without a GE form: all of them.
    #[error("{} of the graph's nodes cannot be lowered to GE:{}", nodes.len(), listed(nodes))]
    Unsupported {
        /// The nodes, in order.
        nodes: Vec<Unsupported>,
    },
    /// A scope is closed that was not opened.
    #[error(
        "{node}: scope_exit without a scope_enter before it; look at the passes that insert scopes, and for graph breaks"
    )]
    ExitWithoutEnter {
        /// The scope_exit.
        node: String,
    },
    /// A scope stays open.
    #[error(
        "{node}: scope_enter without a scope_exit after it; look at the passes that insert scopes, and for graph breaks"
    )]
    EnterWithoutExit {
        /// The scope_enter.
        node: String,
    },
    /// The graph has no output node.
    #[error("the graph has no output node")]
    NoOutput,
}

fn listed(nodes: &[Unsupported]) -> String {
    nodes.iter().map(|n| format!("\n  {} ({}): {}", n.node, n.target, n.reason)).collect()
}

/// Lowers a graph, with the operators that Airlock knows.
pub fn lower(graph: &Graph, options: &Options) -> Result<Lowered, LowerError> {
    lower_with(graph, options, &Registry::standard())
}

/// How a call is lowered.
#[derive(Clone, Copy)]
enum Form<'r> {
    /// By the lowering itself: it makes no operator.
    None,
    /// As an operator file says.
    Described(&'r crate::ops::Lowering),
    /// By a converter.
    Rule(convert::Rule),
    /// By the name of a user's own operator.
    Own(&'static super::operators::GeOperator),
}

/// How often what a node was taken apart into is taken apart again.
const ROUNDS: usize = 16;

/// Lowers a graph; `registry` types the nodes that have no type of their own, and takes those apart that have no converter.
pub fn lower_with(graph: &Graph, options: &Options, registry: &Registry) -> Result<Lowered, LowerError> {
    Ok(draft(graph, options, registry)?.into_def())
}

/// Lowers a graph to what its bytes are written of, without messages of the whole.
pub fn draft(graph: &Graph, options: &Options, registry: &Registry) -> Result<Lowered<Draft>, LowerError> {
    let inlined = super::bodies::inlined(graph);
    let graph = inlined.as_ref().unwrap_or(graph);
    let lacking = match lower_once(graph, options, registry) {
        Err(LowerError::Unsupported { nodes }) if options.decompose => nodes,
        done => return done,
    };
    let error = match lower_apart(graph, lacking, options, registry) {
        Err(error @ LowerError::Unsupported { .. }) => error,
        done => return done,
    };
    // What is written through views stops a lowering that takes writes as they come; without writes it may go.
    let Ok(Some(functional)) = functionalize(graph, registry) else { return Err(error) };
    let made = match lower_once(&functional.graph, options, registry) {
        Err(LowerError::Unsupported { nodes }) => lower_apart(&functional.graph, nodes, options, registry),
        done => done,
    };
    let mut lowered = made.map_err(|_| error)?;
    let what = "writes are taken out: each gives a new value, and views of what was written are made again".to_string();
    lowered.remarks.push(Remark { node: "graph".into(), target: String::new(), what });
    if options.keep_stages && lowered.decomposed.is_none() {
        lowered.decomposed = Some(Box::new(functional.graph));
    }
    Ok(lowered)
}

/// Lowers a graph with nodes that lack a converter taken apart, as far as that goes.
fn lower_apart(
    graph: &Graph,
    mut lacking: Vec<Unsupported>,
    options: &Options,
    registry: &Registry,
) -> Result<Lowered<Draft>, LowerError> {
    let mut expanded = Expanded::of(graph);
    for _ in 0..ROUNDS {
        if !expanded.expand(registry, &lacking) {
            break;
        }
        lacking = match lower_once(&expanded.graph, options, registry) {
            Ok(mut lowered) => {
                lowered.remarks.append(&mut expanded.remarks);
                lowered.decomposed = options.keep_stages.then(|| Box::new(expanded.graph));
                return Ok(lowered);
            }
            Err(LowerError::Unsupported { nodes }) => nodes,
            Err(other) => return Err(other),
        };
    }
    Err(LowerError::Unsupported { nodes: expanded.blame(lacking) })
}

fn lower_once(graph: &Graph, options: &Options, registry: &Registry) -> Result<Lowered<Draft>, LowerError> {
    check_scopes(graph)?;
    let put_off = options.enable_view_optimize
        && !graph.nodes(BodyId::ROOT).any(|n| graph.target(n).starts_with("npu.npu_weight_quant_batchmatmul."));
    let mut lowering = Lowering {
        graph,
        registry,
        beyond: options.decompose,
        put_off,
        symbols: graph.symbols.clone(),
        b: Builder::new(options.seed, options.is_arch35(), options.exchanges_equals()),
        views: Views::default(),
        scopes: Scopes::default(),
        edges: Edges::default(),
        values: vec![Value::Failed; graph.slots()],
        done: vec![false; graph.slots()],
        inputs: Vec::new(),
        info: FxHashMap::default(),
        outputs: Vec::new(),
        fx_outputs: Vec::new(),
        unsupported: Vec::new(),
        remarks: Vec::new(),
        has_empty: false,
        storages: None,
    };
    lowering.run()?;
    if !lowering.unsupported.is_empty() {
        return Err(LowerError::Unsupported { nodes: lowering.unsupported });
    }
    Ok(lowering.finish(options))
}

fn check_scopes(graph: &Graph) -> Result<(), LowerError> {
    let name = |n: NodeId| graph.name(n).to_string();
    for found in Streams::of(graph).faults {
        return Err(match found.fault {
            ScopeFault::ExitWithoutEnter => LowerError::ExitWithoutEnter { node: name(found.node) },
            ScopeFault::NeverClosed => LowerError::EnterWithoutExit { node: name(found.node) },
            _ => continue,
        });
    }
    Ok(())
}

pub(super) struct Lowering<'g> {
    pub(super) graph: &'g Graph,
    pub(super) registry: &'g Registry,
    pub(super) beyond: bool,
    put_off: bool,
    pub(super) symbols: Symbols,
    pub(super) b: Builder,
    views: Views,
    scopes: Scopes,
    edges: Edges,
    /// By slot of the node.
    values: Vec<Value>,
    /// By slot of the node: whether it was reached.
    done: Vec<bool>,
    /// One an FX input: its value.
    pub(super) inputs: Vec<Value>,
    /// Where a Data's content comes from, by its place among the operators.
    info: FxHashMap<usize, String>,
    /// What NetOutput takes.
    pub(super) outputs: Vec<TensorId>,
    pub(super) fx_outputs: Vec<String>,
    unsupported: Vec<Unsupported>,
    remarks: Vec<Remark>,
    has_empty: bool,
    /// Which nodes share memory; asked only where something is written that is no input.
    pub(super) storages: Option<Storages<'g>>,
}

impl<'g> Lowering<'g> {
    fn run(&mut self) -> Result<(), LowerError> {
        let graph = self.graph;
        for node in graph.nodes(BodyId::ROOT) {
            let made = match graph.kind(node) {
                NodeKind::Placeholder => self.placeholder(node),
                NodeKind::Call => self.call(node),
                NodeKind::GetAttr => Err(Refusal("sub-graphs and attributes have no GE form".into())),
                NodeKind::Output => self.output(node).map(|()| Value::None),
            };
            let value = made.unwrap_or_else(|Refusal(reason)| {
                let (node, target) = (graph.name(node).to_string(), graph.target(node).to_string());
                self.unsupported.push(Unsupported { node, target, reason });
                Value::Failed
            });
            self.set_value(node, value);
            if let Some(done) = self.done.get_mut(graph.slot_of(node)) {
                *done = true;
            }
        }
        graph.output(BodyId::ROOT).map(|_| ()).ok_or(LowerError::NoOutput)
    }

    fn placeholder(&mut self, node: NodeId) -> Result<Value, Refusal> {
        let index = self.inputs.len();
        let value = self.data(node, index);
        self.inputs.push(value.as_ref().map_or(Value::Failed, Value::clone));
        value
    }

    fn data(&mut self, node: NodeId, index: usize) -> Result<Value, Refusal> {
        let (ty, name) = (self.graph.ty(node), self.graph.name(node).to_string());
        if let ValueType::Const(constant) = ty {
            return Ok(constant.as_ref().map_or(Value::None, |c| self.argument_scalar(c)));
        }
        let meta = metas::input_meta(&mut self.symbols, ty, index)
            .ok_or_else(|| Refusal("an input of this type has no GE form, or its type is not stated".into()))?;
        let dtype = types::type_of(&meta).ok_or_else(|| Refusal("GE has no type for this input's dtype".into()))?;
        let (host, from) = match &meta {
            // An exported program is on the CPU where it was exported; lowering is what brings it to the NPU.
            Meta::Tensor(t) => {
                let on_cpu = ty.as_tensor().is_some_and(|t| &*t.device.kind == "cpu");
                let from = if metas::is_dense(&mut self.symbols, t) {
                    format!("fx:{index}")
                } else {
                    format!("contiguous(fx:{index})")
                };
                (on_cpu && self.graph.signature.is_none(), from)
            }
            _ => (true, format!("sym:{index}")),
        };
        let t = self.b.data(Some(&name), index, dtype, types::dims(&meta.sizes()), host);
        self.b.set_meta(t, meta, &self.symbols)?;
        self.info.extend(self.b.tensor(t).map(|t| (t.op, from)));
        Ok(Value::Tensor(t))
    }

    fn call(&mut self, node: NodeId) -> Result<Value, Refusal> {
        let graph = self.graph;
        match graph.target(node) {
            "_operator.getitem" | "operator.getitem" => return self.getitem(node),
            // What exporters assert was true when the program was traced, or is the caller's to hold.
            "aten._assert_tensor_metadata.default"
            | "aten._assert_scalar.default"
            | "aten.sym_constrain_range.default"
            | "aten.sym_constrain_range_for_size.default" => return Ok(Value::None),
            target if is_truth(target) && self.is_only_asserted(node) => return Ok(Value::None),
            _ => {}
        }
        if graph.operands(node).any(|n| self.value(n).has_failed()) {
            // What comes after a node that failed is only told where it cannot be lowered itself.
            return self.form(node).map(|_| Value::Failed);
        }
        let (args, kwargs) = self.arguments(node)?;
        let (args, kwargs) = in_places(self.registry.operator_of(graph, node), args, kwargs);
        match graph.target(node) {
            "air.scope_enter.default" | "air.scope_exit.default" => self.scope(node),
            "air.record.default" => Ok(Value::Record(self.edges.record(self.scopes.outer()))),
            "air.wait.default" => Ok(self.wait(&given(&args, &kwargs, &["x"]))),
            target => self.compute(node, target, args, kwargs),
        }
    }

    /// Returns whether a truth about sizes is there only to be asserted.
    fn is_only_asserted(&self, node: NodeId) -> bool {
        let mut open = vec![node];
        let mut seen = HashSet::new();
        while let Some(node) = open.pop() {
            for user in self.graph.users_in_order(node) {
                match self.graph.target(user) {
                    "aten._assert_scalar.default" => {}
                    target if is_truth(target) => {
                        if seen.insert(user) {
                            open.push(user);
                        }
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    /// Returns how a call is lowered, or that nobody knows.
    fn form(&self, node: NodeId) -> Result<Form<'g>, Refusal> {
        let (graph, target) = (self.graph, self.graph.target(node));
        // What the lowering does itself makes no operator.
        if target.starts_with("air.") && convert::rule(target).is_none() && self.is_scope(target) {
            return Ok(Form::None);
        }
        if let Some(lowering) = self.registry.operator_of(graph, node).and_then(|o| o.lowering.as_ref()) {
            return Ok(Form::Described(lowering));
        }
        match convert::rule(target) {
            Some(_) if !self.beyond && convert::is_beyond(target) => {
                Err(Refusal("TorchAir has no converter for it".into()))
            }
            Some(rule) => Ok(Form::Rule(rule)),
            None => convert::own_operator(target).map(Form::Own).ok_or_else(|| {
                let hint = "a `lowering` in an operator file gives it one";
                Refusal(format!("no GE form is known of this operator; {hint}"))
            }),
        }
    }

    fn is_scope(&self, target: &str) -> bool {
        ["air.scope_enter.default", "air.scope_exit.default", "air.record.default", "air.wait.default"]
            .contains(&target)
    }

    fn compute(
        &mut self,
        node: NodeId,
        target: &str,
        args: Vec<Value>,
        kwargs: Vec<(String, Value)>,
    ) -> Result<Value, Refusal> {
        let (graph, registry) = (self.graph, self.registry);
        let form = self.form(node)?;
        let (values, b) = (&self.values, &self.b);
        let operand = |n: NodeId| match values.get(graph.slot_of(n)) {
            Some(Value::Tensor(t)) => b.tensor(*t)?.meta.as_ref()?.as_tensor().cloned(),
            _ => None,
        };
        let results = metas::results(graph, registry, &mut self.symbols, node, operand)
            .map_err(|reason| Refusal(format!("the type of its result is not known: {reason}")))?;
        if let Some(view) = self.put_off(target, &args, &results)? {
            return Ok(view);
        }
        let is_copy = target == "aten.copy_.default";
        let args = if self.beyond && is_copy { self.of_inputs(&args)? } else { args };
        let (mut args, kwargs) = self.with_views_made(args, kwargs)?;
        let start = self.b.ops.len();
        if self.beyond && is_copy {
            self.as_its_target(&mut args)?;
        }
        let value = match self.empty(&results).or_else(|| self.unkept(target, &args)) {
            Some(empty) => match target {
                "aten.copy_.default" => self.written(node, &args, empty)?,
                _ => empty,
            },
            None => {
                let mut cx =
                    Cx { b: &mut self.b, args: &args, kwargs: &kwargs, results: &results, node: (graph, node) };
                let value = match form {
                    Form::None => Value::None,
                    Form::Described(lowering) => convert::apply_described(lowering, &mut cx)?,
                    Form::Rule(rule) => convert::apply(rule, &mut cx)?,
                    Form::Own(known) => convert::convert_own(&mut cx, known, &params(graph, registry, node))?,
                };
                self.edges.made(self.scopes.outer(), start..self.b.ops.len(), &mut self.b.ops);
                let value = self.apart(value, &results);
                self.set_types(node, &value, &results)?;
                match target {
                    "aten.copy_.default" => self.written(node, &args, value)?,
                    _ => value,
                }
            }
        };
        if let Form::Own(known) = form {
            self.remark(node, format!("lowered by its name to GE's {}", known.name));
        }
        if convert::is_beyond(target) {
            self.remark(node, "TorchAir has no converter for it".into());
        }
        if writes::is_unwritten(target) {
            self.remark(node, "as TorchAir has it, the graph does not write what this is told to write".into());
        }
        scopes::apply(&self.scopes, self.b.ops.get_mut(start..).unwrap_or_default());
        Ok(value)
    }

    /// Keeps an input apart from a result of its own that is handed on in its place: a write of the input is still one.
    fn apart(&mut self, value: Value, results: &Results) -> Value {
        let (Value::Tensor(t), Results::One(meta @ Meta::Tensor(result))) = (&value, results) else { return value };
        let known = self.b.tensor(*t).and_then(|t| t.meta.as_ref()).and_then(Meta::as_tensor);
        match result.input.is_none() && known.is_some_and(|known| known.input.is_some()) {
            true => Value::Tensor(self.b.again(*t, meta.clone())),
            false => value,
        }
    }

    /// Puts a view off where that is allowed: outside of scopes, or where these are all of super kernels.
    fn put_off(&mut self, target: &str, args: &[Value], results: &Results) -> Result<Option<Value>, Refusal> {
        if !self.put_off || (!self.scopes.open.is_empty() && !scopes::only_super_kernel(&self.scopes)) {
            return Ok(None);
        }
        let (Some(Value::Tensor(source)), Results::One(Meta::Tensor(result))) = (args.first(), results) else {
            return Ok(None);
        };
        let rank = match self.b.tensor(*source).and_then(|t| t.meta.as_ref()) {
            Some(meta) => meta.sizes().len(),
            None => return Ok(None),
        };
        let axis = |i: usize| match args.get(i) {
            Some(Value::Int(i)) => metas::axis(*i, rank),
            _ => None,
        };
        let kind = match target {
            "aten.view.default" | "aten.reshape.default" => Some(Kind::Reshape),
            "aten.permute.default" => {
                let axes = args.get(1).and_then(Value::ints).unwrap_or_default();
                axes.iter().map(|a| metas::axis(*a, rank)).collect::<Option<_>>().map(Kind::Permute)
            }
            "aten.transpose.int" => axis(1).zip(axis(2)).map(|(a, b)| Kind::Permute(metas::swapped(rank, a, b))),
            "aten.t.default" => Some(Kind::Permute((0..rank).rev().collect())),
            _ => None,
        };
        let Some(kind) = kind else { return Ok(None) };
        let view = self.views.put_off(&mut self.b, &mut self.symbols, *source, &kind, args.get(1), result)?;
        let Some(view) = view else { return Ok(None) };
        self.b.set_meta(view, Meta::Tensor(result.clone()), &self.symbols)?;
        Ok(Some(Value::Tensor(view)))
    }

    #[allow(clippy::type_complexity)] // Arguments by place, then by name.
    pub(super) fn with_views_made(
        &mut self,
        mut args: Vec<Value>,
        mut kwargs: Vec<(String, Value)>,
    ) -> Result<(Vec<Value>, Vec<(String, Value)>), Refusal> {
        if !self.put_off {
            return Ok((args, kwargs));
        }
        let start = self.b.ops.len();
        for value in args.iter_mut().chain(kwargs.iter_mut().map(|(_, value)| value)) {
            *value = self.views.make_all(&mut self.b, &mut self.symbols, value)?;
        }
        if scopes::only_super_kernel(&self.scopes) {
            scopes::apply(&self.scopes, self.b.ops.get_mut(start..).unwrap_or_default());
        }
        Ok((args, kwargs))
    }

    /// Returns empty constants where no result has an element.
    fn empty(&mut self, results: &Results) -> Option<Value> {
        let empty = |m: &Meta| match m {
            Meta::Tensor(t) => t.sizes.contains(&Dim::Fixed(0)) && t.sizes.iter().all(|d| d.fixed().is_some()),
            _ => false,
        };
        let all = match results {
            Results::None => false,
            Results::One(m) => empty(m),
            Results::Many(list) => list.iter().all(|m| m.as_ref().is_some_and(empty)),
        };
        if !all {
            return None;
        }
        self.has_empty = true;
        let mut make = |m: &Meta| {
            let dtype = types::type_of(m)?;
            let t = self.b.raw_constant(dtype, types::dims(&m.sizes()), Vec::new(), None);
            self.b.set_meta(t, m.clone(), &self.symbols).ok()?;
            Some(Value::Tensor(t))
        };
        match results {
            Results::None => None,
            Results::One(m) => make(m),
            Results::Many(list) => {
                list.iter().map(|m| make(m.as_ref()?)).collect::<Option<Vec<_>>>().map(|l| Value::List(l.into()))
            }
        }
    }

    fn set_types(&mut self, node: NodeId, value: &Value, results: &Results) -> Result<(), Refusal> {
        let graph = self.graph;
        let tensors: Vec<(TensorId, Option<Meta>)> = match (value, results) {
            (Value::Tensor(t), Results::One(m)) => vec![(*t, Some(m.clone()))],
            (Value::List(items), Results::Many(metas)) => {
                // Where only getitems tell the types, unused results at the end are not known of.
                let metas = metas.iter().cloned().chain(std::iter::repeat(None));
                items.iter().zip(metas).filter_map(|(v, m)| Some((v.tensor()?, m))).collect()
            }
            (Value::Tensor(t), Results::Many(metas)) => vec![(*t, metas.first().cloned().flatten())],
            _ => Vec::new(),
        };
        for (i, (t, meta)) in tensors.into_iter().enumerate() {
            if let Some(meta) = meta {
                self.b.set_meta(t, meta, &self.symbols)?;
            }
            let target = shown_target(graph.target(node));
            let name = [graph.name(node), "-", &target, ".OUTPUT.", &i.to_string()].concat();
            self.b.set_fx_name(t, name);
        }
        Ok(())
    }

    fn getitem(&mut self, node: NodeId) -> Result<Value, Refusal> {
        match self.graph.args(node) {
            [Arg::Node(from), Arg::Int(i)] => match (self.value(*from), usize::try_from(*i)) {
                (Value::Failed, _) => Ok(Value::Failed),
                (Value::List(items), Ok(i)) => {
                    items.get(i).cloned().ok_or_else(|| Refusal(format!("there are only {} results", items.len())))
                }
                _ => Err(Refusal("its operand gives no list of results".into())),
            },
            _ => Err(Refusal("only a fixed place of a list can be taken".into())),
        }
    }

    /// Scopes are read in one place; what is paired was checked before.
    fn scope(&mut self, node: NodeId) -> Result<Value, Refusal> {
        self.scopes.read(self.graph, node);
        match self.scopes.faults.drain(..).any(|f| f.fault == ScopeFault::NoText) {
            true => Err(Refusal("keys and values must be texts".into())),
            false => Ok(Value::None),
        }
    }

    fn wait(&mut self, args: &[Value]) -> Value {
        let Some(Value::List(items)) = args.first() else { return Value::None };
        let ops: Vec<usize> = items
            .iter()
            .filter_map(|v| match v {
                Value::Record(op) => *op,
                Value::Tensor(t) => self.b.tensor(*t).map(|t| t.op),
                _ => None,
            })
            .collect();
        self.edges.wait(self.scopes.outer(), ops);
        Value::None
    }

    /// Returns whether a node is still to come.
    pub(super) fn is_ahead(&self, node: NodeId) -> bool {
        self.done.get(self.graph.slot_of(node)) == Some(&false)
    }

    pub(super) fn set_value(&mut self, node: NodeId, value: Value) {
        if let Some(slot) = self.values.get_mut(self.graph.slot_of(node)) {
            *slot = value;
        }
    }

    fn remark(&mut self, node: NodeId, what: String) {
        let (node, target) = (self.graph.name(node).to_string(), self.graph.target(node).to_string());
        self.remarks.push(Remark { node, target, what });
    }

    pub(super) fn value(&self, node: NodeId) -> &Value {
        self.values.get(self.graph.slot_of(node)).unwrap_or(&Value::Failed)
    }

    fn finish(mut self, options: &Options) -> Lowered<Draft> {
        let mut seed = None;
        if let Some(data) = self.b.offsets() {
            self.info.insert(data, "rng-offsets".into());
            seed = Some(options.seed);
        }
        let types = self.outputs.iter().map(|t| self.b.dtype(*t).cpp()).collect();
        let inputs = self.inputs.len();
        let mut work = cleanup::Work { ops: self.b.ops, info: self.info, inputs, output_types: types };
        let mut stages = Vec::new();
        let mut keep = |name, work: &cleanup::Work| {
            if options.keep_stages {
                stages.push((name, GraphDef { op: draft::operators(&work.ops), ..GraphDef::default() }));
            }
        };
        keep("original_ge_graph", &work);
        work.pack_host_sizes();
        keep("graph_after_optimize_sym_pack", &work);
        let ge_inputs = work.remove_dead_data();
        keep("graph_after_remove_dead_data_and_reorder_data_index", &work);
        let written = work.drop_moves_before_writes();
        keep("graph_after_optimize_reference_op_redundant_copy", &work);
        let output_ref_input = work.assigns_to_outputs();
        keep("graph_after_mapping_assign_op_to_graph_output", &work);
        work.order_side_effects(&output_ref_input);
        keep("graph_after_explicit_order_for_side_effect_nodes", &work);
        work.move_weight_transposes();
        keep("graph_after_move_mm_weight_transpose_after_bitcast", &work);
        let mut written_inputs = written;
        written_inputs.extend(output_ref_input.values().copied());
        written_inputs.sort_unstable();
        written_inputs.dedup();
        let graph = work.finish(if options.enable_ref_data { &written_inputs } else { &[] });
        let output_ref_input = output_ref_input.into_iter().map(|(o, i)| (o.to_string(), i)).collect();
        let host = Host { fx_outputs: self.fx_outputs, ge_inputs, output_ref_input, seed };
        Lowered {
            graph,
            host,
            written_inputs,
            remarks: self.remarks,
            has_empty: self.has_empty,
            stages,
            decomposed: None,
        }
    }
}

/// What gives a truth value of numbers.
fn is_truth(target: &str) -> bool {
    const OPERATORS: [&str; 8] = ["ge", "gt", "le", "lt", "eq", "ne", "and_", "or_"];
    target == "torch.sym_not"
        || target == "sym_not"
        || target.strip_prefix("_operator.").is_some_and(|name| OPERATORS.contains(&name))
}

/// Returns the arguments of these names, wherever they were given.
fn given(args: &[Value], kwargs: &[(String, Value)], names: &[&str]) -> Vec<Value> {
    let named = |name: &str| kwargs.iter().find(|(k, _)| k == name).map_or(Value::None, |(_, v)| v.clone());
    names.iter().enumerate().map(|(i, name)| args.get(i).cloned().unwrap_or_else(|| named(name))).collect()
}

/// Puts arguments that are named in their places, as far as what stands before them is given too: converters ask by place.
fn in_places(
    operator: Option<&Operator>,
    mut args: Vec<Value>,
    mut kwargs: Vec<(String, Value)>,
) -> (Vec<Value>, Vec<(String, Value)>) {
    let params = operator.map_or(&[][..], |o| &o.schema.params);
    for param in params.iter().skip(args.len()).take_while(|p| !p.kwarg_only) {
        let Some(named) = kwargs.iter().position(|(name, _)| *name == *param.name) else { break };
        args.push(kwargs.remove(named).1);
    }
    (args, kwargs)
}

/// Returns the names of an operator's parameters, as far as they are known.
fn params(graph: &Graph, registry: &Registry, node: NodeId) -> Vec<String> {
    let operator = registry.operator_of(graph, node);
    operator.map_or_else(Vec::new, |o| o.schema.params.iter().map(|p| p.name.to_string()).collect())
}

/// Python operators are builtin functions to TorchAir.
fn shown_target(target: &str) -> Cow<'_, str> {
    match target.strip_prefix("_operator.") {
        Some(name) => format!("<built-in function {name}>").into(),
        None => target.into(),
    }
}
