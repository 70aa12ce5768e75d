//! Element by element: functions of one value, activations.
//!
//! f16 and bf16 are widened, computed in f32 and rounded once, as PyTorch's kernels do.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| done![b.t(0)?.pow(2)], &["aten.square.default"]),
    (Exact, |b| done![b.t(0)? - b.t(0)?.op("trunc")], &["aten.frac.default"]),
    (Exact, sgn, &["aten.sgn.default"]),
    (Exact, nan_to_num, &["aten.nan_to_num.default"]),
    (Exact, |b| done![b.t(0)? * (PI / 180.0)], &["aten.deg2rad.default"]),
    (Exact, |b| done![b.t(0)? * (180.0 / PI)], &["aten.rad2deg.default"]),
    (Exact, |b| done![b.t(0)?.call("clamp_min", args![0])], &["aten.relu.default"]),
    (Exact, |b| done![b.t(0)?.call("hardtanh", args![0, 6])], &["aten.relu6.default"]),
    (Exact, |b| done![b.t(0)?.clamp(b.arg(1), b.arg(2))], &["aten.hardtanh.default"]),
    (Exact, selu, &["aten.selu.default"]),
    (Exact, celu, &["aten.celu.default"]),
    (Exact, |b| done![b.pick("log_sigmoid_forward", args![b.t(0)?], 0)], &["aten.log_sigmoid.default"]),
    (Exact, threshold, &["aten.threshold.default"]),
    (Exact, hardshrink, &["aten.hardshrink.default"]),
    (Exact, prelu, &["aten.prelu.default"]),
    (Real, |b| rounded(b, |x| x / (x.wide_exp_neg() + 1)), &["aten.silu.default"]),
    (Real, |b| rounded(b, |x| (x.wide_exp_neg() + 1).recip()), &["aten.sigmoid.default"]),
    (Real, |b| rounded(b, |x| x.op("sqrt").recip()), &["aten.rsqrt.default"]),
    (Real, |b| rounded(b, |x| x * x.op("exp").op("log1p").op("tanh")), &["aten.mish.default"]),
    (Real, |b| rounded(b, |x| (x + 3).clamp(0, 6) / 6), &["aten.hardsigmoid.default"]),
    (Real, |b| rounded(b, |x| x * (x + 3).clamp(0, 6) / 6), &["aten.hardswish.default"]),
    (Real, elu, &["aten.elu.default"]),
    (Real, mvlgamma, &["aten.mvlgamma.default", "aten.special_multigammaln.default"]),
    (Real, log_ndtr, &["aten.special_log_ndtr.default"]),
    (
        Real,
        |b| polynomial(b, |x| x, |x, now, before, _| x * 2.0 * now - before),
        &["aten.special_chebyshev_polynomial_t.n_scalar"],
    ),
    (
        Real,
        |b| polynomial(b, |x| x * 2.0, |x, now, before, _| x * 2.0 * now - before),
        &["aten.special_chebyshev_polynomial_u.n_scalar"],
    ),
    (
        Real,
        |b| polynomial(b, |x| x * 2.0 - 1.0, |x, now, before, _| x * 2.0 * now - before),
        &["aten.special_chebyshev_polynomial_v.n_scalar"],
    ),
    (
        Real,
        |b| polynomial(b, |x| x * 2.0 + 1.0, |x, now, before, _| x * 2.0 * now - before),
        &["aten.special_chebyshev_polynomial_w.n_scalar"],
    ),
    (
        Real,
        |b| polynomial(b, |x| x * 2.0, |x, now, before, n| x * 2.0 * now - before * (2.0 * n)),
        &["aten.special_hermite_polynomial_h.n_scalar"],
    ),
    (
        Real,
        |b| polynomial(b, |x| x, |x, now, before, n| x * now - before * n),
        &["aten.special_hermite_polynomial_he.n_scalar"],
    ),
    (
        Real,
        |b| {
            polynomial(
                b,
                |x| x.minus_from(1.0),
                |x, now, before, n| ((-x + (2.0 * n + 1.0)) * now - before * n) / (n + 1.0),
            )
        },
        &["aten.special_laguerre_polynomial_l.n_scalar"],
    ),
    (
        Real,
        |b| polynomial(b, |x| x, |x, now, before, n| (x * (2.0 * n + 1.0) * now - before * n) / (n + 1.0)),
        &["aten.special_legendre_polynomial_p.n_scalar"],
    ),
    (Real, entropy, &["aten.special_entr.default"]),
    (Real, product_with_log1p, &["aten.special_xlog1py.default"]),
    (Real, rrelu, &["aten.rrelu.default"]),
    (Real, rrelu_with_noise, &["aten.rrelu_with_noise_functional.default"]),
    (Real, leaky_relu, &["aten.leaky_relu.default"]),
    (Real, prelu_kernel, &["aten._prelu_kernel.default"]),
    (Real, softplus, &["aten.softplus.default"]),
    (Real, log_sigmoid, &["aten.log_sigmoid_forward.default"]),
    (Real, softshrink, &["aten.softshrink.default"]),
    (Real, glu, &["aten.glu.default"]),
    (Real, gelu, &["aten.gelu.default"]),
    (Real, logit, &["aten.logit.default"]),
    (Real, sinc, &["aten.sinc.default"]),
    (Real, ndtr, &["aten.special_ndtr.default"]),
];

