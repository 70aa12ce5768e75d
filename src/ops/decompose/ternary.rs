//! Element by element: functions of two and three values.

use super::activation::LOG2_E;
use super::prelude::*;
use crate::ops::typing::promote::category;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| renamed(b, "mul.Tensor"), &["aten.multiply.Tensor", "aten.mul.Scalar"]),
    (Exact, |b| renamed(b, "div.Tensor"), &["aten.divide.Tensor", "aten.true_divide.Tensor", "aten.div.Scalar"]),
    (Exact, |b| with_alpha(b, "sub.Tensor"), &["aten.subtract.Tensor", "aten.sub.Scalar"]),
    (Exact, |b| with_alpha(b, "add.Tensor"), &["aten.add.Scalar"]),
    (Exact, div_scalar_mode, &["aten.div.Scalar_mode"]),
    (Exact, floor_divide, &["aten.floor_divide.default", "aten.floor_divide.Scalar"]),
    (Exact, |b| of_tensors(b, "remainder.Tensor"), &["aten.remainder.Scalar"]),
    (Exact, |b| of_tensors(b, "fmod.Tensor"), &["aten.fmod.Scalar"]),
    (
        Exact,
        |b| of_tensors(b, "bitwise_and.Tensor"),
        &["aten.__and__.Tensor", "aten.bitwise_and.Scalar", "aten.__and__.Scalar"],
    ),
    (
        Exact,
        |b| of_tensors(b, "bitwise_or.Tensor"),
        &["aten.__or__.Tensor", "aten.bitwise_or.Scalar", "aten.__or__.Scalar"],
    ),
    (
        Exact,
        |b| of_tensors(b, "bitwise_xor.Tensor"),
        &["aten.__xor__.Tensor", "aten.bitwise_xor.Scalar", "aten.__xor__.Scalar"],
    ),
    (Exact, rsub, &["aten.rsub.Tensor", "aten.rsub.Scalar"]),
    (Exact, float_power, &["aten.float_power.Tensor_Tensor", "aten.float_power.Tensor_Scalar"]),
    (Exact, clamp_min, &["aten.clamp_min.default"]),
    (Exact, clamp_max, &["aten.clamp_max.default"]),
    (Exact, |b| renamed(b, "maximum"), &["aten.clamp_min.Tensor", "aten.max.other"]),
    (Exact, |b| renamed(b, "minimum"), &["aten.clamp_max.Tensor", "aten.min.other"]),
    (Exact, |b| done![b.t(0)?.clamp(b.arg(1), b.arg(2))], &["aten.clip.default"]),
    (Exact, heaviside, &["aten.heaviside.default"]),
    (Real, xlogy, &["aten.xlogy.Tensor", "aten.xlogy.Scalar_Other"]),
    (Real, |b| log_add(b, "exp", 1.0), &["aten.logaddexp.default"]),
    (Real, |b| log_add(b, "exp2", LOG2_E), &["aten.logaddexp2.default"]),
    (Real, lerp_scalar, &["aten.lerp.Scalar"]),
    (Real, lerp_tensor, &["aten.lerp.Tensor"]),
    (Real, addcmul, &["aten.addcmul.default"]),
    (Real, addcdiv, &["aten.addcdiv.default"]),
];

/// Another name for an operator of two operands.
fn renamed(b: &Builder<'_>, target: &str) -> Made {
    done![b.op(target, args![b.arg(0), b.arg(1)])]
}

/// An operator of two tensors: a number becomes one of the result's dtype.
fn of_tensors(b: &Builder<'_>, target: &str) -> Made {
    let dtype = b.own_tensor()?.dtype;
    match b.arg(1) {
        Arg::Node(_) => renamed(b, target),
        number => {
            b.only(dtype == wide(dtype), "f16 or bf16 and a number, which they may not hold")?;
            let other = b.op("scalar_tensor", args![number; dtype = dtype]);
            done![b.op(target, args![b.t(0)?.to(dtype), other])]
        }
    }
}

fn with_alpha(b: &Builder<'_>, target: &str) -> Made {
    let (x, other, alpha) = (b.arg(0), b.arg(1), b.arg(2));
    if alpha == Arg::Int(1) {
        return done![b.op(target, args![x, other])];
    }
    done![b.op(target, args![x, other; alpha = alpha])]
}

fn div_scalar_mode(b: &Builder<'_>) -> Made {
    done![b.op("div.Tensor_mode", args![b.arg(0), b.arg(1); rounding_mode = b.arg(2)])]
}

fn floor_divide(b: &Builder<'_>) -> Made {
    done![b.op("div.Tensor_mode", args![b.arg(0), b.arg(1); rounding_mode = "floor"])]
}

