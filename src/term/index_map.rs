//! Index maps: which element of a value each element of a view of it is.
//!
//! A map is a stack of layers. A layer sees what is under it laid out row by row and takes, for the index
//! `(i0, i1, ...)`, element `offset + i0*stride0 + i1*stride1 + ...` of that. Most chains of views are one layer; a reshape
//! that cannot be said in strides begins another.
//!
//! Promises: (1) equal maps take the same elements into the same shape; (2) the identity is recognised; (3) [`ViewMap::meets`]
//! says "no" only if no element is taken by both. That different maps are different functions is not promised.

use smallvec::{SmallVec, smallvec};

use crate::sym::{Dim, gcd};
use crate::term::sizes::{Dims, Sizes};

/// One layer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layer {
    sizes: Dims,
    strides: Dims,
    offset: Dim,
}

/// A map: layers, the one next to the value first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ViewMap {
    layers: SmallVec<[Layer; 1]>,
}

/// One view operator, with everything about sizes filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// The same elements in order, in other sizes.
    Reshape(Dims),
    /// Dimension `i` of the result is dimension `perm[i]`.
    Permute(SmallVec<[usize; 4]>),
    /// Dimensions of size one repeated, new ones in front.
    Expand(Dims),
    /// One index of a dimension.
    Select {
        /// The dimension.
        dim: usize,
        /// The index.
        index: Dim,
    },
    /// A part of a dimension.
    Slice {
        /// The dimension.
        dim: usize,
        /// Where it begins.
        start: Dim,
        /// How far apart its elements are.
        step: i64,
        /// How many they are.
        size: Dim,
    },
    /// Elements of it as it lies row by row: so far apart along each dimension, from one on.
    Strided {
        /// The sizes.
        sizes: Dims,
        /// How far apart its elements are.
        strides: Dims,
        /// Where it begins.
        start: Dim,
    },
    /// A dimension read backwards.
    Flip(usize),
    /// Parts of a dimension that do not overlap; their own becomes the last one.
    Windows {
        /// The dimension.
        dim: usize,
        /// How many elements each has.
        size: i64,
        /// How far apart they begin.
        step: i64,
    },
    /// The elements whose indices in two dimensions differ by a constant; they become the last dimension.
    Diagonal {
        /// The first dimension.
        dim1: usize,
        /// The second dimension.
        dim2: usize,
        /// How far the second is ahead.
        offset: i64,
        /// How many they are.
        size: Dim,
    },
}

impl Layer {
    fn row_major(sizes: &[Dim], s: &mut Sizes<'_>) -> Option<Self> {
        let strides = s.row_major(sizes)?;
        Some(Layer { sizes: sizes.into(), strides, offset: Dim::Fixed(0) }.canonical())
    }

    /// Strides that no index reaches are zero.
    fn canonical(mut self) -> Self {
        let empty = self.sizes.contains(&Dim::Fixed(0));
        for (size, stride) in self.sizes.iter().zip(self.strides.iter_mut()) {
            if empty || *size == Dim::Fixed(1) {
                *stride = Dim::Fixed(0);
            }
        }
        if empty {
            self.offset = Dim::Fixed(0);
        }
        self
    }

    fn is_row_major(&self, s: &mut Sizes<'_>) -> bool {
        self.offset == Dim::Fixed(0) && Layer::row_major(&self.sizes, s).as_ref() == Some(self)
    }

