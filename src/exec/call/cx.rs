//! A call as its kernel sees it: arguments by parameter, what the type rule says of the results, and the run's means.
//!
//! Promises: an accessor gives a value of its type or a fault that names the argument. Everything that `ops::Call` tells of arguments
//! (`int`, `ints`, `axes`, `dtype`, `bool`, `float`, `text` ...) is here too.

use std::ops::Deref;

use crate::exec::call::memory;
use crate::exec::call::operands::Operands;
use crate::exec::call::session::Session;
use crate::exec::tensor::fill;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::{Arg, Dtype, ValueType};
use crate::ops::{Call, CallFault};

/// One call.
pub struct Cx<'a, 's, 'r> {
    /// The bound call.
    pub call: Call<'a>,
    /// Its tensors.
    pub(in crate::exec) operands: &'a Operands,
    /// What the type rule says; `Unknown` where there is no rule.
    pub result: ValueType,
    /// The run: random numbers, memory, other calls.
    pub session: &'s mut Session<'r>,
}

impl<'a> Deref for Cx<'a, '_, '_> {
    type Target = Call<'a>;

    fn deref(&self) -> &Call<'a> {
        &self.call
    }
}

impl<'a> Cx<'a, '_, '_> {
    fn tensor_in(&self, i: usize, arg: &Arg) -> Result<&'a Tensor, CallFault> {
        arg.as_node().and_then(|n| self.operands.get(n)).ok_or_else(|| self.call.wrong_kind(i, "a tensor", arg))
    }

    /// Returns the tensor of parameter `i`.
    pub fn tensor(&self, i: usize) -> Result<&'a Tensor, CallFault> {
        self.tensor_in(i, self.call.arg(i))
    }

    /// Returns the tensor of parameter `i`, if there is one.
    pub fn opt_tensor(&self, i: usize) -> Result<Option<&'a Tensor>, CallFault> {
        if self.call.is_none(i) { Ok(None) } else { self.tensor(i).map(Some) }
    }

    /// Returns the tensors of a list.
    pub fn tensors(&self, i: usize) -> Result<Vec<&'a Tensor>, CallFault> {
        self.opt_tensors(i)?.into_iter().map(|t| t.ok_or_else(|| self.call.bad(i, "tensors only", "None"))).collect()
    }

    /// Returns the tensors of a list in which `None` may stand.
    pub fn opt_tensors(&self, i: usize) -> Result<Vec<Option<&'a Tensor>>, CallFault> {
        let arg = self.call.arg(i);
        let items = arg.items().ok_or_else(|| self.call.wrong_kind(i, "a list of tensors", arg))?;
        items.iter().map(|a| if *a == Arg::None { Ok(None) } else { self.tensor_in(i, a).map(Some) }).collect()
    }

    /// Returns the tensor or number of parameter `i`.
    pub fn operand(&self, i: usize) -> Result<Operand<'a>, CallFault> {
        match self.call.arg(i).as_node().and_then(|n| self.operands.get(n)) {
            Some(t) => Ok(Operand::Tensor(t)),
            None => self.scalar(i).map(Operand::Number),
        }
    }

    /// Returns the number of parameter `i`.
    pub fn scalar(&self, i: usize) -> Result<Scalar, CallFault> {
        match self.call.arg(i) {
            Arg::Bool(v) => Ok(Scalar::Bool(*v)),
            Arg::Int(v) => Ok(Scalar::Int(*v)),
            Arg::Float(v) => Ok(Scalar::Float(*v)),
            Arg::Complex(re, im) => Ok(Scalar::Complex(*re, *im)),
            other => Err(self.call.wrong_kind(i, "a number", other)),
        }
    }

    /// Returns the number of parameter `i`, if there is one.
    pub fn opt_scalar(&self, i: usize) -> Result<Option<Scalar>, CallFault> {
        if self.call.is_none(i) { Ok(None) } else { self.scalar(i).map(Some) }
    }

    /// Returns the float of parameter `i`, which may be written as an integer.
    pub fn f64(&self, i: usize) -> Result<f64, CallFault> {
        self.scalar(i).map(Scalar::to_f64)
    }

    /// Returns the type of the only result.
    pub fn meta(&self) -> Result<Meta, CallFault> {
        self.meta_of(0)
    }

    /// Returns the type of result `k`.
    pub fn meta_of(&self, k: usize) -> Result<Meta, CallFault> {
        let ty = match &self.result {
            ValueType::Many(all) => all.get(k).unwrap_or(&ValueType::Unknown),
            one => one,
        };
        match ty {
            ValueType::Tensor(t) => Meta::of(t),
            _ => Err(CallFault::Unsupported {
                what: format!("result {k} of `{}` without a type rule", self.call.operator.target),
            }),
        }
    }

    /// Returns how many results the type rule gives.
    pub fn result_count(&self) -> usize {
        match &self.result {
            ValueType::Many(all) => all.len(),
            ValueType::None => 0,
            _ => 1,
        }
    }

    /// Returns the run's meter.
    pub fn meter(&self) -> &Meter {
        self.session.meter()
    }

    /// Asks for the memory of a result whose size contents tell; the type rules' sizes were asked for before the kernel ran.
    pub fn room(&self, elements: usize) -> Result<(), CallFault> {
        memory::work(elements.saturating_mul(16), self.session.most_bytes)
    }

    /// Returns the only result, made of values in row-major order.
    pub fn emit<L: Lane>(&self, values: Vec<L>) -> Result<Value, CallFault> {
        fill::from_lanes(&self.meta()?, values, self.meter()).map(Value::Tensor)
    }

    /// Returns result `k`, made of values in row-major order.
    pub fn emit_at<L: Lane>(&self, k: usize, values: Vec<L>) -> Result<Tensor, CallFault> {
        fill::from_lanes(&self.meta_of(k)?, values, self.meter())
    }

    /// Returns the only result, made of stored elements of the dtype's width in row-major order.
    pub fn emit_raw<U: bytemuck::Pod + Send + Sync>(&self, values: Vec<U>) -> Result<Value, CallFault> {
        fill::from_raw(&self.meta()?, values, self.meter()).map(Value::Tensor)
    }

    /// Returns a tensor of values in row-major order that is no result of the rule: row-major, of these sizes.
    pub fn make<L: Lane>(&self, dtype: Dtype, sizes: &[usize], values: Vec<L>) -> Result<Tensor, CallFault> {
        fill::from_lanes(&Meta::contiguous(dtype, sizes), values, self.meter())
    }

    /// Returns a tensor of zeros as the rule says of result `k`.
    pub fn zeros(&self, k: usize) -> Result<Tensor, CallFault> {
        fill::empty(&self.meta_of(k)?, self.meter())
    }

    /// Returns a tensor of type `meta` whose elements `f` computes chunk by chunk, in the order of `order`.
    pub fn fill<L: Lane>(
        &self,
        meta: &Meta,
        order: &Order,
        f: &(dyn Fn(usize, &mut [L]) + Sync),
    ) -> Result<Tensor, CallFault> {
        fill::filled(meta, order, self.meter(), f)
    }

    /// Returns the result laid out as the rule says, from a tensor of the same dtype and sizes: itself where it lies so.
    pub fn laid_out(&self, k: usize, t: Tensor) -> Result<Tensor, CallFault> {
        let meta = self.meta_of(k)?;
        if t.meta == meta {
            return Ok(t);
        }
        let out = fill::unset(&meta, self.meter())?;
        out.copy_from(&t)?;
        Ok(out)
    }

    /// Calls another operator.
    pub fn run(&mut self, target: &str, args: &[Value]) -> Result<Value, CallFault> {
        self.session.call(target, args, &[]).map_err(|e| *e.fault)
    }

    /// Calls another operator that gives one tensor.
    pub fn run_tensor(&mut self, target: &str, args: &[Value]) -> Result<Tensor, CallFault> {
        match self.run(target, args)? {
            Value::Tensor(t) => Ok(t),
            other => Err(CallFault::mismatch("result", "a tensor", other.kind())),
        }
    }

    /// Returns argument `i` as a value.
    pub fn value(&self, i: usize) -> Value {
        self.value_of(self.call.arg(i))
    }

    fn value_of(&self, arg: &Arg) -> Value {
        match arg {
            Arg::None => Value::None,
            Arg::Bool(v) => Value::Bool(*v),
            Arg::Int(v) => Value::Int(*v),
            Arg::Float(v) => Value::Float(*v),
            Arg::Complex(re, im) => Value::Complex(*re, *im),
            // Lists nest at most as deep as `Arg::MAX_DEPTH`.
            Arg::List(all) | Arg::Tuple(all) => Value::List(all.iter().map(|a| self.value_of(a)).collect()),
            Arg::Node(n) => match (self.operands.get(*n), self.call.view.ty(*n)) {
                (Some(t), _) => Value::Tensor(t.clone()),
                (None, ValueType::Body(body)) => Value::Body(*body),
                _ => Value::None,
            },
            other => Value::Literal(other.clone()),
        }
    }

    /// Returns all arguments as values, one a parameter.
    pub fn values(&self) -> Vec<Value> {
        (0..self.call.operator.schema.params.len()).map(|i| self.value(i)).collect()
    }
}
