//! Choices: by a condition, between bounds.
//!
//! Promises: NaN passes every bound, and a bound that is NaN gives NaN; bounds of integers that lie outside the dtype do not wrap.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, no_kernel, pointwise2};
use crate::exec::loops::pointwise::map3;
use crate::exec::loops::promoted::check_wrapped;
use crate::exec::numbers::checked::check_fits;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::{Lane, LaneKind, with_lane};
use crate::exec::tensor::source::{Buffer, Source, number};
use crate::exec::tensor::storage::Storage;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        choose,
        &[
            "aten.where.self",
            "aten.where.ScalarOther",
            "aten.where.ScalarSelf",
            "aten.where.Scalar",
            "prims.where.default",
        ],
    ),
    (positions, &["aten.where.default"]),
    (clamp, &["aten.clamp.default", "aten.clamp.Tensor", "aten.clip.default"]),
    (clamp_min, &["aten.clamp_min.default", "aten.clamp_min.Tensor"]),
    (clamp_max, &["aten.clamp_max.default", "aten.clamp_max.Tensor"]),
];

fn choose(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (condition, a, b) = (cx.operand(0)?, cx.operand(1)?, cx.operand(2)?);
    for (i, operand) in [(1, &a), (2, &b)] {
        if let Operand::Number(n) = operand {
            check_wrapped(cx, i, *n, meta.dtype)?;
        }
    }
    with_lane!(meta.dtype, L => chosen::<L>(cx, &meta, &condition, [&a, &b])).map(Value::Tensor)
}

