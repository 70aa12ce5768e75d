//! Where values lie, and which node holds what they hold now.
//!
//! Promises: a value whose memory was written since it was made is made again of what the memory holds; one of which nobody can say whether it
//! lies in memory that was written is refused when it is read.

use std::collections::{HashMap, HashSet};

use super::Kept;
use crate::analysis::{self, Place, Shares};
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, StrId, ValueType, View, put};
use crate::ops::Registry;

/// Of what a value is a view, and by which call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) of: NodeId,
    /// The view operator.
    pub(super) call: NodeId,
    /// Which of its results, where it has several.
    pub(super) item: Option<i64>,
    /// Whether it is that very tensor.
    pub(super) same: bool,
}

/// Where a value lies, and what it holds now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lies {
    /// The node whose memory it is at the end of the chain.
    root: NodeId,
    /// Of what it is a view; `None` for the root itself.
    pub(super) seen: Option<Seen>,
    /// The node that holds its content, as of a number of writes to the root.
    now: NodeId,
    writes: usize,
}

/// What is no call in whose memory one of these values may lie.
fn ends(graph: &Graph, registry: &Registry, nodes: impl Iterator<Item = NodeId>) -> HashSet<NodeId> {
    let mut open: Vec<Place> = nodes.map(|n| analysis::place_of(graph, n)).collect();
    let (mut seen, mut found) = (HashSet::new(), HashSet::new());
    while let Some(place) = open.pop() {
        if !seen.insert(place) {
            continue;
        }
        match graph.kind(place.node) {
            NodeKind::Call => open.extend(analysis::home_of(graph, registry, place).iter().map(|s| s.place())),
            _ => {
                found.insert(place.node);
            }
        }
    }
    found
}

/// A graph of which writes are taken out.
pub(super) struct Memory<'r> {
    pub(super) graph: Graph,
    pub(super) registry: &'r Registry,
    pub(super) lies: HashMap<NodeId, Lies>,
    /// Values of which nobody can say whether they lie in these roots, each with the writes that there were.
    perhaps: HashMap<NodeId, Vec<(NodeId, usize)>>,
    /// Inputs, and tensors of the module, that a call may write.
    written_inputs: HashSet<NodeId>,
    /// How often each root was written.
    writes: HashMap<NodeId, usize>,
    /// Which call of the graph as it was wrote each root last.
    writers: HashMap<NodeId, Box<str>>,
    /// Which node holds what a node holds after a write: by its name, and that of the call that writes.
    pub(super) versions: HashMap<(Box<str>, Box<str>), NodeId>,
    /// What a call that writes gives: by its name, the name of what it writes.
    pub(super) given: HashMap<Box<str>, Box<str>>,
    /// Which node takes an item of a tuple.
    items: HashMap<Place, NodeId>,
    /// Operands of calls of several results, where these stand in for what the program names.
    named: HashMap<NodeId, Vec<(NodeId, NodeId)>>,
}

impl<'r> Memory<'r> {
    pub(super) fn of(graph: Graph, registry: &'r Registry) -> Self {
        let (lies, perhaps, writes) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (writers, versions) = (HashMap::new(), HashMap::new());
        let written = graph.nodes(BodyId::ROOT).flat_map(|n| super::written(&graph, registry, n));
        let written_inputs = ends(&graph, registry, written);
        let (given, items, named) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { graph, registry, lies, perhaps, written_inputs, writes, writers, versions, given, items, named }
    }

    pub(super) fn kept(&self, node: NodeId, reason: impl Into<String>) -> Kept {
        Kept { node: self.graph.name(node).to_string(), reason: reason.into() }
    }

    /// Notes where the result of a call lies; its operands are those that the program names.
    pub(super) fn lay(&mut self, node: NodeId) {
        let place = analysis::place_of(&self.graph, node);
        let home = analysis::home_of(&self.graph, self.registry, place);
        let is_item = place.node != node;
        match home.as_slice() {
            [] if !is_item => {}
            [shares @ (Shares::Same(_) | Shares::View(_))] if let Some(seen) = self.seen(node, place, *shares) => {
                let root = self.root_of(seen.of);
                let writes = self.written(root);
                self.lies.insert(node, Lies { root, seen: Some(seen), now: node, writes });
            }
            // The only node that takes an item in memory of its own.
            [] if *self.items.entry(place).or_insert(node) == node => {}
            many => {
                let mut roots: Vec<(NodeId, usize)> = Vec::new();
                let twin = self.items.get(&place).copied().filter(|_| is_item);
                for of in many.iter().map(|s| self.named(place.node, s.place())).chain(twin) {
                    let root = self.root_of(of);
                    roots.push((root, self.written(root)));
                    roots.extend(self.perhaps.get(&of).into_iter().flatten());
                }
                self.perhaps.insert(node, roots);
            }
        }
    }

