//! Reductions, scans, places of extremes, and sorts.

use super::numbers::{self, Arithmetic};
use super::shape::axis;
use super::{Call, Made, Table, Undefined, Value, one, undefined};
use crate::graph::{Arg, Dtype, NodeId, View};

pub(super) const TABLE: Table = &[
    ("ReduceSum", sum),
    ("ReduceMean", mean),
    ("ReduceMax", |c| reduce(c, "aten.amax.default")),
    ("ReduceMin", |c| reduce(c, "aten.amin.default")),
    ("ReduceAny", |c| truths(c, "any")),
    ("ReduceAll", |c| truths(c, "all")),
    ("ReduceProdD", product),
    ("ReduceLogSumExp", log_sum_exp),
    ("Cumsum", |c| scan(c, "aten.cumsum.default")),
    ("Cumprod", |c| scan(c, "aten.cumprod.default")),
    ("ArgMaxV2", |c| arg_extreme(c, "aten.argmax.default")),
    ("ArgMin", |c| arg_extreme(c, "aten.argmin.default")),
    ("ArgMaxWithValue", |c| extreme(c, "aten.max.dim")),
    ("ArgMinWithValue", |c| extreme(c, "aten.min.dim")),
    ("Sort", sort),
    ("TopKV2", top_k),
    ("LpNormV2", lp_norm),
    ("ReduceStdWithMean", std_with_mean),
    ("ReduceStdV2", std),
    ("ReduceStdV2Update", variance_from_mean),
];

/// The axes of a reduction: some, since what no axes mean differs by operator, but for a tensor that has none.
fn axes(c: &mut Call<'_, '_>, x: NodeId) -> Result<Vec<i64>, Undefined> {
    let axes = c.ints("axes")?;
    some_axes(c, x, axes)
}

fn some_axes(c: &mut Call<'_, '_>, x: NodeId, axes: Vec<i64>) -> Result<Vec<i64>, Undefined> {
    let rank = c.b.rank(x)?;
    c.only(!axes.is_empty() || rank == 0, "a reduction over no axes")?;
    // A number has one axis to be named by, as in PyTorch.
    if let ([0 | -1], 0) = (axes.as_slice(), rank) {
        return Ok(axes);
    }
    let mut places = axes.iter().map(|a| axis(*a, rank)).collect::<Result<Vec<_>, _>>()?;
    places.sort_unstable();
    c.only(places.windows(2).all(|w| w.first() != w.last()), "an axis that is named twice")?;
    Ok(axes)
}

fn reduce(c: &mut Call<'_, '_>, target: &str) -> Made {
    let x = c.t("x")?;
    let (axes, keep) = (axes(c, x)?, c.flag("keep_dims")?);
    let dtype = c.b.dtype(x)?;
    let all = match target {
        "aten.mean.dim" => "aten.mean.default",
        "aten.amax.default" if !c.b.calls("aten.amax.default") => "aten.max.default",
        "aten.amin.default" if !c.b.calls("aten.amin.default") => "aten.min.default",
        "aten.sum.dim_IntList" if dtype.is_float() || dtype == Dtype::I64 => "aten.sum.default",
        _ => "",
    };
    if !keep && !all.is_empty() && axes.len() == c.b.rank(x)? && c.b.spelled(&["", all]) == all {
        return one(c.b.call(all, vec![Arg::Node(x)])?);
    }
    let args = vec![Arg::Node(x), Arg::list(axes), Arg::Bool(keep)];
    // PyTorch's sum of integers is of 64 bits; GE's is of their own type.
    let named = if target == "aten.sum.dim_IntList" && !dtype.is_float() && dtype != Dtype::I64 {
        vec![("dtype", Arg::Dtype(dtype))]
    } else {
        Vec::new()
    };
    one(c.b.call_with(target, args, named)?)
}

fn mean(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let is_one = c.b.rank(x)? == 0;
    c.only(c.flag("noop_with_empty_axes")? || is_one || !c.ints("axes")?.is_empty(), "a mean over no axes")?;
    let dtype = c.b.dtype(x)?;
    c.only(dtype.is_float() || dtype.is_complex(), "a mean of integers")?;
    reduce(c, "aten.mean.dim")
}

