//! The graph that is being raised: calls appended to it, each typed by the registry's rules.
//!
//! Promises: a call that no rule types, or that a rule refuses, is not appended unless its operator is known and only its type is not.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Undefined;
use super::told::TELL;
use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType, View};
use crate::lower::ge::metas;
use crate::ops::Registry;
use crate::sym::Dim;

/// Numbers that the graph that was lowered names.
#[derive(Clone, Debug, Default)]
pub struct Literals {
    /// Floats, each once.
    pub floats: Vec<f64>,
    /// Integers, each once.
    pub integers: Vec<i64>,
    /// The first momentum that a call is given.
    pub momentum: Option<f64>,
    /// The last argument of the first norm that says by which library it is computed.
    pub library: Option<Arg>,
    /// Operators that are called.
    pub targets: BTreeSet<String>,
    /// Calls that make a tensor of nothing but numbers: what they make, and how they are spelled.
    pub fills: Vec<Fill>,
    /// Calls of operators that have several spellings of the same meaning.
    pub spellings: Vec<Spelling>,
    /// How many dimensions batches have that are normalized.
    pub normed: BTreeSet<usize>,
    /// Whether a tensor is filled with a number that a call gives.
    pub fills_told: bool,
    /// Operators whose results are asked for the number that they are.
    pub told: BTreeSet<String>,
    /// Of calls that convert their operands: by target, the dtypes of the tensors that they are given.
    pub converting: BTreeSet<(String, Vec<Dtype>)>,
}

/// A call as it is spelled.
#[derive(Clone, Debug)]
pub struct Spelling {
    target: String,
    dtype: Option<Dtype>,
    args: Vec<Arg>,
    kwargs: Vec<(String, Arg)>,
}

/// Arguments as they are spelled: those in order, and those by name.
pub type Spelled = (Vec<Arg>, Vec<(String, Arg)>);

/// Operators of which a default may be left out, or a number be whole or not.
const SPELLED: [&str; 10] = [
    "aten.arange.default",
    "aten.arange.start",
    "aten.arange.start_step",
    "aten.as_strided.default",
    "aten.linspace.default",
    "aten.rsub.Scalar",
    "aten.searchsorted.Tensor",
    "aten.sort.default",
    "aten.tril_indices.default",
    "aten.triu_indices.default",
];

/// Calls that convert complex operands to their common dtype. Of real ones the judge knows it of sums, differences and products.
const CONVERTING_COMPLEX: [&str; 3] = ["aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor"];

/// Operators that first convert their operands to the dtype of the result.
const CONVERTING: [&str; 63] = [
    "aten.acos.default",
    "aten.acosh.default",
    "aten.addcdiv.default",
    "aten.addcmul.default",
    "aten.as_strided_scatter.default",
    "aten.asin.default",
    "aten.asinh.default",
    "aten.atan.default",
    "aten.atan2.default",
    "aten.atanh.default",
    "aten.bitwise_left_shift.Tensor",
    "aten.bitwise_right_shift.Tensor",
    "aten.clamp.Tensor",
    "aten.cos.default",
    "aten.cosh.default",
    "aten.cumprod.default",
    "aten.cumsum.default",
    "aten.div.Tensor",
    "aten.div.Tensor_mode",
    "aten.erf.default",
    "aten.erfc.default",
    "aten.erfinv.default",
    "aten.exp.default",
    "aten.exp2.default",
    "aten.expm1.default",
    "aten.floor_divide.default",
    "aten.fmod.Tensor",
    "aten.gcd.default",
    "aten.igamma.default",
    "aten.igammac.default",
    "aten.log.default",
    "aten.log10.default",
    "aten.log1p.default",
    "aten.log2.default",
    "aten.masked_fill.Tensor",
    "aten.maximum.default",
    "aten.mean.default",
    "aten.mean.dim",
    "aten.minimum.default",
    "aten.mul.Tensor",
    "aten.pow.Scalar",
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.prod.default",
    "aten.prod.dim_int",
    "aten.reciprocal.default",
    "aten.remainder.Scalar_Tensor",
    "aten.remainder.Tensor",
    "aten.rsqrt.default",
    "aten.select_scatter.default",
    "aten.sigmoid.default",
    "aten.sin.default",
    "aten.sinh.default",
    "aten.slice_scatter.default",
    "aten.special_i0e.default",
    "aten.special_i1e.default",
    "aten.special_ndtri.default",
    "aten.special_zeta.default",
    "aten.sqrt.default",
    "aten.sum.default",
    "aten.sum.dim_IntList",
    "aten.tan.default",
    "aten.tanh.default",
];

/// The same where it scales an operand, too.
const SCALING: &str = "aten.add.Tensor";

