//! A whole graph at once, for passes over many thousand nodes.
//!
//! A snapshot is what the graph was when it was read; edits do not show in it. Everything here is memory of the pass: no
//! call to the host is made after reading.

use std::cell::OnceCell;

use crate::Node;
use crate::bindings::airlock::pass::graph::{Columns, Effects};
use crate::bindings::airlock::pass::types::{Arg, NodeKind};

/// Operands from here on are indices of literals.
const LITERAL: u64 = 1 << 63;

/// A graph as it was when it was read.
///
/// ```no_run
/// # use airlock_pass::{Graph, Operand};
/// # fn f(graph: Graph) {
/// let snapshot = graph.read();
/// for call in snapshot.calls("aten.add.Tensor") {
///     if let Some(Operand::Node(input)) = call.args().next() {
///         let users = call.users().count();
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Snapshot {
    columns: Columns,
    by_id: OnceCell<Vec<(u64, u32)>>,
    users: OnceCell<Users>,
}

/// Users of node `i` are `list[starts[i]..starts[i + 1]]`.
#[derive(Debug)]
struct Users {
    starts: Vec<u32>,
    list: Vec<u32>,
}

/// One argument of a node in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand<'s> {
    /// A node by itself.
    Node(Node),
    /// Anything else. Equal literals of a snapshot have the same index.
    Literal {
        /// Its position among the snapshot's literals.
        index: usize,
        /// The literal: a value, or a list (also of nodes).
        arg: &'s Arg,
    },
}

impl<'s> Operand<'s> {
    /// The nodes in it: itself, or those in the list.
    pub fn nodes(self) -> impl Iterator<Item = Node> + 's {
        let (one, list) = match self {
            Operand::Node(node) => (Some(node), None),
            Operand::Literal { arg, .. } => (None, Some(arg.nodes())),
        };
        one.into_iter().chain(list.into_iter().flatten())
    }

    /// As an argument of an edit.
    pub fn to_arg(self) -> Arg {
        match self {
            Operand::Node(node) => node.into(),
            Operand::Literal { arg, .. } => arg.clone(),
        }
    }

    /// The node, if it is one by itself.
    pub fn as_node(self) -> Option<Node> {
        match self {
            Operand::Node(node) => Some(node),
            Operand::Literal { .. } => None,
        }
    }
}

impl Snapshot {
    /// A snapshot of flat lists. Lists that do not fit together give nodes without arguments, never a panic.
    pub fn from_columns(columns: Columns) -> Snapshot {
        Snapshot { columns, by_id: OnceCell::new(), users: OnceCell::new() }
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.columns.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.columns.ids.is_empty()
    }

    /// The nodes in order.
    pub fn nodes(&self) -> impl Iterator<Item = NodeRef<'_>> {
        (0..self.len()).map(|index| NodeRef { snapshot: self, index })
    }

    /// The node at a position.
    ///
    /// # Panics
    ///
    /// Where there is none, as with a slice.
    pub fn at(&self, index: usize) -> NodeRef<'_> {
        assert!(index < self.len(), "node {index} of {}", self.len());
        NodeRef { snapshot: self, index }
    }

    /// The calls that have this target, in order.
    pub fn calls(&self, target: &str) -> impl Iterator<Item = NodeRef<'_>> {
        let id = self.columns.texts.iter().position(|text| text == target);
        self.nodes().filter(move |node| node.kind() == NodeKind::Call && Some(node.target_id()) == id)
    }

    /// The node with this id, if the snapshot has it.
    pub fn get(&self, node: Node) -> Option<NodeRef<'_>> {
        let by_id = self.by_id.get_or_init(|| {
            let mut by_id: Vec<(u64, u32)> = self.columns.ids.iter().copied().zip(0..).collect();
            by_id.sort_unstable();
            by_id
        });
        let at = by_id.binary_search_by_key(&node.id(), |(id, _)| *id).ok()?;
        let index = by_id[at].1 as usize;
        Some(NodeRef { snapshot: self, index })
    }

    /// The texts that targets and keywords are indices of.
    pub fn texts(&self) -> &[String] {
        &self.columns.texts
    }

    /// The arguments that are not a node by themselves.
    pub fn literals(&self) -> &[Arg] {
        &self.columns.literals
    }

    fn text(&self, id: u32) -> &str {
        self.columns.texts.get(id as usize).map_or("", String::as_str)
    }

    fn operand(&self, raw: u64) -> Operand<'_> {
        if raw < LITERAL {
            return Operand::Node(Node::from_id(raw));
        }
        let index = (raw - LITERAL) as usize;
        let arg = self.columns.literals.get(index).unwrap_or(&Arg::NONE);
        Operand::Literal { index, arg }
    }

    fn users(&self) -> &Users {
        self.users.get_or_init(|| {
            let mut pairs: Vec<(u32, u32)> = Vec::new();
            for node in self.nodes() {
                let user = node.index as u32;
                let inputs = node.input_nodes().filter_map(|input| self.get(input));
                pairs.extend(inputs.map(|input| (input.index as u32, user)));
            }
            pairs.sort_unstable();
            pairs.dedup();
            Users::from_sorted(&pairs, self.len())
        })
    }
}

