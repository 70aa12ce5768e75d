//! Strides: contiguous and channels-last ones, those of pointwise results.
//!
//! Promises: what PyTorch's own code computes (TensorIterator's order of dimensions), over symbols as far as their comparison is known;
//! where it is not, the answer is `None` (unknown), never a guess.

use smallvec::SmallVec;

use crate::graph::{MemoryFormat, TensorType};
use crate::ops::error::CallFault;
use crate::ops::typing::sizes::Sizes;
use crate::ops::typing::{cases, sizes};
use crate::sym::{Dim, Symbols};

type Order = SmallVec<[usize; 6]>;

/// Returns the strides of a dense tensor whose dimensions are stored in `order`, innermost first.
pub fn dense(s: &mut Symbols, sizes: &[Dim], order: impl Iterator<Item = usize>) -> Result<Sizes, CallFault> {
    let mut strides: Sizes = SmallVec::from_elem(Dim::Fixed(1), sizes.len());
    let mut step = Dim::Fixed(1);
    for d in order {
        let (Some(stride), Some(size)) = (strides.get_mut(d), sizes.get(d)) else { continue };
        *stride = step;
        // An empty dimension counts as one of size 1 here.
        if *size != Dim::Fixed(0) {
            step = sizes::mul(s, step, *size)?;
        }
    }
    Ok(strides)
}

/// Returns the strides of a contiguous tensor.
pub fn contiguous(s: &mut Symbols, sizes: &[Dim]) -> Result<Sizes, CallFault> {
    dense(s, sizes, (0..sizes.len()).rev())
}

/// Returns the strides of a memory format; `Preserve` counts as contiguous.
pub fn of_format(s: &mut Symbols, sizes: &[Dim], format: MemoryFormat) -> Result<Sizes, CallFault> {
    match (format, sizes.len()) {
        (MemoryFormat::ChannelsLast, 4) => permuted(s, sizes, [1, 3, 2, 0].into_iter()),
        (MemoryFormat::ChannelsLast3d, 5) => permuted(s, sizes, [1, 4, 3, 2, 0].into_iter()),
        _ => contiguous(s, sizes),
    }
}

fn follows(s: &mut Symbols, t: &TensorType, order: impl Iterator<Item = usize>) -> Option<bool> {
    let strides = t.strides.as_ref()?;
    let mut expected = Dim::Fixed(1);
    let mut sure = true;
    for d in order {
        let (size, stride) = (*t.sizes.get(d)?, *strides.get(d)?);
        if sizes::is(s, size, 1) {
            continue;
        }
        match sizes::same(s, stride, expected) {
            Some(true) => {}
            Some(false) if sizes::differ(s, size, Dim::Fixed(1)) => return Some(false),
            _ => sure = false,
        }
        expected = sizes::mul(s, expected, size).ok()?;
    }
    sure.then_some(true)
}

/// Returns whether the tensor is contiguous, where it is known.
pub fn is_contiguous(s: &mut Symbols, t: &TensorType) -> Option<bool> {
    if t.strides.is_some() && t.sizes.contains(&Dim::Fixed(0)) {
        return Some(true);
    }
    follows(s, t, (0..t.rank()).rev())
}

/// The same of a tensor whose symbols may be 1: which strides count then differs.
pub fn lies_in_rows(s: &Symbols, t: &TensorType) -> Option<bool> {
    cases::agree(s, &[t], &[], |s, operands, _| is_contiguous(s, operands.first()?))
}

/// Returns whether the tensor is contiguous in a memory format.
pub fn is_in_format(s: &mut Symbols, t: &TensorType, format: MemoryFormat) -> Option<bool> {
    match (format, t.rank()) {
        (MemoryFormat::ChannelsLast, 4) => follows(s, t, [1, 3, 2, 0].into_iter()),
        (MemoryFormat::ChannelsLast3d, 5) => follows(s, t, [1, 4, 3, 2, 0].into_iter()),
        (MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d, _) => Some(false),
        _ => is_contiguous(s, t),
    }
}

/// Returns whether strides look like channels-last (PyTorch's `is_strides_like_channels_last`): the format that a convolution or pool suggests.
pub fn suggested_format(s: &Symbols, t: &TensorType) -> Option<MemoryFormat> {
    let (format, order): (_, &[usize]) = match t.rank() {
        4 => (MemoryFormat::ChannelsLast, &[1, 3, 2, 0]),
        5 => (MemoryFormat::ChannelsLast3d, &[1, 4, 3, 2, 0]),
        _ => return Some(MemoryFormat::Contiguous),
    };
    let strides = t.strides.as_ref()?;
    // Channels must not have stride 0, and strides must grow along the order.
    let first = *strides.get(1)?;
    if sizes::is(s, first, 0) {
        return Some(MemoryFormat::Contiguous);
    }
    let mut least = Dim::Fixed(0);
    for (place, &d) in order.iter().enumerate() {
        let (size, stride) = (*t.sizes.get(d)?, *strides.get(d)?);
        if sizes::is(s, size, 0) || sizes::less(s, stride, least)? {
            return Some(MemoryFormat::Contiguous);
        }
        // A batch of one whose stride is that of the channels says nothing: then contiguous is meant.
        if place.saturating_add(1) == order.len() && sizes::same(s, least, first) == Some(true) {
            return Some(MemoryFormat::Contiguous);
        }
        least = stride;
        if !sizes::is(s, size, 1) && sizes::less(s, Dim::Fixed(1), size) != Some(false) {
            least = mul_fixed(stride, size).unwrap_or(stride);
        }
    }
    Some(format)
}

