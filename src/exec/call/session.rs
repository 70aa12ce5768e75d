//! A session: registry, kernels, random numbers and memory of a run; and one call.
//!
//! A call is bound, typed by its rule, and computed by its kernel. In-place forms (`add_`) and `out` forms without a kernel of their own
//! run the functional form and copy its result; what has a decomposition only runs that. Promises: a call that the rule refuses computes nothing.

use std::time::Instant;

use smallvec::SmallVec;

use crate::exec::call::cx::Cx;
use crate::exec::call::memory;
use crate::exec::call::operands::Operands;
use crate::exec::call::overlap;
use crate::exec::error::ExecError;
use crate::exec::kernels::Kernels;
use crate::exec::numbers::generator::Generator;
use crate::exec::run::wide::Floats;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::Value;
use crate::graph::{Arg, Device, StrId, ValueType};
use crate::ops::{CallFault, CallSite, Exactness, Expansion, Operator, Param, Registry, Sharing, TypeError};
use crate::sym::Symbols;

/// What a run holds beside its values.
pub struct Session<'r> {
    registry: &'r Registry,
    kernels: &'r Kernels,
    /// Random numbers, from the seed.
    pub random: Generator,
    meter: Meter,
    device: Device,
    depth: usize,
    /// How many calls and bodies may still run.
    left: u64,
    /// In which floats calls are made, where not in the program's own.
    pub floats: Option<Floats>,
    /// In a run of other floats: whether a conversion that is called is none, for its operand has that dtype in the program.
    pub(in crate::exec) keeps_dtype: bool,
    /// Whether an operator whose definition is the same over the reals is that, whatever kernel it has: each of its calls rounds.
    pub by_definition: bool,
    /// When a run ends that has not come to its end: an error that says so.
    pub deadline: Option<Instant>,
    /// The most bytes that a tensor may take; what is larger is not made.
    pub most_bytes: Option<usize>,
}

/// Operators that call others nest no deeper than this.
const DEEPEST: usize = 16;

impl<'r> Session<'r> {
    /// Returns a session that draws its random numbers from `seed`.
    pub fn new(registry: &'r Registry, kernels: &'r Kernels, seed: u64) -> Self {
        let (random, meter, device) = (Generator::new(seed), Meter::default(), Device::cpu());
        Session {
            registry,
            kernels,
            random,
            meter,
            device,
            depth: 0,
            left: u64::MAX,
            floats: None,
            keeps_dtype: false,
            by_definition: false,
            deadline: None,
            most_bytes: None,
        }
    }

    /// Returns the meter of memory that this session's tensors take.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Lets no more than so many calls and bodies run from here on: a loop of the program need not end.
    pub fn limit(&mut self, calls: u64) {
        self.left = calls;
    }

