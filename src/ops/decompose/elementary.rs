//! Functions of elements by others, and the element's own bits.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, conj_physical, &["aten.conj_physical.default"]),
    (Real, |b| done![b.op("pow.Scalar", args![2.0, promoted(b, 0)?])], &["aten.exp2.default"]),
    (Real, ldexp, &["aten.ldexp.Tensor"]),
    (Exact, |b| done![sign_bit(b, b.t(0)?)?], &["aten.signbit.default"]),
    (Exact, copysign, &["aten.copysign.Tensor"]),
    (Exact, copysign_of_number, &["aten.copysign.Scalar"]),
    (Real, |b| beside_nan(b, "ge.Tensor"), &["aten.fmax.default"]),
    (Real, |b| beside_nan(b, "le.Tensor"), &["aten.fmin.default"]),
    (Real, hypot, &["aten.hypot.default"]),
    (Exact, lcm, &["aten.lcm.default"]),
    (Exact, |b| done![b.op("bitwise_and.Scalar", args![b.t(1)?, b.arg(0)])], &["aten.bitwise_and.Scalar_Tensor"]),
    (Exact, |b| done![b.op("bitwise_or.Scalar", args![b.t(1)?, b.arg(0)])], &["aten.bitwise_or.Scalar_Tensor"]),
    (Exact, |b| done![b.op("bitwise_xor.Scalar", args![b.t(1)?, b.arg(0)])], &["aten.bitwise_xor.Scalar_Tensor"]),
    (Exact, |b| shift_of_number(b, "bitwise_left_shift"), &["aten.bitwise_left_shift.Scalar_Tensor"]),
    (Exact, |b| shift_of_number(b, "bitwise_right_shift"), &["aten.bitwise_right_shift.Scalar_Tensor"]),
    (Exact, round_to, &["aten.round.decimals"]),
    (Real, polar, &["aten.polar.default"]),
    (Exact, angle, &["aten.angle.default"]),
    (Real, |b| scaled(b, "special_i0e"), &["aten.i0.default", "aten.special_modified_bessel_i0.default"]),
    (Real, |b| scaled(b, "special_i1e"), &["aten.special_i1.default", "aten.special_modified_bessel_i1.default"]),
    (Real, polygamma, &["aten.polygamma.default"]),
];

/// Of real numbers themselves, else computed.
fn conj_physical(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    done![if x.dtype().is_complex() { x.op("_conj_physical") } else { x }]
}

/// An operand in the dtype of the result.
fn promoted<'b>(b: &'b Builder<'_>, place: usize) -> Result<T<'b>, CallFault> {
    Ok(b.t(place)?.to(b.own_tensor()?.dtype))
}

fn ldexp(b: &Builder<'_>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    b.only(dtype.is_float(), "this dtype")?;
    done![b.t(0)?.to(dtype) * b.op("pow.Scalar", args![2.0, b.t(1)?.to(dtype)])]
}

/// Whether the first bit says that a number is below zero: of a float's own bits as an integer.
fn sign_bit<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<T<'b>, CallFault> {
    let bits = match x.dtype() {
        Dtype::F32 => Dtype::I32,
        Dtype::F16 | Dtype::Bf16 => Dtype::I16,
        Dtype::F64 => Dtype::I64,
        own if own.is_integer() => own,
        _ => return Err(b.unsupported("this dtype")),
    };
    let x = if bits == x.dtype() { x } else { x.call("view.dtype", args![bits]) };
    Ok(x.call("lt", args![0]))
}

fn copysign(b: &Builder<'_>) -> Made {
    let negative = sign_bit(b, b.t(1)?)?;
    let size = promoted(b, 0)?.op("abs");
    done![b.choose(negative, -size, size)]
}

fn copysign_of_number(b: &Builder<'_>) -> Made {
    let size = promoted(b, 0)?.op("abs");
    done![if b.float(1)?.is_sign_negative() { -size } else { size }]
}