fn truths(c: &mut Call<'_, '_>, name: &str) -> Made {
    let x = c.t("x")?;
    let (axes, keep) = (axes(c, x)?, c.flag("keep_dims")?);
    c.only(c.b.dtype(x)? == Dtype::Bool, "a reduction of truth values over numbers")?;
    if !keep && axes.len() == c.b.rank(x)? {
        return one(c.b.call(&format!("aten.{name}.default"), vec![Arg::Node(x)])?);
    }
    if let [one_axis] = axes.as_slice() {
        let args = vec![Arg::Node(x), Arg::Int(*one_axis), Arg::Bool(keep)];
        return one(c.b.call(&format!("aten.{name}.dim"), args)?);
    }
    one(c.b.call(&format!("aten.{name}.dims"), vec![Arg::Node(x), Arg::list(axes), Arg::Bool(keep)])?)
}

/// The logarithm of the sum of the exponentials, as they stand: nothing is subtracted before.
fn log_sum_exp(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let (axes, keep) = (axes(c, x)?, c.flag("keep_dims")?);
    c.only(c.b.dtype(x)?.is_float(), "exponentials of integers")?;
    let powers = c.b.call("aten.exp.default", vec![Arg::Node(x)])?;
    let sum = c.b.call("aten.sum.dim_IntList", vec![Arg::Node(powers), Arg::list(axes), Arg::Bool(keep)])?;
    one(c.b.call("aten.log.default", vec![Arg::Node(sum)])?)
}

/// What is computed of a list of sizes along its only axis: a number.
fn of_sizes(c: &mut Call<'_, '_>, op: Arithmetic, axes: &[i64]) -> Result<Option<Value>, Undefined> {
    match c.value("x")? {
        Value::Numbers(known) if matches!(axes, [0 | -1]) && !c.flag("keep_dims")? => numbers::folded(c.b, op, &known),
        _ => Ok(None),
    }
}

fn sum(c: &mut Call<'_, '_>) -> Made {
    let axes = c.ints("axes")?;
    match of_sizes(c, Arithmetic::Add, &axes)? {
        Some(known) => one(known),
        None => reduce(c, "aten.sum.dim_IntList"),
    }
}

fn product(c: &mut Call<'_, '_>) -> Made {
    let axes = c.int_list("axes")?;
    if let Some(known) = of_sizes(c, Arithmetic::Mul, &axes)? {
        return one(known);
    }
    let x = c.t("x")?;
    let axes = c.int_list("axes")?;
    let axes = some_axes(c, x, axes)?;
    let keep = c.flag("keep_dims")?;
    let own = c.b.dtype(x)?;
    let dtype = if own.is_float() || own == Dtype::I64 { Vec::new() } else { vec![("dtype", Arg::Dtype(own))] };
    if !keep && axes.len() == c.b.rank(x)? {
        return one(c.b.call_with("aten.prod.default", vec![Arg::Node(x)], dtype)?);
    }
    let [one_axis] = axes.as_slice() else { return undefined("a product over several axes") };
    let args = vec![Arg::Node(x), Arg::Int(*one_axis), Arg::Bool(keep)];
    one(c.b.call_with("aten.prod.dim_int", args, dtype)?)
}

fn scan(c: &mut Call<'_, '_>, target: &str) -> Made {
    c.only(!c.flag("exclusive")? && !c.flag("reverse")?, "a scan that leaves its own element out, or runs backwards")?;
    let x = c.t("x")?;
    let at = c.one_int("axis")?;
    let dtype = c.b.dtype(x)?;
    let own = (dtype.is_float() || dtype == Dtype::I64) && !c.b.is_converted(target, x);
    let named = if own { Vec::new() } else { vec![("dtype", Arg::Dtype(dtype))] };
    one(c.b.call_with(target, vec![Arg::Node(x), Arg::Int(at)], named)?)
}

