//! Elementary and special functions of one float operand: exp, log, sin, erf, lgamma and their like.
//!
//! An operand of integers is cast to the result's dtype first. Complex operands are computed in `f64` parts and rounded once.

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use crate::exec::call::cx::Cx;
use crate::exec::dense::exp;
use crate::exec::kernels::Entry;
use crate::exec::loops::pointwise::map1;
use crate::exec::numbers::bessel;
use crate::exec::numbers::complex;
use crate::exec::numbers::gamma;
use crate::exec::numbers::real::{Real, narrowed, not_real, with_real};
use crate::exec::numbers::special;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::{C64, C128, LaneKind, round_f32};
use crate::exec::tensor::source::{Buffer, Source};
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        |cx| composed(cx, f32::sqrt, f64::sqrt, complex::sqrt, complex::sqrt),
        &["aten.sqrt.default", "prims.sqrt.default"],
    ),
    (
        |cx| composed(cx, |v| 1.0 / v.sqrt(), |v| 1.0 / v.sqrt(), complex::rsqrt, complex::rsqrt),
        &["aten.rsqrt.default", "prims.rsqrt.default"],
    ),
    (
        |cx| composed(cx, |v| 1.0 / v, |v| 1.0 / v, complex::reciprocal, complex::reciprocal),
        &["aten.reciprocal.default", "prims.reciprocal.default"],
    ),
    (
        |cx| by_slices(cx, exp::exp_slice, |cx| all(cx, f32::exp, f64::exp, complex::exp)),
        &["aten.exp.default", "prims.exp.default"],
    ),
    (
        |cx| composed(cx, f32::exp2, f64::exp2, complex::exp2, complex::exp2),
        &["aten.exp2.default", "prims.exp2.default"],
    ),
    (|cx| all(cx, f32::exp_m1, f64::exp_m1, complex::exp_m1), &["aten.expm1.default", "prims.expm1.default"]),
    (|cx| all(cx, f32::ln, f64::ln, complex::ln), &["aten.log.default", "prims.log.default"]),
    (|cx| all(cx, f32::log2, f64::log2, complex::log2), &["aten.log2.default", "prims.log2.default"]),
    (|cx| all(cx, f32::log10, f64::log10, complex::log10), &["aten.log10.default", "prims.log10.default"]),
    (|cx| all(cx, f32::ln_1p, f64::ln_1p, complex::ln_1p), &["aten.log1p.default", "prims.log1p.default"]),
    (|cx| all(cx, f32::sin, f64::sin, complex::sin), &["aten.sin.default", "prims.sin.default"]),
    (|cx| all(cx, f32::cos, f64::cos, complex::cos), &["aten.cos.default", "prims.cos.default"]),
    (|cx| all(cx, f32::tan, f64::tan, complex::tan), &["aten.tan.default", "prims.tan.default"]),
    (|cx| all(cx, f32::asin, f64::asin, complex::asin), &["aten.asin.default", "prims.asin.default"]),
    (|cx| all(cx, f32::acos, f64::acos, complex::acos), &["aten.acos.default", "prims.acos.default"]),
    (|cx| all(cx, f32::atan, f64::atan, complex::atan), &["aten.atan.default", "prims.atan.default"]),
    (|cx| all(cx, f32::sinh, f64::sinh, complex::sinh), &["aten.sinh.default", "prims.sinh.default"]),
    (|cx| all(cx, f32::cosh, f64::cosh, complex::cosh), &["aten.cosh.default", "prims.cosh.default"]),
    (
        |cx| by_slices(cx, exp::tanh_slice, |cx| all(cx, f32::tanh, f64::tanh, complex::tanh)),
        &["aten.tanh.default", "prims.tanh.default"],
    ),
    (|cx| all(cx, narrowed(libm::asinh), libm::asinh, complex::asinh), &["aten.asinh.default", "prims.asinh.default"]),
    (
        |cx| all(cx, narrowed(special::acosh), special::acosh, complex::acosh),
        &["aten.acosh.default", "prims.acosh.default"],
    ),
    (|cx| all(cx, narrowed(libm::atanh), libm::atanh, complex::atanh), &["aten.atanh.default", "prims.atanh.default"]),
    (
        |cx| {
            by_slices(cx, exp::sigmoid_slice, |cx| {
                composed(cx, special::sigmoid, special::sigmoid, complex::sigmoid, complex::sigmoid)
            })
        },
        &["aten.sigmoid.default"],
    ),
    (|cx| by_slices(cx, exp::erf_slice, erf), &["aten.erf.default", "prims.erf.default"]),
    (|cx| real(cx, narrowed(libm::erfc), libm::erfc), &["aten.erfc.default", "prims.erfc.default"]),
    (|cx| real(cx, narrowed(special::erfinv), special::erfinv), &["aten.erfinv.default", "prims.erf_inv.default"]),
    (|cx| real(cx, narrowed(libm::lgamma), libm::lgamma), &["aten.lgamma.default", "prims.lgamma.default"]),
    (|cx| real(cx, special::digamma, special::digamma), &["aten.digamma.default", "prims.digamma.default"]),
    (|cx| composed(cx, special::sinc, special::sinc, complex::sinc, complex::sinc), &["aten.sinc.default"]),
    (|cx| scaled(cx, 0.017_453_292_519_943_295), &["aten.deg2rad.default"]),
    (|cx| scaled(cx, 57.295_779_513_082_32), &["aten.rad2deg.default"]),
    (logit, &["aten.logit.default"]),
    (polygamma, &["aten.polygamma.default"]),
    (frexp, &["aten.frexp.Tensor"]),
    (
        |cx| real(cx, overflowing(bessel::i0), bessel::i0),
        &["aten.i0.default", "aten.special_modified_bessel_i0.default"],
    ),
    (
        |cx| real(cx, overflowing(bessel::i1), bessel::i1),
        &["aten.special_i1.default", "aten.special_modified_bessel_i1.default"],
    ),
    (|cx| real(cx, narrowed(bessel::i0e), bessel::i0e), &["aten.special_i0e.default"]),
    (|cx| real(cx, narrowed(bessel::i1e), bessel::i1e), &["aten.special_i1e.default"]),
    (|cx| real(cx, narrowed(bessel::k0), bessel::k0), &["aten.special_modified_bessel_k0.default"]),
    (|cx| real(cx, narrowed(bessel::k1), bessel::k1), &["aten.special_modified_bessel_k1.default"]),
    (|cx| real(cx, narrowed(bessel::k0e), bessel::k0e), &["aten.special_scaled_modified_bessel_k0.default"]),
    (|cx| real(cx, narrowed(bessel::k1e), bessel::k1e), &["aten.special_scaled_modified_bessel_k1.default"]),
    (|cx| real(cx, narrowed(bessel::j0), bessel::j0), &["aten.special_bessel_j0.default"]),
    (|cx| real(cx, narrowed(bessel::j1), bessel::j1), &["aten.special_bessel_j1.default"]),
    (|cx| real(cx, narrowed(bessel::y0), bessel::y0), &["aten.special_bessel_y0.default"]),
    (|cx| real(cx, narrowed(bessel::y1), bessel::y1), &["aten.special_bessel_y1.default"]),
    (
        |cx| real(cx, narrowed(bessel::spherical_j0), bessel::spherical_j0),
        &["aten.special_spherical_bessel_j0.default"],
    ),
    (|cx| real(cx, narrowed(gamma::ndtri), gamma::ndtri), &["aten.special_ndtri.default"]),
    (|cx| real(cx, narrowed(bessel::erfcx), bessel::erfcx), &["aten.special_erfcx.default"]),
];