    /// Returns whether a limit that was set is used up.
    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Counts a call or a body.
    pub(in crate::exec) fn spend(&mut self) -> Result<(), CallFault> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Err(CallFault::Unsupported { what: "running on: the limit of calls is used up".into() });
        }
        Ok(())
    }

    /// Returns the operators that this session knows.
    pub fn registry(&self) -> &'r Registry {
        self.registry
    }

    /// Calls an operator.
    ///
    /// Errors: arguments that do not fit, what the kernel refuses, an operator without kernel.
    pub fn call(&mut self, target: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Result<Value, TypeError> {
        match self.floats {
            Some(floats) => self.call_in(target, args, kwargs, floats),
            None => self.call_as_is(target, args, kwargs),
        }
    }

    /// Checks that the run may go on.
    pub(in crate::exec) fn check_time(&self) -> Result<(), CallFault> {
        let over = self.deadline.is_some_and(|end| Instant::now() >= end);
        if over { Err(CallFault::Unsupported { what: "a run beyond its time".into() }) } else { Ok(()) }
    }

    pub(in crate::exec) fn call_as_is(
        &mut self,
        target: &str,
        args: &[Value],
        kwargs: &[(&str, Value)],
    ) -> Result<Value, TypeError> {
        self.depth = self.depth.saturating_add(1);
        let result = if self.depth > DEEPEST {
            Err(CallFault::Unsupported { what: format!("calls nested deeper than {DEEPEST}") })
        } else {
            self.call_once(target, args, kwargs)
        };
        self.depth = self.depth.saturating_sub(1);
        result.map_err(|fault| fault.of(target))
    }

    fn call_once(&mut self, target: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Result<Value, CallFault> {
        self.spend()?;
        let mut operands = Operands::default();
        let device = self.device.clone();
        let bound_args: SmallVec<[Arg; 8]> = args.iter().map(|v| operands.arg(v, &device)).collect();
        let bound_kwargs: SmallVec<[(StrId, Arg); 4]> =
            kwargs.iter().map(|(k, v)| (operands.keyword(k), operands.arg(v, &device))).collect();
        let mut symbols = Symbols::default();
        let site = CallSite { target, args: &bound_args, kwargs: &bound_kwargs, annotated: None };
        let mut call = self.registry.bind(&operands, &mut symbols, site)?;
        let result = match call.infer() {
            Ok(ty) => ty,
            Err(fault) if fault.is_ignorance() => ValueType::Unknown,
            // Symbols hold less than numbers do; what numbers alone come to is for the kernel to say.
            Err(CallFault::Symbol(_)) if !operands.has_tensors() => ValueType::Unknown,
            Err(fault) => return Err(fault),
        };
        let (operator, kernel) = (call.operator, self.kernels.get(&call.operator.target));
        memory::check(operator, &operands, &result, self.most_bytes)?;
        let gives_list = matches!(&*operator.schema.returns, [one] if one.ty.is_list());
        if self.by_definition && self.registry.exactness(operator) == Some(Exactness::Real) {
            let expansion = self.registry.decompose(&operands, &mut Symbols::default(), site);
            if let Ok(Some(expansion)) = expansion {
                drop(call);
                return self.run_parts(&expansion, &operands, gives_list);
            }
        }
        let mut cx = Cx { call, operands: &operands, result, session: self };
        if let Some(kernel) = kernel {
            return kernel(&mut cx);
        }
        match functional_form(cx.session.registry, operator) {
            Some(Form::InPlace(sibling, written)) => in_place(&mut cx, sibling, written),
            Some(Form::Out(sibling)) => into_out(&mut cx, sibling),
            None => {
                drop(cx);
                self.call_parts(&operands, site, gives_list)
            }
        }
    }

    /// Runs the more basic calls that an operator without kernel is made of.
    /// A list is one though it holds a single tensor.
    fn call_parts(&mut self, operands: &Operands, site: CallSite<'_>, gives_list: bool) -> Result<Value, CallFault> {
        let none =
            || CallFault::Unsupported { what: "running this operator: it has neither kernel nor decomposition".into() };
        let expansion = self.registry.decompose(operands, &mut Symbols::default(), site).map_err(|e| *e.fault)?;
        self.run_parts(&expansion.ok_or_else(none)?, operands, gives_list)
    }

    fn run_parts(&mut self, expansion: &Expansion, operands: &Operands, gives_list: bool) -> Result<Value, CallFault> {
        let inputs = expansion.inputs.iter().map(|n| operands.get(*n).cloned().map_or(Value::None, Value::Tensor));
        let results =
            crate::exec::run::program::run_expansion(&expansion.graph, inputs, self).map_err(|e| match e {
                ExecError::Node { source, .. } => *source.fault,
                other => CallFault::Unsupported { what: other.to_string() },
            })?;
        Ok(match <[Value; 1]>::try_from(results) {
            Ok([one]) if gives_list => Value::List(vec![one]),
            Ok([one]) => one,
            Err(several) if several.is_empty() => Value::None,
            Err(several) => Value::List(several),
        })
    }
}

/// Which operator computes what another one writes.
pub enum Form<'r> {
    /// `add` for `add_`, which writes that parameter.
    InPlace(&'r Operator, usize),
    /// `add.Tensor` for `add.out`.
    Out(&'r Operator),
}

/// Returns the operator without writes that computes what `operator` writes.
pub fn functional_form<'r>(registry: &'r Registry, operator: &Operator) -> Option<Form<'r>> {
    let schema = &operator.schema;
    let written = |i: &usize| operator.effects.params.get(*i).is_some_and(|p| p.writes);
    if let Some(name) = schema.name.strip_suffix('_') {
        let returned = operator.effects.returns.first()?.iter().find(|r| matches!(r.sharing, Sharing::Same))?.param;
        let packet = format!("{}.{name}", schema.namespace);
        // `pow.Scalar` and `pow_.Scalar` share a name, not a meaning: types of parameters tell.
        let kind = |p: &Param| (p.ty.base.clone(), p.ty.suffixes.clone());
        let types = |o: &Operator| o.schema.params.iter().map(kind).collect::<Vec<_>>();
        let fits = |o: &&Operator| types(o) == types(operator);
        let same = registry.overloads(&packet).filter(fits).find(|o| o.schema.overload == schema.overload);
        return same.or_else(|| registry.overloads(&packet).find(fits)).map(|o| Form::InPlace(o, returned));
    }
    let out = schema.params.iter().enumerate().any(|(i, p)| p.kwarg_only && written(&i));
    if !out {
        return None;
    }
    // `div.Tensor` and `div.Scalar` have parameters of the same names: here too types tell.
    let read = schema
        .params
        .iter()
        .enumerate()
        .filter(|(i, _)| !written(i))
        .map(|(_, p)| (&*p.name, &p.ty.base, &p.ty.suffixes));
    let read: Vec<_> = read.collect();
    let same = |o: &&Operator| {
        let own = o.schema.params.iter().map(|p| (&*p.name, &p.ty.base, &p.ty.suffixes));
        own.eq(read.iter().copied()) && !o.effects.params.iter().any(|p| p.writes)
    };
    registry.overloads(&operator.packet()).find(same).map(Form::Out)
}