fn arg_extreme(c: &mut Call<'_, '_>, target: &str) -> Made {
    let x = c.t("x")?;
    let at = c.one_int("dimension")?;
    let dtype = c.dtype("dtype")?;
    // Along a tensor that was laid flat: over all of it.
    let args = match c.b.graph.args(x) {
        [Arg::Node(whole), Arg::List(to)]
            if c.b.graph.target(x) == "aten.reshape.default" && **to == [Arg::Int(-1)] && matches!(at, 0 | -1) =>
        {
            vec![Arg::Node(*whole)]
        }
        _ => vec![Arg::Node(x), Arg::Int(at)],
    };
    let found = c.b.call(target, args)?;
    if dtype == Dtype::I32 {
        return one(c.b.narrow_places(found)?);
    }
    one(c.b.to(found, dtype)?)
}

/// Places first, then values; places are of 32 bits.
fn extreme(c: &mut Call<'_, '_>, target: &str) -> Made {
    let given = c.t("x")?;
    let (at, keep) = (c.int("dimension")?, c.flag("keep_dims")?);
    // Floats that hold every number of a type have the same order.
    let x = match c.b.graph.args(given) {
        [Arg::Node(narrow)]
            if c.b.graph.target(given) == "aten._to_copy.default"
                && c.b.dtype(given)? == Dtype::F32
                && matches!(c.b.dtype(*narrow)?, Dtype::F16 | Dtype::Bf16 | Dtype::I8 | Dtype::U8 | Dtype::I16) =>
        {
            *narrow
        }
        _ => given,
    };
    let both = c.b.call(target, vec![Arg::Node(x), Arg::Int(at), Arg::Bool(keep)])?;
    let (values, places) = (c.b.item(both, 0)?, c.b.item(both, 1)?);
    let dtype = c.b.dtype(given)?;
    let values = c.b.to(values, dtype)?;
    let places = c.b.narrow_places(places)?;
    Ok(vec![Some(places.into()), Some(values.into())])
}

/// The tensor that was turned, and how: rows of the one are rows of the other.
fn turned(c: &Call<'_, '_>, x: NodeId) -> Option<(NodeId, Vec<i64>)> {
    let (Arg::Node(from), Arg::List(order)) = (c.b.graph.args(x).first()?, c.b.graph.args(x).get(1)?) else {
        return None;
    };
    let is_permuted = c.b.graph.target(x) == "aten.permute.default";
    let order: Option<Vec<i64>> = order.iter().map(|d| if let Arg::Int(d) = d { Some(*d) } else { None }).collect();
    order.filter(|o| is_permuted && o.iter().all(|d| *d >= 0)).map(|order| (*from, order))
}

fn sort(c: &mut Call<'_, '_>) -> Made {
    let given = c.t("x")?;
    let (axis_given, descending, stable) = (c.int("axis")?, c.flag("descending")?, c.flag("stable")?);
    let place = axis(axis_given, c.b.rank(given)?)?;
    let (x, at, order) = match turned(c, given) {
        Some((from, order)) => (from, order.get(place).copied().unwrap_or(axis_given), Some(order)),
        None => (given, axis_given, None),
    };
    // The last dimension may be said from the end.
    let last = i64::try_from(c.b.rank(x)?).unwrap_or(i64::MAX).saturating_sub(1);
    let from_end = |args: &[Arg]| args.get(1).is_none_or(|d| *d == Arg::Int(-1));
    let is_said = at == last && c.b.spelled_numbers("aten.sort.default", |args, _| from_end(args)).is_some();
    let at = if is_said && !stable { -1 } else { at };
    let both = if stable {
        let named = vec![("stable", Arg::Bool(true)), ("dim", Arg::Int(at)), ("descending", Arg::Bool(descending))];
        c.b.call_with("aten.sort.stable", vec![Arg::Node(x)], named)?
    } else {
        c.b.call("aten.sort.default", vec![Arg::Node(x), Arg::Int(at), Arg::Bool(descending)])?
    };
    let (mut values, mut places) = (c.b.item(both, 0)?, c.b.item(both, 1)?);
    if let Some(order) = order {
        let mut turn = |t| c.b.call("aten.permute.default", vec![Arg::Node(t), Arg::list(order.clone())]);
        (values, places) = (turn(values)?, turn(places)?);
    }
    let places = c.b.narrow_places(places)?;
    Ok(vec![Some(values.into()), Some(places.into())])
}