    fn apply(&self, step: &Step, s: &mut Sizes<'_>) -> Option<Layer> {
        let mut out = self.clone();
        match step {
            Step::Reshape(sizes) => return self.reshape(sizes, s),
            Step::Strided { sizes, strides, start } => {
                self.is_row_major(s).then_some(())?;
                out = Layer { sizes: sizes.clone(), strides: strides.clone(), offset: *start };
            }
            Step::Permute(perm) => {
                out.sizes = perm.iter().map(|d| self.sizes.get(*d).copied()).collect::<Option<_>>()?;
                out.strides = perm.iter().map(|d| self.strides.get(*d).copied()).collect::<Option<_>>()?;
            }
            Step::Expand(sizes) => {
                let new = sizes.len().checked_sub(self.sizes.len())?;
                out.sizes.clone_from(sizes);
                out.strides = smallvec![Dim::Fixed(0); new];
                for ((old, size), stride) in self.sizes.iter().zip(sizes.iter().skip(new)).zip(&self.strides) {
                    if s.same(*old, *size) {
                        out.strides.push(*stride);
                    } else if *old == Dim::Fixed(1) {
                        out.strides.push(Dim::Fixed(0));
                    } else {
                        return None;
                    }
                }
            }
            Step::Select { dim, index } => {
                let step = s.mul(*self.strides.get(*dim)?, *index)?;
                out.offset = s.add(self.offset, step)?;
                out.sizes.remove(*dim);
                out.strides.remove(*dim);
            }
            Step::Slice { dim, start, step, size } => {
                let stride = *self.strides.get(*dim)?;
                let ahead = s.mul(stride, *start)?;
                out.offset = s.add(self.offset, ahead)?;
                *out.strides.get_mut(*dim)? = s.mul(stride, Dim::Fixed(*step))?;
                *out.sizes.get_mut(*dim)? = *size;
            }
            Step::Flip(dim) => {
                let (size, stride) = (*self.sizes.get(*dim)?, *self.strides.get(*dim)?);
                let last = s.add(size, Dim::Fixed(-1))?;
                let ahead = s.mul(stride, last)?;
                out.offset = s.add(self.offset, ahead)?;
                *out.strides.get_mut(*dim)? = s.neg(stride)?;
            }
            Step::Windows { dim, size, step } => {
                let (all, stride) = (self.sizes.get(*dim)?.fixed()?, *self.strides.get(*dim)?);
                let apart = all.checked_sub(*size).filter(|left| *left >= 0)?;
                *out.sizes.get_mut(*dim)? = Dim::Fixed(apart.checked_div(*step)?.checked_add(1)?);
                *out.strides.get_mut(*dim)? = s.mul(stride, Dim::Fixed(*step))?;
                out.sizes.push(Dim::Fixed(*size));
                out.strides.push(stride);
            }
            Step::Diagonal { dim1, dim2, offset, size } => {
                let (one, two) = (*self.strides.get(*dim1)?, *self.strides.get(*dim2)?);
                let (along, by) = if *offset >= 0 { (two, *offset) } else { (one, offset.checked_neg()?) };
                let ahead = s.mul(along, Dim::Fixed(by))?;
                out.offset = s.add(self.offset, ahead)?;
                for dim in [(*dim1).max(*dim2), (*dim1).min(*dim2)] {
                    out.sizes.remove(dim);
                    out.strides.remove(dim);
                }
                out.sizes.push(*size);
                out.strides.push(s.add(one, two)?);
            }
        }
        Some(out.canonical())
    }

    /// The same elements in other sizes, if strides can say it.
    fn reshape(&self, sizes: &[Dim], s: &mut Sizes<'_>) -> Option<Layer> {
        if self.is_row_major(s) {
            return Layer::row_major(sizes, s);
        }
        let one = Dim::Fixed(1);
        let strip = |sizes: &[Dim]| -> Dims { sizes.iter().copied().filter(|d| *d != one).collect() };
        let strides = if strip(&self.sizes) == strip(sizes) {
            let mut old = self.sizes.iter().zip(&self.strides).filter(|(d, _)| **d != one).map(|(_, s)| *s);
            sizes.iter().map(|d| if *d == one { Some(Dim::Fixed(0)) } else { old.next() }).collect::<Option<_>>()?
        } else {
            fixed_reshape(&self.fixed()?, &sizes.iter().map(|d| d.fixed()).collect::<Option<Vec<_>>>()?)?
        };
        Some(Layer { sizes: sizes.into(), strides, offset: self.offset }.canonical())
    }

    /// Sizes and strides as numbers, without dimensions of size one.
    fn fixed(&self) -> Option<Vec<(i64, i64)>> {
        let all = self.sizes.iter().zip(&self.strides).map(|(d, s)| Some((d.fixed()?, s.fixed()?)));
        Some(all.collect::<Option<Vec<_>>>()?.into_iter().filter(|(d, _)| *d != 1).collect())
    }

