//! Which bytes of a storage a view takes, where numbers say it.
//!
//! A region is an offset, and sizes and strides, counted in elements of the storage. It is known of inputs and of sure views of
//! them, as far as every type in between was computed by a rule and has fixed sizes and strides; an input whose strides
//! nobody states is taken as contiguous.
//!
//! Promises: [`Meeting::Apart`] only if no element is in both, [`Meeting::Certain`] only if one is. Leaves to others: which
//! values lie in one storage.

use rustc_hash::FxHashSet;

use crate::analysis::{Place, Storages, type_of};
use crate::graph::{Dtype, NodeKind, TensorType, View};
use crate::ops::Registry;
use crate::sym::gcd;

/// How many elements are counted out, one by one.
const MAX_COUNTED: u64 = 1 << 10;

/// Elements of a storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    dtype: Dtype,
    offset: i64,
    /// Sizes above one, with their strides; none of them is zero.
    dims: Vec<(i64, i64)>,
    is_empty: bool,
}

/// Whether two regions have an element in common.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// They have none.
    Apart,
    /// Nobody can say.
    Maybe,
    /// They have one.
    Certain,
}

impl Region {
    /// Returns the elements that a value takes; `None` where that is not known.
    pub fn of(view: &dyn View, registry: &Registry, storages: &mut Storages<'_>, place: Place) -> Option<Self> {
        let mut at = place;
        let region = Region::of_type(type_of(view, place).as_tensor()?)?;
        for _ in 0..MAX_CHAIN {
            let Some(parent) = storages.parent(at) else {
                return (view.kind(at.node) == NodeKind::Placeholder).then_some(region);
            };
            registry.operator_of(view, at.node)?.rule?;
            at = parent.place();
            let below = Region::of_type(type_of(view, at).as_tensor()?)?;
            (below.dtype == region.dtype).then_some(())?;
        }
        None
    }

    fn of_type(tensor: &TensorType) -> Option<Self> {
        let strides = tensor.strides.as_ref()?;
        let offset = tensor.offset.fixed()?;
        let dims = tensor.sizes.iter().zip(strides).map(|(size, stride)| Some((size.fixed()?, stride.fixed()?)));
        let dims: Vec<(i64, i64)> = dims.collect::<Option<_>>()?;
        let is_empty = dims.iter().any(|(size, _)| *size == 0);
        let dims = dims.into_iter().filter(|(size, stride)| *size != 1 && *stride != 0).collect();
        Some(Region { dtype: tensor.dtype, offset, dims, is_empty })
    }

    /// Returns whether two regions of one storage have an element in common.
    pub fn meets(&self, other: &Region) -> Meeting {
        if self.is_empty || other.is_empty {
            return Meeting::Apart;
        }
        if self.dtype != other.dtype {
            return Meeting::Maybe;
        }
        if self == other {
            return Meeting::Certain;
        }
        let (Some((low_a, high_a)), Some((low_b, high_b))) = (self.bounds(), other.bounds()) else {
            return Meeting::Maybe;
        };
        if high_a < low_b || high_b < low_a {
            return Meeting::Apart;
        }
        if self.is_other_residue(other, low_a, low_b) || self.is_other_column(other) {
            return Meeting::Apart;
        }
        match (self.elements(), other.elements()) {
            (Some(a), Some(b)) => {
                let a: FxHashSet<i64> = a.into_iter().collect();
                if b.iter().any(|e| a.contains(e)) { Meeting::Certain } else { Meeting::Apart }
            }
            _ if self.is_dense() || other.is_dense() => self.meets_dense(other),
            _ => Meeting::Maybe,
        }
    }

    /// With `g` dividing all strides, elements of different residues never meet.
    fn is_other_residue(&self, other: &Region, low_a: i64, low_b: i64) -> bool {
        let strides = self.dims.iter().chain(&other.dims).map(|(_, stride)| stride.unsigned_abs());
        let g = strides.fold(0, gcd);
        let residue = |low: i64| i64::try_from(g).ok().and_then(|g| low.checked_rem_euclid(g));
        g > 1 && residue(low_a) != residue(low_b)
    }

    /// Both are blocks of one grid of rows, in different columns: each row holds a part of each, the parts do not meet.
    fn is_other_column(&self, other: &Region) -> bool {
        let strides = self.dims.iter().chain(&other.dims).map(|(_, stride)| stride.saturating_abs());
        let row = strides.max().unwrap_or(0);
        let columns = |region: &Region| -> Option<(i64, i64)> {
            let first = region.offset.checked_rem_euclid(row)?;
            let (mut low, mut high) = (first, first);
            for (size, stride) in region.dims.iter().filter(|(_, stride)| stride.checked_rem(row) != Some(0)) {
                let end = size.checked_sub(1)?.checked_mul(*stride)?;
                low = low.checked_add(end.min(0))?;
                high = high.checked_add(end.max(0))?;
            }
            (low >= 0 && high < row).then_some((low, high))
        };
        match (columns(self), columns(other)) {
            (Some((low_a, high_a)), Some((low_b, high_b))) => high_a < low_b || high_b < low_a,
            _ => false,
        }
    }