fn chosen<L: Lane>(
    cx: &Cx<'_, '_, '_>,
    meta: &Meta,
    condition: &Operand<'_>,
    [a, b]: [&Operand<'_>; 2],
) -> Result<Tensor, CallFault> {
    let order = Order::of(meta);
    let condition = Source::<i64>::broadcast(condition, &meta.sizes, &order.dims, None)?;
    let a = Source::<L>::broadcast(a, &meta.sizes, &order.dims, Some(meta.dtype))?;
    let b = Source::<L>::broadcast(b, &meta.sizes, &order.dims, Some(meta.dtype))?;
    cx.fill(meta, &order, &|start, part: &mut [L]| {
        let (mut first, mut second, mut third) = (Buffer::default(), Buffer::default(), Buffer::default());
        let condition = condition.chunk(start, part.len(), &mut first);
        let a = a.chunk(start, part.len(), &mut second);
        let b = b.chunk(start, part.len(), &mut third);
        // Along a mask most pieces hold one truth.
        let truths = condition.iter().filter(|c| **c != 0).count();
        if truths == 0 {
            part.copy_from_slice(b);
        } else if truths == part.len() {
            part.copy_from_slice(a);
        } else {
            part.iter_mut()
                .zip(condition)
                .zip(a)
                .zip(b)
                .for_each(|(((o, c), a), b)| *o = if *c != 0 { *a } else { *b });
        }
    })
}

/// Where the condition holds: one tensor of indices a dimension, columns of one piece of memory.
fn positions(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let rank = t.rank().max(1);
    let mut columns: Vec<Vec<i64>> = vec![Vec::new(); rank];
    let truths: Vec<bool> = with_lane!(t.dtype(), L => t.lanes::<L>()?.iter().map(|v| v.truth()).collect());
    let mut index: Vec<usize> = vec![0; rank];
    for truth in truths {
        if truth {
            let now = columns.iter_mut().zip(&index);
            now.for_each(|(column, at)| column.push(i64::try_from(*at).unwrap_or(i64::MAX)));
        }
        for (at, size) in index.iter_mut().zip(t.sizes()).rev() {
            *at = at.saturating_add(1);
            if *at < *size {
                break;
            }
            *at = 0;
        }
    }
    let count = columns.first().map_or(0, Vec::len);
    let storage = Storage::new(columns.concat(), cx.meter());
    let column = |k: usize| {
        let meta = Meta { offset: k.saturating_mul(count), ..Meta::contiguous(Dtype::I64, &[count]) };
        Tensor::new(meta, storage.clone())
    };
    Ok((0..rank).map(column).collect::<Result<Vec<_>, _>>()?.into())
}

/// Which way a bound holds.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

/// The least and the largest integer of a dtype.
fn integers(dtype: Dtype) -> (i64, i64) {
    match dtype {
        Dtype::Bool => (0, 1),
        Dtype::U8 => (0, 255),
        Dtype::I8 => (-128, 127),
        Dtype::I16 => (-32768, 32767),
        Dtype::U16 => (0, 65535),
        Dtype::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Dtype::U32 => (0, i64::from(u32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Returns a bound as it is compared: a number for integers is brought into the dtype's range, of which it must leave something.
fn bound<'a>(cx: &Cx<'a, '_, '_>, i: usize, side: Side, dtype: Dtype) -> Result<Operand<'a>, CallFault> {
    let bound = cx.operand(i)?;
    let Operand::Number(n) = bound else { return Ok(bound) };
    if LaneKind::of(dtype) != LaneKind::I64 {
        check_fits(cx, i, n, dtype)?;
        return Ok(bound);
    }
    let (value, (least, most)) = (number::<i64>(n, None), integers(dtype));
    let nothing_left = if side == Side::Lower { value > most } else { value < least };
    if nothing_left {
        return Err(cx.bad(i, format!("a bound among the numbers of {}", dtype.long()), value.to_string()));
    }
    Ok(Operand::Number(Scalar::Int(value.clamp(least, most))))
}

macro_rules! raised {
    ($v:expr, $low:expr) => {
        if $v.is_nan() || $v >= $low { $v } else { $low }
    };
}

macro_rules! lowered {
    ($v:expr, $high:expr) => {
        if $v.is_nan() || $v <= $high { $v } else { $high }
    };
}

fn one_sided(cx: &Cx<'_, '_, '_>, i: usize, side: Side) -> Made {
    let (meta, this) = (cx.meta()?, cx.operand(0)?);
    let operands = [this, bound(cx, i, side, meta.dtype)?];
    match side {
        Side::Lower => pointwise2!(cx, &meta, operands, meta.dtype;
            f32 |v, low| raised!(v, low); f64 |v, low| raised!(v, low); i64 |v, low| v.max(low);),
        Side::Upper => pointwise2!(cx, &meta, operands, meta.dtype;
            f32 |v, high| lowered!(v, high); f64 |v, high| lowered!(v, high); i64 |v, high| v.min(high);),
    }
}

fn clamp_min(cx: &mut Cx<'_, '_, '_>) -> Made {
    one_sided(cx, 1, Side::Lower)
}

fn clamp_max(cx: &mut Cx<'_, '_, '_>) -> Made {
    one_sided(cx, 1, Side::Upper)
}

fn clamp(cx: &mut Cx<'_, '_, '_>) -> Made {
    if cx.is_none(2) {
        return one_sided(cx, 1, Side::Lower);
    }
    if cx.is_none(1) {
        return one_sided(cx, 2, Side::Upper);
    }
    let (meta, this) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    let all = [this, bound(cx, 1, Side::Lower, dtype)?, bound(cx, 2, Side::Upper, dtype)?];
    macro_rules! within {
        ($float:ty) => {
            map3(cx, &meta, all, dtype, |v: $float, low: $float, high: $float| {
                let v = raised!(v, low);
                lowered!(v, high)
            })
        };
    }
    // NaN as lower bound is the value then, and passes the upper one; NaN as upper bound is taken by the comparison.
    let made = match LaneKind::of(dtype) {
        LaneKind::F32 => within!(f32),
        LaneKind::F64 => within!(f64),
        LaneKind::I64 => map3(cx, &meta, all, dtype, |v: i64, low: i64, high: i64| v.max(low).min(high)),
        LaneKind::C64 | LaneKind::C128 => Err(no_kernel(cx, dtype)),
    };
    made.map(Value::Tensor)
}
