//! Comparisons and logic, element by element and of whole tensors.
//!
//! Promises: operands are compared in their common dtype, to which numbers are cast first (so they may wrap or round); NaN is unequal to
//! everything.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, no_kernel, pointwise2, two};
use crate::exec::loops::pointwise::{truths1, truths2};
use crate::exec::loops::promoted::common_dtype;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::fill::{self, Order};
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::lane::{Lane, LaneKind, round_f32, with_lane};
use crate::exec::tensor::value::{Operand, Value};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (eq, &["aten.eq.Tensor", "aten.eq.Scalar", "prims.eq.default"]),
    (ne, &["aten.ne.Tensor", "aten.ne.Scalar", "prims.ne.default"]),
    (lt, &["aten.lt.Tensor", "aten.lt.Scalar", "prims.lt.default"]),
    (le, &["aten.le.Tensor", "aten.le.Scalar", "prims.le.default"]),
    (gt, &["aten.gt.Tensor", "aten.gt.Scalar", "prims.gt.default"]),
    (ge, &["aten.ge.Tensor", "aten.ge.Scalar", "prims.ge.default"]),
    (logical_and, &["aten.logical_and.default"]),
    (logical_or, &["aten.logical_or.default"]),
    (logical_xor, &["aten.logical_xor.default"]),
    (logical_not, &["aten.logical_not.default"]),
    (isclose, &["aten.isclose.default"]),
    (allclose, &["aten.allclose.default"]),
    (equal, &["aten.equal.default"]),
];

/// Comparisons of order have no complex form.
macro_rules! ordered {
    ($name:ident, $op:tt) => {
        fn $name(cx: &mut Cx<'_, '_, '_>) -> Made {
            let (meta, operands) = two(cx)?;
            let common = common_dtype(&operands)?;
            if common == Dtype::U64 {
                return pointwise2!(cx, &meta, operands, common;
                    i64 |a, b| i64::from(a.cast_unsigned() $op b.cast_unsigned()););
            }
            match LaneKind::of(common) {
                LaneKind::F32 => truths2(cx, &meta, operands, common, |a: f32, b: f32| a $op b),
                LaneKind::F64 => truths2(cx, &meta, operands, common, |a: f64, b: f64| a $op b),
                LaneKind::I64 => truths2(cx, &meta, operands, common, |a: i64, b: i64| a $op b),
                LaneKind::C64 | LaneKind::C128 => Err(no_kernel(cx, common)),
            }
            .map(Value::Tensor)
        }
    };
}

ordered!(lt, <);
ordered!(le, <=);
ordered!(gt, >);
ordered!(ge, >=);

fn equality(cx: &Cx<'_, '_, '_>, wanted: bool) -> Made {
    let (meta, operands) = two(cx)?;
    let common = common_dtype(&operands)?;
    with_lane!(common, L => truths2(cx, &meta, operands, common, |a: L, b: L| (a == b) == wanted)).map(Value::Tensor)
}

fn eq(cx: &mut Cx<'_, '_, '_>) -> Made {
    equality(cx, true)
}

fn ne(cx: &mut Cx<'_, '_, '_>) -> Made {
    equality(cx, false)
}

fn logic(cx: &Cx<'_, '_, '_>, f: impl Fn(bool, bool) -> bool + Sync) -> Made {
    let (meta, operands) = two(cx)?;
    let common = common_dtype(&operands)?;
    with_lane!(common, L => truths2(cx, &meta, operands, common, |a: L, b: L| f(a.truth(), b.truth())))
        .map(Value::Tensor)
}

fn logical_and(cx: &mut Cx<'_, '_, '_>) -> Made {
    logic(cx, |a, b| a && b)
}

fn logical_or(cx: &mut Cx<'_, '_, '_>) -> Made {
    logic(cx, |a, b| a || b)
}

fn logical_xor(cx: &mut Cx<'_, '_, '_>) -> Made {
    logic(cx, |a, b| a != b)
}

fn logical_not(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, t) = (cx.meta()?, cx.tensor(0)?);
    let order = Order::of(&meta);
    if t.dtype() == Dtype::Bool && meta.dtype == Dtype::Bool && t.meta.strides == meta.strides && t.meta.is_dense() {
        // Byte by byte: what is stored is 0 or not.
        let flat = t.permute(&order.dims);
        let bytes = flat.raw::<u8>()?;
        let not = |start: usize, part: &mut [u8]| {
            let from = bytes.get(start..).unwrap_or(&[]);
            part.iter_mut().zip(from).for_each(|(o, v)| *o = u8::from(*v == 0));
        };
        return fill::filled_raw(&meta, &order, cx.meter(), &not).map(Value::Tensor);
    }
    let x = Operand::Tensor(t);
    with_lane!(t.dtype(), L => truths1(cx, &meta, x, t.dtype(), |v: L| !v.truth())).map(Value::Tensor)
}