impl<'b> T<'b> {
    fn wide_exp_neg(self) -> T<'b> {
        (-self).op("exp")
    }
}

/// A formula in the wide dtype, rounded once; integers are computed in f32.
fn rounded<'b>(b: &'b Builder<'_>, formula: impl FnOnce(T<'b>) -> T<'b>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    done![formula(b.t(0)?.to(wide(dtype))).to(dtype)]
}

fn sgn(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    done![x.op("sign")]
}

pub(super) fn is_real_float(x: T<'_>) -> bool {
    x.dtype().is_float()
}

/// The greatest finite value of a dtype.
fn greatest(dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F64 => Some(f64::MAX),
        Dtype::F32 => Some(f64::from(f32::MAX)),
        Dtype::F16 => Some(65504.0),
        Dtype::Bf16 => Some(f64::from(f32::from_bits(0x7f7f_0000))),
        _ => None,
    }
}

fn nan_to_num(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    if !is_real_float(x) && !x.dtype().is_complex() {
        return done![x.duplicate()];
    }
    let most = greatest(x.dtype()).ok_or_else(|| b.unsupported("this dtype"))?;
    let nan = b.opt_float(1)?.unwrap_or(0.0);
    let (high, low) = (b.opt_float(2)?.unwrap_or(most), b.opt_float(3)?.unwrap_or(-most));
    let y = x.fill_where(x.call("ne.Tensor", args![x]), nan);
    let y = y.fill_where(x.call("eq", args![f64::INFINITY]), high);
    done![y.fill_where(x.call("eq", args![f64::NEG_INFINITY]), low)]
}

fn selu(b: &Builder<'_>) -> Made {
    const ALPHA: f64 = 1.673_263_242_354_377_2;
    const SCALE: f64 = 1.050_700_987_355_480_5;
    done![b.t(0)?.call("elu", args![ALPHA, SCALE])]
}

fn celu(b: &Builder<'_>) -> Made {
    let alpha = b.float(1)?;
    b.only(alpha != 0.0, "alpha 0")?;
    done![b.t(0)?.call("elu", args![b.arg(1), 1.0, 1.0 / alpha])]
}

fn threshold(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    // The number is compared as it is, not rounded to a narrow dtype first.
    let narrow = matches!(x.dtype(), Dtype::F16 | Dtype::Bf16);
    b.only(!narrow || b.float(1)? == 0.0, "f16 or bf16 and a number, which they may not hold")?;
    done![x.fill_where(x.call("le", args![b.arg(1)]), b.arg(2))]
}

fn hardshrink(b: &Builder<'_>) -> Made {
    let (x, bound) = (b.t(0)?, b.float(1)?);
    let within = x.call("ge", args![-bound]).call("logical_and", args![x.call("le", args![bound])]);
    done![x.fill_where(within, 0)]
}

