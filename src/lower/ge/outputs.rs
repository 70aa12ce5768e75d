//! What a graph gives: NetOutput, what the host does for the rest, and writes that only the signature names.

use super::builder::Refusal;
use super::draft::{Desc, Op, Source};
use super::lowering::Lowering;
use super::types;
use super::value::{Meta, TensorMeta, Value};
use crate::graph::{Arg, BodyId, InputKind, NodeId, NodeKind, OutputKind, View};
use crate::sym::Dim;

/// Operators whose results lie in their operand's memory and are not what stands there.
const LEFT_TO_BE_COMPUTED: &[&str] = &[
    "aten._conj.default",
    "aten.conj.default",
    "aten._neg_view.default",
    "aten.adjoint.default",
    "aten.mH.default",
    "aten.matrix_H.default",
];

/// Views of pairs of numbers as complex ones, and back, which the host makes by the operator itself, of all of an input.
const IN_PAIRS: &[&str] = &["aten.view_as_complex.default", "aten.view_as_real.default"];

impl Lowering<'_> {
    pub(super) fn output(&mut self, node: NodeId) -> Result<(), Refusal> {
        let returned: Vec<Arg> = match self.graph.args(node) {
            [Arg::List(items) | Arg::Tuple(items)] => items.to_vec(),
            args => args.to_vec(),
        };
        let values: Vec<Value> = returned.iter().map(|a| self.argument(a)).collect::<Result<_, _>>()?;
        let (mut values, _) = self.with_views_made(values, Vec::new())?;
        self.assign_mutations(&mut values)?;
        for (arg, value) in returned.iter().zip(&values) {
            self.take_stated_sizes(arg, value)?;
            let text = self.fx_output(arg, value);
            self.fx_outputs.push(text);
        }
        self.net_output();
        Ok(())
    }

    /// Takes the sizes that an annotation states as numbers where rules leave symbols: who wrote it knew that these are no 0 and no 1.
    fn take_stated_sizes(&mut self, arg: &Arg, value: &Value) -> Result<(), Refusal> {
        let (Arg::Node(node), Value::Tensor(t)) = (arg, value) else { return Ok(()) };
        let Some(text) = self.graph.printed(*node) else { return Ok(()) };
        let stated = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(sizes, _)| sizes);
        let stated: Vec<Option<i64>> = stated.split(", ").map(|size| size.parse().ok()).collect();
        let meta = self.b.tensor(*t).and_then(|t| t.meta.as_ref()).and_then(Meta::as_tensor).cloned();
        let Some(meta) = meta.filter(|m| m.sizes.len() == stated.len()) else { return Ok(()) };
        let known = meta.sizes.iter().zip(stated).map(|(size, said)| match (size.fixed(), said) {
            (None, Some(said)) => Dim::Fixed(said),
            _ => *size,
        });
        self.b.set_meta(*t, Meta::Tensor(TensorMeta { sizes: known.collect(), ..meta.clone() }), &self.symbols)
    }

    /// An exported program returns the new contents of what it writes; TorchAir's graphs write them at the end.
    fn assign_mutations(&mut self, values: &mut [Value]) -> Result<(), Refusal> {
        let Some(signature) = &self.graph.signature else { return Ok(()) };
        for (value, output) in values.iter_mut().zip(&signature.outputs) {
            if !output.kind.is_mutation() {
                continue;
            }
            let written = signature.inputs.iter().position(|i| match output.kind {
                OutputKind::UserInputMutation => Some(&*i.name) == output.target.as_deref(),
                OutputKind::ParameterMutation => i.kind == InputKind::Parameter && i.target == output.target,
                _ => i.kind == InputKind::Buffer && i.target == output.target,
            });
            let input = written.and_then(|i| self.inputs.get(i)).and_then(Value::tensor);
            if value.has_failed() {
                // What makes it is told.
                continue;
            }
            let (Some(input), Some(new)) = (input, value.tensor()) else {
                return Err(Refusal("what it writes is no input".into()));
            };
            let assign = self.b.one("Assign", vec![input.into(), new.into()], &[])?;
            if let Some(meta) = self.b.tensor(new).and_then(|t| t.meta.clone()) {
                self.b.set_meta(assign, meta, &self.symbols)?;
            }
            *value = Value::None;
        }
        Ok(())
    }

    /// Whether the host makes a value of an input's memory: by sizes and strides, where it is of the input's type, and nothing on the way is left to be
    /// computed; or all of it in pairs.
    fn is_as_stored(&self, value: &Arg, input: usize) -> bool {
        let dtype = |n: NodeId| self.graph.ty(n).as_tensor().map(|t| t.dtype);
        let own = self.graph.nodes(BodyId::ROOT).filter(|n| self.graph.kind(*n) == NodeKind::Placeholder).nth(input);
        let (Some(mut at), Some(own)) = (value.as_node(), own) else { return true };
        if dtype(at) != dtype(own) {
            let is_all = matches!(self.graph.args(at), [Arg::Node(of)] if *of == own);
            return is_all && IN_PAIRS.contains(&self.graph.target(at));
        }
        while at != own {
            if LEFT_TO_BE_COMPUTED.contains(&self.graph.target(at)) {
                return false;
            }
            let Some(operand) = self.graph.operands(at).next() else { break };
            at = operand;
        }
        true
    }

    fn fx_output(&mut self, arg: &Arg, value: &Value) -> String {
        let t = match value {
            Value::Tensor(t) => *t,
            Value::None => return "none".into(),
            _ => return "const".into(),
        };
        match self.b.tensor(t).and_then(|t| t.meta.as_ref()) {
            Some(Meta::Symbol(d, _)) => return format!("sym:{}", self.symbols.print_python(*d)),
            Some(Meta::Tensor(TensorMeta { input: Some(i), .. })) if self.is_as_stored(arg, *i) => {
                return format!("view-of-input:{i}");
            }
            _ => {}
        }
        let edge = self.b.edge(t);
        let place = self.outputs.iter().position(|o| self.b.edge(*o) == edge).unwrap_or_else(|| {
            self.outputs.push(t);
            self.outputs.len().saturating_sub(1)
        });
        format!("ge:{place}")
    }

    fn net_output(&mut self) {
        let mut op = Op::new(self.b.name(None, "NetOutput"), "NetOutput");
        op.inputs.extend(self.b.kept.iter().map(|kept| Source::Control(*kept)));
        for (i, t) in self.outputs.iter().enumerate() {
            let output = self.b.tensor(*t).map_or(0, |t| t.output);
            let desc = self.b.op_of(*t).and_then(|o| o.gives.get(output)).cloned().unwrap_or_default();
            let meta = self.b.tensor(*t).and_then(|t| t.meta.as_ref());
            let shape = meta.map(|m| types::dims(&m.sizes()).into()).or(desc.shape.clone());
            op.inputs.push(self.b.edge(*t));
            op.takes.push(Desc { name: format!("input{i}").into(), shape, ..desc });
        }
        self.b.ops.push(op);
    }
}