    /// Returns whether no two indices take one element, where numbers show it.
    fn is_injective(&self) -> bool {
        let Some(mut dims) = self.fixed() else { return self.sizes.is_empty() };
        dims.sort_by_key(|(_, stride)| stride.unsigned_abs());
        let mut reach = 0_u64;
        for (size, stride) in dims {
            if size == 0 {
                return true;
            }
            if stride.unsigned_abs() <= reach {
                return false;
            }
            let last = u64::try_from(size).unwrap_or(u64::MAX).saturating_sub(1);
            reach = reach.saturating_add(last.saturating_mul(stride.unsigned_abs()));
        }
        true
    }

    /// The same for all values of the symbols: each stride reaches beyond all that smaller ones do.
    fn is_injective_for_all(&self, s: &mut Sizes<'_>) -> bool {
        let mut left: Vec<(Dim, Dim)> =
            self.sizes.iter().copied().zip(self.strides.iter().copied()).filter(|(d, _)| *d != Dim::Fixed(1)).collect();
        let mut reach = Dim::Fixed(1);
        while !left.is_empty() {
            let beyond = |k: &usize| {
                let Some((_, stride)) = left.get(*k) else { return false };
                s.at_most(reach, *stride) && left.iter().all(|(_, other)| s.at_most(*stride, *other))
            };
            let Some(next) = (0..left.len()).find(beyond) else { return false };
            let (size, stride) = left.swap_remove(next);
            let Some(whole) = s.mul(size, stride).filter(|_| s.at_most(Dim::Fixed(0), size)) else { return false };
            reach = whole;
        }
        true
    }

    /// The lowest and the highest element taken; `None` where they are not numbers, or there is none.
    fn bounds(&self) -> Option<(i64, i64)> {
        let offset = self.offset.fixed()?;
        let (mut low, mut high) = (offset, offset);
        for (size, stride) in self.fixed()? {
            let end = size.checked_sub(1)?.checked_mul(stride)?;
            low = low.checked_add(end.min(0))?;
            high = high.checked_add(end.max(0))?;
        }
        Some((low, high))
    }

    fn is_empty(&self) -> bool {
        self.sizes.contains(&Dim::Fixed(0))
    }

    /// Returns whether no element is taken by both.
    fn is_apart(&self, other: &Layer) -> bool {
        if self.is_empty() || other.is_empty() {
            return true;
        }
        let (Some((low_a, high_a)), Some((low_b, high_b))) = (self.bounds(), other.bounds()) else { return false };
        if high_a < low_b || high_b < low_a {
            return true;
        }
        // Interleaved: with `g` dividing all strides, elements of different residues never meet; and columns of one grid.
        let strides = self.fixed().into_iter().chain(other.fixed()).flatten().map(|(_, s)| s.unsigned_abs());
        let g = strides.fold(0_u64, gcd);
        let residue = |low: i64| i64::try_from(g).ok().and_then(|g| low.checked_rem_euclid(g));
        if g > 1 && residue(low_a) != residue(low_b) {
            return true;
        }
        self.is_other_column(other)
    }

    /// Returns whether both are blocks of one grid of rows, in different columns.
    fn is_other_column(&self, other: &Layer) -> bool {
        let (Some(a), Some(b)) = (self.fixed(), other.fixed()) else { return false };
        let (Some(offset_a), Some(offset_b)) = (self.offset.fixed(), other.offset.fixed()) else { return false };
        let row = |dims: &[(i64, i64)]| dims.iter().map(|(_, s)| s.unsigned_abs()).max().unwrap_or(0);
        let row = i64::try_from(row(&a).max(row(&b))).unwrap_or(0);
        let columns = |dims: &[(i64, i64)], offset: i64| -> Option<(i64, i64)> {
            let (mut low, mut high) = (offset.checked_rem_euclid(row)?, offset.checked_rem_euclid(row)?);
            for (size, stride) in dims.iter().filter(|(_, s)| s.checked_rem(row) != Some(0)) {
                let end = size.checked_sub(1)?.checked_mul(*stride)?;
                low = low.checked_add(end.min(0))?;
                high = high.checked_add(end.max(0))?;
            }
            (low >= 0 && high < row).then_some((low, high))
        };
        match (columns(&a, offset_a), columns(&b, offset_b)) {
            (Some((low_a, high_a)), Some((low_b, high_b))) => high_a < low_b || high_b < low_a,
            _ => false,
        }
    }
}

