//! What the host does around a GE graph: which inputs it passes, what it returns, whose memory is written; on both sides of a comparison.
//!
//! Every output of a GE graph has memory of its own, as TorchAir has it; where the graph that was lowered returns two values that share
//! memory of its own, that is no difference. Views of inputs are made outside, and stay views.

use rustc_hash::FxHashMap;

use super::{RaiseError, Raised, Raising};
use crate::analysis::{self, Place, Shares, Storages};
use crate::graph::{Arg, BodyId, Device, Graph, NewNode, NodeId, NodeKind, Signature, ValueType, View};
use crate::lower::ge::define::TELL;
use crate::ops::{Operator, Registry, is_contiguous};
use crate::sym::Dim;

/// Views that show pairs of numbers as complex ones, and back.
const IN_PAIRS: [&str; 2] = ["aten.view_as_complex.default", "aten.view_as_real.default"];

/// Begins a graph with the inputs of another.
pub(super) fn begin(original: &Graph) -> (Graph, Vec<NodeId>) {
    let mut graph = Graph::new();
    graph.symbols = original.symbols.clone();
    graph.range_constraints.clone_from(&original.range_constraints);
    let mut inputs = Vec::new();
    for node in original.nodes(BodyId::ROOT).filter(|n| original.kind(*n) == NodeKind::Placeholder) {
        let name = original.name(node).to_string();
        let ty = match original.ty(node) {
            ValueType::Other(text) => ValueType::Other(graph.texts.intern(original.texts.text(*text))),
            other => other.clone(),
        };
        let target = graph.texts.intern(original.target(node));
        let new = NewNode { kind: NodeKind::Placeholder, target, args: Box::default(), kwargs: Box::default(), ty };
        inputs.push(graph.push(BodyId::ROOT, &name, new));
    }
    graph.signature = original.signature.as_ref().map(|s| Signature {
        inputs: s.inputs.clone(),
        outputs: s.outputs.iter().filter(|o| !o.kind.is_mutation()).cloned().collect(),
    });
    (graph, inputs)
}

/// Returns where the tensors of a graph are.
pub(super) fn device(original: &Graph) -> Option<Device> {
    original.nodes(BodyId::ROOT).find_map(|n| original.ty(n).as_tensor().map(|t| t.device.clone()))
}

/// What a graph returns: values one by one.
fn returned(graph: &Graph) -> Option<(NodeId, Vec<Arg>)> {
    let node = graph.output(BodyId::ROOT)?;
    Some(match graph.args(node) {
        [Arg::List(items) | Arg::Tuple(items)] => (node, items.to_vec()),
        args => (node, args.to_vec()),
    })
}

/// Returns the graph that was lowered as the host's caller sees it: what it returns in memory of its own is returned as copies.
pub fn comparable(mut graph: Graph, registry: &Registry) -> Graph {
    let Some((output, values)) = returned(&graph) else { return graph };
    let own: Vec<NodeId> = {
        let mut storages = Storages::new(&graph, registry, &[]);
        let nodes = values.iter().filter_map(Arg::as_node);
        nodes.filter(|n| graph.ty(*n).as_tensor().is_some() && is_own(&graph, &mut storages, *n)).collect()
    };
    let mut copies: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for node in own {
        if copies.contains_key(&node) {
            continue;
        }
        let target = graph.texts.intern("aten.clone.default");
        let name = graph.free_name(BodyId::ROOT, "clone");
        let args = Box::new([Arg::Node(node)]);
        let new = NewNode { kind: NodeKind::Call, target, args, kwargs: Box::default(), ty: graph.ty(node).clone() };
        let copy = graph.insert(BodyId::ROOT, Some(output), &name, new);
        copies.insert(node, copy);
    }
    let copied = |a: &Arg| a.map_nodes(&mut |n| copies.get(&n).copied().unwrap_or(n));
    // A call that gives nothing is no value, wherever it stands.
    let kept = |a: &Arg| if gives_nothing(&graph, registry, a) { Arg::None } else { copied(a) };
    let each = |a: &Arg| match a {
        Arg::List(items) => Arg::List(items.iter().map(kept).collect()),
        Arg::Tuple(items) => Arg::Tuple(items.iter().map(kept).collect()),
        one => kept(one),
    };
    let args: Vec<Arg> = graph.args(output).iter().map(each).collect();
    graph.set_args(output, args.into(), Box::default());
    graph
}

