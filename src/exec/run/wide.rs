//! Runs in other floats than those a program is written in: wide ones, in f64 whatever it says, and single ones, in f32 where it says f64.
//!
//! Every float tensor is f64 from the inputs on; a dtype that a call asks for becomes f64. Discrete steps stay. A cast to a narrower dtype
//! stays as a rounding ([`Floats::Cast`]) or is left out ([`Floats::Wide`]), but for the sign where the dtype has none: the second is the
//! function that the program means over the reals. In [`Floats::Single`] f64 is f32, and nothing else changes. Complex numbers go with their parts. Promises: what cannot be computed so
//! is an error, never a number of another dtype; draws are those of the program's own run. Leaves to callers what a difference from the wide run means.

use crate::exec::call::session::Session;
use crate::exec::tensor::Meta;
use crate::exec::tensor::fill;
use crate::exec::tensor::lane::C128;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::Value;
use crate::graph::{Arg, Dtype};
use crate::ops::{CallFault, Operator, SharesWhen, TypeError};

/// In which floats a run computes, where these are not the program's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Floats {
    /// In f64: casts to narrower dtypes round, and the result is held in f64.
    Cast,
    /// In f64: casts do nothing, but to what has no sign.
    Wide,
    /// In f32 where the program's are f64, else in its own: beside a wide run, what rounding in f64 does is seen at a larger scale.
    Single,
}

impl Floats {
    /// Returns in which dtype numbers of a dtype are held.
    pub fn of(self, dtype: Dtype) -> Dtype {
        match (self, dtype) {
            (Floats::Single, Dtype::F64) => Dtype::F32,
            (Floats::Single, Dtype::C128) => Dtype::C64,
            (Floats::Single, other) => other,
            (_, other) if other.is_float() => Dtype::F64,
            (_, other) if other.is_complex() => Dtype::C128,
            (_, other) => other,
        }
    }

    /// Returns a tensor in the floats of this run; one of other numbers shares its memory with what is returned.
    pub fn hold(self, value: &Value, meter: &Meter) -> Result<Value, CallFault> {
        Ok(match value {
            Value::Tensor(t) if self.of(t.dtype()) != t.dtype() => {
                let out = fill::empty(&Meta { dtype: self.of(t.dtype()), ..t.meta.clone() }, meter)?;
                if t.dtype().is_complex() {
                    out.write(&t.lanes::<C128>()?)?;
                } else {
                    out.write(&t.lanes::<f64>()?)?;
                }
                Value::Tensor(out)
            }
            Value::List(all) => Value::List(all.iter().map(|v| self.hold(v, meter)).collect::<Result<_, _>>()?),
            other => other.clone(),
        })
    }

    fn is_other(self, value: &Value) -> bool {
        value.items().iter().filter_map(Value::as_tensor).any(|t| self.of(t.dtype()) != t.dtype())
    }
}

/// Whether a number, if it is one, is one of f32.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn is_unrounded(value: &Value) -> bool {
    match value {
        Value::Float(v) => !v.is_finite() || f64::from(*v as f32) == *v,
        _ => true,
    }
}

