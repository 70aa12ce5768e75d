//! Strides: contiguous and channels-last ones, those of pointwise results, those of views.
//!
//! Promises: what PyTorch's own code computes (`computeStride`, TensorIterator's order of dimensions), over symbols as far as their comparison is known;
//! where it is not, the answer is `None` (unknown), never a guess.

use smallvec::SmallVec;

use crate::graph::{MemoryFormat, TensorType};
use crate::ops::error::CallFault;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
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
    let Some(order) = iterator_order(s, sizes, operands) else { return Ok(None) };
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

/// How a tensor can be seen in other sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Viewed {
    /// With these strides.
    As(Sizes),
    /// Not without a copy.
    Never,
    /// Symbols or missing strides leave it open.
    Unknown,
}

/// Returns the strides that a view of `t` in other sizes has (`computeStride`).
pub fn view(s: &mut Symbols, t: &TensorType, sizes: &[Dim]) -> Result<Viewed, CallFault> {
    let Some(old_strides) = t.strides.clone() else { return Ok(Viewed::Unknown) };
    if t.sizes.contains(&Dim::Fixed(0)) {
        let same = t.sizes.as_slice() == sizes;
        return Ok(Viewed::As(if same { old_strides } else { contiguous(s, sizes)? }));
    }
    // Of numbers, dimensions of size 1 too get the strides that PyTorch computes; of symbols, what is the same stays as it is.
    let fixed = |dims: &[Dim]| dims.iter().all(|d| d.fixed().is_some());
    if t.sizes.is_empty() && fixed(sizes) {
        return Ok(Viewed::As(SmallVec::from_elem(Dim::Fixed(1), sizes.len())));
    }
    if fixed(sizes) && fixed(&t.sizes) && fixed(&old_strides) {
        return chunks(s, &t.sizes, &old_strides, sizes);
    }
    if is_contiguous(s, t) == Some(true) {
        let same = t.sizes.as_slice() == sizes;
        return Ok(Viewed::As(if same { old_strides } else { contiguous(s, sizes)? }));
    }
    if t.sizes.as_slice() == sizes {
        return Ok(Viewed::As(old_strides));
    }
    chunks(s, &t.sizes, &old_strides, sizes)
}

/// Walks both shapes from the innermost dimension, chunk by chunk of dimensions that lie one in another.
fn chunks(s: &mut Symbols, old: &[Dim], strides: &[Dim], new: &[Dim]) -> Result<Viewed, CallFault> {
    let mut out: Sizes = SmallVec::from_elem(Dim::Fixed(1), new.len());
    let mut next = new.len();
    let mut chunk = strides.last().copied().unwrap_or(Dim::Fixed(1));
    let (mut there, mut here) = (Dim::Fixed(1), Dim::Fixed(1));
    for d in (0..old.len()).rev() {
        let Some(&size) = old.get(d) else { break };
        there = sizes::mul(s, there, size)?;
        let outer = d.checked_sub(1).and_then(|o| Some((*old.get(o)?, *strides.get(o)?)));
        if let Some((outer_size, outer_stride)) = outer {
            let joined = sizes::mul(s, there, chunk)?;
            let ends = !sizes::is(s, outer_size, 1) && {
                match sizes::same(s, outer_stride, joined) {
                    Some(same) => !same,
                    None => return Ok(Viewed::Unknown),
                }
            };
            if !ends {
                continue;
            }
        }
        let mut is_guessed = false;
        while let Some(at) = next.checked_sub(1) {
            let Some(&wanted) = new.get(at) else { break };
            let full = match sizes::less(s, here, there) {
                Some(below) => !below,
                // Both grow to the same product in the end; between, sizes beyond 1 are what symbols stand for.
                None => sizes::same(s, here, there).unwrap_or_else(|| {
                    is_guessed = true;
                    false
                }),
            };
            if full && !sizes::is(s, wanted, 1) {
                break;
            }
            if let Some(slot) = out.get_mut(at) {
                *slot = sizes::mul(s, here, chunk)?;
            }
            here = sizes::mul(s, here, wanted)?;
            next = at;
        }
        match sizes::same(s, here, there) {
            Some(true) => {}
            Some(false) if !is_guessed => return Ok(Viewed::Never),
            Some(false) | None => return Ok(Viewed::Unknown),
        }
        if let Some((_, outer_stride)) = outer {
            chunk = outer_stride;
            (there, here) = (Dim::Fixed(1), Dim::Fixed(1));
        }
    }
    Ok(if next == 0 { Viewed::As(out) } else { Viewed::Never })
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

    fn viewed(t: &TensorType, sizes: &[i64]) -> Viewed {
        view(&mut Symbols::new(), t, &fixed(sizes)).unwrap()
    }

    #[test]
    fn a_view_of_a_transpose_exists_only_where_memory_allows_it() {
        let t = tensor(&[4, 6], &[1, 4]);
        assert_eq!(viewed(&t, &[24]), Viewed::Never);
        assert_eq!(viewed(&t, &[4, 2, 3]), Viewed::As(fixed(&[1, 12, 4])));
        assert_eq!(viewed(&t, &[2, 2, 6]), Viewed::As(fixed(&[2, 1, 4])));
        assert_eq!(viewed(&tensor(&[2, 3], &[3, 1]), &[3, 2]), Viewed::As(fixed(&[2, 1])));
    }

    #[test]
    fn a_symbolic_batch_is_seen_through() {
        let mut s = Symbols::new();
        let n = s.symbol("s0");
        let mut t = TensorType::new(Dtype::F32, [n, Dim::Fixed(8), Dim::Fixed(5)], Device::cpu());
        t.strides = Some(smallvec::smallvec![Dim::Fixed(40), Dim::Fixed(1), Dim::Fixed(8)]);
        let sizes: Sizes = smallvec::smallvec![n, Dim::Fixed(2), Dim::Fixed(4), Dim::Fixed(5)];
        let strides: Sizes = smallvec::smallvec![Dim::Fixed(40), Dim::Fixed(4), Dim::Fixed(1), Dim::Fixed(8)];
        assert_eq!(view(&mut s, &t, &sizes).unwrap(), Viewed::As(strides));
    }
}
