//! Edits in batches: put together here, made by the host in one call, all or none.

use crate::bindings::airlock::pass::graph::{self as raw, Edit, Point};
use crate::bindings::airlock::pass::types::{self, NamedArg};
use crate::call::new_node;
use crate::{Graph, IntoArgs, Node, Result};

/// Ids from here on name the new nodes of a batch.
const NEW: types::Node = 1 << 63;

/// A batch of edits in the order in which they are to be made.
///
/// A node that [`insert_before`](Edits::insert_before) and the like give stands for the new node in this batch only;
/// [`apply`](Edits::apply) gives its real id. Where a batch is refused, nothing of it holds.
///
/// One call may carry a limited amount of data (some megabytes): a pass that makes very many edits applies a batch every
/// few thousand.
///
/// ```no_run
/// # use airlock_pass::{Edits, Graph, Node, Result};
/// # fn f(graph: Graph, x: Node, y: Node, sum: Node) -> Result<()> {
/// let mut edits = Edits::new();
/// let product = edits.insert_before(sum, "aten.mul.Tensor", (x, y));
/// edits.replace_all_uses(sum, product);
/// edits.erase(sum);
/// edits.apply()?;
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Edits {
    edits: Vec<Edit>,
    inserted: u64,
}

impl Edits {
    /// An empty batch.
    pub fn new() -> Edits {
        Edits::default()
    }

    /// How many edits there are.
    pub fn len(&self) -> usize {
        self.edits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Inserts a call right before a node.
    pub fn insert_before(&mut self, node: Node, target: &str, args: impl IntoArgs) -> Node {
        self.insert(Point::Before(node.id()), target, args, Vec::new())
    }

    /// Inserts a call right after a node.
    pub fn insert_after(&mut self, node: Node, target: &str, args: impl IntoArgs) -> Node {
        self.insert(Point::After(node.id()), target, args, Vec::new())
    }

    /// Inserts a call before a graph's output.
    pub fn insert_at_end(&mut self, graph: Graph, target: &str, args: impl IntoArgs) -> Node {
        self.insert(Point::End(graph.id()), target, args, Vec::new())
    }

    /// Inserts a call with keyword arguments at a point of the contract.
    pub fn insert(&mut self, at: Point, target: &str, args: impl IntoArgs, kwargs: Vec<NamedArg>) -> Node {
        let mut new = new_node(at, target);
        new.args = args.into_args();
        new.kwargs = kwargs;
        self.edits.push(Edit::Insert(new));
        let node = Node::from_id(NEW | self.inserted);
        self.inserted += 1;
        node
    }

    /// Replaces a node's arguments.
    pub fn set_args(&mut self, node: Node, args: impl IntoArgs, kwargs: Vec<NamedArg>) {
        self.edits.push(Edit::SetArgs((node.id(), args.into_args(), kwargs)));
    }

    /// Replaces a call's operator.
    pub fn set_target(&mut self, node: Node, target: &str) {
        self.edits.push(Edit::SetTarget((node.id(), target.to_owned())));
    }

    /// Makes every user of `old` use `new`.
    pub fn replace_all_uses(&mut self, old: Node, new: Node) {
        self.edits.push(Edit::ReplaceUses((old.id(), new.id())));
    }

    /// Makes the listed users of `old` use `new`.
    pub fn replace_uses_in(&mut self, old: Node, new: Node, users: &[Node]) {
        let users = users.iter().map(|user| user.id()).collect();
        self.edits.push(Edit::ReplaceUsesIn((old.id(), new.id(), users)));
    }

    /// Moves a node right before another.
    pub fn move_before(&mut self, node: Node, other: Node) {
        self.edits.push(Edit::MoveNode((node.id(), Point::Before(other.id()))));
    }

    /// Moves a node right after another.
    pub fn move_after(&mut self, node: Node, other: Node) {
        self.edits.push(Edit::MoveNode((node.id(), Point::After(other.id()))));
    }

    /// Erases a node.
    pub fn erase(&mut self, node: Node) {
        self.edits.push(Edit::Erase(node.id()));
    }

    /// Writes a note on a node, or with `None` removes it.
    pub fn annotate(&mut self, node: Node, key: &str, value: Option<&str>) {
        let value = value.map(str::to_owned);
        self.edits.push(Edit::Annotate((node.id(), key.to_owned(), value)));
    }

    /// Makes the edits, all or none, and empties the batch. Gives the new nodes in the order in which they were inserted.
    pub fn apply(&mut self) -> Result<Vec<Node>> {
        let edits = std::mem::take(&mut self.edits);
        self.inserted = 0;
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        Ok(raw::apply(&edits)?.into_iter().map(Node::from_id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_nodes_of_a_batch_are_numbered_by_insertion() {
        let x = Node::from_id(1);
        let mut edits = Edits::new();
        let first = edits.insert_before(x, "aten.neg.default", (x,));
        edits.replace_all_uses(x, first);
        let second = edits.insert_after(first, "aten.abs.default", (first,));
        assert_eq!(first.id(), 1 << 63);
        assert_eq!(second.id(), (1 << 63) + 1);
        assert_eq!(edits.len(), 3);
    }

    #[test]
    fn an_empty_batch_needs_no_host() {
        assert_eq!(Edits::new().apply(), Ok(Vec::new()));
    }
}
