//! Decomposing a call: operands become inputs of a graph of its own, the builder runs, results are held against the type rule.
//!
//! Promises: the results of an [`Expansion`] have the dtypes and sizes that the operator's own rule gives, and its strides where the rule
//! states them (a result of fresh memory that lies otherwise is copied; what cannot be laid out so is refused); the graph has the operands
//! as placeholders in order of first use, calls in order, and one output node. Its symbols are the caller's.

use rustc_hash::FxHashMap;

use super::builder::{Builder, args};
use super::derived::{self, Derived};
use super::meaning;
use super::{Exactness, table};
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType, View};
use crate::ops::error::{CallFault, TypeError};
use crate::ops::registry::Registry;
use crate::ops::registry::operator::Operator;
use crate::ops::typing::call::Call;
use crate::ops::typing::infer::CallSite;
use crate::ops::typing::layout;
use crate::ops::typing::sizes;
use crate::sym::{Dim, Symbols};

/// A call in more basic calls.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// Placeholders for the operands, calls, one output whose only argument stands for the results: one value, a tuple, or an empty tuple.
    pub graph: Graph,
    /// The caller's nodes that the placeholders stand for, in order.
    pub inputs: Vec<NodeId>,
    /// How far the values are those of the operator's own kernel.
    pub exactness: Exactness,
}

impl Expansion {
    /// Returns what stands for the results, one an element.
    pub fn results(&self) -> &[Arg] {
        let output = self.graph.output(BodyId::ROOT).map_or(&[][..], |n| self.graph.args(n));
        match output.first() {
            Some(Arg::Tuple(all)) => all,
            _ => output,
        }
    }

    /// Returns the calls in order.
    pub fn calls(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.graph.nodes(BodyId::ROOT).filter(|n| self.graph.kind(*n) == NodeKind::Call)
    }

    /// Appends the calls to `body` of the caller's graph, before `before` (`None`: at the end), and returns what stands for the results.
    pub fn inline(&self, graph: &mut Graph, body: BodyId, before: Option<NodeId>) -> Vec<Arg> {
        let mut places: FxHashMap<NodeId, Arg> = FxHashMap::default();
        let mut inputs = self.inputs.iter();
        for node in self.graph.nodes(BodyId::ROOT) {
            match self.graph.kind(node) {
                NodeKind::Placeholder => {
                    places.extend(inputs.next().map(|host| (node, Arg::Node(*host))));
                }
                NodeKind::Call => {
                    let args = self.graph.args(node).iter().map(|a| substitute(a, &places)).collect();
                    let kwargs = self.graph.kwargs(node).iter();
                    let kwargs =
                        kwargs.map(|(k, a)| (graph.texts.intern(self.graph.texts.text(*k)), substitute(a, &places)));
                    let kwargs = kwargs.collect();
                    let target = graph.texts.intern(self.graph.target(node));
                    let ty = self.graph.ty(node).clone();
                    let name = graph.free_name(body, self.graph.name(node));
                    let new = NewNode { kind: NodeKind::Call, target, args, kwargs, ty };
                    places.insert(node, Arg::Node(graph.insert(body, before, &name, new)));
                }
                NodeKind::GetAttr | NodeKind::Output => {}
            }
        }
        self.results().iter().map(|a| substitute(a, &places)).collect()
    }
}

/// Returns the argument with nodes replaced. Depth is bounded, as arguments are.
pub(super) fn substitute(arg: &Arg, places: &FxHashMap<NodeId, Arg>) -> Arg {
    let each = |items: &[Arg]| items.iter().map(|a| substitute(a, places)).collect();
    match arg {
        Arg::Node(n) => places.get(n).cloned().unwrap_or(Arg::None),
        Arg::List(items) => Arg::List(each(items)),
        Arg::Tuple(items) => Arg::Tuple(each(items)),
        Arg::Dict(items) => Arg::Dict(items.iter().map(|(k, a)| (k.clone(), substitute(a, places))).collect()),
        other => other.clone(),
    }
}

impl Registry {
    /// Returns how far the decomposition of an operator is its own kernel's function; `None` where it has no decomposition.
    pub fn exactness(&self, operator: &Operator) -> Option<Exactness> {
        if operator.body.is_some() {
            return Some(Exactness::Exact);
        }
        match table::entry(&operator.target) {
            Some(entry) => Some(entry.exactness),
            None => derived::of(self, operator).map(|_| Exactness::Exact),
        }
    }

    /// Returns whether an operator is said as its functional form and `copy_`: an in-place or out form without a decomposition of its own.
    pub fn is_written_form(&self, operator: &Operator) -> bool {
        table::entry(&operator.target).is_none()
            && matches!(derived::of(self, operator), Some(Derived::InPlace(_) | Derived::Out(_)))
    }

    /// Returns a call in more basic calls: by the operator's meaning (operator files), by the table of its family, or as the functional
    /// form and `copy_`. `None`: it has no decomposition. `view` gives the types of operands, `symbols` are its graph's.
    ///
    /// Errors: arguments that do not fit, and [`CallFault::Unsupported`] for a form of the call that the decomposition does not cover.
    pub fn decompose(
        &self,
        view: &dyn View,
        symbols: &mut Symbols,
        site: CallSite<'_>,
    ) -> Result<Option<Expansion>, TypeError> {
        self.decompose_laid_out(view, symbols, site, true)
    }