impl Users {
    fn from_sorted(pairs: &[(u32, u32)], nodes: usize) -> Users {
        let mut starts = vec![0u32; nodes + 1];
        for (node, _) in pairs {
            starts[*node as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let list = pairs.iter().map(|(_, user)| *user).collect();
        Users { starts, list }
    }
}

/// A node of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef<'s> {
    snapshot: &'s Snapshot,
    index: usize,
}

impl<'s> NodeRef<'s> {
    /// The node itself, for edits.
    pub fn node(self) -> Node {
        Node::from_id(self.snapshot.columns.ids[self.index])
    }

    /// Its position in the graph.
    pub fn index(self) -> usize {
        self.index
    }

    /// Whether it is a placeholder, a call, a get-attr or the output.
    pub fn kind(self) -> NodeKind {
        match self.snapshot.columns.kinds.get(self.index) {
            Some(0) => NodeKind::Placeholder,
            Some(2) => NodeKind::GetAttr,
            Some(3) => NodeKind::Output,
            _ => NodeKind::Call,
        }
    }

    /// Its target.
    pub fn target(self) -> &'s str {
        self.snapshot.text(self.target_id() as u32)
    }

    /// Its target as an index of [`Snapshot::texts`].
    pub fn target_id(self) -> usize {
        self.snapshot.columns.targets.get(self.index).map_or(usize::MAX, |id| *id as usize)
    }

    /// Whether it is a call of this target.
    pub fn is_call(self, target: &str) -> bool {
        self.kind() == NodeKind::Call && self.target() == target
    }

    /// Its positional arguments.
    pub fn args(self) -> impl Iterator<Item = Operand<'s>> {
        let columns = &self.snapshot.columns;
        let operands = slice(&columns.operands, &columns.starts, self.index);
        operands.iter().map(move |raw| self.snapshot.operand(*raw))
    }

    /// Its keyword arguments.
    pub fn kwargs(self) -> impl Iterator<Item = (&'s str, Operand<'s>)> {
        let columns = &self.snapshot.columns;
        let names = slice(&columns.kw_names, &columns.kw_starts, self.index);
        let operands = slice(&columns.kw_operands, &columns.kw_starts, self.index);
        let pairs = names.iter().zip(operands);
        pairs.map(move |(name, raw)| (self.snapshot.text(*name), self.snapshot.operand(*raw)))
    }

    /// Every node that it uses, in argument order, also in lists.
    pub fn input_nodes(self) -> impl Iterator<Item = Node> {
        let operands = self.args().chain(self.kwargs().map(|(_, operand)| operand));
        operands.flat_map(Operand::nodes)
    }

    /// Every node that it uses with the parameter of `effects`, which are those of this node or of its target, that it is an
    /// argument of. A keyword that they do not name has the number `u32::MAX`.
    pub fn inputs_by_parameter(self, effects: &Effects) -> impl Iterator<Item = (u32, Node)> {
        let args = (0..).zip(self.args());
        let kwargs = self.kwargs().map(|(name, operand)| (effects.parameter(name).unwrap_or(u32::MAX), operand));
        args.chain(kwargs).flat_map(|(parameter, operand)| operand.nodes().map(move |node| (parameter, node)))
    }

    /// The nodes that use it, each once, in graph order. The first call reads all users of the snapshot.
    pub fn users(self) -> impl Iterator<Item = NodeRef<'s>> {
        let users = self.snapshot.users();
        let list = slice(&users.list, &users.starts, self.index);
        let snapshot = self.snapshot;
        list.iter().map(move |user| NodeRef { snapshot, index: *user as usize })
    }
}

