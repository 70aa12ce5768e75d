//! Bits of integers and booleans.
//!
//! Promises: a shift by a negative number or by the dtype's width or more gives what no bits are left of: 0, or to the right the sign.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, pointwise2, two};
use crate::exec::loops::pointwise::map1;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        and,
        &[
            "aten.bitwise_and.Tensor",
            "aten.bitwise_and.Scalar",
            "aten.bitwise_and.Scalar_Tensor",
            "aten.__and__.Tensor",
            "aten.__and__.Scalar",
            "prims.bitwise_and.default",
        ],
    ),
    (
        or,
        &[
            "aten.bitwise_or.Tensor",
            "aten.bitwise_or.Scalar",
            "aten.bitwise_or.Scalar_Tensor",
            "aten.__or__.Tensor",
            "aten.__or__.Scalar",
            "prims.bitwise_or.default",
        ],
    ),
    (
        xor,
        &[
            "aten.bitwise_xor.Tensor",
            "aten.bitwise_xor.Scalar",
            "aten.bitwise_xor.Scalar_Tensor",
            "aten.__xor__.Tensor",
            "aten.__xor__.Scalar",
            "prims.bitwise_xor.default",
        ],
    ),
    (not, &["aten.bitwise_not.default"]),
    (
        left,
        &[
            "aten.bitwise_left_shift.Tensor",
            "aten.bitwise_left_shift.Tensor_Scalar",
            "aten.bitwise_left_shift.Scalar_Tensor",
            "aten.__lshift__.Tensor",
            "aten.__lshift__.Scalar",
            "prims.shift_left.default",
        ],
    ),
    (
        right,
        &[
            "aten.bitwise_right_shift.Tensor",
            "aten.bitwise_right_shift.Tensor_Scalar",
            "aten.bitwise_right_shift.Scalar_Tensor",
            "aten.__rshift__.Tensor",
            "aten.__rshift__.Scalar",
            "prims.shift_right_arithmetic.default",
        ],
    ),
];

fn and(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    pointwise2!(cx, &meta, operands, meta.dtype; i64 |a, b| a & b;)
}

fn or(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    pointwise2!(cx, &meta, operands, meta.dtype; i64 |a, b| a | b;)
}

fn xor(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    pointwise2!(cx, &meta, operands, meta.dtype; i64 |a, b| a ^ b;)
}

fn not(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, x) = (cx.meta()?, cx.operand(0)?);
    let dtype = meta.dtype;
    if crate::exec::tensor::lane::LaneKind::of(dtype) != crate::exec::tensor::lane::LaneKind::I64 {
        return Err(crate::exec::kernels::arithmetic::no_kernel(cx, dtype));
    }
    map1(cx, &meta, x, dtype, |v: i64| if dtype == Dtype::Bool { i64::from(v == 0) } else { !v }).map(Value::Tensor)
}

fn is_signed(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::Bool | Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64)
}

/// How many bits the dtype has.
fn width(dtype: Dtype) -> i64 {
    i64::try_from(dtype.bytes().saturating_mul(8)).unwrap_or(i64::MAX)
}

fn shift_left(dtype: Dtype, a: i64, by: i64) -> i64 {
    match u32::try_from(by) {
        Ok(n) if by < width(dtype) => a.wrapping_shl(n),
        _ => 0,
    }
}

fn shift_right(dtype: Dtype, a: i64, by: i64) -> i64 {
    if dtype == Dtype::U64 {
        return u32::try_from(by).ok().and_then(|n| a.cast_unsigned().checked_shr(n)).unwrap_or(0).cast_signed();
    }
    let most = width(dtype).saturating_sub(i64::from(is_signed(dtype)));
    let by = if (0..most).contains(&by) { by } else { most };
    a.wrapping_shr(u32::try_from(by).unwrap_or(0))
}

fn left(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    pointwise2!(cx, &meta, operands, dtype; i64 |a, b| shift_left(dtype, a, b);)
}

fn right(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, operands) = two(cx)?;
    let dtype = meta.dtype;
    pointwise2!(cx, &meta, operands, dtype; i64 |a, b| shift_right(dtype, a, b);)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_out_of_range_leave_nothing_but_the_sign() {
        assert_eq!([33, -1, 31].map(|n| shift_left(Dtype::I32, 1, n)), [0, 0, 1 << 31]);
        assert_eq!([40, -1, 2].map(|n| shift_right(Dtype::I32, -8, n)), [-1, -1, -2]);
        assert_eq!([8, 255, 7].map(|n| shift_right(Dtype::U8, 200, n)), [0, 0, 1]);
        assert_eq!(shift_right(Dtype::U64, -1, 63), 1);
    }
}
