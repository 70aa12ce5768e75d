//! Reductions that others say: variances, norms, counts.

use super::prelude::*;
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(super) const TABLE: &[Line] = &[
    (Real, segments, &["aten.segment_reduce.default"]),
    (Exact, |b| by_correction(b, "var.correction"), &["aten.var.default", "aten.var.dim"]),
    (Exact, |b| by_correction(b, "var_mean.correction"), &["aten.var_mean.default", "aten.var_mean.dim"]),
    (Exact, |b| by_correction(b, "std_mean.correction"), &["aten.std_mean.default", "aten.std_mean.dim"]),
    (Exact, |b| by_correction(b, "std.correction"), &["aten.std.default", "aten.std.dim"]),
    (
        Exact,
        |b| done![b.t(0)?.call("sum.dim_IntList", args![ints(&range(b.t(0)?.rank())), false; dtype = b.arg(1)])],
        &["aten.sum.default"],
    ),
    (Exact, nanmean, &["aten.nanmean.default"]),
    (ButZeros, |b| done![b.t(0)?.amin_of(b)?, b.t(0)?.amax_of(b)?], &["aten.aminmax.default"]),
    (Exact, all, &["aten.all.default", "aten.all.dim", "aten.all.dims"]),
    (Exact, count_nonzero, &["aten.count_nonzero.default", "aten.count_nonzero.dim_IntList"]),
    (Real, trace, &["aten.trace.default"]),
    (Real, nansum, &["aten.nansum.default"]),
    (Real, logsumexp, &["aten.logsumexp.default"]),
    (Real, std, &["aten.std.correction"]),
    (Real, std_mean, &["aten.std_mean.correction"]),
    (Real, var_mean, &["aten.var_mean.correction"]),
    (Real, vector_norm, &["aten.linalg_vector_norm.default"]),
    (Exact, norm, &["aten.norm.Scalar", "aten.norm.ScalarOpt_dim"]),
    (Exact, norm_in, &["aten.norm.ScalarOpt_dtype", "aten.norm.ScalarOpt_dim_dtype"]),
    (Exact, linalg_norm, &["aten.linalg_norm.default", "aten.linalg_norm.ord_str"]),
    (Exact, matrix_norm, &["aten.linalg_matrix_norm.default", "aten.linalg_matrix_norm.str_ord"]),
    (Exact, |b| done![entries(b.t(0)?, b.arg(1), b.flag(2)?, Arg::None)], &["aten.frobenius_norm.dim"]),
    (Exact, diff, &["aten.diff.default"]),
    (Real, |b| trapezoid(b, false), &["aten.trapezoid.dx", "aten.trapezoid.x", "aten.trapz.dx", "aten.trapz.x"]),
    (Real, |b| trapezoid(b, true), &["aten.cumulative_trapezoid.dx", "aten.cumulative_trapezoid.x"]),
    (Real, cov, &["aten.cov.default"]),
    (Real, corrcoef, &["aten.corrcoef.default"]),
    (ButZeros, |b| done![b.op("amin", args![b.t(0)?, ints(&[])])], &["aten.min.default"]),
    (ButZeros, |b| done![b.op("amax", args![b.t(0)?, ints(&[])])], &["aten.max.default"]),
    (Real, |b| done![(b.t(0)? - b.t(1)?).call("linalg_vector_norm", args![b.arg(2)])], &["aten.dist.default"]),
];

