//! What is written into a view, put back into what it is a view of.
//!
//! Promises: which elements a view is of is its operator's step in the registry; a view that is none of these is refused.

use super::Kept;
use super::memory::{Memory, Seen};
use crate::graph::{Arg, NodeId, TensorType, ValueType, View};
use crate::ops::{Bound, Given, Operator, SameAs, ViewStep};
use crate::sym::Dim;

impl Memory<'_> {
    /// The value that a `copy_` leaves in its target: of the target's dtype and sizes.
    pub(super) fn fitted(&mut self, node: NodeId, target: NodeId, source: NodeId) -> Result<NodeId, Kept> {
        let [to, from] = [target, source].map(|n| self.graph.ty(n).as_tensor().cloned());
        let (Some(to), Some(from)) = (to, from) else {
            return Err(self.kept(node, "the types of what it copies are not known"));
        };
        let mut value = source;
        if from.dtype != to.dtype {
            let dtype = self.graph.texts.intern("dtype");
            let named = vec![(dtype, Arg::Dtype(to.dtype))];
            value = self.insert_with(node, "aten._to_copy.default", vec![Arg::Node(value)], named)?;
        }
        if from.sizes != to.sizes {
            let sizes = self.sizes(node, target)?;
            value = self.insert(node, "aten.expand.default", vec![Arg::Node(value), sizes])?;
        }
        Ok(value)
    }

    /// The sizes of a value, as an argument: numbers, or calls that ask for them.
    fn sizes(&mut self, before: NodeId, of: NodeId) -> Result<Arg, Kept> {
        let sizes = self.graph.ty(of).as_tensor().map(|t| t.sizes.clone());
        let sizes = sizes.ok_or_else(|| self.kept(of, "its type is not known"))?;
        let mut args = Vec::new();
        for (dim, size) in (0_i64..).zip(sizes) {
            args.push(match size.fixed() {
                Some(size) => Arg::Int(size),
                None => Arg::Node(self.insert(before, "aten.sym_size.int", vec![Arg::Node(of), Arg::Int(dim)])?),
            });
        }
        Ok(Arg::List(args.into()))
    }

    /// `whole` with `part` in the place of a view of it.
    pub(super) fn scattered(&mut self, node: NodeId, seen: Seen, whole: NodeId, part: NodeId) -> Result<NodeId, Kept> {
        let target = self.graph.target(seen.call).to_string();
        let refused = |m: &Self| m.kept(node, format!("it writes through {target}"));
        let (registry, graph) = (self.registry, &self.graph);
        let operator = registry.operator_of(graph, seen.call).ok_or_else(|| refused(self))?;
        let bound = Bound::bind(&operator.schema, graph, graph.args(seen.call), graph.kwargs(seen.call));
        let bound = bound.map_err(|_| refused(self))?;
        let rest: Vec<Arg> = bound.args.iter().skip(1).map(|a| (*a).clone()).collect();
        drop(bound);
        let rank = self.graph.ty(whole).as_tensor().map_or(0, TensorType::rank);
        let into = |rest: Vec<Arg>| [Arg::Node(whole), Arg::Node(part)].into_iter().chain(rest).collect::<Vec<Arg>>();
        let back = |more: Vec<Arg>| std::iter::once(Arg::Node(part)).chain(more).collect::<Vec<Arg>>();
        let (target, args) = match operator.facts.step {
            None if (seen.same || is_its_operand(operator)) && self.is_alike(seen) => return Ok(part),
            Some(ViewStep::Reshape) => {
                let sizes = self.sizes(node, whole)?;
                ("aten.reshape.default", back(vec![sizes]))
            }
            Some(ViewStep::Transpose) => ("aten.transpose.int", back(rest)),
            Some(ViewStep::Reverse | ViewStep::LastTwo) if rank < 2 => return Ok(part),
            Some(ViewStep::LastTwo) => ("aten.transpose.int", back(vec![Arg::Int(-2), Arg::Int(-1)])),
            Some(ViewStep::Reverse) => {
                let axes = (0..rank).rev().filter_map(|d| i64::try_from(d).ok()).map(Arg::Int).collect();
                ("aten.permute.default", back(vec![Arg::List(axes)]))
            }
            Some(ViewStep::Permute) => {
                let axes = rest.first().and_then(inverse).ok_or_else(|| refused(self))?;
                ("aten.permute.default", back(vec![axes]))
            }
            Some(ViewStep::Select) => ("aten.select_scatter.default", into(rest)),
            Some(ViewStep::Diagonal) => ("aten.diagonal_scatter.default", into(rest)),
            Some(ViewStep::Slice) => {
                let size = |dim: usize| self.graph.ty(whole).as_tensor()?.sizes.get(dim)?.fixed();
                let between = settled(&rest, rank, size).unwrap_or(rest);
                ("aten.slice_scatter.default", into(between))
            }
            Some(ViewStep::Narrow) => match rest.as_slice() {
                [dim, Arg::Int(start), Arg::Int(length)] if *start >= 0 => {
                    let end = Arg::Int(start.saturating_add(*length));
                    ("aten.slice_scatter.default", into(vec![dim.clone(), Arg::Int(*start), end]))
                }
                _ => return Err(refused(self)),
            },
            Some(ViewStep::Unbind) => {
                let (dim, item) = (rest.first().cloned(), seen.item.ok_or_else(|| refused(self))?);
                ("aten.select_scatter.default", into(vec![dim.unwrap_or(Arg::Int(0)), Arg::Int(item)]))
            }
            Some(ViewStep::Pieces) => {
                let place = self.piece(seen, rest.get(1)).ok_or_else(|| refused(self))?;
                ("aten.slice_scatter.default", into(place.into_iter().map(Arg::Int).collect()))
            }
            _ => return Err(refused(self)),
        };
        let made = self.insert(node, target, args)?;
        let kind = |n: NodeId| self.graph.ty(n).as_tensor().map(|t| (t.dtype, t.sizes.clone()));
        if kind(made) == kind(whole) { Ok(made) } else { Err(refused(self)) }
    }

    /// Whether a value has the type of what it is.
    fn is_alike(&self, seen: Seen) -> bool {
        let kind = |n: NodeId| self.graph.ty(n).as_tensor().map(|t| (t.dtype, t.sizes.clone()));
        kind(seen.of).is_some() && kind(seen.of) == kind(seen.call)
    }

    /// The dimension, begin and end of one of the pieces that follow one another, where sizes are numbers.
    fn piece(&self, seen: Seen, dim: Option<&Arg>) -> Option<[i64; 3]> {
        let ValueType::Many(pieces) = self.graph.ty(seen.call) else { return None };
        let Some(Arg::Int(dim)) = dim else { return None };
        let rank = i64::try_from(self.graph.ty(seen.of).as_tensor()?.rank()).ok()?;
        let dim = if *dim < 0 { dim.checked_add(rank)? } else { *dim };
        let at = usize::try_from(dim).ok()?;
        let item = usize::try_from(seen.item?).ok()?;
        let size = |t: &ValueType| t.as_tensor()?.sizes.get(at).copied().and_then(Dim::fixed);
        let start = pieces.iter().take(item).try_fold(0_i64, |sum, t| sum.checked_add(size(t)?))?;
        Some([dim, start, start.checked_add(size(pieces.get(item)?)?)?])
    }
}

