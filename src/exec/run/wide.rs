//! The wide run: a program in f64, whatever floats it is written in.
//!
//! Every float tensor is f64 from the inputs on; a dtype that a call asks for becomes f64. Discrete steps stay. A cast to a narrower dtype
//! stays as a rounding ([`Casts::Kept`]) or is left out ([`Casts::Dropped`]): the second is the function that the program means over
//! the reals. Promises: what cannot be computed so is an error, never a narrow number; draws are those of the narrow run. Leaves to callers
//! what a difference from the wide run means.

use crate::exec::call::session::Session;
use crate::exec::tensor::Meta;
use crate::exec::tensor::fill;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::Value;
use crate::graph::{Arg, Dtype};
use crate::ops::{CallFault, Operator, SharesWhen, TypeError};

/// What becomes of casts to narrower dtypes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Casts {
    /// They round, and the result is held in f64.
    Kept,
    /// They do nothing.
    Dropped,
}

/// Returns a tensor in f64 where it holds narrower floats; others share their memory with what is returned.
pub fn widened(value: &Value, meter: &Meter) -> Result<Value, CallFault> {
    Ok(match value {
        Value::Tensor(t) if is_narrow(t.dtype()) => {
            let meta = Meta { dtype: Dtype::F64, ..t.meta.clone() };
            let out = fill::empty(&meta, meter)?;
            out.write(&t.lanes::<f64>()?)?;
            Value::Tensor(out)
        }
        Value::List(all) => Value::List(all.iter().map(|v| widened(v, meter)).collect::<Result<_, _>>()?),
        other => other.clone(),
    })
}

/// Whether a number, if it is one, is one of f32.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn is_unrounded(value: &Value) -> bool {
    match value {
        Value::Float(v) => !v.is_finite() || f64::from(*v as f32) == *v,
        _ => true,
    }
}

fn is_narrow(dtype: Dtype) -> bool {
    dtype.is_float() && dtype != Dtype::F64
}

