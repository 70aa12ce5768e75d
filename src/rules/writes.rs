//! Operators that write elements at places that other tensors say: which element, if any, reaches a place.
//!
//! ## What it says
//! Element `p` of the values is written at `i(p)`. Where `i` is arithmetic that one place at most leads to, `p` is solved for: at `y` stands the value of
//! that `p` where there is one and all other indices are those of `y`, else what stood there; so it is where the data says places of which each stands once. Where one number is written by many, it stands where any
//! is. Where values are added, at `y` stands what stood there and the sum of all that lead there, each times the number by which they are added; where the greatest is kept, that of what stood there and of all that lead there.
//!
//! ## When it is wrong
//! Where two places lead to one, which value is the last is the kernel's: values that differ with such a place are not looked into. Sums of floats are rounded
//! in the kernel's order, and one value alone may be added to a 0 first: over the reals only. `index_put` takes negative integers, `scatter` does not.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::rules::element::arena::{ExprId, Fold, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::width;
use crate::rules::element::rebuild::Moves;
use crate::rules::meaning::{Array, Said, Speaker};
use crate::rules::table::{Write, joined_by};
use crate::sym::Dim;
use crate::term::sizes::Dims;

type Index = SmallVec<[IndexId; 4]>;
const ZERO: Dim = Dim::Fixed(0);
const ONE: Dim = Dim::Fixed(1);

/// What becomes of several values that lead to one place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// One of them stands there.
    One,
    /// They are added to what stood there.
    Added,
    /// The greatest or the least of them and of what stood there.
    Extreme(Fold),
}

/// What a call writes, and where, by dimensions of its own: `Bound(level), Bound(level + 1), ...`.
struct Written {
    /// What stood there, at the index of the result.
    old: ExprId,
    level: u32,
    sizes: Vec<Dim>,
    /// One index for each dimension of the result.
    at: Vec<IndexId>,
    value: ExprId,
    joined: Joined,
}

/// Dimensions of a write, solved for.
struct Solved {
    /// For each of its dimensions the index at which it leads to a place; those that are not solved run.
    places: SmallVec<[IndexId; 2]>,
    /// Indices that are at least 0 where there is one.
    inside: Vec<IndexId>,
    /// Indices that are 0 where there is one.
    zeros: Vec<IndexId>,
    /// Which dimensions run, with their sizes.
    open: Vec<Dim>,
}