impl<'b> T<'b> {
    fn amin_of(self, b: &Builder<'_>) -> Result<T<'b>, CallFault> {
        Ok(self.call("amin", args![one_axis(b, self)?, b.flag(2)?]))
    }

    fn amax_of(self, b: &Builder<'_>) -> Result<T<'b>, CallFault> {
        Ok(self.call("amax", args![one_axis(b, self)?, b.flag(2)?]))
    }
}

/// Parameter 1 as a list of one dimension; of all where it is `None`.
fn one_axis(b: &Builder<'_>, x: T<'_>) -> Result<Arg, CallFault> {
    Ok(match b.opt_int(1)? {
        Some(d) => ints(&[d]),
        None => ints(&range(x.rank())),
    })
}

/// The forms with `unbiased` of var, std, var_mean.
fn by_correction(b: &Builder<'_>, target: &str) -> Made {
    let params = &b.operator().schema;
    let correction = i64::from(b.flag("unbiased")?);
    let dims = if params.param_index("dim").is_some() { b.arg("dim") } else { Arg::None };
    let keep = params.param_index("keepdim").is_some() && b.flag("keepdim")?;
    let given = args![b.t(0)?, dims; correction = correction, keepdim = keep];
    if params.returns.len() == 2 {
        let [spread, mean] = b.many(target, given)?;
        return done![spread, mean];
    }
    done![b.op(target, given)]
}

fn std(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    done![
        x.wide()
            .call("var.correction", args![b.arg(1); correction = b.arg(2), keepdim = b.arg(3)])
            .op("sqrt")
            .to(x.dtype())
    ]
}

fn std_mean(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let [var, mean] =
        b.many("var_mean.correction", args![x.wide(), b.arg(1); correction = b.arg(2), keepdim = b.arg(3)])?;
    done![var.op("sqrt").to(x.dtype()), mean.to(x.dtype())]
}

fn var_mean(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.dtype().is_float(), "this dtype")?;
    let dims = b.axes(1, x.rank())?;
    let var = x.call("var.correction", args![ints(&dims); correction = b.arg(2), keepdim = b.arg(3)]);
    done![var, x.mean(&dims, b.flag(3)?)]
}

fn nanmean(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let dims = match b.arg(1) {
        Arg::None => ints(&range(x.rank())),
        given => given,
    };
    let count = x.op("isnan").op("logical_not").call("sum.dim_IntList", args![dims.clone(), b.flag(2)?]);
    done![x.call("nansum", args![dims, b.flag(2)?; dtype = b.arg(3)]) / count]
}

fn nansum(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let dims = ints(&b.axes(1, x.rank())?);
    let clean = if x.dtype().is_float() { x.fill_where(x.op("isnan"), 0) } else { x };
    done![clean.call("sum.dim_IntList", args![dims, b.flag(2)?; dtype = b.arg(3)])]
}

/// Not any zero. The result of u8 is u8.
fn all(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let zero = x.op("logical_not");
    let some = match &*b.operator().schema.overload {
        "dim" => zero.call("any.dim", args![b.arg(1), b.flag(2)?]),
        "dims" => zero.call("any.dims", args![b.arg(1), b.flag(2)?]),
        _ => zero.op("any.default"),
    };
    done![some.op("logical_not").to(b.own_tensor()?.dtype)]
}

fn count_nonzero(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let list = &*b.operator().schema.overload == "dim_IntList";
    let dims = match (list, b.arg(1)) {
        (true, given) => given,
        (false, Arg::None) => ints(&range(x.rank())),
        (false, one) => Arg::list([one]),
    };
    let other = if x.dtype() == Dtype::Bool { x } else { x.call("ne", args![0]) };
    done![other.call("sum.dim_IntList", args![dims])]
}

fn trace(b: &Builder<'_>) -> Made {
    done![b.t(0)?.op("diagonal").op("sum.default")]
}

fn logsumexp(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (dims, keep, dtype) = (b.axes(1, x.rank())?, b.flag(2)?, b.own_tensor()?.dtype);
    let sizes = x.sizes();
    let filled = |at: &i64| {
        let size = usize::try_from(*at).ok().and_then(|d| sizes.get(d)).copied();
        size.is_some_and(|size| b.decide(|s| s.range_of(size).min.is_some_and(|least| least > 0)))
    };
    b.only(dtype.is_float() && dims.iter().all(filled), "this input")?;
    let x = x.to(dtype);
    let most = x.amax(&dims, true);
    let most = most.fill_where(most.op("abs").call("eq", args![f64::INFINITY]), 0);
    let sum = (x - most).op("exp").sum(&dims, keep);
    let most = if keep { most } else { most.call("squeeze.dims", args![ints(&dims)]) };
    done![sum.op("log") + most]
}

fn vector_norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let (order, dims, keep) = (b.float(1)?, b.axes(2, x.rank())?, b.flag(3)?);
    let dtype = b.own_tensor()?.dtype;
    b.only(!x.dtype().is_complex() && !dtype.is_complex(), "complex numbers")?;
    let size = x.op("abs").to(wide(dtype));
    let full = x.sizes().iter().all(|s| s.fixed().is_some_and(|n| n > 0));
    let y = if order == 0.0 {
        size.call("ne", args![0]).to(wide(dtype)).sum(&dims, keep)
    } else if order.is_infinite() {
        b.only(full, "an empty input")?;
        let target = if order > 0.0 { "amax" } else { "amin" };
        size.call(target, args![ints(&dims), keep])
    } else if order == 1.0 {
        size.sum(&dims, keep)
    } else if order == 2.0 {
        (size * size).sum(&dims, keep).op("sqrt")
    } else {
        size.pow(order).sum(&dims, keep).pow(1.0 / order)
    };
    done![y.to(dtype)]
}

