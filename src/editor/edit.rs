//! The edits themselves: form and types are checked at each.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::record::{self, Record};
use super::{Before, Changes, EditCode, EditError, Point};
use crate::graph::{Arg, BodyId, Graph, Hearsay, NewNode, NodeId, NodeKind, StrId, ValueType, View};
use crate::ops::Registry;

/// A call to be inserted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewCall {
    /// Target as the text form spells it, with or without `torch.ops.`.
    pub target: String,
    /// Positional arguments.
    pub args: Vec<Arg>,
    /// Keyword arguments.
    pub kwargs: Vec<(String, Arg)>,
    /// Wanted name; without one it is made from the target, as FX does.
    pub name: Option<String>,
}

/// One edit of a batch. Nodes that the batch itself makes are [`NodeId::new_in_batch`] with the position of their edit
/// among the inserting edits.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Insert a call.
    Insert(Point, NewCall),
    /// Replace arguments.
    SetArgs(NodeId, Vec<Arg>, Vec<(String, Arg)>),
    /// Replace the operator of a call.
    SetTarget(NodeId, String),
    /// Replace all uses of the first by the second.
    ReplaceUses(NodeId, NodeId),
    /// Replace uses of the first by the second in the users given.
    ReplaceUsesIn(NodeId, NodeId, Vec<NodeId>),
    /// Move a node.
    Move(NodeId, Point),
    /// Erase a node without users.
    Erase(NodeId),
    /// Set (or, with `None`, remove) an entry of the node's metadata.
    Annotate(NodeId, String, Option<String>),
}

/// Owns a Graph while it is edited, and gives it back.
#[derive(Debug)]
pub struct Editor {
    pub(super) graph: Graph,
    pub(super) registry: Arc<Registry>,
    max_nodes: usize,
    /// Bytes of the types that edits gave nodes, whether or not they were taken back.
    type_bytes: u64,
    most_bytes: u64,
    until: Option<Instant>,
    record: Record,
}

impl Editor {
    /// Takes the graph, and begins to remember it as it is, inside of a log that somebody else may keep.
    pub fn new(mut graph: Graph, registry: Arc<Registry>) -> Self {
        graph.begin_log();
        Self {
            graph,
            registry,
            max_nodes: usize::MAX,
            type_bytes: 0,
            most_bytes: u64::MAX,
            until: None,
            record: Record::default(),
        }
    }

    /// Bounds how many nodes the graph may have; further insertions are `over-limit`.
    pub fn limit_nodes(&mut self, max_nodes: usize) {
        self.max_nodes = max_nodes;
    }

    /// Bounds what edits may make the graph keep, and how long one may take: one that goes beyond is `over-limit` and changes nothing.
    pub fn limit_work(&mut self, most_bytes: u64, until: Option<Instant>) {
        (self.most_bytes, self.until) = (most_bytes, until);
    }

    /// From now on keeps each edit that is made, for [`Editor::take_record`].
    pub fn record_edits(&mut self) {
        self.record.begin();
    }

    /// Returns the edits that were made since [`Editor::record_edits`], in order, also those that were undone, and keeps no more.
    pub fn take_record(&mut self) -> Vec<Value> {
        self.record.take()
    }

    /// Returns about how many bytes the types and sizes take that edits made; it never falls.
    pub fn kept_bytes(&self) -> u64 {
        self.type_bytes.saturating_add(self.graph.symbols.bytes())
    }

    /// Gives a node its type, and counts it.
    pub(super) fn keep_type(&mut self, id: NodeId, ty: ValueType) -> Result<(), EditError> {
        self.type_bytes = self.type_bytes.saturating_add(ty.bytes());
        self.graph.set_type(id, ty);
        self.within_limits(Some(id))
    }

