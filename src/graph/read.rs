//! Reading a graph: as it is, or (through the editor's `Before`) as it was.
//!
//! Accessors given a stale id answer with something empty and never panic; whoever takes ids from outside asks
//! [`View::contains`] first.

use std::iter::Map;
use std::ops::Range;
use std::slice::Iter;

use super::entry::text_under;
use super::order::NONE;
use super::{
    Arg, BodyId, Graph, Hearsay, Interner, Link, NodeId, NodeKind, NodesIn, Row, Signature, StrId, Users, ValueType,
};
use crate::sym::Symbols;

static UNKNOWN: ValueType = ValueType::Unknown;

/// A graph that can be read: the graph as it is, or as it was before an edit.
pub trait View {
    /// Returns the view as one of any kind: what walks it is one type.
    fn as_view(&self) -> &dyn View;
    /// Returns the texts that [`StrId`]s stand for.
    fn texts(&self) -> &Interner;
    /// Returns the symbolic sizes.
    fn symbols(&self) -> &Symbols;
    /// Returns the calling convention.
    fn signature(&self) -> Option<&Signature>;
    /// Returns whether the node is here.
    fn contains(&self, id: NodeId) -> bool;
    /// Returns the first node of a body.
    fn first(&self, body: BodyId) -> Option<NodeId>;
    /// Returns the last node of a body: its output, in a well-formed graph.
    fn last(&self, body: BodyId) -> Option<NodeId>;
    /// Returns the node after this one.
    fn next(&self, id: NodeId) -> Option<NodeId>;
    /// Returns the node before this one.
    fn previous(&self, id: NodeId) -> Option<NodeId>;
    /// Returns the body in which the node stands, and its order label there.
    fn place(&self, id: NodeId) -> Option<(BodyId, u64)>;
    /// Returns the kind.
    fn kind(&self, id: NodeId) -> NodeKind;
    /// Returns the target.
    fn target_id(&self, id: NodeId) -> StrId;
    /// Returns the name.
    fn name_id(&self, id: NodeId) -> StrId;
    /// Returns the positional arguments.
    fn args(&self, id: NodeId) -> &[Arg];
    /// Returns the keyword arguments.
    fn kwargs(&self, id: NodeId) -> &[(StrId, Arg)];
    /// Returns the type.
    fn ty(&self, id: NodeId) -> &ValueType;
    /// Returns what of the type is somebody's word.
    fn hearsay(&self, id: NodeId) -> Hearsay;
    /// Returns the users, each once, in program order.
    fn users_in_order(&self, id: NodeId) -> Vec<NodeId>;
    /// Returns every target that a call has, or had since the graph was made: a few, each once.
    fn targets(&self) -> &[StrId];
    /// Returns whether any node names an attribute, or did since the graph was made.
    fn names_attributes(&self) -> bool;
    /// Returns how many bodies there are; their ids are `0..count`.
    fn body_count(&self) -> usize;
    /// Returns whether there are inputs that lie row by row only because nobody states their strides.
    fn assumes_contiguous(&self) -> bool;
    /// Returns the name of a body.
    fn body_name(&self, body: BodyId) -> &str;
    /// Returns the body that holds this one.
    fn body_parent(&self, body: BodyId) -> Option<BodyId>;

    /// Returns the target's text: `aten.mm.default`.
    fn target(&self, id: NodeId) -> &str {
        self.texts().text(self.target_id(id))
    }

    /// Returns the name's text.
    fn name(&self, id: NodeId) -> &str {
        self.texts().text(self.name_id(id))
    }

    /// Returns the nodes of a body in order.
    fn nodes(&self, body: BodyId) -> Nodes<'_> {
        Nodes { view: self.as_view(), next: self.first(body) }
    }

    /// Returns every node that the arguments name, in written order, with repetitions.
    fn operands(&self, id: NodeId) -> Operands<'_> {
        Operands::of(self.args(id), self.kwargs(id))
    }

    /// Returns the keyword argument of that name.
    fn kwarg(&self, id: NodeId, key: &str) -> Option<&Arg> {
        let key = self.texts().find(key)?;
        self.kwargs(id).iter().find(|(k, _)| *k == key).map(|(_, a)| a)
    }

    /// Returns whether `a` stands before `b` in one body.
    fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        match (self.place(a), self.place(b)) {
            (Some((body_a, a)), Some((body_b, b))) => body_a == body_b && a < b,
            _ => false,
        }
    }

    /// Returns the output node of a body.
    fn output(&self, body: BodyId) -> Option<NodeId> {
        self.last(body).filter(|n| self.kind(*n) == NodeKind::Output)
    }

    /// Returns every body.
    fn bodies(&self) -> Bodies {
        (0..u32::try_from(self.body_count()).unwrap_or(u32::MAX)).map(BodyId)
    }
}

