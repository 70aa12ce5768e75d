//! Arithmetic of two operands: sums, differences, products.
//!
//! Promises: PyTorch's roundings. A number is rounded to the narrow float dtype before it is added, but multiplies as it is; `alpha`
//! times the operand is rounded by itself in narrow floats, and not at all in wide ones. Leaves quotients to `division`.

use std::ops::{Add, Mul};

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::numbers::checked::check_fits;
use crate::exec::tensor::Meta;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind, round_f32};
use crate::exec::tensor::source::{Buffer, Source, number};
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (add, &["aten.add.Tensor", "aten.add.Scalar", "prims.add.default"]),
    (sub, &["aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", "prims.sub.default"]),
    (rsub, &["aten.rsub.Tensor", "aten.rsub.Scalar"]),
    (mul, &["aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor", "prims.mul.default"]),
];

pub(in crate::exec) type Made = Result<Value, CallFault>;

/// Computes two operands element by element in the lane of `$common`; what is not given is not supported.
macro_rules! pointwise2 {
    ($cx:expr, $out:expr, $operands:expr, $common:expr; $($kind:ident |$a:pat_param, $b:pat_param| $body:expr;)+) => {{
        let (cx, out, operands, common): (_, _, _, $crate::graph::Dtype) = (&*$cx, $out, $operands, $common);
        match $crate::exec::tensor::lane::LaneKind::of(common) {
            $($crate::exec::kernels::arithmetic::pointwise2!(@kind $kind) => {
                $crate::exec::loops::pointwise::map2(
                    cx,
                    out,
                    operands,
                    common,
                    |$a: $crate::exec::kernels::arithmetic::pointwise2!(@lane $kind), $b: $crate::exec::kernels::arithmetic::pointwise2!(@lane $kind)| $body,
                )
                .map($crate::exec::tensor::value::Value::Tensor)
            })+
            #[allow(unreachable_patterns)]
            _ => Err($crate::exec::kernels::arithmetic::no_kernel(cx, common)),
        }
    }};
    (@kind f32) => { $crate::exec::tensor::lane::LaneKind::F32 };
    (@kind f64) => { $crate::exec::tensor::lane::LaneKind::F64 };
    (@kind i64) => { $crate::exec::tensor::lane::LaneKind::I64 };
    (@kind c64) => { $crate::exec::tensor::lane::LaneKind::C64 };
    (@kind c128) => { $crate::exec::tensor::lane::LaneKind::C128 };
    (@lane f32) => { f32 };
    (@lane f64) => { f64 };
    (@lane i64) => { i64 };
    (@lane c64) => { $crate::exec::tensor::lane::C64 };
    (@lane c128) => { $crate::exec::tensor::lane::C128 };
}
pub(in crate::exec) use pointwise2;

pub(in crate::exec) fn no_kernel(cx: &Cx<'_, '_, '_>, dtype: Dtype) -> CallFault {
    CallFault::Unsupported { what: format!("`{}` in {}", cx.call.operator.target, dtype.long()) }
}

/// Returns the result's type and the first two operands.
pub(in crate::exec) fn two<'a>(cx: &Cx<'a, '_, '_>) -> Result<(Meta, [Operand<'a>; 2]), CallFault> {
    Ok((cx.meta()?, [cx.operand(0)?, cx.operand(1)?]))
}

/// Returns whether a dtype is a float that is computed in `f32` and rounded.
pub(in crate::exec) fn is_narrow(dtype: Dtype) -> bool {
    LaneKind::of(dtype) == LaneKind::F32 && dtype != Dtype::F32
}

/// Returns the number that an operand of one element is, before any cast to a narrow dtype.
pub(in crate::exec) fn single(operand: &Operand<'_>) -> Result<Option<f32>, CallFault> {
    match operand {
        Operand::Number(n) => Ok(Some(number(*n, Some(Dtype::F32)))),
        Operand::Tensor(t) if t.numel() == 1 => Ok(t.lanes::<f32>()?.first().copied()),
        Operand::Tensor(_) => Ok(None),
    }
}

fn add(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let alpha = alpha(cx, &meta)?;
    sum(cx, &meta, operands, alpha)
}

fn sub(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    refuse_booleans(cx, &operands)?;
    let alpha = alpha(cx, &meta)?;
    sum(cx, &meta, operands, negated(alpha))
}

fn rsub(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, [a, b]) = two(cx)?;
    refuse_booleans(cx, &[a, b])?;
    let alpha = alpha(cx, &meta)?;
    sum(cx, &meta, [b, a], negated(alpha))
}