/// Of zeros of both signs either: the first where the comparison says so, or the second is no number; else the second.
fn beside_nan(b: &Builder<'_>, comparison: &str) -> Made {
    let (x, y) = (promoted(b, 0)?, promoted(b, 1)?);
    let first = x.call(comparison, args![y]);
    let first = if y.dtype().is_float() { first.call("logical_or", args![y.op("isnan")]) } else { first };
    done![b.choose(first, x, y)]
}

/// By the larger one, so that no square is beyond the range; infinite beside anything, NaN too.
fn hypot(b: &Builder<'_>) -> Made {
    let (x, y) = (promoted(b, 0)?.op("abs"), promoted(b, 1)?.op("abs"));
    let (most, least) = (x.call("maximum", args![y]), x.call("minimum", args![y]));
    let nothing = most.call("eq", args![0.0]);
    let ratio = least / b.choose(nothing, 1.0, most);
    let length = most * (ratio * ratio + 1.0).op("sqrt");
    let infinite = x.op("isinf").call("logical_or", args![y.op("isinf")]);
    done![b.choose(infinite, f64::INFINITY, length)]
}

/// Narrow integers are multiplied as wider ones, and cut when all is done.
fn lcm(b: &Builder<'_>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    let wide = if matches!(dtype, Dtype::I8 | Dtype::I16) { Dtype::I32 } else { dtype };
    let (x, y) = (promoted(b, 0)?.to(wide), promoted(b, 1)?.to(wide));
    let common = x.call("gcd", args![y]);
    let nothing = common.call("eq", args![0]);
    // Nothing is left over: every way to round is the same.
    let parts = x.call("div.Tensor_mode", args![b.choose(nothing, 1, common); rounding_mode = "floor"]);
    done![b.choose(nothing, 0, (parts * y).op("abs")).to(dtype)]
}

fn shift_of_number(b: &Builder<'_>, name: &str) -> Made {
    let by = b.t(1)?;
    let number = b.full(by, Vec::new(), b.arg(0), b.own_tensor()?.dtype);
    done![b.op(&format!("{name}.Tensor"), args![number, by])]
}

/// As PyTorch does it: times a power of ten, rounded, and back.
fn round_to(b: &Builder<'_>) -> Made {
    let (x, decimals) = (b.t(0)?, b.int("decimals")?);
    b.only(x.dtype().is_float() && (-10..=10).contains(&decimals), "this dtype, or as many decimals")?;
    let wide = x.wide();
    let power = (0..decimals.abs()).fold(1.0, |p, _| p * 10.0);
    let made = match decimals {
        0 => wide.op("round"),
        1.. => (wide * power).op("round") / power,
        _ => (wide / power).op("round") * power,
    };
    done![made.to(x.dtype())]
}

fn polar(b: &Builder<'_>) -> Made {
    let (length, angle) = (b.t(0)?, b.t(1)?);
    done![b.op("complex", args![length * angle.op("cos"), length * angle.op("sin")])]
}

/// Of what is below zero it is pi.
fn angle(b: &Builder<'_>) -> Made {
    let x = promoted(b, 0)?;
    b.only(x.dtype().is_float(), "complex numbers")?;
    let half_turn = b.full(x, Vec::new(), std::f64::consts::PI, x.dtype());
    let angle = b.choose(x.call("lt", args![0]), half_turn, x.call("zeros_like", args![]));
    done![b.choose(x.op("isnan"), x, angle)]
}

/// By the function that is scaled down.
fn scaled(b: &Builder<'_>, name: &str) -> Made {
    let x = promoted(b, 0)?;
    done![x.op(name) * x.op("abs").op("exp")]
}

/// From the second on: `(-1)^(n+1) n! zeta(n + 1, x)`.
#[allow(clippy::cast_precision_loss)] // At most 20.
fn polygamma(b: &Builder<'_>) -> Made {
    let n = b.int(0)?;
    b.only((1..=20).contains(&n), "this order")?;
    let x = b.t(1)?.to(b.own_tensor()?.dtype);
    let factorial = (1..=n).fold(1.0, |p, k| p * k as f64);
    let order = b.full(x, x.shape(), Arg::Float(n as f64 + 1.0), x.dtype());
    done![order.call("special_zeta", args![x]) * (if n & 1 == 1 { factorial } else { -factorial })]
}
