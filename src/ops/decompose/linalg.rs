//! Linear algebra by factors, solutions and singular values.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| checked(b, "linalg_inv_ex", &[0]), &["aten.linalg_inv.default", "aten.inverse.default"]),
    (Exact, solve, &["aten.linalg_solve.default"]),
    (Exact, solve_ex, &["aten.linalg_solve_ex.default"]),
    (Exact, |b| parts(b, "_linalg_det", &[0]), &["aten.linalg_det.default", "aten.det.default"]),
    (Exact, |b| parts(b, "_linalg_slogdet", &[0, 1]), &["aten.linalg_slogdet.default", "aten.slogdet.default"]),
    (Exact, logdet, &["aten.logdet.default"]),
    (Exact, |b| checked(b, "linalg_lu_factor_ex", &[0, 1]), &["aten.linalg_lu_factor.default"]),
    (Exact, cholesky, &["aten.linalg_cholesky.default"]),
    (Real, cholesky_solve, &["aten.cholesky_solve.default"]),
    (Real, cholesky_inverse, &["aten.cholesky_inverse.default"]),
    (Exact, |b| eigh(b, true), &["aten.linalg_eigh.default"]),
    (Exact, |b| eigh(b, false), &["aten.linalg_eigvalsh.default"]),
    (Exact, |b| svd(b, true), &["aten.linalg_svd.default"]),
    (Exact, |b| svd(b, false), &["aten.linalg_svdvals.default"]),
    (Exact, |b| done![b.t(0)?.op("linalg_matrix_exp")], &["aten.matrix_exp.default"]),
    (
        Real,
        pseudo_inverse,
        &[
            "aten.linalg_pinv.default",
            "aten.linalg_pinv.atol_rtol_float",
            "aten.linalg_pinv.atol_rtol_tensor",
            "aten.pinverse.default",
        ],
    ),
    (
        Real,
        rank,
        &[
            "aten.linalg_matrix_rank.default",
            "aten.linalg_matrix_rank.atol_rtol_float",
            "aten.linalg_matrix_rank.atol_rtol_tensor",
        ],
    ),
    (Real, condition, &["aten.linalg_cond.default"]),
    (Real, product, &["aten.linalg_multi_dot.default", "aten.chain_matmul.default"]),
    (Real, |b| vandermonde(b, true), &["aten.linalg_vander.default"]),
    (Real, |b| vandermonde(b, b.flag("increasing")?), &["aten.vander.default"]),
    (Real, svd_turned, &["aten.svd.default"]),
    (Real, |b| lu_solve(b, b.t(1)?, b.t(2)?, b.t(0)?), &["aten.lu_solve.default"]),
    (Real, lu_solve_sides, &["aten.linalg_lu_solve.default"]),
    (Real, triangular_solve, &["aten.triangular_solve.default"]),
    (Real, nuclear_norm, &["aten.nuclear_norm.default"]),
];

fn parts(b: &Builder<'_>, target: &str, results: &[usize]) -> Made {
    let all = b.list(target, args![b.t(0)?]);
    Ok(results.iter().filter_map(|k| all.get(*k)).map(|t| (*t).into()).collect())
}

/// The same by the operator that tells of a failure, told to raise.
fn checked(b: &Builder<'_>, target: &str, results: &[usize]) -> Made {
    b.only(b.operator().schema.param_index("pivot").map_or(Ok(true), |p| b.flag(p))?, "no pivots")?;
    let all = b.list(target, args![b.t(0)?; check_errors = true]);
    Ok(results.iter().filter_map(|k| all.get(*k)).map(|t| (*t).into()).collect())
}

fn solve(b: &Builder<'_>) -> Made {
    done![b.pick("_linalg_solve_ex", args![b.t(0)?, b.t(1)?; left = b.flag(2)?, check_errors = true], 0)]
}

fn solve_ex(b: &Builder<'_>) -> Made {
    let all = b.list("_linalg_solve_ex", args![b.t(0)?, b.t(1)?; left = b.flag(2)?, check_errors = b.flag(3)?]);
    match all.as_slice() {
        [x, _, _, info] => done![*x, *info],
        _ => Err(b.unsupported("another number of results")),
    }
}