fn negated(n: Scalar) -> Scalar {
    match n {
        Scalar::Bool(v) => Scalar::Int(i64::from(v).wrapping_neg()),
        Scalar::Int(v) => Scalar::Int(v.wrapping_neg()),
        Scalar::Float(v) => Scalar::Float(-v),
        Scalar::Complex(re, im) => Scalar::Complex(-re, -im),
    }
}

fn refuse_booleans(cx: &Cx<'_, '_, '_>, operands: &[Operand<'_>]) -> Result<(), CallFault> {
    let boolean = |o: &Operand<'_>| match o {
        Operand::Tensor(t) => t.dtype() == Dtype::Bool,
        Operand::Number(n) => matches!(n, Scalar::Bool(_)),
    };
    if operands.iter().any(boolean) {
        return Err(cx.bad(0, "numbers (of booleans take `bitwise_xor` or `logical_not`)", "booleans"));
    }
    Ok(())
}

/// Returns `alpha`, which must be of the result's kind.
fn alpha(cx: &Cx<'_, '_, '_>, meta: &Meta) -> Result<Scalar, CallFault> {
    let Some(i) = cx.operator.schema.param_index("alpha") else { return Ok(Scalar::Int(1)) };
    let alpha = cx.scalar(i)?;
    let kind = match alpha {
        Scalar::Bool(_) => meta.dtype == Dtype::Bool,
        Scalar::Int(_) => true,
        Scalar::Float(_) => meta.dtype.is_float() || meta.dtype.is_complex(),
        Scalar::Complex(..) => meta.dtype.is_complex(),
    };
    if !kind {
        return Err(cx.bad(i, format!("a number of the kind of {}", meta.dtype.long()), format!("{alpha:?}")));
    }
    check_fits(cx, i, alpha, meta.dtype)?;
    Ok(alpha)
}