    fn decompose_laid_out(
        &self,
        view: &dyn View,
        symbols: &mut Symbols,
        site: CallSite<'_>,
        lays_out: bool,
    ) -> Result<Option<Expansion>, TypeError> {
        let of = |fault: CallFault| fault.of(site.target);
        let (operator, given) = {
            let call = self.bind(view, symbols, site).map_err(of)?;
            if !call.bound.extra.is_empty() {
                return Ok(None);
            }
            let params = call.operator.schema.params.len();
            let operator = self.get(&call.operator.target).ok_or(CallFault::Opaque).map_err(of)?;
            (operator, (0..params).map(|i| call.arg(i).clone()).collect::<Vec<_>>())
        };
        let Some(exactness) = self.exactness(operator) else { return Ok(None) };
        self.expand(view, symbols, operator, &given, (exactness, lays_out)).map(Some)
    }

    fn expand(
        &self,
        view: &dyn View,
        symbols: &mut Symbols,
        operator: &Operator,
        given: &[Arg],
        (exactness, lays_out): (Exactness, bool),
    ) -> Result<Expansion, TypeError> {
        let (mut graph, inputs, args) = begin(view, given);
        graph.symbols = std::mem::take(symbols);
        let mut builder = Builder::new(self, operator, graph, args);
        builder.lays_out = lays_out;
        let made = self.build(&builder, operator).and_then(|results| settle(&builder, results));
        let (mut graph, fault) = builder.finish();
        let result = match (fault, made) {
            (Some(fault), _) => Err(fault),
            (None, made) => made.map_err(|fault| fault.of(&operator.target)),
        };
        match result {
            Ok(results) => {
                symbols.clone_from(&graph.symbols);
                end(&mut graph, results);
                Ok(Expansion { graph, inputs, exactness })
            }
            Err(error) => {
                *symbols = std::mem::take(&mut graph.symbols);
                Err(error)
            }
        }
    }

    /// Returns the call that a node of `graph` is in more basic calls; see [`Registry::decompose`].
    pub fn decompose_node(&self, graph: &mut Graph, node: NodeId) -> Result<Option<Expansion>, TypeError> {
        let mut symbols = std::mem::take(&mut graph.symbols);
        let expansion = self.decompose(graph, &mut symbols, CallSite::of(graph, node));
        graph.symbols = symbols;
        expansion
    }

    /// Returns the same where results may lie in memory as they come: for those to whom a tensor has no strides.
    pub fn decompose_values(&self, graph: &mut Graph, node: NodeId) -> Result<Option<Expansion>, TypeError> {
        let mut symbols = std::mem::take(&mut graph.symbols);
        let expansion = self.decompose_laid_out(graph, &mut symbols, CallSite::of(graph, node), false);
        graph.symbols = symbols;
        expansion
    }

    fn build(&self, builder: &Builder<'_>, operator: &Operator) -> Result<Vec<Arg>, CallFault> {
        if let Some(body) = &operator.body {
            return meaning::build(builder, body);
        }
        match (table::entry(&operator.target), derived::of(self, operator)) {
            (Some(entry), _) => {
                builder.only_own_types()?;
                (entry.build)(builder)
            }
            (None, Some(form)) => form.build(builder),
            (None, None) => Err(CallFault::NoRule),
        }
    }
}

/// Returns the type of a call of an operator without rule: that of its meaning, or of its decomposition.
pub fn result_type(c: &mut Call<'_>) -> Result<ValueType, CallFault> {
    let exactness = c.registry.exactness(c.operator).ok_or(CallFault::NoRule)?;
    let given: Vec<Arg> = (0..c.operator.schema.params.len()).map(|i| c.arg(i).clone()).collect();
    let expansion =
        c.registry.expand(c.view, c.symbols, c.operator, &given, (exactness, true)).map_err(|e| *e.fault)?;
    let ty = |a: &Arg| match a {
        Arg::Node(n) => expansion.graph.ty(*n).clone(),
        Arg::Int(v) => ValueType::SymInt(Dim::Fixed(*v)),
        _ => ValueType::Unknown,
    };
    let list = |a: &Arg| a.items().map(|items| ValueType::Many(items.iter().map(ty).collect()));
    let results: Vec<ValueType> = expansion.results().iter().map(|a| list(a).unwrap_or_else(|| ty(a))).collect();
    Ok(match <[ValueType; 1]>::try_from(results) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => ValueType::None,
        Err(several) => ValueType::Many(several.into()),
    })
}

