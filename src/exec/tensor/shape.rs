//! Sizes and strides as numbers, and walks over them.
//!
//! Promises: no arithmetic here overflows unseen; a walk visits positions in row-major order, run by run along the last dimensions that
//! can be walked as one.

use smallvec::SmallVec;

use crate::ops::CallFault;

/// Sizes, strides or an index: one number a dimension.
pub type Shape = SmallVec<[usize; 6]>;

/// Returns how many elements these sizes hold.
pub fn count(sizes: &[usize]) -> Result<usize, CallFault> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let product = sizes.iter().try_fold(1_usize, |n, s| n.checked_mul(*s));
    product.filter(|n| i64::try_from(*n).is_ok()).ok_or_else(|| {
        CallFault::mismatch(
            "sizes",
            "fewer than 2^63 elements",
            format!("the sizes {sizes:?}, whose product overflows"),
        )
    })
}

/// Returns the number of elements that a walk visits; sizes were counted when their tensor was made.
pub fn numel(sizes: &[usize]) -> usize {
    sizes.iter().fold(1_usize, |n, s| n.saturating_mul(*s))
}

/// Returns row-major strides.
pub fn contiguous(sizes: &[usize]) -> Shape {
    let mut strides: Shape = SmallVec::from_elem(1, sizes.len());
    let mut step = 1_usize;
    for (stride, size) in strides.iter_mut().zip(sizes).rev() {
        *stride = step;
        step = step.saturating_mul((*size).max(1));
    }
    strides
}

/// Returns whether elements lie in row-major order without gaps.
pub fn is_contiguous(sizes: &[usize], strides: &[usize]) -> bool {
    let mut step = 1_usize;
    for (size, stride) in sizes.iter().zip(strides).rev() {
        if *size == 0 {
            return true;
        }
        if *size != 1 {
            if *stride != step {
                return false;
            }
            step = step.saturating_mul(*size);
        }
    }
    true
}

/// Returns whether elements lie without gaps with dimensions in that order, outermost first: PyTorch's check of a memory format, for which
/// empty tensors are no exception.
pub fn follows(sizes: &[usize], strides: &[usize], order: &[usize]) -> bool {
    let mut step = 1_usize;
    sizes.len() == order.len()
        && permuted(sizes, order).into_iter().zip(permuted(strides, order)).rev().all(|(size, stride)| {
            let fits = size == 1 || stride == step;
            step = if size == 1 { step } else { step.saturating_mul(size) };
            fits
        })
}

/// Returns the order of dimensions, outermost first, in which these strides descend (dimensions of equal stride keep their order).
pub fn memory_order(sizes: &[usize], strides: &[usize]) -> Shape {
    let mut order: Shape = (0..strides.len()).collect();
    let stride = |d: &usize| strides.get(*d).copied().unwrap_or(0);
    let size = |d: &usize| sizes.get(*d).copied().unwrap_or(1);
    // A dimension of size 1 has no place of its own: it keeps to its right neighbour, whatever its stride says.
    let mut key: SmallVec<[usize; 6]> = SmallVec::from_elem(0, strides.len());
    let mut last = 0_usize;
    for d in (0..strides.len()).rev() {
        if size(&d) != 1 {
            last = stride(&d);
        }
        if let Some(k) = key.get_mut(d) {
            *k = last;
        }
    }
    order.sort_by_key(|d| std::cmp::Reverse(key.get(*d).copied().unwrap_or(0)));
    order
}

/// Returns `values` in that order.
pub fn permuted(values: &[usize], order: &[usize]) -> Shape {
    order.iter().map(|d| values.get(*d).copied().unwrap_or(0)).collect()
}

/// Returns how far behind its first element the last one lies, plus 1; 0 where there are none.
pub fn extent(sizes: &[usize], strides: &[usize]) -> Result<usize, CallFault> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let far = sizes
        .iter()
        .zip(strides)
        .try_fold(0_usize, |far, (size, stride)| far.checked_add(size.saturating_sub(1).checked_mul(*stride)?));
    far.and_then(|f| f.checked_add(1)).ok_or_else(|| {
        CallFault::mismatch(
            "sizes",
            "a place in memory",
            format!("sizes {sizes:?} with strides {strides:?}, which overflow"),
        )
    })
}

