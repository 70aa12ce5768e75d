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
    (Real, softmax, &["aten._softmax_backward_data.default"]),
    (Real, log_softmax, &["aten._log_softmax_backward_data.default"]),
    (Real, mse, &["aten.mse_loss_backward.default"]),
    (Exact, dropout, &["aten.native_dropout_backward.default"]),
];

/// A formula of gradient and value in the wide dtype, rounded once.
fn rounded<'b>(b: &'b Builder<'_>, formula: impl FnOnce(T<'b>, T<'b>) -> T<'b>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    b.only(dtype.is_float(), "this dtype")?;
    done![formula(b.t(0)?.to(wide(dtype)), b.t(1)?.to(wide(dtype))).to(dtype)]
}

fn threshold(b: &Builder<'_>) -> Made {
    let (g, x) = (b.t(0)?, b.t(1)?);
    done![g.fill_where(x.call("le", args![b.arg(2)]), 0)]
}

fn hardtanh(b: &Builder<'_>) -> Made {
    let (g, x) = (b.t(0)?, b.t(1)?);
    let outside = x.call("le", args![b.arg(2)]).call("logical_or", args![x.call("ge", args![b.arg(3)])]);
    done![g.fill_where(outside, 0)]
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
