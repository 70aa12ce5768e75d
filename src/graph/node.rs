//! What one node holds.

use super::{Arg, StrId, ValueType};

/// The kinds of FX nodes that an exported graph has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum NodeKind {
    /// An input of its body. The target is the name that the caller knows.
    Placeholder,
    /// A call of an operator or of a Python function on symbolic scalars.
    Call,
    /// A reference to something by name; here: to a sub-graph.
    GetAttr,
    /// The one last node of a body: its first argument is what the body returns.
    Output,
}

/// A range of bytes in the graph's metadata source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// Number of bytes.
    pub len: u32,
}

/// A key and its value; `None` takes the entry away.
pub type MetaEntry = (StrId, Option<StrId>);

/// Metadata of a node: the JSON object that its file holds, left where it is, and what was set since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The object as the file holds it.
    pub json: Option<Span>,
    /// Entries set (or, with `None`, removed) since, in order; they win over `json`.
    pub set: Option<Box<Vec<MetaEntry>>>,
}

/// All columns of one node but users and order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Kind.
    pub kind: NodeKind,
    /// Target, spelled as in the text form without `torch.ops.`: `aten.mm.default`, `_operator.mul`.
    pub target: StrId,
    /// Name, unique in its body.
    pub name: StrId,
    /// Positional arguments.
    pub args: Box<[Arg]>,
    /// Keyword arguments, in order.
    pub kwargs: Box<[(StrId, Arg)]>,
    /// Type.
    pub ty: ValueType,
    /// The annotation as it was read, where the writer would print another one.
    pub printed: Option<StrId>,
    /// Metadata.
    pub meta: Meta,
}

impl Row {
    /// Returns every node that the arguments name, in written order, with repetitions.
    pub fn operands(&self) -> impl Iterator<Item = super::NodeId> + '_ {
        self.args.iter().chain(self.kwargs.iter().map(|(_, a)| a)).flat_map(Arg::nodes)
    }
}
