//! Gradients: formulas of the forward operators.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, threshold, &["aten.threshold_backward.default"]),
    (Exact, hardtanh, &["aten.hardtanh_backward.default"]),
    (Exact, |b| scattered(b, "select_scatter"), &["aten.select_backward.default"]),
    (Exact, |b| scattered(b, "slice_scatter"), &["aten.slice_backward.default"]),
    (Real, |b| rounded(b, |g, y| g * (y.minus_from(1) * y)), &["aten.sigmoid_backward.default"]),
    (Real, |b| rounded(b, |g, y| g * (y * y).minus_from(1)), &["aten.tanh_backward.default"]),
    (Real, silu, &["aten.silu_backward.default"]),
    (Real, gelu, &["aten.gelu_backward.default"]),
    (Real, leaky_relu, &["aten.leaky_relu_backward.default"]),
    (Real, elu, &["aten.elu_backward.default"]),
    (Exact, prelu, &["aten._prelu_kernel_backward.default"]),
    (Real, softmax, &["aten._softmax_backward_data.default"]),
    (Real, log_softmax, &["aten._log_softmax_backward_data.default"]),
    (Real, mse, &["aten.mse_loss_backward.default"]),
    (Exact, dropout, &["aten.native_dropout_backward.default"]),
    (Real, hardsigmoid, &["aten.hardsigmoid_backward.default"]),
    (Real, hardswish, &["aten.hardswish_backward.default"]),
    (Exact, shrink, &["aten.hardshrink_backward.default", "aten.softshrink_backward.default"]),
    (Real, softplus, &["aten.softplus_backward.default"]),
    (Real, mish, &["aten.mish_backward.default"]),
    (Real, glu, &["aten.glu_backward.default"]),
    (Real, logit, &["aten.logit_backward.default"]),
    (Real, huber, &["aten.huber_loss_backward.default"]),
    (Real, smooth_l1, &["aten.smooth_l1_loss_backward.default"]),
    (Real, binary_cross_entropy, &["aten.binary_cross_entropy_backward.default"]),
    (Real, soft_margin, &["aten.soft_margin_loss_backward.default"]),
    (Exact, diagonal, &["aten.diagonal_backward.default"]),
    (Exact, trace, &["aten.trace_backward.default"]),
    (Real, index_select, &["aten.index_select_backward.default"]),
    (Exact, gather, &["aten.gather_backward.default"]),
    (Exact, embedding, &["aten.embedding_backward.default"]),
    (Real, unfold, &["aten.unfold_backward.default"]),
    (Exact, selected, &["aten.value_selecting_reduction_backward.default"]),
];

/// A formula of gradient and value in the wide dtype, rounded once.
fn rounded<'b>(b: &'b Builder<'_>, formula: impl FnOnce(T<'b>, T<'b>) -> T<'b>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    b.only(dtype.is_float(), "this dtype")?;
    done![formula(b.t(0)?.to(wide(dtype)), b.t(1)?.to(wide(dtype))).to(dtype)]
}

/// Numbers that a narrow dtype does not hold are compared as they are, and would be rounded to it first.
fn compares_as_is(b: &Builder<'_>, x: T<'_>, numbers: &[usize]) -> Result<(), CallFault> {
    let held = |k: &usize| {
        b.float(*k).is_ok_and(|v| match x.dtype() {
            Dtype::F16 => half::f16::from_f64(v).to_f64().to_bits() == v.to_bits(),
            Dtype::Bf16 => half::bf16::from_f64(v).to_f64().to_bits() == v.to_bits(),
            _ => true,
        })
    };
    b.only(numbers.iter().all(held), "a number that this dtype does not hold")
}

fn threshold(b: &Builder<'_>) -> Made {
    let (g, x) = (b.t(0)?, b.t(1)?);
    compares_as_is(b, x, &[2])?;
    done![g.fill_where(x.call("le", args![b.arg(2)]), 0)]
}

fn hardtanh(b: &Builder<'_>) -> Made {
    let (g, x) = (b.t(0)?, b.t(1)?);
    compares_as_is(b, x, &[2, 3])?;
    // Whole vectors take a NaN to lie outside; the last elements of a row, which other code computes, do not.
    let inside = x.call("gt", args![b.arg(2)]).call("logical_and", args![x.call("lt", args![b.arg(3)])]);
    done![g.fill_where(inside.op("logical_not"), 0)]
}