fn top_k(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    c.only(c.numbers("k")?.dtype.is_integer(), "a count that is no integer")?;
    let k = c.one_number("k")?;
    let args =
        vec![Arg::Node(x), k, Arg::Int(c.int("dim")?), Arg::Bool(c.flag("largest")?), Arg::Bool(c.flag("sorted")?)];
    let both = c.b.call("aten.topk.default", args)?;
    let (values, places) = (c.b.item(both, 0)?, c.b.item(both, 1)?);
    let places = c.b.narrow_places(places)?;
    Ok(vec![Some(values.into()), Some(places.into())])
}

fn lp_norm(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let axes = c.int_list("axes")?;
    let (p, keep) = (c.attribute_argument("p")?, c.flag("keepdim")?);
    // The ends of 32 bits stand for the infinities.
    let p = match p {
        Arg::Float(v) if v >= 2_147_483_000.0 => Arg::Float(f64::INFINITY),
        Arg::Float(v) if v <= -2_147_483_000.0 => Arg::Float(f64::NEG_INFINITY),
        p => p,
    };
    if c.float("epsilon")?.to_bits() != 0 {
        // It guards a division that a norm does not make.
        c.by_default("epsilon")?;
    }
    let args = vec![Arg::Node(x), p, Arg::list(axes), Arg::Bool(keep)];
    one(c.b.call("aten.linalg_vector_norm.default", args)?)
}

/// The deviation from a mean that is given: here, from the mean of the same axes.
fn std_with_mean(c: &mut Call<'_, '_>) -> Made {
    let (x, mean) = (c.t("x")?, c.t("mean")?);
    let axes = c.int_list("dim")?;
    let axes = some_axes(c, x, axes)?;
    c.only(!c.flag("invert")?, "a deviation that is inverted")?;
    c.by_default("unbiased")?;
    c.by_default("epsilon")?;
    let (correction, keep) = (c.int("correction")?, c.flag("keepdim")?);
    if is_mean_of(c, mean, x, &axes) {
        let named = vec![("correction", Arg::Int(correction)), ("keepdim", Arg::Bool(keep))];
        return one(c.b.call_with("aten.std.correction", vec![Arg::Node(x), Arg::list(axes)], named)?);
    }
    let variance = squares_from(c, x, mean, axes, correction, keep)?;
    one(c.b.call("aten.sqrt.default", vec![Arg::Node(variance)])?)
}

/// The squares of the distances from a mean that is given, over their count but for the correction.
fn variance_from_mean(c: &mut Call<'_, '_>) -> Made {
    let (x, mean) = (c.t("x")?, c.t("mean")?);
    let axes = c.int_list("dim")?;
    let axes = some_axes(c, x, axes)?;
    c.only(c.b.dtype(x)?.is_float(), "a variance of numbers that are not real")?;
    c.by_default("unbiased")?;
    let (correction, keep) = (c.int("correction")?, c.flag("keepdim")?);
    let variance = squares_from(c, x, mean, axes, correction, keep)?;
    if c.flag("if_std")? {
        return one(c.b.call("aten.sqrt.default", vec![Arg::Node(variance)])?);
    }
    one(variance)
}

