//! A graph in which nobody says how the operands of one call lie.
//!
//! Promises: all else is the graph's own. What a rule says of a call in it holds however those operands lie.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::graph::{Arg, BodyId, Hearsay, Interner, NodeId, NodeKind, Signature, StrId, TensorType, ValueType, View};
use crate::sym::Symbols;

/// The graph, and the types that say less.
pub struct Blurred<'a> {
    view: &'a dyn View,
    types: SmallVec<[(NodeId, ValueType); 4]>,
}

impl<'a> Blurred<'a> {
    /// Hides strides of the operands of `node` that are somebody's word.
    pub fn told(view: &'a dyn View, node: NodeId) -> Self {
        let hidden = view.operands(node).filter(|n| view.hearsay(*n).strides());
        Blurred { view, types: hidden.map(|n| (n, without_strides(view.ty(n)))).collect() }
    }

    /// Hides strides of all operands of `node`.
    pub fn all(view: &'a dyn View, node: NodeId) -> Self {
        Blurred { view, types: view.operands(node).map(|n| (n, without_strides(view.ty(n)))).collect() }
    }
}

fn without_strides(ty: &ValueType) -> ValueType {
    let blur = |t: &TensorType| ValueType::Tensor(Arc::new(TensorType { strides: None, ..t.clone() }));
    match ty {
        ValueType::Tensor(t) => blur(t),
        ValueType::Many(all) => {
            ValueType::Many(all.iter().map(|ty| ty.as_tensor().map_or_else(|| ty.clone(), blur)).collect())
        }
        other => other.clone(),
    }
}

impl View for Blurred<'_> {
    fn as_view(&self) -> &dyn View {
        self
    }

    fn assumes_contiguous(&self) -> bool {
        self.view.assumes_contiguous()
    }

    fn texts(&self) -> &Interner {
        self.view.texts()
    }

    fn symbols(&self) -> &Symbols {
        self.view.symbols()
    }

    fn signature(&self) -> Option<&Signature> {
        self.view.signature()
    }

    fn contains(&self, id: NodeId) -> bool {
        self.view.contains(id)
    }

    fn first(&self, body: BodyId) -> Option<NodeId> {
        self.view.first(body)
    }

    fn last(&self, body: BodyId) -> Option<NodeId> {
        self.view.last(body)
    }

    fn next(&self, id: NodeId) -> Option<NodeId> {
        self.view.next(id)
    }

    fn previous(&self, id: NodeId) -> Option<NodeId> {
        self.view.previous(id)
    }

    fn place(&self, id: NodeId) -> Option<(BodyId, u64)> {
        self.view.place(id)
    }

    fn kind(&self, id: NodeId) -> NodeKind {
        self.view.kind(id)
    }

    fn target_id(&self, id: NodeId) -> StrId {
        self.view.target_id(id)
    }

    fn name_id(&self, id: NodeId) -> StrId {
        self.view.name_id(id)
    }

    fn args(&self, id: NodeId) -> &[Arg] {
        self.view.args(id)
    }

    fn kwargs(&self, id: NodeId) -> &[(StrId, Arg)] {
        self.view.kwargs(id)
    }

    fn ty(&self, id: NodeId) -> &ValueType {
        self.types.iter().find(|(n, _)| *n == id).map_or_else(|| self.view.ty(id), |(_, ty)| ty)
    }

    fn hearsay(&self, id: NodeId) -> Hearsay {
        self.view.hearsay(id)
    }

    fn users_in_order(&self, id: NodeId) -> Vec<NodeId> {
        self.view.users_in_order(id)
    }

    fn targets(&self) -> &[StrId] {
        self.view.targets()
    }

    fn names_attributes(&self) -> bool {
        self.view.names_attributes()
    }

    fn body_count(&self) -> usize {
        self.view.body_count()
    }

    fn body_name(&self, body: BodyId) -> &str {
        self.view.body_name(body)
    }

    fn body_parent(&self, body: BodyId) -> Option<BodyId> {
        self.view.body_parent(body)
    }
}
