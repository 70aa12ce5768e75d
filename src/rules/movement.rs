//! Operators that move elements: the index at which an operand is read.
//!
//! ## What it says
//! A view reads its operand at an index that is arithmetic on its own: row-major order is kept by a reshape, dimensions are exchanged, cut, read
//! backwards. `cat`, `pad`, `tril` and scatters choose by the index, wherever a part begins. An index that comes from the data is one.
//! Elements seen as others of fewer bytes are their parts, the lowest first; as others of more, several of them joined.
//!
//! ## When it is wrong
//! A nearest element is a quotient only where what kernels compute is. Slices are clamped to the dimension; negative indices count from its end, once.
//! Where sizes do not say which it is, nothing is said. `index` takes negative integers of the data, `index_select` and `gather` do not: they are
//! different indices. Which byte comes first is the machine's: all that PyTorch runs on begin with the lowest.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::ops::ViewStep;
use crate::rules::element::arena::{ExprId, Op};
use crate::rules::element::cast::round;
use crate::rules::element::index::IndexId;
use crate::rules::element::make::width;
use crate::rules::element::rebuild::Moves;
use crate::rules::meaning::{Array, Meant, Said, Speaker};
use crate::rules::table::Meaning;
use crate::sym::Dim;
use crate::term::sizes::Dims;

type Index = SmallVec<[IndexId; 4]>;
const ZERO: Dim = Dim::Fixed(0);
/// How many floats may be counted one by one.
const COUNTED: i64 = 4096;
const ONE: Dim = Dim::Fixed(1);

/// Returns the dtype of integers of so many bytes.
fn signed(bytes: usize) -> Option<Dtype> {
    Some(match bytes {
        1 => Dtype::I8,
        2 => Dtype::I16,
        4 => Dtype::I32,
        8 => Dtype::I64,
        _ => return None,
    })
}

/// Whether each place of so many, times what one of `times` is as an f32, is its quotient: as kernels compute it, whatever is rounded.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
fn is_found_by_quotient(count: i64, times: i64) -> bool {
    let step = (1.0 / times as f64) as f32;
    count <= 1 << 12 && (0..count).all(|at| times > 0 && (at as f32 * step).floor() as i64 == at.div_euclid(times))
}