fn gives_nothing(graph: &Graph, registry: &Registry, value: &Arg) -> bool {
    let call = value.as_node().filter(|n| graph.kind(*n) == NodeKind::Call);
    call.and_then(|n| registry.operator_of(graph, n)).is_some_and(|o| o.schema.returns.is_empty())
}

/// Whether a value surely lies in no input's memory.
fn is_own(graph: &Graph, storages: &mut Storages<'_>, node: NodeId) -> bool {
    let mut open = vec![crate::analysis::place_of(graph, node)];
    let mut seen: Vec<Place> = Vec::new();
    while let Some(place) = open.pop() {
        if seen.contains(&place) {
            continue;
        }
        seen.push(place);
        if graph.kind(place.node) != NodeKind::Call {
            return false;
        }
        open.extend(storages.home(place).iter().map(|s| s.place()));
    }
    true
}

/// Whether a call gives a part of its operand's memory, or that memory: what the host makes of an input by `as_strided`, which knows sizes and strides alone.
fn is_view(graph: &Graph, registry: &Registry, node: NodeId) -> bool {
    match analysis::home_of(graph, registry, analysis::place_of(graph, node)).as_slice() {
        [Shares::Same(_)] => true,
        [Shares::View(of)] => is_as_stored(graph, registry, node, of.node),
        // A reshape of what is contiguous is a view.
        [Shares::Maybe(of)] => {
            let operand = graph.ty(of.node).as_tensor();
            let whole =
                analysis::place_of(graph, node).item == Place::WHOLE || graph.target(node) == "_operator.getitem";
            whole && operand.is_none_or(|t| is_contiguous(&mut graph.symbols.clone(), t) == Some(true))
        }
        _ => false,
    }
}

/// Whether a view shows its operand's elements as they stand there: of their type, and, where they are complex, or their signs may be left to be computed, moved alone.
fn is_as_stored(graph: &Graph, registry: &Registry, node: NodeId, of: NodeId) -> bool {
    let dtype = |n: NodeId| graph.ty(n).as_tensor().map(|t| t.dtype);
    let (Some(shown), Some(stored)) = (dtype(node), dtype(of)) else { return true };
    let moves = registry.operator_of(graph, node).is_some_and(|o| o.facts.moves || o.facts.step.is_some());
    shown == stored && (moves || !shown.is_complex())
}

/// Whether a value is all of an input, whose pairs of numbers it shows as complex ones or the other way round: TorchAir's host makes these by the
/// operator itself, of all of the input, whatever else leads there.
fn is_input_in_pairs(graph: &Graph, node: NodeId) -> bool {
    let of = graph.args(node).first().and_then(Arg::as_node);
    IN_PAIRS.contains(&graph.target(node)) && of.is_some_and(|n| graph.kind(n) == NodeKind::Placeholder)
}

/// The input in whose memory a value lies, as one view after the other says.
fn begins_at(graph: &Graph, registry: &Registry, node: NodeId) -> Option<NodeId> {
    let mut at = analysis::place_of(graph, node);
    while graph.kind(at.node) == NodeKind::Call {
        let home = analysis::home_of(graph, registry, at);
        let [one] = home.as_slice() else { return None };
        at = one.place();
    }
    Some(at.node).filter(|n| graph.kind(*n) == NodeKind::Placeholder)
}

/// The views that lead from an input to a value.
fn chain(graph: &Graph, node: NodeId, is_view: &dyn Fn(&Graph, NodeId) -> bool) -> Vec<NodeId> {
    let (mut open, mut found) = (vec![node], Vec::new());
    while let Some(at) = open.pop() {
        if graph.kind(at) != NodeKind::Call || found.contains(&at) {
            continue;
        }
        let takes_item = graph.target(at) == "_operator.getitem";
        if is_view(graph, at)
            || takes_item
            || graph.users_in_order(at).iter().any(|u| graph.target(*u) == "_operator.getitem" && is_view(graph, *u))
        {
            found.push(at);
            open.extend(graph.operands(at));
        }
    }
    found
}

fn wrong<T>(what: String) -> Result<T, RaiseError> {
    Err(RaiseError::Host(what))
}

