//! The builder of a decomposition: the arguments of a call, and a graph of its own to which calls are appended, typed as they are emitted.
//!
//! Promises: every appended call is typed by the rules, so a result has a type; the first fault stays, later calls then do nothing and
//! their values have no type; argument accessors give the bound arguments (defaults filled in, constants resolved).
//! A value is a [`T`], whose arithmetic emits calls: see `value`. Leaves to `expand` who runs the builder and what becomes of its graph.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::value::T;
use crate::graph::{Arg, BodyId, Dtype, Graph, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType, View};
use crate::ops::error::{CallFault, TypeError};
use crate::ops::registry::Registry;
use crate::ops::registry::operator::Operator;
use crate::ops::schema::bind::Bound;
use crate::ops::typing::call::Call;
use crate::sym::{Dim, Symbols};

/// What a decomposition gives: what stands for the results, one a result of the schema.
pub type Made = Result<Vec<Arg>, CallFault>;

/// Arguments of a call that is emitted: positional ones, then keywords.
#[derive(Clone, Debug, Default)]
pub struct Actual {
    pub(super) args: Vec<Arg>,
    pub(super) named: Vec<(Box<str>, Arg)>,
}

impl Actual {
    pub(super) fn new(args: Vec<Arg>, named: Vec<(Box<str>, Arg)>) -> Self {
        Actual { args, named }
    }

    /// Returns the same with one more in front.
    pub(super) fn after(mut self, first: Arg) -> Self {
        self.args.insert(0, first);
        self
    }
}

/// Arguments of an emitted call: `args![x, 1; dtype = d]`.
macro_rules! args {
    ($($arg:expr),* $(; $($key:ident = $value:expr),* $(,)?)?) => {
        $crate::ops::decompose::builder::Actual::new(
            vec![$($crate::graph::Arg::from($arg)),*],
            vec![$($((stringify!($key).into(), $crate::graph::Arg::from($value))),*)?],
        )
    };
}
pub(super) use args;

/// What stands for the results: `done![y, rstd]`.
macro_rules! done {
    ($($result:expr),* $(,)?) => { Ok(vec![$($crate::graph::Arg::from($result)),*]) };
}
pub(super) use done;

struct State {
    graph: Graph,
    fault: Option<TypeError>,
}

/// A decomposition that is being built.
pub struct Builder<'r> {
    registry: &'r Registry,
    operator: &'r Operator,
    args: Vec<Arg>,
    /// Whether results lie as the rule says.
    pub(super) lays_out: bool,
    state: RefCell<State>,
}

/// How a decomposition names a parameter: by place or by name.
pub trait Key {
    /// Returns its place in the schema; one beyond the end where there is none of that name.
    fn place(self, operator: &Operator) -> usize;
}

impl Key for usize {
    fn place(self, _: &Operator) -> usize {
        self
    }
}

impl Key for &str {
    fn place(self, operator: &Operator) -> usize {
        operator.schema.param_index(self).unwrap_or(usize::MAX)
    }
}

/// A node that is none: what calls give after a fault.
/// The first of torch_npu's own numbers of types; those below are PyTorch's.
const FIRST_OF_NPU: i64 = 285;

fn nowhere() -> NodeId {
    NodeId::new_in_batch(u32::MAX)
}

impl<'r> Builder<'r> {
    /// Begins in `graph`, which has the operands of `args` as placeholders.
    pub(super) fn new(registry: &'r Registry, operator: &'r Operator, graph: Graph, args: Vec<Arg>) -> Self {
        Builder { registry, operator, args, lays_out: true, state: RefCell::new(State { graph, fault: None }) }
    }

    /// Ends; the fault of an emitted call, if there was one.
    pub(super) fn finish(self) -> (Graph, Option<TypeError>) {
        let State { graph, fault } = self.state.into_inner();
        (graph, fault)
    }

