//! Making types of results.

use crate::graph::{Device, Dtype, Layout, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::{Dim, Symbols};

/// Returns a tensor with these strides.
pub fn strided(dtype: Dtype, sizes: Sizes, strides: Option<Sizes>, device: Device) -> ValueType {
    ValueType::tensor(tensor(dtype, sizes, strides, device))
}

/// Returns the type of a tensor with these strides.
pub fn tensor(dtype: Dtype, sizes: Sizes, strides: Option<Sizes>, device: Device) -> TensorType {
    TensorType { dtype, sizes, strides, offset: Dim::Fixed(0), device, layout: Layout::Strided, requires_grad: false }
}

/// Returns a contiguous tensor.
pub fn contiguous(s: &mut Symbols, dtype: Dtype, sizes: Sizes, device: Device) -> Result<ValueType, CallFault> {
    let strides = layout::contiguous(s, &sizes)?;
    Ok(strided(dtype, sizes, Some(strides), device))
}

/// Returns a tensor that surely is contiguous where all operands are; of others the layout is left open.
pub fn row_or_open(
    c: &mut Call<'_>,
    dtype: Dtype,
    sizes: Sizes,
    operands: &[Option<&TensorType>],
) -> Result<ValueType, CallFault> {
    let device = operands.iter().flatten().next().map_or_else(|| c.default_device(), |t| t.device.clone());
    if operands.iter().flatten().all(|t| layout::is_contiguous(c.symbols, t) == Some(true)) {
        return contiguous(c.symbols, dtype, sizes, device);
    }
    Ok(strided(dtype, sizes, None, device))
}

/// Returns several results.
pub fn many(types: impl IntoIterator<Item = ValueType>) -> ValueType {
    ValueType::Many(types.into_iter().collect())
}

/// Returns the size that two sizes broadcast to, or `None` where they surely do not.
///
/// Of a symbol and a number beyond 1 the number holds, of two symbols the first: PyTorch would have guarded on their being equal.
fn meet(s: &Symbols, a: Dim, b: Dim) -> Option<Dim> {
    if a == b || sizes::is(s, b, 1) {
        return Some(a);
    }
    if sizes::is(s, a, 1) {
        return Some(b);
    }
    let never_one = |d| sizes::differ(s, d, Dim::Fixed(1));
    match sizes::same(s, a, b) {
        Some(true) => Some(if a.fixed().is_some() { a } else { b }),
        Some(false) if never_one(a) && never_one(b) => None,
        // Unequal for all values: then one of them is 1 wherever the call holds.
        Some(false) => Some(if never_one(a) { a } else { b }),
        None => Some(if b.fixed().is_some() { b } else { a }),
    }
}

/// Returns the sizes that all of these broadcast to; the fault names argument `i`.
pub fn broadcast(c: &Call<'_>, i: usize, shapes: &[&[Dim]]) -> Result<Sizes, CallFault> {
    let mut out: Sizes = shapes.first().map(|f| f.iter().copied().collect()).unwrap_or_default();
    for shape in shapes.iter().skip(1) {
        if out.as_slice() == *shape {
            continue;
        }
        let rank = out.len().max(shape.len());
        let mut joined = Sizes::with_capacity(rank);
        for d in 0..rank {
            let at = |dims: &[Dim]| d.checked_sub(rank.saturating_sub(dims.len())).and_then(|d| dims.get(d)).copied();
            joined.push(match (at(&out), at(shape)) {
                (Some(a), Some(b)) => meet(c.symbols, a, b).ok_or_else(|| {
                    let expected = format!("sizes that broadcast with {}", sizes::show(c.symbols, &out));
                    c.bad(i, expected, sizes::show(c.symbols, shape))
                })?,
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => Dim::Fixed(1),
            });
        }
        out = joined;
    }
    Ok(out)
}

/// Returns the type of a pointwise result of these operands with that dtype.
pub fn pointwise(c: &mut Call<'_>, dtype: Dtype, operands: &[Operand<'_>]) -> Result<ValueType, CallFault> {
    let tensors: smallvec::SmallVec<[&TensorType; 4]> = operands
        .iter()
        .filter_map(|o| match o {
            Operand::Tensor(t) => Some(*t),
            Operand::Number(_) => None,
        })
        .collect();
    let shapes: smallvec::SmallVec<[&[Dim]; 4]> = tensors.iter().map(|t| t.sizes.as_slice()).collect();
    let sizes = broadcast(c, tensors.len().saturating_sub(1), &shapes)?;
    // A number is a tensor without dimensions, unlike the others.
    let strides = match tensors.len() < operands.len() && !sizes.is_empty() {
        true => layout::in_order(c.symbols, &sizes, &tensors)?,
        false => layout::pointwise(c.symbols, &sizes, &tensors)?,
    };
    Ok(strided(dtype, sizes, strides, c.common_device(&tensors)))
}

/// Returns the type of a result with the operand's sizes and layout (`empty_like`).
pub fn like(c: &mut Call<'_>, dtype: Dtype, t: &TensorType) -> Result<ValueType, CallFault> {
    let strides = layout::preserved(c.symbols, t)?;
    Ok(strided(dtype, t.sizes.clone(), strides, t.device.clone()))
}

/// Returns the same tensor type: its memory too.
pub fn itself(t: &TensorType) -> ValueType {
    ValueType::tensor(TensorType { requires_grad: false, ..t.clone() })
}

/// A result whose strides are known only where every operand lies row by row.
pub fn loosely(typed: Result<ValueType, CallFault>, c: &mut Call<'_>) -> Result<ValueType, CallFault> {
    let nodes = c.bound.args.iter().flat_map(|a| a.nodes()).filter_map(|n| c.view.ty(n).as_tensor());
    let plain = nodes.collect::<Vec<_>>().iter().all(|t| layout::is_contiguous(c.symbols, t) == Some(true));
    Ok(match typed? {
        ValueType::Tensor(t) if !plain => ValueType::tensor(TensorType { strides: None, ..(*t).clone() }),
        other => other,
    })
}
