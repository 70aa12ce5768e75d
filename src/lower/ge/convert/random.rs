//! Draws of random numbers, and dropout.

use super::args::Args;
use super::cx::{Cx, int, list};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.bernoulli.Tensor", By(bernoulli)),
    ("aten.bernoulli.default", By(bernoulli)),
    ("aten.bernoulli.p", By(bernoulli)),
    ("aten.multinomial.default", By(multinomial)),
    ("aten.native_dropout.default", By(dropout)),
    ("aten.native_dropout_backward.default", By(dropout_backward)),
    ("aten.rand.default", By(|cx| filled(cx, "StatelessRandomUniformV2"))),
    ("aten.randint.default", By(randint)),
    ("aten.randn.default", By(|cx| filled(cx, "StatelessRandomNormalV2"))),
    ("aten.randn.generator", By(|cx| filled(cx, "StatelessRandomNormalV2"))),
    ("aten.randperm.default", By(randperm)),
    ("aten.uniform.default", By(uniform)),
];

/// The graph's own generator is the only one.
fn refuse_generator(cx: &Cx) -> Result<(), Refusal> {
    match cx.kwarg("generator") {
        Value::None => Ok(()),
        _ => Err(Refusal("a generator other than the default one is not supported".into())),
    }
}

/// Returns the vector of a zero and the offset.
fn offsets(cx: &mut Cx, offset: TensorId) -> Result<TensorId, Refusal> {
    let zero = cx.constant(Literal::Int(0), DataType::Int64)?;
    let both = In::Many(vec![zero.into(), offset.into()]);
    cx.op("ConcatV2", vec![both, int(0)], &[("N", Attr::Int(2))])
}

/// Returns a tensor of draws by Philox, keyed by the seed and counted by the offset.
fn draw(cx: &mut Cx, kind: &str, size: In, dtype: DataType) -> Result<TensorId, Refusal> {
    refuse_generator(cx)?;
    let (seed, offset) = cx.b.draw()?;
    let key = cx.always_cast(seed, DataType::Uint64)?;
    let key = cx.unsqueeze(key, &[0])?;
    let counter = offsets(cx, offset)?;
    let counter = cx.always_cast(counter, DataType::Uint64)?;
    let algorithm = cx.always_cast(Literal::Int(1), DataType::Int32)?;
    let inputs = vec![size, key.into(), counter.into(), algorithm.into()];
    cx.op(kind, inputs, &[("dtype", Attr::Type(dtype))])
}

fn filled(cx: &mut Cx, kind: &str) -> Made {
    let size = cx.input(0, "size")?;
    let dtype = cx.dtype_arg(usize::MAX, "dtype")?.map_or_else(|| cx.out_type(), Ok)?;
    Ok(draw(cx, kind, size, dtype)?.into())
}

fn randint(cx: &mut Cx) -> Made {
    let high = cx.get(0, "high");
    if cx.get(1, "size").tensor().is_some() {
        return Err(Refusal("sizes that are not fixed are not supported".into()));
    }
    if matches!(high, Value::Int(high) if high <= 0) {
        return Err(Refusal("the upper bound must be above 0".into()));
    }
    let size = cx.input(1, "size")?;
    let uniform = draw(cx, "StatelessRandomUniformV2", size, DataType::Float)?;
    let scaled = cx.op("Mul", vec![uniform.into(), In::try_from(&high)?], &[])?;
    match cx.dtype_arg(usize::MAX, "dtype")? {
        None => Ok(cx.always_cast(scaled, DataType::Int64)?.into()),
        Some(DataType::Bool) => {
            let shape = cx.shape(uniform)?;
            let one = cx.always_cast(Literal::Int(1), DataType::Bool)?;
            cx.ge("Fill", vec![shape.into(), one.into()], &[])
        }
        Some(dtype) => {
            let whole = cx.always_cast(scaled, DataType::Int64)?;
            Ok(cx.always_cast(whole, dtype)?.into())
        }
    }
}

fn randperm(cx: &mut Cx) -> Made {
    if cx.get(0, "n").tensor().is_none() && cx.int(0, "n", 0)? <= 0 {
        return Err(Refusal("a permutation of no elements is not supported".into()));
    }
    refuse_generator(cx)?;
    let (n, dtype) = (cx.input(0, "n")?, cx.out_type()?);
    let (seed, offset) = cx.b.draw()?;
    let attrs = [("layout", Attr::Int(1)), ("dtype", Attr::Type(dtype))];
    cx.ge("StatelessRandperm", vec![n, seed.into(), offset.into()], &attrs)
}

