//! Fused norms of torch_npu: one step in f32, rounded once.

use super::npu::float_of;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| rms_norm(b, false), &["npu.npu_rms_norm.default"]),
    (Exact, |b| rms_norm(b, true), &["npu.npu_gemma_rms_norm.default"]),
    (Exact, add_rms_norm, &["npu.npu_add_rms_norm.default"]),
    (Exact, add_rms_norm_cast, &["npu.npu_add_rms_norm_cast.default"]),
    (Exact, add_rms_norm_v2, &["npu.npu_add_rms_norm_v2.default"]),
    (Exact, add_rms_norm_functional, &["npu.npu_add_rms_norm_v2_functional.default"]),
    (Exact, add_layer_norm, &["npu.npu_add_layer_norm.default"]),
    (Exact, deep_norm, &["npu.npu_deep_norm.default"]),
    (Exact, layer_norm_eval, &["npu.npu_layer_norm_eval.default"]),
    (Exact, group_norm_silu, &["npu.npu_group_norm_silu.default"]),
];

/// The dimensions that gamma covers.
fn covered(x: T<'_>, gamma: T<'_>) -> Vec<i64> {
    tail(&range(x.rank()), x.rank().saturating_sub(gamma.rank()))
}

/// The norm before rounding, and its reciprocal root.
pub(super) fn rms<'b>(x: T<'b>, gamma: T<'b>, eps: f64, beta: Option<T<'b>>, plus_one: bool) -> (T<'b>, T<'b>) {
    let a = float_of(&[x, gamma]);
    let v = x.to(a);
    let rstd = (v.pow(2).mean(&covered(x, gamma), true) + eps).op("rsqrt");
    let factor = if plus_one { gamma.to(a) + 1 } else { gamma.to(a) };
    let y = v * rstd * factor;
    (beta.map_or(y, |t| y + t.to(a)), rstd)
}

fn rms_norm(b: &Builder<'_>, plus_one: bool) -> Made {
    let x = b.t(0)?;
    let (y, rstd) = rms(x, b.t(1)?, b.float(2)?, None, plus_one);
    done![y.to(x.dtype()), rstd]
}

/// `(y, rstd, x)` of `x1 + x2`.
fn added<'b>(b: &'b Builder<'_>) -> Result<(T<'b>, T<'b>, T<'b>), CallFault> {
    let x = b.t(0)? + b.t(1)?;
    let (y, rstd) = rms(x, b.t(2)?, b.float(3)?, None, false);
    Ok((y.to(x.dtype()), rstd, x))
}

fn add_rms_norm(b: &Builder<'_>) -> Made {
    let (y, rstd, x) = added(b)?;
    done![y, rstd, x]
}

fn add_rms_norm_cast(b: &Builder<'_>) -> Made {
    let (y, rstd, x) = added(b)?;
    let widened = float_of(&[b.t(0)?]);
    done![if y.dtype() == widened { y.duplicate() } else { y.to(widened) }, y, rstd, x]
}

fn add_rms_norm_v2(b: &Builder<'_>) -> Made {
    let (y, rstd, x) = added(b)?;
    b.op("copy_", args![b.t(0)?, y]);
    b.op("copy_", args![b.t(1)?, x]);
    done![rstd]
}

fn add_rms_norm_functional(b: &Builder<'_>) -> Made {
    let (y, rstd, x) = added(b)?;
    done![rstd, y, x]
}

fn add_layer_norm(b: &Builder<'_>) -> Made {
    let (x1, gamma) = (b.t(0)?, b.t(2)?);
    let a = float_of(&[x1, gamma]);
    let x = x1.to(a) + b.t(1)?.to(a);
    let mean = x.mean(&[-1], true);
    let rstd = ((x - mean).pow(2).mean(&[-1], true) + b.float(4)?).op("rsqrt");
    let y = (x - mean) * rstd * gamma.to(a) + b.t(3)?.to(a);
    done![y.to(x1.dtype()), mean, rstd, x.to(x1.dtype())]
}

fn deep_norm(b: &Builder<'_>) -> Made {
    let (x, gamma) = (b.t(0)?, b.t(3)?);
    let a = float_of(&[x, gamma]);
    let v = x.to(a) * b.float(4)? + b.t(1)?.to(a);
    let dims = covered(x, gamma);
    let mean = v.mean(&dims, true);
    let diff = v - mean;
    let rstd = (diff.pow(2).mean(&dims, true) + b.float(5)?).op("sqrt").recip();
    done![mean, rstd, (diff * rstd * gamma.to(a) + b.t(2)?.to(a)).to(x.dtype())]
}

fn layer_norm_eval(b: &Builder<'_>) -> Made {
    done![b.op("layer_norm", args![b.t(0)?, b.arg(1), b.arg(2), b.arg(3), b.arg(4)])]
}

fn group_norm_silu(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let inner = b.size_product(x.shape().get(2..).unwrap_or(&[]));
    let given = args![x.contiguous(), b.arg(1), b.arg(2), x.size(0), x.size(1), inner, b.arg(3), b.arg(4)];
    let [y, mean, rstd] = b.many("native_group_norm", given)?;
    done![y.op("silu"), mean, rstd]
}