/// `aten.norm` is the vector norm for real tensors.
fn norm(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let order = if b.is_none(1) { Arg::Int(2) } else { b.arg(1) };
    let with_dims = b.operator().schema.params.len() > 2;
    let dims = if with_dims { b.arg(2) } else { Arg::None };
    let keep = with_dims && b.flag(3)?;
    done![x.call("linalg_vector_norm", args![order, dims, keep])]
}

/// The same in a dtype.
fn norm_in(b: &Builder<'_>) -> Made {
    let order = b.opt_float(1)?.unwrap_or(2.0);
    let with_dims = b.operator().schema.param_index("dim").is_some();
    let dims = if with_dims { b.arg("dim") } else { Arg::None };
    let keep = with_dims && b.flag("keepdim")?;
    done![b.t(0)?.call("linalg_vector_norm", args![order, dims, keep; dtype = b.arg("dtype")])]
}

/// The root of the sum of all squares.
fn entries<'b>(x: T<'b>, dims: Arg, keep: bool, dtype: Arg) -> T<'b> {
    let dims = if dims == Arg::List(Box::default()) { ints(&range(x.rank())) } else { dims };
    x.call("linalg_vector_norm", args![2.0, dims, keep; dtype = dtype])
}

/// Of vectors, or where two dimensions are named with an order, of matrices.
fn linalg_norm(b: &Builder<'_>) -> Made {
    let (x, keep, dtype) = (b.t(0)?, b.flag("keepdim")?, b.arg("dtype"));
    let dims = b.opt_ints("dim")?;
    let of_matrices = match &dims {
        Some(dims) => dims.len() == 2,
        None => x.rank() == 2,
    };
    if b.is_none("ord") {
        return done![x.call("linalg_vector_norm", args![2.0, b.arg("dim"), keep; dtype = dtype])];
    }
    if of_matrices {
        let dims = ints(&dims.unwrap_or_else(|| vec![0, 1]));
        let text = matches!(b.arg("ord"), Arg::Str(_));
        let target = if text { "linalg_matrix_norm.str_ord" } else { "linalg_matrix_norm.default" };
        return done![x.call(target, args![b.arg("ord"), dims, keep; dtype = dtype])];
    }
    b.only(dims.is_some() || x.rank() == 1, "an order of a tensor of more dimensions")?;
    done![x.call("linalg_vector_norm", args![b.float("ord")?, b.arg("dim"), keep; dtype = dtype])]
}

/// A norm by singular values.
fn singular<'b>(b: &'b Builder<'_>, x: T<'b>, row: i64, column: i64, of: impl FnOnce(T<'b>) -> T<'b>) -> Made {
    let x = match b.dtype("dtype")? {
        Some(dtype) => x.to(dtype),
        None => x,
    };
    let rest = range(x.rank()).into_iter().filter(|d| *d != row && *d != column);
    let order: Vec<i64> = rest.chain([row, column]).collect();
    let norm = of(x.permute(&order).op("linalg_svdvals"));
    if !b.flag("keepdim")? {
        return done![norm];
    }
    done![norm.unsqueeze(row.min(column)).unsqueeze(row.max(column))]
}

