//! Tensors that are made: filled, counted, left unset.

use super::{Call, Made, Table, Undefined, Value, numbers, one, told, undefined};
use crate::graph::{Arg, Dtype, NodeId, View};

pub(super) const TABLE: Table = &[("Fill", fill), ("Range", range), ("Empty", empty), ("LinSpace", lin_space)];

fn fill(c: &mut Call<'_, '_>) -> Made {
    let sizes = c.sizes("dims")?;
    let value = c.value("value")?;
    let dtype = value.dtype(c.b)?;
    if let Value::Numbers(known) = &value {
        let Some(item) = known.only() else { return undefined("a fill with several numbers") };
        let item = known.argument(c.b, item);
        // Sizes that are numbers stay numbers: they are used as such.
        if let [Arg::Int(count)] = sizes.as_slice()
            && let Ok(count) = usize::try_from(*count)
            && count <= 64
        {
            return one(Value::list(dtype, vec![item; count]));
        }
        return one(c.b.full(sizes, item, dtype)?);
    }
    let x = value.tensor(c.b)?;
    if c.b.rank(x)? == 0
        && c.b.fills_told()
        && let Some(known) = told::numbers(c.b, x)
    {
        let known = known?;
        let Some(item) = known.only().cloned() else { return undefined("a fill with several numbers") };
        return one(c.b.full(sizes, item, dtype)?);
    }
    c.only(c.b.rank(x)? == 0 || c.b.tensor(x)?.sizes.iter().all(|d| d.fixed() == Some(1)), "a fill with a tensor")?;
    let x = if c.b.rank(x)? == 0 {
        x
    } else {
        c.b.call("aten.view.default", vec![Arg::Node(x), Arg::List(Box::default())])?
    };
    let spread = c.b.call("aten.expand.default", vec![Arg::Node(x), Arg::List(sizes.into())])?;
    one(c.b.call("aten.clone.default", vec![Arg::Node(spread)])?)
}

fn range(c: &mut Call<'_, '_>) -> Made {
    let mut dtype = c.value("start")?.dtype(c.b)?;
    for slot in ["limit", "delta"] {
        let other = c.value(slot)?.dtype(c.b)?;
        c.only(other == dtype || (other.is_integer() && dtype.is_integer()), "a range of several types")?;
        dtype = numbers::wider(dtype, other);
    }
    let (start, limit, step) = (bound(c, "start")?, bound(c, "limit")?, bound(c, "delta")?);
    if dtype.is_float() && [&start, &limit, &step].iter().any(|n| matches!(n, Arg::Node(_))) {
        c.b.assumed.insert("sizes that bound a range of floats are numbers of single precision".into());
    }
    if dtype.is_float() {
        counts_as_held(c, dtype, [&start, &limit, &step])?;
    }
    let counts = |args: &[Arg]| {
        let [from, to, by] = bounds(args);
        from.is_some() && to.is_some() && [from, to, by] == [as_float(&start), as_float(&limit), as_float(&step)]
    };
    let spellings = ["aten.arange.default", "aten.arange.start", "aten.arange.start_step"];
    // Integers that are counted one by one are the same in every spelling.
    let is_plain = dtype == Dtype::I64 && step == Arg::Int(1);
    if !is_plain && let Some(made) = c.b.call_spelled(&spellings, counts, dtype) {
        return one(made?);
    }
    if !is_plain && let Some(made) = c.b.line_spelled([&start, &limit, &step], dtype) {
        return one(made?);
    }
    let named = vec![("dtype", Arg::Dtype(dtype)), ("device", c.b.device())];
    one(match (&start, &step) {
        (Arg::Int(0), Arg::Int(1)) => c.b.call_with("aten.arange.default", vec![limit], named)?,
        (_, Arg::Int(1)) => c.b.call_with("aten.arange.start", vec![start, limit], named)?,
        _ => c.b.call_with("aten.arange.start_step", vec![start, limit, step], named)?,
    })
}