fn uniform(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (from, to) = (cx.float(1, "from", 0.0)?, cx.float(2, "to", 1.0)?);
    let (shape, dtype) = (cx.shape(x)?, cx.dtype(x));
    let unit = draw(cx, "StatelessRandomUniformV2", shape.into(), dtype)?;
    // Relative to 0 nothing but 0 is near.
    if from == 0.0 && (to - 1.0).abs() <= 1e-9 {
        return Ok(unit.into());
    }
    // What is scaled in a narrow type is rounded three times, and may reach the upper bound.
    let wide = if dtype == DataType::Double { dtype } else { DataType::Float };
    let unit = cx.cast(unit, wide)?;
    let (from, to) = (cx.constant(Literal::Float(from), wide)?, cx.constant(Literal::Float(to), wide)?);
    let low = cx.op("Mul", vec![unit.into(), from.into()], &[])?;
    let low = cx.op("Sub", vec![low.into(), from.into()], &[])?;
    let high = cx.op("Mul", vec![unit.into(), to.into()], &[])?;
    let drawn = cx.op("Sub", vec![high.into(), low.into()], &[])?;
    Ok(cx.cast(drawn, dtype)?.into())
}

fn bernoulli(cx: &mut Cx) -> Made {
    refuse_generator(cx)?;
    let x = cx.tensor(0, "self")?;
    let p = if cx.get(1, "p").is_none() { x.into() } else { cx.input(1, "p")? };
    let (shape, dtype) = (cx.shape(x)?, cx.dtype(x));
    let (seed, offset) = cx.b.draw()?;
    let inputs = vec![shape.into(), p, seed.into(), offset.into()];
    cx.ge("StatelessBernoulli", inputs, &[("dtype", Attr::Type(dtype))])
}

fn multinomial(cx: &mut Cx) -> Made {
    refuse_generator(cx)?;
    let (x, count) = (cx.tensor(0, "self")?, cx.int(1, "num_samples", 0)?);
    if !matches!(cx.rank(x)?, 1 | 2) {
        return Err(Refusal("only one or two dimensions are supported".into()));
    }
    // TorchAir leaves it out, by which nothing is drawn twice.
    let replacement = cx.bool(2, "replacement", false)?;
    let (seed, offset) = cx.b.draw()?;
    let inputs = vec![x.into(), seed.into(), offset.into()];
    let attrs = [("numsamples", Attr::Int(count)), ("replacement", Attr::Bool(replacement))];
    cx.ge("MultinomialWithReplacement", inputs, &attrs)
}

fn dropout(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input p train")?;
    let x = args.tensor("input")?;
    if !args.get("train").is_none() && !args.flag("train")? {
        let shape = cx.shape(x)?;
        let mask = cx.filled(shape, 1.0, DataType::Bool)?;
        return Ok(list(&[x, mask]));
    }
    let keep = cx.constant(Literal::Float(1.0 - cx.float(1, "p", 0.5)?), cx.dtype(x))?;
    let shape = cx.shape(x)?;
    let (seed, offset) = cx.b.draw()?;
    let second = cx.constant(Literal::Int(0), DataType::Int64)?;
    let offset = offsets(cx, offset)?;
    let inputs = vec![shape.into(), keep.into(), seed.into(), second.into(), offset.into()];
    let mask = cx.op("StatelessDropOutGenMask", inputs, &[])?;
    let kept = cx.op("DropOutDoMask", vec![x.into(), mask.into(), keep.into()], &[])?;
    Ok(list(&[kept, mask]))
}

fn dropout_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output mask scale")?;
    let keep = In::Literal(Literal::Float(1.0 / cx.float(2, "scale", 1.0)?));
    cx.ge("DropOutDoMask", vec![args.input("grad_output")?, args.input("mask")?, keep], &[])
}

/// Draws in the sizes of an operand.
pub(super) fn like(cx: &mut Cx, kind: &str) -> Made {
    let x = cx.tensor(0, "self")?;
    let dtype = cx.dtype_arg(usize::MAX, "dtype")?.unwrap_or_else(|| cx.dtype(x));
    let shape = cx.shape(x)?;
    Ok(draw(cx, kind, shape.into(), dtype)?.into())
}

