//! Tensors that are seen as another type, and types of which several elements lie in one of torch's.

use super::args::Args;
use super::cx::{Cx, ints};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::TensorId;

/// `torch_npu`'s number of its float of 8 bits.
pub(super) const HIFLOAT8: i64 = 290;
/// `torch_npu`'s number of 8-bit scales.
pub(super) const E8M0: i64 = 293;
/// `torch_npu`'s numbers of its two floats of 4 bits.
pub(super) const FLOAT4: [i64; 2] = [296, 297];
/// torch's number of integers of 4 bits.
pub(super) const INT4: i64 = 16;

/// How the number of elements in one reaches the operator that divides by it.
#[derive(Clone, Copy)]
pub(super) enum Divisor {
    /// As a constant of int32.
    Constant,
    /// As one of int64 that is cast.
    Cast,
}

/// Several elements of a type in one of another.
#[derive(Clone, Copy)]
pub(super) struct Packing {
    pub(super) count: i64,
    pub(super) into: DataType,
    pub(super) divisor: Divisor,
}

/// Two floats of 4 bits in a byte.
pub(super) const PAIRS: Packing = Packing { count: 2, into: DataType::Uint8, divisor: Divisor::Cast };
/// Eight integers of 4 bits in an int32.
pub(super) const EIGHTS: Packing = Packing { count: 8, into: DataType::Int32, divisor: Divisor::Constant };

/// Returns the tensor seen as another type; its descriptor says so.
pub(super) fn seen_as(cx: &mut Cx, t: TensorId, dtype: DataType) -> Result<TensorId, Refusal> {
    let made = bitcast(cx, t, dtype)?;
    cx.b.set_desc_type(made, dtype);
    Ok(made)
}

/// Returns the tensor seen as another type.
pub(super) fn bitcast(cx: &mut Cx, t: impl Into<In>, dtype: DataType) -> Result<TensorId, Refusal> {
    cx.op("Bitcast", vec![t.into()], &[("type", Attr::Type(dtype))])
}

/// Returns the tensor seen as a type of fewer bits in the sizes that GE derives.
pub(super) fn bitcast_in_place(cx: &mut Cx, t: TensorId, dtype: DataType) -> Result<TensorId, Refusal> {
    cx.op("Bitcast", vec![t.into()], &[("type", Attr::Type(dtype)), ("keep_dim", Attr::Bool(true))])
}

/// Sees arguments as the types that others name, where both are given.
pub(super) fn see(cx: &mut Cx, args: &mut Args, pairs: &[(&str, &str)]) -> Result<(), Refusal> {
    for (name, of) in pairs {
        if let (Some(t), Some(dtype)) = (args.optional(name), args.dtype(of)?) {
            let seen = seen_as(cx, t, dtype)?;
            args.set(name, seen);
        }
    }
    Ok(())
}