/// Above 0 all is the operand's, else the slope has a share.
fn prelu(b: &Builder<'_>) -> Made {
    let (g, x, slope) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let above = x.call("gt", args![0]);
    b.only([x, slope].iter().all(|t| t.dtype() == g.dtype()) && g.dtype().is_float(), "this dtype")?;
    done![b.op("where.self", args![above, g, slope * g]), (x * g).fill_where(above, 0)]
}

/// The gradient in its place among zeros.
fn scattered(b: &Builder<'_>, target: &str) -> Made {
    let g = b.t(0)?;
    let zeros = b.full(g, b.sizes(1), 0, g.dtype());
    let rest: Vec<Arg> = (2..b.operator().schema.params.len()).map(|i| b.arg(i)).collect();
    let given = [vec![zeros.into(), g.into()], rest].concat();
    done![b.op(target, super::builder::Actual::new(given, Vec::new()))]
}

fn silu(b: &Builder<'_>) -> Made {
    rounded(b, |g, x| {
        let s = x.op("sigmoid");
        g * s * (x * s.minus_from(1) + 1)
    })
}

fn gelu(b: &Builder<'_>) -> Made {
    match b.text(2).as_str() {
        "none" => rounded(b, |g, x| {
            let cdf = ((x * FRAC_1_SQRT_2).op("erf") + 1) * 0.5;
            let pdf = (x * x * -0.5).op("exp") * (FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * 0.5);
            g * (cdf + x * pdf)
        }),
        "tanh" => rounded(b, |g, x| {
            let slope = SQRT_2 * FRAC_2_SQRT_PI * 0.5;
            let square = x * x;
            let t = ((x + square * x * 0.044_715) * slope).op("tanh");
            let left = (t + 1) * 0.5;
            let inner = (square * (3.0 * 0.044_715) + 1) * slope;
            g * (left + x * 0.5 * (t * t).minus_from(1) * inner)
        }),
        other => Err(b.unsupported(format!("approximate='{other}'"))),
    }
}

fn leaky_relu(b: &Builder<'_>) -> Made {
    let slope = b.float(2)?;
    rounded(b, |g, x| b.choose(x.call("gt", args![0]), g, g * slope))
}

fn elu(b: &Builder<'_>) -> Made {
    let (alpha, scale, inner, is_result) = (b.float(1)?, b.float(2)?, b.float(3)?, b.flag(4)?);
    let dtype = b.own_tensor()?.dtype;
    let (g, x) = (b.t(0)?.to(wide(dtype)), b.t(5)?.to(wide(dtype)));
    let low = alpha * scale;
    let below = if is_result { g * inner * (x + low) } else { g * (inner * low) * (x * inner).op("exp") };
    done![b.choose(x.call("gt", args![0]), g * scale, below).to(dtype)]
}

fn softmax(b: &Builder<'_>) -> Made {
    let axis = b.axis(2_usize, b.t(0)?.rank())?;
    rounded(b, |g, y| {
        let product = g * y;
        product - y * product.sum(&[axis], true)
    })
}

fn log_softmax(b: &Builder<'_>) -> Made {
    let axis = b.axis(2_usize, b.t(0)?.rank())?;
    rounded(b, |g, y| g - y.op("exp") * g.sum(&[axis], true))
}

fn mse(b: &Builder<'_>) -> Made {
    let (g, x, target) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let scale = match b.int(3)? {
        #[allow(clippy::cast_precision_loss)] // As PyTorch does it.
        1 => 2.0 / x.count()? as f64,
        _ => 2.0,
    };
    done![((x.wide() - target.wide()) * scale * g.wide()).to(x.dtype())]
}

fn dropout(b: &Builder<'_>) -> Made {
    let (g, mask) = (b.t(0)?, b.t(1)?);
    done![g * (mask.to(g.dtype()) * b.float(2)?)]
}