/// Joins neighbouring dimensions that lie behind one another, and drops those of size 1.
pub fn collapsed(sizes: &[usize], strides: &[usize]) -> (Shape, Shape) {
    let (mut out_sizes, mut out_strides) = (Shape::new(), Shape::new());
    for (size, stride) in sizes.iter().copied().zip(strides.iter().copied()) {
        if size == 1 {
            continue;
        }
        match (out_sizes.last_mut(), out_strides.last_mut()) {
            (Some(last), Some(step)) if *step == stride.saturating_mul(size) => {
                *last = last.saturating_mul(size);
                *step = stride;
            }
            _ => {
                out_sizes.push(size);
                out_strides.push(stride);
            }
        }
    }
    (out_sizes, out_strides)
}

/// Walks over positions in row-major order from a linear index on, in runs along the last dimension.
pub struct Runs<'a> {
    sizes: &'a [usize],
    strides: &'a [usize],
    index: Shape,
    offset: usize,
    left: usize,
}

/// Positions one behind another: the first one's offset, how many, and the step between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Offset of the first element.
    pub offset: usize,
    /// How many elements.
    pub len: usize,
    /// Step between them.
    pub step: usize,
}

impl<'a> Runs<'a> {
    /// Walks over `len` positions, the first of which has row-major number `start`.
    pub fn new(sizes: &'a [usize], strides: &'a [usize], start: usize, len: usize) -> Self {
        let mut index: Shape = SmallVec::from_elem(0, sizes.len());
        let (mut rest, mut offset) = (start, 0_usize);
        for ((slot, size), stride) in index.iter_mut().zip(sizes).zip(strides).rev() {
            let at = rest.checked_rem(*size).unwrap_or(0);
            rest = rest.checked_div(*size).unwrap_or(0);
            *slot = at;
            offset = offset.saturating_add(at.saturating_mul(*stride));
        }
        Runs { sizes, strides, index, offset, left: len }
    }

    fn advance(&mut self, by: usize) {
        let dims = self.index.iter_mut().zip(self.sizes).zip(self.strides).rev();
        let mut carry = by;
        for ((slot, size), stride) in dims {
            *slot = slot.saturating_add(carry);
            self.offset = self.offset.wrapping_add(carry.wrapping_mul(*stride));
            if *slot < *size {
                return;
            }
            self.offset = self.offset.wrapping_sub(slot.wrapping_mul(*stride));
            *slot = 0;
            carry = 1;
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        if self.left == 0 {
            return None;
        }
        let (size, at) = (self.sizes.last().copied().unwrap_or(1), self.index.last().copied().unwrap_or(0));
        let len = size.saturating_sub(at).min(self.left);
        if len == 0 {
            return None;
        }
        let run = Run { offset: self.offset, len, step: self.strides.last().copied().unwrap_or(1) };
        self.left = self.left.saturating_sub(len);
        self.advance(len);
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offsets(sizes: &[usize], strides: &[usize], start: usize, len: usize) -> Vec<usize> {
        Runs::new(sizes, strides, start, len).flat_map(|r| (0..r.len).map(move |k| r.offset + k * r.step)).collect()
    }

    #[test]
    fn a_walk_visits_a_transposed_matrix_row_by_row() {
        assert_eq!(offsets(&[2, 3], &[1, 2], 0, 6), [0, 2, 4, 1, 3, 5]);
        assert_eq!(offsets(&[2, 3], &[1, 2], 2, 3), [4, 1, 3]);
        assert_eq!(offsets(&[], &[], 0, 1), [0]);
        assert!(offsets(&[0, 3], &[3, 1], 0, 0).is_empty());
    }

    proptest! {
        #[test]
        fn collapsing_changes_no_walk(dims in prop::collection::vec((1_usize..4, 0_usize..30), 0..5), start in 0_usize..8) {
            let (sizes, strides): (Vec<usize>, Vec<usize>) = dims.into_iter().unzip();
            let total = numel(&sizes);
            let start = start.min(total);
            let (s, t) = collapsed(&sizes, &strides);
            prop_assert_eq!(offsets(&sizes, &strides, start, total - start), offsets(&s, &t, start, total - start));
        }
    }
}
