//! Graphs as terms of an e-graph (Willsey et al., "egg: Fast and Extensible Equality Saturation", POPL 2021).
//!
//! Promises: two terms have one head where their calls are written alike, operands aside; a call that does more than give a value is a leaf of its own, the same in two graphs
//! where it is the same call on the same operands for the same time; each class that can be typed knows a node of that type.

use std::sync::Arc;

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::UserRule;
use crate::editor::{Editor, NewCall, Point};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::Registry;

/// A call on classes, or a leaf.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term {
    pub(super) head: u32,
    pub(super) operands: SmallVec<[Id; 4]>,
}

impl Language for Term {
    type Discriminant = u32;

    fn discriminant(&self) -> u32 {
        self.head
    }

    fn matches(&self, other: &Self) -> bool {
        self.head == other.head && self.operands.len() == other.operands.len()
    }

    fn children(&self) -> &[Id] {
        &self.operands
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.operands
    }
}

/// What terms begin with. The operands of a call stand in it as positions.
#[derive(Default)]
pub(super) struct Heads {
    of_text: FxHashMap<String, u32>,
    calls: Vec<Option<NewCall>>,
}

impl Heads {
    fn head(&mut self, text: String, call: Option<NewCall>) -> u32 {
        let new = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        *self.of_text.entry(text).or_insert_with(|| {
            self.calls.push(call);
            new
        })
    }

    /// Returns the head of a call, and its operands in order.
    pub(super) fn of_call(&mut self, graph: &dyn View, node: NodeId) -> (u32, Vec<NodeId>) {
        let mut operands = Vec::new();
        let mut position = |operand| {
            operands.push(operand);
            NodeId::new_in_batch(u32::try_from(operands.len().saturating_sub(1)).unwrap_or(u32::MAX))
        };
        let args = graph.args(node).iter().map(|a| a.map_nodes(&mut position)).collect();
        let named = graph.kwargs(node).iter();
        let kwargs = named.map(|(k, a)| (graph.texts().text(*k).to_string(), a.map_nodes(&mut position))).collect();
        let call = NewCall { target: graph.target(node).into(), args, kwargs, name: None };
        (self.head(format!("{call:?}"), Some(call)), operands)
    }

    /// Returns whether a head is that of a call.
    pub(super) fn is_call(&self, head: u32) -> bool {
        self.calls.get(head as usize).is_some_and(Option::is_some)
    }

    /// Returns the call of a head on these operands; `None` for a leaf.
    pub(super) fn call(&self, head: u32, operands: &[NodeId]) -> Option<NewCall> {
        let call = self.calls.get(head as usize)?.as_ref()?;
        let mut operand =
            |at: NodeId| at.batch_position().and_then(|k| operands.get(k as usize)).copied().unwrap_or(at);
        let args = call.args.iter().map(|a| a.map_nodes(&mut operand)).collect();
        let kwargs = call.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut operand))).collect();
        Some(NewCall { args, kwargs, ..call.clone() })
    }
}

/// Which node has the type of a class: of the first graph, or of what was put at its end.
pub(super) struct Typed {
    pub(super) heads: Heads,
    pub(super) rules: Arc<[UserRule]>,
    /// The rules that joined something, and where.
    pub(super) joined: Vec<(usize, Id)>,
    pub(super) graph: Editor,
    given: Option<NodeId>,
}

impl Analysis<Term> for Typed {
    type Data = Option<NodeId>;

    fn make(terms: &mut EGraph<Term, Self>, term: &Term, _: Id) -> Self::Data {
        if let Some(node) = terms.analysis.given.take() {
            return Some(node);
        }
        let operands: Option<Vec<NodeId>> = term.operands.iter().map(|id| terms[*id].data).collect();
        let call = terms.analysis.heads.call(term.head, &operands?)?;
        terms.analysis.graph.insert(Point::End(BodyId::ROOT), call).ok()
    }