/// The sum of all squares' root, the largest or smallest sum of a row or column, or a norm by singular values.
fn matrix_norm(b: &Builder<'_>) -> Made {
    let (x, keep, dtype) = (b.t(0)?, b.flag("keepdim")?, b.arg("dtype"));
    let dims = b.axes("dim", x.rank())?;
    let [row, column] = *dims.as_slice() else { return Err(b.unsupported("another number of dimensions")) };
    b.only(row != column, "one dimension twice")?;
    if matches!(b.arg("ord"), Arg::Str(_)) {
        return match b.text("ord").as_str() {
            "nuc" => singular(b, x, row, column, |values| values.sum(&[-1], false)),
            "fro" => done![entries(x, ints(&dims), keep, dtype)],
            _ => Err(b.unsupported("another order")),
        };
    }
    let order = b.float("ord")?;
    if order.abs() == 2.0 {
        let which = if order > 0.0 { "amax" } else { "amin" };
        return singular(b, x, row, column, |values| values.call(which, args![ints(&[-1]), false]));
    }
    b.only(order.abs() == 1.0 || order.is_infinite(), "another order")?;
    let (summed, mut left) = if order.abs() == 1.0 { (row, column) } else { (column, row) };
    let sums = x.call("linalg_vector_norm", args![1.0, ints(&[summed]), keep; dtype = dtype]);
    if !keep && left > summed {
        left = left.saturating_sub(1);
    }
    done![sums.call(if order > 0.0 { "amax" } else { "amin" }, args![ints(&[left]), keep])]
}

/// The area below a line through points, whole or up to each: the means of neighbours by their distances.
fn trapezoid(b: &Builder<'_>, cumulative: bool) -> Made {
    let y = b.t("y")?;
    let axis = b.axis("dim", y.rank())?;
    let n = y.fixed(axis)?;
    b.only(n >= 1, "no points")?;
    let last = n.saturating_sub(1);
    let sums = y.slice(axis, 0, last) + y.slice(axis, 1, n);
    let (areas, factor) = match b.operator().schema.param_index("x") {
        None => (sums, b.float("dx")? / 2.0),
        Some(_) => {
            let x = b.t("x")?;
            b.only(x.rank() == y.rank() || x.rank() == 1, "distances of this rank")?;
            let (x, at) = match x.rank() == y.rank() {
                true => (x, axis),
                false => {
                    let mut sizes = vec![Arg::Int(1); y.rank()];
                    sizes.iter_mut().skip(usize::try_from(axis).unwrap_or(0)).take(1).for_each(|s| *s = x.size(0));
                    (x.view(sizes), axis)
                }
            };
            let m = x.fixed(at)?;
            (sums * (x.slice(at, 1, m) - x.slice(at, 0, m.saturating_sub(1))), 0.5)
        }
    };
    done![match cumulative {
        true => areas.call("cumsum", args![axis]) * factor,
        false => areas.call("sum.dim_IntList", args![ints(&[axis]), false]) * factor,
    }]
}

fn cov(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(b.is_none("fweights") && b.is_none("aweights"), "weights")?;
    b.only(x.rank() <= 2 && x.dtype().is_float(), "this input")?;
    let rows = if x.rank() < 2 { x.reshape(vec![Arg::Int(1), Arg::Int(-1)]) } else { x };
    let n = rows.fixed(1)?.saturating_sub(b.int("correction")?).max(0);
    let apart = rows - rows.mean(&[1], true);
    done![(b.op("mm", args![apart, apart.op("t")]) / n).op("squeeze.default")]
}

fn corrcoef(b: &Builder<'_>) -> Made {
    let c = b.t(0)?.op("cov");
    if c.rank() == 0 {
        return done![b.op("div.Tensor", args![c, c])];
    }
    let spread = c.call("diagonal", args![0]).op("sqrt");
    done![c / spread.unsqueeze(1) / spread.unsqueeze(0)]
}