impl Raising<'_, '_> {
    /// Ends with what the host returns and writes.
    pub(super) fn finish(mut self, original: &Graph) -> Result<Raised, RaiseError> {
        let Some((output, values)) = returned(original) else { return wrong("the graph returns nothing".into()) };
        let outputs = self.net_outputs()?;
        self.check_attributes(&outputs)?;
        let mut copies: FxHashMap<usize, NodeId> = FxHashMap::default();
        let is_mutation: Vec<bool> = match &original.signature {
            Some(s) => s.outputs.iter().map(|o| o.kind.is_mutation()).collect(),
            None => vec![false; values.len()],
        };
        if self.host.fx_outputs.len() != values.len() || is_mutation.len() != values.len() {
            return wrong(format!("{} outputs, of which the host names {}", values.len(), self.host.fx_outputs.len()));
        }
        let mut replayed: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut items = Vec::new();
        for ((value, text), mutation) in values.iter().zip(&self.host.fx_outputs).zip(is_mutation) {
            if mutation {
                if text != "none" {
                    return wrong(format!("a write is returned as {text}"));
                }
                continue;
            }
            items.push(self.returned(original, value, text, (&outputs, &mut copies, &mut replayed))?);
        }
        self.write_back(&outputs)?;
        self.tell_of_shared_outputs();
        let is_bare = !matches!(original.args(output), [Arg::List(_) | Arg::Tuple(_)]);
        let arg = match (items.as_slice(), is_bare) {
            ([one], true) => one.clone(),
            _ => Arg::Tuple(items.into()),
        };
        let (target, name) = (self.b.graph.texts.intern("output"), original.name(output).to_string());
        let ty = ValueType::Unknown;
        let node = NewNode { kind: NodeKind::Output, target, args: Box::new([arg]), kwargs: Box::default(), ty };
        self.b.graph.push(BodyId::ROOT, &name, node);
        self.drop_unread();
        self.check_left_alone()?;
        let assumed = self.b.assumed.into_iter().collect();
        Ok(Raised { graph: self.b.graph, assumed, defined: self.defined })
    }

    /// What a call overwrites here and GE's operator leaves as it was, nothing else may read.
    fn check_left_alone(&self) -> Result<(), RaiseError> {
        let graph = &self.b.graph;
        match self.b.left_alone.iter().find(|(input, call)| graph.users_in_order(*input) != [*call]) {
            Some((input, call)) => {
                let (input, call) = (graph.name(*input), graph.name(*call));
                wrong(format!("`{input}`, which `{call}` overwrites and GE does not, is read elsewhere"))
            }
            None => Ok(()),
        }
    }

    /// Takes out what nothing reads: results of definitions that no edge carries on.
    fn drop_unread(&mut self) {
        let registry = self.b.registry();
        let nodes: Vec<NodeId> = self.b.graph.nodes(BodyId::ROOT).collect();
        for node in nodes.into_iter().rev() {
            let graph = &self.b.graph;
            let is_read = graph.users(node).is_some_and(|u| !u.is_empty());
            let does = |o: &Operator| o.effects.writes() || o.effects.side.is_some() || o.effects.random;
            let is_pure = graph.target(node) == "_operator.getitem"
                || registry.operator_of(graph, node).is_some_and(|o| !does(o));
            if graph.kind(node) == NodeKind::Call && !is_read && is_pure {
                self.b.graph.remove(node);
            }
        }
    }

    fn net_outputs(&mut self) -> Result<Vec<NodeId>, RaiseError> {
        let end = self.wires.end;
        let Some(inputs) = self.fed(end) else {
            return Err(RaiseError::Opaque { nodes: std::mem::take(&mut self.opaque) });
        };
        let mut outputs = Vec::new();
        for value in inputs {
            let Some(value) = value else { return wrong("NetOutput takes nothing in one place".into()) };
            let made = value.tensor(&mut self.b).map_err(|e| RaiseError::Host(e.0))?;
            outputs.push(made);
        }
        Ok(outputs)
    }