/// A range is as long as its numbers say as GE holds them, whether it counts in their type or wider; that they are rounded is assumed to be no matter.
#[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
fn counts_as_held(c: &mut Call<'_, '_>, dtype: Dtype, spelled: [&Arg; 3]) -> Result<(), Undefined> {
    let held = ["start", "limit", "delta"].map(|slot| c.numbers(slot).ok().and_then(|n| n.only().and_then(as_float)));
    let ([Some(a), Some(b), Some(s)], [Some(x), Some(y), Some(z)]) = (held, spelled.map(as_float)) else {
        return Ok(());
    };
    let count = ((y - x) / z).ceil();
    let narrow = ((b as f32 - a as f32) / s as f32).ceil();
    let alike = ((b - a) / s).ceil() == count && f64::from(narrow) == count;
    c.only(alike, "a range that numbers of its own type count otherwise")?;
    for (said, held) in [(x, a), (y, b), (z, s)] {
        if said != held {
            c.b.assumed.insert(format!("{said} is held as {held} in {}", dtype.long()));
        }
    }
    Ok(())
}

/// Where a range begins or ends, or its step.
fn bound(c: &mut Call<'_, '_>, slot: &str) -> Result<Arg, Undefined> {
    match c.value(slot)? {
        Value::Tensor(tensor) => told::bound(c.b, tensor).unwrap_or_else(|| c.one_number(slot)),
        _ => c.one_number(slot),
    }
}

/// Numbers that are counted as integers and converted, where the graph that was lowered counts them as floats: up to there a single is every integer.
pub(super) fn counted(c: &mut Call<'_, '_>, line: NodeId, dtype: Dtype) -> Option<Result<NodeId, Undefined>> {
    let ends = c.b.graph.args(line).to_vec();
    let is_line =
        matches!(c.b.graph.target(line), "aten.arange.default" | "aten.arange.start" | "aten.arange.start_step");
    if !is_line || !dtype.is_float() || !c.b.dtype(line).is_ok_and(Dtype::is_integer) {
        return None;
    }
    let is_small = |a: &Arg| matches!(a, Arg::Int(v) if v.unsigned_abs() < 1 << 24);
    if !ends.iter().all(is_small) {
        let (zero, by_one) = (Arg::Int(0), Arg::Int(1));
        let [start, limit, step] = match ends.as_slice() {
            [to] => [&zero, to, &by_one],
            [from, to] => [from, to, &by_one],
            [from, to, by] => [from, to, by],
            _ => return None,
        };
        let made = c.b.line_spelled([start, limit, step], dtype)?;
        c.b.assumed.insert("sizes that bound a range of floats are numbers of single precision".into());
        return Some(made);
    }
    let own = bounds(&ends);
    c.b.call_spelled(
        &["aten.arange.default", "aten.arange.start", "aten.arange.start_step"],
        |a| bounds(a) == own,
        dtype,
    )
}

/// Where a line begins and ends, and its step.
fn bounds(args: &[Arg]) -> [Option<f64>; 3] {
    match args {
        [to] => [Some(0.0), as_float(to), Some(1.0)],
        [from, to] => [as_float(from), as_float(to), Some(1.0)],
        [from, to, by, ..] => [as_float(from), as_float(to), as_float(by)],
        [] => [None; 3],
    }
}

fn empty(c: &mut Call<'_, '_>) -> Made {
    let sizes = c.sizes("shape")?;
    let dtype = c.dtype("dtype")?;
    let filled = c.attribute_argument("init")?;
    c.only(!matches!(filled, Arg::Bool(true)), "an empty tensor that is filled")?;
    let named = vec![("dtype", Arg::Dtype(dtype)), ("device", c.b.device())];
    one(c.b.call_with("aten.empty.memory_format", vec![Arg::List(sizes.into())], named)?)
}

fn lin_space(c: &mut Call<'_, '_>) -> Made {
    let dtype = c.value("start")?.dtype(c.b)?;
    c.only(dtype == Dtype::F32, "a line of another type than f32")?;
    let args = vec![c.one_number("start")?, c.one_number("stop")?, c.one_number("num")?];
    let alike = |own: &[Arg]| {
        own.len() == 3 && own.iter().zip(&args).all(|(a, b)| as_float(a).is_some_and(|f| Some(f) == as_float(b)))
    };
    if let Some(made) = c.b.call_spelled(&["aten.linspace.default"], alike, dtype) {
        return one(made?);
    }
    let named = vec![("dtype", Arg::Dtype(dtype)), ("device", c.b.device())];
    one(c.b.call_with("aten.linspace.default", args, named)?)
}

/// A number that a float of two words holds.
#[allow(clippy::cast_precision_loss)] // Bounded.
pub(super) fn as_float(arg: &Arg) -> Option<f64> {
    match arg {
        Arg::Int(v) if v.unsigned_abs() < 1 << 53 => Some(*v as f64),
        Arg::Float(v) => Some(*v),
        _ => None,
    }
}
