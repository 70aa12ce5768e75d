//! View operators as steps of an index map.
//!
//! Promises: a step is what PyTorch's operator does, for all values of the symbols; what sizes, indices or an unknown operator
//! leave open is `None`, and the operator stays a function of its arguments. Result sizes come from the type rules.

use crate::analysis::Place;
use crate::graph::{Arg, TensorType, ValueType, View};
use crate::ops::{Bound, Operator, ViewStep};
use crate::sym::Dim;
use crate::term::index_map::Step;
use crate::term::sizes::Sizes;

/// A call of a view operator, bound.
pub struct ViewCall<'a, 'b> {
    /// The graph.
    pub view: &'a dyn View,
    /// What is called.
    pub operator: &'a Operator,
    /// With what.
    pub bound: &'a Bound<'b>,
    /// The result.
    pub place: Place,
}

impl ViewCall<'_, '_> {
    /// The argument at a place of the schema.
    fn arg(&self, place: usize) -> &Arg {
        self.bound.args.get(place).copied().unwrap_or(&Arg::None)
    }

    fn axis(&self, place: usize, rank: usize) -> Option<usize> {
        axis(self.arg(place), rank)
    }

    /// Returns what the call does to a value of type `from`; `None` where it is no index map that can be said.
    pub fn step(&self, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        self.step_to(self.operator.facts.step?, 1, from, to, s)
    }

    /// Returns which part of a value of type `from` a call replaces by one of type `to`, its second operand.
    pub fn scatter_step(&self, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        self.step_to(self.operator.facts.scatters?, 2, from, to, s)
    }

    /// `first` is the place of the first argument after the operands.
    fn step_to(
        &self,
        kind: ViewStep,
        first: usize,
        from: &TensorType,
        to: &TensorType,
        s: &mut Sizes<'_>,
    ) -> Option<Step> {
        if from.dtype != to.dtype || !s.are_settled(&from.sizes) || !s.are_settled(&to.sizes) {
            return None;
        }
        let (second, third) = (first.saturating_add(1), first.saturating_add(2));
        let rank = from.rank();
        match kind {
            ViewStep::Reshape => {
                let (old, new) = (s.product(&from.sizes)?, s.product(&to.sizes)?);
                s.same(old, new).then(|| Step::Reshape(to.sizes.clone()))
            }
            ViewStep::Permute | ViewStep::Transpose | ViewStep::Reverse | ViewStep::LastTwo | ViewStep::Move => {
                self.permutation(kind, first, rank)
            }
            ViewStep::Expand => Some(Step::Expand(to.sizes.clone())),
            ViewStep::Select => {
                let dim = self.axis(first, rank)?;
                let index = as_dim(self.view, self.arg(second))?;
                Some(Step::Select { dim, index: from_end(index, *from.sizes.get(dim)?, s)? })
            }
            ViewStep::Unbind => {
                let dim = self.axis(first, rank).filter(|_| self.place.item != Place::WHOLE)?;
                Some(Step::Select { dim, index: Dim::Fixed(i64::from(self.place.item)) })
            }
            ViewStep::Slice => {
                let dim = self.axis(first, rank)?;
                let step = as_dim(self.view, self.arg(first.saturating_add(3)))?.fixed().filter(|step| *step > 0)?;
                let start = self.begin(self.arg(second), *from.sizes.get(dim)?, s)?;
                Some(Step::Slice { dim, start, step, size: s.taken(*to.sizes.get(dim)?) })
            }
            ViewStep::Narrow => {
                let dim = self.axis(first, rank)?;
                let start = from_end(as_dim(self.view, self.arg(second))?, *from.sizes.get(dim)?, s)?;
                Some(Step::Slice { dim, start, step: 1, size: *to.sizes.get(dim)? })
            }
            ViewStep::Pieces => self.piece(second, from, to, s),
            ViewStep::PiecesAt => {
                let dim = self.axis(second, rank)?;
                // A piece begins at the index before it, wherever the pieces before it ended.
                let start = match (self.place.item as usize).checked_sub(1) {
                    None => Dim::Fixed(0),
                    Some(before) => self.begin(self.arg(first).items()?.get(before)?, *from.sizes.get(dim)?, s)?,
                };
                let size = *to.sizes.get(dim)?;
                (self.place.item != Place::WHOLE).then_some(Step::Slice { dim, start, step: 1, size })
            }
            ViewStep::Flip => match self.arg(first).items()? {
                [one] => axis(one, rank).map(Step::Flip),
                _ => None,
            },
            ViewStep::Windows => {
                let dim = self.axis(first, rank)?;
                let (Arg::Int(size), Arg::Int(step)) = (self.arg(second), self.arg(third)) else { return None };
                (0 < *size && size <= step).then_some(Step::Windows { dim, size: *size, step: *step })
            }
            ViewStep::Diagonal => {
                let (dim1, dim2) = (self.axis(second, rank)?, self.axis(third, rank)?);
                let Arg::Int(offset) = self.arg(first) else { return None };
                let size = *to.sizes.last()?;
                (dim1 != dim2).then_some(Step::Diagonal { dim1, dim2, offset: *offset, size })
            }
        }
    }