/// Strides of the same elements in other sizes: `old` has no size one; empty tensors are left out.
fn fixed_reshape(old: &[(i64, i64)], new: &[i64]) -> Option<Dims> {
    let total = old.iter().try_fold(1_i64, |p, (d, _)| p.checked_mul(*d))?;
    if total == 0 || total != new.iter().try_fold(1_i64, |p, d| p.checked_mul(*d))? {
        return None;
    }
    let mut out: Dims = smallvec![Dim::Fixed(0); new.len()];
    let mut old = old.iter().rev().copied().peekable();
    let mut open: Option<(i64, i64)> = None;
    for (place, &size) in new.iter().enumerate().rev() {
        if size == 1 {
            continue;
        }
        // `open` is what is left of a run of old dimensions that lie one in another: how many elements, how far apart.
        let (left, stride) = match open.take() {
            Some(run) => run,
            None => {
                let (mut left, stride) = old.next()?;
                while let Some((more, _)) = old.next_if(|(_, s)| stride.checked_mul(left) == Some(*s)) {
                    left = left.checked_mul(more)?;
                }
                (left, stride)
            }
        };
        if left.checked_rem(size)? != 0 {
            return None;
        }
        *out.get_mut(place)? = Dim::Fixed(stride);
        let rest = left.checked_div(size)?;
        if rest > 1 {
            open = Some((rest, stride.checked_mul(size)?));
        }
    }
    Some(out)
}

impl ViewMap {
    /// Returns the identity on a value of these sizes.
    pub fn identity(sizes: &[Dim], s: &mut Sizes<'_>) -> Option<Self> {
        Some(ViewMap { layers: smallvec![Layer::row_major(sizes, s)?] })
    }

    /// Returns the map with one more view on top; `None` where sizes do not say what it is.
    pub fn then(&self, step: &Step, s: &mut Sizes<'_>) -> Option<Self> {
        let (top, under) = self.layers.split_last()?;
        let mut layers: SmallVec<[Layer; 1]> = under.into();
        match (top.apply(step, s), step) {
            (Some(layer), _) => layers.push(layer),
            (None, Step::Reshape(sizes)) => {
                layers.push(top.clone());
                layers.push(Layer::row_major(sizes, s)?);
            }
            (None, Step::Strided { sizes, strides, start }) => {
                layers.push(top.clone());
                layers.push(Layer { sizes: sizes.clone(), strides: strides.clone(), offset: *start }.canonical());
            }
            (None, _) => return None,
        }
        if let [.., under, top] = layers.as_slice()
            && under.sizes == top.sizes
            && top.is_row_major(s)
        {
            layers.pop();
        }
        Some(ViewMap { layers })
    }

    /// Returns sizes, strides and offset of each layer, the one next to the value first.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = (&[Dim], &[Dim], Dim)> {
        self.layers.iter().map(|l| (l.sizes.as_slice(), l.strides.as_slice(), l.offset))
    }

    /// Returns the sizes of the view.
    pub fn sizes(&self) -> &[Dim] {
        self.layers.last().map_or(&[], |l| &l.sizes)
    }

    /// Returns whether the view is a value of these sizes, whole and in place.
    pub fn is_identity(&self, sizes: &[Dim], s: &mut Sizes<'_>) -> bool {
        match self.layers.as_slice() {
            [one] => s.all_same(&one.sizes, sizes) && one.is_row_major(s),
            _ => false,
        }
    }

    /// Returns the map that leads back, where this one takes each element of a tensor of these sizes once: a reshape, or dimensions of
    /// up to four exchanged.
    pub fn inverse(&self, base: &[Dim], s: &mut Sizes<'_>) -> Option<ViewMap> {
        let own = Dims::from(self.sizes());
        let whole = ViewMap::identity(base, s)?;
        let (a, b) = (s.product(base)?, s.product(&own)?);
        if !s.same(a, b) {
            return None;
        }
        if whole.then(&Step::Reshape(own.clone()), s).as_ref() == Some(self) {
            return ViewMap::identity(&own, s)?.then(&Step::Reshape(base.into()), s);
        }
        let perm =
            permutations(base.len()).find(|perm| whole.then(&Step::Permute(perm.clone()), s).as_ref() == Some(self))?;
        let back = (0..perm.len()).map(|d| perm.iter().position(|p| *p == d)).collect::<Option<_>>()?;
        ViewMap::identity(&own, s)?.then(&Step::Permute(back), s)
    }

    /// Returns whether no two indices surely take one element, so that a write through the view is well defined.
    pub fn is_injective(&self) -> bool {
        self.layers.iter().all(Layer::is_injective)
    }

    /// The same for all values of the symbols in its sizes.
    pub fn is_injective_for_all(&self, s: &mut Sizes<'_>) -> bool {
        self.layers.iter().all(|layer| layer.is_injective() || layer.is_injective_for_all(s))
    }

    /// Returns whether the two may take one element.
    pub fn meets(&self, other: &ViewMap) -> bool {
        match (self.layers.first(), other.layers.first()) {
            (Some(a), Some(b)) => !a.is_apart(b),
            _ => true,
        }
    }
}