/// Iterates over the nodes that arguments name.
pub struct Operands<'a> {
    args: Iter<'a, Arg>,
    kwargs: Iter<'a, (StrId, Arg)>,
    /// What is left of a list among them.
    list: NodesIn<'a>,
}

impl<'a> Operands<'a> {
    pub(crate) fn of(args: &'a [Arg], kwargs: &'a [(StrId, Arg)]) -> Self {
        Operands { args: args.iter(), kwargs: kwargs.iter(), list: NodesIn::default() }
    }
}

impl Iterator for Operands<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        loop {
            if let Some(node) = self.list.next() {
                return Some(node);
            }
            match self.args.next().or_else(|| self.kwargs.next().map(|(_, arg)| arg))? {
                Arg::Node(node) => return Some(*node),
                // Most arguments are no lists.
                arg if arg.nests() => self.list = arg.nodes(),
                _ => {}
            }
        }
    }
}

/// Iterates over bodies.
pub type Bodies = Map<Range<u32>, fn(u32) -> BodyId>;

/// Iterates over the nodes of a body in order.
pub struct Nodes<'a> {
    view: &'a dyn View,
    next: Option<NodeId>,
}

impl Iterator for Nodes<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let id = self.next?;
        self.next = self.view.next(id);
        Some(id)
    }
}