/// A fraction of half to one, and the power of two; what has none is its own fraction.
fn frexp(cx: &mut Cx<'_, '_, '_>) -> Made {
    let apart = |v: &f64| if v.is_finite() { libm::frexp(*v) } else { (*v, 0) };
    let (fractions, powers): (Vec<f64>, Vec<f64>) =
        cx.tensor(0)?.lanes::<f64>()?.iter().map(apart).map(|(f, e)| (f, f64::from(e))).unzip();
    let both = [cx.emit_at(0, fractions)?, cx.emit_at(1, powers)?];
    Ok(Value::List(both.map(Value::Tensor).into()))
}

/// Digamma or one of its derivatives: `(-1)^(n+1) n! zeta(n + 1, x)` from the second on.
fn polygamma(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (n, meta, x) = (cx.int(0)?, cx.meta()?, cx.operand(1)?);
    if !(0..=100).contains(&n) {
        return Err(cx.bad(0, "an order of 0 to 100", n.to_string()));
    }
    #[allow(clippy::cast_precision_loss)] // At most 101.
    let f = move |x: f64| match n {
        0 => special::digamma(x),
        1 => bessel::trigamma(x),
        _ => {
            let factorial = (1..=n).fold(1.0, |p, k| p * k as f64);
            (if n & 1 == 1 { factorial } else { -factorial }) * bessel::zeta(n.saturating_add(1) as f64, x)
        }
    };
    #[allow(clippy::cast_possible_truncation)] // Rounded once.
    let out = match LaneKind::of(meta.dtype) {
        LaneKind::F32 => map1(cx, &meta, x, meta.dtype, move |x: f32| f(f64::from(x)) as f32),
        LaneKind::F64 => map1(cx, &meta, x, meta.dtype, f),
        _ => Err(not_real(cx, meta.dtype)),
    };
    out.map(Value::Tensor)
}