    /// Returns the node that took the same item, in memory of its own, out of the same call before.
    pub(super) fn taken_before(&self, node: NodeId) -> Option<NodeId> {
        let place = analysis::place_of(&self.graph, node);
        self.items.get(&place).copied().filter(|first| place.node != node && *first != node)
    }

    /// How a value is a view of the first operand of the call that makes it.
    fn seen(&self, node: NodeId, place: Place, shares: Shares) -> Option<Seen> {
        let first = self.graph.args(place.node).first()?.as_node()?;
        let item = (place.node != node).then_some(i64::from(place.item));
        let of = self.named(place.node, shares.place());
        let plain = analysis::place_of(&self.graph, first) == shares.place() && !self.perhaps.contains_key(&of);
        plain.then_some(Seen { of, call: place.node, item, same: matches!(shares, Shares::Same(_)) })
    }

    /// The operand that the program names, where a call of several results takes what stands in for it.
    fn named(&self, call: NodeId, operand: Place) -> NodeId {
        let stands = |(now, _): &&(NodeId, NodeId)| analysis::place_of(&self.graph, *now) == operand;
        let own = self.graph.operands(call).find(|n| analysis::place_of(&self.graph, *n) == operand);
        let named = self.named.get(&call).and_then(|all| all.iter().find(stands)).map(|(_, named)| *named);
        named.or(own).unwrap_or(operand.node)
    }

    pub(super) fn root_of(&self, node: NodeId) -> NodeId {
        self.lies.get(&node).map_or(node, |l| l.root)
    }

    pub(super) fn written(&self, root: NodeId) -> usize {
        self.writes.get(&root).copied().unwrap_or(0)
    }

    /// Whether nobody can say what memory a value lies in.
    pub(super) fn is_open(&self, node: NodeId) -> bool {
        self.perhaps.contains_key(&node)
    }

    /// Notes what the values of a chain hold now, after a write to the memory at its end.
    pub(super) fn write(&mut self, root: NodeId, path: Vec<(NodeId, NodeId)>, writer: Box<str>) {
        let writes = self.written(root).saturating_add(1);
        self.writes.insert(root, writes);
        if let Some((target, now)) = path.first() {
            self.versions.insert((writer.clone(), writer.clone()), *now);
            self.given.entry(writer.clone()).or_insert_with(|| self.graph.name(*target).into());
        }
        self.writers.insert(root, writer);
        for (view, now) in path {
            self.note_version(view, root, now);
            let seen = self.lies.get(&view).and_then(|l| l.seen);
            self.lies.insert(view, Lies { root, seen, now, writes });
        }
    }

    /// Notes which node holds what a value holds since the last write to its root.
    fn note_version(&mut self, value: NodeId, root: NodeId, now: NodeId) {
        if let Some(writer) = self.writers.get(&root) {
            self.versions.insert((self.graph.name(value).into(), writer.clone()), now);
        }
    }

    /// Lets a call read what its operands hold now.
    pub(super) fn refresh(&mut self, node: NodeId) -> Result<(), Kept> {
        let operands: Vec<NodeId> = self.graph.operands(node).collect();
        for operand in operands {
            let now = self.now(operand, node)?;
            if now != operand {
                put(&mut self.graph, node, operand, &Arg::Node(now));
                if self.graph.ty(node).as_tensor().is_none() {
                    self.named.entry(node).or_default().push((now, operand));
                }
            }
        }
        Ok(())
    }

    /// Lets the output return what its operands hold now: of an input that was written, a view of that.
    pub(super) fn give_back(&mut self, output: NodeId) -> Result<(), Kept> {
        let operands: Vec<NodeId> = self.graph.operands(output).collect();
        for operand in operands {
            let root = self.root_of(operand);
            let of_input = self.graph.kind(root) == NodeKind::Placeholder && self.written(root) > 0;
            let now = if of_input { self.seen_again(operand, root, output)? } else { self.now(operand, output)? };
            if now != operand {
                put(&mut self.graph, output, operand, &Arg::Node(now));
            }
        }
        Ok(())
    }