fn mul_fixed(a: Dim, b: Dim) -> Option<Dim> {
    Some(Dim::Fixed(a.fixed()?.checked_mul(b.fixed()?)?))
}

/// Returns the dimensions of a dense, non-overlapping tensor innermost first; `None` if it is not one or that is not known.
///
/// Each dimension begins where those inside it end, so the order is found without comparing symbols.
fn dense_order(s: &mut Symbols, t: &TensorType) -> Option<Order> {
    let strides = t.strides.as_ref()?;
    let one = |s: &Symbols, d: usize| t.sizes.get(d).is_some_and(|size| sizes::is(s, *size, 1));
    let mut order: Order = (0..t.rank()).filter(|d| one(s, *d)).collect();
    let mut rest: Order = (0..t.rank()).filter(|d| !one(s, *d)).collect();
    let mut expected = Dim::Fixed(1);
    while !rest.is_empty() {
        let place =
            rest.iter().position(|d| strides.get(*d).is_some_and(|x| sizes::same(s, *x, expected) == Some(true)))?;
        let d = rest.remove(place);
        expected = sizes::mul(s, expected, *t.sizes.get(d)?).ok()?;
        order.push(d);
    }
    Some(order)
}

/// Returns whether every element has its own place and no place is empty.
pub fn is_dense(s: &mut Symbols, t: &TensorType) -> bool {
    is_contiguous(s, t) == Some(true) || dense_order(s, t).is_some()
}

/// Returns the strides of `empty_like` with `Preserve`: a dense operand's own, else those of a pointwise result.
pub fn preserved(s: &mut Symbols, t: &TensorType) -> Result<Option<Sizes>, CallFault> {
    if t.strides.is_none() {
        return Ok(None);
    }
    if is_dense(s, t) {
        return Ok(t.strides.clone());
    }
    pointwise(s, &t.sizes, &[t])
}

/// Returns the strides of a pointwise result of these sizes: TensorIterator's rule.
pub fn pointwise(s: &mut Symbols, sizes: &[Dim], operands: &[&TensorType]) -> Result<Option<Sizes>, CallFault> {
    if operands.iter().all(|t| t.sizes.as_slice() == sizes)
        && operands.iter().all(|t| t.strides.is_some())
        && let Some(strides) = same_shape(s, sizes, operands)?
    {
        return Ok(Some(strides));
    }
    in_order(s, sizes, operands)
}

/// Returns the strides of a pointwise result by the order of dimensions alone: where a number is among the operands, which has another shape.
pub fn in_order(s: &mut Symbols, sizes: &[Dim], operands: &[&TensorType]) -> Result<Option<Sizes>, CallFault> {
    if operands.iter().any(|t| t.strides.is_none()) {
        return Ok(None);
    }
    // Where a size may be 1, strides may be equal that are not otherwise: the order counts where it is one either way.
    let by_cases = |s: &Symbols| {
        cases::agree(s, operands, sizes, |s, operands, sizes| {
            let operands: SmallVec<[&TensorType; 4]> = operands.iter().collect();
            iterator_order(s, sizes, &operands)
        })
    };
    let Some(order) = iterator_order(s, sizes, operands).or_else(|| by_cases(s)) else { return Ok(None) };
    if order.iter().copied().eq((0..sizes.len()).rev()) {
        return contiguous(s, sizes).map(Some);
    }
    permuted(s, sizes, order.into_iter()).map(Some)
}

/// As `dense`, but of an empty tensor strides are 0: so PyTorch computes permuted strides.
fn permuted(s: &mut Symbols, sizes: &[Dim], order: impl Iterator<Item = usize>) -> Result<Sizes, CallFault> {
    let mut strides: Sizes = SmallVec::from_elem(Dim::Fixed(1), sizes.len());
    let mut step = Dim::Fixed(1);
    for d in order {
        if let (Some(stride), Some(size)) = (strides.get_mut(d), sizes.get(d)) {
            *stride = step;
            step = sizes::mul(s, step, *size)?;
        }
    }
    Ok(strides)
}