impl Graph {
    pub(crate) fn link(&self, id: NodeId) -> Option<Link> {
        self.contains(id).then(|| self.columns.link.get(id.slot()).copied()).flatten()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<NodeId> {
        (slot != NONE)
            .then(|| Some(NodeId { index: slot, generation: *self.columns.generation.get(slot as usize)? }))
            .flatten()
    }

    /// Returns the users, in no meaningful order.
    pub fn users(&self, id: NodeId) -> Option<&Users> {
        if self.contains(id) { self.columns.users.get(id.slot()) } else { None }
    }

    /// Returns all that the node holds but users and order.
    pub fn row(&self, id: NodeId) -> Option<Row> {
        if self.contains(id) { self.columns.row(id.slot()) } else { None }
    }

    /// Returns the annotation as it was read, where the writer would print another one.
    pub fn printed(&self, id: NodeId) -> Option<&str> {
        self.columns.printed.get(id.slot()).copied().flatten().map(|t| self.texts.text(t))
    }

    /// Returns the node's metadata.
    pub fn meta(&self, id: NodeId) -> Option<&super::Meta> {
        self.columns.meta.get(id.slot())
    }

    /// Returns one entry of a node's metadata (`stack_trace`, `nn_module_stack` ...).
    pub fn annotation(&self, id: NodeId, key: &str) -> Option<String> {
        let meta = self.meta(id)?;
        if let (Some(set), Some(key)) = (&meta.set, self.texts.find(key))
            && let Some((_, value)) = set.iter().rev().find(|(k, _)| *k == key)
        {
            return value.map(|v| self.texts.text(v).to_string());
        }
        let bytes = self.meta_source.as_ref()?.slice(meta.json?)?;
        text_under(bytes, key)
    }

    /// Returns one entry of a node's metadata that was set since the graph was read.
    pub fn annotated(&self, id: NodeId, key: &str) -> Option<&str> {
        let set = self.meta(id)?.set.as_ref()?;
        let key = self.texts.find(key)?;
        let (_, value) = set.iter().rev().find(|(k, _)| *k == key)?;
        value.map(|v| self.texts.text(v))
    }

    /// Sets (or, with `None`, removes) one entry of a node's metadata.
    pub fn annotate(&mut self, id: NodeId, key: &str, value: Option<&str>) {
        let Some(mut meta) = self.meta(id).cloned() else {
            return;
        };
        let key = self.texts.intern(key);
        let value = value.map(|v| self.texts.intern(v));
        let set = meta.set.get_or_insert_default();
        set.retain(|(k, _)| *k != key);
        set.push((key, value));
        self.set_meta(id, meta);
    }

    /// Returns the node of that name in a body.
    pub fn find_name(&self, body: BodyId, name: &str) -> Option<NodeId> {
        self.names.get(body, self.texts.find(name)?)
    }

    /// Returns how many nodes a body has.
    pub fn body_len(&self, body: BodyId) -> usize {
        self.bodies.get(body.slot()).map_or(0, |b| b.len)
    }

    /// Returns how many nodes all bodies have.
    pub fn len(&self) -> usize {
        self.bodies.iter().fold(0, |n, b| n.saturating_add(b.len))
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an upper bound of all node indices: how long a side table by [`Graph::slot_of`] must be.
    pub fn slots(&self) -> usize {
        self.columns.alive.len()
    }

    /// Returns the node's index into a side table, below [`Graph::slots`].
    pub fn slot_of(&self, id: NodeId) -> usize {
        id.slot()
    }
}

impl View for Graph {
    fn as_view(&self) -> &dyn View {
        self
    }

    fn assumes_contiguous(&self) -> bool {
        self.inputs_assumed
    }

    fn texts(&self) -> &Interner {
        &self.texts
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    fn contains(&self, id: NodeId) -> bool {
        self.columns.alive.get(id.slot()) == Some(&true)
            && self.columns.generation.get(id.slot()) == Some(&id.generation)
    }

    fn first(&self, body: BodyId) -> Option<NodeId> {
        self.at(self.bodies.get(body.slot())?.head)
    }

    fn last(&self, body: BodyId) -> Option<NodeId> {
        self.at(self.bodies.get(body.slot())?.tail)
    }

    fn next(&self, id: NodeId) -> Option<NodeId> {
        self.at(self.link(id)?.next)
    }

    fn previous(&self, id: NodeId) -> Option<NodeId> {
        self.at(self.link(id)?.previous)
    }

    fn place(&self, id: NodeId) -> Option<(BodyId, u64)> {
        self.link(id).map(|l| (l.body, l.label))
    }

    fn kind(&self, id: NodeId) -> NodeKind {
        self.columns.kind.get(id.slot()).copied().unwrap_or(NodeKind::Call)
    }

    fn target_id(&self, id: NodeId) -> StrId {
        self.columns.target.get(id.slot()).copied().unwrap_or(StrId(u32::MAX))
    }

    fn name_id(&self, id: NodeId) -> StrId {
        self.columns.name.get(id.slot()).copied().unwrap_or(StrId(u32::MAX))
    }

    fn args(&self, id: NodeId) -> &[Arg] {
        self.columns.args.get(id.slot()).map_or(&[], |a| a)
    }

    fn kwargs(&self, id: NodeId) -> &[(StrId, Arg)] {
        self.columns.kwargs.get(id.slot()).map_or(&[], |a| a)
    }

    fn ty(&self, id: NodeId) -> &ValueType {
        self.columns.ty.get(id.slot()).unwrap_or(&UNKNOWN)
    }

    fn hearsay(&self, id: NodeId) -> Hearsay {
        self.columns.hearsay.get(id.slot()).copied().unwrap_or(Hearsay::TOLD)
    }

    fn names_attributes(&self) -> bool {
        self.targets.names_attributes
    }

    fn targets(&self) -> &[StrId] {
        &self.targets.list
    }

    fn users_in_order(&self, id: NodeId) -> Vec<NodeId> {
        let mut users: Vec<NodeId> = self.users(id).map(|u| u.iter().collect()).unwrap_or_default();
        users.sort_by_key(|u| (self.place(*u), *u));
        users
    }

    fn body_count(&self) -> usize {
        self.bodies.len()
    }

    fn body_name(&self, body: BodyId) -> &str {
        self.bodies.get(body.slot()).map_or("", |b| self.texts.text(b.name))
    }

    fn body_parent(&self, body: BodyId) -> Option<BodyId> {
        self.bodies.get(body.slot())?.parent
    }
}
