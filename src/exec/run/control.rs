//! Calls that run bodies or other operators: `cond`, `while_loop`, functionalized operators, wrapped regions.

use crate::exec::error::ExecError;
use crate::exec::run::program::Runner;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::ops::{CallFault, Operator};

type Made = Result<Value, ExecError>;
type Named<'k> = (&'k str, Value);

impl Runner<'_, '_, '_> {
    /// Runs a higher-order call; `None` where `target` is none.
    pub(in crate::exec) fn higher_order(
        &mut self,
        node: NodeId,
        target: &str,
        args: &[Value],
        kwargs: &[Named<'_>],
    ) -> Option<Made> {
        Some(match target {
            "_operator.getitem" => self.getitem(node, args),
            "higher_order.cond" => self.cond(node, args),
            "higher_order.while_loop" => self.while_loop(node, args),
            "higher_order.wrap_with_set_grad_enabled" => self.wrapped(node, args, 1, 2),
            "higher_order.wrap_with_autocast" => self.autocast(node, args),
            "higher_order.invoke_subgraph" => self.wrapped(node, args, 0, 2),
            "higher_order.tag_activation_checkpoint" => self.wrapped(node, args, 0, 1),
            "higher_order.strict_mode" | "higher_order.hints_wrapper" => {
                let operands = args.get(1).map(|o| o.items().to_vec()).unwrap_or_default();
                self.call_body(node, args.first().unwrap_or(&Value::None), operands).map(Value::List)
            }
            "higher_order.scan" => self.scan(node, args),
            "higher_order.associative_scan" => self.associative_scan(node, args),
            "higher_order.map_impl" => self.map(node, args),
            "higher_order.with_effects" => self.with_effects(node, args, kwargs),
            "higher_order.auto_functionalized" => self.functionalized(node, args, kwargs),
            "higher_order.auto_functionalized_v2" => self.functionalized_v2(node, args, kwargs),
            _ if target.starts_with("higher_order.") => {
                Err(self.fault(node, CallFault::Unsupported { what: "running this higher-order call".into() }))
            }
            _ => return None,
        })
    }

    fn getitem(&mut self, node: NodeId, args: &[Value]) -> Made {
        let (Some(Value::List(all)), Some(Value::Int(at))) = (args.first(), args.get(1)) else {
            let found = args.first().map_or("nothing", Value::kind);
            return Err(self.fault(node, CallFault::mismatch("a", "several results and a number", found)));
        };
        let place = if *at < 0 {
            usize::try_from(*at)
                .ok()
                .or(all.len().checked_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)))
        } else {
            usize::try_from(*at).ok()
        };
        place.and_then(|p| all.get(p)).cloned().ok_or_else(|| {
            self.fault(node, CallFault::mismatch("b", format!("a number below {}", all.len()), at.to_string()))
        })
    }

    /// Runs a body on these operands.
    fn call_body(&mut self, node: NodeId, body: &Value, operands: Vec<Value>) -> Result<Vec<Value>, ExecError> {
        let Value::Body(body) = body else {
            return Err(self.fault(node, CallFault::mismatch("body", "a sub-graph", body.kind())));
        };
        let placeholders: Vec<NodeId> = self.placeholders(*body);
        if placeholders.len() != operands.len() {
            let name = self.graph.body_name(*body).to_string();
            let expected = format!("{} operands for `{name}`", placeholders.len());
            return Err(self.fault(node, CallFault::mismatch("operands", expected, operands.len().to_string())));
        }
        for (placeholder, operand) in placeholders.into_iter().zip(operands) {
            self.set(placeholder, operand);
        }
        self.body(*body)
    }

    fn placeholders(&self, body: BodyId) -> Vec<NodeId> {
        self.graph.nodes(body).filter(|n| self.graph.kind(*n) == NodeKind::Placeholder).collect()
    }

    fn cond(&mut self, node: NodeId, args: &[Value]) -> Made {
        let [pred, on_true, on_false, rest @ ..] = args else {
            return Err(self.fault(node, CallFault::Missing { argument: "pred".into() }));
        };
        let operands = rest.first().map(|o| o.items().to_vec()).unwrap_or_default();
        let chosen = if self.truth(node, pred)? { on_true } else { on_false };
        self.call_body(node, chosen, operands).map(Value::List)
    }

    fn truth(&self, node: NodeId, value: &Value) -> Result<bool, ExecError> {
        match value {
            Value::Bool(v) => Ok(*v),
            Value::Int(v) => Ok(*v != 0),
            Value::Tensor(t) if t.numel() == 1 => {
                let all = t.lanes::<i64>().map_err(|f| self.fault(node, f))?;
                Ok(all.first().is_some_and(|v| *v != 0))
            }
            other => Err(self.fault(node, CallFault::mismatch("pred", "a truth value", other.kind()))),
        }
    }

    fn while_loop(&mut self, node: NodeId, args: &[Value]) -> Made {
        let [condition, body, carried, rest @ ..] = args else {
            return Err(self.fault(node, CallFault::Missing { argument: "carried_inputs".into() }));
        };
        let additional: Vec<Value> = rest.first().map(|o| o.items().to_vec()).unwrap_or_default();
        let mut carried = carried.items().to_vec();
        loop {
            self.session.check_time().map_err(|fault| self.fault(node, fault))?;
            let operands: Vec<Value> = carried.iter().chain(&additional).cloned().collect();
            let verdict = self.call_body(node, condition, operands.clone())?;
            if !self.truth(node, verdict.first().unwrap_or(&Value::None))? {
                return Ok(Value::List(carried));
            }
            carried = self.call_body(node, body, operands)?;
        }
    }

    /// Runs a body along the first dimension of `xs`: on what is carried, the slice, and what is the same at each step. Gives what is carried in
    /// the end, then the other results of all steps side by side.
    fn scan(&mut self, node: NodeId, args: &[Value]) -> Made {
        let [body, init, rest @ ..] = args else {
            return Err(self.fault(node, CallFault::Missing { argument: "init".into() }));
        };
        let (mut carried, count) = (init.items().to_vec(), init.items().len());
        let others = self.along(node, rest, |runner, slices, additional| {
            let before = std::mem::take(&mut carried);
            let mut made = runner.call_body(node, body, [before, slices, additional].concat())?;
            let others = made.split_off(count.min(made.len()));
            carried = made;
            Ok(others)
        })?;
        carried.extend(others);
        Ok(Value::List(carried))
    }

    /// What all elements up to each come to, one after the other.
    fn associative_scan(&mut self, node: NodeId, args: &[Value]) -> Made {
        let [body, rest @ ..] = args else {
            return Err(self.fault(node, CallFault::Missing { argument: "combine_fn".into() }));
        };
        let mut before: Option<Vec<Value>> = None;
        let all = self.along(node, rest, |runner, slices, additional| {
            let made = match before.take() {
                Some(before) => runner.call_body(node, body, [before, slices, additional].concat())?,
                None => slices,
            };
            before = Some(made.clone());
            Ok(made)
        });
        all.map(Value::List)
    }

    /// Runs a body on each slice.
    fn map(&mut self, node: NodeId, args: &[Value]) -> Made {
        let [body, rest @ ..] = args else {
            return Err(self.fault(node, CallFault::Missing { argument: "f".into() }));
        };
        let all = self.along(node, rest, |runner, slices, additional| {
            runner.call_body(node, body, [slices, additional].concat())
        });
        all.map(Value::List)
    }

    /// Takes a step on each slice of the first of `args`, given the second as it is; the results of all steps side by side.
    fn along(
        &mut self,
        node: NodeId,
        args: &[Value],
        mut step: impl FnMut(&mut Self, Vec<Value>, Vec<Value>) -> Result<Vec<Value>, ExecError>,
    ) -> Result<Vec<Value>, ExecError> {
        let Some(xs) = args.first().map(|xs| xs.items().to_vec()) else {
            return Err(self.fault(node, CallFault::Missing { argument: "xs".into() }));
        };
        let additional = args.get(1).map(|o| o.items().to_vec()).unwrap_or_default();
        let mut steps: Vec<Vec<Value>> = Vec::new();
        for k in 0..self.length(node, &xs)? {
            self.session.check_time().map_err(|fault| self.fault(node, fault))?;
            let slices = self.slices(node, &xs, k)?;
            steps.push(step(self, slices, additional.clone())?);
        }
        self.side_by_side(node, &steps)
    }

    /// How many slices the operands of a scan have: one number for all.
    fn length(&self, node: NodeId, xs: &[Value]) -> Result<usize, ExecError> {
        let lengths = xs.iter().map(|x| match x {
            Value::Tensor(t) if t.rank() > 0 => Ok(t.meta.size(0)),
            other => Err(self.fault(node, CallFault::mismatch("xs", "tensors with a dimension", other.kind()))),
        });
        let lengths = lengths.collect::<Result<Vec<usize>, _>>()?;
        match lengths.first() {
            Some(first) if *first > 0 && lengths.iter().all(|n| n == first) => Ok(*first),
            _ => {
                Err(self.fault(node, CallFault::mismatch("xs", "tensors of one length, not 0", format!("{lengths:?}"))))
            }
        }
    }

    fn slices(&self, node: NodeId, xs: &[Value], k: usize) -> Result<Vec<Value>, ExecError> {
        let slice = |x: &Value| match x {
            Value::Tensor(t) => t.select(0, k).map(Value::Tensor).map_err(|fault| self.fault(node, fault)),
            other => Ok(other.clone()),
        };
        xs.iter().map(slice).collect()
    }

    fn side_by_side(&mut self, node: NodeId, steps: &[Vec<Value>]) -> Result<Vec<Value>, ExecError> {
        let count = steps.first().map_or(0, Vec::len);
        let column = |k: usize| steps.iter().filter_map(|all| all.get(k).cloned()).collect::<Vec<Value>>();
        let columns: Vec<Vec<Value>> = (0..count).map(column).collect();
        let mut out = Vec::with_capacity(count);
        for column in columns {
            let made = self.session.call("aten.stack.default", &[Value::List(column)], &[]);
            out.push(made.map_err(|e| self.failed(node, e))?);
        }
        Ok(out)
    }

    /// Runs the body that is argument `at` on the arguments from `operands` on.
    pub(in crate::exec) fn wrapped(&mut self, node: NodeId, args: &[Value], at: usize, operands: usize) -> Made {
        let body = args.get(at).cloned().unwrap_or_default();
        let operands = args.get(operands..).unwrap_or(&[]).to_vec();
        self.call_body(node, &body, operands).map(Value::List)
    }

    /// A call in its place among effects: the token that orders them, then its results.
    fn with_effects(&mut self, node: NodeId, args: &[Value], kwargs: &[Named<'_>]) -> Made {
        let (name, operator) = self.operator(node, args.get(1..).unwrap_or(&[]))?;
        let given = args.get(2..).unwrap_or(&[]);
        let result = self.session.call(&name, given, kwargs).map_err(|e| self.failed(node, e))?;
        let token = args.first().cloned().unwrap_or_default();
        Ok(match (operator.schema.returns.len(), result) {
            (0 | 1, one) => Value::List(vec![token, one]),
            (_, many) => Value::List([vec![token], many.items().to_vec()].concat()),
        })
    }

    fn operator(&self, node: NodeId, args: &[Value]) -> Result<(String, Operator), ExecError> {
        let Some(Value::Literal(Arg::Operator(name))) = args.first() else {
            let found = args.first().map_or("nothing", Value::kind);
            return Err(self.fault(node, CallFault::mismatch("op", "an operator", found)));
        };
        let found = self.session.registry().get(name).cloned();
        found.map(|o| (name.to_string(), o)).ok_or_else(|| self.fault(node, CallFault::Opaque))
    }

    /// A call of an operator that writes, on copies of what it writes: its results, then the copies.
    fn functionalized(&mut self, node: NodeId, args: &[Value], kwargs: &[Named<'_>]) -> Made {
        let (name, operator) = self.operator(node, args)?;
        let mut given: Vec<Named<'_>> = kwargs.to_vec();
        let mut copies = Vec::new();
        for (param, effect) in operator.schema.params.iter().zip(&operator.effects.params) {
            let Some((_, value)) = given.iter_mut().find(|(k, _)| effect.writes && **k == *param.name) else {
                continue;
            };
            *value = self.copied(node, value)?;
            copies.push(value.clone());
        }
        let result = self.session.call(&name, &[], &given).map_err(|e| self.failed(node, e))?;
        Ok(results(result, operator.schema.returns.len(), copies))
    }

    fn copied(&self, node: NodeId, value: &Value) -> Made {
        match value {
            Value::Tensor(t) => {
                // The copy keeps strides and place: views of it are as views of the original.
                let bytes = t.storage.read().map(|c| c.bytes().to_vec()).map_err(|f| self.fault(node, f))?;
                let storage = crate::exec::tensor::storage::Storage::new(bytes, self.session.meter());
                Tensor::new(t.meta.clone(), storage).map(Value::Tensor).map_err(|f| self.fault(node, f))
            }
            Value::List(all) => all.iter().map(|v| self.copied(node, v)).collect::<Result<_, _>>().map(Value::List),
            other => Ok(other.clone()),
        }
    }

    /// As above with bases named once (`_all_bases`) and each written argument a view of one (`_NAME_base_index` and its place).
    fn functionalized_v2(&mut self, node: NodeId, args: &[Value], kwargs: &[Named<'_>]) -> Made {
        let (name, operator) = self.operator(node, args)?;
        let find = |key: &str| kwargs.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
        let bases = self.copied(node, &find("_all_bases").unwrap_or(Value::List(Vec::new())))?;
        let mut given: Vec<Named<'_>> = kwargs.iter().filter(|(k, _)| !k.starts_with('_')).cloned().collect();
        for (param, effect) in operator.schema.params.iter().zip(&operator.effects.params) {
            if !effect.writes {
                continue;
            }
            let Some(Value::Int(index)) = find(&format!("_{}_base_index", param.name)) else { continue };
            let base = usize::try_from(index).ok().and_then(|i| bases.items().get(i));
            let Some(Value::Tensor(base)) = base else {
                return Err(self.fault(node, CallFault::mismatch(&param.name, "one of the bases", index.to_string())));
            };
            let view = placed(base, &param.name, &find).map_err(|f| self.fault(node, f))?;
            given.push((&param.name, Value::Tensor(view)));
        }
        let result = self.session.call(&name, &[], &given).map_err(|e| self.failed(node, e))?;
        Ok(results(result, operator.schema.returns.len(), bases.items().to_vec()))
    }
}

/// Returns the view of a base that stands for a written argument.
fn placed(base: &Tensor, name: &str, find: &dyn Fn(&str) -> Option<Value>) -> Result<Tensor, CallFault> {
    let numbers = |key: &str| {
        let list = find(&format!("_{name}_{key}"))?;
        list.items()
            .iter()
            .map(|v| v.as_scalar().and_then(|n| usize::try_from(n.to_i64()).ok()))
            .collect::<Option<crate::exec::Shape>>()
    };
    let number = |key: &str| find(&format!("_{name}_{key}")).and_then(|v| v.as_scalar()).map(|n| n.to_i64());
    if let Some(dim) = number("slice_dim") {
        return sliced(base, name, [dim, number("slice_start").unwrap_or(0), number("slice_end").unwrap_or(i64::MAX)]);
    }
    let (Some(sizes), Some(strides)) = (numbers("size"), numbers("stride")) else { return Ok(base.clone()) };
    let offset = match find(&format!("_{name}_storage_offset")).and_then(|v| v.as_scalar()) {
        Some(n) => {
            usize::try_from(n.to_i64()).map_err(|_| CallFault::mismatch(name, "an offset", "a negative number"))?
        }
        None => base.meta.offset,
    };
    base.with_meta(Meta { dtype: base.dtype(), sizes, strides, offset })
}

/// A part of one dimension of a base, between indices that may count from its end.
fn sliced(base: &Tensor, name: &str, [dim, start, end]: [i64; 3]) -> Result<Tensor, CallFault> {
    let mut meta = base.meta.clone();
    let rank = i64::try_from(meta.sizes.len()).unwrap_or(0);
    let dim = usize::try_from(if dim < 0 { dim.saturating_add(rank) } else { dim }).unwrap_or(usize::MAX);
    let (Some(size), Some(stride)) = (meta.sizes.get_mut(dim), meta.strides.get(dim)) else {
        return Err(CallFault::mismatch(name, format!("one of {rank} dimensions"), dim.to_string()));
    };
    let whole = i64::try_from(*size).unwrap_or(i64::MAX);
    let at = |i: i64| usize::try_from((if i < 0 { i.saturating_add(whole) } else { i }).clamp(0, whole)).unwrap_or(0);
    let (start, end) = (at(start), at(end));
    *size = end.saturating_sub(start);
    meta.offset = meta.offset.saturating_add(start.saturating_mul(*stride));
    base.with_meta(meta)
}

/// What a functionalized call gives: the operator's results, then what it wrote.
fn results(result: Value, returns: usize, written: Vec<Value>) -> Value {
    let mut all = match (result, returns) {
        (_, 0) => vec![Value::None],
        (Value::List(all), n) if n > 1 => all,
        (one, _) => vec![one],
    };
    all.extend(written);
    Value::List(all)
}