    /// The chain of views that a value is, of an input itself.
    fn seen_again(&mut self, value: NodeId, root: NodeId, reader: NodeId) -> Result<NodeId, Kept> {
        let mut chain = Vec::new();
        let mut at = value;
        while let Some(seen) = self.lies.get(&at).and_then(|l| l.seen) {
            chain.push((at, seen));
            at = seen.of;
        }
        let mut now = root;
        for (view, seen) in chain.into_iter().rev() {
            let stands = seen.item.is_none() && self.graph.args(view).first() == Some(&Arg::Node(now));
            now = if stands { view } else { self.made_again((view, seen), now, reader)? };
            self.note_version(view, root, now);
        }
        Ok(now)
    }

    /// Returns the node that holds the content of `value` before `reader`; makes it where a write has been since.
    pub(super) fn now(&mut self, value: NodeId, reader: NodeId) -> Result<NodeId, Kept> {
        let mut chain = Vec::new();
        let mut at = value;
        let mut now = loop {
            if let Some(roots) = self.perhaps.get(&at) {
                if roots.iter().any(|(root, writes)| self.written(*root) != *writes) {
                    return Err(self.kept(value, "it may share memory that is written, and is read later"));
                }
                break at;
            }
            let Some(lies) = self.lies.get(&at) else { break at };
            match lies.seen {
                Some(seen) if lies.writes != self.written(lies.root) => {
                    chain.push((at, seen));
                    at = seen.of;
                }
                _ => break lies.now,
            }
        };
        for (view, seen) in chain.into_iter().rev() {
            now = self.made_again((view, seen), now, reader)?;
            let root = self.root_of(view);
            let writes = self.written(root);
            self.note_version(view, root, now);
            if let Some(lies) = self.lies.get_mut(&view) {
                (lies.now, lies.writes) = (now, writes);
            }
        }
        Ok(now)
    }

    /// Whether a node of the graph as it has become may lie in memory of an input that is written.
    pub(super) fn may_lie_in_a_written_input(&self, node: NodeId) -> bool {
        ends(&self.graph, self.registry, [node].into_iter()).iter().any(|n| self.written_inputs.contains(n))
    }

    /// The same view of what its operand holds now.
    fn made_again(&mut self, (view, seen): (NodeId, Seen), now: NodeId, reader: NodeId) -> Result<NodeId, Kept> {
        let by_strides = self.registry.operator_of(&self.graph, seen.call).is_none_or(|o| o.facts.sees_layout);
        if by_strides {
            return Err(self.kept(view, "it is a view by strides of memory that is written, and is read later"));
        }
        let target = self.graph.target(seen.call).to_string();
        let args = self.graph.args(seen.call).iter().skip(1).cloned();
        let args: Vec<Arg> = std::iter::once(Arg::Node(now)).chain(args).collect();
        let kwargs = self.graph.kwargs(seen.call).to_vec();
        let mut made = self.insert_with(reader, &target, args, kwargs)?;
        if let Some(item) = seen.item {
            let target = self.graph.target(view).to_string();
            made = self.insert(reader, &target, vec![Arg::Node(made), Arg::Int(item)])?;
        }
        let kind = |n: NodeId| self.graph.ty(n).as_tensor().map(|t| (t.dtype, t.sizes.clone()));
        match kind(made) == kind(view) {
            true => Ok(made),
            false => Err(self.kept(view, "made again after a write it is of another type")),
        }
    }

    pub(super) fn insert(&mut self, before: NodeId, target: &str, args: Vec<Arg>) -> Result<NodeId, Kept> {
        self.insert_with(before, target, args, Vec::new())
    }

    pub(super) fn insert_with(
        &mut self,
        before: NodeId,
        target: &str,
        args: Vec<Arg>,
        kwargs: Vec<(StrId, Arg)>,
    ) -> Result<NodeId, Kept> {
        let (Some(body), name) =
            (self.graph.place(before).map(|(b, _)| b), target.split('.').nth(1).unwrap_or("value"))
        else {
            return Err(self.kept(before, "it stands in no body"));
        };
        let id = self.graph.texts.intern(target);
        let name = self.graph.free_name(body, name);
        let (args, kwargs) = (args.into_boxed_slice(), kwargs.into_boxed_slice());
        let new = NewNode { kind: NodeKind::Call, target: id, args, kwargs, ty: ValueType::Unknown };
        let node = self.graph.insert(body, Some(before), &name, new);
        match self.registry.infer_node(&mut self.graph, node) {
            Ok(ty) => {
                self.graph.set_type(node, ty);
                Ok(node)
            }
            Err(error) => Err(self.kept(before, error.to_string())),
        }
    }
}