    fn returned(
        &mut self,
        original: &Graph,
        value: &Arg,
        text: &str,
        made: (&[NodeId], &mut FxHashMap<usize, NodeId>, &mut FxHashMap<NodeId, NodeId>),
    ) -> Result<Arg, RaiseError> {
        let (outputs, copies, replayed) = made;
        if let Some(place) = text.strip_prefix("ge:").and_then(|t| t.parse::<usize>().ok()) {
            let Some(node) = outputs.get(place) else { return wrong(format!("{text} is not there")) };
            if let Some(copy) = copies.get(&place) {
                return Ok(Arg::Node(*copy));
            }
            // What no rule tells, the graph that was lowered states: it is told on both sides, and judged so.
            if let (ValueType::Unknown, Some(said)) = (self.b.graph.ty(*node), value.as_node())
                && let ValueType::Tensor(said) = original.ty(said)
            {
                self.b.graph.set_type(*node, ValueType::Tensor(said.clone()));
            }
            let copy = self.b.call("aten.clone.default", vec![Arg::Node(*node)]).map_err(|e| RaiseError::Host(e.0))?;
            copies.insert(place, copy);
            return Ok(Arg::Node(copy));
        }
        let literal = !matches!(value, Arg::Node(_));
        match (text, value) {
            ("none", Arg::None) => return Ok(Arg::None),
            ("const", known) if literal => return Ok(known.clone()),
            _ => {}
        }
        let Some(node) = value.as_node() else { return wrong(format!("{text} for a constant")) };
        if text == "none" && matches!(original.ty(node), ValueType::None) {
            return Ok(Arg::None);
        }
        // A number that is known: the host computes it as the graph does.
        if text == "const"
            && let ValueType::SymInt(Dim::Fixed(known)) = original.ty(node)
        {
            // One of several results, of which GE has none: the number that the call gives, if there is that.
            if let ("_operator.getitem", [Arg::Node(of), Arg::Int(at)]) = (original.target(node), original.args(node)) {
                let (held, at) = (self.b.held.get(of).copied(), usize::try_from(*at).ok());
                let item = held.zip(at).map(|(call, at)| self.b.item(call, at)).transpose();
                let item = item.map_err(|e| RaiseError::Host(e.0))?;
                return Ok(item.map_or(Arg::Int(*known), Arg::Node));
            }
            return self.replay(original, node, replayed, &|o, n| matches!(o.ty(n), ValueType::SymInt(_)));
        }
        if let Some(said) = text.strip_prefix("sym:") {
            let is_said = match original.ty(node) {
                ValueType::SymInt(d) => original.symbols.print_python(*d) == said,
                _ => false,
            };
            if is_said {
                return self.replay(original, node, replayed, &|o, n| matches!(o.ty(n), ValueType::SymInt(_)));
            }
        }
        if let Some(input) = text.strip_prefix("view-of-input:").and_then(|t| t.parse::<usize>().ok()) {
            let in_pairs = is_input_in_pairs(original, node);
            let is_view = |o: &Graph, n: NodeId| {
                in_pairs && n == node || matches!(o.ty(n), ValueType::SymInt(_)) || is_view(o, self.b.registry(), n)
            };
            let views: Vec<NodeId> = chain(original, node, &is_view);
            let own = original.nodes(BodyId::ROOT).filter(|n| original.kind(*n) == NodeKind::Placeholder).nth(input);
            if own.is_none() || begins_at(original, self.b.registry(), node) != own {
                return wrong(format!("{text} for `{}`, which is no view of that", original.name(node)));
            }
            return self.replay(original, node, replayed, &|_, n| views.contains(&n));
        }
        wrong(format!("{text} for `{}`", original.name(node)))
    }

