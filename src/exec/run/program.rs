//! A graph, run node by node.
//!
//! Promises: nodes run in their order; a value is dropped with its last use; an operator that changes a tensor's shape changes it for
//! every later user of that value; what the caller holds (buffers, inputs) is written where the program writes it. Leaves calls to
//! `session`, bodies of higher-order calls to `control`.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::exec::call::session::Session;
use crate::exec::error::ExecError;
use crate::exec::run::inputs;
use crate::exec::run::tiles::{Tile, Tiles};
use crate::exec::tensor::Tensor;
use crate::exec::tensor::value::Value;
use crate::graph::{Arg, BodyId, Dtype, Graph, InputKind, Model, NodeId, NodeKind, OutputKind, ValueType, View};
use crate::ops::{CallFault, Sharing};

/// A node that has just been computed.
pub struct Step<'a> {
    /// The program.
    pub graph: &'a Graph,
    /// The node.
    pub node: NodeId,
    /// Its positional and keyword arguments.
    pub args: &'a [Value],
    /// What it gave.
    pub result: &'a Value,
    /// When it began, from the start of the run.
    pub began: Duration,
    /// How long it took.
    pub took: Duration,
}

/// Is told of every call of a run.
pub trait Observer {
    /// Called after each call.
    fn computed(&mut self, step: &Step<'_>);

    /// Whether each call is to be told of; otherwise some may run together, and nothing is said of them.
    fn sees_all(&self) -> bool {
        true
    }
}

/// Looks at nothing.
impl Observer for () {
    fn computed(&mut self, _: &Step<'_>) {}

    fn sees_all(&self) -> bool {
        false
    }
}

/// What a run leaves.
#[derive(Debug)]
pub struct Execution {
    /// The user's outputs, in order.
    pub outputs: Vec<Value>,
    /// Buffers and parameters that the program changed, by their names, with their final content.
    pub buffers: Vec<(String, Tensor)>,
    /// User inputs that the program changed, by their number, with their final content.
    pub inputs: Vec<(usize, Tensor)>,
    /// The most bytes that tensors took at once after any node.
    pub live_bytes: usize,
    /// The most bytes that tensors took at once, those inside a kernel too; scratch memory of kernels is not counted.
    pub peak_bytes: usize,
}

/// Runs a program on the user's inputs, in order.
pub fn run(
    model: &Model,
    given: Vec<Value>,
    session: &mut Session<'_>,
    observer: &mut dyn Observer,
) -> Result<Execution, ExecError> {
    let graph = &model.graph;
    let inputs = inputs::of(graph);
    let values = inputs::values(model, &inputs, given, session)?;
    let before: Vec<Value> = values.iter().map(|(_, v)| v.clone()).collect();
    let mut runner = Runner::of(graph, session, observer);
    for (node, value) in values {
        runner.set(node, value);
    }
    let returned = runner.body(BodyId::ROOT)?;
    let live_bytes = runner.live.max(runner.session.meter().live());
    let mut outcome = sorted(graph, &inputs, &before, returned, session)?;
    changed(&inputs, &before, &mut outcome);
    outcome.live_bytes = live_bytes;
    outcome.peak_bytes = session.meter().peak();
    Ok(outcome)
}

/// Runs a program on a value for every placeholder, weights included, in order; returns what it returns, in order.
///
/// Nothing is held against what the program states of its inputs.
pub fn run_on(
    graph: &Graph,
    given: &[Value],
    session: &mut Session<'_>,
    observer: &mut dyn Observer,
) -> Result<Vec<Value>, ExecError> {
    let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let mut runner = Runner::of(graph, session, observer);
    for (node, value) in placeholders.zip(given) {
        runner.set(node, value.clone());
    }
    runner.body(BodyId::ROOT)
}

/// Runs the graph of a decomposed call; returns what stands for the results.
pub(in crate::exec) fn run_expansion(
    graph: &Graph,
    inputs: impl Iterator<Item = Value>,
    session: &mut Session<'_>,
) -> Result<Vec<Value>, ExecError> {
    let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let observer = &mut ();
    let mut runner = Runner::of(graph, session, observer);
    for (node, value) in placeholders.zip(inputs) {
        runner.set(node, value);
    }
    runner.body(BodyId::ROOT)
}

/// Does what the signature says becomes of an input when all else is done: `copy_`, which raises where the two overlap in part.
/// `number` is that of the output.
pub fn copy_back(
    graph: &Graph,
    number: usize,
    (to, from): (&Tensor, Value),
    session: &mut Session<'_>,
) -> Result<(), ExecError> {
    let values = [Value::Tensor(to.clone()), from];
    let fails = |source| ExecError::Node { node: output_name(graph, number), source };
    session.call("aten.copy_.default", &values, &[]).map(drop).map_err(fails)
}

fn output_name(graph: &Graph, number: usize) -> String {
    let output = graph.last(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Output);
    let items = output.and_then(|n| graph.args(n).first()).and_then(Arg::items);
    let node = items.and_then(|items| items.get(number)).and_then(Arg::as_node);
    node.map_or_else(|| format!("output {number}"), |n| graph.name(n).to_string())
}

/// Splits what the program returns by what its signature says of it; what it says of inputs is done, in order.
fn sorted(
    graph: &Graph,
    inputs: &[inputs::Input],
    given: &[Value],
    returned: Vec<Value>,
    session: &mut Session<'_>,
) -> Result<Execution, ExecError> {
    let mut out =
        Execution { outputs: Vec::new(), buffers: Vec::new(), inputs: Vec::new(), live_bytes: 0, peak_bytes: 0 };
    let mut specs = graph.signature.iter().flat_map(|s| s.outputs.iter());
    for (number, value) in returned.into_iter().enumerate() {
        let spec = specs.next();
        let Some(spec) = spec.filter(|s| s.kind.is_mutation()) else {
            out.outputs.extend(spec.is_none_or(|s| s.kind != OutputKind::Token).then_some(value));
            continue;
        };
        let target = spec.target.as_deref().unwrap_or("");
        let of_user = spec.kind == OutputKind::UserInputMutation;
        let is_target = |i: &inputs::Input| match of_user {
            true => i.kind == InputKind::UserInput && graph.name(i.node) == target,
            false => i.kind != InputKind::UserInput && i.target.as_deref() == Some(target),
        };
        let at = inputs.iter().position(is_target);
        let Some((at, Value::Tensor(to))) = at.and_then(|i| given.get(i).map(|v| (i, v))) else {
            return Err(ExecError::Body {
                what: format!("output {number} changes `{target}`, which is no tensor that the program takes"),
            });
        };
        copy_back(graph, number, (to, value), session)?;
        if of_user {
            let index = inputs.iter().take(at).filter(|i| i.kind == InputKind::UserInput).count();
            out.inputs.push((index, to.clone()));
        } else {
            out.buffers.push((target.into(), to.clone()));
        }
    }
    Ok(out)
}

/// Adds what the program wrote into the memory of its inputs.
fn changed(inputs: &[inputs::Input], before: &[Value], out: &mut Execution) {
    let mut users = 0_usize;
    for (input, value) in inputs.iter().zip(before) {
        let number = users;
        if input.kind == InputKind::UserInput {
            users = users.saturating_add(1);
        }
        let Value::Tensor(t) = value else { continue };
        if t.storage.is_untouched() {
            continue;
        }
        match (&input.kind, &input.target) {
            (InputKind::UserInput, _) if !out.inputs.iter().any(|(i, _)| *i == number) => {
                out.inputs.push((number, t.clone()))
            }
            (InputKind::Buffer | InputKind::Parameter, Some(name))
                if !out.buffers.iter().any(|(n, _)| **n == **name) =>
            {
                out.buffers.push((name.to_string(), t.clone()));
            }
            _ => {}
        }
    }
}

/// A run under way.
pub(in crate::exec) struct Runner<'a, 's, 'r> {
    pub(in crate::exec) graph: &'a Graph,
    pub(in crate::exec) session: &'s mut Session<'r>,
    observer: &'s mut dyn Observer,
    start: Instant,
    live: usize,
    /// By slot of the node.
    values: Vec<Value>,
    pub(in crate::exec) depth: usize,
    /// The dtype of the region of autocast that runs.
    pub(in crate::exec) autocast: Option<Dtype>,
}

/// Bodies nest no deeper than this.
const DEEPEST: usize = 64;

impl<'a, 's, 'r> Runner<'a, 's, 'r> {
    fn of(graph: &'a Graph, session: &'s mut Session<'r>, observer: &'s mut dyn Observer) -> Self {
        Runner {
            graph,
            session,
            observer,
            start: Instant::now(),
            live: 0,
            values: Vec::new(),
            depth: 0,
            autocast: None,
        }
    }
}

impl<'a> Runner<'a, '_, '_> {
    /// Gives a node its value.
    pub(in crate::exec) fn set(&mut self, node: NodeId, value: Value) {
        let slot = slot(node);
        if self.values.len() <= slot {
            self.values.resize_with(slot.saturating_add(1), Value::default);
        }
        if let Some(place) = self.values.get_mut(slot) {
            *place = value;
        }
    }