    /// The lowest and the highest element.
    fn bounds(&self) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.offset, self.offset);
        for (size, stride) in &self.dims {
            let end = size.checked_sub(1)?.checked_mul(*stride)?;
            low = low.checked_add(end.min(0))?;
            high = high.checked_add(end.max(0))?;
        }
        Some((low, high))
    }

    /// All elements, if they are few.
    fn elements(&self) -> Option<Vec<i64>> {
        let count = self.dims.iter().try_fold(1_u64, |p, (size, _)| p.checked_mul(u64::try_from(*size).ok()?))?;
        (count <= MAX_COUNTED).then_some(())?;
        let mut out = vec![self.offset];
        for (size, stride) in &self.dims {
            let mut next = Vec::new();
            for i in 0..*size {
                let ahead = i.checked_mul(*stride)?;
                for e in &out {
                    next.push(e.checked_add(ahead)?);
                }
            }
            out = next;
        }
        Some(out)
    }

    /// Whether every element between the lowest and the highest is taken.
    fn is_dense(&self) -> bool {
        let mut dims: Vec<(i64, i64)> =
            self.dims.iter().map(|(size, stride)| (*size, stride.saturating_abs())).collect();
        dims.sort_by_key(|(_, stride)| *stride);
        let mut reach = 1_i64;
        for (size, stride) in dims {
            if stride > reach {
                return false;
            }
            reach = reach.saturating_add(size.saturating_sub(1).saturating_mul(stride));
        }
        true
    }

    /// Of two whose bounds overlap, one being dense: the ends of either lie in the other, or nobody counts.
    fn meets_dense(&self, other: &Region) -> Meeting {
        let (Some((low_a, high_a)), Some((low_b, high_b))) = (self.bounds(), other.bounds()) else {
            return Meeting::Maybe;
        };
        let end_inside = |dense: &Region, low: i64, high: i64, a: i64, b: i64| {
            dense.is_dense() && ((low..=high).contains(&a) || (low..=high).contains(&b))
        };
        if end_inside(self, low_a, high_a, low_b, high_b) || end_inside(other, low_b, high_b, low_a, high_a) {
            Meeting::Certain
        } else {
            Meeting::Maybe
        }
    }
}

/// How long a chain of views is followed.
const MAX_CHAIN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn region(offset: i64, dims: &[(i64, i64)]) -> Region {
        let is_empty = dims.iter().any(|(size, _)| *size == 0);
        Region { dtype: Dtype::F32, offset, dims: dims.to_vec(), is_empty }
    }

    #[test]
    fn rows_that_touch_are_apart_and_rows_that_overlap_meet() {
        assert_eq!(region(0, &[(4, 1)]).meets(&region(4, &[(3, 4), (4, 1)])), Meeting::Apart);
        assert_eq!(region(0, &[(2, 4), (4, 1)]).meets(&region(4, &[(3, 4), (4, 1)])), Meeting::Certain);
    }

    #[test]
    fn even_and_odd_columns_are_apart_and_even_columns_meet() {
        let even = region(0, &[(4, 4), (2, 2)]);
        assert_eq!(even.meets(&region(1, &[(4, 4), (2, 2)])), Meeting::Apart);
        assert_eq!(even.meets(&region(2, &[(4, 4)])), Meeting::Certain);
    }

    #[test]
    fn large_regions_are_not_counted_out() {
        let big = 1 << 20;
        assert_eq!(region(0, &[(big, 1)]).meets(&region(big, &[(big, 1)])), Meeting::Apart);
        assert_eq!(region(0, &[(big, 1)]).meets(&region(big - 1, &[(big, 1)])), Meeting::Certain);
        assert_eq!(region(0, &[(big, 2)]).meets(&region(1, &[(big, 2)])), Meeting::Apart);
        assert_eq!(region(0, &[(big, 2)]).meets(&region(3, &[(big, 3)])), Meeting::Maybe);
    }

    #[test]
    fn halves_of_long_rows_are_apart_and_overlapping_thirds_are_not() {
        let left = region(0, &[(4096, 4096), (2048, 1)]);
        assert_eq!(left.meets(&region(2048, &[(4096, 4096), (2048, 1)])), Meeting::Apart);
        assert_ne!(left.meets(&region(2047, &[(4096, 4096), (2048, 1)])), Meeting::Apart);
    }

    #[test]
    fn counting_out_and_reasoning_agree_on_small_regions() {
        let mut regions = Vec::new();
        for offset in 0..6 {
            for (a, b) in [(1, 1), (2, 1), (3, 2), (2, 3), (2, 4), (3, 5)] {
                for (c, d) in [(1, 1), (2, 1), (2, 2), (2, 6), (2, -1)] {
                    regions.push(region(offset, &[(a, b), (c, d)]));
                }
            }
        }
        for a in &regions {
            for b in &regions {
                let (x, y) = (a.elements().unwrap(), b.elements().unwrap());
                let common = x.iter().any(|e| y.contains(e));
                let meeting = a.meets(b);
                assert!(!(common && meeting == Meeting::Apart), "{a:?} {b:?}");
                assert!(common || meeting != Meeting::Certain, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn what_has_no_elements_meets_nothing() {
        assert_eq!(region(0, &[(0, 1)]).meets(&region(0, &[(4, 1)])), Meeting::Apart);
    }
}