/// Whether a call gives its first operand as it is, whatever the other arguments.
fn is_its_operand(operator: &Operator) -> bool {
    let is_first = |same: &SameAs| operator.schema.param_index(&same.param) == Some(0);
    operator.facts.same_as.as_ref().is_some_and(|same| same.given == Given::Always && is_first(same))
}

/// The arguments of a slice with its ends as places, where they and the size are numbers.
fn settled(args: &[Arg], rank: usize, size: impl Fn(usize) -> Option<i64>) -> Option<Vec<Arg>> {
    let number = |at: usize, default: i64| match args.get(at) {
        None | Some(Arg::None) => Some(default),
        Some(Arg::Int(v)) => Some(*v),
        Some(_) => None,
    };
    let dim = number(0, 0)?;
    let dim = usize::try_from(if dim < 0 { dim.checked_add(i64::try_from(rank).ok()?)? } else { dim }).ok()?;
    let size = size(dim)?;
    let place = |v: i64| if v < 0 { v.saturating_add(size).max(0) } else { v.min(size) };
    let (start, end) = (place(number(1, 0)?), place(number(2, size)?));
    let between = [i64::try_from(dim).ok()?, start, end.max(start), number(3, 1)?];
    Some(between.into_iter().map(Arg::Int).collect())
}

/// The axes that undo a permutation.
fn inverse(axes: &Arg) -> Option<Arg> {
    let axes = axes.items()?;
    let rank = i64::try_from(axes.len()).ok()?;
    let mut back = vec![Arg::Int(0); axes.len()];
    for (place, axis) in axes.iter().enumerate() {
        let Arg::Int(axis) = axis else { return None };
        let axis = if *axis < 0 { axis.checked_add(rank)? } else { *axis };
        *back.get_mut(usize::try_from(axis).ok()?)? = Arg::Int(i64::try_from(place).ok()?);
    }
    Some(Arg::List(back.into()))
}