/// Returns how many elements PyTorch's vector loop computes, which rounds less often here and there: whole vectors of 64 bytes where
/// operands lie in memory as the result does. The rest is computed one by one.
pub(in crate::exec) fn in_vectors(meta: &Meta, operands: &[Operand<'_>]) -> usize {
    in_lines(meta, operands, 64)
}

/// As [`in_vectors`], for a loop that takes `line` bytes at once.
pub(in crate::exec) fn in_lines(meta: &Meta, operands: &[Operand<'_>], line: usize) -> usize {
    let along = |o: &Operand<'_>| match o {
        Operand::Number(_) => true,
        Operand::Tensor(t) => t.numel() == 1 || t.meta.sizes == meta.sizes && t.meta.strides == meta.strides,
    };
    if !meta.is_dense() || !operands.iter().all(along) {
        return 0;
    }
    let (total, len) = (meta.numel(), line.checked_div(meta.dtype.bytes()).unwrap_or(1));
    total.saturating_sub(total.checked_rem(len).unwrap_or(0))
}

/// Computes `out = f(k, a, b)`, where `k` counts elements in the order in which they lie in memory.
pub(in crate::exec) fn map2_counted<L: Lane>(
    cx: &Cx<'_, '_, '_>,
    meta: &Meta,
    [a, b]: [Operand<'_>; 2],
    f: impl Fn(usize, L, L) -> L + Sync,
) -> Made {
    let order = Order::of(meta);
    let a = Source::<L>::broadcast(&a, &meta.sizes, &order.dims, Some(meta.dtype))?;
    let b = Source::<L>::broadcast(&b, &meta.sizes, &order.dims, Some(meta.dtype))?;
    let out = cx.fill(meta, &order, &|start, part: &mut [L]| {
        let (mut first, mut second) = (Buffer::default(), Buffer::default());
        let a = a.chunk(start, part.len(), &mut first);
        let b = b.chunk(start, part.len(), &mut second);
        let each = part.iter_mut().zip(a).zip(b).enumerate();
        each.for_each(|(k, ((o, a), b))| *o = f(start.saturating_add(k), *a, *b));
    })?;
    Ok(Value::Tensor(out))
}

/// Computes `a + alpha * b`.
fn sum(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2], alpha: Scalar) -> Made {
    let dtype = meta.dtype;
    let (one, minus) = (number::<f64>(alpha, None) == 1.0, number::<f64>(alpha, None) == -1.0);
    // Complex numbers are multiplied by `alpha` in any case, which makes NaN of infinities.
    if (one || minus) && dtype.is_float() {
        if one {
            return pointwise2!(cx, meta, operands, dtype; f32 |a, b| a + b; f64 |a, b| a + b;);
        }
        return pointwise2!(cx, meta, operands, dtype; f32 |a, b| a - b; f64 |a, b| a - b;);
    }
    let (integer, narrow) = (number::<i64>(alpha, Some(dtype)), number::<f32>(alpha, Some(dtype)));
    let wide = number::<f64>(alpha, Some(dtype));
    let (c64, c128) = (number::<C64>(alpha, Some(dtype)), number::<C128>(alpha, Some(dtype)));
    // PyTorch's loop over single elements rounds the product to the dtype, its vector loop does not.
    if is_narrow(dtype) {
        let vectors = in_vectors(meta, &operands);
        return map2_counted(cx, meta, operands, |k, a: f32, b: f32| {
            if k < vectors { fused(a, narrow, b) } else { a + round_f32(dtype, narrow * b) }
        });
    }
    pointwise2!(cx, meta, operands, dtype;
        f32 |a, b| fused(a, narrow, b);
        f64 |a, b| wide.mul_add(b, a);
        i64 |a, b| a.wrapping_add(integer.wrapping_mul(b));
        c64 |a, b| a + c64 * b;
        c128 |a, b| a + c128 * b;)
}

/// `a + alpha * b`, rounded once but for doubles' own precision.
#[allow(clippy::cast_possible_truncation)]
pub(in crate::exec) fn fused(a: f32, alpha: f32, b: f32) -> f32 {
    f64::from(alpha).mul(f64::from(b)).add(f64::from(a)) as f32
}

fn mul(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    if is_narrow(dtype)
        && let [a, b] = &operands
        && let Some(factor) = single(b)?
    {
        return crate::exec::loops::pointwise::map1(cx, &meta, *a, dtype, |v: f32| v * factor).map(Value::Tensor);
    }
    if dtype.is_complex() {
        return complex_product(cx, &meta, operands);
    }
    pointwise2!(cx, &meta, operands, dtype;
        f32 |a, b| a * b;
        f64 |a, b| a * b;
        i64 |a, b| a.wrapping_mul(b);)
}

/// The loop over single elements has fused products, which its vectors and its last odd element have not.
fn complex_product(cx: &Cx<'_, '_, '_>, meta: &Meta, operands: [Operand<'_>; 2]) -> Made {
    let singles = in_vectors(meta, &operands)..meta.numel() & !1;
    if LaneKind::of(meta.dtype) == LaneKind::C128 {
        return map2_counted(cx, meta, operands, |k, a: C128, b: C128| {
            if !singles.contains(&k) {
                return a * b;
            }
            C128::new(a.re.mul_add(b.re, -(a.im * b.im)), a.re.mul_add(b.im, a.im * b.re))
        });
    }
    map2_counted(cx, meta, operands, |k, a: C64, b: C64| {
        if !singles.contains(&k) {
            return a * b;
        }
        C64::new(fused(-(a.im * b.im), a.re, b.re), fused(a.im * b.re, a.re, b.im))
    })
}