fn prelu(b: &Builder<'_>) -> Made {
    let (x, mut weight) = (b.t(0)?, b.t(1)?);
    b.only(weight.rank() <= 1 && x.dtype() == weight.dtype(), "this weight")?;
    if weight.rank() == 1 && x.rank() != 1 {
        let sizes = (0..x.rank()).map(|d| if d == 1 { weight.size(0) } else { Arg::Int(1) });
        weight = weight.reshape(sizes.collect::<Vec<_>>());
    }
    done![b.op("_prelu_kernel", args![x, weight])]
}

fn prelu_kernel(b: &Builder<'_>) -> Made {
    let (x, weight) = (b.t(0)?, b.t(1)?);
    done![b.choose(x.call("gt", args![0]), x, weight * x)]
}

fn elu(b: &Builder<'_>) -> Made {
    let (alpha, scale, inner) = (b.float(1)?, b.float(2)?, b.float(3)?);
    rounded(b, |x| b.choose(x.call("gt", args![0]), x * scale, (x * inner).op("expm1") * (alpha * scale)))
}

fn leaky_relu(b: &Builder<'_>) -> Made {
    let slope = b.float(1)?;
    rounded(b, |x| b.choose(x.call("gt", args![0]), x, x * slope))
}

fn softplus(b: &Builder<'_>) -> Made {
    let (beta, threshold) = (b.float(1)?, b.float(2)?);
    rounded(b, |x| {
        let scaled = x * beta;
        b.choose(scaled.call("gt", args![threshold]), x, scaled.op("exp").op("log1p") / beta)
    })
}

fn log_sigmoid(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let z = (-x.wide().op("abs")).op("exp");
    let y = x.wide().call("clamp_max", args![0]) - z.op("log1p");
    done![y.to(x.dtype()), z.to(x.dtype())]
}

fn softshrink(b: &Builder<'_>) -> Made {
    let bound = b.float(1)?;
    b.only(bound >= 0.0, "a negative bound")?;
    rounded(b, |x| {
        let below = b.choose(x.call("lt", args![-bound]), x + bound, x * 0.0);
        b.choose(x.call("gt", args![bound]), x - bound, below)
    })
}

fn glu(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let axis = b.axis(1, x.rank())?;
    let (left, right) = x.halves(axis)?;
    done![(left.wide() * right.wide().op("sigmoid")).to(x.dtype())]
}

fn gelu(b: &Builder<'_>) -> Made {
    const CUBE: f64 = 0.044_715;
    let slope = (2.0 / PI).sqrt();
    match b.text(1).as_str() {
        "none" => rounded(b, |x| x * ((x * FRAC_1_SQRT_2).op("erf") + 1) * 0.5),
        "tanh" => rounded(b, |x| x * 0.5 * (((x + x * x * x * CUBE) * slope).op("tanh") + 1)),
        other => Err(b.unsupported(format!("approximate='{other}'"))),
    }
}

fn logit(b: &Builder<'_>) -> Made {
    let eps = b.opt_float(1)?;
    rounded(b, |x| {
        let x = eps.map_or(x, |e| x.clamp(e, 1.0 - e));
        (x / x.minus_from(1)).op("log")
    })
}

fn sinc(b: &Builder<'_>) -> Made {
    rounded(b, |x| {
        let angle = x * PI;
        (angle.op("sin") / angle).fill_where(x.call("eq", args![0]), 1)
    })
}

/// 1 / ln 2.
pub(super) const LOG2_E: f64 = 1.0 / LN_2;

/// The normal distribution's sum up to here.
fn ndtr(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.dtype().is_float(), "this dtype")?;
    done![((x / std::f64::consts::SQRT_2).op("erf") + 1) * 0.5]
}

/// The slope between both bounds: nothing is drawn without training.
fn resting<'b>(b: &'b Builder<'_>) -> Result<T<'b>, CallFault> {
    b.only(!b.flag("training")?, "random slopes")?;
    Ok(b.t(0)?.call("leaky_relu", args![(b.float("lower")? + b.float("upper")?) / 2.0]))
}

