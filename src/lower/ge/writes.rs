//! What `copy_` means for those that read afterwards.
//!
//! A graph of GE writes its inputs at the end (`cleanup`): an Assign says what, and every read of the input gives what it held before. So
//! after a `copy_` the node that is written stands for what was written into it; a view of it that is read later would not, and is
//! refused. What is no input has no memory of its own: it only stands for the new value.

use super::builder::Refusal;
use super::lowering::Lowering;
use super::value::{Meta, TensorId, TensorMeta, Value};
use crate::graph::{BodyId, NodeId, NodeKind, View};

/// Forms that TorchAir converts without writing what they are told to write.
const UNWRITTEN: [&str; 8] = [
    "aten.bitwise_right_shift_.Tensor",
    "aten.erfinv.out",
    "aten.expm1.out",
    "aten.log_sigmoid_backward.grad_input",
    "aten.log_sigmoid_forward.output",
    "aten.masked_fill_.Scalar",
    "aten.mish.out",
    "aten.nan_to_num.out",
];

/// Returns whether a form is converted as TorchAir does, without the write.
pub(super) fn is_unwritten(target: &str) -> bool {
    UNWRITTEN.contains(&target)
}

impl Lowering<'_> {
    /// Returns what was written, where what is written is no input: nobody finds its memory, and an Assign would only have to be ordered.
    pub(super) fn unkept(&self, target: &str, args: &[Value]) -> Option<Value> {
        let (Some(Value::Tensor(old)), Some(Value::Tensor(new))) = (args.first(), args.get(1)) else { return None };
        let meta = |t: TensorId| self.b.tensor(t).and_then(|t| t.meta.as_ref()).and_then(Meta::as_tensor);
        let (was, is) = (meta(*old)?, meta(*new)?);
        let fits = was.dtype == is.dtype && was.sizes == is.sizes && was.input.is_none();
        (target == "aten.copy_.default" && fits).then_some(Value::Tensor(*new))
    }

    /// Lets the node that a `copy_` writes stand for what was written; returns what the `copy_` itself stands for.
    pub(super) fn written(&mut self, node: NodeId, args: &[Value], made: Value) -> Result<Value, Refusal> {
        let target = self.graph.args(node).first().and_then(|a| a.as_node());
        let (Some(target), Some(Value::Tensor(old)), Some(Value::Tensor(new))) = (target, args.first(), args.get(1))
        else {
            return Ok(made);
        };
        let reads_later = |n: NodeId| {
            let mut users = self.graph.users_in_order(n).into_iter();
            users.any(|u| u != node && self.is_ahead(u) && self.graph.kind(u) != NodeKind::Output)
        };
        if !reads_later(target) && !reads_later(node) {
            return Ok(made);
        }
        let meta = |t: TensorId| self.b.tensor(t).and_then(|t| t.meta.as_ref()).and_then(Meta::as_tensor).cloned();
        let (Some(was), Some(is)) = (meta(*old), meta(*new)) else {
            return Err(Refusal("the types of what is written and read later are not known".into()));
        };
        if was.dtype != is.dtype || was.sizes != is.sizes {
            return Err(Refusal("what is written is read later, and is of another type or other sizes".into()));
        }
        if let Some(view) = self.later_view(node, target, &was) {
            return Err(Refusal(format!("{view} shares the memory that is written, and is read later")));
        }
        let stands = self.b.again(*new, Meta::Tensor(was));
        self.set_value(target, Value::Tensor(stands));
        Ok(Value::Tensor(stands))
    }

    /// Returns a node other than the target that lies in the same input, and is read later.
    fn later_view(&self, node: NodeId, target: NodeId, was: &TensorMeta) -> Option<String> {
        let same = |n: NodeId| match self.value(n) {
            Value::Tensor(t) => {
                let meta = self.b.tensor(*t).and_then(|t| t.meta.as_ref()).and_then(Meta::as_tensor);
                was.input.is_some() && meta.is_some_and(|m| m.input == was.input)
            }
            _ => false,
        };
        let mut nodes = self.graph.nodes(BodyId::ROOT).filter(|n| *n != target && *n != node && !self.is_ahead(*n));
        let read = |n: NodeId| self.graph.users_in_order(n).into_iter().any(|u| self.is_ahead(u));
        nodes.find(|n| same(*n) && read(*n)).map(|n| self.graph.name(n).to_string())
    }
}
