//! What one node holds.

use serde::{Deserialize, Serialize};

use super::{Arg, Operands, StrId, ValueType};

/// The kinds of FX nodes that an exported graph has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// Number of bytes.
    pub len: u32,
}

/// A key and its value; `None` takes the entry away.
pub type MetaEntry = (StrId, Option<StrId>);

/// Metadata of a node: the JSON object that its file holds, left where it is, and what was set since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The object as the file holds it.
    pub json: Option<Span>,
    /// Entries set (or, with `None`, removed) since, in order; they win over `json`.
    pub set: Option<Box<Vec<MetaEntry>>>,
}

/// What of a node's type is somebody's word: an annotation that no rule confirmed, or what rules computed from one.
///
/// A type is a function of the inputs only where this is [`Hearsay::NONE`]. Two facts are told apart: what the node's own annotation
/// says (*told*), and what follows from it and from operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Hearsay(u8);

impl Hearsay {
    /// Rules computed all of it from what the inputs state.
    pub const NONE: Hearsay = Hearsay(0);
    /// No recording says that the rule's strides hold for operands that lie so.
    pub const STRIDES: Hearsay = Hearsay(0b0010);
    /// Strides are told by the annotation alone.
    pub const TOLD_STRIDES: Hearsay = Hearsay(0b1010);
    /// All of it is told by the annotation alone.
    pub const TOLD: Hearsay = Hearsay(0b1111);

    /// Returns whether sizes, dtype or a scalar's value are somebody's word.
    pub fn sizes(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns whether strides are somebody's word; they are wherever sizes are.
    pub fn strides(self) -> bool {
        self.0 & 2 != 0
    }

    /// Returns what the node's own annotation says that no rule confirmed.
    pub fn told(self) -> Hearsay {
        Hearsay(self.0 & 0b1100 | (self.0 & 0b1100) >> 2)
    }

    /// Returns whether the node's own annotation says what no rule confirmed about sizes.
    pub fn is_told(self) -> bool {
        self.0 & 4 != 0
    }

    /// Returns both.
    pub fn max(self, other: Hearsay) -> Hearsay {
        Hearsay(self.0 | other.0)
    }

    /// Returns this and what follows from an operand.
    pub fn with_operand(self, operand: Hearsay) -> Hearsay {
        Hearsay(self.0 | operand.0 & 0b11 | (operand.0 & 1) << 1)
    }
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
    /// What of the type is somebody's word.
    pub hearsay: Hearsay,
    /// The annotation as it was read, where the writer would print another one.
    pub printed: Option<StrId>,
    /// Metadata.
    pub meta: Meta,
}

impl Row {
    /// Returns every node that the arguments name, in written order, with repetitions.
    pub fn operands(&self) -> impl Iterator<Item = super::NodeId> + '_ {
        Operands::of(&self.args, &self.kwargs)
    }
}