fn slice<'c, T>(column: &'c [T], starts: &[u32], index: usize) -> &'c [T] {
    let bounds = starts.get(index).zip(starts.get(index + 1));
    let range = bounds.map(|(start, end)| *start as usize..*end as usize);
    range.and_then(|range| column.get(range)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;

    /// x; add(x, 1); cat([x, add], dim = 1); output(cat)
    fn columns() -> Columns {
        Columns {
            ids: vec![10, 11, 12, 13],
            kinds: vec![0, 1, 1, 3],
            targets: vec![0, 1, 2, 3],
            starts: vec![0, 0, 2, 3, 4],
            operands: vec![10, LITERAL, LITERAL + 1, 12],
            kw_starts: vec![0, 0, 0, 1, 1],
            kw_names: vec![4],
            kw_operands: vec![LITERAL],
            literals: vec![Arg::from(1), Arg::Many(vec![Scalar::Node(10), Scalar::Node(11)])],
            texts: ["x", "aten.add.Tensor", "aten.cat.default", "output", "dim"].map(String::from).to_vec(),
        }
    }

    #[test]
    fn a_snapshot_reads_like_the_graph() {
        let snapshot = Snapshot::from_columns(columns());
        let add = snapshot.calls("aten.add.Tensor").next().unwrap();
        assert_eq!(add.node(), Node::from_id(11));
        let args: Vec<Arg> = add.args().map(Operand::to_arg).collect();
        assert_eq!(args, [Arg::from(Node::from_id(10)), Arg::from(1)]);

        let cat = snapshot.get(Node::from_id(12)).unwrap();
        assert_eq!(cat.target(), "aten.cat.default");
        let (name, value) = cat.kwargs().next().unwrap();
        assert_eq!((name, value.to_arg()), ("dim", Arg::from(1)));
        assert_eq!(cat.input_nodes().map(Node::id).collect::<Vec<_>>(), [10, 11]);
        assert_eq!(snapshot.nodes().last().unwrap().kind(), NodeKind::Output);
    }

    #[test]
    fn users_include_those_that_use_in_a_list_and_stand_once() {
        let snapshot = Snapshot::from_columns(columns());
        let users = |id| -> Vec<u64> {
            let node = snapshot.get(Node::from_id(id)).unwrap();
            node.users().map(|user| user.node().id()).collect()
        };
        assert_eq!(users(10), [11, 12]);
        assert_eq!(users(11), [12]);
        assert_eq!(users(12), [13]);
        assert!(users(13).is_empty());
    }

    #[test]
    fn columns_that_do_not_fit_together_give_no_panic() {
        let mut broken = columns();
        broken.starts.truncate(2);
        broken.operands.clear();
        broken.literals.clear();
        broken.texts.clear();
        broken.kinds.clear();
        broken.targets.clear();
        let snapshot = Snapshot::from_columns(broken);
        for node in snapshot.nodes() {
            assert_eq!(node.args().count(), 0);
            assert_eq!(node.target(), "");
            let _ = (node.kind(), node.kwargs().count(), node.users().count());
        }
        assert!(snapshot.get(Node::from_id(99)).is_none());
    }
}
