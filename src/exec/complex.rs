//! Complex numbers made of parts, taken apart, conjugated; views between them and pairs of real numbers.
//!
//! Conjugation is lazy, as in PyTorch: a mark on a view. The imaginary part of such a view is marked as negated.

use super::complex_math;
use super::cx::Cx;
use super::kernels::Entry;
use super::lane::{C64, C128, Lane, LaneKind, with_lane};
use super::map::{map1, map2};
use super::tensor::Tensor;
use super::value::Value;
use crate::ops::Fault;

type Made = Result<Value, Fault>;

pub(super) const KERNELS: &[Entry] = &[
    (complex, &["aten.complex.default"]),
    (polar, &["aten.polar.default"]),
    (|cx| part(cx, Part::Real), &["aten.real.default"]),
    (|cx| part(cx, Part::Imaginary), &["aten.imag.default"]),
    (conj, &["aten._conj.default", "aten.conj.default"]),
    (conj_physical, &["aten._conj_physical.default", "prims.conj_physical.default"]),
    (resolve_conj, &["aten.resolve_conj.default"]),
    (resolve_neg, &["aten.resolve_neg.default"]),
    (positive, &["aten.positive.default"]),
    (angle, &["aten.angle.default"]),
    (view_as_real, &["aten.view_as_real.default"]),
    (view_as_complex, &["aten.view_as_complex.default"]),
];

/// A complex tensor of two operands that have one float dtype.
fn paired(cx: &mut Cx<'_, '_, '_>, f: impl Fn(f32, f32) -> C64 + Sync, g: impl Fn(f64, f64) -> C128 + Sync) -> Made {
    let (meta, a, b) = (cx.meta()?, cx.tensor(0)?, cx.tensor(1)?);
    if a.dtype() != b.dtype() {
        return Err(cx.bad(1, a.dtype().long(), b.dtype().long()));
    }
    let operands = [cx.operand(0)?, cx.operand(1)?];
    let out = match LaneKind::of(a.dtype()) {
        LaneKind::F32 => map2(cx, &meta, operands, a.dtype(), f),
        LaneKind::F64 => map2(cx, &meta, operands, a.dtype(), g),
        _ => return Err(cx.bad(0, "a float dtype", a.dtype().long())),
    };
    out.map(Value::Tensor)
}

fn complex(cx: &mut Cx<'_, '_, '_>) -> Made {
    paired(cx, C64::new, C128::new)
}

fn polar(cx: &mut Cx<'_, '_, '_>) -> Made {
    paired(
        cx,
        |r, angle| C64::new(r * angle.cos(), r * angle.sin()),
        |r, angle| C128::new(r * angle.cos(), r * angle.sin()),
    )
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Real,
    Imaginary,
}

/// A view of one part; a real tensor is its own real part.
fn part(cx: &mut Cx<'_, '_, '_>, part: Part) -> Made {
    let t = cx.tensor(0)?;
    if !t.dtype().is_complex() {
        return Ok(Value::Tensor(t.clone()));
    }
    let negated = t.neg != (part == Part::Imaginary && t.conj);
    Ok(Value::Tensor(Tensor { conj: false, neg: negated, ..t.with_meta(cx.meta()?)? }))
}

/// Of a real tensor the tensor itself.
fn conj(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    Ok(Value::Tensor(Tensor { conj: t.dtype().is_complex() && !t.conj, ..t.clone() }))
}

fn conj_physical(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    with_lane!(meta.dtype, L => map1(cx, &meta, x, meta.dtype, |v: L| v.conj())).map(Value::Tensor)
}

/// The tensor with its marks carried out; values as they are.
fn carried_out(cx: &Cx<'_, '_, '_>, t: &Tensor) -> Made {
    let meta = super::tensor::Meta { offset: 0, ..t.meta.clone() };
    let dense = super::shape::is_contiguous(&meta.sizes, &meta.strides);
    let meta = if dense { meta } else { dense_like(t) };
    let operand = super::value::Operand::Tensor(t);
    with_lane!(meta.dtype, L => map1(cx, &meta, operand, meta.dtype, |v: L| v)).map(Value::Tensor)
}

/// What `clone` makes of a layout: the same order of dimensions, without gaps.
fn dense_like(t: &Tensor) -> super::tensor::Meta {
    let order = super::shape::memory_order(t.sizes(), &t.meta.strides);
    let packed = super::shape::contiguous(&super::shape::permuted(t.sizes(), &order));
    let mut meta = super::tensor::Meta::contiguous(t.dtype(), t.sizes());
    let expanded = t.meta.strides.iter().zip(t.sizes()).any(|(stride, size)| *stride == 0 && *size > 1);
    if !expanded && super::shape::permuted(&t.meta.strides, &order) == packed {
        meta.strides.clone_from(&t.meta.strides);
    }
    meta
}

fn resolve_conj(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.conj { carried_out(cx, t) } else { Ok(Value::Tensor(t.clone())) }
}

fn resolve_neg(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.neg { carried_out(cx, t) } else { Ok(Value::Tensor(t.clone())) }
}

/// The tensor itself.
fn positive(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.dtype() == crate::graph::Dtype::Bool {
        return Err(cx.bad(0, "numbers", "bool"));
    }
    Ok(Value::Tensor(t.clone()))
}

/// The angle from the positive real axis: of real numbers 0 or pi, and NaN of NaN.
fn angle(cx: &mut Cx<'_, '_, '_>) -> Made {
    use std::f64::consts::PI;
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let from = cx.tensor(0).map_or(meta.dtype, Tensor::dtype);
    let out = match LaneKind::of(from) {
        LaneKind::C64 => map1(cx, &meta, x, from, |z: C64| complex_math::narrow(angle_of(complex_math::widen(z))).re),
        LaneKind::C128 => map1(cx, &meta, x, from, |z: C128| angle_of(z).re),
        LaneKind::F64 => map1(cx, &meta, x, from, |v: f64| real_angle(v, PI)),
        _ => map1(cx, &meta, x, meta.dtype, |v: f32| real_angle(v, std::f32::consts::PI)),
    };
    out.map(Value::Tensor)
}

fn angle_of(z: C128) -> C128 {
    C128::new(z.im.atan2(z.re), 0.0)
}

fn real_angle<R: super::real::Real>(v: R, pi: R) -> R {
    if v.wide().is_nan() {
        v
    } else if v < R::zero() {
        pi
    } else {
        R::zero()
    }
}

fn view_as_real(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.conj {
        return Err(cx.bad(0, "a tensor that is not lazily conjugated; see resolve_conj", "a lazily conjugated one"));
    }
    t.with_meta(cx.meta()?).map(Value::Tensor)
}

fn view_as_complex(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.neg {
        return Err(cx.bad(0, "a tensor that is not lazily negated; see resolve_neg", "a lazily negated one"));
    }
    let odd = |v: &usize| v % 2 != 0;
    let (last, others) = t.meta.strides.split_last().unwrap_or((&0, &[]));
    if *last != 1 || others.iter().any(odd) || odd(&t.meta.offset) {
        let found = format!("strides {:?}, offset {}", t.meta.strides, t.meta.offset);
        return Err(cx.bad(0, "a last stride of 1, other strides and the offset even", found));
    }
    t.with_meta(cx.meta()?).map(Value::Tensor)
}