    fn merge(&mut self, first: &mut Self::Data, second: Self::Data) -> DidMerge {
        let old = *first;
        *first = first.or(second);
        DidMerge(*first != old, *first != second)
    }
}

/// A graph in an e-graph: the class of each of its nodes, and the term that it is.
#[derive(Default)]
pub(super) struct Side {
    terms: FxHashMap<NodeId, (Term, Id)>,
}

impl Side {
    /// Returns the class of a node, as it was when it was added.
    pub(super) fn class(&self, node: NodeId) -> Option<Id> {
        self.terms.get(&node).map(|(_, class)| *class)
    }

    /// Returns the term that a node is, as it was when it was added.
    pub(super) fn term(&self, node: NodeId) -> Option<&Term> {
        self.terms.get(&node).map(|(term, _)| term)
    }

    /// Returns the heads of what has no operands: what only this graph's own nodes give is among them.
    pub(super) fn leaves(&self) -> impl Iterator<Item = u32> {
        self.terms.values().filter(|(term, _)| term.operands.is_empty()).map(|(term, _)| term.head)
    }
}

/// Classes of terms that rules make equal.
pub(super) type Terms = EGraph<Term, Typed>;

impl Typed {
    /// Begins with the first graph.
    pub(super) fn new(before: &Graph, rules: Arc<[UserRule]>, registry: &Registry, most: usize) -> Self {
        let mut graph = Editor::new(before.clone(), Arc::new(registry.clone()));
        graph.limit_nodes(before.len().saturating_add(most));
        Typed { heads: Heads::default(), rules, joined: Vec::new(), graph, given: None }
    }
}

/// Adds a graph; the first one is that of whose nodes the types are.
pub(super) fn add(terms: &mut Terms, graph: &Graph, is_first: bool, registry: &Registry) -> Side {
    let mut side = Side::default();
    let mut times: FxHashMap<String, u32> = FxHashMap::default();
    let mut inputs = 0_u32;
    for node in graph.nodes(BodyId::ROOT) {
        let heads = &mut terms.analysis.heads;
        let ty = told(graph.ty(node));
        let leaf = |heads: &mut Heads, text: String| {
            let head = heads.head(format!("{text}: {ty}"), None);
            Term { head, operands: SmallVec::new() }
        };
        let term = match graph.kind(node) {
            NodeKind::Output => continue,
            NodeKind::Placeholder => {
                inputs = inputs.saturating_add(1);
                leaf(heads, format!("input {inputs}"))
            }
            NodeKind::GetAttr => leaf(heads, format!("attribute {}", graph.target(node))),
            NodeKind::Call => {
                let (head, operands) = heads.of_call(graph, node);
                let classes: SmallVec<[Id; 4]> = operands.iter().filter_map(|n| side.class(*n)).collect();
                if gives_a_value(graph, node, registry) && classes.len() == operands.len() {
                    Term { head, operands: classes }
                } else {
                    let text = format!("{head} of {classes:?}");
                    let time = times.entry(text.clone()).or_default();
                    *time = time.saturating_add(1);
                    leaf(heads, format!("{text}, time {time}"))
                }
            }
        };
        terms.analysis.given = is_first.then_some(node);
        let class = terms.add(term.clone());
        terms.analysis.given = None;
        side.terms.insert(node, (term, class));
    }
    side
}

/// What a leaf must be in both graphs to be one: the types of one of them are asked for.
fn told(ty: &ValueType) -> String {
    let sizes = |t: &TensorType| t.sizes.iter().map(|size| size.fixed()).collect::<Vec<_>>();
    ty.as_tensor()
        .map_or_else(|| format!("{:?}", std::mem::discriminant(ty)), |t| format!("{:?}{:?}", t.dtype, sizes(t)))
}

fn gives_a_value(graph: &Graph, node: NodeId, registry: &Registry) -> bool {
    crate::analysis::getitem_of(graph, node).is_some()
        || registry.operator_of(graph, node).is_some_and(|o| o.effects.is_pure())
}
