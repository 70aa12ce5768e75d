//! A GE graph as it stands in bytes or messages: texts are theirs, and lists are as long as they are.
//!
//! Promises: fields have the names of the messages (`files/ge.proto`); attributes are in the order of their names, each once.
//! Leaves reading to `files/lean.rs`.

use std::borrow::Cow;

use super::proto::{AttrDef, Attrs, GraphDef, OpDef, TensorDescriptor};

/// A graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Written<'b> {
    /// Its operators.
    pub op: Vec<WrittenOp<'b>>,
    /// What it says of itself.
    pub attr: WrittenAttrs<'b>,
}

/// An operator.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WrittenOp<'b> {
    /// Its name.
    pub name: &'b str,
    /// Its type.
    pub r#type: &'b str,
    /// What it takes and waits for.
    pub input: Box<[&'b str]>,
    /// Its attributes.
    pub attr: WrittenAttrs<'b>,
    /// One a data input.
    pub input_desc: Box<[WrittenDesc<'b>]>,
    /// One an output.
    pub output_desc: Box<[WrittenDesc<'b>]>,
}

/// The type of one input or output.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WrittenDesc<'b> {
    /// The slot's name.
    pub name: &'b str,
    /// Element type.
    pub dtype: i32,
    /// Sizes, where they are said.
    pub shape: Option<Box<[i64]>>,
    /// Format name.
    pub layout: &'b str,
    /// Its attributes.
    pub attr: WrittenAttrs<'b>,
    /// Where it is.
    pub device_type: &'b str,
}

/// Attributes, in the order of their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WrittenAttrs<'b>(Box<[(&'b str, Cow<'b, AttrDef>)]>);

impl<'b> WrittenAttrs<'b> {
    /// Returns attributes that are in order; `None` where they are not, or one is there twice.
    pub(super) fn in_order(all: Box<[(&'b str, Cow<'b, AttrDef>)]>) -> Option<Self> {
        all.is_sorted_by(|(a, _), (b, _)| a < b).then_some(Self(all))
    }

    fn of(attrs: &'b Attrs) -> Self {
        Self(attrs.iter().map(|(name, attr)| (name.as_str(), Cow::Borrowed(attr))).collect())
    }

    /// Returns the attribute of that name.
    pub fn get(&self, name: &str) -> Option<&AttrDef> {
        let at = self.0.binary_search_by_key(&name, |(own, _)| own).ok()?;
        self.0.get(at).map(|(_, attr)| &**attr)
    }
}

impl<'b> Written<'b> {
    /// Returns a graph that is there in messages.
    pub fn of(graph: &'b GraphDef) -> Self {
        Self { op: graph.op.iter().map(WrittenOp::of).collect(), attr: WrittenAttrs::of(&graph.attr) }
    }
}

impl<'b> WrittenOp<'b> {
    fn of(op: &'b OpDef) -> Self {
        Self {
            name: &op.name,
            r#type: &op.r#type,
            input: op.input.iter().map(String::as_str).collect(),
            attr: WrittenAttrs::of(&op.attr),
            input_desc: op.input_desc.iter().map(WrittenDesc::of).collect(),
            output_desc: op.output_desc.iter().map(WrittenDesc::of).collect(),
        }
    }
}

impl<'b> WrittenDesc<'b> {
    fn of(desc: &'b TensorDescriptor) -> Self {
        Self {
            name: &desc.name,
            dtype: desc.dtype,
            shape: desc.shape.as_ref().map(|s| s.dim.as_slice().into()),
            layout: &desc.layout,
            attr: WrittenAttrs::of(&desc.attr),
            device_type: &desc.device_type,
        }
    }

    /// Returns the sizes; none where they are not said.
    pub fn sizes(&self) -> &[i64] {
        self.shape.as_deref().unwrap_or_default()
    }
}
