//! A GE graph in the making: operators that name each other by number.
//!
//! - `attrs`: attributes; `def`: the graph as messages, for the forms that people read; `write`: its bytes, in one go.
//!
//! Promises: the bytes are those of the messages. Leaves what the graph means to who makes it.

mod attrs;
mod def;
mod write;

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

pub(super) use attrs::Attrs;
pub(super) use def::operators;

use super::files::{self, Format};
use super::proto::{self, AttrDef, DataType};

/// The name that TorchAir gives every graph.
const NAME: &str = "graph_1";

/// A GE graph whose operators name each other by number.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) ops: Vec<Op>,
    pub(super) attrs: proto::Attrs,
}

impl Draft {
    fn live(&self) -> impl Iterator<Item = &Op> {
        self.ops.iter().filter(|op| !op.is_gone)
    }

    /// Returns how many operators there are.
    pub fn len(&self) -> usize {
        self.live().count()
    }

    /// Returns whether there is no operator.
    pub fn is_empty(&self) -> bool {
        self.live().next().is_none()
    }

    /// Returns the types of the operators, in order.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        self.live().map(|op| op.kind)
    }

    /// Returns an attribute of the graph.
    pub fn attribute(&self, name: &str) -> Option<&AttrDef> {
        self.attrs.get(name)
    }

    /// Returns the bytes of the graph in a format.
    pub fn encode(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Bin => write::model(self),
            other => files::encode(&self.to_def(), other),
        }
    }
}

/// What feeds an input of an operator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Source {
    /// Nothing.
    Unfed,
    /// An output of an operator.
    Data(usize, usize),
    /// An operator that must have run.
    Control(usize),
}

impl Source {
    /// Returns the operator.
    pub(super) fn op(self) -> Option<usize> {
        match self {
            Source::Unfed => None,
            Source::Data(op, _) | Source::Control(op) => Some(op),
        }
    }

    /// Returns the same of another operator.
    pub(super) fn of(self, op: usize) -> Self {
        match self {
            Source::Unfed => Source::Unfed,
            Source::Data(_, output) => Source::Data(op, output),
            Source::Control(_) => Source::Control(op),
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Source::Control(_))
    }
}

/// One operator.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) name: Arc<str>,
    pub(super) kind: &'static str,
    pub(super) inputs: SmallVec<[Source; 2]>,
    pub(super) attrs: Attrs,
    /// One a data input, unfed ones included.
    pub(super) takes: Vec<Desc>,
    /// One an output.
    pub(super) gives: Vec<Desc>,
    /// It was taken out; its number stays.
    pub(super) is_gone: bool,
}

impl Op {
    pub(super) fn new(name: Arc<str>, kind: &'static str) -> Self {
        let (attrs, takes, gives) = (Attrs::default(), Vec::new(), Vec::new());
        Self { name, kind, inputs: SmallVec::new(), attrs, takes, gives, is_gone: false }
    }

    /// Returns the data inputs in slot order.
    pub(super) fn data_inputs(&self) -> impl Iterator<Item = Source> + '_ {
        self.inputs.iter().copied().filter(|i| !i.is_control())
    }
}

/// The type of one input or output.
#[derive(Clone, Debug)]
pub(super) struct Desc {
    pub(super) name: Cow<'static, str>,
    pub(super) dtype: DataType,
    pub(super) shape: Option<Arc<[i64]>>,
    pub(super) layout: Cow<'static, str>,
    pub(super) device: &'static str,
    /// Whether it is of an input that nothing feeds.
    pub(super) is_unfed: bool,
    /// The FX type, for people.
    pub(super) meta: Option<Arc<str>>,
    /// The FX value, for people.
    pub(super) fx_name: Option<Box<str>>,
}

impl Default for Desc {
    fn default() -> Self {
        Self::named("")
    }
}

impl Desc {
    pub(super) fn named(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            dtype: DataType::Undefined,
            shape: None,
            layout: Cow::Borrowed(""),
            device: "",
            is_unfed: false,
            meta: None,
            fx_name: None,
        }
    }
}