/// Differences of neighbours, `n` times; booleans differ.
fn diff(b: &Builder<'_>) -> Made {
    let mut x = b.t(0)?;
    let axis = b.axis(2, x.rank())?;
    let ends = [b.opt(3)?, b.opt(4)?];
    if ends.iter().any(Option::is_some) {
        let parts: Vec<Arg> = [ends[0], Some(x), ends[1]].into_iter().flatten().map(Arg::from).collect();
        x = b.op("cat", args![parts, axis]);
    }
    let (length, times) = (x.dim(axis), b.int(1)?);
    let lasts =
        length == Dim::Fixed(0) && times == 0 || b.decide(|s| sizes::less(s, Dim::Fixed(times), length) == Some(true));
    b.only((0..=64).contains(&times) && lasts, "this n")?;
    if times == 0 {
        return done![x.duplicate()];
    }
    for _ in 0..times {
        let ends = match x.dim(axis) {
            Dim::Fixed(n) => (n, n.saturating_sub(1)),
            Dim::Expr(_) => (i64::MAX, -1),
        };
        let (later, earlier) = (x.slice(axis, 1, ends.0), x.slice(axis, 0, ends.1));
        x = if x.dtype() == Dtype::Bool { later.call("logical_xor", args![earlier]) } else { later - earlier };
    }
    done![x]
}

/// Rows one segment after the other, each into its own place: the segment of a row is how many end before it.
fn segments(b: &Builder<'_>) -> Made {
    let (x, way) = (b.t(0)?, b.text(1));
    let lengths = b.opt("lengths")?.ok_or_else(|| b.unsupported("segments without lengths"))?;
    let plain = b.is_none("indices") && b.is_none("offsets") && b.int("axis")? == 0 && !b.flag("unsafe")?;
    b.only(plain && lengths.rank() == 1 && x.rank() > 0 && x.dtype().is_float(), "this form of segments")?;
    let own = x.size(0);
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let places = b.op("arange.default", args![own.clone(); dtype = Dtype::I64, device = device]).unsqueeze(1);
    let ends = lengths.call("cumsum", args![0]).unsqueeze(0);
    let mut segment = places.call("ge", args![ends]).sum(&[1], false);
    if let Arg::Int(rows) = own {
        // Lengths that do not add up, or are below 0, name a segment that is not there.
        let sum = lengths.sum(&[0], true).call("ne", args![rows]);
        let bad = sum.call("logical_or", args![lengths.call("lt", args![0]).call("any.dim", args![0, true])]);
        segment = segment + bad.to(Dtype::I64) * lengths.size(0);
    }
    let sizes: Vec<Arg> = std::iter::once(lengths.size(0)).chain(tail(&x.shape(), 1)).collect();
    let first =
        |none: f64| if b.is_none("initial") { Ok(Arg::Float(none)) } else { b.float("initial").map(Arg::Float) };
    let into = |none: f64| Ok::<_, CallFault>(b.full(x, sizes.clone(), first(none)?, x.dtype()));
    let reduce = |none: f64, by: &str| Ok::<_, CallFault>(into(none)?.call("index_reduce", args![0, segment, x, by]));
    let made = match way.as_str() {
        "sum" => into(0.0)?.call("index_add", args![0, segment, x]),
        "max" => reduce(f64::NEG_INFINITY, "amax")?,
        "min" => reduce(f64::INFINITY, "amin")?,
        "prod" => reduce(1.0, "prod")?,
        "mean" if b.is_none("initial") => {
            let counts = vec![lengths.size(0)].into_iter().chain(vec![Arg::Int(1); x.rank().saturating_sub(1)]);
            let counts = lengths.reshape(counts.collect::<Vec<_>>()).to(x.dtype());
            into(0.0)?.call("index_add", args![0, segment, x]) / counts
        }
        _ => return Err(b.unsupported("this reduction")),
    };
    done![made]
}
