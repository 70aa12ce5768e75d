//! View operators as steps of an index map.
//!
//! Promises: a step is what PyTorch's operator does, for all values of the symbols; what sizes, indices or an unknown operator
//! leave open is `None`, and the operator stays a function of its arguments. Result sizes come from the type rules.

use super::sizes::Sizes;
use super::viewmap::Step;
use crate::analysis::{Place, type_of};
use crate::graph::{Arg, TensorType, ValueType, View};
use crate::ops::{Bound, Operator};
use crate::sym::Dim;

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

impl<'a, 'b> ViewCall<'a, 'b> {
    fn arg(&self, name: &str) -> &Arg {
        self.operator.schema.param_index(name).map_or(&Arg::None, |i| self.bound.get(i))
    }

    fn dim_arg(&self, name: &str) -> Option<Dim> {
        as_dim(self.view, self.arg(name))
    }

    fn axis(&self, name: &str, rank: usize) -> Option<usize> {
        axis(self.arg(name), rank)
    }

    /// Returns what the call does to a value of type `from`; `None` where it is no index map that can be said.
    pub fn step(&self, from: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        let name = &*self.operator.schema.name;
        let name = name.strip_suffix("_copy").unwrap_or(name);
        self.step_to(name, from, type_of(self.view, self.place).as_tensor()?, s)
    }

    /// Returns which part of a value of type `from` a `NAME_scatter` replaces by one of type `to`.
    pub fn scatter_step(&self, name: &str, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        matches!(name, "slice" | "select" | "diagonal").then(|| self.step_to(name, from, to, s))?
    }

    fn step_to(&self, name: &str, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        if from.dtype != to.dtype || !s.are_settled(&from.sizes) || !s.are_settled(&to.sizes) {
            return None;
        }
        // Sizes that no rule gave are somebody's word.
        if self.operator.rule.is_none() || !matches!(&*self.operator.schema.namespace, "aten" | "prims") {
            return None;
        }
        match name {
            "view" | "_unsafe_view" | "reshape" | "reshape_as" | "view_as" | "flatten" | "unflatten" | "squeeze"
            | "unsqueeze" | "atleast_1d" | "atleast_2d" => {
                let (old, new) = (s.product(&from.sizes)?, s.product(&to.sizes)?);
                s.same(old, new).then(|| Step::Reshape(to.sizes.clone()))
            }
            "permute" | "transpose" | "swapaxes" | "t" | "numpy_T" | "mT" | "movedim" => self.permutation(name, from),
            "expand" | "expand_as" | "broadcast_to" => Some(Step::Expand(to.sizes.clone())),
            "select" => {
                let dim = self.axis("dim", from.rank())?;
                let index = self.dim_arg("index")?;
                Some(Step::Select { dim, index: from_end(index, *from.sizes.get(dim)?, s)? })
            }
            "unbind" if self.place.item != Place::WHOLE => {
                let dim = self.axis("dim", from.rank())?;
                Some(Step::Select { dim, index: Dim::Fixed(i64::from(self.place.item)) })
            }
            "slice" => self.slice(from, to, s),
            "narrow" if matches!(self.arg("start"), Arg::Int(_) | Arg::Node(_)) => {
                let dim = self.axis("dim", from.rank())?;
                let start = from_end(self.dim_arg("start")?, *from.sizes.get(dim)?, s)?;
                Some(Step::Slice { dim, start, step: 1, size: *to.sizes.get(dim)? })
            }
            "split"
            | "split_with_sizes"
            | "chunk"
            | "tensor_split"
            | "unsafe_split"
            | "unsafe_chunk"
            | "unsafe_split_with_sizes" => self.piece(from, to, s),
            "flip" => match self.arg("dims").items()? {
                [one] => axis(one, from.rank()).map(Step::Flip),
                _ => None,
            },
            "diagonal" => {
                let (dim1, dim2) = (self.axis("dim1", from.rank())?, self.axis("dim2", from.rank())?);
                let Arg::Int(offset) = self.arg("offset") else { return None };
                let size = *to.sizes.last()?;
                (dim1 != dim2).then_some(Step::Diagonal { dim1, dim2, offset: *offset, size })
            }
            _ => None,
        }
    }

    fn permutation(&self, name: &str, from: &TensorType) -> Option<Step> {
        let rank = from.rank();
        let mut perm: smallvec::SmallVec<[usize; 4]> = (0..rank).collect();
        match name {
            "permute" => {
                let dims = self.arg("dims").items()?;
                perm = dims.iter().map(|d| axis(d, rank)).collect::<Option<_>>()?;
            }
            "transpose" | "swapaxes" => {
                let names = if name == "transpose" { ["dim0", "dim1"] } else { ["axis0", "axis1"] };
                let [a, b] = names.map(|n| self.axis(n, rank));
                perm.swap(a?, b?);
            }
            "mT" => perm.swap(rank.checked_sub(2)?, rank.checked_sub(1)?),
            "movedim" => {
                let (source, target) = (self.axes("source", rank)?, self.axes("destination", rank)?);
                perm = moved(&source, &target, rank)?;
            }
            _ => perm.reverse(),
        }
        let mut sorted = perm.clone();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..rank).then_some(Step::Permute(perm))
    }

    fn axes(&self, name: &str, rank: usize) -> Option<Vec<usize>> {
        match self.arg(name) {
            one @ Arg::Int(_) => Some(vec![axis(one, rank)?]),
            many => many.items()?.iter().map(|d| axis(d, rank)).collect(),
        }
    }

    fn slice(&self, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        let dim = self.axis("dim", from.rank())?;
        let size = *from.sizes.get(dim)?;
        let step = self.dim_arg("step")?.fixed().filter(|step| *step > 0)?;
        let start = match self.arg("start") {
            Arg::None => Dim::Fixed(0),
            arg => clamped_start(as_dim(self.view, arg)?, size, s)?,
        };
        Some(Step::Slice { dim, start, step, size: *to.sizes.get(dim)? })
    }

    /// A piece of a split begins where the pieces before it end.
    fn piece(&self, from: &TensorType, to: &TensorType, s: &mut Sizes<'_>) -> Option<Step> {
        let dim = self.axis("dim", from.rank())?;
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
        return Some(Dim::Fixed(start.clamp(0, size)));
    }
    (s.at_most(Dim::Fixed(0), start) && s.at_most(start, size)).then_some(start)
}