/// The same for `f32`, infinite from where its factor `e^|x|` is as an `f32`; of an infinite argument its other factor is 0.
fn overflowing(f: fn(f64) -> f64) -> impl Fn(f32) -> f32 {
    move |x| {
        let factor = x.abs().exp();
        if factor.is_infinite() && x.is_finite() { factor.copysign(narrowed(f)(x)) } else { narrowed(f)(x) }
    }
}

/// A function of real numbers.
pub(in crate::exec) fn real(
    cx: &mut Cx<'_, '_, '_>,
    single: impl Fn(f32) -> f32 + Sync,
    double: impl Fn(f64) -> f64 + Sync,
) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let out = match LaneKind::of(meta.dtype) {
        LaneKind::F32 => map1(cx, &meta, x, meta.dtype, single),
        LaneKind::F64 => map1(cx, &meta, x, meta.dtype, double),
        _ => Err(not_real(cx, meta.dtype)),
    };
    out.map(Value::Tensor)
}

/// From this many elements on vectors of numbers are computed at once, to 2 or 3 units in the last place instead of 1.
const LONG: usize = 1024;

/// A function that `dense` has for slices of `f32`; `otherwise` computes short tensors and other dtypes.
pub(in crate::exec) fn by_slices(
    cx: &mut Cx<'_, '_, '_>,
    slices: fn(&[f32], &mut [f32]),
    otherwise: fn(&mut Cx<'_, '_, '_>) -> Made,
) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    if LaneKind::of(meta.dtype) != LaneKind::F32 || meta.numel() < LONG {
        return otherwise(cx);
    }
    let order = Order::of(&meta);
    let source = Source::<f32>::broadcast(&x, &meta.sizes, &order.dims, Some(meta.dtype))?;
    let out = cx.fill(&meta, &order, &|start, part: &mut [f32]| {
        let mut buffer = Buffer::default();
        slices(source.chunk(start, part.len(), &mut buffer), part);
    });
    out.map(Value::Tensor)
}

/// A function of real and complex numbers.
pub(in crate::exec) fn all(
    cx: &mut Cx<'_, '_, '_>,
    single: impl Fn(f32) -> f32 + Sync,
    double: impl Fn(f64) -> f64 + Sync,
    of_complex: fn(C128) -> C128,
) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    match LaneKind::of(meta.dtype) {
        LaneKind::C64 => {
            map1(cx, &meta, x, meta.dtype, |z: C64| complex::narrow(of_complex(complex::widen(z)))).map(Value::Tensor)
        }
        LaneKind::C128 => map1(cx, &meta, x, meta.dtype, of_complex).map(Value::Tensor),
        _ => real(cx, single, double),
    }
}

/// A function that is computed in the operand's own parts where it is complex.
pub(in crate::exec) fn composed(
    cx: &mut Cx<'_, '_, '_>,
    single: impl Fn(f32) -> f32 + Sync,
    double: impl Fn(f64) -> f64 + Sync,
    single_complex: fn(C64) -> C64,
    double_complex: fn(C128) -> C128,
) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    match LaneKind::of(meta.dtype) {
        LaneKind::C64 => map1(cx, &meta, x, meta.dtype, single_complex).map(Value::Tensor),
        LaneKind::C128 => map1(cx, &meta, x, meta.dtype, double_complex).map(Value::Tensor),
        _ => real(cx, single, double),
    }
}

/// A product with a constant, which is rounded to the lane.
fn scaled(cx: &mut Cx<'_, '_, '_>, factor: f64) -> Made {
    #[allow(clippy::cast_possible_truncation)]
    let narrow = factor as f32;
    real(cx, |v| v * narrow, |v| v * factor)
}

