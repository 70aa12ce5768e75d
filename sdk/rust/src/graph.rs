//! A graph: its nodes, and where to insert.

use crate::bindings::airlock::pass::graph as raw;
use crate::bindings::airlock::pass::types::Dim;
use crate::call::InsertionPoint;
use crate::{EffectsTable, Node, Relation, Result, Snapshot};

/// The model's graph, or the body of a `cond`, `while_loop` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Graph(u32);

impl Graph {
    /// The model's own graph: what `run` is given.
    pub const MAIN: Graph = Graph(0);

    /// All graphs: the model's own, then the bodies.
    pub fn all() -> Vec<Graph> {
        raw::sub_graphs().into_iter().map(Graph).collect()
    }

    /// The graph with this number.
    pub const fn from_id(id: u32) -> Graph {
        Graph(id)
    }

    /// Its number.
    pub const fn id(self) -> u32 {
        self.0
    }

    /// Its nodes in order, as they are now: the list does not follow later edits.
    pub fn nodes(self) -> Vec<Node> {
        raw::nodes(self.0).into_iter().map(Node::from_id).collect()
    }

    /// The calls that have this target, in order.
    pub fn find_nodes(self, target: &str) -> Vec<Node> {
        raw::find(self.0, target).into_iter().map(Node::from_id).collect()
    }

    /// The output node: the last one.
    pub fn output(self) -> Option<Node> {
        self.nodes().pop()
    }

    /// Reads the whole graph at once: for passes over many thousand nodes.
    pub fn read(self) -> Snapshot {
        Snapshot::from_columns(raw::read_columns(self.0))
    }

    /// What nodes do with their arguments as they stand, of any graphs: one question for all of them.
    ///
    /// ```no_run
    /// # use airlock_pass::{Graph, Result};
    /// # fn f(graph: Graph) -> Result<()> {
    /// let nodes = graph.nodes();
    /// let effects = Graph::effects_of(&nodes)?;
    /// for (node, does) in nodes.iter().zip(effects.iter()).rev() {
    ///     if does.pure && !does.may_raise && node.users()?.is_empty() {
    ///         node.erase()?;
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn effects_of(nodes: &[Node]) -> Result<EffectsTable> {
        let ids: Vec<u64> = nodes.iter().map(|node| node.id()).collect();
        Ok(EffectsTable::from_raw(raw::effects_of(&ids)?))
    }

    /// What calls of operators do, the worst over all arguments that they take. What nobody described is
    /// [`SideEffect::Opaque`](crate::SideEffect::Opaque).
    ///
    /// ```no_run
    /// # use airlock_pass::Graph;
    /// let effects = Graph::effects_of_target(&["aten.add.Tensor", "aten.copy_.default"]);
    /// assert!(effects.at(0).pure && effects.at(1).may_write(0));
    /// ```
    pub fn effects_of_target(targets: &[impl AsRef<str>]) -> EffectsTable {
        let targets: Vec<String> = targets.iter().map(|target| target.as_ref().to_owned()).collect();
        EffectsTable::from_raw(raw::effects_of_target(&targets))
    }

    /// A place right before a node.
    pub fn inserting_before(self, node: Node) -> InsertionPoint {
        InsertionPoint::new(raw::Point::Before(node.id()))
    }

    /// A place right after a node. Several insertions stand in the order in which they were made.
    pub fn inserting_after(self, node: Node) -> InsertionPoint {
        InsertionPoint::new(raw::Point::After(node.id()))
    }

    /// The place after the placeholders.
    pub fn inserting_at_start(self) -> InsertionPoint {
        InsertionPoint::new(raw::Point::Start(self.0))
    }

    /// The place before the output.
    pub fn inserting_at_end(self) -> InsertionPoint {
        InsertionPoint::new(raw::Point::End(self.0))
    }

    /// Erases a node that has no users.
    pub fn erase_node(self, node: Node) -> Result<()> {
        node.erase()
    }
}

/// What the host knows of two sizes: always so, never so, or nothing.
pub fn known(a: &Dim, relation: Relation, b: &Dim) -> Option<bool> {
    raw::known(a, relation, b)
}

/// The smallest and the largest value of a size; no largest where it is unbounded.
pub fn range_of(size: &Dim) -> (i64, Option<i64>) {
    raw::range_of(size)
}
