//! Terms: what a value is, without names, order and memory.
//!
//! Promises: two values with equal terms are equal for all inputs, bit by bit; so are two layouts, memories and parts of memory. A
//! [`Form`] is compared by its whole structure, and floats by their bits.

use smallvec::SmallVec;

use crate::graph::{Arg, Device, Dtype, Layout, MemoryFormat};
use crate::sym::Dim;
use crate::term::index_map::ViewMap;
use crate::term::sizes::Dims;
use crate::term::store::ValueId;

/// Which graph a value was found in.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Side {
    /// The graph as it was.
    Before,
    /// The graph as it is.
    After,
    /// A node that the edit did not reach: one value on both sides.
    Both,
}

/// What is called, by its number in the store: one number a target.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Callee(pub u32);

/// A piece of an operator's arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Token {
    None,
    Int(i64),
    Float(u64),
    Complex(u64, u64),
    Bool(bool),
    Str(Box<str>),
    Dtype(Dtype),
    Device(Device),
    Layout(Layout),
    MemoryFormat(MemoryFormat),
    Operator(Box<str>),
    Other(Box<str>),
    /// A list or tuple of so many.
    List(usize),
    /// A keyword beyond the schema.
    Key(Box<str>),
    /// A size that the inputs settle.
    Dim(Dim),
    /// The next child.
    Child,
    /// The so-many-th effect: draws and effects are never one.
    Event(u64),
}

impl Token {
    /// Returns the token of an argument that holds no others and no node.
    pub fn scalar(arg: &Arg) -> Option<Self> {
        Some(match arg {
            Arg::None => Token::None,
            Arg::Int(v) => Token::Int(*v),
            Arg::Float(v) => Token::Float(v.to_bits()),
            Arg::Complex(re, im) => Token::Complex(re.to_bits(), im.to_bits()),
            Arg::Bool(v) => Token::Bool(*v),
            Arg::Str(v) => Token::Str(v.clone()),
            Arg::Dtype(v) => Token::Dtype(*v),
            Arg::Device(v) => Token::Device(v.clone()),
            Arg::Layout(v) => Token::Layout(*v),
            Arg::MemoryFormat(v) => Token::MemoryFormat(*v),
            Arg::Operator(v) => Token::Operator(v.clone()),
            Arg::Other(v) => Token::Other(v.clone()),
            Arg::Node(_) | Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_) => return None,
        })
    }

    /// Returns the token of a count.
    pub fn count(n: usize) -> Self {
        Token::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

/// Terms that are no tensors.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fact {
    /// How a value lies in memory: strides that a rule or an input states.
    Strides,
    /// How an input lies that states nothing, by its number.
    InputLayout,
    /// How the result of a call lies, as a function of the call and of how its operands lie.
    LayoutOf(Callee),
    /// How a value lies that is another one with its dimensions in another order: for each dimension, which it was.
    Permuted,
    /// Storages that may overlap, after a write: the state before, what was born since, what was written where.
    Memory,
    /// What one of these storages holds.
    Held,
    /// The storage of that rank in its group.
    Origin,
    /// A part of memory that a call takes, where no index map says which.
    PartBy(Callee),
    /// What a call asks of its operands in order not to raise.
    Asks(Callee),
    /// Whether all integers of the child are places along a dimension of a size.
    Within,
}

/// What is done to the children.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// An input of the graph, by its number.
    Input(u32),
    /// A tensor of the module, by its target.
    Attribute(Box<str>),
    /// A value that equals itself only.
    Leaf(ValueId),
    /// A sub-graph, by the number of its structure in the store.
    Body(u32),
    /// A call, its arguments in the order of the schema with all defaults.
    Call {
        /// The target.
        callee: Callee,
        /// The arguments.
        tokens: Box<[Token]>,
        /// Whether the first two children may be exchanged.
        commutes: bool,
    },
    /// The value that a call leaves in what it writes.
    Written {
        /// The target.
        callee: Callee,
        /// The arguments.
        tokens: Box<[Token]>,
        /// The parameter that is written.
        param: usize,
    },
    /// One of several results.
    Item(u32),
    /// A view of the child.
    View {
        /// Which elements.
        map: ViewMap,
        /// The sizes of the child.
        base: Dims,
    },
    /// The first child, with the second in place of the elements that the map takes.
    Scatter {
        /// Which elements.
        map: ViewMap,
        /// The sizes of the first child.
        base: Dims,
    },
    /// The first child, with the second written to a part of it that the third says.
    ScatterAt,
    /// The first child, converted to a dtype.
    Cast(Dtype),
    /// A part of memory: these elements of the child.
    Part(ViewMap),
    /// What is no tensor.
    Of(Fact, Box<[Token]>),
}

/// A form and its children.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// What is done.
    pub form: std::sync::Arc<Form>,
    /// To what.
    pub children: SmallVec<[ValueId; 3]>,
}
