//! Gradients of pointwise functions, of losses and of views.
//!
//! Computed in `f64` and rounded once, but where PyTorch multiplies in steps.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::moments::{count_of, round};
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::pointwise::{map2, map3};
use crate::exec::loops::rows::with_order;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::{C128, LaneKind};
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (gelu, &["aten.gelu_backward.default"]),
    (|cx| of_two(cx, [0, 1], silu), &["aten.silu_backward.default"]),
    (|cx| of_two(cx, [0, 1], hardswish), &["aten.hardswish_backward.default"]),
    (|cx| of_two(cx, [0, 1], log_sigmoid), &["aten.log_sigmoid_backward.default"]),
    (sigmoid, &["aten.sigmoid_backward.default"]),
    (tanh, &["aten.tanh_backward.default"]),
    (threshold, &["aten.threshold_backward.default"]),
    (hardtanh, &["aten.hardtanh_backward.default"]),
    (leaky_relu, &["aten.leaky_relu_backward.default"]),
    (elu, &["aten.elu_backward.default"]),
    (dropout, &["aten.native_dropout_backward.default"]),
    (mse_loss, &["aten.mse_loss_backward.default"]),
];

/// Computes `f(grad, x)` of two arguments in `f64`.
fn of_two(cx: &mut Cx<'_, '_, '_>, [a, b]: [usize; 2], f: impl Fn(f64, f64) -> f64 + Sync) -> Made {
    let meta = cx.meta()?;
    if LaneKind::of(meta.dtype) == LaneKind::I64 || meta.dtype.is_complex() {
        return Err(CallFault::Unsupported { what: format!("this gradient in {}", meta.dtype.long()) });
    }
    map2::<f64, f64>(cx, &meta, [cx.operand(a)?, cx.operand(b)?], meta.dtype, f).map(Value::Tensor)
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn silu(grad: f64, x: f64) -> f64 {
    let s = logistic(x);
    grad * s * (1.0 + x * (1.0 - s))
}

fn hardswish(grad: f64, x: f64) -> f64 {
    if x <= -3.0 {
        0.0
    } else if x >= 3.0 {
        grad
    } else {
        grad * (x / 3.0 + 0.5)
    }
}

fn log_sigmoid(grad: f64, x: f64) -> f64 {
    let z = (-x.abs()).exp();
    if x < 0.0 { grad * (1.0 - z / (1.0 + z)) } else { grad * (z / (1.0 + z)) }
}

fn gelu(cx: &mut Cx<'_, '_, '_>) -> Made {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
    match cx.text(2) {
        "" | "none" => of_two(cx, [0, 1], |grad, x| {
            let cdf = 0.5 * (1.0 + libm::erf(x * FRAC_1_SQRT_2));
            let pdf = (-0.5 * x * x).exp() * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * 0.5;
            grad * (cdf + x * pdf)
        }),
        "tanh" => of_two(cx, [0, 1], |grad, x| {
            let (beta, kappa) = (SQRT_2 * FRAC_2_SQRT_PI * 0.5, 0.044_715);
            let t = (beta * (x + kappa * x * x * x)).tanh();
            let inner = beta * (1.0 + 3.0 * kappa * x * x);
            grad * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner)
        }),
        other => Err(cx.bad(2, "`none` or `tanh`", other)),
    }
}

/// Functions whose gradient is `grad * f(result)`, for complex numbers with the conjugate.
fn of_result(cx: &mut Cx<'_, '_, '_>, real: fn(f64) -> f64, complex: fn(C128) -> C128) -> Made {
    let meta = cx.meta()?;
    if !meta.dtype.is_complex() {
        return of_two(cx, [0, 1], |grad, y| grad * real(y));
    }
    let operands = [cx.operand(0)?, cx.operand(1)?];
    map2::<C128, C128>(cx, &meta, operands, meta.dtype, |grad, y| grad * complex(y).conj()).map(Value::Tensor)
}

fn sigmoid(cx: &mut Cx<'_, '_, '_>) -> Made {
    of_result(cx, |y| (1.0 - y) * y, |y| (C128::new(1.0, 0.0) - y) * y)
}

fn tanh(cx: &mut Cx<'_, '_, '_>) -> Made {
    of_result(cx, |y| 1.0 - y * y, |y| C128::new(1.0, 0.0) - y * y)
}

