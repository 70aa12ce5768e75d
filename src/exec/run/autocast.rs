//! Regions of autocast: operands are cast before the call, as PyTorch's CPU does. Which and to what `ops` says.

use crate::exec::error::ExecError;
use crate::exec::run::program::Runner;
use crate::exec::tensor::value::Value;
use crate::graph::{Arg, Dtype, NodeId};
use crate::ops::{AutocastPolicy, CallFault, autocast_policy, is_autocast};

type Named<'k> = (&'k str, Value);

impl Runner<'_, '_, '_> {
    /// Runs the body of `wrap_with_autocast(device_type, dtype, enabled, cache_enabled, body, ...)`.
    pub(in crate::exec) fn autocast(&mut self, node: NodeId, args: &[Value]) -> Result<Value, ExecError> {
        let region = match args {
            [_, _, Value::Bool(false), ..] => None,
            [Value::Literal(Arg::Str(device)), Value::Literal(Arg::Dtype(dtype)), ..] if &**device == "cpu" => {
                Some(*dtype)
            }
            // PyTorch's default on the CPU.
            [Value::Literal(Arg::Str(device)), Value::None, ..] if &**device == "cpu" => Some(Dtype::Bf16),
            _ => {
                return Err(
                    self.fault(node, CallFault::Unsupported { what: "autocast of another device than the CPU".into() })
                );
            }
        };
        let outer = std::mem::replace(&mut self.autocast, region);
        let made = self.wrapped(node, args, 4, 5);
        self.autocast = outer;
        made
    }

    /// Casts the operands of a call as the region says that it stands in.
    pub(in crate::exec) fn cast_operands(
        &mut self,
        node: NodeId,
        target: &str,
        args: &mut [Value],
        kwargs: &mut [Named<'_>],
    ) -> Result<(), ExecError> {
        let (Some(region), Some(policy)) = (self.autocast, autocast_policy(target)) else { return Ok(()) };
        let to = match policy {
            AutocastPolicy::Lower => region,
            AutocastPolicy::Full => Dtype::F32,
            AutocastPolicy::Widest => widest(region, args.iter().chain(kwargs.iter().map(|(_, v)| v))),
            AutocastPolicy::Inside => {
                let what = "a call within autocast that is made of calls which are cast".into();
                return Err(self.fault(node, CallFault::Unsupported { what }));
            }
        };
        for value in args.iter_mut().chain(kwargs.iter_mut().map(|(_, v)| v)) {
            *value = self.cast(node, value, to)?;
        }
        Ok(())
    }

    fn cast(&mut self, node: NodeId, value: &Value, to: Dtype) -> Result<Value, ExecError> {
        match value {
            Value::Tensor(t) if is_autocast(t.dtype()) && t.dtype() != to => {
                let dtype = Value::Literal(Arg::Dtype(to));
                let made = self.session.call("aten._to_copy.default", std::slice::from_ref(value), &[("dtype", dtype)]);
                made.map_err(|source| self.failed(node, source))
            }
            Value::List(all) => {
                Ok(Value::List(all.iter().map(|v| self.cast(node, v, to)).collect::<Result<_, ExecError>>()?))
            }
            other => Ok(other.clone()),
        }
    }
}

/// The region's dtype, or `f32` where an operand has it: the two that a region knows.
fn widest<'v>(region: Dtype, values: impl Iterator<Item = &'v Value>) -> Dtype {
    let is_full = |v: &Value| v.as_tensor().is_some_and(|t| t.dtype() == Dtype::F32);
    let any = |v: &Value| is_full(v) || v.items().iter().any(is_full);
    if values.into_iter().any(any) { Dtype::F32 } else { region }
}