/// Whether a tensor is the mean of another over these axes, spread over it or not.
fn is_mean_of(c: &Call<'_, '_>, mean: NodeId, x: NodeId, axes: &[i64]) -> bool {
    let (target, args) = (c.b.graph.target(mean), c.b.graph.args(mean));
    match (target, args) {
        ("aten.expand.default", [Arg::Node(inner), _]) => {
            c.b.graph.target(*inner) != "aten.expand.default" && is_mean_of(c, *inner, x, axes)
        }
        ("aten.mean.default", [Arg::Node(of)]) => {
            *of == x && places(c, x, axes).map(|all| all.len()) == c.b.rank(x).ok()
        }
        ("aten.unsqueeze.default", _) => {
            // The dimensions that a mean lost, put back from the front.
            let (mut inner, mut put) = (mean, Vec::new());
            while let [Arg::Node(before), Arg::Int(at)] = c.b.graph.args(inner)
                && c.b.graph.target(inner) == "aten.unsqueeze.default"
            {
                put.push(*at);
                inner = *before;
            }
            let all = matches!((c.b.graph.target(inner), c.b.graph.args(inner)), ("aten.mean.default", [Arg::Node(of)]) if *of == x);
            put.reverse();
            put.is_sorted_by(|a, b| a < b)
                && places(c, x, &put) == places(c, x, axes)
                && (all && Some(put.len()) == c.b.rank(x).ok() || of_mean(c, inner, x, axes, false))
        }
        _ => {
            let is_all = places(c, x, axes).map(|all| all.len()) == c.b.rank(x).ok();
            of_mean(c, mean, x, axes, true) || is_all && of_mean(c, mean, x, axes, false)
        }
    }
}

fn places(c: &Call<'_, '_>, x: NodeId, axes: &[i64]) -> Option<Vec<usize>> {
    let rank = c.b.rank(x).ok()?;
    let mut places = axes.iter().map(|a| axis(*a, rank).ok()).collect::<Option<Vec<usize>>>()?;
    places.sort_unstable();
    Some(places)
}

fn of_mean(c: &Call<'_, '_>, mean: NodeId, x: NodeId, axes: &[i64], keep: bool) -> bool {
    let ("aten.mean.dim", [Arg::Node(of), Arg::List(dims), kept]) = (c.b.graph.target(mean), c.b.graph.args(mean))
    else {
        return false;
    };
    let dims: Option<Vec<i64>> = dims.iter().map(|d| if let Arg::Int(v) = d { Some(*v) } else { None }).collect();
    let dims = dims.and_then(|d| places(c, x, &d));
    *of == x && *kept == Arg::Bool(keep) && dims.is_some() && dims == places(c, x, axes)
}

fn squares_from(
    c: &mut Call<'_, '_>,
    x: NodeId,
    mean: NodeId,
    axes: Vec<i64>,
    correction: i64,
    keep: bool,
) -> Result<NodeId, Undefined> {
    if is_mean_of(c, mean, x, &axes) {
        let named = vec![("correction", Arg::Int(correction)), ("keepdim", Arg::Bool(keep))];
        return c.b.call_with("aten.var.correction", vec![Arg::Node(x), Arg::list(axes)], named);
    }
    let difference = c.b.call("aten.sub.Tensor", vec![Arg::Node(x), Arg::Node(mean)])?;
    let squares = c.b.call("aten.mul.Tensor", vec![Arg::Node(difference), Arg::Node(difference)])?;
    let sum = c.b.call("aten.sum.dim_IntList", vec![Arg::Node(squares), Arg::list(axes.clone()), Arg::Bool(keep)])?;
    let rank = c.b.rank(x)?;
    let mut count = 1_i64;
    for at in axes {
        let Arg::Int(n) = c.b.size(x, axis(at, rank)?)? else { return undefined("a deviation over symbolic sizes") };
        count = count.saturating_mul(n);
    }
    let below = count.saturating_sub(correction).max(0);
    c.b.call("aten.div.Tensor", vec![Arg::Node(sum), Arg::Int(below)])
}

fn std(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let axes = c.int_list("dim")?;
    let axes = some_axes(c, x, axes)?;
    let (correction, keep) = (c.int("correction")?, c.flag("keepdim")?);
    let args = vec![Arg::Node(x), Arg::list(axes.clone())];
    let named = vec![("correction", Arg::Int(correction)), ("keepdim", Arg::Bool(keep))];
    let variance = c.b.call_with("aten.var.correction", args, named)?;
    let deviation = c.b.call("aten.sqrt.default", vec![Arg::Node(variance)])?;
    let mean = if c.flag("is_mean_out")? {
        Some(c.b.call("aten.mean.dim", vec![Arg::Node(x), Arg::list(axes), Arg::Bool(keep)])?.into())
    } else {
        None
    };
    Ok(vec![Some(deviation.into()), mean])
}