/// Sees arguments as floats of 8 bits where others ask for that; another type is refused.
pub(super) fn see_hifloat8(cx: &mut Cx, args: &mut Args, pairs: &[(&str, &str)]) -> Result<(), Refusal> {
    for (name, of) in pairs {
        match (args.optional(name), args.int(of)?) {
            (Some(t), Some(HIFLOAT8)) => {
                let seen = bitcast(cx, t, DataType::Hifloat8)?;
                args.set(name, seen);
            }
            (Some(_), Some(_)) => return Err(Refusal(format!("argument {of} can only name hifloat8"))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns ones and, last, a number: what sizes of that rank are multiplied or divided by.
fn factors(rank: usize, count: i64) -> Vec<i64> {
    let mut factors = vec![1; rank];
    if let Some(last) = factors.last_mut() {
        *last = count;
    }
    factors
}

/// Returns the tensor with each element taken apart into `count` of a type.
pub(super) fn unpacked(cx: &mut Cx, t: TensorId, dtype: DataType, count: i64) -> Result<TensorId, Refusal> {
    let rank = cx.rank(t)?;
    unpacked_of(cx, t, rank, dtype, count)
}

/// As `unpacked`, of a tensor whose rank is known otherwise.
pub(super) fn unpacked_of(
    cx: &mut Cx,
    t: TensorId,
    rank: usize,
    dtype: DataType,
    count: i64,
) -> Result<TensorId, Refusal> {
    let factors = cx.constant(Literal::Ints(factors(rank, count)), DataType::Int64)?;
    let shape = cx.shape(t)?;
    let shape = cx.op("Mul", vec![shape.into(), factors.into()], &[])?;
    let seen = bitcast(cx, t, dtype)?;
    cx.op("Reshape", vec![seen.into(), shape.into()], &[])
}

/// As `unpacked`, along the dimension before the last.
pub(super) fn unpacked_across(cx: &mut Cx, t: TensorId, dtype: DataType, count: i64) -> Result<TensorId, Refusal> {
    let rank = cx.rank(t)?;
    let turned = swapped(cx, t, rank)?;
    let made = unpacked_of(cx, turned, rank, dtype, count)?;
    swapped(cx, made, rank)
}

/// Returns the tensor with its last two dimensions swapped.
pub(super) fn swapped(cx: &mut Cx, t: TensorId, rank: usize) -> Result<TensorId, Refusal> {
    let Some(before) = rank.checked_sub(2) else { return Err(Refusal("two dimensions are needed".into())) };
    let axes = crate::lower::ge::metas::swapped(rank, before, before.saturating_add(1));
    let axes: Vec<i64> = axes.into_iter().map(super::cx::signed).collect();
    cx.op("Transpose", vec![t.into(), ints(&axes)], &[])
}

/// Returns numbers of int32 as a packing makes them.
fn numbers(cx: &mut Cx, list: Vec<i64>, packing: Packing) -> Result<TensorId, Refusal> {
    match packing.divisor {
        Divisor::Constant => cx.constant(Literal::Ints(list), DataType::Int32),
        Divisor::Cast => {
            let wide = cx.constant(Literal::Ints(list), DataType::Int64)?;
            cx.always_cast(wide, DataType::Int32)
        }
    }
}

/// Returns what the sizes of results of that rank are divided by.
pub(super) fn divisor(cx: &mut Cx, rank: usize, packing: Packing) -> Result<TensorId, Refusal> {
    numbers(cx, factors(rank, packing.count), packing)
}

/// Returns a result of narrow elements packed as torch has it.
pub(super) fn packed(cx: &mut Cx, t: TensorId, rank: usize, packing: Packing) -> Result<TensorId, Refusal> {
    let divisor = divisor(cx, rank, packing)?;
    packed_by(cx, t, divisor, packing)
}

/// As `packed`, by a divisor that several results share.
pub(super) fn packed_by(cx: &mut Cx, t: TensorId, divisor: TensorId, packing: Packing) -> Result<TensorId, Refusal> {
    let last = numbers(cx, vec![packing.count], packing)?;
    let shape = cx.shape(t)?;
    let shape = cx.op("Div", vec![shape.into(), divisor.into()], &[])?;
    let parts = In::Many(vec![shape.into(), last.into()]);
    let apart = cx.op("ConcatV2", vec![parts, super::cx::int(0)], &[("N", Attr::Int(2))])?;
    let apart = cx.op("Reshape", vec![t.into(), apart.into()], &[])?;
    let seen = bitcast(cx, apart, packing.into)?;
    cx.op("Reshape", vec![seen.into(), shape.into()], &[])
}

/// Returns three sizes of a group as the one number that GE takes; 0 where they were not given.
pub(super) fn group_size(args: &Args, name: &str) -> Result<i64, Refusal> {
    match args.ints(name)?.as_deref() {
        None => Ok(0),
        Some([m, n, k]) if [m, n, k].iter().all(|size| (0..=65535).contains(*size)) => {
            Ok(m << 32_u32 | n << 16_u32 | k)
        }
        Some(_) => Err(Refusal(format!("argument {name} must be three sizes from 0 to 65535"))),
    }
}