    pub(in crate::exec) fn get(&self, node: NodeId) -> Value {
        self.values.get(slot(node)).cloned().unwrap_or_default()
    }

    /// Runs a body whose placeholders have their values; returns what it returns.
    pub(in crate::exec) fn body(&mut self, body: BodyId) -> Result<Vec<Value>, ExecError> {
        let name = || format!("body `{}`", self.graph.body_name(body));
        if self.depth >= DEEPEST {
            return Err(ExecError::Body { what: format!("{} lies deeper than {DEEPEST} bodies", name()) });
        }
        if self.session.spend().is_err() {
            return Err(ExecError::Body { what: format!("{} is run when the limit of calls is used up", name()) });
        }
        self.depth = self.depth.saturating_add(1);
        let together = match self.observer.sees_all() {
            true => Tiles::default(),
            false => Tiles::find(self.graph, body, self.session),
        };
        let last_uses = last_uses(self.graph, body, &together);
        let mut next = self.graph.first(body);
        let mut returned = None;
        let mut dying = last_uses.iter().peekable();
        let mut position = 0_usize;
        while let Some(node) = next {
            match self.graph.kind(node) {
                NodeKind::Call => match together.of(node) {
                    None => self.call(node)?,
                    Some(tile) if tile.last() == Some(node) => self.tiled(tile)?,
                    Some(_) => {}
                },
                NodeKind::Output => {
                    let arg = self.graph.args(node).first().unwrap_or(&Arg::None);
                    let value = self.value(node, arg)?;
                    returned = Some(match value {
                        Value::List(all) => all,
                        one => vec![one],
                    });
                }
                NodeKind::GetAttr => self.attribute(node),
                NodeKind::Placeholder => {}
            }
            while let Some((_, dead)) = dying.next_if(|(at, _)| *at == position) {
                self.set(*dead, Value::None);
            }
            position = position.saturating_add(1);
            next = self.graph.next(node);
        }
        self.depth = self.depth.saturating_sub(1);
        returned.ok_or_else(|| ExecError::Body { what: format!("body `{}` has no output", self.graph.body_name(body)) })
    }

