//! Draws of random numbers: the draws of the graph that was lowered, in their order.
//!
//! The host passes one offset of its generator for every draw of the graph. A GE operator that takes one stands for the call that draws at that
//! place, of what feeds the operator: it must be of the same distribution. Which numbers come of an offset is the device's own.

use super::Raising;
use super::types::of_proto;
use crate::analysis::call;
use crate::graph::{Arg, BodyId, Dtype, Graph, NodeId, View};
use crate::lower::ge::define::{Build, Call, Drawing, Undefined, Value, Waiting, define, dropped};
use crate::lower::ge::operators;
use crate::lower::ge::written::WrittenOp;
use crate::ops::{Bound, Registry};

type Made = Result<Vec<Option<Value>>, Undefined>;

/// GE operators that draw, and the calls of the same distribution.
const LAWS: &[(&str, &[&str])] = &[
    (
        "StatelessRandomUniformV2",
        &[
            "aten.rand.default",
            "aten.rand_like.default",
            "aten.uniform.default",
            "aten.randint.default",
            "aten.randint.low",
            "aten.exponential.default",
        ],
    ),
    ("StatelessRandomNormalV2", &["aten.randn.default", "aten.randn.generator", "aten.randn_like.default"]),
    ("StatelessBernoulli", &["aten.bernoulli.default", "aten.bernoulli.p", "aten.bernoulli.Tensor"]),
    ("StatelessRandperm", &["aten.randperm.default"]),
    ("MultinomialWithReplacement", &["aten.multinomial.default"]),
    ("StatelessDropOutGenMask", &["aten.native_dropout.default"]),
];

/// Whether a GE operator draws as calls of this operator do.
pub(super) fn is_known(target: &str) -> bool {
    LAWS.iter().any(|(_, targets)| targets.contains(&target))
}

/// The draws of the graph that was lowered.
pub(super) struct Draws {
    calls: Vec<NodeId>,
    /// How many were made.
    made: usize,
    seed: Option<i64>,
}

impl Draws {
    /// Returns the draws of a graph, none of them made, by the generator that begins with `seed`, where that is known.
    pub(super) fn of(graph: &Graph, registry: &Registry, seed: Option<i64>) -> Self {
        let draws = |n: &NodeId| {
            let Some(operator) = registry.operator_of(graph, *n) else { return false };
            let bound = Bound::bind(&operator.schema, graph, graph.args(*n), graph.kwargs(*n));
            bound.map_or(operator.effects.random, |b| call::draws(operator, &b))
        };
        Draws { calls: graph.nodes(BodyId::ROOT).filter(draws).collect(), made: 0, seed }
    }

    /// Returns the offsets that the host passes: one for each draw.
    pub(super) fn offsets(&self, op: &WrittenOp<'_>) -> Result<Value, Undefined> {
        let desc = op.output_desc.first();
        let is_whole = desc.and_then(|d| of_proto(d.dtype)) == Some(Dtype::I64);
        let dims = desc.and_then(|d| d.shape.as_deref());
        let count = if let Some([count]) = dims { Some(*count).filter(|_| is_whole) } else { None };
        let known = count.and_then(|c| usize::try_from(c).ok()).filter(|c| *c == self.calls.len());
        let wrong = || Undefined(format!("offsets of other draws than the {} of the graph", self.calls.len()));
        known.map(|n| Drawing::Offsets(n).into()).ok_or_else(wrong)
    }
}

fn undefined<T>(why: &str) -> Result<T, Undefined> {
    Err(Undefined(why.into()))
}