/// Operators that convert their operands to the dtype of both; a number is rounded to that of the tensor.
const COMPARING: [&str; 12] = [
    "aten.eq.Scalar",
    "aten.eq.Tensor",
    "aten.ge.Scalar",
    "aten.ge.Tensor",
    "aten.gt.Scalar",
    "aten.gt.Tensor",
    "aten.le.Scalar",
    "aten.le.Tensor",
    "aten.lt.Scalar",
    "aten.lt.Tensor",
    "aten.ne.Scalar",
    "aten.ne.Tensor",
];

/// A call without operands that fills a tensor with a number.
#[derive(Clone, Debug)]
pub struct Fill {
    ty: TensorType,
    target: String,
    args: Vec<Arg>,
    kwargs: Vec<(String, Arg)>,
}

impl Literals {
    /// Keeps how a call is spelled, where that may be in several ways.
    fn spelling(&mut self, graph: &Graph, node: NodeId, of: ByTarget) {
        let dtype = graph.ty(node).as_tensor().map(|t| t.dtype);
        if of.is_norm
            && let Some(Arg::Node(x)) = graph.args(node).first()
        {
            self.normed.extend(graph.ty(*x).as_tensor().map(|t| t.rank()));
        }
        if of.converts || of.scales && !graph.kwargs(node).is_empty() {
            let given = graph.args(node).iter().filter_map(|a| if let Arg::Node(n) = a { Some(*n) } else { None });
            let given: SmallVec<[Dtype; 4]> = given.filter_map(|n| graph.ty(n).as_tensor().map(|t| t.dtype)).collect();
            if given.iter().any(|d| Some(*d) != dtype) {
                self.converting.insert((graph.target(node).to_string(), given.into_vec()));
            }
        } else if of.is_spelled {
            let kwargs = graph.kwargs(node).iter().map(|(k, a)| (graph.texts.text(*k).to_string(), a.clone()));
            let (kwargs, args) = (kwargs.collect(), graph.args(node).to_vec());
            self.spellings.push(Spelling { target: graph.target(node).to_string(), dtype, args, kwargs });
        }
    }

    /// Collects the numbers of a graph.
    pub fn of(graph: &Graph, registry: &Registry) -> Self {
        let mut found = Literals::default();
        let (mut floats, mut integers) = (BTreeSet::new(), BTreeSet::new());
        let mut targets: FxHashMap<StrId, ByTarget> = FxHashMap::default();
        for node in graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()) {
            let of = *targets.entry(graph.target_id(node)).or_insert_with(|| ByTarget::of(graph, registry, node));
            if found.momentum.is_none()
                && let Some(place) = of.momentum
                && let Some(Arg::Float(momentum)) = graph.args(node).get(place)
            {
                found.momentum = Some(*momentum);
            }
            if found.library.is_none()
                && let Some(place) = of.library
            {
                found.library = graph.args(node).get(place).cloned();
            }
            found.spelling(graph, node, of);
            found.fills_told |= of.numbers > 0 && matches!(graph.args(node).last(), Some(Arg::Node(_)));
            if of.tells
                && let Some(of) = graph.args(node).first().and_then(Arg::as_node)
            {
                found.told.insert(graph.target(of).to_string());
            }
            if of.numbers > 0
                && graph.args(node).len() == of.numbers
                && !matches!(graph.args(node).last(), Some(Arg::Node(_)))
                && let Some(ty) = graph.ty(node).as_tensor()
            {
                let kwargs = graph.kwargs(node).iter().map(|(k, a)| (graph.texts.text(*k).to_string(), a.clone()));
                let (target, args) = (graph.target(node).to_string(), graph.args(node).to_vec());
                found.fills.push(Fill { ty: ty.clone(), target, args, kwargs: kwargs.collect() });
            }
            let mut open: Vec<&Arg> =
                graph.args(node).iter().chain(graph.kwargs(node).iter().map(|(_, a)| a)).collect();
            while let Some(arg) = open.pop() {
                match arg {
                    Arg::Float(v) if floats.insert(v.to_bits()) => found.floats.push(*v),
                    Arg::Int(v) if v.unsigned_abs() < 1 << 53 && integers.insert(*v) => found.integers.push(*v),
                    Arg::List(items) | Arg::Tuple(items) => open.extend(items.iter()),
                    _ => {}
                }
            }
        }
        found.targets = targets.keys().map(|target| graph.texts.text(*target).to_string()).collect();
        found
    }
}