/// Formulas of gradient and value in the wide dtype; the result has the value's.
fn formula<'b>(b: &'b Builder<'_>, formula: impl FnOnce(T<'b>, T<'b>) -> T<'b>) -> Made {
    let dtype = b.t(1)?.dtype();
    b.only(dtype.is_float(), "this dtype")?;
    done![formula(b.t(0)?.to(wide(dtype)), b.t(1)?.to(wide(dtype))).to(dtype)]
}

fn hardsigmoid(b: &Builder<'_>) -> Made {
    formula(b, |g, x| {
        let within = x.call("gt", args![-3]).call("logical_and", args![x.call("lt", args![3])]);
        b.choose(within, g * (1.0 / 6.0), 0.0)
    })
}

fn hardswish(b: &Builder<'_>) -> Made {
    formula(b, |g, x| {
        let above = b.choose(x.call("ge", args![3]), g, g * (x / 3.0 + 0.5));
        b.choose(x.call("le", args![-3]), 0.0, above)
    })
}

/// Nothing comes from within the bounds.
fn shrink(b: &Builder<'_>) -> Made {
    let (g, x, bound) = (b.t(0)?, b.t(1)?, b.float(2)?);
    // A NaN is within for whole vectors, as above.
    let beyond = x.call("lt", args![-bound]).call("logical_or", args![x.call("gt", args![bound])]);
    done![g.fill_where(beyond.op("logical_not"), 0)]
}

fn softplus(b: &Builder<'_>) -> Made {
    let (beta, threshold) = (b.float(2)?, b.float(3)?);
    formula(b, |g, x| {
        let z = (x * beta).op("exp");
        b.choose((x * beta).call("gt", args![threshold]), g, g * z / (z + 1.0))
    })
}

fn mish(b: &Builder<'_>) -> Made {
    formula(b, |g, x| {
        let t = x.op("exp").op("log1p").op("tanh");
        let t = b.choose(x.call("gt", args![20]), x.op("tanh"), t);
        g * (t + x * x.op("sigmoid") * (t * t).minus_from(1.0))
    })
}

fn glu(b: &Builder<'_>) -> Made {
    let x = b.t(1)?;
    let axis = b.axis(2_usize, x.rank())?;
    let half = x.fixed(axis)?.div_euclid(2);
    let dtype = x.dtype();
    b.only(dtype.is_float(), "this dtype")?;
    let (g, wide_x) = (b.t(0)?.wide(), x.wide());
    let (a, gate) = (wide_x.slice(axis, 0, half), wide_x.slice(axis, half, half.saturating_mul(2)).op("sigmoid"));
    let (first, second) = (g * gate, g * a * gate * gate.minus_from(1.0));
    let both: Arg = Arg::list([first.id(), second.id()]);
    done![b.op("cat", args![both, axis]).to(dtype)]
}

fn logit(b: &Builder<'_>) -> Made {
    let eps = b.opt_float(2)?;
    formula(b, |g, x| {
        let slope = g / (x * x.minus_from(1.0));
        let (low, high, else_) = eps.map_or((0.0, 1.0, f64::NAN), |e| (e, 1.0 - e, 0.0));
        let within = x.call("ge", args![low]).call("logical_and", args![x.call("le", args![high])]);
        b.choose(within, slope, else_)
    })
}

/// The share of each element in the loss: one by their number for the mean, else 1.
fn share(b: &Builder<'_>, x: T<'_>, reduction: i64) -> Result<f64, CallFault> {
    #[allow(clippy::cast_precision_loss)] // As PyTorch does it.
    Ok(if reduction == 1 { 1.0 / x.count()? as f64 } else { 1.0 })
        .and_then(|v: f64| b.only(v.is_finite(), "no elements").map(|()| v))
}

fn huber(b: &Builder<'_>) -> Made {
    let (g, x, y, delta) = (b.t(0)?, b.t(1)?, b.t(2)?, b.float(4)?);
    let part = share(b, x, b.int(3)?)?;
    let apart = x.wide() - y.wide();
    done![(apart.clamp(-delta, delta) * part * g.wide()).to(x.dtype())]
}

fn smooth_l1(b: &Builder<'_>) -> Made {
    let (g, x, y, beta) = (b.t(0)?, b.t(1)?, b.t(2)?, b.float(4)?);
    let part = share(b, x, b.int(3)?)?;
    let apart = x.wide() - y.wide();
    // Without a parabola what is not above belongs to the branch below, 0 too.
    let slope = if beta == 0.0 {
        apart.fill_where(apart.call("gt", args![0]), 1).fill_where(apart.call("le", args![0]), -1)
    } else {
        apart.clamp(-beta, beta) / beta
    };
    done![(slope * part * g.wide()).to(x.dtype())]
}