/// Returns whether an operator draws, or takes what stands for a draw.
pub(super) fn is_of_draws(op: &WrittenOp<'_>, inputs: &[Option<Value>]) -> bool {
    LAWS.iter().any(|(kind, _)| *kind == op.r#type) || inputs.iter().flatten().any(|v| matches!(v, Value::Drawing(_)))
}

impl Raising<'_, '_> {
    /// Makes what an operator gives that draws, or takes what stands for a draw.
    pub(super) fn drawn(&mut self, at: usize, op: &WrittenOp<'_>, inputs: Vec<Option<Value>>) -> Made {
        let Some(known) = operators::operator(op.r#type) else { return define(&mut self.b, op, inputs) };
        let law = LAWS.iter().find(|(kind, _)| *kind == op.r#type);
        let measured = self.measured(at);
        let mut c = Call::bind(&mut self.b, op, known, inputs)?;
        let made = match law {
            Some((_, targets)) => draw(&mut c, self.original, &mut self.draws, measured, targets)?,
            None => passed_on(&mut c)?,
        };
        c.all_was_asked()?;
        Ok(made)
    }

    /// The tensor of whose sizes an operator's first input is made.
    fn measured(&self, at: usize) -> Option<NodeId> {
        let input = |at: usize| self.wires.data.get(at)?.first().copied().flatten();
        let (shape, _) = input(at)?;
        if self.ge.op.get(shape)?.r#type != "Shape" {
            return None;
        }
        let (of, output) = input(shape)?;
        match self.values.get(of)?.get(output)? {
            Some(Value::Tensor(node)) => Some(*node),
            _ => None,
        }
    }
}

/// What is made of a generator's state, and of draws that are no tensors yet.
fn passed_on(c: &mut Call<'_, '_>) -> Made {
    match c.kind() {
        "Unpack" => {
            let Value::Drawing(Drawing::Offsets(count)) = c.value("x")? else { return undefined("no offsets") };
            let is_each = c.int("num").ok().and_then(|n| usize::try_from(n).ok()) == Some(count) && c.int("axis")? == 0;
            c.only(is_each && c.outputs() == count, "a part of the offsets")?;
            Ok((0..count).map(|i| Some(Drawing::Offset(i).into())).collect())
        }
        "ConcatV2" => {
            let values = c.values("x")?;
            let [zero, Value::Drawing(Drawing::Offset(at))] = values.as_slice() else {
                return undefined("a counter that is no zero and an offset");
            };
            let is_zero = zero.numbers().and_then(|n| n.only()) == Some(&Arg::Int(0));
            c.only(is_zero && c.one_int("concat_dim")? == 0 && c.int("N")? == 2, "a counter that begins otherwise")?;
            Ok(vec![Some(Drawing::Counter(*at).into())])
        }
        "Cast" => cast(c),
        "Maximum" | "Log" => waiting(c),
        "Mul" if matches!(c.value("x1")?, Value::Drawing(Drawing::Waiting { .. })) => waited(c),
        "Mul" => {
            let Value::Drawing(Drawing::Unit { call, low, width }) = c.value("x1")? else {
                return undefined("no draws");
            };
            let by = c.value("x2")?;
            let by = by.numbers().and_then(|n| n.only());
            c.only(by == Some(&Arg::Int(width)), "a draw of integers that is scaled by another bound")?;
            Ok(vec![Some(Drawing::Scaled { call, low }.into())])
        }
        "Add" => {
            let Value::Drawing(Drawing::Below { call, low }) = c.value("x1")? else { return undefined("no draws") };
            c.only(c.one_int("x2")? == low, "a draw of integers that begins elsewhere")?;
            whole(c, call)
        }
        "DropOutDoMask" => {
            let (x, mask) = (c.t("x")?, c.value("mask")?);
            let Value::Drawing(Drawing::Mask { call, of, keep }) = mask else { return undefined("no mask") };
            let held = c.value("keep_prob")?;
            let is_kept = held.numbers().and_then(|n| n.only()) == Some(&keep);
            if x == of && is_kept {
                return Ok(vec![Some(c.b.item(call, 0)?.into())]);
            }
            dropped(c)
        }
        kind => Err(Undefined(format!("what {kind} makes of a draw"))),
    }
}

/// The least number that a waiting time is made of: half of what the unit interval's numbers of 32 bits are apart.
const LEAST: f64 = 1.0 / 33_554_432.0;

/// A waiting time is the logarithm of a number of the unit interval, which is kept from being zero.
fn waiting(c: &mut Call<'_, '_>) -> Made {
    let slot = if c.kind() == "Log" { "x" } else { "x1" };
    let Value::Drawing(Drawing::Waiting { call, by, made }) = c.value(slot)? else { return undefined("no draws") };
    let made = match (c.kind(), made) {
        ("Maximum", Waiting::Drawn) => {
            let least = c.value("x2")?;
            let least = least.numbers().and_then(|n| n.only()).and_then(as_float);
            c.only(least.is_some_and(|l| l.to_bits() == LEAST.to_bits()), "another least number")?;
            Waiting::Positive
        }
        ("Log", Waiting::Positive) => {
            let plain = (c.float("base")?, c.float("scale")?, c.float("shift")?);
            c.only(plain == (-1.0, 1.0, 0.0), "another logarithm")?;
            Waiting::Logarithm
        }
        _ => return undefined("what is made of draws out of order"),
    };
    Ok(vec![Some(Drawing::Waiting { call, by, made }.into())])
}

/// Over the rate, and of the other sign.
fn waited(c: &mut Call<'_, '_>) -> Made {
    let Value::Drawing(Drawing::Waiting { call, by, made }) = c.value("x1")? else { return undefined("no draws") };
    let held = c.value("x2")?;
    let is_rate = held.numbers().and_then(|n| n.only()) == Some(&by);
    c.only(made == Waiting::Logarithm && is_rate, "waiting times of another rate")?;
    let is_done = c.b.dtype(call)? == Dtype::F32;
    Ok(vec![Some(if is_done { call.into() } else { Drawing::Whole(call).into() })])
}

/// Integers below a bound are scaled draws of the unit interval without what is behind the point.
fn cast(c: &mut Call<'_, '_>) -> Made {
    let to = c.dtype("dst_type")?;
    let Value::Drawing(drawing) = c.value("x")? else { return undefined("no draws") };
    match drawing {
        Drawing::Counter(at) if to == Dtype::U64 => Ok(vec![Some(Drawing::Counter(at).into())]),
        Drawing::Scaled { call, low: Some(low) } if to == Dtype::I64 => {
            Ok(vec![Some(Drawing::Below { call, low }.into())])
        }
        Drawing::Scaled { call, low: None } if to == Dtype::I64 => whole(c, call),
        Drawing::Whole(call) if c.b.dtype(call)? == to => Ok(vec![Some(call.into())]),
        _ => undefined("a cast of what stands for a draw"),
    }
}

/// Integers of 64 bits are the call's own, or are converted to its type.
fn whole(c: &Call<'_, '_>, call: NodeId) -> Made {
    let is_done = c.b.dtype(call)? == Dtype::I64;
    Ok(vec![Some(if is_done { call.into() } else { Drawing::Whole(call).into() })])
}

/// The place of the draw, and the seed: of the operators of Philox a key and a counter.
fn state(c: &Call<'_, '_>) -> Result<(usize, i64), Undefined> {
    if c.feed("key").is_some() {
        let Value::Drawing(Drawing::Counter(at)) = c.value("counter")? else { return undefined("no counter") };
        let dtypes = [c.value("alg")?.dtype(c.b)?, c.value("key")?.dtype(c.b)?];
        c.only(dtypes == [Dtype::I32, Dtype::U64] && c.one_int("alg")? == 1, "a generator other than Philox")?;
        return Ok((at, c.one_int("key")?));
    }
    let at = match c.value("offset")? {
        Value::Drawing(Drawing::Offset(at)) if c.feed("seed1").is_none() => at,
        Value::Drawing(Drawing::Counter(at)) if c.feed("seed1").is_some() && c.one_int("seed1")? == 0 => at,
        _ => return undefined("no offset of the generator"),
    };
    Ok((at, c.one_int("seed")?))
}

fn draw(c: &mut Call<'_, '_>, original: &Graph, draws: &mut Draws, measured: Option<NodeId>, targets: &[&str]) -> Made {
    let (at, seed) = state(c)?;
    let Some(&node) = draws.calls.get(at) else { return undefined("a draw that the graph does not make") };
    c.only(at == draws.made, "a draw before another that the graph makes first")?;
    c.only(*draws.seed.get_or_insert(seed) == seed, "another seed")?;
    c.only(targets.contains(&original.target(node)), "a draw of another distribution than the graph's")?;
    let made = match c.kind() {
        "StatelessRandomUniformV2" | "StatelessRandomNormalV2" => dense(c, original, node, measured)?,
        "StatelessBernoulli" => coins(c, original, node, measured)?,
        "StatelessRandperm" => {
            let n = c.one_number("n")?;
            c.only(c.int("layout")? == 1, "another layout")?;
            let made = again(c.b, original, node, &[("n", n)])?;
            of_dtype(c, made)?.into()
        }
        "MultinomialWithReplacement" => {
            let (x, count, again_and_again) = (c.t("x")?, c.int("numsamples")?, c.flag("replacement")?);
            let asked = |name| argument(c.b.registry(), original, node, name);
            let is_asked = asked("num_samples") == Some(Arg::Int(count))
                && asked("replacement") == Some(Arg::Bool(again_and_again));
            c.only(is_asked, "samples of another number or kind")?;
            again(c.b, original, node, &[("self", Arg::Node(x))])?.into()
        }
        _ => mask(c, original, node, measured)?,
    };
    draws.made = draws.made.saturating_add(1);
    c.b.assumed.insert("what the device draws at the offsets that the host passes is what the graph draws".into());
    Ok(vec![Some(made)])
}

fn of_dtype(c: &Call<'_, '_>, made: NodeId) -> Result<NodeId, Undefined> {
    c.only(c.b.dtype(made)? == c.dtype("dtype")?, "a draw of another type than the graph's")?;
    Ok(made)
}

fn needed(measured: Option<NodeId>) -> Result<Arg, Undefined> {
    measured.map(Arg::Node).ok_or_else(|| Undefined("a draw of sizes that are no tensor's".into()))
}

/// How many numbers of the unit interval a draw of single precision has.
const SINGLES: i64 = 1 << 24;

/// Numbers of the unit interval, or of the standard normal distribution.
fn dense(c: &mut Call<'_, '_>, original: &Graph, node: NodeId, measured: Option<NodeId>) -> Result<Value, Undefined> {
    let sizes = Arg::List(c.sizes("shape")?.into());
    let made = match original.target(node) {
        "aten.uniform.default" => {
            let x = needed(measured)?;
            let bound = |name| argument(c.b.registry(), original, node, name).and_then(|a| as_float(&a));
            if bound("from") == Some(0.0) && bound("to") == Some(1.0) {
                again(c.b, original, node, &[("self", x)])?
            } else {
                c.b.call("aten.rand_like.default", vec![x])?
            }
        }
        "aten.randint.default" | "aten.randint.low" => {
            c.only(c.dtype("dtype")? == Dtype::F32, "integers made of other draws than of single precision")?;
            let low = match argument(c.b.registry(), original, node, "low") {
                None => None,
                Some(Arg::Int(low)) => Some(low),
                Some(_) => return undefined("a bound that is symbolic"),
            };
            let Some(Arg::Int(high)) = argument(c.b.registry(), original, node, "high") else {
                return undefined("a bound that is symbolic");
            };
            let width = high.saturating_sub(low.unwrap_or(0));
            if width > SINGLES {
                c.b.assumed.insert(format!("of {width} integers a draw of single precision gives 2^24 at most"));
            }
            let call = again(c.b, original, node, &[("size", sizes)])?;
            return Ok(Drawing::Unit { call, low, width }.into());
        }
        "aten.exponential.default" => {
            c.only(c.dtype("dtype")? == Dtype::F32, "waiting times made of other draws than of single precision")?;
            let rate = argument(c.b.registry(), original, node, "lambd").and_then(|a| as_float(&a));
            let by = rate.and_then(|rate| c.b.rounded(-1.0 / rate, Dtype::F32));
            let Some(by) = by else { return undefined("a rate that is symbolic") };
            let call = again(c.b, original, node, &[("self", needed(measured)?)])?;
            return Ok(Drawing::Waiting { call, by: Arg::Float(by), made: Waiting::Drawn }.into());
        }
        target if target.contains("_like") => again(c.b, original, node, &[("self", needed(measured)?)])?,
        _ => again(c.b, original, node, &[("size", sizes)])?,
    };
    Ok(of_dtype(c, made)?.into())
}

/// Ones with a probability, or with one for each element.
fn coins(c: &mut Call<'_, '_>, original: &Graph, node: NodeId, measured: Option<NodeId>) -> Result<Value, Undefined> {
    let _ = c.sizes("shape")?;
    let x = needed(measured)?;
    let made = match original.target(node) {
        "aten.bernoulli.p" => {
            let p = c.one_number("prob")?;
            again(c.b, original, node, &[("self", x), ("p", p)])?
        }
        "aten.bernoulli.default" => {
            let p = Arg::Node(c.t("prob")?);
            c.only(p == x, "probabilities of other sizes")?;
            again(c.b, original, node, &[("self", x)])?
        }
        _ => {
            let p = Arg::Node(c.t("prob")?);
            again(c.b, original, node, &[("self", x), ("p", p)])?
        }
    };
    Ok(of_dtype(c, made)?.into())
}

/// Which elements dropout keeps: the call gives them, and the mask.
fn mask(c: &mut Call<'_, '_>, original: &Graph, node: NodeId, measured: Option<NodeId>) -> Result<Value, Undefined> {
    let _ = c.sizes("shape")?;
    let (Arg::Node(of), keep) = (needed(measured)?, c.value("prob")?) else { return undefined("no tensor") };
    let Some(keep) = keep.numbers().and_then(|n| n.only()).cloned() else { return undefined("no probability") };
    let dropped = argument(c.b.registry(), original, node, "p").and_then(|p| as_float(&p));
    let dtype = c.b.dtype(of)?;
    let is_asked = match (dropped, as_float(&keep)) {
        (Some(p), Some(keep)) => c.b.rounded(1.0 - p, dtype).is_some_and(|k| k.to_bits() == keep.to_bits()),
        _ => false,
    };
    c.only(is_asked, "another probability than the graph's")?;
    let call = again(c.b, original, node, &[("input", Arg::Node(of))])?;
    Ok(Drawing::Mask { call, of, keep }.into())
}

fn as_float(arg: &Arg) -> Option<f64> {
    match arg {
        Arg::Float(v) => Some(*v),
        Arg::Int(v) => i32::try_from(*v).ok().map(f64::from),
        _ => None,
    }
}

/// An argument of a call, or its default.
fn argument(registry: &Registry, original: &Graph, node: NodeId, name: &str) -> Option<Arg> {
    let operator = registry.operator_of(original, node)?;
    let bound = Bound::bind(&operator.schema, original, original.args(node), original.kwargs(node)).ok()?;
    Some(bound.get(operator.schema.param_index(name)?).clone())
}

/// Makes a call of the graph that was lowered once more, of other operands: all of them.
fn again(b: &mut Build<'_>, original: &Graph, node: NodeId, operands: &[(&str, Arg)]) -> Result<NodeId, Undefined> {
    let Some(operator) = b.registry().operator_of(original, node) else { return undefined("an unknown draw") };
    let instead = |name: &str, own: &Arg| {
        operands.iter().find(|(n, _)| *n == name).map_or_else(|| own.clone(), |(_, a)| a.clone())
    };
    let positional = |(i, a): (usize, &Arg)| instead(operator.schema.params.get(i).map_or("", |p| &p.name), a);
    let args: Vec<Arg> = original.args(node).iter().enumerate().map(positional).collect();
    let named: Vec<(&str, Arg)> = original
        .kwargs(node)
        .iter()
        .map(|(k, a)| (original.texts.text(*k), instead(original.texts.text(*k), a)))
        .collect();
    // An operand that nothing stands for is a node of the other graph.
    let is_covered = |name: &str, own: &Arg| own.nodes().next().is_none() || operands.iter().any(|(n, _)| *n == name);
    let mut own = original.args(node).iter().enumerate();
    let covered = own.all(|(i, a)| is_covered(operator.schema.params.get(i).map_or("", |p| &p.name), a))
        && original.kwargs(node).iter().all(|(k, a)| is_covered(original.texts.text(*k), a));
    if !covered {
        return undefined("a draw of operands that feed nothing");
    }
    b.call_with(original.target(node), args, named)
}