/// What is asked of a call's target, once for all its calls.
#[derive(Clone, Copy)]
struct ByTarget {
    /// Where the momentum of a norm stands.
    momentum: Option<usize>,
    /// Where a norm is told its library.
    library: Option<usize>,
    is_norm: bool,
    /// Whether it tells the number that a tensor is.
    tells: bool,
    converts: bool,
    scales: bool,
    is_spelled: bool,
    /// How many arguments of a call that fills a tensor with a number there are; 0 of other calls.
    numbers: usize,
}

impl ByTarget {
    fn of(graph: &Graph, registry: &Registry, node: NodeId) -> Self {
        let target = graph.target(node);
        let place = |name: &str| registry.operator_of(graph, node).and_then(|o| o.schema.param_index(name));
        let norms = ["aten._native_batch_norm_legit_no_training.default", "aten.batch_norm.default"];
        let (momentum, library) = (place("momentum"), place("cudnn_enabled"));
        let numbers = match target {
            "aten.full.default" => 2,
            "aten.scalar_tensor.default" => 1,
            _ => 0,
        };
        let converts =
            [&CONVERTING[..], &COMPARING, &CONVERTING_COMPLEX].iter().any(|targets| targets.contains(&target));
        let (is_norm, scales, is_spelled) = (norms.contains(&target), target == SCALING, SPELLED.contains(&target));
        let tells = TELL.contains(&target);
        ByTarget { momentum, library, is_norm, tells, converts, scales, is_spelled, numbers }
    }
}

/// A graph to which calls are appended.
pub struct Build<'r> {
    /// The graph.
    pub graph: Graph,
    registry: &'r Registry,
    /// Where tensors are made.
    device: Device,
    literals: Literals,
    /// Places in a tensor, as 32 bits, and as the 64 that they were made in.
    pub places: std::collections::BTreeMap<NodeId, NodeId>,
    /// Tensors whose elements GE holds one by one, and that were put together again.
    pub unpacked: BTreeSet<NodeId>,
    /// What is taken for granted of the device.
    pub assumed: BTreeSet<String>,
    /// Whether anything was written so far.
    pub has_written: bool,
    /// Calls that tell the numbers of tensors, where nothing was written since.
    told: FxHashMap<NodeId, NodeId>,
    /// What of the operands of the operator that is being defined lies in an input's memory and is written.
    pub written_inputs: Vec<NodeId>,
    /// Inputs that calls overwrite and GE's operators do not, each with the call.
    pub left_alone: Vec<(NodeId, NodeId)>,
    /// Calls of the graph that was lowered for which operators stand that nobody defined, each with what it is here.
    pub held: FxHashMap<NodeId, NodeId>,
}

impl<'r> Build<'r> {
    /// Begins in a graph that has its placeholders.
    pub fn new(graph: Graph, registry: &'r Registry, device: Device, literals: Literals) -> Self {
        let (places, unpacked, assumed) = (std::collections::BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let (has_written, told, written_inputs, left_alone) = (false, FxHashMap::default(), Vec::new(), Vec::new());
        Build {
            graph,
            registry,
            device,
            literals,
            places,
            unpacked,
            assumed,
            has_written,
            told,
            written_inputs,
            left_alone,
            held: FxHashMap::default(),
        }
    }

    /// Returns the operators.
    pub fn registry(&self) -> &'r Registry {
        self.registry
    }

    /// Appends a call.
    pub fn call(&mut self, target: &str, args: Vec<Arg>) -> Result<NodeId, Undefined> {
        self.call_with(target, args, Vec::new())
    }

