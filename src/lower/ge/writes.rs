//! What `copy_` means for those that read afterwards.
//!
//! A graph of GE writes its inputs at the end (`cleanup`): an Assign says what, and every read of the input gives what it held before. So
//! after a `copy_` whatever is all of that memory stands for what was written into it; a view of it that is read later would not, and is
//! refused, as is a write through a view of an input. What is no input has no memory of its own: it only stands for the new value.

use super::builder::{In, Refusal};
use super::literal::Literal;
use super::lowering::Lowering;
use super::types;
use super::value::{Meta, TensorId, TensorMeta, Value};
use crate::analysis::{self, Place, Shares, Storages};
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

    /// Returns the arguments of a `copy_` with the input itself in the place of what is all of it: an Assign names what it writes.
    pub(super) fn of_inputs(&self, args: &[Value]) -> Result<Vec<Value>, Refusal> {
        let mut args = args.to_vec();
        let Some(Value::Tensor(old)) = args.first() else { return Ok(args) };
        let is_data = self.b.op_of(*old).is_some_and(|op| op.kind == "Data");
        let Some(input) = self.tensor_meta(*old).and_then(|m| m.input).filter(|_| !is_data) else { return Ok(args) };
        let data = self.inputs.get(input).and_then(Value::tensor);
        match (data.filter(|_| self.is_whole(*old, input)), args.first_mut()) {
            (Some(data), Some(first)) => {
                *first = Value::Tensor(data);
                Ok(args)
            }
            _ => Err(Refusal("a write through a view of an input is not supported".into())),
        }
    }

    /// Puts what a `copy_` is given into its target's type and sizes: an Assign does neither.
    pub(super) fn as_its_target(&mut self, args: &mut [Value]) -> Result<(), Refusal> {
        let [Value::Tensor(old), source @ Value::Tensor(_)] = args else { return Ok(()) };
        let Value::Tensor(new) = *source else { return Ok(()) };
        let (Some(was), Some(is)) = (self.tensor_meta(*old).cloned(), self.tensor_meta(new).cloned()) else {
            return Ok(());
        };
        let mut made = new;
        if was.dtype != is.dtype {
            let dtype =
                types::ge_type(was.dtype).ok_or_else(|| Refusal("GE has no type for what is written".into()))?;
            made = self.b.cast(&Value::Tensor(made), dtype)?;
            let meta = TensorMeta { dtype: was.dtype, input: None, ..is.clone() };
            self.b.set_meta(made, Meta::Tensor(meta), &self.symbols)?;
        }
        if was.sizes != is.sizes {
            let fixed: Option<Vec<i64>> = was.sizes.iter().map(|d| d.fixed()).collect();
            let sizes = match fixed {
                Some(fixed) => In::Literal(Literal::Ints(fixed)),
                None => self.b.one("Shape", vec![(*old).into()], &[])?.into(),
            };
            made = self.b.one("BroadcastTo", vec![made.into(), sizes], &[])?;
            let meta = TensorMeta { input: None, ..was };
            self.b.set_meta(made, Meta::Tensor(meta), &self.symbols)?;
        }
        *source = Value::Tensor(made);
        Ok(())
    }

    fn tensor_meta(&self, t: TensorId) -> Option<&TensorMeta> {
        self.b.tensor(t)?.meta.as_ref()?.as_tensor()
    }

    /// Whether a tensor in an input's memory is all of it, element by element.
    fn is_whole(&self, t: TensorId, input: usize) -> bool {
        let data = self.inputs.get(input).and_then(Value::tensor).and_then(|d| self.tensor_meta(d));
        match (self.tensor_meta(t), data) {
            (Some(a), Some(b)) => (a.dtype, &a.sizes, &a.strides) == (b.dtype, &b.sizes, &b.strides),
            _ => false,
        }
    }

    /// Lets the nodes that a `copy_` writes stand for what was written; returns what the `copy_` itself stands for.
    pub(super) fn written(&mut self, node: NodeId, args: &[Value], made: Value) -> Result<Value, Refusal> {
        let target = self.graph.args(node).first().and_then(|a| a.as_node());
        let (Some(target), Some(Value::Tensor(old)), Some(Value::Tensor(new))) = (target, args.first(), args.get(1))
        else {
            return Ok(made);
        };
        let shared = self.in_the_same_memory(node, target, *old);
        let is_read = |n: NodeId| {
            // What is returned is a view that the host makes when all is written.
            let later = |u: &NodeId| *u != node && self.is_ahead(*u);
            let returned = self.tensor_meta(*old).is_some_and(|m| m.input.is_some());
            let counts = |u: &NodeId| later(u) && !(returned && self.graph.kind(*u) == NodeKind::Output);
            self.graph.users_in_order(n).iter().any(counts)
        };
        let (whole, parts): (Vec<NodeId>, Vec<NodeId>) =
            shared.into_iter().partition(|n| self.is_alike(*n, target, *old));
        if let Some(view) = parts.into_iter().find(|n| is_read(*n)) {
            let view = self.graph.name(view);
            return Err(Refusal(format!("{view} shares the memory that is written, and is read later")));
        }
        if !whole.iter().chain([&target, &node]).any(|n| is_read(*n)) {
            return Ok(made);
        }
        let (Some(was), Some(is)) = (self.tensor_meta(*old).cloned(), self.tensor_meta(*new)) else {
            return Err(Refusal("the types of what is written and read later are not known".into()));
        };
        if was.dtype != is.dtype || was.sizes != is.sizes {
            return Err(Refusal("what is written is read later, and is of another type or other sizes".into()));
        }
        let stands = self.b.again(*new, Meta::Tensor(was));
        for name in whole.into_iter().chain([target]) {
            self.set_value(name, Value::Tensor(stands));
        }
        Ok(Value::Tensor(stands))
    }

    /// Whether a node that lies in the memory that is written is what is written, element by element.
    fn is_alike(&self, n: NodeId, target: NodeId, old: TensorId) -> bool {
        let input = self.tensor_meta(old).and_then(|m| m.input);
        let value = self.value(n).tensor();
        // What is written of an input is all of it; of other memory it may be a part, as another one of the same sizes.
        input.is_some_and(|i| value.is_some_and(|t| self.is_whole(t, i))) || self.root(n) == self.root(target)
    }

    /// Follows what gives its operand as it is.
    fn root(&self, node: NodeId) -> NodeId {
        let mut at = node;
        while let [Shares::Same(of)] = analysis::home_of(self.graph, self.registry, Place::of(at)).as_slice() {
            at = of.node;
        }
        at
    }

    /// Returns the nodes before this one, but for its target, that may lie in the memory that it writes.
    fn in_the_same_memory(&mut self, node: NodeId, target: NodeId, old: TensorId) -> Vec<NodeId> {
        let graph = self.graph;
        let before = graph.nodes(BodyId::ROOT).take_while(|n| *n != node).filter(|n| *n != target);
        if let Some(input) = self.tensor_meta(old).and_then(|m| m.input) {
            let lies = |n: &NodeId| {
                self.value(*n).tensor().and_then(|t| self.tensor_meta(t)).is_some_and(|m| m.input == Some(input))
            };
            return before.filter(lies).collect();
        }
        let storages = self.storages.get_or_insert_with(|| Storages::new(graph, self.registry, &[]));
        let group = storages.group(analysis::place_of(graph, target));
        let mut members: Vec<NodeId> = group.members.iter().flat_map(|p| storages.carriers(*p)).collect();
        members.retain(|n| *n != target && *n != node && !self.is_ahead(*n));
        members
    }
}
