//! Sorting and what picks from it.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, argsort, &["aten.argsort.default"]),
    (Exact, argsort_stable, &["aten.argsort.stable"]),
    (Exact, |b| done![b.pick("sort.default", args![b.t(0)?, 0], 0)], &["aten.msort.default"]),
    (Exact, median_along, &["aten.median.dim"]),
    (Exact, |b| median(b, Nan::Wins), &["aten.median.default"]),
    (Exact, |b| median(b, Nan::Least), &["aten.nanmedian.default"]),
    (Real, quantile, &["aten.quantile.scalar"]),
    (Exact, some_places, &["aten.nonzero_static.default"]),
    (Exact, nonzero_numpy, &["aten.nonzero_numpy.default", "aten.where.default"]),
];

/// A row a place that is not zero, as many rows as are asked for: those that are missing hold what fills them.
fn some_places(b: &Builder<'_>) -> Made {
    let (x, rows) = (b.t(0)?, b.int(1)?);
    let count = x.count()?;
    b.only(x.rank() > 0 && count > 0 && rows > 0, "a number, or no elements")?;
    let flat = x.call("ne.Scalar", args![0]).reshape(vec![Arg::Int(count)]);
    let so_far = flat.call("cumsum", args![0]);
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let which = b.op("arange.start", args![1, rows.saturating_add(1); dtype = Dtype::I64, device = device]);
    let at = b.op("searchsorted.Tensor", args![so_far, which]);
    let mut columns = Vec::with_capacity(x.rank());
    let mut below = count;
    for size in x.sizes() {
        let size = size.fixed().unwrap_or(1);
        below = below.checked_div(size).unwrap_or(1);
        let along = at.call("div.Tensor_mode", args![below; rounding_mode = "floor"]);
        columns.push(Arg::from(along.call("remainder.Scalar", args![size])));
    }
    let all = b.op("stack", args![columns, 1]);
    let found = which.call("le.Tensor", args![so_far.select(0, count.saturating_sub(1))]).unsqueeze(1);
    done![b.op("where.ScalarOther", args![found, all, b.arg(2)])]
}

fn argsort(b: &Builder<'_>) -> Made {
    done![b.pick("sort.default", args![b.t(0)?, b.arg(1), b.arg(2)], 1)]
}

fn argsort_stable(b: &Builder<'_>) -> Made {
    let (x, stable, dim, down) = (b.t(0)?, b.arg("stable"), b.arg("dim"), b.arg("descending"));
    done![b.pick("sort.stable", args![x; stable = stable, dim = dim, descending = down], 1)]
}

/// Between the two neighbours of a place in the sorted row; a row with a NaN, which comes last, gives that.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // A place in a row.
fn quantile(b: &Builder<'_>) -> Made {
    let (x, q, way) = (b.t(0)?, b.float(1)?, b.text("interpolation"));
    let (rank, keeps) = (x.rank(), b.flag("keepdim")?);
    b.only(rank > 0, "a tensor without dimensions")?;
    let (row, axis) = match b.is_none("dim") {
        true => (x.reshape(vec![(-1).into()]), 0),
        false => (x, b.axis("dim", rank)?),
    };
    let n = row.fixed(axis)?;
    b.only(n > 0 && x.dtype() == Dtype::F32, "nothing to choose from, or f64")?;
    let sorted = b.pick("sort.default", args![row, axis], 0);
    let place = f64::from(q as f32 * (n.saturating_sub(1)) as f32);
    let at = |k: f64| sorted.slice(axis, k as i64, (k as i64).saturating_add(1)).id();
    let (below, above) = (b.value(at(place.floor())), b.value(at(place.ceil())));
    let between = |weight: f64| below.call("lerp.Scalar", args![above, weight]).id();
    let value = match &*way {
        "lower" => below,
        "higher" => above,
        "nearest" => b.value(at(place.round_ties_even())),
        "midpoint" => b.value(between(0.5)),
        _ => b.value(between(place - place.floor())),
    };
    let last = b.value(at((n.saturating_sub(1)) as f64));
    let value = b.choose(last.op("isnan"), last, value);
    done![match (keeps, b.is_none("dim")) {
        (true, true) => value.reshape(vec![1.into(); rank]),
        (false, true) => value.reshape(Vec::new()),
        (true, false) => value,
        (false, false) => value.squeeze(axis),
    }]
}

/// The columns of `nonzero`.
fn nonzero_numpy(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let x = if x.rank() == 0 { x.unsqueeze(0) } else { x };
    let found = x.op("nonzero");
    let columns = b.list("unbind.int", args![found, 1]);
    Ok(vec![Arg::List(columns.into_iter().map(Arg::from).collect())])
}

/// What NaN does among others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nan {
    /// Any is the median.
    Wins,
    /// It is not counted: of nothing but NaN the value is known, not the place.
    Least,
}

/// The lower one of the middle, where a stable sort leaves it; NaN comes last.
fn middle<'b>(b: &'b Builder<'_>, x: T<'b>, axis: i64, nan: Nan) -> Result<[T<'b>; 2], CallFault> {
    let n = x.fixed(axis)?;
    b.only(n > 0 && x.dtype() != Dtype::Bool, "nothing to choose from")?;
    let [sorted, places] = b.many("sort.stable", args![x; stable = true, dim = axis, descending = false])?;
    let half = n.saturating_sub(1) >> 1;
    let at = |t: T<'b>| t.slice(axis, half, half.saturating_add(1)).id();
    let (value, place) = (b.value(at(sorted)), b.value(at(places)));
    if !x.dtype().is_float() {
        return Ok([value, place]);
    }
    let lost = x.op("isnan");
    if nan == Nan::Least {
        let counted = lost.op("logical_not").sum(&[axis], true);
        let half = (counted - 1).call("clamp_min", args![0]).call("bitwise_right_shift.Tensor_Scalar", args![1]);
        let at = |t: T<'b>| t.call("gather", args![axis, half]).id();
        return Ok([b.value(at(sorted)), b.value(at(places))]);
    }
    let first = lost.to(Dtype::I32).call("argmax", args![axis, true]);
    let any = lost.call("any.dim", args![axis, true]);
    Ok([b.choose(any, x.call("gather", args![axis, first]), value), b.choose(any, first, place)])
}

fn median_along(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() > 0, "scalars")?;
    let axis = b.axis(1_usize, x.rank())?;
    let [value, place] = middle(b, x, axis, Nan::Wins)?;
    if b.flag(2)? {
        return done![value, place];
    }
    done![value.squeeze(axis), place.squeeze(axis)]
}

fn median(b: &Builder<'_>, nan: Nan) -> Made {
    let x = b.t(0)?;
    let [value, _] = middle(b, x.reshape(vec![x.numel()]), 0, nan)?;
    done![value.squeeze(0)]
}