fn in_place(cx: &mut Cx<'_, '_, '_>, sibling: &Operator, written: usize) -> Result<Value, CallFault> {
    let target = cx.tensor(written)?.clone();
    if sibling.pointwise {
        overlap::check_written(cx, written)?;
    }
    let result = run_sibling(cx, sibling, cx.values())?;
    let [Value::Tensor(result)] = result.items() else {
        return Err(CallFault::mismatch("result", "a tensor", result.kind()));
    };
    target.copy_from(result)?;
    Ok(Value::Tensor(target))
}

/// Calls an operator by name that has the same parameters in the same order, those that go by keyword so.
pub(in crate::exec) fn run_as(cx: &mut Cx<'_, '_, '_>, target: &str, values: Vec<Value>) -> Result<Value, CallFault> {
    let sibling = cx.session.registry.get(target).ok_or(CallFault::Opaque)?;
    run_sibling(cx, sibling, values)
}

/// Calls an operator that has the same parameters in the same order, those that go by keyword so.
fn run_sibling(cx: &mut Cx<'_, '_, '_>, sibling: &Operator, values: Vec<Value>) -> Result<Value, CallFault> {
    let (mut args, mut kwargs) = (Vec::with_capacity(values.len()), Vec::new());
    for (param, value) in sibling.schema.params.iter().zip(values) {
        if param.kwarg_only {
            kwargs.push((&*param.name, value));
        } else {
            args.push(value);
        }
    }
    cx.session.call(&sibling.target, &args, &kwargs).map_err(|e| *e.fault)
}

fn into_out(cx: &mut Cx<'_, '_, '_>, sibling: &Operator) -> Result<Value, CallFault> {
    let operator = cx.call.operator;
    let writes = |i: usize| operator.effects.params.get(i).is_some_and(|p| p.writes);
    let (outs, values): (Vec<_>, Vec<_>) = cx.values().into_iter().enumerate().partition(|(i, _)| writes(*i));
    let values: Vec<Value> = values.into_iter().map(|(_, v)| v).collect();
    if sibling.pointwise {
        outs.iter().try_for_each(|(i, _)| overlap::check_written(cx, *i))?;
    }
    let results = run_sibling(cx, sibling, values)?;
    let mut written = Vec::new();
    for ((i, out), result) in outs.into_iter().zip(results.items()) {
        let (Value::Tensor(out), Value::Tensor(result)) = (out, result) else {
            return Err(cx.bad(i, "a tensor", result.kind()));
        };
        written.push(write_out(out, result)?);
    }
    match <[Tensor; 1]>::try_from(written) {
        Ok([one]) => Ok(Value::Tensor(one)),
        Err(several) => Ok(several.into()),
    }
}

/// Writes a result into an `out` tensor, which takes the result's sizes where they differ.
fn write_out(out: Tensor, result: &Tensor) -> Result<Tensor, CallFault> {
    if out.sizes() == result.sizes() {
        out.copy_from(result)?;
        return Ok(out);
    }
    let meta = crate::exec::tensor::Meta { dtype: out.dtype(), offset: out.meta.offset, ..result.meta.clone() };
    out.storage.grow(meta.needed()?.saturating_mul(meta.dtype.bytes()))?;
    let out = out.with_meta(meta)?;
    out.copy_from(result)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::loops::rows::testing::tensor;
    use crate::graph::Dtype;

    #[test]
    fn a_list_that_a_definition_gives_is_one_though_it_holds_a_single_tensor() {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let line = Value::Tensor(tensor(Dtype::F32, &[3], &[0.0, 1.0, 4.0]));
        let made = Session::new(&registry, &kernels, 0).call("aten.gradient.scalarint", &[line], &[]).unwrap();
        assert!(matches!(made, Value::List(slopes) if slopes.len() == 1));
    }
}
