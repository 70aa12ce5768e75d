//! The graph as it was when the editor began: the log laid over the graph, never a copy.

use rustc_hash::FxHashMap;

use crate::graph::{
    Arg, BodyId, Graph, Hearsay, Interner, Link, Log, NodeId, NodeKind, Row, Signature, StrId, ValueType, View,
};
use crate::sym::Symbols;

static UNKNOWN: ValueType = ValueType::Unknown;

/// A view of the graph before the edit. Reading costs what reading the graph costs.
pub struct Before<'a> {
    graph: &'a Graph,
    log: Option<&'a Log>,
    /// Who used what in the rows that were overwritten; made when users are first asked for.
    old_users: std::cell::OnceCell<FxHashMap<NodeId, Vec<NodeId>>>,
}

impl<'a> Before<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        Self { graph, log: graph.log.as_deref(), old_users: std::cell::OnceCell::new() }
    }

    fn old(&self, id: NodeId) -> Option<&'a Row> {
        self.log?.rows.get(&id.index)
    }

    fn old_users(&self) -> &FxHashMap<NodeId, Vec<NodeId>> {
        self.old_users.get_or_init(|| {
            let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
            for (slot, row) in self.log.iter().flat_map(|l| l.rows.iter()) {
                for operand in row.operands() {
                    users.entry(operand).or_default().extend(self.graph.at(*slot));
                }
            }
            users
        })
    }

    fn is_new(&self, id: NodeId) -> bool {
        self.log.is_some_and(|l| l.inserted.contains(&id.index))
    }

    fn link(&self, id: NodeId) -> Option<Link> {
        if !self.contains(id) {
            return None;
        }
        match self.log.and_then(|l| l.links.get(&id.index)) {
            Some(old) => Some(*old),
            None => self.graph.columns.link.get(id.slot()).copied(),
        }
    }
}

impl View for Before<'_> {
    fn as_view(&self) -> &dyn View {
        self
    }

    fn assumes_contiguous(&self) -> bool {
        self.graph.assumes_contiguous()
    }

    fn texts(&self) -> &Interner {
        &self.graph.texts
    }

    fn symbols(&self) -> &Symbols {
        &self.graph.symbols
    }

    fn signature(&self) -> Option<&Signature> {
        self.graph.signature.as_ref()
    }

    fn contains(&self, id: NodeId) -> bool {
        if self.is_new(id) {
            return false;
        }
        // An erased slot keeps its generation until the log ends.
        self.graph.contains(id) || (self.old(id).is_some() && self.graph.at(id.index) == Some(id))
    }

    fn first(&self, body: BodyId) -> Option<NodeId> {
        let head = match self.log.and_then(|l| l.bodies.get(&body)) {
            Some(old) => old.head,
            None => self.graph.bodies.get(body.slot())?.head,
        };
        self.graph.at(head)
    }

    fn last(&self, body: BodyId) -> Option<NodeId> {
        let tail = match self.log.and_then(|l| l.bodies.get(&body)) {
            Some(old) => old.tail,
            None => self.graph.bodies.get(body.slot())?.tail,
        };
        self.graph.at(tail)
    }

    fn next(&self, id: NodeId) -> Option<NodeId> {
        self.graph.at(self.link(id)?.next)
    }

    fn previous(&self, id: NodeId) -> Option<NodeId> {
        self.graph.at(self.link(id)?.previous)
    }

    fn place(&self, id: NodeId) -> Option<(BodyId, u64)> {
        self.link(id).map(|l| (l.body, l.label))
    }

    fn kind(&self, id: NodeId) -> NodeKind {
        self.old(id).map_or_else(|| self.graph.kind(id), |r| r.kind)
    }

    fn target_id(&self, id: NodeId) -> StrId {
        self.old(id).map_or_else(|| self.graph.target_id(id), |r| r.target)
    }

    fn name_id(&self, id: NodeId) -> StrId {
        self.old(id).map_or_else(|| self.graph.name_id(id), |r| r.name)
    }

    fn args(&self, id: NodeId) -> &[Arg] {
        self.old(id).map_or_else(|| self.graph.args(id), |r| &r.args)
    }

    fn kwargs(&self, id: NodeId) -> &[(StrId, Arg)] {
        self.old(id).map_or_else(|| self.graph.kwargs(id), |r| &r.kwargs)
    }

    fn ty(&self, id: NodeId) -> &ValueType {
        match self.old(id) {
            Some(row) => &row.ty,
            None if self.contains(id) => self.graph.ty(id),
            None => &UNKNOWN,
        }
    }

    fn hearsay(&self, id: NodeId) -> Hearsay {
        self.old(id).map_or_else(|| self.graph.hearsay(id), |r| r.hearsay)
    }

    /// Costs the users, and once what was edited.
    fn users_in_order(&self, id: NodeId) -> Vec<NodeId> {
        let untouched = self.graph.users(id).into_iter().flat_map(|u| u.iter()).filter(|u| self.old(*u).is_none());
        let mut users: Vec<NodeId> = untouched.filter(|u| self.contains(*u)).collect();
        users.extend(self.old_users().get(&id).into_iter().flatten());
        users.sort_by_key(|u| (self.place(*u), *u));
        users.dedup();
        users
    }

    fn names_attributes(&self) -> bool {
        self.graph.names_attributes()
    }

    fn targets(&self) -> &[StrId] {
        self.graph.targets()
    }

    fn body_count(&self) -> usize {
        self.graph.body_count()
    }

    fn body_name(&self, body: BodyId) -> &str {
        self.graph.body_name(body)
    }

    fn body_parent(&self, body: BodyId) -> Option<BodyId> {
        self.graph.body_parent(body)
    }
}