fn binary_cross_entropy(b: &Builder<'_>) -> Made {
    const LEAST: f64 = 1e-12;
    let (g, x, y) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let part = share(b, x, b.int(4)?)?;
    let wide_x = x.wide();
    let slope = g.wide() * (wide_x - y.wide()) / (wide_x.minus_from(1.0) * wide_x).call("clamp_min", args![LEAST]);
    let weighed = match b.opt(3)? {
        Some(weight) => slope * weight.wide(),
        None => slope,
    };
    done![(weighed * part).to(x.dtype())]
}

fn soft_margin(b: &Builder<'_>) -> Made {
    let (g, x, y) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let part = share(b, x, b.int(3)?)?;
    let z = (-y.wide() * x.wide()).op("exp");
    done![(y.wide() * z / (z + 1.0) * -part * g.wide()).to(x.dtype())]
}

fn diagonal(b: &Builder<'_>) -> Made {
    let g = b.t(0)?;
    let zeros = b.full(g, b.sizes(1), 0, g.dtype());
    done![zeros.call("diagonal_scatter", args![g, b.arg(2), b.arg(3), b.arg(4)])]
}

fn trace(b: &Builder<'_>) -> Made {
    let g = b.t(0)?;
    let sizes = b.ints(1)?;
    let [rows, columns] = *sizes.as_slice() else { return Err(b.unsupported("other than two sizes")) };
    let zeros = b.full(g, b.sizes(1), 0, g.dtype());
    done![zeros.call("diagonal_scatter", args![g.expand(vec![Arg::Int(rows.min(columns))])])]
}

fn index_select(b: &Builder<'_>) -> Made {
    let g = b.t(0)?;
    let zeros = b.full(g, b.sizes(1), 0, g.dtype());
    done![zeros.call("index_add", args![b.arg(2), b.t(3)?, g])]
}

fn gather(b: &Builder<'_>) -> Made {
    let (g, x) = (b.t(0)?, b.t(1)?);
    b.only(!b.flag(4)?, "a sparse gradient")?;
    let zeros = b.full(g, x.shape(), 0, g.dtype());
    done![zeros.call("scatter_add", args![b.arg(2), b.t(3)?, g])]
}

fn embedding(b: &Builder<'_>) -> Made {
    b.only(!b.flag(5)?, "a sparse gradient")?;
    done![b.op("embedding_dense_backward", args![b.t(0)?, b.t(1)?, b.arg(2), b.arg(3), b.arg(4)])]
}

/// Every window's element is added where it was read.
fn unfold(b: &Builder<'_>) -> Made {
    let (g, sizes, size, step) = (b.t(0)?, b.ints(1)?, b.int(3)?, b.int(4)?);
    b.only(!sizes.is_empty(), "a tensor without dimensions")?;
    let axis = b.axis(2_usize, sizes.len())?;
    let zeros = b.full(g, b.sizes(1), 0, g.dtype());
    let device = g.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let length = zeros.size(axis);
    let places = b.op("arange.default", args![length; device = device]).call("unfold", args![0, size, step]);
    let windows = g.call("movedim.int", args![-1, axis.saturating_add(1)]);
    let flat = windows.call("flatten.using_ints", args![axis, axis.saturating_add(1)]);
    done![zeros.call("index_add", args![axis, places.reshape(vec![Arg::Int(-1)]), flat])]
}

/// The gradient of what one element of each row was taken as.
fn selected(b: &Builder<'_>) -> Made {
    let (g, axis, places) = (b.t(0)?, b.arg(1), b.t(2)?);
    let zeros = b.full(g, b.sizes(3), 0, g.dtype());
    let (g, places) = if b.flag(4)? || zeros.rank() == 0 {
        (g, places)
    } else {
        (g.call("unsqueeze", args![axis.clone()]), places.call("unsqueeze", args![axis.clone()]))
    };
    done![zeros.call("scatter.src", args![axis, places, g])]
}