    /// Returns the operator that is decomposed.
    pub fn operator(&self) -> &'r Operator {
        self.operator
    }

    /// Returns the registry.
    pub fn registry(&self) -> &'r Registry {
        self.registry
    }

    /// Asks the call that is decomposed, with the accessors that type rules have.
    pub fn ask<R>(&self, question: impl FnOnce(&mut Call<'_>) -> Result<R, CallFault>) -> Result<R, CallFault> {
        let mut state = self.state.borrow_mut();
        let mut symbols = std::mem::take(&mut state.graph.symbols);
        let bound = Bound { args: self.args.iter().collect(), extra: SmallVec::new() };
        let answer = question(&mut Call {
            operator: self.operator,
            registry: self.registry,
            bound,
            view: &state.graph,
            symbols: &mut symbols,
            annotated: None,
            consulted: Default::default(),
        });
        state.graph.symbols = symbols;
        answer
    }

    fn place(&self, key: impl Key) -> usize {
        key.place(self.operator)
    }

    /// Returns a parameter's argument as it stands.
    pub fn arg(&self, key: impl Key) -> Arg {
        let place = self.place(key);
        self.ask(|c| Ok(c.arg(place).clone())).unwrap_or(Arg::None)
    }

    /// Returns whether nothing was given.
    pub fn is_none(&self, key: impl Key) -> bool {
        self.arg(key) == Arg::None
    }

    /// Returns the tensor of a parameter.
    pub fn t(&self, key: impl Key) -> Result<T<'_>, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.tensor(place).map(|_| c.arg(place).as_node()))?
            .map(|id| self.value(id))
            .ok_or_else(|| self.unsupported("a tensor that is no node"))
    }

    /// Returns the tensor of a parameter, if there is one.
    pub fn opt(&self, key: impl Key) -> Result<Option<T<'_>>, CallFault> {
        let place = self.place(key);
        if self.is_none(place) { Ok(None) } else { self.t(place).map(Some) }
    }

    /// Returns the tensors of a list.
    pub fn ts(&self, key: impl Key) -> Result<Vec<T<'_>>, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.tensors(place).map(|_| ()))?;
        match self.arg(place) {
            Arg::List(items) | Arg::Tuple(items) => {
                Ok(items.iter().filter_map(Arg::as_node).map(|n| self.value(n)).collect())
            }
            Arg::Node(list) => {
                let count = match &*self.ty(list) {
                    ValueType::Many(all) => all.len(),
                    _ => 0,
                };
                Ok(self.items(list, count))
            }
            _ => Err(self.unsupported("a list of tensors in another form")),
        }
    }

    /// Returns the tensors of a list in which `None` may stand, or `None` where there is no list.
    pub fn opt_ts(&self, key: impl Key) -> Result<Option<Vec<Option<T<'_>>>>, CallFault> {
        let place = self.place(key);
        let arg = self.arg(place);
        let Some(items) = arg.items() else { return Ok(None) };
        self.ask(|c| c.opt_tensors(place).map(|_| ()))?;
        Ok(Some(items.iter().map(|a| a.as_node().map(|n| self.value(n))).collect()))
    }

    /// Returns the known integer of a parameter.
    pub fn int(&self, key: impl Key) -> Result<i64, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.int(place))
    }

    /// Returns the known integer of a parameter, if there is one.
    pub fn opt_int(&self, key: impl Key) -> Result<Option<i64>, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.opt_int(place))
    }

    /// Returns the known integers of a list.
    pub fn ints(&self, key: impl Key) -> Result<Vec<i64>, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.ints(place).map(|v| v.to_vec()))
    }

    /// Returns the known integers of a list, if there is one.
    pub fn opt_ints(&self, key: impl Key) -> Result<Option<Vec<i64>>, CallFault> {
        let place = self.place(key);
        if self.is_none(place) { Ok(None) } else { self.ints(place).map(Some) }
    }

    /// Returns the elements of a list of sizes, numbers or nodes; one size is a list of one.
    pub fn sizes(&self, key: impl Key) -> Vec<Arg> {
        match self.arg(key) {
            Arg::List(items) | Arg::Tuple(items) => items.into_vec(),
            Arg::None => Vec::new(),
            one => vec![one],
        }
    }

    /// Returns the known integers of a list of exactly `n`, where one stands for all.
    pub fn ints_of(&self, key: impl Key, n: usize) -> Result<Vec<i64>, CallFault> {
        let list = self.ints(key)?;
        match list.as_slice() {
            [one] => Ok(vec![*one; n]),
            _ if list.len() == n => Ok(list),
            _ => Err(self.unsupported("a list of another length")),
        }
    }

    /// Returns the boolean of a parameter.
    pub fn flag(&self, key: impl Key) -> Result<bool, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.bool(place))
    }

    /// Returns the known number of a parameter.
    pub fn float(&self, key: impl Key) -> Result<f64, CallFault> {
        self.opt_float(key)?.ok_or_else(|| self.unsupported("a number that is not known"))
    }

    /// Returns the known number of a parameter, if one is given.
    pub fn opt_float(&self, key: impl Key) -> Result<Option<f64>, CallFault> {
        let place = self.place(key);
        match self.arg(place) {
            Arg::None => Ok(None),
            Arg::Bool(v) => Ok(Some(f64::from(u8::from(v)))),
            _ => match self.ask(|c| Ok(c.float(place)))? {
                Some(v) => Ok(Some(v)),
                None => Err(self.unsupported("a number that is not known")),
            },
        }
    }

    /// Returns the text of a parameter; empty for `None`.
    pub fn text(&self, key: impl Key) -> String {
        match self.arg(key) {
            Arg::Str(text) => text.into(),
            _ => String::new(),
        }
    }

    /// Returns the dtype of a parameter, if there is one.
    pub fn dtype(&self, key: impl Key) -> Result<Option<Dtype>, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.dtype(place))
    }

    /// Returns a dimension argument of a tensor of that rank, counted from the front.
    pub fn axis(&self, key: impl Key, rank: usize) -> Result<i64, CallFault> {
        let place = self.place(key);
        self.ask(|c| c.axis(place, rank).map(signed))
    }

    /// Returns dimension arguments, counted from the front; all of them where none are given.
    pub fn axes(&self, key: impl Key, rank: usize) -> Result<Vec<i64>, CallFault> {
        let place = self.place(key);
        let given = self.ask(|c| c.axes(place, rank))?;
        Ok(given.filter(|d| !d.is_empty()).map_or_else(|| range(rank), |d| d.into_iter().map(signed).collect()))
    }

    /// Returns the type that the rule gives the call that is decomposed.
    pub fn own_type(&self) -> Result<ValueType, CallFault> {
        self.ask(|c| c.infer())
    }

    /// Returns the tensor type that the rule gives the (first) result.
    pub fn own_tensor(&self) -> Result<Arc<TensorType>, CallFault> {
        let first = match self.own_type()? {
            ValueType::Many(all) => all.first().cloned(),
            one => Some(one),
        };
        match first {
            Some(ValueType::Tensor(t)) => Ok(t),
            _ => Err(self.unsupported("a result that is no tensor")),
        }
    }

    /// Returns a fault: this form is not covered.
    pub fn unsupported(&self, what: impl Into<String>) -> CallFault {
        CallFault::Unsupported { what: format!("a decomposition with {}", what.into()) }
    }

    /// Returns a fault unless `holds`: only forms for which it does are covered.
    pub fn only(&self, holds: bool, otherwise: &str) -> Result<(), CallFault> {
        if holds { Ok(()) } else { Err(self.unsupported(otherwise)) }
    }

    /// Refuses operands of torch_npu that hold another type than their tensor's (`x1_dtype` beside `x1`), and its types that PyTorch lacks:
    /// decompositions compute with what the tensors say.
    pub(super) fn only_own_types(&self) -> Result<(), CallFault> {
        if !self.operator.target.starts_with("npu.") {
            return Ok(());
        }
        for param in &self.operator.schema.params {
            let (name, Arg::Int(code)) = (&*param.name, self.arg(&*param.name)) else { continue };
            let Some(of) = name.strip_suffix("dtype").or_else(|| name.strip_suffix("_type")) else { continue };
            let of = of.trim_end_matches('_');
            let is_operand = self.operator.schema.param_index(of).is_some();
            let own = if is_operand { self.opt(of)?.map(|t| t.dtype()) } else { None };
            let is_own = own.is_none_or(|own| crate::ops::typing::promote::from_code(code) == Some(own));
            self.only(is_own && code < FIRST_OF_NPU, name)?;
        }
        Ok(())
    }

    pub(super) fn value(&self, id: NodeId) -> T<'_> {
        T::new(self, id)
    }

    pub(super) fn ty(&self, id: NodeId) -> Arc<ValueType> {
        Arc::new(self.state.borrow().graph.ty(id).clone())
    }

    pub(super) fn tensor_type(&self, id: NodeId) -> Option<Arc<TensorType>> {
        match self.state.borrow().graph.ty(id) {
            ValueType::Tensor(t) => Some(t.clone()),
            _ => None,
        }
    }

    /// Lets something be decided about sizes.
    pub(super) fn decide<R>(&self, decision: impl FnOnce(&mut Symbols) -> R) -> R {
        decision(&mut self.state.borrow_mut().graph.symbols)
    }

    pub(super) fn fail(&self, fault: CallFault) {
        let mut state = self.state.borrow_mut();
        if state.fault.is_none() {
            state.fault = Some(fault.of(&self.operator.target));
        }
    }

    /// Emits a call and returns its value. See [`Builder::full_target`] for names.
    pub fn op(&self, name: &str, args: Actual) -> T<'_> {
        self.value(self.emit(name, args))
    }

    /// Emits a call of several results and returns the first `n`.
    pub fn many<const N: usize>(&self, name: &str, args: Actual) -> Result<[T<'_>; N], CallFault> {
        let list = self.emit(name, args);
        <[T<'_>; N]>::try_from(self.items(list, N)).map_err(|_| self.unsupported("fewer results"))
    }

    /// Emits a call of several results and returns one of them.
    pub fn pick(&self, name: &str, args: Actual, result: i64) -> T<'_> {
        let list = self.emit(name, args);
        self.op("_operator.getitem", args![list, result])
    }

    /// Emits a call that gives a list and returns its elements.
    pub fn list(&self, name: &str, args: Actual) -> Vec<T<'_>> {
        let list = self.emit(name, args);
        let count = match &*self.ty(list) {
            ValueType::Many(all) => all.len(),
            _ => 0,
        };
        self.items(list, count)
    }

    fn items(&self, list: NodeId, count: usize) -> Vec<T<'_>> {
        (0..count).map(|i| self.op("_operator.getitem", args![list, signed(i)])).collect()
    }

    /// Returns the target that a short name means: `aten.` goes without saying; without overload the default one, else that of a
    /// number (`gt.Scalar`; arithmetic takes numbers in a tensor's place), else `Tensor`.
    fn full_target(&self, name: &str, args: &Actual) -> String {
        const TAKES_NUMBERS: &[&str] = &["add", "sub", "mul", "div"];
        let known = |target: &String| self.registry.get(target).is_some_and(|o| *o.target == **target);
        if known(&name.to_string()) {
            return name.into();
        }
        let number = !matches!(args.args.get(1), None | Some(Arg::Node(_))) && !TAKES_NUMBERS.contains(&name);
        let last = if number { "Scalar" } else { "Tensor" };
        let full = format!("aten.{name}");
        [full.clone(), format!("{full}.default"), format!("{full}.{last}")]
            .into_iter()
            .find(known)
            .unwrap_or_else(|| format!("{full}.Tensor"))
    }

    pub(super) fn emit(&self, name: &str, args: Actual) -> NodeId {
        let target = self.full_target(name, &args);
        let mut state = self.state.borrow_mut();
        let named = args.named.into_iter().map(|(k, v)| (state.graph.texts.intern(&k), v)).collect();
        self.append(&mut state, &target, args.args, named)
    }

    /// Emits a call whose keywords are texts of the builder's graph already.
    pub(super) fn emit_interned(&self, target: &str, args: Vec<Arg>, kwargs: Vec<(StrId, Arg)>) -> NodeId {
        self.append(&mut self.state.borrow_mut(), target, args, kwargs)
    }

    fn append(&self, state: &mut State, target: &str, args: Vec<Arg>, kwargs: Vec<(StrId, Arg)>) -> NodeId {
        if state.fault.is_some() {
            return nowhere();
        }
        let ty = match self.registry.infer(&mut state.graph, target, &args, &kwargs) {
            Ok(ty) => ty,
            Err(error) => {
                state.fault = Some(error);
                return nowhere();
            }
        };
        let base = target.split('.').nth(1).unwrap_or(target);
        let name = state.graph.free_name(BodyId::ROOT, base);
        let target = state.graph.texts.intern(target);
        let node = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty };
        state.graph.push(BodyId::ROOT, &name, node)
    }

    /// Lets the graph be read or grown by hand: bodies of users' operators.
    pub(super) fn with_graph<R>(&self, act: impl FnOnce(&mut Graph) -> R) -> R {
        act(&mut self.state.borrow_mut().graph)
    }

    /// Computes with two sizes, known ones at once: `add`, `sub`, `mul`, `floordiv`.
    pub fn size_op(&self, op: &str, a: impl Into<Arg>, b: impl Into<Arg>) -> Arg {
        let (a, b) = (a.into(), b.into());
        if let (Arg::Int(x), Arg::Int(y)) = (&a, &b) {
            let known = match op {
                "add" => x.checked_add(*y),
                "sub" => x.checked_sub(*y),
                "mul" => x.checked_mul(*y),
                _ => x.checked_div_euclid(*y).filter(|_| *y > 0),
            };
            if let Some(known) = known {
                return Arg::Int(known);
            }
            self.fail(self.unsupported("sizes that overflow"));
        }
        Arg::Node(self.emit(&format!("_operator.{op}"), args![a, b]))
    }

    /// Returns the product of sizes.
    pub fn size_product(&self, sizes: &[Arg]) -> Arg {
        sizes
            .iter()
            .fold(Arg::Int(1), |p, s| if p == Arg::Int(1) { s.clone() } else { self.size_op("mul", p, s.clone()) })
    }

    /// Returns a known size.
    pub fn fixed(&self, dim: Dim) -> Result<i64, CallFault> {
        dim.fixed().ok_or_else(|| self.unsupported("a symbolic size"))
    }

    /// Makes a tensor filled with a number, where `like` lives.
    pub fn full(&self, like: T<'_>, sizes: Vec<Arg>, value: impl Into<Arg>, dtype: Dtype) -> T<'_> {
        let device = like.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
        self.op("full", args![sizes, value.into(); dtype = dtype, device = device])
    }

    /// `a where c else b`.
    pub fn choose(&self, c: T<'_>, a: impl Into<Arg>, b: impl Into<Arg>) -> T<'_> {
        let (a, b) = (a.into(), b.into());
        let overload = match (&a, &b) {
            (Arg::Node(_), Arg::Node(_)) => "where.self",
            (Arg::Node(_), _) => "where.ScalarOther",
            (_, Arg::Node(_)) => "where.ScalarSelf",
            _ => "where.Scalar",
        };
        self.op(overload, args![c, a, b])
    }
}

/// A place as an integer of a graph.
pub fn signed(i: usize) -> i64 {
    i64::try_from(i).unwrap_or(i64::MAX)
}

/// The elements from place `from` on; none where there are fewer.
pub fn tail<A: Clone>(list: &[A], from: usize) -> Vec<A> {
    list.get(from..).unwrap_or(&[]).to_vec()
}

/// `[0, 1, .. rank)`.
pub fn range(rank: usize) -> Vec<i64> {
    (0..signed(rank)).collect()
}