impl Speaker<'_> {
    pub(super) fn axis(&self, arg: &Arg, rank: usize) -> Option<usize> {
        let Arg::Int(d) = arg else { return None };
        let rank = i64::try_from(rank.max(1)).ok()?;
        let d = if *d < 0 { d.checked_add(rank)? } else { *d };
        usize::try_from(d).ok().filter(|_| d < rank)
    }

    /// Returns the place in row-major order of an index.
    fn row_major(&mut self, index: &[IndexId], sizes: &[Dim]) -> Option<IndexId> {
        let mut at = self.e.at(ZERO);
        let mut stride = ONE;
        for (i, size) in index.iter().zip(sizes).rev() {
            let part = self.e.scale(*i, stride)?;
            at = self.e.sum(at, part)?;
            stride = self.e.times(stride, *size)?;
        }
        Some(at)
    }

    /// Returns the index of a place in row-major order.
    pub fn index_at(&mut self, place: IndexId, sizes: &[Dim]) -> Option<Index> {
        let mut out = Index::new();
        for (k, size) in sizes.iter().enumerate() {
            let stride = self.e.product(sizes.get(k.checked_add(1)?..)?)?;
            if *size == ONE {
                out.push(self.e.at(ZERO));
                continue;
            }
            let over = self.e.quotient(place, stride)?;
            let first = sizes.get(..k)?.iter().all(|d| *d == ONE);
            out.push(if first { over } else { self.e.remainder(over, *size)? });
        }
        Some(out)
    }

    fn reshaped(&mut self, from: &[Dim], to: &[Dim]) -> Option<Index> {
        if from.contains(&ZERO) || to.contains(&ZERO) {
            let zero = self.e.at(ZERO);
            return Some(from.iter().map(|_| zero).collect());
        }
        let (old, new) = (self.e.product(from)?, self.e.product(to)?);
        if !self.e.same_size(old, new) {
            return None;
        }
        let vars = self.vars(to);
        let kept: Vec<(Dim, IndexId)> =
            to.iter().copied().zip(vars.iter().copied()).filter(|(d, _)| *d != ONE).collect();
        let wanted: Vec<Dim> = from.iter().copied().filter(|d| *d != ONE).collect();
        if self.same_sizes(&kept.iter().map(|(d, _)| *d).collect::<Vec<_>>(), &wanted) {
            let mut left = kept.into_iter().map(|(_, i)| i);
            let zero = self.e.at(ZERO);
            return from.iter().map(|d| if *d == ONE { Some(zero) } else { left.next() }).collect();
        }
        let place = self.row_major(&vars, to)?;
        self.index_at(place, from)
    }

    /// Returns an index counted from the front.
    fn counted_from_front(&mut self, at: Dim, size: Dim) -> Option<Dim> {
        if self.e.at_most(ZERO, at) {
            return Some(at);
        }
        if self.e.at_most(at, Dim::Fixed(-1)) { self.e.plus(at, size) } else { None }
    }

    fn begin(&mut self, c: &Said<'_, '_>, arg: &Arg, size: Dim) -> Option<Dim> {
        let at = match arg {
            Arg::None => return Some(ZERO),
            arg => c.dim(arg)?,
        };
        let at = self.e.taken(at);
        let at = self.counted_from_front(at, size)?;
        if let (Dim::Fixed(at), Dim::Fixed(size)) = (at, size) {
            return (size >= 0).then(|| Dim::Fixed(at.clamp(0, size)));
        }
        (self.e.at_most(ZERO, at) && self.e.at_most(at, size)).then_some(at)
    }

    pub(super) fn viewed(&mut self, c: &Said<'_, '_>, kind: ViewStep) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let to = c.result;
        if from.dtype != to.dtype {
            let same = kind == ViewStep::Reshape && from.dtype.bytes() == to.dtype.bytes() && !from.dtype.is_complex();
            let plain = |d: Dtype| {
                width(d).is_some_and(|w| w > 1) || matches!(d, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
            };
            let both = plain(from.dtype) && plain(to.dtype);
            if kind == ViewStep::Reshape && both && from.dtype.bytes() != to.dtype.bytes() {
                let (dtype, sizes) = (to.dtype, to.sizes.clone());
                return self.bytes_apart_or_joined(&from, dtype, &sizes);
            }
            let same = same && both && self.same_sizes(&from.sizes, &to.sizes);
            return same.then(|| self.e.op(Op::Bits, to.dtype, &[from.expr]))?;
        }
        let index = self.view_index(c, kind, &from)?;
        self.at(&from, index)
    }

    /// Bytes of the last dimension as numbers of fewer or more of them, the lowest first.
    fn bytes_apart_or_joined(&mut self, from: &Array, to: Dtype, sizes: &[Dim]) -> Option<ExprId> {
        let (own, rest) = from.sizes.split_last()?;
        let (new, others) = sizes.split_last()?;
        if !self.same_sizes(rest, others) {
            return None;
        }
        let [few, more] = [from.dtype.bytes().min(to.bytes()), from.dtype.bytes().max(to.bytes())];
        let count = i64::try_from(more.checked_div(few)?).ok()?;
        let bits = i64::try_from(few.checked_mul(8)?).ok()?;
        let (parts, whole) = if to.bytes() == few { (new, own) } else { (own, new) };
        let all = self.e.times(*whole, Dim::Fixed(count))?;
        if !self.e.same_size(all, *parts) {
            return None;
        }
        let [seen, made] = [from.dtype, to].map(|d| signed(d.bytes()));
        let (seen, made) = (seen?, made?);
        let expr = self.e.op(Op::Bits, seen, &[from.expr])?;
        let from = Array { dtype: seen, expr, ..from.clone() };
        let mut at = self.vars(sizes);
        let last = *at.last()?;
        let expr = if to.bytes() == few {
            let (over, within) =
                (self.e.quotient(last, Dim::Fixed(count))?, self.e.remainder(last, Dim::Fixed(count))?);
            *at.last_mut()? = over;
            let x = self.at(&from, at)?;
            self.part_of_bytes(x, made, (within, count, bits))?
        } else {
            self.joined_bytes(&from, &at, made, (count, bits))?
        };
        self.e.op(Op::Bits, to, &[expr])
    }

    /// One of several parts of an integer, by its place.
    fn part_of_bytes(&mut self, x: ExprId, to: Dtype, (place, count, bits): (IndexId, i64, i64)) -> Option<ExprId> {
        let own = self.e.dtype(x)?;
        let mut out = None;
        for part in (0..count).rev() {
            let by = self.e.integer(own, part.checked_mul(bits)?)?;
            let moved = self.e.op(Op::Shr, own, &[x, by])?;
            let one = self.e.op(Op::Cast, to, &[moved])?;
            out = Some(match out {
                None => one,
                Some(others) => {
                    let here = self.e.shift(place, Dim::Fixed(part.checked_neg()?))?;
                    let here = self.e.is_zero_expr(here)?;
                    self.e.op(Op::Choose, to, &[here, one, others])?
                }
            });
        }
        out
    }

    /// Several integers as the parts of one.
    fn joined_bytes(&mut self, from: &Array, at: &Index, to: Dtype, (count, bits): (i64, i64)) -> Option<ExprId> {
        let mask = 1_i64.checked_shl(u32::try_from(bits).ok()?)?.checked_sub(1)?;
        let (first, mask) = (self.e.scale(*at.last()?, Dim::Fixed(count))?, self.e.integer(to, mask)?);
        let mut out = None;
        for part in 0..count {
            let mut here = at.clone();
            *here.last_mut()? = self.e.shift(first, Dim::Fixed(part))?;
            let one = self.at(from, here)?;
            let mut one = self.e.op(Op::Cast, to, &[one])?;
            if part.checked_add(1)? < count {
                one = self.e.op(Op::And, to, &[one, mask])?;
            }
            let by = self.e.integer(to, 1_i64.checked_shl(u32::try_from(part.checked_mul(bits)?).ok()?)?)?;
            let moved = self.e.op(Op::Mul, to, &[one, by])?;
            out = Some(match out {
                None => moved,
                Some(others) => self.e.op(Op::Add, to, &[others, moved])?,
            });
        }
        out
    }

    fn view_index(&mut self, c: &Said<'_, '_>, kind: ViewStep, from: &Array) -> Option<Index> {
        let to = &c.result.sizes;
        let rank = from.sizes.len();
        let mut vars = self.vars(to);
        match kind {
            ViewStep::Reshape => self.reshaped(&from.sizes, to),
            ViewStep::Permute | ViewStep::Transpose | ViewStep::Reverse | ViewStep::LastTwo | ViewStep::Move => {
                let perm = self.permutation(c, kind, rank)?;
                let mut out: Vec<Option<IndexId>> = vec![None; rank];
                for (k, d) in perm.iter().enumerate() {
                    *out.get_mut(*d)? = vars.get(k).copied();
                }
                out.into_iter().collect()
            }
            ViewStep::Expand => {
                let ahead = to.len().checked_sub(rank)?;
                let zero = self.e.at(ZERO);
                let pairs = from.sizes.iter().zip(to.iter().zip(&vars).skip(ahead));
                pairs
                    .map(|(old, (new, var))| match *old {
                        ONE => Some(zero),
                        old => self.e.same_size(old, *new).then_some(*var),
                    })
                    .collect()
            }
            ViewStep::Select | ViewStep::Unbind => {
                let dim = self.axis(c.arg(1), rank)?;
                let size = *from.sizes.get(dim)?;
                let at = match c.item {
                    Some(item) if kind == ViewStep::Unbind => Dim::Fixed(i64::from(item)),
                    _ => self.counted_from_front(c.dim(c.arg(2))?, size)?,
                };
                let at = self.e.at(at);
                (dim <= vars.len()).then(|| vars.insert(dim, at));
                (vars.len() == rank).then_some(vars)
            }
            ViewStep::Slice | ViewStep::Narrow | ViewStep::Pieces | ViewStep::PiecesAt => {
                let (dim, start, step) = self.part(c, kind, from)?;
                let place = vars.get_mut(dim)?;
                let stepped = self.e.scale(*place, step)?;
                *place = self.e.shift(stepped, start)?;
                Some(vars)
            }
            ViewStep::Flip => self.flipped(c, from),
            // Which may overlap: said by what the operator means.
            ViewStep::Windows => None,
            ViewStep::Diagonal => {
                let Arg::Int(offset) = c.arg(1) else { return None };
                let (row, column) = (self.axis(c.arg(2), rank)?, self.axis(c.arg(3), rank)?);
                let along = vars.pop()?;
                let mut rest = vars.into_iter();
                let mut out = Index::new();
                for d in 0..rank {
                    out.push(match d {
                        d if d == row => self.e.shift(along, Dim::Fixed(offset.checked_neg()?.max(0)))?,
                        d if d == column => self.e.shift(along, Dim::Fixed((*offset).max(0)))?,
                        _ => rest.next()?,
                    });
                }
                Some(out)
            }
        }
    }

    fn permutation(&self, c: &Said<'_, '_>, kind: ViewStep, rank: usize) -> Option<Vec<usize>> {
        let mut perm: Vec<usize> = (0..rank).collect();
        let axes = |arg: &Arg| -> Option<Vec<usize>> {
            match arg {
                Arg::Int(_) => Some(vec![self.axis(arg, rank)?]),
                many => many.items()?.iter().map(|d| self.axis(d, rank)).collect(),
            }
        };
        match kind {
            ViewStep::Permute => perm = axes(c.arg(1))?,
            ViewStep::Transpose if rank > 0 => perm.swap(self.axis(c.arg(1), rank)?, self.axis(c.arg(2), rank)?),
            ViewStep::LastTwo => perm.swap(rank.checked_sub(2)?, rank.checked_sub(1)?),
            ViewStep::Reverse => perm.reverse(),
            ViewStep::Move => {
                let (source, target) = (axes(c.arg(1))?, axes(c.arg(2))?);
                let mut out: Vec<Option<usize>> = vec![None; rank];
                for (from, to) in source.iter().zip(&target) {
                    *out.get_mut(*to)? = Some(*from);
                }
                let mut rest = (0..rank).filter(|d| !source.contains(d));
                perm = out.into_iter().map(|d| d.or_else(|| rest.next())).collect::<Option<_>>()?;
            }
            _ => {}
        }
        let mut sorted = perm.clone();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..rank).then_some(perm)
    }

    /// Returns which dimension is cut, where the part begins, and its step.
    fn part(&mut self, c: &Said<'_, '_>, kind: ViewStep, from: &Array) -> Option<(usize, Dim, Dim)> {
        let rank = from.sizes.len();
        let dim_at = if matches!(kind, ViewStep::Slice | ViewStep::Narrow) { 1 } else { 2 };
        let dim = self.axis(c.arg(dim_at), rank)?;
        let size = *from.sizes.get(dim)?;
        match kind {
            ViewStep::Slice => {
                let step = c.dim(c.arg(4))?.fixed().filter(|s| *s > 0)?;
                Some((dim, self.begin(c, c.arg(2), size)?, Dim::Fixed(step)))
            }
            ViewStep::Narrow => Some((dim, self.counted_from_front(c.dim(c.arg(2))?, size)?, ONE)),
            ViewStep::PiecesAt => {
                let start = match c.item?.checked_sub(1) {
                    None => ZERO,
                    Some(before) => self.begin(c, c.arg(1).items()?.get(before as usize)?, size)?,
                };
                Some((dim, start, ONE))
            }
            _ => {
                let first = c.piece_sizes(dim)?;
                let mut start = ZERO;
                for piece in first {
                    start = self.e.plus(start, piece)?;
                }
                self.e.are_settled(&[start]).then_some((dim, start, ONE))
            }
        }
    }

    fn flipped(&mut self, c: &Said<'_, '_>, from: &Array) -> Option<Index> {
        let rank = from.sizes.len();
        let mut vars = self.vars(&from.sizes);
        for d in c.arg(1).items()? {
            let d = self.axis(d, rank)?;
            let last = self.e.plus(*from.sizes.get(d)?, Dim::Fixed(-1))?;
            let place = vars.get_mut(d)?;
            let back = self.e.scale(*place, Dim::Fixed(-1))?;
            *place = self.e.shift(back, last)?;
        }
        Some(vars)
    }

    /// Returns the first operand with the second in place of a part of a dimension.
    pub(super) fn scattered(&mut self, c: &Said<'_, '_>, kind: ViewStep) -> Option<Array> {
        let (old, new) = (c.array(0)?.clone(), c.array(1)?.clone());
        let rank = old.sizes.len();
        if kind == ViewStep::Diagonal {
            return self.scattered_along(c, old, &new);
        }
        let dim = self.axis(c.arg(2), rank)?;
        let size = *old.sizes.get(dim)?;
        let (start, step, count) = match kind {
            ViewStep::Slice => {
                let step = c.dim(c.arg(5))?.fixed().filter(|s| *s > 0)?;
                (self.begin(c, c.arg(3), size)?, step, *new.sizes.get(dim)?)
            }
            ViewStep::Select => (self.counted_from_front(c.dim(c.arg(3))?, size)?, 1, ONE),
            _ => return None,
        };
        if old.dtype != new.dtype {
            return None;
        }
        let vars = self.vars(&old.sizes);
        let over = self.e.minus(start)?;
        let over = self.e.shift(*vars.get(dim)?, over)?;
        let at = self.e.quotient(over, Dim::Fixed(step))?;
        let mut index = vars;
        if kind == ViewStep::Select {
            index.remove(dim);
        } else {
            *index.get_mut(dim)? = at;
        }
        let inside = self.inside(over, at, step, count)?;
        let new = self.at(&new, index)?;
        let expr = self.e.op(Op::Choose, old.dtype, &[inside, new, old.expr])?;
        Some(Array { expr, ..old })
    }

    /// Returns the first operand with the second in place of a diagonal.
    fn scattered_along(&mut self, c: &Said<'_, '_>, old: Array, new: &Array) -> Option<Array> {
        let (Arg::Int(offset), rank) = (c.arg(2), old.sizes.len()) else { return None };
        let (row, column) = (self.axis(c.arg(3), rank)?, self.axis(c.arg(4), rank)?);
        if old.dtype != new.dtype || row == column {
            return None;
        }
        let mut index = self.vars(&old.sizes);
        let (down, across) = (*index.get(row)?, *index.get(column)?);
        let beside = self.e.difference(across, down)?;
        let beside = self.e.shift(beside, Dim::Fixed(offset.checked_neg()?))?;
        let hits = self.e.is_zero_expr(beside)?;
        index.remove(row.max(column));
        index.remove(row.min(column));
        // Where it begins, the one that is not moved is 0.
        index.push(if *offset >= 0 { down } else { across });
        let new = self.at(new, index)?;
        let expr = self.e.op(Op::Choose, old.dtype, &[hits, new, old.expr])?;
        Some(Array { expr, ..old })
    }

    /// Whether `over` is one of the first `count` multiples of `step`.
    pub fn inside(&mut self, over: IndexId, at: IndexId, step: i64, count: Dim) -> Option<ExprId> {
        let left = self.e.scale(at, Dim::Fixed(-1))?;
        let last = self.e.plus(count, Dim::Fixed(-1))?;
        let left = self.e.shift(left, last)?;
        let (low, high) = (self.e.at_least_zero_expr(over)?, self.e.at_least_zero_expr(left)?);
        let mut all = self.e.op(Op::And, Dtype::Bool, &[low, high])?;
        if step > 1 {
            let rest = self.e.remainder(over, Dim::Fixed(step))?;
            let hits = self.e.is_zero_expr(rest)?;
            all = self.e.op(Op::And, Dtype::Bool, &[all, hits])?;
        }
        Some(all)
    }

    pub(super) fn moved_by(&mut self, c: &Said<'_, '_>, meaning: Meaning) -> Option<ExprId> {
        match meaning {
            Meaning::Arange => self.counted(c),
            Meaning::Cat => self.joined(c),
            Meaning::Pad => self.padded(c),
            Meaning::Flip => {
                let from = c.array(0)?.clone();
                let index = self.flipped(c, &from)?;
                self.at(&from, index)
            }
            Meaning::Roll => self.rolled(c),
            Meaning::Repeat => {
                let from = c.array(0)?.clone();
                let ahead = c.result.sizes.len().checked_sub(from.sizes.len())?;
                let vars = self.vars(&c.result.sizes);
                let pairs = from.sizes.iter().zip(vars.iter().skip(ahead));
                let index = pairs.map(|(d, v)| self.e.remainder(*v, *d)).collect::<Option<_>>()?;
                self.at(&from, index)
            }
            Meaning::Windows => {
                let from = c.array(0)?.clone();
                let dim = self.axis(c.arg(1), from.sizes.len())?;
                let (Arg::Int(size), Arg::Int(step)) = (c.arg(2), c.arg(3)) else { return None };
                if from.sizes.is_empty() || *size < 1 || *step < 1 {
                    return None;
                }
                let mut index = self.vars(&c.result.sizes);
                let within = index.pop()?;
                let place = index.get_mut(dim)?;
                let begin = self.e.scale(*place, Dim::Fixed(*step))?;
                *place = self.e.sum(begin, within)?;
                self.at(&from, index)
            }
            Meaning::Nearest => self.nearest(c),
            Meaning::Triangle(lower) => self.triangle(c, lower),
            Meaning::Diagonal => self.on_diagonal(c),
            Meaning::IndexSelect => {
                let (from, at) = (c.array(0)?.clone(), c.array(2)?.clone());
                let dim = self.axis(c.arg(1), from.sizes.len())?;
                let mut vars = self.vars(&c.result.sizes);
                let along = if at.sizes.is_empty() { Index::new() } else { SmallVec::from_elem(*vars.get(dim)?, 1) };
                if from.sizes.len() == 1
                    && !at.sizes.is_empty()
                    && let Some(own) = self.at_own_place(&from, dim, &vars, at.expr)?
                {
                    return Some(own);
                }
                *vars.get_mut(dim)? = self.data(&at, along)?;
                self.at(&from, vars)
            }
            Meaning::Gather => {
                let (from, at) = (c.array(0)?.clone(), c.array(2)?.clone());
                let dim = self.axis(c.arg(1), from.sizes.len())?;
                let vars = self.vars(&at.sizes);
                if let Some(own) = self.at_own_place(&from, dim, &vars, at.expr)? {
                    return Some(own);
                }
                let found = self.data(&at, vars.clone())?;
                let mut index = vars;
                *index.get_mut(dim)? = found;
                self.at(&from, index)
            }
            Meaning::Index => self.indexed(c),
            Meaning::Written(write) => self.written(c, write),
            Meaning::Columns => self.columns(c),
            _ => None,
        }
    }

    /// Windows as columns: channel and place in the window along one dimension, the window along the other; beside the image is 0.
    fn columns(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let pair = |a: &Arg| -> Option<[i64; 2]> {
            let all: Vec<i64> =
                a.items()?.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None }).collect::<Option<_>>()?;
            match all.as_slice() {
                [one] => Some([*one, *one]),
                [a, b] => Some([*a, *b]),
                _ => None,
            }
        };
        let (kernel, steps) = (pair(c.arg(1))?, pair(c.arg(2))?);
        let (pads, strides) = (pair(c.arg(3))?, pair(c.arg(4))?);
        if [kernel, steps, strides].iter().flatten().any(|n| *n < 1) || pads.iter().any(|p| *p < 0) {
            return None;
        }
        let ahead = from.sizes.len().checked_sub(3)?;
        let vars = self.vars(&c.result.sizes);
        let (window, place) = (*vars.last()?, *vars.get(ahead)?);
        let (mut index, mut facts) = (vars.get(..ahead)?.iter().copied().collect::<Index>(), Vec::new());
        let all = kernel[0].checked_mul(kernel[1])?;
        let mut counts = Vec::new();
        for d in 0..2_usize {
            let size = from.sizes.get(ahead.checked_add(d)?.checked_add(1)?)?.fixed()?;
            let reach = kernel.get(d)?.checked_sub(1)?.checked_mul(*steps.get(d)?)?.checked_add(1)?;
            let room = size.checked_add(pads.get(d)?.checked_mul(2)?)?.checked_sub(reach)?;
            counts.push(room.checked_div(*strides.get(d)?)?.checked_add(1)?);
        }
        index.push(self.e.quotient(place, Dim::Fixed(all))?);
        let within = self.e.remainder(place, Dim::Fixed(all))?;
        let columns = Dim::Fixed(*counts.get(1)?);
        let (row, column) = (self.e.quotient(window, columns)?, self.e.remainder(window, columns)?);
        let width = Dim::Fixed(kernel[1]);
        let (i, j) = (self.e.quotient(within, width)?, self.e.remainder(within, width)?);
        for (d, (begin, own)) in [(row, i), (column, j)].into_iter().enumerate() {
            let begin = self.e.scale(begin, Dim::Fixed(*strides.get(d)?))?;
            let own = self.e.scale(own, Dim::Fixed(*steps.get(d)?))?;
            let at = self.e.sum(begin, own)?;
            let at = self.e.shift(at, Dim::Fixed(pads.get(d)?.checked_neg()?))?;
            if *pads.get(d)? > 0 {
                let left = self.e.scale(at, Dim::Fixed(-1))?;
                let last = self.e.plus(*from.sizes.get(ahead.checked_add(d)?.checked_add(1)?)?, Dim::Fixed(-1))?;
                // The last dimension first, as padding has it.
                facts.splice(0..0, [at, self.e.shift(left, last)?]);
            }
            index.push(at);
        }
        let zero = if from.dtype.is_float() { self.e.rounded(from.dtype, 0.0) } else { self.e.integer(from.dtype, 0) }?;
        let mut expr = self.within(&facts.clone(), |s| s.at(&from, index))?;
        for fact in facts {
            let inside = self.e.at_least_zero_expr(fact)?;
            expr = self.e.op(Op::Choose, from.dtype, &[inside, expr, zero])?;
        }
        Some(expr)
    }

    /// Each element so many times in a row, a power of two, or one of so many; of sizes that are symbols, too, where the one surely is such a multiple.
    #[allow(clippy::cast_precision_loss)]
    fn nearest(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let mut index = self.vars(&c.result.sizes);
        for (k, dim) in (2..from.sizes.len()).enumerate() {
            let (old, new) = (*from.sizes.get(dim)?, *c.result.sizes.get(dim)?);
            let scale = match c.arg(k.checked_add(2)?) {
                Arg::None => None,
                Arg::Float(v) => Some(*v),
                _ => return None,
            };
            let ends = [old, new].map(|size| self.e.symbols.range_of(size));
            let few = ends.iter().all(|range| range.at_most(1 << 20) && range.min.is_some_and(|min| min >= 1));
            few.then_some(())?;
            // As computed, a place times what one step is must be the number that it is.
            let most = ends.get(1)?.max?;
            let place = index.get_mut(dim)?;
            if let Some(times) = self.e.exactly(new, old).and_then(Dim::fixed)
                && (times.count_ones() == 1 || is_found_by_quotient(most, times))
                && scale.is_none_or(|s| s == times as f64)
            {
                *place = self.e.quotient(*place, Dim::Fixed(times))?;
            } else if let Some(over) = self.e.exactly(old, new).and_then(Dim::fixed)
                && over.count_ones() == 1
                && scale.is_none_or(|s| s == 1.0 / over as f64)
            {
                *place = self.e.scale(*place, Dim::Fixed(over))?;
            } else {
                return None;
            }
        }
        self.at(&from, index)
    }

    pub(super) fn data(&mut self, array: &Array, at: Index) -> Option<IndexId> {
        width(array.dtype).filter(|w| *w >= 32)?;
        let x = self.at(array, at)?;
        let x = self.e.op(Op::Cast, Dtype::I64, &[x])?;
        self.e.data_index(x)
    }

    fn counted(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let to = c.result.dtype;
        let [size] = c.result.sizes.as_slice() else { return None };
        let (Some(start), Some(step)) = (c.dim(c.arg(0)), c.dim(c.arg(2))) else {
            return self.counted_in_parts(c, *size);
        };
        let var = self.e.var(0, *size);
        let index = self.e.scale(var, step)?;
        let index = self.e.shift(index, start)?;
        let number = self.e.index_value(Dtype::I64, index)?;
        if to == Dtype::I64 {
            return Some(number);
        }
        // Floats count exactly as long as every number is one of theirs.
        let (least, most) = match to {
            Dtype::F32 => (-(1_i64 << 24), 1_i64 << 24),
            Dtype::F64 => (-(1 << 48), 1 << 48),
            Dtype::F16 => (-(1 << 11), 1 << 11),
            Dtype::Bf16 => (-(1 << 8), 1 << 8),
            Dtype::I32 => (-(1 << 30), 1 << 30),
            Dtype::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Dtype::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
            Dtype::U8 => (0, i64::from(u8::MAX)),
            _ => return None,
        };
        let (low, high) =
            (self.e.shift(index, Dim::Fixed(least.checked_neg()?))?, self.e.scale(index, Dim::Fixed(-1))?);
        let high = self.e.shift(high, Dim::Fixed(most))?;
        let small = self.e.at_least_zero(low) == Some(true) && self.e.at_least_zero(high) == Some(true);
        small.then(|| self.e.op(Op::Cast, to, &[number]))?
    }

    /// Floats in equal steps that are no integers, all of which the dtype holds, as it does the steps: none of them is rounded, whatever kernels add first. Of `f64`
    /// those count that `f32` holds: what is computed here is rounded itself.
    #[allow(clippy::cast_precision_loss)]
    fn counted_in_parts(&mut self, c: &Said<'_, '_>, size: Dim) -> Option<ExprId> {
        let to = c.result.dtype;
        let number = |arg: &Arg| match arg {
            Arg::Float(v) => Some(*v),
            Arg::Int(v) if v.unsigned_abs() <= 1 << 24 => Some(*v as f64),
            _ => None,
        };
        let (start, step) = (number(c.arg(0))?, number(c.arg(2))?);
        let among = if to == Dtype::F64 { Dtype::F32 } else { to };
        let held = |v: f64| v.is_finite() && round(among, v) == Some(v);
        let count = size.fixed().filter(|n| (0..=COUNTED).contains(n))?;
        let all = (0..count).all(|k| held(step * k as f64) && held(start + step * k as f64));
        if !to.is_float() || step <= 0.0 || !held(start) || !held(step) || !all {
            return None;
        }
        let place = self.e.var(0, size);
        let place = self.e.index_value(Dtype::I64, place)?;
        let place = self.e.op(Op::Cast, to, &[place])?;
        let step = self.e.rounded(to, step)?;
        let far = self.e.op(Op::Mul, to, &[place, step])?;
        if start == 0.0 {
            return Some(far);
        }
        let start = self.e.rounded(to, start)?;
        self.e.op(Op::Add, to, &[far, start])
    }

    fn joined(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let parts: Vec<Array> = match c.arg(0) {
            Arg::Node(n) => match c.values.get(n)? {
                Meant::Many(all) => all
                    .iter()
                    .map(|m| match m {
                        Meant::One(a) => Some(a.clone()),
                        _ => None,
                    })
                    .collect::<Option<_>>()?,
                _ => return None,
            },
            list => list.items()?.iter().map(|a| c.array_of(a).cloned()).collect::<Option<_>>()?,
        };
        let to = c.result;
        let dim = self.axis(c.arg(1), to.sizes.len())?;
        let parts: Vec<Array> = parts.into_iter().filter(|p| p.sizes.as_slice() != [ZERO]).collect();
        let mut start = ZERO;
        let mut made: Vec<(IndexId, ExprId)> = Vec::new();
        for part in &parts {
            let size = *part.sizes.get(dim)?;
            let vars = self.vars(&to.sizes);
            let var = *vars.get(dim)?;
            let (over, end) = (self.e.minus(start)?, self.e.plus(start, size)?);
            let over = self.e.shift(var, over)?;
            let left = self.e.scale(var, Dim::Fixed(-1))?;
            let last = self.e.plus(end, Dim::Fixed(-1))?;
            let left = self.e.shift(left, last)?;
            let mut index = vars;
            *index.get_mut(dim)? = over;
            let expr = self.within(&[over, left], |s| {
                let x = s.at(part, index)?;
                s.e.op(Op::Cast, to.dtype, &[x])
            })?;
            made.push((left, expr));
            start = end;
        }
        self.e.same_size(start, *to.sizes.get(dim)?).then_some(())?;
        let (_, mut expr) = made.pop()?;
        for (left, part) in made.into_iter().rev() {
            let inside = self.e.at_least_zero_expr(left)?;
            expr = self.e.op(Op::Choose, to.dtype, &[inside, part, expr])?;
        }
        Some(expr)
    }

    /// Makes an expression that stands only where these indices are at least 0.
    pub(super) fn within(
        &mut self,
        facts: &[IndexId],
        make: impl FnOnce(&mut Self) -> Option<ExprId>,
    ) -> Option<ExprId> {
        let before = self.e.assumed();
        self.e.suppose(facts);
        let made = make(self);
        self.e.forget(before);
        made
    }

    fn padded(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let to = c.result;
        let pads: Vec<Dim> = c.arg(1).items()?.iter().map(|a| c.dim(a)).collect::<Option<_>>()?;
        let fill = self.filling(c, c.arg(2), to.dtype)?;
        let rank = from.sizes.len();
        let (mut index, mut facts) = (self.vars(&to.sizes), Vec::new());
        for (k, pair) in pads.chunks(2).enumerate() {
            let dim = rank.checked_sub(k.checked_add(1)?)?;
            let ahead = self.e.minus(*pair.first()?)?;
            let at = self.e.shift(*index.get(dim)?, ahead)?;
            let left = self.e.scale(at, Dim::Fixed(-1))?;
            let last = self.e.plus(*from.sizes.get(dim)?, Dim::Fixed(-1))?;
            facts.extend([at, self.e.shift(left, last)?]);
            *index.get_mut(dim)? = at;
        }
        let mut expr = self.within(&facts.clone(), |s| s.at(&from, index))?;
        for fact in facts {
            let inside = self.e.at_least_zero_expr(fact)?;
            expr = self.e.op(Op::Choose, to.dtype, &[inside, expr, fill])?;
        }
        Some(expr)
    }

    fn rolled(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let list = |a: &Arg| match a.items() {
            Some(items) => items.to_vec(),
            None => vec![a.clone()],
        };
        let (shifts, mut dims) = (list(c.arg(1)), list(c.arg(2)));
        // Without dimensions the elements are one row.
        if dims.is_empty() && from.sizes.len() == 1 {
            dims.push(Arg::Int(0));
        }
        if dims.is_empty() || dims.len() != shifts.len() {
            return None;
        }
        let mut vars = self.vars(&from.sizes);
        for (shift, dim) in shifts.iter().zip(&dims) {
            let dim = self.axis(dim, from.sizes.len())?;
            let back = self.e.minus(c.dim(shift)?)?;
            let place = vars.get_mut(dim)?;
            let at = self.e.shift(*place, back)?;
            *place = self.e.remainder(at, *from.sizes.get(dim)?)?;
        }
        self.at(&from, vars)
    }

    fn triangle(&mut self, c: &Said<'_, '_>, lower: bool) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let rank = from.sizes.len();
        let vars = self.vars(&from.sizes);
        let (row, column) = (*vars.get(rank.checked_sub(2)?)?, *vars.get(rank.checked_sub(1)?)?);
        let diagonal = c.dim(c.arg(1))?;
        // The element is kept where its column is at most (at least) its row and the diagonal.
        let ahead = self.e.difference(row, column)?;
        let ahead = self.e.shift(ahead, diagonal)?;
        let ahead = if lower { ahead } else { self.e.scale(ahead, Dim::Fixed(-1))? };
        let kept = self.e.at_least_zero_expr(ahead)?;
        let zero = if from.dtype.is_float() { self.e.rounded(from.dtype, 0.0) } else { self.e.integer(from.dtype, 0) }?;
        self.e.op(Op::Choose, from.dtype, &[kept, from.expr, zero])
    }

    /// The operand along a diagonal of two dimensions, the rows ahead or behind by an offset.
    fn on_diagonal(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let rank = c.result.sizes.len();
        let (row, column) = (self.axis(c.arg(2), rank)?, self.axis(c.arg(3), rank)?);
        let Arg::Int(offset) = c.arg(1) else { return None };
        let vars = self.vars(&c.result.sizes);
        let (i, j) = (*vars.get(row)?, *vars.get(column)?);
        let apart = self.e.difference(j, i)?;
        let apart = self.e.shift(apart, Dim::Fixed(offset.checked_neg()?))?;
        let hits = self.e.is_zero_expr(apart)?;
        let own = (0..rank).filter(|d| *d != row && *d != column);
        let mut index: Index = own.filter_map(|d| vars.get(d).copied()).collect();
        // The place along the diagonal is the smaller of both.
        let along = if *offset >= 0 { i } else { j };
        let last = self.e.plus(*from.sizes.last()?, Dim::Fixed(-1))?;
        let left = self.e.scale(along, Dim::Fixed(-1))?;
        let left = self.e.shift(left, last)?;
        index.push(along);
        let value = self.within(&[left], |s| s.at(&from, index))?;
        let zero = if from.dtype.is_float() { self.e.rounded(from.dtype, 0.0) } else { self.e.integer(from.dtype, 0) }?;
        self.e.op(Op::Choose, from.dtype, &[hits, value, zero])
    }

    fn indexed(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let from = c.array(0)?.clone();
        let items = c.arg(1).items()?;
        let given: Vec<usize> = (0..items.len()).filter(|k| items.get(*k) != Some(&Arg::None)).collect();
        let (first, last) = (*given.first()?, *given.last()?);
        let adjacent = last.checked_sub(first)?.checked_add(1)? == given.len();
        let arrays: Vec<Array> = given.iter().map(|k| c.array_of(items.get(*k)?).cloned()).collect::<Option<_>>()?;
        if arrays.iter().any(|a| width(a.dtype).is_none_or(|w| w < 32)) {
            return None;
        }
        let most = arrays.iter().map(|a| a.sizes.len()).max()?;
        let start = if adjacent { first } else { 0 };
        let vars = self.vars(&c.result.sizes);
        let block: Dims = c.result.sizes.get(start..start.checked_add(most)?)?.into();
        let block_vars: Index = vars.get(start..start.checked_add(most)?)?.into();
        let mut rest = vars.iter().take(start).chain(vars.iter().skip(start.checked_add(most)?)).copied();
        let mut out = Index::new();
        let mut arrays = arrays.into_iter();
        for (k, size) in from.sizes.iter().enumerate() {
            if !given.contains(&k) {
                out.push(rest.next()?);
                continue;
            }
            let array = arrays.next()?;
            let x = self.broadcast(&array, &block)?;
            let x = self.e.moved(x, &Moves { vars: block_vars.clone(), bound: None })?;
            if from.sizes.len() == 1
                && let Some(own) = self.at_own_place(&from, 0, &[], x)?
            {
                return Some(own);
            }
            let x = self.e.op(Op::Cast, Dtype::I64, &[x])?;
            out.push(self.wrapped_index(x, *size)?);
        }
        self.at(&from, out)
    }

    /// An integer of the data as an index: a negative one counts from the end.
    pub(super) fn wrapped_index(&mut self, x: ExprId, size: Dim) -> Option<IndexId> {
        let plain = self.e.data_index(x)?;
        if self.e.at_least_zero(plain) == Some(true) {
            return Some(plain);
        }
        let zero = self.e.integer(Dtype::I64, 0)?;
        let at = self.e.at(size);
        let length = self.e.index_value(Dtype::I64, at)?;
        let negative = self.e.op(Op::Lt, Dtype::Bool, &[x, zero])?;
        let ahead = self.e.op(Op::Add, Dtype::I64, &[x, length])?;
        let found = self.e.op(Op::Choose, Dtype::I64, &[negative, ahead, x])?;
        self.e.data_index(found)
    }
}