/// What is not above the threshold passes nothing; a NaN passes.
fn threshold(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, limit) = (cx.meta()?, cx.scalar(2)?);
    let operands = [cx.operand(0)?, cx.operand(1)?];
    let out = with_order!(meta.dtype, L => {
        let limit: L = number(limit, Some(meta.dtype));
        map2(cx, &meta, operands, meta.dtype, |grad: L, x: L| if x <= limit { L::default() } else { grad })
    })?;
    Ok(Value::Tensor(out))
}

fn hardtanh(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, low, high) = (cx.meta()?, cx.scalar(2)?, cx.scalar(3)?);
    let operands = [cx.operand(0)?, cx.operand(1)?];
    let out = with_order!(meta.dtype, L => {
        let (low, high): (L, L) = (number(low, Some(meta.dtype)), number(high, Some(meta.dtype)));
        map2(cx, &meta, operands, meta.dtype, |grad: L, x: L| if x > low && x < high { grad } else { L::default() })
    })?;
    Ok(Value::Tensor(out))
}

fn leaky_relu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let slope = cx.f64(2)?;
    if cx.bool(3)? && slope < 0.0 {
        return Err(cx.bad(2, "no negative slope, where the result is given", slope.to_string()));
    }
    let dtype = cx.meta()?.dtype;
    let slope = if dtype == Dtype::F64 { slope } else { round(Dtype::F32, slope) };
    of_two(cx, [0, 1], |grad, x| if x > 0.0 { grad } else { grad * slope })
}

fn elu(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (alpha, scale, input_scale, is_result) = (cx.f64(1)?, cx.f64(2)?, cx.f64(3)?, cx.bool(4)?);
    if is_result && alpha < 0.0 {
        return Err(cx.bad(1, "no negative alpha, where the result is given", alpha.to_string()));
    }
    let negative = alpha * scale;
    of_two(cx, [0, 5], |grad, x| {
        if x > 0.0 {
            grad * scale
        } else if is_result {
            grad * input_scale * (x + negative)
        } else {
            grad * input_scale * negative * (x * input_scale).exp()
        }
    })
}

fn dropout(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, scale) = (cx.meta()?, cx.f64(2)?);
    let operands = [cx.operand(0)?, cx.operand(1)?];
    if meta.dtype.is_complex() {
        return map2::<C128, C128>(cx, &meta, operands, meta.dtype, |g, m| g * m * scale).map(Value::Tensor);
    }
    let dtype = meta.dtype;
    let scale = if dtype == Dtype::F64 { scale } else { round(Dtype::F32, scale) };
    map2::<f64, f64>(cx, &meta, operands, dtype, |g, m| round(dtype, g * m) * scale).map(Value::Tensor)
}

fn mse_loss(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, reduction) = (cx.meta()?, cx.int(3)?);
    let factor = if reduction == 1 { 2.0 / count_of(cx.tensor(1)?.numel()) } else { 2.0 };
    let operands = [cx.operand(0)?, cx.operand(1)?, cx.operand(2)?];
    map3::<f64, f64>(cx, &meta, operands, meta.dtype, |grad, a, b| factor * (a - b) * grad).map(Value::Tensor)
}

/// Reads an operand as numbers; used by the other files of gradients.
pub(in crate::exec) fn wide(t: &Tensor) -> Result<Vec<f64>, CallFault> {
    t.lanes::<f64>().map(crate::exec::tensor::flat::Flat::into_vec)
}

/// Returns an optional operand as numbers.
pub(in crate::exec) fn opt_wide(t: Option<&Tensor>) -> Result<Option<Vec<f64>>, CallFault> {
    t.map(wide).transpose()
}

/// Returns whether the mask in argument `i` asks for gradient `k`.
pub(in crate::exec) fn asked(cx: &Cx<'_, '_, '_>, i: usize, k: usize) -> bool {
    cx.value(i).items().get(k).is_none_or(|v| matches!(v, Value::Bool(true)))
}

/// Makes gradient `k` where the mask asks for it and the rule types it.
pub(in crate::exec) fn masked(
    cx: &Cx<'_, '_, '_>,
    mask: usize,
    k: usize,
    values: impl FnOnce() -> Result<Vec<f64>, CallFault>,
) -> Result<Value, CallFault> {
    if !asked(cx, mask, k) || cx.meta_of(k).is_err() {
        return Ok(Value::None);
    }
    cx.emit_at(k, values()?).map(Value::Tensor)
}
