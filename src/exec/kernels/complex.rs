//! Complex numbers made of parts, their angles, and conjugates carried out. Leaves views of their parts to `view_complex`.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::loops::pointwise::{map1, map2};
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind, with_lane};
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (complex, &["aten.complex.default"]),
    (polar, &["aten.polar.default"]),
    (conj_physical, &["aten._conj_physical.default", "prims.conj_physical.default"]),
    (positive, &["aten.positive.default"]),
    (angle, &["aten.angle.default"]),
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

fn conj_physical(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    with_lane!(meta.dtype, L => map1(cx, &meta, x, meta.dtype, |v: L| v.conj())).map(Value::Tensor)
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
        LaneKind::C64 => map1(cx, &meta, x, from, |z: C64| z.im.atan2(z.re)),
        LaneKind::C128 => map1(cx, &meta, x, from, |z: C128| z.im.atan2(z.re)),
        LaneKind::F64 => map1(cx, &meta, x, from, |v: f64| real_angle(v, PI)),
        _ => map1(cx, &meta, x, meta.dtype, |v: f32| real_angle(v, std::f32::consts::PI)),
    };
    out.map(Value::Tensor)
}

fn real_angle<R: crate::exec::numbers::real::Real>(v: R, pi: R) -> R {
    if v.wide().is_nan() {
        v
    } else if v < R::zero() {
        pi
    } else {
        R::zero()
    }
}