    /// What the host itself computes: views of inputs, and sizes. Anything else is refused.
    fn replay(
        &mut self,
        original: &Graph,
        node: NodeId,
        replayed: &mut FxHashMap<NodeId, NodeId>,
        allowed: &dyn Fn(&Graph, NodeId) -> bool,
    ) -> Result<Arg, RaiseError> {
        let placeholders: Vec<NodeId> =
            original.nodes(BodyId::ROOT).filter(|n| original.kind(*n) == NodeKind::Placeholder).collect();
        for (old, new) in placeholders.iter().zip(&self.inputs) {
            replayed.insert(*old, *new);
        }
        let mut open = vec![node];
        while let Some(&at) = open.last() {
            if replayed.contains_key(&at) {
                open.pop();
                continue;
            }
            if original.kind(at) != NodeKind::Call || !allowed(original, at) {
                return wrong(format!("`{}` is no view of an input, nor a size", original.name(at)));
            }
            // What gives its operand's own memory is that operand, one of several results too: writes are made elsewhere.
            let place = analysis::place_of(original, at);
            if let [Shares::Same(of)] = analysis::home_of(original, self.b.registry(), place).as_slice() {
                match replayed.get(&of.node).copied() {
                    Some(made) => {
                        replayed.insert(at, made);
                        open.pop();
                    }
                    None => open.push(of.node),
                }
                continue;
            }
            let missing: Vec<NodeId> = original.operands(at).filter(|n| !replayed.contains_key(n)).collect();
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            let mut map = |n: NodeId| replayed.get(&n).copied().unwrap_or(n);
            let args: Vec<Arg> = original.args(at).iter().map(|a| a.map_nodes(&mut map)).collect();
            let named: Vec<(&str, Arg)> =
                original.kwargs(at).iter().map(|(k, a)| (original.texts.text(*k), a.map_nodes(&mut map))).collect();
            let target = original.target(at).to_string();
            let asked = args.first().and_then(Arg::as_node).filter(|_| TELL.contains(&&*target));
            if let Some(tensor) = asked {
                let told = self.b.told(tensor).map_err(|e| RaiseError::Host(e.0))?;
                replayed.extend(told.as_node().map(|told| (at, told)));
                open.pop();
                continue;
            }
            let made = self.b.call_with(&target, args, named).map_err(|e| RaiseError::Host(e.0))?;
            replayed.insert(at, made);
            open.pop();
        }
        Ok(replayed.get(&node).copied().map_or(Arg::None, Arg::Node))
    }

    /// Names what is taken for granted of outputs that are given an input's memory to be made in: nothing orders who makes them against who reads
    /// the input, and one that is returned, too, is returned in that memory.
    fn tell_of_shared_outputs(&mut self) {
        let data = |input: usize| {
            self.ge.op.iter().position(|op| {
                op.attr.get("index").and_then(|a| a.as_i()).is_some_and(|i| usize::try_from(i) == Ok(input))
                    && matches!(op.r#type, "Data" | "RefData")
            })
        };
        let mut told = Vec::new();
        for (place, input) in &self.host.output_ref_input {
            let made =
                place.parse::<usize>().ok().and_then(|p| self.wires.data.get(self.wires.end)?.get(p).copied()?);
            let (Some((maker, _)), Some(memory)) = (made, data(*input)) else { continue };
            let earlier = self.wires.before(maker);
            let reads = |(reader, data): (usize, &Vec<Option<(usize, usize)>>)| {
                reader != self.wires.end && data.contains(&Some((memory, 0))) && earlier.get(reader) != Some(&true)
            };
            if maker != memory && self.wires.data.iter().enumerate().any(reads) {
                told.push(format!("output {place} is not made in the memory of input {input} before that is read"));
            }
            for (other, passed) in self.passed_on((memory, 0)) {
                if other.to_string() != *place {
                    let by = self.ge.op.get(passed).map_or("", |op| op.r#type);
                    told.push(format!(
                        "output {other}, which {by} passes on of input {input}, is what that held before output {place} is made in its memory"
                    ));
                }
            }
            if self.host.fx_outputs.contains(&format!("ge:{place}")) {
                told.push(format!(
                    "output {place}, which is written into input {input}, is returned in memory of its own"
                ));
            }
        }
        self.b.assumed.extend(told);
    }

    /// Outputs whose memory is an input's.
    fn write_back(&mut self, outputs: &[NodeId]) -> Result<(), RaiseError> {
        for (place, input) in &self.host.output_ref_input {
            let output = place.parse::<usize>().ok().and_then(|p| outputs.get(p)).copied();
            let from = self.host.ge_inputs.get(*input).map_or("", String::as_str);
            let from = from.strip_prefix("contiguous(").and_then(|f| f.strip_suffix(')')).unwrap_or(from);
            let fx = from.strip_prefix("fx:").and_then(|i| i.parse::<usize>().ok()).and_then(|i| self.inputs.get(i));
            let (Some(output), Some(fx)) = (output, fx.copied()) else {
                return wrong(format!("output {place} is written into input {input}, which is not there"));
            };
            if output != fx {
                let args = vec![Arg::Node(fx), Arg::Node(output)];
                self.b.call("aten.copy_.default", args).map_err(|e| RaiseError::Host(e.0))?;
            }
        }
        Ok(())
    }
}
