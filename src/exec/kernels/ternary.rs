//! Arithmetic of three operands: addcmul, addcdiv, lerp; and the distance of two tensors.

#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use num_complex::Complex;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::loops::pointwise::{map2, map3};
use crate::exec::numbers::checked::fits;
use crate::exec::numbers::complex::divide;
use crate::exec::numbers::real::Real;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind, round_f32};
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Operand, Value};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (lerp, &["aten.lerp.Scalar", "aten.lerp.Tensor"]),
    (addcmul, &["aten.addcmul.default"]),
    (addcdiv, &["aten.addcdiv.default"]),
    (dist, &["aten.dist.default"]),
];

/// The weighted mean, from whichever end is nearer: both ends are met exactly.
fn blend<R: Real>(from: R, to: R, weight: R) -> R {
    let half = R::of(0.5);
    if Real::abs(weight) < half { weight.mul_add(to - from, from) } else { (to - from).mul_add(weight - R::one(), to) }
}

fn complex_blend<R: Real>(from: Complex<R>, to: Complex<R>, weight: Complex<R>) -> Complex<R> {
    let product = |a: Complex<R>, b: Complex<R>| Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
    let apart = Complex::new(to.re - from.re, to.im - from.im);
    if weight.re * weight.re + weight.im * weight.im < R::of(0.25) {
        let step = product(weight, apart);
        Complex::new(from.re + step.re, from.im + step.im)
    } else {
        let step = product(apart, Complex::new(R::one() - weight.re, -weight.im));
        Complex::new(to.re - step.re, to.im - step.im)
    }
}

fn lerp(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let operands = [cx.operand(0)?, cx.operand(1)?, cx.operand(2)?];
    let dtype = meta.dtype;
    for (i, operand) in operands.iter().enumerate() {
        if let Operand::Tensor(t) = operand
            && t.dtype() != dtype
            && (i < 2 || t.rank() > 0)
        {
            return Err(cx.bad(i, dtype.long(), t.dtype().long()));
        }
    }
    // A number as weight keeps its digits; `map3` would round it to the dtype.
    let [from, to, weight] = operands;
    let out = match (LaneKind::of(dtype), weight) {
        (LaneKind::F32, Operand::Number(w)) => {
            let w = number::<f32>(w, None);
            map2(cx, &meta, [from, to], dtype, |a: f32, b: f32| blend(a, b, w))
        }
        (LaneKind::F32, _) => map3(cx, &meta, operands, dtype, blend::<f32>),
        (LaneKind::F64, _) => map3(cx, &meta, operands, dtype, blend::<f64>),
        (LaneKind::C64, _) => map3(cx, &meta, operands, dtype, complex_blend::<f32>),
        (LaneKind::C128, _) => map3(cx, &meta, operands, dtype, complex_blend::<f64>),
        (LaneKind::I64, _) => return Err(cx.bad(0, "floats or complex numbers", dtype.long())),
    };
    out.map(Value::Tensor)
}

/// self + value * tensor1 * tensor2.
fn addcmul(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, factor) = (cx.meta()?, cx.scalar(3)?);
    let operands = [cx.operand(0)?, cx.operand(1)?, cx.operand(2)?];
    let dtype = meta.dtype;
    macro_rules! lanes {
        ($L:ident) => {{
            let factor = number::<$L>(factor, None);
            map3(cx, &meta, operands, dtype, |a: $L, b: $L, c: $L| a + factor * b * c)
        }};
    }
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => lanes!(f32),
        LaneKind::F64 => lanes!(f64),
        LaneKind::C64 => lanes!(C64),
        LaneKind::C128 => lanes!(C128),
        LaneKind::I64 => {
            if !fits(factor, dtype) {
                let found = factor.to_f64().to_string();
                return Err(cx.bad(3, format!("a number that {} holds", dtype.long()), found));
            }
            let factor = factor.to_i64();
            map3(cx, &meta, operands, dtype, |a: i64, b: i64, c: i64| {
                a.wrapping_add(factor.wrapping_mul(b).wrapping_mul(c))
            })
        }
    };
    out.map(Value::Tensor)
}