impl Session<'_> {
    /// Calls an operator in f64.
    pub(in crate::exec) fn call_wide(
        &mut self,
        target: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
        casts: Casts,
    ) -> Result<Value, TypeError> {
        let operator = self.registry().get(target);
        let of = |fault: CallFault| fault.of(target);
        if operator.is_some_and(|o| o.effects.random) {
            return self.drawn(target, args, kwargs);
        }
        let mut asked = None;
        let mut widen = |v: &Value| match v {
            Value::Literal(Arg::Dtype(d)) if is_narrow(*d) => {
                asked = Some(*d);
                Value::Literal(Arg::Dtype(Dtype::F64))
            }
            other => other.clone(),
        };
        let wide_args: Vec<Value> = args.iter().map(&mut widen).collect();
        let wide_kwargs: Vec<(&str, Value)> = kwargs.iter().map(|(k, v)| (*k, widen(v))).collect();
        if asked.is_some() && operator.is_some_and(|o| o.facts.step.is_some()) {
            return Err(of(CallFault::Unsupported { what: "a view of bits in a wide run".into() }));
        }
        let result = self.call_as_is(target, &wide_args, &wide_kwargs)?;
        let result = self.without_narrow(operator, (target, &wide_args, &wide_kwargs), result)?;
        self.cast(operator, asked.filter(|_| casts == Casts::Kept), asked.is_some(), &wide_args, result).map_err(of)
    }

    /// Random numbers are drawn as in a narrow run.
    fn drawn(&mut self, target: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Result<Value, TypeError> {
        let casts = self.wide.take();
        let result = self.call_as_is(target, args, kwargs);
        self.wide = casts;
        widened(&result?, &self.meter().clone()).map_err(|f| f.of(target))
    }

    /// A call of integers or numbers alone that gives narrow floats is made again in f64.
    fn without_narrow(
        &mut self,
        operator: Option<&Operator>,
        (target, args, kwargs): (&str, &[Value], &[(&str, Value)]),
        result: Value,
    ) -> Result<Value, TypeError> {
        if !result.items().iter().filter_map(Value::as_tensor).any(|t| is_narrow(t.dtype())) {
            return Ok(result);
        }
        let of = |fault: CallFault| fault.of(target);
        let takes_dtype = operator.is_some_and(|o| o.schema.params.iter().any(|p| p.kwarg_only && &*p.name == "dtype"));
        let has_dtype = kwargs.iter().any(|(k, v)| *k == "dtype" && !matches!(v, Value::None));
        let tensors = args.iter().flat_map(Value::items).filter(|v| v.as_tensor().is_some()).count();
        if takes_dtype && !has_dtype && tensors == 0 {
            let mut kwargs: Vec<(&str, Value)> = kwargs.iter().filter(|(k, _)| *k != "dtype").cloned().collect();
            kwargs.push(("dtype", Value::Literal(Arg::Dtype(Dtype::F64))));
            return self.call_as_is(target, args, &kwargs);
        }
        if operator.is_some_and(|o| o.pointwise && !o.effects.writes()) {
            let meter = self.meter().clone();
            let float = |v: &Value| match v {
                Value::Tensor(t) if t.dtype().is_integer() || t.dtype() == Dtype::Bool => {
                    let meta = Meta::contiguous(Dtype::F64, t.sizes());
                    Ok(Value::Tensor(fill::from_lanes(&meta, t.lanes::<f64>()?.into_vec(), &meter)?))
                }
                other => Ok(other.clone()),
            };
            let args = args.iter().map(float).collect::<Result<Vec<_>, CallFault>>().map_err(of)?;
            let result = self.call_as_is(target, &args, kwargs)?;
            return widened(&result, &meter).map_err(of);
        }
        // What chooses among numbers gives them as they are, where none was rounded.
        if operator.is_some_and(|o| o.facts.moves && !o.effects.writes()) && args.iter().all(is_unrounded) {
            return widened(&result, &self.meter().clone()).map_err(of);
        }
        if operator.is_some_and(|o| o.effects.writes()) {
            return Err(of(CallFault::Unsupported { what: "a write of narrow floats in a wide run".into() }));
        }
        Err(of(CallFault::Unsupported { what: "this operator in a wide run: its results are narrow".into() }))
    }

    /// What a cast to a narrower dtype leaves: rounded where casts are kept, and never the operand's own memory.
    fn cast(
        &self,
        operator: Option<&Operator>,
        rounds_to: Option<Dtype>,
        asked: bool,
        args: &[Value],
        result: Value,
    ) -> Result<Value, CallFault> {
        let (true, Value::Tensor(t)) = (asked, &result) else { return Ok(result) };
        let converts = operator.is_some_and(|o| o.facts.shares == Some(SharesWhen::Converted));
        // A conversion to the dtype that its operand has is its operand.
        if t.dtype() != Dtype::F64 || converts && self.keeps_dtype {
            return Ok(result);
        }
        let lent = args.iter().filter_map(Value::as_tensor).any(|a| a.shares_storage(t));
        if rounds_to.is_none() && !(lent && converts) {
            return Ok(result);
        }
        let mut values = t.lanes::<f64>()?.into_vec();
        if let Some(dtype) = rounds_to {
            let narrow = fill::from_lanes(&Meta::contiguous(dtype, t.sizes()), values, self.meter())?;
            values = narrow.lanes::<f64>()?.into_vec();
        }
        let out = fill::empty(&Meta { offset: 0, ..t.meta.clone() }, self.meter())?;
        out.write(&values)?;
        Ok(Value::Tensor(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Kernels;
    use crate::ops::Registry;

    fn f32s(values: &[f64]) -> Value {
        let meta = Meta::contiguous(Dtype::F32, &[values.len()]);
        Value::Tensor(fill::from_lanes(&meta, values.to_vec(), &Meter::default()).unwrap())
    }

    fn run(casts: Option<Casts>, calls: &[(&str, Vec<Value>)]) -> Vec<f64> {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let mut session = Session::new(&registry, &kernels, 0);
        session.wide = casts;
        let mut value = match casts {
            Some(_) => widened(&f32s(&[0.1]), &Meter::default()).unwrap(),
            None => f32s(&[0.1]),
        };
        for (target, rest) in calls {
            let args: Vec<Value> = std::iter::once(value).chain(rest.iter().cloned()).collect();
            value = session.call(target, &args, &[]).unwrap();
        }
        value.as_tensor().unwrap().lanes::<f64>().unwrap().to_vec()
    }

    #[test]
    fn a_sum_is_exact_in_f64_and_rounds_in_its_own_dtype() {
        let x = f64::from(0.1_f32);
        let add = vec![("aten.add.Tensor", vec![Value::Float(1e-9)])];
        assert_eq!(run(Some(Casts::Dropped), &add), [x + 1e-9]);
        assert_ne!(run(None, &add), [x + 1e-9]);
    }

    #[test]
    fn a_cast_rounds_where_it_is_kept_and_only_there() {
        let x = f64::from(0.1_f32);
        let cast = vec![("aten.to.dtype", vec![Value::Literal(Arg::Dtype(Dtype::F16))])];
        assert_eq!(run(Some(Casts::Dropped), &cast), [x]);
        assert_eq!(run(Some(Casts::Kept), &cast), [half::f16::from_f64(x).to_f64()]);
    }

    #[test]
    fn a_discrete_step_stays() {
        assert_eq!(run(Some(Casts::Dropped), &[("aten.ceil.default", vec![])]), [1.0]);
    }
}
