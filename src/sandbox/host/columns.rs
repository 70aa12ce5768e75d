//! A whole graph in flat lists.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::super::bindings::airlock::pass::graph::Columns;
use super::args::Words;
use super::state::Texts;
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, StrId, View};

/// From here on an operand is an index into `literals`.
const LITERAL: u64 = 1 << 63;

/// Returns the columns of a body; all empty for one that does not exist.
pub(super) fn read(graph: &Graph, body: BodyId, texts: &mut Texts, words: &mut Words) -> Columns {
    let len = graph.body_len(body);
    let mut columns = Columns {
        ids: Vec::with_capacity(len),
        kinds: Vec::with_capacity(len),
        targets: Vec::with_capacity(len),
        starts: Vec::with_capacity(len.saturating_add(1)),
        operands: Vec::new(),
        kw_starts: Vec::with_capacity(len.saturating_add(1)),
        kw_names: Vec::new(),
        kw_operands: Vec::new(),
        literals: Vec::new(),
        texts: Vec::new(),
    };
    if graph.first(body).is_none() {
        return columns;
    }
    let mut literals = Literals { words, indices: HashMap::new(), given: Vec::new() };
    columns.starts.push(0);
    columns.kw_starts.push(0);
    for n in graph.nodes(body) {
        columns.ids.push(n.to_bits());
        columns.kinds.push(kind_number(graph.kind(n)));
        columns.targets.push(texts.number(target_of(graph, n)));
        columns.operands.extend(args_of(graph, n).iter().map(|a| literals.operand(a)));
        columns.starts.push(length(columns.operands.len()));
        for (key, value) in graph.kwargs(n) {
            columns.kw_names.push(texts.number(*key));
            columns.kw_operands.push(literals.operand(value));
        }
        columns.kw_starts.push(length(columns.kw_operands.len()));
    }
    columns.literals = literals.given;
    columns.texts = texts.all(graph.texts());
    columns
}

/// Returns the text that the contract calls the node's target.
pub(super) fn target_of(graph: &Graph, n: NodeId) -> StrId {
    match graph.kind(n) {
        NodeKind::Placeholder => graph.name_id(n),
        NodeKind::Call | NodeKind::GetAttr | NodeKind::Output => graph.target_id(n),
    }
}

/// Returns the positional arguments as the contract has them: those of an output are the values that it returns.
pub(super) fn args_of(graph: &Graph, n: NodeId) -> &[Arg] {
    let args = graph.args(n);
    match (graph.kind(n), args) {
        (NodeKind::Output, [only]) => only.items().unwrap_or(args),
        _ => args,
    }
}

/// Returns the position of a kind in the contract's `node-kind`.
fn kind_number(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Placeholder => 0,
        NodeKind::Call => 1,
        NodeKind::GetAttr => 2,
        NodeKind::Output => 3,
    }
}

fn length(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

struct Literals<'a> {
    words: &'a mut Words,
    // Keyed by the standard hash: a model that is made to collide must not cost more than another.
    indices: HashMap<Key<'a>, u64>,
    given: Vec<super::super::bindings::airlock::pass::types::Arg>,
}

impl<'a> Literals<'a> {
    fn operand(&mut self, arg: &'a Arg) -> u64 {
        if let Arg::Node(n) = arg {
            return n.to_bits();
        }
        let Self { words, indices, given } = self;
        let index = *indices.entry(Key(arg)).or_insert_with(|| {
            given.push(words.give(arg));
            u64::from(length(given.len()).saturating_sub(1))
        });
        LITERAL | index
    }
}

/// An argument by its bits, as [`Arg`]'s equality has it.
#[derive(PartialEq, Eq)]
struct Key<'a>(&'a Arg);

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self.0).hash(state);
        match self.0 {
            Arg::None => {}
            Arg::Node(n) => n.hash(state),
            Arg::Int(v) => v.hash(state),
            Arg::Float(v) => v.to_bits().hash(state),
            Arg::Complex(re, im) => (re.to_bits(), im.to_bits()).hash(state),
            Arg::Bool(v) => v.hash(state),
            Arg::Str(t) | Arg::Operator(t) | Arg::Other(t) => t.hash(state),
            Arg::Dtype(v) => v.hash(state),
            Arg::Device(v) => v.hash(state),
            Arg::Layout(v) => v.hash(state),
            Arg::MemoryFormat(v) => v.hash(state),
            Arg::List(items) | Arg::Tuple(items) => {
                items.len().hash(state);
                items.iter().for_each(|a| Key(a).hash(state));
            }
            Arg::Dict(items) => {
                items.len().hash(state);
                items.iter().for_each(|(k, a)| (k, Key(a)).hash(state));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{NewNode, ValueType};

    fn node(g: &mut Graph, kind: NodeKind, name: &str, target: &str, args: &[Arg], kwargs: &[(&str, Arg)]) -> NodeId {
        let target = g.texts.intern(target);
        let kwargs = kwargs.iter().map(|(k, a)| (g.texts.intern(k), a.clone())).collect();
        let new = NewNode { kind, target, args: args.into(), kwargs, ty: ValueType::Unknown };
        g.push(BodyId::ROOT, name, new)
    }

    #[test]
    fn columns_hold_nodes_arguments_and_texts() {
        let mut g = Graph::new();
        let x = node(&mut g, NodeKind::Placeholder, "x_1", "x", &[], &[]);
        let one = Arg::Int(1);
        let add = node(&mut g, NodeKind::Call, "add", "aten.add.Tensor", &[x.into(), one.clone()], &[("alpha", one)]);
        let returned = Arg::Tuple(Box::new([add.into(), Arg::None]));
        let out = node(&mut g, NodeKind::Output, "output", "output", &[returned], &[]);
        let c = read(&g, BodyId::ROOT, &mut Texts::default(), &mut Words::default());
        assert_eq!(c.ids, [x, add, out].map(NodeId::to_bits));
        assert_eq!(c.kinds, [0, 1, 3]);
        assert_eq!(
            c.targets.iter().map(|t| c.texts[*t as usize].as_str()).collect::<Vec<_>>(),
            ["x_1", "aten.add.Tensor", "output"]
        );
        assert_eq!(c.starts, [0, 0, 2, 4]);
        assert_eq!(c.operands, [x.to_bits(), LITERAL, add.to_bits(), LITERAL + 1]);
        assert_eq!((c.kw_starts.as_slice(), c.kw_operands.as_slice()), (&[0, 0, 1, 1][..], &[LITERAL][..]));
        assert_eq!(c.texts[c.kw_names[0] as usize], "alpha");
        assert_eq!(c.literals.len(), 2);
    }

    #[test]
    fn a_graph_that_does_not_exist_has_empty_columns() {
        let c = read(&Graph::new(), BodyId(9), &mut Texts::default(), &mut Words::default());
        assert!(c.ids.is_empty() && c.starts.is_empty() && c.texts.is_empty());
    }

    #[test]
    fn zeros_of_different_sign_are_different_literals() {
        let mut literals = HashMap::new();
        literals.insert(Key(&Arg::Float(0.0)), ());
        assert!(!literals.contains_key(&Key(&Arg::Float(-0.0))));
        assert!(!literals.contains_key(&Key(&Arg::Int(0))));
    }
}