impl Session<'_> {
    /// Calls an operator in the floats of the run.
    pub(in crate::exec) fn call_in(
        &mut self,
        target: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
        floats: Floats,
    ) -> Result<Value, TypeError> {
        let operator = self.registry().get(target);
        let of = |fault: CallFault| fault.of(target);
        if operator.is_some_and(|o| o.effects.random) {
            return self.drawn(target, args, kwargs, floats);
        }
        let mut asked = None;
        let mut held = |v: &Value| match v {
            Value::Literal(Arg::Dtype(d)) if d.is_float() || d.is_complex() => {
                asked = Some(*d);
                Value::Literal(Arg::Dtype(floats.of(*d)))
            }
            other => other.clone(),
        };
        let held_args: Vec<Value> = args.iter().map(&mut held).collect();
        let held_kwargs: Vec<(&str, Value)> = kwargs.iter().map(|(k, v)| (*k, held(v))).collect();
        if asked.is_some() && operator.is_some_and(|o| o.facts.step.is_some()) {
            return Err(of(CallFault::Unsupported { what: "a view of bits in a run of other floats".into() }));
        }
        let result = self.call_as_is(target, &held_args, &held_kwargs)?;
        let result = self.without_others(operator, (target, &held_args, &held_kwargs), result, floats)?;
        match asked {
            Some(dtype) => self.cast(operator, dtype, &held_args, result, floats).map_err(of),
            None => Ok(result),
        }
    }

    /// Random numbers are drawn as in the program's own run.
    fn drawn(
        &mut self,
        target: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
        floats: Floats,
    ) -> Result<Value, TypeError> {
        self.floats = None;
        let result = self.call_as_is(target, args, kwargs);
        self.floats = Some(floats);
        floats.hold(&result?, &self.meter().clone()).map_err(|f| f.of(target))
    }

    /// A call of integers or numbers alone that gives other floats is made again in those of the run.
    fn without_others(
        &mut self,
        operator: Option<&Operator>,
        (target, args, kwargs): (&str, &[Value], &[(&str, Value)]),
        result: Value,
        floats: Floats,
    ) -> Result<Value, TypeError> {
        if !floats.is_other(&result) {
            return Ok(result);
        }
        let of = |fault: CallFault| fault.of(target);
        let takes_dtype = operator.is_some_and(|o| o.schema.params.iter().any(|p| p.kwarg_only && &*p.name == "dtype"));
        let has_dtype = kwargs.iter().any(|(k, v)| *k == "dtype" && !matches!(v, Value::None));
        let tensors = args.iter().flat_map(Value::items).filter(|v| v.as_tensor().is_some()).count();
        if floats != Floats::Single && takes_dtype && !has_dtype && tensors == 0 {
            let mut kwargs: Vec<(&str, Value)> = kwargs.iter().filter(|(k, _)| *k != "dtype").cloned().collect();
            kwargs.push(("dtype", Value::Literal(Arg::Dtype(Dtype::F64))));
            return self.call_as_is(target, args, &kwargs);
        }
        if floats != Floats::Single && operator.is_some_and(|o| o.pointwise && !o.effects.writes()) {
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
            return floats.hold(&result, &meter).map_err(of);
        }
        // What chooses among numbers gives them as they are, where none was rounded.
        if operator.is_some_and(|o| o.facts.moves && !o.effects.writes()) && args.iter().all(is_unrounded) {
            return floats.hold(&result, &self.meter().clone()).map_err(of);
        }
        if operator.is_some_and(|o| o.effects.writes()) {
            return Err(of(CallFault::Unsupported { what: "a write of other floats than those of the run".into() }));
        }
        Err(of(CallFault::Unsupported {
            what: "this operator in a run of other floats: its results are its own".into(),
        }))
    }

    /// What a cast leaves: rounded where casts are kept, and never the operand's own memory.
    fn cast(
        &self,
        operator: Option<&Operator>,
        asked: Dtype,
        args: &[Value],
        result: Value,
        floats: Floats,
    ) -> Result<Value, CallFault> {
        let Value::Tensor(t) = &result else { return Ok(result) };
        let converts = operator.is_some_and(|o| o.facts.shares == Some(SharesWhen::Converted));
        // A conversion to the dtype that its operand has is its operand.
        if t.dtype() != floats.of(asked) || converts && self.keeps_dtype {
            return Ok(result);
        }
        let rounds_to = Some(asked).filter(|d| floats == Floats::Cast && d.is_float() && *d != Dtype::F64);
        let lent = args.iter().filter_map(Value::as_tensor).any(|a| a.shares_storage(t));
        let is_magnitude = floats == Floats::Wide && asked == Dtype::F8E8m0fnu;
        if rounds_to.is_none() && !is_magnitude && !(lent && converts) {
            return Ok(result);
        }
        let out = fill::empty(&Meta { offset: 0, ..t.meta.clone() }, self.meter())?;
        if let Some(dtype) = rounds_to {
            let meta = Meta::contiguous(dtype, t.sizes());
            out.copy_from(&fill::from_lanes(&meta, t.lanes::<f64>()?.into_vec(), self.meter())?)?;
        } else if is_magnitude {
            out.write(&t.lanes::<f64>()?.iter().map(|v| v.abs()).collect::<Vec<_>>())?;
        } else {
            out.copy_from(t)?;
        }
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

    fn run(floats: Option<Floats>, calls: &[(&str, Vec<Value>)]) -> Vec<f64> {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let mut session = Session::new(&registry, &kernels, 0);
        session.floats = floats;
        let mut value = match floats {
            Some(floats) => floats.hold(&f32s(&[0.1]), &Meter::default()).unwrap(),
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
        assert_eq!(run(Some(Floats::Wide), &add), [x + 1e-9]);
        assert_ne!(run(None, &add), [x + 1e-9]);
    }

    #[test]
    fn a_cast_rounds_where_it_is_kept_and_only_there() {
        let x = f64::from(0.1_f32);
        let cast = vec![("aten.to.dtype", vec![Value::Literal(Arg::Dtype(Dtype::F16))])];
        assert_eq!(run(Some(Floats::Wide), &cast), [x]);
        assert_eq!(run(Some(Floats::Cast), &cast), [half::f16::from_f64(x).to_f64()]);
    }

    #[test]
    fn what_has_no_sign_is_the_magnitude_in_a_wide_run() {
        let to = |dtype| ("aten.to.dtype", vec![Value::Literal(Arg::Dtype(dtype))]);
        let turned = |floats| run(floats, &[("aten.neg.default", vec![]), to(Dtype::F8E8m0fnu), to(Dtype::F32)]);
        assert_eq!(turned(Some(Floats::Wide)), [f64::from(0.1_f32)]);
        assert_eq!(turned(Some(Floats::Cast)), [0.125]);
        assert_eq!(turned(None), [0.125]);
    }

    #[test]
    fn a_discrete_step_stays() {
        assert_eq!(run(Some(Floats::Wide), &[("aten.ceil.default", vec![])]), [1.0]);
    }
    #[test]
    fn f64_is_f32_in_a_single_run_and_f16_is_f16() {
        let x = f64::from(0.1_f32);
        let to = |dtype| ("aten.to.dtype", vec![Value::Literal(Arg::Dtype(dtype))]);
        let add = ("aten.add.Tensor", vec![Value::Float(1e-9)]);
        assert_eq!(run(Some(Floats::Single), &[to(Dtype::F64), add.clone()]), [x]);
        assert_eq!(run(Some(Floats::Wide), &[to(Dtype::F64), add]), [x + 1e-9]);
        assert_eq!(run(Some(Floats::Single), &[to(Dtype::F16)]), [half::f16::from_f64(x).to_f64()]);
    }
}