/// The short ways, for operands of one shape.
fn same_shape(s: &mut Symbols, sizes: &[Dim], operands: &[&TensorType]) -> Result<Option<Sizes>, CallFault> {
    let Some(first) = operands.first() else { return Ok(None) };
    if operands.iter().all(|t| is_contiguous(s, t) == Some(true)) {
        return contiguous(s, sizes).map(Some);
    }
    if sizes.len() == 4 && operands.iter().all(|t| is_in_format(s, t, MemoryFormat::ChannelsLast) == Some(true)) {
        return of_format(s, sizes, MemoryFormat::ChannelsLast).map(Some);
    }
    let alike = operands.iter().all(|t| t.strides == first.strides);
    Ok(if alike && is_dense(s, first) { first.strides.clone() } else { None })
}

/// Returns the stride of a dimension of the result in an operand; `None` where the operand does not have the dimension.
fn stride_in(s: &Symbols, t: &TensorType, sizes: &[Dim], d: usize) -> Option<Dim> {
    let missing = sizes.len().checked_sub(t.rank())?;
    let at = d.checked_sub(missing)?;
    let (size, stride) = (*t.sizes.get(at)?, *t.strides.as_ref()?.get(at)?);
    let stretched = sizes::is(s, size, 1) && !sizes::is(s, *sizes.get(d)?, 1);
    Some(if stretched { Dim::Fixed(0) } else { stride })
}

/// Returns the order, innermost first, in which TensorIterator walks; `None` where symbols leave it open.
fn iterator_order(s: &Symbols, sizes: &[Dim], operands: &[&TensorType]) -> Option<Order> {
    let mut order: Order = (0..sizes.len()).rev().collect();
    for i in 1..order.len() {
        let mut moving = i;
        for fixed in (0..i).rev() {
            let (a, b) = (*order.get(fixed)?, *order.get(moving)?);
            match compare(s, sizes, operands, a, b)? {
                std::cmp::Ordering::Greater => {
                    order.swap(fixed, moving);
                    moving = fixed;
                }
                std::cmp::Ordering::Less => break,
                std::cmp::Ordering::Equal => {}
            }
        }
    }
    Some(order)
}

/// Compares two dimensions by their strides in the first operand that tells them apart.
fn compare(s: &Symbols, sizes: &[Dim], operands: &[&TensorType], a: usize, b: usize) -> Option<std::cmp::Ordering> {
    use std::cmp::Ordering::*;
    for t in operands {
        let x = stride_in(s, t, sizes, a).unwrap_or(Dim::Fixed(0));
        let y = stride_in(s, t, sizes, b).unwrap_or(Dim::Fixed(0));
        if sizes::is(s, x, 0) || sizes::is(s, y, 0) {
            continue;
        }
        if sizes::same(s, x, y) == Some(true) {
            if sizes::less(s, *sizes.get(b)?, *sizes.get(a)?) == Some(true) {
                return Some(Greater);
            }
            continue;
        }
        return Some(if sizes::less(s, x, y)? { Less } else { Greater });
    }
    Some(Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype};

    fn fixed(v: &[i64]) -> Sizes {
        v.iter().map(|x| Dim::Fixed(*x)).collect()
    }

    fn tensor(sizes: &[i64], strides: &[i64]) -> TensorType {
        let t = TensorType::new(Dtype::F32, fixed(sizes), Device::cpu());
        TensorType { strides: Some(fixed(strides)), ..t }
    }

    fn result(operands: &[TensorType], sizes: &[i64]) -> Sizes {
        let refs: Vec<&TensorType> = operands.iter().collect();
        pointwise(&mut Symbols::new(), &fixed(sizes), &refs).unwrap().unwrap()
    }

    #[test]
    fn pointwise_results_keep_the_layout_of_the_first_dense_operand() {
        let last = tensor(&[2, 3, 4, 5], &[60, 1, 15, 3]);
        let plain = tensor(&[2, 3, 4, 5], &[60, 20, 5, 1]);
        assert_eq!(result(&[last.clone(), plain.clone()], &[2, 3, 4, 5]), fixed(&[60, 1, 15, 3]));
        assert_eq!(result(&[plain, last], &[2, 3, 4, 5]), fixed(&[60, 20, 5, 1]));
        let t = tensor(&[4, 3], &[1, 4]);
        assert_eq!(result(&[t.clone(), t.clone()], &[4, 3]), fixed(&[1, 4]));
        assert_eq!(result(&[t, tensor(&[4, 3], &[3, 1])], &[4, 3]), fixed(&[1, 4]));
    }

    #[test]
    fn expanded_and_gappy_operands_give_contiguous_results() {
        assert_eq!(result(&[tensor(&[3, 4], &[0, 1])], &[3, 4]), fixed(&[4, 1]));
        assert_eq!(result(&[tensor(&[4, 3], &[6, 1])], &[4, 3]), fixed(&[3, 1]));
        assert_eq!(result(&[tensor(&[3, 1], &[1, 1]), tensor(&[1, 4], &[4, 1])], &[3, 4]), fixed(&[4, 1]));
    }
}