/// self + value * tensor1 / tensor2.
fn addcdiv(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, factor) = (cx.meta()?, cx.scalar(3)?);
    let operands = [cx.operand(0)?, cx.operand(1)?, cx.operand(2)?];
    let dtype = meta.dtype;
    let integers = |i: usize| cx.tensor(i).is_ok_and(|t| LaneKind::of(t.dtype()) == LaneKind::I64);
    if integers(1) && integers(2) {
        return Err(cx.bad(1, "floats: integers are not divided here", "integers"));
    }
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => {
            let factor = number::<f32>(factor, None);
            map3(cx, &meta, operands, dtype, |a: f32, b: f32, c: f32| a + factor * b / c)
        }
        LaneKind::F64 => {
            let factor = number::<f64>(factor, None);
            map3(cx, &meta, operands, dtype, |a: f64, b: f64, c: f64| a + factor * b / c)
        }
        LaneKind::C64 => {
            let factor = number::<C64>(factor, None);
            map3(cx, &meta, operands, dtype, |a: C64, b: C64, c: C64| a + divide(factor * b, c))
        }
        LaneKind::C128 => {
            let factor = number::<C128>(factor, None);
            map3(cx, &meta, operands, dtype, |a: C128, b: C128, c: C128| a + divide(factor * b, c))
        }
        LaneKind::I64 => return Err(cx.bad(0, "floats or complex numbers", dtype.long())),
    };
    out.map(Value::Tensor)
}

/// The sizes that both broadcast to; that they do is the type rule's.
fn common_sizes(a: &[usize], b: &[usize]) -> Shape {
    let rank = a.len().max(b.len());
    let padded = |v: &[usize]| {
        let lead = rank.saturating_sub(v.len());
        std::iter::repeat_n(1, lead).chain(v.iter().copied()).collect::<Shape>()
    };
    padded(a).iter().zip(&padded(b)).map(|(x, y)| if *x == 1 { *y } else { *x }).collect()
}

/// The p-norm of the difference, summed in `f64`.
fn dist(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, p) = (cx.meta()?, cx.f64(2)?);
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if LaneKind::of(meta.dtype) == LaneKind::I64 {
        return Err(cx.bad(0, "floats or complex numbers", meta.dtype.long()));
    }
    let sizes = common_sizes(a.sizes(), b.sizes());
    let (a, b) = (a.broadcast(&sizes)?, b.broadcast(&sizes)?);
    let complex = a.dtype().is_complex() || b.dtype().is_complex();
    let (a, b) = (a.lanes::<C128>()?, b.lanes::<C128>()?);
    // The difference is a tensor of its own in PyTorch, rounded as one.
    let rounded = |v: f64| match meta.dtype {
        Dtype::F64 => v,
        _ => f64::from(round_f32(meta.dtype, f32::from_f64(v))),
    };
    let apart = a.iter().zip(b.iter()).map(|(a, b)| {
        let d = a - b;
        if complex { d.re.hypot(d.im) } else { rounded(d.re).abs() }
    });
    if apart.len() == 0 && (p < 0.0 || p == f64::INFINITY) {
        return Err(cx.bad(0, format!("elements, for the norm of order {p}"), "none"));
    }
    let largest = |x: f64, y: f64| if x.is_nan() || y.is_nan() { f64::NAN } else { x.max(y) };
    let smallest = |x: f64, y: f64| if x.is_nan() || y.is_nan() { f64::NAN } else { x.min(y) };
    let norm = if p == 0.0 {
        apart.map(|d| f64::from(u8::from(d != 0.0))).sum()
    } else if p == f64::INFINITY {
        apart.fold(0.0, largest)
    } else if p == f64::NEG_INFINITY {
        apart.fold(f64::INFINITY, smallest)
    } else if p == 1.0 {
        apart.sum()
    } else if p == 2.0 {
        apart.map(|d| d * d).sum::<f64>().sqrt()
    } else {
        apart.map(|d| d.powf(p)).sum::<f64>().powf(1.0 / p)
    };
    cx.emit(vec![norm])
}