    fn attribute(&mut self, node: NodeId) {
        if let ValueType::Body(body) = self.graph.ty(node) {
            self.set(node, Value::Body(*body));
        }
    }

    pub(in crate::exec) fn call(&mut self, node: NodeId) -> Result<(), ExecError> {
        let graph = self.graph;
        let mut args = graph.args(node).iter().map(|a| self.value(node, a)).collect::<Result<Vec<_>, _>>()?;
        let named = graph.kwargs(node).iter().map(|(k, a)| Ok((graph.texts.text(*k), self.value(node, a)?)));
        let mut kwargs = named.collect::<Result<Vec<_>, ExecError>>()?;
        let began = Instant::now();
        self.check_time(node)?;
        let target = graph.target(node);
        self.cast_operands(node, target, &mut args, &mut kwargs)?;
        self.session.keeps_dtype = self.session.floats.is_some() && self.keeps_dtype(node);
        let result = match self.higher_order(node, target, &args, &kwargs) {
            Some(result) => result?,
            None => self.session.call(target, &args, &kwargs).map_err(|source| self.failed(node, source))?,
        };
        let (took, began) = (began.elapsed(), began.duration_since(self.start));
        self.live = self.live.max(self.session.meter().live());
        self.observer.computed(&Step { graph, node, args: &args, result: &result, began, took });
        self.reshape_written(node, target, &result);
        self.set(node, result);
        Ok(())
    }