fn rrelu(b: &Builder<'_>) -> Made {
    if b.flag("training")? {
        let x = b.t(0)?;
        return done![x * slopes(b, x)?];
    }
    done![resting(b)?]
}

/// Where a number is not positive, one drawn from between the slopes; else 1.
fn slopes<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<T<'b>, CallFault> {
    let (low, high) = (b.float("lower")?, b.float("upper")?);
    b.only(b.is_none("generator") && low <= high && x.dtype().is_float(), "a generator, or integers")?;
    let drawn = x.op("rand_like") * (high - low) + low;
    Ok(drawn.fill_where(x.call("le", args![0]).op("logical_not"), 1))
}

fn rrelu_with_noise(b: &Builder<'_>) -> Made {
    if b.flag("training")? {
        let (x, noise) = (b.t(0)?, b.t(1)?);
        b.only(noise.sizes() == x.sizes() && noise.dtype() == x.dtype(), "noise of another form")?;
        let drawn = slopes(b, x)?;
        return done![x * drawn, drawn.op("clone")];
    }
    done![resting(b)?, b.t(1)?.duplicate()]
}

/// `-x log x`: 0 at 0, and minus infinity below; NaN stays.
fn entropy(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.dtype().is_float(), "integers")?;
    let above = -x * x.op("log");
    let at_zero = above.fill_where(x.call("eq", args![0]), 0.0);
    done![at_zero.fill_where(x.call("lt", args![0]), f64::NEG_INFINITY)]
}

/// `x log1p y`: 0 where x is, but for a y that is NaN.
fn product_with_log1p(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    b.only(x.dtype().is_float() && x.dtype() == y.dtype(), "dtypes that differ, or integers")?;
    let product = x * y.op("log1p");
    let rest = x.call("eq", args![0]).call("logical_and", args![y.call("eq", args![y])]);
    done![product.fill_where(rest, 0.0)]
}

/// The logarithm of the multivariate gamma function of a known dimension.
fn mvlgamma(b: &Builder<'_>) -> Made {
    let (x, p) = (b.t(0)?, b.int(1)?);
    b.only(x.dtype().is_float(), "integers")?;
    b.only((1..=64).contains(&p), "this dimension")?;
    #[allow(clippy::cast_precision_loss)] // At most 64.
    let half = |k: i64| k as f64 * 0.5;
    let first = x.op("lgamma");
    let sum = (1..p).fold(first, |sum, k| sum + (x - half(k)).op("lgamma"));
    done![sum + half(p) * half(p.saturating_sub(1)) * std::f64::consts::PI.ln()]
}

/// Below -1 by the scaled complement, so that nothing is lost.
fn log_ndtr(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.dtype().is_float(), "integers")?;
    let t = x * std::f64::consts::FRAC_1_SQRT_2;
    let far = (-t).op("special_erfcx").op("log") - std::f64::consts::LN_2 - t * t;
    let near = (t.op("erfc") * -0.5).op("log1p");
    done![b.choose(x.call("lt", args![-1]), far, near)]
}

/// Orthogonal polynomials of a known degree: the first, and each from the two before it.
fn polynomial<'b>(
    b: &'b Builder<'_>,
    first: impl FnOnce(T<'b>) -> T<'b>,
    step: impl Fn(T<'b>, T<'b>, T<'b>, f64) -> T<'b>,
) -> Made {
    const MOST: f64 = 6.0;
    let (x, degree) = (b.t(0)?, b.float(1)?);
    b.only(x.dtype().is_float(), "integers")?;
    b.only(degree.fract() == 0.0 && (0.0..=MOST).contains(&degree), "a degree that is none of 0 to 6")?;
    let one = x.op("ones_like");
    if degree == 0.0 {
        return done![one];
    }
    let (mut before, mut now, mut n) = (one, first(x), 1.0);
    if degree == 1.0 {
        return done![now.op("clone")];
    }
    while n < degree {
        (before, now) = (now, step(x, now, before, n));
        n += 1.0;
    }
    done![now]
}