fn logdet(b: &Builder<'_>) -> Made {
    let [sign, log] = b.many("linalg_slogdet", args![b.t(0)?])?;
    done![log + sign.op("log")]
}

fn cholesky(b: &Builder<'_>) -> Made {
    done![b.pick("linalg_cholesky_ex", args![b.t(0)?; upper = b.flag(1)?, check_errors = true], 0)]
}

/// Solves with a factor and its transpose.
fn by_factor<'b>(b: &'b Builder<'_>, x: T<'b>, factor: T<'b>, upper: bool) -> T<'b> {
    let turned = factor.transpose(-2, -1);
    let (first, second) = if upper { (turned, factor) } else { (factor, turned) };
    let half = b.op("linalg_solve_triangular", args![first, x; upper = false]);
    b.op("linalg_solve_triangular", args![second, half; upper = true])
}

fn cholesky_solve(b: &Builder<'_>) -> Made {
    let (x, factor) = (b.t(0)?, b.t(1)?);
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    done![by_factor(b, x, factor, b.flag(2)?)]
}

fn cholesky_inverse(b: &Builder<'_>) -> Made {
    let factor = b.t(0)?;
    b.only(!factor.dtype().is_complex(), "complex numbers")?;
    let device = factor.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let unit = b.op("eye.default", args![factor.size(-1); dtype = factor.dtype(), device = device]);
    done![by_factor(b, unit.expand(factor.shape()), factor, b.flag(1)?)]
}

fn eigh(b: &Builder<'_>, vectors: bool) -> Made {
    let [values, basis] = b.many("_linalg_eigh", args![b.t(0)?, b.arg(1), vectors])?;
    if vectors { done![values, basis] } else { done![values] }
}

fn svd(b: &Builder<'_>, vectors: bool) -> Made {
    let full = vectors && b.flag(1)?;
    let [u, values, v] = b.many("_linalg_svd", args![b.t(0)?, full, vectors; driver = b.arg("driver")])?;
    if vectors { done![u, values, v] } else { done![values] }
}

/// What singular values must exceed: an absolute bound and one relative to the largest, by default the dtype's precision.
fn bounds(b: &Builder<'_>, x: T<'_>) -> Result<(f64, f64), CallFault> {
    let given = |name: &str| match b.operator().schema.params.iter().position(|p| *p.name == *name) {
        Some(place) if b.operator().schema.params.get(place).is_some_and(|p| p.ty.holds_tensors()) => {
            b.only(b.opt(place)?.is_none(), "a bound for each matrix").map(|()| None)
        }
        Some(place) => b.opt_float(place),
        None => Ok(None),
    };
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    let hermitian = b.operator().schema.param_index("hermitian").map_or(Ok(false), |p| b.flag(p))?;
    b.only(!hermitian, "a matrix said to be symmetric")?;
    if let Some(relative) = given("rcond")? {
        return Ok((0.0, relative));
    }
    if let Some(absolute) = given("tol")? {
        return Ok((absolute, 0.0));
    }
    let precision = if x.dtype() == Dtype::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    #[allow(clippy::cast_precision_loss)] // As PyTorch does it.
    let size = x.fixed(-1)?.max(x.fixed(-2)?) as f64;
    let absolute = given("atol")?.unwrap_or(0.0);
    let relative = given("rtol")?.unwrap_or(if absolute > 0.0 { 0.0 } else { precision * size });
    Ok((absolute, relative))
}

fn beyond<'b>(values: T<'b>, (absolute, relative): (f64, f64)) -> T<'b> {
    let bound = (values.slice(-1, 0, 1) * relative).call("clamp_min", args![absolute]);
    values.call("gt", args![bound])
}

fn pseudo_inverse(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let bounds = bounds(b, x)?;
    b.only(x.count()? > 0, "an empty matrix")?;
    let [u, values, v] = b.many("_linalg_svd", args![x, false, true])?;
    let inverted = b.choose(beyond(values, bounds), values.recip(), 0.0);
    let scaled = v.transpose(-2, -1) * inverted.unsqueeze(-2);
    done![scaled.call("matmul", args![u.transpose(-2, -1)])]
}

fn rank(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let bounds = bounds(b, x)?;
    b.only(x.count()? > 0, "an empty matrix")?;
    done![beyond(x.op("linalg_svdvals"), bounds).sum(&[-1], false)]
}