    pub(super) fn within_limits(&self, node: Option<NodeId>) -> Result<(), EditError> {
        if self.kept_bytes() > self.most_bytes {
            let message = "the types of what it makes take more memory than is left".to_string();
            return Err(EditError::new(EditCode::OverLimit, node, message));
        }
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(EditError::new(EditCode::OverLimit, node, "the time is up".to_string()));
        }
        Ok(())
    }

    /// Returns the graph as it is now.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Returns the operators that edits are checked against.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns the symbolic sizes, to which a reader of expressions may add.
    pub fn symbols_mut(&mut self) -> &mut crate::sym::Symbols {
        &mut self.graph.symbols
    }

    /// Returns the graph as it was when this editor began.
    pub fn before(&self) -> Before<'_> {
        Before::new(&self.graph)
    }

    /// Returns a copy of the graph as it was: for files that outlive the editor. Judging needs no copy.
    pub fn copy_before(&self) -> Graph {
        let mut copy = self.graph.clone();
        copy.undo_log();
        copy
    }

    /// Returns what was changed since this editor began.
    pub fn changes(&self) -> Changes {
        Changes::of(&self.graph)
    }

    /// Takes all changes back.
    pub fn undo(&mut self) {
        self.graph.undo_log();
        self.graph.begin_log();
    }

    /// Lets all changes stand; from here on `before` is the graph as it is now.
    pub fn commit(&mut self) {
        self.graph.commit_log();
        self.graph.begin_log();
    }

    /// Gives the graph back with its changes.
    pub fn into_graph(mut self) -> Graph {
        self.graph.commit_log();
        self.graph
    }

    /// Inserts a call and returns its node. Its type is what the operator's rule says.
    pub fn insert(&mut self, at: Point, new: NewCall) -> Result<NodeId, EditError> {
        if self.graph.len() >= self.max_nodes {
            let message = format!("the graph may have at most {} nodes", self.max_nodes);
            return Err(EditError::new(EditCode::OverLimit, None, message));
        }
        let (body, before) = at.resolve(&self.graph)?;
        let target = new.target.strip_prefix("torch.ops.").unwrap_or(&new.target).to_string();
        self.check_operands(body, before, new.args.iter().chain(new.kwargs.iter().map(|(_, a)| a)))?;
        let kwargs = self.intern_kwargs(new.kwargs);
        let ty = self.infer(None, &target, &new.args, &kwargs)?;
        self.type_bytes = self.type_bytes.saturating_add(ty.bytes());
        self.within_limits(None)?;
        let name = new.name.unwrap_or_else(|| default_name(&target));
        let target = self.graph.texts.intern(&target);
        let node = NewNode { kind: NodeKind::Call, target, args: new.args.into(), kwargs, ty };
        let id = self.graph.insert(body, Some(before), &name, node);
        let said = self.said_of(id, Hearsay::NONE);
        self.graph.set_hearsay(id, said);
        self.record.push(|| {
            let mut line = record::line(&self.graph, "insert", id);
            record::place(&self.graph, &mut line, id);
            line.insert("target".into(), self.graph.target(id).into());
            record::arguments(&self.graph, &mut line, id);
            line.into()
        });
        Ok(id)
    }

    /// Replaces the arguments of a call, or what a body returns.
    pub fn set_args(&mut self, id: NodeId, args: Vec<Arg>, kwargs: Vec<(String, Arg)>) -> Result<(), EditError> {
        let (body, _) = self.graph.place(id).ok_or_else(|| EditError::stale(id))?;
        self.check_operands(body, id, args.iter().chain(kwargs.iter().map(|(_, a)| a)))?;
        let kwargs = self.intern_kwargs(kwargs);
        match self.graph.kind(id) {
            NodeKind::Call => {
                let target = self.graph.target(id).to_string();
                let ty = self.infer_again(id, &target, &args, &kwargs)?;
                self.whole(|e| {
                    e.graph.set_args(id, args.into(), kwargs);
                    e.retype(id, ty)
                })?;
            }
            NodeKind::Output => {
                self.check_returned(id, &args)?;
                self.graph.set_args(id, args.into(), kwargs);
            }
            NodeKind::Placeholder | NodeKind::GetAttr => return Err(self.not_allowed(id, "has no arguments to set")),
        }
        self.record.push(|| {
            let mut line = record::line(&self.graph, "set-args", id);
            record::arguments(&self.graph, &mut line, id);
            line.into()
        });
        Ok(())
    }

    /// Replaces the operator of a call.
    pub fn set_target(&mut self, id: NodeId, target: &str) -> Result<(), EditError> {
        self.live(id)?;
        if self.graph.kind(id) != NodeKind::Call {
            return Err(self.not_allowed(id, "is not a call"));
        }
        let target = target.strip_prefix("torch.ops.").unwrap_or(target);
        let (args, kwargs) = (self.graph.args(id).to_vec(), self.graph.kwargs(id).to_vec());
        let ty = self.infer(Some(id), target, &args, &kwargs)?;
        let target = self.graph.texts.intern(target);
        self.whole(|e| {
            e.graph.set_target(id, target);
            e.retype(id, ty)
        })?;
        self.record.push(|| {
            let mut line = record::line(&self.graph, "set-target", id);
            line.insert("target".into(), self.graph.target(id).into());
            line.into()
        });
        Ok(())
    }

    /// Lets users of `old` (all, or those given) use `new`, and infers types downstream again. `new` itself keeps using
    /// `old`. Returns how many users changed.
    pub fn replace_uses(&mut self, old: NodeId, new: NodeId, only_in: Option<&[NodeId]>) -> Result<u32, EditError> {
        self.live(old)?;
        self.live(new)?;
        if old == new {
            return Ok(0);
        }
        let mut users = match only_in {
            None => self.graph.users_in_order(old),
            Some(chosen) => {
                chosen.iter().try_for_each(|n| self.live(*n))?;
                let mut users: Vec<NodeId> =
                    chosen.iter().copied().filter(|n| self.graph.users(old).is_some_and(|u| u.contains(*n))).collect();
                users.sort_by_key(|n| (self.graph.place(*n), *n));
                users.dedup();
                users
            }
        };
        users.retain(|u| *u != new);
        if let Some(early) = users.iter().find(|u| !self.graph.is_before(new, **u)) {
            return Err(self.used_too_early(new, *early));
        }
        self.whole(|e| {
            for &user in &users {
                let mut map = |n: NodeId| if n == old { new } else { n };
                let args: Vec<Arg> = e.graph.args(user).iter().map(|a| a.map_nodes(&mut map)).collect();
                let kwargs: Vec<(StrId, Arg)> =
                    e.graph.kwargs(user).iter().map(|(k, a)| (*k, a.map_nodes(&mut map))).collect();
                e.graph.set_args(user, args.into(), kwargs.into());
            }
            e.retype_users(old, new, &users)
        })?;
        self.record.push(|| {
            let mut line = record::line(&self.graph, "replace-uses", old);
            line.insert("with".into(), self.graph.name(new).into());
            if only_in.is_some() {
                let users: Vec<&str> = users.iter().map(|user| self.graph.name(*user)).collect();
                line.insert("only_in".into(), users.into());
            }
            line.into()
        });
        Ok(u32::try_from(users.len()).unwrap_or(u32::MAX))
    }

    /// Moves a call within its body.
    pub fn move_node(&mut self, id: NodeId, to: Point) -> Result<(), EditError> {
        let (from, _) = self.graph.place(id).ok_or_else(|| EditError::stale(id))?;
        if !matches!(self.graph.kind(id), NodeKind::Call | NodeKind::GetAttr) {
            return Err(self.not_allowed(id, "cannot be moved: placeholders stay first and the output last"));
        }
        let (body, before) = to.resolve(&self.graph)?;
        if body != from {
            return Err(self.not_allowed(id, "cannot be moved to another body"));
        }
        if before == id {
            return Ok(());
        }
        if let Some(late) = self.graph.operands(id).find(|o| !self.graph.is_before(*o, before)) {
            return Err(self.used_too_early(late, id));
        }
        let early = self.graph.users(id).into_iter().flat_map(|u| u.iter());
        if let Some(user) = early.filter(|u| *u != before && self.graph.is_before(*u, before)).min() {
            return Err(self.used_too_early(id, user));
        }
        self.graph.move_before(id, Some(before));
        self.record.push(|| {
            let mut line = record::line(&self.graph, "move", id);
            record::place(&self.graph, &mut line, id);
            line.into()
        });
        Ok(())
    }

    /// Erases a call that nobody uses.
    pub fn erase(&mut self, id: NodeId) -> Result<(), EditError> {
        self.live(id)?;
        if !matches!(self.graph.kind(id), NodeKind::Call | NodeKind::GetAttr) {
            return Err(self.not_allowed(id, "cannot be erased: inputs and output are the calling convention"));
        }
        if self.graph.users(id).is_some_and(|u| !u.is_empty()) {
            let users = self.graph.users_in_order(id);
            let names: Vec<&str> = users.iter().take(3).map(|u| self.graph.name(*u)).collect();
            let message = format!(
                "`{}` still has {} users ({}{}); replace its uses first",
                self.graph.name(id),
                users.len(),
                names.join(", "),
                if users.len() > 3 { ", ..." } else { "" }
            );
            return Err(EditError::new(EditCode::StillUsed, Some(id), message));
        }
        self.record.push(|| record::line(&self.graph, "erase", id).into());
        self.graph.remove(id);
        Ok(())
    }

    /// Sets (or, with `None`, removes) an entry of the node's metadata.
    pub fn annotate(&mut self, id: NodeId, key: &str, value: Option<&str>) -> Result<(), EditError> {
        self.live(id)?;
        self.graph.annotate(id, key, value);
        self.record.push(|| {
            let mut line = record::line(&self.graph, "annotate", id);
            line.insert("key".into(), key.into());
            line.insert("value".into(), value.into());
            line.into()
        });
        Ok(())
    }

    /// Makes all edits or none. Returns the nodes made, in order; an error says which edit it is about.
    pub fn apply(&mut self, edits: &[Edit]) -> Result<Vec<NodeId>, (u32, EditError)> {
        self.apply_while(edits, &mut |_| true).unwrap_or_else(|| Ok(Vec::new()))
    }

    /// As [`Editor::apply`], but makes none and answers `None` where `go_on` says no before one of them.
    pub fn apply_while(
        &mut self,
        edits: &[Edit],
        go_on: &mut dyn FnMut(&Editor) -> bool,
    ) -> Option<Result<Vec<NodeId>, (u32, EditError)>> {
        let mut made = Vec::new();
        let recorded = self.record.len();
        self.graph.begin_log();
        for (index, edit) in edits.iter().enumerate() {
            if !go_on(self) {
                self.graph.undo_log();
                self.record.truncate(recorded);
                return None;
            }
            if let Err(error) = self.apply_one(edit, &mut made) {
                self.graph.undo_log();
                self.record.truncate(recorded);
                return Some(Err((u32::try_from(index).unwrap_or(u32::MAX), error)));
            }
        }
        self.graph.commit_log();
        Some(Ok(made))
    }

    fn apply_one(&mut self, edit: &Edit, made: &mut Vec<NodeId>) -> Result<(), EditError> {
        let real =
            |made: &[NodeId], n: NodeId| n.batch_position().and_then(|p| made.get(p as usize).copied()).unwrap_or(n);
        let args = |made: &[NodeId], args: &[Arg]| -> Vec<Arg> {
            args.iter().map(|a| a.map_nodes(&mut |n| real(made, n))).collect()
        };
        let kwargs = |made: &[NodeId], kwargs: &[(String, Arg)]| -> Vec<(String, Arg)> {
            kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut |n| real(made, n)))).collect()
        };
        match edit {
            Edit::Insert(at, new) => {
                let call = NewCall {
                    target: new.target.clone(),
                    args: args(made, &new.args),
                    kwargs: kwargs(made, &new.kwargs),
                    name: new.name.clone(),
                };
                let id = self.insert(at.map_node(|n| real(made, n)), call)?;
                made.push(id);
                Ok(())
            }
            Edit::SetArgs(n, a, k) => self.set_args(real(made, *n), args(made, a), kwargs(made, k)),
            Edit::SetTarget(n, target) => self.set_target(real(made, *n), target),
            Edit::ReplaceUses(old, new) => self.replace_uses(real(made, *old), real(made, *new), None).map(|_| ()),
            Edit::ReplaceUsesIn(old, new, users) => {
                let users: Vec<NodeId> = users.iter().map(|u| real(made, *u)).collect();
                self.replace_uses(real(made, *old), real(made, *new), Some(&users)).map(|_| ())
            }
            Edit::Move(n, to) => self.move_node(real(made, *n), to.map_node(|n| real(made, n))),
            Edit::Erase(n) => self.erase(real(made, *n)),
            Edit::Annotate(n, key, value) => self.annotate(real(made, *n), key, value.as_deref()),
        }
    }

    /// Runs edits that hold whole or not at all.
    fn whole(&mut self, edits: impl FnOnce(&mut Self) -> Result<(), EditError>) -> Result<(), EditError> {
        self.graph.begin_log();
        let result = edits(self);
        match result {
            Ok(()) => self.graph.commit_log(),
            Err(_) => self.graph.undo_log(),
        }
        result
    }

    fn live(&self, id: NodeId) -> Result<(), EditError> {
        if self.graph.contains(id) { Ok(()) } else { Err(EditError::stale(id)) }
    }

    fn not_allowed(&self, id: NodeId, why: &str) -> EditError {
        EditError::new(EditCode::NotAllowed, Some(id), format!("`{}` {why}", self.graph.name(id)))
    }

    fn used_too_early(&self, defined: NodeId, used_in: NodeId) -> EditError {
        let message = format!(
            "`{}` would be used in `{}` before it is defined; move one of them first",
            self.graph.name(defined),
            self.graph.name(used_in)
        );
        EditError::new(EditCode::UseBeforeDefinition, Some(used_in), message)
    }

    fn intern_kwargs(&mut self, kwargs: Vec<(String, Arg)>) -> Box<[(StrId, Arg)]> {
        kwargs.into_iter().map(|(k, a)| (self.graph.texts.intern(&k), a)).collect()
    }

    /// Checks that every operand is alive, in this body and defined before `before`.
    fn check_operands<'a>(
        &self,
        body: BodyId,
        before: NodeId,
        args: impl Iterator<Item = &'a Arg>,
    ) -> Result<(), EditError> {
        for arg in args {
            if arg.depth() > Arg::MAX_DEPTH {
                let message = format!("lists nest deeper than {}", Arg::MAX_DEPTH);
                return Err(EditError::new(EditCode::BadArgument, None, message));
            }
            for operand in arg.nodes() {
                self.live(operand)?;
                if self.graph.place(operand).is_some_and(|(b, _)| b != body) {
                    let why = "belongs to another body; pass it as an operand of the call that holds this body";
                    return Err(self.not_allowed(operand, why));
                }
                if !self.graph.is_before(operand, before) {
                    return Err(self.used_too_early(operand, before));
                }
            }
        }
        Ok(())
    }

    /// Checks that a body goes on returning as many values, alone or in a tuple as before.
    fn check_returned(&self, id: NodeId, args: &[Arg]) -> Result<(), EditError> {
        let shape = |args: &[Arg]| (args.len(), args.first().and_then(Arg::items).map(<[Arg]>::len));
        let (old, new) = (shape(self.graph.args(id)), shape(args));
        if old == new {
            return Ok(());
        }
        let (expected, found) = (old.1.unwrap_or(old.0), new.1.unwrap_or(new.0));
        let message = format!("the output must go on returning {expected} values in the same form, not {found}");
        Err(EditError::new(EditCode::NotAllowed, Some(id), message))
    }

    /// Returns the type of a call of `target`; `node` is the node that it is about, if it is there already.
    pub(super) fn infer(
        &mut self,
        node: Option<NodeId>,
        target: &str,
        args: &[Arg],
        kwargs: &[(StrId, Arg)],
    ) -> Result<ValueType, EditError> {
        let registry = self.registry.clone();
        registry.infer(&mut self.graph, target, args, kwargs).map_err(|e| EditError::of_type(node, e))
    }
}

/// The name that FX gives a call of this target before it is made free: `aten.add.Tensor` gives `add_tensor`.
fn default_name(target: &str) -> String {
    let mut parts = target.split('.');
    let namespace = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let name = match (namespace, rest.as_slice()) {
        ("_operator" | "math" | "torch", [name]) => (*name).to_string(),
        (_, []) => namespace.to_string(),
        (_, rest) => rest.join("_"),
    };
    snake_case(&name)
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    let mut lower_before = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && lower_before {
            out.push('_');
        }
        lower_before = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    out
}