/// All orders of so many dimensions; of more than four none.
fn permutations(rank: usize) -> impl Iterator<Item = SmallVec<[usize; 4]>> {
    let mut all: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new()];
    for d in 0..rank.min(5) {
        let longer = |p: &SmallVec<[usize; 4]>| {
            let places = 0..=p.len();
            let put = |at: usize| {
                let mut p = p.clone();
                p.insert(at, d);
                p
            };
            places.map(put).collect::<Vec<_>>()
        };
        all = if rank > 4 { Vec::new() } else { all.iter().flat_map(longer).collect() };
    }
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::Symbols;

    fn fixed(v: &[i64]) -> Dims {
        v.iter().map(|x| Dim::Fixed(*x)).collect()
    }

    fn map(sizes: &[i64], steps: &[Step]) -> ViewMap {
        let symbols = Symbols::default();
        let graph = crate::graph::Graph::new();
        let mut s = Sizes::new(&symbols, &graph);
        let start = ViewMap::identity(&fixed(sizes), &mut s).unwrap();
        steps.iter().fold(start, |m, step| m.then(step, &mut s).unwrap())
    }

    fn permute(perm: &[usize]) -> Step {
        Step::Permute(perm.into())
    }

    fn slice(dim: usize, start: i64, step: i64, size: i64) -> Step {
        Step::Slice { dim, start: Dim::Fixed(start), step, size: Dim::Fixed(size) }
    }

    #[test]
    fn permutations_compose_in_the_order_of_the_views() {
        let both = map(&[2, 3, 4], &[permute(&[1, 2, 0]), permute(&[2, 0, 1])]);
        assert_eq!(both, map(&[2, 3, 4], &[]));
        // The wrong twin: the other order of composing.
        let wrong = map(&[2, 3, 4], &[permute(&[1, 2, 0]), permute(&[1, 2, 0])]);
        assert_ne!(wrong, map(&[2, 3, 4], &[permute(&[0, 1, 2])]));
        assert_eq!(wrong, map(&[2, 3, 4], &[permute(&[2, 0, 1])]));
    }

    #[test]
    fn a_permutation_of_equal_sizes_is_not_the_identity() {
        assert_ne!(map(&[3, 3], &[permute(&[1, 0])]), map(&[3, 3], &[]));
        assert_eq!(map(&[3, 1], &[permute(&[1, 0])]), map(&[3, 1], &[Step::Reshape(fixed(&[1, 3]))]));
    }

    #[test]
    fn a_reshape_there_and_back_is_the_identity_also_over_a_permutation() {
        let there_and_back =
            map(&[2, 3, 4], &[permute(&[2, 0, 1]), Step::Reshape(fixed(&[24])), Step::Reshape(fixed(&[4, 2, 3]))]);
        assert_eq!(there_and_back, map(&[2, 3, 4], &[permute(&[2, 0, 1])]));
        let wrong =
            map(&[2, 3, 4], &[permute(&[2, 0, 1]), Step::Reshape(fixed(&[24])), Step::Reshape(fixed(&[2, 3, 4]))]);
        assert_ne!(wrong, map(&[2, 3, 4], &[]));
    }

    #[test]
    fn a_reshape_that_splits_a_strided_dimension_is_said_in_strides() {
        let split = map(&[8, 6], &[permute(&[1, 0]), Step::Reshape(fixed(&[2, 3, 8]))]);
        let direct = map(&[8, 6], &[Step::Reshape(fixed(&[8, 2, 3])), permute(&[1, 2, 0])]);
        assert_eq!(split, direct);
        let merged = map(&[8, 6], &[permute(&[1, 0]), Step::Reshape(fixed(&[48]))]);
        assert_eq!(merged.layers.len(), 2);
    }

    #[test]
    fn slices_compose_with_their_steps() {
        assert_eq!(map(&[20], &[slice(0, 2, 3, 6), slice(0, 1, 2, 3)]), map(&[20], &[slice(0, 5, 6, 3)]),);
        assert_ne!(map(&[20], &[slice(0, 2, 3, 6), slice(0, 1, 2, 3)]), map(&[20], &[slice(0, 3, 6, 3)]));
    }

    #[test]
    fn halves_and_columns_do_not_meet_and_neighbours_do() {
        let whole = [6, 4];
        let upper = map(&whole, &[slice(0, 0, 1, 3)]);
        assert!(!upper.meets(&map(&whole, &[slice(0, 3, 1, 3)])));
        assert!(upper.meets(&map(&whole, &[slice(0, 2, 1, 3)])));
        let left = map(&whole, &[slice(1, 0, 1, 2)]);
        assert!(!left.meets(&map(&whole, &[slice(1, 2, 1, 2)])));
        assert!(left.meets(&map(&whole, &[slice(1, 1, 1, 2)])));
        assert!(!map(&whole, &[slice(1, 0, 2, 2)]).meets(&map(&whole, &[slice(1, 1, 2, 2)])));
        assert!(left.meets(&upper));
    }

    #[test]
    fn an_expanded_view_is_not_injective() {
        assert!(map(&[4, 1], &[]).is_injective());
        assert!(!map(&[4, 1], &[Step::Expand(fixed(&[4, 3]))]).is_injective());
    }

    #[test]
    fn every_small_map_agrees_with_the_elements_it_takes() {
        // Elements by hand: a list of shape [2, 3, 4] is permuted, cut and reshaped both ways.
        let m = map(&[2, 3, 4], &[permute(&[1, 0, 2]), slice(0, 1, 1, 2), Step::Reshape(fixed(&[4, 4]))]);
        let taken: Vec<i64> = elements(&m);
        assert_eq!(taken, [4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23]);
    }

    /// The elements that a map takes, in row-major order.
    fn elements(map: &ViewMap) -> Vec<i64> {
        let mut below: Option<Vec<i64>> = None;
        for layer in &map.layers {
            let (sizes, strides): (Vec<i64>, Vec<i64>) = (
                layer.sizes.iter().map(|d| d.fixed().unwrap()).collect(),
                layer.strides.iter().map(|d| d.fixed().unwrap()).collect(),
            );
            let count: i64 = sizes.iter().product();
            let mut out = Vec::new();
            for n in 0..count {
                let (mut rest, mut at) = (n, layer.offset.fixed().unwrap());
                for (size, stride) in sizes.iter().zip(&strides).rev() {
                    at += (rest % size) * stride;
                    rest /= size;
                }
                out.push(below.as_ref().map_or(at, |b| b[at as usize]));
            }
            below = Some(out);
        }
        below.unwrap()
    }

    #[test]
    fn a_map_that_takes_each_element_once_leads_back_and_others_do_not() {
        let symbols = Symbols::default();
        let graph = crate::graph::Graph::new();
        let mut s = Sizes::new(&symbols, &graph);
        let base = fixed(&[2, 3, 4]);
        let steps = [
            Step::Reshape(fixed(&[6, 4])),
            Step::Permute(SmallVec::from_slice(&[2, 0, 1])),
            Step::Permute(SmallVec::from_slice(&[1, 0, 2])),
        ];
        for step in steps {
            let there = map(&[2, 3, 4], &[step]);
            let back = there.inverse(&base, &mut s).unwrap();
            assert_eq!(back.sizes(), &*base);
        }
        let part = Step::Slice { dim: 0, start: Dim::Fixed(0), step: 1, size: Dim::Fixed(1) };
        for step in [part, Step::Flip(1)] {
            assert_eq!(map(&[2, 3, 4], &[step]).inverse(&base, &mut s), None);
        }
        let whole = map(&[4], &[Step::Slice { dim: 0, start: Dim::Fixed(0), step: 1, size: Dim::Fixed(4) }]);
        assert_eq!(whole.inverse(&fixed(&[4]), &mut s).map(|m| m.sizes().to_vec()), Some(fixed(&[4]).to_vec()));
    }
}
