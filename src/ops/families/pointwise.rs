//! Element by element: arithmetic, functions, activations.
//!
//! Every rule here: broadcast sizes, TensorIterator's strides; they differ in the dtype.

use smallvec::SmallVec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Number, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::promote::{Promotion, category, float_of, to_complex, to_real};
use crate::ops::typing::sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        same,
        &[
            "aten.neg.default",
            "aten.sign.default",
            "aten.sgn.default",
            "aten.ceil.default",
            "aten.floor.default",
            "aten.round.default",
            "aten.round.decimals",
            "aten.trunc.default",
            "aten.frac.default",
            "aten.bitwise_not.default",
            "aten.relu.default",
            "aten.silu.default",
            "aten.gelu.default",
            "aten.mish.default",
            "aten.hardsigmoid.default",
            "aten.hardswish.default",
            "aten.elu.default",
            "aten.selu.default",
            "aten.celu.default",
            "aten.leaky_relu.default",
            "aten.softplus.default",
            "aten.threshold.default",
            "aten.hardshrink.default",
            "aten.softshrink.default",
            "prims.neg.default",
            "prims.sign.default",
            "prims.ceil.default",
            "prims.floor.default",
            "prims.round.default",
            "prims.trunc.default",
            "prims.conj_physical.default",
        ],
    ),
    (
        like,
        &["aten.relu6.default", "aten.hardtanh.default", "aten._conj_physical.default", "aten.conj_physical.default"],
    ),
    (number, &["aten.nan_to_num.default"]),
    (scaled, &["aten.deg2rad.default", "aten.rad2deg.default"]),
    (in_row, &["aten.log_sigmoid.default"]),
    (square, &["aten.square.default"]),
    (absolute, &["aten.abs.default", "prims.abs.default"]),
    (angle, &["aten.angle.default"]),
    (of_second, &["aten.polygamma.default"]),
    (frexp, &["aten.frexp.Tensor"]),
    (
        float,
        &[
            "aten.sqrt.default",
            "aten.rsqrt.default",
            "aten.reciprocal.default",
            "aten.exp.default",
            "aten.exp2.default",
            "aten.expm1.default",
            "aten.log.default",
            "aten.log2.default",
            "aten.log10.default",
            "aten.log1p.default",
            "aten.sin.default",
            "aten.cos.default",
            "aten.tan.default",
            "aten.asin.default",
            "aten.acos.default",
            "aten.atan.default",
            "aten.sinh.default",
            "aten.cosh.default",
            "aten.tanh.default",
            "aten.asinh.default",
            "aten.acosh.default",
            "aten.atanh.default",
            "aten.sigmoid.default",
            "aten.erf.default",
            "aten.erfc.default",
            "aten.erfinv.default",
            "aten.lgamma.default",
            "aten.i0.default",
            "aten.special_modified_bessel_i0.default",
            "aten.special_i1.default",
            "aten.special_modified_bessel_i1.default",
            "aten.special_i0e.default",
            "aten.special_entr.default",
            "aten.special_i1e.default",
            "aten.special_modified_bessel_k0.default",
            "aten.special_modified_bessel_k1.default",
            "aten.special_scaled_modified_bessel_k0.default",
            "aten.special_scaled_modified_bessel_k1.default",
            "aten.special_bessel_j0.default",
            "aten.special_bessel_j1.default",
            "aten.special_bessel_y0.default",
            "aten.special_bessel_y1.default",
            "aten.special_spherical_bessel_j0.default",
            "aten.special_erfcx.default",
            "aten.special_ndtri.default",
            "aten.digamma.default",
            "aten.logit.default",
            "aten.sinc.default",
            "prims.acos.default",
            "prims.acosh.default",
            "prims.asin.default",
            "prims.asinh.default",
            "prims.atan.default",
            "prims.atanh.default",
            "prims.cos.default",
            "prims.cosh.default",
            "prims.digamma.default",
            "prims.erf.default",
            "prims.erf_inv.default",
            "prims.erfc.default",
            "prims.exp.default",
            "prims.exp2.default",
            "prims.expm1.default",
            "prims.lgamma.default",
            "prims.log.default",
            "prims.log1p.default",
            "prims.log2.default",
            "prims.log10.default",
            "prims.reciprocal.default",
            "prims.rsqrt.default",
            "prims.sin.default",
            "prims.sinh.default",
            "prims.sqrt.default",
            "prims.tan.default",
            "prims.tanh.default",
        ],
    ),
    (
        binary,
        &[
            "aten.add.Tensor",
            "aten.add.Scalar",
            "aten.sub.Tensor",
            "aten.sub.Scalar",
            "aten.mul.Tensor",
            "aten.mul.Scalar",
            "aten.multiply.Tensor",
            "aten.subtract.Tensor",
            "aten.floor_divide.default",
            "aten.floor_divide.Scalar",
            "aten.remainder.Tensor",
            "aten.remainder.Scalar",
            "aten.remainder.Scalar_Tensor",
            "aten.fmod.Tensor",
            "aten.fmod.Scalar",
            "aten.pow.Tensor_Tensor",
            "aten.maximum.default",
            "aten.minimum.default",
            "aten.fmax.default",
            "aten.fmin.default",
            "aten.hypot.default",
            "aten.nextafter.default",
            "aten.logaddexp.default",
            "aten.logaddexp2.default",
            "aten.heaviside.default",
            "aten.gcd.default",
            "aten.lcm.default",
            "aten.bitwise_and.Tensor",
            "aten.bitwise_and.Scalar",
            "aten.bitwise_and.Scalar_Tensor",
            "aten.bitwise_or.Tensor",
            "aten.bitwise_or.Scalar",
            "aten.bitwise_or.Scalar_Tensor",
            "aten.bitwise_xor.Tensor",
            "aten.bitwise_xor.Scalar",
            "aten.bitwise_xor.Scalar_Tensor",
            "aten.bitwise_left_shift.Tensor",
            "aten.bitwise_left_shift.Tensor_Scalar",
            "aten.bitwise_left_shift.Scalar_Tensor",
            "aten.bitwise_right_shift.Tensor",
            "aten.bitwise_right_shift.Tensor_Scalar",
            "aten.bitwise_right_shift.Scalar_Tensor",
            "aten.__and__.Tensor",
            "aten.__and__.Scalar",
            "aten.__or__.Tensor",
            "aten.__or__.Scalar",
            "aten.__xor__.Tensor",
            "aten.__xor__.Scalar",
            "aten.__lshift__.Tensor",
            "aten.__lshift__.Scalar",
            "aten.__rshift__.Tensor",
            "aten.__rshift__.Scalar",
            "aten.clamp_min.Tensor",
            "aten.clamp_max.Tensor",
            "prims.add.default",
            "prims.bitwise_and.default",
            "prims.bitwise_or.default",
            "prims.bitwise_xor.default",
            "prims.fmax.default",
            "prims.fmin.default",
            "prims.fmod.default",
            "prims.hypot.default",
            "prims.maximum.default",
            "prims.minimum.default",
            "prims.mul.default",
            "prims.nextafter.default",
            "prims.pow.default",
            "prims.remainder.default",
            "prims.shift_left.default",
            "prims.shift_right_arithmetic.default",
            "prims.sub.default",
        ],
    ),
    (
        divide,
        &[
            "aten.div.Tensor",
            "aten.div.Scalar",
            "aten.true_divide.Tensor",
            "aten.divide.Tensor",
            "aten.atan2.default",
            "aten.copysign.Tensor",
            "aten.copysign.Scalar",
            "aten.igamma.default",
            "aten.igammac.default",
            "aten.special_zeta.default",
            "aten.xlogy.Tensor",
            "aten.xlogy.Scalar_Other",
            "aten.special_xlog1py.default",
            "prims.atan2.default",
        ],
    ),
    (power_of_number, &["aten.pow.Scalar"]),
    (times_power, &["aten.ldexp.Tensor"]),
    (quotient, &["prims.div.default"]),
    (divide_mode, &["aten.div.Tensor_mode", "aten.div.Scalar_mode"]),
    (by_number, &["aten.pow.Tensor_Scalar", "aten.clamp_min.default", "aten.clamp_max.default"]),
    (reversed, &["aten.rsub.Tensor", "aten.rsub.Scalar"]),
    (float_power, &["aten.float_power.Tensor_Tensor", "aten.float_power.Tensor_Scalar"]),
    (bounded, &["aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default"]),
    (blend, &["aten.lerp.Scalar", "aten.lerp.Tensor"]),
    (three, &["aten.addcmul.default", "aten.addcdiv.default"]),
    (complex, &["aten.complex.default", "aten.polar.default"]),
    (prelu, &["aten.prelu.default", "aten._prelu_kernel.default"]),
    (log_sigmoid, &["aten.log_sigmoid_forward.default"]),
    (glu, &["aten.glu.default"]),
    (fake_quantized, &["aten.fake_quantize_per_tensor_affine.default"]),
    (
        fake_quantized_masked,
        &[
            "aten.fake_quantize_per_tensor_affine_cachemask.default",
            "aten.fake_quantize_per_channel_affine_cachemask.default",
        ],
    ),
    (dropout_backward, &["aten.native_dropout_backward.default"]),
    (elu_backward, &["aten.elu_backward.default"]),
    (
        loss_backward,
        &["aten.mse_loss_backward.default", "aten.huber_loss_backward.default", "aten.smooth_l1_loss_backward.default"],
    ),
    (
        backward,
        &[
            "aten.gelu_backward.default",
            "aten.silu_backward.default",
            "aten.sigmoid_backward.default",
            "aten.tanh_backward.default",
            "aten.hardtanh_backward.default",
            "aten.hardswish_backward.default",
            "aten.hardshrink_backward.default",
            "aten.softshrink_backward.default",
            "aten.hardsigmoid_backward.default",
        ],
    ),
    (backward_of_input, &["aten.threshold_backward.default", "aten.leaky_relu_backward.default"]),
];