    pub(in crate::exec) fn check_time(&self, node: NodeId) -> Result<(), ExecError> {
        self.session.check_time().map_err(|fault| self.fault(node, fault))
    }

    /// Whether a call's result has the dtype of its first operand, by their types: a run of other floats cannot see it.
    fn keeps_dtype(&self, node: NodeId) -> bool {
        let dtype = |n: NodeId| self.graph.ty(n).as_tensor().map(|t| t.dtype);
        let operand = self.graph.args(node).first().and_then(Arg::as_node);
        operand.and_then(dtype).is_some_and(|d| dtype(node) == Some(d))
    }

    pub(in crate::exec) fn failed(&self, node: NodeId, source: crate::ops::TypeError) -> ExecError {
        ExecError::Node { node: self.graph.name(node).into(), source }
    }

    pub(in crate::exec) fn fault(&self, node: NodeId, fault: CallFault) -> ExecError {
        self.failed(node, fault.of(self.graph.target(node)))
    }

    /// An operator that returns its written argument may have given it another shape (`transpose_`); its node has it from now on.
    fn reshape_written(&mut self, node: NodeId, target: &str, result: &Value) {
        let Value::Tensor(t) = result else { return };
        let Some(operator) = self.session.registry().get(target).filter(|o| o.effects.writes()) else { return };
        let same = operator.effects.returns.first().and_then(|r| r.iter().find(|r| matches!(r.sharing, Sharing::Same)));
        let Some(Arg::Node(written)) = same.and_then(|r| self.graph.args(node).get(r.param)) else { return };
        if let Value::Tensor(old) = self.get(*written)
            && old.meta != t.meta
        {
            self.set(*written, result.clone());
        }
    }

    /// Returns the value of an argument of `node`.
    pub(in crate::exec) fn value(&self, node: NodeId, arg: &Arg) -> Result<Value, ExecError> {
        Ok(match arg {
            Arg::Node(operand) => match (self.get(*operand), self.graph.ty(*operand)) {
                (Value::None, ValueType::Tensor(_) | ValueType::SymInt(_) | ValueType::Many(_)) => {
                    let name = |n| self.graph.name(n).to_string();
                    return Err(ExecError::NoValue { node: name(node), operand: name(*operand) });
                }
                (Value::None, ValueType::Const(Some(constant))) => self.value(node, constant)?,
                (value, _) => value,
            },
            Arg::None => Value::None,
            Arg::Bool(v) => Value::Bool(*v),
            Arg::Int(v) => Value::Int(*v),
            Arg::Float(v) => Value::Float(*v),
            Arg::Complex(re, im) => Value::Complex(*re, *im),
            // Lists nest at most as deep as `Arg::MAX_DEPTH`.
            Arg::List(all) | Arg::Tuple(all) => {
                Value::List(all.iter().map(|a| self.value(node, a)).collect::<Result<_, _>>()?)
            }
            other => Value::Literal(other.clone()),
        })
    }
}

fn slot(node: NodeId) -> usize {
    usize::try_from(node.to_bits() & 0xffff_ffff).unwrap_or(usize::MAX)
}

/// Returns which values are used for the last time where: positions in the body and nodes, in order. A call whose result nothing uses ends
/// with itself; calls that run together, with the last of them.
fn last_uses(graph: &Graph, body: BodyId, together: &Tiles) -> Vec<(usize, NodeId)> {
    let mut nodes: Vec<(usize, NodeId)> = graph.nodes(body).enumerate().collect();
    if !together.all.is_empty() {
        let places: FxHashMap<NodeId, usize> = nodes.iter().map(|(at, node)| (*node, *at)).collect();
        for (at, node) in &mut nodes {
            let last = together.of(*node).and_then(Tile::last).and_then(|last| places.get(&last));
            *at = last.copied().unwrap_or(*at);
        }
        nodes.sort_by_key(|(at, _)| *at);
    }
    let mut seen = rustc_hash::FxHashSet::default();
    let mut out = Vec::new();
    for (position, node) in nodes.into_iter().rev() {
        if graph.kind(node) == NodeKind::Call && seen.insert(node) {
            out.push((position, node));
        }
        for operand in graph.operands(node) {
            if seen.insert(operand) {
                out.push((position, operand));
            }
        }
    }
    out.reverse();
    out
}