    /// Appends a call with keywords.
    pub fn call_with(&mut self, target: &str, args: Vec<Arg>, named: Vec<(&str, Arg)>) -> Result<NodeId, Undefined> {
        let kwargs: Vec<(StrId, Arg)> = named.into_iter().map(|(k, v)| (self.graph.texts.intern(k), v)).collect();
        let ty = match self.registry.infer(&mut self.graph, target, &args, &kwargs) {
            Ok(ty) => ty,
            Err(error) if matches!(*error.fault, crate::ops::CallFault::NoRule) => ValueType::Unknown,
            Err(error) => return Err(Undefined(error.to_string())),
        };
        let args = self.unconverted(target, args, &kwargs, &ty);
        self.note_write(target);
        let base = target.split('.').nth(1).unwrap_or(target);
        let target = self.graph.texts.intern(target);
        let node = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty };
        Ok(self.graph.push_free(BodyId::ROOT, base, node))
    }

    /// Notes that a call is appended: after one that may write, tensors may hold other numbers.
    pub fn note_write(&mut self, target: &str) {
        if self.registry.get(target).is_none_or(|o| o.effects.writes() || o.effects.opaque) {
            self.has_written = true;
            self.told.clear();
        }
    }

    /// Returns the number that a tensor of one integer holds, by the call that tells it.
    pub fn told(&mut self, tensor: NodeId) -> Result<Arg, Undefined> {
        if let Some(known) = self.told.get(&tensor) {
            return Ok(Arg::Node(*known));
        }
        let call = self.call(self.spelled(&TELL), vec![Arg::Node(tensor)])?;
        self.told.insert(tensor, call);
        Ok(Arg::Node(call))
    }

    /// Whether the graph that was lowered asks what calls of an operator give for the number that it is.
    pub fn tells_of(&self, target: &str) -> bool {
        self.literals.told.contains(target)
    }

    /// Whether the graph that was lowered fills a tensor with a number that a call gives.
    pub fn fills_told(&self) -> bool {
        self.literals.fills_told
    }

    /// Whether a node is a symbolic number.
    pub fn is_number(&self, node: NodeId) -> bool {
        matches!(self.graph.ty(node), ValueType::SymInt(_))
    }

    /// Gives a call the operands that it converts itself, where the graph that was lowered has it do so: GE has a Cast in front of it.
    pub fn unconverted(&mut self, target: &str, args: Vec<Arg>, kwargs: &[(StrId, Arg)], ty: &ValueType) -> Vec<Arg> {
        let Some(dtype) = ty.as_tensor().map(|t| t.dtype) else { return args };
        if COMPARING.contains(&target) {
            return self.uncompared(target, args);
        }
        let may_convert = || {
            CONVERTING.contains(&target)
                || target == SCALING && !kwargs.is_empty()
                || dtype.is_complex() && CONVERTING_COMPLEX.contains(&target)
        };
        if self.literals.converting.is_empty() || !may_convert() {
            return args;
        }
        let before = |arg: &Arg| self.before_cast(arg, dtype).map_or_else(|| arg.clone(), Arg::Node);
        let own: Vec<Arg> = args.iter().map(before).collect();
        let given = own.iter().filter_map(|a| if let Arg::Node(n) = a { self.dtype(*n).ok() } else { None }).collect();
        if own == args || !self.literals.converting.contains(&(target.to_string(), given)) {
            return args;
        }
        match self.registry.infer(&mut self.graph, target, &own, kwargs) {
            Ok(ValueType::Tensor(t)) if t.dtype == dtype => own,
            _ => args,
        }
    }

    /// The same of a comparison, whose operands are converted to their common dtype: that to which GE's Casts convert them.
    fn uncompared(&mut self, target: &str, args: Vec<Arg>) -> Vec<Arg> {
        let [Arg::Node(first), Arg::Node(_)] = args.as_slice() else { return self.uncompared_number(target, args) };
        let Ok(dtype) = self.dtype(*first) else { return args };
        let own: Vec<Arg> =
            args.iter().map(|a| self.before_cast(a, dtype).map_or_else(|| a.clone(), Arg::Node)).collect();
        let given = own.iter().filter_map(|a| if let Arg::Node(n) = a { self.dtype(*n).ok() } else { None }).collect();
        if own == args || !self.literals.converting.contains(&(target.to_string(), given)) {
            return args;
        }
        // A sum has the dtype in which both are compared.
        match self.registry.infer(&mut self.graph, "aten.add.Tensor", &own, &[]) {
            Ok(ValueType::Tensor(t)) if t.dtype == dtype => own,
            _ => args,
        }
    }

    /// The same beside a number: narrow floats that were widened compare with one that they hold as they did before.
    fn uncompared_number(&mut self, target: &str, args: Vec<Arg>) -> Vec<Arg> {
        let [Arg::Node(wide), number] = args.as_slice() else { return args };
        let Some(narrow) = self.before_cast(&Arg::Node(*wide), Dtype::F32) else { return args };
        let Ok(dtype) = self.dtype(narrow) else { return args };
        let held = match number {
            Arg::Float(v) => round(*v, dtype).is_some_and(|r| same(r, *v)),
            // Up to there every integer is one of both.
            Arg::Int(v) => v.unsigned_abs() <= 256,
            _ => false,
        };
        let compares = |d: Dtype| self.literals.converting.contains(&(target.to_string(), vec![d]));
        let is_said = compares(dtype) || !compares(Dtype::F32);
        if self.dtype(*wide) != Ok(Dtype::F32) || !matches!(dtype, Dtype::F16 | Dtype::Bf16) || !held || !is_said {
            return args;
        }
        vec![Arg::Node(narrow), number.clone()]
    }

    /// Whether the graph that was lowered has such a call convert what it is given, of which a Cast is in front of GE's operator.
    pub fn is_converted(&self, target: &str, operand: NodeId) -> bool {
        let before = self.dtype(operand).ok().and_then(|to| self.before_cast(&Arg::Node(operand), to));
        let given = before.and_then(|b| self.dtype(b).ok());
        given.is_some_and(|d| self.literals.converting.contains(&(target.to_string(), vec![d])))
    }

    /// What a Cast to `dtype` is given, where an operator that converts it itself computes the same: many numbers are rounded to narrow
    /// floats, a single one is not, whatever its dimensions.
    fn before_cast(&self, arg: &Arg, dtype: Dtype) -> Option<NodeId> {
        let Arg::Node(node) = arg else { return None };
        let ([Arg::Node(from)], [(_, Arg::Dtype(to))]) = (self.graph.args(*node), self.graph.kwargs(*node)) else {
            return None;
        };
        let is_cast = self.graph.kind(*node) == NodeKind::Call && self.graph.target(*node) == "aten._to_copy.default";
        let own = self.tensor(*from).ok()?;
        let may_be_one = own.sizes.iter().all(|d| d.fixed().is_none_or(|n| n == 1));
        // Of bytes nothing is rounded.
        let is_rounded = !matches!(own.dtype, Dtype::I8 | Dtype::U8 | Dtype::Bool);
        let is_kept = matches!(dtype, Dtype::F16 | Dtype::Bf16) && may_be_one && is_rounded;
        (is_cast && *to == dtype && !is_kept).then_some(*from)
    }

    /// Appends a call of an operator that has several spellings, in the one that the graph that was lowered has for these arguments.
    pub fn call_spelled(
        &mut self,
        spellings: &[&str],
        means: impl Fn(&[Arg]) -> bool,
        dtype: Dtype,
    ) -> Option<Result<NodeId, Undefined>> {
        let fits = |s: &&Spelling| {
            spellings.contains(&s.target.as_str())
                && s.dtype == Some(dtype)
                && !s.args.iter().any(has_node)
                && means(&s.args)
        };
        let found = self.literals.spellings.iter().find(fits)?.clone();
        let named = found.kwargs.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
        Some(self.call_with(&found.target, found.args.clone(), named))
    }

    /// Appends a line of numbers between ends of which some only running tells, as the graph that was lowered spells one of that type.
    pub fn line_spelled(&mut self, [start, limit, step]: [&Arg; 3], dtype: Dtype) -> Option<Result<NodeId, Undefined>> {
        let is_default = [*start == Arg::Int(0), false, *step == Arg::Int(1)];
        let given = |target: &str, count: usize| -> Option<Vec<Arg>> {
            let (from, all) = (usize::from(target == "aten.arange.default"), [start, limit, step]);
            let until = from.checked_add(count)?;
            let is_left_out = |i: usize| i < from || i >= until;
            let fits = (0..all.len()).all(|i| !is_left_out(i) || is_default.get(i) == Some(&true));
            fits.then(|| all.get(from..until).map(|all| all.iter().map(|a| (*a).clone()).collect()))?
        };
        let alike = |(own, said): (&Arg, &Arg)| own == said || matches!((own, said), (Arg::Node(_), Arg::Node(_)));
        let found = self.literals.spellings.iter().find_map(|s| {
            let args = given(&s.target, s.args.len()).filter(|_| s.target.starts_with("aten.arange."))?;
            let fits = s.dtype == Some(dtype) && s.args.iter().any(has_node) && args.iter().zip(&s.args).all(alike);
            (fits && !s.kwargs.iter().any(|(_, a)| has_node(a))).then(|| (s.target.clone(), args, s.kwargs.clone()))
        });
        let (target, args, kwargs) = found?;
        Some(self.call_with(&target, args, kwargs.iter().map(|(k, a)| (k.as_str(), a.clone())).collect()))
    }

    /// How the graph that was lowered spells the numbers and words of a call that means the same; operands are its own.
    pub fn spelled_numbers(&self, target: &str, means: impl Fn(&[Arg], &[(String, Arg)]) -> bool) -> Option<Spelled> {
        let found = self.literals.spellings.iter().find(|s| s.target == target && means(&s.args, &s.kwargs))?;
        (!found.kwargs.iter().any(|(_, a)| has_node(a))).then(|| (found.args.clone(), found.kwargs.clone()))
    }

    /// Whether the graph that was lowered leaves the last argument of such a call out.
    pub fn leaves_out(&self, target: &str, means: impl Fn(&[Arg]) -> bool) -> bool {
        self.literals.spellings.iter().any(|s| s.target == target && means(&s.args))
    }

    /// The float of a whole number, where the graph that was lowered names that and not the number.
    #[allow(clippy::cast_precision_loss)] // Small.
    pub fn named_float(&self, whole: i64) -> Option<f64> {
        let float = whole as f64;
        (!self.literals.integers.contains(&whole) && self.names(float)).then_some(float)
    }

    /// Whether the graph that was lowered normalizes batches of so many dimensions.
    pub fn norms(&self, rank: usize) -> bool {
        self.literals.normed.contains(&rank)
    }

    /// Whether the graph that was lowered names a float.
    pub fn names(&self, float: f64) -> bool {
        self.literals.floats.iter().any(|v| same(*v, float))
    }

    /// Puts a call's definition in its place, by the operators that it is; returns its results. An operand that nothing reads then is gone: a
    /// definition may name one of which the sizes alone count.
    pub fn by_definition(&mut self, target: &str, args: Vec<Arg>) -> Result<Vec<Arg>, Undefined> {
        let operands: Vec<NodeId> = args.iter().flat_map(Arg::nodes).collect();
        let node = self.call(target, args)?;
        let expansion = self.registry.decompose_values(&mut self.graph, node);
        let expansion = expansion.map_err(|e| Undefined(e.to_string()))?;
        let Some(expansion) = expansion else { return Err(Undefined(format!("`{target}` has no definition"))) };
        let results = expansion.inline(&mut self.graph, BodyId::ROOT, Some(node));
        self.graph.remove(node);
        for operand in operands {
            let unread = self.graph.kind(operand) == NodeKind::Call && self.graph.users_in_order(operand).is_empty();
            if unread && self.graph.target(operand) == "aten.full.default" {
                self.graph.remove(operand);
            }
        }
        Ok(match results.as_slice() {
            [Arg::List(items) | Arg::Tuple(items)] => items.to_vec(),
            _ => results,
        })
    }

    /// Whether a tensor lies in memory of its own, or is an input: not another's, seen otherwise.
    pub fn is_own(&self, node: NodeId) -> bool {
        let mut node = node;
        while self.graph.target(node) == "_operator.getitem"
            && let Some(Arg::Node(from)) = self.graph.args(node).first()
        {
            node = *from;
        }
        self.graph.kind(node) == NodeKind::Placeholder
            || self.registry.operator_of(&self.graph, node).is_some_and(|o| {
                !o.effects.writes() && !o.effects.opaque && o.effects.returns.iter().all(|r| r.is_empty())
            })
    }

    /// Whether a tensor's elements lie in order, without gaps.
    pub fn is_dense(&mut self, node: NodeId) -> Result<bool, Undefined> {
        let ty = self.tensor(node)?;
        let dense = metas::contiguous(&mut self.graph.symbols, &ty.sizes);
        let Some(strides) = &ty.strides else { return Ok(false) };
        // Where there is one place in a dimension, no stride is taken.
        let lies = |((size, own), dense): ((&Dim, &Dim), &Dim)| *size == Dim::Fixed(1) || own == dense;
        Ok(ty.sizes.iter().zip(strides).zip(dense.iter()).all(lies))
    }

    /// Takes the first `count` results of a call apart.
    pub fn items(&mut self, node: NodeId, count: usize) -> Result<Vec<NodeId>, Undefined> {
        (0..count).map(|i| self.item(node, i)).collect()
    }

    /// Takes one result of a call.
    pub fn item(&mut self, node: NodeId, at: usize) -> Result<NodeId, Undefined> {
        let args = vec![Arg::Node(node), Arg::Int(signed(at))];
        let is_typed = match self.graph.ty(node) {
            ValueType::Unknown => false,
            // A rule may leave one of several results open.
            ValueType::Many(all) => all.get(at) != Some(&ValueType::Unknown),
            _ => true,
        };
        if is_typed {
            return self.call("_operator.getitem", args);
        }
        let target = self.graph.texts.intern("_operator.getitem");
        let name = self.graph.free_name(BodyId::ROOT, "getitem");
        let node =
            NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: Box::default(), ty: ValueType::Unknown };
        Ok(self.graph.push(BodyId::ROOT, &name, node))
    }

    /// Returns a tensor's type.
    pub fn tensor(&self, node: NodeId) -> Result<Arc<TensorType>, Undefined> {
        match self.graph.ty(node) {
            ValueType::Tensor(t) => Ok(Arc::clone(t)),
            _ => Err(Undefined(format!("the type of `{}` is not known", self.graph.name(node)))),
        }
    }

    /// Returns a tensor's dtype.
    pub fn dtype(&self, node: NodeId) -> Result<Dtype, Undefined> {
        self.tensor(node).map(|t| t.dtype)
    }

    /// Returns how many dimensions a tensor has.
    pub fn rank(&self, node: NodeId) -> Result<usize, Undefined> {
        self.tensor(node).map(|t| t.rank())
    }

    /// Returns the size of a dimension: a number, or the call that asks for it.
    pub fn size(&mut self, node: NodeId, at: usize) -> Result<Arg, Undefined> {
        match self.tensor(node)?.sizes.get(at) {
            Some(Dim::Fixed(n)) => Ok(Arg::Int(*n)),
            Some(Dim::Expr(_)) => {
                self.call("aten.sym_size.int", vec![Arg::Node(node), Arg::Int(signed(at))]).map(Arg::Node)
            }
            None => Err(Undefined(format!("a tensor of no dimension {at}"))),
        }
    }

    /// Returns all sizes.
    pub fn sizes(&mut self, node: NodeId) -> Result<Vec<Arg>, Undefined> {
        (0..self.rank(node)?).map(|i| self.size(node, i)).collect()
    }

    /// Whether a tensor of integers surely holds none below zero: numbers in a row from zero on, or made of such.
    pub fn is_not_negative(&self, node: NodeId) -> bool {
        let mut at = node;
        loop {
            let args = self.graph.args(at);
            let first = args.first().and_then(Arg::as_node);
            match self.graph.target(at) {
                "aten.arange.default" | "aten.nonzero.default" => return true,
                "aten.arange.start_step" | "aten.arange.start" => {
                    let start = matches!(args.first(), Some(Arg::Int(v)) if *v >= 0);
                    return start && args.get(2).is_none_or(|step| matches!(step, Arg::Int(v) if *v > 0));
                }
                "aten.full.default" => return matches!(args.get(1), Some(Arg::Int(v)) if *v >= 0),
                "aten._to_copy.default"
                | "aten.expand.default"
                | "aten.reshape.default"
                | "aten.view.default"
                | "aten.unsqueeze.default"
                | "aten.permute.default"
                | "aten.select.int"
                | "aten.slice.Tensor"
                | "aten.clone.default" => match first {
                    Some(from) => at = from,
                    None => return false,
                },
                _ => return false,
            }
        }
    }

    fn dim(&self, arg: &Arg) -> Option<Dim> {
        match arg {
            Arg::Int(size) => Some(Dim::Fixed(*size)),
            Arg::Node(node) => match self.graph.ty(*node) {
                ValueType::SymInt(size) => Some(*size),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether two sizes are one number, or one expression of symbols.
    pub fn same_size(&self, a: &Arg, b: &Arg) -> bool {
        self.dim(a).is_some() && self.dim(a) == self.dim(b)
    }

    /// Whether a number is that size.
    pub fn is_size(&self, number: &Arg, size: Dim) -> bool {
        self.dim(number) == Some(size)
    }

    /// Returns a tensor in a dtype.
    pub fn to(&mut self, node: NodeId, dtype: Dtype) -> Result<NodeId, Undefined> {
        if self.dtype(node)? == dtype {
            return Ok(node);
        }
        self.call_with("aten._to_copy.default", vec![Arg::Node(node)], vec![("dtype", Arg::Dtype(dtype))])
    }

    /// Returns places in a tensor as numbers of 32 bits.
    pub fn narrow_places(&mut self, places: NodeId) -> Result<NodeId, Undefined> {
        let narrow = self.to(places, Dtype::I32)?;
        self.places.insert(narrow, places);
        Ok(narrow)
    }

    /// Places that were narrowed to 32 bits, as they were: within a tensor none is beyond.
    pub fn wide_places(&self, narrow: NodeId) -> NodeId {
        match self.graph.args(narrow) {
            [Arg::Node(wide)]
                if self.graph.target(narrow) == "aten._to_copy.default"
                    && self.dtype(narrow) == Ok(Dtype::I32)
                    && self.dtype(*wide) == Ok(Dtype::I64) =>
            {
                *wide
            }
            _ => narrow,
        }
    }

    /// Makes a tensor filled with a number.
    pub fn full(&mut self, sizes: Vec<Arg>, value: Arg, dtype: Dtype) -> Result<NodeId, Undefined> {
        if let Some(fill) = self.spelled_fill(&sizes, &value, dtype) {
            let named = fill.kwargs.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
            return self.call_with(&fill.target, fill.args.clone(), named);
        }
        let device = Arg::Device(self.device.clone());
        let named = vec![("dtype", Arg::Dtype(dtype)), ("device", device)];
        self.call_with("aten.full.default", vec![Arg::List(sizes.into()), value], named)
    }

    /// How the graph that was lowered makes such a tensor: the same number, type and dimensions, known sizes alike.
    fn spelled_fill(&self, sizes: &[Arg], value: &Arg, dtype: Dtype) -> Option<Fill> {
        let fits = |f: &&Fill| {
            let alike = |(own, size): (&Dim, &Arg)| match (own, size) {
                (Dim::Fixed(n), size) => *size == Arg::Int(*n),
                (Dim::Expr(_), size) => matches!(size, Arg::Node(_)),
            };
            let shape = f.ty.rank() == sizes.len() && f.ty.sizes.iter().zip(sizes).all(alike);
            f.ty.dtype == dtype && shape && f.args.last() == Some(value)
        };
        let mut fill = self.literals.fills.iter().find(fits).cloned()?;
        if let [list, _] = fill.args.as_mut_slice() {
            *list = Arg::List(sizes.into());
        }
        Some(fill)
    }

    /// Returns whether the graph that was lowered calls an operator.
    pub fn calls(&self, target: &str) -> bool {
        self.literals.targets.contains(target)
    }

    /// Of equal spellings, returns the first that the graph as lowered uses; else the first.
    pub fn spelled(&self, spellings: &[&'static str]) -> &'static str {
        let used = spellings.iter().find(|s| self.literals.targets.contains(**s));
        used.or(spellings.first()).copied().unwrap_or("")
    }

    /// Returns the last argument of a norm, as the graph that was lowered has it: a choice among libraries.
    pub fn library(&self) -> Arg {
        self.literals.library.clone().unwrap_or(Arg::Bool(false))
    }

    /// Returns a momentum for a norm that does not use it.
    pub fn momentum(&self) -> f64 {
        self.literals.momentum.unwrap_or(0.1)
    }

    /// Returns where tensors are made.
    pub fn device(&self) -> Arg {
        Arg::Device(self.device.clone())
    }

    /// Returns the number that GE holds, rounded to a dtype: one that the graph as lowered names, if it rounds to that.
    pub fn number(&mut self, held: f64, dtype: Dtype) -> Arg {
        let Some(named) = self.named(held, dtype) else {
            // Nobody wrote it: a default, which schemas write as an integer.
            #[allow(clippy::float_cmp)] // 1 is exact.
            return if held == 1.0 { Arg::Int(1) } else { Arg::Float(held) };
        };
        // A number beside a tensor of f32 is rounded to f32 before it is used: nothing is lost.
        if let Arg::Float(v) = named
            && !same(v, held)
            && dtype != Dtype::F32
        {
            self.assumed.insert(format!("{v} is held as {held} in {}", dtype.long()));
        }
        named
    }

    /// Returns the number by which GE's operator divides, as the graph that was lowered multiplies by it.
    pub fn reciprocal(&self, held: f64, dtype: Dtype) -> f64 {
        let named = self.literals.floats.iter().find(|v| round(1.0 / **v, dtype).is_some_and(|r| same(r, held)));
        named.copied().unwrap_or(1.0 / held)
    }

    /// Returns a number as a dtype holds it.
    pub fn rounded(&self, value: f64, dtype: Dtype) -> Option<f64> {
        round(value, dtype)
    }

    fn named(&self, held: f64, dtype: Dtype) -> Option<Arg> {
        if self.literals.floats.iter().any(|v| same(*v, held)) {
            return Some(Arg::Float(held));
        }
        #[allow(clippy::cast_precision_loss)]
        if let Some(whole) = self.literals.integers.iter().find(|i| same(**i as f64, held)) {
            return Some(Arg::Int(*whole));
        }
        let near = self.literals.floats.iter().find(|v| round(**v, dtype).is_some_and(|r| same(r, held)));
        near.map(|v| Arg::Float(*v))
    }

    /// Returns a number as the integer that the graph as lowered names, if it names no such float.
    pub fn whole(&self, value: f64) -> Arg {
        self.named(value, Dtype::F64).filter(|n| matches!(n, Arg::Int(_))).unwrap_or(Arg::Float(value))
    }

    /// Returns the number that a single-precision attribute stands for.
    pub fn attribute(&mut self, held: f32) -> f64 {
        let wide = f64::from(held);
        match self.named(wide, Dtype::F32) {
            Some(Arg::Float(named)) => {
                if !same(named, wide) {
                    self.assumed.insert(format!("{named} is held as {held} in float32"));
                }
                named
            }
            Some(_) => wide,
            // The shortest decimal is what people wrote.
            None => held.to_string().parse().unwrap_or(wide),
        }
    }
}

fn has_node(arg: &Arg) -> bool {
    arg.nodes().next().is_some()
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// Rounds a number to a dtype and back.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn round(value: f64, dtype: Dtype) -> Option<f64> {
    Some(match dtype {
        Dtype::F32 | Dtype::C64 => f64::from(value as f32),
        Dtype::F16 => half::f16::from_f64(value).to_f64(),
        Dtype::Bf16 => half::bf16::from_f64(value).to_f64(),
        Dtype::F64 => value,
        _ => return None,
    })
}

/// A place as a number of a graph.
pub fn signed(i: usize) -> i64 {
    i64::try_from(i).unwrap_or(i64::MAX)
}