/// Operands with the dtype that they have together.
pub(in crate::ops) fn operands<'a>(
    c: &Call<'a>,
    places: &[usize],
) -> Result<(SmallVec<[Operand<'a>; 4]>, Promotion), CallFault> {
    let mut promotion = Promotion::default();
    let mut out = SmallVec::new();
    for &i in places {
        let operand = c.operand(i)?;
        promotion.operand(operand)?;
        out.push(operand);
    }
    Ok((out, promotion))
}

/// One operand, its dtype through `dtype`.
pub(in crate::ops) fn unary(c: &mut Call<'_>, dtype: fn(Dtype) -> Dtype) -> Typed {
    match c.operand(0)? {
        Operand::Tensor(t) => out::pointwise(c, dtype(t.dtype), &[Operand::Tensor(t)]),
        number @ Operand::Number(n) => out::pointwise(c, dtype(n.dtype()), &[number]),
    }
}

fn same(c: &mut Call<'_>) -> Typed {
    unary(c, |d| d)
}

/// Computed into a contiguous result, whatever the operand's layout.
fn in_row(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

/// A power of 2, which has no booleans.
fn square(c: &mut Call<'_>) -> Typed {
    unary(c, |d| if d == Dtype::Bool { Dtype::I64 } else { d })
}

fn absolute(c: &mut Call<'_>) -> Typed {
    unary(c, to_real)
}

/// Mantissa and exponent.
fn frexp(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !t.dtype.is_float() {
        return Err(c.bad(0, "a float dtype", t.dtype.long()));
    }
    let mantissa = out::pointwise(c, t.dtype, &[Operand::Tensor(t)])?;
    Ok(out::many([mantissa, out::pointwise(c, Dtype::I32, &[Operand::Tensor(t)])?]))
}

/// As a float, from the second argument: the first is an order.
fn of_second(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(1)?;
    c.int(0)?;
    out::pointwise(c, float_of(t.dtype), &[Operand::Tensor(t)])
}

fn float(c: &mut Call<'_>) -> Typed {
    unary(c, float_of)
}

/// Of complex numbers it is copied out of a complex result, in row-major order.
fn angle(c: &mut Call<'_>) -> Typed {
    if let Operand::Tensor(t) = c.operand(0)?
        && t.dtype.is_complex()
    {
        return out::contiguous(c.symbols, to_real(t.dtype), t.sizes.clone(), t.device.clone());
    }
    unary(c, |d| float_of(to_real(d)))
}

fn binary(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

/// The exponent's layout is not kept. (Of `pow_.Scalar`, which shares the name, the exponent is the number.)
fn power_of_number(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    let dtype = promotion.dtype()?;
    let [_, Operand::Tensor(t)] = operands.as_slice() else { return binary(c) };
    out::contiguous(c.symbols, dtype, t.sizes.clone(), t.device.clone())
}

fn divide(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    out::pointwise(c, float_of(promotion.dtype()?), &operands)
}

/// Times a power of 2, which is written row by row, or laid out as its exponent, by dtypes: known where that is the same.
fn times_power(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    let dtype = float_of(promotion.dtype()?);
    let kept = out::pointwise(c, dtype, &operands)?;
    let [first, Operand::Tensor(exponent)] = operands.as_slice() else { return Ok(kept) };
    let strides = layout::contiguous(c.symbols, &exponent.sizes)?;
    let power = TensorType { strides: Some(strides), ..(*exponent).clone() };
    let row = out::pointwise(c, dtype, &[*first, Operand::Tensor(&power)])?;
    match row.as_tensor() {
        Some(t) if row != kept => Ok(out::strided(dtype, t.sizes.clone(), None, t.device.clone())),
        _ => Ok(row),
    }
}

/// Of integers an integer, of booleans a float.
fn quotient(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    let dtype = promotion.dtype()?;
    out::pointwise(c, if dtype == Dtype::Bool { Dtype::F32 } else { dtype }, &operands)
}

fn divide_mode(c: &mut Call<'_>) -> Typed {
    if c.is_none(2) { divide(c) } else { binary(c) }
}

/// The number is a parameter here, no operand: it decides the dtype alone.
fn by_number(c: &mut Call<'_>) -> Typed {
    let (_, promotion) = operands(c, &[0, 1])?;
    out::pointwise(c, promotion.dtype()?, &[c.operand(0)?])
}

/// The other less the first.
fn reversed(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[1, 0])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

fn like(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    out::like(c, t.dtype, t)
}

/// Of integers a copy.
fn number(c: &mut Call<'_>) -> Typed {
    if category(c.tensor(0)?.dtype) < 2 { like(c) } else { same(c) }
}

/// Times a number.
fn scaled(c: &mut Call<'_>) -> Typed {
    let (t, factor) = (c.operand(0)?, Operand::Number(Number::Float(None)));
    let dtype = float_of(c.tensor(0)?.dtype);
    out::pointwise(c, dtype, &[t, factor])
}

fn float_power(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    let dtype = if promotion.dtype()?.is_complex() { Dtype::C128 } else { Dtype::F64 };
    // Operands of other dtypes are cast first: copies, in which nothing is stretched and no gap is left.
    let mut cast: SmallVec<[TensorType; 2]> = SmallVec::new();
    for operand in &operands {
        if let Operand::Tensor(t) = operand {
            let strides = if t.dtype == dtype { t.strides.clone() } else { layout::preserved(c.symbols, t)? };
            cast.push(TensorType { strides, ..(*t).clone() });
        }
    }
    let mut tensors = cast.iter();
    let seen: SmallVec<[Operand<'_>; 2]> = operands
        .iter()
        .filter_map(|o| match o {
            Operand::Tensor(_) => tensors.next().map(Operand::Tensor),
            number => Some(*number),
        })
        .collect();
    out::pointwise(c, dtype, &seen)
}

fn bounded(c: &mut Call<'_>) -> Typed {
    let places: SmallVec<[usize; 3]> = (0..3).filter(|i| !c.is_none(*i)).collect();
    if places.len() < 2 {
        return Err(c.bad(1, "a bound: `min`, `max` or both", "None"));
    }
    let (mut operands, promotion) = operands(c, &places)?;
    operands.retain(|o| matches!(o, Operand::Tensor(_)));
    out::pointwise(c, promotion.dtype()?, &operands)
}

/// The dtype is that of the first operand.
fn blend(c: &mut Call<'_>) -> Typed {
    let dtype = c.tensor(0)?.dtype;
    let places: &[usize] = if matches!(c.operand(2)?, Operand::Tensor(_)) { &[0, 1, 2] } else { &[0, 1] };
    let (operands, _) = operands(c, places)?;
    out::pointwise(c, dtype, &operands)
}

fn three(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1, 2])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

fn complex(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    out::pointwise(c, to_complex(promotion.dtype()?), &operands)
}

/// Written into a tensor like the input, unless the weight makes it larger.
fn prelu(c: &mut Call<'_>) -> Typed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    if &*c.operator.schema.name == "prelu" {
        return out::like(c, t.dtype, t);
    }
    let dims = out::broadcast(c, 1, &[&t.sizes, &weight.sizes])?;
    if sizes::all_same(c.symbols, &dims, &t.sizes) {
        return out::like(c, t.dtype, t);
    }
    out::pointwise(c, t.dtype, &[Operand::Tensor(t), Operand::Tensor(weight)])
}

/// The buffer is empty on CUDA devices alone.
fn log_sigmoid(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let result = out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())?;
    let buffer = if &*t.device.kind != "cuda" {
        result.clone()
    } else {
        out::contiguous(c.symbols, t.dtype, smallvec::smallvec![Dim::Fixed(0)], t.device.clone())?
    };
    Ok(out::many([result, buffer]))
}

fn glu(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = c.axis(1, t.rank())?;
    let mut sizes = t.sizes.clone();
    let size = sizes.get_mut(d).ok_or_else(|| CallFault::mismatch("self", "a tensor with dimensions", "a scalar"))?;
    if size.fixed().is_some_and(|n| n % 2 != 0) {
        return Err(c.bad(0, format!("an even size of dimension {d}"), sizes::show(c.symbols, &t.sizes)));
    }
    *size = sizes::floordiv(c.symbols, *size, Dim::Fixed(2))?;
    // One half times the gate of the other, element by element.
    let half = TensorType { sizes, ..t.clone() };
    out::pointwise(c, t.dtype, &[Operand::Tensor(&half)])
}

fn fake_quantized(c: &mut Call<'_>) -> Typed {
    same(c)
}

fn fake_quantized_masked(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    Ok(out::many([out::like(c, t.dtype, t)?, out::like(c, Dtype::Bool, t)?]))
}

/// A gradient and what the operator saw.
fn backward(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[0, 1])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

/// The input leads: the result is laid out as it is.
fn backward_of_input(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = operands(c, &[1, 0])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

fn of_places(c: &mut Call<'_>, places: &[usize]) -> Typed {
    let (operands, promotion) = operands(c, places)?;
    out::pointwise(c, float_of(promotion.dtype()?), &operands)
}

fn dropout_backward(c: &mut Call<'_>) -> Typed {
    of_places(c, &[0, 1])
}

fn elu_backward(c: &mut Call<'_>) -> Typed {
    of_places(c, &[0, 5])
}

/// Written into a contiguous tensor of the input's dtype.
fn loss_backward(c: &mut Call<'_>) -> Typed {
    let (gradient, t, target) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let dims = out::broadcast(c, 2, &[&t.sizes, &target.sizes, &gradient.sizes])?;
    let (_, promotion) = operands(c, &[0, 1, 2])?;
    if category(promotion.dtype()?) > category(t.dtype) {
        return Err(c.bad(1, "a dtype that holds the gradient", t.dtype.long()));
    }
    out::contiguous(c.symbols, t.dtype, dims, t.device.clone())
}