/// How far a system of equations is from singular: the largest singular value by the smallest, or a norm by its inverse's.
fn condition(b: &Builder<'_>) -> Made {
    let (x, order) = (b.t(0)?, b.opt_float(1)?.unwrap_or(2.0));
    b.only(x.count()? > 0, "an empty matrix")?;
    if order.abs() == 2.0 {
        let values = x.op("linalg_svdvals");
        let (most, least) = (values.select(-1, 0), values.select(-1, -1));
        return done![if order > 0.0 { most / least } else { least / most }];
    }
    let [inverse, info] = b.many("linalg_inv_ex", args![x])?;
    let failed = info.call("ne", args![0]).unsqueeze(-1).unsqueeze(-1);
    let norm = |t: T<'_>| b.op("linalg_matrix_norm", args![t.id(), order]).id();
    let (one, other) = (b.value(norm(x)), b.value(norm(inverse.fill_where(failed, f64::INFINITY))));
    done![one * other]
}

/// From the left: where brackets stand changes rounding alone.
fn product(b: &Builder<'_>) -> Made {
    let all = b.ts(0_usize)?;
    let [first, rest @ ..] = all.as_slice() else { return Err(b.unsupported("no matrices")) };
    b.only(!rest.is_empty(), "one matrix")?;
    done![rest.iter().fold(*first, |p, m| p.call("matmul", args![*m]))]
}

/// Right singular vectors as columns.
fn svd_turned(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(!x.dtype().is_complex() && b.flag("compute_uv")?, "values alone, or complex numbers")?;
    let [u, values, v] = b.many("linalg_svd", args![x, !b.flag("some")?])?;
    done![u, values, v.transpose(-2, -1)]
}

/// By both factors, rows exchanged before.
fn lu_solve(b: &Builder<'_>, factors: T<'_>, pivots: T<'_>, x: T<'_>) -> Made {
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    b.only(factors.rank() >= 2 && x.rank() >= 2, "other than matrices")?;
    let [order, lower, upper] = b.many("lu_unpack", args![factors, pivots])?;
    let x = order.transpose(-2, -1).call("matmul", args![x]);
    let half = b.op("linalg_solve_triangular", args![lower, x; upper = false, unitriangular = true]);
    done![b.op("linalg_solve_triangular", args![upper, half; upper = true])]
}

fn lu_solve_sides(b: &Builder<'_>) -> Made {
    b.only(b.flag("left")? && !b.flag("adjoint")?, "another side")?;
    lu_solve(b, b.t(0)?, b.t(1)?, b.t(2)?)
}

fn triangular_solve(b: &Builder<'_>) -> Made {
    let (x, factor, upper, turned) = (b.t(0)?, b.t(1)?, b.flag(2)?, b.flag(3)?);
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    let by = if turned { factor.transpose(-2, -1) } else { factor };
    let made = b.op("linalg_solve_triangular", args![by, x; upper = upper != turned, unitriangular = b.flag(4)?]);
    done![made, factor.transpose(-2, -1).copy().transpose(-2, -1)]
}

/// The sum of singular values.
fn nuclear_norm(b: &Builder<'_>) -> Made {
    let (x, keep) = (b.t(0)?, b.flag("keepdim")?);
    b.only(x.rank() == 2 && !keep, "other than a matrix")?;
    done![x.op("linalg_svdvals").sum(&[-1], false)]
}

/// Powers from 0 on, or down to it, along a new last dimension.
fn vandermonde(b: &Builder<'_>, increasing: bool) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() > 0, "a single number")?;
    let count = match b.opt_int(1)? {
        Some(count) => count,
        None => x.fixed(-1)?,
    };
    b.only(count >= 2, "fewer than two powers")?;
    let column = x.unsqueeze(-1);
    let mut sizes = column.shape();
    if let Some(last) = sizes.last_mut() {
        *last = Arg::Int(count.saturating_sub(1));
    }
    let powers = column.expand(sizes).call("cumprod", args![-1]);
    let ones = column.op("ones_like").to(powers.dtype());
    let both: Arg = Arg::list([ones.id(), powers.id()]);
    let rising = b.op("cat", args![both, -1]);
    done![if increasing { rising } else { rising.call("flip", args![ints(&[-1])]) }]
}