/// Integers from a bound up to another, as scaled and cut draws from the unit interval.
pub(super) fn randint_low(cx: &mut Cx) -> Made {
    let (low, high, size) = (cx.int(0, "low", 0)?, cx.int(1, "high", 0)?, cx.input(2, "size")?);
    let width = high.checked_sub(low).filter(|w| *w > 0).ok_or_else(|| Refusal("the bounds hold no number".into()))?;
    let uniform = draw(cx, "StatelessRandomUniformV2", size, DataType::Float)?;
    let scaled = cx.op("Mul", vec![uniform.into(), int(width)], &[])?;
    let whole = cx.always_cast(scaled, DataType::Int64)?;
    let moved = cx.op("Add", vec![whole.into(), int(low)], &[])?;
    let dtype = cx.dtype_arg(usize::MAX, "dtype")?.unwrap_or(DataType::Int64);
    Ok(cx.cast(moved, dtype)?.into())
}

/// Times between events of a rate: logarithms of draws from the unit interval, which are kept from being zero.
pub(super) fn exponential(cx: &mut Cx) -> Made {
    let (x, rate) = (cx.tensor(0, "self")?, cx.float(1, "lambd", 1.0)?);
    if rate <= 0.0 {
        return Err(Refusal("the rate must be above 0".into()));
    }
    let (shape, dtype) = (cx.shape(x)?, cx.dtype(x));
    let unit = draw(cx, "StatelessRandomUniformV2", shape.into(), DataType::Float)?;
    let least = cx.constant(Literal::Float(1.0 / 33_554_432.0), DataType::Float)?;
    let positive = cx.op("Maximum", vec![unit.into(), least.into()], &[])?;
    let logarithm = cx.op("Log", vec![positive.into()], &[])?;
    let by = cx.constant(Literal::Float(-1.0 / rate), DataType::Float)?;
    let times = cx.op("Mul", vec![logarithm.into(), by.into()], &[])?;
    let times = if dtype == DataType::Float { times } else { cx.cast(times, dtype)? };
    Ok(times.into())
}

/// One operator of a tensor and a number.
fn with_number(cx: &mut Cx, kind: &str, x: TensorId, number: f64) -> Result<TensorId, Refusal> {
    let number = cx.constant(Literal::Float(number), DataType::Float)?;
    cx.op(kind, vec![x.into(), number.into()], &[])
}

/// A draw of single precision in the sizes of the operand.
fn single(cx: &mut Cx, kind: &str) -> Result<TensorId, Refusal> {
    let x = cx.tensor(0, "self")?;
    let shape = cx.shape(x)?;
    draw(cx, kind, shape.into(), DataType::Float)
}

/// Exponentials of normal draws.
pub(super) fn log_normal(cx: &mut Cx) -> Made {
    let (mean, deviation, dtype) = (cx.float(1, "mean", 1.0)?, cx.float(2, "std", 2.0)?, cx.out_type()?);
    let normal = single(cx, "StatelessRandomNormalV2")?;
    let scaled = with_number(cx, "Mul", normal, deviation)?;
    let moved = with_number(cx, "Add", scaled, mean)?;
    let made = cx.op("Exp", vec![moved.into()], &[])?;
    Ok(if dtype == DataType::Float { made } else { cx.cast(made, dtype)? }.into())
}

/// Tangents of angles that are drawn evenly.
pub(super) fn cauchy(cx: &mut Cx) -> Made {
    let (median, width, dtype) = (cx.float(1, "median", 0.0)?, cx.float(2, "sigma", 1.0)?, cx.out_type()?);
    let unit = single(cx, "StatelessRandomUniformV2")?;
    let even = with_number(cx, "Sub", unit, 0.5)?;
    let angle = with_number(cx, "Mul", even, std::f64::consts::PI)?;
    let tangent = cx.op("Tan", vec![angle.into()], &[])?;
    let scaled = with_number(cx, "Mul", tangent, width)?;
    let made = with_number(cx, "Add", scaled, median)?;
    Ok(if dtype == DataType::Float { made } else { cx.cast(made, dtype)? }.into())
}

/// How many trials it takes: logarithms of draws from the unit interval, which are kept from being zero.
pub(super) fn geometric(cx: &mut Cx) -> Made {
    let (p, dtype) = (cx.float(1, "p", 0.5)?, cx.out_type()?);
    if !(p > 0.0 && p < 1.0) {
        return Err(Refusal("the probability must lie between 0 and 1".into()));
    }
    let unit = single(cx, "StatelessRandomUniformV2")?;
    let positive = with_number(cx, "Maximum", unit, 1.0 / 33_554_432.0)?;
    let logarithm = cx.op("Log", vec![positive.into()], &[])?;
    let trials = with_number(cx, "Mul", logarithm, 1.0 / (-p).ln_1p())?;
    let made = cx.op("Ceil", vec![trials.into()], &[])?;
    Ok(if dtype == DataType::Float { made } else { cx.cast(made, dtype)? }.into())
}