/// Returns a graph with the operands as placeholders, the nodes that they stand for, and the arguments in terms of the placeholders.
fn begin(view: &dyn View, given: &[Arg]) -> (Graph, Vec<NodeId>, Vec<Arg>) {
    let mut graph = Graph::new();
    let mut places = FxHashMap::default();
    let mut inputs = Vec::new();
    for node in given.iter().flat_map(Arg::nodes) {
        if places.contains_key(&node) {
            continue;
        }
        let ty = match view.ty(node) {
            ValueType::Other(name) => ValueType::Other(graph.texts.intern(view.texts().text(*name))),
            known => known.clone(),
        };
        let (name, kind) = (view.name(node), NodeKind::Placeholder);
        let target: StrId = graph.texts.intern(name);
        let new = NewNode { kind, target, args: Box::default(), kwargs: Box::default(), ty };
        places.insert(node, Arg::Node(graph.push(BodyId::ROOT, name, new)));
        inputs.push(node);
    }
    let args = given.iter().map(|a| substitute(a, &places)).collect();
    (graph, inputs, args)
}

fn end(graph: &mut Graph, mut results: Vec<Arg>) {
    let value = if results.len() == 1 { results.pop().unwrap_or(Arg::None) } else { Arg::Tuple(results.into()) };
    let target = graph.texts.intern("output");
    let args = Box::new([value]);
    let node = NewNode { kind: NodeKind::Output, target, args, kwargs: Box::default(), ty: ValueType::Unknown };
    graph.push(BodyId::ROOT, "output", node);
}

/// Holds results against the operator's own rule, and lays them out as it says.
fn settle(b: &Builder<'_>, results: Vec<Arg>) -> Result<Vec<Arg>, CallFault> {
    if b.operator().rule.is_none() {
        return Ok(results);
    }
    let wanted = match b.own_type()? {
        ValueType::Many(all) if b.operator().schema.returns.len() != 1 => all.to_vec(),
        ValueType::None => Vec::new(),
        one => vec![one],
    };
    if wanted.len() != results.len() {
        return Err(b.unsupported("another number of results"));
    }
    results.into_iter().zip(&wanted).enumerate().map(|(k, (result, wanted))| laid_out(b, k, result, wanted)).collect()
}

fn laid_out(b: &Builder<'_>, k: usize, result: Arg, wanted: &ValueType) -> Result<Arg, CallFault> {
    match (&result, wanted) {
        (Arg::Node(n), ValueType::Tensor(wanted)) => match b.tensor_type(*n) {
            Some(found) => tensor_laid_out(b, k, *n, &found, wanted),
            None => Err(b.unsupported("a result that is no tensor")),
        },
        (Arg::List(items), ValueType::Many(all)) if items.len() == all.len() => {
            let each = items.iter().zip(all.iter()).map(|(i, w)| laid_out(b, k, i.clone(), w));
            Ok(Arg::List(each.collect::<Result<_, _>>()?))
        }
        _ => Ok(result),
    }
}

fn tensor_laid_out(
    b: &Builder<'_>,
    k: usize,
    n: NodeId,
    found: &TensorType,
    wanted: &TensorType,
) -> Result<Arg, CallFault> {
    let same = found.dtype == wanted.dtype
        && found.rank() == wanted.rank()
        && !b.decide(|s| found.sizes.iter().zip(&wanted.sizes).any(|(x, y)| sizes::differ(s, *x, *y)));
    if !same {
        let show = |t: &TensorType| b.decide(|s| t.print(s));
        return Err(b.unsupported(format!("result {k} of type {}, not {}", show(found), show(wanted))));
    }
    let (Some(have), Some(want)) = (&found.strides, &wanted.strides) else { return Ok(n.into()) };
    let aliases = b.operator().effects.returns.get(k).is_some_and(|r| !r.is_empty()) || !b.lays_out;
    if b.decide(|s| sizes::all_same(s, have, want)) || aliases {
        return Ok(n.into());
    }
    for format in [crate::graph::MemoryFormat::Contiguous, crate::graph::MemoryFormat::ChannelsLast] {
        let strides = b.decide(|s| layout::of_format(s, &wanted.sizes, format))?;
        if b.decide(|s| sizes::all_same(s, &strides, want)) {
            return Ok(b.op("clone", args![n; memory_format = Arg::MemoryFormat(format)]).into());
        }
    }
    // Any other dense layout: a copy with its dimensions in the order of its strides, seen in their own order.
    permuted_copy(b, n, wanted).ok_or_else(|| b.unsupported(format!("result {k} in another layout")))
}

fn permuted_copy(b: &Builder<'_>, n: NodeId, wanted: &TensorType) -> Option<Arg> {
    let strides: Option<Vec<i64>> = wanted.strides.as_ref()?.iter().map(|d| d.fixed()).collect();
    let strides = strides?;
    let mut order: Vec<usize> = (0..strides.len()).collect();
    order.sort_by_key(|d| std::cmp::Reverse(strides.get(*d).copied()));
    let back: Vec<i64> =
        (0..order.len()).filter_map(|d| order.iter().position(|o| *o == d)).map(super::builder::signed).collect();
    let there: Vec<i64> = order.iter().map(|d| super::builder::signed(*d)).collect();
    let moved = b.value(n).permute(&there).copy().permute(&back);
    let found = moved.ty()?;
    let same = b.decide(|s| sizes::all_same(s, found.strides.as_ref()?, wanted.strides.as_ref()?).then_some(()));
    same.map(|()| moved.into())
}
