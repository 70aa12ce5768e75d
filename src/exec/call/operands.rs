//! The values of one call as type rules and argument binding see them: a tiny graph of operands.
//!
//! Promises: every tensor of the call is a node of known sizes, strides and offset; every number is a literal.

use crate::graph::{Arg, BodyId, Device, Hearsay, Interner, NodeId, NodeKind, Signature, StrId, ValueType, View};
use crate::sym::Symbols;

use crate::exec::tensor::Tensor;
use crate::exec::tensor::value::Value;

/// Operands of one call.
#[derive(Default)]
pub struct Operands {
    /// Tensors, in the order in which they were met.
    tensors: Vec<Option<Tensor>>,
    types: Vec<ValueType>,
    texts: Interner,
    symbols: Symbols,
}

impl Operands {
    /// Returns the argument that a value is.
    pub fn arg(&mut self, value: &Value, device: &Device) -> Arg {
        match value {
            Value::None => Arg::None,
            Value::Bool(v) => Arg::Bool(*v),
            Value::Int(v) => Arg::Int(*v),
            Value::Float(v) => Arg::Float(*v),
            Value::Complex(re, im) => Arg::Complex(*re, *im),
            Value::Literal(arg) => arg.clone(),
            Value::List(all) => Arg::List(all.iter().map(|v| self.arg(v, device)).collect()),
            Value::Body(body) => self.node(ValueType::Body(*body), None),
            Value::Tensor(t) => self.node(ValueType::tensor(t.meta.ty(device)), Some(t)),
        }
    }

    fn node(&mut self, ty: ValueType, tensor: Option<&Tensor>) -> Arg {
        let index = self.types.len() as u64;
        self.types.push(ty);
        self.tensors.push(tensor.cloned());
        NodeId::from_bits(index).map_or(Arg::None, Arg::Node)
    }

    /// Returns the id of a keyword.
    pub fn keyword(&mut self, text: &str) -> StrId {
        self.texts.intern(text)
    }

    /// Returns whether any operand is a tensor.
    pub fn has_tensors(&self) -> bool {
        self.tensors.iter().any(Option::is_some)
    }

    /// Returns the tensors, in the order in which they were met.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.tensors.iter().flatten()
    }

    /// Returns the tensor of an operand.
    pub fn get(&self, id: NodeId) -> Option<&Tensor> {
        self.tensors.get(place(id))?.as_ref()
    }
}

fn place(id: NodeId) -> usize {
    usize::try_from(id.to_bits()).unwrap_or(usize::MAX)
}

static UNKNOWN: ValueType = ValueType::Unknown;

impl View for Operands {
    fn as_view(&self) -> &dyn View {
        self
    }

    fn assumes_contiguous(&self) -> bool {
        false
    }

    fn texts(&self) -> &Interner {
        &self.texts
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn signature(&self) -> Option<&Signature> {
        None
    }

    fn contains(&self, id: NodeId) -> bool {
        place(id) < self.types.len()
    }

    fn first(&self, _: BodyId) -> Option<NodeId> {
        None
    }

    fn last(&self, _: BodyId) -> Option<NodeId> {
        None
    }

    fn next(&self, _: NodeId) -> Option<NodeId> {
        None
    }

    fn previous(&self, _: NodeId) -> Option<NodeId> {
        None
    }

    fn place(&self, _: NodeId) -> Option<(BodyId, u64)> {
        None
    }

    fn kind(&self, _: NodeId) -> NodeKind {
        NodeKind::Placeholder
    }

    fn target_id(&self, _: NodeId) -> StrId {
        StrId(u32::MAX)
    }

    fn name_id(&self, _: NodeId) -> StrId {
        StrId(u32::MAX)
    }

    fn args(&self, _: NodeId) -> &[Arg] {
        &[]
    }

    fn kwargs(&self, _: NodeId) -> &[(StrId, Arg)] {
        &[]
    }

    fn ty(&self, id: NodeId) -> &ValueType {
        self.types.get(place(id)).unwrap_or(&UNKNOWN)
    }

    fn hearsay(&self, _: NodeId) -> Hearsay {
        Hearsay::NONE
    }

    fn users_in_order(&self, _: NodeId) -> Vec<NodeId> {
        Vec::new()
    }

    fn names_attributes(&self) -> bool {
        false
    }

    fn targets(&self) -> &[StrId] {
        &[]
    }

    fn body_count(&self) -> usize {
        0
    }

    fn body_name(&self, _: BodyId) -> &str {
        ""
    }

    fn body_parent(&self, _: BodyId) -> Option<BodyId> {
        None
    }
}
