//! Arguments of FX nodes as values: nodes by what they stand for, lists of sizes with a symbol among them as one tensor.

use std::rc::Rc;

use super::builder::{In, Refusal};
use super::lowering::Lowering;
use super::value::{Meta, SymbolKind, Value};
use crate::graph::{Arg, NodeId, ValueType, View};
use crate::sym::Dim;

impl Lowering<'_> {
    #[allow(clippy::type_complexity)] // Arguments by place, then by name.
    pub(super) fn arguments(&mut self, node: NodeId) -> Result<(Vec<Value>, Vec<(String, Value)>), Refusal> {
        let graph = self.graph;
        let args = graph.args(node).iter().map(|a| self.argument(a)).collect::<Result<_, _>>()?;
        let kwargs = graph
            .kwargs(node)
            .iter()
            .map(|(k, a)| Ok((graph.texts().text(*k).to_string(), self.argument(a)?)))
            .collect::<Result<_, Refusal>>()?;
        Ok((args, kwargs))
    }

    pub(super) fn argument(&mut self, arg: &Arg) -> Result<Value, Refusal> {
        match arg {
            Arg::Node(n) => Ok(self.value(*n).clone()),
            Arg::List(items) | Arg::Tuple(items) => {
                if items.iter().any(|a| a.as_node().is_some_and(|n| self.is_size(n))) {
                    return self.pack_sizes(items);
                }
                // Lists nest at most `Arg::MAX_DEPTH` deep.
                items.iter().map(|a| self.argument(a)).collect::<Result<Vec<_>, _>>().map(|l| Value::List(l.into()))
            }
            scalar => Ok(self.argument_scalar(scalar)),
        }
    }

    pub(super) fn argument_scalar(&self, arg: &Arg) -> Value {
        match arg {
            Arg::None => Value::None,
            Arg::Int(i) => Value::Int(*i),
            Arg::Float(f) => Value::Float(*f),
            Arg::Bool(b) => Value::Bool(*b),
            Arg::Str(s) => Value::Str(Rc::from(&**s)),
            Arg::Dtype(d) => Value::Dtype(*d),
            other => Value::Other(Rc::new(other.clone())),
        }
    }

    fn is_size(&self, node: NodeId) -> bool {
        match self.graph.ty(node) {
            ValueType::SymInt(_) => true,
            ValueType::Unknown => match self.value(node) {
                Value::Int(_) => true,
                Value::Tensor(t) => {
                    let meta = self.b.tensor(*t).and_then(|t| t.meta.as_ref());
                    matches!(meta, Some(Meta::Symbol(_, SymbolKind::Int)))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// A list of sizes with a symbol among them is one tensor.
    fn pack_sizes(&mut self, items: &[Arg]) -> Result<Value, Refusal> {
        let values: Vec<Value> = items.iter().map(|a| self.argument(a)).collect::<Result<_, _>>()?;
        if values.iter().all(|v| matches!(v, Value::Int(_))) {
            return Ok(Value::List(values.into()));
        }
        let mut sizes = Vec::with_capacity(values.len());
        let mut inputs = Vec::with_capacity(values.len());
        for v in &values {
            sizes.push(match v {
                Value::Int(i) => Dim::Fixed(*i),
                Value::Tensor(t) => match self.b.tensor(*t).and_then(|t| t.meta.as_ref()) {
                    Some(Meta::Symbol(d, SymbolKind::Int)) => *d,
                    _ => return Err(Refusal("a list of sizes holds something else".into())),
                },
                _ => return Err(Refusal("a list of sizes holds something else".into())),
            });
            inputs.push(In::try_from(v)?);
        }
        let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
        let pack = self.b.one("Pack", vec![In::Many(inputs)], &[("N", count.into()), ("axis", 0.into())])?;
        self.b.set_meta(pack, Meta::Sizes(sizes.into()), &self.symbols)?;
        if values.iter().all(|v| v.tensor().is_some_and(|t| self.b.is_host_data(t))) {
            self.b.mark(pack, "_inputs_all_sym");
        }
        self.b.mark(pack, "_force_unknown_shape");
        Ok(Value::Tensor(pack))
    }
}