fn rsub(b: &Builder<'_>) -> Made {
    let (x, other, alpha) = (b.t(0)?, b.arg(1), b.arg(2));
    let one = matches!(alpha, Arg::Int(1)) || matches!(alpha, Arg::Float(1.0));
    match other {
        Arg::Node(_) if one => done![b.op("sub.Tensor", args![other, x])],
        Arg::Node(_) => done![b.op("sub.Tensor", args![other, x; alpha = alpha])],
        // The signs of zero agree: 1 - 1 and -1 + 1 are both +0.
        number if one => {
            let x = x.to(b.own_tensor()?.dtype);
            done![-x + number]
        }
        _ => Err(b.unsupported("a number and alpha")),
    }
}

fn float_power(b: &Builder<'_>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    let x = b.t(0)?.to(dtype);
    match b.arg(1) {
        Arg::Node(_) => done![b.op("pow.Tensor_Tensor", args![x, b.t(1)?.to(dtype)])],
        number => done![x.pow(number)],
    }
}

fn clamp_min(b: &Builder<'_>) -> Made {
    done![b.t(0)?.call("clamp", args![b.arg(1)])]
}

fn clamp_max(b: &Builder<'_>) -> Made {
    done![b.t(0)?.clamp(Arg::None, b.arg(1))]
}

fn heaviside(b: &Builder<'_>) -> Made {
    let (x, at_zero) = (b.t(0)?, b.t(1)?);
    b.only(x.dtype() == at_zero.dtype(), "unlike dtypes")?;
    let step = x.call("gt", args![0]).to(x.dtype());
    done![b.choose(x.call("eq", args![0]), at_zero, step)]
}

/// Two operands in the dtype in which the result is computed.
fn both<'b>(b: &'b Builder<'_>) -> Result<(T<'b>, T<'b>, Dtype), CallFault> {
    let dtype = b.own_tensor()?.dtype;
    Ok((b.t(0)?.to(wide(dtype)), b.t(1)?.to(wide(dtype)), dtype))
}

fn xlogy(b: &Builder<'_>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    let x = b.t(0)?.to(wide(dtype));
    let log = match b.arg(1) {
        Arg::Node(_) => b.t(1)?.to(wide(dtype)).op("log"),
        _ => return Ok(vec![xlogy_number(b, x)?.to(dtype).into()]),
    };
    let y = b.t(1)?.to(wide(dtype));
    let product = (x * log).fill_where(x.call("eq", args![0]), 0);
    let nan = y.call("ne.Tensor", args![y]);
    done![product.fill_where(nan, f64::NAN).to(dtype)]
}

fn xlogy_number<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<T<'b>, CallFault> {
    b.only(b.own_tensor()?.dtype == x.dtype(), "f16 or bf16 and a number, which they may not hold")?;
    let y = b.float(1)?;
    if y.is_nan() {
        return Ok(x * f64::NAN);
    }
    Ok((x * y.ln()).fill_where(x.call("eq", args![0]), 0))
}

/// `max + log(1 + base^-|a - b|)`; equal infinities are themselves.
fn log_add(b: &Builder<'_>, exp: &str, scale: f64) -> Made {
    let (x, y, dtype) = both(b)?;
    b.only(category(dtype) == 2, "complex numbers")?;
    let most = b.op("maximum", args![x, y]);
    let tail = (-(x - y).op("abs")).op(exp).op("log1p");
    let sum = most + if scale == 1.0 { tail } else { tail * scale };
    let endless = x.op("abs").call("eq", args![f64::INFINITY]);
    let same = endless.call("logical_and", args![x.call("eq.Tensor", args![y])]);
    done![b.choose(same, x, sum).to(dtype)]
}

fn lerp_scalar(b: &Builder<'_>) -> Made {
    let (x, end, dtype) = both(b)?;
    let weight = b.float(2)?;
    let way = end - x;
    done![if weight.abs() < 0.5 { x + way * weight } else { end - way * (1.0 - weight) }.to(dtype)]
}

fn lerp_tensor(b: &Builder<'_>) -> Made {
    let (x, end, dtype) = both(b)?;
    let weight = b.t(2)?.to(wide(dtype));
    let way = end - x;
    let near = weight.op("abs").call("lt", args![0.5]);
    done![b.choose(near, x + way * weight, end - way * weight.minus_from(1)).to(dtype)]
}

fn three<'b>(b: &'b Builder<'_>) -> Result<(T<'b>, T<'b>, T<'b>, Dtype), CallFault> {
    let (x, y, dtype) = both(b)?;
    Ok((x, y, b.t(2)?.to(wide(dtype)), dtype))
}

fn addcmul(b: &Builder<'_>) -> Made {
    let (x, y, z, dtype) = three(b)?;
    let scaled = if b.arg(3) == Arg::Int(1) { y } else { y * b.arg(3) };
    done![(x + scaled * z).to(dtype)]
}

fn addcdiv(b: &Builder<'_>) -> Made {
    let (x, y, z, dtype) = three(b)?;
    b.only(category(dtype) >= 2, "integers")?;
    let scaled = if b.arg(3) == Arg::Int(1) { y } else { y * b.arg(3) };
    done![(x + scaled / z).to(dtype)]
}