impl Speaker<'_> {
    pub(super) fn written(&mut self, c: &Said<'_, '_>, write: Write) -> Option<ExprId> {
        let w = match write {
            Write::Put => self.put(c)?,
            Write::Scatter { adds } => self.scattered_at(c, if adds { Joined::Added } else { Joined::One })?,
            Write::Reduced => {
                let Arg::Str(word) = c.arg(4) else { return None };
                let fold = joined_by(word)?;
                (c.named("include_self") == Some(&Arg::Bool(true))).then_some(())?;
                self.scattered_at(c, Joined::Extreme(fold))?
            }
            Write::Rows => self.rows(c)?,
            Write::Multiples => self.multiples(c)?,
        };
        let to = c.result.dtype;
        let sums = width(to).is_some_and(|w| w > 1) || self.over_reals && matches!(to, Dtype::F32 | Dtype::F64);
        if w.joined != Joined::One && !sums || self.e.dtype(w.value) != Some(to) {
            return None;
        }
        // Dimensions that run take the first names again: all own ones are replaced at once.
        let open_level = w.level;
        let vars = self.vars(&c.result.sizes);
        let solved = self.solve(&w, &vars, open_level)?;
        let bound = Moves { vars: SmallVec::new(), bound: Some((w.level, solved.places.clone())) };
        let (inside, zeros) = (solved.inside.clone(), solved.zeros.clone());
        let found = self.within(&inside.clone(), |s| {
            let mut hits = s.e.truth(true)?;
            for zero in zeros {
                let moved = s.index_under(zero, &bound)?;
                let one = s.e.is_zero_expr(moved)?;
                hits = s.e.op(Op::And, Dtype::Bool, &[hits, one])?;
            }
            let value = s.e.moved(w.value, &bound)?;
            s.joined_with(&w, &solved, open_level, hits, value)
        })?;
        let mut out = found;
        for fact in inside {
            let holds = self.e.at_least_zero_expr(fact)?;
            out = self.e.op(Op::Choose, to, &[holds, out, w.old])?;
        }
        Some(out)
    }

    /// What stands at a place that a write may lead to.
    fn joined_with(&mut self, w: &Written, solved: &Solved, level: u32, hits: ExprId, value: ExprId) -> Option<ExprId> {
        let to = self.e.dtype(value)?;
        if let Joined::Extreme(fold) = w.joined {
            let op = if fold == Fold::Most { Op::Max } else { Op::Min };
            let mut end = self.e.op(Op::Choose, to, &[hits, value, w.old])?;
            if !solved.open.is_empty() {
                solved.open.iter().all(|size| self.e.at_most(ONE, *size)).then_some(())?;
                end = self.e.reduced(fold, level, &solved.open, end)?;
            }
            return self.e.op(op, to, &[w.old, end]);
        }
        if w.joined == Joined::One {
            let hits = match solved.open.as_slice() {
                [] => hits,
                _ if self.e.highest_level(value).is_some_and(|l| l >= level) => return None,
                open => self.e.reduced(Fold::Any, level, open, hits)?,
            };
            return self.e.op(Op::Choose, to, &[hits, value, w.old]);
        }
        let zero = if to.is_float() { self.e.rounded(to, 0.0) } else { self.e.integer(to, 0) }?;
        let mut sum = self.e.op(Op::Choose, to, &[hits, value, zero])?;
        if !solved.open.is_empty() {
            sum = self.e.reduced(Fold::Sum, level, &solved.open, sum)?;
        }
        self.e.op(Op::Add, to, &[w.old, sum])
    }

    fn index_under(&mut self, index: IndexId, moves: &Moves) -> Option<IndexId> {
        let number = self.e.index_value(Dtype::I64, index)?;
        let moved = self.e.moved(number, moves)?;
        self.e.data_index(moved)
    }

    /// Solves `at(p) = y` for as many dimensions of `p` as arithmetic alone tells.
    fn solve(&mut self, w: &Written, y: &[IndexId], open_level: u32) -> Option<Solved> {
        let mut places: Vec<Option<IndexId>> = w.sizes.iter().map(|s| (*s == ONE).then(|| self.e.at(ZERO))).collect();
        let (mut inside, mut zeros) = (Vec::new(), Vec::new());
        let mut told = Vec::new();
        for (at, y) in w.at.iter().zip(y) {
            match self.digits(w, *at, &places) {
                Some(digits) => self.solve_digits(w, &digits, (*at, *y), &mut places, &mut inside, &mut zeros)?,
                None => told.push((*at, *y)),
            }
        }
        for (at, y) in told {
            match self.undone(w, (at, y), &places)? {
                Some((k, place, below)) => {
                    *places.get_mut(k)? = Some(place);
                    inside.extend(below);
                }
                None => zeros.push(self.e.difference(y, at)?),
            }
        }
        let mut open = Vec::new();
        let mut all: SmallVec<[IndexId; 2]> = SmallVec::new();
        for (place, size) in places.into_iter().zip(&w.sizes) {
            all.push(match place {
                Some(place) => place,
                None => {
                    let name = open_level.checked_add(u32::try_from(open.len()).ok()?)?;
                    open.push(*size);
                    self.e.place(Place::Bound(name, *size))
                }
            });
        }
        Some(Solved { places: all, inside, zeros, open })
    }

    /// Where places that the data says are all those of a dimension, or of the front of a longer one, each once: which own dimension leads to a place, where on it,
    /// and what is at least 0 where it does.
    fn undone(
        &mut self,
        w: &Written,
        (at, y): (IndexId, IndexId),
        known: &[Option<IndexId>],
    ) -> Option<Option<(usize, IndexId, Option<IndexId>)>> {
        let Some((source, mut index)) = self.e.looked_up_place(at) else { return Some(None) };
        let Some((dim, size)) = self.e.permutes(source) else { return Some(None) };
        let alone = |e: &Self, i: IndexId| match e.e.linear(i).terms.as_slice() {
            [(place, Dim::Fixed(1))] if e.e.linear(i).offset() == ZERO => Some(*place),
            _ => None,
        };
        // A place of a longer dimension is one of these where it is less than their size.
        let (all, below) = match alone(self, y) {
            Some(Place::Var(_, of)) if of == size => (true, None),
            Some(Place::Var(_, of)) if self.e.at_most(size, of) => {
                let (last, back) = (self.e.plus(size, Dim::Fixed(-1))?, self.e.scale(y, Dim::Fixed(-1))?);
                (true, Some(self.e.shift(back, last)?))
            }
            _ => (false, None),
        };
        let mut found = None;
        for (k, slot) in index.iter_mut().enumerate() {
            let Some(own) = alone(self, *slot).and_then(|place| self.own(w, place)) else { return Some(None) };
            match (k == dim, known.get(own)) {
                (true, Some(None)) if w.sizes.get(own) == Some(&size) => (found, *slot) = (Some(own), y),
                (false, Some(Some(solved))) => *slot = *solved,
                _ => return Some(None),
            }
        }
        let Some(found) = found.filter(|_| all) else { return Some(None) };
        let Some(undoing) = self.e.undoing(source) else { return Some(None) };
        self.e.applied.insert("places-undone");
        let place = self.e.load(Dtype::I64, undoing, index)?;
        Some(Some((found, self.e.data_index(place)?, below)))
    }

    fn own(&self, w: &Written, place: Place) -> Option<usize> {
        let Place::Bound(name, size) = place else { return None };
        let k = name.checked_sub(w.level)? as usize;
        (w.sizes.get(k) == Some(&size)).then_some(k)
    }

    /// Returns an index's own dimensions as digits of one number, the highest first: no two places have the same.
    fn digits(&mut self, w: &Written, at: IndexId, known: &[Option<IndexId>]) -> Option<Vec<(usize, i64)>> {
        let sum = self.e.linear(at).clone();
        let mut own: Vec<(usize, i64)> = Vec::new();
        for (place, by) in &sum.terms {
            match self.own(w, *place) {
                Some(k) if known.get(k) == Some(&None) => own.push((k, by.fixed().filter(|by| *by != 0)?)),
                Some(_) => return None,
                None => {
                    let mut below = vec![*place];
                    match place {
                        Place::Data(x) => below.extend(self.e.places_below(*x)),
                        Place::Div(i, _) | Place::Mod(i, _) => below.extend(self.e.places_in(*i)),
                        _ => {}
                    }
                    let inner: Vec<Place> = below
                        .iter()
                        .filter_map(|p| if let Place::Data(x) = p { Some(*x) } else { None })
                        .flat_map(|x| self.e.places_below(x))
                        .collect();
                    below.extend(inner);
                    if below.iter().any(|p| self.own(w, *p).is_some()) {
                        return None;
                    }
                }
            }
        }
        if own.is_empty() {
            return None;
        }
        own.sort_unstable_by_key(|(_, by)| std::cmp::Reverse(by.unsigned_abs()));
        if let [_] = own.as_slice() {
            return Some(own);
        }
        // A digit has less room than one of the next higher ones is worth.
        for pair in own.windows(2) {
            let [(_, high), (k, low)] = pair else { return None };
            let size = w.sizes.get(*k)?.fixed()?;
            let fits = *low > 0 && *high > 0 && high.checked_rem(*low)? == 0 && low.checked_mul(size)? <= *high;
            fits.then_some(())?;
        }
        Some(own)
    }

    fn solve_digits(
        &mut self,
        w: &Written,
        digits: &[(usize, i64)],
        (at, y): (IndexId, IndexId),
        places: &mut [Option<IndexId>],
        inside: &mut Vec<IndexId>,
        zeros: &mut Vec<IndexId>,
    ) -> Option<()> {
        // What the digits make up: the place less all that is not theirs.
        let mut rest = self.e.linear(at).clone();
        rest.terms.retain(|(p, _)| self.own(w, *p).is_none());
        let rest = self.e.index_of(rest);
        let mut left = self.e.difference(y, rest)?;
        for (k, by) in digits {
            let size = *w.sizes.get(*k)?;
            if *by < 0 {
                left = self.e.scale(left, Dim::Fixed(-1))?;
            }
            let by = Dim::Fixed(i64::try_from(by.unsigned_abs()).ok()?);
            let digit = self.e.quotient(left, by)?;
            left = self.e.remainder(left, by)?;
            let beyond = self.e.scale(digit, Dim::Fixed(-1))?;
            let last = self.e.plus(size, Dim::Fixed(-1))?;
            inside.extend([digit, self.e.shift(beyond, last)?]);
            *places.get_mut(*k)? = Some(digit);
        }
        zeros.push(left);
        Some(())
    }

    // ---- what is written by which operator

    fn names(&mut self, level: u32, sizes: &[Dim]) -> Option<Index> {
        (0_u32..).zip(sizes).map(|(k, s)| Some(self.e.place(Place::Bound(level.checked_add(k)?, *s)))).collect()
    }

    fn first_free(&self, arrays: &[&Array]) -> u32 {
        arrays.iter().filter_map(|a| self.e.highest_level(a.expr)).max().map_or(0, |l| l.saturating_add(1))
    }

    fn integer_at(&mut self, array: &Array, at: Index) -> Option<ExprId> {
        width(array.dtype).filter(|w| *w >= 32)?;
        let x = self.at(array, at)?;
        self.e.op(Op::Cast, Dtype::I64, &[x])
    }

    /// `index_put`: indices of some dimensions, repeated to one shape, others whole.
    fn put(&mut self, c: &Said<'_, '_>) -> Option<Written> {
        let (old, values) = (c.array(0)?.clone(), c.array(2)?.clone());
        let Arg::Bool(adds) = c.arg(3) else { return None };
        let items = c.arg(1).items()?;
        let given: Vec<usize> = (0..items.len()).filter(|k| items.get(*k) != Some(&Arg::None)).collect();
        let (first, last) = (*given.first()?, *given.last()?);
        let arrays: Vec<Array> = given.iter().map(|k| c.array_of(items.get(*k)?).cloned()).collect::<Option<_>>()?;
        let adjacent = last.checked_sub(first)?.checked_add(1)? == given.len();
        let block = self.common_sizes(&arrays)?;
        let start = if adjacent { first } else { 0 };
        let mut sizes: Vec<Dim> =
            (0..old.sizes.len()).filter(|k| !given.contains(k)).filter_map(|k| old.sizes.get(k).copied()).collect();
        (start <= sizes.len()).then(|| sizes.splice(start..start, block.iter().copied()))?;
        let all: Vec<&Array> = arrays.iter().chain([&values, &old]).collect();
        let level = self.first_free(&all);
        let names = self.names(level, &sizes)?;
        let own: Index = names.get(start..start.checked_add(block.len())?)?.into();
        let mut whole = names.iter().take(start).chain(names.iter().skip(start.checked_add(block.len())?)).copied();
        let mut at = Vec::new();
        let mut arrays = arrays.iter();
        for (k, size) in old.sizes.iter().enumerate() {
            if !given.contains(&k) {
                at.push(whole.next()?);
                continue;
            }
            let array = arrays.next()?;
            let place = self.repeated(array, &block, &own)?;
            let x = self.integer_at(array, place)?;
            at.push(self.wrapped_index(x, *size)?);
        }
        let place = self.repeated(&values, &sizes, &names)?;
        let value = self.at(&values, place)?;
        Some(Written {
            old: old.expr,
            level,
            sizes,
            at,
            value,
            joined: if *adds { Joined::Added } else { Joined::One },
        })
    }

    /// Returns the sizes to which several arrays are repeated.
    fn common_sizes(&self, arrays: &[Array]) -> Option<Dims> {
        let rank = arrays.iter().map(|a| a.sizes.len()).max()?;
        let mut out: Dims = std::iter::repeat_n(ONE, rank).collect();
        for array in arrays {
            let ahead = rank.checked_sub(array.sizes.len())?;
            for (k, size) in array.sizes.iter().enumerate() {
                let slot = out.get_mut(ahead.checked_add(k)?)?;
                if *slot == ONE {
                    *slot = *size;
                } else if *size != ONE && !self.e.same_size(*slot, *size) {
                    return None;
                }
            }
        }
        Some(out)
    }

    /// Returns the index at which an array that is repeated to these sizes is read.
    fn repeated(&mut self, array: &Array, to: &[Dim], at: &[IndexId]) -> Option<Index> {
        let ahead = to.len().checked_sub(array.sizes.len())?;
        let mut out = Index::new();
        for (k, size) in array.sizes.iter().enumerate() {
            let place = ahead.checked_add(k)?;
            out.push(match *size {
                ONE => self.e.at(ZERO),
                size if self.e.same_size(size, *to.get(place)?) => *at.get(place)?,
                _ => return None,
            });
        }
        Some(out)
    }

    /// `scatter`: each element of the indices says the place along one dimension.
    fn scattered_at(&mut self, c: &Said<'_, '_>, joined: Joined) -> Option<Written> {
        let (old, index) = (c.array(0)?.clone(), c.array(2)?.clone());
        let dim = self.axis(c.arg(1), old.sizes.len())?;
        if index.sizes.len() != old.sizes.len() || old.sizes.is_empty() {
            return None;
        }
        let source = c.array(3).cloned();
        let all: Vec<&Array> = [&old, &index].into_iter().chain(source.as_ref()).collect();
        let level = self.first_free(&all);
        let names = self.names(level, &index.sizes)?;
        let found = self.integer_at(&index, names.clone())?;
        let mut at: Vec<IndexId> = names.to_vec();
        *at.get_mut(dim)? = self.e.data_index(found)?;
        let value = match source {
            Some(source) => {
                let fits = source.sizes.len() == index.sizes.len()
                    && source.sizes.iter().zip(&index.sizes).all(|(s, i)| self.e.at_most(*i, *s));
                fits.then_some(())?;
                self.at(&source, names)?
            }
            None => self.constant(c, c.arg(3), old.dtype, false)?,
        };
        Some(Written { old: old.expr, level, sizes: index.sizes.to_vec(), at, value, joined })
    }

    /// `index_add` by another `alpha` than 1, which is `index_put`.
    fn multiples(&mut self, c: &Said<'_, '_>) -> Option<Written> {
        let (old, index, source) = (c.array(0)?.clone(), c.array(2)?.clone(), c.array(3)?.clone());
        let (to, dim) = (old.dtype, self.axis(c.arg(1), old.sizes.len())?);
        let factor = match c.named("alpha")? {
            Arg::Int(1) => return None,
            Arg::Float(v) if *v == 1.0 => return None,
            // A literal stands for itself.
            Arg::Float(v) if self.over_reals && to == Dtype::F32 => self.e.literal(to, *v)?,
            given => self.constant(c, given, to, false)?,
        };
        if index.sizes.len() != 1 || source.sizes.len() != old.sizes.len() || source.dtype != to {
            return None;
        }
        let level = self.first_free(&[&old, &index, &source]);
        let names = self.names(level, &source.sizes)?;
        let found = self.integer_at(&index, SmallVec::from_elem(*names.get(dim)?, 1))?;
        let mut at: Vec<IndexId> = names.to_vec();
        *at.get_mut(dim)? = self.wrapped_index(found, *old.sizes.get(dim)?)?;
        let value = self.at(&source, names)?;
        let value = self.e.op(Op::Mul, to, &[value, factor])?;
        Some(Written { old: old.expr, level, sizes: source.sizes.to_vec(), at, value, joined: Joined::Added })
    }

    /// The gradient of a table whose rows were read: those of each row are added up.
    fn rows(&mut self, c: &Said<'_, '_>) -> Option<Written> {
        let (given, index) = (c.array(0)?.clone(), c.array(1)?.clone());
        let (Arg::Int(padding), Arg::Bool(false)) = (c.arg(3), c.arg(4)) else { return None };
        if given.sizes.len() != index.sizes.len().checked_add(1)? {
            return None;
        }
        let level = self.first_free(&[&given, &index]);
        let names = self.names(level, &given.sizes)?;
        let (column, row) = names.split_last()?;
        let found = self.integer_at(&index, row.into())?;
        let at = vec![self.e.data_index(found)?, *column];
        let mut value = self.at(&given, names.clone())?;
        let zero = if given.dtype.is_float() { self.e.rounded(given.dtype, 0.0) } else { None }?;
        if *padding >= 0 {
            let padding = self.e.integer(Dtype::I64, *padding)?;
            let is_padding = self.e.op(Op::Eq, Dtype::Bool, &[found, padding])?;
            value = self.e.op(Op::Choose, given.dtype, &[is_padding, zero, value])?;
        }
        Some(Written { old: zero, level, sizes: given.sizes.to_vec(), at, value, joined: Joined::Added })
    }
}