fn erf(cx: &mut Cx<'_, '_, '_>) -> Made {
    if matches!(cx.meta()?.dtype, Dtype::F16 | Dtype::Bf16) {
        return real(cx, special::coarse_erf, libm::erf);
    }
    real(cx, narrowed(libm::erf), libm::erf)
}

/// The logarithm of the odds, each step rounded to the dtype; with `eps`, of what has been clamped to `eps..=1 - eps`.
fn logit(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let eps = cx.opt_scalar(1)?.map(crate::exec::tensor::value::Scalar::to_f64);
    #[allow(clippy::cast_possible_truncation)]
    let rounded = |v: f64| match meta.dtype {
        Dtype::F16 | Dtype::Bf16 => f64::from(round_f32(meta.dtype, v as f32)),
        _ => v,
    };
    with_real!(cx, meta.dtype, R => {
        let round = |v: R| R::of(rounded(v.wide()));
        let bounds = eps.map(|e| (round(R::of(e)), round(R::one() - round(R::of(e)))));
        map1(cx, &meta, x, meta.dtype, |v: R| {
            let v = match bounds {
                Some((low, _)) if v < low => low,
                Some((_, high)) if v > high => high,
                _ => v,
            };
            let rest = round(R::one() - v);
            round(v / rest).ln()
        })
    })
    .map(Value::Tensor)
}

#[cfg(test)]
mod tests {
    use crate::exec::tensor::fill;
    use crate::exec::tensor::lane::C64;
    use crate::exec::{Kernels, Meta, Session, Tensor, Value};
    use crate::graph::Dtype;
    use crate::ops::Registry;

    /// The values that an operator makes of these.
    fn call<L: crate::exec::tensor::lane::Lane>(target: &str, dtype: Dtype, values: &[L]) -> Vec<L> {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let mut session = Session::new(&registry, &kernels, 0);
        let meta = Meta::contiguous(dtype, &[values.len()]);
        let t = fill::from_lanes(&meta, values.to_vec(), session.meter()).unwrap();
        let made = session.call(target, &[Value::Tensor(t)], &[]).unwrap();
        made.as_tensor().map(Tensor::lanes::<L>).unwrap().unwrap().into_vec()
    }

    #[test]
    fn long_rows_give_what_short_ones_give_to_a_few_units_in_the_last_place() {
        for target in ["exp", "tanh", "sigmoid", "silu", "erf"].map(|n| format!("aten.{n}.default")) {
            let values: Vec<f32> = (0..2048_u16).map(|k| f32::from(k) / 128.0 - 8.0).collect();
            let long = call(&target, Dtype::F32, &values);
            let short: Vec<f32> = values.chunks(512).flat_map(|part| call(&target, Dtype::F32, part)).collect();
            for (a, b) in long.iter().zip(&short) {
                assert!(a.to_bits().abs_diff(b.to_bits()) <= 4, "{target}: {a} is not {b}");
            }
        }
    }

    #[test]
    fn roots_and_logarithms_of_negative_numbers_are_nan_and_signs_of_zeros_stay() {
        assert!(call("aten.sqrt.default", Dtype::F32, &[-1.0_f32])[0].is_nan());
        assert!(call("aten.log.default", Dtype::F32, &[-1.0_f32])[0].is_nan());
        assert_eq!(call("aten.rsqrt.default", Dtype::F32, &[-0.0_f32]), [f32::NEG_INFINITY]);
        assert!(call("aten.sin.default", Dtype::F32, &[-0.0_f32])[0].is_sign_negative());
        assert!(call("aten.acosh.default", Dtype::F64, &[f64::NEG_INFINITY])[0].is_nan());
    }

    #[test]
    fn halves_are_computed_in_single_precision_and_rounded_once() {
        // e^0.5 = 1.6487: the nearest bfloat16 is 1.6484375.
        assert_eq!(call("aten.exp.default", Dtype::Bf16, &[0.5_f32]), [1.648_437_5]);
        assert_eq!(call("aten.reciprocal.default", Dtype::F16, &[3.0_f32]), [0.333_251_95]);
    }

    #[test]
    fn a_complex_reciprocal_of_zero_has_an_infinite_real_part_only() {
        let z = call("aten.reciprocal.default", Dtype::C64, &[C64::new(0.0, 0.0)])[0];
        assert!(z.re == f32::INFINITY && z.im.is_nan());
    }
}