fn same_dtype(cx: &Cx<'_, '_, '_>) -> Result<(), CallFault> {
    let (a, b) = (cx.tensor(0)?.dtype(), cx.tensor(1)?.dtype());
    if a != b {
        return Err(cx.bad(1, format!("a tensor of {}, as the first one", a.long()), b.long()));
    }
    Ok(())
}

/// How near two values must be.
struct Nearness {
    relative: f64,
    absolute: f64,
    equal_nan: bool,
}

fn nearness(cx: &Cx<'_, '_, '_>) -> Result<Nearness, CallFault> {
    let out = Nearness { relative: cx.f64(2)?, absolute: cx.f64(3)?, equal_nan: cx.bool(4)? };
    for (i, v) in [(2, out.relative), (3, out.absolute)] {
        if v.is_nan() || v < 0.0 {
            return Err(cx.bad(i, "0 or more", v.to_string()));
        }
    }
    Ok(out)
}

/// In floats: integers are converted to `f32` first. `r` rounds each step to the dtype.
macro_rules! near {
    ($name:ident, $float:ty, $value:ty, $nan:expr, $magnitude:expr) => {
        #[allow(clippy::cast_possible_truncation)]
        fn $name(by: &Nearness, a: $value, b: $value, r: impl Fn($float) -> $float) -> bool {
            if a == b || by.equal_nan && $nan(a) && $nan(b) {
                return true;
            }
            if by.relative == 0.0 && by.absolute == 0.0 {
                return false;
            }
            let allowed = r(r(by.absolute as $float) + r($magnitude(b) * by.relative as $float).abs());
            let actual = r($magnitude(a - b));
            actual.is_finite() && actual <= allowed
        }
    };
}

near!(near_f32, f32, f32, f32::is_nan, f32::abs);
near!(near_f64, f64, f64, f64::is_nan, f64::abs);
near!(
    near_c64,
    f32,
    crate::exec::tensor::lane::C64,
    |v: crate::exec::tensor::lane::C64| v.re.is_nan() || v.im.is_nan(),
    |v: crate::exec::tensor::lane::C64| v.re.hypot(v.im)
);
near!(
    near_c128,
    f64,
    crate::exec::tensor::lane::C128,
    |v: crate::exec::tensor::lane::C128| v.re.is_nan() || v.im.is_nan(),
    |v: crate::exec::tensor::lane::C128| v.re.hypot(v.im)
);

/// Integers are equal, or near as `f32`.
fn near_i64(by: &Nearness, a: i64, b: i64) -> bool {
    a == b || (by.relative != 0.0 || by.absolute != 0.0) && near_f32(by, a.to_f32(), b.to_f32(), |v| v)
}

fn isclose(cx: &mut Cx<'_, '_, '_>) -> Made {
    same_dtype(cx)?;
    let (meta, operands) = two(cx)?;
    let (by, dtype) = (nearness(cx)?, cx.tensor(0)?.dtype());
    pointwise2!(cx, &meta, operands, dtype;
        f32 |a, b| i64::from(near_f32(&by, a, b, |v| round_f32(dtype, v)));
        f64 |a, b| i64::from(near_f64(&by, a, b, |v| v));
        i64 |a, b| i64::from(near_i64(&by, a, b));
        c64 |a, b| i64::from(near_c64(&by, a, b, |v| v));
        c128 |a, b| i64::from(near_c128(&by, a, b, |v| v));)
}

fn allclose(cx: &mut Cx<'_, '_, '_>) -> Made {
    let close = cx.run_tensor("aten.isclose.default", &cx.values())?;
    let all = close.lanes::<i64>()?.iter().all(|v| *v != 0);
    Ok(Value::Bool(all))
}

fn equal(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    if a.sizes() != b.sizes() {
        return Ok(Value::Bool(false));
    }
    if a.dtype() != b.dtype() {
        let equal = cx.run_tensor("aten.eq.Tensor", &cx.values())?;
        return Ok(Value::Bool(equal.lanes::<i64>()?.iter().all(|v| *v != 0)));
    }
    Ok(Value::Bool(same_values(a, b)?))
}

/// NaN differs from itself, so floats are compared as numbers; integers by their bits.
fn same_values(a: &Tensor, b: &Tensor) -> Result<bool, CallFault> {
    if LaneKind::of(a.dtype()) == LaneKind::I64 && a.dtype() != Dtype::Bool {
        return Ok(with_width!(a.dtype().bytes(), U => *a.raw::<U>()? == *b.raw::<U>()?));
    }
    Ok(with_lane!(a.dtype(), L => *a.lanes::<L>()? == *b.lanes::<L>()?))
}
