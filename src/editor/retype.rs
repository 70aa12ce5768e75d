//! Types downstream of an edit.
//!
//! Promises: after an edit every call has the type that its rule gives; work stops where types come out as they were, so
//! the cost follows the edit. Where nothing is known of an operator, its annotation stands as long as its operands'
//! types do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{EditCode, EditError, Editor};
use crate::graph::{Arg, Hearsay, NodeId, NodeKind, StrId, TensorType, ValueType, View};
use crate::ops::TypeError;
use crate::sym::{Dim, Symbols};

/// Calls by their place in the list, the first on top.
type Queue = BinaryHeap<Reverse<(u64, NodeId)>>;

impl EditError {
    pub(super) fn of_type(node: Option<NodeId>, error: TypeError) -> Self {
        let code = if error.is_unknown_target() {
            EditCode::UnknownTarget
        } else if error.is_bad_argument() {
            EditCode::BadArgument
        } else {
            EditCode::TypeMismatch
        };
        Self { code, node, argument: error.argument().map(str::to_string), message: error.to_string() }
    }
}

impl Editor {
    /// Infers the type of a call with new arguments. An operator without a rule keeps its type if its operands' types are
    /// what they were.
    pub(super) fn infer_again(
        &mut self,
        id: NodeId,
        target: &str,
        args: &[Arg],
        kwargs: &[(StrId, Arg)],
    ) -> Result<ValueType, EditError> {
        match self.infer(Some(id), target, args, kwargs) {
            Err(e) if e.code == EditCode::UnknownTarget => {
                let types = |args: &[Arg], kwargs: &[(StrId, Arg)]| -> Vec<ValueType> {
                    let all = args.iter().chain(kwargs.iter().map(|(_, a)| a));
                    all.flat_map(Arg::nodes).map(|n| self.graph.ty(n).clone()).collect()
                };
                let (old, new) = (types(self.graph.args(id), self.graph.kwargs(id)), types(args, kwargs));
                let same =
                    old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| same_type(&self.graph.symbols, a, b));
                if same { Ok(self.graph.ty(id).clone()) } else { Err(self.opaque_operand(id)) }
            }
            other => other,
        }
    }

    fn opaque_operand(&self, id: NodeId) -> EditError {
        let message = format!(
            "nothing is known of the result of `{}` (`{}`) for operands of other types; describe it with --ops",
            self.graph.target(id),
            self.graph.name(id)
        );
        EditError::new(EditCode::TypeMismatch, Some(id), message)
    }

    /// Gives a node its new type and infers its users again as far as types change.
    pub(super) fn retype(&mut self, id: NodeId, ty: ValueType) -> Result<(), EditError> {
        if same_type(&self.graph.symbols, self.graph.ty(id), &ty) {
            self.follow_hearsay(&[id]);
            return Ok(());
        }
        self.keep_type(id, ty)?;
        // A rule gave the new type: what nobody described keeps its own.
        let said = self.said_of(id, Hearsay::NONE);
        self.graph.set_hearsay(id, said);
        let users = self.graph.users_in_order(id);
        self.infer_downstream(&users)
    }

    /// After `users` began to use `new` in place of `old`.
    pub(super) fn retype_users(&mut self, old: NodeId, new: NodeId, users: &[NodeId]) -> Result<(), EditError> {
        if same_type(&self.graph.symbols, self.graph.ty(old), self.graph.ty(new)) {
            self.follow_hearsay(users);
            return Ok(());
        }
        self.infer_downstream(users)
    }

    /// Says again of calls, and of those that use them, what of their types is somebody's word, as far as that changes.
    fn follow_hearsay(&mut self, first: &[NodeId]) {
        let mut queue = self.in_order(first);
        while let Some(id) = self.next_in_order(&mut queue) {
            let said = self.said_of(id, self.graph.hearsay(id).told());
            if said != self.graph.hearsay(id) {
                self.graph.set_hearsay(id, said);
                let users = self.graph.users_in_order(id);
                queue.extend(self.in_order(&users));
            }
        }
    }

    /// Returns what of a call's type is somebody's word.
    pub(super) fn said_of(&mut self, id: NodeId, told: Hearsay) -> Hearsay {
        let mut symbols = std::mem::take(&mut self.graph.symbols);
        let told = self.registry.told_by_bodies(&self.graph, &mut symbols, id).unwrap_or(told);
        let said = self.registry.hearsay(&self.graph, &mut symbols, id, told);
        self.graph.symbols = symbols;
        said
    }

    fn in_order(&self, nodes: &[NodeId]) -> Queue {
        nodes.iter().map(|n| Reverse((self.graph.place(*n).map_or(0, |(_, label)| label), *n))).collect()
    }

    /// Takes the first call of a queue out, as often as it stands there.
    fn next_in_order(&self, queue: &mut Queue) -> Option<NodeId> {
        while let Some(Reverse((_, id))) = queue.pop() {
            while queue.peek().is_some_and(|Reverse((_, next))| *next == id) {
                queue.pop();
            }
            if self.graph.kind(id) == NodeKind::Call {
                return Some(id);
            }
        }
        None
    }

    fn infer_downstream(&mut self, first: &[NodeId]) -> Result<(), EditError> {
        let mut queue = self.in_order(first);
        while let Some(id) = self.next_in_order(&mut queue) {
            self.within_limits(Some(id))?;
            let target = self.graph.target(id).to_string();
            let (args, kwargs) = (self.graph.args(id).to_vec(), self.graph.kwargs(id).to_vec());
            let ty = match self.infer(Some(id), &target, &args, &kwargs) {
                Err(e) if e.code == EditCode::UnknownTarget => return Err(self.opaque_operand(id)),
                other => other?,
            };
            let said = self.said_of(id, Hearsay::NONE);
            let retyped = !same_type(&self.graph.symbols, self.graph.ty(id), &ty);
            if retyped {
                self.keep_type(id, ty)?;
            }
            if retyped || said != self.graph.hearsay(id) {
                self.graph.set_hearsay(id, said);
                let users = self.graph.users_in_order(id);
                queue.extend(self.in_order(&users));
            }
        }
        Ok(())
    }
}

/// Whether two types are the same to every rule: dtype, sizes, device, place in memory, and strides where both are known.
fn same_type(symbols: &Symbols, a: &ValueType, b: &ValueType) -> bool {
    match (a, b) {
        (ValueType::Tensor(a), ValueType::Tensor(b)) => same_tensor(symbols, a, b),
        (ValueType::Many(a), ValueType::Many(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_type(symbols, a, b))
        }
        (a, b) => a == b,
    }
}

fn same_tensor(symbols: &Symbols, a: &TensorType, b: &TensorType) -> bool {
    let equal = |a: &[Dim], b: &[Dim]| {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| a == b || symbols.known(*a, crate::sym::Relation::Equal, *b) == Some(true))
    };
    a.dtype == b.dtype
        && a.device == b.device
        && a.layout == b.layout
        && equal(&a.sizes, &b.sizes)
        && equal(&[a.offset], &[b.offset])
        && match (&a.strides, &b.strides) {
            (Some(a), Some(b)) => equal(a, b),
            (None, None) => true,
            _ => false,
        }
}