    fn permutation(&self, kind: ViewStep, first: usize, rank: usize) -> Option<Step> {
        let second = first.saturating_add(1);
        let mut perm: smallvec::SmallVec<[usize; 4]> = (0..rank).collect();
        match kind {
            ViewStep::Permute => {
                perm = self.arg(first).items()?.iter().map(|d| axis(d, rank)).collect::<Option<_>>()?;
            }
            ViewStep::Transpose => perm.swap(self.axis(first, rank)?, self.axis(second, rank)?),
            ViewStep::LastTwo => perm.swap(rank.checked_sub(2)?, rank.checked_sub(1)?),
            ViewStep::Move => {
                let (source, target) = (self.axes(first, rank)?, self.axes(second, rank)?);
                perm = moved(&source, &target, rank)?;
            }
            ViewStep::Reverse => perm.reverse(),
            _ => return None,
        }
        let mut sorted = perm.clone();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..rank).then_some(Step::Permute(perm))
    }

    fn axes(&self, place: usize, rank: usize) -> Option<Vec<usize>> {
        match self.arg(place) {
            one @ Arg::Int(_) => Some(vec![axis(one, rank)?]),
            many => many.items()?.iter().map(|d| axis(d, rank)).collect(),
        }
    }

    /// Where a slice begins; at the front where nothing is said.
    fn begin(&self, arg: &Arg, size: Dim, s: &mut Sizes<'_>) -> Option<Dim> {
        match arg {
            Arg::None => Some(Dim::Fixed(0)),
            arg => {
                let start = s.taken(as_dim(self.view, arg)?);
                clamped_start(start, size, s)
            }
        }
    }

    /// A piece of a split begins where the pieces before it end.
    fn piece(&self, dim: usize, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        let dim = self.axis(dim, from.rank())?;
        let ValueType::Many(pieces) = self.view.ty(self.place.node) else { return None };
        let mut start = Dim::Fixed(0);
        for piece in pieces.iter().take(self.place.item as usize) {
            start = s.add(start, *piece.as_tensor()?.sizes.get(dim)?)?;
        }
        s.is_settled(start).then_some(())?;
        Some(Step::Slice { dim, start, step: 1, size: *to.sizes.get(dim)? })
    }
}

/// Returns the integer that an argument is.
pub fn as_dim(view: &dyn View, arg: &Arg) -> Option<Dim> {
    match arg {
        Arg::Int(v) => Some(Dim::Fixed(*v)),
        Arg::Node(n) if view.hearsay(*n).sizes() => None,
        Arg::Node(n) => match view.ty(*n) {
            ValueType::SymInt(d) => Some(*d),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the dimension that an argument names, counted from the end where it is negative.
pub fn axis(arg: &Arg, rank: usize) -> Option<usize> {
    let Arg::Int(dim) = arg else { return None };
    let rank = i64::try_from(rank).ok()?;
    let dim = if *dim < 0 { dim.checked_add(rank)? } else { *dim };
    (dim < rank).then(|| usize::try_from(dim).ok())?
}

fn moved(source: &[usize], target: &[usize], rank: usize) -> Option<smallvec::SmallVec<[usize; 4]>> {
    let mut out: Vec<Option<usize>> = vec![None; rank];
    for (from, to) in source.iter().zip(target) {
        *out.get_mut(*to)? = Some(*from);
    }
    let mut rest = (0..rank).filter(|d| !source.contains(d));
    out.into_iter().map(|d| d.or_else(|| rest.next())).collect()
}

/// An index from the front: negative ones count from the end.
fn from_end(index: Dim, size: Dim, s: &mut Sizes<'_>) -> Option<Dim> {
    s.is_settled(index).then_some(())?;
    if s.at_most(Dim::Fixed(0), index) {
        return Some(index);
    }
    if s.at_most(index, Dim::Fixed(-1)) { s.add(index, size) } else { None }
}

/// Where a slice begins: PyTorch counts negative starts from the end and clamps to the dimension.
fn clamped_start(start: Dim, size: Dim, s: &mut Sizes<'_>) -> Option<Dim> {
    let start = from_end(start, size, s)?;
    if let (Dim::Fixed(start), Dim::Fixed(size)) = (start, size) {
        // A size below 0 is no size: such a graph is refused for its form.
        return (size >= 0).then(|| Dim::Fixed(start.clamp(0, size)));
    }
    if s.at_most(start, Dim::Fixed(0)) {
        return Some(Dim::Fixed(0));
    }
    (s.at_most(Dim::Fixed(0), start) && s.at_most(start, size)).then_some(start)
}
