//! A node: what it is, and the edits that begin at it.

use crate::bindings::airlock::pass::graph as raw;
use crate::bindings::airlock::pass::types::{self, Arg, ElementType, NamedArg, NodeKind, TensorType};
use crate::{Error, Graph, IntoArgs, Result, texts};

/// A node of a graph. It is a number: copy it, compare it, put it in a map.
///
/// A node that was erased is refused with [`EditCode::Stale`](crate::EditCode::Stale), by every function that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(types::Node);

/// The type of a node's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueType {
    /// One value.
    Single(ElementType),
    /// A tuple or list, which `_operator.getitem` takes apart.
    Many(Vec<ElementType>),
    /// A graph, which a get-attr node hands to `cond` and the like.
    Body(Graph),
}

impl ValueType {
    /// The tensor type, if the value is one tensor.
    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            ValueType::Single(ElementType::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }
}

impl Node {
    /// The node with this id.
    pub const fn from_id(id: types::Node) -> Node {
        Node(id)
    }

    /// Its id.
    pub const fn id(self) -> types::Node {
        self.0
    }

    // ---- reading

    /// Whether it is a placeholder, a call, a get-attr or the output.
    pub fn kind(self) -> Result<NodeKind> {
        Ok(raw::kind(self.0)?)
    }

    /// The graph that it belongs to.
    pub fn graph(self) -> Result<Graph> {
        Ok(Graph::from_id(raw::owner(self.0)?))
    }

    /// Its target: the operator of a call, the name of a placeholder, the attribute of a get-attr.
    pub fn target(self) -> Result<&'static str> {
        Ok(texts::text(raw::target_id(self.0)?))
    }

    /// Whether it is a call of this target. False for a node that does not exist.
    pub fn is_call(self, target: &str) -> bool {
        matches!(self.kind(), Ok(NodeKind::Call)) && self.target().is_ok_and(|found| found == target)
    }

    /// Its name, unique in its graph.
    pub fn name(self) -> Result<String> {
        Ok(raw::name(self.0)?)
    }

    /// Its positional arguments.
    pub fn args(self) -> Result<Vec<Arg>> {
        Ok(raw::args(self.0)?)
    }

    /// Its keyword arguments.
    pub fn kwargs(self) -> Result<Vec<NamedArg>> {
        Ok(raw::kwargs(self.0)?)
    }

    /// The positional argument at an index; nothing where the call leaves it out.
    pub fn arg(self, index: usize) -> Result<Option<Arg>> {
        Ok(self.args()?.into_iter().nth(index))
    }

    /// The keyword argument of a name; nothing where the call leaves it out.
    pub fn kwarg(self, name: &str) -> Result<Option<Arg>> {
        let mut kwargs = self.kwargs()?.into_iter();
        Ok(kwargs.find(|kwarg| kwarg.name == name).map(|kwarg| kwarg.value))
    }

    /// The node that is the positional argument at an index; an error where there is none or it is no node.
    pub fn input(self, index: usize) -> Result<Node> {
        let node = self.arg(index)?.and_then(|arg| arg.as_node());
        node.ok_or_else(|| {
            let name = self.name().unwrap_or_default();
            Error::Pass(format!("`{name}`: argument {index} is not a node"))
        })
    }

    /// Every node that it uses, in argument order; one that is used twice stands twice.
    pub fn all_input_nodes(self) -> Result<Vec<Node>> {
        let mut nodes: Vec<Node> = self.args()?.iter().flat_map(Arg::nodes).collect();
        nodes.extend(self.kwargs()?.iter().flat_map(|kwarg| kwarg.value.nodes()));
        Ok(nodes)
    }

    /// The nodes that use it, each once, in graph order.
    pub fn users(self) -> Result<Vec<Node>> {
        Ok(raw::users(self.0)?.into_iter().map(Node).collect())
    }

    /// The type of its value: FX's `meta["val"]`.
    pub fn value_type(self) -> Result<ValueType> {
        Ok(match raw::type_of(self.0)? {
            types::ValueType::Single(element) => ValueType::Single(element),
            types::ValueType::Many(elements) => ValueType::Many(elements),
            types::ValueType::Body(graph) => ValueType::Body(Graph::from_id(graph)),
        })
    }

    /// The type of its value, if that is one tensor.
    pub fn tensor_type(self) -> Result<Option<TensorType>> {
        Ok(self.value_type()?.as_tensor().cloned())
    }

    /// The node after it.
    pub fn next(self) -> Result<Option<Node>> {
        Ok(raw::next(self.0)?.map(Node))
    }

    /// The node before it.
    pub fn prev(self) -> Result<Option<Node>> {
        Ok(raw::previous(self.0)?.map(Node))
    }

    /// Whether it stands before another node of the same graph.
    pub fn is_before(self, other: Node) -> Result<bool> {
        Ok(raw::is_before(self.0, other.0)?)
    }

    /// A note on it: `stack_trace`, `nn_module_stack`, or what a pass wrote.
    pub fn annotation(self, key: &str) -> Result<Option<String>> {
        Ok(raw::annotation(self.0, key)?)
    }

    // ---- editing

    /// Replaces its arguments, positional and keyword.
    pub fn set_args(self, args: impl IntoArgs, kwargs: &[NamedArg]) -> Result<()> {
        Ok(raw::set_args(self.0, &args.into_args(), kwargs)?)
    }

    /// Replaces its operator.
    pub fn set_target(self, target: &str) -> Result<()> {
        Ok(raw::set_target(self.0, target)?)
    }

    /// Makes every user of it use another node, and gives how many there were. `new` itself may use this node and is
    /// left alone.
    pub fn replace_all_uses_with(self, new: Node) -> Result<u32> {
        Ok(raw::replace_uses(self.0, new.0, None)?)
    }

    /// Makes the listed users of it use another node.
    pub fn replace_uses_in(self, new: Node, users: &[Node]) -> Result<u32> {
        let users: Vec<types::Node> = users.iter().map(|user| user.0).collect();
        Ok(raw::replace_uses(self.0, new.0, Some(&users))?)
    }

    /// Moves it right before another node.
    pub fn move_before(self, other: Node) -> Result<()> {
        Ok(raw::move_node(self.0, raw::Point::Before(other.0))?)
    }

    /// Moves it right after another node.
    pub fn move_after(self, other: Node) -> Result<()> {
        Ok(raw::move_node(self.0, raw::Point::After(other.0))?)
    }

    /// Erases it. It must have no users.
    pub fn erase(self) -> Result<()> {
        Ok(raw::erase(self.0)?)
    }

    /// Writes a note on it, or with `None` removes it.
    pub fn annotate(self, key: &str, value: Option<&str>) -> Result<()> {
        Ok(raw::annotate(self.0, key, value)?)
    }
}
